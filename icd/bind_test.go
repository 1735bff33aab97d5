package icd

import (
	"testing"
	"unsafe"

	"farside/export"
	"farside/internal/config"
	"farside/internal/vk"
)

// TestBindRules breaks each rule of binding through both forms of each command: the second form's rules have names of
// their own.
func TestBindRules(t *testing.T) {
	captureLog(t, config.LevelOff)
	i := testInstance(t, nil)
	testMessenger(t, i, everySeverity, everyType, 0)
	d := propertiesDevice(t, i, unsafe.Pointer(&vk.PhysicalDeviceBufferDeviceAddressFeatures{
		SType: vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES, BufferDeviceAddress: vk.TRUE,
	}))
	const opaque = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
	for _, c := range []struct {
		name           string
		memory         *deviceMemory
		offset         uint64
		address, bound bool
		buffer, image  [2]string // the rules of the first and the second form
	}{
		{name: "good", memory: &deviceMemory{size: 4096}},
		{"type", &deviceMemory{size: 4096, typeIndex: 31}, 0, false, false,
			[2]string{"memory-01035", "memory-01035"}, [2]string{"memory-01047", "pNext-01615"}},
		{"alignment", &deviceMemory{size: 8192}, 1, false, false,
			[2]string{"None-10739", "None-10739"}, [2]string{"None-10735", "pNext-01616"}},
		{"size", &deviceMemory{size: 256}, 0, false, false,
			[2]string{"None-10741", "None-10741"}, [2]string{"None-10737", "pNext-01617"}},
		{"dedicated", &deviceMemory{size: 4096, dedicatedTo: 1}, 0, false, false,
			[2]string{"memory-01508", "memory-01508"}, [2]string{"memory-02628", "memory-02628"}},
		{"exportable", &deviceMemory{size: 4096, exports: export.Set{Types: opaque}}, 0, false, false,
			[2]string{"memory-02726", "memory-02726"}, [2]string{"memory-02728", "memory-02728"}},
		{"imported", &deviceMemory{size: 4096, imported: opaque}, 0, false, false,
			[2]string{"memory-02985", "memory-02985"}, [2]string{"memory-02989", "memory-02989"}},
		{"bound", &deviceMemory{size: 4096}, 0, false, true,
			[2]string{"buffer-07459", "buffer-07459"}, [2]string{"image-07460", "image-07460"}},
		{"address", &deviceMemory{size: 4096}, 0, true, false,
			[2]string{"bufferDeviceAddress-03339", "bufferDeviceAddress-03339"}, [2]string{}},
	} {
		m := c.memory
		m.device = d
		memory := vk.DeviceMemory(deviceMemories.Insert(m))
		m.handle = uint64(memory)
		var usage vk.BufferUsageFlags = vk.BUFFER_USAGE_TRANSFER_SRC_BIT
		if c.address {
			usage |= vk.BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
		}
		for form := range 2 {
			var b vk.Buffer
			wantResult(t, "vkCreateBuffer", commands.CreateBuffer(d.handle, &vk.BufferCreateInfo{Size: 1024, Usage: usage}, nil,
				&b), vk.SUCCESS)
			info := plainImage()
			img := newTestImage(t, d, &info)
			if c.bound {
				buffers.Get(uint64(b)).memory.Store(m)
				images.Get(uint64(img)).bound[0].memory.Store(m)
			}
			takeInbox()
			bind, names := func() vk.Result {
				return commands.BindBufferMemory(d.handle, b, memory, c.offset)
			}, [2]string{"VUID-vkBindBufferMemory-", "VUID-vkBindImageMemory-"}
			bindImage := func() vk.Result { return commands.BindImageMemory(d.handle, img, memory, c.offset) }
			if form == 1 {
				names = [2]string{"VUID-VkBindBufferMemoryInfo-", "VUID-VkBindImageMemoryInfo-"}
				bind = func() vk.Result {
					return commands.BindBufferMemory2(d.handle, 1,
						&vk.BindBufferMemoryInfo{Buffer: b, Memory: memory, MemoryOffset: c.offset})
				}
				bindImage = func() vk.Result {
					return commands.BindImageMemory2(d.handle, 1,
						&vk.BindImageMemoryInfo{Image: img, Memory: memory, MemoryOffset: c.offset})
				}
			}
			check := func(what string, got vk.Result, prefix, rule string) {
				t.Helper()
				if rule == "" {
					wantResult(t, what, got, vk.SUCCESS)
					wantReports(t, what)
					return
				}
				if got == vk.SUCCESS {
					t.Errorf("%s is bound", what)
				}
				wantReports(t, what, prefix+rule)
			}
			check(c.name+": buffer", bind(), names[0], c.buffer[form])
			check(c.name+": image", bindImage(), names[1], c.image[form])
			commands.DestroyBuffer(d.handle, b, nil)
		}
		deviceMemories.Remove(uint64(memory))
	}
}
