package icd

import (
	"farside/export"
	"farside/internal/vk"
)

func getPhysicalDeviceQueueFamilyProperties(p *physicalDevice, count *uint32, out *vk.QueueFamilyProperties) {
	families := make([]vk.QueueFamilyProperties, len(p.families))
	for i := range families {
		p.queueFamilyProperties(i, &families[i])
	}
	vk.WriteArray(count, out, families)
}

func getPhysicalDeviceQueueFamilyProperties2(p *physicalDevice, count *uint32, out *vk.QueueFamilyProperties2) {
	if out == nil || *count > uint32(len(p.families)) {
		*count = uint32(len(p.families))
	}
	for i := range vk.Slice(out, *count) {
		family := &vk.Slice(out, *count)[i]
		p.queueFamilyProperties(i, &family.QueueFamilyProperties)
		if g := vk.Find[vk.QueueFamilyGlobalPriorityProperties](family.PNext); g != nil {
			g.PriorityCount = uint32(copy(g.Priorities[:], globalPriorities))
		}
	}
}

// globalPriorities are those that a queue may have. With each of them it gets the processor's time as other threads do.
var globalPriorities = []vk.QueueGlobalPriority{vk.QUEUE_GLOBAL_PRIORITY_LOW, vk.QUEUE_GLOBAL_PRIORITY_MEDIUM,
	vk.QUEUE_GLOBAL_PRIORITY_HIGH, vk.QUEUE_GLOBAL_PRIORITY_REALTIME}

func (p *physicalDevice) queueFamilyProperties(family int, out *vk.QueueFamilyProperties) {
	f := &p.families[family]
	*out = vk.QueueFamilyProperties{
		QueueFlags:         f.Flags,
		QueueCount:         f.Count,
		TimestampValidBits: f.TimestampBits,
		MinImageTransferGranularity: vk.Extent3D{Width: f.Granularity[0], Height: f.Granularity[1],
			Depth: f.Granularity[2]},
	}
}

func getPhysicalDeviceMemoryProperties(p *physicalDevice, out *vk.PhysicalDeviceMemoryProperties) {
	p.memoryProperties(out)
}

func getPhysicalDeviceMemoryProperties2(p *physicalDevice, out *vk.PhysicalDeviceMemoryProperties2) {
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

// imageTypes are the memory types that images of a tiling can lie in.
func (p *physicalDevice) imageTypes(tiling vk.ImageTiling) uint32 {
	if tiling == vk.IMAGE_TILING_OPTIMAL {
		return p.optimalTypes
	}
	return p.linearTypes
}

// typesFor narrows memoryTypeBits to the types that can hold memory of every one of the handle types.
func (p *physicalDevice) typesFor(handleTypes vk.ExternalMemoryHandleTypeFlags) uint32 {
	return export.MemoryTypes(handleTypes, p.profile.Types)
}

// externalMemory is what the device can do with a handle type: nothing where the extension isn't there that carries it.
func (p *physicalDevice) externalMemory(t vk.ExternalMemoryHandleTypeFlags) export.HandleProperties {
	r := export.Properties(t)
	if p.cut == nil {
		return r
	}
	for _, carried := range [...]struct {
		by    string
		types vk.ExternalMemoryHandleTypeFlags
	}{
		{vk.KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT},
		{vk.EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, vk.EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT},
		{vk.EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT |
			vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_MAPPED_FOREIGN_MEMORY_BIT_EXT},
		{vk.NV_EXTERNAL_MEMORY_RDMA_EXTENSION_NAME, vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV},
	} {
		if p.supports(carried.by) {
			continue
		}
		if t&carried.types != 0 {
			return export.HandleProperties{}
		}
		r.Compatible &^= carried.types
		r.ExportFromImported &^= carried.types
	}
	return r
}

func getPhysicalDeviceExternalBufferProperties(
	p *physicalDevice, info *vk.PhysicalDeviceExternalBufferInfo, out *vk.ExternalBufferProperties,
) {
	r := p.externalMemory(info.HandleType)
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
func getPhysicalDeviceToolProperties(
	_ *physicalDevice, count *uint32, out *vk.PhysicalDeviceToolProperties,
) vk.Result {
	*count = 0
	return vk.SUCCESS
}
