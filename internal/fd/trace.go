package fd

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// trace is where a traced FD was opened.
type trace struct {
	set   *Traced
	stack [16]uintptr
	depth int
}

// Traced is the set of FDs that were opened since [Trace] and own a descriptor still.
type Traced struct {
	mu   sync.Mutex
	live map[*trace]struct{}
}

var tracing atomic.Pointer[Traced]

// Trace begins to remember where each new FD is opened; it is for tests. A second call ends what the first began.
func Trace() *Traced {
	t := &Traced{live: map[*trace]struct{}{}}
	tracing.Store(t)
	return t
}

// Stop ends the tracing. FDs that were opened before it are still followed.
func (t *Traced) Stop() { tracing.CompareAndSwap(t, nil) }

// Live returns, for each FD that is open, the stack of the call that opened it.
func (t *Traced) Live() []*runtime.Frames {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*runtime.Frames
	for o := range t.live {
		all = append(all, runtime.CallersFrames(o.stack[:o.depth]))
	}
	return all
}

func opened() *trace {
	set := tracing.Load()
	if set == nil {
		return nil
	}
	t := &trace{set: set}
	t.depth = runtime.Callers(2, t.stack[:])
	set.mu.Lock()
	defer set.mu.Unlock()
	set.live[t] = struct{}{}
	return t
}

func (t *trace) closed() {
	if t == nil {
		return
	}
	t.set.mu.Lock()
	defer t.set.mu.Unlock()
	delete(t.set.live, t)
}
