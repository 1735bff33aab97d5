package verbs

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
)

// Sizes of socket addresses, bytes.
const (
	inetSize    = 16 // struct sockaddr_in
	inet6Size   = 28 // struct sockaddr_in6
	storageSize = 128
)

// socketAddress reads a struct sockaddr of C; none at 0. Error: EAFNOSUPPORT.
func socketAddress(from uintptr) (netip.AddrPort, error) {
	if from == 0 {
		return netip.AddrPort{}, nil
	}
	port := func() uint16 { return binary.BigEndian.Uint16(bytesAt(from+2, 2)) }
	switch *at[uint16](from) {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(bytesAt(from+4, 4))), port()), nil
	case unix.AF_INET6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(bytesAt(from+8, 16))).Unmap(), port()), nil
	}
	return netip.AddrPort{}, unix.EAFNOSUPPORT
}

// putSocketAddress writes a struct sockaddr_storage, and returns how much of it counts. An invalid address is all of
// IPv4.
func putSocketAddress(to []byte, a netip.AddrPort) int {
	clear(to)
	binary.BigEndian.PutUint16(to[2:], a.Port())
	if a.Addr().Is6() {
		binary.NativeEndian.PutUint16(to, unix.AF_INET6)
		six := a.Addr().As16()
		copy(to[8:], six[:])
		return inet6Size
	}
	binary.NativeEndian.PutUint16(to, unix.AF_INET)
	if a.Addr().Is4() {
		four := a.Addr().As4()
		copy(to[4:], four[:])
	}
	return inetSize
}

// putAddresses writes an identifier's addresses to where applications see them (rdma_get_local_addr).
func (id *identifier) putAddresses() {
	c := at[ibv.CMID](id.at)
	a := &c.Route.Addr
	local, remote := id.engine.Local(), id.engine.Remote()
	putSocketAddress(bytesAt(address(&a.SrcAddr), storageSize), local)
	if remote.Addr().IsValid() {
		putSocketAddress(bytesAt(address(&a.DstAddr), storageSize), remote)
		a.Addr.DGID = remote.Addr().As16()
	}
	if local.Addr().IsValid() {
		a.Addr.SGID, a.Addr.PKey = local.Addr().As16(), defaultPKey
	}
}
