package icd

import (
	"unsafe"

	"farside/internal/vk"
)

func cmdUpdateBuffer(h vk.CommandBuffer, dst vk.Buffer, offset, size vk.DeviceSize, data unsafe.Pointer) {
	b := recording("vkCmdUpdateBuffer", h)
	if b == nil {
		return
	}
	if offset%4 != 0 || size%4 != 0 || size == 0 || size > 65536 {
		b.keep("vkCmdUpdateBuffer", vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdUpdateBuffer-dataSize-00037",
			"offset %d and size %d must be multiples of 4, the size from 4 to 65536", offset, size))
		return
	}
	r, err := bufferRange(dst, offset, size, vk.BUFFER_USAGE_TRANSFER_DST_BIT)
	if err != nil {
		b.keep("vkCmdUpdateBuffer", err)
		return
	}
	b.stream.Update(r, unsafe.Slice((*byte)(data), size))
}
