package vm

import (
	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/compute/internal/program"
	"farside/spirv"
)

// nativeShuffles are the instructions of subgroups that there is machine code for, but for those that combine values.
var nativeShuffles = map[spirv.Op]kernel.Op{
	spirv.OpGroupNonUniformShuffle: native.Shuffle, spirv.OpGroupNonUniformBroadcast: native.Shuffle,
	spirv.OpSubgroupReadInvocationKHR: native.Shuffle, spirv.OpGroupNonUniformShuffleXor: native.ShuffleXor,
	spirv.OpGroupNonUniformShuffleUp: native.ShuffleUp, spirv.OpGroupNonUniformShuffleDown: native.ShuffleDown,
	spirv.OpGroupNonUniformQuadBroadcast: native.QuadBroadcast, spirv.OpGroupNonUniformQuadSwap: native.QuadSwap,
	spirv.OpGroupNonUniformAll: native.Reduce, spirv.OpSubgroupAllKHR: native.Reduce,
	spirv.OpGroupNonUniformAny: native.Reduce, spirv.OpSubgroupAnyKHR: native.Reduce,
	spirv.OpGroupNonUniformBallot: native.Ballot, spirv.OpSubgroupBallotKHR: native.Ballot,
	spirv.OpGroupNonUniformBroadcastFirst: native.First, spirv.OpSubgroupFirstInvocationKHR: native.First,
	spirv.OpGroupNonUniformElect: native.Elect,
}

// nativeSubgroup makes an instruction on a subgroup one that package native has, if it may have it.
func (e *Engine) nativeSubgroup(p *program.Program, op *program.SubgroupOp, n *native.Inst) bool {
	n.Op, n.Apart, n.Immediate = nativeShuffles[op.Op], p.SubgroupSize, uint64(e.chunks*kernel.Width)
	switch op.Op {
	case spirv.OpGroupNonUniformAll, spirv.OpSubgroupAllKHR:
		n.By = kernel.AndI32
	case spirv.OpGroupNonUniformAny, spirv.OpSubgroupAnyKHR:
		n.By = kernel.OrI32
	}
	if op.Combines && (op.Operation == spirv.GroupOperationReduce ||
		op.Operation == spirv.GroupOperationClusteredReduce) && !isHalf(op.Type) {
		n.Op, n.By = native.Reduce, combineKernel(op.Op, op.Type)
		if n.By == 0 {
			return false
		}
		if op.Cluster > 0 {
			n.Apart = min(n.Apart, op.Cluster)
		}
	}
	if n.Op == 0 || len(op.Dst) != 1 || op.Dst[0].Size != 32 || op.Arg.Size > 32 ||
		n.All() && p.Lanes%int(p.SubgroupSize) > 0 {
		return false
	}
	of := func(r program.Register) native.Register {
		return native.Register{Offset: r.Offset, Step: r.Step, Valid: r.Size > 0}
	}
	n.Dst, n.A = of(op.Dst[0]), of(op.Arg)
	if n.All() {
		n.A = native.Register{}
	}
	if len(op.Value) > 0 {
		if op.Value[0].Size != 32 {
			return false
		}
		n.C = of(op.Value[0])
	}
	return true
}

// allActive says whether all lanes of the batch are active.
func (w *worker) allActive() bool {
	return w.active.first == 0 && w.active.end == w.engine.chunks && w.active.full()
}
