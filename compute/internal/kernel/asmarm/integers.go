package main

import "strconv"

func (g *generator) moves() {
	for _, bits := range []int{32, 64} {
		suffix := strconv.Itoa(bits)
		g.each("Move"+suffix, bits, one, func(_ *chunk, a vector, _ int) vector { return a })
		g.moveMasked("MoveMasked"+suffix, bits)
		g.each("Select"+suffix, bits, three, func(k *chunk, a vector, part int) vector {
			return k.choose(k.mask(2, bits, part), a, k.load(1, part))
		})
	}
}

// mask loads the part of a mask that belongs to a part of a result.
func (g *generator) mask(operand, bits, part int) vector {
	if bits == 64 {
		return g.do(extend("sxtl", 32, false), g.loadHalf(operand, part))
	}
	return g.load(operand, part)
}

// moveMasked writes a kernel with two loops, one for where there is a mask.
func (g *generator) moveMasked(op string, bits int) {
	g.begin(op, "(a *Args, first, n int)", 24)
	g.kernels = append(g.kernels, op)
	g.parameters()
	g.text("MOVD %d(R%d), R%d", argsMask, regArgs, regScratch)
	masked := g.named("masked")
	g.text("CBNZ R%d, %s", regScratch, masked)
	g.loop(bits, one, func() {
		for part := range bits / 16 {
			g.store(g.load(0, part), part)
		}
	})
	g.text("RET")
	g.label(masked)
	g.loop(bits, []int{argsA, argsMask}, func() {
		for part := range bits / 16 {
			old := g.do(access(false, "q", 16*part), x(regDst))
			g.store(g.choose(g.mask(1, bits, part), g.load(0, part), old), part)
		}
	})
	g.text("RET")
}

func (g *generator) integers32() {
	for _, b := range [][2]string{{"AddI32", "add.4s"}, {"SubI32", "sub.4s"}, {"MulI32", "mul.4s"}, {"AndI32", "and.16b"},
		{"OrI32", "orr.16b"}, {"XorI32", "eor.16b"}, {"AndNotI32", "bic.16b"}, {"MinU32", "umin.4s"},
		{"MinS32", "smin.4s"}, {"MaxU32", "umax.4s"}, {"MaxS32", "smax.4s"}, {"EqI32", "cmeq.4s"}} {
		g.binary(b[0], 32, b[1])
	}
	g.each("NeI32", 32, two, func(k *chunk, a vector, part int) vector {
		return k.not(k.v("cmeq.4s", a, k.load(1, part)))
	})
	for _, c := range [][2]string{{"LtU32", "cmhi.4s"}, {"LeU32", "cmhs.4s"}, {"LtS32", "cmgt.4s"}, {"LeS32", "cmge.4s"}} {
		g.each(c[0], 32, two, func(k *chunk, a vector, part int) vector { return k.v(c[1], k.load(1, part), a) })
	}
	for _, u := range [][2]string{{"NegI32", "neg.4s"}, {"NotI32", "not.16b"}, {"AbsI32", "abs.4s"}} {
		g.unary(u[0], 32, u[1])
	}
	g.shifts(32)
	for _, multiply := range [][2]string{{"MulHighU32", "umull"}, {"MulHighS32", "smull"}} {
		g.each(multiply[0], 32, two, func(k *chunk, a vector, part int) vector {
			b := k.load(1, part)
			return k.v("uzp2.4s", k.v(multiply[1]+".2s", a, b), k.v(multiply[1]+"2.2s", a, b))
		})
	}
	g.mulAddSat()
	g.divisions()
	g.bits()
}

// shifts go to the right by negative counts.
func (g *generator) shifts(bits int) {
	suffix, t := strconv.Itoa(bits), lanes(bits)
	count := func(k *chunk, part int) vector {
		most := uint64(31)<<32 | 31
		if bits == 64 {
			most = 63
		}
		return k.and(k.load(1, part), k.quads(most))
	}
	g.each("ShlI"+suffix, bits, two, func(k *chunk, a vector, part int) vector {
		return k.v("ushl"+t, a, count(k, part))
	})
	for _, s := range [][2]string{{"ShrU", "ushl"}, {"ShrS", "sshl"}} {
		g.each(s[0]+suffix, bits, two, func(k *chunk, a vector, part int) vector {
			return k.v(s[1]+t, a, k.v("neg"+t, count(k, part)))
		})
	}
}

// mulAddSat computes in 64 bits, and narrows to what fits. A factor beyond 32 bits gives most with any A but 0, as the
// largest one of 32 bits does.
func (g *generator) mulAddSat() {
	g.begin("MulAddSat", "(a *Args, first, n int)", 24)
	g.kernels = append(g.kernels, "MulAddSat")
	g.parameters()
	fits := g.named("fits")
	g.text("MOVD %d(R%d), R%d", argsImmediate, regArgs, regScratch)
	g.text("LSR $32, R%d, R%d", regScratch, regScratch+1)
	g.text("CBZ R%d, %s", regScratch+1, fits)
	g.text("MOVD $0xffffffff, R%d", regScratch)
	g.label(fits)
	factor := g.pin(g.do(broadcast32, x(regScratch)))
	g.loop(32, two, func() {
		for part := range 2 {
			a, b := g.load(0, part), g.load(1, part)
			low := g.v("uaddw.2s", g.v("umull.2s", a, factor), b)
			high := g.v("uaddw2.2s", g.v("umull2.2s", a, factor), b)
			g.store(g.v("uqxtn2.2s", g.v("uqxtn.2s", low), high), part)
		}
	})
	g.text("RET")
}

// divisions go through 64-bit floats. The quotient of integers below 2**32 is rounded to an integer only if it is one:
// its distance to the next one is no less than 1 to the divisor.
func (g *generator) divisions() {
	for _, signed := range []bool{false, true} {
		widen, toFloat, toInteger, letter := "uxtl", "ucvtf.2d", "fcvtzu.2d", "U"
		if signed {
			widen, toFloat, toInteger, letter = "sxtl", "scvtf.2d", "fcvtzs.2d", "S"
		}
		quotient := func(k *chunk, a, b vector) vector {
			half := func(upper bool) vector {
				wide := func(v vector) vector { return k.v(toFloat, k.do(extend(widen, 32, upper), v)) }
				return k.v(toInteger, k.v("fdiv.2d", wide(a), wide(b)))
			}
			// What is beyond 32 bits is the least by -1, whose lower bits are the least, or by 0.
			return k.or(k.v("uzp1.4s", half(false), half(true)), k.v("cmeq0.4s", b))
		}
		g.each("Div"+letter+"32", 32, two, func(k *chunk, a vector, part int) vector {
			return quotient(k, a, k.load(1, part))
		})
		remainder := func(k *chunk, a, b vector) vector { return k.v("sub.4s", a, k.v("mul.4s", quotient(k, a, b), b)) }
		g.each("Rem"+letter+"32", 32, two, func(k *chunk, a vector, part int) vector {
			return remainder(k, a, k.load(1, part))
		})
		if signed {
			g.each("ModS32", 32, two, func(k *chunk, a vector, part int) vector {
				b := k.load(1, part)
				r := remainder(k, a, b)
				// Where r is not 0 and has not the sign of b, b is added.
				unlike := k.and(k.v("cmlt0.4s", k.v("eor.16b", r, b)), k.v("cmtst.4s", r, r))
				return k.v("add.4s", r, k.and(unlike, b))
			})
		}
	}
}

func (g *generator) bits() {
	// population counts the bits of lanes that are pairs of pairs of bytes.
	population := func(k *chunk, a vector) vector {
		return k.v("uaddlp.8h", k.v("uaddlp.16b", k.v("cnt.16b", a)))
	}
	g.each("PopCount32", 32, one, func(k *chunk, a vector, _ int) vector { return population(k, a) })
	g.kernel("PopCount64", 32, one, func(k *chunk) {
		for part := range 2 {
			count := func(i int) vector { return k.v("uaddlp.4s", population(k, k.load(0, 2*part+i))) }
			k.store(k.v("uzp1.4s", count(0), count(1)), part)
		}
	})
	reverse := func(k *chunk, a vector) vector { return k.v("rbit.16b", k.v("rev32.16b", a)) }
	g.each("Reverse32", 32, one, func(k *chunk, a vector, _ int) vector { return reverse(k, a) })
	g.each("FindLSB32", 32, one, func(k *chunk, a vector, _ int) vector {
		return k.or(k.v("clz.4s", reverse(k, a)), k.v("cmeq0.4s", a))
	})
	g.each("FindMSBU32", 32, one, func(k *chunk, a vector, _ int) vector {
		return k.v("sub.4s", k.words(31), k.v("clz.4s", a))
	})
	g.each("FindMSBS32", 32, one, func(k *chunk, a vector, _ int) vector {
		return k.v("sub.4s", k.words(30), k.v("cls.4s", a)) // cls does not count the sign itself
	})
	for _, e := range []struct {
		op    string
		by    int
		shift string
	}{{"Sext8", 24, "sshr"}, {"Sext16", 16, "sshr"}, {"Zext8", 24, "ushr"}, {"Zext16", 16, "ushr"}} {
		g.each(e.op, 32, one, func(k *chunk, a vector, _ int) vector {
			return k.shifted(e.shift, 32, e.by, k.shifted("shl", 32, e.by, a))
		})
	}
}

func (g *generator) integers64() {
	for _, b := range [][2]string{{"AddI64", "add.2d"}, {"SubI64", "sub.2d"}, {"AndI64", "and.16b"},
		{"OrI64", "orr.16b"}, {"XorI64", "eor.16b"}} {
		g.binary(b[0], 64, b[1])
	}
	for _, u := range [][2]string{{"NegI64", "neg.2d"}, {"NotI64", "not.16b"}, {"AbsI64", "abs.2d"}} {
		g.unary(u[0], 64, u[1])
	}
	g.shifts(64)
	g.each("MulWordsU64", 64, two, func(k *chunk, a vector, part int) vector {
		return k.v("umull.2s", k.v("xtn.2s", a), k.v("xtn.2s", k.load(1, part)))
	})
	g.each("MulI64", 64, two, func(k *chunk, a vector, part int) vector {
		b := k.load(1, part)
		cross := k.v("uaddlp.4s", k.v("mul.4s", a, k.v("rev64.4s", b))) // low by high and high by low
		return k.v("umlal.2s", k.shifted("shl", 64, 32, cross), k.v("xtn.2s", a), k.v("xtn.2s", b))
	})
	for _, sign := range [][3]string{{"U", "cmhi.2d", "cmhs.2d"}, {"S", "cmgt.2d", "cmge.2d"}} {
		g.each("Min"+sign[0]+"64", 64, two, func(k *chunk, a vector, part int) vector {
			b := k.load(1, part)
			return k.choose(k.v(sign[1], a, b), b, a)
		})
		g.each("Max"+sign[0]+"64", 64, two, func(k *chunk, a vector, part int) vector {
			b := k.load(1, part)
			return k.choose(k.v(sign[1], a, b), a, b)
		})
		g.compare64("Lt"+sign[0]+"64", two, func(k *chunk, a vector, part int) vector {
			return k.v(sign[1], k.load(1, part), a)
		})
		g.compare64("Le"+sign[0]+"64", two, func(k *chunk, a vector, part int) vector {
			return k.v(sign[2], k.load(1, part), a)
		})
	}
	equal := func(k *chunk, a vector, part int) vector { return k.v("cmeq.2d", a, k.load(1, part)) }
	g.compare64("EqI64", two, equal)
	g.compare64("NeI64", two, func(k *chunk, a vector, part int) vector { return k.not(equal(k, a, part)) })
}

// narrow writes a kernel whose result has lanes of 32 bits, of which f makes four from lanes of 64 bits: from the two
// parts of A that begin with first.
func (g *generator) narrow(op string, operands []int, f func(k *chunk, first int) vector) {
	g.kernel(op, 32, operands, func(k *chunk) {
		for part := range 2 {
			k.store(f(k, 2*part), part)
		}
	})
}

// compare64 writes a kernel that makes a mask from lanes of 64 bits.
func (g *generator) compare64(op string, operands []int, f func(k *chunk, a vector, part int) vector) {
	g.narrow(op, operands, func(k *chunk, first int) vector {
		return k.v("uzp1.4s", f(k, k.load(0, first), first), f(k, k.load(0, first+1), first+1))
	})
}
