package transfer

import (
	"farside/internal/texel"
	"farside/internal/vk"
)

// Blit is vkCmdBlitImage (chapter "Image Copies With Scaling"). Sampling clamps to the edge of the source image.
// Numbers convert within their class: unsigned integers, signed integers, and all others; depth and stencil keep
// their format. The weights of VK_FILTER_LINEAR have WeightBits bits.
func Blit(dst, src *Image, regions []vk.ImageBlit, filter vk.Filter) error {
	if err := checkBlitFormats(dst, src, filter); err != nil {
		return err
	}
	regions = withLayers(regions, src, dst, func(r *vk.ImageBlit) (_, _ *vk.ImageSubresourceLayers) {
		return &r.SrcSubresource, &r.DstSubresource
	})
	for _, r := range regions {
		if err := checkBlitRegion(dst, src, &r); err != nil {
			return err
		}
	}
	if address(dst.Bytes) == address(src.Bytes) && *dst.Layout == *src.Layout {
		if err := checkBlitWithin(src, regions); err != nil {
			return err
		}
	}
	for _, r := range regions {
		if err := checkBlitRegion(dst, src, &r); err != nil { // the application may have changed it meanwhile
			return err
		}
		if blocks, ok := texel.BlocksOf(src.Format); ok {
			if err := blitBlocks(dst, src, blocks, &r, filter); err != nil {
				return err
			}
			continue
		}
		for _, plane := range src.Layout.Format.Planes[:src.Layout.Format.PlaneCount] {
			if r.SrcSubresource.AspectMask&plane.Aspect != 0 {
				blitPlane(dst, src, plane.Aspect, &r, filter)
			}
		}
	}
	return nil
}

var blitSourceRules = rules{
	bound:   vk.VUID_vkCmdBlitImage_srcImage_00220,
	aspects: vk.VUID_vkCmdBlitImage_aspectMask_00241,
	level:   vk.VUID_vkCmdBlitImage_srcSubresource_01705,
	layers:  vk.VUID_vkCmdBlitImage_srcSubresource_01707,
	volume:  vk.VUID_vkCmdBlitImage_srcImage_00240,
	flat:    vk.VUID_vkCmdBlitImage_srcImage_00245,
	plane:   vk.VUID_vkCmdBlitImage_srcImage_00247,
	inside: [3]vk.VUID{vk.VUID_vkCmdBlitImage_srcOffset_00243, vk.VUID_vkCmdBlitImage_srcOffset_00244,
		vk.VUID_vkCmdBlitImage_srcOffset_00246},
}

var blitTargetRules = rules{
	bound:   vk.VUID_vkCmdBlitImage_dstImage_00225,
	aspects: vk.VUID_vkCmdBlitImage_aspectMask_00242,
	level:   vk.VUID_vkCmdBlitImage_dstSubresource_01706,
	layers:  vk.VUID_vkCmdBlitImage_dstSubresource_01708,
	volume:  vk.VUID_vkCmdBlitImage_srcImage_00240,
	flat:    vk.VUID_vkCmdBlitImage_dstImage_00250,
	plane:   vk.VUID_vkCmdBlitImage_dstImage_00252,
	inside: [3]vk.VUID{vk.VUID_vkCmdBlitImage_dstOffset_00248, vk.VUID_vkCmdBlitImage_dstOffset_00249,
		vk.VUID_vkCmdBlitImage_dstOffset_00251},
}

func checkBlitFormats(dst, src *Image, filter vk.Filter) error {
	switch {
	case src.Layout.Samples != 1:
		return invalid(vk.VUID_vkCmdBlitImage_srcImage_00233, "from %d samples", src.Layout.Samples)
	case dst.Layout.Samples != 1:
		return invalid(vk.VUID_vkCmdBlitImage_dstImage_00234, "to %d samples", dst.Layout.Samples)
	case src.Layout.Format.Chroma:
		return invalid(vk.VUID_vkCmdBlitImage_srcImage_06421, "%v needs a Y'CbCr conversion", src.Format)
	case dst.Layout.Format.Chroma:
		return invalid(vk.VUID_vkCmdBlitImage_dstImage_06422, "%v needs a Y'CbCr conversion", dst.Format)
	}
	switch filter {
	case vk.FILTER_NEAREST, vk.FILTER_LINEAR:
	case vk.FILTER_CUBIC_EXT:
		return invalid(vk.VUID_vkCmdBlitImage_filter_02002, "no format has cubic filtering")
	default:
		return invalid(vk.VUID_vkCmdBlitImage_filter_parameter, "filter is %v", filter)
	}
	if (src.Layout.Format.Aspects()|dst.Layout.Format.Aspects())&vk.IMAGE_ASPECT_COLOR_BIT == 0 {
		switch {
		case src.Format != dst.Format:
			return invalid(vk.VUID_vkCmdBlitImage_srcImage_00231, "from %v to %v", src.Format, dst.Format)
		case filter != vk.FILTER_NEAREST:
			return invalid(vk.VUID_vkCmdBlitImage_srcImage_00232, "%v of %v", filter, src.Format)
		}
		return nil
	}
	format := src.Format
	if blocks, ok := texel.BlocksOf(format); ok {
		format = blocks.Unpacked()
	}
	from, ok := texel.CodecOf(format, vk.IMAGE_ASPECT_COLOR_BIT)
	to, ok2 := texel.CodecOf(dst.Format, vk.IMAGE_ASPECT_COLOR_BIT)
	if !ok2 && dst.Layout.Format.Compressed {
		return invalid(vk.VUID_vkCmdBlitImage_dstImage_02000, "%v is compressed", dst.Format)
	}
	if !ok || !ok2 { // one is a depth/stencil format
		return invalid(vk.VUID_vkCmdBlitImage_srcImage_00231, "from %v to %v", src.Format, dst.Format)
	}
	if from.Class() != to.Class() {
		vuid := vk.VUID_vkCmdBlitImage_srcImage_00230
		if from.Class() == texel.Sint || to.Class() == texel.Sint {
			vuid = vk.VUID_vkCmdBlitImage_srcImage_00229
		}
		return invalid(vuid, "from %v to %v", src.Format, dst.Format)
	}
	if filter == vk.FILTER_LINEAR && from.Class() != texel.Float {
		return invalid(vk.VUID_vkCmdBlitImage_filter_02001, "VK_FILTER_LINEAR of %v", src.Format)
	}
	return nil
}

func checkBlitRegion(dst, src *Image, r *vk.ImageBlit) error {
	from, to := &r.SrcSubresource, &r.DstSubresource
	switch {
	case from.AspectMask != to.AspectMask:
		return invalid(vk.VUID_VkImageBlit_aspectMask_00238, "from aspects %v to %v", from.AspectMask, to.AspectMask)
	case from.LayerCount != to.LayerCount:
		return invalid(vk.VUID_VkImageBlit_layerCount_08800, "from %d layers to %d", from.LayerCount, to.LayerCount)
	case (src.Type == vk.IMAGE_TYPE_3D || dst.Type == vk.IMAGE_TYPE_3D) &&
		(from.BaseArrayLayer != 0 || to.BaseArrayLayer != 0 || from.LayerCount != 1):
		return invalid(vk.VUID_vkCmdBlitImage_srcImage_00240, "%d layers from %d to %d with a 3D image",
			from.LayerCount, from.BaseArrayLayer, to.BaseArrayLayer)
	}
	if err := blitSourceRules.checkBlit(src, from, &r.SrcOffsets); err != nil {
		return err
	}
	return blitTargetRules.checkBlit(dst, to, &r.DstOffsets)
}

// checkBlit checks one side of a region. Offsets may come in either order.
func (r *rules) checkBlit(img *Image, sub *vk.ImageSubresourceLayers, offsets *[2]vk.Offset3D) error {
	if err := r.check(img, sub); err != nil {
		return err
	}
	from, to := offset3(offsets[0]), offset3(offsets[1])
	switch {
	case img.Type == vk.IMAGE_TYPE_1D && (from[1] != 0 || to[1] != 1):
		return invalid(r.flat, "y from %d to %d in a 1D image", offsets[0].Y, offsets[1].Y)
	case img.Type != vk.IMAGE_TYPE_3D && (from[2] != 0 || to[2] != 1):
		return invalid(r.plane, "z from %d to %d in an image that is not 3D", offsets[0].Z, offsets[1].Z)
	}
	for axis := range from {
		// A negative offset is, as an unsigned number, beyond every edge.
		if size := levelSize(img, sub.MipLevel, axis); max(from[axis], to[axis]) > size {
			return invalid(r.inside[axis], "%s from %d to %d of %d in level %d",
				axes[axis], int32(from[axis]), int32(to[axis]), size, sub.MipLevel)
		}
	}
	return nil
}

// checkBlitWithin finds a region that reads what a region writes. That filters read one texel beyond the edge of
// their region is not held against the application: it is the driver's choice not to clamp there.
func checkBlitWithin(img *Image, regions []vk.ImageBlit) error {
	for i := range regions {
		for j := range regions {
			s, d := &regions[i], &regions[j]
			if s.SrcSubresource.MipLevel != d.DstSubresource.MipLevel ||
				s.SrcSubresource.AspectMask&d.DstSubresource.AspectMask == 0 {
				continue
			}
			from, fromSize := blitCuboid(img, &s.SrcSubresource, &s.SrcOffsets)
			to, toSize := blitCuboid(img, &d.DstSubresource, &d.DstOffsets)
			shared := true
			for axis := range from {
				shared = shared && max(from[axis], to[axis]) < min(from[axis]+fromSize[axis], to[axis]+toSize[axis])
			}
			if shared {
				return invalid(vk.VUID_vkCmdBlitImage_pRegions_00217, "region %d reads texels that region %d writes", i, j)
			}
		}
	}
	return nil
}

// blitCuboid is cuboid for one side of a blit, whose offsets may come in either order.
func blitCuboid(img *Image, sub *vk.ImageSubresourceLayers, offsets *[2]vk.Offset3D) (at, size [3]int64) {
	a, b := offsets[0], offsets[1]
	low := vk.Offset3D{X: min(a.X, b.X), Y: min(a.Y, b.Y), Z: min(a.Z, b.Z)}
	return cuboid(img, sub, low, vk.Extent3D{
		Width: uint32(max(a.X, b.X) - low.X), Height: uint32(max(a.Y, b.Y) - low.Y), Depth: uint32(max(a.Z, b.Z) - low.Z),
	})
}
