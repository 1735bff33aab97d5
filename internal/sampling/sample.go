package sampling

import (
	"math"

	"farside/internal/vk"
)

// LodMode says how an instruction determines the level of detail.
type LodMode uint8

const (
	LodZero     LodMode = iota // by implicit derivatives, which a compute shader does not have: 0
	LodExplicit                // by Lookup.Lod
	LodGradient                // by Lookup.Dx and Lookup.Dy
)

// Lookup is what an instruction asks a sampler for. All members that count are 32-bit floats, but Offset.
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
}

// sampling is one Sample or Gather under way.
type sampling struct {
	v      *View
	s      *Sampler
	q      *Lookup
	active Mask

	u       [3][Width]float64 // normalized coordinates along the axes; of cubes on the face
	z       [Width]int32      // layer and face
	border  [4]uint32
	lambda  [Width]float32
	samples [Width]int        // along the longer derivative
	longer  [Width][3]float64 // that derivative, along the axes
}

// Sample samples a view.
func (v *View) Sample(dst *Texels, s *Sampler, q *Lookup, active Mask) {
	if v == nil || active == 0 {
		*dst = Texels{}
		return
	}
	if s == nil {
		s = nearest
	}
	if v.ycbcr != nil {
		v.ycbcr.sample(dst, v, s, q, active)
		return
	}
	p := sampling{v: v, s: s, q: q, active: active}
	p.begin()
	if len(v.levels) == 1 && s.magLinear == s.minLinear && s.anisotropy <= 1 {
		var level [Width]int32
		p.level(dst, &level, active, p.linear(All))
	} else if q.Mode == LodGradient && s.anisotropy > 1 && v.filters() {
		p.anisotropic(dst)
	} else {
		p.levelOfDetail()
		p.levels(dst)
	}
	if !q.Compare {
		v.exchange(dst)
	}
}

// linear returns the lanes of m if the view can be filtered.
func (p *sampling) linear(m Mask) Mask {
	if !p.v.filters() || !p.s.magLinear {
		return 0
	}
	return m
}

// begin reads the coordinates.
func (p *sampling) begin() {
	v, q := p.v, p.q
	if v.cube {
		p.faces()
	} else {
		for axis := range v.axes {
			for i, c := range &q.Coordinates[axis] {
				p.u[axis][i] = float64(float(c))
			}
		}
		if v.arrayed {
			last := v.levels[0].texels[2] - 1
			for i, c := range &q.Coordinates[v.axes] {
				p.z[i] = int32(layer(c, last))
			}
		}
	}
	p.border = p.s.borderOf(v.format)
}

// layer rounds and clamps a layer (chapter "Layer Selection"); NaN is 0.
func layer(c uint32, last float64) float64 {
	l := math.RoundToEven(float64(float(c)))
	if !(l > 0) {
		return 0
	}
	return min(l, last)
}

// levels samples the levels that the level of detail asks for (chapter "Image Level(s) Selection").
func (p *sampling) levels(dst *Texels) {
	v, s := p.v, p.s
	last := float32(len(v.levels) - 1)
	var high, low [Width]int32
	var between Lanes // weights of low
	var linear, two Mask
	for i := range Width {
		lambda := p.lambda[i]
		if lambda <= 0 && s.magLinear || lambda > 0 && s.minLinear {
			linear |= 1 << i
		}
		d := min(max(lambda, 0), last)
		if !s.mipLinear {
			high[i] = int32(math.Ceil(float64(d)+0.5)) - 1
			continue
		}
		floor := int32(d)
		high[i], low[i] = floor, min(floor+1, int32(last))
		if w := d - float32(floor); w > 0 {
			between[i] = bits(w)
			two |= 1 << i
		}
	}
	if !v.filters() {
		linear = 0
	}
	p.level(dst, &high, p.active, linear)
	if two &= p.active; two != 0 && v.filters() {
		var other Texels
		p.level(&other, &low, two, linear)
		p.mix(dst, &other, &between, two)
	}
}

// level samples one level in each lane: filtered in the lanes of linear, the nearest texel in the others.
func (p *sampling) level(dst *Texels, levels *[Width]int32, active, linear Mask) {
	switch {
	case linear&active == 0:
		p.nearest(dst, levels, active)
	case active&^linear == 0:
		p.filter(dst, levels, active)
	default:
		var other Texels
		p.nearest(&other, levels, active&^linear)
		p.filter(dst, levels, active&linear)
		for c := range dst {
			for i := range Width {
				if !linear.has(i) {
					dst[c][i] = other[c][i]
				}
			}
		}
	}
}

// mix brings two results together: a weighted average, or what the reduction mode says. Lanes outside of active keep
// the first.
func (p *sampling) mix(dst, other *Texels, weight *Lanes, active Mask) {
	for c := range dst {
		if !p.component(c) {
			continue
		}
		a, b := &dst[c], &other[c]
		switch p.s.reduction {
		case vk.SAMPLER_REDUCTION_MODE_MIN:
			for i, w := range weight {
				if active.has(i) && float(w) != 0 && float(b[i]) < float(a[i]) {
					a[i] = b[i]
				}
			}
		case vk.SAMPLER_REDUCTION_MODE_MAX:
			for i, w := range weight {
				if active.has(i) && float(w) != 0 && float(b[i]) > float(a[i]) {
					a[i] = b[i]
				}
			}
		default:
			if active == All {
				for i, w := range weight {
					x := float(a[i])
					a[i] = bits(x + (float(b[i])-x)*float(w))
				}
				continue
			}
			for i, w := range weight {
				if active.has(i) {
					x := float(a[i])
					a[i] = bits(x + (float(b[i])-x)*float(w))
				}
			}
		}
	}
}

// component says whether a component of the texels differs from texel to texel.
func (p *sampling) component(c int) bool {
	if p.q.Compare {
		return c == 0
	}
	return p.v.format.present[c&3]
}

// texels reads a texel for each lane; negative offsets are the border. A comparison is done here, before any filter.
func (p *sampling) texels(dst *Texels, at *offsets) {
	f := p.v.format
	f.read(dst, p.v.data, at)
	for i, o := range at {
		if o < 0 {
			dst.set(i, &p.border)
		}
	}
	if !p.q.Compare {
		return
	}
	for i := range Width {
		reference := float(p.q.Dref[i])
		if f.unorm { // chapter "Depth Compare Operation"
			reference = min(max(reference, 0), 1)
		}
		dst.set(i, &[4]uint32{bits(compared(p.s.compare, reference, float(dst[0][i]))), 0, 0, bits(1)})
	}
}

// scaled returns where a coordinate lies in a level, in texels.
func (p *sampling) scaled(axis, lane int, l *level) float64 {
	u := p.u[axis][lane]
	if !p.s.unnormalized {
		u *= l.texels[axis]
	}
	// What is so far out has no position. NaN becomes the lower bound.
	const far = 1 << 30
	if !(u > -far) {
		return -far
	}
	return min(u, far)
}

// nearest samples the nearest texels.
func (p *sampling) nearest(dst *Texels, levels *[Width]int32, active Mask) {
	v, s, q := p.v, p.s, p.q
	var at offsets
	for i := range at {
		at[i] = outside
		if !active.has(i) {
			continue
		}
		l := &v.levels[levels[i]]
		var c [3]int32
		c[2] = p.z[i]
		inside := true
		for axis := range v.axes {
			n := int32(math.Floor(p.scaled(axis, i, l)))
			if q.HasOffset {
				n += int32(q.Offset[axis][i])
			}
			mode := s.address[axis]
			if v.cube {
				mode = cubeMode
			}
			n = wrap(mode, n, int32(l.size[axis]))
			c[axis] = n
			inside = inside && n >= 0
		}
		if inside {
			at[i] = l.at(c[0], c[1], c[2])
		}
	}
	p.texels(dst, &at)
}

// corners are where the two texels along each axis lie between which a filter takes its numbers: bytes from the
// beginning of the level, the level's own in the first axis; and the weights of the second.
type corners struct {
	at      [3][2]offsets
	weights [3]Lanes
}

// filter samples with linear filtering (chapter "Texel Filtering").
func (p *sampling) filter(dst *Texels, levels *[Width]int32, active Mask) {
	if p.v.cube {
		p.filterCube(dst, levels, active)
		return
	}
	var k corners
	p.corners(&k, levels, active, nil)
	p.along(dst, &k, p.v.axes-1, &offsets{})
}

// corners finds the texels around the coordinates. extra is added to them, if it is not nil.
func (p *sampling) corners(k *corners, levels *[Width]int32, active Mask, extra *[2]int32) {
	v, q := p.v, p.q
	for axis := range v.axes {
		mode := p.s.address[axis]
		first, second, weights := &k.at[axis][0], &k.at[axis][1], &k.weights[axis]
		for i := range Width {
			first[i], second[i] = outside, outside
			if !active.has(i) {
				continue
			}
			l := &v.levels[levels[i]]
			u := p.scaled(axis, i, l) - 0.5
			floor := math.Floor(u)
			weights[i] = bits(float32(u - floor))
			n := int32(floor)
			if q.HasOffset {
				n += int32(q.Offset[axis][i])
			}
			if extra != nil {
				n += extra[axis&1]
			}
			start := 0
			if axis == 0 {
				start = l.start + l.along(2, p.z[i])
			}
			size := int32(l.size[axis])
			c, d := n, n+1
			if uint32(c) >= uint32(size) {
				c = wrap(mode, c, size)
			}
			if uint32(d) >= uint32(size) {
				d = wrap(mode, d, size)
			}
			if c >= 0 {
				first[i] = start + l.along(axis, c)
			}
			if d >= 0 {
				second[i] = start + l.along(axis, d)
			}
		}
	}
}

// along filters along an axis what is filtered along those below, three at most. base is where the axes above have come
// to.
func (p *sampling) along(dst *Texels, k *corners, axis int, base *offsets) {
	var at offsets
	for i := range at {
		at[i] = base[i] + k.at[axis][0][i]
	}
	var other Texels
	if axis == 0 {
		p.texels(dst, &at)
	} else {
		p.along(dst, k, axis-1, &at)
	}
	for i := range at {
		at[i] = base[i] + k.at[axis][1][i]
	}
	if axis == 0 {
		p.texels(&other, &at)
	} else {
		p.along(&other, k, axis-1, &at)
	}
	p.mix(dst, &other, &k.weights[axis], All)
}
