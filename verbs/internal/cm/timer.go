package cm

import (
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
)

// How often something is sent again, and after how long: first after retryTimeout, since processes on one host answer
// soon. Linux sends a REQ 15 times more, 4.3 s apart, so that a peer has a minute to accept. Requests and replies have
// as long here: each time is twice the last one, up to Linux'. Farewells, for which destroyed identifiers wait, stay at
// the first.
const (
	maxRetries   = 15
	retryTimeout = 500 * time.Millisecond
	linuxTimeout = 4096 * time.Nanosecond << 20
)

// answerTime is how long to wait for the answer to the pending message. Under mu.
func (id *ID) answerTime() time.Duration {
	if id.pending.attribute == attrDREQ {
		return retryTimeout
	}
	return min(retryTimeout<<id.tries, linuxTimeout)
}

// patience is how long a request for a port that nobody serves is tried again, every firstLook. On a network a request
// takes long enough that programs connect while their peer is about to listen, and take its "no" for the end.
const (
	patience  = 100 * time.Millisecond
	firstLook = patience / 20
)

// ask sends a message until it is answered. Under mu.
func (id *ID) ask(msg message) {
	id.pending, id.tries, id.asked = msg, 0, time.Now()
	id.send()
}

// send sends the pending message, and waits. Under mu.
func (id *ID) send() {
	m := id.manager
	number := NumberOf(id.pending.remote)
	if a := id.pending.attribute; (a == attrREQ || a == attrSIDRREQ) && m.wire.Own(id.peer) {
		var ok bool
		if number, ok = m.wire.Server(uint16(id.space), id.remote); !ok {
			id.refused()
			return
		}
	}
	m.wire.Send(id.local.Addr(), id.peer, number, id.pending.encode())
	id.after(id.answerTime(), id.expired)
}

// after runs a function, under mu, unless the pending message is answered before.
func (id *ID) after(d time.Duration, f func()) {
	transaction, attribute := id.transaction, id.pending.attribute
	id.stopTimer()
	id.timer = time.AfterFunc(d, func() {
		defer id.lock()()
		if !id.destroyed && !id.manager.closed && id.transaction == transaction && id.pending.attribute == attribute {
			f()
		}
	})
}

// refused is that nobody serves the port. Under mu.
func (id *ID) refused() {
	if time.Since(id.asked) < patience {
		id.after(firstLook, id.send)
		return
	}
	id.answered()
	id.state = disconnected
	if id.datagram() {
		id.tell(Event{Type: ibv.RDMA_CM_EVENT_UNREACHABLE, Status: sidrUnsupported})
	} else {
		id.tell(Event{Type: ibv.RDMA_CM_EVENT_REJECTED, Status: RejectInvalidService})
	}
}

// expired is that there was no answer. Under mu.
func (id *ID) expired() {
	if id.tries++; id.tries <= maxRetries {
		id.send()
		return
	}
	switch id.pending.attribute {
	case attrDREQ:
		id.end()
		return
	case attrREP:
		id.reject(rejectedNone, RejectTimeout, nil)
		id.answered()
		id.state = disconnected
		id.tell(Event{Type: ibv.RDMA_CM_EVENT_CONNECT_ERROR, Status: -int(unix.ETIMEDOUT)})
		return
	}
	id.answered()
	id.state = disconnected
	id.tell(Event{Type: ibv.RDMA_CM_EVENT_UNREACHABLE, Status: -int(unix.ETIMEDOUT)})
}

// again sends the answer to a request that has come once more. Under mu.
func (id *ID) again() {
	if a := id.pending.attribute; a == attrREP || a == attrSIDRREP {
		id.manager.send(id.local.Addr(), id.peer, &id.pending)
	}
}

// answered ends the sending of the pending message. Under mu.
func (id *ID) answered() {
	id.stopTimer()
	id.pending = message{}
}

func (id *ID) stopTimer() {
	if id.timer != nil {
		id.timer.Stop()
		id.timer = nil
	}
}
