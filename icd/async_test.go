package icd

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"farside/memory"
)

func TestDifferences(t *testing.T) {
	a, b := make([]byte, 1000), make([]byte, 1000)
	if list, all := differences(a, b); len(list) > 0 || !all {
		t.Errorf("equal bytes differ at %v", list)
	}
	for _, i := range []int{0, 1, 63, 64, 65, 200, 999} {
		b[i] = 1
	}
	want := []memory.Span{{Offset: 0, Size: 2}, {Offset: 63, Size: 3}, {Offset: 200, Size: 1}, {Offset: 999, Size: 1}}
	got, all := differences(a, b)
	if diff := cmp.Diff(want, got); diff != "" || !all {
		t.Errorf("differences, all of them: %v (-want +got):\n%s", all, diff)
	}
}

// TestManyDifferences: of many ranges some are left, from all over, and none says more than has changed.
func TestManyDifferences(t *testing.T) {
	const period, size = 100, 1 << 20
	a, b := make([]byte, size), make([]byte, size)
	for i := range b {
		if i%period < 70 {
			b[i] = 1
		}
	}
	list, all := differences(a, b)
	if len(list) < mostDifferences/2 || len(list) > 2*mostDifferences || all {
		t.Errorf("%d ranges, all of them: %v", len(list), all)
	}
	quarters := [4]bool{}
	for _, s := range list {
		quarters[s.Offset*4/size] = true
		if s.Offset%period != 0 || s.Size > 70 || s.Size < 70 && s.Offset+s.Size < size {
			t.Fatalf("%v is no range that has changed", s)
		}
	}
	if quarters != [4]bool{true, true, true, true} {
		t.Errorf("parts of the memory have no range: %v", quarters)
	}
}

// TestDelays: queues wait for an eighth of the time, also where each wait takes longer than it is asked to.
func TestDelays(t *testing.T) {
	const slower, work = 3 * time.Millisecond, 100 * time.Microsecond
	began := time.Now()
	now, waited, waits := began, time.Duration(0), 0
	d := delays{left: mostDelays, last: now, random: rand.New(rand.NewPCG(1, 2))}
	for range 30000 {
		if delay := d.take(now); delay > 0 {
			d.left -= slower
			waited += delay + slower
			now = now.Add(delay + slower)
			waits++
		}
		now = now.Add(work)
	}
	if most := mostDelays + now.Sub(began)/8 + mostDelay + slower; waited > most || waits < 50 {
		t.Errorf("%d waits took %v of %v, want at most %v", waits, waited, now.Sub(began), most)
	}
}
