package ir

import (
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

func (g *Graph) replacePred(b, from, to int32) {
	preds := g.Blocks[b].Preds
	preds[slices.Index(preds, from)] = to
}

// dropPred removes a predecessor and its operands of phis.
func (g *Graph) dropPred(b, pred int32) {
	blk := &g.Blocks[b]
	g.steps(len(blk.Preds) * (1 + len(blk.Phis)))
	k := slices.Index(blk.Preds, pred)
	blk.Preds = slices.Delete(blk.Preds, k, k+1)
	for _, v := range blk.Phis {
		n := &g.Nodes[v]
		n.List = slices.Delete(g.cloned(n.List), k, k+1)
	}
}

// cloned is a copy of a list.
func (g *Graph) cloned(list []Value) []Value {
	other := g.space.values.Take(len(list))
	copy(other, list)
	return other
}

// joins says whether block s can become a part of block b, behind which it stands: there is no other way to it.
func (g *Graph) joins(b, s int32) bool {
	x, y := &g.Blocks[b], &g.Blocks[s]
	return s != g.Order[len(g.Order)-1] && x.Cond == 0 && x.Succs[0] == s && len(y.Preds) == 1 && x.Loop == y.Loop
}

// absorb makes block s a part of block b.
func (g *Graph) absorb(b, s int32) {
	x, y := &g.Blocks[b], &g.Blocks[s]
	first := len(x.Insts)
	for _, v := range y.Phis { // of one operand
		n := &g.Nodes[v]
		n.Op = kernel.Move32
		if n.Wide {
			n.Op = kernel.Move64
		}
		n.Args[0], n.List = n.List[0], nil
	}
	x.Insts = g.space.values.Extend(g.space.values.Extend(x.Insts, y.Phis), y.Insts)
	x.Cond, x.Succs = y.Cond, y.Succs
	for _, t := range y.Succs {
		if t >= 0 {
			g.replacePred(t, s, b)
		}
	}
	for l := x.Loop; l >= 0; l = g.Loops[l].Parent {
		g.steps(1)
		if g.Loops[l].Last == s {
			g.Loops[l].Last = b
		}
	}
	for _, v := range x.Insts[first:] {
		g.Nodes[v].Block = b
	}
	y.Insts, y.Phis = nil, nil
}

// mergeBlocks joins a block with the one before it, if that is the only way to get there. The end stays by itself.
func (g *Graph) mergeBlocks() {
	order := g.Order[:1]
	for _, s := range g.Order[1:] {
		if b := order[len(order)-1]; g.joins(b, s) {
			g.absorb(b, s)
		} else {
			order = append(order, s)
		}
	}
	g.Order = order
}

// skipEmpty lets branches to blocks that do nothing go on to where those branch.
func (g *Graph) skipEmpty() {
	kept := g.Order[:0]
	end := g.Order[len(g.Order)-1]
	for k, b := range g.Order {
		blk := &g.Blocks[b]
		to := blk.Succs[0]
		if k == 0 || b == end || len(blk.Insts)+len(blk.Phis) > 0 || blk.Cond != 0 || to < 0 || len(g.Blocks[to].Phis) > 0 ||
			g.loopEdge(b) || g.loopEdge(to) {
			kept = append(kept, b)
			continue
		}
		t := &g.Blocks[to]
		g.steps(len(t.Preds) * (1 + len(blk.Preds)))
		t.Preds = slices.DeleteFunc(slices.Clone(t.Preds), func(p int32) bool { return p == b })
		for _, p := range blk.Preds {
			x := &g.Blocks[p]
			for i := range x.Succs {
				if x.Succs[i] == b {
					x.Succs[i] = to
				}
			}
			if x.Cond != 0 && x.Succs[0] == x.Succs[1] {
				x.Cond, x.Succs[1] = 0, -1
			}
			if !slices.Contains(t.Preds, p) {
				t.Preds = append(t.Preds, p)
			}
		}
	}
	g.Order = kept
}

// decide takes the branches of which the condition has become a constant. It says whether there was one.
func (g *Graph) decide() bool {
	found := false
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		k, known := g.Known(blk.Cond)
		if blk.Cond == 0 || !known {
			continue
		}
		found = true
		taken, other := blk.Succs[0], blk.Succs[1]
		if k == 0 {
			taken, other = other, taken
		}
		blk.Cond, blk.Succs = 0, [2]int32{taken, -1}
		g.dropPred(other, b)
	}
	if !found {
		return false
	}
	// What nothing branches to any more, other than the last block of a loop to its header, goes.
	end := g.Order[len(g.Order)-1]
	reached := g.space.flags.Take(len(g.Blocks))
	reached[g.Order[0]] = true
	kept := g.Order[:1]
	for _, b := range g.Order[1:] {
		blk := &g.Blocks[b]
		for _, p := range blk.Preds {
			reached[b] = reached[b] || reached[p] && g.Blocks[p].At < blk.At
		}
		if reached[b] || b == end {
			kept = append(kept, b)
			continue
		}
		for _, s := range blk.Succs {
			if s >= 0 {
				g.dropPred(s, b)
			}
		}
		for l := blk.Loop; l >= 0; l = g.Loops[l].Parent {
			if g.Loops[l].Last == b {
				g.Loops[l].Last = -1
			}
		}
	}
	g.Order = kept
	g.dropLoops()
	g.mergeBlocks()
	g.place()
	return true
}

// loopEdge says whether a block is the first or the last of a loop.
func (g *Graph) loopEdge(b int32) bool {
	for l := g.Blocks[b].Loop; l >= 0; l = g.Loops[l].Parent {
		g.steps(1)
		if g.Loops[l].Header == b || g.Loops[l].Last == b {
			return true
		}
	}
	return false
}

// What the sides of a branch may cost, in operations on all lanes, to be done anyway: a divergent branch is several
// operations on masks, a uniform one just a jump.
const (
	flattenDivergent = 24
	flattenUniform   = 4
	flattenMost      = 48 // operations, uniform ones included
)

// flatten replaces small branches without effects by selections. From the end to the front, so that it comes from
// inner ones to outer ones. It says whether there was one.
func (g *Graph) flatten() bool {
	g.forget()
	found := false
	gone := g.space.flags.Take(len(g.Blocks))
	skip := g.space.ints.Take(len(g.Order) + 1) // by place, behind how many that are gone the next one stands
	next := func(k int) int32 {
		k++
		at := k
		for at < len(g.Order) && gone[g.Order[at]] {
			at += 1 + int(skip[at])
		}
		skip[k] = int32(max(at-k-1, 0))
		if at == len(g.Order) {
			return -1
		}
		return g.Order[at]
	}
	for k := len(g.Order) - 2; k >= 0; k-- {
		b := g.Order[k]
		for g.flattenBranch(b, gone) {
			found = true
			if s := next(k); s >= 0 && g.joins(b, s) {
				g.absorb(b, s)
				gone[s] = true
			}
		}
	}
	g.Order = slices.DeleteFunc(g.Order, func(b int32) bool { return gone[b] })
	return found
}

// flattenBranch makes the sides of a branch parts of its block, if that is worth it.
func (g *Graph) flattenBranch(b int32, gone []bool) bool {
	blk := &g.Blocks[b]
	if blk.Cond == 0 {
		return false
	}
	budget := flattenUniform
	if g.seenVarying(b, blk.Cond) {
		budget = flattenDivergent
	}
	yes, no := blk.Succs[0], blk.Succs[1]
	merge := int32(-1)
	side := func(s int32) bool { return g.side(b, s) }
	switch {
	case side(yes) && g.Blocks[yes].Succs[0] == no:
		merge, no = no, -1
	case side(no) && g.Blocks[no].Succs[0] == yes:
		merge, yes = yes, -1
	case side(yes) && side(no) && g.Blocks[yes].Succs[0] == g.Blocks[no].Succs[0]:
		merge = g.Blocks[yes].Succs[0]
	default:
		return false
	}
	m := &g.Blocks[merge]
	if m.Loop != blk.Loop || m.At <= blk.At {
		return false
	}
	cost, count := 0, 0
	for _, s := range []int32{yes, no} {
		if s < 0 {
			continue
		}
		for _, v := range g.Blocks[s].Insts {
			x, ok := g.cost(&g.Nodes[v])
			if !ok {
				return false
			}
			cost += x
			count++
		}
	}
	if cost > budget || count > flattenMost {
		return false
	}
	from := func(s int32) int { // the operand that comes from a side
		if s < 0 {
			s = b
		}
		return slices.Index(m.Preds, s)
	}
	for _, s := range []int32{yes, no} {
		if s < 0 {
			continue
		}
		for _, v := range g.Blocks[s].Insts {
			g.Nodes[v].Block = b
		}
		blk.Insts = g.space.values.Extend(blk.Insts, g.Blocks[s].Insts)
		g.Blocks[s].Insts = nil
		gone[s] = true
	}
	g.Current = b
	i, j := from(yes), from(no)
	for _, v := range m.Phis {
		list := g.cloned(g.Nodes[v].List)
		x := g.Choose(blk.Cond, list[i], list[j])
		n := &g.Nodes[v]
		n.List = list
		n.List[i], n.List[j] = x, x
	}
	// One of the two edges stays, as that of b.
	if yes >= 0 && no >= 0 {
		g.dropPred(merge, no)
		g.replacePred(merge, yes, b)
	} else {
		g.dropPred(merge, max(yes, no))
	}
	blk = &g.Blocks[b]
	blk.Cond, blk.Succs = 0, [2]int32{merge, -1}
	return true
}

// side says whether block s does nothing but to be one side of a branch of b.
func (g *Graph) side(b, s int32) bool {
	x := &g.Blocks[s]
	return len(x.Preds) == 1 && len(x.Phis) == 0 && x.Cond == 0 && x.Succs[0] >= 0 && x.Loop == g.Blocks[b].Loop &&
		!g.loopEdge(s)
}

// cost estimates an operation; ok is false if it must not be done where it was not asked for.
func (g *Graph) cost(n *Node) (cost int, ok bool) {
	o := ops.Of(n.Op)
	volatile := o.Class == ops.ClassLoad && o.Space == ops.SpaceSlot && !g.pure(n) && n.Version == 0
	if o.Cost == 0 || volatile {
		return 0, false
	}
	if !n.Varying {
		return 0, true
	}
	return int(o.Cost), true
}
