package draw

import "math"

// latePlan is what happens on vectors to quads that have been shaded: lanes that the shader has ended lose their
// samples, masks of the shader and alpha take some, and depth and stencil are tested, with depths and references of the
// primitive or the shader's.
type latePlan struct {
	ok, tested  bool
	masks       *uint32    // the shader's; nil: none
	alphas      *uint32    // of which samples are made; nil: none are
	all         float64    // how many samples a pixel has
	depthPlan              // how depths are compared
	lows, highs [2]float64 // what the limits of a primitive are clamped to
	texel       *byte      // the depth of the first pixel of all, in the first layer
	layerPitch  int
	depths      *uint32               // the shader's; nil: the primitive's
	rows        [mostCells][4]float64 // of samples in a quad, by cell; their columns are in lanes

	faces             *[2]stencilFace
	stencilTexel      *byte // as texel
	stencilLayerPitch int
	references        *uint32 // the shader's; nil: the faces'
}

// planLate decides what vectors do with quads that have been shaded.
func (f *fragmentStage) planLate(r *run) {
	t, s := &r.tests, &r.depth
	f.late = latePlan{ok: f.vector, all: float64(r.raster.samples)}
	p := &f.late
	if f.maskOut != nil {
		p.masks = &f.maskOut[0]
	}
	if alpha := f.outputs.alpha; r.state.AlphaToCoverage && alpha != nil {
		p.alphas = &alpha[0]
	}
	if !f.late.ok || f.when != testsLate || !t.some {
		return
	}
	if p.ok = t.fit(r); !p.ok {
		return
	}
	p.tested, p.depthPlan = true, t.plan(r)
	for c := range p.cells {
		pixel, first := p.cell(c)
		for i := range 4 {
			p.rows[c][i] = float64(pixel>>1) + float64(r.raster.positions[first+i][1])/subpixels
		}
	}
	if p.kind != depthNone {
		p.layerPitch, p.texel = s.layerPitch, &s.bytes[s.at(0, 0, 0)]
	}
	if p.stencils {
		s := &r.stencil
		p.faces, p.stencilLayerPitch, p.stencilTexel = &r.stencils, s.layerPitch, &s.bytes[s.at(0, 0, 0)]
		if f.stencilOut != nil {
			p.references = &f.stencilOut[0]
		}
	}
	p.eight = f.wide && p.samples >= 4 && p.references == nil
	p.wide = f.wide && p.inSixteens(r) && p.references == nil
	if f.depthOut != nil {
		p.depths = &f.depthOut[0]
	}
	// As limits does it.
	p.lows, p.highs = [2]float64{math.Inf(-1), 0}, [2]float64{1, math.Inf(1)}
	switch {
	case t.ranged:
		p.lows, p.highs = [2]float64{t.limit[0], t.limit[0]}, [2]float64{t.limit[1], t.limit[1]}
	case t.clamp:
		p.lows[1], p.highs[0] = math.Inf(1), math.Inf(-1)
	}
	if t.kind != depthFloat {
		for i := range 2 {
			p.lows[i], p.highs[i] = max(p.lows[i], 0), min(p.highs[i], 1)
		}
	}
}

// finishVector is finish.
func (f *fragmentStage) finishVector(r *run) {
	n := 0
	if f.wide && f.late.masks == nil && f.late.alphas == nil {
		n = aliveAVX512(&f.quads[0], len(f.quads), &f.effects[0])
	} else {
		n = aliveAVX2(&f.late, &f.quads[0], len(f.quads), &f.effects[0])
	}
	switch {
	case f.late.tested && f.late.wide:
		n = testLateSixteensAVX512(&f.late, &f.quads[0], len(f.quads), &f.prims[0])
	case f.late.tested && f.late.eight:
		n = testLateOctetsAVX512(&f.late, &f.quads[0], len(f.quads), &f.prims[0])
	case f.late.tested && f.late.samples > 1:
		n = testLateSamplesAVX2(&f.late, &f.quads[0], len(f.quads), &f.prims[0])
	case f.late.tested:
		n = testLateAVX2(&f.late, &f.quads[0], len(f.quads), &f.prims[0])
	}
	if f.when != testsEarly {
		r.counts.Samples += uint64(n)
	}
}
