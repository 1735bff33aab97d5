package exec

import (
	"farside/internal/command"
	"farside/internal/vk"
)

// Secondary is a secondary command buffer.
type Secondary struct {
	Stream   *command.Stream
	Inherits *Inheritance // nil: nobody knows
}

// Inheritance is what a secondary command buffer says of where it is executed. It is Output's that it draws to. It
// stays as it is until the command buffer is recorded anew.
type Inheritance struct {
	Output
	Continues   bool           // a render pass or a dynamic rendering
	Framebuffer vk.Framebuffer // of the render pass; 0: it may be any
	Flags       vk.RenderingFlags
	Samples     uint32 // of the rendering's attachments

	Occlusion, Precise bool // such queries may be active
	Statistics         vk.QueryPipelineStatisticFlags
}

// Begin makes what a recording begins with.
func (i *Inheritance) Begin(continues bool) {
	i.Pass, i.Subpass, i.ViewMask, i.Colors, i.Depth, i.Stencil = nil, 0, 0, i.Colors[:0], 0, 0
	i.told.Store(0)
	i.Continues, i.Framebuffer, i.Flags, i.Samples = continues, 0, 0, 0
	i.Occlusion, i.Precise, i.Statistics = false, false, 0
}

// inheritedOutputs are the rules of vkCmdExecuteCommands about the pass that its command buffers continue.
var inheritedOutputs = outputRules{
	who:        "secondary command buffer",
	compatible: vk.VUID_vkCmdExecuteCommands_pBeginInfo_06020,
	subpass:    vk.VUID_vkCmdExecuteCommands_pCommandBuffers_06019,
	dynamic:    vk.VUID_vkCmdExecuteCommands_pBeginInfo_06025,
	viewMask:   vk.VUID_vkCmdExecuteCommands_viewMask_06031,
	count:      vk.VUID_vkCmdExecuteCommands_colorAttachmentCount_06027,
	color:      vk.VUID_vkCmdExecuteCommands_imageView_06028,
	noColor:    vk.VUID_vkCmdExecuteCommands_imageView_07606,
	depth:      vk.VUID_vkCmdExecuteCommands_pDepthAttachment_06029,
	noDepth:    vk.VUID_vkCmdExecuteCommands_pDepthAttachment_06774,
	stencil:    vk.VUID_vkCmdExecuteCommands_pStencilAttachment_06030,
	noStencil:  vk.VUID_vkCmdExecuteCommands_pStencilAttachment_06775,
}

// tellInherited tells of a secondary command buffer that is executed elsewhere than it says. Its commands go by the
// pass and the queries that are there. Each rule is told of once for a recording.
func (r *replay) tellInherited(i *Inheritance) {
	tell := func(bit uint32, rule vk.VUID, format string, args ...any) {
		if first(&i.told, 1<<bit) {
			r.told(rule, "works, but the secondary command buffer "+format, args...)
		}
	}
	const continues = vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT
	switch {
	case r.pass == nil && i.Continues:
		tell(16, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_00100, "was begun with %v, and no render pass is under way",
			continues)
	case r.pass != nil && !i.Continues:
		tell(17, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_00096, "is executed in a render pass, and was begun without %v",
			continues)
	case r.pass != nil:
		r.tellOutput(&i.Output, &inheritedOutputs)
		r.tellContinued(i, tell)
	}
	for n := range r.graphics.queries {
		q := &r.graphics.queries[n]
		switch {
		case q.pool.kind == vk.QUERY_TYPE_OCCLUSION && !i.Occlusion:
			tell(18, vk.VUID_vkCmdExecuteCommands_commandBuffer_00101, "does not inherit occlusion queries, and one is active")
		case q.pool.kind == vk.QUERY_TYPE_OCCLUSION && q.precise && !i.Precise:
			tell(19, vk.VUID_vkCmdExecuteCommands_commandBuffer_00102, "does not inherit precise queries, and one is active")
		case q.pool.statistics&^i.Statistics != 0:
			tell(20, vk.VUID_vkCmdExecuteCommands_commandBuffer_00103, "does not inherit statistics %v, and a query counts them",
				q.pool.statistics&^i.Statistics)
		}
	}
}

// tellContinued holds a secondary command buffer to the instance under way.
func (r *replay) tellContinued(i *Inheritance, tell func(bit uint32, rule vk.VUID, format string, args ...any)) {
	const secondary = vk.RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT
	s := &r.passes
	if !s.dynamic {
		if i.Framebuffer != 0 && i.Framebuffer != s.framebuffer {
			tell(21, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_00099, "names framebuffer %#x, and the render pass has %#x",
				uint64(i.Framebuffer), uint64(s.framebuffer))
		}
		return
	}
	if s.flags&secondary == 0 {
		tell(22, vk.VUID_vkCmdExecuteCommands_flags_06024, "is executed in a rendering that was begun without %v",
			secondary)
	}
	if i.Pass != nil {
		return // which has been told of
	}
	if has := s.flags &^ secondary; i.Flags != has {
		tell(23, vk.VUID_vkCmdExecuteCommands_flags_06026, "says that the rendering has flags %v, and it has %v", i.Flags,
			has)
	}
	samples := func(bit uint32, there bool, rule vk.VUID) {
		if there && i.Samples != r.pass.Samples {
			tell(bit, rule, "says that attachments have %d samples, and they have %d", i.Samples, r.pass.Samples)
		}
	}
	for n := range r.pass.Colors {
		samples(24, r.pass.Colors[n].Image != nil, vk.VUID_vkCmdExecuteCommands_pNext_06035)
	}
	samples(25, r.pass.Depth.Image != nil, vk.VUID_vkCmdExecuteCommands_pNext_06036)
	samples(26, r.pass.Stencil.Image != nil, vk.VUID_vkCmdExecuteCommands_pNext_06037)
}
