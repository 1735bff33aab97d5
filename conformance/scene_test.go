package conformance

import (
	"math"
	"slices"
	"unsafe"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A scene is what a case draws into: attachments of one size, and what the draws of one pipeline need. It draws with
// dynamic rendering, each time in a submission of its own.
type scene struct {
	*recorder
	width, height uint32
	colors        []*attachment
	depth         *attachment
	resolve       *attachment // of colors[0]
	free          []func()
}

// attachment is an attachment with memory.
type attachment struct {
	image   vk.Image
	view    vk.ImageView
	memory  vk.DeviceMemory
	format  vk.Format
	aspects vk.ImageAspectFlags
	layers  uint32
	clear   vk.ClearValue
}

// look is how a scene is drawn: shaders and everything that a pipeline says beside the plain.
type look struct {
	vertex, fragment string // GLSL behind #version and extensions; fragment may be ""
	buffers          []any  // of set 0, as of a dispatch
	push             any    // a slice of push constants
	edit             func(g *vulkan.GraphicsState)
	record           func(cb vk.CommandBuffer) // nil: vkCmdDraw of three vertices
	viewMask         uint32
	layers           uint32
	// create makes the pipeline of what edit has left; nil: vkCreateGraphicsPipelines of one.
	create func(d *drawn, g *vulkan.GraphicsState) vk.Pipeline
	// bind makes what draws of what edit has left, instead of a pipeline, and returns what binds it.
	bind func(d *drawn, g *vulkan.GraphicsState) func()
}

const glslHead = `#version 450
#extension GL_ARB_shader_draw_parameters : enable
#extension GL_EXT_multiview : enable
#extension GL_EXT_demote_to_helper_invocation : enable
`

// wholeTarget is the vertex shader of a triangle that covers every pixel.
const wholeTarget = `void main() {
	gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0.5, 1);
}`

// scene makes one with colour attachments of these formats.
func (c *Case) scene(width, height, samples, layers uint32, depth vk.Format, colors ...vk.Format) *scene {
	s := &scene{recorder: c.recorder(), width: width, height: height}
	color := vk.ImageAspectFlags(vk.IMAGE_ASPECT_COLOR_BIT)
	for _, f := range colors {
		s.colors = append(s.colors, s.target(f, color, vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT, samples, layers))
	}
	if depth != vk.FORMAT_UNDEFINED {
		aspects := vk.ImageAspectFlags(0)
		if depth != vk.FORMAT_S8_UINT {
			aspects |= vk.IMAGE_ASPECT_DEPTH_BIT
		}
		if depth >= vk.FORMAT_S8_UINT {
			aspects |= vk.IMAGE_ASPECT_STENCIL_BIT
		}
		s.depth = s.target(depth, aspects, vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, samples, layers)
	}
	if samples > 1 && len(colors) > 0 {
		s.resolve = s.target(colors[0], color, vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT, 1, layers)
	}
	return s
}

func (s *scene) target(f vk.Format, aspects vk.ImageAspectFlags, usage vk.ImageUsageFlags, samples,
	layers uint32) *attachment {
	c := s.c
	t := &attachment{format: f, aspects: aspects, layers: layers}
	info := vulkan.Struct[vk.ImageCreateInfo](&s.a)
	info.ImageType, info.Format, info.MipLevels, info.ArrayLayers = vk.IMAGE_TYPE_2D, f, 1, layers
	info.Extent = vk.Extent3D{Width: s.width, Height: s.height, Depth: 1}
	info.Samples, info.Usage = vk.SampleCountFlagBits(samples), usage|transferUsage
	properties := vulkan.New[vk.ImageFormatProperties](&s.a)
	r := vk.Result(c.inst.Call("vkGetPhysicalDeviceImageFormatProperties", uintptr(c.pd), uintptr(f),
		uintptr(info.ImageType), uintptr(info.Tiling), uintptr(info.Usage), 0, ptr(properties)))
	if r != vk.SUCCESS || properties.SampleCounts&vk.SampleCountFlags(samples) == 0 {
		c.Unsupported("attachments of " + f.String())
	}
	image := vulkan.New[vk.Image](&s.a)
	c.must("vkCreateImage", vk.Result(c.dev.Call("vkCreateImage", ptr(info), 0, ptr(image))))
	t.image = *image
	req := c.dev.ImageRequirements(t.image)
	memoryType := uint32(0)
	for req.MemoryTypeBits>>memoryType&1 == 0 {
		memoryType++
	}
	t.memory = c.allocate(req.Size, memoryType, nil)
	c.must("vkBindImageMemory", c.dev.BindImage(t.image, t.memory, 0))
	t.view = s.view(t, vk.IMAGE_VIEW_TYPE_2D_ARRAY, f)
	s.free = append(s.free, func() {
		c.dev.Call("vkDestroyImageView", uintptr(t.view), 0)
		c.dev.DestroyImage(t.image)
		c.dev.Free(t.memory)
	})
	return t
}

// view makes a view of all of a target; who asks destroys it.
func (s *scene) view(t *attachment, of vk.ImageViewType, f vk.Format) vk.ImageView {
	v := vulkan.Struct[vk.ImageViewCreateInfo](&s.a)
	v.Image, v.ViewType, v.Format = t.image, of, f
	v.SubresourceRange = vk.ImageSubresourceRange{AspectMask: t.aspects, LevelCount: 1, LayerCount: t.layers}
	out := vulkan.New[vk.ImageView](&s.a)
	s.c.must("vkCreateImageView", vk.Result(s.c.dev.Call("vkCreateImageView", ptr(v), 0, ptr(out))))
	return *out
}

func (s *scene) close() {
	for _, f := range s.free {
		f()
	}
	s.recorder.free()
}

// stage compiles a stage.
func (s *scene) stage(name, text string) vk.ShaderModule {
	if text == "" {
		return 0
	}
	code := s.c.compile(shaders.Source{Name: "scene." + name, Text: glslHead + text})
	m, r := s.c.dev.CreateShaderModule(code)
	s.c.must("vkCreateShaderModule", r)
	s.free = append(s.free, func() { s.c.dev.DestroyShaderModule(m) })
	return m
}

// drawn is a look that has become objects.
type drawn struct {
	layout   vk.PipelineLayout
	pipeline vk.Pipeline
	sets     []vk.DescriptorSet
	buffers  []*shaderBuffer
	look     *look
	layouts  []vk.DescriptorSetLayout // of the sets
	bind     func()                   // nil: the pipeline is bound
}

func (s *scene) drawing(l *look) *drawn {
	c, d := s.c, &drawn{look: l}
	stages := vk.ShaderStageFlags(vk.SHADER_STAGE_VERTEX_BIT | vk.SHADER_STAGE_FRAGMENT_BIT)
	var bindings []vulkan.Binding
	for i, b := range l.buffers {
		t := vk.DescriptorType(vk.DESCRIPTOR_TYPE_STORAGE_BUFFER)
		if x, ok := b.(described); ok {
			t = x.Type
		}
		own := stages
		if t == vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT {
			own = vk.ShaderStageFlags(vk.SHADER_STAGE_FRAGMENT_BIT)
		}
		bindings = append(bindings, vulkan.Binding{Binding: uint32(i), Type: t, Count: 1, Stages: own})
	}
	var setLayouts []vk.DescriptorSetLayout
	if len(bindings) > 0 {
		set, r := c.dev.CreateSetLayout(0, bindings...)
		c.must("vkCreateDescriptorSetLayout", r)
		s.free = append(s.free, func() { c.dev.DestroySetLayout(set) })
		setLayouts = append(setLayouts, set)
	}
	d.layouts = setLayouts
	var r vk.Result
	d.layout, r = c.dev.CreateStagesLayout(stages, len(bytesOf(l.push)), setLayouts...)
	c.must("vkCreatePipelineLayout", r)
	if len(bindings) > 0 {
		pool, r := c.dev.CreateDescriptorPool(0, 1, bindings...)
		c.must("vkCreateDescriptorPool", r)
		s.free = append(s.free, func() { c.dev.DestroyDescriptorPool(pool) })
		d.sets, r = c.dev.AllocateSets(pool, setLayouts...)
		c.must("vkAllocateDescriptorSets", r)
		for i, b := range l.buffers {
			if x, ok := b.(described); ok {
				x.Descriptor.Binding = uint32(i)
				c.dev.WriteSet(d.sets[0], x.Descriptor)
				continue
			}
			sb := c.shaderBuffer(b, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
			d.buffers = append(d.buffers, sb)
			c.dev.WriteSet(d.sets[0], vulkan.Descriptor{Binding: uint32(i), Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
				Buffer: vk.DescriptorBufferInfo{Buffer: sb.buffer, Range: vk.WHOLE_SIZE}})
			s.free = append(s.free, sb.free)
		}
	}
	var formats []vk.Format
	for _, t := range s.colors {
		formats = append(formats, t.format)
	}
	var depth, stencil vk.Format
	if s.depth != nil && s.depth.aspects&vk.IMAGE_ASPECT_DEPTH_BIT != 0 {
		depth = s.depth.format
	}
	if s.depth != nil && s.depth.aspects&vk.IMAGE_ASPECT_STENCIL_BIT != 0 {
		stencil = s.depth.format
	}
	g := vulkan.NewGraphicsState(&s.a, d.layout, s.stage("vert", l.vertex), s.stage("frag", l.fragment),
		vk.Viewport{Width: float32(s.width), Height: float32(s.height), MaxDepth: 1}, formats, depth, stencil)
	g.Rendering.ViewMask = l.viewMask
	if l.edit != nil {
		l.edit(g)
	}
	switch {
	case l.bind != nil:
		d.bind = l.bind(d, g)
	case l.create != nil:
		d.pipeline = l.create(d, g)
	default:
		d.pipeline, r = c.dev.CreateGraphicsPipeline(g)
		c.must("vkCreateGraphicsPipelines", r)
	}
	s.free = append(s.free, func() {
		c.dev.DestroyPipeline(d.pipeline)
		c.dev.DestroyPipelineLayout(d.layout)
	})
	return d
}

// draw clears the attachments and draws the looks one after the other. Storage buffers hold afterwards what the shaders
// wrote.
func (s *scene) draw(looks ...*look) {
	var list []*drawn
	for _, l := range looks {
		list = append(list, s.drawing(l))
	}
	s.render(list, vk.ATTACHMENT_LOAD_OP_CLEAR)
}

func (s *scene) render(list []*drawn, load vk.AttachmentLoadOp) {
	dev := s.c.dev
	s.begin(s.cb, 0)
	rendering := vulkan.Rendering{Area: vk.Rect2D{Extent: vk.Extent2D{Width: s.width, Height: s.height}}, Layers: 1}
	if len(list) > 0 {
		rendering.ViewMask, rendering.Layers = list[0].look.viewMask, max(list[0].look.layers, 1)
	}
	attach := func(t *attachment) vk.RenderingAttachmentInfo {
		if load == vk.ATTACHMENT_LOAD_OP_CLEAR {
			s.transition(t.image, t.aspects)
		}
		a := vulkan.Attachment(t.view)
		a.LoadOp, a.ClearValue = load, t.clear
		return a
	}
	for i, t := range s.colors {
		a := attach(t)
		if i == 0 && s.resolve != nil {
			s.transition(s.resolve.image, s.resolve.aspects)
			a.ResolveMode, a.ResolveImageView, a.ResolveImageLayout = vk.RESOLVE_MODE_AVERAGE_BIT, s.resolve.view,
				vk.IMAGE_LAYOUT_GENERAL
		}
		rendering.Colors = append(rendering.Colors, a)
	}
	if s.depth != nil {
		a := attach(s.depth)
		if s.depth.aspects&vk.IMAGE_ASPECT_DEPTH_BIT != 0 {
			rendering.Depth = &a
		}
		if s.depth.aspects&vk.IMAGE_ASPECT_STENCIL_BIT != 0 {
			rendering.Stencil = &a
		}
	}
	s.everything(s.cb)
	dev.Render(s.cb, rendering, func() {
		for _, d := range list {
			if d.bind != nil {
				d.bind()
			} else {
				dev.BindGraphics(s.cb, d.pipeline)
			}
			if len(d.sets) > 0 {
				dev.BindGraphicsSets(s.cb, d.layout, d.sets)
			}
			if d.look.push != nil {
				dev.PushStages(s.cb, d.layout, vk.SHADER_STAGE_VERTEX_BIT|vk.SHADER_STAGE_FRAGMENT_BIT, 0,
					bytesOf(d.look.push))
			}
			if d.look.record != nil {
				d.look.record(s.cb)
			} else {
				dev.CallOn("vkCmdDraw", uintptr(s.cb), 3, 1, 0, 0)
			}
		}
	})
	s.everything(s.cb)
	s.end(s.cb)
	s.submit(s.cb)
	for _, d := range list {
		for _, b := range d.buffers {
			b.download()
		}
	}
}

// everything is a barrier of all for all.
func (s *scene) everything(cb vk.CommandBuffer) {
	b := vulkan.Struct[vk.MemoryBarrier](&s.a)
	b.SrcAccessMask = vk.AccessFlags(vk.ACCESS_MEMORY_WRITE_BIT)
	b.DstAccessMask = vk.AccessFlags(vk.ACCESS_MEMORY_READ_BIT | vk.ACCESS_MEMORY_WRITE_BIT)
	s.c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT),
		uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT), 0, 1, ptr(b), 0, 0, 0, 0)
}

// read copies a layer of an aspect of a target with one sample to the host: size bytes for each texel.
func (s *scene) read(t *attachment, aspect vk.ImageAspectFlags, layer uint32, size int) []byte {
	c := s.c
	length := int(s.width) * int(s.height) * size
	buffer, memory, bytes := c.mappedBuffer(uint64(length))
	s.begin(s.cb, 0)
	region := vulkan.New[vk.BufferImageCopy](&s.a)
	region.ImageSubresource = vk.ImageSubresourceLayers{AspectMask: aspect, BaseArrayLayer: layer, LayerCount: 1}
	region.ImageExtent = vk.Extent3D{Width: s.width, Height: s.height, Depth: 1}
	s.cmd("vkCmdCopyImageToBuffer", uintptr(t.image), uintptr(vk.IMAGE_LAYOUT_GENERAL), uintptr(buffer), 1, ptr(region))
	s.end(s.cb)
	s.submit(s.cb)
	out := slices.Clone(bytes)
	c.dev.DestroyBuffer(buffer)
	c.dev.Free(memory)
	return out
}

// floats reads a target of VK_FORMAT_R32G32B32A32_SFLOAT: four for each pixel.
func (s *scene) floats(t *attachment) []float32 { return s.layerFloats(t, 0) }

func (s *scene) layerFloats(t *attachment, layer uint32) []float32 {
	b := s.read(t, vk.IMAGE_ASPECT_COLOR_BIT, layer, 16)
	return slices.Clone(unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4))
}

// bytes4 reads a target of four bytes a texel.
func (s *scene) bytes4(t *attachment) [][4]byte {
	b := s.read(t, vk.IMAGE_ASPECT_COLOR_BIT, 0, 4)
	return slices.Clone(unsafe.Slice((*[4]byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4))
}

// pixels compares all pixels of a target of VK_FORMAT_R32G32B32A32_SFLOAT with what want says of each, within a
// tolerance. The first few that differ are told.
func (s *scene) pixels(t *attachment, tolerance float64, want func(x, y int) [4]float64) {
	got, wrong := s.floats(t), 0
	for y := range int(s.height) {
		for x := range int(s.width) {
			w, g := want(x, y), got[(y*int(s.width)+x)*4:][:4]
			for i := range w {
				if !(math.Abs(float64(g[i])-w[i]) <= tolerance) {
					if wrong++; wrong <= 5 {
						s.c.Errorf("pixel (%d, %d) is %v, want %v within %g", x, y, g, w, tolerance)
					}
					break
				}
			}
		}
	}
	if wrong > 5 {
		s.c.Errorf("%d pixels are wrong", wrong)
	}
}
