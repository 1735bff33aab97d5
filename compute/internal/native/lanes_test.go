package native

import (
	"fmt"
	"testing"
)

// TestEncodingOfLanes compares the encoding of instructions on single lanes and words with that of GNU as.
func TestEncodingOfLanes(t *testing.T) {
	s := &assembler{}
	var text []string
	add := func(format string, a ...any) { text = append(text, fmt.Sprintf(format, a...)) }
	for _, v := range []vector{0, 5, 8, 15} {
		for _, g := range []general{rax, rdi, r10} {
			s.gather(vgatherqps, 14, at(g, 4*int32(v)), v, 13)
			add("vgatherqps xmm14, [%s+ymm%d*1+%d], xmm13", generals[g], v, 4*v)
			s.gather(vgatherqpd, 14, at(g, 4*int32(v)), v, 13)
			add("vgatherqpd ymm14, [%s+ymm%d*1+%d], ymm13", generals[g], v, 4*v)
			s.low64(g, v)
			add("vmovq %s, xmm%d", generals[g], v)
			s.vex(vmovqInto, uint8(v), 0, reg(vector(g)), 0)
			add("vmovq xmm%d, %s", v, generals[g])
			s.vex(vpinsrq, uint8(v), uint8(v), reg(vector(g)), 1)
			s.bytes(1)
			add("vpinsrq xmm%d, xmm%d, %s, 1", v, v, generals[g])
		}
	}
	c := &compiler{assembler: s}
	for _, g := range []general{rax, rcx, r10} {
		for member, name := range map[uint8]string{negates: "neg", divides: "div", dividesSigns: "idiv"} {
			c.unary(member, g)
			add("%s %s", name, generals[g])
		}
		c.copy(g, rdx)
		add("{load} mov %s, rdx", generals[g])
		for move, name := range map[uint8]string{0x42: "cmovb", 0x47: "cmova", 0x4c: "cmovl", 0x4f: "cmovg",
			0x45: "cmovne"} {
			s.prefixed(false, move, uint8(rdx), reg(vector(g)))
			add("%s edx, %s", name, halves[g])
		}
		for _, a := range []address{at(rdi, 0), at(r10, 0), at(r13, 0x1234), {base: rax, index: rcx}} {
			s.bytes(0xf0)
			s.prefixed(false, 0xb1, uint8(g), memory(a))
			add("lock cmpxchg %s, %s", memory(a).text("dword", ""), halves[g])
			s.bytes(0xf0)
			s.prefixed(false, 0xc1, uint8(g), memory(a))
			add("lock xadd %s, %s", memory(a).text("dword", ""), halves[g])
			s.integer(false, 0x87, uint8(g), memory(a), 0)
			add("xchg %s, %s", memory(a).text("dword", ""), halves[g])
			for op, name := range map[uint8]string{0x03: "add", 0x23: "and", 0x0b: "or", 0x33: "xor"} {
				s.integer(false, op-2, uint8(g), memory(a), 0)
				add("%s %s, %s", name, memory(a).text("dword", ""), halves[g])
			}
			s.jumpTo(a)
			add("jmp %s", memory(a).text("qword", ""))
		}
	}
	compareWithAssembler(t, s.code, text)
}
