package draw

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"farside/internal/vk"
)

// rowQuads is how many quads of a row are tested together.
const rowQuads = 64

// mostCells is how many cells the pixels of a quad have at most: up to four samples of a pixel.
const mostCells = 16

// depthPlan is the test of depth and stencil of a row of quads on vectors: of quads with one sample, or cell by cell.
type depthPlan struct {
	ok                              bool
	kind                            depthKind
	write                           bool
	less, equal, greater, unordered uint32 // all bits: such depths pass
	scale                           float64
	low, high                       float64
	z                               plane
	x0, x                           float64               // of the plane; of the first pixel
	lanes, lines                    [mostCells][4]float64 // what is added to x; to depths for the place in y
	at                              *byte
	rowPitch, texelPitch            int
	cells                           int
	steps                           [mostCells]int        // from the texels of a cell to those of the next one
	shifts                          [mostCells]uint8      // of their samples in the covers of a quad
	octets                          [mostCells / 2]uint64 // two cells' samples in the covers of a quad, at once
	eight                           bool                  // these are tested
	compare                         vk.CompareOp
	wide                            bool // sixteen pixels are tested at once, in boxes and after shading
	samples                         int

	bounds              bool // what is stored has to be within these: bits of floats, or whole numbers
	boundLow, boundHigh uint32
	checked             bool // there are bounds or stencils

	stencils     bool // these are tested, too; kind may be none then
	stencilWrite bool
	face         *stencilFace
	stencil      *byte // as at
	stencilPitch int
	stencilSteps [mostCells]int // as steps
}

// planRows decides whether tests go by rows, before shading.
func (t *fragmentTests) planRows(r *run) {
	t.rows.ok = false
	f := &r.shading
	if !f.vector || !t.some || f.when == testsLate || f.perSample || r.raster.smooth || r.state.StippleLines ||
		!t.fit(r) {
		return
	}
	t.rows = t.plan(r)
	t.rows.eight = f.wide && t.rows.samples >= 4
	t.rows.wide = f.wide && t.rows.inSixteens(r)
}

// inSixteens says whether the tests of pixels can be those of sixteen at once with AVX-512.
func (p *depthPlan) inSixteens(r *run) bool {
	return p.samples == 1 && (p.kind == depthNone || r.depth.size == 4)
}

// fit says whether what is tested has the samples that there are.
func (t *fragmentTests) fit(r *run) bool {
	n := r.raster.samples
	return (!t.depth && !t.bounds || r.depth.samples == n) && (!t.stencil || r.stencil.samples == n)
}

// plan makes the plan but for the primitive.
func (t *fragmentTests) plan(r *run) depthPlan {
	p := depthPlan{ok: true, kind: t.kind, write: t.write, scale: t.scale, checked: t.bounds || t.stencil}
	op := t.compare
	if !t.depth {
		op = vk.COMPARE_OP_ALWAYS
	}
	p.compare = op
	p.less, p.equal, p.greater = anyOp(op, lessOps...), anyOp(op, equalOps...), anyOp(op, greaterOps...)
	p.unordered = anyOp(op, vk.COMPARE_OP_NOT_EQUAL, vk.COMPARE_OP_ALWAYS)
	if !t.depth && !t.bounds {
		p.kind = depthNone
	}
	if p.bounds = t.bounds; p.bounds {
		p.boundLow, p.boundHigh = t.storedBounds()
	}
	p.place(&r.depth, r.raster.samples, r.raster.positions)
	if p.stencils = t.stencil; p.stencils {
		p.stencilWrite = t.writesStencil
		for i := range t.faces {
			r.stencils[i] = newStencilFace(&t.faces[i])
		}
		p.stencilPitch = r.stencil.rowPitch
		p.stencilSteps = p.stepsOf(&r.stencil)
	}
	return p
}

// storedBounds is the bounds as depths are stored: bits of floats, or the least and the greatest whole number that are
// within them, in order as integers with a sign.
func (t *fragmentTests) storedBounds() (low, high uint32) {
	if t.kind == depthFloat {
		return math.Float32bits(float32(t.low)), math.Float32bits(float32(t.high))
	}
	depth := func(raw int) float64 { return float64(raw) / t.scale }
	low = uint32(sort.Search(1<<t.bits, func(raw int) bool { return !(depth(raw) < t.low) }))
	high = uint32(sort.Search(1<<t.bits, func(raw int) bool { return depth(raw) > t.high })) - 1
	return low, high
}

// place takes in an attachment of depths, and where its samples are.
func (p *depthPlan) place(s *surface, samples int, positions *[16][2]int64) {
	p.rowPitch, p.samples, p.texelPitch = s.rowPitch, samples, s.size*samples
	p.cells = 4 * max(samples/4, 1)
	p.steps = p.stepsOf(s)
	for c := range p.cells {
		pixel, first := p.cell(c)
		p.shifts[c] = uint8(16*pixel + first)
		p.octets[c/2] |= 0xf << p.shifts[c]
		for i := range 4 {
			sample := first + i
			if samples == 1 {
				pixel, sample = i, 0
			}
			p.lanes[c][i] = float64(pixel&1) + float64(positions[sample][0])/subpixels
		}
	}
}

// cell is a cell's pixel of the quad, and its first sample.
func (p *depthPlan) cell(c int) (pixel, first int) {
	of := p.cells / 4
	return c / of, c % of * 4
}

// stepsOf is how far it is from cell to cell of an attachment, and from the last one to the next quad's first.
func (p *depthPlan) stepsOf(s *surface) (steps [mostCells]int) {
	at, texel := 0, s.size*p.samples
	for c := range p.cells {
		next := 2 * texel
		if c+1 < p.cells {
			pixel, first := p.cell(c + 1)
			next = pixel&1*texel + pixel>>1*s.rowPitch + first*s.size
		}
		steps[c], at = next-at, next
	}
	return steps
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
	of4 := p.cells / 4
	for c := 0; c < p.cells; c += 2 * of4 { // the left pixels'; the right ones lie in the same lines
		for g := range of4 {
			for i := range 4 {
				dy := float64(y+int32(c/of4>>1)) + float64(r.raster.positions[4*g+i][1])/subpixels - of.y0
				p.lines[c+g][i] = float64(of.z.y * dy)
			}
			p.lines[c+of4+g] = p.lines[c+g]
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
	case p.samples == 1:
		testQuadsAVX2(p, &covers[0], len(covers))
	case p.eight:
		testOctetsAVX512(p, &covers[0], len(covers))
	default:
		testSamplesAVX2(p, &covers[0], len(covers))
	}
}

// fillRowTested is fillRowOnce where tests go by rows.
func (r *run) fillRowTested(from, to, y int32) {
	z, f, p := &r.raster, &r.shading, &r.tests.rows
	c := z.sampleBits
	if c == 0 {
		return
	}
	a, b := z.rows[0][0], z.rows[1][0]
	lo, hi := max(a.lo, b.lo), min(a.hi, b.hi) // where all pixels are covered
	p.beginRow(r, y)
	for x := from &^ 1; x < to && r.err == nil; x += 2 * rowQuads {
		n := min(int(to-x+1)/2, rowQuads)
		covers := z.covers[:n]
		for i := range covers {
			if at := x + 2*int32(i); at >= lo && at+2 <= hi {
				covers[i] = [4]uint16{c, c, c, c}
			} else {
				covers[i] = [4]uint16{a.has(at), a.has(at + 1), b.has(at), b.has(at + 1)}
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
