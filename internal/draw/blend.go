package draw

import "farside/internal/vk"

// blending is VkPipelineColorBlendAttachmentState for an attachment of a kind of numbers. It computes in float64, which
// is more than any attachment has (chapter "Blending").
type blending struct {
	enabled   bool
	fixed     bool // sources, destinations and factors are clamped
	low, high float64
	src, dst  [2]vk.BlendFactor // of colours, of alpha
	op        [2]vk.BlendOp
	constants [4]float64
}

func newBlending(b *vk.PipelineColorBlendAttachmentState, constants *[4]float32, kind vk.NumericFormat) blending {
	d := blending{enabled: b.BlendEnable != 0, src: [2]vk.BlendFactor{b.SrcColorBlendFactor, b.SrcAlphaBlendFactor},
		dst: [2]vk.BlendFactor{b.DstColorBlendFactor, b.DstAlphaBlendFactor},
		op:  [2]vk.BlendOp{b.ColorBlendOp, b.AlphaBlendOp}}
	switch kind {
	case vk.NumericUNORM, vk.NumericSRGB:
		d.fixed, d.low, d.high = true, 0, 1
	case vk.NumericSNORM:
		d.fixed, d.low, d.high = true, -1, 1
	}
	for i, c := range constants {
		d.constants[i] = d.clamp(float64(c))
	}
	return d
}

// clamp keeps to what a fixed-point attachment has. NaN becomes 0, as it does in its texels.
func (d *blending) clamp(v float64) float64 {
	switch {
	case !d.fixed:
		return v
	case v != v:
		return 0
	case v < d.low:
		return d.low
	case v > d.high:
		return d.high
	}
	return v
}

// apply blends a colour with the one that is there; dual is the second source.
func (d *blending) apply(to, source, dual, there *[4]float64) {
	s, s1 := *source, *dual
	if d.fixed {
		for i := range s {
			s[i], s1[i] = d.clamp(s[i]), d.clamp(s1[i])
		}
	}
	for i := range s {
		kind := 0
		if i == 3 {
			kind = 1
		}
		a, b := s[i], there[i]
		switch d.op[kind] {
		case vk.BLEND_OP_MIN:
			to[i] = least(a, b)
			continue
		case vk.BLEND_OP_MAX:
			to[i] = -least(-a, -b)
			continue
		}
		a *= d.clamp(d.factor(d.src[kind], i, &s, &s1, there))
		b *= d.clamp(d.factor(d.dst[kind], i, &s, &s1, there))
		switch d.op[kind] {
		case vk.BLEND_OP_SUBTRACT:
			to[i] = a - b
		case vk.BLEND_OP_REVERSE_SUBTRACT:
			to[i] = b - a
		default:
			to[i] = a + b
		}
	}
}

// least is the lesser one; where one is no number, the other.
func least(a, b float64) float64 {
	if a < b || b != b {
		return a
	}
	return b
}

// factor is VkBlendFactor for a component.
func (d *blending) factor(f vk.BlendFactor, i int, s, s1, there *[4]float64) float64 {
	switch f {
	case vk.BLEND_FACTOR_ONE:
		return 1
	case vk.BLEND_FACTOR_SRC_COLOR:
		return s[i]
	case vk.BLEND_FACTOR_ONE_MINUS_SRC_COLOR:
		return 1 - s[i]
	case vk.BLEND_FACTOR_DST_COLOR:
		return there[i]
	case vk.BLEND_FACTOR_ONE_MINUS_DST_COLOR:
		return 1 - there[i]
	case vk.BLEND_FACTOR_SRC_ALPHA:
		return s[3]
	case vk.BLEND_FACTOR_ONE_MINUS_SRC_ALPHA:
		return 1 - s[3]
	case vk.BLEND_FACTOR_DST_ALPHA:
		return there[3]
	case vk.BLEND_FACTOR_ONE_MINUS_DST_ALPHA:
		return 1 - there[3]
	case vk.BLEND_FACTOR_CONSTANT_COLOR:
		return d.constants[i]
	case vk.BLEND_FACTOR_ONE_MINUS_CONSTANT_COLOR:
		return 1 - d.constants[i]
	case vk.BLEND_FACTOR_CONSTANT_ALPHA:
		return d.constants[3]
	case vk.BLEND_FACTOR_ONE_MINUS_CONSTANT_ALPHA:
		return 1 - d.constants[3]
	case vk.BLEND_FACTOR_SRC_ALPHA_SATURATE:
		if i == 3 {
			return 1
		}
		return least(s[3], 1-there[3])
	case vk.BLEND_FACTOR_SRC1_COLOR:
		return s1[i]
	case vk.BLEND_FACTOR_ONE_MINUS_SRC1_COLOR:
		return 1 - s1[i]
	case vk.BLEND_FACTOR_SRC1_ALPHA:
		return s1[3]
	case vk.BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA:
		return 1 - s1[3]
	}
	return 0
}
