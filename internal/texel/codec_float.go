package texel

import (
	"encoding/binary"
	"math"

	"farside/internal/vk"
)

// toFloat turns the bits of a channel into numbers.
func (ch *channel) toFloat(dst [][4]float64, raw [][4]uint64) {
	slot := ch.slot & 3
	dst = dst[:len(raw)]
	switch ch.kind {
	case vk.NumericSRGB:
		for i := range raw {
			dst[i][slot] = srgbToLinear[raw[i][slot]&0xff]
		}
	case vk.NumericSFLOAT:
		switch ch.bits {
		case 16:
			for i := range raw {
				dst[i][slot] = half.decode(raw[i][slot])
			}
		case 32:
			for i := range raw {
				dst[i][slot] = float64(math.Float32frombits(uint32(raw[i][slot])))
			}
		case 64:
			for i := range raw {
				dst[i][slot] = math.Float64frombits(raw[i][slot])
			}
		}
	case vk.NumericUFLOAT:
		small := unsignedFloat(ch.bits)
		for i := range raw {
			dst[i][slot] = small.decode(raw[i][slot])
		}
	default:
		var unused uint
		if ch.signed() {
			unused = (64 - ch.bits) & 63
		}
		// The lowest number of SNORM lies below -1 and means -1.
		scale, low := ch.scale, ch.low
		for i := range raw {
			v := float64(int64(raw[i][slot]<<unused)>>unused) / scale
			if v < low {
				v = low
			}
			dst[i][slot] = v
		}
	}
}

// fromFloat turns numbers into the bits of a channel.
func (ch *channel) fromFloat(raw [][4]uint64, src [][4]float64) {
	slot := ch.slot & 3
	src = src[:len(raw)]
	switch ch.kind {
	case vk.NumericSRGB:
		for i := range src {
			raw[i][slot] = uint64(linearToSRGB(src[i][slot]))
		}
	case vk.NumericSFLOAT:
		switch ch.bits {
		case 16:
			for i := range src {
				raw[i][slot] = half.encode(src[i][slot])
			}
		case 32:
			for i := range src {
				raw[i][slot] = uint64(math.Float32bits(float32(src[i][slot])))
			}
		case 64:
			for i := range src {
				raw[i][slot] = math.Float64bits(src[i][slot])
			}
		}
	case vk.NumericUFLOAT:
		small := unsignedFloat(ch.bits)
		for i := range src {
			raw[i][slot] = small.encode(src[i][slot])
		}
	default:
		scale, low, high, mask := ch.scale, ch.low, ch.high, ch.mask()
		// Conversion to an integer cuts towards zero; above zero that is rounding down, and no number lies below
		// the lowest of 16 bits.
		const above = 1 << 16
		for i := range src {
			v := src[i][slot]
			switch {
			case v >= high:
				v = high
			case v <= low:
				v = low
			case v != v:
				v = 0
			}
			raw[i][slot] = uint64(int64(v*scale+(above+0.5))-above) & mask
		}
	}
}

// smallFloat is a floating-point format with 5 bits of exponent, as the 16-, 11- and 10-bit ones have.
type smallFloat struct {
	mantissa uint // bits
	signed   bool
}

var half = smallFloat{mantissa: 10, signed: true}

// unsignedFloat is the format of UFLOAT channels.
func unsignedFloat(bits uint) smallFloat { return smallFloat{mantissa: bits - 5} }

const (
	smallBias   = 15
	doubleBias  = 1023
	doubleBits  = 52 // of the mantissa
	maxExponent = 31 // infinity and NaN
)

func (f smallFloat) decode(raw uint64) float64 {
	shift := (doubleBits - f.mantissa) & 63
	fraction := raw & (1<<f.mantissa - 1)
	exponent := raw >> f.mantissa & maxExponent
	var v float64
	switch exponent {
	case 0:
		v = float64(int64(fraction)) * math.Float64frombits(uint64(doubleBias+1-smallBias-int(f.mantissa))<<doubleBits)
	case maxExponent:
		v = math.Float64frombits(0x7ff<<doubleBits | fraction<<shift)
	default:
		v = math.Float64frombits((exponent+doubleBias-smallBias)<<doubleBits | fraction<<shift)
	}
	if f.signed && raw>>15 != 0 {
		v = -v
	}
	return v
}

// encode rounds to the nearest number of the format, ties to even. Numbers too large for a signed format become
// infinite, as IEEE 754 has it; for an unsigned one its largest number, and negative ones 0.
func (f smallFloat) encode(v float64) uint64 {
	infinity := uint64(maxExponent) << f.mantissa
	bits := math.Float64bits(v)
	var sign uint64
	if f.signed {
		sign = bits >> 63 << 15
		bits &^= 1 << 63
	}
	switch {
	case v != v:
		return sign | infinity | 1<<(f.mantissa-1)
	case bits>>63 != 0:
		return 0
	case bits == 0x7ff<<doubleBits:
		return sign | infinity
	}
	shift := doubleBits - f.mantissa
	exponent := int(bits>>doubleBits) - (doubleBias - smallBias)
	value := bits - (doubleBias-smallBias)<<doubleBits
	if exponent <= 0 { // below the normal numbers the mantissa loses bits
		value = bits&(1<<doubleBits-1) | 1<<doubleBits
		shift += uint(1 - exponent)
		if shift > doubleBits+1 {
			return sign
		}
	}
	raw := value >> shift
	rest := value & (1<<shift - 1)
	if tie := uint64(1) << (shift - 1); rest > tie || rest == tie && raw&1 != 0 {
		raw++ // a carry out of the mantissa raises the exponent, as it should
	}
	if raw >= infinity {
		raw = infinity
		if !f.signed {
			raw--
		}
	}
	return sign | raw
}

const (
	sharedMantissa = 9
	sharedBias     = 15
	// sharedMax is the largest number of the format.
	sharedMax = (1<<sharedMantissa - 1) << (maxExponent - sharedBias) / (1 << sharedMantissa)
)

// decodeSharedExponent decodes E5B9G9R9 (chapter "RGB to Shared Exponent Conversion").
func decodeSharedExponent(dst [][4]float64, src []byte) {
	for i := range dst {
		word := binary.LittleEndian.Uint32(src[i*4:])
		scale := math.Float64frombits(uint64(doubleBias+int(word>>27)-sharedBias-sharedMantissa) << doubleBits)
		dst[i] = [4]float64{
			float64(word&0x1ff) * scale,
			float64(word>>9&0x1ff) * scale,
			float64(word>>18&0x1ff) * scale,
			1,
		}
	}
}

// encodeSharedExponent is the inverse, to the letter of the same chapter.
func encodeSharedExponent(dst []byte, src [][4]float64) {
	for i := range src {
		var rgb [3]float64
		for c := range rgb {
			if v := src[i][c]; v > 0 { // neither negative nor NaN
				rgb[c] = min(v, sharedMax)
			}
		}
		largest := max(rgb[0], rgb[1], rgb[2])
		exponent := max(int(math.Float64bits(largest)>>doubleBits)-doubleBias, -sharedBias-1) + 1 + sharedBias
		scale := math.Ldexp(1, sharedMantissa+sharedBias-exponent)
		if uint32(largest*scale+0.5) == 1<<sharedMantissa {
			exponent++
			scale /= 2
		}
		binary.LittleEndian.PutUint32(dst[i*4:], uint32(exponent)<<27|
			uint32(rgb[2]*scale+0.5)<<18|uint32(rgb[1]*scale+0.5)<<9|uint32(rgb[0]*scale+0.5))
	}
}
