package draw

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"farside/compute"
	"farside/internal/texel"
	"farside/internal/vk"
)

// colorFormats are all formats that can be drawn to.
func colorFormats() (all []vk.Format) {
	for _, f := range vk.AllFormats {
		if format, ok := texel.FormatOf(f); ok && !format.MultiPlanar() {
			if _, ok := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT); ok {
				all = append(all, f)
			}
		}
	}
	return all
}

// colorShader writes what its uniform inputs say, as numbers of a class, to location 0, and to its second source.
func colorShader(numeric compute.Numeric, words *[8]uint32) *goShader {
	first, second := varying(0, 4, numeric), varying(0, 4, numeric)
	for i := range second {
		second[i].Index = 1
	}
	return &goShader{out: join(first, second), code: func(l *lane) bool { copy(l.out, words[:]); return true }}
}

func numericOf(c *texel.Codec) compute.Numeric {
	return map[texel.Class]compute.Numeric{texel.Float: compute.Float, texel.Uint: compute.Uint,
		texel.Sint: compute.Sint}[c.Class()]
}

// TestFormats writes every format, with write masks, and compares with the codec's own texels.
func TestFormats(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, f := range colorFormats() {
		codec, _ := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
		for _, mask := range []vk.ColorComponentFlags{15, 0, 1, 2, 4, 8, 6, 11} {
			if !codec.Separable() && mask != 0 {
				mask = 15
			}
			s := newScene(t, f, 3, 2, 1, 0)
			img := s.pass.Colors[0].Image
			for i := range img.Bytes {
				img.Bytes[i] = byte(random.Uint32())
			}
			before := bytes.Clone(s.texel(img, vk.IMAGE_ASPECT_COLOR_BIT, 1, 1, 0))
			var words [8]uint32
			want := make([]byte, codec.Size())
			switch codec.Class() {
			case texel.Float:
				var v [1][4]float64
				for i := range 4 {
					c := float32(random.NormFloat64())
					words[i], v[0][i] = math.Float32bits(c), float64(c)
				}
				codec.EncodeFloat(want, v[:])
			case texel.Uint:
				var v [1][4]uint64
				for i := range 4 {
					words[i] = random.Uint32() >> random.IntN(32)
					v[0][i] = uint64(words[i])
				}
				codec.EncodeUint(want, v[:])
			default:
				var v [1][4]int64
				for i := range 4 {
					words[i] = uint32(int32(random.Uint32()) >> random.IntN(32))
					v[0][i] = int64(int32(words[i]))
				}
				codec.EncodeSint(want, v[:])
			}
			// What is not written stays, bit by bit; so do bits that are no channel's.
			keep := bytes.Repeat([]byte{0xff}, codec.Size())
			for _, ch := range codec.Channels() {
				for bit := ch.First; bit < ch.First+ch.Bits && mask>>ch.Slot&1 != 0; bit++ {
					keep[bit/8] &^= 1 << (bit % 8)
				}
			}
			if !codec.Separable() && mask != 0 {
				clear(keep)
			}
			for i := range want {
				want[i] = want[i]&^keep[i] | before[i]&keep[i]
			}
			s.state.Fragment = colorShader(numericOf(codec), &words)
			s.state.Blends[0].ColorWriteMask = mask
			s.full(0)
			s.draw(t)
			if got := s.texel(img, vk.IMAGE_ASPECT_COLOR_BIT, 1, 1, 0); !bytes.Equal(got, want) {
				t.Errorf("%v, mask %v: %x, not %x (was %x)", f, mask, got, want, before)
			}
		}
	}
}

// wantFactor is VkBlendFactor, once more: the color and the alpha that it stands for.
func wantFactor(f int, s, s1, d, k [4]float64) (all [4]float64) {
	one := func(v [4]float64) [4]float64 { return [4]float64{1 - v[0], 1 - v[1], 1 - v[2], 1 - v[3]} }
	grey := func(v float64) [4]float64 { return [4]float64{v, v, v, v} }
	sat := min(s[3], 1-d[3])
	return [][4]float64{grey(0), grey(1), s, one(s), d, one(d), grey(s[3]), grey(1 - s[3]), grey(d[3]), grey(1 - d[3]),
		k, one(k), grey(k[3]), grey(1 - k[3]), {sat, sat, sat, 1}, s1, one(s1), grey(s1[3]), grey(1 - s1[3])}[f]
}

// near is how far apart two numbers of fixed point of a channel of 16 bits are; of fewer bits, none may differ.
func near(c *texel.Codec, slot int) float64 {
	for _, ch := range c.Channels() {
		if ch.Slot == slot && ch.Bits > 10 && (ch.Kind == vk.NumericUNORM || ch.Kind == vk.NumericSNORM) {
			return 1.01 * math.Ldexp(1, 1-ch.Bits)
		}
	}
	return 0
}

// TestBlend compares random blends in every format that can with float64.
func TestBlend(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for _, f := range colorFormats() {
		codec, _ := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
		if codec.Class() != texel.Float {
			continue
		}
		kind := codec.Channels()[0].Kind
		low, high := math.Inf(-1), math.Inf(1)
		switch kind {
		case vk.NumericUNORM, vk.NumericSRGB:
			low, high = 0, 1
		case vk.NumericSNORM:
			low, high = -1, 1
		}
		clamp := func(v [4]float64) [4]float64 {
			for i := range v {
				v[i] = min(max(v[i], low), high)
			}
			return v
		}
		for range 40 {
			s := newScene(t, f, 2, 2, 1, 0)
			there := s.texel(s.pass.Colors[0].Image, vk.IMAGE_ASPECT_COLOR_BIT, 1, 0, 0)
			var words [8]uint32
			var src, dual, k, dst [4]float64
			for i := range 4 {
				a, b, c := float32(random.NormFloat64()), float32(random.Float64()), float32(2*random.Float64()-0.5)
				words[i], words[4+i] = math.Float32bits(a), math.Float32bits(b)
				src[i], dual[i], k[i] = float64(a), float64(b), float64(c)
				s.state.BlendConstants[i] = c
				dst[i] = random.Float64()
				if kind == vk.NumericSNORM {
					dst[i] = 2*dst[i] - 1
				}
			}
			codec.EncodeFloat(there, [][4]float64{dst})
			var held [1][4]float64
			codec.DecodeFloat(held[:], there)
			dst = held[0]
			b := Blend{BlendEnable: 1, ColorWriteMask: 15,
				SrcColorBlendFactor: vk.BlendFactor(random.IntN(19)), DstColorBlendFactor: vk.BlendFactor(random.IntN(19)),
				SrcAlphaBlendFactor: vk.BlendFactor(random.IntN(19)), DstAlphaBlendFactor: vk.BlendFactor(random.IntN(19)),
				ColorBlendOp: vk.BlendOp(random.IntN(5)), AlphaBlendOp: vk.BlendOp(random.IntN(5))}
			s.state.Blends[0] = b
			s.state.Fragment = colorShader(compute.Float, &words)
			s.full(0)
			s.draw(t)
			cs, c1, ck := clamp(src), clamp(dual), clamp(k)
			var want, terms [4]float64
			for i := range want {
				sf, df, op := b.SrcColorBlendFactor, b.DstColorBlendFactor, b.ColorBlendOp
				if i == 3 {
					sf, df, op = b.SrcAlphaBlendFactor, b.DstAlphaBlendFactor, b.AlphaBlendOp
				}
				x := cs[i] * wantFactor(int(sf), cs, c1, dst, ck)[i]
				y := dst[i] * wantFactor(int(df), cs, c1, dst, ck)[i]
				terms[i] = math.Abs(x) + math.Abs(y)
				want[i] = []float64{x + y, x - y, y - x, min(cs[i], dst[i]), max(cs[i], dst[i])}[op]
			}
			texels := make([]byte, codec.Size())
			codec.EncodeFloat(texels, [][4]float64{want})
			codec.DecodeFloat(held[:], texels)
			got := s.color(t, 1, 0, 0)
			for i := range got {
				// Sums in float32 may be as far away as the number of an attachment of 16 bits that comes next.
				if math.Abs(got[i]-held[0][i]) > max(1e-6*terms[i], near(codec, i)) {
					t.Errorf("%v: %+v of %v, %v and %v is %v, not %v", f, b, src, dual, dst, got, held[0])
					break
				}
			}
		}
	}
}

// TestLogicOps has the truth table of each operation, on the bits of formats that have them, and no effect on others.
func TestLogicOps(t *testing.T) {
	tables := [16]func(s, d uint32) uint32{
		func(_, _ uint32) uint32 { return 0 }, func(s, d uint32) uint32 { return s & d },
		func(s, d uint32) uint32 { return s &^ d }, func(s, _ uint32) uint32 { return s },
		func(s, d uint32) uint32 { return ^s & d }, func(_, d uint32) uint32 { return d },
		func(s, d uint32) uint32 { return s ^ d }, func(s, d uint32) uint32 { return s | d },
		func(s, d uint32) uint32 { return ^(s | d) }, func(s, d uint32) uint32 { return ^(s ^ d) },
		func(_, d uint32) uint32 { return ^d }, func(s, d uint32) uint32 { return s | ^d },
		func(s, _ uint32) uint32 { return ^s }, func(s, d uint32) uint32 { return ^s | d },
		func(s, d uint32) uint32 { return ^(s & d) }, func(_, _ uint32) uint32 { return math.MaxUint32 },
	}
	const src, dst = 0x0f335577, 0xc96ae15b
	for op, table := range tables {
		for _, f := range []vk.Format{vk.FORMAT_R8G8B8A8_UINT, vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8G8B8A8_SRGB,
			vk.FORMAT_A2B10G10R10_UINT_PACK32, vk.FORMAT_R32_UINT, vk.FORMAT_R32_SFLOAT} {
			s := newScene(t, f, 2, 2, 1, 0)
			s.state.LogicOpEnable, s.state.LogicOp = true, vk.LogicOp(op)
			s.state.Blends[0].BlendEnable = 1 // which the operation turns off
			codec, _ := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
			there := s.texel(s.pass.Colors[0].Image, vk.IMAGE_ASPECT_COLOR_BIT, 0, 1, 0)
			var source [4]byte
			binary.LittleEndian.PutUint32(source[:], src)
			binary.LittleEndian.PutUint32(there, dst)
			var words [8]uint32
			if codec.Class() == texel.Float {
				var v [1][4]float64
				codec.DecodeFloat(v[:], source[:])
				for i := range 4 {
					words[i] = math.Float32bits(float32(v[0][i]))
				}
			} else {
				var v [1][4]uint64
				codec.DecodeUint(v[:], source[:])
				for i := range 4 {
					words[i] = uint32(v[0][i])
				}
			}
			want := table(src, dst)
			if f == vk.FORMAT_R8G8B8A8_SRGB || f == vk.FORMAT_R32_SFLOAT {
				want = src
			}
			s.state.Fragment = colorShader(numericOf(codec), &words)
			s.full(0)
			s.draw(t)
			if got := binary.LittleEndian.Uint32(there); got != want {
				t.Errorf("%v, %v: %#x, not %#x", vk.LogicOp(op), f, got, want)
			}
		}
	}
}

// TestAttachments has several, some of which are missing, in other places, or unwritten.
func TestAttachments(t *testing.T) {
	s := newScene(t, vk.FORMAT_R32_SFLOAT, 2, 2, 1, 0)
	first := s.pass.Colors[0]
	second, check2 := testImage(t, vk.FORMAT_R32_UINT, 2, 2, 1, 1)
	third, check3 := testImage(t, vk.FORMAT_R32_SFLOAT, 2, 2, 1, 1)
	s.pass.Colors = []Target{first, {}, target(second), target(third)}
	s.pass.ColorLocations = []uint32{3, 1, 2, math.MaxUint32}
	s.state.Blends = []Blend{{ColorWriteMask: 15}, {ColorWriteMask: 15}, {ColorWriteMask: 15}, {ColorWriteMask: 15}}
	s.state.Fragment = &goShader{out: join(floats(0, 1), floats(1, 1), varying(2, 1, compute.Uint), floats(3, 1)),
		code: func(l *lane) bool { l.set(0, 5.0, 6.0, 7, 8.0); return true }}
	s.full(0)
	s.draw(t)
	check2()
	check3()
	if got := s.color(t, 1, 1, 0)[0]; got != 8 {
		t.Errorf("the first attachment has %v", got)
	}
	if got := binary.LittleEndian.Uint32(s.texel(second, vk.IMAGE_ASPECT_COLOR_BIT, 1, 1, 0)); got != 7 {
		t.Errorf("the third attachment has %v", got)
	}
	if got := s.float(t, third, 1, 1, 0)[0]; got != 0 {
		t.Errorf("the attachment without location has %v", got)
	}
}
