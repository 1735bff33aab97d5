package verbs

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

// compChannel is an ibv_comp_channel.
type compChannel struct {
	at      uintptr
	context *openContext
	engine  *engine.Channel
	ending  atomic.Bool
}

var compChannels = newSlots[compChannel, ibv.CompChannel](1 << 16)

func createCompChannel(c *cabi.Call) {
	ctx := contextAt(c.Args[0])
	if ctx == nil {
		fail(c, unix.EINVAL, errNoContext)
		return
	}
	e, err := ctx.engine.NewChannel()
	if err != nil {
		fail(c, unix.ENOMEM, err)
		return
	}
	ch := &compChannel{context: ctx, engine: e}
	_, err = compChannels.insert(ch, func(address uintptr) {
		ch.at = address
		*at[ibv.CompChannel](address) = ibv.CompChannel{Context: ctx.at, FD: int32(e.FD())}
	})
	if err != nil {
		_ = e.Destroy()
		fail(c, unix.ENOMEM, err)
		return
	}
	ctx.made(c, "ibv_comp_channel", ch.at)
	c.Result = ch.at
}

func destroyCompChannel(c *cabi.Call) {
	ch := compChannels.get(c.Args[0])
	if ch == nil {
		fail(c, unix.EINVAL, errNoChannel)
		return
	}
	destroy(c, compChannels, ch, &ch.ending, ch.context, ch.engine.Destroy)
}

// getCQEvent is ibv_get_cq_event: channel, and where the queue and its cq_context go. It waits unless the application
// has made the descriptor non-blocking.
func getCQEvent(c *cabi.Call) {
	ch := compChannels.get(c.Args[0])
	if ch == nil {
		fail(c, unix.EINVAL, errNoChannel)
		return
	}
	e, err := ch.engine.NextEvent()
	if err != nil {
		c.Fail(errnoOf(err, unix.EIO))
		return
	}
	q := e.User.(*completionQueue)
	*at[uintptr](c.Args[1]) = q.at
	*at[uintptr](c.Args[2]) = at[ibv.CQ](q.at).CQContext
}

// ackCQEvents is ibv_ack_cq_events: queue, number.
func ackCQEvents(c *cabi.Call) {
	if q := completionQueues.get(c.Args[0]); q != nil {
		q.engine.AckEvents(int(uint32(c.Args[1])))
	}
}
