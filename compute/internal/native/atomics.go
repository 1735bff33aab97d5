package native

import (
	"math/bits"

	"farside/compute/internal/kernel"
)

// Atomics on words of memory go lane by lane, as their kernels do. Lanes outside of the memory, and those whose word is
// not at a multiple of its size, do nothing and get 0.

// change is what an atomic makes of a word, by the value in rdx, which becomes the word.
type change struct {
	code uint8     // an instruction on rdx and the word; on the word and rdx it is two less
	move uint8     // behind a comparison of the word with the value: what moves the word to rdx where it stays
	by   kernel.Op // of floats, an operation on vectors
	wide bool      // the word has 64 bits
}

var changes = map[kernel.Op]change{
	kernel.AtomicAddI32: {code: 0x03}, kernel.AtomicExchange32: {}, kernel.AtomicAnd32: {code: 0x23},
	kernel.AtomicOr32: {code: 0x0b}, kernel.AtomicXor32: {code: 0x33}, kernel.AtomicMinU32: {move: 0x42},
	kernel.AtomicMaxU32: {move: 0x47}, kernel.AtomicMinS32: {move: 0x4c}, kernel.AtomicMaxS32: {move: 0x4f},
	kernel.AtomicCompareExchange32: {move: 0x45},
	kernel.AtomicAddF32:            {by: kernel.AddF32}, kernel.AtomicMinF32: {by: kernel.MinF32},
	kernel.AtomicMaxF32: {by: kernel.MaxF32},
	kernel.AtomicAddI64: {code: 0x03, wide: true}, kernel.AtomicExchange64: {wide: true},
	kernel.AtomicAnd64: {code: 0x23, wide: true}, kernel.AtomicOr64: {code: 0x0b, wide: true},
	kernel.AtomicXor64: {code: 0x33, wide: true}, kernel.AtomicMinU64: {move: 0x42, wide: true},
	kernel.AtomicMaxU64: {move: 0x47, wide: true}, kernel.AtomicMinS64: {move: 0x4c, wide: true},
	kernel.AtomicMaxS64: {move: 0x4f, wide: true}, kernel.AtomicCompareExchange64: {move: 0x45, wide: true},
	kernel.AtomicAddF64: {by: kernel.AddF64, wide: true}, kernel.AtomicMinF64: {by: kernel.MinF64, wide: true},
	kernel.AtomicMaxF64: {by: kernel.MaxF64, wide: true},
}

// bytes is the size of the word.
func (x change) bytes() int32 {
	if x.wide {
		return 8
	}
	return 4
}

// comparesWord says whether an atomic has a comparator.
func comparesWord(op kernel.Op) bool {
	return op == kernel.AtomicCompareExchange32 || op == kernel.AtomicCompareExchange64
}

// Atomic says whether it is an atomic.
func (in *Inst) Atomic() bool {
	_, ok := changes[in.Op]
	return ok
}

// Where atomics have their operands and results, in what the code needs for itself: two chunks each.
const (
	placeOfOffset     = placeOfAddresses
	placeOfBase       = placeOfGenerals // what is to be added to offsets, and registers that are needed
	placeOfResults    = placeOfVectors
	placeOfComparator = placeOfVectors + 64
)

// lane is one that an atomic is for: a number behind the operands of the first lane, which are so far behind a register
// as they are behind the register file.
type lane struct {
	from   general
	number int32
}

// at is where an operand of so many bytes is.
func (l lane) at(place, bytes int32) address { return at(l.from, place+bytes*l.number) }

// appendAtomic appends an atomic on words of 64 bits: what puts the operands of both halves aside, the atomic, and what
// takes its results from where it leaves them.
func appendAtomic(list []Inst, in *Inst) []Inst {
	both := func(op kernel.Op, place uint64, move func(h *Inst, k uint8)) {
		for k := range uint8(2) {
			h := Inst{Op: op, Immediate: place + 32*uint64(k)}
			move(&h, k)
			list = append(list, h)
		}
	}
	both(putAside, placeOfValues, func(h *Inst, k uint8) { h.A = in.B.halfRead(k) })
	if in.C.Valid {
		both(putAside, placeOfComparator, func(h *Inst, k uint8) { h.A = in.C.halfRead(k) })
	}
	alone := *in
	alone.B, alone.C, alone.Dst, alone.answers = Register{}, Register{}, Register{}, in.Dst.Valid
	list = append(list, alone)
	if in.Dst.Valid {
		both(takeBack, placeOfResults, func(h *Inst, k uint8) { h.Dst, h.Keep = in.Dst.half(k), in.Keep })
	}
	return list
}

// atomic writes an atomic.
func (c *compiler) atomic(in *Inst) {
	for k, place := range []int32{placeOfOffset, placeOfValues, placeOfComparator} {
		if [...]bool{in.A.Valid, in.B.Valid, in.C.Valid}[k] {
			c.store(at(file, c.scratch+place), c.vector(k, spare[0]))
		}
	}
	results := c.scratch + placeOfResults
	if in.Dst.Valid || in.answers || !in.A.Valid {
		c.zeros(spare[0])
	}
	if in.Dst.Valid || in.answers {
		c.store(at(file, results), spare[0])
	}
	if in.answers {
		c.store(at(file, results+32), spare[0])
	}
	if !in.A.Valid {
		c.store(at(file, c.scratch+placeOfOffset), spare[0])
	}
	c.atomicLanes(in)
	if in.Dst.Valid {
		c.move(c.result(), memory(at(file, results)))
		c.keep(in)
	}
}

// atomicLanes writes an atomic for the lanes that take part, are within the memory and have whole words: one after the
// other where all do, in a loop elsewhere.
func (c *compiler) atomicLanes(in *Inst) {
	some, none := c.label(), c.label()
	bytes := changes[in.Op].bytes()
	c.limits(in, bytes, none)
	c.wholeWords(in, bytes)
	c.store64(at(file, c.scratch+placeOfBase), rax)
	n := int32(c.lanes())
	c.arithmetic(compares, rcx, 1<<n-1)
	c.jumpIf(notEqual, some)
	for i := range n {
		c.load32(rcx, at(file, c.scratch+placeOfOffset+4*i))
		c.changeWord(in, lane{file, i})
	}
	c.place(none)
	c.behind(some, none, func() { c.someLanes(in, none) })
}

// wholeWords leaves in rcx a bit for each lane that an atomic is to be done for.
func (c *compiler) wholeWords(in *Inst, bytes int32) {
	t, u, w := spare[0], spare[1], spare[2]
	c.move(t, memory(at(file, c.scratch+placeOfOffset)))
	c.setLow(u, r10)
	c.one(vpbroadcastd, u, reg(u))
	c.setLow(w, rax)
	c.one(vpbroadcastd, w, reg(w))
	if c.wide {
		if c.mode == Masked {
			c.masked = c.activeBits()
		}
		c.compareTo(vpcmpud, 0, 1, t, reg(u), isAtMost)
		c.two(vpaddd, t, t, reg(w))
		c.masked = 1
		c.evex(vptestnm, 0, 1, uint8(t), c.words(uint32(bytes-1)), 0)
		c.bitsInto(rcx, 1)
		return
	}
	c.two(vpminud, u, u, reg(t))
	c.two(vpcmpeqd, u, u, reg(t))
	c.two(vpaddd, t, t, reg(w))
	c.shift(shift32, left, t, t, uint8(33-bits.Len32(uint32(bytes))))
	c.two(vpcmpeqd, t, t, reg(c.zeros(w)))
	c.two(vpand, t, t, reg(u))
	if c.mode == Masked {
		c.two(vpand, t, t, reg(c.active(spare[3])))
	}
	c.signs(rcx, t)
}

// someLanes writes an atomic for the lanes whose bits are in rcx, if there are any: from the lowest on.
func (c *compiler) someLanes(in *Inst, none label) {
	left, from := slots, offset // they are needed for this, and then are what they were
	saved := [2]general{left, from}
	again := c.label()
	c.test(rcx)
	c.jumpIf(equal, none)
	for i, r := range saved {
		c.store64(at(file, c.scratch+placeOfBase+8*int32(i+1)), r)
	}
	c.lea(left, at(rcx, 0))
	c.place(again)
	c.prefixed(false, 0xbc, uint8(rcx), reg(vector(left))) // the number of the lowest bit: BSF
	c.lea(from, address{base: file, index: rcx, shift: uint8(bits.Len32(uint32(changes[in.Op].bytes())) - 1)})
	c.load32(rcx, address{base: file, index: rcx, shift: 2, displacement: c.scratch + placeOfOffset})
	c.lea(rdx, at(left, -1))
	c.integer(false, 0x23, uint8(left), reg(vector(rdx)), 0) // AND
	c.changeWord(in, lane{from, 0})
	c.test(left)
	c.jumpIf(notEqual, again)
	for i, r := range saved {
		c.load64(r, at(file, c.scratch+placeOfBase+8*int32(i+1)))
	}
}

// changeWord changes the word at the offset in rcx.
func (c *compiler) changeWord(in *Inst, l lane) {
	x, word := changes[in.Op], memory(address{base: rax, index: rcx})
	result, answers := l.at(c.scratch+placeOfResults, x.bytes()), in.Dst.Valid || in.answers
	integer := func(code uint8, r general, o operand) { c.integer(x.wide, code, uint8(r), o, 0) }
	integer(0x8b, rdx, c.atomicValue(x, l))
	lock := func() {
		if !in.Unshared {
			c.bytes(0xf0)
		}
	}
	switch {
	case !answers && x.code != 0:
		lock()
		integer(x.code-2, rdx, word)
	case x.code == 0x03 && !in.Unshared:
		lock()
		c.prefixed(x.wide, 0xc1, uint8(rdx), word) // XADD
		integer(0x89, rdx, memory(result))
	case in.Op == kernel.AtomicExchange32 || in.Op == kernel.AtomicExchange64:
		integer(0x87, rdx, word) // XCHG
		if answers {
			integer(0x89, rdx, memory(result))
		}
	case in.Unshared:
		integer(0x8b, r10, word)
		c.changed(in, l, r10)
		integer(0x89, rdx, word)
		if answers {
			integer(0x89, r10, memory(result))
		}
	default:
		c.exchangeWord(in, l)
		if answers {
			integer(0x89, rax, memory(result))
		}
		c.load64(rax, at(file, c.scratch+placeOfBase))
	}
}

// atomicValue is where the value of a lane lies.
func (c *compiler) atomicValue(x change, l lane) operand {
	return memory(l.at(c.scratch+placeOfValues, x.bytes()))
}

// changed leaves in rdx what the word in a register is to become.
func (c *compiler) changed(in *Inst, l lane, old general) {
	x := changes[in.Op]
	integer := func(code uint8, r general, o operand) { c.integer(x.wide, code, uint8(r), o, 0) }
	switch {
	case comparesWord(in.Op):
		integer(0x3b, old, memory(l.at(c.scratch+placeOfComparator, x.bytes())))
		c.prefixed(x.wide, x.move, uint8(rdx), reg(vector(old)))
	case x.by != 0:
		c.changedFloat(x, l, old)
	case x.move != 0:
		integer(0x3b, old, reg(vector(rdx)))
		c.prefixed(x.wide, x.move, uint8(rdx), reg(vector(old)))
	default:
		integer(x.code, rdx, reg(vector(old)))
	}
}

// changedFloat is changed of floats: the operation is done on a vector of which the lowest lane counts.
func (c *compiler) changedFloat(x change, l lane, old general) {
	a, b := spare[0], spare[1]
	load, into, from := vmovd, vmovd, vmovdFrom
	if x.wide {
		load, into, from = vmovqLoad, vmovqInto, vmovqFrom
	}
	c.vex(into, uint8(a), 0, reg(vector(old)), 0)
	c.vex(load, uint8(b), 0, c.atomicValue(x, l), 0)
	t, u := spare[2], spare[3]
	switch e := extremes[x.by]; { // of two NaNs they give the first, the kernels the value
	case x.by == kernel.MinF32 || x.by == kernel.MaxF32:
		c.extremeOf(e[0], e[1], a, b, a, t, u)
	case x.by == kernel.MinF64:
		c.extremeOfWide(vminpd, vorps, a, b, a, t, u)
	case x.by == kernel.MaxF64:
		c.extremeOfWide(vmaxpd, vandps, a, b, a, t, u)
	case x.wide:
		c.two(vaddpd, a, a, reg(b))
	default:
		c.two(vaddps, a, a, reg(b))
	}
	c.vex(from, uint8(a), 0, reg(vector(rdx)), 0)
}

// exchangeWord changes the word until nobody else has done so in between. A word that stays is not written. What was
// there is left in rax.
func (c *compiler) exchangeWord(in *Inst, l lane) {
	x := changes[in.Op]
	again, done := c.label(), c.label()
	c.lea(r10, address{base: rax, index: rcx})
	c.integer(x.wide, 0x8b, uint8(rax), memory(at(r10, 0)), 0)
	c.place(again)
	c.integer(x.wide, 0x8b, uint8(rdx), c.atomicValue(x, l), 0)
	c.changed(in, l, rax)
	c.cmp(rax, rdx)
	c.jumpIf(equal, done)
	c.bytes(0xf0)
	c.prefixed(x.wide, 0xb1, uint8(rdx), memory(at(r10, 0))) // CMPXCHG
	c.jumpIf(notEqual, again)
	c.place(done)
}
