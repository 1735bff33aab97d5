package native

import (
	"math"
	"math/bits"
	"slices"

	"farside/compute/internal/kernel"
)

// With AVX-512 an instruction works on 16 lanes: on a pair of chunks that follow each other, in vectors of 512 bits.
// Most of what writes code for one chunk writes that for a pair, too. What is here is what differs: what is true or
// false in a lane is a bit of a mask register, and so are the active lanes.

// halfPlaces are vectors that hold nothing between instructions where code is for pairs: chunks of a pair by
// themselves.
var halfPlaces = [2]vector{7, 8}

// many less halfPlaces: how many vectors hold registers for pairs.
const manyPairs = many - len(halfPlaces)

// Pairs says whether an instruction that has code has it for pairs of chunks, too.
func (in *Inst) Pairs() bool {
	switch {
	case in.Shuffles() || (in.isWide() || in.C.Wide) && !in.widePairs():
		return false
	case (in.accesses() || in.Op == kernel.Load64 || in.Op == kernel.Store64) && in.Pattern == Any && !in.Private():
		return in.A.Step > 0
	}
	return true
}

// pairs says whether there is code of instructions for pairs.
func (c *compiler) pairs(insts []Inst) bool {
	return avx512() && !c.single && !slices.ContainsFunc(insts, func(in Inst) bool { return !in.Pairs() })
}

// beginPairs lets code be for pairs, with so many fixed vectors.
func (c *compiler) beginPairs(fixed int) {
	c.setWidth(width{paired: true, wide: true, twice: c.twice})
	c.places = slices.DeleteFunc(placesOf(many, fixed), func(v vector) bool { return slices.Contains(halfPlaces[:], v) })
	c.most = manyPairs
}

func (c *compiler) endPairs() {
	c.setWidth(width{})
	c.places, c.most = placesOf(many, 0), many
}

// loopOfPairs writes instructions for all pairs that are left, at least one.
func (c *compiler) loopOfPairs(top label, insts []Inst) {
	c.align(16)
	c.place(top)
	c.beginPairs(0)
	c.looping = true
	if c.mode == Masked {
		c.loadActive()
	}
	c.part(insts)
	c.looping = false
	c.endPairs()
	c.arithmetic(adds, offset, 64)
	c.comparePair()
	c.jumpIf(atMost, top)
}

// comparePair compares the end of the next two chunks with that of all.
func (c *compiler) comparePair() { c.compareEnd(64) }

// compareEnd compares the end of the next bytes of chunks with that of all.
func (c *compiler) compareEnd(bytes int32) {
	c.lea(rcx, at(offset, bytes))
	c.cmp(rcx, end)
}

// lanes is how many lanes an instruction is for.
func (c *compiler) lanes() uint64 {
	if c.wide {
		return 16
	}
	return 8
}

// storeHome writes a register to the register file. One that all lanes share is one chunk there.
func (c *compiler) storeHome(r Register, v vector) {
	wide := c.wide
	c.wide = wide && r.Step > 0
	c.store(c.home(r), v)
	c.wide = wide
}

// heldBits is a register of the program, true or false in each lane, that a mask register holds.
type heldBits struct {
	register Register
	valid    bool
	stored   bool // the register file has it, too
	pinned   int  // the instruction that needs it now
	next     int  // the instruction that reads it next
}

func (c *compiler) findBits(r Register) *heldBits {
	if i := slices.IndexFunc(c.truths[:], func(b heldBits) bool { return b.valid && b.register == r }); i >= 0 {
		return &c.truths[i]
	}
	return nil
}

func (c *compiler) maskRegister(b *heldBits) maskRegister {
	for i := range c.truths {
		if &c.truths[i] == b {
			return firstBits + maskRegister(i)
		}
	}
	panic("not a mask register")
}

// bitsOf gives operand k as bits: in K1, from a vector that may be in otherwise, unless a mask register has it.
func (c *compiler) bitsOf(k int, otherwise vector) maskRegister {
	in := &c.insts[c.at]
	if b := c.findBits([...]Register{in.A, in.B, in.C}[k]); b != nil {
		b.pinned, b.next = c.at+1, c.uses[c.at][k]
		return c.maskRegister(b)
	}
	c.signsTo(1, c.vector(k, otherwise))
	return 1
}

// truth writes an instruction whose result is true or false in each lane, which write leaves in a mask register.
func (c *compiler) truth(write func(k maskRegister)) {
	in := &c.insts[c.at]
	c.forgetPointers(in.Dst)
	free := c.truths[:]
	if c.twice && c.mode == Masked {
		free = free[:secondBits-firstBits]
	}
	b := &free[0]
	for i := range free {
		o := &free[i]
		if o.register == in.Dst || o.next == never {
			o.valid = false
		}
		if !o.valid || b.valid && b.pinned == c.at+1 || b.valid && o.pinned != c.at+1 && o.next > b.next {
			b = o
		}
	}
	if b.valid && !b.stored && c.find(b.register) == nil {
		h := c.take(b.register, b.next) // while the operands have their vectors
		c.spread(c.number(h), c.maskRegister(b), 0)
	}
	c.forget([]Inst{*in})
	next := c.uses[c.at][3]
	*b = heldBits{register: in.Dst, valid: next != never, stored: in.Keep, pinned: c.at + 1, next: next}
	k := c.maskRegister(b)
	write(k)
	v := spare[0]
	i := slices.Index(c.fixed, in.Dst)
	if i >= 0 {
		v = c.places[i]
	}
	if in.Keep || i >= 0 {
		c.spread(v, k, 0)
	}
	if in.Keep {
		c.storeHome(in.Dst, v)
	}
}

// pairForm writes an instruction for a pair of chunks, if that is another one than for a chunk.
func (c *compiler) pairForm(in *Inst) bool {
	if in.Shuffles() {
		c.ofSubgroup(in)
		return true
	}
	if f, ok := simple[in.Op]; ok && c.logic(in) {
		return true
	} else if ok {
		return c.compares(f)
	}
	if in.Op == kernel.MulAddSat && in.Most == 0 {
		c.mulAddSatPair(in)
		c.keep(in)
		return true
	}
	if truth, ok := pairTruths[in.Op]; ok {
		return truth(c)
	}
	if write, ok := pairSequences[in.Op]; ok {
		write(c)
		c.keep(in)
		return true
	}
	return false
}

// pairTruths are sequences that compare.
var pairTruths map[kernel.Op]func(c *compiler) bool

// pairSequences are other sequences that are not those for a chunk.
var pairSequences map[kernel.Op]func(c *compiler)

func init() {
	pairTruths = map[kernel.Op]func(c *compiler) bool{
		kernel.NotI32:    (*compiler).notBits,
		kernel.LtU32:     unsignedTruth(isLess),
		kernel.LeU32:     unsignedTruth(isAtMost),
		kernel.IsNaNF32:  (*compiler).isNaNPair,
		kernel.IsInfF32:  (*compiler).isInfPair,
		kernel.I32ToMask: (*compiler).integerToMaskPair,

		kernel.EqI64:    wideTruth(vpcmpd, isEqual, false),
		kernel.NeI64:    wideTruth(vpcmpd, isNotEqual, false),
		kernel.LtU64:    wideTruth(vpcmpud, isLess, false),
		kernel.LeU64:    wideTruth(vpcmpud, isAtMost, false),
		kernel.LtS64:    wideTruth(vpcmpd, isLess, false),
		kernel.LeS64:    wideTruth(vpcmpd, isAtMost, false),
		kernel.EqF64:    wideTruth(vcmppd, floatEqual, false),
		kernel.LtF64:    wideTruth(vcmppd, floatLess, false),
		kernel.LeF64:    wideTruth(vcmppd, floatAtMost, false),
		kernel.NeOrdF64: wideTruth(vcmppd, floatNotEqual, false),
		kernel.IsNaNF64: wideTruth(vcmppd, floatUnordered, true),
		kernel.IsInfF64: (*compiler).isInfWidePair,
	}
	pairSequences = map[kernel.Op]func(c *compiler){
		kernel.Select32:    (*compiler).choosePair,
		kernel.MinF32:      extremePair(kernel.MinF32),
		kernel.MaxF32:      extremePair(kernel.MaxF32),
		kernel.F32ToS32:    (*compiler).floatToSignedPair,
		kernel.Bits16ToF32: (*compiler).halfToFloatPair,

		kernel.MoveMasked64: (*compiler).moveMaskedWidePair,
		kernel.Select64:     (*compiler).chooseWidePair,
		kernel.Join64:       (*compiler).joinPair,
	}
}

// logics are operations on what is true or false.
var logics = map[kernel.Op]opcode{
	kernel.AndI32: kand, kernel.OrI32: kor, kernel.XorI32: kxor, kernel.AndNotI32: kandn,
}

// logic writes one of logics, if its operands are bits.
func (c *compiler) logic(in *Inst) bool {
	o, ok := logics[in.Op]
	if !ok || c.findBits(in.A) == nil || c.findBits(in.B) == nil {
		return false
	}
	a, b := c.bitsOf(0, spare[0]), c.bitsOf(1, spare[0])
	if simple[in.Op].swapped {
		a, b = b, a
	}
	c.truth(func(k maskRegister) { c.bits(o, k, a, b) })
	return true
}

func (c *compiler) notBits() bool {
	if c.findBits(c.insts[c.at].A) == nil {
		return false
	}
	a := c.bitsOf(0, spare[0])
	c.truth(func(k maskRegister) { c.bits(knot, k, 0, a) })
	return true
}

// compares writes a comparison, if a form is one.
func (c *compiler) compares(f form) bool {
	i, integers := comparisons[f.opcode]
	if f.opcode != vcmpps && !integers {
		return false
	}
	a, b := 0, 1
	if f.swapped {
		a, b = b, a
	}
	v := c.vector(a, spare[0])
	o := c.reads(b)
	c.truth(func(k maskRegister) {
		if !integers {
			c.compareTo(vcmpps, 0, k, v, o, uint8(f.byte))
			return
		}
		predicate := i.predicate
		if f.not {
			predicate ^= isNotEqual ^ isEqual
		}
		c.compareTo(i.opcode, 0, k, v, o, predicate)
	})
	return true
}

func unsignedTruth(predicate uint8) func(c *compiler) bool {
	return func(c *compiler) bool {
		a := c.vector(0, spare[0])
		b := c.reads(1)
		c.truth(func(k maskRegister) { c.compareTo(vpcmpud, 0, k, a, b, predicate) })
		return true
	}
}

func (c *compiler) isNaNPair() bool {
	a := c.vector(0, spare[0])
	c.truth(func(k maskRegister) { c.compareTo(vcmpps, 0, k, a, reg(a), 3) })
	return true
}

func (c *compiler) isInfPair() bool {
	t := spare[0]
	c.two(vandps, t, c.vector(0, t), c.words(1<<31-1))
	c.truth(func(k maskRegister) { c.compareTo(vcmpps, 0, k, t, c.words(0x7f800000), 0) })
	return true
}

func (c *compiler) integerToMaskPair() bool {
	a := c.vector(0, spare[0])
	c.truth(func(k maskRegister) { c.testTo(k, a, reg(a)) })
	return true
}

func (c *compiler) choosePair() {
	k := c.bitsOf(2, spare[0])
	b, a := c.vector(1, spare[0]), c.reads(0)
	c.blendBy(k, c.result(), b, a)
}

// extremePair is extreme: the instruction gives b if both are zeros or one is a NaN.
func extremePair(op kernel.Op) func(c *compiler) {
	e := extremes[op]
	return func(c *compiler) {
		if c.quietExtreme(op) {
			return
		}
		a, b, t := c.vector(0, spare[0]), c.vector(1, spare[1]), spare[2]
		c.extremeOfPair(e, t, a, b)
		c.move(c.result(), reg(t))
	}
}

func (c *compiler) extremeOfPair(e [2]opcode, t, a, b vector) {
	c.two(e[0], t, a, reg(b))
	c.compareTo(vcmpps, 0, 1, a, reg(b), floatEqual)
	c.masked = 1
	c.two(e[1], t, a, reg(b))
	c.compareTo(vcmpps, 0, 1, b, reg(b), 3)
	c.blendBy(1, t, t, reg(a))
}

// floatToSignedPair is floatToSigned: what is too large is all ones but the sign.
func (c *compiler) floatToSignedPair() {
	t, a := spare[0], c.vector(0, spare[2])
	c.one(vcvttps2dq, t, reg(a))
	c.compareTo(vcmpps, 0, 1, a, c.words(0x4f000000), 0x1d)
	c.blendBy(1, t, t, c.words(math.MaxInt32))
	c.compareTo(vcmpps, 0, 1, a, reg(a), 3)
	c.two(vpxor, spare[1], spare[1], reg(spare[1]))
	c.blendBy(1, c.result(), t, reg(spare[1]))
}

func (c *compiler) halfToFloatPair() {
	t := spare[0]
	c.vex(vpmovdw, uint8(c.vector(0, t)), 0, reg(t), 0)
	c.one(vcvtph2ps, c.result(), reg(t))
}

// mulAddSatPair is mulAddSat: bits are where neither the product nor the sum is too large.
func (c *compiler) mulAddSatPair(in *Inst) {
	t, u, w := spare[0], spare[1], spare[2]
	factor := in.Immediate
	if bits.OnesCount64(factor) == 1 {
		n := uint8(bits.TrailingZeros64(factor))
		a := c.vector(0, u)
		if !in.B.Valid {
			c.compareTo(vpcmpud, 0, 1, a, c.words(math.MaxUint32>>n), isNotAtMost)
			c.shift(shift32, left, t, a, n)
			c.blendBy(1, c.result(), t, c.words(math.MaxUint32))
			return
		}
		c.compareTo(vpcmpud, 0, 1, a, c.words(math.MaxUint32>>n), isAtMost)
		c.shift(shift32, left, t, a, n)
	} else {
		f := c.quads(factor)
		a := c.vector(0, u)
		c.two(vpmuludq, t, a, f)
		c.shift(shift64, right, u, a, 32)
		c.two(vpmuludq, u, u, f)
		c.shift(shift64, right, w, t, 32)
		c.immediate(vpblendd, w, w, reg(u), 0xaa) // the high words
		c.shift(shift64, left, u, u, 32)
		c.immediate(vpblendd, t, t, reg(u), 0xaa) // the low ones
		c.compareTo(vpcmpd, 0, 1, w, operand{vector: c.zeros(u)}, isEqual)
	}
	if in.B.Valid {
		b := c.vector(1, w)
		c.two(vpaddd, t, t, reg(b))
		c.masked = 1
		c.compareTo(vpcmpud, 0, 1, t, reg(b), isNotLess)
	}
	c.bits(knot, 1, 0, 1)
	c.blendBy(1, c.result(), t, c.words(math.MaxUint32))
}

func (c *compiler) zeros(v vector) vector {
	c.two(vpxor, v, v, reg(v))
	return v
}

// everyOther gives every other word of two vectors, from one on.
func (c *compiler) everyOther(dst, low, high vector, first uint32) {
	var words [2][8]uint32
	for i := range uint32(16) {
		words[i/8][i%8] = 2*i + first
	}
	c.move(dst, c.constants(words[0], words[1]))
	c.two(vpermi2d, dst, low, reg(high))
}
