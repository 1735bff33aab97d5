package native

import "farside/compute/internal/kernel"

// Instructions that give all lanes of a subgroup one value. The code of all but Elect and First is executed with the
// subgroup's first chunk alone, and writes all of Dst: no earlier instruction of the run has that as an operand or
// writes it. All lanes of the workgroup take part, which consists of whole subgroups.

// Combines says whether an instruction makes one value of those of all lanes of a subgroup, or of some.
func (in *Inst) Combines() bool { return in.Op == Reduce || in.Op == Ballot }

// All says whether all lanes have to take part.
func (in *Inst) All() bool { return in.Combines() || in.Op == First || in.Op == Elect }

// isGroup says whether an instruction for which All is true has code.
func (in *Inst) isGroup() bool {
	if in.Once || in.Dst.Step == 0 || in.Apart < kernel.Width || in.Immediate%uint64(in.Apart) != 0 {
		return false
	}
	switch in.Op {
	case Elect:
		return true
	case First:
		return in.C.Step > 0 && in.C != in.Dst
	case Ballot:
		return in.C.Step > 0 && in.C != in.Dst && in.Apart <= 32
	}
	f, ok := simple[in.By]
	_, extreme := extremes[in.By]
	return in.C.Step > 0 && in.C != in.Dst && (extreme || ok && !f.unary && !f.swapped && !f.not && f.byte < 0)
}

// extremes are the instructions of minima and maxima of floats, and what combines two zeros.
var extremes = map[kernel.Op][2]opcode{kernel.MinF32: {vminps, vorps}, kernel.MaxF32: {vmaxps, vandps}}

// together writes an instruction for which All is true.
func (c *compiler) together(in *Inst) {
	bytes := int32(4 * in.Apart)
	switch in.Op {
	case First:
		c.lea(rax, at(offset, 0))
		c.arithmetic(ands, rax, -bytes)
		from := address{base: file, index: rax, displacement: int32(in.C.Offset)}
		c.one(vbroadcastss, c.result(), memory(from))
		return
	case Elect:
		first := c.label()
		dst := c.result()
		c.one(vmovups, dst, c.constant([8]uint32{^uint32(0)}))
		c.besidesFirst(bytes, first, equal)
		c.two(vpxor, dst, dst, reg(dst))
		c.place(first)
		return
	}
	if h := c.find(in.Dst); h != nil {
		h.valid = false
	}
	c.forgetPointers(in.Dst)
	next := c.label()
	c.besidesFirst(bytes, next, notEqual)
	if in.Op == Ballot {
		c.ballot(in)
	} else {
		c.reduce(in)
	}
	to := c.home(in.Dst)
	for range in.Apart / kernel.Width {
		c.store(to, spare[0])
		to.displacement += 32
	}
	c.place(next)
}

// besidesFirst goes to a place with the first chunk of each subgroup, or with the others.
func (c *compiler) besidesFirst(bytes int32, to label, when condition) {
	c.lea(rcx, at(offset, 0))
	c.arithmetic(ands, rcx, bytes-1)
	c.jumpIf(when, to)
}

// ballot leaves a bit for each lane in spare[0].
func (c *compiler) ballot(in *Inst) {
	from := c.home(in.C)
	c.zero(rdx)
	for chunk := range in.Apart / kernel.Width {
		c.one(vmovups, spare[0], memory(from))
		c.signs(rcx, spare[0])
		for range 8 * chunk {
			c.add(rcx, rcx)
		}
		c.add(rdx, rcx)
		from.displacement += 32
	}
	c.setLow(spare[0], rdx)
	c.one(vpbroadcastd, spare[0], reg(spare[0]))
}

// reduce combines chunks lane by lane, then the lower lanes of what they give with the upper ones, in spare[0].
func (c *compiler) reduce(in *Inst) {
	sum, t, from := spare[0], spare[1], c.home(in.C)
	c.one(vmovups, sum, memory(from))
	for range in.Apart/kernel.Width - 1 {
		from.displacement += 32
		c.one(vmovups, t, memory(from))
		c.combine(in.By, sum, t)
	}
	c.upper(t, sum)
	c.combine(in.By, sum, t)
	for _, order := range [2]uint8{0x0e, 0x01} {
		c.immediate(vshufps, t, sum, reg(sum), order)
		c.combine(in.By, sum, t)
	}
	c.one(vpbroadcastd, sum, reg(sum))
}

// combine does an operation on lanes of two vectors; it uses the last two of spare.
func (c *compiler) combine(op kernel.Op, dst, b vector) {
	if e, ok := extremes[op]; ok {
		c.extremeOf(e[0], e[1], dst, dst, b, spare[2], spare[3])
		return
	}
	c.two(simple[op].opcode, dst, dst, reg(b))
}
