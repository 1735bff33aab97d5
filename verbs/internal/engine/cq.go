package engine

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
)

// WC is a work completion. ImmData is as it lies in memory: big-endian immediate data, or an invalidated key.
type WC struct {
	ibv.WC
	Timestamp uint64 // Device.Clock when it was made, if the queue has timestamps
}

// CQInit says what a completion queue is to be.
type CQInit struct {
	Entries       int      // how many completions it holds
	Channel       *Channel // may be nil
	Vector        int
	Timestamps    bool
	IgnoreOverrun bool // IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN: the newest completion is lost without further ado
}

// CQ is a completion queue.
type CQ struct {
	Context *Context
	User    any // the user's

	init  CQInit
	users atomic.Int32 // queue pairs and shared receive queues
	count atomic.Int32 // completions, to be seen without the lock
	comp  acknowledged // completion events
	async acknowledged

	mu      sync.Mutex
	ring    []entry
	first   int
	armed   armed
	overrun bool
}

// entry is a completion with what its poll gives back.
type entry struct {
	wc    WC
	qp    *QP
	send  bool   // of the send queue
	slots uint64 // how many requests of the queue are free again once it is polled, since its creation
}

type armed uint8

const (
	disarmed armed = iota
	armedSolicited
	armedAny
)

// CreateCQ makes a completion queue. Errors: EINVAL, ENOMEM.
func (c *Context) CreateCQ(i CQInit) (*CQ, error) {
	if i.Entries < 1 || i.Entries > maxCQE || i.Vector < 0 || i.Vector >= commVectors {
		return nil, unix.EINVAL
	}
	if err := take(&c.Device.used.cqs, maxCQ); err != nil {
		return nil, err
	}
	if i.Channel != nil && i.Channel.users.Add(1) <= 0 {
		i.Channel.users.Add(-1)
		c.Device.used.cqs.Add(-1)
		return nil, unix.EINVAL
	}
	return &CQ{Context: c, init: i, ring: make([]entry, i.Entries)}, nil
}

// Destroy ends a queue. It waits until all events of the queue that users have got are acknowledged. Error: EBUSY
// while a queue pair or a shared receive queue has it.
func (c *CQ) Destroy() error {
	if !c.users.CompareAndSwap(0, ended32) {
		return unix.EBUSY
	}
	c.mu.Lock()
	c.setArmed(disarmed)
	c.mu.Unlock()
	if ch := c.init.Channel; ch != nil {
		ch.forget(c)
		ch.users.Add(-1)
	}
	c.Context.forget(&c.async)
	c.Context.Device.used.cqs.Add(-1)
	return nil
}

// Entries is how many completions the queue holds.
func (c *CQ) Entries() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ring)
}

// Channel is where its events arrive, or nil.
func (c *CQ) Channel() *Channel { return c.init.Channel }

// AckEvents acknowledges n events that Channel.NextEvent gave.
func (c *CQ) AckEvents(n int) { c.comp.ack(int64(n)) }

// Resize changes how many completions the queue holds. Error: EINVAL, also if it has more of them now.
func (c *CQ) Resize(entries int) error {
	if entries < 1 || entries > maxCQE {
		return unix.EINVAL
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int(c.count.Load())
	if entries < n {
		return unix.EINVAL
	}
	next := make([]entry, entries)
	for i := range n {
		next[i] = *c.at(i)
	}
	c.ring, c.first = next, 0
	return nil
}

// at is the i-th completion. Under c.mu.
func (c *CQ) at(i int) *entry {
	if i += c.first; i >= len(c.ring) {
		i -= len(c.ring)
	}
	return &c.ring[i]
}

// Arm asks for one event on the channel at the next completion, or the next one that is solicited or an error.
func (c *CQ) Arm(solicited bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !solicited {
		c.setArmed(armedAny)
	} else if c.armed == disarmed {
		c.setArmed(armedSolicited)
	}
}

// setArmed changes what the queue waits for. While somebody may sleep until an event comes, the network delivers what
// arrives without waiting for threads that poll. Under c.mu.
func (c *CQ) setArmed(to armed) {
	was := c.armed
	c.armed = to
	if w := c.Context.Device.watcher; w == nil || c.init.Channel == nil || (was == disarmed) == (to == disarmed) {
		return
	} else if to == disarmed {
		w.Watch(-1)
	} else {
		w.Watch(1)
	}
}

// Poll takes the oldest completion. If there is none, it sees to what has arrived from the network first.
func (c *CQ) Poll(wc *WC) bool {
	if c.count.Load() == 0 {
		c.Context.Device.network.Poll()
		if c.count.Load() == 0 {
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count.Load() == 0 {
		return false
	}
	e := &c.ring[c.first]
	*wc = e.wc
	if e.send {
		e.qp.sq.freed.Store(e.slots)
	} else if e.slots != 0 {
		e.qp.rq.freed.Store(e.slots)
	}
	e.qp = nil
	if c.first++; c.first == len(c.ring) {
		c.first = 0
	}
	c.count.Add(-1)
	return true
}

// push adds a completion. It says false if the queue is full: then the completion is lost, and its queue pair ends.
func (c *CQ) push(e *entry, solicited bool) bool {
	if c.init.Timestamps {
		e.wc.Timestamp = c.Context.Device.Clock()
	}
	c.mu.Lock()
	n := int(c.count.Load())
	if n == len(c.ring) {
		first := !c.overrun
		c.overrun = true
		c.mu.Unlock()
		if c.init.IgnoreOverrun {
			return true
		}
		if first {
			c.Context.raise(Event{Type: ibv.EVENT_CQ_ERR, CQ: c})
		}
		return false
	}
	*c.at(n) = *e
	c.count.Add(1)
	fire := c.armed == armedAny || c.armed == armedSolicited && (solicited || e.wc.Status != ibv.WC_SUCCESS)
	if fire {
		c.setArmed(disarmed)
	}
	c.mu.Unlock()
	if fire && c.init.Channel != nil {
		c.init.Channel.raise(c)
	}
	return true
}

// forget takes out the completions of a queue pair that is reset or destroyed.
func (c *CQ) forget(q *QP) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, kept := int(c.count.Load()), 0
	for i := range n {
		e := *c.at(i)
		if e.qp == q {
			continue
		}
		*c.at(kept) = e
		kept++
	}
	for i := kept; i < n; i++ {
		c.at(i).qp = nil
	}
	c.count.Store(int32(kept))
}
