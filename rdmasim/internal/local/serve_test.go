package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/memfd"
	"farside/internal/memfd/memfdtest"
	"farside/internal/socket"
	"farside/rdmasim/internal/verbs"
)

// Peers that join wrongly are shown out, and nobody else notices.
func TestWrongJoins(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	loose, err := unix.MemfdCreate("loose", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(loose)
	if err := unix.Ftruncate(loose, ledgerSize); err != nil {
		t.Fatal(err)
	}
	goodFile, good, err := memfd.CreateMapped("ledger", ledgerSize)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(good)
	defer goodFile.Close()
	goodFD := goodFile.Int()
	join := request{kind: kindJoin, entry: ledgerEntries}
	resolve := request{kind: kindResolve, address: r.Address(), entry: 5}
	type packet struct {
		request
		fd int // -1 for none
	}
	short := payload(t, ledgerSize-1)
	if err := p.read(r.Address(), make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	before := countFDs()
	for name, packets := range map[string][]packet{
		"no ledger":            {{join, -1}},
		"not sealed":           {{join, loose}},
		"not a memfd":          {{join, 0}},
		"too short":            {{join, short}},
		"no entries":           {{request{kind: kindJoin}, goodFD}},
		"too many entries":     {{request{kind: kindJoin, entry: ledgerEntries + 1}, goodFD}},
		"twice":                {{join, goodFD}, {join, goodFD}},
		"without joining":      {{resolve, -1}},
		"entry outside":        {{request{kind: kindJoin, entry: 5}, goodFD}, {resolve, -1}},
		"entry used twice":     {{join, goodFD}, {resolve, -1}, {resolve, -1}},
		"rights without names": {{join, goodFD}, {request{kind: kindResolve, address: r.Address(), access: 1 << 20}, -1}},
	} {
		conn, err := socket.DialPacket(context.Background(), socketName(o.id))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		hello, err := receive(conn)
		if err != nil {
			t.Fatal(err)
		}
		hello.drop()
		for _, q := range packets {
			var rights []byte
			if q.fd >= 0 {
				rights = unix.UnixRights(q.fd)
			}
			if _, err := conn.WriteMsg(q.encode(), rights); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		var last answer
		for {
			a, err := receive(conn)
			if err != nil {
				break
			}
			a.drop()
			last = a
		}
		if last.status != wireBadRequest {
			t.Errorf("%s: %+v", name, last.message)
		}
		conn.Close()
	}
	if err := p.read(r.Address(), make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "only the good one holds the region", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(r.holders) == 1
	})
	eventually(t, "descriptors closed", func() bool { return countFDs() <= before })
}

func TestGarbageOnTheSocket(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	good := request{kind: kindNext, address: r.Address()}.encode()
	bad := [][]byte{{1}, []byte("GET / HTTP/1.0\r\n\r\n"), good[:31], append(bytes.Clone(good), 0),
		make([]byte, requestSize), make([]byte, 4096)}
	for i := range 8 {
		b := bytes.Clone(good)
		b[i] ^= 0x80
		bad = append(bad, b)
	}
	for _, b := range bad {
		conn, err := socket.DialPacket(context.Background(), socketName(o.id))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		if a, err := receive(conn); err != nil || a.kind != kindHello {
			t.Fatalf("hello: %+v, %v", a, err)
		} else {
			a.drop()
		}
		// A descriptor that nobody asked for comes along.
		if _, err := conn.WriteMsg(b, unix.UnixRights(0)); err != nil {
			t.Fatal(err)
		}
		a, err := receive(conn)
		if err != nil || a.status != wireBadRequest || a.file != nil {
			t.Fatalf("answer to %x: %+v, %v", b, a, err)
		}
		if _, err := receive(conn); err == nil {
			t.Fatal("connection stays open")
		}
		conn.Close()
	}
	if err := p.read(r.Address(), make([]byte, 64)); err != nil {
		t.Fatalf("after the garbage: %v", err)
	}
}

// rawAnswer speaks the protocol without a Peer and returns the greeting and the reply to a request.
func rawAnswer(t *testing.T, o *Owner, q request) (hello, reply answer) {
	t.Helper()
	conn, err := socket.DialPacket(context.Background(), socketName(o.id))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	if hello, err = receive(conn); err != nil {
		t.Fatal(err)
	}
	file, ledger, err := memfd.CreateMapped("ledger", ledgerSize)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(ledger)
	defer file.Close()
	fd := file.Int()
	if _, err := conn.WriteMsg(request{kind: kindJoin, entry: ledgerEntries}.encode(), unix.UnixRights(fd)); err != nil {
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

// A peer that ignores the rules is stopped by the kernel (review 4, attacks 6): one that uses the descriptors that it
// got, one that opens them again through /proc, one of another user.
func TestHostilePeerCanNotWrite(t *testing.T) {
	o := newOwner(t)
	final, mapping, err := memfd.CreateMapped("payload", 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer final.Close()
	defer unix.Munmap(mapping)
	open := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessRead)
	closed := register(t, o, final.Int(), 0, 4096, verbs.AccessRead)
	request := request{kind: kindResolve, address: open.Address(), access: verbs.AccessRead}
	hello, region := rawAnswer(t, o, request)
	defer hello.drop()
	defer region.drop()
	request.address = closed.Address()
	other, sealed := rawAnswer(t, o, request)
	defer other.drop()
	defer sealed.drop()
	for _, c := range []struct {
		name      string
		fd        int
		everybody bool // also processes of the owner's user and root are stopped
	}{{"control page", hello.file.Int(), true}, {"read-only region", region.file.Int(), false},
		{"sealed read-only region", sealed.file.Int(), true}} {
		t.Run(c.name, func(t *testing.T) {
			if c.fd < 0 {
				t.Fatal("no descriptor")
			}
			memfdtest.WantReadOnly(t, c.fd)
			if flags, err := unix.FcntlInt(uintptr(c.fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Error("it would be inherited")
			}
			if c.everybody {
				again, err := fd.Reopen(c.fd, unix.O_RDWR)
				if err != nil {
					t.Fatal(err)
				}
				defer again.Close()
				memfdtest.WantReadOnly(t, again.Int())
			}
			t.Run("other user", func(t *testing.T) { wantDenied(t, c.fd) })
		})
	}
}

// wantDenied gives the descriptor to a process of another user, which opens it again.
func wantDenied(t *testing.T, fd int) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(dup), "region")
	defer file.Close()
	run := func(script string) error {
		c := exec.Command("/bin/sh", "-c", script)
		c.ExtraFiles = []*os.File{file}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return c.Run()
	}
	if err := run("read line </proc/self/fd/3 || test $? = 1"); err != nil {
		t.Errorf("the other user can't read: %v", err)
	}
	if err := run("printf hostile 1<>/proc/self/fd/3"); err == nil {
		t.Error("the other user wrote")
	}
}

// connect speaks the protocol without a Peer: it connects and takes the greeting.
func connect(t *testing.T, o *Owner) (*socket.Conn, answer) {
	t.Helper()
	conn, err := socket.DialPacket(context.Background(), socketName(o.id))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	hello, err := receive(conn)
	if err != nil {
		t.Fatal(err)
	}
	hello.drop()
	return conn, hello
}

// more is a control message with n descriptors of one file.
func more(file, n int) []byte { return unix.UnixRights(slices.Repeat([]int{file}, n)...) }

// sendRaw sends a packet, also an empty one: Go's own functions add a byte to that.
func sendRaw(t *testing.T, conn *socket.Conn, packet, rights []byte) {
	t.Helper()
	h := &unix.Msghdr{Control: unsafe.SliceData(rights), Controllen: uint64(len(rights))}
	if len(packet) > 0 {
		h.Iov, h.Iovlen = &unix.Iovec{Base: &packet[0], Len: uint64(len(packet))}, 1
	}
	var errno unix.Errno
	if err := conn.Control(func(s int) {
		_, _, errno = unix.Syscall(unix.SYS_SENDMSG, uintptr(s), uintptr(unsafe.Pointer(h)), unix.MSG_NOSIGNAL)
	}); err != nil || errno != 0 {
		t.Fatal(err, errno)
	}
}

// Descriptors that nobody asked for don't stay, however many come, also where they don't fit (attacks 9).
func TestOwnerKeepsNoDescriptors(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	join := request{kind: kindJoin, entry: ledgerEntries}.encode()
	list := request{kind: kindNext, address: r.Address()}.encode()
	ledger := payload(t, ledgerSize)
	connect(t, o) // makes the poller
	before := countFDs()
	for name, c := range map[string]struct {
		packet []byte
		n      int
		good   bool
	}{
		"join, 1": {join, 1, true}, "join, 2": {join, 2, false}, "join, 12": {join, 12, false},
		"join, 13": {join, 13, false}, "join, 253": {join, 253, false},
		"list, 1": {list, 1, true}, "list, 13": {list, 13, false},
		"garbage, 1": {[]byte("garbage"), 1, false}, "garbage, 13": {[]byte("garbage"), 13, false},
		"nothing, 1": {nil, 1, false}, "nothing, 13": {nil, 13, false},
	} {
		conn, _ := connect(t, o)
		sendRaw(t, conn, c.packet, more(ledger, c.n))
		var err error
		if c.good {
			_, err = conn.Write(list)
		}
		a, err2 := receive(conn)
		a.drop()
		if answered := err == nil && err2 == nil && a.status == wireOK; answered != c.good {
			t.Errorf("%s: %+v, %v, %v", name, a.message, err, err2)
		}
		conn.Close()
	}
	eventually(t, "descriptors closed", func() bool { return countFDs() <= before })
}

// With few descriptors a share of an owner's places is one of them, and not none.
func TestFewPlaces(t *testing.T) {
	o := newOwner(t)
	o.places = processShare - 1
	r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	if err := newPeer(t).read(r.Address(), make([]byte, 8)); err != nil {
		t.Error(err)
	}
	wantErr(t, newPeer(t).read(r.Address(), make([]byte, 8)), verbs.ErrResources)
}

// No process and no user has all of an owner's places (attacks 5).
func TestPlaces(t *testing.T) {
	o := newOwner(t)
	o.places = 64
	r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	var conns []*socket.Conn
	for i := range o.places/processShare + 3 {
		conn, hello := connect(t, o)
		if want := i < o.places/processShare; (hello.status == wireOK) != want {
			t.Fatalf("connection %d gets status %d", i, hello.status)
		}
		if hello.status == wireOK {
			conns = append(conns, conn)
		}
	}
	wantErr(t, newPeer(t).read(r.Address(), make([]byte, 8)), verbs.ErrResources)
	room := func(uid uint32, pid int32) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.hasRoom(&unix.Ucred{Uid: uid, Pid: pid})
	}
	me, others := uint32(unix.Geteuid()), map[*client]struct{}{}
	take := func(uid uint32) (n int) {
		for pid := int32(1<<29 + uid<<10); ; pid++ {
			for range o.places / processShare {
				if !room(uid, pid) {
					return n
				}
				c := &client{owner: o, who: &unix.Ucred{Uid: uid, Pid: pid}}
				o.mu.Lock()
				o.clients[c] = struct{}{}
				o.mu.Unlock()
				others[c] = struct{}{}
				n++
			}
		}
	}
	if n := take(me); n != o.places/userShare-o.places/processShare {
		t.Errorf("%d more places for the user's other processes", n)
	}
	if n := take(me + 1); n != o.places/userShare {
		t.Errorf("%d places for another user", n)
	}
	if room(me+2, 1) {
		t.Error("there is room for more than all")
	}
	o.mu.Lock()
	for c := range others {
		delete(o.clients, c)
	}
	o.mu.Unlock()
	conns[0].Close()
	eventually(t, "a place is free again", func() bool { return newPeer(t).read(r.Address(), make([]byte, 8)) == nil })
}

// Who connects and doesn't join, or joins by halves, is shown out after a while; who has joined stays (attacks 5).
func TestSilentConnections(t *testing.T) {
	o := newOwner(t)
	o.JoinTimeout = 50 * time.Millisecond
	r := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	p := newPeer(t)
	if err := p.read(r.Address(), make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	before := countFDs()
	silent, _ := connect(t, o)
	lister, _ := connect(t, o)
	if _, err := lister.Write(request{kind: kindNext, address: r.Address()}.encode()); err != nil {
		t.Fatal(err)
	}
	if a, err := receive(lister); err != nil || a.status != wireOK {
		t.Fatalf("%+v, %v", a, err)
	}
	for _, conn := range []*socket.Conn{silent, lister} {
		if a, err := receive(conn); !errors.Is(err, io.EOF) {
			t.Errorf("%+v, %v instead of the end", a, err)
		}
		conn.Close()
	}
	eventually(t, "descriptors closed", func() bool { return countFDs() <= before })
	time.Sleep(2 * o.JoinTimeout)
	s := p.view(t, r.Address()).session
	if s.ended() {
		t.Error("a peer that has joined was shown out")
	}
}
