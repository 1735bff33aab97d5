package spirv

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestDominators compares with the definition on random graphs.
func TestDominators(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 1 + random.IntN(12)
		graph := make([][]int, n)
		for b := range graph {
			for range random.IntN(4) {
				graph[b] = append(graph[b], random.IntN(n))
			}
		}
		reach := func(without int) []bool {
			seen := make([]bool, n)
			var visit func(b int)
			visit = func(b int) {
				if b == without || seen[b] {
					return
				}
				seen[b] = true
				for _, s := range graph[b] {
					visit(s)
				}
			}
			visit(0)
			return seen
		}
		d := findDominators(graph)
		reached := reach(-1)
		for a := range n {
			without := reach(a)
			for b := range n {
				want := reached[a] && reached[b] && !without[b]
				if d.dominates(a, b) != want {
					t.Fatalf("%v: %d dominates %d: %t, want %t", graph, a, b, !want, want)
				}
			}
			if d.reached(a) != reached[a] {
				t.Fatalf("%v: %d reached: %t", graph, a, d.reached(a))
			}
			if i := d.idom[a]; reached[a] && a != 0 && (i < 0 || !d.dominates(i, a) || i == a) || a == 0 && i != -1 {
				t.Fatalf("%v: the immediate dominator of %d is %d", graph, a, i)
			}
		}
	}
}

// TestStructuredOrder holds the order of the shaders' functions against what is promised of it.
func TestStructuredOrder(t *testing.T) {
	loops := 0
	for name, words := range shaders(t) {
		m := decode(t, words)
		for _, f := range m.Functions {
			g, err := m.CFG(f)
			if err != nil {
				t.Fatal(name, err)
			}
			if g.Order[0] != 0 {
				t.Errorf("%s: the order begins with %d", name, g.Order[0])
			}
			for at, b := range g.Order {
				if g.Position[b] != at || !g.Reachable[b] || at > 0 && g.Position[g.IDom[b]] >= at {
					t.Errorf("%s, %s: block %d at %d", name, m.Name(f.Result), b, at)
				}
				for _, s := range g.Successors[b] {
					loop := g.Loop[b]
					if g.Position[s] <= at && (loop == nil || s != loop.Header) {
						t.Errorf("%s, %s: %d goes back to %d", name, m.Name(f.Result), b, s)
					}
				}
			}
			for _, c := range g.Constructs {
				if c.IsLoop() {
					loops++
				}
				for b := range f.Blocks {
					inside := g.Reachable[b] && g.structural.dominates(c.Header, b) && !g.structural.dominates(c.Merge, b)
					at := g.Position[b]
					if inside != (at >= c.First && at < c.End) {
						t.Errorf("%s, %s: block %d at %d and the construct %+v", name, m.Name(f.Result), b, at, c)
					}
					holds := false
					for p := g.Innermost[b]; p != nil; p = p.Parent {
						holds = holds || p == c
					}
					if holds != inside {
						t.Errorf("%s, %s: block %d and the construct %+v", name, m.Name(f.Result), b, c)
					}
				}
			}
		}
	}
	if loops < 8 {
		t.Errorf("only %d loops were looked at", loops)
	}
}

// TestOrderOfLoop spells an order out: break, continue, an unreachable merge block, and blocks out of order.
func TestOrderOfLoop(t *testing.T) {
	m := decode(t, assemble(t, strings.Replace(strings.Replace(minimal, "%3 =",
		"%20 = OpTypeBool\n%21 = OpConstantTrue %20\n%3 =", 1), "OpReturn\n", `
OpBranch %5
%5 = OpLabel
OpLoopMerge %6 %7 None
OpBranchConditional %21 %8 %6
%6 = OpLabel
OpReturn
%7 = OpLabel
OpBranch %5
%8 = OpLabel
OpSelectionMerge %9 None
OpBranchConditional %21 %10 %11
%9 = OpLabel
OpUnreachable
%10 = OpLabel
OpBranch %6
%11 = OpLabel
OpBranch %7
`, 1)))
	f := m.Functions[0]
	g, err := m.CFG(f)
	if err != nil {
		t.Fatal(err)
	}
	var order []ID
	for _, b := range g.Order {
		order = append(order, f.Blocks[b].Label.Result)
	}
	if want := []ID{4, 5, 8, 10, 11, 7, 6}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
	at := func(id ID) int { return g.Position[g.Block(id)] }
	loop, selection := g.Constructs[0], g.Constructs[1]
	if !loop.IsLoop() || loop.First != at(5) || loop.End != at(6) || g.Loop[g.Block(10)] != loop ||
		g.Loop[g.Block(6)] != nil {
		t.Errorf("the loop is %+v", loop)
	}
	if selection.IsLoop() || selection.Parent != loop || g.Reachable[selection.Merge] || selection.End != at(7) {
		t.Errorf("the selection is %+v", selection)
	}
	if g.Innermost[g.Block(7)] != loop || g.Innermost[g.Block(11)] != selection {
		t.Error("wrong innermost constructs")
	}
	if g.Block(1) != -1 {
		t.Error("the function is a block")
	}
}

func TestCFGRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"OpBranch %4": "OpBranch: it branches to the function's first block, %4",
		"OpBranch %2": "OpBranch: %2 is not a block of the function",
		"OpSelectionMerge %3 None\nOpUnreachable": "OpSelectionMerge: %3 is not a block",
	} {
		m := decode(t, assemble(t, strings.Replace(minimal, "OpReturn", text, 1)))
		if _, err := m.CFG(m.Functions[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
