package udp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/verbs/internal/packet"
)

// domains are those that a port has a socket of each.
var domains = [...]int{unix.AF_INET, unix.AF_INET6}

// listen makes the socket that receives by IPv4 or IPv6.
func listen(domain int) (*fd.FD, error) {
	f, err := fd.Fresh(unix.Socket(domain, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0))
	if err != nil {
		return nil, err
	}
	raw := f.Int()
	set := func(level, option, value int) {
		if err == nil {
			err = unix.SetsockoptInt(raw, level, option, value)
		}
	}
	_ = unix.SetsockoptInt(raw, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer) // as much as the limit allows
	_ = unix.SetsockoptInt(raw, unix.IPPROTO_UDP, unix.UDP_GRO, 1)              // from Linux 5.0 on
	// The last one that is bound gets the packets.
	set(unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	var at unix.Sockaddr = &unix.SockaddrInet4{Port: packet.Port}
	if domain == unix.AF_INET {
		set(unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
		set(unix.IPPROTO_IP, unix.IP_RECVTTL, 1)
		set(unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
	} else {
		at = &unix.SockaddrInet6{Port: packet.Port}
		set(unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
		set(unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
		set(unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT, 1)
		set(unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1)
	}
	if err == nil {
		err = unix.Bind(raw, at)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("udp: port %d: %w", packet.Port, err)
	}
	return f, nil
}

// receiver is the socket of IPv4 or IPv6.
type receiver struct {
	domain int
	file   *fd.FD // nil while another program has the port, or where there is no such protocol
	later  bool   // it is to be tried again: who received before may have the port for a moment longer
}

func (r *receiver) open() {
	file, err := listen(r.domain)
	if err == nil {
		r.file = file
	}
	r.later = errors.Is(err, unix.EADDRINUSE) || fd.Exhausted(err)
}

// begin opens the sockets, or goes on with those of the process that received before, so that nothing gets lost.
func (p *Port) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, domain := range domains {
		r := &receiver{domain: domain, file: p.kept[i]}
		if p.kept[i] = nil; r.file == nil {
			r.open()
		}
		p.sockets = append(p.sockets, r)
	}
}

// reopen tries those sockets again that couldn't be opened.
func (p *Port) reopen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.sockets {
		if r.later {
			r.open()
		}
	}
}

// stopReceiving closes the sockets.
func (p *Port) stopReceiving() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.sockets {
		_ = r.file.Close()
	}
	p.sockets = nil
}

// rights is a control message with the sockets, if there are more than have been given, and how many these are.
func (p *Port) rights(given int) (message []byte, now int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var files []int
	for _, r := range p.sockets {
		if raw := r.file.Int(); raw >= 0 {
			files = append(files, raw)
		}
	}
	if len(files) <= given {
		return nil, given
	}
	return unix.UnixRights(files...), len(files)
}

// keepSockets keeps sockets of the process that receives: while there is one more descriptor of them, what arrives when
// that process ends waits in their buffers. They take the place of those of the process before.
func (p *Port) keepSockets(files []*fd.FD) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range files {
		at, _ := unix.Getsockname(f.Int())
		i, port := 0, 0
		switch a := at.(type) {
		case *unix.SockaddrInet4:
			port = a.Port
		case *unix.SockaddrInet6:
			i, port = 1, a.Port
		}
		if port != packet.Port || same(f, p.kept[i]) {
			_ = f.Close()
			continue
		}
		p.dropOne(i)
		p.kept[i] = f
	}
}

// same says whether two descriptors are of one socket.
func same(f, g *fd.FD) bool {
	var a, b unix.Stat_t
	return unix.Fstat(f.Int(), &a) == nil && unix.Fstat(g.Int(), &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
}

// drop lets go of the sockets that are kept: another process receives by others.
func (p *Port) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.kept {
		p.dropOne(i)
	}
}

// dropOne hands out what has arrived at a socket that is kept, and closes it. Under mu.
func (p *Port) dropOne(i int) {
	for p.life.Err() == nil && p.drain(p.kept[i]) {
	}
	_ = p.kept[i].Close()
	p.kept[i] = nil
}

func closeAll(files []*fd.FD) {
	for _, f := range files {
		_ = f.Close()
	}
}
