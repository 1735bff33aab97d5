package shm

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// session opens the session of one host with another.
func session(t *testing.T, from, to *Host) *Session {
	t.Helper()
	qpn, err := to.QPN()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		p, err := from.Path(home, home, qpn) // a new one where the last was turned away
		if err != nil {
			t.Fatal(err)
		}
		if p.ready.Load() {
			return p.Session
		}
	}
	t.Fatal("no session")
	return nil
}

// TestTables has another process see what is published, and nothing else.
func TestTables(t *testing.T) {
	a, b := open(t, newInbox()), open(t, newInbox())
	s := session(t, b, a)
	r := Region{Key: 7, Domain: 3, Access: 5, Address: 1 << 50, IOVA: 1 << 40, Length: 4096}
	if _, _, ok := s.Region(9); ok {
		t.Error("a region from nowhere")
	}
	a.Publish(9, r)
	got, v, ok := s.Region(9)
	if !ok || got != r || !v.Same() {
		t.Errorf("%+v %v", got, ok)
	}
	a.Withdraw(9)
	if _, _, ok := s.Region(9); ok || v.Same() {
		t.Error("a region that was withdrawn")
	}
	r.Key++
	a.Publish(9, r)
	if got, _, ok := s.Region(9); !ok || got != r || v.Same() {
		t.Errorf("%+v %v", got, ok)
	}
	if _, _, ok := s.Region(Regions); ok {
		t.Error("a region beyond the table")
	}
	qpn, _ := a.QPN()
	q := QueuePair{Ready: true, Domain: 4, Access: 15, Remote: 1<<24 - 1, Process: 77}
	a.PublishQueuePair(qpn, q)
	if got, _, ok := s.QueuePair(qpn); !ok || got != q {
		t.Errorf("%+v %v", got, ok)
	}
	if _, _, ok := s.QueuePair(qpn ^ 1<<23); ok {
		t.Error("a queue pair of another process")
	}
	a.PublishQueuePair(qpn, QueuePair{})
	if _, _, ok := s.QueuePair(qpn); ok {
		t.Error("a queue pair that is not ready")
	}
}

// TestWithdrawWaits has no operation be under way after Withdraw that has seen the region, while others never rest.
func TestWithdrawWaits(t *testing.T) {
	a, b := open(t, newInbox()), open(t, newInbox())
	a.patience = time.Minute // a user may get no processor for as long as it usually is
	s := session(t, b, a)
	var live [8]atomic.Bool // memory of the regions
	done := make(chan struct{})
	var users sync.WaitGroup
	var used, bad atomic.Int64
	for range 3 {
		users.Go(func() {
			for i := uint32(0); ; i++ {
				select {
				case <-done:
					return
				default:
				}
				token := s.Enter()
				if _, _, ok := s.Region(i % 8); ok {
					used.Add(1)
					if !live[i%8].Load() {
						bad.Add(1)
					}
				}
				s.Leave(token)
			}
		})
	}
	for i, end := 0, time.Now().Add(time.Second); time.Now().Before(end); i++ {
		at := uint32(i % 8)
		live[at].Store(true)
		a.Publish(at, Region{Key: 1, Length: 1})
		if i%3 == 0 {
			time.Sleep(10 * time.Microsecond)
		}
		a.Withdraw(at)
		live[at].Store(false)
	}
	close(done)
	users.Wait()
	if bad.Load() != 0 || used.Load() == 0 {
		t.Errorf("%d of %d uses were of memory that was gone", bad.Load(), used.Load())
	}
}

// TestStopped has a process that is stopped inside of an operation keep Withdraw for a second, not for ever.
func TestStopped(t *testing.T) {
	a, b := open(t, newInbox()), open(t, newInbox())
	s := session(t, b, a)
	a.Publish(1, Region{Key: 1})
	s.Enter()
	start := time.Now()
	a.Withdraw(1)
	if took := time.Since(start); took < patience || took > 10*patience {
		t.Errorf("it took %v", took)
	}
}

// TestListed has each of two processes wait for the other one's direct operations from the first one on.
func TestListed(t *testing.T) {
	for range 200 {
		a, b := open(t, newInbox()), open(t, newInbox())
		if session(t, b, a); len(a.current()) == 0 || len(b.current()) == 0 {
			t.Fatalf("a session is usable, and %d and %d are on the lists", len(a.current()), len(b.current()))
		}
		a.Close()
		b.Close()
	}
}
