package cores

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestDoCallsEachPartOnce(t *testing.T) {
	for _, parts := range []int{0, 1, 2, 3, 100} {
		calls := make([]atomic.Int32, parts)
		Do(parts, func(i int) { calls[i].Add(1) })
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("part %d of %d was called %d times", i, parts, n)
			}
		}
	}
}

func TestDoFromManyGoroutines(t *testing.T) {
	var group sync.WaitGroup
	var sum atomic.Int64
	for range 8 {
		group.Go(func() {
			for range 200 {
				Do(10, func(i int) { sum.Add(int64(i)) })
			}
		})
	}
	group.Wait()
	if want := int64(8 * 200 * 45); sum.Load() != want {
		t.Errorf("the parts add up to %d, want %d", sum.Load(), want)
	}
}

func TestDoUsesOtherCores(t *testing.T) {
	if Count < 2 {
		t.Skip("a machine with one core")
	}
	// Each part waits for the other: only two threads get through.
	var arrived atomic.Int32
	met := make(chan struct{})
	Do(2, func(int) {
		if arrived.Add(1) == 2 {
			close(met)
		}
		select {
		case <-met:
		case <-time.After(10 * time.Second):
			t.Error("no second core came")
		}
	})
}

func TestDoWithin(t *testing.T) {
	var calls atomic.Int32
	Do(4, func(int) { Do(4, func(int) { calls.Add(1) }) })
	if calls.Load() != 16 {
		t.Errorf("%d calls, want 16", calls.Load())
	}
}

// TestPanic: whichever goroutine a part panics on, the caller sees it, and the workers live on.
func TestPanic(t *testing.T) {
	for part := range 8 {
		func() {
			defer func() {
				if r := recover(); r != "broken" {
					t.Errorf("part %d: recovered %v", part, r)
				}
			}()
			Do(8, func(i int) {
				time.Sleep(100 * time.Microsecond)
				if i == part {
					panic("broken")
				}
			})
		}()
	}
	TestDoCallsEachPartOnce(t)
}

// TestStart has workers begin while the caller does something else, each part called once, and panics at the end.
func TestStart(t *testing.T) {
	for _, parts := range []int{1, 2, 30} {
		calls := make([]atomic.Int32, parts)
		j := Start(parts, func(i int) { calls[i].Add(1) })
		if Count > 1 { // somebody else does at least one part
			for deadline := time.Now().Add(10 * time.Second); calls[0].Load() == 0 && time.Now().Before(deadline); {
				runtime.Gosched()
			}
			if calls[0].Load() == 0 {
				t.Fatal("no worker has begun")
			}
		}
		j.Finish()
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("part %d of %d was called %d times", i, parts, n)
			}
		}
	}
	func() {
		defer func() {
			if r := recover(); r != "broken" {
				t.Errorf("recovered %v", r)
			}
		}()
		Start(3, func(int) { panic("broken") }).Finish()
		t.Error("no panic")
	}()
	TestDoCallsEachPartOnce(t)
}

func TestDoAllocatesNothing(t *testing.T) {
	var sum atomic.Int64
	body := func(i int) { sum.Add(int64(i)) }
	Do(8, body)
	if n := testing.AllocsPerRun(100, func() { Do(8, body) }); n > 0.5 {
		t.Errorf("%v allocations", n)
	}
	runtime.KeepAlive(&sum)

	j := &Job{body: body, parts: 8} // what a worker does, whether or not one came in time above
	if n := testing.AllocsPerRun(100, func() {
		j.taken.Store(0)
		j.left.Store(1)
		j.help()
	}); n != 0 {
		t.Errorf("a worker's share: %v allocations", n)
	}
}

func BenchmarkDo(b *testing.B) {
	for b.Loop() {
		Do(8, func(int) {})
	}
}
