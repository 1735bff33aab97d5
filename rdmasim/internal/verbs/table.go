package verbs

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Table holds the regions that a peer has resolved. Lookups take no lock and don't allocate. The zero value is
// an empty table.
type Table struct {
	last atomic.Pointer[Region]    // of the last lookup
	all  atomic.Pointer[[]*Region] // by base; replaced, never changed

	mu     sync.Mutex
	closed bool
}

// Lookup finds the region around an address, or gives nil.
func (t *Table) Lookup(address uint64) *Region {
	if r := t.last.Load(); r != nil && r.Contains(address) {
		return r
	}
	return t.search(address)
}

func (t *Table) search(address uint64) *Region {
	all := t.load()
	lo, hi := 0, len(all)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if all[mid].Info.Address <= address {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || !all[lo-1].Contains(address) {
		return nil
	}
	t.last.Store(all[lo-1])
	return all[lo-1]
}

func (t *Table) load() []*Region {
	if all := t.all.Load(); all != nil {
		return *all
	}
	return nil
}

// Len is the number of regions.
func (t *Table) Len() int { return len(t.load()) }

// Add puts in a region. Regions that it overlaps are gone at their owner, and are closed with ErrFreed. Error:
// ErrClosed.
func (t *Table) Add(r *Region) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.add(r)
}

// FindOrAdd is Add, unless another goroutine has had the same question: then it returns what is there of the same base
// and key. Operations may be under way on that, which Add would fail.
func (t *Table) FindOrAdd(r *Region) (*Region, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.search(r.Info.Address)
	if o != nil && o.Info.Address == r.Info.Address && o.Info.Key == r.Info.Key && o.View.Alive() {
		return o, nil
	}
	return r, t.add(r)
}

// add is Add, under t.mu.
func (t *Table) add(r *Region) error {
	if t.closed {
		return ErrClosed
	}
	all := t.filter(ErrFreed, func(o *Region) bool { return o.Contains(r.Info.Address) || r.Contains(o.Info.Address) })
	i, _ := slices.BinarySearchFunc(all, r.Info.Address, func(r *Region, base uint64) int {
		if r.Info.Address < base {
			return -1
		}
		return 1
	})
	all = slices.Insert(all, i, r)
	t.all.Store(&all)
	return nil
}

// Drop takes out a region that is gone, and closes its view with reason. It does so, too, with one that has left the
// table and that a lookup under way has put back into last.
func (t *Table) Drop(r *Region, reason error) {
	t.DropIf(reason, func(o *Region) bool { return o == r })
	t.last.CompareAndSwap(r, nil)
}

// DropIf is Drop for the regions that match.
func (t *Table) DropIf(reason error, match func(*Region) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.filter(reason, match)
	t.all.Store(&all)
}

// Forget takes all regions out of a table of at least limit, without closing them.
func (t *Table) Forget(limit int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Len() >= limit {
		t.all.Store(nil)
	}
}

// Close takes out all regions with ErrClosed, and lets no more in. It says whether the table was open.
func (t *Table) Close() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := !t.closed
	t.closed = true
	all := t.filter(ErrClosed, func(*Region) bool { return true })
	t.all.Store(&all)
	return fresh
}

// filter retires the regions that match, and returns the others in a slice of their own. Under t.mu.
func (t *Table) filter(reason error, match func(*Region) bool) []*Region {
	old := t.load()
	kept := make([]*Region, 0, len(old)+1)
	for _, r := range old {
		if !match(r) {
			kept = append(kept, r)
			continue
		}
		// A lookup under way may put it back into last. There its closed view sends the next operation to
		// Drop and resolve.
		r.View.Close(reason)
		t.last.CompareAndSwap(r, nil)
	}
	return kept
}
