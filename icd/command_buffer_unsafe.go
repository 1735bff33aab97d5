package icd

import (
	"unsafe"

	"farside/internal/command"
	"farside/internal/vk"
)

// window is where the recording stubs look for the room that a command buffer has.
func window(h vk.CommandBuffer) *command.Window {
	return (*command.Window)(unsafe.Pointer(commandBuffers.Slot(uintptr(h))))
}

func cmdUpdateBuffer(h vk.CommandBuffer, dst vk.Buffer, offset, size vk.DeviceSize, data unsafe.Pointer) {
	record("vkCmdUpdateBuffer", h, func(b *commandBuffer) error {
		switch {
		case size > 65536:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdUpdateBuffer-dataSize-00037", "dataSize %d is more than 65536", size)
		case size%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdUpdateBuffer-dataSize-00038", "dataSize %d is no multiple of 4", size)
		case size == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdUpdateBuffer-dataSize-arraylength", "dataSize is 0")
		case data == nil:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdUpdateBuffer-pData-parameter", "pData is NULL")
		}
		return b.stream.UpdateBuffer(dst, offset, vk.Slice((*byte)(data), size))
	})
}
