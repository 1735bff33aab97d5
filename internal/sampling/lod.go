package sampling

import "math"

// levelOfDetail computes lambda (chapter "LOD Operation"). Lanes that are asked for the same as the one before, such as
// those of a quad, have what that one has.
func (p *work) levelOfDetail() {
	s, q := p.r.sampler, p.q
	if q.Mode == LodGradient && p.r.plainLod && !q.HasBias && !q.HasMinLod {
		p.planeLods()
		return
	}
	before := -1
	for i := range p.lambda {
		if !p.active.Has(i) {
			continue
		}
		if before >= 0 && p.asksSame(i, before) {
			p.lambda[i], p.samples[i], p.longer[i] = p.lambda[before], p.samples[before], p.longer[before]
			before = i
			continue
		}
		before = i
		var base float32
		switch {
		case s.unnormalized:
		case q.Mode == LodExplicit:
			base = float(q.Lod[i])
		case q.Mode == LodGradient:
			base = p.gradientLod(i)
		}
		bias := s.bias
		if q.HasBias {
			bias += float(q.Bias[i])
		}
		least := s.minLod
		if q.HasMinLod {
			least = max(least, float(q.MinLod[i]))
		}
		p.lambda[i] = clampLod(base+min(max(bias, -MaxLodBias), MaxLodBias), least, s.maxLod)
	}
}

// clampLod keeps a level of detail between two; NaN is 0.
func clampLod(lod, least, most float32) float32 {
	if lod = min(max(lod, least), most); lod != lod {
		return 0
	}
	return lod
}

// planeLods is levelOfDetail of all lanes where it comes from derivatives along two axes alone: see gradientLod.
func (p *work) planeLods() {
	s := p.r.sampler
	width, height := p.r.view.levels[0].texels[0], p.r.view.levels[0].texels[1]
	bias := min(max(s.bias, -MaxLodBias), MaxLodBias)
	xs, ys, us, vs := &p.q.Dx[0], &p.q.Dx[1], &p.q.Dy[0], &p.q.Dy[1]
	var x, y, u, v uint32
	var lambda float32
	for i := range Width {
		if i > 0 && xs[i] == x && ys[i] == y && us[i] == u && vs[i] == v {
			p.lambda[i] = lambda
			continue
		}
		x, y, u, v = xs[i], ys[i], us[i], vs[i]
		first := float64(float(x)) * width
		second := float64(float(y)) * height
		longest := float64(first*first) + float64(second*second)
		first, second = float64(float(u))*width, float64(float(v))*height
		if other := float64(first*first) + float64(second*second); other > longest || other != other {
			longest = other
		}
		lambda = clampLod(float32(log2(longest)/2)+bias, s.minLod, s.maxLod)
		p.lambda[i] = lambda
	}
}

// asksSame says whether all that a level of detail comes from is the same in two lanes. Of cubes it is not looked at:
// where their derivatives are the same, the faces and the places on these may differ.
func (p *work) asksSame(a, b int) bool {
	q := p.q
	a, b = a&(Width-1), b&(Width-1)
	if q.HasBias && q.Bias[a] != q.Bias[b] || q.HasMinLod && q.MinLod[a] != q.MinLod[b] {
		return false
	}
	switch q.Mode {
	case LodExplicit:
		return q.Lod[a] == q.Lod[b]
	case LodGradient:
		if p.r.view.cube {
			return false
		}
		for axis := range p.r.view.axes {
			if q.Dx[axis][a] != q.Dx[axis][b] || q.Dy[axis][a] != q.Dy[axis][b] {
				return false
			}
		}
	}
	return true
}

// QueryLod gives, in the active lanes, the level that a lookup by derivatives would sample, which is between two where
// the lookup would be, and the level of detail before it is clamped (chapter "Level-of-Detail Query").
func (r *Routine) QueryLod(dst *Texels, q *Lookup, active Mask) {
	*dst = Texels{}
	if r == nil || len(r.view.levels) == 0 {
		return
	}
	p := &q.work
	p.begin(r, q, active)
	s := r.sampler
	for i := range Width {
		if !active.Has(i) {
			continue
		}
		var lambda float32
		if !s.unnormalized {
			lambda = p.gradientLod(i)
		}
		lambda += min(max(s.bias, -MaxLodBias), MaxLodBias)
		d := min(max(min(max(lambda, s.minLod), s.maxLod), 0), float32(len(r.view.levels)-1))
		if d != d {
			d = 0
		}
		if !s.mipLinear {
			d = float32(math.Ceil(float64(d)+0.5)) - 1
		}
		dst[0][i], dst[1][i] = bits(d), bits(lambda)
	}
	p.r, p.q, p.level = nil, nil, nil
}

// gradientLod is the logarithm of the longer of the two derivatives, in texels (chapter "Scale Factor Operation, LOD
// Operation and Image Level(s) Selection").
func (p *work) gradientLod(lane int) float32 {
	v, q := p.r.view, p.q
	var squares [2]float64
	var m [2][3]float64
	for n, d := range [2]*[3]Lanes{&q.Dx, &q.Dy} {
		m := &m[n]
		if v.cube {
			m[0], m[1] = p.faceDerivatives(lane, d)
		} else {
			for axis := range v.axes {
				m[axis] = float64(float(d[axis][lane]))
			}
		}
		for axis := range v.axes {
			along := m[axis] * v.levels[0].texels[axis]
			squares[n] += float64(along * along)
		}
	}
	lod, samples, n := footprint(&squares, p.r.sampler.anisotropy)
	p.samples[lane], p.longer[lane] = samples, m[n]
	return lod
}

// log2 is the logarithm to base 2, exact for powers of two. A level of detail has 24 bits; of those of the logarithm
// some 40 are right.
func log2(v float64) float64 {
	const (
		fraction = 1<<52 - 1
		one      = 0x3ff << 52
	)
	b := math.Float64bits(v)
	if b-1<<52 >= 0x7fe<<52 { // negative, denormal, infinite or no number
		return math.Log2(v)
	}
	exponent := float64(int64(b>>52) - 0x3ff)
	m := math.Float64frombits(b&fraction | one)
	if m > math.Sqrt2 {
		m, exponent = m/2, exponent+1
	}
	// The series of 2*atanh(t) for t up to 0.172, in two halves.
	t := (m - 1) / (m + 1)
	x := float64(t * t)
	xx := float64(x * x)
	low := 1 + float64(x*(1.0/3)) + float64(xx*(1.0/5+float64(x*(1.0/7))))
	high := 1.0/9 + float64(x*(1.0/11)) + float64(xx*(1.0/13+float64(x*(1.0/15))))
	sum := low + float64(float64(xx*xx)*high)
	return exponent + float64(float64(t*(2*math.Log2E))*sum)
}
