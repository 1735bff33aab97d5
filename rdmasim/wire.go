package rdmasim

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Packets on an owner's socket. All integers are little-endian, packets have a fixed size, and reserved bytes
// are zero. The owner greets with a hello (with the control page's descriptor). A peer joins (with its
// ledger's descriptor), then asks for regions, any number of times, and gets a reply to each (with the
// payload's descriptor if it says success). Whoever wants a list only doesn't join, and asks for one region
// after the other. The owner also sends a notice when it deregisters a region that has been handed out.
const (
	wireMagic   = 0x4d445246 // "FRDM"
	wireVersion = 2

	requestSize = 48
	messageSize = 256
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
	nil, ErrProtocol, ErrPermission, ErrUnknownAddress, ErrFreed, ErrAccess, ErrResources, ErrKey,
}

// checkVersion is what both sides do first with a packet.
func checkVersion(b []byte) error {
	le := binary.LittleEndian
	if len(b) < 8 || le.Uint32(b) != wireMagic {
		return fmt.Errorf("%w: packet begins %x", ErrProtocol, b[:min(len(b), 8)])
	}
	if v := le.Uint16(b[4:]); v != wireVersion {
		return fmt.Errorf("%w: the other side speaks version %d, this one %d", ErrProtocol, v, wireVersion)
	}
	return nil
}

// request is what a peer sends.
type request struct {
	kind    uint16
	tag     uint32 // comes back in the reply
	access  Access // resolve: rights that the region must grant
	address uint64 // resolve: in the region; next: the lowest that the region's base may be
	key     uint64 // resolve: the key that the region must have, 0 for any
	entry   uint32 // resolve: the ledger's entry for the region; join: number of entries
}

func (q request) encode() []byte {
	b := make([]byte, requestSize)
	le := binary.LittleEndian
	le.PutUint32(b[0:], wireMagic)
	le.PutUint16(b[4:], wireVersion)
	le.PutUint16(b[6:], q.kind)
	le.PutUint32(b[8:], q.tag)
	le.PutUint32(b[12:], uint32(q.access))
	le.PutUint64(b[16:], q.address)
	le.PutUint64(b[24:], q.key)
	le.PutUint32(b[32:], q.entry)
	return b
}

func decodeRequest(b []byte) (request, error) {
	if err := checkVersion(b); err != nil {
		return request{}, err
	}
	if len(b) != requestSize {
		return request{}, fmt.Errorf("%w: request of %d bytes", ErrProtocol, len(b))
	}
	le := binary.LittleEndian
	q := request{
		kind: le.Uint16(b[6:]), tag: le.Uint32(b[8:]), access: Access(le.Uint32(b[12:])),
		address: le.Uint64(b[16:]), key: le.Uint64(b[24:]), entry: le.Uint32(b[32:]),
	}
	switch q.kind {
	case kindJoin, kindResolve, kindNext:
	default:
		return request{}, fmt.Errorf("%w: request of kind %d", ErrProtocol, q.kind)
	}
	if q.access&^AccessAll != 0 || le.Uint32(b[36:]) != 0 || le.Uint64(b[40:]) != 0 {
		return request{}, fmt.Errorf("%w: request with reserved bits", ErrProtocol)
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
	access     Access
	generation uint64 // value of the word while the region is valid
	key        uint64
	device     [16]byte
	counters   Counters // in the answer to next
	peers      uint32   // likewise: how many have the region
	name       string
}

func (m message) encode() []byte {
	b := make([]byte, messageSize)
	le := binary.LittleEndian
	le.PutUint32(b[0:], wireMagic)
	le.PutUint16(b[4:], wireVersion)
	le.PutUint16(b[6:], m.kind)
	le.PutUint32(b[8:], uint32(m.status))
	le.PutUint32(b[12:], m.tag)
	le.PutUint64(b[16:], m.base)
	le.PutUint64(b[24:], m.length)
	le.PutUint64(b[32:], m.offset)
	le.PutUint32(b[40:], m.slot)
	le.PutUint32(b[44:], uint32(m.access))
	le.PutUint64(b[48:], m.generation)
	le.PutUint64(b[56:], m.key)
	copy(b[64:80], m.device[:])
	le.PutUint64(b[80:], m.counters.Reads)
	le.PutUint64(b[88:], m.counters.Writes)
	le.PutUint64(b[96:], m.counters.Atomics)
	le.PutUint64(b[104:], m.counters.BytesRead)
	le.PutUint64(b[112:], m.counters.BytesWritten)
	le.PutUint32(b[120:], m.peers)
	le.PutUint32(b[124:], uint32(copy(b[128:], m.name)))
	return b
}

func decodeMessage(b []byte) (message, error) {
	if err := checkVersion(b); err != nil {
		return message{}, err
	}
	if len(b) != messageSize {
		return message{}, fmt.Errorf("%w: message of %d bytes", ErrProtocol, len(b))
	}
	le := binary.LittleEndian
	m := message{
		kind: le.Uint16(b[6:]), status: wireStatus(le.Uint32(b[8:])), tag: le.Uint32(b[12:]),
		base: le.Uint64(b[16:]), length: le.Uint64(b[24:]), offset: le.Uint64(b[32:]),
		slot: le.Uint32(b[40:]), access: Access(le.Uint32(b[44:])), generation: le.Uint64(b[48:]),
		key: le.Uint64(b[56:]), device: [16]byte(b[64:80]), peers: le.Uint32(b[120:]),
		counters: Counters{
			Reads: le.Uint64(b[80:]), Writes: le.Uint64(b[88:]), Atomics: le.Uint64(b[96:]),
			BytesRead: le.Uint64(b[104:]), BytesWritten: le.Uint64(b[112:]),
		},
	}
	if m.kind != kindHello && m.kind != kindReply && m.kind != kindRevoked ||
		m.status >= wireStatuses || m.access&^AccessAll != 0 {
		return message{}, fmt.Errorf("%w: message with unknown fields", ErrProtocol)
	}
	name, rest := b[128:], le.Uint32(b[124:])
	if rest > nameSize || !utf8.Valid(name[:rest]) {
		return message{}, fmt.Errorf("%w: name of %d bytes", ErrProtocol, rest)
	}
	m.name = string(name[:rest])
	for _, c := range name[rest:] {
		if c != 0 {
			return message{}, fmt.Errorf("%w: message with reserved bits", ErrProtocol)
		}
	}
	return m, nil
}

// check holds a successful reply of the owner with this id against what a region can be, so that nothing
// that an owner says makes the peer touch memory outside of a mapping.
func (m message) check(id uint32, address uint64, slots uint32) error {
	owner, offset, ok := splitAddress(m.base)
	switch {
	case !ok || owner != id,
		m.length == 0 || m.length > offsetMask || offset+m.length > 1<<offsetBits,
		address < m.base || address-m.base >= m.length,
		m.offset > 1<<62 || (m.offset^m.base)&(pageSize-1) != 0,
		m.slot == ownerSlot || m.slot >= slots,
		m.generation&1 == 0:
		return fmt.Errorf("%w: impossible region %#x+%#x", ErrProtocol, m.base, m.length)
	}
	return nil
}

// info is what a message says of a region; the owner is who sent it.
func (m message) info(pid int, uid uint32) RegionInfo {
	return RegionInfo{
		Address: m.base, Length: m.length, Key: m.key, Access: m.access,
		PID: pid, UID: uid, DeviceUUID: m.device, Name: m.name,
	}
}
