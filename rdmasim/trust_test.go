package rdmasim

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rawAnswer speaks the protocol without a Peer and returns the greeting and the reply to a request.
func rawAnswer(t *testing.T, o *Owner, q request) (hello, reply answer) {
	t.Helper()
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socketName(o.id), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	if hello, err = receive(conn); err != nil {
		t.Fatal(err)
	}
	fd, ledger, err := makeShared("ledger", ledgerSize)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(ledger)
	defer unix.Close(fd)
	if _, _, err := conn.WriteMsgUnix(request{kind: kindJoin, entry: ledgerEntries}.encode(), unix.UnixRights(fd), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(q.encode()); err != nil {
		t.Fatal(err)
	}
	if reply, err = receive(conn); err != nil {
		t.Fatal(err)
	}
	return hello, reply
}

// A peer that ignores the rules is stopped by the kernel.
func TestHostilePeerCanNotWrite(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessRead)
	hello, reply := rawAnswer(t, o, request{kind: kindResolve, address: r.Address(), access: AccessRead})
	defer hello.drop()
	defer reply.drop()
	for name, fd := range map[string]int{"control page": hello.fd, "read-only region": reply.fd} {
		if fd < 0 {
			t.Fatalf("%s: no descriptor", name)
		}
		if _, err := unix.Pwrite(fd, []byte{1}, 0); err == nil {
			t.Errorf("%s can be written", name)
		}
		if m, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			unix.Munmap(m)
			t.Errorf("%s can be mapped for writing", name)
		}
		if unix.Ftruncate(fd, 0) == nil {
			t.Errorf("%s can be shortened", name)
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s would be inherited", name)
		}
	}
}

// Owners that greet wrongly: another version, no control page, one that could be cut short, nothing at all.
func TestWrongGreetings(t *testing.T) {
	const id = 0x54321
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: socketName(id), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	loose, err := unix.MemfdCreate("loose", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(loose)
	if err := unix.Ftruncate(loose, 4096); err != nil {
		t.Fatal(err)
	}
	good := message{kind: kindHello, slot: 512}
	future := good.encode()
	future[4]++
	for name, c := range map[string]struct {
		packet []byte
		fds    []int
		want   error
	}{
		"version":    {future, []int{payload(t, 4096)}, ErrProtocol},
		"no page":    {good.encode(), nil, ErrProtocol},
		"not sealed": {good.encode(), []int{loose}, ErrProtocol},
		"short page": {good.encode(), []int{payload(t, 4095)}, ErrProtocol},
		"not hello":  {message{kind: kindReply}.encode(), nil, ErrProtocol},
		"busy":       {message{kind: kindHello, status: wireBusy}.encode(), nil, ErrResources},
		"denied":     {message{kind: kindHello, status: wireDenied}.encode(), nil, ErrPermission},
		"hangs up":   {nil, nil, ErrOwnerDied},
	} {
		p := newPeer(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			conn, err := l.AcceptUnix()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if c.packet != nil {
				var rights []byte
				if c.fds != nil {
					rights = unix.UnixRights(c.fds...)
				}
				conn.WriteMsgUnix(c.packet, rights, nil)
			}
		})
		_, err := p.Resolve(context.Background(), makeAddress(id, 4096))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		wg.Wait()
		p.Close()
	}
}

// Readers on many regions while the owner's process is killed: all of them learn it, and none hangs.
func TestOwnerKilledUnderLoad(t *testing.T) {
	owner := start(t, "owner", nil)
	p := newPeer(t)
	var addresses [4]uint64
	for i := range addresses {
		addresses[i] = owner.number("register 65536 7")
		if err := p.Read(addresses[i], make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for _, a := range addresses {
		wg.Go(func() {
			buf := make([]byte, 65536)
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
				if err := p.Read(a, buf); err != nil {
					if !errors.Is(err, ErrOwnerDied) {
						t.Error(err)
					}
					return
				}
				if buf[777] != pattern(777) || buf[65535] != pattern(65535) {
					t.Error("wrong bytes")
					return
				}
			}
			t.Error("death went unnoticed")
		})
	}
	time.Sleep(20 * time.Millisecond)
	owner.kill()
	wg.Wait()
}

func TestManyRegions(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	fd := payload(t, 8192)
	var all []*Region
	for {
		r, err := o.Register(fd, 8, 64, Attributes{Access: AccessAll})
		if err != nil {
			wantErr(t, err, ErrResources)
			break
		}
		all = append(all, r)
	}
	if len(all) != controlSlots-1 {
		t.Fatalf("%d regions", len(all))
	}
	buf := make([]byte, 64)
	for i := 0; i < len(all); i += len(all) / 1000 {
		if err := p.Read(all[i].Address(), buf); err != nil || buf[0] != pattern(8) {
			t.Fatalf("region %d: %v, %d", i, err, buf[0])
		}
	}
	// A slot that comes back doesn't bring the old region back.
	all[0].Close()
	r := register(t, o, fd, 8, 64, AccessAll)
	if r.slot != all[0].slot || r.generation == all[0].generation {
		t.Errorf("slot %d generation %d after slot %d generation %d", r.slot, r.generation, all[0].slot, all[0].generation)
	}
	wantErr(t, p.Read(all[0].Address(), buf), ErrFreed)
	if err := p.Read(r.Address(), buf); err != nil {
		t.Error(err)
	}
}
