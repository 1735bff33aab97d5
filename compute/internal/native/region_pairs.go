package native

import "math"

// A region goes through its loop with a pair of chunks before it begins with the next, as long as two are left. The
// active lanes are bits, and so are those in masks that only the region uses.

// regionOfPairs writes what goes through a region pair by pair. Behind it comes what does so chunk by chunk.
func (c *compiler) regionOfPairs(run []Inst) {
	r := c.newRegion(run)
	given := c.mode
	next, pair, last := c.label(), c.label(), c.label()
	c.comparePair()
	c.jumpIf(above, last)
	c.load32(counter, at(file, c.scratch+placeOfRounds))
	c.clearMasks(r)
	c.saveUniforms(r)
	c.fixed = r.pins
	c.beginPairs(len(r.pins))
	if r.divergent {
		c.mode = Masked
	}
	c.place(pair)
	switch {
	case given == Masked:
		c.one(vmovups, spare[0], memory(c.maskOf(0)))
		c.signsTo(activeBits, spare[0])
		if r.divergent {
			c.activate(r, next)
		}
	case r.divergent:
		c.allBits(activeBits)
	}
	c.blocks(r)
	c.place(next)
	c.arithmetic(adds, offset, 64)
	c.comparePair()
	c.jumpIf(atMost, pair)
	c.cmp(offset, end)
	c.jumpIf(below, last)
	c.zero(rax)
	c.leave()
	c.writeLater()
	c.endPairs()
	c.fixed, c.mode = nil, given
	c.place(last)
}

// splitOn writes a Split whose lanes the next instruction takes from a mask: they are the active ones, and the others
// come to the other mask.
func (c *compiler) splitOn(in, next *Inst) {
	k, others := c.bitsOf(0, spare[2]), savedBits
	to := in.B
	if next.Dst == in.B {
		to = in.Dst
		c.bits(kand, others, k, activeBits)
		c.bits(kandn, activeBits, k, activeBits)
	} else {
		c.bits(kandn, others, k, activeBits)
		c.bits(kand, activeBits, k, activeBits)
	}
	if to.Valid {
		c.addBits(to, others)
	}
}

// addBits adds lanes to a mask.
func (c *compiler) addBits(to Register, k maskRegister) {
	if to.Step == 0 {
		c.bitsInto(rcx, k)
		c.integer(false, 0x09, uint8(rcx), memory(c.home(to)), 0) // OR
		return
	}
	c.move(spare[0], c.words(math.MaxUint32))
	c.storeBy(k, c.home(to), spare[0])
}

// controlPair writes control flow, if it is not that for a chunk.
func (c *compiler) controlPair(r *region, in *Inst) bool {
	switch in.Op {
	case JumpIf, JumpUnless:
		b := c.findBits(in.A)
		if b == nil {
			return false
		}
		c.testBits(c.maskRegister(b))
		when := notEqual
		if in.Op == JumpUnless {
			when = equal
		}
		c.jumpIf(when, r.labels[in.Target])
	case Split:
		k := c.bitsOf(0, spare[2])
		if in.Dst.Valid {
			c.bits(kand, savedBits, k, activeBits)
			c.addBits(in.Dst, savedBits)
		}
		if in.B.Valid {
			c.bits(kandn, savedBits, k, activeBits)
			c.addBits(in.B, savedBits)
		}
	case Leave:
		if in.Dst.Valid {
			c.addBits(in.Dst, activeBits)
		}
	case Enter:
		c.enterPair(in)
		c.jumpIf(equal, r.labels[in.Target])
	case Again:
		if !in.Dst.Valid {
			return false
		}
		next := c.label()
		if in.Dst.Step == 0 {
			c.load32(rcx, c.home(in.Dst))
			c.test(rcx)
		} else {
			c.one(vmovups, spare[0], memory(c.home(in.Dst)))
			c.signsTo(1, spare[0])
			c.testBits(1)
		}
		c.jumpIf(equal, next)
		c.round(r, in.Slot, r.labels[in.Target])
		c.jump(r.labels[in.Target])
		c.place(next)
	default:
		return false
	}
	return true
}

// enterPair makes the lanes in a mask the active ones, and compares, so that equal says whether there are none.
func (c *compiler) enterPair(in *Inst) {
	if in.Dst.Step > 0 {
		c.one(vmovups, spare[0], memory(c.home(in.Dst)))
		c.signsTo(activeBits, spare[0])
		c.store(c.home(in.Dst), c.zeros(spare[1]))
		c.testBits(activeBits)
		return
	}
	c.load32(rcx, c.home(in.Dst))
	c.zero(rdx)
	c.store32(c.home(in.Dst), rdx)
	c.bitsFrom(activeBits, rcx)
	c.test(rcx)
}
