package handle

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

type object struct{ id uint64 }

func TestTableInsertGetRemove(t *testing.T) {
	table := NewTable[object](7, "VkDeviceMemory")
	o := &object{1}
	h := table.Insert(o)
	if h>>56 != 7 || h == 0 {
		t.Fatalf("handle %#x: want kind 7 on top", h)
	}
	if table.Get(h) != o || table.Len() != 1 {
		t.Fatalf("Get(%#x) = %p, Len %d; want %p, 1", h, table.Get(h), table.Len(), o)
	}
	if table.Remove(h) != o || table.Remove(h) != nil || table.Get(h) != nil || table.Len() != 0 {
		t.Fatal("a removed handle is still live")
	}
	p := &object{2}
	g := table.Insert(p)
	if g == h || uint32(g) != uint32(h) {
		t.Fatalf("the slot of %#x was reused as %#x; want the same index and another generation", h, g)
	}
	if table.Get(h) != nil || table.Get(g) != p {
		t.Fatal("the stale handle reaches its slot's new object")
	}
}

func TestTableForeignHandles(t *testing.T) {
	a, b := NewTable[object](1, "A"), NewTable[object](2, "B")
	h := a.Insert(&object{})
	b.Insert(&object{})
	if b.Get(h) != nil || b.Remove(h) != nil {
		t.Fatal("a handle of table A is found in table B")
	}
	for _, h := range []uint64{0, 1, 1 << 32, 1 << 56, ^uint64(0), h ^ 1<<32, h + 1} {
		if a.Get(h) != nil || a.Remove(h) != nil {
			t.Errorf("%#x is found", h)
		}
	}
	zero := NewTable[object](0, "empty kind")
	if zero.Remove(zero.Insert(&object{})) == nil || zero.Get(0) != nil || zero.Remove(0) != nil {
		t.Error("0 matches an empty slot")
	}
}

func TestTableReusesFirstInFirstOut(t *testing.T) {
	table := NewTable[object](1, "A")
	var hs []uint64
	for range 3 * chunkSize {
		hs = append(hs, table.Insert(&object{}))
	}
	for _, h := range hs {
		table.Remove(h)
	}
	for i, old := range hs {
		if h := table.Insert(&object{}); uint32(h) != uint32(old) {
			t.Fatalf("insert %d took slot %d, want %d", i, uint32(h), uint32(old))
		}
	}
}

func TestTableRetiresSlots(t *testing.T) {
	table := NewTable[object](1, "A")
	h := table.Insert(&object{})
	table.Remove(h)
	table.slot(0).generation = generationMax - 1
	last := table.Insert(&object{})
	if last>>32&generationMax != generationMax {
		t.Fatalf("handle %#x: want the last generation", last)
	}
	table.Remove(last)
	if h := table.Insert(&object{}); uint32(h) == 0 {
		t.Fatalf("slot 0 came back as %#x after its last generation", h)
	}
}

func TestTableAll(t *testing.T) {
	table := NewTable[object](1, "A")
	want := map[uint64]*object{}
	for i := range uint64(600) {
		o := &object{i}
		h := table.Insert(o)
		want[h] = o
		if i%3 == 0 {
			table.Remove(h)
			delete(want, h)
		}
	}
	for h, o := range table.All() {
		if want[h] != o {
			t.Fatalf("All yields %#x with %p, want %p", h, o, want[h])
		}
		delete(want, h)
	}
	if len(want) != 0 {
		t.Fatalf("All left out %d handles", len(want))
	}
}

// TestTableHammer lets goroutines insert, look up and remove handles of each other's objects: an object
// that Get returns must be the one that the handle was made for, and one of several removers must win.
func TestTableHammer(t *testing.T) {
	table := NewTable[object](3, "A")
	var shared [64]atomic.Uint64
	var inserted, removed atomic.Int64
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(g, 1))
			for range 20000 {
				place := &shared[r.IntN(len(shared))]
				h := place.Load()
				switch r.IntN(3) {
				case 0:
					place.CompareAndSwap(h, table.Insert(&object{}))
					inserted.Add(1)
				case 1:
					table.Get(h)
				case 2:
					if table.Remove(h) != nil {
						removed.Add(1)
						if table.Get(h) != nil {
							t.Error("Get finds a removed handle")
						}
					}
				}
			}
		})
	}
	wg.Wait()
	if got := inserted.Load() - removed.Load(); got != int64(table.Len()) {
		t.Fatalf("%d live handles, Len says %d", got, table.Len())
	}
}

func TestTableIdentityUnderRaces(t *testing.T) {
	table := NewTable[object](3, "A")
	var current atomic.Uint64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !stop.Load() {
				h := current.Load()
				if o := table.Get(h); o != nil && o.id != h>>32&generationMax {
					t.Errorf("handle %#x reaches object %d", h, o.id)
					return
				}
			}
		})
	}
	// There is one slot, so the n-th handle carries generation n.
	for n := range uint64(20000) {
		table.Remove(current.Load())
		current.Store(table.Insert(&object{n + 1}))
	}
	stop.Store(true)
	wg.Wait()
}

// TestTableSuccessorInTheSlot is the race of TestTableIdentityUnderRaces step by step: a reader finds its handle live,
// the handle goes, and another one gets the slot before the reader loads the object.
func TestTableSuccessorInTheSlot(t *testing.T) {
	table := NewTable[object](3, "A")
	h := table.Insert(&object{1})
	s := table.slot(uint32(h))
	if o := s.object(h); o == nil || o.id != 1 {
		t.Fatalf("a live handle reaches %v", o)
	}
	table.Remove(h)
	if o := s.object(h); o != nil {
		t.Errorf("a removed handle reaches object %d", o.id)
	}
	if successor := table.Insert(&object{2}); table.slot(uint32(successor)) != s {
		t.Fatal("the successor has another slot")
	}
	if o := s.object(h); o != nil {
		t.Errorf("a removed handle reaches object %d", o.id)
	}
}

func TestRemoveHasOneWinner(t *testing.T) {
	table := NewTable[object](1, "A")
	dispatchable := NewDispatchable[object]("B")
	for range 500 {
		h := table.Insert(&object{})
		d, err := dispatchable.Insert(&object{})
		if err != nil {
			t.Fatal(err)
		}
		var wins, winsD atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if table.Remove(h) != nil {
					wins.Add(1)
				}
				if dispatchable.Remove(d) != nil {
					winsD.Add(1)
				}
			})
		}
		wg.Wait()
		if wins.Load() != 1 || winsD.Load() != 1 {
			t.Fatalf("%d and %d winners, want 1 and 1", wins.Load(), winsD.Load())
		}
	}
}

// words is a slot as C sees it.
func words(h uintptr) *[slotSize / 8]uint64 {
	return *(**[slotSize / 8]uint64)(unsafe.Pointer(&h))
}

func TestDispatchable(t *testing.T) {
	d := NewDispatchable[object]("VkDevice")
	if d.Get(0) != nil || d.Remove(64) != nil {
		t.Fatal("an empty table finds a handle")
	}
	o := &object{1}
	h, err := d.Insert(o)
	if err != nil {
		t.Fatal(err)
	}
	if words(h)[0] != LoaderMagic {
		t.Fatalf("word 0 is %#x", words(h)[0])
	}
	// The loader replaces the word; the handle stays valid.
	words(h)[0] = 0x1234
	if d.Get(h) != o || d.Len() != 1 {
		t.Fatal("the handle is lost once the loader wrote its word")
	}
	for _, bad := range []uintptr{0, h + 1, h + 8, h - slotSize, h + slotSize, h + commitSize, h + reserveSize,
		^uintptr(0)} {
		if d.Get(bad) != nil || d.Remove(bad) != nil {
			t.Errorf("%#x is found", bad)
		}
	}
	if d.Slot(0) != nil || d.Slot(h+8) != nil {
		t.Error("a slot without a handle")
	}
	d.Slot(h)[0], d.Slot(h)[6] = 11, 77
	if w := *words(h); w != [slotSize / 8]uint64{0x1234, 11, 0, 0, 0, 0, 0, 77} {
		t.Errorf("the slot holds %x", w)
	}
	if d.Remove(h) != o || d.Remove(h) != nil || d.Get(h) != nil || d.Slot(h) != nil || d.Len() != 0 {
		t.Fatal("a removed handle is still live")
	}
	for range quarantine - 1 {
		g, err := d.Insert(&object{})
		if err != nil {
			t.Fatal(err)
		}
		if g == h {
			t.Fatal("the freed slot was reused at once")
		}
		d.Remove(g)
	}
	if g, err := d.Insert(o); err != nil || g != h {
		t.Fatalf("after the quarantine Insert = %#x, %v; want the oldest slot %#x", g, err, h)
	}
	if w := *words(h); w != [slotSize / 8]uint64{LoaderMagic} {
		t.Fatalf("a reused slot holds %x", w)
	}
}

func TestDispatchableGrowsAndFills(t *testing.T) {
	d := NewDispatchable[object]("VkCommandBuffer")
	o := &object{}
	seen := map[uintptr]bool{}
	for i := range 3*commitSlots + 1 {
		h, err := d.Insert(o)
		if err != nil || seen[h] {
			t.Fatalf("Insert = %#x, %v", h, err)
		}
		seen[h] = true
		words(h)[1] = uint64(i) // what an Insert of another handle leaves alone
	}
	for h := range seen {
		if i := words(h)[1]; words(h)[0] != LoaderMagic || h != d.Slab().Base.Load()+uintptr(i)*slotSize {
			t.Fatalf("slot %#x holds %x", h, *words(h))
		}
	}
	for h, v := range d.All() {
		if !seen[h] || v != o {
			t.Fatalf("All yields %#x, which is no handle, or comes again; or another object", h)
		}
		delete(seen, h)
	}
	if len(seen) != 0 {
		t.Fatalf("All leaves out %d handles", len(seen))
	}
	d.fresh = maxSlots
	if _, err := d.Insert(o); !errors.Is(err, ErrFull) {
		t.Fatalf("Insert into a full table = %v, want ErrFull", err)
	}
}

// Freed slots are used again in the order in which they were freed, also when the ring that keeps them wraps around,
// and once each.
func TestDispatchableReusesFirstInFirstOut(t *testing.T) {
	d := NewDispatchable[object]("VkQueue")
	insert := func() uintptr {
		h, err := d.Insert(&object{})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	var freed []uintptr
	for range quarantine {
		freed = append(freed, insert())
	}
	for _, h := range freed {
		d.Remove(h)
	}
	for round := range 3 * quarantine {
		h := insert()
		if h != freed[0] {
			t.Fatalf("round %d: slot %#x, want %#x", round, h, freed[0])
		}
		d.Remove(h)
		freed = append(freed[1:], h)
	}
	live := map[uintptr]bool{}
	for range 2 * quarantine {
		h := insert()
		if live[h] {
			t.Fatalf("slot %#x is used twice", h)
		}
		live[h] = true
	}
	if d.Len() != len(live) {
		t.Errorf("%d handles, want %d", d.Len(), len(live))
	}
}

func FuzzGet(f *testing.F) {
	table := NewTable[object](5, "A")
	d := NewDispatchable[object]("B")
	live := map[uint64]*object{}
	for i := range uint64(300) {
		o := &object{i}
		live[table.Insert(o)] = o
		h, err := d.Insert(o)
		if err != nil {
			f.Fatal(err)
		}
		live[uint64(h)] = o
		f.Add(uint64(h))
	}
	f.Add(uint64(0))
	f.Add(^uint64(0))
	f.Add(uint64(5<<56 | 1<<32))
	f.Fuzz(func(t *testing.T, h uint64) {
		if o := table.Get(h); o != nil && live[h] != o {
			t.Errorf("Table.Get(%#x) = %v", h, o)
		}
		if o := d.Get(uintptr(h)); o != nil && live[h] != o {
			t.Errorf("Dispatchable.Get(%#x) = %v", h, o)
		}
	})
}

func TestGetDoesNotAllocate(t *testing.T) {
	table, d := NewTable[object](1, "A"), NewDispatchable[object]("B")
	h := table.Insert(&object{})
	g, err := d.Insert(&object{})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { table.Get(h); d.Get(g) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkTableGet(b *testing.B) {
	table := NewTable[object](1, "A")
	h := table.Insert(&object{})
	for b.Loop() {
		table.Get(h)
	}
}

func BenchmarkDispatchableGet(b *testing.B) {
	d := NewDispatchable[object]("B")
	h, err := d.Insert(&object{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d.Get(h)
	}
}

func BenchmarkInsertRemove(b *testing.B) {
	table := NewTable[object](1, "A")
	o := &object{}
	for b.Loop() {
		table.Remove(table.Insert(o))
	}
}
