package sampling

import (
	"math"

	"farside/internal/lanes"
)

// footprint gives the level of detail of a lane whose two derivatives have these squares, in texels, with how many
// samples it is had, and along which derivative these lie: the longer one. There are at most most (chapter "Texel
// Anisotropic Filtering").
func footprint(squares *[2]float64, most float64) (lod float32, samples, along int) {
	longest, shortest := squares[0], squares[1]
	if shortest > longest {
		longest, shortest, along = shortest, longest, 1
	}
	if longest != longest || shortest != shortest {
		longest = math.NaN()
	}
	ratio := max(most, 1)
	if shortest > 0 {
		ratio = min(ratio, math.Sqrt(longest/shortest))
	}
	if !(longest > 0) || !(ratio > 1) { // also NaN
		return float32(log2(longest) / 2), 1, along
	}
	return float32(log2(longest/float64(ratio*ratio)) / 2), int(math.Ceil(ratio)), along
}

// track is how far before a place samples along a derivative begin, and how far apart they are: the n-th of so many,
// from 1 on, is n steps from the start.
func track(longer float32, samples int) (back, step float32) {
	return longer * 0.5, longer / float32(samples+1)
}

// anisotropic samples several places along the longer derivative, so that the level of detail can be that of the
// shorter one.
func (p *work) anisotropic(dst *Texels) {
	p.samples = [Width]int{}
	p.levelOfDetail()
	var c choice
	p.choose(&c)
	at, wide := p.q.Coordinates, p.u
	all, most := p.active, 0
	for i, n := range p.samples {
		if all.Has(i) {
			most = max(most, n)
		}
	}
	var sum [4][Width]float32
	for n := 1; n <= most; n++ {
		p.moveTo(n, all, &at, &wide)
		p.sampleLevels(dst, &c)
		for c := range sum {
			for i := range Width {
				if p.active.Has(i) {
					sum[c][i] += float(dst[c][i])
				}
			}
		}
	}
	p.active, p.q.Coordinates = all, at
	for c := range sum {
		for i, samples := range p.samples {
			dst[c][i] = bits(sum[c][i] / float32(max(samples, 1)))
		}
	}
}

// moveTo makes the lanes that have an n-th sample the active ones, and their coordinates those of it.
func (p *work) moveTo(n int, all Mask, at *[4]Lanes, wide *[3]lanes.Places) {
	p.active = 0
	for i, samples := range p.samples {
		if !all.Has(i) || samples < n {
			continue
		}
		p.active |= 1 << i
		for axis := range p.r.view.axes {
			longer := p.longer[i][axis]
			if p.wide {
				p.u[axis][i] = wide[axis][i] + float64(longer*(float64(n)/float64(samples+1)-0.5))
				continue
			}
			back, step := track(float32(longer), samples)
			p.q.Coordinates[axis][i] = bits(float(at[axis][i]) - back + float32(step*float32(n)))
		}
	}
}

// footprints is what a span knows of its lanes where it samples several places in each.
type footprints struct {
	samples lanes.SpanWords    // how many, as floats
	start   [2]lanes.SpanWords // of tracks along the axes
	step    [2]lanes.SpanWords
	sums    [4]lanes.SpanWords
}

// footprints is footprint of the lanes of a span, all of which it keeps. It says how many samples the lane has that
// has most, and 0 if a derivative is infinite or no number.
func (r *Routine) footprints(s *Span, n int) (most int) {
	f, places := &s.footprints, (*[2]lanes.SpanWords)(s.Coordinates[:2])
	return r.plane.lods.Footprints(&s.Lod, &f.samples, &f.start, &f.step, places, &s.Dx, &s.Dy, r.sampler.anisotropy, n)
}

// anisotropicSpan is anisotropic for a span whose levels are chosen, and in which footprints has found at most so many
// samples.
func (r *Routine) anisotropicSpan(s *Span, two bool, n, most int) bool {
	f := &s.footprints
	clear(f.sums[:])
	places := (*[2]lanes.SpanWords)(s.Coordinates[:2])
	for sample := float32(1); sample <= float32(most); sample++ {
		lanes.PlacesSpan(places, &f.start, &f.step, sample, n)
		if !r.spanLevels(s, two, n) {
			return false
		}
		lanes.SumsSpan(&f.sums, &s.Result, &f.samples, sample, n)
	}
	lanes.MeansSpan(&s.Result, &f.sums, &f.samples, n)
	return true
}
