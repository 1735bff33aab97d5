package compute

import (
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
	var x subgroupCall
	boolean := func(x subgroupCall, s []value) value {
		return c.subgroup(i.Op, x, s, 0, []bool{false})[0]
	}
	words := []bool{false, false, false, false}
	switch i.Op {
	case spirv.OpGroupNonUniformElect:
		c.set(i, c.one(boolean(x, nil)).scalars)
	case spirv.OpGroupNonUniformAll, spirv.OpGroupNonUniformAny, spirv.OpSubgroupAllKHR, spirv.OpSubgroupAnyKHR,
		spirv.OpGroupNonUniformQuadAllKHR, spirv.OpGroupNonUniformQuadAnyKHR:
		x.typ = c.typeOf(spirv.ID(operands[0]))
		c.set(i, c.one(boolean(x, c.scalars(operands[0]))).scalars)
	case spirv.OpGroupNonUniformAllEqual, spirv.OpSubgroupAllEqualKHR:
		t, _ := shape(c.typeOf(spirv.ID(operands[0])))
		x.typ = t
		var all value
		for _, v := range c.scalars(operands[0]) {
			r := boolean(x, c.one(v).scalars)
			if all == 0 {
				all = r
			} else {
				all = c.op2(kernel.AndI32, all, r)
			}
		}
		c.set(i, c.one(all).scalars)
	case spirv.OpGroupNonUniformBallot, spirv.OpSubgroupBallotKHR:
		x.typ = c.typeOf(spirv.ID(operands[0]))
		c.set(i, c.subgroup(i.Op, x, c.scalars(operands[0]), 0, words))
	case spirv.OpReadClockKHR: // a number of 64 bits, or the two halves of one
		c.set(i, c.subgroup(i.Op, x, nil, 0, c.widths(c.resultType(i))))
	case spirv.OpGroupNonUniformInverseBallot, spirv.OpGroupNonUniformBallotFindLSB, spirv.OpGroupNonUniformBallotFindMSB:
		c.set(i, c.one(boolean(x, c.scalars(operands[0]))).scalars)
	case spirv.OpGroupNonUniformBallotBitExtract:
		c.set(i, c.subgroup(i.Op, x, c.scalars(operands[0]), c.int32Of(operands[1]), []bool{false}))
	case spirv.OpGroupNonUniformBallotBitCount:
		x.operation = spirv.GroupOperation(operands[0])
		c.set(i, c.one(boolean(x, c.scalars(operands[1]))).scalars)
	case spirv.OpGroupNonUniformBroadcast, spirv.OpGroupNonUniformShuffle, spirv.OpGroupNonUniformShuffleXor,
		spirv.OpGroupNonUniformShuffleUp, spirv.OpGroupNonUniformShuffleDown, spirv.OpGroupNonUniformRotateKHR,
		spirv.OpGroupNonUniformQuadBroadcast, spirv.OpGroupNonUniformQuadSwap, spirv.OpSubgroupReadInvocationKHR:
		if len(operands) > 2 {
			x.cluster = c.constant32(operands[2])
		}
		c.eachComponent(i, x, operands[0], c.int32Of(operands[1]))
	case spirv.OpGroupNonUniformBroadcastFirst, spirv.OpSubgroupFirstInvocationKHR:
		c.eachComponent(i, x, operands[0], 0)
	default:
		if !i.Op.Grouped() {
			return false
		}
		x.operation, x.combines = spirv.GroupOperation(operands[0]), true
		switch x.operation {
		case spirv.GroupOperationReduce, spirv.GroupOperationInclusiveScan, spirv.GroupOperationExclusiveScan:
		case spirv.GroupOperationClusteredReduce:
			x.cluster = c.constant32(operands[2])
		default:
			c.fail(i, "group operation %v is not supported", x.operation)
		}
		c.eachComponent(i, x, operands[1], 0)
	}
	return true
}

func (c *compiler) constant32(id uint32) uint32 {
	k, _ := c.known(c.scalar(id))
	return uint32(k)
}

// eachComponent does an operation on each scalar of an object.
func (c *compiler) eachComponent(i *spirv.Instruction, x subgroupCall, id uint32, arg value) {
	s := c.scalars(id)
	out := c.list(len(s))
	for k, t := range append([]*spirv.Type(nil), c.scalarsOf(c.resultType(i))...) {
		x.typ = t
		out[k] = c.subgroup(i.Op, x, s[k:k+1], arg, []bool{wide(t)})[0]
	}
	c.set(i, out)
}

// subgroup adds an instruction on scalars, and gives its results: of wide, those that have 64 bits.
func (c *compiler) subgroup(op spirv.Op, x subgroupCall, s []value, arg value, wide []bool) []value {
	var o callOperands
	o.put(partValue, s...)
	o.put(partArg, arg)
	return c.call(ops.Subgroup, call{op: op, pure: true, subgroup: &x}, &o, wide)
}
