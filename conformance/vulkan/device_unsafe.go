package vulkan

import (
	"unsafe"

	"farside/internal/vk"
)

// DeviceConfig says how a device is to be made.
type DeviceConfig struct {
	Queues     []uint32 // how many of each family; none: one of family 0
	Extensions []string
	Features   *vk.PhysicalDeviceFeatures
	Next       unsafe.Pointer // chained behind VkDeviceCreateInfo
	QueueNext  unsafe.Pointer // chained behind the VkDeviceQueueCreateInfo of family 0
}

// A Device is a VkDevice and its commands, resolved by vkGetDeviceProcAddr.
type Device struct {
	Handle   vk.Device
	Instance *Instance
	Physical vk.PhysicalDevice
	Arena    *Arena // lives as long as the device
	procs    procs
}

// CreateDevice is vkCreateDevice.
func (i *Instance) CreateDevice(pd vk.PhysicalDevice, c DeviceConfig) (*Device, vk.Result) {
	a := new(Arena)
	if len(c.Queues) == 0 {
		c.Queues = []uint32{1}
	}
	queues := queueInfos(a, c.Queues)
	queues[0].PNext = c.QueueNext
	info := New[vk.DeviceCreateInfo](a)
	info.SType = vk.STRUCTURE_TYPE_DEVICE_CREATE_INFO
	info.PNext = c.Next
	info.QueueCreateInfoCount = uint32(len(queues))
	info.PQueueCreateInfos = First(queues)
	info.EnabledExtensionCount = uint32(len(c.Extensions))
	info.PpEnabledExtensionNames = a.Strings(c.Extensions)
	info.PEnabledFeatures = c.Features
	out := New[vk.Device](a)
	r := vk.Result(i.Call("vkCreateDevice", uintptr(pd), addr(info), 0, addr(out)))
	if r != vk.SUCCESS {
		a.Close()
		return nil, r
	}
	d := &Device{Handle: *out, Instance: i, Physical: pd, Arena: a}
	d.procs.resolve = func(name string) uintptr { return resolveBy(i.gdpa, uintptr(d.Handle), name) }
	return d, r
}

// Proc is vkGetDeviceProcAddr: the command's address, 0 if there is none.
func (d *Device) Proc(name string) uintptr { return d.procs.get(name) }

// Call calls a device command whose first argument is the device. It panics if there is no such command.
func (d *Device) Call(name string, args ...uintptr) uintptr {
	return d.procs.call(name, append([]uintptr{uintptr(d.Handle)}, args...)...)
}

// CallOn calls a device command on another dispatchable object (a queue).
func (d *Device) CallOn(name string, args ...uintptr) uintptr { return d.procs.call(name, args...) }

// Destroy is vkDestroyDevice.
func (d *Device) Destroy() {
	d.Call("vkDestroyDevice", 0)
	d.Arena.Close()
}

// Queue is queue 0 of family 0.
func (d *Device) Queue() vk.Queue { return d.QueueOf(0, 0) }

// Allocate is vkAllocateMemory with next chained behind VkMemoryAllocateInfo; size is in bytes.
func (d *Device) Allocate(size uint64, memoryType uint32, next unsafe.Pointer) (vk.DeviceMemory, vk.Result) {
	var a Arena
	defer a.Close()
	return d.AllocateIn(&a, size, memoryType, next)
}

// AllocateIn is Allocate with the structures in the caller's arena.
func (d *Device) AllocateIn(a *Arena, size uint64, memoryType uint32, next unsafe.Pointer) (vk.DeviceMemory,
	vk.Result) {
	info := New[vk.MemoryAllocateInfo](a)
	info.SType = vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO
	info.PNext = next
	info.AllocationSize = size
	info.MemoryTypeIndex = memoryType
	out := New[vk.DeviceMemory](a)
	r := vk.Result(d.Call("vkAllocateMemory", addr(info), 0, addr(out)))
	return *out, r
}

// Free is vkFreeMemory.
func (d *Device) Free(m vk.DeviceMemory) { d.Call("vkFreeMemory", uintptr(m), 0) }

// ExportInfo builds a VkExportMemoryAllocateInfo in a.
func ExportInfo(a *Arena, types vk.ExternalMemoryHandleTypeFlags, next unsafe.Pointer) unsafe.Pointer {
	x := New[vk.ExportMemoryAllocateInfo](a)
	x.SType = vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO
	x.PNext = next
	x.HandleTypes = types
	return unsafe.Pointer(x)
}

// ImportFdInfo builds a VkImportMemoryFdInfoKHR in a.
func ImportFdInfo(a *Arena, ht vk.ExternalMemoryHandleTypeFlags, fd int, next unsafe.Pointer) unsafe.Pointer {
	x := New[vk.ImportMemoryFdInfoKHR](a)
	x.SType = vk.STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR
	x.PNext = next
	x.HandleType = ht
	x.Fd = int32(fd)
	return unsafe.Pointer(x)
}

// DedicatedInfo builds a VkMemoryDedicatedAllocateInfo in a.
func DedicatedInfo(a *Arena, image vk.Image, buffer vk.Buffer, next unsafe.Pointer) unsafe.Pointer {
	x := New[vk.MemoryDedicatedAllocateInfo](a)
	x.SType = vk.STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO
	x.PNext = next
	x.Image, x.Buffer = image, buffer
	return unsafe.Pointer(x)
}

// GetFd is vkGetMemoryFdKHR.
func (d *Device) GetFd(m vk.DeviceMemory, ht vk.ExternalMemoryHandleTypeFlags) (int, vk.Result) {
	var a Arena
	defer a.Close()
	return d.GetFdIn(&a, m, ht)
}

// GetFdIn is GetFd with the structures in the caller's arena.
func (d *Device) GetFdIn(a *Arena, m vk.DeviceMemory, ht vk.ExternalMemoryHandleTypeFlags) (int, vk.Result) {
	info := New[vk.MemoryGetFdInfoKHR](a)
	info.SType = vk.STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR
	info.Memory, info.HandleType = m, ht
	fd := Put(a, int32(-1))
	r := vk.Result(d.Call("vkGetMemoryFdKHR", addr(info), addr(fd)))
	return int(*fd), r
}

// FdProperties is vkGetMemoryFdPropertiesKHR: the memory types that could import fd.
func (d *Device) FdProperties(ht vk.ExternalMemoryHandleTypeFlags, fd int) (uint32, vk.Result) {
	var a Arena
	defer a.Close()
	p := New[vk.MemoryFdPropertiesKHR](&a)
	p.SType = vk.STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR
	r := vk.Result(d.Call("vkGetMemoryFdPropertiesKHR", uintptr(ht), uintptr(uint32(fd)), addr(p)))
	return p.MemoryTypeBits, r
}

// RemoteAddress is vkGetMemoryRemoteAddressNV.
func (d *Device) RemoteAddress(m vk.DeviceMemory, ht vk.ExternalMemoryHandleTypeFlags) (uintptr, vk.Result) {
	var a Arena
	defer a.Close()
	info := New[vk.MemoryGetRemoteAddressInfoNV](&a)
	info.SType = vk.STRUCTURE_TYPE_MEMORY_GET_REMOTE_ADDRESS_INFO_NV
	info.Memory, info.HandleType = m, ht
	out := New[uintptr](&a)
	r := vk.Result(d.Call("vkGetMemoryRemoteAddressNV", addr(info), addr(out)))
	return *out, r
}

// Map is vkMapMemory; size may be VK_WHOLE_SIZE.
func (d *Device) Map(m vk.DeviceMemory, offset, size uint64) (unsafe.Pointer, vk.Result) {
	var a Arena
	defer a.Close()
	return d.MapIn(&a, m, offset, size)
}

// MapIn is Map with the result in the caller's arena.
func (d *Device) MapIn(a *Arena, m vk.DeviceMemory, offset, size uint64) (unsafe.Pointer, vk.Result) {
	out := New[unsafe.Pointer](a)
	r := vk.Result(d.Call("vkMapMemory", uintptr(m), uintptr(offset), uintptr(size), 0, uintptr(unsafe.Pointer(out))))
	return *out, r
}

// Unmap is vkUnmapMemory.
func (d *Device) Unmap(m vk.DeviceMemory) { d.Call("vkUnmapMemory", uintptr(m)) }

func (d *Device) ranges(cmd string, m vk.DeviceMemory, offset, size uint64) vk.Result {
	var a Arena
	defer a.Close()
	r := New[vk.MappedMemoryRange](&a)
	r.SType = vk.STRUCTURE_TYPE_MAPPED_MEMORY_RANGE
	r.Memory, r.Offset, r.Size = m, offset, size
	return vk.Result(d.Call(cmd, 1, addr(r)))
}

// Flush is vkFlushMappedMemoryRanges of one range.
func (d *Device) Flush(m vk.DeviceMemory, offset, size uint64) vk.Result {
	return d.ranges("vkFlushMappedMemoryRanges", m, offset, size)
}

// Invalidate is vkInvalidateMappedMemoryRanges of one range.
func (d *Device) Invalidate(m vk.DeviceMemory, offset, size uint64) vk.Result {
	return d.ranges("vkInvalidateMappedMemoryRanges", m, offset, size)
}

// CreateBuffer is vkCreateBuffer for a buffer of size bytes that is only transferred from and to. types, if
// not 0, is chained as VkExternalMemoryBufferCreateInfo.
func (d *Device) CreateBuffer(size uint64, types vk.ExternalMemoryHandleTypeFlags) (vk.Buffer, vk.Result) {
	return d.CreateSharedBuffer(size, types, nil)
}

// CreateSharedBuffer is CreateBuffer for a buffer that the queues of these families use at will.
func (d *Device) CreateSharedBuffer(size uint64, types vk.ExternalMemoryHandleTypeFlags,
	families []uint32) (vk.Buffer, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.BufferCreateInfo](&a)
	info.Size = size
	info.Usage = vk.BUFFER_USAGE_TRANSFER_SRC_BIT | vk.BUFFER_USAGE_TRANSFER_DST_BIT
	if len(families) > 1 {
		info.SharingMode = vk.SHARING_MODE_CONCURRENT
		info.QueueFamilyIndexCount, info.PQueueFamilyIndices = uint32(len(families)), First(copied(&a, families))
	}
	if types != 0 {
		x := Struct[vk.ExternalMemoryBufferCreateInfo](&a)
		x.HandleTypes = types
		info.PNext = unsafe.Pointer(x)
	}
	out := New[vk.Buffer](&a)
	r := vk.Result(d.Call("vkCreateBuffer", addr(info), 0, addr(out)))
	return *out, r
}

// DestroyBuffer is vkDestroyBuffer.
func (d *Device) DestroyBuffer(b vk.Buffer) { d.Call("vkDestroyBuffer", uintptr(b), 0) }

// BufferRequirements is vkGetBufferMemoryRequirements.
func (d *Device) BufferRequirements(b vk.Buffer) vk.MemoryRequirements {
	var a Arena
	defer a.Close()
	r := New[vk.MemoryRequirements](&a)
	d.Call("vkGetBufferMemoryRequirements", uintptr(b), addr(r))
	return *r
}

// BindBuffer is vkBindBufferMemory.
func (d *Device) BindBuffer(b vk.Buffer, m vk.DeviceMemory, offset uint64) vk.Result {
	return vk.Result(d.Call("vkBindBufferMemory", uintptr(b), uintptr(m), uintptr(offset)))
}

// CreateImage is vkCreateImage for a 2D R8G8B8A8_UNORM image that is only transferred from and to.
func (d *Device) CreateImage(width, height uint32, tiling vk.ImageTiling,
	types vk.ExternalMemoryHandleTypeFlags) (vk.Image, vk.Result) {
	var a Arena
	defer a.Close()
	info := New[vk.ImageCreateInfo](&a)
	info.SType = vk.STRUCTURE_TYPE_IMAGE_CREATE_INFO
	info.ImageType = vk.IMAGE_TYPE_2D
	info.Format = vk.FORMAT_R8G8B8A8_UNORM
	info.Extent = vk.Extent3D{Width: width, Height: height, Depth: 1}
	info.MipLevels, info.ArrayLayers = 1, 1
	info.Samples = vk.SAMPLE_COUNT_1_BIT
	info.Tiling = tiling
	info.Usage = vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT
	if types != 0 {
		x := New[vk.ExternalMemoryImageCreateInfo](&a)
		x.SType = vk.STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO
		x.HandleTypes = types
		info.PNext = unsafe.Pointer(x)
	}
	out := New[vk.Image](&a)
	r := vk.Result(d.Call("vkCreateImage", addr(info), 0, addr(out)))
	return *out, r
}

// DestroyImage is vkDestroyImage.
func (d *Device) DestroyImage(i vk.Image) { d.Call("vkDestroyImage", uintptr(i), 0) }

// ImageRequirements is vkGetImageMemoryRequirements.
func (d *Device) ImageRequirements(i vk.Image) vk.MemoryRequirements {
	var a Arena
	defer a.Close()
	r := New[vk.MemoryRequirements](&a)
	d.Call("vkGetImageMemoryRequirements", uintptr(i), addr(r))
	return *r
}

// BindImage is vkBindImageMemory.
func (d *Device) BindImage(i vk.Image, m vk.DeviceMemory, offset uint64) vk.Result {
	return vk.Result(d.Call("vkBindImageMemory", uintptr(i), uintptr(m), uintptr(offset)))
}
