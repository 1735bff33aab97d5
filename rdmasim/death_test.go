package rdmasim

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"
)

// An operation that begins when the owner has died fails, also before the connection's end has been read, and
// also if a child of the owner keeps the connection open.
func TestDeathSeenAtOnce(t *testing.T) {
	var buf [64]byte
	for range 20 {
		owner := start(t, "owner", nil)
		p := newPeer(t)
		a := owner.number("register 4096 7")
		rr, err := p.Resolve(context.Background(), a)
		if err != nil {
			t.Fatal(err)
		}
		owner.kill()
		_, err = rr.ReadAt(buf[:8], 0)
		wantErr(t, err, ErrOwnerDied)
		wantErr(t, p.Write(a, buf[:]), ErrOwnerDied)
		_, err = p.FetchAdd64(a, 1)
		wantErr(t, err, ErrOwnerDied)
	}
	owner := start(t, "owner", nil)
	p := newPeer(t)
	a, b := owner.number("register 4096 7"), owner.number("register 4096 7")
	if err := p.Read(a, buf[:]); err != nil {
		t.Fatal(err)
	}
	owner.say("leak")
	owner.kill()
	for range 3 {
		wantErr(t, p.Read(a, buf[:]), ErrOwnerDied)
		wantErr(t, p.Read(b, buf[:]), ErrOwnerDied)
	}
}

// An orderly end is no death.
func TestKeeperEnds(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	rr, err := p.Resolve(context.Background(), r.Address())
	if err != nil {
		t.Fatal(err)
	}
	if rr.view.served&tidMask == 0 {
		t.Error("the kernel has no robust futexes; owners' deaths are seen late")
	}
	o.Close()
	_, err = rr.ReadAt(make([]byte, 8), 0)
	wantErr(t, err, ErrFreed)
	if w := rr.view.serving.Load(); w != ownerClosed {
		t.Errorf("the owner's word is %#x", w)
	}
}

// A free waits for who is inside of the region, and a close of the peer doesn't hide him.
func TestFreeWaits(t *testing.T) {
	for _, closePeer := range []bool{false, true} {
		o, p := newOwner(t), newPeer(t)
		o.patience = time.Minute
		r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
		rr, err := p.Resolve(context.Background(), r.Address())
		if err != nil {
			t.Fatal(err)
		}
		if !rr.view.enter(classWrite) {
			t.Fatal("can't enter")
		}
		if closePeer {
			p.Close()
		}
		var left sync.WaitGroup
		begin := time.Now()
		left.Go(func() {
			time.Sleep(50 * time.Millisecond)
			if rr.view.unmapped.Load() {
				t.Error("unmapped under an operation")
			}
			rr.view.leave(classWrite)
		})
		r.Close()
		if d := time.Since(begin); d < 40*time.Millisecond {
			t.Errorf("the free took %v", d)
		}
		left.Wait()
		if _, err := rr.ReadAt(make([]byte, 8), 0); !errors.Is(err, ErrFreed) && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if c := r.Counters(); c != (Counters{Writes: 1}) {
			t.Errorf("counters %+v", c)
		}
	}
}

// A peer that is killed inside of a region doesn't hold up its free, one that is stopped does for a while.
func TestFreeWaitsNotForTheDead(t *testing.T) {
	o := newOwner(t)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
		peer := start(t, "peer", nil)
		if s := peer.say("enter %d", r.Address()); s != "ok" {
			t.Fatal(s)
		}
		peer.cmd.Process.Signal(signal)
		begin := time.Now()
		r.Close()
		switch d := time.Since(begin); {
		case signal == syscall.SIGSTOP && d < drainTimeout:
			t.Errorf("gave up after %v", d)
		case d > 20*drainTimeout:
			t.Errorf("%v took %v", signal, d)
		}
	}
}

// What peers do is counted, with those that have gone.
func TestCounters(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 8192), 0, 8192, AccessAll)
	other := register(t, o, payload(t, 4096), 0, 4096, AccessRead)
	const peers = 3
	for i := range peers {
		p := newPeer(t)
		b := make([]byte, 100)
		a := r.Address()
		_, err := p.FetchAdd32(a, 1)
		_, err2 := p.CompareSwap64(a, 0, 1)
		if err := errors.Join(err, err2, p.Read(a, b), p.Read(a, b[:8]), p.Read(a+1, b[:8]), p.Write(a, b[:4]), p.Write(a+8, b[:8]), p.Read(other.Address(), b)); err != nil {
			t.Fatal(err)
		}
		wantErr(t, p.Write(other.Address(), b), ErrAccess)
		wantErr(t, p.Read(a+8192-50, b), ErrOutOfRange)
		if i == 0 {
			p.Close()
		}
	}
	if c, want := r.Counters(), (Counters{peers * 3, peers * 2, peers * 2, peers * 116, peers * 12}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	if c, want := other.Counters(), (Counters{Reads: peers, BytesRead: peers * 100}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}

// More regions than a ledger has entries: the peer goes on with another one.
func TestLedgerFull(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	keep := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	fd := payload(t, 4096)
	buf := make([]byte, 16)
	if err := p.Read(keep.Address(), buf); err != nil {
		t.Fatal(err)
	}
	for range ledgerEntries + 10 {
		r := register(t, o, fd, 0, 4096, AccessAll)
		if err := p.Read(r.Address(), buf); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	if err := p.Read(keep.Address(), buf); err != nil {
		t.Fatal(err)
	}
	if n := joined(o); n != 2 {
		t.Errorf("%d connections", n)
	}
	keep.Close()
	eventually(t, "the first connection ends with its last region", func() bool { return joined(o) == 1 })
}
