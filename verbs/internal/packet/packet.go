// Package packet is the codec of RoCEv2 packets: base transport header, extended headers, invariant CRC (InfiniBand
// Architecture Specification, volume 1, chapter 9; RoCEv2 is its annex A17).
//
// A packet in a UDP datagram to port 4791 is a header, a payload, zero to three bytes of padding, and the invariant
// CRC. On other ways it is the header and the payload.
package packet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// Port is UDP's for RoCEv2.
	Port = 4791
	// BTHSize is the size of the base transport header, bytes.
	BTHSize = 12
	// ICRCSize is the size of the invariant CRC, bytes.
	ICRCSize = 4
	// HeaderMax is the size of the longest header: BTH, XRCETH, AtomicETH.
	HeaderMax = BTHSize + 4 + 28
	// DefaultPKey is the partition key of all packets: full member of the default partition.
	DefaultPKey = 0xffff
	// PSNMask are the 24 bits of a packet sequence number, and of a queue pair's number.
	PSNMask = 1<<24 - 1
)

// ErrMalformed is that of packets that no peer sends.
var ErrMalformed = errors.New("packet: malformed")

// Header is the base transport header with the extended headers that the opcode has. The others' fields are 0.
type Header struct {
	Opcode        Opcode
	Solicited     bool // SE
	Migrated      bool // M
	AckRequest    bool // A
	BECN, FECN    bool
	Pad           uint8 // bytes behind the payload that fill it up to a multiple of four
	PKey          uint16
	DestinationQP uint32 // 24 bits
	PSN           uint32 // 24 bits

	SRQ uint32 // XRCETH: number of the shared receive queue, 24 bits

	QKey     uint32 // DETH
	SourceQP uint32 // DETH, 24 bits

	Address uint64 // RETH and AtomicETH
	RKey    uint32
	Length  uint32 // RETH

	SwapAdd uint64 // AtomicETH
	Compare uint64

	Syndrome uint8  // AETH
	MSN      uint32 // AETH, 24 bits

	Original uint64 // AtomicAckETH

	Immediate  uint32 // ImmDt, as the big-endian number that it is on the wire
	Invalidate uint32 // IETH: key
}

// The syndrome of an AETH: its kind in bits 6 and 5, and a value in bits 4 to 0 (section 9.7.5.1.1, tables 45 to 47).
const (
	SyndromeKind  = 0x60
	SyndromeValue = 0x1f

	SyndromeACK = 0x00 // value: credits; NoCredits says that the responder has none to tell
	SyndromeRNR = 0x20 // value: index of the time to wait
	SyndromeNAK = 0x60 // value: a NAK…

	NoCredits = 0x1f

	NAKSequence       = 0
	NAKInvalidRequest = 1
	NAKRemoteAccess   = 2
	NAKRemoteOp       = 3
	NAKInvalidRD      = 4
)

func put24(b []byte, top byte, v uint32) {
	binary.BigEndian.PutUint32(b, uint32(top)<<24|v&PSNMask)
}

func get24(b []byte) uint32 { return binary.BigEndian.Uint32(b) & PSNMask }

func bit(set bool, value byte) byte {
	if set {
		return value
	}
	return 0
}

// Put writes the header to b, which has room for HeaderMax bytes, and returns how many it has.
func (h *Header) Put(b []byte) int {
	p := partsOf[h.Opcode]
	_ = b[HeaderMax-1]
	b[0] = byte(h.Opcode)
	b[1] = bit(h.Solicited, 0x80) | bit(h.Migrated, 0x40) | h.Pad&3<<4
	binary.BigEndian.PutUint16(b[2:], h.PKey)
	put24(b[4:], bit(h.FECN, 0x80)|bit(h.BECN, 0x40), h.DestinationQP)
	put24(b[8:], bit(h.AckRequest, 0x80), h.PSN)
	n := BTHSize
	if p&^(valid|payload|response) == 0 {
		return n
	}
	if p&xrceth != 0 {
		put24(b[n:], 0, h.SRQ)
		n += 4
	}
	if p&deth != 0 {
		binary.BigEndian.PutUint32(b[n:], h.QKey)
		put24(b[n+4:], 0, h.SourceQP)
		n += 8
	}
	if p&(reth|atomicETH) != 0 {
		binary.BigEndian.PutUint64(b[n:], h.Address)
		binary.BigEndian.PutUint32(b[n+8:], h.RKey)
		n += 12
	}
	if p&reth != 0 {
		binary.BigEndian.PutUint32(b[n:], h.Length)
		n += 4
	}
	if p&atomicETH != 0 {
		binary.BigEndian.PutUint64(b[n:], h.SwapAdd)
		binary.BigEndian.PutUint64(b[n+8:], h.Compare)
		n += 16
	}
	if p&aeth != 0 {
		put24(b[n:], h.Syndrome, h.MSN)
		n += 4
	}
	if p&atomicAckETH != 0 {
		binary.BigEndian.PutUint64(b[n:], h.Original)
		n += 8
	}
	if p&immDt != 0 {
		binary.BigEndian.PutUint32(b[n:], h.Immediate)
		n += 4
	}
	if p&ieth != 0 {
		binary.BigEndian.PutUint32(b[n:], h.Invalidate)
		n += 4
	}
	return n
}

// Size is the header's size in bytes.
func (o Opcode) Size() int {
	p := partsOf[o]
	n := BTHSize
	for _, part := range [...]struct {
		of    parts
		bytes int
	}{{xrceth, 4}, {deth, 8}, {reth, 16}, {atomicETH, 28}, {aeth, 4}, {atomicAckETH, 8}, {immDt, 4}, {ieth, 4}} {
		if p&part.of != 0 {
			n += part.bytes
		}
	}
	return n
}

// HasPayload says whether a packet of the opcode may have one.
func (o Opcode) HasPayload() bool { return partsOf[o]&payload != 0 }

// Get reads the header at the start of b, each byte once, and returns how many bytes it has. Reserved bits are
// ignored, as the specification says. Error: ErrMalformed for an unknown opcode, another version, or too few bytes.
func (h *Header) Get(b []byte) (int, error) {
	if len(b) < BTHSize {
		return 0, fmt.Errorf("%w: %d bytes", ErrMalformed, len(b))
	}
	*h = Header{Opcode: Opcode(b[0])}
	p := partsOf[h.Opcode]
	flags := b[1]
	switch {
	case p&valid == 0:
		return 0, fmt.Errorf("%w: opcode %v", ErrMalformed, h.Opcode)
	case flags&0xf != 0:
		return 0, fmt.Errorf("%w: transport header version %d", ErrMalformed, flags&0xf)
	}
	h.Solicited, h.Migrated, h.Pad = flags&0x80 != 0, flags&0x40 != 0, flags>>4&3
	h.PKey = binary.BigEndian.Uint16(b[2:])
	to, at := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	h.FECN, h.BECN, h.DestinationQP = to>>31 != 0, to>>30&1 != 0, to&PSNMask
	h.AckRequest, h.PSN = at>>31 != 0, at&PSNMask
	n := BTHSize
	if p&^(valid|payload|response) == 0 {
		return n, nil
	}
	if size := h.Opcode.Size(); len(b) < size {
		return 0, fmt.Errorf("%w: %d bytes of a header of %d", ErrMalformed, len(b), size)
	}
	return h.getExtended(b, n, p), nil
}

// getExtended reads what follows the base transport header at n.
func (h *Header) getExtended(b []byte, n int, p parts) int {
	if p&xrceth != 0 {
		h.SRQ = get24(b[n:])
		n += 4
	}
	if p&deth != 0 {
		h.QKey, h.SourceQP = binary.BigEndian.Uint32(b[n:]), get24(b[n+4:])
		n += 8
	}
	if p&(reth|atomicETH) != 0 {
		h.Address, h.RKey = binary.BigEndian.Uint64(b[n:]), binary.BigEndian.Uint32(b[n+8:])
		n += 12
	}
	if p&reth != 0 {
		h.Length = binary.BigEndian.Uint32(b[n:])
		n += 4
	}
	if p&atomicETH != 0 {
		h.SwapAdd, h.Compare = binary.BigEndian.Uint64(b[n:]), binary.BigEndian.Uint64(b[n+8:])
		n += 16
	}
	if p&aeth != 0 {
		v := binary.BigEndian.Uint32(b[n:])
		h.Syndrome, h.MSN = uint8(v>>24), v&PSNMask
		n += 4
	}
	if p&atomicAckETH != 0 {
		h.Original = binary.BigEndian.Uint64(b[n:])
		n += 8
	}
	if p&immDt != 0 {
		h.Immediate = binary.BigEndian.Uint32(b[n:])
		n += 4
	}
	if p&ieth != 0 {
		h.Invalidate = binary.BigEndian.Uint32(b[n:])
		n += 4
	}
	return n
}

// Split divides the contents of a datagram, from the base transport header to the invariant CRC, and leaves padding
// and CRC out. Error: ErrMalformed, also for a payload where the opcode has none.
func Split(datagram []byte) (header, data []byte, err error) {
	var h Header
	n, err := h.Get(datagram)
	if err != nil {
		return nil, nil, err
	}
	rest := len(datagram) - n - int(h.Pad) - ICRCSize
	switch {
	case rest < 0, (rest+int(h.Pad))&3 != 0:
		return nil, nil, fmt.Errorf("%w: %v of %d bytes", ErrMalformed, h.Opcode, len(datagram))
	case rest > 0 && !h.Opcode.HasPayload():
		return nil, nil, fmt.Errorf("%w: %v with %d bytes of payload", ErrMalformed, h.Opcode, rest)
	}
	return datagram[:n], datagram[n : n+rest], nil
}
