package local

import (
	"context"
	"sync"
	"testing"

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
