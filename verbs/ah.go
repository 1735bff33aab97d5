package verbs

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

var errNoAH = errors.New("no such address handle")

// addressHandle is an ibv_ah.
type addressHandle struct {
	at     uintptr
	pd     *protectionDomain
	engine *engine.AH
	ending atomic.Bool
}

var addressHandles = newSlots[addressHandle, ibv.AH](1 << 20)

// createAH is ibv_create_ah: domain, attributes.
func createAH(c *cabi.Call) {
	attr := *at[ibv.AHAttr](c.Args[1])
	newAH(c, &attr)
}

func newAH(c *cabi.Call, attr *ibv.AHAttr) {
	p := protectionDomains.get(c.Args[0])
	if p == nil {
		fail(c, unix.EINVAL, errNoPD)
		return
	}
	e, err := p.engine.CreateAH(attr)
	if err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	a := &addressHandle{pd: p, engine: e}
	_, err = addressHandles.insert(a, func(address uintptr) {
		a.at = address
		*at[ibv.AH](address) = ibv.AH{Context: p.context.at, PD: p.at, Handle: addressHandles.handle(address)}
	})
	if err != nil {
		_ = e.Destroy()
		fail(c, unix.ENOMEM, err)
		return
	}
	p.context.made(c, "ibv_ah", a.at)
	c.Result = a.at
}

func destroyAH(c *cabi.Call) {
	a := addressHandles.get(c.Args[0])
	if a == nil {
		fail(c, unix.EINVAL, errNoAH)
		return
	}
	destroy(c, addressHandles, a, &a.ending, a.pd.context, a.engine.Destroy)
}

// answerTo is the address of a datagram's sender, from its completion and the 40 bytes before its payload: a global
// route header, or an IPv4 header in the last 20 of them (InfiniBand Architecture Specification, annex A17.4.5.2).
func (ctx *openContext) answerTo(wc *ibv.WC, grh []byte, port uint8) (attr ibv.AHAttr, ok bool) {
	attr = ibv.AHAttr{DLID: wc.SLID, SL: wc.SL, SrcPathBits: wc.DLIDPathBits, PortNum: port}
	if wc.WCFlags&ibv.WC_GRH == 0 {
		return attr, true
	}
	var sender, self ibv.GID
	if grh[0]>>4 == 6 {
		copy(sender[:], grh[8:24])
		copy(self[:], grh[24:40])
		attr.GRH.FlowLabel = uint32(grh[1]&0xf)<<16 | uint32(grh[2])<<8 | uint32(grh[3])
		attr.GRH.TrafficClass = grh[0]<<4 | grh[1]>>4
	} else {
		sender[10], sender[11], self[10], self[11] = 0xff, 0xff, 0xff, 0xff
		copy(sender[12:], grh[32:36])
		copy(self[12:], grh[36:40])
		attr.GRH.TrafficClass = grh[21]
	}
	attr.IsGlobal = 1
	attr.GRH.DGID, attr.GRH.HopLimit = sender, 0xff
	attr.GRH.SGIDIndex, ok = ctx.sgidIndex(self)
	return attr, ok
}

// initAHFromWC is ibv_init_ah_from_wc: context, port, completion, GRH, attributes.
func initAHFromWC(c *cabi.Call) {
	ctx := contextAt(c.Args[0])
	if ctx == nil {
		fail(c, unix.EINVAL, errNoContext)
		return
	}
	wc := *at[ibv.WC](c.Args[2])
	attr, ok := ctx.answerTo(&wc, grhAt(&wc, c.Args[3]), uint8(c.Args[1]))
	if !ok {
		fail(c, unix.EINVAL, errNoPort)
		return
	}
	*at[ibv.AHAttr](c.Args[4]) = attr
}

// grhAt is the bytes before a datagram's payload, if the completion says that there are.
func grhAt(wc *ibv.WC, address uintptr) []byte {
	if wc.WCFlags&ibv.WC_GRH == 0 {
		return nil
	}
	return bytesAt(address, sizeOf[ibv.GRH]())
}

// createAHFromWC is ibv_create_ah_from_wc: domain, completion, GRH, port.
func createAHFromWC(c *cabi.Call) {
	p := protectionDomains.get(c.Args[0])
	if p == nil {
		fail(c, unix.EINVAL, errNoPD)
		return
	}
	wc := *at[ibv.WC](c.Args[1])
	attr, ok := p.context.answerTo(&wc, grhAt(&wc, c.Args[2]), uint8(c.Args[3]))
	if !ok {
		fail(c, unix.EINVAL, errNoPort)
		return
	}
	newAH(c, &attr)
}

// attachMcast and detachMcast are ibv_attach_mcast and ibv_detach_mcast: queue pair, group, LID.
func attachMcast(c *cabi.Call) { groupVerb(c, (*engine.QP).AttachMcast) }

func detachMcast(c *cabi.Call) { groupVerb(c, (*engine.QP).DetachMcast) }

func groupVerb(c *cabi.Call, do func(*engine.QP, ibv.GID) error) {
	q := queuePairs.get(c.Args[0])
	if q == nil {
		fail(c, unix.EINVAL, errNoQP)
		return
	}
	if err := do(q.engine, *at[ibv.GID](c.Args[1])); err != nil {
		fail(c, unix.EINVAL, err)
	}
}
