package native

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// generals are the names of general registers, in 64, in 32 and in 16 bits.
var generals = strings.Fields("rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15")
var halves = strings.Fields("eax ecx edx ebx esp ebp esi edi r8d r9d r10d r11d r12d r13d r14d r15d")
var words = strings.Fields("ax cx dx bx sp bp si di r8w r9w r10w r11w r12w r13w r14w r15w")

func (o operand) text(size, registers string) string {
	if !o.memory {
		return fmt.Sprint(registers, o.vector)
	}
	a := o.address
	index := ""
	if a.index != rsp {
		index = fmt.Sprintf("+%s*%d", generals[a.index], 1<<a.shift)
	}
	return fmt.Sprintf("%s ptr [%s%s%+d]", size, generals[a.base], index, a.displacement)
}

// two are instructions of two operands.
var two = map[string]opcode{"vaddps": vaddps, "vmulps": vmulps, "vsubps": vsubps, "vminps": vminps, "vdivps": vdivps,
	"vmaxps": vmaxps,
	"vandps": vandps, "vorps": vorps, "vxorps": vxorps, "vfmadd213ps": vfmadd213ps, "vfmadd231ps": vfmadd231ps,
	"vfmadd132ps": vfmadd132ps, "vpaddd": vpaddd, "vpsubd": vpsubd,
	"vpaddq": vpaddq, "vpmulld": vpmulld, "vpmuludq": vpmuludq, "vpand": vpand, "vpandn": vpandn, "vpor": vpor,
	"vpxor":   vpxor,
	"vpminud": vpminud, "vpminsd": vpminsd, "vpmaxud": vpmaxud, "vpmaxsd": vpmaxsd, "vpcmpeqd": vpcmpeqd,
	"vpcmpgtd": vpcmpgtd,
	"vpsllvd":  vpsllvd, "vpsrlvd": vpsrlvd, "vpsravd": vpsravd}

// TestEncoding compares the encoding of instructions with that of GNU as.
func TestEncoding(t *testing.T) {
	defer func(old func() bool) { avx512 = old }(avx512)
	avx512 = func() bool { return false }
	s := &assembler{}
	var text []string
	add := func(format string, a ...any) { text = append(text, fmt.Sprintf(format, a...)) }
	shifts := func(registers string, dst, a vector) {
		for _, x := range []struct {
			name string
			way  uint8
			n    uint8
		}{{"vpslld", left, 24}, {"vpsrld", right, 3}, {"vpsrad", rightSigned, 31}} {
			s.shift(shift32, x.way, dst, a, x.n)
			add("%s %s%d, %s%d, %d", x.name, registers, dst, registers, a, x.n)
		}
	}
	addresses := []address{at(rdi, 0), at(rdi, 64), at(rsi, -4), at(rbp, 0), at(r13, 0), at(r12, 0), at(rsp, 8),
		at(r8, 0x1234), at(rax, -0x80),
		at(rax, 0x80), {base: rdi, index: rsi, displacement: 0x12345}, {base: r9, index: r11, displacement: 4},
		{base: r13, index: rbp}, {base: rax, index: r15}, {base: rax, index: rsi, shift: 1, displacement: 28},
		{base: r12, index: r15, shift: 3}}
	operands := []operand{reg(0), reg(3), reg(8), reg(15)}
	for _, a := range addresses {
		operands = append(operands, memory(a))
	}
	vectors := []vector{0, 5, 8, 15}
	for name, o := range two {
		for _, dst := range vectors {
			for _, a := range vectors {
				for _, b := range operands {
					s.two(o, dst, a, b)
					add("%s ymm%d, ymm%d, %s", name, dst, a, b.text("ymmword", "ymm"))
				}
			}
		}
	}
	for name, o := range map[string]opcode{"vsqrtps": vsqrtps, "vcvtdq2ps": vcvtdq2ps, "vcvttps2dq": vcvttps2dq,
		"vpabsd": vpabsd, "vsqrtpd": vsqrtpd} {
		for _, dst := range vectors {
			for _, b := range operands {
				s.one(o, dst, b)
				add("%s ymm%d, %s", name, dst, b.text("ymmword", "ymm"))
			}
		}
	}
	for _, mask := range vectors {
		for _, v := range vectors {
			for _, base := range []general{rax, r9, rdi} {
				s.scatterWords(base, 15-v, mask, v)
				add("vpmovd2m k1, ymm%d", mask)
				add("vpscatterdd [%s+ymm%d*1]{k1}, ymm%d", generals[base], 15-v, v)
			}
		}
	}
	for _, dst := range vectors {
		for _, b := range operands {
			for name, o := range map[string]opcode{"vcmpps": vcmpps, "vpblendd": vpblendd, "vcmppd": vcmppd,
				"vshufps": vshufps, "vperm2i128": vperm2i128} {
				s.immediate(o, dst, 9, b, 7)
				add("%s ymm%d, ymm9, %s, 7", name, dst, b.text("ymmword", "ymm"))
			}
			for name, o := range map[string]opcode{"vaddpd": vaddpd, "vsubpd": vsubpd, "vdivpd": vdivpd, "vpmuldq": vpmuldq,
				"vpsubq": vpsubq, "vpsllvq": vpsllvq, "vpsrlvq": vpsrlvq, "vpcmpeqq": vpcmpeqq, "vpcmpgtq": vpcmpgtq,
				"vpunpckldq": vpunpckldq, "vpunpckhdq": vpunpckhdq, "vmulpd": vmulpd, "vminpd": vminpd, "vmaxpd": vmaxpd,
				"vfmadd213pd": vfmadd213pd, "vpshufb": vpshufb} {
				s.two(o, dst, 9, b)
				add("%s ymm%d, ymm9, %s", name, dst, b.text("ymmword", "ymm"))
			}
			s.immediate(vpermq, dst, 0, b, 0xd8)
			add("vpermq ymm%d, %s, 0xd8", dst, b.text("ymmword", "ymm"))
			for name, o := range map[string]opcode{"vpmovsxdq": vpmovsxdq, "vpmovzxdq": vpmovzxdq, "vcvtps2pd": vcvtps2pd,
				"vcvtdq2pd": vcvtdq2pd} {
				s.one(o, dst, b)
				add("%s ymm%d, %s", name, dst, b.text("xmmword", "xmm"))
			}
			for name, o := range map[string]opcode{"vcvtpd2ps": vcvtpd2ps, "vcvttpd2dq": vcvttpd2dq} {
				s.one(o, dst, b)
				add("%s xmm%d, %s", name, dst, b.text("ymmword", "ymm"))
			}
			s.immediate(vinsertf128, dst, 9, b, 1)
			add("vinsertf128 ymm%d, ymm9, %s, 1", dst, b.text("xmmword", "xmm"))
			s.one(vbroadcastsd, dst, b)
			add("vbroadcastsd ymm%d, %s", dst, b.text("qword", "xmm"))
			s.two(vpermps, dst, 9, b)
			add("vpermps ymm%d, ymm9, %s", dst, b.text("ymmword", "ymm"))
			s.immediate(vroundps, dst, 0, b, 9)
			add("vroundps ymm%d, %s, 9", dst, b.text("ymmword", "ymm"))
			s.immediate(vroundpd, dst, 0, b, 11)
			add("vroundpd ymm%d, %s, 11", dst, b.text("ymmword", "ymm"))
			s.immediate(vblendvps, dst, 6, b, 13<<4)
			add("vblendvps ymm%d, ymm6, %s, ymm13", dst, b.text("ymmword", "ymm"))
			for name, o := range map[string]opcode{"vbroadcastss": vbroadcastss, "vpbroadcastd": vpbroadcastd} {
				s.one(o, dst, b)
				add("%s ymm%d, %s", name, dst, b.text("dword", "xmm"))
			}
		}
		for _, a := range addresses {
			s.one(vmovups, dst, memory(a))
			add("vmovups ymm%d, %s", dst, memory(a).text("ymmword", ""))
			s.stream(a, dst)
			add("vmovntps %s, ymm%d", memory(a).text("ymmword", ""), dst)
			s.storeMasked(a, 11, dst)
			add("vmaskmovps %s, ymm11, ymm%d", memory(a).text("ymmword", ""), dst)
			s.store(a, dst)
			add("vmovups %s, ymm%d", memory(a).text("ymmword", ""), dst)
			s.one(vpmovzxbd, dst, memory(a))
			add("vpmovzxbd ymm%d, %s", dst, memory(a).text("qword", ""))
			s.one(vpmovzxwd, dst, memory(a))
			add("vpmovzxwd ymm%d, %s", dst, memory(a).text("xmmword", ""))
			s.storeLane(a, dst, 0)
			add("vmovd %s, xmm%d", memory(a).text("dword", ""), dst)
			s.vex(vmovdquTo, uint8(dst), 0, memory(a), 0)
			add("vmovdqu %s, xmm%d", memory(a).text("xmmword", ""), dst)
			s.vex(vmovqTo, uint8(dst), 0, memory(a), 0)
			add("vmovq %s, xmm%d", memory(a).text("qword", ""), dst)
			s.storeLane(a, dst, 3)
			add("vpextrd %s, xmm%d, 3", memory(a).text("dword", ""), dst)
		}
		for _, v := range vectors {
			s.half(dst, v, 3)
			add("vcvtps2ph xmm%d, ymm%d, 3", dst, v)
			s.one(vcvtph2ps, dst, reg(v))
			add("vcvtph2ps ymm%d, xmm%d", dst, v)
			s.one(vpmovzxwd, dst, reg(v))
			add("vpmovzxwd ymm%d, xmm%d", dst, v)
			s.two(vpackusdw, dst, 9, reg(v))
			add("vpackusdw xmm%d, xmm9, xmm%d", dst, v)
			s.two(vpackuswb, dst, 9, reg(v))
			add("vpackuswb xmm%d, xmm9, xmm%d", dst, v)
			s.upper(dst, v)
			add("vextracti128 xmm%d, ymm%d, 1", dst, v)
		}
		s.one(vmovups, dst, reg(2))
		add("vmovups ymm%d, ymm2", dst)
		for _, a := range vectors {
			shifts("ymm", dst, a)
			s.shift(shift64, left, dst, a, 32)
			add("vpsllq ymm%d, ymm%d, 32", dst, a)
			s.shift(shift64, right, dst, a, 32)
			add("vpsrlq ymm%d, ymm%d, 32", dst, a)
		}
		for _, g := range []general{rax, rsi, r10} {
			s.low(g, dst)
			add("vmovd %s, xmm%d", halves[g], dst)
			s.low32(g, dst, 2)
			add("vpextrd %s, xmm%d, 2", halves[g], dst)
			s.setLow(dst, g)
			add("vmovd xmm%d, %s", dst, halves[g])
			s.signs(g, dst)
			add("vmovmskps %s, ymm%d", halves[g], dst)
			s.gather(vgatherdps, 14, at(g, 4*int32(dst)), dst, 13)
			add("vgatherdps ymm14, [%s+ymm%d*1+%d], ymm13", generals[g], dst, 4*dst)
			s.gather(vgatherdpd, 14, at(g, 4*int32(dst)), dst, 13)
			add("vgatherdpd ymm14, [%s+xmm%d*1+%d], ymm13", generals[g], dst, 4*dst)
		}
	}
	s.shiftGeneral(shiftsLeft, rcx, 16)
	add("shl ecx, 16")
	s.shiftGeneral(shiftsRight, r9, 5)
	add("shr r9d, 5")
	for _, a := range []general{rax, rcx, rsi, r8, r15} {
		for _, b := range []general{rax, rdx, r9, r13} {
			for name, f := range map[string]func(a, b general){"add": s.add, "sub": s.sub, "cmp": s.cmp,
				"xor": s.xor} {
				f(a, b)
				add("{load} %s %s, %s", name, generals[a], generals[b])
			}
		}
		for _, m := range addresses {
			s.load32(a, m)
			add("mov %s, %s", halves[a], memory(m).text("dword", ""))
			s.loadZero(a, m, 1)
			add("movzx %s, %s", halves[a], memory(m).text("byte", ""))
			s.loadZero(a, m, 2)
			add("movzx %s, %s", halves[a], memory(m).text("word", ""))
			s.load64(a, m)
			add("mov %s, %s", generals[a], memory(m).text("qword", ""))
			s.store32(m, a)
			add("mov %s, %s", memory(m).text("dword", ""), halves[a])
			s.storeLow(m, a, 2)
			add("mov %s, %s", memory(m).text("word", ""), words[a])
			if a == rax || a == rcx {
				s.storeLow(m, a, 1)
				add("mov %s, %s", memory(m).text("byte", ""), map[general]string{rax: "al", rcx: "cl"}[a])
			}
			s.addFrom(a, m)
			add("add %s, %s", generals[a], memory(m).text("qword", ""))
			s.cmpFrom(a, m)
			add("cmp %s, %s", generals[a], memory(m).text("qword", ""))
			s.lea(a, m)
			add("lea %s, %s", generals[a], memory(m).text("qword", ""))
		}
		for _, n := range []int32{0, 4, -128, 128, 0xff, 1 << 30} {
			for name, code := range map[string]uint8{"add": adds, "and": ands, "sub": subtracts, "cmp": compares} {
				s.arithmetic(code, a, n)
				add("%s %s, %d", name, generals[a], n)
			}
		}
		s.multiply(a, rdx, 416)
		add("imul %s, rdx, 416", generals[a])
		s.multiply(rax, a, 1<<20)
		add("imul rax, %s, %d", generals[a], 1<<20)
		s.testLow(31)
		add("test cl, 31")
		s.fence()
		add("sfence")
		s.zero(a)
		add("{load} xor %s, %s", halves[a], halves[a])
		s.test(a)
		add("test %s, %s", generals[a], generals[a])
	}
	s.leave()
	add("vzeroupper\nret")

	s.wide = true
	for _, a := range addresses {
		operands = append(operands, operand{memory: true, broadcast: true, address: a})
	}
	for _, a := range []address{at(rdi, 128), at(rsi, -64*128), at(rsi, 64*127), at(rbp, 64*128), at(r13, 32),
		{base: rdi, index: r15, displacement: 512}} {
		operands = append(operands, memory(a), operand{memory: true, broadcast: true, address: a})
	}
	wide := func(b operand) string {
		if b.broadcast {
			return b.text("dword", "zmm") + "{1to16}"
		}
		return b.text("zmmword", "zmm")
	}
	names := map[string]string{"vpand": "vpandd", "vpandn": "vpandnd", "vpor": "vpord", "vpxor": "vpxord"}
	for name, o := range two {
		if slices.Contains([]opcode{vpaddq, vpmuludq, vpcmpeqd, vpcmpgtd}, o) {
			continue
		}
		if other, ok := names[name]; ok {
			name = other
		}
		for _, dst := range vectors {
			for _, a := range vectors {
				for _, b := range operands {
					s.two(o, dst, a, b)
					add("%s zmm%d, zmm%d, %s", name, dst, a, wide(b))
				}
			}
		}
	}
	for _, dst := range vectors {
		for _, b := range operands {
			for name, o := range map[string]opcode{"vsqrtps": vsqrtps, "vcvtdq2ps": vcvtdq2ps, "vpabsd": vpabsd} {
				s.one(o, dst, b)
				add("%s zmm%d, %s", name, dst, wide(b))
			}
			s.immediate(vroundps, dst, 0, b, 9)
			add("vrndscaleps zmm%d, %s, 9", dst, wide(b))
			s.move(dst, b)
			if b.broadcast {
				add("vbroadcastss zmm%d, %s", dst, b.text("dword", "xmm"))
				continue
			}
			add("vmovups zmm%d, %s", dst, wide(b))
			if b.memory {
				s.store(b.address, dst)
				add("vmovups %s, zmm%d", wide(b), dst)
				s.stream(b.address, dst)
				add("vmovntps %s, zmm%d", wide(b), dst)
			}
		}
		for _, a := range vectors {
			shifts("zmm", dst, a)
		}
	}

	compareWithAssembler(t, s.code, text)
	if len(text) < 18000 {
		t.Errorf("%d instructions were compared", len(text))
	}
}

// compareWithAssembler compares code with what GNU as makes of the text.
func compareWithAssembler(t *testing.T, code []byte, text []string) {
	t.Helper()
	as, err := exec.LookPath("as")
	if err != nil {
		t.Skip("needs as (package binutils)")
	}
	dir := t.TempDir()
	source, object := filepath.Join(dir, "code.s"), filepath.Join(dir, "code.o")
	if err := os.WriteFile(source, []byte(".intel_syntax noprefix\n"+strings.Join(text, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(as, "--64", "-al="+filepath.Join(dir, "list"), "-o", object,
		source).CombinedOutput(); err != nil {
		t.Fatalf("as: %v\n%.2000s", err, out)
	}
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := f.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(code, want) {
		at := 0
		for at < min(len(code), len(want)) && code[at] == want[at] {
			at++
		}
		list, _ := os.ReadFile(filepath.Join(dir, "list"))
		place := bytes.Index(list, fmt.Appendf(nil, " %04x ", max(at-4, 0)))
		t.Fatalf("%d instructions: byte %#x differs: % x, not % x\n%.800s", len(text), at, code[at:min(at+12, len(code))],
			want[at:min(at+12, len(want))], list[max(place, 0):])
	}
}
