package icd

import (
	"farside/internal/descriptor"
	"farside/internal/exec"
	"farside/internal/vk"
)

const (
	maxBoundDescriptorSets = exec.MaxSets
	maxPushConstantsSize   = exec.MaxPushConstants
)

// pipelineLayout is a VkPipelineLayout. What it is made of may be destroyed before it.
type pipelineLayout struct {
	device *device
	sets   []*descriptor.Layout // nil for VK_NULL_HANDLE
	push   pushRange            // of compute shaders
}

// pushRange is a range of push constants, in bytes.
type pushRange struct{ begin, end uint32 }

func createPipelineLayout(h vk.Device, info *vk.PipelineLayoutCreateInfo, _ *vk.AllocationCallbacks, out *vk.PipelineLayout) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreatePipelineLayout", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	l, err := d.newPipelineLayout(info)
	if err != nil {
		return d.fail("vkCreatePipelineLayout", err)
	}
	*out = vk.PipelineLayout(pipelineLayouts.Insert(l))
	d.created(vk.OBJECT_TYPE_PIPELINE_LAYOUT, uint64(*out))
	return vk.SUCCESS
}

func (d *device) newPipelineLayout(info *vk.PipelineLayoutCreateInfo) (*pipelineLayout, error) {
	l := &pipelineLayout{device: d}
	if info.SetLayoutCount > maxBoundDescriptorSets {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPipelineLayoutCreateInfo-setLayoutCount-00286",
			"%d set layouts are more than maxBoundDescriptorSets, %d", info.SetLayoutCount, maxBoundDescriptorSets)
	}
	pushed := 0
	for _, h := range vk.Slice(info.PSetLayouts, info.SetLayoutCount) {
		if h == 0 {
			l.sets = append(l.sets, nil)
			continue
		}
		s := descriptorSetLayouts.Get(uint64(h))
		if s == nil || s.device != d {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPipelineLayoutCreateInfo-pSetLayouts-parameter",
				"%#x is no descriptor set layout of the device", uint64(h))
		}
		if s.layout.Flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT != 0 {
			pushed++
		}
		l.sets = append(l.sets, s.layout)
	}
	if pushed > 1 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPipelineLayoutCreateInfo-pSetLayouts-00293", "%d of the set layouts are for push descriptors", pushed)
	}
	return l, l.readRanges(vk.Slice(info.PPushConstantRanges, info.PushConstantRangeCount))
}

func (l *pipelineLayout) readRanges(ranges []vk.PushConstantRange) error {
	var seen vk.ShaderStageFlags
	for i := range ranges {
		r := &ranges[i]
		switch {
		case r.Offset >= maxPushConstantsSize:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPushConstantRange-offset-00294", "offset %d is not below maxPushConstantsSize, %d", r.Offset, maxPushConstantsSize)
		case r.Offset%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPushConstantRange-offset-00295", "offset %d is no multiple of 4", r.Offset)
		case r.Size == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPushConstantRange-size-00296", "a range of 0 bytes")
		case r.Size%4 != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPushConstantRange-size-00297", "size %d is no multiple of 4", r.Size)
		case r.Size > maxPushConstantsSize-r.Offset:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPushConstantRange-size-00298",
				"%d bytes from offset %d are more than maxPushConstantsSize, %d", r.Size, r.Offset, maxPushConstantsSize)
		case r.StageFlags == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPushConstantRange-stageFlags-requiredbitmask", "a range of push constants for no stage")
		case r.StageFlags&seen != 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkPipelineLayoutCreateInfo-pPushConstantRanges-00292",
				"two ranges of push constants are for %v", r.StageFlags&seen)
		}
		seen |= r.StageFlags
		if r.StageFlags&vk.SHADER_STAGE_COMPUTE_BIT != 0 {
			l.push = pushRange{r.Offset, r.Offset + r.Size}
		}
	}
	return nil
}

func destroyPipelineLayout(h vk.Device, handle vk.PipelineLayout, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	l := pipelineLayouts.Remove(uint64(handle))
	if l == nil {
		staleHandle("vkDestroyPipelineLayout", vk.OBJECT_TYPE_PIPELINE_LAYOUT, uint64(handle))
		return
	}
	l.device.destroyed(vk.OBJECT_TYPE_PIPELINE_LAYOUT, uint64(handle))
}
