package ir

import (
	"farside/compute/internal/budget"
	"farside/compute/internal/ops"
)

// A load of an element that lanes choose is a gather. Of two with the same index, between which nothing stores to the
// array, one is enough.

// element is what a load of private memory reads: an element of an array as some store has left that.
type element struct {
	private int32
	version int32
	index   Value
	imm     uint64
}

// sharer gives arrays versions: equal ones have equal elements.
type sharer struct {
	g        *Graph
	versions int32
	ends     [][]int32         // by block, the version of each array behind it
	stored   map[[2]int32]bool // by loop and array, whether the loop stores to it
	loads    map[element]Value
	replaced replacements
}

// mostVersions is how many versions of arrays, one for each in each block, are looked at.
const mostVersions = 1 << 20

// elementBytes is about what an element takes in the sharer's map.
const elementBytes = 64

// shareElements replaces loads of private memory by earlier ones of the same. It says whether there was one.
func (g *Graph) shareElements() bool {
	if len(g.Privates)*len(g.Order) > mostVersions {
		return false
	}
	s := &sharer{g: g, ends: make([][]int32, len(g.Blocks)), stored: map[[2]int32]bool{}, loads: map[element]Value{}}
	loads := 0
	for _, b := range g.Order {
		for _, v := range g.Blocks[b].Insts {
			n := &g.Nodes[v]
			switch {
			case !ops.IsPrivate(n.Op):
			case ops.Stores(n.Op):
				for l := g.Blocks[b].Loop; l >= 0 && !s.stored[[2]int32{l, n.Extra}]; l = g.Loops[l].Parent {
					g.Budget.Spend(budget.Bytes, elementBytes)
					s.stored[[2]int32{l, n.Extra}] = true
				}
			default:
				loads++
			}
		}
	}
	if loads < 2 {
		return false
	}
	s.replaced = make(replacements, len(g.Nodes))
	found := false
	for _, b := range g.Order {
		g.steps(len(g.Privates))
		g.Budget.Spend(budget.Bytes, 4*len(g.Privates))
		found = s.block(b) || found
	}
	if found {
		s.replaced.apply(g)
	}
	return found
}

// block goes through a block, whose predecessors but for those that branch back have been gone through.
func (s *sharer) block(b int32) (found bool) {
	now := make([]int32, len(s.g.Privates))
	for i := range now {
		now[i] = s.begin(b, int32(i))
	}
	for _, v := range s.g.Blocks[b].Insts {
		n := &s.g.Nodes[v]
		switch {
		case !ops.IsPrivate(n.Op):
		case ops.Stores(n.Op):
			now[n.Extra] = s.next()
		default:
			e := element{n.Extra, now[n.Extra], s.replaced.find(n.Args[0]), n.Imm}
			if o := s.loads[e]; o != 0 && s.g.dominates(s.g.Nodes[o].Block, b) {
				s.replaced[v] = o
				found = true
				continue
			}
			s.g.Budget.Spend(budget.Bytes, elementBytes)
			s.loads[e] = v
		}
	}
	s.ends[b] = now
	return found
}

func (s *sharer) next() int32 {
	s.versions++
	return s.versions
}

// begin is the version of an array in front of a block.
func (s *sharer) begin(b, private int32) int32 {
	blk := &s.g.Blocks[b]
	if blk.Loop >= 0 && s.g.Loops[blk.Loop].Header == b && s.stored[[2]int32{blk.Loop, private}] {
		return s.next()
	}
	version := int32(-1)
	for _, p := range blk.Preds {
		end := s.ends[p]
		switch {
		case end == nil: // it branches back, from a loop that doesn't store to the array
		case version >= 0 && end[private] != version:
			return s.next()
		default:
			version = end[private]
		}
	}
	return max(version, 0)
}
