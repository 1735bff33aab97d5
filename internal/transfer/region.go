package transfer

import (
	"slices"

	"farside/internal/vk"
)

// rules are the VUIDs of what a command demands of its regions of one image.
type rules struct {
	bound   vk.VUID // the image is bound to memory that holds it
	aspects vk.VUID // the format has the region's aspects
	level   vk.VUID // the image has the mip level
	layers  vk.VUID // the image has the array layers
	volume  vk.VUID // a 3D image has one layer
	flat    vk.VUID // a 1D image has no y
	plane   vk.VUID // a 1D or 2D image has no z
	single  vk.VUID // of a multi-planar image the region names one plane
	inside  [3]vk.VUID
	aligned [3]vk.VUID // the offset is a multiple of the block extent
	whole   [3]vk.VUID // the extent is too, or ends at the edge; 0: it may end within a block
}

var axes = [3]string{"x", "y", "z"}

// check holds against the image what regions of all kinds have in common: the image and the subresource, not
// yet offset and extent.
func (r *rules) check(img *Image, sub *vk.ImageSubresourceLayers) error {
	l := img.Layout
	switch {
	case len(img.Planes) > 0:
		return invalid(r.single, "aspects %v of an image with format %v", sub.AspectMask, img.Format)
	case uint64(len(img.Bytes)) < l.Size:
		return invalid(r.bound, "an image of %d bytes is bound to %d", l.Size, len(img.Bytes))
	case sub.AspectMask == 0:
		return invalid(vk.VUID_VkImageSubresourceLayers_aspectMask_requiredbitmask, "aspectMask is 0")
	case sub.AspectMask&^l.Format.Aspects() != 0:
		return invalid(r.aspects, "aspects %v of an image with format %v", sub.AspectMask, img.Format)
	case sub.MipLevel >= l.Levels:
		return invalid(r.level, "mip level %d of %d", sub.MipLevel, l.Levels)
	case sub.LayerCount == 0:
		return invalid(vk.VUID_VkImageSubresourceLayers_layerCount_01700, "layerCount is 0")
	case img.Type == vk.IMAGE_TYPE_3D && (sub.BaseArrayLayer != 0 || sub.LayerCount != 1):
		return invalid(r.volume, "%d layers from %d of a 3D image", sub.LayerCount, sub.BaseArrayLayer)
	case uint64(sub.BaseArrayLayer)+uint64(sub.LayerCount) > uint64(l.Layers):
		return invalid(r.layers, "%d array layers from %d of %d", sub.LayerCount, sub.BaseArrayLayer, l.Layers)
	}
	return nil
}

// withLayers returns regions in which VK_REMAINING_ARRAY_LAYERS is the number of layers that remain
// (VK_KHR_maintenance5). of gives a region's subresources of the source and of the destination.
func withLayers[R any](regions []R, src, dst *Image, of func(*R) (src, dst *vk.ImageSubresourceLayers)) []R {
	cloned := false
	for i := range regions {
		from, to := of(&regions[i])
		if from.LayerCount != vk.REMAINING_ARRAY_LAYERS && to.LayerCount != vk.REMAINING_ARRAY_LAYERS {
			continue
		}
		if !cloned {
			regions, cloned = slices.Clone(regions), true
			from, to = of(&regions[i])
		}
		from.LayerCount = layerCount(src, from)
		to.LayerCount = layerCount(dst, to)
	}
	return regions
}

// layerCount returns how many layers of img sub names. Of a first layer that does not exist none remain, which check
// refuses.
func layerCount(img *Image, sub *vk.ImageSubresourceLayers) uint32 {
	if sub.LayerCount == vk.REMAINING_ARRAY_LAYERS && sub.BaseArrayLayer < img.Layout.Layers {
		return img.Layout.Layers - sub.BaseArrayLayer
	}
	return sub.LayerCount
}

// checkTexels holds offset and extent of a region, in texels, against the mip level.
func (r *rules) checkTexels(img *Image, level uint32, offset, extent [3]uint32) error {
	if img.Type == vk.IMAGE_TYPE_1D && (offset[1] != 0 || extent[1] != 1) {
		return invalid(r.flat, "y %d and height %d in a 1D image", int32(offset[1]), extent[1])
	}
	for axis := range offset {
		size, block := levelSize(img, level, axis), img.Layout.Format.Block[axis]
		// A negative offset is, as an unsigned number, beyond every edge.
		at, n := uint64(offset[axis]), uint64(extent[axis])
		switch {
		case at+n > uint64(size):
			return invalid(r.inside[axis], "%d texels from %s %d of %d in level %d",
				n, axes[axis], int32(offset[axis]), size, level)
		case block == 1:
		case offset[axis]%block != 0:
			return invalid(r.aligned[axis], "%s %d is not a multiple of the block extent %d", axes[axis], at, block)
		case extent[axis]%block != 0 && at+n != uint64(size) && r.whole[axis] != 0:
			return invalid(r.whole[axis], "%d texels from %s %d of %d end within a block of %d",
				n, axes[axis], at, size, block)
		}
	}
	return nil
}

// levelSize returns the extent of a mip level along an axis, in texels.
func levelSize(img *Image, level uint32, axis int) uint32 {
	return max(img.Layout.Extent[axis]>>level, 1)
}

// blocks returns how many blocks hold n texels along an axis.
func (img *Image) blocks(n uint32, axis int) uint64 { return img.Layout.Format.Blocks(n, axis) }

// side says where a box of an image lies that begins at offset, in texels but at a block, of a layer of a mip
// level.
func (img *Image) side(aspect vk.ImageAspectFlags, blockSize, level, layer uint32, offset [3]uint32) side {
	s, _ := img.Layout.Subresource(aspect, level, layer)
	at := side{offset: s.Offset, rowPitch: s.RowPitch, slicePitch: img.Layout.LayerPitch}
	if img.Type == vk.IMAGE_TYPE_3D {
		at.slicePitch = s.DepthPitch
	}
	at.offset += img.blocks(offset[0], 0)*uint64(img.Layout.Samples)*uint64(blockSize) +
		img.blocks(offset[1], 1)*s.RowPitch +
		img.blocks(offset[2], 2)*s.DepthPitch
	return at
}

func offset3(o vk.Offset3D) [3]uint32 { return [3]uint32{uint32(o.X), uint32(o.Y), uint32(o.Z)} }
func extent3(e vk.Extent3D) [3]uint32 { return [3]uint32{e.Width, e.Height, e.Depth} }
