package compute

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
	*graph
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
func (g *graph) validate() (*validator, error) {
	v := &validator{graph: g, at: filled(len(g.blocks)), in: filled(len(g.nodes)), place: filled(len(g.nodes)),
		idom: filled(len(g.blocks)), reached: make([]bool, len(g.blocks)), first: make([]int32, len(g.blocks)),
		last: make([]int32, len(g.blocks)), asked: make([]bool, len(g.nodes))}
	if err := v.branches(); err != nil {
		return v, err
	}
	v.dominators()
	for _, b := range g.order {
		if err := v.lists(b); err != nil {
			return v, fmt.Errorf("b%d: %w", b, err)
		}
	}
	for _, b := range g.order {
		blk := &g.blocks[b]
		for _, list := range [][]value{blk.phis, blk.insts} {
			for _, x := range list {
				if err := v.node(b, x); err != nil {
					return v, fmt.Errorf("b%d: %s: %w", b, g.nodeText(x), err)
				}
			}
		}
		if blk.cond != 0 {
			if err := v.operand(blk.cond, b, math.MaxInt32, ops.Mask); err != nil {
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
	for i, b := range v.order {
		if b < 0 || int(b) >= len(v.blocks) || v.at[b] >= 0 {
			return fmt.Errorf("block %d at %d: there is none, or it is there twice", b, i)
		}
		v.at[b] = int32(i)
	}
	from := make([][]int32, len(v.blocks))
	for _, b := range v.order {
		s := v.blocks[b].succs
		if s[0] < 0 && s[1] >= 0 || (s[1] >= 0) != (v.blocks[b].cond != 0) || s[0] == s[1] && s[0] >= 0 {
			return fmt.Errorf("b%d: condition v%d, successors %d", b, v.blocks[b].cond, s)
		}
		for _, t := range s {
			if t < 0 {
				continue
			}
			if int(t) >= len(v.blocks) || v.at[t] < 0 {
				return fmt.Errorf("b%d: there is no successor %d", b, t)
			}
			from[t] = append(from[t], b)
			if l := v.blocks[t].loop; v.at[t] <= v.at[b] && (l < 0 || v.loops[l].header != t || v.loops[l].last != b) {
				return fmt.Errorf("b%d branches back to b%d", b, t)
			}
		}
	}
	for i, b := range v.order {
		preds := slices.Sorted(slices.Values(v.blocks[b].preds))
		slices.Sort(from[b])
		if !slices.Equal(preds, from[b]) || i == 0 && len(preds) > 0 {
			return fmt.Errorf("b%d: predecessors %d, but the branches of %d go there", b, preds, from[b])
		}
	}
	for i := range v.loops {
		if l := &v.loops[i]; l.last >= 0 && (v.at[l.header] < 0 || v.at[l.last] < v.at[l.header]) {
			return fmt.Errorf("loop %d from b%d to b%d", i, l.header, l.last)
		}
	}
	return nil
}

// dominators finds them in one pass: branches back lead to blocks that dominate them.
func (v *validator) dominators() {
	children := make([][]int32, len(v.blocks))
	for i, b := range v.order {
		v.reached[b] = i == 0
		for _, p := range v.blocks[b].preds {
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
	way := []visit{{v.order[0], 0}}
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
	blk := &v.blocks[b]
	for k, list := range [][]value{blk.phis, blk.insts} {
		for i, x := range list {
			if x <= 0 || int(x) >= len(v.nodes) {
				return fmt.Errorf("there is no node %d", x)
			}
			n := &v.nodes[x]
			if n.op == 0 || n.op >= ops.NumOps {
				return fmt.Errorf("v%d: there is no operation %d", x, n.op)
			}
			switch c := ops.Of(n.op).Class; {
			case v.in[x] >= 0:
				return fmt.Errorf("v%d is in b%d, too", x, v.in[x])
			case n.block != b:
				return fmt.Errorf("v%d belongs to b%d", x, n.block)
			case (c == ops.ClassPhi) != (k == 0), c == ops.ClassValue, c == ops.ClassMasked:
				return fmt.Errorf("v%d, %s, is in list %d", x, ops.Name(n.op), k)
			}
			v.in[x], v.place[x] = b, int32(k*(i+1))
		}
	}
	return nil
}

// node checks rules 3 to 5 for a node.
func (v *validator) node(b int32, x value) error {
	n := &v.nodes[x]
	o := ops.Of(n.op)
	if w := o.Result.Width(); w != 0 && n.wide != (w == 64) || o.Result == ops.None && n.wide {
		return fmt.Errorf("a result of %d bits", n.bits())
	}
	if err := v.names(n, o); err != nil {
		return err
	}
	for i, a := range n.args {
		want := o.Args[i]
		switch {
		case a == 0 && (want.Type == ops.None || want.Optional):
			continue
		case a == 0 || want.Type == ops.None:
			return fmt.Errorf("operand %d is %d", i, a)
		case want.Type == ops.W && int(a) < len(v.nodes) && v.nodes[a].wide != n.wide:
			return fmt.Errorf("v%d has another width", a)
		case want.Type == ops.At && n.extra == 0:
			want.Type = ops.I64
		case want.Type == ops.At:
			want.Type = ops.I32
		}
		if err := v.operand(a, b, v.place[x], want.Type); err != nil {
			return fmt.Errorf("operand %d: %w", i, err)
		}
	}
	if n.base != 0 {
		if o.Space != ops.SpaceSlot || n.extra == 0 {
			return fmt.Errorf("a base, v%d", n.base)
		}
		if err := v.operand(n.base, b, v.place[x], ops.I32); err != nil {
			return fmt.Errorf("base: %w", err)
		}
	}
	if !o.List && n.list != nil {
		return fmt.Errorf("a list of operands")
	}
	for i, a := range n.list {
		in, place, want := b, v.place[x], ops.W
		if o.Class == ops.ClassCall {
			if p := v.callOf(n).partOf(i); p != partTexel && p != partValue {
				want = ops.W32
			}
		}
		if o.Class == ops.ClassPhi {
			in, place, want = v.blocks[b].preds[i], math.MaxInt32, ops.W32
			if n.wide {
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
func (v *validator) names(n *node, o *ops.Info) error {
	switch {
	case o.Class == ops.ClassPhi && len(n.list) != len(v.blocks[n.block].preds):
		return fmt.Errorf("%d operands for %d predecessors", len(n.list), len(v.blocks[n.block].preds))
	case o.Class == ops.ClassCall:
		if n.extra < 0 || int(n.extra) >= len(v.calls) {
			return fmt.Errorf("call %d", n.extra)
		}
		return v.callOf(n).valid(n)
	case o.Class == ops.ClassResult:
		of := n.args[0]
		if of <= 0 || int(of) >= len(v.nodes) || ops.Of(v.nodes[of].op).Class != ops.ClassCall ||
			int(v.nodes[of].extra) >= len(v.calls) || n.imm >= uint64(v.callOf(&v.nodes[of]).results) {
			return fmt.Errorf("result %d of v%d", n.imm, of)
		}
	case o.Space == ops.SpacePrivate:
		if int(n.extra) >= len(v.privates) || v.privates[n.extra].wide != (o.Bytes == 8) {
			return fmt.Errorf("array %d", n.extra)
		}
	case o.Space == ops.SpaceSlot, o.Class == ops.ClassLength:
		if n.extra == 0 && o.Class == ops.ClassAtomic {
			return nil // of physical memory
		}
		if n.extra <= 0 || int(n.extra) >= len(v.memories) || v.memories[n.extra].resource && n.args[2] == 0 {
			return fmt.Errorf("memory %d", n.extra)
		}
	}
	return nil
}

// operand checks that value a can be used at a place of block b as a type.
func (v *validator) operand(a value, b, place int32, t ops.Type) error {
	if a <= 0 || int(a) >= len(v.nodes) {
		return fmt.Errorf("there is no node %d", a)
	}
	n := &v.nodes[a]
	o := ops.Of(n.op)
	switch {
	case o.Class != ops.ClassCall && o.Result == ops.None, t == ops.Call != (o.Class == ops.ClassCall):
		return fmt.Errorf("v%d, %s, has no such result", a, ops.Name(n.op))
	case t.Width() != 0 && n.wide != (t.Width() == 64):
		return fmt.Errorf("v%d has %d bits", a, n.bits())
	case t == ops.Mask && !v.mask(a):
		return fmt.Errorf("v%d, %s, is no mask", a, ops.Name(n.op))
	case v.floats(a) || !v.reached[b]:
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
func (v *validator) mask(a value) bool {
	for {
		n := &v.nodes[a]
		if v.asked[a] {
			return true
		}
		v.asked[a] = true
		switch n.op {
		case ops.Const:
			return n.imm == 0 || n.imm == math.MaxUint32
		case ops.Phi:
			return !slices.ContainsFunc(n.list, func(x value) bool { return !v.mask(x) })
		case kernel.AndI32, kernel.OrI32, kernel.XorI32, kernel.AndNotI32, kernel.Select32:
			if !v.mask(n.args[0]) {
				return false
			}
			a = n.args[1]
		case kernel.NotI32, kernel.Move32, ops.Copy:
			a = n.args[0]
		case ops.Result, kernel.LoadPrivate32:
			return true
		default:
			return ops.Of(n.op).Result == ops.Mask
		}
	}
}

// effectOrder is what has to stay in order: of each effect and each load the one before it that it depends on. Both
// are nodes.
type effectOrder [][2]value

// ordered says whether a node stays where it is with regard to others: it has an effect, or sees those of others.
func (v *validator) ordered(n *node) (effect, seen bool) {
	o := ops.Of(n.op)
	effect = v.effect(n)
	return effect, effect || o.Class == ops.ClassLoad && !v.pure(n) || o.Class == ops.ClassCall
}

// effectOrder lists the effects and loads of blocks that are reached, each with the last effect in front of it on all
// ways.
func (v *validator) effectOrder() effectOrder {
	list := effectOrder{}
	ends := make([]value, len(v.blocks)) // the last effect at the end of a block
	for _, b := range v.order {
		if !v.reached[b] {
			continue
		}
		before := value(0)
		if d := v.idom[b]; d >= 0 {
			before = ends[d]
		}
		var loads []value // since then, in this block
		for _, x := range v.blocks[b].insts {
			effect, seen := v.ordered(&v.nodes[x])
			if !seen {
				continue
			}
			list = append(list, [2]value{before, x})
			if !effect {
				loads = append(loads, x)
				continue
			}
			for _, l := range loads {
				list = append(list, [2]value{l, x})
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
	there := func(x value) bool { return v.in[x] >= 0 && v.reached[v.in[x]] }
	for _, pair := range list {
		a, b := pair[0], pair[1]
		if !there(b) {
			if n := &v.nodes[b]; !drops && v.effect(n) && !ops.IsPrivate(n.op) {
				return fmt.Errorf("%s has gone", v.nodeText(b))
			}
			continue
		}
		if a == 0 || !there(a) {
			continue
		}
		if v.in[a] == v.in[b] && v.place[a] >= v.place[b] || v.in[a] != v.in[b] && !v.dominated(v.in[a], v.in[b]) {
			return fmt.Errorf("%s is not behind %s any more", v.nodeText(b), v.nodeText(a))
		}
	}
	return nil
}

// uniformity says which operation that is done once for all lanes has an operand that differs between them. It is known
// behind the last pass.
func (v *validator) uniformity() error {
	for _, b := range v.order {
		for _, x := range v.blocks[b].insts {
			n := &v.nodes[x]
			if n.varying || !ops.Of(n.op).Computes {
				continue
			}
			for _, a := range n.args {
				if a != 0 && v.nodes[a].varying {
					return fmt.Errorf("%s is done once, but %s differs", v.nodeText(x), v.nodeText(a))
				}
			}
		}
	}
	return nil
}
