package backend

import (
	"cmp"
	"slices"

	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
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
	g             *ir.Graph
	space         *workspace
	start, assign []int32                 // by place in the order
	def, last     []int32                 // by value; last use
	outside       []int32                 // of phis of loops that all lanes leave at once, the last use behind the loop
	outer         []int32                 // of a value that lanes keep when they leave a loop, that loop + 1
	group         []ir.Value              // of values that share a register, the representative; 0 is the value itself
	stretches     [][]stretch             // by value
	exitOf        []int32                 // by loop, see lastExit
	resultsOf     map[ir.Value][]ir.Value // of calls
}

func live(g *ir.Graph, space *workspace) *liveness {
	n := len(g.Nodes)
	words := space.ints.Take(4 * n)
	l := &liveness{
		g: g, space: space, start: space.ints.Take(len(g.Order)), assign: space.ints.Take(len(g.Order)),
		def: words[:n], last: words[n : 2*n], outside: words[2*n : 3*n], outer: words[3*n:],
		group: space.values.Take(n), stretches: space.lists.Take(n),
	}
	at := int32(0)
	for i, b := range g.Order {
		l.start[i] = at
		at++
		for _, v := range g.Blocks[b].Phis {
			l.def[v] = l.start[i]
		}
		for _, v := range g.Blocks[b].Insts {
			l.def[v] = at
			at++
		}
		l.assign[i] = at
		at += 2
	}
	for i, b := range g.Order {
		blk := &g.Blocks[b]
		for _, v := range blk.Phis {
			for k, p := range blk.Preds {
				l.use(g.Nodes[v].List[k], p, l.assign[g.Blocks[p].At])
			}
		}
		at := l.start[i]
		for _, v := range blk.Insts {
			at++
			n := &g.Nodes[v]
			until := at
			if !ops.Of(n.Op).Computes {
				until++ // it may write before it has read everything
			}
			for _, a := range n.Args {
				l.use(a, b, until)
			}
			l.use(n.Base, b, until)
			for _, a := range n.List {
				l.use(a, b, until)
			}
		}
		l.use(blk.Cond, b, l.assign[i]+2)
	}
	l.results()
	return l
}

// results lets the results of a call begin where the call is: it writes all of them.
func (l *liveness) results() {
	for _, b := range l.g.Order {
		for _, v := range l.g.Blocks[b].Insts {
			if n := &l.g.Nodes[v]; n.Op == ops.Result {
				l.def[v] = min(l.def[v], l.def[n.Args[0]])
				if l.resultsOf == nil {
					l.resultsOf = map[ir.Value][]ir.Value{}
				}
				l.resultsOf[n.Args[0]] = append(l.resultsOf[n.Args[0]], v)
			}
		}
	}
}

// steps counts steps.
func (l *liveness) steps(n int) { l.g.Budget.Spend(budget.Steps, n) }

// end is the position behind a loop.
func (l *liveness) end(x int32) int32 { return l.assign[l.g.Blocks[l.g.Loops[x].Last].At] + 2 }

func (l *liveness) begin(x int32) int32 { return l.start[l.g.Blocks[l.g.Loops[x].Header].At] }

// use notes that v is read in block b at a position.
func (l *liveness) use(v ir.Value, b, at int32) {
	if v == 0 || l.g.Floats(v) {
		return
	}
	n := &l.g.Nodes[v]
	d := n.Block
	if l.g.Blocks[b].Loop != l.g.Blocks[d].Loop {
		// A loop that does not compute the value needs it to its end.
		for x := l.g.Blocks[b].Loop; x >= 0 && !l.g.InLoop(d, x); x = l.g.Loops[x].Parent {
			l.steps(1)
			at = max(at, l.end(x))
		}
		if x := l.g.Leaves(d, b); x >= 0 {
			if o := l.outer[v]; o == 0 || l.g.Loops[x].Depth < l.g.Loops[o-1].Depth {
				l.outer[v] = x + 1
			}
		} else if h := l.g.Blocks[d].Loop; n.Op == ops.Phi && h >= 0 && l.g.Loops[h].Header == d && !l.g.InLoop(b, h) {
			l.outside[v] = max(l.outside[v], at)
			return
		}
	}
	l.last[v] = max(l.last[v], at)
}

// reach gives the positions at which lanes can come from block p to wait at block b, and until when they do.
func (l *liveness) reach(p, b int32) stretch {
	at := l.assign[l.g.Blocks[p].At]
	if !l.g.Blocks[b].Pend || l.g.Blocks[p].At >= l.g.Blocks[b].At {
		return stretch{at, at + 1}
	}
	for x := l.g.Blocks[p].Loop; x >= 0 && !l.g.InLoop(b, x); x = l.g.Loops[x].Parent {
		l.steps(1)
		at = min(at, l.begin(x))
	}
	return stretch{at, l.start[l.g.Blocks[b].At]}
}

// of gives the stretches of a value.
func (l *liveness) of(v ir.Value) []stretch {
	n := &l.g.Nodes[v]
	if n.Op != ops.Phi {
		s := stretch{l.def[v], max(l.last[v], l.def[v]+1)}
		if x := l.outer[v]; x > 0 {
			s.from = min(s.from, l.begin(x-1))
		}
		return l.space.stretches.Push(nil, s)
	}
	blk := &l.g.Blocks[n.Block]
	list := l.space.stretches.Take(len(blk.Preds) + 2)[:0]
	for _, p := range blk.Preds {
		list = append(list, l.reach(p, n.Block))
	}
	from := l.start[blk.At]
	main := stretch{from, max(l.last[v], from+1)}
	if x := l.outer[v]; x > 0 {
		main.from = min(main.from, l.begin(x-1))
		main.to = max(main.to, l.end(x-1))
	}
	if until := l.outside[v]; until > 0 {
		h := blk.Loop
		main.to = max(main.to, l.lastExit(h))
		list = append(list, stretch{l.end(h), max(until, l.end(h)+1)})
	}
	return normal(append(list, main))
}

// lastExit is the position behind the last branch out of a loop.
func (l *liveness) lastExit(h int32) int32 {
	if l.exitOf == nil {
		l.exitOf = l.space.ints.Take(len(l.g.Loops))
	}
	if l.exitOf[h] == 0 {
		l.exitOf[h] = l.findExit(h)
	}
	return l.exitOf[h]
}

func (l *liveness) findExit(h int32) int32 {
	first, last := l.g.Blocks[l.g.Loops[h].Header].At, l.g.Blocks[l.g.Loops[h].Last].At
	for at := last; at >= first; at-- {
		l.steps(1)
		for _, t := range l.g.Blocks[l.g.Order[at]].Succs {
			if t >= 0 && l.g.Blocks[t].At > last {
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

func (l *liveness) groupOf(v ir.Value) ir.Value {
	for l.group[v] != 0 {
		if next := l.group[l.group[v]]; next != 0 {
			l.group[v] = next
		}
		v = l.group[v]
	}
	return v
}

func (l *liveness) stretchesOf(v ir.Value) []stretch {
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
		for _, b := range l.g.Order {
			blk := &l.g.Blocks[b]
			for _, v := range blk.Phis {
				for k, p := range blk.Preds {
					if (l.g.Blocks[p].At >= blk.At) == back {
						l.share(v, l.g.Nodes[v].List[k])
					}
				}
			}
		}
	}
}

// share gives two values the same register if their stretches don't overlap.
func (l *liveness) share(a, b ir.Value) {
	if l.g.Floats(b) || l.g.Nodes[a].Wide != l.g.Nodes[b].Wide || l.g.Nodes[a].Varying != l.g.Nodes[b].Varying {
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
