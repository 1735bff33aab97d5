package verbs

import (
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errSlots says that a table is full.
var errSlots = errors.New("no more objects of this kind")

// slots are the C structures of the objects of one kind, outside of Go's heap, with the Go object that belongs to each.
// C holds the address of a structure. Whether an address is that of a living object is found without looking at what
// is there. A structure whose object has gone stays readable, since the inline functions of verbs.h read it before they
// call the library, and is used again after others.
type slots[T any] struct {
	size  uintptr // bytes of a structure
	limit uint32  // of objects

	once   sync.Once
	failed error
	base   uintptr
	shift  int // of the distance of two slots
	values []atomic.Pointer[valueChunk[T]]

	mu    sync.Mutex
	fresh uint32   // the first slot that has never been used
	freed []uint32 // a ring of slots that were used, the oldest at head
	head  int
}

// valueChunk is the objects of as many slots as there are together.
type valueChunk[T any] [chunkValues]atomic.Pointer[T]

const (
	chunkValues = 1 << 10
	// mostResting is how many slots rest before the one that was free longest is used again. So a program that makes and
	// destroys objects for ever touches a bounded part of the table.
	mostResting = 1 << 10
)

// value is where the object of a slot is, nil while no slot near it has been used.
func (s *slots[T]) value(i uint32) *atomic.Pointer[T] {
	if c := s.values[i/chunkValues].Load(); c != nil {
		return &c[i%chunkValues]
	}
	return nil
}

// newSlots makes a table for objects whose structure is C.
func newSlots[T, C any](limit uint32) *slots[T] { return &slots[T]{size: sizeOf[C](), limit: limit} }

// reserve takes the address space, at the first object of the kind. The kernel gives pages as they are touched.
func (s *slots[T]) reserve() error {
	s.once.Do(func() {
		s.shift = max(6, bits.Len64(uint64(s.size-1)))
		p, err := unix.Mmap(-1, 0, int(s.limit)<<s.shift, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err != nil {
			s.failed = err
			return
		}
		s.values = make([]atomic.Pointer[valueChunk[T]], (s.limit+chunkValues-1)/chunkValues)
		atomic.StoreUintptr(&s.base, uintptr(unsafe.Pointer(unsafe.SliceData(p))))
	})
	return s.failed
}

// insert makes a structure of zeros for v and returns its address. fill, if there is one, runs before anybody finds it.
// Errors: errSlots, mmap's.
func (s *slots[T]) insert(v *T, fill func(at uintptr)) (uintptr, error) {
	if err := s.reserve(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	i, rests := s.fresh, len(s.freed)-s.head
	switch {
	case i < s.limit && rests <= int(min(mostResting, s.limit/4)):
		s.fresh++
	case rests > 0:
		i = s.freed[s.head]
		s.head++
		if s.head > len(s.freed)/2 {
			s.freed, s.head = append(s.freed[:0:0], s.freed[s.head:]...), 0
		}
	default:
		s.mu.Unlock()
		return 0, errSlots
	}
	if c := &s.values[i/chunkValues]; c.Load() == nil {
		c.Store(new(valueChunk[T]))
	}
	s.mu.Unlock()
	at := s.base + uintptr(i)<<s.shift
	clear(bytesAt(at, s.size))
	if fill != nil {
		fill(at)
	}
	s.value(i).Store(v)
	return at, nil
}

// slot is the number of the slot at an address, false if none is there.
func (s *slots[T]) slot(at uintptr) (uint32, bool) {
	base := atomic.LoadUintptr(&s.base)
	if base == 0 || at < base {
		return 0, false
	}
	i := (at - base) >> s.shift
	return uint32(i), i < uintptr(s.limit) && at == base+i<<s.shift
}

// get returns the living object whose structure is at an address, nil for every other number.
func (s *slots[T]) get(at uintptr) *T {
	i, ok := s.slot(at)
	if !ok {
		return nil
	}
	if v := s.value(i); v != nil {
		return v.Load()
	}
	return nil
}

// all are the living objects.
func (s *slots[T]) all() (list []*T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.fresh {
		if p := s.value(i); p != nil && p.Load() != nil {
			list = append(list, p.Load())
		}
	}
	return list
}

// remove ends an object and returns it, nil if it isn't living. Of several callers one gets it.
func (s *slots[T]) remove(at uintptr) *T {
	i, ok := s.slot(at)
	if !ok {
		return nil
	}
	value := s.value(i)
	if value == nil {
		return nil
	}
	v := value.Swap(nil)
	if v == nil {
		return nil
	}
	s.mu.Lock()
	s.freed = append(s.freed, i)
	s.mu.Unlock()
	return v
}

// handle is a number for an object, as the kernel gives one.
func (s *slots[T]) handle(at uintptr) uint32 {
	i, _ := s.slot(at)
	return i
}
