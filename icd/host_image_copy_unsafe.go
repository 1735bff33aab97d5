package icd

import (
	"unsafe"

	"farside/internal/transfer"
	"farside/internal/vk"
)

// Both commands copy region after region; the first that breaks a rule ends them. How long the memory at a host
// pointer is follows from the region alone, and a fault in it ends the command.

func copyMemoryToImage(_ *device, info *vk.CopyMemoryToImageInfo) vk.Result {
	return copyWithHost("vkCopyMemoryToImage", &memoryToImage, info.DstImage, info.DstImageLayout,
		func(img *hostImage) error {
			for i := range vk.Slice(info.PRegions, info.RegionCount) {
				r := &vk.Slice(info.PRegions, info.RegionCount)[i]
				region := hostRegion(r.MemoryRowLength, r.MemoryImageHeight, r.ImageSubresource, r.ImageOffset, r.ImageExtent)
				if err := img.check(info.Flags, region.ImageSubresource.AspectMask); err != nil {
					return err
				}
				size, err := transfer.MemoryToImageSize(&img.Image, &region, info.Flags)
				if err != nil {
					return err
				}
				img.object.hostCopies("vkCopyMemoryToImage", r.ImageSubresource, true)
				if err := transfer.CopyMemoryToImage(&img.Image, hostMemory(r.PHostPointer, size), &region, info.Flags); err !=
					nil {
					return err
				}
			}
			return nil
		})
}

func copyImageToMemory(_ *device, info *vk.CopyImageToMemoryInfo) vk.Result {
	return copyWithHost("vkCopyImageToMemory", &imageToMemory, info.SrcImage, info.SrcImageLayout,
		func(img *hostImage) error {
			for i := range vk.Slice(info.PRegions, info.RegionCount) {
				r := &vk.Slice(info.PRegions, info.RegionCount)[i]
				region := hostRegion(r.MemoryRowLength, r.MemoryImageHeight, r.ImageSubresource, r.ImageOffset, r.ImageExtent)
				if err := img.check(info.Flags, region.ImageSubresource.AspectMask); err != nil {
					return err
				}
				size, err := transfer.ImageToMemorySize(&img.Image, &region, info.Flags)
				if err != nil {
					return err
				}
				img.object.hostCopies("vkCopyImageToMemory", r.ImageSubresource, false)
				if err := transfer.CopyImageToMemory(hostMemory(r.PHostPointer, size), &img.Image, &region, info.Flags); err !=
					nil {
					return err
				}
			}
			return nil
		})
}

// copyWithHost runs a copy on the image of the given handle.
func copyWithHost(command string, side *hostCopySide, handle vk.Image, layout vk.ImageLayout,
	copy func(*hostImage) error) vk.Result {
	img := live(images, handle)
	err := img.device.eachInstance(func(index uint32) error {
		opened, err := side.open(img, layout, index)
		if err != nil {
			return err
		}
		defer opened.close()
		return copy(&opened)
	}, img)
	if err != nil {
		return img.device.physical.instance.fail(command, err, object{vk.OBJECT_TYPE_IMAGE, uint64(handle)})
	}
	return vk.SUCCESS
}

func hostRegion(
	rowLength, imageHeight uint32, sub vk.ImageSubresourceLayers, offset vk.Offset3D, extent vk.Extent3D,
) vk.BufferImageCopy {
	return vk.BufferImageCopy{
		BufferRowLength: rowLength, BufferImageHeight: imageHeight,
		ImageSubresource: sub, ImageOffset: offset, ImageExtent: extent,
	}
}

// hostMemory is the application's memory at p; none if p is NULL.
func hostMemory(p unsafe.Pointer, size uint64) []byte { return vk.Slice((*byte)(p), size) }
