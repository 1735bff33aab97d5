package main

import (
	"math"

	"farside/compute/internal/kernel/series"

	"github.com/mmcloughlin/avo/operand"
)

// More predicates: those with a not are true of NaNs.
const (
	notLess         = operand.U8(0x15)
	notLessEqual    = operand.U8(0x16)
	notGreaterEqual = operand.U8(0x19)
)

// number returns a constant in memory.
func (g *generator) number(value float64) operand.Mem { return g.quads(math.Float64bits(value)) }

// numbers returns a register of a constant.
func (g *generator) numbers(value float64) vector { return g.y(g.VMOVDQU, g.number(value)) }

func (g *generator) add(a vector, b operand.Op) vector { return g.y(g.VADDPD, b, a) }
func (g *generator) sub(a vector, b operand.Op) vector { return g.y(g.VSUBPD, b, a) }
func (g *generator) mul(a vector, b operand.Op) vector { return g.y(g.VMULPD, b, a) }
func (g *generator) div(a vector, b operand.Op) vector { return g.y(g.VDIVPD, b, a) }

// fma returns a*b + c, and loses a.
func (g *generator) fma(a, b vector, c operand.Op) vector {
	g.VFMADD213PD(c, b, a)
	return a
}

func (g *generator) compare(predicate operand.U8, a vector, b operand.Op) vector {
	return g.y(g.VCMPPD, predicate, b, a)
}

func (g *generator) magnitude(a vector) vector { return g.y(g.VANDPD, g.quads(1<<63-1), a) }

// withSign returns a, which is not negative, with the sign of b.
func (g *generator) withSign(a, b vector) vector {
	return g.y(g.VORPD, g.y(g.VANDPD, g.quads(1<<63), b), a)
}

// functions writes the kernels of what package kernel has in functions.go: the same operations in the same order.
func (g *generator) functions() {
	g.function("ExpF32", one, func(k *chunk, a ...vector) vector { return k.exp2(k.mul(a[0], k.number(series.Log2E))) })
	g.function("Exp2F32", one, func(k *chunk, a ...vector) vector { return k.exp2(a[0]) })
	g.logarithms()
	g.function("AtanF32", one, func(k *chunk, a ...vector) vector { return k.angle(a[0], k.numbers(1)) })
	g.function("Atan2F32", two, func(k *chunk, a ...vector) vector { return k.angle(a[0], a[1]) })
	g.function("AsinF32", one, func(k *chunk, a ...vector) vector { return k.angle(a[0], k.besides(a[0])) })
	g.function("AcosF32", one, func(k *chunk, a ...vector) vector { return k.angle(k.besides(a[0]), a[0]) })
	g.function("SinhF32", one, func(k *chunk, a ...vector) vector {
		sinh, _ := k.hyperbolic(a[0])
		return sinh
	})
	g.function("CoshF32", one, func(k *chunk, a ...vector) vector {
		_, cosh := k.hyperbolic(a[0])
		return cosh
	})
	g.function("TanhF32", one, func(k *chunk, a ...vector) vector {
		sinh, cosh := k.hyperbolic(a[0])
		return k.div(sinh, cosh)
	})
	g.areas()
	g.trigonometry()
	g.remainders()
}

// wide returns half of an operand as 64-bit floats.
func (k *chunk) wide(i, half int) vector { return k.y(k.VCVTPS2PD, k.quarter(i, half)) }

// narrowed returns the results of both halves as 32-bit floats.
func (k *chunk) narrowed(f func(half int) vector) vector {
	var halves [2]vector
	for half := range halves {
		halves[half] = k.x(k.VCVTPD2PSY, f(half))
	}
	return k.join(halves[0], halves[1])
}

// function writes a kernel that computes in 64 bits.
func (g *generator) function(op string, operands []int, f func(k *chunk, a ...vector) vector) {
	g.kernel(op, shape{32, operands, 1}, func(k *chunk) {
		k.store(k.narrowed(func(half int) vector {
			var wide []vector
			for i := range operands {
				wide = append(wide, k.wide(i, half))
			}
			return f(k, wide...)
		}), 0)
	})
}

func (g *generator) polynomial(x vector, coefficients []float64) vector {
	i := len(coefficients) - 1
	sum := g.numbers(coefficients[i])
	for i--; i >= 0; i-- {
		sum = g.fma(sum, x, g.number(coefficients[i]))
	}
	return sum
}

func (g *generator) exp2(x vector) vector {
	x = g.y(g.VMINPD, x, g.numbers(series.Steep)) // a NaN is the second operand, and stays
	x = g.y(g.VMAXPD, x, g.numbers(-series.Steep))
	shifted := g.add(x, g.number(series.Magic))
	fraction := g.sub(x, g.sub(shifted, g.number(series.Magic)))
	return g.y(g.VPADDQ, g.y(g.VPSLLQ, operand.U8(52), shifted), g.polynomial(fraction, series.Exp2))
}

func (g *generator) log2Positive(x vector) vector {
	raw := g.y(g.VPADDQ, g.quads(0x3ff<<52-series.RootHalf), x)
	exponent := g.y(g.VPOR, g.number(0x1p52), g.y(g.VPSRLQ, operand.U8(52), raw))
	exponent = g.sub(exponent, g.number(0x1p52+1023))
	mantissa := g.y(g.VPADDQ, g.quads(series.RootHalf), g.y(g.VPAND, g.quads(1<<52-1), raw))
	ratio := g.div(g.sub(mantissa, g.number(1)), g.add(mantissa, g.number(1)))
	return g.fma(g.polynomial(g.mul(ratio, ratio), series.Log2), ratio, exponent)
}

// logarithms writes the kernels that have special values to add to the logarithm.
func (g *generator) logarithms() {
	special := func(k *chunk) (halves [2]vector) {
		a := k.load(0, 0)
		zero := k.y(k.VANDPS, k.words(0xff800000), k.y(k.VCMPPS, equal, k.zero(), a))
		infinite := k.y(k.VANDPS, a, k.y(k.VCMPPS, equal, k.words(0x7f800000), a))
		all := k.y(k.VORPS, k.y(k.VORPS, infinite, zero), k.y(k.VCMPPS, notGreaterEqual, k.zero(), a))
		return [2]vector{k.y(k.VCVTPS2PD, all.AsX()), k.y(k.VCVTPS2PD, k.x(k.VEXTRACTI128, operand.U8(1), all))}
	}
	log := func(op string, operands []int, f func(k *chunk, log vector, half int) vector,
		after func(k *chunk, r vector) vector) {
		g.kernel(op, shape{32, operands, 1}, func(k *chunk) {
			s := special(k)
			r := k.narrowed(func(half int) vector { return f(k, k.add(k.log2Positive(k.wide(0, half)), s[half]), half) })
			k.store(after(k, r), 0)
		})
	}
	itself := func(_ *chunk, r vector) vector { return r }
	log("Log2F32", one, func(_ *chunk, log vector, _ int) vector { return log }, itself)
	log("LogF32", one, func(k *chunk, log vector, _ int) vector { return k.mul(log, k.number(series.Ln2)) }, itself)
	log("PowF32", two, func(k *chunk, log vector, half int) vector { return k.exp2(k.mul(log, k.wide(1, half))) },
		func(k *chunk, r vector) vector {
			return k.blend(k.y(k.VCMPPS, equal, k.zero(), k.load(1, 0)), k.words(0x3f800000), r)
		})
}

func (g *generator) besides(x vector) vector {
	one := g.numbers(1)
	return g.y(g.VSQRTPD, g.mul(g.sub(one, x), g.add(one, x)))
}

func (g *generator) angle(y, x vector) vector {
	a, b := g.magnitude(y), g.magnitude(x)
	less, more := g.y(g.VMINPD, b, a), g.y(g.VMAXPD, b, a)
	ratio := g.div(less, more)
	ratio = g.y(g.VANDNPD, ratio, g.compare(equal, more, g.zero()))
	ratio = g.blend64(g.compare(equal, less, g.number(math.Inf(1))), g.number(1), ratio)
	r := g.mul(ratio, g.polynomial(g.mul(ratio, ratio), series.Atan))
	r = g.blend64(g.compare(greater, a, b), g.sub(g.numbers(series.HalfPi), r), r) // a > b
	r = g.blend64(x, g.sub(g.numbers(series.Pi), r), r)                            // by the sign
	return g.y(g.VORPD, g.compare(unordered, y, x), g.withSign(r, y))
}

func (g *generator) hyperbolic(x vector) (sinh, cosh vector) {
	e := g.exp2(g.mul(x, g.number(series.Log2E)))
	inverse := g.div(g.numbers(1), e)
	half := g.blend64(g.compare(greater, g.magnitude(x), g.number(128*series.Ln2)), g.number(1), g.numbers(0.5))
	sinh, cosh = g.mul(g.sub(e, inverse), half), g.mul(g.add(e, inverse), half)
	square := g.mul(x, x)
	small := g.mul(g.fma(g.polynomial(square, series.Sinh), square, g.number(1)), x)
	return g.blend64(g.compare(less, g.magnitude(x), g.number(1)), small, sinh), cosh
}

// areas writes the inverses of the hyperbolic functions.
func (g *generator) areas() {
	g.function("AsinhF32", one, func(k *chunk, v ...vector) vector {
		a := k.magnitude(v[0])
		square := k.mul(a, a)
		r := k.log2Positive(k.add(a, k.y(k.VSQRTPD, k.add(square, k.number(1)))))
		small := k.mul(k.fma(k.polynomial(square, series.Asinh), square, k.number(1)), a)
		r = k.blend64(k.compare(less, a, k.number(series.Small)), small, k.mul(r, k.number(series.Ln2)))
		return k.withSign(k.blend64(k.compare(notLess, a, k.number(math.Inf(1))), a, r), v[0])
	})
	g.function("AcoshF32", one, func(k *chunk, v ...vector) vector {
		a := v[0]
		root := k.y(k.VSQRTPD, k.mul(k.sub(a, k.number(1)), k.add(a, k.number(1))))
		r := k.mul(k.log2Positive(k.add(a, root)), k.number(series.Ln2))
		r = k.y(k.VORPD, k.compare(less, a, k.number(1)), r)
		return k.blend64(k.compare(notLess, a, k.number(math.Inf(1))), a, r)
	})
	g.function("AtanhF32", one, func(k *chunk, v ...vector) vector {
		a, one := k.magnitude(v[0]), k.numbers(1)
		r := k.log2Positive(k.div(k.add(one, a), k.sub(one, a)))
		small := k.mul(k.polynomial(k.mul(a, a), series.Log2), a)
		r = k.blend64(k.compare(less, a, k.number(series.Ratio)), small, r)
		r = k.blend64(k.compare(equal, a, one), k.number(math.Inf(1)), r)
		r = k.y(k.VORPD, k.compare(notLessEqual, a, one), r)
		return k.withSign(k.mul(r, k.number(series.Ln2/2)), v[0])
	})
}

func (g *generator) trigonometry() {
	quadrant := func(k *chunk, half int) (rest, quadrants vector) {
		x := k.wide(0, half)
		far := k.compare(greater, k.magnitude(x), k.number(series.Far))
		x = k.sub(x, k.y(k.VANDPD, x, far))
		quadrants = k.fma(k.numbers(series.TwoPi), x, k.number(series.Magic))
		n := k.sub(quadrants, k.number(series.Magic))
		rest = x
		k.VFNMADD231PD(k.number(series.HalfPi), n, rest)
		k.VFNMADD231PD(k.number(series.HalfPiLow), n, rest)
		return rest, quadrants
	}
	sinCos := func(k *chunk, x vector) (sin, cos vector) {
		square := k.mul(x, x)
		sin = k.mul(k.fma(k.polynomial(square, series.Sin), square, k.number(1)), x)
		return sin, k.fma(k.polynomial(square, series.Cos), square, k.number(1))
	}
	odd := func(k *chunk, quadrants vector) vector { return k.y(k.VPSLLQ, operand.U8(63), quadrants) }
	write := func(op string, f func(k *chunk, half int) vector) {
		g.kernel(op, shape{32, one, 1}, func(k *chunk) {
			k.store(k.narrowed(func(half int) vector { return f(k, half) }), 0)
		})
	}
	turned := func(k *chunk, rest, quadrants vector) vector {
		sin, cos := sinCos(k, rest)
		sign := k.y(k.VPAND, k.quads(1<<63), k.y(k.VPSLLQ, operand.U8(62), quadrants))
		return k.y(k.VXORPD, sign, k.blend64(odd(k, quadrants), cos, sin))
	}
	write("SinF32", func(k *chunk, half int) vector {
		rest, quadrants := quadrant(k, half)
		return turned(k, rest, quadrants)
	})
	write("CosF32", func(k *chunk, half int) vector {
		rest, quadrants := quadrant(k, half)
		return turned(k, rest, k.y(k.VPSUBQ, k.ones(), quadrants))
	})
	write("TanF32", func(k *chunk, half int) vector {
		rest, quadrants := quadrant(k, half)
		sin, cos := sinCos(k, rest)
		swap := odd(k, quadrants)
		above := k.blend64(swap, k.y(k.VXORPD, k.quads(1<<63), cos), sin)
		return k.div(above, k.blend64(swap, sin, cos))
	})
}

// remainders are exact: in 64 bits the quotient is off by one at most, and the remainder then by the divisor. It is 0
// where the quotient is too large for that, and a NaN where it is infinite.
func (g *generator) remainders() {
	for _, op := range []string{"RemF32", "ModF32"} {
		g.kernel(op, shape{32, two, 1}, func(k *chunk) {
			var halves [2]vector
			for half := range halves {
				halves[half] = k.x(k.VCVTPD2PSY, k.remainder(k.wide(0, half), k.wide(1, half)))
			}
			r := k.join(halves[0], halves[1])
			if op == "ModF32" {
				b := k.load(1, 0)
				sum := k.blend(k.y(k.VXORPS, b, r), k.y(k.VADDPS, b, r), r)
				r = k.blend(k.y(k.VCMPPS, equal, k.zero(), r), k.y(k.VANDPS, k.words(1<<31), b), sum)
			}
			k.store(r, 0)
		})
	}
}

func (k *chunk) remainder(a, b vector) vector {
	q := k.y(k.VROUNDPD, truncate, k.div(a, b))
	r := k.y(k.VMOVDQU, a)
	k.VFNMADD231PD(b, q, r)
	r = k.y(k.VPANDN, r, k.compare(greater, k.magnitude(q), k.number(series.Whole)))
	r = k.add(r, k.mul(q, k.number(0)))
	r = k.y(k.VXORPD, r, k.y(k.VANDPD, k.quads(1<<63), a)) // that of |a|
	b = k.magnitude(b)
	r = k.magnitude(k.add(r, k.y(k.VANDPD, b, k.compare(less, r, k.zero())))) // it was one divisor beyond 0
	r = k.withSign(r, a)
	return k.blend64(k.compare(less, k.magnitude(a), b), a, r) // also where b is infinite
}
