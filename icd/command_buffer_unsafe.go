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

func cmdPushConstants(h vk.CommandBuffer, layout vk.PipelineLayout, stages vk.ShaderStageFlags, offset, size uint32, values unsafe.Pointer) {
	record("vkCmdPushConstants", h, func(b *commandBuffer) error {
		return b.pushConstants("vkCmdPushConstants", layout, stages, offset, size, values)
	})
}

// cmdPushConstants2 is VK_KHR_maintenance6's.
func cmdPushConstants2(h vk.CommandBuffer, info *vk.PushConstantsInfo) {
	record("vkCmdPushConstants2", h, func(b *commandBuffer) error {
		return b.pushConstants("VkPushConstantsInfo", info.Layout, info.StageFlags, info.Offset, info.Size, info.PValues)
	})
}

// pushConstants records vkCmdPushConstants; owner is the command or structure that its arguments belong to.
func (b *commandBuffer) pushConstants(owner string, layout vk.PipelineLayout, stages vk.ShaderStageFlags, offset, size uint32, values unsafe.Pointer) error {
	switch {
	case size == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-size-arraylength", "size is 0")
	case values == nil:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-pValues-parameter", "pValues is NULL")
	case uint64(offset)+uint64(size) > maxPushConstantsSize:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-size-00371",
			"%d bytes from offset %d are more than maxPushConstantsSize, %d", size, offset, maxPushConstantsSize)
	}
	return b.stream.PushConstants(layout, stages, offset, vk.Slice((*byte)(values), size))
}
