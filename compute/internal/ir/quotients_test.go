package ir

import (
	"math"
	"math/rand/v2"
	"testing"

	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// computed is what a graph computes for v if the value x is known.
func computed(g *Graph, v, x Value, known uint64) uint64 {
	n := &g.Nodes[v]
	switch {
	case v == x:
		return known
	case n.Op == ops.Const:
		return n.Imm
	}
	var args [3]uint64
	for i := range args {
		if n.Args[i] != 0 {
			args[i] = computed(g, n.Args[i], x, known)
		}
	}
	return Evaluate(n.Op, args[0], args[1], args[2], n.Imm)
}

// TestQuotientsByConstants: quotients and remainders of 64 bits by constants are no divisions, and give what those do.
func TestQuotientsByConstants(t *testing.T) {
	const low, high = uint64(math.MaxInt64), uint64(1) << 63
	numbers := []uint64{0, 1, 2, 3, 5, 6, 7, 10, 12, 97, 641, 1000, 1<<16 + 1, 1e9 + 7, math.MaxUint32 - 1,
		math.MaxUint32, 1 << 32, 1<<32 + 1, 1e18, low - 1, low, high, high + 1, math.MaxUint64 / 3}
	source := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		numbers = append(numbers, source.Uint64()>>source.IntN(64))
	}
	for _, n := range numbers[1:] {
		numbers = append(numbers, -n)
	}
	for _, op := range []kernel.Op{kernel.DivU64, kernel.RemU64, kernel.DivS64, kernel.RemS64, kernel.ModS64} {
		g := New(new(budget.Budget))
		x := g.Add(Node{Op: ops.Builtin, Wide: true})
		for _, d := range numbers {
			v := g.Op2(op, x, g.Constant(d, true))
			if divides := g.Nodes[v].Op == op; divides != (d == 0) {
				t.Fatalf("%v by %#x is %v", op, d, g.Nodes[v].Op)
			}
			for _, a := range numbers {
				if got, want := computed(g, v, x, a), Evaluate(op, a, d, 0, 0); got != want {
					t.Fatalf("%v of %#x and %#x: %#x, not %#x", op, a, d, got, want)
				}
			}
		}
	}
}
