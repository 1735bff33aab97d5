package native

import (
	"math"

	"farside/compute/internal/kernel/series"
)

// quick is what quotients have to be below for a remainder to be computed in 32 bits: the quotient is off by one at
// most then, and what is left exact.
const quick = 0x1p23

// remainders makes the remainder of A / B that has the sign of A or, of a modulus, that of B. It is computed in 32 bits
// unless a quotient is large or infinite, or an operand is.
func remainders(modulus bool) func(c *compiler) {
	return func(c *compiler) {
		h := c.halves(2)
		slow, back := c.label(), c.label()
		h.quickRemainder(modulus, slow)
		c.place(back)
		c.behind(slow, back, func() {
			if h.both(remainder); modulus {
				h.modulus()
			}
		})
		c.move(c.result(), reg(spare[0]))
	}
}

// quickRemainder leaves a remainder in spare[0], or goes to slow. Where the quotient was rounded to the next whole
// number, what is left is on the other side of 0, and a divisor is added.
func (h *inHalves) quickRemainder(modulus bool, slow label) {
	t, q, r := spare[0], spare[2], spare[3]
	x, b := h.floats(0, spare[0]), h.floats(1, spare[1])
	way := uint8(11) // towards zero
	if modulus {
		way = 9 // down
	}
	h.two(vdivps, q, x, reg(b))
	h.immediate(vroundps, q, 0, reg(q), way)
	h.move(r, reg(x))
	h.two(vfnmadd231ps, r, q, reg(b))
	h.two(vandps, q, q, h.words(magnitudeOf32))
	wide := h.compiler.wide
	if wide {
		h.compareTo(vcmpps, 0, 1, q, h.words(math.Float32bits(quick)), floatNotLess)
		h.compareTo(vcmpps, 0, savedBits, r, reg(r), floatUnordered)
		h.bits(kortest, 1, 0, savedBits)
	} else {
		h.immediate(vcmpps, q, q, h.words(math.Float32bits(quick)), floatNotLess)
		h.signs(rcx, q)
		h.immediate(vcmpps, q, r, reg(r), floatUnordered)
		h.signs(rdx, q)
		h.integer(false, 0x0b, uint8(rcx), reg(vector(rdx)), 0) // OR
	}
	h.jumpIf(notEqual, slow)
	if modulus {
		h.move(t, reg(r))
		h.modulus()
		return
	}
	sign := q
	h.two(vandps, sign, x, h.words(signOf32))
	h.two(vxorps, r, r, reg(sign)) // that of |A|
	h.two(vandps, t, b, h.words(magnitudeOf32))
	if wide {
		h.compareTo(vcmpps, 0, 1, r, h.words(0), floatLess)
		h.masked = 1
		h.two(vaddps, r, r, reg(t))
	} else {
		h.immediate(vcmpps, spare[1], r, h.words(0), floatLess)
		h.two(vandps, t, t, reg(spare[1]))
		h.two(vaddps, r, r, reg(t))
	}
	h.two(vandps, r, r, h.words(magnitudeOf32))
	h.two(vorps, t, r, reg(sign))
}

// remainder is that of A / B, with the sign of A.
func remainder(h *inHalves) vector {
	x, b, q, r := spare[0], spare[1], spare[2], spare[3]
	h.wide(0, x)
	h.wide(1, b)
	h.two(vdivpd, q, x, reg(b))
	h.immediate(vroundpd, q, 0, reg(q), 11)
	h.move(r, reg(x))
	h.two(vfnmadd231pd, r, q, reg(b))
	h.two(vandps, x, q, h.quads(1<<63-1))
	h.blendWhere(r, r, h.quads(0), floatGreater, x, h.float64s(series.Whole), x)
	h.two(vmulpd, q, q, h.quads(0))
	h.two(vaddpd, r, r, reg(q))
	h.wide(0, x)
	h.two(vandps, q, x, h.quads(1<<63))
	h.two(vxorps, r, r, reg(q)) // that of |A|
	h.two(vandps, b, b, h.quads(1<<63-1))
	h.two(vaddpd, q, r, reg(b))
	h.blendWhere(r, r, reg(q), floatLess, r, h.quads(0), spare[0])
	h.wide(0, x)
	h.two(vandps, r, r, h.quads(1<<63-1))
	h.two(vandps, q, x, h.quads(1<<63))
	h.two(vorps, r, r, reg(q))
	h.two(vandps, q, x, h.quads(1<<63-1))
	h.blendWhere(r, r, reg(x), floatLess, q, reg(b), q)
	return r
}

// modulus makes a remainder in spare[0] one with the sign of B.
func (h *inHalves) modulus() {
	r, t, u, sum := spare[0], spare[1], spare[2], spare[3]
	b := h.floats(1, t)
	h.two(vxorps, u, r, reg(b))
	h.two(vaddps, sum, r, reg(b))
	h.blend(sum, r, reg(sum), u)
	h.immediate(vcmpps, u, r, h.words(0), floatEqual)
	h.two(vandps, t, b, h.words(signOf32))
	h.blend(r, sum, reg(t), u)
}

// quickWide is what quotients have to be below for a remainder to be computed by one division.
const quickWide = 0x1p52

// remainderWide makes remainders of 64 bits: as quickRemainder does, or with large quotients, and what is not finite,
// lane by lane. All NaNs are the kernels' one.
func remainderWide(modulus bool) func(c *compiler) {
	return func(c *compiler) {
		if modulus && avx512() {
			c.modulusByMasks()
			return
		}
		slow, back := c.label(), c.label()
		a, b := c.vector(0, spare[0]), c.vector(1, spare[1])
		q, r := spare[2], spare[3]
		c.two(vdivpd, q, a, reg(b))
		c.immediate(vroundpd, q, 0, reg(q), 11)
		c.move(r, reg(a))
		c.two(vfnmadd231pd, r, q, reg(b))
		c.two(vandps, q, q, c.quads(1<<63-1))
		c.unlessQuick(q, r, slow)
		c.two(vandps, q, a, c.quads(1<<63))
		c.two(vxorps, r, r, reg(q)) // that of |A|
		c.two(vandps, spare[0], b, c.quads(1<<63-1))
		c.two(vaddpd, spare[0], r, reg(spare[0]))
		c.blend(r, r, reg(spare[0]), c.negative(spare[1], r))
		c.two(vandps, r, r, c.quads(1<<63-1))
		c.two(vorps, r, r, reg(q))
		c.place(back)
		if modulus {
			c.modulusWide(r, c.vector(1, spare[0]))
		}
		c.behind(slow, back, func() { c.remainderByLane(a, b, r) })
		c.move(c.result(), reg(r))
	}
}

// unlessQuick goes to slow, if a quotient is too large or a remainder a NaN. The magnitudes of the quotients are lost.
func (c *compiler) unlessQuick(q, r vector, slow label) {
	if avx512() {
		c.compareTo(vcmppd, quad, 1, q, c.float64s(quickWide), floatNotLess)
		c.compareTo(vcmppd, quad, savedBits, r, reg(r), floatUnordered)
		c.bits(kortest, 1, 0, savedBits)
	} else {
		c.immediate(vcmppd, q, q, c.float64s(quickWide), floatNotLess)
		c.signs(rcx, q)
		c.immediate(vcmppd, q, r, reg(r), floatUnordered)
		c.signs(rdx, q)
		c.integer(false, 0x0b, uint8(rcx), reg(vector(rdx)), 0) // OR
	}
	c.jumpIf(notEqual, slow)
}

// negative gives where lanes of 64 bits are below zero, in t.
func (c *compiler) negative(t, v vector) vector {
	c.immediate(vcmppd, t, v, c.quads(0), floatLess)
	return t
}

// modulusByMasks makes a modulus from the quotient that is rounded down. Where that was rounded to the next whole
// number before, or the division gave a zero, what is left has another sign than B, and B is added: with one rounding,
// as to the remainder.
func (c *compiler) modulusByMasks() {
	slow, back := c.label(), c.label()
	a, b := c.vector(0, spare[0]), c.vector(1, spare[1])
	q, r, zero := spare[2], spare[3], savedBits
	c.two(vdivpd, q, a, reg(b))
	c.immediate(vroundpd, q, 0, reg(q), 9)
	c.move(r, reg(a))
	c.two(vfnmadd231pd, r, q, reg(b))
	c.two(vandps, q, q, c.quads(1<<63-1))
	c.unlessQuick(q, r, slow)
	c.compareTo(vcmppd, quad, zero, r, c.quads(0), floatEqual)
	c.two(vxorps, q, r, reg(b))
	c.compareTo(vpcmpd, quad, 1, q, c.quads(0), isLess)
	c.masked = 1
	c.two(vaddpd, r, r, reg(b))
	c.masked = zero
	c.in64(vpand, r, b, c.quads(1<<63))
	c.place(back)
	c.behind(slow, back, func() {
		c.remainderByLane(a, b, r)
		c.modulusWide(r, b)
	})
	c.move(c.result(), reg(r))
}

// modulusWide makes a remainder, in the last of spare, one with the sign of a divisor.
func (c *compiler) modulusWide(r, divisor vector) {
	b, sum, t := spare[0], spare[1], spare[2]
	c.move(b, reg(divisor))
	c.two(vxorps, t, r, reg(b))
	c.two(vpcmpgtq, t, c.zeros(sum), reg(t))
	c.two(vaddpd, sum, r, reg(b))
	c.blend(sum, r, reg(sum), t)
	c.immediate(vcmppd, t, r, c.quads(0), floatEqual)
	c.two(vandps, spare[0], b, c.quads(1<<63))
	c.blend(r, sum, reg(spare[0]), t)
}

// remainderByLane leaves the remainders of a and b in r, by FPREM, which is exact. It takes the dividend nearer to the
// divisor until C2 of the status is clear.
func (c *compiler) remainderByLane(a, b, r vector) {
	dividend, divisor := c.scratch+placeOfAddresses, c.scratch+placeOfValues
	c.store(at(file, dividend), a)
	c.store(at(file, divisor), b)
	for lane := range int32(c.lanes() / 2) {
		again := c.label()
		c.integer(false, 0xdd, 0, memory(at(file, divisor+8*lane)), 0)  // FLD
		c.integer(false, 0xdd, 0, memory(at(file, dividend+8*lane)), 0) // FLD
		c.place(again)
		c.bytes(0xd9, 0xf8, 0xdf, 0xe0, 0xf6, 0xc4, 4) // FPREM, FNSTSW AX, TEST AH, 4
		c.jumpIf(notEqual, again)
		c.integer(false, 0xdd, 3, memory(at(file, dividend+8*lane)), 0) // FSTP
		c.bytes(0xdd, 0xd8)                                             // FSTP ST(0)
	}
	c.move(r, memory(at(file, dividend)))
	c.immediate(vcmppd, spare[2], r, reg(r), floatUnordered)
	c.blend(r, r, c.float64s(math.NaN()), spare[2])
}
