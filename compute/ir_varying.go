package compute

import (
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// findVarying finds what differs between lanes: values, branches, loops that lanes leave at different times, and blocks
// to which lanes come at different times.
func (g *graph) findVarying() {
	for i := range g.nodes {
		n := &g.nodes[i]
		n.varying = n.op == ops.Builtin && !uniformBuiltin(n)
	}
	for i := range g.blocks {
		g.blocks[i].pend, g.blocks[i].join = false, false
	}
	for i := range g.loops {
		g.loops[i].divergent = false
	}
	marked := g.space.flags.Take(len(g.order))
	s := &spread{graph: g, spots: g.space.spots.Take(len(g.order)), parties: g.space.parties.Take(len(g.order)),
		back: g.space.ints.Take(len(g.loops)), exits: map[int32][]int32{}, seen: map[uint64]struct{}{}}
	for changed := true; changed; {
		changed = false
		for at, b := range g.order {
			blk := &g.blocks[b]
			g.steps(1 + len(blk.insts) + len(blk.phis)*(1+len(blk.preds)))
			for _, v := range blk.phis {
				if n := &g.nodes[v]; !n.varying && g.phiVaries(b, n) {
					n.varying = true
					changed = true
				}
			}
			for _, v := range blk.insts {
				if n := &g.nodes[v]; !n.varying && g.varies(b, n) {
					n.varying = true
					changed = true
				}
			}
			if blk.cond != 0 && !marked[at] && g.seenVarying(b, blk.cond) {
				marked[at] = true
				s.from(b)
				changed = true
			}
		}
	}
}

func uniformBuiltin(n *node) bool {
	k := spirv.BuiltIn(uint32(n.imm))
	return k == spirv.BuiltInNumWorkgroups || k == spirv.BuiltInWorkgroupId || k == spirv.BuiltInDeviceIndex
}

// seenVarying says whether a value varies as it is seen in block b: that of a loop which lanes leave at different times
// does so behind the loop.
func (g *graph) seenVarying(b int32, v value) bool {
	n := &g.nodes[v]
	return n.varying || !g.floats(v) && g.leaves(n.block, b) >= 0
}

// leaves gives the outermost divergent loop that has block from, but not block to; -1 if there is none.
func (g *graph) leaves(from, to int32) int32 {
	outer := int32(-1)
	l := g.blocks[from].loop
	if l == g.blocks[to].loop {
		return outer
	}
	for ; l >= 0 && !g.inLoop(to, l); l = g.loops[l].parent {
		g.steps(1)
		if g.loops[l].divergent {
			outer = l
		}
	}
	return outer
}

func (g *graph) varies(b int32, n *node) bool {
	switch {
	case ops.Updates(n.op):
		return true
	case n.op == kernel.LoadPrivate32, n.op == kernel.LoadPrivate64, n.op == ops.Subgroup, n.op == ops.Copy:
		return true
	case n.op == ops.Image: // what is read at one place is the same for all lanes
		for _, a := range n.list {
			if g.seenVarying(b, a) {
				return true
			}
		}
		return !g.calls[n.extra].pure
	case g.effect(n):
		return false
	}
	for _, a := range n.args {
		if a != 0 && g.seenVarying(b, a) {
			return true
		}
	}
	return n.base != 0 && g.seenVarying(b, n.base)
}

func (g *graph) phiVaries(b int32, n *node) bool {
	blk := &g.blocks[b]
	forward := 0
	for i, p := range blk.preds {
		if g.seenVarying(p, n.list[i]) {
			return true
		}
		if g.blocks[p].at < blk.at {
			forward++
		}
	}
	return blk.join && forward > 1
}

// lookAhead is how many positions a branch looks ahead for blocks where others wait. It assumes that there is one
// beyond.
const lookAhead = 16

// markEvery: at each position that it divides, a walk looks whether another walk has been there in the same state.
const markEvery = 16

// spread follows the lanes that a divergent branch parts until they are together again. The walk (from) takes the
// blocks behind the branch in the order of graph.order, in which only a loop's last block branches back.
//
// A label names lanes that this branch has not parted, or that have met again. It is the position of the block where
// they came together: a target of the branch, or a join. When the walk is at position at, this holds:
//
//  1. A spot is a block at a position from at on to which lanes come next. It has one label.
//  2. Lanes with the same label are together: as far as this branch is concerned, all of them come to the same one of
//     the label's spots. (Another branch that parts them has its own walk.)
//  3. Lanes with different labels may come at different times. So a block that gets two labels is a join: it waits for
//     all, and the lanes go on from it with its own label.
//  4. ahead is the number of spots; parties[l].count is the number of those with label l.
//  5. state depends on which spots there are and which of them share a label. It doesn't depend on the labels' numbers,
//     which differ from branch to branch.
//  6. An entry of spots, parties or back counts only if its epoch is this walk's. Others are left from earlier
//     branches; so a new walk clears nothing.
//
// All lanes are together, and the walk ends, when no spot is ahead and no lanes wait for the next round of a loop.
type spread struct {
	*graph
	spots   []spot            // by position
	parties []party           // by label
	exits   map[int32][]int32 // by loop
	back    []int32           // loops whose header a group comes to again
	seen    map[uint64]struct{}
	epoch   int32 // the number of this walk
	ahead   int32 // the number of spots
	state   uint64
}

// spot is a block that lanes come to, at a position of graph.order.
type spot struct{ label, epoch int32 }

// party sums up the spots with one label: their number, and the hashes of their positions.
type party struct {
	count, epoch int32
	sum          uint64
}

// scramble is a permutation of the 64-bit numbers that leaves 0 as it is.
func scramble(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// add counts a spot into its label's party, or, with by -1, out of it, and keeps state the sum of the parties' hashes.
func (s *spread) add(at, label, by int32) {
	g := &s.parties[label]
	if g.epoch != s.epoch {
		*g = party{epoch: s.epoch}
	}
	s.state -= scramble(g.sum)
	g.count += by
	g.sum += uint64(by) * scramble(uint64(at)+1)
	s.state += scramble(g.sum)
}

// mark lets lanes with a label come to block t. With join, lanes wait there for each other.
func (s *spread) mark(t, label int32, join bool) {
	at := s.blocks[t].at
	p := &s.spots[at]
	switch {
	case p.epoch != s.epoch:
		*p = spot{label, s.epoch}
		s.add(at, label, 1)
		s.ahead++
	case p.label != label:
		s.add(at, p.label, -1)
		s.add(at, at, 1)
		p.label = at
		join = true
	}
	if join {
		s.blocks[t].pend, s.blocks[t].join = true, true
	}
}

// from marks the blocks to which lanes that block b parts come at different times. It is the walk.
func (s *spread) from(b int32) {
	s.epoch++
	s.ahead, s.state = 0, 0
	waiting := 0
	for _, t := range s.blocks[b].succs {
		s.mark(t, s.blocks[t].at, true)
	}
	around := s.blocks[b].loop
	for at := s.blocks[b].at + 1; int(at) < len(s.order); at++ {
		s.steps(1)
		for around >= 0 && at > s.blocks[s.loops[around].last].at {
			if l := &s.loops[around]; s.back[around] == s.epoch {
				waiting--
				if s.ahead > 0 {
					// Some go on with the loop while others have left it.
					l.divergent = true
					for _, t := range s.exitsOf(around) {
						s.mark(t, s.blocks[t].at, true)
					}
				}
			}
			around = s.loops[around].parent
		}
		if s.ahead == 0 && waiting == 0 {
			return
		}
		if at%markEvery == 0 {
			// If another walk was here in the same state, it has marked the rest: that depends on the state, the position
			// and the loop alone. No lanes wait for a header here, since only a loop's last block branches back.
			key := scramble(s.state ^ scramble(uint64(at)<<32|uint64(uint32(around))))
			if _, ok := s.seen[key]; ok {
				return
			}
			s.seen[key] = struct{}{}
		}
		if s.spots[at].epoch != s.epoch {
			continue
		}
		label := s.spots[at].label
		s.ahead--
		s.add(at, label, -1)
		if s.ahead == 0 && waiting == 0 {
			return // all are here
		}
		for _, t := range s.blocks[s.order[at]].succs {
			if t < 0 {
				continue
			}
			if s.blocks[t].at > at {
				s.mark(t, label, false)
				// Where others wait in between, or may do so, these must let them run first.
				others := s.ahead - s.parties[label].count
				if s.spots[s.blocks[t].at].label != label {
					others--
				}
				for y := at + 1; y < s.blocks[t].at && others > 0; y++ {
					if p := &s.spots[y]; y-at > lookAhead || p.epoch == s.epoch && p.label != label {
						s.blocks[t].pend = true
						break
					}
				}
				continue
			}
			// Only a branch back of a loop around b keeps lanes apart.
			if l := s.blocks[t].loop; s.inLoop(b, l) && s.back[l] != s.epoch {
				s.back[l] = s.epoch
				waiting++
			}
		}
	}
}

// exitsOf gives the blocks to which a loop is left.
func (s *spread) exitsOf(l int32) []int32 {
	if list, ok := s.exits[l]; ok {
		return list
	}
	first, last := s.blocks[s.loops[l].header].at, s.blocks[s.loops[l].last].at
	var list []int32
	for _, b := range s.order[first : last+1] {
		s.steps(1 + len(list))
		for _, t := range s.blocks[b].succs {
			if t >= 0 && s.blocks[t].at > last && !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	s.exits[l] = list
	return list
}

// keepAcrossExits gives a register of its own to what a loop computes and code behind it uses, if lanes leave the loop
// at different times: the operation itself writes its register for all lanes, also those that have left. Varying phis
// need none, they are written for the active lanes only.
func (g *graph) keepAcrossExits() {
	if !slices.ContainsFunc(g.loops, func(l loop) bool { return l.divergent }) {
		return
	}
	var copies map[value]value
	replace := func(b int32, v value) value {
		n := &g.nodes[v]
		if v == 0 || g.floats(v) || n.op == ops.Phi && n.varying || n.op == ops.Copy || g.leaves(n.block, b) < 0 {
			return v
		}
		k := copies[v]
		if k == 0 {
			k = g.newNode(node{op: ops.Copy, wide: n.wide, varying: true, used: true, block: n.block,
				args: [4]value{v}, offset: n.offset})
			if copies == nil {
				copies = map[value]value{}
			}
			copies[v] = k
		}
		return k
	}
	for _, b := range g.order {
		blk := &g.blocks[b]
		for _, v := range blk.phis {
			for i, p := range blk.preds {
				x := replace(p, g.nodes[v].list[i])
				g.nodes[v].list[i] = x
			}
		}
		for _, v := range blk.insts {
			for i := range g.nodes[v].args {
				x := replace(b, g.nodes[v].args[i])
				g.nodes[v].args[i] = x
			}
			x := replace(b, g.nodes[v].base)
			g.nodes[v].base = x
			for i := range g.nodes[v].list {
				x := replace(b, g.nodes[v].list[i])
				g.nodes[v].list[i] = x
			}
		}
		blk.cond = replace(b, blk.cond)
	}
	if len(copies) == 0 {
		return
	}
	for _, b := range g.order {
		blk := &g.blocks[b]
		insts := make([]value, 0, len(blk.insts)+4)
		for _, v := range blk.phis {
			if k := copies[v]; k != 0 {
				insts = append(insts, k)
			}
		}
		for _, v := range blk.insts {
			insts = append(insts, v)
			if k := copies[v]; k != 0 {
				insts = append(insts, k)
			}
		}
		blk.insts = insts
	}
}
