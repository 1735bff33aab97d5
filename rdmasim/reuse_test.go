package rdmasim

import (
	"testing"

	"golang.org/x/sys/unix"
)

// An address that has come back means the new region to every operation, also to a peer that knew the old.
func TestAddressReused(t *testing.T) {
	ops := map[string]func(p *Peer, a uint64) error{
		"read":         func(p *Peer, a uint64) error { return p.Read(a, make([]byte, 16)) },
		"write":        func(p *Peer, a uint64) error { return p.Write(a, make([]byte, 16)) },
		"fetch-add":    func(p *Peer, a uint64) error { _, err := p.FetchAdd64(a, 1); return err },
		"compare-swap": func(p *Peer, a uint64) error { _, err := p.CompareSwap64(a, 1, 2); return err },
	}
	// Regions of half of the owner's range: there is room for one, so that the second one gets its address.
	const size, page = 1 << 40, 4096
	fd, err := unix.MemfdCreate("sparse", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		t.Fatal(err)
	}
	for name, op := range ops {
		o, p := newOwner(t), newPeer(t)
		o.local.Rest = 0
		old := register(t, o, fd, 0, size, AccessAll)
		if err := op(p, old.Address()+page); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := mappingsOf("sparse"); n != 1 {
			t.Fatalf("%s: %d mappings", name, n)
		}
		old.Close()
		wantErr(t, op(newPeer(t), old.Address()), ErrFreed)
		r := register(t, o, fd, 0, size-2*page, AccessAll)
		if r.Address() != old.Address() {
			t.Fatalf("%#x instead of %#x", r.Address(), old.Address())
		}
		if err := op(p, r.Address()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := mappingsOf("sparse"); n != 1 {
			t.Errorf("%s: %d mappings, with the old region's", name, n)
		}
		wantErr(t, op(p, r.Address()+r.Length()), ErrUnknownAddress) // the old one was longer
		p.Close()
	}
}
