package kernel

import (
	"math"

	"farside/compute/internal/kernel/series"
)

// The functions are computed in 64 bits and rounded once, so that they are mostly the nearest 32-bit float: within 0.51
// units in the last place, where the specification wants 3 at best. The kernels in assembly do the same operations in
// the same order. Products are converted where a sum follows, since a compiler may otherwise fuse the two.

func fillFunctions(t *Table) {
	t[SinF32] = unary(sin)
	t[CosF32] = unary(cos)
	t[TanF32] = unary(tan)
	t[AsinF32] = unary(func(a float32) float32 { return float32(angle(float64(a), besides(a))) })
	t[AcosF32] = unary(func(a float32) float32 { return float32(angle(besides(a), float64(a))) })
	t[AtanF32] = unary(func(a float32) float32 { return float32(angle(float64(a), 1)) })
	t[Atan2F32] = binary(func(y, x float32) float32 { return float32(angle(float64(y), float64(x))) })
	t[SinhF32] = unary(func(a float32) float32 {
		sinh, _ := hyperbolic(float64(a))
		return float32(sinh)
	})
	t[CoshF32] = unary(func(a float32) float32 {
		_, cosh := hyperbolic(float64(a))
		return float32(cosh)
	})
	t[TanhF32] = unary(func(a float32) float32 {
		sinh, cosh := hyperbolic(float64(a))
		return float32(sinh / cosh)
	})
	t[AsinhF32] = unary(asinh)
	t[AcoshF32] = unary(acosh)
	t[AtanhF32] = unary(atanh)
	t[PowF32] = binary(pow)
	t[ExpF32] = unary(func(a float32) float32 { return float32(exp2(float64(float64(a) * series.Log2E))) })
	t[LogF32] = unary(func(a float32) float32 { return float32(log2(a) * series.Ln2) })
	t[Exp2F32] = unary(func(a float32) float32 { return float32(exp2(float64(a))) })
	t[Log2F32] = unary(func(a float32) float32 { return float32(log2(a)) })
}

// polynomial is Horner's scheme.
func polynomial(x float64, coefficients []float64) float64 {
	i := len(coefficients) - 1
	sum := coefficients[i]
	for i--; i >= 0; i-- {
		sum = math.FMA(sum, x, coefficients[i])
	}
	return sum
}

// exp2 is 2**x, but no more than 2**200 and no less than 2**-200.
func exp2(x float64) float64 {
	switch {
	case x > series.Steep:
		x = series.Steep
	case x < -series.Steep:
		x = -series.Steep
	}
	shifted := x + series.Magic
	fraction := x - (shifted - series.Magic)
	return math.Float64frombits(math.Float64bits(polynomial(fraction, series.Exp2)) + math.Float64bits(shifted)<<52)
}

// log2Positive is log2 of a finite number that is not too small: above 2**-1022.
func log2Positive(x float64) float64 {
	const one = 0x3ff << 52
	raw := math.Float64bits(x) + (one - series.RootHalf)
	exponent := float64(int64(raw>>52) - 1023)
	mantissa := math.Float64frombits(raw&(1<<52-1) + series.RootHalf)
	ratio := (mantissa - 1) / (mantissa + 1)
	return math.FMA(ratio, polynomial(float64(ratio*ratio), series.Log2), exponent)
}

// log2 adds to the logarithm what makes it right where it is not a finite number.
func log2(x float32) float64 {
	special := 0.0
	switch {
	case x == 0:
		special = math.Inf(-1)
	case math.IsInf(float64(x), 1):
		special = math.Inf(1)
	case !(x > 0):
		special = math.Float64frombits(0x7ff8 << 48) // math.NaN() has a bit at the end, which exp2 takes for an exponent
	}
	return log2Positive(float64(x)) + special
}

// pow is 2**(b * log2(a)), and 1 if b is 0. Of a negative base it is a NaN.
func pow(a, b float32) float32 {
	if b == 0 {
		return 1
	}
	return float32(exp2(float64(float64(b) * log2(a))))
}

// quadrant returns an angle less a multiple of pi/2, and that multiple in the lowest bits.
func quadrant(x float64) (float64, uint64) {
	shifted := math.FMA(x, series.TwoPi, series.Magic)
	n := shifted - series.Magic
	rest := math.FMA(-n, series.HalfPi, x)
	return math.FMA(-n, series.HalfPiLow, rest), math.Float64bits(shifted)
}

// sinCos returns sine and cosine of what quadrant leaves.
func sinCos(x float64) (sin, cos float64) {
	square := float64(x * x)
	return x * math.FMA(square, polynomial(square, series.Sin), 1), math.FMA(square, polynomial(square, series.Cos), 1)
}

// turned is the sine of x and a number of quadrants.
func turned(x float64, quadrants uint64) float64 {
	sin, cos := sinCos(x)
	if quadrants&1 != 0 {
		sin = cos
	}
	return math.Float64frombits(math.Float64bits(sin) ^ quadrants<<62&(1<<63))
}

// nearby is an angle, 0 instead of one too large for the reduction. Infinities become NaNs.
func nearby(x float32) float64 {
	if math.Abs(float64(x)) > series.Far {
		x -= x
	}
	return float64(x)
}

func sin(x float32) float32 { return float32(turned(quadrant(nearby(x)))) }

func cos(x float32) float32 {
	rest, quadrants := quadrant(nearby(x))
	return float32(turned(rest, quadrants+1))
}

func tan(x float32) float32 {
	rest, quadrants := quadrant(nearby(x))
	sin, cos := sinCos(rest)
	if quadrants&1 != 0 {
		sin, cos = -cos, sin
	}
	return float32(sin / cos)
}

// floatRemainder is math.Mod, but 0 where the quotient is so large that it isn't a whole number of 64 bits' precision.
func floatRemainder(a, b float32) float32 {
	q := math.Abs(float64(a) / float64(b))
	if math.Trunc(q) > series.Whole && !math.IsInf(q, 1) {
		return float32(math.Copysign(0, float64(a)))
	}
	return float32(math.Mod(float64(a), float64(b)))
}

// besides is the other side of a triangle: the root of 1 - x*x.
func besides(x float32) float64 {
	return math.Sqrt((1 - float64(x)) * (1 + float64(x)))
}

// angle is math.Atan2.
func angle(y, x float64) float64 {
	a, b := math.Abs(y), math.Abs(x)
	less, more := min(a, b), max(a, b)
	ratio := less / more
	switch {
	case more == 0:
		ratio = 0
	case less == math.Inf(1):
		ratio = 1
	}
	r := ratio * polynomial(float64(ratio*ratio), series.Atan)
	if a > b {
		r = series.HalfPi - r
	}
	if math.Signbit(x) {
		r = series.Pi - r
	}
	return math.Copysign(r, y)
}

// hyperbolic returns sinh and cosh. What is too large for 32 bits is only held to be so; the two are too large where
// e**|x| is, since they are defined by it, although half of it may fit.
func hyperbolic(x float64) (sinh, cosh float64) {
	e := exp2(float64(x * series.Log2E))
	inverse := 1 / e
	half := 0.5
	if math.Abs(x) > 128*series.Ln2 {
		half = 1
	}
	sinh, cosh = (e-inverse)*half, (e+inverse)*half
	if math.Abs(x) < 1 { // the difference would lose precision
		square := float64(x * x)
		sinh = x * math.FMA(square, polynomial(square, series.Sinh), 1)
	}
	return sinh, cosh
}

func asinh(x float32) float32 {
	a := math.Abs(float64(x))
	square := float64(a * a)
	r := log2Positive(a+math.Sqrt(square+1)) * series.Ln2
	switch {
	case a < series.Small:
		r = a * math.FMA(square, polynomial(square, series.Asinh), 1)
	case !(a < math.Inf(1)):
		r = a
	}
	return float32(math.Copysign(r, float64(x)))
}

func acosh(x float32) float32 {
	if !(x < float32(math.Inf(1))) {
		return x
	}
	a := float64(x)
	r := log2Positive(a+math.Sqrt(float64((a-1)*(a+1)))) * series.Ln2
	if x < 1 {
		r = math.NaN()
	}
	return float32(r)
}

func atanh(x float32) float32 {
	a := math.Abs(float64(x))
	r := log2Positive((1 + a) / (1 - a))
	switch {
	case a < series.Ratio:
		r = a * polynomial(float64(a*a), series.Log2)
	case a == 1:
		r = math.Inf(1)
	case !(a < 1):
		r = math.NaN()
	}
	return float32(math.Copysign(r*(series.Ln2/2), float64(x)))
}
