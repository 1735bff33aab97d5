package icd

import "farside/internal/vk"

// The transfer commands. Their objects and regions are checked when they are executed.

func cmdFillBuffer(b *commandBuffer, dst vk.Buffer, offset, size vk.DeviceSize, data uint32) {
	b.record("vkCmdFillBuffer", func() error { return b.stream.FillBuffer(dst, offset, size, data) })
}

func cmdCopyBuffer(b *commandBuffer, src, dst vk.Buffer, count uint32, regions *vk.BufferCopy) {
	b.record("vkCmdCopyBuffer", func() error {
		list, err := elements(regions, count, vk.VUID_vkCmdCopyBuffer_regionCount_arraylength,
			vk.VUID_vkCmdCopyBuffer_pRegions_parameter)
		if err != nil {
			return err
		}
		return b.stream.CopyBuffer(src, dst, list)
	})
}

func cmdCopyImage(
	b *commandBuffer, src vk.Image, srcLayout vk.ImageLayout, dst vk.Image, dstLayout vk.ImageLayout, count uint32,
	regions *vk.ImageCopy,
) {
	b.record("vkCmdCopyImage", func() error {
		list, err := elements(regions, count, vk.VUID_vkCmdCopyImage_regionCount_arraylength,
			vk.VUID_vkCmdCopyImage_pRegions_parameter)
		if err != nil {
			return err
		}
		return b.stream.CopyImage(src, srcLayout, dst, dstLayout, list)
	})
}

func cmdBlitImage(
	b *commandBuffer, src vk.Image, srcLayout vk.ImageLayout, dst vk.Image, dstLayout vk.ImageLayout, count uint32,
	regions *vk.ImageBlit, filter vk.Filter,
) {
	b.record("vkCmdBlitImage", func() error {
		list, err := elements(regions, count, vk.VUID_vkCmdBlitImage_regionCount_arraylength,
			vk.VUID_vkCmdBlitImage_pRegions_parameter)
		if err != nil {
			return err
		}
		return b.stream.BlitImage(src, srcLayout, dst, dstLayout, list, filter)
	})
}

func cmdCopyBufferToImage(
	b *commandBuffer, src vk.Buffer, dst vk.Image, dstLayout vk.ImageLayout, count uint32,
	regions *vk.BufferImageCopy,
) {
	b.record("vkCmdCopyBufferToImage", func() error {
		list, err := elements(regions, count, vk.VUID_vkCmdCopyBufferToImage_regionCount_arraylength,
			vk.VUID_vkCmdCopyBufferToImage_pRegions_parameter)
		if err != nil {
			return err
		}
		return b.stream.CopyBufferToImage(src, dst, dstLayout, list)
	})
}

func cmdCopyImageToBuffer(
	b *commandBuffer, src vk.Image, srcLayout vk.ImageLayout, dst vk.Buffer, count uint32,
	regions *vk.BufferImageCopy,
) {
	b.record("vkCmdCopyImageToBuffer", func() error {
		list, err := elements(regions, count, vk.VUID_vkCmdCopyImageToBuffer_regionCount_arraylength,
			vk.VUID_vkCmdCopyImageToBuffer_pRegions_parameter)
		if err != nil {
			return err
		}
		return b.stream.CopyImageToBuffer(src, srcLayout, dst, list)
	})
}

func cmdResolveImage(
	b *commandBuffer, src vk.Image, srcLayout vk.ImageLayout, dst vk.Image, dstLayout vk.ImageLayout, count uint32,
	regions *vk.ImageResolve,
) {
	b.record("vkCmdResolveImage", func() error {
		list, err := elements(regions, count, vk.VUID_vkCmdResolveImage_regionCount_arraylength,
			vk.VUID_vkCmdResolveImage_pRegions_parameter)
		if err != nil {
			return err
		}
		return b.stream.ResolveImage(src, srcLayout, dst, dstLayout, list)
	})
}

func cmdClearColorImage(
	b *commandBuffer, img vk.Image, layout vk.ImageLayout, color *vk.ClearColorValue, count uint32,
	ranges *vk.ImageSubresourceRange,
) {
	b.record("vkCmdClearColorImage", func() error {
		if color == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdClearColorImage_pColor_04961, "pColor is NULL")
		}
		list, err := elements(ranges, count, vk.VUID_vkCmdClearColorImage_rangeCount_arraylength,
			vk.VUID_vkCmdClearColorImage_pRanges_parameter)
		if err != nil {
			return err
		}
		return b.stream.ClearColorImage(img, layout, color, list)
	})
}

func cmdClearDepthStencilImage(
	b *commandBuffer, img vk.Image, layout vk.ImageLayout, value *vk.ClearDepthStencilValue, count uint32,
	ranges *vk.ImageSubresourceRange,
) {
	b.record("vkCmdClearDepthStencilImage", func() error {
		if value == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkCmdClearDepthStencilImage_pDepthStencil_parameter,
				"pDepthStencil is NULL")
		}
		list, err := elements(ranges, count, vk.VUID_vkCmdClearDepthStencilImage_rangeCount_arraylength,
			vk.VUID_vkCmdClearDepthStencilImage_pRanges_parameter)
		if err != nil {
			return err
		}
		return b.stream.ClearDepthStencilImage(img, layout, value, list)
	})
}

func cmdWriteBufferMarkerAMD(
	b *commandBuffer, stage vk.PipelineStageFlagBits, dst vk.Buffer, offset vk.DeviceSize, marker uint32,
) {
	b.record("vkCmdWriteBufferMarkerAMD", func() error {
		return b.stream.WriteBufferMarkerAMD(stage, dst, offset, marker)
	})
}

func cmdWriteBufferMarker2AMD(
	b *commandBuffer, _ vk.PipelineStageFlags2, dst vk.Buffer, offset vk.DeviceSize, marker uint32,
) {
	b.record("vkCmdWriteBufferMarker2AMD", func() error {
		return b.stream.WriteBufferMarkerAMD(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, dst, offset, marker)
	})
}
