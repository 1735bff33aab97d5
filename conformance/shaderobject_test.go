package conformance

import (
	"slices"
	"unsafe"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	vertexBit   = vk.ShaderStageFlagBits(vk.SHADER_STAGE_VERTEX_BIT)
	fragmentBit = vk.ShaderStageFlagBits(vk.SHADER_STAGE_FRAGMENT_BIT)
	computeBit  = vk.ShaderStageFlagBits(vk.SHADER_STAGE_COMPUTE_BIT)
)

// shaderObjectCases draw and dispatch with shader objects. Every dynamic state has a case: what a pipeline would say is
// set by commands, too.
func shaderObjectCases() (list []definition) {
	add := func(name string, run func(c *Case), needs ...string) {
		d := drawCase("shader_object."+name, run, append([]string{"ShaderObject"}, needs...)...)
		d.valid = false // layers of 1.3.239 don't know the extension
		d.instanceExtensions = []string{"VK_EXT_debug_utils"}
		list = append(list, d)
	}
	for _, d := range slices.Concat(extendedStates(), extendedStates2(), extendedStates3(), extendedStates3Lines()) {
		add("dynamic_state."+d.name, func(c *Case) {
			d.run(c, func(s *scene, l *look) { s.objects(l, 0) })
		}, withoutExtended(d.needs)...)
	}
	add("linked", func(c *Case) { objectsCase(c, vk.SHADER_CREATE_LINK_STAGE_BIT_EXT) })
	add("unlinked", func(c *Case) { objectsCase(c, 0) })
	add("attachments", objectAttachmentsCase, "IndependentBlend")
	add("fragment_only_null", nullFragmentCase)
	add("pipelines_between", pipelinesBetweenCase)
	add("mixed", mixedObjectsCase)
	add("secondary", objectsInSecondaryCase)
	add("vertex_input", objectVertexInputCase, "VertexAttributeInstanceRateDivisor")
	add("compute", computeObjectsCase)
	add("compute_subgroups", computeSubgroupsCase, "SubgroupSizeControl", "ComputeFullSubgroups")
	add("binaries", objectBinariesCase)
	add("corrupt_binaries", corruptBinariesCase)
	add("results", objectResultsCase)
	add("locations", objectLocationsCase, "DynamicRenderingLocalRead")
	misuse := drawCase("farside.shader_object.misuse", objectMisuseCase, "ShaderObject", "DepthClipEnable")
	misuse.valid, misuse.farsideOnly, misuse.instanceExtensions = false, true, []string{"VK_EXT_debug_utils"}
	return append(list, misuse)
}

// withoutExtended are the needs of a case but for extended dynamic states, which shader objects bring.
func withoutExtended(needs []string) (list []string) {
	for _, n := range needs {
		if len(n) < 8 || n[:8] != "Extended" {
			list = append(list, n)
		}
	}
	return list
}

// objects makes a look draw with shader objects, whose flags are these.
func (s *scene) objects(l *look, flags vk.ShaderCreateFlagsEXT) {
	l.bind = func(d *drawn, g *vulkan.GraphicsState) func() {
		made := s.shaders(d, flags)
		return func() {
			s.c.dev.BindShaders(s.cb, []vk.ShaderStageFlagBits{vertexBit, fragmentBit}, made[:])
			s.setAll(g)
		}
	}
}

// shaders makes the shader objects of a look: the second is VK_NULL_HANDLE without a fragment shader.
func (s *scene) shaders(d *drawn, flags vk.ShaderCreateFlagsEXT) (made [2]vk.ShaderEXT) {
	var push []vk.PushConstantRange
	if n := len(bytesOf(d.look.push)); n > 0 {
		push = []vk.PushConstantRange{{StageFlags: vk.SHADER_STAGE_VERTEX_BIT | vk.SHADER_STAGE_FRAGMENT_BIT,
			Size: uint32(n)}}
	}
	var list []vulkan.ShaderConfig
	for _, stage := range []vulkan.ShaderConfig{
		{Stage: vertexBit, Next: vk.SHADER_STAGE_FRAGMENT_BIT, Code: s.words("vert", d.look.vertex)},
		{Stage: fragmentBit, Code: s.words("frag", d.look.fragment)},
	} {
		if stage.Code != nil {
			stage.Flags, stage.Sets, stage.Push = flags, d.layouts, push
			list = append(list, stage)
		}
	}
	out, r := s.c.dev.CreateShaders(list...)
	s.c.must("vkCreateShadersEXT", r)
	copy(made[:], out)
	s.free = append(s.free, func() {
		for _, o := range out {
			s.c.dev.DestroyShader(o)
		}
	})
	return made
}

// words are the SPIR-V of a stage, nil without one.
func (s *scene) words(name, text string) []uint32 {
	if text == "" {
		return nil
	}
	return s.c.compile(shaders.Source{Name: "scene." + name, Text: glslHead + text})
}

// setAll records every dynamic state, as a pipeline's state says.
func (s *scene) setAll(g *vulkan.GraphicsState) {
	dev := s.c.dev
	flag := func(name string, v vk.Bool32) { s.set(name, uintptr(v)) }
	if g.Viewport.ViewportCount > 0 {
		s.set("vkCmdSetViewportWithCount", uintptr(g.Viewport.ViewportCount), ptr(g.Viewport.PViewports))
		s.set("vkCmdSetScissorWithCount", uintptr(g.Viewport.ScissorCount), ptr(g.Viewport.PScissors))
	}
	s.setInput(g)
	s.set("vkCmdSetPrimitiveTopology", uintptr(g.Assembly.Topology))
	flag("vkCmdSetPrimitiveRestartEnable", g.Assembly.PrimitiveRestartEnable)
	r := g.Raster
	flag("vkCmdSetRasterizerDiscardEnable", r.RasterizerDiscardEnable)
	s.set("vkCmdSetPolygonModeEXT", uintptr(r.PolygonMode))
	s.set("vkCmdSetCullMode", uintptr(r.CullMode))
	s.set("vkCmdSetFrontFace", uintptr(r.FrontFace))
	flag("vkCmdSetDepthBiasEnable", r.DepthBiasEnable)
	dev.SetFloats("vkCmdSetDepthBias", s.cb, r.DepthBiasConstantFactor, r.DepthBiasClamp, r.DepthBiasSlopeFactor)
	dev.SetFloats("vkCmdSetLineWidth", s.cb, r.LineWidth)
	flag("vkCmdSetDepthClampEnableEXT", r.DepthClampEnable)
	m := g.Multisample
	s.set("vkCmdSetRasterizationSamplesEXT", uintptr(m.RasterizationSamples))
	s.set("vkCmdSetSampleMaskEXT", uintptr(m.RasterizationSamples), ptr(vulkan.Put(&s.a, ^vk.SampleMask(0))))
	flag("vkCmdSetAlphaToCoverageEnableEXT", m.AlphaToCoverageEnable)
	flag("vkCmdSetAlphaToOneEnableEXT", m.AlphaToOneEnable)
	t := g.Depth
	flag("vkCmdSetDepthTestEnable", t.DepthTestEnable)
	flag("vkCmdSetDepthWriteEnable", t.DepthWriteEnable)
	s.set("vkCmdSetDepthCompareOp", uintptr(t.DepthCompareOp))
	flag("vkCmdSetDepthBoundsTestEnable", t.DepthBoundsTestEnable)
	dev.SetFloats("vkCmdSetDepthBounds", s.cb, t.MinDepthBounds, t.MaxDepthBounds)
	flag("vkCmdSetStencilTestEnable", t.StencilTestEnable)
	for face, o := range map[uintptr]*vk.StencilOpState{1: &t.Front, 2: &t.Back} {
		s.set("vkCmdSetStencilOp", face, uintptr(o.FailOp), uintptr(o.PassOp), uintptr(o.DepthFailOp), uintptr(o.CompareOp))
		s.set("vkCmdSetStencilCompareMask", face, uintptr(o.CompareMask))
		s.set("vkCmdSetStencilWriteMask", face, uintptr(o.WriteMask))
		s.set("vkCmdSetStencilReference", face, uintptr(o.Reference))
	}
	s.setBlends(g)
	s.setOptional(g)
}

// setInput records the vertex input of a pipeline's state.
func (s *scene) setInput(g *vulkan.GraphicsState) {
	bindings := vulkan.Make[vk.VertexInputBindingDescription2EXT](&s.a, int(g.Vertices.VertexBindingDescriptionCount))
	for i, b := range vk.Slice(g.Vertices.PVertexBindingDescriptions, g.Vertices.VertexBindingDescriptionCount) {
		bindings[i] = vk.VertexInputBindingDescription2EXT{SType: bindings[i].StructureType(), Binding: b.Binding,
			Stride: b.Stride, InputRate: b.InputRate, Divisor: 1}
	}
	attributes := vulkan.Make[vk.VertexInputAttributeDescription2EXT](&s.a,
		int(g.Vertices.VertexAttributeDescriptionCount))
	for i, a := range vk.Slice(g.Vertices.PVertexAttributeDescriptions, g.Vertices.VertexAttributeDescriptionCount) {
		attributes[i] = vk.VertexInputAttributeDescription2EXT{SType: attributes[i].StructureType(), Location: a.Location,
			Binding: a.Binding, Format: a.Format, Offset: a.Offset}
	}
	s.set("vkCmdSetVertexInputEXT", uintptr(len(bindings)), ptr(vulkan.First(bindings)), uintptr(len(attributes)),
		ptr(vulkan.First(attributes)))
}

// setBlends records the blending of a pipeline's state.
func (s *scene) setBlends(g *vulkan.GraphicsState) {
	n := len(s.colors)
	if n > 0 {
		enables, masks := vulkan.Make[vk.Bool32](&s.a, n), vulkan.Make[vk.ColorComponentFlags](&s.a, n)
		equations := vulkan.Make[vk.ColorBlendEquationEXT](&s.a, n)
		for i, b := range g.Attachments[:n] {
			enables[i], masks[i] = b.BlendEnable, b.ColorWriteMask
			equations[i] = vk.ColorBlendEquationEXT{SrcColorBlendFactor: b.SrcColorBlendFactor,
				DstColorBlendFactor: b.DstColorBlendFactor, ColorBlendOp: b.ColorBlendOp,
				SrcAlphaBlendFactor: b.SrcAlphaBlendFactor, DstAlphaBlendFactor: b.DstAlphaBlendFactor,
				AlphaBlendOp: b.AlphaBlendOp}
		}
		s.set("vkCmdSetColorBlendEnableEXT", 0, uintptr(n), ptr(vulkan.First(enables)))
		s.set("vkCmdSetColorWriteMaskEXT", 0, uintptr(n), ptr(vulkan.First(masks)))
		s.set("vkCmdSetColorBlendEquationEXT", 0, uintptr(n), ptr(vulkan.First(equations)))
	}
	s.set("vkCmdSetBlendConstants", ptr(vulkan.Put(&s.a, g.Blend.BlendConstants)))
	s.set("vkCmdSetLogicOpEnableEXT", uintptr(g.Blend.LogicOpEnable))
	s.set("vkCmdSetLogicOpEXT", uintptr(g.Blend.LogicOp))
}

// setOptional records the states of extensions and features that the case has enabled.
func (s *scene) setOptional(g *vulkan.GraphicsState) {
	has := func(feature string) bool { return slices.Contains(s.c.def.needs, feature) }
	if has("DepthClipEnable") {
		s.set("vkCmdSetDepthClipEnableEXT", 1)
	}
	if has("DepthClipControl") {
		s.set("vkCmdSetDepthClipNegativeOneToOneEXT", 0)
	}
	if has("ProvokingVertexLast") {
		s.set("vkCmdSetProvokingVertexModeEXT", uintptr(vk.PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT))
	}
	if l := vk.Find[vk.PipelineRasterizationLineStateCreateInfo](g.Raster.PNext); l != nil {
		s.set("vkCmdSetLineRasterizationModeEXT", uintptr(l.LineRasterizationMode))
		s.set("vkCmdSetLineStippleEnableEXT", uintptr(l.StippledLineEnable))
		s.set("vkCmdSetLineStippleEXT", uintptr(l.LineStippleFactor), uintptr(l.LineStipplePattern))
	}
}

// triangles is a vertex shader that reads a corner and a value for each vertex, and a fragment shader that adds what
// set and push constants say.
const (
	cornersVertex = `layout(location = 0) in vec2 corner; layout(location = 1) in float value;
		layout(location = 0) out float v;
		layout(push_constant) uniform P { float depth; float more; };
		void main() { gl_Position = vec4(corner, depth, 1); v = value; }`
	cornersFragment = `layout(location = 0) in float v; layout(location = 0) out vec4 c;
		layout(push_constant) uniform P { float depth; float more; };
		layout(binding = 0) buffer B { float some[2]; };
		void main() { c = vec4(v, more, some[0], some[1]); }`
)

// objectsCase draws a quad with attributes, a depth test, blending, a set and push constants, twice: the second time
// the depth test fails.
func objectsCase(c *Case, flags vk.ShaderCreateFlagsEXT) {
	s := c.scene(16, 16, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
	*s.colors[0].clear.Color().Float32() = [4]float32{1, 1, 1, 1}
	vertices := c.shaderBuffer([]float32{-1, -1, 2, 1, -1, 2, -1, 1, 2, 1, 1, 2}, vk.BUFFER_USAGE_VERTEX_BUFFER_BIT)
	defer vertices.free()
	l := &look{vertex: cornersVertex, fragment: cornersFragment, push: []float32{0.5, 3}, buffers: []any{[]float32{4, 5}},
		edit: func(g *vulkan.GraphicsState) {
			depthTest(vk.COMPARE_OP_LESS)(g)
			adds(g)
			g.Attachments[0].SrcAlphaBlendFactor, g.Attachments[0].DstAlphaBlendFactor = 1, 1
			g.Assembly.Topology = vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP
			g.Vertex([]vk.VertexInputBindingDescription{{Stride: 12}}, []vk.VertexInputAttributeDescription{
				{Format: vk.FORMAT_R32G32_SFLOAT}, {Location: 1, Format: vk.FORMAT_R32_SFLOAT, Offset: 8}})
		}, record: func(cb vk.CommandBuffer) {
			c.dev.BindVertices(cb, 0, vertices.buffer)
			s.set("vkCmdDraw", 4, 1, 0, 0)
		}}
	s.objects(l, flags)
	seen := c.messagesOf(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)
	defer seen.close()
	s.draw(l, l)
	s.pixels(s.colors[0], 0, func(int, int) [4]float64 { return [4]float64{3, 4, 5, 6} })
	if len(seen.text) > 0 {
		c.Errorf("all is in order, and there are warnings: %q", seen.text)
	}
}

// objectAttachmentsCase draws with the same shaders to one attachment, to two and to three. Those that the shader
// doesn't write, or nobody draws to, stay.
func objectAttachmentsCase(c *Case) {
	for n := range 4 {
		s := c.scene(8, 8, 1, 1, 0, []vk.Format{rgba32f, rgba32f, rgba32f}[:n]...)
		for _, t := range s.colors {
			*t.clear.Color().Float32() = [4]float32{0.5, 0.5, 0.5, 0.5}
		}
		l := &look{vertex: wholeTarget, fragment: `layout(location = 0) out vec4 a; layout(location = 1) out vec4 b;
			layout(binding = 0) buffer B { uint count; };
			void main() { a = vec4(1); b = vec4(2); atomicAdd(count, 1); }`, buffers: []any{[]uint32{0}},
			edit: func(g *vulkan.GraphicsState) {
				if n > 2 {
					g.Attachments[2].ColorWriteMask = 0
				}
			}}
		s.objects(l, 0)
		d := s.drawing(l)
		s.render([]*drawn{d}, vk.ATTACHMENT_LOAD_OP_CLEAR)
		for i, t := range s.colors {
			s.pixels(t, 0, all([]float64{1, 2, 0.5}[i]))
		}
		if count := *(*uint32)(unsafe.Pointer(&d.buffers[0].host[0])); count != 64 {
			c.Errorf("%d attachments: %d fragments, want 64", n, count)
		}
		s.close()
	}
}

// nullFragmentCase draws depths alone: nothing is bound as the fragment shader. pShaders may be NULL.
func nullFragmentCase(c *Case) {
	s := c.scene(16, 16, 1, 1, vk.FORMAT_D32_SFLOAT, rgba32f)
	defer s.close()
	*s.depth.clear.DepthStencil() = vk.ClearDepthStencilValue{Depth: 1}
	depths := &look{vertex: `void main() {
		gl_Position = vec4(gl_VertexIndex == 1 ? 1 : -1, gl_VertexIndex == 2 ? 3 : -1, 0.25, 1);
	}`, edit: depthTest(vk.COMPARE_OP_LESS)}
	depths.bind = func(d *drawn, g *vulkan.GraphicsState) func() {
		made := s.shaders(d, 0)
		return func() {
			others := []vk.ShaderStageFlagBits{fragmentBit, vk.SHADER_STAGE_GEOMETRY_BIT,
				vk.SHADER_STAGE_TESSELLATION_CONTROL_BIT, vk.SHADER_STAGE_TESSELLATION_EVALUATION_BIT}
			c.dev.BindShaders(s.cb, []vk.ShaderStageFlagBits{vertexBit}, made[:1])
			c.dev.BindShaders(s.cb, others, nil)
			s.setAll(g)
			// States of shaders that there are none of.
			s.set("vkCmdSetPatchControlPointsEXT", 3)
			s.set("vkCmdSetTessellationDomainOriginEXT", 0)
			s.set("vkCmdBindVertexBuffers2", 0, 0, 0, 0, 0, 0)
		}
	}
	colors := &look{vertex: wholeTarget, fragment: white, edit: depthTest(vk.COMPARE_OP_LESS)}
	s.objects(colors, 0)
	s.draw(depths, colors)
	s.pixels(s.colors[0], 0, func(x, y int) (w [4]float64) {
		if 2*x+y >= 31 { // the depth of the others is less
			w = [4]float64{1, 1, 1, 1}
		}
		return w
	})
}

// white shaders of the left half, and of the rows from the middle on.
var (
	leftHalf = `void main() {
		vec2 p = vec2(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1);
		gl_Position = vec4(p, 0.5, 1);
		gl_ClipDistance[0] = -p.x;
	}`
	lowerHalf = `void main() {
		vec2 p = vec2(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1);
		gl_Position = vec4(p, 0.5, 1);
		gl_ClipDistance[0] = p.y;
	}`
)

// plain is a look that draws a value.
func plain(vertex, value string) *look {
	return &look{vertex: vertex, fragment: `layout(location = 0) out vec4 c; void main() { c = vec4(` + value + `); }`}
}

// pipelinesBetweenCase draws with shader objects, with a pipeline, and with shader objects again: each unbinds the
// others, and what was set stays.
func pipelinesBetweenCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	first, between, last := plain(wholeTarget, "1"), plain(leftHalf, "2"), plain(lowerHalf, "3")
	s.objects(first, 0)
	last.bind = func(d *drawn, g *vulkan.GraphicsState) func() {
		made := s.shaders(d, 0)
		return func() {
			c.dev.BindShaders(s.cb, []vk.ShaderStageFlagBits{vertexBit, fragmentBit}, made[:])
		}
	}
	between.edit = func(g *vulkan.GraphicsState) { g.Vary(vk.DYNAMIC_STATE_CULL_MODE) }
	s.draw(first, between, last)
	s.pixels(s.colors[0], 0, func(x, y int) [4]float64 {
		switch {
		case y >= 8:
			return [4]float64{3, 3, 3, 3}
		case x < 8:
			return [4]float64{2, 2, 2, 2}
		}
		return [4]float64{1, 1, 1, 1}
	})
}

// mixedObjectsCase binds stages apart: each draw has the shaders that were bound last, whichever call bound them.
func mixedObjectsCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	var vertex, fragment [3]vk.ShaderEXT
	l := plain(wholeTarget, "1")
	l.bind = func(d *drawn, g *vulkan.GraphicsState) func() {
		for i, v := range []string{wholeTarget, leftHalf, lowerHalf} {
			made := s.shaders(&drawn{look: plain(v, string(rune('1'+i)))}, 0)
			vertex[i], fragment[i] = made[0], made[1]
		}
		return func() { s.setAll(g) }
	}
	l.record = func(cb vk.CommandBuffer) {
		bind := func(stage vk.ShaderStageFlagBits, o vk.ShaderEXT) {
			c.dev.BindShaders(cb, []vk.ShaderStageFlagBits{stage}, []vk.ShaderEXT{o})
		}
		bind(fragmentBit, fragment[0])
		bind(vertexBit, vertex[0])
		s.set("vkCmdDraw", 3, 1, 0, 0) // 1 everywhere
		for range 20 {                 // more pairs than are kept, again and again
			for i := range fragment {
				bind(fragmentBit, fragment[i])
				bind(vertexBit, vertex[i])
				s.set("vkCmdDraw", 3, 1, 0, 0)
			}
		}
		bind(vertexBit, vertex[1])
		s.set("vkCmdDraw", 3, 1, 0, 0) // 3 to the left
		bind(fragmentBit, fragment[1])
		s.set("vkCmdDraw", 3, 1, 0, 0) // 2 to the left
	}
	s.draw(l)
	s.pixels(s.colors[0], 0, func(x, y int) [4]float64 {
		switch {
		case x < 8:
			return [4]float64{2, 2, 2, 2}
		case y >= 8:
			return [4]float64{3, 3, 3, 3}
		}
		return [4]float64{1, 1, 1, 1}
	})
}

// objectsInSecondaryCase binds and draws in a secondary command buffer. Nothing of it is left in the primary one.
func objectsInSecondaryCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	var bind func()
	l := plain(leftHalf, "2")
	l.bind = func(d *drawn, g *vulkan.GraphicsState) func() {
		made := s.shaders(d, 0)
		bind = func() {
			s.setAll(g)
			c.dev.BindShaders(s.cb, []vk.ShaderStageFlagBits{vertexBit, fragmentBit}, made[:])
			s.set("vkCmdDraw", 3, 1, 0, 0)
		}
		return bind
	}
	s.drawing(l)
	inner := c.commandBuffers(s.pool, vk.COMMAND_BUFFER_LEVEL_SECONDARY, 1)[0]
	rendering := vulkan.Struct[vk.CommandBufferInheritanceRenderingInfo](&s.a)
	rendering.ColorAttachmentCount, rendering.PColorAttachmentFormats = 1, vulkan.Put(&s.a, rgba32f)
	rendering.RasterizationSamples = vk.SAMPLE_COUNT_1_BIT
	inherited := vulkan.Struct[vk.CommandBufferInheritanceInfo](&s.a)
	inherited.PNext = unsafe.Pointer(rendering)
	begin := vulkan.Struct[vk.CommandBufferBeginInfo](&s.a)
	begin.Flags, begin.PInheritanceInfo = vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT, inherited
	outer := s.cb
	s.cb = inner
	c.must("vkBeginCommandBuffer", vk.Result(c.dev.CallOn("vkBeginCommandBuffer", uintptr(inner), ptr(begin))))
	bind()
	c.must("vkEndCommandBuffer", vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(inner))))
	s.cb = outer
	s.begin(s.cb, 0)
	s.transition(s.colors[0].image, s.colors[0].aspects)
	a := vulkan.Attachment(s.colors[0].view)
	a.LoadOp = vk.ATTACHMENT_LOAD_OP_CLEAR
	c.dev.Render(s.cb, vulkan.Rendering{Flags: vk.RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT,
		Area: vk.Rect2D{Extent: vk.Extent2D{Width: 16, Height: 16}}, Layers: 1,
		Colors: []vk.RenderingAttachmentInfo{a}}, func() {
		c.dev.CallOn("vkCmdExecuteCommands", uintptr(s.cb), 1, ptr(vulkan.Put(&s.a, inner)))
	})
	s.end(s.cb)
	s.submit(s.cb)
	s.pixels(s.colors[0], 0, func(x, _ int) (w [4]float64) {
		if x < 8 {
			w = [4]float64{2, 2, 2, 2}
		}
		return w
	})
}

// objectVertexInputCase sets the input, a stride with the buffers, and the input again between draws.
func objectVertexInputCase(c *Case) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	var vertices *shaderBuffer
	l, vertices := s.changedInput(func() {
		s.vertexInput(4, 0, vk.VERTEX_INPUT_RATE_VERTEX, 1)
		s.set("vkCmdBindVertexBuffers2", 1, 1, ptr(vulkan.Put(&s.a, vertices.buffer)),
			ptr(vulkan.Put(&s.a, vk.DeviceSize(0))), 0, ptr(vulkan.Put(&s.a, vk.DeviceSize(12))))
		s.set("vkCmdDraw", 1, 1, 5, 0)
	})
	defer vertices.free()
	s.objects(l, 0)
	s.draw(l)
	want := changedPixels()
	want[5] = [4]float64{15, 16, 0, 1}
	s.pixelsOf(want)
}

// objectLocationsCase draws in a rendering with other locations than their numbers: shader objects have none of their
// own.
func objectLocationsCase(c *Case) {
	s := c.scene(8, 4, 1, 1, 0, rgba32f, rgba32f, rgba32f)
	defer s.close()
	l, none := s.locations(5, vk.ATTACHMENT_UNUSED, 1), s.inputs(-1, 0, 1, 2)
	two := &look{vertex: wholeTarget, fragment: `layout(location = 1) out vec4 a; layout(location = 5) out vec4 b;
		void main() { a = vec4(1); b = vec4(5); }`}
	s.objects(two, 0)
	d := s.drawing(two)
	s.rendered(func() {
		s.maps(l, none)
		d.bind()
		s.set("vkCmdDraw", 3, 1, 0, 0)
	})
	for i, want := range []float64{5, 0, 1} {
		s.pixels(s.colors[i], 0, all(want))
	}
}
