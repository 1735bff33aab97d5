package rdmasim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var (
	_ io.ReaderAt = (*RemoteRegion)(nil)
	_ io.WriterAt = (*RemoteRegion)(nil)
)

func TestAddressLayout(t *testing.T) {
	for _, id := range []uint32{0, 1, 0x3fff, 0x4000, 1<<idBits - 1} {
		for _, off := range []uint64{0, 4096, 12345, offsetMask} {
			a := makeAddress(id, off)
			if a>>63 != 0 || a>>62&1 != 1 || a>>55&1 != 1 {
				t.Errorf("address %#x has the wrong fixed bits", a)
			}
			gotID, gotOff, ok := splitAddress(a)
			if !ok || gotID != id || gotOff != off {
				t.Errorf("%#x splits into %#x, %#x, %v", a, gotID, gotOff, ok)
			}
		}
	}
	if _, _, ok := splitAddress(0x7fff12345678); ok {
		t.Error("a CPU address passes for a remote one")
	}
}

func TestPlacement(t *testing.T) {
	o := newOwner(t)
	fd := payload(t, 64<<10)
	a := register(t, o, fd, 100, 5000, AccessAll)
	b := register(t, o, fd, 0, 1, AccessAll)
	if a.Address()&4095 != 100 || b.Address()&4095 != 0 {
		t.Errorf("page offsets of %#x, %#x", a.Address(), b.Address())
	}
	if gap := b.Address() - roundUp(a.Address()+5000); gap != pageSize {
		t.Errorf("guard of %d bytes", gap)
	}
	old := b.Address()
	b.Close()
	if c := register(t, o, fd, 0, 1, AccessAll); c.Address() <= old {
		t.Errorf("address %#x came back at once", c.Address())
	}
	o.cursor = 1<<offsetBits - pageSize
	d := register(t, o, fd, 0, 8192, AccessAll)
	if d.Address() != old { // the first gap that is large enough lies between a and c
		if _, off, _ := splitAddress(d.Address()); off > 1<<20 {
			t.Errorf("no wrap around: %#x", d.Address())
		}
	}
	first, end := d.pages()
	for _, r := range o.regions {
		if f, e := r.pages(); r != d && f < end && first < e {
			t.Errorf("regions %#x and %#x overlap", r.base, d.base)
		}
	}
}

func TestRegisterRefuses(t *testing.T) {
	o := newOwner(t)
	fd := payload(t, 4096)
	_, err := o.Register(fd, 1, 4096, Attributes{Access: AccessAll})
	wantErr(t, err, ErrBadPayload)
	_, err = o.Register(fd, 0, 0, Attributes{Access: AccessAll})
	wantErr(t, err, ErrBadPayload)
	_, err = o.Register(-1, 0, 1, Attributes{Access: AccessAll})
	wantErr(t, err, ErrBadPayload)
	_, err = o.Register(fd, 0, 1, Attributes{})
	wantErr(t, err, ErrAccess)
	loose, err := unix.MemfdCreate("loose", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(loose)
	if err := unix.Ftruncate(loose, 4096); err != nil {
		t.Fatal(err)
	}
	_, err = o.Register(loose, 0, 4096, Attributes{Access: AccessAll})
	wantErr(t, err, ErrBadPayload)
	readOnly, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(readOnly)
	_, err = o.Register(readOnly, 0, 4096, Attributes{Access: AccessAll})
	wantErr(t, err, ErrBadPayload)
	if _, err := o.Register(readOnly, 0, 4096, Attributes{Access: AccessRead}); err != nil {
		t.Error(err)
	}
	o.Close()
	_, err = o.Register(fd, 0, 1, Attributes{Access: AccessAll})
	wantErr(t, err, ErrClosed)
}

func TestReadWriteAtomics(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	fd := payload(t, 3*4096)
	r := register(t, o, fd, 1000, 8192, AccessAll)
	got := make([]byte, 8192)
	if err := p.Read(r.Address(), got); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != pattern(1000+i) {
			t.Fatalf("byte %d is %d", i, got[i])
		}
	}
	if err := p.Write(r.Address()+8192-5, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	var back [6]byte
	if _, err := unix.Pread(fd, back[:], 1000+8192-5); err != nil || string(back[:5]) != "hello" || back[5] != pattern(1000+8192) {
		t.Fatalf("payload holds %q (%v)", back, err)
	}
	w := r.Address() + 16
	if err := p.Write(w, []byte{5, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if old, err := p.FetchAdd64(w, 7); old != 5 || err != nil {
		t.Fatalf("fetch-add gave %d, %v", old, err)
	}
	if old, err := p.CompareSwap64(w, 1, 2); old != 12 || err != nil {
		t.Fatalf("failing compare-swap gave %d, %v", old, err)
	}
	if old, err := p.CompareSwap64(w, 12, 99); old != 12 || err != nil {
		t.Fatalf("compare-swap gave %d, %v", old, err)
	}
	rr, err := p.Resolve(context.Background(), w)
	if err != nil || rr.Base() != r.Address() || rr.Length() != 8192 || rr.Access() != AccessAll {
		t.Fatalf("resolve: %+v, %v", rr, err)
	}
	word := make([]byte, 8)
	if n, err := rr.ReadAt(word, 16); n != 8 || err != nil || word[0] != 99 {
		t.Fatalf("ReadAt: %d, %v, %v", n, err, word)
	}
	if n, err := rr.WriteAt([]byte("xyz"), 8189); n != 3 || err != nil {
		t.Fatalf("WriteAt: %d, %v", n, err)
	}
	all, err := io.ReadAll(io.NewSectionReader(rr, 0, int64(rr.Length())))
	if err != nil || !bytes.HasSuffix(all, []byte("xyz")) {
		t.Fatalf("section reader: %d bytes, %v", len(all), err)
	}
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	o, p := newOwner(t), newPeer(t)
	fd := payload(t, 8192)
	r := register(t, o, fd, 0, 4096, AccessAll)
	second := register(t, o, fd, 4096, 4096, AccessAll)
	ro := register(t, o, fd, 0, 4096, AccessRead)
	buf := make([]byte, 4096)
	if err := p.Read(r.Address(), buf); err != nil {
		t.Fatal(err)
	}
	wantErr(t, p.Read(r.Address()+1, buf), ErrOutOfRange)
	wantErr(t, p.Write(r.Address()+1, buf), ErrOutOfRange)
	// From one region across its guard into the next.
	wantErr(t, p.Read(r.Address()+4095, make([]byte, second.Address()-r.Address()+8)), ErrOutOfRange)
	wantErr(t, p.Read(r.Address()+4096, buf[:1]), ErrUnknownAddress)
	wantErr(t, p.Read(r.Address()-1, buf[:1]), ErrUnknownAddress)
	wantErr(t, p.Read(0x7f0000001000, buf[:1]), ErrUnknownAddress)
	wantErr(t, p.Read(makeAddress(o.id^1, 4096), buf[:1]), ErrUnknownAddress)
	_, err := p.FetchAdd64(r.Address()+4, 1)
	wantErr(t, err, ErrMisaligned)
	_, err = p.CompareSwap64(r.Address()+1, 1, 2)
	wantErr(t, err, ErrMisaligned)

	wantErr(t, p.Write(ro.Address(), buf), ErrAccess) // refused by the owner
	if err := p.Read(ro.Address(), buf); err != nil {
		t.Fatal(err)
	}
	wantErr(t, p.Write(ro.Address(), buf), ErrAccess) // refused by the peer
	_, err = p.FetchAdd64(ro.Address(), 1)
	wantErr(t, err, ErrAccess)
	rr, err := p.Resolve(ctx, ro.Address())
	if err != nil {
		t.Fatal(err)
	}
	_, err = rr.ReadAt(buf, -1)
	wantErr(t, err, ErrOutOfRange)
	_, err = rr.ReadAt(buf, 1)
	wantErr(t, err, ErrOutOfRange)
	_, err = rr.WriteAt(buf, 0)
	wantErr(t, err, ErrAccess)

	ro.Close()
	_, err = rr.ReadAt(buf, 0)
	wantErr(t, err, ErrFreed)
	wantErr(t, p.Read(ro.Address(), buf), ErrFreed)
	_, err = p.Resolve(ctx, ro.Address())
	wantErr(t, err, ErrFreed)

	_, err = Open(ctx, "carrier-pigeon")
	wantErr(t, err, ErrUnknownFabric)
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = p.Resolve(done, second.Address())
	wantErr(t, err, context.Canceled)
	p.Close()
	wantErr(t, p.Read(r.Address(), buf), ErrClosed)
	_, err = p.Resolve(ctx, r.Address())
	wantErr(t, err, ErrClosed)
}

func TestStatusOf(t *testing.T) {
	for err, want := range map[error]string{
		ErrUnknownAddress: "IBV_WC_REM_ACCESS_ERR", ErrOutOfRange: "IBV_WC_REM_ACCESS_ERR", ErrFreed: "IBV_WC_REM_ACCESS_ERR",
		ErrAccess: "IBV_WC_REM_ACCESS_ERR", ErrPermission: "IBV_WC_REM_ACCESS_ERR", ErrMisaligned: "IBV_WC_REM_INV_REQ_ERR",
		ErrOwnerDied: "IBV_WC_RETRY_EXC_ERR", ErrTimeout: "IBV_WC_RESP_TIMEOUT_ERR", ErrProtocol: "IBV_WC_BAD_RESP_ERR",
		ErrResources: "IBV_WC_LOC_QP_OP_ERR", ErrClosed: "IBV_WC_WR_FLUSH_ERR", io.EOF: "IBV_WC_GENERAL_ERR",
	} {
		if got := StatusOf(failed(OpRead, 1, err)).String(); got != want {
			t.Errorf("%v becomes %s, want %s", err, got, want)
		}
	}
	if StatusOf(nil) != StatusSuccess {
		t.Error("nil isn't success")
	}
}

func TestFreedInAnotherProcess(t *testing.T) {
	owner := start(t, "owner", nil)
	p := newPeer(t)
	a := owner.number("register 4096 7")
	b := owner.number("register 4096 7")
	var buf [64]byte
	if err := errors.Join(p.Read(a, buf[:]), p.Read(b, buf[:])); err != nil {
		t.Fatal(err)
	}
	rr, err := p.Resolve(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	owner.say("free %d", a)
	wantErr(t, p.Read(a, buf[:]), ErrFreed)
	wantErr(t, p.Write(a, buf[:]), ErrFreed)
	_, err = p.FetchAdd64(a, 1)
	wantErr(t, err, ErrFreed)
	_, err = rr.ReadAt(buf[:], 0)
	wantErr(t, err, ErrFreed)
	if err := p.Read(b, buf[:]); err != nil {
		t.Fatalf("the neighbour: %v", err)
	}
	// An idle peer gives the memory back by itself.
	rb, err := p.Resolve(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	owner.say("free %d", b)
	eventually(t, "unmapped after the notice", rb.view.unmapped.Load)
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestOwnerKilled(t *testing.T) {
	owner := start(t, "owner", nil)
	p := newPeer(t)
	a := owner.number("register 65536 7")
	b := owner.number("register 65536 7")
	freed := owner.number("register 65536 7")
	var buf [64]byte
	rr, err := p.Resolve(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	rf, err := p.Resolve(context.Background(), freed)
	if err != nil {
		t.Fatal(err)
	}
	owner.say("free %d", freed)
	owner.kill()
	wantErr(t, p.Read(a, buf[:]), ErrOwnerDied)
	wantErr(t, p.Write(a, buf[:]), ErrOwnerDied)
	_, err = p.CompareSwap64(a, 1, 1)
	wantErr(t, err, ErrOwnerDied)
	wantErr(t, p.Read(b, buf[:]), ErrOwnerDied)
	_, err = rr.ReadAt(buf[:], 0)
	wantErr(t, err, ErrOwnerDied)
	_, err = rf.ReadAt(buf[:], 0)
	wantErr(t, err, ErrFreed)
	wantErr(t, newPeer(t).Read(a, buf[:]), ErrUnknownAddress)
}

func TestOwnerStopped(t *testing.T) {
	owner := start(t, "owner", nil)
	p := newPeer(t)
	a := owner.number("register 4096 7")
	b := owner.number("register 4096 7")
	if err := p.Read(a, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	owner.cmd.Process.Signal(syscall.SIGSTOP)
	defer owner.cmd.Process.Signal(syscall.SIGCONT)
	var ws unix.WaitStatus
	if _, err := unix.Wait4(owner.cmd.Process.Pid, &ws, unix.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("not stopped: %v, %v", ws, err)
	}
	if err := p.Read(a, make([]byte, 8)); err != nil {
		t.Fatalf("one-sided read woke the owner: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Resolve(ctx, b)
	wantErr(t, err, context.DeadlineExceeded)
	_, err = newPeer(t).Resolve(ctx, a)
	wantErr(t, err, context.DeadlineExceeded)
	greeting, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = newPeer(t).Resolve(greeting, a)
	wantErr(t, err, context.DeadlineExceeded)
	go func() {
		time.Sleep(20 * time.Millisecond)
		p.Close()
	}()
	_, err = p.Resolve(context.Background(), b)
	wantErr(t, err, ErrClosed)
}

func TestEightPeersAdd(t *testing.T) {
	const peers, times = 8, 20000
	owner := start(t, "owner", nil)
	a := owner.number("register 4096 7")
	if s := start(t, "peer", nil).say("write %d 4096", a); s != "ok" {
		t.Fatal(s)
	}
	var wg sync.WaitGroup
	for range peers {
		c := start(t, "peer", nil)
		wg.Go(func() {
			if s := c.say("add %d %d", a+8, times); s != "ok" {
				t.Error(s)
			}
		})
	}
	wg.Wait()
	if n := owner.number("word %d 8", a); n != peers*times {
		t.Fatalf("sum is %d, want %d", n, peers*times)
	}
}

func TestOtherUser(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	// A user namespace doesn't help without root: its processes show as the user that made it.
	other := func(env ...string) func(*exec.Cmd) {
		return func(c *exec.Cmd) {
			c.Env = append(c.Env, env...)
			c.SysProcAttr = &syscall.SysProcAttr{}
			if os.Geteuid() == 0 {
				c.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
			} else {
				t.Skip("a second user needs root")
			}
		}
	}
	if s := start(t, "peer", other()).say("read %d 64", r.Address()); !strings.Contains(s, ErrPermission.Error()) {
		t.Fatalf("nobody got %q", s)
	}
	// The peer trusts us, the owner still doesn't trust it.
	s := start(t, "peer", other(AllowUIDs+"=0")).say("read %d 64", r.Address())
	if !strings.Contains(s, ErrPermission.Error()) || strings.Contains(s, "owner runs as") {
		t.Fatalf("nobody got %q", s)
	}
	t.Setenv(AllowUIDs, "65534, 12")
	o = newOwner(t)
	r = register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	if s := start(t, "peer", other(AllowUIDs+"=0")).say("read %d 64", r.Address()); s != "ok" {
		t.Fatalf("nobody, allowed, got %q", s)
	}
	t.Setenv(AllowUIDs, "root")
	if _, err := NewOwner(); err == nil {
		t.Error("a user list that isn't one was accepted")
	}
}

func TestGarbageOnTheSocket(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	good := request{kind: kindNext, address: r.Address()}.encode()
	bad := [][]byte{{1}, []byte("GET / HTTP/1.0\r\n\r\n"), good[:31], append(bytes.Clone(good), 0), make([]byte, requestSize), make([]byte, 4096)}
	for i := range 8 {
		b := bytes.Clone(good)
		b[i] ^= 0x80
		bad = append(bad, b)
	}
	for _, b := range bad {
		conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socketName(o.id), Net: "unixpacket"})
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
		if _, _, err := conn.WriteMsgUnix(b, unix.UnixRights(0), nil); err != nil {
			t.Fatal(err)
		}
		a, err := receive(conn)
		if err != nil || a.status != wireBadRequest || a.fd >= 0 {
			t.Fatalf("answer to %x: %+v, %v", b, a, err)
		}
		if _, err := receive(conn); err == nil {
			t.Fatal("connection stays open")
		}
		conn.Close()
	}
	if err := p.Read(r.Address(), make([]byte, 64)); err != nil {
		t.Fatalf("after the garbage: %v", err)
	}
}

// An owner that lies is caught before anything is mapped.
func TestLyingOwner(t *testing.T) {
	const id = 0x12345
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: socketName(id), Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd := payload(t, 8192)
	controlFD, control, err := makeShared("control", 8192)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(control)
	defer unix.Close(controlFD)
	word(control, 0).Store(ownerServing)
	base := makeAddress(id, 1<<20)
	ok := message{kind: kindReply, base: base, length: 4096, slot: 1, access: AccessAll, generation: 1}
	lies := map[string]func(*message){
		"longer than the payload": func(m *message) { m.length = 8193 },
		"offset behind the end":   func(m *message) { m.offset = 8192 },
		"huge length":             func(m *message) { m.length = 1 << 63 },
		"other owner":             func(m *message) { m.base = makeAddress(id+1, 1<<20) },
		"elsewhere":               func(m *message) { m.base += 8192 },
		"slot outside":            func(m *message) { m.slot = 1024 },
		"owner's slot":            func(m *message) { m.slot = 0 },
		"even generation":         func(m *message) { m.generation = 2 },
		"page offset":             func(m *message) { m.offset = 8 },
		"kind":                    func(m *message) { m.kind = 77 },
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	for name, lie := range lies {
		p := newPeer(t)
		wg.Go(func() {
			conn, err := l.AcceptUnix()
			if err != nil {
				return
			}
			defer conn.Close()
			c := &client{conn: conn}
			c.send(message{kind: kindHello, slot: 1024}, controlFD)
			var q [requestSize]byte
			conn.Read(q[:]) // the ledger
			conn.Read(q[:])
			m := ok
			lie(&m)
			m.tag = 1
			c.send(m, fd)
			conn.Read(q[:]) // until the peer has read the answer and gone
		})
		if err := p.Read(base, make([]byte, 8)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		p.Close()
	}
}

func TestDescriptorExhaustion(t *testing.T) {
	p, fd := newPeer(t), payload(t, 8192)
	child := start(t, "owner", nil)
	a := child.number("register 4096 7")
	b := child.number("register 4096 7")
	if err := p.Read(a, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 128, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	var fill []int
	for {
		d, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			break
		}
		fill = append(fill, d)
	}
	known := p.Read(b, make([]byte, 8))          // the payload's descriptor can't arrive
	fresh := newPeer(t).Read(a, make([]byte, 8)) // no socket
	still := p.Read(a, make([]byte, 8))          // needs none
	_, owner := NewOwner()
	for _, d := range fill {
		unix.Close(d)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{known, fresh, owner} {
		wantErr(t, err, ErrResources)
		if !strings.Contains(err.Error(), "out of file descriptors") {
			t.Errorf("not clear: %v", err)
		}
	}
	if still != nil {
		t.Error(still)
	}
	if err := p.Read(b, make([]byte, 8)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestNoDescriptorsLeft(t *testing.T) {
	fd := payload(t, 4096)
	before := countFDs()
	for range 20 {
		a, err := Register(fd, 0, 4096, Attributes{Access: AccessAll})
		if err != nil {
			t.Fatal(err)
		}
		b, err := Register(fd, 16, 16, Attributes{Access: AccessAll})
		if err != nil {
			t.Fatal(err)
		}
		p := newPeer(t)
		if err := p.Read(a.Address(), make([]byte, 64)); err != nil {
			t.Fatal(err)
		}
		if err := p.Read(b.Address(), make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		a.Close()
		a.Close()
		b.Close()
		wantErr(t, p.Read(b.Address(), make([]byte, 16)), ErrFreed)
		p.Close()
		p.Close()
	}
	if defaultOwner != nil {
		t.Error("the default owner outlives its regions")
	}
	if n := countFDs(); n > before {
		t.Errorf("%d descriptors before, %d after", before, n)
	}
	if _, err := Register(-1, 0, 1, Attributes{Access: AccessAll}); err == nil || defaultOwner != nil {
		t.Errorf("a failed registration leaves an owner (%v)", err)
	}
}

// Regions come and go under readers and writers: a transfer that reports success has seen the region's own
// bytes, and everything else is ErrFreed.
func TestFreedUnderLoad(t *testing.T) {
	owner, p := start(t, "owner", nil), newPeer(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var address uint64
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			buf := make([]byte, 4096)
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				a := address
				mu.Unlock()
				if a == 0 {
					continue
				}
				err := p.Read(a, buf)
				if err == nil {
					err = p.Write(a, buf)
				}
				if err != nil && !errors.Is(err, ErrFreed) {
					t.Error(err)
					return
				}
				if err == nil && (buf[100] != pattern(100) || buf[4095] != pattern(4095)) {
					t.Error("wrong bytes")
					return
				}
			}
		})
	}
	for range 100 {
		a := owner.number("register 4096 7")
		mu.Lock()
		address = a
		mu.Unlock()
		time.Sleep(time.Millisecond)
		owner.say("free %d", a)
	}
	close(stop)
	wg.Wait()
	if t.Failed() {
		return
	}
	eventually(t, "every region forgotten", func() bool { return len(*p.table.Load()) == 0 })
}

func TestCloseUnderLoad(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 1<<16), 0, 1<<16, AccessAll)
	for range 20 {
		p := newPeer(t)
		rr, err := p.Resolve(context.Background(), r.Address())
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				buf := make([]byte, 1<<16)
				for {
					if err := p.Read(r.Address(), buf); err != nil {
						if !errors.Is(err, ErrClosed) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		time.Sleep(time.Millisecond)
		p.Close()
		wg.Wait()
		if !rr.view.unmapped.Load() || rr.view.entry.busy() {
			t.Fatal("still mapped")
		}
	}
}

func TestResolvedPathDoesNotAllocate(t *testing.T) {
	o, p := newOwner(t), newPeer(t)
	fd := payload(t, 8192)
	a := register(t, o, fd, 0, 4096, AccessAll).Address()
	b := register(t, o, fd, 4096, 4096, AccessAll).Address()
	var buf [64]byte
	op := func() {
		err := errors.Join(p.Read(a, buf[:]), p.Write(b, buf[:]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.FetchAdd64(a, 1); err != nil {
			t.Fatal(err)
		}
	}
	op()
	if n := testing.AllocsPerRun(100, op); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
