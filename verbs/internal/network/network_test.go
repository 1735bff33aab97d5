package network

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/bell"
	"farside/verbs/internal/cm"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/netnstest"
	"farside/verbs/internal/packet"
	"farside/verbs/internal/udp"
)

type inbox chan fabric.Packet

func (i inbox) Receive(from *fabric.Source, header, payload []byte) {
	i <- fabric.Packet{Source: *from, Header: bytes.Clone(header), Payload: bytes.Clone(payload)}
}
func (i inbox) Writable(fabric.Path) {}
func (i inbox) Down(fabric.Path)     {}

func open(t *testing.T) (*Network, inbox) {
	t.Helper()
	n, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	in := make(inbox, 1000)
	n.Attach(in)
	t.Cleanup(n.Close)
	return n, in
}

func next(t *testing.T, in inbox) fabric.Packet {
	t.Helper()
	select {
	case p := <-in:
		return p
	case <-time.After(10 * time.Second):
		t.Fatal("no packet")
		return fabric.Packet{}
	}
}

// TestOwn has the host's own addresses be reached by rings, and no others.
func TestOwn(t *testing.T) {
	a, _ := open(t)
	b, in := open(t)
	qpn, err := b.QPN()
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Addresses()) == 0 {
		t.Fatal("no addresses")
	}
	for _, address := range a.Addresses() {
		p, err := a.Open(address, address, qpn)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Reliable() {
			t.Errorf("%v is reached by a network", address)
		}
		for err = fabric.ErrFull; errors.Is(err, fabric.ErrFull); time.Sleep(time.Millisecond) {
			err = p.Send([]byte("0123456789ab"), nil)
		}
		if got := next(t, in); err != nil || got.Remote != address || got.Local != address {
			t.Errorf("%v: from %v to %v", err, got.Remote, got.Local)
		}
	}
	netnstest.Need(t)
	for _, remote := range []string{"192.0.2.1", "2001:db8::1"} {
		far := netip.MustParseAddr(remote)
		local := netip.MustParseAddr("127.0.0.1")
		if far.Is6() {
			local = netip.IPv6Loopback()
		}
		if p, err := a.Open(local, far, qpn); err != nil || p.Reliable() {
			t.Errorf("%v: %v", far, err)
		}
	}
	_, err = a.Open(netip.IPv6Loopback(), netip.MustParseAddr("192.0.2.1"), qpn)
	if !errors.Is(err, fabric.ErrUnreachable) {
		t.Errorf("from IPv6 to IPv4: %v", err)
	}
}

// managed is a receiver of management messages alone, as the engine hands them on.
type managed struct{ *cm.Manager }

func (m managed) Receive(from *fabric.Source, header, payload []byte) {
	m.Manager.Receive(from.Local, from.Remote, payload)
}
func (m managed) Writable(fabric.Path) {}
func (m managed) Down(fabric.Path)     {}

// event takes a channel's next event.
func event(t *testing.T, c *cm.Channel, kind ibv.CMEventType) *cm.Event {
	t.Helper()
	e, err := c.Next(bell.Waits, nil, nil)
	if err != nil || e.Type != kind {
		t.Fatalf("%+v: %v", e, err)
	}
	e.Ack()
	return e
}

// TestCM connects identifiers of two processes of a host, and has a third one's port be another.
func TestCM(t *testing.T) {
	netnstest.Need(t)
	var managers []*cm.Manager
	for range 3 {
		n, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		m := cm.NewManager(n.CM(1))
		n.Attach(managed{m})
		t.Cleanup(n.Close)
		t.Cleanup(m.Close)
		managers = append(managers, m)
	}
	channel := func() *cm.Channel {
		c, err := cm.NewChannel()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	at := netip.MustParseAddrPort("127.0.0.1:7471")
	var listening []*cm.Channel
	for i, m := range managers[1:] {
		c := channel()
		listening = append(listening, c)
		id := m.NewID(c, ibv.RDMA_PS_TCP)
		if err := id.Bind(netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port()+uint16(i))); err != nil {
			t.Fatal(err)
		}
		if err := id.Listen(0); err != nil {
			t.Fatal(err)
		}
		defer id.Destroy()
	}
	if err := managers[0].NewID(channel(), ibv.RDMA_PS_TCP).Bind(netip.AddrPortFrom(netip.IPv4Unspecified(),
		at.Port())); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("a port of another process: %v", err)
	}
	for i, server := range listening {
		c := channel()
		id := managers[0].NewID(c, ibv.RDMA_PS_TCP)
		to := netip.AddrPortFrom(at.Addr(), at.Port()+uint16(i))
		if err := id.ResolveAddress(netip.AddrPort{}, to); err != nil {
			t.Fatal(err)
		}
		event(t, c, ibv.RDMA_CM_EVENT_ADDR_RESOLVED)
		if err := id.ResolveRoute(); err != nil {
			t.Fatal(err)
		}
		event(t, c, ibv.RDMA_CM_EVENT_ROUTE_RESOLVED)
		if err := id.Connect(cm.Parameters{QPN: 77}); err != nil {
			t.Fatal(err)
		}
		request := event(t, server, ibv.RDMA_CM_EVENT_CONNECT_REQUEST)
		if request.Connection.QPN != 77 || request.ID.Local() != to {
			t.Errorf("%+v to %v", request.Connection, request.ID.Local())
		}
		if err := request.ID.Accept(&cm.Parameters{QPN: 78}); err != nil {
			t.Fatal(err)
		}
		event(t, c, ibv.RDMA_CM_EVENT_CONNECT_RESPONSE)
		if err := id.Accept(nil); err != nil {
			t.Fatal(err)
		}
		event(t, server, ibv.RDMA_CM_EVENT_ESTABLISHED)
		id.Destroy()
		event(t, server, ibv.RDMA_CM_EVENT_DISCONNECTED)
	}
}

// TestForward has the process that receives hand packets to the process that they are for.
func TestForward(t *testing.T) {
	netnstest.Need(t)
	a, first := open(t)
	b, second := open(t)
	if err := errors.Join(a.Listen(), b.Listen()); err != nil {
		t.Fatal(err)
	}
	sender := udp.NewNet(func(fabric.Path) {})
	defer sender.Close()
	from := netip.MustParseAddr("127.0.0.1")
	to := netip.MustParseAddr("127.0.0.9")
	way, err := sender.Path(from, to)
	if err != nil {
		t.Fatal(err)
	}
	for n, in := range map[*Network]inbox{a: first, b: second} {
		qpn, err := n.QPN()
		if err != nil {
			t.Fatal(err)
		}
		h := packet.Header{Opcode: packet.RC | packet.SendOnly, DestinationQP: qpn}
		b := make([]byte, packet.HeaderMax)
		b = b[:h.Put(b)]
		// Also the first packet arrives, before there is a session with the process.
		if err := way.Send(b, [][]byte{[]byte("hello")}); err != nil {
			t.Fatal(err)
		}
		if got := next(t, in); string(got.Payload) != "hello" || got.Remote != from || got.Local != to {
			t.Errorf("%q from %v to %v", got.Payload, got.Remote, got.Local)
		}
	}
	// Nobody has this queue pair.
	h := packet.Header{Opcode: packet.RC | packet.SendOnly, DestinationQP: 1 << 12}
	b2 := make([]byte, packet.HeaderMax)
	for range 100 {
		_ = way.Send(b2[:h.Put(b2)], nil)
	}
}

// TestPeerGone has a connection end when the other process goes without a word.
func TestPeerGone(t *testing.T) {
	netnstest.Need(t)
	var networks []*Network
	var ids []*cm.ID
	var channels []*cm.Channel
	for range 2 {
		n, err := Open()
		if err != nil {
			t.Fatal(err)
		}
		m := cm.NewManager(n.CM(1))
		n.Attach(managed{m})
		n.OnGone(m.Gone)
		t.Cleanup(n.Close)
		t.Cleanup(m.Close)
		c, err := cm.NewChannel()
		if err != nil {
			t.Fatal(err)
		}
		networks, channels = append(networks, n), append(channels, c)
		ids = append(ids, m.NewID(c, ibv.RDMA_PS_TCP))
	}
	at := netip.MustParseAddrPort("127.0.0.1:7600")
	if err := errors.Join(ids[0].Bind(at), ids[0].Listen(0), ids[1].ResolveAddress(netip.AddrPort{}, at)); err != nil {
		t.Fatal(err)
	}
	event(t, channels[1], ibv.RDMA_CM_EVENT_ADDR_RESOLVED)
	if err := ids[1].ResolveRoute(); err != nil {
		t.Fatal(err)
	}
	event(t, channels[1], ibv.RDMA_CM_EVENT_ROUTE_RESOLVED)
	if err := ids[1].Connect(cm.Parameters{}); err != nil {
		t.Fatal(err)
	}
	if err := event(t, channels[0], ibv.RDMA_CM_EVENT_CONNECT_REQUEST).ID.Accept(&cm.Parameters{}); err != nil {
		t.Fatal(err)
	}
	event(t, channels[1], ibv.RDMA_CM_EVENT_CONNECT_RESPONSE)
	if err := ids[1].Accept(nil); err != nil {
		t.Fatal(err)
	}
	event(t, channels[0], ibv.RDMA_CM_EVENT_ESTABLISHED)
	networks[1].Close()
	event(t, channels[0], ibv.RDMA_CM_EVENT_DISCONNECTED)
}

// narrow is a way with room for some packets.
type narrow struct {
	fabric.Path
	room, sent int
}

func (n *narrow) Send([]byte, [][]byte) error {
	if n.room == 0 {
		return fabric.ErrFull
	}
	n.room--
	n.sent++
	return nil
}

// TestLater has messages wait for room, each until it is sent.
func TestLater(t *testing.T) {
	var l later
	p, other := &narrow{}, &narrow{room: 1}
	for range 3 {
		l.add(p, nil, nil)
	}
	l.add(other, nil, nil)
	if l.send(p); p.sent != 0 || len(l.list) != 4 {
		t.Errorf("%d sent without room, %d wait", p.sent, len(l.list))
	}
	p.room = 2
	if l.send(p); p.sent != 2 || len(l.list) != 2 {
		t.Errorf("%d sent, %d wait", p.sent, len(l.list))
	}
	p.room = 2
	if l.send(p); p.sent != 3 || other.sent != 0 {
		t.Errorf("%d sent, and %d on another way", p.sent, other.sent)
	}
}

// TestNoAddresses asks for the source of a way on a host where no interface is up.
func TestNoAddresses(t *testing.T) {
	c := (&Network{}).CM(1)
	if a, err := c.Source(netip.MustParseAddr("127.0.0.2")); !errors.Is(err, unix.EADDRNOTAVAIL) {
		t.Errorf("%v, %v", a, err)
	}
}
