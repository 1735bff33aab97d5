package rdmasim

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxClients bounds the peers of one owner. Strangers never become clients.
	maxClients = 1024
	// sendTimeout is how long a peer that doesn't read is waited for.
	sendTimeout = time.Second
)

// client is one connected peer.
type client struct {
	owner *Owner
	conn  *net.UnixConn
}

// serve accepts until the listener is closed.
func (o *Owner) serve() {
	for {
		conn, err := o.listener.AcceptUnix()
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
func (o *Owner) admit(conn *net.UnixConn) {
	hello := message{kind: kindHello, slot: controlSlots}
	uid, err := peerUID(conn)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed || err != nil:
		_ = conn.Close()
		return
	case !o.allowed.allows(uid):
		hello.status = wireDenied
	case len(o.clients) >= maxClients:
		hello.status = wireBusy
	}
	c := &client{owner: o, conn: conn}
	fds := []int{o.controlFD}
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

// run answers a peer's requests until it goes away or talks nonsense.
func (c *client) run() {
	o := c.owner
	defer func() {
		o.mu.Lock()
		delete(o.clients, c)
		o.mu.Unlock()
		_ = c.conn.Close()
	}()
	var buf [requestSize + 1]byte // one more, so that longer packets show
	for {
		n, err := c.conn.Read(buf[:]) // without room for descriptors: those that are sent along are dropped
		if err != nil {
			return
		}
		reply, fd := o.answer(buf[:n])
		if fd < 0 {
			err = c.send(reply)
		} else {
			err = c.send(reply, fd)
			_ = unix.Close(fd)
		}
		if err != nil || reply.status == wireBadRequest {
			return
		}
	}
}

// answer decides on a request. fd is the payload's, to be sent and then closed, or -1.
func (o *Owner) answer(packet []byte) (reply message, fd int) {
	reply.kind = kindReply
	q, err := decodeRequest(packet)
	if err != nil {
		reply.status = wireBadRequest
		return reply, -1
	}
	reply.tag = q.tag
	o.mu.Lock()
	defer o.mu.Unlock()
	r, status := o.find(q.address)
	if status == wireOK && r.access&q.access != q.access {
		status = wireAccess
	}
	if status == wireOK {
		// A descriptor of our own, made while the region can't be closed: the borrowed one may be gone, or
		// be another file, by the time the packet leaves.
		if fd, err = payloadFD(r); err != nil {
			status = wireBusy
		}
	}
	reply.status = status
	if status != wireOK {
		return reply, -1
	}
	r.handedOut = true
	reply.base, reply.length, reply.offset = r.base, r.length, r.offset
	reply.slot, reply.access, reply.generation = r.slot, r.access, r.generation
	return reply, fd
}

// payloadFD opens the payload for a peer. A region without write and atomic rights goes out read-only, so
// that the kernel enforces what the peer is asked to observe.
func payloadFD(r *Region) (int, error) {
	if r.access&(AccessWrite|AccessAtomic) == 0 {
		return unix.Open("/proc/self/fd/"+strconv.Itoa(r.fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	return unix.FcntlInt(uintptr(r.fd), unix.F_DUPFD_CLOEXEC, 0)
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
	_, _, err := c.conn.WriteMsgUnix(m.encode(), rights, nil)
	return err
}

// notify sends a packet if it can leave at once and drops it otherwise. It goes around the connection's
// write lock, which a send to a slow reader holds.
func (c *client) notify(m message) {
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.Send(int(fd), m.encode(), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	})
}

// peerUID is the effective user that the other end had when it connected or listened.
func peerUID(conn *net.UnixConn) (uint32, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, fmt.Errorf("rdmasim: credentials of the other side: %w", credErr)
	}
	return cred.Uid, nil
}
