package native

import (
	"slices"

	"farside/compute/internal/kernel"
)

// A run or region with instructions on subgroups goes through all of it with one subgroup before the next, in vectors
// of 512 bits: that is two pairs of chunks. Each of its instructions on subgroups is one for the first pair and, right
// behind it, one for the second. C is the value in the pair itself, and B that in the other one. Lanes get the same
// bits as from other code: what is combined is combined in the order of reduce and scan.

// ofTwoPairs are the lanes of a subgroup that is two pairs of chunks.
const ofTwoPairs = 4 * kernel.Width

// Groups says whether Options.Groups may be set, for subgroups of so many lanes.
func Groups(lanes uint32) bool { return avx512() && lanes == ofTwoPairs }

// Grouped says whether an instruction that has code may be in a run or region with instructions on subgroups, where
// Options.Groups is set.
func (in *Inst) Grouped() bool {
	return in.Once || in.Shuffles() || in.Pairs() && !in.Atomic() && !in.Physical()
}

// loopOfSubgroups writes instructions for all subgroups that are left, at least one.
func (c *compiler) loopOfSubgroups(top label, insts []Inst) {
	c.align(16)
	c.place(top)
	c.twice = true
	c.beginPairs(0)
	c.looping = true
	if c.mode == Masked {
		c.loadActive()
	}
	c.begin(inTwo(insts))
	for i := range c.insts {
		c.at, c.second = i, c.insts[i].part == secondPart
		c.inst(&c.insts[i])
	}
	c.looping = false
	c.endPairs()
	c.arithmetic(adds, offset, 4*ofTwoPairs)
	c.cmp(offset, end)
	c.jumpIf(below, top)
}

// ofSubgroups says whether a run or region has instructions on subgroups.
func ofSubgroups(run []Inst) bool {
	return slices.ContainsFunc(run, func(in Inst) bool { return in.Shuffles() })
}

// shuffleInTwo is an instruction on subgroups for each of two pairs. Where all lanes of a subgroup have one result the
// second one is a copy.
func shuffleInTwo(in Inst) (first, second Inst) {
	first, second = in, in
	first.part, second.part = firstPart, secondPart
	second.Dst, second.A = in.Dst.inSecond(), in.A.inSecond()
	switch {
	case in.Op == Elect:
	case in.Op == First || in.Op == Ballot || in.Op == Reduce && in.Apart == ofTwoPairs:
		first.B = in.C.inSecond()
		second = Inst{Op: kernel.OrI32, A: in.Dst, B: in.Dst, Dst: second.Dst, Keep: in.Keep, part: secondPart}
	case in.Op == Reduce:
		second.C = in.C.inSecond()
	default:
		first.B, second.C, second.B = in.C.inSecond(), in.C.inSecond(), in.C
	}
	return first, second
}

// ofSubgroup writes an instruction on subgroups for one of two pairs.
func (c *compiler) ofSubgroup(in *Inst) {
	switch {
	case in.Op == Elect:
		c.electInTwo()
		return
	case c.voteInTwo(in):
		return
	case in.Op == ScanInclusive || in.Op == ScanExclusive:
		c.scanInTwo(in)
		return
	case in.Op == Reduce:
		c.reduceInTwo(in)
	case in.Op == Ballot:
		c.ballotInTwo()
	case in.Op == First:
		if c.mode == Masked {
			c.activeInTwo()
			c.lowestBit(rcx)
			c.broadcast(spare[0], rcx)
		} else {
			c.zeros(spare[0])
		}
		c.pickInTwo(in, spare[0])
	default:
		c.laneInTwo(in, spare[0])
		c.pickInTwo(in, spare[0])
	}
	c.keep(in)
}

// numbers is a constant: the numbers of the lanes of the pair that code is for, in the subgroup.
func (c *compiler) numbers() operand { return c.byLane(func(lane uint32) uint32 { return lane }) }

// byLane is a constant with the number that a function has for each lane of the pair that code is for.
func (c *compiler) byLane(of func(lane uint32) uint32) operand {
	var words [16]uint32
	for i := range words {
		lane := uint32(i)
		if c.second {
			lane += 16
		}
		words[i] = of(lane)
	}
	return c.constants([8]uint32(words[:8]), [8]uint32(words[8:]))
}

// laneInTwo leaves the lanes of the subgroup that lanes name, and in K1 whether these are lanes of it.
func (c *compiler) laneInTwo(in *Inst, lane vector) {
	t := spare[1]
	clamped := func() {
		c.move(t, c.words(mostLanes))
		c.two(vpminud, t, t, c.reads(0))
	}
	switch in.Op {
	case Shuffle:
		c.move(lane, c.reads(0))
	case ShuffleXor:
		c.move(lane, c.numbers())
		c.two(vpxor, lane, lane, c.reads(0))
	case ShuffleUp:
		clamped()
		c.move(lane, c.numbers())
		c.two(vpsubd, lane, lane, reg(t))
	case ShuffleDown:
		clamped()
		c.two(vpaddd, lane, t, c.numbers())
	case QuadBroadcast:
		clamped()
		c.two(vpand, t, t, c.words(3))
		c.two(vpaddd, lane, t, c.byLane(func(lane uint32) uint32 { return lane &^ 3 }))
	case QuadSwap:
		clamped()
		c.two(vpaddd, t, t, c.words(1))
		c.two(vpxor, lane, t, c.numbers())
	}
	c.compareTo(vpcmpud, 0, 1, lane, c.words(ofTwoPairs), isLess)
}

// pickInTwo gives lanes the value in the lanes of both pairs that a vector names, shuffles give 0 where K1 is not set.
func (c *compiler) pickInTwo(in *Inst, lane vector) {
	low, high := c.vector(2, spare[2]), c.vector(1, spare[3])
	if c.second {
		low, high = high, low
	}
	if in.Op != First {
		c.masked, c.zeroing = 1, true
	}
	c.two(vpermi2d, lane, low, reg(high))
	c.move(c.result(), reg(lane))
}

// activeInTwo leaves a bit for each active lane of the subgroup in rcx; it uses rdx.
func (c *compiler) activeInTwo() {
	if c.mode != Masked {
		c.setConstant(rcx, -1)
		return
	}
	c.bitsInto(rcx, pairBits)
	c.bitsInto(rdx, secondBits)
	c.joinInTwo()
}

// joinInTwo leaves the bits in rcx and, above them, those in rdx in rcx.
func (c *compiler) joinInTwo() {
	c.shiftGeneral(shiftsLeft, rdx, 16)
	c.integer(false, 0x0b, uint8(rcx), reg(vector(rdx)), 0) // OR
}

// electInTwo writes Elect: the lowest bit of those of the active lanes.
func (c *compiler) electInTwo() {
	c.truth(func(k maskRegister) {
		c.activeInTwo()
		c.move64(rdx, rcx)
		c.integer(false, 0xf7, 3, reg(vector(rdx)), 0)          // NEG
		c.integer(false, 0x23, uint8(rcx), reg(vector(rdx)), 0) // AND
		if c.second {
			c.shiftGeneral(shiftsRight, rcx, 16)
		}
		c.bitsFrom(k, rcx)
	})
}

// voteInTwo writes a Reduce of what is true or false, if mask registers have it.
func (c *compiler) voteInTwo(in *Inst) bool {
	if in.Op != Reduce || in.By != kernel.AndI32 && in.By != kernel.OrI32 || !in.B.Valid ||
		c.findBits(in.B) == nil || c.findBits(in.C) == nil {
		return false
	}
	value, other := c.bitsOf(2, spare[0]), c.bitsOf(1, spare[0])
	c.truth(func(k maskRegister) {
		all := in.By == kernel.AndI32
		none := uint8(0x95) // SETNE: a lane has the bit
		if all {
			none = 0x94 // SETE: no lane is without it
		}
		for _, p := range []struct{ to, value, active maskRegister }{{1, value, pairBits}, {savedBits, other, secondBits}} {
			switch {
			case c.mode == Masked && all:
				c.bits(kandn, p.to, p.value, p.active)
			case c.mode == Masked:
				c.bits(kand, p.to, p.value, p.active)
			case all:
				c.bits(knot, p.to, 0, p.value)
			default:
				c.moveBits(p.to, p.value)
			}
		}
		c.zero(rcx)
		c.bits(kortest, 1, 0, savedBits)
		c.bytes(0x0f, none, 0xc1)                      // to cl
		c.integer(false, 0xf7, 3, reg(vector(rcx)), 0) // NEG
		c.bitsFrom(k, rcx)
	})
	return true
}

// ballotInTwo writes Ballot.
func (c *compiler) ballotInTwo() {
	for _, p := range []struct {
		operand int
		to      general
		active  maskRegister
	}{{2, rcx, pairBits}, {1, rdx, secondBits}} {
		k := c.bitsOf(p.operand, spare[0])
		if c.mode == Masked {
			c.bits(kand, 1, k, p.active)
			k = 1
		}
		c.bitsInto(p.to, k)
	}
	c.joinInTwo()
	c.broadcast(c.result(), rcx)
}

// valueInTwo loads an operand, with what Fill says in lanes that are not active.
func (c *compiler) valueInTwo(v vector, in *Inst, k int, active maskRegister) {
	value := c.reads(k)
	if c.mode != Masked {
		c.move(v, value)
		return
	}
	c.move(v, c.words(in.Fill))
	c.blendBy(active, v, v, value)
}

// combinePair does an operation on lanes of two vectors; it uses the last two of spare.
func (c *compiler) combinePair(op kernel.Op, dst, b vector) {
	if e, ok := extremes[op]; ok {
		c.extremeOfPair(e, spare[2], dst, b)
		c.move(dst, reg(spare[2]))
		return
	}
	c.two(simple[op].opcode, dst, dst, reg(b))
}

// reduceInTwo is reduce.
func (c *compiler) reduceInTwo(in *Inst) {
	sum, t, other := spare[0], spare[1], halfPlaces[0]
	c.valueInTwo(sum, in, 2, c.activeBits())
	swap := func(v vector, order uint8) { c.immediate(vshuff64x2, t, v, reg(v), order) }
	if in.Apart >= 2*kernel.Width {
		swap(sum, 0x4e)
		c.combinePair(in.By, sum, t)
	}
	if in.Apart == ofTwoPairs {
		c.valueInTwo(other, in, 1, secondBits)
		c.combinePair(in.By, sum, other)
		swap(other, 0x4e)
		c.combinePair(in.By, sum, t)
	}
	if in.Apart >= kernel.Width {
		swap(sum, 0xb1)
		c.combinePair(in.By, sum, t)
	}
	orders, first := foldOrders(in.Apart)
	for _, order := range orders {
		c.immediate(vshufps, t, sum, reg(sum), order)
		c.combinePair(in.By, sum, t)
	}
	switch {
	case in.Apart > kernel.Width:
		c.one(vpbroadcastd, c.result(), reg(sum))
	case in.Apart == kernel.Width:
		c.move(t, c.constants([8]uint32{}, [8]uint32{8, 8, 8, 8, 8, 8, 8, 8}))
		c.two(vpermps, c.result(), t, reg(sum))
	default:
		c.immediate(vshufps, c.result(), sum, reg(sum), first)
	}
}

// scanInTwo is scan, for both pairs.
func (c *compiler) scanInTwo(in *Inst) {
	fill := c.words(in.Fill)
	first, second := halfPlaces[0], halfPlaces[1]
	// pick gives each lane that of v, or of other from 16 on, which a function says.
	pick := func(dst, v vector, other operand, of func(lane uint32) uint32) {
		c.move(dst, c.byLane(of))
		c.two(vpermi2d, dst, v, other)
	}
	for part, to := range []vector{first, second} {
		v, t := spare[0], spare[1]
		c.valueInTwo(v, in, 2-part, []maskRegister{pairBits, secondBits}[part])
		for distance := uint32(1); distance < kernel.Width; distance *= 2 {
			pick(t, v, fill, func(lane uint32) uint32 {
				if lane%kernel.Width < distance {
					return 16
				}
				return lane - distance
			})
			c.combinePair(in.By, t, v)
			v, t = t, v
		}
		carry := fill
		if part == 1 {
			carry = reg(first)
			pick(to, v, carry, func(uint32) uint32 { return 31 })
		} else {
			c.move(to, fill)
		}
		c.combinePair(in.By, to, v)
		pick(t, to, carry, func(lane uint32) uint32 {
			if lane < kernel.Width {
				return 31
			}
			return 7
		})
		c.combinePair(in.By, t, v)
		c.move(to, reg(t))
	}
	if in.Op == ScanExclusive {
		before := func(lane uint32) uint32 { return (lane + 31) % 32 }
		pick(spare[0], second, reg(first), before)
		c.move(second, reg(spare[0]))
		pick(spare[0], first, fill, before)
		c.move(first, reg(spare[0]))
		if in.Identity != in.Fill {
			for _, v := range []vector{first, second} {
				c.move(spare[1], c.words(in.Identity))
				c.combinePair(in.By, v, spare[1])
			}
		}
	}
	var dst [2]vector
	both := c.insts[c.at:][:2]
	c.results(both, dst[:])
	for i := range both {
		c.forgetPointers(both[i].Dst)
		c.move(dst[i], reg([]vector{first, second}[i]))
	}
	for i := range both {
		c.keep(&both[i])
	}
	c.written = c.at + 2
}
