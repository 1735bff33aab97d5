package draw

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"farside/internal/texel"
	"farside/internal/vk"
)

// stepsOf runs the plan of a format on all lanes, on each kind of vectors that the processor has, and has each looked
// at.
func stepsOf(t *testing.T, p *rowPlan, look func()) {
	t.Helper()
	stepsAVX2(p, stepLanes)
	look()
	if wide() {
		stepsAVX512(p, stepLanes)
		look()
	}
}

// planOf is the plan of a format of one sample, in rows that are all the plan's own; nil: there is none.
func planOf(f vk.Format, blend Blend) (*rowPlan, *texel.Codec) {
	codec, _ := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
	c := &colorTarget{surface: surface{codec: codec, size: codec.Size(), samples: 1},
		colorState: &colorState{key: colorKey{codec: codec, blend: blend}}}
	c.prepare(&run{state: new(State)}, &blend)
	if !c.rows.plan(c) {
		return nil, codec
	}
	return &c.rows, codec
}

// TestRowsOfFormats has plans for the formats that attachments have as a rule.
func TestRowsOfFormats(t *testing.T) {
	for _, f := range colorFormats() {
		p, codec := planOf(f, Blend{ColorWriteMask: 15})
		size := codec.Size()
		want := size&(size-1) == 0 && size <= 16 && codec.Separable()
		for _, ch := range codec.Channels() {
			want = want && ch.Bits <= 32 && ch.Kind != vk.NumericUSCALED && ch.Kind != vk.NumericSSCALED
		}
		if (p != nil) != want {
			t.Errorf("%v has a plan: %v", f, p != nil)
		}
	}
}

// TestStepsDecode has all bits of channels of up to 16 bits decoded as the codec does.
func TestStepsDecode(t *testing.T) {
	if !vectors() {
		t.Skip("needs AVX2")
	}
	add := Blend{BlendEnable: 1, ColorWriteMask: 15, SrcColorBlendFactor: vk.BLEND_FACTOR_ONE,
		DstColorBlendFactor: vk.BLEND_FACTOR_ONE, SrcAlphaBlendFactor: vk.BLEND_FACTOR_ONE,
		DstAlphaBlendFactor: vk.BLEND_FACTOR_ONE}
	for _, f := range colorFormats() {
		p, codec := planOf(f, add)
		if p == nil || codec.Class() != texel.Float {
			continue
		}
		for _, ch := range codec.Channels() {
			for from := 0; ch.Bits <= 16 && from < 1<<ch.Bits; from += stepLanes {
				texels := make([]byte, 16*stepLanes)
				for lane := range stepLanes {
					word := uint32((from+lane)&(1<<ch.Bits-1)) << (ch.First % 32)
					p.memory[planWords+ch.First/32][lane] = word
					for k := range 4 { // of texels that may be shorter
						if at := lane*codec.Size() + ch.First/32*4 + k; ch.First/32*4+k < codec.Size() {
							texels[at] = byte(word >> (8 * k))
						}
					}
				}
				var want [stepLanes][4]float64
				codec.DecodeFloat(want[:], texels)
				stepsOf(t, p, func() {
					for lane := range stepLanes {
						got := math.Float32frombits(p.memory[planThere+ch.Slot][lane])
						if w := float32(want[lane][ch.Slot]); got != w && (got == got || w == w) {
							t.Fatalf("%v: %#x of channel %d is %v, not %v", f, from+lane, ch.Slot, got, w)
						}
					}
				})
			}
		}
	}
}

// floatsAround are numbers at which the bits of a channel change, and those about them.
func floatsAround(ch texel.Channel, random *rand.Rand) (all []float32) {
	around := func(v float32) {
		for k := range uint32(7) {
			all = append(all, math.Float32frombits(math.Float32bits(v)-3+k))
		}
	}
	for _, v := range []float64{0, 1, -1, 65519, 65520, 65535, math.Inf(1), math.Inf(-1), math.MaxFloat32} {
		around(float32(v))
	}
	all = append(all, float32(math.NaN()), math.Float32frombits(0xffa00001), float32(math.Copysign(0, -1)))
	for range 5000 {
		all = append(all, math.Float32frombits(random.Uint32()), float32(random.NormFloat64()))
	}
	switch ch.Kind {
	case vk.NumericUNORM, vk.NumericSNORM, vk.NumericSRGB:
		for n := range 1 << ch.Bits {
			scale := float64(int(1)<<ch.Bits - 1)
			around(float32((float64(n) + 0.5) / scale))
			if ch.Kind == vk.NumericSNORM {
				scale = float64(int(1)<<(ch.Bits-1) - 1)
				around(float32((float64(n) - scale - 0.5) / scale))
			}
		}
	case vk.NumericSFLOAT, vk.NumericUFLOAT:
		for n := range 1 << min(ch.Bits, 12) { // all mantissas of 11 bits, at both ends
			around(math.Float32frombits(0x38000000 + uint32(n)<<11))
			around(math.Float32frombits(0x33000000 + uint32(n)<<13))
			around(math.Float32frombits(0x47000000 + uint32(n)<<11))
		}
	}
	return all
}

// TestStepsEncode has numbers at which the bits of texels change encoded as the codec does.
func TestStepsEncode(t *testing.T) {
	if !vectors() {
		t.Skip("needs AVX2")
	}
	random := rand.New(rand.NewPCG(13, 14))
	for _, f := range colorFormats() {
		p, codec := planOf(f, Blend{ColorWriteMask: 15})
		if p == nil || codec.Class() != texel.Float || p.takes {
			continue
		}
		all := floatsAround(codec.Channels()[0], random)
		for ; len(all) >= stepLanes; all = all[stepLanes:] {
			var src [stepLanes][4]float64
			for lane, v := range all[:stepLanes] {
				for k := range 4 {
					v := math.Float32frombits(math.Float32bits(v) ^ uint32(k&1)<<31)
					p.memory[planSource+k][lane], src[lane][k] = math.Float32bits(v), float64(v)
				}
			}
			want := make([]byte, stepLanes*codec.Size())
			codec.EncodeFloat(want, src[:])
			stepsOf(t, p, func() {
				for lane := range stepLanes {
					var got [16]byte
					for k, row := range p.made {
						binary.LittleEndian.PutUint32(got[4*k:], p.memory[row][lane])
					}
					if w := want[lane*codec.Size():][:codec.Size()]; string(got[:len(w)]) != string(w) {
						t.Fatalf("%v: %v is %x, not %x", f, src[lane], got[:len(w)], w)
					}
				}
			})
		}
	}
}
