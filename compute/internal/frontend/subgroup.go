package frontend

import (
	"math"

	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// lowerSubgroup lowers instructions on the lanes of a subgroup.
func (c *compiler) lowerSubgroup(i *spirv.Instruction) bool {
	operands := i.Operands
	if i.Op.Scoped() {
		operands = operands[1:]
	}
	var x ir.SubgroupCall
	if c.graphics() && ofQuad(i.Op) { // what it reads of lanes that nothing covers is as for derivatives
		c.stage.Modes.Derivatives = true
	}
	boolean := func(x ir.SubgroupCall, s []ir.Value) ir.Value {
		return c.subgroup(i.Op, x, s, 0, []bool{false})[0]
	}
	if c.options.SubgroupSize <= 32 && c.lowerBallot(i, operands) {
		return true
	}
	words := []bool{false, false, false, false}
	switch i.Op {
	case spirv.OpGroupNonUniformElect:
		c.set(i, c.one(boolean(x, nil)).scalars)
	case spirv.OpGroupNonUniformAll, spirv.OpGroupNonUniformAny, spirv.OpSubgroupAllKHR, spirv.OpSubgroupAnyKHR,
		spirv.OpGroupNonUniformQuadAllKHR, spirv.OpGroupNonUniformQuadAnyKHR:
		x.Typ = c.typeOf(spirv.ID(operands[0]))
		c.set(i, c.one(boolean(x, c.scalars(operands[0]))).scalars)
	case spirv.OpGroupNonUniformAllEqual, spirv.OpSubgroupAllEqualKHR:
		c.set(i, c.one(c.allEqual(operands[0])).scalars)
	case spirv.OpGroupNonUniformBallot, spirv.OpSubgroupBallotKHR:
		x.Typ = c.typeOf(spirv.ID(operands[0]))
		c.set(i, c.subgroup(i.Op, x, c.scalars(operands[0]), 0, words))
	case spirv.OpReadClockKHR: // a number of 64 bits, or the two halves of one
		c.set(i, c.subgroup(i.Op, x, nil, 0, c.widths(c.resultType(i))))
	case spirv.OpGroupNonUniformInverseBallot, spirv.OpGroupNonUniformBallotFindLSB, spirv.OpGroupNonUniformBallotFindMSB:
		c.set(i, c.one(boolean(x, c.scalars(operands[0]))).scalars)
	case spirv.OpGroupNonUniformBallotBitExtract:
		c.set(i, c.subgroup(i.Op, x, c.scalars(operands[0]), c.int32Of(operands[1]), []bool{false}))
	case spirv.OpGroupNonUniformBallotBitCount:
		x.Operation = spirv.GroupOperation(operands[0])
		c.set(i, c.one(boolean(x, c.scalars(operands[1]))).scalars)
	case spirv.OpGroupNonUniformBroadcast, spirv.OpGroupNonUniformShuffle, spirv.OpGroupNonUniformShuffleXor,
		spirv.OpGroupNonUniformShuffleUp, spirv.OpGroupNonUniformShuffleDown, spirv.OpGroupNonUniformQuadBroadcast,
		spirv.OpGroupNonUniformQuadSwap, spirv.OpSubgroupReadInvocationKHR:
		c.eachWord(i, i.Op, operands[0], c.int32Of(operands[1]))
	case spirv.OpGroupNonUniformRotateKHR:
		cluster := c.options.SubgroupSize
		if len(operands) > 2 {
			cluster = min(cluster, c.constant32(operands[2]))
		}
		lane, within := c.subgroupLane(), c.g.C32(cluster-1)
		to := c.g.Op2(kernel.AndI32, c.g.Op2(kernel.AddI32, lane, c.int32Of(operands[1])), within)
		first := c.g.Op2(kernel.AndNotI32, lane, within)
		c.eachWord(i, spirv.OpGroupNonUniformShuffle, operands[0], c.g.Op2(kernel.OrI32, first, to))
	case spirv.OpGroupNonUniformBroadcastFirst, spirv.OpSubgroupFirstInvocationKHR:
		c.eachWord(i, i.Op, operands[0], 0)
	default:
		if !i.Op.Grouped() {
			return false
		}
		x.Operation, x.Combines = spirv.GroupOperation(operands[0]), true
		switch x.Operation {
		case spirv.GroupOperationReduce, spirv.GroupOperationInclusiveScan, spirv.GroupOperationExclusiveScan:
		case spirv.GroupOperationClusteredReduce:
			x.Cluster = c.constant32(operands[2])
		default:
			c.fail(i, "group operation %v is not supported", x.Operation)
		}
		s := c.scalars(operands[1])
		out := c.list(len(s))
		for k, t := range append([]*spirv.Type(nil), c.scalarsOf(c.resultType(i))...) {
			x.Typ = t
			out[k] = c.subgroup(i.Op, x, s[k:k+1], 0, []bool{wide(t)})[0]
		}
		c.set(i, out)
	}
	return true
}

// allEqual says whether an object is the same in all lanes: as the first one has it.
func (c *compiler) allEqual(id uint32) ir.Value {
	t, _ := shape(c.typeOf(spirv.ID(id)))
	equal := kernel.EqI32
	switch float := t.Kind == spirv.TypeFloat; {
	case float && wide(t):
		equal = kernel.EqF64
	case float:
		equal = kernel.EqF32
	case wide(t):
		equal = kernel.EqI64
	}
	all := c.g.C32(math.MaxUint32)
	for _, v := range append([]ir.Value(nil), c.scalars(id)...) {
		first := c.ofLane(spirv.OpGroupNonUniformBroadcastFirst, v, 0, wide(t))
		all = c.g.Op2(kernel.AndI32, all, c.g.Op2(equal, v, first))
	}
	return c.subgroup(spirv.OpGroupNonUniformAll, ir.SubgroupCall{}, []ir.Value{all}, 0, []bool{false})[0]
}

// eachWord gives each scalar of an object as another lane has it.
func (c *compiler) eachWord(i *spirv.Instruction, op spirv.Op, id uint32, lane ir.Value) {
	s := c.scalars(id)
	out := c.list(len(s))
	for k, t := range append([]*spirv.Type(nil), c.scalarsOf(c.resultType(i))...) {
		out[k] = c.ofLane(op, s[k], lane, wide(t))
	}
	c.set(i, out)
}

// ofLane gives a scalar as another lane has it. The words of one with 64 bits are two.
func (c *compiler) ofLane(op spirv.Op, v, lane ir.Value, wide bool) ir.Value {
	if wide {
		return c.g.Op2(kernel.Join64, c.ofLane(op, c.g.Op1(kernel.Low32, v), lane, false),
			c.ofLane(op, c.g.Op1(kernel.High32, v), lane, false))
	}
	return c.subgroup(op, ir.SubgroupCall{}, []ir.Value{v}, lane, []bool{false})[0]
}

func (c *compiler) constant32(id uint32) uint32 {
	k, _ := c.g.Known(c.scalar(id))
	return uint32(k)
}

// subgroup adds an instruction on scalars, and gives its results: of wide, those that have 64 bits.
func (c *compiler) subgroup(op spirv.Op, x ir.SubgroupCall, s []ir.Value, arg ir.Value, wide []bool) []ir.Value {
	if c.graphics() && !ofQuad(op) && op != spirv.OpReadClockKHR {
		c.stage.Modes.Subgroups = true
	}
	var o ir.CallOperands
	o.Put(ir.PartValue, s...)
	o.Put(ir.PartArg, arg)
	return c.g.Call(ops.Subgroup, ir.Call{Op: op, Pure: true, Subgroup: &x}, &o, wide)
}

// ofQuad says whether an instruction is on the lanes of a quad.
func ofQuad(op spirv.Op) bool {
	switch op {
	case spirv.OpGroupNonUniformQuadAllKHR, spirv.OpGroupNonUniformQuadAnyKHR, spirv.OpGroupNonUniformQuadBroadcast,
		spirv.OpGroupNonUniformQuadSwap:
		return true
	}
	return false
}
