package verbs

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

var errNoCQ = errors.New("no such completion queue")

// completionQueue is an ibv_cq or an ibv_cq_ex.
type completionQueue struct {
	at      uintptr
	context *openContext
	channel *compChannel // or nil
	engine  *engine.CQ
	ending  atomic.Bool

	polling sync.Mutex // from start_poll to end_poll
	current engine.WC  // what the read functions tell of
}

var completionQueues = newSlots[completionQueue, ibv.CQEx](1 << 16)

// createCQ is ibv_create_cq: context, entries, cq_context, channel, vector.
func createCQ(c *cabi.Call) {
	i := engine.CQInit{Entries: int(c.Int(1)), Vector: int(c.Int(4))}
	if q := newCQ(c, i, c.Args[2], c.Args[3]); q != nil {
		c.Result = q.at
	}
}

// newCQ makes a queue for a context that is the call's first argument, nil after an error.
func newCQ(c *cabi.Call, i engine.CQInit, user, channel uintptr) *completionQueue {
	ctx := contextAt(c.Args[0])
	if ctx == nil {
		fail(c, unix.EINVAL, errNoContext)
		return nil
	}
	q := &completionQueue{context: ctx}
	if channel != 0 {
		if q.channel = compChannels.get(channel); q.channel == nil || q.channel.context != ctx {
			fail(c, unix.EINVAL, errNoChannel)
			return nil
		}
		i.Channel = q.channel.engine
	}
	var err error
	if q.engine, err = ctx.engine.CreateCQ(i); err != nil {
		fail(c, unix.EINVAL, err)
		return nil
	}
	q.engine.User = q
	_, err = completionQueues.insert(q, func(address uintptr) {
		q.at = address
		*at[ibv.CQ](address) = ibv.CQ{Context: ctx.at, Channel: channel, CQContext: user,
			Handle: completionQueues.handle(address), CQE: int32(q.engine.Entries())}
	})
	if err != nil {
		_ = q.engine.Destroy()
		fail(c, unix.ENOMEM, err)
		return nil
	}
	ctx.made(c, "ibv_cq", q.at)
	q.countChannel(1)
	return q
}

// countChannel keeps the number of queues that a channel has where applications see it.
func (q *completionQueue) countChannel(n int32) {
	if q.channel != nil {
		at[ibv.CompChannel](q.channel.at).Refcnt += n
	}
}

func destroyCQ(c *cabi.Call) {
	q := completionQueues.get(c.Args[0])
	if q == nil {
		fail(c, unix.EINVAL, errNoCQ)
		return
	}
	destroy(c, completionQueues, q, &q.ending, q.context, func() error {
		err := q.engine.Destroy()
		if err == nil {
			q.countChannel(-1)
		}
		return err
	})
}

// resizeCQ is ibv_resize_cq: queue, entries.
func resizeCQ(c *cabi.Call) {
	q := completionQueues.get(c.Args[0])
	if q == nil {
		fail(c, unix.EINVAL, errNoCQ)
		return
	}
	if err := q.engine.Resize(int(c.Int(1))); err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	at[ibv.CQ](q.at).CQE = int32(q.engine.Entries())
}

// pollCQ is poll_cq of struct ibv_context_ops: queue, number, completions. It returns how many there were.
func pollCQ(c *cabi.Call) {
	q := completionQueues.get(c.Args[0])
	if q == nil {
		c.Fail(unix.EINVAL)
		return
	}
	var wc engine.WC
	n, to := c.Int(1), c.Args[2]
	got := int32(0)
	for got < n && q.engine.Poll(&wc) {
		*at[ibv.WC](to) = wc.WC
		to += sizeOf[ibv.WC]()
		got++
	}
	c.Result = uintptr(got)
}

// reqNotifyCQ is req_notify_cq of struct ibv_context_ops: queue, whether for solicited ones alone.
func reqNotifyCQ(c *cabi.Call) {
	q := completionQueues.get(c.Args[0])
	if q == nil {
		c.Fail(unix.EINVAL)
		return
	}
	q.engine.Arm(c.Int(1) != 0)
}

// createCQEx is create_cq_ex of struct verbs_context: context, attributes.
func createCQEx(c *cabi.Call) {
	const (
		knownMask = uint32(ibv.CQ_INIT_ATTR_MASK_FLAGS | ibv.CQ_INIT_ATTR_MASK_PD)
		standard  = uint64(ibv.WC_STANDARD_FLAGS | ibv.WC_EX_WITH_COMPLETION_TIMESTAMP |
			ibv.WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		stamps = uint64(ibv.WC_EX_WITH_COMPLETION_TIMESTAMP | ibv.WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
	)
	a := *at[ibv.CQInitAttrEx](c.Args[1])
	flags := ibv.CreateCQAttrFlags(0)
	if a.CompMask&uint32(ibv.CQ_INIT_ATTR_MASK_FLAGS) != 0 {
		flags = ibv.CreateCQAttrFlags(a.Flags)
	}
	switch {
	case a.CompMask&^knownMask != 0 || a.CompMask&uint32(ibv.CQ_INIT_ATTR_MASK_PD) != 0:
		fail(c, unix.EOPNOTSUPP, fmt.Errorf("comp_mask %#x: %w", a.CompMask, errUnknownBits))
		return
	case a.WCFlags&^standard != 0:
		fail(c, unix.EOPNOTSUPP, fmt.Errorf("wc_flags %#x: %w", a.WCFlags, errUnknownBits))
		return
	case flags&^(ibv.CREATE_CQ_ATTR_SINGLE_THREADED|ibv.CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0:
		fail(c, unix.EOPNOTSUPP, fmt.Errorf("flags %#x: %w", a.Flags, errUnknownBits))
		return
	}
	i := engine.CQInit{Entries: int(a.CQE), Vector: int(a.CompVector), Timestamps: a.WCFlags&stamps != 0,
		IgnoreOverrun: flags&ibv.CREATE_CQ_ATTR_IGNORE_OVERRUN != 0}
	q := newCQ(c, i, a.CQContext, a.Channel)
	if q == nil {
		return
	}
	entry := entered.addresses
	x := at[ibv.CQEx](q.at)
	x.StartPoll, x.NextPoll, x.EndPoll = entry["start_poll"], entry["next_poll"], entry["end_poll"]
	x.ReadOpcode, x.ReadVendorErr, x.ReadWCFlags = entry["read_opcode"], entry["read_vendor_err"], entry["read_wc_flags"]
	for _, f := range []struct {
		flag ibv.CreateCQWCFlags
		to   *uintptr
		name string
	}{
		{ibv.WC_EX_WITH_BYTE_LEN, &x.ReadByteLen, "read_byte_len"},
		{ibv.WC_EX_WITH_IMM, &x.ReadImmData, "read_imm_data"},
		{ibv.WC_EX_WITH_QP_NUM, &x.ReadQPNum, "read_qp_num"},
		{ibv.WC_EX_WITH_SRC_QP, &x.ReadSrcQP, "read_src_qp"},
		{ibv.WC_EX_WITH_SLID, &x.ReadSLID, "read_slid"},
		{ibv.WC_EX_WITH_SL, &x.ReadSL, "read_sl"},
		{ibv.WC_EX_WITH_DLID_PATH_BITS, &x.ReadDLIDPathBits, "read_dlid_path_bits"},
		{ibv.WC_EX_WITH_COMPLETION_TIMESTAMP, &x.ReadCompletionTimestamp, "read_completion_ts"},
		{ibv.WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, &x.ReadCompletionWallclockNS, "read_completion_wallclock_ns"},
	} {
		if a.WCFlags&uint64(f.flag) != 0 {
			*f.to = entry[f.name]
		}
	}
	c.Result = q.at
}
