package icd

import (
	"farside/internal/sampling"
	"farside/internal/vk"
)

// sampler is a VkSampler.
type sampler struct {
	child
	*sampling.Sampler
	custom     bool // it has a custom border colour
	conversion *ycbcrConversion
}

func (s *sampler) definition() sampling.Definition {
	if s.conversion == nil {
		return s.Definition(nil)
	}
	return s.Definition(&s.conversion.info)
}

func createSampler(d *device, info *vk.SamplerCreateInfo, _ *vk.AllocationCallbacks, out *vk.Sampler) vk.Result {
	s, err := d.newSampler(info)
	if err != nil {
		return d.fail("vkCreateSampler", err)
	}
	if most := d.physical.limits.MaxSamplerAllocationCount; d.samplers.Add(1) > int64(most) {
		d.samplers.Add(-1)
		return d.fail("vkCreateSampler", vk.Errorf(vk.ERROR_TOO_MANY_OBJECTS,
			vk.VUID_vkCreateSampler_maxSamplerAllocationCount_04110,
			"all %d samplers of maxSamplerAllocationCount are in use", most))
	}
	if most := d.physical.limits.border.MaxCustomBorderColorSamplers; s.custom && d.customBorders.Add(1) > int64(most) {
		s.release()
		return d.fail("vkCreateSampler", vk.Errorf(vk.ERROR_TOO_MANY_OBJECTS, vk.VUID_VkSamplerCreateInfo_None_04012,
			"all %d samplers of maxCustomBorderColorSamplers are in use", most))
	}
	*out = vk.Sampler(d.add(s))
	return vk.SUCCESS
}

func (d *device) newSampler(info *vk.SamplerCreateInfo) (*sampler, error) {
	from := sampling.SamplerInfo{
		MagFilter: info.MagFilter, MinFilter: info.MinFilter, MipmapMode: info.MipmapMode,
		AddressMode: [3]vk.SamplerAddressMode{info.AddressModeU, info.AddressModeV, info.AddressModeW},
		MipLodBias:  info.MipLodBias, MinLod: info.MinLod, MaxLod: info.MaxLod,
		BorderColor:             info.BorderColor,
		UnnormalizedCoordinates: info.UnnormalizedCoordinates != vk.FALSE,
		NonSeamlessCubeMap:      info.Flags&vk.SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT != 0,
	}
	if r := vk.Find[vk.SamplerReductionModeCreateInfo](info.PNext); r != nil {
		from.ReductionMode = r.ReductionMode
	}
	if info.AnisotropyEnable != vk.FALSE {
		from.MaxAnisotropy = info.MaxAnisotropy
	}
	if info.CompareEnable != vk.FALSE {
		from.CompareOp = info.CompareOp
	}
	if err := d.checkSampler(info, &from); err != nil {
		return nil, err
	}
	conversion := conversionOf(vk.Find[vk.SamplerYcbcrConversionInfo](info.PNext))
	if conversion != nil {
		if err := checkConverting(info, &from); err != nil {
			return nil, err
		}
	}
	custom := from.BorderColor == vk.BORDER_COLOR_FLOAT_CUSTOM_EXT || from.BorderColor == vk.BORDER_COLOR_INT_CUSTOM_EXT
	return &sampler{child: child{device: d}, Sampler: sampling.NewSampler(&from), custom: custom,
		conversion: conversion}, nil
}

// checkSampler holds VkSamplerCreateInfo to the rules on which the meaning of its members depends, and fills in a
// custom border colour.
func (d *device) checkSampler(info *vk.SamplerCreateInfo, from *sampling.SamplerInfo) error {
	l := d.physical.limits
	for _, f := range [2]vk.Filter{info.MagFilter, info.MinFilter} {
		if f != vk.FILTER_NEAREST && f != vk.FILTER_LINEAR {
			return invalid(vk.VUID_VkSamplerCreateInfo_magFilter_parameter, "filter %v", f)
		}
	}
	for _, mode := range from.AddressMode {
		switch {
		case mode < vk.SAMPLER_ADDRESS_MODE_REPEAT || mode > vk.SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE:
			return invalid(vk.VUID_VkSamplerCreateInfo_addressModeU_parameter, "address mode %v", mode)
		case mode == vk.SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE &&
			!d.extensions[vk.KHR_SAMPLER_MIRROR_CLAMP_TO_EDGE_EXTENSION_NAME] &&
			!d.allows("samplerMirrorClampToEdge", vk.VUID_VkSamplerCreateInfo_addressModeU_01079):
			return invalid(vk.VUID_VkSamplerCreateInfo_addressModeU_01079,
				"address mode %v needs the samplerMirrorClampToEdge feature", mode)
		}
	}
	switch {
	case !(info.MipLodBias >= -l.MaxSamplerLodBias && info.MipLodBias <= l.MaxSamplerLodBias):
		return invalid(vk.VUID_VkSamplerCreateInfo_mipLodBias_01069, "mipLodBias %v is beyond %v", info.MipLodBias,
			l.MaxSamplerLodBias)
	case !(info.MaxLod >= info.MinLod):
		return invalid(vk.VUID_VkSamplerCreateInfo_maxLod_01973, "maxLod %v is below minLod %v", info.MaxLod, info.MinLod)
	case from.NonSeamlessCubeMap &&
		!d.allows("nonSeamlessCubeMap", vk.VUID_VkSamplerCreateInfo_nonSeamlessCubeMap_06788):
		return invalid(vk.VUID_VkSamplerCreateInfo_nonSeamlessCubeMap_06788,
			"flags %v need the nonSeamlessCubeMap feature", info.Flags)
	case info.AnisotropyEnable != vk.FALSE &&
		!d.allows("samplerAnisotropy", vk.VUID_VkSamplerCreateInfo_anisotropyEnable_01070):
		return invalid(vk.VUID_VkSamplerCreateInfo_anisotropyEnable_01070,
			"anisotropyEnable needs the samplerAnisotropy feature")
	case info.AnisotropyEnable != vk.FALSE && !(info.MaxAnisotropy >= 1 && info.MaxAnisotropy <= l.MaxSamplerAnisotropy):
		return invalid(vk.VUID_VkSamplerCreateInfo_anisotropyEnable_01071, "maxAnisotropy %v is not between 1 and %v",
			info.MaxAnisotropy, l.MaxSamplerAnisotropy)
	case info.CompareEnable != vk.FALSE && (info.CompareOp < vk.COMPARE_OP_NEVER || info.CompareOp > vk.COMPARE_OP_ALWAYS):
		return invalid(vk.VUID_VkSamplerCreateInfo_compareEnable_01080, "compareOp %v", info.CompareOp)
	case from.ReductionMode < vk.SAMPLER_REDUCTION_MODE_WEIGHTED_AVERAGE ||
		from.ReductionMode > vk.SAMPLER_REDUCTION_MODE_MAX:
		return invalid(vk.VUID_VkSamplerReductionModeCreateInfo_reductionMode_parameter, "reductionMode %v",
			from.ReductionMode)
	case from.ReductionMode != vk.SAMPLER_REDUCTION_MODE_WEIGHTED_AVERAGE && info.CompareEnable != vk.FALSE:
		return invalid(vk.VUID_VkSamplerCreateInfo_compareEnable_01423, "reductionMode %v of a sampler that compares",
			from.ReductionMode)
	}
	if from.UnnormalizedCoordinates {
		if err := checkUnnormalized(info); err != nil {
			return err
		}
	}
	return d.checkBorder(info, from)
}

func checkUnnormalized(info *vk.SamplerCreateInfo) error {
	clamps := func(mode vk.SamplerAddressMode) bool {
		return mode == vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE || mode == vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER
	}
	switch {
	case info.MinFilter != info.MagFilter:
		return invalid(vk.VUID_VkSamplerCreateInfo_unnormalizedCoordinates_01072,
			"filters %v and %v with unnormalized coordinates", info.MinFilter, info.MagFilter)
	case info.MipmapMode != vk.SAMPLER_MIPMAP_MODE_NEAREST:
		return invalid(vk.VUID_VkSamplerCreateInfo_unnormalizedCoordinates_01073,
			"mipmapMode %v with unnormalized coordinates", info.MipmapMode)
	case info.MinLod != 0 || info.MaxLod != 0:
		return invalid(vk.VUID_VkSamplerCreateInfo_unnormalizedCoordinates_01074,
			"levels of detail %v to %v with unnormalized coordinates", info.MinLod, info.MaxLod)
	case !clamps(info.AddressModeU) || !clamps(info.AddressModeV):
		return invalid(vk.VUID_VkSamplerCreateInfo_unnormalizedCoordinates_01075,
			"address modes %v and %v with unnormalized coordinates", info.AddressModeU, info.AddressModeV)
	case info.AnisotropyEnable != vk.FALSE:
		return invalid(vk.VUID_VkSamplerCreateInfo_unnormalizedCoordinates_01076,
			"anisotropyEnable with unnormalized coordinates")
	case info.CompareEnable != vk.FALSE:
		return invalid(vk.VUID_VkSamplerCreateInfo_unnormalizedCoordinates_01077,
			"compareEnable with unnormalized coordinates")
	}
	return nil
}

// checkBorder checks a border colour that counts.
func (d *device) checkBorder(info *vk.SamplerCreateInfo, from *sampling.SamplerInfo) error {
	counts := false
	for _, mode := range from.AddressMode {
		counts = counts || mode == vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER
	}
	switch {
	case !counts:
		from.BorderColor = 0
		return nil
	case info.BorderColor >= vk.BORDER_COLOR_FLOAT_TRANSPARENT_BLACK &&
		info.BorderColor <= vk.BORDER_COLOR_INT_OPAQUE_WHITE:
		return nil
	case info.BorderColor != vk.BORDER_COLOR_FLOAT_CUSTOM_EXT && info.BorderColor != vk.BORDER_COLOR_INT_CUSTOM_EXT:
		return invalid(vk.VUID_VkSamplerCreateInfo_addressModeU_01078, "borderColor %v", info.BorderColor)
	case !d.allows("customBorderColors", vk.VUID_VkSamplerCreateInfo_customBorderColors_04085):
		return invalid(vk.VUID_VkSamplerCreateInfo_customBorderColors_04085,
			"borderColor %v needs the customBorderColors feature", info.BorderColor)
	}
	c := vk.Find[vk.SamplerCustomBorderColorCreateInfoEXT](info.PNext)
	if c == nil {
		return invalid(vk.VUID_VkSamplerCreateInfo_borderColor_04011,
			"borderColor %v without VkSamplerCustomBorderColorCreateInfoEXT", info.BorderColor)
	}
	if c.Format == vk.FORMAT_UNDEFINED && !d.allows("customBorderColorWithoutFormat",
		vk.VUID_VkSamplerCustomBorderColorCreateInfoEXT_format_04014) {
		return invalid(vk.VUID_VkSamplerCustomBorderColorCreateInfoEXT_format_04014,
			"a custom border colour without a format")
	}
	from.CustomBorderColor = *c.CustomBorderColor.Uint32()
	return nil
}

// release makes room for another sampler (maxSamplerAllocationCount, maxCustomBorderColorSamplers).
func (s *sampler) release() {
	s.device.samplers.Add(-1)
	if s.custom {
		s.device.customBorders.Add(-1)
	}
}
