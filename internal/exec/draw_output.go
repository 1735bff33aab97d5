package exec

import (
	"sync/atomic"

	"farside/internal/draw"
	"farside/internal/pass"
	"farside/internal/vk"
)

// Output is what a graphics pipeline was created for: a subpass, or formats of attachments of dynamic renderings.
type Output struct {
	Pass    *pass.RenderPass // nil: dynamic renderings
	Subpass uint32

	ViewMask       uint32
	Colors         []vk.Format
	Depth, Stencil vk.Format

	told atomic.Uint32 // what has been told of
}

// outputRules are the rules of a draw command about what the pipeline was created for.
type outputRules struct {
	who string

	compatible, subpass, dynamic, viewMask, count      vk.VUID
	color, noColor, depth, noDepth, stencil, noStencil vk.VUID
}

var (
	plainOutputs = outputRules{
		who:        "pipeline",
		compatible: vk.VUID_vkCmdDraw_renderPass_02684,
		subpass:    vk.VUID_vkCmdDraw_subpass_02685,
		dynamic:    vk.VUID_vkCmdDraw_renderPass_06198,
		viewMask:   vk.VUID_vkCmdDraw_viewMask_06178,
		count:      vk.VUID_vkCmdDraw_colorAttachmentCount_06179,
		color:      vk.VUID_vkCmdDraw_dynamicRenderingUnusedAttachments_08910,
		noColor:    vk.VUID_vkCmdDraw_dynamicRenderingUnusedAttachments_08912,
		noDepth:    vk.VUID_vkCmdDraw_dynamicRenderingUnusedAttachments_08913,
		depth:      vk.VUID_vkCmdDraw_dynamicRenderingUnusedAttachments_08914,
		noStencil:  vk.VUID_vkCmdDraw_dynamicRenderingUnusedAttachments_08916,
		stencil:    vk.VUID_vkCmdDraw_dynamicRenderingUnusedAttachments_08917,
	}
	indexedOutputs = outputRules{
		who:        "pipeline",
		compatible: vk.VUID_vkCmdDrawIndexed_renderPass_02684,
		subpass:    vk.VUID_vkCmdDrawIndexed_subpass_02685,
		dynamic:    vk.VUID_vkCmdDrawIndexed_renderPass_06198,
		viewMask:   vk.VUID_vkCmdDrawIndexed_viewMask_06178,
		count:      vk.VUID_vkCmdDrawIndexed_colorAttachmentCount_06179,
		color:      vk.VUID_vkCmdDrawIndexed_dynamicRenderingUnusedAttachments_08910,
		noColor:    vk.VUID_vkCmdDrawIndexed_dynamicRenderingUnusedAttachments_08912,
		noDepth:    vk.VUID_vkCmdDrawIndexed_dynamicRenderingUnusedAttachments_08913,
		depth:      vk.VUID_vkCmdDrawIndexed_dynamicRenderingUnusedAttachments_08914,
		noStencil:  vk.VUID_vkCmdDrawIndexed_dynamicRenderingUnusedAttachments_08916,
		stencil:    vk.VUID_vkCmdDrawIndexed_dynamicRenderingUnusedAttachments_08917,
	}
	indirectDrawsOutputs = outputRules{
		who:        "pipeline",
		compatible: vk.VUID_vkCmdDrawIndirect_renderPass_02684,
		subpass:    vk.VUID_vkCmdDrawIndirect_subpass_02685,
		dynamic:    vk.VUID_vkCmdDrawIndirect_renderPass_06198,
		viewMask:   vk.VUID_vkCmdDrawIndirect_viewMask_06178,
		count:      vk.VUID_vkCmdDrawIndirect_colorAttachmentCount_06179,
		color:      vk.VUID_vkCmdDrawIndirect_dynamicRenderingUnusedAttachments_08910,
		noColor:    vk.VUID_vkCmdDrawIndirect_dynamicRenderingUnusedAttachments_08912,
		noDepth:    vk.VUID_vkCmdDrawIndirect_dynamicRenderingUnusedAttachments_08913,
		depth:      vk.VUID_vkCmdDrawIndirect_dynamicRenderingUnusedAttachments_08914,
		noStencil:  vk.VUID_vkCmdDrawIndirect_dynamicRenderingUnusedAttachments_08916,
		stencil:    vk.VUID_vkCmdDrawIndirect_dynamicRenderingUnusedAttachments_08917,
	}
	indexedIndirectDrawsOutputs = outputRules{
		who:        "pipeline",
		compatible: vk.VUID_vkCmdDrawIndexedIndirect_renderPass_02684,
		subpass:    vk.VUID_vkCmdDrawIndexedIndirect_subpass_02685,
		dynamic:    vk.VUID_vkCmdDrawIndexedIndirect_renderPass_06198,
		viewMask:   vk.VUID_vkCmdDrawIndexedIndirect_viewMask_06178,
		count:      vk.VUID_vkCmdDrawIndexedIndirect_colorAttachmentCount_06179,
		color:      vk.VUID_vkCmdDrawIndexedIndirect_dynamicRenderingUnusedAttachments_08910,
		noColor:    vk.VUID_vkCmdDrawIndexedIndirect_dynamicRenderingUnusedAttachments_08912,
		noDepth:    vk.VUID_vkCmdDrawIndexedIndirect_dynamicRenderingUnusedAttachments_08913,
		depth:      vk.VUID_vkCmdDrawIndexedIndirect_dynamicRenderingUnusedAttachments_08914,
		noStencil:  vk.VUID_vkCmdDrawIndexedIndirect_dynamicRenderingUnusedAttachments_08916,
		stencil:    vk.VUID_vkCmdDrawIndexedIndirect_dynamicRenderingUnusedAttachments_08917,
	}
	countedOutputs = outputRules{
		who:        "pipeline",
		compatible: vk.VUID_vkCmdDrawIndirectCount_renderPass_02684,
		subpass:    vk.VUID_vkCmdDrawIndirectCount_subpass_02685,
		dynamic:    vk.VUID_vkCmdDrawIndirectCount_renderPass_06198,
		viewMask:   vk.VUID_vkCmdDrawIndirectCount_viewMask_06178,
		count:      vk.VUID_vkCmdDrawIndirectCount_colorAttachmentCount_06179,
		color:      vk.VUID_vkCmdDrawIndirectCount_dynamicRenderingUnusedAttachments_08910,
		noColor:    vk.VUID_vkCmdDrawIndirectCount_dynamicRenderingUnusedAttachments_08912,
		noDepth:    vk.VUID_vkCmdDrawIndirectCount_dynamicRenderingUnusedAttachments_08913,
		depth:      vk.VUID_vkCmdDrawIndirectCount_dynamicRenderingUnusedAttachments_08914,
		noStencil:  vk.VUID_vkCmdDrawIndirectCount_dynamicRenderingUnusedAttachments_08916,
		stencil:    vk.VUID_vkCmdDrawIndirectCount_dynamicRenderingUnusedAttachments_08917,
	}
	indexedCountedOutputs = outputRules{
		who:        "pipeline",
		compatible: vk.VUID_vkCmdDrawIndexedIndirectCount_renderPass_02684,
		subpass:    vk.VUID_vkCmdDrawIndexedIndirectCount_subpass_02685,
		dynamic:    vk.VUID_vkCmdDrawIndexedIndirectCount_renderPass_06198,
		viewMask:   vk.VUID_vkCmdDrawIndexedIndirectCount_viewMask_06178,
		count:      vk.VUID_vkCmdDrawIndexedIndirectCount_colorAttachmentCount_06179,
		color:      vk.VUID_vkCmdDrawIndexedIndirectCount_dynamicRenderingUnusedAttachments_08910,
		noColor:    vk.VUID_vkCmdDrawIndexedIndirectCount_dynamicRenderingUnusedAttachments_08912,
		noDepth:    vk.VUID_vkCmdDrawIndexedIndirectCount_dynamicRenderingUnusedAttachments_08913,
		depth:      vk.VUID_vkCmdDrawIndexedIndirectCount_dynamicRenderingUnusedAttachments_08914,
		noStencil:  vk.VUID_vkCmdDrawIndexedIndirectCount_dynamicRenderingUnusedAttachments_08916,
		stencil:    vk.VUID_vkCmdDrawIndexedIndirectCount_dynamicRenderingUnusedAttachments_08917,
	}
	multiOutputs = outputRules{
		who:        "pipeline",
		compatible: vk.VUID_vkCmdDrawMultiEXT_renderPass_02684,
		subpass:    vk.VUID_vkCmdDrawMultiEXT_subpass_02685,
		dynamic:    vk.VUID_vkCmdDrawMultiEXT_renderPass_06198,
		viewMask:   vk.VUID_vkCmdDrawMultiEXT_viewMask_06178,
		count:      vk.VUID_vkCmdDrawMultiEXT_colorAttachmentCount_06179,
		color:      vk.VUID_vkCmdDrawMultiEXT_dynamicRenderingUnusedAttachments_08910,
		noColor:    vk.VUID_vkCmdDrawMultiEXT_dynamicRenderingUnusedAttachments_08912,
		noDepth:    vk.VUID_vkCmdDrawMultiEXT_dynamicRenderingUnusedAttachments_08913,
		depth:      vk.VUID_vkCmdDrawMultiEXT_dynamicRenderingUnusedAttachments_08914,
		noStencil:  vk.VUID_vkCmdDrawMultiEXT_dynamicRenderingUnusedAttachments_08916,
		stencil:    vk.VUID_vkCmdDrawMultiEXT_dynamicRenderingUnusedAttachments_08917,
	}
	indexedMultiOutputs = outputRules{
		who:        "pipeline",
		compatible: vk.VUID_vkCmdDrawMultiIndexedEXT_renderPass_02684,
		subpass:    vk.VUID_vkCmdDrawMultiIndexedEXT_subpass_02685,
		dynamic:    vk.VUID_vkCmdDrawMultiIndexedEXT_renderPass_06198,
		viewMask:   vk.VUID_vkCmdDrawMultiIndexedEXT_viewMask_06178,
		count:      vk.VUID_vkCmdDrawMultiIndexedEXT_colorAttachmentCount_06179,
		color:      vk.VUID_vkCmdDrawMultiIndexedEXT_dynamicRenderingUnusedAttachments_08910,
		noColor:    vk.VUID_vkCmdDrawMultiIndexedEXT_dynamicRenderingUnusedAttachments_08912,
		noDepth:    vk.VUID_vkCmdDrawMultiIndexedEXT_dynamicRenderingUnusedAttachments_08913,
		depth:      vk.VUID_vkCmdDrawMultiIndexedEXT_dynamicRenderingUnusedAttachments_08914,
		noStencil:  vk.VUID_vkCmdDrawMultiIndexedEXT_dynamicRenderingUnusedAttachments_08916,
		stencil:    vk.VUID_vkCmdDrawMultiIndexedEXT_dynamicRenderingUnusedAttachments_08917,
	}
)

// tellOutput tells of a pipeline that draws inside of a pass that it wasn't created for. Draws go by the attachments
// that are there. Each rule is told of once for a pipeline.
func (r *replay) tellOutput(o *Output, rules *outputRules) {
	tell := func(bit uint32, rule vk.VUID, format string, args ...any) {
		if first(&o.told, 1<<bit) {
			r.told(rule, "works, but the "+rules.who+format, args...)
		}
	}
	instance := &r.passes.instance
	switch {
	case r.passes.dynamic && o.Pass != nil:
		tell(0, rules.dynamic, " is for a render pass, and used in a dynamic rendering")
	case r.passes.dynamic:
		o.tellFormats(r.pass, rules, tell)
	case o.Pass == nil || !o.Pass.Compatible(instance.Of()):
		tell(1, rules.compatible, " is not for a compatible render pass")
	case o.Subpass != instance.Subpass():
		tell(2, rules.subpass, " is for subpass %d, and used in %d", o.Subpass, instance.Subpass())
	}
}

// tellFormats holds the attachments of a dynamic rendering to the pipeline's formats.
func (o *Output) tellFormats(p *draw.Pass, rules *outputRules,
	tell func(bit uint32, rule vk.VUID, format string, args ...any)) {
	if o.ViewMask != p.ViewMask {
		tell(3, rules.viewMask, " has view mask %#x, the rendering %#x", o.ViewMask, p.ViewMask)
	}
	same := func(bit uint32, t *draw.Target, f vk.Format, rule, without vk.VUID, what string) {
		switch {
		case t.Image == nil && f != vk.FORMAT_UNDEFINED:
			tell(bit, without, " has a %s attachment of format %v, the rendering none", what, f)
		case t.Image != nil && t.Format != f:
			tell(bit+1, rule, " has a %s attachment of format %v, the rendering one of %v", what, f, t.Format)
		}
	}
	if len(o.Colors) != len(p.Colors) {
		tell(4, rules.count, " has %d colour attachments, the rendering %d", len(o.Colors), len(p.Colors))
	} else {
		for i := range p.Colors {
			same(5, &p.Colors[i], o.Colors[i], rules.color, rules.noColor, "colour")
		}
	}
	same(7, &p.Depth, o.Depth, rules.depth, rules.noDepth, "depth")
	same(9, &p.Stencil, o.Stencil, rules.stencil, rules.noStencil, "stencil")
}
