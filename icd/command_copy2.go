package icd

import "farside/internal/vk"

// The commands of VK_KHR_copy_commands2 record what their predecessors record: the structures add nothing but a
// pNext chain, in which this driver knows nothing.

// inline is how many regions of a command are converted without allocating memory.
const inline = 4

// convert appends an array of regions to list, as regions of the predecessor; empty and null are the rules of elements.
func convert[From, To any](list []To, p *From, count uint32, empty, null vk.VUID, one func(*From) To) ([]To, error) {
	from, err := elements(p, count, empty, null)
	for i := range from {
		list = append(list, one(&from[i]))
	}
	return list, err
}

func cmdCopyBuffer2(b *commandBuffer, info *vk.CopyBufferInfo2) {
	b.record("vkCmdCopyBuffer2", func() error {
		var few [inline]vk.BufferCopy
		list, err := convert(few[:0], info.PRegions, info.RegionCount,
			vk.VUID_VkCopyBufferInfo2_regionCount_arraylength, vk.VUID_VkCopyBufferInfo2_pRegions_parameter,
			func(r *vk.BufferCopy2) vk.BufferCopy {
				return vk.BufferCopy{SrcOffset: r.SrcOffset, DstOffset: r.DstOffset, Size: r.Size}
			})
		if err != nil {
			return err
		}
		return b.stream.CopyBuffer(info.SrcBuffer, info.DstBuffer, list)
	})
}

func cmdCopyImage2(b *commandBuffer, info *vk.CopyImageInfo2) {
	b.record("vkCmdCopyImage2", func() error {
		var few [inline]vk.ImageCopy
		list, err := convert(few[:0], info.PRegions, info.RegionCount,
			vk.VUID_VkCopyImageInfo2_regionCount_arraylength, vk.VUID_VkCopyImageInfo2_pRegions_parameter,
			func(r *vk.ImageCopy2) vk.ImageCopy {
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

func cmdBlitImage2(b *commandBuffer, info *vk.BlitImageInfo2) {
	b.record("vkCmdBlitImage2", func() error {
		var few [inline]vk.ImageBlit
		list, err := convert(few[:0], info.PRegions, info.RegionCount,
			vk.VUID_VkBlitImageInfo2_regionCount_arraylength, vk.VUID_VkBlitImageInfo2_pRegions_parameter,
			func(r *vk.ImageBlit2) vk.ImageBlit {
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

func cmdCopyBufferToImage2(b *commandBuffer, info *vk.CopyBufferToImageInfo2) {
	b.record("vkCmdCopyBufferToImage2", func() error {
		var few [inline]vk.BufferImageCopy
		list, err := convert(few[:0], info.PRegions, info.RegionCount,
			vk.VUID_VkCopyBufferToImageInfo2_regionCount_arraylength, vk.VUID_VkCopyBufferToImageInfo2_pRegions_parameter,
			bufferImageCopy)
		if err != nil {
			return err
		}
		return b.stream.CopyBufferToImage(info.SrcBuffer, info.DstImage, info.DstImageLayout, list)
	})
}

func cmdCopyImageToBuffer2(b *commandBuffer, info *vk.CopyImageToBufferInfo2) {
	b.record("vkCmdCopyImageToBuffer2", func() error {
		var few [inline]vk.BufferImageCopy
		list, err := convert(few[:0], info.PRegions, info.RegionCount,
			vk.VUID_VkCopyImageToBufferInfo2_regionCount_arraylength, vk.VUID_VkCopyImageToBufferInfo2_pRegions_parameter,
			bufferImageCopy)
		if err != nil {
			return err
		}
		return b.stream.CopyImageToBuffer(info.SrcImage, info.SrcImageLayout, info.DstBuffer, list)
	})
}

func cmdResolveImage2(b *commandBuffer, info *vk.ResolveImageInfo2) {
	b.record("vkCmdResolveImage2", func() error {
		var few [inline]vk.ImageResolve
		list, err := convert(few[:0], info.PRegions, info.RegionCount,
			vk.VUID_VkResolveImageInfo2_regionCount_arraylength, vk.VUID_VkResolveImageInfo2_pRegions_parameter,
			func(r *vk.ImageResolve2) vk.ImageResolve {
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
