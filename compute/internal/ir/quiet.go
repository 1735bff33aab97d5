package ir

import (
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// quietDepth is how many operations a value is followed through that pass signalling NaNs on.
const quietDepth = 6

// Quiet says whether a value is known to be no signalling NaN of 32 bits: arithmetic gives quiet ones, but what was
// loaded may be anything.
func (g *Graph) Quiet(v Value) bool { return g.quiet(v, quietDepth) }

func (g *Graph) quiet(v Value, depth int) bool {
	n := &g.Nodes[v]
	if n.Wide || depth == 0 {
		return false
	}
	depth--
	switch n.Op {
	case ops.Const:
		const exponent, quiet = 0x7f800000, 1 << 22
		return n.Imm&exponent != exponent || n.Imm&quiet != 0 || n.Imm&(quiet-1) == 0
	case kernel.AddF32, kernel.SubF32, kernel.MulF32, kernel.DivF32, kernel.FmaF32, kernel.SqrtF32, kernel.MulAddF32,
		kernel.MulSubF32, kernel.SubMulF32, kernel.S32ToF32, kernel.U32ToF32:
		return true
	case kernel.NegF32, kernel.AbsF32:
		return g.quiet(n.Args[0], depth)
	case kernel.MinF32, kernel.MaxF32, kernel.Select32:
		return g.quiet(n.Args[0], depth) && g.quiet(n.Args[1], depth)
	}
	return false
}
