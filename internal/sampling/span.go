package sampling

import (
	"math"

	"farside/internal/lanes"
	"farside/internal/vk"
)

// SpanLanes is the lanes of a span.
const SpanLanes = lanes.SpanLanes

// Span is what is sampled at once by a routine for many lanes, and the work on it. Lanes that don't count may ask for
// anything.
type Span struct {
	Coordinates [3]lanes.SpanWords // along the axes, then the layer
	Dx, Dy      [2]lanes.SpanWords // derivatives
	Lod         lanes.SpanWords
	Bias        float32         // of levels of detail from derivatives, in all lanes
	Shift       [2]int32        // of texels along the axes, in all lanes
	References  lanes.SpanWords // of comparisons
	Result      [4]lanes.SpanWords

	other         [4]lanes.SpanWords
	taps          [4]lanes.SpanWords // one component of the texels that a filter takes
	first, second lanes.SpanWords    // levels
	weights       lanes.SpanWords    // of the second ones
	pairs         [2][SpanLanes / lanes.PlaneWidth]lanes.PlanePairs
	footprints    footprints
}

// plane is what a routine for spans knows: of a view with two axes and maybe layers.
type plane struct {
	samples bool // it can do more than to gather
	axes    [3]lanes.PlaneAxis
	lods    lanes.PlaneLods
	linear  bool // the filter, of both
}

// newPlane makes the plane of a routine; nil where it samples otherwise.
func (r *Routine) newPlane() *plane {
	v, s := r.view, r.sampler
	ok := v.format.HasPlanes() && v.axes == 2 && !v.cube && r.sources == nil &&
		!s.unnormalized && s.reduction == vk.SAMPLER_REDUCTION_MODE_WEIGHTED_AVERAGE &&
		len(v.levels) <= lanes.PlaneLevels && len(v.data) <= math.MaxInt32
	if !ok {
		return nil
	}
	samples := r.levels == firstLevel || r.mag == r.min && r.instruction.mode != LodZero
	size := &v.levels[0].texels
	p := &plane{samples: samples, linear: r.mag, lods: lanes.PlaneLods{Width: size[0], Height: size[1],
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

// Spans says whether SampleSpan can be called for lookups by HasMinLod false.
func (r *Routine) Spans() bool { return r.Gathers() && r.plane.samples }

// Gathers says whether GatherSpan can be called.
func (r *Routine) Gathers() bool { return r != nil && r.plane != nil }

// Derivatives says whether SampleSpan reads Dx and Dy.
func (r *Routine) Derivatives() bool {
	return r.levels != firstLevel && r.instruction.mode == LodGradient
}

// SampleSpan is Sample for so many lanes. It gives false where it can't: derivatives may be such that only Sample has
// their level of detail, and texels may lie outside, where there is a border.
func (r *Routine) SampleSpan(s *Span, n int) bool {
	if r.levels == firstLevel {
		clear(s.first[:])
		return r.spanLevels(s, false, n)
	}
	lods, most := r.plane.lods, 1 // samples of a lane
	switch {
	case r.instruction.mode != LodGradient:
	case s.Bias != s.Bias:
		return false
	case r.sampler.anisotropy > 1:
		most = r.footprints(s, n)
	case !lods.Lods(&s.Lod, &s.Dx, &s.Dy, n):
		return false
	}
	if most == 0 {
		return false
	}
	if s.Bias != 0 {
		lods.Bias = min(max(r.sampler.bias+s.Bias, -MaxLodBias), MaxLodBias)
	}
	two := lods.Levels(&s.first, &s.second, &s.weights, &s.Lod, n)
	if r.levels == anisotropic {
		return r.anisotropicSpan(s, two, n, most)
	}
	return r.spanLevels(s, two, n)
}

// spanLevels samples one or two levels in each lane.
func (r *Routine) spanLevels(s *Span, two bool, n int) bool {
	if !r.spanLevel(s, &s.Result, &s.first, n) {
		return false
	}
	if two && r.view.format.Linear() {
		if !r.spanLevel(s, &s.other, &s.second, n) {
			return false
		}
		lanes.MixSpan(&s.Result, &s.other, &s.weights, n)
	}
	return true
}

// spanLevel samples one level in each lane.
func (r *Routine) spanLevel(s *Span, dst *[4]lanes.SpanWords, levels *lanes.SpanWords, n int) bool {
	v, p := r.view, r.plane
	for axis := range v.axes {
		a, to, u, inside := &p.axes[axis], &s.pairs[axis], &s.Coordinates[axis], false
		if p.linear {
			inside = a.Pairs(r.modes[axis], to, u, levels, s.Shift[axis&1], n)
		} else {
			inside = a.Nearest(r.modes[axis], to, u, levels, s.Shift[axis&1], n)
		}
		if !inside {
			return false
		}
	}
	if v.arrayed {
		p.axes[2].Layers(&s.pairs[1], &s.Coordinates[2], levels, n)
	}
	switch {
	case r.instruction.compare:
		r.compareSpan(s, dst, n)
	case p.linear:
		v.format.Plane(dst, v.data, &s.pairs[0], &s.pairs[1], n)
	default:
		v.format.PlaneNearest(dst, v.data, &s.pairs[0], &s.pairs[1], n)
	}
	return true
}

// sides are the offsets of pairs along x and y of the texels that a filter takes.
var sides = [4][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}}

// compareSpan compares with the texels that have been found, and filters what comes of it.
func (r *Routine) compareSpan(s *Span, dst *[4]lanes.SpanWords, n int) {
	v, asked := r.view, sides[:1]
	if r.plane.linear {
		asked = sides[:]
	}
	for i, side := range asked {
		v.format.PlaneTexel(dst, v.data, &s.pairs[0], &s.pairs[1], side, n)
		lanes.CompareSpan(&s.taps[i], &s.References, &dst[0], r.sampler.compare, v.format.Unorm, n)
	}
	if r.plane.linear {
		lanes.BilinearSpan(&dst[0], &s.taps, &s.pairs[0], &s.pairs[1], n)
	} else {
		dst[0] = s.taps[0]
	}
	dst[1], dst[2], dst[3] = zeros, zeros, units
}

// GatherSpan is Gather for so many lanes, without offsets of each texel, whose results are Result. It gives false where
// a texel lies outside, or the component is a constant.
func (r *Routine) GatherSpan(s *Span, component uint32, n int) bool {
	v, p := r.view, r.plane
	if r.instruction.compare {
		component = 0
	}
	from := v.swizzle[component&3]
	if from >= swizzleZero || r.instruction.compare && from != 0 {
		return false
	}
	clear(s.first[:])
	for axis := range v.axes {
		a := &p.axes[axis]
		if !a.Pairs(r.modes[axis], &s.pairs[axis], &s.Coordinates[axis], &s.first, s.Shift[axis&1], n) {
			return false
		}
	}
	if v.arrayed {
		p.axes[2].Layers(&s.pairs[1], &s.Coordinates[2], &s.first, n)
	}
	for i, tap := range [4]int{2, 3, 1, 0} {
		v.format.PlaneTexel(&s.other, v.data, &s.pairs[0], &s.pairs[1], sides[tap], n)
		if r.instruction.compare {
			lanes.CompareSpan(&s.Result[i], &s.References, &s.other[0], r.sampler.compare, v.format.Unorm, n)
		} else {
			s.Result[i] = s.other[from]
		}
	}
	return true
}

// Component is a component of what SampleSpan has found.
func (r *Routine) Component(s *Span, c int) *lanes.SpanWords {
	switch from := r.view.swizzle[c&3]; from {
	case swizzleZero:
		return &zeros
	case swizzleOne:
		if r.view.one() == 1 {
			return &integerUnits
		}
		return &units
	default:
		return &s.Result[from&3]
	}
}

// Coordinates is how many coordinates a span has for the routine.
func (r *Routine) Coordinates() int {
	if r.view.arrayed {
		return r.view.axes + 1
	}
	return r.view.axes
}

// spanOf is a span of a word.
func spanOf(word uint32) (w lanes.SpanWords) {
	for i := range w {
		w[i] = word
	}
	return w
}

// Spans of 0, and of 1 as a float and as an integer.
var zeros, units, integerUnits = spanOf(0), spanOf(bits(1)), spanOf(1)
