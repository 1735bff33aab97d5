package native

import "slices"

// Where each instruction of a loop waits for the one before, most of the processor has nothing to do. So a region goes
// through its loop with two pairs of chunks, as long as these are left: each block is executed for the first pair and
// then for the second one, whose registers lie a pair further on. The processor works on both at the same time.

// part says which of two pairs an instruction is for.
type part uint8

const (
	bothParts part = iota // all lanes share its result, or it is no control flow that moves lanes
	firstPart
	secondPart
)

// inSecond is the register of the second pair.
func (r Register) inSecond() Register {
	if r.Step > 0 {
		r.Offset += 2 * r.Step
	}
	return r
}

const (
	mostInTwo   = 64  // instructions of a block that are executed for one pair before they are for the other
	mostOfTwo   = 256 // instructions of a region for two pairs
	mostCarried = 12  // registers of a pair that blocks of it leave to others, or a third of its instructions
)

// inTwo gives the instructions of a block for two pairs. What all lanes share is done once, so the second pair has its
// turn before an instruction changes what it still needs. So it has before one that waits for lanes loaded at any
// places: the processor looks no further ahead than some hundred operations, of which such a load has many.
func inTwo(insts []Inst) []Inst {
	var list, later []Inst
	read := map[Register]bool{} // by those in later, of what all lanes share
	slow := map[Register]bool{} // written by those in later, which are loads of lanes at any places
	stores := false             // one of later does
	flush := func() {
		list = append(list, later...)
		later, stores = later[:0], false
		clear(read)
		clear(slow)
	}
	for _, in := range insts {
		shared := !in.controls() && in.Dst.Valid && in.Dst.Step == 0
		if shared {
			if read[in.Dst] || stores && in.accesses() {
				flush()
			}
			list = append(list, in)
			continue
		}
		if in.Shuffles() {
			flush() // it reads both pairs
			first, second := shuffleInTwo(in)
			list = append(list, first, second)
			continue
		}
		if in.controls() && in.Op != Split && in.Op != Leave {
			flush()
			list = append(list, in)
			continue
		}
		if in.controls() || len(later) == mostInTwo || slow[in.A] || slow[in.B] || slow[in.C] {
			flush()
		}
		second := in
		in.part, second.part = firstPart, secondPart
		if !in.controls() {
			for _, r := range []*Register{&second.Dst, &second.A, &second.B, &second.C} {
				*r = r.inSecond()
			}
			for _, r := range []Register{in.A, in.B, in.C, in.Base} {
				read[r] = read[r] || r.Valid && r.Step == 0
			}
			stores = stores || in.Stores()
		} else {
			second.A = second.A.inSecond()
		}
		list, later = append(list, in), append(later, second)
		if in.gathers() || in.Private() && in.Dst.Valid && in.A.Step > 0 {
			slow[in.Dst] = true
		}
	}
	flush()
	return list
}

// worthTwo says whether a region is for two pairs, too. Long ones have enough for the processor to do, and most of what
// goes from round to round has to be in vectors.
func (r *region) worthTwo() bool {
	return len(r.insts) <= mostOfTwo && r.carried <= max(mostCarried, len(r.insts)/3) &&
		!slices.ContainsFunc(r.insts, func(in Inst) bool { return in.Atomic() || in.Physical() })
}

// writes says whether the region writes a register.
func (r *region) writes(p Register) bool {
	return slices.ContainsFunc(r.insts, func(in Inst) bool { return !in.controls() && in.Dst == p })
}

// pinsOfTwo chooses those that vectors hold all the time for both pairs: first those that the region writes. An
// instruction can have another one as an operand from memory.
func (r *region) pinsOfTwo(most int) {
	var pins []Register
	for _, written := range [2]bool{true, false} {
		for _, p := range r.pins {
			n := 1
			if p.Step > 0 {
				n = 2
			}
			if r.writes(p) != written || len(pins)+n > most {
				continue
			}
			pins = append(pins, p)
			if n == 2 {
				pins = append(pins, p.inSecond())
			}
		}
	}
	r.pins = pins
}

// eachPair writes code for the pair, or for each of two.
func (c *compiler) eachPair(write func()) {
	write()
	if c.twice {
		c.second = true
		write()
		c.second = false
	}
}

// ofPair is where the second pair has what the first one has at an address, if code is for the second one.
func (c *compiler) ofPair(a address) address {
	if c.second {
		a.displacement += 64
	}
	return a
}

// maskBits is where a mask that only the region uses has the bits of the pair.
func (c *compiler) maskBits(a address) address {
	if c.second {
		a.displacement += 4
	}
	return a
}

// testActive compares, so that equal says whether no lane is active.
func (c *compiler) testActive() {
	if c.twice {
		c.bits(kortest, pairBits, 0, secondBits)
		return
	}
	c.testBits(pairBits)
}
