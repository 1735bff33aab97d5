package conformance

import (
	"slices"
	"unsafe"

	"farside/conformance/reference"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// hostCopyCases are VK_EXT_host_image_copy's: the same regions as those of copies by the queue, done by the
// calling thread between the application's memory and images.
func hostCopyCases() []definition {
	feature := func(a *vulkan.Arena) unsafe.Pointer {
		f := vulkan.Struct[vk.PhysicalDeviceHostImageCopyFeatures](a)
		f.HostImageCopy = 1
		return unsafe.Pointer(f)
	}
	extensions := []string{"VK_KHR_copy_commands2", "VK_KHR_format_feature_flags2", "VK_EXT_host_image_copy"}
	var cases []definition
	row := func(name string, run func(c *Case)) {
		// The oldest supported validation layer does not know the extension.
		cases = append(cases, definition{name: "image.host_image_copy." + name, extensions: extensions, features: feature,
			run: run})
	}
	each := func(c *Case, f vk.Format, run func(s shape)) {
		all, ran := c.shapes(f), false
		if compressed(f) {
			all = append(all, c.compressedLinear(f)...)
		}
		for _, s := range all {
			s.usage = vk.ImageUsageFlags(vk.IMAGE_USAGE_HOST_TRANSFER_BIT_EXT)
			if !c.supports(s) {
				if c.driver == "farside" {
					c.Errorf("no host copies of %v", s)
				}
				continue
			}
			ran = true
			run(s)
		}
		if !ran {
			c.Unsupported(f.String())
		}
	}
	for _, f := range []vk.Format{vk.FORMAT_R8_UNORM, vk.FORMAT_R8G8B8_UNORM, vk.FORMAT_R8G8B8A8_UNORM,
		vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_R64_UINT,
		vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.FORMAT_BC3_SRGB_BLOCK, vk.FORMAT_ASTC_5x4_SRGB_BLOCK, vk.FORMAT_D16_UNORM,
		vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_D32_SFLOAT_S8_UINT, vk.FORMAT_S8_UINT} {
		row("memory."+caseName(f), func(c *Case) {
			each(c, f, func(s shape) {
				m := c.mirror(uint64(f))
				i := m.image(s)
				m.flush()
				for _, aspect := range i.want.Aspects() {
					regions, end := stridedRegions(i.want, aspect)
					in, out := vulkan.Make[byte](&m.a, int(end)), vulkan.Make[byte](&m.a, int(end))
					if depthBits(f) == 0 || aspect != depth {
						for n := range in {
							in[n] = byte(m.rng.Uint32())
						}
					}
					want := make([]byte, end)
					for _, r := range regions {
						m.memoryToImage(i, in, r)
						m.imageToMemory(out, i, r)
						reference.CopyImageToBuffer(want, i.want, r)
					}
					c.same("memory copied from "+s.String(), out, want)
				}
				m.check()
			})
		})
	}
	for _, f := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_BC3_SRGB_BLOCK, vk.FORMAT_D24_UNORM_S8_UINT} {
		row("image."+caseName(f), func(c *Case) {
			each(c, f, func(s shape) {
				m := c.mirror(uint64(f) + 1)
				src, dst := m.image(s), m.image(s)
				m.flush()
				for _, aspect := range src.want.Aspects() {
					var regions []vk.ImageCopy
					for level := range s.levels {
						e := src.want.LevelExtent(level)
						layers := vk.ImageSubresourceLayers{AspectMask: aspect, MipLevel: level, LayerCount: s.layers}
						regions = append(regions, vk.ImageCopy{SrcSubresource: layers, DstSubresource: layers,
							Extent: vk.Extent3D{Width: e[0], Height: e[1], Depth: e[2]}})
					}
					m.imageToImage(dst, src, 0, regions...)
					part := regions[0]
					block := src.want.BlockExtent()
					part.SrcSubresource.LayerCount, part.DstSubresource.LayerCount = 1, 1
					part.SrcSubresource.BaseArrayLayer = s.layers - 1
					part.SrcOffset.X, part.DstOffset.X = int32(block[0]), int32(2*block[0])
					part.Extent = vk.Extent3D{Width: block[0], Height: min(block[1], s.extent[1]), Depth: 1}
					m.imageToImage(src, dst, 0, part)
				}
				m.check()
			})
		})
		row("memcpy."+caseName(f), func(c *Case) {
			each(c, f, func(s shape) {
				m := c.mirror(uint64(f) + 2)
				src, dst := m.image(s), m.image(s)
				m.flush()
				for _, aspect := range src.want.Aspects() {
					for level := range s.levels {
						for layer := range s.layers {
							m.memcpy(dst, src, aspect, level, layer)
						}
					}
				}
				for _, aspect := range src.want.Aspects() {
					e := src.want.LevelExtent(0)
					layers := vk.ImageSubresourceLayers{AspectMask: aspect, LayerCount: s.layers}
					m.random(src, aspect, src.want.Bytes(aspect, 0, 0)) // and something else again
					m.stage(src, aspect, 0, true)
					m.flush()
					m.imageToImage(dst, src, vk.HostImageCopyFlags(vk.HOST_IMAGE_COPY_MEMCPY_BIT_EXT),
						vk.ImageCopy{SrcSubresource: layers, DstSubresource: layers,
							Extent: vk.Extent3D{Width: e[0], Height: e[1], Depth: e[2]}})
				}
				m.check()
			})
		})
	}
	row("layouts", func(c *Case) {
		p := vulkan.Struct[vk.PhysicalDeviceHostImageCopyProperties](&c.a)
		c.inst.Properties2(c.pd, unsafe.Pointer(p))
		src, dst := vulkan.Make[vk.ImageLayout](&c.a, int(p.CopySrcLayoutCount)),
			vulkan.Make[vk.ImageLayout](&c.a, int(p.CopyDstLayoutCount))
		p.PCopySrcLayouts, p.PCopyDstLayouts = vulkan.First(src), vulkan.First(dst)
		c.inst.Properties2(c.pd, unsafe.Pointer(p))
		if !slices.Contains(src, vk.IMAGE_LAYOUT_GENERAL) || !slices.Contains(dst, vk.IMAGE_LAYOUT_GENERAL) {
			c.Errorf("layouts %v and %v lack VK_IMAGE_LAYOUT_GENERAL", src, dst)
		}
		if p.OptimalTilingLayoutUUID == [16]byte{} {
			c.Errorf("optimalTilingLayoutUUID is zero")
		}
		s := plane(vk.FORMAT_R8G8B8A8_UNORM, 16, 16)
		s.usage = vk.ImageUsageFlags(vk.IMAGE_USAGE_HOST_TRANSFER_BIT_EXT)
		m := c.mirror(3)
		i := m.image(s)
		m.flush()
		for _, to := range dst {
			if to == vk.IMAGE_LAYOUT_GENERAL || to == vk.IMAGE_LAYOUT_UNDEFINED {
				continue
			}
			for _, step := range [][2]vk.ImageLayout{{vk.IMAGE_LAYOUT_GENERAL, to}, {to, vk.IMAGE_LAYOUT_GENERAL}} {
				t := vulkan.Struct[vk.HostImageLayoutTransitionInfo](&m.a)
				t.Image, t.OldLayout, t.NewLayout = i.handle, step[0], step[1]
				t.SubresourceRange = vk.ImageSubresourceRange{AspectMask: color, LevelCount: vk.REMAINING_MIP_LEVELS,
					LayerCount: vk.REMAINING_ARRAY_LAYERS}
				c.must("vkTransitionImageLayoutEXT", vk.Result(c.dev.Call("vkTransitionImageLayoutEXT", 1, ptr(t))))
			}
		}
		m.check() // transitions keep the contents
	})
	return cases
}

// memoryToImage is vkCopyMemoryToImageEXT of one region, whose bufferOffset is the place in src.
func (m *mirror) memoryToImage(dst *mirrorImage, src []byte, r vk.BufferImageCopy) {
	region := vulkan.Struct[vk.MemoryToImageCopy](&m.a)
	region.PHostPointer = unsafe.Pointer(&src[r.BufferOffset])
	region.MemoryRowLength, region.MemoryImageHeight = r.BufferRowLength, r.BufferImageHeight
	region.ImageSubresource, region.ImageOffset, region.ImageExtent = r.ImageSubresource, r.ImageOffset, r.ImageExtent
	info := vulkan.Struct[vk.CopyMemoryToImageInfo](&m.a)
	info.DstImage, info.DstImageLayout, info.RegionCount, info.PRegions = dst.handle, vk.IMAGE_LAYOUT_GENERAL, 1, region
	m.c.must("vkCopyMemoryToImageEXT", vk.Result(m.c.dev.Call("vkCopyMemoryToImageEXT", ptr(info))))
	reference.CopyBufferToImage(dst.want, src, r)
}

// imageToMemory is vkCopyImageToMemoryEXT of one region.
func (m *mirror) imageToMemory(dst []byte, src *mirrorImage, r vk.BufferImageCopy) {
	region := vulkan.Struct[vk.ImageToMemoryCopy](&m.a)
	region.PHostPointer = unsafe.Pointer(&dst[r.BufferOffset])
	region.MemoryRowLength, region.MemoryImageHeight = r.BufferRowLength, r.BufferImageHeight
	region.ImageSubresource, region.ImageOffset, region.ImageExtent = r.ImageSubresource, r.ImageOffset, r.ImageExtent
	info := vulkan.Struct[vk.CopyImageToMemoryInfo](&m.a)
	info.SrcImage, info.SrcImageLayout, info.RegionCount, info.PRegions = src.handle, vk.IMAGE_LAYOUT_GENERAL, 1, region
	m.c.must("vkCopyImageToMemoryEXT", vk.Result(m.c.dev.Call("vkCopyImageToMemoryEXT", ptr(info))))
}

// imageToImage is vkCopyImageToImageEXT.
func (m *mirror) imageToImage(dst, src *mirrorImage, flags vk.HostImageCopyFlags, regions ...vk.ImageCopy) {
	info := vulkan.Struct[vk.CopyImageToImageInfo](&m.a)
	info.Flags = flags
	info.SrcImage, info.SrcImageLayout = src.handle, vk.IMAGE_LAYOUT_GENERAL
	info.DstImage, info.DstImageLayout = dst.handle, vk.IMAGE_LAYOUT_GENERAL
	info.RegionCount, info.PRegions = array2(&m.a, regions, imageCopy2)
	m.c.must("vkCopyImageToImageEXT", vk.Result(m.c.dev.Call("vkCopyImageToImageEXT", ptr(info))))
	for _, r := range regions {
		reference.CopyImage(dst.want, src.want, r)
	}
}

// memcpy moves a subresource by way of memory in the driver's own arrangement.
func (m *mirror) memcpy(dst, src *mirrorImage, aspect vk.ImageAspectFlags, level, layer uint32) {
	c := m.c
	of := vulkan.Struct[vk.ImageSubresource2](&m.a)
	of.ImageSubresource = vk.ImageSubresource{AspectMask: aspect, MipLevel: level, ArrayLayer: layer}
	size := vulkan.Struct[vk.SubresourceHostMemcpySize](&m.a)
	layout := vulkan.Struct[vk.SubresourceLayout2](&m.a)
	layout.PNext = unsafe.Pointer(size)
	c.dev.Call("vkGetImageSubresourceLayout2EXT", uintptr(src.handle), ptr(of), ptr(layout))
	if least := len(src.want.Bytes(aspect, level, layer)); size.Size < vk.DeviceSize(least) {
		c.Fatalf("a subresource of %d bytes has a memcpy size of %d", least, size.Size)
	}
	b := vulkan.Make[byte](&m.a, int(size.Size))
	e := src.want.LevelExtent(level)
	layers := vk.ImageSubresourceLayers{AspectMask: aspect, MipLevel: level, BaseArrayLayer: layer, LayerCount: 1}
	extent := vk.Extent3D{Width: e[0], Height: e[1], Depth: e[2]}
	from := vulkan.Struct[vk.ImageToMemoryCopy](&m.a)
	from.PHostPointer, from.ImageSubresource, from.ImageExtent = unsafe.Pointer(vulkan.First(b)), layers, extent
	get := vulkan.Struct[vk.CopyImageToMemoryInfo](&m.a)
	get.Flags = vk.HostImageCopyFlags(vk.HOST_IMAGE_COPY_MEMCPY_BIT_EXT)
	get.SrcImage, get.SrcImageLayout, get.RegionCount, get.PRegions = src.handle, vk.IMAGE_LAYOUT_GENERAL, 1, from
	c.must("vkCopyImageToMemoryEXT", vk.Result(c.dev.Call("vkCopyImageToMemoryEXT", ptr(get))))
	to := vulkan.Struct[vk.MemoryToImageCopy](&m.a)
	to.PHostPointer, to.ImageSubresource, to.ImageExtent = unsafe.Pointer(vulkan.First(b)), layers, extent
	put := vulkan.Struct[vk.CopyMemoryToImageInfo](&m.a)
	put.Flags = get.Flags
	put.DstImage, put.DstImageLayout, put.RegionCount, put.PRegions = dst.handle, vk.IMAGE_LAYOUT_GENERAL, 1, to
	c.must("vkCopyMemoryToImageEXT", vk.Result(c.dev.Call("vkCopyMemoryToImageEXT", ptr(put))))
	copy(dst.want.Bytes(aspect, level, layer), src.want.Bytes(aspect, level, layer))
}
