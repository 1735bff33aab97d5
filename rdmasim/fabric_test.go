package rdmasim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim/internal/verbs"
)

var (
	_ io.ReaderAt = (*RemoteRegion)(nil)
	_ io.WriterAt = (*RemoteRegion)(nil)
)

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
	if _, err := unix.Pread(fd, back[:], 1000+8192-5); err != nil || string(back[:5]) != "hello" ||
		back[5] != pattern(1000+8192) {
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
	wantErr(t, p.Read(verbs.MakeAddress(o.local.ID()^1, 4096), buf[:1]), ErrUnknownAddress)
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
		ErrCredentials: "IBV_WC_GENERAL_ERR",
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
	if mappingsOf("payload") == 0 {
		t.Fatal("the peer has nothing mapped")
	}
	owner.say("free %d", b)
	eventually(t, "unmapped after the notice", func() bool { return mappingsOf("payload") == 0 })
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

// Regions and peers leave nothing; the process' own owner stays.
func TestNoDescriptorsLeft(t *testing.T) {
	fd := payload(t, 4096)
	first, err := Register(fd, 0, 4096, Attributes{Access: AccessAll}) // makes the owner, which stays
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	if p := newPeer(t); p.Read(first.Address(), make([]byte, 8)) == nil { // makes the poller
		t.Fatal("a freed region is read")
	} else {
		p.Close()
	}
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
	eventually(t, "no descriptor is left", func() bool { return countFDs() <= before })
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
	eventually(t, "every region forgotten", func() bool { return p.table.Len() == 0 })
}

func TestCloseUnderLoad(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 1<<16), 0, 1<<16, AccessAll)
	for range 20 {
		p := newPeer(t)
		if _, err := p.Resolve(context.Background(), r.Address()); err != nil {
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
		if mappingsOf("payload") != 0 {
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

// Review 12: in a user namespace without ids everybody is user 65534, this process as well as each stranger. There
// nobody is believed.
func TestUnmappedUserNamespace(t *testing.T) {
	r := register(t, newOwner(t), payload(t, 4096), 0, 4096, AccessAll)
	apart := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	if err := (&exec.Cmd{Path: "/bin/true", SysProcAttr: apart}).Run(); err != nil {
		t.Skip("SKIPPED: the kernel makes no user namespace: ", err)
	}
	s := start(t, "peer", func(c *exec.Cmd) { c.SysProcAttr = apart }).say("read %d 64", r.Address())
	if !strings.Contains(s, ErrPermission.Error()) || !strings.Contains(s, "without an id in this user namespace") {
		t.Errorf("a peer that can't tell users apart got %q", s)
	}
}
