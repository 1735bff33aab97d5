package icd

import "farside/internal/vk"

// The commands of compute. Whether pipeline, sets and layouts go together is checked when a dispatch is executed.

func cmdBindPipeline(b *commandBuffer, point vk.PipelineBindPoint, pipeline vk.Pipeline) {
	b.record("vkCmdBindPipeline", func() error { return b.stream.BindPipeline(point, pipeline) })
}

func cmdBindDescriptorSets(
	b *commandBuffer, point vk.PipelineBindPoint, layout vk.PipelineLayout, first, count uint32,
	sets *vk.DescriptorSet, offsetCount uint32, offsets *uint32,
) {
	b.record("vkCmdBindDescriptorSets", func() error {
		return b.bindSets(&bindRules, point, layout, first, count, sets, offsetCount, offsets)
	})
}

// cmdBindDescriptorSets2 is VK_KHR_maintenance6's. Stages that the queue family lacks have no shaders that could use
// the sets.
func cmdBindDescriptorSets2(b *commandBuffer, info *vk.BindDescriptorSetsInfo) {
	b.record("vkCmdBindDescriptorSets2", func() error {
		return b.eachPoint(info.StageFlags, func(point vk.PipelineBindPoint) error {
			return b.bindSets(&bindRules2, point, info.Layout, info.FirstSet, info.DescriptorSetCount, info.PDescriptorSets,
				info.DynamicOffsetCount, info.PDynamicOffsets)
		})
	})
}

// eachPoint calls f for the kinds of pipelines to which stages belong, of those that the queue family has.
func (b *commandBuffer) eachPoint(stages vk.ShaderStageFlags, f func(vk.PipelineBindPoint) error) error {
	if stages&vk.SHADER_STAGE_COMPUTE_BIT != 0 {
		if err := f(vk.PIPELINE_BIND_POINT_COMPUTE); err != nil {
			return err
		}
	}
	if stages&vk.SHADER_STAGE_ALL_GRAPHICS != 0 && b.pool.graphics() {
		return f(vk.PIPELINE_BIND_POINT_GRAPHICS)
	}
	return nil
}

// setRules are the rules for the arrays with which descriptor sets are bound.
type setRules struct{ empty, sets, offsets vk.VUID }

var (
	bindRules = setRules{
		empty:   vk.VUID_vkCmdBindDescriptorSets_descriptorSetCount_arraylength,
		sets:    vk.VUID_vkCmdBindDescriptorSets_pDescriptorSets_parameter,
		offsets: vk.VUID_vkCmdBindDescriptorSets_pDynamicOffsets_parameter,
	}
	bindRules2 = setRules{
		empty:   vk.VUID_VkBindDescriptorSetsInfo_descriptorSetCount_arraylength,
		sets:    vk.VUID_VkBindDescriptorSetsInfo_pDescriptorSets_parameter,
		offsets: vk.VUID_VkBindDescriptorSetsInfo_pDynamicOffsets_parameter,
	}
)

// bindSets records vkCmdBindDescriptorSets.
func (b *commandBuffer) bindSets(
	rules *setRules, point vk.PipelineBindPoint, layout vk.PipelineLayout,
	first, count uint32, sets *vk.DescriptorSet, offsetCount uint32, offsets *uint32,
) error {
	list, err := elements(sets, count, rules.empty, rules.sets)
	if err != nil {
		return err
	}
	if offsets == nil && offsetCount > 0 {
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.offsets, "the array of dynamic offsets is NULL")
	}
	return b.stream.BindDescriptorSets(point, layout, first, list, vk.Slice(offsets, offsetCount))
}

func cmdDispatch(b *commandBuffer, x, y, z uint32) {
	b.record("vkCmdDispatch", func() error { return b.stream.Dispatch(x, y, z) })
}

func cmdDispatchIndirect(b *commandBuffer, buffer vk.Buffer, offset vk.DeviceSize) {
	b.record("vkCmdDispatchIndirect", func() error { return b.stream.DispatchIndirect(buffer, offset) })
}

func cmdDispatchBase(b *commandBuffer, baseX, baseY, baseZ, x, y, z uint32) {
	b.record("vkCmdDispatchBase", func() error { return b.stream.DispatchBase(baseX, baseY, baseZ, x, y, z) })
}
