package kernel

import "math"

func fillF32(t *Table) {
	t[AddF32] = binary(func(a, b float32) float32 { return a + b })
	t[SubF32] = binary(func(a, b float32) float32 { return a - b })
	t[MulF32] = binary(func(a, b float32) float32 { return a * b })
	t[DivF32] = binary(func(a, b float32) float32 { return a / b })
	t[FmaF32] = ternary(fma32)
	t[NegF32] = unary(func(a uint32) uint32 { return a ^ 1<<31 })
	t[AbsF32] = unary(func(a uint32) uint32 { return a &^ (1 << 31) })
	t[SqrtF32] = unary(func(a float32) float32 { return float32(math.Sqrt(float64(a))) })
	t[InverseSqrtF32] = unary(func(a float32) float32 { return 1 / float32(math.Sqrt(float64(a))) })
	t[MinF32] = binary(Least[float32])
	t[MaxF32] = binary(Greatest[float32])
	t[EqF32] = compare(func(a, b float32) bool { return a == b })
	t[LtF32] = compare(func(a, b float32) bool { return a < b })
	t[LeF32] = compare(func(a, b float32) bool { return a <= b })
	t[NeOrdF32] = compare(func(a, b float32) bool { return a < b || a > b })
	t[IsNaNF32] = test(func(a float32) bool { return a != a })
	t[IsInfF32] = test(func(a uint32) bool { return a<<1 == 0xff<<24 })
	t[FloorF32] = unary(func(a float32) float32 { return float32(math.Floor(float64(a))) })
	t[CeilF32] = unary(func(a float32) float32 { return float32(math.Ceil(float64(a))) })
	t[TruncF32] = unary(func(a float32) float32 { return float32(math.Trunc(float64(a))) })
	t[RoundEvenF32] = unary(func(a float32) float32 { return float32(math.RoundToEven(float64(a))) })
	t[SignF32] = unary(sign[float32])
	t[RemF32] = binary(floatRemainder)
	t[ModF32] = binary(func(a, b float32) float32 { return floorMod(a, b, floatRemainder(a, b)) })
	t[LdexpF32] = binary(func(a float32, b int32) float32 {
		// Within these bounds the product is exact in 64 bits and rounded once; beyond them it is 0 or infinite all the same.
		return float32(float64(a) * power2(max(-400, min(b, 400))))
	})
	t[FrexpF32] = unary(func(a float32) float32 {
		significand, _ := frexp(float64(a))
		return float32(significand)
	})
	t[FrexpExpF32] = unary(func(a float32) int32 {
		_, exponent := frexp(float64(a))
		return exponent
	})
	t[RoundF16] = unary(func(a float32) float32 { return fromBits16(toBits16(a)) })
	t[RoundF16Zero] = unary(func(a float32) float32 { return fromBits16(toBits16Zero(a)) })
	t[MulAddF32] = ternary(func(a, b, c float32) float32 { return float32(a*b) + c })
	t[MulSubF32] = ternary(func(a, b, c float32) float32 { return float32(a*b) - c })
	t[SubMulF32] = ternary(func(a, b, c float32) float32 { return c - float32(a*b) })
}

func fillF64(t *Table) {
	t[AddF64] = binary(func(a, b float64) float64 { return a + b })
	t[SubF64] = binary(func(a, b float64) float64 { return a - b })
	t[MulF64] = binary(func(a, b float64) float64 { return a * b })
	t[DivF64] = binary(func(a, b float64) float64 { return a / b })
	t[FmaF64] = ternary(math.FMA)
	t[NegF64] = unary(func(a uint64) uint64 { return a ^ 1<<63 })
	t[AbsF64] = unary(func(a uint64) uint64 { return a &^ (1 << 63) })
	t[SqrtF64] = unary(math.Sqrt)
	t[InverseSqrtF64] = unary(func(a float64) float64 { return 1 / math.Sqrt(a) })
	t[MinF64] = binary(Least[float64])
	t[MaxF64] = binary(Greatest[float64])
	t[EqF64] = compare(func(a, b float64) bool { return a == b })
	t[LtF64] = compare(func(a, b float64) bool { return a < b })
	t[LeF64] = compare(func(a, b float64) bool { return a <= b })
	t[NeOrdF64] = compare(func(a, b float64) bool { return a < b || a > b })
	t[IsNaNF64] = test(func(a float64) bool { return a != a })
	t[IsInfF64] = test(func(a uint64) bool { return a<<1 == 0x7ff<<53 })
	t[FloorF64] = unary(math.Floor)
	t[CeilF64] = unary(math.Ceil)
	t[TruncF64] = unary(math.Trunc)
	t[RoundEvenF64] = unary(math.RoundToEven)
	t[SignF64] = unary(sign[float64])
	t[RemF64] = binary(math.Mod)
	t[ModF64] = binary(func(a, b float64) float64 { return floorMod(a, b, math.Mod(a, b)) })
	t[LdexpF64] = binary(func(a float64, b int32) float64 { return math.Ldexp(a, int(b)) })
	t[FrexpF64] = unary(func(a float64) float64 {
		significand, _ := frexp(a)
		return significand
	})
	t[FrexpExpF64] = unary(func(a float64) int32 {
		_, exponent := frexp(a)
		return exponent
	})
	t[MulAddF64] = ternary(func(a, b, c float64) float64 { return float64(a*b) + c })
	t[MulSubF64] = ternary(func(a, b, c float64) float64 { return float64(a*b) - c })
	t[SubMulF64] = ternary(func(a, b, c float64) float64 { return c - float64(a*b) })
}

type float interface {
	float32 | float64
}

// fma32 is a*b + c with one rounding. The product is exact in 64 bits. The sum is rounded to odd, which leaves to the
// rounding to 32 bits all that it has to know.
func fma32(a, b, c float32) float32 {
	x, y := float64(a)*float64(b), float64(c)
	sum := x + y
	// The error of the sum, exactly: Knuth's two-sum. It is NaN where the sum is not finite.
	part := sum - x
	rest := (x - (sum - part)) + (y - part)
	if raw := math.Float64bits(sum); raw&1 == 0 && (rest > 0 || rest < 0) {
		if (rest > 0) == (sum > 0) {
			sum = math.Float64frombits(raw + 1)
		} else {
			sum = math.Float64frombits(raw - 1)
		}
	}
	return float32(sum)
}

// Least is the lesser of two floats; of a NaN and a number the number.
func Least[T float](a, b T) T {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return min(a, b) // -0 < +0
}

// Greatest is the greater of two floats; of a NaN and a number the number.
func Greatest[T float](a, b T) T {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return max(a, b)
}

// sign is -1, 0 or 1; 0 for a NaN.
func sign[T float](a T) T {
	switch {
	case a > 0:
		return 1
	case a < 0:
		return -1
	}
	return 0
}

// floorMod makes of r, the remainder of a/b with the sign of a, that with the sign of b.
func floorMod[T float](a, b, r T) T {
	switch {
	case r == 0:
		return T(math.Copysign(0, float64(b)))
	case (r < 0) != (b < 0):
		return r + b
	}
	return r
}

// power2 returns 2**n for an n in the range of normal numbers.
func power2(n int32) float64 {
	return math.Float64frombits(uint64(n+1023) << 52)
}

// frexp is math.Frexp, with an exponent of 0 for what is not finite.
func frexp(a float64) (float64, int32) {
	significand, exponent := math.Frexp(a)
	return significand, int32(exponent)
}

// toBits16 returns the bits of the 16-bit float nearest to a, even at a tie. A NaN stays one, with the upper bits of
// its payload.
func toBits16(a float32) uint32 {
	raw := math.Float32bits(a)
	sign, magnitude := raw>>16&0x8000, raw&^(1<<31)
	switch {
	case magnitude > 0xff<<23: // NaN
		return sign | 0x7e00 | magnitude>>13&0x3ff
	case magnitude >= 0x477ff000: // 65520: rounded to infinity
		return sign | 0x7c00
	// below 2**-14: a multiple of 2**-24, which is the last bit of a number that is near to 0.5
	case magnitude < 0x38800000:
		return sign | math.Float32bits(math.Float32frombits(magnitude)+0.5)&0x7ff
	}
	return sign | (magnitude-0x38000000+0xfff+magnitude>>13&1)>>13
}

// toBits16Zero returns the bits of the 16-bit float next to a towards zero.
func toBits16Zero(a float32) uint32 {
	raw := math.Float32bits(a)
	sign, magnitude := raw>>16&0x8000, raw&^(1<<31)
	switch {
	case magnitude >= 0xff<<23:
		return toBits16(a)
	case magnitude >= 0x47800000: // 65536
		return sign | 0x7bff
	case magnitude < 0x38800000:
		return sign | uint32(math.Float32frombits(magnitude)*(1<<24))
	}
	return sign | (magnitude-0x38000000)>>13
}

// fromBits16 returns the value of a 16-bit float.
func fromBits16(raw uint32) float32 {
	sign, exponent, mantissa := raw&0x8000<<16, raw>>10&0x1f, raw&0x3ff
	switch {
	case exponent == 0x1f && mantissa != 0:
		return math.Float32frombits(sign | 0x7fc00000 | mantissa<<13)
	case exponent == 0x1f:
		return math.Float32frombits(sign | 0x7f800000)
	case exponent == 0:
		return math.Float32frombits(sign | math.Float32bits(float32(mantissa)/(1<<24)))
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | mantissa<<13)
}
