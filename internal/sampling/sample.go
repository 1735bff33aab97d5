package sampling

import (
	"math"
	mathbits "math/bits"

	"farside/internal/lanes"
	"farside/internal/vk"
)

// LodMode says how an instruction determines the level of detail.
type LodMode uint8

const (
	LodZero     LodMode = iota // by implicit derivatives, which a compute shader does not have: 0
	LodExplicit                // by Lookup.Lod
	LodGradient                // by Lookup.Dx and Lookup.Dy
)

// Lookup is what an instruction asks a sampler for. All members that count are 32-bit floats, but Offset. It has room
// for the work on it, so that one is kept for many calls.
type Lookup struct {
	Coordinates [4]Lanes // along the axes (cubes: a direction), then the layer
	Mode        LodMode
	Lod         Lanes
	Dx, Dy      [3]Lanes // derivatives of the coordinates along the axes
	Bias        Lanes
	MinLod      Lanes
	Offset      [3]Lanes // signed integers, in texels
	Dref        Lanes
	HasBias     bool
	HasMinLod   bool
	HasOffset   bool
	Compare     bool // with Dref: the result is red

	work work
}

// work is one Sample or Gather under way.
type work struct {
	r      *Routine
	q      *Lookup
	active Mask

	wide  bool            // the coordinates are those of u
	u     [3]lanes.Places // normalized coordinates along the axes; of cubes on the face
	z     [Width]int32    // layer and face, if the view has any
	level *lanes.Level    // that is sampled
	mixed lanes.Level     // of lanes that sample different ones
	base  lanes.Offsets   // of the level and the layer
	pairs [3]lanes.Pair
	shift Lanes // of a gather

	lambda  [Width]float32
	samples [Width]int        // along the longer derivative
	longer  [Width][3]float64 // that derivative, along the axes
}

// begin reads the coordinates that are not taken as they are.
func (p *work) begin(r *Routine, q *Lookup, active Mask) {
	v := r.view
	p.r, p.q, p.active, p.wide = r, q, active, v.cube
	switch {
	case v.cube:
		p.faces()
	case v.arrayed:
		last := v.levels[0].texels[2] - 1
		for i, c := range &q.Coordinates[v.axes] {
			p.z[i] = int32(layer(c, last))
		}
	}
}

// layer rounds and clamps a layer (chapter "Layer Selection"); NaN is 0.
func layer(c uint32, last float64) float64 {
	l := math.RoundToEven(float64(float(c)))
	if !(l > 0) {
		return 0
	}
	return min(l, last)
}

// levels samples the levels that the level of detail asks for.
func (p *work) levels(dst *Texels) {
	var c choice
	p.choose(&c)
	p.sampleLevels(dst, &c)
}

// choice is the levels that lanes sample.
type choice struct {
	high, low [Width]int32
	between   Lanes // weights of low
	linear    Mask  // who filters
	two       bool  // some weight isn't 0
}

// choose finds the levels that the level of detail asks for in the active lanes (chapter "Image Level(s) Selection").
func (p *work) choose(c *choice) {
	v, r := p.r.view, p.r
	last := float32(len(v.levels) - 1)
	before := -1
	for i := range Width {
		if !p.active.Has(i) {
			continue
		}
		lambda := p.lambda[i]
		if before >= 0 && lambda == p.lambda[before&(Width-1)] {
			c.high[i], c.low[i], c.between[i] = c.high[before], c.low[before], c.between[before]
			c.linear |= c.linear >> before & 1 << i
			before = i
			continue
		}
		before = i
		if lambda <= 0 && r.mag || lambda > 0 && r.min {
			c.linear |= 1 << i
		}
		d := min(max(lambda, 0), last)
		if !r.sampler.mipLinear {
			c.high[i] = int32(math.Ceil(float64(d)+0.5)) - 1
			continue
		}
		floor := int32(d)
		c.high[i], c.low[i] = floor, min(floor+1, int32(last))
		if w := d - float32(floor); w > 0 {
			c.between[i] = bits(w)
			c.two = true
		}
	}
}

// sampleLevels samples the levels of a choice in the active lanes.
func (p *work) sampleLevels(dst *Texels, c *choice) {
	p.sampleLevel(dst, &c.high, c.linear)
	if f := p.r.view.format; c.two && f.Linear() {
		var other Texels
		p.sampleLevel(&other, &c.low, c.linear)
		f.Mix(p.r.reduction, dst, &other, &c.between)
	}
}

// setLevel makes the levels of the active lanes those that are sampled.
func (p *work) setLevel(levels *[Width]int32) {
	all := p.r.view.levels
	first := levels[mathbits.TrailingZeros8(uint8(p.active))&(Width-1)]
	same := true
	for i, n := range levels {
		same = same && (n == first || !p.active.Has(i))
	}
	if p.level = &all[first].Level; same {
		return
	}
	for i, n := range levels {
		if !p.active.Has(i) {
			n = first
		}
		p.mixed.Take(i, &all[n].Level)
	}
	p.level = &p.mixed
}

// sampleLevel samples one level in each lane: filtered in the lanes of linear, the nearest texel in the others.
func (p *work) sampleLevel(dst *Texels, levels *[Width]int32, linear Mask) {
	p.setLevel(levels)
	switch {
	case linear&p.active == 0:
		p.nearest(dst)
	case p.active&^linear == 0:
		p.filter(dst)
	default:
		var other Texels
		p.nearest(&other)
		p.filter(dst)
		for c := range dst {
			for i := range Width {
				if !linear.Has(i) {
					dst[c][i] = other[c][i]
				}
			}
		}
	}
}

// combine brings two results of a filter together: a weighted average, or what the reduction mode says.
func (p *work) combine(dst, other *Texels, weights *Lanes) {
	if p.r.reduction == vk.SAMPLER_REDUCTION_MODE_WEIGHTED_AVERAGE {
		p.r.format().Average(dst, other, weights)
	} else {
		p.r.format().Mix(p.r.reduction, dst, other, weights)
	}
}

// texels reads a texel for each lane; negative offsets are the border. A comparison is done here, before any filter.
func (p *work) texels(dst *Texels, at *lanes.Offsets) {
	f := p.r.format()
	f.ReadOr(dst, p.r.view.data, at, &p.r.border)
	if !p.q.Compare {
		return
	}
	for i := range Width {
		reference := float(p.q.Dref[i])
		if f.Unorm { // chapter "Depth Compare Operation"
			reference = min(max(reference, 0), 1)
		}
		result := compared(p.r.sampler.compare, reference, float(dst[0][i]))
		dst.Set(i, &[4]uint32{bits(result), 0, 0, bits(1)})
	}
}

// units are what coordinates along an axis are multiplied with to be in texels.
func (p *work) units(axis int) *lanes.Places {
	if p.r.sampler.unnormalized {
		return &ones
	}
	return &p.level.Axes[axis].Texels
}

var ones = lanes.Places{1, 1, 1, 1, 1, 1, 1, 1}

// offset is what an instruction adds to a coordinate.
func (p *work) offset(axis int) *Lanes {
	if p.q.HasOffset {
		return &p.q.Offset[axis]
	}
	return &none
}

// start is where the layers of the lanes begin, in the levels that are sampled.
func (p *work) start() *lanes.Offsets {
	if v := p.r.view; !v.arrayed && !v.cube {
		return &p.level.Start
	}
	for i := range p.base {
		p.base[i] = p.level.Start[i] + int(p.z[i])*p.level.Axes[2].Step[i]
	}
	return &p.base
}

// nearest samples the nearest texels.
func (p *work) nearest(dst *Texels) {
	at := *p.start()
	for axis := range p.r.view.axes {
		var to lanes.Offsets
		a, mode := &p.level.Axes[axis], p.r.modes[axis]
		if p.wide {
			a.NearestWide(mode, &to, &p.u[axis], p.units(axis), p.offset(axis))
		} else {
			a.Nearest(mode, &to, &p.q.Coordinates[axis], p.units(axis), p.offset(axis))
		}
		for i, o := range &to {
			at[i] += o
		}
	}
	p.texels(dst, &at)
}

// filter samples with linear filtering (chapter "Texel Filtering").
func (p *work) filter(dst *Texels) {
	v := p.r.view
	if p.r.seamless {
		p.filterCube(dst)
		return
	}
	for axis := range v.axes {
		p.pair(axis, p.offset(axis))
	}
	start := p.start()
	switch {
	case !p.r.quads && v.axes == 1:
		p.row(dst, start)
	case !p.r.quads && v.axes == 2:
		p.plane(dst, start)
	case !p.r.quads:
		p.volume(dst, start)
	case v.axes == 2:
		v.format.Quad(dst, v.data, &p.pairs[0], &p.pairs[1], start)
	default:
		var other Texels
		for n, t := range [2]*Texels{dst, &other} {
			var slice lanes.Offsets
			for i, o := range start {
				slice[i] = o + p.pairs[2].At[n][i]
			}
			v.format.Quad(t, v.data, &p.pairs[0], &p.pairs[1], &slice)
		}
		v.format.Average(dst, &other, &p.pairs[2].Weights)
	}
}

// pair finds the texels around the coordinates along an axis, which are shifted by so many.
func (p *work) pair(axis int, shift *Lanes) {
	a, mode := &p.level.Axes[axis], p.r.modes[axis]
	if p.wide {
		a.PairsWide(mode, &p.pairs[axis], &p.u[axis], p.units(axis), shift)
	} else {
		a.Pairs(mode, &p.pairs[axis], &p.q.Coordinates[axis], p.units(axis), shift)
	}
}

// row filters along the first axis. base is where the axes above have come to.
func (p *work) row(dst *Texels, base *lanes.Offsets) {
	var other Texels
	for n, t := range [2]*Texels{dst, &other} {
		at := p.moved(base, 0, n)
		p.texels(t, &at)
	}
	p.combine(dst, &other, &p.pairs[0].Weights)
}

// plane filters along the second axis what is filtered along the first.
func (p *work) plane(dst *Texels, base *lanes.Offsets) {
	var other Texels
	for n, t := range [2]*Texels{dst, &other} {
		at := p.moved(base, 1, n)
		p.row(t, &at)
	}
	p.combine(dst, &other, &p.pairs[1].Weights)
}

// volume filters along the third axis what is filtered along the others.
func (p *work) volume(dst *Texels, base *lanes.Offsets) {
	var other Texels
	for n, t := range [2]*Texels{dst, &other} {
		at := p.moved(base, 2, n)
		p.plane(t, &at)
	}
	p.combine(dst, &other, &p.pairs[2].Weights)
}

// moved is base and the first or second texel of a pair.
func (p *work) moved(base *lanes.Offsets, axis, n int) (at lanes.Offsets) {
	for i, o := range &p.pairs[axis].At[n] {
		at[i] = base[i] + o
	}
	return at
}
