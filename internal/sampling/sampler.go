package sampling

import (
	"farside/internal/lanes"
	"farside/internal/vk"
)

// MaxLodBias is VkPhysicalDeviceLimits::maxSamplerLodBias.
const MaxLodBias = 16

// MaxAnisotropy is VkPhysicalDeviceLimits::maxSamplerAnisotropy.
const MaxAnisotropy = 16

// Sampler is a VkSampler. It does not change once it is made. A nil *Sampler, which a descriptor without a sampler
// gives, samples as one of whose VkSamplerCreateInfo everything is 0.
type Sampler struct {
	magLinear, minLinear, mipLinear bool
	address                         [3]vk.SamplerAddressMode
	bias, minLod, maxLod            float32
	unnormalized                    bool
	edges                           bool // the faces of cubes end at their edges, as pictures do
	compare                         vk.CompareOp
	reduction                       vk.SamplerReductionMode
	anisotropy                      float64   // at most so many samples along the longer derivative; 1 or less: one
	border                          [4]uint32 // of floats or of integers, as the views that it is used with
}

// SamplerInfo is what NewSampler makes a Sampler of: VkSamplerCreateInfo and its chain. The numbers of a custom border
// colour are 32-bit words, as VkClearColorValue has them.
type SamplerInfo struct {
	MagFilter, MinFilter    vk.Filter
	MipmapMode              vk.SamplerMipmapMode
	AddressMode             [3]vk.SamplerAddressMode
	MipLodBias              float32
	CompareOp               vk.CompareOp
	MinLod, MaxLod          float32
	BorderColor             vk.BorderColor
	CustomBorderColor       [4]uint32
	UnnormalizedCoordinates bool
	NonSeamlessCubeMap      bool // VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT
	ReductionMode           vk.SamplerReductionMode
	MaxAnisotropy           float32 // 0 if it is not enabled
}

// NewSampler makes a sampler.
func NewSampler(info *SamplerInfo) *Sampler {
	s := &Sampler{
		magLinear: info.MagFilter == vk.FILTER_LINEAR,
		minLinear: info.MinFilter == vk.FILTER_LINEAR,
		mipLinear: info.MipmapMode == vk.SAMPLER_MIPMAP_MODE_LINEAR,
		address:   info.AddressMode,
		bias:      info.MipLodBias, minLod: info.MinLod, maxLod: info.MaxLod,
		unnormalized: info.UnnormalizedCoordinates,
		edges:        info.NonSeamlessCubeMap,
		compare:      info.CompareOp,
		reduction:    info.ReductionMode,
		anisotropy:   min(float64(info.MaxAnisotropy), MaxAnisotropy),
	}
	if s.reduction != vk.SAMPLER_REDUCTION_MODE_WEIGHTED_AVERAGE {
		s.anisotropy = 0 // which is no more than a wish
	}
	one := bits(1)
	switch info.BorderColor {
	case vk.BORDER_COLOR_INT_OPAQUE_BLACK:
		s.border[3] = 1
	case vk.BORDER_COLOR_INT_OPAQUE_WHITE:
		s.border = [4]uint32{1, 1, 1, 1}
	case vk.BORDER_COLOR_FLOAT_OPAQUE_BLACK:
		s.border[3] = one
	case vk.BORDER_COLOR_FLOAT_OPAQUE_WHITE:
		s.border = [4]uint32{one, one, one, one}
	case vk.BORDER_COLOR_FLOAT_CUSTOM_EXT, vk.BORDER_COLOR_INT_CUSTOM_EXT:
		s.border = info.CustomBorderColor
	}
	return s
}

// Definition is all that a sampler does, with the conversion that it was made with. Samplers that have the same are
// identically defined, whichever objects they are.
type Definition struct {
	sampler    Sampler
	conversion ConversionInfo
	converts   bool
}

// Definition returns the sampler's, with a conversion or nil.
func (s *Sampler) Definition(conversion *ConversionInfo) Definition {
	if s == nil {
		s = nearest
	}
	d := Definition{sampler: *s}
	if conversion != nil {
		d.conversion, d.converts = *conversion, true
	}
	return d
}

// nearest is what a nil *Sampler stands for.
var nearest = NewSampler(&SamplerInfo{})

// borderOf returns the texel that the border has in a format: a component that the format lacks is not the border's.
func (s *Sampler) borderOf(f *lanes.Format) [4]uint32 {
	t := s.border
	for c := range t {
		if !f.Present[c] {
			t[c] = f.Missing[c]
		}
	}
	return t
}

// compared is the comparison of a reference with a texel: 1 or 0.
func compared(op vk.CompareOp, reference, texel float32) float32 {
	var yes bool
	switch op {
	case vk.COMPARE_OP_LESS:
		yes = reference < texel
	case vk.COMPARE_OP_EQUAL:
		yes = reference == texel
	case vk.COMPARE_OP_LESS_OR_EQUAL:
		yes = reference <= texel
	case vk.COMPARE_OP_GREATER:
		yes = reference > texel
	case vk.COMPARE_OP_NOT_EQUAL:
		yes = reference != texel
	case vk.COMPARE_OP_GREATER_OR_EQUAL:
		yes = reference >= texel
	case vk.COMPARE_OP_ALWAYS:
		yes = true
	}
	if yes {
		return 1
	}
	return 0
}
