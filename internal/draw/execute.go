package draw

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"farside/compute"
	"farside/internal/vk"
)

// run is a draw under way. It is taken from a pool, so that draws don't allocate once the slices have grown.
type run struct {
	draw  *Draw
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

	view   uint32 // of multiview
	counts Statistics
	err    error

	bins        bins
	parent      *run                // of a worker: whose polygons it fills
	environment compute.Environment // likewise
	stop        func(uint64) bool   // likewise: stopShared
}

var runs = sync.Pool{New: func() any { return new(run) }}

// Execute executes the draw. It fails when a shader does, when it is stopped, and when an attachment's memory is not
// what its layout says; what has been drawn until then stays. A fault in memory that the application unmapped is a
// panic.
func (d *Draw) Execute() error {
	if d.Count == 0 || d.Instances == 0 || d.State.Topology == vk.PRIMITIVE_TOPOLOGY_PATCH_LIST {
		return nil
	}
	r := runs.Get().(*run)
	err := r.execute(d)
	r.release()
	runs.Put(r)
	return err
}

// release forgets all that is not the pool's: no memory of the application may be referred to behind a draw.
func (r *run) release() {
	r.draw, r.state, r.pass, r.err = nil, nil, nil, nil
	r.depth, r.stencil = surface{}, surface{}
	clear(r.colors[:cap(r.colors)])
	r.tests.rows.at = nil
	r.vertices.release()
	r.shading.release()
	r.releaseWorkers()
}

// execute prepares both stages, and draws for each view.
func (r *run) execute(d *Draw) (err error) {
	r.draw, r.state, r.pass = d, d.State, d.Pass
	r.counts, r.err = Statistics{}, nil
	if d.State.Vertex == nil {
		return fmt.Errorf("a draw without a vertex shader")
	}
	if err := r.resolveTargets(); err != nil {
		return err
	}
	defer func() { err = ended(r.vertices.batch, err) }()
	if err := r.vertices.prepare(r); err != nil {
		return err
	}
	r.raster.prepare(r)
	r.tests.prepare(r)
	if d.State.Fragment != nil && !d.State.NoRasterizer {
		defer func() { err = ended(r.shading.batch, err) }()
		if err := r.shading.prepare(r); err != nil {
			return err
		}
	} else {
		r.shading.prepareNone(r)
	}
	r.bins.prepare(r)
	defer func() { err = r.endWorkers(err) }()
	if r.pass.ViewMask == 0 {
		r.view = 0
		r.drawView()
	}
	for mask := r.pass.ViewMask; mask != 0 && r.err == nil; mask &= mask - 1 {
		r.view = uint32(bits.TrailingZeros32(mask))
		r.drawView()
	}
	r.bins.empty(r)
	if r.err == nil {
		r.shading.flush(r)
	}
	r.countWorkers()
	if d.Statistics != nil {
		d.Statistics.Samples += r.counts.Samples
		for i, n := range r.counts.Counts {
			d.Statistics.Counts[i] += n
		}
	}
	return r.err
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

// tick asks whether the draw is to end; it is called once for each batch, and for each so many steps of other loops.
func (r *run) tick() {
	asked := r.lead().bins.asks.Add(1)
	for _, v := range [2]*compute.Environment{r.draw.Vertex, r.draw.Fragment} {
		if v != nil && v.Stop != nil {
			if v.Stop(asked) && r.err == nil {
				r.err = fmt.Errorf("%w in a draw", compute.ErrStopped)
			}
			return
		}
	}
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
