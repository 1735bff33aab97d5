package compute

import (
	"math"
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// tidy leaves of the graph that lowering has made what is needed.
func (g *graph) tidy() {
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

// optimize brings a graph that is tidy into the shape that emit takes.
func (g *graph) optimize(unroll bool) {
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
	if g.promote() {
		g.did("promote")
		g.simplify(false)
		g.did("simplify")
	}
	if g.decide() {
		g.did("decide")
		g.simplify(false)
		g.did("simplify")
	}
	g.dropDead()
	g.did("dropDead")
	g.hoist()
	g.did("hoist")
	g.findVarying()
	g.fuse()
	g.did("fuse")
	g.keepAcrossExits()
	g.did(lastPass)
}

// lastPass is the name of the pass behind which the graph is emitted.
const lastPass = "keepAcrossExits"

// dropLoops forgets loops whose branch back is never taken.
func (g *graph) dropLoops() {
	real := func(l int32) int32 {
		for l >= 0 && g.loops[l].last < 0 {
			l = g.loops[l].parent
		}
		return l
	}
	for i := range g.loops {
		g.loops[i].parent = real(g.loops[i].parent)
		if p := g.loops[i].parent; p >= 0 {
			g.loops[i].depth = g.loops[p].depth + 1
		} else {
			g.loops[i].depth = 1
		}
	}
	for _, b := range g.order {
		g.blocks[b].loop = real(g.blocks[b].loop)
	}
}

// splitBackEdges gives each loop a last block that does nothing but branch back.
func (g *graph) splitBackEdges() {
	behind := map[int32][]int32{} // by a loop's last block, its new one
	for i := range g.loops {
		l := &g.loops[i]
		if l.last < 0 || g.blocks[l.last].cond == 0 {
			continue
		}
		b := g.newBlock()
		last := l.last
		blk := &g.blocks[b]
		blk.loop = int32(i)
		blk.succs[0] = l.header
		blk.preds = g.space.ints.Push(nil, last)
		p := &g.blocks[last]
		p.succs[slices.Index(p.succs[:], l.header)] = b
		g.replacePred(l.header, last, b)
		behind[last] = append(behind[last], b)
		l.last = b
	}
	if len(behind) == 0 {
		return
	}
	order := g.space.ints.Take(len(g.order) + len(g.loops))[:0]
	for _, b := range g.order {
		order = append(order, b)
		for _, other := range slices.Backward(behind[b]) {
			order = append(order, other)
		}
	}
	g.order = append(g.order[:0], order...)
}

// place numbers the blocks in order and finds their dominators.
func (g *graph) place() {
	for i, b := range g.order {
		g.blocks[b].at = int32(i)
	}
	for i, b := range g.order {
		blk := &g.blocks[b]
		if i == 0 {
			continue
		}
		idom := int32(-1)
		for _, p := range blk.preds {
			switch {
			case g.blocks[p].at >= int32(i):
			case idom < 0:
				idom = p
			default:
				idom = g.commonDominator(idom, p)
			}
		}
		if idom < 0 {
			idom = g.order[0] // the end of a program that never gets there
		}
		g.setDominator(b, idom)
	}
}

// replacements follow values that have become others.
type replacements []value

// find shortens the ways that it goes.
func (r replacements) find(v value) value {
	for r[v] != 0 {
		if next := r[r[v]]; next != 0 {
			r[v] = next
		}
		v = r[v]
	}
	return v
}

// trivialPhis replaces phis whose operands are all the same, or the phi itself.
func (g *graph) trivialPhis(r replacements) {
	for changed := true; changed; {
		changed = false
		for _, b := range g.order {
			blk := &g.blocks[b]
			kept := blk.phis[:0]
			for _, v := range blk.phis {
				same := value(0)
				g.steps(1 + len(g.nodes[v].list))
				for _, a := range g.nodes[v].list {
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
			blk.phis = kept
		}
	}
}

// simplify folds again with what is known of phis now, and finds what is computed twice. With addresses it parts the
// offsets of accesses into those that all lanes have in common and those of each lane.
func (g *graph) simplify(addresses bool) {
	r := replacements(g.space.values.Take(2 * len(g.nodes))[:len(g.nodes)])
	g.trivialPhis(r)
	g.forget()
	for _, b := range g.order {
		g.current = b
		insts := g.blocks[b].insts
		g.blocks[b].insts = g.space.values.Take(len(insts) + 4)[:0]
		for _, v := range insts {
			n := g.nodes[v]
			for i, a := range n.args {
				n.args[i] = r.find(a)
			}
			n.base = r.find(n.base)
			for i, a := range n.list {
				n.list[i] = r.find(a)
			}
			g.offset = n.offset
			if ops.Of(n.op).Computes {
				if x := g.fold(&n); x != 0 {
					r[v] = x
					r = g.grow(r)
					continue
				}
			} else if addresses && ops.IsMemory(n.op) {
				g.splitAddress(&n)
			} else if ops.IsPrivate(n.op) && n.args[0] != 0 {
				if k, ok := g.known(n.args[0]); ok && n.imm+k < uint64(g.privates[n.extra].count) {
					n.imm, n.args[0] = n.imm+k, 0
				}
			}
			r = g.grow(r)
			if g.pure(&n) || n.version != 0 {
				x, place := g.lookup(&n, b)
				if x != 0 {
					r[v] = x
					continue
				}
				n.block = b
				g.nodes[v] = n
				g.insert(v, place)
			}
			n.block = b
			g.nodes[v] = n
			g.blocks[b].insts = g.space.values.Push(g.blocks[b].insts, v)
		}
		g.blocks[b].cond = r.find(g.blocks[b].cond)
	}
	for _, b := range g.order {
		for _, v := range g.blocks[b].phis {
			for i, a := range g.nodes[v].list {
				g.nodes[v].list[i] = r.find(a)
			}
		}
	}
}

// forget empties the table of nodes but for those that are nowhere: others may have been removed.
func (g *graph) forget() {
	clear(g.table)
	g.filled = 0
	for v := range g.nodes {
		if n := &g.nodes[v]; v > 0 && g.floats(value(v)) {
			if found, place := g.lookup(n, 0); found == 0 {
				g.insert(value(v), place)
			}
		}
	}
}

// grow makes room for nodes that folding has added.
func (g *graph) grow(r replacements) replacements {
	for len(r) < len(g.nodes) {
		r = append(r, 0)
	}
	return r
}

// term is a part of an offset: v*k.
type term struct {
	v     value
	k     uint32
	depth int32
}

// offset is the parts of an access's offset.
type offset struct {
	each, same []term // of each lane, and of all
	immediate  uint64
}

// boundDepth is how far bounds of values are followed.
const boundDepth = 6

// deepestSum is how many operations of an offset are within each other that are taken apart.
const deepestSum = 64

// part adds v*k to an offset, by parts as far as no sum can wrap. depth bounds the recursion: it begins at deepestSum.
func (g *graph) part(o *offset, v value, k uint32, depth int) {
	n := &g.nodes[v]
	depth--
	b, known := g.known(n.args[1])
	switch {
	case n.op == ops.Const:
		o.immediate += n.imm * uint64(k)
		return
	case depth == 0:
	case n.op == kernel.AddI32 && g.most(n.args[0], boundDepth)+g.most(n.args[1], boundDepth) <= math.MaxUint32:
		x, y := n.args[0], n.args[1]
		g.part(o, x, k, depth)
		g.part(o, y, k, depth)
		return
	case n.op == kernel.MulI32 && known && b*uint64(k) <= math.MaxUint32 &&
		g.most(n.args[0], boundDepth)*b <= math.MaxUint32:
		g.part(o, n.args[0], k*uint32(b), depth)
		return
	case n.op == kernel.ShlI32 && known && b < 32 && uint64(k)<<b <= math.MaxUint32 &&
		g.most(n.args[0], boundDepth)<<b <= math.MaxUint32:
		g.part(o, n.args[0], k<<b, depth)
		return
	}
	t := term{v: v, k: k}
	if g.seenVarying(g.current, v) {
		t.depth = g.depthOf(v)
		o.each = append(o.each, t)
	} else {
		o.same = append(o.same, t)
	}
}

// splitAddress gives an access whose offset is a sum the uniform terms as base, and the constants as immediate.
func (g *graph) splitAddress(n *node) {
	if n.args[0] == 0 || g.memoryOfAddress(n) {
		return
	}
	o := offset{immediate: n.imm, each: g.space.terms[0][:0], same: g.space.terms[1][:0]}
	rest := n.args[0]
	for x := &g.nodes[rest]; x.op == kernel.MulAddSat; x = &g.nodes[rest] {
		g.part(&o, x.args[0], uint32(x.imm), deepestSum)
		rest = x.args[1]
	}
	g.part(&o, rest, 1, deepestSum)
	g.space.terms = [2][]term{o.each, o.same}
	if o.immediate >= 1<<40 {
		return
	}
	sum := func(list []term) value {
		total := value(0)
		for _, t := range list {
			if total == 0 && t.k == 1 {
				total = t.v
				continue
			}
			total = g.mulAdd(t.v, t.k, total)
		}
		return total
	}
	// What changes in outer loops only comes first, so that it can be computed there.
	slices.SortStableFunc(o.each, func(a, b term) int { return int(a.depth - b.depth) })
	slices.Reverse(o.same)
	n.imm = o.immediate
	switch {
	case len(o.each) > 0:
		v, w := sum(o.each), sum(o.same)
		g.nodes[v].varying = true
		n.args[0], n.base = v, w
	case len(o.same) > 0:
		n.args[0] = sum(o.same)
	default:
		n.args[0] = g.zero
	}
}

// memoryOfAddress says whether an atomic is one on physical memory, of which the offset is an address.
func (g *graph) memoryOfAddress(n *node) bool { return ops.Updates(n.op) && n.extra == 0 }

func (g *graph) depthOf(v value) int32 {
	if l := g.blocks[g.nodes[v].block].loop; l >= 0 {
		return g.loops[l].depth
	}
	return 0
}

// effect says whether a node does more than to give a value.
func (g *graph) effect(n *node) bool {
	switch o := ops.Of(n.op); o.Class {
	case ops.ClassStore:
		return o.Space != ops.SpacePrivate || g.privates[n.extra].read
	case ops.ClassAtomic, ops.ClassBarrier:
		return true
	case ops.ClassCall:
		return !g.calls[n.extra].pure
	}
	return false
}

// dropDead removes what has no effect and is not used.
func (g *graph) dropDead() {
	work := g.space.values.Take(len(g.nodes))[:0]
	use := func(v value) {
		if v != 0 && !g.nodes[v].used {
			g.nodes[v].used = true
			work = append(work, v)
		}
	}
	for i := range g.nodes {
		g.nodes[i].used = false
	}
	// A store to an array of registers has an effect if there is a load, too.
	for i := range g.privates {
		g.privates[i].read = false
	}
	for _, b := range g.order {
		for _, v := range g.blocks[b].insts {
			if n := &g.nodes[v]; ops.Loads(n.op) && ops.IsPrivate(n.op) {
				g.privates[n.extra].read = true
			}
		}
	}
	for _, b := range g.order {
		for _, v := range g.blocks[b].insts {
			if g.effect(&g.nodes[v]) {
				use(v)
			}
		}
		use(g.blocks[b].cond)
	}
	for len(work) > 0 {
		n := &g.nodes[work[len(work)-1]]
		work = work[:len(work)-1]
		for _, a := range n.args {
			use(a)
		}
		use(n.base)
		for _, a := range n.list {
			use(a)
		}
	}
	for _, b := range g.order {
		blk := &g.blocks[b]
		unused := func(v value) bool {
			n := &g.nodes[v]
			if n.op == ops.Result && g.nodes[n.args[0]].used {
				n.used = true // a call writes all of its results
			}
			return !n.used
		}
		blk.insts = slices.DeleteFunc(blk.insts, unused)
		blk.phis = slices.DeleteFunc(blk.phis, unused)
	}
}

// inLoop says whether block b is between the header and the last block of loop l.
func (g *graph) inLoop(b, l int32) bool {
	at := g.blocks[b].at
	return at >= g.blocks[g.loops[l].header].at && at <= g.blocks[g.loops[l].last].at
}

// hoist moves pure operations in front of the loops that do not change their operands.
func (g *graph) hoist() {
	for _, b := range g.order {
		blk := &g.blocks[b]
		if blk.loop < 0 {
			continue
		}
		kept := blk.insts[:0]
		for _, v := range blk.insts {
			n := &g.nodes[v]
			to := b
			if g.pure(n) {
				for l := blk.loop; l >= 0 && g.invariant(n, l); l = g.loops[l].parent {
					g.steps(1)
					before := g.blocks[g.loops[l].header].idom
					if g.blocks[before].loop != g.loops[l].parent {
						break // there is no place between two loops
					}
					to = before
				}
			}
			if to == b {
				kept = append(kept, v)
				continue
			}
			n.block = to
			t := &g.blocks[to]
			t.insts = g.space.values.Push(t.insts, v)
		}
		blk.insts = kept
	}
}

func (g *graph) invariant(n *node, l int32) bool {
	for _, a := range n.args {
		if a != 0 && !g.floats(a) && g.inLoop(g.nodes[a].block, l) {
			return false
		}
	}
	return n.base == 0 || g.floats(n.base) || !g.inLoop(g.nodes[n.base].block, l)
}

// floats says whether a value needs no place: it is there from the start.
func (g *graph) floats(v value) bool {
	return g.nodes[v].op == ops.Const || g.nodes[v].op == ops.Builtin
}
