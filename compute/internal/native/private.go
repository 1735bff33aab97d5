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

// elements leaves in t how far each lane's element is behind the first register of an array, whose chunk rax points to,
// and in mask which lanes have one.
func (c *compiler) elements(in *Inst, t, mask, indices vector) {
	c.one(vmovups, mask, c.words(uint32(in.Immediate-1)))
	c.two(vpminud, mask, mask, reg(indices))
	c.two(vpcmpeqd, mask, mask, reg(indices))
	if bits.OnesCount32(in.Apart) == 1 {
		c.shift(shift32, left, t, indices, uint8(bits.TrailingZeros32(in.Apart)))
	} else {
		c.two(vpmulld, t, indices, c.words(in.Apart))
	}
	c.two(vpaddd, t, t, c.multiples(4))
	c.lea(rax, address{base: file, index: offset, displacement: int32(in.C.Offset)})
}

// loadPrivate writes a load from an array of registers; 0 is loaded where there is no element.
func (c *compiler) loadPrivate(in *Inst) {
	if in.A.Step > 0 {
		t, mask, r := spare[1], spare[2], spare[3]
		c.elements(in, t, mask, c.vector(0, spare[0]))
		c.two(vpxor, r, r, reg(r))
		c.gather(vgatherdps, r, at(rax, 0), t, mask)
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
	t, mask := spare[2], spare[3]
	c.elements(in, t, mask, c.vector(0, spare[0]))
	if avx512() {
		if c.mode == Masked {
			c.two(vpand, mask, mask, reg(c.active(spare[0])))
		}
		c.scatterWords(rax, t, mask, value)
		return
	}
	c.not(mask, mask)
	c.two(vpor, t, t, reg(mask))
	from, to := c.scratch, c.scratch+32
	c.store(at(file, from), t)
	c.store(at(file, to), value)
	c.zero(r10)
	c.arithmetic(adds, r10, math.MaxInt32)
	c.storeLanes(from, to, 4)
}
