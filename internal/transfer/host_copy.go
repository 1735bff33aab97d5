package transfer

import "farside/internal/vk"

// The host copies of VK_EXT_host_image_copy take a vk.BufferImageCopy too, whose BufferOffset is 0, beside the
// bytes that the region's host pointer points to. How many those are the …Size functions say: an application
// passes no size.

var (
	memoryToImage = &linearRules{
		rules: rules{
			bound:   vk.VUID_VkCopyMemoryToImageInfo_dstImage_07966,
			aspects: vk.VUID_VkCopyMemoryToImageInfo_imageSubresource_09105,
			level:   vk.VUID_VkCopyMemoryToImageInfo_imageSubresource_07967,
			layers:  vk.VUID_VkCopyMemoryToImageInfo_imageSubresource_07968,
			volume:  vk.VUID_VkCopyMemoryToImageInfo_dstImage_07983,
			flat:    vk.VUID_VkCopyMemoryToImageInfo_dstImage_07979,
			plane:   vk.VUID_VkCopyMemoryToImageInfo_dstImage_07980,
			single:  vk.VUID_VkCopyMemoryToImageInfo_dstImage_07981,
			inside: [3]vk.VUID{
				vk.VUID_VkCopyMemoryToImageInfo_imageSubresource_07971,
				vk.VUID_VkCopyMemoryToImageInfo_imageSubresource_07972,
				vk.VUID_VkCopyMemoryToImageInfo_imageOffset_09104,
			},
			aligned: [3]vk.VUID{
				vk.VUID_VkCopyMemoryToImageInfo_dstImage_07274,
				vk.VUID_VkCopyMemoryToImageInfo_dstImage_07275,
				vk.VUID_VkCopyMemoryToImageInfo_dstImage_07276,
			},
			whole: [3]vk.VUID{
				vk.VUID_VkCopyMemoryToImageInfo_dstImage_00207,
				vk.VUID_VkCopyMemoryToImageInfo_dstImage_00208,
				vk.VUID_VkCopyMemoryToImageInfo_dstImage_00209,
			},
		},
		size:    vk.VUID_VkMemoryToImageCopy_pHostPointer_09061,
		offset:  vk.VUID_VkMemoryToImageCopy_pHostPointer_09061, // a region has none
		offset4: vk.VUID_VkMemoryToImageCopy_pHostPointer_09061,
		texel:   vk.VUID_VkMemoryToImageCopy_pHostPointer_09061,
		alone:   vk.VUID_VkMemoryToImageCopy_aspectMask_09103,
		samples: vk.VUID_VkCopyMemoryToImageInfo_dstImage_07973,
		empty: [3]vk.VUID{
			vk.VUID_VkMemoryToImageCopy_imageExtent_06659,
			vk.VUID_VkMemoryToImageCopy_imageExtent_06660,
			vk.VUID_VkMemoryToImageCopy_imageExtent_06661,
		},
		row:       vk.VUID_VkMemoryToImageCopy_memoryRowLength_09101,
		height:    vk.VUID_VkMemoryToImageCopy_memoryImageHeight_09102,
		rowBlocks: vk.VUID_VkCopyMemoryToImageInfo_memoryRowLength_09106,
		heights:   vk.VUID_VkCopyMemoryToImageInfo_memoryImageHeight_09107,
		rowMost:   vk.VUID_VkCopyMemoryToImageInfo_memoryRowLength_09108,
	}
	imageToMemory = &linearRules{
		rules: rules{
			bound:   vk.VUID_VkCopyImageToMemoryInfo_srcImage_07966,
			aspects: vk.VUID_VkCopyImageToMemoryInfo_imageSubresource_09105,
			level:   vk.VUID_VkCopyImageToMemoryInfo_imageSubresource_07967,
			layers:  vk.VUID_VkCopyImageToMemoryInfo_imageSubresource_07968,
			volume:  vk.VUID_VkCopyImageToMemoryInfo_srcImage_07983,
			flat:    vk.VUID_VkCopyImageToMemoryInfo_srcImage_07979,
			plane:   vk.VUID_VkCopyImageToMemoryInfo_srcImage_07980,
			single:  vk.VUID_VkCopyImageToMemoryInfo_srcImage_07981,
			inside: [3]vk.VUID{
				vk.VUID_VkCopyImageToMemoryInfo_imageSubresource_07971,
				vk.VUID_VkCopyImageToMemoryInfo_imageSubresource_07972,
				vk.VUID_VkCopyImageToMemoryInfo_imageOffset_09104,
			},
			aligned: [3]vk.VUID{
				vk.VUID_VkCopyImageToMemoryInfo_srcImage_07274,
				vk.VUID_VkCopyImageToMemoryInfo_srcImage_07275,
				vk.VUID_VkCopyImageToMemoryInfo_srcImage_07276,
			},
			whole: [3]vk.VUID{
				vk.VUID_VkCopyImageToMemoryInfo_srcImage_00207,
				vk.VUID_VkCopyImageToMemoryInfo_srcImage_00208,
				vk.VUID_VkCopyImageToMemoryInfo_srcImage_00209,
			},
		},
		size:    vk.VUID_VkImageToMemoryCopy_pHostPointer_09066,
		offset:  vk.VUID_VkImageToMemoryCopy_pHostPointer_09066, // a region has none
		offset4: vk.VUID_VkImageToMemoryCopy_pHostPointer_09066,
		texel:   vk.VUID_VkImageToMemoryCopy_pHostPointer_09066,
		alone:   vk.VUID_VkImageToMemoryCopy_aspectMask_09103,
		samples: vk.VUID_VkCopyImageToMemoryInfo_srcImage_07973,
		empty: [3]vk.VUID{
			vk.VUID_VkImageToMemoryCopy_imageExtent_06659,
			vk.VUID_VkImageToMemoryCopy_imageExtent_06660,
			vk.VUID_VkImageToMemoryCopy_imageExtent_06661,
		},
		row:       vk.VUID_VkImageToMemoryCopy_memoryRowLength_09101,
		height:    vk.VUID_VkImageToMemoryCopy_memoryImageHeight_09102,
		rowBlocks: vk.VUID_VkCopyImageToMemoryInfo_memoryRowLength_09106,
		heights:   vk.VUID_VkCopyImageToMemoryInfo_memoryImageHeight_09107,
		rowMost:   vk.VUID_VkCopyImageToMemoryInfo_memoryRowLength_09108,
	}
)

// What VK_HOST_IMAGE_COPY_MEMCPY_BIT demands in addition.
var (
	memcpyToImage = memcpyRules{
		offset:  vk.VUID_VkCopyMemoryToImageInfo_imageOffset_09114,
		extent:  vk.VUID_VkCopyMemoryToImageInfo_dstImage_09115,
		pitches: vk.VUID_VkCopyMemoryToImageInfo_flags_09393,
	}
	memcpyToMemory = memcpyRules{
		offset:  vk.VUID_VkCopyImageToMemoryInfo_imageOffset_09114,
		extent:  vk.VUID_VkCopyImageToMemoryInfo_srcImage_09115,
		pitches: vk.VUID_VkCopyImageToMemoryInfo_flags_09394,
	}
)

type memcpyRules struct{ offset, extent, pitches vk.VUID }

// MemoryToImageSize checks a region of vkCopyMemoryToImage and returns how many bytes it reads from its host
// pointer on, gaps between rows included.
func MemoryToImageSize(dst *Image, region *vk.BufferImageCopy, flags vk.HostImageCopyFlags) (uint64, error) {
	p, err := memoryToImage.locateHost(&memcpyToImage, dst, region, flags)
	if err != nil {
		return 0, err
	}
	return p.end(p.memory), nil
}

// ImageToMemorySize checks a region of vkCopyImageToMemory and returns how many bytes lie between its host
// pointer and the last byte that it writes.
func ImageToMemorySize(src *Image, region *vk.BufferImageCopy, flags vk.HostImageCopyFlags) (uint64, error) {
	p, err := imageToMemory.locateHost(&memcpyToMemory, src, region, flags)
	if err != nil {
		return 0, err
	}
	return p.end(p.memory), nil
}

// CopyMemoryToImage is a region of vkCopyMemoryToImage. src has MemoryToImageSize bytes. With
// VK_HOST_IMAGE_COPY_MEMCPY_BIT they are the subresource as it is stored, layer after layer.
func CopyMemoryToImage(dst *Image, src []byte, region *vk.BufferImageCopy, flags vk.HostImageCopyFlags) error {
	p, err := memoryToImage.locateHost(&memcpyToImage, dst, region, flags)
	if err == nil {
		err = memoryToImage.holds(uint64(len(src)), &p)
	}
	if err == nil {
		p.box.copy(p.img.Bytes, p.image, src, p.memory)
	}
	return err
}

// CopyImageToMemory is a region of vkCopyImageToMemory. dst has ImageToMemorySize bytes. With
// VK_HOST_IMAGE_COPY_MEMCPY_BIT they become the subresource as it is stored, layer after layer.
func CopyImageToMemory(dst []byte, src *Image, region *vk.BufferImageCopy, flags vk.HostImageCopyFlags) error {
	p, err := imageToMemory.locateHost(&memcpyToMemory, src, region, flags)
	if err == nil {
		err = imageToMemory.holds(uint64(len(dst)), &p)
	}
	if err == nil {
		p.box.copy(dst, p.memory, p.img.Bytes, p.image)
	}
	return err
}

// locateHost is locate for a region of a host copy.
func (r *linearRules) locateHost(m *memcpyRules, img *Image, region *vk.BufferImageCopy,
	flags vk.HostImageCopyFlags) (placed, error) {
	own := *region
	own.ImageSubresource.LayerCount = layerCount(img, &own.ImageSubresource)
	region = &own
	p, err := r.locate(img, region)
	if err != nil || flags&vk.HOST_IMAGE_COPY_MEMCPY_BIT == 0 {
		return p, err
	}
	_, sub := img.of(&region.ImageSubresource)
	extent := extent3(region.ImageExtent)
	if region.ImageOffset != (vk.Offset3D{}) {
		return p, invalid(m.offset, "imageOffset %v of a plain copy", offset3(region.ImageOffset))
	}
	for axis := range extent {
		if size := levelSize(p.img, sub.MipLevel, axis); extent[axis] != size {
			return p, invalid(m.extent, "%d texels along %s of %d", extent[axis], axes[axis], size)
		}
	}
	if region.BufferRowLength != 0 || region.BufferImageHeight != 0 {
		return p, invalid(m.pitches, "row length %d and image height %d of a plain copy",
			region.BufferRowLength, region.BufferImageHeight)
	}
	s, _ := p.img.Layout.Subresource(sub.AspectMask, sub.MipLevel, sub.BaseArrayLayer)
	p.box = box{rowBytes: s.Size, rows: uint64(sub.LayerCount), slices: 1}
	p.image = side{offset: s.Offset, rowPitch: p.img.Layout.LayerPitch}
	p.memory = side{rowPitch: s.Size}
	return p, nil
}
