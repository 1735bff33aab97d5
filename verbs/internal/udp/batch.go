package udp

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"farside/verbs/internal/fabric"
	"farside/verbs/internal/packet"
)

const (
	// longest is the most bytes of a datagram.
	longest = fabric.HeaderMax + MTU + 3 + packet.ICRCSize
	// batchPackets and batchBytes bound what leaves with one system call.
	batchPackets = 64
	batchBytes   = 64 << 10
)

// batch is packets that leave together, in the order in which they were added.
type batch struct {
	data     []byte // of all packets; it never moves while there are some
	first, n int    // those of list that have not left
	list     []message
	parts    []unix.Iovec
}

// newBatch is one with room for one packet at least.
func newBatch(packets, bytes int) batch {
	return batch{data: make([]byte, 0, bytes), list: make([]message, packets), parts: make([]unix.Iovec, packets)}
}

// room says whether one more packet fits.
func (b *batch) room(bytes int) bool { return b.n < len(b.list) && cap(b.data)-len(b.data) >= bytes }

// add adds a packet to a host, with padding and CRC. The payload is copied first: the CRC is one of what is sent,
// whatever the application does to its memory meanwhile. Where that faults, nothing is added.
func (b *batch) add(to *name, e *packet.Envelope, header []byte, payload [][]byte) {
	at := len(b.data)
	d := append(b.data, header...)
	for _, part := range payload {
		d = append(d, part...)
	}
	start := at + len(header)
	pad := -(len(d) - start) & 3
	d[at+1] = d[at+1]&^0x30 | byte(pad)<<4
	d = append(d, "\x00\x00\x00"[:pad]...)
	d = binary.LittleEndian.AppendUint32(d, packet.ICRC(e, d[at:start], d[start:]))
	b.data = d
	part := &b.parts[b.n]
	part.Base = &d[at]
	part.SetLen(len(d) - at)
	b.list[b.n].to(to, part, nil)
	b.n++
}

// send sends what there is. Errors: fabric.ErrFull, after which the rest is still there; fabric.ErrDown.
func (b *batch) send(raw int) error {
	for b.first < b.n {
		n, err := sendMessages(raw, b.list[b.first:b.n])
		switch err {
		case nil:
			b.first += n
		case unix.EINTR:
		case unix.EAGAIN:
			return fabric.ErrFull
		case unix.EBADF:
			b.clear()
			return fabric.ErrDown
		default:
			b.first++ // no route, no neighbour, a firewall, no memory: the packet is lost, as on any network
		}
	}
	b.clear()
	return nil
}

func (b *batch) clear() { b.data, b.first, b.n = b.data[:0], 0, 0 }
