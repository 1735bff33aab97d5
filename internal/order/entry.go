package order

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"sync"
)

// What a process tells others stands in its log: a header, and entries that are appended. An entry is
//
//	word  bytes that follow this one and the next
//	word  CRC-32C of these bytes
//	byte  kind
//	      what the kind has, in words of 8 bytes; clocks as pairs behind their number
//
// in little-endian. Nothing of what a log says is trusted.

type entryKind uint8

const (
	entryAccess entryKind = iota + 1
	entryPoint            // a signal was given, or is about to be
	entryHost             // what the host has learned
	entrySame             // two numbers name the same memory
	entryMoved            // the log goes on in another file of the same name
)

const (
	headerMagic   = "FARSIDEO"
	headerVersion = 2
	headerSize    = 8 + 4 + 4 + 8 + 16 // magic, version, process id, first agent, the process' name

	mostEntry = 64 << 10 // bytes
	mostText  = 400      // bytes
	mostClock = 2048     // agents
)

// errEntry is what reading a log fails with that has nonsense in it.
var errEntry = errors.New("not an entry of a log")

// castagnoli is made when it is first needed, as it takes 0.2 ms.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// header is what a log begins with.
type header struct {
	process uint32
	first   Agent
	name    string
}

func (h *header) encode() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte(headerMagic), headerVersion)
	b = le.AppendUint32(b, h.process)
	b = le.AppendUint64(b, uint64(h.first))
	name := make([]byte, 16)
	copy(name, h.name)
	return append(b, name...)
}

func parseHeader(b []byte) (h header, err error) {
	le := binary.LittleEndian
	if len(b) < headerSize || string(b[:8]) != headerMagic || le.Uint32(b[8:]) != headerVersion {
		return h, errEntry
	}
	h = header{process: le.Uint32(b[12:]), first: Agent(le.Uint64(b[16:]))}
	if h.first&(1<<agentBits-1) != 0 {
		return h, errEntry
	}
	name, _, _ := strings.Cut(string(b[24:headerSize]), "\x00")
	h.name = printable(name)
	return h, nil
}

// printable is text of another process that may stand in a line of a message.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfffd {
			return '?'
		}
		return r
	}, s)
}

// entry is one entry; which fields count depends on the kind.
type entry struct {
	kind   entryKind
	record record // of an access; its number is also that of a point
	memory uint64
	other  uint64 // of entrySame
	key    Key
	value  uint64
	known  Known
}

// The flags of an access.
const (
	flagWrites = 1 << iota
	flagMay
	flagWay    = 1 << 8  // times the way
	flagKind   = 1 << 16 // times the kind
	flagFamily = 1 << 32 // times the queue family
)

// append appends the entry to b.
func (e *entry) append(b []byte) []byte {
	le := binary.LittleEndian
	begin := len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, byte(e.kind))
	words := func(list ...uint64) {
		for _, w := range list {
			b = le.AppendUint64(b, w)
		}
	}
	r := &e.record
	switch e.kind {
	case entryAccess:
		flags := uint64(r.Way)*flagWay | uint64(r.Kind)*flagKind | uint64(r.Family)*flagFamily
		if r.Writes {
			flags |= flagWrites
		}
		if r.May {
			flags |= flagMay
		}
		words(e.memory, uint64(r.agent), r.epoch, r.number, r.Begin, r.End, r.Command, flags,
			uint64(r.owner), uint64(r.Old)|uint64(r.New)<<32)
		b = append(b, r.Text[:min(len(r.Text), mostText)]...)
	case entryPoint:
		words(uint64(e.key.Scope), e.key.ID, e.value, r.number)
		b = e.known.append(b)
	case entryHost:
		b = e.known.append(b)
	case entrySame:
		words(e.memory, e.other)
	}
	body := b[begin+8:]
	le.PutUint32(b[begin:], uint32(len(body)))
	le.PutUint32(b[begin+4:], crc32.Checksum(body, castagnoli()))
	return b
}

func (k *Known) append(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, k.floor)
	b = le.AppendUint64(b, uint64(len(k.clock)))
	for a, epoch := range k.clock {
		b = le.AppendUint64(le.AppendUint64(b, uint64(a)), epoch)
	}
	return b
}

// parseEntry reads the entry at the begin of b. It returns how long it is, 0 if b ends before it does.
func parseEntry(b []byte) (e entry, size int, err error) {
	le := binary.LittleEndian
	if len(b) < 8 {
		return e, 0, nil
	}
	length := le.Uint32(b)
	if length == 0 || length > mostEntry {
		return e, 0, errEntry
	}
	size = 8 + int(length)
	if len(b) < size {
		return e, 0, nil
	}
	body := b[8:size]
	if crc32.Checksum(body, castagnoli()) != le.Uint32(b[4:]) {
		return e, 0, errEntry
	}
	e.kind = entryKind(body[0])
	r := reader{body[1:], nil}
	switch e.kind {
	case entryAccess:
		e.memory = r.word()
		a := &e.record
		a.agent, a.epoch, a.number = Agent(r.word()), r.word(), r.word()
		a.Begin, a.End, a.Command = r.word(), r.word(), r.word()
		flags := r.word()
		a.Writes, a.May = flags&flagWrites != 0, flags&flagMay != 0
		if a.Way, a.Kind = Way(flags/flagWay), Kind(flags/flagKind); a.Way >= ways || a.Kind >= kinds {
			r.err = errEntry
		}
		a.Family, a.owner = uint32(flags/flagFamily), Agent(r.word())
		layouts := r.word()
		a.Old, a.New = uint32(layouts), uint32(layouts>>32)
		a.Text = printable(string(r.left[:min(len(r.left), mostText)]))
	case entryPoint:
		scope := r.word()
		e.key = Key{Scope(scope), r.word()}
		if scope != uint64(Shared) && scope != uint64(SyncFile) {
			r.err = errEntry
		}
		e.value, e.record.number = r.word(), r.word()
		e.known = r.known()
	case entryHost:
		e.known = r.known()
	case entrySame:
		e.memory, e.other = r.word(), r.word()
	case entryMoved:
	default:
		r.err = errEntry
	}
	return e, size, r.err
}

// reader takes words from the front of what is left.
type reader struct {
	left []byte
	err  error
}

func (r *reader) word() uint64 {
	if len(r.left) < 8 {
		r.left, r.err = nil, errEntry
		return 0
	}
	w := binary.LittleEndian.Uint64(r.left)
	r.left = r.left[8:]
	return w
}

func (r *reader) known() Known {
	k := Known{floor: r.word()}
	n := r.word()
	if n > mostClock || n*16 != uint64(len(r.left)) {
		r.err = errEntry
		return k
	}
	k.clock = make(Clock, n)
	for range n {
		a := Agent(r.word())
		k.clock[a] = r.word()
	}
	return k
}
