package kernel

import (
	"math"
	"sync"
	"sync/atomic"
	"unsafe"
)

func fillAtomics(t *Table) {
	for _, c := range changes32 {
		t[c.op] = atomics(update32(c.of))
	}
	for _, c := range changes64 {
		t[c.op] = atomics(update64(c.of))
	}
	t[AtomicExchange32] = atomics(func(p *uint32, b, _ uint32) uint32 { return atomic.SwapUint32(p, b) })
	t[AtomicAddI32] = atomics(func(p *uint32, b, _ uint32) uint32 { return atomic.AddUint32(p, b) - b })
	t[AtomicAnd32] = atomics(func(p *uint32, b, _ uint32) uint32 { return atomic.AndUint32(p, b) })
	t[AtomicOr32] = atomics(func(p *uint32, b, _ uint32) uint32 { return atomic.OrUint32(p, b) })
	t[AtomicExchange64] = atomics(func(p *uint64, b, _ uint64) uint64 { return atomic.SwapUint64(p, b) })
	t[AtomicAddI64] = atomics(func(p *uint64, b, _ uint64) uint64 { return atomic.AddUint64(p, b) - b })
	t[AtomicAnd64] = atomics(func(p *uint64, b, _ uint64) uint64 { return atomic.AndUint64(p, b) })
	t[AtomicOr64] = atomics(func(p *uint64, b, _ uint64) uint64 { return atomic.OrUint64(p, b) })
}

// Unshared is the kernel of an atomic for memory that only the caller's goroutine accesses, where it need not be one.
func Unshared(op Op) Func { return unshared()[op] }

var unshared = sync.OnceValue(func() map[Op]Func {
	kernels := map[Op]Func{}
	for _, x := range changes32 {
		kernels[x.op] = atomics(func(p *uint32, b, c uint32) uint32 {
			old := *p
			*p = x.of(old, b, c)
			return old
		})
	}
	for _, x := range changes64 {
		kernels[x.op] = atomics(func(p *uint64, b, c uint64) uint64 {
			old := *p
			*p = x.of(old, b, c)
			return old
		})
	}
	kernels[AtomicAddI32] = addUnshared
	return kernels
})

// addUnshared is what shared histograms and counters want most.
func addUnshared(args *Args, first, n int) {
	base, limit, ok := args.reach(4)
	for i := first; i < first+n; i++ {
		offsets, values := lanes[uint32](args.A, i), lanes[uint32](args.B, i)
		var old [Width]uint32
		mask := args.masked(i)
		for lane, offset := range offsets {
			if mask[lane] == 0 || !ok || uint64(offset) > limit {
				continue
			}
			if p := at[uint32](base, uint64(offset)); uintptr(unsafe.Pointer(p))%4 == 0 {
				old[lane] = *p
				*p += values[lane]
			}
		}
		if args.Dst.Base != nil {
			dst := lanes[uint32](args.Dst, i)
			for lane, set := range mask {
				if set != 0 {
					dst[lane] = old[lane]
				}
			}
		}
	}
}

// change is what an atomic makes of a word a, of the operand b and of the comparator c.
type change[L lane] struct {
	op Op
	of func(a, b, c L) L
}

// changes32 and changes64 are all of them.
var (
	changes32 = [...]change[uint32]{
		{AtomicExchange32, func(_, b, _ uint32) uint32 { return b }},
		{AtomicCompareExchange32, func(a, b, c uint32) uint32 { return choose(a == c, b, a) }},
		{AtomicAddI32, func(a, b, _ uint32) uint32 { return a + b }},
		{AtomicMinU32, func(a, b, _ uint32) uint32 { return min(a, b) }},
		{AtomicMinS32, func(a, b, _ uint32) uint32 { return uint32(min(int32(a), int32(b))) }},
		{AtomicMaxU32, func(a, b, _ uint32) uint32 { return max(a, b) }},
		{AtomicMaxS32, func(a, b, _ uint32) uint32 { return uint32(max(int32(a), int32(b))) }},
		{AtomicAnd32, func(a, b, _ uint32) uint32 { return a & b }},
		{AtomicOr32, func(a, b, _ uint32) uint32 { return a | b }},
		{AtomicXor32, func(a, b, _ uint32) uint32 { return a ^ b }},
		{AtomicAddF32, floats32(func(a, b float32) float32 { return a + b })},
		{AtomicMinF32, floats32(Least[float32])},
		{AtomicMaxF32, floats32(Greatest[float32])},
	}
	changes64 = [...]change[uint64]{
		{AtomicExchange64, func(_, b, _ uint64) uint64 { return b }},
		{AtomicCompareExchange64, func(a, b, c uint64) uint64 { return choose(a == c, b, a) }},
		{AtomicAddI64, func(a, b, _ uint64) uint64 { return a + b }},
		{AtomicMinU64, func(a, b, _ uint64) uint64 { return min(a, b) }},
		{AtomicMinS64, func(a, b, _ uint64) uint64 { return uint64(min(int64(a), int64(b))) }},
		{AtomicMaxU64, func(a, b, _ uint64) uint64 { return max(a, b) }},
		{AtomicMaxS64, func(a, b, _ uint64) uint64 { return uint64(max(int64(a), int64(b))) }},
		{AtomicAnd64, func(a, b, _ uint64) uint64 { return a & b }},
		{AtomicOr64, func(a, b, _ uint64) uint64 { return a | b }},
		{AtomicXor64, func(a, b, _ uint64) uint64 { return a ^ b }},
		{AtomicAddF64, floats64(func(a, b float64) float64 { return a + b })},
		{AtomicMinF64, floats64(Least[float64])},
		{AtomicMaxF64, floats64(Greatest[float64])},
	}
)

// atomics makes a kernel of an atomic operation on one word.
//
//go:noinline
func atomics[L lane](operation func(p *L, b, c L) L) Func {
	return func(args *Args, first, n int) {
		size := unsafe.Sizeof(L(0))
		base, limit, ok := args.reach(size)
		for i := first; i < first+n; i++ {
			offsets, b := lanes[uint32](args.A, i), lanes[L](args.B, i)
			c, dst := b, (*[Width]L)(nil)
			if args.C.Base != nil {
				c = lanes[L](args.C, i)
			}
			if args.Dst.Base != nil {
				dst = lanes[L](args.Dst, i)
			}
			for lane, set := range args.masked(i) {
				if set == 0 {
					continue
				}
				var old L
				if ok && uint64(offsets[lane]) <= limit {
					// A misaligned word may lie in two lines of the cache, where no processor has atomics for it.
					if p := at[L](base, uint64(offsets[lane])); uintptr(unsafe.Pointer(p))%size == 0 {
						old = operation(p, b[lane], c[lane])
					}
				}
				if dst != nil {
					dst[lane] = old
				}
			}
		}
	}
}

// update32 makes an atomic operation of what it makes of the word.
func update32(f func(a, b, c uint32) uint32) func(p *uint32, b, c uint32) uint32 {
	return func(p *uint32, b, c uint32) uint32 {
		for {
			old := atomic.LoadUint32(p)
			if changed := f(old, b, c); changed == old || atomic.CompareAndSwapUint32(p, old, changed) {
				return old
			}
		}
	}
}

func update64(f func(a, b, c uint64) uint64) func(p *uint64, b, c uint64) uint64 {
	return func(p *uint64, b, c uint64) uint64 {
		for {
			old := atomic.LoadUint64(p)
			if changed := f(old, b, c); changed == old || atomic.CompareAndSwapUint64(p, old, changed) {
				return old
			}
		}
	}
}

func floats32(f func(a, b float32) float32) func(a, b, _ uint32) uint32 {
	return func(a, b, _ uint32) uint32 {
		return math.Float32bits(f(math.Float32frombits(a), math.Float32frombits(b)))
	}
}

func floats64(f func(a, b float64) float64) func(a, b, _ uint64) uint64 {
	return func(a, b, _ uint64) uint64 {
		return math.Float64bits(f(math.Float64frombits(a), math.Float64frombits(b)))
	}
}
