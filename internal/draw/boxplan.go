package draw

// boxPlan has all quads of a polygon's box be made, and their depths tested, in one go with AVX-512: of one sample, and
// without a test or with one of stencil and depths of 32 bits.
type boxPlan struct {
	// Of a small polygon: the values of its sides at the first pixel, how much these are more in the next column and row,
	// in the column after eight, and two rows below.
	small               bool
	value, across, down [4]int32
	across8, down2      [4]int32
	x0, first           int64 // the pixel, in an even column and row
	// Of others: the sides in the upper one of two rows of pixels, then in the lower one. A step goes on by two rows.
	at, rest, step, stepRest, scale [8]int64
	lefts, rights, levels           uint8 // which sides are what, a bit each

	active, raws             bool     // quads are wanted; their raw samples are those before the test
	left, right, top, bottom int64    // pixels of the box
	y, end                   int64    // the next row, which is even; where to stop
	x                        int64    // where to go on in it; 0: at its beginning
	samples                  int64    // that are left, added to
	prim                     [2]int32 // of the quads, and their sample
	tested                   bool
	plan                     *depthPlan // of tests
	y0                       float64    // of the plane of depths
	texel, stencil           *byte      // the depth and the stencil value of the first pixel of all
	colors                   int64
	ahead                    [mostAhead]colorAhead
}

// mostAhead is how many attachments' colours are read before they are needed.
const mostAhead = 4

// colorAhead is an attachment's first texel of all in a layer, and how far it is to the next texel and row.
type colorAhead struct {
	at           *byte
	pitch, texel int
}

// planBoxes decides whether boxes are filled in one go, or what has several samples on vectors.
func (f *fragmentStage) planBoxes(r *run) {
	p := &f.boxes
	rows := &r.tests.rows
	p.tested = rows.ok && rows.wide
	f.inBoxes = f.wide && r.raster.samples == 1 && (p.tested || f.active && f.plain && !rows.ok) &&
		(!f.active || f.lanes >= boxLanes)
	f.inSpans = f.vector && r.raster.samples > 1 && (rows.ok || f.active && f.plain)
	if !f.inBoxes {
		return
	}
	p.active, p.raws, p.plan = f.active, f.raws && !f.modes.PostDepth, rows
}

// boxLanes is what a batch has at least for that: room for what is made at once, many times over.
const boxLanes = 64

// begin takes in the sides and a box of a polygon.
func (p *boxPlan) begin(r *run, shape *polygonShape, in *box, sides int) {
	p.x0, p.first = int64(in.left&^1), int64(in.top&^1)
	if p.small = shape.small(); p.small {
		p.beginSmall(shape, sides)
	} else {
		p.beginLarge(shape, sides)
	}
	p.left, p.right, p.top, p.bottom = int64(in.left), int64(in.right), int64(in.top), int64(in.bottom)
	p.y, p.x, p.samples = p.first, 0, 0
	layer := r.raster.at.layer
	if p.tested {
		p.plan.begin(r)
		p.y0 = r.raster.at.y0
		if p.plan.kind != depthNone {
			p.texel = &r.depth.bytes[r.depth.at(0, 0, layer)]
		}
		if p.plan.stencils {
			p.stencil = &r.stencil.bytes[r.stencil.at(0, 0, layer)]
		}
	}
	p.colors = 0
	if !p.active {
		return
	}
	for i := range r.colors {
		if c := &r.colors[i]; (c.planned || c.inRows) && p.colors < mostAhead {
			p.ahead[p.colors] = colorAhead{&c.bytes[c.at(0, 0, layer)], c.rowPitch, c.size}
			p.colors++
		}
	}
}

// smallSide is how long polygons are at most, in 1/256 pixels, so that the values of their sides fit into 32 bits
// wherever they have pixels, and up to ten pixels beyond.
const smallSide = 30000

// small says whether a polygon is no longer than that.
func (s *polygonShape) small() bool {
	x0, x1, y0, y1 := s.x[0], s.x[0], s.y[0], s.y[0]
	for i := 1; i < s.n; i++ {
		x0, x1 = min(x0, s.x[i]), max(x1, s.x[i])
		y0, y1 = min(y0, s.y[i]), max(y1, s.y[i])
	}
	return x1-x0 <= smallSide && y1-y0 <= smallSide
}

// beginSmall takes in the sides of a small polygon.
func (p *boxPlan) beginSmall(shape *polygonShape, sides int) {
	x, y := p.x0*subpixels+subpixels/2, p.first*subpixels+subpixels/2
	for i := range sides {
		e := shape.edgeOf(i, (i+1)%shape.n)
		across, down := int32(e.a)*subpixels, int32(e.b)*subpixels
		p.value[i], p.across[i], p.down[i] = int32(e.a*x+e.b*y+e.c), across, down
		p.across8[i], p.down2[i] = 8*across, 2*down
	}
	for i := sides; i < 4; i++ { // everything is inside
		p.value[i], p.across[i], p.down[i], p.across8[i], p.down2[i] = 0, 0, 0, 0, 0
	}
}

// beginLarge takes in the sides of others.
func (p *boxPlan) beginLarge(shape *polygonShape, sides int) {
	p.lefts, p.rights, p.levels = 0, 0, 0
	for i := range sides {
		e := shape.edgeOf(i, (i+1)%shape.n)
		var s side
		s.begin(&e, subpixels/2, p.first*subpixels+subpixels/2)
		bit := uint8(0x11) << i
		switch {
		case e.a > 0:
			p.lefts |= bit
		case e.a < 0:
			p.rights |= bit
		default:
			p.levels |= bit
		}
		p.at[i], p.rest[i] = s.at, s.rest
		s.next()
		p.at[i+4], p.rest[i+4] = s.at, s.rest
		step, rest := 2*s.step, 2*s.stepRest
		if rest >= s.scale {
			step, rest = step+1, rest-s.scale
		}
		p.step[i], p.stepRest[i], p.scale[i] = step, rest, s.scale
		p.step[i+4], p.stepRest[i+4], p.scale[i+4] = step, rest, s.scale
	}
}

// inViewport is the pixels of a box whose centres are in the viewport.
func (b *box) inViewport(v *viewport) box {
	const up = subpixels/2 - 1 // rounds up what is divided, from a pixel's centre
	return b.cut(&box{int32((v.left + up) >> 8), int32((v.top + up) >> 8), int32((v.right + up) >> 8),
		int32((v.bottom + up) >> 8)})
}

// fillBoxed is fillBox in one go.
func (r *run) fillBoxed(shape *polygonShape, in *box, sides int) {
	z, f := &r.raster, &r.shading
	if in.empty() || z.sampleBits&1 == 0 {
		return
	}
	p := &f.boxes
	p.begin(r, shape, in, sides)
	rows := max(stopWork/(p.right-p.left)&^1, 2) // that go by until Stop is asked
	for p.y < p.bottom && r.err == nil {
		from := p.y
		p.end = min(p.bottom, from+rows)
		r.fillRows(p)
		if z.work += max(p.y-from, 1) * (p.right - p.left); z.work >= stopWork && r.err == nil {
			z.work = 0
			r.tick()
		}
	}
	if f.when == testsEarly {
		r.counts.Samples += uint64(p.samples)
	}
}

// fillRows fills rows of a box, until its end or the batch's.
func (r *run) fillRows(p *boxPlan) {
	f := &r.shading
	if !f.active {
		boxAVX512(p, nil, 0)
		return
	}
	n, current := len(f.quads), f.current
	if current < 0 {
		current = int32(len(f.own.prims)) // it has this number if there are quads
	}
	p.prim = [2]int32{current, -1}
	made := f.quads[n : f.lanes/4]
	k := boxAVX512(p, &made[0], len(made))
	if k > 0 && f.current < 0 {
		f.commit(r)
	}
	if f.quads = f.quads[:n+k]; n+k > f.lanes/4-4 {
		f.flush(r)
	}
}
