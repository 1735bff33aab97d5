package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// Predicates of VCMPPS and VCMPPD: ordered, quiet; roundings of VROUNDPS and VROUNDPD.
const (
	equal     = operand.U8(0x00)
	less      = operand.U8(0x11)
	lessEqual = operand.U8(0x12)
	unequal   = operand.U8(0x0c)
	unordered = operand.U8(0x03)
	ordered   = operand.U8(0x07)
	greater   = operand.U8(0x1e)

	nearest  = operand.U8(8)
	down     = operand.U8(9)
	up       = operand.U8(10)
	truncate = operand.U8(11)
)

// form is what differs between floats of 32 and of 64 bits.
type form struct {
	width                                               int
	add, sub, mul, div, fma, sqrt, min, max, cmp, round instruction
	and, or, xor, blend                                 instruction
	sign, magnitude, infinity, unit                     operand.Mem
}

func (g *generator) forms() [2]form {
	return [2]form{
		{32, g.VADDPS, g.VSUBPS, g.VMULPS, g.VDIVPS, g.VFMADD213PS, g.VSQRTPS, g.VMINPS, g.VMAXPS, g.VCMPPS, g.VROUNDPS,
			g.VANDPS, g.VORPS, g.VXORPS, g.VBLENDVPS,
			g.words(1 << 31), g.words(1<<31 - 1), g.words(0x7f800000), g.words(0x3f800000)},
		{64, g.VADDPD, g.VSUBPD, g.VMULPD, g.VDIVPD, g.VFMADD213PD, g.VSQRTPD, g.VMINPD, g.VMAXPD, g.VCMPPD, g.VROUNDPD,
			g.VANDPD, g.VORPD, g.VXORPD, g.VBLENDVPD,
			g.quads(1 << 63), g.quads(1<<63 - 1), g.quads(0x7ff << 52), g.quads(0x3ff << 52)},
	}
}

func (g *generator) floats() {
	for _, f := range g.forms() {
		name := func(op string) string { return op + "F" + suffix(f.width) }
		g.binary(f.width, named{name("Add"), f.add}, named{name("Sub"), f.sub}, named{name("Mul"), f.mul},
			named{name("Div"), f.div})
		g.each(name("Fma"), f.width, three, func(k *chunk, a vector, half int) vector {
			emit(f.fma, k.source(2, half), k.load(1, half), a)
			return a
		})
		g.each(name("MulAdd"), f.width, three, func(k *chunk, a vector, half int) vector {
			return k.y(f.add, k.source(2, half), k.y(f.mul, k.source(1, half), a))
		})
		g.each(name("MulSub"), f.width, three, func(k *chunk, a vector, half int) vector {
			return k.y(f.sub, k.source(2, half), k.y(f.mul, k.source(1, half), a))
		})
		g.each(name("SubMul"), f.width, three, func(k *chunk, a vector, half int) vector {
			return k.y(f.sub, k.y(f.mul, k.source(1, half), a), k.load(2, half))
		})
		g.each(name("Neg"), f.width, one, func(k *chunk, a vector, _ int) vector { return k.y(f.xor, f.sign, a) })
		g.each(name("Abs"), f.width, one, func(k *chunk, a vector, _ int) vector { return k.y(f.and, f.magnitude, a) })
		g.each(name("Sqrt"), f.width, one, func(k *chunk, a vector, _ int) vector { return k.y(f.sqrt, a) })
		g.each(name("InverseSqrt"), f.width, one, func(k *chunk, a vector, _ int) vector {
			return k.y(f.div, k.y(f.sqrt, a), k.y(k.VMOVDQU, f.unit))
		})
		// The instructions give the second operand if both are zeros or one is a NaN.
		extreme := func(op string, i, combine instruction) {
			g.each(name(op), f.width, two, func(k *chunk, a vector, half int) vector {
				b := k.load(1, half)
				r := k.y(combine, k.y(i, b, a), k.y(i, a, b)) // of unlike zeros: one of them in each
				r = k.y(f.blend, k.y(f.cmp, unordered, a, a), b, r)
				return k.y(f.blend, k.y(f.cmp, unordered, b, b), a, r)
			})
		}
		extreme("Min", f.min, f.or)
		extreme("Max", f.max, f.and)
		for _, r := range []struct {
			op   string
			mode operand.U8
		}{{"Floor", down}, {"Ceil", up}, {"Trunc", truncate}, {"RoundEven", nearest}} {
			g.each(name(r.op), f.width, one, func(k *chunk, a vector, _ int) vector { return k.y(f.round, r.mode, a) })
		}
		g.each(name("Sign"), f.width, one, func(k *chunk, a vector, _ int) vector {
			unit := k.y(f.or, f.unit, k.y(f.and, f.sign, a))
			return k.y(f.and, k.y(f.cmp, unequal, k.zero(), a), unit)
		})

		test := func(op string, operands []int, compare func(k *chunk, a vector, half int) vector) {
			if f.width == 64 {
				g.compare64(name(op), operands, compare, false)
			} else {
				g.each(name(op), 32, operands, compare)
			}
		}
		for _, c := range []struct {
			op        string
			predicate operand.U8
		}{{"Eq", equal}, {"Lt", less}, {"Le", lessEqual}, {"NeOrd", unequal}} {
			test(c.op, two, func(k *chunk, a vector, half int) vector {
				return k.y(f.cmp, c.predicate, k.source(1, half), a)
			})
		}
		test("IsNaN", one, func(k *chunk, a vector, _ int) vector { return k.y(f.cmp, unordered, a, a) })
		test("IsInf", one, func(k *chunk, a vector, _ int) vector {
			return k.y(f.cmp, equal, f.infinity, k.y(f.and, f.magnitude, a))
		})
	}
	g.scaling32()
	g.halves()
}

// scaling32 goes through 64-bit floats, in which every 32-bit float is normal.
func (g *generator) scaling32() {
	g.kernel("LdexpF32", shape{32, two, 1}, func(k *chunk) {
		b := k.y(k.VPMAXSD, k.words(1<<32-400), k.y(k.VPMINSD, k.words(400), k.load(1, 0)))
		b = k.y(k.VPADDD, k.words(1023), b)
		var halves [2]vector
		for half := range halves {
			words := b.AsX().(vector)
			if half == 1 {
				words = k.x(k.VEXTRACTI128, operand.U8(1), b)
			}
			power := k.y(k.VPSLLQ, operand.U8(52), k.y(k.VPMOVZXDQ, words))
			halves[half] = k.x(k.VCVTPD2PSY, k.y(k.VMULPD, power, k.y(k.VCVTPS2PD, k.quarter(0, half))))
		}
		k.store(k.join(halves[0], halves[1]), 0)
	})
	// What is 0 or not finite has itself as its significand and an exponent of 0.
	usual := func(k *chunk, a vector) vector {
		magnitude := k.y(k.VPAND, k.words(1<<31-1), a)
		finite := k.y(k.VPCMPGTD, magnitude, k.y(k.VMOVDQU, k.words(0x7f800000)))
		return k.y(k.VPANDN, finite, k.y(k.VPCMPEQD, k.zero(), magnitude))
	}
	g.kernel("FrexpF32", shape{32, one, 1}, func(k *chunk) {
		a := k.load(0, 0)
		var halves [2]vector
		for half := range halves {
			wide := k.y(k.VCVTPS2PD, k.quarter(0, half))
			wide = k.y(k.VPOR, k.quads(0x3fe<<52), k.y(k.VPAND, k.quads(1<<63|1<<52-1), wide))
			halves[half] = k.x(k.VCVTPD2PSY, wide)
		}
		k.store(k.blend(usual(k, a), k.join(halves[0], halves[1]), a), 0)
	})
	g.kernel("FrexpExpF32", shape{32, one, 1}, func(k *chunk) {
		first, second := k.y(k.VCVTPS2PD, k.quarter(0, 0)), k.y(k.VCVTPS2PD, k.quarter(0, 1))
		exponent := k.y(k.VPSRLD, operand.U8(20), k.y(k.VPAND, k.words(1<<31-1), k.pack(first, second, highWords)))
		k.store(k.y(k.VPAND, usual(k, k.load(0, 0)), k.y(k.VPSUBD, k.words(1022), exponent)), 0)
	})
}

// halves are the kernels of 16-bit floats.
func (g *generator) halves() {
	const toNearest, toZero = operand.U8(0), operand.U8(3)
	for _, r := range []struct {
		op   string
		mode operand.U8
	}{{"RoundF16", toNearest}, {"RoundF16Zero", toZero}} {
		g.each(r.op, 32, one, func(k *chunk, a vector, _ int) vector {
			return k.y(k.VCVTPH2PS, k.x(k.VCVTPS2PH, r.mode, a))
		})
	}
	g.each("F32ToBits16", 32, one, func(k *chunk, a vector, _ int) vector {
		return k.y(k.VPMOVZXWD, k.x(k.VCVTPS2PH, toNearest, a))
	})
	g.each("Bits16ToF32", 32, one, func(k *chunk, a vector, _ int) vector {
		a = k.y(k.VPAND, k.words(0xffff), a)
		return k.y(k.VCVTPH2PS, k.x(k.VPACKUSDW, k.x(k.VEXTRACTI128, operand.U8(1), a), a.AsX()))
	})
}

// magic is 2**52 as a 64-bit float: the lowest bits of 2**52 + n are n.
const magic = 0x4330000000000000

// conversions between types. Those between floats and 64-bit integers stay with Go.
func (g *generator) conversions() {
	g.widening()
	g.narrowing()
	g.truncating()
}

// fromU32 converts half a chunk of unsigned integers to 64-bit floats.
func (k *chunk) fromU32(half int) vector {
	return k.y(k.VSUBPD, k.quads(magic), k.y(k.VPOR, k.quads(magic), k.y(k.VPMOVZXDQ, k.quarter(0, half))))
}

// widening has the conversions from 32 bits to 64.
func (g *generator) widening() {
	widen := func(op string, i instruction) {
		g.kernel(op, shape{64, one, 1}, func(k *chunk) {
			for half := range 2 {
				k.store(k.y(i, k.quarter(0, half)), half)
			}
		})
	}
	widen("SextI32I64", g.VPMOVSXDQ)
	widen("ZextI32I64", g.VPMOVZXDQ)
	widen("F32ToF64", g.VCVTPS2PD)
	widen("S32ToF64", g.VCVTDQ2PD)
	g.kernel("U32ToF64", shape{64, one, 1}, func(k *chunk) {
		for half := range 2 {
			k.store(k.fromU32(half), half)
		}
	})
	g.kernel("Join64", shape{64, two, 1}, func(k *chunk) {
		for half := range 2 {
			high := k.y(k.VPSLLQ, operand.U8(32), k.y(k.VPMOVZXDQ, k.quarter(1, half)))
			k.store(k.y(k.VPOR, high, k.y(k.VPMOVZXDQ, k.quarter(0, half))), half)
		}
	})
}

// narrowing has the conversions from 64 bits to 32, and those from integers of 32 bits to floats.
func (g *generator) narrowing() {
	narrow := func(op string, f func(k *chunk, half int) vector) {
		g.kernel(op, shape{32, one, 1}, func(k *chunk) { k.store(k.join(f(k, 0), f(k, 1)), 0) })
	}
	for _, words := range []struct {
		op    string
		which uint8
	}{{"TruncI64I32", lowWords}, {"Low32", lowWords}, {"High32", highWords}} {
		g.kernel(words.op, shape{32, one, 2}, func(k *chunk) {
			k.store(k.pack(k.load(0, 0), k.load(0, 1), words.which), 0)
		})
	}
	g.each("S32ToF32", 32, one, func(k *chunk, a vector, _ int) vector { return k.y(k.VCVTDQ2PS, a) })
	narrow("U32ToF32", func(k *chunk, half int) vector { return k.x(k.VCVTPD2PSY, k.fromU32(half)) })
	narrow("F64ToF32", func(k *chunk, half int) vector { return k.x(k.VCVTPD2PSY, k.source(0, half)) })
	narrow("F64ToF32Zero", func(k *chunk, half int) vector {
		// One unit less where the rounding has made it larger.
		a := k.load(0, half)
		r := k.x(k.VCVTPD2PSY, a)
		magnitude := k.quads(1<<63 - 1)
		larger := k.y(k.VCMPPD, less, k.y(k.VANDPD, magnitude, k.y(k.VCVTPS2PD, r)), k.y(k.VANDPD, magnitude, a))
		packed := k.x(k.VSHUFPS, operand.U8(lowWords), k.x(k.VEXTRACTI128, operand.U8(1), larger), larger.AsX())
		return k.x(k.VPADDD, packed, r)
	})
	narrow("F64ToS32", func(k *chunk, half int) vector {
		a := k.load(0, half)
		bounded := k.y(k.VMINPD, k.quads(0x41dfffffffc00000), a) // 2**31 - 1; the limits below are exact, too
		bounded = k.y(k.VANDPD, k.y(k.VCMPPD, ordered, a, a), bounded)
		return k.x(k.VCVTTPD2DQY, k.y(k.VMAXPD, k.quads(0xc1e0000000000000), bounded)) // -2**31
	})
	g.kernel("F64ToU32", shape{32, one, 1}, func(k *chunk) {
		var halves [2]vector
		for half := range halves {
			a := k.load(0, half)
			bounded := k.y(k.VMAXPD, k.zero(), a) // 0 also of a NaN
			bounded = k.y(k.VMINPD, k.quads(0x41efffffffe00000), bounded)
			halves[half] = k.y(k.VADDPD, k.quads(magic), k.y(k.VROUNDPD, truncate, bounded))
		}
		k.store(k.pack(halves[0], halves[1], lowWords), 0)
	})
}

// truncating has the conversions from 32-bit floats to integers, and those of masks.
func (g *generator) truncating() {
	g.each("F32ToS32", 32, one, func(k *chunk, a vector, _ int) vector {
		// The instruction gives the least integer for all that is out of range, and for a NaN.
		r := k.y(k.VPXOR, k.y(k.VCVTTPS2DQ, a), k.y(k.VCMPPS, lessEqual, a, k.y(k.VMOVDQU, k.words(0x4f000000))))
		return k.y(k.VPAND, k.y(k.VCMPPS, ordered, a, a), r)
	})
	g.each("F32ToU32", 32, one, func(k *chunk, a vector, _ int) vector {
		a = k.y(k.VMAXPS, k.zero(), a) // 0 also of a NaN
		half := k.y(k.VMOVDQU, k.words(0x4f000000))
		upper := k.y(k.VCMPPS, lessEqual, a, half)
		// The upper half of the range is converted less 2**31, which gives the least integer, the same bits, beyond it.
		r := k.y(k.VCVTTPS2DQ, k.y(k.VSUBPS, k.y(k.VANDPS, half, upper), a))
		r = k.y(k.VPXOR, k.y(k.VPSLLD, operand.U8(31), upper), r)
		beyond := k.y(k.VCMPPS, lessEqual, a, k.y(k.VMOVDQU, k.words(0x4f800000)))
		return k.y(k.VPOR, beyond, r)
	})
	g.each("MaskToI32", 32, one, func(k *chunk, a vector, _ int) vector { return k.y(k.VPSRLD, operand.U8(31), a) })
	g.each("I32ToMask", 32, one, func(k *chunk, a vector, _ int) vector {
		return k.not(k.y(k.VPCMPEQD, k.zero(), a))
	})
}
