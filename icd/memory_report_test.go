package icd

import (
	"log/slog"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"farside/internal/vk"
)

type memoryEvent struct {
	event         vk.DeviceMemoryReportEventTypeEXT
	payload, size uint64
	object        object
	heap          uint32
	user          uintptr
}

var memoryEvents []memoryEvent

var memoryCallback = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(data *vk.DeviceMemoryReportCallbackDataEXT, user uintptr) uintptr {
		memoryEvents = append(memoryEvents, memoryEvent{data.Type, data.MemoryObjectId, data.Size,
			object{data.ObjectType, data.ObjectHandle}, data.HeapIndex, user})
		return 0
	})
})

func TestMemoryReports(t *testing.T) {
	captureLog(t, slog.LevelError)
	memoryEvents = nil
	info := func(next unsafe.Pointer, user uintptr) *vk.DeviceDeviceMemoryReportCreateInfoEXT {
		s := &vk.DeviceDeviceMemoryReportCreateInfoEXT{SType: vk.STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT,
			PNext: next, PfnUserCallback: memoryCallback()}
		*(*uintptr)(unsafe.Pointer(&s.PUserData)) = user
		return s
	}
	chain := info(unsafe.Pointer(info(nil, 2)), 1)
	reports := parseMemoryReports(unsafe.Pointer(chain))
	if len(reports) != 2 {
		t.Fatalf("%d callbacks in the chain, want 2", len(reports))
	}
	if r := parseMemoryReports(nil); len(r) != 0 {
		t.Errorf("%d callbacks in no chain", len(r))
	}
	d := &device{reports: reports}
	d.reportMemory(vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATE_EXT, 7, 4096, vk.OBJECT_TYPE_DEVICE_MEMORY, 0x99, 1)
	d.reportMemory(vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_FREE_EXT, 7, 4096, vk.OBJECT_TYPE_DEVICE_MEMORY, 0x99, 1)
	d.reportMemory(vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATION_FAILED_EXT, 7, 4096, vk.OBJECT_TYPE_DEVICE_MEMORY, 0x99,
		1)
	o := object{vk.OBJECT_TYPE_DEVICE_MEMORY, 0x99}
	want := []memoryEvent{
		{vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATE_EXT, 7, 4096, o, 1, 1},
		{vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATE_EXT, 7, 4096, o, 1, 2},
		{vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_FREE_EXT, 7, 0, o, 0, 1},
		{vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_FREE_EXT, 7, 0, o, 0, 2},
		{vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATION_FAILED_EXT, 0, 4096, object{o.Type, 0}, 1, 1},
		{vk.DEVICE_MEMORY_REPORT_EVENT_TYPE_ALLOCATION_FAILED_EXT, 0, 4096, object{o.Type, 0}, 1, 2},
	}
	if len(memoryEvents) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(memoryEvents), len(want), memoryEvents)
	}
	for n, w := range want {
		if memoryEvents[n] != w {
			t.Errorf("event %d: %+v, want %+v", n, memoryEvents[n], w)
		}
	}
}
