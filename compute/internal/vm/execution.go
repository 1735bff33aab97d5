package vm

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
)

// ErrStopped is what an execution ends with after its Stop has said so. The error that wraps it names the entry point
// and, where one was running, the loop.
var ErrStopped = errors.New("the dispatch was stopped")

// execution is a program under way: what its workers share, whatever the stage.
type execution struct {
	engine  *Engine
	program *program.Program
	*Environment
	slots   []kernel.Memory // of the program's slots; those of shared memory are the driver's
	stopped atomic.Bool
	ended   atomic.Uint64 // batches that have come to their end, as far as workers have said so
	stream  bool          // what it writes goes past the caches

	mu       sync.Mutex // of what follows, and of Print
	err      error
	inLoop   bool // err names a loop
	stopping bool // err is of Stop
}

// begin prepares an execution that nobody has under way, and asks the bindings what the slots refer to.
func (x *execution) begin(e *Engine, p *program.Program, v *Environment) {
	x.engine, x.program, x.Environment = e, p, v
	x.stopped.Store(false)
	x.ended.Store(0)
	x.err, x.inLoop, x.stopping = nil, false, false
	x.resolve()
}

// end forgets all of it and gives its error. Memory that is not Go's may be given back afterwards, and become Go's: no
// pointer to it may stay.
func (x *execution) end() error {
	err := x.err
	clear(x.slots)
	x.Environment, x.err = nil, nil
	return err
}

// resolve asks the bindings what the slots refer to.
func (x *execution) resolve() {
	p := x.program
	if cap(x.slots) < len(p.Slots) {
		x.slots = make([]kernel.Memory, len(p.Slots))
	}
	x.slots = x.slots[:len(p.Slots)]
	for i := range p.Slots {
		switch s := &p.Slots[i]; s.Kind {
		case program.SlotBuffer:
			x.slots[i] = x.Bindings.Memory(s.Set, s.Binding, s.Element)
		case program.SlotPush:
			x.slots[i] = slice(x.PushConstants)
		case program.SlotData:
			x.slots[i] = slice(p.Data)
		}
	}
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

// fail ends the execution. The first error counts, but one of Stop that names a loop comes before one that does not.
func (x *execution) fail(err error, stopping, inLoop bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil || x.stopping && stopping && inLoop && !x.inLoop {
		x.err, x.stopping, x.inLoop = err, stopping, inLoop
	}
	x.stopped.Store(true)
}

// stopAlso is for a worker that finds the execution stopped in a loop: it may know more than who stopped it.
func (x *execution) stopAlso(loop int32) {
	x.mu.Lock()
	tell := x.stopping && !x.inLoop && loop >= 0
	x.mu.Unlock()
	if tell {
		x.stop(loop)
	}
}

// stop ends the execution because of Stop. The loop is an index in Program.Loops, or -1.
func (x *execution) stop(loop int32) {
	if loop >= 0 && int(loop) < len(x.program.Loops) {
		x.fail(fmt.Errorf("%w: entry point %q in loop %s", ErrStopped, x.program.Name, x.program.Loops[loop].Name), true,
			true)
		return
	}
	x.fail(fmt.Errorf("%w: entry point %q", ErrStopped, x.program.Name), true, false)
}

// message passes on a message of the shader.
func (x *execution) message(message string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.Print(message)
}
