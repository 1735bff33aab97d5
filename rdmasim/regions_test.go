package rdmasim

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The list has every region of every owner, with what has been done to it, without those that are gone, and
// without an owner that hangs.
func TestRegions(t *testing.T) {
	ctx := context.Background()
	o, p := newOwner(t), newPeer(t)
	fd := payload(t, 4096)
	const many = 1000
	var regions []*Region
	mine := map[uint64]*Region{}
	for range many {
		r, err := o.Register(fd, 0, 64, Attributes{Access: AccessAll, Name: "one of many"})
		if err != nil {
			t.Fatal(err)
		}
		mine[r.Address()] = r
		regions = append(regions, r)
	}
	other := start(t, "owner", nil)
	foreign := other.number("register 4096 1")
	hung := start(t, "owner", nil)
	stopped := hung.number("register 4096 1")
	hung.cmd.Process.Signal(syscall.SIGSTOP)
	defer hung.cmd.Process.Signal(syscall.SIGCONT)
	var ws unix.WaitStatus
	if _, err := unix.Wait4(hung.cmd.Process.Pid, &ws, unix.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("not stopped: %v, %v", ws, err)
	}
	regions[7].Close()
	delete(mine, regions[7].Address())
	buf := make([]byte, 16)
	if err := p.Read(regions[8].Address(), buf); err != nil {
		t.Fatal(err)
	}
	if err := p.Read(foreign, buf[:8]); err != nil {
		t.Fatal(err)
	}
	list, err := p.Regions(ctx)
	wantErr(t, err, ErrTimeout) // of the owner that hangs
	if !slices.IsSortedFunc(list, func(a, b RegionStatus) int {
		if a.Address < b.Address {
			return -1
		}
		return 1
	}) {
		t.Error("not sorted")
	}
	found := 0
	for _, s := range list {
		switch r := mine[s.Address]; {
		case r != nil:
			found++
			want := RegionStatus{RegionInfo: RegionInfo{Address: r.Address(), Length: 64, Key: r.Key(), Access: AccessAll,
				PID: os.Getpid(), UID: uint32(os.Geteuid()), Name: "one of many"}}
			if r == regions[8] {
				want.Counters, want.Peers = Counters{Reads: 1, BytesRead: 16}, 1
			}
			if s != want {
				t.Errorf("%+v, want %+v", s, want)
			}
		case s.Address == foreign:
			found++
			if s.PID != other.cmd.Process.Pid || s.Access != AccessRead || s.Counters != (Counters{Reads: 1, BytesRead: 8}) {
				t.Errorf("%+v", s)
			}
		case s.Address == stopped:
			t.Error("an owner that doesn't run has answered")
		case s.Address == regions[7].Address():
			t.Error("a region that was freed is in the list")
		}
	}
	if found != many {
		t.Errorf("%d regions of %d", found, many)
	}
	_, err = p.Regions(isDone)
	wantErr(t, err, context.Canceled)
	p.Close()
	_, err = p.Regions(ctx)
	wantErr(t, err, ErrClosed)
}

// Many peers, in many processes and in this one, share one region, and all of their additions arrive.
func TestSixtyFourPeers(t *testing.T) {
	const processes, peers, times = 8, 56, 500
	owner := start(t, "owner", nil)
	a := owner.number("register 4096 7")
	if err := newPeer(t).Write(a, make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range processes {
		c := start(t, "peer", nil)
		wg.Go(func() {
			if s := c.say("add %d %d", a+8, times); s != "ok" {
				t.Error(s)
			}
		})
	}
	for range peers {
		p := newPeer(t)
		wg.Go(func() {
			for range times {
				if _, err := p.FetchAdd64(a+8, 1); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := owner.number("word %d 8", a); n != (processes+peers)*times {
		t.Errorf("sum is %d", n)
	}
	list, err := newPeer(t).Regions(context.Background())
	if err != nil && !errors.Is(err, ErrTimeout) { // an owner of another test may hang
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(s RegionStatus) bool { return s.Address == a })
	if i < 0 || list[i].Peers != processes+peers+1 || list[i].Counters.Atomics != (processes+peers)*times {
		t.Errorf("%d: %+v", i, list)
	}
	// All of them learn of the free.
	owner.say("free %d", a)
}
