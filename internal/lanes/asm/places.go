package main

import (
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

// broadcast is a parameter in all lanes.
func (g *generator) broadcast(parameter string) vector {
	x := g.XMM()
	g.Load(g.Param(parameter), x)
	return g.z(g.VBROADCASTSS, x)
}
