package transfer

import (
	"farside/internal/texel"
	"farside/internal/vk"
)

// Resolve is vkCmdResolveImage (chapter "Resolving Multisample Images"). Of integers sample 0 counts, of other numbers
// the mean of a texel's samples, which sRGB formats get from linear numbers.
func Resolve(dst, src *Image, regions []vk.ImageResolve) error {
	if err := checkResolveImages(dst, src); err != nil {
		return err
	}
	regions = withLayers(regions, src, dst, func(r *vk.ImageResolve) (_, _ *vk.ImageSubresourceLayers) {
		return &r.SrcSubresource, &r.DstSubresource
	})
	for _, r := range regions {
		if err := checkResolveRegion(dst, src, &r); err != nil {
			return err
		}
	}
	for _, r := range regions {
		if err := checkResolveRegion(dst, src, &r); err != nil { // the application may have changed it meanwhile
			return err
		}
		resolveRegion(dst, src, &r)
	}
	return nil
}

var resolveSourceRules = rules{
	bound:   vk.VUID_vkCmdResolveImage_srcImage_00256,
	aspects: vk.VUID_vkCmdResolveImage_srcSubresource_11800,
	level:   vk.VUID_vkCmdResolveImage_srcSubresource_01709,
	layers:  vk.VUID_vkCmdResolveImage_srcSubresource_01711,
	plane:   vk.VUID_vkCmdResolveImage_srcImage_00273,
	inside: [3]vk.VUID{vk.VUID_vkCmdResolveImage_srcOffset_00269, vk.VUID_vkCmdResolveImage_srcOffset_00270,
		vk.VUID_vkCmdResolveImage_srcOffset_00272},
}

var resolveTargetRules = rules{
	bound:   vk.VUID_vkCmdResolveImage_dstImage_00258,
	aspects: vk.VUID_vkCmdResolveImage_dstSubresource_11801,
	level:   vk.VUID_vkCmdResolveImage_dstSubresource_01710,
	layers:  vk.VUID_vkCmdResolveImage_dstSubresource_01712,
	volume:  vk.VUID_vkCmdResolveImage_srcImage_04447,
	flat:    vk.VUID_vkCmdResolveImage_dstImage_00276,
	plane:   vk.VUID_vkCmdResolveImage_dstImage_00278,
	inside: [3]vk.VUID{vk.VUID_vkCmdResolveImage_dstOffset_00274, vk.VUID_vkCmdResolveImage_dstOffset_00275,
		vk.VUID_vkCmdResolveImage_dstOffset_00277},
}

func checkResolveImages(dst, src *Image) error {
	switch {
	case src.Layout.Samples == 1:
		return invalid(vk.VUID_vkCmdResolveImage_srcImage_00257, "an image with one sample has nothing to resolve")
	case dst.Layout.Samples != 1:
		return invalid(vk.VUID_vkCmdResolveImage_dstImage_00259, "to %d samples", dst.Layout.Samples)
	case src.Format != dst.Format:
		return invalid(vk.VUID_vkCmdResolveImage_srcImage_01386, "from %v to %v", src.Format, dst.Format)
	case src.Layout.Format.Aspects() != vk.IMAGE_ASPECT_COLOR_BIT:
		return invalid(vk.VUID_vkCmdResolveImage_dstImage_02003, "%v is no format of color attachments", dst.Format)
	}
	return nil
}

func checkResolveRegion(dst, src *Image, r *vk.ImageResolve) error {
	from, to := &r.SrcSubresource, &r.DstSubresource
	switch {
	case from.AspectMask != to.AspectMask:
		return invalid(vk.VUID_vkCmdResolveImage_srcSubresource_11802, "from aspects %v to %v", from.AspectMask,
			to.AspectMask)
	case from.LayerCount != to.LayerCount:
		return invalid(vk.VUID_VkImageResolve_layerCount_08803, "from %d layers to %d", from.LayerCount, to.LayerCount)
	case r.SrcOffset.Z != 0 || r.Extent.Depth != 1:
		return invalid(resolveSourceRules.plane, "z %d and depth %d of a 2D image", r.SrcOffset.Z, r.Extent.Depth)
	case dst.Type != vk.IMAGE_TYPE_3D && r.DstOffset.Z != 0:
		return invalid(resolveTargetRules.plane, "z %d in an image that is not 3D", r.DstOffset.Z)
	}
	if err := resolveSourceRules.check(src, from); err != nil {
		return err
	}
	if err := resolveTargetRules.check(dst, to); err != nil {
		return err
	}
	extent := extent3(r.Extent)
	if err := resolveSourceRules.checkTexels(src, from.MipLevel, offset3(r.SrcOffset), extent); err != nil {
		return err
	}
	return resolveTargetRules.checkTexels(dst, to.MipLevel, offset3(r.DstOffset), extent)
}

// resolution is a checked region of a resolve.
type resolution struct {
	dst, src surface
	region   *vk.ImageResolve
	codec    *texel.Codec
	samples  int
	average  average
}

func resolveRegion(dst, src *Image, region *vk.ImageResolve) {
	r := resolution{region: region, samples: int(src.Layout.Samples)}
	r.dst.set(dst, vk.IMAGE_ASPECT_COLOR_BIT, &region.DstSubresource)
	r.src.set(src, vk.IMAGE_ASPECT_COLOR_BIT, &region.SrcSubresource)
	r.codec, _ = texel.CodecOf(src.Format, vk.IMAGE_ASPECT_COLOR_BIT)
	if r.codec.Class() == texel.Float {
		const color = vk.IMAGE_ASPECT_COLOR_BIT
		r.average = newAverage(dst.Format, color, src.Format, color, r.samples)
	}
	rows := int(region.SrcSubresource.LayerCount) * int(region.Extent.Height)
	if rows*int(region.Extent.Width) < parallelTexels {
		r.rows(0, rows)
		return
	}
	split(rows, 1, r.rows)
}

// rows resolves the rows from..to of the region, counted through its layers.
func (r resolution) rows(from, to int) {
	size, width, height := r.codec.Size(), int(r.region.Extent.Width), int(r.region.Extent.Height)
	read, write := r.region.SrcOffset, r.region.DstOffset
	for i := from; i < to; i++ {
		layer, y := int32(i/height), int32(i%height)
		src := r.src.row(place{layer, 0, read.Y + y})[int(read.X)*r.samples*size:]
		dst := r.dst.row(place{layer, write.Z, write.Y + y})[int(write.X)*size:]
		r.row(dst[:width*size], src[:width*size*r.samples])
	}
}

func (r *resolution) row(dst, src []byte) {
	size := r.codec.Size()
	if r.codec.Class() != texel.Float {
		for len(dst) > 0 {
			copy(dst[:size], src)
			dst, src = dst[size:], src[size*r.samples:]
		}
		return
	}
	r.average.row(dst, src)
}
