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
	b := recording("vkCmdUpdateBuffer", h)
	if b == nil {
		return
	}
	if size%4 != 0 || size == 0 || size > 65536 {
		b.keep("vkCmdUpdateBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdUpdateBuffer-dataSize-00037",
			"size %d must be a multiple of 4, from 4 to 65536", size))
		return
	}
	b.recorded("vkCmdUpdateBuffer", b.stream.UpdateBuffer(dst, offset, vk.Slice((*byte)(data), size)))
}
