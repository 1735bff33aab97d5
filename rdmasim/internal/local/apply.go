package local

import (
	"sync/atomic"

	"farside/rdmasim/internal/verbs"
)

func apply64(w *atomic.Uint64, op verbs.Opcode, operand, compare uint64) uint64 {
	switch op {
	case verbs.OpFetchAdd:
		return w.Add(operand) - operand
	case verbs.OpSwap:
		return w.Swap(operand)
	case verbs.OpFetchAnd:
		return w.And(operand)
	case verbs.OpFetchOr:
		return w.Or(operand)
	}
	for { // compare-swap and fetch-xor
		old := w.Load()
		next := old ^ operand
		if op == verbs.OpCompareSwap {
			if next = operand; old != compare {
				return old
			}
		}
		if w.CompareAndSwap(old, next) {
			return old
		}
	}
}

func apply32(w *atomic.Uint32, op verbs.Opcode, operand, compare uint32) uint32 {
	switch op {
	case verbs.OpFetchAdd:
		return w.Add(operand) - operand
	case verbs.OpSwap:
		return w.Swap(operand)
	case verbs.OpFetchAnd:
		return w.And(operand)
	case verbs.OpFetchOr:
		return w.Or(operand)
	}
	for {
		old := w.Load()
		next := old ^ operand
		if op == verbs.OpCompareSwap {
			if next = operand; old != compare {
				return old
			}
		}
		if w.CompareAndSwap(old, next) {
			return old
		}
	}
}
