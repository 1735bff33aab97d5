package exchange

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// strangers is how many connections a server has that have not proved anything.
func (s *Server) strangers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.places.strangers)
}

func connect(t *testing.T, s *Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Connections that never prove anything take no place from a peer, of the same address neither, however many
// they are, and go after a few seconds.
func TestIdleConnectionsLockNobodyOut(t *testing.T) {
	t.Parallel()
	c := secret(t, 1)
	limit := limitsFor(1024)
	s := startLimited(t, c, make(memory, 64), limit)
	first := openHost(t, s.Address(), c)
	for range 1200 {
		connect(t, s)
	}
	if n := s.strangers(); n > limit.strangers {
		t.Errorf("%d strangers have a place, the limit is %d", n, limit.strangers)
	}
	word := make([]byte, 8)
	for range 5 {
		h := openHost(t, s.Address(), c)
		if o, err := h.Read(Place{0, memoryKey}, word); o != 0 || err != nil {
			t.Errorf("a new peer: %d, %v", o, err)
		}
	}
	if o, err := first.Read(Place{0, memoryKey}, word); o != 0 || err != nil {
		t.Errorf("a peer that was there: %d, %v", o, err)
	}
	for deadline := time.Now().Add(3 * handshakeTime); s.strangers() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v, %d strangers are there", 3*handshakeTime, s.strangers())
		}
	}
}

// One that sends a byte now and then has no more time than one that sends nothing.
func TestSlowHandshake(t *testing.T) {
	t.Parallel()
	s := startServer(t, secret(t, 1), make(memory, 64))
	conn := connect(t, s)
	begin := time.Now()
	go func() {
		// The head of a record with a client's hello of 512 bytes, and a part of it.
		for _, b := range append([]byte{22, 3, 1, 2, 0, 1, 0, 1, 252}, make([]byte, 400)...) {
			if _, err := conn.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	_, _ = io.ReadAll(conn)
	if took := time.Since(begin); took > 2*handshakeTime {
		t.Errorf("it takes %v to end a slow handshake", took)
	}
}

// An authenticated peer that is idle stays.
func TestIdlePeerStays(t *testing.T) {
	t.Parallel()
	c := secret(t, 1)
	s := startServer(t, c, make(memory, 64))
	h := openHost(t, s.Address(), c)
	k := h.lanes[0].client.Load()
	time.Sleep(patience + handshakeTime)
	if !k.alive() {
		t.Error("the connection has ended")
	}
}

// Authenticated peers are bounded, and who gets no place is told so.
func TestClientsAreBounded(t *testing.T) {
	c := secret(t, 1)
	s := startLimited(t, c, make(memory, 64), limits{strangers: 8, clients: 6})
	var hosts []*Host
	for range share(6) {
		hosts = append(hosts, openHost(t, s.Address(), c))
	}
	if _, err := Open(context.Background(), s.Address(), c); !errors.Is(err, ErrBusy) {
		t.Errorf("one peer too many: %v", err)
	}
	hosts[0].Close()
	for deadline := time.Now().Add(10 * time.Second); ; {
		h, err := Open(context.Background(), s.Address(), c)
		if err == nil {
			h.Close()
			break
		}
		if !errors.Is(err, ErrBusy) || time.Now().After(deadline) {
			t.Fatalf("after one has left: %v", err)
		}
	}
	// Without a place for more connections, large transfers use one.
	if o, err := hosts[1].Read(Place{MaxData, memoryKey}, make([]byte, 4*MaxData)); o != outOfRange || err != nil {
		t.Errorf("a large transfer: %d, %v", o, err)
	}
}

func TestPlaces(t *testing.T) {
	const limit = 8
	a, b := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
	d := netip.MustParsePrefix("2001:db8::/64")
	p := places{limits: limits{strangers: limit, clients: limit}, clients: map[*connection]struct{}{}}
	come := func(from netip.Prefix) (c, out *connection) {
		c = &connection{channel: newChannel(nil), from: from}
		return c, p.admit(c)
	}
	first, _ := come(a)
	for range share(limit) - 1 {
		if _, out := come(a); out != nil {
			t.Fatal("a place is taken away although there are free ones")
		}
	}
	if _, out := come(a); out != first {
		t.Error("the oldest of an address stays although it has more than its share")
	}
	p.strangers[0].stream.spoken.Store(true)
	second := p.strangers[1]
	if _, out := come(a); out != second {
		t.Error("who has sent something has to go before one who hasn't")
	}
	second = p.strangers[1]
	come(b)
	for range limit - share(limit) - 1 {
		if _, out := come(d); out != nil {
			t.Fatal("a place is taken away although there are free ones")
		}
	}
	if _, out := come(b); out != second {
		t.Errorf("when all are taken, %v has to go, want the oldest of the address that has most", out.from)
	}
	if len(p.strangers) != limit {
		t.Errorf("%d strangers, the limit is %d", len(p.strangers), limit)
	}
	for range 2 * limit {
		come(b)
		p.strangers[len(p.strangers)-1].stream.spoken.Store(true)
	}
	if len(p.strangers) != limit {
		t.Errorf("%d strangers that have sent something, the limit is %d", len(p.strangers), limit)
	}
	if known, _ := p.promote(second); known {
		t.Error("one that had to go becomes a client")
	}
	for i := range limit {
		c, _ := come(a)
		if known, room := p.promote(c); !known || room != (i < share(limit)) {
			t.Errorf("client %d of an address: known %v, room %v", i, known, room)
		}
	}
	for i := range limit {
		c, _ := come(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 32))
		if _, room := p.promote(c); room != (i < limit-share(limit)) {
			t.Errorf("client %d of other addresses: room %v", i, room)
		}
	}
}

func TestSource(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:5": "192.0.2.1/32", "[::ffff:192.0.2.1]:5": "192.0.2.1/32", "[2001:db8::1:2:3:4]:5": "2001:db8::/64",
		"[fe80::1%lo]:5": "fe80::/64",
	} {
		if got := sourceOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))); got.String() != want {
			t.Errorf("%s counts as %v, want %s", address, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	for descriptors, want := range map[uint64]limits{
		16: {8, 8}, 1024: {64, 256}, 20000: {256, 1024}, 1 << 63: {256, 1024},
	} {
		if got := limitsFor(descriptors); got != want {
			t.Errorf("of %d descriptors: %+v, want %+v", descriptors, got, want)
		}
	}
}

// counter is a Handler that counts questions.
type counter struct {
	memory
	questions chan struct{}
}

func (c counter) Resolve(ctx context.Context, q Question) (Description, Outcome) {
	c.questions <- struct{}{}
	return c.memory.Resolve(ctx, q)
}

// A client that asks without end and doesn't read the answers is put out: those that wait for room count, too.
func TestQuestionsWithoutReading(t *testing.T) {
	c := secret(t, 1)
	asked := counter{make(memory, 64), make(chan struct{}, 8*maxResolves)}
	s := startServer(t, c, asked)
	conn, err := tls.Dial("tcp", s.Address(), c.config("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := receive(bufio.NewReader(conn)); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, conn)
	}()
	// With the start of the next question the server does not send before it takes the rest.
	question := (&message{kind: kindResolve}).append(nil)
	if _, err := conn.Write(append(question, question[0])); err != nil {
		t.Fatal(err)
	}
	<-asked.questions
	s.mu.Lock()
	for k := range s.places.clients {
		k.sending.Lock() // as the one has that waits for room
		defer k.sending.Unlock()
	}
	s.mu.Unlock()
	for n := 0; err == nil; n++ {
		if n == 4*maxResolves {
			t.Fatalf("%d questions are taken, although no answer can leave", n)
		}
		if _, err = conn.Write(append(question[1:len(question):len(question)], question[0])); err != nil {
			break
		}
		select {
		case <-asked.questions:
		case <-gone:
			return
		case <-time.After(10 * patience):
			t.Fatal("the client stays connected")
		}
	}
}
