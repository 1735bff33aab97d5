package ir

import "farside/compute/internal/ops"

// Members of a vector are stored one after the other, often each behind what computes it. delayStores lets stores wait
// for those that follow: machine code stores neighbours together, and loads that come first can wait for memory at the
// same time.

const (
	mostDelayed = 16 // stores that wait
	mostOthers  = 8  // of them, if one isn't the neighbour of the one before
	delayedBy   = 48 // operations in front of which a store may have been
)

// delayStores puts stores behind operations that follow them and see nothing of them.
func (g *Graph) delayStores() {
	var waiting []Value
	for _, b := range g.Order {
		insts := g.Blocks[b].Insts
		g.steps(len(insts))
		waiting = waiting[:0]
		to, first := 0, 0 // where the next operation goes, and where the first of those that wait was
		flush := func() {
			to += copy(insts[to:], waiting)
			waiting = waiting[:0]
		}
		for i, v := range insts {
			n := &g.Nodes[v]
			if i-first > delayedBy {
				flush()
			}
			if !g.delays(n) {
				if !g.pure(n) || v == g.Blocks[b].Cond { // a branch looks at the comparison in front of it
					flush()
				}
				insts[to] = v
				to++
				continue
			}
			k := len(waiting)
			if k == mostDelayed || k >= mostOthers && !g.behind(&g.Nodes[waiting[k-1]], n) {
				flush()
			}
			if len(waiting) == 0 {
				first = i
			}
			waiting = append(waiting, v)
		}
		flush()
	}
}

// delays says whether a node is a store that may wait: to a slot, of all lanes.
func (g *Graph) delays(n *Node) bool {
	o := ops.Of(n.Op)
	return o.Class == ops.ClassStore && o.Space == ops.SpaceSlot
}

// behind says whether a store is of what lies behind that of another one.
func (g *Graph) behind(n, o *Node) bool {
	return n.Op == o.Op && n.Extra == o.Extra && n.Args[0] == o.Args[0] && n.Base == o.Base && n.Args[2] == o.Args[2] &&
		o.Imm == n.Imm+uint64(ops.Of(n.Op).Bytes)
}
