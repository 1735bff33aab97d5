package rdmasim

import (
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Regions of all sizes come and go in a range that is nearly full: they never overlap or touch, keep their
// page offset and stay inside the range.
func TestPlacementModel(t *testing.T) {
	o := newOwner(t)
	o.rest = 0
	fd, err := unix.MemfdCreate("sparse", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var live []*Region
	refused, wrapped := 0, 0
	for range 20000 {
		if len(live) > 0 && rng.IntN(5) < 2 {
			i := rng.IntN(len(live))
			live[i].Close()
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
			continue
		}
		before := o.cursor
		offset := rng.Uint64N(3 * pageSize)
		r, err := o.Register(fd, offset, 1+rng.Uint64N(1<<(10+rng.Uint64N(28))), Attributes{Access: AccessRead})
		if err != nil {
			wantErr(t, err, ErrResources)
			refused++
			continue
		}
		live = append(live, r)
		if o.cursor < before {
			wrapped++
		}
		id, at, ok := splitAddress(r.base)
		if !ok || id != o.id || at == 0 || at+r.length > 1<<offsetBits || (r.base^offset)&(pageSize-1) != 0 {
			t.Fatalf("region %#x+%#x for offset %#x", r.base, r.length, offset)
		}
	}
	var last *Region
	for _, r := range o.regions {
		if last != nil {
			first, _ := r.pages()
			if _, end := last.pages(); end > first {
				t.Fatalf("%#x+%#x runs into %#x", last.base, last.length, r.base)
			}
		}
		last = r
	}
	if o.live != len(live) || refused == 0 || wrapped == 0 {
		t.Fatalf("%d regions of %d, %d refused, %d wraps: the test reaches nothing", o.live, len(live), refused, wrapped)
	}
}

// An address rests before it comes back, also where nothing else is left.
func TestAddressRests(t *testing.T) {
	o := newOwner(t)
	o.rest = time.Hour
	fd, err := unix.MemfdCreate("sparse", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const size = 1 << (offsetBits - 1)
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		t.Fatal(err)
	}
	r := register(t, o, fd, 0, size, AccessRead)
	r.Close()
	_, err = o.Register(fd, 0, size, Attributes{Access: AccessRead})
	wantErr(t, err, ErrResources)
	o.rest = 0
	if again := register(t, o, fd, 0, size, AccessRead); again.Address() != r.Address() {
		t.Errorf("%#x after %#x", again.Address(), r.Address())
	}
}

// An address that has come back means the new region to every operation, also to a peer that knew the old.
func TestAddressReused(t *testing.T) {
	ops := map[string]func(p *Peer, a uint64) error{
		"read":         func(p *Peer, a uint64) error { return p.Read(a, make([]byte, 16)) },
		"write":        func(p *Peer, a uint64) error { return p.Write(a, make([]byte, 16)) },
		"fetch-add":    func(p *Peer, a uint64) error { _, err := p.FetchAdd64(a, 1); return err },
		"compare-swap": func(p *Peer, a uint64) error { _, err := p.CompareSwap64(a, 1, 2); return err },
	}
	for name, op := range ops {
		o, p := newOwner(t), newPeer(t)
		old := register(t, o, payload(t, 8192), 0, 8192, AccessAll)
		if err := op(p, old.Address()+4096); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		stale := p.lookup(old.Address())
		old.Close()
		wantErr(t, op(newPeer(t), old.Address()), ErrFreed)
		o.mu.Lock()
		o.cursor, o.rest = old.Address()&offsetMask, 0
		o.forget(0)
		o.mu.Unlock()
		fd := payload(t, 8192)
		r := register(t, o, fd, 4096, 4096, AccessAll)
		if r.Address() != old.Address() {
			t.Fatalf("%#x instead of %#x", r.Address(), old.Address())
		}
		if err := op(p, r.Address()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if stale == p.lookup(r.Address()) || !stale.view.unmapped.Load() {
			t.Errorf("%s: the old region is still there", name)
		}
		wantErr(t, op(p, r.Address()+4096), ErrUnknownAddress) // the old one was longer
	}
}

// Peers that are killed leave nothing at the owner.
func TestPeerKilled(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	before := countFDs()
	for range 4 {
		c := start(t, "peer", nil)
		if s := c.say("read %d 4096", r.Address()); s != "ok" {
			t.Fatal(s)
		}
		c.kill()
		c.in.Close()
	}
	eventually(t, "connections closed", func() bool { return joined(o) == 0 })
	eventually(t, "descriptors closed", func() bool { return countFDs() <= before })
}
