package kernel

import (
	"math"

	"farside/compute/internal/kernel/series"
)

// The functions are those of package series, in 32 bits, but for the remainder.

func fillFunctions(t *Table) {
	one := func(op Op, f func(m single, x uint32) uint32) {
		t[op] = unary(func(x uint32) uint32 { return f(single{}, x) })
	}
	two := func(op Op, f func(m single, a, b uint32) uint32) {
		t[op] = binary(func(a, b uint32) uint32 { return f(single{}, a, b) })
	}
	one(ExpF32, series.Exp)
	one(Exp2F32, series.Exp2)
	one(LogF32, series.Log)
	one(Log2F32, series.Log2)
	one(SinF32, series.Sin)
	one(CosF32, series.Cos)
	one(TanF32, series.Tan)
	one(AsinF32, series.Asin)
	one(AcosF32, series.Acos)
	one(AtanF32, series.Atan)
	one(SinhF32, series.Sinh)
	one(CoshF32, series.Cosh)
	one(TanhF32, series.Tanh)
	one(AsinhF32, series.Asinh)
	one(AcoshF32, series.Acosh)
	one(AtanhF32, series.Atanh)
	two(PowF32, series.Pow)
	two(Atan2F32, series.Atan2)
}

// floatRemainder is math.Mod, but 0 where the quotient is so large that it isn't a whole number of 64 bits' precision.
func floatRemainder(a, b float32) float32 {
	q := math.Abs(float64(a) / float64(b))
	if math.Trunc(q) > series.Whole && !math.IsInf(q, 1) {
		return float32(math.Copysign(0, float64(a)))
	}
	return float32(math.Mod(float64(a), float64(b)))
}
