package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/memfd"
	"farside/internal/socket"
	"farside/internal/trust"
	"farside/rdmasim/internal/verbs"
)

// link is a peer's connection to one owner. It carries resolve requests and nothing of the data, and its end
// tells of the owner's death. It is made on the first request and again when a new owner answers to the id.
type link struct {
	users int // resolves under way, under the fabric's lock

	table   *verbs.Table
	allowed trust.Users
	id      uint32

	turn    chan struct{}           // held by the one resolve that is under way, which may set session
	session atomic.Pointer[session] // nil before the first, and once it has ended

	closed atomic.Bool            // by the peer
	ended  atomic.Pointer[ending] // how the last session ended, nil while none has
}

type ending struct {
	reason error
	pid    int // the owner's
}

// resolve asks the owner for the region around an address.
func (l *link) resolve(ctx context.Context, address, key uint64, need verbs.Access) (*verbs.Region, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// Another goroutine may have had the same question.
	if r := l.table.Lookup(address); r != nil && r.View.Alive() {
		return r, r.CheckKey(key)
	}
	s, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	entry := s.entries
	s.entries++
	reply, tag, err := s.send(ctx, request{kind: kindResolve, access: need, address: address, key: key, entry: entry})
	if s.control == nil {
		// A new connection. The owner's greeting comes first, and says why sending failed, if it did.
		if err := s.greet(ctx); err != nil {
			_ = s.conn.Close()
			l.session.Store(nil)
			return nil, err
		}
		r := &reader{session: s}
		var ended error
		if err == nil {
			ended = r.first(ctx, reply)
		}
		go r.read(ended)
	}
	a, err := s.wait(ctx, reply, tag, err)
	if err != nil {
		return nil, err
	}
	defer a.drop()
	if err := wireErrors[a.status]; err != nil {
		return nil, err
	}
	if err := a.check(l.id, address, s.slots); err != nil {
		return nil, err
	}
	if a.lost {
		return nil, verbs.OSError("receive a region", unix.EMFILE)
	}
	if a.file == nil {
		return nil, fmt.Errorf("%w: no descriptor with region %#x", verbs.ErrProtocol, a.base)
	}
	v, err := s.open(a, entry)
	if err != nil {
		return nil, err
	}
	r := &verbs.Region{Info: v.info, View: v}
	if a.strict {
		r.View = strictView{v}
	}
	if err := l.table.Add(r); err != nil {
		v.Close(err)
		return nil, err
	}
	// The region or the owner may have ended before the table knew of the region.
	if !v.valid() {
		reason := v.ending()
		l.table.Drop(r, reason)
		return nil, reason
	}
	select {
	case <-s.done:
		reason := l.lastEnd()
		l.table.Drop(r, reason)
		return nil, reason
	default:
		return r, nil
	}
}

// lastEnd is how the last session ended.
func (l *link) lastEnd() error {
	if e := l.ended.Load(); e != nil {
		return e.reason
	}
	return verbs.ErrUnknownAddress
}

// close ends the link once the resolve under way has noticed; nobody gets a turn afterwards.
func (l *link) close() {
	l.closed.Store(true)
	l.turn <- struct{}{}
	l.leave()
}

// leave lets go of the session. With the turn.
func (l *link) leave() {
	if s := l.session.Swap(nil); s != nil {
		s.release()
	}
}

// forget lets go of a session that has ended: a link stays for as long as the peer, the mappings of its session don't.
func (l *link) forget(s *session) {
	if l.session.CompareAndSwap(s, nil) {
		s.release()
	}
}

// connect returns the session with the owner, making one if there is none that can take a region.
func (l *link) connect(ctx context.Context) (*session, error) {
	if s := l.session.Load(); s != nil {
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
	l.session.Store(s)
	return s, nil
}

func dial(ctx context.Context, name string) (*socket.Conn, error) {
	for {
		conn, err := socket.DialPacket(ctx, name)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, unix.EAGAIN) {
			return nil, verbs.OSError("connect to an owner", err)
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
func (l *link) join(ctx context.Context, conn *socket.Conn) (*session, error) {
	who, err := meet(l.allowed, conn)
	if err != nil {
		return nil, err
	}
	if e := l.ended.Load(); e != nil && e.reason == verbs.ErrOwnerDied && e.pid == int(who.Pid) {
		return nil, fmt.Errorf("%w: a child of its still has the socket", verbs.ErrOwnerDied)
	}
	s := &session{link: l, conn: conn, pid: int(who.Pid), uid: who.Uid, done: make(chan struct{})}
	file, ledger, err := memfd.CreateMapped("farside-rdma-ledger", ledgerSize)
	if err != nil {
		return nil, verbs.OSError("make a ledger", err)
	}
	defer file.Close()
	s.ledger = ledger
	runtime.AddCleanup(s, unmap, ledger)
	s.users.Store(1)
	deadline, _ := ctx.Deadline()
	if err := conn.SetWriteDeadline(deadline); err != nil {
		return nil, err
	}
	// If the owner has refused already this fails, and so will the request that follows; the greeting says why.
	_, _ = conn.WriteMsg(request{kind: kindJoin, entry: ledgerEntries}.encode(), unix.UnixRights(file.Int()))
	return s, nil
}

// meet finds out who an owner is. Error: ErrPermission for one who isn't allowed.
func meet(allowed trust.Users, conn *socket.Conn) (*unix.Ucred, error) {
	who, err := allowed.Check(conn)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", verbs.ErrPermission, err)
	}
	return who, nil
}

// receiveHello takes an owner's greeting with the descriptor of its control page.
func receiveHello(ctx context.Context, conn *socket.Conn) (answer, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	a, err := receive(conn)
	if !stop() {
		a.drop()
		return answer{}, ctx.Err()
	}
	switch {
	case errors.Is(err, verbs.ErrProtocol):
	case err != nil:
		err = fmt.Errorf("%w: while greeting", verbs.ErrOwnerDied)
	case a.kind != kindHello:
		err = fmt.Errorf("%w: greeting of kind %d", verbs.ErrProtocol, a.kind)
	case a.status != wireOK:
		err = wireErrors[a.status]
	case a.lost:
		err = verbs.OSError("receive the control page", unix.EMFILE)
	case a.slot <= ownerSlot || a.slot > controlSlots:
		err = fmt.Errorf("%w: control page of %d words", verbs.ErrProtocol, a.slot)
	}
	if err != nil {
		a.drop()
		return answer{}, err
	}
	return a, nil
}
