package local

import (
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim/internal/verbs"
)

func TestPlacement(t *testing.T) {
	o := newOwner(t)
	fd := payload(t, 64<<10)
	a := register(t, o, fd, 100, 5000, verbs.AccessAll)
	b := register(t, o, fd, 0, 1, verbs.AccessAll)
	if a.Address()&4095 != 100 || b.Address()&4095 != 0 {
		t.Errorf("page offsets of %#x, %#x", a.Address(), b.Address())
	}
	if gap := b.Address() - roundUp(a.Address()+5000); gap != verbs.PageSize {
		t.Errorf("guard of %d bytes", gap)
	}
	old := b.Address()
	b.Close()
	if c := register(t, o, fd, 0, 1, verbs.AccessAll); c.Address() <= old {
		t.Errorf("address %#x came back at once", c.Address())
	}
	o.cursor = 1<<verbs.OffsetBits - verbs.PageSize
	d := register(t, o, fd, 0, 8192, verbs.AccessAll)
	if d.Address() != old { // the first gap that is large enough lies between a and c
		if _, off, _ := verbs.SplitAddress(d.Address()); off > 1<<20 {
			t.Errorf("no wrap around: %#x", d.Address())
		}
	}
	first, end := d.pages()
	for _, r := range o.regions {
		if f, e := r.pages(); r != d && f < end && first < e {
			t.Errorf("regions %#x and %#x overlap", r.base, d.base)
		}
	}
}

// Regions of all sizes come and go in a range that is nearly full: they never overlap or touch, keep their
// page offset and stay inside the range.
func TestPlacementModel(t *testing.T) {
	o := newOwner(t)
	o.Rest = 0
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
		offset := rng.Uint64N(3 * verbs.PageSize)
		r, err := o.Register(fd, offset, 1+rng.Uint64N(1<<(10+rng.Uint64N(28))), Attributes{Access: verbs.AccessRead})
		if err != nil {
			wantErr(t, err, verbs.ErrResources)
			refused++
			continue
		}
		live = append(live, r)
		if o.cursor < before {
			wrapped++
		}
		id, at, ok := verbs.SplitAddress(r.base)
		if !ok || id != o.id || at == 0 || at+r.length > 1<<verbs.OffsetBits || (r.base^offset)&(verbs.PageSize-1) != 0 {
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
	o.Rest = time.Hour
	fd, err := unix.MemfdCreate("sparse", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const size = 1 << (verbs.OffsetBits - 1)
	if err := unix.Ftruncate(fd, size); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		t.Fatal(err)
	}
	r := register(t, o, fd, 0, size, verbs.AccessRead)
	r.Close()
	_, err = o.Register(fd, 0, size, Attributes{Access: verbs.AccessRead})
	wantErr(t, err, verbs.ErrResources)
	o.Rest = 0
	if again := register(t, o, fd, 0, size, verbs.AccessRead); again.Address() != r.Address() {
		t.Errorf("%#x after %#x", again.Address(), r.Address())
	}
}

func TestManyRegions(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	fd := payload(t, 8192)
	var all []*Region
	for {
		r, err := o.Register(fd, 8, 64, Attributes{Access: verbs.AccessAll})
		if err != nil {
			wantErr(t, err, verbs.ErrResources)
			break
		}
		all = append(all, r)
	}
	if len(all) != controlSlots-1 {
		t.Fatalf("%d regions", len(all))
	}
	buf := make([]byte, 64)
	for i := 0; i < len(all); i += len(all) / 1000 {
		if err := p.read(all[i].Address(), buf); err != nil || buf[0] != pattern(8) {
			t.Fatalf("region %d: %v, %d", i, err, buf[0])
		}
	}
	// A slot that comes back doesn't bring the old region back.
	all[0].Close()
	r := register(t, o, fd, 8, 64, verbs.AccessAll)
	if r.slot != all[0].slot || r.generation == all[0].generation {
		t.Errorf("slot %d generation %d after slot %d generation %d", r.slot, r.generation, all[0].slot, all[0].generation)
	}
	wantErr(t, p.read(all[0].Address(), buf), verbs.ErrFreed)
	if err := p.read(r.Address(), buf); err != nil {
		t.Error(err)
	}
}

// A gap takes a region only with room for the page behind it that belongs to none (review, mutants 6).
func TestGuardInGap(t *testing.T) {
	page := verbs.PageSize
	fd := payload(t, int(8*page))
	for pages := uint64(1); pages < 4; pages++ {
		for _, fits := range []bool{true, false} {
			o := newOwner(t)
			o.Rest = 0
			register(t, o, fd, 0, page, verbs.AccessRead)
			hole := register(t, o, fd, 0, pages*page, verbs.AccessRead)
			last := register(t, o, fd, 0, page, verbs.AccessRead)
			hole.Close()
			o.mu.Lock()
			o.forget(0)
			o.cursor = hole.base & verbs.OffsetMask
			o.mu.Unlock()
			length := pages * page // and its guard are what is there
			if !fits {
				length++ // would need the guard's page
			}
			r := register(t, o, fd, 0, length, verbs.AccessRead)
			if inGap := r.base == hole.base; inGap != fits {
				t.Errorf("%d bytes at %#x, the gap of %d pages is at %#x", length, r.base, pages+1, hole.base)
			}
			if r.base < last.base && r.base+roundUp(length)+page > last.base {
				t.Errorf("no page between %#x+%#x and %#x", r.base, length, last.base)
			}
		}
	}
}
