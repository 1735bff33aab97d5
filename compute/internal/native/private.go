package native

import (
	"math"
	"math/bits"
)

// element is where a chunk of an element lies, for an index that all lanes share; it uses rax. The code goes to none if
// there is no such element.
func (c *compiler) element(in *Inst, none label) address {
	c.load32(rax, c.home(in.A))
	c.arithmetic(compares, rax, int32(in.Immediate-1))
	c.jumpIf(above, none)
	c.multiply(rax, rax, int32(in.Apart))
	c.add(rax, file)
	return address{base: rax, index: offset, displacement: int32(in.C.Offset)}
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
	c.lea(rax, address{base: file, index: offset, displacement: int32(in.C.Offset)})
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
	c.two(vpaddd, t, t, c.multiples(4))
}

// nextElement is the next instruction that accesses an array with the indices of the one under way.
func (c *compiler) nextElement(in *Inst) int {
	for i := c.at; i < len(c.insts); i++ {
		o := &c.insts[i]
		if i > c.at && o.Private() && o.A == in.A && o.Apart == in.Apart {
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
			c.gatherBy(vgatherdps, 1, c.zeros(r), at(rax, 0), t)
		} else {
			t := c.gathering(c.elements(in, spare[1], spare[2], indices), spare[1])
			c.two(vpxor, r, r, reg(r))
			c.gather(vgatherdps, r, at(rax, 0), t, spare[2])
		}
		c.one(vmovups, c.result(), reg(r))
		return
	}
	none, back := c.label(), c.label()
	dst := c.result()
	c.one(vmovups, dst, memory(c.element(in, none)))
	c.place(back)
	c.behind(none, back, func() { c.two(vpxor, dst, dst, reg(dst)) })
}

// storePrivate writes a store to an array of registers.
func (c *compiler) storePrivate(in *Inst) {
	value := c.vector(1, spare[1])
	if in.A.Step == 0 {
		none := c.label()
		c.storeActive(c.element(in, none), value)
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
		c.scatterBy(1, rax, t, value)
		return
	}
	mask := spare[3]
	t := c.elements(in, spare[2], mask, indices)
	if avx512() {
		if c.mode == Masked {
			c.two(vpand, mask, mask, reg(c.active(spare[0])))
		}
		c.scatterWords(rax, t, mask, value)
		return
	}
	c.not(mask, mask)
	c.two(vpor, spare[2], t, reg(mask))
	from, to := c.scratch, c.scratch+32
	c.store(at(file, from), spare[2])
	c.store(at(file, to), value)
	c.zero(r10)
	c.arithmetic(adds, r10, math.MaxInt32)
	c.storeLanes(from, to, 4)
}
