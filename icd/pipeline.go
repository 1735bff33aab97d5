package icd

import (
	"farside/internal/descriptor"
	"farside/internal/exec"
	"farside/internal/vk"
)

// pipeline is a VkPipeline. That of a graphics pipeline is in graphics.
type pipeline struct {
	child
	flags    vk.PipelineCreateFlags2
	shader   *shader // of a compute pipeline
	exec     exec.Pipeline
	graphics *graphicsParts // of a graphics pipeline, and of a library of its parts
	// stage is what the shader is compiled from again, with VK_PIPELINE_CREATE_2_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR.
	stage *stage
}

// The flags that pipelines of this device can have. Those that ask for less optimization change nothing.
const pipelineFlags = vk.PIPELINE_CREATE_2_DISABLE_OPTIMIZATION_BIT | vk.PIPELINE_CREATE_2_ALLOW_DERIVATIVES_BIT |
	vk.PIPELINE_CREATE_2_DERIVATIVE_BIT | vk.PIPELINE_CREATE_2_DISPATCH_BASE_BIT | cacheControlFlags |
	vk.PIPELINE_CREATE_2_CAPTURE_STATISTICS_BIT_KHR | vk.PIPELINE_CREATE_2_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR

const cacheControlFlags = vk.PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT |
	vk.PIPELINE_CREATE_2_EARLY_RETURN_ON_FAILURE_BIT

func createComputePipelines(
	d *device, cache *pipelineCache, count uint32, infos *vk.ComputePipelineCreateInfo, _ *vk.AllocationCallbacks,
	out *vk.Pipeline,
) vk.Result {
	results := vk.Slice(out, count)
	list, err := elements(infos, count, vk.VUID_vkCreateComputePipelines_createInfoCount_arraylength,
		vk.VUID_vkCreateComputePipelines_pCreateInfos_parameter)
	if err != nil {
		return d.fail("vkCreateComputePipelines", err)
	}
	outcome := vk.SUCCESS
	for i := range list {
		flags := createFlags(&list[i])
		p, err := d.newPipeline(&list[i], flags, cache, results[:i])
		if err == nil {
			results[i] = vk.Pipeline(d.add(p))
			continue
		}
		// An error counts for more than VK_PIPELINE_COMPILE_REQUIRED, which is none.
		objects := []object{{vk.OBJECT_TYPE_DEVICE, uint64(d.handle)}}
		if m := list[i].Stage.Module; m != 0 {
			objects = append(objects, object{vk.OBJECT_TYPE_SHADER_MODULE, uint64(m)})
		}
		if r := d.physical.instance.fail("vkCreateComputePipelines", err, objects...); outcome >= 0 && r != outcome {
			outcome = min(r, vk.PIPELINE_COMPILE_REQUIRED)
		}
		if flags&vk.PIPELINE_CREATE_2_EARLY_RETURN_ON_FAILURE_BIT != 0 {
			break
		}
	}
	return outcome
}

// readComputeStage takes over the stage of a compute pipeline.
func (d *device) readComputeStage(info *vk.PipelineShaderStageCreateInfo) (*stage, error) {
	if info.Stage != vk.SHADER_STAGE_COMPUTE_BIT {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkComputePipelineCreateInfo_stage_00701,
			"stage %v of a compute pipeline", info.Stage)
	}
	return d.readStage(info, computeStage)
}

// createFlags are the flags of a pipeline; VkPipelineCreateFlags2CreateInfo replaces those of the structure.
func createFlags(info *vk.ComputePipelineCreateInfo) vk.PipelineCreateFlags2 {
	if f := vk.Find[vk.PipelineCreateFlags2CreateInfo](info.PNext); f != nil {
		return f.Flags
	}
	return vk.PipelineCreateFlags2(info.Flags)
}

// newPipeline makes a pipeline; earlier are those of the same call.
func (d *device) newPipeline(info *vk.ComputePipelineCreateInfo, flags vk.PipelineCreateFlags2, cache *pipelineCache,
	earlier []vk.Pipeline) (*pipeline, error) {
	begin := exec.Now()
	if err := d.checkFlags(info, flags, earlier); err != nil {
		return nil, err
	}
	layout := pipelineLayouts.Get(uint64(info.Layout))
	if layout == nil || layout.device != d {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkComputePipelineCreateInfo_layout_parameter,
			"%#x is no pipeline layout of the device", uint64(info.Layout))
	}
	if most := d.physical.limits.MaxPerStageResources; layout.resources > uint64(most) {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkComputePipelineCreateInfo_layout_01687,
			"%d resources in the layout are more than maxPerStageResources, %d", layout.resources, most)
	}
	var s *shader
	found := false
	st, err := d.readComputeStage(&info.Stage)
	if err == nil {
		s, found, err = d.shaderOf(st, flags, cache)
	}
	if err == nil {
		err = s.fits(layout, &computeFits)
	}
	giveFeedback(info, exec.Now()-begin, found, err == nil)
	if err != nil {
		return nil, err
	}
	if flags&vk.PIPELINE_CREATE_2_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR == 0 {
		st = nil
	}
	return &pipeline{
		stage:  st,
		child:  child{device: d},
		flags:  flags,
		shader: s,
		exec: exec.Pipeline{
			Program: s.program,
			Sets:    append([]*descriptor.Layout(nil), layout.sets...),
			Uses:    s.sets,
			Base:    flags&vk.PIPELINE_CREATE_2_DISPATCH_BASE_BIT != 0,
		},
	}, nil
}

// checkFlags looks at the flags and at the base of a derivative, which a pipeline has no use for.
func (d *device) checkFlags(
	info *vk.ComputePipelineCreateInfo, flags vk.PipelineCreateFlags2, earlier []vk.Pipeline,
) error {
	broken := func(vuid vk.VUID, format string, args ...any) error {
		return vk.Errorf(vk.ERROR_UNKNOWN, vuid, format, args...)
	}
	switch {
	case flags&^pipelineFlags != 0:
		return broken(vk.VUID_VkComputePipelineCreateInfo_None_09497,
			"flags %v belong to features that the device does not have", flags&^pipelineFlags)
	case flags&cacheControlFlags != 0 && !d.allows("pipelineCreationCacheControl",
		vk.VUID_VkComputePipelineCreateInfo_pipelineCreationCacheControl_02878):
		return broken(vk.VUID_VkComputePipelineCreateInfo_pipelineCreationCacheControl_02878,
			"%v need the pipelineCreationCacheControl feature", flags&cacheControlFlags)
	case flags&vk.PIPELINE_CREATE_2_DERIVATIVE_BIT == 0:
		return nil
	}
	base := info.BasePipelineHandle
	if i := info.BasePipelineIndex; i != -1 {
		switch {
		case base != 0:
			return broken(vk.VUID_VkComputePipelineCreateInfo_flags_07986, "a base pipeline by handle, %#x, and by index, %d",
				uint64(base), i)
		case i < 0 || int(i) >= len(earlier):
			return broken(vk.VUID_vkCreateComputePipelines_flags_00695, "base pipeline %d is not before pipeline %d", i,
				len(earlier))
		}
		if base = earlier[i]; base == 0 {
			return nil // it failed, and its error is reported
		}
	}
	b := pipelines.Get(uint64(base))
	switch {
	case b == nil || b.device != d:
		return broken(vk.VUID_VkComputePipelineCreateInfo_flags_07984, "the base %#x is no pipeline of the device",
			uint64(base))
	case b.flags&vk.PIPELINE_CREATE_2_ALLOW_DERIVATIVES_BIT == 0:
		return broken(vk.VUID_vkCreateComputePipelines_flags_00696,
			"the base pipeline was created without VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT")
	}
	return nil
}

// giveFeedback answers VkPipelineCreationFeedbackCreateInfo; the duration is in nanoseconds. A compute pipeline is its
// one stage.
func giveFeedback(info *vk.ComputePipelineCreateInfo, duration uint64, found, ok bool) {
	f := vk.Find[vk.PipelineCreationFeedbackCreateInfo](info.PNext)
	if f == nil {
		return
	}
	feedback := vk.PipelineCreationFeedback{}
	if ok {
		feedback.Flags, feedback.Duration = vk.PIPELINE_CREATION_FEEDBACK_VALID_BIT, duration
		if found {
			feedback.Flags |= vk.PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT
		}
	}
	if f.PPipelineCreationFeedback != nil {
		*f.PPipelineCreationFeedback = feedback
	}
	stages := vk.Slice(f.PPipelineStageCreationFeedbacks, f.PipelineStageCreationFeedbackCount)
	for i := range stages {
		stages[i] = feedback
	}
}
