package udp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/trust"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

const (
	// maxStrangers bounds the connections of processes of other users that wait for their turn.
	maxStrangers = 64
	// A process that got no turn tries again after a pause, which doubles up to longestPause.
	firstPause, longestPause = time.Millisecond, 256 * time.Millisecond
	// atOnce is how many packets of one socket are taken before the others get their turn.
	atOnce = 256
)

// receiveBuffer is what the kernel keeps while the process does not receive, bytes.
const receiveBuffer = 8 << 20

// Port is a process' part in receiving from other hosts (turn.go has how processes agree who receives).
type Port struct {
	users    trust.Users
	patience time.Duration // that an answer of who receives may take
	busy     atomic.Int64  // when the packets that are being handed out were there, Unix time in nanoseconds; 0 for none
	deliver  func(from *fabric.Source, header, payload []byte)
	stop     *fd.FD // eventfd
	life     context.Context
	end      context.CancelFunc
	running  sync.WaitGroup
	claimed  chan struct{} // closed once somebody receives
}

// OpenPort begins to receive, or to wait for the turn to. deliver gets each packet that looks like one; header and payload
// are valid during the call. Errors: the operating system's, those of trust.Read.
func OpenPort(deliver func(from *fabric.Source, header, payload []byte)) (*Port, error) {
	users, err := trust.Read()
	if err != nil {
		return nil, err
	}
	return openPort(users, answerWithin, deliver)
}

func openPort(users trust.Users, patience time.Duration, deliver func(from *fabric.Source, header, payload []byte)) (*Port,
	error) {
	var err error
	p := &Port{users: users, patience: patience, deliver: deliver, claimed: make(chan struct{})}
	if p.stop, err = fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)); err != nil {
		return nil, err
	}
	p.life, p.end = context.WithCancel(context.Background())
	p.running.Go(p.run)
	select {
	case <-p.claimed:
	case <-time.After(time.Second): // whoever has the name does not answer
	}
	return p, nil
}

// Close stops receiving. deliver is not called any more when it returns.
func (p *Port) Close() {
	p.end()
	p.wake()
	p.running.Wait()
	_ = p.stop.Close()
}

// wake ends read.
func (p *Port) wake() {
	var one [8]byte
	one[0] = 1
	_, _ = unix.Write(p.stop.Int(), one[:])
}

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
	set(unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)                                  // the last one that is bound gets the packets
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

// read hands out what arrives at some sockets until the port is closed or somebody else receives. What has arrived by
// then is handed out too.
func (p *Port) read(sockets []*receiver) {
	in := &incoming{}
	for wait := 10; ; wait = min(2*wait, 1000) {
		fds := []unix.PollFd{{Fd: int32(p.stop.Int()), Events: unix.POLLIN}}
		timeout := -1
		for _, r := range sockets {
			if r.later {
				r.open()
			}
			if r.later {
				timeout = wait
			}
			fds = append(fds, unix.PollFd{Fd: int32(r.file.Int()), Events: unix.POLLIN}) // -1 is left out
		}
		if _, err := unix.Poll(fds, timeout); err != nil && err != unix.EINTR {
			return
		}
		p.busy.Store(time.Now().UnixNano())
		for i, r := range sockets {
			for n := 0; n < atOnce && fds[1+i].Revents != 0 && in.receive(r.file.Int()); n++ {
				if header, payload, ok := in.packet(); ok {
					p.deliver(&in.source, header, payload)
				}
			}
		}
		p.busy.Store(0)
		if fds[0].Revents != 0 && (p.life.Err() != nil || !slices.ContainsFunc(fds[1:], readable)) {
			return
		}
	}
}

func readable(p unix.PollFd) bool { return p.Revents&unix.POLLIN != 0 }

// incoming is one datagram.
type incoming struct {
	data   [64 << 10]byte
	oob    [256]byte
	n      int
	source fabric.Source
}

// receive takes a datagram, if there is one.
func (in *incoming) receive(raw int) bool {
	for {
		n, oobn, _, from, err := unix.Recvmsg(raw, in.data[:], in.oob[:], 0)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return false
		}
		in.n, in.source = n, fabric.Source{}
		switch a := from.(type) {
		case *unix.SockaddrInet4:
			in.source.Remote = netip.AddrFrom4(a.Addr)
		case *unix.SockaddrInet6:
			in.source.Remote = netip.AddrFrom16(a.Addr)
		}
		in.control(in.oob[:oobn])
		return true
	}
}

// control reads what the IP header had.
func (in *incoming) control(oob []byte) {
	for len(oob) >= unix.SizeofCmsghdr {
		h, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			return
		}
		oob = rest
		switch {
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_PKTINFO && len(data) >= 12:
			in.source.Local = netip.AddrFrom4([4]byte(data[8:12]))
		case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_PKTINFO && len(data) >= 16:
			in.source.Local = netip.AddrFrom16([16]byte(data[:16]))
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TTL, h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_HOPLIMIT:
			in.source.HopLimit = data[0]
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TOS, h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_TCLASS:
			in.source.TrafficClass = data[0]
		}
	}
}

// packet takes a datagram apart, and says whether it is a packet.
func (in *incoming) packet() (header, payload []byte, ok bool) {
	b := in.data[:in.n]
	if len(b) < packet.BTHSize+packet.ICRCSize || !in.source.Remote.IsValid() || !in.source.Local.IsValid() {
		return nil, nil, false
	}
	b = b[:len(b)-packet.ICRCSize]
	n := packet.Opcode(b[0]).Size()
	pad := int(b[1] >> 4 & 3)
	if len(b) < n+pad {
		return nil, nil, false
	}
	return b[:n], b[n : len(b)-pad], true
}

// Destination is the number of the queue pair that a packet goes to.
func Destination(header []byte) uint32 { return binary.BigEndian.Uint32(header[4:]) & packet.PSNMask }
