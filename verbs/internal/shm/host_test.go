package shm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd/fdtest"
	"farside/verbs/internal/fabric"
)

var home = netip.MustParseAddr("127.0.0.1")

// inbox is a receiver that keeps what arrives.
type inbox struct {
	mu       sync.Mutex
	packets  []fabric.Packet
	arrived  chan struct{} // a token for each packet, as far as there's room
	writable chan struct{}
	down     chan struct{}
}

func newInbox() *inbox {
	return &inbox{arrived: make(chan struct{}, 1<<16), writable: make(chan struct{}, 1<<16), down: make(chan struct{}, 16)}
}

func (i *inbox) Receive(from *fabric.Source, header, payload []byte) {
	i.mu.Lock()
	i.packets = append(i.packets, fabric.Packet{Source: *from, Header: bytes.Clone(header), Payload: bytes.Clone(payload)})
	i.mu.Unlock()
	i.arrived <- struct{}{}
}

// packet is what arrived as the nth.
func (i *inbox) packet(n int) fabric.Packet {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.packets[n]
}

func (i *inbox) Writable(fabric.Path) {
	select {
	case i.writable <- struct{}{}:
	default:
	}
}
func (i *inbox) Down(fabric.Path) { i.down <- struct{}{} }

func within(t *testing.T, c chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatalf("no %s", what)
	}
}

func open(t *testing.T, r fabric.Receiver) *Host {
	t.Helper()
	h, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	h.Attach(r)
	t.Cleanup(h.Close)
	return h
}

// send sends once there is room.
func send(t *testing.T, p *Path, header []byte, payload ...[]byte) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Microsecond) {
		err := p.Send(header, payload)
		if err == nil {
			return
		}
		if !errors.Is(err, fabric.ErrFull) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestPackets sends packets of all sizes both ways and to itself, with and without a thread that polls.
func TestPackets(t *testing.T) {
	fdtest.NoLeaks(t)
	for _, poll := range []bool{false, true} {
		in := []*inbox{newInbox(), newInbox()}
		hosts := []*Host{open(t, in[0]), open(t, in[1])}
		done := make(chan struct{})
		var pollers sync.WaitGroup
		if poll {
			for _, h := range hosts {
				pollers.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
							h.Poll()
						}
					}
				})
			}
		}
		for from, to := range map[int]int{0: 1, 1: 0} {
			for _, to := range []int{to, from} {
				testStream(t, hosts[from], hosts[to], in[to])
			}
		}
		close(done)
		pollers.Wait()
		for _, h := range hosts {
			h.Close()
		}
	}
}

func testStream(t *testing.T, from, to *Host, in *inbox) {
	t.Helper()
	qpn, err := to.QPN()
	if err != nil {
		t.Fatal(err)
	}
	remote := netip.MustParseAddr("fe80::1")
	p, err := from.Path(home, remote, qpn)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	bytesOf := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	var sent []fabric.Packet
	for i := range 300 {
		header, payload := bytesOf(1+rng.IntN(fabric.HeaderMax)), bytesOf(rng.IntN(maxPayload+1)>>rng.IntN(17))
		if i == 0 {
			payload = bytesOf(maxPayload)
		}
		cut := rng.IntN(len(payload) + 1)
		send(t, p, header, payload[:cut], payload[cut:])
		sent = append(sent, fabric.Packet{Header: header, Payload: payload})
	}
	for range sent {
		within(t, in.arrived, "packet")
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, want := range sent {
		got := in.packets[i]
		if !bytes.Equal(got.Header, want.Header) || !bytes.Equal(got.Payload, want.Payload) {
			t.Fatalf("packet %d of %d bytes came as one of %d bytes", i, len(want.Payload), len(got.Payload))
		}
		if got.Remote != home || got.Local != remote {
			t.Fatalf("packet %d came from %v to %v", i, got.Remote, got.Local)
		}
	}
	in.packets = nil
	if err := p.Send(nil, [][]byte{make([]byte, maxPayload+1)}); err == nil {
		t.Error("a packet that is too long was sent")
	}
}

// blocked is a receiver that takes nothing until it may.
type blocked struct {
	*inbox
	may sync.Mutex
}

func (b *blocked) Receive(from *fabric.Source, header, payload []byte) {
	b.may.Lock()
	defer b.may.Unlock()
	b.inbox.Receive(from, header, payload)
}

// TestFull has a sender learn that there is room again, and lose nothing.
func TestFull(t *testing.T) {
	in := &blocked{inbox: newInbox()}
	sender := newInbox()
	from, to := open(t, sender), open(t, in)
	qpn, _ := to.QPN()
	p, err := from.Path(home, home, qpn)
	if err != nil {
		t.Fatal(err)
	}
	send(t, p, []byte{0})
	within(t, in.arrived, "first packet")
	within(t, sender.writable, "word of the session")
	in.may.Lock()
	for len(sender.writable) > 0 {
		<-sender.writable
	}
	sent := 0
	for p.Send([]byte{1}, [][]byte{make([]byte, 5000)}) == nil {
		sent++
	}
	if sent < ringSize/5100-1 || sent > ringSize/5000+1 {
		t.Errorf("%d packets of 5000 bytes fit into a ring of %d bytes", sent, ringSize)
	}
	select {
	case <-sender.writable:
		t.Error("writable before there is room")
	case <-time.After(20 * time.Millisecond):
	}
	in.may.Unlock()
	within(t, sender.writable, "word of room")
	for range sent {
		within(t, in.arrived, "packet")
	}
}

// TestFault has a payload that can't be read leave the way as it was.
func TestFault(t *testing.T) {
	in := newInbox()
	h := open(t, in)
	qpn, _ := h.QPN()
	p, err := h.Path(home, home, qpn)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := unix.Mmap(-1, 0, 4096, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(gone)
	send(t, p, []byte("a"))
	func() {
		defer setPanicOnFault()()
		defer func() {
			if recover() == nil {
				t.Error("memory without access was read")
			}
		}()
		_ = p.Send([]byte("b"), [][]byte{gone})
	}()
	send(t, p, []byte("c"))
	within(t, in.arrived, "packet")
	within(t, in.arrived, "packet")
	if got := string(in.packet(0).Header) + string(in.packet(1).Header); got != "ac" {
		t.Errorf("%q arrived", got)
	}
}

// TestSleepBesidePoll has the goroutine of a host go to sleep while a thread that polls is still at the ring, having
// looked before the last packet came: nobody polls afterwards, and the packet is delivered.
func TestSleepBesidePoll(t *testing.T) {
	in := newInbox()
	from, to := open(t, newInbox()), open(t, in)
	qpn, _ := to.QPN()
	p, err := from.Path(home, home, qpn)
	if err != nil {
		t.Fatal(err)
	}
	send(t, p, []byte{0})
	within(t, in.arrived, "first packet")
	for _, s := range to.current() {
		s.theirs.mu.Lock()
	}
	send(t, p, []byte{1})
	to.Poll()                         // which finds the ring taken
	time.Sleep(20 * time.Millisecond) // the goroutine gets as far as it can
	for _, s := range to.current() {
		s.theirs.mu.Unlock()
	}
	within(t, in.arrived, "packet that came beside a poll")
}

// TestForwardMany has packets of another host come one after the other before there is a session with their process.
// All arrive, in order.
func TestForwardMany(t *testing.T) {
	in := newInbox()
	h, to := open(t, newInbox()), open(t, in)
	qpn, err := to.QPN()
	if err != nil {
		t.Fatal(err)
	}
	from := &fabric.Source{Remote: netip.MustParseAddr("10.1.1.1"), Local: home}
	payload := make([]byte, 1024)
	const count = 800 // which a ring has room for
	for i := range uint32(count) {
		h.Forward(from, qpn, binary.BigEndian.AppendUint32(nil, i), payload)
	}
	for i := range uint32(count) {
		within(t, in.arrived, "packet")
		if got := binary.BigEndian.Uint32(in.packet(int(i)).Header); got != i {
			t.Fatalf("packet %d comes as number %d", got, i)
		}
	}
}

// TestNumbers has numbers of queue pairs that nobody else has, and that come back late.
func TestNumbers(t *testing.T) {
	a, b := open(t, newInbox()), open(t, newInbox())
	seen := map[uint32]bool{}
	for range 2*queuePairs + 1 {
		for _, h := range []*Host{a, b} {
			qpn, err := h.QPN()
			if err != nil {
				t.Fatal(err)
			}
			if seen[qpn] || qpn < 1<<queueBits || qpn >= 1<<24 {
				t.Fatalf("number %#x", qpn)
			}
			seen[qpn] = true
		}
	}
	one, _ := a.QPN()
	a.FreeQPN(one)
	if two, _ := a.QPN(); two == one {
		t.Error("a number came back at once")
	}
	for range maxNumbers*queuePairs + 1 {
		if _, err := a.QPN(); errors.Is(err, fabric.ErrNoQPN) {
			return
		}
	}
	t.Error("numbers without end")
}

// TestMain is the other process of tests: it opens a host, prints the number of a queue pair, and sends back what
// arrives.
func TestMain(m *testing.M) {
	if os.Getenv("FARSIDE_TEST_ROLE") != "echo" {
		os.Exit(m.Run())
	}
	h, err := Open()
	if err != nil {
		panic(err)
	}
	e := &echo{h: h, inbox: newInbox()}
	h.Attach(e)
	qpn, _ := h.QPN()
	var line [4]byte
	binary.LittleEndian.PutUint32(line[:], qpn)
	_, _ = os.Stdout.Write(line[:])
	for os.Getenv("FARSIDE_TEST_POLL") != "" {
		h.Poll()
	}
	_, _ = os.Stdin.Read(line[:])
	os.Exit(0)
}

// echo sends each packet back to the queue pair that its header names.
type echo struct {
	h *Host
	*inbox
}

func (e *echo) Receive(from *fabric.Source, header, payload []byte) {
	p, err := e.h.Path(from.Local, from.Remote, binary.LittleEndian.Uint32(header))
	if err == nil {
		for p.Send(header, [][]byte{payload}) == fabric.ErrFull {
			time.Sleep(10 * time.Microsecond)
		}
	}
}

// startEcho starts the other process.
func startEcho(t testing.TB, env ...string) (*exec.Cmd, uint32) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "FARSIDE_TEST_ROLE=echo"), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var line [4]byte
	if _, err := out.Read(line[:]); err != nil {
		t.Fatal(err)
	}
	return cmd, binary.LittleEndian.Uint32(line[:])
}

// TestProcesses sends packets to another process and back, and learns of its death.
func TestProcesses(t *testing.T) {
	in := newInbox()
	h := open(t, in)
	cmd, qpn := startEcho(t)
	mine, _ := h.QPN()
	p, err := h.Path(home, home, qpn)
	if err != nil {
		t.Fatal(err)
	}
	header := binary.LittleEndian.AppendUint32(nil, mine)
	for i := range 100 {
		send(t, p, header, bytes.Repeat([]byte{byte(i)}, i*600))
		within(t, in.arrived, "answer")
		if got := in.packet(i); len(got.Payload) != i*600 || i > 0 && got.Payload[i*600-1] != byte(i) {
			t.Fatalf("answer %d has %d bytes", i, len(got.Payload))
		}
	}
	_ = cmd.Process.Kill()
	within(t, in.down, "word of the death")
	if err := p.Send(header, nil); !errors.Is(err, fabric.ErrDown) {
		t.Errorf("after the death: %v", err)
	}
	// Nobody has the number now.
	q, err := h.Path(home, home, qpn)
	if err != nil || q == p {
		t.Fatal("the way to the dead process is kept")
	}
	within(t, in.down, "word that nobody is there")
}

// BenchmarkTrip sends a packet to another process, which polls, and waits for its answer.
func BenchmarkTrip(b *testing.B) {
	_, qpn := startEcho(b, "FARSIDE_TEST_POLL=1")
	r := &counter{}
	h, err := Open()
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	h.Attach(r)
	mine, _ := h.QPN()
	p, err := h.Path(home, home, qpn)
	if err != nil {
		b.Fatal(err)
	}
	header := binary.LittleEndian.AppendUint32(nil, mine)
	for p.Send(header, nil) != nil {
		time.Sleep(time.Millisecond)
	}
	for r.n == 0 {
		h.Poll()
	}
	b.ReportAllocs()
	for b.Loop() {
		was := r.n
		if err := p.Send(header, nil); err != nil {
			b.Fatal(err)
		}
		for r.n == was {
			h.Poll()
		}
	}
}

// counter is a receiver that only counts.
type counter struct{ n int }

func (c *counter) Receive(*fabric.Source, []byte, []byte) { c.n++ }
func (c *counter) Writable(fabric.Path)                   {}
func (c *counter) Down(fabric.Path)                       {}

// slow is a receiver that a packet holds up.
type slow struct {
	*inbox
	inside, goOn chan struct{}
}

func (s *slow) Receive(from *fabric.Source, header, payload []byte) {
	if header[0] == 0 {
		s.inside <- struct{}{}
		<-s.goOn
	}
	s.inbox.Receive(from, header, payload)
}

// TestLastPoll sends while a thread drains that polls no more after that: what it has not seen arrives all the same.
func TestLastPoll(t *testing.T) {
	in := &slow{newInbox(), make(chan struct{}), make(chan struct{})}
	from, to := open(t, newInbox()), open(t, in)
	qpn, err := to.QPN()
	if err != nil {
		t.Fatal(err)
	}
	p, err := from.Path(home, home, qpn)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		send(t, p, []byte{0})
		go to.Poll() // or the host's own goroutine takes it
		within(t, in.inside, "first packet")
		send(t, p, []byte{1})
		asleep := func() bool {
			n, _ := unix.Poll([]unix.PollFd{{Fd: int32(to.event.Int()), Events: unix.POLLIN}}, 0)
			return n == 0 && to.page.word(sleepsAt).Load() == 1
		}
		for end := time.Now().Add(20 * time.Millisecond); !asleep() && time.Now().Before(end); {
			time.Sleep(100 * time.Microsecond)
		}
		in.goOn <- struct{}{}
		within(t, in.arrived, "first packet")
		within(t, in.arrived, "packet that came while another was taken")
	}
}
