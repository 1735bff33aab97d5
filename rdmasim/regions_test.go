package rdmasim

import (
	"context"
	"os"
	"slices"
	"strings"
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
	if err != nil {
		t.Fatal(err)
	}
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

func TestOwnerIDs(t *testing.T) {
	table := `Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0005 01 11 @farside-rdma-0f00d
0000000000000000: 00000003 00000000 00000000 0005 03 12 @farside-rdma-0f00d
0000000000000000: 00000002 00000000 00010000 0005 01 13 @farside-rdma-F00D0
0000000000000000: 00000002 00000000 00010000 0005 01 14 @farside-rdma-123456
0000000000000000: 00000002 00000000 00010000 0005 01 15 @farside-rdma-1
0000000000000000: 00000002 00000000 00010000 0001 01 16 /run/farside-rdma-00001
0000000000000000: 00000002 00000000 00010000 0001 01 17
0000000000000000: 00000002 00000000 00010000 0005 01 18 @farside-rdma-fffff` + "\n"
	if got := ownerIDs(table); !slices.Equal(got, []uint32{0xf00d, 0xfffff}) {
		t.Errorf("%x", got)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(s RegionStatus) bool { return s.Address == a })
	if i < 0 || list[i].Peers != processes+peers+1 || list[i].Counters.Atomics != (processes+peers)*times {
		t.Errorf("%d: %+v", i, list)
	}
	// All of them learn of the free.
	owner.say("free %d", a)
}

// The other side's version is told, whichever side is the newer one.
func TestVersionMismatch(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	for _, change := range []byte{1, 0xff} {
		old := request{kind: kindNext, address: r.Address()}.encode()
		old[4] += change
		_, err := decodeRequest(old)
		wantErr(t, err, ErrProtocol)
		if !strings.Contains(err.Error(), "speaks version") {
			t.Error(err)
		}
		greeting := message{kind: kindHello, slot: 512}.encode()
		greeting[4] += change
		_, err = decodeMessage(greeting)
		wantErr(t, err, StatusBadRespErr)
		if !strings.Contains(err.Error(), "speaks version") {
			t.Error(err)
		}
	}
	// An owner answers what it doesn't understand in its own version, and hangs up; the peer survives that.
	p := newPeer(t)
	if err := p.Read(r.Address(), make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	for c := range o.clients {
		c.conn.Close()
	}
	o.mu.Unlock()
	eventually(t, "a new connection", func() bool { return p.Read(r.Address(), make([]byte, 8)) == nil })
}
