package engine

import (
	"sync"

	"farside/internal/ibv"
	"farside/verbs/internal/bell"
)

// Context is an open device: what objects are made from, and where asynchronous events arrive.
type Context struct {
	Device *Device

	bell *bell.Bell // has the events

	mu     sync.Mutex
	events []Event
}

// Event is an asynchronous event. Of the objects one is set, or none, where it is the port's or the device's.
type Event struct {
	Type ibv.EventType
	QP   *QP
	CQ   *CQ
	SRQ  *SRQ
	Port uint8
}

// Open makes a context. Errors: the operating system's.
func (d *Device) Open() (*Context, error) {
	b, err := bell.New()
	if err != nil {
		return nil, err
	}
	return &Context{Device: d, bell: b}, nil
}

// Close gives back what the context itself has. Its objects have been destroyed.
func (c *Context) Close() error { return c.bell.Close() }

// FD is the descriptor that is readable while there is an event. Users may poll it and make it non-blocking.
func (c *Context) FD() int { return c.bell.FD() }

// NextEvent takes an event in some way. It is to be acknowledged with the object's AckEvent. Errors: EAGAIN on a
// non-blocking descriptor, EINTR, bell.ErrEmpty.
func (c *Context) NextEvent(m bell.Mode) (Event, error) {
	for {
		if err := c.bell.Take(&m); err != nil {
			return Event{}, err
		}
		c.mu.Lock()
		if len(c.events) > 0 {
			e := c.events[0]
			c.events = c.events[1:]
			if a := e.object(); a != nil {
				a.got()
			}
			c.mu.Unlock()
			return e, nil
		}
		c.mu.Unlock() // the object of the event has been destroyed
	}
}

// raise makes an event arrive.
func (c *Context) raise(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	c.bell.Ring()
}

// forget takes the events of an object out that nobody has got, and waits until the others are acknowledged.
func (c *Context) forget(a *acknowledged) {
	c.mu.Lock()
	kept := c.events[:0]
	for _, e := range c.events {
		if e.object() == a {
			c.bell.Silence()
		} else {
			kept = append(kept, e)
		}
	}
	clear(c.events[len(kept):])
	c.events = kept
	c.mu.Unlock()
	a.wait()
}

// object returns where the event is acknowledged, or nil.
func (e *Event) object() *acknowledged {
	switch {
	case e.QP != nil:
		return &e.QP.async
	case e.CQ != nil:
		return &e.CQ.async
	case e.SRQ != nil:
		return &e.SRQ.async
	}
	return nil
}

// Ack acknowledges an event that NextEvent gave.
func (e *Event) Ack() {
	if a := e.object(); a != nil {
		a.ack(1)
	}
}

// acknowledged counts events that users have got and not acknowledged: an object isn't destroyed before they have.
type acknowledged struct {
	mu   sync.Mutex
	done sync.Cond
	open int64
}

func (a *acknowledged) got() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open++
}

func (a *acknowledged) ack(n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open -= n; a.open <= 0 && a.done.L != nil {
		a.done.Broadcast()
	}
}

func (a *acknowledged) wait() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done.L == nil {
		a.done.L = &a.mu
	}
	for a.open > 0 {
		a.done.Wait()
	}
}
