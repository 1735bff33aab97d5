package main

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
	"unsafe"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	targetWidth  = 1920
	targetHeight = 1080
	textureEdge  = 512
	smallDraws   = 2000
)

// graphicsWork is a pass that is measured: one pipeline and its draws.
type graphicsWork struct {
	name, title string
	textures    int
	trilinear   bool
	blend       bool
	depth       bool
	depthOnly   bool
	samples     uint32
	pixels      int // of a triangle; 0: four that fill everything
	draws       int // of two triangles each, with push constants of their own for vertices
	// What else is its own of each draw: a push constant for fragments, a descriptor set, a scissor.
	shaded, sets, scissors bool
	most                   float64
}

var graphicsWorks = []graphicsWork{
	{name: "fill opaque", title: "fill 1080p four times, opaque", most: 1},
	{name: "fill blended", title: "fill 1080p four times, blended", blend: true, most: 1},
	{name: "one bilinear", title: "the same opaque with a texture, bilinear", textures: 1, most: 1},
	{name: "one trilinear", title: "with a texture, trilinear", textures: 1, trilinear: true, most: 1},
	{name: "four bilinear", title: "with four textures, bilinear", textures: 4, most: 1},
	{name: "four trilinear", title: "with four textures, trilinear", textures: 4, trilinear: true, most: 1},
	{name: "triangles of 10", title: "200,000 triangles of 10 pixels, depth test", depth: true, pixels: 10, most: 1},
	{name: "triangles of 100", title: "20,000 triangles of 100 pixels, depth test", depth: true, pixels: 100, most: 1},
	{name: "triangles of 1000", title: "2,000 triangles of 1,000 pixels, depth test", depth: true, pixels: 1000, most: 1},
	{name: "depth only", title: "20,000 triangles of 100 pixels, depth only", depth: true, depthOnly: true, pixels: 100,
		most: 1},
	{name: "four samples", title: "2,000 triangles of 1,000 pixels, depth test, four samples and a resolve", depth: true,
		samples: 4, pixels: 1000, most: 1},
	{name: "small draws", title: "2,000 draws of two triangles of 50 pixels", draws: smallDraws, pixels: 50, most: 1},
	{name: "draws with constants", title: "the same draws with a push constant of fragments between them",
		draws: smallDraws, pixels: 50, shaded: true, most: 1},
	{name: "draws with sets", title: "with a descriptor set, of another texture, between them", draws: smallDraws,
		pixels: 50, textures: 1, sets: true, most: 1},
	{name: "draws with scissors", title: "with a scissor between them", draws: smallDraws, pixels: 50, scissors: true,
		most: 1},
}

// graphicsBench is a driver's device for graphics, with recorded work.
type graphicsBench struct {
	name        string
	a           vulkan.Arena
	dev         *vulkan.Device
	calls       *submitCalls
	color       target // with one sample
	many        target // with four
	depth       [2]target
	back        vk.Buffer // where pictures are read from
	bytes       []byte
	textureView [4]vk.ImageView
	modules     map[string]vk.ShaderModule
	scissor     *vk.Rect2D // that is being set
	work        []*vk.SubmitInfo
	empty       *vk.SubmitInfo
}

type target struct {
	image vk.Image
	view  vk.ImageView
}

// openGraphics makes the devices of both drivers, and records the works that are needed.
func openGraphics(l *vulkan.Loader, needed *samples) ([]*graphicsBench, error) {
	inst, r := l.CreateInstance(vulkan.InstanceConfig{APIVersion: uint32(vk.API_VERSION_1_3)})
	if r != vk.SUCCESS {
		return nil, fmt.Errorf("vkCreateInstance: %v", r)
	}
	pds, r := inst.PhysicalDevices()
	if r != vk.SUCCESS || len(pds) != 2 {
		return nil, fmt.Errorf("%d physical devices, want Farside's and lavapipe's: %v", len(pds), r)
	}
	var benches []*graphicsBench
	for _, pd := range pds {
		b := &graphicsBench{name: "lavapipe", modules: map[string]vk.ShaderModule{}}
		if inst.DriverName(pd) == "Farside" {
			b.name = "farside"
		}
		if err := b.open(inst, pd, needed); err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		benches = append(benches, b)
	}
	return benches, nil
}

func (b *graphicsBench) open(inst *vulkan.Instance, pd vk.PhysicalDevice, needed *samples) error {
	rendering := vulkan.Struct[vk.PhysicalDeviceDynamicRenderingFeatures](&b.a)
	rendering.DynamicRendering = vk.TRUE
	b.scissor = vulkan.New[vk.Rect2D](&b.a)
	var r vk.Result
	if b.dev, r = inst.CreateDevice(pd, vulkan.DeviceConfig{Next: unsafe.Pointer(rendering)}); r != vk.SUCCESS {
		return fmt.Errorf("vkCreateDevice: %v", r)
	}
	err := errors.Join(b.makeTargets(), b.makeTextures())
	if err != nil {
		return err
	}
	if b.calls, err = newSubmitCalls(&b.a, b.dev); err != nil {
		return err
	}
	b.work = make([]*vk.SubmitInfo, len(graphicsWorks))
	for i := range graphicsWorks {
		if !needed.needs("farside " + graphicsWorks[i].name) {
			continue
		}
		b.work[i], err = b.record(&graphicsWorks[i], 0)
		if err != nil {
			return fmt.Errorf("%s: %w", graphicsWorks[i].name, err)
		}
	}
	b.empty, err = b.submission(func(cb vk.CommandBuffer) {
		b.dev.Render(cb, vulkan.Rendering{Area: wholeArea(), Colors: []vk.RenderingAttachmentInfo{
			vulkan.Attachment(b.color.view)}}, func() {})
	})
	return err
}

func wholeArea() vk.Rect2D {
	return vk.Rect2D{Extent: vk.Extent2D{Width: targetWidth, Height: targetHeight}}
}

// image makes an image with memory and a view of its own.
func (b *graphicsBench) image(f vk.Format, aspect vk.ImageAspectFlags, width, height, levels, samples uint32,
	usage vk.ImageUsageFlags) (target, error) {
	var a vulkan.Arena
	defer a.Close()
	info := vulkan.Struct[vk.ImageCreateInfo](&a)
	info.ImageType, info.Format, info.MipLevels, info.ArrayLayers = vk.IMAGE_TYPE_2D, f, levels, 1
	info.Extent = vk.Extent3D{Width: width, Height: height, Depth: 1}
	info.Samples, info.Usage = vk.SampleCountFlagBits(samples), usage
	image := vulkan.New[vk.Image](&a)
	if r := vk.Result(b.dev.Call("vkCreateImage", address(info), 0, address(image))); r != vk.SUCCESS {
		return target{}, fmt.Errorf("vkCreateImage: %v", r)
	}
	req := b.dev.ImageRequirements(*image)
	m, r := b.dev.Allocate(req.Size, uint32(bits.TrailingZeros32(req.MemoryTypeBits)), nil)
	if r == vk.SUCCESS {
		r = b.dev.BindImage(*image, m, 0)
	}
	if r != vk.SUCCESS {
		return target{}, fmt.Errorf("memory of an image: %v", r)
	}
	v := vulkan.Struct[vk.ImageViewCreateInfo](&a)
	v.Image, v.ViewType, v.Format = *image, vk.IMAGE_VIEW_TYPE_2D, f
	v.SubresourceRange = vk.ImageSubresourceRange{AspectMask: aspect, LevelCount: levels, LayerCount: 1}
	view := vulkan.New[vk.ImageView](&a)
	if r := vk.Result(b.dev.Call("vkCreateImageView", address(v), 0, address(view))); r != vk.SUCCESS {
		return target{}, fmt.Errorf("vkCreateImageView: %v", r)
	}
	r = b.dev.Submit(func(cb vk.CommandBuffer) {
		barrier := vulkan.Struct[vk.ImageMemoryBarrier](&a)
		barrier.Image, barrier.SubresourceRange, barrier.NewLayout = *image, v.SubresourceRange, vk.IMAGE_LAYOUT_GENERAL
		barrier.DstAccessMask = vk.AccessFlags(vk.ACCESS_MEMORY_READ_BIT | vk.ACCESS_MEMORY_WRITE_BIT)
		b.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT),
			uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT), 0, 0, 0, 0, 0, 1, address(barrier))
	})
	if r != vk.SUCCESS {
		return target{}, fmt.Errorf("a layout transition: %v", r)
	}
	return target{*image, *view}, nil
}

// buffer makes a buffer and maps it.
func (b *graphicsBench) buffer(size int, usage vk.BufferUsageFlags) (vk.Buffer, []byte, error) {
	buffer, r := b.dev.CreateUsageBuffer(uint64(size), usage, nil)
	if r != vk.SUCCESS {
		return 0, nil, fmt.Errorf("vkCreateBuffer: %v", r)
	}
	req := b.dev.BufferRequirements(buffer)
	memory := b.dev.Instance.MemoryProperties(b.dev.Physical, nil)
	const flags = vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.MEMORY_PROPERTY_HOST_COHERENT_BIT
	kind := uint32(0)
	for req.MemoryTypeBits>>kind&1 == 0 || memory.MemoryTypes[kind].PropertyFlags&flags != flags {
		kind++
	}
	m, r := b.dev.Allocate(req.Size, kind, nil)
	if r == vk.SUCCESS {
		r = b.dev.BindBuffer(buffer, m, 0)
	}
	if r != vk.SUCCESS {
		return 0, nil, fmt.Errorf("memory of a buffer: %v", r)
	}
	mapped, r := b.dev.Map(m, 0, vk.WHOLE_SIZE)
	if r != vk.SUCCESS {
		return 0, nil, fmt.Errorf("vkMapMemory: %v", r)
	}
	return buffer, vulkan.Bytes(mapped, size), nil
}

func (b *graphicsBench) makeTargets() (err error) {
	const colors = vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_TRANSFER_SRC_BIT
	for i, t := range []*target{&b.color, &b.many} {
		if *t, err = b.image(vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_ASPECT_COLOR_BIT, targetWidth, targetHeight, 1,
			[]uint32{1, 4}[i], colors); err != nil {
			return err
		}
		if b.depth[i], err = b.image(vk.FORMAT_D32_SFLOAT, vk.IMAGE_ASPECT_DEPTH_BIT, targetWidth, targetHeight, 1,
			[]uint32{1, 4}[i], vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT); err != nil {
			return err
		}
	}
	b.back, b.bytes, err = b.buffer(4*targetWidth*targetHeight, vk.BUFFER_USAGE_TRANSFER_DST_BIT)
	return err
}

// makeTextures fills four with waves, each level by itself.
func (b *graphicsBench) makeTextures() error {
	for n := range b.textureView {
		levels := uint32(bits.Len(textureEdge))
		t, err := b.image(vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_ASPECT_COLOR_BIT, textureEdge, textureEdge, levels, 1,
			vk.IMAGE_USAGE_SAMPLED_BIT|vk.IMAGE_USAGE_TRANSFER_DST_BIT)
		if err != nil {
			return err
		}
		b.textureView[n] = t.view
		from, data, err := b.buffer(4*textureEdge*textureEdge, vk.BUFFER_USAGE_TRANSFER_SRC_BIT)
		if err != nil {
			return err
		}
		for level := range levels {
			edge := textureEdge >> level
			for i := range edge * edge {
				x, y := float64(i%edge)/float64(edge), float64(i/edge)/float64(edge)
				for k := range 4 {
					data[4*i+k] = uint8(128 + 127*math.Sin(20*(x+float64(n))+float64(k)+15*y))
				}
			}
			r := b.dev.Submit(func(cb vk.CommandBuffer) {
				b.copy("vkCmdCopyBufferToImage", cb, t.image, from, uint32(edge), uint32(edge), level)
			})
			if r != vk.SUCCESS {
				return fmt.Errorf("filling a texture: %v", r)
			}
		}
	}
	return nil
}

// copy records a copy between an image and a buffer.
func (b *graphicsBench) copy(command string, cb vk.CommandBuffer, image vk.Image, buffer vk.Buffer, width, height,
	level uint32) {
	region := vulkan.New[vk.BufferImageCopy](&b.a)
	region.ImageSubresource = vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, MipLevel: level,
		LayerCount: 1}
	region.ImageExtent = vk.Extent3D{Width: width, Height: height, Depth: 1}
	if command == "vkCmdCopyBufferToImage" {
		b.dev.CallOn(command, uintptr(cb), uintptr(buffer), uintptr(image), uintptr(vk.IMAGE_LAYOUT_GENERAL), 1,
			address(region))
		return
	}
	b.dev.CallOn(command, uintptr(cb), uintptr(image), uintptr(vk.IMAGE_LAYOUT_GENERAL), uintptr(buffer), 1,
		address(region))
}

// picture reads what has been drawn.
func (b *graphicsBench) picture() ([]byte, error) {
	r := b.dev.Submit(func(cb vk.CommandBuffer) {
		b.copy("vkCmdCopyImageToBuffer", cb, b.color.image, b.back, targetWidth, targetHeight, 0)
	})
	if r != vk.SUCCESS {
		return nil, fmt.Errorf("reading a picture: %v", r)
	}
	return append([]byte(nil), b.bytes...), nil
}

// module compiles a shader, once, and makes its module.
func (b *graphicsBench) module(name string, defines ...string) (vk.ShaderModule, error) {
	key := fmt.Sprint(name, defines)
	if m := b.modules[key]; m != 0 {
		return m, nil
	}
	code, err := shaders.Source{Name: "bench/" + name, Defines: defines}.Compile()
	if err != nil {
		return 0, err
	}
	m, r := b.dev.CreateShaderModule(code)
	if r != vk.SUCCESS {
		return 0, fmt.Errorf("vkCreateShaderModule: %v", r)
	}
	b.modules[key] = m
	return m, nil
}

// submission records a command buffer.
func (b *graphicsBench) submission(record func(cb vk.CommandBuffer)) (*vk.SubmitInfo, error) {
	pool, r := b.dev.CreateCommandPool(0)
	var cb vk.CommandBuffer
	if r == vk.SUCCESS {
		cb, r = b.dev.AllocateCommandBuffer(pool)
	}
	if r == vk.SUCCESS {
		r = b.dev.Record(cb, 0, record)
	}
	if r != vk.SUCCESS {
		return nil, fmt.Errorf("recording: %v", r)
	}
	info := vulkan.Struct[vk.SubmitInfo](&b.a)
	info.CommandBufferCount, info.PCommandBuffers = 1, vulkan.Put(&b.a, cb)
	return info, nil
}

// use makes a pipeline that the driver has not seen before, draws with it, and returns nanoseconds.
func (b *graphicsBench) use(round int, l *loops) (float64, error) {
	start := time.Now()
	info, err := b.record(&graphicsWork{textures: 1, depth: true, draws: 1, pixels: 50}, float32(round+1)*0x1p-12)
	if err != nil {
		return 0, err
	}
	run(1, l.submit, address(b.calls), address(info))
	return float64(time.Since(start)), nil
}

// sample measures everything once.
func (b *graphicsBench) sample(round int, l *loops, into *samples) error {
	for n, k := range graphicsWorks {
		into.add(b.name+" "+k.name, func() float64 {
			run(1, l.submit, address(b.calls), address(b.empty)) // wakes the cores
			return run(1, l.submit, address(b.calls), address(b.work[n]))
		})
	}
	into.add(b.name+" empty pass", func() float64 { return run(200, l.submit, address(b.calls), address(b.empty)) })
	var err error
	into.add(b.name+" first draw", func() (ns float64) {
		ns, err = b.use(round, l)
		return ns
	})
	return err
}
