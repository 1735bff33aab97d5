package frontend

import (
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// lowerBallot lowers instructions that give or take a ballot, whose first word has all lanes: what they do with it is
// arithmetic.
func (c *compiler) lowerBallot(i *spirv.Instruction, operands []uint32) bool {
	switch i.Op {
	case spirv.OpGroupNonUniformBallot, spirv.OpSubgroupBallotKHR:
		x := ir.SubgroupCall{Typ: c.typeOf(spirv.ID(operands[0]))}
		out := c.list(4)
		out[0] = c.subgroup(i.Op, x, c.scalars(operands[0]), 0, []bool{false})[0]
		out[1], out[2], out[3] = c.g.Zero, c.g.Zero, c.g.Zero
		c.set(i, out)
		return true
	case spirv.OpGroupNonUniformBallotBitCount:
		c.set(i, c.one(c.countBallot(spirv.GroupOperation(operands[0]), c.ballot(operands[1]))).scalars)
		return true
	}
	var answer ir.Value
	switch i.Op {
	case spirv.OpGroupNonUniformInverseBallot:
		answer = c.bitOf(c.ballot(operands[0]), c.subgroupLane())
	case spirv.OpGroupNonUniformBallotBitExtract:
		bit := c.int32Of(operands[1])
		within := c.g.Op2(kernel.LtU32, bit, c.g.C32(c.options.SubgroupSize))
		answer = c.g.Op2(kernel.AndI32, c.bitOf(c.ballot(operands[0]), bit), within)
	case spirv.OpGroupNonUniformBallotFindLSB:
		answer = c.g.Op1(kernel.FindLSB32, c.ballot(operands[0]))
	case spirv.OpGroupNonUniformBallotFindMSB:
		answer = c.g.Op1(kernel.FindMSBU32, c.ballot(operands[0]))
	default:
		return false
	}
	c.set(i, c.one(answer).scalars)
	return true
}

// ballot is a ballot without the bits of lanes that no subgroup has.
func (c *compiler) ballot(id uint32) ir.Value {
	lanes := uint32(1<<c.options.SubgroupSize - 1)
	return c.g.Op2(kernel.AndI32, c.scalars(id)[0], c.g.C32(lanes))
}

func (c *compiler) subgroupLane() ir.Value {
	return c.g.Add(ir.Node{Op: ops.Builtin, Imm: uint64(spirv.BuiltInSubgroupLocalInvocationId)})
}

// bitOf says whether a bit is set.
func (c *compiler) bitOf(word, bit ir.Value) ir.Value {
	return c.g.Op1(kernel.I32ToMask, c.g.Op2(kernel.AndI32, c.g.Op2(kernel.ShrU32, word, bit), c.g.C32(1)))
}

// countBallot counts the bits of all lanes, or of those up to this one, or before it.
func (c *compiler) countBallot(o spirv.GroupOperation, word ir.Value) ir.Value {
	switch o {
	case spirv.GroupOperationInclusiveScan:
		above := c.g.Op2(kernel.SubI32, c.g.C32(31), c.subgroupLane())
		word = c.g.Op2(kernel.AndI32, word, c.g.Op2(kernel.ShrU32, c.g.C32(1<<32-1), above))
	case spirv.GroupOperationExclusiveScan:
		bit := c.g.Op2(kernel.ShlI32, c.g.C32(1), c.subgroupLane())
		word = c.g.Op2(kernel.AndI32, word, c.g.Op2(kernel.SubI32, bit, c.g.C32(1)))
	}
	return c.g.Op1(kernel.PopCount32, word)
}
