package compute

import (
	"slices"

	"farside/compute/internal/kernel"
)

const (
	// flattenLimit is how many operations are done by lanes that do not need them rather than that lanes part.
	flattenLimit = 8
	// flattenDepth is how many branches within each other are flattened.
	flattenDepth = 4
)

// flatten replaces branches to a few cheap operations by these operations and a choice between their results: to part
// the lanes and to join them again costs as much as several operations, and what all lanes have computed is there for what
// comes behind.
func (g *graph) flatten() {
	edges := make([]bool, len(g.blocks)) // first or last block of a loop
	for _, l := range g.loops {
		if l.last >= 0 {
			edges[l.header], edges[l.last] = true, true
		}
	}
	gone := make([]bool, len(g.blocks))
	for range flattenDepth {
		changed := false
		for _, b := range g.order {
			changed = g.flattenBranch(b, edges, gone) || changed
		}
		if !changed {
			return
		}
		g.order = slices.DeleteFunc(g.order, func(b int32) bool { return gone[b] })
		g.mergeBlocks()
	}
}

// flattenBranch replaces the branch at the end of block b if its sides, each a block or nothing, meet in one block.
func (g *graph) flattenBranch(b int32, edges, gone []bool) bool {
	x := &g.blocks[b]
	if x.cond == 0 {
		return false
	}
	budget := flattenLimit
	meet := [2]int32{x.succs[0], x.succs[1]}
	from := [2]int32{b, b}
	side := func(i int) bool {
		s := &g.blocks[x.succs[i]]
		if len(s.preds) != 1 || len(s.phis) > 0 || s.cond != 0 || s.succs[0] < 0 || s.loop != x.loop || edges[x.succs[i]] {
			return false
		}
		for _, v := range s.insts {
			if !g.pure(&g.nodes[v]) || !cheap(g.nodes[v].op) {
				return false
			}
		}
		budget -= len(s.insts)
		meet[i], from[i] = s.succs[0], x.succs[i]
		return true
	}
	switch yes, no := x.succs[0], x.succs[1]; {
	case side(0) && (meet[0] == no || side(1) && meet[0] == meet[1]):
	case from[0] == b && side(1) && meet[1] == yes:
	default:
		return false
	}
	join := &g.blocks[meet[0]]
	if budget < 0 || len(join.preds) != 2 || join.loop != x.loop || edges[meet[0]] {
		return false
	}
	for _, s := range from {
		if s == b {
			continue
		}
		gone[s] = true
		for _, v := range g.blocks[s].insts {
			g.nodes[v].block = b
		}
		x.insts = append(x.insts, g.blocks[s].insts...)
		g.blocks[s].insts = nil
	}
	first := slices.Index(join.preds, from[0])
	for _, v := range join.phis {
		n := &g.nodes[v]
		n.op = kernel.Select32
		if n.wide {
			n.op = kernel.Select64
		}
		n.args = [4]value{n.list[first], n.list[1-first], x.cond}
		n.list = nil
	}
	join.insts = slices.Concat(join.phis, join.insts)
	join.phis = nil
	join.preds = append(join.preds[:0], b)
	x.cond, x.succs = 0, [2]int32{meet[0], -1}
	return true
}

// cheap says whether an operation takes about as long as an addition.
func cheap(op kernel.Op) bool {
	for _, dear := range [][2]kernel.Op{
		{kernel.DivU32, kernel.ModS32}, {kernel.MulI64, kernel.MulI64}, {kernel.DivU64, kernel.MulHighS64},
		{kernel.DivF32, kernel.DivF32}, {kernel.SqrtF32, kernel.InverseSqrtF32}, {kernel.RemF32, kernel.FrexpExpF32},
		{kernel.DivF64, kernel.DivF64}, {kernel.SqrtF64, kernel.InverseSqrtF64}, {kernel.RemF64, kernel.FrexpExpF64},
	} {
		if op >= dear[0] && op <= dear[1] {
			return false
		}
	}
	return op < kernel.LoadU8
}
