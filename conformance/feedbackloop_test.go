package conformance

import (
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const loopLayout = vk.IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT

// loopCases have draws sample the attachments to which they draw.
func loopCases() []definition {
	const layout, state = "AttachmentFeedbackLoopLayout", "AttachmentFeedbackLoopDynamicState"
	dynamic := drawCase("renderpass.feedback_loop.dynamic_state", func(c *Case) { colorLoopCase(c, true) }, layout, state)
	dynamic.valid = false // the oldest layers don't know the extension
	return []definition{
		drawCase("renderpass.feedback_loop.color", func(c *Case) { colorLoopCase(c, false) }, layout),
		drawCase("renderpass.feedback_loop.depth", depthLoopCase, layout),
		dynamic,
	}
}

// loopOf is the descriptor of an attachment that is sampled.
func loopOf(v vk.ImageView) described {
	return described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE,
		Image: vk.DescriptorImageInfo{ImageView: v, ImageLayout: loopLayout}}}
}

// loops is the dependency of a subpass whose draws sample what others, or the pass' clears, have written. What has been
// sampled may be written and stored behind it.
func loops() vk.SubpassDependency2 {
	d := reads(0, 0)
	d.DependencyFlags |= vk.DEPENDENCY_FEEDBACK_LOOP_BIT_EXT
	d.SrcStageMask |= vk.PipelineStageFlags(vk.PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT |
		vk.PIPELINE_STAGE_FRAGMENT_SHADER_BIT)
	d.DstStageMask |= vk.PipelineStageFlags(vk.PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT)
	d.DstAccessMask = vk.AccessFlags(vk.ACCESS_SHADER_READ_BIT)
	return d
}

// loopBarrier records such a barrier inside of a render pass.
func (s *scene) loopBarrier(cb vk.CommandBuffer) {
	d := loops()
	b := vulkan.Struct[vk.MemoryBarrier](&s.a)
	b.SrcAccessMask, b.DstAccessMask = d.SrcAccessMask, d.DstAccessMask
	s.c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(d.SrcStageMask), uintptr(d.DstStageMask),
		uintptr(d.DependencyFlags), 1, ptr(b), 0, 0, 0, 0)
}

// colorLoopCase has draws sample the colours that the draws before them have written at their own pixel.
func colorLoopCase(c *Case, dynamic bool) {
	s := c.scene(19, 13, 1, 1, 0)
	defer s.close()
	a := &s.a
	color := vk.ImageAspectFlags(vk.IMAGE_ASPECT_COLOR_BIT)
	t := s.target(rgba32f, color, colorUsage|vk.IMAGE_USAGE_SAMPLED_BIT|vk.IMAGE_USAGE_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT,
		1, 1)
	s.colors = []*attachment{t}
	ref := referred(0, color)
	ref.Layout = loopLayout
	only := t.drawnTo(a)
	only.PColorAttachments = list(a, ref)
	*t.clear.Color().Float32() = [4]float32{1, 2, 3, 4}
	p := s.instance([]*attachment{t}, []vk.AttachmentDescription2{t.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)},
		[]vk.SubpassDescription2{only}, 1, false, loops())
	d := s.drawing(&look{vertex: wholeTarget, buffers: []any{loopOf(t.view)},
		edit: inPass(p, 0, 1, func(g *vulkan.GraphicsState) {
			if dynamic {
				g.Vary(vk.DYNAMIC_STATE_ATTACHMENT_FEEDBACK_LOOP_ENABLE_EXT)
			} else {
				g.Info.Flags |= vk.PIPELINE_CREATE_COLOR_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT
			}
		}),
		fragment: `#extension GL_EXT_samplerless_texture_functions : require
			layout(binding = 0) uniform texture2DArray t;
			layout(location = 0) out vec4 c;
			void main() {
				c = texelFetch(t, ivec3(gl_FragCoord.xy, 0), 0) * 2 + vec4(floor(gl_FragCoord.xy), 0, 0);
			}`})
	p.run(vk.SUBPASS_CONTENTS_INLINE, func(cb vk.CommandBuffer) {
		if dynamic {
			c.dev.CallOn("vkCmdSetAttachmentFeedbackLoopEnableEXT", uintptr(cb), uintptr(color))
		}
		for range 4 {
			s.loopBarrier(cb)
			s.drawLook(cb, d)
		}
	})
	s.pixels(t, 0, func(x, y int) [4]float64 {
		return [4]float64{16 + 15*float64(x), 32 + 15*float64(y), 48, 64}
	})
}

// depthLoopCase has draws sample the depths that the draws before them have written at their own pixel.
func depthLoopCase(c *Case) {
	const f = vk.FORMAT_D32_SFLOAT
	s := c.scene(19, 13, 1, 1, 0, rgba32f)
	defer s.close()
	a := &s.a
	out := s.colors[0]
	s.depth = s.target(f, vk.ImageAspectFlags(vk.IMAGE_ASPECT_DEPTH_BIT),
		depthUsage|vk.IMAGE_USAGE_SAMPLED_BIT|vk.IMAGE_USAGE_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT, 1, 1)
	in := s.depth
	in.clear.DepthStencil().Depth = 0.5
	ref := referred(0, in.aspects)
	ref.Layout = loopLayout
	only := in.drawnTo(a)
	only.PDepthStencilAttachment = list(a, ref)
	only.ColorAttachmentCount, only.PColorAttachments = 1, list(a, referred(1, out.aspects))
	p := s.instance([]*attachment{in, out}, []vk.AttachmentDescription2{in.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR),
		out.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)}, []vk.SubpassDescription2{only}, 1, false, loops())
	d := s.drawing(&look{vertex: wholeTarget, buffers: []any{loopOf(in.view)},
		edit: inPass(p, 0, 1, func(g *vulkan.GraphicsState) {
			depthTest(vk.COMPARE_OP_ALWAYS)(g)
			g.Info.Flags |= vk.PIPELINE_CREATE_DEPTH_STENCIL_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT
		}),
		fragment: `#extension GL_EXT_samplerless_texture_functions : require
			layout(binding = 0) uniform texture2DArray t;
			layout(location = 0) out vec4 c;
			void main() {
				float z = texelFetch(t, ivec3(gl_FragCoord.xy, 0), 0).r;
				gl_FragDepth = z / 2;
				c = vec4(z, gl_FragCoord.x - 0.5, 0, 1);
			}`})
	p.run(vk.SUBPASS_CONTENTS_INLINE, func(cb vk.CommandBuffer) {
		for range 4 {
			s.loopBarrier(cb)
			s.drawLook(cb, d)
		}
		s.loopBarrier(cb)
	})
	s.pixels(out, 0, func(x, _ int) [4]float64 { return [4]float64{0.0625, float64(x), 0, 1} })
}
