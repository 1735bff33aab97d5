package ir

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// most gives an upper bound of a 32-bit value as an unsigned integer: for offsets, of which the parts can be added in
// another order if no sum of them wraps. depth bounds the recursion: it begins at boundDepth.
func (g *Graph) most(v Value, depth int) uint64 {
	n := &g.Nodes[v]
	if n.Wide || depth == 0 {
		return math.MaxUint32
	}
	depth--
	of := func(i int) uint64 { return g.most(n.Args[i], depth) }
	known := func(i int) uint64 {
		if k, ok := g.Known(n.Args[i]); ok {
			return k
		}
		return math.MaxUint64
	}
	bound := uint64(math.MaxUint64)
	switch n.Op {
	case ops.Const:
		bound = n.Imm
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
	case kernel.SubI32:
		if r, ok := g.remainderBound(n); ok {
			bound = r
		}
	case kernel.Zext8, kernel.LoadU8:
		bound = math.MaxUint8
	case kernel.Zext16, kernel.LoadU16:
		bound = math.MaxUint16
	case kernel.MaskToI32:
		bound = 1
	case kernel.PopCount32:
		bound = 32
	case kernel.MulAddSat:
		bound = of(0)*n.Imm + of(1)
	}
	if bound > math.MaxUint32 {
		return math.MaxUint32
	}
	return bound
}

// MostOffset gives an upper bound of a sum of 32-bit values, of which each may be none, if it can't wrap; else 0.
func (g *Graph) MostOffset(a, b Value) uint32 {
	sum := uint64(0)
	for _, v := range []Value{a, b} {
		if v != 0 {
			sum += g.most(v, BoundDepth)
		}
	}
	if sum >= math.MaxUint32 {
		return 0
	}
	return uint32(sum)
}

// zeros is how many of the lowest bits of a 32-bit value are 0, at least. depth bounds the recursion.
func (g *Graph) zeros(v Value, depth int) int {
	n := &g.Nodes[v]
	if n.Wide || depth == 0 {
		return 0
	}
	depth--
	of := func(i int) int { return g.zeros(n.Args[i], depth) }
	switch n.Op {
	case ops.Const:
		return bits.TrailingZeros32(uint32(n.Imm))
	case kernel.AddI32, kernel.SubI32, kernel.OrI32, kernel.XorI32:
		return min(of(0), of(1))
	case kernel.AndI32:
		return max(of(0), of(1))
	case kernel.MulI32:
		return min(of(0)+of(1), 32)
	case kernel.ShlI32:
		if k, ok := g.Known(n.Args[1]); ok && k < 32 {
			return min(of(0)+int(k), 32)
		}
		return of(0)
	}
	return 0
}

// addsBits says whether an operation adds a value to one that has zeros in its place: no sum can wrap then.
func (g *Graph) addsBits(n *Node) bool {
	if n.Op != kernel.AddI32 && n.Op != kernel.OrI32 && n.Op != kernel.XorI32 {
		return false
	}
	fits := func(i int) bool {
		most := g.most(n.Args[i], BoundDepth)
		return most < math.MaxUint32 && most < 1<<g.zeros(n.Args[1-i], BoundDepth)
	}
	return fits(1) || fits(0)
}

func (g *Graph) mostBuiltin(n *Node) uint64 {
	lanes := uint64(g.LocalSize[0]) * uint64(g.LocalSize[1]) * uint64(g.LocalSize[2])
	switch spirv.BuiltIn(uint32(n.Imm)) {
	case spirv.BuiltInLocalInvocationId:
		return uint64(g.LocalSize[n.Imm>>32]) - 1
	case spirv.BuiltInLocalInvocationIndex, spirv.BuiltInSubgroupId, spirv.BuiltInSubgroupLocalInvocationId:
		return lanes - 1
	}
	return math.MaxUint32
}

// mostCounter bounds the counter of a loop, which begins with a constant, grows by one, and is held against a constant
// at the loop's head.
func (g *Graph) mostCounter(v Value, n *Node) uint64 {
	blk := &g.Blocks[n.Block]
	if len(n.List) != 2 || blk.Cond == 0 || blk.Loop < 0 || g.Loops[blk.Loop].Header != n.Block || blk.Succs[1] < 0 {
		return math.MaxUint32
	}
	first, ok := g.Known(n.List[0])
	step := &g.Nodes[n.List[1]]
	if !ok || step.Op != kernel.AddI32 || step.Args[0] != v {
		return math.MaxUint32
	}
	by, ok := g.Known(step.Args[1])
	test := &g.Nodes[blk.Cond]
	if !ok || test.Op != kernel.LtU32 && test.Op != kernel.LtS32 || test.Args[0] != v || g.InLoop(blk.Succs[1], blk.Loop) {
		return math.MaxUint32
	}
	limit, ok := g.Known(test.Args[1])
	if !ok || limit > math.MaxInt32 || first > math.MaxInt32 || by == 0 || by > math.MaxInt32 {
		return math.MaxUint32
	}
	if limit == 0 {
		return first
	}
	if test.Op == kernel.LtS32 && limit-1+by > math.MaxInt32 {
		return math.MaxUint32 // it may become negative, and stay in the loop
	}
	return max(first, limit-1+by)
}
