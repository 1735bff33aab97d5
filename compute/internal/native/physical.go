package native

import "farside/compute/internal/kernel"

// Accesses by device address go to the memory that the last lookup has found, a range of addresses. The code compares
// the addresses of all active lanes with the range, and goes on by distances from its start. Where a lane is outside,
// or nothing has been looked up yet, the code stops: a Miss. Go does the access for these lanes and may leave another
// range. Then the code goes on behind the access.
//
// A range is two of the slots, the first of which is Inst.Slot: see Range.

// physicalUnit is the bytes of an access by device address in each lane, 0 of another instruction.
func (in *Inst) physicalUnit() int32 {
	switch in.Op {
	case kernel.LoadPhysicalU8, kernel.StorePhysical8:
		return 1
	case kernel.LoadPhysicalU16, kernel.StorePhysical16:
		return 2
	case kernel.LoadPhysical32, kernel.StorePhysical32:
		return 4
	case kernel.LoadPhysical64, kernel.StorePhysical64:
		return 8
	}
	return 0
}

// Physical says whether it is an access by device address.
func (in *Inst) Physical() bool { return in.physicalUnit() > 0 }

// Where a Miss is in what the code needs for itself, and what it has saved behind.
const (
	placeOfMiss      = 256
	placeOfAddresses = placeOfMiss
	placeOfValues    = placeOfMiss + 64
	placeOfActive    = placeOfMiss + 128
	placeOfSlot      = placeOfMiss + 160
	placeOfPart      = placeOfMiss + 164
	placeOfResume    = placeOfMiss + 168
	placeOfGenerals  = placeOfMiss + 176
	placeOfVectors   = placeOfMiss + 256
	missEnd          = placeOfVectors + 32*32
	placeOfLower     = missEnd            // four chunks: the lower lanes of what has 32 bits, and is made of 64
	placeOfWords     = placeOfLower + 128 // four chunks each: the lower and the upper words of what has 64 bits
	placeOfSpills    = placeOfWords + 256 // what functions on floats of 32 bits have no vector for
	placeOfFar       = placeOfSpills + 64*mostSpills
	farEnd           = placeOfFar + 6*128
)

// savedGenerals are the general registers that hold something between instructions and are not arguments of call.
var savedGenerals = [...]general{rbx, r9, r11, r12, mask, offset}

// distances leaves how far the addresses of the lanes are behind the start of the range in the first two of spare, of
// four lanes of 64 bits, or of an address that all lanes share, in the first alone. The signs of the third are which
// lanes are within. If an active lane is outside it goes to miss.
func (c *compiler) distances(in *Inst, low, high operand, miss label) {
	d, e, within, t := spare[0], spare[1], spare[2], spare[3]
	_, start := slot(in.Slot)
	_, count := slot(in.Slot + 1)
	quads := in.physicalUnit() == 8 || in.A.Step == 0
	c.move(d, low)
	c.one(vbroadcastsd, within, memory(start))
	if !quads {
		c.move(e, high)
		c.two(vpsubq, e, e, reg(within))
	}
	c.two(vpsubq, d, d, reg(within))
	c.one(vbroadcastsd, t, memory(count))
	c.two(vpcmpgtq, within, t, reg(d))
	c.two(vpandn, within, d, reg(within)) // what is negative is beyond any range
	if quads {
		c.immediate(vshufps, within, within, reg(within), 0xf5)
	} else {
		c.two(vpcmpgtq, t, t, reg(e))
		c.two(vpandn, t, e, reg(t))
		c.immediate(vshufps, within, within, reg(t), 0xdd)
		c.immediate(vpermq, within, 0, reg(within), 0xd8)
	}
	if c.mode != Masked || in.Once {
		c.signs(rcx, within)
		c.arithmetic(compares, rcx, 0xff)
	} else {
		c.activeFor(in, t)
		c.two(vpandn, t, within, reg(t))
		c.signs(rcx, t)
		c.test(rcx)
	}
	c.jumpIf(notEqual, miss)
}

// activeFor gives the mask of the lanes of an access.
func (c *compiler) activeFor(in *Inst, t vector) {
	a := c.active(t)
	switch {
	case in.physicalUnit() == 8:
		if in.upper {
			c.upper(t, a)
			a = t
		}
		c.one(vpmovsxdq, t, reg(a))
	case a != t:
		c.one(vmovups, t, reg(a))
	}
}

// areNeighbours goes to others unless each lane's distance is that of the lane before plus the size of the access. It
// leaves the address of the first in rax.
func (c *compiler) areNeighbours(in *Inst, others label) {
	t, unit := spare[3], uint32(in.physicalUnit())
	for half, d := range spare[:2] {
		if half == 1 && unit == 8 {
			break
		}
		var far [8]uint32
		for lane := range uint32(4) {
			far[2*lane] = (4*uint32(half) + lane) * unit
		}
		c.one(vbroadcastsd, t, reg(spare[0]))
		c.two(vpaddq, t, t, c.constant(far))
		c.two(vpcmpeqq, t, t, reg(d))
		c.signs(rcx, t)
		c.arithmetic(compares, rcx, 0xff)
		c.jumpIf(notEqual, others)
	}
	base, _ := slot(in.Slot)
	c.low64(rax, spare[0])
	c.addFrom(rax, base)
}

// loadPhysical writes a load.
func (c *compiler) loadPhysical(in *Inst) {
	low, high := c.reads(0), operand{}
	if in.C.Valid {
		high = c.reads(2)
	}
	dst := c.result()
	miss, others, back := c.label(), c.label(), c.label()
	c.distances(in, low, high, miss)
	if in.A.Step == 0 {
		c.loadSharedPhysical(in, dst)
		c.place(back)
		c.behind(miss, back, func() {
			c.miss(in)
			c.one(vmovups, dst, memory(c.valuesOf(in)))
		})
		return
	}
	if c.mode == Masked && !in.Once { // the whole vector is read
		c.signs(rcx, spare[2])
		c.arithmetic(compares, rcx, 0xff)
		c.jumpIf(notEqual, others)
	}
	c.areNeighbours(in, others)
	o := map[int32]opcode{1: vpmovzxbd, 2: vpmovzxwd, 4: vmovups, 8: vmovups}[in.physicalUnit()]
	c.one(o, dst, memory(at(rax, 0)))
	c.place(back)
	c.behind(others, back, func() {
		base, _ := slot(in.Slot)
		apart := c.label()
		c.areSame(in, apart)
		c.loadOne(in, dst)
		c.jump(back)
		c.place(apart)
		c.load64(rax, base)
		switch in.physicalUnit() {
		case 8:
			c.zeros(spare[3])
			c.gather(vgatherqpd, spare[3], at(rax, 0), spare[0], spare[2])
			c.move(dst, reg(spare[3]))
		case 4:
			c.gatherPhysical(dst)
		default:
			c.loadPhysicalLanes(in, dst)
		}
	})
	c.behind(miss, back, func() {
		c.miss(in)
		c.one(vmovups, dst, memory(c.valuesOf(in)))
	})
}

// loadSharedPhysical loads the value at an address that all lanes share. If that is outside of the range no lane is
// active.
func (c *compiler) loadSharedPhysical(in *Inst, dst vector) {
	skip := c.label()
	if c.mode == Masked && !in.Once {
		c.signs(rcx, spare[2])
		c.test(rcx)
		c.jumpIf(equal, skip)
	}
	c.loadOne(in, dst)
	c.place(skip)
}

// areSame goes to others unless the lanes have the same distance, which is within the range.
func (c *compiler) areSame(in *Inst, others label) {
	t := spare[3]
	check := func() {
		c.signs(rcx, t)
		c.arithmetic(compares, rcx, 0xff)
		c.jumpIf(notEqual, others)
	}
	for i, d := range spare[:2] {
		if i == 0 || in.physicalUnit() < 8 {
			c.one(vbroadcastsd, t, reg(spare[0]))
			c.two(vpcmpeqq, t, t, reg(d))
			check()
		}
	}
	if c.mode == Masked && !in.Once {
		c.signs(rcx, spare[2])
		c.arithmetic(compares, rcx, 0xff)
		c.jumpIf(notEqual, others)
	}
}

// loadOne loads the value at the first lane's distance for all lanes.
func (c *compiler) loadOne(in *Inst, dst vector) {
	base, _ := slot(in.Slot)
	c.low64(rax, spare[0])
	c.addFrom(rax, base)
	switch unit := in.physicalUnit(); unit {
	case 4:
		c.one(vbroadcastss, dst, memory(at(rax, 0)))
	case 8:
		c.one(vbroadcastsd, dst, memory(at(rax, 0)))
	default:
		c.loadZero(rcx, at(rax, 0), unit)
		c.setLow(dst, rcx)
		c.one(vpbroadcastd, dst, reg(dst))
	}
}

// gatherPhysical gathers the words at distances from rax on.
func (c *compiler) gatherPhysical(dst vector) {
	r := dst
	if r >= high {
		r = lower[0]
	}
	t := spare[3]
	c.upper(t, spare[2])
	c.two(vpxor, r, r, reg(r))
	c.gather(vgatherqps, r, at(rax, 0), spare[1], t)
	c.two(vpxor, t, t, reg(t))
	c.gather(vgatherqps, t, at(rax, 0), spare[0], spare[2])
	c.immediate(vinsertf128, dst, t, reg(r), 1)
}

// storeDistances lets lanes be found in the register file, but for those outside of the range.
func (c *compiler) storeDistances(in *Inst) {
	c.shift(shift32, rightSigned, spare[2], spare[2], 31)
	c.store(at(file, c.scratch+placeOfAddresses), spare[0])
	if in.physicalUnit() < 8 {
		c.store(at(file, c.scratch+placeOfAddresses+32), spare[in.others()])
	}
	c.store(at(file, c.scratch+placeOfActive), spare[2])
}

// others is which of spare has the distances of the upper lanes.
func (in *Inst) others() int {
	if in.A.Step == 0 {
		return 0
	}
	return 1
}

// eachLane writes code for each lane that storeDistances has left: its distance is in rcx.
func (c *compiler) eachLane(in *Inst, write func(lane int32)) {
	lanes, apart := int32(8), int32(4)
	if in.physicalUnit() == 8 {
		lanes, apart = 4, 8
	}
	for lane := range lanes {
		next := c.label()
		c.load32(rcx, at(file, c.scratch+placeOfActive+apart*lane))
		c.test(rcx)
		c.jumpIf(equal, next)
		c.load64(rcx, at(file, c.scratch+placeOfAddresses+8*lane))
		write(lane)
		c.place(next)
	}
}

// loadPhysicalLanes loads bytes or half words lane by lane, from rax on.
func (c *compiler) loadPhysicalLanes(in *Inst, dst vector) {
	c.storeDistances(in)
	values := c.valuesOf(in)
	c.store(values, c.zeros(spare[3]))
	c.eachLane(in, func(lane int32) {
		c.loadZero(rdx, address{base: rax, index: rcx}, in.physicalUnit())
		to := values
		to.displacement += 4 * lane
		c.store32(to, rdx)
	})
	c.one(vmovups, dst, memory(values))
}

// valuesOf is where the values of a Miss are.
func (c *compiler) valuesOf(in *Inst) address {
	n := c.scratch + placeOfValues
	if in.upper {
		n += 32
	}
	return at(file, n)
}

// storePhysical writes a store.
func (c *compiler) storePhysical(in *Inst) {
	low, high, value := c.reads(0), operand{}, c.reads(1)
	if in.C.Valid {
		high = c.reads(2)
	}
	miss, others, back := c.label(), c.label(), c.label()
	c.distances(in, low, high, miss)
	unit := in.physicalUnit()
	if unit >= 4 && in.A.Step > 0 {
		c.areNeighbours(in, others)
		v, to := spare[2], at(rax, 0)
		c.move(v, value)
		switch {
		case unit == 4:
			c.storeActive(to, v)
		case c.mode == Masked:
			c.activeFor(in, spare[3])
			c.storeMasked(to, spare[3], v)
		default:
			c.store(to, v)
		}
	} else {
		c.jump(others)
	}
	c.place(back)
	c.behind(others, back, func() {
		if c.mode == Masked {
			c.activeFor(in, spare[3])
			c.two(vpand, spare[2], spare[2], reg(spare[3]))
		}
		c.storeDistances(in)
		c.move(spare[3], value)
		values := c.valuesOf(in)
		c.store(values, spare[3])
		base, _ := slot(in.Slot)
		c.load64(rax, base)
		c.eachLane(in, func(lane int32) {
			from, to := values, address{base: rax, index: rcx}
			if unit == 8 {
				from.displacement += 8 * lane
				c.load64(rdx, from)
				c.store64(to, rdx)
				return
			}
			from.displacement += 4 * lane
			c.load32(rdx, from)
			c.storeLow(to, rdx, unit)
		})
	})
	c.behind(miss, back, func() {
		c.move(spare[2], value)
		c.store(c.valuesOf(in), spare[2])
		c.miss(in)
	})
}

// miss stops at an access, and goes on when Go has done it.
func (c *compiler) miss(in *Inst) {
	addresses := at(file, c.scratch+placeOfAddresses)
	part := int32(0)
	if in.physicalUnit() == 8 {
		part = 1
		if in.upper {
			part = 2
			addresses.displacement += 32
		}
	}
	c.store(addresses, spare[0])
	if part == 0 {
		c.store(at(file, c.scratch+placeOfAddresses+32), spare[in.others()])
	}
	t := spare[3]
	if c.mode == Masked && !in.Once {
		t = c.active(t)
	} else {
		c.two(vpcmpeqd, t, t, reg(t))
	}
	c.store(at(file, c.scratch+placeOfActive), t)
	for _, n := range [...][2]int32{{placeOfSlot, in.Slot}, {placeOfPart, part}, {placeOfLoop, missed}} {
		c.setConstant(rcx, n[1])
		c.store32(at(file, c.scratch+n[0]), rcx)
	}
	on := c.label()
	c.leaLabel(rax, on)
	c.store64(at(file, c.scratch+placeOfResume), rax)
	if !c.saves {
		c.saves, c.saving = true, c.label()
	}
	c.jump(c.saving)
	c.place(on)
}

// missed is what RunRegion gives for the loop at a Miss.
const missed = -1 << 30

// vectorsSaved are the vectors that hold something between instructions.
func vectorsSaved() []vector {
	var list []vector
	for v := vector(0); v < 32; v++ {
		if v < spare[0] || v >= high && avx512() {
			list = append(list, v)
		}
	}
	return list
}

// writeSaving writes what returns to Go at a Miss, and behind it what goes on.
func (c *compiler) writeSaving() {
	if !c.saves {
		return
	}
	c.setWidth(width{})
	c.align(16)
	c.place(c.saving)
	for i, r := range savedGenerals {
		c.store64(at(file, c.scratch+placeOfGenerals+8*int32(i)), r)
	}
	vectors := vectorsSaved()
	for i, v := range vectors {
		c.store(at(file, c.scratch+placeOfVectors+32*int32(i)), v)
	}
	on := c.label()
	c.leaLabel(rax, on)
	c.leave()
	c.place(on)
	for i, r := range savedGenerals {
		c.load64(r, at(file, c.scratch+placeOfGenerals+8*int32(i)))
	}
	for i, v := range vectors {
		c.one(vmovups, v, memory(at(file, c.scratch+placeOfVectors+32*int32(i))))
	}
	c.activeSigns()
	c.jumpTo(at(file, c.scratch+placeOfResume))
}
