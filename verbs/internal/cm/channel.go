package cm

import (
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/bell"
)

// Event is what an identifier has met.
type Event struct {
	Type   ibv.CMEventType
	ID     *ID
	Listen *ID // of a CONNECT_REQUEST: who listens
	Status int // a negated errno; of REJECTED the reason; of a UD response its status

	// Connection says what the other side wants: CONNECT_REQUEST, CONNECT_RESPONSE, ESTABLISHED, REJECTED.
	Connection Parameters
	// Address is where datagrams go, of ESTABLISHED for UD and of MULTICAST_JOIN.
	Address ibv.AHAttr
	QKey    uint32
}

// Parameters are struct rdma_conn_param's, and of UD struct rdma_ud_param's. In an event, they are the other side's.
type Parameters struct {
	Private            []byte
	ResponderResources uint8
	InitiatorDepth     uint8
	FlowControl        bool
	RetryCount         uint8 // 3 bits
	RNRRetryCount      uint8 // 3 bits
	SRQ                bool
	QPN                uint32
}

// Channel is an event channel. Its descriptor can be read while there are events, and belongs to it.
type Channel struct {
	bell *bell.Bell // has the events

	mu     sync.Mutex
	events []*Event
}

// NewChannel makes a channel. Errors: eventfd(2).
func NewChannel() (*Channel, error) {
	b, err := bell.New()
	if err != nil {
		return nil, err
	}
	return &Channel{bell: b}, nil
}

// FD is the descriptor that applications poll. They may make it non-blocking.
func (c *Channel) FD() int { return c.bell.FD() }

// Close closes the descriptor. Nobody may use the channel any more.
func (c *Channel) Close() { _ = c.bell.Close() }

// Next takes the next event that somebody may get, in some way; Ack is to follow. seen, if there is one, sees events in
// their order, whichever threads take them; it must not call the manager. gone, if there is one, is told of each event
// that nobody may get any more. Errors: EAGAIN, EINTR, EBADF, bell.ErrEmpty.
func (c *Channel) Next(m bell.Mode, seen, gone func(*Event)) (*Event, error) {
	for woken := false; ; woken = true {
		if err := c.bell.Take(&m); err != nil {
			if woken && err == unix.EBADF {
				// A read of the kernel's channel that has begun does not notice that another thread closes it. Programs
				// whose threads wait in one while the process ends rely on that.
				select {}
			}
			return nil, err
		}
		switch e := c.first(seen); {
		case e == nil: // the application read the descriptor by itself, or the event was taken back
		case e.got():
			return e, nil
		case gone != nil:
			gone(e)
		}
	}
}

// first removes the first event, and returns it; nil without one.
func (c *Channel) first(seen func(*Event)) *Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.events) == 0 {
		return nil
	}
	e := c.events[0]
	c.events = c.events[1:]
	if seen != nil {
		seen(e)
	}
	return e
}

// put adds an event. Under Manager.mu.
func (c *Channel) put(e *Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	c.bell.Ring()
}

// take removes the events of an identifier, and returns them.
func (c *Channel) take(id *ID) (list []*Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rest := c.events[:0]
	for _, e := range c.events {
		if e.ID == id || e.Listen == id {
			list = append(list, e)
			c.bell.Silence()
		} else {
			rest = append(rest, e)
		}
	}
	clear(c.events[len(rest):])
	c.events = rest
	return list
}
