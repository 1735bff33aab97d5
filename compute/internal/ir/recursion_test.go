package ir

import (
	"runtime/debug"
	"testing"

	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// shallow runs f with so little stack that a recursion whose depth a module chooses ends the process.
func shallow(t *testing.T, f func()) {
	t.Helper()
	defer debug.SetMaxStack(debug.SetMaxStack(4 << 20))
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// TestDeepOffset: an offset that is a sum of as many parts as a module chooses is taken apart to deepestSum operations.
// Its bound, and what an unrolled loop would know of it, are looked for as far.
func TestDeepOffset(t *testing.T) {
	const length = 100_000
	g := &Graph{Nodes: []Node{{}, {Op: kernel.LoadU8}, {Op: ops.Const, Imm: 8}}, Blocks: make([]Block, 1),
		Budget: new(budget.Budget)}
	g.Blocks[0].Loop = -1
	// Nothing is left of a byte's bits above the eighth, and so no sum with it can wrap.
	zero := Value(len(g.Nodes))
	g.Nodes = append(g.Nodes, Node{Op: kernel.ShrU32, Args: [4]Value{1, 2}})
	last := Value(1)
	for range length {
		g.Nodes = append(g.Nodes, Node{Op: kernel.AddI32, Args: [4]Value{last, zero}})
		last = Value(len(g.Nodes) - 1)
	}
	shallow(t, func() {
		var o offset
		g.part(&o, last, 1, deepestSum)
		if n := len(o.each) + len(o.same); n != deepestSum {
			t.Errorf("%d parts, want %d", n, deepestSum)
		}
		if got := g.most(last, BoundDepth); got != 1<<32-1 {
			t.Errorf("the bound of the sum is %d", got)
		}
		u := &unroller{g: g, counters: make([]int32, len(g.Nodes)), replaced: make(replacements, len(g.Nodes))}
		if _, ok := u.predict(last, unrollDepth); ok {
			t.Error("the sum is known")
		}
	})
}

// TestFoldChain: additions of constants to each other, as many as a module chooses, become one.
func TestFoldChain(t *testing.T) {
	const length = 100_000
	g := New(new(budget.Budget))
	defer g.Release()
	g.Nodes = append(g.Nodes, Node{Op: kernel.Load32}, Node{Op: ops.Const, Imm: 1})
	base, one := Value(len(g.Nodes)-2), Value(len(g.Nodes)-1)
	last := base
	for range length {
		g.Nodes = append(g.Nodes, Node{Op: kernel.AddI32, Args: [4]Value{last, one}})
		last = Value(len(g.Nodes) - 1)
	}
	shallow(t, func() {
		n := g.Nodes[g.Op2(kernel.AddI32, last, one)]
		if k, ok := g.Known(n.Args[1]); n.Op != kernel.AddI32 || n.Args[0] != base || !ok || k != length+1 {
			t.Errorf("the sum is %+v", n)
		}
	})
}
