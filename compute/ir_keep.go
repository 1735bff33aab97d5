package compute

import (
	"slices"

	"farside/compute/internal/budget"
)

// keep copies what is used of the graph, after dropDead, to memory of its own. It shares the calls, which don't change.
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
	to := g.values(len(g.nodes)) // what values become
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
	return k
}

// resume is a graph that was kept, in memory that release gives back. The kept graph does not change with it.
func (g *graph) resume(b *budget.Budget) *graph {
	w := takeIRSpace(b)
	b.Spend(budget.Nodes, len(g.nodes))
	b.Spend(budget.Blocks, len(g.blocks))
	return &graph{nodes: append(w.nodes[:0], g.nodes...), blocks: append(w.blocks[:0], g.blocks...),
		order: append(w.order[:0], g.order...),
		loops: append(w.loops[:0], g.loops...), memories: append(w.memories[:0], g.memories...),
		privates: append(w.privates[:0], g.privates...),
		calls:    g.calls, localSize: g.localSize, zero: g.zero, table: w.values.Take(256), budget: b, space: w}
}
