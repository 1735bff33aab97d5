package vm

import (
	"math"

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
		n.By, n.Fill = kernel.AndI32, math.MaxUint32
	case spirv.OpGroupNonUniformAny, spirv.OpSubgroupAnyKHR:
		n.By = kernel.OrI32
	}
	if op.Combines && !isHalf(op.Type) {
		n.Op, n.By = native.Reduce, combineKernel(op.Op, op.Type)
		if n.By == 0 {
			return false
		}
		fill, identity := fillOf(op)
		n.Fill, n.Identity = uint32(fill), uint32(identity)
		switch {
		case op.Operation == spirv.GroupOperationInclusiveScan:
			n.Op = native.ScanInclusive
		case op.Operation == spirv.GroupOperationExclusiveScan:
			n.Op = native.ScanExclusive
		case op.Cluster > 0:
			n.Apart = min(n.Apart, op.Cluster)
		}
	}
	if n.Op == 0 || len(op.Dst) != 1 || op.Dst[0].Size != 32 || op.Arg.Size > 32 ||
		n.All() && (p.SubgroupSize%kernel.Width > 0 || p.Lanes%int(p.SubgroupSize) > 0) {
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

// runTogether executes a run with instructions for which native.Inst.All is true: for whole subgroups, with a mask of
// all their lanes where some are not active.
func (w *worker) runTogether(run int) {
	if w.allLanes() {
		w.runNative(run)
		return
	}
	first, n := w.wholeGroups()
	w.runMasked(run, native.Masked, w.group.mask, first, n)
}

// allLanes says whether all lanes of the workgroup are active.
func (w *worker) allLanes() bool {
	return w.active.first == 0 && w.active.end == w.engine.chunks && w.active.full()
}

// wholeGroups gives the chunks of the subgroups with active lanes, and makes group.mask that of these lanes.
func (w *worker) wholeGroups() (first, n int) {
	size := int(w.program.SubgroupSize) / kernel.Width
	first, end := w.active.first/size*size, (w.active.end+size-1)/size*size
	for chunk := first; chunk < end; chunk++ {
		lanes := w.chunkOf(w.group.mask, chunk)
		if chunk >= w.active.first && chunk < w.active.end {
			*lanes = *w.activeMask(chunk)
		} else {
			*lanes = [kernel.Width]uint32{}
		}
	}
	return first, end - first
}
