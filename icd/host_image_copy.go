package icd

import (
	"cmp"
	"errors"
	"slices"

	"farside/internal/transfer"
	"farside/internal/vk"
	"farside/memory"
)

// hostCopyLayouts are the layouts in which the host copies from and to images. A layout changes nothing about
// where texels lie; these are the ones that an image of this device can be in.
var hostCopyLayouts = []vk.ImageLayout{
	vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, vk.IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
	vk.IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, vk.IMAGE_LAYOUT_READ_ONLY_OPTIMAL, vk.IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL,
	vk.IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL, vk.IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL,
}

// optimalTilingUUID changes with texel.NewLayout: what VK_HOST_IMAGE_COPY_MEMCPY_BIT copied out of an image
// under one UUID must not be copied into one under another.
var optimalTilingUUID = hashUUID([]byte("farside optimal tiling 1"))

// hostCopySide is how the rules name one of the two sides of a host copy.
type hostCopySide struct{ structure, image, layoutRule string }

var (
	memoryToImage   = hostCopySide{"VkCopyMemoryToImageInfo", "dstImage", "09060"}
	imageToMemory   = hostCopySide{"VkCopyImageToMemoryInfo", "srcImage", "09065"}
	imageToImageSrc = hostCopySide{"VkCopyImageToImageInfo", "srcImage", "09072"}
	imageToImageDst = hostCopySide{"VkCopyImageToImageInfo", "dstImage", "09073"}
)

// hostImage is an image that the host copies from or to, with a reference to its memory until close.
type hostImage struct {
	*hostCopySide
	transfer.Image
	object  *image
	payload *memory.Payload
}

// open maps img, in whatever memory it lies, for a copy while it is in the given layout.
func (s *hostCopySide) open(img *image, layout vk.ImageLayout) (hostImage, error) {
	if !slices.Contains(hostCopyLayouts, layout) {
		return hostImage{}, s.invalid(s.image+"Layout-"+s.layoutRule, "%v is no layout for copies by the host", layout)
	}
	texels, payload, err := img.texels()
	if errors.Is(err, errUnbound) {
		err = s.invalid(s.image+"-07966", "the image: %w", err)
	}
	if err != nil {
		return hostImage{}, err
	}
	return hostImage{hostCopySide: s, object: img, payload: payload, Image: texels}, nil
}

func (i *hostImage) close() { i.payload.Release() }

// invalid reports the broken rule of the side's structure.
func (s *hostCopySide) invalid(rule, format string, args ...any) error {
	return invalid("VUID-"+s.structure+"-"+rule, format, args...)
}

// check holds the aspects that a region names to the image's usage.
func (i *hostImage) check(flags vk.HostImageCopyFlags, aspects vk.ImageAspectFlags) error {
	switch {
	case flags&^vk.HOST_IMAGE_COPY_MEMCPY_BIT != 0:
		return i.invalid("flags-parameter", "flags %v", flags)
	case aspects&vk.IMAGE_ASPECT_STENCIL_BIT != 0 && i.object.stencilUsage&vk.IMAGE_USAGE_HOST_TRANSFER_BIT == 0:
		return i.invalid(i.image+"-09112", "the image's stencil usage is %v", i.object.stencilUsage)
	case aspects&^vk.IMAGE_ASPECT_STENCIL_BIT != 0 && i.object.usage&vk.IMAGE_USAGE_HOST_TRANSFER_BIT == 0:
		return i.invalid(i.image+"-09113", "the image's usage is %v", i.object.usage)
	}
	return nil
}

// checkWhole holds one side of a region between images to the rules of VK_HOST_IMAGE_COPY_MEMCPY_BIT.
func (i *hostImage) checkWhole(offsetRule string, level uint32, offset *vk.Offset3D, extent *vk.Extent3D) error {
	img := i.object
	size := func(texels uint32) uint32 { return max(texels>>level, 1) }
	whole := vk.Extent3D{Width: size(img.extent.Width), Height: size(img.extent.Height), Depth: size(img.extent.Depth)}
	switch {
	case *offset != vk.Offset3D{}:
		return i.invalid(offsetRule, "offset %v of a plain copy", *offset)
	case *extent != whole:
		return i.invalid(i.image+"-09115", "extent %v of a plain copy of level %d, which has %v", *extent, level, whole)
	}
	return nil
}

// copyImageToImage copies region after region; the first that breaks a rule ends it. Images with equal
// parameters are laid out alike, so VK_HOST_IMAGE_COPY_MEMCPY_BIT asks for no other copy.
func copyImageToImage(h vk.Device, info *vk.CopyImageToImageInfo) vk.Result {
	const command = "vkCopyImageToImage"
	from, to := images.Get(uint64(info.SrcImage)), images.Get(uint64(info.DstImage))
	if from == nil {
		return staleHandle(command, vk.OBJECT_TYPE_IMAGE, uint64(info.SrcImage))
	}
	if to == nil {
		return staleHandle(command, vk.OBJECT_TYPE_IMAGE, uint64(info.DstImage))
	}
	if err := from.copyTo(to, info); err != nil {
		return from.device.physical.instance.fail(command, err,
			object{vk.OBJECT_TYPE_IMAGE, uint64(info.SrcImage)}, object{vk.OBJECT_TYPE_IMAGE, uint64(info.DstImage)})
	}
	return vk.SUCCESS
}

func (img *image) copyTo(to *image, info *vk.CopyImageToImageInfo) error {
	if img.parameterHash() != to.parameterHash() {
		return imageToImageSrc.invalid("srcImage-09069", "the images were created with different parameters")
	}
	src, err := imageToImageSrc.open(img, info.SrcImageLayout)
	if err != nil {
		return err
	}
	defer src.close()
	dst, err := imageToImageDst.open(to, info.DstImageLayout)
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
		err := cmp.Or(src.check(info.Flags, region.SrcSubresource.AspectMask), dst.check(info.Flags, region.DstSubresource.AspectMask))
		if err == nil && info.Flags&vk.HOST_IMAGE_COPY_MEMCPY_BIT != 0 {
			err = cmp.Or(src.checkWhole("srcOffset-09114", region.SrcSubresource.MipLevel, &region.SrcOffset, &region.Extent),
				dst.checkWhole("dstOffset-09114", region.DstSubresource.MipLevel, &region.DstOffset, &region.Extent))
		}
		if err == nil {
			err = transfer.CopyImage(&dst.Image, &src.Image, []vk.ImageCopy{region})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// transitionImageLayout has nothing to do but to check: layouts do not move texels.
func transitionImageLayout(h vk.Device, count uint32, transitions *vk.HostImageLayoutTransitionInfo) vk.Result {
	for i := range vk.Slice(transitions, count) {
		t := &vk.Slice(transitions, count)[i]
		img := images.Get(uint64(t.Image))
		if img == nil {
			return staleHandle("vkTransitionImageLayout", vk.OBJECT_TYPE_IMAGE, uint64(t.Image))
		}
		if err := img.checkTransition(t); err != nil {
			return img.device.physical.instance.fail("vkTransitionImageLayout", err, object{vk.OBJECT_TYPE_IMAGE, uint64(t.Image)})
		}
	}
	return vk.SUCCESS
}

func (img *image) checkTransition(t *vk.HostImageLayoutTransitionInfo) error {
	rule := func(rule, format string, args ...any) error {
		return invalid("VUID-VkHostImageLayoutTransitionInfo-"+rule, format, args...)
	}
	r := &t.SubresourceRange
	aspects := img.layout.Format.Aspects()
	const undefined, preinitialized = vk.IMAGE_LAYOUT_UNDEFINED, vk.IMAGE_LAYOUT_PREINITIALIZED
	switch {
	case img.usage&vk.IMAGE_USAGE_HOST_TRANSFER_BIT == 0:
		return rule("image-09055", "the image's usage is %v", img.usage)
	case img.boundTo() == nil:
		return rule("image-01932", "the image is not bound to memory")
	case r.BaseMipLevel >= img.mipLevels:
		return rule("subresourceRange-01486", "level %d of %d", r.BaseMipLevel, img.mipLevels)
	case r.LevelCount != vk.REMAINING_MIP_LEVELS && r.LevelCount > img.mipLevels-r.BaseMipLevel:
		return rule("subresourceRange-01724", "%d levels from number %d on of %d", r.LevelCount, r.BaseMipLevel, img.mipLevels)
	case r.BaseArrayLayer >= img.arrayLayers:
		return rule("subresourceRange-01488", "layer %d of %d", r.BaseArrayLayer, img.arrayLayers)
	case r.LayerCount != vk.REMAINING_ARRAY_LAYERS && r.LayerCount > img.arrayLayers-r.BaseArrayLayer:
		return rule("subresourceRange-01725", "%d layers from number %d on of %d", r.LayerCount, r.BaseArrayLayer, img.arrayLayers)
	case r.AspectMask == 0 || r.AspectMask&^aspects != 0:
		return rule("subresourceRange-09601", "aspects %v of an image with format %v", r.AspectMask, img.format)
	case r.AspectMask != aspects:
		return rule("image-03320", "aspects %v without the separateDepthStencilLayouts feature, the image has %v", r.AspectMask, aspects)
	case t.OldLayout != undefined && t.OldLayout != preinitialized && !slices.Contains(hostCopyLayouts, t.OldLayout):
		return rule("oldLayout-09230", "%v is no layout for copies by the host", t.OldLayout)
	case !slices.Contains(hostCopyLayouts, t.NewLayout):
		return rule("newLayout-09057", "%v is no layout for copies by the host", t.NewLayout)
	}
	return nil
}
