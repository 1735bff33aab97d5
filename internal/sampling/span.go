package sampling

import (
	"math"

	"farside/internal/lanes"
)

// SpanLanes is the lanes of a span.
const SpanLanes = lanes.SpanLanes

// Span is what is sampled at once by a routine for many lanes, and the work on it. Lanes that don't count may ask for
// anything.
type Span struct {
	Coordinates [2]lanes.SpanWords
	Dx, Dy      [2]lanes.SpanWords // derivatives
	Lod         lanes.SpanWords
	Result      [4]lanes.SpanWords

	other         [4]lanes.SpanWords
	first, second lanes.SpanWords // levels
	weights       lanes.SpanWords // of the second ones
	pairs         [2][SpanLanes / lanes.PlaneWidth]lanes.PlanePairs
}

// plane is what a routine for spans knows: of a view with two axes, and filters that lie inside of it.
type plane struct {
	axes [2]lanes.PlaneAxis
	lods lanes.PlaneLods
}

// newPlane makes the plane of a routine; nil where it samples otherwise.
func (r *Routine) newPlane() *plane {
	v, s := r.view, r.sampler
	ok := v.format.HasPlanes() && r.quads && v.axes == 2 && !v.arrayed && r.sources == nil && !s.unnormalized &&
		len(v.levels) <= lanes.PlaneLevels && len(v.data) <= math.MaxInt32
	switch {
	case !ok:
		return nil
	case r.levels == firstLevel && !r.mag:
		return nil
	case r.levels == someLevels && !(r.mag && r.min && r.instruction.mode != LodZero):
		return nil
	case r.levels == anisotropic:
		return nil
	}
	p := &plane{lods: lanes.PlaneLods{Width: v.levels[0].texels[0], Height: v.levels[0].texels[1],
		Bias: min(max(s.bias, -MaxLodBias), MaxLodBias), Least: s.minLod, Most: s.maxLod,
		Last: float32(len(v.levels) - 1), MipLinear: s.mipLinear}}
	if l := &p.lods; l.Bias != l.Bias || l.Least != l.Least || l.Most != l.Most {
		return nil
	}
	for axis := range p.axes {
		a := &p.axes[axis]
		a.PowersOfTwo = true
		for n := range v.levels {
			from := &v.levels[n].Axes[axis]
			if !from.Vectors {
				return nil
			}
			a.Size[n], a.Step[n] = from.Size[0], int32(from.Step[0])
			a.PowersOfTwo = a.PowersOfTwo && a.Size[n]&(a.Size[n]-1) == 0
		}
	}
	for n := range v.levels {
		p.axes[1].Start[n] = int32(v.levels[n].Start[0])
	}
	return p
}

// Spans says whether SampleSpan can be called for lookups by HasOffset, HasBias, HasMinLod and Compare all false.
func (r *Routine) Spans() bool { return r != nil && r.plane != nil }

// SampleSpan is Sample for so many lanes. It gives false where it can't: derivatives may be such that only Sample has
// their level of detail.
func (r *Routine) SampleSpan(s *Span, n int) bool {
	p := r.plane
	two := false
	if r.levels == firstLevel {
		clear(s.first[:])
	} else {
		if r.instruction.mode == LodGradient && !p.lods.Lods(&s.Lod, &s.Dx, &s.Dy, n) {
			return false
		}
		two = p.lods.Levels(&s.first, &s.second, &s.weights, &s.Lod, n)
	}
	r.spanLevel(s, &s.Result, &s.first, n)
	if two {
		r.spanLevel(s, &s.other, &s.second, n)
		lanes.MixSpan(&s.Result, &s.other, &s.weights, n)
	}
	return true
}

// spanLevel samples one level in each lane.
func (r *Routine) spanLevel(s *Span, dst *[4]lanes.SpanWords, levels *lanes.SpanWords, n int) {
	for axis := range r.plane.axes {
		r.plane.axes[axis].Pairs(r.modes[axis], &s.pairs[axis], &s.Coordinates[axis], levels, n)
	}
	r.view.format.Plane(dst, r.view.data, &s.pairs[0], &s.pairs[1], n)
}

// Component is a component of what SampleSpan has found.
func (r *Routine) Component(s *Span, c int) *lanes.SpanWords {
	switch from := r.view.swizzle[c&3]; from {
	case swizzleZero:
		return &zeros
	case swizzleOne:
		return &units
	default:
		return &s.Result[from&3]
	}
}

// zeros and units are spans of 0 and 1.
var zeros, units = lanes.SpanWords{}, func() (w lanes.SpanWords) {
	for i := range w {
		w[i] = bits(1)
	}
	return w
}()
