package native

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
)

// Integers of 32 bits are divided by a constant with a product of 64 bits (Granlund and Montgomery, "Division by
// invariant integers using multiplication"; Robison, "N-bit unsigned division via N-bit multiply-add").

// DividesBy says whether there is code for an operation whose second operand is a constant: with that as Immediate, and
// without B.
func DividesBy(op kernel.Op, d uint32) bool {
	switch op {
	case kernel.DivU32, kernel.RemU32, kernel.DivS32, kernel.RemS32:
		return d != 0
	case kernel.ModS32:
		return int32(d) > 0
	}
	return false
}

// inverse gives what a quotient is a product with: it is a*factor >> 32 >> shift for all a up to most, or, if more is
// true, (a+1)*factor >> 32 >> shift. d is no power of two.
func inverse(d, most uint32) (factor uint64, shift uint8, more bool) {
	last := uint8(bits.Len32(d) - 1)
	for shift = range last + 1 {
		power := uint64(1) << (32 + shift)
		factor = power/uint64(d) + 1
		// The product is too large by a times this error, which matters from a power on.
		if above := factor*uint64(d) - power; above*uint64(most) < power && factor <= math.MaxUint32 {
			return factor, shift, false
		}
	}
	return 1 << (32 + last) / uint64(d), last, true
}

// divideByConstant makes DivU32, RemU32, DivS32, RemS32 or ModS32 with a constant. Numbers with a sign are divided
// without it, or, for a quotient that is rounded down, with all bits turned where they are negative.
func (c *compiler) divideByConstant() {
	op, d := c.insts[c.at].Op, uint32(c.insts[c.at].Immediate)
	x, w := spare[1], spare[3]
	var q vector
	switch op {
	case kernel.DivU32, kernel.RemU32:
		q = c.quotient(c.vector(0, x), d, math.MaxUint32)
		if op == kernel.DivU32 {
			c.move(c.result(), reg(q))
			return
		}
	default:
		size, most := d, uint32(1<<31)
		if op == kernel.ModS32 {
			a := c.vector(0, x)
			c.shift(shift32, rightSigned, w, a, 31)
			c.two(vpxor, x, a, reg(w))
			most = math.MaxInt32
		} else {
			size = uint32(max(int32(d), -int32(d)))
			c.one(vpabsd, x, c.reads(0))
		}
		q = c.quotient(x, size, most)
		a := c.vector(0, w)
		c.shift(shift32, rightSigned, w, a, 31)
		c.two(vpxor, q, q, reg(w))
		switch {
		case op == kernel.ModS32:
		case int32(d) > 0:
			c.two(vpsubd, q, q, reg(w))
		default:
			c.two(vpsubd, q, w, reg(q))
		}
		if op == kernel.DivS32 {
			c.move(c.result(), reg(q))
			return
		}
	}
	c.two(vpmulld, q, q, c.words(d))
	a := c.vector(0, x)
	c.two(vpsubd, c.result(), a, reg(q))
}

// quotient gives x / d, of numbers up to most, in spare[0]. It needs spare[2] and spare[3].
func (c *compiler) quotient(x vector, d, most uint32) vector {
	q, even, odd := spare[0], spare[2], spare[3]
	if bits.OnesCount32(d) == 1 {
		c.shift(shift32, right, q, x, uint8(bits.TrailingZeros32(d)))
		return q
	}
	factor, shift, more := inverse(d, most)
	f := c.quads(factor)
	c.two(vpmuludq, even, x, f)
	c.shift(shift64, right, odd, x, 32)
	c.two(vpmuludq, odd, odd, f)
	if more {
		c.two(vpaddq, even, even, f)
		c.two(vpaddq, odd, odd, f)
	}
	c.highWords(q, even, odd)
	if shift > 0 {
		c.shift(shift32, right, q, q, shift)
	}
	return q
}

// highWords gives the upper words of lanes of 64 bits, in the order in which words have them. even is lost.
func (c *compiler) highWords(dst, even, odd vector) {
	if !c.wide {
		c.shift(shift64, right, even, even, 32)
		c.immediate(vpblendd, dst, even, reg(odd), 0xaa)
		return
	}
	var words [2][8]uint32
	for i := range uint32(16) {
		words[i/8][i%8] = i | 1 | i%2<<4
	}
	c.move(dst, c.constants(words[0], words[1]))
	c.two(vpermi2d, dst, even, reg(odd))
}
