package draw

import (
	"slices"
	"sync/atomic"

	"farside/compute"
	"farside/internal/cores"
	"farside/internal/vk"
)

// Bins let several cores fill the primitives of a draw. What is to be filled waits until there is much of it, or the
// draw ends. Then the framebuffer is cut into tiles, each of which has a list of the primitives that may touch it, in
// order. A worker takes a tile and goes through its list: so each sample sees its primitives in order, and what comes
// out has the same bits as without bins. Where there is little to do, the primitives are filled in order by who has
// collected them.
//
// While workers fill, who has collected goes on with the vertices to come, until there is as much of these again. Then
// it helps: what comes later isn't filled before what comes first is.
//
// Lines aren't put into bins: each one needs to know where the one before has ended.

const (
	mostBinned = 4096    // primitives that wait
	mostTaken  = 1 << 17 // places in the lists of tiles
	mostTiles  = 1 << 12
	binnedWork = 32 // what a primitive costs, in samples
)

// How work is shared; tests change these.
var (
	binCores = cores.Count
	binShift = 6              // a tile has 1<<binShift pixels along each side
	binShare = int64(1) << 13 // samples that a worker is worth
	binAhead = 512            // primitives that are worth to be filled while others are set up
)

// box is pixels, without those of right and bottom.
type box struct{ left, top, right, bottom int32 }

func (b *box) cut(o *box) box {
	return box{max(b.left, o.left), max(b.top, o.top), min(b.right, o.right), min(b.bottom, o.bottom)}
}

func (b *box) empty() bool { return b.left >= b.right || b.top >= b.bottom }

// binned is a polygon that is to be filled.
type binned struct {
	shape      polygonShape
	inViewport bool
	box        box
	// Where those of its draw are among the polygons': its viewport, and the environment of the fragment shader.
	viewport, environment int32
}

// polygons are some that wait, or that are being filled.
type polygons struct {
	items []binned
	primitives
	all          box // of all items
	viewports    []viewport
	environments []*compute.Environment
}

// bins are the polygons of a draw that wait, those that are being filled, and the workers for that.
type bins struct {
	on    bool
	hides bool // polygons hide what lies under them

	collected polygons
	work      int64 // about how many samples they have
	taken     int   // at most so many places in the lists of tiles
	// The last of collected's; -1: the draw at hand has others.
	viewport, environment int32
	number                uint32 // of viewport in the draw

	polygons      // that are being filled
	shift         int
	columns, rows int
	pairs         []tilePair
	starts        []int32 // of the tiles' lists
	list          []int32

	next    atomic.Int64 // the first tile that nobody has taken
	failed  atomic.Bool
	asks    atomic.Uint64 // how often Stop could have been asked, by all workers
	workers []*run
	part    func(int)  // work, for the job
	job     *cores.Job // workers fill; nil: nobody does
}

type tilePair struct{ tile, item int32 }

// prepare decides whether there are bins.
func (b *bins) prepare(r *run) {
	s := r.state
	b.on = !r.draw.InOrder && !s.NoRasterizer && binCores > 1
	switch s.Topology {
	case vk.PRIMITIVE_TOPOLOGY_LINE_LIST, vk.PRIMITIVE_TOPOLOGY_LINE_STRIP,
		vk.PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY, vk.PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
		b.on = false
	case vk.PRIMITIVE_TOPOLOGY_POINT_LIST:
	default:
		b.on = b.on && s.PolygonMode != vk.POLYGON_MODE_LINE
	}
	b.hides = b.on && r.hides()
	b.failed.Store(false)
	b.asks.Store(0)
	b.reset()
}

// reset forgets the polygons that wait.
func (b *bins) reset() {
	c := &b.collected
	c.items = c.items[:0]
	c.primitives.reset()
	c.all = box{1<<31 - 1, 1<<31 - 1, 0, 0}
	c.viewports, c.environments = c.viewports[:0], c.environments[:0]
	b.work, b.taken, b.viewport, b.environment = 0, 0, -1, -1
}

// add takes a polygon of the primitive at hand, whose pixels are in a box.
func (b *bins) add(r *run, s *polygonShape, at *box, inViewport bool) {
	c := &b.collected
	if n := r.raster.prim.viewport; b.viewport < 0 || b.number != n {
		b.viewport, b.number = int32(len(c.viewports)), n
		c.viewports = append(c.viewports, r.raster.viewports[n])
	}
	if b.environment < 0 {
		b.environment = int32(len(c.environments))
		c.environments = append(c.environments, r.draw.Fragment)
	}
	n := len(c.items)
	c.items = slices.Grow(c.items, 1)[:n+1]
	i := &c.items[n]
	i.shape.n = s.n // number by number, as gradient does it
	for k := range s.x {
		i.shape.x[k], i.shape.y[k] = s.x[k], s.y[k]
	}
	i.box.left, i.box.right, i.box.top, i.box.bottom = at.left, at.right, at.top, at.bottom
	i.inViewport, i.viewport, i.environment = inViewport, b.viewport, b.environment
	c.primitives.add(&r.shading, &r.raster.prim)
	b.work += binnedWork + int64(at.right-at.left)*int64(at.bottom-at.top)*int64(r.raster.samples)/2
	shift := binShift
	b.taken += int((at.right-1)>>shift-at.left>>shift+1) * int((at.bottom-1)>>shift-at.top>>shift+1)
	c.all = box{min(c.all.left, at.left), min(c.all.top, at.top), max(c.all.right, at.right), max(c.all.bottom, at.bottom)}
	if n := len(c.items); n == mostBinned || b.taken >= mostTaken || n%binAhead == 0 && b.ahead() {
		b.empty(r)
	}
}

// ahead says whether workers could fill what waits now.
func (b *bins) ahead() bool {
	return b.work >= 2*binShare && (b.job == nil || b.next.Load() >= int64(b.columns*b.rows))
}

// release forgets what environments refer to.
func (p *polygons) release() { clear(p.environments[:cap(p.environments)]) }

// empty fills all polygons that wait, or has workers begin with it.
func (b *bins) empty(r *run) {
	b.finish(r)
	if len(b.collected.items) == 0 || r.err != nil {
		return
	}
	clears := r.waiting()
	if clears != nil {
		clears.begun = true
	}
	workers := int(min(int64(binCores), b.work/binShare))
	b.polygons, b.collected = b.collected, b.polygons
	b.reset()
	if workers > 1 {
		b.sort()
		workers = min(workers, b.columns*b.rows)
	}
	if workers < 2 {
		r.shading.beginBins(b)
		for i := range b.items {
			if clears != nil {
				clears.meet(&b.items[i].box, 0)
			}
			if r.fillBinned(b, i, &b.all); r.err != nil {
				return
			}
		}
		r.shading.flush(r) // its primitives are the bins'
		return
	}
	for len(b.workers) < workers-1 {
		b.workers = append(b.workers, runs.Get().(*run))
	}
	for _, w := range b.workers[:workers-1] { // before any of them changes what the others are made of
		if w.parent != r {
			if r.err = r.lend(w); r.err != nil {
				return
			}
		}
	}
	if b.part == nil {
		b.part = func(part int) { r.fillTiles(b.workers[part]) }
	}
	b.next.Store(0)
	b.job = cores.Start(workers-1, b.part)
}

// finish fills what workers have begun with.
func (b *bins) finish(r *run) {
	if b.job == nil {
		return
	}
	defer b.drop() // after a panic
	r.fillTiles(r)
	job := b.job
	b.job = nil
	job.Finish()
	for _, w := range b.workers {
		if r.err == nil && w.parent == r {
			r.err = w.err
		}
	}
}

// drop has workers end, wherever they are, if they fill.
func (b *bins) drop() {
	if b.job == nil {
		return
	}
	job := b.job
	b.job = nil
	b.failed.Store(true)
	defer func() { _ = recover() }() // what has ended the series is told of
	job.Finish()
}

// sort makes the lists of the tiles.
func (b *bins) sort() {
	b.shift = binShift
	for {
		b.columns = int((b.all.right-1)>>b.shift-b.all.left>>b.shift) + 1
		b.rows = int((b.all.bottom-1)>>b.shift-b.all.top>>b.shift) + 1
		if b.columns*b.rows <= mostTiles {
			break
		}
		b.shift++
	}
	tiles := b.columns * b.rows
	if cap(b.starts) < tiles+1 {
		b.starts = make([]int32, mostTiles+1)
	}
	b.starts = b.starts[:tiles+1]
	clear(b.starts)
	b.pairs = b.pairs[:0]
	for i := range b.items {
		b.place(int32(i))
	}
	for i := range tiles {
		b.starts[i+1] += b.starts[i]
	}
	if cap(b.list) < len(b.pairs) {
		b.list = make([]int32, len(b.pairs), 2*len(b.pairs))
	}
	b.list = b.list[:len(b.pairs)]
	for i := len(b.pairs) - 1; i >= 0; i-- { // each goes to the end of what is left of its tile's part
		p := &b.pairs[i]
		b.starts[p.tile]--
		b.list[b.starts[p.tile]] = p.item
	}
}

// place finds the tiles that a polygon may touch.
func (b *bins) place(item int32) {
	it := &b.items[item]
	x0, x1 := int(it.box.left>>b.shift), int((it.box.right-1)>>b.shift)
	y0, y1 := int(it.box.top>>b.shift), int((it.box.bottom-1)>>b.shift)
	left, top := int(b.all.left>>b.shift), int(b.all.top>>b.shift)
	var edges [4]edge
	wide := x1 > x0 && y1 > y0
	if wide {
		for i := range it.shape.n {
			edges[i] = it.shape.edgeOf(i, (i+1)%it.shape.n)
		}
	}
	for y := y0; y <= y1; y++ {
		for x := x0; x <= x1; x++ {
			if wide && misses(edges[:it.shape.n], int64(x)<<b.shift, int64(y)<<b.shift, int64(1)<<b.shift) {
				continue
			}
			tile := int32((y-top)*b.columns + x - left)
			b.starts[tile]++
			b.pairs = append(b.pairs, tilePair{tile, item})
		}
	}
}

// misses says that a square of pixels is outside of an edge.
func misses(edges []edge, x, y, size int64) bool {
	for i := range edges {
		e := &edges[i]
		x, y := x*subpixels, y*subpixels
		if e.a > 0 {
			x += size * subpixels
		}
		if e.b > 0 {
			y += size * subpixels
		}
		if e.a*x+e.b*y+e.c < 0 {
			return true
		}
	}
	return false
}

// fillTiles is what a core does: with a run of its own, it takes tiles until there are none.
func (r *run) fillTiles(w *run) {
	b := &r.bins
	tiles := int64(b.columns * b.rows)
	if b.next.Load() >= tiles {
		return
	}
	w.shading.beginBins(b)
	clears := r.waiting()
	for !b.failed.Load() {
		tile := b.next.Add(1) - 1
		if tile >= tiles {
			break
		}
		x, y := int32(int(tile)%b.columns)+b.all.left>>b.shift, int32(int(tile)/b.columns)+b.all.top>>b.shift
		at := box{x << b.shift, y << b.shift, (x + 1) << b.shift, (y + 1) << b.shift}
		list := b.list[b.starts[tile]:b.starts[tile+1]]
		seen, layer, covered := 0, uint32(0), uint32(0)
		if b.hides {
			seen, layer, covered = b.firstSeen(r, list, &at)
		}
		if clears != nil && len(list) > 0 {
			clears.meet(&at, covered)
		}
		for n, i := range list {
			if n < seen && b.prims[i].layer == layer {
				continue
			}
			if w.fillBinned(b, int(i), &at); w.err != nil {
				b.failed.Store(true)
				return
			}
		}
	}
	if w.shading.flush(w); w.err != nil {
		b.failed.Store(true)
	}
}

// fillBinned fills the part of a polygon that is in a box.
func (r *run) fillBinned(b *bins, item int, in *box) {
	it := &b.items[item]
	at := it.box.cut(in)
	if at.empty() {
		return
	}
	if r.shading.turn(r, b.environments[it.environment]); r.err != nil {
		return
	}
	r.raster.at = &b.prims[item]
	r.shading.beginBinned(item)
	r.fillBox(&it.shape, &b.viewports[it.viewport], it.inViewport, &at)
}

// lend makes another run one of this run's workers.
func (r *run) lend(w *run) error {
	w.parent = r
	w.own = *r.draw // which the next draw changes
	w.draw, w.state, w.pass = &w.own, r.state, r.pass
	w.width, w.height, w.layers = r.width, r.height, r.layers
	w.depth, w.stencil = r.depth, r.stencil
	w.colors = append(w.colors[:0], r.colors...)
	w.counts, w.err = Statistics{}, nil
	w.raster.prepare(w)
	w.tests.prepare(w)
	if !r.shading.active {
		w.shading.prepareNone(w)
		return nil
	}
	return w.shading.prepare(w)
}

// stopShared is Stop for the shader of a worker: what counts is what all workers have done.
func (r *run) stopShared(uint64) bool {
	return r.draw.Fragment.Stop(r.asked())
}

// lead is the run that the draw began with.
func (r *run) lead() *run {
	if r.parent != nil {
		return r.parent
	}
	return r
}

// fragments is what the fragment shader of a run finds.
func (r *run) fragments() *compute.Environment {
	if r.parent == nil {
		return r.shading.environment
	}
	r.environment = *r.shading.environment
	if r.environment.Stop != nil {
		if r.stop == nil {
			r.stop = r.stopShared
		}
		r.environment.Stop = r.stop
	}
	return &r.environment
}

// countWorkers adds what the workers have counted.
func (r *run) countWorkers() {
	for _, w := range r.bins.workers {
		if w.parent != r {
			continue
		}
		r.counts.Samples += w.counts.Samples
		for i, n := range w.counts.Counts {
			r.counts.Counts[i] += n
		}
	}
}

// releaseWorkers gives the workers back.
func (r *run) releaseWorkers() {
	for i, w := range r.bins.workers {
		w.release()
		w.parent, w.environment = nil, compute.Environment{}
		runs.Put(w)
		r.bins.workers[i] = nil
	}
	r.bins.workers = r.bins.workers[:0]
}
