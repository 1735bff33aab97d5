package icd

import (
	"farside/internal/descriptor"
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/vk"
)

// ycbcrConversion is a VkSamplerYcbcrConversion. Samplers and views that are made with it keep it.
type ycbcrConversion struct {
	child
	info sampling.ConversionInfo // conversions are identically defined where this is equal
	made *sampling.Conversion
}

// The format features of the conversion: all that is implemented. Chroma may lie anywhere, has its own filter, and is
// reconstructed implicitly where the application does not force the other way.
const conversionFeatures = vk.FORMAT_FEATURE_2_MIDPOINT_CHROMA_SAMPLES_BIT |
	vk.FORMAT_FEATURE_2_COSITED_CHROMA_SAMPLES_BIT |
	vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_YCBCR_CONVERSION_LINEAR_FILTER_BIT |
	vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_YCBCR_CONVERSION_SEPARATE_RECONSTRUCTION_FILTER_BIT |
	vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_YCBCR_CONVERSION_CHROMA_RECONSTRUCTION_EXPLICIT_FORCEABLE_BIT

// chromaFeatures returns what images of a format can do that needs a conversion.
func chromaFeatures(t *texel.Format) vk.FormatFeatureFlags2 {
	features := transferFeatures | vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT |
		vk.FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_LINEAR_BIT | conversionFeatures
	if t.MultiPlanar() {
		features |= vk.FORMAT_FEATURE_2_DISJOINT_BIT
	}
	return features
}

func createSamplerYcbcrConversion(
	d *device, info *vk.SamplerYcbcrConversionCreateInfo, _ *vk.AllocationCallbacks, out *vk.SamplerYcbcrConversion,
) vk.Result {
	*out = 0
	c, err := d.newConversion(info)
	if err != nil {
		return d.fail("vkCreateSamplerYcbcrConversion", err)
	}
	*out = vk.SamplerYcbcrConversion(d.add(c))
	return vk.SUCCESS
}

func (d *device) newConversion(info *vk.SamplerYcbcrConversionCreateInfo) (*ycbcrConversion, error) {
	c := &ycbcrConversion{child: child{device: d}, info: sampling.ConversionInfo{
		Format: info.Format, Model: info.YcbcrModel, Range: info.YcbcrRange, Components: info.Components,
		XOffset: info.XChromaOffset, YOffset: info.YChromaOffset, ChromaFilter: info.ChromaFilter,
		Explicit: info.ForceExplicitReconstruction != vk.FALSE,
	}}
	if !d.features["samplerYcbcrConversion"] {
		return nil, invalid(vk.VUID_vkCreateSamplerYcbcrConversion_None_01648,
			"the samplerYcbcrConversion feature is not enabled")
	}
	if err := checkConversion(&c.info); err != nil {
		return nil, err
	}
	var err error
	c.made, err = sampling.NewConversion(&c.info)
	return c, err
}

// checkConversion holds VkSamplerYcbcrConversionCreateInfo to its rules.
func checkConversion(c *sampling.ConversionInfo) error {
	t, ok := texel.FormatOf(c.Format)
	switch {
	case c.Format == vk.FORMAT_UNDEFINED:
		return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_format_04061, "no format")
	case !ok || !t.Chroma:
		return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_format_01650, "%v has no samples of chroma", c.Format)
	case c.Model < vk.SAMPLER_YCBCR_MODEL_CONVERSION_RGB_IDENTITY ||
		c.Model > vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_2020:
		return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_ycbcrModel_parameter, "model %v", c.Model)
	case c.Range != vk.SAMPLER_YCBCR_RANGE_ITU_FULL && c.Range != vk.SAMPLER_YCBCR_RANGE_ITU_NARROW:
		return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_ycbcrRange_parameter, "range %v", c.Range)
	case c.XOffset != vk.CHROMA_LOCATION_COSITED_EVEN && c.XOffset != vk.CHROMA_LOCATION_MIDPOINT:
		return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_xChromaOffset_parameter, "location %v", c.XOffset)
	case c.YOffset != vk.CHROMA_LOCATION_COSITED_EVEN && c.YOffset != vk.CHROMA_LOCATION_MIDPOINT:
		return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_yChromaOffset_parameter, "location %v", c.YOffset)
	case c.ChromaFilter != vk.FILTER_NEAREST && c.ChromaFilter != vk.FILTER_LINEAR:
		return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_chromaFilter_parameter, "filter %v", c.ChromaFilter)
	}
	return checkConversionSwizzle(c, &t)
}

// checkConversionSwizzle checks the component mapping of a conversion.
func checkConversionSwizzle(c *sampling.ConversionInfo, t *texel.Format) error {
	mapped := [4]vk.ComponentSwizzle{c.Components.R, c.Components.G, c.Components.B, c.Components.A}
	for i, s := range mapped {
		own := vk.COMPONENT_SWIZZLE_R + vk.ComponentSwizzle(i)
		switch {
		case s < vk.COMPONENT_SWIZZLE_IDENTITY || s > vk.COMPONENT_SWIZZLE_A:
			return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_components_parameter, "component swizzle %v", s)
		case s == vk.COMPONENT_SWIZZLE_IDENTITY:
			mapped[i] = own
		}
	}
	r, g, b, a := mapped[0], mapped[1], mapped[2], mapped[3]
	if t.Subsampled() {
		switch {
		case g != vk.COMPONENT_SWIZZLE_G:
			return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_components_02581, "components.g is %v", g)
		case a != vk.COMPONENT_SWIZZLE_A && a != vk.COMPONENT_SWIZZLE_ZERO && a != vk.COMPONENT_SWIZZLE_ONE:
			return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_components_02582, "components.a is %v", a)
		case r != vk.COMPONENT_SWIZZLE_R && r != vk.COMPONENT_SWIZZLE_B:
			return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_components_02583, "components.r is %v", r)
		case b != vk.COMPONENT_SWIZZLE_B && b != vk.COMPONENT_SWIZZLE_R:
			return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_components_02584, "components.b is %v", b)
		case r == b:
			return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_components_02585, "components.r and components.b are %v",
				r)
		}
	}
	if c.Model == vk.SAMPLER_YCBCR_MODEL_CONVERSION_RGB_IDENTITY {
		return nil
	}
	for i, s := range mapped[:3] {
		if s == vk.COMPONENT_SWIZZLE_ZERO || s == vk.COMPONENT_SWIZZLE_ONE ||
			s == vk.COMPONENT_SWIZZLE_A && !hasAlpha(c.Format) {
			return invalid(vk.VUID_VkSamplerYcbcrConversionCreateInfo_ycbcrModel_01655,
				"components.%c is %v, which is no component of %v", "rgb"[i], s, c.Format)
		}
	}
	return nil
}

func hasAlpha(f vk.Format) bool {
	info, _ := vk.FormatInfo(f)
	for _, c := range info.Components() {
		if c.Name == 'A' {
			return true
		}
	}
	return false
}

// conversionOf returns the conversion that a structure in the chain of a sampler or of a view names, nil without one.
func conversionOf(info *vk.SamplerYcbcrConversionInfo) *ycbcrConversion {
	if info == nil {
		return nil
	}
	return live(ycbcrConversions, info.Conversion)
}

// checkConverting holds a sampler with a conversion to the rules that it has besides.
func checkConverting(info *vk.SamplerCreateInfo, from *sampling.SamplerInfo) error {
	for _, mode := range from.AddressMode {
		if mode != vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE {
			return invalid(vk.VUID_VkSamplerCreateInfo_addressModeU_01646, "address mode %v with a conversion", mode)
		}
	}
	switch {
	case info.AnisotropyEnable != vk.FALSE || from.UnnormalizedCoordinates:
		return invalid(vk.VUID_VkSamplerCreateInfo_addressModeU_01646,
			"anisotropyEnable or unnormalizedCoordinates with a conversion")
	case from.ReductionMode != vk.SAMPLER_REDUCTION_MODE_WEIGHTED_AVERAGE:
		return invalid(vk.VUID_VkSamplerCreateInfo_None_01647, "reductionMode %v with a conversion", from.ReductionMode)
	}
	return nil
}

// checkConversion takes over the conversion of a view, and checks that it is there where the view needs one.
func (v *imageView) checkConversion(info *vk.ImageViewCreateInfo) error {
	own, _ := texel.FormatOf(v.format)
	v.conversion = conversionOf(vk.Find[vk.SamplerYcbcrConversionInfo](info.PNext))
	if v.conversion == nil {
		if own.Chroma && v.usage&vk.IMAGE_USAGE_SAMPLED_BIT != 0 {
			return invalid(vk.VUID_VkImageViewCreateInfo_format_06415, "a view with format %v needs a conversion", v.format)
		}
		return nil
	}
	if f := v.conversion.info.Format; f != v.format {
		return invalid(vk.VUID_VkImageViewCreateInfo_pNext_06658, "format %v with a conversion for %v", v.format, f)
	}
	c := &info.Components
	for i, s := range [4]vk.ComponentSwizzle{c.R, c.G, c.B, c.A} {
		if s != vk.COMPONENT_SWIZZLE_IDENTITY && s != vk.COMPONENT_SWIZZLE_R+vk.ComponentSwizzle(i) {
			return invalid(vk.VUID_VkImageViewCreateInfo_pNext_01970, "components %v of a view with a conversion", *c)
		}
	}
	return nil
}

// checkConverted holds descriptor i of a write to the rules on conversions: that of the view belongs to a combined
// image sampler whose immutable sampler has the same.
func checkConverted(l *descriptor.Layout, w *descriptor.Write, i uint32, info descriptor.Descriptor) error {
	combined := w.Type == vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
	if info.ImageView == 0 || !combined && w.Type != vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE {
		return nil
	}
	v := imageViews.Get(uint64(info.ImageView))
	if v == nil {
		return nil // destroyed in another thread
	}
	var wants *ycbcrConversion
	handle, immutable := l.Immutable(w.Binding, w.Element+i)
	if s := samplers.Get(uint64(handle)); s != nil {
		wants = s.conversion
	} else if immutable {
		return nil // destroyed: nobody knows what it was
	}
	switch has := v.conversion; {
	case has != nil && !combined:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_01946,
			"image view %#x, which has a conversion, as a sampled image", v.handle)
	case has != nil && !immutable:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_02738,
			"image view %#x has a conversion, the binding no immutable samplers", v.handle)
	case combined && immutable && !wants.identical(has):
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_01948,
			"image view %#x has not the conversion of the immutable sampler %#x", v.handle, uint64(handle))
	}
	return nil
}

// identical says whether two conversions are identically defined, or there are none.
func (c *ycbcrConversion) identical(other *ycbcrConversion) bool {
	if c == nil || other == nil {
		return c == other
	}
	return c.info == other.info
}
