package main

import (
	"math"

	"farside/compute/internal/kernel/series"

	"github.com/mmcloughlin/avo/operand"
)

// More predicates: those with a not are true of NaNs.
const (
	notLess      = operand.U8(0x15)
	notLessEqual = operand.U8(0x16)
	atLeast      = operand.U8(0x1d)
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
	g.singles()
	g.remainders()
}

// wide returns half of an operand as 64-bit floats.
func (k *chunk) wide(i, half int) vector { return k.y(k.VCVTPS2PD, k.quarter(i, half)) }

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
