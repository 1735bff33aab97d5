package native

// Loads and stores of pairs of chunks.

// inHalves writes code for the chunks of a pair, one after the other.
func (c *compiler) inHalves(write func(half uint8)) {
	w := c.width()
	c.setWidth(width{paired: true, halved: true, second: w.second, twice: w.twice})
	write(0)
	c.arithmetic(adds, offset, 32)
	if c.mode == Masked {
		c.moveBits(savedBits, c.activeBits())
		c.shiftBits(c.activeBits(), c.activeBits(), 8)
	}
	write(1)
	if c.mode == Masked {
		c.moveBits(c.activeBits(), savedBits)
	}
	c.arithmetic(subtracts, offset, 32)
	c.setWidth(w)
}

// halfOf is an operand of a pair for one of its chunks, while code is for that; v may be needed.
func (c *compiler) halfOf(o operand, half uint8, v vector) operand {
	switch {
	case o.broadcast:
		o.broadcast = false
	case o.memory && o.address.index != offset:
		o.address.displacement += 32 * int32(half)
	case !o.memory && half == 1:
		c.wide = true
		c.upper(v, o.vector)
		c.wide = false
		return reg(v)
	}
	return o
}

// join makes a vector of the chunks in halfPlaces.
func (c *compiler) joinHalves(dst vector) {
	c.immediate(vinsertf128, dst, halfPlaces[0], reg(halfPlaces[1]), 1)
}

// stride is the bytes from a lane to the next, of an access that has a distance.
func (in *Inst) stride() int32 {
	if in.unit() < 4 && in.close() {
		return in.unit()
	}
	return 4 * in.words()
}

// size is Inst.size, of a pair if the code is for one.
func (c *compiler) size(in *Inst) uint64 {
	n := in.size()
	if c.wide && (in.Pattern == Consecutive || in.Pattern == Linear) {
		n += 8 * uint64(in.stride())
	}
	return n
}

// differs says whether the chunks of a pair may have different offsets, each chunk the same in all lanes.
func (in *Inst) differs() bool { return in.Pattern == Same && in.A.Step > 0 }

// follows goes to no unless the offsets of a pair's second chunk follow those of the first, or are the same if those of
// a chunk are.
func (c *compiler) follows(in *Inst, offsets operand, no label) {
	if !c.wide || in.Pattern != Consecutive && !in.differs() {
		return
	}
	if offsets.memory {
		a := offsets.address
		c.load32(rax, a)
		a.displacement += 32
		c.load32(rcx, a)
	} else {
		c.low(rax, offsets.vector)
		c.vex(vextracti128, uint8(offsets.vector), 0, reg(spare[2]), 1)
		c.bytes(2)
		c.low(rcx, spare[2])
	}
	if in.Pattern == Same {
		c.cmp(rcx, rax)
	} else {
		c.sub(rcx, rax)
		c.arithmetic(compares, rcx, 8*in.stride())
	}
	c.jumpIf(notEqual, no)
}

// loadPair writes a load.
func (c *compiler) loadPair(in *Inst) {
	switch {
	case in.strided() && c.loadStrided(in):
		return
	case in.way > 0 && in.words() == 1:
		c.one(vmovups, c.result(), memory(c.onWay(in)))
		return
	case in.way > 0:
		dst := c.result()
		c.inHalves(func(half uint8) { c.loadWords(halfPlaces[half], c.onWay(in), in.words()) })
		c.joinHalves(dst)
		return
	case in.gathers() && c.gatherNeighbours(in):
		return
	}
	offsets := c.reads(0)
	dst := c.result()
	c.loadPairAlone(in, dst, offsets)
}

// loadHalves loads one chunk after the other.
func (c *compiler) loadHalves(in *Inst, dst vector, offsets operand) {
	c.inHalves(func(half uint8) {
		c.loadAlone(in, halfPlaces[half], c.halfOf(offsets, half, halfPlaces[half]))
	})
	c.joinHalves(dst)
}

// loadPairAlone writes a load without what others have checked, but for that of accesses with a distance.
func (c *compiler) loadPairAlone(in *Inst, dst vector, offsets operand) {
	slow, back := c.label(), c.label()
	looked := offsets
	if in.Pattern == Any && offsets.memory {
		c.move(spare[0], offsets)
		looked = reg(spare[0])
	}
	from := at(c.address(in, looked, slow), int32(in.Immediate))
	switch {
	case in.unit() < 4 && (in.Pattern == Same || in.close()):
		c.loadSmall(in, dst, from)
	case in.Pattern == Same:
		c.one(vbroadcastss, dst, memory(from))
	case in.unit() == 4 && in.words() == 1:
		c.one(vmovups, dst, memory(from))
	default:
		c.loadPieces(in, from)
		c.joinHalves(dst)
	}
	c.place(back)
	c.behind(slow, back, func() {
		switch {
		case in.Pattern == Same && !in.differs():
			c.loadShared(in, dst, offsets)
		case in.Pattern == Any && in.unit() == 4:
			c.loadAnyPair(in, dst, offsets)
		default:
			c.loadHalves(in, dst, offsets)
		}
	})
}

// loadAnyPair loads lanes that are not all next to each other: those of each chunk may be. nextToEachOther has left in
// K1 which lanes are not next to the first.
func (c *compiler) loadAnyPair(in *Inst, dst vector, offsets operand) {
	gather, done := c.label(), c.label()
	c.bitsInto(rcx, 1)
	c.arithmetic(ands, rcx, 0xff)
	c.jumpIf(notEqual, gather)
	c.loadHalves(in, dst, offsets)
	c.jump(done)
	c.place(gather)
	c.gatherLanes(in, dst, offsets)
	c.place(done)
}

// loadPieces loads the chunks of a pair, whose lanes lie some words apart, to halfPlaces.
func (c *compiler) loadPieces(in *Inst, from address) {
	c.wide = false
	for _, v := range halfPlaces {
		if in.unit() < 4 {
			c.loadSmall(in, v, from)
		} else {
			c.loadWords(v, from, in.words())
		}
		from.displacement += 8 * in.stride()
	}
	c.wide = true
}

// loadShared loads a value that all lanes share, 0 if it is outside of the memory.
func (c *compiler) loadShared(in *Inst, dst vector, offsets operand) {
	none, t := c.label(), spare[0]
	if offsets.memory {
		c.load32(rdx, offsets.address)
	} else {
		c.low(rdx, offsets.vector)
	}
	c.zeros(t)
	c.limits(in, in.unit(), none)
	c.cmp(rdx, r10)
	c.jumpIf(above, none)
	from := address{base: rax, index: rdx}
	if in.unit() == 4 {
		c.load32(rcx, from)
	} else {
		c.loadZero(rcx, from, in.unit())
	}
	c.setLow(t, rcx)
	c.one(vpbroadcastd, t, reg(t))
	c.place(none)
	c.move(dst, reg(t))
}

// storePair writes a store.
func (c *compiler) storePair(in *Inst) {
	if in.storesStrided() && c.storeStrided(in) {
		return
	}
	value := c.vector(1, spare[1])
	if in.way > 0 {
		switch {
		case in.words() > 1:
			c.inHalves(func(half uint8) {
				c.storeWords(c.onWay(in), c.halfOf(reg(value), half, spare[1]).vector, in.words())
			})
		case c.mode == Streaming && in.Stream:
			c.stream(c.onWay(in), value)
		default:
			c.storeActive(c.onWay(in), value)
		}
		return
	}
	offsets := c.reads(0)
	slow, back := c.label(), c.label()
	if in.Pattern == Same {
		c.scatterPair(in, offsets, value)
		return
	}
	looked := offsets
	if in.Pattern == Any && offsets.memory {
		c.move(spare[0], offsets)
		looked = reg(spare[0])
	}
	to := at(c.address(in, looked, slow), int32(in.Immediate))
	switch {
	case in.unit() < 4 && in.close():
		c.storeSmallPair(in, to, value)
	case in.unit() == 4 && in.words() == 1:
		c.storeAligned(in, to, value)
	case in.unit() < 4 && c.mode == Masked:
		c.jump(slow)
	default:
		c.storePieces(in, to, value)
	}
	c.place(back)
	c.behind(slow, back, func() {
		if in.Pattern == Any && in.unit() == 4 {
			c.storeAnyPair(in, offsets, value)
		} else {
			c.scatterPair(in, offsets, value)
		}
	})
}

// storeAnyPair stores lanes that are not all next to each other, as loadAnyPair loads them.
func (c *compiler) storeAnyPair(in *Inst, offsets operand, value vector) {
	scatter, done := c.label(), c.label()
	c.bitsInto(rcx, 1)
	c.arithmetic(ands, rcx, 0xff)
	c.jumpIf(notEqual, scatter)
	c.inHalves(func(half uint8) {
		c.move(halfPlaces[0], c.halfOf(offsets, half, halfPlaces[0]))
		o, v := reg(halfPlaces[0]), c.halfOf(reg(value), half, halfPlaces[1]).vector
		slow, back := c.label(), c.label()
		c.storeActive(at(c.address(in, o, slow), int32(in.Immediate)), v)
		c.place(back)
		c.behind(slow, back, func() { c.scatter(in, o, v) })
	})
	c.jump(done)
	c.place(scatter)
	c.scatterPair(in, offsets, value)
	c.place(done)
}

// storeAligned writes a pair, past the caches if it is to be and its place allows that.
func (c *compiler) storeAligned(in *Inst, to address, value vector) {
	if c.mode != Streaming || !in.Stream {
		c.storeActive(to, value)
		return
	}
	plain, back := c.label(), c.label()
	c.lea(rcx, to)
	c.testLow(63)
	c.jumpIf(notEqual, plain)
	c.stream(to, value)
	c.place(back)
	c.behind(plain, back, func() { c.store(to, value) })
}

// storeSmallPair writes the lowest bits of lanes next to each other.
func (c *compiler) storeSmallPair(in *Inst, to address, value vector) {
	if c.mode == Masked {
		c.masked = c.activeBits()
	}
	o := vpmovdw
	if in.unit() == 1 {
		o = vpmovdb
	}
	c.vex(o, uint8(value), 0, memory(to), 0)
}

// storePieces writes the chunks of a pair, whose lanes lie some words apart.
func (c *compiler) storePieces(in *Inst, to address, value vector) {
	c.inHalves(func(half uint8) {
		v := c.halfOf(reg(value), half, spare[1]).vector
		from := to
		from.displacement += int32(half) * 8 * in.stride()
		if in.unit() < 4 {
			c.storeSmall(in, from, v)
		} else {
			c.storeWords(from, v, in.words())
		}
	})
}

// scatterPair writes a store of lanes at any places, in order.
func (c *compiler) scatterPair(in *Inst, offsets operand, value vector) {
	if in.unit() == 4 {
		c.scatter(in, offsets, value)
		return
	}
	c.inHalves(func(half uint8) {
		o := c.halfOf(offsets, half, halfPlaces[0])
		c.scatter(in, o, c.halfOf(reg(value), half, halfPlaces[1]).vector)
	})
}
