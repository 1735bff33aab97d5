// Package syncobj is what fences, semaphores and events are made of: a payload that is signalled and waited
// for, within the process or by all processes that hold it.
//
// # The state block
//
// A payload's state is a value, the sequence number that is the futex word, and the lowest value that a
// sleeper wants. It lies in process memory, or, for a shared payload, in the mapped page of a sealed memfd.
// One protocol serves both:
//
//   - A waiter loads seq, lowers wanted to its target, looks at the value once more, and sleeps while seq is
//     what it loaded.
//   - A signaller stores the value. When wanted is not above it, it takes wanted back to none, changes seq
//     and wakes all sleepers.
//
// Whoever changes seq may erase the registration of a waiter that is not satisfied yet; that waiter is woken,
// or fails to fall asleep, and registers again. A signal that nobody waits for makes no system call, and a
// waiter alone on its payload is woken once.
//
// Other holders of a shared payload are not trusted: whatever they write into the state block can make a wait
// end early, late or at its timeout, which they could do with proper calls as well, and nothing else.
//
// # Orphans
//
// A payload is orphaned when nobody is left who could signal it: the last other holder of a shared payload
// died without releasing it, or the writer of an imported sync file is gone. See orphan.go and syncfile.go.
//
// Lock order: watcher.mu or checker.mu, then Payload.mu. Neither is held across a blocking call.
package syncobj

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"farside/internal/fd"
	"farside/internal/vk"
)

// Kind says how a payload is signalled and waited for.
type Kind uint32

// The kinds of payloads. An event is a local payload of kind Fence.
const (
	Fence    Kind = iota + 1 // 0 or 1; a wait leaves it signalled, Reset takes the signal back
	Binary                   // 0 or 1; a wait consumes the signal
	Timeline                 // a value that only grows
)

// String is the kind as messages name it.
func (k Kind) String() string {
	switch k {
	case Fence:
		return "fence"
	case Binary:
		return "binary semaphore"
	case Timeline:
		return "timeline semaphore"
	}
	return "unknown kind"
}

// How a wait can fail.
var (
	ErrTimeout  = errors.New("the wait timed out")
	ErrStopped  = errors.New("the wait was stopped")
	ErrOrphaned = errors.New("the payload can never be signalled: whoever would have done it is gone")
)

// none is the value of state.wanted while nobody waits. A wait for it works: every signal reaches it.
const none = math.MaxUint64

// state is what all holders of a payload share.
type state struct {
	value   atomic.Uint64
	wanted  atomic.Uint64 // the lowest target of a sleeper, or none
	seq     atomic.Uint32 // the futex word; changes before sleepers are woken
	holders atomic.Uint32 // shared payloads: imports and creations that were not released
}

// Payload is one fence, semaphore or event. All methods may be called from any goroutine while the caller
// holds a reference.
type Payload struct {
	state    *state
	kind     Kind
	wakeOp   uintptr // FUTEX_WAKE, process-private for local payloads
	refs     atomic.Int32
	pending  atomic.Int32
	orphaned atomic.Bool // for shared payloads a hint, which Orphaned confirms
	piped    atomic.Bool // pipes may not be empty

	own      state   // what state points to for a local payload
	shared   *shared // nil for a local payload
	syncFile *fd.FD  // the imported sync file, closed once watched has settled it; nil without one

	mu    sync.Mutex
	pipes []pipe // exported sync files, until the signal; guarded by mu
}

// New returns a local payload with the given value and a reference count of 1.
func New(kind Kind, initial uint64) *Payload {
	p := &Payload{kind: kind, wakeOp: futexWake | futexPrivate}
	p.state = &p.own
	p.own.value.Store(initial)
	p.own.wanted.Store(none)
	p.refs.Store(1)
	return p
}

// Kind returns what kind of payload p is.
func (p *Payload) Kind() Kind { return p.kind }

// Shared says whether the payload can be held by several processes.
func (p *Payload) Shared() bool { return p.shared != nil }

// Foreign says whether other processes or drivers may signal the payload.
func (p *Payload) Foreign() bool { return p.shared != nil || p.syncFile != nil }

// ID is a number by which reports tell payloads apart: of a shared payload it is the same in all processes.
func (p *Payload) ID() uint64 {
	if p.shared == nil {
		return p.address()
	}
	return p.shared.inode()
}

// Retain adds a reference and returns p.
func (p *Payload) Retain() *Payload {
	if p.refs.Add(1) <= 1 {
		panic("syncobj: Retain of a payload that is gone")
	}
	return p
}

// Release drops a reference. With the last one the process lets go of the payload: exported sync files that
// were not signalled become orphans.
func (p *Payload) Release() {
	switch n := p.refs.Add(-1); {
	case n > 0:
		return
	case n < 0:
		panic("syncobj: Release of a payload that is gone")
	}
	if p.syncFile != nil {
		watched.forget(p)
	}
	if p.piped.Load() {
		p.closePipes(false)
	}
	if p.shared != nil {
		p.letGo()
	}
}

// Pending counts the signal operations that this process has queued: while there are any, the payload is not
// orphaned.
func (p *Payload) Pending(delta int) { p.pending.Add(int32(delta)) }

// HasPending says whether this process has a signal operation queued.
func (p *Payload) HasPending() bool { return p.pending.Load() > 0 }

// Value returns a timeline's value; for the other kinds 1 if the payload is signalled, and otherwise 0.
func (p *Payload) Value() uint64 {
	v := p.state.value.Load()
	if p.kind != Timeline && v != 0 {
		return 1
	}
	return v
}

// Signal signals a fence or binary semaphore, for which value is ignored, or raises a timeline to value. It
// fails with ERROR_UNKNOWN when the timeline has reached that value before.
func (p *Payload) Signal(value uint64) error {
	if p.kind != Timeline {
		p.state.value.Store(1)
	} else if err := p.raise(value); err != nil {
		return err
	}
	p.notify(value)
	return nil
}

// SignalPending is Signal for an operation that Pending has counted, and takes it from the count: whoever is
// woken by the signal does not find it pending.
func (p *Payload) SignalPending(value uint64) (err error) {
	if p.kind != Timeline {
		p.state.value.Store(1)
	} else {
		err = p.raise(value)
	}
	p.pending.Add(-1)
	if err == nil {
		p.notify(value)
	}
	return err
}

// raise sets a timeline's value.
func (p *Payload) raise(value uint64) error {
	for {
		old := p.state.value.Load()
		if value <= old {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkSemaphoreSignalInfo_value_03258,
				"a timeline semaphore can't be signalled with %d: its value is %d", value, old)
		}
		if p.state.value.CompareAndSwap(old, value) {
			return nil
		}
	}
}

// notify tells those who wait for value, which has been stored.
func (p *Payload) notify(value uint64) {
	if p.kind != Timeline {
		value = 1
	}
	if value >= p.state.wanted.Load() {
		p.wakeAll()
	}
	if p.piped.Load() {
		p.closePipes(true)
	}
}

// Reset takes back the signal of a fence or binary semaphore.
func (p *Payload) Reset() {
	if p.kind != Timeline {
		p.state.value.Store(0)
	}
}

// TryWait says whether a wait for value (timelines only) is satisfied now. It consumes the signal of a binary
// semaphore: of several callers one gets it.
func (p *Payload) TryWait(value uint64) bool {
	v := p.state.value.Load()
	switch p.kind {
	case Timeline:
		return v >= value
	case Fence:
		return v != 0
	}
	return v != 0 && p.state.value.CompareAndSwap(v, 0)
}

// wakeAll makes every sleeper look again. The registrations go first: a waiter that registers in between has
// loaded the old seq and does not fall asleep.
func (p *Payload) wakeAll() {
	p.state.wanted.Store(none)
	p.state.seq.Add(1)
	p.wake()
}

// orphan makes the payload an orphan and tells whoever waits for it.
func (p *Payload) orphan() {
	p.orphaned.Store(true)
	p.wakeAll()
	p.closePipes(false)
}

// Orphaned says whether nobody is left who could signal the payload. The signal may have come before.
func (p *Payload) Orphaned() bool {
	if p.shared == nil {
		return p.orphaned.Load()
	}
	if p.abandoned() {
		return true
	}
	p.orphaned.Store(false) // a new holder came
	return false
}
