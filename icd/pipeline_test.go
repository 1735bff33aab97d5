package icd

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	glsl "farside/conformance/shaders"
	"farside/internal/vk"
)

// compiled is GLSL as SPIR-V.
func compiled(t testing.TB, text string) []uint32 {
	t.Helper()
	words, err := glsl.Source{Name: "test.comp", Text: text, Target: "vulkan1.1"}.Compile()
	if errors.Is(err, glsl.ErrTool) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// addShader adds a push constant and a specialization constant to each element of a buffer.
const addShader = `#version 450
layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint extra = 100;
layout(set = 1, binding = 2, std430) buffer Values { uint values[]; };
layout(push_constant) uniform Push { layout(offset = 8) uint add; };
void main() { values[gl_GlobalInvocationID.x] += add + extra; }`

func (c computeTest) module(words []uint32) vk.ShaderModule {
	c.Helper()
	var h vk.ShaderModule
	info := vk.ShaderModuleCreateInfo{CodeSize: uintptr(4 * len(words)), PCode: &words[0]}
	if r := commands.CreateShaderModule(c.d.handle, &info, nil, &h); r != vk.SUCCESS {
		c.Fatal(r)
	}
	c.Cleanup(func() { commands.DestroyShaderModule(c.d.handle, h, nil) })
	return h
}

var mainName = []byte("main\x00")

// pipelineInfo describes a pipeline of entry point main.
func pipelineInfo(m vk.ShaderModule, l vk.PipelineLayout) vk.ComputePipelineCreateInfo {
	return vk.ComputePipelineCreateInfo{
		Stage:  vk.PipelineShaderStageCreateInfo{Stage: vk.SHADER_STAGE_COMPUTE_BIT, Module: m, PName: &mainName[0]},
		Layout: l, BasePipelineIndex: -1,
	}
}

func (c computeTest) tryPipelines(cache vk.PipelineCache, infos ...vk.ComputePipelineCreateInfo) ([]vk.Pipeline,
	vk.Result) {
	c.Helper()
	out := make([]vk.Pipeline, len(infos))
	for i := range out {
		out[i] = 77
	}
	r := commands.CreateComputePipelines(c.d.handle, cache, uint32(len(infos)), &infos[0], nil, &out[0])
	for _, p := range out {
		c.Cleanup(func() { commands.DestroyPipeline(c.d.handle, p, nil) })
	}
	return out, r
}

func (c computeTest) pipeline(info vk.ComputePipelineCreateInfo) vk.Pipeline {
	c.Helper()
	list, r := c.tryPipelines(0, info)
	if r != vk.SUCCESS {
		c.Fatalf("vkCreateComputePipelines: %v, reported %q", r, rules())
	}
	return list[0]
}

// addLayout is what addShader needs.
func (c computeTest) addLayout() vk.PipelineLayout {
	c.Helper()
	set := c.setLayout(0, vk.DESCRIPTOR_TYPE_SAMPLER, vk.DESCRIPTOR_TYPE_SAMPLER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER)
	l, r := c.tryLayout([]vk.DescriptorSetLayout{0, set}, vk.PushConstantRange{StageFlags: forCompute, Offset: 8, Size: 4})
	if r != vk.SUCCESS {
		c.Fatal(r)
	}
	return l
}

func TestPipelineRules(t *testing.T) {
	c := newComputeTest(t)
	c.d.features["subgroupSizeControl"], c.d.features["computeFullSubgroups"] = true, true
	m, l := c.module(compiled(t, addShader)), c.addLayout()
	base := c.pipeline(pipelineInfo(m, l))
	other := []byte("other\x00")
	sizes := make([]vk.PipelineShaderStageRequiredSubgroupSizeCreateInfo, 3)
	for i, n := range []uint32{12, 2, 256} {
		sizes[i] = vk.PipelineShaderStageRequiredSubgroupSizeCreateInfo{SType: sizes[i].StructureType(),
			RequiredSubgroupSize: n}
	}
	value := []uint32{7, 2048}
	entries := []vk.SpecializationMapEntry{{ConstantID: 0, Offset: 8, Size: 4}, {ConstantID: 0, Offset: 4, Size: 8},
		{ConstantID: 0, Size: 4}, {ConstantID: 0, Size: 4}, {ConstantID: 1, Offset: 4, Size: 4}}
	special := func(first, n int) *vk.SpecializationInfo {
		return &vk.SpecializationInfo{MapEntryCount: uint32(n), PMapEntries: &entries[first], DataSize: 8,
			PData: unsafe.Pointer(&value[0])}
	}
	layout := func(sets []vk.DescriptorSetLayout, ranges ...vk.PushConstantRange) vk.PipelineLayout {
		h, r := c.tryLayout(sets, ranges...)
		if r != vk.SUCCESS {
			t.Fatal(r)
		}
		return h
	}
	push := vk.PushConstantRange{StageFlags: forCompute, Size: 16}
	set := c.setLayout(0, vk.DESCRIPTOR_TYPE_SAMPLER, vk.DESCRIPTOR_TYPE_SAMPLER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER)
	texels := c.setLayout(0, vk.DESCRIPTOR_TYPE_SAMPLER, vk.DESCRIPTOR_TYPE_SAMPLER,
		vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER)
	short := c.setLayout(0, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER)
	lacking(t, c.d, "pipelineCreationCacheControl")
	for _, test := range []struct {
		what   string
		change func(i *vk.ComputePipelineCreateInfo)
		vuid   string
	}{
		{"no layout", func(i *vk.ComputePipelineCreateInfo) { i.Layout = 5 },
			"VUID-VkComputePipelineCreateInfo-layout-parameter"},
		{"unknown flags", func(i *vk.ComputePipelineCreateInfo) { i.Flags = 1 << 20 },
			"VUID-VkComputePipelineCreateInfo-None-09497"},
		{"cache control", func(i *vk.ComputePipelineCreateInfo) {
			i.Flags = vk.PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT
		}, "VUID-VkComputePipelineCreateInfo-pipelineCreationCacheControl-02878"},
		{"another stage", func(i *vk.ComputePipelineCreateInfo) { i.Stage.Stage = vk.SHADER_STAGE_VERTEX_BIT },
			"VUID-VkComputePipelineCreateInfo-stage-00701"},
		{"a module that is gone", func(i *vk.ComputePipelineCreateInfo) { i.Stage.Module = 5 },
			"VUID-VkPipelineShaderStageCreateInfo-module-parameter"},
		{"no module", func(i *vk.ComputePipelineCreateInfo) { i.Stage.Module = 0 },
			"VUID-VkPipelineShaderStageCreateInfo-stage-06845"},
		{"another entry point", func(i *vk.ComputePipelineCreateInfo) { i.Stage.PName = &other[0] },
			"VUID-VkPipelineShaderStageCreateInfo-pName-00707"},
		{"a derivative of nothing", func(i *vk.ComputePipelineCreateInfo) { i.Flags = vk.PIPELINE_CREATE_DERIVATIVE_BIT },
			"VUID-VkComputePipelineCreateInfo-flags-07984"},
		{"a derivative of two", func(i *vk.ComputePipelineCreateInfo) {
			i.Flags, i.BasePipelineHandle, i.BasePipelineIndex = vk.PIPELINE_CREATE_DERIVATIVE_BIT, base, 0
		}, "VUID-VkComputePipelineCreateInfo-flags-07986"},
		{"a derivative of itself", func(i *vk.ComputePipelineCreateInfo) {
			i.Flags, i.BasePipelineIndex = vk.PIPELINE_CREATE_DERIVATIVE_BIT, 0
		}, "VUID-vkCreateComputePipelines-flags-00695"},
		{"a derivative of a pipeline that allows none", func(i *vk.ComputePipelineCreateInfo) {
			i.Flags, i.BasePipelineHandle = vk.PIPELINE_CREATE_DERIVATIVE_BIT, base
		}, "VUID-vkCreateComputePipelines-flags-00696"},
		{"subgroups of 12", func(i *vk.ComputePipelineCreateInfo) { i.Stage.PNext = unsafe.Pointer(&sizes[0]) },
			"VUID-VkPipelineShaderStageRequiredSubgroupSizeCreateInfo-requiredSubgroupSize-02760"},
		{"subgroups of 2", func(i *vk.ComputePipelineCreateInfo) { i.Stage.PNext = unsafe.Pointer(&sizes[1]) },
			"VUID-VkPipelineShaderStageRequiredSubgroupSizeCreateInfo-requiredSubgroupSize-02761"},
		{"subgroups of 256", func(i *vk.ComputePipelineCreateInfo) { i.Stage.PNext = unsafe.Pointer(&sizes[2]) },
			"VUID-VkPipelineShaderStageRequiredSubgroupSizeCreateInfo-requiredSubgroupSize-02762"},
		{"a constant beyond the data", func(i *vk.ComputePipelineCreateInfo) { i.Stage.PSpecializationInfo = special(0, 1) },
			"VUID-VkSpecializationInfo-offset-00773"},
		{"a constant that reaches beyond",
			func(i *vk.ComputePipelineCreateInfo) { i.Stage.PSpecializationInfo = special(1, 1) },
			"VUID-VkSpecializationInfo-pMapEntries-00774"},
		{"a constant twice", func(i *vk.ComputePipelineCreateInfo) { i.Stage.PSpecializationInfo = special(2, 2) },
			"VUID-VkSpecializationInfo-constantID-04911"},
		{"too large a workgroup", func(i *vk.ComputePipelineCreateInfo) { i.Stage.PSpecializationInfo = special(4, 1) },
			"VUID-VkPipelineShaderStageCreateInfo-pSpecializationInfo-06849"},
		{"no push constants", func(i *vk.ComputePipelineCreateInfo) { i.Layout = layout([]vk.DescriptorSetLayout{0, set}) },
			"VUID-VkComputePipelineCreateInfo-layout-07987"},
		{"too few push constants", func(i *vk.ComputePipelineCreateInfo) {
			i.Layout = layout([]vk.DescriptorSetLayout{0, set}, vk.PushConstantRange{StageFlags: forCompute, Size: 8})
		}, "VUID-VkComputePipelineCreateInfo-layout-10069"},
		{"no set", func(i *vk.ComputePipelineCreateInfo) { i.Layout = layout([]vk.DescriptorSetLayout{set, 0}, push) },
			"VUID-VkComputePipelineCreateInfo-layout-07988"},
		{"no binding", func(i *vk.ComputePipelineCreateInfo) { i.Layout = layout([]vk.DescriptorSetLayout{0, short}, push) },
			"VUID-VkComputePipelineCreateInfo-layout-07988"},
		{"another type",
			func(i *vk.ComputePipelineCreateInfo) { i.Layout = layout([]vk.DescriptorSetLayout{0, texels}, push) },
			"VUID-VkComputePipelineCreateInfo-layout-07990"},
	} {
		info := pipelineInfo(m, l)
		test.change(&info)
		list, r := c.tryPipelines(0, info)
		c.broken(test.what, r, test.vuid)
		if list[0] != 0 {
			t.Errorf("%s: a handle, %#x", test.what, uint64(list[0]))
		}
	}
}

// TestFullSubgroups asks for full subgroups of workgroups that are no multiple of them: the pipeline works, with a
// warning.
func TestFullSubgroups(t *testing.T) {
	c := newComputeTest(t)
	c.d.features["computeFullSubgroups"], c.d.features["subgroupSizeControl"] = true, true
	m, l := c.module(compiled(t, addShader)), c.addLayout() // whose workgroups have one invocation
	required := vk.PipelineShaderStageRequiredSubgroupSizeCreateInfo{
		SType:                vk.STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
		RequiredSubgroupSize: 16,
	}
	for rule, next := range map[string]unsafe.Pointer{
		"VUID-VkPipelineShaderStageCreateInfo-flags-02759": nil,
		"VUID-VkPipelineShaderStageCreateInfo-pNext-02757": unsafe.Pointer(&required),
	} {
		info := pipelineInfo(m, l)
		info.Stage.Flags, info.Stage.PNext = vk.PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT, next
		takeInbox()
		_, r := c.tryPipelines(0, info)
		list := takeInbox()
		if r != vk.SUCCESS || len(list) != 1 || list[0].id != rule ||
			list[0].severity != vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT {
			t.Errorf("%s: %v, %+v", rule, r, list)
		}
	}
}

// TestInvalidModule looks at the message about a module that is no SPIR-V, and one that is cut.
func TestInvalidModule(t *testing.T) {
	c := newComputeTest(t)
	l := c.addLayout()
	words := compiled(t, addShader)
	for what, code := range map[string][]uint32{"nothing": {1, 2, 3, 4, 5, 6}, "half a module": words[:len(words)/2]} {
		m := c.module(code)
		_, r := c.tryPipelines(0, pipelineInfo(m, l))
		list := takeInbox()
		if r != vk.ERROR_UNKNOWN || len(list) != 1 || list[0].id != "VUID-VkShaderModuleCreateInfo-pCode-08737" ||
			!strings.Contains(list[0].text, "invalid SPIR-V: word ") {
			t.Errorf("%s: %v, %+v", what, r, list)
		} else if o := list[0].objects; len(o) != 2 || o[1].Handle != uint64(m) {
			t.Errorf("%s: the message is about %+v", what, o)
		}
	}
}

// TestManyPipelines makes several in one call, of which some fail.
func TestManyPipelines(t *testing.T) {
	c := newComputeTest(t)
	c.d.features["pipelineCreationCacheControl"] = true
	m, l := c.module(compiled(t, addShader)), c.addLayout()
	good, bad, stale := pipelineInfo(m, l), pipelineInfo(m, l), pipelineInfo(m, l)
	value := uint32(41)
	entry := vk.SpecializationMapEntry{Size: 4}
	spec := vk.SpecializationInfo{MapEntryCount: 1, PMapEntries: &entry, DataSize: 4, PData: unsafe.Pointer(&value)}
	bad.Stage.Stage = vk.SHADER_STAGE_VERTEX_BIT
	stale.Flags, stale.Stage.PSpecializationInfo = vk.PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT, &spec
	early := func(i vk.ComputePipelineCreateInfo) vk.ComputePipelineCreateInfo {
		i.Flags |= vk.PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT
		return i
	}
	for _, test := range []struct {
		what  string
		infos []vk.ComputePipelineCreateInfo
		made  []bool
		want  vk.Result
	}{
		{"all good", []vk.ComputePipelineCreateInfo{good, early(good)}, []bool{true, true}, vk.SUCCESS},
		{"one bad", []vk.ComputePipelineCreateInfo{good, bad, good}, []bool{true, false, true}, vk.ERROR_UNKNOWN},
		{"one to compile", []vk.ComputePipelineCreateInfo{good, stale, good}, []bool{true, false, true},
			vk.PIPELINE_COMPILE_REQUIRED},
		{"one to compile, one bad", []vk.ComputePipelineCreateInfo{stale, bad, good}, []bool{false, false, true},
			vk.ERROR_UNKNOWN},
		{"one bad, one to compile", []vk.ComputePipelineCreateInfo{bad, stale, good}, []bool{false, false, true},
			vk.ERROR_UNKNOWN},
		{"one to compile, early", []vk.ComputePipelineCreateInfo{good, early(stale), good}, []bool{true, false, false},
			vk.PIPELINE_COMPILE_REQUIRED},
	} {
		list, r := c.tryPipelines(0, test.infos...)
		var made []bool
		for _, p := range list {
			made = append(made, p != 0)
		}
		if r != test.want || !slices.Equal(made, test.made) {
			t.Errorf("%s: %v, made %v; want %v, %v", test.what, r, made, test.want, test.made)
		}
		rules()
	}
	derived := good
	good.Flags = vk.PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT
	derived.Flags, derived.BasePipelineIndex = vk.PIPELINE_CREATE_DERIVATIVE_BIT, 0
	if _, r := c.tryPipelines(0, good, derived); r != vk.SUCCESS {
		t.Errorf("a derivative: %v, reported %q", r, rules())
	}
}

// TestPipelineCaching looks who shares a program, and what feedback and caches say about it.
func TestPipelineCaching(t *testing.T) {
	c := newComputeTest(t)
	c.d.features["pipelineCreationCacheControl"] = true
	words := compiled(t, addShader)
	m, l := c.module(words), c.addLayout()
	create := func(cache vk.PipelineCache, info vk.ComputePipelineCreateInfo) (*pipeline,
		vk.PipelineCreationFeedbackFlags) {
		t.Helper()
		both := make([]vk.PipelineCreationFeedback, 2)
		feedback := vk.PipelineCreationFeedbackCreateInfo{PPipelineCreationFeedback: &both[0],
			PipelineStageCreationFeedbackCount: 1, PPipelineStageCreationFeedbacks: &both[1]}
		feedback.SType = feedback.StructureType()
		info.PNext = unsafe.Pointer(&feedback)
		list, r := c.tryPipelines(cache, info)
		if r != vk.SUCCESS {
			t.Fatalf("%v, reported %q", r, rules())
		}
		if both[0].Flags != both[1].Flags || both[0].Duration == 0 {
			t.Errorf("feedback %+v", both)
		}
		return pipelines.Get(uint64(list[0])), both[0].Flags
	}
	const made, found = vk.PIPELINE_CREATION_FEEDBACK_VALID_BIT,
		vk.PIPELINE_CREATION_FEEDBACK_VALID_BIT | vk.PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT
	cache := c.cache(nil)
	first, flags := create(cache, pipelineInfo(m, l))
	if flags != made {
		t.Errorf("the first: %v", flags)
	}
	// The same code in another module is the same shader.
	second, flags := create(cache, pipelineInfo(c.module(words), c.addLayout()))
	if flags != found || second.shader != first.shader {
		t.Errorf("an equal one: %v, the same shader: %v", flags, second.shader == first.shader)
	}
	third, flags := create(0, pipelineInfo(m, l))
	if flags != made || third.shader != first.shader {
		t.Errorf("one without a cache: %v, the same shader: %v", flags, third.shader == first.shader)
	}
	value := uint32(41)
	entry := vk.SpecializationMapEntry{Size: 4}
	spec := vk.SpecializationInfo{MapEntryCount: 1, PMapEntries: &entry, DataSize: 4, PData: unsafe.Pointer(&value)}
	special := pipelineInfo(m, l)
	special.Stage.PSpecializationInfo = &spec
	fourth, flags := create(cache, special)
	if flags != made || fourth.shader == first.shader {
		t.Errorf("a specialized one: %v, the same shader: %v", flags, fourth.shader == first.shader)
	}
	if data, r := c.cacheData(cache, 4096); r != vk.SUCCESS ||
		!bytes.Equal(data, c.d.physical.cacheHeader()) {
		t.Errorf("the cache's data: %v, %x", r, data)
	}
	merged := c.cache(nil)
	commands.MergePipelineCaches(c.d.handle, merged, 1, &cache)
	special.Flags = vk.PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT
	if _, flags := create(merged, special); flags != found {
		t.Errorf("one that was merged: %v", flags)
	}
	// A pipeline may bring its code.
	code := vk.ShaderModuleCreateInfo{CodeSize: uintptr(4 * len(words)), PCode: &words[0]}
	code.SType = code.StructureType()
	own := pipelineInfo(0, l)
	own.Stage.PNext = unsafe.Pointer(&code)
	if p, flags := create(cache, own); flags != found || p.shader != first.shader {
		t.Errorf("one with its own code: %v", flags)
	}
}

func TestPipelineExecutable(t *testing.T) {
	c := newComputeTest(t)
	info := pipelineInfo(c.module(compiled(t, addShader)), c.addLayout())
	plain := c.pipeline(info)
	info.Flags = vk.PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
		vk.PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR
	p := c.pipeline(info)
	n := uint32(9)
	which := vk.PipelineInfoKHR{Pipeline: p}
	whole := lacking(t, c.d, "pipelineExecutableInfo")
	c.broken("without the feature", commands.GetPipelineExecutablePropertiesKHR(c.d.handle, &which, &n, nil),
		"VUID-vkGetPipelineExecutablePropertiesKHR-pipelineExecutableInfo-03270")
	whole()
	c.d.features["pipelineExecutableInfo"] = true
	props := make([]vk.PipelineExecutablePropertiesKHR, 1)
	if r := commands.GetPipelineExecutablePropertiesKHR(c.d.handle, &which, &n, nil); r != vk.SUCCESS || n != 1 {
		t.Errorf("%v, %d executables", r, n)
	}
	if r := commands.GetPipelineExecutablePropertiesKHR(c.d.handle, &which, &n, &props[0]); r != vk.SUCCESS ||
		props[0].Stages != forCompute || props[0].SubgroupSize != subgroupSize {
		t.Errorf("%v, %+v", r, props[0])
	}
	e := vk.PipelineExecutableInfoKHR{Pipeline: plain}
	c.broken("without statistics", commands.GetPipelineExecutableStatisticsKHR(c.d.handle, &e, &n, nil),
		"VUID-vkGetPipelineExecutableStatisticsKHR-pipeline-03274")
	c.broken("without text", commands.GetPipelineExecutableInternalRepresentationsKHR(c.d.handle, &e, &n, nil),
		"VUID-vkGetPipelineExecutableInternalRepresentationsKHR-pipeline-03278")
	e.Pipeline, e.ExecutableIndex = p, 1
	c.broken("a second executable", commands.GetPipelineExecutableStatisticsKHR(c.d.handle, &e, &n, nil),
		"VUID-VkPipelineExecutableInfoKHR-executableIndex-03275")
	e.ExecutableIndex = 0
	if r := commands.GetPipelineExecutableStatisticsKHR(c.d.handle, &e, &n, nil); r != vk.SUCCESS || n == 0 {
		t.Fatalf("%v, %d statistics", r, n)
	}
	stats := make([]vk.PipelineExecutableStatisticKHR, n)
	if r := commands.GetPipelineExecutableStatisticsKHR(c.d.handle, &e, &n, &stats[0]); r != vk.SUCCESS {
		t.Error(r)
	}
	if name := vk.FixedString(stats[0].Name[:]); name != "Instructions" || *stats[0].Value.U64() == 0 {
		t.Errorf("%s: %d", name, *stats[0].Value.U64())
	}
	n--
	if r := commands.GetPipelineExecutableStatisticsKHR(c.d.handle, &e, &n, &stats[0]); r != vk.INCOMPLETE ||
		int(n) != len(stats)-1 {
		t.Errorf("too few: %v, %d", r, n)
	}
	c.representations(&e)
}

// representations looks at the texts of a pipeline: a graph behind each pass, and the program.
func (c computeTest) representations(e *vk.PipelineExecutableInfoKHR) {
	n := uint32(0)
	if r := commands.GetPipelineExecutableInternalRepresentationsKHR(c.d.handle, e, &n, nil); r != vk.SUCCESS || n < 5 {
		c.Fatalf("%v, %d texts", r, n)
	}
	text := make([]vk.PipelineExecutableInternalRepresentationKHR, n)
	if r := commands.GetPipelineExecutableInternalRepresentationsKHR(c.d.handle, e, &n, &text[0]); r != vk.SUCCESS {
		c.Fatal(r)
	}
	data := make([][]byte, n)
	for i := range text {
		data[i] = make([]byte, text[i].DataSize)
		text[i].PData = unsafe.Pointer(&data[i][0])
	}
	if r := commands.GetPipelineExecutableInternalRepresentationsKHR(c.d.handle, e, &n, &text[0]); r != vk.SUCCESS {
		c.Error(r)
	}
	last := len(text) - 1
	for i := range text {
		name := vk.FixedString(text[i].Name[:])
		if want := fmt.Sprintf("%02d-", i); i < last && (!strings.HasPrefix(name, want) || len(data[i]) < 20) {
			c.Errorf("text %d is %q, %d bytes", i, name, len(data[i]))
		}
		if got := vk.FixedString(data[i]); len(got) != len(data[i])-1 {
			c.Errorf("text %d has %d bytes, with room for %d", i, len(got), len(data[i]))
		}
	}
	program := pipelines.Get(uint64(e.Pipeline)).shader.program.String()
	if name := vk.FixedString(text[last].Name[:]); name != "Register Program" || vk.FixedString(data[last]) != program {
		c.Errorf("%q: %q", name, data[last])
	}
	text[last].DataSize = 5
	if r := commands.GetPipelineExecutableInternalRepresentationsKHR(c.d.handle, e, &n, &text[0]); r != vk.INCOMPLETE ||
		data[last][4] != 0 {
		c.Errorf("with too little room: %v, %q", r, data[last][:6])
	}
	n = 2
	if r := commands.GetPipelineExecutableInternalRepresentationsKHR(c.d.handle, e, &n, &text[0]); r != vk.INCOMPLETE ||
		n != 2 {
		c.Errorf("too few: %v, %d", r, n)
	}
}

// BenchmarkCreatePipeline makes a pipeline that no other shares: the specialization differs each time.
func BenchmarkCreatePipeline(b *testing.B) {
	c := newComputeTest(b)
	m, l := c.module(compiled(b, addShader)), c.addLayout()
	value := uint32(0)
	entry := vk.SpecializationMapEntry{Size: 4}
	spec := vk.SpecializationInfo{MapEntryCount: 1, PMapEntries: &entry, DataSize: 4, PData: unsafe.Pointer(&value)}
	info := pipelineInfo(m, l)
	info.Stage.PSpecializationInfo = &spec
	var p vk.Pipeline
	b.ReportAllocs()
	for b.Loop() {
		value++
		if r := commands.CreateComputePipelines(c.d.handle, 0, 1, &info, nil, &p); r != vk.SUCCESS {
			b.Fatal(r)
		}
		commands.DestroyPipeline(c.d.handle, p, nil)
	}
}

// BenchmarkFirstPipeline makes the first pipeline of a module, which is decoded and checked for it.
func BenchmarkFirstPipeline(b *testing.B) {
	c := newComputeTest(b)
	words, l := compiled(b, addShader), c.addLayout()
	var p vk.Pipeline
	for b.Loop() {
		var m vk.ShaderModule
		words[2]++ // the generator: another module
		info := vk.ShaderModuleCreateInfo{CodeSize: uintptr(4 * len(words)), PCode: &words[0]}
		if r := commands.CreateShaderModule(c.d.handle, &info, nil, &m); r != vk.SUCCESS {
			b.Fatal(r)
		}
		create := pipelineInfo(m, l)
		if r := commands.CreateComputePipelines(c.d.handle, 0, 1, &create, nil, &p); r != vk.SUCCESS {
			b.Fatal(r)
		}
		commands.DestroyPipeline(c.d.handle, p, nil)
		commands.DestroyShaderModule(c.d.handle, m, nil)
	}
}
