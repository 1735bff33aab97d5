package conformance

import (
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// localReadCases read what earlier draws of a dynamic rendering have written to its attachments.
func localReadCases() (list []definition) {
	for _, d := range []definition{
		drawCase("draw.local_read.color", func(c *Case) { localReadCase(c, 1) }, "DynamicRenderingLocalRead"),
		drawCase("draw.local_read.color_samples_4", func(c *Case) { localReadCase(c, 4) }, "DynamicRenderingLocalRead",
			"SampleRateShading"),
		drawCase("draw.local_read.depth", localDepthCase, "DynamicRenderingLocalRead"),
		drawCase("draw.local_read.locations", localLocationsCase, "DynamicRenderingLocalRead"),
	} {
		d.valid = false // the oldest layers don't know the extension
		list = append(list, d)
	}
	return list
}

// byRegion is a barrier inside of a rendering, after which shaders read the attachments that others have written.
func (s *scene) byRegion() {
	b := vulkan.Struct[vk.MemoryBarrier](&s.a)
	b.SrcAccessMask = vk.AccessFlags(vk.ACCESS_COLOR_ATTACHMENT_WRITE_BIT | vk.ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT)
	b.DstAccessMask = vk.AccessFlags(vk.ACCESS_INPUT_ATTACHMENT_READ_BIT)
	s.set("vkCmdPipelineBarrier", uintptr(vk.PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT|
		vk.PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT|vk.PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT),
		uintptr(vk.PIPELINE_STAGE_FRAGMENT_SHADER_BIT), uintptr(vk.DEPENDENCY_BY_REGION_BIT), 1, ptr(b), 0, 0, 0, 0)
}

// locations says which outputs the attachments get.
func (s *scene) locations(list ...uint32) *vk.RenderingAttachmentLocationInfo {
	i := vulkan.Struct[vk.RenderingAttachmentLocationInfo](&s.a)
	l := vulkan.Make[uint32](&s.a, len(list))
	copy(l, list)
	i.ColorAttachmentCount, i.PColorAttachmentLocations = uint32(len(l)), &l[0]
	return i
}

// inputs says which input attachments the colour attachments are; depth is one, too, unless it is negative.
func (s *scene) inputs(depth int, list ...uint32) *vk.RenderingInputAttachmentIndexInfo {
	i := vulkan.Struct[vk.RenderingInputAttachmentIndexInfo](&s.a)
	l := vulkan.Make[uint32](&s.a, len(list))
	copy(l, list)
	i.ColorAttachmentCount, i.PColorAttachmentInputIndices = uint32(len(l)), &l[0]
	none := vulkan.Put(&s.a, uint32(vk.ATTACHMENT_UNUSED))
	if i.PDepthInputAttachmentIndex, i.PStencilInputAttachmentIndex = none, none; depth >= 0 {
		i.PDepthInputAttachmentIndex = vulkan.Put(&s.a, uint32(depth))
	}
	return i
}

// mapped is a pipeline with what both say. perSample's state comes first.
func (s *scene) mapped(samples uint32, l *vk.RenderingAttachmentLocationInfo, i *vk.RenderingInputAttachmentIndexInfo,
) func(g *vulkan.GraphicsState) {
	return func(g *vulkan.GraphicsState) {
		perSample(samples)(g)
		for n, at := range vk.Slice(l.PColorAttachmentLocations, l.ColorAttachmentCount) {
			if at == vk.ATTACHMENT_UNUSED {
				g.Attachments[n].ColorWriteMask = 0
			}
		}
		own, inputs := vulkan.Put(&s.a, *l), vulkan.Put(&s.a, *i)
		vulkan.Behind(unsafe.Pointer(g.Info), unsafe.Pointer(own))
		vulkan.Behind(unsafe.Pointer(g.Info), unsafe.Pointer(inputs))
	}
}

// maps records what both say.
func (s *scene) maps(l *vk.RenderingAttachmentLocationInfo, i *vk.RenderingInputAttachmentIndexInfo) {
	s.set("vkCmdSetRenderingAttachmentLocationsKHR", ptr(l))
	s.set("vkCmdSetRenderingInputAttachmentIndicesKHR", ptr(i))
}

// rendered records draws in a rendering of the scene's attachments, which it clears.
func (s *scene) rendered(draw func()) {
	s.begin(s.cb, 0)
	r := vulkan.Rendering{Area: vk.Rect2D{Extent: vk.Extent2D{Width: s.width, Height: s.height}}, Layers: 1}
	attach := func(t *attachment) vk.RenderingAttachmentInfo {
		s.transition(t.image, t.aspects)
		a := vulkan.Attachment(t.view)
		a.LoadOp, a.ClearValue = vk.ATTACHMENT_LOAD_OP_CLEAR, t.clear
		return a
	}
	for _, t := range s.colors {
		r.Colors = append(r.Colors, attach(t))
	}
	if s.depth != nil {
		a := attach(s.depth)
		r.Depth = &a
	}
	if s.resolve != nil {
		s.transition(s.resolve.image, s.resolve.aspects)
		r.Colors[0].ResolveMode, r.Colors[0].ResolveImageView = vk.RESOLVE_MODE_AVERAGE_BIT, s.resolve.view
		r.Colors[0].ResolveImageLayout = vk.IMAGE_LAYOUT_GENERAL
	}
	s.everything(s.cb)
	s.c.dev.Render(s.cb, r, draw)
	s.everything(s.cb)
	s.end(s.cb)
	s.submit(s.cb)
}

// localReadCase draws to the second attachment; the next draw reads it and draws to the first.
func localReadCase(c *Case, samples uint32) {
	s := c.scene(19, 13, samples, 1, 0, rgba32f)
	defer s.close()
	in := s.target(rgba32f, s.colors[0].aspects, colorUsage|inputUsage, samples, 1)
	s.colors = append(s.colors, in)
	number, kind, load := "0", "", "subpassLoad(t)"
	if samples > 1 {
		number, kind, load = "gl_SampleID", "MS", "subpassLoad(t, 3) * 1000 + subpassLoad(t, 1)"
	}
	toSecond, toFirst := s.locations(vk.ATTACHMENT_UNUSED, 0), s.locations(0, vk.ATTACHMENT_UNUSED)
	indices := s.inputs(-1, vk.ATTACHMENT_UNUSED, 3)
	write := s.drawing(&look{vertex: wholeTarget, edit: s.mapped(samples, toSecond, indices),
		fragment: `layout(location = 0) out vec4 c;
			void main() { c = vec4(gl_FragCoord.xy - fract(gl_FragCoord.xy), ` + number + `, 7); }`})
	read := s.drawing(&look{vertex: wholeTarget, edit: s.mapped(samples, toFirst, indices),
		buffers: []any{inputOf(in.view)},
		fragment: `layout(binding = 0, input_attachment_index = 3) uniform subpassInput` + kind + ` t;
			layout(location = 0) out vec4 c; void main() { c = ` + load + `; }`})
	s.rendered(func() {
		s.maps(toSecond, indices)
		s.drawLook(s.cb, write)
		s.byRegion()
		s.maps(toFirst, indices)
		s.drawLook(s.cb, read)
	})
	if samples > 1 {
		s.pixels(s.resolve, 1e-3, func(x, y int) [4]float64 {
			return [4]float64{float64(x) * 1001, float64(y) * 1001, 3001, 7007}
		})
		return
	}
	s.pixels(s.colors[0], 1e-3, func(x, y int) [4]float64 { return [4]float64{float64(x), float64(y), 0, 7} })
	s.pixels(in, 1e-3, func(x, y int) [4]float64 { return [4]float64{float64(x), float64(y), 0, 7} })
}

// localDepthCase reads the depths of an earlier draw.
func localDepthCase(c *Case) {
	s := c.scene(19, 13, 1, 1, 0, rgba32f)
	defer s.close()
	depth := vk.ImageAspectFlags(vk.IMAGE_ASPECT_DEPTH_BIT)
	s.depth = s.target(vk.FORMAT_D32_SFLOAT, depth, depthUsage|inputUsage, 1, 1)
	same, indices := s.locations(0), s.inputs(1, vk.ATTACHMENT_UNUSED)
	write := s.drawing(&look{vertex: wholeTarget, edit: func(g *vulkan.GraphicsState) {
		s.mapped(1, same, indices)(g)
		depthTest(vk.COMPARE_OP_ALWAYS)(g)
	}, fragment: `layout(location = 0) out vec4 c; void main() { gl_FragDepth = gl_FragCoord.x / 32; c = vec4(9); }`})
	read := s.drawing(&look{vertex: wholeTarget, edit: s.mapped(1, same, indices), buffers: []any{inputOf(s.depth.view)},
		fragment: `layout(binding = 0, input_attachment_index = 1) uniform subpassInput t;
			layout(location = 0) out vec4 c; void main() { c = vec4(subpassLoad(t).x * 32); }`})
	s.rendered(func() {
		s.maps(same, indices)
		s.drawLook(s.cb, write)
		s.byRegion()
		s.drawLook(s.cb, read)
	})
	s.pixels(s.colors[0], 1e-3, func(x, _ int) [4]float64 {
		v := float64(x) + 0.5
		return [4]float64{v, v, v, v}
	})
}

// localLocationsCase gives three attachments two outputs, the other way round.
func localLocationsCase(c *Case) {
	s := c.scene(8, 4, 1, 1, 0, rgba32f, rgba32f, rgba32f)
	defer s.close()
	l, none := s.locations(5, vk.ATTACHMENT_UNUSED, 1), s.inputs(-1, 0, 1, 2)
	d := s.drawing(&look{vertex: wholeTarget, edit: func(g *vulkan.GraphicsState) { s.mapped(1, l, none)(g) },
		fragment: `layout(location = 1) out vec4 a; layout(location = 5) out vec4 b;
			void main() { a = vec4(1); b = vec4(5); }`})
	s.rendered(func() {
		s.maps(l, none)
		s.drawLook(s.cb, d)
	})
	for i, want := range []float64{5, 0, 1} {
		s.pixels(s.colors[i], 0, all(want))
	}
}
