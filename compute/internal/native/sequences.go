package native

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
)

// sequences are the operations that take several instructions. They write Dst with the last one.
var sequences = map[kernel.Op]func(c *compiler){
	kernel.Move32:         func(c *compiler) { a := c.reads(0); c.move(c.result(), a) },
	kernel.MoveMasked32:   (*compiler).moveMasked,
	kernel.Select32:       (*compiler).choose,
	kernel.NegI32:         (*compiler).negate,
	kernel.NotI32:         constant(vpxor, math.MaxUint32),
	kernel.NegF32:         constant(vxorps, 1<<31),
	kernel.AbsF32:         constant(vandps, 1<<31-1),
	kernel.Zext8:          constant(vpand, 0xff),
	kernel.Zext16:         constant(vpand, 0xffff),
	kernel.Sext8:          extend(24),
	kernel.Sext16:         extend(16),
	kernel.DivU32:         (*compiler).divideUnsigned,
	kernel.RemU32:         (*compiler).divideUnsigned,
	kernel.DivS32:         (*compiler).divideSigned,
	kernel.RemS32:         (*compiler).divideSigned,
	kernel.ModS32:         (*compiler).divideSigned,
	kernel.MulHighU32:     multiplyHigh(vpmuludq),
	kernel.MulHighS32:     multiplyHigh(vpmuldq),
	kernel.ShlI32:         shift(vpsllvd, left),
	kernel.ShrU32:         shift(vpsrlvd, right),
	kernel.ShrS32:         shift(vpsravd, rightSigned),
	kernel.LtU32:          (*compiler).lessUnsigned,
	kernel.LeU32:          (*compiler).lessEqualUnsigned,
	kernel.MinF32:         extreme(kernel.MinF32),
	kernel.MaxF32:         extreme(kernel.MaxF32),
	kernel.FmaF32:         (*compiler).fma,
	kernel.MulAddF32:      product(vaddps, false),
	kernel.MulSubF32:      product(vsubps, false),
	kernel.SubMulF32:      product(vsubps, true),
	kernel.InverseSqrtF32: (*compiler).inverseSqrt,
	kernel.PopCount32:     (*compiler).countBits,
	kernel.Reverse32:      (*compiler).reverse,
	kernel.FindLSB32:      findBit(lowest, false),
	kernel.FindMSBU32:     findBit(highest, true),
	kernel.FindMSBS32:     findBit(highestSigned, false),
	kernel.FrexpF32:       (*compiler).significand,
	kernel.FrexpExpF32:    (*compiler).exponent,
	kernel.IsNaNF32:       (*compiler).isNaN,
	kernel.IsInfF32:       (*compiler).isInf,
	kernel.MaskToI32:      (*compiler).maskToInteger,
	kernel.I32ToMask:      (*compiler).integerToMask,
	kernel.U32ToF32:       (*compiler).unsignedToFloat,
	kernel.F32ToS32:       (*compiler).floatToSigned,
	kernel.Bits16ToF32:    (*compiler).halfToFloat,
	kernel.F32ToBits16: func(c *compiler) {
		c.half(spare[0], c.vector(0, spare[0]), 0)
		c.one(vpmovzxwd, c.result(), reg(spare[0]))
	},
	kernel.RoundF16:     roundHalf(0),
	kernel.RoundF16Zero: roundHalf(3),
}

// shift makes a shift, by a count of which only the lowest five bits count.
func shift(o opcode, way uint8) func(c *compiler) {
	return func(c *compiler) {
		if count := c.insts[c.at].Count; count > 0 {
			a := c.vector(0, spare[0])
			c.shift(shift32, way, c.result(), a, count-1)
			return
		}
		t := spare[0]
		c.two(vpand, t, c.vector(1, t), c.words(31))
		a := c.vector(0, spare[1])
		c.two(o, c.result(), a, reg(t))
	}
}

// constant makes an operation whose second operand is a constant.
func constant(o opcode, n uint32) func(c *compiler) {
	return func(c *compiler) {
		a := c.vector(0, spare[0])
		c.two(o, c.result(), a, c.words(n))
	}
}

// extreme makes a minimum or maximum of floats, one of extremes.
func extreme(op kernel.Op) func(c *compiler) {
	e := extremes[op]
	return func(c *compiler) {
		if c.quietExtreme(op) {
			return
		}
		// The instructions give the second operand if both are zeros or one is a NaN.
		a, b := c.vector(0, spare[0]), c.vector(1, spare[1])
		c.extremeOf(e[0], e[1], c.result(), a, b, spare[2], spare[3])
	}
}

// quietExtreme writes a minimum or maximum by VRANGEPS, which differs from what the kernels give for signalling NaNs.
func (c *compiler) quietExtreme(op kernel.Op) bool {
	if !c.insts[c.at].Quiet || !avx512() {
		return false
	}
	const largest, ofResult = 1, 1 << 2 // the sign is that of the result
	n := uint8(ofResult)
	if op == kernel.MaxF32 {
		n |= largest
	}
	a, b := c.vector(0, spare[0]), c.reads(1)
	c.byte32(vrangeps, c.result(), a, b, n)
	return true
}

// extremeOf is that of a and b; dst may be one of them, t and u are needed.
func (c *compiler) extremeOf(o, combine opcode, dst, a, b, t, u vector) {
	c.two(o, t, a, reg(b))
	c.two(o, u, b, reg(a))
	c.two(combine, t, t, reg(u))
	c.immediate(vcmpps, u, a, reg(a), 3)
	c.blend(t, t, reg(b), u)
	c.immediate(vcmpps, u, b, reg(b), 3)
	c.blend(dst, t, reg(a), u)
}

// product makes A*B o C with both roundings; last says that it is C o A*B.
func product(o opcode, last bool) func(c *compiler) {
	return func(c *compiler) {
		t := spare[0]
		c.two(vmulps, t, c.vector(0, t), c.reads(1))
		if last {
			addend := c.vector(2, spare[1])
			c.two(o, c.result(), addend, reg(t))
			return
		}
		addend := c.reads(2)
		c.two(o, c.result(), t, addend)
	}
}

// extend makes the sign extension of a word's lowest 32-n bits.
func extend(n uint8) func(c *compiler) {
	return func(c *compiler) {
		t := spare[0]
		c.shift(shift32, left, t, c.vector(0, t), n)
		c.shift(shift32, rightSigned, c.result(), t, n)
	}
}

// roundHalf makes a rounding to 16-bit floats.
func roundHalf(rounding uint8) func(c *compiler) {
	return func(c *compiler) {
		c.half(spare[0], c.vector(0, spare[0]), rounding)
		c.one(vcvtph2ps, c.result(), reg(spare[0]))
	}
}

// halfToFloat converts the 16 bits in each lane.
func (c *compiler) halfToFloat() {
	t, u := spare[0], spare[1]
	c.two(vpand, u, c.vector(0, u), c.words(0xffff))
	c.upper(t, u)
	c.two(vpackusdw, t, u, reg(t))
	c.one(vcvtph2ps, c.result(), reg(t))
}

// moveMasked writes A where the lane is active, and what was there elsewhere.
func (c *compiler) moveMasked() {
	if !c.insts[c.at].C.Valid {
		a := c.reads(0)
		c.move(c.result(), a)
		return
	}
	a, before := c.vector(0, spare[0]), c.vector(2, spare[1])
	if c.activeInBits() {
		c.blendBy(c.activeBits(), c.result(), before, reg(a))
		return
	}
	active := c.active(spare[2])
	c.blend(c.result(), before, reg(a), active)
}

func (c *compiler) negate() {
	t, a := spare[0], c.reads(0)
	c.two(vpxor, t, t, reg(t))
	c.two(vpsubd, c.result(), t, a)
}

// lessUnsigned is not(B <= A), since there is no unsigned comparison.
func (c *compiler) lessUnsigned() {
	t, b := spare[0], c.vector(1, spare[1])
	c.two(vpminud, t, b, c.reads(0))
	c.two(vpcmpeqd, t, t, reg(b))
	c.not(c.result(), t)
}

// lessEqualUnsigned asks whether the lesser of both is A.
func (c *compiler) lessEqualUnsigned() {
	t, a := spare[0], c.vector(0, spare[1])
	c.two(vpminud, t, a, c.reads(1))
	c.two(vpcmpeqd, c.result(), t, reg(a))
}

func (c *compiler) choose() {
	condition, b, a := c.vector(2, spare[0]), c.vector(1, spare[1]), c.reads(0)
	c.blend(c.result(), b, a, condition)
}

// fma writes A*B + C with one of the forms that take the payload of a NaN from B, if it is one, else from A, else from
// C. The forms differ in which operand the result replaces, and which one may lie in memory.
func (c *compiler) fma() {
	a, b, addend := c.reads(0), c.vector(1, spare[1]), c.reads(2)
	dst := c.resultIn(addend, a, reg(b))
	switch {
	case addend == reg(dst) && dst != b:
		c.two(vfmadd231ps, dst, b, a)
	case dst == b && a != reg(dst) && addend != reg(dst):
		c.two(vfmadd132ps, dst, c.inVector(addend, spare[2]), a)
	case dst == b || addend == reg(dst):
		c.move(spare[0], a)
		c.two(vfmadd213ps, spare[0], b, addend)
		c.move(dst, reg(spare[0]))
	default:
		if a != reg(dst) {
			c.move(dst, a)
		}
		c.two(vfmadd213ps, dst, b, addend)
	}
}

func (c *compiler) inverseSqrt() {
	t, u := spare[0], spare[1]
	c.one(vsqrtps, t, c.reads(0))
	c.move(u, c.words(math.Float32bits(1)))
	c.two(vdivps, c.result(), u, reg(t))
}

func (c *compiler) isNaN() {
	a := c.vector(0, spare[0])
	c.immediate(vcmpps, c.result(), a, reg(a), 3)
}

func (c *compiler) isInf() {
	t := spare[0]
	c.two(vandps, t, c.vector(0, t), c.words(1<<31-1))
	c.immediate(vcmpps, c.result(), t, c.words(0x7f800000), 0)
}

func (c *compiler) maskToInteger() {
	a := c.vector(0, spare[0])
	c.shift(shift32, right, c.result(), a, 31)
}

func (c *compiler) integerToMask() {
	t := spare[0]
	c.two(vpxor, t, t, reg(t))
	c.two(vpcmpeqd, t, t, c.reads(0))
	c.not(c.result(), t)
}

// unsignedToFloat converts the halves, without the instruction for it. Either half is exact, and so is the higher one
// times 2^16: only the sum is rounded.
func (c *compiler) unsignedToFloat() {
	if avx512() {
		a := c.reads(0)
		c.evex(vcvtudq2ps, 0, uint8(c.result()), 0, a, 0)
		return
	}
	t, u := spare[0], spare[1]
	a := c.vector(0, u)
	c.two(vpand, t, a, c.words(0xffff))
	c.one(vcvtdq2ps, t, reg(t))
	c.shift(shift32, right, u, a, 16)
	c.one(vcvtdq2ps, u, reg(u))
	c.two(vmulps, u, u, c.words(math.Float32bits(1<<16)))
	c.two(vaddps, c.result(), u, reg(t))
}

// floatToSigned saturates, and gives 0 of a NaN.
func (c *compiler) floatToSigned() {
	t, u, a := spare[0], spare[1], c.vector(0, spare[2])
	c.one(vmovups, u, c.words(0x4f000000))
	c.immediate(vcmpps, u, u, reg(a), 0x12)
	c.one(vcvttps2dq, t, reg(a))
	c.two(vpxor, t, t, reg(u))
	c.immediate(vcmpps, u, a, reg(a), 7)
	c.two(vpand, c.result(), t, reg(u))
}

// mulAdd writes a product and sum that don't saturate.
func (c *compiler) mulAdd(in *Inst) {
	product := func(dst, a vector) {
		if bits.OnesCount64(in.Immediate) == 1 {
			c.shift(shift32, left, dst, a, uint8(bits.TrailingZeros64(in.Immediate)))
			return
		}
		c.two(vpmulld, dst, a, c.words(uint32(in.Immediate)))
	}
	t := spare[0]
	a := c.vector(0, t)
	if !in.B.Valid {
		product(c.result(), a)
		return
	}
	product(t, a)
	b := c.reads(1)
	c.two(vpaddd, c.result(), t, b)
}

// mulAddSat writes A * Immediate + B in 32 bits, all ones if that overflows. No B is 0.
func (c *compiler) mulAddSat(in *Inst) {
	if in.Most > 0 {
		c.mulAdd(in)
		return
	}
	t, u, w := spare[0], spare[1], spare[2]
	factor := in.Immediate
	if bits.OnesCount64(factor) == 1 {
		n := uint8(bits.TrailingZeros64(factor))
		a := c.vector(0, u)
		c.shift(shift32, left, t, a, n)  // the product
		c.shift(shift32, right, w, t, n) // a, if it fits
		c.two(vpcmpeqd, w, w, reg(a))    // a is not needed from here on
		if in.B.Valid {
			c.two(vpaddd, t, t, c.reads(1))  // the sum
			c.two(vpmaxud, u, t, c.reads(1)) // the sum, if it fits
			c.two(vpcmpeqd, u, u, reg(t))
			c.two(vpand, w, w, reg(u))
		}
		c.not(w, w)
		c.two(vpor, c.result(), t, reg(w))
		return
	}
	f := c.quads(factor)
	a := c.vector(0, u)
	c.two(vpmuludq, t, a, f)
	c.shift(shift64, right, u, a, 32)
	c.two(vpmuludq, u, u, f)
	if in.B.Valid {
		b := c.vector(1, w)
		c.shift(shift64, right, w, b, 32) // b may be w: its even lanes come from where it lies, then
		c.two(vpaddq, u, u, reg(w))       // the odd lanes
		b = c.vector(1, w)
		c.two(vpand, w, b, c.quads(math.MaxUint32))
		c.two(vpaddq, t, t, reg(w)) // the even ones
	}
	c.shift(shift64, left, w, u, 32)
	c.immediate(vpblendd, w, t, reg(w), 0xaa) // the low words
	c.shift(shift64, right, t, t, 32)
	c.immediate(vpblendd, t, t, reg(u), 0xaa) // the high ones
	c.two(vpxor, u, u, reg(u))
	c.two(vpcmpeqd, t, t, reg(u))
	c.not(t, t)
	c.two(vpor, c.result(), w, reg(t))
}
