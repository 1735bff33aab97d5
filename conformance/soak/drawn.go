package main

import (
	"os"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// drawVariable in the environment has nodes draw what they send into a shared image, from which their neighbour copies
// it.
const drawVariable = "FARSIDE_SOAK_DRAW"

func drawing() bool { return os.Getenv(drawVariable) != "" }

// A round is an image of edge by edge texels of 16 bytes.
const (
	edge        = 128
	imageFormat = vk.FORMAT_R32G32B32A32_UINT
	_           = uint(bufferSize - edge*edge*16)
	_           = uint(edge*edge*16 - bufferSize)
)

const (
	triangle = `#version 450
void main() { gl_Position = vec4(gl_VertexIndex == 1 ? 3 : -1, gl_VertexIndex == 2 ? 3 : -1, 0, 1); }`
	pattern4 = `#version 450
layout(binding = 0) readonly buffer Words { uvec4 words[]; };
layout(location = 0) out uvec4 color;
void main() { color = words[int(gl_FragCoord.y) * 128 + int(gl_FragCoord.x)]; }`
)

// A canvas is an image that is exported or imported.
type canvas struct {
	image  vk.Image
	view   vk.ImageView
	memory vk.DeviceMemory
}

// newCanvas makes one that can be exported, or, with a descriptor fd that is not -1, one that imports it.
func newCanvas(d *vulkan.Device, fd int) (c canvas, err error) {
	var a vulkan.Arena
	defer a.Close()
	external := vulkan.Struct[vk.ExternalMemoryImageCreateInfo](&a)
	external.HandleTypes = opaqueMemory
	info := vulkan.Struct[vk.ImageCreateInfo](&a)
	info.PNext = vulkan.Ptr(external)
	info.ImageType, info.Format, info.MipLevels, info.ArrayLayers = vk.IMAGE_TYPE_2D, imageFormat, 1, 1
	info.Extent, info.Samples = vk.Extent3D{Width: edge, Height: edge, Depth: 1}, vk.SAMPLE_COUNT_1_BIT
	info.Usage = vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_TRANSFER_SRC_BIT
	image := vulkan.New[vk.Image](&a)
	if r := vk.Result(d.Call("vkCreateImage", address(info), 0, address(image))); r != vk.SUCCESS {
		return c, must("vkCreateImage", r)
	}
	c.image = *image
	req := d.ImageRequirements(c.image)
	t, err := memoryType(d, req.MemoryTypeBits, 0, 0)
	if err != nil {
		return c, err
	}
	next := vulkan.DedicatedInfo(&a, c.image, 0, nil)
	if fd >= 0 {
		next = vulkan.ImportFdInfo(&a, opaqueMemory, fd, next)
	} else {
		next = vulkan.ExportInfo(&a, opaqueMemory, next)
	}
	var r vk.Result
	if c.memory, r = d.Allocate(req.Size, t, next); r != vk.SUCCESS {
		return c, must("vkAllocateMemory", r)
	}
	if r := d.BindImage(c.image, c.memory, 0); r != vk.SUCCESS {
		return c, must("vkBindImageMemory", r)
	}
	v := vulkan.Struct[vk.ImageViewCreateInfo](&a)
	v.Image, v.ViewType, v.Format, v.SubresourceRange = c.image, vk.IMAGE_VIEW_TYPE_2D, imageFormat, whole()
	view := vulkan.New[vk.ImageView](&a)
	r = vk.Result(d.Call("vkCreateImageView", address(v), 0, address(view)))
	c.view = *view
	return c, must("vkCreateImageView", r)
}

func whole() vk.ImageSubresourceRange {
	return vk.ImageSubresourceRange{AspectMask: vk.ImageAspectFlags(vk.IMAGE_ASPECT_COLOR_BIT), LevelCount: 1,
		LayerCount: 1}
}

func (c *canvas) free(d *vulkan.Device) {
	d.Call("vkDestroyImageView", uintptr(c.view), 0)
	d.DestroyImage(c.image)
	d.Free(c.memory)
}

// pass records that the image comes from the other process, or goes there.
func (c *canvas) pass(d *vulkan.Device, cb vk.CommandBuffer, from vk.ImageLayout, giver, taker uint32) {
	var a vulkan.Arena
	defer a.Close()
	b := vulkan.Struct[vk.ImageMemoryBarrier](&a)
	b.SrcAccessMask, b.DstAccessMask = vk.ACCESS_MEMORY_WRITE_BIT, vk.ACCESS_MEMORY_READ_BIT|vk.ACCESS_MEMORY_WRITE_BIT
	b.OldLayout, b.NewLayout, b.Image, b.SubresourceRange = from, vk.IMAGE_LAYOUT_GENERAL, c.image, whole()
	b.SrcQueueFamilyIndex, b.DstQueueFamilyIndex = giver, taker
	all := uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	d.CallOn("vkCmdPipelineBarrier", uintptr(cb), all, all, 0, 0, 0, 0, 0, 1, address(b))
}

// fetch records what a reader does: it copies the image to a buffer.
func (c *canvas) fetch(d *vulkan.Device, cb vk.CommandBuffer, to vk.Buffer) {
	var a vulkan.Arena
	defer a.Close()
	c.pass(d, cb, vk.IMAGE_LAYOUT_GENERAL, vk.QUEUE_FAMILY_EXTERNAL, 0)
	region := vulkan.New[vk.BufferImageCopy](&a)
	region.ImageSubresource = vk.ImageSubresourceLayers{AspectMask: whole().AspectMask, LayerCount: 1}
	region.ImageExtent = vk.Extent3D{Width: edge, Height: edge, Depth: 1}
	d.CallOn("vkCmdCopyImageToBuffer", uintptr(cb), uintptr(c.image), uintptr(vk.IMAGE_LAYOUT_GENERAL), uintptr(to), 1,
		address(region))
	d.Barrier(cb)
}

// A painter draws the words of a buffer as texels.
type painter struct {
	modules   [2]vk.ShaderModule
	setLayout vk.DescriptorSetLayout
	layout    vk.PipelineLayout
	pool      vk.DescriptorPool
	sets      []vk.DescriptorSet
	pipeline  vk.Pipeline
}

func newPainter(d *vulkan.Device, words vk.Buffer) (p painter, err error) {
	var a vulkan.Arena
	defer a.Close()
	var results [6]vk.Result
	for i, text := range []string{triangle, pattern4} {
		code, err := shaders.Source{Name: []string{"soak.vert", "soak.frag"}[i], Text: text}.Compile()
		if err != nil {
			return p, err
		}
		p.modules[i], results[i] = d.CreateShaderModule(code)
	}
	binding := vulkan.Binding{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1,
		Stages: vk.ShaderStageFlags(vk.SHADER_STAGE_FRAGMENT_BIT)}
	p.setLayout, results[2] = d.CreateSetLayout(0, binding)
	p.layout, results[3] = d.CreateStagesLayout(0, 0, p.setLayout)
	p.pool, results[4] = d.CreateDescriptorPool(0, 1, binding)
	for _, r := range results {
		if r != vk.SUCCESS {
			return p, must("what a pipeline is made of", r)
		}
	}
	var r vk.Result
	if p.sets, r = d.AllocateSets(p.pool, p.setLayout); r != vk.SUCCESS {
		return p, must("vkAllocateDescriptorSets", r)
	}
	d.WriteSet(p.sets[0], vulkan.Descriptor{Type: binding.Type,
		Buffer: vk.DescriptorBufferInfo{Buffer: words, Range: vk.WHOLE_SIZE}})
	g := vulkan.NewGraphicsState(&a, p.layout, p.modules[0], p.modules[1],
		vk.Viewport{Width: edge, Height: edge, MaxDepth: 1}, []vk.Format{imageFormat}, 0, 0)
	p.pipeline, r = d.CreateGraphicsPipeline(g)
	return p, must("vkCreateGraphicsPipelines", r)
}

func (p *painter) free(d *vulkan.Device) {
	d.DestroyPipeline(p.pipeline)
	d.DestroyPipelineLayout(p.layout)
	d.DestroyDescriptorPool(p.pool)
	d.DestroySetLayout(p.setLayout)
	for _, m := range p.modules {
		d.DestroyShaderModule(m)
	}
}

// draw records what a writer does.
func (p *painter) draw(d *vulkan.Device, cb vk.CommandBuffer, c *canvas) {
	c.pass(d, cb, vk.IMAGE_LAYOUT_UNDEFINED, vk.QUEUE_FAMILY_IGNORED, vk.QUEUE_FAMILY_IGNORED)
	target := vulkan.Attachment(c.view)
	target.LoadOp = vk.ATTACHMENT_LOAD_OP_DONT_CARE
	d.Render(cb, vulkan.Rendering{Area: vk.Rect2D{Extent: vk.Extent2D{Width: edge, Height: edge}},
		Colors: []vk.RenderingAttachmentInfo{target}}, func() {
		d.BindGraphics(cb, p.pipeline)
		d.BindGraphicsSets(cb, p.layout, p.sets)
		d.CallOn("vkCmdDraw", uintptr(cb), 3, 1, 0, 0)
	})
	c.pass(d, cb, vk.IMAGE_LAYOUT_GENERAL, 0, vk.QUEUE_FAMILY_EXTERNAL)
}

// share makes what a writer exports; the descriptor is the caller's.
func (e *end) share() (int, error) {
	var err error
	var memory vk.DeviceMemory
	if drawing() {
		if e.canvas, err = newCanvas(e.d, -1); err != nil {
			return -1, err
		}
		if e.painter, err = newPainter(e.d, e.host.buffer); err != nil {
			return -1, err
		}
		memory = e.canvas.memory
	} else {
		if e.shared, err = newBlock(e.d, true, -1); err != nil {
			return -1, err
		}
		memory = e.shared.memory
	}
	fd, r := e.d.GetFd(memory, opaqueMemory)
	return fd, must("vkGetMemoryFdKHR", r)
}

// accept imports what a writer has exported, to which the descriptor belongs if it succeeds.
func (e *end) accept(fd int) (err error) {
	if drawing() {
		e.canvas, err = newCanvas(e.d, fd)
	} else {
		e.shared, err = newBlock(e.d, true, fd)
	}
	return err
}

// record records what the end submits for each round.
func (e *end) record() error {
	r := e.d.Record(e.buffer, 0, func(cb vk.CommandBuffer) {
		switch {
		case drawing() && e.side == right:
			e.painter.draw(e.d, cb, &e.canvas)
		case drawing():
			e.canvas.fetch(e.d, cb, e.host.buffer)
		case e.side == right:
			e.d.CopyCommand(cb, e.shared.buffer, e.host.buffer, bufferSize)
		default:
			e.d.CopyCommand(cb, e.host.buffer, e.shared.buffer, bufferSize)
		}
	})
	return must("recording", r)
}

// address is that of what lies in an arena.
func address[T any](p *T) uintptr { return uintptr(vulkan.Ptr(p)) }
