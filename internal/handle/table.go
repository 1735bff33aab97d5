// Package handle maps the handles that C holds to the Go objects behind them.
//
// C never holds a Go pointer. A non-dispatchable handle is a 64-bit number made of a kind, a generation
// and an index (Table); a dispatchable handle is the address of a slot outside the Go heap, because the
// loader reads and writes its first word (Dispatchable). Looking up a handle that was never handed out,
// was destroyed or belongs to another table yields nil, whatever its bits are.
package handle

import (
	"iter"
	"sync"
	"sync/atomic"
)

const (
	chunkShift = 8
	chunkSize  = 1 << chunkShift

	generationBits = 24
	generationMax  = 1<<generationBits - 1
)

// slot is one place of a table. live holds the complete handle while the slot is taken and 0 otherwise;
// it is stored after value when the slot is filled and cleared before value when it is emptied.
type slot[T any] struct {
	live       atomic.Uint64
	value      atomic.Pointer[T]
	generation uint32 // under Table.mu
	next       uint32 // index+1 of the next free slot, under Table.mu
}

type chunk[T any] [chunkSize]slot[T]

// Table hands out 64-bit handles for objects of one type. All methods may be called from any goroutine.
// A handle is kind (8 bits), generation (24) and index (32), from the top. A slot whose generations are
// used up is retired, so that no handle is ever handed out twice.
type Table[T any] struct {
	kind   uint8
	name   string
	chunks atomic.Pointer[[]*chunk[T]]

	mu         sync.Mutex
	count      int    // of live handles
	fresh      uint32 // slots below this index have been used
	head, tail uint32 // free list, first in first out; index+1, 0 when empty
}

// NewTable makes an empty table. kind must differ between the tables of a process, so that a handle of
// one object type is not found in the table of another; name is the object type for messages.
func NewTable[T any](kind uint8, name string) *Table[T] {
	t := &Table[T]{kind: kind, name: name}
	t.chunks.Store(new([]*chunk[T]))
	return t
}

// Name returns the object type given to NewTable.
func (t *Table[T]) Name() string { return t.name }

// Len returns the number of live handles.
func (t *Table[T]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// Insert makes a handle for v, which must not be nil. The handle is never 0.
func (t *Table[T]) Insert(v *T) uint64 {
	t.mu.Lock()
	var index uint32
	var s *slot[T]
	if t.head != 0 {
		index = t.head - 1
		s = t.slot(index)
		t.head = s.next
		if t.head == 0 {
			t.tail = 0
		}
	} else {
		index = t.fresh
		t.fresh++
		chunks := *t.chunks.Load()
		if int(index>>chunkShift) == len(chunks) {
			// Readers keep the old directory, so a longer copy takes its place.
			grown := append(chunks[:len(chunks):len(chunks)], new(chunk[T]))
			t.chunks.Store(&grown)
		}
		s = t.slot(index)
	}
	s.generation++
	t.count++
	h := uint64(t.kind)<<56 | uint64(s.generation)<<32 | uint64(index)
	t.mu.Unlock()
	s.value.Store(v)
	s.live.Store(h)
	return h
}

func (t *Table[T]) slot(index uint32) *slot[T] {
	chunks := *t.chunks.Load()
	if i := int(index >> chunkShift); i < len(chunks) {
		return &chunks[i][index%chunkSize]
	}
	return nil
}

// Get returns the object of a live handle, and nil for every other number. It takes no lock.
func (t *Table[T]) Get(h uint64) *T {
	s := t.slot(uint32(h))
	if s == nil || h == 0 || s.live.Load() != h {
		return nil
	}
	return s.object(h)
}

// object returns the object of h, which the slot held a moment ago. It looks at live once more after it has loaded
// value: h may have been removed in between, and then the value can be a successor's.
func (s *slot[T]) object(h uint64) *T {
	v := s.value.Load()
	if s.live.Load() != h {
		return nil
	}
	return v
}

// Remove ends a handle and returns its object, or nil when the handle is not live. Of several callers
// with the same handle exactly one gets the object.
func (t *Table[T]) Remove(h uint64) *T {
	s := t.slot(uint32(h))
	if s == nil || h == 0 || !s.live.CompareAndSwap(h, 0) {
		return nil
	}
	v := s.value.Swap(nil)
	t.mu.Lock()
	t.count--
	if s.generation != generationMax {
		t.free(s, uint32(h))
	}
	t.mu.Unlock()
	return v
}

// free puts an empty slot at the end of the free list. The caller has mu.
func (t *Table[T]) free(s *slot[T], index uint32) {
	s.next = 0
	if t.tail != 0 {
		t.slot(t.tail - 1).next = index + 1
	} else {
		t.head = index + 1
	}
	t.tail = index + 1
}

// All yields the live handles with their objects in the order of their slots. Handles that come or go
// meanwhile may or may not be seen.
func (t *Table[T]) All() iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) {
		for _, c := range *t.chunks.Load() {
			for i := range c {
				h := c[i].live.Load()
				if v := t.Get(h); v != nil && !yield(h, v) {
					return
				}
			}
		}
	}
}
