package icd

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math/bits"
	"sync/atomic"

	"farside/export"
	"farside/internal/texel"
	"farside/internal/vk"
)

// image is a VkImage.
type image struct {
	child
	flags       vk.ImageCreateFlags
	imageType   vk.ImageType
	format      vk.Format
	extent      vk.Extent3D
	mipLevels   uint32
	arrayLayers uint32
	samples     vk.SampleCountFlagBits
	tiling      vk.ImageTiling
	usage       vk.ImageUsageFlags
	excess      atomic.Uint32 // usages that it lacks, is used for all the same, and that a warning has named
	// stencilUsage is the usage of the stencil aspect (VkImageStencilUsageCreateInfo), by default usage.
	stencilUsage vk.ImageUsageFlags

	drmModifier     uint64
	externalTypes   vk.ExternalMemoryHandleTypeFlags
	externalTypesNV vk.ExternalMemoryHandleTypeFlagsNV
	dedicated       bool        // a handle type demands an allocation of the image's own
	peer            *swapchain  // to whose memory it will be bound: VkImageSwapchainCreateInfoKHR
	presented       atomic.Bool // a swapchain has presented it
	planeAlias      bool        // created disjoint, with a format of one plane (VUID-VkImageCreateInfo-format-01577)

	layout    texel.Layout
	size      uint64
	alignment uint64
	typeBits  uint32

	// What the image is bound to: the first for all of it, or where it is disjoint, one for each plane.
	bound  [texel.MaxPlanes]imageBinding
	pieced []*piecedImage // by device index, for an image in pieces; set before it is bound
}

// imageBinding is where an image lies, or a plane of a disjoint one.
type imageBinding struct {
	memory atomic.Pointer[deviceMemory] // nil until it is bound, then for good
	place                               // in memory, set before memory is
}

// bindings are those of bound that count.
func (img *image) bindings() []imageBinding {
	if img.disjoint() {
		return img.bound[:img.layout.Format.PlaneCount]
	}
	return img.bound[:1]
}

// disjoint says whether the image's planes are bound to memory by themselves.
func (img *image) disjoint() bool { return img.flags&vk.IMAGE_CREATE_DISJOINT_BIT != 0 }

func createImage(d *device, info *vk.ImageCreateInfo, _ *vk.AllocationCallbacks, out *vk.Image) vk.Result {
	img := &image{child: child{device: d}}
	if err := img.init(info); err != nil {
		return d.fail("vkCreateImage", err)
	}
	*out = vk.Image(d.add(img))
	return vk.SUCCESS
}

// init takes over the creation parameters and lays the image out. It does not keep info.
func (img *image) init(info *vk.ImageCreateInfo) error {
	img.flags, img.imageType, img.format = info.Flags, info.ImageType, info.Format
	img.extent, img.mipLevels, img.arrayLayers = info.Extent, info.MipLevels, info.ArrayLayers
	img.samples, img.tiling, img.usage = info.Samples, info.Tiling, info.Usage
	q := imageQuery{format: info.Format, imageType: info.ImageType, tiling: info.Tiling, usage: info.Usage,
		flags: info.Flags}
	if s := vk.Find[vk.ImageStencilUsageCreateInfo](info.PNext); s != nil {
		q.stencilUsage = s.StencilUsage
	}
	img.stencilUsage = cmp.Or(q.stencilUsage, img.usage)
	texels, _ := texel.FormatOf(img.format)
	explicit, err := img.modifier(info, &texels)
	if err != nil {
		return err
	}
	if err := img.checkSplit(); err != nil {
		return err
	}
	if err := img.checkPlanes(&texels); err != nil {
		return err
	}
	if img.disjoint() && !texels.MultiPlanar() {
		img.flags, img.planeAlias = img.flags&^vk.IMAGE_CREATE_DISJOINT_BIT, true
	}
	q.modifier = img.drmModifier
	var limits vk.ImageFormatProperties
	if !img.device.physical.supported(&q, &limits) {
		return invalid(vk.VUID_VkImageCreateInfo_imageCreateMaxMipLevels_02251,
			"no images with format %v, type %v, tiling %v, usage %v and flags %v", q.format, q.imageType, q.tiling,
			q.usage|q.stencilUsage, q.flags)
	}
	if (img.usage|img.stencilUsage)&vk.IMAGE_USAGE_HOST_TRANSFER_BIT != 0 &&
		!img.device.allows("hostImageCopy", vk.VUID_VkImageCreateInfo_usage_10245) {
		return invalid(vk.VUID_VkImageCreateInfo_usage_10245, "usage %v needs the hostImageCopy feature",
			img.usage|img.stencilUsage)
	}
	if err := img.checkShape(&limits); err != nil {
		return err
	}
	if info.InitialLayout != vk.IMAGE_LAYOUT_UNDEFINED && info.InitialLayout != vk.IMAGE_LAYOUT_PREINITIALIZED {
		return invalid(vk.VUID_VkImageCreateInfo_initialLayout_00993, "initialLayout %v", info.InitialLayout)
	}
	if err := img.externalHandleTypes(info); err != nil {
		return err
	}
	if err := img.checkFormatList(info, &texels); err != nil {
		return err
	}
	if err := img.swapchainOf(info); err != nil {
		return err
	}
	ok, err := img.lay(texels, explicit)
	if err != nil {
		return err
	}
	if !ok || img.layout.Size > limits.MaxResourceSize {
		return vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, vk.NoVUID,
			"an image of %d bytes is larger than maxResourceSize, %d bytes", img.layout.Size, limits.MaxResourceSize)
	}
	img.size, img.alignment = img.layout.Size, texel.Alignment
	img.typeBits = img.device.typesFor(img.externalTypes) & img.device.physical.imageTypes(img.tiling)
	return nil
}

// lay lays the image out, as the plane layouts say that an application prescribes. It fails, without an error, where
// the size does not fit in 64 bits.
func (img *image) lay(texels texel.Format, explicit []vk.SubresourceLayout) (ok bool, err error) {
	extent := [3]uint32{img.extent.Width, img.extent.Height, img.extent.Depth}
	switch {
	case img.tiling != vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT && img.disjoint():
		img.layout, ok = texel.NewDisjointLayout(texels, extent, img.arrayLayers)
	case img.tiling != vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT:
		img.layout, ok = texel.NewLayout(texels, extent, img.mipLevels, img.arrayLayers, uint32(img.samples))
	default:
		img.layout, ok = texel.ModifierLayout(texels, extent, img.arrayLayers, explicit, img.disjoint())
		if !ok && explicit != nil {
			return false, vk.Errorf(vk.ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT, vk.NoVUID,
				"plane layouts %+v do not hold %d x %d texels in %d layers", explicit, extent[0], extent[1], img.arrayLayers)
		}
	}
	return ok, nil
}

// invalid reports a broken rule of valid usage. The commands that create images have no code of their own
// for it.
func invalid(vuid vk.VUID, format string, args ...any) error {
	return vk.Errorf(vk.ERROR_VALIDATION_FAILED, vuid, format, args...)
}

// checkShape holds extent, levels, layers and samples against the limits of the format and against each other.
func (img *image) checkShape(limits *vk.ImageFormatProperties) error {
	e, most := img.extent, limits.MaxExtent
	switch {
	case e.Width == 0:
		return invalid(vk.VUID_VkImageCreateInfo_extent_00944, "extent.width is 0")
	case e.Height == 0:
		return invalid(vk.VUID_VkImageCreateInfo_extent_00945, "extent.height is 0")
	case e.Depth == 0:
		return invalid(vk.VUID_VkImageCreateInfo_extent_00946, "extent.depth is 0")
	case img.mipLevels == 0:
		return invalid(vk.VUID_VkImageCreateInfo_mipLevels_00947, "mipLevels is 0")
	case img.arrayLayers == 0:
		return invalid(vk.VUID_VkImageCreateInfo_arrayLayers_00948, "arrayLayers is 0")
	case img.usage == 0:
		return invalid(vk.VUID_VkImageCreateInfo_usage_requiredbitmask, "usage is 0")
	case img.imageType == vk.IMAGE_TYPE_1D && (e.Height != 1 || e.Depth != 1):
		return invalid(vk.VUID_VkImageCreateInfo_imageType_00956, "1D image of height %d and depth %d", e.Height, e.Depth)
	case img.imageType == vk.IMAGE_TYPE_2D && e.Depth != 1:
		return invalid(vk.VUID_VkImageCreateInfo_imageType_00957, "2D image of depth %d", e.Depth)
	case img.imageType == vk.IMAGE_TYPE_3D && img.arrayLayers != 1:
		return invalid(vk.VUID_VkImageCreateInfo_imageType_00961, "3D image with %d array layers", img.arrayLayers)
	case e.Width > most.Width:
		return invalid(vk.VUID_VkImageCreateInfo_extent_02252, "extent.width %d is larger than %d", e.Width, most.Width)
	case e.Height > most.Height:
		return invalid(vk.VUID_VkImageCreateInfo_extent_02253, "extent.height %d is larger than %d", e.Height, most.Height)
	case e.Depth > most.Depth:
		return invalid(vk.VUID_VkImageCreateInfo_extent_02254, "extent.depth %d is larger than %d", e.Depth, most.Depth)
	case img.mipLevels > uint32(bits.Len32(max(e.Width, e.Height, e.Depth))):
		return invalid(vk.VUID_VkImageCreateInfo_mipLevels_00958, "%d mip levels of %d x %d x %d texels",
			img.mipLevels, e.Width, e.Height, e.Depth)
	case img.mipLevels > limits.MaxMipLevels:
		return invalid(vk.VUID_VkImageCreateInfo_mipLevels_02255, "%d mip levels are more than %d", img.mipLevels,
			limits.MaxMipLevels)
	case img.arrayLayers > limits.MaxArrayLayers:
		return invalid(vk.VUID_VkImageCreateInfo_arrayLayers_02256, "%d array layers are more than %d",
			img.arrayLayers, limits.MaxArrayLayers)
	case bits.OnesCount32(uint32(img.samples)) != 1 || img.samples&^limits.SampleCounts != 0:
		return invalid(vk.VUID_VkImageCreateInfo_samples_02258, "samples %v of %v", img.samples, limits.SampleCounts)
	case img.samples != vk.SAMPLE_COUNT_1_BIT && img.mipLevels != 1:
		return invalid(vk.VUID_VkImageCreateInfo_samples_02257, "%d mip levels of a multisampled image", img.mipLevels)
	case img.flags&vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT != 0 && e.Width != e.Height:
		return invalid(vk.VUID_VkImageCreateInfo_flags_08865, "cube of %d x %d texels", e.Width, e.Height)
	case img.flags&vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT != 0 && img.arrayLayers < 6:
		return invalid(vk.VUID_VkImageCreateInfo_flags_08866, "cube in %d layers", img.arrayLayers)
	}
	return nil
}

// checkFormatList checks the formats that the application announces for views.
func (img *image) checkFormatList(info *vk.ImageCreateInfo, texels *texel.Format) error {
	mutable := img.flags&vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT != 0
	list := vk.Find[vk.ImageFormatListCreateInfo](info.PNext)
	if list == nil || list.ViewFormatCount == 0 {
		if mutable && img.tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT {
			return invalid(vk.VUID_VkImageCreateInfo_tiling_02353,
				"a mutable image with a DRM format modifier needs a list of formats")
		}
		return nil
	}
	if !mutable && list.ViewFormatCount > 1 {
		return invalid(vk.VUID_VkImageCreateInfo_flags_04738, "%d view formats of an image that is not mutable",
			list.ViewFormatCount)
	}
	uncompress := img.flags&vk.IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT != 0
	for _, f := range vk.Slice(list.PViewFormats, list.ViewFormatCount) {
		// A format that is not supported may be compatible; it is only a view that cannot have it.
		if view, ok := texel.FormatOf(f); ok && f != img.format && !texels.Viewable(&view, uncompress) {
			return invalid(vk.VUID_VkImageCreateInfo_pNext_06722, "view format %v is not compatible with %v", f, img.format)
		}
	}
	return nil
}

// modifier chooses the DRM format modifier and returns the plane layouts that the application prescribes,
// nil if it leaves that to the driver.
func (img *image) modifier(info *vk.ImageCreateInfo, texels *texel.Format) ([]vk.SubresourceLayout, error) {
	list := vk.Find[vk.ImageDrmFormatModifierListCreateInfoEXT](info.PNext)
	explicit := vk.Find[vk.ImageDrmFormatModifierExplicitCreateInfoEXT](info.PNext)
	if info.Tiling != vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT {
		if list != nil || explicit != nil {
			return nil, invalid(vk.VUID_VkImageCreateInfo_pNext_02262, "DRM format modifiers with tiling %v", info.Tiling)
		}
		return nil, nil
	}
	switch {
	case (list == nil) == (explicit == nil):
		return nil, invalid(vk.VUID_VkImageCreateInfo_tiling_02261,
			"DRM format modifier tiling needs either a list of modifiers or an explicit one")
	case list != nil:
		for _, m := range vk.Slice(list.PDrmFormatModifiers, list.DrmFormatModifierCount) {
			if m == drmModifierLinear {
				img.drmModifier = m
				return nil, nil
			}
		}
		return nil, invalid(vk.VUID_VkImageDrmFormatModifierListCreateInfoEXT_pDrmFormatModifiers_02263,
			"none of the %d DRM format modifiers is DRM_FORMAT_MOD_LINEAR", list.DrmFormatModifierCount)
	case explicit.DrmFormatModifier != drmModifierLinear:
		return nil, invalid(vk.VUID_VkImageDrmFormatModifierExplicitCreateInfoEXT_drmFormatModifier_02264,
			"DRM format modifier %#x is not DRM_FORMAT_MOD_LINEAR", explicit.DrmFormatModifier)
	case explicit.DrmFormatModifierPlaneCount != uint32(texels.MemoryPlanes()) || explicit.PPlaneLayouts == nil:
		return nil, invalid(vk.VUID_VkImageDrmFormatModifierExplicitCreateInfoEXT_drmFormatModifierPlaneCount_02265,
			"%d plane layouts instead of %d", explicit.DrmFormatModifierPlaneCount, texels.MemoryPlanes())
	}
	planes := vk.Slice(explicit.PPlaneLayouts, explicit.DrmFormatModifierPlaneCount)
	for i := range planes {
		if err := checkPlaneLayout(&planes[i], info); err != nil {
			return nil, err
		}
	}
	img.drmModifier = drmModifierLinear
	return planes, nil
}

func checkPlaneLayout(plane *vk.SubresourceLayout, info *vk.ImageCreateInfo) error {
	switch {
	case plane.Size != 0:
		return invalid(vk.VUID_VkImageDrmFormatModifierExplicitCreateInfoEXT_size_02267, "plane layout with size %d",
			plane.Size)
	case plane.ArrayPitch != 0 && info.ArrayLayers == 1:
		return invalid(vk.VUID_VkImageDrmFormatModifierExplicitCreateInfoEXT_arrayPitch_02268,
			"arrayPitch %d of a single layer", plane.ArrayPitch)
	case plane.DepthPitch != 0:
		return invalid(vk.VUID_VkImageDrmFormatModifierExplicitCreateInfoEXT_depthPitch_02269,
			"depthPitch %d of a 2D image", plane.DepthPitch)
	}
	return nil
}

// externalHandleTypes takes over the handle types that the image's memory may be exported to or imported from.
func (img *image) externalHandleTypes(info *vk.ImageCreateInfo) error {
	if e := vk.Find[vk.ExternalMemoryImageCreateInfo](info.PNext); e != nil {
		img.externalTypes = e.HandleTypes
		for left := e.HandleTypes; left != 0; left &= left - 1 {
			r := img.device.physical.externalMemory(left & -left)
			if r.Features == 0 || e.HandleTypes&^r.Compatible != 0 {
				return invalid(vk.VUID_VkImageCreateInfo_pNext_00990,
					"handle types %v are not supported together", e.HandleTypes)
			}
			img.dedicated = img.dedicated || r.Features&vk.EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT != 0
		}
	}
	if e := vk.Find[vk.ExternalMemoryImageCreateInfoNV](info.PNext); e != nil {
		img.externalTypesNV = e.HandleTypes
		if e.HandleTypes != 0 && img.externalTypes != 0 {
			return invalid(vk.VUID_VkImageCreateInfo_pNext_00988,
				"handle types of both VK_KHR_external_memory and VK_NV_external_memory")
		}
		for left := e.HandleTypes; left != 0; left &= left - 1 {
			r, err := export.PropertiesNV(left & -left)
			if err != nil || e.HandleTypes&^r.Compatible != 0 {
				return invalid(vk.VUID_VkImageCreateInfo_pNext_00991,
					"handle types %v are not supported together", e.HandleTypes)
			}
		}
	}
	if img.externalTypes != 0 || img.externalTypesNV != 0 {
		if info.InitialLayout != vk.IMAGE_LAYOUT_UNDEFINED {
			return invalid(vk.VUID_VkImageCreateInfo_pNext_01443, "initialLayout %v of an external image", info.InitialLayout)
		}
	}
	return nil
}

// parameterHash is equal for images of equal creation parameters, in every process of the same driver
// (VUID-VkMemoryDedicatedAllocateInfo-image-01878).
func (img *image) parameterHash() uint64 {
	h := fnv.New64a()
	for _, p := range img.layout.Planes[:img.layout.Format.PlaneCount] {
		if img.layout.Format.MultiPlanar() {
			binary.Write(h, binary.LittleEndian, p)
		}
	}
	binary.Write(h, binary.LittleEndian, []uint64{
		uint64(img.flags), uint64(img.imageType), uint64(img.format),
		uint64(img.extent.Width), uint64(img.extent.Height), uint64(img.extent.Depth),
		uint64(img.mipLevels), uint64(img.arrayLayers), uint64(img.samples), uint64(img.tiling), uint64(img.usage),
		uint64(img.stencilUsage),
		img.drmModifier, img.layout.Start, img.layout.RowPitch, img.layout.LayerPitch,
		uint64(img.externalTypes), uint64(img.externalTypesNV),
	})
	return h.Sum64()
}

// No image is sparse.

func getImageSparseMemoryRequirements(_ *device, _ *image, count *uint32, _ *vk.SparseImageMemoryRequirements) {
	*count = 0
}

func getImageSparseMemoryRequirements2(
	_ *device, _ *vk.ImageSparseMemoryRequirementsInfo2, count *uint32, _ *vk.SparseImageMemoryRequirements2,
) {
	*count = 0
}

func getDeviceImageSparseMemoryRequirements(
	_ *device, _ *vk.DeviceImageMemoryRequirements, count *uint32, _ *vk.SparseImageMemoryRequirements2,
) {
	*count = 0
}

func getImageSubresourceLayout(_ *device, img *image, sub *vk.ImageSubresource, out *vk.SubresourceLayout) {
	*out = vk.SubresourceLayout{}
	if img.tiling == vk.IMAGE_TILING_OPTIMAL {
		img.device.fail("vkGetImageSubresourceLayout",
			invalid(vk.VUID_vkGetImageSubresourceLayout_image_07790, "the image has tiling %v", img.tiling))
		return
	}
	if err := img.subresourceLayout(sub, out); err != nil {
		img.device.fail("vkGetImageSubresourceLayout", err)
	}
}

// getImageSubresourceLayout2 also answers for optimal tiling: the size for host copies is defined there, and the
// layout, which is not, is what it is.
func getImageSubresourceLayout2(_ *device, img *image, sub *vk.ImageSubresource2, out *vk.SubresourceLayout2) {
	layout := &out.SubresourceLayout
	*layout = vk.SubresourceLayout{}
	if err := img.subresourceLayout(&sub.ImageSubresource, layout); err != nil {
		img.device.fail("vkGetImageSubresourceLayout2", err)
	}
	if s := vk.Find[vk.SubresourceHostMemcpySize](out.PNext); s != nil {
		s.Size = layout.Size // whole rows, as they lie
	}
}

// getDeviceImageSubresourceLayout is getImageSubresourceLayout2 for an image that does not exist yet.
func getDeviceImageSubresourceLayout(d *device, info *vk.DeviceImageSubresourceInfo, out *vk.SubresourceLayout2) {
	out.SubresourceLayout = vk.SubresourceLayout{}
	img := image{child: child{device: d}}
	err := img.init(info.PCreateInfo)
	if err == nil {
		err = img.subresourceLayout(&info.PSubresource.ImageSubresource, &out.SubresourceLayout)
	}
	if err != nil {
		d.fail("vkGetDeviceImageSubresourceLayout", err)
	}
	if s := vk.Find[vk.SubresourceHostMemcpySize](out.PNext); s != nil {
		s.Size = out.SubresourceLayout.Size
	}
}

// subresourceLayout fills out, which it leaves as it is when it fails.
func (img *image) subresourceLayout(sub *vk.ImageSubresource, out *vk.SubresourceLayout) error {
	l, ok := img.layout.Subresource(sub.AspectMask, sub.MipLevel, sub.ArrayLayer)
	byModifier := img.tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT
	var vuid vk.VUID
	switch {
	case bits.OnesCount32(uint32(sub.AspectMask)) != 1:
		vuid = vk.VUID_vkGetImageSubresourceLayout_aspectMask_00997
	case sub.MipLevel >= img.mipLevels:
		vuid = vk.VUID_vkGetImageSubresourceLayout_mipLevel_01716
	case sub.ArrayLayer >= img.arrayLayers:
		vuid = vk.VUID_vkGetImageSubresourceLayout_arrayLayer_01717
	case ok && byModifier == (sub.AspectMask&memoryPlanes != 0):
		*out = vk.SubresourceLayout{
			Offset: l.Offset, Size: l.Size, RowPitch: l.RowPitch,
			ArrayPitch: img.layout.LayerPitch, DepthPitch: l.DepthPitch,
		}
		if img.layout.Format.MultiPlanar() {
			out.ArrayPitch = img.layout.Planes[img.layout.Format.PlaneOf(sub.AspectMask)].LayerPitch
		}
		return nil
	case byModifier:
		vuid = vk.VUID_vkGetImageSubresourceLayout_tiling_09433
	case img.layout.Format.MultiPlanar():
		vuid = vk.VUID_vkGetImageSubresourceLayout_tiling_08717
	case img.layout.Format.Aspects()&vk.IMAGE_ASPECT_COLOR_BIT != 0:
		vuid = vk.VUID_vkGetImageSubresourceLayout_format_08886
	default:
		vuid = vk.VUID_vkGetImageSubresourceLayout_format_04462
	}
	return invalid(vuid, "no aspect %v of level %d of layer %d in an image with format %v, %d levels and %d layers",
		sub.AspectMask, sub.MipLevel, sub.ArrayLayer, img.format, img.mipLevels, img.arrayLayers)
}

func getImageDrmFormatModifierPropertiesEXT(
	_ *device, img *image, out *vk.ImageDrmFormatModifierPropertiesEXT,
) vk.Result {
	out.DrmFormatModifier = img.drmModifier
	if img.tiling != vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT {
		return img.device.fail("vkGetImageDrmFormatModifierPropertiesEXT",
			invalid(vk.VUID_vkGetImageDrmFormatModifierPropertiesEXT_image_02272, "the image has tiling %v", img.tiling))
	}
	return vk.SUCCESS
}
