package pass

import (
	"farside/internal/draw"
	"farside/internal/vk"
)

// ClearAttachments is vkCmdClearAttachments in the current subpass. Everything is checked before the first texel
// changes. Clearing an attachment that isn't there does nothing.
func (i *Instance) ClearAttachments(attachments []vk.ClearAttachment, rects []vk.ClearRect) error {
	var room [2]draw.Target
	for a := range attachments {
		if _, err := i.cleared(room[:0], &attachments[a]); err != nil {
			return err
		}
	}
	for r := range rects {
		if err := i.checkRect(&rects[r]); err != nil {
			return err
		}
	}
	i.waiting.Settle()
	for a := range attachments {
		c := attachments[a] // the application may have changed it meanwhile
		targets, err := i.cleared(room[:0], &c)
		if err != nil {
			return err
		}
		for t := range targets {
			for _, rect := range rects {
				if err := i.checkRect(&rect); err != nil {
					return err
				}
				err := i.clear(&targets[t], rect.Rect, rect.BaseArrayLayer, rect.LayerCount, i.draw.ViewMask, &c.ClearValue)
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cleared adds to list what a VkClearAttachment names.
func (i *Instance) cleared(list []draw.Target, c *vk.ClearAttachment) ([]draw.Target, error) {
	const depth, stencil = vk.IMAGE_ASPECT_DEPTH_BIT, vk.IMAGE_ASPECT_STENCIL_BIT
	add := func(t *draw.Target) {
		if t.Image != nil {
			list = append(list, *t)
		}
	}
	switch aspects := c.AspectMask; {
	case aspects == 0:
		return nil, invalid(vk.VUID_VkClearAttachment_aspectMask_requiredbitmask, "aspectMask is 0")
	case aspects&vk.IMAGE_ASPECT_COLOR_BIT != 0 && aspects != vk.IMAGE_ASPECT_COLOR_BIT:
		return nil, invalid(vk.VUID_VkClearAttachment_aspectMask_00019, "aspects %v", aspects)
	case aspects&^(vk.IMAGE_ASPECT_COLOR_BIT|depth|stencil) != 0:
		return nil, invalid(vk.VUID_VkClearAttachment_aspectMask_00020, "aspects %v", aspects)
	case aspects == vk.IMAGE_ASPECT_COLOR_BIT:
		switch {
		case c.ColorAttachment == Unused:
		case c.ColorAttachment >= uint32(len(i.draw.Colors)):
			return nil, invalid(vk.VUID_vkCmdClearAttachments_colorAttachment_09503, "colour attachment %d of %d",
				c.ColorAttachment, len(i.draw.Colors))
		default:
			add(&i.draw.Colors[c.ColorAttachment])
		}
		return list, nil
	case aspects&depth != 0:
		if d := c.ClearValue.DepthStencil().Depth; !(d >= 0 && d <= 1) {
			return nil, invalid(vk.VUID_VkClearDepthStencilValue_depth_00022, "depth is %v", d)
		}
		add(&i.draw.Depth)
	}
	if c.AspectMask&stencil != 0 {
		add(&i.draw.Stencil)
	}
	return list, nil
}

func (i *Instance) checkRect(r *vk.ClearRect) error {
	area, o, e := i.info.Area, r.Rect.Offset, r.Rect.Extent
	right, bottom := int64(area.Offset.X)+int64(area.Extent.Width), int64(area.Offset.Y)+int64(area.Extent.Height)
	switch {
	case e.Width == 0:
		return invalid(vk.VUID_vkCmdClearAttachments_rect_02682, "a rectangle without columns")
	case e.Height == 0:
		return invalid(vk.VUID_vkCmdClearAttachments_rect_02683, "a rectangle without rows")
	case o.X < area.Offset.X || o.Y < area.Offset.Y || int64(o.X)+int64(e.Width) > right ||
		int64(o.Y)+int64(e.Height) > bottom:
		return invalid(vk.VUID_vkCmdClearAttachments_pRects_00016, "%v reach beyond the render area %v", r.Rect, area)
	case r.LayerCount == 0:
		return invalid(vk.VUID_vkCmdClearAttachments_layerCount_01934, "layerCount is 0")
	case i.draw.ViewMask != 0 && (r.BaseArrayLayer != 0 || r.LayerCount != 1):
		return invalid(vk.VUID_vkCmdClearAttachments_baseArrayLayer_00018, "%d layers from %d on of views", r.LayerCount,
			r.BaseArrayLayer)
	case i.draw.ViewMask == 0 && uint64(r.BaseArrayLayer)+uint64(r.LayerCount) > uint64(i.info.Layers):
		return invalid(vk.VUID_vkCmdClearAttachments_pRects_06937, "%d layers from %d on of %d", r.LayerCount,
			r.BaseArrayLayer, i.info.Layers)
	}
	return nil
}
