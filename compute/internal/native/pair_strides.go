package native

import "farside/compute/internal/kernel"

// Loads and stores for pairs of lanes that lie two to four words apart: members of vectors and structures. The words of
// all lanes are as many vectors as the distance has words. Loads of neighbours share them, and so do stores.

// mostStride is the largest distance that has these loads.
const mostStride = 4

// strided says whether it is such a load, storesStrided whether it is such a store.
func (in *Inst) strided() bool       { return in.Op == kernel.Load32 && in.inStrides() }
func (in *Inst) storesStrided() bool { return in.Op == kernel.Store32 && in.inStrides() }

func (in *Inst) inStrides() bool {
	return (in.Pattern == Consecutive || in.Pattern == Linear) && in.words() > 1 && in.words() <= mostStride
}

// loadStrided writes the load under way and those of its neighbours.
func (c *compiler) loadStrided(in *Inst) {
	loads := c.insts[c.at:][:c.members()]
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
}

// pick loads lanes that lie some words apart to dst[0], those a word behind to dst[1], and so on.
func (c *compiler) pick(dst []vector, from address, words int32) {
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

// storeStrided writes the store under way and those of its neighbours that follow it.
func (c *compiler) storeStrided(in *Inst) {
	offsets := operand{}
	if in.way == 0 {
		offsets = c.reads(0)
	}
	stores, values := c.stored()
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
}

// stored are the stores of neighbours that begin with the one under way, no more than the distance has words, and what
// they store, wherever it is.
func (c *compiler) stored() (stores []Inst, values []operand) {
	in := &c.insts[c.at]
	values = append(values, c.reads(1))
	n := 1
	for ; n < int(in.words()) && c.at+n < len(c.insts); n++ {
		o := &c.insts[c.at+n]
		h := c.find(o.B)
		if !in.besides(o, n) || h == nil && c.findBits(o.B) != nil {
			break
		}
		if h == nil {
			values = append(values, operand{memory: true, broadcast: o.B.Step == 0, address: c.home(o.B)})
			continue
		}
		h.pinned, h.next = c.at+1, c.uses[c.at+n][1]
		values = append(values, reg(c.number(h)))
	}
	return c.insts[c.at:][:n], values
}

// spreadOut writes the first of values to lanes that lie some words apart, the second a word behind, and so on.
func (c *compiler) spreadOut(values []operand, to address, words int32) {
	var sources [mostStride]vector
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

// storeSome writes those of the words of a vector that are to be written and whose lanes take part. t is needed.
func (c *compiler) storeSome(to address, v, t vector, lanes [16]uint32, words uint16) {
	all := words == 1<<16-1
	switch {
	case c.mode == Masked:
		active := lower[0]
		c.spread(active, activeBits, 0)
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
