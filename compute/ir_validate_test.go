package compute

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
func kept(t *testing.T) (*graph, *validator) {
	t.Helper()
	g := newGraph(new(budget.Budget))
	g.localSize = [3]uint32{64, 1, 1}
	const y, s = 1, 2
	g.memories = append(g.memories, memory{}, memory{kind: memoryBuffer, name: "Out"}, memory{kind: memoryShared})
	load := func(m int32, at value, imm uint64, version uint32) value {
		return g.add(node{op: kernel.Load32, extra: m, args: [4]value{at}, imm: imm, version: version})
	}
	store := func(m int32, at, v value) { g.add(node{op: kernel.Store32, extra: m, args: [4]value{at, v}}) }
	i := g.add(node{op: ops.Builtin, imm: uint64(spirv.BuiltInLocalInvocationId)})
	one := g.c32(1)
	header, odd, merge, exit, end := g.newBlock(), g.newBlock(), g.newBlock(), g.newBlock(), g.newBlock()
	store(s, g.mulAdd(i, 4, 0), load(y, g.mulAdd(i, 4, 0), 0, 1))
	g.add(node{op: ops.Barrier, imm: 1})
	entry := g.current
	g.branch(header)

	g.start(header)
	k, sum := g.phi(header, false, nil), g.phi(header, false, nil)
	limit := load(y, g.mulAdd(i, 4, 0), 16, 2)
	inside := g.newBlock()
	g.branchIf(g.op2(kernel.LtU32, k, limit), inside, exit)
	g.start(inside)
	g.branchIf(g.op2(kernel.EqI32, g.op2(kernel.AndI32, sum, one), one), odd, merge)
	g.start(odd)
	more := g.op2(kernel.AddI32, sum, g.op2(kernel.MulI32, load(s, g.mulAdd(k, 4, 0), 0, 2), i))
	g.branch(merge)
	g.start(merge)
	either := g.phi(merge, false, []value{sum, more})
	next := g.op2(kernel.XorI32, either, k)
	round := g.op2(kernel.AddI32, k, one)
	g.branch(header)
	g.nodes[k].list, g.nodes[sum].list = []value{g.zero, round}, []value{g.zero, next}
	g.loops = append(g.loops, loop{header: header, last: merge, parent: -1, depth: 1, name: "loop"})
	for _, b := range []int32{header, inside, odd, merge} {
		g.blocks[b].loop = 0
	}

	g.start(exit)
	g.add(node{op: kernel.AtomicAddI32, extra: y, args: [4]value{g.zero, sum}})
	store(y, g.mulAdd(i, 4, 0), g.choose(g.op2(kernel.LtU32, sum, g.c32(7)), sum, i))
	g.branch(end)
	g.start(end)
	if want := []int32{entry, header, inside, odd, merge, exit, end}; !slices.Equal(g.order, want) {
		t.Fatalf("blocks %d, not %d", g.order, want)
	}
	g.tidy()
	k2 := g.keep() // lists of its own
	k2.budget, k2.space = g.budget, g.space
	k2.table = g.values(256)
	v, err := k2.validate()
	if err != nil {
		t.Fatal(err)
	}
	return k2, v
}

// find is the first node of an operation in the blocks of a graph.
func (g *graph) find(op kernel.Op) (value, *node, *block) {
	for _, b := range g.order {
		blk := &g.blocks[b]
		for _, list := range [][]value{blk.phis, blk.insts} {
			for _, v := range list {
				if g.nodes[v].op == op {
					return v, &g.nodes[v], blk
				}
			}
		}
	}
	panic("no such node")
}

// wanted compares an error about a graph with a part of its text, "" for none.
func wanted(t *testing.T, g *graph, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("error %v, want %q\n%v", err, want, g)
	}
}

// Each fault that a pass might leave is found, and named.
func TestValidate(t *testing.T) {
	for _, fault := range []struct {
		name, want string
		put        func(g *graph)
	}{
		{"none", "", func(*graph) {}},
		{"an operand of 64 bits", "bits", func(g *graph) {
			one := g.constant(1, true)
			_, n, _ := g.find(kernel.MulI32)
			n.args[0] = one
		}},
		{"a result of 64 bits", "a result of", func(g *graph) {
			_, n, _ := g.find(kernel.MulI32)
			n.wide = true
		}},
		{"no operand", "operand 1 is 0", func(g *graph) {
			_, n, _ := g.find(kernel.XorI32)
			n.args[1] = 0
		}},
		{"an operand too many", "operand 2 is", func(g *graph) {
			_, n, _ := g.find(kernel.XorI32)
			n.args[2] = n.args[0]
		}},
		{"an operand that is no node", "there is no node", func(g *graph) {
			_, n, _ := g.find(kernel.XorI32)
			n.args[1] = value(len(g.nodes))
		}},
		{"a store as an operand", "has no such result", func(g *graph) {
			store, _, _ := g.find(kernel.Store32)
			_, n, _ := g.find(kernel.XorI32)
			n.args[1] = store
		}},
		{"an operand of another way", "not computed on all ways", func(g *graph) {
			product, _, _ := g.find(kernel.MulI32)
			_, n, _ := g.find(kernel.AtomicAddI32)
			n.args[1] = product
		}},
		{"an operand behind", "not computed on all ways", func(g *graph) {
			_, _, b := g.find(kernel.MulI32)
			slices.Reverse(b.insts)
		}},
		{"a number as a condition", "is no mask", func(g *graph) {
			h := &g.blocks[g.loops[0].header]
			h.cond = h.phis[0]
		}},
		{"a phi without an operand", "predecessors", func(g *graph) {
			_, n, _ := g.find(ops.Phi)
			n.list = n.list[:1]
		}},
		{"a node twice", "too", func(g *graph) {
			x, _, b := g.find(kernel.XorI32)
			b.insts = append(b.insts, x)
		}},
		{"a node of another block", "belongs to", func(g *graph) {
			_, n, _ := g.find(kernel.XorI32)
			n.block = g.order[0]
		}},
		{"a phi among the others", "is in list", func(g *graph) {
			x, _, b := g.find(ops.Phi)
			b.phis = slices.DeleteFunc(b.phis, func(v value) bool { return v == x })
			b.insts = append(b.insts, x)
		}},
		{"a base of a sum", "a base", func(g *graph) {
			_, n, _ := g.find(kernel.XorI32)
			n.base = g.zero
		}},
		{"a memory that is not there", "memory", func(g *graph) {
			_, n, _ := g.find(kernel.Store32)
			n.extra = int32(len(g.memories))
		}},
		{"a predecessor too few", "predecessors", func(g *graph) {
			_, n, b := g.find(ops.Phi)
			b.preds, n.list = b.preds[:1], n.list[:1]
		}},
		{"a branch back in the middle", "branches back", func(g *graph) {
			slices.Reverse(g.order[1 : len(g.order)-1])
		}},
		{"a condition without a branch", "successors", func(g *graph) {
			g.blocks[g.order[len(g.order)-1]].cond = g.zero
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
		put        func(g *graph)
	}{
		{"none", "", func(*graph) {}},
		{"an effect that has gone", "has gone", func(g *graph) {
			x, _, b := g.find(kernel.AtomicAddI32)
			b.insts = slices.DeleteFunc(b.insts, func(v value) bool { return v == x })
		}},
		{"a load behind the store after it", "is not behind", func(g *graph) {
			load, _, b := g.find(kernel.Load32)
			_, store, _ := g.find(kernel.Store32)
			store.args[1] = g.zero
			b.insts = slices.DeleteFunc(b.insts, func(v value) bool { return v == load })
			b.insts = append(b.insts, load)
		}},
		{"a store in front of an atomic", "is not behind", func(g *graph) {
			x, _, b := g.find(kernel.AtomicAddI32)
			b.insts = slices.DeleteFunc(b.insts, func(v value) bool { return v == x })
			b.insts = append(b.insts, x)
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
	n.varying = false
	if err := v.uniformity(); err == nil || !strings.Contains(err.Error(), "done once") {
		t.Errorf("a uniform product of a varying factor: error %v", err)
	}
}

// A pass that leaves a wrong graph ends the compilation.
func TestWatcher(t *testing.T) {
	g, _ := kept(t)
	var stages []string
	texts := map[string]string{}
	g.watch = &watcher{validates: true, dump: func(stage, text string) {
		stages = append(stages, stage)
		texts[stage] = text
	}}
	g.did("one")
	_, n, _ := g.find(kernel.XorI32)
	n.args[1] = 0
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
