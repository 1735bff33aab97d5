package exec

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"farside/internal/command"
	"farside/internal/syncobj"
)

// presented notes what becomes of a presentation.
type presented struct {
	name string
	mu   *sync.Mutex
	log  *[]string
}

func (p presented) note(what string) {
	p.mu.Lock()
	*p.log = append(*p.log, what+" "+p.name)
	p.mu.Unlock()
}

func (p presented) Ready(*Queue) { p.note("ready") }
func (p presented) Drop()        { p.note("drop") }

// TestPresent: a presentation comes behind what the queue has before it and behind its waits, and in front of its
// signals. One that is cancelled, or whose device stops first, is dropped.
func TestPresent(t *testing.T) {
	w := newWorld(t)
	w.Fault = func(_ *Queue, point string) error {
		if point == "submit" {
			return errors.New("a presentation is no submission")
		}
		return nil
	}
	q := w.queue(t)
	var mu sync.Mutex
	var log []string
	of := func(name string) Presentation { return presented{name, &mu, &log} }
	seen := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(log)
	}
	semaphore, fence := syncobj.New(syncobj.Binary, 0), syncobj.New(syncobj.Fence, 0)
	s := NewSubmission()
	s.Wait(semaphore.Retain(), 0)
	s.Present(of("a"))
	s.Present(of("b"))
	s.Signal(fence.Retain(), 1)
	q.Submit(s)
	if got := seen(); len(got) != 0 || fence.Value() != 0 {
		t.Fatalf("%v before the semaphore, the fence is %d", got, fence.Value())
	}
	must(t, semaphore.Signal(1))
	wait(t, fence, 1)
	if got := seen(); !slices.Equal(got, []string{"ready a", "ready b"}) {
		t.Fatalf("%v", got)
	}
	s = NewSubmission()
	s.Present(of("c"))
	s.Cancel()
	s = NewSubmission()
	s.Wait(semaphore.Retain(), 0)
	s.Present(of("d"))
	q.Submit(s)
	must(t, w.Stop.Signal(1))
	wait(t, q.progress, q.submitted.Load())
	if got := seen(); !slices.Equal(got[2:], []string{"drop c", "drop d"}) {
		t.Errorf("%v", got)
	}
	if err := q.WaitIdle(); !errors.Is(err, syncobj.ErrStopped) {
		t.Error(err)
	}
}

// TestPresentSettles: commands that were put off are executed before a presentation.
func TestPresentSettles(t *testing.T) {
	w := newWorld(t)
	w.Delay = func() {}
	w.Shuffle = func(n int) int { return n - 1 }
	b := w.buffer(t, 1, 64)
	q := w.queue(t)
	s := NewSubmission()
	s.Execute(w.record(t, func(s *command.Stream) { must(t, s.FillBuffer(1, 0, 64, 0x05050505)) }))
	var was byte
	s.Present(look{func() { was = b[0] }})
	q.Submit(s)
	must(t, q.WaitIdle())
	if was != 5 {
		t.Errorf("the presentation sees %d, want 5", was)
	}
}

type look struct{ at func() }

func (l look) Ready(*Queue) { l.at() }
func (l look) Drop()        {}
