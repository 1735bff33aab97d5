package native

import "math"

// What differs where code on values of 64 bits is for pairs of chunks. A half of a register is one of the chunks then,
// in a vector of 512 bits, and what is true or false in its lanes is eight bits of a mask register.

// wideTruth makes a comparison of A with B or, of one operand, with itself.
func wideTruth(o opcode, predicate uint8, unary bool) func(c *compiler) bool {
	return func(c *compiler) bool {
		a := c.vector(0, spare[0])
		b := reg(a)
		if !unary {
			b = c.reads(1)
		}
		c.truthOfHalf(o, a, b, predicate)
		return true
	}
}

func (c *compiler) isInfWidePair() bool {
	t := spare[0]
	c.two(vandps, t, c.vector(0, t), c.quads(1<<63-1))
	c.truthOfHalf(vcmppd, t, c.float64s(math.Inf(1)), floatEqual)
	return true
}

// truthOfHalf compares lanes of 64 bits. The bits of the lower half wait for those of the upper one.
func (c *compiler) truthOfHalf(o opcode, a vector, b operand, predicate uint8) {
	if !c.isUpper() {
		c.truth(func(k maskRegister) { c.compareTo(o, quad, k, a, b, predicate) })
		return
	}
	lower := c.bitsOf(2, spare[3])
	c.truth(func(k maskRegister) {
		c.compareTo(o, quad, savedBits, a, b, predicate)
		c.bits(kunpckbw, k, savedBits, lower)
	})
}

// ofHalf gives the bits of the half under way, of those of a pair.
func (c *compiler) ofHalf(k maskRegister) maskRegister {
	if !c.isUpper() {
		return k
	}
	c.shiftBits(savedBits, k, 8)
	return savedBits
}

func (c *compiler) moveMaskedWidePair() {
	if !c.insts[c.at].C.Valid {
		c.moveMaskedWide()
		return
	}
	a, before := c.vector(0, spare[0]), c.vector(2, spare[1])
	k := c.ofHalf(c.activeBits())
	c.blendBy64(k, c.result(), before, reg(a))
}

func (c *compiler) chooseWidePair() {
	k := c.ofHalf(c.bitsOf(2, spare[0]))
	b, a := c.vector(1, spare[1]), c.reads(0)
	c.blendBy64(k, c.result(), b, a)
}

// joinPair makes lanes of two words.
func (c *compiler) joinPair() {
	a, b, t := c.vector(0, spare[0]), c.vector(1, spare[1]), spare[2]
	var words [16]uint32
	for i := range uint32(16) {
		words[i] = i/2 + i%2*16
		if c.isUpper() {
			words[i] += 8
		}
	}
	c.move(t, c.constants([8]uint32(words[:8]), [8]uint32(words[8:])))
	c.two(vpermi2d, t, a, reg(b))
	c.move(c.result(), reg(t))
}
