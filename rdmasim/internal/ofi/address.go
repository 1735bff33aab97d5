package ofi

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// maxName is the length of the longest endpoint name that is believed, in bytes. Socket addresses have at
// most 28, and the adapters' own formats 64.
const maxName = 128

// DefaultProvider is what an empty provider means. The library puts ofi_rxm, its layer of atomics and
// unconnected endpoints, on top of it.
const DefaultProvider = "tcp"

// Address says how to reach a target. Together with a [Remote] it has to be given to peers, in secret.
type Address struct {
	Provider string // as the library names it: "tcp;ofi_rxm"
	Name     []byte // of the endpoint, in the provider's format
	Pulse    Remote // a word that can always be read
}

// Access is what peers may do with a region. libfabric knows reading and writing only: who may do both, and
// nobody else, can run atomics.
type Access uint32

// The rights of a region.
const (
	AccessRead Access = 1 << iota
	AccessWrite
)

// Remote is a region as a peer has to know it.
type Remote struct {
	Base   uint64 // of the region's first byte, in operations: 0, or its address in the target's process
	Length uint64 // bytes
	Key    uint64
}

// check holds an address that another process gave against what one can be.
func (a Address) check() error {
	if len(a.Name) == 0 || len(a.Name) > maxName || a.Provider == "" || strings.ContainsRune(a.Provider, 0) {
		return fmt.Errorf("%w: address %q %x", ErrInvalid, a.Provider, a.Name)
	}
	return nil
}

// source returns the address of this host's interface from which the target is reached, "" where the name
// isn't an internet address. The initiator's endpoint listens, too, and should do so nowhere else.
func (a Address) source() (string, error) {
	target, ok := a.Internet()
	if !ok {
		return "", nil
	}
	c, err := net.Dial("udp", target.String()) // sends nothing
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().String(), nil
}

// Internet returns the address and port of a target whose provider uses them.
func (a Address) Internet() (netip.AddrPort, bool) {
	if len(a.Name) < 4 {
		return netip.AddrPort{}, false
	}
	port := binary.BigEndian.Uint16(a.Name[2:])
	switch family := binary.NativeEndian.Uint16(a.Name); {
	case family == syscall.AF_INET && len(a.Name) >= syscall.SizeofSockaddrInet4:
		ip, _ := netip.AddrFromSlice(a.Name[4:8])
		return netip.AddrPortFrom(ip, port), true
	case family == syscall.AF_INET6 && len(a.Name) >= syscall.SizeofSockaddrInet6:
		ip, _ := netip.AddrFromSlice(a.Name[8:24])
		if scope := binary.NativeEndian.Uint32(a.Name[24:]); scope != 0 {
			ip = ip.WithZone(fmt.Sprint(scope))
		}
		return netip.AddrPortFrom(ip, port), true
	}
	return netip.AddrPort{}, false
}
