package sampling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"farside/internal/lanes"
	"farside/internal/vk"
)

// spanFormats has one format for each way in which texels are decoded, and more.
var spanFormats = []vk.Format{
	vk.FORMAT_R8_UNORM, vk.FORMAT_R8G8_UNORM, vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_B8G8R8A8_UNORM, vk.FORMAT_R8_SNORM,
	vk.FORMAT_R8G8_SNORM, vk.FORMAT_R8G8B8A8_SNORM, vk.FORMAT_R16_UNORM, vk.FORMAT_R16G16_UNORM,
	vk.FORMAT_R16G16B16A16_UNORM, vk.FORMAT_R16_SNORM, vk.FORMAT_R16G16_SNORM, vk.FORMAT_R16G16B16A16_SNORM,
	vk.FORMAT_R16_SFLOAT, vk.FORMAT_R16G16_SFLOAT, vk.FORMAT_R16G16B16A16_SFLOAT, vk.FORMAT_R32_SFLOAT,
	vk.FORMAT_R32G32_SFLOAT, vk.FORMAT_R32G32B32A32_SFLOAT, vk.FORMAT_A2B10G10R10_UNORM_PACK32,
	vk.FORMAT_A2R10G10B10_UNORM_PACK32, vk.FORMAT_E5B9G9R9_UFLOAT_PACK32, vk.FORMAT_X8_D24_UNORM_PACK32,
	vk.FORMAT_R8_UINT, vk.FORMAT_R8G8_UINT, vk.FORMAT_R8G8B8A8_UINT, vk.FORMAT_R8_SINT, vk.FORMAT_R8G8_SINT,
	vk.FORMAT_R8G8B8A8_SINT, vk.FORMAT_R16_UINT, vk.FORMAT_R16G16_UINT, vk.FORMAT_R16G16B16A16_UINT, vk.FORMAT_R16_SINT,
	vk.FORMAT_R16G16_SINT, vk.FORMAT_R16G16B16A16_SINT, vk.FORMAT_R32_UINT, vk.FORMAT_R32G32_SINT,
	vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_R8G8B8A8_SRGB, vk.FORMAT_B8G8R8A8_SRGB,
	vk.FORMAT_R8_SRGB, vk.FORMAT_R8G8_SRGB,
	vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_B10G11R11_UFLOAT_PACK32,
}

// randomSpan fills what a span asks for: some quads have derivatives of their own, some lanes others than their quad.
func randomSpan(r *rand.Rand, s *Span, alike bool) {
	number := func(scale float64) uint32 { return bits(float32(r.NormFloat64() * scale)) }
	for i := range SpanLanes {
		for axis := range 3 {
			s.Coordinates[axis][i] = number(2)
			if r.IntN(40) == 0 {
				s.Coordinates[axis][i] = []uint32{0, bits(1), bits(1e30), bits(float32(math.NaN())), bits(-1e-30),
					bits(float32(math.Inf(-1)))}[r.IntN(6)]
			}
		}
		for axis := range 2 {
			s.Dx[axis][i], s.Dy[axis][i] = number(0.05), number(0.05)
			switch {
			case i%4 > 0 && (alike || r.IntN(50) > 0):
				s.Dx[axis][i], s.Dy[axis][i] = s.Dx[axis][i-1], s.Dy[axis][i-1]
			case r.IntN(20) == 0:
				s.Dx[axis][i], s.Dy[axis][i] = 0, 0
			}
		}
		s.Lod[i] = number(4)
		if r.IntN(40) == 0 {
			s.Lod[i] = bits(float32(math.NaN()))
		}
	}
}

// spanCase is a span that is sampled at random, with what a lookup of its lanes asks for.
type spanCase struct {
	format  vk.Format
	v       *View // whose spans are compared with
	plain   *View // in Go
	info    *SamplerInfo
	sampler *Sampler
	q       *Lookup
	asked   Span
	n       int // lanes
}

func randomSpanCase(t *testing.T, r *rand.Rand, f vk.Format) *spanCase {
	c := &spanCase{format: f, n: Width * (1 + r.IntN(SpanLanes/Width))}
	extent := [3]uint32{1 + r.Uint32N(70), 1 + r.Uint32N(70), 1}
	if r.IntN(2) == 0 {
		extent = [3]uint32{1 << r.IntN(7), 1 << r.IntN(7), 1}
	}
	levels := uint32(1)
	for size := max(extent[0], extent[1]); size > 1; size /= 2 {
		levels++
	}
	viewType, layers := vk.ImageViewType(vk.IMAGE_VIEW_TYPE_2D), uint32(1)
	if r.IntN(3) == 0 {
		viewType, layers = vk.IMAGE_VIEW_TYPE_2D_ARRAY, 1+r.Uint32N(4)
	}
	p, _ := newPicture(t, r, f, viewType, extent, 1+r.Uint32N(levels), layers)
	if r.IntN(4) == 0 {
		p.info.Swizzle = vk.ComponentMapping{R: vk.ComponentSwizzle(r.IntN(7)), A: vk.ComponentSwizzle(r.IntN(7))}
	}
	var err error
	if c.v, err = newImageView(&p.info, true); err != nil {
		t.Fatal(err)
	}
	if c.plain, err = newImageView(&p.info, false); err != nil {
		t.Fatal(err)
	}
	c.info = randomSampler(r)
	c.info.MagFilter, c.info.MaxLod, c.info.MaxAnisotropy = c.info.MinFilter, 16, float32(r.IntN(4)*5)
	c.info.CompareOp = vk.CompareOp(r.IntN(8))
	c.sampler = NewSampler(c.info)
	c.q = &Lookup{Mode: []LodMode{LodExplicit, LodGradient}[r.IntN(2)], HasBias: true, HasOffset: true,
		Compare: c.v.format.Linear() && r.IntN(4) == 0}
	c.ask(r)
	return c
}

// ask fills what the span asks for.
func (c *spanCase) ask(r *rand.Rand) {
	s := &c.asked
	randomSpan(r, s, r.IntN(2) == 0)
	if r.IntN(2) == 0 {
		s.Bias, s.Shift = float32(r.NormFloat64()*6), [2]int32{r.Int32N(16) - 8, r.Int32N(16) - 8}
		if c.q.Mode == LodExplicit {
			s.Bias = 0
		}
	}
	for lane := range Width {
		c.q.Bias[lane] = bits(s.Bias)
		c.q.Offset[0][lane], c.q.Offset[1][lane] = uint32(s.Shift[0]), uint32(s.Shift[1])
	}
	for axis, mode := range c.info.AddressMode[:2] {
		if mode == vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER {
			for i := range s.Coordinates[axis] { // seldom outside
				s.Coordinates[axis][i] = bits(0.35 + 0.3*r.Float32())
			}
		}
	}
	for i := range s.References {
		s.References[i] = bits(float32(r.NormFloat64()))
		switch r.IntN(20) {
		case 0:
			s.References[i] = bits(float32(math.NaN()))
		case 1:
			s.References[i] = bits(1)
		}
	}
}

// check compares what a span has found with what chunks of lanes give in Go.
func (c *spanCase) check(t *testing.T, what string, got func(component int) *lanes.SpanWords,
	chunk func(want *Texels)) {
	t.Helper()
	for first := 0; first < c.n; first += Width {
		for axis := range 3 {
			copy(c.q.Coordinates[axis][:], c.asked.Coordinates[axis][first:])
		}
		for axis := range 2 {
			copy(c.q.Dx[axis][:], c.asked.Dx[axis][first:])
			copy(c.q.Dy[axis][:], c.asked.Dy[axis][first:])
		}
		copy(c.q.Lod[:], c.asked.Lod[first:])
		copy(c.q.Dref[:], c.asked.References[first:])
		var want Texels
		chunk(&want)
		for component := range want {
			got := got(component)[first:][:Width]
			for i, w := range want[component] {
				nan := float(w) != float(w) && float(got[i]) != float(got[i]) && c.v.format.Linear()
				if got[i] != w && !nan {
					t.Fatalf("%s: %v, %+v, mode %v, lane %d at %v, %v, component %d: %v, want %v", what, c.format, c.info,
						c.q.Mode, first+i, float(c.q.Coordinates[0][i]), float(c.q.Coordinates[1][i]), component,
						float(got[i]), float(w))
				}
			}
		}
	}
}

// TestSpans compares spans with chunks of lanes that are sampled in Go.
func TestSpans(t *testing.T) {
	if !lanes.Wide() {
		t.Skip("this processor has no AVX-512")
	}
	r := rand.New(rand.NewPCG(1, 2))
	done, borders, comparisons, gathered := 0, 0, 0, 0
	for round := range 3000 {
		c := randomSpanCase(t, r, spanFormats[round%len(spanFormats)])
		routine, s := c.v.Routine(c.sampler, c.q), c.asked
		if !routine.Spans() {
			t.Fatalf("%v with levels %d: no spans", c.format, len(c.v.levels))
		}
		if routine.SampleSpan(&s, c.n) {
			done++
			if slices.Contains(c.info.AddressMode[:2], vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER) {
				borders++
			}
			if c.q.Compare {
				comparisons++
			}
			c.check(t, "sampled", func(component int) *lanes.SpanWords { return routine.Component(&s, component) },
				func(want *Texels) { c.plain.Routine(c.sampler, c.q).Sample(want, c.q, All) })
		}
		s, c.q.Mode, c.q.HasBias = c.asked, LodZero, false
		component := r.Uint32N(4)
		if routine = c.v.Routine(c.sampler, c.q); !routine.Gathers() {
			t.Fatalf("%v can't gather", c.format)
		}
		if routine.GatherSpan(&s, component, c.n) {
			gathered++
			c.check(t, "gathered", func(component int) *lanes.SpanWords { return &s.Result[component] },
				func(want *Texels) { c.plain.Routine(c.sampler, c.q).Gather(want, c.q, component, nil, All) })
		}
	}
	if done < 2000 || borders < 100 || comparisons < 200 || gathered < 2000 {
		t.Errorf("only %d spans were sampled, %d with a border, %d with a comparison, and %d gathered", done, borders,
			comparisons, gathered)
	}
}

// TestSpanRefuses shows what spans leave to others.
func TestSpanRefuses(t *testing.T) {
	if !lanes.Wide() {
		t.Skip("this processor has no AVX-512")
	}
	r := rand.New(rand.NewPCG(3, 4))
	_, v := newPicture(t, r, vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{32, 32, 1}, 6, 1)
	linear := SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR, MaxLod: 16}
	for _, anisotropy := range []float32{1, 16} {
		info := linear
		info.MaxAnisotropy = anisotropy
		routine := v.Routine(NewSampler(&info), &Lookup{Mode: LodGradient})
		if !routine.Spans() {
			t.Fatalf("no spans of what they are for, with anisotropy %v", anisotropy)
		}
		for _, d := range []float64{math.NaN(), math.Inf(1), 1e-200 * 0x1p-900, 1e-44} {
			for at := range 4 {
				s := new(Span)
				randomSpan(r, s, true)
				[]*lanes.SpanWords{&s.Dx[0], &s.Dx[1], &s.Dy[0], &s.Dy[1]}[at][77] = bits(float32(d))
				want := d != d || math.IsInf(d, 0)
				if got := !routine.SampleSpan(s, SpanLanes); got != want {
					t.Errorf("a derivative of %v with anisotropy %v is refused: %v, want %v", d, anisotropy, got, want)
				}
			}
		}
	}
	for name, change := range map[string]func(s *SamplerInfo){
		"nearest":   func(s *SamplerInfo) { s.MinFilter = vk.FILTER_NEAREST },
		"reduction": func(s *SamplerInfo) { s.ReductionMode = vk.SAMPLER_REDUCTION_MODE_MAX },
		"NaN":       func(s *SamplerInfo) { s.MipLodBias = float32(math.NaN()) },
	} {
		info := linear
		change(&info)
		if v.Routine(NewSampler(&info), &Lookup{Mode: LodGradient}).Spans() {
			t.Errorf("%s: spans", name)
		}
	}
}

// BenchmarkSpans samples all lanes of a span; one operation is a lane.
func BenchmarkSpans(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, f := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R16G16B16A16_SFLOAT, vk.FORMAT_R8G8B8A8_SRGB} {
		_, v := newPicture(b, r, f, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{256, 256, 1}, 9, 1)
		for _, mip := range []vk.SamplerMipmapMode{vk.SAMPLER_MIPMAP_MODE_NEAREST, vk.SAMPLER_MIPMAP_MODE_LINEAR} {
			for _, anisotropy := range []float32{1, 4} {
				q := &Lookup{Mode: LodGradient}
				routine := v.Routine(NewSampler(&SamplerInfo{MagFilter: vk.FILTER_LINEAR, MinFilter: vk.FILTER_LINEAR,
					MipmapMode: mip, MaxLod: 16, MaxAnisotropy: anisotropy}), q)
				if !routine.Spans() {
					b.Skip("this processor has no AVX-512")
				}
				s := new(Span)
				for i := range SpanLanes {
					x, y := float64(i/4*2+i&1), float64(i>>1&1)
					s.Coordinates[0][i], s.Coordinates[1][i] = bits(float32(x/180)), bits(float32(y/180))
					s.Dx[0][i], s.Dy[1][i] = bits(1.0/180), bits(anisotropy/180)
				}
				b.Run(fmt.Sprintf("%v/%v/%v", f, mip, anisotropy), func(b *testing.B) {
					for i := 0; i < b.N; i += SpanLanes {
						routine.SampleSpan(s, SpanLanes)
					}
				})
			}
		}
	}
}
