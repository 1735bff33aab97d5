package compute

import (
	"math"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// most gives an upper bound of a 32-bit value as an unsigned integer: for offsets, of which the parts can be added in
// another order if no sum of them wraps. depth bounds the recursion: it begins at boundDepth.
func (g *graph) most(v value, depth int) uint64 {
	n := &g.nodes[v]
	if n.wide || depth == 0 {
		return math.MaxUint32
	}
	depth--
	of := func(i int) uint64 { return g.most(n.args[i], depth) }
	known := func(i int) uint64 {
		if k, ok := g.known(n.args[i]); ok {
			return k
		}
		return math.MaxUint64
	}
	bound := uint64(math.MaxUint64)
	switch n.op {
	case ops.Const:
		bound = n.imm
	case ops.Builtin:
		bound = g.mostBuiltin(n)
	case ops.Phi:
		bound = g.mostCounter(v, n)
	case kernel.AndI32:
		bound = min(of(0), of(1))
	case kernel.MinU32:
		bound = min(of(0), of(1))
	case kernel.MaxU32, kernel.Select32:
		bound = max(of(0), of(1))
	case kernel.OrI32, kernel.XorI32:
		m := max(of(0), of(1))
		for m&(m+1) != 0 {
			m |= m >> 1
		}
		bound = m
	case kernel.AddI32:
		bound = of(0) + of(1)
	case kernel.MulI32:
		bound = of(0) * of(1) // both below 2^32
	case kernel.ShlI32:
		if k := known(1); k < 32 {
			bound = of(0) << k
		}
	case kernel.ShrU32:
		if k := known(1); k < 32 {
			bound = of(0) >> k
		}
	case kernel.RemU32:
		if k := known(1); k > 0 && k <= math.MaxUint32 {
			bound = k - 1
		}
	case kernel.DivU32:
		if k := known(1); k > 0 && k <= math.MaxUint32 {
			bound = of(0) / k
		}
	case kernel.Zext8, kernel.LoadU8:
		bound = math.MaxUint8
	case kernel.Zext16, kernel.LoadU16:
		bound = math.MaxUint16
	case kernel.MaskToI32:
		bound = 1
	case kernel.PopCount32:
		bound = 32
	}
	if bound > math.MaxUint32 {
		return math.MaxUint32
	}
	return bound
}

func (g *graph) mostBuiltin(n *node) uint64 {
	lanes := uint64(g.localSize[0]) * uint64(g.localSize[1]) * uint64(g.localSize[2])
	switch spirv.BuiltIn(uint32(n.imm)) {
	case spirv.BuiltInLocalInvocationId:
		return uint64(g.localSize[n.imm>>32]) - 1
	case spirv.BuiltInLocalInvocationIndex, spirv.BuiltInSubgroupId, spirv.BuiltInSubgroupLocalInvocationId:
		return lanes - 1
	}
	return math.MaxUint32
}

// mostCounter bounds the counter of a loop, which begins with a constant, grows by one, and is held against a constant
// at the loop's head.
func (g *graph) mostCounter(v value, n *node) uint64 {
	blk := &g.blocks[n.block]
	if len(n.list) != 2 || blk.cond == 0 || blk.loop < 0 || g.loops[blk.loop].header != n.block || blk.succs[1] < 0 {
		return math.MaxUint32
	}
	first, ok := g.known(n.list[0])
	step := &g.nodes[n.list[1]]
	if !ok || step.op != kernel.AddI32 || step.args[0] != v {
		return math.MaxUint32
	}
	by, ok := g.known(step.args[1])
	test := &g.nodes[blk.cond]
	if !ok || test.op != kernel.LtU32 && test.op != kernel.LtS32 || test.args[0] != v || g.inLoop(blk.succs[1], blk.loop) {
		return math.MaxUint32
	}
	limit, ok := g.known(test.args[1])
	if !ok || limit > math.MaxInt32 || first > math.MaxInt32 || by == 0 || by > math.MaxInt32 {
		return math.MaxUint32
	}
	if limit == 0 {
		return first
	}
	if test.op == kernel.LtS32 && limit-1+by > math.MaxInt32 {
		return math.MaxUint32 // it may become negative, and stay in the loop
	}
	return max(first, limit-1+by)
}
