package main

import "github.com/mmcloughlin/avo/operand"

// Predicates of VCMPPS and VCMPPD; notEqual is also that of a NaN.
const (
	equal     = operand.U8(0x00)
	less      = operand.U8(0x11)
	unordered = operand.U8(0x03)
	notEqual  = operand.U8(0x04)
	greater   = operand.U8(0x1e)
)

// lerp is a + (b-a)*w, each step rounded.
func (g *generator) lerp(a, b vector, w operand.Op) vector {
	return g.v(g.VADDPS, g.v(g.VMULPS, w, g.v(g.VSUBPS, a, b)), a)
}

// mixes writes the functions that bring two results together: of averages in all lanes, and of averages, least and
// greatest numbers in the lanes whose weight is not 0.
func (g *generator) mixes() {
	for _, m := range []struct {
		step    string
		some    bool
		combine func(a, b, w vector) vector
	}{
		{"avx2Average", false, func(a, b, w vector) vector { return g.lerp(a, b, w) }},
		{"avx2AverageSome", true, func(a, b, w vector) vector { return g.lerp(a, b, w) }},
		// The instructions give a if either is a NaN or both are zeros.
		{"avx2Least", true, func(a, b, _ vector) vector { return g.y(g.VMINPS, a, b) }},
		{"avx2Greatest", true, func(a, b, _ vector) vector { return g.y(g.VMAXPS, a, b) }},
	} {
		g.begin(m.step, "", "(dst, other *Texels, weights *Lanes)", "func(dst, other, weights *byte)")
		dst, other := g.pointer("dst"), g.pointer("other")
		w := g.y(g.VMOVUPS, at(g.pointer("weights"), 0))
		var some vector
		if m.some {
			some = g.y(g.VCMPPS, notEqual, g.zero(), w)
		}
		for c := range 4 {
			a := g.y(g.VMOVUPS, at(dst, 32*c))
			r := m.combine(a, g.y(g.VMOVUPS, at(other, 32*c)), w)
			if m.some {
				r = g.y(g.VBLENDVPS, some, r, a)
			}
			g.VMOVUPS(r, at(dst, 32*c))
		}
		g.end()
	}
}
