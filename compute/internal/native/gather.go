package native

// gathers writes a load of lanes at any places, if other loads have the same offsets. The first of these loads looks
// whether all lanes of all of them are within the memory, so that the rest needn't. Where they are not, or lie next to
// each other, each load is on its own.
func (c *compiler) gathers(in *Inst, dst, offsets vector) bool {
	slow, back := c.label(), c.label()
	var g general
	if p := c.known(in); p != nil {
		g = c.again(p, slow)
	} else if end, others := c.reach(in); others {
		g = c.gatherPointer(in, offsets, end, slow)
	} else {
		return false
	}
	t, mask, r := offsets, spare[1], spare[2]
	if t > 15 || t == vector(rsp) { // the instruction has no such offsets, or the address means none
		t = spare[0]
		c.move(t, reg(offsets))
	}
	c.two(vpcmpeqd, mask, mask, reg(mask))
	c.two(vpxor, r, r, reg(r))
	c.gather(r, at(g, int32(in.Immediate)), t, mask)
	if in.unit() < 4 {
		c.two(vpand, dst, r, c.words(1<<(8*in.unit())-1))
	} else {
		c.move(dst, reg(r))
	}
	c.place(back)
	c.later = append(c.later, later{slow, back, func() { c.loadAlone(in, dst, reg(offsets)) }})
	return true
}

// gatherPointer is a new pointer for gathers that reach end bytes behind their offsets. The code goes to slow where
// there is none.
func (c *compiler) gatherPointer(in *Inst, offsets vector, end uint64, slow label) general {
	p := c.pointer()
	*p = pointer{valid: true, any: true, number: p.number, a: in.A, base: in.Base, slot: in.Slot, used: c.at}
	g, none, t := pointers[p.number], c.label(), spare[1]
	c.nextToEachOther(in, reg(offsets), t)
	c.jumpIf(equal, none)
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
	c.two(vpminud, t, t, reg(offsets))
	c.two(vpcmpeqd, t, t, reg(offsets))
	c.signs(rcx, t)
	c.arithmetic(compares, rcx, 0xff)
	c.jumpIf(notEqual, none)
	c.load64(g, base)
	c.add(g, rax)
	c.later = append(c.later, later{none, slow, func() { c.zero(g) }})
	return g
}

// nextToEachOther compares, so that equal says whether lanes are next to each other.
func (c *compiler) nextToEachOther(in *Inst, offsets operand, t vector) {
	c.one(vpbroadcastd, t, offsets)
	var distances [8]uint32
	for i := range distances {
		distances[i] = uint32(i) * uint32(in.unit())
	}
	c.two(vpaddd, t, t, c.constant(distances))
	c.two(vpcmpeqd, t, t, offsets)
	c.signs(rax, t)
	c.arithmetic(compares, rax, 0xff)
}
