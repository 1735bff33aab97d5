package spirv

import (
	"iter"
	"slices"
)

// CFG is the control flow of a function. Blocks are named by Block.Index; what has no block is -1.
//
// Successors come in the order of the terminator's operands, each once. "Structural" includes the edges from a header
// to its merge block and continue target (SPIR-V 2.11).
type CFG struct {
	Function     *Function
	Successors   [][]int
	Predecessors [][]int
	Reachable    []bool

	// Order has the reachable blocks in structured order: reverse post-order in which the blocks of a construct are
	// contiguous, its continue construct is its last part, and its merge block comes behind it. A definition stands in
	// front of the blocks that it dominates. Position is the place of each block, or -1.
	Order    []int
	Position []int

	// IDom is the immediate dominator of each reachable block; the entry's is -1.
	IDom []int

	// Constructs are those of the reachable headers, in the order of their headers, outer ones first.
	Constructs []*Construct
	// Innermost is the innermost construct of each reachable block, or nil; a header is in its own. Loop is the
	// innermost loop.
	Innermost []*Construct
	Loop      []*Construct

	module     *Module
	all        []int // as Order, with the blocks that only structural edges reach
	place      []int // in all, or -1
	structural dominators
	real       dominators
}

// Construct is a selection or a loop: the header and all blocks in front of its merge block. A loop's continue
// construct is part of it.
type Construct struct {
	Header   int
	Merge    int // may be unreachable
	Continue int // of a loop, may be unreachable; -1 of a selection
	Parent   *Construct
	First    int // the header's position
	End      int // the position behind the last block; the merge block's, where that is reachable
}

// IsLoop says whether the construct is a loop.
func (c *Construct) IsLoop() bool { return c.Continue >= 0 }

// Case is a target of an OpSwitch, with the literal zero-extended to 64 bits.
type Case struct {
	Value  uint64
	Target ID
}

// Cases gives the targets of an OpSwitch without its default.
func (m *Module) Cases(i *Instruction) iter.Seq[Case] {
	return func(yield func(Case) bool) {
		wide := m.numberWords(m.typeOf(ID(i.Operands[0]))) == 2
		for rest := i.Operands[2:]; len(rest) > 0; {
			c := Case{Value: uint64(rest[0])}
			rest = rest[1:]
			if wide {
				c.Value |= uint64(rest[0]) << 32
				rest = rest[1:]
			}
			c.Target = ID(rest[0])
			rest = rest[1:]
			if !yield(c) {
				return
			}
		}
	}
}

// targets are the labels that a terminator names, in the order of its operands.
func (m *Module) targets(i *Instruction) iter.Seq[ID] {
	return func(yield func(ID) bool) {
		switch i.Op {
		case OpBranch:
			yield(ID(i.Operands[0]))
		case OpBranchConditional:
			_ = yield(ID(i.Operands[1])) && yield(ID(i.Operands[2]))
		case OpSwitch:
			if !yield(ID(i.Operands[1])) {
				return
			}
			for c := range m.Cases(i) {
				if !yield(c.Target) {
					return
				}
			}
		}
	}
}

// CFG analyses a function, once. It fails with an *Error when a branch or a merge instruction names what is no block of
// the function, or when a block branches to the entry; on a module that has passed Check it never does.
func (m *Module) CFG(f *Function) (*CFG, error) {
	f.flow.once.Do(func() { f.flow.cfg, f.flow.err = m.analyse(f) })
	return f.flow.cfg, f.flow.err
}

// slab gives parts of one allocation.
type slab[T any] []T

func (s *slab[T]) take(n int) []T {
	part := (*s)[:n:n]
	*s = (*s)[n:]
	return part
}

func (m *Module) analyse(f *Function) (*CFG, error) {
	n := len(f.Blocks)
	numbers := slab[int](make([]int, 5*n))
	lists := slab[[]int](make([][]int, 3*n))
	flags := slab[bool](make([]bool, n))
	constructs := slab[*Construct](make([]*Construct, 2*n))
	g := &CFG{
		Function: f, Successors: lists.take(n), Predecessors: lists.take(n),
		Reachable: flags.take(n), Position: numbers.take(n), Innermost: constructs.take(n), Loop: constructs.take(n),
		module: m, place: numbers.take(n),
	}
	seen := numbers.take(n)  // by which block, plus 1
	ends := numbers.take(n)  // of a block's edges
	count := numbers.take(n) // of predecessors
	edges := make([]int, 0, 2*n)
	for _, b := range f.Blocks {
		for id := range m.targets(b.Terminator) {
			t, err := g.target(b.Terminator, id)
			if err != nil {
				return nil, err
			}
			if seen[t] != b.Index+1 {
				seen[t] = b.Index + 1
				edges = append(edges, t)
				count[t]++
			}
		}
		ends[b.Index] = len(edges)
	}
	predecessors := slab[int](make([]int, len(edges)))
	for b := range n {
		g.Predecessors[b] = predecessors.take(count[b])[:0]
	}
	from := 0
	for b, to := range ends {
		g.Successors[b] = edges[from:to:to]
		for _, t := range edges[from:to] {
			g.Predecessors[t] = append(g.Predecessors[t], b)
		}
		from = to
	}
	structural := lists.take(n)
	all := make([]int, 0, len(edges)+2*n)
	for _, b := range f.Blocks {
		// What is visited first is last in the order.
		from := len(all)
		if b.Merge != nil {
			for _, id := range mergeTargets(b.Merge) {
				t, err := g.target(b.Merge, ID(id))
				if err != nil {
					return nil, err
				}
				all = append(all, t)
			}
		}
		for _, t := range slices.Backward(g.Successors[b.Index]) {
			all = append(all, t)
		}
		structural[b.Index] = all[from:len(all):len(all)]
	}
	g.structural = findDominators(structural)
	g.real = findDominators(g.Successors)
	g.IDom = g.real.idom
	for b := range g.Reachable {
		g.Reachable[b] = g.real.reached(b)
	}
	g.order(structural)
	return g, nil
}

// Block is the block of a label.
func (g *CFG) Block(label ID) int {
	def := g.module.Definitions[label]
	if def == nil || def.Op != OpLabel {
		return -1
	}
	if b := int(def.block); b < len(g.Function.Blocks) && g.Function.Blocks[b].Label == def {
		return b
	}
	return -1 // of another function
}

func (g *CFG) target(i *Instruction, id ID) (int, error) {
	t := g.Block(id)
	switch {
	case t < 0:
		return 0, errorAt(i, "%s is not a block of the function", g.module.Name(id))
	case t == 0:
		return 0, errorAt(i, "it branches to the function's first block, %s", g.module.Name(id))
	}
	return t, nil
}

// mergeTargets are the merge block and, of a loop, the continue target.
func mergeTargets(i *Instruction) []uint32 {
	if i.Op == OpLoopMerge {
		return i.Operands[:2]
	}
	return i.Operands[:1]
}

// Dominates says whether each path from the entry to b goes through a; a block dominates itself. Both are reachable.
func (g *CFG) Dominates(a, b int) bool { return g.real.dominates(a, b) }

// order finds the structured order and the constructs.
func (g *CFG) order(structural [][]int) {
	g.all = postOrder(structural)
	slices.Reverse(g.all)
	reached := make([]int, len(g.all)+1) // how many reachable blocks stand in front
	g.Order = make([]int, 0, len(g.all))
	for b := range g.Position {
		g.Position[b], g.place[b] = -1, -1
	}
	for at, b := range g.all {
		g.place[b], reached[at] = at, len(g.Order)
		if g.Reachable[b] {
			g.Position[b] = len(g.Order)
			g.Order = append(g.Order, b)
		}
	}
	var innermost, loop *Construct
	var loops []*Construct // the loop around each construct that is open
	for at, b := range g.all {
		for innermost != nil && at >= g.place[innermost.Merge] {
			innermost = innermost.Parent
			loop = loops[len(loops)-1]
			loops = loops[:len(loops)-1]
		}
		if merge := g.Function.Blocks[b].Merge; merge != nil {
			c := &Construct{Header: b, Merge: g.Block(ID(merge.Operands[0])), Continue: -1, Parent: innermost}
			c.First, c.End = reached[at], reached[g.place[c.Merge]]
			loops = append(loops, loop)
			if merge.Op == OpLoopMerge {
				c.Continue = g.Block(ID(merge.Operands[1]))
				loop = c
			}
			innermost = c
			if g.Reachable[b] {
				g.Constructs = append(g.Constructs, c)
			}
		}
		g.Innermost[b], g.Loop[b] = innermost, loop
	}
}

// postOrder visits the successors from the first to the last one.
func postOrder(successors [][]int) []int {
	type frame struct{ block, next int }
	order := make([]int, 0, len(successors))
	seen := make([]bool, len(successors))
	seen[0] = true
	stack := make([]frame, 1, len(successors))
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		list := successors[top.block]
		if top.next == len(list) {
			order = append(order, top.block)
			stack = stack[:len(stack)-1]
			continue
		}
		b := list[top.next]
		top.next++
		if !seen[b] {
			seen[b] = true
			stack = append(stack, frame{block: b})
		}
	}
	return order
}
