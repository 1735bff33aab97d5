package icd

import (
	"testing"

	"farside/internal/vk"
)

// computeTest is a device on which compute pipelines are made.
type computeTest struct{ *queueTest }

func newComputeTest(t testing.TB) computeTest { return computeTest{newQueueTest(t)} }

// broken fails unless the result is that of a broken rule, and that rule is the only message.
func (c computeTest) broken(what string, got vk.Result, vuid string) {
	c.Helper()
	list := rules()
	if got != vk.ERROR_UNKNOWN || len(list) != 1 || list[0] != vuid {
		c.Errorf("%s: %v, reported %q, want %s", what, got, list, vuid)
	}
}

// setLayout makes a descriptor set layout of bindings 0, 1, ….
func (c computeTest) setLayout(flags vk.DescriptorSetLayoutCreateFlags,
	types ...vk.DescriptorType) vk.DescriptorSetLayout {
	c.Helper()
	bindings := make([]vk.DescriptorSetLayoutBinding, len(types)+1)
	for i, t := range types {
		bindings[i] = vk.DescriptorSetLayoutBinding{Binding: uint32(i), DescriptorType: t, DescriptorCount: 1,
			StageFlags: vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT)}
	}
	var h vk.DescriptorSetLayout
	info := vk.DescriptorSetLayoutCreateInfo{Flags: flags, BindingCount: uint32(len(types)), PBindings: &bindings[0]}
	if r := commands.CreateDescriptorSetLayout(c.d.handle, &info, nil, &h); r != vk.SUCCESS {
		c.Fatal(r)
	}
	c.Cleanup(func() { commands.DestroyDescriptorSetLayout(c.d.handle, h, nil) })
	return h
}

func (c computeTest) tryLayout(sets []vk.DescriptorSetLayout, ranges ...vk.PushConstantRange) (vk.PipelineLayout,
	vk.Result) {
	c.Helper()
	sets, ranges = append(sets, 0), append(ranges, vk.PushConstantRange{})
	info := vk.PipelineLayoutCreateInfo{
		SetLayoutCount: uint32(len(sets) - 1), PSetLayouts: &sets[0],
		PushConstantRangeCount: uint32(len(ranges) - 1), PPushConstantRanges: &ranges[0],
	}
	h := vk.PipelineLayout(77)
	r := commands.CreatePipelineLayout(c.d.handle, &info, nil, &h)
	if r == vk.SUCCESS {
		c.Cleanup(func() { commands.DestroyPipelineLayout(c.d.handle, h, nil) })
	} else if h != 0 {
		c.Errorf("%v, and a handle, %#x", r, uint64(h))
	}
	return h, r
}

const forCompute = vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT)

func TestPipelineLayout(t *testing.T) {
	c := newComputeTest(t)
	set := c.setLayout(0, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER)
	h, r := c.tryLayout([]vk.DescriptorSetLayout{0, set},
		vk.PushConstantRange{StageFlags: vk.ShaderStageFlags(vk.SHADER_STAGE_VERTEX_BIT), Size: 4},
		vk.PushConstantRange{StageFlags: forCompute, Offset: 16, Size: maxPushConstantsSize - 16})
	if r != vk.SUCCESS {
		t.Fatalf("%v, reported %q", r, rules())
	}
	l := pipelineLayouts.Get(uint64(h))
	if len(l.sets) != 2 || l.sets[0] != nil || len(l.sets[1].Bindings) != 1 ||
		l.push[computeStage] != (pushRange{16, maxPushConstantsSize}) {
		t.Errorf("the layout has sets %v and push constants %v", l.sets, l.push)
	}
	for what, test := range map[string]struct {
		r    vk.PushConstantRange
		vuid string
	}{
		"beyond the end": {vk.PushConstantRange{StageFlags: forCompute, Offset: maxPushConstantsSize, Size: 4},
			"VUID-VkPushConstantRange-offset-00294"},
		"odd offset": {vk.PushConstantRange{StageFlags: forCompute, Offset: 2, Size: 4},
			"VUID-VkPushConstantRange-offset-00295"},
		"nothing":  {vk.PushConstantRange{StageFlags: forCompute}, "VUID-VkPushConstantRange-size-00296"},
		"odd size": {vk.PushConstantRange{StageFlags: forCompute, Size: 6}, "VUID-VkPushConstantRange-size-00297"},
		"too many": {vk.PushConstantRange{StageFlags: forCompute, Offset: 8, Size: maxPushConstantsSize},
			"VUID-VkPushConstantRange-size-00298"},
		"no stage": {vk.PushConstantRange{Size: 4}, "VUID-VkPushConstantRange-stageFlags-requiredbitmask"},
		"a second range": {vk.PushConstantRange{StageFlags: vk.ShaderStageFlags(vk.SHADER_STAGE_ALL), Size: 4},
			"VUID-VkPipelineLayoutCreateInfo-pPushConstantRanges-00292"},
	} {
		_, r := c.tryLayout(nil, vk.PushConstantRange{StageFlags: forCompute, Size: 4}, test.r)
		if what != "a second range" {
			rules()
			_, r = c.tryLayout(nil, test.r)
		}
		c.broken(what, r, test.vuid)
	}
	_, r = c.tryLayout([]vk.DescriptorSetLayout{set, 12345})
	c.broken("no set layout", r, "VUID-VkPipelineLayoutCreateInfo-pSetLayouts-parameter")
	_, r = c.tryLayout(make([]vk.DescriptorSetLayout, maxBoundDescriptorSets+1))
	c.broken("too many sets", r, "VUID-VkPipelineLayoutCreateInfo-setLayoutCount-00286")
	push := c.setLayout(vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER)
	_, r = c.tryLayout([]vk.DescriptorSetLayout{push, push})
	c.broken("two pushed sets", r, "VUID-VkPipelineLayoutCreateInfo-pSetLayouts-00293")
}
