package sampling

import "math"

// levelOfDetail computes lambda (chapter "LOD Operation").
func (p *work) levelOfDetail() {
	s, q := p.r.sampler, p.q
	for i := range p.lambda {
		if !p.active.Has(i) {
			continue
		}
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
		lambda := min(max(base+min(max(bias, -MaxLodBias), MaxLodBias), least), s.maxLod)
		if lambda != lambda {
			lambda = 0
		}
		p.lambda[i] = lambda
	}
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
			squares[n] += along * along
		}
	}
	longest := max(squares[0], squares[1])
	p.samples[lane] = 1
	if p.r.sampler.anisotropy <= 1 {
		return float32(math.Log2(longest) / 2)
	}
	n := 0
	if squares[1] > squares[0] {
		n = 1
	}
	p.longer[lane] = m[n]
	ratio := p.r.sampler.anisotropy
	if shortest := squares[1-n]; shortest > 0 {
		ratio = min(ratio, math.Sqrt(longest/shortest))
	}
	if !(longest > 0) || !(ratio > 1) { // also NaN
		return float32(math.Log2(longest) / 2)
	}
	p.samples[lane] = int(math.Ceil(ratio))
	return float32(math.Log2(longest)/2 - math.Log2(ratio))
}

// anisotropic samples several places along the longer derivative, so that the level of detail can be that of the
// shorter one (chapter "Texel Anisotropic Filtering").
func (p *work) anisotropic(dst *Texels) {
	p.samples = [Width]int{}
	p.levelOfDetail()
	v := p.r.view
	if !v.cube {
		p.wide = true
		for axis := range v.axes {
			for i, c := range &p.q.Coordinates[axis] {
				p.u[axis][i] = float64(float(c))
			}
		}
	}
	all, at := p.active, p.u
	most := 1
	for i, n := range p.samples {
		if all.Has(i) {
			most = max(most, n)
		}
	}
	var sum [4][Width]float32
	for n := 1; n <= most; n++ {
		p.active = 0
		for i, samples := range p.samples {
			if !all.Has(i) || samples < n {
				continue
			}
			p.active |= 1 << i
			for axis := range v.axes {
				p.u[axis][i] = at[axis][i] + p.longer[i][axis]*(float64(n)/float64(samples+1)-0.5)
			}
		}
		p.levels(dst)
		for c := range sum {
			for i := range Width {
				if p.active.Has(i) {
					sum[c][i] += float(dst[c][i])
				}
			}
		}
	}
	p.active = all
	for c := range sum {
		for i, samples := range p.samples {
			dst[c][i] = bits(sum[c][i] / float32(max(samples, 1)))
		}
	}
}
