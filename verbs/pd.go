package verbs

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

var (
	errNoPD   = errors.New("no such protection domain")
	errEnding = errors.New("another thread destroys it")
)

// protectionDomain is an ibv_pd.
type protectionDomain struct {
	at      uintptr
	context *openContext
	engine  *engine.PD
	ending  atomic.Bool
}

var protectionDomains = newSlots[protectionDomain, ibv.PD](1 << 16)

func allocPD(c *cabi.Call) {
	ctx := contextAt(c.Args[0])
	if ctx == nil {
		fail(c, unix.EINVAL, errNoContext)
		return
	}
	p, err := newPD(c, ctx)
	if err != nil {
		fail(c, unix.ENOMEM, err)
		return
	}
	c.Result = p.at
}

// newPD makes a protection domain, for a call of the application or nil.
func newPD(c *cabi.Call, ctx *openContext) (*protectionDomain, error) {
	e, err := ctx.engine.AllocPD()
	if err != nil {
		return nil, err
	}
	p := &protectionDomain{context: ctx, engine: e}
	_, err = protectionDomains.insert(p, func(address uintptr) {
		p.at = address
		*at[ibv.PD](address) = ibv.PD{Context: ctx.at, Handle: protectionDomains.handle(address)}
	})
	if err != nil {
		_ = e.Dealloc()
		return nil, err
	}
	ctx.made(c, "ibv_pd", p.at)
	return p, nil
}

func deallocPD(c *cabi.Call) {
	p := protectionDomains.get(c.Args[0])
	if p == nil {
		fail(c, unix.EINVAL, errNoPD)
		return
	}
	destroy(c, protectionDomains, p, &p.ending, p.context, p.engine.Dealloc)
}

// destroy ends the object of the call's first argument, with the engine's part of it. When that refuses, as a rule
// because something uses it (EBUSY), the object stays as it is. Of several threads that destroy an object one does. The
// object is found until then, as its end may wait for events that other threads acknowledge.
func destroy[T any](c *cabi.Call, table *slots[T], v *T, ending *atomic.Bool, ctx *openContext, end func() error) {
	if !ending.CompareAndSwap(false, true) {
		fail(c, unix.EINVAL, errEnding)
		return
	}
	if err := end(); err != nil {
		ending.Store(false)
		fail(c, unix.EBUSY, err)
		return
	}
	if table.remove(c.Args[0]) == v {
		ctx.ended(c.Args[0])
	}
}
