package native

import "farside/compute/internal/kernel"

// Atomics on words of memory go lane by lane, as their kernels do. Lanes outside of the memory, and those whose word is
// not at a multiple of its size, do nothing and get 0.

// change is what an atomic makes of a word, by the value in edx, which becomes the word.
type change struct {
	code uint8 // an instruction on edx and the word; on the word and edx it is two less
	move uint8 // behind a comparison of the word with the value: what moves the word to edx where it stays
}

var changes = map[kernel.Op]change{
	kernel.AtomicAddI32: {code: 0x03}, kernel.AtomicExchange32: {}, kernel.AtomicAnd32: {code: 0x23},
	kernel.AtomicOr32: {code: 0x0b}, kernel.AtomicXor32: {code: 0x33}, kernel.AtomicMinU32: {move: 0x42},
	kernel.AtomicMaxU32: {move: 0x47}, kernel.AtomicMinS32: {move: 0x4c}, kernel.AtomicMaxS32: {move: 0x4f},
	kernel.AtomicCompareExchange32: {move: 0x45},
}

// Atomic says whether it is an atomic.
func (in *Inst) Atomic() bool {
	_, ok := changes[in.Op]
	return ok
}

// Where atomics have their operands and results, in what the code needs for itself: a chunk each, of results two.
const (
	placeOfOffset     = placeOfAddresses
	placeOfComparator = placeOfAddresses + 32
	placeOfBase       = placeOfResume // what is to be added to offsets, and the last offset
	placeOfLast       = placeOfBase + 8
	placeOfResults    = placeOfVectors
)

// atomic writes an atomic.
func (c *compiler) atomic(in *Inst) {
	var operands [3]operand
	given := [3]bool{in.A.Valid, in.B.Valid, in.C.Valid}
	for k := range operands {
		if given[k] {
			operands[k] = c.reads(k)
		}
	}
	write := func(half uint8) {
		for k, place := range []int32{placeOfOffset, placeOfValues, placeOfComparator} {
			if given[k] {
				c.move(spare[0], c.halfOf(operands[k], half, spare[0]))
				c.store(at(file, c.scratch+place), spare[0])
			}
		}
		results := c.scratch + placeOfResults + 32*int32(half)
		if in.Dst.Valid || !in.A.Valid {
			c.zeros(spare[0])
		}
		if in.Dst.Valid {
			c.store(at(file, results), spare[0])
		}
		if !in.A.Valid {
			c.store(at(file, c.scratch+placeOfOffset), spare[0])
		}
		c.atomicLanes(in, results)
	}
	if c.wide {
		c.inHalves(write)
	} else {
		write(0)
	}
	if in.Dst.Valid {
		c.move(c.result(), memory(at(file, c.scratch+placeOfResults)))
		c.keep(in)
	}
}

// atomicLanes writes an atomic for the lanes of a chunk: at once where all take part, are within the memory and have
// whole words.
func (c *compiler) atomicLanes(in *Inst, results int32) {
	slow, none := c.label(), c.label()
	t, u := spare[0], spare[1]
	c.limits(in, 4, none)
	if in.A.Valid {
		c.move(t, memory(at(file, c.scratch+placeOfOffset)))
	}
	c.setLow(u, r10)
	c.one(vpbroadcastd, u, reg(u))
	c.two(vpminud, u, u, reg(t))
	c.two(vpcmpeqd, u, u, reg(t))
	c.setLow(spare[2], rax)
	c.one(vpbroadcastd, spare[2], reg(spare[2]))
	c.two(vpor, t, t, reg(spare[2]))
	c.shift(shift32, left, t, t, 30)
	c.two(vpxor, spare[2], spare[2], reg(spare[2]))
	c.two(vpcmpeqd, t, t, reg(spare[2]))
	c.two(vpand, t, t, reg(u))
	if c.mode == Masked {
		c.two(vpand, t, t, reg(c.active(spare[3])))
	}
	c.signs(rcx, t)
	c.arithmetic(compares, rcx, 0xff)
	c.store64(at(file, c.scratch+placeOfBase), rax)
	c.jumpIf(notEqual, slow)
	for lane := range int32(8) {
		c.load32(rcx, at(file, c.scratch+placeOfOffset+4*lane))
		c.changeWord(in, lane, results)
	}
	c.place(none)
	c.behind(slow, none, func() {
		c.store64(at(file, c.scratch+placeOfLast), r10)
		for lane := range int32(8) {
			next := c.label()
			if c.mode == Masked {
				c.unlessActive(lane, next)
			}
			c.load32(rcx, at(file, c.scratch+placeOfOffset+4*lane))
			c.cmpFrom(rcx, at(file, c.scratch+placeOfLast))
			c.jumpIf(above, next)
			c.lea(rdx, address{base: rax, index: rcx})
			c.bytes(0xf6, 0xc2, 3) // TEST of the lowest byte
			c.jumpIf(notEqual, next)
			c.changeWord(in, lane, results)
			c.place(next)
		}
	})
}

// changeWord changes the word at the offset in rcx.
func (c *compiler) changeWord(in *Inst, lane, results int32) {
	x, word, result := changes[in.Op], memory(address{base: rax, index: rcx}), at(file, results+4*lane)
	c.load32(rdx, at(file, c.scratch+placeOfValues+4*lane))
	lock := func() {
		if !in.Unshared {
			c.bytes(0xf0)
		}
	}
	switch {
	case !in.Dst.Valid && x.code != 0:
		lock()
		c.integer(false, x.code-2, uint8(rdx), word, 0)
	case in.Op == kernel.AtomicAddI32 && !in.Unshared:
		lock()
		c.prefixed(0xc1, uint8(rdx), word) // XADD
		c.store32(result, rdx)
	case in.Op == kernel.AtomicExchange32:
		c.integer(false, 0x87, uint8(rdx), word, 0) // XCHG
		if in.Dst.Valid {
			c.store32(result, rdx)
		}
	case in.Unshared:
		c.load32(r10, word.address)
		c.changed(in, lane, r10)
		c.store32(word.address, rdx)
		if in.Dst.Valid {
			c.store32(result, r10)
		}
	default:
		c.exchangeWord(in, lane)
		if in.Dst.Valid {
			c.store32(result, rax)
		}
		c.load64(rax, at(file, c.scratch+placeOfBase))
	}
}

// changed leaves in edx what the word in a register is to become.
func (c *compiler) changed(in *Inst, lane int32, old general) {
	x := changes[in.Op]
	switch {
	case in.Op == kernel.AtomicCompareExchange32:
		c.integer(false, 0x3b, uint8(old), memory(at(file, c.scratch+placeOfComparator+4*lane)), 0)
		c.prefixed(x.move, uint8(rdx), reg(vector(old)))
	case x.move != 0:
		c.integer(false, 0x3b, uint8(old), reg(vector(rdx)), 0)
		c.prefixed(x.move, uint8(rdx), reg(vector(old)))
	default:
		c.integer(false, x.code, uint8(rdx), reg(vector(old)), 0)
	}
}

// exchangeWord changes the word until nobody else has done so in between. A word that stays is not written. What was
// there is left in eax.
func (c *compiler) exchangeWord(in *Inst, lane int32) {
	again, done := c.label(), c.label()
	c.lea(r10, address{base: rax, index: rcx})
	c.load32(rax, at(r10, 0))
	c.place(again)
	c.load32(rdx, at(file, c.scratch+placeOfValues+4*lane))
	c.changed(in, lane, rax)
	c.cmp(rax, rdx)
	c.jumpIf(equal, done)
	c.bytes(0xf0)
	c.prefixed(0xb1, uint8(rdx), memory(at(r10, 0))) // CMPXCHG
	c.jumpIf(notEqual, again)
	c.place(done)
}
