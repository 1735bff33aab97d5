package ofi

import "unsafe"

// opKind is a function of the library that begins an operation.
type opKind int

const (
	opRead opKind = iota
	opWrite
	opFetch
	opCompare
)

func (k opKind) String() string {
	return [...]string{"fi_read", "fi_write", "fi_fetch_atomic", "fi_compare_atomic"}[k]
}

// work is an operation on a remote region.
type work struct {
	op     opKind
	remote Remote
	offset uint64
	local  []byte // of a read or write
	atomic int    // enum fi_op of an atomic
	size   int    // its word's, in bytes
}

// buffer is the local memory of an operation.
func (s *slot) buffer(w *work) []byte {
	if w.op == opRead || w.op == opWrite {
		return w.local
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s.operands)), unsafe.Sizeof(s.operands))
}

// hold keeps the local memory of an operation where it is until the slot is released.
func (s *slot) hold(w *work) { s.pin.Pin(unsafe.SliceData(s.buffer(w))) }

// start begins an operation that is held in a slot. It returns 0 or an error of the library's, negated.
func (e *endpoint) start(s *slot, w *work, peer uint64) int {
	ep, local := uintptr(unsafe.Pointer(e.ep)), s.local.descriptor()
	remote, key := uintptr(w.remote.Base+w.offset), uintptr(w.remote.Key)
	datatype := uintptr(datatypeUint64)
	if w.size == 4 {
		datatype = datatypeUint32
	}
	o := &s.operands
	switch w.op {
	case opRead:
		return call(e.read, ep, uintptr(unsafe.Pointer(unsafe.SliceData(w.local))), uintptr(len(w.local)), local,
			uintptr(peer), remote, key, s.context)
	case opWrite:
		return call(e.write, ep, uintptr(unsafe.Pointer(unsafe.SliceData(w.local))), uintptr(len(w.local)), local,
			uintptr(peer), remote, key, s.context)
	case opFetch:
		return call(e.fetch, ep, uintptr(unsafe.Pointer(&o.operand)), 1, local,
			uintptr(unsafe.Pointer(&o.result)), local, uintptr(peer), remote, key,
			datatype, uintptr(w.atomic), s.context)
	default:
		return call(e.compare, ep, uintptr(unsafe.Pointer(&o.operand)), 1, local,
			uintptr(unsafe.Pointer(&o.compare)), local, uintptr(unsafe.Pointer(&o.result)), local,
			uintptr(peer), remote, key, datatype, uintptr(w.atomic), s.context)
	}
}
