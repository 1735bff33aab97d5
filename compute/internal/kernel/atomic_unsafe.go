package kernel

import (
	"math"
	"sync/atomic"
	"unsafe"
)

func fillAtomics(t *Table) {
	t[AtomicExchange32] = atomics(func(p *uint32, b, _ uint32) uint32 { return atomic.SwapUint32(p, b) })
	t[AtomicCompareExchange32] = atomics(func(p *uint32, b, c uint32) uint32 {
		for {
			if old := atomic.LoadUint32(p); old != c || atomic.CompareAndSwapUint32(p, c, b) {
				return old
			}
		}
	})
	t[AtomicAddI32] = atomics(func(p *uint32, b, _ uint32) uint32 { return atomic.AddUint32(p, b) - b })
	t[AtomicMinU32] = atomics(update32(func(a, b uint32) uint32 { return min(a, b) }))
	t[AtomicMinS32] = atomics(update32(func(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) }))
	t[AtomicMaxU32] = atomics(update32(func(a, b uint32) uint32 { return max(a, b) }))
	t[AtomicMaxS32] = atomics(update32(func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) }))
	t[AtomicAnd32] = atomics(func(p *uint32, b, _ uint32) uint32 { return atomic.AndUint32(p, b) })
	t[AtomicOr32] = atomics(func(p *uint32, b, _ uint32) uint32 { return atomic.OrUint32(p, b) })
	t[AtomicXor32] = atomics(update32(func(a, b uint32) uint32 { return a ^ b }))
	t[AtomicAddF32] = atomics(update32(floats32(func(a, b float32) float32 { return a + b })))
	t[AtomicMinF32] = atomics(update32(floats32(least[float32])))
	t[AtomicMaxF32] = atomics(update32(floats32(greatest[float32])))

	t[AtomicExchange64] = atomics(func(p *uint64, b, _ uint64) uint64 { return atomic.SwapUint64(p, b) })
	t[AtomicCompareExchange64] = atomics(func(p *uint64, b, c uint64) uint64 {
		for {
			if old := atomic.LoadUint64(p); old != c || atomic.CompareAndSwapUint64(p, c, b) {
				return old
			}
		}
	})
	t[AtomicAddI64] = atomics(func(p *uint64, b, _ uint64) uint64 { return atomic.AddUint64(p, b) - b })
	t[AtomicMinU64] = atomics(update64(func(a, b uint64) uint64 { return min(a, b) }))
	t[AtomicMinS64] = atomics(update64(func(a, b uint64) uint64 { return uint64(min(int64(a), int64(b))) }))
	t[AtomicMaxU64] = atomics(update64(func(a, b uint64) uint64 { return max(a, b) }))
	t[AtomicMaxS64] = atomics(update64(func(a, b uint64) uint64 { return uint64(max(int64(a), int64(b))) }))
	t[AtomicAnd64] = atomics(func(p *uint64, b, _ uint64) uint64 { return atomic.AndUint64(p, b) })
	t[AtomicOr64] = atomics(func(p *uint64, b, _ uint64) uint64 { return atomic.OrUint64(p, b) })
	t[AtomicXor64] = atomics(update64(func(a, b uint64) uint64 { return a ^ b }))
	t[AtomicAddF64] = atomics(update64(floats64(func(a, b float64) float64 { return a + b })))
	t[AtomicMinF64] = atomics(update64(floats64(least[float64])))
	t[AtomicMaxF64] = atomics(update64(floats64(greatest[float64])))
}

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

// update32 makes an atomic operation of a function of what is there and of the operand.
func update32(f func(a, b uint32) uint32) func(p *uint32, b, _ uint32) uint32 {
	return func(p *uint32, b, _ uint32) uint32 {
		for {
			if old := atomic.LoadUint32(p); atomic.CompareAndSwapUint32(p, old, f(old, b)) {
				return old
			}
		}
	}
}

func update64(f func(a, b uint64) uint64) func(p *uint64, b, _ uint64) uint64 {
	return func(p *uint64, b, _ uint64) uint64 {
		for {
			if old := atomic.LoadUint64(p); atomic.CompareAndSwapUint64(p, old, f(old, b)) {
				return old
			}
		}
	}
}

func floats32(f func(a, b float32) float32) func(a, b uint32) uint32 {
	return func(a, b uint32) uint32 { return math.Float32bits(f(math.Float32frombits(a), math.Float32frombits(b))) }
}

func floats64(f func(a, b float64) float64) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 { return math.Float64bits(f(math.Float64frombits(a), math.Float64frombits(b))) }
}
