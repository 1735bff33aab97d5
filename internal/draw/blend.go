package draw

import (
	"math"

	"farside/internal/texel"
	"farside/internal/vk"
)

// blending is VkPipelineColorBlendAttachmentState for an attachment of a kind of numbers. It computes in float32, or in
// float64 where the attachment has such numbers (chapter "Blending"). What is left of a negative source is more than 1,
// although the chapter has factors of signed formats end there: the CTS and NVIDIA's driver have it so.
type blending struct {
	enabled   bool
	single    bool // it computes in float32
	fixed     bool // sources, destinations and constants are clamped
	low, high float64
	src, dst  [4]factor // of each channel
	op        [4]vk.BlendOp
	saturates bool // some factor is SRC_ALPHA_SATURATE
	dual      bool // some is of the second source
	constants [4]float64
}

// factor is a VkBlendFactor: row[at], or what is left of 1 without it. Rows are colours, zeros and ones.
type factor struct {
	row, at uint8
	rest    bool
}

// The rows of factors.
const (
	rowZeros = iota
	rowOnes
	rowSource
	rowDual
	rowThere
	rowConstants
	rowSaturate
	rowsCount
)

func newBlending(b *Blend, constants *[4]float32, codec *texel.Codec) blending {
	kind := codec.Channels()[0].Kind
	d := blending{enabled: b.BlendEnable != 0, single: !codec.Wide()}
	switch kind {
	case vk.NumericUNORM, vk.NumericSRGB:
		d.fixed, d.low, d.high = true, 0, 1
	case vk.NumericSNORM:
		d.fixed, d.low, d.high = true, -1, 1
	}
	for i := range 4 {
		src, dst := b.SrcColorBlendFactor, b.DstColorBlendFactor
		d.op[i] = b.ColorBlendOp
		if i == 3 {
			src, dst, d.op[i] = b.SrcAlphaBlendFactor, b.DstAlphaBlendFactor, b.AlphaBlendOp
		}
		d.src[i], d.dst[i] = factorOf(src, i), factorOf(dst, i)
		d.constants[i] = d.clamp(float64(constants[i]))
		for _, f := range [2]factor{d.src[i], d.dst[i]} {
			d.saturates = d.saturates || f.row == rowSaturate
			d.dual = d.dual || f.row == rowDual
		}
	}
	return d
}

// factorOf is VkBlendFactor for a channel.
func factorOf(f vk.BlendFactor, channel int) factor {
	if f == vk.BLEND_FACTOR_ZERO {
		return factor{row: rowZeros}
	}
	own := func(row uint8) factor { return factor{row: row, at: uint8(channel)} }
	alpha := func(row uint8) factor { return factor{row: row, at: 3} }
	rest := func(f factor) factor { f.rest = true; return f }
	switch f {
	case vk.BLEND_FACTOR_SRC_COLOR:
		return own(rowSource)
	case vk.BLEND_FACTOR_ONE_MINUS_SRC_COLOR:
		return rest(own(rowSource))
	case vk.BLEND_FACTOR_DST_COLOR:
		return own(rowThere)
	case vk.BLEND_FACTOR_ONE_MINUS_DST_COLOR:
		return rest(own(rowThere))
	case vk.BLEND_FACTOR_SRC_ALPHA:
		return alpha(rowSource)
	case vk.BLEND_FACTOR_ONE_MINUS_SRC_ALPHA:
		return rest(alpha(rowSource))
	case vk.BLEND_FACTOR_DST_ALPHA:
		return alpha(rowThere)
	case vk.BLEND_FACTOR_ONE_MINUS_DST_ALPHA:
		return rest(alpha(rowThere))
	case vk.BLEND_FACTOR_CONSTANT_COLOR:
		return own(rowConstants)
	case vk.BLEND_FACTOR_ONE_MINUS_CONSTANT_COLOR:
		return rest(own(rowConstants))
	case vk.BLEND_FACTOR_CONSTANT_ALPHA:
		return alpha(rowConstants)
	case vk.BLEND_FACTOR_ONE_MINUS_CONSTANT_ALPHA:
		return rest(alpha(rowConstants))
	case vk.BLEND_FACTOR_SRC_ALPHA_SATURATE:
		return own(rowSaturate)
	case vk.BLEND_FACTOR_SRC1_COLOR:
		return own(rowDual)
	case vk.BLEND_FACTOR_ONE_MINUS_SRC1_COLOR:
		return rest(own(rowDual))
	case vk.BLEND_FACTOR_SRC1_ALPHA:
		return alpha(rowDual)
	case vk.BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA:
		return rest(alpha(rowDual))
	}
	return factor{row: rowOnes}
}

// of is the factor's number.
func (f factor) of(rows *[rowsCount]*[4]float64) float64 {
	v := rows[f.row][f.at&3]
	if f.rest {
		return 1 - v
	}
	return v
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

// clampAll is clamp for many colours.
func (d *blending) clampAll(colors [][4]float64) {
	if !d.fixed {
		return
	}
	for i := range colors {
		c := &colors[i]
		c[0], c[1], c[2], c[3] = d.clamp(c[0]), d.clamp(c[1]), d.clamp(c[2]), d.clamp(c[3])
	}
}

var zeros, ones = [4]float64{}, [4]float64{1, 1, 1, 1}

// apply blends a colour with the one that is there; dual is the second source. Both sources have been clamped.
func (d *blending) apply(to, source, dual, there *[4]float64) {
	var saturate [4]float64
	rows := [rowsCount]*[4]float64{&zeros, &ones, source, dual, there, &d.constants, &saturate}
	if d.saturates {
		least := lesser(source[3], d.round(1-there[3]))
		saturate = [4]float64{least, least, least, 1}
	}
	for i := range 4 {
		fs, fd := d.round(d.src[i].of(&rows)), d.round(d.dst[i].of(&rows))
		a, b := source[i], there[i]
		from, kept := d.round(float64(a*fs)), d.round(float64(b*fd))
		switch d.op[i] {
		case vk.BLEND_OP_ADD:
			to[i] = d.round(from + kept)
		case vk.BLEND_OP_SUBTRACT:
			to[i] = d.round(from - kept)
		case vk.BLEND_OP_REVERSE_SUBTRACT:
			to[i] = d.round(kept - from)
		case vk.BLEND_OP_MIN:
			to[i] = lesser(a, b)
		default:
			to[i] = -lesser(-a, -b)
		}
		if to[i] != to[i] {
			to[i] = math.NaN() // the sign of the sum of two depends on which the processor takes first
		}
	}
}

// round rounds a result to the numbers that are computed in. Of sums and products of two floats of 32 bits it makes
// what they are in 32 bits.
func (d *blending) round(v float64) float64 {
	if d.single {
		return float64(float32(v))
	}
	return v
}

// lesser is the lesser one; where one is no number, the other.
func lesser(a, b float64) float64 {
	if a < b || b != b {
		return a
	}
	return b
}
