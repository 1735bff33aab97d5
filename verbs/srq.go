package verbs

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

var errNoSRQ = errors.New("no such shared receive queue")

// sharedQueue is an ibv_srq.
type sharedQueue struct {
	at     uintptr
	pd     *protectionDomain
	engine *engine.SRQ
	ending atomic.Bool
}

var sharedQueues = newSlots[sharedQueue, ibv.SRQ](1 << 16)

// createSRQ is ibv_create_srq: domain, attributes, which become what the queue has.
func createSRQ(c *cabi.Call) {
	a := at[ibv.SRQInitAttr](c.Args[1])
	newSRQ(c, protectionDomains.get(c.Args[0]), engine.SRQInit{}, a.SRQContext, &a.Attr)
}

// createSRQEx is create_srq_ex of struct verbs_context: context, attributes.
func createSRQEx(c *cabi.Call) {
	const basic = ibv.SRQ_INIT_ATTR_TYPE | ibv.SRQ_INIT_ATTR_PD
	a := at[ibv.SRQInitAttrEx](c.Args[1])
	mask := ibv.SRQInitAttrMask(a.CompMask)
	kind := ibv.SRQT_BASIC
	if mask&ibv.SRQ_INIT_ATTR_TYPE != 0 {
		kind = a.SRQType
	}
	p, i := protectionDomains.get(a.PD), engine.SRQInit{}
	switch {
	case mask&ibv.SRQ_INIT_ATTR_PD == 0 || p == nil:
		fail(c, unix.EINVAL, errNoPD)
		return
	case kind == ibv.SRQT_BASIC && mask&^basic == 0:
	case kind == ibv.SRQT_XRC && mask == basic|ibv.SRQ_INIT_ATTR_XRCD|ibv.SRQ_INIT_ATTR_CQ:
		x, q := xrcDomains.get(a.XRCD), completionQueues.get(a.CQ)
		if x == nil || q == nil || x.context != p.context || q.context != p.context {
			fail(c, unix.EINVAL, errNoXRCD)
			return
		}
		i.XRCD, i.CQ = x.file.engine, q.engine
	default:
		fail(c, unix.EOPNOTSUPP, fmt.Errorf("a queue of type %d, comp_mask %#x: %w", kind, mask, errUnknownBits))
		return
	}
	newSRQ(c, p, i, a.SRQContext, &a.Attr)
}

func newSRQ(c *cabi.Call, p *protectionDomain, i engine.SRQInit, user uintptr, attr *ibv.SRQAttr) {
	if p == nil {
		fail(c, unix.EINVAL, errNoPD)
		return
	}
	i.MaxWR, i.MaxSGE = attr.MaxWR, attr.MaxSGE
	e, err := p.engine.CreateSRQ(i)
	if err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	s := &sharedQueue{pd: p, engine: e}
	e.User = s
	_, err = sharedQueues.insert(s, func(address uintptr) {
		s.at = address
		*at[ibv.SRQ](address) = ibv.SRQ{Context: p.context.at, SRQContext: user, PD: p.at,
			Handle: sharedQueues.handle(address)}
	})
	if err != nil {
		_ = e.Destroy()
		fail(c, unix.ENOMEM, err)
		return
	}
	p.context.made(c, "ibv_srq", s.at)
	has := e.Attr()
	attr.MaxWR, attr.MaxSGE = has.MaxWR, has.MaxSGE
	c.Result = s.at
}

func destroySRQ(c *cabi.Call) {
	s := sharedQueues.get(c.Args[0])
	if s == nil {
		fail(c, unix.EINVAL, errNoSRQ)
		return
	}
	destroy(c, sharedQueues, s, &s.ending, s.pd.context, s.engine.Destroy)
}

// querySRQ is ibv_query_srq: queue, attributes.
func querySRQ(c *cabi.Call) {
	s := sharedQueues.get(c.Args[0])
	if s == nil {
		fail(c, unix.EINVAL, errNoSRQ)
		return
	}
	*at[ibv.SRQAttr](c.Args[1]) = s.engine.Attr()
}

// modifySRQ is ibv_modify_srq: queue, attributes, which of them.
func modifySRQ(c *cabi.Call) {
	s := sharedQueues.get(c.Args[0])
	if s == nil {
		fail(c, unix.EINVAL, errNoSRQ)
		return
	}
	if err := s.engine.Modify(*at[ibv.SRQAttr](c.Args[1]), ibv.SRQAttrMask(c.Args[2])); err != nil {
		fail(c, unix.EINVAL, err)
	}
}

// getSRQNum is get_srq_num of struct verbs_context: queue, where its number goes.
func getSRQNum(c *cabi.Call) {
	s := sharedQueues.get(c.Args[0])
	if s == nil {
		fail(c, unix.EINVAL, errNoSRQ)
		return
	}
	n, err := s.engine.Number()
	if err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	*at[uint32](c.Args[1]) = n
}
