package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/unlike"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

// MTU is the most bytes of payload in a packet: that of IBV_MTU_4096.
const MTU = 4096

// sendBuffer is what a socket may hold that has not left, bytes.
const sendBuffer = 4 << 20

// sender is a socket for one local address.
type sender struct {
	local netip.Addr
	port  uint16
	file  *fd.FD

	mu      sync.Mutex
	waiting map[*Path]struct{} // that have had no room
}

func newSender(local netip.Addr) (*sender, error) {
	domain, level, option := unix.AF_INET, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER
	if local.Is6() {
		domain, level, option = unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
	}
	f, err := fd.Fresh(unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
	if err != nil {
		return nil, fmt.Errorf("udp: socket: %w", err)
	}
	s := &sender{local: local, file: f, waiting: map[*Path]struct{}{}}
	err = unix.SetsockoptInt(f.Int(), level, option, unix.IP_PMTUDISC_DO)
	_ = unix.SetsockoptInt(f.Int(), unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer) // as much as the limit allows
	if err == nil {
		err = bindDynamic(f.Int(), local)
	}
	var name unix.Sockaddr
	if err == nil {
		name, err = unix.Getsockname(f.Int())
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("udp: a socket at %v: %w", local, err)
	}
	switch a := name.(type) {
	case *unix.SockaddrInet4:
		s.port = uint16(a.Port)
	case *unix.SockaddrInet6:
		s.port = uint16(a.Port)
	}
	return s, nil
}

// dynamic is the first of the ports that adapters send from (RoCEv2, annex 17 of the InfiniBand specification). Those
// that the kernel would choose begin earlier, and have some that mean something to who looks at packets.
const dynamic = 0xc000

// bindDynamic binds a socket to a dynamic port, or to any where many of these are taken.
func bindDynamic(raw int, local netip.Addr) (err error) {
	for range 20 {
		port := dynamic + uint16(unlike.Uint32N(1<<16-dynamic))
		if err = unix.Bind(raw, address(netip.AddrPortFrom(local, port))); err != unix.EADDRINUSE {
			return err
		}
	}
	return unix.Bind(raw, address(netip.AddrPortFrom(local, 0)))
}

func address(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16(), ZoneId: zone(a.Addr())}
}

// Path is the way to another host, or to a multicast group. It implements fabric.Batcher.
type Path struct {
	from *sender
	to   *name
	net  *Net

	mu       sync.Mutex
	envelope packet.Envelope
	batch    batch
	holds    int
	full     bool // the socket had no room for all of the batch
	closed   bool
}

func newPath(n *Net, from *sender, remote netip.Addr) *Path {
	return &Path{
		from: from, net: n, to: rawName(netip.AddrPortFrom(remote, packet.Port)), batch: newBatch(1, longest),
		envelope: packet.Envelope{Source: from.local, Destination: remote, SourcePort: from.port,
			DestinationPort: packet.Port, Fragment: packet.DontFragment},
	}
}

// MTU implements fabric.Path.
func (p *Path) MTU() int { return MTU }

// Reliable implements fabric.Path.
func (p *Path) Reliable() bool { return false }

var errLength = errors.New("udp: a packet of this length can't be sent")

// Send implements fabric.Path.
func (p *Path) Send(header []byte, payload [][]byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fabric.ErrDown
	}
	n := len(header)
	for _, part := range payload {
		n += len(part)
	}
	if len(header) < packet.BTHSize || len(header) > fabric.HeaderMax || n-len(header) > MTU {
		return errLength
	}
	if p.full || !p.batch.room(n+3+packet.ICRCSize) {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.batch.add(p.to, &p.envelope, header, payload)
	if p.holds > 0 {
		return nil
	}
	if err := p.flush(); err != fabric.ErrFull {
		return err
	}
	return nil // it leaves when there is room
}

// Hold implements fabric.Batcher.
func (p *Path) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holds++; len(p.batch.list) == 1 && p.batch.n == 0 {
		p.batch = newBatch(batchPackets, batchBytes)
	}
}

// Flush implements fabric.Batcher.
func (p *Path) Flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds--
	_ = p.flush()
}

// flush sends what waits. Errors: fabric.ErrFull, after which the receiver is told when the way has room;
// fabric.ErrDown. Under mu.
func (p *Path) flush() error {
	if p.batch.n == 0 {
		return nil
	}
	if p.closed {
		return fabric.ErrDown
	}
	err := p.batch.send(p.from.file.Int())
	if p.full = err == fabric.ErrFull; p.full {
		p.net.waitFor(p)
	}
	return err
}

// goOn sends what waited for room.
func (p *Path) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.flush()
}

// close ends the way.
func (p *Path) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
}
