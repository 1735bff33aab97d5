package draw

import (
	"fmt"
	"math/bits"

	"farside/compute"
	"farside/spirv"
)

// prim is what fragments need of their primitive.
type prim struct {
	x0, y0                    float64  // the origin of the planes
	z, q                      plane    // depth, 1/w
	b                         [2]plane // how much of the second and third vertex, times 1/w if that differs
	l                         [2]plane // likewise, on the screen
	size                      float64  // of a point; 0: no point
	smooth                    rectangle
	low, high                 float64 // depths of the viewport
	bias                      float64 // of a polygon that isn't filled
	back                      bool
	affine                    bool // 1/w is the same everywhere
	layer, viewport, view, id uint32
	lanes                     [3]uint32 // of its vertices, of which there are corners
	corners                   int
	provoker                  uint32
}

// quad is 2x2 pixels of a primitive, four lanes of the fragment shader.
type quad struct {
	x, y   int32
	prim   int32
	sample int32     // that it is shaded for; -1: all
	cover  [4]uint16 // samples of each pixel
	raw    [4]uint16 // what the shader is told of them
}

// when the tests of depth and stencil happen.
type testTime uint8

const (
	testsLate  testTime = iota
	testsEarly          // and so does counting
	testsSplit          // tests come first, since they write nothing; what is left counts once it has been shaded
)

// fragmentStage collects quads until a batch is full, runs the shader for them, and hands its outputs on.
type fragmentStage struct {
	active bool // there is a shader
	linear bool // some input is linear on the screen
	batch  compute.Batch
	// environment is what the batch finds now, of a worker but for its Stop.
	environment *compute.Environment

	modes     compute.StageModes
	when      testTime
	perSample bool
	lanes     int
	needQuads bool
	vector    bool // by AVX2, where there is a way
	wide      bool // by AVX-512, too
	raws      bool // quads' raw samples are read
	plain     bool // nothing happens to a quad until it is shaded
	ends      bool // a lane may lose samples when it is shaded
	inBoxes   bool // boxes are filled in one go
	inSpans   bool // several samples are found on vectors

	boxes boxPlan
	late  latePlan

	quads      []quad
	complete   int // of quads: those that addFull has added
	primitives     // that the quads have: own, or the bins'
	own        primitives
	binned     bool  // they are the bins'
	current    int32 // of prims; -1: the primitive at hand isn't there yet
	mixed      bool  // not all quads have the first one's primitive
	perAttr    int   // of a primitive
	perFlat    int
	inputs     []fragmentInput
	attributes [][]uint32 // what is interpolated: the vertex shader's outputs
	places     [6]weights
	list       []interpolated // of the batch
	positions  [3]location
	mask       []uint8
	effects    []uint8

	depthOut, stencilOut, maskOut []uint32
	outputs                       outputStage
}

func (f *fragmentStage) release() {
	f.batch, f.environment, f.primitives = nil, nil, primitives{}
	clear(f.inputs)
	clear(f.attributes)
	clear(f.list[:cap(f.list)])
	f.depthOut, f.stencilOut, f.maskOut = nil, nil, nil
	f.late, f.boxes = latePlan{}, boxPlan{}
	f.outputs.release()
}

// prepareNone is for draws without a fragment shader, which are for depth, stencil and counts alone.
func (f *fragmentStage) prepareNone(r *run) {
	f.active, f.linear, f.when, f.batch, f.raws = false, false, testsEarly, nil, false
	f.plain, f.perSample = false, false
	f.vector = !r.draw.InOrder && vectors()
	f.wide = f.vector && wide()
	f.quads, f.complete = f.quads[:0], 0
	r.tests.planRows(r)
	f.planBoxes(r)
}

// prepare begins the shader and plans its inputs and outputs.
func (f *fragmentStage) prepare(r *run) error {
	shader := r.state.Fragment
	outputs := shader.Outputs()
	var unread uint64
	if !r.draw.InOrder { // which computes all, to be compared with
		unread = r.unread(outputs)
	}
	batch := shader.NewBatch(unread)
	f.batch, f.environment = nil, r.draw.Fragment
	if err := batch.Begin(r.fragments()); err != nil {
		return err
	}
	f.batch, f.active, f.modes = batch, true, *shader.Stage()
	if f.lanes = batch.Lanes(); f.lanes < 8 {
		return fmt.Errorf("a batch of %d fragments", f.lanes)
	}
	s := r.state
	f.perSample = r.raster.samples > 1 && (f.modes.PerSample ||
		s.SampleShading && float64(s.MinSamples)*float64(r.raster.samples) > 1)
	f.needQuads = f.modes.Derivatives
	if cap(f.quads) < f.lanes/4 {
		f.quads = make([]quad, f.lanes/4)
	}
	f.binned = false
	f.empty()
	if cap(f.mask) < f.lanes/8 {
		f.mask, f.effects = make([]uint8, f.lanes/8), make([]uint8, f.lanes/8)
	}
	f.mask, f.effects = f.mask[:f.lanes/8], f.effects[:f.lanes/8]
	f.vector = !r.draw.InOrder && vectors()
	f.wide = f.vector && wide()
	f.planInputs(r, shader.Inputs())
	f.depthOut, f.stencilOut, f.maskOut = nil, nil, nil
	for i := range outputs {
		out := batch.Output(i)
		if o := &outputs[i]; o.IsBuiltIn && o.Component == 0 {
			switch o.BuiltIn {
			case spirv.BuiltInFragDepth:
				f.depthOut = out
			case spirv.BuiltInFragStencilRefEXT:
				f.stencilOut = out
			case spirv.BuiltInSampleMask:
				f.maskOut = out
			}
		}
	}
	f.when = f.testTime(r)
	f.plain = !f.perSample && !r.raster.smooth && !r.state.StippleLines && (f.when == testsLate || !r.tests.some)
	r.tests.planRows(r)
	f.planBoxes(r)
	f.ends = f.when != testsEarly || f.modes.Discards || f.maskOut != nil || r.state.AlphaToCoverage
	if err := f.outputs.prepare(r, outputs, f); err != nil {
		return err
	}
	f.planLate(r)
	return nil
}

// turn has the shader find another environment from now on.
func (f *fragmentStage) turn(r *run, to *compute.Environment) {
	if !f.active || to == f.environment {
		return
	}
	if f.flush(r); r.err != nil {
		return
	}
	f.environment = to
	if r.err = f.batch.End(); r.err == nil {
		r.err = f.batch.Begin(r.fragments())
	}
	if r.err != nil {
		f.batch = nil
	}
}

// testTime decides when tests happen: early where nobody can tell, or the shader asks for it.
func (f *fragmentStage) testTime(r *run) testTime {
	m := &f.modes
	ends := m.Discards || f.maskOut != nil || r.state.AlphaToCoverage
	replaces := f.depthOut != nil || f.stencilOut != nil
	writes := r.tests.write || r.tests.writesStencil
	switch {
	case m.EarlyTests:
		f.depthOut, f.stencilOut = nil, nil
		return testsEarly
	case m.Effects || replaces || m.ReadsInputs && writes:
		return testsLate
	case !ends:
		return testsEarly
	case !writes:
		return testsSplit
	}
	return testsLate
}

// begin begins the primitive at hand, whose planes are known now.
func (f *fragmentStage) begin() { f.current = -1 }

// beginBins has the primitives to come be the bins'. There are no quads.
func (f *fragmentStage) beginBins(b *bins) { f.primitives, f.binned = b.primitives, true }

// beginBinned begins a primitive that has waited.
func (f *fragmentStage) beginBinned(item int) {
	f.current = int32(item)
	f.mixed = f.mixed || len(f.quads) > 0 && f.quads[0].prim != f.current
}

// quad takes a quad of the primitive at hand: the samples that it covers.
func (f *fragmentStage) quad(r *run, x, y int32, cover *[4]uint16) {
	z := &r.raster
	if f.plain {
		for i := range cover {
			cover[i] &= z.sampleBits
		}
		if cover[0]|cover[1]|cover[2]|cover[3] != 0 {
			f.addPlain(r, x, y, cover)
		}
		return
	}
	p := z.at
	if z.lines.stippled {
		z.lines.stippleBits(r.state, x, y, cover)
	}
	for i := range cover {
		cover[i] &= z.sampleBits
		if cover[i] == 0 || !(p.smooth.half > 0) {
			continue
		}
		// A fragment is all of its pixel: how much of that is covered is in its alpha.
		cover[i] = z.sampleBits
		if p.smooth.coverage(x+int32(i&1), y+int32(i>>1)) == 0 {
			cover[i] = 0
		}
	}
	raw := *cover
	switch {
	case f.when == testsLate || !r.tests.some:
	case r.tests.simple:
		r.tests.runQuad(r, p, x, y, cover)
	default:
		for i, c := range cover {
			if c != 0 {
				cover[i] = r.tests.run(r, p, x+int32(i&1), y+int32(i>>1), c, nil)
			}
		}
	}
	if cover[0]|cover[1]|cover[2]|cover[3] == 0 {
		return
	}
	if f.when == testsEarly {
		r.count(cover)
	}
	if !f.active {
		return
	}
	if f.modes.PostDepth {
		raw = *cover
	}
	if !f.perSample {
		f.add(r, &quad{x: x, y: y, sample: -1, cover: *cover, raw: raw})
		return
	}
	for i := range z.samples {
		q := quad{x: x, y: y, sample: int32(i)}
		some := uint16(0)
		for k := range cover {
			q.cover[k], q.raw[k] = cover[k]&(1<<i), raw[k]&(1<<i)
			some |= q.cover[k]
		}
		if some != 0 {
			if f.add(r, &q); r.err != nil {
				return
			}
		}
	}
}

// addPlain adds a quad that nothing happens to until it is shaded.
func (f *fragmentStage) addPlain(r *run, x, y int32, cover *[4]uint16) {
	if f.when == testsEarly {
		r.count(cover)
	}
	if f.current < 0 {
		f.commit(r)
	}
	n := len(f.quads)
	f.quads = append(f.quads, quad{})
	q := &f.quads[n]
	q.x, q.y, q.prim, q.sample, q.cover, q.raw = x, y, f.current, -1, *cover, *cover
	if 4*n+4 == f.lanes {
		f.flush(r)
	}
}

// expect has the processor read the colours of two rows of pixels, which are written when their quads have been shaded.
func (f *fragmentStage) expect(r *run, from, to, y int32) {
	for i := range r.colors {
		if c := &r.colors[i]; c.planned || c.inRows {
			size := c.samples * c.size
			prefetch(&c.bytes[c.at(from, y, r.raster.at.layer)], int(to-from)*size, c.rowPitch)
		}
	}
}

// addRow adds the quads of two rows of pixels with one sample, of which a and b are covered.
func (f *fragmentStage) addRow(r *run, from, to, y int32, a, b interval) {
	c := r.raster.sampleBits & 1
	if c == 0 {
		return
	}
	if f.when == testsEarly {
		r.counts.Samples += uint64(a.hi-a.lo) + uint64(b.hi-b.lo)
	}
	f.expect(r, from, to, y)
	lo, hi := max(a.lo, b.lo), min(a.hi, b.hi) // where all four pixels are covered
	all := [4]uint16{1, 1, 1, 1}
	for x := from &^ 1; x < to; {
		if f.current < 0 {
			f.commit(r)
		}
		n := len(f.quads)
		made, k := f.quads[n:f.lanes/4], 0
		for ; x < to && k < len(made); x += 2 {
			if x >= lo && x+2 <= hi {
				n := min(int(hi-x)/2, len(made)-k)
				f.row(made[k:k+n], x, y, &all)
				k, x = k+n, x+2*int32(n)-2
				continue
			}
			q := &made[k]
			q.x, q.y, q.prim, q.sample = x, y, f.current, -1
			cover := [4]uint16{a.has(x), a.has(x + 1), b.has(x), b.has(x + 1)}
			q.cover, q.raw = cover, cover
			if cover != [4]uint16{} {
				k++
			}
		}
		if f.quads = f.quads[:n+k]; n+k == f.lanes/4 {
			if f.flush(r); r.err != nil {
				return
			}
		}
	}
}

// addFull adds the quads from x to end of a row, of which each has all samples of all pixels.
func (f *fragmentStage) addFull(r *run, x, end, y int32) {
	c := r.raster.sampleBits
	if c == 0 {
		return
	}
	cover := [4]uint16{c, c, c, c}
	for x < end {
		if f.current < 0 {
			f.commit(r)
		}
		n := len(f.quads)
		k := min(int(end-x)/2, f.lanes/4-n)
		f.quads = f.quads[:n+k]
		f.row(f.quads[n:], x, y, &cover)
		if f.when == testsEarly {
			r.counts.Samples += uint64(4 * k * bits.OnesCount16(c))
		}
		x += 2 * int32(k)
		if 4*(n+k) == f.lanes {
			if f.flush(r); r.err != nil {
				return
			}
		}
	}
}

// row makes quads of the primitive at hand, one beside the other, whose pixels are all covered.
func (f *fragmentStage) row(made []quad, x, y int32, cover *[4]uint16) {
	f.complete += len(made)
	made[0] = quad{x: x, y: y, prim: f.current, sample: -1, cover: *cover, raw: *cover}
	if f.vector {
		rowAVX2(&made[0], len(made))
		return
	}
	for i := 1; i < len(made); i++ {
		made[i] = made[0]
		made[i].x += 2 * int32(i)
	}
}

// count counts samples that pass.
func (r *run) count(cover *[4]uint16) {
	r.counts.Samples += uint64(bits.OnesCount64(packed(cover)))
}

// add adds a quad to the batch.
func (f *fragmentStage) add(r *run, q *quad) {
	if f.current < 0 {
		f.commit(r)
	}
	q.prim = f.current
	f.quads = append(f.quads, *q)
	if 4*len(f.quads) == f.lanes {
		f.flush(r)
	}
}

// flush shades what has been collected.
func (f *fragmentStage) flush(r *run) {
	if len(f.quads) == 0 || r.err != nil {
		return
	}
	if r.tick(); r.err != nil {
		return
	}
	f.locate(r)
	f.fillInputs(r)
	f.setLanes(r)
	if !f.batch.Run(f.mask, f.effects) {
		r.err = errFailed
		return
	}
	f.finish(r)
	f.outputs.write(r, f)
	f.empty()
}

// empty forgets the quads.
func (f *fragmentStage) empty() {
	f.quads, f.complete, f.mixed = f.quads[:0], 0, false
	if !f.binned {
		f.own.reset()
		f.current = -1
	}
}

// setLanes says which lanes run. Helpers do where derivatives need them.
func (f *fragmentStage) setLanes(r *run) {
	if 4*f.complete == f.lanes {
		for i := range f.mask {
			f.mask[i], f.effects[i] = 255, 255
		}
		r.counts.Counts[countFragments] += uint64(f.lanes)
		return
	}
	clear(f.effects)
	lanes := 0
	if f.wide {
		lanes = lanesAVX512(&f.quads[0], len(f.quads), &f.effects[0])
	} else {
		for i := range f.quads {
			set := f.quads[i].lanes()
			lanes += bits.OnesCount8(set)
			f.effects[i/2] |= set << (4 * (i & 1))
		}
	}
	copy(f.mask, f.effects)
	if f.needQuads {
		fillLanes(f.mask, 4*len(f.quads))
	}
	r.counts.Counts[countFragments] += uint64(lanes)
}

// lanes is a bit for each pixel of which a sample is covered.
func (q *quad) lanes() (set uint8) {
	const low = 0x7fff7fff7fff7fff
	c := packed(&q.cover)
	c = (c&low + low | c) &^ low // the highest bit of each pixel's that has any
	return uint8(c>>15 | c>>30 | c>>45 | c>>60)
}

// packed is the covers of four pixels in one word.
func packed(c *[4]uint16) uint64 {
	return uint64(c[0]) | uint64(c[1])<<16 | uint64(c[2])<<32 | uint64(c[3])<<48
}

// finish leaves in the quads what samples are to be written: those of lanes that are left, as far as the shader, alpha
// and the tests let them.
func (f *fragmentStage) finish(r *run) {
	if !f.ends {
		return
	}
	if f.late.ok {
		f.finishVector(r)
		return
	}
	samples := r.raster.samples
	for i := range f.quads {
		q := &f.quads[i]
		alive := f.effects[i/2] >> (uint(i&1) * 4)
		p := &f.prims[q.prim]
		for k := range q.cover {
			cover := q.cover[k]
			lane := 4*i + k
			if alive>>k&1 == 0 {
				cover = 0
			}
			if cover == 0 {
				q.cover[k] = 0
				continue
			}
			if f.maskOut != nil {
				cover &= uint16(f.maskOut[lane])
			}
			if r.state.AlphaToCoverage {
				cover &= f.outputs.alphaCoverage(lane, samples)
			}
			if f.when == testsLate && r.tests.some && cover != 0 {
				o := overrides{depth: f.depthOut != nil, stencil: f.stencilOut != nil}
				if o.depth {
					o.depthValue = float(f.depthOut, uint32(lane))
				}
				if o.stencil {
					o.stencilReferenceOf = f.stencilOut[lane]
				}
				cover = r.tests.run(r, p, q.x+int32(k&1), q.y+int32(k>>1), cover, &o)
			}
			q.cover[k] = cover
		}
		if f.when != testsEarly {
			r.count(&q.cover)
		}
	}
}
