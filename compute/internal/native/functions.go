package native

import (
	"math"

	"farside/compute/internal/kernel"
	"farside/compute/internal/kernel/series"
)

// The functions are computed as kernels do it (package kernel, functions.go): in 64 bits, a half of the lanes at a
// time, with the same operations in the same order.

// Predicates of comparisons of floats: false of NaNs, but for that with a not.
const (
	floatEqual      = 0x00
	floatLess       = 0x11
	floatAtMost     = 0x12
	floatNotEqual   = 0x0c
	floatGreater    = 0x1e
	floatNotAtLeast = 0x19
	floatAtLeast    = 0x1d
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

// function makes an operation that f computes in 64 bits.
func function(operands int, f func(h *inHalves) vector) func(c *compiler) {
	return func(c *compiler) {
		c.inDoubles(operands, f)
		c.move(c.result(), reg(spare[0]))
	}
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

// exp2Float makes 2**x of x, of which 32-bit floats are made: beyond Steep, too, they are infinities and zeros.
func (c *compiler) exp2Float(x vector) {
	if !c.wide {
		c.exp2(x)
		return
	}
	fraction, sum := spare[2], spare[3]
	c.immediate(vreducepd, fraction, 0, reg(x), 0) // 0 of an infinity
	c.two(vsubpd, x, x, reg(fraction))
	c.polynomial(sum, fraction, series.Exp2)
	c.in64(vscalef, x, sum, reg(x))
}

// exponential makes 2**(A * factor).
func exponential(factor float64) func(c *compiler) {
	return function(1, func(h *inHalves) vector {
		x := spare[0]
		h.wide(0, x)
		if factor != 1 {
			h.two(vmulpd, x, x, h.float64s(factor))
		}
		h.exp2Float(x)
		return x
	})
}

// log2 leaves the logarithm of the half under way in spare[1]. What makes it right where the operand is not a finite
// number is added to the exponent.
func (h *inHalves) log2() {
	x, sum, t := spare[0], spare[1], spare[2]
	h.wide(0, x)
	special := []struct {
		predicate uint8
		of, gives operand
	}{
		{floatEqual, h.quads(0), h.float64s(math.Inf(-1))},
		{floatEqual, h.float64s(math.Inf(1)), h.float64s(math.Inf(1))},
		{floatNotAtLeast, h.quads(0), h.quads(math.MaxUint64 &^ (1<<29 - 1))}, // a NaN of 32 bits
	}
	if h.compiler.wide {
		h.zeros(sum)
		for _, s := range special {
			h.blendWhere(sum, sum, s.gives, s.predicate, x, s.of, 0)
		}
	} else {
		for i, s := range special {
			to := t
			if i == 0 {
				to = sum
			}
			h.immediate(vcmppd, to, x, s.of, s.predicate)
			h.two(vandps, to, to, s.gives)
			if i > 0 {
				h.two(vorps, sum, sum, reg(t))
			}
		}
	}
	h.log2Positive(true)
}

// log2Positive leaves the logarithm of spare[0], which is finite and not too small, in spare[1], and adds what is there
// if it is special.
func (h *inHalves) log2Positive(special bool) {
	x, sum, t, exponent := spare[0], spare[1], spare[2], spare[3]
	h.two(vpaddq, t, x, h.quads(0x3ff<<52-series.RootHalf))
	h.shift(shift64, right, exponent, t, 52)
	h.two(vorps, exponent, exponent, h.float64s(0x1p52))
	h.two(vsubpd, exponent, exponent, h.float64s(0x1p52+1023))
	if special {
		h.two(vaddpd, exponent, exponent, reg(sum))
	}
	h.two(vandps, t, t, h.quads(1<<52-1))
	h.two(vpaddq, t, t, h.quads(series.RootHalf))
	h.two(vsubpd, x, t, h.float64s(1))
	h.two(vaddpd, t, t, h.float64s(1))
	h.two(vdivpd, x, x, reg(t))
	h.two(vmulpd, t, x, reg(x))
	h.polynomial(sum, t, series.Log2)
	h.two(vfmadd213pd, sum, x, reg(exponent))
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

// logarithm makes log2(A) * factor.
func logarithm(factor float64) func(c *compiler) {
	return function(1, func(h *inHalves) vector {
		h.log2()
		if factor != 1 {
			h.two(vmulpd, spare[1], spare[1], h.float64s(factor))
		}
		return spare[1]
	})
}

// power makes 2**(B * log2(A)), and 1 where B is 0.
func (c *compiler) power() {
	c.inDoubles(2, func(h *inHalves) vector {
		h.log2()
		h.wide(1, spare[0])
		h.two(vmulpd, spare[0], spare[1], reg(spare[0]))
		h.exp2Float(spare[0])
		return spare[0]
	})
	t := spare[1]
	b := c.vector(1, t)
	c.immediate(vcmpps, t, b, c.words(0), floatEqual)
	c.blend(c.result(), spare[0], c.words(math.Float32bits(1)), t)
}

// angles leaves the cosine of an angle in spare[0], less a number of quarters of the circle, and the sine in spare[3];
// the number in the lowest bits of spare[1].
func (h *inHalves) angles() {
	x, quarters, t, sin := spare[0], spare[1], spare[2], spare[3]
	h.wide(0, x)
	h.two(vandps, t, x, h.quads(1<<63-1))
	if h.compiler.wide {
		h.compareTo(vcmppd, quad, 1, t, h.float64s(series.Far), floatGreater)
		h.masked = 1
		h.two(vsubpd, x, x, reg(x))
	} else {
		h.immediate(vcmppd, t, t, h.float64s(series.Far), floatGreater)
		h.two(vandps, t, x, reg(t))
		h.two(vsubpd, x, x, reg(t))
	}
	h.move(quarters, h.float64s(series.TwoPi))
	h.two(vfmadd213pd, quarters, x, h.float64s(series.Magic))
	h.two(vsubpd, t, quarters, h.float64s(series.Magic))
	h.two(vfnmadd231pd, x, t, h.float64s(series.HalfPi))
	h.two(vfnmadd231pd, x, t, h.float64s(series.HalfPiLow))
	h.two(vmulpd, t, x, reg(x))
	h.polynomial(sin, t, series.Sin)
	h.two(vfmadd213pd, sin, t, h.float64s(1))
	h.two(vmulpd, sin, sin, reg(x))
	h.polynomial(x, t, series.Cos)
	h.two(vfmadd213pd, x, t, h.float64s(1))
}

// even finds where the number of quarters in spare[1] is even: in K1, or in spare[2].
func (h *inHalves) even() {
	if h.compiler.wide {
		h.testNotTo64(1, spare[1], h.quads(1))
		return
	}
	h.two(vorps, spare[2], spare[1], h.quads(math.MaxUint64-1))
	h.two(vpaddq, spare[2], spare[2], h.quads(1))
}

// ifEven gives b where even has found it so, and a elsewhere.
func (h *inHalves) ifEven(dst, a, b vector) {
	if h.compiler.wide {
		h.blendBy64(1, dst, a, reg(b))
		return
	}
	h.blend(dst, a, reg(b), spare[2])
}

// turn gives v the sign that bit 1 of the number of quarters says, and loses that.
func (h *inHalves) turn(v, quarters vector) {
	h.shift(shift64, left, quarters, quarters, 62)
	h.two(vandps, quarters, quarters, h.quads(1<<63))
	h.two(vxorps, v, v, reg(quarters))
}

// sine makes the sine of A and of some quarters of the circle.
func sine(more uint64) func(c *compiler) {
	return function(1, func(h *inHalves) vector {
		h.angles()
		cos, quarters, sin := spare[0], spare[1], spare[3]
		if more > 0 {
			h.two(vpaddq, quarters, quarters, h.quads(more))
		}
		h.even()
		h.ifEven(cos, cos, sin)
		h.turn(cos, quarters)
		return cos
	})
}

// tangent is the quotient of both, or the opposite of the other one.
func tangent(h *inHalves) vector {
	h.angles()
	cos, above, sin := spare[0], spare[1], spare[3]
	h.even()
	h.two(vxorps, above, cos, h.quads(1<<63))
	h.ifEven(above, above, sin)
	h.ifEven(cos, sin, cos)
	h.two(vdivpd, above, above, reg(cos))
	return above
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
		kernel.ExpF32: exponential(series.Log2E), kernel.Exp2F32: exponential(1),
		kernel.LogF32: logarithm(series.Ln2), kernel.Log2F32: logarithm(1), kernel.PowF32: (*compiler).power,
		kernel.SinF32: sine(0), kernel.CosF32: sine(1), kernel.TanF32: function(1, tangent),
		kernel.AsinF32: function(1, arcSine), kernel.AcosF32: function(1, arcCosine),
		kernel.AtanF32: function(1, arcTangent), kernel.Atan2F32: function(2, arcTangent2),
		kernel.SinhF32: function(1, hyperbolicSine), kernel.CoshF32: function(1, hyperbolicCosine),
		kernel.TanhF32: function(1, hyperbolicTangent), kernel.AsinhF32: function(1, areaSine),
		kernel.AcoshF32: function(1, areaCosine), kernel.AtanhF32: function(1, areaTangent),
		kernel.RemF32: remainders(false), kernel.ModF32: remainders(true), kernel.SignF32: (*compiler).sign,
		kernel.LdexpF32: (*compiler).scale,
		kernel.F32ToU32: (*compiler).floatToUnsigned,
	} {
		sequences[op] = write
	}
}
