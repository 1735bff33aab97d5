package icd

import (
	"farside/export"
	"farside/internal/vk"
)

// queueFamilies has one element for each queue family: the number of its queues. All can transfer, those of family 0
// compute, too.
var queueFamilies = [...]uint32{4, 2}

func getPhysicalDeviceQueueFamilyProperties(h vk.PhysicalDevice, count *uint32, out *vk.QueueFamilyProperties) {
	if physicalDevices.Get(uintptr(h)) == nil {
		staleHandle("vkGetPhysicalDeviceQueueFamilyProperties", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
		return
	}
	var families [len(queueFamilies)]vk.QueueFamilyProperties
	for i := range families {
		queueFamilyProperties(i, &families[i])
	}
	vk.WriteArray(count, out, families[:])
}

func getPhysicalDeviceQueueFamilyProperties2(h vk.PhysicalDevice, count *uint32, out *vk.QueueFamilyProperties2) {
	if physicalDevices.Get(uintptr(h)) == nil {
		staleHandle("vkGetPhysicalDeviceQueueFamilyProperties2", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
		return
	}
	if out == nil || *count > uint32(len(queueFamilies)) {
		*count = uint32(len(queueFamilies))
	}
	for i := range vk.Slice(out, *count) {
		queueFamilyProperties(i, &vk.Slice(out, *count)[i].QueueFamilyProperties)
	}
}

func queueFamilyProperties(family int, out *vk.QueueFamilyProperties) {
	flags := vk.QUEUE_TRANSFER_BIT
	if family == 0 {
		flags |= vk.QUEUE_COMPUTE_BIT
	}
	*out = vk.QueueFamilyProperties{
		QueueFlags:                  flags,
		QueueCount:                  queueFamilies[family],
		TimestampValidBits:          64,
		MinImageTransferGranularity: vk.Extent3D{Width: 1, Height: 1, Depth: 1},
	}
}

func getPhysicalDeviceMemoryProperties(h vk.PhysicalDevice, out *vk.PhysicalDeviceMemoryProperties) {
	p := physicalDevices.Get(uintptr(h))
	if p == nil {
		staleHandle("vkGetPhysicalDeviceMemoryProperties", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
		return
	}
	p.memoryProperties(out)
}

func getPhysicalDeviceMemoryProperties2(h vk.PhysicalDevice, out *vk.PhysicalDeviceMemoryProperties2) {
	p := physicalDevices.Get(uintptr(h))
	if p == nil {
		staleHandle("vkGetPhysicalDeviceMemoryProperties2", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
		return
	}
	p.memoryProperties(&out.MemoryProperties)
	if b := vk.Find[vk.PhysicalDeviceMemoryBudgetPropertiesEXT](out.PNext); b != nil {
		clear(b.HeapBudget[:])
		clear(b.HeapUsage[:])
		for i := range p.profile.Heaps {
			b.HeapBudget[i] = p.budget.Budget(uint32(i))
			b.HeapUsage[i] = p.budget.Usage(uint32(i))
		}
	}
}

func (p *physicalDevice) memoryProperties(out *vk.PhysicalDeviceMemoryProperties) {
	*out = vk.PhysicalDeviceMemoryProperties{
		MemoryTypeCount: uint32(len(p.profile.Types)),
		MemoryHeapCount: uint32(len(p.profile.Heaps)),
	}
	for i, t := range p.profile.Types {
		out.MemoryTypes[i] = vk.MemoryType{PropertyFlags: t.Flags, HeapIndex: t.Heap}
	}
	for i, h := range p.profile.Heaps {
		out.MemoryHeaps[i] = vk.MemoryHeap{Size: h.Size, Flags: h.Flags}
	}
}

// allTypes is the memoryTypeBits of a resource that may lie in any memory type.
func (p *physicalDevice) allTypes() uint32 { return 1<<len(p.profile.Types) - 1 }

// typesFor narrows memoryTypeBits to the types that can hold memory of every one of the handle types:
// a remote address exists only for RDMA-capable memory.
func (p *physicalDevice) typesFor(handleTypes vk.ExternalMemoryHandleTypeFlags) uint32 {
	if handleTypes&vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV == 0 {
		return p.allTypes()
	}
	var bits uint32
	for i, t := range p.profile.Types {
		if t.Flags&vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV != 0 {
			bits |= 1 << i
		}
	}
	return bits
}

func getPhysicalDeviceExternalBufferProperties(h vk.PhysicalDevice, info *vk.PhysicalDeviceExternalBufferInfo, out *vk.ExternalBufferProperties) {
	if physicalDevices.Get(uintptr(h)) == nil {
		staleHandle("vkGetPhysicalDeviceExternalBufferProperties", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
		return
	}
	r := export.Properties(info.HandleType)
	if info.Flags != 0 || bufferUsage(info.Usage, info.PNext)&^bufferUsages != 0 {
		r = export.HandleProperties{}
	}
	out.ExternalMemoryProperties = vk.ExternalMemoryProperties{
		ExternalMemoryFeatures:        r.Features,
		ExportFromImportedHandleTypes: r.ExportFromImported,
		CompatibleHandleTypes:         r.Compatible,
	}
}

// getPhysicalDeviceToolProperties lists no tool: layers add themselves, and the driver has none built in.
func getPhysicalDeviceToolProperties(h vk.PhysicalDevice, count *uint32, out *vk.PhysicalDeviceToolProperties) vk.Result {
	if physicalDevices.Get(uintptr(h)) == nil {
		return staleHandle("vkGetPhysicalDeviceToolProperties", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
	}
	*count = 0
	return vk.SUCCESS
}
