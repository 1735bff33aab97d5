package verbs

import (
	"errors"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

var errNoChannel = errors.New("no such channel")

// getAsyncEvent is ibv_get_async_event: context, event.
func getAsyncEvent(c *cabi.Call) {
	ctx := contextAt(c.Args[0])
	if ctx == nil {
		fail(c, unix.EINVAL, errNoContext)
		return
	}
	e, err := ctx.engine.NextEvent(howToTake(c))
	if err != nil {
		failToTake(c, err, ctx.engine.FD())
		return
	}
	*at[ibv.AsyncEvent](c.Args[1]) = ibv.AsyncEvent{Element: elementOf(&e), EventType: e.Type}
	c.Result = 0
}

// elementOf is what an event says that it is about: the address of an object's structure, or the port.
func elementOf(e *engine.Event) uint64 {
	switch {
	case e.CQ != nil:
		if q, ok := e.CQ.User.(*completionQueue); ok {
			return uint64(q.at)
		}
	case e.QP != nil:
		if q, ok := e.QP.User.(*queuePair); ok {
			return uint64(q.told())
		}
	case e.SRQ != nil:
		if s, ok := e.SRQ.User.(*sharedQueue); ok {
			return uint64(s.at)
		}
	}
	return uint64(e.Port)
}

// ackAsyncEvent is ibv_ack_async_event: event.
func ackAsyncEvent(c *cabi.Call) {
	event := *at[ibv.AsyncEvent](c.Args[0])
	e := engine.Event{Type: event.EventType}
	element := uintptr(event.Element)
	switch event.EventType {
	case ibv.EVENT_CQ_ERR:
		if q := completionQueues.get(element); q != nil {
			e.CQ = q.engine
		}
	case ibv.EVENT_QP_FATAL, ibv.EVENT_QP_REQ_ERR, ibv.EVENT_QP_ACCESS_ERR, ibv.EVENT_COMM_EST, ibv.EVENT_SQ_DRAINED,
		ibv.EVENT_PATH_MIG, ibv.EVENT_PATH_MIG_ERR, ibv.EVENT_QP_LAST_WQE_REACHED:
		if q := queuePairs.get(element); q != nil {
			e.QP = q.engine
		}
	case ibv.EVENT_SRQ_ERR, ibv.EVENT_SRQ_LIMIT_REACHED:
		if s := sharedQueues.get(element); s != nil {
			e.SRQ = s.engine
		}
	}
	e.Ack()
}
