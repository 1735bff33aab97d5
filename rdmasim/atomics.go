package rdmasim

import (
	"farside/internal/journal"
	"farside/rdmasim/internal/verbs"
)

// atomic is every atomic operation: on the word of width bytes, in the host's byte order, at a remote
// address, in one atomic step with respect to every processor of the host. It returns what was there before.
func (p *Peer) atomic(op Opcode, width, address, operand, compare uint64) (old uint64, err error) {
	if journal.On() || p.faults != nil {
		return p.atomicWatched(op, width, address, operand, compare)
	}
	return p.atomicNow(op, width, address, operand, compare)
}

func (p *Peer) atomicWatched(op Opcode, width, address, operand, compare uint64) (old uint64, err error) {
	err = p.watched(op, address, make([]byte, width), func(uint64, []byte) error {
		old, err = p.atomicNow(op, width, address, operand, compare)
		return err
	})
	return old, err
}

func (p *Peer) atomicNow(op Opcode, width, address, operand, compare uint64) (old uint64, err error) {
	if address&(width-1) != 0 {
		return 0, p.refused(op, address, ErrMisaligned)
	}
	r := p.table.Lookup(address)
	if r != nil {
		if old, err = r.View.Atomic(op, address-r.Info.Address, width, operand, compare); err == nil {
			return old, nil
		}
		if err != verbs.ErrStale {
			return 0, p.refused(op, address, err)
		}
	}
	return p.atomicAgain(op, width, address, operand, compare, r)
}

// atomicAgain keeps the closure, and what it captures, away from the path that doesn't need it.
func (p *Peer) atomicAgain(op Opcode, width, address, operand, compare uint64,
	stale *verbs.Region) (old uint64, err error) {
	err = p.again(op, address, stale, func(v verbs.View, off uint64) (err error) {
		old, err = v.Atomic(op, off, width, operand, compare)
		return err
	})
	if err != nil {
		return 0, err
	}
	return old, nil
}

// FetchAdd64 adds to the 64-bit word at a remote address, a multiple of 8, in the host's byte order, and
// returns what was there, in one atomic step with respect to every processor of the host. Errors, also of the
// atomics below: those of Resolve, ErrMisaligned, ErrOutOfRange, ErrAccess. After ErrFreed it may have
// happened.
func (p *Peer) FetchAdd64(address, add uint64) (old uint64, err error) {
	return p.atomic(OpFetchAdd, 8, address, add, 0)
}

// Swap64 writes a 64-bit word and returns what was there.
func (p *Peer) Swap64(address, swap uint64) (old uint64, err error) {
	return p.atomic(OpSwap, 8, address, swap, 0)
}

// CompareSwap64 writes swap to a 64-bit word if it holds compare, and returns what was there: the swap has
// happened if old equals compare.
func (p *Peer) CompareSwap64(address, compare, swap uint64) (old uint64, err error) {
	return p.atomic(OpCompareSwap, 8, address, swap, compare)
}

// FetchAnd64 clears the bits of a 64-bit word that mask lacks and returns what was there.
func (p *Peer) FetchAnd64(address, mask uint64) (old uint64, err error) {
	return p.atomic(OpFetchAnd, 8, address, mask, 0)
}

// FetchOr64 sets the bits of mask in a 64-bit word and returns what was there.
func (p *Peer) FetchOr64(address, mask uint64) (old uint64, err error) {
	return p.atomic(OpFetchOr, 8, address, mask, 0)
}

// FetchXor64 inverts the bits of mask in a 64-bit word and returns what was there.
func (p *Peer) FetchXor64(address, mask uint64) (old uint64, err error) {
	return p.atomic(OpFetchXor, 8, address, mask, 0)
}

// FetchAdd32 is FetchAdd64 for 32 bits, at a multiple of 4.
func (p *Peer) FetchAdd32(address uint64, add uint32) (old uint32, err error) {
	return p.atomic32(OpFetchAdd, address, add, 0)
}

// Swap32 is Swap64 for 32 bits, at a multiple of 4.
func (p *Peer) Swap32(address uint64, swap uint32) (old uint32, err error) {
	return p.atomic32(OpSwap, address, swap, 0)
}

// CompareSwap32 is CompareSwap64 for 32 bits, at a multiple of 4.
func (p *Peer) CompareSwap32(address uint64, compare, swap uint32) (old uint32, err error) {
	return p.atomic32(OpCompareSwap, address, swap, compare)
}

// FetchAnd32 is FetchAnd64 for 32 bits, at a multiple of 4.
func (p *Peer) FetchAnd32(address uint64, mask uint32) (old uint32, err error) {
	return p.atomic32(OpFetchAnd, address, mask, 0)
}

// FetchOr32 is FetchOr64 for 32 bits, at a multiple of 4.
func (p *Peer) FetchOr32(address uint64, mask uint32) (old uint32, err error) {
	return p.atomic32(OpFetchOr, address, mask, 0)
}

// FetchXor32 is FetchXor64 for 32 bits, at a multiple of 4.
func (p *Peer) FetchXor32(address uint64, mask uint32) (old uint32, err error) {
	return p.atomic32(OpFetchXor, address, mask, 0)
}

func (p *Peer) atomic32(op Opcode, address uint64, operand, compare uint32) (uint32, error) {
	old, err := p.atomic(op, 4, address, uint64(operand), uint64(compare))
	return uint32(old), err
}
