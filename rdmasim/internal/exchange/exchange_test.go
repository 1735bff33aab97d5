package exchange

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// memory is a Handler over bytes at address 0, with key 7.
type memory []byte

const (
	memoryKey  = 7
	outOfRange = Outcome(4)
)

func (m memory) part(at Place, n int) []byte {
	if at.Key != memoryKey || at.Address > uint64(len(m)) || uint64(n) > uint64(len(m))-at.Address {
		return nil
	}
	return m[at.Address:][:n:n]
}

func (m memory) Resolve(_ context.Context, q Question) (Description, Outcome) {
	if q.Address >= uint64(len(m)) {
		return Description{}, unknown
	}
	return Description{Length: uint64(len(m)), Key: memoryKey, Name: "memory"}, 0
}

func (m memory) Read(at Place, p []byte) Outcome {
	b := m.part(at, len(p))
	if b == nil {
		return outOfRange
	}
	copy(p, b)
	return 0
}

func (m memory) Write(at Place, p []byte) Outcome {
	b := m.part(at, len(p))
	if b == nil {
		return outOfRange
	}
	copy(b, p)
	return 0
}

func (m memory) Atomic(a Atomic) (old uint64, o Outcome) {
	b := m.part(a.Place, 8)
	if b == nil {
		return 0, outOfRange
	}
	old = binary.NativeEndian.Uint64(b)
	binary.NativeEndian.PutUint64(b, old+a.Operand)
	return old, 0
}

// loopback is a port of the kernel's choice.
var loopback = netip.MustParseAddrPort("127.0.0.1:0")

func startServer(t testing.TB, c *Credentials, h Handler) *Server {
	t.Helper()
	return startLimited(t, c, h, currentLimits())
}

func startLimited(t testing.TB, c *Credentials, h Handler, l limits) *Server {
	t.Helper()
	s, err := serve(loopback, c, h, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func openHost(t testing.TB, address string, c *Credentials) *Host {
	t.Helper()
	h, err := Open(context.Background(), address, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// fakeServer speaks TLS and then whatever it likes.
func fakeServer(t testing.TB, config *tls.Config, talk func(*tls.Conn)) (address string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	var talking sync.WaitGroup
	t.Cleanup(func() { l.Close(); talking.Wait() })
	talking.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			talking.Go(func() {
				defer conn.Close()
				talk(conn.(*tls.Conn))
			})
		}
	})
	return l.Addr().String()
}

// Transfers of every size, also by many goroutines at once, move the right bytes.
func TestTransfers(t *testing.T) {
	c := secret(t, 1)
	const share = 5 * MaxData
	there := make(memory, 4*share)
	h := openHost(t, startServer(t, c, there).Address(), c)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			mine := there[i*share:][:share]
			for _, size := range []int{0, 1, 8, 4096, MaxData - 1, MaxData, MaxData + 1, 3*MaxData + 5, share} {
				at := random.IntN(share - size + 1)
				want, got := make([]byte, size), make([]byte, size)
				for j := range want {
					want[j] = byte(random.Uint32())
				}
				place := Place{uint64(i*share + at), memoryKey}
				if o, err := h.Write(place, want); o != 0 || err != nil {
					t.Errorf("write %d bytes: %d, %v", size, o, err)
				}
				if !bytes.Equal(mine[at:][:size], want) {
					t.Errorf("%d bytes arrive as others", size)
				}
				if o, err := h.Read(place, got); o != 0 || err != nil || !bytes.Equal(got, want) {
					t.Errorf("read %d bytes: %d, %v, right %v", size, o, err, bytes.Equal(got, want))
				}
			}
		})
	}
	all.Wait()
}

// What the handler refuses is the answer of that operation, and the connection goes on.
func TestOutcomes(t *testing.T) {
	c := secret(t, 1)
	there := make(memory, 2*MaxData)
	h := openHost(t, startServer(t, c, there).Address(), c)
	for range 3 {
		large := make([]byte, 3*MaxData)
		if o, err := h.Read(Place{0, memoryKey}, large); o != outOfRange || err != nil {
			t.Errorf("read too much: %d, %v", o, err)
		}
		if o, err := h.Write(Place{0, memoryKey}, large); o != outOfRange || err != nil {
			t.Errorf("write too much: %d, %v", o, err)
		}
		if o, err := h.Read(Place{0, memoryKey + 1}, large[:8]); o != outOfRange || err != nil {
			t.Errorf("another key: %d, %v", o, err)
		}
		if _, o, err := h.Atomic(Atomic{Place: Place{2 * MaxData, memoryKey}}); o != outOfRange || err != nil {
			t.Errorf("add outside: %d, %v", o, err)
		}
		if _, o, err := h.Resolve(context.Background(), Question{Address: 2 * MaxData}); o != unknown || err != nil {
			t.Errorf("resolve outside: %d, %v", o, err)
		}
		d, o, err := h.Resolve(context.Background(), Question{Address: 5})
		if want := (Description{Length: 2 * MaxData, Key: memoryKey, Name: "memory"}); d != want || o != 0 || err != nil {
			t.Errorf("resolve: %+v, %d, %v", d, o, err)
		}
		old, o, err := h.Atomic(Atomic{Place: Place{8, memoryKey}, Operand: 1})
		if o != 0 || err != nil || old+1 != binary.NativeEndian.Uint64(there[8:]) {
			t.Errorf("add: %d, %d, %v", old, o, err)
		}
	}
}

// A lost connection is a clear error, and the next operation connects anew, to a new server as well.
func TestReconnects(t *testing.T) {
	c := secret(t, 1)
	there := make(memory, 64)
	s := startServer(t, c, there)
	h := openHost(t, s.Address(), c)
	word := make([]byte, 8)
	s.Close()
	begin := time.Now()
	for range 3 {
		if _, err := h.Read(Place{0, memoryKey}, word); !errors.Is(err, ErrGone) {
			t.Errorf("without a server: %v", err)
		}
		if _, err := h.Write(Place{0, memoryKey}, word); !errors.Is(err, ErrGone) {
			t.Errorf("without a server: %v", err)
		}
		if _, _, err := h.Resolve(context.Background(), Question{}); !errors.Is(err, ErrGone) {
			t.Errorf("without a server: %v", err)
		}
	}
	if took := time.Since(begin); took > patience/2 {
		t.Errorf("it took %v to know that there is no server", took)
	}
	again, err := Serve(netip.MustParseAddrPort(s.Address()), c, there)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if o, err := h.Write(Place{0, memoryKey}, []byte("12345678")); o != 0 || err != nil {
		t.Errorf("a new server: %d, %v", o, err)
	}
	if o, err := h.Read(Place{0, memoryKey}, word); o != 0 || err != nil || string(word) != "12345678" {
		t.Errorf("a new server: %d, %v, %q", o, err, word)
	}
}

// cutter is a Handler that ends a connection while it carries out an operation, as often as it is told to. It is at
// one operation at a time, as who has lost a connection may be at the next one before the last one has ended.
type cutter struct {
	memory
	server **Server

	mu                  sync.Mutex
	cuts                int
	reads, writes, adds int
}

// cut counts an operation and ends its connection if it is time to. The caller holds mu.
func (c *cutter) cut(count *int) {
	*count++
	if c.cuts == 0 {
		return
	}
	c.cuts--
	s := *c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.places.all() {
		k.close()
	}
}

// times sets how many operations lose their connection.
func (c *cutter) times(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cuts = n
}

func (c *cutter) Read(at Place, p []byte) Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(&c.reads)
	return c.memory.Read(at, p)
}

func (c *cutter) Write(at Place, p []byte) Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(&c.writes)
	return c.memory.Write(at, p)
}

func (c *cutter) Atomic(a Atomic) (uint64, Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(&c.adds)
	return c.memory.Atomic(a)
}

// A read whose connection is lost is repeated; a write and an atomic are not, and say so.
func TestRepeated(t *testing.T) {
	credentials := secret(t, 1)
	var s *Server
	c := &cutter{memory: make(memory, 64), server: &s}
	s = startServer(t, credentials, c)
	h := openHost(t, s.Address(), credentials)
	word := make([]byte, 8)
	at := Place{0, memoryKey}
	c.times(1)
	if o, err := h.Read(at, word); o != 0 || err != nil {
		t.Errorf("a read: %d, %v", o, err)
	}
	c.times(2)
	if _, err := h.Read(at, word); !errors.Is(err, ErrGone) {
		t.Errorf("a read that fails twice: %v", err)
	}
	c.times(1)
	if _, err := h.Write(at, word); !errors.Is(err, ErrGone) {
		t.Errorf("a write: %v", err)
	}
	c.times(1)
	if _, _, err := h.Atomic(Atomic{Place: at, Operand: 1}); !errors.Is(err, ErrGone) {
		t.Errorf("an atomic: %v", err)
	}
	if old, o, err := h.Atomic(Atomic{Place: at, Operand: 1}); old != 1 || o != 0 || err != nil {
		t.Errorf("the next atomic: %d, %d, %v", old, o, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads != 4 || c.writes != 1 || c.adds != 2 {
		t.Errorf("%d reads, %d writes and %d atomics are carried out, want 4, 1 and 2", c.reads, c.writes, c.adds)
	}
}

// slow is a Handler whose Resolve waits.
type slow struct {
	memory
	hold chan struct{}
}

func (s slow) Resolve(ctx context.Context, q Question) (Description, Outcome) {
	<-s.hold
	return s.memory.Resolve(ctx, q)
}

// An owner that doesn't answer holds up neither who asks for longer than he likes, nor what comes behind.
func TestSlowOwner(t *testing.T) {
	c := secret(t, 1)
	hold := make(chan struct{})
	h := openHost(t, startServer(t, c, slow{make(memory, 64), hold}).Address(), c)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := h.Resolve(ctx, Question{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if o, err := h.Read(Place{0, memoryKey}, make([]byte, 8)); o != 0 || err != nil {
		t.Errorf("behind a question: %d, %v", o, err)
	}
	close(hold)
	// The late reply isn't taken for the next one's.
	if _, o, err := h.Resolve(context.Background(), Question{Address: 64}); o != unknown || err != nil {
		t.Error(o, err)
	}
}

// A server that keeps silent, before the hello or after it, or in the middle of an answer, is given up.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	c := secret(t, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, l.Addr().String(), c); err == nil {
		t.Error("a server that doesn't say anything")
	}
	hello := (&message{kind: kindHello}).append(nil)
	for name, rest := range map[string][]byte{
		"after the hello":            nil,
		"in the middle of an answer": (&message{kind: kindData, tag: 1, size: 8}).append(nil),
	} {
		address := fakeServer(t, c.config(""), func(conn *tls.Conn) {
			_, _ = conn.Write(hello)
			if _, err := receive(bufio.NewReader(conn)); err == nil {
				_, _ = conn.Write(rest)
				_, _ = conn.Read(make([]byte, 1))
			}
		})
		h := openHost(t, address, c)
		begin := time.Now()
		_, err := h.transfer(message{kind: kindRead}, make([]byte, 8))
		if took := time.Since(begin); !errors.Is(err, ErrGone) || took < patience/2 || took > 3*patience {
			t.Errorf("silent %s: %v after %v", name, err, took)
		}
	}
}

// Nonsense from a server ends its connection, and nothing else.
func TestHostileServer(t *testing.T) {
	c := secret(t, 1)
	hello := (&message{kind: kindHello}).append(nil)
	for name, answer := range map[string][]byte{
		"an unknown kind":      {99, 0, 0, 0},
		"a request":            (&message{kind: kindRead, tag: 1, size: 8}).append(nil),
		"the wrong answer":     (&message{kind: kindDone, tag: 1}).append(nil),
		"less data":            append((&message{kind: kindData, tag: 1, size: 4}).append(nil), 1, 2, 3, 4),
		"more data":            append((&message{kind: kindData, tag: 1, size: 16}).append(nil), make([]byte, 16)...),
		"a hello again":        hello,
		"a message too long":   {7, 0, 255, 255},
		"an end in the middle": {7, 0, 12},
		"an end":               {},
	} {
		address := fakeServer(t, c.config(""), func(conn *tls.Conn) {
			_, _ = conn.Write(hello)
			_, _ = receive(bufio.NewReader(conn))
			_, _ = conn.Write(answer)
		})
		h := openHost(t, address, c)
		p := []byte("untouch")
		if _, err := h.Read(Place{}, append(p, 'd')); !errors.Is(err, ErrGone) && !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
		if string(p) != "untouch" {
			t.Errorf("%s: the memory is %q", name, p)
		}
	}
	// What nobody has asked for ends the connection, and so its server can't keep a client busy with it for ever.
	for name, answer := range map[string]*message{
		"data": {kind: kindData, tag: 77, size: 9}, "a reply": {kind: kindReply, tag: 77, outcome: unknown},
		"a done": {kind: kindDone, tag: 77},
	} {
		address := fakeServer(t, c.config(""), func(conn *tls.Conn) {
			_, _ = conn.Write(hello)
			_, _ = receive(bufio.NewReader(conn))
			for range 1 << 20 {
				if _, err := conn.Write(append(answer.append(nil), make([]byte, answer.size)...)); err != nil {
					return
				}
			}
		})
		if _, err := openHost(t, address, c).Write(Place{}, make([]byte, 4)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s that nobody has asked for: %v", name, err)
		}
	}
}

// A server answers a few questions of a connection at a time and ends the connection of who asks more. A host that
// is asked more often waits for its turn, also where who asked first has given up.
func TestManyQuestions(t *testing.T) {
	c := secret(t, 1)
	hold := make(chan struct{})
	h := openHost(t, startServer(t, c, slow{make(memory, 64), hold}).Address(), c)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	var asking sync.WaitGroup
	for range 4 * maxResolves {
		asking.Go(func() {
			if _, _, err := h.Resolve(ctx, Question{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a question to a slow owner: %v", err)
			}
		})
	}
	asking.Wait()
	first, err := h.client(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * maxResolves {
		asking.Go(func() {
			if d, o, err := h.Resolve(context.Background(), Question{}); o != 0 || err != nil || d.Key != memoryKey {
				t.Errorf("a question in its turn: %+v, %d, %v", d, o, err)
			}
		})
	}
	close(hold)
	asking.Wait()
	if o, err := h.Write(Place{0, memoryKey}, make([]byte, 8)); o != 0 || err != nil {
		t.Errorf("behind the questions: %d, %v", o, err)
	}
	if k, err := h.client(context.Background(), 0); k != first || err != nil {
		t.Errorf("the connection has ended meanwhile (%v)", err)
	}
}

// Garbage from an authenticated client ends its connection and nothing else.
func TestGarbage(t *testing.T) {
	c := secret(t, 1)
	s := startServer(t, c, make(memory, 64))
	for _, garbage := range [][]byte{
		{0, 0, 0, 0}, {2, 0, 1, 0, 9}, {2, 0, 255, 255}, {1, 0, 0, 0}, {3, 0, 8, 0, 1, 0, 0, 0, 1, 0, 0, 0},
		bytes.Repeat([]byte{0xff}, 4096), (&message{kind: kindData, size: 8}).append(nil),
		(&message{kind: kindDone}).append(nil), (&message{kind: kindHello}).append(nil),
		(&message{kind: kindRead, size: MaxData + 1}).append(nil),
	} {
		conn, err := tls.Dial("tcp", s.Address(), c.config("127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := receive(bufio.NewReader(conn)); err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(garbage)
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if m, err := receive(bufio.NewReader(conn)); err == nil || os.IsTimeout(err) {
			t.Errorf("%x is answered by %+v, %v", garbage, m, err)
		}
		conn.Close()
	}
	if _, _, err := openHost(t, s.Address(), c).Resolve(context.Background(), Question{}); err != nil {
		t.Error(err)
	}
}

// After Close nothing is left, and every method fails.
func TestNothingLeft(t *testing.T) {
	c := secret(t, 1)
	before := runtime.NumGoroutine()
	s := startServer(t, c, make(memory, 4*MaxData))
	h := openHost(t, s.Address(), c)
	if o, err := h.Read(Place{0, memoryKey}, make([]byte, 4*MaxData)); o != 0 || err != nil {
		t.Fatal(o, err)
	}
	h.Close()
	h.Close()
	if _, err := h.Read(Place{}, nil); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
	s.Close()
	s.Close()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}
