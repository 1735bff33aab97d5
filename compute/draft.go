package compute

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"farside/compute/internal/kernel"
	"farside/internal/ieee"
)

// draft is what Compile keeps of a shader for LayOut: its graph, with what it needs and no more.
type draft struct {
	once  sync.Once
	err   error
	graph *graph
}

// LayOut makes the instructions of a program that Compile has given, and the members that belong to them: Insts,
// FileSize, Mask, Constants, Builtins, Images, Subgroups and Prints. Run does so, too; who looks at them earlier comes
// here first. It can fail only for a fault of the compiler's own.
func (p *Program) LayOut() error {
	d := p.draft
	if d == nil {
		return nil
	}
	d.once.Do(func() {
		defer func() { d.graph = nil }()
		if d.err = p.layOut(true); errors.As(d.err, new(exhausted)) {
			d.err = p.layOut(false)
		}
	})
	return d.err
}

// layOut is LayOut, with or without copies of loops: these may be what is too much.
func (p *Program) layOut(unroll bool) (err error) {
	defer recovered(p.Name, &err)
	defer ieee.Leave(ieee.Enter())
	w := takeWorkspace()
	g := p.draft.graph.resume(w)
	g.watch = p.watch
	g.optimize(unroll)
	g.emit(p)
	p.watch.renumbered()
	p.watch.write("program", p.text)
	p.used.noteMost(&w.budget)
	g.giveBack()
	w.release()
	return nil
}

// mayExhaust says whether what LayOut still does may take more than a budget. Of less operations and blocks not even
// each pair, with those that every branch meets, is as many steps as there are.
func (g *graph) mayExhaust() bool { return len(g.nodes)+len(g.blocks) > 1<<13 }

// recovered makes an error of a panic of the compiler.
func recovered(entryPoint string, err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		*err = fmt.Errorf("compiling %q: %v", entryPoint, r)
	}
}

// keep copies what is used of the graph, after dropDead, to memory of its own.
func (g *graph) keep() *graph {
	nodes, values, ints := 1, 0, 0
	for v := range g.nodes {
		if n := &g.nodes[v]; n.used || value(v) == g.zero {
			nodes++
			values += len(n.list)
		}
	}
	for _, b := range g.order {
		blk := &g.blocks[b]
		values += len(blk.insts) + len(blk.phis)
		ints += len(blk.preds)
	}
	k := &graph{nodes: make([]node, 1, nodes), blocks: slices.Clone(g.blocks), order: slices.Clone(g.order),
		loops:    slices.Clone(g.loops),
		memories: slices.Clone(g.memories), privates: slices.Clone(g.privates), calls: g.calls, localSize: g.localSize}
	to := g.space.values.take(len(g.nodes)) // what values become
	for v := range g.nodes {
		if n := &g.nodes[v]; n.used || value(v) == g.zero {
			to[v] = value(len(k.nodes))
			k.nodes = append(k.nodes, *n)
		}
	}
	k.zero = to[g.zero]
	lists, preds := make([]value, 0, values), make([]int32, 0, ints)
	copied := func(list []value) []value {
		from := len(lists)
		for _, v := range list {
			lists = append(lists, to[v])
		}
		return lists[from:len(lists):len(lists)]
	}
	for v := range k.nodes {
		n := &k.nodes[v]
		for i, a := range n.args {
			n.args[i] = to[a]
		}
		n.base = to[n.base]
		if n.list != nil {
			n.list = copied(n.list)
		}
	}
	for i := range k.blocks {
		k.blocks[i].insts, k.blocks[i].phis, k.blocks[i].preds = nil, nil, nil
	}
	for _, b := range g.order {
		blk, old := &k.blocks[b], &g.blocks[b]
		blk.insts, blk.phis, blk.cond = copied(old.insts), copied(old.phis), to[old.cond]
		from := len(preds)
		preds = append(preds, old.preds...)
		blk.preds = preds[from:len(preds):len(preds)]
	}
	for i := range k.loops {
		k.loops[i].stored = nil
	}
	return k
}

// resume is a graph that was kept, in a workspace.
func (g *graph) resume(w *workspace) *graph {
	w.budget.spend(loweredNodes, len(g.nodes))
	w.budget.spend(loweredBlocks, len(g.blocks))
	return &graph{nodes: append(w.nodes[:0], g.nodes...), blocks: append(w.blocks[:0], g.blocks...),
		order: append(w.order[:0], g.order...),
		loops: append(w.loops[:0], g.loops...), memories: append(w.memories[:0], g.memories...),
		privates: append(w.privates[:0], g.privates...),
		calls:    g.calls, localSize: g.localSize, zero: g.zero, table: w.values.take(256), space: w}
}

// giveBack returns to the workspace what has grown.
func (g *graph) giveBack() {
	w := g.space
	w.nodes, w.blocks, w.order, w.loops, w.memories, w.privates = g.nodes, g.blocks, g.order, g.loops, g.memories,
		g.privates
}

// maxFile is how many bytes of registers a workgroup may have.
const maxFile = 1 << 30

// fileBound is what the registers of a kept graph come to at most, in bytes, generously: each pass that is still to
// come counts with all that it can add.
func (g *graph) fileBound() uint64 {
	const wide = 64
	values, rounds := uint64(len(g.nodes)), uint64(1)
	for i := range g.loops {
		budget := uint64(unrollBudget(g.loops[i].control))
		values += 2 * budget
		rounds = max(rounds, budget)
	}
	each := uint64(1<<boundDepth + 2) // terms of an address; a copy behind a loop
	arrays := uint64(0)
	for i := range g.privates {
		arrays += min(uint64(g.privates[i].count), maxFile)
		each = max(each, uint64(len(g.blocks))) // phis of the elements
	}
	chunks := (uint64(g.localSize[0])*uint64(g.localSize[1])*uint64(g.localSize[2]) + kernel.Width - 1) / kernel.Width
	masks := uint64(len(g.blocks)) * rounds
	return (values*each + masks + arrays) * wide * chunks
}
