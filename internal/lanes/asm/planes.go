package main

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in lanes.PlaneAxis and lanes.PlanePairs, which a test of package lanes holds against the types.
const (
	planeSize  = 0
	planeStep  = 64
	planeStart = 128
	planePower = 192

	pairsSecond  = 64
	pairsWeights = 128
	pairsBytes   = 192

	spanStride = 1024 // from a component of a lanes.Span to the next
)

// planes writes the functions of AVX-512, for 16 lanes at a time and n times.
func (g *generator) planes() {
	const parameters, plain = "(to *PlanePairs, u, levels *uint32, a *PlaneAxis, shift int32, n int)",
		"func(to, u, levels, a *byte, shift int32, n int)"
	for mode, name := range modes {
		for _, step := range []string{"Pairs", "Nearest"} {
			if mode == clampToBorder { // whose texels may lie nowhere
				g.begin("avx512Border"+step, "", parameters+" uint8", plain+" uint8")
			} else {
				g.begin("avx512"+step, addressMode+name, parameters, plain)
			}
			g.planePairs(mode, step == "Pairs")
		}
	}
	g.planeLayers()
	g.planeLods()
	g.planeFootprints()
	g.planeLevels()
	g.spanMix()
	g.spanPlaces()
	g.spanSums()
	g.spanMeans()
	g.spanCompare()
	g.spanBilinear()
	for _, d := range allDecoders() {
		g.wide = true
		g.spanRead(&d)
		if d.linear {
			g.spanQuad(&d)
		}
		g.wide = false
	}
}

// z is y for a destination of 512 bits.
func (g *generator) z(i instruction, sources ...operand.Op) vector {
	d := g.ZMM()
	emit(i, append(sources, d)...)
	return d
}

// loop begins a loop, whose end the function that it returns writes: it goes n times round and moves the pointers on.
// Behind it come results, and the function's end.
func (g *generator) loop() (end func(moves map[reg.GPVirtual]int, results ...func())) {
	n := g.GP64()
	g.Load(g.Param("n"), n)
	again := g.label("again")
	g.Label(again)
	return func(moves map[reg.GPVirtual]int, results ...func()) {
		pointers := slices.SortedFunc(maps.Keys(moves), func(a, b reg.GPVirtual) int { return cmp.Compare(a.ID(), b.ID()) })
		for _, p := range pointers { // in the same order each time
			g.ADDQ(operand.I32(moves[p]), p)
		}
		g.DECQ(n)
		g.JNZ(operand.LabelRef(again))
		for _, result := range results {
			result()
		}
		g.end()
	}
}

// both are the halves of a register of 512 bits.
func (g *generator) both(v vector) [2]vector {
	return [2]vector{v.AsY().(vector), g.y(g.VEXTRACTI64X4, operand.U8(1), v)}
}

// joined are two halves in one register.
func (g *generator) joined(low, high vector) vector {
	return g.z(g.VINSERTI64X4, operand.U8(1), high.AsY(), low.AsZ())
}

// planePairs writes the body of a search along an axis, for a linear filter or of the nearest texels: see
// lanes.Axis.pairs and nearest. With a border it says whether some texel lies outside, of which it finds the nearest.
func (g *generator) planePairs(mode int, linear bool) {
	to, u, levels, a := g.pointer("to"), g.pointer("u"), g.pointer("levels"), g.pointer("a")
	const far = 1 << 30
	sizes := g.z(g.VMOVDQU32, at(a, planeSize))
	steps, starts := g.z(g.VMOVDQU32, at(a, planeStep)), g.z(g.VMOVDQU32, at(a, planeStart))
	low, high, half := g.eights(math.Float64bits(-far)), g.eights(math.Float64bits(far)), g.eights(math.Float64bits(0.5))
	one := g.z(g.VPBROADCASTD, g.single(1))
	by, outside := g.GP32(), g.K()
	g.Load(g.Param("shift"), by)
	shift := g.z(g.VPBROADCASTD, by)
	g.KXORW(outside, outside, outside)
	end := g.loop()
	level := g.z(g.VMOVDQU32, at(levels, 0))
	size := g.z(g.VPERMD, sizes, level)
	var floors [2]vector
	wide := [2]vector{}
	for i, texels := range g.both(size) {
		wide[i] = g.z(g.VCVTDQ2PD, texels)
		c := g.z(g.VMULPD, wide[i], g.z(g.VCVTPS2PD, at(u, 32*i)))
		c = g.z(g.VMAXPD, low, c) // gives its last operand, the bound, for a NaN
		c = g.z(g.VMINPD, high, c)
		if linear {
			c = g.z(g.VSUBPD, half, c)
		}
		floor := g.z(g.VRNDSCALEPD, down, c)
		if linear {
			g.VMOVUPS(g.y(g.VCVTPD2PS, g.z(g.VSUBPD, floor, c)), at(to, pairsWeights+32*i))
		}
		floors[i] = g.y(g.VCVTTPD2DQ, floor)
	}
	n := g.z(g.VPADDD, shift, g.joined(floors[0], floors[1]))
	p := &planeAxis{g, a, to, g.z(g.VPERMD, steps, level), g.z(g.VPERMD, starts, level), one}
	put := func(bytes int, n vector) { p.put(bytes, n) }
	period := size // what the first texel is within, and the second is 0 at; nil: it isn't wrapped
	switch mode {
	case repeat:
		n = p.modulo(n, size, wide)
	case mirroredRepeat:
		period = g.z(g.VPADDD, size, size)
		last := g.z(g.VPSUBD, one, period)
		n = p.modulo(n, period, [2]vector{g.z(g.VADDPD, wide[0], wide[0]), g.z(g.VADDPD, wide[1], wide[1])})
		put = func(bytes int, n vector) { p.put(bytes, g.z(g.VPMINSD, n, g.z(g.VPSUBD, n, last))) }
	default:
		period = nil
		last := g.z(g.VPSUBD, one, size)
		put = func(bytes int, n vector) {
			if mode == clampToBorder {
				beyond := g.K()
				g.VPCMPUD(operand.U8(5), size, n, beyond)
				g.KORW(beyond, outside, outside)
			}
			if mode != mirrorClampToEdge {
				p.put(bytes, g.z(g.VPMAXSD, g.zero512(), g.z(g.VPMINSD, last, n)))
				return
			}
			p.put(bytes, g.z(g.VPMINSD, last, g.z(g.VPXORD, n, g.z(g.VPSRAD, operand.U8(31), n))))
		}
	}
	put(0, n)
	if linear {
		next := g.z(g.VPADDD, one, n)
		if period != nil {
			inside := g.K()
			g.VPCMPD(operand.U8(4), period, next, inside)
			next = g.zeroed(next, inside)
		}
		put(pairsSecond, next)
	}
	end(map[reg.GPVirtual]int{to: pairsBytes, u: 64, levels: 64}, func() {
		if mode != clampToBorder {
			return
		}
		some := g.GP8()
		g.KORTESTW(outside, outside)
		g.SETNE(some)
		g.Store(some, g.ReturnIndex(0))
	})
}

// planeLayers writes the function that adds where layers begin to what was found along another axis: see
// sampling.layer.
func (g *generator) planeLayers() {
	g.begin("avx512Layers", "", "(to *PlanePairs, z, levels *uint32, a *PlaneAxis, n int)",
		"func(to, z, levels, a *byte, n int)")
	to, z, levels, a := g.pointer("to"), g.pointer("z"), g.pointer("levels"), g.pointer("a")
	steps, zero := g.z(g.VMOVDQU32, at(a, planeStep)), g.zero512()
	last := g.z(g.VPSUBD, g.z(g.VPBROADCASTD, g.single(1)), g.z(g.VPBROADCASTD, at(a, planeSize)))
	last = g.z(g.VCVTDQ2PS, last)
	end := g.loop()
	const toEven = operand.U8(8)
	layer := g.z(g.VMAXPS, zero, g.z(g.VRNDSCALEPS, toEven, at(z, 0)))
	layer = g.z(g.VCVTTPS2DQ, g.z(g.VMINPS, last, layer))
	start := g.z(g.VPMULLD, layer, g.z(g.VPERMD, steps, g.z(g.VMOVDQU32, at(levels, 0))))
	for _, bytes := range []int{0, pairsSecond} {
		g.VMOVDQU32(g.z(g.VPADDD, at(to, bytes), start), at(to, bytes))
	}
	end(map[reg.GPVirtual]int{to: pairsBytes, z: 64, levels: 64})
}

// planeAxis is an axis whose texels are searched.
type planeAxis struct {
	*generator
	of, to       reg.GPVirtual
	steps, start vector
	one          vector
}

// put stores where the texels at coordinates lie.
func (p *planeAxis) put(bytes int, n vector) {
	p.VMOVDQU32(p.z(p.VPADDD, p.start, p.z(p.VPMULLD, p.steps, n)), at(p.to, bytes))
}

// modulo is n modulo the sizes, which wide has as floats. The quotient of these may be off by one.
func (p *planeAxis) modulo(n, size vector, wide [2]vector) vector {
	result, beyond := p.z(p.VMOVDQA32, n), p.K()
	inside, divide := p.label("inside"), p.label("divide")
	p.VPCMPUD(operand.U8(5), size, n, beyond)
	p.KORTESTW(beyond, beyond)
	p.JEQ(operand.LabelRef(inside))
	p.CMPB(at(p.of, planePower), operand.U8(0))
	p.JEQ(operand.LabelRef(divide))
	p.VPANDD(n, p.z(p.VPSUBD, p.one, size), result)
	p.JMP(operand.LabelRef(inside))
	p.Label(divide)
	var halves [2]vector
	for i, half := range p.both(n) {
		number := p.z(p.VCVTDQ2PD, half)
		quotient := p.z(p.VRNDSCALEPD, down, p.z(p.VDIVPD, wide[i], number))
		halves[i] = p.y(p.VCVTTPD2DQ, p.z(p.VSUBPD, p.z(p.VMULPD, quotient, wide[i]), number))
	}
	r := p.joined(halves[0], halves[1])
	r = p.z(p.VPADDD, p.z(p.VPANDD, size, p.z(p.VPSRAD, operand.U8(31), r)), r)
	above := p.K()
	p.VMOVDQA32(r, result)
	p.VPCMPD(operand.U8(5), size, r, above)
	p.VPSUBD(size, r, above, result)
	p.Label(inside)
	return result
}

// zeroed is v in the lanes of a mask.
func (g *generator) zeroed(v vector, where reg.OpmaskVirtual) vector {
	d := g.ZMM()
	g.VMOVDQA32_Z(v, where, d)
	return d
}

// zero512 is zero. It is loaded: what a register had before would count as needed.
func (g *generator) zero512() vector { return g.z(g.VPBROADCASTD, g.single(0)) }

// single is a constant of 32 bits in memory.
func (g *generator) single(value uint32) operand.Mem { return g.words(value) }

// eights is a register with eight times 64 bits.
func (g *generator) eights(value uint64) vector { return g.z(g.VBROADCASTSD, g.quads(value)) }

// Offsets in lanes.PlaneLods.
const (
	lodsWidth     = 0
	lodsHeight    = 8
	lodsBias      = 16
	lodsLeast     = 20
	lodsMost      = 24
	lodsLast      = 28
	lodsMipLinear = 32
)

// planeLods writes the function that computes the logarithms of the longer of two derivatives, for 32 lanes n times:
// see sampling.work.planeLods. Quads whose lanes all have the same derivatives have one logarithm. It gives false if it
// can't: there are denormal numbers, infinite ones or NaN.
func (g *generator) planeLods() {
	g.begin("avx512Lods", "", "(to, dx, dy *uint32, p *PlaneLods, n int) uint8",
		"func(to, dx, dy, p *byte, n int) uint8")
	to, dx, dy, p := g.pointer("to"), g.pointer("dx"), g.pointer("dy"), g.pointer("p")
	n := g.GP64()
	g.Load(g.Param("n"), n)
	l := g.logarithm(p)
	g.eachQuad(n, dx, dy, []reg.GPVirtual{to}, func(d [4]vector) []vector {
		first, second := l.squares(d)
		return []vector{l.half(l.z(l.VMAXPD, second, first), first, second)}
	}, func(_ int, v vector, place func(reg.GPVirtual) operand.Mem) { g.VMOVUPS(v, place(to)) })
	good := g.GP8()
	g.TESTL(l.bad, l.bad)
	g.SETEQ(good)
	g.Store(good, g.ReturnIndex(0))
	g.end()
}

// eachQuad goes through the derivatives of 32 lanes n times: compute gives some results for the 32-bit floats of eight
// lanes, which are one of each quad if all quads have equal lanes, and put takes each result for the lanes at a place
// in memory.
func (g *generator) eachQuad(n, dx, dy reg.GPVirtual, moved []reg.GPVirtual, compute func(d [4]vector) []vector,
	put func(result int, v vector, place func(base reg.GPVirtual) operand.Mem)) {
	firsts := g.z(g.VMOVDQU32, g.listed("quads", func(i int) uint32 { return uint32(i%8) * 4 }))
	spread := [2]operand.Mem{g.listed("spread0", func(i int) uint32 { return uint32(i / 4) }),
		g.listed("spread1", func(i int) uint32 { return uint32(i/4) + 4 })}
	g.Label("again")
	sources := [4]operand.Mem{at(dx, 0), at(dx, spanStride), at(dy, 0), at(dy, spanStride)}
	unlike := g.zero512()
	var firstOf [4]vector
	for i, m := range sources {
		next := m
		next.Disp += 64
		a, b := g.z(g.VMOVUPS, m), g.z(g.VMOVUPS, next)
		for _, v := range []vector{a, b} {
			unlike = g.z(g.VPORD, unlike, g.z(g.VPXORD, v, g.z(g.VPSHUFD, operand.U8(0), v)))
		}
		first := g.z(g.VMOVDQA32, firsts)
		g.VPERMI2PS(b, a, first)
		firstOf[i] = first.AsY().(vector)
	}
	some := g.K()
	g.VPTESTMD(unlike, unlike, some)
	g.KORTESTW(some, some)
	g.JNE(operand.LabelRef("each"))
	for result, v := range compute(firstOf) {
		for half, m := range spread {
			put(result, g.z(g.VPERMPS, v.AsZ(), g.z(g.VMOVDQU32, m)),
				func(base reg.GPVirtual) operand.Mem { return at(base, 64*half) })
		}
	}
	g.JMP(operand.LabelRef("next"))
	g.Label("each")
	k := g.GP64()
	g.XORQ(k, k)
	g.Label("eight")
	for i, m := range sources {
		m.Index, m.Scale = k, 1
		firstOf[i] = g.y(g.VMOVUPS, m)
	}
	for result, v := range compute(firstOf) {
		put(result, v, func(base reg.GPVirtual) operand.Mem { return operand.Mem{Base: base, Index: k, Scale: 1} })
	}
	g.ADDQ(operand.U8(32), k)
	g.CMPQ(k, operand.I32(128))
	g.JNE(operand.LabelRef("eight"))
	g.Label("next")
	for _, p := range append([]reg.GPVirtual{dx, dy}, moved...) {
		g.ADDQ(operand.I32(128), p)
	}
	g.DECQ(n)
	g.JNZ(operand.LabelRef("again"))
}

// planeFootprints writes the function that computes the footprints of lanes, for 32 lanes n times: see
// sampling.footprint and track. It gives the most samples of a lane, and 0 if a logarithm can't be computed.
func (g *generator) planeFootprints() {
	g.begin("avx512Footprints", "",
		"(lods, samples, start, step, coordinates, dx, dy *uint32, p *PlaneLods, most float64, n int) uint32",
		"func(lods, samples, start, step, coordinates, dx, dy, p *byte, most float64, n int) uint32")
	lods, samples, start, step := g.pointer("lods"), g.pointer("samples"), g.pointer("start"), g.pointer("step")
	coordinates, dx, dy, p := g.pointer("coordinates"), g.pointer("dx"), g.pointer("dy"), g.pointer("p")
	n, limit := g.GP64(), g.XMM()
	g.Load(g.Param("n"), n)
	g.Load(g.Param("most"), limit)
	most := g.z(g.VBROADCASTSD, limit)
	l := g.logarithm(p)
	found := g.z(g.VBROADCASTSD, g.quads(0))
	places := []reg.GPVirtual{lods, samples, start, step, coordinates}
	g.eachQuad(n, dx, dy, places, func(d [4]vector) []vector {
		first, second := l.squares(d)
		zero, one := l.z(l.VBROADCASTSD, l.quads(0)), l.z(l.VBROADCASTSD, l.quads(math.Float64bits(1)))
		longest, shortest := l.z(l.VMAXPD, second, first), l.z(l.VMINPD, second, first)
		along, some, none := l.K(), l.K(), l.K()
		l.VCMPPD(greater, first, second, along)
		l.VCMPPD(greater, zero, shortest, some)
		ratio := l.z(l.VMOVAPD, most)
		l.VMINPD(l.z(l.VSQRTPD, l.z(l.VDIVPD, shortest, longest)), most, some, ratio)
		lod := l.half(l.z(l.VDIVPD, l.z(l.VMULPD, ratio, ratio), longest), first, second)
		const up = 0x0a
		many := l.z(l.VRNDSCALEPD, operand.U8(up), ratio)
		l.VPTESTNMQ(longest, longest, none)
		l.VMOVAPD(one, none, many)
		l.VMAXPD(many, found, found)
		count := l.y(l.VCVTPD2PS, many)
		next := l.y(l.VADDPS, l.y(l.VMOVUPS, l.words(math.Float32bits(1))), count)
		results := []vector{lod, count}
		for axis := range 2 {
			longer := l.YMM()
			l.VBLENDMPS(d[2+axis], d[axis], along, longer)
			results = append(results, l.y(l.VMULPS, l.words(math.Float32bits(0.5)), longer), l.y(l.VDIVPS, next, longer))
		}
		return results
	}, func(result int, v vector, place func(reg.GPVirtual) operand.Mem) {
		axis := result/2 - 1
		of := func(base reg.GPVirtual) operand.Mem {
			m := place(base)
			m.Disp += spanStride * max(axis, 0)
			return m
		}
		switch {
		case axis < 0:
			g.VMOVUPS(v, place(places[result]))
		case result%2 == 0:
			coordinate := g.like(v)
			g.VMOVUPS(of(coordinates), coordinate)
			g.VSUBPS(v, coordinate, coordinate)
			g.VMOVUPS(coordinate, of(start))
		default:
			g.VMOVUPS(v, of(step))
		}
	})
	result := g.GP32()
	half := g.y(g.VEXTRACTF64X4, operand.U8(1), found)
	half = g.y(g.VMAXPD, half, found.AsY())
	quarter := g.x(g.VMAXPD, g.upper(half), half.AsX())
	g.VCVTTSD2SI(g.x(g.VMAXPD, g.x(g.VPERMILPD, operand.U8(1), quarter), quarter), result)
	zero := g.GP32()
	g.XORL(zero, zero)
	g.TESTL(l.bad, l.bad)
	g.CMOVLNE(zero, result)
	g.Store(result, g.ReturnIndex(0))
	g.end()
}

// like is a new register of the length of another one.
func (g *generator) like(v vector) vector {
	if v.Size() == 64 {
		return g.ZMM()
	}
	return g.YMM()
}

// logarithm computes half the logarithms of squares.
type logarithm struct {
	*generator
	bad           reg.GPVirtual // not 0: a number has no logarithm here
	width, height vector
}

// logarithm makes one, with a plane of this size.
func (g *generator) logarithm(p reg.GPVirtual) *logarithm {
	l := &logarithm{generator: g, bad: g.GP32(), width: g.z(g.VBROADCASTSD, at(p, lodsWidth)),
		height: g.z(g.VBROADCASTSD, at(p, lodsHeight))}
	g.XORL(l.bad, l.bad)
	return l
}

// squares are those of the lengths of two derivatives of eight lanes, in texels.
func (l *logarithm) squares(d [4]vector) (first, second vector) {
	square := func(x, y vector) vector {
		x, y = l.z(l.VMULPD, l.width, l.z(l.VCVTPS2PD, x)), l.z(l.VMULPD, l.height, l.z(l.VCVTPS2PD, y))
		return l.z(l.VADDPD, l.z(l.VMULPD, y, y), l.z(l.VMULPD, x, x))
	}
	return square(d[0], d[1]), square(d[2], d[3])
}

// half gives eight floats of 32 bits; the operations are those of sampling.log2, in the same order. Where one of the
// squares is no number there is no logarithm.
func (l *logarithm) half(longest, first, second vector) vector {
	c := func(v float64) operand.Mem { return l.quads(math.Float64bits(v)) }
	constant := func(v float64) vector { return l.z(l.VBROADCASTSD, c(v)) }
	zero, normal, none, bad := l.K(), l.K(), l.K(), l.GP32()
	l.VCMPPD(operand.U8(3), first, second, none) // of which one is no number
	l.VPTESTNMQ(longest, longest, zero)
	// As log2 finds what is no normal number.
	shifted := l.z(l.VPSUBQ, l.z(l.VPBROADCASTQ, l.quads(1<<52)), longest)
	l.VPCMPUQ(operand.U8(5), l.z(l.VPBROADCASTQ, l.quads(0x7fe<<52)), shifted, normal)
	l.KANDNW(normal, zero, normal)
	l.KORW(none, normal, normal)
	l.KMOVW(normal, bad)
	l.ORL(bad, l.bad)
	exponent := l.z(l.VPSUBQ, l.z(l.VPBROADCASTQ, l.quads(0x3ff)), l.z(l.VPSRLQ, operand.U8(52), longest))
	exponent = l.z(l.VCVTQQ2PD, exponent)
	one := constant(1)
	m := l.z(l.VPORQ, one, l.z(l.VPANDQ, l.z(l.VPBROADCASTQ, l.quads(1<<52-1)), longest))
	above := l.K()
	l.VCMPPD(greater, constant(math.Sqrt2), m, above)
	l.VMULPD(constant(0.5), m, above, m)
	l.VADDPD(one, exponent, above, exponent)
	t := l.z(l.VDIVPD, l.z(l.VADDPD, one, m), l.z(l.VSUBPD, one, m))
	x := l.z(l.VMULPD, t, t)
	xx := l.z(l.VMULPD, x, x)
	mul := func(a vector, by float64) vector { return l.z(l.VMULPD, constant(by), a) }
	add := func(a, b vector) vector { return l.z(l.VADDPD, b, a) }
	low := add(add(one, mul(x, 1.0/3)), l.z(l.VMULPD, add(constant(1.0/5), mul(x, 1.0/7)), xx))
	high := add(add(constant(1.0/9), mul(x, 1.0/11)), l.z(l.VMULPD, add(constant(1.0/13), mul(x, 1.0/15)), xx))
	sum := add(low, l.z(l.VMULPD, high, l.z(l.VMULPD, xx, xx)))
	result := add(exponent, l.z(l.VMULPD, sum, mul(t, 2*math.Log2E)))
	l.VMOVAPD(constant(math.Inf(-1)), zero, result)
	return l.y(l.VCVTPD2PS, mul(result, 0.5))
}

// listed is a constant of sixteen words in memory.
func (g *generator) listed(name string, word func(i int) uint32) operand.Mem {
	return g.constant(name, func(add func(operand.Constant, int)) {
		for i := range 16 {
			add(operand.U32(word(i)), 4)
		}
	})
}

// planeLevels writes the function that finds the levels which levels of detail ask for: see sampling.work.levels. It
// says whether some lane takes a part of the second one.
func (g *generator) planeLevels() {
	g.begin("avx512Levels", "", "(high, low, between, lods *uint32, p *PlaneLods, n int) uint8",
		"func(high, low, between, lods, p *byte, n int) uint8")
	high, low, between, lods, p := g.pointer("high"), g.pointer("low"), g.pointer("between"), g.pointer("lods"),
		g.pointer("p")
	n, any, some := g.GP64(), g.GP32(), g.GP32()
	g.Load(g.Param("n"), n)
	bias, least := g.z(g.VBROADCASTSS, at(p, lodsBias)), g.z(g.VBROADCASTSS, at(p, lodsLeast))
	most, last := g.z(g.VBROADCASTSS, at(p, lodsMost)), g.z(g.VBROADCASTSS, at(p, lodsLast))
	one, half := g.z(g.VPBROADCASTD, g.single(1)), g.z(g.VBROADCASTSS, g.single(math.Float32bits(0.5)))
	lastLevel, zero := g.z(g.VCVTTPS2DQ, last), g.zero512()
	g.XORL(any, any)
	g.Label("again")
	lod := g.z(g.VADDPS, bias, g.z(g.VMOVUPS, at(lods, 0)))
	number, beyond := g.K(), g.K()
	g.VCMPPS(operand.U8(7), lod, lod, number) // is none
	lod = g.z(g.VMINPS, most, g.z(g.VMAXPS, least, lod))
	clamped := g.ZMM()
	g.VMOVAPS_Z(lod, number, clamped)
	d := g.z(g.VMINPS, last, g.z(g.VMAXPS, zero, clamped))
	floor := g.z(g.VCVTTPS2DQ, d)
	part := g.z(g.VSUBPS, g.z(g.VCVTDQ2PS, floor), d)
	g.CMPB(at(p, lodsMipLinear), operand.U8(0))
	g.JEQ(operand.LabelRef("nearest"))
	g.VMOVDQU32(floor, at(high, 0))
	g.VMOVDQU32(g.z(g.VPMINSD, lastLevel, g.z(g.VPADDD, one, floor)), at(low, 0))
	g.VMOVUPS(part, at(between, 0))
	g.VCMPPS(operand.U8(4), zero, part, beyond)
	g.KMOVW(beyond, some)
	g.ORL(some, any)
	g.JMP(operand.LabelRef("next"))
	g.Label("nearest")
	g.VCMPPS(greater, half, part, beyond)
	g.VPADDD(one, floor, beyond, floor)
	g.VMOVDQU32(floor, at(high, 0))
	g.Label("next")
	for _, p := range []reg.GPVirtual{high, low, between, lods} {
		g.ADDQ(operand.I32(64), p)
	}
	g.DECQ(n)
	g.JNZ(operand.LabelRef("again"))
	two := g.GP8()
	g.TESTL(any, any)
	g.SETNE(two)
	g.Store(two, g.ReturnIndex(0))
	g.end()
}

// spanMix writes the function that brings two results together in the lanes whose weight is not 0.
func (g *generator) spanMix() {
	g.begin("avx512AverageSome", "", "(dst, other, weights *uint32, n int)", "func(dst, other, weights *byte, n int)")
	dst, other, weights := g.pointer("dst"), g.pointer("other"), g.pointer("weights")
	zero := g.zero512()
	g.wide = true
	end := g.loop()
	w, some := g.z(g.VMOVUPS, at(weights, 0)), g.K()
	g.VCMPPS(notEqual, zero, w, some)
	for c := range 4 {
		a := g.z(g.VMOVUPS, at(dst, spanStride*c))
		r := g.lerp(a, g.z(g.VMOVUPS, at(other, spanStride*c)), w)
		g.VMOVUPS(r, some, at(dst, spanStride*c))
	}
	end(map[reg.GPVirtual]int{dst: 64, other: 64, weights: 64})
	g.wide = false
}

// spanQuad writes the function that filters between four texels, which all lie inside. Where the second texel along x
// follows the first one in all lanes of a vector, both are read at once.
func (g *generator) spanQuad(d *decoder) {
	g.begin("avx512Quad", "way"+d.way, "(f *Format, dst *uint32, data []byte, x, y *PlanePairs, n int)",
		"func(f, dst *byte, data []byte, x, y *byte, n int)")
	format, dst, xs, ys := g.pointer("f"), g.pointer("dst"), g.pointer("x"), g.pointer("y")
	data := g.GP64()
	g.Load(g.Param("data").Base(), data)
	sums := g.line()
	end := g.loop()
	var raw [2][2][]vector
	for row := range raw {
		for column := range raw[row] {
			for range (d.bytes + 3) / 4 {
				raw[row][column] = append(raw[row][column], g.ZMM())
			}
		}
	}
	offsets := func(row, column int) operand.Mem {
		g.VMOVDQU32(g.z(g.VPADDD, at(xs, pairsSecond*column), g.z(g.VMOVDQU32, at(ys, pairsSecond*row))), sums)
		return sums
	}
	neighbours := d.bytes < 16
	if neighbours {
		apart := g.K()
		g.VPCMPD(notEqual, at(xs, pairsSecond), g.z(g.VPADDD, g.words(uint32(d.bytes)), g.z(g.VMOVDQU32, at(xs, 0))), apart)
		g.KORTESTW(apart, apart)
		g.JNE(operand.LabelRef("apart"))
		for row := range raw {
			g.loadNeighbours(&raw[row], d.bytes, data, offsets(row, 0))
		}
		g.JMP(operand.LabelRef("read"))
		g.Label("apart")
	}
	for row := range raw {
		for column := range raw[row] {
			for i, v := range g.loadSpan(d.bytes, data, offsets(row, column)) {
				g.VMOVDQA32(v, raw[row][column][i])
			}
		}
	}
	if neighbours {
		g.Label("read")
	}
	var rows [2][4]vector
	for row := range rows {
		var t [2][4]vector
		for column := range t {
			t[column] = d.decode(g, raw[row][column], format)
		}
		weights := g.z(g.VMOVUPS, at(xs, pairsWeights))
		for c := range t[0] {
			if t[0][c] != nil {
				rows[row][c] = g.lerp(t[0][c], t[1][c], weights)
			}
		}
	}
	weights := g.z(g.VMOVUPS, at(ys, pairsWeights))
	for c := range rows[0] {
		var v vector
		if rows[0][c] == nil {
			v = g.missingSpan(d, c)
		} else {
			v = g.lerp(rows[0][c], rows[1][c], weights)
		}
		g.VMOVUPS(v, at(dst, spanStride*c))
	}
	end(map[reg.GPVirtual]int{dst: 64, xs: pairsBytes, ys: pairsBytes})
}

// loadNeighbours reads two texels, one behind the other, at sixteen offsets: the words of the first and of the second
// ones.
func (g *generator) loadNeighbours(to *[2][]vector, bytes int, data reg.GPVirtual, offsets operand.Mem) {
	both := g.loadSpan(2*bytes, data, offsets)
	if bytes < 4 {
		bits := 8 * bytes
		g.VPANDD(g.words(1<<bits-1), both[0], to[0][0])
		g.VPSRLD(operand.U8(bits), both[0], to[1][0])
		return
	}
	for i, v := range both {
		g.VMOVDQA32(v, to[4*i/bytes][i%(bytes/4)])
	}
}

// spanRead writes the function that reads the texel at the offsets of one side of PlanePairs, which lie inside.
func (g *generator) spanRead(d *decoder) {
	g.begin("avx512Read", "way"+d.way, "(f *Format, dst *uint32, data []byte, x, y *[PlaneWidth]int32, n int)",
		"func(f, dst *byte, data []byte, x, y *byte, n int)")
	format, dst, xs, ys := g.pointer("f"), g.pointer("dst"), g.pointer("x"), g.pointer("y")
	data := g.GP64()
	g.Load(g.Param("data").Base(), data)
	sums := g.line()
	end := g.loop()
	g.VMOVDQU32(g.z(g.VPADDD, at(xs, 0), g.z(g.VMOVDQU32, at(ys, 0))), sums)
	for c, v := range d.decode(g, g.loadSpan(d.bytes, data, sums), format) {
		if v == nil {
			v = g.missingSpan(d, c)
		}
		g.VMOVUPS(v, at(dst, spanStride*c))
	}
	end(map[reg.GPVirtual]int{dst: 64, xs: pairsBytes, ys: pairsBytes})
}

// missingSpan is missing for sixteen lanes.
func (g *generator) missingSpan(d *decoder, c int) vector {
	if c < 3 {
		return g.zero512()
	}
	return g.z(g.VPBROADCASTD, g.words(d.one))
}

// loadSpan reads texels at sixteen offsets of 32 bits: the words of each, in lanes.
func (g *generator) loadSpan(bytes int, data reg.GPVirtual, offsets operand.Mem) []vector {
	var halves [2][]vector
	for half := range halves {
		halves[half] = g.loadAt(bytes, func(lane int) operand.Mem {
			o, m := g.GP64(), offsets
			m.Disp += 4 * (8*half + lane)
			g.MOVLQSX(m, o)
			return operand.Mem{Base: data, Index: o, Scale: 1}
		})
	}
	var all []vector
	for i := range halves[0] {
		all = append(all, g.joined(halves[0][i], halves[1][i]))
	}
	return all
}
