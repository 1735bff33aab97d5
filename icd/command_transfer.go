package icd

import "farside/internal/vk"

// The transfer commands. What they name and whether their regions fit is looked at when they are executed.

func cmdFillBuffer(h vk.CommandBuffer, dst vk.Buffer, offset, size vk.DeviceSize, data uint32) {
	record("vkCmdFillBuffer", h, func(b *commandBuffer) error { return b.stream.FillBuffer(dst, offset, size, data) })
}

func cmdCopyBuffer(h vk.CommandBuffer, src, dst vk.Buffer, count uint32, regions *vk.BufferCopy) {
	record("vkCmdCopyBuffer", h, func(b *commandBuffer) error {
		list, err := elements("vkCmdCopyBuffer", "region", regions, count)
		if err != nil {
			return err
		}
		return b.stream.CopyBuffer(src, dst, list)
	})
}

func cmdCopyImage(h vk.CommandBuffer, src vk.Image, srcLayout vk.ImageLayout, dst vk.Image, dstLayout vk.ImageLayout, count uint32, regions *vk.ImageCopy) {
	record("vkCmdCopyImage", h, func(b *commandBuffer) error {
		list, err := elements("vkCmdCopyImage", "region", regions, count)
		if err != nil {
			return err
		}
		return b.stream.CopyImage(src, srcLayout, dst, dstLayout, list)
	})
}

func cmdBlitImage(h vk.CommandBuffer, src vk.Image, srcLayout vk.ImageLayout, dst vk.Image, dstLayout vk.ImageLayout, count uint32, regions *vk.ImageBlit, filter vk.Filter) {
	record("vkCmdBlitImage", h, func(b *commandBuffer) error {
		list, err := elements("vkCmdBlitImage", "region", regions, count)
		if err != nil {
			return err
		}
		return b.stream.BlitImage(src, srcLayout, dst, dstLayout, list, filter)
	})
}

func cmdCopyBufferToImage(h vk.CommandBuffer, src vk.Buffer, dst vk.Image, dstLayout vk.ImageLayout, count uint32, regions *vk.BufferImageCopy) {
	record("vkCmdCopyBufferToImage", h, func(b *commandBuffer) error {
		list, err := elements("vkCmdCopyBufferToImage", "region", regions, count)
		if err != nil {
			return err
		}
		return b.stream.CopyBufferToImage(src, dst, dstLayout, list)
	})
}

func cmdCopyImageToBuffer(h vk.CommandBuffer, src vk.Image, srcLayout vk.ImageLayout, dst vk.Buffer, count uint32, regions *vk.BufferImageCopy) {
	record("vkCmdCopyImageToBuffer", h, func(b *commandBuffer) error {
		list, err := elements("vkCmdCopyImageToBuffer", "region", regions, count)
		if err != nil {
			return err
		}
		return b.stream.CopyImageToBuffer(src, srcLayout, dst, list)
	})
}

func cmdResolveImage(h vk.CommandBuffer, src vk.Image, srcLayout vk.ImageLayout, dst vk.Image, dstLayout vk.ImageLayout, count uint32, regions *vk.ImageResolve) {
	record("vkCmdResolveImage", h, func(b *commandBuffer) error {
		list, err := elements("vkCmdResolveImage", "region", regions, count)
		if err != nil {
			return err
		}
		return b.stream.ResolveImage(src, srcLayout, dst, dstLayout, list)
	})
}

func cmdClearColorImage(h vk.CommandBuffer, img vk.Image, layout vk.ImageLayout, color *vk.ClearColorValue, count uint32, ranges *vk.ImageSubresourceRange) {
	record("vkCmdClearColorImage", h, func(b *commandBuffer) error {
		if color == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdClearColorImage-pColor-04961", "pColor is NULL")
		}
		list, err := elements("vkCmdClearColorImage", "range", ranges, count)
		if err != nil {
			return err
		}
		return b.stream.ClearColorImage(img, layout, color, list)
	})
}

func cmdClearDepthStencilImage(h vk.CommandBuffer, img vk.Image, layout vk.ImageLayout, value *vk.ClearDepthStencilValue, count uint32, ranges *vk.ImageSubresourceRange) {
	record("vkCmdClearDepthStencilImage", h, func(b *commandBuffer) error {
		if value == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkCmdClearDepthStencilImage-pDepthStencil-parameter", "pDepthStencil is NULL")
		}
		list, err := elements("vkCmdClearDepthStencilImage", "range", ranges, count)
		if err != nil {
			return err
		}
		return b.stream.ClearDepthStencilImage(img, layout, value, list)
	})
}

func cmdWriteBufferMarkerAMD(h vk.CommandBuffer, stage vk.PipelineStageFlagBits, dst vk.Buffer, offset vk.DeviceSize, marker uint32) {
	record("vkCmdWriteBufferMarkerAMD", h, func(b *commandBuffer) error {
		return b.stream.WriteBufferMarkerAMD(stage, dst, offset, marker)
	})
}

func cmdWriteBufferMarker2AMD(h vk.CommandBuffer, _ vk.PipelineStageFlags2, dst vk.Buffer, offset vk.DeviceSize, marker uint32) {
	record("vkCmdWriteBufferMarker2AMD", h, func(b *commandBuffer) error {
		return b.stream.WriteBufferMarkerAMD(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT, dst, offset, marker)
	})
}
