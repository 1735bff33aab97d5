package draw

import (
	"math/bits"
	"slices"

	"farside/internal/vk"
)

// rowQuads is how many quads of a row are tested together.
const rowQuads = 64

// depthPlan is the test of depth and stencil of a row of quads on vectors: of quads with one sample, or pixels with up
// to four.
type depthPlan struct {
	ok                              bool
	kind                            depthKind
	write                           bool
	less, equal, greater, unordered uint32 // all bits: such depths pass
	scale                           float64
	low, high                       float64
	z                               plane
	x0, x                           float64       // of the plane; of the first pixel
	lanes, lines                    [4][4]float64 // what is added to x; to depths for the place in y
	at                              *byte
	rowPitch, texelPitch            int
	steps                           [4]int // from the texel of a pixel to the next one
	wide                            bool   // boxPlan has a way
	samples                         int

	stencils     bool // these are tested, too; kind may be none then
	stencilWrite bool
	face         *stencilFace
	stencil      *byte // as at
	stencilPitch int
	stencilSteps [4]int // as steps
}

// planRows decides whether tests go by rows: nothing but depth and stencil is tested, before shading.
func (t *fragmentTests) planRows(r *run) {
	p := &t.rows
	p.ok = false
	f, s := &r.shading, &r.depth
	if !f.vector || !t.depth && !t.stencil || t.bounds || f.when == testsLate || f.perSample || r.raster.smooth ||
		r.state.StippleLines || t.depth && r.raster.samples != s.samples ||
		t.stencil && r.raster.samples != r.stencil.samples || r.raster.samples > 4 {
		return
	}
	*p = t.compares()
	p.ok = true
	if !t.depth {
		p.kind = depthNone
	}
	p.place(s, r.raster.samples, r.raster.positions)
	t.planStencil(r)
	p.wide = f.wide && p.samples == 1 && s.size == 4 && !t.stencil
}

// place takes in an attachment, and where its samples are.
func (p *depthPlan) place(s *surface, samples int, positions *[16][2]int64) {
	p.rowPitch, p.samples, p.texelPitch = s.rowPitch, samples, s.size*samples
	p.steps = [4]int{p.texelPitch, p.rowPitch - p.texelPitch, p.texelPitch, p.texelPitch - p.rowPitch}
	for k := range 4 {
		for i := range 4 {
			pixel, sample := k, i
			if samples == 1 {
				pixel, sample = i, 0
			}
			p.lanes[k][i] = float64(pixel&1) + float64(positions[sample][0])/subpixels
		}
	}
}

// compares is how depths are compared.
func (t *fragmentTests) compares() depthPlan {
	return depthPlan{kind: t.kind, write: t.write, scale: t.scale, less: anyOp(t.compare, lessOps...),
		equal: anyOp(t.compare, equalOps...), greater: anyOp(t.compare, greaterOps...),
		unordered: anyOp(t.compare, vk.COMPARE_OP_NOT_EQUAL, vk.COMPARE_OP_ALWAYS)}
}

// Which comparisons pass what is less, equal and greater.
var (
	lessOps = []vk.CompareOp{vk.COMPARE_OP_LESS, vk.COMPARE_OP_LESS_OR_EQUAL, vk.COMPARE_OP_NOT_EQUAL,
		vk.COMPARE_OP_ALWAYS}
	equalOps = []vk.CompareOp{vk.COMPARE_OP_EQUAL, vk.COMPARE_OP_LESS_OR_EQUAL, vk.COMPARE_OP_GREATER_OR_EQUAL,
		vk.COMPARE_OP_ALWAYS}
	greaterOps = []vk.CompareOp{vk.COMPARE_OP_GREATER, vk.COMPARE_OP_GREATER_OR_EQUAL, vk.COMPARE_OP_NOT_EQUAL,
		vk.COMPARE_OP_ALWAYS}
)

// anyOp is all bits if a comparison is one of some.
func anyOp(is vk.CompareOp, of ...vk.CompareOp) uint32 {
	if slices.Contains(of, is) {
		return ^uint32(0)
	}
	return 0
}

// begin takes in a primitive.
func (p *depthPlan) begin(r *run) {
	of := r.raster.at
	p.low, p.high = r.tests.limits(of)
	p.z, p.x0 = of.z, of.x0
	p.face = &r.stencils[0]
	if of.back {
		p.face = &r.stencils[1]
	}
}

// beginRow takes in two rows of pixels.
func (p *depthPlan) beginRow(r *run, y int32) {
	of := r.raster.at
	if p.samples == 1 {
		above, below := float64(y)+0.5-of.y0, float64(y+1)+0.5-of.y0
		above, below = float64(of.z.y*above), float64(of.z.y*below)
		p.lines[0] = [4]float64{above, above, below, below}
		return
	}
	for k := range 4 {
		for i := range 4 {
			dy := float64(y+int32(k>>1)) + float64(r.raster.positions[i][1])/subpixels - of.y0
			p.lines[k][i] = float64(of.z.y * dy)
		}
	}
}

// test leaves the samples of quads that pass; the first one is at x, y.
func (p *depthPlan) test(r *run, covers [][4]uint16, x, y int32) {
	p.x = float64(x)
	if p.kind != depthNone {
		p.at = &r.depth.bytes[r.depth.at(x, y, r.raster.at.layer)]
	}
	if p.stencils {
		p.stencil = &r.stencil.bytes[r.stencil.at(x, y, r.raster.at.layer)]
	}
	switch {
	case p.stencils && p.samples == 1:
		stencilQuadsAVX2(p, &covers[0], len(covers))
	case p.stencils:
		stencilSamplesAVX2(p, &covers[0], len(covers))
	case p.samples == 1:
		testQuadsAVX2(p, &covers[0], len(covers))
	default:
		testSamplesAVX2(p, &covers[0], len(covers))
	}
}

// fillRowTested is fillRow where tests go by rows.
func (r *run) fillRowTested(from, to, y int32) {
	z, f, p := &r.raster, &r.shading, &r.tests.rows
	c := z.sampleBits
	if c == 0 {
		return
	}
	lo, hi := z.rows[0][0].lo, z.rows[0][0].hi // where all samples of all pixels are covered
	for row := range 2 {
		for i := range z.samples {
			lo, hi = max(lo, z.rows[row][i].lo), min(hi, z.rows[row][i].hi)
		}
	}
	p.beginRow(r, y)
	for x := from &^ 1; x < to && r.err == nil; x += 2 * rowQuads {
		n := min(int(to-x+1)/2, rowQuads)
		covers := z.covers[:n]
		for i := range covers {
			if at := x + 2*int32(i); at >= lo && at+2 <= hi {
				covers[i] = [4]uint16{c, c, c, c}
			} else if z.samples == 1 {
				a, b := z.rows[0][0], z.rows[1][0]
				covers[i] = [4]uint16{a.has(at), a.has(at + 1), b.has(at), b.has(at + 1)}
			} else {
				covers[i] = z.coverAt(at)
			}
		}
		raws := covers
		if f.raws && !f.modes.PostDepth {
			raws = z.raws[:n]
			copy(raws, covers)
		}
		p.test(r, covers, x, y)
		f.addTested(r, covers, raws, x, y)
	}
}

// coverAt is the samples of a quad that the spans cover.
func (z *rasterizer) coverAt(x int32) (cover [4]uint16) {
	for row := range 2 {
		for i := range z.samples {
			span := &z.rows[row][i]
			if x >= span.lo && x < span.hi {
				cover[2*row] |= 1 << i
			}
			if x+1 >= span.lo && x+1 < span.hi {
				cover[2*row+1] |= 1 << i
			}
		}
	}
	for i := range cover {
		cover[i] &= z.sampleBits
	}
	return cover
}

// addTested adds the quads of a row of which something is left.
func (f *fragmentStage) addTested(r *run, covers, raws [][4]uint16, x, y int32) {
	samples := 0
	for i := range covers {
		samples += bits.OnesCount64(packed(&covers[i]))
	}
	if f.when == testsEarly {
		r.counts.Samples += uint64(samples)
	}
	if !f.active || samples == 0 {
		return
	}
	f.expect(r, x, x+2*int32(len(covers)), y)
	for len(covers) > 0 {
		if f.current < 0 {
			f.commit(r)
		}
		n := len(f.quads)
		made := f.quads[n : f.lanes/4]
		count := min(len(made), len(covers))
		first := quad{x: x, y: y, prim: f.current, sample: -1}
		k := testedAVX2(&made[0], &first, &covers[0], &raws[0], count)
		covers, raws, x = covers[count:], raws[count:], x+2*int32(count)
		if f.quads = f.quads[:n+k]; n+k == f.lanes/4 {
			if f.flush(r); r.err != nil {
				return
			}
		}
	}
}
