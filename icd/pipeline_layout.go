package icd

import (
	"farside/compute"
	"farside/internal/descriptor"
	"farside/internal/exec"
	"farside/internal/vk"
	"farside/spirv"
)

const (
	maxBoundDescriptorSets = exec.MaxSets
	maxPushConstantsSize   = exec.MaxPushConstants
)

// pipelineLayout is a VkPipelineLayout. What it is made of may be destroyed before it.
type pipelineLayout struct {
	child
	sets      []*descriptor.Layout // nil for VK_NULL_HANDLE
	push      [stages]pushRange    // by stageOf
	resources uint64               // that compute shaders reach, as maxPerStageResources counts them
}

// The stages that shaders can be of.
const (
	computeStage = iota
	vertexStage
	fragmentStage
	stages
)

// stageBits are the stages' flags.
var stageBits = [stages]vk.ShaderStageFlags{vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT),
	vk.ShaderStageFlags(vk.SHADER_STAGE_VERTEX_BIT), vk.ShaderStageFlags(vk.SHADER_STAGE_FRAGMENT_BIT)}

// stageModels are the stages' execution models.
var stageModels = [stages]spirv.ExecutionModel{spirv.ExecutionModelGLCompute, spirv.ExecutionModelVertex,
	spirv.ExecutionModelFragment}

// compilerStages are the stages as the compiler names them.
var compilerStages = [stages]compute.Stage{compute.StageCompute, compute.StageVertex, compute.StageFragment}

// pushRange is a range of push constants, in bytes.
type pushRange struct{ begin, end uint32 }

func createPipelineLayout(
	d *device, info *vk.PipelineLayoutCreateInfo, _ *vk.AllocationCallbacks, out *vk.PipelineLayout,
) vk.Result {
	l, err := d.newPipelineLayout(info)
	if err != nil {
		return d.fail("vkCreatePipelineLayout", err)
	}
	*out = vk.PipelineLayout(d.add(l))
	return vk.SUCCESS
}

func (d *device) newPipelineLayout(info *vk.PipelineLayoutCreateInfo) (*pipelineLayout, error) {
	l := &pipelineLayout{child: child{device: d}}
	if most := d.physical.limits.MaxBoundDescriptorSets; info.SetLayoutCount > most {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineLayoutCreateInfo_setLayoutCount_00286,
			"%d set layouts are more than maxBoundDescriptorSets, %d", info.SetLayoutCount, most)
	}
	pushed := 0
	for _, h := range vk.Slice(info.PSetLayouts, info.SetLayoutCount) {
		if h == 0 {
			l.sets = append(l.sets, nil)
			continue
		}
		s := descriptorSetLayouts.Get(uint64(h))
		if s == nil || s.device != d {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineLayoutCreateInfo_pSetLayouts_parameter,
				"%#x is no descriptor set layout of the device", uint64(h))
		}
		if s.layout.Flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT != 0 {
			pushed++
		}
		l.sets = append(l.sets, s.layout)
	}
	if pushed > 1 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineLayoutCreateInfo_pSetLayouts_00293,
			"%d of the set layouts are for push descriptors", pushed)
	}
	if err := l.checkDescriptors(d.physical.limits); err != nil {
		return nil, err
	}
	l.resources = l.countResources()
	return l, l.readRanges(d.physical.limits.MaxPushConstantsSize,
		vk.Slice(info.PPushConstantRanges, info.PushConstantRangeCount))
}

func (l *pipelineLayout) readRanges(most uint32, ranges []vk.PushConstantRange) error {
	var seen vk.ShaderStageFlags
	for i := range ranges {
		r := &ranges[i]
		switch {
		case r.Offset >= most:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPushConstantRange_offset_00294,
				"offset %d is not below maxPushConstantsSize, %d", r.Offset, most)
		case r.Offset%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPushConstantRange_offset_00295, "offset %d is no multiple of 4",
				r.Offset)
		case r.Size == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPushConstantRange_size_00296, "a range of 0 bytes")
		case r.Size%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPushConstantRange_size_00297, "size %d is no multiple of 4", r.Size)
		case r.Size > most-r.Offset:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPushConstantRange_size_00298,
				"%d bytes from offset %d are more than maxPushConstantsSize, %d", r.Size, r.Offset, most)
		case r.StageFlags == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPushConstantRange_stageFlags_requiredbitmask,
				"a range of push constants for no stage")
		case r.StageFlags&seen != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkPipelineLayoutCreateInfo_pPushConstantRanges_00292,
				"two ranges of push constants are for %v", r.StageFlags&seen)
		}
		seen |= r.StageFlags
		for stage, bit := range stageBits {
			if r.StageFlags&bit != 0 {
				l.push[stage] = pushRange{r.Offset, r.Offset + r.Size}
			}
		}
	}
	return nil
}
