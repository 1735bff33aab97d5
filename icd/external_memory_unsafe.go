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
	alignment := d.physical.limits.host.MinImportedHostPointerAlignment
	if uint64(uintptr(pointer))%alignment != 0 {
		return d.fail("vkGetMemoryHostPointerPropertiesEXT", vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE,
			vk.VUID_vkGetMemoryHostPointerPropertiesEXT_pHostPointer_01753, "host pointer %p is not a multiple of %d", pointer,
			alignment))
	}
	types, err := export.Inspect(export.Handle{Type: t, By: export.HostPointer, Pointer: pointer},
		d.physical.profile.Types)
	if err != nil {
		return d.fail("vkGetMemoryHostPointerPropertiesEXT", err)
	}
	out.MemoryTypeBits = d.singleInstance(types)
	return vk.SUCCESS
}

// checkHostPointer holds an imported host pointer to the device's alignment, which may be more than export's.
func (m *deviceMemory) checkHostPointer(h export.Handle) error {
	alignment := m.device.physical.limits.host.MinImportedHostPointerAlignment
	switch {
	case uint64(uintptr(h.Pointer))%alignment != 0:
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkImportMemoryHostPointerInfoEXT_pHostPointer_01749,
			"host pointer %p is not a multiple of %d", h.Pointer, alignment)
	case m.size%alignment != 0:
		return vk.Errorf(vk.ERROR_INVALID_EXTERNAL_HANDLE, vk.VUID_VkMemoryAllocateInfo_allocationSize_01745,
			"%d bytes are not a multiple of %d", m.size, alignment)
	}
	return nil
}
