package icd

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"farside/internal/gate"
	"farside/internal/vk"
)

// parseMemoryReports returns the callbacks of all VkDeviceDeviceMemoryReportCreateInfoEXT in
// VkDeviceCreateInfo's pNext chain; the structure may be there more than once.
func parseMemoryReports(chain unsafe.Pointer) []memoryReport {
	var list []memoryReport
	for s := range vk.Chain(chain) {
		if s.SType != vk.STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT {
			continue
		}
		info := (*vk.DeviceDeviceMemoryReportCreateInfoEXT)(unsafe.Pointer(s))
		if info.PfnUserCallback != 0 {
			// As a number: see newMessenger.
			list = append(list, memoryReport{info.PfnUserCallback, *(*uintptr)(unsafe.Pointer(&info.PUserData))})
		}
	}
	return list
}

func callMemoryReports(list []memoryReport, data *vk.DeviceMemoryReportCallbackDataEXT) {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(data)
	gate.Callback(func() {
		for _, r := range list {
			purego.SyscallN(r.callback, uintptr(unsafe.Pointer(data)), r.userData)
		}
	})
}
