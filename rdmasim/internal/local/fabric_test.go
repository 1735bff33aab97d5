package local

import (
	"bytes"
	"context"
	"os"
	"sync"
	"testing"

	"farside/internal/garbage"
	"farside/rdmasim/internal/verbs"
)

// Addresses of owners that never were leave nothing in a peer, whoever asks for them: a bridge asks for what
// other hosts say.
func TestUnknownOwnersLeaveNothing(t *testing.T) {
	var table verbs.Table
	f, err := Open(&table)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range uint32(4) {
		all.Go(func() {
			for id := range uint32(500) {
				_, err := f.Resolve(context.Background(), verbs.MakeAddress(id<<8|0x55+i/2, 4096), 0, 0)
				if err == nil {
					t.Errorf("owner %#x has a region", id)
				}
			}
		})
	}
	all.Wait()
	if n := len(f.links); n != 0 {
		t.Errorf("%d links stay", n)
	}
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	if _, err := f.Resolve(context.Background(), r.Address(), 0, 0); err != nil || len(f.links) != 1 {
		t.Errorf("an owner that is there: %d links, %v", len(f.links), err)
	}
	table.Close()
	f.Close()
}

// Owners that have gone leave no mapping in a peer that has used their memory, though it asks for no address of theirs
// again.
func TestGoneOwnersLeaveNoMapping(t *testing.T) {
	fd := payload(t, 4096)
	p := newPeer(t)
	ledgers := func() int {
		garbage.Soon()
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(maps, []byte("/memfd:farside-rdma"))
	}
	before := ledgers()
	for range 8 {
		o := newOwner(t)
		r := register(t, o, fd, 0, 4096, verbs.AccessAll)
		if err := p.read(r.Address(), make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		o.Close()
	}
	eventually(t, "control pages and ledgers unmapped", func() bool { return ledgers() <= before })
}
