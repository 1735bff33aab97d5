package ir

import (
	"slices"

	"farside/compute/internal/budget"
)

// Keep copies what is used of the graph, after dropDead, to memory of its own. It shares the calls, which don't change.
func (g *Graph) Keep() *Graph {
	nodes, values, ints := 1, 0, 0
	for v := range g.Nodes {
		if n := &g.Nodes[v]; n.Used || Value(v) == g.Zero {
			nodes++
			values += len(n.List)
		}
	}
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		values += len(blk.Insts) + len(blk.Phis)
		ints += len(blk.Preds)
	}
	k := &Graph{Nodes: make([]Node, 1, nodes), Blocks: slices.Clone(g.Blocks), Order: slices.Clone(g.Order),
		Loops:    slices.Clone(g.Loops),
		Memories: slices.Clone(g.Memories), Privates: slices.Clone(g.Privates), calls: g.calls, LocalSize: g.LocalSize}
	to := g.Values(len(g.Nodes)) // what values become
	for v := range g.Nodes {
		if n := &g.Nodes[v]; n.Used || Value(v) == g.Zero {
			to[v] = Value(len(k.Nodes))
			k.Nodes = append(k.Nodes, *n)
		}
	}
	k.Zero = to[g.Zero]
	lists, preds := make([]Value, 0, values), make([]int32, 0, ints)
	copied := func(list []Value) []Value {
		from := len(lists)
		for _, v := range list {
			lists = append(lists, to[v])
		}
		return lists[from:len(lists):len(lists)]
	}
	for v := range k.Nodes {
		n := &k.Nodes[v]
		for i, a := range n.Args {
			n.Args[i] = to[a]
		}
		n.Base = to[n.Base]
		if n.List != nil {
			n.List = copied(n.List)
		}
	}
	for i := range k.Blocks {
		k.Blocks[i].Insts, k.Blocks[i].Phis, k.Blocks[i].Preds = nil, nil, nil
	}
	for _, b := range g.Order {
		blk, old := &k.Blocks[b], &g.Blocks[b]
		blk.Insts, blk.Phis, blk.Cond = copied(old.Insts), copied(old.Phis), to[old.Cond]
		from := len(preds)
		preds = append(preds, old.Preds...)
		blk.Preds = preds[from:len(preds):len(preds)]
	}
	return k
}

// Resume is a graph that was kept, in memory that release gives back. The kept graph does not change with it: passes
// write to lists where they are, and a draft may be laid out twice.
func (g *Graph) Resume(b *budget.Budget) *Graph {
	w := takeWorkspace(b)
	b.Spend(budget.Nodes, len(g.Nodes))
	b.Spend(budget.Blocks, len(g.Blocks))
	r := &Graph{Nodes: append(w.nodes[:0], g.Nodes...), Blocks: append(w.blocks[:0], g.Blocks...),
		Order: append(w.order[:0], g.Order...),
		Loops: append(w.loops[:0], g.Loops...), Memories: append(w.memories[:0], g.Memories...),
		Privates: append(w.privates[:0], g.Privates...),
		calls:    g.calls, LocalSize: g.LocalSize, Zero: g.Zero, table: w.values.Take(256), Budget: b, space: w}
	copied := func(list []Value) []Value {
		if list == nil {
			return nil
		}
		to := w.values.Take(len(list))
		copy(to, list)
		return to
	}
	for v := range r.Nodes {
		n := &r.Nodes[v]
		n.List = copied(n.List)
	}
	for _, at := range r.Order {
		blk := &r.Blocks[at]
		blk.Insts, blk.Phis = copied(blk.Insts), copied(blk.Phis)
		preds := w.ints.Take(len(blk.Preds))
		copy(preds, blk.Preds)
		blk.Preds = preds
	}
	return r
}
