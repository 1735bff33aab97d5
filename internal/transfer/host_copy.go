package transfer

import "farside/internal/vk"

// The host copies of VK_EXT_host_image_copy take a vk.BufferImageCopy too, whose BufferOffset is 0, beside the
// bytes that the region's host pointer points to. How many those are the …Size functions say: an application
// passes no size.

var (
	memoryToImage = newLinearRules("VkCopyMemoryToImageInfo", "dstImage", "VkMemoryToImageCopy", "memory",
		"VUID-VkMemoryToImageCopy-pHostPointer-09061")
	imageToMemory = newLinearRules("VkCopyImageToMemoryInfo", "srcImage", "VkImageToMemoryCopy", "memory",
		"VUID-VkImageToMemoryCopy-pHostPointer-09066")
)

// What VK_HOST_IMAGE_COPY_MEMCPY_BIT demands in addition.
var (
	memcpyToImage = memcpyRules{
		offset:  "VUID-VkCopyMemoryToImageInfo-imageOffset-09114",
		extent:  "VUID-VkCopyMemoryToImageInfo-dstImage-09115",
		pitches: "VUID-VkCopyMemoryToImageInfo-flags-09393",
	}
	memcpyToMemory = memcpyRules{
		offset:  "VUID-VkCopyImageToMemoryInfo-imageOffset-09114",
		extent:  "VUID-VkCopyImageToMemoryInfo-srcImage-09115",
		pitches: "VUID-VkCopyImageToMemoryInfo-flags-09394",
	}
)

type memcpyRules struct{ offset, extent, pitches string }

// MemoryToImageSize checks a region of vkCopyMemoryToImage and returns how many bytes it reads from its host
// pointer on, gaps between rows included.
func MemoryToImageSize(dst *Image, region *vk.BufferImageCopy, flags vk.HostImageCopyFlags) (uint64, error) {
	b, _, memory, err := memoryToImage.locateHost(&memcpyToImage, dst, region, flags)
	if err != nil {
		return 0, err
	}
	return b.end(memory), nil
}

// ImageToMemorySize checks a region of vkCopyImageToMemory and returns how many bytes lie between its host
// pointer and the last byte that it writes.
func ImageToMemorySize(src *Image, region *vk.BufferImageCopy, flags vk.HostImageCopyFlags) (uint64, error) {
	b, _, memory, err := imageToMemory.locateHost(&memcpyToMemory, src, region, flags)
	if err != nil {
		return 0, err
	}
	return b.end(memory), nil
}

// CopyMemoryToImage is a region of vkCopyMemoryToImage. src has MemoryToImageSize bytes. With
// VK_HOST_IMAGE_COPY_MEMCPY_BIT they are the subresource as it is stored, layer after layer.
func CopyMemoryToImage(dst *Image, src []byte, region *vk.BufferImageCopy, flags vk.HostImageCopyFlags) error {
	b, image, memory, err := memoryToImage.locateHost(&memcpyToImage, dst, region, flags)
	if err == nil {
		err = memoryToImage.holds(uint64(len(src)), b, memory)
	}
	if err == nil {
		b.copy(dst.Bytes, image, src, memory)
	}
	return err
}

// CopyImageToMemory is a region of vkCopyImageToMemory. dst has ImageToMemorySize bytes. With
// VK_HOST_IMAGE_COPY_MEMCPY_BIT they become the subresource as it is stored, layer after layer.
func CopyImageToMemory(dst []byte, src *Image, region *vk.BufferImageCopy, flags vk.HostImageCopyFlags) error {
	b, image, memory, err := imageToMemory.locateHost(&memcpyToMemory, src, region, flags)
	if err == nil {
		err = imageToMemory.holds(uint64(len(dst)), b, memory)
	}
	if err == nil {
		b.copy(dst, memory, src.Bytes, image)
	}
	return err
}

// locateHost is locate for a region of a host copy.
func (r *linearRules) locateHost(m *memcpyRules, img *Image, region *vk.BufferImageCopy, flags vk.HostImageCopyFlags) (b box, image, memory side, err error) {
	own := *region
	own.ImageSubresource.LayerCount = layerCount(img, &own.ImageSubresource)
	region = &own
	b, image, memory, err = r.locate(img, region)
	if err != nil || flags&vk.HOST_IMAGE_COPY_MEMCPY_BIT == 0 {
		return b, image, memory, err
	}
	sub, extent := &region.ImageSubresource, extent3(region.ImageExtent)
	if region.ImageOffset != (vk.Offset3D{}) {
		return b, image, memory, invalid(m.offset, "imageOffset %v of a plain copy", offset3(region.ImageOffset))
	}
	for axis := range extent {
		if size := levelSize(img, sub.MipLevel, axis); extent[axis] != size {
			return b, image, memory, invalid(m.extent, "%d texels along %s of %d", extent[axis], axes[axis], size)
		}
	}
	if region.BufferRowLength != 0 || region.BufferImageHeight != 0 {
		return b, image, memory, invalid(m.pitches, "row length %d and image height %d of a plain copy",
			region.BufferRowLength, region.BufferImageHeight)
	}
	s, _ := img.Layout.Subresource(sub.AspectMask, sub.MipLevel, sub.BaseArrayLayer)
	b = box{rowBytes: s.Size, rows: uint64(sub.LayerCount), slices: 1}
	return b, side{offset: s.Offset, rowPitch: img.Layout.LayerPitch}, side{rowPitch: s.Size}, nil
}
