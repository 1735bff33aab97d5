package native

import "farside/compute/internal/kernel"

// Instructions on the values of all lanes of a subgroup that take part, chunk by chunk (subgroups.go has those for two
// pairs of chunks). The code of all but Elect and First is executed with the subgroup's first chunk alone, and writes
// all of Dst: no earlier instruction of the run has that as an operand or writes it. The workgroup consists of whole
// subgroups, and the run is executed for whole ones.

// Combines says whether an instruction combines the values of lanes of a subgroup.
func (in *Inst) Combines() bool { return in.combinesBy() || in.Op == Ballot }

// combinesBy says whether By does that.
func (in *Inst) combinesBy() bool {
	return in.Op == Reduce || in.Op == ScanInclusive || in.Op == ScanExclusive
}

// All says whether all lanes of the subgroup that take part have to be known.
func (in *Inst) All() bool { return in.Combines() || in.Op == First || in.Op == Elect }

// isGroup says whether an instruction for which All is true has code.
func (in *Inst) isGroup() bool {
	part := in.Op == Reduce && (in.Apart == 2 || in.Apart == 4) // of a chunk
	if in.Once || in.Dst.Step == 0 || in.Apart < kernel.Width && !part || in.Immediate%uint64(in.Apart) != 0 {
		return false
	}
	switch in.Op {
	case Elect:
		return true
	case First:
		return in.C.Step > 0 && in.C != in.Dst
	case Ballot:
		return in.C != in.Dst && in.Apart <= 32
	}
	f, ok := simple[in.By]
	_, extreme := extremes[in.By]
	return in.C != in.Dst && (extreme || ok && !f.unary && !f.swapped && !f.not && f.byte < 0)
}

// extremes are the instructions of minima and maxima of floats, and what combines two zeros.
var extremes = map[kernel.Op][2]opcode{kernel.MinF32: {vminps, vorps}, kernel.MaxF32: {vmaxps, vandps}}

// together writes an instruction for which All is true.
func (c *compiler) together(in *Inst) {
	bytes := int32(4 * in.Apart)
	switch in.Op {
	case First:
		c.firstLane(in, bytes)
		return
	case Elect:
		c.elect(bytes)
		return
	}
	if h := c.find(in.Dst); h != nil {
		h.valid = false
	}
	c.forgetPointers(in.Dst)
	next := c.label()
	c.lea(rcx, at(offset, 0))
	c.arithmetic(ands, rcx, bytes-1)
	c.jumpIf(notEqual, next)
	switch in.Op {
	case Ballot:
		c.ballot(in)
	case Reduce:
		c.reduce(in)
	default:
		c.scan(in)
		c.place(next)
		return
	}
	to := c.home(in.Dst)
	for range max(in.Apart/kernel.Width, 1) {
		c.store(to, spare[0])
		to.displacement += 32
	}
	c.place(next)
}

// maskAt leaves which lanes of the chunk at an offset take part in spare[3], and their signs in rcx.
func (c *compiler) maskAt(chunk general) {
	c.one(vmovups, spare[3], memory(address{base: mask, index: chunk}))
	c.signs(rcx, spare[3])
}

// firstLane leaves the value of the first lane that takes part. Where none does it is anyone's.
func (c *compiler) firstLane(in *Inst, bytes int32) {
	c.lea(rax, at(offset, 0))
	c.arithmetic(ands, rax, -bytes)
	from := address{base: file, index: rax, displacement: int32(in.C.Offset)}
	if c.mode == Masked {
		top, found := c.label(), c.label()
		c.lea(rdx, at(rax, bytes-32))
		c.place(top)
		c.maskAt(rax)
		c.test(rcx)
		c.jumpIf(notEqual, found)
		c.arithmetic(adds, rax, 32)
		c.cmp(rax, rdx)
		c.jumpIf(atMost, top)
		c.copy(rax, rdx)
		c.arithmetic(adds, rcx, 1)
		c.place(found)
		c.lowestBit(rcx)
		c.lea(rax, address{base: rax, index: rcx, shift: 2})
	}
	c.one(vbroadcastss, c.result(), memory(from))
}

// lowestBit is BSF: the number of the lowest bit of a register that is not 0.
func (c *compiler) lowestBit(r general) { c.prefixed(false, 0xbc, uint8(r), reg(vector(r))) }

// elect writes Elect: no lane of an earlier chunk takes part, and none before this one in its own.
func (c *compiler) elect(bytes int32) {
	dst := c.result()
	none := c.label()
	c.lea(rax, at(offset, 0))
	c.arithmetic(ands, rax, -bytes)
	if c.mode != Masked {
		c.one(vmovups, dst, c.constant([8]uint32{^uint32(0)}))
		c.cmp(rax, offset)
		c.jumpIf(equal, none)
		c.two(vpxor, dst, dst, reg(dst))
		c.place(none)
		return
	}
	top, here := c.label(), c.label()
	c.two(vpxor, dst, dst, reg(dst))
	c.place(top)
	c.maskAt(rax)
	c.cmp(rax, offset)
	c.jumpIf(equal, here)
	c.arithmetic(adds, rax, 32)
	c.test(rcx)
	c.jumpIf(equal, top)
	c.jump(none)
	c.place(here)
	c.test(rcx)
	c.jumpIf(equal, none)
	c.lowestBit(rcx)
	c.setLow(spare[0], rcx)
	c.one(vpbroadcastd, spare[0], reg(spare[0]))
	c.two(vpcmpeqd, dst, spare[0], c.multiples(1))
	c.place(none)
}

// value loads a chunk of the values, with fill in lanes that don't take part; it uses the last of spare.
func (c *compiler) value(v vector, in *Inst, chunk, fill uint32) {
	from := c.home(in.C)
	if in.C.Step > 0 {
		from.displacement += int32(32 * chunk)
	}
	if c.mode != Masked {
		c.one(vmovups, v, memory(from))
		return
	}
	active := c.maskOf(0)
	active.displacement += int32(32 * chunk)
	c.one(vmovups, spare[3], memory(active))
	c.move(v, c.words(fill))
	c.blend(v, v, memory(from), spare[3])
}

// ballot leaves a bit for each lane in spare[0].
func (c *compiler) ballot(in *Inst) {
	c.zero(rdx)
	for chunk := range in.Apart / kernel.Width {
		c.value(spare[0], in, chunk, 0)
		c.signs(rcx, spare[0])
		for range 8 * chunk {
			c.add(rcx, rcx)
		}
		c.add(rdx, rcx)
	}
	c.setLow(spare[0], rdx)
	c.one(vpbroadcastd, spare[0], reg(spare[0]))
}

// reduce combines chunks lane by lane, then the lower lanes of what they give with the upper ones, in spare[0].
// Clusters of two or four lanes are parts of a chunk.
func (c *compiler) reduce(in *Inst) {
	sum, t := spare[0], spare[1]
	c.value(sum, in, 0, in.Fill)
	for chunk := uint32(1); chunk < in.Apart/kernel.Width; chunk++ {
		c.value(t, in, chunk, in.Fill)
		c.combine(in.By, sum, t)
	}
	if in.Apart >= kernel.Width {
		c.upper(t, sum)
		c.combine(in.By, sum, t)
	}
	orders, first := foldOrders(in.Apart)
	for _, order := range orders {
		c.immediate(vshufps, t, sum, reg(sum), order)
		c.combine(in.By, sum, t)
	}
	if in.Apart >= kernel.Width {
		c.one(vpbroadcastd, sum, reg(sum))
	} else {
		c.immediate(vshufps, sum, sum, reg(sum), first)
	}
}

// foldOrders are the orders of the lanes that four or two lanes are combined with, and that of the first in each lane.
func foldOrders(cluster uint32) (orders []uint8, first uint8) {
	if cluster == 2 {
		return []uint8{0xf5}, 0xa0
	}
	return []uint8{0x0e, 0x01}, 0
}

// scan combines each lane of a chunk with those one, two and four lanes before, and all of them with what the chunks
// before gave. An exclusive scan is what the lane before has, combined with the identity where that isn't what fills.
func (c *compiler) scan(in *Inst) {
	v, t := spare[0], spare[1]
	carry := at(file, c.scratch+placeOfAddresses)
	c.move(v, c.words(in.Fill))
	c.store(carry, v)
	to := c.home(in.Dst)
	for chunk := range in.Apart / kernel.Width {
		c.value(v, in, chunk, in.Fill)
		for distance := uint32(1); distance < kernel.Width; distance *= 2 {
			c.lanesBefore(t, v, distance, c.words(in.Fill))
			c.combine(in.By, t, v)
			c.move(v, reg(t))
		}
		c.move(t, memory(carry))
		c.combine(in.By, t, v)
		c.store(to, t)
		if in.Op == ScanExclusive {
			c.lanesBefore(v, t, 1, memory(carry))
			c.store(to, v)
		}
		c.move(v, c.words(kernel.Width-1))
		c.two(vpermps, v, v, reg(t))
		c.store(carry, v)
		if in.Op == ScanExclusive && in.Identity != in.Fill {
			c.move(v, memory(to))
			c.move(t, c.words(in.Identity))
			c.combine(in.By, v, t)
			c.store(to, v)
		}
		to.displacement += 32
	}
}

// lanesBefore gives each lane the value so many lanes before it, and that of first where there is none.
func (c *compiler) lanesBefore(dst, v vector, distance uint32, first operand) {
	var from [8]uint32
	for lane := range uint32(8) {
		from[lane] = max(lane, distance) - distance
	}
	c.move(dst, c.constant(from))
	c.two(vpermps, dst, dst, reg(v))
	c.immediate(vpblendd, dst, dst, first, 1<<distance-1)
}

// combine does an operation on lanes of two vectors; it uses the last two of spare.
func (c *compiler) combine(op kernel.Op, dst, b vector) {
	if e, ok := extremes[op]; ok {
		c.extremeOf(e[0], e[1], dst, dst, b, spare[2], spare[3])
		return
	}
	c.two(simple[op].opcode, dst, dst, reg(b))
}
