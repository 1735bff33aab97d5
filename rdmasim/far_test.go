package rdmasim

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/rdmasim/internal/verbs"
)

// newBridge serves this host with a new secret.
func newBridge(t testing.TB, options ServeOptions) *Bridge {
	t.Helper()
	newSecret(t)
	b, err := Serve(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func newSecret(t testing.TB) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, bytes.Repeat([]byte(t.Name()), 32), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FARSIDE_FABRIC_SECRET_FILE", file)
}

func newFarPeer(t testing.TB, b *Bridge) *Peer {
	t.Helper()
	p, err := Open(context.Background(), b.Fabric())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// What works on this host works on another one.
func TestFar(t *testing.T) {
	b := newBridge(t, ServeOptions{})
	p := newFarPeer(t, b)
	o := newOwner(t)
	device := [16]byte{1, 2, 3}
	fd := payload(t, 3<<20)
	const offset = 4096 + 12
	r, err := o.Register(fd, offset, 2<<20, Attributes{Access: AccessAll, Name: "far", DeviceUUID: device})
	if err != nil {
		t.Fatal(err)
	}
	rr, err := p.ResolveKey(context.Background(), r.Address()+5, r.Key())
	if err != nil {
		t.Fatal(err)
	}
	want := RegionInfo{Address: r.Address(), Length: 2 << 20, Key: r.Key(), Access: AccessAll, PID: os.Getpid(),
		UID: uint32(os.Getuid()), DeviceUUID: device, Name: "far"}
	if rr.Info() != want {
		t.Errorf("region %+v, want %+v", rr.Info(), want)
	}
	got := make([]byte, 2<<20)
	if err := p.Read(r.Address(), got); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != pattern(offset+i) {
			t.Fatalf("byte %d is %d", i, got[i])
		}
	}
	if _, err := rr.WriteAt([]byte("to the far side"), 100); err != nil {
		t.Fatal(err)
	}
	there := make([]byte, 15)
	if _, err := unix.Pread(fd, there, offset+100); err != nil || string(there) != "to the far side" {
		t.Errorf("%q, %v", there, err)
	}
	word := r.Address() + 4 // a multiple of 8
	if err := p.Write(word, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	local := newPeer(t)
	for i, do := range []func(p *Peer) (uint64, error){
		func(p *Peer) (uint64, error) { return p.FetchAdd64(word, 0x1_0000_0001) },
		func(p *Peer) (uint64, error) { return p.Swap64(word, 0xff) },
		func(p *Peer) (uint64, error) { return p.CompareSwap64(word, 0xff, 0xf0f0) },
		func(p *Peer) (uint64, error) { return p.CompareSwap64(word, 0xff, 1) },
		func(p *Peer) (uint64, error) { return p.FetchAnd64(word, 0xff00) },
		func(p *Peer) (uint64, error) { return p.FetchOr64(word, 3) },
		func(p *Peer) (uint64, error) { return p.FetchXor64(word, 0xffff) },
		func(p *Peer) (uint64, error) { old, err := p.FetchAdd32(word+4, 9); return uint64(old), err },
		func(p *Peer) (uint64, error) { old, err := p.CompareSwap32(word+4, 9, 8); return uint64(old), err },
		func(p *Peer) (uint64, error) { old, err := p.Swap32(word+4, 7); return uint64(old), err },
	} {
		// The same on both sides, from the same word, gives the same.
		var before, after [2][8]byte
		var old [2]uint64
		for side, peer := range []*Peer{local, p} {
			if side == 0 {
				err = local.Read(word, before[0][:])
			} else {
				err = local.Write(word, before[0][:])
			}
			if err == nil {
				old[side], err = do(peer)
			}
			if err == nil {
				err = local.Read(word, after[side][:])
			}
			if err != nil {
				t.Fatalf("atomic %d: %v", i, err)
			}
		}
		if old[0] != old[1] || after[0] != after[1] {
			t.Errorf("atomic %d: %#x and %x here, %#x and %x there", i, old[0], after[0], old[1], after[1])
		}
	}
	q := newQueuePair(t, p, 4)
	post(t, q, Work{ID: 1, Opcode: OpWrite, RemoteAddress: r.Address(), Local: []byte("posted"), Flags: FlagSignalled,
		Key: r.Key()})
	if c := poll(t, q, 1)[0]; c.Status != StatusSuccess || c.Length != 6 {
		t.Errorf("%+v", c)
	}
}

// Each way to be wrong is the same error as on this host, and the peer works on.
func TestFarErrors(t *testing.T) {
	b := newBridge(t, ServeOptions{})
	p := newFarPeer(t, b)
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	next := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	readable := register(t, o, payload(t, 4096), 0, 4096, AccessRead)
	buf := make([]byte, 64)
	freed := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	if err := p.Read(freed.Address(), buf); err != nil {
		t.Fatal(err)
	}
	freed.Close()
	wantErr(t, p.Read(freed.Address(), buf), ErrFreed)
	wantErr(t, p.Read(12345, buf), ErrUnknownAddress)
	wantErr(t, p.Read(verbs.MakeAddress(1, 4096), buf), ErrUnknownAddress)
	wantErr(t, p.Read(r.Address()+4096-63, buf), ErrOutOfRange)
	wantErr(t, p.Write(r.Address(), make([]byte, next.Address()-r.Address()+8)), ErrOutOfRange)
	wantErr(t, p.Write(readable.Address(), buf), ErrAccess)
	_, err := p.FetchAdd32(readable.Address(), 1)
	wantErr(t, err, ErrAccess)
	_, err = p.FetchAdd64(r.Address()+4, 1)
	wantErr(t, err, ErrMisaligned)
	_, err = p.ResolveKey(context.Background(), r.Address(), r.Key()+1)
	wantErr(t, err, ErrKey)
	_, err = p.ResolveKey(context.Background(), next.Address(), next.Key()+1)
	wantErr(t, err, ErrKey)
	_, err = p.Regions(context.Background())
	wantErr(t, err, ErrPermission)
	if err := p.Read(r.Address(), buf); err != nil {
		t.Error(err)
	}
	p.Close()
	wantErr(t, p.Read(r.Address(), buf), ErrClosed)
}

func TestFarOpenErrors(t *testing.T) {
	b := newBridge(t, ServeOptions{})
	for _, name := range []string{"tls", "tls://", "tls://127.0.0.1/", "tls://127.0.0.1:1/x",
		"tcp://127.0.0.1:1/", "ofi://127.0.0.1/", "tls://:1/"} {
		_, err := Open(context.Background(), name)
		wantErr(t, err, ErrUnknownFabric)
	}
	_, err := Open(context.Background(), "tls://127.0.0.1:1/")
	wantErr(t, err, ErrUnreachable)
	wantErr(t, err, StatusRetryExcErr)
	newSecret(t)
	os.WriteFile(os.Getenv("FARSIDE_FABRIC_SECRET_FILE"), bytes.Repeat([]byte("another"), 32), 0o600)
	_, err = Open(context.Background(), b.Fabric())
	wantErr(t, err, ErrPermission)
	t.Setenv("FARSIDE_FABRIC_SECRET_FILE", "")
	_, err = Open(context.Background(), b.Fabric())
	wantErr(t, err, ErrCredentials)
	_, err = Serve(ServeOptions{})
	wantErr(t, err, ErrCredentials)
	// Attack 10: a missing secret was told as "owner belongs to another user".
	t.Setenv("FARSIDE_FABRIC_SECRET_FILE", filepath.Join(t.TempDir(), "missing"))
	_, err = Open(context.Background(), b.Fabric())
	wantErr(t, err, ErrCredentials)
	if errors.Is(err, ErrPermission) || !strings.Contains(err.Error(), "missing: no such file") {
		t.Error(err)
	}
	newSecret(t)
	for _, listen := range []string{":0", "0.0.0.0:0", "nonsense", "localhost:0", "127.0.0.1:http"} {
		_, err = Serve(ServeOptions{Listen: listen})
		wantErr(t, err, ErrUnknownFabric)
	}
}

// A bridge of one owner has nothing of another's.
func TestFarOneOwner(t *testing.T) {
	o, other := newOwner(t), newOwner(t)
	b := newBridge(t, ServeOptions{Owner: o})
	p := newFarPeer(t, b)
	mine := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	his := register(t, other, payload(t, 4096), 0, 4096, AccessAll)
	if err := p.Read(mine.Address(), make([]byte, 8)); err != nil {
		t.Error(err)
	}
	wantErr(t, p.Read(his.Address(), make([]byte, 8)), ErrUnknownAddress)
}

// A region that is freed under load ends the peers' operations before Close returns.
func TestFarFreedUnderLoad(t *testing.T) {
	b := newBridge(t, ServeOptions{})
	p := newFarPeer(t, b)
	o := newOwner(t)
	kept := register(t, o, payload(t, 1<<20), 0, 1<<20, AccessAll)
	for range 5 {
		fd := payload(t, 1<<20)
		r := register(t, o, fd, 0, 1<<20, AccessAll)
		const goroutines = 4
		started, ended := make(chan error, goroutines), make(chan error, goroutines)
		for i := range goroutines {
			go func() {
				buf := bytes.Repeat([]byte{byte(i + 1)}, 100_000)
				for n := 0; ; n++ {
					err := p.Write(r.Address(), buf)
					if n == 3 || n < 3 && err != nil {
						started <- err
					}
					if err != nil {
						ended <- err
						return
					}
				}
			}()
		}
		for range goroutines {
			if err := <-started; err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		r.Close()
		took := time.Since(begin)
		// Nothing writes any more.
		zeros, got := make([]byte, 1<<20), make([]byte, 1<<20)
		if _, err := unix.Pwrite(fd, zeros, 0); err != nil {
			t.Fatal(err)
		}
		for range goroutines {
			wantErr(t, <-ended, ErrFreed)
		}
		if _, err := unix.Pread(fd, got, 0); err != nil || !bytes.Equal(got, zeros) {
			t.Errorf("a peer wrote after the free, %v", err)
		}
		t.Logf("the free took %v", took)
		if err := p.Read(kept.Address(), got); err != nil {
			t.Errorf("another region: %v", err)
		}
	}
}

// The death of an owner and the end of the bridge are known without asking, and nothing is left of all.
func TestFarDeath(t *testing.T) {
	b := newBridge(t, ServeOptions{})
	p := newFarPeer(t, b)
	owner := start(t, "owner", nil)
	a := owner.number("register 4096 7")
	buf := make([]byte, 64)
	if err := p.Read(a, buf); err != nil {
		t.Fatal(err)
	}
	owner.kill()
	for deadline := time.Now().Add(10 * time.Second); ; {
		err := p.Read(a, buf)
		if errors.Is(err, ErrOwnerDied) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	if err := p.Read(r.Address(), buf); err != nil {
		t.Fatal(err)
	}
	b.Close()
	wantErr(t, p.Read(r.Address(), buf), ErrUnreachable)
	wantErr(t, p.Write(r.Address(), buf), StatusRetryExcErr)
	// The free doesn't wait for a bridge that is gone.
	r.Close()
}

func TestFarNothingLeft(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 4096), 0, 4096, AccessAll)
	newBridge(t, ServeOptions{}).Close() // what stays for good: the poller's
	goroutines, fds := runtime.NumGoroutine(), countFDs()
	for range 3 {
		b := newBridge(t, ServeOptions{})
		p := newFarPeer(t, b)
		if err := p.Read(r.Address(), make([]byte, 64)); err != nil {
			t.Fatal(err)
		}
		p.Close()
		p.Close()
		b.Close()
		b.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines || countFDs() > fds; {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines before, %d after; %d descriptors before, %d after\n%s", goroutines,
				runtime.NumGoroutine(), fds, countFDs(), stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Atomics of another host and this one's on the same word are all counted.
func TestFarAtomicsCompete(t *testing.T) {
	b := newBridge(t, ServeOptions{})
	far, near := newFarPeer(t, b), newPeer(t)
	r := register(t, newOwner(t), payload(t, 4096), 0, 4096, AccessAll)
	if err := near.Write(r.Address(), make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	const farTimes = 2000
	stop, nearTimes := make(chan struct{}), make(chan uint64)
	go func() {
		var n uint64
		for {
			select {
			case <-stop:
				nearTimes <- n
				return
			default:
			}
			_, _ = near.FetchAdd64(r.Address(), 1)
			_, _ = near.FetchXor32(r.Address()+8, 1)
			n++
		}
	}()
	for range farTimes {
		if _, err := far.FetchAdd64(r.Address(), 1); err != nil {
			t.Fatal(err)
		}
		if _, err := far.FetchXor32(r.Address()+8, 2); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	n := <-nearTimes
	sum, err := near.FetchAdd64(r.Address(), 0)
	if err != nil || sum != n+farTimes {
		t.Errorf("%d and %d additions make %d, %v", n, farTimes, sum, err)
	}
	if bits, err := near.FetchAdd32(r.Address()+8, 0); err != nil || uint64(bits) != n%2 {
		t.Errorf("the bits are %#x after %d flips, %v", bits, n, err)
	}
}

// The process' own owner serves other hosts, and keeps its name and port when the last region goes and another
// one comes.
func TestFabricNameStays(t *testing.T) {
	newSecret(t)
	owner := start(t, "process", func(c *exec.Cmd) { c.Env = append(c.Env, "FARSIDE_FABRIC=tls,bind=127.0.0.1") })
	if s := owner.say("name"); s != "name" {
		t.Errorf("without a region there is a fabric: %q", s)
	}
	var p *Peer
	var name string
	for i := range 5 {
		a := owner.number("register 4096 7")
		got, _ := strings.CutPrefix(owner.say("name"), "name ")
		if i == 0 {
			var err error
			if p, err = Open(context.Background(), got); err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			name = got
		}
		if got != name {
			t.Fatalf("the fabric %q is now %q", name, got)
		}
		if err := p.Write(a, make([]byte, 8)); err != nil {
			t.Error(err)
		}
		owner.say("free %d", a)
		wantErr(t, p.Write(a, make([]byte, 8)), ErrFreed)
	}
	if s := owner.say("name"); s != "name "+name {
		t.Errorf("%q instead of %q", s, name)
	}
}

// Registrations and frees of the last region from many threads never meet the port of a bridge that is going.
func TestFabricFixedPort(t *testing.T) {
	b := newBridge(t, ServeOptions{})
	address := b.Address()
	b.Close() // the port is free now, and nobody else is likely to get it
	owner := start(t, "process", func(c *exec.Cmd) { c.Env = append(c.Env, "FARSIDE_FABRIC=ofi:tcp,bind="+address) })
	if s := owner.say("churn 4 200"); s != "ok" {
		t.Error(s)
	}
	if s := owner.say("name"); s != "name tls://"+address+"/" {
		t.Error(s)
	}
}

func TestFabricSetting(t *testing.T) {
	newSecret(t)
	owner := start(t, "process", nil)
	for _, setting := range []string{"verbs", "ofi:", "ofi:verbs", "tls:tcp", "tls,", "tls,bind=", "tls,at=127.0.0.1",
		"tls,bind=127.0.0.1:x"} {
		owner.say("setenv FARSIDE_FABRIC=%s", setting)
		if s := owner.say("register 4096 7"); !strings.Contains(s, `FARSIDE_FABRIC="`+setting+`"`) {
			t.Errorf("%q: %s", setting, s)
		}
	}
	owner.say("setenv FARSIDE_FABRIC=")
	owner.number("register 4096 7")
	if s := owner.say("name"); s != "name" {
		t.Error(s)
	}
}

// Local memory that isn't there is an error of the work, not the end of the process, of whatever size.
func TestFarLocalFault(t *testing.T) {
	p := newFarPeer(t, newBridge(t, ServeOptions{}))
	r := register(t, newOwner(t), payload(t, 1<<20), 0, 1<<20, AccessAll)
	nowhere, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(nowhere)
	constant, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(constant)
	q, err := p.NewQueuePair(2)
	if err != nil {
		t.Fatal(err)
	}
	good := Work{ID: 2, Opcode: OpWrite, Flags: FlagSignalled, RemoteAddress: r.Address(), Local: constant[:8]}
	for _, size := range []int{1, 8, 5000, 1 << 20} {
		for _, w := range []Work{
			{ID: 1, Opcode: OpRead, Local: nowhere[:size]},
			{ID: 1, Opcode: OpRead, Local: constant[:size]},
			{ID: 1, Opcode: OpWrite, Local: nowhere[:size]},
		} {
			w.RemoteAddress = r.Address()
			post(t, q, w)
			if got := poll(t, q, 1); got[0].ID != 1 || got[0].Status != StatusLocProtErr {
				t.Errorf("%v of %d bytes: %+v, want %v", w.Opcode, size, got[0], StatusLocProtErr)
			}
			q.Reset()
			post(t, q, good)
			if got := poll(t, q, 1); got[0].ID != 2 || got[0].Err != nil {
				t.Errorf("after %v of %d bytes: %+v", w.Opcode, size, got[0])
			}
		}
	}
}

// A transfer that the peer refuses leaves the local memory as it was (review, boundary 9), here and there.
func TestRefusedReadLeavesMemory(t *testing.T) {
	o := newOwner(t)
	r := register(t, o, payload(t, 8192), 0, 8192, AccessAll)
	blind := register(t, o, payload(t, 8192), 0, 8192, AccessWrite)
	want := bytes.Repeat([]byte("as it was"), 1000)
	for name, p := range map[string]*Peer{"local": newPeer(t), "remote": newFarPeer(t, newBridge(t, ServeOptions{}))} {
		for what, c := range map[string]struct {
			address uint64
			n       int
			want    error
		}{
			"range":  {r.Address() + 1, 8192, ErrOutOfRange},
			"rights": {blind.Address(), 8192, ErrAccess},
		} {
			rr, err := p.Resolve(context.Background(), c.address)
			if err != nil {
				t.Fatal(err)
			}
			got := bytes.Clone(want[:c.n])
			wantErr(t, p.Read(c.address, got), c.want)
			n, err := rr.ReadAt(got, int64(c.address-rr.Base()))
			wantErr(t, err, c.want)
			if n != 0 || !bytes.Equal(got, want[:c.n]) {
				t.Errorf("%s, %s: %d bytes read, and the memory has changed", name, what, n)
			}
		}
	}
}

// Each operation needs its own right, also once the region has been resolved and the owner is asked no more
// (review, mutants 1).
func TestRightsOfResolvedRegions(t *testing.T) {
	o := newOwner(t)
	peers := map[string]*Peer{"local": newPeer(t), "remote": newFarPeer(t, newBridge(t, ServeOptions{}))}
	fd := payload(t, 4096)
	for access := AccessRead; access <= AccessAll; access++ {
		r := register(t, o, fd, 0, 4096, access)
		a := r.Address()
		for name, p := range peers {
			if _, err := p.Resolve(context.Background(), a); err != nil { // asks for no right
				t.Fatal(err)
			}
			for op, do := range map[Opcode]func() error{
				OpRead:        func() error { return p.Read(a, make([]byte, 100)) },
				OpWrite:       func() error { return p.Write(a, make([]byte, 100)) },
				OpFetchAdd:    func() error { _, err := p.FetchAdd64(a, 1); return err },
				OpSwap:        func() error { _, err := p.Swap32(a, 1); return err },
				OpCompareSwap: func() error { _, err := p.CompareSwap64(a, 1, 1); return err },
				OpFetchAnd:    func() error { _, err := p.FetchAnd32(a, 1); return err },
				OpFetchOr:     func() error { _, err := p.FetchOr64(a, 1); return err },
				OpFetchXor:    func() error { _, err := p.FetchXor32(a, 1); return err },
			} {
				err := do()
				if granted := access&op.Need() != 0; granted && err != nil || !granted && !errors.Is(err, ErrAccess) {
					t.Errorf("%s: %v on a region with %v: %v", name, op, access, err)
				}
			}
			// Words of eight bytes have a path of their own.
			errRead, errWrite := p.Read(a, make([]byte, 8)), p.Write(a, make([]byte, 8))
			if (errRead == nil) != (access&AccessRead != 0) || (errWrite == nil) != (access&AccessWrite != 0) {
				t.Errorf("%s: a word of a region with %v: %v, %v", name, access, errRead, errWrite)
			}
		}
		r.Close()
	}
}

// A bridge that ends is a clear error at once, and one that comes back at its address serves everything as
// before, regions that a peer holds as well.
func TestFarBridgeComesBack(t *testing.T) {
	b := newBridge(t, ServeOptions{})
	p := newFarPeer(t, b)
	o := newOwner(t)
	r := register(t, o, payload(t, 1<<20), 0, 1<<20, AccessAll)
	held, err := p.Resolve(context.Background(), r.Address())
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<20)
	for range 3 {
		b.Close()
		begin := time.Now()
		wantErr(t, p.Read(r.Address(), buf), ErrUnreachable)
		wantErr(t, p.Write(r.Address(), buf[:8]), ErrUnreachable)
		_, err = p.FetchAdd64(r.Address(), 1)
		wantErr(t, err, ErrUnreachable)
		if took := time.Since(begin); took > 4*time.Second { // less than a silent connection may take
			t.Errorf("it took %v to know that there is no bridge", took)
		}
		if b, err = Serve(ServeOptions{Listen: b.Address()}); err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := held.ReadAt(buf, 0); err != nil || buf[8] != pattern(8) {
			t.Errorf("a region that is held: %v", err)
		}
		if _, err := p.FetchAdd64(r.Address(), 1); err != nil {
			t.Error(err)
		}
	}
	r.Close()
	wantErr(t, p.Read(r.Address(), buf), ErrFreed)
	_, err = held.ReadAt(buf, 0)
	wantErr(t, err, ErrFreed)
}

// Attack 2: a peer of another host has no listening socket, and a bridge has the one that its name tells.
func TestFarListensNowhere(t *testing.T) {
	none := listening(t)
	b := newBridge(t, ServeOptions{})
	if n := listening(t); n != none+1 {
		t.Errorf("a bridge listens at %d ports", n-none)
	}
	p := newFarPeer(t, b)
	r := register(t, newOwner(t), payload(t, 4096), 0, 4096, AccessAll)
	if err := p.Read(r.Address(), make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if n := listening(t); n != none+1 {
		t.Errorf("a peer listens at %d ports", n-none-1)
	}
}

// listening is how many sockets of this process listen for connections of other hosts.
func listening(t *testing.T) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		if err != nil || listens == 0 {
			continue
		}
		if domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || domain != unix.AF_UNIX {
			n++
		}
	}
	return n
}

// A peer of another host that knows more regions than its table holds finds all of them.
func TestFarManyRegions(t *testing.T) {
	p := newFarPeer(t, newBridge(t, ServeOptions{}))
	o := newOwner(t)
	fd := payload(t, 8)
	const regions = 5000
	var all []*Region
	for range regions {
		all = append(all, register(t, o, fd, 0, 8, AccessAll))
	}
	word := make([]byte, 8)
	for range 2 {
		for _, r := range all {
			if err := p.Read(r.Address(), word); err != nil || word[1] != pattern(1) {
				t.Fatalf("region %#x: %v, %x", r.Address(), err, word)
			}
		}
	}
	if n := p.table.Len(); n >= regions {
		t.Errorf("the table has %d regions", n)
	}
}
