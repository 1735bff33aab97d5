package native

// size is how far behind the first lane's offset a chunk of an access reaches; behind each lane's, without a distance.
func (in *Inst) size() uint64 {
	switch {
	case in.Pattern == Same:
		return uint64(in.bytes())
	case in.Pattern == Any:
		return 4 + uint64(in.more) // the word in which a lane's value begins
	case in.unit() < 4 && in.close():
		return 8 * uint64(in.unit())
	}
	last := uint64(7*4*in.words() + 4 + int32(in.more))
	return max(piecesOf(in.words()).bytes, last) // of words, in which smaller values begin
}

func slot(n int32) (base, size address) { return at(slots, 16*n), at(slots, 16*n+8) }

// load writes a load.
func (c *compiler) load(in *Inst) {
	if c.wide {
		c.loadPair(in)
		return
	}
	if in.way > 0 {
		from := c.onWay(in)
		c.loadWords(c.result(), from, in.words())
		return
	}
	if in.gathers() && c.gatherNeighbours(in) {
		return
	}
	offsets := c.offsets(in)
	dst := c.result() // which may be the same vector: the offsets are read before it is written
	c.loadAlone(in, dst, offsets)
}

// loadAlone writes a load without what others have checked, but for that of accesses with a distance.
func (c *compiler) loadAlone(in *Inst, dst vector, offsets operand) {
	slow, back := c.label(), c.label()
	p := c.address(in, offsets, slow)
	from := at(p, int32(in.Immediate))
	switch {
	case in.unit() < 4:
		c.loadSmall(in, dst, from)
	case in.Pattern == Same:
		c.one(vbroadcastss, dst, memory(from))
	default:
		c.loadWords(dst, from, in.words())
	}
	c.place(back)
	c.behind(slow, back, func() {
		switch {
		case in.unit() == 4:
			c.gatherLanes(in, dst, offsets)
		case in.Pattern == Any:
			c.gatherSmall(in, dst, offsets)
		default:
			c.loadLanes(in, dst, offsets)
		}
	})
}

// stores writes a store.
func (c *compiler) stores(in *Inst) {
	if c.wide {
		c.storePair(in)
		return
	}
	if in.way > 0 {
		value := c.vector(1, spare[1])
		switch {
		case in.words() > 1:
			c.storeWords(c.onWay(in), value, in.words())
		case c.mode == Streaming && in.Stream:
			c.stream(c.onWay(in), value)
		default:
			c.storeActive(c.onWay(in), value)
		}
		return
	}
	slow, back := c.label(), c.label()
	value, offsets := c.vector(1, spare[1]), c.offsets(in)
	if in.Pattern == Same || in.unit() < 4 && c.mode == Masked {
		c.behind(slow, back, func() { c.scatter(in, offsets, value) })
		c.jump(slow)
		c.place(back)
		return
	}
	p := c.address(in, offsets, slow)
	to := at(p, int32(in.Immediate))
	if in.unit() < 4 {
		c.storeSmall(in, to, value)
	} else if in.words() > 1 {
		c.storeWords(to, value, in.words())
	} else if c.mode == Streaming && in.Stream {
		plain := c.label()
		c.lea(rcx, to)
		c.testLow(31)
		c.jumpIf(notEqual, plain)
		c.stream(to, value)
		c.behind(plain, back, func() { c.store(to, value) })
	} else {
		c.storeActive(to, value)
	}
	c.place(back)
	c.behind(slow, back, func() { c.scatter(in, offsets, value) })
}

// maskOf is the mask of the chunk, from a lane on.
func (c *compiler) maskOf(lane int32) address {
	a := at(mask, 4*lane)
	a.index = offset
	return a
}

// active is the mask of the chunk, in the vector given if none has it.
func (c *compiler) active(otherwise vector) vector {
	if c.paired {
		c.spread(otherwise, c.activeBits(), 0)
		return otherwise
	}
	if c.divergent {
		return activeVector
	}
	c.one(vmovups, otherwise, memory(c.maskOf(0)))
	return otherwise
}

// activeInBits says whether the mask is in activeBits.
func (c *compiler) activeInBits() bool { return c.paired || c.divergent && avx512() }

// unlessActive goes to a place if a lane of the chunk doesn't take part; it uses rcx.
func (c *compiler) unlessActive(lane int32, to label) {
	if c.paired {
		c.bitsInto(rcx, c.activeBits())
		c.arithmetic(ands, rcx, 1<<lane)
	} else {
		c.load32(rcx, c.maskOf(lane))
		c.test(rcx)
	}
	c.jumpIf(equal, to)
}

// storeActive writes the lanes of a vector that take part.
func (c *compiler) storeActive(to address, value vector) {
	if c.mode != Masked {
		c.store(to, value)
		return
	}
	if c.activeInBits() {
		c.storeBy(c.activeBits(), to, value)
		return
	}
	c.storeMasked(to, c.active(spare[3]), value)
}

// offsets gives the offsets of an access: in a vector, if all of them are needed.
func (c *compiler) offsets(in *Inst) operand {
	if in.Pattern == Any {
		return reg(c.vector(0, spare[0]))
	}
	return c.reads(0)
}

// address gives the address of an access without its Immediate. The code goes to slow unless it accesses what is next
// to each other, or at one place, within the memory.
func (c *compiler) address(in *Inst, offsets operand, slow label) general {
	base, _ := slot(in.Slot)
	if in.Pattern == Any {
		c.nextToEachOther(in, offsets, spare[2])
		c.jumpIf(notEqual, slow)
		c.first(in, offsets, in.Immediate+c.lanes()*uint64(in.unit())+uint64(in.more))
		c.jumpIf(above, slow)
		c.addFrom(rax, base)
		return rax
	}
	if p := c.earlier(in); p != nil {
		return c.again(p, slow)
	}
	end, others := c.reach(in)
	if !others {
		c.follows(in, offsets, slow)
		c.first(in, offsets, end)
		c.jumpIf(above, slow)
		c.addFrom(rax, base)
		return rax
	}
	p := c.pointer()
	*p = pointer{valid: true, number: p.number, a: in.A, base: in.Base, slot: in.Slot, used: c.at}
	g, outside := pointers[p.number], c.label()
	c.follows(in, offsets, outside)
	c.first(in, offsets, end)
	c.jumpIf(above, outside)
	c.load64(g, base)
	c.add(g, rax)
	c.behind(outside, slow, func() { c.zero(g) })
	return g
}

// again is a pointer of earlier accesses, or goes to slow if there is none.
func (c *compiler) again(p *pointer, slow label) general {
	g := pointers[p.number]
	p.used = c.at
	c.test(g)
	c.jumpIf(equal, slow)
	return g
}

// first leaves the offset of the first lane in rax, and compares with the size of the memory what lies end bytes behind
// it.
func (c *compiler) first(in *Inst, offsets operand, end uint64) {
	c.firstOffset(in, offsets)
	c.lea(rcx, at(rax, int32(end)))
	_, size := slot(in.Slot)
	c.cmpFrom(rcx, size)
}

// firstOffset leaves the offset of the first lane in rax.
func (c *compiler) firstOffset(in *Inst, offsets operand) {
	if offsets.memory {
		c.load32(rax, offsets.address)
	} else {
		c.low(rax, offsets.vector)
	}
	if in.Base.Valid {
		c.load32(rcx, c.home(in.Base))
		c.add(rax, rcx)
	}
}

// reach is how far the accesses with the same offsets go, this one and those that come before the offsets change, and
// whether there are others.
func (c *compiler) reach(in *Inst) (end uint64, others bool) {
	end = in.Immediate + c.size(in)
	if c.halved {
		return end, false
	}
	for i := c.at + 1; i < len(c.insts); i++ {
		if last := c.insts[i-1].Dst; last.Valid && (last == in.A || last == in.Base) {
			break
		}
		o := &c.insts[i]
		if o.accesses() && (o.Pattern == Any) == (in.Pattern == Any) && o.A == in.A && o.Base == in.Base &&
			o.Slot == in.Slot && (in.Pattern != Any || !o.Stores()) {
			end, others = max(end, o.Immediate+c.size(o)), true
		}
	}
	return end, others
}

// earlier is the pointer of earlier accesses with the same offsets, or nil.
func (c *compiler) earlier(in *Inst) *pointer {
	if c.halved {
		return nil
	}
	for i := range c.pointers {
		p := &c.pointers[i]
		if p.valid && p.any == (in.Pattern == Any) && p.a == in.A && p.base == in.Base && p.slot == in.Slot {
			return p
		}
	}
	return nil
}

// free is how many pointers there are.
func (c *compiler) free() int {
	switch {
	case c.inRegion:
		return len(pointers) - 2 // without counter and mask
	case c.mode == Masked:
		return len(pointers) - 1
	}
	return len(pointers)
}

// pointer is one that is free, or that was used least lately.
func (c *compiler) pointer() *pointer {
	best := &c.pointers[len(c.ways)]
	for i := len(c.ways); i < c.free(); i++ {
		p := &c.pointers[i]
		if best.valid && (!p.valid || p.used < best.used) {
			best = p
		}
	}
	return best
}

// limits leaves in r10 the last offset at which an access of some bytes is within the memory, and goes to none if there
// is none; in rax what is to be added to offsets, as an address.
func (c *compiler) limits(in *Inst, bytes int32, none label) {
	base, size := slot(in.Slot)
	if in.Base.Valid {
		c.load32(rax, c.home(in.Base))
	} else {
		c.zero(rax)
	}
	c.arithmetic(adds, rax, int32(in.Immediate))
	c.load64(r10, size)
	c.sub(r10, rax)
	c.jumpIf(below, none)
	c.arithmetic(subtracts, r10, bytes)
	c.jumpIf(below, none)
	c.addFrom(rax, base)
}

// skips says whether a gather leaves out lanes that don't take part: they may be many, and far from each other.
func (c *compiler) skips(in *Inst) bool { return c.skipping && c.mode == Masked && in.Pattern == Any }

// known says whether all lanes of an access are known to be within a memory that is large enough. Those that don't take
// part may have any offsets.
func (c *compiler) known(in *Inst) bool {
	return in.Most > 0 && in.Most < Limit/2 && in.Pattern == Any && (c.mode != Masked || in.Stores() || c.skips(in))
}

// unlessLarge goes to a place if the memory of a known access has less than so many bytes behind the largest offset.
func (c *compiler) unlessLarge(in *Inst, bytes uint64, to label) {
	_, size := slot(in.Slot)
	c.integer(true, 0x81, compares, memory(size), 4)
	c.word(int32(uint64(in.Most) + bytes))
	c.jumpIf(below, to)
}

// addressOf leaves in rax the address of the memory of an access, with Base.
func (c *compiler) addressOf(in *Inst) {
	base, _ := slot(in.Slot)
	if !in.Base.Valid {
		c.load64(rax, base)
		return
	}
	c.load32(rax, c.home(in.Base))
	c.addFrom(rax, base)
}

// gatherLanes writes a load of lanes at any places; what lies outside of the memory is 0.
func (c *compiler) gatherLanes(in *Inst, dst vector, offsets operand) {
	if !c.known(in) {
		c.gatherWithin(in, dst, offsets)
		return
	}
	t, mask, r := spare[0], spare[1], spare[2]
	small, back := c.label(), c.label()
	c.unlessLarge(in, in.Immediate+uint64(in.bytes()), small)
	c.move(t, offsets)
	c.addressOf(in)
	switch {
	case c.wide && c.skips(in):
		c.moveBits(1, c.activeBits())
	case c.wide:
		c.allBits(1)
	case c.skips(in):
		c.move(mask, reg(c.active(mask)))
	default:
		c.two(vpcmpeqd, mask, mask, reg(mask))
	}
	c.gatherWith(vgatherdps, r, at(rax, int32(in.Immediate)), t, mask)
	c.move(dst, reg(r))
	c.place(back)
	c.behind(small, back, func() { c.gatherWithin(in, dst, offsets) })
}

// gatherWithin writes a load of those lanes that are within the memory.
func (c *compiler) gatherWithin(in *Inst, dst vector, offsets operand) {
	t, mask, r := spare[0], spare[1], spare[2]
	none := c.label()
	c.move(t, offsets)
	c.two(vpxor, r, r, reg(r))
	c.limits(in, in.bytes(), none)
	c.setLow(mask, r10)
	c.one(vpbroadcastd, mask, reg(mask))
	if c.wide {
		if c.skips(in) {
			c.masked = c.activeBits()
		}
		c.compareTo(vpcmpud, 0, 1, t, reg(mask), isAtMost)
		c.gatherBy(vgatherdps, 1, r, at(rax, 0), t)
	} else {
		c.two(vpminud, mask, mask, reg(t))
		c.two(vpcmpeqd, mask, mask, reg(t))
		if c.skips(in) {
			c.two(vpand, mask, mask, reg(c.active(spare[3])))
		}
		c.gather(vgatherdps, r, at(rax, 0), t, mask)
	}
	c.place(none)
	c.one(vmovups, dst, reg(r))
}

// gatherSmall writes a load of 8 or 16 bits of lanes at any places: of the words in which they are the lowest bits, or
// higher ones at the end of the memory.
func (c *compiler) gatherSmall(in *Inst, dst vector, offsets operand) {
	slow, back := c.label(), c.label()
	t, mask, r, last := spare[0], spare[1], spare[2], spare[3]
	c.one(vmovups, t, offsets)
	c.limits(in, 4, slow)
	c.lea(rcx, at(r10, 4-in.unit()))
	c.setLow(mask, rcx)
	c.one(vpbroadcastd, mask, reg(mask))
	c.two(vpminud, mask, mask, reg(t))
	c.two(vpcmpeqd, mask, mask, reg(t))
	c.signs(rcx, mask)
	c.arithmetic(compares, rcx, 0xff)
	c.jumpIf(notEqual, slow)
	c.setLow(last, r10)
	c.one(vpbroadcastd, last, reg(last))
	c.two(vpminud, last, last, reg(t))
	c.two(vpsubd, t, t, reg(last)) // the bytes of the word before the value
	c.shift(shift32, left, t, t, 3)
	c.gather(vgatherdps, r, at(rax, 0), last, mask)
	c.two(vpsrlvd, r, r, reg(t))
	c.two(vpand, dst, r, c.words(1<<(8*in.unit())-1))
	c.place(back)
	c.behind(slow, back, func() { c.loadLanes(in, dst, offsets) }) // a lane is outside
}

// storeSmall writes the lowest bits of all lanes next to each other, or one by one.
func (c *compiler) storeSmall(in *Inst, to address, value vector) {
	if !in.close() {
		half := value
		for lane := range uint8(8) {
			if lane == 4 {
				half = spare[0]
				c.upper(half, value)
			}
			c.low32(rcx, half, lane&3)
			c.storeLow(to, rcx, in.unit())
			to.displacement += 4 * in.words()
		}
		return
	}
	t, u := spare[0], spare[1]
	c.two(vpand, t, value, c.words(1<<(8*in.unit())-1))
	c.upper(u, t)
	c.two(vpackusdw, t, t, reg(u))
	if in.unit() == 2 {
		c.vex(vmovdquTo, uint8(t), 0, memory(to), 0)
		return
	}
	c.two(vpackuswb, t, t, reg(t))
	c.vex(vmovqTo, uint8(t), 0, memory(to), 0)
}

// loadSmall writes a load of 8 or 16 bits, next to each other, in words at a distance, or the same for all lanes.
func (c *compiler) loadSmall(in *Inst, dst vector, from address) {
	switch {
	case in.Pattern != Same && !in.close():
		// The words end with the memory: its size mostly is a multiple of theirs.
		inWord := min(from.displacement&3, 4-in.unit())
		from.displacement -= inWord
		c.loadWords(dst, from, in.words())
		if inWord > 0 {
			c.shift(shift32, right, dst, dst, uint8(8*inWord))
		}
		if inWord+in.unit() < 4 {
			c.two(vpand, dst, dst, c.words(1<<(8*in.unit())-1))
		}
	case in.Pattern == Same:
		c.loadZero(rcx, from, in.unit())
		c.setLow(dst, rcx)
		c.one(vpbroadcastd, dst, reg(dst))
	case in.unit() == 1:
		c.one(vpmovzxbd, dst, memory(from))
	default:
		c.one(vpmovzxwd, dst, memory(from))
	}
}

// loadLanes writes a load of 8 or 16 bits of lanes at any places; what lies outside of the memory is 0.
func (c *compiler) loadLanes(in *Inst, dst vector, offsets operand) {
	from, to := c.scratch, c.scratch+32
	none := c.label()
	if offsets.memory {
		c.one(vmovups, spare[0], offsets)
		offsets = reg(spare[0])
	}
	c.store(at(file, from), offsets.vector)
	c.two(vpxor, spare[1], spare[1], reg(spare[1]))
	c.store(at(file, to), spare[1])
	c.limits(in, in.unit(), none)
	for lane := range int32(8) {
		next := c.label()
		c.load32(rcx, at(file, from+4*lane))
		c.cmp(rcx, r10)
		c.jumpIf(above, next)
		c.loadZero(rdx, address{base: rax, index: rcx}, in.unit())
		c.store32(at(file, to+4*lane), rdx)
		c.place(next)
	}
	c.place(none)
	c.one(vmovups, dst, memory(at(file, to)))
}

// scatter writes a store of lanes at any places, in order; what lies outside of the memory is not written.
func (c *compiler) scatter(in *Inst, offsets operand, value vector) {
	if avx512() && in.unit() == 4 && c.known(in) {
		small, back := c.label(), c.label()
		c.unlessLarge(in, in.Immediate+uint64(in.bytes()), small)
		c.move(spare[0], offsets)
		c.addressOf(in)
		c.arithmetic(adds, rax, int32(in.Immediate))
		c.takingPart(1, spare[2])
		c.scatterBy(vpscatterdd, 1, rax, spare[0], value)
		c.place(back)
		c.behind(small, back, func() { c.scatterWithin(in, offsets, value) })
		return
	}
	c.scatterWithin(in, offsets, value)
}

// takingPart leaves in a mask register which lanes take part; it uses a vector.
func (c *compiler) takingPart(k maskRegister, t vector) {
	switch {
	case c.mode != Masked:
		c.allBits(k)
	case c.activeInBits():
		c.moveBits(k, c.activeBits())
	default:
		c.signsTo(k, c.active(t))
	}
}

// scatterWithin writes a store of those lanes that are within the memory.
func (c *compiler) scatterWithin(in *Inst, offsets operand, value vector) {
	from, to := c.scratch, c.scratch+32
	none := c.label()
	if avx512() && in.unit() == 4 {
		t, mask := spare[0], spare[2]
		c.move(t, offsets)
		c.limits(in, in.bytes(), none)
		c.setLow(mask, r10)
		c.one(vpbroadcastd, mask, reg(mask))
		c.two(vpminud, mask, mask, reg(t))
		c.two(vpcmpeqd, mask, mask, reg(t))
		if c.mode == Masked {
			c.two(vpand, mask, mask, reg(c.active(spare[3])))
		}
		c.scatterWords(rax, t, mask, value)
		c.place(none)
		return
	}
	c.store(at(file, to), value)
	if offsets.memory {
		c.one(vmovups, spare[0], offsets)
		offsets = reg(spare[0])
	}
	c.store(at(file, from), offsets.vector)
	c.limits(in, in.bytes(), none)
	c.storeLanes(from, to, 0, 8, in.unit())
	c.place(none)
}

// storeLanes writes some lanes, of 64 bits if they have 8 bytes, which lie in the register file at to, to the offsets
// that those of the chunk have there at from, if they are no more than r10, from rax on.
func (c *compiler) storeLanes(from, to, first, lanes, bytes int32) {
	for lane := first; lane < first+lanes; lane++ {
		next := c.label()
		if c.mode == Masked {
			c.unlessActive(lane, next)
		}
		c.load32(rcx, at(file, from+4*lane))
		c.cmp(rcx, r10)
		c.jumpIf(above, next)
		if bytes == 8 {
			c.load64(rdx, at(file, to+8*(lane-first)))
			c.store64(address{base: rax, index: rcx}, rdx)
		} else {
			c.load32(rdx, at(file, to+4*lane))
			c.storeLow(address{base: rax, index: rcx}, rdx, bytes)
		}
		c.place(next)
	}
}
