package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/garbage"
	"farside/internal/socket"
	"farside/rdmasim/internal/verbs"
)

// session is one connection. The connection lasts as long as the link or a region of it is in use, since its
// end tells the owner that the peer is in no region any more. The two mappings last as long as anything
// refers to the session: an operation looks at them after it has left its region.
type session struct {
	link    *link
	conn    *socket.Conn
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
	tag     uint32                 // of the last request; they are counted from 1
	waiting map[uint32]chan answer // of requests, by their tags
}

func (s *session) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// greet takes the greeting with the control page.
func (s *session) greet(ctx context.Context) error {
	a, err := receiveHello(ctx, s.conn)
	if err != nil {
		return err
	}
	defer a.drop()
	if err := checkPayload(a.file.Int(), 0, uint64(a.slot)*8, verbs.AccessRead); err != nil {
		return fmt.Errorf("%w: control page: %w", verbs.ErrProtocol, err)
	}
	control, err := unix.Mmap(a.file.Int(), 0, int(a.slot)*8, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return verbs.OSError("map the control page", err)
	}
	runtime.AddCleanup(s, unmap, control)
	s.control, s.slots, s.serving = control, a.slot, word(control, ownerSlot*8)
	if s.served = s.serving.Load(); s.served&^tidMask != ownerServing {
		return fmt.Errorf("%w: while greeting", verbs.ErrOwnerDied)
	}
	return nil
}

func unmap(mapping []byte) { _ = unix.Munmap(mapping) }

// open maps the payload of a reply that has been checked.
func (s *session) open(a answer, index uint32) (*View, error) {
	if err := checkPayload(a.file.Int(), a.offset, a.length, a.access); err != nil {
		return nil, fmt.Errorf("%w: %w", verbs.ErrProtocol, err)
	}
	prot := unix.PROT_READ
	if a.access&(verbs.AccessWrite|verbs.AccessAtomic) != 0 {
		prot |= unix.PROT_WRITE
	}
	in := a.offset & (verbs.PageSize - 1)
	mapping, err := unix.Mmap(a.file.Int(), int64(a.offset-in), int(in+a.length), prot, unix.MAP_SHARED)
	if err != nil {
		return nil, verbs.OSError("map a region", err)
	}
	s.users.Add(1)
	return &View{
		session: s, info: a.info(s.pid, s.uid), generation: a.generation, served: s.served,
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

// send sends a request, with descriptors; the reply with its tag is to be waited for, whatever the error.
func (s *session) send(ctx context.Context, q request, files ...int) (reply chan answer, tag uint32, err error) {
	reply = make(chan answer, 1)
	s.mu.Lock()
	s.tag++
	q.tag = s.tag
	if s.waiting == nil {
		s.waiting = map[uint32]chan answer{}
	}
	s.waiting[q.tag] = reply
	s.mu.Unlock()
	deadline, _ := ctx.Deadline()
	err = s.conn.SetWriteDeadline(deadline)
	if err == nil && len(files) > 0 {
		_, err = s.conn.WriteMsg(q.encode(), unix.UnixRights(files...))
	} else if err == nil {
		_, err = s.conn.Write(q.encode())
	}
	return reply, q.tag, err
}

// wait takes the reply to a request; sent is what sending gave. The answer's descriptor is the caller's.
func (s *session) wait(ctx context.Context, reply chan answer, tag uint32, sent error) (answer, error) {
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
	delete(s.waiting, tag)
	s.mu.Unlock()
	select {
	case a := <-reply:
		a.drop()
	default:
	}
	return answer{}, err
}

// reader takes what the owner sends, and counts it: an owner can't keep a peer busy.
type reader struct {
	*session
	replies, notices uint32
}

// first takes what comes until the reply is there, or the context ends. The goroutine that asks a new owner does so
// itself: waking another one would take longer than the owner needs. What went wrong is read's, too.
func (r *reader) first(ctx context.Context, reply chan answer) error {
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = r.conn.SetReadDeadline(time.Unix(1, 0))
		close(stopped)
	})
	var err error
	for err == nil && len(reply) == 0 {
		err = r.next()
	}
	if !stop() { // read goes on
		<-stopped
		_ = r.conn.SetReadDeadline(time.Time{})
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
	}
	return err
}

// next takes one packet.
func (r *reader) next() error {
	a, err := receive(r.conn)
	switch {
	case err != nil:
		return err
	case a.kind == kindReply && a.tag == 0 && a.status != wireOK:
		a.drop()
		return fmt.Errorf("refused to join: %w", wireErrors[a.status])
	case a.kind == kindReply:
		r.replies++
		return r.answered(a, r.replies)
	case a.kind == kindRevoked:
		a.drop()
		r.notices++
		return r.revoked(a.message, r.notices)
	}
	a.drop()
	return fmt.Errorf("%w: packet of kind %d after the greeting", verbs.ErrProtocol, a.kind)
}

// read takes what the owner sends until the connection ends, and then ends the owner's regions. err is how it has ended
// already, if it has.
func (r *reader) read(err error) {
	for err == nil {
		err = r.next()
	}
	s := r.session
	reason := s.reason(err)
	s.link.ended.Store(&ending{reason, s.pid})
	close(s.done)
	s.link.table.DropIf(reason, func(r *verbs.Region) bool { return viewOf(r).session == s })
	_ = s.conn.Close()
	s.link.forget(s)
	garbage.Soon() // the session's mappings
}

// answered hands a reply to who waits for it. An owner sends one to each request: it can't keep a peer busy with
// more.
func (s *session) answered(a answer, replies uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reply := s.waiting[a.tag]; reply != nil {
		reply <- a // has room for the one reply
		delete(s.waiting, a.tag)
	} else {
		a.drop() // nobody waits any more
	}
	if replies > s.tag {
		return fmt.Errorf("%w: more replies than requests", verbs.ErrProtocol)
	}
	return nil
}

// revoked gives back the memory of a region that its owner has freed. There is one notice for each region that has
// been asked for, at most.
func (s *session) revoked(m message, notices uint32) error {
	s.mu.Lock()
	requests := s.tag
	s.mu.Unlock()
	if notices > requests {
		return fmt.Errorf("%w: more notices than regions", verbs.ErrProtocol)
	}
	s.link.table.DropIf(verbs.ErrFreed, func(r *verbs.Region) bool {
		v := viewOf(r)
		return v.session == s && v.info.Address == m.base && v.generation == m.generation
	})
	return nil
}

// reason is why the session has ended, err being what receiving gave. The kernel marks a dead owner's word
// before it closes the owner's descriptors.
func (s *session) reason(err error) error {
	now := s.serving.Load()
	switch {
	case s.link.closed.Load():
		return verbs.ErrClosed
	case now == ownerClosed:
		return verbs.ErrFreed
	case now != s.served:
		return verbs.ErrOwnerDied
	case errors.Is(err, verbs.ErrProtocol), errors.Is(err, verbs.ErrResources):
		return err
	case errors.Is(err, net.ErrClosed):
		return verbs.ErrUnknownAddress // nothing used the session any more
	case s.served&tidMask == 0:
		return verbs.ErrOwnerDied // as far as one can know
	}
	return fmt.Errorf("%w: the owner ended the connection", verbs.ErrProtocol)
}
