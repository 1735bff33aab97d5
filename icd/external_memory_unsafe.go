package icd

import (
	"unsafe"

	"farside/export"
	"farside/internal/vk"
)

func getMemoryHostPointerPropertiesEXT(
	d *device, t vk.ExternalMemoryHandleTypeFlagBits, pointer unsafe.Pointer,
	out *vk.MemoryHostPointerPropertiesEXT,
) vk.Result {
	types, err := export.Inspect(export.Handle{Type: t, By: export.HostPointer, Pointer: pointer},
		d.physical.profile.Types)
	if err != nil {
		return d.fail("vkGetMemoryHostPointerPropertiesEXT", err)
	}
	out.MemoryTypeBits = types
	return vk.SUCCESS
}
