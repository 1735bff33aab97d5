package main

// General registers of the functions on masks: pairs of an address and a step as those of operands, then results.
const (
	regMasks = 3  // and the seven behind it
	regFrom  = 11 // the first chunk with a lane
	regLeft  = 12 // the chunks from the last one with lanes on
	regSet   = 13 // lanes
	regLanes = 14 // those of a chunk
)

// masks writes what the executor does with masks: the fields of kernel.Set that are functions.
func (g *generator) masks() {
	g.split()
	g.orInto()
	g.take()
	g.active()
	g.narrowMask()
}

func (g *generator) helper(field, signature string, arguments int) {
	g.begin(field, signature, arguments)
	g.helpers = append(g.helpers, field)
}

// streams loads the addresses and steps of parameters that are of type Register, one behind the other, and moves to the
// chunk first where that is a register.
func (g *generator) streams(first bool, names ...string) {
	for i, name := range names {
		r := regMasks + 2*i
		g.text("MOVD %s_Base+%d(FP), R%d", name, 16*i, r)
		g.text("MOVD %s_Step+%d(FP), R%d", name, 16*i+8, r+1)
		if first {
			g.text("MUL R%d, R%d, R%d", regFirst, r+1, regLanes)
			g.text("ADD R%d, R%d", regLanes, r)
		}
	}
}

// chunks writes a loop over chunks of masks.
func (g *generator) chunks(masks int, body func()) {
	loop, done := g.named("loop"), g.named("done")
	g.text("CBZ R%d, %s", regCount, done)
	g.label(loop)
	body()
	for i := range masks {
		g.text("ADD R%d, R%d", regMasks+2*i+1, regMasks+2*i)
	}
	g.text("SUB $1, R%d", regCount)
	g.text("CBNZ R%d, %s", regCount, loop)
	g.label(done)
}

// lanesOf loads half of a chunk of a mask, and put stores it.
func (g *generator) lanesOf(mask, half int) vector {
	return g.do(access(false, "q", 16*half), x(regMasks+2*mask))
}

func (g *generator) put(v vector, mask, half int) {
	g.emit(access(true, "q", 16*half), v, x(regMasks+2*mask))
}

func (g *generator) split() {
	g.helper("Split", "(whenTrue, whenFalse, exec, condition Register, first, n int)", 80)
	g.text("MOVD first+64(FP), R%d", regFirst)
	g.text("MOVD n+72(FP), R%d", regCount)
	g.streams(true, "whenTrue", "whenFalse", "exec", "condition")
	g.chunks(4, func() {
		for half := range 2 {
			e, c := g.lanesOf(2, half), g.lanesOf(3, half)
			g.put(g.or(g.lanesOf(0, half), g.and(e, c)), 0, half)
			g.put(g.or(g.lanesOf(1, half), g.v("bic.16b", e, c)), 1, half)
		}
	})
	g.text("RET")
}

func (g *generator) orInto() {
	g.helper("OrInto", "(dst, src Register, first, n int)", 48)
	g.text("MOVD first+32(FP), R%d", regFirst)
	g.text("MOVD n+40(FP), R%d", regCount)
	g.streams(true, "dst", "src")
	g.chunks(2, func() {
		for half := range 2 {
			g.put(g.or(g.lanesOf(0, half), g.lanesOf(1, half)), 0, half)
		}
	})
	g.text("RET")
}

func (g *generator) take() {
	g.helper("Take", "(dst, src Register, n int) (first, last, set int)", 64)
	zero := g.zero()
	g.streams(false, "dst", "src")
	g.survey(32, 2, func(half int) vector {
		v := g.lanesOf(1, half)
		g.put(v, 0, half)
		g.put(zero, 1, half)
		return v
	})
}

func (g *generator) active() {
	g.helper("Active", "(mask Register, n int) (first, last, set int)", 48)
	g.streams(false, "mask")
	g.survey(16, 1, func(half int) vector { return g.lanesOf(0, half) })
}

// narrowMask looks first whether there is anything to do: in most rounds of a loop no lane leaves it. Where lanes part
// by their number, as in a reduction, the last chunk shows it at once.
func (g *generator) narrowMask() {
	const dst, src, rest, condition = 0, 1, 2, 3
	g.helper("Narrow", "(dst, src, rest, condition Register, invert bool, n int) (first, last, set int, others bool)", 105)
	names := []string{"dst", "src", "rest", "condition"}
	g.text("MOVBU invert+64(FP), R%d", regLanes)
	g.text("NEG R%d, R%d", regLanes, regLanes)
	invert := g.pin(g.do(broadcast32, x(regLanes)))
	// leaving returns the lanes that do not stay, of the chunks at addresses of src and condition.
	leaving := func(src, condition int) vector {
		half := func(half int) vector {
			load := access(false, "q", 16*half)
			return g.v("bic.16b", g.do(load, x(src)), g.v("eor.16b", g.do(load, x(condition)), invert))
		}
		return g.or(half(0), half(1))
	}
	some, scan, none := g.named("some"), g.named("scan"), g.named("none")
	jump := func(v vector) {
		g.emit(lane32, x(regLanes), g.v("umaxv.4s", v))
		g.text("CBNZ R%d, %s", regLanes, some)
	}
	g.streams(false, names...)
	g.text("MOVD n+72(FP), R%d", regCount)
	g.text("CBZ R%d, %s", regCount, none)
	g.text("SUB $1, R%d, R%d", regCount, regLanes)
	for i, mask := range []int{src, condition} {
		g.text("MUL R%d, R%d, R%d", regLanes, regMasks+2*mask+1, regFrom+i)
		g.text("ADD R%d, R%d", regMasks+2*mask, regFrom+i)
	}
	jump(leaving(regFrom, regFrom+1))
	all := g.pin(g.do(clear))
	g.label(scan)
	g.into(all, operations["orr.16b"], all, leaving(regMasks+2*src, regMasks+2*condition))
	for _, mask := range []int{src, condition} {
		g.text("ADD R%d, R%d", regMasks+2*mask+1, regMasks+2*mask)
	}
	g.text("SUB $1, R%d", regCount)
	g.text("CBNZ R%d, %s", regCount, scan)
	jump(all)
	g.label(none)
	for i, result := range []string{"first", "last", "set"} {
		g.text("MOVD ZR, %s+%d(FP)", result, 80+8*i)
	}
	g.text("MOVB ZR, others+104(FP)")
	g.text("RET")

	g.label(some)
	g.text("MOVD $1, R%d", regLanes)
	g.text("MOVB R%d, others+104(FP)", regLanes)
	g.streams(false, names...)
	g.survey(72, 4, func(half int) vector {
		s, keep := g.lanesOf(src, half), g.v("eor.16b", g.lanesOf(condition, half), invert)
		g.put(g.or(g.lanesOf(rest, half), g.v("bic.16b", s, keep)), rest, half)
		v := g.and(s, keep)
		g.put(v, dst, half)
		return v
	})
}

// survey writes the loop that finds the first and the last chunk with a set lane and counts the set lanes, and the end
// of the function. It has no branches, which would depend on the lanes. The number of chunks is the parameter n at an
// offset, and the results lie behind it.
func (g *generator) survey(n, masks int, half func(half int) vector) {
	g.text("MOVD n+%d(FP), R%d", n, regCount)
	for _, r := range []int{regFrom, regLeft, regSet} {
		g.text("MOVD ZR, R%d", r)
	}
	g.chunks(masks, func() {
		// A set lane is -1.
		count := g.v("neg.4s", g.v("add.4s", half(0), half(1)))
		g.emit(lane32, x(regLanes), g.v("addv.4s", count))
		g.text("CMP $0, R%d", regLanes)
		g.text("CSEL NE, R%d, R%d, R%d", regCount, regLeft, regLeft)
		g.text("ADD R%d, R%d", regLanes, regSet)
		g.text("CMP $0, R%d", regSet) // while there is none, first goes on
		g.text("CINC EQ, R%d, R%d", regFrom, regFrom)
	})
	g.text("MOVD n+%d(FP), R%d", n, regCount)
	g.text("ADD $1, R%d", regCount)
	g.text("SUB R%d, R%d, R%d", regLeft, regCount, regCount)
	g.text("CMP $0, R%d", regSet)
	for _, r := range []int{regFrom, regCount} {
		g.text("CSEL NE, R%d, ZR, R%d", r, r)
	}
	for i, result := range []string{"first", "last", "set"} {
		g.text("MOVD R%d, %s+%d(FP)", []int{regFrom, regCount, regSet}[i], result, n+8+8*i)
	}
	g.text("RET")
}
