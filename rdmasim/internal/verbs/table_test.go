package verbs

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// closable is a view that remembers why it was closed.
type closable struct {
	View
	reason error
}

func (c *closable) Close(reason error) {
	if c.reason == nil {
		c.reason = reason
	}
}

func region(address, length uint64) *Region {
	return &Region{Info: RegionInfo{Address: address, Length: length}, View: &closable{}}
}

func (c *closable) Alive() bool { return c.reason == nil }

func reasonOf(r *Region) error { return r.View.(*closable).reason }

// Regions come and go at random, and each address finds what a list of them says.
func TestTableModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var table Table
	live := map[*Region]bool{}
	for step := range 20000 {
		address := 1 + rng.Uint64N(300)
		switch rng.IntN(4) {
		case 0:
			r := region(address, 1+rng.Uint64N(20))
			if err := table.Add(r); err != nil {
				t.Fatal(err)
			}
			for o := range live {
				if o.Info.Address < address+r.Info.Length && address < o.Info.Address+o.Info.Length {
					if reasonOf(o) != ErrFreed {
						t.Fatalf("step %d: a region under a new one is closed with %v", step, reasonOf(o))
					}
					delete(live, o)
				}
			}
			live[r] = true
		case 1:
			for r := range live {
				table.Drop(r, ErrOwnerDied)
				if reasonOf(r) != ErrOwnerDied {
					t.Fatalf("step %d: dropped with %v", step, reasonOf(r))
				}
				delete(live, r)
				break
			}
		default:
			var want *Region
			for r := range live {
				if r.Info.Address <= address && address < r.Info.Address+r.Info.Length {
					want = r
				}
			}
			if got := table.Lookup(address); got != want {
				t.Fatalf("step %d: %d finds %v, not %v", step, address, got, want)
			}
		}
		if table.Len() != len(live) {
			t.Fatalf("step %d: %d regions, not %d", step, table.Len(), len(live))
		}
	}
	for r := range live {
		if reasonOf(r) != nil {
			t.Errorf("a region in the table is closed with %v", reasonOf(r))
		}
	}
	if !table.Close() || table.Close() {
		t.Error("a table is closed once")
	}
	for r := range live {
		if reasonOf(r) != ErrClosed {
			t.Errorf("closed with %v", reasonOf(r))
		}
	}
	if err := table.Add(region(1, 1)); err != ErrClosed || table.Len() != 0 || table.Lookup(1) != nil {
		t.Errorf("a closed table takes a region: %v", err)
	}
}

// A lookup that was under way when a region left can leave it where lookups begin. The next Drop mends that, so that
// a new region at the address is found.
func TestStaleLookup(t *testing.T) {
	var table Table
	old, fresh := region(100, 10), region(100, 10)
	if err := errors.Join(table.Add(old), table.Add(fresh)); err != nil {
		t.Fatal(err)
	}
	table.last.Store(old) // what a search that began before the second Add does
	if got := table.Lookup(105); got != old {
		t.Fatal("the test doesn't reach what it is about")
	}
	table.Drop(old, ErrFreed)
	if got := table.Lookup(105); got != fresh {
		t.Errorf("found %v", got)
	}
	if reasonOf(fresh) != nil {
		t.Error("the new region was closed")
	}
}

// Two goroutines that have asked for one region get one view of it, which stays open.
func TestFindOrAdd(t *testing.T) {
	var table Table
	first, second, other := region(100, 10), region(100, 10), region(100, 10)
	other.Info.Key = 1
	if got, err := table.FindOrAdd(first); got != first || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := table.FindOrAdd(second); got != first || err != nil || reasonOf(first) != nil {
		t.Errorf("the same region: %v, %v, closed with %v", got, err, reasonOf(first))
	}
	if got, err := table.FindOrAdd(other); got != other || err != nil || reasonOf(first) != ErrFreed {
		t.Errorf("another key: %v, %v, closed with %v", got, err, reasonOf(first))
	}
	table.Close()
	if _, err := table.FindOrAdd(first); err != ErrClosed {
		t.Errorf("a closed table: %v", err)
	}
}

func TestForget(t *testing.T) {
	var table Table
	r := region(100, 10)
	if err := errors.Join(table.Add(r), table.Add(region(200, 10))); err != nil {
		t.Fatal(err)
	}
	if table.Forget(3); table.Len() != 2 {
		t.Error("forgotten below the limit")
	}
	if table.Forget(2); table.Len() != 0 || reasonOf(r) != nil {
		t.Errorf("%d regions, closed with %v", table.Len(), reasonOf(r))
	}
}

func TestCovers(t *testing.T) {
	i := RegionInfo{Address: MakeAddress(5, 4096), Length: 100, Access: AccessRead | AccessAtomic}
	for _, c := range []struct {
		off, n uint64
		need   Access
		want   error
	}{
		{0, 100, AccessRead, nil}, {0, 0, AccessRead, nil}, {100, 0, AccessRead, nil}, {99, 1, AccessAtomic, nil},
		{0, 101, AccessRead, ErrOutOfRange}, {100, 1, AccessRead, ErrOutOfRange}, {101, 0, AccessRead, ErrOutOfRange},
		{1, 100, AccessRead, ErrOutOfRange}, {1, ^uint64(0), AccessRead, ErrOutOfRange},
		{^uint64(0), 2, AccessRead, ErrOutOfRange}, {0, 1, AccessWrite, ErrAccess}, {0, 101, AccessWrite, ErrOutOfRange},
		{0, 1, AccessAll, ErrAccess},
	} {
		if got := i.Covers(c.off, c.n, c.need); got != (c.want == nil) {
			t.Errorf("%+v: %v", c, got)
		}
		if c.want != nil && !errors.Is(i.Refusal(c.off, c.n, c.need), c.want) {
			t.Errorf("%+v: %v", c, i.Refusal(c.off, c.n, c.need))
		}
	}
}

func TestPossible(t *testing.T) {
	const last = 1<<OffsetBits - 4096
	at := func(id uint32, offset, length uint64) RegionInfo {
		return RegionInfo{Address: MakeAddress(id, offset), Length: length, Access: AccessRead}
	}
	rights := func(a Access) RegionInfo {
		i := at(5, 4096, 4096)
		i.Access = a
		return i
	}
	for _, c := range []struct {
		info    RegionInfo
		address uint64
		want    bool
	}{
		{at(5, 4096, 4096), MakeAddress(5, 4096), true},
		{at(5, 4096, 4096), MakeAddress(5, 8191), true},
		{at(5, 4096, 4096), MakeAddress(5, 8192), false},
		{at(5, 4096, 4096), MakeAddress(5, 4095), false},
		{at(5, last, 4096), MakeAddress(5, last), true},
		{at(5, last, 4097), MakeAddress(5, last), false},
		{at(5, 4096, 1<<63), MakeAddress(5, 4096), false},
		{at(5, 4096, 0), MakeAddress(5, 4096), false},
		{at(6, 4096, 1<<OffsetBits), MakeAddress(5, 4096), false},
		{at(6, 4096, 4096), MakeAddress(5, 4096), false},
		{RegionInfo{Address: 4096, Length: 1 << 62, Access: AccessRead}, MakeAddress(5, 4096), false},
		{rights(0), MakeAddress(5, 4096), false},
		{rights(AccessAll), MakeAddress(5, 4096), true},
		{rights(AccessAll + 1), MakeAddress(5, 4096), false},
	} {
		if got := c.info.Possible(c.address); got != c.want {
			t.Errorf("%+v around %#x: %v", c.info, c.address, got)
		}
	}
}

func TestCheckKey(t *testing.T) {
	r := &Region{Info: RegionInfo{Key: 7}}
	if r.CheckKey(0) != nil || r.CheckKey(7) != nil || !errors.Is(r.CheckKey(8), ErrKey) {
		t.Error(r.CheckKey(0), r.CheckKey(7), r.CheckKey(8))
	}
}
