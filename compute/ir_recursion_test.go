package compute

import (
	"testing"

	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// TestDeepOffset: an offset that is a sum of as many parts as a module chooses is taken apart to deepestSum operations.
// Its bound, and what an unrolled loop would know of it, are looked for as far.
func TestDeepOffset(t *testing.T) {
	const length = 100_000
	g := &graph{nodes: []node{{}, {op: kernel.LoadU8}, {op: ops.Const, imm: 8}}, blocks: make([]block, 1), budget: new(budget.Budget)}
	g.blocks[0].loop = -1
	// Nothing is left of a byte's bits above the eighth, and so no sum with it can wrap.
	zero := value(len(g.nodes))
	g.nodes = append(g.nodes, node{op: kernel.ShrU32, args: [4]value{1, 2}})
	last := value(1)
	for range length {
		g.nodes = append(g.nodes, node{op: kernel.AddI32, args: [4]value{last, zero}})
		last = value(len(g.nodes) - 1)
	}
	shallow(t, func() {
		var o offset
		g.part(&o, last, 1, deepestSum)
		if n := len(o.each) + len(o.same); n != deepestSum {
			t.Errorf("%d parts, want %d", n, deepestSum)
		}
		if got := g.most(last, boundDepth); got != 1<<32-1 {
			t.Errorf("the bound of the sum is %d", got)
		}
		u := &unroller{graph: g, counters: make([]int32, len(g.nodes)), replaced: make(replacements, len(g.nodes))}
		if _, ok := u.predict(last, unrollDepth); ok {
			t.Error("the sum is known")
		}
	})
}

// TestFoldChain: additions of constants to each other, as many as a module chooses, become one.
func TestFoldChain(t *testing.T) {
	const length = 100_000
	g := newGraph(new(budget.Budget))
	defer g.release()
	g.nodes = append(g.nodes, node{op: kernel.Load32}, node{op: ops.Const, imm: 1})
	base, one := value(len(g.nodes)-2), value(len(g.nodes)-1)
	last := base
	for range length {
		g.nodes = append(g.nodes, node{op: kernel.AddI32, args: [4]value{last, one}})
		last = value(len(g.nodes) - 1)
	}
	shallow(t, func() {
		n := g.nodes[g.op2(kernel.AddI32, last, one)]
		if k, ok := g.known(n.args[1]); n.op != kernel.AddI32 || n.args[0] != base || !ok || k != length+1 {
			t.Errorf("the sum is %+v", n)
		}
	})
}
