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

// A chromaImage is an image in layout GENERAL with a format that needs a Y'CbCr conversion, and the same texels for a
// reference.
type chromaImage struct {
	c        *Case
	config   chromaConfig
	storage  texel.Format
	image    vk.Image
	memories []vk.DeviceMemory // one, or where the image is disjoint one for each plane
	sizes    []uint64          // of these
	offsets  []uint64          // and where the image or plane begins
	twin     transfer.Image
	layout   texel.Layout // of the twin
}

type chromaConfig struct {
	format vk.Format
	extent [2]uint32
	layers uint32
	tiling vk.ImageTiling
	flags  vk.ImageCreateFlags
	usage  vk.ImageUsageFlags // besides transfers
	seed   uint64
	next   unsafe.Pointer // behind VkImageCreateInfo
	// memory is what stands behind VkMemoryAllocateInfo for the image, or a plane of a disjoint one, and the size of the
	// memory, 0 for what is needed. nil is neither.
	memory func(n int) (unsafe.Pointer, uint64)
	empty  bool // the texels are not written
}

func (x *chromaConfig) disjoint() bool { return x.flags&vk.IMAGE_CREATE_DISJOINT_BIT != 0 }

// chroma makes an image of random texels.
func (c *Case) chroma(config chromaConfig) *chromaImage {
	i := &chromaImage{c: c, config: config}
	i.storage, _ = texel.FormatOf(config.format)
	info := vulkan.Struct[vk.ImageCreateInfo](&c.a)
	info.PNext, info.ImageType, info.Format = config.next, vk.IMAGE_TYPE_2D, config.format
	info.Extent = vk.Extent3D{Width: config.extent[0], Height: config.extent[1], Depth: 1}
	info.MipLevels, info.ArrayLayers, info.Samples = 1, max(config.layers, 1), vk.SAMPLE_COUNT_1_BIT
	info.Tiling, info.Flags = config.tiling, config.flags
	info.Usage = config.usage | vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT
	out := vulkan.New[vk.Image](&c.a)
	c.must("vkCreateImage", vk.Result(c.dev.Call("vkCreateImage", ptr(info), 0, ptr(out))))
	i.image = *out
	i.allocate()
	layout, ok := texel.NewLayout(i.storage, [3]uint32{config.extent[0], config.extent[1], 1}, 1, info.ArrayLayers, 1)
	if !ok {
		c.Fatalf("no layout")
	}
	bytes := make([]byte, layout.Size)
	i.layout = layout
	i.twin = transfer.NewImage(&[texel.MaxPlanes][]byte{bytes, bytes, bytes}, &i.layout, config.format, vk.IMAGE_TYPE_2D)
	if !config.empty {
		i.fill(config.seed)
	}
	return i
}

// planes are the aspects by which copies name planes, or the colours of a packed format.
func (i *chromaImage) planes() (list []vk.ImageAspectFlags) {
	for _, p := range i.storage.Planes[:i.storage.PlaneCount] {
		list = append(list, p.Aspect)
	}
	return list
}

// memoryAspect is how memory requirements and binding name a plane.
func (i *chromaImage) memoryAspect(plane int) vk.ImageAspectFlags {
	if i.config.tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT {
		return vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT << plane
	}
	return vk.IMAGE_ASPECT_PLANE_0_BIT << plane
}

// allocate binds the image, or each plane of a disjoint one, to memory of its own.
func (i *chromaImage) allocate() {
	c := i.c
	count := 1
	if i.config.disjoint() {
		count = i.storage.PlaneCount
	}
	infos := vulkan.Make[vk.BindImageMemoryInfo](&c.a, count)
	for n := range infos {
		ask := vulkan.Struct[vk.ImageMemoryRequirementsInfo2](&c.a)
		ask.Image = i.image
		infos[n].SType, infos[n].Image = vk.STRUCTURE_TYPE_BIND_IMAGE_MEMORY_INFO, i.image
		if i.config.disjoint() {
			plane := vulkan.Struct[vk.ImagePlaneMemoryRequirementsInfo](&c.a)
			plane.PlaneAspect = i.memoryAspect(n)
			ask.PNext = unsafe.Pointer(plane)
			bind := vulkan.Struct[vk.BindImagePlaneMemoryInfo](&c.a)
			bind.PlaneAspect = i.memoryAspect(n)
			infos[n].PNext = unsafe.Pointer(bind)
		}
		need := vulkan.Struct[vk.MemoryRequirements2](&c.a)
		c.dev.Call("vkGetImageMemoryRequirements2", ptr(ask), ptr(need))
		r := need.MemoryRequirements
		var next unsafe.Pointer
		offset := uint64(n) * r.Alignment // not all planes at the beginning of their memory
		size := r.Size + offset
		if i.config.memory != nil {
			var given uint64
			if next, given = i.config.memory(n); given != 0 {
				size = given
			}
		}
		m := c.allocate(size, c.visibleOf(r.MemoryTypeBits), next)
		i.memories, i.sizes, i.offsets = append(i.memories, m), append(i.sizes, size), append(i.offsets, offset)
		infos[n].Memory, infos[n].MemoryOffset = m, offset
	}
	c.must("vkBindImageMemory2", vk.Result(c.dev.Call("vkBindImageMemory2", uintptr(count), ptr(&infos[0]))))
}

func (i *chromaImage) free() {
	i.c.dev.DestroyImage(i.image)
	for _, m := range i.memories {
		i.c.dev.Free(m)
	}
}

// extentOf is how many texels an aspect has.
func (i *chromaImage) extentOf(aspect vk.ImageAspectFlags) vk.Extent3D {
	e := i.layout.Extent
	if i.storage.MultiPlanar() {
		plane := i.layout.Plane(i.storage.PlaneOf(aspect))
		e = plane.Extent
	}
	return vk.Extent3D{Width: e[0], Height: e[1], Depth: 1}
}

// regions are all planes, one behind the other in a buffer, and how many bytes these are.
func (i *chromaImage) regions() (list []vk.BufferImageCopy, size uint64) {
	layers := max(i.config.layers, 1)
	for _, aspect := range i.planes() {
		s, _ := i.layout.Subresource(aspect, 0, 0)
		list = append(list, vk.BufferImageCopy{BufferOffset: size, ImageExtent: i.extentOf(aspect),
			ImageSubresource: vk.ImageSubresourceLayers{AspectMask: aspect, LayerCount: layers}})
		size += s.RowBytes * s.Rows * uint64(layers)
		size = (size + 47) / 48 * 48
	}
	return list, size
}

// random is texels for all regions. Bits that a format does not use are 0: drivers need not keep them.
func (i *chromaImage) random(seed uint64) []byte {
	_, size := i.regions()
	r := rand.New(rand.NewPCG(seed, uint64(i.config.format)))
	host := make([]byte, size)
	for n := range host {
		host[n] = byte(r.Uint32())
	}
	info, _ := vk.FormatInfo(i.config.format)
	if bits := info.Components()[0].Bits; bits > 8 && bits < 16 {
		for n := 0; n < len(host); n += 2 {
			host[n] &= 0xff << (16 - bits)
		}
	}
	return host
}

// fill writes random texels to the image and to its twin.
func (i *chromaImage) fill(seed uint64) {
	list, _ := i.regions()
	host := i.twinFill(seed)
	b := i.c.shaderBuffer(host, vk.BUFFER_USAGE_TRANSFER_SRC_BIT)
	defer b.free()
	i.c.must("submit and wait", i.c.dev.Submit(func(cb vk.CommandBuffer) {
		i.barrier(cb, vk.IMAGE_LAYOUT_UNDEFINED)
		regions := vulkan.Make[vk.BufferImageCopy](&i.c.a, len(list))
		copy(regions, list)
		i.c.dev.CallOn("vkCmdCopyBufferToImage", uintptr(cb), uintptr(b.buffer), uintptr(i.image),
			uintptr(vk.IMAGE_LAYOUT_GENERAL), uintptr(len(list)), ptr(&regions[0]))
		i.barrier(cb, vk.IMAGE_LAYOUT_GENERAL)
	}))
}

// twinFill writes random texels to the twin alone.
func (i *chromaImage) twinFill(seed uint64) []byte {
	list, _ := i.regions()
	host := i.random(seed)
	if err := transfer.CopyBufferToImage(&i.twin, host, list); err != nil {
		i.c.Fatalf("%v", err)
	}
	return host
}

// barrier orders everything before it before everything after it, and brings the image to layout GENERAL.
func (i *chromaImage) barrier(cb vk.CommandBuffer, from vk.ImageLayout) {
	b := vulkan.Struct[vk.ImageMemoryBarrier](&i.c.a)
	b.SrcAccessMask, b.DstAccessMask = vk.ACCESS_MEMORY_WRITE_BIT, vk.ACCESS_MEMORY_READ_BIT|vk.ACCESS_MEMORY_WRITE_BIT
	b.OldLayout, b.NewLayout, b.Image = from, vk.IMAGE_LAYOUT_GENERAL, i.image
	b.SubresourceRange = vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: max(i.config.layers, 1)}
	b.SrcQueueFamilyIndex, b.DstQueueFamilyIndex = vk.QUEUE_FAMILY_IGNORED, vk.QUEUE_FAMILY_IGNORED
	all := uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	i.c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), all, all, 0, 0, 0, 0, 0, 1, ptr(b))
}

// read returns the texels of the image as in regions.
func (i *chromaImage) read() []byte {
	list, size := i.regions()
	host := make([]byte, size)
	b := i.c.shaderBuffer(host, vk.BUFFER_USAGE_TRANSFER_DST_BIT)
	defer b.free()
	i.c.must("submit and wait", i.c.dev.Submit(func(cb vk.CommandBuffer) {
		i.barrier(cb, vk.IMAGE_LAYOUT_GENERAL)
		regions := vulkan.Make[vk.BufferImageCopy](&i.c.a, len(list))
		copy(regions, list)
		i.c.dev.CallOn("vkCmdCopyImageToBuffer", uintptr(cb), uintptr(i.image), uintptr(vk.IMAGE_LAYOUT_GENERAL),
			uintptr(b.buffer), uintptr(len(list)), ptr(&regions[0]))
		i.c.dev.Barrier(cb)
	}))
	b.download()
	return host
}

// want compares all texels with the twin's.
func (i *chromaImage) want(what string) {
	list, size := i.regions()
	want := make([]byte, size)
	if err := transfer.CopyImageToBuffer(want, &i.twin, list); err != nil {
		i.c.Fatalf("%v", err)
	}
	i.c.same(what, i.read(), want)
}

// A chromaView is a view and a sampler with the same conversion.
type chromaView struct {
	i          *chromaImage
	conversion vk.SamplerYcbcrConversion
	view       vk.ImageView
	sampler    vk.Sampler
	reference  *sampling.View
	filters    *sampling.Sampler
}

// view makes a conversion and what it takes to sample the image with it.
func (i *chromaImage) view(with *sampling.ConversionInfo, from sampling.SamplerInfo) *chromaView {
	c := i.c
	v := &chromaView{i: i}
	info := vulkan.Struct[vk.SamplerYcbcrConversionCreateInfo](&c.a)
	info.Format, info.YcbcrModel, info.YcbcrRange, info.Components = with.Format, with.Model, with.Range, with.Components
	info.XChromaOffset, info.YChromaOffset, info.ChromaFilter = with.XOffset, with.YOffset, with.ChromaFilter
	if with.Explicit {
		info.ForceExplicitReconstruction = vk.TRUE
	}
	out := vulkan.New[vk.SamplerYcbcrConversion](&c.a)
	c.must("vkCreateSamplerYcbcrConversion",
		vk.Result(c.dev.Call("vkCreateSamplerYcbcrConversion", ptr(info), 0, ptr(out))))
	v.conversion = *out
	chain := vulkan.Struct[vk.SamplerYcbcrConversionInfo](&c.a)
	chain.Conversion = v.conversion
	create := vulkan.Struct[vk.ImageViewCreateInfo](&c.a)
	create.PNext, create.Image, create.ViewType, create.Format = unsafe.Pointer(chain), i.image, vk.IMAGE_VIEW_TYPE_2D,
		i.config.format
	create.SubresourceRange = vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}
	view := vulkan.New[vk.ImageView](&c.a)
	c.must("vkCreateImageView", vk.Result(c.dev.Call("vkCreateImageView", ptr(create), 0, ptr(view))))
	v.view = *view
	s := vulkan.Struct[vk.SamplerCreateInfo](&c.a)
	s.PNext, s.MagFilter, s.MinFilter, s.MaxLod = unsafe.Pointer(chain), from.MagFilter, from.MinFilter, from.MaxLod
	s.AddressModeU, s.AddressModeV, s.AddressModeW = from.AddressMode[0], from.AddressMode[1], from.AddressMode[2]
	sampler := vulkan.New[vk.Sampler](&c.a)
	c.must("vkCreateSampler", vk.Result(c.dev.Call("vkCreateSampler", ptr(s), 0, ptr(sampler))))
	v.sampler = *sampler
	v.filters = sampling.NewSampler(&from)
	v.reference = i.reference(with)
	return v
}

func (v *chromaView) free() {
	v.i.c.dev.Call("vkDestroySampler", uintptr(v.sampler), 0)
	v.i.c.dev.Call("vkDestroyImageView", uintptr(v.view), 0)
	v.i.c.dev.Call("vkDestroySamplerYcbcrConversion", uintptr(v.conversion), 0)
}

// descriptor is the view as a binding with an immutable sampler.
func (v *chromaView) descriptor() described {
	return described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, Immutable: true,
		Image: vk.DescriptorImageInfo{Sampler: v.sampler, ImageView: v.view, ImageLayout: vk.IMAGE_LAYOUT_GENERAL}}}
}

// reference is a view of the twin with a conversion.
func (i *chromaImage) reference(with *sampling.ConversionInfo) *sampling.View {
	conversion, err := sampling.NewConversion(with)
	if err != nil {
		i.c.Fatalf("%v", err)
	}
	var planes []sampling.ImagePlane
	for n := range i.twin.Planes {
		planes = append(planes, sampling.ImagePlane{Data: i.twin.Planes[n].Bytes, Layout: i.layout.Plane(n)})
	}
	v, err := sampling.NewConvertedView(&sampling.ImageView{Data: i.twin.Bytes, Layout: &i.layout,
		Type: vk.IMAGE_VIEW_TYPE_2D, Format: i.config.format,
		Range: vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}}, planes, conversion)
	if err != nil {
		i.c.Fatalf("%v", err)
	}
	return v
}
