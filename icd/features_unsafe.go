package icd

import (
	"unsafe"

	"farside/internal/vk"
)

func bool32(b bool) vk.Bool32 {
	if b {
		return vk.TRUE
	}
	return vk.FALSE
}

func (p *physicalDevice) writeCoreFeatures(out *vk.PhysicalDeviceFeatures) {
	for _, f := range vk.CoreFeatures {
		*vk.Bool32At(unsafe.Pointer(out), f.Offset) = bool32(
			p.supportsFeature(vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, f.Name.String()))
	}
}

// writeFeatures fills s if it is a feature structure.
func (p *physicalDevice) writeFeatures(s *vk.BaseInStructure) {
	known := vk.FeatureStructByType(s.SType)
	if known == nil {
		return
	}
	for _, f := range known.Fields() {
		*vk.Bool32At(unsafe.Pointer(s), f.Offset) = bool32(p.supportsFeature(known.SType, f.Name.String()))
	}
}

func (p *physicalDevice) requestCoreFeatures(in *vk.PhysicalDeviceFeatures, into map[string]bool) error {
	for _, f := range vk.CoreFeatures {
		if *vk.Bool32At(unsafe.Pointer(in), f.Offset) == vk.FALSE {
			continue
		}
		err := p.request(vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, "VkPhysicalDeviceFeatures", f.Name.String(), into)
		if err != nil {
			return err
		}
	}
	return nil
}

// requestFeatures adds what s asks for if it is a feature structure.
func (p *physicalDevice) requestFeatures(s *vk.BaseInStructure, into map[string]bool) error {
	known := vk.FeatureStructByType(s.SType)
	if known == nil {
		return nil
	}
	for _, f := range known.Fields() {
		if *vk.Bool32At(unsafe.Pointer(s), f.Offset) == vk.FALSE {
			continue
		}
		if err := p.request(known.SType, known.Name.String(), f.Name.String(), into); err != nil {
			return err
		}
	}
	return nil
}
