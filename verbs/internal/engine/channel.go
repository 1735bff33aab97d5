package engine

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/verbs/internal/bell"
)

// Channel is a completion channel: where the events of armed completion queues arrive.
type Channel struct {
	Context *Context

	bell  *bell.Bell // has the events
	users atomic.Int32

	mu     sync.Mutex
	events []*CQ // a queue in a slice that is used again
	first  int
}

// NewChannel makes a channel. Errors: the operating system's.
func (c *Context) NewChannel() (*Channel, error) {
	b, err := bell.New()
	if err != nil {
		return nil, err
	}
	return &Channel{Context: c, bell: b}, nil
}

// Destroy ends a channel. Error: EBUSY while a completion queue has it.
func (c *Channel) Destroy() error {
	if !c.users.CompareAndSwap(0, ended32) {
		return unix.EBUSY
	}
	return c.bell.Close()
}

// FD is the descriptor that is readable while there is an event. Users may poll it and make it non-blocking.
func (c *Channel) FD() int { return c.bell.FD() }

// NextEvent takes an event in some way: the completion queue that has work. It is to be acknowledged with CQ.AckEvents.
// Errors: EAGAIN on a non-blocking descriptor, EINTR, bell.ErrEmpty.
func (c *Channel) NextEvent(m bell.Mode) (*CQ, error) {
	for {
		if err := c.bell.Take(&m); err != nil {
			return nil, err
		}
		c.mu.Lock()
		if c.first < len(c.events) {
			q := c.events[c.first]
			c.events[c.first] = nil
			c.first++
			q.comp.got()
			c.mu.Unlock()
			return q, nil
		}
		c.mu.Unlock() // the event's queue has been destroyed
	}
}

// raise makes an event arrive.
func (c *Channel) raise(q *CQ) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first > 0 && len(c.events) == cap(c.events) {
		c.events = append(c.events[:0], c.events[c.first:]...)
		c.first = 0
	}
	c.events = append(c.events, q)
	c.bell.Ring()
}

// forget takes the events of a queue out that nobody has got, and waits until the others are acknowledged.
func (c *Channel) forget(q *CQ) {
	c.mu.Lock()
	kept := c.events[:0]
	for _, e := range c.events[c.first:] {
		if e == q {
			c.bell.Silence()
		} else {
			kept = append(kept, e)
		}
	}
	clear(c.events[len(kept):])
	c.events, c.first = kept, 0
	c.mu.Unlock()
	q.comp.wait()
}
