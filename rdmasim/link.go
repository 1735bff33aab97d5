package rdmasim

import (
	"context"
	"errors"
	"fmt"
	"net"
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

	ended atomic.Pointer[error] // how the last session ended
}

// session is one connection.
type session struct {
	link    *link
	conn    *net.UnixConn
	control []byte
	slots   uint32
	done    chan struct{} // closed when the connection is known to have ended
	users   atomic.Int64  // the link, the reader and the regions; the control page goes with the last

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
func (l *link) resolve(ctx context.Context, address uint64, need Access) (*RemoteRegion, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// Another goroutine may have had the same question.
	if r := l.peer.lookup(address); r != nil && r.alive() {
		return r, nil
	}
	s, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	a, err := s.ask(ctx, request{access: need, address: address})
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
	r, err := s.open(a)
	if err != nil {
		return nil, err
	}
	if err := l.peer.add(r); err != nil {
		r.close(err)
		return nil, err
	}
	// The region or the owner may have ended before the table knew of the region.
	if !r.valid() {
		l.peer.drop(r, ErrFreed)
		return nil, ErrFreed
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

// lastEnd is how the last session ended.
func (l *link) lastEnd() error {
	if e := l.ended.Load(); e != nil {
		return *e
	}
	return ErrUnknownAddress
}

// close ends the link once the resolve under way has noticed; nobody gets a turn afterwards.
func (l *link) close() {
	l.cancel()
	l.turn <- struct{}{}
	if l.session != nil {
		_ = l.session.conn.Close()
		l.session.release()
		l.session = nil
	}
}

// connect returns the session with the owner, making one if there is none.
func (l *link) connect(ctx context.Context) (*session, error) {
	if s := l.session; s != nil {
		select {
		case <-s.done:
			l.session = nil
			s.release()
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
	s, err := l.greet(ctx, conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	l.session = s
	go s.read()
	return s, nil
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

// greet makes sure who the owner is and takes its control page. A name can be taken by anyone, so that the
// peer looks at the owner's user as the owner looks at the peer's.
func (l *link) greet(ctx context.Context, conn *net.UnixConn) (*session, error) {
	uid, err := peerUID(conn)
	if err != nil {
		return nil, err
	}
	if !l.peer.allowed.allows(uid) {
		return nil, fmt.Errorf("%w: owner runs as user %d", ErrPermission, uid)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	a, err := receive(conn)
	if !stop() {
		a.drop()
		return nil, ctx.Err()
	}
	if errors.Is(err, ErrProtocol) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: while greeting", ErrOwnerDied)
	}
	defer a.drop()
	switch {
	case a.kind != kindHello:
		return nil, fmt.Errorf("%w: greeting of kind %d", ErrProtocol, a.kind)
	case a.status != wireOK:
		return nil, wireErrors[a.status]
	case a.lost:
		return nil, osError("receive the control page", unix.EMFILE)
	case a.slot <= ownerSlot || a.slot > controlSlots:
		return nil, fmt.Errorf("%w: control page of %d words", ErrProtocol, a.slot)
	}
	if err := checkPayload(a.fd, 0, uint64(a.slot)*8, AccessRead); err != nil {
		return nil, fmt.Errorf("%w: control page: %w", ErrProtocol, err)
	}
	control, err := unix.Mmap(a.fd, 0, int(a.slot)*8, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, osError("map the control page", err)
	}
	s := &session{link: l, conn: conn, control: control, slots: a.slot, done: make(chan struct{})}
	s.users.Store(2)
	return s, nil
}

// open maps the payload of a reply that has been checked.
func (s *session) open(a answer) (*RemoteRegion, error) {
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
	return &RemoteRegion{
		base: a.base, length: a.length, access: a.access, generation: a.generation, session: s,
		mapping: mapping, data: mapping[in : in+a.length], state: word(s.control, uint64(a.slot)*8),
	}, nil
}

func (s *session) release() {
	if s.users.Add(-1) == 0 {
		_ = unix.Munmap(s.control)
	}
}

// ask sends a request and waits for its reply. The answer's descriptor is the caller's.
func (s *session) ask(ctx context.Context, q request) (answer, error) {
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
	reason := ErrOwnerDied
	for {
		a, err := receive(s.conn)
		if errors.Is(err, ErrProtocol) {
			reason = err
		}
		if err != nil {
			break
		}
		switch a.kind {
		case kindReply:
			s.mu.Lock()
			if s.waiting != nil && a.tag == s.tag {
				s.waiting <- a // has room for the one reply
				s.waiting = nil
			} else {
				a.drop()
			}
			s.mu.Unlock()
		case kindRevoked:
			a.drop()
			s.link.peer.dropIf(ErrFreed, func(r *RemoteRegion) bool {
				return r.session == s && r.base == a.base && r.generation == a.generation
			})
		default:
			a.drop()
		}
	}
	switch {
	case s.link.ctx.Err() != nil:
		reason = ErrClosed
	case word(s.control, ownerSlot*8).Load() == ownerClosed:
		reason = ErrFreed
	}
	s.link.ended.Store(&reason)
	close(s.done)
	s.link.peer.dropIf(reason, func(r *RemoteRegion) bool { return r.session == s })
	_ = s.conn.Close()
	s.release()
}

// receive takes one packet of an owner. A packet that makes no sense is ErrProtocol.
func receive(conn *net.UnixConn) (answer, error) {
	var buf [messageSize + 1]byte // one more, so that longer packets show
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, flags, _, err := conn.ReadMsgUnix(buf[:], oob)
	if err != nil {
		return answer{fd: -1}, err
	}
	a := answer{fd: -1, lost: flags&unix.MSG_CTRUNC != 0}
	if packets, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil {
		for _, c := range packets {
			fds, err := unix.ParseUnixRights(&c)
			if err != nil {
				continue
			}
			for _, fd := range fds {
				if a.fd < 0 {
					a.fd = fd
				} else {
					_ = unix.Close(fd)
				}
			}
		}
	}
	if a.message, err = decodeMessage(buf[:n]); err != nil {
		a.drop()
		return answer{fd: -1}, err
	}
	return a, nil
}

// drop closes the descriptor of an answer that isn't used.
func (a answer) drop() {
	if a.fd >= 0 {
		_ = unix.Close(a.fd)
	}
}
