package icd

import (
	"unsafe"

	"farside/export"
	"farside/internal/vk"
)

func getMemoryHostPointerPropertiesEXT(h vk.Device, t vk.ExternalMemoryHandleTypeFlagBits, pointer unsafe.Pointer, out *vk.MemoryHostPointerPropertiesEXT) vk.Result {
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkGetMemoryHostPointerPropertiesEXT", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	types, err := export.HostPointerProperties(pointer, t, d.physical.profile.Types)
	if err != nil {
		return d.fail("vkGetMemoryHostPointerPropertiesEXT", err)
	}
	out.MemoryTypeBits = types
	return vk.SUCCESS
}
