package draw

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"farside/compute"
	"farside/internal/vk"
)

// run is a series of draws under way. It is taken from a pool, so that draws don't allocate once the slices have grown.
type run struct {
	own   Draw  // the draw under way, of a run that is no worker
	draw  *Draw // own, or the parent's
	joins bool  // the next draw may join
	state *State
	pass  *Pass

	width, height int32 // pixels that all attachments have
	layers        uint32
	attachments

	vertices  vertexStage
	assembler assembler
	raster    rasterizer
	shading   fragmentStage
	tests     fragmentTests
	stencils  [2]stencilFace // of tests, front and back, where these are on vectors

	view   uint32 // of multiview
	viewed uint32 // views that have been drawn
	ticks  int    // since Stop was asked
	counts Statistics
	err    error

	bins        bins
	parent      *run                // of a worker: whose polygons it fills
	environment compute.Environment // likewise
	stop        func(uint64) bool   // likewise: stopShared
}

var runs = sync.Pool{New: func() any { return new(run) }}

// Series executes draws one after the other. Those that follow each other with one state join: what the state needs is
// prepared once, and fragments of several draws wait for each other, to be shaded and filled together. What comes out
// has the same bits as without.
//
// A series may go on as long as State and Pass of its draws and what they refer to stay as they are, but for viewports
// and scissors, of which Draw.Changed tells. Each draw may have a fragment environment of its own, which stays as it
// is until the series ends. Whoever changes anything else, waits for what was drawn, or looks at that or at
// Statistics, calls End first. Draws that others might tell apart by what they do beside drawing don't join.
type Series struct{ run *run }

// Draw executes a draw, or has a part of it wait. It fails when a shader does, when it is stopped, and when an
// attachment's memory is not what its layout says; the series has ended then, and what has been drawn until then stays.
// A fault in memory that the application unmapped is a panic. The draw is the caller's again.
func (s *Series) Draw(d *Draw) error {
	if d.Count == 0 || d.Instances == 0 || d.State.Topology == vk.PRIMITIVE_TOPOLOGY_PATCH_LIST {
		return nil
	}
	fresh := s.run == nil
	if fresh {
		s.run = runs.Get().(*run)
	}
	r := s.run
	whole := false
	defer func() {
		if !whole { // a panic
			s.Drop()
		}
	}()
	if fresh {
		r.own = *d
		r.err = r.begin()
	} else {
		r.next(d)
	}
	if r.err == nil {
		r.drawViews()
	}
	whole = true
	if r.err != nil || !r.joins {
		return s.End()
	}
	return nil
}

// End fills what waits, and adds what the draws have counted to their Statistics. Its errors are those of Draw.
func (s *Series) End() (err error) {
	r := s.run
	if r == nil {
		return nil
	}
	whole := false
	defer func() {
		if !whole {
			s.Drop()
		}
	}()
	if r.err == nil {
		r.settle()
	}
	whole, s.run = true, nil
	if err = r.close(r.err); err == nil {
		err = r.err
	}
	r.release()
	runs.Put(r)
	return err
}

// Drop ends a series without what waits.
func (s *Series) Drop() {
	if s.run != nil {
		_ = s.run.close(errFailed)
		s.run = nil
	}
}

// release forgets all that is not the pool's: no memory of the application may be referred to behind a draw.
func (r *run) release() {
	r.own = Draw{}
	r.draw, r.state, r.pass, r.err = nil, nil, nil, nil
	r.depth, r.stencil = surface{}, surface{}
	clear(r.colors[:cap(r.colors)])
	r.tests.rows.at, r.tests.rows.stencil = nil, nil
	r.vertices.release()
	r.shading.release()
	r.bins.collected.release()
	r.bins.polygons.release()
	r.releaseWorkers()
}

// begin prepares both stages for the draws of a series.
func (r *run) begin() error {
	r.draw = &r.own
	r.state, r.pass = r.draw.State, r.draw.Pass
	r.counts, r.err = Statistics{}, nil
	if r.state.Vertex == nil {
		return fmt.Errorf("a draw without a vertex shader")
	}
	if err := r.resolveTargets(); err != nil {
		return err
	}
	if err := r.vertices.prepare(r); err != nil {
		return err
	}
	r.raster.prepare(r)
	r.raster.place(r)
	r.tests.prepare(r)
	if r.state.Fragment != nil && !r.state.NoRasterizer {
		if err := r.shading.prepare(r); err != nil {
			return err
		}
	} else {
		r.shading.prepareNone(r)
	}
	r.bins.prepare(r)
	if c := r.waiting(); c != nil && (!r.bins.on || r.shading.active && r.shading.modes.ReadsInputs) {
		c.Settle()
	}
	r.joins = r.canJoin()
	return nil
}

// next goes on with another draw of the series.
func (r *run) next(d *Draw) {
	turned := d.Fragment != r.own.Fragment
	r.own = *d
	r.vertices.fetcher.rebind(&r.own)
	r.raster.lines = lineState{}
	if d.Changed&ChangedViewports != 0 {
		r.raster.place(r)
		r.bins.viewport = -1
	}
	if d.Changed&ChangedBindings != 0 {
		r.err = r.vertices.turn(d.Vertex)
	}
	switch {
	case !turned || r.err != nil:
	case r.bins.on:
		r.bins.environment = -1
	default:
		r.shading.turn(r, d.Fragment)
	}
}

// canJoin says whether nobody can tell that fragments wait for those of the draws to come.
func (r *run) canJoin() bool {
	if r.draw.InOrder || r.state.Vertex.Stage().Effects {
		return false
	}
	if r.state.Fragment == nil {
		return true
	}
	m := r.state.Fragment.Stage()
	return !m.Effects && !m.ReadsInputs && !m.Subgroups
}

// drawViews draws for each view.
func (r *run) drawViews() {
	r.viewed = 0
	if r.pass.ViewMask == 0 {
		r.view = 0
		r.drawView()
	}
	for mask := r.pass.ViewMask; mask != 0 && r.err == nil; mask &= mask - 1 {
		r.view = uint32(bits.TrailingZeros32(mask))
		r.drawView()
		r.viewed++
	}
}

// reached notes how many vertices of the view have been drawn.
func (r *run) reached(vertices uint64) {
	if p := r.draw.Progress; p != nil {
		views := max(bits.OnesCount32(r.pass.ViewMask), 1)
		inView := float64(vertices) / (float64(r.draw.Count) * float64(r.draw.Instances))
		p.reached((float64(r.viewed) + inView) / float64(views))
	}
}

// settle fills and shades what waits, and counts.
func (r *run) settle() {
	r.bins.empty(r)
	r.bins.finish(r)
	if r.err == nil {
		r.shading.flush(r)
	}
	r.countWorkers()
	if s := r.draw.Statistics; s != nil {
		s.Samples += r.counts.Samples
		for i, n := range r.counts.Counts {
			s.Counts[i] += n
		}
	}
}

// close ends all batches.
func (r *run) close(err error) error {
	r.bins.drop()
	for _, w := range r.bins.workers {
		if w.parent == r {
			err = ended(w.shading.batch, err)
		}
	}
	err = ended(r.shading.batch, err)
	return ended(r.vertices.batch, err)
}

// ended ends a batch, and gives it up. What the batch says comes before what was made of it.
func ended(b compute.Batch, err error) error {
	if b == nil {
		return err
	}
	if failed := b.End(); failed != nil {
		return failed
	}
	if err == nil {
		b.Release()
	}
	return err
}

// tickEvery is how many calls of tick of a worker go by until Stop is asked: that takes a look at the clock, and writes
// what other cores do, too.
const tickEvery = 8

// tick asks now and then whether the draw is to end; it is called once for each batch, and for each so many steps of
// other loops.
func (r *run) tick() {
	if r.ticks++; r.parent != nil && r.ticks < tickEvery {
		return
	}
	asked := r.asked()
	for _, v := range [2]*compute.Environment{r.draw.Vertex, r.draw.Fragment} {
		if v != nil && v.Stop != nil {
			if v.Stop(asked) && r.err == nil {
				r.err = fmt.Errorf("%w in a draw", compute.ErrStopped)
			}
			return
		}
	}
}

// asked is how many batches all cores have done.
func (r *run) asked() uint64 {
	n := r.lead().bins.asks.Add(uint64(r.ticks))
	r.ticks = 0
	return n
}

// statistics are numbered as the bits of VkQueryPipelineStatisticFlagBits.
const (
	countVertices   = 0
	countPrimitives = 1
	countVertexRuns = 2
	countClipIn     = 5
	countClipOut    = 6
	countFragments  = 7
)

// errFailed stands for the error of a batch until the batch is asked for it.
var errFailed = errors.New("a shader failed")
