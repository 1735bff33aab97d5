package pass

import (
	"math/bits"
	"slices"

	"farside/internal/draw"
	"farside/internal/transfer"
	"farside/internal/vk"
)

// Info is what an instance of a pass begins with.
type Info struct {
	Pass   *RenderPass
	Views  []draw.Target // by attachment; those that no subpass uses may be anything
	Clears []vk.ClearValue
	Area   vk.Rect2D
	Extent vk.Extent2D // of the framebuffer, within which Area is; 0: the views alone bound it
	Layers uint32
	// Resumed instances go on where another one of the same command buffer, or of an earlier one, was suspended: nothing
	// is loaded. Suspended ones are resumed: nothing is resolved.
	Resumed, Suspended bool
	// Puts lets clears wait for draws (draw.Clears). Whoever looks at attachments meanwhile settles them before.
	Puts bool
}

// Instance is a render pass instance under way. The zero value is none.
type Instance struct {
	info    Info
	loaded  []uint32 // by attachment: which views are loaded; without multiview bit 0 is all of them
	subpass uint32
	draw    draw.Pass
	waiting draw.Clears // of the subpass
}

// Begin begins an instance with the first subpass. It checks what comes in and fails with the VUID of the rule that it
// breaks; then nothing has been written. i may be used again.
func (i *Instance) Begin(info *Info) error {
	if err := info.Pass.check(); err != nil {
		return err
	}
	if err := info.check(); err != nil {
		return err
	}
	i.info, i.subpass = *info, 0
	i.loaded = slices.Grow(i.loaded[:0], len(info.Views))[:len(info.Views)]
	clear(i.loaded)
	return i.enter()
}

// check holds views and area against the pass, so that nothing later can reach beyond an image.
func (n *Info) check() error {
	p := n.Pass
	if len(n.Views) < len(p.Attachments) {
		return invalid(vk.VUID_VkFramebufferCreateInfo_attachmentCount_00876, "%d views of a pass with %d attachments",
			len(n.Views), len(p.Attachments))
	}
	if err := within(n.Area, n.Extent); n.Extent != (vk.Extent2D{}) && err != nil {
		return err
	}
	if err := within(n.Area, vk.Extent2D{Width: 1 << 31, Height: 1 << 31}); err != nil {
		return err
	}
	for i := range p.Subpasses {
		s := &p.Subpasses[i]
		layers := n.Layers
		if s.ViewMask != 0 {
			layers = views(s.ViewMask)
		}
		err := s.used(func(a uint32) error { return n.checkView(a, layers) })
		if err != nil {
			return err
		}
		if err := n.checkSamples(s); err != nil {
			return err
		}
	}
	return nil
}

// checkView checks the view of an attachment of which so many layers are used.
func (n *Info) checkView(a, layers uint32) error {
	v, want := &n.Views[a], &n.Pass.Attachments[a]
	if v.Image == nil {
		return invalid(vk.VUID_VkFramebufferCreateInfo_flags_02778, "attachment %d has no view", a)
	}
	switch {
	case v.Format != want.Format:
		return invalid(vk.VUID_VkFramebufferCreateInfo_pAttachments_00880, "attachment %d has format %v, its view %v", a,
			want.Format, v.Format)
	case v.Image.Layout.Samples != want.Samples:
		return invalid(vk.VUID_VkFramebufferCreateInfo_pAttachments_00881, "attachment %d has %d samples, its view %d", a,
			want.Samples, v.Image.Layout.Samples)
	case layers > v.Layers:
		return invalid(vk.VUID_VkFramebufferCreateInfo_flags_04535, "%d layers of a view with %d are attachment %d",
			layers, v.Layers, a)
	}
	if err := within(n.Area, transfer.AreaExtent(v.Image, v.Format, v.Level)); err != nil {
		return vk.Errorf(vk.ERROR_DEVICE_LOST, vk.VUIDOf(err), "attachment %d: %w", a, err)
	}
	return nil
}

// within says whether a render area is in an extent.
func within(area vk.Rect2D, extent vk.Extent2D) error {
	switch o, e := area.Offset, area.Extent; {
	case o.X < 0:
		return invalid(vk.VUID_VkRenderPassBeginInfo_pNext_02850, "the render area begins at x %d", o.X)
	case o.Y < 0:
		return invalid(vk.VUID_VkRenderPassBeginInfo_pNext_02851, "the render area begins at y %d", o.Y)
	case uint64(o.X)+uint64(e.Width) > uint64(extent.Width):
		return invalid(vk.VUID_VkRenderPassBeginInfo_pNext_02852, "the render area has %d columns from x %d on of %d",
			e.Width, o.X, extent.Width)
	case uint64(o.Y)+uint64(e.Height) > uint64(extent.Height):
		return invalid(vk.VUID_VkRenderPassBeginInfo_pNext_02853, "the render area has %d rows from y %d on of %d", e.Height,
			o.Y, extent.Height)
	}
	return nil
}

// checkSamples checks that all attachments to which a subpass draws have as many samples.
func (n *Info) checkSamples(s *Subpass) error {
	samples := uint32(0)
	check := func(r Reference) error {
		if r.Attachment == Unused {
			return nil
		}
		own := n.Pass.Attachments[r.Attachment].Samples
		if samples != 0 && own != samples {
			return invalid(vk.VUID_VkSubpassDescription2_multisampledRenderToSingleSampled_06872,
				"attachments of %d and %d samples in a subpass", samples, own)
		}
		samples = own
		return nil
	}
	for _, c := range s.Colors {
		if err := check(c); err != nil {
			return err
		}
	}
	if err := check(s.Depth); err != nil {
		return err
	}
	return check(s.Stencil)
}

// Pass is what draws of the current subpass go to.
func (i *Instance) Pass() *draw.Pass { return &i.draw }

// Of is the render pass, and Subpass the number of the current subpass.
func (i *Instance) Of() *RenderPass { return i.info.Pass }
func (i *Instance) Subpass() uint32 { return i.subpass }

// Suspended says whether another instance goes on where this one ends.
func (i *Instance) Suspended() bool { return i.info.Suspended }

// enter begins the current subpass: it loads what is used for the first time.
func (i *Instance) enter() error {
	s := &i.info.Pass.Subpasses[i.subpass]
	i.waiting.Begin(i.info.Area)
	if !i.info.Resumed {
		if err := s.used(func(a uint32) error { return i.load(a, s.ViewMask) }); err != nil {
			return err
		}
	}
	d := &i.draw
	*d = draw.Pass{Area: i.info.Area, Layers: i.info.Layers, ViewMask: s.ViewMask, Samples: i.info.Pass.Samples(i.subpass),
		Colors: d.Colors[:0], Depth: i.target(s.Depth.Attachment, vk.IMAGE_ASPECT_DEPTH_BIT),
		Stencil: i.target(s.Stencil.Attachment, vk.IMAGE_ASPECT_STENCIL_BIT)}
	for _, c := range s.Colors {
		d.Colors = append(d.Colors, i.target(c.Attachment, vk.IMAGE_ASPECT_COLOR_BIT))
	}
	if i.waiting.Wait() {
		d.Clears = &i.waiting
	}
	return nil
}

// target is an aspect of an attachment.
func (i *Instance) target(a uint32, aspect vk.ImageAspectFlags) draw.Target {
	if a == Unused {
		return draw.Target{}
	}
	t := i.info.Views[a]
	t.Aspect = aspect
	return t
}

// load does the load operations of an attachment, for the views of a mask that have not been loaded yet.
func (i *Instance) load(a, mask uint32) error {
	fresh := max(mask, 1) &^ i.loaded[a]
	if fresh == 0 {
		return nil
	}
	i.loaded[a] |= fresh
	if mask == 0 {
		fresh = 0
	}
	of := &i.info.Pass.Attachments[a]
	for rest := of.Aspects; rest != 0; rest &= rest - 1 {
		aspect := rest & -rest
		op := of.Load
		if aspect == vk.IMAGE_ASPECT_STENCIL_BIT {
			op = of.StencilLoad
		}
		if op != vk.ATTACHMENT_LOAD_OP_CLEAR {
			continue
		}
		if a >= uint32(len(i.info.Clears)) {
			return invalid(vk.VUID_VkRenderPassBeginInfo_clearValueCount_00902, "%d clear values, and attachment %d is cleared",
				len(i.info.Clears), a)
		}
		t := i.target(a, aspect)
		if put, err := i.put(a, &t); put || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := i.clear(&t, i.info.Area, 0, i.info.Layers, fresh, &i.info.Clears[a]); err != nil {
			return err
		}
	}
	return nil
}

// put has the clear of an attachment wait for draws, if that is worth it. It is one that they go to: no other memory is
// cleared later than the specification says.
func (i *Instance) put(a uint32, t *draw.Target) (bool, error) {
	s := &i.info.Pass.Subpasses[i.subpass]
	color := -1
	drawn := s.Depth.Attachment == a
	switch t.Aspect {
	case vk.IMAGE_ASPECT_STENCIL_BIT:
		drawn = s.Stencil.Attachment == a
	case vk.IMAGE_ASPECT_COLOR_BIT:
		color = slices.IndexFunc(s.Colors, func(c Reference) bool { return c.Attachment == a })
		drawn = color >= 0
	}
	if !drawn || !i.info.Puts || s.ViewMask != 0 || i.info.Layers != 1 {
		return false, nil
	}
	c, err := (&transfer.Area{Image: t.Image, Format: t.Format, Aspect: t.Aspect, Level: t.Level, Layer: t.Layer,
		Rect: i.info.Area}).Clearing(&i.info.Clears[a])
	return err == nil && i.waiting.Add(&c, color), err
}

// clear clears a rectangle of layers or, with a mask, of views.
func (i *Instance) clear(t *draw.Target, rect vk.Rect2D, first, count, mask uint32, value *vk.ClearValue) error {
	return eachLayer(first, count, mask, func(layer uint32) error {
		return (&transfer.Area{Image: t.Image, Format: t.Format, Aspect: t.Aspect, Level: t.Level, Layer: t.Layer + layer,
			Rect: rect}).Clear(value)
	})
}

// eachLayer goes through layers or, with a mask, through views.
func eachLayer(first, count, mask uint32, f func(layer uint32) error) error {
	if mask == 0 {
		for layer := range count {
			if err := f(first + layer); err != nil {
				return err
			}
		}
	}
	for ; mask != 0; mask &= mask - 1 {
		if err := f(uint32(bits.TrailingZeros32(mask))); err != nil {
			return err
		}
	}
	return nil
}

// Next ends the current subpass and begins the next one.
func (i *Instance) Next() error {
	if i.info.Pass == nil || i.subpass+1 >= uint32(len(i.info.Pass.Subpasses)) {
		return invalid(vk.VUID_vkCmdNextSubpass_None_00909, "subpass %d is the last", i.subpass)
	}
	i.waiting.Settle()
	if err := i.resolve(); err != nil {
		return err
	}
	i.subpass++
	return i.enter()
}

// End ends the instance.
func (i *Instance) End() error {
	if i.info.Pass == nil {
		return invalid(vk.NoVUID, "no pass is under way")
	}
	if i.subpass+1 != uint32(len(i.info.Pass.Subpasses)) {
		return invalid(vk.VUID_vkCmdEndRenderPass_None_00910, "the pass ends in subpass %d of %d", i.subpass,
			len(i.info.Pass.Subpasses))
	}
	i.waiting.Settle()
	if i.info.Suspended {
		return nil
	}
	return i.resolve()
}

// resolve does the resolves at the end of the current subpass.
func (i *Instance) resolve() error {
	s := &i.info.Pass.Subpasses[i.subpass]
	one := func(r Reference, aspect vk.ImageAspectFlags) error {
		if r.Attachment == Unused || r.Resolve == Unused || r.Mode == vk.RESOLVE_MODE_NONE {
			return nil
		}
		from, to := i.target(r.Attachment, aspect), i.target(r.Resolve, aspect)
		return eachLayer(0, i.info.Layers, s.ViewMask, func(layer uint32) error {
			dst := transfer.Area{Image: to.Image, Format: to.Format, Aspect: aspect, Level: to.Level, Layer: to.Layer + layer,
				Rect: i.info.Area}
			return dst.Resolve(&transfer.Area{Image: from.Image, Format: from.Format, Aspect: aspect, Level: from.Level,
				Layer: from.Layer + layer, Rect: i.info.Area}, r.Mode)
		})
	}
	for _, c := range s.Colors {
		if err := one(c, vk.IMAGE_ASPECT_COLOR_BIT); err != nil {
			return err
		}
	}
	if err := one(s.Depth, vk.IMAGE_ASPECT_DEPTH_BIT); err != nil {
		return err
	}
	return one(s.Stencil, vk.IMAGE_ASPECT_STENCIL_BIT)
}
