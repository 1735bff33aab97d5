package udp

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// message is one of sendmmsg(2) and recvmmsg(2): struct mmsghdr.
type message struct {
	unix.Msghdr
	n uint32 // bytes
	_ uint32
}

// sendMessages sends several datagrams, of which there is one at least, and returns how many: an error is the first
// one's.
func sendMessages(raw int, list []message) (int, error) {
	return messages(unix.SYS_SENDMMSG, raw, list, unix.MSG_NOSIGNAL)
}

// receiveMessages takes as many datagrams as there are, without waiting.
func receiveMessages(raw int, list []message) (int, error) {
	return messages(unix.SYS_RECVMMSG, raw, list, unix.MSG_DONTWAIT)
}

func messages(call uintptr, raw int, list []message, flags uintptr) (int, error) {
	n, _, errno := unix.Syscall6(call, uintptr(raw), uintptr(unsafe.Pointer(unsafe.SliceData(list))), uintptr(len(list)),
		flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// name is a socket's address, as the kernel has it.
type name struct {
	inet6 unix.RawSockaddrInet6 // or an RawSockaddrInet4, which is shorter
	n     uint32
}

func rawName(a netip.AddrPort) *name {
	m := &name{n: unix.SizeofSockaddrInet6}
	port := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, a.Port()))
	if a.Addr().Is4() {
		m.n = unix.SizeofSockaddrInet4
		*(*unix.RawSockaddrInet4)(unsafe.Pointer(&m.inet6)) = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: port,
			Addr: a.Addr().As4()}
		return m
	}
	m.inet6 = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: port, Addr: a.Addr().As16(), Scope_id: zone(a.Addr())}
	return m
}

// address is the host's, without a zone; the zero Addr for another family than IPv4 and IPv6.
func (m *name) address() netip.Addr {
	switch m.inet6.Family {
	case unix.AF_INET:
		return netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(&m.inet6)).Addr)
	case unix.AF_INET6:
		return netip.AddrFrom16(m.inet6.Addr)
	}
	return netip.Addr{}
}

// to makes a message one to an address, with a payload or the room for one, and room for what the IP header has.
func (m *message) to(at *name, payload *unix.Iovec, control []byte) {
	m.Name, m.Namelen = (*byte)(unsafe.Pointer(&at.inet6)), at.n
	m.Iov = payload
	m.SetIovlen(1)
	m.Control = unsafe.SliceData(control)
	m.SetControllen(len(control))
}
