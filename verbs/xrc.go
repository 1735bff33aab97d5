package verbs

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

var (
	errNoXRCD   = errors.New("no such domain of XRC")
	errNoTarget = errors.New("no such queue pair in the domain: processes don't share one here")
)

// xrcDomain is an ibv_xrcd.
type xrcDomain struct {
	at      uintptr
	context *openContext
	file    *xrcFile
	ending  atomic.Bool
}

var xrcDomains = newSlots[xrcDomain, ibv.XRCD](1 << 16)

// xrcFile is a domain that all of the process who open it by the same file have, or one without a file.
type xrcFile struct {
	engine *engine.XRCD
	key    fileKey
	opens  int

	targets []*engine.QP // that can be opened
}

// fileKey is a file on a device; its zero is none.
type fileKey struct {
	device  *device
	dev, id uint64
}

// xrcFiles are the domains that have a file. Its lock is that of all fields that change of files and shared targets.
var xrcFiles struct {
	sync.Mutex
	list map[fileKey]*xrcFile
}

// openXRCD is open_xrcd of struct verbs_context: context, attributes. EAGAIN says that the file has no domain and none
// was to be made, as the kernel does.
func openXRCD(c *cabi.Call) {
	ctx := contextAt(c.Args[0])
	if ctx == nil {
		fail(c, unix.EINVAL, errNoContext)
		return
	}
	a := *at[ibv.XRCDInitAttr](c.Args[1])
	if a.CompMask != uint32(ibv.XRCD_INIT_ATTR_FD|ibv.XRCD_INIT_ATTR_OFLAGS) {
		fail(c, unix.EINVAL, fmt.Errorf("comp_mask %#x: %w", a.CompMask, errUnknownBits))
		return
	}
	f, err := fileOf(ctx, int(a.FD), int(a.OFlags))
	if err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	x := &xrcDomain{context: ctx, file: f}
	_, err = xrcDomains.insert(x, func(address uintptr) {
		x.at = address
		*at[ibv.XRCD](address) = ibv.XRCD{Context: ctx.at}
	})
	if err != nil {
		_ = f.close()
		fail(c, unix.ENOMEM, err)
		return
	}
	ctx.made(c, "ibv_xrcd", x.at)
	c.Result = x.at
}

// fileOf is the domain of a file, which is opened once more, or a new one for fd -1. Errors: EBADF, EAGAIN, EINVAL.
func fileOf(ctx *openContext, fd, flags int) (*xrcFile, error) {
	if fd == -1 {
		return &xrcFile{engine: ctx.engine.Device.NewXRCD(), opens: 1}, nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	key := fileKey{ctx.device, uint64(st.Dev), st.Ino}
	xrcFiles.Lock()
	defer xrcFiles.Unlock()
	f := xrcFiles.list[key]
	switch {
	case f == nil && flags&unix.O_CREAT == 0:
		return nil, unix.EAGAIN
	case f != nil && flags&unix.O_EXCL != 0:
		return nil, fmt.Errorf("the file has a domain: %w", unix.EINVAL)
	case f != nil:
		f.opens++
		return f, nil
	}
	f = &xrcFile{engine: ctx.engine.Device.NewXRCD(), key: key, opens: 1}
	if xrcFiles.list == nil {
		xrcFiles.list = map[fileKey]*xrcFile{}
	}
	xrcFiles.list[key] = f
	return f, nil
}

// close ends one opening. Error: EBUSY for the last one of a domain that is in use.
func (f *xrcFile) close() error {
	xrcFiles.Lock()
	defer xrcFiles.Unlock()
	if f.opens == 1 {
		if err := f.engine.Close(); err != nil {
			return err
		}
		if f.key != (fileKey{}) {
			delete(xrcFiles.list, f.key)
		}
	}
	f.opens--
	return nil
}

// closeXRCD is close_xrcd of struct verbs_context.
func closeXRCD(c *cabi.Call) {
	x := xrcDomains.get(c.Args[0])
	if x == nil {
		fail(c, unix.EINVAL, errNoXRCD)
		return
	}
	destroy(c, xrcDomains, x, &x.ending, x.context, x.file.close)
}

// newTarget makes a queue pair of IBV_QPT_XRC_RECV, nil after an error.
func newTarget(c *cabi.Call, a *ibv.QPInitAttrEx, mask ibv.QPInitAttrMask) *queuePair {
	ctx, x := contextAt(c.Args[0]), xrcDomains.get(a.XRCD)
	if ctx == nil || mask&ibv.QP_INIT_ATTR_XRCD == 0 || x == nil || x.context != ctx {
		fail(c, unix.EINVAL, errNoXRCD)
		return nil
	}
	e, err := ctx.engine.CreateTarget(x.file.engine)
	if err != nil {
		fail(c, unix.EINVAL, err)
		return nil
	}
	q := &queuePair{context: ctx, engine: e, file: x.file}
	q.sharers = &[]*queuePair{q}
	if q = addQP(c, q, &ibv.QP{QPContext: a.QPContext}); q != nil {
		xrcFiles.Lock()
		defer xrcFiles.Unlock()
		x.file.targets = append(x.file.targets, e)
	}
	return q
}

// openQP is open_qp of struct verbs_context: context, attributes. It gives another structure for a queue pair of
// IBV_QPT_XRC_RECV, which lives until all of them are destroyed.
func openQP(c *cabi.Call) {
	const needed = ibv.QP_OPEN_ATTR_NUM | ibv.QP_OPEN_ATTR_XRCD | ibv.QP_OPEN_ATTR_TYPE
	ctx := contextAt(c.Args[0])
	a := *at[ibv.QPOpenAttr](c.Args[1])
	mask := ibv.QPOpenAttrMask(a.CompMask)
	x := xrcDomains.get(a.XRCD)
	if ctx == nil || mask&^ibv.QP_OPEN_ATTR_CONTEXT != needed || x == nil || x.context != ctx ||
		a.QPType != ibv.QPT_XRC_RECV {
		fail(c, unix.EINVAL, errNoXRCD)
		return
	}
	user := uintptr(0)
	if mask&ibv.QP_OPEN_ATTR_CONTEXT != 0 {
		user = a.QPContext
	}
	xrcFiles.Lock()
	defer xrcFiles.Unlock()
	i := slices.IndexFunc(x.file.targets, func(q *engine.QP) bool { return q.Number() == a.QPNum })
	if i < 0 {
		fail(c, unix.EINVAL, errNoTarget)
		return
	}
	e := x.file.targets[i]
	q := &queuePair{context: ctx, engine: e, file: x.file, sharers: e.User.(*queuePair).sharers}
	if _, err := queuePairs.insert(q, func(address uintptr) { q.fill(address, &ibv.QP{QPContext: user}) }); err != nil {
		fail(c, unix.ENOMEM, err)
		return
	}
	*q.sharers = append(*q.sharers, q)
	ctx.made(c, "ibv_qp", q.at)
	c.Result = q.at
}

// end ends a queue pair, or one of the openings of a shared one.
func (q *queuePair) end() error {
	if q.file != nil && !q.last() {
		return nil
	}
	err := q.engine.Destroy() // without the lock: it may wait for an event that another thread is about to get
	if err != nil && q.file != nil {
		xrcFiles.Lock()
		defer xrcFiles.Unlock()
		q.file.targets = append(q.file.targets, q.engine)
	}
	return err
}

// last takes an opening of a shared queue pair away, and says whether it is the last one: that one stays, and nobody
// opens the queue pair any more.
func (q *queuePair) last() bool {
	xrcFiles.Lock()
	defer xrcFiles.Unlock()
	if len(*q.sharers) > 1 {
		*q.sharers = slices.DeleteFunc(*q.sharers, func(o *queuePair) bool { return o == q })
		return false
	}
	q.file.targets = slices.DeleteFunc(q.file.targets, func(e *engine.QP) bool { return e == q.engine })
	return true
}

// told is the structure that events of a queue pair name: of a shared one, one that lives.
func (q *queuePair) told() uintptr {
	if q.file == nil {
		return q.at
	}
	xrcFiles.Lock()
	defer xrcFiles.Unlock()
	return (*q.sharers)[0].at
}
