package icd

import (
	"math/bits"

	"farside/internal/command"
	"farside/internal/exec"
	"farside/internal/vk"
)

// The commands of render passes. Their objects are looked up when they are executed, and so is checked what goes
// together.

// primary records a command that only primary command buffers take.
func (b *commandBuffer) primary(command string, level vk.VUID, append func() error) {
	b.recordGraphics(command, func() error {
		if b.level != vk.COMMAND_BUFFER_LEVEL_PRIMARY {
			return vk.Errorf(vk.ERROR_UNKNOWN, level, "a secondary command buffer records it")
		}
		return append()
	})
}

func cmdBeginRenderPass(b *commandBuffer, begin *vk.RenderPassBeginInfo, contents vk.SubpassContents) {
	b.primary("vkCmdBeginRenderPass", vk.VUID_vkCmdBeginRenderPass_bufferlevel,
		func() error { return b.beginRenderPass(begin, contents) })
}

func cmdBeginRenderPass2(b *commandBuffer, begin *vk.RenderPassBeginInfo, info *vk.SubpassBeginInfo) {
	b.primary("vkCmdBeginRenderPass2", vk.VUID_vkCmdBeginRenderPass2_bufferlevel, func() error {
		if info == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdBeginRenderPass2_pSubpassBeginInfo_parameter,
				"pSubpassBeginInfo is NULL")
		}
		return b.beginRenderPass(begin, info.Contents)
	})
}

func (b *commandBuffer) beginRenderPass(begin *vk.RenderPassBeginInfo, contents vk.SubpassContents) error {
	if begin == nil {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdBeginRenderPass_pRenderPassBegin_parameter,
			"pRenderPassBegin is NULL")
	}
	c := command.BeginRenderPass{RenderPass: begin.RenderPass, Framebuffer: begin.Framebuffer, Area: begin.RenderArea,
		Contents: contents}
	switch {
	case begin.ClearValueCount == 0:
	case begin.PClearValues == nil:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkRenderPassBeginInfo_clearValueCount_04962,
			"%d clear values at NULL", begin.ClearValueCount)
	default:
		c.Clears = vk.Slice(begin.PClearValues, begin.ClearValueCount)
	}
	if views := vk.Find[vk.RenderPassAttachmentBeginInfo](begin.PNext); views != nil {
		c.Views = vk.Slice(views.PAttachments, views.AttachmentCount)
	}
	var err error
	if c.Areas, err = b.renderAreas(vk.Find[vk.DeviceGroupRenderPassBeginInfo](begin.PNext)); err != nil {
		return err
	}
	return b.stream.BeginRenderPass(&c)
}

// renderAreas records the device mask of a render pass instance, and returns the areas of the physical devices.
func (b *commandBuffer) renderAreas(group *vk.DeviceGroupRenderPassBeginInfo) ([]vk.Rect2D, error) {
	if group == nil {
		return nil, nil
	}
	if every := b.owner().everyDevice(); group.DeviceMask == 0 || group.DeviceMask&^every != 0 {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDeviceGroupRenderPassBeginInfo_deviceMask_00905,
			"the device mask is %#b of %#b", group.DeviceMask, every)
	}
	if b.owner().several() {
		if err := b.stream.DeviceMask(group.DeviceMask); err != nil {
			return nil, err
		}
	}
	return vk.Slice(group.PDeviceRenderAreas, group.DeviceRenderAreaCount), nil
}

func cmdNextSubpass(b *commandBuffer, contents vk.SubpassContents) {
	b.primary("vkCmdNextSubpass", vk.VUID_vkCmdNextSubpass_bufferlevel,
		func() error { return b.stream.NextSubpass(contents) })
}

func cmdNextSubpass2(b *commandBuffer, begin *vk.SubpassBeginInfo, _ *vk.SubpassEndInfo) {
	b.primary("vkCmdNextSubpass2", vk.VUID_vkCmdNextSubpass2_bufferlevel,
		func() error { return b.stream.NextSubpass(begin.Contents) })
}

func cmdEndRenderPass(b *commandBuffer) {
	b.primary("vkCmdEndRenderPass", vk.VUID_vkCmdEndRenderPass_bufferlevel, b.endRenderPass)
}

func cmdEndRenderPass2(b *commandBuffer, _ *vk.SubpassEndInfo) {
	b.primary("vkCmdEndRenderPass2", vk.VUID_vkCmdEndRenderPass2_bufferlevel, b.endRenderPass)
}

func (b *commandBuffer) endRenderPass() error { return b.stream.EndRenderPass() }

func cmdBeginRendering(b *commandBuffer, info *vk.RenderingInfo) {
	b.recordGraphics("vkCmdBeginRendering", func() error { return b.beginRendering(info) })
}

func (b *commandBuffer) beginRendering(info *vk.RenderingInfo) error {
	if info == nil {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdBeginRendering_pRenderingInfo_parameter, "pRenderingInfo is NULL")
	}
	c := command.BeginRendering{Flags: info.Flags, Area: info.RenderArea, Layers: info.LayerCount,
		ViewMask: info.ViewMask}
	d := b.owner()
	switch most := min(d.physical.limits.MaxColorAttachments, exec.MaxColors); {
	case !d.allows("dynamicRendering", vk.VUID_vkCmdBeginRendering_dynamicRendering_06446):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdBeginRendering_dynamicRendering_06446,
			"the dynamicRendering feature is not there")
	case info.ColorAttachmentCount > most:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkRenderingInfo_colorAttachmentCount_06106, "%d colour attachments of %d",
			info.ColorAttachmentCount, most)
	case c.ViewMask == 0 && c.Layers == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkRenderingInfo_viewMask_06069, "layerCount is 0")
	case bits.Len32(c.ViewMask) > maxMultiviewViewCount:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkRenderingInfo_viewMask_06128, "view mask %#x, and there are %d views",
			c.ViewMask, maxMultiviewViewCount)
	case c.ViewMask != 0 && !d.allows("multiview", vk.VUID_VkRenderingInfo_multiview_06127):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkRenderingInfo_multiview_06127,
			"view mask %#x needs the multiview feature", c.ViewMask)
	}
	var room [exec.MaxColors + 2]command.RenderingAttachment
	c.Attachments = room[:info.ColorAttachmentCount+2]
	for i := range vk.Slice(info.PColorAttachments, info.ColorAttachmentCount) {
		takeAttachment(&c.Attachments[i], &vk.Slice(info.PColorAttachments, info.ColorAttachmentCount)[i])
	}
	takeAttachment(&c.Attachments[info.ColorAttachmentCount], info.PDepthAttachment)
	takeAttachment(&c.Attachments[info.ColorAttachmentCount+1], info.PStencilAttachment)
	var err error
	if c.Areas, err = b.renderAreas(vk.Find[vk.DeviceGroupRenderPassBeginInfo](info.PNext)); err != nil {
		return err
	}
	return b.stream.BeginRendering(&c)
}

// takeAttachment takes over what an attachment of a rendering is. Without a view, the other members mean nothing.
func takeAttachment(to *command.RenderingAttachment, from *vk.RenderingAttachmentInfo) {
	if from == nil || from.ImageView == 0 {
		return
	}
	*to = command.RenderingAttachment{View: from.ImageView, Mode: from.ResolveMode, Load: from.LoadOp}
	if from.ResolveMode != vk.RESOLVE_MODE_NONE {
		to.Resolve = from.ResolveImageView
	}
	if from.LoadOp == vk.ATTACHMENT_LOAD_OP_CLEAR {
		to.Clear = from.ClearValue
	}
}

func cmdEndRendering(b *commandBuffer) {
	b.recordGraphics("vkCmdEndRendering", func() error { return b.stream.EndRendering() })
}

func cmdClearAttachments(b *commandBuffer, count uint32, attachments *vk.ClearAttachment, rectCount uint32,
	rects *vk.ClearRect) {
	b.recordGraphics("vkCmdClearAttachments", func() error {
		list, err := elements(attachments, count, vk.VUID_vkCmdClearAttachments_attachmentCount_arraylength,
			vk.VUID_vkCmdClearAttachments_pAttachments_parameter)
		if err != nil {
			return err
		}
		areas, err := elements(rects, rectCount, vk.VUID_vkCmdClearAttachments_rectCount_arraylength,
			vk.VUID_vkCmdClearAttachments_pRects_parameter)
		if err != nil {
			return err
		}
		return b.stream.ClearAttachments(list, areas)
	})
}

// checkContinues checks what a secondary command buffer says of the render pass inside of which it is executed.
func (b *commandBuffer) checkContinues(i *vk.CommandBufferInheritanceInfo) error {
	if !b.pool.graphics() {
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandBufferBeginInfo_flags_09123, "no queue family has render passes")
	}
	if i.RenderPass == 0 {
		if vk.Find[vk.CommandBufferInheritanceRenderingInfo](i.PNext) == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandBufferBeginInfo_flags_06002,
				"neither a render pass nor a rendering is inherited")
		}
		return b.checkMapped(i)
	}
	p := renderPasses.Get(uint64(i.RenderPass))
	switch f := framebuffers.Get(uint64(i.Framebuffer)); {
	case p == nil:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandBufferBeginInfo_flags_06000, "%#x is no live render pass",
			uint64(i.RenderPass))
	case p.device != b.owner():
		return foreign(vk.VUID_VkCommandBufferInheritanceInfo_commonparent, "render pass", uint64(i.RenderPass))
	case i.Subpass >= uint32(len(p.pass.Subpasses)):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandBufferBeginInfo_flags_06001, "subpass %d of %d", i.Subpass,
			len(p.pass.Subpasses))
	case i.Framebuffer != 0 && (f == nil || !f.exec.Pass.Compatible(&p.pass)):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkCommandBufferBeginInfo_flags_00055,
			"%#x is no framebuffer for the render pass", uint64(i.Framebuffer))
	}
	return nil
}

// checkMapped looks at what the attachments of a rendering are for shaders.
func (b *commandBuffer) checkMapped(i *vk.CommandBufferInheritanceInfo) error {
	if l := vk.Find[vk.RenderingAttachmentLocationInfo](i.PNext); l != nil {
		if _, err := b.owner().locationsOf(l); err != nil {
			return err
		}
	}
	if l := vk.Find[vk.RenderingInputAttachmentIndexInfo](i.PNext); l != nil {
		return b.owner().checkInputs(l)
	}
	return nil
}

// takeInheritance takes over what a secondary command buffer says of where it is executed.
func (b *commandBuffer) takeInheritance(usage vk.CommandBufferUsageFlags, i *vk.CommandBufferInheritanceInfo) {
	n := &b.inherits
	n.Begin(usage&vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT != 0)
	n.Occlusion = i.OcclusionQueryEnable != vk.FALSE
	n.Precise = n.Occlusion && i.QueryFlags&vk.QUERY_CONTROL_PRECISE_BIT != 0
	n.Statistics = i.PipelineStatistics
	if !n.Continues {
		return // the other members mean nothing
	}
	if p := renderPasses.Get(uint64(i.RenderPass)); p != nil {
		n.Pass, n.Subpass, n.Framebuffer = &p.pass, i.Subpass, i.Framebuffer
		return
	}
	if r := vk.Find[vk.CommandBufferInheritanceRenderingInfo](i.PNext); r != nil {
		n.Flags, n.ViewMask, n.Samples = r.Flags, r.ViewMask, uint32(r.RasterizationSamples)
		n.Colors = takeFormats(n.Colors, r.PColorAttachmentFormats, r.ColorAttachmentCount)
		n.Depth, n.Stencil = r.DepthAttachmentFormat, r.StencilAttachmentFormat
	}
	if l := vk.Find[vk.RenderingAttachmentLocationInfo](i.PNext); l != nil {
		n.Locations, _ = b.owner().locationsOf(l) // which has been checked
	}
	if l := vk.Find[vk.RenderingInputAttachmentIndexInfo](i.PNext); l != nil {
		n.Inputs, _ = b.owner().inputsOf(l)
	}
}
