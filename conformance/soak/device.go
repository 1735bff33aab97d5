package main

import (
	"fmt"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	opaqueMemory    = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
	opaqueSemaphore = vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT

	deviceLocal = vk.MemoryPropertyFlags(vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
	hostVisible = vk.MemoryPropertyFlags(vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT)
	coherent    = vk.MemoryPropertyFlags(vk.MEMORY_PROPERTY_HOST_COHERENT_BIT)
)

func openInstance() (*vulkan.Instance, error) {
	loader, err := vulkan.Open()
	if err != nil {
		return nil, err
	}
	version := uint32(vk.API_VERSION_1_1)
	if drawing() {
		version = vk.API_VERSION_1_3
	}
	instance, r := loader.CreateInstance(vulkan.InstanceConfig{APIVersion: version})
	return instance, must("vkCreateInstance", r)
}

// openDevice makes a device with a queue for each side, where there are two.
func openDevice(instance *vulkan.Instance) (*vulkan.Device, [2]vk.Queue, error) {
	var queues [2]vk.Queue
	list, r := instance.PhysicalDevices()
	if r != vk.SUCCESS || len(list) == 0 {
		return nil, queues, fmt.Errorf("vkEnumeratePhysicalDevices: %v, %d devices", r, len(list))
	}
	n := min(2, instance.QueueFamilies(list[0])[0].QueueCount)
	var a vulkan.Arena
	defer a.Close()
	timeline := vulkan.Struct[vk.PhysicalDeviceTimelineSemaphoreFeatures](&a)
	timeline.TimelineSemaphore = vk.TRUE
	if drawing() {
		dynamic := vulkan.Struct[vk.PhysicalDeviceDynamicRenderingFeatures](&a)
		dynamic.DynamicRendering = vk.TRUE
		timeline.PNext = vulkan.Ptr(dynamic)
	}
	d, r := instance.CreateDevice(list[0], vulkan.DeviceConfig{
		Queues: []uint32{n},
		Extensions: []string{vk.KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, vk.KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME,
			vk.KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME},
		Next: vulkan.Ptr(timeline),
	})
	if r != vk.SUCCESS {
		return nil, queues, must("vkCreateDevice", r)
	}
	queues[right], queues[left] = d.QueueOf(0, 0), d.QueueOf(0, n-1)
	return d, queues, nil
}

func must(what string, r vk.Result) error {
	if r != vk.SUCCESS {
		return &resultError{what, r}
	}
	return nil
}

// A resultError is a command's result that is not VK_SUCCESS.
type resultError struct {
	what   string
	result vk.Result
}

func (e *resultError) Error() string { return fmt.Sprintf("%s: %v", e.what, e.result) }

// A block is a buffer with memory of its own.
type block struct {
	buffer vk.Buffer
	memory vk.DeviceMemory
	bytes  []byte // of host-visible memory
}

// newBlock makes a mapped block; or one that can be exported; or one that imports fd, unless that is -1.
func newBlock(d *vulkan.Device, external bool, fd int) (block, error) {
	var a vulkan.Arena
	defer a.Close()
	var types vk.ExternalMemoryHandleTypeFlags
	has, hasNot := hostVisible|coherent, vk.MemoryPropertyFlags(0)
	next := vulkan.Pointer(nil)
	if external {
		types, has, hasNot = opaqueMemory, deviceLocal, hostVisible
		next = vulkan.ExportInfo(&a, opaqueMemory, nil)
		if fd >= 0 {
			next = vulkan.ImportFdInfo(&a, opaqueMemory, fd, nil)
		}
	}
	var b block
	var r vk.Result
	if !external && drawing() {
		b.buffer, r = d.CreateUsageBuffer(bufferSize, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT|vulkan.Transfers, nil)
	} else {
		b.buffer, r = d.CreateBuffer(bufferSize, types)
	}
	if r != vk.SUCCESS {
		return b, must("vkCreateBuffer", r)
	}
	req := d.BufferRequirements(b.buffer)
	t, err := memoryType(d, req.MemoryTypeBits, has, hasNot)
	if err != nil {
		return b, err
	}
	if b.memory, r = d.Allocate(req.Size, t, next); r != vk.SUCCESS {
		return b, must("vkAllocateMemory", r)
	}
	if r := d.BindBuffer(b.buffer, b.memory, 0); r != vk.SUCCESS {
		return b, must("vkBindBufferMemory", r)
	}
	if !external {
		p, r := d.Map(b.memory, 0, vk.WHOLE_SIZE)
		if r != vk.SUCCESS {
			return b, must("vkMapMemory", r)
		}
		b.bytes = vulkan.Bytes(p, bufferSize)
	}
	return b, nil
}

// memoryType is the first type among bits with all of has and none of hasNot.
func memoryType(d *vulkan.Device, bits uint32, has, hasNot vk.MemoryPropertyFlags) (uint32, error) {
	p := d.Instance.MemoryProperties(d.Physical, nil)
	for i := range p.MemoryTypeCount {
		if f := p.MemoryTypes[i].PropertyFlags; bits&(1<<i) != 0 && f&has == has && f&hasNot == 0 {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no memory type has %v and not %v", has, hasNot)
}

func (b block) free(d *vulkan.Device) {
	d.DestroyBuffer(b.buffer)
	d.Free(b.memory)
}
