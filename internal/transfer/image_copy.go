package transfer

import (
	"farside/internal/texel"
	"farside/internal/vk"
)

var sourceRules = rules{
	bound:   "VUID-vkCmdCopyImage-srcImage-07966",
	aspects: "VUID-vkCmdCopyImage-aspectMask-00142",
	level:   "VUID-vkCmdCopyImage-srcSubresource-07967",
	layers:  "VUID-vkCmdCopyImage-srcSubresource-07968",
	volume:  "VUID-vkCmdCopyImage-srcImage-04443",
	flat:    "VUID-vkCmdCopyImage-srcImage-00146",
	plane:   "VUID-vkCmdCopyImage-srcImage-01787",
	inside: [3]string{"VUID-vkCmdCopyImage-srcOffset-00144", "VUID-vkCmdCopyImage-srcOffset-00145",
		"VUID-vkCmdCopyImage-srcOffset-00147"},
	aligned: [3]string{"VUID-vkCmdCopyImage-pRegions-07278", "VUID-vkCmdCopyImage-pRegions-07279",
		"VUID-vkCmdCopyImage-pRegions-07280"},
	whole: [3]string{"VUID-vkCmdCopyImage-srcImage-01728", "VUID-vkCmdCopyImage-srcImage-01729",
		"VUID-vkCmdCopyImage-srcImage-01730"},
}

// What is whole in the source is whole in the destination, block by block.
var targetRules = rules{
	bound:   "VUID-vkCmdCopyImage-dstImage-07966",
	aspects: "VUID-vkCmdCopyImage-aspectMask-00143",
	level:   "VUID-vkCmdCopyImage-dstSubresource-07967",
	layers:  "VUID-vkCmdCopyImage-dstSubresource-07968",
	volume:  "VUID-vkCmdCopyImage-dstImage-04444",
	flat:    "VUID-vkCmdCopyImage-dstImage-00152",
	plane:   "VUID-vkCmdCopyImage-dstImage-01788",
	inside: [3]string{"VUID-vkCmdCopyImage-dstOffset-00150", "VUID-vkCmdCopyImage-dstOffset-00151",
		"VUID-vkCmdCopyImage-dstOffset-00153"},
	aligned: [3]string{"VUID-vkCmdCopyImage-pRegions-07281", "VUID-vkCmdCopyImage-pRegions-07282",
		"VUID-vkCmdCopyImage-pRegions-07283"},
}

// CopyImage is vkCmdCopyImage. Between a compressed and an uncompressed image a block is copied as a texel, and
// extents are texels of the source (chapter "Copying Data Between Images").
func CopyImage(dst, src *Image, regions []vk.ImageCopy) error {
	if err := checkFormats(dst, src); err != nil {
		return err
	}
	regions = withLayers(regions, src, dst, func(r *vk.ImageCopy) (_, _ *vk.ImageSubresourceLayers) {
		return &r.SrcSubresource, &r.DstSubresource
	})
	same := address(dst.Bytes) == address(src.Bytes) && *dst.Layout == *src.Layout
	if same || len(regions) > 1 { // one alone is checked below
		for i := range regions {
			if err := checkImageCopy(dst, src, &regions[i]); err != nil {
				return err
			}
		}
	}
	if same {
		if err := checkSameImage(src, regions); err != nil {
			return err
		}
	}
	for _, r := range regions {
		if err := checkImageCopy(dst, src, &r); err != nil { // the application may have changed it meanwhile
			return err
		}
		copyRegion(dst, src, &r)
	}
	return nil
}

// checkFormats applies the rules of chapter "Compatible Formats", "Size Compatibility".
func checkFormats(dst, src *Image) error {
	d, s := &dst.Layout.Format, &src.Layout.Format
	colour := d.Aspects()|s.Aspects() == vk.IMAGE_ASPECT_COLOR_BIT
	if dst.Format != src.Format && (!colour || d.Planes[0].BlockSize != s.Planes[0].BlockSize) {
		return invalid("VUID-vkCmdCopyImage-srcImage-01548", "formats %v and %v are not size-compatible", src.Format, dst.Format)
	}
	if d.Compressed && s.Compressed && d.Block != s.Block {
		return invalid("VUID-vkCmdCopyImage-srcImage-09247", "formats %v and %v have different blocks", src.Format, dst.Format)
	}
	if from, to := src.Layout.Samples, dst.Layout.Samples; from != to {
		return invalid("VUID-vkCmdCopyImage-srcImage-00136", "%d samples to %d", from, to)
	}
	return nil
}

func checkImageCopy(dst, src *Image, r *vk.ImageCopy) error {
	offset, extent := offset3(r.SrcOffset), extent3(r.Extent)
	for axis, vuid := range [3]string{"VUID-VkImageCopy-extent-06668", "VUID-VkImageCopy-extent-06669", "VUID-VkImageCopy-extent-06670"} {
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
		return invalid("VUID-vkCmdCopyImage-srcImage-01551", "aspects %v to %v",
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
		return invalid("VUID-vkCmdCopyImage-srcImage-08793", "%d layers to %d", from, to)
	case src.Type == vk.IMAGE_TYPE_1D && !dstSolid && depth != 1:
		return invalid("VUID-vkCmdCopyImage-srcImage-01785", "depth %d of a 1D image", depth)
	case src.Type == vk.IMAGE_TYPE_2D && !dstSolid && depth != 1:
		return invalid("VUID-vkCmdCopyImage-srcImage-01790", "depth %d of a 2D image", depth)
	case !srcSolid && dstSolid && depth != from:
		return invalid("VUID-vkCmdCopyImage-srcImage-01791", "depth %d of %d layers", depth, from)
	case srcSolid && !dstSolid && depth != to:
		return invalid("VUID-vkCmdCopyImage-dstImage-01792", "depth %d to %d layers", depth, to)
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
			if s.SrcSubresource.MipLevel != d.DstSubresource.MipLevel || s.SrcSubresource.AspectMask&d.DstSubresource.AspectMask == 0 {
				continue
			}
			from, fromSize := cuboid(img, &s.SrcSubresource, s.SrcOffset, s.Extent)
			to, toSize := cuboid(img, &d.DstSubresource, d.DstOffset, d.Extent)
			shared := true
			for axis := range from {
				shared = shared && from[axis] < to[axis]+toSize[axis] && to[axis] < from[axis]+fromSize[axis]
			}
			if shared {
				return invalid("VUID-vkCmdCopyImage-pRegions-00124", "region %d reads texels that region %d writes", i, j)
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
