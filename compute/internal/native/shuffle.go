package native

import "farside/compute/internal/kernel"

// The operations that no kernel carries out. findWay finds a way, or that there is none, before a loop. The others give
// each lane the value of another lane of its subgroup, of Apart lanes: C is the value in all Immediate lanes of the
// workgroup, which no instruction of the run writes unless Options.Groups is set, and A says which lane it is. A lane
// that is none gives 0.
const (
	findWay       = kernel.NumOps + iota
	Shuffle       // lane A
	ShuffleXor    // this one ^ A
	ShuffleUp     // this one - A
	ShuffleDown   // this one + A
	QuadBroadcast // lane A & 3 of the four to which this one belongs
	QuadSwap      // this one ^ (A + 1)
	Reduce        // all values of Apart lanes, which operation By combines
	ScanInclusive // those of the lanes of a subgroup up to this one
	ScanExclusive // those of the lanes before this one
	Ballot        // a bit for each lane of the subgroup in which the value is true
	First         // that of the first lane that takes part
	Elect         // true in the first lane that takes part; there is no value

	// Control flow of a region, as instructions of package program have it. Target is the index of an instruction of the
	// region, or their number: the end of the region. A mask that is none is that of lanes that have ended.
	Jump       // to Target
	JumpIf     // to Target if A, a uniform mask, is true
	JumpUnless // to Target if it is not
	Split      // adds the active lanes to mask Dst where A is true, and to B where it is not
	Leave      // adds the active lanes to mask Dst
	Enter      // makes mask Dst the active lanes and clears it; to Target if there are none
	Again      // goes round, to Target, if a lane is in mask Dst; if that is none it goes on

	rotate   // A by Count - 1 bits to the left
	ternary  // bits of A, B and C combined as the table in Immediate says
	putAside // A, to place Immediate of what the code needs for itself
	takeBack // from there
	nothing  // instead of an instruction that another one does, too
)

// mostLanes is the largest subgroup, and an index beyond all lanes.
const mostLanes = 128

// Shuffles says whether it gives lanes the values of others.
func (in *Inst) Shuffles() bool {
	switch in.Op {
	case Shuffle, ShuffleXor, ShuffleUp, ShuffleDown, QuadBroadcast, QuadSwap:
		return true
	}
	return in.All()
}

// shuffle writes a Shuffle or its like: lanes are gathered from the register file.
func (c *compiler) shuffle(in *Inst) {
	if in.Op == ShuffleXor && in.A.Step == 0 && in.Immediate%uint64(in.Apart) == 0 {
		c.exchange(in)
		return
	}
	if (in.Op == QuadBroadcast || in.Op == QuadSwap) && in.A.Step == 0 && in.Immediate%kernel.Width == 0 {
		c.withinQuads(in)
		return
	}
	c.pickLanes(in, c.result(), func(arg vector) {
		c.one(vmovups, arg, c.words(mostLanes))
		c.two(vpminud, arg, arg, c.reads(0))
	})
}

// withinQuads writes an operation on quads whose A is the same in all lanes, in a workgroup of whole chunks: what a
// lane gets is in its chunk. Only a QuadSwap with an A that is none may look farther.
func (c *compiler) withinQuads(in *Inst) {
	order, dst := spare[0], c.result()
	back := c.label()
	c.load32(rax, c.home(in.A))
	if in.Op == QuadSwap {
		far := c.label()
		c.arithmetic(compares, rax, 2)
		c.jumpIf(above, far)
		c.behind(far, back, func() {
			c.pickLanes(in, dst, func(arg vector) {
				c.setLow(arg, rax)
				c.one(vpbroadcastd, arg, reg(arg))
				c.two(vpminud, arg, arg, c.words(mostLanes))
			})
		})
	}
	c.setLow(order, rax)
	c.one(vpbroadcastd, order, reg(order))
	if in.Op == QuadSwap {
		c.two(vpaddd, order, order, c.words(1))
		c.two(vpxor, order, order, c.constant([8]uint32{0, 1, 2, 3, 4, 5, 6, 7}))
	} else {
		c.two(vpminud, order, order, c.words(mostLanes))
		c.two(vpand, order, order, c.words(3))
		c.two(vpaddd, order, order, c.constant([8]uint32{0, 0, 0, 0, 4, 4, 4, 4}))
	}
	c.two(vpermps, dst, order, memory(address{base: file, index: offset, displacement: int32(in.C.Offset)}))
	c.place(back)
}

// pickLanes gathers what lanes get, in any chunks, into a vector. The function loads A, of which all above mostLanes is
// alike.
func (c *compiler) pickLanes(in *Inst, dst vector, load func(arg vector)) {
	arg, lane, first, mask := spare[0], spare[1], spare[2], spare[3]
	last := c.words(in.Apart - 1)
	c.setLow(lane, offset)
	c.one(vpbroadcastd, lane, reg(lane))
	c.two(vpaddd, lane, lane, c.constant([8]uint32{0, 4, 8, 12, 16, 20, 24, 28}))
	c.shift(shift32, right, first, lane, 2)
	c.two(vpand, lane, first, last)
	c.two(vpsubd, first, first, reg(lane)) // of the subgroup, in the workgroup
	load(arg)
	switch in.Op {
	case Shuffle:
		lane = arg
	case ShuffleXor:
		c.two(vpxor, lane, lane, reg(arg))
	case ShuffleUp:
		c.two(vpsubd, lane, lane, reg(arg))
	case ShuffleDown:
		c.two(vpaddd, lane, lane, reg(arg))
	case QuadBroadcast:
		c.two(vpand, lane, lane, c.words(^uint32(3)))
		c.two(vpand, arg, arg, c.words(3))
		c.two(vpaddd, lane, lane, reg(arg))
	case QuadSwap:
		c.two(vpaddd, arg, arg, c.words(1))
		c.two(vpxor, lane, lane, reg(arg))
	}
	c.two(vpminud, mask, lane, last)
	c.two(vpcmpeqd, mask, mask, reg(lane)) // it is in the subgroup
	c.two(vpaddd, first, first, reg(lane)) // and in the workgroup, from here on
	c.two(vpminud, lane, first, c.words(uint32(in.Immediate-1)))
	c.two(vpcmpeqd, lane, lane, reg(first))
	c.two(vpand, mask, mask, reg(lane))
	c.shift(shift32, left, first, first, 2)
	c.two(vpxor, lane, lane, reg(lane))
	c.lea(rax, at(file, int32(in.C.Offset)))
	c.gather(vgatherdps, lane, at(rax, 0), first, mask)
	c.one(vmovups, dst, reg(lane))
}

// exchange writes a ShuffleXor whose A is the same in all lanes, in a workgroup of whole subgroups: the lanes of a
// chunk come from one chunk, or there is none.
func (c *compiler) exchange(in *Inst) {
	none, back := c.label(), c.label()
	order, dst := spare[0], c.result()
	c.load32(rax, c.home(in.A))
	c.arithmetic(compares, rax, int32(in.Apart-1))
	c.jumpIf(above, none)
	c.setLow(order, rax)
	c.one(vpbroadcastd, order, reg(order))
	c.two(vpxor, order, order, c.constant([8]uint32{0, 1, 2, 3, 4, 5, 6, 7}))
	c.arithmetic(ands, rax, -8)
	c.double(rax, 2)
	c.xor(rax, offset)
	c.two(vpermps, dst, order, memory(address{base: file, index: rax, displacement: int32(in.C.Offset)}))
	c.place(back)
	c.behind(none, back, func() { c.two(vpxor, dst, dst, reg(dst)) })
}

// isShuffle says whether a shuffle has code.
func (in *Inst) isShuffle() bool {
	if in.All() {
		return in.isGroup()
	}
	return in.Shuffles() && !in.Once && in.C.Step > 0 && in.Dst.Step > 0 && in.Dst != in.C && in.Immediate > 0
}
