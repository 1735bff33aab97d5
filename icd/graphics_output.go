package icd

import (
	"slices"

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
		// VUID-VkPipelineRenderingCreateInfo-colorAttachmentCount-09533: no more than maxColorAttachments.
		count := min(i.ColorAttachmentCount, exec.MaxColors)
		o.ViewMask, o.Colors = i.ViewMask, make([]vk.Format, count)
		if i.PColorAttachmentFormats != nil {
			o.Colors = slices.Clone(vk.Slice(i.PColorAttachmentFormats, count))
		}
		o.Depth, o.Stencil = i.DepthAttachmentFormat, i.StencilAttachmentFormat
	}
	m.made.state.Output = o
}
