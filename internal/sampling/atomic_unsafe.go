package sampling

import (
	"math"
	"sync/atomic"
	"unsafe"

	"farside/internal/lanes"
)

// AtomicOp is what an atomic operation does to a texel. Floats are those of R32_SFLOAT.
type AtomicOp uint8

const (
	AtomicLoad AtomicOp = iota
	AtomicExchange
	AtomicCompareExchange
	AtomicAdd
	AtomicAnd
	AtomicOr
	AtomicXor
	AtomicMinU
	AtomicMaxU
	AtomicMinS
	AtomicMaxS
	AtomicAddF
	AtomicMinF
	AtomicMaxF
)

// Word is an integer or a float for each lane: its low word and, of 64-bit integers, its high one.
type Word [2]Lanes

func (w *Word) get(lane int) uint64 { return uint64(w[0][lane]) | uint64(w[1][lane])<<32 }

// Atomic changes texels of one component of 32 or 64 bits, one lane after the other, and returns what was there before
// in the active lanes of dst: 0 of what is outside. Coordinates are integers, the layer last.
func (v *View) Atomic(op AtomicOp, dst *Word, at *[3]Lanes, value, comparator *Word, active Mask) {
	if v == nil || len(v.format.Channels) != 1 || v.format.Size != 4 && !v.format.Wide {
		*dst = Word{}
		return
	}
	var to lanes.Offsets
	v.locate(&to, at, nil, nil, active)
	size := v.format.Size
	for i, o := range to {
		if !active.Has(i) {
			continue
		}
		dst[0][i], dst[1][i] = 0, 0
		if o < 0 {
			continue
		}
		p := unsafe.Pointer(unsafe.SliceData(v.data[o : o+size]))
		switch {
		case uintptr(p)%uintptr(size) != 0: // in an image with a pitch of the application's own; no processor would do it
		case size == 4:
			dst[0][i] = atomic32(op, (*uint32)(p), value[0][i], comparator[0][i])
		default:
			old := atomic64(op, (*uint64)(p), value.get(i), comparator.get(i))
			dst[0][i], dst[1][i] = uint32(old), uint32(old>>32)
		}
	}
}

func atomic32(op AtomicOp, p *uint32, value, comparator uint32) uint32 {
	switch op {
	case AtomicLoad:
		return atomic.LoadUint32(p)
	case AtomicExchange:
		return atomic.SwapUint32(p, value)
	case AtomicAdd:
		return atomic.AddUint32(p, value) - value
	case AtomicAnd:
		return atomic.AndUint32(p, value)
	case AtomicOr:
		return atomic.OrUint32(p, value)
	}
	for {
		old := atomic.LoadUint32(p)
		if op == AtomicCompareExchange && old != comparator {
			return old
		}
		changed := value
		switch op {
		case AtomicXor:
			changed = old ^ value
		case AtomicMinU:
			changed = min(old, value)
		case AtomicMaxU:
			changed = max(old, value)
		case AtomicMinS:
			changed = uint32(min(int32(old), int32(value)))
		case AtomicMaxS:
			changed = uint32(max(int32(old), int32(value)))
		case AtomicAddF:
			changed = bits(float(old) + float(value))
		case AtomicMinF:
			changed = bits(minNumber(float(old), float(value)))
		case AtomicMaxF:
			changed = bits(-minNumber(-float(old), -float(value)))
		}
		if atomic.CompareAndSwapUint32(p, old, changed) {
			return old
		}
	}
}

// minNumber is the lesser of two floats; of a NaN and a number the number.
func minNumber(a, b float32) float32 {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return float32(math.Min(float64(a), float64(b)))
}

func atomic64(op AtomicOp, p *uint64, value, comparator uint64) uint64 {
	switch op {
	case AtomicLoad:
		return atomic.LoadUint64(p)
	case AtomicExchange:
		return atomic.SwapUint64(p, value)
	case AtomicAdd:
		return atomic.AddUint64(p, value) - value
	}
	for {
		old := atomic.LoadUint64(p)
		if op == AtomicCompareExchange && old != comparator {
			return old
		}
		changed := value
		switch op {
		case AtomicAnd:
			changed = old & value
		case AtomicOr:
			changed = old | value
		case AtomicXor:
			changed = old ^ value
		case AtomicMinU:
			changed = min(old, value)
		case AtomicMaxU:
			changed = max(old, value)
		case AtomicMinS:
			changed = uint64(min(int64(old), int64(value)))
		case AtomicMaxS:
			changed = uint64(max(int64(old), int64(value)))
		}
		if atomic.CompareAndSwapUint64(p, old, changed) {
			return old
		}
	}
}
