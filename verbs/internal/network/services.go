package network

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/ibv"
	"farside/verbs/internal/cm"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
	"farside/verbs/internal/udp"
)

// managementQP is the queue pair that messages of communication management go from and to, and managementKey its Q_Key.
// Within the host, the number of the process is in front.
const (
	managementQP  = 1
	managementKey = 0x80010000
)

// CM is what carries the messages of package cm. It implements cm.Wire.
type CM struct {
	*Network
	guid uint64
	psn  uint32 // of the last one; guarded by sending

	sending sync.Mutex
}

// CM makes the Wire of communication management, for a device with a GUID.
func (n *Network) CM(guid uint64) *CM { return &CM{Network: n, guid: guid} }

// GUID implements cm.Wire.
func (c *CM) GUID() uint64 { return c.guid }

// Own implements cm.Wire.
func (c *CM) Own(a netip.Addr) bool { return c.isOwn(a) }

// Source implements cm.Wire.
func (c *CM) Source(remote netip.Addr) (netip.Addr, error) {
	if c.isOwn(remote) {
		if _, ok := c.GIDIndex(remote); ok {
			return remote, nil
		}
		if all := c.Addresses(); len(all) > 0 {
			return all[0], nil
		}
		return netip.Addr{}, unix.EADDRNOTAVAIL // no interface is up
	}
	_ = c.Listen() // answers have to arrive
	return udp.Source(remote)
}

// GIDIndex implements cm.Wire.
func (c *CM) GIDIndex(a netip.Addr) (int, bool) {
	for i, own := range c.Addresses() {
		if own == a {
			return i, true
		}
	}
	return 0, false
}

// Send implements cm.Wire.
func (c *CM) Send(local, remote netip.Addr, number uint32, mad []byte) {
	c.sending.Lock()
	c.psn++
	h := packet.Header{Opcode: packet.UD | packet.SendOnly, PKey: packet.DefaultPKey, DestinationQP: managementQP,
		SourceQP: managementQP, QKey: managementKey, PSN: c.psn & packet.PSNMask}
	c.sending.Unlock()
	b := make([]byte, packet.HeaderMax)
	b = b[:h.Put(b)]
	if !c.isOwn(remote) {
		if local.Is4() == remote.Is4() && c.isOwn(local) {
			c.far.Send(local, remote, b, mad)
		}
		return
	}
	p, err := c.Path(local, remote, number<<numberShift|managementQP)
	if err == nil && p.Send(b, [][]byte{mad}) == fabric.ErrFull {
		// A session that is just being made: it is sent once there is room, which may be by now.
		c.later.add(p, b, mad)
		c.later.send(p)
	}
}

// numberShift is where a process' number begins in that of a queue pair.
const numberShift = 12

// later is what found no room.
type later struct {
	mu   sync.Mutex
	list []waiting
}

type waiting struct {
	path        fabric.Path
	header, mad []byte
}

// maxLater bounds what waits; messages may get lost.
const maxLater = 1024

func (l *later) add(p fabric.Path, header, mad []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) < maxLater {
		l.list = append(l.list, waiting{p, header, mad})
	}
}

// send sends what has waited for a way, as far as it has room.
func (l *later) send(p fabric.Path) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(w waiting) bool {
		return w.path == p && p.Send(w.header, [][]byte{w.mad}) != fabric.ErrFull
	})
}

// A port that a process has is an abstract unix address, so that only one process can have it. While the process
// listens there is another one that ends with its number.
const servicePrefix = "@farside-verbs-service-"

func serviceName(space uint16, at netip.AddrPort) string {
	host := "*"
	if at.Addr().IsValid() {
		host = at.Addr().String()
	}
	return fmt.Sprintf("%s%04x-%05d-%s", servicePrefix, space, at.Port(), host)
}

// Claim implements cm.Wire.
func (c *CM) Claim(space uint16, at netip.AddrPort) (io.Closer, error) {
	return hold(serviceName(space, at))
}

// Serve implements cm.Wire.
func (c *CM) Serve(space uint16, at netip.AddrPort) (io.Closer, error) {
	// Requests of other hosts have to arrive. Where they can't, those of this one do.
	_ = c.Listen()
	return hold(fmt.Sprintf("%s-%03x", serviceName(space, at), c.Number()))
}

// hold takes an abstract unix address until it is closed.
func hold(name string) (io.Closer, error) {
	f, err := fd.Fresh(unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))
	if err != nil {
		return nil, err
	}
	if err := unix.Bind(f.Int(), &unix.SockaddrUnix{Name: name}); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Server implements cm.Wire.
func (n *Network) Server(space uint16, at netip.AddrPort) (number uint32, ok bool) {
	text, err := fd.ReadFile("/proc/net/unix")
	if err != nil {
		return 0, false
	}
	for _, a := range []netip.Addr{at.Addr(), {}} {
		prefix := serviceName(space, netip.AddrPortFrom(a, at.Port())) + "-"
		for line := range strings.Lines(string(text)) {
			_, rest, found := strings.Cut(line, prefix)
			if !found {
				continue
			}
			if n, err := strconv.ParseUint(strings.TrimSpace(rest), 16, 32); err == nil && n < 1<<numberShift {
				return uint32(n), true
			}
		}
	}
	return 0, false
}

// management hands a message of another host to the process that it is for.
func (n *Network) management(from *fabric.Source, header, payload []byte) {
	id, space, port, ok := cm.Route(payload)
	if !ok || n.isOwn(from.Remote) { // those of this host come by rings
		return
	}
	number := cm.NumberOf(id)
	if id == 0 {
		if number, ok = n.Server(space, netip.AddrPortFrom(from.Local, port)); !ok {
			number = n.Number() // which says no
		}
	}
	if number == n.Number() {
		n.receiver.Receive(from, header, payload)
		return
	}
	n.Forward(from, number<<numberShift|managementQP, header, payload)
}

// MTU implements cm.Wire: that of an InfiniBand path that fits into the network's.
func (n *Network) MTU(local, remote netip.Addr) ibv.MTU {
	if n.isOwn(remote) {
		return n.PortMTU()
	}
	return PathMTU(n.linkMTU(local))
}

// PathMTU is the largest MTU of a path whose packets fit into a link's, whose MTU is in bytes: as Linux' rxe computes
// it.
func PathMTU(link int) ibv.MTU {
	const headers = 40 + 8 + packet.HeaderMax + packet.ICRCSize // IPv6, UDP
	for _, m := range []ibv.MTU{ibv.MTU_4096, ibv.MTU_2048, ibv.MTU_1024, ibv.MTU_512} {
		if 128<<m+headers <= link {
			return m
		}
	}
	return ibv.MTU_256
}
