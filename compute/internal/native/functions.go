package native

import (
	"math"

	"farside/compute/internal/kernel/series"
)

// Exponentials and logarithms are computed as kernels do it (package kernel, functions.go): in 64 bits, four lanes at a
// time, with the same operations in the same order.

// float64s is a constant in all lanes of 64 bits.
func (c *compiler) float64s(f float64) operand { return c.quads(math.Float64bits(f)) }

// inDoubles computes a function of A in 64 bits, and leaves it in spare[0]: of each half of the lanes, in a vector that
// f gets and changes. It may use spare[2] and spare[3].
func (c *compiler) inDoubles(f func(x vector)) {
	x, y := spare[0], spare[1]
	a := c.vector(0, x)
	c.upper(y, a)
	c.one(vcvtps2pd, y, reg(y))
	c.one(vcvtps2pd, x, reg(a))
	for _, half := range []vector{x, y} {
		f(half)
		c.one(vcvtpd2ps, half, reg(half))
	}
	c.immediate(vinsertf128, x, x, reg(y), 1)
}

// polynomial leaves Horner's scheme for x in sum.
func (c *compiler) polynomial(sum, x vector, coefficients []float64) {
	i := len(coefficients) - 1
	c.move(sum, c.float64s(coefficients[i]))
	for i--; i >= 0; i-- {
		c.two(vfmadd213pd, sum, x, c.float64s(coefficients[i]))
	}
}

// exp2 makes 2**x of x.
func (c *compiler) exp2(x vector) {
	shifted, sum := spare[2], spare[3]
	c.move(sum, c.float64s(series.Steep))
	c.two(vminpd, x, sum, reg(x)) // a NaN is the second operand, and stays
	c.move(sum, c.float64s(-series.Steep))
	c.two(vmaxpd, x, sum, reg(x))
	c.two(vaddpd, shifted, x, c.float64s(series.Magic))
	c.two(vsubpd, sum, shifted, c.float64s(series.Magic))
	c.two(vsubpd, x, x, reg(sum))
	c.polynomial(sum, x, series.Exp2)
	c.shift(shift64, left, shifted, shifted, 52)
	c.two(vpaddq, x, shifted, reg(sum))
}

// exponential makes 2**(A * factor).
func exponential(factor float64) func(c *compiler) {
	return func(c *compiler) {
		c.inDoubles(func(x vector) {
			if factor != 1 {
				c.two(vmulpd, x, x, c.float64s(factor))
			}
			c.exp2(x)
		})
		c.move(c.result(), reg(spare[0]))
	}
}
