package draw

// spanPlan is which samples a polygon covers, of pixels with several: spans of pixels by row and sample, on vectors of
// four samples. Of two samples each is there twice.
type spanPlan struct {
	//lint:ignore U1000 for assembly
	at, rest              [4][16]int64 // as in side; by side and sample
	step, stepRest, scale [4]int64
	lefts, steep, sides   int // as in sides
	samples               int
	left, right           int64     // the box
	begins, ends          [16]int64 // where spans begin and end at most, by sample
	//lint:ignore U1000 for assembly
	tops, bottoms [16]int64 // likewise rows
	y             int64     // the upper one of two rows, of which the rest is
	//lint:ignore U1000 for assembly
	lo, hi       [2][16]int32
	from, to     int64  // where the first span begins and the last one ends
	full0, full1 int64  // where all samples of all pixels are covered
	bits         uint64 // of a quad that count
}

// begin takes in the sides and a box of a polygon.
func (p *spanPlan) begin(r *run, shape *polygonShape, v *viewport, inViewport bool, in *box, n int) {
	z := &r.raster
	var edges sides
	edges.begin(shape, n)
	p.lefts, p.steep, p.sides, p.samples = edges.lefts, edges.steep, n, z.samples
	p.left, p.right, p.y = int64(in.left), int64(in.right), int64(in.top&^1)
	p.bits = packed(&[4]uint16{z.sampleBits, z.sampleBits, z.sampleBits, z.sampleBits})
	lanes := max(z.samples, 4)
	for i := range lanes {
		p.begins[i], p.ends[i], p.tops[i], p.bottoms[i] = p.left, p.right, int64(in.top), int64(in.bottom)
		if inViewport {
			at := &z.positions[i&(z.samples-1)]
			before := func(edge, at int64) int64 { return (edge - at + subpixels - 1) >> 8 }
			p.begins[i], p.ends[i] = max(p.left, before(v.left, at[0])), min(p.right, before(v.right, at[0]))
			p.tops[i], p.bottoms[i] = max(p.tops[i], before(v.top, at[1])), min(p.bottoms[i], before(v.bottom, at[1]))
		}
	}
	for j := range n {
		e := &edges.edges[j]
		var s side
		s.begin(e, 0, p.y*subpixels)
		p.step[j], p.stepRest[j], p.scale[j] = s.step, s.stepRest, s.scale
		k := s.at*s.scale + s.rest
		for i := range lanes {
			at := &z.positions[i&(z.samples-1)]
			value := k + e.a*at[0] + e.b*at[1]
			p.at[j][i] = value
			if e.a != 0 {
				p.at[j][i] = floorDiv(value, s.scale)
			}
			p.rest[j][i] = value - p.at[j][i]*s.scale
		}
	}
}

// fillSpans is fillBox for several samples, on vectors.
func (r *run) fillSpans(shape *polygonShape, v *viewport, inViewport bool, in *box, n int) {
	z := &r.raster
	if z.sampleBits == 0 {
		return
	}
	p := &z.spans
	p.begin(r, shape, v, inViewport, in, n)
	if r.tests.rows.ok {
		r.tests.rows.begin(r)
	}
	for ; p.y < int64(in.bottom); p.y += 2 {
		spansAVX2(p)
		if z.work += max(p.to-p.from, 1); z.work >= stopWork {
			z.work = 0
			r.tick()
		}
		if p.from < p.to && r.err == nil {
			r.fillSpanRow(p, int32(p.from), int32(p.to), int32(p.y))
		}
		if r.err != nil {
			return
		}
	}
}

// fillSpanRow makes the quads of two rows of pixels.
func (r *run) fillSpanRow(p *spanPlan, from, to, y int32) {
	z, f, rows := &r.raster, &r.shading, &r.tests.rows
	full0, full1 := int32(p.full0+1)&^1, int32(p.full1)&^1
	if full0 >= full1 {
		full0, full1 = to+1, to+1
	}
	if rows.ok {
		rows.beginRow(r, y)
	}
	for x := from &^ 1; x < to && r.err == nil; {
		end := min(to, x+2*rowQuads)
		if !rows.ok {
			if x == full0 {
				f.addFull(r, x, full1, y)
				x = full1
				continue
			}
			if x < full0 {
				end = min(end, full0)
			}
		}
		n := int(end-x+1) / 2
		covers := z.covers[:n]
		p.fillCovers(covers, x, full0, full1)
		raws := covers
		if rows.ok {
			if f.raws && !f.modes.PostDepth {
				raws = z.raws[:n]
				copy(raws, covers)
			}
			rows.test(r, covers, x, y)
		}
		f.addTested(r, covers, raws, x, y)
		x += 2 * int32(n)
	}
}

// fillCovers finds the samples of a row of quads from x on. From full0 to full1 there are all.
func (p *spanPlan) fillCovers(covers [][4]uint16, x, full0, full1 int32) {
	n := len(covers)
	first := min(max(int(full0-x)/2, 0), n)
	last := min(max(int(full1-x)/2, first), n)
	if first > 0 {
		coversAVX2(p, &covers[0], int(x), first)
	}
	if first < last {
		c := uint16(p.bits)
		for i := range covers[first:last] {
			covers[first+i] = [4]uint16{c, c, c, c}
		}
	}
	if last < n {
		coversAVX2(p, &covers[last], int(x)+2*last, n-last)
	}
}
