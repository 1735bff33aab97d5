package compute

import (
	"math"
	"testing"

	"farside/spirv"
)

// setupOf is a made-up primitive: what a driver tells a shader that interpolates by itself.
type setupOf struct {
	origin  [2]float64
	planes  [5][3]float64 // 1/w; perspective weights; linear weights
	samples [16]uint32    // bytes
}

var testSetup = setupOf{origin: [2]float64{3.25, -7.5},
	planes: [5][3]float64{{0.01, 0.02, 0.7}, {0.03, -0.01, 0.1}, {-0.02, 0.05, 0.3}, {0.011, 0.07, 0.2}, {0.05, 0.013, 0}},
	samples: [16]uint32{0x26, 0x6e, 0xa2, 0xea, 0x88, 0x88, 0x88, 0x88, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0xff}}

// at evaluates an attribute at a place, as draws do.
func (s *setupOf) at(x, y float64, linear bool, a [3]float64) uint32 {
	dx, dy := x-s.origin[0], y-s.origin[1]
	plane := func(k int) float64 {
		p := &s.planes[k]
		return p[2] + (float64(p[0]*dx) + float64(p[1]*dy))
	}
	var b1, b2 float64
	if linear {
		b1, b2 = plane(3), plane(4)
	} else {
		scale := 1 / plane(0)
		b1, b2 = plane(1)*scale, plane(2)*scale
	}
	return bits32(float32(a[0] + (float64(b1*a[1]) + float64(b2*a[2]))))
}

// word is what a component of the set-up is in a lane whose pixel is (lane, 2*lane).
func (s *setupOf) word(component uint32, half uint8, lane int) uint32 {
	wide := func(x float64) uint32 { return uint32(math.Float64bits(x) >> (32 * half)) }
	switch {
	case component < SetupSamples:
		return uint32(lane) << component
	case component < SetupOrigin:
		list := s.samples[4*(component-SetupSamples):]
		return list[0] | list[1]<<8 | list[2]<<16 | list[3]<<24
	case component < SetupReciprocal:
		return wide(s.origin[component-SetupOrigin])
	}
	return wide(s.planes[(component-SetupReciprocal)/3][(component-SetupReciprocal)%3])
}

// attribute is what the component of a location has at the vertices.
func attribute(location, component uint32) [3]float64 {
	return [3]float64{float64(location) + 0.25, float64(component)*1.7 - 1, 0.1 * float64(location*component+1)}
}

// fillInterpolants fills all inputs that a shader reads; those at places have a number of their place, the others their
// location.
func fillInterpolants(b *batchOf, extra map[uint32]func(lane int) uint32) {
	for i, v := range b.p.Inputs() {
		dst := b.Input(i)
		a := attribute(v.Location, v.Component)
		for lane := range dst {
			switch {
			case v.BuiltIn == BuiltInSetup:
				dst[lane] = testSetup.word(v.Component, v.Half, lane)
			case v.Term == TermFirst:
				dst[lane] = bits32(float32(a[0]))
			case v.Term != 0:
				dst[lane] = uint32(math.Float64bits(a[v.Term-TermFirst]) >> (32 * v.Half))
			case extra[v.Location] != nil:
				dst[lane] = extra[v.Location](lane)
			default:
				dst[lane] = bits32(float32(v.Location*10+v.Component) + float32(v.Place)*100)
			}
		}
	}
}

const interpolateShader = `#version 450
layout(location = 0) in vec3 a;
layout(location = 1) noperspective centroid in vec2 b;
layout(location = 2) in float list[3];
layout(location = 5) in mat2 m;
layout(location = 7) in Block { vec2 p; layout(location = 9) noperspective float q[12]; } block;
layout(location = 30) flat in vec4 f;
layout(location = 0) out vec4 color[4];
layout(push_constant) uniform Push { int zero; } push;
void main() {
	int n = int(f.x);
	vec2 at = f.yz;
	color[0] = vec4(interpolateAtOffset(a, at).xz, interpolateAtSample(b, n));
	color[1].x = interpolateAtSample(list[n % 3], n);
	color[1].yz = interpolateAtOffset(m[1], at);
	color[1].w = interpolateAtOffset(a.y, vec2(-0.5, 0.5));
	color[2].x = interpolateAtSample(block.q[n % 12], n);
	color[2].yz = interpolateAtCentroid(block.p);
	color[2].w = interpolateAtCentroid(list[n % 3]);
	color[3].xy = interpolateAtSample(f, n).xw;
	if (n > 9) color[3].zw = interpolateAtSample(b, 3);
	else color[3].zw = interpolateAtOffset(block.p, vec2(0));
}`

// TestInterpolateAt evaluates scalars, components, elements, columns and members at places that differ between lanes.
func TestInterpolateAt(t *testing.T) {
	eachWay(t, "frag", interpolateShader, func(t *testing.T, p *Program) {
		b := newBatchOf(t, p)
		number := func(lane int) uint32 { return uint32(lane*5) % 24 }
		offset := func(lane, axis int) float32 {
			if lane == 17 {
				return float32(math.Inf(1))
			}
			return float32(lane-30)/17 + float32(axis)
		}
		fillInterpolants(b, map[uint32]func(int) uint32{30: func(int) uint32 { return 0 }})
		b.fill(Variable{Location: 30}, func(lane int) uint32 { return bits32(float32(number(lane))) })
		for axis := range 2 {
			b.fill(Variable{Location: 30, Component: uint32(axis + 1)},
				func(lane int) uint32 { return bits32(offset(lane, axis)) })
		}
		b.run(environment(), b.all(), b.all())
		same := func(name string, lane int, v Variable, want uint32) {
			t.Helper()
			got := b.output(v)[lane]
			nan := math.Float32frombits(want) != math.Float32frombits(want)
			if got != want && !(nan && math.Float32frombits(got) != math.Float32frombits(got)) {
				t.Errorf("%s, lane %d: %v, want %v", name, lane, math.Float32frombits(got), math.Float32frombits(want))
			}
		}
		out := func(location, component uint32) Variable { return Variable{Location: location, Component: component} }
		for lane := range b.Lanes() {
			n := number(lane)
			x, y := float64(lane), float64(2*lane)
			atOffset := func(location, component uint32, linear bool, dx, dy float32) uint32 {
				return testSetup.at(x+0.5+float64(dx), y+0.5+float64(dy), linear, attribute(location, component))
			}
			atSample := func(location, component uint32, linear bool, n uint32) uint32 {
				s := testSetup.samples[n&15]
				return testSetup.at(x+float64(s&15)/16, y+float64(s>>4)/16, linear, attribute(location, component))
			}
			dx, dy := offset(lane, 0), offset(lane, 1)
			same("offset", lane, out(0, 0), atOffset(0, 0, false, dx, dy))
			same("offset", lane, out(0, 1), atOffset(0, 2, false, dx, dy))
			same("linear sample", lane, out(0, 2), atSample(1, 0, true, n))
			same("linear sample", lane, out(0, 3), atSample(1, 1, true, n))
			same("element", lane, out(1, 0), atSample(2+n%3, 0, false, n))
			same("column", lane, out(1, 1), atOffset(6, 0, false, dx, dy))
			same("column", lane, out(1, 2), atOffset(6, 1, false, dx, dy))
			same("component", lane, out(1, 3), atOffset(0, 1, false, -0.5, 0.5))
			same("element of a block", lane, out(2, 0), atSample(9+n%12, 0, true, n))
			same("centroid of a member", lane, out(2, 1), bits32(70+100))
			same("centroid of a member", lane, out(2, 2), bits32(71+100))
			same("centroid of an element", lane, out(2, 3), bits32(float32(2+n%3)*10+100))
			same("flat", lane, out(3, 0), bits32(float32(n)))
			same("flat", lane, out(3, 1), 0)
			want := [2]uint32{atOffset(7, 0, false, 0, 0), atOffset(7, 1, false, 0, 0)}
			if n > 9 {
				want = [2]uint32{atSample(1, 0, true, 3), atSample(1, 1, true, 3)}
			}
			same("branch", lane, out(3, 2), want[0])
			same("branch", lane, out(3, 3), want[1])
		}
	})
}

// TestInterpolateSampleRate says what makes a shader run for each sample: an input at samples does, InterpolateAtSample
// doesn't.
func TestInterpolateSampleRate(t *testing.T) {
	for qualifier, want := range map[string]bool{"": false, "centroid": false, "sample": true} {
		words := stageWords(t, "frag", `#version 450
layout(location = 0) `+qualifier+` in vec2 a;
layout(location = 0) out vec4 c;
void main() { c = vec4(interpolateAtSample(a, 1), interpolateAtCentroid(a)); }`)
		m, err := spirv.Decode(words)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(m, "main", Options{Stage: StageFragment, SubgroupSize: 8})
		if err != nil {
			t.Fatal(err)
		}
		if p.Stage().PerSample != want {
			t.Errorf("%q: PerSample is %v", qualifier, !want)
		}
	}
}
