// Package network is the fabric.Network of a process: by rings to processes of its own host (package shm), by UDP to
// other hosts (package udp).
package network

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/shm"
	"farside/verbs/internal/udp"
)

// Network implements fabric.Network. [shm.Host] has what processes of this host can do without each other's help.
type Network struct {
	*shm.Host
	receiver  fabric.Receiver
	far       *udp.Net
	addresses []netip.Addr
	later     later
	gone      atomic.Pointer[func(number uint32)]
	listens   atomic.Pointer[udp.Port] // port
	watched   atomic.Int32             // who sleeps until something arrives

	mu   sync.Mutex
	port *udp.Port // nil until a queue pair needs it
	own  []netip.Addr
	read time.Time // when own was
}

// Open makes the network of this process. Errors: the operating system's.
func Open() (*Network, error) {
	h, err := shm.Open()
	if err != nil {
		return nil, err
	}
	n := &Network{Host: h, own: hostAddresses(), read: time.Now()}
	n.addresses = slices.Clone(n.own)
	return n, nil
}

// Attach implements fabric.Network.
func (n *Network) Attach(r fabric.Receiver) {
	n.receiver = r
	n.far = udp.NewNet(n.Writable)
	n.Host.Attach(n)
}

// Receive implements fabric.Receiver.
func (n *Network) Receive(from *fabric.Source, header, payload []byte) {
	n.receiver.Receive(from, header, payload)
}

// Writable implements fabric.Receiver.
func (n *Network) Writable(p fabric.Path) {
	n.later.send(p)
	n.receiver.Writable(p)
}

// Down implements fabric.Receiver.
func (n *Network) Down(p fabric.Path) {
	n.later.send(p)
	n.receiver.Down(p)
	if to, ok := p.(*shm.Path); ok && to.Number() != 0 {
		if gone := n.gone.Load(); gone != nil {
			(*gone)(to.Number())
		}
	}
}

// OnGone sets who is told of processes of this host that end, by their numbers.
func (n *Network) OnGone(f func(number uint32)) { n.gone.Store(&f) }

// Addresses implements fabric.Network.
func (n *Network) Addresses() []netip.Addr { return n.addresses }

// linkMTU is the MTU in bytes of the interface that has an address, the smallest of all for one that none has.
func (n *Network) linkMTU(local netip.Addr) int {
	interfaces, _ := net.Interfaces()
	smallest := 65536
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		smallest = min(smallest, i.MTU)
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if prefix, ok := a.(*net.IPNet); ok && prefix.IP.Equal(local.AsSlice()) {
				return i.MTU
			}
		}
	}
	return smallest
}

// PortMTU is the largest MTU of paths by which all other hosts can be reached.
func (n *Network) PortMTU() ibv.MTU { return PathMTU(n.linkMTU(netip.Addr{})) }

// hostAddresses lists the addresses of interfaces that are up: those of the loopback interface last, IPv4 before IPv6,
// and no link-local ones.
func hostAddresses() (list []netip.Addr) {
	interfaces, _ := net.Interfaces()
	slices.SortStableFunc(interfaces, func(a, b net.Interface) int {
		return int(a.Flags&net.FlagLoopback) - int(b.Flags&net.FlagLoopback)
	})
	for _, i := range interfaces {
		addresses, _ := i.Addrs()
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		from := len(list)
		for _, a := range addresses {
			prefix, ok := a.(*net.IPNet)
			if !ok {
				continue
			}
			if ip, ok := netip.AddrFromSlice(prefix.IP); ok && !ip.Unmap().IsLinkLocalUnicast() {
				list = append(list, ip.Unmap())
			}
		}
		slices.SortStableFunc(list[from:], func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	}
	return list
}

// addressAge is how long a list of the host's addresses counts.
const addressAge = time.Second

// isOwn says whether an address is this network namespace's.
func (n *Network) isOwn(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.own, a) && time.Since(n.read) > addressAge {
		n.own, n.read = hostAddresses(), time.Now()
	}
	return slices.Contains(n.own, a)
}

// QPN implements fabric.Network. Packets of other hosts arrive from the first queue pair on; where they can't, those of
// this host do.
func (n *Network) QPN() (uint32, error) {
	_ = n.Listen()
	return n.Host.QPN()
}

// Open implements fabric.Network.
func (n *Network) Open(local, remote netip.Addr, qpn uint32) (fabric.Path, error) {
	local, remote = local.Unmap(), remote.Unmap()
	if n.isOwn(remote) {
		return n.Path(local, remote, qpn)
	}
	if remote.IsMulticast() {
		return nil, fmt.Errorf("%w: %v is a multicast group", fabric.ErrUnreachable, remote)
	}
	if local.Is4() != remote.Is4() {
		return nil, fmt.Errorf("%w: from %v to %v", fabric.ErrUnreachable, local, remote)
	}
	return n.far.Path(local, remote)
}

// Listen has packets of other hosts arrive from now on. Errors: the operating system's.
func (n *Network) Listen() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.port != nil {
		return nil
	}
	port, err := udp.OpenPort(n.arrived)
	if err == nil {
		n.port = port
		n.listens.Store(port)
	}
	return err
}

// Poll implements fabric.Network.
func (n *Network) Poll() bool {
	some := n.Host.Poll()
	if ways := n.far.Ways(); ways != 0 && n.watched.Load() == 0 {
		if port := n.listens.Load(); port != nil && port.Poll(ways) {
			some = true
		}
	}
	return some
}

// Watch says that somebody is going to sleep until something arrives (1), or has stopped to (-1). While there is such a
// one what arrives is handed out at once, also if somebody polls.
func (n *Network) Watch(change int) {
	n.watched.Add(int32(change))
	n.Host.Watch(change)
}

// arrived takes a packet of another host, and hands it on to the process whose queue pair it is for. One that finds no
// room is lost, as any packet on a network may be.
func (n *Network) arrived(from *fabric.Source, header, payload []byte) {
	qpn := udp.Destination(header)
	if qpn == managementQP {
		n.management(from, header, payload)
		return
	}
	if n.Has(qpn) {
		n.receiver.Receive(from, header, payload)
		return
	}
	n.Forward(from, qpn, header, payload)
}

// Join implements fabric.Network: EOPNOTSUPP, as nothing carries packets to groups. The device's attributes say that it
// has no groups.
func (n *Network) Join(group netip.Addr) error {
	return fmt.Errorf("%w: %v is a multicast group", unix.EOPNOTSUPP, group)
}

// Leave implements fabric.Network.
func (n *Network) Leave(netip.Addr) {}

// Close implements fabric.Network.
func (n *Network) Close() {
	n.mu.Lock()
	port := n.port
	n.port = nil
	n.mu.Unlock()
	if port != nil {
		port.Close()
	}
	if n.far != nil {
		n.far.Close()
	}
	n.Host.Close()
}

var _ fabric.Network = (*Network)(nil)
