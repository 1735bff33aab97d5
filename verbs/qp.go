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

var errNoQP = errors.New("no such queue pair")

// queuePair is an ibv_qp, and an ibv_qp_ex where it was made as one.
type queuePair struct {
	at      uintptr
	context *openContext
	engine  *engine.QP
	ending  atomic.Bool

	// What post_send decodes a request into, under the engine's lock of a batch.
	request engine.SendWR
	sges    [maxSGE]ibv.SGE

	build *builder // of one made as ibv_qp_ex

	// Of IBV_QPT_XRC_RECV: its domain, and all structures of the one queue pair. Under xrcFiles' lock.
	file    *xrcFile
	sharers *[]*queuePair
}

// maxSGE is the most entries that a list of any queue has.
const maxSGE = 32

var queuePairs = newSlots[queuePair, ibv.QPEx](1 << 16)

// createQP is ibv_create_qp: domain, attributes, whose cap becomes what the queue pair has.
func createQP(c *cabi.Call) {
	a := at[ibv.QPInitAttr](c.Args[1])
	x := ibv.QPInitAttrEx{QPContext: a.QPContext, SendCQ: a.SendCQ, RecvCQ: a.RecvCQ, SRQ: a.SRQ, Cap: a.Cap,
		QPType: a.QPType, SQSigAll: a.SQSigAll}
	if q := newQP(c, protectionDomains.get(c.Args[0]), &x); q != nil {
		a.Cap = q.engine.Cap()
		c.Result = q.at
	}
}

// createQPEx is create_qp_ex of struct verbs_context: context, attributes.
func createQPEx(c *cabi.Call) {
	a := at[ibv.QPInitAttrEx](c.Args[1])
	x := *a
	mask := ibv.QPInitAttrMask(x.CompMask)
	const known = ibv.QP_INIT_ATTR_PD | ibv.QP_INIT_ATTR_XRCD | ibv.QP_INIT_ATTR_CREATE_FLAGS |
		ibv.QP_INIT_ATTR_SEND_OPS_FLAGS
	if mask&^known != 0 || mask&ibv.QP_INIT_ATTR_CREATE_FLAGS != 0 && x.CreateFlags != 0 {
		fail(c, unix.EOPNOTSUPP, fmt.Errorf("comp_mask %#x, create_flags %#x: %w", mask, x.CreateFlags, errUnknownBits))
		return
	}
	if x.QPType == ibv.QPT_XRC_RECV {
		if q := newTarget(c, &x, mask); q != nil {
			a.Cap = q.engine.Cap()
			c.Result = q.at
		}
		return
	}
	if mask&ibv.QP_INIT_ATTR_PD == 0 {
		fail(c, unix.EINVAL, errNoPD)
		return
	}
	extended := mask&ibv.QP_INIT_ATTR_SEND_OPS_FLAGS != 0
	if extended && !sendOpsExist(x.QPType, x.SendOpsFlags) {
		fail(c, unix.EOPNOTSUPP, fmt.Errorf("send_ops_flags %#x: %w", x.SendOpsFlags, errUnknownBits))
		return
	}
	q := newQP(c, protectionDomains.get(x.PD), &x)
	if q == nil {
		return
	}
	if extended {
		q.extend(x.SendOpsFlags)
	}
	a.Cap = q.engine.Cap()
	c.Result = q.at
}

// newQP makes a queue pair, nil after an error.
func newQP(c *cabi.Call, p *protectionDomain, x *ibv.QPInitAttrEx) *queuePair {
	i := engine.QPInit{Kind: x.QPType, Cap: x.Cap, SignalAll: x.SQSigAll != 0}
	if p == nil {
		fail(c, unix.EINVAL, errNoPD)
		return nil
	}
	sender := x.QPType == ibv.QPT_XRC_SEND // which receives nothing
	if sender {
		x.RecvCQ, x.SRQ = 0, 0
	}
	for _, cq := range []struct {
		at   uintptr
		to   **engine.CQ
		none bool
	}{{x.SendCQ, &i.SendCQ, false}, {x.RecvCQ, &i.RecvCQ, sender}} {
		if cq.none {
			continue
		}
		q := completionQueues.get(cq.at)
		if q == nil || q.context != p.context {
			fail(c, unix.EINVAL, errNoCQ)
			return nil
		}
		*cq.to = q.engine
	}
	if x.SRQ != 0 {
		s := sharedQueues.get(x.SRQ)
		if s == nil || s.pd.context != p.context {
			fail(c, unix.EINVAL, errNoSRQ)
			return nil
		}
		i.SRQ = s.engine
	}
	e, err := p.engine.CreateQP(i)
	if err != nil {
		fail(c, unix.EINVAL, fmt.Errorf("a queue pair of type %d with %+v: %w", x.QPType, x.Cap, err))
		return nil
	}
	return addQP(c, &queuePair{context: p.context, engine: e}, &ibv.QP{QPContext: x.QPContext, PD: p.at, SendCQ: x.SendCQ,
		RecvCQ: x.RecvCQ, SRQ: x.SRQ})
}

// addQP gives a new queue pair its structure, of which has says a part; nil after an error.
func addQP(c *cabi.Call, q *queuePair, has *ibv.QP) *queuePair {
	q.engine.User = q
	_, err := queuePairs.insert(q, func(address uintptr) { q.fill(address, has) })
	if err != nil {
		_ = q.engine.Destroy()
		fail(c, unix.ENOMEM, err)
		return nil
	}
	q.context.made(c, "ibv_qp", q.at)
	return q
}

// fill writes the structure.
func (q *queuePair) fill(address uintptr, has *ibv.QP) {
	q.at = address
	x := *has
	x.Context, x.Handle, x.QPNum = q.context.at, queuePairs.handle(address), q.engine.Number()
	x.QPType, x.State = q.engine.Kind(), q.engine.State()
	*at[ibv.QP](address) = x
}

func destroyQP(c *cabi.Call) {
	q := queuePairs.get(c.Args[0])
	if q == nil {
		fail(c, unix.EINVAL, errNoQP)
		return
	}
	destroy(c, queuePairs, q, &q.ending, q.context, q.end)
}

// modifyQP is ibv_modify_qp: queue pair, attributes, which of them.
func modifyQP(c *cabi.Call) {
	q := queuePairs.get(c.Args[0])
	if q == nil {
		fail(c, unix.EINVAL, errNoQP)
		return
	}
	mask := ibv.QPAttrMask(c.Args[2])
	// The member that came last, rate_limit, is not there in old programs.
	var attr ibv.QPAttr
	copy(bytesAt(address(&attr), qpAttrThen), bytesAt(c.Args[1], qpAttrThen))
	if err := q.engine.Modify(&attr, mask); err != nil {
		fail(c, unix.EINVAL, fmt.Errorf("from state %d with mask %#x: %w", q.engine.State(), uint32(mask), err))
		return
	}
	if mask&ibv.QP_STATE != 0 {
		at[ibv.QP](q.at).State = attr.QPState
	}
}

// queryQP is ibv_query_qp: queue pair, attributes, which of them, what it was made with.
func queryQP(c *cabi.Call) {
	q := queuePairs.get(c.Args[0])
	if q == nil {
		fail(c, unix.EINVAL, errNoQP)
		return
	}
	attr := q.engine.Query()
	copy(bytesAt(c.Args[1], qpAttrThen), bytesAt(address(&attr), qpAttrThen))
	made := at[ibv.QP](q.at)
	made.State = attr.QPState
	i := q.engine.Init()
	*at[ibv.QPInitAttr](c.Args[3]) = ibv.QPInitAttr{QPContext: made.QPContext, SendCQ: made.SendCQ, RecvCQ: made.RecvCQ,
		SRQ: made.SRQ, Cap: i.Cap, QPType: i.Kind, SQSigAll: boolean(i.SignalAll)}
}

func boolean(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// queryDataInOrder is ibv_query_qp_data_in_order: the bytes of a message may be written in any order.
func queryDataInOrder(c *cabi.Call) { c.Result = 0 }

// builder is what the wr_ functions of struct ibv_qp_ex build.
type builder struct {
	starting sync.Mutex // from wr_start to wr_complete or wr_abort
	open     bool
	pending  bool // request is to be staged
	err      error
	request  engine.SendWR
	sges     [maxSGE]ibv.SGE
	inline   []byte
}
