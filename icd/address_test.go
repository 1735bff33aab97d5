package icd

import (
	"testing"

	"farside/internal/exec"
	"farside/memory"
)

// TestAddresses looks addresses up while allocations come and go.
func TestAddresses(t *testing.T) {
	var a addresses
	list := make([]*deviceMemory, 8)
	for i := range list {
		p, err := memory.NewAnonymous(4096)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = &deviceMemory{size: 4096, payload: p}
	}
	base := func(i int) uint64 { return 0x100000 + uint64(i)*0x2000 }
	for _, i := range []int{3, 0, 7, 5, 1, 2, 6, 4, 3, 0} {
		a.add(base(i), list[i])
	}
	if n := len(a.load()); n != len(list) {
		t.Fatalf("%d allocations, want %d", n, len(list))
	}
	found := func(address uint64) (exec.Range, bool) {
		r, ok := a.find(address)
		if ok {
			r.Payload.Release()
		}
		return r, ok
	}
	for i := range list {
		for _, address := range []uint64{base(i), base(i) + 1, base(i) + 4095} {
			if r, ok := found(address); !ok || r.Address != base(i) || r.Payload != list[i].payload || len(r.Bytes) != 4096 {
				t.Errorf("address %#x: %#x, %d bytes, %v", address, r.Address, len(r.Bytes), ok)
			}
		}
		for _, address := range []uint64{base(i) - 1, base(i) + 4096} {
			if r, ok := found(address); ok {
				t.Errorf("address %#x is in the allocation at %#x", address, r.Address)
			}
		}
	}
	a.remove(list[3])
	if _, ok := found(base(3)); ok {
		t.Error("an allocation that was freed is found")
	}
	// One that was freed while another thread asked for its address leaves its place to the next that lies there.
	list[5].payload.Release()
	if _, ok := found(base(5)); ok {
		t.Error("memory that is gone is found")
	}
	a.add(base(5), list[3])
	if r, ok := found(base(5)); !ok || r.Payload != list[3].payload {
		t.Error("an allocation is not found at the address of an earlier one")
	}
	for i, m := range list {
		a.remove(m)
		if i != 5 {
			m.payload.Release()
		}
	}
	if _, ok := found(base(0)); ok || len(a.load()) != 0 {
		t.Error("allocations are left")
	}
}
