package reference

import (
	"fmt"
	"math"

	"farside/internal/vk"
)

// A Texel is what a texel says: F of formats that hold reals, I of those that hold integers; R, G, B, A.
// Depth and stencil are in the first element.
type Texel struct {
	F [4]float64
	I [4]int64
}

// components are those of one aspect.
func (m *Image) components(aspect vk.ImageAspectFlags) []vk.FormatComponent {
	for i, c := range m.info.Components() {
		if c.Name == 'D' && aspect == vk.IMAGE_ASPECT_DEPTH_BIT || c.Name == 'S' && aspect == vk.IMAGE_ASPECT_STENCIL_BIT {
			return m.info.Components()[i : i+1]
		}
	}
	return m.info.Components()
}

// place is the index of a component in a Texel, and the position of its lowest bit in the block.
func (m *Image) place(c []vk.FormatComponent, i int) (index, shift int) {
	for _, d := range c[:i] {
		shift += int(d.Bits)
	}
	switch word := int(m.info.Packed); {
	case word == 0 || c[i].Name == 'D': // depth is moved to bit 0
	case int(m.info.BlockSize)*8 > word: // each component has the upper bits of a word of its own
		shift = i*word + word - int(c[i].Bits)
	default: // from the highest bit down
		shift = word - shift - int(c[i].Bits)
	}
	switch c[i].Name {
	case 'G':
		index = 1
	case 'B':
		index = 2
	case 'A':
		index = 3
	}
	return index, shift
}

// Decode reads one texel of an uncompressed format.
func (m *Image) Decode(aspect vk.ImageAspectFlags, block []byte) Texel {
	if m.Format == vk.FORMAT_E5B9G9R9_UFLOAT_PACK32 {
		return decodeShared(block)
	}
	t := Texel{F: [4]float64{3: 1}, I: [4]int64{3: 1}}
	comps := m.components(aspect)
	for i, c := range comps {
		if c.Name == 'X' {
			continue
		}
		index, shift := m.place(comps, i)
		bits := getBits(block, shift, int(c.Bits))
		t.F[index], t.I[index] = decode(c, index, bits)
	}
	return t
}

// Encode writes one texel of an uncompressed format.
func (m *Image) Encode(aspect vk.ImageAspectFlags, block []byte, t Texel) {
	if m.Format == vk.FORMAT_E5B9G9R9_UFLOAT_PACK32 {
		encodeShared(block, t)
		return
	}
	comps := m.components(aspect)
	for i, c := range comps {
		index, shift := m.place(comps, i)
		setBits(block, shift, int(c.Bits), encode(c, index, t.F[index], t.I[index]))
	}
}

// Integer says whether the texels of an aspect are integers.
func (m *Image) Integer(aspect vk.ImageAspectFlags) bool {
	n := m.components(aspect)[0].Numeric
	return n == vk.NumericUINT || n == vk.NumericSINT
}

// Step is how far two encodings of almost the same texel may be apart in a component, for conversions that
// may round either way: the distance of neighbouring values around v.
func (m *Image) Step(aspect vk.ImageAspectFlags, index int, v float64) float64 {
	if m.Format == vk.FORMAT_E5B9G9R9_UFLOAT_PACK32 {
		return max(math.Abs(v), 1) / 128 // at the least; the largest of the three components decides
	}
	comps := m.components(aspect)
	for i, c := range comps {
		if at, _ := m.place(comps, i); at != index || c.Name == 'X' {
			continue
		}
		switch c.Numeric {
		case vk.NumericUNORM:
			return 1 / float64(uint64(1)<<c.Bits-1)
		case vk.NumericSNORM:
			return 1 / float64(uint64(1)<<(c.Bits-1)-1)
		case vk.NumericSRGB:
			if index == 3 {
				return 1.0 / 255
			}
			code := toSRGB(v) * 255
			return max(fromSRGB((code+1)/255)-v, v-fromSRGB((code-1)/255))
		case vk.NumericSFLOAT, vk.NumericUFLOAT:
			_, mantissa := floatShape(c)
			return math.Abs(v)/float64(uint64(1)<<min(mantissa, 20)) + 1.0/(1<<14)
		}
		return 1
	}
	return 0
}

// getBits reads n bits, the lowest at bit shift of the bytes, which begin with the lowest. What is not
// aligned to bytes does not reach over more than eight of them.
func getBits(b []byte, shift, n int) uint64 {
	var v uint64
	for at := (shift + n - 1) / 8; at >= shift/8; at-- {
		v = v<<8 | uint64(b[at])
	}
	return v >> (shift % 8) & (uint64(1)<<n - 1)
}

func setBits(b []byte, shift, n int, v uint64) {
	mask := (uint64(1)<<n - 1) << (shift % 8)
	v <<= shift % 8
	for at := shift / 8; at <= (shift+n-1)/8; at++ {
		b[at] = b[at]&^byte(mask) | byte(v&mask)
		mask, v = mask>>8, v>>8
	}
}

func decode(c vk.FormatComponent, index int, bits uint64) (float64, int64) {
	n := int(c.Bits)
	signed := int64(bits<<(64-n)) >> (64 - n)
	switch c.Numeric {
	case vk.NumericUNORM:
		return float64(bits) / float64(uint64(1)<<n-1), 0
	case vk.NumericSNORM:
		return max(float64(signed)/float64(uint64(1)<<(n-1)-1), -1), 0
	case vk.NumericSRGB:
		if index == 3 {
			return float64(bits) / 255, 0
		}
		return fromSRGB(float64(bits) / 255), 0
	case vk.NumericUINT:
		return 0, int64(bits)
	case vk.NumericSINT:
		return 0, signed
	case vk.NumericSFLOAT, vk.NumericUFLOAT:
		return decodeFloat(c, bits), 0
	}
	panic(fmt.Sprintf("reference: components of kind %v", c.Numeric))
}

func encode(c vk.FormatComponent, index int, f float64, i int64) uint64 {
	n := int(c.Bits)
	unorm := func(f float64) uint64 { return uint64(math.RoundToEven(clamp(f, 0, 1) * float64(uint64(1)<<n-1))) }
	high := float64(uint64(1)<<(n-1) - 1)
	switch c.Numeric {
	case vk.NumericUNORM:
		return unorm(f)
	case vk.NumericSNORM:
		return uint64(int64(math.RoundToEven(clamp(f, -1, 1) * high)))
	case vk.NumericSRGB:
		if index == 3 {
			return unorm(f)
		}
		return unorm(toSRGB(clamp(f, 0, 1)))
	case vk.NumericUINT:
		if n < 64 {
			i = min(max(i, 0), 1<<n-1)
		}
		return uint64(i)
	case vk.NumericSINT:
		if n < 64 {
			i = min(max(i, -1<<(n-1)), 1<<(n-1)-1)
		}
		return uint64(i)
	case vk.NumericSFLOAT, vk.NumericUFLOAT:
		return encodeFloat(c, f)
	}
	panic(fmt.Sprintf("reference: components of kind %v", c.Numeric))
}

func clamp(f, low, high float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return min(max(f, low), high)
}

func fromSRGB(f float64) float64 {
	if f <= 0.04045 {
		return f / 12.92
	}
	return math.Pow((f+0.055)/1.055, 2.4)
}

func toSRGB(f float64) float64 {
	if f <= 0.0031308 {
		return f * 12.92
	}
	return 1.055*math.Pow(f, 1/2.4) - 0.055
}

// floatShape is how many bits of a float are exponent and mantissa.
func floatShape(c vk.FormatComponent) (exponent, mantissa int) {
	switch c.Bits {
	case 64:
		return 11, 52
	case 32:
		return 8, 23
	case 16:
		return 5, 10
	}
	return 5, int(c.Bits) - 5 // the unsigned floats of 10 and 11 bits
}

func decodeFloat(c vk.FormatComponent, bits uint64) float64 {
	switch c.Bits {
	case 64:
		return math.Float64frombits(bits)
	case 32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	_, mantissa := floatShape(c)
	exponent := int(bits >> mantissa & 31)
	m := float64(bits&(1<<mantissa-1)) / float64(uint64(1)<<mantissa)
	v := 0.0
	switch {
	case exponent == 31 && m != 0:
		v = math.NaN()
	case exponent == 31:
		v = math.Inf(1)
	case exponent == 0:
		v = math.Ldexp(m, -14)
	default:
		v = math.Ldexp(1+m, exponent-15)
	}
	if c.Numeric == vk.NumericSFLOAT && bits>>(c.Bits-1) != 0 {
		v = -v
	}
	return v
}

// encodeFloat rounds to the nearest number that the format has. It is meant for finite numbers that fit.
func encodeFloat(c vk.FormatComponent, f float64) uint64 {
	switch c.Bits {
	case 64:
		return math.Float64bits(f)
	case 32:
		return uint64(math.Float32bits(float32(f)))
	}
	_, mantissa := floatShape(c)
	var sign uint64
	if f < 0 {
		if c.Numeric == vk.NumericUFLOAT {
			return 0
		}
		sign, f = 1<<(c.Bits-1), -f
	}
	e := -14
	if f != 0 {
		_, e = math.Frexp(f) // f = x · 2^e with x in [1/2, 1)
		e = max(e-1, -14)
	}
	m := uint64(math.RoundToEven(math.Ldexp(f, mantissa-e))) // may carry into the next exponent, which is right
	return sign | (m + uint64(e+14)<<mantissa)
}

// decodeShared reads a texel whose three components of nine bits share an exponent.
func decodeShared(block []byte) Texel {
	t := Texel{F: [4]float64{3: 1}, I: [4]int64{3: 1}}
	for i := range 3 {
		t.F[i] = math.Ldexp(float64(getBits(block, 9*i, 9)), int(getBits(block, 27, 5))-15-9)
	}
	return t
}

// encodeShared takes the exponent with which the largest component has nine bits.
func encodeShared(block []byte, t Texel) {
	exponent := -15
	for _, f := range t.F[:3] {
		if f = clamp(f, 0, 65408); f > 0 {
			_, e := math.Frexp(f)
			if math.RoundToEven(math.Ldexp(f, 9-e)) == 512 {
				e++
			}
			exponent = max(exponent, e)
		}
	}
	for i, f := range t.F[:3] {
		setBits(block, 9*i, 9, uint64(math.RoundToEven(math.Ldexp(clamp(f, 0, 65408), 9-exponent))))
	}
	setBits(block, 27, 5, uint64(exponent+15))
}
