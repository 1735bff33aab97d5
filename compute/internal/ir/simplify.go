package ir

import (
	"encoding/binary"
	"math"
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// Tidy leaves of the graph that lowering has made what is needed.
func (g *Graph) Tidy() {
	g.did("lower")
	g.dropLoops()
	g.mergeBlocks()
	g.did("mergeBlocks")
	g.splitBackEdges()
	g.place()
	g.did("splitBackEdges")
	g.simplify(false)
	g.did("simplify")
	g.dropDead()
	g.did("dropDead")
}

// Optimize brings a graph that is tidy into the shape that emit takes.
func (g *Graph) Optimize(unroll bool) {
	g.findVarying()
	g.did("findVarying")
	changed := g.flatten()
	g.did("flatten")
	g.skipEmpty()
	g.did("skipEmpty")
	g.mergeBlocks()
	g.place()
	g.did("mergeBlocks")
	if unroll && g.unroll() {
		g.did("unroll")
		g.mergeBlocks()
		g.place()
		changed = true
		g.did("mergeBlocks")
	}
	if changed {
		g.findVarying()
	}
	g.simplify(true)
	g.did("simplify")
	for g.promote() { // an index may be an element of an array that has just become values
		g.did("promote")
		g.simplify(false)
		g.did("simplify")
	}
	if g.decide() {
		g.did("decide")
		g.simplify(false)
		g.did("simplify")
	}
	if g.shareElements() {
		g.did("shareElements")
	}
	g.dropDead()
	g.did("dropDead")
	g.hoist()
	g.did("hoist")
	g.findVarying()
	g.shareQuotients()
	g.did("shareQuotients")
	g.fuse()
	g.did("fuse")
	g.orderSums()
	g.did("orderSums")
	g.delayStores()
	g.did("delayStores")
	g.keepAcrossExits()
	g.did(lastPass)
}

// lastPass is the name of the pass behind which the graph is emitted.
const lastPass = "keepAcrossExits"

// dropLoops forgets loops whose branch back is never taken.
func (g *Graph) dropLoops() {
	real := func(l int32) int32 {
		for l >= 0 && g.Loops[l].Last < 0 {
			l = g.Loops[l].Parent
		}
		return l
	}
	for i := range g.Loops {
		g.Loops[i].Parent = real(g.Loops[i].Parent)
		if p := g.Loops[i].Parent; p >= 0 {
			g.Loops[i].Depth = g.Loops[p].Depth + 1
		} else {
			g.Loops[i].Depth = 1
		}
	}
	for _, b := range g.Order {
		g.Blocks[b].Loop = real(g.Blocks[b].Loop)
	}
}

// splitBackEdges gives each loop a last block that does nothing but branch back.
func (g *Graph) splitBackEdges() {
	behind := map[int32][]int32{} // by a loop's last block, its new one
	for i := range g.Loops {
		l := &g.Loops[i]
		if l.Last < 0 || g.Blocks[l.Last].Cond == 0 {
			continue
		}
		b := g.NewBlock()
		last := l.Last
		blk := &g.Blocks[b]
		blk.Loop = int32(i)
		blk.Succs[0] = l.Header
		blk.Preds = g.space.ints.Push(nil, last)
		p := &g.Blocks[last]
		p.Succs[slices.Index(p.Succs[:], l.Header)] = b
		g.replacePred(l.Header, last, b)
		behind[last] = append(behind[last], b)
		l.Last = b
	}
	if len(behind) == 0 {
		return
	}
	order := g.space.ints.Take(len(g.Order) + len(g.Loops))[:0]
	for _, b := range g.Order {
		order = append(order, b)
		for _, other := range slices.Backward(behind[b]) {
			order = append(order, other)
		}
	}
	g.Order = append(g.Order[:0], order...)
}

// place numbers the blocks in order and finds their dominators.
func (g *Graph) place() {
	for i, b := range g.Order {
		g.Blocks[b].At = int32(i)
	}
	for i, b := range g.Order {
		blk := &g.Blocks[b]
		if i == 0 {
			continue
		}
		idom := int32(-1)
		for _, p := range blk.Preds {
			switch {
			case g.Blocks[p].At >= int32(i):
			case idom < 0:
				idom = p
			default:
				idom = g.commonDominator(idom, p)
			}
		}
		if idom < 0 {
			idom = g.Order[0] // the end of a program that never gets there
		}
		g.setDominator(b, idom)
	}
}

// replacements follow values that have become others.
type replacements []Value

// find shortens the ways that it goes.
func (r replacements) find(v Value) Value {
	for r[v] != 0 {
		if next := r[r[v]]; next != 0 {
			r[v] = next
		}
		v = r[v]
	}
	return v
}

// apply has all blocks use what values have become.
func (r replacements) apply(g *Graph) {
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		for _, list := range [][]Value{blk.Phis, blk.Insts} {
			for _, v := range list {
				n := &g.Nodes[v]
				for i, a := range n.Args {
					n.Args[i] = r.find(a)
				}
				n.Base = r.find(n.Base)
				for i, a := range n.List {
					n.List[i] = r.find(a)
				}
			}
		}
		blk.Cond = r.find(blk.Cond)
	}
}

// trivialPhis replaces phis whose operands are all the same, or the phi itself.
func (g *Graph) trivialPhis(r replacements) {
	for changed := true; changed; {
		changed = false
		for _, b := range g.Order {
			blk := &g.Blocks[b]
			kept := blk.Phis[:0]
			for _, v := range blk.Phis {
				same := Value(0)
				g.steps(1 + len(g.Nodes[v].List))
				for _, a := range g.Nodes[v].List {
					a = r.find(a)
					if a == v || a == same {
						continue
					}
					if same != 0 {
						same = -1
						break
					}
					same = a
				}
				if same > 0 {
					r[v] = same
					changed = true
				} else {
					kept = append(kept, v)
				}
			}
			blk.Phis = kept
		}
	}
}

// simplify folds again with what is known of phis now, and finds what is computed twice. With addresses it parts the
// offsets of accesses into those that all lanes have in common and those of each lane.
func (g *Graph) simplify(addresses bool) {
	r := replacements(g.space.values.Take(2 * len(g.Nodes))[:len(g.Nodes)])
	g.trivialPhis(r)
	g.forget()
	for _, b := range g.Order {
		g.Current = b
		insts := g.Blocks[b].Insts
		g.Blocks[b].Insts = g.space.values.Take(len(insts) + 4)[:0]
		for _, v := range insts {
			n := g.Nodes[v]
			for i, a := range n.Args {
				n.Args[i] = r.find(a)
			}
			n.Base = r.find(n.Base)
			for i, a := range n.List {
				n.List[i] = r.find(a)
			}
			g.Offset = n.Offset
			if ops.Of(n.Op).Computes {
				if x := g.fold(&n); x != 0 {
					r[v] = x
					r = g.grow(r)
					continue
				}
			} else if ops.IsMemory(n.Op) {
				if addresses {
					g.splitAddress(&n)
				}
				if x := g.fromTable(&n); x != 0 {
					r[v] = x
					r = g.grow(r)
					continue
				}
			} else if ops.IsPrivate(n.Op) && n.Args[0] != 0 {
				if k, ok := g.Known(n.Args[0]); ok && n.Imm+k < uint64(g.Privates[n.Extra].Count) {
					n.Imm, n.Args[0] = n.Imm+k, 0
				}
			}
			r = g.grow(r)
			if g.pure(&n) || n.Version != 0 {
				x, place := g.lookup(&n, b)
				if x != 0 {
					r[v] = x
					continue
				}
				n.Block = b
				g.Nodes[v] = n
				g.insert(v, place)
			}
			n.Block = b
			g.Nodes[v] = n
			g.Blocks[b].Insts = g.space.values.Push(g.Blocks[b].Insts, v)
		}
		g.Blocks[b].Cond = r.find(g.Blocks[b].Cond)
	}
	for _, b := range g.Order {
		for _, v := range g.Blocks[b].Phis {
			for i, a := range g.Nodes[v].List {
				g.Nodes[v].List[i] = r.find(a)
			}
		}
	}
}

// forget empties the table of nodes but for those that are nowhere: others may have been removed.
func (g *Graph) forget() {
	clear(g.table)
	g.filled = 0
	for v := range g.Nodes {
		if n := &g.Nodes[v]; v > 0 && g.Floats(Value(v)) {
			if found, place := g.lookup(n, 0); found == 0 {
				g.insert(Value(v), place)
			}
		}
	}
}

// grow makes room for nodes that folding has added.
func (g *Graph) grow(r replacements) replacements {
	for len(r) < len(g.Nodes) {
		r = append(r, 0)
	}
	return r
}

// term is a part of an offset: v*k.
type term struct {
	v     Value
	k     uint32
	depth int32
}

// offset is the parts of an access's offset.
type offset struct {
	each, same []term // of each lane, and of all
	immediate  uint64
}

// BoundDepth is how far bounds of values are followed.
const BoundDepth = 6

// deepestSum is how many operations of an offset are within each other that are taken apart.
const deepestSum = 64

// part adds v*k to an offset, by parts as far as no sum can wrap. depth bounds the recursion: it begins at deepestSum.
func (g *Graph) part(o *offset, v Value, k uint32, depth int) {
	n := &g.Nodes[v]
	depth--
	b, known := g.Known(n.Args[1])
	switch {
	case n.Op == ops.Const:
		o.immediate += n.Imm * uint64(k)
		return
	case depth == 0:
	case n.Op == kernel.AddI32 && g.most(n.Args[0], BoundDepth)+g.most(n.Args[1], BoundDepth) <= math.MaxUint32,
		g.addsBits(n):
		x, y := n.Args[0], n.Args[1]
		g.part(o, x, k, depth)
		g.part(o, y, k, depth)
		return
	case n.Op == kernel.MulI32 && known && b*uint64(k) <= math.MaxUint32 &&
		g.most(n.Args[0], BoundDepth)*b <= math.MaxUint32:
		g.part(o, n.Args[0], k*uint32(b), depth)
		return
	case n.Op == kernel.ShlI32 && known && b < 32 && uint64(k)<<b <= math.MaxUint32 &&
		g.most(n.Args[0], BoundDepth)<<b <= math.MaxUint32:
		g.part(o, n.Args[0], k<<b, depth)
		return
	}
	t := term{v: v, k: k}
	if g.seenVarying(g.Current, v) {
		t.depth = g.depthOf(v)
		o.each = append(o.each, t)
	} else {
		o.same = append(o.same, t)
	}
}

// splitAddress gives an access whose offset is a sum the uniform terms as base, and the constants as immediate.
func (g *Graph) splitAddress(n *Node) {
	if n.Args[0] == 0 || g.MemoryOfAddress(n) {
		return
	}
	o := offset{immediate: n.Imm, each: g.space.terms[0][:0], same: g.space.terms[1][:0]}
	rest := n.Args[0]
	for x := &g.Nodes[rest]; x.Op == kernel.MulAddSat; x = &g.Nodes[rest] {
		g.part(&o, x.Args[0], uint32(x.Imm), deepestSum)
		rest = x.Args[1]
	}
	g.part(&o, rest, 1, deepestSum)
	g.space.terms = [2][]term{o.each, o.same}
	if o.immediate >= 1<<40 {
		return
	}
	sum := func(list []term) Value {
		total := Value(0)
		for _, t := range list {
			if total == 0 && t.k == 1 {
				total = t.v
				continue
			}
			total = g.MulAdd(t.v, t.k, total)
		}
		return total
	}
	// What changes in outer loops only comes first, so that it can be computed there.
	slices.SortStableFunc(o.each, func(a, b term) int { return int(a.depth - b.depth) })
	slices.Reverse(o.same)
	n.Imm = o.immediate
	switch {
	case len(o.each) > 0:
		v, w := sum(o.each), sum(o.same)
		g.Nodes[v].Varying = true
		n.Args[0], n.Base = v, w
	case len(o.same) > 0:
		n.Args[0] = sum(o.same)
	default:
		n.Args[0] = g.Zero
	}
}

// ofTable says whether a node loads from the constants of the shader, from an offset that is one value.
func (g *Graph) ofTable(n *Node) bool {
	return ops.Loads(n.Op) && ops.IsMemory(n.Op) && n.Base == 0 && g.Memories[n.Extra].Kind == MemoryData
}

// fromTable gives what is loaded from the constants of the shader, if it is known from where. Loops that have become
// copies know that.
func (g *Graph) fromTable(n *Node) Value {
	from, known := g.Known(n.Args[0])
	if !known || !g.ofTable(n) {
		return 0
	}
	var bits [8]byte
	size, data := uint64(ops.Of(n.Op).Bytes), g.Memories[n.Extra].Data
	if from += n.Imm; from+size > uint64(len(data)) {
		return 0
	}
	copy(bits[:], data[from:][:size])
	return g.Constant(binary.LittleEndian.Uint64(bits[:]), n.Wide)
}

// MemoryOfAddress says whether an atomic is one on physical memory, of which the offset is an address.
func (g *Graph) MemoryOfAddress(n *Node) bool { return ops.Updates(n.Op) && n.Extra == 0 }

func (g *Graph) depthOf(v Value) int32 {
	if l := g.Blocks[g.Nodes[v].Block].Loop; l >= 0 {
		return g.Loops[l].Depth
	}
	return 0
}

// effect says whether a node does more than to give a value.
func (g *Graph) effect(n *Node) bool {
	switch o := ops.Of(n.Op); o.Class {
	case ops.ClassStore:
		return o.Space != ops.SpacePrivate || g.Privates[n.Extra].Read
	case ops.ClassAtomic, ops.ClassBarrier:
		return true
	case ops.ClassCall:
		return !g.calls[n.Extra].Pure
	}
	return false
}

// dropDead removes what has no effect and is not used.
func (g *Graph) dropDead() {
	work := g.space.values.Take(len(g.Nodes))[:0]
	use := func(v Value) {
		if v != 0 && !g.Nodes[v].Used {
			g.Nodes[v].Used = true
			work = append(work, v)
		}
	}
	for i := range g.Nodes {
		g.Nodes[i].Used = false
	}
	// A store to an array of registers has an effect if there is a load, too.
	for i := range g.Privates {
		g.Privates[i].Read = false
	}
	for _, b := range g.Order {
		for _, v := range g.Blocks[b].Insts {
			if n := &g.Nodes[v]; ops.Loads(n.Op) && ops.IsPrivate(n.Op) {
				g.Privates[n.Extra].Read = true
			}
		}
	}
	for _, b := range g.Order {
		for _, v := range g.Blocks[b].Insts {
			if g.effect(&g.Nodes[v]) {
				use(v)
			}
		}
		use(g.Blocks[b].Cond)
	}
	for len(work) > 0 {
		n := &g.Nodes[work[len(work)-1]]
		work = work[:len(work)-1]
		for _, a := range n.Args {
			use(a)
		}
		use(n.Base)
		for _, a := range n.List {
			use(a)
		}
	}
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		unused := func(v Value) bool {
			n := &g.Nodes[v]
			if call := &g.Nodes[n.Args[0]]; n.Op == ops.Result && call.Op != ops.Image && call.Used {
				n.Used = true // these calls write all of their results
			}
			return !n.Used
		}
		blk.Insts = slices.DeleteFunc(blk.Insts, unused)
		blk.Phis = slices.DeleteFunc(blk.Phis, unused)
	}
}

// InLoop says whether block b is between the header and the last block of loop l.
func (g *Graph) InLoop(b, l int32) bool {
	at := g.Blocks[b].At
	return at >= g.Blocks[g.Loops[l].Header].At && at <= g.Blocks[g.Loops[l].Last].At
}

// hoist moves pure operations in front of the loops that do not change their operands.
func (g *Graph) hoist() {
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		if blk.Loop < 0 {
			continue
		}
		kept := blk.Insts[:0]
		for _, v := range blk.Insts {
			n := &g.Nodes[v]
			to := b
			if g.pure(n) {
				for l := blk.Loop; l >= 0 && g.invariant(n, l); l = g.Loops[l].Parent {
					g.steps(1)
					before := g.Blocks[g.Loops[l].Header].idom
					if g.Blocks[before].Loop != g.Loops[l].Parent {
						break // there is no place between two loops
					}
					to = before
				}
			}
			if to == b {
				kept = append(kept, v)
				continue
			}
			n.Block = to
			t := &g.Blocks[to]
			t.Insts = g.space.values.Push(t.Insts, v)
		}
		blk.Insts = kept
	}
}

func (g *Graph) invariant(n *Node, l int32) bool {
	for _, a := range n.Args {
		if a != 0 && !g.Floats(a) && g.InLoop(g.Nodes[a].Block, l) {
			return false
		}
	}
	return n.Base == 0 || g.Floats(n.Base) || !g.InLoop(g.Nodes[n.Base].Block, l)
}

// Floats says whether a value needs no place: it is there from the start.
func (g *Graph) Floats(v Value) bool {
	return g.Nodes[v].Op == ops.Const || g.Nodes[v].Op == ops.Builtin
}
