package compute

import (
	"math"

	"farside/compute/internal/kernel"
	"farside/spirv"
)

// arithmetic says whether an instruction combines the values of lanes.
func arithmetic(op spirv.Op) bool {
	return op >= spirv.OpGroupNonUniformIAdd && op <= spirv.OpGroupNonUniformLogicalXor
}

// same says whether two values of a type are equal, as OpIEqual, OpFOrdEqual or OpLogicalEqual have it.
func same(t *spirv.Type, a, b uint64) bool {
	if t != nil && t.Kind == spirv.TypeFloat {
		return float(t, a) == float(t, b)
	}
	return a == b
}

// float is the value of a lane of a float; those of 16 bits are kept as 32 bits.
func float(t *spirv.Type, lane uint64) float64 {
	if t.Width == 64 {
		return math.Float64frombits(lane)
	}
	return float64(math.Float32frombits(uint32(lane)))
}

// combiner is the function with which an instruction combines values as they lie in lanes, and its identity.
func combiner(op spirv.Op, t *spirv.Type) (f func(a, b uint64) uint64, identity uint64) {
	switch op {
	case spirv.OpGroupNonUniformLogicalAnd:
		return func(a, b uint64) uint64 { return a & b }, math.MaxUint32
	case spirv.OpGroupNonUniformLogicalOr:
		return func(a, b uint64) uint64 { return a | b }, 0
	case spirv.OpGroupNonUniformLogicalXor:
		return func(a, b uint64) uint64 { return a ^ b }, 0
	case spirv.OpGroupNonUniformFAdd, spirv.OpGroupNonUniformFMul, spirv.OpGroupNonUniformFMin,
		spirv.OpGroupNonUniformFMax:
		if t.Width == 64 {
			return combineF64(op)
		}
		return combineF32(op)
	}
	ones := uint64(math.MaxUint64) >> (64 - t.Width)
	signed := func(a uint64) int64 { return int64(a<<(64-t.Width)) >> (64 - t.Width) }
	switch op {
	case spirv.OpGroupNonUniformIAdd:
		return func(a, b uint64) uint64 { return (a + b) & ones }, 0
	case spirv.OpGroupNonUniformIMul:
		return func(a, b uint64) uint64 { return a * b & ones }, 1
	case spirv.OpGroupNonUniformSMin:
		return func(a, b uint64) uint64 { return uint64(min(signed(a), signed(b))) & ones }, ones >> 1
	case spirv.OpGroupNonUniformSMax:
		return func(a, b uint64) uint64 { return uint64(max(signed(a), signed(b))) & ones }, ones>>1 + 1
	case spirv.OpGroupNonUniformUMin:
		return func(a, b uint64) uint64 { return min(a, b) }, ones
	case spirv.OpGroupNonUniformUMax:
		return func(a, b uint64) uint64 { return max(a, b) }, 0
	case spirv.OpGroupNonUniformBitwiseAnd:
		return func(a, b uint64) uint64 { return a & b }, ones
	case spirv.OpGroupNonUniformBitwiseOr:
		return func(a, b uint64) uint64 { return a | b }, 0
	case spirv.OpGroupNonUniformBitwiseXor:
		return func(a, b uint64) uint64 { return a ^ b }, 0
	}
	return nil, 0
}

func combineF32(op spirv.Op) (func(a, b uint64) uint64, uint64) {
	of := func(a uint64) float32 { return math.Float32frombits(uint32(a)) }
	bits := func(f float32) uint64 { return uint64(math.Float32bits(f)) }
	switch op {
	case spirv.OpGroupNonUniformFAdd:
		return func(a, b uint64) uint64 { return bits(of(a) + of(b)) }, 0
	case spirv.OpGroupNonUniformFMul:
		return func(a, b uint64) uint64 { return bits(of(a) * of(b)) }, bits(1)
	case spirv.OpGroupNonUniformFMin:
		return func(a, b uint64) uint64 { return bits(kernel.Least(of(a), of(b))) }, bits(float32(math.Inf(1)))
	}
	return func(a, b uint64) uint64 { return bits(kernel.Greatest(of(a), of(b))) }, bits(float32(math.Inf(-1)))
}

func combineF64(op spirv.Op) (func(a, b uint64) uint64, uint64) {
	of := func(a uint64) float64 { return math.Float64frombits(a) }
	bits := func(f float64) uint64 { return math.Float64bits(f) }
	switch op {
	case spirv.OpGroupNonUniformFAdd:
		return func(a, b uint64) uint64 { return bits(of(a) + of(b)) }, 0
	case spirv.OpGroupNonUniformFMul:
		return func(a, b uint64) uint64 { return bits(of(a) * of(b)) }, bits(1)
	case spirv.OpGroupNonUniformFMin:
		return func(a, b uint64) uint64 { return bits(kernel.Least(of(a), of(b))) }, bits(math.Inf(1))
	}
	return func(a, b uint64) uint64 { return bits(kernel.Greatest(of(a), of(b))) }, bits(math.Inf(-1))
}
