package native

import "farside/compute/internal/kernel"

// Loads and stores for pairs of lanes that lie some words apart: members of vectors and structures. If these are two to
// four, the words of all lanes are as many vectors as the distance has words. Loads of neighbours share them, and so do
// stores. If these are more, four neighbours in four lanes are a vector.

// mostStride is the largest distance that has these loads.
const mostStride = 4

// strided says whether it is such a load, storesStrided whether it is such a store.
func (in *Inst) strided() bool       { return in.Op == kernel.Load32 && in.inStrides() }
func (in *Inst) storesStrided() bool { return in.Op == kernel.Store32 && in.inStrides() }

func (in *Inst) inStrides() bool {
	return (in.Pattern == Consecutive || in.Pattern == Linear) && in.words() > 1
}

// together is how many of so many neighbours have code for all of them, 0 if there is none.
func (in *Inst) together(neighbours int) int {
	if in.words() > mostStride {
		return neighbours &^ 3
	}
	return neighbours
}

// loadStrided writes the load under way and those of its neighbours, if there is code for them.
func (c *compiler) loadStrided(in *Inst) bool {
	loads := c.insts[c.at:][:in.together(c.members())]
	if len(loads) == 0 {
		return false
	}
	dst := make([]vector, len(loads))
	offsets := operand{}
	if in.way == 0 {
		offsets = c.reads(0)
	}
	if h := c.find(in.A); h != nil {
		h.next = c.uses[c.at+len(loads)-1][0]
	}
	c.results(loads, dst)
	if in.way > 0 {
		c.pick(dst, c.onWay(in), in.words())
	} else {
		slow, back := c.label(), c.label()
		c.pick(dst, at(c.address(in, offsets, slow), int32(in.Immediate)), in.words())
		c.place(back)
		c.behind(slow, back, func() {
			if len(loads) > 1 { // one of the results may be in the vector of the offsets
				saved := at(file, c.scratch+placeOfOffsets)
				c.move(spare[0], offsets)
				c.store(saved, spare[0])
				offsets = memory(saved)
			}
			for i := range loads {
				c.loadHalves(&loads[i], dst[i], offsets)
			}
		})
	}
	for i := range loads {
		c.forgetPointers(loads[i].Dst)
	}
	for i := range loads[1:] {
		c.keep(&loads[1+i])
	}
	c.written = c.at + len(loads)
	return true
}

// pick loads lanes that lie some words apart to dst[0], those a word behind to dst[1], and so on.
func (c *compiler) pick(dst []vector, from address, words int32) {
	if words > mostStride {
		for ; len(dst) > 0; dst = dst[4:] {
			c.pickFour([4]vector(dst), from, words)
			from.displacement += 16
		}
		return
	}
	var starts [mostStride]int32
	for i := range words {
		if starts[i] = 16 * i; i == words-1 {
			starts[i] = 15*words + int32(len(dst)) - 16 // nothing behind the last lane
		}
		source := from
		source.displacement += 4 * starts[i]
		c.one(vmovups, spare[i], memory(source))
	}
	for member := int32(0); member < int32(len(dst)); member++ {
		switch words {
		case 2:
			c.permute(dst[member], starts, 0, 1, func(lane int32) int32 { return 2*lane + member })
		case 3:
			t := spare[3]
			c.permute(t, starts, 0, 1, func(lane int32) int32 { return min(3*lane+member, 31) })
			var words [16]uint32
			for i := range words {
				if word := 3*int32(i) + member; word < 32 {
					words[i] = uint32(i)
				} else {
					words[i] = uint32(16 + word - starts[2])
				}
			}
			c.permuteBy(dst[member], t, spare[2], words)
		case 4:
			// Two members at a time: of the lower lanes, and of the upper ones.
			low, upper := halfPlaces[0], halfPlaces[1]
			c.permute(low, starts, 0, 1, func(lane int32) int32 { return 4*(lane&7) + member + lane>>3 })
			c.permute(upper, starts, 2, 3, func(lane int32) int32 { return 32 + 4*(lane&7) + member + lane>>3 })
			c.immediate(vinsertf128, dst[member], low, reg(upper), 1)
			if member++; member < int32(len(dst)) {
				c.immediate(vshuff64x2, dst[member], low, reg(upper), 0xee)
			}
		}
	}
}

// pickFour is pick of four neighbours: those of lane n, of n + 4 and so on are in one vector, which is a row of four
// tables at once.
func (c *compiler) pickFour(dst [4]vector, from address, words int32) {
	for row, v := range dst {
		for part := range int32(4) {
			a := from
			a.displacement += 4 * words * (4*part + int32(row))
			if part == 0 {
				c.one(vmovupsFour, v, memory(a))
			} else {
				c.immediate(vinserti32x4, v, v, memory(a), uint8(part))
			}
		}
	}
	c.turnTables(dst, dst)
}

// turnTables makes rows of columns, in each quarter of four vectors. dst may be the same vectors.
func (c *compiler) turnTables(dst, rows [4]vector) {
	t := spare
	for i := range 2 {
		c.two(vpunpckldq, t[2*i], rows[2*i], reg(rows[2*i+1]))
		c.two(vpunpckhdq, t[2*i+1], rows[2*i], reg(rows[2*i+1]))
	}
	for i := range 2 {
		c.two(vpunpcklqdq, dst[2*i], t[i], reg(t[i+2]))
		c.two(vpunpckhqdq, dst[2*i+1], t[i], reg(t[i+2]))
	}
}

// permute gives each lane a word of two of spare, which begin at starts.
func (c *compiler) permute(dst vector, starts [mostStride]int32, first, second int, word func(lane int32) int32) {
	var words [16]uint32
	for i := range words {
		n := word(int32(i))
		if n < starts[first]+16 {
			words[i] = uint32(n - starts[first])
		} else {
			words[i] = uint32(16+n-starts[second]) & 31 // a lane that nothing reads may be behind both
		}
	}
	c.permuteBy(dst, spare[first], spare[second], words)
}

// permuteBy gives each lane a word of two vectors: those of the second have numbers from 16 on.
func (c *compiler) permuteBy(dst, first, second vector, words [16]uint32) {
	c.move(dst, c.constants([8]uint32(words[:8]), [8]uint32(words[8:])))
	c.two(vpermi2d, dst, first, reg(second))
}

// storeStrided writes the store under way and those of its neighbours that follow it, if there is code for them.
func (c *compiler) storeStrided(in *Inst) bool {
	n := in.together(c.storesOfNeighbours())
	if n == 0 || in.words() > mostStride && c.mode == Masked {
		return false
	}
	offsets := operand{}
	if in.way == 0 {
		offsets = c.reads(0)
	}
	stores, values := c.insts[c.at:][:n], c.stored(n)
	if h := c.find(in.A); h != nil {
		h.next = c.uses[c.at+len(stores)-1][0]
	}
	if in.way > 0 {
		c.spreadOut(values, c.onWay(in), in.words())
	} else {
		slow, back := c.label(), c.label()
		c.spreadOut(values, at(c.address(in, offsets, slow), int32(in.Immediate)), in.words())
		c.place(back)
		c.behind(slow, back, func() {
			for i := range stores {
				c.scatterPair(&stores[i], offsets, c.inVector(values[i], spare[1]))
			}
		})
	}
	c.written = c.at + len(stores)
	return true
}

// storesOfNeighbours is how many stores of neighbours begin with the one under way, at most the words of the distance.
func (c *compiler) storesOfNeighbours() int {
	in, n := &c.insts[c.at], 1
	for n < int(in.words()) && c.at+n < len(c.insts) {
		o := &c.insts[c.at+n]
		if !in.besides(o, n) || c.find(o.B) == nil && c.findBits(o.B) != nil {
			break
		}
		n++
	}
	return n
}

// stored is what the next n instructions, stores, write, wherever it is.
func (c *compiler) stored(n int) []operand {
	values := []operand{c.reads(1)}
	for i := 1; i < n; i++ {
		r := c.insts[c.at+i].B
		if h := c.find(r); h != nil {
			h.pinned, h.next = c.at+1, c.uses[c.at+i][1]
			values = append(values, reg(c.number(h)))
		} else {
			values = append(values, operand{memory: true, broadcast: r.Step == 0, address: c.home(r)})
		}
	}
	return values
}

// spreadOut writes the first of values to lanes that lie some words apart, the second a word behind, and so on.
func (c *compiler) spreadOut(values []operand, to address, words int32) {
	var sources [mostStride]vector
	if words > mostStride {
		for ; len(values) > 0; values = values[4:] {
			c.spreadFour([4]operand(values), to, words)
			to.displacement += 16
		}
		return
	}
	places := [mostStride]vector{spare[0], spare[1], halfPlaces[0], halfPlaces[1]}
	for i, v := range values {
		sources[i] = c.inVector(v, places[i])
	}
	for i := len(values); i < mostStride; i++ {
		sources[i] = sources[0] // nothing of it is written
	}
	dst, upper := spare[2], spare[3]
	for part := range words {
		// The words of this part, by their place.
		var lanes, numbers [16]uint32
		written, behind := uint16(0), uint16(0)
		for i := range int32(16) {
			lane, member := uint32((16*part+i)/words), (16*part+i)%words
			lanes[i], numbers[i] = lane, lane+16*uint32(member&1)
			if int(member) < len(values) {
				written |= 1 << i
			}
			if member >= 2 {
				behind |= 1 << i
			}
		}
		c.permuteBy(dst, sources[0], sources[1], numbers)
		if len(values) > 2 {
			c.permuteBy(upper, sources[2], sources[3], numbers)
			c.setBits(1, behind)
			c.blendBy(1, dst, dst, reg(upper))
		}
		from := to
		from.displacement += 64 * part
		c.storeSome(from, dst, upper, lanes, written)
	}
}

// spreadFour is spreadOut of four neighbours, to all lanes.
func (c *compiler) spreadFour(values [4]operand, to address, words int32) {
	places := [4]vector{halfPlaces[0], halfPlaces[1], lower[0], lower[1]}
	var rows [4]vector
	for i, v := range values {
		rows[i] = c.inVector(v, places[i])
	}
	c.turnTables(places, rows)
	for row, v := range places {
		for part := range int32(4) {
			a := to
			a.displacement += 4 * words * (4*part + int32(row))
			if part == 0 {
				c.vex(vmovupsFourTo, uint8(v), 0, memory(a), 0)
			} else {
				c.vex(vextracti128, uint8(v), 0, memory(a), 1)
				c.bytes(uint8(part))
			}
		}
	}
}

// storeSome writes those of the words of a vector that are to be written and whose lanes take part. t is needed.
func (c *compiler) storeSome(to address, v, t vector, lanes [16]uint32, words uint16) {
	all := words == 1<<16-1
	switch {
	case c.mode == Masked:
		active := lower[0]
		c.spread(active, c.activeBits(), 0)
		c.permuteBy(t, active, active, lanes)
		c.signsTo(1, t)
		if !all {
			c.setBits(savedBits, words)
			c.bits(kand, 1, 1, savedBits)
		}
		c.storeBy(1, to, v)
	case all:
		c.store(to, v)
	default:
		c.setBits(1, words)
		c.storeBy(1, to, v)
	}
}
