package native

import (
	"math/bits"
	"slices"

	"farside/compute/internal/kernel"
)

// A shader that reads a vector or a structure has loads at the same offsets, some bytes apart. The first of such loads
// looks whether all lanes of all of them are within the memory, so that the rest needn't (gatherPointer). Those of
// neighbours that follow each other take words of 4 or 8 bytes from memory, and cut them up (members).

// mostBehind is how far a load is looked for whose neighbour is.
const mostBehind = 32

// joinNeighbours gives the instructions with loads of neighbours behind each other, where that changes nothing.
func joinNeighbours(insts []Inst) []Inst {
	first := func(in *Inst) bool { return in.gathers() || in.strided() }
	pair := func(in, o *Inst) bool { return in.besides(o, 1) }
	parts := func(in, o *Inst) bool { return o.Stores() || o.Dst.Valid && (o.Dst == in.A || o.Dst == in.Base) }
	return join(insts, mostBehind, first, pair, parts)
}

// join gives the instructions with the second ones of pairs right behind their first ones, where that changes nothing.
// A second one is looked for so many instructions behind, and not beyond one that parts them.
func join(insts []Inst, most int, first func(in *Inst) bool, pair, parts func(first, o *Inst) bool) []Inst {
	joined := false
	for i := range insts {
		for j := i + 1; first(&insts[i]) && j < len(insts) && j-i <= most; j++ {
			if last := &insts[j-1]; last.controls() || parts(&insts[i], last) {
				break
			}
			in := &insts[j]
			if !pair(&insts[i], in) {
				continue
			}
			between := insts[i+1 : j]
			if !slices.ContainsFunc(between, func(o Inst) bool { return o.Dst == in.Dst || o.takes(in.Dst) }) {
				if !joined {
					insts, joined = slices.Clone(insts), true
				}
				moved := insts[j]
				copy(insts[i+2:j+1], insts[i+1:j])
				insts[i+1] = moved
			}
			break
		}
	}
	return insts
}

// gathers says whether it is a load of lanes at any places.
func (in *Inst) gathers() bool {
	return in.Pattern == Any && (in.Op == kernel.Load32 || in.Op == kernel.LoadU16 || in.Op == kernel.LoadU8)
}

// takes says whether a register is an operand.
func (in *Inst) takes(r Register) bool {
	return r.Valid && (in.A == r || in.B == r || in.C == r || in.Base == r || in.movesMasked() && in.Dst == r)
}

// besides says whether another load is of the value that lies n values behind that of this one.
func (in *Inst) besides(o *Inst, n int) bool {
	return o.Op == in.Op && o.Pattern == in.Pattern && o.Words == in.Words && o.way == in.way && o.A == in.A &&
		o.Base == in.Base && o.Slot == in.Slot && o.Immediate == in.Immediate+uint64(n)*uint64(in.unit())
}

// members is how many loads of neighbours begin with the one under way: of 4 or 8 bytes, or one; any number up to the
// distance of lanes, if they have one. They have different results, of which the last alone may be what gives the
// offsets.
func (c *compiler) members() int {
	in := &c.insts[c.at]
	most := min(8/int(in.unit()), c.most-len(c.fixed)-1) // one vector has the offsets
	if in.strided() {
		most = min(int(in.words()), c.most-len(c.fixed)-1)
	}
	n := 1
	for n < most && c.at+n < len(c.insts) {
		last, o := &c.insts[c.at+n-1], &c.insts[c.at+n]
		if last.Dst == in.A || last.Dst == in.Base || !in.besides(o, n) ||
			slices.ContainsFunc(c.insts[c.at:c.at+n], func(m Inst) bool { return m.Dst == o.Dst }) {
			break
		}
		n++
	}
	if in.strided() {
		return n
	}
	if n = 1 << (bits.Len(uint(n)) - 1); n*int(in.unit()) < 4 {
		return 1
	}
	return n
}

// gatherNeighbours writes the load under way and those of its neighbours, unless it is the only one at these offsets.
// Where lanes are outside of the memory, or lie next to each other, each load is on its own.
func (c *compiler) gatherNeighbours(in *Inst) bool {
	known := c.earlier(in)
	end, others := c.reach(in)
	if known == nil && !others {
		return false
	}
	offsets := c.vector(0, spare[0])
	loads := c.insts[c.at:][:c.members()]
	dst := make([]vector, len(loads))
	c.results(loads, dst)
	slow, back := c.label(), c.label()
	var g general
	if known != nil {
		g = c.again(known, slow)
	} else {
		g = c.gatherPointer(in, offsets, end, slow)
	}
	c.gatherWords(loads, dst, at(g, int32(in.Immediate)), offsets)
	c.place(back)
	c.behind(slow, back, func() {
		saved := at(file, c.scratch+placeOfOffsets) // one of the results may be in the vector of the offsets
		c.store(saved, offsets)
		for i := range loads {
			if c.wide {
				c.loadPairAlone(&loads[i], dst[i], memory(saved))
			} else {
				c.loadAlone(&loads[i], dst[i], memory(saved))
			}
		}
	})
	for i := range loads {
		c.forgetPointers(loads[i].Dst)
	}
	for i := range loads[1:] {
		c.keep(&loads[1+i])
	}
	c.written = c.at + len(loads)
	return true
}

// gatherWords writes the loads of neighbours, the first of which is at from, within the memory.
func (c *compiler) gatherWords(loads []Inst, dst []vector, from address, offsets vector) {
	t, mask, low, high := spare[0], spare[1], spare[2], spare[3]
	offsets = c.gathering(offsets, t)
	unit, words := int(loads[0].unit()), [2]vector{low}
	skip := c.wide && c.skips(&loads[0])
	lanes := func(upper uint8) {
		switch {
		case !c.wide:
			c.two(vpcmpeqd, mask, mask, reg(mask))
		case skip:
			c.shiftBits(1, c.activeBits(), 8*upper)
		default:
			c.allBits(1)
		}
	}
	if len(loads)*unit <= 4 {
		lanes(0)
		c.gatherWith(vgatherdps, low, from, offsets, mask)
	} else {
		lanes(0)
		c.gatherWith(vgatherdpd, low, from, offsets, mask)
		c.upper(t, offsets)
		lanes(1)
		c.gatherWith(vgatherdpd, high, from, t, mask)
		words = [2]vector{t, mask}
		for i, order := range [2]uint8{0x88, 0xdd} {
			if c.wide {
				c.everyOther(words[i], low, high, uint32(i))
				continue
			}
			c.immediate(vshufps, words[i], low, reg(high), order)
			c.immediate(vpermq, words[i], 0, reg(words[i]), 0xd8)
		}
	}
	for i, d := range dst {
		word, bit := words[i*unit/4], uint8(8*(i*unit%4))
		switch {
		case unit == 4:
			c.move(d, reg(word))
		case bit == 0:
			c.two(vpand, d, word, c.words(1<<(8*unit)-1))
		default:
			c.shift(shift32, right, d, word, bit)
			if int(bit)+8*unit < 32 {
				c.two(vpand, d, d, c.words(1<<(8*unit)-1))
			}
		}
	}
}

// gathering gives a vector that a gather can have as offsets: without AVX-512 it has no high ones, and the number of
// rsp means none. The copy is t.
func (c *compiler) gathering(offsets, t vector) vector {
	if c.wide || offsets < high && offsets != vector(rsp) {
		return offsets
	}
	c.move(t, reg(offsets))
	return t
}

// gatherWith writes a gather of the lanes in K1, where vectors have 512 bits, or in mask.
func (c *compiler) gatherWith(o opcode, dst vector, from address, offsets, mask vector) {
	c.two(vpxor, dst, dst, reg(dst))
	if c.wide {
		c.gatherBy(o, 1, dst, from, offsets)
		return
	}
	c.gather(o, dst, from, offsets, mask)
}

// gatherPointer is a new pointer for gathers that reach end bytes behind their offsets. The code goes to slow where
// there is none.
func (c *compiler) gatherPointer(in *Inst, offsets vector, end uint64, slow label) general {
	p := c.pointer()
	*p = pointer{valid: true, any: true, number: p.number, a: in.A, base: in.Base, slot: in.Slot, used: c.at}
	g, none, t := pointers[p.number], c.label(), spare[1]
	c.nextToEachOther(in, reg(offsets), t)
	c.jumpIf(equal, none)
	c.behind(none, slow, func() { c.zero(g) })
	if c.known(in) && (c.wide || c.mode != Masked) {
		c.unlessLarge(in, end, none)
		c.addressOf(in)
		c.move64(g, rax)
		return g
	}
	base, size := slot(in.Slot)
	c.zero(rax)
	if in.Base.Valid {
		c.load32(rax, c.home(in.Base))
	}
	c.load64(r10, size)
	c.sub(r10, rax)
	c.jumpIf(below, none)
	c.arithmetic(subtracts, r10, int32(end))
	c.jumpIf(below, none)
	c.setLow(t, r10)
	c.one(vpbroadcastd, t, reg(t))
	if c.wide {
		if c.skips(in) {
			c.masked = c.activeBits()
		}
		c.compareTo(vpcmpud, 0, 1, offsets, reg(t), isNotAtMost)
		c.testBits(1)
	} else {
		c.two(vpminud, t, t, reg(offsets))
		c.two(vpcmpeqd, t, t, reg(offsets))
		c.signs(rcx, t)
		c.arithmetic(compares, rcx, 0xff)
	}
	c.jumpIf(notEqual, none)
	c.load64(g, base)
	c.add(g, rax)
	return g
}

// nextToEachOther compares, so that equal says whether lanes are next to each other.
func (c *compiler) nextToEachOther(in *Inst, offsets operand, t vector) {
	c.one(vpbroadcastd, t, offsets)
	c.two(vpaddd, t, t, c.multiples(uint32(in.unit())))
	if c.wide {
		c.compareTo(vpcmpd, 0, 1, t, offsets, isNotEqual)
		c.testBits(1)
		return
	}
	c.two(vpcmpeqd, t, t, offsets)
	c.signs(rax, t)
	c.arithmetic(compares, rax, 0xff)
}
