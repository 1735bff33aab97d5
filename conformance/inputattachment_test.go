package conformance

import (
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	inputUsage = vk.ImageUsageFlags(vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT)
	colorUsage = vk.ImageUsageFlags(vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT)
	depthUsage = vk.ImageUsageFlags(vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT)
)

// inputCases have fragment shaders read what earlier subpasses, or draws, have written to their pixel.
func inputCases() []definition {
	return []definition{
		drawCase("renderpass.input.float", func(c *Case) { inputColorCase(c, rgba32f, "", 1) }),
		drawCase("renderpass.input.unorm", func(c *Case) { inputColorCase(c, rgba8, "", 1) }),
		drawCase("renderpass.input.uint", func(c *Case) { inputColorCase(c, vk.FORMAT_R16G16B16A16_UINT, "u", 1) }),
		drawCase("renderpass.input.sint", func(c *Case) { inputColorCase(c, vk.FORMAT_R16G16B16A16_SINT, "i", 1) }),
		drawCase("renderpass.input.samples_4", func(c *Case) { inputColorCase(c, rgba32f, "", 4) }, "SampleRateShading"),
		drawCase("renderpass.input.samples_4_uint", func(c *Case) {
			inputColorCase(c, vk.FORMAT_R16G16B16A16_UINT, "u", 4)
		}, "SampleRateShading"),
		drawCase("renderpass.input.depth_stencil", func(c *Case) { inputDepthCase(c, 1) }),
		drawCase("renderpass.input.depth_stencil_samples_4", func(c *Case) { inputDepthCase(c, 4) }, "SampleRateShading"),
		drawCase("renderpass.input.multiview", inputViewsCase, "Multiview"),
		drawCase("renderpass.input.feedback", feedbackCase),
		drawCase("renderpass.input.own_stencil", ownStencilCase),
	}
}

// inPass has a pipeline belong to a subpass with so many colour attachments.
func inPass(p *passInstance, subpass, colors uint32, more func(g *vulkan.GraphicsState)) func(*vulkan.GraphicsState) {
	return func(g *vulkan.GraphicsState) {
		g.Info.PNext, g.Info.RenderPass, g.Info.Subpass = nil, p.pass, subpass
		g.Blend.AttachmentCount = colors
		if more != nil {
			more(g)
		}
	}
}

// perSample is the state of a pipeline whose fragment shader runs for each of so many samples.
func perSample(n uint32) func(g *vulkan.GraphicsState) {
	return func(g *vulkan.GraphicsState) {
		g.Multisample.RasterizationSamples = vk.SampleCountFlagBits(n)
		if n > 1 {
			g.Multisample.SampleShadingEnable, g.Multisample.MinSampleShading = vk.TRUE, 1
		}
	}
}

// inputOf is the descriptor of an input attachment.
func inputOf(v vk.ImageView) described {
	return described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT,
		Image: vk.DescriptorImageInfo{ImageView: v, ImageLayout: vk.IMAGE_LAYOUT_GENERAL}}}
}

// drawLook records a draw of a triangle by a look, to whose pipeline it belongs.
func (s *scene) drawLook(cb vk.CommandBuffer, d *drawn) {
	s.c.dev.BindGraphics(cb, d.pipeline)
	if len(d.sets) > 0 {
		s.c.dev.BindGraphicsSets(cb, d.layout, d.sets)
	}
	s.c.dev.CallOn("vkCmdDraw", uintptr(cb), 3, 1, 0, 0)
}

func (s *scene) nextSubpass(cb vk.CommandBuffer) {
	s.c.dev.CallOn("vkCmdNextSubpass2", uintptr(cb), ptr(vulkan.Struct[vk.SubpassBeginInfo](&s.a)),
		ptr(vulkan.Struct[vk.SubpassEndInfo](&s.a)))
}

// reads is the dependency of a subpass that reads what another has written, by region.
func reads(from, to uint32) vk.SubpassDependency2 {
	return vk.SubpassDependency2{SType: vk.STRUCTURE_TYPE_SUBPASS_DEPENDENCY_2, SrcSubpass: from, DstSubpass: to,
		SrcStageMask: vk.PipelineStageFlags(vk.PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT |
			vk.PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT),
		DstStageMask: vk.PipelineStageFlags(vk.PIPELINE_STAGE_FRAGMENT_SHADER_BIT),
		SrcAccessMask: vk.AccessFlags(vk.ACCESS_COLOR_ATTACHMENT_WRITE_BIT |
			vk.ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT),
		DstAccessMask:   vk.AccessFlags(vk.ACCESS_INPUT_ATTACHMENT_READ_BIT),
		DependencyFlags: vk.DependencyFlags(vk.DEPENDENCY_BY_REGION_BIT)}
}

// inputColorCase draws to an attachment, which the next subpass reads.
func inputColorCase(c *Case, f vk.Format, letter string, samples uint32) {
	s := c.scene(19, 13, 1, 1, 0, rgba32f)
	defer s.close()
	a := &s.a
	in := s.target(f, s.colors[0].aspects, colorUsage|inputUsage, samples, 1)
	out := s.colors[0]
	first, second := in.drawnTo(a), out.drawnTo(a)
	second.PColorAttachments = list(a, referred(1, out.aspects))
	second.InputAttachmentCount, second.PInputAttachments = 2, list(a,
		vk.AttachmentReference2{SType: vk.STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2, Attachment: vk.ATTACHMENT_UNUSED},
		referred(0, in.aspects))
	s.colors = append(s.colors, in) // run takes it to its layout
	p := s.instance([]*attachment{in, out}, []vk.AttachmentDescription2{in.described(samples, vk.ATTACHMENT_LOAD_OP_CLEAR),
		out.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)}, []vk.SubpassDescription2{first, second}, 1, false, reads(0, 1))
	number, scale := "0", "1"
	if samples > 1 {
		number = "gl_SampleID"
	}
	if f == rgba8 {
		scale = "255"
	}
	write := s.drawing(&look{vertex: wholeTarget, edit: inPass(p, 0, 1, perSample(samples)),
		fragment: `layout(location = 0) out ` + letter + `vec4 c;
			void main() { c = ` + letter + `vec4(vec4(gl_FragCoord.xy - fract(gl_FragCoord.xy), ` + number + `, 7) / ` +
			scale + `); }`})
	load, kind := "subpassLoad(t)", ""
	if samples > 1 {
		kind = "MS"
		load = "subpassLoad(t, 3) * 1000 + subpassLoad(t, 1)"
	}
	read := s.drawing(&look{vertex: wholeTarget, edit: inPass(p, 1, 1, nil), buffers: []any{inputOf(in.view)},
		fragment: `layout(binding = 0, input_attachment_index = 1) uniform ` + letter + `subpassInput` + kind + ` t;
			layout(location = 0) out vec4 c; void main() { c = vec4(` + load + `) * ` + scale + `; }`})
	p.run(vk.SUBPASS_CONTENTS_INLINE, func(cb vk.CommandBuffer) {
		s.drawLook(cb, write)
		s.nextSubpass(cb)
		s.drawLook(cb, read)
	})
	s.pixels(out, 1e-3, func(x, y int) [4]float64 {
		if samples > 1 {
			return [4]float64{float64(x) * 1001, float64(y) * 1001, 3001, 7007}
		}
		return [4]float64{float64(x), float64(y), 0, 7}
	})
}

// inputDepthCase draws depths and stencils, which the next subpass reads as two input attachments.
func inputDepthCase(c *Case, samples uint32) {
	const f = vk.FORMAT_D32_SFLOAT_S8_UINT
	s := c.scene(19, 13, 1, 1, 0, rgba32f)
	defer s.close()
	a := &s.a
	out := s.colors[0]
	both := vk.ImageAspectFlags(vk.IMAGE_ASPECT_DEPTH_BIT | vk.IMAGE_ASPECT_STENCIL_BIT)
	s.depth = s.target(f, both, depthUsage|inputUsage, samples, 1)
	in := s.depth
	in.clear.DepthStencil().Depth, in.clear.DepthStencil().Stencil = 1, 3
	var views [2]vk.ImageView
	aspects := [2]vk.ImageAspectFlags{vk.IMAGE_ASPECT_DEPTH_BIT, vk.IMAGE_ASPECT_STENCIL_BIT}
	for i := range views {
		one := *in
		one.aspects = aspects[i]
		views[i] = s.view(&one, vk.IMAGE_VIEW_TYPE_2D_ARRAY, f)
		defer c.dev.Call("vkDestroyImageView", uintptr(views[i]), 0)
	}
	first, second := in.drawnTo(a), out.drawnTo(a)
	second.PColorAttachments = list(a, referred(1, out.aspects))
	second.InputAttachmentCount = 2
	second.PInputAttachments = list(a, referred(0, aspects[0]), referred(0, aspects[1]))
	p := s.instance([]*attachment{in, out}, []vk.AttachmentDescription2{in.described(samples, vk.ATTACHMENT_LOAD_OP_CLEAR),
		out.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)}, []vk.SubpassDescription2{first, second}, 1, false, reads(0, 1))
	number := "0"
	if samples > 1 {
		number = "gl_SampleID"
	}
	write := s.drawing(&look{vertex: wholeTarget,
		fragment: `void main() {
			if (gl_FragCoord.x < 4) discard;
			gl_FragDepth = (floor(gl_FragCoord.x) + 16 * ` + number + `) / 128;
		}`,
		edit: inPass(p, 0, 0, func(g *vulkan.GraphicsState) {
			perSample(samples)(g)
			depthTest(vk.COMPARE_OP_ALWAYS)(g)
			g.Depth.StencilTestEnable = vk.TRUE
			g.Depth.Front = vk.StencilOpState{PassOp: vk.STENCIL_OP_REPLACE, CompareOp: vk.COMPARE_OP_ALWAYS, WriteMask: 0xff,
				Reference: 0xa5}
			g.Depth.Back = g.Depth.Front
		})})
	kind, which := "", ""
	if samples > 1 {
		kind, which = "MS", ", 2"
	}
	read := s.drawing(&look{vertex: wholeTarget, buffers: []any{inputOf(views[0]), inputOf(views[1])},
		edit: inPass(p, 1, 1, func(g *vulkan.GraphicsState) { g.Info.PDepthStencilState = nil }),
		fragment: `layout(binding = 0, input_attachment_index = 0) uniform subpassInput` + kind + ` d;
			layout(binding = 1, input_attachment_index = 1) uniform usubpassInput` + kind + ` n;
			layout(location = 0) out vec4 c;
			void main() { c = vec4(subpassLoad(d` + which + `).r, subpassLoad(n` + which + `).r, 0, 1); }`})
	p.run(vk.SUBPASS_CONTENTS_INLINE, func(cb vk.CommandBuffer) {
		s.drawLook(cb, write)
		s.nextSubpass(cb)
		s.drawLook(cb, read)
	})
	s.pixels(out, 0, func(x, _ int) [4]float64 {
		if x < 4 {
			return [4]float64{1, 3, 0, 1}
		}
		if samples > 1 {
			return [4]float64{float64(x+32) / 128, 0xa5, 0, 1}
		}
		return [4]float64{float64(x) / 128, 0xa5, 0, 1}
	})
}

// inputViewsCase reads the layer of the view that is drawn.
func inputViewsCase(c *Case) {
	s := c.scene(9, 5, 1, 3, 0, rgba32f)
	defer s.close()
	a := &s.a
	out := s.colors[0]
	in := s.target(rgba32f, out.aspects, colorUsage|inputUsage, 1, 3)
	first, second := in.drawnTo(a), out.drawnTo(a)
	first.ViewMask, second.ViewMask = 5, 5
	second.PColorAttachments = list(a, referred(1, out.aspects))
	second.InputAttachmentCount, second.PInputAttachments = 1, list(a, referred(0, in.aspects))
	s.colors = append(s.colors, in)
	local := reads(0, 1)
	local.DependencyFlags |= vk.DEPENDENCY_VIEW_LOCAL_BIT
	p := s.instance([]*attachment{in, out}, []vk.AttachmentDescription2{in.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR),
		out.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)}, []vk.SubpassDescription2{first, second}, 1, false, local)
	write := s.drawing(&look{vertex: wholeTarget, edit: inPass(p, 0, 1, nil),
		fragment: `layout(location = 0) out vec4 c; void main() { c = vec4(gl_ViewIndex + 1, floor(gl_FragCoord.xy), 1); }`})
	read := s.drawing(&look{vertex: wholeTarget, edit: inPass(p, 1, 1, nil), buffers: []any{inputOf(in.view)},
		fragment: `layout(binding = 0, input_attachment_index = 0) uniform subpassInput t;
			layout(location = 0) out vec4 c; void main() { c = subpassLoad(t) * 2; }`})
	p.run(vk.SUBPASS_CONTENTS_INLINE, func(cb vk.CommandBuffer) {
		s.drawLook(cb, write)
		s.nextSubpass(cb)
		s.drawLook(cb, read)
	})
	for _, view := range []uint32{0, 2} {
		got := s.layerFloats(out, view)
		for i := 0; i < len(got); i += 4 {
			x, y := float32(i/4%9), float32(i/4/9)
			if want := [4]float32{float32(view+1) * 2, x * 2, y * 2, 2}; [4]float32(got[i:]) != want {
				c.Fatalf("view %d: pixel (%v, %v) is %v, want %v", view, x, y, got[i:i+4], want)
			}
		}
	}
}

// feedbackCase has draws read what the draws before them have written to the same attachment, behind barriers.
func feedbackCase(c *Case) {
	s := c.scene(19, 13, 1, 1, 0)
	defer s.close()
	a := &s.a
	color := vk.ImageAspectFlags(vk.IMAGE_ASPECT_COLOR_BIT)
	t := s.target(rgba32f, color, colorUsage|inputUsage, 1, 1)
	s.colors = []*attachment{t}
	only := t.drawnTo(a)
	only.InputAttachmentCount, only.PInputAttachments = 1, list(a, referred(0, color))
	*t.clear.Color().Float32() = [4]float32{1, 2, 3, 4}
	p := s.instance([]*attachment{t}, []vk.AttachmentDescription2{t.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)},
		[]vk.SubpassDescription2{only}, 1, false, reads(0, 0))
	d := s.drawing(&look{vertex: wholeTarget, edit: inPass(p, 0, 1, nil), buffers: []any{inputOf(t.view)},
		fragment: `layout(binding = 0, input_attachment_index = 0) uniform subpassInput t;
			layout(location = 0) out vec4 c; void main() { c = subpassLoad(t) * 2 + vec4(floor(gl_FragCoord.xy), 0, 0); }`})
	b := vulkan.Struct[vk.MemoryBarrier](a)
	b.SrcAccessMask = vk.AccessFlags(vk.ACCESS_COLOR_ATTACHMENT_WRITE_BIT)
	b.DstAccessMask = vk.AccessFlags(vk.ACCESS_INPUT_ATTACHMENT_READ_BIT)
	p.run(vk.SUBPASS_CONTENTS_INLINE, func(cb vk.CommandBuffer) {
		for range 4 {
			c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(vk.PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT),
				uintptr(vk.PIPELINE_STAGE_FRAGMENT_SHADER_BIT), uintptr(vk.DEPENDENCY_BY_REGION_BIT), 1, ptr(b), 0, 0, 0, 0)
			s.drawLook(cb, d)
		}
	})
	s.pixels(t, 0, func(x, y int) [4]float64 {
		return [4]float64{16 + 15*float64(x), 32 + 15*float64(y), 48, 64}
	})
}

// ownStencilCase has draws read the stencil that the draws before them have written, and which they count up
// themselves: fragments write after their shader, unless it asks for early tests ("Early Fragment Tests").
func ownStencilCase(c *Case) {
	const f = vk.FORMAT_D32_SFLOAT_S8_UINT
	s := c.scene(19, 13, 1, 1, 0, rgba32f)
	defer s.close()
	a := &s.a
	out := s.colors[0]
	both := vk.ImageAspectFlags(vk.IMAGE_ASPECT_DEPTH_BIT | vk.IMAGE_ASPECT_STENCIL_BIT)
	s.depth = s.target(f, both, depthUsage|inputUsage, 1, 1)
	in := s.depth
	in.clear.DepthStencil().Depth, in.clear.DepthStencil().Stencil = 1, 3
	one := *in
	one.aspects = vk.ImageAspectFlags(vk.IMAGE_ASPECT_STENCIL_BIT)
	view := s.view(&one, vk.IMAGE_VIEW_TYPE_2D_ARRAY, f)
	defer c.dev.Call("vkDestroyImageView", uintptr(view), 0)
	only := in.drawnTo(a)
	only.ColorAttachmentCount, only.PColorAttachments = 1, list(a, referred(1, out.aspects))
	only.InputAttachmentCount, only.PInputAttachments = 1, list(a, referred(0, one.aspects))
	p := s.instance([]*attachment{in, out}, []vk.AttachmentDescription2{in.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR),
		out.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)}, []vk.SubpassDescription2{only}, 1, false, reads(0, 0))
	d := s.drawing(&look{vertex: wholeTarget, buffers: []any{inputOf(view)},
		edit: inPass(p, 0, 1, func(g *vulkan.GraphicsState) {
			g.Depth.StencilTestEnable = vk.TRUE
			g.Depth.Front = vk.StencilOpState{PassOp: vk.STENCIL_OP_INCREMENT_AND_CLAMP, CompareOp: vk.COMPARE_OP_ALWAYS,
				WriteMask: 0xff}
			g.Depth.Back = g.Depth.Front
		}),
		fragment: `layout(binding = 0, input_attachment_index = 0) uniform usubpassInput n;
			layout(location = 0) out vec4 c; void main() { c = vec4(subpassLoad(n).r, 0, 0, 1); }`})
	b := vulkan.Struct[vk.MemoryBarrier](a)
	b.SrcAccessMask = vk.AccessFlags(vk.ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT | vk.ACCESS_COLOR_ATTACHMENT_WRITE_BIT)
	b.DstAccessMask = vk.AccessFlags(vk.ACCESS_INPUT_ATTACHMENT_READ_BIT)
	from := vk.PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT | vk.PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT
	p.run(vk.SUBPASS_CONTENTS_INLINE, func(cb vk.CommandBuffer) {
		for range 4 {
			c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(from),
				uintptr(vk.PIPELINE_STAGE_FRAGMENT_SHADER_BIT), uintptr(vk.DEPENDENCY_BY_REGION_BIT), 1, ptr(b), 0, 0, 0, 0)
			s.drawLook(cb, d)
		}
	})
	s.pixels(out, 0, func(int, int) [4]float64 { return [4]float64{6, 0, 0, 1} })
}
