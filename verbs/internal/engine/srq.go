package engine

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
)

// RecvWR is a receive work request, decoded.
type RecvWR struct {
	ID   uint64
	SGEs []ibv.SGE // copied when it is posted
}

// recvRing is posted receives, in slots that are made once.
type recvRing struct {
	slots        []recvSlot
	sges         []ibv.SGE // perSlot for each slot
	perSlot      int
	posted, done uint64        // since the start
	freed        atomic.Uint64 // of done, those whose slot may be used again
}

type recvSlot struct {
	id   uint64
	sges int
}

func (r *recvRing) init(slots, perSlot int) {
	r.slots, r.sges, r.perSlot = make([]recvSlot, slots), make([]ibv.SGE, slots*perSlot), perSlot
}

func (r *recvRing) reset() {
	r.posted, r.done = 0, 0
	r.freed.Store(0)
}

// post adds a receive. Errors: EINVAL for too many entries, ENOMEM for a full queue.
func (r *recvRing) post(wr *RecvWR) error {
	switch {
	case len(wr.SGEs) > r.perSlot:
		return unix.EINVAL
	case r.posted-r.freed.Load() >= uint64(len(r.slots)):
		return unix.ENOMEM
	}
	i := int(r.posted % uint64(len(r.slots)))
	r.slots[i] = recvSlot{wr.ID, len(wr.SGEs)}
	copy(r.sges[i*r.perSlot:], wr.SGEs)
	r.posted++
	return nil
}

// take copies the oldest receive to w, and says whether there was one.
func (r *recvRing) take(w *recvWQE) bool {
	if r.done == r.posted {
		return false
	}
	i := int(r.done % uint64(len(r.slots)))
	w.id = r.slots[i].id
	w.sges = append(w.sges[:0], r.sges[i*r.perSlot:][:r.slots[i].sges]...)
	r.done++
	return true
}

// recvWQE is the receive that a message goes to.
type recvWQE struct {
	id    uint64
	sges  []ibv.SGE
	slots uint64 // entry.slots of its completion
}

// room is how many bytes it takes.
func (w *recvWQE) room() (n uint64) {
	for i := range w.sges {
		n += uint64(w.sges[i].Length)
	}
	return n
}

// SRQInit says what a shared receive queue is to be.
type SRQInit struct {
	MaxWR, MaxSGE, Limit uint32

	// Of one for XRC: who may reach it, and where its completions go. Both are nil for others.
	XRCD *XRCD
	CQ   *CQ
}

// SRQ is a shared receive queue.
type SRQ struct {
	PD   *PD
	User any // the user's

	xrcd   *XRCD // nil: not for XRC
	cq     *CQ
	number uint32

	users atomic.Int32 // queue pairs
	async acknowledged

	mu    sync.Mutex
	ring  recvRing
	limit uint32
	ended bool
}

// CreateSRQ makes a shared receive queue. Errors: EINVAL, ENOMEM.
func (p *PD) CreateSRQ(i SRQInit) (*SRQ, error) {
	if i.MaxWR < 1 || i.MaxWR > maxSRQWR || i.MaxSGE > maxSGE || i.Limit > i.MaxWR || (i.XRCD == nil) != (i.CQ == nil) {
		return nil, unix.EINVAL
	}
	if err := take(&p.Context.Device.used.srqs, maxSRQ); err != nil {
		return nil, err
	}
	s := &SRQ{PD: p, limit: i.Limit, xrcd: i.XRCD, cq: i.CQ}
	s.ring.init(int(i.MaxWR), int(max(i.MaxSGE, 1)))
	if s.xrcd != nil {
		if err := s.publish(); err != nil {
			p.Context.Device.used.srqs.Add(-1)
			return nil, err
		}
		s.xrcd.users.Add(1)
		s.cq.users.Add(1)
	}
	p.users.Add(1)
	return s, nil
}

// Destroy ends a queue. Error: EBUSY while a queue pair has it.
func (s *SRQ) Destroy() error {
	if !s.users.CompareAndSwap(0, ended32) {
		return unix.EBUSY
	}
	if s.xrcd != nil {
		s.withdraw()
		s.xrcd.users.Add(-1)
		s.cq.users.Add(-1)
	}
	s.PD.Context.forget(&s.async)
	s.PD.users.Add(-1)
	s.PD.Context.Device.used.srqs.Add(-1)
	return nil
}

// Attr is the queue's size, and its limit: 0 if none is armed.
func (s *SRQ) Attr() ibv.SRQAttr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ibv.SRQAttr{MaxWR: uint32(len(s.ring.slots)), MaxSGE: uint32(s.ring.perSlot), SRQLimit: s.limit}
}

// Modify changes the size, the limit or both. The event IBV_EVENT_SRQ_LIMIT_REACHED comes once when fewer receives
// than the limit are left. Error: EINVAL, also for a size below what is posted.
func (s *SRQ) Modify(a ibv.SRQAttr, mask ibv.SRQAttrMask) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, limit := uint32(len(s.ring.slots)), s.limit
	if mask&ibv.SRQ_MAX_WR != 0 {
		size = a.MaxWR
	}
	if mask&ibv.SRQ_LIMIT != 0 {
		limit = a.SRQLimit
	}
	n := s.ring.posted - s.ring.done
	if mask&^(ibv.SRQ_MAX_WR|ibv.SRQ_LIMIT) != 0 || size < 1 || size > maxSRQWR || uint64(size) < n || limit > size {
		return unix.EINVAL
	}
	if size != uint32(len(s.ring.slots)) {
		var next recvRing
		next.init(int(size), s.ring.perSlot)
		var w recvWQE
		for s.ring.take(&w) {
			_ = next.post(&RecvWR{ID: w.id, SGEs: w.sges})
		}
		s.ring.slots, s.ring.sges = next.slots, next.sges
		s.ring.posted, s.ring.done = next.posted, 0
		s.ring.freed.Store(0)
	}
	s.limit = limit
	return nil
}

// PostRecv adds a receive. wr is the caller's again when it returns. Errors: EINVAL for too many entries, ENOMEM for a
// full queue.
func (s *SRQ) PostRecv(wr *RecvWR) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ring.post(wr)
}

// take copies the oldest receive to w, and says whether there was one.
func (s *SRQ) take(w *recvWQE) bool {
	s.mu.Lock()
	ok := !s.ended && s.ring.take(w)
	w.slots = 0
	s.ring.freed.Store(s.ring.done)
	reached := ok && s.limit != 0 && s.ring.posted-s.ring.done < uint64(s.limit)
	if reached {
		s.limit = 0
	}
	s.mu.Unlock()
	if reached {
		s.PD.Context.raise(Event{Type: ibv.EVENT_SRQ_LIMIT_REACHED, SRQ: s})
	}
	return ok
}
