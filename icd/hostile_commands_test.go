package icd

import (
	"unsafe"

	"farside/internal/vk"
)

// hostileStates are the dynamic states of hostile pipelines, and the commands that set them.
var hostileStates = []struct {
	state vk.DynamicState
	set   func(h *hostileTest, c vk.CommandBuffer)
}{
	{vk.DYNAMIC_STATE_VIEWPORT, func(h *hostileTest, c vk.CommandBuffer) {
		v := []vk.Viewport{h.viewport(), h.viewport()}
		commands.CmdSetViewport(c, h.number(0), 1+uint32(h.n(2)), &v[0])
	}},
	{vk.DYNAMIC_STATE_SCISSOR, func(h *hostileTest, c vk.CommandBuffer) {
		s := []vk.Rect2D{h.scissor(), h.scissor()}
		commands.CmdSetScissor(c, h.number(0), 1+uint32(h.n(2)), &s[0])
	}},
	{vk.DYNAMIC_STATE_LINE_WIDTH, func(h *hostileTest, c vk.CommandBuffer) { commands.CmdSetLineWidth(c, h.float(1)) }},
	{vk.DYNAMIC_STATE_DEPTH_BIAS, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetDepthBias(c, h.float(0), h.float(0), h.float(0))
	}},
	{vk.DYNAMIC_STATE_BLEND_CONSTANTS, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetBlendConstants(c, &[]float32{h.float(0), h.float(0), h.float(0), h.float(0)}[0])
	}},
	{vk.DYNAMIC_STATE_DEPTH_BOUNDS, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetDepthBounds(c, h.float(0), h.float(1))
	}},
	{vk.DYNAMIC_STATE_STENCIL_REFERENCE, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetStencilReference(c, vk.StencilFaceFlags(h.number(3)), h.number(1))
	}},
	{vk.DYNAMIC_STATE_STENCIL_WRITE_MASK, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetStencilWriteMask(c, vk.StencilFaceFlags(h.number(3)), h.number(255))
	}},
	{vk.DYNAMIC_STATE_STENCIL_OP, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetStencilOp(c, vk.StencilFaceFlags(h.number(3)), vk.StencilOp(h.enum(8)), vk.StencilOp(h.enum(8)),
			vk.StencilOp(h.enum(8)), vk.CompareOp(h.enum(8)))
	}},
	{vk.DYNAMIC_STATE_CULL_MODE, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetCullMode(c, vk.CullModeFlags(h.number(0)))
	}},
	{vk.DYNAMIC_STATE_PRIMITIVE_TOPOLOGY, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetPrimitiveTopology(c, vk.PrimitiveTopology(h.number(3)))
	}},
	{vk.DYNAMIC_STATE_DEPTH_TEST_ENABLE, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetDepthTestEnable(c, vk.Bool32(h.number(0)))
	}},
	{vk.DYNAMIC_STATE_STENCIL_TEST_ENABLE, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetStencilTestEnable(c, vk.Bool32(h.number(0)))
	}},
	{vk.DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetRasterizerDiscardEnable(c, vk.Bool32(h.number(0)))
	}},
	{vk.DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetPrimitiveRestartEnable(c, vk.Bool32(h.number(0)))
	}},
	{vk.DYNAMIC_STATE_POLYGON_MODE_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetPolygonModeEXT(c, vk.PolygonMode(h.number(0)))
	}},
	{vk.DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetRasterizationSamplesEXT(c, vk.SampleCountFlagBits(h.number(1)))
	}},
	{vk.DYNAMIC_STATE_SAMPLE_MASK_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		mask := vk.SampleMask(h.number(15))
		commands.CmdSetSampleMaskEXT(c, vk.SampleCountFlagBits(h.number(1)), &mask)
	}},
	{vk.DYNAMIC_STATE_DEPTH_CLIP_ENABLE_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetDepthClipEnableEXT(c, vk.Bool32(h.number(0)))
	}},
	{vk.DYNAMIC_STATE_DEPTH_CLAMP_RANGE_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		r := vk.DepthClampRangeEXT{MinDepthClamp: h.float(0), MaxDepthClamp: h.float(1)}
		commands.CmdSetDepthClampRangeEXT(c, vk.DepthClampModeEXT(h.number(1)), &r)
	}},
	{vk.DYNAMIC_STATE_LINE_STIPPLE, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetLineStipple(c, h.number(1), uint16(h.number(1)))
	}},
	{vk.DYNAMIC_STATE_LINE_RASTERIZATION_MODE_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetLineRasterizationModeEXT(c, vk.LineRasterizationModeEXT(h.number(0)))
	}},
	{vk.DYNAMIC_STATE_LOGIC_OP_ENABLE_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdSetLogicOpEnableEXT(c, vk.Bool32(h.number(0)))
		commands.CmdSetLogicOpEXT(c, vk.LogicOp(h.number(0)))
	}},
	{vk.DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		list := []vk.Bool32{vk.Bool32(h.number(0)), 1}
		commands.CmdSetColorBlendEnableEXT(c, h.number(0), 1+uint32(h.n(2)), &list[0])
	}},
	{vk.DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		e := vk.ColorBlendEquationEXT{SrcColorBlendFactor: vk.BlendFactor(h.number(0)),
			DstColorBlendFactor: vk.BlendFactor(h.number(0)), ColorBlendOp: vk.BlendOp(h.number(0))}
		commands.CmdSetColorBlendEquationEXT(c, h.number(0), 1, &e)
	}},
	{vk.DYNAMIC_STATE_COLOR_WRITE_MASK_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		list := []vk.ColorComponentFlags{vk.ColorComponentFlags(h.number(15)), 15}
		commands.CmdSetColorWriteMaskEXT(c, h.number(0), 1+uint32(h.n(2)), &list[0])
	}},
	{vk.DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		list := []vk.Bool32{vk.Bool32(h.number(1)), 0}
		commands.CmdSetColorWriteEnableEXT(c, 1+uint32(h.n(2)), &list[0])
	}},
	{vk.DYNAMIC_STATE_VERTEX_INPUT_EXT, func(h *hostileTest, c vk.CommandBuffer) {
		bindings := []vk.VertexInputBindingDescription2EXT{{Binding: h.number(1), Stride: h.number(16), Divisor: h.number(1)},
			{Binding: h.number(2), InputRate: vk.VertexInputRate(h.number(1)), Divisor: h.number(1)}}
		attributes := []vk.VertexInputAttributeDescription2EXT{{Binding: h.number(1), Offset: h.number(0),
			Format: vk.Format(h.number(uint32(vk.FORMAT_R32G32B32A32_SFLOAT)))}, {Location: h.number(1), Binding: h.number(2),
			Format: vk.Format(h.number(uint32(vk.FORMAT_R32G32_UINT)))}}
		commands.CmdSetVertexInputEXT(c, 2, &bindings[0], uint32(h.n(3)), &attributes[0])
	}},
	{vk.DYNAMIC_STATE_VIEWPORT_WITH_COUNT, func(h *hostileTest, c vk.CommandBuffer) {
		v := []vk.Viewport{h.viewport(), h.viewport()}
		commands.CmdSetViewportWithCount(c, 1+uint32(h.n(2)), &v[0])
	}},
	{vk.DYNAMIC_STATE_SCISSOR_WITH_COUNT, func(h *hostileTest, c vk.CommandBuffer) {
		s := []vk.Rect2D{h.scissor(), h.scissor()}
		commands.CmdSetScissorWithCount(c, 1+uint32(h.n(2)), &s[0])
	}},
}

// hostileCommand is what FuzzCommands records, with a name for its seeds.
type hostileCommand struct {
	name string
	add  func(h *hostileTest, c vk.CommandBuffer)
}

var hostileCommands = []hostileCommand{
	{"beginRendering", (*hostileTest).beginRendering},
	{"endRendering", func(h *hostileTest, c vk.CommandBuffer) { commands.CmdEndRendering(c) }},
	{"beginRenderPass", (*hostileTest).beginRenderPass},
	{"nextSubpass", func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdNextSubpass(c, vk.SubpassContents(h.number(0)))
	}},
	{"endRenderPass", func(h *hostileTest, c vk.CommandBuffer) { commands.CmdEndRenderPass(c) }},
	{"bindPipeline", func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdBindPipeline(c, vk.PIPELINE_BIND_POINT_GRAPHICS-vk.PipelineBindPoint(h.byte()>>7), h.pipeline())
	}},
	{"bindShaders", func(h *hostileTest, c vk.CommandBuffer) {
		stages := []vk.ShaderStageFlagBits{vk.SHADER_STAGE_VERTEX_BIT, vk.SHADER_STAGE_FRAGMENT_BIT}
		shaders := []vk.ShaderEXT{h.object(), 0}
		if h.byte() < 250 {
			shaders[1] = h.object()
		}
		commands.CmdBindShadersEXT(c, 1+uint32(h.n(2)), &stages[0], &shaders[0])
	}},
	{"bindVertexBuffers", func(h *hostileTest, c vk.CommandBuffer) {
		list := []vk.Buffer{h.buffer(), h.buffer(), 0}
		offsets := []vk.DeviceSize{h.size(0), h.size(0), 0}
		sizes := []vk.DeviceSize{h.size(vk.WHOLE_SIZE), h.size(vk.WHOLE_SIZE), 0}
		strides := []vk.DeviceSize{h.size(16), h.size(16), 0}
		first, count := h.number(1), 2+uint32(h.n(2))
		if h.flag() {
			commands.CmdBindVertexBuffers2(c, first, count, &list[0], &offsets[0], &sizes[0], &strides[0])
		} else {
			commands.CmdBindVertexBuffers(c, first, count, &list[0], &offsets[0])
		}
	}},
	{"bindIndexBuffer", func(h *hostileTest, c vk.CommandBuffer) {
		indices := []vk.IndexType{vk.INDEX_TYPE_UINT16, vk.INDEX_TYPE_UINT32, vk.INDEX_TYPE_UINT8, 77}[h.byte()%4]
		if h.flag() {
			commands.CmdBindIndexBuffer2(c, h.buffer(), h.size(0), h.size(vk.WHOLE_SIZE), indices)
		} else {
			commands.CmdBindIndexBuffer(c, h.buffer(), h.size(0), indices)
		}
	}},
	{"bindDescriptorSets", func(h *hostileTest, c vk.CommandBuffer) {
		set, offset := h.set(), h.number(0)
		commands.CmdBindDescriptorSets(c, vk.PIPELINE_BIND_POINT_GRAPHICS, h.layout(), h.number(0), 1, &set,
			uint32(h.byte()>>7), &offset)
	}},
	{"updateDescriptorSets", func(h *hostileTest, _ vk.CommandBuffer) { h.write(h.set()) }},
	{"pushConstants", func(h *hostileTest, c vk.CommandBuffer) {
		values := [64]uint32{h.word(), h.word(), h.word(), h.word(), h.number(3)}
		commands.CmdPushConstants(c, h.layout(), forGraphics, 4*h.number(0), min(h.number(20), 256),
			unsafe.Pointer(&values[0]))
	}},
	{"draw", func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdDraw(c, h.number(3), h.number(1), h.number(0), h.number(0))
	}},
	{"drawIndexed", func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdDrawIndexed(c, h.number(3), h.number(1), h.number(0), int32(h.number(0)), h.number(0))
	}},
	{"drawIndirect", func(h *hostileTest, c vk.CommandBuffer) {
		b, offset, count, stride := h.buffer(), h.size(0), h.number(1), h.number(20)
		if h.flag() {
			commands.CmdDrawIndexedIndirect(c, b, offset, count, stride)
		} else {
			commands.CmdDrawIndirect(c, b, offset, count, stride)
		}
	}},
	{"drawIndirectCount", func(h *hostileTest, c vk.CommandBuffer) {
		b, offset, counter, at, most, stride := h.buffer(), h.size(0), h.buffer(), h.size(0), h.number(1), h.number(20)
		if h.flag() {
			commands.CmdDrawIndexedIndirectCount(c, b, offset, counter, at, most, stride)
		} else {
			commands.CmdDrawIndirectCount(c, b, offset, counter, at, most, stride)
		}
	}},
	{"drawMulti", func(h *hostileTest, c vk.CommandBuffer) {
		list := []vk.MultiDrawInfoEXT{{VertexCount: h.number(3), FirstVertex: h.number(0)}, {VertexCount: h.number(3)}}
		indexed := []vk.MultiDrawIndexedInfoEXT{{IndexCount: h.number(3), VertexOffset: int32(h.number(0))},
			{FirstIndex: h.number(0), IndexCount: 3}}
		if h.flag() {
			commands.CmdDrawMultiIndexedEXT(c, uint32(h.n(3)), &indexed[0], h.number(1), h.number(0), 12, nil)
		} else {
			commands.CmdDrawMultiEXT(c, uint32(h.n(3)), &list[0], h.number(1), h.number(0), 8)
		}
	}},
	{"clearAttachments", func(h *hostileTest, c vk.CommandBuffer) {
		a := vk.ClearAttachment{AspectMask: 1 + vk.ImageAspectFlags(h.number(0)), ColorAttachment: h.number(0)}
		*a.ClearValue.Color().Float32() = [4]float32{h.float(0), h.float(0), 1, 1}
		r := vk.ClearRect{Rect: h.scissor(), BaseArrayLayer: h.number(0), LayerCount: h.number(1)}
		commands.CmdClearAttachments(c, 1, &a, 1, &r)
	}},
	{"state", func(h *hostileTest, c vk.CommandBuffer) { hostileStates[h.n(len(hostileStates))].set(h, c) }},
	{"states", func(h *hostileTest, c vk.CommandBuffer) {
		h.data = nil // all have values in order
		for i := range hostileStates {
			hostileStates[i].set(h, c)
		}
	}},
	{"beginQuery", func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdBeginQuery(c, h.query(), h.number(0), vk.QueryControlFlags(h.number(0)))
	}},
	{"endQuery", func(h *hostileTest, c vk.CommandBuffer) { commands.CmdEndQuery(c, h.query(), h.number(0)) }},
	{"resetQueries", func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdResetQueryPool(c, h.query(), h.number(0), h.number(1))
	}},
	{"timestamp", func(h *hostileTest, c vk.CommandBuffer) {
		commands.CmdWriteTimestamp(c, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, h.query(), h.number(0))
	}},
	{"copyQueries", func(h *hostileTest, c vk.CommandBuffer) { // one that waits may wait for ever
		commands.CmdCopyQueryPoolResults(c, h.query(), h.number(0), h.number(1), h.buffer(), h.size(0), h.size(8),
			vk.QueryResultFlags(h.number(1))&^vk.QUERY_RESULT_WAIT_BIT)
	}},
	{"executeCommands", func(h *hostileTest, c vk.CommandBuffer) {
		list := []vk.CommandBuffer{h.list(vk.COMMAND_BUFFER_LEVEL_SECONDARY), h.list(vk.COMMAND_BUFFER_LEVEL_SECONDARY)}
		switch b := h.byte(); {
		case b > 250:
			list[0] = c
		case b < 230:
			for _, inner := range list {
				commands.EndCommandBuffer(inner)
			}
		}
		commands.CmdExecuteCommands(c, 1+uint32(h.n(2)), &list[0])
	}},
	{"locations", func(h *hostileTest, c vk.CommandBuffer) {
		list := []uint32{uint32(h.n(9)), 1 + uint32(h.n(4)), 5 + uint32(h.n(4))}
		commands.CmdSetRenderingAttachmentLocations(c, &vk.RenderingAttachmentLocationInfo{
			ColorAttachmentCount: 1 + uint32(h.n(3)), PColorAttachmentLocations: &list[0]})
	}},
	{"transfer", (*hostileTest).transfer},
	{"begin", (*hostileTest).begin},
	{"end", func(h *hostileTest, c vk.CommandBuffer) {
		switch h.n(32) {
		case 1:
			commands.EndCommandBuffer(c)
		case 2:
			commands.ResetCommandBuffer(c, 0)
		case 3:
			h.submit(c)
		case 4:
			commands.EndCommandBuffer(c)
			h.submit(c)
		}
	}},
	{"barrier", func(h *hostileTest, c vk.CommandBuffer) {
		b := vk.ImageMemoryBarrier{Image: h.image(0), NewLayout: vk.ImageLayout(h.number(1)),
			SubresourceRange: h.subresources()}
		commands.CmdPipelineBarrier(c, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nil, 0,
			nil, 1, &b)
	}},
}

// begin begins a command buffer anew; one that continues a pass says of that what it likes.
func (h *hostileTest) begin(c vk.CommandBuffer) {
	if h.byte() < 240 {
		commands.ResetCommandBuffer(c, 0)
	}
	inherits := &vk.CommandBufferInheritanceInfo{OcclusionQueryEnable: vk.Bool32(h.n(2))}
	begin := vk.CommandBufferBeginInfo{PInheritanceInfo: inherits}
	formats := []vk.Format{hostileImages[h.n(len(hostileImages))].Format, vk.FORMAT_R8_UNORM}
	rendering := vk.CommandBufferInheritanceRenderingInfo{
		SType:                vk.STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
		ColorAttachmentCount: 1 + uint32(h.n(2)), PColorAttachmentFormats: &formats[0],
		RasterizationSamples: vk.SampleCountFlagBits(h.number(1)), ViewMask: uint32(h.byte()) >> 5}
	switch h.n(4) {
	case 1:
		begin.Flags = vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT
		inherits.PNext = unsafe.Pointer(&rendering)
	case 2:
		begin.Flags = vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT | vk.COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
		number, pass := h.pass()
		inherits.RenderPass, inherits.Subpass, inherits.Framebuffer = pass, h.number(0), h.framebuffer(number, pass)
	case 3:
		begin.Flags = vk.COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
	}
	commands.BeginCommandBuffer(c, &begin)
}

// attachment describes an attachment of a rendering.
func (h *hostileTest) attachment(usual int) vk.RenderingAttachmentInfo {
	a := vk.RenderingAttachmentInfo{ImageView: h.view(usual), LoadOp: vk.AttachmentLoadOp(h.enum(3)),
		StoreOp: vk.AttachmentStoreOp(h.enum(2))}
	if b := h.byte(); b != 0 {
		a.ResolveMode, a.ResolveImageView = vk.ResolveModeFlagBits(b&15), h.view(0)
	}
	*a.ClearValue.Color().Float32() = [4]float32{h.float(1), h.float(0), 0, 1}
	return a
}

func (h *hostileTest) beginRendering(c vk.CommandBuffer) {
	flags, count, usual := vk.RenderingFlags(h.number(0)), (1+h.n(3))%3, 0
	if h.byte() > 200 {
		usual = 1
	}
	info := vk.RenderingInfo{Flags: flags, RenderArea: h.scissor(), LayerCount: h.number(1),
		ViewMask: uint32(h.byte()) >> 5, ColorAttachmentCount: uint32(count)}
	colors := []vk.RenderingAttachmentInfo{h.attachment(usual), h.attachment(4)}
	info.PColorAttachments = &colors[0]
	if depth := h.attachment(2); h.flag() {
		info.PDepthAttachment = &depth
	}
	if stencil := h.attachment(2); h.flag() {
		info.PStencilAttachment = &stencil
	}
	commands.CmdBeginRendering(c, &info)
}

func (h *hostileTest) beginRenderPass(c vk.CommandBuffer) {
	number, pass := h.pass()
	clears := make([]vk.ClearValue, 3)
	clears[h.n(3)].DepthStencil().Depth = h.float(1)
	begin := vk.RenderPassBeginInfo{RenderPass: pass, Framebuffer: h.framebuffer(number, pass), RenderArea: h.scissor(),
		ClearValueCount: (3 + uint32(h.n(4))) % 4, PClearValues: &clears[0]}
	if h.byte() > 200 {
		number, begin.RenderPass = h.pass() // which need not go with the framebuffer
	}
	views := []vk.ImageView{h.view(number), h.view(2), h.view(0)}
	attachments := vk.RenderPassAttachmentBeginInfo{SType: vk.STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO,
		AttachmentCount: uint32(1 + h.n(3)), PAttachments: &views[0]}
	if h.flag() {
		begin.PNext = unsafe.Pointer(&attachments)
	}
	commands.CmdBeginRenderPass(c, &begin, vk.SubpassContents(h.number(0)))
}

func (h *hostileTest) subresources() vk.ImageSubresourceRange {
	return vk.ImageSubresourceRange{AspectMask: 1 + vk.ImageAspectFlags(h.number(0)), BaseMipLevel: h.number(0),
		LevelCount: h.number(1), BaseArrayLayer: h.number(0), LayerCount: h.number(1)}
}

// transfer records a command that moves bytes, which need not be outside of passes.
func (h *hostileTest) transfer(c vk.CommandBuffer) {
	layers := vk.ImageSubresourceLayers{AspectMask: 1 + vk.ImageAspectFlags(h.number(0)), MipLevel: h.number(0),
		BaseArrayLayer: h.number(0), LayerCount: h.number(1)}
	end := vk.Offset3D{X: int32(h.number(4)), Y: int32(h.number(4)), Z: 1}
	extent := vk.Extent3D{Width: h.number(4), Height: h.number(4), Depth: 1}
	switch h.n(7) {
	case 0:
		commands.CmdFillBuffer(c, h.buffer(), h.size(0), h.size(vk.WHOLE_SIZE), h.word())
	case 1:
		r := vk.BufferImageCopy{BufferOffset: h.size(0), BufferRowLength: h.number(0), ImageSubresource: layers,
			ImageExtent: extent}
		commands.CmdCopyBufferToImage(c, h.buffer(), h.image(0), vk.IMAGE_LAYOUT_GENERAL, 1, &r)
	case 2:
		r := vk.BufferImageCopy{BufferOffset: h.size(0), ImageSubresource: layers, ImageOffset: end, ImageExtent: extent}
		commands.CmdCopyImageToBuffer(c, h.image(0), vk.IMAGE_LAYOUT_GENERAL, h.buffer(), 1, &r)
	case 3:
		r := vk.ImageResolve{SrcSubresource: layers, DstSubresource: layers, DstOffset: end, Extent: extent}
		commands.CmdResolveImage(c, h.image(1), vk.IMAGE_LAYOUT_GENERAL, h.image(0), vk.IMAGE_LAYOUT_GENERAL, 1, &r)
	case 4:
		r := vk.ImageBlit{SrcSubresource: layers, DstSubresource: layers, SrcOffsets: [2]vk.Offset3D{{}, end},
			DstOffsets: [2]vk.Offset3D{{X: int32(h.number(0))}, {X: int32(h.number(9)), Y: int32(h.number(9)), Z: 1}}}
		commands.CmdBlitImage(c, h.image(0), vk.IMAGE_LAYOUT_GENERAL, h.image(0), vk.IMAGE_LAYOUT_GENERAL, 1, &r,
			vk.Filter(h.number(0)))
	case 5:
		r := h.subresources()
		commands.CmdClearColorImage(c, h.image(0), vk.IMAGE_LAYOUT_GENERAL, new(vk.ClearColorValue), 1, &r)
	default:
		r := vk.ImageCopy{SrcSubresource: layers, DstSubresource: layers, SrcOffset: end, Extent: extent}
		commands.CmdCopyImage(c, h.image(0), vk.IMAGE_LAYOUT_GENERAL, h.image(0), vk.IMAGE_LAYOUT_GENERAL, 1, &r)
	}
}
