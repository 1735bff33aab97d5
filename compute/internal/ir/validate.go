package ir

import (
	"fmt"
	"math"
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// validator holds a graph to the rules that each pass relies on:
//
//  1. order has each block once, the first without predecessors. Successors and predecessors agree. A block has two
//     successors if it has a condition, and these differ. Only the last block of a loop branches back, to the header.
//  2. A node in the lists of a block is there once, and knows the block. Constants and built-ins are in no list.
//  3. The row of ir's table gives operands and result: which there are, and of how many bits. Memories, arrays and
//     calls that a node names are there. A phi has an operand for each predecessor.
//  4. A value is computed on all ways to where it is used.
//  5. Operands that are to be masks are not numbers.
//
// It finds out positions and dominators by itself. What no way leads to may be anything.
type validator struct {
	g       *Graph
	at      []int32 // by block: its place in order, -1 if it has none
	in      []int32 // by node: the block in whose lists it is, -1 if in none
	place   []int32 // by node: its place in the block; of phis 0
	idom    []int32 // by block
	reached []bool  // by block: there is a way to it
	// by block: the numbers between which those lie that it dominates
	first, last []int32
	asked       []bool // by node: whether it is a mask has been looked at
}

// validate says what is wrong with a graph.
func (g *Graph) validate() (*validator, error) {
	v := &validator{g: g, at: filled(len(g.Blocks)), in: filled(len(g.Nodes)), place: filled(len(g.Nodes)),
		idom: filled(len(g.Blocks)), reached: make([]bool, len(g.Blocks)), first: make([]int32, len(g.Blocks)),
		last: make([]int32, len(g.Blocks)), asked: make([]bool, len(g.Nodes))}
	if err := v.branches(); err != nil {
		return v, err
	}
	v.dominators()
	for _, b := range g.Order {
		if err := v.lists(b); err != nil {
			return v, fmt.Errorf("b%d: %w", b, err)
		}
	}
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		for _, list := range [][]Value{blk.Phis, blk.Insts} {
			for _, x := range list {
				if err := v.node(b, x); err != nil {
					return v, fmt.Errorf("b%d: %s: %w", b, g.nodeText(x), err)
				}
			}
		}
		if blk.Cond != 0 {
			if err := v.operand(blk.Cond, b, math.MaxInt32, ops.Mask); err != nil {
				return v, fmt.Errorf("b%d: condition: %w", b, err)
			}
		}
	}
	return v, nil
}

// filled is a list of -1.
func filled(n int) []int32 {
	return slices.Repeat([]int32{-1}, n)
}

// branches checks rule 1.
func (v *validator) branches() error {
	for i, b := range v.g.Order {
		if b < 0 || int(b) >= len(v.g.Blocks) || v.at[b] >= 0 {
			return fmt.Errorf("block %d at %d: there is none, or it is there twice", b, i)
		}
		v.at[b] = int32(i)
	}
	from := make([][]int32, len(v.g.Blocks))
	for _, b := range v.g.Order {
		s := v.g.Blocks[b].Succs
		if s[0] < 0 && s[1] >= 0 || (s[1] >= 0) != (v.g.Blocks[b].Cond != 0) || s[0] == s[1] && s[0] >= 0 {
			return fmt.Errorf("b%d: condition v%d, successors %d", b, v.g.Blocks[b].Cond, s)
		}
		for _, t := range s {
			if t < 0 {
				continue
			}
			if int(t) >= len(v.g.Blocks) || v.at[t] < 0 {
				return fmt.Errorf("b%d: there is no successor %d", b, t)
			}
			from[t] = append(from[t], b)
			if l := v.g.Blocks[t].Loop; v.at[t] <= v.at[b] && (l < 0 || v.g.Loops[l].Header != t || v.g.Loops[l].Last != b) {
				return fmt.Errorf("b%d branches back to b%d", b, t)
			}
		}
	}
	for i, b := range v.g.Order {
		preds := slices.Sorted(slices.Values(v.g.Blocks[b].Preds))
		slices.Sort(from[b])
		if !slices.Equal(preds, from[b]) || i == 0 && len(preds) > 0 {
			return fmt.Errorf("b%d: predecessors %d, but the branches of %d go there", b, preds, from[b])
		}
	}
	for i := range v.g.Loops {
		if l := &v.g.Loops[i]; l.Last >= 0 && (v.at[l.Header] < 0 || v.at[l.Last] < v.at[l.Header]) {
			return fmt.Errorf("loop %d from b%d to b%d", i, l.Header, l.Last)
		}
	}
	return nil
}

// dominators finds them in one pass: branches back lead to blocks that dominate them.
func (v *validator) dominators() {
	children := make([][]int32, len(v.g.Blocks))
	for i, b := range v.g.Order {
		v.reached[b] = i == 0
		for _, p := range v.g.Blocks[b].Preds {
			if v.at[p] >= v.at[b] || !v.reached[p] {
				continue
			}
			v.reached[b] = true
			for d := v.idom[b]; d >= 0 && p != d; d = v.idom[b] {
				if v.at[p] > v.at[d] {
					p = v.idom[p]
				} else {
					v.idom[b] = v.idom[d]
				}
			}
			v.idom[b] = p
		}
		if d := v.idom[b]; d >= 0 {
			children[d] = append(children[d], b)
		}
	}
	number := int32(0)
	type visit struct {
		block int32
		next  int
	}
	way := []visit{{v.g.Order[0], 0}}
	for len(way) > 0 {
		top := &way[len(way)-1]
		if top.next == 0 {
			v.first[top.block] = number
			number++
		}
		if top.next < len(children[top.block]) {
			top.next++
			way = append(way, visit{children[top.block][top.next-1], 0})
			continue
		}
		v.last[top.block] = number
		way = way[:len(way)-1]
	}
}

// dominated says whether block a is on all ways to block b.
func (v *validator) dominated(a, b int32) bool {
	return v.first[a] <= v.first[b] && v.last[b] <= v.last[a]
}

// lists checks rule 2 for a block.
func (v *validator) lists(b int32) error {
	blk := &v.g.Blocks[b]
	for k, list := range [][]Value{blk.Phis, blk.Insts} {
		for i, x := range list {
			if x <= 0 || int(x) >= len(v.g.Nodes) {
				return fmt.Errorf("there is no node %d", x)
			}
			n := &v.g.Nodes[x]
			if n.Op == 0 || n.Op >= ops.NumOps {
				return fmt.Errorf("v%d: there is no operation %d", x, n.Op)
			}
			switch c := ops.Of(n.Op).Class; {
			case v.in[x] >= 0:
				return fmt.Errorf("v%d is in b%d, too", x, v.in[x])
			case n.Block != b:
				return fmt.Errorf("v%d belongs to b%d", x, n.Block)
			case (c == ops.ClassPhi) != (k == 0), c == ops.ClassValue, c == ops.ClassMasked:
				return fmt.Errorf("v%d, %s, is in list %d", x, ops.Name(n.Op), k)
			}
			v.in[x], v.place[x] = b, int32(k*(i+1))
		}
	}
	return nil
}

// node checks rules 3 to 5 for a node.
func (v *validator) node(b int32, x Value) error {
	n := &v.g.Nodes[x]
	o := ops.Of(n.Op)
	if w := o.Result.Width(); w != 0 && n.Wide != (w == 64) || o.Result == ops.None && n.Wide {
		return fmt.Errorf("a result of %d bits", n.bits())
	}
	if err := v.names(n, o); err != nil {
		return err
	}
	for i, a := range n.Args {
		want := o.Args[i]
		switch {
		case a == 0 && (want.Type == ops.None || want.Optional):
			continue
		case a == 0 || want.Type == ops.None:
			return fmt.Errorf("operand %d is %d", i, a)
		case want.Type == ops.W && int(a) < len(v.g.Nodes) && v.g.Nodes[a].Wide != n.Wide:
			return fmt.Errorf("v%d has another width", a)
		case want.Type == ops.At && n.Extra == 0:
			want.Type = ops.I64
		case want.Type == ops.At:
			want.Type = ops.I32
		}
		if err := v.operand(a, b, v.place[x], want.Type); err != nil {
			return fmt.Errorf("operand %d: %w", i, err)
		}
	}
	if n.Base != 0 {
		if o.Space != ops.SpaceSlot || n.Extra == 0 {
			return fmt.Errorf("a base, v%d", n.Base)
		}
		if err := v.operand(n.Base, b, v.place[x], ops.I32); err != nil {
			return fmt.Errorf("base: %w", err)
		}
	}
	if !o.List && n.List != nil {
		return fmt.Errorf("a list of operands")
	}
	for i, a := range n.List {
		in, place, want := b, v.place[x], ops.W
		if o.Class == ops.ClassCall {
			if p := v.g.CallOf(n).partOf(i); p != PartTexel && p != PartValue {
				want = ops.W32
			}
		}
		if o.Class == ops.ClassPhi {
			in, place, want = v.g.Blocks[b].Preds[i], math.MaxInt32, ops.W32
			if n.Wide {
				want = ops.W64
			}
		}
		if err := v.operand(a, in, place, want); err != nil {
			return fmt.Errorf("operand %d of the list: %w", i, err)
		}
	}
	return nil
}

// names checks what a node names beside operands: memories, arrays, calls.
func (v *validator) names(n *Node, o *ops.Info) error {
	switch {
	case o.Class == ops.ClassPhi && len(n.List) != len(v.g.Blocks[n.Block].Preds):
		return fmt.Errorf("%d operands for %d predecessors", len(n.List), len(v.g.Blocks[n.Block].Preds))
	case o.Class == ops.ClassCall:
		if n.Extra < 0 || int(n.Extra) >= len(v.g.calls) {
			return fmt.Errorf("call %d", n.Extra)
		}
		return v.g.CallOf(n).valid(n)
	case o.Class == ops.ClassResult:
		of := n.Args[0]
		if of <= 0 || int(of) >= len(v.g.Nodes) || ops.Of(v.g.Nodes[of].Op).Class != ops.ClassCall ||
			int(v.g.Nodes[of].Extra) >= len(v.g.calls) || n.Imm >= uint64(v.g.CallOf(&v.g.Nodes[of]).Results) {
			return fmt.Errorf("result %d of v%d", n.Imm, of)
		}
	case o.Space == ops.SpacePrivate:
		if int(n.Extra) >= len(v.g.Privates) || v.g.Privates[n.Extra].Wide != (o.Bytes == 8) {
			return fmt.Errorf("array %d", n.Extra)
		}
	case o.Space == ops.SpaceSlot, o.Class == ops.ClassLength:
		if n.Extra == 0 && o.Class == ops.ClassAtomic {
			return nil // of physical memory
		}
		if n.Extra <= 0 || int(n.Extra) >= len(v.g.Memories) || v.g.Memories[n.Extra].Resource && n.Args[2] == 0 {
			return fmt.Errorf("memory %d", n.Extra)
		}
	}
	return nil
}

// operand checks that value a can be used at a place of block b as a type.
func (v *validator) operand(a Value, b, place int32, t ops.Type) error {
	if a <= 0 || int(a) >= len(v.g.Nodes) {
		return fmt.Errorf("there is no node %d", a)
	}
	n := &v.g.Nodes[a]
	o := ops.Of(n.Op)
	switch {
	case o.Class != ops.ClassCall && o.Result == ops.None, t == ops.Call != (o.Class == ops.ClassCall):
		return fmt.Errorf("v%d, %s, has no such result", a, ops.Name(n.Op))
	case t.Width() != 0 && n.Wide != (t.Width() == 64):
		return fmt.Errorf("v%d has %d bits", a, n.bits())
	case t == ops.Mask && !v.mask(a):
		return fmt.Errorf("v%d, %s, is no mask", a, ops.Name(n.Op))
	case v.g.Floats(a) || !v.reached[b]:
		return nil
	case v.in[a] < 0:
		return fmt.Errorf("v%d is in no block", a)
	case v.in[a] == b && v.place[a] >= place, v.in[a] != b && !v.dominated(v.in[a], b):
		return fmt.Errorf("v%d of b%d is not computed on all ways here", a, v.in[a])
	}
	return nil
}

// mask says whether a value may be a mask. What comes from calls and arrays of registers may be anything. The recursion
// goes through phis, bit operations and selections, each at most once in a validation (largestValidated): what has been
// looked at before is right, or was refused.
func (v *validator) mask(a Value) bool {
	for {
		n := &v.g.Nodes[a]
		if v.asked[a] {
			return true
		}
		v.asked[a] = true
		switch n.Op {
		case ops.Const:
			return n.Imm == 0 || n.Imm == math.MaxUint32
		case ops.Phi:
			return !slices.ContainsFunc(n.List, func(x Value) bool { return !v.mask(x) })
		case kernel.AndI32, kernel.OrI32, kernel.XorI32, kernel.AndNotI32, kernel.Select32:
			if !v.mask(n.Args[0]) {
				return false
			}
			a = n.Args[1]
		case kernel.NotI32, kernel.Move32, ops.Copy:
			a = n.Args[0]
		case ops.Result, kernel.LoadPrivate32:
			return true
		default:
			return ops.Of(n.Op).Result == ops.Mask
		}
	}
}

// effectOrder is what has to stay in order: of each effect and each load the one before it that it depends on. Both
// are nodes.
type effectOrder [][2]Value

// ordered says whether a node stays where it is with regard to others: it has an effect, or sees those of others.
func (v *validator) ordered(n *Node) (effect, seen bool) {
	o := ops.Of(n.Op)
	effect = v.g.effect(n)
	return effect, effect || o.Class == ops.ClassLoad && !v.g.pure(n) || o.Class == ops.ClassCall
}

// effectOrder lists the effects and loads of blocks that are reached, each with the last effect in front of it on all
// ways.
func (v *validator) effectOrder() effectOrder {
	list := effectOrder{}
	ends := make([]Value, len(v.g.Blocks)) // the last effect at the end of a block
	for _, b := range v.g.Order {
		if !v.reached[b] {
			continue
		}
		before := Value(0)
		if d := v.idom[b]; d >= 0 {
			before = ends[d]
		}
		var loads []Value // since then, in this block
		for _, x := range v.g.Blocks[b].Insts {
			effect, seen := v.ordered(&v.g.Nodes[x])
			if !seen {
				continue
			}
			list = append(list, [2]Value{before, x})
			if !effect {
				loads = append(loads, x)
				continue
			}
			for _, l := range loads {
				list = append(list, [2]Value{l, x})
			}
			before, loads = x, loads[:0]
		}
		ends[b] = before
	}
	return list
}

// keptBy says what of an order a pass has not kept. Effects may go only in passes that drop or copy whole blocks, or
// with the arrays that they are on; loads go when nobody needs them.
func (list effectOrder) keptBy(pass string, v *validator) error {
	drops := pass == "unroll" || pass == "decide"
	there := func(x Value) bool { return v.in[x] >= 0 && v.reached[v.in[x]] }
	for _, pair := range list {
		a, b := pair[0], pair[1]
		if !there(b) {
			if n := &v.g.Nodes[b]; !drops && v.g.effect(n) && !ops.IsPrivate(n.Op) {
				return fmt.Errorf("%s has gone", v.g.nodeText(b))
			}
			continue
		}
		if a == 0 || !there(a) {
			continue
		}
		if v.in[a] == v.in[b] && v.place[a] >= v.place[b] || v.in[a] != v.in[b] && !v.dominated(v.in[a], v.in[b]) {
			return fmt.Errorf("%s is not behind %s any more", v.g.nodeText(b), v.g.nodeText(a))
		}
	}
	return nil
}

// uniformity says which operation that is done once for all lanes has an operand that differs between them. It is known
// behind the last pass.
func (v *validator) uniformity() error {
	for _, b := range v.g.Order {
		for _, x := range v.g.Blocks[b].Insts {
			n := &v.g.Nodes[x]
			if n.Varying || !ops.Of(n.Op).Computes {
				continue
			}
			for _, a := range n.Args {
				if a != 0 && v.g.Nodes[a].Varying {
					return fmt.Errorf("%s is done once, but %s differs", v.g.nodeText(x), v.g.nodeText(a))
				}
			}
		}
	}
	return nil
}
