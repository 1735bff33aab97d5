package syncobj

import (
	"errors"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"farside/internal/vk"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}

const never = math.MaxUint64

// late is how much later than its timeout a wait may return on a loaded machine.
const late = 5 * time.Second

// asleep waits until somebody has registered at p, which is the last thing that it does before it sleeps.
func asleep(p *Payload) {
	for p.state.wanted.Load() == none {
		runtime.Gosched()
	}
}

// local and sharedPayload make payloads for the tests that hold for both.
func local(_ testing.TB, kind Kind, initial uint64) *Payload { return New(kind, initial) }

func sharedPayload(t testing.TB, kind Kind, initial uint64) *Payload {
	p, err := NewShared(kind, initial, Identity{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}

func everyPlace(t *testing.T, f func(t *testing.T, create func(testing.TB, Kind, uint64) *Payload)) {
	t.Run("local", func(t *testing.T) { f(t, local) })
	t.Run("shared", func(t *testing.T) { f(t, sharedPayload) })
}

func TestKinds(t *testing.T) {
	everyPlace(t, func(t *testing.T, create func(testing.TB, Kind, uint64) *Payload) {
		f := create(t, Fence, 0)
		if f.Value() != 0 || f.TryWait(1) {
			t.Error("a new fence is signalled")
		}
		if err := f.Signal(77); err != nil || f.Value() != 1 || !f.TryWait(0) || !f.TryWait(0) {
			t.Errorf("a signalled fence: %v, value %d", err, f.Value())
		}
		if f.Reset(); f.Value() != 0 {
			t.Error("a reset fence is signalled")
		}
		b := create(t, Binary, 1)
		if b.Value() != 1 || !b.TryWait(0) || b.TryWait(0) || b.Value() != 0 {
			t.Error("a wait does not consume the signal of a binary semaphore once")
		}
		if err := b.Signal(0); err != nil || Wait([]Point{{Payload: b}}, true, 0, nil) != nil || b.Value() != 1 {
			t.Error("Wait consumes a binary semaphore's signal")
		}
		s := create(t, Timeline, 5)
		if s.Value() != 5 || !s.TryWait(5) || s.TryWait(6) {
			t.Error("a timeline does not begin at its initial value")
		}
		for _, v := range []uint64{0, 4, 5} {
			err := s.Signal(v)
			if vk.ResultOf(err) != vk.ERROR_UNKNOWN || vk.VUIDOf(err).String() != "VUID-VkSemaphoreSignalInfo-value-03258" {
				t.Errorf("a timeline at 5 is signalled with %d: %v", v, err)
			}
		}
		if err := s.Signal(math.MaxUint64); err != nil || !s.TryWait(math.MaxUint64) || !s.TryWait(0) {
			t.Errorf("a timeline at its end: %v, %d", err, s.Value())
		}
		if s.Reset(); s.Value() != math.MaxUint64 {
			t.Error("a timeline was reset")
		}
	})
}

func TestReferences(t *testing.T) {
	p := New(Fence, 0)
	if p.Retain() != p {
		t.Error("Retain returns another payload")
	}
	p.Release()
	p.Pending(1)
	if !p.HasPending() {
		t.Error("nothing is pending")
	}
	p.Pending(-1)
	if p.HasPending() {
		t.Error("something is still pending")
	}
	p.Pending(2)
	if err := p.SignalPending(0); err != nil || p.Value() != 1 || !p.HasPending() {
		t.Errorf("the first of two pending signals: %v, value %d", err, p.Value())
	}
	line := New(Timeline, 5)
	line.Pending(1)
	if err := line.SignalPending(5); err == nil || line.HasPending() {
		t.Errorf("a pending signal that fails: %v, pending %v", err, line.HasPending())
	}
	p.Pending(-1)
	p.Release()
	for name, f := range map[string]func(){"Retain": func() { p.Retain() }, "Release": p.Release} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of a payload that is gone", name)
				}
			}()
			f()
		}()
		p.refs.Store(0)
	}
}

func TestWaitReturnsAtOnce(t *testing.T) {
	open, done, stop := New(Fence, 0), New(Fence, 1), New(Fence, 1)
	both := []Point{{Payload: open}, {Payload: done}}
	line := New(Timeline, 7)
	for _, c := range []struct {
		name   string
		points []Point
		all    bool
		stop   *Payload
		want   error
	}{
		{"no points, all", nil, true, nil, nil},
		{"no points, any", nil, false, nil, nil},
		{"any", both, false, nil, nil},
		{"any, stopped", both, false, stop, nil},
		{"all", both, true, nil, ErrTimeout},
		{"all, stopped", both, true, stop, ErrStopped},
		{"all, not stopped", both, true, open, ErrTimeout},
		{"fence, value ignored", []Point{{done, 12}}, true, nil, nil},
		{"timeline reached", []Point{{line, 7}, {line, 0}}, true, open, nil},
		{"timeline ahead", []Point{{line, 8}, {line, math.MaxUint64}}, false, nil, ErrTimeout},
	} {
		before := sleeps.Load()
		if err := Wait(c.points, c.all, 0, c.stop); err != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if c.want != ErrTimeout {
			if err := Wait(c.points, c.all, never, c.stop); err != c.want {
				t.Errorf("%s, no timeout: %v, want %v", c.name, err, c.want)
			}
		}
		if sleeps.Load() != before {
			t.Errorf("%s: the wait slept", c.name)
		}
	}
}

func TestTimeouts(t *testing.T) {
	everyPlace(t, func(t *testing.T, create func(testing.TB, Kind, uint64) *Payload) {
		p, stop := create(t, Timeline, 0), New(Fence, 0)
		for _, timeout := range []time.Duration{1, time.Microsecond, time.Millisecond, 20 * time.Millisecond,
			120 * time.Millisecond} {
			for _, stop := range []*Payload{nil, stop} {
				start := time.Now()
				err := Wait([]Point{{p, 1}}, true, uint64(timeout), stop)
				if took := time.Since(start); err != ErrTimeout || took < timeout || took > timeout+late {
					t.Errorf("timeout %v: %v after %v", timeout, err, took)
				}
			}
		}
	})
}

// A timeout beyond what the clock can count is none.
func TestHugeTimeouts(t *testing.T) {
	for _, timeout := range []uint64{math.MaxInt64 - 1, math.MaxInt64, math.MaxUint64 - 1, math.MaxUint64} {
		p := New(Fence, 0)
		got := make(chan error)
		go func() { got <- Wait([]Point{{Payload: p}}, true, timeout, nil) }()
		asleep(p)
		p.Signal(1)
		if err := <-got; err != nil {
			t.Errorf("timeout %d: %v", timeout, err)
		}
	}
}

// One wake-up a wait: the futex call returns once, with and without a stop payload, on both kinds of memory.
func TestOneWakeUp(t *testing.T) {
	everyPlace(t, func(t *testing.T, create func(testing.TB, Kind, uint64) *Payload) {
		for _, kind := range []Kind{Fence, Binary, Timeline} {
			for _, stop := range []*Payload{nil, New(Fence, 0)} {
				oneWakeUp(t, kind, func() (*Payload, []Point) {
					p := create(t, kind, 0)
					return p, []Point{{p, 10}}
				}, stop, func(points []Point) {
					if kind == Timeline {
						// Signals below the target leave the waiter asleep.
						for v := range uint64(9) {
							points[0].Payload.Signal(v + 1)
						}
					}
					points[0].Payload.Signal(10)
				})
			}
		}
	})
}

// oneWakeUp has a wait for all points begin, signals them, and counts how often the waiter has slept: once. It begins
// anew where the waiter had registered at the first one, but saw the signal before it slept.
func oneWakeUp(t *testing.T, kind Kind, points func() (*Payload, []Point), stop *Payload, signal func([]Point)) {
	t.Helper()
	for range 100 {
		first, list := points()
		got := make(chan error)
		before := sleeps.Load()
		go func() { got <- Wait(list, true, uint64(time.Minute), stop) }()
		asleep(first)
		signal(list)
		if err := <-got; err != nil {
			t.Fatalf("%v: %v", kind, err)
		}
		// A shared payload's waiter may also have been late enough to hand itself to the checker.
		switch n := sleeps.Load() - before; {
		case n == 1 || n == 2 && first.shared != nil:
			return
		case n > 1:
			t.Fatalf("%v: %d wake-ups", kind, n)
		}
	}
	t.Errorf("%v: the waiter never sleeps", kind)
}

// A wait for all that sleeps on its first point finds the others reached.
func TestOneWakeUpForAll(t *testing.T) {
	oneWakeUp(t, Binary, func() (*Payload, []Point) {
		points := make([]Point, 300)
		for i := range points {
			points[i] = Point{New(Binary, 0), 0}
		}
		return points[0].Payload, points
	}, New(Fence, 0), func(points []Point) {
		for i := range points {
			points[len(points)-1-i].Payload.Signal(1)
		}
	})
}

func TestWaitAny(t *testing.T) {
	for _, n := range []int{2, 127, 128, 400} {
		for _, signalled := range []int{0, n / 2, n - 1} {
			stop := New(Fence, 0)
			points := make([]Point, n)
			for i := range points {
				points[i] = Point{New(Fence, 0), 0}
			}
			got := make(chan error)
			go func() { got <- Wait(points, false, never, stop) }()
			asleep(points[signalled].Payload)
			points[signalled].Payload.Signal(1)
			if err := <-got; err != nil {
				t.Errorf("%d points, %d signalled: %v", n, signalled, err)
			}
		}
	}
}

func TestManyPoints(t *testing.T) {
	open := New(Fence, 0)
	points := make([]Point, 300)
	for i := range points {
		points[i].Payload = open
	}
	start := time.Now()
	if err := Wait(points, false, uint64(20*time.Millisecond), nil); err != ErrTimeout ||
		time.Since(start) < 20*time.Millisecond {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	for i := range points {
		points[i].Payload = New(Fence, 0)
		points[i].Payload.orphan()
	}
	if err := Wait(points, false, never, New(Fence, 0)); err != ErrOrphaned {
		t.Errorf("300 orphans: %v", err)
	}
	points[299].Payload = open
	if err := Wait(points, false, uint64(20*time.Millisecond), New(Fence, 0)); err != ErrTimeout {
		t.Errorf("299 orphans: %v", err)
	}
}

func TestStop(t *testing.T) {
	everyPlace(t, func(t *testing.T, create func(testing.TB, Kind, uint64) *Payload) {
		for _, c := range []struct {
			n   int
			all bool
		}{{1, true}, {3, true}, {3, false}, {200, false}, {200, true}} {
			stop := New(Fence, 0)
			p := create(t, Timeline, 0)
			points := make([]Point, c.n)
			for i := range points {
				points[i] = Point{p, uint64(i + 1)}
			}
			got := make(chan error)
			go func() { got <- Wait(points, c.all, never, stop) }()
			asleep(stop)
			stop.Signal(1)
			if err := <-got; err != ErrStopped {
				t.Errorf("%d points, all %v: %v", c.n, c.all, err)
			}
		}
	})
}

// Waiters with different targets on one timeline all get through, whoever erases whose registration.
func TestTargets(t *testing.T) {
	everyPlace(t, func(t *testing.T, create func(testing.TB, Kind, uint64) *Payload) {
		const waiters, steps = 8, 2000
		p := create(t, Timeline, 0)
		var all sync.WaitGroup
		for w := range waiters {
			all.Go(func() {
				for v := uint64(1 + w); v <= steps; v += uint64(1 + w) {
					if err := Wait([]Point{{p, v}}, true, uint64(time.Minute), nil); err != nil {
						t.Errorf("waiter %d for %d: %v at %d", w, v, err, p.Value())
						return
					}
				}
			})
		}
		for v := range uint64(steps) {
			p.Signal(v + 1)
		}
		all.Wait()
	})
}

// Every signal of a binary semaphore is consumed by one of many waiters.
func TestOneWinner(t *testing.T) {
	everyPlace(t, func(t *testing.T, create func(testing.TB, Kind, uint64) *Payload) {
		const rounds = 3000
		p, taken, stop := create(t, Binary, 0), create(t, Binary, 0), New(Fence, 0)
		var wins atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for Wait([]Point{{Payload: p}}, true, never, stop) == nil {
					if p.TryWait(0) {
						wins.Add(1)
						taken.Signal(1)
					}
				}
			})
		}
		for range rounds {
			p.Signal(1)
			if err := Wait([]Point{{Payload: taken}}, true, uint64(time.Minute), nil); err != nil || !taken.TryWait(0) {
				t.Fatalf("nobody took the signal: %v", err)
			}
		}
		stop.Signal(1)
		all.Wait()
		if wins.Load() != rounds {
			t.Errorf("%d signals were consumed %d times", rounds, wins.Load())
		}
	})
}

// Without FUTEX_WAITV everything works as well, only less promptly.
func TestWithoutWaitv(t *testing.T) {
	withoutWaitv.Store(true)
	defer withoutWaitv.Store(false)
	t.Run("any", TestWaitAny)
	t.Run("stop", TestStop)
	t.Run("timeouts", TestTimeouts)
	t.Run("winner", TestOneWinner)
}

func TestNoAllocation(t *testing.T) {
	p, stop := New(Timeline, 0), New(Fence, 0)
	n := testing.AllocsPerRun(100, func() {
		points := [2]Point{{p, p.Value() + 1}, {p, p.Value() + 2}}
		if err := Wait(points[:], false, 1000, stop); !errors.Is(err, ErrTimeout) {
			t.Error(err)
		}
		p.Signal(p.Value() + 1)
		if Wait(points[:], false, never, stop) != nil || !p.TryWait(1) {
			t.Error("not reached")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
