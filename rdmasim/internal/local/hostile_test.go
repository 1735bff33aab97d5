package local

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/memfd"
	"farside/internal/socket"
	"farside/rdmasim/internal/verbs"
)

// impostor answers to an owner's id as a test says.
type impostor struct {
	t       *testing.T
	id      uint32
	base    uint64 // an address of his
	file    int    // the control page's descriptor, of 1024 words
	control []byte
}

// newImpostor lets serve have each connection, which has been greeted, and hangs up when it returns.
func newImpostor(t *testing.T, serve func(i *impostor, c *client)) *impostor {
	t.Helper()
	i := &impostor{t: t, id: rand.Uint32N(1 << verbs.IDBits)}
	i.base = verbs.MakeAddress(i.id, 1<<20)
	l, err := socket.ListenPacket(socketName(i.id))
	if err != nil {
		t.Fatal(err)
	}
	file, control, err := memfd.CreateMapped("control", 8192)
	if err != nil {
		t.Fatal(err)
	}
	i.file, i.control = file.Int(), control
	word(control, 0).Store(ownerServing)
	word(control, 8).Store(1)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.AcceptConn()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				c := &client{conn: conn}
				if c.send(message{kind: kindHello, slot: 1024}, i.file) == nil {
					serve(i, c)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
		unix.Munmap(control)
		file.Close()
	})
	return i
}

// region is a good reply to the peer's first request for a region.
func (i *impostor) region() message {
	return message{kind: kindReply, tag: 1, base: i.base, length: 4096, slot: 1, access: verbs.AccessAll, generation: 1}
}

// request takes packets until one asks for a region, and says whether there was one.
func (c *client) request() bool {
	var b [requestSize]byte
	for {
		n, err := c.conn.Read(b[:])
		if err != nil || n == 0 {
			return false
		}
		if q, err := decodeRequest(b[:n]); err == nil && q.kind == kindResolve {
			return true
		}
	}
}

// An owner that lies is caught before anything is mapped.
func TestLyingOwner(t *testing.T) {
	fd := payload(t, 8192)
	for name, lie := range map[string]func(*message){
		"longer than the payload": func(m *message) { m.length = 8193 },
		"offset behind the end":   func(m *message) { m.offset = 8192 },
		"huge length":             func(m *message) { m.length = 1 << 63 },
		"other owner":             func(m *message) { m.base ^= 1 << verbs.OffsetBits },
		"elsewhere":               func(m *message) { m.base += 8192 },
		"slot outside":            func(m *message) { m.slot = 1024 },
		"owner's slot":            func(m *message) { m.slot = 0 },
		"even generation":         func(m *message) { m.generation = 2 },
		"page offset":             func(m *message) { m.offset = 8 },
		"kind":                    func(m *message) { m.kind = 77 },
	} {
		i := newImpostor(t, func(i *impostor, c *client) {
			c.request()
			m := i.region()
			lie(&m)
			c.send(m, fd)
			c.request() // until the peer has read the answer and gone
		})
		p := newPeer(t)
		if err := p.read(i.base, make([]byte, 8)); !errors.Is(err, verbs.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		p.close()
	}
}

// A payload is a memfd that is as long as the region and stays so, or the peer maps nothing. Nothing is left open.
func TestWrongPayloads(t *testing.T) {
	small, whole, readOnly := payload(t, 4095), payload(t, 4096), payload(t, 4096)
	unsealed := loose(t, 4096)
	if _, err := unix.FcntlInt(uintptr(readOnly), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE); err != nil {
		t.Fatal(err)
	}
	open := func(name string, flags int) int {
		fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(event)
	fds := map[string]int{
		"too small": small, "not sealed": unsealed, "sealed against writing": readOnly,
		"opened for reading": open(fmt.Sprintf("/proc/self/fd/%d", whole), unix.O_RDONLY),
		"a path":             open(fmt.Sprintf("/proc/self/fd/%d", whole), unix.O_PATH),
		"a directory":        open(t.TempDir(), unix.O_RDONLY),
		"zeros":              open("/dev/zero", unix.O_RDWR),
		"a file":             open(filepath.Join(t.TempDir(), "file"), unix.O_RDWR|unix.O_CREAT),
		"an event":           event,
	}
	newPeer(t).read(verbs.MakeAddress(1, 4096), nil) // makes the poller
	for name, fd := range fds {
		i := newImpostor(t, func(i *impostor, c *client) {
			c.request()
			c.send(i.region(), fd)
			c.request()
		})
		before := countFDs()
		p := newPeer(t)
		if err := p.read(i.base, make([]byte, 8)); !errors.Is(err, verbs.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		p.close()
		eventually(t, name+": descriptors closed", func() bool { return countFDs() <= before })
	}
}

// Descriptors that an owner sends in wrong places and numbers don't stay with the peer (attacks 9).
func TestPeerKeepsNoDescriptors(t *testing.T) {
	fd := payload(t, 4096)
	newPeer(t).read(verbs.MakeAddress(1, 4096), nil) // makes the poller
	for _, n := range []int{1, 2, 12, 13, 253} {
		for name, packet := range map[string]func(i *impostor) []byte{
			"reply":   func(i *impostor) []byte { return i.region().encode() },
			"refusal": func(i *impostor) []byte { return message{kind: kindReply, tag: 1, status: wireFreed}.encode() },
			"another's reply": func(i *impostor) []byte {
				m := i.region()
				m.tag = 9
				return m.encode()
			},
			"notice":   func(i *impostor) []byte { return message{kind: kindRevoked, base: i.base}.encode() },
			"greeting": func(i *impostor) []byte { return message{kind: kindHello, slot: 1024}.encode() },
			"garbage":  func(i *impostor) []byte { return []byte("garbage") },
			"nothing":  func(i *impostor) []byte { return nil },
		} {
			i := newImpostor(t, func(i *impostor, c *client) {
				c.request()
				sendRaw(t, c.conn, packet(i), more(fd, n))
				if name == "reply" {
					c.request() // until the peer has gone
				}
			})
			before := countFDs()
			p := newPeer(t)
			if err := p.read(i.base, make([]byte, 8)); (err == nil) != (name == "reply" && n == 1) {
				t.Errorf("%s with %d descriptors: %v", name, n, err)
			}
			p.close()
			eventually(t, fmt.Sprintf("%s with %d: descriptors closed", name, n), func() bool { return countFDs() <= before })
		}
	}
}

// An owner that greets and doesn't answer, or doesn't greet, costs the time that the caller gives it, and nobody
// else any.
func TestSilentOwner(t *testing.T) {
	o := newOwner(t)
	good := register(t, o, payload(t, 4096), 0, 4096, verbs.AccessAll)
	i := newImpostor(t, func(i *impostor, c *client) {
		for c.request() {
		}
	})
	const mute = 0x77777
	l, err := socket.ListenPacket(socketName(mute))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // accepts nobody
	p := newPeer(t)
	for _, address := range []uint64{i.base, verbs.MakeAddress(mute, 4096)} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		asked := make(chan error)
		go func() {
			_, err := p.Resolve(ctx, address, 0, 0)
			asked <- err
		}()
		if err := p.read(good.Address(), make([]byte, 8)); err != nil {
			t.Error(err)
		}
		wantErr(t, <-asked, context.DeadlineExceeded)
		cancel()
	}
	begin := time.Now()
	p.close()
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("the peer's end took %v", d)
	}
}

// An owner can't keep a peer busy: it has one reply for each request and one notice for each region.
func TestFloodingOwner(t *testing.T) {
	fd := payload(t, 4096)
	for name, flood := range map[string]func(i *impostor) message{
		"replies":   func(i *impostor) message { return i.region() },
		"notices":   func(i *impostor) message { return message{kind: kindRevoked, base: i.base} },
		"greetings": func(i *impostor) message { return message{kind: kindHello, slot: 1024} },
	} {
		hungUp := make(chan int, 1)
		i := newImpostor(t, func(i *impostor, c *client) {
			c.request()
			c.send(i.region(), fd)
			sent := 0
			for sent < 1_000_000 && c.send(flood(i)) == nil {
				sent++
			}
			hungUp <- sent
		})
		p := newPeer(t)
		if err := p.read(i.base, make([]byte, 8)); err != nil && !errors.Is(err, verbs.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		if sent := <-hungUp; sent > 10_000 {
			t.Errorf("%s: the peer took %d", name, sent)
		}
		eventually(t, name+": the region is closed", func() bool { return p.table.Len() == 0 })
	}
}

// What an owner writes into its control page is true, freed or dead to the peer, and never more than that. A hole in
// the payload is zeros.
func TestLyingControlPage(t *testing.T) {
	fd := payload(t, 4096)
	i := newImpostor(t, func(i *impostor, c *client) {
		for c.request() {
			c.send(i.region(), fd)
		}
	})
	p := newPeer(t)
	v := p.view(t, i.base)
	if err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var lying sync.WaitGroup
	lying.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				word(i.control, 8).Store(rand.Uint64N(3))
				word(i.control, 0).Store(ownerServing + rand.Uint64N(2)<<32 + rand.Uint64N(2))
			}
		}
	})
	b := make([]byte, 4096)
	for range 10000 {
		err := errors.Join(v.Read(0, b), v.Write(8, b[:8]))
		if err != nil && !errors.Is(err, verbs.ErrFreed) && !errors.Is(err, verbs.ErrOwnerDied) {
			t.Fatal(err)
		}
	}
	close(stop)
	lying.Wait()
	word(i.control, 0).Store(ownerServing)
	word(i.control, 8).Store(1)
	if err := v.Read(16, b[:100]); err != nil || b[50] != 0 {
		t.Errorf("the truth again: %v, %d", err, b[50])
	}
}

// Owners that greet wrongly: another version, no control page, one that could be cut short, nothing at all.
func TestWrongGreetings(t *testing.T) {
	const id = 0x54321
	l, err := socket.ListenPacket(socketName(id))
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
		"version":    {future, []int{payload(t, 4096)}, verbs.ErrProtocol},
		"no page":    {good.encode(), nil, verbs.ErrProtocol},
		"not sealed": {good.encode(), []int{loose}, verbs.ErrProtocol},
		"short page": {good.encode(), []int{payload(t, 4095)}, verbs.ErrProtocol},
		"not hello":  {message{kind: kindReply}.encode(), nil, verbs.ErrProtocol},
		"busy":       {message{kind: kindHello, status: wireBusy}.encode(), nil, verbs.ErrResources},
		"denied":     {message{kind: kindHello, status: wireDenied}.encode(), nil, verbs.ErrPermission},
		"hangs up":   {nil, nil, verbs.ErrOwnerDied},
	} {
		p := newPeer(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			conn, err := l.AcceptConn()
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
				conn.WriteMsg(c.packet, rights)
			}
		})
		_, err := p.find(verbs.MakeAddress(id, 4096))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		wg.Wait()
		p.close()
	}
}
