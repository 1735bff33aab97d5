package exchange

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"

	"farside/rdmasim/internal/wire"
)

// protocol names the version in the handshake.
const protocol = "farside-fabric/3"

const (
	// MaxData bounds the bytes that one message brings.
	MaxData = 1 << shiftData
	// maxFields bounds the fields of a message, in bytes.
	maxFields = 1024
	headSize  = 4
	shiftData = 18
)

type kind uint16

const (
	kindHello kind = 1 + iota
	kindResolve
	kindReply
	kindRead
	kindWrite
	kindAtomic
	kindData
	kindDone
	kindAnnounce
	kindKnown
	kindReadOf // a read, a write or an atomic that has been announced
	kindWriteOf
	kindAtomicOf
)

// ErrProtocol says that the other side speaks another version of the protocol, or nonsense.
var ErrProtocol = errors.New("exchange: protocol mismatch")

// Question asks for the region around an address.
type Question struct {
	Address uint64
	Key     uint64 // that the region must have, 0 for any
	Access  uint32 // rights that it must grant, as bits of rdmasim.Access
}

// Outcome is a server's answer, 0 for success. The other numbers are the users'.
type Outcome uint32

// Description is a region as a peer sees it.
type Description struct {
	Address    uint64 // remote address of the first byte
	Length     uint64 // bytes
	Key        uint64 // no two regions have the same
	Access     uint32 // what the owner grants, as bits of rdmasim.Access
	PID        uint32 // of the owner, on its host
	UID        uint32
	DeviceUUID [16]byte
	Strict     bool   // its owner looks at the order of operations
	Name       string // for people, at most 255 bytes
}

// Place is where an operation begins. The key says which region is meant, as another one may have got the
// address meanwhile.
type Place struct {
	Address uint64
	Key     uint64
}

// Atomic is an atomic operation on a word.
type Atomic struct {
	Place
	Opcode  uint8 // as rdmasim.Opcode
	Width   uint8 // bytes of the word
	Operand uint64
	Compare uint64
}

// Operation is work on a strict region, as rdmasim's verbs.Operation.
type Operation struct {
	Flow   uint64 // the client's queue pair
	Number uint64 // in the flow
	Length uint64 // of all of it, bytes
	Opcode uint8  // as rdmasim.Opcode
	Fence  bool
}

func (o *Operation) layout(c *wire.Codec) {
	wire.Uint64(c, &o.Flow)
	wire.Uint64(c, &o.Number)
	wire.Uint64(c, &o.Length)
	wire.Uint8(c, &o.Opcode)
	c.Flag(&o.Fence)
}

// message has the fields of all kinds; the zero value is in those that a kind doesn't have.
type message struct {
	kind        kind
	tag         uint32
	question    Question
	outcome     Outcome
	description Description
	place       Place
	size        uint32 // of a read, or of the bytes behind a write or data
	atomic      Atomic
	operation   Operation
	old         uint64
}

// layout is the fields of a kind.
func (m *message) layout(c *wire.Codec) {
	if m.kind != kindHello {
		wire.Uint32(c, &m.tag)
	}
	switch m.kind {
	case kindHello:
		wire.Uint32(c, &m.outcome)
	case kindResolve:
		q := &m.question
		wire.Uint64(c, &q.Address)
		wire.Uint64(c, &q.Key)
		wire.Uint32(c, &q.Access)
	case kindReply:
		wire.Uint32(c, &m.outcome)
		if m.outcome == 0 {
			m.description.layout(c)
		}
	case kindAnnounce, kindKnown:
		m.place.layout(c)
		m.operation.layout(c)
	case kindRead, kindWrite, kindReadOf, kindWriteOf:
		m.place.layout(c)
		wire.Uint32(c, &m.size)
		if m.kind >= kindReadOf {
			m.operation.layout(c)
		}
	case kindAtomic, kindAtomicOf:
		a := &m.atomic
		a.Place.layout(c)
		wire.Uint8(c, &a.Opcode)
		wire.Uint8(c, &a.Width)
		wire.Uint64(c, &a.Operand)
		wire.Uint64(c, &a.Compare)
		if m.kind == kindAtomicOf {
			m.operation.layout(c)
		}
	case kindData:
		wire.Uint32(c, &m.outcome)
		wire.Uint32(c, &m.size)
	case kindDone:
		wire.Uint32(c, &m.outcome)
		wire.Uint64(c, &m.old)
	}
}

func (d *Description) layout(c *wire.Codec) {
	wire.Uint64(c, &d.Address)
	wire.Uint64(c, &d.Length)
	wire.Uint64(c, &d.Key)
	wire.Uint32(c, &d.Access)
	wire.Uint32(c, &d.PID)
	wire.Uint32(c, &d.UID)
	c.Bytes(d.DeviceUUID[:])
	c.Flag(&d.Strict)
	c.Text(&d.Name)
}

func (p *Place) layout(c *wire.Codec) {
	wire.Uint64(c, &p.Address)
	wire.Uint64(c, &p.Key)
}

// append encodes a message, without the bytes behind it.
func (m *message) append(b []byte) []byte {
	head := len(b)
	b = binary.LittleEndian.AppendUint16(b, uint16(m.kind))
	b = wire.Encode(append(b, 0, 0), m.layout)
	binary.LittleEndian.PutUint16(b[head+2:], uint16(len(b)-head-headSize))
	return b
}

// check holds a message that has been decoded against what it can be.
func (m *message) check() error {
	d := &m.description
	switch {
	case m.kind < kindHello || m.kind > kindAtomicOf,
		m.size > MaxData,
		m.kind == kindData && m.outcome != 0 && m.size != 0,
		m.kind == kindReply && m.outcome == 0 && (d.Length == 0 || d.Address+d.Length < d.Address):
		return fmt.Errorf("%w: impossible message of kind %d", ErrProtocol, m.kind)
	}
	return nil
}

// receive reads the next message, without the bytes behind it. The reader's buffer has room for any. Its error
// is ErrProtocol or the reader's.
func receive(r *bufio.Reader) (*message, error) {
	b, err := r.Peek(headSize)
	if err != nil {
		return nil, err
	}
	m := &message{kind: kind(binary.LittleEndian.Uint16(b))}
	n := headSize + int(binary.LittleEndian.Uint16(b[2:]))
	if n > headSize+maxFields {
		return nil, fmt.Errorf("%w: message of %d bytes", ErrProtocol, n)
	}
	if b, err = r.Peek(n); err != nil {
		return nil, err
	}
	if err := wire.Decode(b[headSize:], m.layout); err != nil {
		return nil, fmt.Errorf("%w: kind %d: %w", ErrProtocol, m.kind, err)
	}
	_, _ = r.Discard(n) // what was peeked at is there
	return m, m.check()
}
