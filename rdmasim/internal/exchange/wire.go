package exchange

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"farside/rdmasim/internal/ofi"
)

// protocol names version 1 in the handshake.
const protocol = "farside-fabric/1"

const (
	maxMessage = 1024 // bytes behind a message's head
	maxString  = 255
	headSize   = 4
)

type kind uint16

const (
	kindHello       kind = 1 + iota // target
	kindResolve                     // tag, question
	kindReply                       // tag, outcome, description if that is OK
	kindRevoke                      // number, outcome
	kindAcknowledge                 // number
)

// ErrProtocol says that the other side speaks another version of the protocol, or nonsense.
var ErrProtocol = errors.New("exchange: protocol mismatch")

// Question asks for the region around an address.
type Question struct {
	Address uint64
	Key     uint64 // that the region must have, 0 for any
	Access  uint32 // rights that it must grant, as bits of rdmasim.Access
}

// Outcome is the server's answer to a question, or why a region has ended. The numbers are the users', save
// for 0, which is success.
type Outcome uint32

// Description is a region as a peer sees it.
type Description struct {
	Number     uint64 // of the region at this server, never used again
	Address    uint64 // remote address of the first byte
	Length     uint64 // bytes
	Key        uint64 // the region's
	Access     uint32 // what the owner grants, as bits of rdmasim.Access
	PID        uint32 // of the owner, on its host
	UID        uint32
	DeviceUUID [16]byte
	Name       string     // for people, at most 255 bytes
	Remote     ofi.Remote // for the library
}

// message has the fields of all kinds; the zero value is in those that a kind doesn't have.
type message struct {
	kind        kind
	tag         uint32
	number      uint64
	target      ofi.Address
	question    Question
	outcome     Outcome
	description Description
}

func (m *message) encode() []byte {
	le := binary.LittleEndian
	b := le.AppendUint16(make([]byte, 0, 256), uint16(m.kind))
	b = le.AppendUint16(b, 0)
	switch m.kind {
	case kindHello:
		b = appendString(b, m.target.Provider)
		b = appendString(b, string(m.target.Name))
		b = appendRemote(b, m.target.Pulse)
	case kindResolve:
		b = le.AppendUint32(b, m.tag)
		b = le.AppendUint64(b, m.question.Address)
		b = le.AppendUint64(b, m.question.Key)
		b = le.AppendUint32(b, m.question.Access)
	case kindReply:
		b = le.AppendUint32(b, m.tag)
		b = le.AppendUint32(b, uint32(m.outcome))
		if m.outcome != 0 {
			break
		}
		d := &m.description
		b = le.AppendUint64(b, d.Number)
		b = le.AppendUint64(b, d.Address)
		b = le.AppendUint64(b, d.Length)
		b = le.AppendUint64(b, d.Key)
		b = le.AppendUint32(b, d.Access)
		b = le.AppendUint32(b, d.PID)
		b = le.AppendUint32(b, d.UID)
		b = append(b, d.DeviceUUID[:]...)
		b = appendString(b, d.Name)
		b = appendRemote(b, d.Remote)
	case kindRevoke:
		b = le.AppendUint32(le.AppendUint64(b, m.number), uint32(m.outcome))
	case kindAcknowledge:
		b = le.AppendUint64(b, m.number)
	}
	le.PutUint16(b[2:], uint16(len(b)-headSize))
	return b
}

// appendString cuts what is too long.
func appendString(b []byte, s string) []byte {
	s = s[:min(len(s), maxString)]
	return append(append(b, byte(len(s))), s...)
}

func appendRemote(b []byte, r ofi.Remote) []byte {
	le := binary.LittleEndian
	return le.AppendUint64(le.AppendUint64(le.AppendUint64(b, r.Base), r.Length), r.Key)
}

// reader takes fields off a message. After the end they are zero, and short is set.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.short, r.rest = true, nil
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u32() uint32    { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) u64() uint64    { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *reader) string() string { return string(r.take(int(r.take(1)[0]))) }

func (r *reader) remote() ofi.Remote {
	return ofi.Remote{Base: r.u64(), Length: r.u64(), Key: r.u64()}
}

// decode makes a message of what lies behind a head.
func decode(k kind, b []byte) (*message, error) {
	r := reader{rest: b}
	m := &message{kind: k}
	switch k {
	case kindHello:
		m.target.Provider = r.string()
		m.target.Name = []byte(r.string())
		m.target.Pulse = r.remote()
	case kindResolve:
		m.tag = r.u32()
		m.question = Question{Address: r.u64(), Key: r.u64(), Access: r.u32()}
	case kindReply:
		m.tag = r.u32()
		m.outcome = Outcome(r.u32())
		if m.outcome != 0 {
			break
		}
		m.description = Description{Number: r.u64(), Address: r.u64(), Length: r.u64(), Key: r.u64(),
			Access: r.u32(), PID: r.u32(), UID: r.u32(), DeviceUUID: [16]byte(r.take(16)),
			Name: r.string(), Remote: r.remote()}
		d := &m.description
		if !utf8.ValidString(d.Name) || d.Length == 0 || d.Address+d.Length < d.Address || d.Remote.Length != d.Length {
			return nil, fmt.Errorf("%w: impossible region %#x+%#x", ErrProtocol, d.Address, d.Length)
		}
	case kindRevoke:
		m.number, m.outcome = r.u64(), Outcome(r.u32())
	case kindAcknowledge:
		m.number = r.u64()
	default:
		return nil, fmt.Errorf("%w: message of kind %d", ErrProtocol, k)
	}
	if r.short || len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: message of kind %d with %d bytes", ErrProtocol, k, len(b))
	}
	return m, nil
}

// receive reads the next message. Its error is ErrProtocol or the reader's.
func receive(r io.Reader) (*message, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	k, n := kind(binary.LittleEndian.Uint16(head[:])), binary.LittleEndian.Uint16(head[2:])
	if n > maxMessage {
		return nil, fmt.Errorf("%w: message of %d bytes", ErrProtocol, n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	return decode(k, b)
}
