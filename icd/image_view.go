package icd

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/vk"
)

// imageView is a VkImageView.
type imageView struct {
	child
	image    *image
	viewType vk.ImageViewType
	format   vk.Format
	swizzle  vk.ComponentMapping
	usage    vk.ImageUsageFlags
	own      bool // the usage is the view's own (VkImageViewUsageCreateInfo)

	conversion *ycbcrConversion // nil without one

	aspects    vk.ImageAspectFlags
	baseLevel  uint32
	levelCount uint32
	baseLayer  uint32
	layerCount uint32

	built views // the image is bound for good
}

// views are what shaders see of a view, once they have used it, by physical device.
type views struct {
	first  atomic.Pointer[sampling.View]
	others []atomic.Pointer[sampling.View]
}

// grow makes room for all physical devices.
func (v *views) grow(d *device) {
	if d.several() {
		v.others = make([]atomic.Pointer[sampling.View], len(d.members)-1)
	}
}

func (v *views) of(index uint32) *atomic.Pointer[sampling.View] {
	if index == 0 {
		return &v.first
	}
	return &v.others[index-1]
}

// texels references and maps the memory that the view's image is bound to, for a physical device.
func (v *imageView) texels(index uint32) (*sampling.View, lent, error) {
	held, bytes, err := v.image.mapped(index)
	if err != nil {
		return nil, held, err
	}
	kept := v.built.of(index)
	built := kept.Load()
	if built == nil {
		if built, err = v.build(&bytes); err != nil {
			held.end()
			return nil, lent{}, err
		}
		kept.Store(built)
	}
	return built, held, nil
}

// build makes what shaders see of the view. bytes are the image's, or those of each plane of a disjoint one.
func (v *imageView) build(bytes *[texel.MaxPlanes][]byte) (*sampling.View, error) {
	img := v.image
	aspects := v.aspects
	if aspects&(aspects-1) != 0 { // no shader may access two (VUID-VkDescriptorImageInfo-imageView-01976)
		aspects = vk.IMAGE_ASPECT_DEPTH_BIT
	}
	from := sampling.ImageView{
		Data: bytes[0], Layout: &img.layout, Volume: img.imageType == vk.IMAGE_TYPE_3D, Type: v.viewType, Format: v.format,
		Range: vk.ImageSubresourceRange{
			AspectMask: aspects, BaseMipLevel: v.baseLevel, LevelCount: v.levelCount, BaseArrayLayer: v.baseLayer,
			LayerCount: v.layerCount,
		},
		Swizzle: v.swizzle,
	}
	if !img.layout.Format.MultiPlanar() {
		if v.conversion != nil {
			return sampling.NewConvertedView(&from, nil, v.conversion.made)
		}
		return sampling.NewImageView(&from)
	}
	var planes []sampling.ImagePlane
	for i := range img.layout.Format.PlaneCount {
		planes = append(planes, sampling.ImagePlane{Data: bytes[i], Layout: img.layout.Plane(i)})
	}
	if plane := img.layout.Format.PlaneOf(aspects); plane >= 0 {
		from.Data, from.Layout, from.Range.AspectMask = planes[plane].Data, &planes[plane].Layout, vk.IMAGE_ASPECT_COLOR_BIT
		return sampling.NewImageView(&from)
	}
	if v.conversion == nil { // its usage says that shaders do not sample it
		return nil, fmt.Errorf("a view of all planes without a conversion")
	}
	return sampling.NewConvertedView(&from, planes, v.conversion.made)
}

// viewableUsages are the image usages that go through a view.
const viewableUsages = vk.IMAGE_USAGE_SAMPLED_BIT | vk.IMAGE_USAGE_STORAGE_BIT | attachmentUsages

func createImageView(
	d *device, info *vk.ImageViewCreateInfo, _ *vk.AllocationCallbacks, out *vk.ImageView,
) vk.Result {
	img := live(images, info.Image)
	v := &imageView{child: child{device: d}, image: img}
	v.built.grow(d)
	if err := v.init(info); err != nil {
		return d.fail("vkCreateImageView", err)
	}
	*out = vk.ImageView(d.add(v))
	return vk.SUCCESS
}

// init takes over the parameters of the view, with VK_REMAINING_* resolved, and checks them against the image.
func (v *imageView) init(info *vk.ImageViewCreateInfo) error {
	img, r := v.image, &info.SubresourceRange
	v.viewType, v.format, v.swizzle = info.ViewType, info.Format, info.Components
	v.aspects, v.baseLevel, v.baseLayer = r.AspectMask, r.BaseMipLevel, r.BaseArrayLayer
	if img.usage&viewableUsages == 0 {
		return invalid(vk.VUID_VkImageViewCreateInfo_image_04441, "an image with usage %v has no views", img.usage)
	}
	if err := v.checkFormat(); err != nil {
		return err
	}
	if err := v.checkUsage(info); err != nil {
		return err
	}
	if err := v.checkConversion(info); err != nil {
		return err
	}
	if !v.fitsImageType() {
		return invalid(vk.VUID_VkImageViewCreateInfo_subResourceRange_01021, "a %v of a %v", v.viewType, img.imageType)
	}
	cube := v.viewType == vk.IMAGE_VIEW_TYPE_CUBE || v.viewType == vk.IMAGE_VIEW_TYPE_CUBE_ARRAY
	if cube && img.flags&vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT == 0 {
		return invalid(vk.VUID_VkImageViewCreateInfo_image_01003,
			"a %v of an image without VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT", v.viewType)
	}
	if v.baseLevel >= img.mipLevels {
		return invalid(vk.VUID_VkImageViewCreateInfo_subresourceRange_01478, "base level %d of %d", v.baseLevel,
			img.mipLevels)
	}
	v.levelCount = r.LevelCount
	if v.levelCount == vk.REMAINING_MIP_LEVELS {
		v.levelCount = img.mipLevels - v.baseLevel
	}
	if v.levelCount == 0 || v.levelCount > img.mipLevels-v.baseLevel {
		return invalid(vk.VUID_VkImageViewCreateInfo_subresourceRange_01718, "%d levels from %d of %d", v.levelCount,
			v.baseLevel, img.mipLevels)
	}
	layers := img.arrayLayers
	if img.imageType == vk.IMAGE_TYPE_3D && v.viewType != vk.IMAGE_VIEW_TYPE_3D {
		layers = max(img.extent.Depth>>v.baseLevel, 1) // the slices are the layers
	}
	if v.baseLayer >= layers {
		return invalid(vk.VUID_VkImageViewCreateInfo_image_06724, "base layer %d of %d", v.baseLayer, layers)
	}
	v.layerCount = r.LayerCount
	if v.layerCount == vk.REMAINING_ARRAY_LAYERS {
		v.layerCount = layers - v.baseLayer
	}
	if v.layerCount == 0 || v.layerCount > layers-v.baseLayer {
		return invalid(vk.VUID_VkImageViewCreateInfo_subresourceRange_06725, "%d layers from %d of %d", v.layerCount,
			v.baseLayer, layers)
	}
	return v.checkLayerCount()
}

func (v *imageView) checkFormat() error {
	img, own := v.image, &v.image.layout.Format
	planar := own.MultiPlanar()
	mutable := img.flags&vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT != 0
	switch {
	case v.aspects == 0 || v.aspects&^own.ViewAspects() != 0:
		return invalid(vk.VUID_VkImageSubresourceRange_aspectMask_parameter, "aspects %v of format %v", v.aspects, img.format)
	case planar && bits.OnesCount32(uint32(v.aspects)) != 1:
		return invalid(vk.VUID_VkImageViewCreateInfo_subresourceRange_07818, "aspects %v of format %v", v.aspects, img.format)
	case v.format == img.format && (!planar || v.aspects == vk.IMAGE_ASPECT_COLOR_BIT):
		return nil
	case !mutable:
		return invalid(vk.VUID_VkImageViewCreateInfo_image_12397, "a view with format %v of an image with %v", v.format,
			img.format)
	case planar && v.aspects == vk.IMAGE_ASPECT_COLOR_BIT:
		return invalid(vk.VUID_VkImageViewCreateInfo_format_12398, "a view with format %v of all planes of %v", v.format,
			img.format)
	}
	texels, ok := texel.FormatOf(v.format)
	if !ok {
		return invalid(vk.VUID_VkImageViewCreateInfo_None_02273, "format %v is not supported", v.format)
	}
	if planar {
		plane := img.layout.Plane(own.PlaneOf(v.aspects))
		if !plane.Format.Compatible(&texels, false) {
			return invalid(vk.VUID_VkImageViewCreateInfo_image_01586, "format %v is not compatible with aspect %v of %v",
				v.format, v.aspects, img.format)
		}
		return nil
	}
	if !own.Compatible(&texels, img.flags&vk.IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT != 0) {
		return invalid(vk.VUID_VkImageViewCreateInfo_image_01761, "format %v is not compatible with %v", v.format, img.format)
	}
	return nil
}

// checkUsage finds out what the view is for, and whether its format can do that. By default it is for what the image's
// usage and, if the view has the stencil aspect, its stencil usage allow. For a view of the stencil aspect alone, only
// the latter counts.
func (v *imageView) checkUsage(info *vk.ImageViewCreateInfo) error {
	img := v.image
	stencil := v.aspects&vk.IMAGE_ASPECT_STENCIL_BIT != 0
	v.usage = img.usage
	switch {
	case v.aspects == vk.IMAGE_ASPECT_STENCIL_BIT:
		v.usage = img.stencilUsage
	case stencil:
		v.usage &= img.stencilUsage
	}
	if u := vk.Find[vk.ImageViewUsageCreateInfo](info.PNext); u != nil {
		rule := vk.VUID_VkImageViewCreateInfo_pNext_02662
		switch {
		case u.Usage == 0:
			return invalid(vk.VUID_VkImageViewUsageCreateInfo_usage_requiredbitmask, "a view for nothing")
		case stencil && u.Usage&^img.stencilUsage != 0 && img.stencilUsage != img.usage:
			rule = vk.VUID_VkImageViewCreateInfo_pNext_02663
		case img.stencilUsage != img.usage:
			rule = vk.VUID_VkImageViewCreateInfo_pNext_02664
		}
		if u.Usage&^v.usage != 0 {
			return invalid(rule, "a view for %v of aspects %v of an image with usage %v and stencil usage %v", u.Usage,
				v.aspects, img.usage, img.stencilUsage)
		}
		v.usage, v.own = u.Usage, true
	}
	if u := v.device.physical.unfit(v.format, v.usage); u != nil {
		return invalid(u.rule, "format %v is not for %v", v.format, u.usage)
	}
	return nil
}

// inputUsage is what an input attachment of these aspects of the view may be used for. Of an image whose aspects differ
// in usage, a view of both is for what both allow, and a shader may still read the one: it does so through a view of
// its own.
func (v *imageView) inputUsage(aspects vk.ImageAspectFlags) vk.ImageUsageFlags {
	usage := v.usage
	if v.own {
		return usage
	}
	if aspects&vk.IMAGE_ASPECT_DEPTH_BIT != 0 {
		usage |= v.image.usage
	}
	if aspects&vk.IMAGE_ASPECT_STENCIL_BIT != 0 {
		usage |= v.image.stencilUsage
	}
	return usage
}

// fitsImageType is the table "Image type and image view type compatibility requirements" of chapter
// "Resource Creation".
func (v *imageView) fitsImageType() bool {
	switch v.viewType {
	case vk.IMAGE_VIEW_TYPE_1D, vk.IMAGE_VIEW_TYPE_1D_ARRAY:
		return v.image.imageType == vk.IMAGE_TYPE_1D
	case vk.IMAGE_VIEW_TYPE_2D, vk.IMAGE_VIEW_TYPE_2D_ARRAY:
		return v.image.imageType == vk.IMAGE_TYPE_2D ||
			v.image.imageType == vk.IMAGE_TYPE_3D && v.image.flags&vk.IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT != 0
	case vk.IMAGE_VIEW_TYPE_CUBE, vk.IMAGE_VIEW_TYPE_CUBE_ARRAY:
		return v.image.imageType == vk.IMAGE_TYPE_2D
	case vk.IMAGE_VIEW_TYPE_3D:
		return v.image.imageType == vk.IMAGE_TYPE_3D
	}
	return false
}

func (v *imageView) checkLayerCount() error {
	switch v.viewType {
	case vk.IMAGE_VIEW_TYPE_1D, vk.IMAGE_VIEW_TYPE_2D, vk.IMAGE_VIEW_TYPE_3D:
		if v.layerCount != 1 {
			return invalid(vk.VUID_VkImageViewCreateInfo_imageViewType_04973, "%d layers of a %v", v.layerCount, v.viewType)
		}
	case vk.IMAGE_VIEW_TYPE_CUBE:
		if v.layerCount != 6 {
			return invalid(vk.VUID_VkImageViewCreateInfo_viewType_02960, "%d layers of a cube", v.layerCount)
		}
	case vk.IMAGE_VIEW_TYPE_CUBE_ARRAY:
		if v.layerCount%6 != 0 {
			return invalid(vk.VUID_VkImageViewCreateInfo_viewType_02961, "%d layers of an array of cubes", v.layerCount)
		}
	}
	return nil
}
