package icd

import (
	"slices"

	"farside/internal/vk"
)

// descriptorKind is a kind of descriptors that limits count together, with the limits and the rules that name them: for
// a stage, for all sets of a pipeline layout, and both once more with sets that are updated after they are bound.
type descriptorKind struct {
	what                                     string
	types                                    []vk.DescriptorType
	stage, total, lateStage, lateTotal       func(l *limits) uint32
	rule, totalRule, lateRule, lateTotalRule vk.VUID
}

var descriptorKinds = []descriptorKind{
	{"samplers", []vk.DescriptorType{vk.DESCRIPTOR_TYPE_SAMPLER, vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER},
		func(l *limits) uint32 { return l.MaxPerStageDescriptorSamplers },
		func(l *limits) uint32 { return l.MaxDescriptorSetSamplers },
		func(l *limits) uint32 { return l.indexing.MaxPerStageDescriptorUpdateAfterBindSamplers },
		func(l *limits) uint32 { return l.indexing.MaxDescriptorSetUpdateAfterBindSamplers },
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03016, vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03028,
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03022, vk.VUID_VkPipelineLayoutCreateInfo_pSetLayouts_03036},
	{"uniform buffers", []vk.DescriptorType{vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER},
		nil,
		func(l *limits) uint32 { return l.MaxDescriptorSetUniformBuffers },
		nil,
		func(l *limits) uint32 { return l.indexing.MaxDescriptorSetUpdateAfterBindUniformBuffers },
		vk.NoVUID, vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03029,
		vk.NoVUID, vk.VUID_VkPipelineLayoutCreateInfo_pSetLayouts_03037},
	{"uniform buffers, dynamic ones included",
		[]vk.DescriptorType{vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC},
		func(l *limits) uint32 { return l.MaxPerStageDescriptorUniformBuffers }, nil,
		func(l *limits) uint32 { return l.indexing.MaxPerStageDescriptorUpdateAfterBindUniformBuffers }, nil,
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03017, vk.NoVUID,
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03023, vk.NoVUID},
	{"dynamic uniform buffers", []vk.DescriptorType{vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC},
		nil, func(l *limits) uint32 { return l.MaxDescriptorSetUniformBuffersDynamic },
		nil, func(l *limits) uint32 { return l.indexing.MaxDescriptorSetUpdateAfterBindUniformBuffersDynamic },
		vk.NoVUID, vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03030,
		vk.NoVUID, vk.VUID_VkPipelineLayoutCreateInfo_pSetLayouts_03038},
	{"storage buffers", []vk.DescriptorType{vk.DESCRIPTOR_TYPE_STORAGE_BUFFER},
		nil, func(l *limits) uint32 { return l.MaxDescriptorSetStorageBuffers },
		nil, func(l *limits) uint32 { return l.indexing.MaxDescriptorSetUpdateAfterBindStorageBuffers },
		vk.NoVUID, vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03031,
		vk.NoVUID, vk.VUID_VkPipelineLayoutCreateInfo_pSetLayouts_03039},
	{"storage buffers, dynamic ones included",
		[]vk.DescriptorType{vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC},
		func(l *limits) uint32 { return l.MaxPerStageDescriptorStorageBuffers }, nil,
		func(l *limits) uint32 { return l.indexing.MaxPerStageDescriptorUpdateAfterBindStorageBuffers }, nil,
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03018, vk.NoVUID,
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03024, vk.NoVUID},
	{"dynamic storage buffers", []vk.DescriptorType{vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC},
		nil, func(l *limits) uint32 { return l.MaxDescriptorSetStorageBuffersDynamic },
		nil, func(l *limits) uint32 { return l.indexing.MaxDescriptorSetUpdateAfterBindStorageBuffersDynamic },
		vk.NoVUID, vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03032,
		vk.NoVUID, vk.VUID_VkPipelineLayoutCreateInfo_pSetLayouts_03040},
	{"sampled images and uniform texel buffers",
		[]vk.DescriptorType{vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE,
			vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER},
		func(l *limits) uint32 { return l.MaxPerStageDescriptorSampledImages },
		func(l *limits) uint32 { return l.MaxDescriptorSetSampledImages },
		func(l *limits) uint32 { return l.indexing.MaxPerStageDescriptorUpdateAfterBindSampledImages },
		func(l *limits) uint32 { return l.indexing.MaxDescriptorSetUpdateAfterBindSampledImages },
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_06939, vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03033,
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03025, vk.VUID_VkPipelineLayoutCreateInfo_pSetLayouts_03041},
	{"storage images and storage texel buffers",
		[]vk.DescriptorType{vk.DESCRIPTOR_TYPE_STORAGE_IMAGE, vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER},
		func(l *limits) uint32 { return l.MaxPerStageDescriptorStorageImages },
		func(l *limits) uint32 { return l.MaxDescriptorSetStorageImages },
		func(l *limits) uint32 { return l.indexing.MaxPerStageDescriptorUpdateAfterBindStorageImages },
		func(l *limits) uint32 { return l.indexing.MaxDescriptorSetUpdateAfterBindStorageImages },
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03020, vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03034,
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03026, vk.VUID_VkPipelineLayoutCreateInfo_pSetLayouts_03042},
	{"input attachments", []vk.DescriptorType{vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT},
		func(l *limits) uint32 { return l.MaxPerStageDescriptorInputAttachments },
		func(l *limits) uint32 { return l.MaxDescriptorSetInputAttachments },
		func(l *limits) uint32 { return l.indexing.MaxPerStageDescriptorUpdateAfterBindInputAttachments },
		func(l *limits) uint32 { return l.indexing.MaxDescriptorSetUpdateAfterBindInputAttachments },
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03021, vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03035,
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_03027, vk.VUID_VkPipelineLayoutCreateInfo_pSetLayouts_03043},
	{"inline uniform blocks", []vk.DescriptorType{vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK},
		func(l *limits) uint32 { return l.inline.MaxPerStageDescriptorInlineUniformBlocks },
		func(l *limits) uint32 { return l.inline.MaxDescriptorSetInlineUniformBlocks },
		func(l *limits) uint32 { return l.inline.MaxPerStageDescriptorUpdateAfterBindInlineUniformBlocks },
		func(l *limits) uint32 { return l.inline.MaxDescriptorSetUpdateAfterBindInlineUniformBlocks },
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_02214, vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_02216,
		vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_02215, vk.VUID_VkPipelineLayoutCreateInfo_descriptorType_02217},
}

// checkDescriptors holds the descriptors of all sets to the limits of the device.
func (p *pipelineLayout) checkDescriptors(l *limits) error {
	for i := range descriptorKinds {
		k := &descriptorKinds[i]
		for _, c := range [...]struct {
			late, total bool
			most        func(*limits) uint32
			rule        vk.VUID
		}{{false, false, k.stage, k.rule}, {false, true, k.total, k.totalRule},
			{true, false, k.lateStage, k.lateRule}, {true, true, k.lateTotal, k.lateTotalRule}} {
			if c.most == nil {
				continue
			}
			if n, most := p.count(k.types, c.late, c.total), uint64(c.most(l)); n > most {
				return vk.Errorf(vk.ERROR_UNKNOWN, c.rule, "%d %s in the layout's sets are more than %d", n, k.what, most)
			}
		}
	}
	return nil
}

// resourceTypes count against maxPerStageResources.
var resourceTypes = [...]vk.DescriptorType{vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE,
	vk.DESCRIPTOR_TYPE_STORAGE_IMAGE, vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,
	vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
	vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT}

// count is how many descriptors of some types the sets have: in all, or in the stage that has most. Sets for update
// after bind count with late alone.
func (p *pipelineLayout) count(types []vk.DescriptorType, late, total bool) uint64 {
	var stages [32]uint64
	all := uint64(0)
	for _, s := range p.sets {
		if s == nil || !late && s.Flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT != 0 {
			continue
		}
		for i := range s.Bindings {
			b := &s.Bindings[i]
			if !slices.Contains(types, b.Type) {
				continue
			}
			n := uint64(b.Count)
			if b.Type == vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK {
				n = min(n, 1) // its count is bytes
			}
			all += n
			for stage := range stages {
				if b.Stages>>stage&1 != 0 {
					stages[stage] += n
				}
			}
		}
	}
	if total {
		return all
	}
	return slices.Max(stages[:])
}

// countResources is how many descriptors of the sets compute shaders reach, as maxPerStageResources counts them.
func (p *pipelineLayout) countResources() uint64 {
	all := uint64(0)
	for _, s := range p.sets {
		if s == nil || s.Flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT != 0 {
			continue
		}
		for i := range s.Bindings {
			if b := &s.Bindings[i]; b.Stages&vk.SHADER_STAGE_COMPUTE_BIT != 0 && slices.Contains(resourceTypes[:], b.Type) {
				all += uint64(b.Count)
			}
		}
	}
	return all
}
