package icd

import (
	"farside/internal/texel"
	"farside/internal/vk"
)

// transferFeatures is what every supported format can do.
const transferFeatures = vk.FORMAT_FEATURE_TRANSFER_SRC_BIT | vk.FORMAT_FEATURE_TRANSFER_DST_BIT

// transferFeatures2 is transferFeatures in VkFormatFeatureFlags2, and what only these can say.
const transferFeatures2 = vk.FORMAT_FEATURE_2_TRANSFER_SRC_BIT | vk.FORMAT_FEATURE_2_TRANSFER_DST_BIT |
	vk.FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT

func getPhysicalDeviceFormatProperties(h vk.PhysicalDevice, format vk.Format, out *vk.FormatProperties) {
	if physicalDevices.Get(uintptr(h)) == nil {
		staleHandle("vkGetPhysicalDeviceFormatProperties", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
		return
	}
	formatProperties(format, out)
}

func getPhysicalDeviceFormatProperties2(h vk.PhysicalDevice, format vk.Format, out *vk.FormatProperties2) {
	if physicalDevices.Get(uintptr(h)) == nil {
		staleHandle("vkGetPhysicalDeviceFormatProperties2", vk.OBJECT_TYPE_PHYSICAL_DEVICE, uint64(h))
		return
	}
	formatProperties(format, &out.FormatProperties)
	t, ok := texel.FormatOf(format)
	if p := vk.Find[vk.FormatProperties3](out.PNext); p != nil {
		p.LinearTilingFeatures, p.OptimalTilingFeatures, p.BufferFeatures = 0, 0, 0
		if ok {
			p.LinearTilingFeatures, p.OptimalTilingFeatures = transferFeatures2, transferFeatures2
		}
	}
	modifiable := ok && t.Modifiable()
	if p := vk.Find[vk.DrmFormatModifierPropertiesListEXT](out.PNext); p != nil {
		var list []vk.DrmFormatModifierPropertiesEXT
		if modifiable {
			list = []vk.DrmFormatModifierPropertiesEXT{{
				DrmFormatModifier:               drmModifierLinear,
				DrmFormatModifierPlaneCount:     1,
				DrmFormatModifierTilingFeatures: transferFeatures,
			}}
		}
		vk.WriteArray(&p.DrmFormatModifierCount, p.PDrmFormatModifierProperties, list)
	}
	if p := vk.Find[vk.DrmFormatModifierPropertiesList2EXT](out.PNext); p != nil {
		var list []vk.DrmFormatModifierProperties2EXT
		if modifiable {
			list = []vk.DrmFormatModifierProperties2EXT{{
				DrmFormatModifier:               drmModifierLinear,
				DrmFormatModifierPlaneCount:     1,
				DrmFormatModifierTilingFeatures: transferFeatures2,
			}}
		}
		vk.WriteArray(&p.DrmFormatModifierCount, p.PDrmFormatModifierProperties, list)
	}
}

func formatProperties(format vk.Format, out *vk.FormatProperties) {
	*out = vk.FormatProperties{}
	if _, ok := texel.FormatOf(format); ok {
		out.LinearTilingFeatures, out.OptimalTilingFeatures = transferFeatures, transferFeatures
	}
}
