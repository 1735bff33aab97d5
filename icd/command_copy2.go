package icd

import "farside/internal/vk"

// The commands of VK_KHR_copy_commands2 record what their predecessors record: the structures add nothing but a
// pNext chain, in which this driver knows nothing.

// inline is how many regions of a command are converted without allocating memory.
const inline = 4

// convert appends the array of owner's regions to list, as regions of the predecessor.
func convert[From, To any](list []To, owner string, p *From, count uint32, one func(*From) To) ([]To, error) {
	from, err := elements(owner, "region", p, count)
	for i := range from {
		list = append(list, one(&from[i]))
	}
	return list, err
}

func cmdCopyBuffer2(h vk.CommandBuffer, info *vk.CopyBufferInfo2) {
	record("vkCmdCopyBuffer2", h, func(b *commandBuffer) error {
		var few [inline]vk.BufferCopy
		list, err := convert(few[:0], "VkCopyBufferInfo2", info.PRegions, info.RegionCount, func(r *vk.BufferCopy2) vk.BufferCopy {
			return vk.BufferCopy{SrcOffset: r.SrcOffset, DstOffset: r.DstOffset, Size: r.Size}
		})
		if err != nil {
			return err
		}
		return b.stream.CopyBuffer(info.SrcBuffer, info.DstBuffer, list)
	})
}

func cmdCopyImage2(h vk.CommandBuffer, info *vk.CopyImageInfo2) {
	record("vkCmdCopyImage2", h, func(b *commandBuffer) error {
		var few [inline]vk.ImageCopy
		list, err := convert(few[:0], "VkCopyImageInfo2", info.PRegions, info.RegionCount, func(r *vk.ImageCopy2) vk.ImageCopy {
			return vk.ImageCopy{
				SrcSubresource: r.SrcSubresource, SrcOffset: r.SrcOffset,
				DstSubresource: r.DstSubresource, DstOffset: r.DstOffset, Extent: r.Extent,
			}
		})
		if err != nil {
			return err
		}
		return b.stream.CopyImage(info.SrcImage, info.SrcImageLayout, info.DstImage, info.DstImageLayout, list)
	})
}

func cmdBlitImage2(h vk.CommandBuffer, info *vk.BlitImageInfo2) {
	record("vkCmdBlitImage2", h, func(b *commandBuffer) error {
		var few [inline]vk.ImageBlit
		list, err := convert(few[:0], "VkBlitImageInfo2", info.PRegions, info.RegionCount, func(r *vk.ImageBlit2) vk.ImageBlit {
			return vk.ImageBlit{
				SrcSubresource: r.SrcSubresource, SrcOffsets: r.SrcOffsets,
				DstSubresource: r.DstSubresource, DstOffsets: r.DstOffsets,
			}
		})
		if err != nil {
			return err
		}
		return b.stream.BlitImage(info.SrcImage, info.SrcImageLayout, info.DstImage, info.DstImageLayout, list, info.Filter)
	})
}

func bufferImageCopy(r *vk.BufferImageCopy2) vk.BufferImageCopy {
	return vk.BufferImageCopy{
		BufferOffset: r.BufferOffset, BufferRowLength: r.BufferRowLength, BufferImageHeight: r.BufferImageHeight,
		ImageSubresource: r.ImageSubresource, ImageOffset: r.ImageOffset, ImageExtent: r.ImageExtent,
	}
}

func cmdCopyBufferToImage2(h vk.CommandBuffer, info *vk.CopyBufferToImageInfo2) {
	record("vkCmdCopyBufferToImage2", h, func(b *commandBuffer) error {
		var few [inline]vk.BufferImageCopy
		list, err := convert(few[:0], "VkCopyBufferToImageInfo2", info.PRegions, info.RegionCount, bufferImageCopy)
		if err != nil {
			return err
		}
		return b.stream.CopyBufferToImage(info.SrcBuffer, info.DstImage, info.DstImageLayout, list)
	})
}

func cmdCopyImageToBuffer2(h vk.CommandBuffer, info *vk.CopyImageToBufferInfo2) {
	record("vkCmdCopyImageToBuffer2", h, func(b *commandBuffer) error {
		var few [inline]vk.BufferImageCopy
		list, err := convert(few[:0], "VkCopyImageToBufferInfo2", info.PRegions, info.RegionCount, bufferImageCopy)
		if err != nil {
			return err
		}
		return b.stream.CopyImageToBuffer(info.SrcImage, info.SrcImageLayout, info.DstBuffer, list)
	})
}

func cmdResolveImage2(h vk.CommandBuffer, info *vk.ResolveImageInfo2) {
	record("vkCmdResolveImage2", h, func(b *commandBuffer) error {
		var few [inline]vk.ImageResolve
		list, err := convert(few[:0], "VkResolveImageInfo2", info.PRegions, info.RegionCount, func(r *vk.ImageResolve2) vk.ImageResolve {
			return vk.ImageResolve{
				SrcSubresource: r.SrcSubresource, SrcOffset: r.SrcOffset,
				DstSubresource: r.DstSubresource, DstOffset: r.DstOffset, Extent: r.Extent,
			}
		})
		if err != nil {
			return err
		}
		return b.stream.ResolveImage(info.SrcImage, info.SrcImageLayout, info.DstImage, info.DstImageLayout, list)
	})
}
