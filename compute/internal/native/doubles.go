package native

import "math"

// Floats of 64 bits, in a half's lanes (wide.go).

func (c *compiler) fmaWide() {
	t := spare[0]
	c.move(t, c.reads(0))
	b := c.vector(1, spare[1])
	c.two(vfmadd213pd, t, b, c.reads(2))
	c.one(vmovups, c.result(), reg(t))
}

// wideProduct makes A*B o C with both roundings; last says that it is C o A*B.
func wideProduct(o opcode, last bool) func(c *compiler) {
	return func(c *compiler) {
		t := spare[0]
		c.two(vmulpd, t, c.vector(0, t), c.reads(1))
		addend := c.vector(2, spare[1])
		if last {
			c.two(o, c.result(), addend, reg(t))
			return
		}
		c.two(o, c.result(), t, reg(addend))
	}
}

func (c *compiler) inverseSqrtWide() {
	t, u := spare[0], spare[1]
	c.one(vsqrtpd, t, c.reads(0))
	c.move(u, c.quads(math.Float64bits(1)))
	c.two(vdivpd, c.result(), u, reg(t))
}

// floatExtremeWide makes a minimum or maximum, as extreme does.
func floatExtremeWide(o, combine opcode) func(c *compiler) {
	return func(c *compiler) {
		a, b := c.vector(0, spare[0]), c.vector(1, spare[1])
		c.extremeOfWide(o, combine, c.result(), a, b, spare[2], spare[3])
	}
}

// extremeOfWide is extremeOf for lanes of 64 bits.
func (c *compiler) extremeOfWide(o, combine opcode, dst, a, b, t, u vector) {
	c.two(o, t, a, reg(b))
	c.two(o, u, b, reg(a))
	c.two(combine, t, t, reg(u))
	c.immediate(vcmppd, u, a, reg(a), 3)
	c.blend(t, t, reg(b), u)
	c.immediate(vcmppd, u, b, reg(b), 3)
	c.blend(dst, t, reg(a), u)
}

func floatOrderWide(which uint8) func(c *compiler) {
	return func(c *compiler) {
		t := spare[0]
		c.immediate(vcmppd, t, c.vector(0, t), c.reads(1), which)
		c.narrow(t)
	}
}

func (c *compiler) isNaNWide() {
	t := spare[0]
	a := c.vector(0, t)
	c.immediate(vcmppd, t, a, reg(a), 3)
	c.narrow(t)
}

func (c *compiler) isInfWide() {
	t := spare[0]
	c.two(vandps, t, c.vector(0, t), c.quads(1<<63-1))
	c.immediate(vcmppd, t, t, c.quads(0x7ff<<52), 0)
	c.narrow(t)
}

func (c *compiler) unsignedToDouble() {
	t := spare[0]
	c.lanesOf(0, vpmovzxdq, t)
	c.two(vpor, t, t, c.quads(magic))
	c.two(vsubpd, c.result(), t, c.quads(magic))
}

func (c *compiler) doubleToFloat() {
	t := spare[0]
	c.one(vcvtpd2ps, t, c.reads(0))
	c.packed(t)
}

// doubleToSigned saturates, and gives 0 of a NaN.
func (c *compiler) doubleToSigned() {
	t, u := spare[0], spare[1]
	a := c.vector(0, t)
	c.immediate(vcmppd, u, a, reg(a), 7)
	c.two(vminpd, t, a, c.quads(math.Float64bits(math.MaxInt32)))
	c.two(vandps, t, t, reg(u))
	c.two(vmaxpd, t, t, c.quads(math.Float64bits(math.MinInt32)))
	c.one(vcvttpd2dq, t, reg(t))
	c.packed(t)
}

// doubleToUnsigned saturates, and gives 0 of a NaN.
func (c *compiler) doubleToUnsigned() {
	t, u := spare[0], spare[1]
	c.two(vpxor, u, u, reg(u))
	c.two(vmaxpd, t, c.vector(0, t), reg(u))
	c.two(vminpd, t, t, c.quads(math.Float64bits(math.MaxUint32)))
	c.immediate(vroundpd, t, 0, reg(t), 11)
	c.two(vaddpd, t, t, c.quads(magic))
	c.narrow(t)
}
