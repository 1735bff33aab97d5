package ir

import (
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// Machine code has few vectors. Where a block adds products to many sums in turns, as a product of matrices does whose
// loop has become copies, each sum is stored and loaded again with each product. orderSums lets some sums have all of
// their products before the others: those stay in vectors, and what is multiplied is loaded more often.

// sumsAtOnce is how many sums have their products at the same time.
const sumsAtOnce = 12

// ManyProducts is how many products a round of a loop, or a block, may add to as many sums that can be in vectors. A
// loop with more is worth more copies, and a block is ordered.
const ManyProducts = 2 * sumsAtOnce

// productsIn is how many products a block adds to something.
func (g *Graph) productsIn(b *Block) (n int) {
	for _, v := range b.Insts {
		if g.AddsProduct(v) {
			n++
		}
	}
	return n
}

// AddsProduct says whether a node is a sum with a product, before fuse has made them one, or behind it.
func (g *Graph) AddsProduct(v Value) bool {
	n := &g.Nodes[v]
	mul := productOf(n.Op)
	return addsProduct(n.Op) || mul != 0 && (g.Nodes[n.Args[0]].Op == mul || g.Nodes[n.Args[1]].Op == mul)
}

// orderSums orders the instructions of blocks.
func (g *Graph) orderSums() {
	o := &sumOrder{g: g}
	for _, b := range g.Order {
		insts := g.Blocks[b].Insts
		for from := 0; from < len(insts); {
			to := from
			for to < len(insts) && !g.staysInOrder(insts[to]) {
				to++
			}
			if to-from > ManyProducts {
				o.order(insts[from:to])
			}
			from = to + 1
		}
	}
}

// staysInOrder says whether nothing moves from one side of a node to the other.
func (g *Graph) staysInOrder(v Value) bool {
	n := &g.Nodes[v]
	return g.effect(n) || ops.Of(n.Op).Class == ops.ClassCall
}

// sumOrder is what orderSums knows of the instructions between two that stay in order.
type sumOrder struct {
	g     *Graph
	insts []Value
	place []int32 // by value, its place in insts plus one
	sum   []int32 // by place, the number of the sum that it adds to plus one
	done  []bool  // by place
	list  []Value // in the new order
	stack []int32
}

// order orders instructions, if they add to many sums, to each more than once.
func (o *sumOrder) order(insts []Value) {
	g := o.g
	g.steps(len(insts))
	if o.place == nil {
		o.place = g.space.ints.Take(len(g.Nodes))
	}
	o.insts, o.sum = insts, g.space.ints.Take(len(insts))
	for i, v := range insts {
		o.place[v] = int32(i) + 1
	}
	defer func() {
		for _, v := range insts {
			o.place[v] = 0
		}
	}()
	sums, products := int32(0), 0
	for i, v := range insts {
		n := &g.Nodes[v]
		if !addsProduct(n.Op) {
			continue
		}
		products++
		if before := o.place[n.Args[2]]; before > 0 && o.sum[before-1] > 0 {
			o.sum[i] = o.sum[before-1]
			continue
		}
		sums++
		o.sum[i] = sums
	}
	if sums <= ManyProducts || products < 2*int(sums) {
		return
	}
	o.done, o.list = g.space.flags.Take(len(insts)), g.space.values.Take(len(insts))[:0]
	for _, i := range o.byParty(sums, products) {
		o.put(i)
	}
	for i := range insts {
		o.put(int32(i))
	}
	copy(insts, o.list)
}

// byParty are the places of the instructions that add to sums: those of the first sums, and so on.
func (o *sumOrder) byParty(sums int32, products int) []int32 {
	space := o.g.space
	ends, list := space.ints.Take(int(sums)/sumsAtOnce+2), space.ints.Take(products)
	for _, s := range o.sum {
		if s > 0 {
			ends[(s-1)/sumsAtOnce+1]++
		}
	}
	for i := range ends[1:] {
		ends[i+1] += ends[i]
	}
	for i, s := range o.sum {
		if s > 0 {
			at := &ends[(s-1)/sumsAtOnce]
			list[*at] = int32(i)
			*at++
		}
	}
	return list
}

// addsProduct says whether an operation adds to its third operand.
func addsProduct(op kernel.Op) bool {
	switch op {
	case kernel.FmaF32, kernel.MulAddF32, kernel.SubMulF32, kernel.FmaF64, kernel.MulAddF64, kernel.SubMulF64:
		return true
	}
	return false
}

// put adds an instruction to the list, behind what it needs.
func (o *sumOrder) put(at int32) {
	o.stack = append(o.stack[:0], at)
	for len(o.stack) > 0 {
		i := o.stack[len(o.stack)-1]
		if o.done[i] || o.needs(i) {
			if o.done[i] {
				o.stack = o.stack[:len(o.stack)-1]
			}
			continue
		}
		o.add(i)
	}
}

// needs puts on the stack what an instruction needs and the list doesn't have. It says whether there is any.
func (o *sumOrder) needs(i int32) bool {
	n, more := &o.g.Nodes[o.insts[i]], false
	need := func(v Value) {
		if p := o.place[v]; p > 0 && !o.done[p-1] {
			o.stack = append(o.stack, p-1)
			more = true
		}
	}
	for _, a := range n.Args {
		need(a)
	}
	need(n.Base)
	for _, a := range n.List {
		need(a)
	}
	return more
}

// add adds an instruction. Behind a load come those of its neighbours that follow it: they become one.
func (o *sumOrder) add(i int32) {
	for {
		n := &o.g.Nodes[o.insts[i]]
		o.done[i] = true
		o.list = append(o.list, o.insts[i])
		if i++; !ops.Loads(n.Op) || int(i) == len(o.insts) || o.done[i] {
			return
		}
		next := &o.g.Nodes[o.insts[i]]
		if next.Op != n.Op || next.Extra != n.Extra || next.Args != n.Args || next.Base != n.Base {
			return
		}
	}
}
