package engine

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/packet"
)

// Extended reliable connections (InfiniBand Architecture Specification, volume 1, annex A14). A queue pair of
// IBV_QPT_XRC_SEND is the requester of RC, and each request names a shared receive queue of the other side. One of
// IBV_QPT_XRC_RECV is the responder: it has no queues and no protection domain, but those of the shared receive queue
// that a request names, which must be of its own domain (XRCD).

// XRCD is a domain of XRC.
type XRCD struct {
	device *Device
	users  atomic.Int32 // queue pairs and shared receive queues
}

// NewXRCD makes a domain.
func (d *Device) NewXRCD() *XRCD { return &XRCD{device: d} }

// Close ends a domain. Error: EBUSY while something is in it.
func (x *XRCD) Close() error {
	if !x.users.CompareAndSwap(0, ended32) {
		return unix.EBUSY
	}
	return nil
}

// sharedQueues are the shared receive queues of XRC by their numbers, which are from those of queue pairs: no other
// process of the host has a queue with the same one.
type sharedQueues struct {
	mu   sync.RWMutex
	list map[uint32]*SRQ
}

// publish gives a queue its number. Error: ENOMEM.
func (s *SRQ) publish() error {
	d := s.PD.Context.Device
	number, err := d.network.QPN()
	if err != nil {
		return unix.ENOMEM
	}
	s.number = number
	d.shared.mu.Lock()
	defer d.shared.mu.Unlock()
	if d.shared.list == nil {
		d.shared.list = map[uint32]*SRQ{}
	}
	d.shared.list[number] = s
	return nil
}

// withdraw takes a queue's number back, and lets it give no receive any more.
func (s *SRQ) withdraw() {
	d := s.PD.Context.Device
	d.shared.mu.Lock()
	delete(d.shared.list, s.number)
	d.shared.mu.Unlock()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	d.network.FreeQPN(s.number)
}

func (t *sharedQueues) find(number uint32) *SRQ {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.list[number]
}

// Number is what requests of XRC name the queue by. Error: EINVAL for a queue that isn't for XRC.
func (s *SRQ) Number() (uint32, error) {
	if s.xrcd == nil {
		return 0, unix.EINVAL
	}
	return s.number, nil
}

// CreateTarget makes a queue pair of IBV_QPT_XRC_RECV, in the state RESET. Errors: EINVAL, ENOMEM.
func (c *Context) CreateTarget(x *XRCD) (*QP, error) {
	if x == nil || x.device != c.Device {
		return nil, unix.EINVAL
	}
	q, err := c.newQP(QPInit{Kind: ibv.QPT_XRC_RECV})
	if err != nil {
		return nil, err
	}
	x.users.Add(1)
	q.xrcd = x
	c.Device.insert(q)
	return q, nil
}

// Domain is the domain of a queue pair of IBV_QPT_XRC_RECV, nil for others.
func (q *QP) Domain() *XRCD { return q.xrcd }

// aim makes the shared receive queue that a request names the one that it goes to, and says whether the request may
// name it: a queue of the same domain, and the same one for all packets of a message. Under q.mu.
func (q *QP) aim(h *packet.Header) bool {
	r := &q.res
	if r.srq != nil && r.srq.number == h.SRQ && r.message != noMessage {
		return true
	}
	s := q.device.shared.find(h.SRQ)
	if s == nil || s.xrcd != q.xrcd || r.message != noMessage {
		return false
	}
	r.srq, q.pd = s, s.PD
	return true
}

// domainOf is the protection domain that a request reaches, nil where it names a queue that it may not. Under q.mu.
func (q *QP) domainOf(h *packet.Header) *PD {
	if q.xrcd == nil {
		return q.pd
	}
	if s := q.device.shared.find(h.SRQ); s != nil && s.xrcd == q.xrcd {
		return s.PD
	}
	return nil
}

// completeReceive adds the completion of a receive, which was that of a shared queue with XRC. Under q.mu.
func (q *QP) completeReceive(s *SRQ, e *entry, solicited bool) {
	if q.xrcd == nil {
		q.complete(q.init.RecvCQ, e, solicited)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		q.complete(s.cq, e, solicited)
	}
}
