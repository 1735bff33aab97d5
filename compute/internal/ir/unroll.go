package ir

import (
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// What a loop may become when it is unrolled.
const (
	unrollRounds     = 32
	unrollOperations = 320
	unrollAsked      = 4 // times as much where the shader asks for it, or where elements of arrays become known
	unrollDepth      = 8 // operations between a counter and what is decided with it
	// All copies together, in operations and blocks. Some ways to foresee a counter look at the same operation again and
	// again.
	unrollTotal   = 1 << 16
	unrollPredict = 1 << 14 // operations that are looked at to count the rounds of a loop
)

// unroll replaces loops that always go round a few times by as many copies: counters become constants, and with them
// offsets. Inner loops come first. It says whether there was one.
func (g *Graph) unroll() bool {
	u := &unroller{g: g, chosen: g.chosenArrays()}
	for l := len(g.Loops) - 1; l >= 0; l-- {
		if rounds := u.rounds(int32(l)); rounds >= 0 {
			u.copies(int32(l), rounds)
		}
	}
	if u.replaced == nil {
		return false
	}
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		for _, list := range [][]Value{blk.Phis, blk.Insts} {
			for _, v := range list {
				u.replace(&g.Nodes[v])
			}
		}
		blk.Cond = u.find(blk.Cond)
	}
	return true
}

type unroller struct {
	g         *Graph
	replaced  replacements      // values of loops, as the code behind them sees them
	inside    []Value           // of a value in the loop, its copy in this round
	touched   []Value           // those of inside that are not 0
	added     int               // operations and blocks of all copies
	predicted int               // operations that have been looked at to count rounds
	changes   bool              // the loop has effects: each round sees another memory
	versions  map[uint32]uint32 // of memory in this round
	known     []bool            // by value: it is a constant in each copy of the loop
	chosen    []bool            // by array, whether each lane chooses an element
	elements  int               // how many operations of a loop choose elements that its copies know
	counters  []int32           // by value: of a phi whose value is known before this round, its place in known, plus 1
	before    []uint64          // of counters, in this round
	from, to  int32             // positions of the blocks that are copied in this round
	firstCopy int32             // the copy of the first of them, behind which are those of the others
}

// UnrollBudget is how many operations the copies of a loop may have, of which a round adds so many products. elements
// says that a large part of the loop chooses elements of arrays, which its copies know.
func UnrollBudget(c spirv.LoopControl, products int, elements bool) int {
	if c&spirv.LoopControlUnroll != 0 || products > ManyProducts || elements {
		return unrollOperations * unrollAsked
	}
	return unrollOperations
}

func (u *unroller) find(v Value) Value {
	for int(v) < len(u.replaced) && u.replaced[v] != 0 {
		v = u.replaced[v]
	}
	return v
}

func (u *unroller) replace(n *Node) {
	for i, a := range n.Args {
		n.Args[i] = u.find(a)
	}
	n.Base = u.find(n.Base)
	for i, a := range n.List {
		n.List[i] = u.find(a)
	}
}

// rounds counts how often a loop goes round; -1 if that is not known, or if it should stay a loop.
func (u *unroller) rounds(l int32) int {
	x := &u.g.Loops[l]
	if x.Last < 0 || x.Control&spirv.LoopControlDontUnroll != 0 {
		return -1
	}
	h := &u.g.Blocks[x.Header]
	if h.Cond == 0 || len(h.Preds) != 2 || h.Loop != l || h.Preds[1] != x.Last ||
		u.g.InLoop(h.Succs[0], l) == u.g.InLoop(h.Succs[1], l) {
		return -1
	}
	most := unrollRounds
	if x.Control&spirv.LoopControlUnroll != 0 {
		most *= unrollAsked
	}
	size, products := 0, 0
	for _, b := range u.g.Order[h.At : u.g.Blocks[x.Last].At+1] {
		blk := &u.g.Blocks[b]
		if blk.Loop != l {
			return -1 // a loop in it
		}
		for _, s := range blk.Succs {
			if s >= 0 && b != x.Header && !u.g.InLoop(s, l) {
				return -1 // it can be left elsewhere
			}
		}
		if blk.Succs[0] < 0 {
			return -1
		}
		size += len(blk.Insts) + len(blk.Phis)
		products += u.g.productsIn(blk)
	}
	blocks := int(u.g.Blocks[x.Last].At + 1 - h.At)
	u.g.steps(size + blocks)
	if len(u.counters) < len(u.g.Nodes) {
		longer := u.g.space.ints.Take(2 * len(u.g.Nodes))
		copy(longer, u.counters)
		u.counters = longer
	}
	u.before = u.before[:0]
	for _, v := range h.Phis {
		if k, ok := u.g.Known(u.find(u.g.Nodes[v].List[0])); ok {
			u.before = append(u.before, k)
			u.counters[v] = int32(len(u.before))
		}
	}
	u.predicted = 0
	kept := u.remain(h, u.g.Order[h.At:u.g.Blocks[x.Last].At+1], size)
	budget := UnrollBudget(x.Control, products, 4*u.elements > size)
	rounds := u.count(h, u.g.InLoop(h.Succs[0], l), most, budget, kept)
	for _, v := range h.Phis {
		u.counters[v] = 0
	}
	copies := (rounds + 1) * (size + blocks)
	if u.added+copies > unrollTotal {
		return -1
	}
	u.added += max(copies, 0)
	return rounds
}

// chosenArrays says of arrays whether each lane chooses an element somewhere: these never become values.
func (g *Graph) chosenArrays() []bool {
	chosen := make([]bool, len(g.Privates))
	for _, b := range g.Order {
		for _, v := range g.Blocks[b].Insts {
			if n := &g.Nodes[v]; ops.IsPrivate(n.Op) && n.Args[0] != 0 && g.Nodes[n.Args[0]].Varying {
				chosen[n.Extra] = true
			}
		}
	}
	return chosen
}

// remain counts the operations of a loop that its copies keep. The others compute what is known of counters, or choose
// by it. blocks are the loop's, h its header; they have size operations.
func (u *unroller) remain(h *Block, blocks []int32, size int) int {
	if len(u.known) < len(u.g.Nodes) {
		u.known = u.g.space.flags.Take(2 * len(u.g.Nodes))
	}
	for _, v := range h.Phis {
		u.known[v] = u.counters[v] > 0
	}
	kept := 0
	for again := true; again; {
		u.g.steps(size)
		kept, again, u.elements = 0, false, 0
		for _, b := range blocks {
			kept += u.keeps(&u.g.Blocks[b], h)
		}
		for _, v := range h.Phis {
			if u.known[v] && !u.isKnown(u.g.Nodes[v].List[1]) {
				u.known[v], again = false, true
			}
		}
	}
	for _, b := range blocks {
		for _, list := range [][]Value{u.g.Blocks[b].Phis, u.g.Blocks[b].Insts} {
			for _, v := range list {
				u.known[v] = false
			}
		}
	}
	return kept
}

// keeps counts what copies of a block keep, and notes which of its values are known in each.
func (u *unroller) keeps(blk, h *Block) int {
	kept := 0
	if blk != h {
		kept += len(blk.Phis)
	}
	for _, v := range blk.Insts {
		n := &u.g.Nodes[v]
		table := u.g.ofTable(n)
		known := ops.Of(n.Op).Computes || table
		for _, a := range n.Args[:3] {
			known = known && (a == 0 || u.isKnown(a))
		}
		u.known[v] = known
		chooses := (n.Op == kernel.Select32 || n.Op == kernel.Select64) && u.isKnown(n.Args[2])
		if !known && !chooses {
			kept++
		}
		if chooses || known && table || ops.IsPrivate(n.Op) && n.Args[0] != 0 && !u.chosen[n.Extra] && u.isKnown(n.Args[0]) {
			u.elements++
		}
	}
	return kept
}

// isKnown says whether a value is a constant in each copy.
func (u *unroller) isKnown(v Value) bool {
	v = u.find(v)
	return u.g.Nodes[v].Op == ops.Const || int(v) < len(u.known) && u.known[v]
}

// count goes round the loop of header h with what is known of its counters. Each copy keeps so many operations.
func (u *unroller) count(h *Block, stay bool, most, budget, kept int) int {
	next := make([]uint64, len(u.before))
	var lost []Value // that are not known any more
	for n := 0; n <= most && n*kept <= budget; n++ {
		c, ok := u.predict(h.Cond, unrollDepth)
		if !ok {
			return -1
		}
		if (c != 0) != stay {
			return n
		}
		for _, v := range h.Phis {
			at := u.counters[v]
			if at == 0 {
				continue
			}
			if k, ok := u.predict(u.g.Nodes[v].List[1], unrollDepth); ok {
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
func (u *unroller) predict(v Value, depth int) (uint64, bool) {
	v = u.find(v)
	if at := u.counters[v]; at > 0 {
		return u.before[at-1], true
	}
	n := &u.g.Nodes[v]
	if n.Op == ops.Const {
		return n.Imm, true
	}
	if u.predicted++; !ops.Of(n.Op).Computes || depth == 0 || u.predicted > unrollPredict {
		return 0, false
	}
	var k [3]uint64
	for i, a := range n.Args[:3] {
		if a == 0 {
			continue
		}
		var ok bool
		if k[i], ok = u.predict(a, depth-1); !ok {
			return 0, false
		}
	}
	return Evaluate(n.Op, k[0], k[1], k[2], n.Imm), true
}

// copies replaces a loop by so many copies of it, and one of its header, which leaves it.
func (u *unroller) copies(l int32, rounds int) {
	x := &u.g.Loops[l]
	header, last := x.Header, x.Last
	h := u.g.Blocks[header]
	first, end := h.At, u.g.Blocks[last].At
	before, exit := h.Preds[0], h.Succs[0]
	if u.g.InLoop(exit, l) {
		exit = h.Succs[1]
	}
	old := u.g.space.ints.Take(int(end + 1 - first))
	copy(old, u.g.Order[first:])
	u.changes = false
	for _, b := range old {
		for _, v := range u.g.Blocks[b].Insts {
			u.changes = u.changes || u.g.effect(&u.g.Nodes[v])
		}
	}
	values := u.g.space.values.Take(len(h.Phis)) // of the header's phis
	for i, v := range h.Phis {
		values[i] = u.find(u.g.Nodes[v].List[0])
	}
	u.beginCopies()
	if u.versions == nil {
		u.versions = map[uint32]uint32{}
	}
	order := u.g.space.ints.Take(len(old)*rounds + 1)[:0]
	from := before
	target := header // of from's branch, which is to go to the copy
	for round := 0; round <= rounds; round++ {
		clear(u.versions)
		blocks := old
		if round == rounds {
			blocks = old[:1]
		}
		u.from, u.to, u.firstCopy = first, first+int32(len(blocks)), int32(len(u.g.Blocks))
		for range blocks {
			n := u.g.NewBlock()
			order = append(order, n)
			u.g.Blocks[n].Loop = x.Parent
		}
		top, _ := u.copyOf(header)
		p := &u.g.Blocks[from]
		p.Succs[slices.Index(p.Succs[:], target)] = top
		u.g.Blocks[top].Preds = u.g.space.ints.Push(nil, from)
		for i, v := range h.Phis {
			u.see(v, values[i])
		}
		for _, b := range blocks {
			u.copyBlock(b, header)
		}
		if round == rounds {
			t := &u.g.Blocks[top]
			t.Succs, t.Cond = [2]int32{exit, -1}, 0
			u.g.replacePred(exit, header, top)
			break
		}
		for i, v := range h.Phis {
			values[i] = u.mapped(u.g.Nodes[v].List[1])
		}
		from, _ = u.copyOf(last)
		target = header
	}
	u.endCopies(&h)
	u.g.Order = slices.Replace(u.g.Order, int(first), int(end+1), order...)
	u.g.steps(len(u.g.Order))
	for i, b := range u.g.Order {
		u.g.Blocks[b].At = int32(i)
	}
	u.g.Loops[l].Last = -1
}

// beginCopies makes room to note the copies of all values.
func (u *unroller) beginCopies() {
	if len(u.replaced) < len(u.g.Nodes) {
		longer := u.g.space.values.Take(2 * len(u.g.Nodes))
		copy(longer, u.replaced)
		u.replaced = longer
	}
	if len(u.inside) < len(u.g.Nodes) {
		u.inside = u.g.space.values.Take(2 * len(u.g.Nodes))
	}
	u.touched = u.touched[:0]
}

// endCopies notes the last copies of what the header h computes, which replace it behind the loop.
func (u *unroller) endCopies(h *Block) {
	for _, v := range h.Phis {
		u.replaced[v] = u.inside[v]
	}
	for _, v := range h.Insts {
		u.replaced[v] = u.inside[v]
	}
	for _, v := range u.touched {
		u.inside[v] = 0
	}
}

// see notes the copy of a value.
func (u *unroller) see(v, copied Value) {
	u.inside[v] = copied
	u.touched = append(u.touched, v)
}

// mapped gives a value as this round sees it.
func (u *unroller) mapped(v Value) Value {
	v = u.find(v)
	if int(v) < len(u.inside) && u.inside[v] != 0 {
		return u.inside[v]
	}
	return v
}

// copyOf is the copy of a block of the loop, if it has one in this round.
func (u *unroller) copyOf(b int32) (int32, bool) {
	at := u.g.Blocks[b].At
	return u.firstCopy + at - u.from, at >= u.from && at < u.to
}

// copyBlock copies the operations of block b, and its branch, of which that back stays as it is.
func (u *unroller) copyBlock(b, header int32) {
	from := u.g.Blocks[b]
	to, _ := u.copyOf(b)
	phis, insts := u.g.space.values.Take(len(from.Phis))[:0], u.g.space.values.Take(len(from.Insts))[:0]
	add := func(v Value) Value {
		n := u.g.Nodes[v]
		n.Block = to
		for i, a := range n.Args {
			n.Args[i] = u.mapped(a)
		}
		n.Base = u.mapped(n.Base)
		if n.List != nil {
			n.List = u.g.cloned(n.List)
			for i, a := range n.List {
				n.List[i] = u.mapped(a)
			}
		}
		if n.Version != 0 && u.changes {
			if u.versions[n.Version] == 0 {
				u.g.copied++
				u.versions[n.Version] = copiedVersions + u.g.copied
			}
			n.Version = u.versions[n.Version]
		}
		u.see(v, u.g.newNode(n))
		return u.inside[v]
	}
	if b != header {
		for _, v := range from.Phis {
			phis = append(phis, add(v))
		}
	}
	for _, v := range from.Insts {
		insts = append(insts, add(v))
	}
	blk := &u.g.Blocks[to]
	blk.Phis, blk.Insts = phis, insts
	if b != header {
		blk.Preds = u.g.space.ints.Take(len(from.Preds))
		for i, p := range from.Preds {
			blk.Preds[i], _ = u.copyOf(p)
		}
		blk.Cond = u.mapped(from.Cond)
	}
	blk.Succs = [2]int32{-1, -1}
	k := 0
	for _, s := range from.Succs {
		if s == header {
			blk.Succs[k] = header // until the next round is there
			k++
		} else if s >= 0 {
			if c, ok := u.copyOf(s); ok {
				blk.Succs[k] = c
				k++
			}
		}
	}
}

// copiedVersions is above all versions of memory that lowering gives.
const copiedVersions = 1 << 30
