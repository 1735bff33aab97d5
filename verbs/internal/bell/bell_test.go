package bell

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd/fdtest"
)

func open(t *testing.T) *Bell {
	t.Helper()
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func (b *Bell) readable(t *testing.T) bool {
	t.Helper()
	p := []unix.PollFd{{Fd: int32(b.FD()), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// TestCount has a bell be readable while there are events that nobody has taken.
func TestCount(t *testing.T) {
	fdtest.NoLeaks(t)
	b := open(t)
	b.Silence()
	for range 3 {
		b.Ring()
	}
	b.Silence()
	for range 2 {
		if !b.readable(t) {
			t.Fatal("an event doesn't show")
		}
		if err := b.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if b.readable(t) {
		t.Error("readable without an event")
	}
	if err := unix.SetNonblock(b.FD(), true); err != nil {
		t.Fatal(err)
	}
	if err := b.Wait(); err != unix.EAGAIN {
		t.Errorf("without an event: %v", err)
	}
	if err := b.Close(); err != nil || b.Wait() != unix.EBADF {
		t.Errorf("closed: %v", err)
	}
}

// TestTake takes an event without waiting for it, and one that the caller has taken.
func TestTake(t *testing.T) {
	fdtest.NoLeaks(t)
	b := open(t)
	for _, c := range []struct {
		mode, then Mode
		rings      int
		nonblock   bool
		want       error
	}{
		{Tries, Tries, 0, false, ErrEmpty},
		{Tries, Tries, 1, false, nil},
		{Has, Tries, 0, false, nil},
		{Waits, Waits, 1, false, nil},
		{Tries, Tries, 0, true, unix.EAGAIN},
		{Tries, Tries, 1, true, nil},
		{Has, Tries, 0, true, nil},
		{Waits, Waits, 0, true, unix.EAGAIN},
	} {
		if err := unix.SetNonblock(b.FD(), c.nonblock); err != nil {
			t.Fatal(err)
		}
		for range c.rings {
			b.Ring()
		}
		m := c.mode
		if err := b.Take(&m); err != c.want || m != c.then || b.readable(t) {
			t.Errorf("%+v: %v, mode %d", c, err, m)
		}
	}
	m := Tries
	if err := b.Close(); err != nil || b.Take(&m) != unix.EBADF {
		t.Errorf("closed: %v", err)
	}
}

// TestSilenceNeverWaits takes events back while another thread waits for them.
func TestSilenceNeverWaits(t *testing.T) {
	b := open(t)
	if _, err := unix.Preadv2(b.FD(), [][]byte{make([]byte, 8)}, -1, unix.RWF_NOWAIT); err != unix.EAGAIN {
		t.Skipf("no kernel that reads an eventfd without waiting (Linux 5.8): %v", err)
	}
	end := time.AfterFunc(time.Minute, func() { panic("Silence waits") })
	defer end.Stop()
	for range 2000 {
		done := make(chan error)
		go func() { done <- b.Wait() }()
		b.Ring()
		b.Silence()
		// Either of the two has the event. If it is gone, another one ends the wait.
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			continue
		default:
		}
		b.Ring()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		b.Silence() // the second, if the first had ended the wait
	}
	if b.readable(t) {
		t.Error("an event is left")
	}
}
