package udp

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/verbs/internal/fabric"
)

// Net is a process' ways to other hosts.
type Net struct {
	writable func(fabric.Path)
	ways     atomic.Int32 // bits of domain for the ways that there are

	mu      sync.Mutex
	closed  atomic.Bool
	senders map[netip.Addr]*sender
	paths   map[[2]netip.Addr]*Path
	waiting sync.WaitGroup
}

// NewNet makes the ways of a process. It does no input or output. writable is told of ways that have room again.
func NewNet(writable func(fabric.Path)) *Net {
	return &Net{writable: writable, senders: map[netip.Addr]*sender{}, paths: map[[2]netip.Addr]*Path{}}
}

// Path is the way from an address of this host to another host. Errors: the operating system's.
func (n *Net) Path(local, remote netip.Addr) (*Path, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed.Load() {
		return nil, net.ErrClosed
	}
	key := [2]netip.Addr{local, remote}
	if p := n.paths[key]; p != nil {
		return p, nil
	}
	s, err := n.sender(local)
	if err != nil {
		return nil, err
	}
	p := newPath(n, s, remote)
	n.paths[key] = p
	n.ways.Or(domainOf(local))
	return p, nil
}

// Ways says whether there are ways by IPv4 (bit 0) and IPv6 (bit 1).
func (n *Net) Ways() int32 { return n.ways.Load() }

func domainOf(a netip.Addr) int32 {
	if a.Is4() {
		return 1
	}
	return 2
}

// sender is the socket of an address of this host. Under mu.
func (n *Net) sender(local netip.Addr) (*sender, error) {
	if s := n.senders[local]; s != nil {
		return s, nil
	}
	s, err := newSender(local)
	if err == nil {
		n.senders[local] = s
	}
	return s, err
}

// Send sends one packet to another host and keeps no way to it: anybody can be one that is answered. It may get lost.
func (n *Net) Send(local, remote netip.Addr, header, payload []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed.Load() {
		return
	}
	if s, err := n.sender(local); err == nil {
		_ = newPath(n, s, remote).Send(header, [][]byte{payload})
	}
}

// patience is how long a wait for room lasts before it looks whether the way is still open, milliseconds.
const patience = 100

// waitFor sends what waits, and tells the receiver, when a way's socket has room.
func (n *Net) waitFor(p *Path) {
	s := p.from
	s.mu.Lock()
	defer s.mu.Unlock()
	first := len(s.waiting) == 0
	s.waiting[p] = struct{}{}
	if !first || n.closed.Load() {
		return
	}
	n.waiting.Go(func() {
		for {
			fds := []unix.PollFd{{Fd: int32(s.file.Int()), Events: unix.POLLOUT}}
			if ready, _ := unix.Poll(fds, patience); ready == 0 && !n.closed.Load() {
				continue
			}
			s.mu.Lock()
			list := s.waiting
			s.waiting = map[*Path]struct{}{}
			s.mu.Unlock()
			for p := range list {
				if !n.closed.Load() {
					p.goOn()
					n.writable(p)
				}
			}
			return
		}
	})
}

// Close ends all ways.
func (n *Net) Close() {
	n.mu.Lock()
	n.closed.Store(true)
	for _, s := range n.senders { // who is about to wait does, or has seen it
		s.mu.Lock()
		clear(s.waiting) // nobody is told any more
		s.mu.Unlock()
	}
	n.mu.Unlock()
	n.waiting.Wait()
	for _, p := range n.paths {
		p.close()
	}
	for _, s := range n.senders {
		_ = s.file.Close()
	}
}

// zone is the interface of a link-local address, 0 for others.
func zone(a netip.Addr) uint32 {
	if a.Zone() == "" {
		return 0
	}
	if i, err := net.InterfaceByName(a.Zone()); err == nil {
		return uint32(i.Index)
	}
	return 0
}
