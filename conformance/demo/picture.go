package main

import (
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// The picture that one process draws and another one writes to a file.
const (
	pictureWidth, pictureHeight = 960, 540
	pictureFile                 = "build/picture.png"
	cubesInRow                  = 17
	pictureUsage                = vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_TRANSFER_SRC_BIT
)

// sharePicture has a process with graphics draw into an image that it exports.
func sharePicture() error {
	fmt.Println("By an image, into which one process draws and which another one reads:")
	_, painter, err := start("painter", nil)
	if err != nil {
		return err
	}
	if err := painter.Wait(); err != nil {
		return fmt.Errorf("the painter: %w", err)
	}
	return nil
}

// openGraphics makes a device that draws, and can share images.
func openGraphics() (*vulkan.Device, error) {
	loader, err := vulkan.Open()
	if err != nil {
		return nil, err
	}
	instance, r := loader.CreateInstance(vulkan.InstanceConfig{APIVersion: vk.API_VERSION_1_3})
	if r != vk.SUCCESS {
		return nil, must("vkCreateInstance", r)
	}
	list, r := instance.PhysicalDevices()
	if r != vk.SUCCESS || len(list) == 0 {
		return nil, fmt.Errorf("vkEnumeratePhysicalDevices: %v, %d devices", r, len(list))
	}
	var arena vulkan.Arena
	dynamic := vulkan.Struct[vk.PhysicalDeviceDynamicRenderingFeatures](&arena)
	dynamic.DynamicRendering = vk.TRUE
	d, r := instance.CreateDevice(list[0], vulkan.DeviceConfig{
		Extensions: []string{vk.KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME}, Next: vulkan.Ptr(dynamic)})
	return d, must("vkCreateDevice", r)
}

// canvas is an image of the picture's size with memory.
type canvas struct {
	image  vk.Image
	view   vk.ImageView
	memory vk.DeviceMemory
	size   uint64
	kind   uint32
	aspect vk.ImageAspectFlags
}

// newCanvas makes one. With shared it can be exported; with a descriptor fd, which is not -1, it is what was exported.
func newCanvas(d *vulkan.Device, f vk.Format, samples vk.SampleCountFlagBits, usage vk.ImageUsageFlags, shared bool,
	fd int) (*canvas, error) {
	var a vulkan.Arena
	defer a.Close()
	const opaque = vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
	info := vulkan.Struct[vk.ImageCreateInfo](&a)
	info.ImageType, info.Format, info.MipLevels, info.ArrayLayers = vk.IMAGE_TYPE_2D, f, 1, 1
	info.Extent = vk.Extent3D{Width: pictureWidth, Height: pictureHeight, Depth: 1}
	info.Samples, info.Usage = samples, usage
	if shared {
		external := vulkan.Struct[vk.ExternalMemoryImageCreateInfo](&a)
		external.HandleTypes = opaque
		info.PNext = vulkan.Ptr(external)
	}
	c := &canvas{aspect: vk.IMAGE_ASPECT_COLOR_BIT}
	if usage&vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT != 0 {
		c.aspect = vk.IMAGE_ASPECT_DEPTH_BIT
	}
	out := vulkan.New[vk.Image](&a)
	if r := vk.Result(d.Call("vkCreateImage", pointer(info), 0, pointer(out))); r != vk.SUCCESS {
		return nil, must("vkCreateImage", r)
	}
	c.image = *out
	req := d.ImageRequirements(c.image)
	for req.MemoryTypeBits>>c.kind&1 == 0 {
		c.kind++
	}
	c.size = req.Size
	next := vulkan.DedicatedInfo(&a, c.image, 0, nil)
	if fd >= 0 {
		next = vulkan.ImportFdInfo(&a, opaque, fd, next)
	} else if shared {
		next = vulkan.ExportInfo(&a, opaque, next)
	}
	var r vk.Result
	if c.memory, r = d.Allocate(c.size, c.kind, next); r != vk.SUCCESS {
		return nil, must("vkAllocateMemory", r)
	}
	if r := d.BindImage(c.image, c.memory, 0); r != vk.SUCCESS {
		return nil, must("vkBindImageMemory", r)
	}
	v := vulkan.Struct[vk.ImageViewCreateInfo](&a)
	v.Image, v.ViewType, v.Format, v.SubresourceRange = c.image, vk.IMAGE_VIEW_TYPE_2D, f, c.all()
	view := vulkan.New[vk.ImageView](&a)
	r = vk.Result(d.Call("vkCreateImageView", pointer(v), 0, pointer(view)))
	c.view = *view
	return c, must("vkCreateImageView", r)
}

func (c *canvas) all() vk.ImageSubresourceRange {
	return vk.ImageSubresourceRange{AspectMask: c.aspect, LevelCount: 1, LayerCount: 1}
}

func (c *canvas) free(d *vulkan.Device) {
	d.Call("vkDestroyImageView", uintptr(c.view), 0)
	d.DestroyImage(c.image)
	d.Free(c.memory)
}

// pass records a barrier that takes the image from a layout and a queue family to others.
func (c *canvas) pass(d *vulkan.Device, cb vk.CommandBuffer, from, to vk.ImageLayout, giver, taker uint32) {
	var a vulkan.Arena
	defer a.Close()
	b := vulkan.Struct[vk.ImageMemoryBarrier](&a)
	b.SrcAccessMask, b.DstAccessMask = vk.ACCESS_MEMORY_WRITE_BIT, vk.ACCESS_MEMORY_READ_BIT|vk.ACCESS_MEMORY_WRITE_BIT
	b.OldLayout, b.NewLayout, b.Image, b.SubresourceRange = from, to, c.image, c.all()
	b.SrcQueueFamilyIndex, b.DstQueueFamilyIndex = giver, taker
	d.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT),
		uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT), 0, 0, 0, 0, 0, 1, pointer(b))
}

// painter draws, with four samples and a depth buffer, and hands the image to the viewer.
func painter() error {
	d, err := openGraphics()
	if err != nil {
		return err
	}
	defer d.Instance.Destroy()
	defer d.Destroy()
	const rgba = vk.FORMAT_R8G8B8A8_UNORM
	picture, err := newCanvas(d, rgba, vk.SAMPLE_COUNT_1_BIT, pictureUsage, true, -1)
	if err != nil {
		return err
	}
	defer picture.free(d)
	samples, err := newCanvas(d, rgba, vk.SAMPLE_COUNT_4_BIT, vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT, false, -1)
	if err != nil {
		return err
	}
	defer samples.free(d)
	depths, err := newCanvas(d, vk.FORMAT_D32_SFLOAT, vk.SAMPLE_COUNT_4_BIT,
		vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, false, -1)
	if err != nil {
		return err
	}
	defer depths.free(d)
	if err := paint(d, picture, samples, depths); err != nil {
		return err
	}
	fd, r := d.GetFd(picture.memory, vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)
	if r != vk.SUCCESS {
		return must("vkGetMemoryFdKHR", r)
	}
	say("painter", "drew %d cubes with four samples, and exported the image as descriptor %d", cubesInRow*cubesInRow, fd)
	peer, viewer, err := start("viewer", nil)
	if err != nil {
		return err
	}
	file := ownedFile(fd)
	err = peer.send("picture", fd)
	file.Close()
	if err != nil {
		return err
	}
	return viewer.Wait()
}

// paint makes the pipeline and draws.
func paint(d *vulkan.Device, picture, samples, depths *canvas) error {
	var a vulkan.Arena
	defer a.Close()
	var modules [2]vk.ShaderModule
	for i, name := range []string{"demo/cubes.vert", "demo/cubes.frag"} {
		code, err := shaders.Source{Name: name}.Compile()
		if err != nil {
			return err
		}
		var r vk.Result
		if modules[i], r = d.CreateShaderModule(code); r != vk.SUCCESS {
			return must("vkCreateShaderModule", r)
		}
		defer d.DestroyShaderModule(modules[i])
	}
	scene := vulkan.Put(&a, struct {
		aspect float32
		side   int32
	}{float32(pictureWidth) / pictureHeight, cubesInRow})
	layout, r := d.CreateStagesLayout(vk.SHADER_STAGE_VERTEX_BIT, 8)
	if r != vk.SUCCESS {
		return must("vkCreatePipelineLayout", r)
	}
	defer d.DestroyPipelineLayout(layout)
	g := vulkan.NewGraphicsState(&a, layout, modules[0], modules[1],
		vk.Viewport{Width: pictureWidth, Height: pictureHeight, MaxDepth: 1}, []vk.Format{vk.FORMAT_R8G8B8A8_UNORM},
		vk.FORMAT_D32_SFLOAT, vk.FORMAT_UNDEFINED)
	g.Multisample.RasterizationSamples = vk.SAMPLE_COUNT_4_BIT
	g.Depth.DepthTestEnable, g.Depth.DepthWriteEnable, g.Depth.DepthCompareOp = vk.TRUE, vk.TRUE, vk.COMPARE_OP_LESS
	pipeline, r := d.CreateGraphicsPipeline(g)
	if r != vk.SUCCESS {
		return must("vkCreateGraphicsPipelines", r)
	}
	defer d.DestroyPipeline(pipeline)
	color, depth := vulkan.Attachment(samples.view), vulkan.Attachment(depths.view)
	color.LoadOp, color.StoreOp = vk.ATTACHMENT_LOAD_OP_CLEAR, vk.ATTACHMENT_STORE_OP_DONT_CARE
	*color.ClearValue.Color().Float32() = [4]float32{0.06, 0.08, 0.14, 1}
	color.ResolveMode, color.ResolveImageView, color.ResolveImageLayout = vk.RESOLVE_MODE_AVERAGE_BIT, picture.view,
		vk.IMAGE_LAYOUT_GENERAL
	depth.LoadOp, depth.StoreOp = vk.ATTACHMENT_LOAD_OP_CLEAR, vk.ATTACHMENT_STORE_OP_DONT_CARE
	depth.ClearValue.DepthStencil().Depth = 1
	return must("draw", d.Submit(func(cb vk.CommandBuffer) {
		for _, c := range []*canvas{picture, samples, depths} {
			c.pass(d, cb, vk.IMAGE_LAYOUT_UNDEFINED, vk.IMAGE_LAYOUT_GENERAL, vk.QUEUE_FAMILY_IGNORED,
				vk.QUEUE_FAMILY_IGNORED)
		}
		area := vk.Rect2D{Extent: vk.Extent2D{Width: pictureWidth, Height: pictureHeight}}
		d.Render(cb, vulkan.Rendering{Area: area, Colors: []vk.RenderingAttachmentInfo{color}, Depth: &depth}, func() {
			d.BindGraphics(cb, pipeline)
			d.PushStages(cb, layout, vk.SHADER_STAGE_VERTEX_BIT, 0, vulkan.Bytes(vulkan.Ptr(scene), 8))
			d.CallOn("vkCmdDraw", uintptr(cb), 36, cubesInRow*cubesInRow, 0, 0)
		})
		picture.pass(d, cb, vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL, 0, vk.QUEUE_FAMILY_EXTERNAL)
	}))
}

// viewer imports the image, copies it to a buffer, and writes that to a file.
func viewer() error {
	d, err := openGraphics()
	if err != nil {
		return err
	}
	defer d.Instance.Destroy()
	defer d.Destroy()
	peer, err := newChannel(os.NewFile(3, "painter"))
	if err != nil {
		return err
	}
	_, fd, err := peer.receive()
	if err != nil {
		return err
	}
	picture, err := newCanvas(d, vk.FORMAT_R8G8B8A8_UNORM, vk.SAMPLE_COUNT_1_BIT, pictureUsage, true, fd)
	if err != nil {
		return err
	}
	defer picture.free(d)
	const size = pictureWidth * pictureHeight * 4
	t, err := memoryType(d, vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT|vk.MEMORY_PROPERTY_HOST_COHERENT_BIT)
	if err != nil {
		return err
	}
	buffer, memory, err := boundBuffer(d, size, t, nil, 0)
	if err != nil {
		return err
	}
	defer d.Free(memory)
	defer d.DestroyBuffer(buffer)
	var a vulkan.Arena
	defer a.Close()
	region := vulkan.New[vk.BufferImageCopy](&a)
	region.ImageSubresource = vk.ImageSubresourceLayers{AspectMask: picture.aspect, LayerCount: 1}
	region.ImageExtent = vk.Extent3D{Width: pictureWidth, Height: pictureHeight, Depth: 1}
	r := d.Submit(func(cb vk.CommandBuffer) {
		picture.pass(d, cb, vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL, vk.QUEUE_FAMILY_EXTERNAL, 0)
		d.CallOn("vkCmdCopyImageToBuffer", uintptr(cb), uintptr(picture.image), uintptr(vk.IMAGE_LAYOUT_GENERAL),
			uintptr(buffer), 1, pointer(region))
		d.Barrier(cb)
	})
	if r != vk.SUCCESS {
		return must("vkCmdCopyImageToBuffer", r)
	}
	texels, err := bytesOf(d, memory, size)
	if err != nil {
		return err
	}
	if err := writePicture(texels); err != nil {
		return err
	}
	say("viewer", "imported the image, and wrote it to %s", pictureFile)
	return nil
}

// writePicture writes the file. A picture in which hardly anything was drawn is an error.
func writePicture(texels []byte) error {
	colours := map[[3]byte]bool{}
	for i := 0; i < len(texels); i += 4 {
		colours[[3]byte(texels[i:])] = true
	}
	if len(colours) < 1000 {
		return fmt.Errorf("the picture has %d colours", len(colours))
	}
	if err := os.MkdirAll(filepath.Dir(pictureFile), 0o755); err != nil {
		return err
	}
	f, err := os.Create(pictureFile)
	if err != nil {
		return err
	}
	defer f.Close()
	return png.Encode(f, &image.NRGBA{Pix: texels, Stride: pictureWidth * 4, Rect: image.Rect(0, 0, pictureWidth,
		pictureHeight)})
}

// pointer is the address of what lies in an arena.
func pointer[T any](p *T) uintptr { return uintptr(vulkan.Ptr(p)) }
