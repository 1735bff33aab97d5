package native

import (
	"math"

	"farside/compute/internal/kernel"
)

// Integers are divided as 64-bit floats. The quotient of integers below 2^32 is rounded to an integer only if it is
// one: its distance to the next one is no less than 1 to the divisor.

// magic is 2^52 as a 64-bit float: the lowest bits of its sum with a smaller integer are that integer.
const magic = 0x433 << 52

// toDoubles makes floats of integers of 32 bits in lanes of 64.
func (c *compiler) toDoubles(v vector) {
	c.two(vpor, v, v, c.quads(magic))
	c.two(vsubpd, v, v, c.quads(magic))
}

// divide leaves the quotients of two vectors in u, anything where b is 0. a may be free[0], which is lost as free[1]
// is.
func (c *compiler) divide(u, a, b vector, free [2]vector) {
	t, w := free[0], free[1]
	quotients := func(u, t vector) {
		c.toDoubles(u)
		c.toDoubles(t)
		c.two(vdivpd, u, u, reg(t))
		c.immediate(vroundpd, u, 0, reg(u), 11)
		c.two(vaddpd, u, u, c.quads(magic))
	}
	c.two(vpand, u, a, c.quads(math.MaxUint32))
	c.two(vpand, w, b, c.quads(math.MaxUint32))
	quotients(u, w)
	c.shift(shift64, right, w, a, 32)
	c.shift(shift64, right, t, b, 32)
	quotients(w, t)
	c.shift(shift64, left, w, w, 32)
	c.immediate(vpblendd, u, u, reg(w), 0xaa)
}

// isZero gives a mask of the lanes that are 0.
func (c *compiler) isZero(dst, v vector) {
	c.two(vpxor, dst, dst, reg(dst))
	c.two(vpcmpeqd, dst, dst, reg(v))
}

// divideUnsigned makes DivU32 or RemU32.
func (c *compiler) divideUnsigned() {
	if !c.insts[c.at].B.Valid {
		c.divideByConstant()
		return
	}
	t, u := spare[0], spare[2]
	b := c.vector(1, spare[1])
	c.divide(u, c.vector(0, t), b, [2]vector{t, spare[3]})
	if c.insts[c.at].Op == kernel.DivU32 {
		c.isZero(t, b)
		c.two(vpor, c.result(), u, reg(t))
		return
	}
	c.two(vpmulld, u, u, reg(b)) // 0 where b is
	a := c.vector(0, t)
	c.two(vpsubd, c.result(), a, reg(u))
}

// divideSigned makes DivS32, RemS32 or ModS32 of the absolute values.
func (c *compiler) divideSigned() {
	if !c.insts[c.at].B.Valid {
		c.divideByConstant()
		return
	}
	t, divisor, u, w := spare[0], spare[1], spare[2], spare[3]
	c.one(vpabsd, t, c.reads(0))
	c.one(vpabsd, divisor, c.reads(1))
	c.divide(u, t, divisor, [2]vector{t, w})
	negate := func() { // where w is all ones
		c.two(vpxor, u, u, reg(w))
		c.two(vpsubd, u, u, reg(w))
	}
	if c.insts[c.at].Op == kernel.DivS32 {
		c.isZero(t, divisor)
		c.two(vpxor, w, c.vector(0, w), c.reads(1))
		c.shift(shift32, rightSigned, w, w, 31)
		negate()
		c.two(vpor, c.result(), u, reg(t))
		return
	}
	c.two(vpmulld, u, u, reg(divisor))
	a := c.vector(0, t)
	c.one(vpabsd, w, reg(a))
	c.two(vpsubd, u, w, reg(u))
	c.shift(shift32, rightSigned, w, a, 31)
	negate()
	if c.insts[c.at].Op == kernel.RemS32 {
		c.one(vmovups, c.result(), reg(u))
		return
	}
	b := c.vector(1, divisor)
	c.isZero(t, u)
	c.two(vpxor, w, u, reg(b)) // b is added where the signs differ, but not to 0
	c.shift(shift32, rightSigned, w, w, 31)
	c.two(vpand, w, w, reg(b))
	c.two(vpandn, w, t, reg(w))
	c.two(vpaddd, c.result(), u, reg(w))
}

// multiplyHigh makes the higher words of products.
func multiplyHigh(o opcode) func(c *compiler) {
	return func(c *compiler) {
		t, u, w := spare[0], spare[2], spare[3]
		a, b := c.vector(0, t), c.vector(1, spare[1])
		c.two(o, u, a, reg(b))
		c.shift(shift64, right, w, a, 32)
		c.shift(shift64, right, t, b, 32)
		c.two(o, w, w, reg(t))
		c.highWords(t, u, w)
		c.move(c.result(), reg(t))
	}
}
