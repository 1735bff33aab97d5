package texel

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"farside/internal/vk"
)

// colorCodecs calls f for each uncompressed colour format.
func colorCodecs(t *testing.T, f func(t *testing.T, format vk.Format, c *Codec)) {
	n := 0
	for _, format := range vk.AllFormats {
		if c, ok := CodecOf(format, vk.IMAGE_ASPECT_COLOR_BIT); ok {
			n++
			t.Run(format.String(), func(t *testing.T) { f(t, format, c) })
		}
	}
	if n != 107 {
		t.Errorf("%d uncompressed colour formats, want 107", n)
	}
}

func mustCodec(t testing.TB, f vk.Format, aspect vk.ImageAspectFlags) *Codec {
	t.Helper()
	c, ok := CodecOf(f, aspect)
	if !ok {
		t.Fatalf("no codec for %v, %v", f, aspect)
	}
	return c
}

// TestCodecPlaces holds the place of each channel to the format's definition in the chapter "Formats".
func TestCodecPlaces(t *testing.T) {
	for _, test := range []struct {
		format vk.Format
		bytes  []byte
		want   [4]float64
	}{
		{vk.FORMAT_R4G4_UNORM_PACK8, []byte{0xf0}, [4]float64{1, 0, 0, 1}},
		{vk.FORMAT_R4G4B4A4_UNORM_PACK16, []byte{0xf0, 0x30}, [4]float64{3. / 15, 0, 1, 0}},
		{vk.FORMAT_B4G4R4A4_UNORM_PACK16, []byte{0xf0, 0x30}, [4]float64{1, 0, 3. / 15, 0}},
		{vk.FORMAT_A4R4G4B4_UNORM_PACK16, []byte{0xf0, 0x30}, [4]float64{0, 1, 0, 3. / 15}},
		{vk.FORMAT_A4B4G4R4_UNORM_PACK16, []byte{0x0f, 0x36}, [4]float64{1, 0, 6. / 15, 3. / 15}},
		{vk.FORMAT_R5G6B5_UNORM_PACK16, []byte{0xe0, 0x0f}, [4]float64{1. / 31, 1, 0, 1}},
		{vk.FORMAT_B5G6R5_UNORM_PACK16, []byte{0x01, 0xf8}, [4]float64{1. / 31, 0, 1, 1}},
		{vk.FORMAT_R5G5B5A1_UNORM_PACK16, []byte{0x01, 0xf8}, [4]float64{1, 0, 0, 1}},
		{vk.FORMAT_B5G5R5A1_UNORM_PACK16, []byte{0x02, 0xf8}, [4]float64{1. / 31, 0, 1, 0}},
		{vk.FORMAT_A1R5G5B5_UNORM_PACK16, []byte{0x1f, 0x84}, [4]float64{1. / 31, 0, 1, 1}},
		{vk.FORMAT_R8G8_SNORM, []byte{0x80, 0x7f}, [4]float64{-1, 1, 0, 1}},
		{vk.FORMAT_R8G8B8A8_UNORM, []byte{0, 51, 102, 255}, [4]float64{0, 51. / 255, 102. / 255, 1}},
		{vk.FORMAT_B8G8R8A8_UNORM, []byte{0, 51, 102, 255}, [4]float64{102. / 255, 51. / 255, 0, 1}},
		{vk.FORMAT_B8G8R8A8_SRGB, []byte{255, 0, 10, 51}, [4]float64{10. / 255 / 12.92, 0, 1, 51. / 255}},
		{vk.FORMAT_A8B8G8R8_UNORM_PACK32, []byte{0, 51, 102, 255}, [4]float64{0, 51. / 255, 102. / 255, 1}},
		{vk.FORMAT_A2R10G10B10_UNORM_PACK32, []byte{0xff, 0x03, 0x10, 0x40}, [4]float64{1. / 1023, 0, 1, 1. / 3}},
		{vk.FORMAT_A2B10G10R10_SNORM_PACK32, []byte{0xff, 0x01, 0x10, 0x80}, [4]float64{1, 0, 1. / 511, -1}},
		{vk.FORMAT_R16G16_UNORM, []byte{0xff, 0xff, 0x01, 0x00}, [4]float64{1, 1. / 65535, 0, 1}},
		{vk.FORMAT_R10X6G10X6_UNORM_2PACK16, []byte{0xff, 0xff, 0x40, 0x00}, [4]float64{1, 1. / 1023, 0, 1}},
		{vk.FORMAT_R12X4_UNORM_PACK16, []byte{0x10, 0x80}, [4]float64{2049. / 4095, 0, 0, 1}},
		{vk.FORMAT_R16_SFLOAT, []byte{0x00, 0xc5}, [4]float64{-5, 0, 0, 1}},
		{vk.FORMAT_R32G32_SFLOAT, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}, [4]float64{1, -2, 0, 1}},
		{vk.FORMAT_R64_SFLOAT, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, [4]float64{1.5, 0, 0, 1}},
		{vk.FORMAT_B10G11R11_UFLOAT_PACK32, []byte{0xc0, 0x03, 0x1e, 0x80}, [4]float64{1, 1, 2, 1}},
		{vk.FORMAT_E5B9G9R9_UFLOAT_PACK32, []byte{0x00, 0x01, 0xfc, 0x87}, [4]float64{1, 0, 511. / 256, 1}},
	} {
		c := mustCodec(t, test.format, vk.IMAGE_ASPECT_COLOR_BIT)
		var got [1][4]float64
		c.DecodeFloat(got[:], test.bytes)
		for i := range got[0] {
			if math.Abs(got[0][i]-test.want[i]) > 1e-5 {
				t.Errorf("%v: % x is %v, want %v", test.format, test.bytes, got[0], test.want)
				break
			}
		}
	}
}

func TestCodecIntegers(t *testing.T) {
	var u [1][4]uint64
	mustCodec(t, vk.FORMAT_A2B10G10R10_UINT_PACK32, vk.IMAGE_ASPECT_COLOR_BIT).DecodeUint(u[:],
		[]byte{0xff, 0x0f, 0x10, 0x80})
	if want := [4]uint64{1023, 3, 1, 2}; u[0] != want {
		t.Errorf("A2B10G10R10_UINT: %v, want %v", u[0], want)
	}
	mustCodec(t, vk.FORMAT_B8G8R8_UINT, vk.IMAGE_ASPECT_COLOR_BIT).DecodeUint(u[:], []byte{1, 2, 3})
	if want := [4]uint64{3, 2, 1, 1}; u[0] != want {
		t.Errorf("B8G8R8_UINT: %v, want %v", u[0], want)
	}
	var s [1][4]int64
	mustCodec(t, vk.FORMAT_A2R10G10B10_SINT_PACK32, vk.IMAGE_ASPECT_COLOR_BIT).DecodeSint(s[:],
		[]byte{0xff, 0x0b, 0x10, 0x80})
	if want := [4]int64{1, 2, -1, -2}; s[0] != want {
		t.Errorf("A2R10G10B10_SINT: %v, want %v", s[0], want)
	}
	mustCodec(t, vk.FORMAT_R16G16_SINT, vk.IMAGE_ASPECT_COLOR_BIT).DecodeSint(s[:], []byte{0, 0x80, 0xff, 0x7f})
	if want := [4]int64{-32768, 32767, 0, 1}; s[0] != want {
		t.Errorf("R16G16_SINT: %v, want %v", s[0], want)
	}
	colorCodecs(t, func(t *testing.T, format vk.Format, c *Codec) {
		info, _ := vk.FormatInfo(format)
		out := make([]byte, c.Size())
		switch c.Class() {
		case Uint:
			for _, v := range []uint64{0, 1, 3, 4, 200, 300, 70000, 1 << 33, math.MaxUint64} {
				c.EncodeUint(out, [][4]uint64{{v, v, v, v}})
				c.DecodeUint(u[:], out)
				for _, component := range info.Components() {
					got, want := u[0][slots[component.Name]], min(v, math.MaxUint64>>(64-component.Bits))
					if got != want {
						t.Errorf("%c of %d is %d, want %d", component.Name, v, got, want)
					}
				}
			}
		case Sint:
			for _, v := range []int64{0, 1, -1, -2, -3, 127, 128, -128, -129, 1 << 40, -1 << 40, math.MaxInt64, math.MinInt64} {
				c.EncodeSint(out, [][4]int64{{v, v, v, v}})
				c.DecodeSint(s[:], out)
				for _, component := range info.Components() {
					high := int64(math.MaxInt64 >> (64 - component.Bits))
					got, want := s[0][slots[component.Name]], max(min(v, high), -high-1)
					if got != want {
						t.Errorf("%c of %d is %d, want %d", component.Name, v, got, want)
					}
				}
			}
		}
	})
}

var slots = map[byte]int{'R': 0, 'G': 1, 'B': 2, 'A': 3}

// number is what n bits stand for, from the formulas of the chapters "Conversion From Normalized Fixed-Point to
// Floating-Point", "16-Bit Floating-Point Numbers" and its unsigned neighbours, and the sRGB curve.
func number(kind vk.NumericFormat, bits uint8, raw uint64) float64 {
	unsigned := float64(raw)
	signed := unsigned
	if raw>>(bits-1) != 0 {
		signed -= math.Ldexp(1, int(bits))
	}
	switch kind {
	case vk.NumericUNORM:
		return unsigned / (math.Ldexp(1, int(bits)) - 1)
	case vk.NumericSNORM:
		return max(signed/(math.Ldexp(1, int(bits)-1)-1), -1)
	case vk.NumericSRGB:
		if c := unsigned / 255; c > 0.04045 {
			return math.Pow((c+0.055)/1.055, 2.4)
		}
		return unsigned / 255 / 12.92
	case vk.NumericSFLOAT:
		if raw>>15 != 0 {
			return -ufloat(10, raw&0x7fff)
		}
		return ufloat(10, raw)
	case vk.NumericUFLOAT:
		return ufloat(int(bits)-5, raw)
	}
	panic(kind)
}

func ufloat(mantissa int, raw uint64) float64 {
	m, e := float64(raw&(1<<mantissa-1)), int(raw>>mantissa)
	switch {
	case e == 0:
		return math.Ldexp(m, -14-mantissa)
	case e == 31 && m == 0:
		return math.Inf(1)
	case e == 31:
		return math.NaN()
	}
	return math.Ldexp(1+math.Ldexp(m, -mantissa), e-15)
}

func same(a, b float64) bool { return a == b || a != a && b != b }

// TestCodecExhaustive goes through all bits of each channel of up to 16 bits, the channels having different ones.
func TestCodecExhaustive(t *testing.T) {
	type meaning struct {
		kind vk.NumericFormat
		bits uint8
	}
	numbers := make(map[meaning][]float64)
	colorCodecs(t, func(t *testing.T, format vk.Format, c *Codec) {
		info, _ := vk.FormatInfo(format)
		if c.Class() != Float || info.Components()[0].Bits > 16 || format == vk.FORMAT_E5B9G9R9_UFLOAT_PACK32 {
			return
		}
		widest := 0
		for _, component := range info.Components() {
			m := meaning{component.Numeric, component.Bits}
			if numbers[m] == nil {
				for raw := range uint64(1) << m.bits {
					numbers[m] = append(numbers[m], number(m.kind, m.bits, raw))
				}
			}
			widest = max(widest, int(component.Bits))
		}
		bits := func(i, channel int) int { // an odd factor: every number comes
			return i * (2*channel + 1) & (1<<info.Components()[channel].Bits - 1)
		}
		n := 1 << widest
		src, out := make([]byte, n*c.Size()), make([]byte, n*c.Size())
		for i := range n {
			for channel := range c.channels {
				ch := &c.channels[channel]
				word := src[i*c.Size()+ch.offset:]
				switch v := bits(i, channel) << ch.shift; ch.width {
				case 1:
					word[0] |= byte(v)
				case 2:
					binary.LittleEndian.PutUint16(word, binary.LittleEndian.Uint16(word)|uint16(v))
				case 4:
					binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|uint32(v))
				}
			}
		}
		texels := make([][4]float64, n)
		c.DecodeFloat(texels, src)
		c.EncodeFloat(out, texels)
		for i, texel := range texels {
			returns := true
			for channel, component := range info.Components() {
				raw := bits(i, channel)
				want := numbers[meaning{component.Numeric, component.Bits}][raw]
				if got := texel[slots[component.Name]]; !same(got, want) {
					t.Fatalf("%c %#x is %v, want %v", component.Name, raw, got, want)
				}
				// The lowest number of SNORM means -1, as the next one does.
				lowest := component.Numeric == vk.NumericSNORM && raw == 1<<(component.Bits-1)
				returns = returns && !lowest && want == want
			}
			if back, was := out[i*c.Size():][:c.Size()], src[i*c.Size():][:c.Size()]; returns && !bytes.Equal(back, was) {
				t.Fatalf("% x, %v, is encoded as % x", was, texel, back)
			}
		}
	})
}

// TestCodecRounds encodes numbers between and beyond what a format has: none of its numbers may be nearer.
func TestCodecRounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, format := range []vk.Format{
		vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_R8_UNORM, vk.FORMAT_R8_SNORM,
		vk.FORMAT_A2B10G10R10_SNORM_PACK32, vk.FORMAT_R16_UNORM, vk.FORMAT_R16_SNORM,
		vk.FORMAT_R16_SFLOAT, vk.FORMAT_B10G11R11_UFLOAT_PACK32,
	} {
		c := mustCodec(t, format, vk.IMAGE_ASPECT_COLOR_BIT)
		info, _ := vk.FormatInfo(format)
		component := info.Components()[0]
		var all []float64 // every finite number of the channel
		lowest, highest := math.Inf(1), math.Inf(-1)
		for raw := range uint64(1) << component.Bits {
			if v := number(component.Numeric, component.Bits, raw); !math.IsInf(v, 0) && v == v {
				all = append(all, v)
				lowest, highest = min(lowest, v), max(highest, v)
			}
		}
		slices.Sort(all)
		slot := slots[component.Name]
		out := make([]byte, c.Size())
		var back [1][4]float64
		check := func(v float64) {
			c.EncodeFloat(out, [][4]float64{{v, v, v, v}})
			c.DecodeFloat(back[:], out)
			got := back[0][slot]
			clamped := min(max(v, lowest), highest)
			above, _ := slices.BinarySearch(all, clamped)
			nearest := all[min(above, len(all)-1)] - clamped
			if above > 0 {
				nearest = min(math.Abs(nearest), clamped-all[above-1])
			}
			if math.IsInf(got, 0) {
				if format != vk.FORMAT_R16_SFLOAT || math.Abs(v) < 65520 {
					t.Errorf("%v: %v becomes infinite", format, v)
				}
			} else if d := math.Abs(got - clamped); d > nearest*(1+1e-9)+1e-15 {
				t.Errorf("%v: %v becomes %v, which is %v away instead of %v", format, v, got, d, nearest)
			}
		}
		for range 300 {
			i := random.IntN(len(all))
			check(all[i] + (all[random.IntN(len(all))]-all[i])*random.Float64())
			check(all[i] * (1 + random.NormFloat64()/1000))
		}
		for _, v := range []float64{0, math.Copysign(0, -1), 1e-300, -1e-300, 1e-9, -1, 1, 2, -2, 1e9, -1e9, 65504, 65519,
			65520, 65024} {
			check(v)
		}
	}
}

// TestCodecExtremes encodes what no number of the format is near to.
func TestCodecExtremes(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		format vk.Format
		v      float64
		want   []byte
	}{
		{vk.FORMAT_R8_UNORM, math.NaN(), []byte{0}},
		{vk.FORMAT_R8_UNORM, inf, []byte{255}},
		{vk.FORMAT_R8_UNORM, -inf, []byte{0}},
		{vk.FORMAT_R8_SNORM, -inf, []byte{0x81}},
		{vk.FORMAT_R8_SNORM, math.NaN(), []byte{0}},
		{vk.FORMAT_R8_SRGB, math.NaN(), []byte{0}},
		{vk.FORMAT_R8_SRGB, inf, []byte{255}},
		{vk.FORMAT_R8_SRGB, -1, []byte{0}},
		{vk.FORMAT_R16_SFLOAT, inf, []byte{0, 0x7c}},
		{vk.FORMAT_R16_SFLOAT, -inf, []byte{0, 0xfc}},
		{vk.FORMAT_R16_SFLOAT, math.NaN(), []byte{0, 0x7e}},
		{vk.FORMAT_R16_SFLOAT, 1e30, []byte{0, 0x7c}},
		{vk.FORMAT_R16_SFLOAT, -1e-30, []byte{0, 0x80}},
		{vk.FORMAT_B10G11R11_UFLOAT_PACK32, inf, []byte{0xc0, 0x07, 0x3e, 0xf8}},
		{vk.FORMAT_B10G11R11_UFLOAT_PACK32, -inf, []byte{0, 0, 0, 0}},
		{vk.FORMAT_B10G11R11_UFLOAT_PACK32, 1e30, []byte{0xbf, 0xff, 0xfd, 0xf7}},
		{vk.FORMAT_E5B9G9R9_UFLOAT_PACK32, inf, []byte{0xff, 0xff, 0xff, 0xff}},
		{vk.FORMAT_E5B9G9R9_UFLOAT_PACK32, math.NaN(), []byte{0, 0, 0, 0}},
		{vk.FORMAT_E5B9G9R9_UFLOAT_PACK32, -1, []byte{0, 0, 0, 0}},
		{vk.FORMAT_R32_SFLOAT, inf, []byte{0, 0, 0x80, 0x7f}},
	} {
		c := mustCodec(t, test.format, vk.IMAGE_ASPECT_COLOR_BIT)
		out := make([]byte, c.Size())
		c.EncodeFloat(out, [][4]float64{{test.v, test.v, test.v, test.v}})
		if !bytes.Equal(out, test.want) {
			t.Errorf("%v: %v becomes % x, want % x", test.format, test.v, out, test.want)
		}
	}
}

func TestSRGB(t *testing.T) {
	for i := range 256 {
		if got := srgb().fromLinear(srgbEOTF(float64(i) / 255)); int(got) != i {
			t.Errorf("the number of %d becomes %d", i, got)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 200000 {
		v := random.Float64()
		if i%2 == 0 {
			v *= 0.01
		}
		want := v * 12.92
		if v > 0.0031308 {
			want = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		if got := srgb().fromLinear(v); math.Abs(float64(got)-want*255) > 0.5001 {
			t.Fatalf("fromLinear(%v) = %d, want %v", v, got, want*255)
		}
	}
}

// TestSRGBVectors has the tables for vectors give the same numbers, about each step above all.
func TestSRGBVectors(t *testing.T) {
	tables := SRGBVectors()
	check := func(v float32) {
		got := tables.Firsts[int(v*SRGBBuckets)]
		if v >= tables.Steps[got] {
			got++
		}
		if want := uint32(srgb().fromLinear(float64(v))); got != want {
			t.Fatalf("%v: %d, not %d", v, got, want)
		}
	}
	for i := range 255 {
		v := float32(srgb().steps[i])
		check(v)
		check(math.Nextafter32(v, 0))
		check(math.Nextafter32(v, 1))
	}
	for i := range 1<<16 + 1 {
		check(float32(i) / (1 << 16))
	}
	for i, v := range tables.Linear {
		if want := float32(srgbEOTF(float64(i) / 255)); v != want {
			t.Errorf("%d: %v, not %v", i, v, want)
		}
	}
}

func TestSharedExponent(t *testing.T) {
	c := mustCodec(t, vk.FORMAT_E5B9G9R9_UFLOAT_PACK32, vk.IMAGE_ASPECT_COLOR_BIT)
	random := rand.New(rand.NewPCG(5, 6))
	var out [4]byte
	var texel, back [1][4]float64
	for range 100000 {
		word := random.Uint32()
		binary.LittleEndian.PutUint32(out[:], word)
		c.DecodeFloat(texel[:], out[:])
		for i := range 3 {
			want := math.Ldexp(float64(word>>(9*i)&0x1ff), int(word>>27)-15-9)
			if texel[0][i] != want {
				t.Fatalf("%#x has %v, want %v", word, texel[0], want)
			}
		}
		c.EncodeFloat(out[:], texel[:])
		c.DecodeFloat(back[:], out[:])
		if back != texel {
			t.Fatalf("%#x: %v becomes %v", word, texel[0], back[0])
		}
		largest := 0.
		for i := range 3 {
			texel[0][i] = math.Ldexp(random.Float64(), random.IntN(40)-24)
			largest = max(largest, min(texel[0][i], sharedMax))
		}
		c.EncodeFloat(out[:], texel[:])
		c.DecodeFloat(back[:], out[:])
		step := max(math.Exp2(math.Floor(math.Log2(largest))-8), math.Exp2(-24))
		for i := range 3 {
			if d := math.Abs(back[0][i] - min(texel[0][i], sharedMax)); d > step {
				t.Fatalf("%v becomes %v", texel[0], back[0])
			}
		}
	}
}

// TestCodecRoundTrip decodes and encodes random rows longer than a chunk: the numbers must come back, and no byte
// beside the row may change.
func TestCodecRoundTrip(t *testing.T) {
	const texels = 2*chunk + 7
	colorCodecs(t, func(t *testing.T, format vk.Format, c *Codec) {
		random := rand.New(rand.NewPCG(7, uint64(format)))
		src := make([]byte, texels*c.Size())
		for i := range src {
			src[i] = byte(random.Uint32())
		}
		out := bytes.Repeat([]byte{0xa5}, len(src)+8)
		body := out[:len(src)]
		switch c.Class() {
		case Float:
			a, b := make([][4]float64, texels), make([][4]float64, texels)
			c.DecodeFloat(a, src)
			c.EncodeFloat(out, a)
			c.DecodeFloat(b, body)
			for i := range a {
				for slot := range a[i] {
					if !same(a[i][slot], b[i][slot]) {
						t.Fatalf("texel %d: %v becomes %v", i, a[i], b[i])
					}
				}
			}
		case Uint:
			a := make([][4]uint64, texels)
			c.DecodeUint(a, src)
			c.EncodeUint(out, a)
			if !bytes.Equal(body, src) {
				t.Error("the bytes do not come back")
			}
		case Sint:
			a := make([][4]int64, texels)
			c.DecodeSint(a, src)
			c.EncodeSint(out, a)
			if !bytes.Equal(body, src) {
				t.Error("the bytes do not come back")
			}
		}
		if !bytes.Equal(out[len(src):], bytes.Repeat([]byte{0xa5}, 8)) {
			t.Error("bytes after the row changed")
		}
	})
}

func TestCodecDepthStencil(t *testing.T) {
	const depth, stencil = vk.IMAGE_ASPECT_DEPTH_BIT, vk.IMAGE_ASPECT_STENCIL_BIT
	for _, test := range []struct {
		format vk.Format
		depth  []byte // of 0.5
	}{
		{vk.FORMAT_D16_UNORM, []byte{0x00, 0x80}},
		{vk.FORMAT_X8_D24_UNORM_PACK32, []byte{0x00, 0x00, 0x80, 0}},
		{vk.FORMAT_D32_SFLOAT, []byte{0, 0, 0, 0x3f}},
		{vk.FORMAT_D16_UNORM_S8_UINT, []byte{0x00, 0x80}},
		{vk.FORMAT_D24_UNORM_S8_UINT, []byte{0x00, 0x00, 0x80, 0}},
		{vk.FORMAT_D32_SFLOAT_S8_UINT, []byte{0, 0, 0, 0x3f}},
	} {
		c := mustCodec(t, test.format, depth)
		out := make([]byte, c.Size())
		c.EncodeFloat(out, [][4]float64{{0.5}})
		if !bytes.Equal(out, test.depth) {
			t.Errorf("%v: 0.5 is % x, want % x", test.format, out, test.depth)
		}
	}
	for _, format := range []vk.Format{vk.FORMAT_S8_UINT, vk.FORMAT_D16_UNORM_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT,
		vk.FORMAT_D32_SFLOAT_S8_UINT} {
		c := mustCodec(t, format, stencil)
		out := make([]byte, c.Size())
		c.EncodeUint(out, [][4]uint64{{0x5a}})
		if !bytes.Equal(out, []byte{0x5a}) || c.Class() != Uint {
			t.Errorf("%v: stencil 0x5a is % x", format, out)
		}
	}
	for _, none := range []codecKey{
		{vk.FORMAT_S8_UINT, depth}, {vk.FORMAT_D16_UNORM, stencil}, {vk.FORMAT_D16_UNORM, vk.IMAGE_ASPECT_COLOR_BIT},
		{vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.IMAGE_ASPECT_COLOR_BIT}, {vk.FORMAT_R8_UNORM, depth},
		{vk.FORMAT_UNDEFINED, vk.IMAGE_ASPECT_COLOR_BIT}, {vk.FORMAT_G8_B8R8_2PLANE_420_UNORM, vk.IMAGE_ASPECT_COLOR_BIT},
	} {
		if _, ok := CodecOf(none.format, none.aspect); ok {
			t.Errorf("%v has a codec for %v", none.format, none.aspect)
		}
	}
}

func BenchmarkCodec(b *testing.B) {
	const texels = 1024
	for _, format := range []vk.Format{
		vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_R16G16B16A16_SFLOAT,
		vk.FORMAT_R32G32B32A32_SFLOAT, vk.FORMAT_B10G11R11_UFLOAT_PACK32, vk.FORMAT_E5B9G9R9_UFLOAT_PACK32,
	} {
		c := mustCodec(b, format, vk.IMAGE_ASPECT_COLOR_BIT)
		row, numbers := make([]byte, texels*c.Size()), make([][4]float64, texels)
		for i := range row {
			row[i] = byte(i) & 0x3f
		}
		b.Run("decode/"+format.String(), func(b *testing.B) {
			for b.Loop() {
				c.DecodeFloat(numbers, row)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/texels, "ns/texel")
		})
		b.Run("encode/"+format.String(), func(b *testing.B) {
			for b.Loop() {
				c.EncodeFloat(row, numbers)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/texels, "ns/texel")
		})
	}
}
