package udp

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/verbs/internal/packet"
)

// Source is the address of this host from which a remote one is reached. Error: the operating system's, as ENETUNREACH.
func Source(remote netip.Addr) (netip.Addr, error) {
	domain := unix.AF_INET
	if remote.Is6() {
		domain = unix.AF_INET6
	}
	f, err := fd.Fresh(unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))
	if err != nil {
		return netip.Addr{}, err
	}
	defer f.Close()
	if err := unix.Connect(f.Int(), address(netip.AddrPortFrom(remote, packet.Port))); err != nil {
		return netip.Addr{}, err
	}
	name, err := unix.Getsockname(f.Int())
	if err != nil {
		return netip.Addr{}, err
	}
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(a.Addr), nil
	case *unix.SockaddrInet6:
		return netip.AddrFrom16(a.Addr), nil
	}
	return netip.Addr{}, unix.EAFNOSUPPORT
}
