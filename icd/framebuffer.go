package icd

import (
	"farside/internal/exec"
	"farside/internal/pass"
	"farside/internal/vk"
)

// framebuffer is a VkFramebuffer.
type framebuffer struct {
	child
	exec exec.Framebuffer
}

func createFramebuffer(d *device, info *vk.FramebufferCreateInfo, _ *vk.AllocationCallbacks,
	out *vk.Framebuffer) vk.Result {
	if !d.physical.graphics() {
		return noGraphics(d, "vkCreateFramebuffer", vk.VUID_vkCreateFramebuffer_device_10002, out, 1)
	}
	*out = 0
	f := &framebuffer{child: child{device: d}}
	if err := f.init(info); err != nil {
		return d.fail("vkCreateFramebuffer", err)
	}
	*out = vk.Framebuffer(d.add(f))
	return vk.SUCCESS
}

func (f *framebuffer) init(info *vk.FramebufferCreateInfo) error {
	p := renderPasses.Get(uint64(info.RenderPass))
	switch {
	case p == nil:
		return invalid(vk.VUID_VkFramebufferCreateInfo_renderPass_parameter, "%#x is no live render pass",
			uint64(info.RenderPass))
	case p.device != f.device:
		return foreign(vk.VUID_VkFramebufferCreateInfo_commonparent, "render pass", uint64(info.RenderPass))
	}
	f.exec = exec.Framebuffer{Pass: &p.pass, Extent: vk.Extent2D{Width: info.Width, Height: info.Height},
		Layers: info.Layers, Imageless: info.Flags&vk.FRAMEBUFFER_CREATE_IMAGELESS_BIT != 0, Count: info.AttachmentCount}
	if err := f.checkExtent(); err != nil {
		return err
	}
	if info.AttachmentCount != uint32(len(p.pass.Attachments)) {
		return invalid(vk.VUID_VkFramebufferCreateInfo_attachmentCount_00876, "%d attachments, and the render pass has %d",
			info.AttachmentCount, len(p.pass.Attachments))
	}
	if f.exec.Imageless {
		return f.checkImageless(info)
	}
	for i, h := range vk.Slice(info.PAttachments, info.AttachmentCount) {
		v := imageViews.Get(uint64(h))
		switch {
		case v == nil:
			return invalid(vk.VUID_VkFramebufferCreateInfo_flags_02778, "attachment %d: %#x is no live image view", i, uint64(h))
		case v.device != f.device:
			return foreign(vk.VUID_VkFramebufferCreateInfo_commonparent, "image view", uint64(h))
		}
		if err := f.checkView(uint32(i), v); err != nil {
			return err
		}
		f.exec.Views = append(f.exec.Views, h)
	}
	return nil
}

func (f *framebuffer) checkExtent() error {
	l, e := f.device.physical.limits, &f.exec
	multiview := false
	for i := range e.Pass.Subpasses {
		multiview = multiview || e.Pass.Subpasses[i].ViewMask != 0
	}
	switch {
	case e.Extent.Width == 0:
		return invalid(vk.VUID_VkFramebufferCreateInfo_width_00885, "width is 0")
	case e.Extent.Width > l.MaxFramebufferWidth:
		return invalid(vk.VUID_VkFramebufferCreateInfo_width_00886, "width is %d, of %d", e.Extent.Width,
			l.MaxFramebufferWidth)
	case e.Extent.Height == 0:
		return invalid(vk.VUID_VkFramebufferCreateInfo_height_00887, "height is 0")
	case e.Extent.Height > l.MaxFramebufferHeight:
		return invalid(vk.VUID_VkFramebufferCreateInfo_height_00888, "height is %d, of %d", e.Extent.Height,
			l.MaxFramebufferHeight)
	case e.Layers == 0:
		return invalid(vk.VUID_VkFramebufferCreateInfo_layers_00889, "layers is 0")
	case e.Layers > l.MaxFramebufferLayers:
		return invalid(vk.VUID_VkFramebufferCreateInfo_layers_00890, "%d layers, of %d", e.Layers, l.MaxFramebufferLayers)
	case multiview && e.Layers != 1:
		return invalid(vk.VUID_VkFramebufferCreateInfo_renderPass_02531, "%d layers for a render pass with views", e.Layers)
	}
	return nil
}

// checkImageless checks what an imageless framebuffer is told instead of views. Those that it gets are held to the pass
// when a command begins it.
func (f *framebuffer) checkImageless(info *vk.FramebufferCreateInfo) error {
	if !f.device.allows("imagelessFramebuffer", vk.VUID_VkFramebufferCreateInfo_flags_03189) {
		return invalid(vk.VUID_VkFramebufferCreateInfo_flags_03189, "the imagelessFramebuffer feature is not there")
	}
	images := vk.Find[vk.FramebufferAttachmentsCreateInfo](info.PNext)
	switch {
	case images == nil && info.AttachmentCount != 0:
		return invalid(vk.VUID_VkFramebufferCreateInfo_flags_03190, "nothing says what the attachments are")
	case images != nil && images.AttachmentImageInfoCount != info.AttachmentCount &&
		images.AttachmentImageInfoCount != 0:
		return invalid(vk.VUID_VkFramebufferCreateInfo_flags_03191, "%d images for %d attachments",
			images.AttachmentImageInfoCount, info.AttachmentCount)
	}
	return nil
}

// checkView holds a view to the attachment that it shall be.
func (f *framebuffer) checkView(n uint32, v *imageView) error {
	want := &f.exec.Pass.Attachments[n]
	for i := range f.exec.Pass.Subpasses {
		if err := checkViewUsage(&f.exec.Pass.Subpasses[i], n, v); err != nil {
			return err
		}
	}
	extent := v.image.extent
	width, height := max(extent.Width>>v.baseLevel, 1), max(extent.Height>>v.baseLevel, 1)
	switch {
	case v.format != want.Format:
		return invalid(vk.VUID_VkFramebufferCreateInfo_pAttachments_00880, "attachment %d has format %v, its view %v", n,
			want.Format, v.format)
	case uint32(v.image.samples) != want.Samples:
		return invalid(vk.VUID_VkFramebufferCreateInfo_pAttachments_00881, "attachment %d has %d samples, its view %d", n,
			want.Samples, v.image.samples)
	case v.levelCount != 1:
		return invalid(vk.VUID_VkFramebufferCreateInfo_pAttachments_00883, "attachment %d is a view of %d mip levels", n,
			v.levelCount)
	case v.viewType == vk.IMAGE_VIEW_TYPE_3D:
		return invalid(vk.VUID_VkFramebufferCreateInfo_pAttachments_00891, "attachment %d is a 3D view", n)
	case width < f.exec.Extent.Width:
		return invalid(vk.VUID_VkFramebufferCreateInfo_flags_04533, "attachment %d has %d columns of %d", n, width,
			f.exec.Extent.Width)
	case height < f.exec.Extent.Height:
		return invalid(vk.VUID_VkFramebufferCreateInfo_flags_04534, "attachment %d has %d rows of %d", n, height,
			f.exec.Extent.Height)
	case v.layerCount < f.exec.Layers:
		return invalid(vk.VUID_VkFramebufferCreateInfo_flags_04535, "attachment %d has %d layers of %d", n, v.layerCount,
			f.exec.Layers)
	}
	return nil
}

// checkViewUsage checks that a view may be what a subpass uses it for.
func checkViewUsage(s *pass.Subpass, n uint32, v *imageView) error {
	for _, c := range s.Colors {
		if (c.Attachment == n || c.Resolve == n) && v.usage&vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT == 0 {
			return invalid(vk.VUID_VkFramebufferCreateInfo_pAttachments_00877, "attachment %d is a view for %v", n, v.usage)
		}
	}
	for _, r := range []pass.Reference{s.Depth, s.Stencil} {
		if v.usage&vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT == 0 && (r.Attachment == n || r.Resolve == n) {
			rule := vk.VUID_VkFramebufferCreateInfo_pAttachments_02633
			if r.Resolve == n {
				rule = vk.VUID_VkFramebufferCreateInfo_pAttachments_02634
			}
			return invalid(rule, "attachment %d is a view for %v", n, v.usage)
		}
	}
	for _, i := range s.Inputs {
		if i.Attachment == n && v.inputUsage(i.Aspects)&vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT == 0 {
			return invalid(vk.VUID_VkFramebufferCreateInfo_pAttachments_00879, "attachment %d is a view for %v", n, v.usage)
		}
	}
	return nil
}
