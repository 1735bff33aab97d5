package conformance

import (
	"math/rand/v2"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/transfer"
	"farside/internal/vk"
)

// A texture is an image in layout GENERAL with a view of all of it, and the same texels for a reference.
type texture struct {
	c      *Case
	config textureConfig
	image  vk.Image
	memory vk.DeviceMemory
	view   vk.ImageView
	host   []byte // as in regions
	twin   transfer.Image
}

type textureConfig struct {
	format  vk.Format
	view    vk.ImageViewType
	extent  [3]uint32
	levels  uint32
	layers  uint32
	usage   vk.ImageUsageFlags // besides transfers
	swizzle vk.ComponentMapping
	seed    uint64
	data    []byte // instead of random bytes, as in regions
	samples uint32 // 0 is 1
	tiling  vk.ImageTiling
	flags   vk.ImageCreateFlags
	next    unsafe.Pointer      // behind VkImageCreateInfo
	aspect  vk.ImageAspectFlags // 0 is the first
}

func (t *textureConfig) imageType() vk.ImageType {
	switch t.view {
	case vk.IMAGE_VIEW_TYPE_1D, vk.IMAGE_VIEW_TYPE_1D_ARRAY:
		return vk.IMAGE_TYPE_1D
	case vk.IMAGE_VIEW_TYPE_3D:
		return vk.IMAGE_TYPE_3D
	}
	return vk.IMAGE_TYPE_2D
}

func (t *textureConfig) cube() bool {
	return t.view == vk.IMAGE_VIEW_TYPE_CUBE || t.view == vk.IMAGE_VIEW_TYPE_CUBE_ARRAY
}

func (t *textureConfig) everything() vk.ImageSubresourceRange {
	aspect := t.aspect
	if aspect == 0 {
		storage, _ := texel.FormatOf(t.format)
		aspect = storage.Planes[0].Aspect
	}
	return vk.ImageSubresourceRange{AspectMask: aspect, LevelCount: t.levels, LayerCount: t.layers}
}

// texture makes an image of random texels.
func (c *Case) texture(config textureConfig) *texture {
	if config.samples > 1 {
		return c.multisampled(config)
	}
	t := c.viewless(config)
	t.createView()
	return t
}

// viewless is texture without the view.
func (c *Case) viewless(config textureConfig) *texture {
	t := &texture{c: c, config: config}
	t.create()
	t.allocate()
	t.fill()
	return t
}

// multisampled makes an image of random samples. Nothing but rendering and shaders writes samples of their own, so they
// are written as those of an image with one sample in the same memory: this is about Farside's layout.
func (c *Case) multisampled(config textureConfig) *texture {
	one := config
	one.samples, one.extent[0] = 1, config.extent[0]*config.samples
	t := c.texture(one)
	c.dev.Call("vkDestroyImageView", uintptr(t.view), 0)
	c.dev.DestroyImage(t.image)
	t.config = config
	t.create()
	c.must("vkBindImageMemory", c.dev.BindImage(t.image, t.memory, 0))
	layout, ok := texel.NewLayout(t.twin.Layout.Format, config.extent, config.levels, config.layers, config.samples)
	if !ok || layout.Size != t.twin.Layout.Size {
		c.Fatalf("%d samples take %d bytes, the same number of texels %d", config.samples, layout.Size, t.twin.Layout.Size)
	}
	t.twin.Layout = &layout
	t.createView()
	return t
}

// create makes the image.
func (t *texture) create() {
	c, config := t.c, &t.config
	info := vulkan.Struct[vk.ImageCreateInfo](&c.a)
	info.ImageType, info.Format = config.imageType(), config.format
	info.Extent = vk.Extent3D{Width: config.extent[0], Height: config.extent[1], Depth: config.extent[2]}
	info.MipLevels, info.ArrayLayers, info.Samples = config.levels, config.layers,
		vk.SampleCountFlagBits(max(config.samples, 1))
	info.Usage = config.usage | vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT
	info.Tiling, info.Flags, info.PNext = config.tiling, config.flags, config.next
	if config.cube() {
		info.Flags |= vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT
	}
	img := vulkan.New[vk.Image](&c.a)
	c.must("vkCreateImage", vk.Result(c.dev.Call("vkCreateImage", ptr(info), 0, ptr(img))))
	t.image = *img
}

// allocate binds the image to memory of its own.
func (t *texture) allocate() {
	need := t.c.dev.ImageRequirements(t.image)
	kind := uint32(0)
	for need.MemoryTypeBits>>kind&1 == 0 {
		kind++
	}
	t.memory = t.c.allocate(need.Size, kind, nil)
	t.c.must("vkBindImageMemory", t.c.dev.BindImage(t.image, t.memory, 0))
}

// createView makes the view of all of the image.
func (t *texture) createView() {
	c, config := t.c, &t.config
	view := vulkan.New[vk.ImageView](&c.a)
	create := vulkan.Struct[vk.ImageViewCreateInfo](&c.a)
	create.Image, create.ViewType, create.Format, create.Components, create.SubresourceRange = t.image, config.view,
		config.format, config.swizzle, config.everything()
	c.must("vkCreateImageView", vk.Result(c.dev.Call("vkCreateImageView", ptr(create), 0, ptr(view))))
	t.view = *view
}

func (t *texture) free() {
	t.c.dev.Call("vkDestroyImageView", uintptr(t.view), 0)
	t.c.dev.DestroyImage(t.image)
	t.c.dev.Free(t.memory)
}

// regions are all levels and layers, one behind the other in a buffer, and how many bytes these are.
func (t *texture) regions() (list []vk.BufferImageCopy, size uint64) {
	l := t.twin.Layout
	r := t.config.everything()
	for level := range t.config.levels {
		s, _ := l.Subresource(r.AspectMask, level, 0)
		extent := vk.Extent3D{Width: max(l.Extent[0]>>level, 1), Height: max(l.Extent[1]>>level, 1),
			Depth: max(l.Extent[2]>>level, 1)}
		list = append(list, vk.BufferImageCopy{
			BufferOffset:     size,
			ImageSubresource: vk.ImageSubresourceLayers{AspectMask: r.AspectMask, MipLevel: level, LayerCount: t.config.layers},
			ImageExtent:      extent,
		})
		size += s.RowBytes * s.Rows * s.Slices * uint64(t.config.layers)
		size = (size + 47) / 48 * 48 // a multiple of every block's size
	}
	return list, size
}

// fill writes random texels to the image and to its twin.
func (t *texture) fill() {
	storage, _ := texel.FormatOf(t.config.format)
	layout, ok := texel.NewLayout(storage, t.config.extent, t.config.levels, t.config.layers, 1)
	if !ok {
		t.c.Fatalf("no layout")
	}
	t.twin = transfer.Image{Bytes: make([]byte, layout.Size), Layout: &layout, Format: t.config.format,
		Type: t.config.imageType()}
	list, size := t.regions()
	r := rand.New(rand.NewPCG(t.config.seed, uint64(t.config.format)))
	host := make([]byte, size)
	for i := range host {
		host[i] = byte(r.Uint32())
	}
	copy(host, t.config.data)
	if codec, ok := texel.CodecOf(t.config.format, t.config.everything().AspectMask); ok && codec.Class() == texel.Float &&
		t.config.data == nil {
		// Random bits of floats are also infinities and numbers that no filter can add.
		for at := 0; at+codec.Size() <= len(host); at += codec.Size() {
			codec.EncodeFloat(host[at:], [][4]float64{{r.Float64()*2 - 1, r.Float64()*2 - 1, r.Float64(), r.Float64()}})
		}
	}
	if err := transfer.CopyBufferToImage(&t.twin, host, list); err != nil {
		t.c.Fatalf("%v", err)
	}
	t.host = host
	b := t.c.shaderBuffer(host, vk.BUFFER_USAGE_TRANSFER_SRC_BIT)
	defer b.free()
	t.c.must("submit and wait", t.c.dev.Submit(func(cb vk.CommandBuffer) {
		t.barrier(cb, vk.IMAGE_LAYOUT_UNDEFINED)
		regions := vulkan.Make[vk.BufferImageCopy](&t.c.a, len(list))
		copy(regions, list)
		t.c.dev.CallOn("vkCmdCopyBufferToImage", uintptr(cb), uintptr(b.buffer), uintptr(t.image),
			uintptr(vk.IMAGE_LAYOUT_GENERAL), uintptr(len(list)), ptr(&regions[0]))
		t.barrier(cb, vk.IMAGE_LAYOUT_GENERAL)
	}))
}

// barrier orders everything before it before everything after it, and brings the image to layout GENERAL.
func (t *texture) barrier(cb vk.CommandBuffer, from vk.ImageLayout) {
	b := vulkan.Struct[vk.ImageMemoryBarrier](&t.c.a)
	b.SrcAccessMask, b.DstAccessMask = vk.ACCESS_MEMORY_WRITE_BIT, vk.ACCESS_MEMORY_READ_BIT|vk.ACCESS_MEMORY_WRITE_BIT
	b.OldLayout, b.NewLayout, b.Image, b.SubresourceRange = from, vk.IMAGE_LAYOUT_GENERAL, t.image, t.config.everything()
	storage, _ := texel.FormatOf(t.config.format)
	b.SubresourceRange.AspectMask = storage.Aspects() // both at once (VUID-VkImageMemoryBarrier-image-03320)
	b.SrcQueueFamilyIndex, b.DstQueueFamilyIndex = vk.QUEUE_FAMILY_IGNORED, vk.QUEUE_FAMILY_IGNORED
	t.c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT),
		uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT), 0, 0, 0, 0, 0, 1, ptr(b))
}

// read returns the texels of the image as in regions.
func (t *texture) read() []byte {
	list, size := t.regions()
	host := make([]byte, size)
	b := t.c.shaderBuffer(host, vk.BUFFER_USAGE_TRANSFER_DST_BIT)
	defer b.free()
	t.c.must("submit and wait", t.c.dev.Submit(func(cb vk.CommandBuffer) {
		t.barrier(cb, vk.IMAGE_LAYOUT_GENERAL)
		regions := vulkan.Make[vk.BufferImageCopy](&t.c.a, len(list))
		copy(regions, list)
		t.c.dev.CallOn("vkCmdCopyImageToBuffer", uintptr(cb), uintptr(t.image), uintptr(vk.IMAGE_LAYOUT_GENERAL),
			uintptr(b.buffer), uintptr(len(list)), ptr(&regions[0]))
		t.c.dev.Barrier(cb)
	}))
	b.download()
	return host
}

// reference is a view of the twin.
func (t *texture) reference() *sampling.View {
	v, err := sampling.NewImageView(&sampling.ImageView{Data: t.twin.Bytes, Layout: t.twin.Layout,
		Volume: t.twin.Type == vk.IMAGE_TYPE_3D,
		Type:   t.config.view, Format: t.config.format, Range: t.config.everything(), Swizzle: t.config.swizzle})
	if err != nil {
		t.c.Fatalf("%v", err)
	}
	return v
}

// descriptor is the texture as a binding.
func (t *texture) descriptor(kind vk.DescriptorType, s vk.Sampler) described {
	return described{vulkan.Descriptor{Type: kind,
		Image: vk.DescriptorImageInfo{Sampler: s, ImageView: t.view, ImageLayout: vk.IMAGE_LAYOUT_GENERAL}}}
}

// sampler makes a VkSampler and its reference.
func (c *Case) sampler(from sampling.SamplerInfo, compare bool) (vk.Sampler, *sampling.Sampler, func()) {
	info := vulkan.Struct[vk.SamplerCreateInfo](&c.a)
	info.MagFilter, info.MinFilter, info.MipmapMode = from.MagFilter, from.MinFilter, from.MipmapMode
	info.AddressModeU, info.AddressModeV, info.AddressModeW = from.AddressMode[0], from.AddressMode[1], from.AddressMode[2]
	info.MipLodBias, info.MinLod, info.MaxLod, info.BorderColor = from.MipLodBias, from.MinLod, from.MaxLod,
		from.BorderColor
	if compare {
		info.CompareEnable, info.CompareOp = vk.TRUE, from.CompareOp
	}
	if from.UnnormalizedCoordinates {
		info.UnnormalizedCoordinates = vk.TRUE
	}
	if from.NonSeamlessCubeMap {
		info.Flags = vk.SamplerCreateFlags(vk.SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT)
	}
	if from.ReductionMode != 0 {
		r := vulkan.Struct[vk.SamplerReductionModeCreateInfo](&c.a)
		r.ReductionMode = from.ReductionMode
		info.PNext = unsafe.Pointer(r)
	}
	out := vulkan.New[vk.Sampler](&c.a)
	c.must("vkCreateSampler", vk.Result(c.dev.Call("vkCreateSampler", ptr(info), 0, ptr(out))))
	s := *out
	return s, sampling.NewSampler(&from), func() { c.dev.Call("vkDestroySampler", uintptr(s), 0) }
}
