package order

import "testing"

// scene is a test with two queues and one memory.
type scene struct {
	*Tracker
	a, b    *Line
	command uint64
}

func newScene() *scene {
	t := NewTracker(0)
	return &scene{Tracker: t, a: t.NewLine(0), b: t.NewLine(0)}
}

// writes and reads are commands on the bytes [0, 8); they say whether there was a conflict.
func (s *scene) writes(l *Line) bool { return s.does(l, 0, 8, true) }
func (s *scene) reads(l *Line) bool  { return s.does(l, 0, 8, false) }

func (s *scene) does(l *Line, begin, end uint64, writes bool) bool {
	s.command++
	return s.Do(l, Memory{ID: 1}, Access{Begin: begin, End: end, Writes: writes, Command: s.command}) != nil
}

// submit begins a submission on a line with all that the host knows.
func (s *scene) submit(l *Line) { s.Begin(l, s.Host()) }

// TestRules goes through what orders and what does not.
func TestRules(t *testing.T) {
	semaphore, second := Key{ID: 100}, Key{ID: 101}
	fence, event, unknown := Key{ID: 200}, Key{ID: 300}, Key{ID: 12345}
	for name, c := range map[string]struct {
		run      func(s *scene) bool // the last access' conflict
		conflict bool
	}{
		"two commands":             {func(s *scene) bool { s.writes(s.a); return s.reads(s.a) }, true},
		"two reads":                {func(s *scene) bool { s.reads(s.a); return s.reads(s.b) }, false},
		"write after read":         {func(s *scene) bool { s.reads(s.a); return s.writes(s.a) }, true},
		"barrier":                  {func(s *scene) bool { s.writes(s.a); s.Barrier(s.a); return s.writes(s.a) }, false},
		"barrier of another queue": {func(s *scene) bool { s.writes(s.a); s.Barrier(s.b); return s.writes(s.b) }, true},
		"two submissions": {func(s *scene) bool {
			s.submit(s.a)
			s.writes(s.a)
			s.submit(s.a)
			return s.reads(s.a)
		}, true},
		"semaphore": {func(s *scene) bool {
			s.writes(s.a)
			s.Signal(s.a, semaphore, 0)
			s.Wait(s.b, semaphore, 0)
			return s.writes(s.b)
		}, false},
		"after the signal": {func(s *scene) bool {
			s.Signal(s.a, semaphore, 0)
			s.writes(s.a)
			s.Wait(s.b, semaphore, 0)
			return s.writes(s.b)
		}, true},
		"a signal orders nothing in its own queue": {func(s *scene) bool {
			s.writes(s.a)
			s.Signal(s.a, semaphore, 0)
			return s.writes(s.a)
		}, true},
		"timeline": {func(s *scene) bool {
			s.writes(s.a)
			s.Signal(s.a, semaphore, 5)
			s.Wait(s.b, semaphore, 5)
			return s.writes(s.b)
		}, false},
		"timeline, an earlier value": {func(s *scene) bool {
			s.Signal(s.a, semaphore, 5)
			s.writes(s.a)
			s.Signal(s.a, semaphore, 6)
			s.Wait(s.b, semaphore, 5)
			return s.reads(s.b)
		}, true},
		"timeline, a later value": {func(s *scene) bool {
			s.writes(s.a)
			s.Signal(s.a, semaphore, 5)
			s.Signal(s.b, semaphore, 9)
			s.Wait(s.b, semaphore, 7)
			return s.reads(s.b)
		}, false},
		"fence and submission": {func(s *scene) bool {
			s.writes(s.a)
			s.Signal(s.a, fence, 0)
			s.HostWait(fence, 0)
			s.submit(s.b)
			return s.writes(s.b)
		}, false},
		"submission before the fence": {func(s *scene) bool {
			s.writes(s.a)
			s.Signal(s.a, fence, 0)
			s.submit(s.b)
			s.HostWait(fence, 0)
			return s.writes(s.b)
		}, true},
		"idle": {func(s *scene) bool { s.writes(s.a); s.Idle(s.a); s.submit(s.b); return s.writes(s.b) }, false},
		"event of the host": {func(s *scene) bool {
			s.writes(s.a)
			s.Idle(s.a)
			s.HostSignal(event, 0)
			s.Wait(s.b, event, 0)
			return s.writes(s.b)
		}, false},
		"by way of a third": {func(s *scene) bool {
			c := s.NewLine(0)
			s.writes(s.a)
			s.Signal(s.a, semaphore, 0)
			s.Wait(c, semaphore, 0)
			s.Signal(c, second, 0)
			s.Wait(s.b, second, 0)
			return s.writes(s.b)
		}, false},
		"something unknown orders everything": {func(s *scene) bool {
			s.writes(s.a)
			s.Wait(s.b, unknown, 0)
			return s.writes(s.b)
		}, false},
		"but nothing that comes after it": {func(s *scene) bool {
			s.Wait(s.b, unknown, 0)
			s.writes(s.a)
			return s.writes(s.b)
		}, true},
		"other bytes":    {func(s *scene) bool { s.does(s.a, 0, 8, true); return s.does(s.b, 8, 16, true) }, false},
		"one byte":       {func(s *scene) bool { s.does(s.a, 0, 8, true); return s.does(s.b, 7, 16, true) }, true},
		"behind a write": {func(s *scene) bool { s.writes(s.a); s.Barrier(s.a); s.writes(s.a); return s.reads(s.b) }, true},
		"forgotten": {func(s *scene) bool {
			s.writes(s.a)
			s.Forget(1)
			return s.writes(s.b)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.run(newScene()); got != c.conflict {
				t.Errorf("conflict: %v, want %v", got, c.conflict)
			}
		})
	}
}

// TestKinds: atomics need no order among themselves, nor do the markers of one queue.
func TestKinds(t *testing.T) {
	s := newScene()
	conflicts := func(l *Line, k Kind) bool {
		s.command++
		return s.Do(l, Memory{ID: 1}, Access{End: 4, Writes: true, Kind: k, Command: s.command}) != nil
	}
	for _, step := range []struct {
		name     string
		line     *Line
		kind     Kind
		conflict bool
	}{
		{"an atomic", s.a, Atomic, false}, {"another one", s.a, Atomic, false}, {"one of another queue", s.b, Atomic, false},
		{"a marker", s.a, Marker, true},
	} {
		if got := conflicts(step.line, step.kind); got != step.conflict {
			t.Errorf("%s: conflict: %v, want %v", step.name, got, step.conflict)
		}
	}
	s = newScene()
	for range 2 {
		if conflicts(s.a, Marker) {
			t.Error("markers of one queue conflict")
		}
	}
	if !conflicts(s.b, Marker) {
		t.Error("markers of two queues don't conflict")
	}
}

// TestWritten: what is forgotten, or was never known, may have been written.
func TestWritten(t *testing.T) {
	s := newScene()
	since := s.Number()
	if s.Written(1, 0, 1<<20, since) {
		t.Error("nobody has written")
	}
	s.does(s.a, 100, 104, true)
	if !s.Written(1, 103, 110, since) || s.Written(1, 104, 110, since) || s.Written(1, 100, 104, s.Number()) {
		t.Error("only [100, 104) was written, after the first number")
	}
	for i := range uint64(mostRecords) {
		s.does(s.a, 1000+i, 1001+i, true)
	}
	if !s.Written(1, 104, 110, since) || s.Written(1, 104, 110, s.Number()) {
		t.Error("an access was forgotten, so that the first number tells nothing")
	}
	s.Blur(2)
	if !s.Written(2, 0, 1, s.Number()) {
		t.Error("nobody knows who wrote there")
	}
	s.Forget(2)
	if s.Written(2, 0, 1, s.Number()) {
		t.Error("other memory has the number now")
	}
}

// TestHost: the host may use bytes once it knows that the last write to them has ended, whether the write has been seen
// yet or not.
func TestHost(t *testing.T) {
	fence := Key{ID: 7}
	for name, c := range map[string]struct {
		waits, late, conflict bool
	}{
		"waits":                   {waits: true},
		"does not wait":           {conflict: true},
		"before the queue begins": {late: true, conflict: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			known := s.Host()
			found := false
			queue := func() {
				s.Begin(s.a, known)
				found = s.writes(s.a) || found
				s.Signal(s.a, fence, 0)
			}
			host := func() {
				if c.waits {
					s.HostWait(fence, 0)
				}
				s.command++
				found = s.HostDo(Memory{ID: 1}, Access{Begin: 4, End: 5, Command: s.command}) != nil || found
			}
			if c.late {
				host()
				queue()
			} else {
				queue()
				host()
			}
			if found != c.conflict {
				t.Errorf("conflict: %v, want %v", found, c.conflict)
			}
		})
	}
}

// TestReadAgain: a read that comes after one of the same bytes by the same queue stands for both, for whoever comes
// later, and no other one does.
func TestReadAgain(t *testing.T) {
	s := newScene()
	for range 3 * mostRecords {
		s.reads(s.a)
		s.Barrier(s.a)
	}
	if n := s.memories[1].count(); n != 1 {
		t.Errorf("%d records of a read that was done again and again", n)
	}
	if !s.writes(s.b) {
		t.Error("no conflict with a write by another queue")
	}

	semaphore := Key{ID: 1}
	for name, c := range map[string]struct {
		first, second Access
		kept          int
	}{
		"the same bytes":          {Access{End: 8}, Access{End: 8}, 1},
		"more":                    {Access{Begin: 1, End: 7}, Access{End: 8}, 1},
		"less":                    {Access{End: 8}, Access{Begin: 1, End: 7}, 2},
		"in place of a maybe":     {Access{End: 8, May: true}, Access{End: 8}, 1},
		"a maybe":                 {Access{End: 8}, Access{End: 8, May: true}, 2},
		"with atomics":            {Access{End: 8}, Access{End: 8, Kind: Atomic}, 2},
		"after a write":           {Access{End: 8, Writes: true}, Access{End: 8}, 2},
		"after what may be a one": {Access{End: 8, Writes: true, May: true}, Access{End: 8}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			c.first.Command, c.second.Command = 1, 2
			s.Do(s.a, Memory{ID: 1}, c.first)
			s.Signal(s.a, semaphore, 0)
			s.Barrier(s.a)
			s.Do(s.a, Memory{ID: 1}, c.second)
			if n := s.memories[1].count(); n != c.kept {
				t.Errorf("%d records, want %d", n, c.kept)
			}
			// Who comes after the first alone comes before or after the second.
			s.Wait(s.b, semaphore, 0)
			if !s.writes(s.b) {
				t.Error("no conflict with the second")
			}
		})
	}

	s = newScene()
	s.reads(s.a)
	s.reads(s.a) // the third command uses other bytes
	if n := s.memories[1].count(); n != 2 {
		t.Errorf("%d records of two reads that nothing orders", n)
	}
}

// TestHistory: places are used again, the oldest record is forgotten first, and nonsense does no harm.
func TestHistory(t *testing.T) {
	var h history
	for i := range uint64(10 * mostRecords) {
		h.add(&record{Access: Access{Begin: i, End: i + 1}, number: i + 1})
		if i%3 > 0 {
			for at, r := range h.all() {
				if r.Begin == i {
					h.drop(at)
				}
			}
		}
		if len(h.places) > 2*mostRecords+1 {
			t.Fatalf("%d places", len(h.places))
		}
		if i > 1000 && i%1000 != 0 {
			continue
		}
		n, last := 0, uint64(0)
		for _, r := range h.all() {
			if n++; r.number <= last || (r.number-1)%3 > 0 {
				t.Fatalf("record %d after %d", r.number, last)
			}
			last = r.number
		}
		if n != h.count() || n > mostRecords {
			t.Fatalf("%d records, and it says %d", n, h.count())
		}
	}
	if forgotten := h.add(&record{Access: Access{End: 1}, number: 1 << 60}); (forgotten-1)%3 != 0 {
		t.Errorf("forgot %d", forgotten)
	}
	n := h.count()
	h.add(&record{Access: Access{Begin: emptyPlace.begin, End: emptyPlace.end}})
	if h.count() != n {
		t.Error("it remembers an access behind the end of all memory")
	}
}

// TestBounds: what is remembered does not grow, and one command does not conflict with itself.
func TestBounds(t *testing.T) {
	s := newScene()
	for i := range uint64(3 * mostRecords) {
		s.does(s.a, i, i+1, true)
	}
	if n := s.memories[1].count(); n > mostRecords {
		t.Errorf("%d records", n)
	}
	for i := range uint64(1000) {
		s.Signal(s.a, Key{ID: 1}, i+1)
	}
	if n := len(s.points[Key{ID: 1}]); n > mostPoints {
		t.Errorf("%d points", n)
	}
	for range 1000 {
		s.Barrier(s.b)
		s.Begin(s.b, s.Host())
		s.HostWait(Key{ID: 2}, 0)
		s.writes(s.b)
	}
	if s.Do(s.b, Memory{ID: 9}, Access{End: 8, Writes: true, Command: 1}) != nil ||
		s.Do(s.b, Memory{ID: 9}, Access{End: 8, Command: 1}) != nil {
		t.Error("a command conflicts with itself")
	}
}
