package native

import (
	"fmt"
	"strings"
	"testing"
)

// TestEncodingMasks compares instructions on mask registers, and those on 512 bits that use them or have operands of
// other sizes, with those of GNU as.
func TestEncodingMasks(t *testing.T) {
	s := &assembler{}
	var text []string
	add := func(format string, a ...any) { text = append(text, fmt.Sprintf(format, a...)) }
	masks := []maskRegister{1, 2, 5, 7}
	addresses := []address{at(rdi, 0), at(rdi, 64), at(rsi, -4), at(r13, 0), at(r12, 128), at(rax, 0x1234),
		{base: rdi, index: rsi, displacement: 32}, {base: r9, index: r15, shift: 1, displacement: 4096}}
	for _, k := range masks {
		for _, o := range masks {
			for name, code := range map[string]opcode{"kandw": kand, "kandnw": kandn, "korw": kor, "kxnorw": kxnor,
				"kxorw": kxor, "kunpckbw": kunpckbw} {
				s.bits(code, k, o, 3)
				add("%s k%d, k%d, k3", name, k, o)
			}
			s.bits(knot, k, 0, o)
			add("knotw k%d, k%d", k, o)
			s.moveBits(k, o)
			add("kmovw k%d, k%d", k, o)
			s.shiftBits(k, o, 8)
			add("kshiftrw k%d, k%d, 8", k, o)
		}
		s.testBits(k)
		add("kortestw k%d, k%d", k, k)
		s.allBits(k)
		add("kxnorw k%d, k%d, k%d", k, k, k)
		s.setBits(k, 0xaaaa)
		add("mov ecx, 0xaaaa")
		add("kmovw k%d, ecx", k)
		s.bitsInto(rdx, k)
		add("kmovw edx, k%d", k)
		for _, a := range addresses {
			s.loadBits(k, a)
			add("kmovw k%d, %s", k, memory(a).text("word", ""))
			s.storeBits(a, k)
			add("kmovw %s, k%d", memory(a).text("word", ""), k)
		}
	}
	for _, wide := range []bool{false, true} {
		s.wide = wide
		maskVectors(s, masks, add)
	}
	wideParts(s, addresses, add)
	compareWithAssembler(t, s.code, text)
	if len(text) < 2000 {
		t.Errorf("%d instructions were compared", len(text))
	}
}

// maskVectors writes instructions that give mask registers or take them.
func maskVectors(s *assembler, masks []maskRegister, add func(format string, a ...any)) {
	name := "ymm"
	if s.wide {
		name = "zmm"
	}
	for _, k := range masks {
		for _, v := range []vector{3, 12, 17, 30} {
			s.signsTo(k, v)
			add("vpmovd2m k%d, %s%d", k, name, v)
			s.spread(v, k, 0)
			add("vpmovm2d %s%d, k%d", name, v, k)
			s.spread(v, k, quad)
			add("vpmovm2q %s%d, k%d", name, v, k)
			for _, o := range []vector{1, 9, 22, 31} {
				s.testTo(k, v, reg(o))
				add("vptestmd k%d, %s%d, %s%d", k, name, v, name, o)
				for predicate := range uint8(7) {
					s.compareTo(vpcmpd, 0, k, v, reg(o), predicate)
					add("vpcmpd k%d, %s%d, %s%d, %d", k, name, v, name, o, predicate)
					s.compareTo(vpcmpud, 0, k, v, reg(o), predicate)
					add("vpcmpud k%d, %s%d, %s%d, %d", k, name, v, name, o, predicate)
				}
				s.masked = 1
				s.compareTo(vpcmpud, 0, k, v, reg(o), isNotLess)
				add("vpcmpud k%d{k1}, %s%d, %s%d, 5", k, name, v, name, o)
				s.compareTo(vcmpps, 0, k, v, reg(o), 0x1d)
				add("vcmpps k%d, %s%d, %s%d, 0x1d", k, name, v, name, o)
				s.compareTo(vcmppd, quad, k, v, reg(o), 2)
				add("vcmppd k%d, %s%d, %s%d, 2", k, name, v, name, o)
				s.blendBy(k, v, o, reg(8))
				add("vblendmps %s%d{k%d}, %s%d, %s8", name, v, k, name, o, name)
				s.gatherBy(vgatherdps, k, v, at(rbx, 0x1000), o)
				add("vgatherdps %s%d{k%d}, [rbx+%s%d*1+0x1000]", name, v, k, name, o)
				s.scatterBy(vpscatterdd, k, rax, o, v)
				add("vpscatterdd [rax+%s%d*1]{k%d}, %s%d", name, o, k, name, v)
			}
		}
	}
}

// wideParts writes instructions on 512 bits, some of whose operands are smaller.
func wideParts(s *assembler, addresses []address, add func(format string, a ...any)) {
	for _, v := range []vector{3, 12, 17, 30} {
		for _, a := range addresses {
			m := memory(a)
			for _, f := range []struct {
				name   string
				opcode opcode
				size   string
			}{{"vpmovzxbd", vpmovzxbd, "xmmword"}, {"vpmovzxwd", vpmovzxwd, "ymmword"}, {"vcvtph2ps", vcvtph2ps, "ymmword"},
				{"vcvtps2pd", vcvtps2pd, "ymmword"}, {"vcvtdq2pd", vcvtdq2pd, "ymmword"}, {"vsqrtpd", vsqrtpd, "zmmword"},
				{"vpmovzxdq", vpmovzxdq, "ymmword"}, {"vpmovsxdq", vpmovsxdq, "ymmword"}, {"vpbroadcastd", vpbroadcastd, "dword"},
				{"vbroadcastss", vbroadcastss, "dword"}, {"vbroadcastsd", vbroadcastsd, "qword"}} {
				s.one(f.opcode, v, m)
				add("%s zmm%d, %s", f.name, v, m.text(f.size, ""))
			}
			for name, o := range map[string]opcode{"vcvtqq2pd": vcvtqq2pd, "vcvtuqq2pd": vcvtuqq2pd, "vcvtqq2ps": vcvtqq2ps,
				"vcvtuqq2ps": vcvtuqq2ps, "vcvtpd2ps": vcvtpd2ps, "vcvttpd2dq": vcvttpd2dq, "vcvttpd2qq": vcvttpd2qq,
				"vpopcntq": vpopcnt, "vgetexppd": vgetexp} {
				s.in64(o, v, 0, m)
				to := "zmm"
				if strings.HasSuffix(name, "ps") || strings.HasSuffix(name, "dq") {
					to = "ymm"
				}
				add("%s %s%d, %s", name, to, v, m.text("zmmword", ""))
			}
			s.in64(vpmullq, v, 9, m)
			add("vpmullq zmm%d, zmm9, %s", v, m.text("zmmword", ""))
			s.vex(vpmovdw, uint8(v), 0, m, 0)
			add("vpmovdw %s, zmm%d", m.text("ymmword", ""), v)
			s.masked = pairBits
			s.vex(vpmovdb, uint8(v), 0, m, 0)
			add("vpmovdb %s{k2}, zmm%d", m.text("xmmword", ""), v)
			s.storeBy(5, a, v)
			add("vmovups %s{k5}, zmm%d", m.text("zmmword", ""), v)
			shared := m
			shared.broadcast = true
			s.compareTo(vpcmpd, 0, 4, v, shared, isAtMost)
			add("vpcmpd k4, zmm%d, %s{1to16}, 2", v, m.text("dword", ""))
		}
		for _, o := range []vector{1, 9, 22, 31} {
			s.upper(v, o)
			add("vextracti64x4 ymm%d, zmm%d, 1", v, o)
			s.immediate(vinsertf128, v, o, reg(7), 1)
			add("vinserti64x4 zmm%d, zmm%d, ymm7, 1", v, o)
			s.immediate(vshuff64x2, v, o, reg(7), 0xee)
			add("vshuff64x2 zmm%d, zmm%d, zmm7, 238", v, o)
			s.byte32(vgetmant, v, 0, reg(o), threeQuarters)
			add("vgetmantps zmm%d, zmm%d, 15", v, o)
			s.one(vcvtps2dq, v, reg(o))
			add("vcvtps2dq zmm%d, zmm%d", v, o)
			s.in64(vscalef, v, o, reg(7))
			add("vscalefpd zmm%d, zmm%d, zmm7", v, o)
			s.two(vpermi2d, v, o, reg(7))
			add("vpermi2d zmm%d, zmm%d, zmm7", v, o)
			s.two(vpshufb, v, o, reg(7))
			add("vpshufb zmm%d, zmm%d, zmm7", v, o)
			s.two(vpsadbw, v, o, reg(7))
			add("vpsadbw zmm%d, zmm%d, zmm7", v, o)
			s.half(v, o, 3)
			add("vcvtps2ph ymm%d, zmm%d, 3", v, o)
			s.gatherBy(vgatherdpd, 1, v, at(rbx, 0x1000), o)
			add("vgatherdpd zmm%d{k1}, [rbx+ymm%d*1+0x1000]", v, o)
			scatterWide := vpscatterdd
			scatterWide.prefix |= quad
			s.scatterBy(scatterWide, 1, rax, o, v)
			add("vpscatterdq [rax+ymm%d*1]{k1}, zmm%d", o, v)
		}
		s.low(rax, v)
		add("vmovd eax, xmm%d", v)
		s.setLow(v, rdx)
		add("vmovd xmm%d, edx", v)
	}
}
