package native

import (
	"math"
	"slices"

	"farside/compute/internal/kernel"
)

// Values of 64 bits take two vectors: of four lanes each for a chunk, of eight each for a pair of chunks, whose halves
// are the chunks. So an instruction on them becomes two, on the lower and the upper lanes, before code is made of it:
// the halves of a register are registers of their own.

// half is the lower or upper lanes of a register of 64 bits, others as they are.
func (r Register) half(k uint8) Register {
	r.upper = r.Wide && k == 1
	return r
}

// halfBytes is how far the upper half of a register is behind the lower one.
func (c *compiler) halfBytes(r Register) int32 {
	if c.wide && r.Step > 0 {
		return 64
	}
	return 32
}

// compareUpper orders the halves of a register.
func compareUpper(a, b Register) int {
	switch {
	case a.upper == b.upper:
		return 0
	case b.upper:
		return -1
	}
	return 1
}

// halfRead is half where the register is read: all lanes of a uniform one are in its lower half.
func (r Register) halfRead(k uint8) Register {
	if r.Step == 0 {
		return r
	}
	return r.half(k)
}

// isWide says whether it has an operand of 64 bits.
func (in *Inst) isWide() bool { return in.Dst.Wide || in.A.Wide || in.B.Wide }

// widePairs says whether an instruction with operands of 64 bits has code for pairs of chunks. Atomics and accesses by
// address have none.
func (in *Inst) widePairs() bool {
	return supportsWide(in.Op) || in.Op == rotate || in.Op == kernel.Load64 || in.Op == kernel.Store64 || in.Private()
}

// expand makes two instructions of each with operands of 64 bits.
func (c *compiler) expand(run []Inst) []Inst {
	if !slices.ContainsFunc(run, func(in Inst) bool { return in.isWide() }) {
		return run
	}
	if avx512() {
		run = joinRotations(run, nil)
	}
	var list []Inst
	place := make([]int32, len(run)+1)
	for i := range run {
		place[i] = int32(len(list))
		list = c.appendHalves(list, &run[i])
	}
	place[len(run)] = int32(len(list))
	for i := range list {
		if in := &list[i]; in.jumps() {
			in.Target = place[in.Target]
		}
	}
	return list
}

// appendHalves appends the instructions for the lower and the upper lanes. Where the result has 32 bits, the first
// leaves its lanes for the second to put them together.
func (c *compiler) appendHalves(list []Inst, in *Inst) []Inst {
	if !in.isWide() {
		return append(list, *in)
	}
	if choices[in.Op] != nil {
		both := *in
		both.A, both.B = in.A.halfRead(0), in.A.halfRead(1)
		return append(list, both)
	}
	if in.Op == kernel.Load64 || in.Op == kernel.Store64 {
		return c.appendWords(list, in)
	}
	if in.Atomic() {
		return appendAtomic(list, in)
	}
	if in.Physical() && in.physicalUnit() < 8 {
		both := *in
		both.A, both.C = in.A.halfRead(0), in.A.halfRead(1)
		return append(list, both)
	}
	for k := range uint8(2) {
		if k == 1 && in.Dst.Wide && in.Dst.Step == 0 {
			copied := Inst{Op: kernel.Move64, Dst: in.Dst.half(1), A: in.Dst, Once: in.Once, Keep: in.Keep}
			return append(list, copied)
		}
		h := *in
		h.upper = k == 1
		h.Dst, h.A, h.B, h.C = in.Dst.half(k), in.A.halfRead(k), in.B.halfRead(k), in.C.halfRead(k)
		if in.Dst.Valid && !in.Dst.Wide {
			lower := Register{Offset: uint32(c.scratch) + placeOfLower, Step: in.Dst.Step, Valid: true, aside: true}
			if h.upper {
				h.C = lower
			} else {
				h.Dst, h.Keep = lower, false
			}
		}
		list = append(list, h)
	}
	return list
}

// appendWords appends a load or store of 64 bits, as one of the lower words and one of the upper ones.
func (c *compiler) appendWords(list []Inst, in *Inst) []Inst {
	words := [2]Register{}
	var parts [2]Inst
	step := in.B.Step
	if in.Op == kernel.Load64 {
		step = in.Dst.Step
	}
	for k := range words {
		place := uint32(c.scratch) + placeOfWords + 128*uint32(k)
		words[k] = Register{Offset: place, Step: step / 2, Valid: true, aside: true}
		p := *in
		p.Keep, p.Immediate, p.more = false, in.Immediate+4*uint64(k), uint8(4*(1-k))
		if in.Words == 0 {
			p.Words = 2
		}
		if in.Op == kernel.Load64 {
			p.Op, p.Dst = kernel.Load32, words[k]
		} else {
			p.Op, p.B = kernel.Store32, words[k]
		}
		parts[k] = p
	}
	if in.Op == kernel.Load64 {
		join := Inst{Op: kernel.Join64, Dst: in.Dst, A: words[0], B: words[1], Once: in.Once, Keep: in.Keep}
		return c.appendHalves(append(list, parts[0], parts[1]), &join)
	}
	for k, op := range []kernel.Op{kernel.Low32, kernel.High32} {
		list = c.appendHalves(list, &Inst{Op: op, Dst: words[k], A: in.B})
	}
	return append(list, parts[0], parts[1])
}

// choices are the operations that give one word of each lane. Their code is for all lanes: A is the lower ones, B the
// upper ones.
var choices = map[kernel.Op]func(c *compiler){
	kernel.Low32: takeWords(0x88), kernel.TruncI64I32: takeWords(0x88), kernel.High32: takeWords(0xdd),
}

// takeWords makes a choice of words; they lie in the order of order.
func takeWords(order uint8) func(c *compiler) {
	return func(c *compiler) {
		t := spare[0]
		if c.wide {
			c.everyOther(t, c.vector(0, spare[1]), c.vector(1, spare[2]), uint32(order&1))
			c.move(c.result(), reg(t))
			return
		}
		c.immediate(vshufps, t, c.vector(0, t), c.reads(1), order)
		c.immediate(vpermq, c.result(), 0, reg(t), 0xd8)
	}
}

// wideForms are the operations on 64 bits, in all operands and the result, that are an instruction.
var wideForms = map[kernel.Op]form{
	kernel.AddI64: {opcode: vpaddq, byte: -1}, kernel.SubI64: {opcode: vpsubq, byte: -1},
	kernel.MulWordsU64: {opcode: vpmuludq, byte: -1},
	kernel.AndI64:      {opcode: vpand, byte: -1}, kernel.OrI64: {opcode: vpor, byte: -1},
	kernel.XorI64: {opcode: vpxor, byte: -1}, kernel.AddF64: {opcode: vaddpd, byte: -1},
	kernel.SubF64: {opcode: vsubpd, byte: -1}, kernel.MulF64: {opcode: vmulpd, byte: -1},
	kernel.DivF64: {opcode: vdivpd, byte: -1}, kernel.SqrtF64: {opcode: vsqrtpd, unary: true, byte: -1},
	kernel.FloorF64: {opcode: vroundpd, unary: true, byte: 9}, kernel.CeilF64: {opcode: vroundpd, unary: true, byte: 10},
	kernel.TruncF64:     {opcode: vroundpd, unary: true, byte: 11},
	kernel.RoundEvenF64: {opcode: vroundpd, unary: true, byte: 8},
}

// wideSequences are the others, for a half.
var wideSequences = map[kernel.Op]func(c *compiler){
	kernel.Move64:         func(c *compiler) { a := c.reads(0); c.move(c.result(), a) },
	kernel.MoveMasked64:   (*compiler).moveMaskedWide,
	kernel.Select64:       (*compiler).chooseWide,
	kernel.NegI64:         (*compiler).negateWide,
	kernel.AbsI64:         (*compiler).absWide,
	kernel.NotI64:         wideConstant(vpxor, math.MaxUint64),
	kernel.NegF64:         wideConstant(vxorps, 1<<63),
	kernel.AbsF64:         wideConstant(vandps, 1<<63-1),
	kernel.MulI64:         (*compiler).multiplyWide,
	kernel.ShlI64:         wideShift(vpsllvq, left),
	kernel.ShrU64:         wideShift(vpsrlvq, right),
	kernel.ShrS64:         (*compiler).shiftSignedWide,
	kernel.MinU64:         wideExtreme(1<<63, false),
	kernel.MaxU64:         wideExtreme(1<<63, true),
	kernel.MinS64:         wideExtreme(0, false),
	kernel.MaxS64:         wideExtreme(0, true),
	kernel.EqI64:          wideEqual(false),
	kernel.NeI64:          wideEqual(true),
	kernel.LtU64:          wideOrder(1<<63, false),
	kernel.LeU64:          wideOrder(1<<63, true),
	kernel.LtS64:          wideOrder(0, false),
	kernel.LeS64:          wideOrder(0, true),
	kernel.FmaF64:         (*compiler).fmaWide,
	kernel.MulAddF64:      wideProduct(vaddpd, false),
	kernel.MulSubF64:      wideProduct(vsubpd, false),
	kernel.SubMulF64:      wideProduct(vsubpd, true),
	kernel.InverseSqrtF64: (*compiler).inverseSqrtWide,
	kernel.MinF64:         floatExtremeWide(vminpd, vorps),
	kernel.MaxF64:         floatExtremeWide(vmaxpd, vandps),
	kernel.EqF64:          floatOrderWide(0x00),
	kernel.LtF64:          floatOrderWide(0x11),
	kernel.LeF64:          floatOrderWide(0x12),
	kernel.NeOrdF64:       floatOrderWide(0x0c),
	kernel.IsNaNF64:       (*compiler).isNaNWide,
	kernel.IsInfF64:       (*compiler).isInfWide,
	kernel.SextI32I64:     extendWide(vpmovsxdq),
	kernel.ZextI32I64:     extendWide(vpmovzxdq),
	kernel.F32ToF64:       extendWide(vcvtps2pd),
	kernel.S32ToF64:       extendWide(vcvtdq2pd),
	kernel.U32ToF64:       (*compiler).unsignedToDouble,
	kernel.Join64:         (*compiler).join,
	kernel.F64ToF32:       (*compiler).doubleToFloat,
	kernel.F64ToS32:       (*compiler).doubleToSigned,
	kernel.F64ToU32:       (*compiler).doubleToUnsigned,
	kernel.DivU64:         divideWide(false, false, nil),
	kernel.DivS64:         divideWide(true, false, nil),
	kernel.RemU64:         divideWide(false, true, nil),
	kernel.RemS64:         divideWide(true, true, nil),
	kernel.ModS64:         divideWide(true, true, roundDown),
	kernel.MulHighU64:     highWord(false),
	kernel.MulHighS64:     highWord(true),
	kernel.S64ToF64:       integerToDouble(true),
	kernel.U64ToF64:       integerToDouble(false),
	kernel.S64ToF32:       integerToFloat(true),
	kernel.U64ToF32:       integerToFloat(false),
	kernel.F64ToS64:       toInteger(true, false),
	kernel.F64ToU64:       toInteger(false, false),
	kernel.F32ToS64:       toInteger(true, true),
	kernel.F32ToU64:       toInteger(false, true),
	kernel.F64ToF32Zero:   (*compiler).doubleToFloatZero,
	kernel.SignF64:        (*compiler).signWide,
	kernel.PopCount64:     (*compiler).countBitsWide,
	kernel.FindLSB64:      findBitWide(lowestWide),
	kernel.FindMSBU64:     findBitWide(highestWide),
	kernel.FindMSBS64:     findBitWide(highestSignedWide),
	kernel.FrexpF64:       (*compiler).significandWide,
	kernel.FrexpExpF64:    (*compiler).exponentWide,
	kernel.LdexpF64:       (*compiler).scaleWide,
	kernel.RemF64:         remainderWide(false),
	kernel.ModF64:         remainderWide(true),
}

// supportsWide says whether there is code for an operation that has operands of 64 bits.
func supportsWide(op kernel.Op) bool {
	_, form := wideForms[op]
	return form || wideSequences[op] != nil || choices[op] != nil
}

// writeWide writes an instruction on halves of registers of 64 bits, if it is one.
func (c *compiler) writeWide(in *Inst) bool {
	if f, ok := wideForms[in.Op]; ok {
		c.simple(f)
		return true
	}
	write := wideSequences[in.Op]
	if write == nil {
		write = choices[in.Op]
	}
	if write == nil {
		return false
	}
	write(c)
	return true
}

// isUpper says whether the instruction under way is for the upper lanes.
func (c *compiler) isUpper() bool { return c.insts[c.at].upper }

// narrow makes the result of the low words of the lanes of 64 bits in t, which is one of spare but the last.
func (c *compiler) narrow(t vector) {
	if !c.isUpper() {
		c.one(vmovups, c.result(), reg(t))
		return
	}
	lower := c.vector(2, spare[3])
	if c.wide {
		u := spare[0]
		if t == u {
			u = spare[1]
		}
		c.everyOther(u, lower, t, 0)
		c.move(c.result(), reg(u))
		return
	}
	c.immediate(vshufps, t, lower, reg(t), 0x88)
	c.immediate(vpermq, c.result(), 0, reg(t), 0xd8)
}

// packed makes the result of four words in the lower half of t, which is one of spare but the last.
func (c *compiler) packed(t vector) {
	if !c.isUpper() {
		c.one(vmovups, c.result(), reg(t))
		return
	}
	lower := c.vector(2, spare[3])
	c.immediate(vinsertf128, c.result(), lower, reg(t), 1)
}

// lanesOf gives a half's lanes of operand k, which has 32 bits, in v: o makes 64 bits of them.
func (c *compiler) lanesOf(k int, o opcode, v vector) {
	a := c.reads(k)
	if c.isUpper() {
		if a.memory && !a.broadcast {
			a.address.displacement += 2 * int32(c.lanes())
		} else if !a.memory {
			c.upper(v, a.vector)
			a = reg(v)
		}
	}
	a.broadcast = false // all words of a uniform register are the same
	c.one(o, v, a)
}

func extendWide(o opcode) func(c *compiler) {
	return func(c *compiler) {
		t := spare[0]
		c.lanesOf(0, o, t)
		c.one(vmovups, c.result(), reg(t))
	}
}

// moveMaskedWide writes A where the lane is active, and what was there elsewhere.
func (c *compiler) moveMaskedWide() {
	if !c.insts[c.at].C.Valid {
		a := c.reads(0)
		c.move(c.result(), a)
		return
	}
	a, before, t := c.vector(0, spare[0]), c.vector(2, spare[1]), spare[2]
	c.activeHalf(t)
	c.blend(c.result(), before, reg(a), t)
}

// activeHalf gives the mask of four lanes, of 64 bits each.
func (c *compiler) activeHalf(t vector) {
	active := c.active(t)
	if c.isUpper() {
		c.upper(t, active)
		active = t
	}
	c.one(vpmovsxdq, t, reg(active))
}

func (c *compiler) chooseWide() {
	t := spare[0]
	c.lanesOf(2, vpmovsxdq, t)
	b, a := c.vector(1, spare[1]), c.reads(0)
	c.blend(c.result(), b, a, t)
}

func (c *compiler) negateWide() {
	t, a := spare[0], c.reads(0)
	c.two(vpxor, t, t, reg(t))
	c.two(vpsubq, c.result(), t, a)
}

// signsOf gives the sign of each lane in all of its bits.
func (c *compiler) signsOf(dst, a vector) {
	c.two(vpxor, dst, dst, reg(dst))
	c.two(vpcmpgtq, dst, dst, reg(a))
}

func (c *compiler) absWide() {
	a, s, t := c.vector(0, spare[0]), spare[1], spare[2]
	c.signsOf(s, a)
	c.two(vpxor, t, a, reg(s))
	c.two(vpsubq, c.result(), t, reg(s))
}

func wideConstant(o opcode, n uint64) func(c *compiler) {
	return func(c *compiler) {
		a := c.vector(0, spare[0])
		c.two(o, c.result(), a, c.quads(n))
	}
}

// multiplyWide adds the products of the low words, and of a low with a high one 32 bits higher.
func (c *compiler) multiplyWide() {
	if avx512() {
		a, b := c.vector(0, spare[0]), c.reads(1)
		c.evex(vpmullq, quad, uint8(c.result()), uint8(a), b, 0)
		return
	}
	a, b, t, u := c.vector(0, spare[0]), c.vector(1, spare[1]), spare[2], spare[3]
	c.shift(shift64, right, t, a, 32)
	c.two(vpmuludq, t, t, reg(b))
	c.shift(shift64, right, u, b, 32)
	c.two(vpmuludq, u, u, reg(a))
	c.two(vpaddq, t, t, reg(u))
	c.shift(shift64, left, t, t, 32)
	c.two(vpmuludq, u, a, reg(b))
	c.two(vpaddq, c.result(), u, reg(t))
}

// wideShift makes a shift, by a count of which only the lowest six bits count.
func wideShift(o opcode, way uint8) func(c *compiler) {
	return func(c *compiler) {
		if count := c.insts[c.at].Count; count > 0 {
			a := c.vector(0, spare[0])
			c.shift(shift64, way, c.result(), a, count-1)
			return
		}
		t := spare[0]
		c.two(vpand, t, c.vector(1, t), c.quads(63))
		a := c.vector(0, spare[1])
		c.two(o, c.result(), a, reg(t))
	}
}

// shiftSignedWide shifts what is not negative: A or its complement.
func (c *compiler) shiftSignedWide() {
	a, s, t, n := c.vector(0, spare[0]), spare[1], spare[2], spare[3]
	c.signsOf(s, a)
	c.two(vpxor, t, a, reg(s))
	if count := c.insts[c.at].Count; count > 0 {
		c.shift(shift64, right, t, t, count-1)
	} else {
		c.two(vpand, n, c.vector(1, n), c.quads(63))
		c.two(vpsrlvq, t, t, reg(n))
	}
	c.two(vpxor, c.result(), t, reg(s))
}

// greater gives a mask of where a is greater than b, in t. flip is added to both: the sign, if they have none.
func (c *compiler) greater(t, a, b vector, flip uint64) {
	if flip == 0 {
		c.two(vpcmpgtq, t, a, reg(b))
		return
	}
	c.two(vpxor, t, a, c.quads(flip))
	c.two(vpxor, spare[3], b, c.quads(flip))
	c.two(vpcmpgtq, t, t, reg(spare[3]))
}

func wideExtreme(flip uint64, greatest bool) func(c *compiler) {
	return func(c *compiler) {
		a, b, t := c.vector(0, spare[0]), c.vector(1, spare[1]), spare[2]
		c.greater(t, a, b, flip)
		if greatest {
			a, b = b, a
		}
		c.blend(c.result(), a, reg(b), t)
	}
}

func wideEqual(not bool) func(c *compiler) {
	return func(c *compiler) {
		t := spare[0]
		c.two(vpcmpeqq, t, c.vector(0, t), c.reads(1))
		if not {
			c.not(t, t)
		}
		c.narrow(t)
	}
}

// wideOrder makes A < B, or A <= B: not A > B.
func wideOrder(flip uint64, orEqual bool) func(c *compiler) {
	return func(c *compiler) {
		a, b, t := c.vector(0, spare[0]), c.vector(1, spare[1]), spare[2]
		if orEqual {
			c.greater(t, a, b, flip)
			c.not(t, t)
		} else {
			c.greater(t, b, a, flip)
		}
		c.narrow(t)
	}
}

// join makes lanes of two words.
func (c *compiler) join() {
	a, b, t, u := c.vector(0, spare[0]), c.vector(1, spare[1]), spare[2], spare[3]
	c.two(vpunpckldq, t, a, reg(b)) // lanes 0, 1, 4 and 5
	c.two(vpunpckhdq, u, a, reg(b))
	which := uint8(0x20)
	if c.isUpper() {
		which = 0x31
	}
	c.immediate(vperm2i128, c.result(), t, reg(u), which)
}
