package ir

import (
	"testing"

	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// TestKeptGraphStays: what passes write to a graph that goes on from a kept one doesn't reach that.
func TestKeptGraphStays(t *testing.T) {
	kept := &Graph{Order: []int32{0, 1}, Blocks: []Block{{}, {Preds: []int32{0, 1}, Phis: []Value{1}, Insts: []Value{2}}},
		Nodes: []Node{{}, {Op: ops.Phi, List: []Value{3, 2}}, {Op: kernel.AddI32}, {Op: ops.Const}}}
	for range 2 {
		g := kept.Resume(new(budget.Budget))
		blk := &g.Blocks[1]
		if g.Nodes[1].List[0] != 3 || blk.Preds[0] != 0 || blk.Phis[0] != 1 || blk.Insts[0] != 2 {
			t.Fatal("the kept graph has changed")
		}
		g.Nodes[1].List[0], blk.Preds[0], blk.Phis[0], blk.Insts[0] = 0, 1, 2, 3
		g.Release()
	}
}
