package icd

import (
	"math/bits"

	"farside/export"
	"farside/internal/texel"
	"farside/internal/vk"
)

const (
	maxImageDimension1D = 16384
	maxImageDimension2D = 16384
	maxImageDimension3D = 2048
	maxImageArrayLayers = 2048

	// minMaxResourceSize is the least that VkImageFormatProperties::maxResourceSize may be.
	minMaxResourceSize = 1 << 31

	// drmModifierLinear is DRM_FORMAT_MOD_LINEAR of drm_fourcc.h, the one modifier of a driver without tiling.
	drmModifierLinear = 0

	// imageUsages is what an image can be used for: by transfers, the host and, where its format allows, shaders and
	// render passes, if only those of other devices.
	imageUsages = vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT | vk.IMAGE_USAGE_HOST_TRANSFER_BIT |
		vk.IMAGE_USAGE_SAMPLED_BIT | vk.IMAGE_USAGE_STORAGE_BIT | attachmentUsages | vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT |
		vk.IMAGE_USAGE_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT

	attachmentUsages = vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT |
		vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT

	// attachmentFormat is what a format of attachments has one of.
	attachmentFormat = vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT | vk.FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT

	// sampleCounts are those that images of such a format can have: as many as "Required Limits" asks for.
	sampleCounts = vk.SAMPLE_COUNT_1_BIT | vk.SAMPLE_COUNT_4_BIT

	// imageFlags are the creation flags that change nothing in a row-major layout, and the one for images with planes that
	// are bound by themselves. Sparse and protected images are not supported.
	imageFlags = vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT | vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT |
		vk.IMAGE_CREATE_ALIAS_BIT | vk.IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT |
		vk.IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT | vk.IMAGE_CREATE_EXTENDED_USAGE_BIT |
		vk.IMAGE_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT | vk.IMAGE_CREATE_DISJOINT_BIT
)

// imageQuery is the part of an image's creation parameters on which its support depends.
type imageQuery struct {
	format       vk.Format
	imageType    vk.ImageType
	tiling       vk.ImageTiling
	usage        vk.ImageUsageFlags
	stencilUsage vk.ImageUsageFlags // 0: as usage
	flags        vk.ImageCreateFlags
	modifier     uint64 // with VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT
}

// accessible says whether shaders can do with the format what the usage asks for. An image with extended usage only
// needs a view that they can do it with.
func (p *physicalDevice) accessible(q *imageQuery, texels *texel.Format) bool {
	usage := q.usage | q.stencilUsage
	if p.unfit(q.format, usage) == nil {
		return true
	}
	const extended = vk.IMAGE_CREATE_EXTENDED_USAGE_BIT | vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT
	if q.flags&extended != extended {
		return false
	}
	uncompress := q.flags&vk.IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT != 0
	for _, f := range vk.AllFormats {
		view, ok := texel.FormatOf(f)
		if ok && texels.Viewable(&view, uncompress) && p.unfit(f, usage) == nil {
			return true
		}
	}
	return false
}

// viewUsage is a usage of views, and the format features of which their format must have one; rule is the VUID
// that says so of VkImageViewCreateInfo.
type viewUsage struct {
	usage    vk.ImageUsageFlags
	features vk.FormatFeatureFlags2
	rule     vk.VUID
}

var viewUsages = []viewUsage{
	{vk.IMAGE_USAGE_SAMPLED_BIT, vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT, vk.VUID_VkImageViewCreateInfo_usage_02274},
	{vk.IMAGE_USAGE_STORAGE_BIT, vk.FORMAT_FEATURE_2_STORAGE_IMAGE_BIT, vk.VUID_VkImageViewCreateInfo_usage_02275},
	{vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT, vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT,
		vk.VUID_VkImageViewCreateInfo_usage_08931},
	{vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, vk.FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT,
		vk.VUID_VkImageViewCreateInfo_usage_02277},
	{vk.IMAGE_USAGE_INPUT_ATTACHMENT_BIT, attachmentFormat, vk.VUID_VkImageViewCreateInfo_usage_08932},
	{vk.IMAGE_USAGE_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT, attachmentFormat, vk.NoVUID},
}

// unfit returns the first of usages for which no view can have the format, nil if it fits all.
func (p *physicalDevice) unfit(format vk.Format, usages vk.ImageUsageFlags) *viewUsage {
	features := p.formatFeatures(format)
	for i := range viewUsages {
		if u := &viewUsages[i]; usages&u.usage != 0 && features&u.features == 0 {
			return u
		}
	}
	return nil
}

// transientUsage says whether a usage keeps to the rules of transient attachments: VUID-VkImageCreateInfo-usage-00963
// and -00966.
func transientUsage(usage vk.ImageUsageFlags) bool {
	const transient = vk.IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT
	return usage&transient == 0 || usage != transient && usage&^(transient|attachmentUsages) == 0
}

// samplesOf is what section "Supported Sample Counts" of chapter "Additional Capabilities" says of a supported
// image.
func (p *physicalDevice) samplesOf(q *imageQuery) vk.SampleCountFlags {
	if q.imageType != vk.IMAGE_TYPE_2D || q.tiling != vk.IMAGE_TILING_OPTIMAL ||
		q.flags&vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT != 0 ||
		(q.usage|q.stencilUsage)&vk.IMAGE_USAGE_STORAGE_BIT != 0 || p.formatFeatures(q.format)&attachmentFormat == 0 {
		return vk.SAMPLE_COUNT_1_BIT
	}
	l, counts := p.limits, p.sampleCounts()
	t, _ := texel.FormatOf(q.format)
	for _, plane := range t.Planes {
		attachment, sampled := l.FramebufferColorSampleCounts, l.SampledImageColorSampleCounts
		switch codec, ok := texel.CodecOf(q.format, plane.Aspect); {
		case plane.Aspect == vk.IMAGE_ASPECT_DEPTH_BIT:
			attachment, sampled = l.FramebufferDepthSampleCounts, l.SampledImageDepthSampleCounts
		case plane.Aspect == vk.IMAGE_ASPECT_STENCIL_BIT:
			attachment, sampled = l.FramebufferStencilSampleCounts, l.SampledImageStencilSampleCounts
		case ok && codec.Class() != texel.Float:
			sampled = l.SampledImageIntegerSampleCounts
		}
		if (q.usage|q.stencilUsage)&attachmentUsages != 0 {
			counts &= attachment
		}
		if (q.usage|q.stencilUsage)&vk.IMAGE_USAGE_SAMPLED_BIT != 0 {
			counts &= sampled
		}
	}
	return counts
}

// supported answers an image format query; it fails for combinations that no image can be created with.
func (p *physicalDevice) supported(q *imageQuery, out *vk.ImageFormatProperties) bool {
	*out = vk.ImageFormatProperties{}
	texels, ok := texel.FormatOf(q.format)
	if !ok || q.usage&^imageUsages != 0 || q.stencilUsage&^imageUsages != 0 || q.flags&^imageFlags != 0 ||
		!transientUsage(q.usage) || !transientUsage(q.stencilUsage) || !p.accessible(q, &texels) {
		return false
	}
	var r vk.ImageFormatProperties
	switch q.imageType {
	case vk.IMAGE_TYPE_1D:
		r.MaxExtent = vk.Extent3D{Width: p.limits.MaxImageDimension1D, Height: 1, Depth: 1}
	case vk.IMAGE_TYPE_2D:
		most := p.limits.MaxImageDimension2D
		if q.flags&vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT != 0 {
			most = p.limits.MaxImageDimensionCube
		}
		r.MaxExtent = vk.Extent3D{Width: most, Height: most, Depth: 1}
	case vk.IMAGE_TYPE_3D:
		most := p.limits.MaxImageDimension3D
		r.MaxExtent = vk.Extent3D{Width: most, Height: most, Depth: most}
	default:
		return false
	}
	if q.flags&vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT != 0 && q.imageType != vk.IMAGE_TYPE_2D ||
		q.flags&vk.IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT != 0 && q.imageType != vk.IMAGE_TYPE_3D ||
		q.flags&vk.IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT != 0 &&
			(!texels.Compressed || q.flags&vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT == 0) ||
		q.flags&(vk.IMAGE_CREATE_DISJOINT_BIT|vk.IMAGE_CREATE_ALIAS_BIT) == vk.IMAGE_CREATE_DISJOINT_BIT &&
			!texels.MultiPlanar() ||
		texels.Chroma && (q.imageType != vk.IMAGE_TYPE_2D || q.flags&vk.IMAGE_CREATE_CUBE_COMPATIBLE_BIT != 0) {
		return false
	}
	r.MaxMipLevels = uint32(bits.Len32(r.MaxExtent.Width))
	if texels.Chroma { // VUID-VkImageCreateInfo-format-06410
		r.MaxMipLevels = 1
	}
	r.MaxArrayLayers = p.limits.MaxImageArrayLayers
	if q.imageType == vk.IMAGE_TYPE_3D {
		r.MaxArrayLayers = 1
	}
	switch q.tiling {
	case vk.IMAGE_TILING_OPTIMAL, vk.IMAGE_TILING_LINEAR:
	case vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT:
		if q.modifier != drmModifierLinear || !texels.Modifiable() || q.imageType != vk.IMAGE_TYPE_2D {
			return false
		}
		// A plane layout describes one level only.
		r.MaxMipLevels = 1
	default:
		return false
	}
	r.SampleCounts = p.samplesOf(q)
	if q.flags&vk.IMAGE_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT != 0 {
		_, _, ok := sparseBlock(&texels)
		if !ok || len(p.group) < 2 || q.imageType != vk.IMAGE_TYPE_2D || q.tiling != vk.IMAGE_TILING_OPTIMAL {
			return false
		}
		r.MaxMipLevels, r.MaxArrayLayers, r.SampleCounts = 1, 1, vk.SAMPLE_COUNT_1_BIT
	}
	r.MaxResourceSize = p.maxResourceSize()
	*out = r
	return true
}

// maxResourceSize is the size in bytes of the largest image: what the largest heap holds.
func (p *physicalDevice) maxResourceSize() uint64 {
	size := uint64(minMaxResourceSize)
	for _, h := range p.profile.Heaps {
		size = max(size, h.Size)
	}
	return size
}

func getPhysicalDeviceImageFormatProperties(
	p *physicalDevice, format vk.Format, imageType vk.ImageType, tiling vk.ImageTiling, usage vk.ImageUsageFlags,
	flags vk.ImageCreateFlags, out *vk.ImageFormatProperties,
) vk.Result {
	q := imageQuery{format: format, imageType: imageType, tiling: tiling, usage: usage, flags: flags}
	// Without a chain there is no modifier to ask about (VUID-vkGetPhysicalDeviceImageFormatProperties-tiling-02248).
	if tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT || !p.supported(&q, out) {
		*out = vk.ImageFormatProperties{}
		return vk.ERROR_FORMAT_NOT_SUPPORTED
	}
	return vk.SUCCESS
}

func getPhysicalDeviceImageFormatProperties2(
	p *physicalDevice, info *vk.PhysicalDeviceImageFormatInfo2, out *vk.ImageFormatProperties2,
) vk.Result {
	q := imageQuery{format: info.Format, imageType: info.Type, tiling: info.Tiling, usage: info.Usage, flags: info.Flags}
	if s := vk.Find[vk.ImageStencilUsageCreateInfo](info.PNext); s != nil {
		q.stencilUsage = s.StencilUsage
	}
	drm := vk.Find[vk.PhysicalDeviceImageDrmFormatModifierInfoEXT](info.PNext)
	if drm != nil {
		q.modifier = drm.DrmFormatModifier
	}
	external := vk.ExternalMemoryProperties{}
	// VUID-VkPhysicalDeviceImageFormatInfo2-tiling-02249: the tiling and the structure come together.
	ok := (drm != nil) == (q.tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT) &&
		p.supported(&q, &out.ImageFormatProperties)
	if e := vk.Find[vk.PhysicalDeviceExternalImageFormatInfo](info.PNext); ok && e != nil && e.HandleType != 0 {
		r := p.externalMemory(e.HandleType)
		external.ExternalMemoryFeatures = r.Features
		external.ExportFromImportedHandleTypes = r.ExportFromImported
		external.CompatibleHandleTypes = r.Compatible
		ok = r.Features != 0
	}
	if y := vk.Find[vk.SamplerYcbcrConversionImageFormatProperties](out.PNext); y != nil {
		y.CombinedImageSamplerDescriptorCount = 1 // descriptors hold handles, whatever the image is
	}
	if e := vk.Find[vk.ExternalImageFormatProperties](out.PNext); e != nil {
		e.ExternalMemoryProperties = external
	}
	if h := vk.Find[vk.HostImageCopyDevicePerformanceQuery](out.PNext); h != nil {
		// VK_IMAGE_USAGE_HOST_TRANSFER_BIT changes nothing about an image.
		h.OptimalDeviceAccess, h.IdenticalMemoryLayout = bool32(ok), bool32(ok)
	}
	if !ok {
		out.ImageFormatProperties = vk.ImageFormatProperties{}
		return vk.ERROR_FORMAT_NOT_SUPPORTED
	}
	return vk.SUCCESS
}

func getPhysicalDeviceExternalImageFormatPropertiesNV(
	h *physicalDevice, format vk.Format, imageType vk.ImageType, tiling vk.ImageTiling, usage vk.ImageUsageFlags,
	flags vk.ImageCreateFlags, handleType vk.ExternalMemoryHandleTypeFlagsNV,
	out *vk.ExternalImageFormatPropertiesNV,
) vk.Result {
	*out = vk.ExternalImageFormatPropertiesNV{}
	res := getPhysicalDeviceImageFormatProperties(h, format, imageType, tiling, usage, flags, &out.ImageFormatProperties)
	if res != vk.SUCCESS || handleType == 0 {
		return res
	}
	r, err := export.PropertiesNV(handleType)
	if err != nil {
		out.ImageFormatProperties = vk.ImageFormatProperties{}
		return vk.ResultOf(err)
	}
	out.ExternalMemoryFeatures = r.Features
	out.ExportFromImportedHandleTypes = r.ExportFromImported
	out.CompatibleHandleTypes = r.Compatible
	return vk.SUCCESS
}

func getPhysicalDeviceSparseImageFormatProperties(
	_ *physicalDevice, _ vk.Format, _ vk.ImageType, _ vk.SampleCountFlagBits, _ vk.ImageUsageFlags,
	_ vk.ImageTiling, count *uint32, _ *vk.SparseImageFormatProperties,
) {
	*count = 0 // nothing is sparse
}

func getPhysicalDeviceSparseImageFormatProperties2(
	_ *physicalDevice, _ *vk.PhysicalDeviceSparseImageFormatInfo2, count *uint32,
	_ *vk.SparseImageFormatProperties2,
) {
	*count = 0
}
