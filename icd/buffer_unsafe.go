package icd

import (
	"unsafe"

	"farside/internal/vk"
)

// getBufferDeviceAddress answers with the address of the payload's mapping in this process, which stays
// where it is for the memory's life.
func getBufferDeviceAddress(_ *device, info *vk.BufferDeviceAddressInfo) uint64 {
	b := live(buffers, info.Buffer)
	m := b.boundTo()
	if m == nil {
		b.device.fail("vkGetBufferDeviceAddress", vk.Errorf(vk.ERROR_UNKNOWN, vk.NoVUID, "the buffer is not bound to memory"))
		return 0
	}
	if b.device.several() {
		m.fail("vkGetBufferDeviceAddress", vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkGetBufferDeviceAddress_device_03325,
			"the device has %d physical devices, and the bufferDeviceAddressMultiDevice feature is not supported",
			len(b.device.members)))
		return 0
	}
	base, err := m.payload.Map()
	if err != nil {
		m.fail("vkGetBufferDeviceAddress", err)
		return 0
	}
	b.device.addresses.add(uint64(uintptr(base)), m)
	return uint64(uintptr(base)) + b.offset
}

// bufferUsage returns the usage that a structure asks for: that of a VkBufferUsageFlags2CreateInfo in its chain, which
// takes the place of its own. The flags that the driver knows have the same values in both.
func bufferUsage(own vk.BufferUsageFlags, next unsafe.Pointer) vk.BufferUsageFlags {
	if f := vk.Find[vk.BufferUsageFlags2CreateInfo](next); f != nil {
		return vk.BufferUsageFlags(f.Usage)
	}
	return own
}
