package icd

import "farside/internal/vk"

// memoryReport is one callback of VK_EXT_device_memory_report.
type memoryReport struct {
	callback vk.PFN_vkDeviceMemoryReportCallbackEXT
	userData uintptr // the application's, never looked at
}

// reportMemory tells the application about one event of a device memory. payloadID is the same for every memory
// object that shares a payload, in this process and others; size is in bytes; heap is the memory heap's index.
// The callbacks run in the caller's thread with no lock held by this function.
//
// Fields that an event does not have are 0. Free and unimport events have no size: the specification defines it for
// allocations, imports and failed allocations only. Failed allocations have no handle and no payload.
func (d *device) reportMemory(
	event vk.DeviceMemoryReportEventTypeEXT, payloadID, size uint64, objType vk.ObjectType, objHandle uint64,
	heap uint32,
) {
	if len(d.reports) == 0 {
		return
	}
	switch event {
	case vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_FREE_EXT, vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_UNIMPORT_EXT:
		size, heap = 0, 0
	case vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATION_FAILED_EXT:
		payloadID, objHandle = 0, 0
	}
	callMemoryReports(d.reports, &vk.DeviceMemoryReportCallbackDataEXT{
		SType:          vk.STRUCTURE_TYPE_DEVICE_MEMORY_REPORT_CALLBACK_DATA_EXT,
		Type:           event,
		MemoryObjectId: payloadID,
		Size:           size,
		ObjectType:     objType,
		ObjectHandle:   objHandle,
		HeapIndex:      heap,
	})
}
