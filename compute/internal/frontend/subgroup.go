package frontend

import (
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
		t, _ := shape(c.typeOf(spirv.ID(operands[0])))
		x.Typ = t
		var all ir.Value
		for _, v := range c.scalars(operands[0]) {
			r := boolean(x, c.one(v).scalars)
			if all == 0 {
				all = r
			} else {
				all = c.g.Op2(kernel.AndI32, all, r)
			}
		}
		c.set(i, c.one(all).scalars)
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
		spirv.OpGroupNonUniformShuffleUp, spirv.OpGroupNonUniformShuffleDown, spirv.OpGroupNonUniformRotateKHR,
		spirv.OpGroupNonUniformQuadBroadcast, spirv.OpGroupNonUniformQuadSwap, spirv.OpSubgroupReadInvocationKHR:
		if len(operands) > 2 {
			x.Cluster = c.constant32(operands[2])
		}
		c.eachComponent(i, x, operands[0], c.int32Of(operands[1]))
	case spirv.OpGroupNonUniformBroadcastFirst, spirv.OpSubgroupFirstInvocationKHR:
		c.eachComponent(i, x, operands[0], 0)
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
		c.eachComponent(i, x, operands[1], 0)
	}
	return true
}

func (c *compiler) constant32(id uint32) uint32 {
	k, _ := c.g.Known(c.scalar(id))
	return uint32(k)
}

// eachComponent does an operation on each scalar of an object.
func (c *compiler) eachComponent(i *spirv.Instruction, x ir.SubgroupCall, id uint32, arg ir.Value) {
	s := c.scalars(id)
	out := c.list(len(s))
	for k, t := range append([]*spirv.Type(nil), c.scalarsOf(c.resultType(i))...) {
		x.Typ = t
		out[k] = c.subgroup(i.Op, x, s[k:k+1], arg, []bool{wide(t)})[0]
	}
	c.set(i, out)
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
