package draw

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"farside/compute"
	"farside/internal/vk"
	"farside/spirv"
)

// setupVariables are what a shader reads that evaluates the component 0 of location 1 by itself.
func setupVariables(way compute.Interpolation) []compute.Variable {
	var all []compute.Variable
	for c := range uint32(compute.SetupEnd) {
		v := compute.Variable{IsBuiltIn: true, BuiltIn: compute.BuiltInSetup, Component: c, Width: 32, Numeric: compute.Uint}
		if all = append(all, v); c >= compute.SetupOrigin {
			v.Half = 1
			all = append(all, v)
		}
	}
	first := compute.Variable{Location: 1, Width: 32, Numeric: compute.Float, Interpolation: way}
	for _, term := range []compute.Term{compute.TermThird, compute.TermFirst, compute.TermSecond} {
		v := first
		if v.Term = term; term != compute.TermFirst {
			all = append(all, v)
			v.Half = 1
		}
		all = append(all, v)
	}
	center, centroid := first, first
	centroid.Place = compute.AtCentroid
	mask := compute.Variable{IsBuiltIn: true, BuiltIn: spirv.BuiltInSampleMask, Width: 32, Numeric: compute.Uint}
	return append(all, center, centroid, mask)
}

// evaluate is a shader that evaluates its input at the center of its pixel, or at a sample.
func evaluate(l *lane, linear bool, sample int) uint32 {
	double := func(i int) float64 { return math.Float64frombits(uint64(l.in[i]) | uint64(l.in[i+1])<<32) }
	setup := func(component int) float64 { return double(2*component - compute.SetupOrigin) }
	const terms = 2*compute.SetupEnd - compute.SetupOrigin
	var d [2]float64
	for axis := range d {
		at := uint32(8)
		if sample >= 0 {
			at = l.in[compute.SetupSamples+sample/4] >> (8*(sample%4) + 4*axis) & 15
		}
		d[axis] = float64(l.in[axis]) + float64(at)/16 - setup(compute.SetupOrigin+axis)
	}
	plane := func(c int) float64 {
		return math.FMA(setup(c), d[0], math.FMA(setup(c+1), d[1], setup(c+2)))
	}
	b1, b2 := 0.0, 0.0
	if linear {
		b1, b2 = plane(compute.SetupLinear), plane(compute.SetupLinear+3)
	} else {
		scale := 1 / plane(compute.SetupReciprocal)
		b1, b2 = plane(compute.SetupPerspective)*scale, plane(compute.SetupPerspective+3)*scale
	}
	first := float64(l.float(terms + 2))
	return math.Float32bits(float32(math.FMA(b1, double(terms+3), math.FMA(b2, double(terms), first))))
}

// TestSetupInputs has shaders evaluate an input where the driver does, in clipped triangles, lines and points: the
// bits are the same.
func TestSetupInputs(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	shaded := map[vk.PrimitiveTopology]int{}
	for round := range 300 {
		samples := []uint32{1, 4, 8}[round%3]
		way := []compute.Interpolation{compute.Perspective, compute.Linear}[round/3%2]
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 16, 16, samples, 2)
		s.state.Topology = vk.PrimitiveTopology(round / 6 % 4) // points, two of lines, triangles
		s.state.LineWidth = 3
		vs := s.state.Vertex.(*goShader)
		vs.out = join(vs.out, pointSize())
		vs.code = func(l *lane) bool { copy(l.out, l.in); l.set(6, 5.0); return true }
		in := setupVariables(way)
		s.state.Fragment = &goShader{in: in, out: floats(0, 1), code: func(l *lane) bool {
			center, centroid, mask := l.in[len(in)-3], l.in[len(in)-2], l.in[len(in)-1]
			sample := -1
			if all := uint32(1<<samples - 1); mask != all && mask != 0 {
				sample = bits.TrailingZeros32(mask)
			}
			linear := way == compute.Linear
			if got := evaluate(l, linear, -1); got != center {
				t.Errorf("round %d: %x at the center, the input is %x", round, got, center)
			}
			if got := evaluate(l, linear, sample); got != centroid {
				t.Errorf("round %d: %x at sample %d, the centroid is %x", round, got, sample, centroid)
			}
			shaded[s.state.Topology]++
			return true
		}}
		var v []float32
		for range 6 {
			for range 3 {
				v = append(v, float32(random.NormFloat64()))
			}
			v = append(v, float32(random.NormFloat64())+1.2, float32(random.NormFloat64()), 0)
		}
		s.vertices(v...)
		if s.draw(t); t.Failed() {
			return
		}
	}
	if len(shaded) != 4 {
		t.Errorf("so many fragments of each topology: %v", shaded)
	}
}

// TestSamplesWord has the center where there is no sample.
func TestSamplesWord(t *testing.T) {
	for samples, want := range map[uint32][4]uint32{
		1: {0x88888888, 0x88888888, 0x88888888, 0x88888888},
		4: {0xeaa26e26, 0x88888888, 0x88888888, 0x88888888},
	} {
		z := rasterizer{samples: int(samples), positions: samplePositions[samples]}
		for k := range want {
			if got := z.samplesWord(k); got != want[k] {
				t.Errorf("word %d of %d samples is %#x, not %#x", k, samples, got, want[k])
			}
		}
	}
}
