package vm

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/spirv"
)

// maxSubgroup is the largest subgroup.
const maxSubgroup = 128

// ballot is a bit for each lane of a subgroup.
type ballot [4]uint32

func (b *ballot) has(lane int) bool { return b[lane/32&3]>>(lane%32)&1 != 0 }

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

// group is a subgroup while an instruction is done.
type group struct {
	worker *worker
	op     *program.SubgroupOp
	start  int // the first lane, as LocalInvocationIndex
	size   int
	active ballot
	whole  bool                 // all lanes are active
	folded [kernel.Width]uint64 // chunks: see reduce and scan
	other  [kernel.Width]uint64
	fold   kernel.Args
	mask   kernel.Register     // of the chunks of whole subgroups
	values [maxSubgroup]uint64 // Value[0] in each lane
	args   [maxSubgroup]uint64 // Arg
	result [maxSubgroup]uint64 // for each active lane
}

// subgroup does an instruction in all subgroups that have active lanes. A subgroup is SubgroupSize invocations that
// follow each other in LocalInvocationIndex.
func (w *worker) subgroup(op *program.SubgroupOp) {
	switch op.Op {
	case spirv.OpDemoteToHelperInvocation:
		w.demote()
		return
	case spirv.OpIsHelperInvocationEXT:
		w.helpers(op.Dst[0])
		return
	}
	g, size := &w.group, int(w.program.SubgroupSize)
	g.worker, g.op, g.size = w, op, size
	for start := w.active.first * kernel.Width / size * size; start < w.active.end*kernel.Width; start += size {
		g.start = start
		g.findActive()
		if first := g.active.first(); first >= 0 && !g.reduce() && !g.scan() {
			if len(op.Value) > 0 && !takesBits(op.Op) {
				g.read(&g.values, op.Value[0])
			}
			if op.Arg.Size > 0 {
				g.read(&g.args, op.Arg)
			}
			g.execute(first)
		}
	}
	if isHalf(op.Type) && op.Combines {
		round := kernel.Args{Dst: w.bind(op.Dst[0]), A: w.bind(op.Dst[0])}
		if op.Dst[0].Uniform() {
			w.kernels.Ops[kernel.RoundF16](&round, 0, 1)
		} else {
			w.kernels.Ops[kernel.RoundF16](&round, w.active.first, w.active.end-w.active.first)
		}
	}
}

// isHalf says whether a type is that of floats of 16 bits, whose lanes have 32.
func isHalf(t *spirv.Type) bool { return t != nil && t.Kind == spirv.TypeFloat && t.Width == 16 }

// part is how many lanes of the subgroup lie in one chunk; they begin there at inChunk.
func (g *group) part() int { return min(g.size, kernel.Width) }

func (g *group) inChunk() int { return g.start % kernel.Width }

func (g *group) findActive() {
	w := g.worker
	g.active = ballot{}
	g.whole = w.active.full() && g.start >= w.active.first*kernel.Width && g.start+g.size <= w.active.end*kernel.Width
	if g.whole {
		all := ballot{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0)}
		g.active = all.before(g.size)
		return
	}
	for lane := 0; lane < g.size; lane += g.part() {
		chunk := (g.start + lane) / kernel.Width
		if chunk < w.active.first || chunk >= w.active.end {
			continue
		}
		g.active[lane/32] |= g.bitsOf(w.activeMask(chunk)) << (lane % 32)
	}
}

// read reads a register in all lanes of the subgroup that exist.
func (g *group) read(to *[maxSubgroup]uint64, r program.Register) {
	w, in, n := g.worker, g.inChunk(), g.part()
	for lane := 0; lane < g.size; lane += n {
		chunk := (g.start + lane) / kernel.Width
		switch to := to[lane : lane+n]; {
		case chunk >= w.engine.chunks:
			return
		case r.Size == 64:
			copy(to, w.chunk64(r, chunk)[in:])
		default:
			for i, v := range w.chunk32(r, chunk)[in:][:n] {
				to[i] = uint64(v)
			}
		}
	}
}

// write writes the results of the active lanes to a register; where it is the same in all lanes, that of one.
func (g *group) write(r program.Register) {
	w, in, n := g.worker, g.inChunk(), g.part()
	if r.Uniform() {
		w.setUniform(r, g.result[g.active.first()])
		return
	}
	for lane := 0; lane < g.size; lane += n {
		chunk, active := (g.start+lane)/kernel.Width, g.active[lane/32]>>(lane%32)
		switch result := g.result[lane : lane+n]; {
		case active&(1<<n-1) == 0:
		case n == kernel.Width && active&(1<<n-1) == 1<<n-1 && r.Size == 64:
			*w.chunk64(r, chunk) = [kernel.Width]uint64(result)
		case n == kernel.Width && active&(1<<n-1) == 1<<n-1:
			to := w.chunk32(r, chunk)
			for i, v := range [kernel.Width]uint64(result) {
				to[i] = uint32(v)
			}
		case r.Size == 64:
			for i, to := 0, w.chunk64(r, chunk)[in:]; i < n; i++ {
				if active>>i&1 != 0 {
					to[i] = result[i]
				}
			}
		default:
			for i, to := 0, w.chunk32(r, chunk)[in:]; i < n; i++ {
				if active>>i&1 != 0 {
					to[i] = uint32(result[i])
				}
			}
		}
	}
}

// each writes a result for each active lane.
func (g *group) each(result func(lane int) uint64) {
	for lane := range g.size {
		if g.active.has(lane) {
			g.result[lane] = result(lane)
		}
	}
	g.write(g.op.Dst[0])
}

// all writes one result to all active lanes.
func (g *group) all(r program.Register, result uint64) {
	if g.whole && g.size%kernel.Width == 0 {
		g.fill(r, g.start/kernel.Width, g.size/kernel.Width, result)
		return
	}
	for lane := range g.size {
		g.result[lane] = result
	}
	g.write(r)
}

// from writes to each lane the value of another; what a lane that is none has is undefined, here 0.
func (g *group) from(source func(lane int) int) {
	size := min(g.size, g.worker.engine.chunks*kernel.Width-g.start)
	for lane := range g.size {
		g.result[lane] = 0
		if from := source(lane); from >= 0 && from < size {
			g.result[lane] = g.values[from]
		}
	}
	g.write(g.op.Dst[0])
}

// arg is the index, delta, mask or direction in a lane; one that is no lane's is maxSubgroup.
func (g *group) arg(lane int) int { return int(min(g.args[lane], maxSubgroup)) }

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
		clear(g.result[:g.size])
		g.result[first] = math.MaxUint32
		g.write(op.Dst[0])
	case spirv.OpGroupNonUniformAll, spirv.OpSubgroupAllKHR:
		g.all(op.Dst[0], truth(g.vote() == g.active))
	case spirv.OpGroupNonUniformAny, spirv.OpSubgroupAnyKHR:
		g.all(op.Dst[0], truth(g.vote() != ballot{}))
	case spirv.OpGroupNonUniformBroadcast, spirv.OpSubgroupReadInvocationKHR, spirv.OpGroupNonUniformShuffle:
		g.from(g.arg)
	case spirv.OpGroupNonUniformBroadcastFirst, spirv.OpSubgroupFirstInvocationKHR:
		g.all(op.Dst[0], g.values[first])
	case spirv.OpGroupNonUniformShuffleXor:
		g.from(func(lane int) int { return lane ^ g.arg(lane) })
	case spirv.OpGroupNonUniformShuffleUp:
		g.from(func(lane int) int { return lane - g.arg(lane) })
	case spirv.OpGroupNonUniformShuffleDown:
		g.from(func(lane int) int { return lane + g.arg(lane) })
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
		for word, dst := range op.Dst {
			g.all(dst, uint64(vote[word]))
		}
	case spirv.OpReadClockKHR:
		var now uint64
		if clock := g.worker.run.Clock; clock != nil {
			now = clock()
		}
		for half, dst := range op.Dst {
			g.all(dst, now>>(32*half))
		}
	case spirv.OpGroupNonUniformInverseBallot, spirv.OpGroupNonUniformBallotBitExtract,
		spirv.OpGroupNonUniformBallotBitCount, spirv.OpGroupNonUniformBallotFindLSB,
		spirv.OpGroupNonUniformBallotFindMSB:
		g.ofBallot()
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
	first := g.active.first()
	switch g.op.Operation {
	case spirv.GroupOperationInclusiveScan, spirv.GroupOperationExclusiveScan:
		inclusive := g.op.Operation == spirv.GroupOperationInclusiveScan
		sum := identity
		for lane := first; lane < g.size; lane++ {
			if !g.active.has(lane) {
				continue
			}
			g.result[lane] = sum
			// A sum begins with the first value, so that a minus zero stays one.
			if lane == first {
				sum = g.values[lane]
			} else {
				sum = f(sum, g.values[lane])
			}
			if inclusive {
				g.result[lane] = sum
			}
		}
	default:
		cluster := g.cluster()
		for start := 0; start < g.size; start += cluster {
			sum, some := uint64(0), false
			for lane, value := range g.values[start : start+cluster] {
				switch {
				case !g.active.has(start + lane):
				case some:
					sum = f(sum, value)
				default:
					sum, some = value, true
				}
			}
			for lane := range g.result[start : start+cluster] {
				g.result[start+lane] = sum
			}
		}
	}
	g.write(g.op.Dst[0])
}
