package verbs

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/fd"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

var (
	errNoContext   = errors.New("no such context")
	errNoPort      = errors.New("no such port, P_Key or GID")
	errUnknownBits = errors.New("bits that this version doesn't know")
	errFewEntries  = errors.New("there are more GIDs than entries")
)

// openContext is an ibv_context, which lies at the end of a verbs_context.
type openContext struct {
	at      uintptr // the ibv_context
	device  *device
	engine  *engine.Context
	command *fd.FD       // cmd_fd: programs duplicate it and look at its flags; no command goes through it
	objects atomic.Int64 // that were made from it and live
	origins origins      // of these, and of itself
}

var contexts = newSlots[openContext, ibv.VerbsContext](1 << 12)

// contextAt is the context at the address of an ibv_context, or nil.
func contextAt(address uintptr) *openContext { return contexts.get(address - contextOffset) }

func openDevice(c *cabi.Call) {
	d := devices.get(c.Args[0])
	if d == nil {
		fail(c, unix.EINVAL, errNoDevice)
		return
	}
	ctx, err := newContext(d)
	if err != nil {
		fail(c, unix.ENODEV, err)
		return
	}
	ctx.origins.opened = originOf(c)
	c.Result = ctx.at
}

// newContext opens a device.
func newContext(d *device) (*openContext, error) {
	e, err := d.start()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, unix.ENODEV)
	}
	ctx := &openContext{device: d}
	if ctx.engine, err = e.Open(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, unix.ENOMEM)
	}
	ctx.command, err = fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC))
	if err == nil {
		_, err = contexts.insert(ctx, func(address uintptr) {
			ctx.at = address + contextOffset
			fillContext(at[ibv.VerbsContext](address), ctx, e.Vectors())
		})
	}
	if err != nil {
		_ = ctx.close()
		return nil, fmt.Errorf("%w: %w", err, unix.ENOMEM)
	}
	return ctx, nil
}

// close gives back what the context itself has.
func (ctx *openContext) close() error { return errors.Join(ctx.command.Close(), ctx.engine.Close()) }

// fillContext sets what inline functions go through. A member that stays null is an operation that there is not: they
// answer EOPNOTSUPP then.
func fillContext(v *ibv.VerbsContext, ctx *openContext, vectors int) {
	entry := entered.addresses
	v.Sz = uint64(sizeOf[ibv.VerbsContext]())
	v.QueryPort = entry["query_port"]
	v.QueryDeviceEx = entry["query_device_ex"]
	v.QueryRTValues = entry["query_rt_values"]
	v.CreateCQEx = entry["create_cq_ex"]
	v.CreateQPEx = entry["create_qp_ex"]
	v.CreateSRQEx = entry["create_srq_ex"]
	v.OpenXRCD, v.CloseXRCD = entry["open_xrcd"], entry["close_xrcd"]
	v.OpenQP, v.GetSRQNum = entry["open_qp"], entry["get_srq_num"]
	i := &v.Context
	i.ABICompat = ibv.ABIExtended
	i.Device, i.CMDFD = ctx.device.at, int32(ctx.command.Int())
	i.AsyncFD, i.NumCompVectors = int32(ctx.engine.FD()), int32(vectors)
	i.Ops = ibv.ContextOps{
		AllocMW: entry["alloc_mw"], BindMW: entry["bind_mw"], DeallocMW: entry["dealloc_mw"], PollCQ: entry["poll_cq"],
		ReqNotifyCQ: entry["req_notify_cq"], PostSRQRecv: entry["post_srq_recv"], PostSend: entry["post_send"],
		PostRecv: entry["post_recv"],
	}
}

// closeDevice is ibv_close_device. What was made from the context should have been destroyed before; the rest stays, as
// rdma-core leaves the memory of such objects.
func closeDevice(c *cabi.Call) {
	ctx := contextAt(c.Args[0])
	if ctx == nil || contexts.remove(c.Args[0]-contextOffset) != ctx {
		fail(c, unix.EINVAL, errNoContext)
		return
	}
	if n := ctx.objects.Load(); n > 0 {
		logger.Warn("a context was closed before what was made from it", "function", c.Name(), "objects", n)
		ctx.tellLeft()
		return
	}
	if err := ctx.close(); err != nil {
		fail(c, unix.EBADF, err)
	}
}

// queryPort is query_port of struct verbs_context: context, port, attributes, their size.
func queryPort(c *cabi.Call) {
	ctx := contextAt(c.Args[0])
	if ctx == nil {
		fail(c, unix.EINVAL, errNoContext)
		return
	}
	attr, err := ctx.engine.Device.PortAttr(uint8(c.Args[1]))
	if err != nil {
		fail(c, unix.EINVAL, errNoPort)
		return
	}
	copyOut(c.Args[2], c.Args[3], &attr)
}

// queryPortCompat is ibv_query_port itself, which the macro of that name calls with attributes that end before
// port_cap_flags2 (verbs.h).
func queryPortCompat(c *cabi.Call) {
	c.Args[3] = portAttrThen
	queryPort(c)
}

func queryDevice(c *cabi.Call) {
	ctx := contextAt(c.Args[0])
	if ctx == nil {
		fail(c, unix.EINVAL, errNoContext)
		return
	}
	*at[ibv.DeviceAttr](c.Args[1]) = ctx.attr()
}

// attr is what the device can do, with the limits of the tables here.
func (ctx *openContext) attr() ibv.DeviceAttr {
	a := ctx.engine.Device.Attr()
	// The network carries nothing to multicast groups (network.Join).
	a.MaxMcastGrp, a.MaxMcastQPAttach, a.MaxTotalMcastQPAttach = 0, 0, 0
	a.MaxMR, a.MaxMW = min(a.MaxMR, int32(memoryRegions.limit)), min(a.MaxMW, int32(memoryWindows.limit))
	return a
}

// clockKHz is the frequency of the clock of completions, which counts nanoseconds.
const clockKHz = 1000 * 1000

// queryDeviceEx is query_device_ex of struct verbs_context: context, input, attributes, their size.
func queryDeviceEx(c *cabi.Call) {
	ctx := contextAt(c.Args[0])
	if ctx == nil {
		fail(c, unix.EINVAL, errNoContext)
		return
	}
	if c.Args[1] != 0 && at[ibv.QueryDeviceExInput](c.Args[1]).CompMask != 0 {
		fail(c, unix.EINVAL, fmt.Errorf("comp_mask of the input: %w", errUnknownBits))
		return
	}
	a := ibv.DeviceAttrEx{OrigAttr: ctx.attr(), CompletionTimestampMask: ^uint64(0), HCACoreClock: clockKHz,
		PhysPortCntEx: 1}
	a.DeviceCapFlagsEx = uint64(a.OrigAttr.DeviceCapFlags)
	copyOut(c.Args[2], c.Args[3], &a)
}

// queryRTValues is query_rt_values of struct verbs_context: context, values.
func queryRTValues(c *cabi.Call) {
	ctx := contextAt(c.Args[0])
	if ctx == nil {
		fail(c, unix.EINVAL, errNoContext)
		return
	}
	v := at[ibv.ValuesEx](c.Args[1])
	asked := v.CompMask
	v.CompMask = 0
	if asked&uint32(ibv.VALUES_MASK_RAW_CLOCK) != 0 {
		const second = 1e9
		now := ctx.engine.Device.Clock()
		v.CompMask = uint32(ibv.VALUES_MASK_RAW_CLOCK)
		v.RawClock = [2]int64{int64(now / second), int64(now % second)}
	}
}

const defaultPKey = 0xffff // the default partition, as a full member; it reads the same in both orders

func queryPKey(c *cabi.Call) {
	if contextAt(c.Args[0]) == nil || uint8(c.Args[1]) != 1 || c.Int(2) != 0 {
		fail(c, unix.EINVAL, errNoPort)
		return
	}
	*at[uint16](c.Args[3]) = defaultPKey
}

// getPKeyIndex is ibv_get_pkey_index: context, port, P_Key in the order of the wire.
func getPKeyIndex(c *cabi.Call) {
	if contextAt(c.Args[0]) == nil || uint8(c.Args[1]) != 1 || uint16(c.Args[2]) != defaultPKey {
		fail(c, unix.EINVAL, errNoPort)
		return
	}
	c.Result = 0
}

// queryGID is ibv_query_gid: context, port, index, GID. An empty entry is a GID of zeros.
func queryGID(c *cabi.Call) {
	ctx, index := contextAt(c.Args[0]), int(c.Int(2))
	if ctx == nil || uint8(c.Args[1]) != 1 || index < 0 || index >= ctx.engine.Device.GIDs() {
		fail(c, unix.EINVAL, errNoPort)
		return
	}
	*at[ibv.GID](c.Args[3]), _ = ctx.engine.Device.GID(index)
}

// queryGIDType is ibv_query_gid_type: context, port, index, and 0 for InfiniBand and RoCE v1, 1 for RoCE v2.
func queryGIDType(c *cabi.Call) {
	ctx, index := contextAt(c.Args[0]), int(c.Int(2))
	if ctx == nil || uint8(c.Args[1]) != 1 || index < 0 || index >= ctx.engine.Device.GIDs() {
		fail(c, unix.EINVAL, errNoPort)
		return
	}
	*at[uint32](c.Args[3]) = 0
	if _, ok := ctx.engine.Device.GID(index); ok {
		*at[uint32](c.Args[3]) = 1
	}
}

// gidEntry is an entry of the table, false for an empty one.
func (ctx *openContext) gidEntry(index int) (ibv.GIDEntry, bool) {
	gid, ok := ctx.engine.Device.GID(index)
	if !ok {
		return ibv.GIDEntry{}, false
	}
	return ibv.GIDEntry{GID: gid, GIDIndex: uint32(index), PortNum: 1, GIDType: uint32(ibv.GID_TYPE_ROCE_V2),
		NDevIfIndex: interfaceOf(engine.AddressOf(gid))}, true
}

// interfaceOf is the index of the interface that has an address, 0 if none has it any more.
func interfaceOf(a netip.Addr) uint32 {
	interfaces, err := net.Interfaces()
	if err != nil {
		return 0
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		for _, has := range addresses {
			if p, err := netip.ParsePrefix(has.String()); err == nil && p.Addr().Unmap() == a {
				return uint32(i.Index)
			}
		}
	}
	return 0
}

// queryGIDEx is _ibv_query_gid_ex: context, port, index, entry, flags, size of the entry. An empty entry is ENODATA.
func queryGIDEx(c *cabi.Call) {
	ctx, index := contextAt(c.Args[0]), uint32(c.Args[2])
	size := sizeOf[ibv.GIDEntry]()
	if ctx == nil || uint32(c.Args[1]) != 1 || index >= uint32(ctx.engine.Device.GIDs()) || uint32(c.Args[4]) != 0 ||
		c.Args[5] < size {
		fail(c, unix.EINVAL, errNoPort)
		return
	}
	e, ok := ctx.gidEntry(int(index))
	if !ok {
		c.Fail(unix.ENODATA)
		return
	}
	copyOut(c.Args[3], c.Args[5], &e)
}

// queryGIDTable is _ibv_query_gid_table: context, entries, their number, flags, size of an entry. It returns how many
// entries it has filled. Error: EINVAL, also for fewer entries than there are GIDs, as the kernel has it.
func queryGIDTable(c *cabi.Call) {
	ctx, each := contextAt(c.Args[0]), c.Args[4]
	if ctx == nil || uint32(c.Args[3]) != 0 || each < sizeOf[ibv.GIDEntry]() || each > unix.PathMax {
		fail(c, unix.EINVAL, errNoPort)
		return
	}
	n := uintptr(0)
	for i := range ctx.engine.Device.GIDs() {
		e, ok := ctx.gidEntry(i)
		if !ok {
			continue
		}
		if n == c.Args[2] {
			fail(c, unix.EINVAL, errFewEntries)
			return
		}
		copyOut(c.Args[1]+n*each, each, &e)
		n++
	}
	c.Result = n
}

// sgidIndex finds a GID in the table.
func (ctx *openContext) sgidIndex(gid ibv.GID) (uint8, bool) {
	for i := range min(ctx.engine.Device.GIDs(), 256) {
		if have, ok := ctx.engine.Device.GID(i); ok && have == gid {
			return uint8(i), true
		}
	}
	return 0, false
}
