package draw

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"farside/compute"
	"farside/internal/texel"
	"farside/internal/transfer"
	"farside/internal/vk"
	"farside/spirv"
)

// shareAlways has small draws go to several workers, in small tiles, and be filled while others are set up.
func shareAlways(t testing.TB, shift int) {
	cores, share, old, ahead := binCores, binShare, binShift, binAhead
	binCores, binShare, binShift, binAhead = 3, 1, shift, 5
	t.Cleanup(func() { binCores, binShare, binShift, binAhead = cores, share, old, ahead })
}

// same fails if two scenes have other bits or counts.
func (s *scene) same(t *testing.T, o *scene, what string) {
	t.Helper()
	for i, b := range s.images() {
		if !bytes.Equal(b, o.images()[i]) {
			t.Fatalf("%s: attachment %d differs", what, i)
		}
	}
	if s.stats != o.stats {
		t.Fatalf("%s: counts are %+v, not %+v", what, s.stats, o.stats)
	}
}

// TestBins has random draws give the same bits and counts in order and in bins, several draws one after the other.
func TestBins(t *testing.T) {
	shareAlways(t, 2)
	shaded := 0
	for seed := range uint64(600) {
		binShift = 1 + int(seed%4)
		var scenes [2]*scene
		for i := range scenes {
			s := randomScene(t, seed)
			s.InOrder = i == 0
			s.draw(t)
			for more := range seed % 3 { // on what is there
				next := randomScene(t, seed+1000*(more+1))
				next.InOrder, next.Statistics = s.InOrder, s.Statistics
				if next.state.Samples == s.state.Samples && next.pass.Area == s.pass.Area {
					next.pass = s.pass
				}
				next.draw(t)
			}
			scenes[i] = s
		}
		scenes[1].same(t, scenes[0], fmt.Sprintf("seed %d", seed))
		if scenes[0].stats.Samples > 0 {
			shaded++
		}
	}
	if shaded < 80 {
		t.Errorf("only %d draws have samples", shaded)
	}
}

// TestBinsOfMany has so many polygons that bins are emptied on the way, of all sizes.
func TestBinsOfMany(t *testing.T) {
	shareAlways(t, 3)
	for _, samples := range []uint32{1, 4} {
		var scenes [2]*scene
		for i := range scenes {
			s := newScene(t, vk.FORMAT_R8G8B8A8_UNORM, 200, 120, samples, 4)
			s.withDepth(t, vk.FORMAT_D24_UNORM_S8_UINT, samples)
			s.state.DepthTest, s.state.DepthWrite, s.state.DepthCompare = true, true, vk.COMPARE_OP_GREATER_OR_EQUAL
			s.state.Blends[0] = Blend{BlendEnable: 1, SrcColorBlendFactor: vk.BLEND_FACTOR_SRC_ALPHA,
				DstColorBlendFactor: vk.BLEND_FACTOR_ONE_MINUS_SRC_ALPHA, ColorWriteMask: 15}
			random := rand.New(rand.NewPCG(1, uint64(samples)))
			var data []float32
			for range mostBinned * 2 {
				x, y, size := random.Float32()*2-1, random.Float32()*2-1, random.Float32()*random.Float32()/4
				for range 3 {
					data = append(data, x+size*(random.Float32()-0.5), y+size*(random.Float32()-0.5), random.Float32(), 1)
					data = append(data, random.Float32(), random.Float32(), random.Float32(), random.Float32())
				}
			}
			s.vertices(data...)
			s.InOrder = i == 0
			s.draw(t)
			scenes[i] = s
		}
		scenes[1].same(t, scenes[0], "many triangles")
	}
}

// TestBinsEnd has workers stop, fail and panic, and all batches ended.
func TestBinsEnd(t *testing.T) {
	shareAlways(t, 2)
	fresh := func() (*scene, *goShader) {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 64, 64, 1, 1)
		s.full(0, 1)
		return s, s.state.Fragment.(*goShader)
	}
	s, fs := fresh()
	var asked atomic.Uint64
	s.Vertex.Stop = func(uint64) bool { return asked.Add(1) > 2 }
	if err := s.Execute(); !errors.Is(err, compute.ErrStopped) || fs.open.Load() != 0 {
		t.Errorf("the error is %v, and %d batches are open", err, fs.open.Load())
	}
	s, fs = fresh()
	bad := errors.New("bad")
	fs.err = bad
	if err := s.Execute(); !errors.Is(err, bad) || fs.open.Load() != 0 {
		t.Errorf("the error is %v, and %d batches are open", err, fs.open.Load())
	}
	s, fs = fresh()
	fs.code = func(*lane) bool { panic("bad") }
	func() {
		defer func() {
			if recover() != "bad" || fs.open.Load() != 0 {
				t.Errorf("the panic is lost, or %d batches are open", fs.open.Load())
			}
		}()
		_ = s.Execute()
	}()
}

// TestVectorBlends has writing and blending give the same bits on vectors and in Go: of every format, with all factors,
// operations, masks and numbers of samples.
func TestVectorBlends(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	t.Cleanup(func() { narrow = false })
	for _, f := range colorFormats() {
		codec, _ := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
		rounds := 60
		if codec.Class() != texel.Float {
			rounds = 15
		}
		for round := range rounds {
			vectorBlend(t, random, f, round)
		}
	}
}

// vectorBlend compares a random blend of random triangles.
func vectorBlend(t *testing.T, random *rand.Rand, f vk.Format, round int) {
	codec, _ := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
	numeric := numericOf(codec)
	factor := func() vk.BlendFactor { return vk.BlendFactor(random.IntN(19)) }
	blend := Blend{BlendEnable: vk.Bool32(min(round%5, 1)), SrcColorBlendFactor: factor(),
		DstColorBlendFactor: factor(), ColorBlendOp: vk.BlendOp(random.IntN(5)), SrcAlphaBlendFactor: factor(),
		DstAlphaBlendFactor: factor(), AlphaBlendOp: vk.BlendOp(random.IntN(5)),
		ColorWriteMask: vk.ColorComponentFlags(random.IntN(16))}
	if round%7 < 3 || !codec.Separable() {
		blend.ColorWriteMask = 15
	}
	var data []float32
	for range 30 {
		for range 3 {
			data = append(data, float32(random.NormFloat64()), float32(random.NormFloat64()), 0.5, 1)
			for range 4 {
				data = append(data, float32(random.NormFloat64()/2+0.5))
			}
		}
	}
	data[4], data[5], data[24+6] = float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))
	missing, samples := random.IntN(2), []uint32{1, 4, 1, 2, 1, 8, 4, 16}[round&7]
	mask, there := random.Uint32()|random.Uint32(), make([]byte, 16*1024*samples)
	for i := range there {
		there[i] = byte(random.Uint32())
	}
	constants := [4]float32{random.Float32() * 2, random.Float32(), -1, random.Float32()}
	var scenes [2]*scene
	for i := range scenes {
		s := newScene(t, f, 9, 9, samples, 4)
		s.vertices(data...)
		s.state.Blends[0], s.state.BlendConstants, s.state.AlphaToOne = blend, constants, round%11 == 0
		if round&2 != 0 {
			s.state.SampleMask = mask
		}
		out := join(varying(0, 4, numeric), varying(0, 4, numeric))
		for k := range 4 {
			out[4+k].Index = 1
		}
		fs := s.state.Fragment.(*goShader)
		fs.out = append(out[:4-missing:4-missing], out[4:]...)
		fs.code = func(l *lane) bool {
			for k := range l.out {
				l.out[k] = l.in[k&3]
				if numeric != compute.Float {
					l.out[k] = l.out[k] * 0x9e3779b9 >> (l.out[k] & 31)
				}
			}
			return true
		}
		copy(s.pass.Colors[0].Image.Bytes, there)
		s.InOrder, narrow = i == 0, round%3 == 0
		s.draw(t)
		scenes[i] = s
	}
	scenes[1].same(t, scenes[0], fmt.Sprintf("%v, round %d: %d samples, %+v", f, round, samples, blend))
}

// TestBinsHide has polygons that cover whole tiles hide what lies under them, and nothing else.
func TestBinsHide(t *testing.T) {
	shareAlways(t, 3)
	binAhead = mostBinned // what is filled before can't be hidden
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(5, seed))
		samples := []uint32{1, 4}[seed&1]
		var data []float32
		for range 40 {
			x, y, size := random.Float32()*2-1, random.Float32()*2-1, random.Float32()*4
			for range 3 {
				data = append(data, x+size*(random.Float32()-0.5), y+size*(random.Float32()-0.5), 0.5, 1)
				data = append(data, random.Float32(), random.Float32(), random.Float32(), random.Float32())
			}
		}
		var scenes [2]*scene
		var shaded [2]atomic.Int64
		for i := range scenes {
			s := newScene(t, vk.FORMAT_R8G8B8A8_UNORM, 70, 50, samples, 4)
			s.vertices(data...)
			s.InOrder, s.Statistics = i == 0, nil
			if seed%5 == 0 {
				s.state.Blends[0] = Blend{BlendEnable: 1, SrcColorBlendFactor: vk.BLEND_FACTOR_ONE,
					DstColorBlendFactor: vk.BLEND_FACTOR_ONE, ColorWriteMask: 15}
			}
			fs := s.state.Fragment.(*goShader)
			code := fs.code
			fs.code = func(l *lane) bool { shaded[i].Add(1); return code == nil || code(l) }
			s.draw(t)
			scenes[i] = s
		}
		scenes[1].same(t, scenes[0], fmt.Sprintf("seed %d", seed))
		hidden := shaded[1].Load() < shaded[0].Load()
		if hidden != (seed%5 != 0) {
			t.Errorf("seed %d: %d fragments in order, %d in bins", seed, shaded[0].Load(), shaded[1].Load())
		}
	}
}

// TestVectorInputs has the inputs of large triangles, which fill batches by themselves, have the same bits on vectors
// of all widths and in Go, in all ways to interpolate, at all places, with the same w at all corners and without.
// FragCoord and what a primitive says have so, too.
func TestVectorInputs(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	t.Cleanup(func() { narrow = false })
	for round := range 120 {
		var data []float32
		for range 3 * (1 + round%3) {
			w := 0.25 + 4*random.Float32()
			if round/60 == 1 {
				w = 3
			}
			data = append(data, w*(4*random.Float32()-2), w*(4*random.Float32()-2), 0.5*w, w)
			for range 4 {
				data = append(data, float32(random.NormFloat64()))
			}
		}
		var scenes [3]*scene
		for i := range scenes {
			s := newScene(t, vk.FORMAT_R32G32B32A32_SFLOAT, 41, 27, []uint32{1, 4}[round/3%2], 4)
			s.vertices(data...)
			fs := s.state.Fragment.(*goShader)
			place := []compute.Place{compute.AtCenter, compute.AtCentroid, compute.AtSample}[round/6%3]
			fs.modes.PerSample = place == compute.AtSample
			for k := range fs.in {
				fs.in[k].Place = place
				fs.in[k].Interpolation = []compute.Interpolation{compute.Perspective, compute.Linear, compute.Flat}[round%3]
			}
			if round%4 == 3 {
				fs.in = builtins(spirv.BuiltInFragCoord, 4)
			}
			if round%8 == 5 {
				fs.in = join(builtins(spirv.BuiltInFrontFacing, 1), builtins(spirv.BuiltInPrimitiveId, 1), fs.in[:2])
			}
			s.InOrder, narrow = i == 0, i == 1
			s.draw(t)
			scenes[i] = s
		}
		scenes[1].same(t, scenes[0], fmt.Sprintf("round %d, narrow vectors", round))
		scenes[2].same(t, scenes[0], fmt.Sprintf("round %d, wide vectors", round))
	}
}

// randomCorners are those of some triangles that reach beyond the viewport and its depths, each with four values in
// between two.
func randomCorners(random *rand.Rand, low, high float32) (data []float32) {
	for range 3 * (1 + random.IntN(12)) {
		data = append(data, 3*random.Float32()-1.5, 3*random.Float32()-1.5, 1.4*random.Float32()-0.2, 1)
		for range 4 {
			data = append(data, (high-low)*random.Float32()+low)
		}
	}
	return data
}

// threeWays draws a scene in order in Go, with AVX2 and with AVX-512, compares bits and counts, and says whether there
// are samples.
func threeWays(t *testing.T, scenes func() *scene, what string) bool {
	t.Helper()
	defer func() { narrow = false }()
	var inOrder *scene
	for i := range 3 {
		s := scenes()
		s.InOrder, narrow = i == 0, i == 1
		s.draw(t)
		if i == 0 {
			inOrder = s
			continue
		}
		s.same(t, inOrder, fmt.Sprintf("%s, vectors %d", what, i))
	}
	return inOrder.stats.Samples > 0
}

// randomBounds are bounds of depth for a scene with that attachment: mostly none, some of which are what is stored, and
// NaN.
func randomBounds(random *rand.Rand) func(t *testing.T, s *scene, img *transfer.Image) {
	on, sorted := random.IntN(2) == 0, random.IntN(4) > 0
	var kinds [2]int
	var numbers [2]float32
	for i := range 2 {
		kinds[i], numbers[i] = random.IntN(1000), random.Float32()
		if kinds[i]%8 == 0 {
			numbers[i] = math.Float32frombits([]uint32{0x3f3f3f3f, 0x7fc00000, 0x3f800000, 0, 1 << 31}[random.IntN(5)])
		}
	}
	return func(t *testing.T, s *scene, img *transfer.Image) {
		bounds := numbers
		for i, kind := range kinds {
			if kind%4 != 0 && s.pass.has(vk.IMAGE_ASPECT_DEPTH_BIT) {
				e := s.pass.Area.Extent
				bounds[i] = float32(s.float(t, img, kind/8%int(e.Width), kind/64%int(e.Height), 0)[0])
			}
		}
		if sorted && bounds[0] > bounds[1] {
			bounds[0], bounds[1] = bounds[1], bounds[0]
		}
		s.state.DepthBounds, s.state.MinDepth, s.state.MaxDepth = on, bounds[0], bounds[1]
	}
}

// TestVectorDepths has tests of depth and its bounds give the same bits and counts on vectors and in Go.
func TestVectorDepths(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 8))
	passed := 0
	for round := range 600 {
		f, samples := depthFormats[round%len(depthFormats)], []uint32{1, 4, 1, 2, 8, 16}[random.IntN(6)]
		width, height := uint32(1+random.IntN(150)), uint32(1+random.IntN(20))
		data := randomCorners(random, 0, 1)
		stored := make([]byte, 97)
		for i := range stored {
			stored[i] = byte(random.Uint32() & random.Uint32())
		}
		op, mask := vk.CompareOp(random.IntN(8)), random.Uint32()|random.Uint32()|random.Uint32()
		choices, scissor, bounds := random.Uint32(), random.IntN(4), randomBounds(random)
		some := threeWays(t, func() *scene {
			s := newScene(t, vk.FORMAT_R8G8B8A8_UNORM, width, height, samples, 4)
			img := s.withDepth(t, f, samples)
			for k := range img.Bytes {
				img.Bytes[k] = stored[k%len(stored)]
				if k%4 == 3 {
					img.Bytes[k] = []byte{0x3f, 0x3e, 0x7f, 0xff}[k/4%4] // floats below 1, or NaN
				}
			}
			s.state.DepthTest, s.state.DepthWrite, s.state.DepthCompare = choices>>8&7 != 0, choices&3 != 0, op
			bounds(t, s, img)
			if choices>>11&3 == 0 { // edges that go through pixels
				v := &s.state.Viewports[0]
				v.X, v.Y, v.Width, v.Height = v.Width/8+0.3, v.Height/8+0.7, v.Width*0.7, v.Height*0.7
			}
			s.state.DepthClip, s.state.DepthClamp = choices&4 != 0, choices&8 != 0
			s.state.SampleMask = mask
			s.state.Scissors[0].Offset.X = int32(scissor)
			fs := s.state.Fragment.(*goShader)
			fs.in = join(fs.in, builtins(spirv.BuiltInSampleMask, 1))
			fs.modes = compute.StageModes{EarlyTests: choices&16 != 0, PostDepth: choices&32 != 0}
			fs.code = func(l *lane) bool {
				copy(l.out, l.in)
				l.out[3] = l.in[4] << 27 >> 2 // a float that tells which samples there were
				return true
			}
			if choices>>6&3 == 0 {
				s.state.Fragment = nil
			}
			s.vertices(data...)
			return s
		}, fmt.Sprintf("round %d: %v, %v, %d samples", round, f, op, samples))
		if some {
			passed++
		}
	}
	if passed < 200 {
		t.Errorf("only %d draws have samples", passed)
	}
}
