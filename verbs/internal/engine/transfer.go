package engine

import (
	"bytes"
	"encoding/binary"
	"errors"

	"farside/internal/ibv"
	"farside/internal/memcopy"
	"farside/verbs/internal/fabric"
)

// errFault is a fault in the application's memory.
var errFault = errors.New("engine: memory can't be accessed")

// accessFault turns the panic of a fault into errFault. Other panics go on.
func accessFault(v any, err *error) {
	if v == nil {
		return
	}
	if _, ok := v.(interface{ Addr() uintptr }); !ok {
		panic(v)
	}
	*err = errFault
}

// copyGuarded copies len(dst) bytes from src, and says whether all could be accessed. A word that is aligned in dst
// becomes visible at once.
func copyGuarded(dst, src []byte) bool { return move(dst, src) == nil }

// commonGuarded is how many bytes at the start of b, which may be memory that has gone, are those of a; same says that
// all are, or that nobody knows.
func commonGuarded(a, b []byte) (n int, same bool) {
	defer func() {
		var err error
		if accessFault(recover(), &err); err != nil {
			n, same = 0, true
		}
	}()
	if bytes.Equal(a[:len(b)], b) {
		return len(b), true
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n, n == len(b)
}

func move(dst, src []byte) (err error) {
	defer func() { accessFault(recover(), &err) }()
	if len(src) < len(dst) {
		return errFault
	}
	switch len(dst) {
	case 8:
		if w := word(dst); w != nil {
			w.Store(binary.NativeEndian.Uint64(src))
			return nil
		}
	case 4:
		if w := half(dst); w != nil {
			w.Store(binary.NativeEndian.Uint32(src))
			return nil
		}
	}
	memcopy.Copy(dst, src[:len(dst)])
	return nil
}

// sendGuarded is Path.Send with errFault for a payload that can't be read.
func sendGuarded(p fabric.Path, header []byte, payload [][]byte) (err error) {
	defer func() { accessFault(recover(), &err) }()
	return p.Send(header, payload)
}

// gather makes q.pieces the n bytes at off of a list of entries, and holds their grants until release.
func (q *QP) gather(sges []ibv.SGE, off, n uint64) bool {
	q.pieces = q.pieces[:0]
	for i := range sges {
		s := &sges[i]
		if off >= uint64(s.Length) {
			off -= uint64(s.Length)
			continue
		}
		part := min(uint64(s.Length)-off, n)
		if part == 0 {
			break
		}
		b, ok := q.hold(q.device.keys.local(q.pd, s.LKey, s.Addr+off, part, 0), s.Addr+off, part)
		if !ok {
			q.release()
			return false
		}
		q.pieces = append(q.pieces, b)
		off, n = 0, n-part
	}
	return true
}

// hold enters a grant, which may be nil, until release, and gives n of its bytes at an address, for a read or an
// atomic.
func (q *QP) hold(g *grant, address, n uint64) ([]byte, bool) {
	b, _, ok := g.slice(address, n)
	if !ok {
		return nil, false
	}
	if g.watched != nil {
		g.watched.Look()
	}
	q.held = append(q.held, g)
	return b, true
}

// store copies data to an address of a grant, which may be nil, and says whether it could.
func (q *QP) store(g *grant, address uint64, data []byte) bool {
	b, at, ok := g.slice(address, uint64(len(data)))
	if !ok {
		return false
	}
	defer g.leave()
	switch {
	case g.watched != nil:
		g.watched.Put(q.number, at, bytes.Clone(data))
		return true
	case q.device.options.Late:
		return copyLate(b, data)
	}
	return copyGuarded(b, data)
}

// release leaves all that hold entered.
func (q *QP) release() {
	for _, g := range q.held {
		g.leave()
	}
	clear(q.held)
	q.held = q.held[:0]
	clear(q.pieces)
	q.pieces = q.pieces[:0]
}

// scatter copies data to the place at off of a list of entries, which has room, and says whether it could.
func (q *QP) scatter(sges []ibv.SGE, off uint64, data []byte) bool {
	for i := range sges {
		if len(data) == 0 {
			break
		}
		s := &sges[i]
		if off >= uint64(s.Length) {
			off -= uint64(s.Length)
			continue
		}
		part := min(uint64(s.Length)-off, uint64(len(data)))
		g := q.device.keys.local(q.pd, s.LKey, s.Addr+off, part, ibv.ACCESS_LOCAL_WRITE)
		if !q.store(g, s.Addr+off, data[:part]) {
			return false
		}
		off, data = 0, data[part:]
	}
	return len(data) == 0
}

// checkEntries says whether all entries of a list can be used.
func (q *QP) checkEntries(sges []ibv.SGE, need ibv.AccessFlags) bool {
	for i := range sges {
		s := &sges[i]
		if s.Length != 0 && q.device.keys.local(q.pd, s.LKey, s.Addr, uint64(s.Length), need) == nil {
			return false
		}
	}
	return true
}
