//go:build !race

// The race detector accesses memory in C, where a fault ends the process.

package syncobj

import (
	"runtime/debug"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// split is a payload whose state block lies across the boundary of two pages, so that an access to a part of the block
// can be made to fail. Its parts are value, wanted and the rest, which begins with seq.
type split struct {
	*Payload
	pages []byte
	at    uintptr // the boundary in the block
}

func newSplit(t *testing.T, boundary uintptr) *split {
	t.Helper()
	size := unix.Getpagesize()
	pages, err := unix.Mmap(-1, 0, 2*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(pages) })
	p := New(Timeline, 0)
	p.state = stateAt(pages[size-int(boundary):])
	p.state.wanted.Store(none)
	return &split{p, pages, boundary}
}

// upTo runs f, which must access the first or second page in a way that protection does not allow, up to that access.
func (s *split) upTo(t *testing.T, second bool, protection int, f func()) {
	t.Helper()
	page := s.pages[:len(s.pages)/2]
	if second {
		page = s.pages[len(s.pages)/2:]
	}
	if err := unix.Mprotect(page, protection); err != nil {
		t.Fatal(err)
	}
	faulted := func() (faulted bool) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() { faulted = recover() != nil }()
		f()
		return
	}()
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	if !faulted {
		t.Fatal("the access that the test stops at did not come")
	}
}

// TestOrder stops a waiter and a signaller between two accesses of the package comment's protocol, and holds what the
// other side may see then. In any other order there is a moment in which a signal wakes nobody and a waiter falls
// asleep.
func TestOrder(t *testing.T) {
	var block state
	const first, second = false, true
	wanted, seq := unsafe.Offsetof(block.wanted), unsafe.Offsetof(block.seq)

	// A waiter loads seq, registers and looks at the value.
	p := newSplit(t, seq)
	var s sleeper
	p.upTo(t, second, unix.PROT_NONE, func() { s.add(p.Payload, 5, true) })
	if got := p.state.wanted.Load(); got != none {
		t.Errorf("a waiter registers for %d and then loads seq", got)
	}
	p = newSplit(t, wanted)
	p.upTo(t, first, unix.PROT_NONE, func() { s.add(p.Payload, 5, true) })
	if got := p.state.wanted.Load(); got != 5 {
		t.Errorf("a waiter looks at the value, while wanted is %d, and then registers", got)
	}

	// A signaller stores the value and looks who waits.
	p = newSplit(t, wanted)
	p.upTo(t, second, unix.PROT_NONE, func() { _ = p.Signal(5) })
	if got := p.Value(); got != 5 {
		t.Errorf("a signaller looks who waits, while the value is %d, and then stores it", got)
	}

	// It takes the registrations back and changes seq: who registers in between must not fall asleep.
	p = newSplit(t, seq)
	s.n = 0
	if s.add(p.Payload, 5, true) {
		t.Fatal("the value is reached")
	}
	p.upTo(t, second, unix.PROT_READ, func() { _ = p.Signal(5) })
	if got := p.state.wanted.Load(); got != none {
		t.Errorf("a signaller changes seq, and then takes back the registration for %d", got)
	}
	before := p.state.seq.Load()
	p.wakeAll()
	if p.state.seq.Load() == before {
		t.Error("a signaller wakes without changing seq: who is about to sleep is not told")
	}
}
