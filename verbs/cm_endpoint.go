package verbs

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/bell"
)

// Flags of struct rdma_addrinfo, and what getaddrinfo(3) answers, which rdma_getaddrinfo passes on.
const (
	raiPassive     = 1
	raiNumericHost = 2
	raiFamily      = 8

	eaiNoName   = -2
	eaiService  = -8
	lookupLimit = 10 * time.Second
)

// addressInfo is an rdma_addrinfo.
type addressInfo struct{}

// infoRoom is its structure, with room for its two addresses behind it.
type infoRoom struct {
	info      ibv.Addrinfo
	addresses [2][storageSize]byte
}

var addressInfos = newSlots[addressInfo, infoRoom](1 << 16)

// getAddrinfo is rdma_getaddrinfo: node, service, hints, where the list goes. It finds one address.
func getAddrinfo(c *cabi.Call) {
	hints := ibv.Addrinfo{AIPortSpace: int32(ibv.RDMA_PS_TCP), AIQPType: int32(ibv.QPT_RC)}
	if c.Args[2] != 0 {
		hints = *at[ibv.Addrinfo](c.Args[2])
	}
	node, service := "", ""
	if c.Args[0] != 0 {
		node = text(c.Args[0], 1024)
	}
	if c.Args[1] != 0 {
		service = text(c.Args[1], 256)
	}
	source, destination := netip.AddrPort{}, netip.AddrPort{}
	if hints.AISrcLen != 0 {
		source, _ = socketAddress(hints.AISrcAddr)
	}
	if hints.AIDstLen != 0 {
		destination, _ = socketAddress(hints.AIDstAddr)
	}
	found, status := destination, 0 // without names the hints say all
	switch {
	case c.Args[0] != 0 || c.Args[1] != 0:
		found, status = lookUp(node, service, &hints)
	case hints.AIFlags&raiPassive != 0:
		found = source
	}
	if status == 0 && !found.IsValid() && !source.IsValid() {
		status = eaiNoName
	}
	if status != 0 {
		c.Result = uintptr(status)
		return
	}
	at, err := addressInfos.insert(&addressInfo{}, func(at uintptr) { putAddrinfo(at, &hints, found, source) })
	if err != nil {
		fail(c, unix.ENOMEM, err)
		return
	}
	*where(c.Args[3]) = at
}

func where(to uintptr) *uintptr { return at[uintptr](to) }

// lookUp finds the address of a node and service, or what getaddrinfo(3) answers where there is none.
func lookUp(node, service string, hints *ibv.Addrinfo) (found netip.AddrPort, status int) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupLimit)
	defer cancel()
	port := 0
	if service != "" {
		network := "tcp"
		if ibv.PortSpace(hints.AIPortSpace) == ibv.RDMA_PS_UDP {
			network = "udp"
		}
		var err error
		if port, err = net.DefaultResolver.LookupPort(ctx, network, service); err != nil {
			return found, eaiService
		}
	}
	want := func(a netip.Addr) bool {
		return hints.AIFlags&raiFamily == 0 || hints.AIFamily == 0 || a.Is4() == (hints.AIFamily == unix.AF_INET)
	}
	var list []netip.Addr
	switch a, err := netip.ParseAddr(node); {
	case node == "" && hints.AIFlags&raiPassive != 0:
		list = []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}
	case node == "":
		list = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	case err == nil:
		list = []netip.Addr{a.Unmap()}
	case hints.AIFlags&raiNumericHost != 0:
		return found, eaiNoName
	default:
		if list, err = net.DefaultResolver.LookupNetIP(ctx, "ip", node); err != nil {
			return found, eaiNoName
		}
	}
	for _, a := range list {
		if a = a.Unmap(); want(a) {
			return netip.AddrPortFrom(a, uint16(port)), 0
		}
	}
	return found, eaiNoName
}

// putAddrinfo fills the structure.
func putAddrinfo(to uintptr, hints *ibv.Addrinfo, found, source netip.AddrPort) {
	room := at[infoRoom](to)
	i := &room.info
	i.AIFlags, i.AIQPType, i.AIPortSpace = hints.AIFlags, hints.AIQPType, hints.AIPortSpace
	if i.AIPortSpace == 0 {
		i.AIPortSpace = int32(ibv.RDMA_PS_TCP)
		if i.AIQPType == int32(ibv.QPT_UD) {
			i.AIPortSpace = int32(ibv.RDMA_PS_UDP)
		}
	}
	if i.AIQPType == 0 {
		i.AIQPType = int32(ibv.QPT_RC)
		if i.AIPortSpace == int32(ibv.RDMA_PS_UDP) {
			i.AIQPType = int32(ibv.QPT_UD)
		}
	}
	i.AIFamily = unix.AF_INET
	if found.Addr().Is6() || !found.IsValid() && source.Addr().Is6() {
		i.AIFamily = unix.AF_INET6
	}
	put := func(n int, a netip.AddrPort, where *uintptr, length *uint32) {
		*where, *length = address(&room.addresses[n]), uint32(putSocketAddress(room.addresses[n][:], a))
	}
	if hints.AIFlags&raiPassive != 0 {
		put(0, found, &i.AISrcAddr, &i.AISrcLen)
		return
	}
	if found.IsValid() {
		put(0, found, &i.AIDstAddr, &i.AIDstLen)
	}
	if source.IsValid() {
		put(1, source, &i.AISrcAddr, &i.AISrcLen)
	}
}

func freeAddrinfo(c *cabi.Call) { addressInfos.remove(c.Args[0]) }

// createEP is rdma_create_ep: where the identifier goes, an rdma_addrinfo, a protection domain or none, and what queue
// pairs are made with or none.
func createEP(c *cabi.Call) {
	info := at[ibv.Addrinfo](c.Args[1])
	id, err := newID(0, 0, ibv.PortSpace(info.AIPortSpace))
	if err != nil {
		fail(c, unix.EINVAL, err)
		return
	}
	pd, attr := c.Args[2], c.Args[3]
	if info.AIFlags&raiPassive != 0 {
		err = id.passive(info, pd, attr)
	} else {
		err = id.active(info)
	}
	if err == nil && info.AIFlags&raiPassive == 0 && attr != 0 {
		a := at[ibv.QPInitAttr](attr)
		x := ibv.QPInitAttrEx{QPContext: a.QPContext, SendCQ: a.SendCQ, RecvCQ: a.RecvCQ, SRQ: a.SRQ, Cap: a.Cap,
			QPType: ibv.QPType(info.AIQPType), SQSigAll: a.SQSigAll, PD: pd}
		if !id.makeQP(c, &x) {
			id.drop()
			return
		}
		a.Cap = id.qp.engine.Cap()
	}
	if err != nil {
		id.drop()
		fail(c, unix.EINVAL, err)
		return
	}
	*where(c.Args[0]) = id.at
}

// passive makes an identifier one that can listen.
func (id *identifier) passive(info *ibv.Addrinfo, pd, attr uintptr) error {
	a, err := socketAddress(info.AISrcAddr)
	if err == nil {
		err = id.engine.Bind(a)
	}
	if err != nil {
		return err
	}
	id.bound(a.Addr())
	if pd != 0 {
		at[ibv.CMID](id.at).PD = pd
	}
	if attr != 0 {
		copied := *at[ibv.QPInitAttr](attr)
		copied.QPType = ibv.QPType(info.AIQPType)
		id.onNew, id.onNewPD = &copied, pd
	}
	return nil
}

// active resolves an identifier's way.
func (id *identifier) active(info *ibv.Addrinfo) error {
	source, err := socketAddress(info.AISrcAddr)
	destination, err2 := socketAddress(info.AIDstAddr)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	if !destination.IsValid() {
		return unix.EINVAL
	}
	if err := id.engine.ResolveAddress(source, destination); err != nil {
		return err
	}
	id.putAddresses()
	id.putDevice()
	if err := id.wait(bell.Waits); err != nil {
		return err
	}
	if err := id.engine.ResolveRoute(); err != nil {
		return err
	}
	return id.wait(bell.Waits)
}

// drop takes back an identifier that could not be made.
func (id *identifier) drop() {
	if e := at[ibv.CMID](id.at).Event; e != 0 {
		ackEvent(e)
	}
	id.end()
	identifiers.remove(id.at)
}

// destroyEP is rdma_destroy_ep.
func destroyEP(c *cabi.Call) {
	cmDestroyQP(c)
	if id := identifiers.get(c.Args[0]); id != nil && at[ibv.CMID](id.at).SRQ != 0 {
		cmDestroySRQ(c)
	}
	destroyID(c)
}

// cmCreateSRQ is rdma_create_srq: identifier, protection domain or none, attributes.
func cmCreateSRQ(c *cabi.Call) {
	id := idOf(c)
	if id == nil {
		return
	}
	seen := at[ibv.CMID](id.at)
	pd := c.Args[1]
	if pd == 0 {
		pd = seen.PD
	}
	if pd == 0 {
		pd = id.manager.domain.at
	}
	args := c.Args
	c.Args[0], c.Args[1] = pd, args[2]
	createSRQ(c)
	c.Args = args
	if c.Errno != 0 {
		return
	}
	seen.SRQ, seen.PD, c.Result = c.Result, pd, 0
}

// cmDestroySRQ is rdma_destroy_srq.
func cmDestroySRQ(c *cabi.Call) {
	if id := identifiers.get(c.Args[0]); id != nil {
		seen := at[ibv.CMID](id.at)
		call(c, destroySRQ, seen.SRQ)
		seen.SRQ = 0
	}
}
