package ir

import (
	"slices"
	"strings"
	"testing"

	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// kept is the graph of a shader with a loop, a branch, a barrier and an atomic, and what validate knows of it:
//
//	i, sum = gl_LocalInvocationID.x, 0
//	s[i] = y[i]
//	barrier()
//	for (k = 0; k < y[i+4]; k++) {
//		if (sum & 1 == 1) sum += s[k] * i
//		sum ^= k
//	}
//	atomicAdd(y[0], sum)
//	y[i] = sum < 7 ? sum : i
func kept(t *testing.T) (*Graph, *validator) {
	t.Helper()
	g := New(new(budget.Budget))
	g.LocalSize = [3]uint32{64, 1, 1}
	const y, s = 1, 2
	g.Memories = append(g.Memories, Memory{}, Memory{Kind: MemoryBuffer, Name: "Out"}, Memory{Kind: MemoryShared})
	load := func(m int32, at Value, imm uint64, version uint32) Value {
		return g.Add(Node{Op: kernel.Load32, Extra: m, Args: [4]Value{at}, Imm: imm, Version: version})
	}
	store := func(m int32, at, v Value) { g.Add(Node{Op: kernel.Store32, Extra: m, Args: [4]Value{at, v}}) }
	i := g.Add(Node{Op: ops.Builtin, Imm: uint64(spirv.BuiltInLocalInvocationId)})
	one := g.C32(1)
	header, odd, merge, exit, end := g.NewBlock(), g.NewBlock(), g.NewBlock(), g.NewBlock(), g.NewBlock()
	store(s, g.MulAdd(i, 4, 0), load(y, g.MulAdd(i, 4, 0), 0, 1))
	g.Add(Node{Op: ops.Barrier, Imm: 1})
	entry := g.Current
	g.Branch(header)

	g.Start(header)
	k, sum := g.Phi(header, false, nil), g.Phi(header, false, nil)
	limit := load(y, g.MulAdd(i, 4, 0), 16, 2)
	inside := g.NewBlock()
	g.BranchIf(g.Op2(kernel.LtU32, k, limit), inside, exit)
	g.Start(inside)
	g.BranchIf(g.Op2(kernel.EqI32, g.Op2(kernel.AndI32, sum, one), one), odd, merge)
	g.Start(odd)
	more := g.Op2(kernel.AddI32, sum, g.Op2(kernel.MulI32, load(s, g.MulAdd(k, 4, 0), 0, 2), i))
	g.Branch(merge)
	g.Start(merge)
	either := g.Phi(merge, false, []Value{sum, more})
	next := g.Op2(kernel.XorI32, either, k)
	round := g.Op2(kernel.AddI32, k, one)
	g.Branch(header)
	g.Nodes[k].List, g.Nodes[sum].List = []Value{g.Zero, round}, []Value{g.Zero, next}
	g.Loops = append(g.Loops, Loop{Header: header, Last: merge, Parent: -1, Depth: 1, Name: "loop"})
	for _, b := range []int32{header, inside, odd, merge} {
		g.Blocks[b].Loop = 0
	}

	g.Start(exit)
	g.Add(Node{Op: kernel.AtomicAddI32, Extra: y, Args: [4]Value{g.Zero, sum}})
	store(y, g.MulAdd(i, 4, 0), g.Choose(g.Op2(kernel.LtU32, sum, g.C32(7)), sum, i))
	g.Branch(end)
	g.Start(end)
	if want := []int32{entry, header, inside, odd, merge, exit, end}; !slices.Equal(g.Order, want) {
		t.Fatalf("blocks %d, not %d", g.Order, want)
	}
	g.Tidy()
	k2 := g.Keep() // lists of its own
	k2.Budget, k2.space = g.Budget, g.space
	k2.table = g.Values(256)
	v, err := k2.validate()
	if err != nil {
		t.Fatal(err)
	}
	return k2, v
}

// find is the first node of an operation in the blocks of a graph.
func (g *Graph) find(op kernel.Op) (Value, *Node, *Block) {
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		for _, list := range [][]Value{blk.Phis, blk.Insts} {
			for _, v := range list {
				if g.Nodes[v].Op == op {
					return v, &g.Nodes[v], blk
				}
			}
		}
	}
	panic("no such node")
}

// wanted compares an error about a graph with a part of its text, "" for none.
func wanted(t *testing.T, g *Graph, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("error %v, want %q\n%v", err, want, g)
	}
}

// Each fault that a pass might leave is found, and named.
func TestValidate(t *testing.T) {
	for _, fault := range []struct {
		name, want string
		put        func(g *Graph)
	}{
		{"none", "", func(*Graph) {}},
		{"an operand of 64 bits", "bits", func(g *Graph) {
			one := g.Constant(1, true)
			_, n, _ := g.find(kernel.MulI32)
			n.Args[0] = one
		}},
		{"a result of 64 bits", "a result of", func(g *Graph) {
			_, n, _ := g.find(kernel.MulI32)
			n.Wide = true
		}},
		{"no operand", "operand 1 is 0", func(g *Graph) {
			_, n, _ := g.find(kernel.XorI32)
			n.Args[1] = 0
		}},
		{"an operand too many", "operand 2 is", func(g *Graph) {
			_, n, _ := g.find(kernel.XorI32)
			n.Args[2] = n.Args[0]
		}},
		{"an operand that is no node", "there is no node", func(g *Graph) {
			_, n, _ := g.find(kernel.XorI32)
			n.Args[1] = Value(len(g.Nodes))
		}},
		{"a store as an operand", "has no such result", func(g *Graph) {
			store, _, _ := g.find(kernel.Store32)
			_, n, _ := g.find(kernel.XorI32)
			n.Args[1] = store
		}},
		{"an operand of another way", "not computed on all ways", func(g *Graph) {
			product, _, _ := g.find(kernel.MulI32)
			_, n, _ := g.find(kernel.AtomicAddI32)
			n.Args[1] = product
		}},
		{"an operand behind", "not computed on all ways", func(g *Graph) {
			_, _, b := g.find(kernel.MulI32)
			slices.Reverse(b.Insts)
		}},
		{"a number as a condition", "is no mask", func(g *Graph) {
			h := &g.Blocks[g.Loops[0].Header]
			h.Cond = h.Phis[0]
		}},
		{"a phi without an operand", "predecessors", func(g *Graph) {
			_, n, _ := g.find(ops.Phi)
			n.List = n.List[:1]
		}},
		{"a node twice", "too", func(g *Graph) {
			x, _, b := g.find(kernel.XorI32)
			b.Insts = append(b.Insts, x)
		}},
		{"a node of another block", "belongs to", func(g *Graph) {
			_, n, _ := g.find(kernel.XorI32)
			n.Block = g.Order[0]
		}},
		{"a phi among the others", "is in list", func(g *Graph) {
			x, _, b := g.find(ops.Phi)
			b.Phis = slices.DeleteFunc(b.Phis, func(v Value) bool { return v == x })
			b.Insts = append(b.Insts, x)
		}},
		{"a base of a sum", "a base", func(g *Graph) {
			_, n, _ := g.find(kernel.XorI32)
			n.Base = g.Zero
		}},
		{"a memory that is not there", "memory", func(g *Graph) {
			_, n, _ := g.find(kernel.Store32)
			n.Extra = int32(len(g.Memories))
		}},
		{"a predecessor too few", "predecessors", func(g *Graph) {
			_, n, b := g.find(ops.Phi)
			b.Preds, n.List = b.Preds[:1], n.List[:1]
		}},
		{"a branch back in the middle", "branches back", func(g *Graph) {
			slices.Reverse(g.Order[1 : len(g.Order)-1])
		}},
		{"a condition without a branch", "successors", func(g *Graph) {
			g.Blocks[g.Order[len(g.Order)-1]].Cond = g.Zero
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			g, _ := kept(t)
			fault.put(g)
			_, err := g.validate()
			wanted(t, g, err, fault.want)
		})
	}
}

// What a pass does to effects, loads and uniform operations is found, too.
func TestValidateOrder(t *testing.T) {
	for _, fault := range []struct {
		name, want string
		put        func(g *Graph)
	}{
		{"none", "", func(*Graph) {}},
		{"an effect that has gone", "has gone", func(g *Graph) {
			x, _, b := g.find(kernel.AtomicAddI32)
			b.Insts = slices.DeleteFunc(b.Insts, func(v Value) bool { return v == x })
		}},
		{"a load behind the store after it", "is not behind", func(g *Graph) {
			load, _, b := g.find(kernel.Load32)
			_, store, _ := g.find(kernel.Store32)
			store.Args[1] = g.Zero
			b.Insts = slices.DeleteFunc(b.Insts, func(v Value) bool { return v == load })
			b.Insts = append(b.Insts, load)
		}},
		{"a store in front of an atomic", "is not behind", func(g *Graph) {
			x, _, b := g.find(kernel.AtomicAddI32)
			b.Insts = slices.DeleteFunc(b.Insts, func(v Value) bool { return v == x })
			b.Insts = append(b.Insts, x)
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			g, before := kept(t)
			order := before.effectOrder()
			fault.put(g)
			v, err := g.validate()
			if err == nil {
				err = order.keptBy("a pass", v)
			}
			wanted(t, g, err, fault.want)
		})
	}
	g, v := kept(t)
	g.findVarying()
	if err := v.uniformity(); err != nil {
		t.Error(err)
	}
	_, n, _ := g.find(kernel.MulI32)
	n.Varying = false
	if err := v.uniformity(); err == nil || !strings.Contains(err.Error(), "done once") {
		t.Errorf("a uniform product of a varying factor: error %v", err)
	}
}

// A pass that leaves a wrong graph ends the compilation.
func TestWatcher(t *testing.T) {
	g, _ := kept(t)
	var stages []string
	texts := map[string]string{}
	g.Watch = &Watcher{validates: true, dump: func(stage, text string) {
		stages = append(stages, stage)
		texts[stage] = text
	}}
	g.did("one")
	_, n, _ := g.find(kernel.XorI32)
	n.Args[1] = 0
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "after two: b") {
			t.Errorf("panic %v", r)
		}
		if !slices.Equal(stages, []string{"00-one", "01-two"}) || texts["00-one"] == texts["01-two"] {
			t.Errorf("stages %q", stages)
		}
	}()
	g.did("two")
}
