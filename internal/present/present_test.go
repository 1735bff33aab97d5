package present

import (
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"farside/internal/syncobj"
	"farside/internal/vk"
)

func running() *syncobj.Payload { return syncobj.New(syncobj.Fence, 0) }

func acquire(t *testing.T, c *Chain) int {
	t.Helper()
	i, err := c.Acquire(0, running())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func queue(t *testing.T, c *Chain, image int, mode vk.PresentModeKHR, id uint64) *Frame {
	t.Helper()
	f, err := c.Queue(image, mode, id)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAcquireInTurn: images come in the order in which they became free, and no longer than there are some.
func TestAcquireInTurn(t *testing.T) {
	c := New(3)
	for want := range 3 {
		if i := acquire(t, c); i != want {
			t.Fatalf("image %d, want %d", i, want)
		}
	}
	if _, err := c.Acquire(0, running()); err != ErrNotReady {
		t.Fatalf("a fourth image: %v, want %v", err, ErrNotReady)
	}
	begin := time.Now()
	if _, err := c.Acquire(uint64(20*time.Millisecond), running()); !errors.Is(err, syncobj.ErrTimeout) {
		t.Fatalf("a fourth image: %v, want %v", err, syncobj.ErrTimeout)
	}
	if passed := time.Since(begin); passed < 20*time.Millisecond {
		t.Errorf("the timeout of 20 ms came after %v", passed)
	}
	if n := c.Acquired(); n != 3 {
		t.Errorf("%d images are acquired, want 3", n)
	}
	if err := c.Release(2, 0); err != nil {
		t.Fatal(err)
	}
	if a, b := acquire(t, c), acquire(t, c); a != 2 || b != 0 {
		t.Errorf("images %d and %d, want 2 and 0", a, b)
	}
}

// TestReleaseWhole: a list with an image that is not acquired, or that is there twice, releases nothing.
func TestReleaseWhole(t *testing.T) {
	c := New(3)
	acquire(t, c)
	acquire(t, c)
	for _, list := range [][]int{{0, 2}, {0, 1, 0}, {2}} {
		if err := c.Release(list...); err != ErrNotAcquired {
			t.Errorf("release of %v: %v, want %v", list, err, ErrNotAcquired)
		}
		if a, b, f := c.State(0), c.State(1), c.State(2); a != Acquired || b != Acquired || f != Free {
			t.Fatalf("after the release of %v: %v, %v, %v", list, a, b, f)
		}
	}
	if _, err := c.Queue(2, vk.PRESENT_MODE_FIFO_KHR, 0); err != ErrNotAcquired {
		t.Errorf("presentation of a free image: %v, want %v", err, ErrNotAcquired)
	}
}

// TestOrderOfModes: frames of the FIFO modes are shown in the order in which they were asked for, others at once.
func TestOrderOfModes(t *testing.T) {
	for _, test := range []struct {
		mode vk.PresentModeKHR
		want []uint64 // numbers of frames, after those were made ready in the order 2, 3, 1
	}{
		{vk.PRESENT_MODE_FIFO_KHR, []uint64{1, 2, 3}},
		{vk.PRESENT_MODE_FIFO_RELAXED_KHR, []uint64{1, 2, 3}},
		{vk.PRESENT_MODE_MAILBOX_KHR, []uint64{2, 3, 1}},
		{vk.PRESENT_MODE_IMMEDIATE_KHR, []uint64{2, 3, 1}},
		{vk.PRESENT_MODE_FIFO_LATEST_READY_KHR, []uint64{2, 3, 1}},
	} {
		c := New(3)
		var frames [3]*Frame
		var shown []uint64
		for i := range frames {
			f := queue(t, c, acquire(t, c), test.mode, uint64(10+i))
			f.Shown = func() { shown = append(shown, f.Number) }
			frames[i] = f
		}
		for _, i := range []int{1, 2, 0} {
			frames[i].Ready()
		}
		if !slices.Equal(shown, test.want) {
			t.Errorf("%v: shown %v, want %v", test.mode, shown, test.want)
		}
		if err := c.WaitShown(12, 0, running()); err != nil {
			t.Errorf("%v: the last ID: %v", test.mode, err)
		}
		if err := c.WaitShown(13, 0, running()); !errors.Is(err, syncobj.ErrTimeout) {
			t.Errorf("%v: an ID that nobody asked for: %v", test.mode, err)
		}
	}
}

// TestDropLetsOthersGo: a frame that is dropped holds up nobody, and its image is free.
func TestDropLetsOthersGo(t *testing.T) {
	c := New(2)
	first := queue(t, c, acquire(t, c), vk.PRESENT_MODE_FIFO_KHR, 1)
	second := queue(t, c, acquire(t, c), vk.PRESENT_MODE_FIFO_KHR, 2)
	second.Ready()
	if s := c.State(1); s != Queued {
		t.Fatalf("the second image is %v before its turn", s)
	}
	first.Drop()
	if a, b := c.State(0), c.State(1); a != Free || b != Free {
		t.Fatalf("the images are %v and %v", a, b)
	}
	if err := c.WaitShown(2, 0, running()); err != nil {
		t.Error(err)
	}
}

// TestWaitsEnd: who waits for an image, or for a frame, ends when there is one, when the chain is retired, and when the
// device stops.
func TestWaitsEnd(t *testing.T) {
	wait := func(c *Chain, stop *syncobj.Payload) chan error {
		done := make(chan error)
		go func() {
			_, err := c.Acquire(math.MaxUint64, stop)
			done <- err
		}()
		time.Sleep(5 * time.Millisecond)
		return done
	}
	c, stop := New(1), running()
	image := acquire(t, c)
	done := wait(c, stop)
	queue(t, c, image, vk.PRESENT_MODE_FIFO_KHR, 0).Ready()
	if err := <-done; err != nil {
		t.Errorf("with a free image: %v", err)
	}
	done = wait(c, stop)
	if !c.Retire() || c.Retire() || !c.Retired() {
		t.Error("a chain is retired once")
	}
	if err := <-done; err != ErrRetired {
		t.Errorf("with a retired chain: %v, want %v", err, ErrRetired)
	}
	if f := queue(t, c, image, vk.PRESENT_MODE_FIFO_KHR, 7); f.Number != 2 || c.LastID() != 7 {
		t.Errorf("frame %d, ID %d of a retired chain, want 2 and 7", f.Number, c.LastID())
	}
	shown := make(chan error)
	go func() { shown <- c.WaitShown(7, math.MaxUint64, stop) }()
	_ = stop.Signal(1)
	if err := <-shown; !errors.Is(err, syncobj.ErrStopped) {
		t.Errorf("a stopped wait for a frame: %v", err)
	}
	if _, err := New(0).Acquire(math.MaxUint64, stop); !errors.Is(err, syncobj.ErrStopped) {
		t.Errorf("a stopped wait for an image: %v", err)
	}
}

var seeds = flag.Int("present.seeds", 300, "how many random schedules")

// model is what a chain must do, written as simply as possible.
type model struct {
	states  []State
	free    []int
	ordered []*Frame
	ready   map[*Frame]bool
	shown   uint64
}

func (m *model) show(f *Frame) {
	m.states[f.Image] = Free
	m.free = append(m.free, f.Image)
	m.shown = max(m.shown, f.ID)
}

func (m *model) settle() {
	for len(m.ordered) > 0 && m.ready[m.ordered[0]] {
		m.show(m.ordered[0])
		m.ordered = m.ordered[1:]
	}
}

// end drops a frame of the chain and of the model, or makes it ready.
func (m *model) end(f *Frame, drop bool) {
	place := slices.Index(m.ordered, f)
	if drop {
		f.Drop()
		if place >= 0 {
			m.ordered = slices.Delete(slices.Clone(m.ordered), place, place+1)
		}
		m.states[f.Image], m.free = Free, append(m.free, f.Image)
	} else {
		f.Ready()
		m.ready[f] = true
		if place < 0 {
			m.show(f)
		}
	}
	m.settle()
}

// TestRandomSchedules compares a chain with the model, step by step.
func TestRandomSchedules(t *testing.T) {
	modes := []vk.PresentModeKHR{vk.PRESENT_MODE_FIFO_KHR, vk.PRESENT_MODE_FIFO_RELAXED_KHR,
		vk.PRESENT_MODE_MAILBOX_KHR, vk.PRESENT_MODE_IMMEDIATE_KHR}
	for seed := range uint64(*seeds) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(5)
		c, m := New(n), &model{states: make([]State, n), ready: map[*Frame]bool{}}
		for i := range n {
			m.free = append(m.free, i)
		}
		var pending []*Frame
		var id uint64
		for step := range 200 {
			switch r.IntN(4) {
			case 0:
				got, err := c.Acquire(0, running())
				if len(m.free) == 0 {
					if err != ErrNotReady {
						t.Fatalf("seed %d, step %d: acquired %d (%v), none is free", seed, step, got, err)
					}
					break
				}
				if err != nil || got != m.free[0] {
					t.Fatalf("seed %d, step %d: acquired %d (%v), want %d", seed, step, got, err, m.free[0])
				}
				m.free, m.states[got] = m.free[1:], Acquired
			case 1:
				image, mode := r.IntN(n), modes[r.IntN(len(modes))]
				id += uint64(r.IntN(2))
				f, err := c.Queue(image, mode, id)
				if (err == nil) != (m.states[image] == Acquired) {
					t.Fatalf("seed %d, step %d: presentation of an image that is %v: %v", seed, step, m.states[image], err)
				}
				if err == nil {
					m.states[image] = Queued
					pending = append(pending, f)
					if mode == vk.PRESENT_MODE_FIFO_KHR || mode == vk.PRESENT_MODE_FIFO_RELAXED_KHR {
						m.ordered = append(m.ordered, f)
					}
				}
			case 2:
				image := r.IntN(n)
				err := c.Release(image)
				if (err == nil) != (m.states[image] == Acquired) {
					t.Fatalf("seed %d, step %d: release of an image that is %v: %v", seed, step, m.states[image], err)
				}
				if err == nil {
					m.states[image], m.free = Free, append(m.free, image)
				}
			default:
				if len(pending) > 0 {
					at := r.IntN(len(pending))
					f := pending[at]
					pending = slices.Delete(pending, at, at+1)
					m.end(f, r.IntN(4) == 0)
				}
			}
			for i := range n {
				if s := c.State(i); s != m.states[i] {
					t.Fatalf("seed %d, step %d: image %d is %v, want %v", seed, step, i, s, m.states[i])
				}
			}
			if got := c.shown.Value(); got != m.shown {
				t.Fatalf("seed %d, step %d: ID %d is shown, want %d", seed, step, got, m.shown)
			}
		}
	}
}

// TestManyThreads acquires in several threads and makes frames ready in others. No image is with two of them, and none
// is lost.
func TestManyThreads(t *testing.T) {
	const images, threads, rounds = 4, 3, 500
	c, stop := New(images), running()
	var holders [images]atomic.Int32
	frames := make(chan *Frame, images)
	var presenters, acquirers sync.WaitGroup
	for range 2 {
		presenters.Go(func() {
			for f := range frames {
				f.Ready()
			}
		})
	}
	for thread := range threads {
		acquirers.Go(func() {
			for round := range rounds {
				i, err := c.Acquire(math.MaxUint64, stop)
				if err != nil {
					t.Error(err)
					return
				}
				if holders[i].Add(1) != 1 {
					t.Errorf("image %d is with two threads", i)
				}
				holders[i].Add(-1)
				if (round+thread)%5 == 0 {
					err = c.Release(i)
				} else {
					var f *Frame
					if f, err = c.Queue(i, vk.PresentModeKHR(round%4), 0); err == nil {
						frames <- f
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	acquirers.Wait()
	close(frames)
	presenters.Wait()
	for i := range images {
		if s := c.State(i); s != Free {
			t.Errorf("image %d is %v at the end", i, s)
		}
	}
}

func BenchmarkAcquireAndPresent(b *testing.B) {
	c, stop := New(3), running()
	b.ReportAllocs()
	for b.Loop() {
		i, err := c.Acquire(math.MaxUint64, stop)
		if err != nil {
			b.Fatal(err)
		}
		f, err := c.Queue(i, vk.PRESENT_MODE_FIFO_KHR, 0)
		if err != nil {
			b.Fatal(err)
		}
		f.Ready()
	}
}
