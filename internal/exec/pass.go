package exec

import (
	"math/bits"

	"farside/internal/command"
	"farside/internal/draw"
	"farside/internal/pass"
	"farside/internal/texel"
	"farside/internal/vk"
)

// Render passes. An instance looks up its views at its begin. The cache keeps their payloads to the end of the command
// buffer, and a pass doesn't reach beyond that: one that is suspended is begun anew where it is resumed.

// AttachmentView is a VkImageView as a render pass sees it.
type AttachmentView struct {
	Image  vk.Image
	Format vk.Format
	Aspect vk.ImageAspectFlags // of a multi-planar image the plane
	Level  uint32
	Layer  uint32
	Layers uint32
}

// Framebuffer is a VkFramebuffer.
type Framebuffer struct {
	Pass   *pass.RenderPass // that it goes with
	Views  []vk.ImageView   // none of one without images
	Extent vk.Extent2D
	Layers uint32
	// Imageless framebuffers get their views when a render pass begins; so many.
	Imageless bool
	Count     uint32
}

// passes are what a replay has for render passes.
type passes struct {
	instance pass.Instance
	dynamic  bool // the instance is a dynamic rendering
	flags    vk.RenderingFlags
	// framebuffer is that of an instance that is no dynamic rendering.
	framebuffer vk.Framebuffer
	contents    vk.SubpassContents // of its current subpass
	// What a begin makes is kept for the next one.
	views  []draw.Target
	form   pass.RenderPass
	clears []vk.ClearValue
	loops  bool       // draws may sample the instance's attachments
	images []vk.Image // of the views, for Device.Watch
	drawn  bool       // Watch has been told of an access to them, whose end it is to be told of
	// locations is room for those of the instance's colour attachments.
	locations [MaxColors]uint32
	// inputs are the numbers of the input attachments that the attachments are, as in command.SetInputs; none: those of
	// the same numbers for colours, and none for depths and stencils.
	inputs []uint32
}

// setLocations says which outputs of fragment shaders the colour attachments get until the rendering ends.
func (r *replay) setLocations(list []uint32) error {
	switch {
	case r.pass == nil || !r.passes.dynamic:
		return invalid(vk.VUID_vkCmdSetRenderingAttachmentLocations_renderpass, "no dynamic rendering is under way")
	case len(list) != len(r.pass.Colors):
		return invalid(vk.VUID_vkCmdSetRenderingAttachmentLocations_pLocationInfo_09510,
			"%d locations for %d colour attachments", len(list), len(r.pass.Colors))
	}
	r.pass.ColorLocations = r.passes.locations[:copy(r.passes.locations[:], list)]
	r.graphics.changed = true
	return nil
}

// setInputs says which input attachments the attachments are until the rendering ends. Draws don't go by it.
func (r *replay) setInputs(list []uint32) {
	switch {
	case r.pass == nil || !r.passes.dynamic:
		r.told(vk.VUID_vkCmdSetRenderingInputAttachmentIndices_renderpass, "ignored: no dynamic rendering is under way")
	case len(list)-2 != len(r.pass.Colors):
		r.told(vk.VUID_vkCmdSetRenderingInputAttachmentIndices_pInputAttachmentIndexInfo_09517,
			"ignored: %d numbers for %d colour attachments", len(list)-2, len(r.pass.Colors))
	default:
		r.passes.inputs = append(r.passes.inputs[:0], list...)
		r.graphics.changed = true
	}
}

// inputOf is the number of the input attachment that an attachment of count colours, depths or stencils is.
func inputOf(list []uint32, i, count int) uint32 {
	switch {
	case len(list) == count+2:
		return list[i]
	case i < count:
		return uint32(i)
	}
	return command.InputWithout
}

// view looks up an attachment.
func (r *replay) view(h vk.ImageView, exists vk.VUID) (draw.Target, error) {
	v, err := r.device.Resources.Attachment(h)
	if err != nil {
		return draw.Target{}, r.missing(exists, err)
	}
	img, err := r.image(r.device.Resources, v.Image)
	if err != nil {
		return draw.Target{}, r.missing(exists, err)
	}
	t := draw.Target{Image: &img.Image, Format: v.Format, Aspect: v.Aspect, Level: v.Level, Layer: v.Layer,
		Layers: v.Layers}
	if img.Usage&vk.IMAGE_USAGE_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT != 0 {
		r.passes.loops = true
	}
	if len(img.Planes) > 0 {
		plane := img.Layout.Format.PlaneOf(v.Aspect)
		if plane < 0 {
			return t, invalid(exists, "a view of all planes of an image is an attachment")
		}
		t.Image, t.Aspect = &img.Planes[plane], vk.IMAGE_ASPECT_COLOR_BIT
	}
	if r.device.Watch != nil {
		r.passes.images = append(r.passes.images, v.Image)
	}
	return t, nil
}

// beginAccess tells Watch that the attachments are read and written from now on, until endAccess.
func (r *replay) beginAccess() {
	if r.device.Watch == nil {
		return
	}
	s := &r.passes
	s.drawn = true
	for i, h := range s.images {
		if h != 0 {
			r.accessedTarget(h, &s.views[i])
		}
	}
}

func (r *replay) endAccess() {
	if r.passes.drawn {
		r.passes.drawn = false
		r.device.Watch(&Access{Queue: r.queue, Device: r.device.Index, Ends: true, Command: r.index, Op: r.op})
	}
}

// accessedTarget tells Watch of an attachment.
func (r *replay) accessedTarget(h vk.Image, t *draw.Target) {
	layers := vk.ImageSubresourceLayers{AspectMask: t.Aspect, MipLevel: t.Level, BaseArrayLayer: t.Layer,
		LayerCount: t.Layers}
	if t.Image.Type == vk.IMAGE_TYPE_3D {
		layers.BaseArrayLayer, layers.LayerCount = 0, 1
	}
	r.device.Watch(&Access{Queue: r.queue, Device: r.device.Index, Type: vk.OBJECT_TYPE_IMAGE, Handle: uint64(h),
		Size: wholeObject, Layers: []vk.ImageSubresourceLayers{layers}, Reads: true, Writes: true, Lasts: true,
		Command: r.index, Op: r.op})
}

// started begins an instance.
func (r *replay) started(info *pass.Info, areas []vk.Rect2D, dynamic bool) error {
	if i := r.device.Index; len(areas) > 0 {
		if i >= uint32(len(areas)) {
			return invalid(vk.NoVUID, "%d render areas for physical device %d", len(areas), i)
		}
		info.Area = areas[i]
	}
	info.Puts = r.unseen() && !r.passes.loops
	r.endAccess() // of an instance that an error has ended
	r.beginAccess()
	if err := r.passes.instance.Begin(info); err != nil {
		return err
	}
	r.passes.dynamic, r.pass = dynamic, r.passes.instance.Pass()
	r.passes.inputs = r.passes.inputs[:0]
	r.graphics.changed = true
	return nil
}

func (r *replay) beginRenderPass(c *command.BeginRenderPass) error {
	if r.pass != nil {
		return invalid(vk.VUID_vkCmdBeginRenderPass_renderpass, "a render pass begins inside of another one")
	}
	p, err := r.device.Resources.RenderPass(c.RenderPass)
	if err != nil {
		return r.missing(vk.VUID_VkRenderPassBeginInfo_renderPass_parameter, err)
	}
	f, err := r.device.Resources.Framebuffer(c.Framebuffer)
	if err != nil {
		return r.missing(vk.VUID_VkRenderPassBeginInfo_framebuffer_parameter, err)
	}
	views := f.Views
	switch {
	case !p.Compatible(f.Pass):
		return invalid(vk.VUID_VkRenderPassBeginInfo_renderPass_00904,
			"the framebuffer was created for a render pass that is not compatible")
	case f.Imageless && uint32(len(c.Views)) != f.Count:
		return invalid(vk.VUID_VkRenderPassBeginInfo_framebuffer_03208, "%d views for %d attachments", len(c.Views), f.Count)
	case f.Imageless:
		views = c.Views
	case len(c.Views) != 0:
		return invalid(vk.VUID_VkRenderPassBeginInfo_framebuffer_03207, "%d views for a framebuffer that has its own",
			len(c.Views))
	}
	if p.Waits {
		r.ordered()
	}
	r.passes.views, r.passes.images, r.passes.loops = r.passes.views[:0], r.passes.images[:0], false
	for _, h := range views {
		t := draw.Target{}
		if h == 0 {
			r.passes.images = append(r.passes.images, 0)
		} else if t, err = r.view(h, vk.VUID_VkFramebufferCreateInfo_flags_02778); err != nil {
			return err
		}
		r.passes.views = append(r.passes.views, t)
	}
	r.passes.framebuffer, r.passes.contents = c.Framebuffer, c.Contents
	return r.started(&pass.Info{Pass: p, Views: r.passes.views, Clears: c.Clears, Area: c.Area, Extent: f.Extent,
		Layers: f.Layers}, c.Areas, false)
}

// beginRendering begins a dynamic rendering as a render pass of one subpass that is made for it.
func (r *replay) beginRendering(c *command.BeginRendering) error {
	if r.pass != nil {
		return invalid(vk.VUID_vkCmdBeginRendering_renderpass, "a rendering begins inside of another one")
	}
	if len(c.Attachments)-2 > MaxColors {
		return invalid(vk.VUID_VkRenderingInfo_colorAttachmentCount_06106, "%d colour attachments", len(c.Attachments)-2)
	}
	s := &r.passes
	s.flags, s.framebuffer, s.loops = c.Flags, 0, false
	s.images = s.images[:0]
	if c.Flags&vk.RENDERING_RESUMING_BIT != 0 {
		r.ordered() // it goes on with the instance before
	}
	s.views, s.clears, s.form.Attachments = s.views[:0], s.clears[:0], s.form.Attachments[:0]
	if len(s.form.Subpasses) == 0 {
		s.form.Subpasses = make([]pass.Subpass, 1)
	}
	sub := &s.form.Subpasses[0]
	sub.ViewMask, sub.Colors = c.ViewMask, sub.Colors[:0]
	colors := len(c.Attachments) - 2
	for i := range c.Attachments {
		aspect := vk.ImageAspectFlags(vk.IMAGE_ASPECT_COLOR_BIT)
		switch i {
		case colors:
			aspect = vk.IMAGE_ASPECT_DEPTH_BIT
		case colors + 1:
			aspect = vk.IMAGE_ASPECT_STENCIL_BIT
		}
		a := c.Attachments[i] // the application may change it meanwhile
		ref, err := r.rendered(&a, aspect)
		if err != nil {
			return err
		}
		switch aspect {
		case vk.IMAGE_ASPECT_DEPTH_BIT:
			sub.Depth = ref
		case vk.IMAGE_ASPECT_STENCIL_BIT:
			sub.Stencil = ref
		default:
			sub.Colors = append(sub.Colors, ref)
		}
	}
	return r.started(&pass.Info{Pass: &s.form, Views: s.views, Clears: s.clears, Area: c.Area,
		Layers: c.Layers, Resumed: c.Flags&vk.RENDERING_RESUMING_BIT != 0,
		Suspended: c.Flags&vk.RENDERING_SUSPENDING_BIT != 0}, c.Areas, true)
}

// rendered adds an attachment of a dynamic rendering, and what it is resolved to.
func (r *replay) rendered(a *command.RenderingAttachment, aspect vk.ImageAspectFlags) (pass.Reference, error) {
	ref := pass.None
	if a.View == 0 {
		return ref, nil
	}
	var err error
	if ref.Attachment, err = r.renderedView(a.View, aspect, a.Load, &a.Clear,
		vk.VUID_VkRenderingAttachmentInfo_imageView_parameter); err != nil {
		return ref, err
	}
	if a.Mode == vk.RESOLVE_MODE_NONE || a.Resolve == 0 {
		return ref, nil
	}
	if ref.Resolve, err = r.renderedView(a.Resolve, aspect, vk.ATTACHMENT_LOAD_OP_DONT_CARE, &a.Clear,
		vk.VUID_VkRenderingAttachmentInfo_resolveImageView_parameter); err != nil {
		return ref, err
	}
	ref.Mode = a.Mode
	return ref, nil
}

func (r *replay) renderedView(h vk.ImageView, aspect vk.ImageAspectFlags, load vk.AttachmentLoadOp,
	value *vk.ClearValue, exists vk.VUID) (uint32, error) {
	t, err := r.view(h, exists)
	if err != nil {
		return pass.Unused, err
	}
	if _, ok := texel.CodecOf(t.Format, aspect); !ok {
		return pass.Unused, invalid(exists, "format %v has no %v", t.Format, aspect)
	}
	s, n := &r.passes, uint32(len(r.passes.views))
	s.views, s.clears = append(s.views, t), append(s.clears, *value)
	s.form.Attachments = append(s.form.Attachments, pass.Attachment{Format: t.Format, Samples: t.Image.Layout.Samples,
		Aspects: aspect, Load: load, StencilLoad: load})
	return n, nil
}

func (r *replay) nextSubpass(contents vk.SubpassContents) error {
	if r.pass == nil || r.passes.dynamic {
		return invalid(vk.VUID_vkCmdNextSubpass_renderpass, "no render pass is under way")
	}
	r.graphics.changed, r.passes.contents = true, contents
	err := r.passes.instance.Next()
	if i := &r.passes.instance; err == nil && i.Of().Subpasses[i.Subpass()].Waits {
		r.ordered()
	}
	return err
}

func (r *replay) endRenderPass() error {
	if r.pass == nil || r.passes.dynamic {
		return invalid(vk.VUID_vkCmdEndRenderPass_renderpass, "no render pass is under way")
	}
	err := r.passes.instance.End()
	r.endAccess()
	if err == nil && r.passes.instance.Of().Awaited {
		r.ordered()
	}
	r.pass = nil
	return err
}

func (r *replay) endRendering() error {
	if r.pass == nil || !r.passes.dynamic {
		return invalid(vk.VUID_vkCmdEndRendering_None_06161, "no dynamic rendering is under way")
	}
	err := r.passes.instance.End()
	r.endAccess()
	r.pass = nil
	return err
}

func (r *replay) clearAttachments(c *command.ClearAttachments) error {
	if r.pass == nil {
		return invalid(vk.VUID_vkCmdClearAttachments_renderpass, "no render pass is under way")
	}
	return r.passes.instance.ClearAttachments(c.Attachments, c.Rects)
}

// passCommand executes a record of render passes.
func (r *replay) passCommand(record *command.Record) error {
	switch record.Op {
	case command.OpBeginRenderPass:
		if c := new(command.BeginRenderPass); record.BeginRenderPass(c) {
			return r.beginRenderPass(c)
		}
	case command.OpBeginRendering:
		if c := new(command.BeginRendering); record.BeginRendering(c) {
			return r.beginRendering(c)
		}
	case command.OpNextSubpass:
		if c := new(command.NextSubpass); record.NextSubpass(c) {
			return r.nextSubpass(c.Contents)
		}
	case command.OpEndRenderPass:
		if c := new(command.EndRenderPass); record.EndRenderPass(c) {
			return r.endRenderPass()
		}
	case command.OpEndRendering:
		if c := new(command.EndRendering); record.EndRendering(c) {
			return r.endRendering()
		}
	case command.OpClearAttachments:
		if c := new(command.ClearAttachments); record.ClearAttachments(c) {
			return r.clearAttachments(c)
		}
	}
	return r.malformed()
}

// passCost is about how many bytes a pass clears and resolves, as cost counts them, from its begin to its end.
func passCost(record *command.Record, r Resources) uint64 {
	switch record.Op {
	case command.OpBeginRenderPass:
		c := new(command.BeginRenderPass)
		record.BeginRenderPass(c)
		p, err := r.RenderPass(c.RenderPass)
		if err != nil {
			return 0 // executing it finds that
		}
		layers := uint32(1)
		if f, err := r.Framebuffer(c.Framebuffer); err == nil {
			layers = f.Layers
		}
		return passBytes(p, c.Area, layers)
	case command.OpBeginRendering:
		c := new(command.BeginRendering)
		record.BeginRendering(c)
		n := 0
		for i := range c.Attachments {
			a := &c.Attachments[i]
			if a.View != 0 && a.Load == vk.ATTACHMENT_LOAD_OP_CLEAR {
				n++
			}
			if a.View != 0 && a.Resolve != 0 && a.Mode != vk.RESOLVE_MODE_NONE {
				n++
			}
		}
		return texelBytes(c.Area, max(c.Layers, uint32(bits.OnesCount32(c.ViewMask))), n)
	}
	return 0
}

// passBytes is passCost of a render pass.
func passBytes(p *pass.RenderPass, area vk.Rect2D, layers uint32) uint64 {
	n := 0
	for i := range p.Attachments {
		if a := &p.Attachments[i]; a.Load == vk.ATTACHMENT_LOAD_OP_CLEAR || a.StencilLoad == vk.ATTACHMENT_LOAD_OP_CLEAR {
			n++
		}
	}
	for i := range p.Subpasses {
		s := &p.Subpasses[i]
		layers = max(layers, uint32(bits.OnesCount32(s.ViewMask)))
		for _, ref := range s.Colors {
			if ref.Resolve != pass.Unused {
				n++
			}
		}
		if s.Depth.Resolve != pass.Unused || s.Stencil.Resolve != pass.Unused {
			n++
		}
	}
	return texelBytes(area, layers, n)
}

// texelBytes is about how many bytes an operation on n attachments moves.
func texelBytes(area vk.Rect2D, layers uint32, n int) uint64 {
	texels := min(uint64(area.Extent.Width)*uint64(area.Extent.Height), immediateBytes+1)
	return texels * 8 * uint64(n) * uint64(layers)
}
