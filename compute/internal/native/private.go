package native

import (
	"math"
	"math/bits"
)

// element is where a chunk of an element lies, for an index that all lanes share, or none; it uses rax. The code goes
// to none if there is no such element.
func (c *compiler) element(in *Inst, none label) address {
	a := c.home(in.C)
	if !in.A.Valid {
		return a
	}
	c.load32(rax, c.home(in.A))
	c.arithmetic(compares, rax, int32(in.Immediate-1))
	c.jumpIf(above, none)
	c.multiply(rax, rax, int32(in.Apart))
	c.add(rax, file)
	a.base = rax
	return a
}

// elements leaves in mask which lanes have an element, and gives the vector that has how far each one's is behind the
// first register of the array, whose chunk rax points to. It may be t.
func (c *compiler) elements(in *Inst, t, mask, indices vector) vector {
	t = c.distancesOf(in, t, indices)
	c.one(vmovups, mask, c.words(uint32(in.Immediate-1)))
	c.two(vpminud, mask, mask, reg(indices))
	c.two(vpcmpeqd, mask, mask, reg(indices))
	return t
}

// distancesOf gives the vector that has how far each lane's element is behind the first register of an array, whose
// chunk rax points to. Accesses of arrays with the same indices share it. It is t if there are no others.
func (c *compiler) distancesOf(in *Inst, t, indices vector) vector {
	first := in.C
	first.upper = false
	c.lea(rax, c.home(first))
	r := in.A
	r.apart = in.Apart
	next := c.nextElement(in)
	h := c.find(r)
	if h == nil && next != never {
		h = c.take(r, next)
		h.stored = true // it is never written: who needs it again computes it again
		c.distance(in, c.number(h), indices)
	}
	if h == nil {
		c.distance(in, t, indices)
		return t
	}
	h.pinned, h.next = c.at+1, next
	return c.number(h)
}

func (c *compiler) distance(in *Inst, t, indices vector) {
	if bits.OnesCount32(in.Apart) == 1 {
		c.shift(shift32, left, t, indices, uint8(bits.TrailingZeros32(in.Apart)))
	} else {
		c.two(vpmulld, t, indices, c.words(in.Apart))
	}
	c.two(vpaddd, t, t, c.multiples(in.C.Step/8))
}

// nextElement is the next instruction that accesses an array with the indices of the one under way.
func (c *compiler) nextElement(in *Inst) int {
	for i := c.at; i < len(c.insts); i++ {
		o := &c.insts[i]
		if i > c.at && o.Private() && o.A == in.A && o.Apart == in.Apart && o.C.Step == in.C.Step {
			return i
		}
		if o.Dst == in.A {
			break
		}
	}
	return never
}

// loadPrivate writes a load from an array of registers; 0 is loaded where there is no element.
func (c *compiler) loadPrivate(in *Inst) {
	if in.A.Step > 0 {
		indices, r := c.vector(0, spare[0]), spare[3]
		if c.wide {
			t := c.distancesOf(in, spare[1], indices)
			c.compareTo(vpcmpud, 0, 1, indices, c.words(uint32(in.Immediate-1)), isAtMost)
			c.gatherBy(c.bitsOfHalf(in, vgatherdps), 1, c.zeros(r), at(rax, 0), c.lanesOfHalf(in, t, spare[1]))
		} else {
			mask := spare[2]
			t := c.gathering(c.lanesOfHalf(in, c.elements(in, spare[1], mask, indices), spare[1]), spare[1])
			o := vgatherdps
			if in.Dst.Wide {
				o = vgatherdpd
				c.one(vpmovsxdq, mask, reg(c.lanesOfHalf(in, mask, mask)))
			}
			c.two(vpxor, r, r, reg(r))
			c.gather(o, r, at(rax, 0), t, mask)
		}
		c.one(vmovups, c.result(), reg(r))
		return
	}
	none, back := c.label(), c.label()
	dst := c.result()
	c.one(vmovups, dst, memory(c.element(in, none)))
	if c.place(back); in.A.Valid {
		c.behind(none, back, func() { c.two(vpxor, dst, dst, reg(dst)) })
	}
}

// lanesOfHalf gives the lanes of a vector of 32 bits that an access of 64 bits is for, in t or where they are.
func (c *compiler) lanesOfHalf(in *Inst, v, t vector) vector {
	if !in.upper {
		return v
	}
	c.upper(t, v)
	return t
}

// bitsOfHalf has K1 begin with the lanes that an access is for, and gives the form of an instruction for its bits.
func (c *compiler) bitsOfHalf(in *Inst, o opcode) opcode {
	if in.upper {
		c.shiftBits(1, 1, uint8(c.lanes()/2))
	}
	if in.C.Step == 64 {
		o.prefix |= quad
	}
	return o
}

// storePrivate writes a store to an array of registers.
func (c *compiler) storePrivate(in *Inst) {
	value := c.vector(1, spare[1])
	if in.A.Step == 0 {
		none := c.label()
		c.storeElement(in, c.element(in, none), value)
		c.place(none)
		return
	}
	indices := c.vector(0, spare[0])
	if c.wide {
		t := c.distancesOf(in, spare[2], indices)
		if c.mode == Masked {
			c.masked = c.activeBits()
		}
		c.compareTo(vpcmpud, 0, 1, indices, c.words(uint32(in.Immediate-1)), isAtMost)
		c.scatterBy(c.bitsOfHalf(in, vpscatterdd), 1, rax, c.lanesOfHalf(in, t, spare[2]), value)
		return
	}
	mask := spare[3]
	t := c.elements(in, spare[2], mask, indices)
	if avx512() {
		if c.mode == Masked {
			c.two(vpand, mask, mask, reg(c.active(spare[0])))
		}
		c.signsTo(1, mask)
		c.scatterBy(c.bitsOfHalf(in, vpscatterdd), 1, rax, c.lanesOfHalf(in, t, spare[2]), value)
		return
	}
	c.not(mask, mask)
	c.two(vpor, spare[2], t, reg(mask))
	from, to := c.scratch, c.scratch+32
	c.store(at(file, from), spare[2])
	c.store(at(file, to), value)
	c.zero(r10)
	c.arithmetic(adds, r10, math.MaxInt32)
	first, lanes := int32(0), int32(8)
	if in.C.Step == 64 {
		lanes = 4
	}
	if in.upper {
		first = lanes
	}
	c.storeLanes(from, to, first, lanes, int32(in.C.Step/8))
}

// storeElement stores a vector, of half the lanes if these have 64 bits, where lanes are active.
func (c *compiler) storeElement(in *Inst, to address, value vector) {
	if in.C.Step == 32 {
		c.storeActive(to, value)
		return
	}
	if c.mode == Masked {
		both := spare[3]
		c.move(both, memory(to))
		if c.wide {
			c.blendBy64(c.ofHalf(c.activeBits()), both, both, reg(value))
		} else {
			t := spare[2]
			c.activeHalf(t)
			c.blend(both, both, reg(value), t)
		}
		value = both
	}
	c.store(to, value)
}
