package verbs

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

type thing struct{ id int }

func TestSlots(t *testing.T) {
	s := newSlots[thing, [9]uint64](3)
	if s.get(0) != nil || s.get(4096) != nil || s.remove(4096) != nil {
		t.Error("an empty table has objects")
	}
	var places []uintptr
	for i := range 3 {
		p, err := s.insert(&thing{i}, func(p uintptr) { *at[uint64](p) = uint64(i) + 10 })
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, p)
	}
	if _, err := s.insert(&thing{}, nil); !errors.Is(err, errSlots) {
		t.Errorf("a fourth of three: %v", err)
	}
	for i, p := range places {
		if v := s.get(p); v == nil || v.id != i || *at[uint64](p) != uint64(i)+10 || s.handle(p) != uint32(i) {
			t.Errorf("object %d is %v", i, v)
		}
		for _, wild := range []uintptr{p + 1, p - 1, p + 8, p + 64, p ^ 1<<63, -p} {
			if v := s.get(wild); v != nil {
				t.Errorf("%#x finds %v", wild, v)
			}
		}
	}
	if v := s.remove(places[1]); v == nil || v.id != 1 || s.get(places[1]) != nil || s.remove(places[1]) != nil {
		t.Errorf("removed %v", v)
	}
	if *at[uint64](places[1]) != 11 {
		t.Error("a structure whose object has gone can't be read any more")
	}
	s.remove(places[0])
	p, err := s.insert(&thing{7}, nil)
	if err != nil || p != places[1] || *at[uint64](p) != 0 {
		t.Errorf("the slot that was free longest isn't taken, or isn't zero: %#x of %#x, %v", p, places, err)
	}
}

// TestSlotsRest has a program that makes and destroys objects for ever use few slots, and none of them soon again.
func TestSlotsRest(t *testing.T) {
	s := newSlots[thing, [8]uint64](1 << 16)
	last := map[uintptr]int{}
	for i := range 10 * mostResting {
		p, err := s.insert(&thing{i}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := last[p]; ok && i-before < mostResting {
			t.Fatalf("a slot is used again after %d others", i-before)
		}
		last[p] = i
		s.remove(p)
	}
	if len(last) > mostResting+2 {
		t.Errorf("%d slots for one object at a time", len(last))
	}
}

func TestSlotsHammer(t *testing.T) {
	s := newSlots[thing, [8]uint64](1 << 14)
	var wg sync.WaitGroup
	var removed atomic.Int64
	const each = 3000
	for range 4 {
		wg.Go(func() {
			for i := range each {
				v := &thing{i}
				p, err := s.insert(v, nil)
				if err != nil || s.get(p) != v {
					t.Errorf("insert: %v", err)
					return
				}
				var race sync.WaitGroup
				for range 2 {
					race.Go(func() {
						if s.remove(p) == v {
							removed.Add(1)
						}
					})
				}
				race.Wait()
			}
		})
	}
	wg.Wait()
	if removed.Load() != 4*each {
		t.Errorf("%d of %d were removed once", removed.Load(), 4*each)
	}
}

func TestSlotsGetDoesNotAllocate(t *testing.T) {
	s := newSlots[thing, [8]uint64](4)
	p, err := s.insert(&thing{1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = s.get(p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
