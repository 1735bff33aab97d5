package vm

import (
	"farside/compute/internal/kernel"
	"farside/spirv"
)

// takesBits says whether an instruction takes what is true or false, or a ballot: bits, which are read as such.
func takesBits(op spirv.Op) bool {
	switch op {
	case spirv.OpGroupNonUniformAll, spirv.OpSubgroupAllKHR, spirv.OpGroupNonUniformAny, spirv.OpSubgroupAnyKHR,
		spirv.OpGroupNonUniformQuadAllKHR, spirv.OpGroupNonUniformQuadAnyKHR, spirv.OpGroupNonUniformBallot,
		spirv.OpSubgroupBallotKHR, spirv.OpGroupNonUniformInverseBallot, spirv.OpGroupNonUniformBallotBitExtract,
		spirv.OpGroupNonUniformBallotBitCount, spirv.OpGroupNonUniformBallotFindLSB, spirv.OpGroupNonUniformBallotFindMSB:
		return true
	}
	return false
}

// bitsOf is a bit for each of the subgroup's lanes in a chunk, whose lanes are all ones or zero.
func (g *group) bitsOf(c *[kernel.Width]uint32) uint32 {
	all := c[0]&1 | c[1]&2 | c[2]&4 | c[3]&8 | c[4]&16 | c[5]&32 | c[6]&64 | c[7]&128
	return all >> g.inChunk() & (1<<g.part() - 1)
}

// vote is the active lanes in which the value is true.
func (g *group) vote() ballot {
	var b ballot
	for lane, n := 0, g.part(); lane < g.size; lane += n {
		if g.activeIn(lane) != 0 {
			b[lane/32] |= g.bitsOf(g.worker.chunk32(g.op.Value[0], (g.start+lane)/kernel.Width)) << (lane % 32)
		}
	}
	for i := range b {
		b[i] &= g.active[i]
	}
	return b
}

// activeIn is the active lanes from one on that lie in the same chunk.
func (g *group) activeIn(lane int) uint32 {
	return g.active[lane/32] >> (lane % 32) & (1<<g.part() - 1)
}

// given is the ballot that an instruction takes in a lane, without the bits of lanes that the subgroup does not have.
func (g *group) given(lane int) ballot {
	var b ballot
	lane += g.start
	for i, r := range g.op.Value[:len(b)] {
		b[i] = g.worker.chunk32(r, lane/kernel.Width)[lane%kernel.Width]
	}
	return b.before(g.size)
}

// shared is given, and whether all active lanes have the same.
func (g *group) shared() (ballot, bool) {
	first := g.active.first()
	b := g.given(first)
	for word := range (g.size + 31) / 32 {
		r := g.op.Value[word]
		want := g.worker.chunk32(r, (g.start+first)/kernel.Width)[(g.start+first)%kernel.Width]
		for lane, n := 0, g.part(); lane < g.size && !r.Uniform(); lane += n {
			active := g.activeIn(lane)
			if active == 0 {
				continue
			}
			c := g.worker.chunk32(r, (g.start+lane)/kernel.Width)
			if *c == [kernel.Width]uint32{want, want, want, want, want, want, want, want} {
				continue
			}
			for i, word := range c[g.inChunk():][:n] {
				if active>>i&1 != 0 && word != want {
					return ballot{}, false
				}
			}
		}
	}
	return b, true
}

// ofBallot does the instructions that take a ballot, which mostly is the same in all lanes.
func (g *group) ofBallot() {
	op := g.op
	b, same := g.shared()
	switch {
	case !same:
		g.each(func(lane int) uint64 { return g.answer(g.given(lane), lane) })
	case op.Op == spirv.OpGroupNonUniformBallotFindLSB, op.Op == spirv.OpGroupNonUniformBallotFindMSB,
		op.Op == spirv.OpGroupNonUniformBallotBitCount && op.Operation == spirv.GroupOperationReduce:
		g.all(op.Dst[0], g.answer(b, 0))
	case op.Op == spirv.OpGroupNonUniformBallotBitCount:
		n, inclusive := uint64(0), op.Operation == spirv.GroupOperationInclusiveScan
		for lane := range g.size {
			g.result[lane] = n
			n += uint64(b[lane/32&3] >> (lane % 32) & 1)
			if inclusive {
				g.result[lane] = n
			}
		}
		g.write(op.Dst[0])
	default:
		g.each(func(lane int) uint64 { return g.answer(b, lane) })
	}
}

// answer is what a lane gets of a ballot.
func (g *group) answer(b ballot, lane int) uint64 {
	switch op := g.op; op.Op {
	case spirv.OpGroupNonUniformInverseBallot:
		return truth(b.has(lane))
	case spirv.OpGroupNonUniformBallotBitExtract:
		bit := g.arg(lane)
		return truth(bit < maxSubgroup && b.has(bit))
	case spirv.OpGroupNonUniformBallotFindLSB:
		return uint64(b.first())
	case spirv.OpGroupNonUniformBallotFindMSB:
		return uint64(b.last())
	default:
		switch op.Operation {
		case spirv.GroupOperationInclusiveScan:
			b = b.before(lane + 1)
		case spirv.GroupOperationExclusiveScan:
			b = b.before(lane)
		}
		return uint64(b.count())
	}
}
