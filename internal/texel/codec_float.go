package texel

import (
	"encoding/binary"
	"math"

	"farside/internal/vk"
)

// allNumbers is what toFloat makes of all bits of a channel that has 8 at most.
func (ch *channel) allNumbers() *[256]float64 {
	numbers := new([256]float64)
	for i := range ch.mask() + 1 {
		var number [1][4]float64
		ch.toFloat(number[:], [][4]uint64{{i, i, i, i}})
		numbers[i] = number[0][ch.slot]
	}
	return numbers
}

// bytesToFloat is toFloat for a channel that lies in a byte and has all its numbers.
func (ch *channel) bytesToFloat(dst [][4]float64, src []byte, size int) {
	src = src[ch.offset:]
	slot, shift, mask := ch.slot&3, ch.shift&7, byte(ch.mask())
	for i := range dst {
		dst[i][slot] = ch.numbers[src[i*size]>>shift&mask]
	}
}

// toFloat turns the bits of a channel into numbers.
func (ch *channel) toFloat(dst [][4]float64, raw [][4]uint64) {
	slot := ch.slot & 3
	dst = dst[:len(raw)]
	if ch.numbers != nil {
		for i := range raw {
			dst[i][slot] = ch.numbers[raw[i][slot]&0xff]
		}
		return
	}
	switch ch.kind {
	case vk.NumericSRGB:
		for i := range raw {
			dst[i][slot] = srgbEOTF(float64(raw[i][slot]) / 255)
		}
	case vk.NumericSFLOAT:
		switch ch.bits {
		case 16:
			half.decode(dst, raw, slot)
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
		unsignedFloat(ch.bits).decode(dst, raw, slot)
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
		rounding := srgb()
		for i := range src {
			raw[i][slot] = uint64(rounding.fromLinear(src[i][slot]))
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

// smallFloat is a floating-point format with 5 bits of exponent, as the 16-, 11- and 10-bit ones have. Only the
// 16-bit one has a sign.
type smallFloat struct{ mantissa uint } // bits

var half = smallFloat{mantissa: 10}

// unsignedFloat is the format of UFLOAT channels.
func unsignedFloat(bits uint) smallFloat { return smallFloat{mantissa: bits - 5} }

const (
	smallBias    = 15
	smallSign    = 1 << 15
	smallSpecial = 31 // the exponent of infinity and NaN
	doubleBias   = 1023
	doubleBits   = 52 // of the mantissa
	doubleSign   = 1 << 63
)

// decode turns the bits of a channel into numbers.
func (f smallFloat) decode(dst [][4]float64, raw [][4]uint64, slot int) {
	mantissa, shift := f.mantissa&63, (doubleBits-f.mantissa)&63
	slot &= 3
	dst = dst[:len(raw)]
	for i := range raw {
		r := raw[i][slot]
		magnitude := r &^ smallSign
		bits := magnitude<<shift + (doubleBias-smallBias)<<doubleBits
		if exponent := magnitude >> mantissa; exponent-1 >= smallSpecial-1 { // 0 or the highest
			bits = f.special(magnitude)
		}
		dst[i][slot] = math.Float64frombits(bits | r<<(63-15)&doubleSign)
	}
}

// special returns the bits of a denormal number, infinity or NaN.
func (f smallFloat) special(magnitude uint64) uint64 {
	if magnitude>>f.mantissa != 0 {
		return 0x7ff<<doubleBits | magnitude<<(doubleBits-f.mantissa)
	}
	return math.Float64bits(math.Ldexp(float64(magnitude), 1-smallBias-int(f.mantissa)))
}

// encode rounds to the nearest number of the format, ties to even. Numbers too large for the 16-bit format become
// infinite, as IEEE 754 has it; for an unsigned one its largest number, and negative ones 0.
func (f smallFloat) encode(v float64) uint64 {
	infinity := uint64(smallSpecial) << f.mantissa
	bits := math.Float64bits(v)
	sign := bits >> 48 & smallSign
	magnitude := bits &^ doubleSign
	var raw uint64
	switch {
	case magnitude > 0x7ff<<doubleBits: // NaN
		return sign&f.signs() | infinity | 1<<(f.mantissa-1)
	case sign != 0 && f.signs() == 0:
		return 0
	case magnitude < (doubleBias+1-smallBias)<<doubleBits:
		// Below the normal numbers, the sum with a number whose last bit is worth as much as the format's rounds.
		round := math.Float64frombits(uint64(doubleBias+1-smallBias+doubleBits-int(f.mantissa)) << doubleBits)
		raw = math.Float64bits(math.Float64frombits(magnitude)+round) & (2<<f.mantissa - 1)
	default:
		shift := (doubleBits - f.mantissa) & 63
		magnitude -= (doubleBias - smallBias) << doubleBits
		// A carry out of the mantissa raises the exponent, as it should.
		raw = (magnitude + 1<<(shift-1) - 1 + magnitude>>shift&1) >> shift
	}
	if raw >= infinity {
		raw = infinity
		if f.signs() == 0 && !math.IsInf(v, 1) {
			raw--
		}
	}
	return sign | raw
}

// signs is the sign bit, or 0 if the format has none.
func (f smallFloat) signs() uint64 {
	if f == half {
		return smallSign
	}
	return 0
}

const (
	sharedMantissa = 9
	sharedBias     = 15
	// sharedMax is the largest number of the format.
	sharedMax = (1<<sharedMantissa - 1) << (31 - sharedBias) / (1 << sharedMantissa)
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
