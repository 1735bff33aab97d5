package verbs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/bell"
	"farside/verbs/internal/cm"
	"farside/verbs/internal/engine"
)

var (
	errNoEvent = errors.New("no such event")
	errHasQP   = errors.New("the identifier has a queue pair")
	errSpace   = errors.New("not for this port space")
)

// datagram says whether the identifier is of UD.
func (id *identifier) datagram() bool { return at[ibv.CMID](id.at).QPType == ibv.QPT_UD }

// queuePair is the one that rdma_create_qp has made, or nil.
func (id *identifier) queuePair() *queuePair {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.qp
}

// modify takes a queue pair to a state, as the identifier's connection needs it.
func (id *identifier) modify(q *queuePair, to ibv.QPState) error {
	var a ibv.QPAttr
	mask, err := id.engine.QPAttr(to, &a)
	if err == nil {
		err = q.engine.Modify(&a, mask)
	}
	if err == nil {
		at[ibv.QP](q.at).State = to
	}
	return err
}

// cmCreateQP is rdma_create_qp: identifier, protection domain or none, attributes, whose cap becomes what there is.
func cmCreateQP(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	a := at[ibv.QPInitAttr](c.Args[2])
	x := ibv.QPInitAttrEx{QPContext: a.QPContext, SendCQ: a.SendCQ, RecvCQ: a.RecvCQ, SRQ: a.SRQ, Cap: a.Cap,
		QPType: a.QPType, SQSigAll: a.SQSigAll, PD: c.Args[1]}
	if id.makeQP(c, &x) {
		a.Cap, a.SendCQ, a.RecvCQ = id.qp.engine.Cap(), x.SendCQ, x.RecvCQ
	}
}

// cmCreateQPEx is rdma_create_qp_ex: identifier, attributes.
func cmCreateQPEx(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	a := at[ibv.QPInitAttrEx](c.Args[1])
	x := *a
	if ibv.QPInitAttrMask(x.CompMask)&ibv.QP_INIT_ATTR_PD == 0 {
		x.PD = 0
	}
	if id.makeQP(c, &x) {
		a.Cap = id.qp.engine.Cap()
	}
}

// makeQP makes an identifier's queue pair, with queues of its own where none are given (man rdma_create_qp), and takes
// it to where receives can be posted. It says whether it could.
func (id *identifier) makeQP(c *cabi.Call, x *ibv.QPInitAttrEx) bool {
	seen := at[ibv.CMID](id.at)
	pd := id.manager.domain
	if x.PD == 0 {
		x.PD = seen.PD
	}
	if x.PD != 0 {
		pd = protectionDomains.get(x.PD)
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	switch {
	case id.qp != nil:
		fail(c, unix.EINVAL, errHasQP)
		return false
	case pd == nil:
		fail(c, unix.EINVAL, errNoPD)
		return false
	case x.QPType != seen.QPType:
		fail(c, unix.EINVAL, fmt.Errorf("a queue pair of type %d: %w", x.QPType, errSpace))
		return false
	}
	for _, q := range []struct {
		given         *uintptr
		queue, events *uintptr
		entries       uint32
	}{{&x.SendCQ, &seen.SendCQ, &seen.SendCQChannel, x.Cap.MaxSendWR}, {&x.RecvCQ, &seen.RecvCQ, &seen.RecvCQChannel,
		x.Cap.MaxRecvWR}} {
		if *q.given == 0 {
			if !ownCQ(c, pd.context, id.at, q.entries, q.queue, q.events) {
				destroyOwn(c, seen)
				return false
			}
			*q.given = *q.queue
		}
	}
	q := newQP(c, pd, x)
	if q == nil {
		destroyOwn(c, seen)
		return false
	}
	states := []ibv.QPState{ibv.QPS_INIT}
	if id.datagram() {
		states = append(states, ibv.QPS_RTR, ibv.QPS_RTS)
	}
	for _, to := range states {
		if err := id.modify(q, to); err != nil {
			call(c, destroyQP, q.at)
			destroyOwn(c, seen)
			fail(c, unix.EINVAL, err)
			return false
		}
	}
	id.qp, id.pd = q, pd
	seen.QP, seen.PD = q.at, pd.at
	return true
}

// ownCQ makes a completion queue with a channel for an identifier.
func ownCQ(c *cabi.Call, ctx *openContext, user uintptr, entries uint32, queue, events *uintptr) bool {
	args := c.Args
	defer func() { c.Args = args }()
	c.Args[0] = ctx.at
	createCompChannel(c)
	if c.Errno != 0 {
		return false
	}
	*events, c.Result = c.Result, 0
	q := newCQ(c, engine.CQInit{Entries: int(max(entries, 1))}, user, *events)
	if q == nil {
		return false
	}
	*queue = q.at
	return true
}

// cmDestroyQP is rdma_destroy_qp, which also destroys the queues that the identifier has of its own.
func cmDestroyQP(c *cabi.Call) {
	id := identifiers.get(c.Args[0])
	if id == nil {
		return
	}
	id.mu.Lock()
	q := id.qp
	id.qp = nil
	id.mu.Unlock()
	seen := at[ibv.CMID](id.at)
	if q != nil {
		call(c, destroyQP, q.at)
	}
	seen.QP = 0
	destroyOwn(c, seen)
}

// destroyOwn destroys the queues and channels that an identifier has of its own. It leaves the call's failure as it is.
func destroyOwn(c *cabi.Call, seen *ibv.CMID) {
	result, errno := c.Result, c.Errno
	defer func() { c.Result, c.Errno = result, errno }()
	for _, own := range []struct {
		at      *uintptr
		destroy func(*cabi.Call)
	}{{&seen.SendCQ, destroyCQ}, {&seen.SendCQChannel, destroyCompChannel}, {&seen.RecvCQ, destroyCQ},
		{&seen.RecvCQChannel, destroyCompChannel}} {
		if *own.at != 0 {
			call(c, own.destroy, *own.at)
			*own.at = 0
		}
	}
}

// call calls a function of C with one argument on behalf of another one.
func call(c *cabi.Call, f func(*cabi.Call), argument uintptr) {
	args := c.Args
	c.Args[0] = argument
	f(c)
	c.Args = args
}

// parameters reads a struct rdma_conn_param. Without one they are the most that there is, as in rdma-core.
func (id *identifier) parameters(from uintptr, resources, depth uint8) cm.Parameters {
	p := ibv.ConnParam{ResponderResources: ibv.RDMA_MAX_RESP_RES, InitiatorDepth: ibv.RDMA_MAX_INIT_DEPTH, RetryCount: 7,
		RNRRetryCount: 7}
	if from != 0 {
		p = *at[ibv.ConnParam](from)
	}
	a := id.manager.context.engine.Device.Attr()
	if p.ResponderResources == ibv.RDMA_MAX_RESP_RES {
		p.ResponderResources = resources
	}
	if p.InitiatorDepth == ibv.RDMA_MAX_INIT_DEPTH {
		p.InitiatorDepth = depth
	}
	out := cm.Parameters{ResponderResources: min(p.ResponderResources, uint8(min(a.MaxQPRDAtom, 255))),
		InitiatorDepth: min(p.InitiatorDepth, uint8(min(a.MaxQPInitRDAtom, 255))), FlowControl: p.FlowControl != 0,
		RetryCount: p.RetryCount, RNRRetryCount: p.RNRRetryCount, SRQ: p.SRQ != 0, QPN: p.QPNum}
	if p.PrivateDataLen > 0 && p.PrivateData != 0 {
		out.Private = append([]byte(nil), bytesAt(p.PrivateData, uintptr(p.PrivateDataLen))...)
	}
	if q := id.queuePair(); q != nil {
		out.QPN, out.SRQ = q.engine.Number(), at[ibv.QP](q.at).SRQ != 0
	}
	return out
}

// connect is rdma_connect: identifier, parameters or none.
func connect(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	how := howToTake(c)
	var err error
	if how != bell.Has {
		err = id.engine.Connect(id.parameters(c.Args[1], 255, 255))
	}
	id.settle(c, err, how)
}

// accept is rdma_accept: identifier, parameters or none.
func accept(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	how := howToTake(c)
	var err error
	if how != bell.Has {
		err = id.accept(c.Args[1])
	}
	if id.datagram() {
		finish(c, err)
	} else {
		id.settle(c, err, how)
	}
}

// accept takes a connection by the parameters of the application, or by those of the request where it gives none.
func (id *identifier) accept(parameters uintptr) error {
	p := id.parameters(parameters, id.asked.ResponderResources, id.asked.InitiatorDepth)
	if parameters == 0 {
		p.RNRRetryCount = id.asked.RNRRetryCount
	}
	err := id.engine.Prepare(&p)
	if q := id.queuePair(); err == nil && q != nil && !id.datagram() {
		if err = id.modify(q, ibv.QPS_RTR); err == nil {
			err = id.modify(q, ibv.QPS_RTS)
		}
	}
	if err == nil {
		err = id.engine.Accept(&p)
	}
	return err
}

// reject is rdma_reject: identifier, private data, their length.
func reject(c *cabi.Call) {
	if id := idOf(c); id != nil {
		private := append([]byte(nil), bytesAt(c.Args[1], uintptr(uint8(c.Args[2])))...)
		finish(c, id.engine.Reject(private))
	}
}

// establish is rdma_establish: an identifier whose queue pair is the application's own has had its response.
func establish(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	if id.queuePair() != nil {
		fail(c, unix.EINVAL, errHasQP)
		return
	}
	finish(c, id.engine.Accept(nil))
}

// notify is rdma_notify: identifier, an asynchronous event.
func notify(c *cabi.Call) {
	if id := idOf(c); id != nil {
		if ibv.EventType(c.Args[1]) != ibv.EVENT_COMM_EST {
			fail(c, unix.EINVAL, errUnknownBits)
			return
		}
		finish(c, id.engine.Established())
	}
}

// disconnect is rdma_disconnect. What the queue pair has is flushed.
func disconnect(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	if id.datagram() {
		fail(c, unix.EINVAL, errSpace)
		return
	}
	how := howToTake(c)
	var err error
	if how != bell.Has {
		err = id.disconnect()
	}
	id.settle(c, err, how)
}

func (id *identifier) disconnect() error {
	if q := id.queuePair(); q != nil {
		if err := q.engine.Modify(&ibv.QPAttr{QPState: ibv.QPS_ERR}, ibv.QP_STATE); err != nil {
			return err
		}
		at[ibv.QP](q.at).State = ibv.QPS_ERR
	}
	return id.engine.Disconnect()
}

// initQPAttr is rdma_init_qp_attr: identifier, attributes, whose state is asked for, and where the mask goes.
func initQPAttr(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	a := at[ibv.QPAttr](c.Args[1])
	mask, err := id.engine.QPAttr(a.QPState, a)
	if err != nil {
		fail(c, unix.EINVAL, fmt.Errorf("state %d: %w", a.QPState, err))
		return
	}
	*at[uint32](c.Args[2]) = uint32(mask)
}

// getRequest is rdma_get_request: an identifier that listens and has its own channel, and where the new one goes.
func getRequest(c *cabi.Call) {
	l := idOf(c)
	if l == nil {
		return
	}
	if !l.alone {
		fail(c, unix.EINVAL, errors.New("the identifier has a channel"))
		return
	}
	if !l.await(c, howToTake(c)) {
		return
	}
	seen := at[ibv.CMID](l.at)
	event := at[ibv.CMEvent](seen.Event)
	id := identifiers.get(event.ID)
	if event.Event != ibv.RDMA_CM_EVENT_CONNECT_REQUEST || id == nil {
		fail(c, unix.EINVAL, errNoEvent)
		return
	}
	own, err := newEventChannel()
	if err != nil {
		fail(c, unix.ENOMEM, err)
		return
	}
	id.move(own, true)
	if l.onNew != nil {
		x := ibv.QPInitAttrEx{QPContext: l.onNew.QPContext, SendCQ: l.onNew.SendCQ, RecvCQ: l.onNew.RecvCQ, SRQ: l.onNew.SRQ,
			Cap: l.onNew.Cap, QPType: l.onNew.QPType, SQSigAll: l.onNew.SQSigAll, PD: l.onNewPD}
		if !id.makeQP(c, &x) {
			return
		}
	}
	at[ibv.CMID](id.at).Event, seen.Event = seen.Event, 0 // private data stay with the new one
	*at[uintptr](c.Args[1]) = id.at
}
