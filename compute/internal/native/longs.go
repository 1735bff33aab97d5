package native

import "math"

// Conversions between integers and floats of 64 bits, and bits of integers of 64 bits, in a half's lanes (wide.go).

// The upper words of floats that have a word as their lowest bits: 2**52 + n, and 2**84 + n * 2**32. signedHigh has
// 2**63 more, which stands for the sign.
const (
	highMagic  = 0x4530000000000000
	signedHigh = highMagic | 1<<31
)

// fromLanes makes a vector of the lanes that write leaves in rax; it uses the last two of spare. Those of 512 bits it
// puts where the operands were: write reads none again.
func (c *compiler) fromLanes(dst func() vector, write func(lane int32)) {
	if c.wide {
		from := c.scratch + placeOfAddresses
		for lane := range int32(8) {
			write(lane)
			c.store64(at(file, from+8*lane), rax)
		}
		c.move(dst(), memory(at(file, from)))
		return
	}
	for lane := range int32(4) {
		write(lane)
		to := spare[2+lane/2]
		if lane%2 == 0 {
			c.vex(vmovqInto, uint8(to), 0, reg(vector(rax)), 0)
		} else {
			c.vex(vpinsrq, uint8(to), uint8(to), reg(vector(rax)), 1)
			c.bytes(1)
		}
	}
	c.immediate(vinsertf128, dst(), spare[2], reg(spare[3]), 1)
}

// doublesOf makes floats of integers, with one rounding: that of the sum of both words' values.
func (c *compiler) doublesOf(dst, x, t vector, signed bool) {
	flip := uint64(highMagic)
	if signed {
		flip = signedHigh
	}
	c.shift(shift64, right, t, x, 32)
	c.two(vpxor, t, t, c.quads(flip))
	c.two(vsubpd, t, t, c.quads(flip|1<<20))
	c.move(dst, c.quads(magic))
	c.immediate(vpblendd, dst, dst, reg(x), 0x55)
	c.two(vaddpd, dst, t, reg(dst))
}

func integerToDouble(signed bool) func(c *compiler) {
	return func(c *compiler) {
		if avx512() {
			o := vcvtuqq2pd
			if signed {
				o = vcvtqq2pd
			}
			a := c.reads(0)
			c.in64(o, c.result(), 0, a)
			return
		}
		t := spare[0]
		c.doublesOf(t, c.vector(0, spare[1]), spare[2], signed)
		c.move(c.result(), reg(t))
	}
}

// integerToFloat rounds to 32 bits. Without the instruction for it, what has too many bits for a float of 64 bits gets
// fewer: the eleven lowest ones become one, which says that they were not all 0.
func integerToFloat(signed bool) func(c *compiler) {
	return func(c *compiler) {
		t := spare[0]
		x := c.vector(0, spare[1])
		if avx512() {
			o := vcvtuqq2ps
			if signed {
				o = vcvtqq2ps
			}
			c.evex(o, quad, uint8(t), 0, reg(x), 0)
		} else {
			u, fewer := spare[2], spare[3]
			c.two(vpand, t, x, c.quads(1<<11-1))
			c.two(vpxor, u, u, reg(u))
			c.two(vpcmpeqq, t, t, reg(u))
			c.two(vpandn, t, t, c.quads(1<<11))
			c.two(vpand, fewer, x, c.quads(math.MaxUint64&^(1<<11-1)))
			c.two(vpor, fewer, fewer, reg(t))
			c.move(t, reg(x))
			if signed {
				c.signsOf(t, x)
				c.two(vpxor, t, t, reg(x))
			}
			c.shift(shift64, right, t, t, 53)
			c.two(vpcmpeqq, t, t, reg(u))
			c.blend(fewer, fewer, reg(x), t)
			c.doublesOf(t, fewer, u, signed)
			c.one(vcvtpd2ps, t, reg(t))
		}
		c.packed(t)
	}
}

// truncate makes integers of floats, the least integer where there is none; it uses the last two of spare.
func (c *compiler) truncate(v vector) {
	if avx512() {
		c.evex(vcvttpd2qq, quad, uint8(v), 0, reg(v), 0)
		return
	}
	from := c.scratch + placeOfAddresses
	c.store(at(file, from), v)
	c.fromLanes(func() vector { return v }, func(lane int32) {
		c.vex(vcvttsd2si, uint8(rax), 0, memory(at(file, from+8*lane)), 0)
	})
}

// toInteger makes integers of floats of 64 bits, or of 32. It saturates, and gives 0 of a NaN.
func toInteger(signed, narrow bool) func(c *compiler) {
	return func(c *compiler) {
		t, a, u := spare[0], spare[1], spare[2]
		if narrow {
			c.lanesOf(0, vcvtps2pd, a)
		} else {
			c.move(a, c.reads(0))
		}
		beyond := func(limit float64) { c.immediate(vcmppd, u, a, c.float64s(limit), floatAtLeast) }
		c.move(t, reg(a))
		if signed {
			c.truncate(t)
			beyond(1 << 63)
			c.two(vpxor, t, t, reg(u))
			c.immediate(vcmppd, u, a, reg(a), 7)
		} else {
			beyond(1 << 63)
			c.two(vandps, u, u, c.float64s(1<<63))
			c.two(vsubpd, t, t, reg(u))
			c.truncate(t)
			beyond(1 << 63)
			c.two(vpand, u, u, c.quads(1<<63))
			c.two(vpxor, t, t, reg(u))
			beyond(1 << 64)
			c.two(vpor, t, t, reg(u))
			c.immediate(vcmppd, u, a, c.quads(0), floatGreater)
		}
		c.two(vpand, c.result(), t, reg(u))
	}
}

// doubleToFloatZero rounds towards zero: what was rounded up becomes the float before.
func (c *compiler) doubleToFloatZero() {
	t, u, a := spare[0], spare[1], c.vector(0, spare[2])
	c.one(vcvtpd2ps, t, reg(a))
	c.one(vcvtps2pd, u, reg(t))
	c.two(vandps, u, u, c.quads(1<<63-1))
	c.two(vandps, spare[3], a, c.quads(1<<63-1))
	c.immediate(vcmppd, u, u, reg(spare[3]), floatGreater)
	c.one(vpmovzxdq, t, reg(t))
	c.two(vpaddd, t, t, reg(u))
	c.narrow(t)
}

func (c *compiler) signWide() {
	t, u, a := spare[0], spare[1], c.vector(0, spare[2])
	c.immediate(vcmppd, t, a, c.quads(0), floatGreater)
	c.two(vandps, t, t, c.float64s(1))
	c.immediate(vcmppd, u, a, c.quads(0), floatLess)
	c.two(vandps, u, u, c.float64s(-1))
	c.two(vorps, c.result(), t, reg(u))
}

func (c *compiler) countBitsWide() {
	if bits512() {
		c.in64(vpopcnt, spare[0], 0, c.reads(0))
		c.narrow(spare[0])
		return
	}
	low, high, t := spare[0], spare[1], spare[2]
	c.nibbles(low, high, c.vector(0, low))
	c.move(t, c.table(countOf))
	c.two(vpshufb, low, t, reg(low))
	c.two(vpshufb, high, t, reg(high))
	c.two(vpaddd, low, low, reg(high))
	c.two(vpsadbw, low, low, reg(c.zeros(t)))
	c.narrow(low)
}

// findBitWide is findBit: the number of the only bit of what only leaves is the exponent of a float.
func findBitWide(only func(c *compiler, t, a vector)) func(c *compiler) {
	return func(c *compiler) {
		t, u := spare[0], spare[1]
		if bits512() {
			only(c, u, c.vector(0, spare[3]))
			c.in64(vplzcnt, u, 0, reg(u))
			c.move(t, c.quads(63))
			c.two(vpsubd, t, t, reg(u))
			c.narrow(t)
			return
		}
		only(c, u, c.vector(0, spare[3]))
		c.doublesOf(t, u, spare[2], false)
		c.shift(shift64, right, t, t, 52)
		c.two(vpsubd, t, t, c.quads(1023))
		c.two(vpmaxsd, t, t, c.quads(math.MaxUint32)) // of words: -1 and 0
		c.narrow(t)
	}
}

func lowestWide(c *compiler, t, a vector) {
	c.two(vpsubq, t, c.zeros(t), reg(a))
	c.two(vpand, t, t, reg(a))
}

func highestWide(c *compiler, t, a vector) {
	c.shift(shift64, right, t, a, 1)
	c.two(vpandn, t, t, reg(a))
}

func highestSignedWide(c *compiler, t, a vector) {
	u := spare[2]
	c.signsOf(u, a)
	c.two(vpxor, u, u, reg(a))
	highestWide(c, t, u)
}
