package ir

import (
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// findVarying finds what differs between lanes: values, branches, loops that lanes leave at different times, and blocks
// to which lanes come at different times.
func (g *Graph) findVarying() {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Varying = n.Op == ops.Builtin && !uniformBuiltin(n)
	}
	for i := range g.Blocks {
		g.Blocks[i].Pend, g.Blocks[i].join = false, false
	}
	for i := range g.Loops {
		g.Loops[i].divergent = false
	}
	marked := g.space.flags.Take(len(g.Order))
	s := &spread{g: g, spots: g.space.spots.Take(len(g.Order)), parties: g.space.parties.Take(len(g.Order)),
		back: g.space.ints.Take(len(g.Loops))}
	for changed := true; changed; {
		changed = false
		for at, b := range g.Order {
			blk := &g.Blocks[b]
			g.steps(1 + len(blk.Insts) + len(blk.Phis)*(1+len(blk.Preds)))
			for _, v := range blk.Phis {
				if n := &g.Nodes[v]; !n.Varying && g.phiVaries(b, n) {
					n.Varying = true
					changed = true
				}
			}
			for _, v := range blk.Insts {
				if n := &g.Nodes[v]; !n.Varying && g.varies(b, n) {
					n.Varying = true
					changed = true
				}
			}
			if blk.Cond != 0 && !marked[at] && g.seenVarying(b, blk.Cond) {
				marked[at] = true
				s.from(b)
				changed = true
			}
		}
	}
}

func uniformBuiltin(n *Node) bool {
	k := spirv.BuiltIn(uint32(n.Imm))
	return k == spirv.BuiltInNumWorkgroups || k == spirv.BuiltInWorkgroupId || k == spirv.BuiltInDeviceIndex
}

// alikeDepth is how many operations Alike follows a value through.
const alikeDepth = 4

// Alike says, before findVarying has run, whether a value is known to be the same in all lanes: what is made of
// constants and of memory at such places.
func (g *Graph) Alike(v Value) bool { return g.alike(v, alikeDepth) }

func (g *Graph) alike(v Value, depth int) bool {
	n := &g.Nodes[v]
	g.steps(1)
	switch {
	case n.Op == ops.Const:
		return true
	case depth == 0, !ops.Of(n.Op).Computes && !(ops.IsMemory(n.Op) && ops.Loads(n.Op)):
		return false
	}
	for _, a := range n.Args {
		if a != 0 && !g.alike(a, depth-1) {
			return false
		}
	}
	return n.Base == 0 || g.alike(n.Base, depth-1)
}

// seenVarying says whether a value varies as it is seen in block b: that of a loop which lanes leave at different times
// does so behind the loop.
func (g *Graph) seenVarying(b int32, v Value) bool {
	n := &g.Nodes[v]
	return n.Varying || !g.Floats(v) && g.Leaves(n.Block, b) >= 0
}

// Leaves gives the outermost divergent loop that has block from, but not block to; -1 if there is none.
func (g *Graph) Leaves(from, to int32) int32 {
	outer := int32(-1)
	l := g.Blocks[from].Loop
	if l == g.Blocks[to].Loop {
		return outer
	}
	for ; l >= 0 && !g.InLoop(to, l); l = g.Loops[l].Parent {
		g.steps(1)
		if g.Loops[l].divergent {
			outer = l
		}
	}
	return outer
}

func (g *Graph) varies(b int32, n *Node) bool {
	switch {
	case ops.Updates(n.Op):
		return true
	case n.Op == kernel.LoadPrivate32, n.Op == kernel.LoadPrivate64, n.Op == ops.Subgroup, n.Op == ops.Copy:
		return true
	case n.Op == ops.Image: // what is read at one place is the same for all lanes
		for _, a := range n.List {
			if g.seenVarying(b, a) {
				return true
			}
		}
		return !g.calls[n.Extra].Pure
	case g.effect(n):
		return false
	}
	for _, a := range n.Args {
		if a != 0 && g.seenVarying(b, a) {
			return true
		}
	}
	return n.Base != 0 && g.seenVarying(b, n.Base)
}

func (g *Graph) phiVaries(b int32, n *Node) bool {
	blk := &g.Blocks[b]
	forward := 0
	for i, p := range blk.Preds {
		if g.seenVarying(p, n.List[i]) {
			return true
		}
		if g.Blocks[p].At < blk.At {
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
	g       *Graph
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
	at := s.g.Blocks[t].At
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
		s.g.Blocks[t].Pend, s.g.Blocks[t].join = true, true
	}
}

// from marks the blocks to which lanes that block b parts come at different times. It is the walk.
func (s *spread) from(b int32) {
	s.epoch++
	s.ahead, s.state = 0, 0
	waiting := 0
	for _, t := range s.g.Blocks[b].Succs {
		s.mark(t, s.g.Blocks[t].At, true)
	}
	around := s.g.Blocks[b].Loop
	for at := s.g.Blocks[b].At + 1; int(at) < len(s.g.Order); at++ {
		s.g.steps(1)
		for around >= 0 && at > s.g.Blocks[s.g.Loops[around].Last].At {
			if l := &s.g.Loops[around]; s.back[around] == s.epoch {
				waiting--
				if s.ahead > 0 {
					// Some go on with the loop while others have left it.
					l.divergent = true
					for _, t := range s.exitsOf(around) {
						s.mark(t, s.g.Blocks[t].At, true)
					}
				}
			}
			around = s.g.Loops[around].Parent
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
			if s.seen == nil {
				s.seen = map[uint64]struct{}{}
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
		for _, t := range s.g.Blocks[s.g.Order[at]].Succs {
			if t < 0 {
				continue
			}
			if s.g.Blocks[t].At > at {
				s.mark(t, label, false)
				// Where others wait in between, or may do so, these must let them run first.
				others := s.ahead - s.parties[label].count
				if s.spots[s.g.Blocks[t].At].label != label {
					others--
				}
				for y := at + 1; y < s.g.Blocks[t].At && others > 0; y++ {
					if p := &s.spots[y]; y-at > lookAhead || p.epoch == s.epoch && p.label != label {
						s.g.Blocks[t].Pend = true
						break
					}
				}
				continue
			}
			// Only a branch back of a loop around b keeps lanes apart.
			if l := s.g.Blocks[t].Loop; s.g.InLoop(b, l) && s.back[l] != s.epoch {
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
	first, last := s.g.Blocks[s.g.Loops[l].Header].At, s.g.Blocks[s.g.Loops[l].Last].At
	var list []int32
	for _, b := range s.g.Order[first : last+1] {
		s.g.steps(1 + len(list))
		for _, t := range s.g.Blocks[b].Succs {
			if t >= 0 && s.g.Blocks[t].At > last && !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	if s.exits == nil {
		s.exits = map[int32][]int32{}
	}
	s.exits[l] = list
	return list
}

// keepAcrossExits gives a register of its own to what a loop computes and code behind it uses, if lanes leave the loop
// at different times: the operation itself writes its register for all lanes, also those that have left. Varying phis
// need none, they are written for the active lanes only.
func (g *Graph) keepAcrossExits() {
	if !slices.ContainsFunc(g.Loops, func(l Loop) bool { return l.divergent }) {
		return
	}
	var copies map[Value]Value
	replace := func(b int32, v Value) Value {
		n := &g.Nodes[v]
		if v == 0 || g.Floats(v) || n.Op == ops.Phi && n.Varying || n.Op == ops.Copy || g.Leaves(n.Block, b) < 0 {
			return v
		}
		k := copies[v]
		if k == 0 {
			k = g.newNode(Node{Op: ops.Copy, Wide: n.Wide, Varying: true, Used: true, Block: n.Block,
				Args: [4]Value{v}, Offset: n.Offset})
			if copies == nil {
				copies = map[Value]Value{}
			}
			copies[v] = k
		}
		return k
	}
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		for _, v := range blk.Phis {
			for i, p := range blk.Preds {
				x := replace(p, g.Nodes[v].List[i])
				g.Nodes[v].List[i] = x
			}
		}
		for _, v := range blk.Insts {
			for i := range g.Nodes[v].Args {
				x := replace(b, g.Nodes[v].Args[i])
				g.Nodes[v].Args[i] = x
			}
			x := replace(b, g.Nodes[v].Base)
			g.Nodes[v].Base = x
			for i := range g.Nodes[v].List {
				x := replace(b, g.Nodes[v].List[i])
				g.Nodes[v].List[i] = x
			}
		}
		blk.Cond = replace(b, blk.Cond)
	}
	if len(copies) == 0 {
		return
	}
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		insts := make([]Value, 0, len(blk.Insts)+4)
		for _, v := range blk.Phis {
			if k := copies[v]; k != 0 {
				insts = append(insts, k)
			}
		}
		for _, v := range blk.Insts {
			insts = append(insts, v)
			if k := copies[v]; k != 0 {
				insts = append(insts, k)
			}
		}
		blk.Insts = insts
	}
}
