package native

import (
	"math"

	"farside/compute/internal/kernel"
)

// Predicates of comparisons of floats: false of NaNs, but for those with a not.
const (
	floatEqual     = 0x00
	floatUnordered = 0x03
	floatNotEqual  = 0x0c // and ordered
	floatLess      = 0x11
	floatAtMost    = 0x12
	floatNotLess   = 0x15
	floatAtLeast   = 0x1d
	floatGreater   = 0x1e
)

const (
	magnitudeOf32 = 1<<31 - 1
	signOf32      = 1 << 31
)

// float64s is a constant in all lanes of 64 bits.
func (c *compiler) float64s(f float64) operand { return c.quads(math.Float64bits(f)) }

// inHalves are the operands of a function, to be read in halves.
type inHalves struct {
	*compiler
	upper    bool
	operands [2]operand
	uniform  [2]bool
}

// halves are so many operands of the instruction under way.
func (c *compiler) halves(operands int) *inHalves {
	h := &inHalves{compiler: c}
	in := &c.insts[c.at]
	for k := range operands {
		h.operands[k], h.uniform[k] = c.reads(k), []Register{in.A, in.B}[k].Step == 0
	}
	return h
}

// wide leaves the half of an operand under way in v, as floats of 64 bits.
func (h *inHalves) wide(k int, v vector) { h.widened(vcvtps2pd, k, v) }

// widened leaves the half of an operand under way in v: by makes 64 bits of each lane.
func (h *inHalves) widened(by opcode, k int, v vector) {
	c, o := h.compiler, h.operands[k]
	switch {
	case !h.upper:
	case !o.memory:
		c.upper(v, o.vector)
		o = reg(v)
	case !h.uniform[k]:
		o.address.displacement += 2 * int32(c.lanes())
	}
	o.broadcast = false // all words of a uniform register are the same
	c.one(by, v, o)
}

// floats gives an operand as it is, in the vector given if none has it.
func (h *inHalves) floats(k int, otherwise vector) vector {
	if o := h.operands[k]; o.memory {
		h.move(otherwise, o)
		return otherwise
	}
	return h.operands[k].vector
}

// inDoubles computes a function of so many operands in 64 bits, and leaves it in spare[0]: f does it for a half of the
// lanes, in spare.
func (c *compiler) inDoubles(operands int, f func(h *inHalves) vector) { c.halves(operands).both(f) }

// both computes a function in 64 bits for both halves, and leaves it in spare[0].
func (h *inHalves) both(f func(h *inHalves) vector) {
	for _, h.upper = range []bool{false, true} {
		h.one(vcvtpd2ps, spare[1], reg(f(h)))
		if !h.upper {
			h.putLow(0, spare[1])
		}
	}
	h.withLow(0, spare[0], spare[1])
}

// putLow keeps the result of the lower half, number k of two.
func (c *compiler) putLow(k int32, v vector) {
	if c.wide {
		c.move(halfPlaces[k], reg(v))
		return
	}
	c.store(at(file, c.scratch+32*k), v)
}

// withLow puts the result of the upper half beside it.
func (c *compiler) withLow(k int32, dst, upper vector) {
	low := halfPlaces[k]
	if !c.wide {
		low = dst
		c.one(vmovups, dst, memory(at(file, c.scratch+32*k)))
	}
	c.immediate(vinsertf128, dst, low, reg(upper), 1)
}

// blendWhere gives the lanes of b where a comparison of x with y is true, and those of a elsewhere. t is needed.
func (h *inHalves) blendWhere(dst, a vector, b operand, predicate uint8, x vector, y operand, t vector) {
	if h.compiler.wide {
		h.compareTo(vcmppd, quad, 1, x, y, predicate)
		h.blendBy64(1, dst, a, b)
		return
	}
	h.immediate(vcmppd, t, x, y, predicate)
	h.blend(dst, a, b, t)
}

// sign is 1 with the sign of A, or 0.
func (c *compiler) sign() {
	t, u := spare[0], spare[1]
	a := c.vector(0, t)
	c.immediate(vcmpps, u, a, c.words(0), 0x0c) // neither equal nor unordered
	c.two(vandps, t, a, c.words(1<<31))
	c.two(vorps, t, t, c.words(math.Float32bits(1)))
	c.two(vandps, c.result(), t, reg(u))
}

// floatToUnsigned saturates, and gives 0 of a NaN. The upper half of the range is converted less 2**31, which gives the
// least integer, the same bits, beyond it.
func (c *compiler) floatToUnsigned() {
	a, t, u, half := spare[0], spare[1], spare[2], spare[3]
	x := c.vector(0, a)
	c.two(vpxor, t, t, reg(t))
	c.two(vmaxps, a, x, reg(t)) // 0 also of a NaN
	if avx512() {
		c.evex(vcvttps2udq, 0, uint8(c.result()), 0, reg(a), 0) // all ones of what is too large
		return
	}
	c.move(half, c.words(0x4f000000))
	c.immediate(vcmpps, u, half, reg(a), 0x12)
	c.two(vandps, t, u, reg(half))
	c.two(vsubps, t, a, reg(t))
	c.one(vcvttps2dq, t, reg(t))
	c.shift(shift32, left, u, u, 31)
	c.two(vpxor, t, t, reg(u))
	c.move(half, c.words(0x4f800000))
	c.immediate(vcmpps, u, half, reg(a), 0x12)
	c.two(vpor, c.result(), t, reg(u))
}

func init() {
	for op, write := range map[kernel.Op]func(c *compiler){
		kernel.RemF32: remainders(false), kernel.ModF32: remainders(true), kernel.SignF32: (*compiler).sign,
		kernel.LdexpF32: (*compiler).scale,
		kernel.F32ToU32: (*compiler).floatToUnsigned,
	} {
		sequences[op] = write
	}
}
