package conformance

import (
	"slices"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// objectMisuseCase breaks rules of shader objects. What can't be made is refused with the rule's name, and what works
// all the same is warned of.
func objectMisuseCase(c *Case) {
	c.misusedCreation()
	c.misusedBinding()
	c.unsetStates()
}

// misusedCreation makes shaders that break a rule.
func (c *Case) misusedCreation() {
	d := c.objectDispatch()
	defer d.free()
	s := c.scene(4, 4, 1, 1, 0, rgba32f)
	defer s.close()
	vertex := vulkan.ShaderConfig{Stage: vertexBit, Next: vk.SHADER_STAGE_FRAGMENT_BIT, Code: s.words("vert", wholeTarget)}
	fragment := vulkan.ShaderConfig{Stage: fragmentBit, Code: s.words("frag", white)}
	const link = vk.SHADER_CREATE_LINK_STAGE_BIT_EXT
	with := func(s vulkan.ShaderConfig, edit func(s *vulkan.ShaderConfig)) vulkan.ShaderConfig {
		edit(&s)
		return s
	}
	flags := func(s vulkan.ShaderConfig, f vk.ShaderCreateFlagsEXT) vulkan.ShaderConfig {
		s.Flags |= f
		return s
	}
	stage := func(stage vk.ShaderStageFlagBits) vulkan.ShaderConfig {
		return with(fragment, func(s *vulkan.ShaderConfig) { s.Stage = stage })
	}
	next := func(s vulkan.ShaderConfig, n vk.ShaderStageFlags) vulkan.ShaderConfig {
		s.Next = n
		return s
	}
	const info, create = "VUID-VkShaderCreateInfoEXT-", "VUID-vkCreateShadersEXT-"
	for _, test := range []struct {
		rule string
		list []vulkan.ShaderConfig
	}{
		{create + "createInfoCount-arraylength", nil},
		{create + "pCreateInfos-08402", []vulkan.ShaderConfig{flags(vertex, link), fragment}},
		{create + "pCreateInfos-08409", []vulkan.ShaderConfig{flags(next(vertex, 0), link), flags(fragment, link)}},
		{create + "pCreateInfos-08410", []vulkan.ShaderConfig{flags(vertex, link), flags(vertex, link)}},
		{create + "pCreateInfos-08411", []vulkan.ShaderConfig{flags(vertex, link),
			flags(with(fragment, func(s *vulkan.ShaderConfig) { s.Binary = []byte{1} }), link)}},
		{info + "stage-08418", []vulkan.ShaderConfig{stage(vk.SHADER_STAGE_ALL_GRAPHICS)}},
		{info + "stage-08419", []vulkan.ShaderConfig{stage(vk.SHADER_STAGE_TESSELLATION_CONTROL_BIT)}},
		{info + "stage-08420", []vulkan.ShaderConfig{stage(vk.SHADER_STAGE_GEOMETRY_BIT)}},
		{info + "stage-08421", []vulkan.ShaderConfig{stage(vk.SHADER_STAGE_TASK_BIT_EXT)}},
		{info + "stage-08422", []vulkan.ShaderConfig{stage(vk.SHADER_STAGE_MESH_BIT_EXT)}},
		{info + "stage-08425", []vulkan.ShaderConfig{stage(vk.SHADER_STAGE_SUBPASS_SHADING_BIT_HUAWEI)}},
		{info + "stage-08426", []vulkan.ShaderConfig{stage(vk.SHADER_STAGE_CLUSTER_CULLING_BIT_HUAWEI)}},
		{info + "stage-parameter", []vulkan.ShaderConfig{stage(vk.SHADER_STAGE_RAYGEN_BIT_KHR)}},
		{info + "flags-parameter", []vulkan.ShaderConfig{flags(vertex, vk.SHADER_CREATE_INDIRECT_BINDABLE_BIT_EXT)}},
		{info + "flags-08412", []vulkan.ShaderConfig{flags(d.config(nil), link)}},
		{info + "flags-08485", []vulkan.ShaderConfig{flags(vertex, vk.SHADER_CREATE_DISPATCH_BASE_BIT_EXT)}},
		{info + "flags-08992", []vulkan.ShaderConfig{flags(vertex, vk.SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT)}},
		{info + "nextStage-08427", []vulkan.ShaderConfig{next(vertex, vk.SHADER_STAGE_COMPUTE_BIT)}},
		{info + "nextStage-08428", []vulkan.ShaderConfig{next(vertex, vk.SHADER_STAGE_TESSELLATION_CONTROL_BIT)}},
		{info + "nextStage-08429", []vulkan.ShaderConfig{next(vertex, vk.SHADER_STAGE_GEOMETRY_BIT)}},
		{info + "nextStage-08434", []vulkan.ShaderConfig{next(fragment, vk.SHADER_STAGE_FRAGMENT_BIT)}},
		{info + "pName-08440", []vulkan.ShaderConfig{with(vertex, func(s *vulkan.ShaderConfig) { s.Entry = "other" })}},
		{info + "pName-08440", []vulkan.ShaderConfig{with(vertex, func(s *vulkan.ShaderConfig) {
			s.Stage, s.Next = fragmentBit, 0
		})}},
		{info + "pCode-08737", []vulkan.ShaderConfig{with(vertex, func(s *vulkan.ShaderConfig) {
			s.Code = slices.Repeat([]uint32{1}, 8)
		})}},
		{info + "codeSize-arraylength", []vulkan.ShaderConfig{with(vertex, func(s *vulkan.ShaderConfig) { s.Code = nil })}},
		{info + "codeType-10064", []vulkan.ShaderConfig{with(d.config(nil), func(s *vulkan.ShaderConfig) { s.Push = nil })}},
		{info + "codeType-10383", []vulkan.ShaderConfig{with(d.config(nil), func(s *vulkan.ShaderConfig) { s.Sets = nil })}},
		{info + "pPushConstantRanges-10063", []vulkan.ShaderConfig{with(d.config(nil), func(s *vulkan.ShaderConfig) {
			s.Push = append(s.Push, s.Push...)
		})}},
		{info + "setLayoutCount-12257", []vulkan.ShaderConfig{with(d.config(nil), func(s *vulkan.ShaderConfig) {
			s.Sets = slices.Repeat(s.Sets, 100)
		})}},
		{info + "setLayoutCount-13359", []vulkan.ShaderConfig{with(d.config(nil), func(s *vulkan.ShaderConfig) {
			s.Sets = []vk.DescriptorSetLayout{0xabc}
		})}},
	} {
		seen := c.messages()
		made, r := c.dev.CreateShaders(test.list...)
		c.wantErr(test.rule, r)
		if !seen.has(test.rule) {
			c.Errorf("want %q: %q", test.rule, seen.text)
		}
		for _, o := range made {
			if o != 0xbad {
				c.dev.DestroyShader(o)
			}
		}
		seen.close()
	}
}

// misusedBinding records what binds no shaders. None is a warning, the rest are errors.
func (c *Case) misusedBinding() {
	r := c.recorder()
	defer r.free()
	const rule = "VUID-vkCmdBindShadersEXT-"
	for _, test := range []struct {
		rule   string
		stages []vk.ShaderStageFlagBits
	}{
		{rule + "stageCount-arraylength", nil},
		{rule + "pStages-08463", []vk.ShaderStageFlagBits{vertexBit, fragmentBit, vertexBit}},
		{rule + "pStages-08464", []vk.ShaderStageFlagBits{vk.SHADER_STAGE_ALL}},
		{rule + "pStages-08465", []vk.ShaderStageFlagBits{vk.SHADER_STAGE_MISS_BIT_KHR}},
		{rule + "pStages-08467", []vk.ShaderStageFlagBits{vk.SHADER_STAGE_SUBPASS_SHADING_BIT_HUAWEI}},
		{rule + "pStages-08468", []vk.ShaderStageFlagBits{vk.SHADER_STAGE_CLUSTER_CULLING_BIT_HUAWEI}},
		{rule + "pStages-parameter", []vk.ShaderStageFlagBits{vertexBit | fragmentBit}},
	} {
		severity := vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT
		if len(test.stages) == 0 {
			severity = vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT
		}
		seen := c.messagesOf(severity)
		r.begin(r.cb, 0)
		c.dev.BindShaders(r.cb, test.stages, nil)
		if ended := vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(r.cb))); len(test.stages) == 0 {
			c.must(test.rule, ended)
		} else {
			c.wantErr(test.rule, ended)
		}
		if !seen.has(test.rule) {
			c.Errorf("want %q: %q", test.rule, seen.text)
		}
		seen.close()
	}
}

// unsetStates draws without having set anything but viewports and the vertex input, and with shaders that don't fit
// each other. What is drawn is what a plain pipeline draws, but for colours, which nothing lets be written.
func (c *Case) unsetStates() {
	s := c.scene(8, 8, 1, 1, 0, rgba32f)
	defer s.close()
	l := &look{vertex: wholeTarget, fragment: `layout(binding = 0) buffer B { uint count; };
		layout(location = 3) in vec4 unwritten; layout(location = 0) out vec4 c;
		void main() { atomicAdd(count, 1); c = unwritten; }`, buffers: []any{[]uint32{0}}}
	l.bind = func(d *drawn, g *vulkan.GraphicsState) func() {
		stages := vulkan.ShaderConfig{Stage: vertexBit, Code: s.words("vert", l.vertex),
			Flags: vk.SHADER_CREATE_LINK_STAGE_BIT_EXT}
		vertex, r := c.dev.CreateShaders(stages) // without nextStage, set layouts and the one that it is linked to
		c.must("vkCreateShadersEXT", r)
		made := s.shaders(d, vk.SHADER_CREATE_LINK_STAGE_BIT_EXT)
		s.free = append(s.free, func() { c.dev.DestroyShader(vertex[0]) })
		return func() {
			c.dev.BindShaders(s.cb, []vk.ShaderStageFlagBits{vertexBit, fragmentBit}, []vk.ShaderEXT{vertex[0], made[1]})
			s.set("vkCmdSetViewportWithCount", 1, ptr(g.Viewport.PViewports))
			s.set("vkCmdSetScissorWithCount", 1, ptr(g.Viewport.PScissors))
			s.set("vkCmdSetVertexInputEXT", 0, 0, 0, 0)
			s.set("vkCmdSetPrimitiveTopology", uintptr(vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST))
		}
	}
	l.record = func(cb vk.CommandBuffer) {
		for range 2 {
			s.set("vkCmdDraw", 3, 1, 0, 0)
		}
	}
	seen := c.messagesOf(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)
	d := s.drawing(l)
	s.render([]*drawn{d}, vk.ATTACHMENT_LOAD_OP_CLEAR)
	seen.close()
	s.pixels(s.colors[0], 0, all(0))
	if got := d.buffers[0].host[0]; got != 128 {
		c.Errorf("%d fragments, want 128", got)
	}
	for _, rule := range []string{"nextStage-10745", "None-08698", "None-08879", "None-04879", "None-04876", "None-07840",
		"None-07841", "None-07843", "None-07847", "None-04877", "None-07621", "None-07622", "None-07623", "None-07624",
		"None-07627", "None-07629", "None-07633"} {
		if !seen.has("VUID-vkCmdDraw-" + rule) {
			c.Errorf("no warning of %s", rule)
		}
	}
	if !seen.has("VUID-RuntimeSpirv-OpEntryPoint-08743") {
		c.Errorf("no warning of an input that nothing writes")
	}
	if len(seen.text) != 18 {
		c.Errorf("%d warnings, want 18: %q", len(seen.text), seen.text)
	}
}
