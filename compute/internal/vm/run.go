package vm

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/internal/cores"
	"farside/internal/ieee"
)

// ErrStopped is what a dispatch ends with after its Stop has said so. The error that wraps it names the entry point
// and, where one was running, the loop.
var ErrStopped = errors.New("the dispatch was stopped")

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
	engine  *Engine
	program *program.Program
	*Dispatch
	slots   []kernel.Memory // of the program's slots; those of shared memory are each worker's own
	total   uint64          // workgroups
	grain   uint64          // that a worker takes at once
	next    atomic.Uint64   // the first that nobody has taken
	stopped atomic.Bool
	part    func(int) // work, for cores.Do
	stream  bool      // what it writes goes past the caches

	mu       sync.Mutex // of what follows, and of Print
	err      error
	inLoop   bool // err names a loop
	stopping bool // err is of Stop
}

// Run executes a program, always the same one, for all workgroups of the dispatch, and returns when they are done. It
// uses the cores of the machine; several dispatches may run at once. It fails with ErrStopped when the dispatch's Stop
// says so, and with another error when memory that the bindings gave is not mapped. What was written until then stays.
func (e *Engine) Run(p *program.Program, d *Dispatch) error {
	total := workgroups(d.Groups)
	if total == 0 {
		return nil
	}
	if err := e.Prepare(p); err != nil {
		return err
	}
	r := e.run()
	r.engine, r.program, r.Dispatch, r.total = e, p, d, total
	r.next.Store(0)
	r.stopped.Store(false)
	r.err, r.inLoop, r.stopping = nil, false, false
	r.resolve()
	r.stream = r.streams()
	if workers := r.workers(); workers > 1 {
		r.grain = max(total/uint64(workers*grabs), 1)
		cores.Do(workers, r.part)
	} else {
		r.grain = total
		r.work()
	}
	err := r.err
	// Memory that is not Go's may be given back after the dispatch, and become Go's: no pointer to it may stay.
	clear(r.slots)
	r.Dispatch, r.err = nil, nil
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
	w := r.engine.worker(r.program)
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

// faulted is the error of a panic.
func faulted(p *program.Program, reason any) error {
	if fault, ok := reason.(interface {
		runtime.Error
		Addr() uintptr
	}); ok {
		return fmt.Errorf("entry point %q: memory fault at address %#x: memory that the application unmapped or truncated?",
			p.Name, fault.Addr())
	}
	return fmt.Errorf("entry point %q: panic: %v\n%s", p.Name, reason, debug.Stack())
}

// fail ends the dispatch. The first error counts, but one of Stop that names a loop comes before one that does not.
func (r *run) fail(err error, stopping, inLoop bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil || r.stopping && stopping && inLoop && !r.inLoop {
		r.err, r.stopping, r.inLoop = err, stopping, inLoop
	}
	r.stopped.Store(true)
}

// stopAlso is for a worker that finds the dispatch stopped in a loop: it may know more than who stopped it.
func (r *run) stopAlso(loop int32) {
	r.mu.Lock()
	tell := r.stopping && !r.inLoop && loop >= 0
	r.mu.Unlock()
	if tell {
		r.stop(loop)
	}
}

// stop ends the dispatch because of Stop. The loop is an index in Program.Loops, or -1.
func (r *run) stop(loop int32) {
	if loop >= 0 && int(loop) < len(r.program.Loops) {
		r.fail(fmt.Errorf("%w: entry point %q in loop %s", ErrStopped, r.program.Name, r.program.Loops[loop].Name), true,
			true)
		return
	}
	r.fail(fmt.Errorf("%w: entry point %q", ErrStopped, r.program.Name), true, false)
}

// message passes on a message of the shader.
func (r *run) message(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Print(message)
}
