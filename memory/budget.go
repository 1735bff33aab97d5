package memory

import (
	"sync/atomic"
	"time"

	"farside/internal/vk"
)

// availableFor is how long one reading of MemAvailable answers budget queries: applications ask every frame.
const availableFor = 50 * time.Millisecond

// Budget counts what a device's allocations and imports take from each heap. All methods are safe for
// concurrent use and take no lock.
type Budget struct {
	heaps    []heapUse
	count    atomic.Int64
	maxCount int64

	available   atomic.Uint64
	availableAt atomic.Int64
	start       time.Time
}

type heapUse struct {
	used atomic.Uint64
	size uint64
	// Heaps are charged from different threads; a line each keeps them apart.
	_ [48]byte
}

// NewBudget returns an empty Budget for the profile's heaps that admits maxAllocations live allocations
// (VkPhysicalDeviceLimits::maxMemoryAllocationCount).
func NewBudget(p Profile, maxAllocations uint32) *Budget {
	b := &Budget{heaps: make([]heapUse, len(p.Heaps)), maxCount: int64(maxAllocations), start: time.Now()}
	for i, h := range p.Heaps {
		b.heaps[i].size = h.Size
	}
	return b
}

// Reserve takes size bytes of a heap for one allocation or import. It fails with ERROR_TOO_MANY_OBJECTS when
// maxMemoryAllocationCount allocations are live, and with ERROR_OUT_OF_DEVICE_MEMORY when the heap is full;
// a failed call takes nothing.
func (b *Budget) Reserve(heap uint32, size uint64) error {
	if n := b.count.Add(1); n > b.maxCount {
		b.count.Add(-1)
		return vk.Errorf(vk.ERROR_TOO_MANY_OBJECTS, vk.VUID_vkAllocateMemory_maxMemoryAllocationCount_04101,
			"all %d allocations of maxMemoryAllocationCount are in use", b.maxCount)
	}
	h := &b.heaps[heap]
	for {
		used := h.used.Load()
		if size > h.size-used {
			b.count.Add(-1)
			return vk.Errorf(vk.ERROR_OUT_OF_DEVICE_MEMORY, vk.NoVUID,
				"heap %d has %d of %d bytes left, %d are asked for", heap, h.size-used, h.size, size)
		}
		if h.used.CompareAndSwap(used, used+size) {
			return nil
		}
	}
}

// Release gives back what one successful Reserve took.
func (b *Budget) Release(heap uint32, size uint64) {
	b.heaps[heap].used.Add(-size)
	b.count.Add(-1)
}

// Allocations returns the number of live allocations and imports.
func (b *Budget) Allocations() uint32 { return uint32(b.count.Load()) }

// Usage returns the bytes reserved in a heap (VkPhysicalDeviceMemoryBudgetPropertiesEXT::heapUsage).
func (b *Budget) Usage(heap uint32) uint64 { return b.heaps[heap].used.Load() }

// Budget returns the bytes that allocations in a heap may take in all, those already taken included
// (heapBudget): the heap's size, or less where the machine has less memory available. It is never 0.
func (b *Budget) Budget(heap uint32) uint64 {
	h := &b.heaps[heap]
	used := h.used.Load()
	available := b.machineAvailable()
	if available >= h.size-used {
		return h.size
	}
	return max(used+available, 1)
}

// machineAvailable returns MemAvailable in bytes, at most availableFor old; a machine that does not say has no
// bound.
func (b *Budget) machineAvailable() uint64 {
	now := int64(time.Since(b.start)) + 1
	at := b.availableAt.Load()
	if at != 0 && now-at < int64(availableFor) {
		return b.available.Load()
	}
	n := meminfo("MemAvailable:")
	if n == 0 {
		n = ^uint64(0)
	}
	b.available.Store(n)
	b.availableAt.Store(now)
	return n
}
