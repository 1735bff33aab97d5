package udp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"farside/internal/fd/fdtest"
	"farside/internal/socket"
	"farside/internal/trust"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/netnstest"
	"farside/verbs/internal/packet"
)

var (
	here  = netip.MustParseAddr("127.0.0.1")
	there = netip.MustParseAddr("127.0.0.77")
)

// open begins to receive; each packet goes to the channel. It never takes the turn of a process that lives.
func open(t *testing.T) (*Port, chan fabric.Packet) { return openPatient(t, time.Minute, napping) }

func openPatient(t *testing.T, patience, nap time.Duration) (*Port, chan fabric.Packet) {
	t.Helper()
	c := make(chan fabric.Packet, 10000)
	users, err := trust.Read()
	if err != nil {
		t.Fatal(err)
	}
	p, err := openPort(users, patience, nap, func(from *fabric.Source, header, payload []byte) {
		c <- fabric.Packet{Source: *from, Header: bytes.Clone(header), Payload: bytes.Clone(payload)}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, c
}

func next(t *testing.T, c chan fabric.Packet) fabric.Packet {
	t.Helper()
	select {
	case p := <-c:
		return p
	case <-time.After(time.Minute):
		t.Fatal("no packet")
		return fabric.Packet{}
	}
}

func header(h packet.Header) []byte {
	b := make([]byte, packet.HeaderMax)
	return b[:h.Put(b)]
}

// TestPackets sends packets of all sizes by IPv4 and IPv6, which arrive as they were, with where they came from.
func TestPackets(t *testing.T) {
	netnstest.Need(t)
	fdtest.NoLeaks(t)
	p, c := open(t)
	n := NewNet(func(fabric.Path) {})
	defer n.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, route := range [][2]netip.Addr{{here, there}, {netip.IPv6Loopback(), netip.IPv6Loopback()}} {
		way, err := n.Path(route[0], route[1])
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := n.Path(route[0], route[1]); again != way {
			t.Error("a second way to one host")
		}
		for _, size := range []int{0, 1, 2, 3, 4, 5, 1023, 1024, 4095, MTU} {
			payload := make([]byte, size)
			for i := range payload {
				payload[i] = byte(rng.Uint32())
			}
			head := header(packet.Header{Opcode: packet.RC | packet.WriteOnly, DestinationQP: 0x123456, Length: uint32(size)})
			cut := rng.IntN(size + 1)
			if err := way.Send(head, [][]byte{payload[:cut], payload[cut:]}); err != nil {
				t.Fatal(err)
			}
			got := next(t, c)
			if !bytes.Equal(got.Payload, payload) {
				t.Errorf("%d bytes came as %d", size, len(got.Payload))
			}
			if got.Remote != route[0] || got.Local != route[1] || got.HopLimit != 64 || Destination(got.Header) != 0x123456 {
				t.Errorf("%+v", got.Source)
			}
			var h packet.Header
			if _, err := h.Get(got.Header); err != nil || h.Length != uint32(size) || int(h.Pad) != -size&3 {
				t.Errorf("header %+v: %v", h, err)
			}
		}
		if way.Send(header(packet.Header{}), [][]byte{make([]byte, MTU+1)}) == nil {
			t.Error("a packet that is too long was sent")
		}
	}
	p.Close()
}

// TestCRC reads datagrams as they are on the wire, but for the IP header, which is what package packet takes it for.
func TestCRC(t *testing.T) {
	netnstest.Need(t)
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 78), Port: packet.Port})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	n := NewNet(func(fabric.Path) {})
	defer n.Close()
	to := netip.MustParseAddr("127.0.0.78")
	way, err := n.Path(here, to)
	if err != nil {
		t.Fatal(err)
	}
	head := header(packet.Header{Opcode: packet.RC | packet.SendOnly, DestinationQP: 7})
	if err := way.Send(head, [][]byte{[]byte("hello")}); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	size, from, err := conn.ReadFromUDPAddrPort(buf)
	if err != nil {
		t.Fatal(err)
	}
	data := buf[:size-packet.ICRCSize]
	e := packet.Envelope{Source: here, Destination: to, SourcePort: from.Port(), DestinationPort: packet.Port,
		Fragment: packet.DontFragment}
	want := packet.ICRC(&e, data[:packet.BTHSize], data[packet.BTHSize:])
	if binary.LittleEndian.Uint32(buf[len(data):]) != want {
		t.Errorf("the CRC is %x, not %#x", buf[len(data):size], want)
	}
	if size != packet.BTHSize+8+packet.ICRCSize || data[1]>>4&3 != 3 {
		t.Errorf("%d bytes, flags %#x", size, data[1])
	}
}

// TestTurns has the next process receive when the one that did has gone.
func TestTurns(t *testing.T) {
	netnstest.Need(t)
	fdtest.NoLeaks(t)
	n := NewNet(func(fabric.Path) {})
	defer n.Close()
	way, err := n.Path(here, there)
	if err != nil {
		t.Fatal(err)
	}
	head := header(packet.Header{Opcode: packet.RC | packet.SendOnly})
	first, c := open(t)
	second, d := open(t)
	for range 10 {
		if err := way.Send(head, nil); err != nil {
			t.Fatal(err)
		}
		next(t, c)
	}
	first.Close()
	for end := time.Now().Add(10 * time.Second); len(d) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody receives")
		}
		if err := way.Send(head, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(c) != 0 {
		t.Error("two receive")
	}
	second.Close()
}

// TestNonsense has datagrams that are no packets be dropped.
func TestNonsense(t *testing.T) {
	netnstest.Need(t)
	p, c := open(t)
	conn, err := net.Dial("udp4", "127.0.0.1:4791")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	rng := rand.New(rand.NewPCG(5, 6))
	for size := range 200 {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		_, _ = conn.Write(b)
	}
	end := header(packet.Header{Opcode: packet.UC | packet.SendOnly, DestinationQP: 0xabcdef})
	if _, err := conn.Write(append(end, 0, 0, 0, 0)); err != nil {
		t.Fatal(err)
	}
	for {
		got := next(t, c)
		if len(got.Header) < packet.BTHSize || len(got.Payload) > 200 {
			t.Errorf("a packet of %d and %d bytes", len(got.Header), len(got.Payload))
		}
		if Destination(got.Header) == 0xabcdef {
			break
		}
	}
	p.Close()
}

// TestFollowersGo has processes that waited for their turn and went leave nothing behind.
func TestFollowersGo(t *testing.T) {
	netnstest.Need(t)
	p, _ := open(t)
	descriptors := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := descriptors()
	for range 50 {
		follower, _ := open(t)
		follower.Close()
	}
	for end := time.Now().Add(10 * time.Second); descriptors() > before+2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors, %d before", descriptors(), before)
		}
	}
	p.Close()
}

// TestStrangers has a process hold a bounded number of connections of other users.
func TestStrangers(t *testing.T) {
	netnstest.Need(t)
	fdtest.NoLeaks(t)
	p, err := openPort(nil, time.Minute, napping, func(*fabric.Source, []byte, []byte) {}) // every user is another one
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	var conns []*socket.Conn
	t.Cleanup(func() {
		for _, c := range conns {
			_ = c.Close()
		}
	})
	for range maxStrangers {
		c, err := socket.DialPacket(t.Context(), portName(1))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	hungUp := make(chan error)
	for range 10 {
		c, err := socket.DialPacket(t.Context(), portName(1))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		go func() {
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			_, err := c.Read(make([]byte, 1))
			hungUp <- err
		}()
	}
	for range 10 {
		if err := <-hungUp; errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the process keeps too many connections of other users")
		}
	}
	p.Close()
}

// TestBusyPort has a process receive once whoever has the port lets it go, also if a thread has polled.
func TestBusyPort(t *testing.T) {
	netnstest.Need(t)
	busy, err := net.ListenUDP("udp4", &net.UDPAddr{Port: packet.Port})
	if err != nil {
		t.Fatal(err)
	}
	p, c := openPatient(t, time.Minute, time.Hour)
	p.Poll(3)
	time.Sleep(2 * firstRetry) // by when the port knows
	_ = busy.Close()
	n := NewNet(func(fabric.Path) {})
	defer n.Close()
	way, err := n.Path(here, there)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); len(c) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody receives")
		}
		if err := way.Send(header(packet.Header{Opcode: packet.RC | packet.SendOnly}), nil); err != nil {
			t.Fatal(err)
		}
	}
	p.Close()
}

// TestAnswers has answers to strangers leave nothing behind.
func TestAnswers(t *testing.T) {
	netnstest.Need(t)
	p, c := open(t)
	n := NewNet(func(fabric.Path) {})
	defer n.Close()
	for i := range 500 {
		to := netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)})
		n.Send(here, to, header(packet.Header{Opcode: packet.RC | packet.SendOnly}), nil)
		next(t, c)
	}
	if len(n.paths) != 0 || len(n.senders) != 1 {
		t.Errorf("%d ways and %d sockets are kept", len(n.paths), len(n.senders))
	}
	p.Close()
}

// TestSquatter has a process go on to receive though another user has claimed a later turn.
func TestSquatter(t *testing.T) {
	netnstest.Need(t)
	c := make(chan fabric.Packet, 1)
	deliver := func(from *fabric.Source, header, payload []byte) { c <- fabric.Packet{Source: *from} }
	p, err := openPort(nil, time.Minute, napping, deliver) // every user is another one
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	turn := lastTurn()
	squatter, err := socket.ListenPacket(portName(turn + 7))
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	conn, err := socket.DialPacket(t.Context(), portName(turn))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 100 {
		if _, err := conn.Write([]byte{areYouThere}); err != nil {
			t.Fatal(err)
		}
		if files, err := hear(conn, time.Minute); err != nil || len(files) != 0 {
			t.Fatalf("no answer, or with %d sockets: %v", len(files), err)
		}
		time.Sleep(time.Millisecond) // in which it may end
	}
	n := NewNet(func(fabric.Path) {})
	defer n.Close()
	way, err := n.Path(here, there)
	if err != nil {
		t.Fatal(err)
	}
	if err := way.Send(header(packet.Header{Opcode: packet.RC | packet.SendOnly}), nil); err != nil {
		t.Fatal(err)
	}
	next(t, c)
	p.Close()
}

// TestSourcePorts has more senders than the tries of a port, each at a dynamic one.
func TestSourcePorts(t *testing.T) {
	netnstest.Need(t)
	for range 30 {
		s, err := newSender(netip.IPv6Loopback())
		if err != nil {
			t.Fatal(err)
		}
		defer s.file.Close()
		if s.port < dynamic {
			t.Errorf("packets come from port %d", s.port)
		}
	}
}
