package native

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// vector is a register of 256 bits, YMM0 and so on, or of 512, ZMM0; general is one of 64 bits. Those from YMM16 on are
// there with AVX-512.
type (
	vector  uint8
	general uint8
)

const (
	rax general = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	r10
	r11
	r12
	r13
	r14
	r15
)

// address is a place in memory: a constant of the pool, or base + index << shift + displacement; an index of rsp is
// none.
type address struct {
	base, index  general
	shift        uint8 // at most 3
	displacement int32
	constant     int32 // index in assembler.pool + 1
}

func at(base general, displacement int32) address {
	return address{base: base, index: rsp, displacement: displacement}
}

// operand is a vector or, if memory, an address: with broadcast that of a word which is in all lanes.
type operand struct {
	memory, broadcast bool
	vector            vector
	address           address
}

func reg(v vector) operand     { return operand{vector: v} }
func memory(a address) operand { return operand{memory: true, address: a} }

// opcode is how an instruction with a VEX prefix is encoded (Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 2, section 2.3), and one with an EVEX prefix (section 2.7) if evexW has it.
type opcode struct {
	prefix uint8 // pp: 0 is none, 1 is 66, 2 is F3, 3 is F2
	table  uint8 // mmmmm: 1 is 0F, 2 is 0F38, 3 is 0F3A
	code   uint8
	short  bool // 128 bits
}

var (
	vaddps        = opcode{0, 1, 0x58, false}
	vmulps        = opcode{0, 1, 0x59, false}
	vsubps        = opcode{0, 1, 0x5c, false}
	vminps        = opcode{0, 1, 0x5d, false}
	vdivps        = opcode{0, 1, 0x5e, false}
	vmaxps        = opcode{0, 1, 0x5f, false}
	vsqrtps       = opcode{0, 1, 0x51, false}
	vandps        = opcode{0, 1, 0x54, false}
	vorps         = opcode{0, 1, 0x56, false}
	vxorps        = opcode{0, 1, 0x57, false}
	vcmpps        = opcode{0, 1, 0xc2, false}
	vroundps      = opcode{1, 3, 0x08, false}
	vblendvps     = opcode{1, 3, 0x4a, false}
	vfmadd213ps   = opcode{1, 2, 0xa8, false}
	vfmadd231ps   = opcode{1, 2, 0xb8, false}
	vfmadd132ps   = opcode{1, 2, 0x98, false}
	vcvtdq2ps     = opcode{0, 1, 0x5b, false}
	vcvttps2dq    = opcode{2, 1, 0x5b, false}
	vcvtps2dq     = opcode{1, 1, 0x5b, false}
	vaddpd        = opcode{1, 1, 0x58, false}
	vsubpd        = opcode{1, 1, 0x5c, false}
	vinsertf128   = opcode{1, 3, 0x18, false}
	vdivpd        = opcode{1, 1, 0x5e, false}
	vroundpd      = opcode{1, 3, 0x09, false}
	vpmuldq       = opcode{1, 2, 0x28, false}
	vpaddd        = opcode{1, 1, 0xfe, false}
	vpsubd        = opcode{1, 1, 0xfa, false}
	vpaddq        = opcode{1, 1, 0xd4, false}
	vpmulld       = opcode{1, 2, 0x40, false}
	vpmuludq      = opcode{1, 1, 0xf4, false}
	vpand         = opcode{1, 1, 0xdb, false}
	vpandn        = opcode{1, 1, 0xdf, false}
	vpor          = opcode{1, 1, 0xeb, false}
	vpxor         = opcode{1, 1, 0xef, false}
	vpminud       = opcode{1, 2, 0x3b, false}
	vpminsd       = opcode{1, 2, 0x39, false}
	vpmaxud       = opcode{1, 2, 0x3f, false}
	vpmaxsd       = opcode{1, 2, 0x3d, false}
	vpabsd        = opcode{1, 2, 0x1e, false}
	vpshufb       = opcode{1, 2, 0x00, false}
	vpcmpeqd      = opcode{1, 1, 0x76, false}
	vpcmpgtd      = opcode{1, 1, 0x66, false}
	vpsllvd       = opcode{1, 2, 0x47, false}
	vpsrlvd       = opcode{1, 2, 0x45, false}
	vpsravd       = opcode{1, 2, 0x46, false}
	vpblendd      = opcode{1, 3, 0x02, false}
	vmovups       = opcode{0, 1, 0x10, false}
	vmovupsTo     = opcode{0, 1, 0x11, false}
	vmovntpsTo    = opcode{0, 1, 0x2b, false}
	vmaskmovpsTo  = opcode{1, 2, 0x2e, false}
	vmovd         = opcode{1, 1, 0x6e, true}
	vmovdFrom     = opcode{1, 1, 0x7e, true}
	vpextrdTo     = opcode{1, 3, 0x16, true}
	vextracti128  = opcode{1, 3, 0x39, false}
	vpermps       = opcode{1, 2, 0x16, false}
	vpackusdw     = opcode{1, 2, 0x2b, true}
	vpackuswb     = opcode{1, 1, 0x67, true}
	vmovdquTo     = opcode{2, 1, 0x7f, true}
	vmovqTo       = opcode{1, 1, 0xd6, true}
	vpmovzxbd     = opcode{1, 2, 0x31, false}
	vpmovzxwd     = opcode{1, 2, 0x33, false}
	vcvtph2ps     = opcode{1, 2, 0x13, false}
	vcvtps2ph     = opcode{1, 3, 0x1d, false}
	vmovmskps     = opcode{0, 1, 0x50, false}
	vbroadcastss  = opcode{1, 2, 0x18, false}
	vpbroadcastd  = opcode{1, 2, 0x58, false}
	vgatherdps    = opcode{1, 2, 0x92, false}
	vpscatterdd   = opcode{1, 2, 0xa0, false}
	vgatherdpd    = opcode{quad | 1, 2, 0x92, false}
	vgatherqps    = opcode{1, 2, 0x93, false}
	vgatherqpd    = opcode{quad | 1, 2, 0x93, false}
	vmovqFrom     = opcode{quad | 1, 1, 0x7e, true}
	vmovqLoad     = opcode{2, 1, 0x7e, true}
	vmovqInto     = opcode{quad | 1, 1, 0x6e, true}
	vpinsrq       = opcode{quad | 1, 3, 0x22, true}
	vpsubq        = opcode{1, 1, 0xfb, false}
	vpsllvq       = opcode{quad | 1, 2, 0x47, false}
	vpsrlvq       = opcode{quad | 1, 2, 0x45, false}
	vpcmpeqq      = opcode{1, 2, 0x29, false}
	vpcmpgtq      = opcode{1, 2, 0x37, false}
	vpunpckldq    = opcode{1, 1, 0x62, false}
	vpunpckhdq    = opcode{1, 1, 0x6a, false}
	vpunpcklqdq   = opcode{1, 1, 0x6c, false}
	vpunpckhqdq   = opcode{1, 1, 0x6d, false}
	vmovupsFour   = opcode{0, 1, 0x10, true}
	vmovupsFourTo = opcode{0, 1, 0x11, true}
	vinserti32x4  = opcode{1, 3, 0x38, false}
	vperm2i128    = opcode{1, 3, 0x46, false}
	vpermq        = opcode{quad | 1, 3, 0x00, false}
	vshufps       = opcode{0, 1, 0xc6, false}
	vpmovsxdq     = opcode{1, 2, 0x25, false}
	vpmovzxdq     = opcode{1, 2, 0x35, false}
	vbroadcastsd  = opcode{1, 2, 0x19, false}
	vmulpd        = opcode{1, 1, 0x59, false}
	vsqrtpd       = opcode{1, 1, 0x51, false}
	vminpd        = opcode{1, 1, 0x5d, false}
	vmaxpd        = opcode{1, 1, 0x5f, false}
	vcmppd        = opcode{1, 1, 0xc2, false}
	vfmadd213pd   = opcode{quad | 1, 2, 0xa8, false}
	vfnmadd231pd  = opcode{quad | 1, 2, 0xbc, false}
	vfnmadd231ps  = opcode{1, 2, 0xbc, false}
	vcvtps2pd     = opcode{0, 1, 0x5a, false}
	vcvtpd2ps     = opcode{1, 1, 0x5a, false}
	vcvtdq2pd     = opcode{2, 1, 0xe6, false}
	vcvttpd2dq    = opcode{1, 1, 0xe6, false}
	shift32       = opcode{1, 1, 0x72, false}
	vextracti64x4 = opcode{quad | 1, 3, 0x3b, false}
	vinserti64x4  = opcode{quad | 1, 3, 0x3a, false}
	vpmovdw       = opcode{2, 2, 0x33, false}
	vpmovdb       = opcode{2, 2, 0x31, false}
	vpermi2d      = opcode{1, 2, 0x76, false}

	vpbroadcastdFrom = opcode{1, 2, 0x7c, false} // a general register
	vshuff64x2       = opcode{quad | 1, 3, 0x23, false}
	shift64          = opcode{1, 1, 0x73, false}
	vpmullq          = opcode{quad | 1, 2, 0x40, false}
	vpsadbw          = opcode{1, 1, 0xf6, false}
	vcvttsd2si       = opcode{quad | 3, 1, 0x2c, true}
	vcvttpd2qq       = opcode{1, 1, 0x7a, false}
	vcvtqq2ps        = opcode{0, 1, 0x5b, false}
	vcvtuqq2ps       = opcode{3, 1, 0x7a, false}
	vcvtudq2ps       = opcode{3, 1, 0x7a, false}
	vcvttps2udq      = opcode{0, 1, 0x78, false}
)

// quad is W, in the prefix of an instruction of the tables 2 and 3.
const quad = 0x80

// evexW has the W of an EVEX prefix, 0 or quad, for instructions that do the same with such a prefix. The others need
// vectors below YMM16.
var evexW = map[opcode]uint8{
	vaddps: 0, vmulps: 0, vsubps: 0, vminps: 0, vdivps: 0, vmaxps: 0, vsqrtps: 0, vandps: 0, vorps: 0, vxorps: 0,
	vfmadd213ps: 0, vfmadd231ps: 0, vfmadd132ps: 0,
	vroundps: 0, vcvtdq2ps: 0, vcvttps2dq: 0, vcvtps2dq: 0, vinsertf128: 0, vpaddd: 0, vpsubd: 0, vpmulld: 0,
	vpand: 0, vpandn: 0, vpor: 0, vpxor: 0, vpminud: 0, vpminsd: 0, vpmaxud: 0, vpmaxsd: 0, vpabsd: 0, vpsllvd: 0,
	vpsrlvd: 0, vpsravd: 0, vmovups: 0, vmovupsTo: 0, vmovntpsTo: 0, vmovd: 0, vmovdFrom: 0, vpextrdTo: 0,
	vextracti128: 0, vpermps: 0, vmovdquTo: 0, vpmovzxbd: 0, vpmovzxwd: 0, vcvtph2ps: 0, vcvtps2ph: 0, vbroadcastss: 0,
	vpbroadcastd: 0, vpunpckldq: 0, vpunpckhdq: 0, vshufps: 0, vpmovsxdq: 0, vpmovzxdq: 0, vcvtps2pd: 0, vcvtdq2pd: 0,
	shift32: 0, vpmovdw: 0, vpmovdb: 0, vpermi2d: 0, vpshufb: 0, vextracti64x4: quad, vinserti64x4: quad,
	vshuff64x2: quad, vpunpcklqdq: quad, vpunpckhqdq: quad, vmovupsFour: 0,
	vmovupsFourTo: 0, vinserti32x4: 0,
	vaddpd: quad, vsubpd: quad, vdivpd: quad, vmulpd: quad, vsqrtpd: quad, vminpd: quad, vmaxpd: quad,
	vfnmadd231pd: quad, vfnmadd231ps: 0, vpsadbw: 0,
	vfmadd213pd: quad, vroundpd: quad, vpmuldq: quad, vpmuludq: quad, vpaddq: quad, vpsubq: quad, vpsllvq: quad,
	vpsrlvq: quad, vpermq: quad, vbroadcastsd: quad, vcvtpd2ps: quad, vcvttpd2dq: quad, shift64: quad,
}

// The member of a group of shifts by a constant.
const (
	rotates     = 1
	right       = 2
	rightSigned = 4
	left        = 6
)

// condition is that of a conditional jump.
type condition uint8

const (
	below    condition = 2
	equal    condition = 4
	notEqual condition = 5
	atMost   condition = 6
	above    condition = 7
)

// label is a place in the code that jumps go to.
type label int

// assembler writes machine code: the instructions, then the constants.
type assembler struct {
	wide    bool         // the vectors are of 512 bits
	masked  maskRegister // the lanes that the next instruction with an EVEX prefix is for, or 0
	zeroing bool         // it gives the others 0
	code    []byte
	pool    [][8]uint32
	labels  []int // where they are, or -1
	jumps   []fixup
	uses    []fixup // of constants
}

// fixup is a displacement of 32 bits, relative to a place behind it.
type fixup struct{ at, from, to int }

func (s *assembler) bytes(b ...byte) { s.code = append(s.code, b...) }

func (s *assembler) word(n int32) { s.code = binary.LittleEndian.AppendUint32(s.code, uint32(n)) }

// words is a constant with the value in all lanes, quads one with it in all of 64 bits.
func (s *assembler) words(n uint32) operand {
	return operand{memory: true, broadcast: s.wide, address: s.pooled([8]uint32{n, n, n, n, n, n, n, n})}
}

func (s *assembler) quads(n uint64) operand {
	l, h := uint32(n), uint32(n>>32)
	return s.constant([8]uint32{l, h, l, h, l, h, l, h})
}

// constant is eight words, which come twice where vectors have 512 bits.
func (s *assembler) constant(c [8]uint32) operand {
	if s.wide {
		return s.constants(c, c)
	}
	return memory(s.pooled(c))
}

func (s *assembler) pooled(c [8]uint32) address {
	i := slices.Index(s.pool, c)
	if i < 0 {
		i = len(s.pool)
		s.pool = append(s.pool, c)
	}
	return address{constant: int32(i) + 1}
}

// constants are sixteen words.
func (s *assembler) constants(low, high [8]uint32) operand {
	for i := 0; i+1 < len(s.pool); i += 2 {
		if s.pool[i] == low && s.pool[i+1] == high {
			return memory(address{constant: int32(i) + 1})
		}
	}
	if len(s.pool)%2 != 0 {
		s.pool = append(s.pool, low)
	}
	s.pool = append(s.pool, low, high)
	return memory(address{constant: int32(len(s.pool)) - 1})
}

// multiples is a constant: n times the number of each lane.
func (s *assembler) multiples(n uint32) operand {
	var low, high [8]uint32
	for i := range uint32(8) {
		low[i], high[i] = i*n, (8+i)*n
	}
	if s.wide {
		return s.constants(low, high)
	}
	return memory(s.pooled(low))
}

// vex writes an instruction: dst = a op b. behind is how many bytes follow it.
func (s *assembler) vex(o opcode, dst, a uint8, b operand, behind int) {
	if s.wide && !o.short || s.masked > 0 || dst|a|uint8(b.vector) >= high {
		w, ok := evexW[o]
		if !ok {
			panic(fmt.Sprintf("opcode %+v has no EVEX prefix", o))
		}
		s.evex(o, w, dst, a, b, behind)
		return
	}
	s.short(o, dst, a, b, behind)
}

// short writes an instruction with a VEX prefix.
func (s *assembler) short(o opcode, dst, a uint8, b operand, behind int) {
	var x, r uint8
	switch {
	case !b.memory:
		r = uint8(b.vector) >> 3
	case b.address.constant == 0:
		x, r = uint8(b.address.index)>>3, uint8(b.address.base)>>3
	}
	long := uint8(4)
	if o.short {
		long = 0
	}
	last := ^a&15<<3 | long | o.prefix
	if o.table == 1 && x == 0 && r == 0 && o.prefix&quad == 0 {
		s.bytes(0xc5, ^dst>>3&1<<7|last, o.code)
	} else {
		s.bytes(0xc4, ^dst>>3&1<<7|^x&1<<6|^r&1<<5|o.table, last, o.code)
	}
	s.operand(dst, b, 1, behind)
}

// evex writes an instruction with an EVEX prefix: on vectors of 512 bits, on such that no other prefix can name, or
// with masks. w is its W, 0 or quad.
func (s *assembler) evex(o opcode, w, dst, a uint8, b operand, behind int) {
	var x, r, word uint8
	scale := int32(math.MaxInt32) // displacements of one byte count differently in each instruction
	length := uint8(1 << 5)
	switch {
	case o.short:
		length = 0
	case s.wide:
		length, scale = 1<<6, 64
		if n, ok := parts[o]; ok {
			scale = n
		}
	}
	switch {
	case !b.memory:
		x, r = uint8(b.vector)>>4, uint8(b.vector)>>3
	case b.address.constant == 0:
		x, r = uint8(b.address.index)>>3, uint8(b.address.base)>>3
	}
	if b.broadcast {
		word = 1 << 4
		if s.wide {
			scale = 4
		}
	}
	if s.zeroing {
		length |= 1 << 7
	}
	s.bytes(0x62, ^dst>>3&1<<7|^x&1<<6|^r&1<<5|^dst>>4&1<<4|o.table, w&quad|^a&15<<3|4|o.prefix&^quad,
		length|word|^a>>4&1<<3|uint8(s.masked), o.code)
	s.masked, s.zeroing = 0, false
	s.operand(dst, b, scale, behind)
}

// parts are the bytes that instructions on 512 bits access, where these are fewer.
var parts = map[opcode]int32{
	vbroadcastss: 4, vpbroadcastd: 4, vbroadcastsd: 8, vpmovzxbd: 16, vpmovzxwd: 32, vcvtph2ps: 32, vcvtps2ph: 32,
	vpmovsxdq: 32, vpmovzxdq: 32, vcvtps2pd: 32, vcvtdq2pd: 32, vextracti128: 16, vinsertf128: 16, vinserti32x4: 16,
	vextracti64x4: 32,
	vinserti64x4:  32, vpmovdw: 32, vpmovdb: 16,
}

// operand writes what comes behind an opcode: a register, and an operand. scale is what a displacement of one byte
// counts.
func (s *assembler) operand(r uint8, b operand, scale int32, behind int) {
	r = r & 7 << 3
	if !b.memory {
		s.bytes(0xc0 | r | uint8(b.vector)&7)
		return
	}
	m := b.address
	if m.constant > 0 {
		s.bytes(r | 5)
		s.uses = append(s.uses, fixup{len(s.code), len(s.code) + 4 + behind, int(m.constant) - 1})
		s.word(0)
		return
	}
	mode := uint8(0x80)
	switch {
	case m.displacement == 0 && m.base&7 != 5:
		mode = 0
	case m.displacement%scale == 0 && m.displacement/scale == int32(int8(m.displacement/scale)):
		mode = 0x40
	}
	if m.index == rsp && m.base&7 != 4 {
		s.bytes(mode | r | uint8(m.base)&7)
	} else {
		s.bytes(mode|r|4, m.shift<<6|uint8(m.index)&7<<3|uint8(m.base)&7)
	}
	switch mode {
	case 0x40:
		s.bytes(byte(m.displacement / scale))
	case 0x80:
		s.word(m.displacement)
	}
}

// two writes an instruction of two operands and a result, one the other of one operand. immediate is that with a byte
// behind it.
func (s *assembler) two(o opcode, dst, a vector, b operand) {
	if c, ok := comparisons[o]; ok && s.wide {
		s.compareTo(c.opcode, c.w, 1, a, b, c.predicate)
		s.spread(dst, 1, c.w)
		return
	}
	if o == vmovups && b.broadcast {
		o, b.broadcast = vbroadcastss, false
	}
	s.lowered(o, dst, a, b, func(dst, a vector, b operand) { s.vex(o, uint8(dst), uint8(a), b, 0) })
}

func (s *assembler) one(o opcode, dst vector, b operand) { s.two(o, dst, 0, b) }

func (s *assembler) immediate(o opcode, dst, a vector, b operand, n uint8) {
	switch {
	case !s.wide:
	case o == vcmpps || o == vcmppd:
		s.compareTo(o, wideW[o], 1, a, b, n)
		s.spread(dst, 1, wideW[o])
		return
	case o == vpblendd:
		s.setBits(1, uint16(n)|uint16(n)<<8)
		s.blendBy(1, dst, a, b)
		return
	case o == vinsertf128:
		o = vinserti64x4
	}
	s.lowered(o, dst, a, b, func(dst, a vector, b operand) {
		s.vex(o, uint8(dst), uint8(a), b, 1)
		s.bytes(n)
	})
}

// high is the first vector that only an EVEX prefix can name. lower are two that hold nothing where there are such.
const high = 16

var lower = [2]vector{9, 10}

// lowered writes an instruction with operands that it can have: high ones are copied if it has no EVEX prefix.
func (s *assembler) lowered(o opcode, dst, a vector, b operand, write func(dst, a vector, b operand)) {
	if _, ok := evexW[o]; ok || dst|a|b.vector < high {
		write(dst, a, b)
		return
	}
	a = s.low16(a, lower[0])
	if !b.memory {
		b.vector = s.low16(b.vector, lower[1])
	}
	if dst < high {
		write(dst, a, b)
		return
	}
	write(lower[0], a, b)
	s.one(vmovups, dst, reg(lower[0]))
}

// low16 gives a vector, or a copy of it if it is a high one.
func (s *assembler) low16(v, copied vector) vector {
	if v < high {
		return v
	}
	s.one(vmovups, copied, reg(v))
	return copied
}

// blend gives the lanes of b whose sign is set in the mask, and of a elsewhere.
func (s *assembler) blend(dst, a vector, b operand, mask vector) {
	if !avx512() {
		s.immediate(vblendvps, dst, a, b, uint8(mask)<<4)
		return
	}
	s.signsTo(1, mask)
	s.blendBy(1, dst, a, b)
}

// shift shifts lanes by a constant.
func (s *assembler) shift(o opcode, way uint8, dst, a vector, n uint8) {
	s.vex(o, way, uint8(dst), reg(a), 1)
	s.bytes(n)
}

// move loads a vector.
func (s *assembler) move(dst vector, from operand) { s.one(vmovups, dst, from) }

// stream writes a vector past the caches, to a multiple of its size.
func (s *assembler) stream(to address, v vector) { s.vex(vmovntpsTo, uint8(v), 0, memory(to), 0) }

// store writes a vector.
func (s *assembler) store(to address, v vector) { s.vex(vmovupsTo, uint8(v), 0, memory(to), 0) }

// storeLane writes one of the four lower lanes of a vector.
func (s *assembler) storeLane(to address, v vector, lane uint8) {
	if lane == 0 {
		s.vex(vmovdFrom, uint8(v), 0, memory(to), 0)
		return
	}
	s.vex(vpextrdTo, uint8(v), 0, memory(to), 1)
	s.bytes(lane)
}

// upper gives the upper half of a vector as the lower one of another.
func (s *assembler) upper(dst, v vector) {
	o := vextracti128
	if s.wide {
		o = vextracti64x4
	}
	s.vex(o, uint8(v), 0, reg(dst), 1)
	s.bytes(1)
}

// half gives the lanes of a vector as 16-bit floats, in the lower half of another; rounding is 0 to nearest even, 3
// towards zero.
func (s *assembler) half(dst, v vector, rounding uint8) {
	s.vex(vcvtps2ph, uint8(v), 0, reg(dst), 1)
	s.bytes(rounding)
}

// storeMasked writes the lanes of a vector whose sign is set in the mask.
func (s *assembler) storeMasked(to address, mask, v vector) {
	if avx512() {
		s.signsTo(1, mask)
		s.storeBy(1, to, v)
		return
	}
	s.vex(vmaskmovpsTo, uint8(v), uint8(mask), memory(to), 0)
}

// gather is vgatherdps or vgatherdpd: the lanes of mask are loaded from base + offsets. On 512 bits it uses K1.
func (s *assembler) gather(o opcode, dst vector, base address, offsets, mask vector) {
	if s.wide {
		s.signsTo(1, mask)
		s.gatherBy(o, 1, dst, base, offsets)
		return
	}
	base.index = general(offsets)
	s.vex(o, uint8(dst), uint8(mask), memory(base), 0)
}

// broadcast sets all lanes to the lower half of a general register. It needs AVX-512.
func (s *assembler) broadcast(dst vector, v general) {
	s.evex(vpbroadcastdFrom, 0, uint8(dst), 0, reg(vector(v)), 0)
}

// low moves the lowest lane to a general register.
func (s *assembler) low(dst general, v vector) { s.vex(vmovdFrom, uint8(v), 0, reg(vector(dst)), 0) }

// low64 moves the lowest lane of 64 bits of a low vector to a general register.
func (s *assembler) low64(dst general, v vector) { s.vex(vmovqFrom, uint8(v), 0, reg(vector(dst)), 0) }

// low32 moves one of the four lower lanes to a general register.
func (s *assembler) low32(dst general, v vector, lane uint8) {
	s.vex(vpextrdTo, uint8(v), 0, reg(vector(dst)), 1)
	s.bytes(lane)
}

// setLow sets the lowest lane.
func (s *assembler) setLow(dst vector, v general) { s.vex(vmovd, uint8(dst), 0, reg(vector(v)), 0) }

// signs gives the sign bits of the lanes.
func (s *assembler) signs(dst general, v vector) { s.one(vmovmskps, vector(dst), reg(v)) }

// integer writes an instruction on general registers, of 64 bits if wide.
func (s *assembler) integer(wide bool, code, r uint8, b operand, behind int) {
	s.rex(wide, r, b)
	s.bytes(code)
	s.operand(r, b, 1, behind)
}

// prefixed writes an instruction on general registers, of 64 bits if wide, whose code begins with 0F.
func (s *assembler) prefixed(wide bool, code, r uint8, b operand) {
	s.rex(wide, r, b)
	s.bytes(0x0f, code)
	s.operand(r, b, 1, 0)
}

func (s *assembler) rex(wide bool, r uint8, b operand) {
	rex := r >> 3 << 2
	if wide {
		rex |= 8
	}
	if b.memory {
		rex |= uint8(b.address.index)>>3<<1 | uint8(b.address.base)>>3
	} else {
		rex |= uint8(b.vector) >> 3
	}
	if rex != 0 {
		s.bytes(0x40 | rex)
	}
}

func (s *assembler) load32(dst general, from address) {
	s.integer(false, 0x8b, uint8(dst), memory(from), 0)
}
func (s *assembler) load64(dst general, from address) {
	s.integer(true, 0x8b, uint8(dst), memory(from), 0)
}

// loadZero loads one byte, or two, and fills the register up with zeros.
func (s *assembler) loadZero(dst general, from address, bytes int32) {
	s.prefixed(false, uint8(0xb5+bytes), uint8(dst), memory(from))
}

// storeLow writes the lowest bytes of a register: one, two or four.
func (s *assembler) storeLow(to address, v general, bytes int32) {
	switch bytes {
	case 1:
		s.integer(false, 0x88, uint8(v), memory(to), 0) // of rax, rcx, rdx and rbx only
	case 2:
		s.bytes(0x66)
		fallthrough
	default:
		s.store32(to, v)
	}
}

func (s *assembler) store64(to address, v general)  { s.integer(true, 0x89, uint8(v), memory(to), 0) }
func (s *assembler) store32(to address, v general)  { s.integer(false, 0x89, uint8(v), memory(to), 0) }
func (s *assembler) zero(dst general)               { s.integer(false, 0x33, uint8(dst), reg(vector(dst)), 0) }
func (s *assembler) add(dst, v general)             { s.integer(true, 0x03, uint8(dst), reg(vector(v)), 0) }
func (s *assembler) sub(dst, v general)             { s.integer(true, 0x2b, uint8(dst), reg(vector(v)), 0) }
func (s *assembler) xor(dst, v general)             { s.integer(true, 0x33, uint8(dst), reg(vector(v)), 0) }
func (s *assembler) addFrom(dst general, a address) { s.integer(true, 0x03, uint8(dst), memory(a), 0) }
func (s *assembler) lea(dst general, a address)     { s.integer(true, 0x8d, uint8(dst), memory(a), 0) }
func (s *assembler) move64(dst, v general)          { s.integer(true, 0x8b, uint8(dst), reg(vector(v)), 0) }
func (s *assembler) cmp(a, b general)               { s.integer(true, 0x3b, uint8(a), reg(vector(b)), 0) }
func (s *assembler) cmpFrom(a general, b address)   { s.integer(true, 0x3b, uint8(a), memory(b), 0) }
func (s *assembler) test(a general)                 { s.integer(true, 0x85, uint8(a), reg(vector(a)), 0) }

// shiftGeneral shifts the lower half of a register by a constant.
func (s *assembler) shiftGeneral(way uint8, r general, n uint8) {
	s.integer(false, 0xc1, way, reg(vector(r)), 1)
	s.bytes(n)
}

const (
	shiftsLeft  = 4
	shiftsRight = 5
)

// multiply multiplies a register with a constant of more than 127.
func (s *assembler) multiply(dst, v general, n int32) {
	s.integer(true, 0x69, uint8(dst), reg(vector(v)), 4)
	s.word(n)
}

// testLow compares the lowest byte of rcx with bits.
func (s *assembler) testLow(bits uint8) { s.bytes(0xf6, 0xc1, bits) }

// fence lets all that was streamed be seen before what follows.
func (s *assembler) fence() { s.bytes(0x0f, 0xae, 0xf8) }

// arithmetic writes an addition (0), an and (4), a subtraction (5) or a comparison (7) with a constant.
func (s *assembler) arithmetic(operation uint8, dst general, n int32) {
	if n == int32(int8(n)) {
		s.integer(true, 0x83, operation, reg(vector(dst)), 1)
		s.bytes(byte(n))
		return
	}
	if dst == rax {
		s.bytes(0x48, operation<<3|5)
	} else {
		s.integer(true, 0x81, operation, reg(vector(dst)), 4)
	}
	s.word(n)
}

const (
	adds      = 0
	ands      = 4
	subtracts = 5
	compares  = 7
)

func (s *assembler) label() label {
	s.labels = append(s.labels, -1)
	return label(len(s.labels) - 1)
}

func (s *assembler) place(l label) { s.labels[l] = len(s.code) }

func (s *assembler) jump(l label) {
	s.bytes(0xe9)
	s.target(l)
}

func (s *assembler) jumpIf(c condition, l label) {
	s.bytes(0x0f, 0x80|byte(c))
	s.target(l)
}

// jumpTo goes to the place whose address is in memory.
func (s *assembler) jumpTo(a address) { s.integer(false, 0xff, 4, memory(a), 0) }

// leaLabel gives the address of a place in the code.
func (s *assembler) leaLabel(dst general, l label) {
	s.bytes(0x48|uint8(dst)>>3<<2, 0x8d, uint8(dst)&7<<3|5)
	s.target(l)
}

func (s *assembler) target(l label) {
	s.jumps = append(s.jumps, fixup{len(s.code), len(s.code) + 4, int(l)})
	s.word(0)
}

// leave returns to Go, which expects the upper halves of the vectors to be zero.
func (s *assembler) leave() { s.bytes(0xc5, 0xf8, 0x77, 0xc3) } // VZEROUPPER, RET

// align fills up to a multiple of n bytes with what no one runs into: INT3.
func (s *assembler) align(n int) {
	for len(s.code)%n != 0 {
		s.bytes(0xcc)
	}
}

// finish writes the constants and fills in what refers to places.
func (s *assembler) finish() ([]byte, error) {
	s.align(64)
	pool := len(s.code)
	for _, c := range s.pool {
		for _, n := range c {
			s.word(int32(n))
		}
	}
	patch := func(f fixup, to int) { binary.LittleEndian.PutUint32(s.code[f.at:], uint32(int32(to-f.from))) }
	for _, f := range s.uses {
		patch(f, pool+32*f.to)
	}
	for _, f := range s.jumps {
		if s.labels[f.to] < 0 {
			return nil, fmt.Errorf("label %d has no place", f.to)
		}
		patch(f, s.labels[f.to])
	}
	return s.code, nil
}
