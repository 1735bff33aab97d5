package icd

import (
	"farside/internal/exec"
	"farside/internal/vk"
)

// readTargets takes over what the pipeline says of the attachments that it draws to.
func (m *graphicsMaker) readTargets() {
	o := new(exec.Output)
	if m.info.RenderPass != 0 {
		p := renderPasses.Get(uint64(m.info.RenderPass))
		if p == nil || p.device != m.device {
			return
		}
		o.Pass, o.Subpass = &p.pass, m.info.Subpass
	} else if i := vk.Find[vk.PipelineRenderingCreateInfo](m.info.PNext); i != nil {
		o.ViewMask, o.Colors = i.ViewMask, takeFormats(nil, i.PColorAttachmentFormats, i.ColorAttachmentCount)
		o.Depth, o.Stencil = i.DepthAttachmentFormat, i.StencilAttachmentFormat
	}
	m.made.state.Output = o
}

// takeFormats puts formats of colour attachments in the place of those in room, and returns it. NULL are as many
// undefined ones. There are no more than maxColorAttachments (VUID-VkPipelineRenderingCreateInfo-
// colorAttachmentCount-09533), whatever the count says.
func takeFormats(room []vk.Format, list *vk.Format, count uint32) []vk.Format {
	count, room = min(count, exec.MaxColors), room[:0]
	if list == nil {
		return append(room, make([]vk.Format, count)...)
	}
	return append(room, vk.Slice(list, count)...)
}
