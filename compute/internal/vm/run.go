package vm

import (
	"math"
	"math/bits"
	"runtime/debug"
	"sync/atomic"

	"farside/compute/internal/program"
	"farside/internal/cores"
	"farside/internal/ieee"
)

const (
	// grabs is how often a core comes for workgroups, about: one that is late leaves some to the others.
	grabs = 64
	// A dispatch below this estimate of its length, in nanoseconds, is not worth a second core, which takes
	// microseconds to come.
	worthSharing = 20000
	// ticks is how many workgroups begin and loops go round before Stop is asked again.
	ticks = 64
	// Workgroups in rows are without loops: as many as take this long, in nanoseconds, may come between.
	rowTime = 1000000
)

// run is one dispatch under way.
type run struct {
	execution
	*Dispatch
	total uint64        // workgroups
	grain uint64        // that a worker takes at once
	next  atomic.Uint64 // the first that nobody has taken
	part  func(int)     // work, for cores.Do
}

// Run executes a compute shader, always the same one, for all workgroups of the dispatch, and returns when they are
// done. It uses the cores of the machine; several dispatches may run at once. It fails with ErrStopped when the
// dispatch's Stop says so, and with another error when memory that the bindings gave is not mapped. What was written
// until then stays.
func (e *Engine) Run(p *program.Program, d *Dispatch) error {
	total := workgroups(d.Groups)
	if total == 0 {
		return nil
	}
	if err := e.Prepare(p); err != nil {
		return err
	}
	r := e.run()
	r.begin(e, p, &d.Environment)
	r.Dispatch, r.total = d, total
	r.next.Store(0)
	r.stream = r.streams()
	if workers := r.workers(); workers > 1 {
		r.grain = max(total/uint64(workers*grabs), 1)
		cores.Do(workers, r.part)
	} else {
		r.grain = total
		r.work()
	}
	err := r.end()
	r.Dispatch = nil
	e.runs.Put(r)
	return err
}

// workgroups is how many a dispatch has, or, of more than that, as many as no machine will ever do.
func workgroups(groups [3]uint32) uint64 {
	const never = math.MaxUint64 / 4
	high, low := bits.Mul64(uint64(groups[0])*uint64(groups[1]), uint64(groups[2]))
	if high > 0 {
		return never
	}
	return min(low, never)
}

// workers is how many workers the dispatch is worth.
func (r *run) workers() int {
	if r.total == 1 || cores.Count == 1 {
		return 1
	}
	high, estimate := bits.Mul64(r.total, r.engine.estimate)
	if high == 0 && estimate < worthSharing {
		return 1
	}
	return int(min(uint64(cores.Count), r.total))
}

// work is what a core does for the dispatch. A fault or a panic ends the dispatch with an error.
func (r *run) work() {
	if r.next.Load() >= r.total {
		return
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer ieee.Leave(ieee.Enter())
	// Where it did not come to the end, what masks are left is unknown: the worker is not used again.
	defer func() {
		if reason := recover(); reason != nil {
			r.fail(faulted(r.program, reason), false, false)
		}
	}()
	w := r.engine.walker(r.program)
	w.begin(r)
	for !r.stopped.Load() {
		from := r.next.Add(r.grain) - r.grain
		if from >= r.total {
			break
		}
		if !w.groups(from, min(from+r.grain, r.total)) {
			return
		}
	}
	w.end()
	r.engine.workers.Put(w)
}
