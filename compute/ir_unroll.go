package compute

import (
	"slices"

	"farside/compute/internal/ops"
	"farside/spirv"
)

// What a loop may become when it is unrolled.
const (
	unrollRounds     = 32
	unrollOperations = 320
	unrollAsked      = 4 // times as much where the shader asks for it
	unrollDepth      = 8 // operations between a counter and what is decided with it
	// All copies together, in operations and blocks. Some ways to foresee a counter look at the same operation again and
	// again.
	unrollTotal   = 1 << 16
	unrollPredict = 1 << 14 // operations that are looked at to count the rounds of a loop
)

// unroll replaces loops that always go round a few times by as many copies: counters become constants, and with them
// offsets. Inner loops come first. It says whether there was one.
func (g *graph) unroll() bool {
	u := &unroller{graph: g, versions: map[uint32]uint32{}}
	for l := len(g.loops) - 1; l >= 0; l-- {
		if rounds := u.rounds(int32(l)); rounds >= 0 {
			u.copies(int32(l), rounds)
		}
	}
	if u.replaced == nil {
		return false
	}
	for _, b := range g.order {
		blk := &g.blocks[b]
		for _, list := range [][]value{blk.phis, blk.insts} {
			for _, v := range list {
				u.replace(&g.nodes[v])
			}
		}
		blk.cond = u.find(blk.cond)
	}
	return true
}

type unroller struct {
	*graph
	replaced  replacements      // values of loops, as the code behind them sees them
	inside    []value           // of a value in the loop, its copy in this round
	touched   []value           // those of inside that are not 0
	added     int               // operations and blocks of all copies
	predicted int               // operations that have been looked at to count rounds
	changes   bool              // the loop has effects: each round sees another memory
	versions  map[uint32]uint32 // of memory in this round
	counters  []int32           // by value: of a phi whose value is known before this round, its place in known, plus 1
	before    []uint64          // of counters, in this round
	from, to  int32             // positions of the blocks that are copied in this round
	firstCopy int32             // the copy of the first of them, behind which are those of the others
}

// unrollBudget is how many operations the copies of a loop may have.
func unrollBudget(c spirv.LoopControl) int {
	if c&spirv.LoopControlUnroll != 0 {
		return unrollOperations * unrollAsked
	}
	return unrollOperations
}

func (u *unroller) find(v value) value {
	for int(v) < len(u.replaced) && u.replaced[v] != 0 {
		v = u.replaced[v]
	}
	return v
}

func (u *unroller) replace(n *node) {
	for i, a := range n.args {
		n.args[i] = u.find(a)
	}
	n.base = u.find(n.base)
	for i, a := range n.list {
		n.list[i] = u.find(a)
	}
}

// rounds counts how often a loop goes round; -1 if that is not known, or if it should stay a loop.
func (u *unroller) rounds(l int32) int {
	x := &u.loops[l]
	if x.last < 0 || x.control&spirv.LoopControlDontUnroll != 0 {
		return -1
	}
	h := &u.blocks[x.header]
	if h.cond == 0 || len(h.preds) != 2 || h.loop != l || h.preds[1] != x.last ||
		u.inLoop(h.succs[0], l) == u.inLoop(h.succs[1], l) {
		return -1
	}
	most, budget := unrollRounds, unrollBudget(x.control)
	if x.control&spirv.LoopControlUnroll != 0 {
		most *= unrollAsked
	}
	size := 0
	for _, b := range u.order[h.at : u.blocks[x.last].at+1] {
		blk := &u.blocks[b]
		if blk.loop != l {
			return -1 // a loop in it
		}
		for _, s := range blk.succs {
			if s >= 0 && b != x.header && !u.inLoop(s, l) {
				return -1 // it can be left elsewhere
			}
		}
		if blk.succs[0] < 0 {
			return -1
		}
		size += len(blk.insts) + len(blk.phis)
	}
	blocks := int(u.blocks[x.last].at + 1 - h.at)
	u.steps(size + blocks)
	if len(u.counters) < len(u.nodes) {
		longer := u.space.ints.Take(2 * len(u.nodes))
		copy(longer, u.counters)
		u.counters = longer
	}
	u.before = u.before[:0]
	for _, v := range h.phis {
		if k, ok := u.known(u.find(u.nodes[v].list[0])); ok {
			u.before = append(u.before, k)
			u.counters[v] = int32(len(u.before))
		}
	}
	u.predicted = 0
	rounds := u.count(h, u.inLoop(h.succs[0], l), most, budget, size)
	for _, v := range h.phis {
		u.counters[v] = 0
	}
	copies := (rounds + 1) * (size + blocks)
	if u.added+copies > unrollTotal {
		return -1
	}
	u.added += max(copies, 0)
	return rounds
}

// count goes round the loop of header h with what is known of its counters.
func (u *unroller) count(h *block, stay bool, most, budget, size int) int {
	next := make([]uint64, len(u.before))
	var lost []value // that are not known any more
	for n := 0; n <= most && n*size <= budget; n++ {
		c, ok := u.predict(h.cond, unrollDepth)
		if !ok {
			return -1
		}
		if (c != 0) != stay {
			return n
		}
		for _, v := range h.phis {
			at := u.counters[v]
			if at == 0 {
				continue
			}
			if k, ok := u.predict(u.nodes[v].list[1], unrollDepth); ok {
				next[at-1] = k
			} else {
				lost = append(lost, v)
			}
		}
		for _, v := range lost {
			u.counters[v] = 0
		}
		u.before, next = next, u.before
	}
	return -1
}

// predict computes a value from what is known of counters. depth bounds the recursion: it begins at unrollDepth.
func (u *unroller) predict(v value, depth int) (uint64, bool) {
	v = u.find(v)
	if at := u.counters[v]; at > 0 {
		return u.before[at-1], true
	}
	n := &u.nodes[v]
	if n.op == ops.Const {
		return n.imm, true
	}
	if u.predicted++; !ops.Of(n.op).Computes || depth == 0 || u.predicted > unrollPredict {
		return 0, false
	}
	var k [3]uint64
	for i, a := range n.args[:3] {
		if a == 0 {
			continue
		}
		var ok bool
		if k[i], ok = u.predict(a, depth-1); !ok {
			return 0, false
		}
	}
	return evaluate(n.op, k[0], k[1], k[2], n.imm), true
}

// copies replaces a loop by so many copies of it, and one of its header, which leaves it.
func (u *unroller) copies(l int32, rounds int) {
	x := &u.loops[l]
	header, last := x.header, x.last
	h := u.blocks[header]
	first, end := h.at, u.blocks[last].at
	before, exit := h.preds[0], h.succs[0]
	if u.inLoop(exit, l) {
		exit = h.succs[1]
	}
	old := u.space.ints.Take(int(end + 1 - first))
	copy(old, u.order[first:])
	u.changes = false
	for _, b := range old {
		for _, v := range u.blocks[b].insts {
			u.changes = u.changes || u.effect(&u.nodes[v])
		}
	}
	values := u.space.values.Take(len(h.phis)) // of the header's phis
	for i, v := range h.phis {
		values[i] = u.find(u.nodes[v].list[0])
	}
	u.beginCopies()
	order := u.space.ints.Take(len(old)*rounds + 1)[:0]
	from := before
	target := header // of from's branch, which is to go to the copy
	for round := 0; round <= rounds; round++ {
		clear(u.versions)
		blocks := old
		if round == rounds {
			blocks = old[:1]
		}
		u.from, u.to, u.firstCopy = first, first+int32(len(blocks)), int32(len(u.blocks))
		for range blocks {
			n := u.newBlock()
			order = append(order, n)
			u.blocks[n].loop = x.parent
		}
		top, _ := u.copyOf(header)
		p := &u.blocks[from]
		p.succs[slices.Index(p.succs[:], target)] = top
		u.blocks[top].preds = u.space.ints.Push(nil, from)
		for i, v := range h.phis {
			u.see(v, values[i])
		}
		for _, b := range blocks {
			u.copyBlock(b, header)
		}
		if round == rounds {
			t := &u.blocks[top]
			t.succs, t.cond = [2]int32{exit, -1}, 0
			u.replacePred(exit, header, top)
			break
		}
		for i, v := range h.phis {
			values[i] = u.mapped(u.nodes[v].list[1])
		}
		from, _ = u.copyOf(last)
		target = header
	}
	u.endCopies(&h)
	u.order = slices.Replace(u.order, int(first), int(end+1), order...)
	u.steps(len(u.order))
	for i, b := range u.order {
		u.blocks[b].at = int32(i)
	}
	u.loops[l].last = -1
}

// beginCopies makes room to note the copies of all values.
func (u *unroller) beginCopies() {
	if len(u.replaced) < len(u.nodes) {
		longer := u.space.values.Take(2 * len(u.nodes))
		copy(longer, u.replaced)
		u.replaced = longer
	}
	if len(u.inside) < len(u.nodes) {
		u.inside = u.space.values.Take(2 * len(u.nodes))
	}
	u.touched = u.touched[:0]
}

// endCopies notes the last copies of what the header h computes, which replace it behind the loop.
func (u *unroller) endCopies(h *block) {
	for _, v := range h.phis {
		u.replaced[v] = u.inside[v]
	}
	for _, v := range h.insts {
		u.replaced[v] = u.inside[v]
	}
	for _, v := range u.touched {
		u.inside[v] = 0
	}
}

// see notes the copy of a value.
func (u *unroller) see(v, copied value) {
	u.inside[v] = copied
	u.touched = append(u.touched, v)
}

// mapped gives a value as this round sees it.
func (u *unroller) mapped(v value) value {
	v = u.find(v)
	if int(v) < len(u.inside) && u.inside[v] != 0 {
		return u.inside[v]
	}
	return v
}

// copyOf is the copy of a block of the loop, if it has one in this round.
func (u *unroller) copyOf(b int32) (int32, bool) {
	at := u.blocks[b].at
	return u.firstCopy + at - u.from, at >= u.from && at < u.to
}

// copyBlock copies the operations of block b, and its branch, of which that back stays as it is.
func (u *unroller) copyBlock(b, header int32) {
	from := u.blocks[b]
	to, _ := u.copyOf(b)
	phis, insts := u.space.values.Take(len(from.phis))[:0], u.space.values.Take(len(from.insts))[:0]
	add := func(v value) value {
		n := u.nodes[v]
		n.block = to
		for i, a := range n.args {
			n.args[i] = u.mapped(a)
		}
		n.base = u.mapped(n.base)
		if n.list != nil {
			n.list = u.cloned(n.list)
			for i, a := range n.list {
				n.list[i] = u.mapped(a)
			}
		}
		if n.version != 0 && u.changes {
			if u.versions[n.version] == 0 {
				u.copied++
				u.versions[n.version] = copiedVersions + u.copied
			}
			n.version = u.versions[n.version]
		}
		u.see(v, u.newNode(n))
		return u.inside[v]
	}
	if b != header {
		for _, v := range from.phis {
			phis = append(phis, add(v))
		}
	}
	for _, v := range from.insts {
		insts = append(insts, add(v))
	}
	blk := &u.blocks[to]
	blk.phis, blk.insts = phis, insts
	if b != header {
		blk.preds = u.space.ints.Take(len(from.preds))
		for i, p := range from.preds {
			blk.preds[i], _ = u.copyOf(p)
		}
		blk.cond = u.mapped(from.cond)
	}
	blk.succs = [2]int32{-1, -1}
	k := 0
	for _, s := range from.succs {
		if s == header {
			blk.succs[k] = header // until the next round is there
			k++
		} else if s >= 0 {
			if c, ok := u.copyOf(s); ok {
				blk.succs[k] = c
				k++
			}
		}
	}
}

// copiedVersions is above all versions of memory that lowering gives.
const copiedVersions = 1 << 30
