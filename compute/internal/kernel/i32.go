package kernel

import (
	"math"
	"math/bits"
)

func fillI32(t *Table) {
	t[Move32] = move[uint32]
	t[Move64] = move[uint64]
	t[MoveMasked32] = moveMasked[uint32]
	t[MoveMasked64] = moveMasked[uint64]
	t[Select32] = ternary(func(a, b, c uint32) uint32 { return choose(c != 0, a, b) })
	t[Select64] = ternary(func(a, b uint64, c uint32) uint64 { return choose(c != 0, a, b) })

	t[AddI32] = binary(func(a, b uint32) uint32 { return a + b })
	t[SubI32] = binary(func(a, b uint32) uint32 { return a - b })
	t[MulI32] = binary(func(a, b uint32) uint32 { return a * b })
	t[NegI32] = unary(func(a uint32) uint32 { return -a })
	t[AndI32] = binary(func(a, b uint32) uint32 { return a & b })
	t[OrI32] = binary(func(a, b uint32) uint32 { return a | b })
	t[XorI32] = binary(func(a, b uint32) uint32 { return a ^ b })
	t[NotI32] = unary(func(a uint32) uint32 { return ^a })
	t[AndNotI32] = binary(func(a, b uint32) uint32 { return a &^ b })
	t[ShlI32] = binary(func(a, b uint32) uint32 { return a << (b & 31) })
	t[ShrU32] = binary(func(a, b uint32) uint32 { return a >> (b & 31) })
	t[ShrS32] = binary(func(a int32, b uint32) int32 { return a >> (b & 31) })
	t[DivU32] = binary(quotient[uint32])
	t[DivS32] = binary(quotient[int32])
	t[RemU32] = binary(remainder[uint32])
	t[RemS32] = binary(remainder[int32])
	t[ModS32] = binary(modulo[int32])
	t[MulHighU32] = binary(func(a, b uint32) uint32 { return uint32(uint64(a) * uint64(b) >> 32) })
	t[MulHighS32] = binary(func(a, b int32) int32 { return int32(int64(a) * int64(b) >> 32) })
	t[MinU32] = binary(func(a, b uint32) uint32 { return min(a, b) })
	t[MinS32] = binary(func(a, b int32) int32 { return min(a, b) })
	t[MaxU32] = binary(func(a, b uint32) uint32 { return max(a, b) })
	t[MaxS32] = binary(func(a, b int32) int32 { return max(a, b) })
	t[AbsI32] = unary(func(a int32) int32 { return max(a, -a) })
	t[EqI32] = compare(func(a, b uint32) bool { return a == b })
	t[NeI32] = compare(func(a, b uint32) bool { return a != b })
	t[LtU32] = compare(func(a, b uint32) bool { return a < b })
	t[LeU32] = compare(func(a, b uint32) bool { return a <= b })
	t[LtS32] = compare(func(a, b int32) bool { return a < b })
	t[LeS32] = compare(func(a, b int32) bool { return a <= b })
	t[PopCount32] = unary(func(a uint32) uint32 { return uint32(bits.OnesCount32(a)) })
	t[Reverse32] = unary(bits.Reverse32)
	t[FindLSB32] = unary(func(a uint32) int32 { return choose(a == 0, -1, int32(bits.TrailingZeros32(a))) })
	t[FindMSBU32] = unary(func(a uint32) int32 { return int32(bits.Len32(a)) - 1 })
	t[FindMSBS32] = unary(func(a int32) int32 { return int32(bits.Len32(uint32(a^a>>31))) - 1 })
	t[Sext8] = unary(func(a uint32) int32 { return int32(int8(a)) })
	t[Sext16] = unary(func(a uint32) int32 { return int32(int16(a)) })
	t[Zext8] = unary(func(a uint32) uint32 { return a & 0xff })
	t[Zext16] = unary(func(a uint32) uint32 { return a & 0xffff })
	t[MulAddSat] = mulAddSat
}

func fillI64(t *Table) {
	t[AddI64] = binary(func(a, b uint64) uint64 { return a + b })
	t[SubI64] = binary(func(a, b uint64) uint64 { return a - b })
	t[MulI64] = binary(func(a, b uint64) uint64 { return a * b })
	t[NegI64] = unary(func(a uint64) uint64 { return -a })
	t[AndI64] = binary(func(a, b uint64) uint64 { return a & b })
	t[OrI64] = binary(func(a, b uint64) uint64 { return a | b })
	t[XorI64] = binary(func(a, b uint64) uint64 { return a ^ b })
	t[NotI64] = unary(func(a uint64) uint64 { return ^a })
	t[ShlI64] = binary(func(a, b uint64) uint64 { return a << (b & 63) })
	t[ShrU64] = binary(func(a, b uint64) uint64 { return a >> (b & 63) })
	t[ShrS64] = binary(func(a int64, b uint64) int64 { return a >> (b & 63) })
	t[DivU64] = binary(quotient[uint64])
	t[DivS64] = binary(quotient[int64])
	t[RemU64] = binary(remainder[uint64])
	t[RemS64] = binary(remainder[int64])
	t[ModS64] = binary(modulo[int64])
	t[MulWordsU64] = binary(func(a, b uint64) uint64 { return a & math.MaxUint32 * (b & math.MaxUint32) })
	t[MulHighU64] = binary(func(a, b uint64) uint64 {
		high, _ := bits.Mul64(a, b)
		return high
	})
	t[MulHighS64] = binary(func(a, b int64) int64 {
		high, _ := bits.Mul64(uint64(a), uint64(b))
		return int64(high) - a>>63&b - b>>63&a
	})
	t[MinU64] = binary(func(a, b uint64) uint64 { return min(a, b) })
	t[MinS64] = binary(func(a, b int64) int64 { return min(a, b) })
	t[MaxU64] = binary(func(a, b uint64) uint64 { return max(a, b) })
	t[MaxS64] = binary(func(a, b int64) int64 { return max(a, b) })
	t[AbsI64] = unary(func(a int64) int64 { return max(a, -a) })
	t[EqI64] = compare(func(a, b uint64) bool { return a == b })
	t[NeI64] = compare(func(a, b uint64) bool { return a != b })
	t[LtU64] = compare(func(a, b uint64) bool { return a < b })
	t[LeU64] = compare(func(a, b uint64) bool { return a <= b })
	t[LtS64] = compare(func(a, b int64) bool { return a < b })
	t[LeS64] = compare(func(a, b int64) bool { return a <= b })
	t[PopCount64] = unary(func(a uint64) uint32 { return uint32(bits.OnesCount64(a)) })
	t[FindLSB64] = unary(func(a uint64) int32 { return choose(a == 0, -1, int32(bits.TrailingZeros64(a))) })
	t[FindMSBU64] = unary(func(a uint64) int32 { return int32(bits.Len64(a)) - 1 })
	t[FindMSBS64] = unary(func(a int64) int32 { return int32(bits.Len64(uint64(a^a>>63))) - 1 })
}

func choose[T any](c bool, a, b T) T {
	if c {
		return a
	}
	return b
}

type integer interface {
	int32 | int64 | uint32 | uint64
}

// quotient is a / b, and all ones if b is 0. Go's least / -1 is the least.
func quotient[T integer](a, b T) T {
	if b == 0 {
		return ^b
	}
	return a / b
}

// remainder is a - b*(a/b), with the sign of a; a if b is 0.
func remainder[T integer](a, b T) T {
	if b == 0 {
		return a
	}
	return a % b
}

// modulo is the remainder of a rounded-down division, with the sign of b; a if b is 0.
func modulo[T integer](a, b T) T {
	r := remainder(a, b)
	if r != 0 && b != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// mulAddSat is not a binary: its factor is in Immediate.
func mulAddSat(args *Args, first, n int) {
	const most = 1<<32 - 1
	factor := min(args.Immediate, most) // a larger one gives most with any A but 0, too
	for i := first; i < first+n; i++ {
		d, a, b := lanes[uint32](args.Dst, i), lanes[uint32](args.A, i), lanes[uint32](args.B, i)
		for lane := range Width {
			d[lane] = uint32(min(uint64(a[lane])*factor+uint64(b[lane]), most))
		}
	}
}
