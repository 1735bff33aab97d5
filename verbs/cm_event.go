package verbs

import (
	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/bell"
	"farside/verbs/internal/cm"
)

// cmEvent is an rdma_cm_event.
type cmEvent struct{ engine *cm.Event }

// eventRoom is its structure, with room for private data behind it.
type eventRoom struct {
	event   ibv.CMEvent
	private [privateRoom]byte
}

// privateRoom is the most private data of any message, bytes.
const privateRoom = 256

var cmEventSlots = newSlots[cmEvent, eventRoom](1 << 18)

// getCMEvent is rdma_get_cm_event: channel, where the event goes.
func getCMEvent(c *cabi.Call) {
	ch := eventChannels.get(c.Args[0])
	how := howToTake(c)
	switch {
	case ch == nil && how == bell.Has: // as in cm.Channel.Next
		c.Result = waitForEver
		return
	case ch == nil:
		fail(c, unix.EINVAL, errNoEventChannel)
		return
	}
	e, err := nextEvent(ch, how)
	if err != nil {
		failToTake(c, err, ch.engine.FD())
		return
	}
	*at[uintptr](c.Args[1]) = e
}

// nextEvent takes a channel's next event, does what librdmacm does when it comes, and returns its structure.
func nextEvent(ch *eventChannel, how bell.Mode) (uintptr, error) {
	var failed error
	e, err := ch.engine.Next(how, func(e *cm.Event) {
		failed = nil
		if e.Type == ibv.RDMA_CM_EVENT_CONNECT_REQUEST {
			failed = newRequest(ch, e)
		}
	}, func(e *cm.Event) {
		if e.Type == ibv.RDMA_CM_EVENT_CONNECT_REQUEST { // its listener has gone, and nobody knows the new one
			e.ID.Destroy()
			identifiers.remove(e.ID.User.(*identifier).at)
		}
	})
	if err != nil {
		return 0, err
	}
	if failed != nil {
		e.Ack()
		e.ID.Destroy() // which says no
		return 0, failed
	}
	id := e.ID.User.(*identifier)
	switch e.Type {
	case ibv.RDMA_CM_EVENT_CONNECT_REQUEST:
		id.putAddresses()
		id.putDevice()
	case ibv.RDMA_CM_EVENT_CONNECT_RESPONSE:
		if q := id.queuePair(); q != nil {
			id.respond(e, q)
		}
	case ibv.RDMA_CM_EVENT_REJECTED:
		if q := id.queuePair(); q != nil {
			_ = q.engine.Modify(&ibv.QPAttr{QPState: ibv.QPS_ERR}, ibv.QP_STATE)
		}
	}
	at, err := cmEventSlots.insert(&cmEvent{e}, func(at uintptr) { putEvent(at, e, id) })
	if err != nil {
		e.Ack()
	}
	return at, err
}

// newRequest makes the identifier of a request, as its listener's are. The channel's lock is held, so that nothing of
// the manager may be asked.
func newRequest(ch *eventChannel, e *cm.Event) error {
	l := e.Listen.User.(*identifier)
	id := &identifier{engine: e.ID, manager: l.manager, channel: ch, asked: e.Connection}
	s := at[ibv.CMID](l.at)
	e.ID.User = id
	return id.publish(s.Context, s.PS, s.QPType)
}

// respond takes a response to the state in which data can be sent, and the connection with it: the application sees it
// established. Where that fails the other side is told, and the application sees why.
func (id *identifier) respond(e *cm.Event, q *queuePair) {
	err := id.modify(q, ibv.QPS_RTR)
	if err == nil {
		err = id.modify(q, ibv.QPS_RTS)
	}
	if err != nil {
		_ = e.ID.Reject(nil)
		e.Type, e.Status = ibv.RDMA_CM_EVENT_CONNECT_ERROR, -int(errnoOf(err, unix.EINVAL))
		return
	}
	if err := e.ID.Accept(nil); err != nil {
		e.Type, e.Status = ibv.RDMA_CM_EVENT_CONNECT_ERROR, -int(errnoOf(err, unix.EINVAL))
		return
	}
	e.Type = ibv.RDMA_CM_EVENT_ESTABLISHED
}

// putEvent fills the structure of an event.
func putEvent(to uintptr, e *cm.Event, id *identifier) {
	room := at[eventRoom](to)
	c := &room.event
	*c = ibv.CMEvent{ID: id.at, Event: e.Type, Status: int32(e.Status)}
	if e.Listen != nil {
		c.ListenID = e.Listen.User.(*identifier).at
	}
	p := &e.Connection
	private, length := uintptr(0), uint8(0)
	if len(p.Private) > 0 {
		private = address(&room.private)
		length = uint8(copy(room.private[:], p.Private))
	}
	if id.datagram() {
		*at[ibv.UDParam](address(&c.Param)) = ibv.UDParam{PrivateData: private, PrivateDataLen: length, AHAttr: e.Address,
			QPNum: p.QPN, QKey: e.QKey}
		return
	}
	*at[ibv.ConnParam](address(&c.Param)) = ibv.ConnParam{PrivateData: private, PrivateDataLen: length,
		ResponderResources: p.ResponderResources, InitiatorDepth: p.InitiatorDepth,
		FlowControl: uint8(boolean(p.FlowControl)),
		RetryCount:  p.RetryCount, RNRRetryCount: p.RNRRetryCount, SRQ: uint8(boolean(p.SRQ)), QPNum: p.QPN}
}

// ackCMEvent is rdma_ack_cm_event.
func ackCMEvent(c *cabi.Call) {
	if !ackEvent(c.Args[0]) {
		fail(c, unix.EINVAL, errNoEvent)
	}
}

// ackEvent gives an event back, and says whether there was one.
func ackEvent(at uintptr) bool {
	e := cmEventSlots.remove(at)
	if e == nil {
		return false
	}
	e.engine.Ack()
	return true
}
