package compute

import (
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

func (g *graph) replacePred(b, from, to int32) {
	preds := g.blocks[b].preds
	preds[slices.Index(preds, from)] = to
}

// dropPred removes a predecessor and its operands of phis.
func (g *graph) dropPred(b, pred int32) {
	blk := &g.blocks[b]
	g.steps(len(blk.preds) * (1 + len(blk.phis)))
	k := slices.Index(blk.preds, pred)
	blk.preds = slices.Delete(blk.preds, k, k+1)
	for _, v := range blk.phis {
		n := &g.nodes[v]
		n.list = slices.Delete(g.cloned(n.list), k, k+1)
	}
}

// cloned is a copy of a list.
func (g *graph) cloned(list []value) []value {
	other := g.space.values.Take(len(list))
	copy(other, list)
	return other
}

// joins says whether block s can become a part of block b, behind which it stands: there is no other way to it.
func (g *graph) joins(b, s int32) bool {
	x, y := &g.blocks[b], &g.blocks[s]
	return s != g.order[len(g.order)-1] && x.cond == 0 && x.succs[0] == s && len(y.preds) == 1 && x.loop == y.loop
}

// absorb makes block s a part of block b.
func (g *graph) absorb(b, s int32) {
	x, y := &g.blocks[b], &g.blocks[s]
	first := len(x.insts)
	for _, v := range y.phis { // of one operand
		n := &g.nodes[v]
		n.op = kernel.Move32
		if n.wide {
			n.op = kernel.Move64
		}
		n.args[0], n.list = n.list[0], nil
	}
	x.insts = g.space.values.Extend(g.space.values.Extend(x.insts, y.phis), y.insts)
	x.cond, x.succs = y.cond, y.succs
	for _, t := range y.succs {
		if t >= 0 {
			g.replacePred(t, s, b)
		}
	}
	for l := x.loop; l >= 0; l = g.loops[l].parent {
		g.steps(1)
		if g.loops[l].last == s {
			g.loops[l].last = b
		}
	}
	for _, v := range x.insts[first:] {
		g.nodes[v].block = b
	}
	y.insts, y.phis = nil, nil
}

// mergeBlocks joins a block with the one before it, if that is the only way to get there. The end stays by itself.
func (g *graph) mergeBlocks() {
	order := g.order[:1]
	for _, s := range g.order[1:] {
		if b := order[len(order)-1]; g.joins(b, s) {
			g.absorb(b, s)
		} else {
			order = append(order, s)
		}
	}
	g.order = order
}

// skipEmpty lets branches to blocks that do nothing go on to where those branch.
func (g *graph) skipEmpty() {
	kept := g.order[:0]
	end := g.order[len(g.order)-1]
	for k, b := range g.order {
		blk := &g.blocks[b]
		to := blk.succs[0]
		if k == 0 || b == end || len(blk.insts)+len(blk.phis) > 0 || blk.cond != 0 || to < 0 || len(g.blocks[to].phis) > 0 ||
			g.loopEdge(b) || g.loopEdge(to) {
			kept = append(kept, b)
			continue
		}
		t := &g.blocks[to]
		g.steps(len(t.preds) * (1 + len(blk.preds)))
		t.preds = slices.DeleteFunc(slices.Clone(t.preds), func(p int32) bool { return p == b })
		for _, p := range blk.preds {
			x := &g.blocks[p]
			for i := range x.succs {
				if x.succs[i] == b {
					x.succs[i] = to
				}
			}
			if x.cond != 0 && x.succs[0] == x.succs[1] {
				x.cond, x.succs[1] = 0, -1
			}
			if !slices.Contains(t.preds, p) {
				t.preds = append(t.preds, p)
			}
		}
	}
	g.order = kept
}

// decide takes the branches of which the condition has become a constant. It says whether there was one.
func (g *graph) decide() bool {
	found := false
	for _, b := range g.order {
		blk := &g.blocks[b]
		k, known := g.known(blk.cond)
		if blk.cond == 0 || !known {
			continue
		}
		found = true
		taken, other := blk.succs[0], blk.succs[1]
		if k == 0 {
			taken, other = other, taken
		}
		blk.cond, blk.succs = 0, [2]int32{taken, -1}
		g.dropPred(other, b)
	}
	if !found {
		return false
	}
	// What nothing branches to any more, other than the last block of a loop to its header, goes.
	end := g.order[len(g.order)-1]
	reached := g.space.flags.Take(len(g.blocks))
	reached[g.order[0]] = true
	kept := g.order[:1]
	for _, b := range g.order[1:] {
		blk := &g.blocks[b]
		for _, p := range blk.preds {
			reached[b] = reached[b] || reached[p] && g.blocks[p].at < blk.at
		}
		if reached[b] || b == end {
			kept = append(kept, b)
			continue
		}
		for _, s := range blk.succs {
			if s >= 0 {
				g.dropPred(s, b)
			}
		}
		for l := blk.loop; l >= 0; l = g.loops[l].parent {
			if g.loops[l].last == b {
				g.loops[l].last = -1
			}
		}
	}
	g.order = kept
	g.dropLoops()
	g.mergeBlocks()
	g.place()
	return true
}

// loopEdge says whether a block is the first or the last of a loop.
func (g *graph) loopEdge(b int32) bool {
	for l := g.blocks[b].loop; l >= 0; l = g.loops[l].parent {
		g.steps(1)
		if g.loops[l].header == b || g.loops[l].last == b {
			return true
		}
	}
	return false
}

// What the sides of a branch may cost, in operations on all lanes, to be done anyway: a divergent branch is several
// operations on masks, a uniform one just a jump.
const (
	flattenDivergent = 8
	flattenUniform   = 4
	flattenMost      = 24 // operations, uniform ones included
)

// flatten replaces small branches without effects by selections. From the end to the front, so that it comes from
// inner ones to outer ones. It says whether there was one.
func (g *graph) flatten() bool {
	g.forget()
	found := false
	gone := g.space.flags.Take(len(g.blocks))
	skip := g.space.ints.Take(len(g.order) + 1) // by place, behind how many that are gone the next one stands
	next := func(k int) int32 {
		k++
		at := k
		for at < len(g.order) && gone[g.order[at]] {
			at += 1 + int(skip[at])
		}
		skip[k] = int32(max(at-k-1, 0))
		if at == len(g.order) {
			return -1
		}
		return g.order[at]
	}
	for k := len(g.order) - 2; k >= 0; k-- {
		b := g.order[k]
		for g.flattenBranch(b, gone) {
			found = true
			if s := next(k); s >= 0 && g.joins(b, s) {
				g.absorb(b, s)
				gone[s] = true
			}
		}
	}
	g.order = slices.DeleteFunc(g.order, func(b int32) bool { return gone[b] })
	return found
}

// flattenBranch makes the sides of a branch parts of its block, if that is worth it.
func (g *graph) flattenBranch(b int32, gone []bool) bool {
	blk := &g.blocks[b]
	if blk.cond == 0 {
		return false
	}
	budget := flattenUniform
	if g.seenVarying(b, blk.cond) {
		budget = flattenDivergent
	}
	yes, no := blk.succs[0], blk.succs[1]
	merge := int32(-1)
	side := func(s int32) bool { return g.side(b, s) }
	switch {
	case side(yes) && g.blocks[yes].succs[0] == no:
		merge, no = no, -1
	case side(no) && g.blocks[no].succs[0] == yes:
		merge, yes = yes, -1
	case side(yes) && side(no) && g.blocks[yes].succs[0] == g.blocks[no].succs[0]:
		merge = g.blocks[yes].succs[0]
	default:
		return false
	}
	m := &g.blocks[merge]
	if m.loop != blk.loop || m.at <= blk.at {
		return false
	}
	cost, count := 0, 0
	for _, s := range []int32{yes, no} {
		if s < 0 {
			continue
		}
		for _, v := range g.blocks[s].insts {
			x, ok := g.cost(&g.nodes[v])
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
		return slices.Index(m.preds, s)
	}
	for _, s := range []int32{yes, no} {
		if s < 0 {
			continue
		}
		for _, v := range g.blocks[s].insts {
			g.nodes[v].block = b
		}
		blk.insts = g.space.values.Extend(blk.insts, g.blocks[s].insts)
		g.blocks[s].insts = nil
		gone[s] = true
	}
	g.current = b
	i, j := from(yes), from(no)
	for _, v := range m.phis {
		list := g.cloned(g.nodes[v].list)
		x := g.choose(blk.cond, list[i], list[j])
		n := &g.nodes[v]
		n.list = list
		n.list[i], n.list[j] = x, x
	}
	// One of the two edges stays, as that of b.
	if yes >= 0 && no >= 0 {
		g.dropPred(merge, no)
		g.replacePred(merge, yes, b)
	} else {
		g.dropPred(merge, max(yes, no))
	}
	blk = &g.blocks[b]
	blk.cond, blk.succs = 0, [2]int32{merge, -1}
	return true
}

// side says whether block s does nothing but to be one side of a branch of b.
func (g *graph) side(b, s int32) bool {
	x := &g.blocks[s]
	return len(x.preds) == 1 && len(x.phis) == 0 && x.cond == 0 && x.succs[0] >= 0 && x.loop == g.blocks[b].loop &&
		!g.loopEdge(s)
}

// cost estimates an operation; ok is false if it must not be done where it was not asked for.
func (g *graph) cost(n *node) (cost int, ok bool) {
	o := ops.Of(n.op)
	volatile := o.Class == ops.ClassLoad && o.Space == ops.SpaceSlot && !g.pure(n) && n.version == 0
	if o.Cost == 0 || volatile {
		return 0, false
	}
	if !n.varying {
		return 0, true
	}
	return int(o.Cost), true
}
