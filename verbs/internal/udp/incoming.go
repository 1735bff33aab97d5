package udp

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

const (
	// burst is how many datagrams a system call takes, or trains of datagrams that the kernel has joined (udp(7),
	// UDP_GRO), of which each has up to roomBytes.
	burst       = 32
	roomBytes   = 64 << 10
	controlRoom = 128
)

// incoming is what a system call has taken. Only the pages that were needed have memory.
type incoming struct {
	list   [burst]message
	parts  [burst]unix.Iovec
	names  [burst]name
	oob    [burst][controlRoom]byte
	data   []byte
	used   int // of the system call before
	source fabric.Source
}

func newIncoming() *incoming {
	in := &incoming{data: make([]byte, burst*roomBytes)}
	for i := range in.list {
		in.parts[i].Base = &in.data[i*roomBytes]
		in.parts[i].SetLen(roomBytes)
	}
	in.used = burst
	return in
}

// receive takes what has arrived, and returns how many there are.
func (in *incoming) receive(raw int) int {
	for i := range in.used { // which the system call has changed
		in.names[i].n = unix.SizeofSockaddrInet6
		in.list[i].to(&in.names[i], &in.parts[i], in.oob[i][:])
	}
	in.used = 0
	for {
		n, err := receiveMessages(raw, in.list[:])
		if err == nil {
			in.used = n
			return n
		}
		if err != unix.EINTR {
			return 0
		}
	}
}

// each calls deliver for the packets of one of those that receive took.
func (in *incoming) each(i int, deliver func(from *fabric.Source, header, payload []byte)) {
	m := &in.list[i]
	in.source = fabric.Source{Remote: in.names[i].address()}
	length := in.control(in.oob[i][:min(uint64(m.Controllen), controlRoom)])
	rest := in.data[i*roomBytes:][:min(m.n, roomBytes)]
	for {
		b := rest
		if length > 0 && length < len(rest) {
			b = rest[:length]
		}
		rest = rest[len(b):]
		if header, payload, ok := in.packet(b); ok {
			deliver(&in.source, header, payload)
		}
		if len(rest) == 0 {
			return
		}
	}
}

// control reads what the IP header had, and returns how long each of several datagrams is, 0 where there is one.
func (in *incoming) control(oob []byte) (length int) {
	for len(oob) >= unix.SizeofCmsghdr {
		h, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			return length
		}
		oob = rest
		switch {
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_PKTINFO && len(data) >= 12:
			in.source.Local = netip.AddrFrom4([4]byte(data[8:12]))
		case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_PKTINFO && len(data) >= 16:
			in.source.Local = netip.AddrFrom16([16]byte(data[:16]))
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TTL,
			h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_HOPLIMIT:
			in.source.HopLimit = data[0]
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TOS, h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_TCLASS:
			in.source.TrafficClass = data[0]
		case h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO && len(data) >= 4:
			length = int(binary.NativeEndian.Uint32(data))
		}
	}
	return length
}

// packet takes a datagram apart, and says whether it is a packet.
func (in *incoming) packet(b []byte) (header, payload []byte, ok bool) {
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
