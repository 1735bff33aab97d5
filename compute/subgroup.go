package compute

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
	"farside/spirv"
)

// maxSubgroup is the largest subgroup.
const maxSubgroup = 128

// ballot is a bit for each lane of a subgroup.
type ballot [4]uint32

func (b *ballot) set(lane int)      { b[lane/32] |= 1 << (lane % 32) }
func (b *ballot) has(lane int) bool { return b[lane/32]>>(lane%32)&1 != 0 }

// before is the bits below that of a lane.
func (b *ballot) before(lane int) ballot {
	var below ballot
	for i := range below {
		switch {
		case lane >= 32*(i+1):
			below[i] = b[i]
		case lane > 32*i:
			below[i] = b[i] & (1<<(lane-32*i) - 1)
		}
	}
	return below
}

func (b *ballot) count() int {
	return bits.OnesCount32(b[0]) + bits.OnesCount32(b[1]) + bits.OnesCount32(b[2]) + bits.OnesCount32(b[3])
}

// first and last are -1 where no bit is set.
func (b *ballot) first() int {
	for i, word := range b {
		if word != 0 {
			return 32*i + bits.TrailingZeros32(word)
		}
	}
	return -1
}

func (b *ballot) last() int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != 0 {
			return 32*i + bits.Len32(b[i]) - 1
		}
	}
	return -1
}

// group is the active lanes of a subgroup while an instruction is done.
type group struct {
	worker *worker
	op     *SubgroupOp
	start  int // the first lane, as LocalInvocationIndex
	size   int
	active ballot
}

// subgroup does an instruction in all subgroups that have active lanes. A subgroup is SubgroupSize invocations that
// follow each other in LocalInvocationIndex.
func (w *worker) subgroup(op *SubgroupOp) {
	size := int(w.program.SubgroupSize)
	for start := w.active.first * kernel.Width / size * size; start < w.active.end*kernel.Width; start += size {
		g := group{worker: w, op: op, start: start, size: size}
		for lane := range size {
			chunk := (start + lane) / kernel.Width
			if chunk >= w.active.first && chunk < w.active.end && w.activeMask(chunk)[(start+lane)%kernel.Width] != 0 {
				g.active.set(lane)
			}
		}
		if first := g.active.first(); first >= 0 {
			g.execute(first)
		}
	}
	if t := op.Type; t != nil && t.Kind == spirv.TypeFloat && t.Width == 16 && arithmetic(op.Op) {
		round := kernel.Args{Dst: w.bind(op.Dst[0]), A: w.bind(op.Dst[0])}
		if op.Dst[0].Uniform() {
			w.kernels.Ops[kernel.RoundF16](&round, 0, 1)
		} else {
			w.kernels.Ops[kernel.RoundF16](&round, w.active.first, w.active.end-w.active.first)
		}
	}
}

// get reads a register in a lane of the subgroup.
func (g *group) get(r Register, lane int) uint64 {
	lane += g.start
	if r.Size == 64 {
		return g.worker.chunk64(r, lane/kernel.Width)[lane%kernel.Width]
	}
	return uint64(g.worker.chunk32(r, lane/kernel.Width)[lane%kernel.Width])
}

// set writes the result, or a word of it, in a lane; where it is the same in all lanes it needs only one.
func (g *group) set(word, lane int, value uint64) {
	r := g.op.Dst[word]
	if r.Uniform() {
		g.worker.setUniform(r, value)
		return
	}
	lane += g.start
	if r.Size == 64 {
		g.worker.chunk64(r, lane/kernel.Width)[lane%kernel.Width] = value
	} else {
		g.worker.chunk32(r, lane/kernel.Width)[lane%kernel.Width] = uint32(value)
	}
}

// each writes a result for each active lane.
func (g *group) each(result func(lane int) uint64) {
	for lane := range g.size {
		if g.active.has(lane) {
			g.set(0, lane, result(lane))
		}
	}
}

// all writes one result to all active lanes.
func (g *group) all(result uint64) { g.each(func(int) uint64 { return result }) }

// from writes to each lane the value of another; what a lane that is none has is undefined, here 0.
func (g *group) from(source func(lane int) int) {
	g.each(func(lane int) uint64 {
		if from := source(lane); from >= 0 && from < g.size && g.start+from < g.worker.start.end*kernel.Width {
			return g.get(g.op.Value[0], from)
		}
		return 0
	})
}

// arg is the index, delta, mask or direction in a lane; one that is no lane's is size.
func (g *group) arg(lane int) int { return int(min(g.get(g.op.Arg, lane), maxSubgroup)) }

// vote is the active lanes in which the value is true.
func (g *group) vote() ballot {
	var b ballot
	for lane := range g.size {
		if g.active.has(lane) && g.get(g.op.Value[0], lane) != 0 {
			b.set(lane)
		}
	}
	return b
}

// given is the ballot that an instruction takes, without the bits of lanes that the subgroup does not have.
func (g *group) given(lane int) ballot {
	var b ballot
	for i := range b {
		b[i] = uint32(g.get(g.op.Value[i], lane))
	}
	return b.before(g.size)
}

func truth(b bool) uint64 {
	if b {
		return math.MaxUint32
	}
	return 0
}

func (g *group) execute(first int) {
	op := g.op
	switch op.Op {
	case spirv.OpGroupNonUniformElect:
		g.each(func(lane int) uint64 { return truth(lane == first) })
	case spirv.OpGroupNonUniformAll, spirv.OpSubgroupAllKHR:
		g.all(truth(g.vote() == g.active))
	case spirv.OpGroupNonUniformAny, spirv.OpSubgroupAnyKHR:
		g.all(truth(g.vote() != ballot{}))
	case spirv.OpGroupNonUniformAllEqual, spirv.OpSubgroupAllEqualKHR:
		equal := true
		for lane := range g.size {
			equal = equal && (!g.active.has(lane) || same(op.Type, g.get(op.Value[0], lane), g.get(op.Value[0], first)))
		}
		g.all(truth(equal))
	case spirv.OpGroupNonUniformBroadcast, spirv.OpSubgroupReadInvocationKHR, spirv.OpGroupNonUniformShuffle:
		g.from(g.arg)
	case spirv.OpGroupNonUniformBroadcastFirst, spirv.OpSubgroupFirstInvocationKHR:
		g.all(g.get(op.Value[0], first))
	case spirv.OpGroupNonUniformShuffleXor:
		g.from(func(lane int) int { return lane ^ g.arg(lane) })
	case spirv.OpGroupNonUniformShuffleUp:
		g.from(func(lane int) int { return lane - g.arg(lane) })
	case spirv.OpGroupNonUniformShuffleDown:
		g.from(func(lane int) int { return lane + g.arg(lane) })
	case spirv.OpGroupNonUniformRotateKHR:
		cluster := g.cluster()
		g.from(func(lane int) int {
			return lane&^(cluster-1) | int(uint64(lane)+g.get(op.Arg, lane))&(cluster-1)
		})
	case spirv.OpGroupNonUniformQuadBroadcast:
		g.from(func(lane int) int { return lane&^3 + g.arg(lane)&3 })
	case spirv.OpGroupNonUniformQuadSwap: // 0 horizontally, 1 vertically, 2 diagonally
		g.from(func(lane int) int { return lane ^ (g.arg(lane) + 1) })
	case spirv.OpGroupNonUniformQuadAllKHR, spirv.OpGroupNonUniformQuadAnyKHR:
		vote := g.vote()
		g.each(func(lane int) uint64 {
			of := func(b ballot) uint32 { return b[lane/32] >> (lane % 32 &^ 3) & 15 }
			if op.Op == spirv.OpGroupNonUniformQuadAllKHR {
				return truth(of(vote) == of(g.active))
			}
			return truth(of(vote) != 0)
		})
	case spirv.OpGroupNonUniformBallot, spirv.OpSubgroupBallotKHR:
		vote := g.vote()
		for word := range op.Dst {
			for lane := range g.size {
				if g.active.has(lane) {
					g.set(word, lane, uint64(vote[word]))
				}
			}
		}
	case spirv.OpGroupNonUniformInverseBallot:
		g.each(func(lane int) uint64 { b := g.given(lane); return truth(b.has(lane)) })
	case spirv.OpGroupNonUniformBallotBitExtract:
		g.each(func(lane int) uint64 {
			b, bit := g.given(lane), g.arg(lane)
			return truth(bit < maxSubgroup && b.has(bit))
		})
	case spirv.OpGroupNonUniformBallotBitCount:
		g.each(func(lane int) uint64 {
			b := g.given(lane)
			switch op.Operation {
			case spirv.GroupOperationInclusiveScan:
				b = b.before(lane + 1)
			case spirv.GroupOperationExclusiveScan:
				b = b.before(lane)
			}
			return uint64(b.count())
		})
	case spirv.OpGroupNonUniformBallotFindLSB:
		g.each(func(lane int) uint64 { b := g.given(lane); return uint64(b.first()) })
	case spirv.OpGroupNonUniformBallotFindMSB:
		g.each(func(lane int) uint64 { b := g.given(lane); return uint64(b.last()) })
	default:
		g.combine()
	}
}

// cluster is the number of lanes that an instruction divides a subgroup into.
func (g *group) cluster() int {
	if g.op.Cluster == 0 {
		return g.size
	}
	return min(int(g.op.Cluster), g.size)
}

// combine does the arithmetic ones.
func (g *group) combine() {
	f, identity := combiner(g.op.Op, g.op.Type)
	if f == nil {
		return
	}
	value := g.op.Value[0]
	switch g.op.Operation {
	case spirv.GroupOperationInclusiveScan, spirv.GroupOperationExclusiveScan:
		inclusive := g.op.Operation == spirv.GroupOperationInclusiveScan
		sum := identity
		for lane := range g.size {
			if !g.active.has(lane) {
				continue
			}
			before := sum
			// A sum begins with the first value, so that a minus zero stays one.
			if own := g.get(value, lane); lane == g.active.first() {
				sum = own
			} else {
				sum = f(sum, own)
			}
			if inclusive {
				before = sum
			}
			g.set(0, lane, before)
		}
	default:
		cluster := g.cluster()
		for start := 0; start < g.size; start += cluster {
			sum, some := identity, false
			for lane := start; lane < start+cluster; lane++ {
				switch {
				case !g.active.has(lane):
				case some:
					sum = f(sum, g.get(value, lane))
				default:
					sum, some = g.get(value, lane), true
				}
			}
			for lane := start; lane < start+cluster && some; lane++ {
				if g.active.has(lane) {
					g.set(0, lane, sum)
				}
			}
		}
	}
}
