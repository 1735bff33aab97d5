package icd

import (
	"maps"
	"testing"
	"unsafe"

	"farside/internal/profile"
	"farside/internal/vk"
)

// lacking takes features from the physical device of d, as a profile would, until the test ends or undo is called.
func lacking(t *testing.T, d *device, features ...string) (undo func()) {
	before := d.physical.cut
	has := maps.Clone(supportedFeatures())
	for _, f := range features {
		delete(has, f)
	}
	d.physical.cut = &profile.Result{Version: computeVersion, Features: has}
	undo = func() { d.physical.cut = before }
	t.Cleanup(undo)
	return undo
}

// oneRule is the list of one rule, or of none where it is empty.
func oneRule(rule string) []string {
	if rule == "" {
		return nil
	}
	return []string{rule}
}

// TestForgottenFeatures uses features that the device has and the application has not enabled. All of it works. The
// first use of each has a warning.
func TestForgottenFeatures(t *testing.T) {
	c := newComputeTest(t)
	d := c.d
	d.features = map[string]bool{}
	m := c.module(compiled(t, `#version 450
layout(local_size_x = 8) in;
void main() {}`))
	stage := func(change func(*vk.ComputePipelineCreateInfo)) func() vk.Result {
		return func() vk.Result {
			info := pipelineInfo(m, c.addLayout())
			change(&info)
			_, r := c.tryPipelines(0, info)
			return r
		}
	}
	size := vk.PipelineShaderStageRequiredSubgroupSizeCreateInfo{
		SType:                vk.STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
		RequiredSubgroupSize: 8,
	}
	sampler := func(change func(*vk.SamplerCreateInfo)) func() vk.Result {
		return func() vk.Result {
			info := plainSampler()
			change(&info)
			var h vk.Sampler
			r := commands.CreateSampler(d.handle, &info, nil, &h)
			commands.DestroySampler(d.handle, h, nil)
			return r
		}
	}
	for _, f := range []struct {
		rule string
		use  func() vk.Result
	}{
		{"VUID-VkSemaphoreTypeCreateInfo-timelineSemaphore-03252", func() vk.Result {
			h, r := createTestSemaphore(d, vk.SEMAPHORE_TYPE_TIMELINE, 3, 0)
			commands.DestroySemaphore(d.handle, h, nil)
			return r
		}},
		{"VUID-VkSamplerCreateInfo-anisotropyEnable-01070", sampler(func(s *vk.SamplerCreateInfo) {
			s.AnisotropyEnable, s.MaxAnisotropy = vk.TRUE, 4
		})},
		{"VUID-VkSamplerCreateInfo-addressModeU-01079", sampler(func(s *vk.SamplerCreateInfo) {
			s.AddressModeV = vk.SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE
		})},
		{"VUID-VkPipelineShaderStageCreateInfo-pNext-02755", stage(func(i *vk.ComputePipelineCreateInfo) {
			i.Stage.PNext = unsafe.Pointer(&size)
		})},
		{"VUID-VkPipelineShaderStageCreateInfo-flags-02784", stage(func(i *vk.ComputePipelineCreateInfo) {
			i.Stage.Flags = vk.PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT
		})},
		{"VUID-VkImageCreateInfo-usage-10245", func() vk.Result {
			info := plainImage()
			info.Usage |= vk.IMAGE_USAGE_HOST_TRANSFER_BIT
			var h vk.Image
			r := commands.CreateImage(d.handle, &info, nil, &h)
			commands.DestroyImage(d.handle, h, nil)
			return r
		}},
		{"VUID-vkResetQueryPool-None-02665", func() vk.Result {
			commands.ResetQueryPool(d.handle, newTestQueryPool(t, d, vk.QUERY_TYPE_TIMESTAMP, 1), 0, 1)
			return vk.SUCCESS
		}},
		{"VUID-VkMemoryAllocateInfo-flags-03331", func() vk.Result {
			flags := vk.MemoryAllocateFlagsInfo{SType: vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
				Flags: vk.MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT}
			var h vk.DeviceMemory
			r := commands.AllocateMemory(d.handle, &vk.MemoryAllocateInfo{PNext: unsafe.Pointer(&flags),
				AllocationSize: 4096}, nil, &h)
			commands.FreeMemory(d.handle, h, nil)
			return r
		}},
		{"VUID-vkFreeDescriptorSets-descriptorPool-00312", func() vk.Result {
			pool := newTestDescriptorPool(t, d, 0, 1)
			set := newTestSet(t, d, pool, newTestLayout(t, d, 0, nil))
			if r := commands.FreeDescriptorSets(d.handle, pool, 1, &set); r != vk.SUCCESS {
				return r
			}
			newTestSet(t, d, pool, newTestLayout(t, d, 0, nil)) // its place is free
			return vk.SUCCESS
		}},
	} {
		for _, told := range []string{f.rule, ""} {
			takeInbox()
			wantResult(t, f.rule, f.use(), vk.SUCCESS)
			list := takeInbox()
			if len(list) != len(oneRule(told)) || told != "" && (list[0].id != told ||
				list[0].severity != vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT) {
				t.Errorf("%s: messages %+v, want %q", f.rule, list, told)
			}
		}
	}
}
