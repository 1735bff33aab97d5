package native

import "math"

// A region goes through its loop with a pair of chunks before it begins with the next, as long as two are left. The
// active lanes are bits, and so are those in masks that only the region uses.

// regionOfPairs writes what goes through a region pair by pair, or by two of them. Behind it comes what does so pair by
// pair, or chunk by chunk.
func (c *compiler) regionOfPairs(run []Inst) {
	r := c.newRegion(run)
	if c.twice && !r.worthTwo() && !ofSubgroups(run) {
		return
	}
	given := c.mode
	next, pair, last := c.label(), c.label(), c.label()
	bytes := int32(64)
	if c.twice {
		bytes = 128
	}
	c.compareEnd(bytes)
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
		c.loadActive()
		if r.divergent {
			c.activate(r, next)
		}
	case r.divergent:
		c.eachPair(func() { c.allBits(c.activeBits()) })
	}
	c.blocks(r)
	c.place(next)
	c.arithmetic(adds, offset, bytes)
	c.compareEnd(bytes)
	c.jumpIf(atMost, pair)
	done := c.label()
	c.cmp(end, offset)
	c.jumpIf(atMost, done)
	c.restoreUniforms(r) // the last chunk begins with them, too
	c.jump(last)
	c.place(done)
	c.zero(rax)
	c.leave()
	c.writeLater()
	c.endPairs()
	c.fixed, c.mode = nil, given
	c.place(last)
}

// loadActive makes the active lanes those of the mask.
func (c *compiler) loadActive() {
	c.eachPair(func() {
		c.one(vmovups, spare[0], memory(c.ofPair(c.maskOf(0))))
		c.signsTo(c.activeBits(), spare[0])
	})
}

// splitOn writes a Split whose lanes the next instruction takes from a mask: they are the active ones, and the others
// come to the other mask.
func (c *compiler) splitOn(in, next *Inst) {
	k, others := c.bitsOf(0, spare[2]), savedBits
	to := in.B
	if next.Dst == in.B {
		to = in.Dst
		c.bits(kand, others, k, c.activeBits())
		c.bits(kandn, c.activeBits(), k, c.activeBits())
	} else {
		c.bits(kandn, others, k, c.activeBits())
		c.bits(kand, c.activeBits(), k, c.activeBits())
	}
	if to.Valid {
		c.addBits(to, others)
	}
}

// addBits adds lanes to a mask.
func (c *compiler) addBits(to Register, k maskRegister) {
	if to.Step == 0 {
		c.bitsInto(rcx, k)
		c.integer(false, 0x09, uint8(rcx), memory(c.maskBits(c.home(to))), 0) // OR
		return
	}
	c.move(spare[0], c.words(math.MaxUint32))
	c.storeBy(k, c.ofPair(c.home(to)), spare[0])
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
			c.bits(kand, savedBits, k, c.activeBits())
			c.addBits(in.Dst, savedBits)
		}
		if in.B.Valid {
			c.bits(kandn, savedBits, k, c.activeBits())
			c.addBits(in.B, savedBits)
		}
	case Leave:
		if in.Dst.Valid {
			c.addBits(in.Dst, c.activeBits())
		}
	case Enter:
		c.enterPair(in)
		c.jumpIf(equal, r.labels[in.Target])
	case Again:
		if !in.Dst.Valid {
			return false
		}
		next := c.label()
		c.waiting(in)
		c.jumpIf(equal, next)
		c.round(r, in.Slot, r.labels[in.Target])
		c.jump(r.labels[in.Target])
		c.place(next)
	default:
		return false
	}
	return true
}

// waiting compares, so that equal says whether there is no lane in a mask. What pairs have there is read pair by pair:
// a processor waits where it reads as one what was written in parts.
func (c *compiler) waiting(in *Inst) {
	home := c.home(in.Dst)
	if in.Dst.Step == 0 {
		c.load32(rcx, home)
		c.test(rcx)
		if c.twice {
			home.displacement += 4
			c.integer(false, 0x0b, uint8(rcx), memory(home), 0) // OR
		}
		return
	}
	c.one(vmovups, spare[0], memory(home))
	if c.twice {
		c.second = true
		c.two(vpor, spare[0], spare[0], memory(c.ofPair(home)))
		c.second = false
	}
	c.signsTo(1, spare[0])
	c.testBits(1)
}

// enterPair makes the lanes in a mask the active ones, and compares, so that equal says whether there are none. Bits
// that were stored just now come to a general register sooner than to a mask register.
func (c *compiler) enterPair(in *Inst) {
	home := c.home(in.Dst)
	if in.Dst.Step > 0 {
		c.eachPair(func() {
			c.one(vmovups, spare[0], memory(c.ofPair(home)))
			c.signsTo(c.activeBits(), spare[0])
			c.store(c.ofPair(home), c.zeros(spare[1]))
		})
		c.testActive()
		return
	}
	c.zero(rdx)
	c.zero(rax)
	c.eachPair(func() {
		c.load32(rcx, c.maskBits(home))
		c.store32(c.maskBits(home), rdx)
		c.bitsFrom(c.activeBits(), rcx)
		c.integer(false, 0x0b, uint8(rax), reg(vector(rcx)), 0) // OR
	})
}
