package icd

import (
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/vk"
)

const (
	// transferFeatures is what every supported format can do.
	transferFeatures = vk.FORMAT_FEATURE_2_TRANSFER_SRC_BIT | vk.FORMAT_FEATURE_2_TRANSFER_DST_BIT |
		vk.FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT
	blitFeatures = vk.FORMAT_FEATURE_2_BLIT_SRC_BIT | vk.FORMAT_FEATURE_2_BLIT_DST_BIT
	// blockFeatures is what compressed formats can do besides.
	blockFeatures = vk.FORMAT_FEATURE_2_BLIT_SRC_BIT | vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT |
		vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_LINEAR_BIT | vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_MINMAX_BIT
	// A shader need not name the format of a storage image: the view's counts.
	withoutFormat = vk.FORMAT_FEATURE_2_STORAGE_READ_WITHOUT_FORMAT_BIT |
		vk.FORMAT_FEATURE_2_STORAGE_WRITE_WITHOUT_FORMAT_BIT
)

// formatFeatures returns what images of a format can do on every device, in every tiling: 0 if there are none.
func formatFeatures(format vk.Format) vk.FormatFeatureFlags2 {
	t, ok := texel.FormatOf(format)
	switch {
	case !ok:
		return 0
	case t.Compressed:
		return transferFeatures | blockFeatures
	case t.Chroma:
		return chromaFeatures(&t)
	}
	features := transferFeatures | blitFeatures | attachmentFeatures(format)
	access := sampling.AccessOf(format)
	if c, ok := texel.CodecOf(format, t.Planes[0].Aspect); ok && c.Class() == texel.Float {
		if access.Sampled {
			features |= vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_LINEAR_BIT | vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_MINMAX_BIT
		} else if t.Planes[0].Aspect == vk.IMAGE_ASPECT_COLOR_BIT {
			// Without SAMPLED_IMAGE_BIT this speaks of blits alone (chapter "Format Properties").
			features |= vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_LINEAR_BIT
		}
	}
	if access.Sampled {
		features |= vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT
		if t.Planes[0].Aspect == vk.IMAGE_ASPECT_DEPTH_BIT {
			features |= vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_DEPTH_COMPARISON_BIT
		}
	}
	if access.Storage {
		features |= vk.FORMAT_FEATURE_2_STORAGE_IMAGE_BIT | withoutFormat
	}
	if access.Atomic {
		features |= vk.FORMAT_FEATURE_2_STORAGE_IMAGE_ATOMIC_BIT
	}
	return features
}

// attachmentFeatures returns the features that are about render passes. Not every device executes any, but the
// tables of "Required Format Support" ask for these without exception, and formats with them have multisampled images.
func attachmentFeatures(format vk.Format) vk.FormatFeatureFlags2 {
	switch format {
	case vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_A1R5G5B5_UNORM_PACK16, vk.FORMAT_R8_UNORM, vk.FORMAT_R8G8_UNORM,
		vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_B8G8R8A8_UNORM, vk.FORMAT_B8G8R8A8_SRGB,
		vk.FORMAT_A8B8G8R8_UNORM_PACK32, vk.FORMAT_A8B8G8R8_SRGB_PACK32, vk.FORMAT_A2B10G10R10_UNORM_PACK32,
		vk.FORMAT_R16_SFLOAT, vk.FORMAT_R16G16_SFLOAT, vk.FORMAT_R16G16B16A16_SFLOAT:
		return vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT | vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BLEND_BIT
	case vk.FORMAT_R8_UINT, vk.FORMAT_R8_SINT, vk.FORMAT_R8G8_UINT, vk.FORMAT_R8G8_SINT, vk.FORMAT_R8G8B8A8_UINT,
		vk.FORMAT_R8G8B8A8_SINT,
		vk.FORMAT_A8B8G8R8_UINT_PACK32, vk.FORMAT_A8B8G8R8_SINT_PACK32, vk.FORMAT_A2B10G10R10_UINT_PACK32,
		vk.FORMAT_R16_UINT, vk.FORMAT_R16_SINT, vk.FORMAT_R16G16_UINT, vk.FORMAT_R16G16_SINT, vk.FORMAT_R16G16B16A16_UINT,
		vk.FORMAT_R16G16B16A16_SINT,
		vk.FORMAT_R32_UINT, vk.FORMAT_R32_SINT, vk.FORMAT_R32_SFLOAT, vk.FORMAT_R32G32_UINT, vk.FORMAT_R32G32_SINT,
		vk.FORMAT_R32G32_SFLOAT,
		vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_R32G32B32A32_SINT, vk.FORMAT_R32G32B32A32_SFLOAT:
		return vk.FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT
	case vk.FORMAT_D16_UNORM, vk.FORMAT_X8_D24_UNORM_PACK32, vk.FORMAT_D32_SFLOAT, vk.FORMAT_S8_UINT,
		vk.FORMAT_D16_UNORM_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_D32_SFLOAT_S8_UINT:
		return vk.FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT
	}
	return 0
}

// bufferFeatures returns what buffers of a format can do. What can be read as a texel can be a vertex's attribute, but
// for sRGB: of two groups of the CTS one wants it made linear and the other doesn't, and other drivers have none.
func bufferFeatures(format vk.Format) vk.FormatFeatureFlags2 {
	var features vk.FormatFeatureFlags2
	access := sampling.AccessOf(format)
	if t, ok := texel.FormatOf(format); ok && access.Sampled && !t.Compressed &&
		t.Planes[0].Aspect == vk.IMAGE_ASPECT_COLOR_BIT {
		features |= vk.FORMAT_FEATURE_2_UNIFORM_TEXEL_BUFFER_BIT
		codec, ok := texel.CodecOf(format, vk.IMAGE_ASPECT_COLOR_BIT)
		if ok && codec.Channels()[0].Kind != vk.NumericSRGB {
			features |= vk.FORMAT_FEATURE_2_VERTEX_BUFFER_BIT
		}
	}
	if access.Storage {
		features |= vk.FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_BIT | withoutFormat
	}
	if access.Atomic {
		features |= vk.FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_ATOMIC_BIT
	}
	return features
}

// low is features in VkFormatFeatureFlags, which has the same low bits.
func low(features vk.FormatFeatureFlags2) vk.FormatFeatureFlags {
	return vk.FormatFeatureFlags(features & (1<<31 - 1))
}

func getPhysicalDeviceFormatProperties(p *physicalDevice, format vk.Format, out *vk.FormatProperties) {
	p.formatProperties(format, out)
}

func getPhysicalDeviceFormatProperties2(device *physicalDevice, format vk.Format, out *vk.FormatProperties2) {
	device.formatProperties(format, &out.FormatProperties)
	features := device.formatFeatures(format)
	t, ok := texel.FormatOf(format)
	if p := vk.Find[vk.FormatProperties3](out.PNext); p != nil {
		p.LinearTilingFeatures, p.OptimalTilingFeatures, p.BufferFeatures = features, features, bufferFeatures(format)
	}
	modifiable := ok && t.Modifiable()
	if p := vk.Find[vk.DrmFormatModifierPropertiesListEXT](out.PNext); p != nil {
		var list []vk.DrmFormatModifierPropertiesEXT
		if modifiable {
			list = []vk.DrmFormatModifierPropertiesEXT{{
				DrmFormatModifier:               drmModifierLinear,
				DrmFormatModifierPlaneCount:     uint32(t.MemoryPlanes()),
				DrmFormatModifierTilingFeatures: low(features),
			}}
		}
		vk.WriteArray(&p.DrmFormatModifierCount, p.PDrmFormatModifierProperties, list)
	}
	if p := vk.Find[vk.DrmFormatModifierPropertiesList2EXT](out.PNext); p != nil {
		var list []vk.DrmFormatModifierProperties2EXT
		if modifiable {
			list = []vk.DrmFormatModifierProperties2EXT{{
				DrmFormatModifier:               drmModifierLinear,
				DrmFormatModifierPlaneCount:     uint32(t.MemoryPlanes()),
				DrmFormatModifierTilingFeatures: features,
			}}
		}
		vk.WriteArray(&p.DrmFormatModifierCount, p.PDrmFormatModifierProperties, list)
	}
}

func (p *physicalDevice) formatProperties(format vk.Format, out *vk.FormatProperties) {
	features := low(p.formatFeatures(format))
	*out = vk.FormatProperties{LinearTilingFeatures: features, OptimalTilingFeatures: features,
		BufferFeatures: low(bufferFeatures(format))}
}
