package local

import (
	"errors"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fault"
	"farside/internal/socket"
	"farside/internal/trust"
	"farside/rdmasim/internal/verbs"
)

const (
	// maxClients bounds the connections of one owner, and so does half of the descriptors that its process may
	// have. A user has at most half of these places and a process an eighth, so that none locks the others out.
	// Strangers never get one.
	maxClients   = 1024
	userShare    = 2
	processShare = 8
	// joinTimeout is how long a connection can be silent that hasn't joined.
	joinTimeout = 5 * time.Second
	// sendTimeout is how long a peer that doesn't read is waited for.
	sendTimeout = time.Second
)

// client is one connected peer.
type client struct {
	owner *Owner
	conn  *socket.Conn
	who   *unix.Ucred // when it connected

	// Under owner.mu.
	ledger  []byte             // nil until the peer has joined
	entries uint32             // in it
	holds   map[uint32]*Region // by entry
}

// serve accepts until the listener is closed.
func (o *Owner) serve() {
	for {
		conn, err := o.listener.AcceptConn()
		if err == nil {
			o.admit(conn)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Out of descriptors or memory: the connection waits in the queue until there are some.
		time.Sleep(10 * time.Millisecond)
	}
}

// admit greets a peer, or says why not. The greeting is the first packet in an empty socket buffer, so that
// sending it can't block.
func (o *Owner) admit(conn *socket.Conn) {
	hello := message{kind: kindHello, slot: controlSlots}
	who, err := trust.OtherSide(conn)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed || err != nil:
		_ = conn.Close()
		return
	case !o.allowed.Allows(who.Uid):
		hello.status = wireDenied
	case !o.hasRoom(who):
		hello.status = wireBusy
	}
	c := &client{owner: o, conn: conn, who: who, holds: map[uint32]*Region{}}
	fds := []int{o.page.Int()}
	if hello.status != wireOK {
		fds = nil
	}
	if err := c.send(hello, fds...); err != nil || hello.status != wireOK {
		_ = conn.Close()
		return
	}
	o.clients[c] = struct{}{}
	o.serving.Go(c.run)
}

// hasRoom says whether a peer may have one more connection; with few descriptors a share is one place. Under o.mu.
func (o *Owner) hasRoom(who *unix.Ucred) bool {
	user, process := 0, 0
	for c := range o.clients {
		if c.who.Uid == who.Uid {
			user++
		}
		if c.who.Pid == who.Pid {
			process++
		}
	}
	return user < max(o.places/userShare, 1) && process < max(o.places/processShare, 1) && len(o.clients) < o.places
}

// places is the bound on an owner's connections.
func places() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return maxClients
	}
	return int(min(maxClients, limit.Cur/2))
}

// run answers a peer's requests until it goes away or talks nonsense.
func (c *client) run() {
	defer c.leave()
	var buf [requestSize + 1]byte // one more, so that longer packets show
	for {
		if err := c.conn.SetReadDeadline(c.deadline()); err != nil {
			return
		}
		n, passed, lost, err := receivePacket(c.conn, buf[:])
		switch {
		case errors.Is(err, verbs.ErrProtocol):
			_ = c.send(message{kind: kindReply, status: wireBadRequest})
			return
		case err != nil:
			return
		case lost: // no descriptor is left for the ledger
			_ = c.send(message{kind: kindReply, status: wireBusy})
			return
		}
		if c.owner.faults != nil && c.owner.serveOnCommand(buf[:n]) {
			_ = passed.Close()
			return
		}
		reply, fd := c.answer(buf[:n], passed.Int())
		_ = passed.Close()
		switch {
		case fd >= 0:
			err = c.send(reply, fd)
			_ = unix.Close(fd)
		case reply.kind != 0:
			err = c.send(reply)
		}
		if err != nil || reply.status == wireBadRequest {
			return
		}
	}
}

// serveOnCommand lets a question for a region take longer, or says that the peer's connection is to be cut.
func (o *Owner) serveOnCommand(packet []byte) (sever bool) {
	if q, err := decodeRequest(packet); err != nil || q.kind != kindResolve {
		return false
	}
	const target = "rdma.serve"
	i, ok := o.faults.At(target, func(fault.Condition) bool { return false }) // no name is known yet
	if ok {
		o.faults.Tell(target, &i)
		time.Sleep(i.Delay)
	}
	return i.Sever
}

// deadline is until when the next request must be there. A client that has joined has no limit. One that only lists
// regions doesn't join, and asks at once.
func (c *client) deadline() time.Time {
	if c.ledger != nil { // nobody but run sets it
		return time.Time{}
	}
	return time.Now().Add(c.owner.JoinTimeout)
}

// leave forgets a peer that is gone. Nobody is inside of the regions then:
//
//  1. A live peer closes the connection when it has left all regions (session.users).
//  2. A dead one's is closed by the kernel after its last thread has stopped (do_exit of Linux: exit_files comes
//     when the thread runs no more code of the process).
func (c *client) leave() {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	delete(c.owner.clients, c)
	c.leaveTraffic()
	for entry := range c.holds {
		c.let(entry)
	}
	if c.ledger != nil {
		_ = unix.Munmap(c.ledger)
		c.ledger = nil
	}
	_ = c.conn.Close()
}

// let closes an account: what the peer has done to the region is remembered with the region. Under owner.mu.
func (c *client) let(entry uint32) {
	r := c.holds[entry]
	delete(c.holds, entry)
	delete(r.holders, holder{c, entry})
	e := entryAt(c.ledger, entry)
	e.addTo(&r.past)
}

// answer decides on a request. passed is the descriptor that came along, or -1, and stays the caller's; fd is
// the payload's, to be sent and then closed, or -1. A reply of kind 0 isn't sent.
func (c *client) answer(packet []byte, passed int) (reply message, fd int) {
	q, err := decodeRequest(packet)
	if err != nil {
		return message{kind: kindReply, status: wireBadRequest}, -1
	}
	if q.kind >= kindAnnounce {
		return c.transfers(q, passed), -1
	}
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	fd = -1
	switch q.kind {
	case kindJoin:
		if !c.join(passed, q.entry) {
			reply = message{kind: kindReply, status: wireBadRequest}
		}
		return reply, -1
	case kindResolve:
		reply, fd = c.resolve(q)
	case kindNext:
		reply = c.owner.next(q.address)
	}
	reply.kind, reply.tag = kindReply, q.tag
	return reply, fd
}

// join maps a peer's ledger. Under owner.mu.
func (c *client) join(fd int, entries uint32) bool {
	if c.ledger != nil || fd < 0 || entries == 0 || entries > ledgerEntries {
		return false
	}
	size := int(entries) * entrySize
	if checkPayload(fd, 0, uint64(size), verbs.AccessRead) != nil {
		return false
	}
	ledger, err := unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return false
	}
	c.ledger, c.entries = ledger, entries
	return true
}

// resolve opens the region around an address for a peer. Under owner.mu.
func (c *client) resolve(q request) (message, int) {
	if q.entry >= c.entries || c.holds[q.entry] != nil {
		return message{status: wireBadRequest}, -1
	}
	r, status := c.owner.find(q.address)
	switch {
	case status != wireOK:
	case q.key != 0 && q.key != r.key:
		status = wireKey
	case r.attributes.Access&q.access != q.access:
		status = wireAccess
	}
	if status != wireOK {
		return message{status: status}, -1
	}
	// A descriptor of our own, made while the region can't be closed: the borrowed one may be gone, or be
	// another file, by the time the packet leaves.
	fd, err := payloadFD(r)
	if err != nil {
		return message{status: wireBusy}, -1
	}
	c.holds[q.entry] = r
	if r.holders == nil {
		r.holders = map[holder]struct{}{}
	}
	r.holders[holder{c, q.entry}] = struct{}{}
	return r.describe(), fd
}

// next is the first region from an address on, with what has been done to it. Under o.mu.
func (o *Owner) next(address uint64) message {
	i, _ := slices.BinarySearchFunc(o.regions, address, byBase)
	for ; i < len(o.regions); i++ {
		if r := o.regions[i]; r.freed.IsZero() {
			m := r.describe()
			m.counters, m.peers = r.counters(), uint32(len(r.holders))
			return m
		}
	}
	return message{status: wireUnknown}
}

// describe is the region as peers get it.
func (r *Region) describe() message {
	return message{
		base: r.base, length: r.length, offset: r.offset, slot: r.slot, access: r.attributes.Access,
		generation: r.generation, key: r.key, device: r.attributes.DeviceUUID, name: r.attributes.Name,
		strict: r.traffic != nil,
	}
}

// send writes one packet, waiting for a slow reader no longer than sendTimeout.
func (c *client) send(m message, fds ...int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err := c.conn.WriteMsg(m.encode(), rights)
	return err
}

// notify sends a packet if it can leave at once and drops it otherwise. It goes around the connection's
// write lock, which a send to a slow reader holds.
func (c *client) notify(m message) {
	_ = c.conn.Control(func(fd int) {
		_ = unix.Send(fd, m.encode(), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	})
}
