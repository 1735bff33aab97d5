package main

import "strconv"

// form is what differs between floats of 32 and of 64 bits, and is not in the names of instructions.
type form struct {
	bits                            int
	sign, magnitude, infinity, unit uint64 // twice, of 32 bits
}

var forms = [2]form{
	{32, 0x80000000_80000000, 0x7fffffff_7fffffff, 0x7f800000_7f800000, 0x3f800000_3f800000},
	{64, 1 << 63, 1<<63 - 1, 0x7ff << 52, 0x3ff << 52},
}

func (g *generator) floats() {
	for _, f := range forms {
		name := func(op string) string { return op + "F" + strconv.Itoa(f.bits) }
		t := lanes(f.bits)
		for _, b := range [][2]string{{"Add", "fadd"}, {"Sub", "fsub"}, {"Mul", "fmul"}, {"Div", "fdiv"}} {
			g.binary(name(b[0]), f.bits, b[1]+t)
		}
		for _, u := range [][2]string{{"Neg", "fneg"}, {"Abs", "fabs"}, {"Sqrt", "fsqrt"}, {"Floor", "frintm"},
			{"Ceil", "frintp"}, {"Trunc", "frintz"}, {"RoundEven", "frintn"}} {
			g.unary(name(u[0]), f.bits, u[1]+t)
		}
		g.products(f)
		g.each(name("InverseSqrt"), f.bits, one, func(k *chunk, a vector, _ int) vector {
			return k.v("fdiv"+t, k.quads(f.unit), k.v("fsqrt"+t, a))
		})
		// The instructions give NaN where one operand is. So a NaN is replaced by the other operand first. FMINNM and
		// FMAXNM would do so, but not for a signaling NaN.
		for _, e := range [][2]string{{"Min", "fmin"}, {"Max", "fmax"}} {
			g.each(name(e[0]), f.bits, two, func(k *chunk, a vector, part int) vector {
				b := k.load(1, part)
				number := func(v, other vector) vector { return k.choose(k.v("fcmeq"+t, v, v), v, other) }
				return k.v(e[1]+t, number(a, b), number(b, a))
			})
		}
		g.each(name("Sign"), f.bits, one, func(k *chunk, a vector, _ int) vector {
			unit := k.choose(k.quads(f.sign), a, k.quads(f.unit))
			return k.and(unit, k.unequal(t, a, k.zero()))
		})
		g.comparisons(f)
	}
}

// zero returns a pinned vector of zeros.
func (g *generator) zero() vector { return g.quads(0) }

// unequal says of each lane whether two floats are unequal, and none is a NaN.
func (g *generator) unequal(t string, a, b vector) vector {
	return g.or(g.v("fcmgt"+t, a, b), g.v("fcmgt"+t, b, a))
}

// products writes the kernels of a product and a sum.
func (g *generator) products(f form) {
	t, suffix := lanes(f.bits), "F"+strconv.Itoa(f.bits)
	g.each("Fma"+suffix, f.bits, three, func(k *chunk, a vector, part int) vector {
		return k.v("fmla"+t, k.load(2, part), a, k.load(1, part))
	})
	product := func(k *chunk, a vector, part int) vector { return k.v("fmul"+t, a, k.load(1, part)) }
	g.each("MulAdd"+suffix, f.bits, three, func(k *chunk, a vector, part int) vector {
		return k.v("fadd"+t, product(k, a, part), k.load(2, part))
	})
	g.each("MulSub"+suffix, f.bits, three, func(k *chunk, a vector, part int) vector {
		return k.v("fsub"+t, product(k, a, part), k.load(2, part))
	})
	g.each("SubMul"+suffix, f.bits, three, func(k *chunk, a vector, part int) vector {
		return k.v("fsub"+t, k.load(2, part), product(k, a, part))
	})
}

// comparisons writes the kernels that make masks.
func (g *generator) comparisons(f form) {
	t := lanes(f.bits)
	test := func(op string, operands []int, compare func(k *chunk, a vector, part int) vector) {
		op += "F" + strconv.Itoa(f.bits)
		if f.bits == 64 {
			g.compare64(op, operands, compare)
		} else {
			g.each(op, 32, operands, compare)
		}
	}
	test("Eq", two, func(k *chunk, a vector, part int) vector { return k.v("fcmeq"+t, a, k.load(1, part)) })
	test("Lt", two, func(k *chunk, a vector, part int) vector { return k.v("fcmgt"+t, k.load(1, part), a) })
	test("Le", two, func(k *chunk, a vector, part int) vector { return k.v("fcmge"+t, k.load(1, part), a) })
	test("NeOrd", two, func(k *chunk, a vector, part int) vector { return k.unequal(t, a, k.load(1, part)) })
	test("IsNaN", one, func(k *chunk, a vector, _ int) vector { return k.not(k.v("fcmeq"+t, a, a)) })
	test("IsInf", one, func(k *chunk, a vector, _ int) vector {
		return k.v("fcmeq"+t, k.v("fabs"+t, a), k.quads(f.infinity))
	})
}

// widened returns half of four floats of 32 bits, as 64-bit floats.
func (g *generator) widened(a vector, half int) vector {
	return g.v([]string{"fcvtl.2s", "fcvtl2.2s"}[half], a)
}

// narrowed returns four floats of 32 bits, which f makes as 64-bit ones, two at once.
func (g *generator) narrowed(f func(half int) vector) vector {
	return g.v("fcvtn2.2s", g.v("fcvtn.2s", f(0)), f(1))
}

// scaling goes through 64-bit floats, in which every 32-bit float is normal.
func (g *generator) scaling() {
	g.each("LdexpF32", 32, two, func(k *chunk, a vector, part int) vector {
		b := k.v("smax.4s", k.v("smin.4s", k.load(1, part), k.words(400)), k.words(1<<32-400))
		b = k.v("add.4s", b, k.words(1023))
		return k.narrowed(func(half int) vector {
			power := k.shifted("shl", 64, 52, k.do(extend("uxtl", 32, half == 1), b))
			return k.v("fmul.2d", k.widened(a, half), power)
		})
	})
	// What is 0 or not finite has itself as its significand and an exponent of 0.
	usual := func(k *chunk, a vector) vector {
		finite := k.v("fcmgt.4s", k.quads(forms[0].infinity), k.v("fabs.4s", a))
		return k.v("bic.16b", finite, k.v("fcmeq0.4s", a))
	}
	g.each("FrexpF32", 32, one, func(k *chunk, a vector, _ int) vector {
		significand := k.narrowed(func(half int) vector {
			return k.choose(k.quads(0x7ff<<52), k.quads(0x3fe<<52), k.widened(a, half))
		})
		return k.choose(usual(k, a), significand, a)
	})
	g.each("FrexpExpF32", 32, one, func(k *chunk, a vector, _ int) vector {
		high := k.v("uzp2.4s", k.widened(a, 0), k.widened(a, 1))
		exponent := k.shifted("ushr", 32, 20, k.and(high, k.words(1<<31-1)))
		return k.and(usual(k, a), k.v("sub.4s", exponent, k.words(1022)))
	})
}

// halves are the kernels of 16-bit floats.
func (g *generator) halves() {
	round := func(k *chunk, a vector) vector { return k.v("fcvtn.4h", a) }
	g.each("RoundF16", 32, one, func(k *chunk, a vector, _ int) vector { return k.v("fcvtl.4h", round(k, a)) })
	g.each("RoundF16Zero", 32, one, func(k *chunk, a vector, _ int) vector {
		// One unit less where the rounding has made it larger. Below infinity is the largest number.
		r := round(k, a)
		larger := k.v("fcmgt.4s", k.v("fabs.4s", k.v("fcvtl.4h", r)), k.v("fabs.4s", a))
		return k.v("fcvtl.4h", k.v("xtn.4h", k.v("add.4s", k.do(extend("uxtl", 16, false), r), larger)))
	})
	g.each("F32ToBits16", 32, one, func(k *chunk, a vector, _ int) vector {
		return k.do(extend("uxtl", 16, false), round(k, a))
	})
	g.each("Bits16ToF32", 32, one, func(k *chunk, a vector, _ int) vector {
		return k.v("fcvtl.4h", k.v("xtn.4h", a))
	})
}

// conversions between types. Those of 64-bit integers to 32-bit floats, which would be rounded twice, stay with Go.
// Those to integers saturate, and give 0 of a NaN, as the instructions do.
func (g *generator) conversions() {
	widen := func(op string, f func(k *chunk, half vector) vector) {
		g.kernel(op, 64, one, func(k *chunk) {
			for part := range 4 {
				k.store(f(k, k.loadHalf(0, part)), part)
			}
		})
	}
	extended := func(k *chunk, name string, half vector) vector { return k.do(extend(name, 32, false), half) }
	widen("SextI32I64", func(k *chunk, half vector) vector { return extended(k, "sxtl", half) })
	widen("ZextI32I64", func(k *chunk, half vector) vector { return extended(k, "uxtl", half) })
	widen("S32ToF64", func(k *chunk, half vector) vector { return k.v("scvtf.2d", extended(k, "sxtl", half)) })
	widen("U32ToF64", func(k *chunk, half vector) vector { return k.v("ucvtf.2d", extended(k, "uxtl", half)) })
	widen("F32ToF64", func(k *chunk, half vector) vector { return k.widened(half, 0) })
	widen("F32ToS64", func(k *chunk, half vector) vector { return k.v("fcvtzs.2d", k.widened(half, 0)) })
	widen("F32ToU64", func(k *chunk, half vector) vector { return k.v("fcvtzu.2d", k.widened(half, 0)) })
	g.kernel("Join64", 64, two, func(k *chunk) {
		for part := range 2 {
			a, b := k.load(0, part), k.load(1, part)
			k.store(k.v("zip1.4s", a, b), 2*part)
			k.store(k.v("zip2.4s", a, b), 2*part+1)
		}
	})
	for _, w := range [][2]string{{"TruncI64I32", "uzp1.4s"}, {"Low32", "uzp1.4s"}, {"High32", "uzp2.4s"}} {
		g.narrow(w[0], one, func(k *chunk, first int) vector { return k.v(w[1], k.load(0, first), k.load(0, first+1)) })
	}
	g.narrow("F64ToF32", one, func(k *chunk, first int) vector {
		return k.narrowed(func(half int) vector { return k.load(0, first+half) })
	})
	g.narrow("F64ToF32Zero", one, func(k *chunk, first int) vector {
		// One unit less where the rounding has made it larger.
		parts := [2]vector{k.load(0, first), k.load(0, first+1)}
		r := k.narrowed(func(half int) vector { return parts[half] })
		larger := func(half int) vector {
			return k.v("fcmgt.2d", k.v("fabs.2d", k.widened(r, half)), k.v("fabs.2d", parts[half]))
		}
		return k.v("add.4s", r, k.v("uzp1.4s", larger(0), larger(1)))
	})
	for _, c := range [][3]string{{"F64ToS32", "fcvtzs.2d", "sqxtn"}, {"F64ToU32", "fcvtzu.2d", "uqxtn"}} {
		g.narrow(c[0], one, func(k *chunk, first int) vector {
			low := k.v(c[2]+".2s", k.v(c[1], k.load(0, first)))
			return k.v(c[2]+"2.2s", low, k.v(c[1], k.load(0, first+1)))
		})
	}
	for _, c := range [][2]string{{"F32ToS32", "fcvtzs.4s"}, {"F32ToU32", "fcvtzu.4s"}, {"S32ToF32", "scvtf.4s"},
		{"U32ToF32", "ucvtf.4s"}} {
		g.unary(c[0], 32, c[1])
	}
	for _, c := range [][2]string{{"F64ToS64", "fcvtzs.2d"}, {"F64ToU64", "fcvtzu.2d"}, {"S64ToF64", "scvtf.2d"},
		{"U64ToF64", "ucvtf.2d"}} {
		g.unary(c[0], 64, c[1])
	}
	g.each("MaskToI32", 32, one, func(k *chunk, a vector, _ int) vector { return k.shifted("ushr", 32, 31, a) })
	g.each("I32ToMask", 32, one, func(k *chunk, a vector, _ int) vector { return k.v("cmtst.4s", a, a) })
}
