package sampling

import "math"

// levelOfDetail computes lambda (chapter "LOD Operation").
func (p *sampling) levelOfDetail() {
	s, q := p.s, p.q
	for i := range p.lambda {
		if !p.active.has(i) {
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

// gradientLod is the logarithm of the longer of the two derivatives, in texels (chapter "Scale Factor Operation, LOD
// Operation and Image Level(s) Selection").
func (p *sampling) gradientLod(lane int) float32 {
	v, q := p.v, p.q
	var squares [2]float64
	for n, d := range [2]*[3]Lanes{&q.Dx, &q.Dy} {
		var m [3]float64
		axes := v.axes
		if v.cube {
			m[0], m[1] = p.faceDerivatives(lane, d)
		} else {
			for axis := range axes {
				m[axis] = float64(float(d[axis][lane]))
			}
		}
		for axis := range axes {
			m[axis] *= v.levels[0].texels[axis]
			squares[n] += m[axis] * m[axis]
		}
	}
	return float32(math.Log2(max(squares[0], squares[1])) / 2)
}
