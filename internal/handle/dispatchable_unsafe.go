package handle

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// LoaderMagic stands in the first word of every dispatchable object that a driver hands to the Vulkan
// loader; the loader checks it and puts its dispatch table's address there (ICD_LOADER_MAGIC in vk_icd.h).
const LoaderMagic = 0x01CDC0DE

const (
	slotSize    = 64
	reserveSize = 64 << 20
	commitSlots = 1024
	commitSize  = commitSlots * slotSize
	maxSlots    = reserveSize / slotSize

	// quarantine is how many freed slots wait before the oldest is used again: an address carries no
	// generation, so a stale handle is found for exactly as long as its slot stays empty.
	quarantine = commitSlots
)

// ErrFull is returned by Dispatchable.Insert when all slots are taken.
var ErrFull = errors.New("handle: no dispatchable handle left")

// Slab is where the slots of one table lie, for those who look at an address without asking the table: from
// Base on, Size bytes of slots that may be accessed. Size only grows, after Base has been set.
type Slab struct{ Base, Size atomic.Uintptr }

// Dispatchable hands out addresses of 64-byte slots outside the Go heap as handles for objects of one
// type. The slots lie in one reservation of address space that is made accessible piece by piece. All
// methods may be called from any goroutine.
type Dispatchable[T any] struct {
	name   string
	place  Slab
	values atomic.Pointer[[]*[commitSlots]atomic.Pointer[T]]
	count  atomic.Int64

	mu    sync.Mutex
	slab  []byte
	fresh int
	free  []uint32 // ring of freed slots, oldest at first
	first int
	freed int
}

// NewDispatchable makes an empty table; name is the object type for messages.
func NewDispatchable[T any](name string) *Dispatchable[T] {
	d := &Dispatchable[T]{name: name}
	d.values.Store(new([]*[commitSlots]atomic.Pointer[T]))
	return d
}

// Slab returns where the table's slots lie. An address in it is a handle of the table, or was one, or will be, if
// it is a multiple of 64 away from the base.
func (d *Dispatchable[T]) Slab() *Slab { return &d.place }

// Name returns the object type given to NewDispatchable.
func (d *Dispatchable[T]) Name() string { return d.name }

// Len returns the number of live handles.
func (d *Dispatchable[T]) Len() int { return int(d.count.Load()) }

// Insert makes a handle for v, which must not be nil. The slot is zero but for LoaderMagic in its first
// word. It fails with ErrFull after a million live handles, and with the error of mmap or mprotect when
// the system gives no memory.
func (d *Dispatchable[T]) Insert(v *T) (uintptr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	index, err := d.take()
	if err != nil {
		return 0, err
	}
	s := d.slab[index*slotSize : (index+1)*slotSize]
	clear(s)
	// The loader's check reads a machine word.
	*(*uintptr)(unsafe.Pointer(unsafe.SliceData(s))) = LoaderMagic
	(*d.values.Load())[index/commitSlots][index%commitSlots].Store(v)
	d.count.Add(1)
	return d.place.Base.Load() + uintptr(index)*slotSize, nil
}

// take returns the index of an empty, accessible slot.
func (d *Dispatchable[T]) take() (int, error) {
	if d.freed >= quarantine || d.fresh == maxSlots {
		if d.freed == 0 {
			return 0, fmt.Errorf("%w for %s", ErrFull, d.name)
		}
		index := d.free[d.first]
		d.first = (d.first + 1) % len(d.free)
		d.freed--
		return int(index), nil
	}
	if d.slab == nil {
		slab, err := syscall.Mmap(-1, 0, reserveSize, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			return 0, fmt.Errorf("reserve address space for %s handles: %w", d.name, err)
		}
		d.slab = slab
		d.place.Base.Store(uintptr(unsafe.Pointer(unsafe.SliceData(slab))))
	}
	if d.fresh%commitSlots == 0 {
		if err := d.commit(); err != nil {
			return 0, err
		}
	}
	d.fresh++
	return d.fresh - 1, nil
}

// commit makes the next commitSlots slots accessible.
func (d *Dispatchable[T]) commit() error {
	offset := d.fresh * slotSize
	if err := syscall.Mprotect(d.slab[offset:offset+commitSize], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		return fmt.Errorf("make room for %s handles: %w", d.name, err)
	}
	values := *d.values.Load()
	grown := append(values[:len(values):len(values)], new([commitSlots]atomic.Pointer[T]))
	d.values.Store(&grown)
	d.place.Size.Add(commitSize)
	return nil
}

func (d *Dispatchable[T]) value(h uintptr) *atomic.Pointer[T] {
	values := *d.values.Load()
	offset := h - d.place.Base.Load() // wraps for addresses below the slab, and is then too large
	if i := offset / commitSize; offset%slotSize == 0 && i < uintptr(len(values)) {
		return &values[i][offset/slotSize%commitSlots]
	}
	return nil
}

// Get returns the object of a live handle, and nil for every other number. It takes no lock and does not
// touch the memory that h points to.
func (d *Dispatchable[T]) Get(h uintptr) *T {
	if p := d.value(h); p != nil {
		return p.Load()
	}
	return nil
}

// Slot returns the words of a live handle's slot behind the loader's, outside of Go's heap; nil for every other
// number. They are the handle's own until Remove.
func (d *Dispatchable[T]) Slot(h uintptr) *[slotSize/8 - 1]uintptr {
	if d.Get(h) == nil {
		return nil
	}
	return (*[slotSize/8 - 1]uintptr)(unsafe.Pointer(&d.slab[h-d.place.Base.Load()+8]))
}

// Remove ends a handle and returns its object, or nil when the handle is not live. Of several callers
// with the same handle exactly one gets the object.
func (d *Dispatchable[T]) Remove(h uintptr) *T {
	p := d.value(h)
	if p == nil {
		return nil
	}
	v := p.Swap(nil)
	if v == nil {
		return nil
	}
	d.count.Add(-1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.freed == len(d.free) {
		ring := make([]uint32, max(64, 2*len(d.free)))
		n := copy(ring, d.free[d.first:])
		copy(ring[n:], d.free[:d.first])
		d.free, d.first = ring, 0
	}
	d.free[(d.first+d.freed)%len(d.free)] = uint32((h - d.place.Base.Load()) / slotSize)
	d.freed++
	return v
}

// All yields the live handles with their objects in the order of their slots. Handles that come or go
// meanwhile may or may not be seen.
func (d *Dispatchable[T]) All() iter.Seq2[uintptr, *T] {
	return func(yield func(uintptr, *T) bool) {
		for i, c := range *d.values.Load() {
			for j := range c {
				h := d.place.Base.Load() + uintptr(i*commitSlots+j)*slotSize
				if v := c[j].Load(); v != nil && !yield(h, v) {
					return
				}
			}
		}
	}
}
