package rdmasim

import (
	"context"
	"errors"
	"testing"
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
		if err := errors.Join(err, err2, p.Read(a, b), p.Read(a, b[:8]), p.Read(a+1, b[:8]), p.Write(a, b[:4]),
			p.Write(a+8, b[:8]), p.Read(other.Address(), b)); err != nil {
			t.Fatal(err)
		}
		wantErr(t, p.Write(other.Address(), b), ErrAccess)
		wantErr(t, p.Read(a+8192-50, b), ErrOutOfRange)
		if i == 0 {
			p.Close()
		}
	}
	if c, want := r.Counters(), (Counters{Reads: peers * 3, Writes: peers * 2, Atomics: peers * 2,
		BytesRead: peers * 116, BytesWritten: peers * 12}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	if c, want := other.Counters(), (Counters{Reads: peers, BytesRead: peers * 100}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}
