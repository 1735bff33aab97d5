package main

import (
	"math"

	"farside/compute/internal/kernel/series"
)

// number loads a constant of 64 bits where it is used: polynomials have more than there are registers.
func (g *generator) number(value float64) vector { return g.inline(math.Float64bits(value)) }

func (g *generator) inline(value uint64) vector {
	return g.do(access(false, "q", g.index([2]uint64{value, value})), x(regTable))
}

func (g *generator) add(a, b vector) vector { return g.v("fadd.2d", a, b) }
func (g *generator) sub(a, b vector) vector { return g.v("fsub.2d", a, b) }
func (g *generator) mul(a, b vector) vector { return g.v("fmul.2d", a, b) }
func (g *generator) div(a, b vector) vector { return g.v("fdiv.2d", a, b) }

// fma returns a*b + c.
func (g *generator) fma(a, b, c vector) vector { return g.v("fmla.2d", c, a, b) }

func (g *generator) magnitude(a vector) vector { return g.v("fabs.2d", a) }

// greater says of each lane whether a > b.
func (g *generator) greater(a, b vector) vector { return g.v("fcmgt.2d", a, b) }

// withSign returns a with the sign of b.
func (g *generator) withSign(a, b vector) vector { return g.choose(g.inline(1<<63), b, a) }

// transcendental writes the kernels of what package kernel has in functions.go: the same operations in the same order.
// Those of angles and remainders, parts of which need package math, stay with Go.
func (g *generator) transcendental() {
	g.wideFunction("ExpF32", one, func(k *chunk, a ...vector) vector {
		return k.exp2(k.mul(a[0], k.number(series.Log2E)))
	})
	g.wideFunction("Exp2F32", one, func(k *chunk, a ...vector) vector { return k.exp2(a[0]) })
	g.wideFunction("Log2F32", one, func(k *chunk, a ...vector) vector { return k.log2(a[0]) })
	g.wideFunction("LogF32", one, func(k *chunk, a ...vector) vector {
		return k.mul(k.log2(a[0]), k.number(series.Ln2))
	})
	g.wideFunction("PowF32", two, func(k *chunk, a ...vector) vector {
		r := k.exp2(k.mul(a[1], k.log2(a[0])))
		return k.choose(k.v("fcmeq0.2d", a[1]), k.number(1), r)
	})
	g.wideFunction("AtanF32", one, func(k *chunk, a ...vector) vector { return k.angle(a[0], k.number(1)) })
	g.wideFunction("Atan2F32", two, func(k *chunk, a ...vector) vector { return k.angle(a[0], a[1]) })
	g.wideFunction("AsinF32", one, func(k *chunk, a ...vector) vector { return k.angle(a[0], k.besides(a[0])) })
	g.wideFunction("AcosF32", one, func(k *chunk, a ...vector) vector { return k.angle(k.besides(a[0]), a[0]) })
	g.wideFunction("SinhF32", one, func(k *chunk, a ...vector) vector { return k.sinh(a[0], k.power(a[0])) })
	g.wideFunction("CoshF32", one, func(k *chunk, a ...vector) vector { return k.cosh(k.power(a[0])) })
	g.wideFunction("TanhF32", one, func(k *chunk, a ...vector) vector {
		e := k.power(a[0])
		return k.div(k.sinh(a[0], e), k.cosh(e))
	})
}

// wideFunction writes a kernel that computes in 64 bits.
func (g *generator) wideFunction(op string, operands []int, f func(k *chunk, a ...vector) vector) {
	g.kernel(op, 32, operands, func(k *chunk) {
		k.useTable()
		for part := range 2 {
			var words []vector
			for i := range operands {
				words = append(words, k.load(i, part))
			}
			k.store(k.narrowed(func(half int) vector {
				var wide []vector
				for _, w := range words {
					wide = append(wide, k.widened(w, half))
				}
				return f(k, wide...)
			}), part)
		}
	})
}

func (g *generator) polynomial(x vector, coefficients []float64) vector {
	i := len(coefficients) - 1
	sum := g.number(coefficients[i])
	for i--; i >= 0; i-- {
		sum = g.fma(sum, x, g.number(coefficients[i]))
	}
	return sum
}

func (g *generator) exp2(x vector) vector {
	x = g.v("fmin.2d", x, g.number(series.Steep)) // a NaN stays one
	x = g.v("fmax.2d", x, g.number(-series.Steep))
	shifted := g.add(x, g.number(series.Magic))
	fraction := g.sub(x, g.sub(shifted, g.number(series.Magic)))
	return g.v("add.2d", g.polynomial(fraction, series.Exp2), g.shifted("shl", 64, 52, shifted))
}

func (g *generator) log2Positive(x vector) vector {
	raw := g.v("add.2d", x, g.inline(0x3ff<<52-series.RootHalf))
	exponent := g.v("scvtf.2d", g.v("sub.2d", g.shifted("ushr", 64, 52, raw), g.inline(1023)))
	mantissa := g.v("add.2d", g.and(raw, g.inline(1<<52-1)), g.inline(series.RootHalf))
	ratio := g.div(g.sub(mantissa, g.number(1)), g.add(mantissa, g.number(1)))
	return g.fma(ratio, g.polynomial(g.mul(ratio, ratio), series.Log2), exponent)
}

// log2 adds to the logarithm what makes it right where it is not a finite number.
func (g *generator) log2(x vector) vector {
	infinity := g.inline(0x7ff << 52)
	special := g.and(infinity, g.v("fcmeq.2d", x, infinity))
	special = g.or(special, g.and(g.inline(0xfff<<52), g.v("fcmeq0.2d", x)))
	negative := g.not(g.v("fcmge0.2d", x)) // or a NaN
	special = g.or(special, g.and(g.inline(0x7ff8<<48), negative))
	return g.add(g.log2Positive(x), special)
}

func (g *generator) besides(x vector) vector {
	return g.v("fsqrt.2d", g.mul(g.sub(g.number(1), x), g.add(g.number(1), x)))
}

func (g *generator) angle(y, x vector) vector {
	a, b := g.magnitude(y), g.magnitude(x)
	less, more := g.v("fmin.2d", a, b), g.v("fmax.2d", a, b)
	ratio := g.v("bic.16b", g.div(less, more), g.v("fcmeq0.2d", more))
	ratio = g.choose(g.v("fcmeq.2d", less, g.inline(0x7ff<<52)), g.number(1), ratio)
	r := g.mul(ratio, g.polynomial(g.mul(ratio, ratio), series.Atan))
	r = g.choose(g.greater(a, b), g.sub(g.number(series.HalfPi), r), r)
	r = g.choose(g.v("cmlt0.2d", x), g.sub(g.number(series.Pi), r), r)
	return g.withSign(r, y)
}

// power returns e**x and its inverse, and what half of their difference and of their sum is multiplied by.
func (g *generator) power(x vector) [3]vector {
	e := g.exp2(g.mul(x, g.number(series.Log2E)))
	large := g.greater(g.magnitude(x), g.number(128*series.Ln2))
	return [3]vector{e, g.div(g.number(1), e), g.choose(large, g.number(1), g.number(0.5))}
}

func (g *generator) sinh(x vector, e [3]vector) vector {
	square := g.mul(x, x)
	small := g.mul(x, g.fma(square, g.polynomial(square, series.Sinh), g.number(1)))
	return g.choose(g.greater(g.number(1), g.magnitude(x)), small, g.mul(g.sub(e[0], e[1]), e[2]))
}

func (g *generator) cosh(e [3]vector) vector { return g.mul(g.add(e[0], e[1]), e[2]) }
