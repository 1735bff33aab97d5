package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vector is a register of 256 bits, or the lower half of one.
type vector = reg.VecVirtual

// each writes a kernel that does the same to each half of 32 bytes. The first operand is loaded.
func (g *generator) each(op string, width int, operands []int, f func(k *chunk, a vector, half int) vector) {
	g.kernel(op, shape{width, operands, 2}, func(k *chunk) {
		for half := range width / 32 {
			k.store(f(k, k.load(0, half), half), half)
		}
	})
}

// binary writes kernels of one instruction on two operands.
func (g *generator) binary(width int, list ...named) {
	for _, n := range list {
		g.each(n.op, width, two, func(k *chunk, a vector, half int) vector { return k.y(n.i, k.source(1, half), a) })
	}
}

func (g *generator) moves() {
	for _, width := range []int{32, 64} {
		suffix := suffix(width)
		g.moveMasked("MoveMasked"+suffix, width)
		g.each("Move"+suffix, width, one, func(_ *chunk, a vector, _ int) vector { return a })
		g.each("Select"+suffix, width, three, func(k *chunk, a vector, half int) vector {
			if width == 64 {
				return k.blend64(k.y(k.VPMOVSXDQ, k.quarter(2, half)), a, k.load(1, half))
			}
			return k.blend(k.load(2, 0), a, k.load(1, 0))
		})
	}
}

// moveMasked writes a kernel with two loops, one for where there is a mask.
func (g *generator) moveMasked(op string, width int) {
	g.begin(op)
	g.kernels = append(g.kernels, op)
	args, masked := g.Load(g.Param("a"), g.GP64()), g.label("masked")
	g.CMPQ(operand.Mem{Base: args, Disp: argsMask}, operand.U8(0))
	g.JNE(operand.LabelRef(masked))
	g.loop(args, shape{width, one, 2}, func(k *chunk) {
		for half := range width / 32 {
			k.store(k.load(0, half), half)
		}
	})
	g.VZEROUPPER()
	g.RET()
	g.Label(masked)
	g.loop(args, shape{width, []int{argsA, argsMask}, 2}, func(k *chunk) {
		for half := range width / 32 {
			if width == 64 {
				k.store(k.blend64(k.y(k.VPMOVSXDQ, k.quarter(1, half)), k.source(0, half), k.y(k.VMOVDQU, k.target(half))), half)
			} else {
				k.store(k.blend(k.load(1, 0), k.source(0, 0), k.y(k.VMOVDQU, k.target(0))), 0)
			}
		}
	})
	g.VZEROUPPER()
	g.RET()
}

func suffix(width int) string {
	if width == 64 {
		return "64"
	}
	return "32"
}

func (g *generator) integers32() {
	g.binary(32, named{"AddI32", g.VPADDD}, named{"SubI32", g.VPSUBD}, named{"MulI32", g.VPMULLD},
		named{"AndI32", g.VPAND}, named{"OrI32", g.VPOR}, named{"XorI32", g.VPXOR},
		named{"MinU32", g.VPMINUD}, named{"MinS32", g.VPMINSD}, named{"MaxU32", g.VPMAXUD}, named{"MaxS32", g.VPMAXSD})
	g.each("AndNotI32", 32, two, func(k *chunk, a vector, _ int) vector { return k.y(k.VPANDN, a, k.load(1, 0)) })
	g.each("NegI32", 32, one, func(k *chunk, a vector, _ int) vector { return k.y(k.VPSUBD, a, k.zero()) })
	g.each("NotI32", 32, one, func(k *chunk, a vector, _ int) vector { return k.not(a) })
	g.each("AbsI32", 32, one, func(k *chunk, a vector, _ int) vector { return k.y(k.VPABSD, a) })
	for _, shift := range []named{{"ShlI32", g.VPSLLVD}, {"ShrU32", g.VPSRLVD}, {"ShrS32", g.VPSRAVD}} {
		g.each(shift.op, 32, two, func(k *chunk, a vector, _ int) vector {
			return k.y(shift.i, k.y(k.VPAND, k.words(31), k.load(1, 0)), a)
		})
	}
	compare := func(op string, f func(k *chunk, a, b vector) vector) {
		g.each(op, 32, two, func(k *chunk, a vector, _ int) vector { return f(k, a, k.load(1, 0)) })
	}
	compare("EqI32", func(k *chunk, a, b vector) vector { return k.y(k.VPCMPEQD, b, a) })
	compare("NeI32", func(k *chunk, a, b vector) vector { return k.not(k.y(k.VPCMPEQD, b, a)) })
	compare("LtS32", func(k *chunk, a, b vector) vector { return k.y(k.VPCMPGTD, a, b) })
	compare("LeS32", func(k *chunk, a, b vector) vector { return k.not(k.y(k.VPCMPGTD, b, a)) })
	compare("LtU32", func(k *chunk, a, b vector) vector { return k.not(k.y(k.VPCMPEQD, b, k.y(k.VPMINUD, b, a))) })
	compare("LeU32", func(k *chunk, a, b vector) vector { return k.y(k.VPCMPEQD, a, k.y(k.VPMINUD, b, a)) })
	for _, multiply := range []named{{"MulHighU32", g.VPMULUDQ}, {"MulHighS32", g.VPMULDQ}} {
		g.each(multiply.op, 32, two, func(k *chunk, a vector, _ int) vector {
			b := k.load(1, 0)
			return k.interleave(k.odd(k.y(multiply.i, b, a)), k.y(multiply.i, k.odd(b), k.odd(a)))
		})
	}
	g.mulAddSat()
	g.divisions()
	g.bits32()
}

// mulAddSat has a loop for powers of two, by which most addresses are multiplied, and one for other factors.
func (g *generator) mulAddSat() {
	g.begin("MulAddSat")
	g.kernels = append(g.kernels, "MulAddSat")
	args, value, most, other := g.Load(g.Param("a"), g.GP64()), g.GP64(), g.GP64(), g.label("other")
	g.MOVQ(operand.Mem{Base: args, Disp: argsImmediate}, value)
	g.MOVL(operand.U32(1<<32-1), most.As32())
	g.CMPQ(value, most)
	g.CMOVQHI(most, value)
	g.LEAQ(operand.Mem{Base: value, Disp: -1}, most)
	g.TESTQ(value, most) // 0 of powers of two, and of 0, of which BSFQ tells
	g.JNE(operand.LabelRef(other))
	g.BSFQ(value, most)
	g.JEQ(operand.LabelRef(other))
	shift := g.y(g.VPBROADCASTD, g.x(g.VMOVQ, most))
	g.loop(args, shape{32, two, 2}, func(k *chunk) {
		a, b := k.load(0, 0), k.load(1, 0)
		product := k.y(k.VPSLLVD, shift, a)
		sum := k.y(k.VPADDD, b, product)
		fits := k.y(k.VPCMPEQD, a, k.y(k.VPSRLVD, shift, product))
		fits = k.y(k.VPAND, fits, k.y(k.VPCMPEQD, sum, k.y(k.VPMAXUD, b, sum)))
		k.store(k.y(k.VPOR, sum, k.not(fits)), 0)
	})
	g.VZEROUPPER()
	g.RET()

	g.Label(other)
	factor := g.y(g.VPBROADCASTQ, g.x(g.VMOVQ, value))
	g.loop(args, shape{32, two, 2}, func(k *chunk) {
		a, b, zero := k.load(0, 0), k.load(1, 0), k.zero()
		even := k.y(k.VPADDQ, k.interleave(b, zero), k.y(k.VPMULUDQ, factor, a))
		odd := k.y(k.VPADDQ, k.y(k.VPSRLQ, operand.U8(32), b), k.y(k.VPMULUDQ, factor, k.odd(a)))
		low := k.interleave(even, k.y(k.VPSLLQ, operand.U8(32), odd))
		high := k.interleave(k.y(k.VPSRLQ, operand.U8(32), even), odd)
		k.store(k.y(k.VPOR, low, k.not(k.y(k.VPCMPEQD, zero, high))), 0)
	})
	g.VZEROUPPER()
	g.RET()
}

// divisions go through 64-bit floats. The quotient of integers below 2**32 is rounded to an integer only if it is one:
// its distance to the next one is no less than 1 to the divisor.
func (g *generator) divisions() {
	for _, op := range []string{"DivU32", "RemU32"} {
		g.kernel(op, shape{32, two, 1}, func(k *chunk) {
			a, b := k.load(0, 0), k.load(1, 0)
			magic := k.quads(0x4330000000000000) // 2**52; the lowest bits of 2**52 + n are n
			divide := func(a, b vector) vector {
				wide := func(v vector) vector { return k.y(k.VSUBPD, magic, k.y(k.VPOR, magic, v)) }
				return k.y(k.VADDPD, magic, k.y(k.VROUNDPD, operand.U8(11), k.y(k.VDIVPD, wide(b), wide(a))))
			}
			zero := k.zero()
			even := divide(k.interleave(a, zero), k.interleave(b, zero))
			odd := divide(k.y(k.VPSRLQ, operand.U8(32), a), k.y(k.VPSRLQ, operand.U8(32), b))
			q := k.interleave(even, k.y(k.VPSLLQ, operand.U8(32), odd))
			q = k.y(k.VPOR, k.y(k.VPCMPEQD, zero, b), q)
			if op == "RemU32" {
				q = k.y(k.VPSUBD, k.y(k.VPMULLD, b, q), a)
			}
			k.store(q, 0)
		})
	}
	for _, op := range []string{"DivS32", "RemS32", "ModS32"} {
		g.kernel(op, shape{32, two, 1}, func(k *chunk) {
			var halves [2]vector
			for half := range halves {
				q := k.y(k.VDIVPD, k.y(k.VCVTDQ2PD, k.quarter(1, half)), k.y(k.VCVTDQ2PD, k.quarter(0, half)))
				halves[half] = k.x(k.VCVTTPD2DQY, q) // what is out of range gives the least integer
			}
			a, b, zero := k.load(0, 0), k.load(1, 0), k.zero()
			q := k.y(k.VPOR, k.y(k.VPCMPEQD, zero, b), k.join(halves[0], halves[1]))
			if op == "DivS32" {
				k.store(q, 0)
				return
			}
			r := k.y(k.VPSUBD, k.y(k.VPMULLD, b, q), a)
			if op == "ModS32" {
				// Where r is not 0 and has not the sign of b, b is added.
				unlike := k.y(k.VPSRAD, operand.U8(31), k.y(k.VPXOR, r, b))
				unlike = k.y(k.VPANDN, unlike, k.y(k.VPCMPEQD, zero, r))
				r = k.y(k.VPADDD, k.y(k.VPAND, unlike, b), r)
			}
			k.store(r, 0)
		})
	}
}

func (g *generator) bits32() {
	nibbles := func(k *chunk, a vector) (low, high vector) {
		mask := k.words(0x0f0f0f0f)
		return k.y(k.VPAND, mask, a), k.y(k.VPAND, mask, k.y(k.VPSRLD, operand.U8(4), a))
	}
	counts := [16]uint8{0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4}
	population := func(k *chunk, a vector) vector { // of each byte
		low, high := nibbles(k, a)
		table := k.y(k.VMOVDQU, k.bytes("counts", counts))
		return k.y(k.VPADDB, k.y(k.VPSHUFB, low, table), k.y(k.VPSHUFB, high, table))
	}
	g.each("PopCount32", 32, one, func(k *chunk, a vector, _ int) vector {
		pairs := k.y(k.VPMADDUBSW, k.words(0x01010101), population(k, a))
		return k.y(k.VPMADDWD, k.words(0x00010001), pairs)
	})
	g.kernel("PopCount64", shape{32, one, 1}, func(k *chunk) {
		zero := k.zero()
		first := k.y(k.VPSADBW, zero, population(k, k.load(0, 0)))
		second := k.y(k.VPSADBW, zero, population(k, k.load(0, 1)))
		k.store(k.pack(first, second, lowWords), 0)
	})
	var reversed, upper [16]uint8
	for i := range reversed {
		reversed[i] = uint8(i>>3&1 | i>>1&2 | i<<1&4 | i<<3&8)
		upper[i] = reversed[i] << 4
	}
	order := [16]uint8{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12}
	g.each("Reverse32", 32, one, func(k *chunk, a vector, _ int) vector {
		low, high := nibbles(k, k.y(k.VPSHUFB, k.bytes("order", order), a))
		low = k.y(k.VPSHUFB, low, k.y(k.VMOVDQU, k.bytes("upper", upper)))
		high = k.y(k.VPSHUFB, high, k.y(k.VMOVDQU, k.bytes("reversed", reversed)))
		return k.y(k.VPOR, low, high)
	})
	// The exponent of a float says which the highest bit of an integer is, if the conversion does not round up.
	exponent := func(k *chunk, a vector) vector {
		biased := k.y(k.VPSRLD, operand.U8(23), k.y(k.VCVTDQ2PS, a))
		n := k.y(k.VPSUBD, k.words(127), k.y(k.VPAND, k.words(0xff), biased))
		return k.y(k.VPMAXSD, k.ones(), n) // -1 of 0
	}
	// Without the bit below the highest one, there is nothing to round up.
	noRounding := func(k *chunk, a vector) vector {
		return k.y(k.VPANDN, a, k.y(k.VPSRLD, operand.U8(1), a))
	}
	g.each("FindLSB32", 32, one, func(k *chunk, a vector, _ int) vector {
		return exponent(k, k.y(k.VPAND, a, k.y(k.VPSUBD, a, k.zero())))
	})
	g.each("FindMSBS32", 32, one, func(k *chunk, a vector, _ int) vector {
		a = k.y(k.VPXOR, a, k.y(k.VPSRAD, operand.U8(31), a))
		return exponent(k, noRounding(k, a))
	})
	g.each("FindMSBU32", 32, one, func(k *chunk, a vector, _ int) vector {
		return k.blend(a, k.words(31), exponent(k, noRounding(k, a)))
	})
	for _, extension := range []struct {
		op    string
		shift uint8
		i     instruction
	}{{"Sext8", 24, g.VPSRAD}, {"Sext16", 16, g.VPSRAD}, {"Zext8", 24, g.VPSRLD}, {"Zext16", 16, g.VPSRLD}} {
		g.each(extension.op, 32, one, func(k *chunk, a vector, _ int) vector {
			return k.y(extension.i, operand.U8(extension.shift), k.y(k.VPSLLD, operand.U8(extension.shift), a))
		})
	}
}

func (g *generator) integers64() {
	g.binary(64, named{"AddI64", g.VPADDQ}, named{"SubI64", g.VPSUBQ},
		named{"AndI64", g.VPAND}, named{"OrI64", g.VPOR}, named{"XorI64", g.VPXOR})
	g.each("NegI64", 64, one, func(k *chunk, a vector, _ int) vector { return k.y(k.VPSUBQ, a, k.zero()) })
	g.each("NotI64", 64, one, func(k *chunk, a vector, _ int) vector { return k.not(a) })
	g.each("AbsI64", 64, one, func(k *chunk, a vector, _ int) vector {
		return k.blend64(a, k.y(k.VPSUBQ, a, k.zero()), a)
	})
	count := func(k *chunk, half int) vector { return k.y(k.VPAND, k.quads(63), k.load(1, half)) }
	g.each("ShlI64", 64, two, func(k *chunk, a vector, half int) vector { return k.y(k.VPSLLVQ, count(k, half), a) })
	g.each("ShrU64", 64, two, func(k *chunk, a vector, half int) vector { return k.y(k.VPSRLVQ, count(k, half), a) })
	g.each("ShrS64", 64, two, func(k *chunk, a vector, half int) vector {
		n := count(k, half)
		sign := k.y(k.VPSRLVQ, n, k.y(k.VMOVDQU, k.quads(1<<63)))
		return k.y(k.VPSUBQ, sign, k.y(k.VPXOR, sign, k.y(k.VPSRLVQ, n, a)))
	})
	g.each("MulWordsU64", 64, two, func(k *chunk, a vector, half int) vector {
		return k.y(k.VPMULUDQ, k.load(1, half), a)
	})
	g.each("MulI64", 64, two, func(k *chunk, a vector, half int) vector {
		b := k.load(1, half)
		cross := k.y(k.VPMULLD, k.y(k.VPSHUFD, operand.U8(0xb1), b), a) // low by high, high by low
		cross = k.y(k.VPADDD, cross, k.y(k.VPSLLQ, operand.U8(32), cross))
		cross = k.interleave(k.zero(), cross)
		return k.y(k.VPADDQ, cross, k.y(k.VPMULUDQ, b, a))
	})
	// VPCMPGTQ is signed. Exchanging the halves of the range makes it do for the other order.
	order := func(k *chunk, a vector, signed bool) vector {
		if signed {
			return a
		}
		return k.y(k.VPXOR, k.quads(1<<63), a)
	}
	for _, signed := range []bool{false, true} {
		letter := "U"
		if signed {
			letter = "S"
		}
		g.each("Min"+letter+"64", 64, two, func(k *chunk, a vector, half int) vector {
			b := k.load(1, half)
			return k.blend64(k.y(k.VPCMPGTQ, order(k, b, signed), order(k, a, signed)), b, a)
		})
		g.each("Max"+letter+"64", 64, two, func(k *chunk, a vector, half int) vector {
			b := k.load(1, half)
			return k.blend64(k.y(k.VPCMPGTQ, order(k, b, signed), order(k, a, signed)), a, b)
		})
		g.compare64("Lt"+letter+"64", two, func(k *chunk, a vector, half int) vector {
			return k.y(k.VPCMPGTQ, order(k, a, signed), order(k, k.load(1, half), signed))
		}, false)
		g.compare64("Le"+letter+"64", two, func(k *chunk, a vector, half int) vector {
			return k.y(k.VPCMPGTQ, order(k, k.load(1, half), signed), order(k, a, signed))
		}, true)
	}
	equal := func(k *chunk, a vector, half int) vector { return k.y(k.VPCMPEQQ, k.source(1, half), a) }
	g.compare64("EqI64", two, equal, false)
	g.compare64("NeI64", two, equal, true)
}

// compare64 writes a kernel that makes a mask from lanes of 64 bits, or its opposite.
func (g *generator) compare64(op string, operands []int, f func(k *chunk, a vector, half int) vector, not bool) {
	g.kernel(op, shape{32, operands, 2}, func(k *chunk) {
		r := k.pack(f(k, k.load(0, 0), 0), f(k, k.load(0, 1), 1), lowWords)
		if not {
			r = k.not(r)
		}
		k.store(r, 0)
	})
}
