package native

import (
	"fmt"
	"testing"
)

// TestEncodingHigh compares instructions on vectors from YMM16 on with those of GNU as.
func TestEncodingHigh(t *testing.T) {
	s := &assembler{}
	var text []string
	add := func(b operand, format string, a ...any) {
		prefix := ""
		if b.memory && b.address.displacement != 0 {
			prefix = "{disp32} " // the assembler knows what one byte counts
		}
		text = append(text, prefix+fmt.Sprintf(format, a...))
	}
	vectors := []vector{3, 9, 16, 23, 28, 31}
	addresses := []address{at(rdi, 0), at(rsi, 64), at(rbp, 0), at(r13, -32), at(r12, 0x1234),
		{base: rdi, index: r15, displacement: 512}, {base: r9, index: rsi, shift: 2}}
	operands := []operand{reg(2), reg(12), reg(17), reg(26)}
	for _, a := range addresses {
		operands = append(operands, memory(a))
	}
	names := map[string]string{"vpand": "vpandd", "vpandn": "vpandnd", "vpor": "vpord", "vpxor": "vpxord"}
	each := func(of func(dst, a vector, b operand)) {
		for _, dst := range vectors {
			for _, a := range vectors {
				for _, b := range operands {
					if dst|a|b.vector >= high {
						of(dst, a, b)
					}
				}
			}
		}
	}
	triples := map[string]opcode{"vpmuldq": vpmuldq, "vaddpd": vaddpd, "vsubpd": vsubpd, "vdivpd": vdivpd,
		"vmulpd": vmulpd, "vminpd": vminpd, "vmaxpd": vmaxpd, "vfmadd213pd": vfmadd213pd, "vpsubq": vpsubq,
		"vpsllvq": vpsllvq,
		"vpsrlvq": vpsrlvq, "vpunpckldq": vpunpckldq, "vpunpckhdq": vpunpckhdq, "vpermps": vpermps}
	for name, o := range two {
		if other, ok := names[name]; ok {
			name = other
		}
		if _, ok := evexW[o]; ok {
			triples[name] = o
		}
	}
	for name, o := range triples {
		each(func(dst, a vector, b operand) {
			s.two(o, dst, a, b)
			add(b, "%s ymm%d, ymm%d, %s", name, dst, a, b.text("ymmword", "ymm"))
		})
	}
	each(func(dst, a vector, b operand) {
		s.immediate(vshufps, dst, a, b, 7)
		add(b, "vshufps ymm%d, ymm%d, %s, 7", dst, a, b.text("ymmword", "ymm"))
		s.immediate(vinsertf128, dst, a, b, 1)
		add(b, "vinsertf32x4 ymm%d, ymm%d, %s, 1", dst, a, b.text("xmmword", "xmm"))
		s.blendBy(2, dst, a, b)
		add(b, "vblendmps ymm%d{k2}, ymm%d, %s", dst, a, b.text("ymmword", "ymm"))
	})
	for _, dst := range append(vectors, 0) {
		for _, b := range operands {
			s.evex(vpmullq, quad, uint8(dst), 9, b, 0)
			add(b, "vpmullq ymm%d, ymm9, %s", dst, b.text("ymmword", "ymm"))
		}
		for w, name := range map[uint8]string{0: "vprold", quad: "vprolq"} {
			s.evex(shift32, w, rotates, uint8(dst), reg(20), 1)
			s.bytes(13)
			add(operand{}, "%s ymm%d, ymm20, 13", name, dst)
		}
	}
	onlyEVEX(s, append(vectors, 0), operands, add)
	highUnary(s, vectors, operands, add)
	highMoves(s, vectors, addresses, add)
	compareWithAssembler(t, s.code, text)
	if len(text) < 4000 {
		t.Errorf("%d instructions were compared", len(text))
	}
}

// onlyEVEX writes instructions that have no other prefix.
func onlyEVEX(s *assembler, vectors []vector, operands []operand, add func(b operand, format string, a ...any)) {
	for _, dst := range vectors {
		for _, b := range operands {
			text := b.text("ymmword", "ymm")
			for name, o := range map[string]opcode{"vpopcnt": vpopcnt, "vplzcnt": vplzcnt} {
				s.in32(o, dst, 0, b)
				add(b, "%sd ymm%d, %s", name, dst, text)
				s.in64(o, dst, 0, b)
				add(b, "%sq ymm%d, %s", name, dst, text)
			}
			for name, o := range map[string]opcode{"vcvtqq2pd": vcvtqq2pd, "vcvtuqq2pd": vcvtuqq2pd} {
				s.in64(o, dst, 0, b)
				add(b, "%s ymm%d, %s", name, dst, text)
			}
			s.in32(vgetexp, dst, 0, b)
			add(b, "vgetexpps ymm%d, %s", dst, text)
			s.in64(vgetexp, dst, 0, b)
			add(b, "vgetexppd ymm%d, %s", dst, text)
			s.in32(vscalef, dst, 9, b)
			add(b, "vscalefps ymm%d, ymm9, %s", dst, text)
			s.in64(vscalef, dst, 9, b)
			add(b, "vscalefpd ymm%d, ymm9, %s", dst, text)
			s.byte32(vgetmant, dst, 0, b, halfToOne)
			add(b, "vgetmantps ymm%d, %s, 2", dst, text)
			s.byte64(vgetmant, dst, 0, b, halfToOne)
			add(b, "vgetmantpd ymm%d, %s, 2", dst, text)
			s.byte32(vpternlog, dst, 20, b, 0x96)
			add(b, "vpternlogd ymm%d, ymm20, %s, 0x96", dst, text)
			s.byte32(vrangeps, dst, 20, b, 5)
			add(b, "vrangeps ymm%d, ymm20, %s, 5", dst, text)
			if dst|b.vector >= high {
				s.byte64(vgf2affine, dst, 20, b, 0)
				add(b, "vgf2p8affineqb ymm%d, ymm20, %s, 0", dst, text)
			}
		}
		s.broadcast(dst, rcx)
		add(operand{}, "vpbroadcastd ymm%d, ecx", dst)
		s.broadcast(dst, r9)
		add(operand{}, "vpbroadcastd ymm%d, r9d", dst)
		s.masked, s.zeroing = 1, true
		s.two(vpermi2d, dst, 9, reg(20))
		add(operand{}, "vpermi2d ymm%d{k1}{z}, ymm9, ymm20", dst)
		s.special(3, 0, dst)
		add(operand{}, "vfpclassps k3, ymm%d, 0x9f", dst)
		s.special(3, quad, dst)
		add(operand{}, "vfpclasspd k3, ymm%d, 0x9f", dst)
	}
}

// highUnary writes instructions of one operand.
func highUnary(s *assembler, vectors []vector, operands []operand, add func(b operand, format string, a ...any)) {
	type form struct {
		name   string
		opcode opcode
		result string // the registers of the result
		size   string
		from   string
	}
	forms := []form{
		{"vsqrtps", vsqrtps, "ymm", "ymmword", "ymm"}, {"vcvtdq2ps", vcvtdq2ps, "ymm", "ymmword", "ymm"},
		{"vcvttps2dq", vcvttps2dq, "ymm", "ymmword", "ymm"}, {"vpabsd", vpabsd, "ymm", "ymmword", "ymm"},
		{"vsqrtpd", vsqrtpd, "ymm", "ymmword", "ymm"}, {"vmovups", vmovups, "ymm", "ymmword", "ymm"},
		{"vpmovzxbd", vpmovzxbd, "ymm", "qword", "xmm"}, {"vpmovzxwd", vpmovzxwd, "ymm", "xmmword", "xmm"},
		{"vcvtph2ps", vcvtph2ps, "ymm", "xmmword", "xmm"}, {"vbroadcastss", vbroadcastss, "ymm", "dword", "xmm"},
		{"vpbroadcastd", vpbroadcastd, "ymm", "dword", "xmm"}, {"vbroadcastsd", vbroadcastsd, "ymm", "qword", "xmm"},
		{"vpmovsxdq", vpmovsxdq, "ymm", "xmmword", "xmm"}, {"vpmovzxdq", vpmovzxdq, "ymm", "xmmword", "xmm"},
		{"vcvtps2pd", vcvtps2pd, "ymm", "xmmword", "xmm"}, {"vcvtdq2pd", vcvtdq2pd, "ymm", "xmmword", "xmm"},
		{"vcvtpd2ps", vcvtpd2ps, "xmm", "ymmword", "ymm"}, {"vcvttpd2dq", vcvttpd2dq, "xmm", "ymmword", "ymm"},
	}
	for _, dst := range vectors {
		for _, b := range operands {
			if dst|b.vector < high {
				continue
			}
			for _, f := range forms {
				s.one(f.opcode, dst, b)
				add(b, "%s %s%d, %s", f.name, f.result, dst, b.text(f.size, f.from))
			}
			for name, o := range map[string]opcode{"vrndscaleps": vroundps, "vrndscalepd": vroundpd, "vpermq": vpermq} {
				s.immediate(o, dst, 0, b, 9)
				add(b, "%s ymm%d, %s, 9", name, dst, b.text("ymmword", "ymm"))
			}
		}
	}
}

// highMoves writes shifts, stores, and what goes to general registers and masks.
func highMoves(s *assembler, vectors []vector, addresses []address, add func(b operand, format string, a ...any)) {
	for _, v := range vectors {
		s.signsTo(1, v)
		add(operand{}, "vpmovd2m k1, ymm%d", v)
		for _, a := range addresses {
			m := memory(a)
			s.storeBy(1, a, v)
			add(m, "vmovups %s{k1}, ymm%d", m.text("ymmword", ""), v)
		}
		for _, base := range []general{rax, r9} {
			s.scatterWords(base, 31-v, v, v)
			add(operand{}, "vpmovd2m k1, ymm%d", v)
			add(operand{}, "vpscatterdd [%s+ymm%d*1]{k1}, ymm%d", generals[base], 31-v, v)
		}
		if v < high {
			continue
		}
		s.half(4, v, 3)
		add(operand{}, "vcvtps2ph xmm4, ymm%d, 3", v)
		s.upper(4, v)
		add(operand{}, "vextracti32x4 xmm4, ymm%d, 1", v)
		s.shift(shift32, left, v, 20, 7)
		add(operand{}, "vpslld ymm%d, ymm20, 7", v)
		s.shift(shift32, rightSigned, 5, v, 7)
		add(operand{}, "vpsrad ymm5, ymm%d, 7", v)
		s.shift(shift64, right, v, 3, 32)
		add(operand{}, "vpsrlq ymm%d, ymm3, 32", v)
		for _, g := range []general{rax, r10} {
			s.low(g, v)
			add(operand{}, "vmovd %s, xmm%d", halves[g], v)
			s.low32(g, v, 2)
			add(operand{}, "vpextrd %s, xmm%d, 2", halves[g], v)
			s.setLow(v, g)
			add(operand{}, "vmovd xmm%d, %s", v, halves[g])
		}
		for _, a := range addresses {
			m := memory(a)
			s.store(a, v)
			add(m, "vmovups %s, ymm%d", m.text("ymmword", ""), v)
			s.stream(a, v)
			add(m, "vmovntps %s, ymm%d", m.text("ymmword", ""), v)
			s.storeLane(a, v, 0)
			add(m, "vmovd %s, xmm%d", m.text("dword", ""), v)
			s.storeLane(a, v, 3)
			add(m, "vpextrd %s, xmm%d, 3", m.text("dword", ""), v)
			s.vex(vmovdquTo, uint8(v), 0, m, 0)
			add(m, "vmovdqu32 %s, xmm%d", m.text("xmmword", ""), v)
		}
	}
}

// TestLowered executes instructions that have no EVEX prefix on high vectors.
func TestLowered(t *testing.T) {
	s := &assembler{}
	s.two(vpcmpeqd, 20, 21, reg(22))
	low := &assembler{}
	low.one(vmovups, 9, reg(21))
	low.one(vmovups, 10, reg(22))
	low.two(vpcmpeqd, 9, 9, reg(10))
	low.one(vmovups, 20, reg(9))
	if string(s.code) != string(low.code) {
		t.Errorf("% x, not % x", s.code, low.code)
	}
	defer func() {
		if recover() == nil {
			t.Error("an instruction without an EVEX prefix was written with a high vector")
		}
	}()
	s.vex(vblendvps, 17, 0, reg(1), 1)
}
