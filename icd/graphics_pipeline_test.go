package icd

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"farside/internal/vk"
)

// graphicsTest is a device that has graphics.
type graphicsTest struct{ computeTest }

func newGraphicsTest(t *testing.T) graphicsTest {
	return graphicsTest{newComputeTest(t)}
}

// graphicsInfo is what describes a graphics pipeline, with room for what it points to.
type graphicsInfo struct {
	vk.GraphicsPipelineCreateInfo
	stages        [2]vk.PipelineShaderStageCreateInfo
	input         vk.PipelineVertexInputStateCreateInfo
	bindings      []vk.VertexInputBindingDescription
	attributes    []vk.VertexInputAttributeDescription
	assembly      vk.PipelineInputAssemblyStateCreateInfo
	viewport      vk.PipelineViewportStateCreateInfo
	viewports     []vk.Viewport
	scissors      []vk.Rect2D
	rasterization vk.PipelineRasterizationStateCreateInfo
	multisample   vk.PipelineMultisampleStateCreateInfo
	depth         vk.PipelineDepthStencilStateCreateInfo
	blend         vk.PipelineColorBlendStateCreateInfo
	blends        []vk.PipelineColorBlendAttachmentState
	dynamic       vk.PipelineDynamicStateCreateInfo
	states        []vk.DynamicState
	rendering     vk.PipelineRenderingCreateInfo
}

// graphics describes a pipeline with one vertex attribute and one attachment.
func (c graphicsTest) graphics(vertex, fragment vk.ShaderModule, l vk.PipelineLayout) *graphicsInfo {
	i := &graphicsInfo{
		bindings:   []vk.VertexInputBindingDescription{{Binding: 1, Stride: 16}, {Binding: 2, InputRate: 1}},
		attributes: []vk.VertexInputAttributeDescription{{Binding: 1, Format: vk.FORMAT_R32G32_SFLOAT}},
		viewports:  []vk.Viewport{{Width: 8, Height: 8, MaxDepth: 1}}, scissors: make([]vk.Rect2D, 1),
		blends: make([]vk.PipelineColorBlendAttachmentState, 1),
	}
	i.stages[0] = vk.PipelineShaderStageCreateInfo{Stage: vk.SHADER_STAGE_VERTEX_BIT, Module: vertex, PName: &mainName[0]}
	i.stages[1] = vk.PipelineShaderStageCreateInfo{Stage: vk.SHADER_STAGE_FRAGMENT_BIT, Module: fragment,
		PName: &mainName[0]}
	i.StageCount, i.PStages, i.Layout, i.BasePipelineIndex = 2, &i.stages[0], l, -1
	i.assembly.Topology = vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST
	i.rasterization.LineWidth = 1
	i.multisample.RasterizationSamples = vk.SAMPLE_COUNT_1_BIT
	i.rendering.SType = i.rendering.StructureType()
	i.PNext = unsafe.Pointer(&i.rendering)
	return i
}

// fill makes the structures point to each other.
func (i *graphicsInfo) fill() *vk.GraphicsPipelineCreateInfo {
	i.input.VertexBindingDescriptionCount, i.input.PVertexBindingDescriptions = uint32(len(i.bindings)),
		unsafe.SliceData(i.bindings)
	i.input.VertexAttributeDescriptionCount, i.input.PVertexAttributeDescriptions = uint32(len(i.attributes)),
		unsafe.SliceData(i.attributes)
	i.viewport.ViewportCount, i.viewport.PViewports = uint32(len(i.viewports)), unsafe.SliceData(i.viewports)
	i.viewport.ScissorCount, i.viewport.PScissors = uint32(len(i.scissors)), unsafe.SliceData(i.scissors)
	i.blend.AttachmentCount, i.blend.PAttachments = uint32(len(i.blends)), unsafe.SliceData(i.blends)
	i.dynamic.DynamicStateCount, i.dynamic.PDynamicStates = uint32(len(i.states)), unsafe.SliceData(i.states)
	i.PVertexInputState, i.PInputAssemblyState, i.PViewportState = &i.input, &i.assembly, &i.viewport
	i.PRasterizationState, i.PMultisampleState, i.PDepthStencilState = &i.rasterization, &i.multisample, &i.depth
	i.PColorBlendState, i.PDynamicState = &i.blend, &i.dynamic
	return &i.GraphicsPipelineCreateInfo
}

func (c graphicsTest) tryGraphics(info *vk.GraphicsPipelineCreateInfo) (vk.Pipeline, vk.Result) {
	c.Helper()
	p := vk.Pipeline(77)
	r := commands.CreateGraphicsPipelines(c.d.handle, 0, 1, info, nil, &p)
	c.Cleanup(func() { commands.DestroyPipeline(c.d.handle, p, nil) })
	return p, r
}

// TestGraphicsPipelineRules breaks the rules of the state of a pipeline, which are looked at before its shaders.
func TestGraphicsPipelineRules(t *testing.T) {
	c := newGraphicsTest(t)
	l, r := c.tryLayout(nil)
	if r != vk.SUCCESS {
		t.Fatal(r)
	}
	nan := float32(math.NaN())
	for _, test := range []struct {
		what   string
		change func(*graphicsInfo)
		after  func(*vk.GraphicsPipelineCreateInfo) // fill
		vuid   string
	}{
		{"unknown flags", func(i *graphicsInfo) { i.Flags = 1 << 30 }, nil, "VUID-VkGraphicsPipelineCreateInfo-None-09497"},
		{"no layout", func(i *graphicsInfo) { i.Layout = 0 }, nil, "VUID-VkGraphicsPipelineCreateInfo-layout-06602"},
		{"no base", func(i *graphicsInfo) { i.Flags = vk.PIPELINE_CREATE_DERIVATIVE_BIT }, nil,
			"VUID-VkGraphicsPipelineCreateInfo-flags-07984"},
		{"no vertex input", nil, func(i *vk.GraphicsPipelineCreateInfo) { i.PVertexInputState = nil },
			"VUID-VkGraphicsPipelineCreateInfo-pStages-02097"},
		{"no input assembly", nil, func(i *vk.GraphicsPipelineCreateInfo) { i.PInputAssemblyState = nil },
			"VUID-VkGraphicsPipelineCreateInfo-pStages-08888"},
		{"no viewports", nil, func(i *vk.GraphicsPipelineCreateInfo) { i.PViewportState = nil },
			"VUID-VkGraphicsPipelineCreateInfo-rasterizerDiscardEnable-09024"},
		{"no rasterization", nil, func(i *vk.GraphicsPipelineCreateInfo) { i.PRasterizationState = nil },
			"VUID-VkGraphicsPipelineCreateInfo-pRasterizationState-06601"},
		{"no samples", nil, func(i *vk.GraphicsPipelineCreateInfo) { i.PMultisampleState = nil },
			"VUID-VkGraphicsPipelineCreateInfo-pMultisampleState-09026"},
		{"binding 32", func(i *graphicsInfo) { i.bindings[1].Binding = 32 }, nil,
			"VUID-VkVertexInputBindingDescription-binding-00618"},
		{"a binding twice", func(i *graphicsInfo) { i.bindings[1].Binding = 1 }, nil,
			"VUID-VkPipelineVertexInputStateCreateInfo-pVertexBindingDescriptions-00616"},
		{"a long stride", func(i *graphicsInfo) { i.bindings[1].Stride = 1 << 20 }, nil,
			"VUID-VkVertexInputBindingDescription-stride-00619"},
		{"another rate", func(i *graphicsInfo) { i.bindings[1].InputRate = 2 }, nil,
			"VUID-VkVertexInputBindingDescription-inputRate-parameter"},
		{"too many bindings", func(i *graphicsInfo) { i.bindings = make([]vk.VertexInputBindingDescription, 33) }, nil,
			"VUID-VkPipelineVertexInputStateCreateInfo-vertexBindingDescriptionCount-00613"},
		{"location 32", func(i *graphicsInfo) { i.attributes[0].Location = 32 }, nil,
			"VUID-VkVertexInputAttributeDescription-location-00620"},
		{"no such binding", func(i *graphicsInfo) { i.attributes[0].Binding = 9 }, nil,
			"VUID-VkPipelineVertexInputStateCreateInfo-binding-00615"},
		{"a format of depths", func(i *graphicsInfo) { i.attributes[0].Format = vk.FORMAT_D32_SFLOAT }, nil,
			"VUID-VkVertexInputAttributeDescription-format-00623"},
		{"a far offset", func(i *graphicsInfo) { i.attributes[0].Offset = 1 << 20 }, nil,
			"VUID-VkVertexInputAttributeDescription-offset-00622"},
		{"a location twice", func(i *graphicsInfo) { i.attributes = append(i.attributes, i.attributes[0]) }, nil,
			"VUID-VkPipelineVertexInputStateCreateInfo-pVertexAttributeDescriptions-00617"},
		{"patches", func(i *graphicsInfo) { i.assembly.Topology = vk.PRIMITIVE_TOPOLOGY_PATCH_LIST }, nil,
			"VUID-VkPipelineInputAssemblyStateCreateInfo-topology-00430"},
		{"adjacency", func(i *graphicsInfo) { i.assembly.Topology = vk.PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY }, nil,
			"VUID-VkPipelineInputAssemblyStateCreateInfo-topology-00429"},
		{"no topology", func(i *graphicsInfo) { i.assembly.Topology = 99 }, nil,
			"VUID-VkPipelineInputAssemblyStateCreateInfo-topology-parameter"},
		{"no polygon mode", func(i *graphicsInfo) { i.rasterization.PolygonMode = -1 }, nil,
			"VUID-VkPipelineRasterizationStateCreateInfo-polygonMode-parameter"},
		{"a viewport without width", func(i *graphicsInfo) { i.viewports[0].Width = nan }, nil,
			"VUID-VkViewport-width-01770"},
		{"a negative scissor", func(i *graphicsInfo) { i.scissors[0].Offset.X = -1 }, nil,
			"VUID-VkPipelineViewportStateCreateInfo-x-02821"},
		{"more scissors", func(i *graphicsInfo) { i.scissors = make([]vk.Rect2D, 17) }, nil,
			"VUID-VkPipelineViewportStateCreateInfo-scissorCount-01219"},
		{"no scissors", func(i *graphicsInfo) { i.viewports, i.scissors = nil, nil }, nil,
			"VUID-VkPipelineViewportStateCreateInfo-viewportCount-04135"},
		{"3 samples", func(i *graphicsInfo) { i.multisample.RasterizationSamples = 3 }, nil,
			"VUID-VkPipelineMultisampleStateCreateInfo-rasterizationSamples-parameter"},
		{"a stencil operation", func(i *graphicsInfo) { i.depth.Front.PassOp = 9 }, nil,
			"VUID-VkStencilOpState-passOp-parameter"},
		{"a comparison", func(i *graphicsInfo) { i.depth.DepthCompareOp = 8 }, nil,
			"VUID-VkPipelineDepthStencilStateCreateInfo-depthCompareOp-parameter"},
		{"too many attachments", func(i *graphicsInfo) { i.blends = make([]vk.PipelineColorBlendAttachmentState, 9) }, nil,
			"VUID-VkPipelineColorBlendStateCreateInfo-pAttachments-parameter"},
		{"a blend factor", func(i *graphicsInfo) { i.blends[0].BlendEnable, i.blends[0].SrcColorBlendFactor = 1, 99 }, nil,
			"VUID-VkPipelineColorBlendAttachmentState-srcColorBlendFactor-parameter"},
		{"a blend operation", func(i *graphicsInfo) { i.blends[0].BlendEnable, i.blends[0].ColorBlendOp = 1, 5 }, nil,
			"VUID-VkPipelineColorBlendAttachmentState-colorBlendOp-parameter"},
		{"a dynamic state twice", func(i *graphicsInfo) {
			i.states = []vk.DynamicState{vk.DYNAMIC_STATE_LINE_WIDTH, vk.DYNAMIC_STATE_LINE_WIDTH}
		}, nil, "VUID-VkPipelineDynamicStateCreateInfo-pDynamicStates-01442"},
		{"a dynamic state that is none", func(i *graphicsInfo) { i.states = []vk.DynamicState{99} }, nil,
			"VUID-VkPipelineDynamicStateCreateInfo-pDynamicStates-parameter"},
		{"a compute shader", func(i *graphicsInfo) { i.stages[0].Stage = vk.SHADER_STAGE_COMPUTE_BIT }, nil,
			"VUID-VkGraphicsPipelineCreateInfo-pStages-06896"},
		{"no module", nil, nil, "VUID-VkPipelineShaderStageCreateInfo-stage-06845"},
	} {
		info := c.graphics(0, 0, l)
		if test.change != nil {
			test.change(info)
		}
		create := info.fill()
		if test.after != nil {
			test.after(create)
		}
		p, r := c.tryGraphics(create)
		c.broken(test.what, r, test.vuid)
		if p != 0 {
			t.Errorf("%s: a handle, %#x", test.what, uint64(p))
		}
	}
	if p, r := c.tryGraphics(nil); p != 0 || r != vk.ERROR_UNKNOWN {
		t.Errorf("NULL: %v", r)
	}
	for _, dynamic := range []bool{false, true} { // also a width that is drawn as 1 has the rule told of
		rules()
		info := c.graphics(0, 0, l)
		info.rasterization.LineWidth = 0.5
		if dynamic {
			info.states = []vk.DynamicState{vk.DYNAMIC_STATE_LINE_WIDTH}
		}
		c.tryGraphics(info.fill())
		const rule = "VUID-VkGraphicsPipelineCreateInfo-pDynamicStates-00749"
		if told := slices.Contains(rules(), rule); told == dynamic {
			t.Errorf("thin lines, dynamic %v: the rule is told of: %v", dynamic, told)
		}
	}
}

// TestGraphicsRefused records for a queue family without graphics, and on a device that has none.
func TestGraphicsRefused(t *testing.T) {
	c := newGraphicsTest(t)
	for family, want := range [][]string{{}, {"VUID-vkCmdDraw-commandBuffer-cmdpool",
		"VUID-vkCmdSetLineWidth-commandBuffer-cmdpool", "VUID-vkCmdBindVertexBuffers-commandBuffer-cmdpool"}} {
		list := c.commands(uint32(family), vk.COMMAND_BUFFER_LEVEL_PRIMARY)
		var buffer vk.Buffer
		var offset vk.DeviceSize
		if r := commands.BeginCommandBuffer(list, &vk.CommandBufferBeginInfo{}); r != vk.SUCCESS {
			t.Fatal(r)
		}
		takeInbox()
		commands.CmdDraw(list, 3, 1, 0, 0)
		commands.CmdSetLineWidth(list, 1)
		commands.CmdBindVertexBuffers(list, 0, 1, &buffer, &offset)
		if got := rules(); !slices.Equal(got, want) {
			t.Errorf("family %d: reported %q, want %q", family, got, want)
		}
		if r := commands.EndCommandBuffer(list); (r == vk.SUCCESS) != (family == 0) {
			t.Errorf("family %d: vkEndCommandBuffer: %v", family, r)
		}
		rules()
	}
}
