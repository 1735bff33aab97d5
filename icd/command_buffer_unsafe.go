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

// showGraphics tells the recording stubs whether a command buffer takes commands of graphics.
func showGraphics(h vk.CommandBuffer, takes bool) {
	const word = 2 // behind the window
	slot := commandBuffers.Slot(uintptr(h))
	if slot[word] = 0; takes {
		slot[word] = 1
	}
}

func cmdUpdateBuffer(b *commandBuffer, dst vk.Buffer, offset, size vk.DeviceSize, data unsafe.Pointer) {
	b.record("vkCmdUpdateBuffer", func() error {
		switch {
		case size > 65536:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdUpdateBuffer_dataSize_00037, "dataSize %d is more than 65536", size)
		case size%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdUpdateBuffer_dataSize_00038, "dataSize %d is no multiple of 4", size)
		case size == 0:
			return empty(vk.VUID_vkCmdUpdateBuffer_dataSize_arraylength)
		case data == nil:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdUpdateBuffer_pData_parameter, "pData is NULL")
		}
		return b.stream.UpdateBuffer(dst, offset, vk.Slice((*byte)(data), size))
	})
}

func cmdPushConstants(
	b *commandBuffer, layout vk.PipelineLayout, stages vk.ShaderStageFlags, offset, size uint32,
	values unsafe.Pointer,
) {
	b.record("vkCmdPushConstants", func() error {
		return b.pushConstants(&pushConstantsRules, layout, stages, offset, size, values)
	})
}

// cmdPushConstants2 is VK_KHR_maintenance6's.
func cmdPushConstants2(b *commandBuffer, info *vk.PushConstantsInfo) {
	b.record("vkCmdPushConstants2", func() error {
		return b.pushConstants(&pushConstantsRules2, info.Layout, info.StageFlags, info.Offset, info.Size, info.PValues)
	})
}

// constantRules are the rules for the values of push constants.
type constantRules struct{ empty, null, limit vk.VUID }

var (
	pushConstantsRules = constantRules{
		empty: vk.VUID_vkCmdPushConstants_size_arraylength,
		null:  vk.VUID_vkCmdPushConstants_pValues_parameter,
		limit: vk.VUID_vkCmdPushConstants_size_00371,
	}
	pushConstantsRules2 = constantRules{
		empty: vk.VUID_VkPushConstantsInfo_size_arraylength,
		null:  vk.VUID_VkPushConstantsInfo_pValues_parameter,
		limit: vk.VUID_VkPushConstantsInfo_size_00371,
	}
)

// pushConstants records vkCmdPushConstants.
func (b *commandBuffer) pushConstants(
	rules *constantRules, layout vk.PipelineLayout, stages vk.ShaderStageFlags, offset, size uint32, values unsafe.Pointer,
) error {
	most := b.pool.device.physical.limits.MaxPushConstantsSize
	switch {
	case size == 0:
		return empty(rules.empty)
	case values == nil:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.null, "pValues is NULL")
	case uint64(offset)+uint64(size) > uint64(most):
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.limit,
			"%d bytes from offset %d are more than maxPushConstantsSize, %d", size, offset, most)
	}
	return b.stream.PushConstants(layout, stages, offset, vk.Slice((*byte)(values), size))
}
