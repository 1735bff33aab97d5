package compute

import (
	"slices"
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// kept is the graph of a shader, and the order of its effects.
func kept(t *testing.T, words []uint32) (*graph, *validator) {
	t.Helper()
	m, err := spirv.Decode(words)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(m, "main", Options{SubgroupSize: 32})
	if err != nil {
		t.Fatal(err)
	}
	g := p.draft.graph.resume(takeWorkspace()).keep() // lists of its own
	g.space = takeWorkspace()
	g.table = g.space.values.take(256)
	v, err := g.validate()
	if err != nil {
		t.Fatal(err)
	}
	return g, v
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

const validated = `#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Out { uint y[]; };
shared uint s[64];
void main() {
	uint i = gl_LocalInvocationID.x, sum = 0;
	s[i] = y[i];
	barrier();
	for (uint k = 0; k < y[i + 1]; k++) {
		if ((sum & 1) == 1)
			sum += s[k] * i;
		sum ^= k;
	}
	atomicAdd(y[0], sum);
	y[i] = sum < 7 ? sum : i;
}`

// Each fault that a pass might leave is found, and named.
func TestValidate(t *testing.T) {
	words := glslWords(t, validated)
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
			g, _ := kept(t, words)
			fault.put(g)
			_, err := g.validate()
			wanted(t, g, err, fault.want)
		})
	}
}

// What a pass does to effects, loads and uniform operations is found, too.
func TestValidateOrder(t *testing.T) {
	words := glslWords(t, validated)
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
			g, before := kept(t, words)
			order := before.effectOrder()
			fault.put(g)
			v, err := g.validate()
			if err == nil {
				err = order.keptBy("a pass", v)
			}
			wanted(t, g, err, fault.want)
		})
	}
	g, v := kept(t, words)
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
	g, _ := kept(t, glslWords(t, validated))
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

// Option Dump gets each pass and the program, in order, and changes nothing of it.
func TestDump(t *testing.T) {
	words := glslWords(t, validated)
	m, err := spirv.Decode(words)
	if err != nil {
		t.Fatal(err)
	}
	var stages []string
	texts := map[string]string{}
	p, err := Compile(m, "main", Options{SubgroupSize: 32, Dump: func(stage, text string) {
		stages = append(stages, stage)
		texts[stage] = text
	}})
	if err != nil {
		t.Fatal(err)
	}
	text := p.String()
	if want := compileWords(t, words, Options{}).String(); text != want {
		t.Errorf("the program is\n%s\nwithout a dump\n%s", text, want)
	}
	if !slices.IsSorted(stages) || len(stages) < 12 || !strings.HasSuffix(stages[0], "-lower") {
		t.Fatalf("stages %q", stages)
	}
	if last := stages[len(stages)-1]; !strings.HasSuffix(last, "-program") || texts[last] != text {
		t.Errorf("%s is\n%s\nwant\n%s", last, texts[last], text)
	}
	for _, part := range []string{"loop 0: b", "memory 1: ", "Out(0.0)[0]", "shared", "AtomicAddI32",
		"LocalInvocationId.0", "Phi ", "if v", "end"} {
		if !strings.Contains(texts[stages[0]], part) {
			t.Errorf("no %q in\n%s", part, texts[stages[0]])
		}
	}
}
