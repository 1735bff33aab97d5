package cm

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/bell"
)

// world is some processes and how their messages get lost.
type world struct {
	mu    sync.Mutex
	rng   *rand.Rand
	lose  float64
	procs []*process
}

// process is a Wire.
type process struct {
	world   *world
	number  uint32
	address netip.Addr
	manager *Manager
	claims  map[portKey]bool
	serves  map[portKey]bool
	sent    []uint16 // attributes
}

func newWorld(lose float64) *world { return &world{rng: rand.New(rand.NewPCG(1, 2)), lose: lose} }

func (w *world) process(address string) *process {
	p := &process{world: w, number: uint32(len(w.procs) + 1), address: netip.MustParseAddr(address),
		claims: map[portKey]bool{}, serves: map[portKey]bool{}}
	p.manager = NewManager(p)
	w.procs = append(w.procs, p)
	return p
}

func (p *process) Number() uint32 { return p.number }
func (p *process) GUID() uint64   { return uint64(p.number) << 8 }
func (p *process) Own(a netip.Addr) bool {
	return a == p.address || a.IsLoopback()
}
func (p *process) Source(netip.Addr) (netip.Addr, error) { return p.address, nil }
func (p *process) GIDIndex(a netip.Addr) (int, bool)     { return 3, a == p.address }
func (p *process) MTU(_, _ netip.Addr) ibv.MTU           { return ibv.MTU_1024 }

type release func()

func (r release) Close() error { r(); return nil }

func (p *process) Claim(space uint16, at netip.AddrPort) (io.Closer, error) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	key := portKey{space, at}
	for _, o := range p.world.procs {
		if o.address == p.address && o.claims[key] {
			return nil, unix.EADDRINUSE
		}
	}
	p.claims[key] = true
	return release(func() { p.world.mu.Lock(); delete(p.claims, key); p.world.mu.Unlock() }), nil
}

func (p *process) Serve(space uint16, at netip.AddrPort) (io.Closer, error) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	key := portKey{space, at}
	p.serves[key] = true
	return release(func() { p.world.mu.Lock(); delete(p.serves, key); p.world.mu.Unlock() }), nil
}

func (p *process) Server(space uint16, at netip.AddrPort) (uint32, bool) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	for _, o := range p.world.procs {
		for _, a := range []netip.Addr{at.Addr(), {}} {
			if o.address == at.Addr() && o.serves[portKey{space, netip.AddrPortFrom(a, at.Port())}] {
				return o.number, true
			}
		}
	}
	return 0, false
}

func (p *process) Send(local, remote netip.Addr, number uint32, mad []byte) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.sent = append(p.sent, uint16(mad[16])<<8|uint16(mad[17]))
	if p.world.rng.Float64() < p.world.lose {
		return
	}
	if id, space, port, ok := Route(mad); ok && !p.Own(remote) {
		if number = NumberOf(id); id == 0 {
			p.world.mu.Unlock()
			number, _ = p.Server(space, netip.AddrPortFrom(remote, port))
			p.world.mu.Lock()
		}
	}
	for _, o := range p.world.procs {
		if o.number == number {
			go o.manager.Receive(remote, local, mad)
		}
	}
}

// want takes the next event and checks its type.
func want(t *testing.T, c *Channel, kind ibv.CMEventType) *Event {
	t.Helper()
	got := make(chan *Event, 1)
	go func() {
		e, _ := c.Next(bell.Waits, nil, nil)
		got <- e
	}()
	select {
	case e := <-got:
		if e.Type != kind {
			t.Fatalf("event %d with status %d, not %d", e.Type, e.Status, kind)
		}
		e.Ack()
		return e
	case <-time.After(30 * time.Second):
		t.Fatalf("no event %d", kind)
		return nil
	}
}

func channel(t *testing.T) *Channel {
	t.Helper()
	c, err := NewChannel()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func do(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

const port = 7471

// pair is an identifier that has resolved its way to one that listens.
type pair struct {
	client, server   *process
	c, s             *Channel
	active, listener *ID
}

func newPair(t *testing.T, w *world, space ibv.PortSpace) *pair {
	p := &pair{client: w.process("10.0.0.1"), server: w.process("10.0.0.2"), c: channel(t), s: channel(t)}
	p.listener = p.server.manager.NewID(p.s, space)
	do(t, p.listener.Bind(netip.AddrPortFrom(netip.IPv4Unspecified(), port)), p.listener.Listen(1))
	p.active = p.client.manager.NewID(p.c, space)
	do(t, p.active.ResolveAddress(netip.AddrPort{}, netip.AddrPortFrom(p.server.address, port)))
	want(t, p.c, ibv.RDMA_CM_EVENT_ADDR_RESOLVED)
	do(t, p.active.ResolveRoute())
	want(t, p.c, ibv.RDMA_CM_EVENT_ROUTE_RESOLVED)
	return p
}

// TestConnection connects and disconnects, also where a third of the messages gets lost.
func TestConnection(t *testing.T) {
	for _, lose := range []float64{0, 0.33} {
		p := newPair(t, newWorld(lose), ibv.RDMA_PS_TCP)
		do(t, p.active.Connect(Parameters{Private: []byte("hello"), ResponderResources: 5, InitiatorDepth: 7, RetryCount: 6,
			RNRRetryCount: 3, QPN: 0x1234}))
		request := want(t, p.s, ibv.RDMA_CM_EVENT_CONNECT_REQUEST)
		if request.Listen != p.listener || !bytes.HasPrefix(request.Connection.Private, []byte("hello")) ||
			len(request.Connection.Private) != reqPrivate {
			t.Errorf("%+v", request)
		}
		request.Connection.Private = nil
		if diff := cmp.Diff(Parameters{ResponderResources: 7, InitiatorDepth: 5, RetryCount: 6, RNRRetryCount: 3,
			QPN: 0x1234}, request.Connection); diff != "" {
			t.Error(diff)
		}
		passive := request.ID
		if passive.Remote().Addr() != p.client.address || passive.Local() != netip.AddrPortFrom(p.server.address, port) {
			t.Errorf("from %v to %v", passive.Remote(), passive.Local())
		}
		var early, late ibv.QPAttr // an application with a queue pair of its own asks before it accepts
		_, err := passive.QPAttr(ibv.QPS_RTS, &early)
		do(t, err)
		do(t, passive.Accept(&Parameters{Private: []byte("yes"), ResponderResources: 2, InitiatorDepth: 3, RNRRetryCount: 4,
			QPN: 0x4321}))
		_, err = passive.QPAttr(ibv.QPS_RTS, &late)
		do(t, err)
		if early.SQPSN != late.SQPSN || early.RetryCnt != 6 || early.RNRRetry != 3 || early.MaxRDAtomic != 5 {
			t.Errorf("before %+v, after %+v", early, late)
		}
		response := want(t, p.c, ibv.RDMA_CM_EVENT_CONNECT_RESPONSE)
		if got := response.Connection; got.QPN != 0x4321 || got.ResponderResources != 3 || got.InitiatorDepth != 2 ||
			!bytes.HasPrefix(got.Private, []byte("yes")) {
			t.Errorf("%+v", got)
		}
		do(t, p.active.Accept(nil))
		want(t, p.s, ibv.RDMA_CM_EVENT_ESTABLISHED)
		checkAttributes(t, p.active, passive)
		do(t, passive.Disconnect())
		for _, c := range []*Channel{p.c, p.s} {
			want(t, c, ibv.RDMA_CM_EVENT_DISCONNECTED)
			want(t, c, ibv.RDMA_CM_EVENT_TIMEWAIT_EXIT)
		}
		do(t, p.active.Disconnect())
		for _, id := range []*ID{p.active, passive, p.listener} {
			id.Destroy()
		}
		if n := len(p.client.manager.ids) + len(p.server.manager.ids) + len(p.server.manager.remote) +
			len(p.server.manager.listeners) + len(p.server.serves) + len(p.server.claims); n != 0 {
			t.Errorf("%d things are left", n)
		}
	}
}

// checkAttributes compares what both sides' queue pairs get.
func checkAttributes(t *testing.T, active, passive *ID) {
	t.Helper()
	var a, b ibv.QPAttr
	for _, state := range []ibv.QPState{ibv.QPS_INIT, ibv.QPS_RTR, ibv.QPS_RTS} {
		for id, attr := range map[*ID]*ibv.QPAttr{active: &a, passive: &b} {
			if _, err := id.QPAttr(state, attr); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a.SQPSN != b.RQPSN || b.SQPSN != a.RQPSN || a.DestQPNum != 0x4321 || b.DestQPNum != 0x1234 {
		t.Errorf("%+v\n%+v", a, b)
	}
	if a.RQPSN != active.psn || b.RQPSN != passive.psn {
		t.Errorf("each side tells the other one where it is to begin: %#x, %#x, not %#x, %#x", active.psn, passive.psn,
			a.RQPSN, b.RQPSN)
	}
	if a.MaxRDAtomic != 7 || a.MaxDestRDAtomic != 5 || b.MaxRDAtomic != 3 || b.MaxDestRDAtomic != 2 {
		t.Errorf("%+v\n%+v", a, b)
	}
	if a.RetryCnt != 6 || b.RetryCnt != 6 || a.RNRRetry != 4 || b.RNRRetry != 4 || a.PathMTU != ibv.MTU_1024 {
		t.Errorf("%+v\n%+v", a, b)
	}
	if netip.AddrFrom16(a.AHAttr.GRH.DGID).Unmap() != netip.MustParseAddr("10.0.0.2") || a.AHAttr.GRH.SGIDIndex != 3 {
		t.Errorf("%+v", a.AHAttr)
	}
}

// TestReject has a request be rejected, by the application and because nobody listens.
func TestReject(t *testing.T) {
	p := newPair(t, newWorld(0), ibv.RDMA_PS_TCP)
	do(t, p.active.Connect(Parameters{}))
	request := want(t, p.s, ibv.RDMA_CM_EVENT_CONNECT_REQUEST)
	do(t, request.ID.Reject([]byte("no")))
	e := want(t, p.c, ibv.RDMA_CM_EVENT_REJECTED)
	if e.Status != RejectConsumer || !bytes.HasPrefix(e.Connection.Private, []byte("no")) {
		t.Errorf("%+v", e)
	}
	for _, to := range []netip.Addr{p.server.address, p.client.address} { // by the network, and on the same host
		id := p.client.manager.NewID(p.c, ibv.RDMA_PS_TCP)
		do(t, id.ResolveAddress(netip.AddrPort{}, netip.AddrPortFrom(to, port+1)))
		want(t, p.c, ibv.RDMA_CM_EVENT_ADDR_RESOLVED)
		do(t, id.ResolveRoute())
		want(t, p.c, ibv.RDMA_CM_EVENT_ROUTE_RESOLVED)
		if to == p.server.address { // the world finds nobody who serves the port
			p.server.serves[portKey{uint16(ibv.RDMA_PS_TCP), netip.AddrPortFrom(to, port+1)}] = true
		}
		do(t, id.Connect(Parameters{}))
		if e := want(t, p.c, ibv.RDMA_CM_EVENT_REJECTED); e.Status != RejectInvalidService {
			t.Errorf("%+v", e)
		}
		id.Destroy()
	}
}

// TestListenLate connects while the other side is about to listen: by the network, and on the same host.
func TestListenLate(t *testing.T) {
	for _, space := range []ibv.PortSpace{ibv.RDMA_PS_TCP, ibv.RDMA_PS_UDP} {
		p := newPair(t, newWorld(0), space)
		for i, server := range []*process{p.server, p.client.world.process("10.0.0.1")} {
			at := netip.AddrPortFrom(server.address, port+1+uint16(i))
			p.server.serves[portKey{uint16(space), at}] = true // else the request would get lost
			id := p.client.manager.NewID(p.c, space)
			do(t, id.ResolveAddress(netip.AddrPort{}, at))
			want(t, p.c, ibv.RDMA_CM_EVENT_ADDR_RESOLVED)
			do(t, id.ResolveRoute())
			want(t, p.c, ibv.RDMA_CM_EVENT_ROUTE_RESOLVED)
			do(t, id.Connect(Parameters{}))
			time.Sleep(patience / 2)
			if len(p.c.list()) != 0 {
				t.Error("the client gave up")
			}
			s := channel(t)
			l := server.manager.NewID(s, space)
			do(t, l.Bind(at), l.Listen(1))
			want(t, s, ibv.RDMA_CM_EVENT_CONNECT_REQUEST)
			id.Destroy()
		}
	}
}

// TestAbandoned has whoever destroys an identifier tell the other side.
func TestAbandoned(t *testing.T) {
	p := newPair(t, newWorld(0), ibv.RDMA_PS_TCP)
	do(t, p.active.Connect(Parameters{}))
	for len(p.s.list()) == 0 {
		time.Sleep(time.Millisecond)
	}
	p.listener.Destroy() // with a request that nobody has seen
	if e := want(t, p.c, ibv.RDMA_CM_EVENT_REJECTED); e.Status != RejectConsumer {
		t.Errorf("%+v", e)
	}
	p = newPair(t, newWorld(0), ibv.RDMA_PS_TCP)
	do(t, p.active.Connect(Parameters{}))
	passive := want(t, p.s, ibv.RDMA_CM_EVENT_CONNECT_REQUEST).ID
	do(t, passive.Accept(&Parameters{}))
	want(t, p.c, ibv.RDMA_CM_EVENT_CONNECT_RESPONSE)
	do(t, p.active.Accept(nil))
	want(t, p.s, ibv.RDMA_CM_EVENT_ESTABLISHED)
	p.active.Destroy()
	want(t, p.s, ibv.RDMA_CM_EVENT_DISCONNECTED)
}

// silent has all messages get lost from now on.
func (w *world) silent() {
	w.mu.Lock()
	w.lose = 2
	w.mu.Unlock()
}

// hurry leaves one try to a message that nobody answers.
func (id *ID) hurry() {
	defer id.lock()()
	id.tries = maxRetries - 1
}

// TestAnswerTime has a peer have about a minute to answer, as with Linux, and a farewell some seconds.
func TestAnswerTime(t *testing.T) {
	for _, c := range []struct {
		attribute   uint16
		least, most time.Duration
	}{{attrREQ, 50 * time.Second, 70 * time.Second}, {attrREP, 50 * time.Second, 70 * time.Second},
		{attrDREQ, 5 * time.Second, 10 * time.Second}} {
		id := ID{pending: message{attribute: c.attribute}}
		var all time.Duration
		for id.tries = 0; id.tries <= maxRetries; id.tries++ {
			all += id.answerTime()
		}
		if all < c.least || all > c.most {
			t.Errorf("attribute %#x: %v", c.attribute, all)
		}
	}
}

// TestNoAnswer has a request, an answer and a farewell get lost each time.
func TestNoAnswer(t *testing.T) {
	const timedOut = -int(unix.ETIMEDOUT)
	for _, space := range []ibv.PortSpace{ibv.RDMA_PS_TCP, ibv.RDMA_PS_UDP} {
		w := newWorld(0)
		p := newPair(t, w, space)
		w.silent()
		do(t, p.active.Connect(Parameters{}))
		p.active.hurry()
		if e := want(t, p.c, ibv.RDMA_CM_EVENT_UNREACHABLE); e.Status != timedOut {
			t.Errorf("port space %#x: %+v", space, e)
		}
		w.mu.Lock()
		if n := len(p.client.sent); n < 2 {
			t.Errorf("port space %#x: the request was sent %d times", space, n)
		}
		w.mu.Unlock()
	}
	w := newWorld(0)
	p := newPair(t, w, ibv.RDMA_PS_TCP)
	do(t, p.active.Connect(Parameters{}))
	passive := want(t, p.s, ibv.RDMA_CM_EVENT_CONNECT_REQUEST).ID
	w.silent()
	do(t, passive.Accept(&Parameters{}))
	passive.hurry()
	if e := want(t, p.s, ibv.RDMA_CM_EVENT_CONNECT_ERROR); e.Status != timedOut {
		t.Errorf("%+v", e)
	}
	w = newWorld(0)
	p = newPair(t, w, ibv.RDMA_PS_TCP)
	do(t, p.active.Connect(Parameters{}))
	do(t, want(t, p.s, ibv.RDMA_CM_EVENT_CONNECT_REQUEST).ID.Accept(&Parameters{}))
	want(t, p.c, ibv.RDMA_CM_EVENT_CONNECT_RESPONSE)
	do(t, p.active.Accept(nil))
	want(t, p.s, ibv.RDMA_CM_EVENT_ESTABLISHED)
	w.silent()
	do(t, p.active.Disconnect())
	p.active.hurry()
	want(t, p.c, ibv.RDMA_CM_EVENT_DISCONNECTED)
}

func (c *Channel) list() []*Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Event(nil), c.events...)
}

// TestDatagram finds out where datagrams go.
func TestDatagram(t *testing.T) {
	for _, lose := range []float64{0, 0.33} {
		p := newPair(t, newWorld(lose), ibv.RDMA_PS_UDP)
		do(t, p.active.Connect(Parameters{Private: []byte("hi")}))
		request := want(t, p.s, ibv.RDMA_CM_EVENT_CONNECT_REQUEST)
		if !bytes.HasPrefix(request.Connection.Private, []byte("hi")) {
			t.Errorf("%+v", request)
		}
		do(t, request.ID.Accept(&Parameters{QPN: 0x777, Private: []byte("here")}))
		e := want(t, p.c, ibv.RDMA_CM_EVENT_ESTABLISHED)
		if e.Connection.QPN != 0x777 || e.QKey != UDPQKey || !bytes.HasPrefix(e.Connection.Private, []byte("here")) ||
			netip.AddrFrom16(e.Address.GRH.DGID).Unmap() != p.server.address {
			t.Errorf("%+v", e)
		}
	}
	p := newPair(t, newWorld(0), ibv.RDMA_PS_UDP)
	do(t, p.active.Connect(Parameters{}))
	do(t, want(t, p.s, ibv.RDMA_CM_EVENT_CONNECT_REQUEST).ID.Reject(nil))
	if e := want(t, p.c, ibv.RDMA_CM_EVENT_UNREACHABLE); e.Status != sidrRejected {
		t.Errorf("%+v", e)
	}
}

// TestStates has calls in a wrong state be EINVAL, and ports have one owner.
func TestStates(t *testing.T) {
	w := newWorld(0)
	p := w.process("10.0.0.1")
	c := channel(t)
	id := p.manager.NewID(c, ibv.RDMA_PS_TCP)
	for name, err := range map[string]error{"Connect": id.Connect(Parameters{}), "Accept": id.Accept(nil),
		"Reject": id.Reject(nil), "Disconnect": id.Disconnect(), "ResolveRoute": id.ResolveRoute(),
		"Established": id.Established()} {
		if err != unix.EINVAL {
			t.Errorf("%s: %v", name, err)
		}
	}
	at := netip.AddrPortFrom(p.address, 99)
	do(t, id.Bind(at))
	if err := id.Bind(at); err != unix.EINVAL {
		t.Errorf("bound twice: %v", err)
	}
	other := w.process("10.0.0.1").manager.NewID(c, ibv.RDMA_PS_TCP)
	if err := other.Bind(at); err != unix.EADDRINUSE {
		t.Errorf("bound by two: %v", err)
	}
	if err := other.Bind(netip.MustParseAddrPort("192.0.2.1:1")); err != unix.EADDRNOTAVAIL {
		t.Errorf("bound to another host's address: %v", err)
	}
	do(t, other.Bind(netip.AddrPortFrom(p.address, 0)))
	if other.Local().Port() == 0 {
		t.Error("no port")
	}
	id.Destroy()
	do(t, p.manager.NewID(c, ibv.RDMA_PS_TCP).Bind(at))
}

// TestMAD reads back what it writes, for each kind of message.
func TestMAD(t *testing.T) {
	private := func(n int) []byte { return bytes.Repeat([]byte{0xa5}, n) }
	from, to := netip.MustParseAddrPort("10.1.2.3:49999"), netip.MustParseAddrPort("10.4.5.6:7471")
	from6, to6 := netip.MustParseAddrPort("[2001:db8::1]:1"), netip.MustParseAddrPort("[2001:db8::2]:2")
	for _, m := range []message{
		{attribute: attrREQ, local: 1, service: serviceID(ibv.RDMA_PS_TCP, 7471), guid: 9, qkey: 3, qpn: 0xabcdef,
			psn: 0x123456, responderResources: 4, initiatorDepth: 5, retryCount: 7, rnrRetryCount: 6, ackTimeout: 19, mtu: 3,
			flowControl: true, srq: true, from: from, to: to, private: private(reqPrivate)},
		{attribute: attrREQ, local: 1, service: serviceID(ibv.RDMA_PS_TCP, 2), from: from6, to: to6, transport: 1,
			private: private(reqPrivate)},
		{attribute: attrREP, local: 1, remote: 2, guid: 9, qkey: 3, qpn: 0xabcdef, psn: 0x123456, responderResources: 4,
			initiatorDepth: 5, rnrRetryCount: 6, flowControl: true, srq: true, private: private(repPrivate)},
		{attribute: attrRTU, local: 1, remote: 2, private: private(rtuPrivate)},
		{attribute: attrREJ, local: 1, remote: 2, rejected: 1, reason: 28, private: private(rejPrivate)},
		{attribute: attrDREQ, local: 1, remote: 2, qpn: 0xabcdef, private: private(dreqPrivate)},
		{attribute: attrDREP, local: 1, remote: 2, private: private(drepPrivate)},
		{attribute: attrSIDRREQ, local: 1, service: serviceID(ibv.RDMA_PS_UDP, 7471), from: from, to: to,
			private: private(sidrReqPrivate)},
		{attribute: attrSIDRREP, local: 1, remote: 1, status: 2, qpn: 0xabcdef, qkey: 3, service: 7,
			private: private(sidrRepPrivate)},
	} {
		m.transaction = 1 << 60
		got, err := decode(m.encode())
		if diff := cmp.Diff(m, got, cmp.AllowUnexported(message{}), cmp.Comparer(equalPorts)); err != nil || diff != "" {
			t.Errorf("attribute %#x: %v\n%s", m.attribute, err, diff)
		}
		id, space, port, ok := Route(m.encode())
		if want := m.remote; !ok || id != want || m.service>>24 == 1 && (uint64(space)<<16|uint64(port)) != m.service {
			t.Errorf("attribute %#x goes to %#x, %#x:%d", m.attribute, id, space, port)
		}
	}
}

func equalPorts(a, b netip.AddrPort) bool { return a == b }

// FuzzReceive has whatever comes in harm nobody.
func FuzzReceive(f *testing.F) {
	m := message{attribute: attrREQ, service: serviceID(ibv.RDMA_PS_TCP, port),
		from: netip.MustParseAddrPort("10.0.0.1:1"), to: netip.MustParseAddrPort("10.0.0.2:1")}
	f.Add(m.encode(), 0, byte(1))
	f.Fuzz(func(t *testing.T, mad []byte, at int, value byte) {
		w := newWorld(1)
		p := w.process("10.0.0.2")
		c := channel(t)
		defer c.Close()
		id := p.manager.NewID(c, ibv.RDMA_PS_TCP)
		do(t, id.Bind(netip.AddrPortFrom(netip.IPv4Unspecified(), port)), id.Listen(0))
		if at >= 0 && at < len(mad) {
			mad[at] = value
		}
		for range 2 {
			p.manager.Receive(p.address, netip.MustParseAddr("10.0.0.1"), mad)
		}
		_, _, _, _ = Route(mad)
		p.manager.Close()
	})
}

// readable says whether a channel shows an event.
func readable(t *testing.T, c *Channel) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.FD()), Events: unix.POLLIN}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// TestNobodysEvents has events of an identifier that is destroyed go: those that wait, and one that a thread has just
// taken.
func TestNobodysEvents(t *testing.T) {
	p := newWorld(0).process("10.0.0.1")
	c := channel(t)
	defer c.Close()
	for _, taken := range []bool{false, true} {
		id := p.manager.NewID(c, ibv.RDMA_PS_TCP)
		do(t, id.ResolveAddress(netip.AddrPort{}, netip.AddrPortFrom(p.address, port)))
		if !readable(t, c) {
			t.Fatal("no event shows")
		}
		if !taken {
			id.Destroy()
		} else {
			do(t, unix.SetNonblock(c.FD(), true))
			var gone []*Event
			e, err := c.Next(bell.Waits, p.meanwhile(id.destroy), func(e *Event) { gone = append(gone, e) })
			if err != unix.EAGAIN {
				t.Errorf("the application gets an event of an identifier that it has destroyed: %v, %v", e, err)
			}
			if len(gone) != 1 || gone[0].ID != id {
				t.Errorf("events that nobody gets: %v", gone)
			}
		}
		if readable(t, c) {
			t.Error("an event shows, and nobody would get one")
		}
	}
}

// meanwhile does something under the manager's lock once an event has been taken from its channel, before anybody can
// ask whether the application gets it.
func (p *process) meanwhile(do func()) (seen func(*Event)) {
	return func(*Event) {
		p.manager.mu.Lock()
		go func() {
			defer p.manager.mu.Unlock()
			do()
		}()
	}
}

// request is a REQ from another host, and the REJ that takes it back.
func request(p *process, from string, id uint32) (ask, takeBack func()) {
	remote := netip.MustParseAddr(from)
	send := func(m message) { p.manager.Receive(p.address, remote, m.encode()) }
	ask = func() {
		send(message{attribute: attrREQ, local: id, service: serviceID(ibv.RDMA_PS_TCP, port), mtu: 3,
			from: netip.AddrPortFrom(remote, 1), to: netip.AddrPortFrom(p.address, port)})
	}
	takeBack = func() {
		p.manager.mu.Lock()
		m := message{attribute: attrREJ, local: id, rejected: rejectedREQ, reason: RejectTimeout}
		if passive := p.manager.remote[peerKey{remote, id}]; passive != nil {
			m.remote = passive.comm
		}
		p.manager.mu.Unlock()
		send(m)
	}
	return ask, takeBack
}

// TestRequestsTakenBack has requests that come and go not outgrow the backlog.
func TestRequestsTakenBack(t *testing.T) {
	p := newWorld(1).process("10.0.0.2")
	c := channel(t)
	defer c.Close()
	l := p.manager.NewID(c, ibv.RDMA_PS_TCP)
	const backlog = 4
	do(t, l.Bind(netip.AddrPortFrom(netip.IPv4Unspecified(), port)), l.Listen(backlog))
	flood := func(first uint32) {
		for i := range uint32(100) {
			ask, takeBack := request(p, "10.0.0.1", first+i)
			ask()
			takeBack()
		}
	}
	flood(1)
	var requests []*ID
	for readable(t, c) {
		e, err := c.Next(bell.Waits, nil, nil)
		do(t, err)
		e.Ack()
		if e.Type == ibv.RDMA_CM_EVENT_CONNECT_REQUEST {
			requests = append(requests, e.ID)
		}
	}
	if len(requests) != backlog {
		t.Errorf("%d requests with a backlog of %d", len(requests), backlog)
	}
	for _, id := range requests {
		if err := id.Accept(nil); err != unix.EINVAL {
			t.Errorf("a request that was taken back is accepted: %v", err)
		}
		id.Destroy()
	}
	ask, _ := request(p, "10.0.0.1", 1000)
	ask()
	want(t, c, ibv.RDMA_CM_EVENT_CONNECT_REQUEST)
}

// TestMoveListener has a request's events follow its listener to another channel.
func TestMoveListener(t *testing.T) {
	p := newWorld(1).process("10.0.0.2")
	from, to := channel(t), channel(t)
	defer from.Close()
	defer to.Close()
	l := p.manager.NewID(from, ibv.RDMA_PS_TCP)
	do(t, l.Bind(netip.AddrPortFrom(netip.IPv4Unspecified(), port)), l.Listen(0))
	ask, takeBack := request(p, "10.0.0.1", 7)
	ask()
	l.Move(to)
	takeBack()
	if readable(t, from) {
		t.Error("an event stays behind")
	}
	want(t, to, ibv.RDMA_CM_EVENT_CONNECT_REQUEST)
	want(t, to, ibv.RDMA_CM_EVENT_REJECTED)
}

// TestWaitOfClosedChannel has a thread wait on when the event that woke it is nobody's and the channel is closed:
// because the event is taken back before the thread has it, or after that.
func TestWaitOfClosedChannel(t *testing.T) {
	p := newWorld(0).process("10.0.0.1")
	for _, taken := range []bool{false, true} {
		c := channel(t)
		id := p.manager.NewID(c, ibv.RDMA_PS_TCP)
		destroy := func() {
			id.destroy()
			c.Close()
		}
		var seen func(*Event)
		if taken {
			seen = p.meanwhile(destroy)
		} else {
			c.mu.Lock()
		}
		ended := make(chan error)
		go func() {
			_, err := c.Next(bell.Waits, seen, nil)
			ended <- err
		}()
		if taken {
			do(t, id.ResolveAddress(netip.AddrPort{}, netip.AddrPortFrom(p.address, port)))
		} else {
			c.bell.Ring()
			rung := []unix.PollFd{{Fd: int32(c.FD()), Events: unix.POLLIN}}
			for n := 1; n != 0; { // until the event has been read
				var err error
				n, err = unix.Poll(rung, 0)
				do(t, err)
				time.Sleep(time.Millisecond)
			}
			c.Close()
			c.mu.Unlock()
		}
		select {
		case err := <-ended:
			t.Errorf("it ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if _, err := c.Next(bell.Waits, nil, nil); err != unix.EBADF {
			t.Errorf("later: %v", err)
		}
	}
}
