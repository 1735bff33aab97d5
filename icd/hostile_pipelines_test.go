package icd

import (
	"unsafe"

	"farside/internal/vk"
)

const forGraphics = vk.ShaderStageFlags(vk.SHADER_STAGE_VERTEX_BIT | vk.SHADER_STAGE_FRAGMENT_BIT)

// hostileRange is the range of push constants of all hostile shaders.
var hostileRange = vk.PushConstantRange{StageFlags: forGraphics, Size: 20}

// form is the layout of set 0 of all hostile shaders.
func (h *hostileTest) form() vk.DescriptorSetLayout {
	if h.setForm == 0 {
		var bindings [3]vk.DescriptorSetLayoutBinding
		for i, t := range []vk.DescriptorType{vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
			vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT} {
			bindings[i] = vk.DescriptorSetLayoutBinding{Binding: uint32(i), DescriptorType: t, DescriptorCount: 1,
				StageFlags: forGraphics}
		}
		bindings[2].StageFlags = vk.ShaderStageFlags(vk.SHADER_STAGE_FRAGMENT_BIT)
		h.setForm = newTestLayout(h, h.d, 0, bindings[:])
	}
	return h.setForm
}

// layout chooses a pipeline layout: that of the shaders, or one of nothing.
func (h *hostileTest) layout() vk.PipelineLayout {
	i := 0
	if h.byte() > 240 {
		i = 1
	}
	if h.layouts[i] == 0 {
		form := h.form()
		info := vk.PipelineLayoutCreateInfo{SetLayoutCount: 1, PSetLayouts: &form, PushConstantRangeCount: 1,
			PPushConstantRanges: &hostileRange}
		if i == 1 {
			info = vk.PipelineLayoutCreateInfo{}
		}
		if r := commands.CreatePipelineLayout(h.d.handle, &info, nil, &h.layouts[i]); r != vk.SUCCESS {
			h.Fatalf("%v %q", r, rules())
		}
	}
	return h.layouts[i]
}

// set chooses a descriptor set, whose descriptors are written at first, or never.
func (h *hostileTest) set() vk.DescriptorSet {
	i := h.n(3)
	if h.sets[i] == 0 {
		pool := newTestDescriptorPool(h, h.d, 0, 1,
			vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, DescriptorCount: 1},
			vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, DescriptorCount: 1},
			vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT, DescriptorCount: 1})
		h.sets[i] = newTestSet(h, h.d, pool, h.form())
		if i < 2 {
			h.write(h.sets[i])
		}
	}
	return h.sets[i]
}

// write writes the descriptors of a set.
func (h *hostileTest) write(set vk.DescriptorSet) {
	if h.sampler == 0 {
		info := plainSampler()
		if r := commands.CreateSampler(h.d.handle, &info, nil, &h.sampler); r != vk.SUCCESS {
			h.Fatal(r)
		}
	}
	buffer := vk.DescriptorBufferInfo{Buffer: h.buffer(), Offset: h.size(0), Range: h.size(vk.WHOLE_SIZE)}
	sampled := vk.DescriptorImageInfo{Sampler: h.sampler, ImageView: h.view(0), ImageLayout: vk.IMAGE_LAYOUT_GENERAL}
	input := vk.DescriptorImageInfo{ImageView: h.view(0), ImageLayout: vk.IMAGE_LAYOUT_GENERAL}
	writes := [3]vk.WriteDescriptorSet{
		{DescriptorType: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, PBufferInfo: &buffer},
		{DescriptorType: vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, PImageInfo: &sampled},
		{DescriptorType: vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT, PImageInfo: &input},
	}
	for i := range writes {
		writes[i].DstSet, writes[i].DstBinding, writes[i].DescriptorCount = set, uint32(i), 1
	}
	commands.UpdateDescriptorSets(h.d.handle, 3, &writes[0], 0, nil)
}

// pass chooses a render pass: of two subpasses, with a resolve, or of anything.
func (h *hostileTest) pass() (int, vk.RenderPass) {
	i := h.n(len(h.passes))
	if h.passes[i] != 0 {
		return i, h.passes[i]
	}
	var info vk.RenderPassCreateInfo
	switch i {
	case 0:
		attachments := []vk.AttachmentDescription{{Format: vk.FORMAT_R8G8B8A8_UNORM, Samples: 1},
			{Format: vk.FORMAT_D24_UNORM_S8_UINT, Samples: 1, LoadOp: vk.ATTACHMENT_LOAD_OP_CLEAR,
				StencilLoadOp: vk.ATTACHMENT_LOAD_OP_CLEAR}}
		color, depth := &vk.AttachmentReference{}, &vk.AttachmentReference{Attachment: 1}
		subpasses := []vk.SubpassDescription{{ColorAttachmentCount: 1, PColorAttachments: color,
			PDepthStencilAttachment: depth}, {ColorAttachmentCount: 1, PColorAttachments: color, InputAttachmentCount: 1,
			PInputAttachments: color}}
		info = vk.RenderPassCreateInfo{AttachmentCount: 2, PAttachments: &attachments[0], SubpassCount: 2,
			PSubpasses: &subpasses[0]}
	case 1:
		info = resolvePass()
	default:
		info = h.anyPass()
	}
	commands.CreateRenderPass(h.d.handle, &info, nil, &h.passes[i])
	if h.passes[i] == 0 && i == 2 {
		return h.pass()
	}
	return i, h.passes[i]
}

// anyPass describes a render pass of which nothing need fit.
func (h *hostileTest) anyPass() vk.RenderPassCreateInfo {
	attachments := make([]vk.AttachmentDescription, 1+h.n(3))
	for i := range attachments {
		f := h.n(len(hostileImages))
		attachments[i] = vk.AttachmentDescription{Format: hostileImages[f].Format, Samples: hostileImages[f].Samples,
			LoadOp: vk.AttachmentLoadOp(h.enum(3)), StoreOp: vk.AttachmentStoreOp(h.enum(2)),
			StencilLoadOp: vk.AttachmentLoadOp(h.enum(3))}
		if h.byte() > 240 {
			attachments[i].Samples = vk.SampleCountFlagBits(h.byte())
		}
	}
	reference := func() *vk.AttachmentReference {
		a := uint32(h.n(len(attachments) + 1))
		if a == uint32(len(attachments)) && h.byte() < 250 {
			a = vk.ATTACHMENT_UNUSED
		}
		return &vk.AttachmentReference{Attachment: a}
	}
	subpasses := make([]vk.SubpassDescription, 1+h.n(3))
	masks := make([]uint32, len(subpasses))
	for i := range subpasses {
		s := &subpasses[i]
		s.ColorAttachmentCount, s.PColorAttachments = 1, reference()
		if h.flag() {
			s.PDepthStencilAttachment = reference()
		}
		if h.flag() {
			s.PResolveAttachments = reference()
		}
		if h.flag() {
			s.InputAttachmentCount, s.PInputAttachments = 1, reference()
		}
		masks[i] = uint32(h.byte()) >> 4
	}
	info := vk.RenderPassCreateInfo{AttachmentCount: uint32(len(attachments)), PAttachments: &attachments[0],
		SubpassCount: uint32(len(subpasses)), PSubpasses: &subpasses[0]}
	if h.flag() {
		info.PNext = unsafe.Pointer(&vk.RenderPassMultiviewCreateInfo{SubpassCount: info.SubpassCount,
			SType: vk.STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO, PViewMasks: &masks[0]})
	}
	return info
}

// framebuffer chooses a framebuffer of a render pass: with the usual views or any others, or with none of its own.
func (h *hostileTest) framebuffer(number int, pass vk.RenderPass) vk.Framebuffer {
	i := 2*number + h.n(2)
	if h.frames[i] != 0 || pass == 0 {
		return h.frames[i]
	}
	usual := [3][3]int{{0, 2, 0}, {1, 0, 0}, {0, 2, 1}}[number]
	views := make([]vk.ImageView, len(renderPasses.Get(uint64(pass)).pass.Attachments))
	for n := range views {
		views[n] = h.view(usual[n])
	}
	info := vk.FramebufferCreateInfo{RenderPass: pass, AttachmentCount: uint32(len(views)), PAttachments: &views[0],
		Width: h.number(hostileWidth), Height: h.number(17), Layers: h.number(1)}
	images := vk.FramebufferAttachmentsCreateInfo{SType: vk.STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO,
		AttachmentImageInfoCount: info.AttachmentCount}
	if i&1 == 1 {
		info.Flags, info.PNext = vk.FRAMEBUFFER_CREATE_IMAGELESS_BIT, unsafe.Pointer(&images)
	}
	commands.CreateFramebuffer(h.d.handle, &info, nil, &h.frames[i])
	if h.frames[i] == 0 && h.byte() < 250 {
		h.data = nil
		for n := range views {
			views[n] = h.view(usual[n])
		}
		info.Width, info.Height, info.Layers = hostileWidth, 17, 1
		commands.CreateFramebuffer(h.d.handle, &info, nil, &h.frames[i])
	}
	return h.frames[i]
}

// module makes the module of a hostile shader.
func (h *hostileTest) module(stage, i int) vk.ShaderModule {
	if h.modules[stage][i] == 0 {
		words := h.code[stage][i]
		info := vk.ShaderModuleCreateInfo{CodeSize: uintptr(4 * len(words)), PCode: &words[0]}
		if r := commands.CreateShaderModule(h.d.handle, &info, nil, &h.modules[stage][i]); r != vk.SUCCESS {
			h.Fatal(r)
		}
	}
	return h.modules[stage][i]
}

// pipeline chooses a graphics pipeline, which is made of choices at first. If that is refused there is another, or
// none.
func (h *hostileTest) pipeline() vk.Pipeline {
	i := h.n(len(h.bound))
	if h.bound[i] == 0 {
		info := h.newPipeline()
		commands.CreateGraphicsPipelines(h.d.handle, 0, 1, info.fill(), nil, &h.bound[i])
		if h.bound[i] == 0 && h.byte() < 250 {
			h.data = nil // all choices in order
			info = h.newPipeline()
			commands.CreateGraphicsPipelines(h.d.handle, 0, 1, info.fill(), nil, &h.bound[i])
		}
	}
	return h.bound[i]
}

func (h *hostileTest) newPipeline() *graphicsInfo {
	vertex, fragment := h.n(len(hostileVertex)), h.n(len(hostileFragment)+1)
	var fragmentModule vk.ShaderModule
	if fragment < len(hostileFragment) {
		fragmentModule = h.module(1, fragment)
	}
	i := graphicsTest{computeTest{h.queueTest}}.graphics(h.module(0, vertex), fragmentModule, h.layout())
	if fragmentModule == 0 {
		i.StageCount = 1
	}
	i.bindings[0].Stride, i.bindings[1].Stride = h.number(16), h.number(8)
	i.bindings[h.n(2)].InputRate = vk.VertexInputRate(h.n(2))
	i.attributes = []vk.VertexInputAttributeDescription{
		{Binding: 1, Format: []vk.Format{vk.FORMAT_R32G32_SFLOAT, vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R64_SFLOAT,
			vk.FORMAT_R16_UINT}[h.n(4)], Offset: h.number(0)},
		{Location: 1, Binding: 2, Format: []vk.Format{vk.FORMAT_R32G32_UINT, vk.FORMAT_R8_SINT}[h.n(2)]}}
	if vertex != 1 && h.byte() < 240 {
		i.attributes = nil
	}
	i.assembly.Topology = vk.PrimitiveTopology((h.enum(11) + int32(vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST)) % 11)
	i.assembly.PrimitiveRestartEnable = vk.Bool32(h.n(2))
	i.viewports[0], i.scissors[0] = h.viewport(), h.scissor()
	r := &i.rasterization
	r.PolygonMode, r.CullMode = vk.PolygonMode(h.enum(3)), vk.CullModeFlags(h.enum(4))
	r.DepthClampEnable, r.DepthBiasEnable, r.LineWidth = vk.Bool32(h.n(2)), vk.Bool32(h.n(2)), h.float(1)
	i.multisample.RasterizationSamples = []vk.SampleCountFlagBits{1, 4, 8, 1, 1}[h.n(5)]
	i.depth.DepthTestEnable, i.depth.DepthWriteEnable = vk.Bool32(h.n(2)), vk.Bool32(h.n(2))
	i.depth.StencilTestEnable = vk.Bool32(h.n(2))
	i.blends = make([]vk.PipelineColorBlendAttachmentState, (1+h.n(9))%9)
	for n := range i.blends {
		i.blends[n].ColorWriteMask = 15
	}
	if len(i.blends) > 0 {
		i.blends[0].BlendEnable, i.blends[0].DstColorBlendFactor = vk.Bool32(h.n(2)), vk.BlendFactor(h.n(19))
	}
	i.output(h)
	for n, states := 0, h.byte(); states != 0 && n < len(hostileStates); n++ { // none, all, or any
		if states == 1 || h.flag() {
			i.states = append(i.states, hostileStates[n].state)
		}
	}
	return i
}

// output says what a pipeline is created for.
func (i *graphicsInfo) output(h *hostileTest) {
	if h.n(3) == 2 {
		_, i.RenderPass = h.pass()
		i.Subpass = h.number(0)
		return
	}
	formats := make([]vk.Format, len(i.blends))
	for n := range formats {
		formats[n] = hostileImages[h.n(len(hostileImages))].Format
	}
	i.rendering.ColorAttachmentCount, i.rendering.PColorAttachmentFormats = uint32(len(formats)), unsafe.SliceData(formats)
	i.rendering.ViewMask = uint32(h.byte()) >> 6
	if h.flag() {
		i.rendering.DepthAttachmentFormat = vk.FORMAT_D24_UNORM_S8_UINT
	}
}

// object chooses a shader object: a vertex shader of two, or a fragment shader.
func (h *hostileTest) object() vk.ShaderEXT {
	i := h.n(len(h.objects))
	if h.objects[i] == 0 {
		form, stage := h.form(), i/2
		words := h.code[stage][i%2*2]
		info := vk.ShaderCreateInfoEXT{Stage: vk.SHADER_STAGE_VERTEX_BIT, CodeType: vk.SHADER_CODE_TYPE_SPIRV_EXT,
			CodeSize: uintptr(4 * len(words)), PCode: unsafe.Pointer(&words[0]), PName: &mainName[0], SetLayoutCount: 1,
			PSetLayouts: &form, PushConstantRangeCount: 1, PPushConstantRanges: &hostileRange}
		if info.NextStage = vk.ShaderStageFlags(vk.SHADER_STAGE_FRAGMENT_BIT); stage == 1 {
			info.Stage, info.NextStage = vk.SHADER_STAGE_FRAGMENT_BIT, 0
		}
		if r := commands.CreateShadersEXT(h.d.handle, 1, &info, nil, &h.objects[i]); r != vk.SUCCESS {
			h.Fatalf("shader %d: %v %q", i, r, rules())
		}
	}
	return h.objects[i]
}

func (h *hostileTest) viewport() vk.Viewport {
	return vk.Viewport{X: h.float(0), Y: h.float(0), Width: h.float(hostileWidth), Height: h.float(17),
		MinDepth: h.float(0), MaxDepth: h.float(1)}
}

func (h *hostileTest) scissor() vk.Rect2D {
	return vk.Rect2D{Offset: vk.Offset2D{X: int32(h.number(0)), Y: int32(h.number(0))},
		Extent: vk.Extent2D{Width: h.number(hostileWidth), Height: h.number(17)}}
}
