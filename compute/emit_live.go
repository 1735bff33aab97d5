package compute

import (
	"cmp"
	"slices"

	"farside/compute/internal/budget"
	"farside/compute/internal/ops"
)

// stretch is a part of the program in which a register is taken: from the instruction that writes it to before the one
// that reads it last.
type stretch struct{ from, to int32 }

// liveness finds where values are needed, over the program as it is laid out: while some lanes run, others wait for
// their turn behind, and what they need must stay although it is not on the way of those that run.
//
// A position is an instruction. A block has one at its start, then those of its instructions, then one at which phis of
// its successors are assigned, then its branch.
type liveness struct {
	*graph
	space         *emitSpace
	start, assign []int32           // by place in the order
	def, last     []int32           // by value; last use
	outside       []int32           // of the phis of loops that all lanes leave at once, the last use behind the loop
	outer         []int32           // of a value that lanes keep when they leave a loop, that loop + 1
	group         []value           // of values that share a register, the representative; 0 is the value itself
	stretches     [][]stretch       // by value
	exitOf        []int32           // by loop, see lastExit
	resultsOf     map[value][]value // of calls
}

func live(g *graph, space *emitSpace) *liveness {
	n := len(g.nodes)
	words := space.ints.Take(4 * n)
	l := &liveness{
		graph: g, space: space, start: space.ints.Take(len(g.order)), assign: space.ints.Take(len(g.order)),
		def: words[:n], last: words[n : 2*n], outside: words[2*n : 3*n], outer: words[3*n:],
		group: space.values.Take(n), stretches: space.lists.Take(n),
	}
	at := int32(0)
	for i, b := range g.order {
		l.start[i] = at
		at++
		for _, v := range g.blocks[b].phis {
			l.def[v] = l.start[i]
		}
		for _, v := range g.blocks[b].insts {
			l.def[v] = at
			at++
		}
		l.assign[i] = at
		at += 2
	}
	for i, b := range g.order {
		blk := &g.blocks[b]
		for _, v := range blk.phis {
			for k, p := range blk.preds {
				l.use(g.nodes[v].list[k], p, l.assign[g.blocks[p].at])
			}
		}
		at := l.start[i]
		for _, v := range blk.insts {
			at++
			n := &g.nodes[v]
			until := at
			if !ops.Of(n.op).Computes {
				until++ // it may write before it has read everything
			}
			for _, a := range n.args {
				l.use(a, b, until)
			}
			l.use(n.base, b, until)
			for _, a := range n.list {
				l.use(a, b, until)
			}
		}
		l.use(blk.cond, b, l.assign[i]+2)
	}
	l.results()
	return l
}

// results lets the results of a call begin where the call is: it writes all of them.
func (l *liveness) results() {
	for _, b := range l.order {
		for _, v := range l.blocks[b].insts {
			if n := &l.nodes[v]; n.op == ops.Result {
				l.def[v] = min(l.def[v], l.def[n.args[0]])
				if l.resultsOf == nil {
					l.resultsOf = map[value][]value{}
				}
				l.resultsOf[n.args[0]] = append(l.resultsOf[n.args[0]], v)
			}
		}
	}
}

// steps counts steps.
func (l *liveness) steps(n int) { l.graph.Budget().Spend(budget.Steps, n) }

// end is the position behind a loop.
func (l *liveness) end(x int32) int32 { return l.assign[l.blocks[l.loops[x].last].at] + 2 }

func (l *liveness) begin(x int32) int32 { return l.start[l.blocks[l.loops[x].header].at] }

// use notes that v is read in block b at a position.
func (l *liveness) use(v value, b, at int32) {
	if v == 0 || l.floats(v) {
		return
	}
	n := &l.nodes[v]
	d := n.block
	if l.blocks[b].loop != l.blocks[d].loop {
		// A loop that does not compute the value needs it to its end.
		for x := l.blocks[b].loop; x >= 0 && !l.inLoop(d, x); x = l.loops[x].parent {
			l.steps(1)
			at = max(at, l.end(x))
		}
		if x := l.leaves(d, b); x >= 0 {
			if o := l.outer[v]; o == 0 || l.loops[x].depth < l.loops[o-1].depth {
				l.outer[v] = x + 1
			}
		} else if h := l.blocks[d].loop; n.op == ops.Phi && h >= 0 && l.loops[h].header == d && !l.inLoop(b, h) {
			l.outside[v] = max(l.outside[v], at)
			return
		}
	}
	l.last[v] = max(l.last[v], at)
}

// reach gives the positions at which lanes can come from block p to wait at block b, and until when they do.
func (l *liveness) reach(p, b int32) stretch {
	at := l.assign[l.blocks[p].at]
	if !l.blocks[b].pend || l.blocks[p].at >= l.blocks[b].at {
		return stretch{at, at + 1}
	}
	for x := l.blocks[p].loop; x >= 0 && !l.inLoop(b, x); x = l.loops[x].parent {
		l.steps(1)
		at = min(at, l.begin(x))
	}
	return stretch{at, l.start[l.blocks[b].at]}
}

// of gives the stretches of a value.
func (l *liveness) of(v value) []stretch {
	n := &l.nodes[v]
	if n.op != ops.Phi {
		s := stretch{l.def[v], max(l.last[v], l.def[v]+1)}
		if x := l.outer[v]; x > 0 {
			s.from = min(s.from, l.begin(x-1))
		}
		return l.space.stretches.Push(nil, s)
	}
	blk := &l.blocks[n.block]
	list := l.space.stretches.Take(len(blk.preds) + 2)[:0]
	for _, p := range blk.preds {
		list = append(list, l.reach(p, n.block))
	}
	from := l.start[blk.at]
	main := stretch{from, max(l.last[v], from+1)}
	if x := l.outer[v]; x > 0 {
		main.from = min(main.from, l.begin(x-1))
		main.to = max(main.to, l.end(x-1))
	}
	if until := l.outside[v]; until > 0 {
		h := blk.loop
		main.to = max(main.to, l.lastExit(h))
		list = append(list, stretch{l.end(h), max(until, l.end(h)+1)})
	}
	return normal(append(list, main))
}

// lastExit is the position behind the last branch out of a loop.
func (l *liveness) lastExit(h int32) int32 {
	if l.exitOf == nil {
		l.exitOf = l.space.ints.Take(len(l.loops))
	}
	if l.exitOf[h] == 0 {
		l.exitOf[h] = l.findExit(h)
	}
	return l.exitOf[h]
}

func (l *liveness) findExit(h int32) int32 {
	first, last := l.blocks[l.loops[h].header].at, l.blocks[l.loops[h].last].at
	for at := last; at >= first; at-- {
		l.steps(1)
		for _, t := range l.blocks[l.order[at]].succs {
			if t >= 0 && l.blocks[t].at > last {
				return l.assign[at] + 2
			}
		}
	}
	return l.start[first]
}

// normal sorts stretches and joins those that touch.
func normal(list []stretch) []stretch {
	slices.SortFunc(list, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	out := list[:1]
	for _, s := range list[1:] {
		if t := &out[len(out)-1]; s.from <= t.to {
			t.to = max(t.to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// union joins two lists that do not overlap.
func (l *liveness) union(a, b []stretch) []stretch {
	out := l.space.stretches.Take(len(a) + len(b))[:0]
	for len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0].from < b[0].from {
			a, b = b, a
		}
		if n := len(out); n > 0 && out[n-1].to == b[0].from {
			out[n-1].to = b[0].to
		} else {
			out = append(out, b[0])
		}
		b = b[1:]
	}
	return out
}

func overlap(a, b []stretch) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].to <= b[0].from:
			a = a[1:]
		case b[0].to <= a[0].from:
			b = b[1:]
		default:
			return true
		}
	}
	return false
}

func (l *liveness) groupOf(v value) value {
	for l.group[v] != 0 {
		if next := l.group[l.group[v]]; next != 0 {
			l.group[v] = next
		}
		v = l.group[v]
	}
	return v
}

func (l *liveness) stretchesOf(v value) []stretch {
	s := l.stretches[v]
	if s == nil {
		s = l.of(v)
		l.stretches[v] = s
	}
	return s
}

// coalesce lets phis share a register with their operands where their stretches allow it: first with what comes around
// a loop.
func (l *liveness) coalesce() {
	for _, back := range []bool{true, false} {
		for _, b := range l.order {
			blk := &l.blocks[b]
			for _, v := range blk.phis {
				for k, p := range blk.preds {
					if (l.blocks[p].at >= blk.at) == back {
						l.share(v, l.nodes[v].list[k])
					}
				}
			}
		}
	}
}

// share gives two values the same register if their stretches don't overlap.
func (l *liveness) share(a, b value) {
	if l.floats(b) || l.nodes[a].wide != l.nodes[b].wide || l.nodes[a].varying != l.nodes[b].varying {
		return
	}
	a, b = l.groupOf(a), l.groupOf(b)
	if a == b {
		return
	}
	x, y := l.stretchesOf(a), l.stretchesOf(b)
	l.steps(len(x) + len(y))
	if overlap(x, y) {
		return
	}
	l.group[b] = a
	l.stretches[a] = l.union(x, y)
	l.stretches[b] = nil
}
