package rdmasim

import (
	"encoding/binary"
	"fmt"
)

// Access is the set of operations that peers may use on a region.
type Access uint32

// The rights of a region, as IBV_ACCESS_REMOTE_READ, _WRITE and _ATOMIC.
const (
	AccessRead Access = 1 << iota
	AccessWrite
	AccessAtomic

	AccessAll = AccessRead | AccessWrite | AccessAtomic
)

// String names the rights: "read|write|atomic".
func (a Access) String() string {
	if a == 0 {
		return "none"
	}
	s := ""
	for i, n := range [...]string{"read", "write", "atomic"} {
		if a&(1<<i) != 0 {
			if s != "" {
				s += "|"
			}
			s += n
		}
	}
	if a&^AccessAll != 0 {
		s += fmt.Sprintf("|%#x", uint32(a&^AccessAll))
	}
	return s
}

// Packets on an owner's socket. All integers are little-endian, packets have a fixed size, and reserved bytes
// are zero. The owner greets with a hello (with the control page's descriptor); a peer then asks, any number
// of times, and gets a reply to each (with the payload's descriptor if it says success). The owner also
// sends a notice when it deregisters a region that has been handed out.
const (
	wireMagic   = 0x4d445246 // "FRDM"
	wireVersion = 1

	requestSize = 32
	messageSize = 64
)

const (
	kindHello   = 1
	kindResolve = 2
	kindReply   = 3
	kindRevoked = 4
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
	wireStatuses
)

var wireErrors = [wireStatuses]error{nil, ErrProtocol, ErrPermission, ErrUnknownAddress, ErrFreed, ErrAccess, ErrResources}

// request asks for the region around an address.
type request struct {
	tag     uint32 // comes back in the reply
	access  Access // rights that the region must grant
	address uint64
}

func (q request) encode() []byte {
	b := make([]byte, requestSize)
	le := binary.LittleEndian
	le.PutUint32(b[0:], wireMagic)
	le.PutUint16(b[4:], wireVersion)
	le.PutUint16(b[6:], kindResolve)
	le.PutUint32(b[8:], q.tag)
	le.PutUint32(b[12:], uint32(q.access))
	le.PutUint64(b[16:], q.address)
	return b
}

func decodeRequest(b []byte) (request, error) {
	le := binary.LittleEndian
	if len(b) != requestSize {
		return request{}, fmt.Errorf("%w: request of %d bytes", ErrProtocol, len(b))
	}
	if le.Uint32(b) != wireMagic || le.Uint16(b[4:]) != wireVersion || le.Uint16(b[6:]) != kindResolve {
		return request{}, fmt.Errorf("%w: request begins %x", ErrProtocol, b[:8])
	}
	q := request{tag: le.Uint32(b[8:]), access: Access(le.Uint32(b[12:])), address: le.Uint64(b[16:])}
	if q.access&^AccessAll != 0 || le.Uint64(b[24:]) != 0 {
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
	return b
}

func decodeMessage(b []byte) (message, error) {
	le := binary.LittleEndian
	if len(b) != messageSize {
		return message{}, fmt.Errorf("%w: message of %d bytes", ErrProtocol, len(b))
	}
	if le.Uint32(b) != wireMagic || le.Uint16(b[4:]) != wireVersion {
		return message{}, fmt.Errorf("%w: message begins %x", ErrProtocol, b[:8])
	}
	m := message{
		kind: le.Uint16(b[6:]), status: wireStatus(le.Uint32(b[8:])), tag: le.Uint32(b[12:]),
		base: le.Uint64(b[16:]), length: le.Uint64(b[24:]), offset: le.Uint64(b[32:]),
		slot: le.Uint32(b[40:]), access: Access(le.Uint32(b[44:])), generation: le.Uint64(b[48:]),
	}
	if m.kind != kindHello && m.kind != kindReply && m.kind != kindRevoked ||
		m.status >= wireStatuses || m.access&^AccessAll != 0 || le.Uint64(b[56:]) != 0 {
		return message{}, fmt.Errorf("%w: message with unknown fields", ErrProtocol)
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
