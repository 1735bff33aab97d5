package verbs

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

var errNoMW = errors.New("no such memory window")

// memoryWindow is an ibv_mw.
type memoryWindow struct {
	at     uintptr
	pd     *protectionDomain
	engine *engine.MW
	ending atomic.Bool
}

var memoryWindows = newSlots[memoryWindow, ibv.MW](1 << 20)

// allocMW is alloc_mw of struct ibv_context_ops: domain, type.
func allocMW(c *cabi.Call) {
	p := protectionDomains.get(c.Args[0])
	if p == nil {
		fail(c, unix.EINVAL, errNoPD)
		return
	}
	kind := ibv.MWType(c.Args[1])
	e, err := p.engine.AllocMW(kind)
	if err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	w := &memoryWindow{pd: p, engine: e}
	_, err = memoryWindows.insert(w, func(address uintptr) {
		w.at = address
		*at[ibv.MW](address) = ibv.MW{Context: p.context.at, PD: p.at, RKey: e.Key(),
			Handle: memoryWindows.handle(address), Type: kind}
	})
	if err != nil {
		_ = e.Dealloc()
		fail(c, unix.ENOMEM, err)
		return
	}
	p.context.made(c, "ibv_mw", w.at)
	c.Result = w.at
}

// bindMW is bind_mw of struct ibv_context_ops: queue pair, window, struct ibv_mw_bind.
func bindMW(c *cabi.Call) {
	q, w := queuePairs.get(c.Args[0]), memoryWindows.get(c.Args[1])
	if q == nil || w == nil {
		fail(c, unix.EINVAL, errNoMW)
		return
	}
	b := *at[ibv.MWBind](c.Args[2])
	var r engine.SendWR
	if err := bindOf(&r, c.Args[1], 0, &b.BindInfo); err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	key, err := q.engine.BindMW(w.engine, b.WRID, b.SendFlags, &r.Bind)
	if err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	at[ibv.MW](w.at).RKey = key
}

// deallocMW is dealloc_mw of struct ibv_context_ops.
func deallocMW(c *cabi.Call) {
	w := memoryWindows.get(c.Args[0])
	if w == nil {
		fail(c, unix.EINVAL, errNoMW)
		return
	}
	destroy(c, memoryWindows, w, &w.ending, w.pd.context, w.engine.Dealloc)
}
