package icd

import (
	"cmp"
	"errors"
	"slices"

	"farside/internal/exec"
	"farside/internal/transfer"
	"farside/internal/vk"
)

// hostCopyLayouts are the layouts in which the host copies from and to images. A layout changes nothing about
// where texels lie; these are the ones that an image of this device can be in.
var hostCopyLayouts = []vk.ImageLayout{
	vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, vk.IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
	vk.IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, vk.IMAGE_LAYOUT_READ_ONLY_OPTIMAL,
	vk.IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL,
	vk.IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL, vk.IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL,
}

// optimalTilingUUID changes with texel.NewLayout: what VK_HOST_IMAGE_COPY_MEMCPY_BIT copied out of an image
// under one UUID must not be copied into one under another.
var optimalTilingUUID = hashUUID([]byte("farside optimal tiling 1"))

// hostCopySide has the rules of one of the two sides of a host copy.
type hostCopySide struct{ layout, bound, flags, stencil, usage, extent vk.VUID }

var (
	memoryToImage = hostCopySide{
		layout:  vk.VUID_VkCopyMemoryToImageInfo_dstImageLayout_09060,
		bound:   vk.VUID_VkCopyMemoryToImageInfo_dstImage_07966,
		flags:   vk.VUID_VkCopyMemoryToImageInfo_flags_parameter,
		stencil: vk.VUID_VkCopyMemoryToImageInfo_dstImage_09112,
		usage:   vk.VUID_VkCopyMemoryToImageInfo_dstImage_09113,
		extent:  vk.VUID_VkCopyMemoryToImageInfo_dstImage_09115,
	}
	imageToMemory = hostCopySide{
		layout:  vk.VUID_VkCopyImageToMemoryInfo_srcImageLayout_09065,
		bound:   vk.VUID_VkCopyImageToMemoryInfo_srcImage_07966,
		flags:   vk.VUID_VkCopyImageToMemoryInfo_flags_parameter,
		stencil: vk.VUID_VkCopyImageToMemoryInfo_srcImage_09112,
		usage:   vk.VUID_VkCopyImageToMemoryInfo_srcImage_09113,
		extent:  vk.VUID_VkCopyImageToMemoryInfo_srcImage_09115,
	}
	imageToImageSrc = hostCopySide{
		layout:  vk.VUID_VkCopyImageToImageInfo_srcImageLayout_09072,
		bound:   vk.VUID_VkCopyImageToImageInfo_srcImage_07966,
		flags:   vk.VUID_VkCopyImageToImageInfo_flags_parameter,
		stencil: vk.VUID_VkCopyImageToImageInfo_srcImage_09112,
		usage:   vk.VUID_VkCopyImageToImageInfo_srcImage_09113,
		extent:  vk.VUID_VkCopyImageToImageInfo_srcImage_09115,
	}
	imageToImageDst = hostCopySide{
		layout:  vk.VUID_VkCopyImageToImageInfo_dstImageLayout_09073,
		bound:   vk.VUID_VkCopyImageToImageInfo_dstImage_07966,
		flags:   vk.VUID_VkCopyImageToImageInfo_flags_parameter,
		stencil: vk.VUID_VkCopyImageToImageInfo_dstImage_09112,
		usage:   vk.VUID_VkCopyImageToImageInfo_dstImage_09113,
		extent:  vk.VUID_VkCopyImageToImageInfo_dstImage_09115,
	}
)

// hostImage is an image that the host copies from or to, with a reference to its memory until close.
type hostImage struct {
	*hostCopySide
	transfer.Image
	object *image
	held   lent
	pieced exec.Pieced // nil for an image in one piece
}

// open maps img, in whatever memory it lies for a physical device, for a copy while it is in the given layout.
func (s *hostCopySide) open(img *image, layout vk.ImageLayout, index uint32) (hostImage, error) {
	if !slices.Contains(hostCopyLayouts, layout) {
		return hostImage{}, invalid(s.layout, "%v is no layout for copies by the host", layout)
	}
	texels, held, err := img.texels(index)
	if errors.Is(err, errUnbound) {
		err = invalid(s.bound, "the image: %w", err)
	}
	if err != nil {
		return hostImage{}, err
	}
	i := hostImage{hostCopySide: s, object: img, held: held, Image: texels, pieced: img.piecedFor(index)}
	if i.pieced != nil {
		i.pieced.Load()
	}
	return i, nil
}

// eachInstance runs a copy by the host on each physical device on which the images lie somewhere, so that what the host
// writes is in all instances of an image, and what it reads is the first one's.
func (d *device) eachInstance(copy func(index uint32) error, list ...*image) error {
	d.orderRemote()
	if !d.several() {
		return copy(0)
	}
	d.pieces.Lock()
	defer d.pieces.Unlock()
	done := false
	for n := range d.members {
		i := uint32(len(d.members) - 1 - n)
		if slices.ContainsFunc(list, func(img *image) bool { return img.nowhere(i) }) {
			continue
		}
		if err := copy(i); err != nil {
			return err
		}
		done = true
	}
	if !done {
		return copy(0) // it says why not
	}
	return nil
}

// nowhere says whether the image, or a plane of it, lies in no memory of a physical device.
func (img *image) nowhere(index uint32) bool {
	if img.pieced != nil {
		return false
	}
	for i := range img.bindings() {
		if p := &img.bound[i].place; p.devices != nil && p.of(index) == noInstance {
			return true
		}
	}
	return false
}

func (i *hostImage) close() {
	if i.pieced != nil {
		i.pieced.Store()
	}
	i.held.end()
}

// check holds the aspects that a region names to the image's usage.
func (i *hostImage) check(flags vk.HostImageCopyFlags, aspects vk.ImageAspectFlags) error {
	switch {
	case flags&^vk.HOST_IMAGE_COPY_MEMCPY_BIT != 0:
		return invalid(i.flags, "flags %v", flags)
	case aspects&vk.IMAGE_ASPECT_STENCIL_BIT != 0 && i.object.stencilUsage&vk.IMAGE_USAGE_HOST_TRANSFER_BIT == 0:
		return invalid(i.stencil, "the image's stencil usage is %v", i.object.stencilUsage)
	case aspects&^vk.IMAGE_ASPECT_STENCIL_BIT != 0 && i.object.usage&vk.IMAGE_USAGE_HOST_TRANSFER_BIT == 0:
		return invalid(i.hostCopySide.usage, "the image's usage is %v", i.object.usage)
	}
	return nil
}

// checkWhole holds one side of a region between images to the rules of VK_HOST_IMAGE_COPY_MEMCPY_BIT.
func (i *hostImage) checkWhole(offsetRule vk.VUID, level uint32, offset *vk.Offset3D, extent *vk.Extent3D) error {
	img := i.object
	size := func(texels uint32) uint32 { return max(texels>>level, 1) }
	whole := vk.Extent3D{Width: size(img.extent.Width), Height: size(img.extent.Height), Depth: size(img.extent.Depth)}
	switch {
	case *offset != vk.Offset3D{}:
		return invalid(offsetRule, "offset %v of a plain copy", *offset)
	case *extent != whole:
		return invalid(i.hostCopySide.extent, "extent %v of a plain copy of level %d, which has %v", *extent, level, whole)
	}
	return nil
}

// copyImageToImage copies region after region; the first that breaks a rule ends it. Images with equal
// parameters are laid out alike, so VK_HOST_IMAGE_COPY_MEMCPY_BIT asks for no other copy.
func copyImageToImage(_ *device, info *vk.CopyImageToImageInfo) vk.Result {
	const command = "vkCopyImageToImage"
	from, to := live(images, info.SrcImage), live(images, info.DstImage)
	err := from.device.eachInstance(func(index uint32) error { return from.copyTo(to, info, index) }, from, to)
	if err != nil {
		return from.device.physical.instance.fail(command, err,
			object{vk.OBJECT_TYPE_IMAGE, uint64(info.SrcImage)}, object{vk.OBJECT_TYPE_IMAGE, uint64(info.DstImage)})
	}
	return vk.SUCCESS
}

func (img *image) copyTo(to *image, info *vk.CopyImageToImageInfo, index uint32) error {
	if img.parameterHash() != to.parameterHash() {
		return invalid(vk.VUID_VkCopyImageToImageInfo_srcImage_09069, "the images were created with different parameters")
	}
	src, err := imageToImageSrc.open(img, info.SrcImageLayout, index)
	if err != nil {
		return err
	}
	defer src.close()
	dst, err := imageToImageDst.open(to, info.DstImageLayout, index)
	if err != nil {
		return err
	}
	defer dst.close()
	for i := range vk.Slice(info.PRegions, info.RegionCount) {
		r := &vk.Slice(info.PRegions, info.RegionCount)[i]
		region := vk.ImageCopy{
			SrcSubresource: r.SrcSubresource, SrcOffset: r.SrcOffset,
			DstSubresource: r.DstSubresource, DstOffset: r.DstOffset, Extent: r.Extent,
		}
		err := cmp.Or(src.check(info.Flags, region.SrcSubresource.AspectMask),
			dst.check(info.Flags, region.DstSubresource.AspectMask))
		if err == nil && info.Flags&vk.HOST_IMAGE_COPY_MEMCPY_BIT != 0 {
			err = cmp.Or(src.checkWhole(vk.VUID_VkCopyImageToImageInfo_srcOffset_09114, region.SrcSubresource.MipLevel,
				&region.SrcOffset, &region.Extent),
				dst.checkWhole(vk.VUID_VkCopyImageToImageInfo_dstOffset_09114, region.DstSubresource.MipLevel, &region.DstOffset,
					&region.Extent))
		}
		if err == nil {
			img.hostCopies("vkCopyImageToImage", region.SrcSubresource, false)
			to.hostCopies("vkCopyImageToImage", region.DstSubresource, true)
			err = transfer.CopyImage(&dst.Image, &src.Image, []vk.ImageCopy{region})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// transitionImageLayout has nothing to do but to check: layouts do not move texels.
func transitionImageLayout(_ *device, count uint32, transitions *vk.HostImageLayoutTransitionInfo) vk.Result {
	for i := range vk.Slice(transitions, count) {
		t := &vk.Slice(transitions, count)[i]
		img := live(images, t.Image)
		if err := img.checkTransition(t); err != nil {
			return img.device.physical.instance.fail("vkTransitionImageLayout", err,
				object{vk.OBJECT_TYPE_IMAGE, uint64(t.Image)})
		}
	}
	return vk.SUCCESS
}

func (img *image) checkTransition(t *vk.HostImageLayoutTransitionInfo) error {
	r := &t.SubresourceRange
	format := &img.layout.Format
	aspects, whole := format.ViewAspects(), format.Aspects()
	const undefined, preinitialized = vk.IMAGE_LAYOUT_UNDEFINED, vk.IMAGE_LAYOUT_PREINITIALIZED
	switch {
	case img.usage&vk.IMAGE_USAGE_HOST_TRANSFER_BIT == 0:
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_image_09055, "the image's usage is %v", img.usage)
	case !img.isBound():
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_image_01932, "the image is not bound to memory")
	case r.BaseMipLevel >= img.mipLevels:
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_subresourceRange_01486, "level %d of %d", r.BaseMipLevel,
			img.mipLevels)
	case r.LevelCount != vk.REMAINING_MIP_LEVELS && r.LevelCount > img.mipLevels-r.BaseMipLevel:
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_subresourceRange_01724, "%d levels from number %d on of %d",
			r.LevelCount, r.BaseMipLevel, img.mipLevels)
	case r.BaseArrayLayer >= img.arrayLayers:
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_subresourceRange_01488, "layer %d of %d", r.BaseArrayLayer,
			img.arrayLayers)
	case r.LayerCount != vk.REMAINING_ARRAY_LAYERS && r.LayerCount > img.arrayLayers-r.BaseArrayLayer:
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_subresourceRange_01725, "%d layers from number %d on of %d",
			r.LayerCount, r.BaseArrayLayer, img.arrayLayers)
	case r.AspectMask == 0 || r.AspectMask&^aspects != 0:
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_subresourceRange_09601,
			"aspects %v of an image with format %v", r.AspectMask, img.format)
	case !img.disjoint() && whole&(vk.IMAGE_ASPECT_DEPTH_BIT|vk.IMAGE_ASPECT_STENCIL_BIT) == 0 &&
		r.AspectMask != vk.IMAGE_ASPECT_COLOR_BIT:
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_image_09242, "aspects %v of an image that is not disjoint",
			r.AspectMask)
	case !format.MultiPlanar() && r.AspectMask != whole && !img.device.features["separateDepthStencilLayouts"]:
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_image_03320,
			"aspects %v without the separateDepthStencilLayouts feature, the image has %v", r.AspectMask, whole)
	}
	if err := img.device.checkLayout(t.OldLayout, &hostOldRules); err != nil {
		return err
	}
	if err := img.device.checkLayout(t.NewLayout, &hostNewRules); err != nil {
		return err
	}
	switch {
	case t.OldLayout != undefined && t.OldLayout != preinitialized && !slices.Contains(hostCopyLayouts, t.OldLayout):
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_oldLayout_09230, "%v is no layout for copies by the host",
			t.OldLayout)
	case !slices.Contains(hostCopyLayouts, t.NewLayout):
		return invalid(vk.VUID_VkHostImageLayoutTransitionInfo_newLayout_09057, "%v is no layout for copies by the host",
			t.NewLayout)
	}
	return nil
}
