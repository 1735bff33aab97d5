package cm

import (
	"io"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
)

// state is where an identifier is.
type state int

const (
	idle state = iota
	bound
	addressResolved
	routeResolved
	listening
	connecting // REQ or SIDR_REQ sent
	requested  // REQ or SIDR_REQ received
	responded  // REP received; the application is to answer it
	accepting  // REP sent
	connected
	disconnecting // DREQ sent
	disconnected
)

// ID is an identifier: a connection, or who waits for some.
type ID struct {
	User any // the caller's

	manager *Manager
	space   ibv.PortSpace

	// Under manager.mu.
	channel    *Channel
	state      state
	destroyed  bool
	local      netip.AddrPort // address invalid: all
	remote     netip.AddrPort
	claim      io.Closer // the port, if it has one
	serving    io.Closer // of a listener
	reuse      bool
	ackTimeout uint8
	unacked    int // events that the application has and has not acknowledged
	backlog    int // of a listener, what is still free of it
	listener   *ID // whose backlog a request uses

	comm        uint32 // communication id, 0 without
	peer        netip.Addr
	peerComm    uint32
	transaction uint64
	mine        Parameters // that were sent
	theirs      Parameters
	psn         uint32 // that the peer begins with; we tell it (section 12.7.31)
	peerPSN     uint32 // that we begin with
	mtu         ibv.MTU

	pending message // what is sent again until it is answered; attribute 0 for none
	tries   int
	asked   time.Time // when it was sent first
	timer   *time.Timer
}

// NewID makes an identifier of a port space, whose events go to a channel.
func (m *Manager) NewID(c *Channel, space ibv.PortSpace) *ID {
	return &ID{manager: m, channel: c, space: space}
}

// lock takes the manager's lock; the function that it returns gives it back.
func (id *ID) lock() func() {
	id.manager.mu.Lock()
	return id.manager.mu.Unlock
}

// datagram says whether the identifier is of UD.
func (id *ID) datagram() bool { return id.space == ibv.RDMA_PS_UDP || id.space == ibv.RDMA_PS_IPOIB }

// tell puts an event on the channel. Under mu.
func (id *ID) tell(e Event) {
	if id.destroyed || id.manager.closed {
		return
	}
	e.ID = id
	id.channel.put(&e)
}

// got says that the application gets an event, which Ack is to follow. It says false for one whose identifier has been
// destroyed since it was taken from the channel: nobody may get that.
func (e *Event) got() bool {
	owner := e.owner()
	defer owner.lock()()
	if owner.destroyed || e.ID.destroyed {
		return false
	}
	owner.unacked++
	return true
}

// Ack says that the application is done with an event.
func (e *Event) Ack() {
	owner := e.owner()
	defer owner.lock()()
	owner.unacked--
	owner.manager.acked.Broadcast()
}

// owner is whose destruction waits for the event's acknowledgement.
func (e *Event) owner() *ID {
	if e.Type == ibv.RDMA_CM_EVENT_CONNECT_REQUEST {
		return e.Listen
	}
	return e.ID
}

// Bind gives the identifier an address of this host, or all (an unspecified one), and a port; 0 is any that is free.
// Errors: EINVAL, EADDRNOTAVAIL, EADDRINUSE.
func (id *ID) Bind(at netip.AddrPort) error {
	defer id.lock()()
	if id.state != idle {
		return unix.EINVAL
	}
	return id.bind(at, true)
}

// bind is Bind. A port that nobody asked for, and at which nobody listens, need not be claimed. Under mu.
func (id *ID) bind(at netip.AddrPort, claim bool) error {
	a := at.Addr().Unmap()
	if a.IsUnspecified() {
		a = netip.Addr{}
	}
	if a.IsValid() && !id.manager.wire.Own(a) {
		return unix.EADDRNOTAVAIL
	}
	const first, last = 49152, 65535 // of ports that nobody asked for
	port, tries := at.Port(), 1
	if port == 0 {
		port, tries = first+uint16(time.Now().UnixNano()>>8%(last-first)), last-first
	}
	for ; tries > 0; tries-- {
		want := netip.AddrPortFrom(a, port)
		if !claim && at.Port() == 0 || id.reuse {
			id.local, id.state = want, bound
			return nil
		}
		claim, err := id.manager.wire.Claim(uint16(id.space), want)
		if err == nil {
			id.claim, id.local, id.state = claim, want, bound
			return nil
		}
		if at.Port() != 0 || err != unix.EADDRINUSE {
			return err
		}
		if port++; port == last {
			port = first
		}
	}
	return unix.EADDRNOTAVAIL
}

// Local and Remote are the addresses, as far as they are known.
func (id *ID) Local() netip.AddrPort  { defer id.lock()(); return id.local }
func (id *ID) Remote() netip.AddrPort { defer id.lock()(); return id.remote }

// SetReuse lets several identifiers have one port, of which one listens (RDMA_OPTION_ID_REUSEADDR); SetACKTimeout is
// RDMA_OPTION_ID_ACK_TIMEOUT.
func (id *ID) SetReuse(on bool)      { defer id.lock()(); id.reuse = on }
func (id *ID) SetACKTimeout(t uint8) { defer id.lock()(); id.ackTimeout = t & 0x1f }

// Move gives the identifier another channel, with the events that wait. Requests that the application has not seen go
// with their listener.
func (id *ID) Move(c *Channel) {
	defer id.lock()()
	id.move(c)
}

func (id *ID) move(c *Channel) {
	old := id.channel
	id.channel = c
	for _, e := range old.take(id) {
		c.put(e)
		if e.ID != id {
			e.ID.move(c)
		}
	}
}

// ResolveAddress finds the way to an address; ADDR_RESOLVED or ADDR_ERROR follows. source may be invalid. Errors:
// EINVAL, those of Bind.
func (id *ID) ResolveAddress(source, destination netip.AddrPort) error {
	defer id.lock()()
	if id.state != idle && id.state != bound {
		return unix.EINVAL
	}
	to := destination.Addr().Unmap()
	if to.IsUnspecified() { // as the kernel does it: this host
		to = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if destination.Addr().Is6() {
			to = netip.IPv6Loopback()
		}
	}
	if id.state == idle {
		if err := id.bind(source, false); err != nil {
			return err
		}
	}
	if !id.local.Addr().IsValid() {
		from, err := id.manager.wire.Source(to)
		if err != nil {
			errno, _ := err.(unix.Errno)
			id.tell(Event{Type: ibv.RDMA_CM_EVENT_ADDR_ERROR, Status: -int(errno)})
			return nil
		}
		id.local = netip.AddrPortFrom(from, id.local.Port())
	}
	id.remote = netip.AddrPortFrom(to, destination.Port())
	id.state = addressResolved
	id.tell(Event{Type: ibv.RDMA_CM_EVENT_ADDR_RESOLVED})
	return nil
}

// ResolveRoute follows ResolveAddress; ROUTE_RESOLVED follows. Error: EINVAL.
func (id *ID) ResolveRoute() error {
	defer id.lock()()
	if id.state != addressResolved {
		return unix.EINVAL
	}
	id.state = routeResolved
	id.tell(Event{Type: ibv.RDMA_CM_EVENT_ROUTE_RESOLVED})
	return nil
}

// maxBacklog is the largest backlog, and that of 0.
const maxBacklog = 1024

// Listen waits for requests; CONNECT_REQUEST follows each. Errors: EINVAL, those of Bind.
func (id *ID) Listen(backlog int) error {
	defer id.lock()()
	if id.state == idle {
		if err := id.bind(netip.AddrPortFrom(netip.IPv4Unspecified(), 0), true); err != nil {
			return err
		}
	}
	if id.state != bound {
		return unix.EINVAL
	}
	if backlog <= 0 || backlog > maxBacklog {
		backlog = maxBacklog
	}
	key := portKey{uint16(id.space), id.local}
	if id.manager.listeners[key] != nil {
		return unix.EADDRINUSE
	}
	if id.claim == nil {
		claim, err := id.manager.wire.Claim(key.space, key.at)
		if err != nil {
			return err
		}
		id.claim = claim
	}
	serving, err := id.manager.wire.Serve(key.space, key.at)
	if err != nil {
		return err
	}
	id.serving = serving
	id.manager.listeners[key] = id
	id.state, id.backlog = listening, backlog
	return nil
}

// Destroy ends the identifier: a connection is disconnected, requests that nobody has answered are rejected. It waits
// until the application has acknowledged its events.
func (id *ID) Destroy() {
	m := id.manager
	m.mu.Lock()
	defer m.mu.Unlock()
	if id.destroyed {
		return
	}
	id.destroy()
	for id.unacked > 0 && !m.closed {
		m.acked.Wait()
	}
}

// destroy ends the identifier, and takes events back that nobody has got. Under mu.
func (id *ID) destroy() {
	id.leave()
	id.destroyed = true
	for _, e := range id.channel.take(id) {
		if e.Type == ibv.RDMA_CM_EVENT_CONNECT_REQUEST && e.ID != id {
			e.ID.leave()
			e.ID.destroyed = true
		}
	}
}

// leave tells the other side, and takes the identifier from the manager's lists. Under mu.
func (id *ID) leave() {
	m := id.manager
	switch id.state {
	case connecting:
		if id.datagram() {
			break
		}
		id.reject(rejectedNone, RejectTimeout, nil)
	case requested:
		if id.datagram() {
			id.answerSIDR(&Parameters{}, sidrRejected)
		} else {
			id.reject(rejectedREQ, RejectConsumer, nil)
		}
	case responded:
		id.reject(rejectedREP, RejectConsumer, nil)
	case accepting, connected:
		if !id.datagram() {
			msg := id.message(attrDREQ)
			msg.qpn = id.theirs.QPN
			m.send(id.local.Addr(), id.peer, &msg)
		}
	case listening:
		delete(m.listeners, portKey{uint16(id.space), id.local})
	}
	id.stopTimer()
	id.release()
	if m.ids[id.comm] == id {
		delete(m.ids, id.comm)
	}
	if key := (peerKey{id.peer, id.peerComm}); m.remote[key] == id {
		delete(m.remote, key)
	}
	id.giveBack()
	id.state = disconnected
}

// giveBack gives the port back. Under mu.
func (id *ID) giveBack() {
	for _, c := range []*io.Closer{&id.serving, &id.claim} {
		if *c != nil {
			_ = (*c).Close()
			*c = nil
		}
	}
}

// release gives its place in the listener's backlog back. Under mu.
func (id *ID) release() {
	if id.listener != nil {
		id.listener.backlog++
		id.listener = nil
	}
}

// message begins one to the other side. Under mu.
func (id *ID) message(attribute uint16) message {
	return message{attribute: attribute, transaction: id.transaction, local: id.comm, remote: id.peerComm}
}
