package conformance

import (
	"encoding/binary"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// drawQueryCases count what draws of secondary command buffers do for queries of the primary one.
func drawQueryCases() []definition {
	return []definition{
		drawCase("query_pool.inherited.occlusion", func(c *Case) {
			inheritedCase(c, vk.QUERY_TYPE_OCCLUSION, 0, 16*16+4*16)
		}, "InheritedQueries", "OcclusionQueryPrecise"),
		drawCase("query_pool.inherited.statistics", func(c *Case) {
			inheritedCase(c, vk.QUERY_TYPE_PIPELINE_STATISTICS,
				vk.QueryPipelineStatisticFlags(vk.QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_VERTICES_BIT), 6)
		}, "InheritedQueries", "PipelineStatisticsQuery"),
	}
}

// inheritedCase begins a query, executes a secondary command buffer that draws twice, the second time into a scissor,
// and looks at the count and at the pixels.
func inheritedCase(c *Case, kind vk.QueryType, statistics vk.QueryPipelineStatisticFlags, want uint64) {
	s := c.scene(16, 16, 1, 1, 0, rgba32f)
	defer s.close()
	q := vulkan.Struct[vk.QueryPoolCreateInfo](&s.a)
	q.QueryType, q.QueryCount, q.PipelineStatistics = kind, 1, statistics
	pool := vulkan.New[vk.QueryPool](&s.a)
	c.must("vkCreateQueryPool", vk.Result(c.dev.Call("vkCreateQueryPool", ptr(q), 0, ptr(pool))))
	s.free = append(s.free, func() { c.dev.Call("vkDestroyQueryPool", uintptr(*pool), 0) })
	d := s.drawing(&look{vertex: wholeTarget, fragment: white,
		edit: func(g *vulkan.GraphicsState) { g.Vary(vk.DYNAMIC_STATE_SCISSOR) }})

	inner := c.commandBuffers(s.pool, vk.COMMAND_BUFFER_LEVEL_SECONDARY, 1)[0]
	rendering := vulkan.Struct[vk.CommandBufferInheritanceRenderingInfo](&s.a)
	rendering.ColorAttachmentCount, rendering.PColorAttachmentFormats = 1, vulkan.Put(&s.a, rgba32f)
	rendering.RasterizationSamples = vk.SAMPLE_COUNT_1_BIT
	inherited := vulkan.Struct[vk.CommandBufferInheritanceInfo](&s.a)
	inherited.PNext, inherited.PipelineStatistics = unsafe.Pointer(rendering), statistics
	flags := vk.QueryControlFlags(0)
	if kind == vk.QUERY_TYPE_OCCLUSION {
		flags = vk.QueryControlFlags(vk.QUERY_CONTROL_PRECISE_BIT)
		inherited.OcclusionQueryEnable, inherited.QueryFlags = vk.TRUE, flags
	}
	begin := vulkan.Struct[vk.CommandBufferBeginInfo](&s.a)
	begin.Flags, begin.PInheritanceInfo = vk.COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT, inherited
	c.must("vkBeginCommandBuffer", vk.Result(c.dev.CallOn("vkBeginCommandBuffer", uintptr(inner), ptr(begin))))
	c.dev.BindGraphics(inner, d.pipeline)
	for _, width := range []uint32{16, 4} {
		r := vulkan.Put(&s.a, vk.Rect2D{Extent: vk.Extent2D{Width: width, Height: 16}})
		c.dev.CallOn("vkCmdSetScissor", uintptr(inner), 0, 1, ptr(r))
		c.dev.CallOn("vkCmdDraw", uintptr(inner), 3, 1, 0, 0)
	}
	c.must("vkEndCommandBuffer", vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(inner))))

	s.begin(s.cb, 0)
	s.cmd("vkCmdResetQueryPool", uintptr(*pool), 0, 1)
	s.transition(s.colors[0].image, s.colors[0].aspects)
	a := vulkan.Attachment(s.colors[0].view)
	a.LoadOp = vk.ATTACHMENT_LOAD_OP_CLEAR
	s.cmd("vkCmdBeginQuery", uintptr(*pool), 0, uintptr(flags))
	c.dev.Render(s.cb, vulkan.Rendering{Flags: vk.RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT,
		Area: vk.Rect2D{Extent: vk.Extent2D{Width: 16, Height: 16}}, Layers: 1,
		Colors: []vk.RenderingAttachmentInfo{a}}, func() {
		c.dev.CallOn("vkCmdExecuteCommands", uintptr(s.cb), 1, ptr(vulkan.Put(&s.a, inner)))
	})
	s.cmd("vkCmdEndQuery", uintptr(*pool), 0)
	s.everything(s.cb)
	s.end(s.cb)
	s.submit(s.cb)
	got := vulkan.Make[byte](&s.a, 8)
	c.must("vkGetQueryPoolResults", vk.Result(c.dev.Call("vkGetQueryPoolResults", uintptr(*pool), 0, 1, 8, ptr(&got[0]), 8,
		uintptr(wide|await))))
	if n := binary.LittleEndian.Uint64(got); n != want {
		c.Errorf("the query counted %d, want %d", n, want)
	}
	s.pixels(s.colors[0], 0, all(1))
}
