package exchange_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"farside/internal/memfd"
	"farside/rdmasim"
	"farside/rdmasim/internal/exchange"
)

// direction is which bytes of a session are replayed, and to whom.
type direction uint8

const (
	rawToBridge   direction = iota // what a client sent, as it was on the wire, without credentials
	rawToPeer                      // what a bridge sent, likewise
	toBridge                       // what a client sent inside of TLS, with credentials and the region's key
	keylessBridge                  // the same without the key
	toPeer                         // what a bridge sent inside of TLS, with credentials
	directions
)

const sceneSize = 8192

// What stands in recorded traffic for the region's address and key, which are others in each process.
var (
	addressMark = []byte{0xfe, 0xca, 0x41}
	keyMark     = []byte("the key!")
)

// scene is a bridge with a region that strangers attack and another one that an honest peer uses meanwhile.
type scene struct {
	t           testing.TB
	credentials *exchange.Credentials
	bridge      *rdmasim.Bridge
	attacked    *rdmasim.Region
	honest      *rdmasim.Region
	peer        *rdmasim.Peer
	turn        byte
	goroutines  int
	descriptors int
	inputs      int
}

func newScene(t testing.TB) *scene {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "secret")
	must(os.WriteFile(file, bytes.Repeat([]byte("traffic"), 8), 0o600))
	t.Setenv("FARSIDE_FABRIC_SECRET_FILE", file)
	s := &scene{t: t}
	var err error
	s.credentials, err = exchange.LoadCredentials(file)
	must(err)
	o, err := rdmasim.NewOwner()
	must(err)
	t.Cleanup(func() { o.Close() })
	register := func() *rdmasim.Region {
		payload, err := memfd.Create(memfd.Spec{Name: "payload", Size: sceneSize, Mode: memfd.Private})
		must(err)
		t.Cleanup(func() { payload.Close() })
		r, err := o.Register(payload.Int(), 0, sceneSize, rdmasim.Attributes{Access: rdmasim.AccessAll})
		must(err)
		return r
	}
	s.attacked, s.honest = register(), register()
	s.bridge, err = rdmasim.Serve(rdmasim.ServeOptions{})
	must(err)
	t.Cleanup(func() { s.bridge.Close() })
	s.peer, err = rdmasim.Open(context.Background(), s.bridge.Fabric())
	must(err)
	t.Cleanup(func() { s.peer.Close() })
	s.check()
	return s
}

// use does one of each operation, of which it gives the errors.
func use(p *rdmasim.Peer, r *rdmasim.Region) error {
	a := r.Address()
	_, resolved := p.ResolveKey(context.Background(), a, r.Key())
	b := make([]byte, 3000)
	read, written := p.Read(a+1, b), p.Write(a+9, b)
	_, added := p.FetchAdd64(a, 1)
	_, swapped := p.CompareSwap32(a+4, 1, 2)
	return errors.Join(resolved, read, written, added, swapped, p.Read(a+sceneSize, b[:1]))
}

// check makes sure that the honest peer has the right bytes and, now and then, that nothing piles up.
func (s *scene) check() {
	s.turn++
	want, got := bytes.Repeat([]byte{s.turn}, sceneSize), make([]byte, sceneSize)
	if err := errors.Join(s.peer.Write(s.honest.Address(), want), s.peer.Read(s.honest.Address(), got)); err != nil {
		s.t.Errorf("the honest peer: %v", err)
	}
	if !bytes.Equal(got, want) {
		s.t.Error("the honest peer gets other bytes than it wrote")
	}
	if s.inputs++; s.inputs%100 != 1 {
		return
	}
	if s.goroutines == 0 {
		s.goroutines, s.descriptors = runtime.NumGoroutine(), descriptors(s.t)
	}
	const few = 8 // that come and go
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		g, d := runtime.NumGoroutine(), descriptors(s.t)
		if g <= s.goroutines+few && d <= s.descriptors+few {
			break
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d goroutines and %d descriptors, %d and %d before", g, d, s.goroutines, s.descriptors)
		}
	}
	var memory runtime.MemStats
	runtime.GC()
	if runtime.ReadMemStats(&memory); memory.HeapAlloc > 256<<20 {
		s.t.Fatalf("%d bytes on the heap", memory.HeapAlloc)
	}
}

func descriptors(t testing.TB) int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// address and key are the bytes for which the marks stand.
func (s *scene) address() []byte {
	return binary.LittleEndian.AppendUint64(nil, s.attacked.Address())[5:]
}
func (s *scene) key() []byte { return binary.LittleEndian.AppendUint64(nil, s.attacked.Key()) }

func (s *scene) mark(stream []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(stream, s.key(), keyMark), s.address(), addressMark)
}

// record does a session through a proxy, on the wire and inside of TLS, and returns the bytes by direction.
func (s *scene) record() map[direction][]byte {
	s.t.Helper()
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	config := s.credentials.Config("127.0.0.1")
	upClear, downClear := s.proxy(raw, func() (net.Conn, error) { return net.Dial("tcp", s.bridge.Address()) })
	inside, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		s.t.Fatal(err)
	}
	upInside,
		downInside := s.proxy(inside, func() (net.Conn, error) { return tls.Dial("tcp", s.bridge.Address(), config) })
	return map[direction][]byte{rawToBridge: upClear, rawToPeer: downClear, toBridge: s.mark(upInside),
		keylessBridge: s.mark(upInside), toPeer: s.mark(downInside)}
}

// proxy passes one connection on to the bridge while a peer uses it, and returns what went up and down.
func (s *scene) proxy(l net.Listener, dial func() (net.Conn, error)) (up, down []byte) {
	s.t.Helper()
	var passing sync.WaitGroup
	passing.Go(func() {
		client, err := l.Accept()
		l.Close()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := dial()
		if err != nil {
			return
		}
		defer server.Close()
		var upward, downward bytes.Buffer
		passing.Go(func() {
			_, _ = io.Copy(io.MultiWriter(server, &upward), client)
			up = upward.Bytes()
			server.Close()
		})
		_, _ = io.Copy(io.MultiWriter(client, &downward), server)
		down = downward.Bytes()
	})
	p, err := rdmasim.Open(context.Background(), "tls://"+l.Addr().String()+"/")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := use(p, s.attacked); !errors.Is(err, rdmasim.ErrUnknownAddress) {
		s.t.Fatalf("a session through a proxy: %v", err)
	}
	p.Close()
	passing.Wait()
	return up, down
}

// contents is what is in the attacked region.
func (s *scene) contents() []byte {
	b := make([]byte, sceneSize)
	if err := s.peer.Read(s.attacked.Address(), b); err != nil {
		s.t.Errorf("the honest peer: %v", err)
	}
	return b
}

// replay sends a stream to where it belongs and looks after the honest peer.
func (s *scene) replay(d direction, stream []byte) {
	if d != keylessBridge && d != rawToBridge && d != rawToPeer {
		stream = bytes.ReplaceAll(stream, keyMark, s.key())
	}
	stream = bytes.ReplaceAll(stream, addressMark, s.address())
	config := s.credentials.Config("127.0.0.1")
	before := s.contents()
	defer func() {
		if d != toBridge && d != toPeer && !bytes.Equal(before, s.contents()) {
			s.t.Error("the region changes although nobody has its key")
		}
	}()
	switch d {
	case rawToBridge:
		if conn, err := net.Dial("tcp", s.bridge.Address()); err == nil {
			send(conn, stream)
		}
	case toBridge, keylessBridge:
		if conn, err := tls.Dial("tcp", s.bridge.Address(), config); err == nil {
			send(conn, stream)
		} else {
			s.t.Errorf("a client with credentials: %v", err)
		}
	case rawToPeer, toPeer:
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.t.Fatal(err)
		}
		var sending sync.WaitGroup
		sending.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				if d == toPeer {
					conn = tls.Server(conn, config)
				}
				sending.Go(func() { send(conn, stream) })
			}
		})
		p, err := rdmasim.Open(context.Background(), "tls://"+l.Addr().String()+"/")
		if err == nil {
			_ = use(p, s.attacked)
			p.Close()
		}
		if err == nil && d == rawToPeer {
			s.t.Error("a peer believes a bridge that proves nothing")
		}
		l.Close()
		sending.Wait()
	}
	s.check()
}

// send sends a stream, says that there is no more, and takes what comes until the other side ends.
func send(conn net.Conn, stream []byte) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	var receiving sync.WaitGroup
	receiving.Go(func() { _, _ = io.Copy(io.Discard, conn) })
	_, _ = conn.Write(stream)
	_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	receiving.Wait()
}

// mutate changes, drops, repeats and moves bytes, as many as the generator likes.
func mutate(random *rand.Rand, stream []byte) []byte {
	b := bytes.Clone(stream)
	for range 1 + random.IntN(4) {
		if len(b) == 0 {
			break
		}
		i := random.IntN(len(b))
		j := min(len(b), i+1+random.IntN(16))
		switch random.IntN(6) {
		case 0:
			b[i] ^= 1 << random.IntN(8)
		case 1:
			b[i] = []byte{0, 1, 0x7f, 0x80, 0xff}[random.IntN(5)]
		case 2:
			b = append(b[:i], b[j:]...)
		case 3:
			b = append(b[:j:j], b[i:]...)
		case 4:
			for k := range b[i:j] {
				b[i+k] = byte(random.Uint32())
			}
		case 5:
			b = b[:j]
		}
	}
	return b
}

// FuzzTraffic (attack 2): no bytes on a connection, with credentials or without, end a bridge's process or a
// peer's, make it grow, or come in the way of others. Its seeds are sessions as they were on the wire and
// inside of TLS.
func FuzzTraffic(f *testing.F) {
	s := newScene(f)
	for d, stream := range s.record() {
		f.Add(uint8(d), stream)
	}
	f.Fuzz(func(t *testing.T, d uint8, stream []byte) {
		s.t = t
		defer func() { s.t = f }()
		s.replay(direction(d)%directions, stream)
	})
}

// TestTraffic is a little of FuzzTraffic in every run of the tests.
func TestTraffic(t *testing.T) {
	s := newScene(t)
	recorded := s.record()
	random := rand.New(rand.NewPCG(2, 3))
	for d, stream := range recorded {
		if len(stream) < 500 {
			t.Fatalf("direction %d: %d bytes are recorded", d, len(stream))
		}
	}
	for i := range 400 {
		d := direction(i) % directions
		if d == rawToPeer && i%50 != int(d) {
			continue // a peer tries several times, with pauses
		}
		s.replay(d, mutate(random, recorded[d]))
	}
}
