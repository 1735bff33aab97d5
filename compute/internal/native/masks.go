package native

// Instructions on the mask registers of AVX-512. They have a bit for each lane of 32 bits, or of 64.

// maskRegister is one of AVX-512, K1 and so on.
type maskRegister uint8

// K1 holds nothing between instructions, and K2 the active lanes where code has them. Where it is for pairs of chunks
// those from firstBits to lastBits hold what is true or false in each lane, and savedBits is K2 of both chunks while
// code is for one. Where it is for two pairs, the last of them has the active lanes of the second.
const (
	pairBits   = maskRegister(2)
	firstBits  = maskRegister(3)
	lastBits   = maskRegister(6)
	secondBits = lastBits
	savedBits  = maskRegister(7)
)

// activeBits are the active lanes of the chunk, or of the pair that code is for.
func (c *compiler) activeBits() maskRegister {
	if c.second {
		return secondBits
	}
	return pairBits
}

var (
	vpcmpd   = opcode{1, 3, 0x1f, false}
	vpcmpud  = opcode{1, 3, 0x1e, false}
	vptestmd = opcode{1, 2, 0x27, false}
	vptestnm = opcode{2, 2, 0x27, false}
	vpmovd2m = opcode{2, 2, 0x39, false}
	vpmovm2d = opcode{2, 2, 0x38, false}
	vblendmd = opcode{1, 2, 0x65, false}
	kand     = opcode{0, 1, 0x41, false}
	kandn    = opcode{0, 1, 0x42, false}
	knot     = opcode{0, 1, 0x44, true}
	kor      = opcode{0, 1, 0x45, false}
	kxnor    = opcode{0, 1, 0x46, false}
	kxor     = opcode{0, 1, 0x47, false}
	kunpckbw = opcode{1, 1, 0x4b, false}
	kmov     = opcode{0, 1, 0x90, true}
	kmovTo   = opcode{0, 1, 0x91, true}
	kmovOf   = opcode{0, 1, 0x92, true} // a general register
	kmovInto = opcode{0, 1, 0x93, true}
	kortest  = opcode{0, 1, 0x98, true}
	kshiftr  = opcode{quad | 1, 3, 0x30, true}
)

// The predicates of comparisons of integers.
const (
	isEqual     = 0
	isLess      = 1
	isAtMost    = 2
	isNotEqual  = 4
	isNotLess   = 5
	isNotAtMost = 6
)

// comparison is how an instruction that compares is written with a result in a mask register.
type comparison struct {
	opcode    opcode
	w         uint8
	predicate uint8
}

var comparisons = map[opcode]comparison{
	vpcmpeqd: {vpcmpd, 0, isEqual}, vpcmpgtd: {vpcmpd, 0, isNotAtMost},
	vpcmpeqq: {vpcmpd, quad, isEqual}, vpcmpgtq: {vpcmpd, quad, isNotAtMost},
}

// wideW is the W of comparisons of floats.
var wideW = map[opcode]uint8{vcmpps: 0, vcmppd: quad}

// compareTo compares lanes of a with those of b.
func (s *assembler) compareTo(o opcode, w uint8, k maskRegister, a vector, b operand, predicate uint8) {
	s.evex(o, w, uint8(k), uint8(a), b, 1)
	s.bytes(predicate)
}

// testTo is VPTESTMD: which lanes of a and b have bits in common.
func (s *assembler) testTo(k maskRegister, a vector, b operand) {
	s.evex(vptestmd, 0, uint8(k), uint8(a), b, 0)
}

// signsTo is VPMOVD2M: a bit for each lane.
func (s *assembler) signsTo(k maskRegister, v vector) { s.evex(vpmovd2m, 0, uint8(k), 0, reg(v), 0) }

// spread fills lanes, of 64 bits if w is quad, with their bits: VPMOVM2D.
func (s *assembler) spread(v vector, k maskRegister, w uint8) {
	s.evex(vpmovm2d, w, uint8(v), 0, reg(vector(k)), 0)
}

// blendBy gives the lanes of b whose bit is set, and of a elsewhere: VBLENDMPS.
func (s *assembler) blendBy(k maskRegister, dst, a vector, b operand) {
	s.masked = k
	s.evex(vblendmd, 0, uint8(dst), uint8(a), b, 0)
}

// blendBy64 is blendBy of lanes of 64 bits.
func (s *assembler) blendBy64(k maskRegister, dst, a vector, b operand) {
	s.masked = k
	s.evex(vblendmd, quad, uint8(dst), uint8(a), b, 0)
}

// storeBy writes the lanes of a vector whose bit is set.
func (s *assembler) storeBy(k maskRegister, to address, v vector) {
	s.masked = k
	s.store(to, v)
}

// gatherBy is gather of the lanes whose bit is set, which it clears.
func (s *assembler) gatherBy(o opcode, k maskRegister, dst vector, base address, offsets vector) {
	d, x := uint8(dst), uint8(offsets)
	s.bytes(0x62, ^d>>3&1<<7|^x>>3&1<<6|^uint8(base.base)>>3&1<<5|^d>>4&1<<4|2, o.prefix&quad|15<<3|4|1,
		s.length()|^x>>4&1<<3|uint8(k), o.code, 0x80|d&7<<3|4, x&7<<3|uint8(base.base)&7)
	s.word(base.displacement)
}

// length is that of vectors in an EVEX prefix.
func (s *assembler) length() uint8 {
	if s.wide {
		return 1 << 6
	}
	return 1 << 5
}

// scatterWords writes the lanes of a vector whose sign is set in the mask to base + offsets, in order; it uses K1.
func (s *assembler) scatterWords(base general, offsets, mask, v vector) {
	s.signsTo(1, mask)
	s.scatterBy(vpscatterdd, 1, base, offsets, v)
}

// scatterBy is VPSCATTERDD or VPSCATTERDQ, which clears the mask.
func (s *assembler) scatterBy(o opcode, k maskRegister, base general, offsets, v vector) {
	d, x := uint8(v), uint8(offsets)
	s.bytes(0x62, ^d>>3&1<<7|^x>>3&1<<6|^uint8(base)>>3&1<<5|^d>>4&1<<4|2, o.prefix&quad|15<<3|4|1,
		s.length()|^x>>4&1<<3|uint8(k), o.code, d&7<<3|4, x&7<<3|uint8(base)&7)
}

// bits writes an instruction on mask registers.
func (s *assembler) bits(o opcode, dst, a, b maskRegister) {
	s.short(o, uint8(dst), uint8(a), reg(vector(b)), 0)
}

// moveBits copies a mask register, bitsFrom one from a general register, bitsInto one to such a register.
func (s *assembler) moveBits(dst, k maskRegister) { s.bits(kmov, dst, 0, k) }
func (s *assembler) bitsFrom(k maskRegister, from general) {
	s.short(kmovOf, uint8(k), 0, reg(vector(from)), 0)
}
func (s *assembler) bitsInto(dst general, k maskRegister) {
	s.short(kmovInto, uint8(dst), 0, reg(vector(k)), 0)
}
func (s *assembler) loadBits(k maskRegister, from address) {
	s.short(kmov, uint8(k), 0, memory(from), 0)
}
func (s *assembler) storeBits(to address, k maskRegister) {
	s.short(kmovTo, uint8(k), 0, memory(to), 0)
}
func (s *assembler) allBits(k maskRegister) { s.bits(kxnor, k, k, k) }

// testBits compares, so that equal says whether no bit is set.
func (s *assembler) testBits(k maskRegister) { s.bits(kortest, k, 0, k) }

// shiftBits shifts bits to lower lanes.
func (s *assembler) shiftBits(dst, k maskRegister, n uint8) {
	s.short(kshiftr, uint8(dst), 0, reg(vector(k)), 1)
	s.bytes(n)
}

// setBits is a constant; it uses rcx.
func (s *assembler) setBits(k maskRegister, n uint16) {
	s.setConstant(rcx, int32(n))
	s.bitsFrom(k, rcx)
}

// setConstant is MOV of 32 bits, to one of the first eight registers.
func (s *assembler) setConstant(dst general, n int32) {
	s.bytes(0xb8 | uint8(dst))
	s.word(n)
}
