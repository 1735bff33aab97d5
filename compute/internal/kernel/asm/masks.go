package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// helper is a function that is no kernel of an op: a field of kernel.Set.
type helper struct {
	field, signature string
}

// masks writes what the executor does with masks. Registers are passed as two words each, whose names are those by
// which go vet knows the members.
func (g *generator) masks() {
	g.split()
	g.orInto()
	g.take()
	g.active()
	g.narrow()
}

// helper begins a function. assembly is its signature with registers as words.
func (g *generator) helper(field, signature, assembly string) {
	g.Function(function(field))
	g.labels = 0
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr(assembly)
	g.helpers = append(g.helpers, helper{field, signature})
}

// parameter loads the address of a chunk of a register that is a parameter, and its step.
func (g *generator) parameter(name string, first reg.Register) stream {
	s := stream{base: g.GP64(), step: g.GP64()}
	g.Load(g.Param(name+"_Base"), s.base)
	g.Load(g.Param(name+"_Step"), s.step)
	if first != nil {
		offset := g.GP64()
		g.MOVQ(first, offset)
		g.IMULQ(s.step, offset)
		g.ADDQ(offset, s.base)
	}
	return s
}

func registers(names ...string) string {
	list := ""
	for _, name := range names {
		list += fmt.Sprintf("%s_Base, %[1]s_Step uintptr, ", name)
	}
	return list
}

// chunks writes a loop.
func (g *generator) chunks(count reg.Register, streams []stream, body func()) {
	loop, done := g.label("loop"), g.label("done")
	g.TESTQ(count, count)
	g.JZ(operand.LabelRef(done))
	g.Label(loop)
	body()
	for _, s := range streams {
		g.ADDQ(s.step, s.base)
	}
	g.DECQ(count)
	g.JNZ(operand.LabelRef(loop))
	g.Label(done)
}

func (s stream) chunk() operand.Mem { return operand.Mem{Base: s.base} }

func (g *generator) split() {
	g.helper("Split", "func(whenTrue, whenFalse, exec, condition Register, first, n int)",
		"func("+registers("whenTrue", "whenFalse", "exec", "condition")+"first, n int)")
	first, count := g.Load(g.Param("first"), g.GP64()), g.Load(g.Param("n"), g.GP64())
	whenTrue, whenFalse := g.parameter("whenTrue", first), g.parameter("whenFalse", first)
	exec, condition := g.parameter("exec", first), g.parameter("condition", first)
	g.chunks(count, []stream{whenTrue, whenFalse, exec, condition}, func() {
		e, c := g.y(g.VMOVDQU, exec.chunk()), g.y(g.VMOVDQU, condition.chunk())
		g.VMOVDQU(g.y(g.VPOR, whenTrue.chunk(), g.y(g.VPAND, e, c)), whenTrue.chunk())
		g.VMOVDQU(g.y(g.VPOR, whenFalse.chunk(), g.y(g.VPANDN, e, c)), whenFalse.chunk())
	})
	g.VZEROUPPER()
	g.RET()
}

func (g *generator) orInto() {
	g.helper("OrInto", "func(dst, src Register, first, n int)", "func("+registers("dst", "src")+"first, n int)")
	first, count := g.Load(g.Param("first"), g.GP64()), g.Load(g.Param("n"), g.GP64())
	dst, src := g.parameter("dst", first), g.parameter("src", first)
	g.chunks(count, []stream{dst, src}, func() {
		g.VMOVDQU(g.y(g.VPOR, dst.chunk(), g.y(g.VMOVDQU, src.chunk())), dst.chunk())
	})
	g.VZEROUPPER()
	g.RET()
}

func (g *generator) take() {
	g.helper("Take", "func(dst, src Register, n int) (first, last, set int)",
		"func("+registers("dst", "src")+"n int) (first, last, set int)")
	dst, src := g.parameter("dst", nil), g.parameter("src", nil)
	zero := g.zero()
	g.survey([]stream{dst, src}, func() vector {
		lanes := g.y(g.VMOVDQU, src.chunk())
		g.VMOVDQU(lanes, dst.chunk())
		g.VMOVDQU(zero, src.chunk())
		return lanes
	})
}

func (g *generator) active() {
	g.helper("Active", "func(mask Register, n int) (first, last, set int)",
		"func("+registers("mask")+"n int) (first, last, set int)")
	mask := g.parameter("mask", nil)
	g.survey([]stream{mask}, func() vector { return g.y(g.VMOVDQU, mask.chunk()) })
}

// narrow looks first whether there is anything to do: in most rounds of a loop no lane leaves it. Where lanes part by
// their number, as in a reduction, the last chunk shows it at once.
func (g *generator) narrow() {
	g.helper("Narrow", "func(dst, src, rest, condition Register, invert bool, n int) (first, last, set int, others bool)",
		"func("+registers("dst", "src", "rest", "condition")+"invert bool, n int) (first, last, set int, others bool)")
	src, condition := g.parameter("src", nil), g.parameter("condition", nil)
	word := g.GP32()
	g.MOVBLZX(g.Load(g.Param("invert"), g.GP8()), word)
	g.NEGL(word)
	invert := g.y(g.VPBROADCASTD, g.x(g.VMOVD, word))
	keep := func() vector { return g.y(g.VPXOR, condition.chunk(), invert) }
	some, others := g.label("some"), g.GP64()
	g.XORL(others.As32(), others.As32())
	count := g.Load(g.Param("n"), g.GP64())
	last := func(s stream) operand.Mem {
		at := g.GP64()
		g.LEAQ(operand.Mem{Base: count, Disp: -1}, at)
		g.IMULQ(s.step, at)
		return operand.Mem{Base: s.base, Index: at, Scale: 1}
	}
	scan := g.label("scan")
	g.TESTQ(count, count)
	g.JZ(operand.LabelRef(scan))
	leaving := g.y(g.VPANDN, last(src), g.y(g.VPXOR, last(condition), invert))
	g.VPTEST(leaving, leaving)
	g.JNE(operand.LabelRef(some))
	g.Label(scan)
	leaving = g.zero()
	// Two chunks at once; if their number is odd the last one has been looked at.
	g.SHRQ(operand.U8(1), count)
	var twice []stream
	for _, s := range []stream{src, condition} {
		step := g.GP64()
		g.LEAQ(operand.Mem{Base: s.step, Index: s.step, Scale: 1}, step)
		twice = append(twice, stream{s.base, step})
	}
	g.chunks(count, twice, func() {
		second := operand.Mem{Base: src.base, Index: src.step, Scale: 1}
		keepSecond := g.y(g.VPXOR, operand.Mem{Base: condition.base, Index: condition.step, Scale: 1}, invert)
		both := g.y(g.VPOR, g.y(g.VPANDN, src.chunk(), keep()), g.y(g.VPANDN, second, keepSecond))
		g.VPOR(both, leaving, leaving)
	})
	g.VPTEST(leaving, leaving)
	g.JNE(operand.LabelRef(some))
	for i := range 3 {
		g.Store(others, g.ReturnIndex(i))
	}
	g.Store(others.As8(), g.ReturnIndex(3))
	g.VZEROUPPER()
	g.RET()

	g.Label(some)
	g.INCL(others.As32())
	g.Store(others.As8(), g.ReturnIndex(3))
	src, condition = g.parameter("src", nil), g.parameter("condition", nil)
	dst, rest := g.parameter("dst", nil), g.parameter("rest", nil)
	g.survey([]stream{dst, src, rest, condition}, func() vector {
		m, c := g.y(g.VMOVDQU, src.chunk()), keep()
		g.VMOVDQU(g.y(g.VPOR, rest.chunk(), g.y(g.VPANDN, m, c)), rest.chunk())
		lanes := g.y(g.VPAND, m, c)
		g.VMOVDQU(lanes, dst.chunk())
		return lanes
	})
}

// survey writes the loop that finds the first and the last chunk with a set lane and counts the set lanes, and the end
// of the function. It has no branches, which would depend on the lanes.
func (g *generator) survey(streams []stream, chunk func() vector) {
	count := g.Load(g.Param("n"), g.GP64())
	first, left, set, bits := g.GP64(), g.GP64(), g.GP64(), g.GP64()
	for _, r := range []reg.GPVirtual{first, set} {
		g.XORL(r.As32(), r.As32())
	}
	g.chunks(count, streams, func() {
		g.VMOVMSKPS(chunk(), bits.As32())
		g.TESTL(bits.As32(), bits.As32())
		g.CMOVQNE(count, left) // chunks from the last one with lanes on
		g.POPCNTL(bits.As32(), bits.As32())
		g.ADDQ(bits, set)
		g.CMPQ(set, operand.U8(1)) // while there is none, first goes on
		g.ADCQ(operand.U8(0), first)
	})
	last := g.Load(g.Param("n"), g.GP64())
	g.INCQ(last)
	g.SUBQ(left, last)
	g.TESTQ(set, set)
	g.CMOVQEQ(set, first)
	g.CMOVQEQ(set, last)
	g.Store(first, g.ReturnIndex(0))
	g.Store(last, g.ReturnIndex(1))
	g.Store(set, g.ReturnIndex(2))
	g.VZEROUPPER()
	g.RET()
}
