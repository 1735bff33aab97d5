package transfer

import (
	"farside/internal/texel"
	"farside/internal/vk"
)

var sourceRules = rules{
	bound:   vk.VUID_vkCmdCopyImage_srcImage_07966,
	aspects: vk.VUID_vkCmdCopyImage_aspectMask_00142,
	level:   vk.VUID_vkCmdCopyImage_srcSubresource_07967,
	layers:  vk.VUID_vkCmdCopyImage_srcSubresource_07968,
	volume:  vk.VUID_vkCmdCopyImage_srcImage_04443,
	flat:    vk.VUID_vkCmdCopyImage_srcImage_00146,
	plane:   vk.VUID_vkCmdCopyImage_srcImage_01787,
	single:  vk.VUID_vkCmdCopyImage_srcImage_08713,
	inside: [3]vk.VUID{vk.VUID_vkCmdCopyImage_srcOffset_00144, vk.VUID_vkCmdCopyImage_srcOffset_00145,
		vk.VUID_vkCmdCopyImage_srcOffset_00147},
	aligned: [3]vk.VUID{vk.VUID_vkCmdCopyImage_pRegions_07278, vk.VUID_vkCmdCopyImage_pRegions_07279,
		vk.VUID_vkCmdCopyImage_pRegions_07280},
	whole: [3]vk.VUID{vk.VUID_vkCmdCopyImage_srcImage_01728, vk.VUID_vkCmdCopyImage_srcImage_01729,
		vk.VUID_vkCmdCopyImage_srcImage_01730},
}

// What is whole in the source is whole in the destination, block by block.
var targetRules = rules{
	bound:   vk.VUID_vkCmdCopyImage_dstImage_07966,
	aspects: vk.VUID_vkCmdCopyImage_aspectMask_00143,
	level:   vk.VUID_vkCmdCopyImage_dstSubresource_07967,
	layers:  vk.VUID_vkCmdCopyImage_dstSubresource_07968,
	volume:  vk.VUID_vkCmdCopyImage_dstImage_04444,
	flat:    vk.VUID_vkCmdCopyImage_dstImage_00152,
	plane:   vk.VUID_vkCmdCopyImage_dstImage_01788,
	single:  vk.VUID_vkCmdCopyImage_dstImage_08714,
	inside: [3]vk.VUID{vk.VUID_vkCmdCopyImage_dstOffset_00150, vk.VUID_vkCmdCopyImage_dstOffset_00151,
		vk.VUID_vkCmdCopyImage_dstOffset_00153},
	aligned: [3]vk.VUID{vk.VUID_vkCmdCopyImage_pRegions_07281, vk.VUID_vkCmdCopyImage_pRegions_07282,
		vk.VUID_vkCmdCopyImage_pRegions_07283},
}

// CopyImage is vkCmdCopyImage. Between a compressed and an uncompressed image a block is copied as a texel, and
// extents are texels of the source (chapter "Copying Data Between Images"). A plane is copied as an image of its own.
func CopyImage(dst, src *Image, regions []vk.ImageCopy) error {
	planar := len(dst.Planes)+len(src.Planes) > 0
	if !planar { // planes are checked with their regions
		if err := checkFormats(dst, src, vk.VUID_vkCmdCopyImage_srcImage_01548); err != nil {
			return err
		}
	}
	regions = withLayers(regions, src, dst, func(r *vk.ImageCopy) (_, _ *vk.ImageSubresourceLayers) {
		return &r.SrcSubresource, &r.DstSubresource
	})
	same := address(dst.memory()) == address(src.memory()) && *dst.Layout == *src.Layout
	if same || len(regions) > 1 { // one alone is checked below
		for i := range regions {
			if _, _, _, err := placeCopy(dst, src, regions[i]); err != nil {
				return err
			}
		}
	}
	if same {
		if err := checkSameImage(src, regions); err != nil {
			return err
		}
	}
	for _, region := range regions {
		to, from, r, err := placeCopy(dst, src, region)
		if err != nil { // the application may have changed it meanwhile
			return err
		}
		copyRegion(to, from, &r)
	}
	return nil
}

// memory begins where the image or its first plane does.
func (img *Image) memory() []byte {
	if len(img.Planes) > 0 {
		return img.Planes[0].Bytes
	}
	return img.Bytes
}

// placeCopy checks a region, and returns it with the images that it is a region of: these, or planes of them.
func placeCopy(dst, src *Image, r vk.ImageCopy) (to, from *Image, own vk.ImageCopy, err error) {
	if len(dst.Planes)+len(src.Planes) == 0 {
		return dst, src, r, checkImageCopy(dst, src, &r)
	}
	from, r.SrcSubresource = src.of(&r.SrcSubresource)
	to, r.DstSubresource = dst.of(&r.DstSubresource)
	const color = vk.IMAGE_ASPECT_COLOR_BIT
	switch {
	case len(from.Planes) > 0 || len(to.Planes) > 0: // check says what is wrong with the aspects
	case len(dst.Planes) == 0 && r.DstSubresource.AspectMask != color:
		err = invalid(vk.VUID_vkCmdCopyImage_srcImage_01556, "a plane to aspects %v", r.DstSubresource.AspectMask)
	case len(src.Planes) == 0 && r.SrcSubresource.AspectMask != color:
		err = invalid(vk.VUID_vkCmdCopyImage_dstImage_01557, "aspects %v to a plane", r.SrcSubresource.AspectMask)
	default:
		err = checkFormats(to, from, vk.VUID_vkCmdCopyImage_None_01549)
	}
	if err == nil {
		err = checkImageCopy(to, from, &r)
	}
	return to, from, r, err
}

// checkFormats applies the rules of chapter "Compatible Formats", "Size Compatibility"; rule is the one about sizes.
func checkFormats(dst, src *Image, rule vk.VUID) error {
	d, s := &dst.Layout.Format, &src.Layout.Format
	colour := d.Aspects()|s.Aspects() == vk.IMAGE_ASPECT_COLOR_BIT
	if dst.Format != src.Format && (!colour || d.Planes[0].BlockSize != s.Planes[0].BlockSize) {
		return invalid(rule, "formats %v and %v are not size-compatible", src.Format, dst.Format)
	}
	if d.Compressed && s.Compressed && d.Block != s.Block {
		return invalid(vk.VUID_vkCmdCopyImage_srcImage_09247, "formats %v and %v have different blocks", src.Format,
			dst.Format)
	}
	if from, to := src.Layout.Samples, dst.Layout.Samples; from != to {
		return invalid(vk.VUID_vkCmdCopyImage_srcImage_00136, "%d samples to %d", from, to)
	}
	return nil
}

func checkImageCopy(dst, src *Image, r *vk.ImageCopy) error {
	offset, extent := offset3(r.SrcOffset), extent3(r.Extent)
	for axis, vuid := range [3]vk.VUID{vk.VUID_VkImageCopy_extent_06668, vk.VUID_VkImageCopy_extent_06669,
		vk.VUID_VkImageCopy_extent_06670} {
		if extent[axis] == 0 {
			return invalid(vuid, "no texels along %s", axes[axis])
		}
	}
	if err := sourceRules.check(src, &r.SrcSubresource); err != nil {
		return err
	}
	if err := targetRules.check(dst, &r.DstSubresource); err != nil {
		return err
	}
	if r.SrcSubresource.AspectMask != r.DstSubresource.AspectMask {
		return invalid(vk.VUID_vkCmdCopyImage_srcImage_01551, "aspects %v to %v",
			r.SrcSubresource.AspectMask, r.DstSubresource.AspectMask)
	}
	if err := checkSlices(dst, src, r); err != nil {
		return err
	}
	if src.Type != vk.IMAGE_TYPE_3D {
		extent[2] = 1 // its slices are layers
	}
	if err := sourceRules.checkTexels(src, r.SrcSubresource.MipLevel, offset, extent); err != nil {
		return err
	}
	return checkTarget(dst, src, r)
}

// checkSlices holds depth and layers of both sides against each other. Where the types differ a 1D image is taken for
// a 2D one of height 1 (VK_KHR_maintenance5).
func checkSlices(dst, src *Image, r *vk.ImageCopy) error {
	depth, from, to := r.Extent.Depth, r.SrcSubresource.LayerCount, r.DstSubresource.LayerCount
	srcSolid, dstSolid := src.Type == vk.IMAGE_TYPE_3D, dst.Type == vk.IMAGE_TYPE_3D
	switch {
	case !srcSolid && r.SrcOffset.Z != 0:
		return invalid(sourceRules.plane, "srcOffset.z %d in an image that is not 3D", r.SrcOffset.Z)
	case !dstSolid && r.DstOffset.Z != 0:
		return invalid(targetRules.plane, "dstOffset.z %d in an image that is not 3D", r.DstOffset.Z)
	case srcSolid == dstSolid && from != to:
		return invalid(vk.VUID_vkCmdCopyImage_srcImage_08793, "%d layers to %d", from, to)
	case src.Type == vk.IMAGE_TYPE_1D && !dstSolid && depth != 1:
		return invalid(vk.VUID_vkCmdCopyImage_srcImage_01785, "depth %d of a 1D image", depth)
	case src.Type == vk.IMAGE_TYPE_2D && !dstSolid && depth != 1:
		return invalid(vk.VUID_vkCmdCopyImage_srcImage_01790, "depth %d of a 2D image", depth)
	case !srcSolid && dstSolid && depth != from:
		return invalid(vk.VUID_vkCmdCopyImage_srcImage_01791, "depth %d of %d layers", depth, from)
	case srcSolid && !dstSolid && depth != to:
		return invalid(vk.VUID_vkCmdCopyImage_dstImage_01792, "depth %d to %d layers", depth, to)
	}
	return nil
}

// checkTarget holds the blocks of the source region against the destination's mip level.
func checkTarget(dst, src *Image, r *vk.ImageCopy) error {
	offset, extent := offset3(r.DstOffset), extent3(r.Extent)
	if dst.Type != vk.IMAGE_TYPE_3D {
		extent[2] = 1
	}
	if dst.Type == vk.IMAGE_TYPE_1D && offset[1] != 0 {
		return invalid(targetRules.flat, "dstOffset.y %d in a 1D image", r.DstOffset.Y)
	}
	level := r.DstSubresource.MipLevel
	for axis := range offset {
		block := dst.Layout.Format.Block[axis]
		n, size := src.blocks(extent[axis], axis), dst.blocks(levelSize(dst, level, axis), axis)
		// A negative offset is, as an unsigned number, beyond every edge.
		switch {
		case uint64(offset[axis])/uint64(block)+n > size:
			return invalid(targetRules.inside[axis], "%d blocks from texel %s %d of %d in level %d",
				n, axes[axis], int32(offset[axis]), levelSize(dst, level, axis), level)
		case offset[axis]%block != 0:
			return invalid(targetRules.aligned[axis], "%s %d is not a multiple of the block extent %d",
				axes[axis], offset[axis], block)
		}
	}
	return nil
}

// sliceCount returns the slices of a region: texels deep or layers.
func sliceCount(src *Image, r *vk.ImageCopy) uint64 {
	if src.Type == vk.IMAGE_TYPE_3D {
		return src.blocks(r.Extent.Depth, 2)
	}
	return uint64(r.SrcSubresource.LayerCount)
}

func copyRegion(dst, src *Image, r *vk.ImageCopy) {
	for i := range src.Layout.Format.PlaneCount {
		plane := &src.Layout.Format.Planes[i]
		if r.SrcSubresource.AspectMask&plane.Aspect == 0 {
			continue
		}
		b := box{
			rowBytes: src.blocks(r.Extent.Width, 0) * uint64(src.Layout.Samples) * uint64(plane.BlockSize),
			rows:     src.blocks(r.Extent.Height, 1),
			slices:   sliceCount(src, r),
		}
		b.copy(dst.Bytes, imageSide(dst, plane, &r.DstSubresource, r.DstOffset),
			src.Bytes, imageSide(src, plane, &r.SrcSubresource, r.SrcOffset))
	}
}

func imageSide(img *Image, plane *texel.Plane, sub *vk.ImageSubresourceLayers, offset vk.Offset3D) side {
	return img.side(plane.Aspect, plane.BlockSize, sub.MipLevel, sub.BaseArrayLayer, offset3(offset))
}

// checkSameImage finds source regions that share texels with destination regions of the same image. As neither
// side is sorted each pair is looked at: copies within an image have few regions.
func checkSameImage(img *Image, regions []vk.ImageCopy) error {
	for i := range regions {
		for j := range regions {
			s, d := &regions[i], &regions[j]
			if s.SrcSubresource.MipLevel != d.DstSubresource.MipLevel ||
				s.SrcSubresource.AspectMask&d.DstSubresource.AspectMask == 0 {
				continue
			}
			from, fromSize := cuboid(img, &s.SrcSubresource, s.SrcOffset, s.Extent)
			to, toSize := cuboid(img, &d.DstSubresource, d.DstOffset, d.Extent)
			shared := true
			for axis := range from {
				shared = shared && from[axis] < to[axis]+toSize[axis] && to[axis] < from[axis]+fromSize[axis]
			}
			if shared {
				return invalid(vk.VUID_vkCmdCopyImage_pRegions_00124, "region %d reads texels that region %d writes", i, j)
			}
		}
	}
	return nil
}

// cuboid returns the texels of a region, with the layers of what is not 3D as the third axis.
func cuboid(img *Image, sub *vk.ImageSubresourceLayers, offset vk.Offset3D, extent vk.Extent3D) (at, size [3]int64) {
	at = [3]int64{int64(offset.X), int64(offset.Y), int64(offset.Z)}
	size = [3]int64{int64(extent.Width), int64(extent.Height), int64(extent.Depth)}
	if img.Type != vk.IMAGE_TYPE_3D {
		at[2], size[2] = int64(sub.BaseArrayLayer), int64(sub.LayerCount)
	}
	return at, size
}
