package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// spanPlaces writes the function that moves coordinates along two axes: to is start and so many steps.
func (g *generator) spanPlaces() {
	g.begin("avx512Places", "", "(to, start, step *uint32, many float32, n int)",
		"func(to, start, step *byte, many float32, n int)")
	to, start, step := g.pointer("to"), g.pointer("start"), g.pointer("step")
	many := g.broadcast("many")
	end := g.loop()
	for axis := range 2 {
		way := g.z(g.VMULPS, at(step, spanStride*axis), many)
		g.VMOVUPS(g.z(g.VADDPS, at(start, spanStride*axis), way), at(to, spanStride*axis))
	}
	end(map[reg.GPVirtual]int{to: 64, start: 64, step: 64})
}

// spanSums writes the function that adds four components to sums in the lanes that have at least so many samples.
func (g *generator) spanSums() {
	g.begin("avx512Sums", "", "(sums, other, samples *uint32, many float32, n int)",
		"func(sums, other, samples *byte, many float32, n int)")
	sums, other, samples := g.pointer("sums"), g.pointer("other"), g.pointer("samples")
	many := g.broadcast("many")
	end := g.loop()
	some := g.K()
	g.VCMPPS(operand.U8(2), at(samples, 0), many, some) // at most
	for c := range 4 {
		sum := g.z(g.VMOVUPS, at(sums, spanStride*c))
		g.VADDPS(at(other, spanStride*c), sum, some, sum)
		g.VMOVUPS(sum, at(sums, spanStride*c))
	}
	end(map[reg.GPVirtual]int{sums: 64, other: 64, samples: 64})
}

// spanMeans writes the function that divides sums of four components by how many samples a lane has.
func (g *generator) spanMeans() {
	g.begin("avx512Means", "", "(dst, sums, samples *uint32, n int)", "func(dst, sums, samples *byte, n int)")
	dst, sums, samples := g.pointer("dst"), g.pointer("sums"), g.pointer("samples")
	end := g.loop()
	many := g.z(g.VMOVUPS, at(samples, 0))
	for c := range 4 {
		g.VMOVUPS(g.z(g.VDIVPS, many, g.z(g.VMOVUPS, at(sums, spanStride*c))), at(dst, spanStride*c))
	}
	end(map[reg.GPVirtual]int{dst: 64, sums: 64, samples: 64})
}

// spanCompare writes the function that compares references with texels, of which it gives 1 and 0. op is a VkCompareOp,
// whose bits say for what a comparison is true: less, equal, greater. With clamp the references are from 0 to 1.
func (g *generator) spanCompare() {
	g.begin("avx512Compare", "", "(dst, references, texels *uint32, op vk.CompareOp, clamp bool, n int)",
		"func(dst, references, texels *byte, op int32, clamp bool, n int)")
	dst, references, texels := g.pointer("dst"), g.pointer("references"), g.pointer("texels")
	op, clamp := g.GP32(), g.GP8()
	g.Load(g.Param("op"), op)
	g.Load(g.Param("clamp"), clamp)
	zero, one := g.zero512(), g.z(g.VPBROADCASTD, g.single(math.Float32bits(1)))
	asked := map[operand.U8]reg.VecVirtual{}
	predicates := []operand.U8{less, equal, greater, unordered}
	for i, predicate := range predicates {
		bit := uint32(1) << i
		if predicate == unordered { // of NOT_EQUAL and ALWAYS
			bit = 1 | 4
		}
		bits, set := g.GP32(), g.GP32()
		g.MOVL(op, bits)
		g.ANDL(operand.U32(bit), bits)
		g.XORL(set, set)
		g.CMPL(bits, operand.U32(bit))
		g.SETEQ(set.As8())
		g.NEGL(set)
		asked[predicate] = g.z(g.VPANDD, one, g.z(g.VPBROADCASTD, set))
	}
	end := g.loop()
	reference := g.z(g.VMOVUPS, at(references, 0))
	g.TESTB(clamp, clamp)
	g.JEQ(operand.LabelRef("compare"))
	g.VMAXPS(reference, zero, reference) // gives the reference for a NaN
	g.VMINPS(reference, one, reference)
	g.Label("compare")
	texel, result := g.z(g.VMOVUPS, at(texels, 0)), g.z(g.VMOVDQA32, zero)
	for _, predicate := range predicates {
		so := g.K()
		g.VCMPPS(predicate, texel, reference, so)
		g.VMOVDQA32(asked[predicate], so, result)
	}
	g.VMOVDQU32(result, at(dst, 0))
	end(map[reg.GPVirtual]int{dst: 64, references: 64, texels: 64})
}

// spanBilinear writes the function that filters a component of four texels, in the order of lanes.PlanePairs.
func (g *generator) spanBilinear() {
	g.begin("avx512Bilinear", "", "(dst, texels *uint32, x, y *PlanePairs, n int)",
		"func(dst, texels, x, y *byte, n int)")
	dst, texels, xs, ys := g.pointer("dst"), g.pointer("texels"), g.pointer("x"), g.pointer("y")
	g.wide = true
	end := g.loop()
	var rows [2]vector
	for row := range rows {
		first, second := at(texels, spanStride*2*row), at(texels, spanStride*(2*row+1))
		rows[row] = g.lerp(g.z(g.VMOVUPS, first), g.z(g.VMOVUPS, second), at(xs, pairsWeights))
	}
	g.VMOVUPS(g.lerp(rows[0], rows[1], at(ys, pairsWeights)), at(dst, 0))
	end(map[reg.GPVirtual]int{dst: 64, texels: 64, xs: pairsBytes, ys: pairsBytes})
	g.wide = false
}

// broadcast is a parameter in all lanes.
func (g *generator) broadcast(parameter string) vector {
	x := g.XMM()
	g.Load(g.Param(parameter), x)
	return g.z(g.VBROADCASTSS, x)
}
