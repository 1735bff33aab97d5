package native

// Operations on the bits of words.

// findBit makes the number of a word's highest bit, or -1. only leaves in t, of A in a vector, words whose highest bit
// says it. Those have no bit below that would round up what is converted to a float, whose exponent is the number,
// where no instruction counts the zeros above.
func findBit(only func(c *compiler, t, a vector), unsigned bool) func(c *compiler) {
	return func(c *compiler) {
		t, a, u := spare[0], c.vector(0, spare[1]), spare[2]
		if bits512() {
			if !unsigned {
				only(c, t, a)
				a = t
			}
			c.in32(vplzcnt, t, 0, reg(a))
			c.move(u, c.words(31))
			c.two(vpsubd, c.result(), u, reg(t))
			return
		}
		only(c, t, a)
		c.one(vcvtdq2ps, t, reg(t))
		c.shift(shift32, right, t, t, 23)
		c.two(vpand, t, t, c.words(0xff))
		c.two(vpsubd, t, t, c.words(127))
		c.two(vpcmpeqd, u, u, reg(u))
		c.two(vpmaxsd, t, t, reg(u))
		if unsigned {
			c.blend(t, t, c.words(31), a)
		}
		c.move(c.result(), reg(t))
	}
}

// lowest leaves the lowest bit.
func lowest(c *compiler, t, a vector) {
	c.two(vpxor, t, t, reg(t))
	c.two(vpsubd, t, t, reg(a))
	c.two(vpand, t, t, reg(a))
}

// highest leaves the highest bit, and not the one below it.
func highest(c *compiler, t, a vector) {
	c.shift(shift32, right, t, a, 1)
	c.two(vpandn, t, t, reg(a))
}

// highestSigned does that of negative words' complements.
func highestSigned(c *compiler, t, a vector) {
	u := spare[2]
	c.shift(shift32, rightSigned, u, a, 31)
	c.two(vpxor, u, u, reg(a))
	highest(c, t, u)
}

// nibbles leaves the lower four bits of each byte in low, and the upper ones in high.
func (c *compiler) nibbles(low, high, a vector) {
	c.shift(shift32, right, high, a, 4)
	c.two(vpand, low, a, c.words(0x0f0f0f0f))
	c.two(vpand, high, high, c.words(0x0f0f0f0f))
}

// table is a constant of 16 bytes, twice: vpshufb looks bytes up in it.
func (c *compiler) table(of func(i uint32) uint32) operand {
	var words [8]uint32
	for i := range uint32(16) {
		words[i/4] |= of(i) << (i % 4 * 8)
		words[4+i/4] = words[i/4]
	}
	return c.constant(words)
}

// countOf is the number of bits in four.
func countOf(i uint32) uint32 { return i&1 + i>>1&1 + i>>2&1 + i>>3 }

func (c *compiler) countBits() {
	if bits512() {
		a := c.reads(0)
		c.in32(vpopcnt, c.result(), 0, a)
		return
	}
	low, high, t := spare[0], spare[1], spare[2]
	c.nibbles(low, high, c.vector(0, low))
	c.move(t, c.table(countOf))
	c.two(vpshufb, low, t, reg(low))
	c.two(vpshufb, high, t, reg(high))
	c.two(vpaddd, low, low, reg(high)) // of each byte, at most 8
	c.two(vpmulld, low, low, c.words(0x01010101))
	c.shift(shift32, right, c.result(), low, 24)
}

// reversed is four bits in the other order.
func reversed(i uint32) uint32 { return i>>3&1 | i>>1&2 | i<<1&4 | i<<3&8 }

// bitsTurned is the matrix that turns around the bits of a byte.
const bitsTurned = 0x8040201008040201

func (c *compiler) reverse() {
	low, high, t := spare[0], spare[1], spare[2]
	c.two(vpshufb, low, c.vector(0, low), c.table(func(i uint32) uint32 { return i ^ 3 }))
	if bits512() {
		c.byte64(vgf2affine, c.result(), low, c.quads(bitsTurned), 0)
		return
	}
	c.nibbles(low, high, low)
	c.move(t, c.table(func(i uint32) uint32 { return reversed(i) << 4 }))
	c.two(vpshufb, low, t, reg(low))
	c.move(t, c.table(reversed))
	c.two(vpshufb, high, t, reg(high))
	c.two(vpor, c.result(), low, reg(high))
}
