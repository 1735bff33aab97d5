package native

import "math"

// Significands and exponents of floats.

// normal leaves in t the magnitude of A, and in d the same as a normal number: one that is not normal is an integer,
// and becomes the float of that. It leaves where that is so in small.
func (c *compiler) normal(t, d, small vector) {
	c.two(vandps, t, c.vector(0, t), c.words(magnitudeOf32))
	c.one(vcvtdq2ps, d, reg(t))
	c.move(small, c.words(1<<23))
	c.two(vpcmpgtd, small, small, reg(t))
	c.blend(d, t, reg(d), small)
}

// usual leaves where a magnitude is neither 0 nor infinite nor a NaN, in t.
func (c *compiler) usual(t, u vector) {
	c.move(u, c.words(0x7f800000))
	c.two(vpcmpgtd, u, u, reg(t))
	c.two(vpcmpgtd, t, t, c.words(0))
	c.two(vpand, t, t, reg(u))
}

// significand gives what is not usual as it is.
func (c *compiler) significand() {
	if avx512() {
		c.significandOf(0)
		return
	}
	t, d, small, a := spare[0], spare[1], spare[2], spare[3]
	c.normal(t, d, small)
	c.usual(t, small)
	c.two(vpand, d, d, c.words(1<<23-1))
	c.two(vpor, d, d, c.words(0x3f000000))
	a = c.vector(0, a)
	c.two(vandps, small, a, c.words(signOf32))
	c.two(vpor, d, d, reg(small))
	c.blend(c.result(), a, reg(d), t)
}

// significandOf is significand, or significandWide if w is quad, by one instruction and what it isn't right for.
func (c *compiler) significandOf(w uint8) {
	t, a := spare[0], c.vector(0, spare[1])
	c.special(1, w, a)
	if w == quad {
		c.byte64(vgetmant, t, 0, reg(a), halfToOne)
		c.blendBy64(1, c.result(), t, reg(a))
	} else {
		c.byte32(vgetmant, t, 0, reg(a), halfToOne)
		c.blendBy(1, c.result(), t, reg(a))
	}
}

// exponent is 0 of what is not usual.
func (c *compiler) exponent() {
	if avx512() {
		t, u, a := spare[0], spare[1], c.vector(0, spare[2])
		c.in32(vgetexp, t, 0, reg(a))
		c.one(vcvttps2dq, t, reg(t))
		c.two(vpsubd, t, t, c.words(math.MaxUint32))
		c.special(1, 0, a)
		c.blendBy(1, c.result(), t, reg(c.zeros(u)))
		return
	}
	t, d, small := spare[0], spare[1], spare[2]
	c.normal(t, d, small)
	c.shift(shift32, right, d, d, 23)
	c.two(vpsubd, d, d, c.words(126))
	c.two(vpand, small, small, c.words(149))
	c.two(vpsubd, d, d, reg(small))
	c.usual(t, small)
	c.two(vpand, c.result(), d, reg(t))
}

// scale multiplies with powers of 2, in 64 bits where no instruction does it: there the product is exact.
func (c *compiler) scale() {
	if avx512() {
		t := spare[0]
		c.one(vcvtdq2ps, t, c.reads(1))
		a := c.vector(0, spare[1])
		c.in32(vscalef, c.result(), a, reg(t))
		return
	}
	c.inDoubles(2, func(h *inHalves) vector {
		x, n := spare[0], spare[1]
		h.wide(0, x)
		h.widened(vpmovsxdq, 1, n)
		h.clamp(n, -400, 400)
		h.powers(n)
		h.two(vmulpd, x, x, reg(n))
		return x
	})
	c.move(c.result(), reg(spare[0]))
}

// clamp bounds integers of 64 bits that fit into 32. The words of one are bounded by those of the other.
func (c *compiler) clamp(n vector, least, most int64) {
	c.two(vpmaxsd, n, n, c.quads(uint64(least)))
	c.two(vpminsd, n, n, c.quads(uint64(most)))
}

// powers makes powers of 2 of integers, which are exponents of normal numbers.
func (c *compiler) powers(n vector) {
	c.two(vpaddq, n, n, c.quads(1023))
	c.shift(shift64, left, n, n, 52)
}

// normalWide is normal, and leaves in t the magnitude.
func (c *compiler) normalWide(t, d, small vector) {
	c.two(vandps, t, c.vector(0, t), c.quads(1<<63-1))
	c.doublesOf(d, t, small, false)
	c.move(small, c.quads(1<<52))
	c.two(vpcmpgtq, small, small, reg(t))
	c.blend(d, t, reg(d), small)
}

func (c *compiler) usualWide(t, u vector) {
	c.move(u, c.quads(0x7ff<<52))
	c.two(vpcmpgtq, u, u, reg(t))
	c.two(vpcmpgtq, t, t, c.quads(0))
	c.two(vpand, t, t, reg(u))
}

func (c *compiler) significandWide() {
	if avx512() {
		c.significandOf(quad)
		return
	}
	t, d, small, a := spare[0], spare[1], spare[2], spare[3]
	c.normalWide(t, d, small)
	c.usualWide(t, small)
	c.two(vpand, d, d, c.quads(1<<52-1))
	c.two(vpor, d, d, c.quads(0x3fe<<52))
	a = c.vector(0, a)
	c.two(vandps, small, a, c.quads(1<<63))
	c.two(vpor, d, d, reg(small))
	c.blend(c.result(), a, reg(d), t)
}

func (c *compiler) exponentWide() {
	if avx512() {
		t, u, a := spare[0], spare[1], c.vector(0, spare[2])
		c.in64(vgetexp, t, 0, reg(a))
		c.in64(vcvttpd2qq, t, 0, reg(t))
		c.two(vpsubq, t, t, c.quads(math.MaxUint64))
		c.special(1, quad, a)
		c.blendBy64(1, t, t, reg(c.zeros(u)))
		c.narrow(t)
		return
	}
	t, d, small := spare[0], spare[1], spare[2]
	c.normalWide(t, d, small)
	c.shift(shift64, right, d, d, 52)
	c.two(vpsubd, d, d, c.quads(1022))
	c.two(vpand, small, small, c.quads(1074))
	c.two(vpsubd, d, d, reg(small))
	c.usualWide(t, small)
	c.two(vpand, d, d, reg(t))
	c.narrow(d)
}

// scaleWide multiplies with powers of 2, so that only the last product is rounded: one before it that was rounded is so
// small that the last is 0. A NaN stays as it is.
func (c *compiler) scaleWide() {
	x, n, u, v := spare[0], spare[1], spare[2], spare[3]
	if avx512() {
		c.lanesOf(1, vcvtdq2pd, n)
		a := c.vector(0, x)
		c.in64(vscalef, n, a, reg(n))
		c.compareTo(vcmppd, quad, 1, a, reg(a), floatUnordered)
		c.blendBy64(1, c.result(), n, reg(a))
		return
	}
	c.move(x, c.reads(0))
	c.lanesOf(1, vpmovsxdq, n)
	for range 2 {
		c.two(vpcmpgtq, u, n, c.quads(1023))
		c.move(v, c.quads(math.MaxUint64-1021)) // -1022
		c.two(vpcmpgtq, v, v, reg(n))
		c.two(vpor, u, u, reg(v)) // where one product doesn't do
		c.move(v, reg(n))
		c.clamp(v, 53-1022, 1023)
		c.two(vpand, v, v, reg(u))
		c.two(vpsubq, n, n, reg(v))
		c.powers(v)
		c.two(vmulpd, x, x, reg(v))
	}
	c.clamp(n, -1022, 1023)
	c.powers(n)
	c.two(vmulpd, x, x, reg(n))
	a := c.vector(0, u)
	c.immediate(vcmppd, v, a, reg(a), 3)
	c.blend(c.result(), x, reg(a), v)
}
