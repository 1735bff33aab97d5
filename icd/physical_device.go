package icd

import (
	"farside/export"
	"farside/internal/vk"
)

// queueFamilies has one element for each queue family: the number of its queues. All can transfer, those of family 0
// compute, too.
var queueFamilies = [...]uint32{4, 2}

func getPhysicalDeviceQueueFamilyProperties(_ *physicalDevice, count *uint32, out *vk.QueueFamilyProperties) {
	var families [len(queueFamilies)]vk.QueueFamilyProperties
	for i := range families {
		queueFamilyProperties(i, &families[i])
	}
	vk.WriteArray(count, out, families[:])
}

func getPhysicalDeviceQueueFamilyProperties2(_ *physicalDevice, count *uint32, out *vk.QueueFamilyProperties2) {
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

// typesFor narrows memoryTypeBits to the types that can hold memory of every one of the handle types.
func (p *physicalDevice) typesFor(handleTypes vk.ExternalMemoryHandleTypeFlags) uint32 {
	return export.MemoryTypes(handleTypes, p.profile.Types)
}

func getPhysicalDeviceExternalBufferProperties(
	_ *physicalDevice, info *vk.PhysicalDeviceExternalBufferInfo, out *vk.ExternalBufferProperties,
) {
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
func getPhysicalDeviceToolProperties(
	_ *physicalDevice, count *uint32, out *vk.PhysicalDeviceToolProperties,
) vk.Result {
	*count = 0
	return vk.SUCCESS
}
