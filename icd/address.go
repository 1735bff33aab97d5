package icd

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"farside/internal/exec"
)

// addresses are the allocations that shaders reach by address: those in which a buffer was asked for its own. An
// address is valid from the allocation's begin to its end, whichever buffer it was taken of.
type addresses struct {
	mu   sync.Mutex // of who changes the list
	list atomic.Pointer[[]addressed]
}

// addressed is an allocation in a list that is sorted by address, and never changed: a longer or shorter copy replaces
// it.
type addressed struct {
	base   uint64
	memory *deviceMemory
}

// search returns where the last allocation is that begins at an address or below, -1 if there is none.
func search(list []addressed, address uint64) int {
	i, found := slices.BinarySearchFunc(list, address,
		func(a addressed, want uint64) int { return cmp.Compare(a.base, want) })
	if !found {
		i--
	}
	return i
}

func (a *addresses) load() []addressed {
	if p := a.list.Load(); p != nil {
		return *p
	}
	return nil
}

// add notes that m lies at base.
func (a *addresses) add(base uint64, m *deviceMemory) {
	if i := search(a.load(), base); i >= 0 && a.load()[i].memory == m {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.load()
	i := search(list, base)
	if i >= 0 && list[i].memory == m {
		return
	}
	m.addressed.Store(true)
	list = slices.Clone(list)
	if i >= 0 && list[i].base == base { // freed while its address was asked for
		list[i].memory = m
	} else {
		list = slices.Insert(list, i+1, addressed{base, m})
	}
	a.list.Store(&list)
}

// remove forgets m.
func (a *addresses) remove(m *deviceMemory) {
	if !m.addressed.Load() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if list := a.load(); slices.ContainsFunc(list, func(e addressed) bool { return e.memory == m }) {
		list = slices.DeleteFunc(slices.Clone(list), func(e addressed) bool { return e.memory == m })
		a.list.Store(&list)
	}
}

// find returns the allocation at an address, with a reference to its payload.
func (a *addresses) find(address uint64) (exec.Range, bool) {
	list := a.load()
	i := search(list, address)
	if i < 0 || address-list[i].base >= list[i].memory.size {
		return exec.Range{}, false
	}
	m := list[i].memory
	p, bytes, err := mapped(m, 0, m.size)
	if err != nil {
		return exec.Range{}, false
	}
	return exec.Range{Address: list[i].base, Bytes: bytes, Payload: p}, true
}
