package verbs

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/bell"
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

// howToTake is how a function takes an event that libibverbs calls for the application (wait_for_event in resolve.c):
// argument 3 says whether it has read the descriptor.
func howToTake(c *cabi.Call) bell.Mode {
	if c.Int(3) != 0 {
		return bell.Has
	}
	return bell.Tries
}

// What such a function answers beside its own results.
const (
	waitForEver = 1
	waitFor     = 2 // and more: libibverbs is to read the descriptor of this number less waitFor, and to call again
)

// failToTake answers that there is no event.
func failToTake(c *cabi.Call, err error, descriptor int) {
	if err == bell.ErrEmpty && descriptor >= 0 {
		c.Result = uintptr(waitFor + descriptor)
		return
	}
	c.Fail(errnoOf(err, unix.EIO))
}

// getCQEvent is ibv_get_cq_event: channel, and where the queue and its cq_context go.
func getCQEvent(c *cabi.Call) {
	ch := compChannels.get(c.Args[0])
	if ch == nil {
		fail(c, unix.EINVAL, errNoChannel)
		return
	}
	e, err := ch.engine.NextEvent(howToTake(c))
	if err != nil {
		failToTake(c, err, ch.engine.FD())
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
