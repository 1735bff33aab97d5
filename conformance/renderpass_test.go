package conformance

import (
	"slices"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/texel"
	"farside/internal/vk"
)

// passCase is a row of the table for what render passes do without draws.
func passCase(name string, run func(c *Case), needs ...string) definition {
	d := drawCase("renderpass."+name, run, needs...)
	d.drawless = true
	return d
}

// passCases load, clear and resolve attachments.
func passCases() []definition {
	const color, depth = vk.FORMAT_FEATURE_COLOR_ATTACHMENT_BIT, vk.FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT
	return []definition{
		passCase("load_clear.color_formats", func(c *Case) { clearAttachmentFormats(c, color, false) }),
		passCase("load_clear.depth_formats", func(c *Case) { clearAttachmentFormats(c, depth, false) }),
		passCase("dynamic_rendering.color_formats", func(c *Case) { clearAttachmentFormats(c, color, true) }),
		passCase("dynamic_rendering.depth_formats", func(c *Case) { clearAttachmentFormats(c, depth, true) }),
		passCase("dynamic_rendering.suspend", suspendCase),
		passCase("render_area", func(c *Case) { areaCase(c, false) }),
		passCase("imageless", func(c *Case) { areaCase(c, true) }, "ImagelessFramebuffer"),
		passCase("resolve.samples_4", func(c *Case) { resolvePassCase(c, 4) }),
		passCase("resolve.samples_8", func(c *Case) { resolvePassCase(c, 8) }),
		passCase("depth_stencil_resolve", depthResolveCase),
		passCase("multiview", viewsCase, "Multiview"),
		passCase("subpasses", subpassesCase),
		passCase("clear_attachments", func(c *Case) { clearAttachmentsCase(c, false) }),
		passCase("secondary", func(c *Case) { clearAttachmentsCase(c, true) }),
	}
}

// list puts a list into C's memory.
func list[T any](a *vulkan.Arena, values ...T) *T {
	m := vulkan.Make[T](a, max(len(values), 1))
	copy(m, values)
	return &m[0]
}

// described is the description of an attachment that is cleared or loaded, in the general layout.
func (t *attachment) described(samples uint32, load vk.AttachmentLoadOp) vk.AttachmentDescription2 {
	return vk.AttachmentDescription2{SType: vk.STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2, Format: t.format,
		Samples: vk.SampleCountFlagBits(samples), LoadOp: load, StencilLoadOp: load,
		StoreOp: vk.ATTACHMENT_STORE_OP_STORE, StencilStoreOp: vk.ATTACHMENT_STORE_OP_STORE,
		InitialLayout: vk.IMAGE_LAYOUT_GENERAL, FinalLayout: vk.IMAGE_LAYOUT_GENERAL}
}

func referred(n uint32, aspects vk.ImageAspectFlags) vk.AttachmentReference2 {
	return vk.AttachmentReference2{SType: vk.STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2, Attachment: n,
		Layout: vk.IMAGE_LAYOUT_GENERAL, AspectMask: aspects}
}

// passInstance is a render pass and a framebuffer for it.
type passInstance struct {
	s     *scene
	begin *vk.RenderPassBeginInfo
	pass  vk.RenderPass
}

// instance makes them of targets; those behind the subpasses' attachments are described by the caller.
func (s *scene) instance(targets []*attachment, descriptions []vk.AttachmentDescription2,
	subpasses []vk.SubpassDescription2, layers uint32, imageless bool,
	dependencies ...vk.SubpassDependency2) *passInstance {
	c, a := s.c, &s.a
	info := vulkan.Struct[vk.RenderPassCreateInfo2](a)
	info.AttachmentCount, info.PAttachments = uint32(len(descriptions)), list(a, descriptions...)
	info.SubpassCount, info.PSubpasses = uint32(len(subpasses)), list(a, subpasses...)
	info.DependencyCount, info.PDependencies = uint32(len(dependencies)), list(a, dependencies...)
	p := &passInstance{s: s, begin: vulkan.Struct[vk.RenderPassBeginInfo](a)}
	out := vulkan.New[vk.RenderPass](a)
	c.must("vkCreateRenderPass2", vk.Result(c.dev.Call("vkCreateRenderPass2", ptr(info), 0, ptr(out))))
	p.pass, p.begin.RenderPass = *out, *out
	frame := vulkan.Struct[vk.FramebufferCreateInfo](a)
	frame.RenderPass, frame.Width, frame.Height, frame.Layers = *out, s.width, s.height, layers
	var views []vk.ImageView
	var images []vk.FramebufferAttachmentImageInfo
	var values []vk.ClearValue
	for _, t := range targets {
		views, values = append(views, t.view), append(values, t.clear)
		usage := vk.ImageUsageFlags(vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT)
		if t.aspects != vk.IMAGE_ASPECT_COLOR_BIT {
			usage = vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
		}
		images = append(images, vk.FramebufferAttachmentImageInfo{
			SType: vk.STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENT_IMAGE_INFO, Usage: usage | transferUsage, Width: s.width,
			Height: s.height, LayerCount: t.layers, ViewFormatCount: 1, PViewFormats: list(a, t.format)})
	}
	frame.AttachmentCount, frame.PAttachments = uint32(len(views)), list(a, views...)
	if imageless {
		frame.Flags, frame.PAttachments = vk.FRAMEBUFFER_CREATE_IMAGELESS_BIT, nil
		own := vulkan.Struct[vk.FramebufferAttachmentsCreateInfo](a)
		own.AttachmentImageInfoCount, own.PAttachmentImageInfos = uint32(len(images)), list(a, images...)
		frame.PNext = unsafe.Pointer(own)
		given := vulkan.Struct[vk.RenderPassAttachmentBeginInfo](a)
		given.AttachmentCount, given.PAttachments = uint32(len(views)), list(a, views...)
		p.begin.PNext = unsafe.Pointer(given)
	}
	buffer := vulkan.New[vk.Framebuffer](a)
	c.must("vkCreateFramebuffer", vk.Result(c.dev.Call("vkCreateFramebuffer", ptr(frame), 0, ptr(buffer))))
	p.begin.Framebuffer = *buffer
	p.begin.RenderArea.Extent = vk.Extent2D{Width: s.width, Height: s.height}
	p.begin.ClearValueCount, p.begin.PClearValues = uint32(len(values)), list(a, values...)
	s.free = append(s.free, func() {
		c.dev.Call("vkDestroyFramebuffer", uintptr(*buffer), 0)
		c.dev.Call("vkDestroyRenderPass", uintptr(*out), 0)
	})
	return p
}

// run begins the pass, does what inside records, and ends it.
func (p *passInstance) run(contents vk.SubpassContents, inside func(cb vk.CommandBuffer)) {
	s, dev := p.s, p.s.c.dev
	s.begin(s.cb, 0)
	for _, t := range slices.Concat(s.colors, []*attachment{s.depth, s.resolve}) {
		if t != nil {
			s.transition(t.image, t.aspects)
		}
	}
	s.everything(s.cb)
	begin := vulkan.Struct[vk.SubpassBeginInfo](&s.a)
	begin.Contents = contents
	dev.CallOn("vkCmdBeginRenderPass2", uintptr(s.cb), ptr(p.begin), ptr(begin))
	inside(s.cb)
	dev.CallOn("vkCmdEndRenderPass2", uintptr(s.cb), ptr(vulkan.Struct[vk.SubpassEndInfo](&s.a)))
	s.everything(s.cb)
	s.end(s.cb)
	s.submit(s.cb)
}

func nothing(vk.CommandBuffer) {}

// drawnTo is a subpass that draws to attachment 0.
func (t *attachment) drawnTo(a *vulkan.Arena) vk.SubpassDescription2 {
	s := vk.SubpassDescription2{SType: vk.STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2}
	if t.aspects == vk.IMAGE_ASPECT_COLOR_BIT {
		s.ColorAttachmentCount, s.PColorAttachments = 1, list(a, referred(0, t.aspects))
	} else {
		s.PDepthStencilAttachment = list(a, referred(0, t.aspects))
	}
	return s
}

// value sets what a target is cleared to, and returns what each of its aspects holds then.
func (t *attachment) value() map[vk.ImageAspectFlags][]byte {
	want := map[vk.ImageAspectFlags][]byte{}
	for _, aspect := range []vk.ImageAspectFlags{vk.IMAGE_ASPECT_COLOR_BIT, vk.IMAGE_ASPECT_DEPTH_BIT,
		vk.IMAGE_ASPECT_STENCIL_BIT} {
		codec, ok := texel.CodecOf(t.format, aspect)
		if !ok {
			continue
		}
		b := make([]byte, codec.Size())
		switch {
		case aspect == vk.IMAGE_ASPECT_STENCIL_BIT:
			t.clear.DepthStencil().Stencil = 0x5a
			b[0] = 0x5a
		case aspect == vk.IMAGE_ASPECT_DEPTH_BIT:
			t.clear.DepthStencil().Depth = 1
			codec.EncodeFloat(b, [][4]float64{{1}})
		case codec.Class() == texel.Float:
			*t.clear.Color().Float32() = [4]float32{1, 0, 1, 1}
			codec.EncodeFloat(b, [][4]float64{{1, 0, 1, 1}})
		case codec.Class() == texel.Uint:
			*t.clear.Color().Uint32() = [4]uint32{1, 2, 3, 1}
			codec.EncodeUint(b, [][4]uint64{{1, 2, 3, 1}})
		default:
			*t.clear.Color().Int32() = [4]int32{1, -2, 3, -1}
			codec.EncodeSint(b, [][4]int64{{1, -2, 3, -1}})
		}
		want[aspect] = b
	}
	return want
}

// holds compares all texels of a layer with one, or outside of an area with another one.
func (s *scene) holds(what string, t *attachment, layer uint32, area vk.Rect2D,
	inside, outside map[vk.ImageAspectFlags][]byte) {
	for aspect, want := range inside {
		size := len(want)
		if aspect == vk.IMAGE_ASPECT_DEPTH_BIT && size == 4 && t.format != vk.FORMAT_D32_SFLOAT &&
			t.format != vk.FORMAT_D32_SFLOAT_S8_UINT {
			want = want[:3] // what is above the 24 bits means nothing
		}
		got := s.read(t, aspect, layer, size)
		for y := range int(s.height) {
			for x := range int(s.width) {
				w := want
				if x < int(area.Offset.X) || y < int(area.Offset.Y) || x >= int(area.Offset.X)+int(area.Extent.Width) ||
					y >= int(area.Offset.Y)+int(area.Extent.Height) {
					w = outside[aspect][:len(want)]
				}
				if g := got[(y*int(s.width)+x)*size:][:len(w)]; !slices.Equal(g, w) {
					s.c.Errorf("%s: %v, layer %d, texel %d, %d is %x, want %x", what, aspect, layer, x, y, g, w)
					return
				}
			}
		}
	}
}

func (s *scene) whole() vk.Rect2D {
	return vk.Rect2D{Extent: vk.Extent2D{Width: s.width, Height: s.height}}
}

// newFormats is the first format that the validation layer of 1.3.239 does not know.
const newFormats = 1000460000

// clearAttachmentFormats clears an attachment of each format that the device has for them.
func clearAttachmentFormats(c *Case, feature vk.FormatFeatureFlags, dynamic bool) {
	tried := 0
	for _, f := range vk.AllFormats {
		t, ok := texel.FormatOf(f)
		if !ok || t.Chroma || f == vk.FORMAT_E5B9G9R9_UFLOAT_PACK32 || f >= newFormats {
			continue
		}
		if codec, ok := texel.CodecOf(f, t.Planes[0].Aspect); !ok || codec.Wide() {
			continue
		}
		p := vulkan.New[vk.FormatProperties](&c.a)
		c.inst.Call("vkGetPhysicalDeviceFormatProperties", uintptr(c.pd), uintptr(f), ptr(p))
		if p.OptimalTilingFeatures&feature == 0 {
			continue
		}
		tried++
		clearFormat(c, f, feature == vk.FORMAT_FEATURE_COLOR_ATTACHMENT_BIT, dynamic)
	}
	if tried == 0 {
		c.Errorf("there is no format of attachments")
	}
}

func clearFormat(c *Case, f vk.Format, color, dynamic bool) {
	var s *scene
	if color {
		s = c.scene(11, 7, 1, 1, 0, f)
	} else {
		s = c.scene(11, 7, 1, 1, f)
	}
	defer s.close()
	t := s.depth
	if color {
		t = s.colors[0]
	}
	want := t.value()
	if dynamic {
		s.render(nil, vk.ATTACHMENT_LOAD_OP_CLEAR)
	} else {
		s.instance([]*attachment{t}, []vk.AttachmentDescription2{t.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)},
			[]vk.SubpassDescription2{t.drawnTo(&s.a)}, 1, false).run(vk.SUBPASS_CONTENTS_INLINE, nothing)
	}
	s.holds(f.String(), t, 0, s.whole(), want, nil)
}

// suspendCase clears in a rendering that is suspended, and goes on with another command buffer.
func suspendCase(c *Case) {
	s := c.scene(9, 5, 1, 1, 0, rgba8)
	defer s.close()
	t := s.colors[0]
	want := t.value()
	a := vulkan.Attachment(t.view)
	a.LoadOp, a.ClearValue = vk.ATTACHMENT_LOAD_OP_CLEAR, t.clear
	second := c.commandBuffers(s.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 1)[0]
	rendering := vulkan.Rendering{Area: s.whole(), Layers: 1, Colors: []vk.RenderingAttachmentInfo{a},
		Flags: vk.RENDERING_SUSPENDING_BIT}
	s.begin(s.cb, 0)
	s.transition(t.image, t.aspects)
	s.everything(s.cb)
	c.dev.Render(s.cb, rendering, func() {})
	s.c.must("vkEndCommandBuffer", vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(s.cb))))
	rendering.Flags = vk.RENDERING_RESUMING_BIT
	s.begin(second, 0)
	c.dev.Render(second, rendering, func() {})
	s.everything(second)
	s.end(second)
	s.submit(s.cb, second)
	s.holds("a suspended rendering", t, 0, s.whole(), want, nil)
}

// areaCase clears a part of two of three layers.
func areaCase(c *Case, imageless bool) {
	s := c.scene(13, 9, 1, 3, 0, rgba8)
	defer s.close()
	t := s.colors[0]
	outside := map[vk.ImageAspectFlags][]byte{t.aspects: {0, 0xff, 0, 0}}
	one := []vk.SubpassDescription2{t.drawnTo(&s.a)}
	clear := []vk.AttachmentDescription2{t.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)}
	*t.clear.Color().Float32() = [4]float32{0, 1, 0, 0}
	s.instance([]*attachment{t}, clear, one, 3, false).run(vk.SUBPASS_CONTENTS_INLINE, nothing)
	want := t.value()
	p := s.instance([]*attachment{t}, clear, one, 2, imageless)
	p.begin.RenderArea = vk.Rect2D{Offset: vk.Offset2D{X: 3, Y: 2}, Extent: vk.Extent2D{Width: 5, Height: 4}}
	s.colors = nil // keep what it holds
	p.run(vk.SUBPASS_CONTENTS_INLINE, nothing)
	for layer := range uint32(2) {
		s.holds("cleared", t, layer, p.begin.RenderArea, want, outside)
	}
	s.holds("another layer", t, 2, vk.Rect2D{}, want, outside)
}

// resolvePassCase resolves what is cleared, in a part of it.
func resolvePassCase(c *Case, samples uint32) {
	s := c.scene(13, 9, samples, 1, 0, rgba8)
	defer s.close()
	t := s.colors[0]
	want := t.value()
	outside := map[vk.ImageAspectFlags][]byte{t.aspects: {0, 0, 0, 0xff}}
	s.resolve.clear.Color().Float32()[3] = 1
	both := []*attachment{t, s.resolve}
	descriptions := []vk.AttachmentDescription2{t.described(samples, vk.ATTACHMENT_LOAD_OP_CLEAR),
		s.resolve.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)}
	first := s.resolve.drawnTo(&s.a)
	s.instance(both[1:], descriptions[1:], []vk.SubpassDescription2{first}, 1, false).
		run(vk.SUBPASS_CONTENTS_INLINE, nothing)
	descriptions[1].LoadOp = vk.ATTACHMENT_LOAD_OP_LOAD
	sub := t.drawnTo(&s.a)
	sub.PResolveAttachments = list(&s.a, referred(1, t.aspects))
	p := s.instance(both, descriptions, []vk.SubpassDescription2{sub}, 1, false)
	p.begin.RenderArea = vk.Rect2D{Offset: vk.Offset2D{X: 1, Y: 3}, Extent: vk.Extent2D{Width: 7, Height: 5}}
	to := s.resolve
	s.resolve = nil
	p.run(vk.SUBPASS_CONTENTS_INLINE, nothing)
	s.holds("resolved", to, 0, p.begin.RenderArea, want, outside)
}

// depthResolveCase resolves depths and stencils.
func depthResolveCase(c *Case) {
	const format = vk.FORMAT_D32_SFLOAT_S8_UINT
	s := c.scene(13, 9, 4, 1, format)
	defer s.close()
	to := s.target(format, s.depth.aspects, vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, 1, 1)
	want := s.depth.value()
	sub := s.depth.drawnTo(&s.a)
	resolve := vulkan.Struct[vk.SubpassDescriptionDepthStencilResolve](&s.a)
	resolve.DepthResolveMode, resolve.StencilResolveMode = vk.RESOLVE_MODE_SAMPLE_ZERO_BIT, vk.RESOLVE_MODE_SAMPLE_ZERO_BIT
	resolve.PDepthStencilResolveAttachment = list(&s.a, referred(1, to.aspects))
	sub.PNext = unsafe.Pointer(resolve)
	s.colors = []*attachment{to}
	s.instance([]*attachment{s.depth, to}, []vk.AttachmentDescription2{
		s.depth.described(4, vk.ATTACHMENT_LOAD_OP_CLEAR), to.described(1, vk.ATTACHMENT_LOAD_OP_DONT_CARE)},
		[]vk.SubpassDescription2{sub}, 1, false).run(vk.SUBPASS_CONTENTS_INLINE, nothing)
	s.holds("resolved", to, 0, s.whole(), want, nil)
}

// viewsCase clears the views of a mask.
func viewsCase(c *Case) {
	s := c.scene(9, 5, 1, 3, 0, rgba8)
	defer s.close()
	t := s.colors[0]
	outside := map[vk.ImageAspectFlags][]byte{t.aspects: {0, 0, 0, 0}}
	one := t.drawnTo(&s.a)
	clear := []vk.AttachmentDescription2{t.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)}
	s.instance([]*attachment{t}, clear, []vk.SubpassDescription2{one}, 3, false).run(vk.SUBPASS_CONTENTS_INLINE, nothing)
	want := t.value()
	one.ViewMask = 5
	p := s.instance([]*attachment{t}, clear, []vk.SubpassDescription2{one}, 1, false)
	s.colors = nil
	p.run(vk.SUBPASS_CONTENTS_INLINE, nothing)
	for layer, area := range []vk.Rect2D{s.whole(), {}, s.whole()} {
		s.holds("views 0 and 2", t, uint32(layer), area, want, outside)
	}
}

// subpassesCase clears attachments in the subpasses that use them first.
func subpassesCase(c *Case) {
	s := c.scene(9, 5, 1, 1, vk.FORMAT_D16_UNORM, rgba8, vk.FORMAT_R32_UINT)
	defer s.close()
	targets := []*attachment{s.colors[0], s.colors[1], s.depth}
	var descriptions []vk.AttachmentDescription2
	var want []map[vk.ImageAspectFlags][]byte
	for _, t := range targets {
		want = append(want, t.value())
		descriptions = append(descriptions, t.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR))
	}
	first, second := s.colors[0].drawnTo(&s.a), s.colors[1].drawnTo(&s.a)
	second.PColorAttachments = list(&s.a, referred(1, s.colors[1].aspects))
	second.PDepthStencilAttachment = list(&s.a, referred(2, s.depth.aspects))
	first.PreserveAttachmentCount, first.PPreserveAttachments = 1, list[uint32](&s.a, 1)
	s.instance(targets, descriptions, []vk.SubpassDescription2{first, second}, 1, false).
		run(vk.SUBPASS_CONTENTS_INLINE, func(cb vk.CommandBuffer) {
			c.dev.CallOn("vkCmdNextSubpass2", uintptr(cb), ptr(vulkan.Struct[vk.SubpassBeginInfo](&s.a)),
				ptr(vulkan.Struct[vk.SubpassEndInfo](&s.a)))
		})
	for i, t := range targets {
		s.holds(t.format.String(), t, 0, s.whole(), want[i], nil)
	}
}

// clearAttachmentsCase clears a rectangle of colours, depths and stencils inside of a pass.
func clearAttachmentsCase(c *Case, secondary bool) {
	s := c.scene(13, 9, 1, 1, vk.FORMAT_D32_SFLOAT_S8_UINT, rgba8)
	defer s.close()
	targets := []*attachment{s.colors[0], s.depth}
	descriptions := []vk.AttachmentDescription2{s.colors[0].described(1, vk.ATTACHMENT_LOAD_OP_CLEAR),
		s.depth.described(1, vk.ATTACHMENT_LOAD_OP_CLEAR)}
	sub := s.colors[0].drawnTo(&s.a)
	sub.PDepthStencilAttachment = list(&s.a, referred(1, s.depth.aspects))
	p := s.instance(targets, descriptions, []vk.SubpassDescription2{sub}, 1, false)
	outside := []map[vk.ImageAspectFlags][]byte{{vk.IMAGE_ASPECT_COLOR_BIT: make([]byte, 4)},
		{vk.IMAGE_ASPECT_DEPTH_BIT: make([]byte, 4), vk.IMAGE_ASPECT_STENCIL_BIT: make([]byte, 1)}}
	var attachments []vk.ClearAttachment
	var want []map[vk.ImageAspectFlags][]byte
	for _, t := range targets {
		want = append(want, t.value())
		attachments = append(attachments, vk.ClearAttachment{AspectMask: t.aspects, ClearValue: t.clear})
	}
	rect := vk.Rect2D{Offset: vk.Offset2D{X: 4, Y: 1}, Extent: vk.Extent2D{Width: 6, Height: 7}}
	record := func(cb vk.CommandBuffer) {
		c.dev.CallOn("vkCmdClearAttachments", uintptr(cb), 2, ptr(list(&s.a, attachments...)), 1,
			ptr(list(&s.a, vk.ClearRect{Rect: rect, LayerCount: 1})))
	}
	if !secondary {
		p.run(vk.SUBPASS_CONTENTS_INLINE, record)
	} else {
		inner := c.commandBuffers(s.pool, vk.COMMAND_BUFFER_LEVEL_SECONDARY, 1)[0]
		info := vulkan.Struct[vk.CommandBufferBeginInfo](&s.a)
		inherit := vulkan.Struct[vk.CommandBufferInheritanceInfo](&s.a)
		inherit.RenderPass, inherit.Framebuffer = p.pass, p.begin.Framebuffer
		info.Flags, info.PInheritanceInfo = vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT, inherit
		c.must("vkBeginCommandBuffer", vk.Result(c.dev.CallOn("vkBeginCommandBuffer", uintptr(inner), ptr(info))))
		record(inner)
		c.must("vkEndCommandBuffer", vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(inner))))
		p.run(vk.SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS, func(cb vk.CommandBuffer) {
			c.dev.CallOn("vkCmdExecuteCommands", uintptr(cb), 1, ptr(list(&s.a, inner)))
		})
	}
	for i, t := range targets {
		s.holds("cleared", t, 0, rect, want[i], outside[i])
	}
}
