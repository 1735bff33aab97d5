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
	Samples     uint32   // of the rendering's attachments
	Locations   []uint32 // of its colour attachments; none: those of the same numbers
	Inputs      []uint32 // the input attachments that the attachments are, as in command.SetInputs; none: as in passes

	Occlusion, Precise bool // such queries may be active
	Statistics         vk.QueryPipelineStatisticFlags
}

// Begin makes what a recording begins with.
func (i *Inheritance) Begin(continues bool) {
	i.Pass, i.Subpass, i.ViewMask, i.Colors, i.Depth, i.Stencil = nil, 0, 0, i.Colors[:0], 0, 0
	i.told.Store(0)
	i.Continues, i.Framebuffer, i.Flags, i.Samples, i.Locations, i.Inputs = continues, 0, 0, 0, nil, nil
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
		r.tellContents(tell)
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
	r.tellMapped(i, tell)
}

// tellMapped holds a secondary command buffer to what the colour attachments are for shaders.
func (r *replay) tellMapped(i *Inheritance, tell func(bit uint32, rule vk.VUID, format string, args ...any)) {
	count := len(r.pass.Colors)
	for n := range r.pass.Colors {
		if own, has := location(i.Locations, n), location(r.pass.ColorLocations, n); own != has {
			tell(29, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_09504,
				"says that attachment %d has location %d, and it has %d", n, int32(own), int32(has))
		}
	}
	for n := range count + 2 {
		if own, has := inputOf(i.Inputs, n, count), inputOf(r.passes.inputs, n, count); own != has {
			tell(30, vk.VUID_vkCmdExecuteCommands_pCommandBuffers_09505,
				"says that attachment %d is input attachment %d, and it is %d", n, int32(own), int32(has))
		}
	}
}

// tellContents tells of a subpass that was not begun for secondary command buffers.
func (r *replay) tellContents(tell func(bit uint32, rule vk.VUID, format string, args ...any)) {
	switch contents := r.passes.contents; {
	case contents == vk.SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS,
		contents == vk.SUBPASS_CONTENTS_INLINE_AND_SECONDARY_COMMAND_BUFFERS_KHR:
	case r.passes.instance.Subpass() == 0:
		tell(27, vk.VUID_vkCmdExecuteCommands_contents_09680, "is executed in a render pass that was begun with %v", contents)
	default:
		tell(28, vk.VUID_vkCmdExecuteCommands_None_09681, "is executed in a subpass that was begun with %v", contents)
	}
}
