package rdmasim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// link is a peer's connection to one owner. It carries resolve requests and nothing of the data, and its end
// tells of the owner's death. It is made on the first request and again when a new owner answers to the id.
type link struct {
	peer *Peer
	id   uint32

	turn    chan struct{} // held by the one resolve that is under way; it guards session
	session *session      // nil before the first

	ctx    context.Context // ends when the peer is closed
	cancel context.CancelFunc

	ended atomic.Pointer[ending] // how the last session ended, nil while none has
}

type ending struct {
	reason error
	pid    int // the owner's
}

// session is one connection. The connection lasts as long as the link or a region of it is in use, since its
// end tells the owner that the peer is in no region any more. The two mappings last as long as anything
// refers to the session: an operation looks at them after it has left its region.
type session struct {
	link    *link
	conn    *net.UnixConn
	control []byte // the owner's control page
	ledger  []byte // what this peer tells the owner
	slots   uint32
	entries uint32 // of the ledger, used up; guarded by the link's turn
	serving *atomic.Uint64
	served  uint64 // value of serving while the owner lives
	pid     int    // the owner's
	uid     uint32
	done    chan struct{} // closed when the connection is known to have ended
	users   atomic.Int64  // the link and the regions

	mu      sync.Mutex
	tag     uint32
	waiting chan answer // of the request with tag; nil when none is
}

// answer is an owner's reply with the descriptor that came along, -1 without.
type answer struct {
	message
	fd   int
	lost bool // a descriptor was sent and this process had no room for it
}

func newLink(p *Peer, id uint32) *link {
	l := &link{peer: p, id: id, turn: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// resolve asks the owner for the region around an address.
func (l *link) resolve(ctx context.Context, address, key uint64, need Access) (*RemoteRegion, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// Another goroutine may have had the same question.
	if r := l.peer.lookup(address); r != nil && r.view.alive() {
		return r, r.info.checkKey(key)
	}
	s, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	entry := s.entries
	s.entries++
	reply, err := s.send(ctx, request{kind: kindResolve, access: need, address: address, key: key, entry: entry})
	if s.control == nil {
		// A new connection. The owner's greeting comes first, and says why sending failed, if it did.
		if err := s.greet(ctx); err != nil {
			_ = s.conn.Close()
			l.session = nil
			return nil, err
		}
		go s.read()
	}
	a, err := s.wait(ctx, reply, err)
	if err != nil {
		return nil, err
	}
	if a.fd >= 0 {
		defer unix.Close(a.fd)
	}
	if err := wireErrors[a.status]; err != nil {
		return nil, err
	}
	if err := a.check(l.id, address, s.slots); err != nil {
		return nil, err
	}
	if a.lost {
		return nil, osError("receive a region", unix.EMFILE)
	}
	if a.fd < 0 {
		return nil, fmt.Errorf("%w: no descriptor with region %#x", ErrProtocol, a.base)
	}
	v, err := s.open(a, entry)
	if err != nil {
		return nil, err
	}
	r := &RemoteRegion{info: a.info(s.pid, s.uid), view: v}
	if err := l.peer.add(r); err != nil {
		v.close(err)
		return nil, err
	}
	// The region or the owner may have ended before the table knew of the region.
	if !v.valid() {
		reason := v.ending()
		l.peer.drop(r, reason)
		return nil, reason
	}
	select {
	case <-s.done:
		reason := l.lastEnd()
		l.peer.drop(r, reason)
		return nil, reason
	default:
		return r, nil
	}
}

func (l *link) closing() context.Context { return l.ctx }

// lastEnd is how the last session ended.
func (l *link) lastEnd() error {
	if e := l.ended.Load(); e != nil {
		return e.reason
	}
	return ErrUnknownAddress
}

// close ends the link once the resolve under way has noticed; nobody gets a turn afterwards.
func (l *link) close() {
	l.cancel()
	l.turn <- struct{}{}
	l.leave()
}

// leave lets go of the session. With the turn.
func (l *link) leave() {
	if s := l.session; s != nil {
		l.session = nil
		s.release()
	}
}

// connect returns the session with the owner, making one if there is none that can take a region.
func (l *link) connect(ctx context.Context) (*session, error) {
	if s := l.session; s != nil {
		switch {
		case s.serving.Load() != s.served:
			// The owner is gone, even if a child of its keeps the connection open.
			_ = s.conn.Close()
			<-s.done
			l.leave()
		case s.ended() || s.entries == ledgerEntries:
			l.leave()
		default:
			return s, nil
		}
	}
	conn, err := dial(ctx, socketName(l.id))
	if errors.Is(err, unix.ECONNREFUSED) {
		// Nobody has the name. If somebody had it, the address meant something in his time.
		return nil, l.lastEnd()
	}
	if err != nil {
		return nil, err
	}
	s, err := l.join(ctx, conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	l.session = s
	return s, nil
}

func (s *session) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func dial(ctx context.Context, name string) (*net.UnixConn, error) {
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "unixpacket", name)
		if err == nil {
			return conn.(*net.UnixConn), nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, unix.EAGAIN) {
			return nil, osError("connect to an owner", err)
		}
		// The owner's queue is full; unix sockets don't wait for room.
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// join makes sure who the owner is, and hands over a ledger, without waiting for the greeting. A name can be
// taken by anyone, so that the peer looks at the owner's user as the owner looks at the peer's.
func (l *link) join(ctx context.Context, conn *net.UnixConn) (*session, error) {
	who, err := l.peer.allowed.check(conn)
	if err != nil {
		return nil, err
	}
	if e := l.ended.Load(); e != nil && e.reason == ErrOwnerDied && e.pid == int(who.Pid) {
		return nil, fmt.Errorf("%w: a child of its still has the socket", ErrOwnerDied)
	}
	s := &session{link: l, conn: conn, pid: int(who.Pid), uid: who.Uid, done: make(chan struct{})}
	fd, ledger, err := makeShared("farside-rdma-ledger", ledgerSize)
	if err != nil {
		return nil, osError("make a ledger", err)
	}
	defer unix.Close(fd)
	s.ledger = ledger
	runtime.AddCleanup(s, unmap, ledger)
	s.users.Store(1)
	deadline, _ := ctx.Deadline()
	if err := conn.SetWriteDeadline(deadline); err != nil {
		return nil, err
	}
	// If the owner has refused already this fails, and so will the request that follows; the greeting says why.
	_, _, _ = conn.WriteMsgUnix(request{kind: kindJoin, entry: ledgerEntries}.encode(), unix.UnixRights(fd), nil)
	return s, nil
}

// greet takes the greeting with the control page.
func (s *session) greet(ctx context.Context) error {
	a, err := receiveHello(ctx, s.conn)
	if err != nil {
		return err
	}
	defer a.drop()
	if err := checkPayload(a.fd, 0, uint64(a.slot)*8, AccessRead); err != nil {
		return fmt.Errorf("%w: control page: %w", ErrProtocol, err)
	}
	control, err := unix.Mmap(a.fd, 0, int(a.slot)*8, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return osError("map the control page", err)
	}
	runtime.AddCleanup(s, unmap, control)
	s.control, s.slots, s.serving = control, a.slot, word(control, ownerSlot*8)
	if s.served = s.serving.Load(); s.served&^tidMask != ownerServing {
		return fmt.Errorf("%w: while greeting", ErrOwnerDied)
	}
	return nil
}

func unmap(mapping []byte) { _ = unix.Munmap(mapping) }

// check finds out who listens, and whether to deal with him.
func (t trust) check(conn *net.UnixConn) (*unix.Ucred, error) {
	who, err := otherSide(conn)
	if err != nil {
		return nil, err
	}
	if !t.allows(who.Uid) {
		return nil, fmt.Errorf("%w: owner runs as user %d", ErrPermission, who.Uid)
	}
	return who, nil
}

// receiveHello takes an owner's greeting with the descriptor of its control page.
func receiveHello(ctx context.Context, conn *net.UnixConn) (answer, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	a, err := receive(conn)
	if !stop() {
		a.drop()
		return answer{}, ctx.Err()
	}
	switch {
	case errors.Is(err, ErrProtocol):
	case err != nil:
		err = fmt.Errorf("%w: while greeting", ErrOwnerDied)
	case a.kind != kindHello:
		err = fmt.Errorf("%w: greeting of kind %d", ErrProtocol, a.kind)
	case a.status != wireOK:
		err = wireErrors[a.status]
	case a.lost:
		err = osError("receive the control page", unix.EMFILE)
	case a.slot <= ownerSlot || a.slot > controlSlots:
		err = fmt.Errorf("%w: control page of %d words", ErrProtocol, a.slot)
	}
	if err != nil {
		a.drop()
		return answer{}, err
	}
	return a, nil
}

// open maps the payload of a reply that has been checked.
func (s *session) open(a answer, index uint32) (*view, error) {
	if err := checkPayload(a.fd, a.offset, a.length, a.access); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	prot := unix.PROT_READ
	if a.access&(AccessWrite|AccessAtomic) != 0 {
		prot |= unix.PROT_WRITE
	}
	in := a.offset & (pageSize - 1)
	mapping, err := unix.Mmap(a.fd, int64(a.offset-in), int(in+a.length), prot, unix.MAP_SHARED)
	if err != nil {
		return nil, osError("map a region", err)
	}
	s.users.Add(1)
	return &view{
		session: s, base: a.base, length: a.length, access: a.access, generation: a.generation, served: s.served,
		mapping: mapping, data: mapping[in : in+a.length], entry: entryAt(s.ledger, index),
		state: word(s.control, uint64(a.slot)*8), serving: s.serving,
	}, nil
}

// release ends the connection with its last user.
func (s *session) release() {
	if s.users.Add(-1) == 0 {
		_ = s.conn.Close()
	}
}

// send sends a request; its reply is to be waited for, whatever the error.
func (s *session) send(ctx context.Context, q request) (chan answer, error) {
	reply := make(chan answer, 1)
	s.mu.Lock()
	s.tag++
	q.tag = s.tag
	s.waiting = reply
	s.mu.Unlock()
	deadline, _ := ctx.Deadline()
	err := s.conn.SetWriteDeadline(deadline)
	if err == nil {
		_, err = s.conn.Write(q.encode())
	}
	return reply, err
}

// wait takes the reply to a request; sent is what sending gave. The answer's descriptor is the caller's.
func (s *session) wait(ctx context.Context, reply chan answer, sent error) (answer, error) {
	err := sent
	if err == nil || ctx.Err() == nil {
		// If the request couldn't be sent the connection is broken, and the reader about to say how.
		select {
		case a := <-reply:
			return a, nil
		case <-s.done:
			err = s.link.lastEnd()
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	// A reply that came at the last moment may hold a descriptor.
	s.mu.Lock()
	s.waiting = nil
	s.mu.Unlock()
	select {
	case a := <-reply:
		a.drop()
	default:
	}
	return answer{}, err
}

// read takes what the owner sends until the connection ends, and then ends the owner's regions.
func (s *session) read() {
	var err error
	for err == nil {
		var a answer
		if a, err = receive(s.conn); err != nil {
			break
		}
		switch {
		case a.kind == kindReply && a.tag == 0 && a.status != wireOK:
			a.drop()
			err = fmt.Errorf("refused to join: %w", wireErrors[a.status])
		case a.kind == kindReply:
			s.mu.Lock()
			if s.waiting != nil && a.tag == s.tag {
				s.waiting <- a // has room for the one reply
				s.waiting = nil
			} else {
				a.drop()
			}
			s.mu.Unlock()
		case a.kind == kindRevoked:
			a.drop()
			s.link.peer.dropIf(ErrFreed, func(r *RemoteRegion) bool {
				return r.view.session == s && r.view.base == a.base && r.view.generation == a.generation
			})
		default:
			a.drop()
		}
	}
	reason := s.reason(err)
	s.link.ended.Store(&ending{reason, s.pid})
	close(s.done)
	s.link.peer.dropIf(reason, func(r *RemoteRegion) bool { return r.view.session == s })
	_ = s.conn.Close()
}

// reason is why the session has ended, err being what receiving gave. The kernel marks a dead owner's word
// before it closes the owner's descriptors.
func (s *session) reason(err error) error {
	now := s.serving.Load()
	switch {
	case s.link.ctx.Err() != nil:
		return ErrClosed
	case now == ownerClosed:
		return ErrFreed
	case now != s.served:
		return ErrOwnerDied
	case errors.Is(err, ErrProtocol), errors.Is(err, ErrResources):
		return err
	case errors.Is(err, net.ErrClosed):
		return ErrUnknownAddress // nothing used the session any more
	case s.served&tidMask == 0:
		return ErrOwnerDied // as far as one can know
	}
	return fmt.Errorf("%w: the owner ended the connection", ErrProtocol)
}

// receive takes one packet of an owner. A packet that makes no sense is ErrProtocol.
func receive(conn *net.UnixConn) (answer, error) {
	var buf [messageSize + 1]byte // one more, so that longer packets show
	n, fd, lost, err := receivePacket(conn, buf[:])
	if err != nil {
		return answer{fd: -1}, err
	}
	a := answer{fd: fd, lost: lost}
	if a.message, err = decodeMessage(buf[:n]); err != nil {
		a.drop()
		return answer{fd: -1}, err
	}
	return a, nil
}

// receivePacket takes one packet with the descriptor that came along: -1 for none, the first of several. lost
// says that there was one for which this process has no room.
func receivePacket(conn *net.UnixConn, buf []byte) (n, fd int, lost bool, err error) {
	var oob [64]byte
	n, oobn, flags, _, err := conn.ReadMsgUnix(buf, oob[:])
	if errors.Is(err, unix.ECONNRESET) {
		// The other side hung up without having read everything. That is told once, before what it sent.
		n, oobn, flags, _, err = conn.ReadMsgUnix(buf, oob[:])
	}
	if err != nil {
		return 0, -1, false, err
	}
	if n == 0 {
		return 0, -1, false, io.EOF // unixpacket: the other side has gone
	}
	fd = -1
	packets, err := unix.ParseSocketControlMessage(oob[:oobn])
	for i := 0; err == nil && i < len(packets); i++ {
		fds, err := unix.ParseUnixRights(&packets[i])
		if err != nil {
			continue
		}
		for _, d := range fds {
			if fd < 0 {
				fd = d
			} else {
				_ = unix.Close(d)
			}
		}
	}
	return n, fd, flags&unix.MSG_CTRUNC != 0, nil
}

// drop closes the descriptor of an answer that isn't used.
func (a answer) drop() {
	if a.fd >= 0 {
		_ = unix.Close(a.fd)
	}
}
