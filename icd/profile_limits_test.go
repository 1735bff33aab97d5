package icd

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"farside/internal/config"
	"farside/internal/vk"
)

// limitedTest is a device with the limits of a profile.
func limitedTest(t *testing.T, properties string) computeTest {
	path := filepath.Join(t.TempDir(), "profile.toml")
	if err := os.WriteFile(path, []byte("[properties]\n"+properties), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(config.Profile, path)
	return newComputeTest(t)
}

func TestMaxTimelineSemaphoreValueDifference(t *testing.T) {
	const most = 1<<31 - 1
	c := limitedTest(t, "maxTimelineSemaphoreValueDifference = 2147483647")
	queue := c.d.queues[0]
	at := func(s vk.Semaphore, value uint64) []vk.SemaphoreSubmitInfo {
		return []vk.SemaphoreSubmitInfo{{Semaphore: s, Value: value}}
	}
	old := func(s *vk.Semaphore, value uint64, signal bool) vk.Result {
		values := vk.TimelineSemaphoreSubmitInfo{SType: vk.STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO}
		info := vk.SubmitInfo{PNext: unsafe.Pointer(&values)}
		if signal {
			values.SignalSemaphoreValueCount, values.PSignalSemaphoreValues = 1, &value
			info.SignalSemaphoreCount, info.PSignalSemaphores = 1, s
		} else {
			values.WaitSemaphoreValueCount, values.PWaitSemaphoreValues = 1, &value
			info.WaitSemaphoreCount, info.PWaitSemaphores = 1, s
		}
		return submit1(queue, 0, info)
	}
	s := newTestSemaphore(t, c.d, timelineType, 100, 0)
	for _, far := range []struct {
		rule string
		call func() vk.Result
	}{
		{"VUID-VkSemaphoreSignalInfo-value-03260", func() vk.Result {
			return commands.SignalSemaphore(c.d.handle, &vk.SemaphoreSignalInfo{Semaphore: s, Value: 101 + most})
		}},
		{"VUID-VkSubmitInfo2-semaphore-03883", func() vk.Result { return submit2(queue, 0, nil, nil, at(s, 101+most)) }},
		{"VUID-VkSubmitInfo2-semaphore-03884", func() vk.Result { return submit2(queue, 0, at(s, 101+most), nil, nil) }},
		{"VUID-VkSubmitInfo-pSignalSemaphores-03244", func() vk.Result { return old(&s, 101+most, true) }},
		{"VUID-VkSubmitInfo-pWaitSemaphores-03243", func() vk.Result { return old(&s, 101+most, false) }},
		{"VUID-VkSubmitInfo2-semaphore-03883", func() vk.Result { // in one submission
			return submit2(queue, 0, at(s, 99), nil, at(s, 100+most))
		}},
	} {
		c.broken("a value that is too far", far.call(), far.rule)
	}
	// What a queue is waiting for counts as well, until it has come.
	c.Helper()
	if r := submit2(queue, 0, at(s, 100+most), nil, nil); r != vk.SUCCESS {
		t.Fatal(r)
	}
	c.broken("far from an outstanding wait", submit2(c.d.queues[1], 0, at(s, 99), nil, nil),
		"VUID-VkSubmitInfo2-semaphore-03884")
	wantResult(t, "the signal", commands.SignalSemaphore(c.d.handle,
		&vk.SemaphoreSignalInfo{Semaphore: s, Value: 100 + most}), vk.SUCCESS)
	wantResult(t, "vkDeviceWaitIdle", commands.DeviceWaitIdle(c.d.handle), vk.SUCCESS)
	wantResult(t, "from there on", commands.SignalSemaphore(c.d.handle, &vk.SemaphoreSignalInfo{Semaphore: s,
		Value: 100 + 2*most}), vk.SUCCESS)
	wantReports(t, "what is near")
}

func TestMaxPerStageResources(t *testing.T) {
	c := limitedTest(t, "maxPerStageResources = 128")
	m := c.module(compiled(t, "#version 450\nlayout(local_size_x = 1) in;\nvoid main() {}"))
	layout := func(count uint32, flags vk.DescriptorSetLayoutCreateFlags) vk.PipelineLayout {
		types := make([]vk.DescriptorType, count)
		for i := range types {
			types[i] = []vk.DescriptorType{vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE,
				vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER}[i%3]
		}
		set := c.setLayout(flags, append(types, vk.DESCRIPTOR_TYPE_SAMPLER)...) // samplers alone don't count
		l, r := c.tryLayout([]vk.DescriptorSetLayout{set})
		wantResult(t, "vkCreatePipelineLayout", r, vk.SUCCESS)
		return l
	}
	c.pipeline(pipelineInfo(m, layout(128, 0)))
	c.pipeline(pipelineInfo(m, layout(129, vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT)))
	_, r := c.tryPipelines(0, pipelineInfo(m, layout(129, 0)))
	c.broken("129 resources", r, "VUID-VkComputePipelineCreateInfo-layout-01687")
}

func TestMaxCustomBorderColorSamplers(t *testing.T) {
	c := limitedTest(t, "maxCustomBorderColorSamplers = 32")
	c.d.features["customBorderColors"] = true
	custom := vk.SamplerCustomBorderColorCreateInfoEXT{
		SType: vk.STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT, Format: vk.FORMAT_R8G8B8A8_UNORM}
	create := func(color vk.BorderColor) (vk.Sampler, vk.Result) {
		info := vk.SamplerCreateInfo{PNext: unsafe.Pointer(&custom), BorderColor: color,
			AddressModeU: vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER}
		var h vk.Sampler
		r := commands.CreateSampler(c.d.handle, &info, nil, &h)
		return h, r
	}
	var last vk.Sampler
	for range 32 {
		h, r := create(vk.BORDER_COLOR_FLOAT_CUSTOM_EXT)
		wantResult(t, "vkCreateSampler", r, vk.SUCCESS)
		last = h
	}
	_, r := create(vk.BORDER_COLOR_INT_CUSTOM_EXT)
	wantResult(t, "one more", r, vk.ERROR_TOO_MANY_OBJECTS)
	wantReports(t, "one more", "VUID-VkSamplerCreateInfo-None-04012")
	_, r = create(vk.BORDER_COLOR_FLOAT_OPAQUE_WHITE)
	wantResult(t, "one without", r, vk.SUCCESS)
	commands.DestroySampler(c.d.handle, last, nil)
	_, r = create(vk.BORDER_COLOR_INT_CUSTOM_EXT)
	wantResult(t, "in the place of another", r, vk.SUCCESS)
}

func TestMaxUpdateAfterBindDescriptorsInAllPools(t *testing.T) {
	c := limitedTest(t, "maxUpdateAfterBindDescriptorsInAllPools = 500000")
	create := func(flags vk.DescriptorPoolCreateFlags, count uint32) (vk.DescriptorPool, vk.Result) {
		sizes := []vk.DescriptorPoolSize{{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, DescriptorCount: count - 1},
			{Type: vk.DESCRIPTOR_TYPE_SAMPLER, DescriptorCount: 1}}
		var h vk.DescriptorPool
		r := commands.CreateDescriptorPool(c.d.handle,
			&vk.DescriptorPoolCreateInfo{Flags: flags, MaxSets: 1, PoolSizeCount: 2, PPoolSizes: &sizes[0]}, nil, &h)
		return h, r
	}
	const late = vk.DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT
	first, r := create(late, 400000)
	wantResult(t, "the first pool", r, vk.SUCCESS)
	_, r = create(late, 100001)
	wantResult(t, "one that is too large beside it", r, vk.ERROR_FRAGMENTATION)
	_, r = create(0, 400000)
	wantResult(t, "one for update before binding", r, vk.SUCCESS)
	_, r = create(late, 100000)
	wantResult(t, "one that fits", r, vk.SUCCESS)
	commands.DestroyDescriptorPool(c.d.handle, first, nil)
	_, r = create(late, 400000)
	wantResult(t, "in the place of the first", r, vk.SUCCESS)
}
