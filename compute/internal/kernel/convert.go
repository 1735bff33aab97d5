package kernel

import "math"

func fillConversions(t *Table) {
	t[SextI32I64] = unary(func(a int32) int64 { return int64(a) })
	t[ZextI32I64] = unary(func(a uint32) uint64 { return uint64(a) })
	t[TruncI64I32] = unary(func(a uint64) uint32 { return uint32(a) })
	t[F32ToS32] = unary(func(a float32) int32 { return int32(toInteger(float64(a), math.MinInt32, math.MaxInt32)) })
	t[F32ToU32] = unary(func(a float32) uint32 { return uint32(toInteger(float64(a), 0, math.MaxUint32)) })
	t[S32ToF32] = unary(func(a int32) float32 { return float32(a) })
	t[U32ToF32] = unary(func(a uint32) float32 { return float32(a) })
	t[F32ToF64] = unary(func(a float32) float64 { return float64(a) })
	t[F64ToF32] = unary(func(a float64) float32 { return float32(a) })
	t[F64ToF32Zero] = unary(toFloat32Zero)
	t[F64ToS32] = unary(func(a float64) int32 { return int32(toInteger(a, math.MinInt32, math.MaxInt32)) })
	t[F64ToU32] = unary(func(a float64) uint32 { return uint32(toInteger(a, 0, math.MaxUint32)) })
	t[S32ToF64] = unary(func(a int32) float64 { return float64(a) })
	t[U32ToF64] = unary(func(a uint32) float64 { return float64(a) })
	t[F32ToS64] = unary(func(a float32) int64 { return toInt64(float64(a)) })
	t[F32ToU64] = unary(func(a float32) uint64 { return toUint64(float64(a)) })
	t[S64ToF32] = unary(func(a int64) float32 { return float32(a) })
	t[U64ToF32] = unary(func(a uint64) float32 { return float32(a) })
	t[F64ToS64] = unary(toInt64)
	t[F64ToU64] = unary(toUint64)
	t[S64ToF64] = unary(func(a int64) float64 { return float64(a) })
	t[U64ToF64] = unary(func(a uint64) float64 { return float64(a) })
	t[F32ToBits16] = unary(toBits16)
	t[Bits16ToF32] = unary(fromBits16)
	t[Low32] = unary(func(a uint64) uint32 { return uint32(a) })
	t[High32] = unary(func(a uint64) uint32 { return uint32(a >> 32) })
	t[Join64] = binary(func(a, b uint32) uint64 { return uint64(a) | uint64(b)<<32 })
	t[MaskToI32] = unary(func(a uint32) uint32 { return a & 1 })
	t[I32ToMask] = test(func(a uint32) bool { return a != 0 })
}

// toInteger returns the integer part of a within bounds, 0 for a NaN.
func toInteger(a, least, most float64) int64 {
	if a != a {
		return 0
	}
	return int64(max(least, min(a, most)))
}

func toInt64(a float64) int64 {
	switch {
	case a != a:
		return 0
	case a >= 1<<63:
		return math.MaxInt64
	case a < -1<<63:
		return math.MinInt64
	}
	return int64(a)
}

func toUint64(a float64) uint64 {
	switch {
	case !(a > 0): // also a NaN
		return 0
	case a >= 1<<64:
		return math.MaxUint64
	case a >= 1<<63:
		return uint64(a-1<<63) | 1<<63
	}
	return uint64(a)
}

// toFloat32Zero returns the 32-bit float next to a towards zero.
func toFloat32Zero(a float64) float32 {
	r := float32(a)
	if math.Abs(float64(r)) > math.Abs(a) {
		r = math.Float32frombits(math.Float32bits(r) - 1)
	}
	return r
}
