package vulkan

import (
	"unsafe"

	"farside/internal/vk"
)

// GraphicsState is what a graphics pipeline is made of: all structures that vkCreateGraphicsPipelines takes, for
// dynamic rendering. NewGraphicsState fills them with what a plain draw wants.
type GraphicsState struct {
	Info        *vk.GraphicsPipelineCreateInfo
	Stages      []vk.PipelineShaderStageCreateInfo // vertex, fragment
	Vertices    *vk.PipelineVertexInputStateCreateInfo
	Assembly    *vk.PipelineInputAssemblyStateCreateInfo
	Viewport    *vk.PipelineViewportStateCreateInfo
	Raster      *vk.PipelineRasterizationStateCreateInfo
	Multisample *vk.PipelineMultisampleStateCreateInfo
	Depth       *vk.PipelineDepthStencilStateCreateInfo
	Blend       *vk.PipelineColorBlendStateCreateInfo
	Attachments []vk.PipelineColorBlendAttachmentState
	Dynamic     *vk.PipelineDynamicStateCreateInfo
	Rendering   *vk.PipelineRenderingCreateInfo
	a           *Arena
}

// NewGraphicsState is the state of a pipeline that draws triangles, one sample, no tests, no blending, into colour
// attachments of these formats and a depth and stencil attachment; fragment may be 0. Viewport and scissor are
// one each, of the same size.
func NewGraphicsState(a *Arena, layout vk.PipelineLayout, vertex, fragment vk.ShaderModule, viewport vk.Viewport,
	colors []vk.Format, depth, stencil vk.Format) *GraphicsState {
	g := &GraphicsState{a: a, Info: Struct[vk.GraphicsPipelineCreateInfo](a),
		Vertices:    Struct[vk.PipelineVertexInputStateCreateInfo](a),
		Assembly:    Struct[vk.PipelineInputAssemblyStateCreateInfo](a),
		Viewport:    Struct[vk.PipelineViewportStateCreateInfo](a),
		Raster:      Struct[vk.PipelineRasterizationStateCreateInfo](a),
		Multisample: Struct[vk.PipelineMultisampleStateCreateInfo](a),
		Depth:       Struct[vk.PipelineDepthStencilStateCreateInfo](a),
		Blend:       Struct[vk.PipelineColorBlendStateCreateInfo](a),
		Dynamic:     Struct[vk.PipelineDynamicStateCreateInfo](a),
		Rendering:   Struct[vk.PipelineRenderingCreateInfo](a),
		Attachments: Make[vk.PipelineColorBlendAttachmentState](a, max(len(colors), 1)),
		Stages:      Make[vk.PipelineShaderStageCreateInfo](a, 2)}
	info := g.Info
	info.Layout, info.BasePipelineIndex = layout, -1
	for i, m := range []vk.ShaderModule{vertex, fragment} {
		if m == 0 {
			continue
		}
		s := &g.Stages[i]
		s.SType, s.Module, s.PName = vk.STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, m, a.String("main")
		s.Stage = []vk.ShaderStageFlagBits{vk.SHADER_STAGE_VERTEX_BIT, vk.SHADER_STAGE_FRAGMENT_BIT}[i]
		info.StageCount++
	}
	info.PStages = First(g.Stages)
	info.PVertexInputState, info.PInputAssemblyState = g.Vertices, g.Assembly
	info.PViewportState, info.PRasterizationState = g.Viewport, g.Raster
	info.PMultisampleState, info.PDepthStencilState = g.Multisample, g.Depth
	info.PColorBlendState, info.PDynamicState = g.Blend, g.Dynamic
	g.Assembly.Topology = vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST
	g.Viewport.ViewportCount, g.Viewport.PViewports = 1, Put(a, viewport)
	g.Viewport.ScissorCount = 1
	g.Viewport.PScissors = Put(a,
		vk.Rect2D{Extent: vk.Extent2D{Width: uint32(viewport.Width), Height: uint32(viewport.Height)}})
	g.Raster.LineWidth = 1
	g.Multisample.RasterizationSamples = vk.SAMPLE_COUNT_1_BIT
	g.Blend.AttachmentCount, g.Blend.PAttachments = uint32(len(colors)), First(g.Attachments)
	for i := range g.Attachments {
		g.Attachments[i].ColorWriteMask = 15
	}
	g.Rendering.ColorAttachmentCount = uint32(len(colors))
	g.Rendering.PColorAttachmentFormats = First(copied(a, colors))
	g.Rendering.DepthAttachmentFormat, g.Rendering.StencilAttachmentFormat = depth, stencil
	info.PNext = unsafe.Pointer(g.Rendering)
	return g
}

// Vertex adds an attribute of a binding: a location, its format and offset.
func (g *GraphicsState) Vertex(bindings []vk.VertexInputBindingDescription,
	attributes []vk.VertexInputAttributeDescription) {
	v := g.Vertices
	v.VertexBindingDescriptionCount = uint32(len(bindings))
	v.PVertexBindingDescriptions = First(copied(g.a, bindings))
	v.VertexAttributeDescriptionCount = uint32(len(attributes))
	v.PVertexAttributeDescriptions = First(copied(g.a, attributes))
}

// Vary makes states dynamic.
func (g *GraphicsState) Vary(states ...vk.DynamicState) {
	g.Dynamic.DynamicStateCount, g.Dynamic.PDynamicStates = uint32(len(states)), First(copied(g.a, states))
}

// CreateGraphicsPipeline is vkCreateGraphicsPipelines of one.
func (d *Device) CreateGraphicsPipeline(g *GraphicsState) (vk.Pipeline, vk.Result) {
	out := New[vk.Pipeline](g.a)
	r := vk.Result(d.Call("vkCreateGraphicsPipelines", 0, 1, addr(g.Info), 0, addr(out)))
	return *out, r
}

// Rendering is a vkCmdBeginRendering: attachments that are cleared or loaded, and where they are resolved to.
type Rendering struct {
	Area           vk.Rect2D
	Layers         uint32 // 0: 1
	ViewMask       uint32
	Colors         []vk.RenderingAttachmentInfo
	Depth, Stencil *vk.RenderingAttachmentInfo
	Flags          vk.RenderingFlags
}

// Attachment is a VkRenderingAttachmentInfo of a view in the general layout, which is loaded and stored.
func Attachment(view vk.ImageView) vk.RenderingAttachmentInfo {
	return vk.RenderingAttachmentInfo{SType: vk.STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO, ImageView: view,
		ImageLayout: vk.IMAGE_LAYOUT_GENERAL, LoadOp: vk.ATTACHMENT_LOAD_OP_LOAD, StoreOp: vk.ATTACHMENT_STORE_OP_STORE}
}

// Render records a rendering, with what draw records in it.
func (d *Device) Render(cb vk.CommandBuffer, r Rendering, draw func()) {
	var a Arena
	defer a.Close()
	info := Struct[vk.RenderingInfo](&a)
	info.Flags, info.RenderArea, info.LayerCount, info.ViewMask = r.Flags, r.Area, max(r.Layers, 1), r.ViewMask
	info.ColorAttachmentCount = uint32(len(r.Colors))
	info.PColorAttachments = First(copied(&a, r.Colors))
	if r.Depth != nil {
		info.PDepthAttachment = Put(&a, *r.Depth)
	}
	if r.Stencil != nil {
		info.PStencilAttachment = Put(&a, *r.Stencil)
	}
	d.CallOn("vkCmdBeginRendering", uintptr(cb), addr(info))
	draw()
	d.CallOn("vkCmdEndRendering", uintptr(cb))
}

// BindGraphics is vkCmdBindPipeline for graphics.
func (d *Device) BindGraphics(cb vk.CommandBuffer, p vk.Pipeline) {
	d.CallOn("vkCmdBindPipeline", uintptr(cb), uintptr(vk.PIPELINE_BIND_POINT_GRAPHICS), uintptr(p))
}

// BindVertices is vkCmdBindVertexBuffers of one buffer from its beginning.
func (d *Device) BindVertices(cb vk.CommandBuffer, binding uint32, b vk.Buffer) {
	var a Arena
	defer a.Close()
	d.CallOn("vkCmdBindVertexBuffers", uintptr(cb), uintptr(binding), 1, addr(Put(&a, b)), addr(New[vk.DeviceSize](&a)))
}

// Behind puts a structure first in the chain of another, both by their addresses.
func Behind(head, s unsafe.Pointer) {
	h, n := (*vk.BaseOutStructure)(head), (*vk.BaseOutStructure)(s)
	n.PNext, h.PNext = h.PNext, n
}
