package icd

import "farside/internal/vk"

// The commands of compute. What is bound and how it fits together is looked at when a dispatch is executed.

func cmdBindPipeline(h vk.CommandBuffer, point vk.PipelineBindPoint, pipeline vk.Pipeline) {
	record("vkCmdBindPipeline", h, func(b *commandBuffer) error { return b.stream.BindPipeline(point, pipeline) })
}

func cmdBindDescriptorSets(h vk.CommandBuffer, point vk.PipelineBindPoint, layout vk.PipelineLayout, first, count uint32, sets *vk.DescriptorSet, offsetCount uint32, offsets *uint32) {
	record("vkCmdBindDescriptorSets", h, func(b *commandBuffer) error {
		return b.bindSets("vkCmdBindDescriptorSets", point, layout, first, count, sets, offsetCount, offsets)
	})
}

// cmdBindDescriptorSets2 is VK_KHR_maintenance6's. Stages other than compute have no shaders that could use the sets.
func cmdBindDescriptorSets2(h vk.CommandBuffer, info *vk.BindDescriptorSetsInfo) {
	record("vkCmdBindDescriptorSets2", h, func(b *commandBuffer) error {
		if info.StageFlags&vk.SHADER_STAGE_COMPUTE_BIT == 0 {
			return nil
		}
		return b.bindSets("VkBindDescriptorSetsInfo", vk.PIPELINE_BIND_POINT_COMPUTE, info.Layout, info.FirstSet,
			info.DescriptorSetCount, info.PDescriptorSets, info.DynamicOffsetCount, info.PDynamicOffsets)
	})
}

// bindSets records vkCmdBindDescriptorSets; owner is the command or structure that its arguments belong to.
func (b *commandBuffer) bindSets(owner string, point vk.PipelineBindPoint, layout vk.PipelineLayout, first, count uint32, sets *vk.DescriptorSet, offsetCount uint32, offsets *uint32) error {
	list, err := elements(owner, "descriptorSet", sets, count)
	if err != nil {
		return err
	}
	if offsets == nil && offsetCount > 0 {
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-pDynamicOffsets-parameter", "the array of dynamic offsets is NULL")
	}
	return b.stream.BindDescriptorSets(point, layout, first, list, vk.Slice(offsets, offsetCount))
}

func cmdDispatch(h vk.CommandBuffer, x, y, z uint32) {
	record("vkCmdDispatch", h, func(b *commandBuffer) error { return b.stream.Dispatch(x, y, z) })
}

func cmdDispatchIndirect(h vk.CommandBuffer, buffer vk.Buffer, offset vk.DeviceSize) {
	record("vkCmdDispatchIndirect", h, func(b *commandBuffer) error { return b.stream.DispatchIndirect(buffer, offset) })
}

func cmdDispatchBase(h vk.CommandBuffer, baseX, baseY, baseZ, x, y, z uint32) {
	record("vkCmdDispatchBase", h, func(b *commandBuffer) error { return b.stream.DispatchBase(baseX, baseY, baseZ, x, y, z) })
}
