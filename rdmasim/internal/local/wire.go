package local

import (
	"encoding/binary"
	"fmt"

	"farside/rdmasim/internal/verbs"
	"farside/rdmasim/internal/wire"
)

// Packets on an owner's socket. All integers are little-endian, packets have a fixed size, and reserved bytes are
// zero. The owner greets with a hello (with the control page's descriptor). A peer joins (with its ledger's
// descriptor), then asks for regions, any number of times, and gets a reply to each (with the payload's descriptor
// if it says success). Of operations on strict regions it tells the owner (strict.go). Whoever wants a list only
// doesn't join, and asks for one region after the other. The owner also sends a notice when it deregisters a
// region that has been handed out.
const (
	// socketPrefix begins the abstract unix addresses at which owners answer; net's notation.
	socketPrefix = "@farside-rdma-"

	wireMagic   = 0x4d445246 // "FRDM"
	wireVersion = 3

	requestSize = 80
	messageSize = 260
	// nameSize bounds a region's name, bytes of UTF-8.
	nameSize = 128
)

const (
	kindHello   = 1
	kindResolve = 2
	kindReply   = 3
	kindRevoked = 4
	kindJoin    = 5
	kindNext    = 6

	// Of regions that are strict; see strict.go.
	kindAnnounce = 7
	kindPerform  = 8
	kindKnown    = 9
)

// wireStatus is the outcome in a reply or a hello.
type wireStatus uint32

const (
	wireOK wireStatus = iota
	wireBadRequest
	wireDenied
	wireUnknown
	wireFreed
	wireAccess
	wireBusy
	wireKey
	wireStatuses
)

var wireErrors = [wireStatuses]error{
	nil, verbs.ErrProtocol, verbs.ErrPermission, verbs.ErrUnknownAddress, verbs.ErrFreed, verbs.ErrAccess,
	verbs.ErrResources, verbs.ErrKey,
}

// checkVersion is what both sides do first with a packet.
func checkVersion(b []byte) error {
	le := binary.LittleEndian
	if len(b) < 8 || le.Uint32(b) != wireMagic {
		return fmt.Errorf("%w: packet begins %x", verbs.ErrProtocol, b[:min(len(b), 8)])
	}
	if v := le.Uint16(b[4:]); v != wireVersion {
		return fmt.Errorf("%w: the other side speaks version %d, this one %d", verbs.ErrProtocol, v, wireVersion)
	}
	return nil
}

// request is what a peer sends.
type request struct {
	kind    uint16
	tag     uint32       // comes back in the reply
	access  verbs.Access // resolve: rights that the region must grant
	address uint64       // resolve: in the region; next: the lowest that the region's base may be
	key     uint64       // resolve: the key that the region must have, 0 for any
	entry   uint32       // resolve: the ledger's entry for the region; join: number of entries

	// Announce, perform and known. The address of a piece of a write is that of the piece.
	opcode verbs.Opcode
	fence  bool   // announce: reads and atomics of the flow before it are done when it begins
	flow   uint64 // the peer's queue pair
	number uint64 // of the operation in the flow; known: of the last one
	length uint64 // bytes
}

// layout is the fields of a packet in their order.
func (q *request) layout(c *wire.Codec) {
	layoutHead(c, &q.kind)
	wire.Uint32(c, &q.tag)
	wire.Uint32(c, &q.access)
	wire.Uint64(c, &q.address)
	wire.Uint64(c, &q.key)
	wire.Uint32(c, &q.entry)
	wire.Uint8(c, &q.opcode)
	c.Flag(&q.fence)
	wire.Uint64(c, &q.flow)
	wire.Uint64(c, &q.number)
	wire.Uint64(c, &q.length)
	c.Reserved(18)
}

// layoutHead is what every packet begins with. A reader has checked magic and version before.
func layoutHead(c *wire.Codec, kind *uint16) {
	magic, version := uint32(wireMagic), uint16(wireVersion)
	wire.Uint32(c, &magic)
	wire.Uint16(c, &version)
	wire.Uint16(c, kind)
}

func (q request) encode() []byte { return wire.Encode(make([]byte, 0, requestSize), q.layout) }

func decodeRequest(b []byte) (q request, err error) {
	if err := checkVersion(b); err != nil {
		return request{}, err
	}
	err = wire.Decode(b, q.layout)
	known := q.kind == kindJoin || q.kind == kindResolve || q.kind >= kindNext && q.kind <= kindKnown
	if err != nil || !known || q.access&^verbs.AccessAll != 0 {
		return request{}, fmt.Errorf("%w: request of kind %d, %d bytes", verbs.ErrProtocol, q.kind, len(b))
	}
	return q, nil
}

// message is what an owner sends.
type message struct {
	kind       uint16
	status     wireStatus
	tag        uint32
	base       uint64 // remote address of the region's first byte
	length     uint64 // bytes
	offset     uint64 // of the region in its payload, bytes
	slot       uint32 // the region's word in the control page; in a hello, the number of words
	access     verbs.Access
	generation uint64 // value of the word while the region is valid
	key        uint64
	device     [16]byte
	counters   verbs.Counters // in the answer to next
	peers      uint32         // likewise: how many have the region
	strict     bool           // the owner wants to be told of operations
	name       string
}

// layout is the fields of a packet in their order.
func (m *message) layout(c *wire.Codec) {
	layoutHead(c, &m.kind)
	wire.Uint32(c, &m.status)
	wire.Uint32(c, &m.tag)
	wire.Uint64(c, &m.base)
	wire.Uint64(c, &m.length)
	wire.Uint64(c, &m.offset)
	wire.Uint32(c, &m.slot)
	wire.Uint32(c, &m.access)
	wire.Uint64(c, &m.generation)
	wire.Uint64(c, &m.key)
	c.Bytes(m.device[:])
	n := &m.counters
	for _, p := range []*uint64{&n.Reads, &n.Writes, &n.Atomics, &n.BytesRead, &n.BytesWritten} {
		wire.Uint64(c, p)
	}
	wire.Uint32(c, &m.peers)
	c.Flag(&m.strict)
	c.Reserved(3)
	c.PaddedText(&m.name, nameSize)
}

func (m message) encode() []byte { return wire.Encode(make([]byte, 0, messageSize), m.layout) }

func decodeMessage(b []byte) (m message, err error) {
	if err := checkVersion(b); err != nil {
		return message{}, err
	}
	err = wire.Decode(b, m.layout)
	known := m.kind == kindHello || m.kind == kindReply || m.kind == kindRevoked
	if err != nil || !known || m.status >= wireStatuses || m.access&^verbs.AccessAll != 0 {
		return message{}, fmt.Errorf("%w: message of kind %d, %d bytes", verbs.ErrProtocol, m.kind, len(b))
	}
	return m, nil
}

// check holds a successful reply of the owner with this id against what a region can be, so that nothing
// that an owner says makes the peer touch memory outside of a mapping.
func (m message) check(id uint32, address uint64, slots uint32) error {
	info := m.info(0, 0)
	switch {
	case info.Owner() != id || !info.Possible(address),
		m.offset > 1<<62 || (m.offset^m.base)&(verbs.PageSize-1) != 0,
		m.slot == ownerSlot || m.slot >= slots,
		m.generation&1 == 0:
		return fmt.Errorf("%w: impossible region %#x+%#x", verbs.ErrProtocol, m.base, m.length)
	}
	return nil
}

// info is what a message says of a region; the owner is who sent it.
func (m message) info(pid int, uid uint32) verbs.RegionInfo {
	return verbs.RegionInfo{
		Address: m.base, Length: m.length, Key: m.key, Access: m.access,
		PID: pid, UID: uid, DeviceUUID: m.device, Name: m.name, Strict: m.strict,
	}
}

// socketName is the address at which the owner with an id answers.
func socketName(id uint32) string { return fmt.Sprintf(socketPrefix+"%05x", id) }
