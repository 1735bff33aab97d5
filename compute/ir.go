package compute

import (
	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// value is a scalar in static single assignment: an index in graph.nodes. 0 is none.
type value int32

// node is an operation: a kernel, or one of those that package ops adds.
type node struct {
	op      kernel.Op
	wide    bool // 64 bits
	varying bool // differs between lanes
	used    bool // by something with an effect
	block   int32
	extra   int32    // memories[extra] of a memory kernel, privates[extra] of a private one, or as the operation says
	args    [4]value // A, B, C, D of the instruction
	base    value    // a uniform offset, as Inst.Base
	imm     uint64
	list    []value
	offset  uint32 // of the SPIR-V instruction, in words
	version uint32 // of the memory that a load sees; loads of the same version give the same
}

// block is a basic block. Its successors come from its branch: none at the end of a lane, one, or two if there is a
// cond.
type block struct {
	insts []value
	phis  []value
	preds []int32
	succs [2]int32 // none is -1; with cond the first is taken where it is true
	cond  value
	idom  int32
	depth int32 // in the tree of dominators
	skip  int32 // an ancestor in that tree, for quick ascents
	loop  int32 // the innermost loop, or -1
	at    int32 // position in graph.order, or -1
	pend  bool  // lanes wait for their turn here
	join  bool  // lanes come here from several blocks at once
}

// loop is a natural loop: in graph.order the blocks from header to last.
type loop struct {
	header, last int32 // blocks; last branches back
	parent       int32 // or -1
	depth        int32
	divergent    bool // some lanes leave it before others
	offset       uint32
	control      spirv.LoopControl
	name         string
}

// graph is a program in static single assignment, all functions inlined.
type graph struct {
	nodes  []node
	blocks []block
	order  []int32 // the blocks, each construct contiguous, every branch but that of a loop's last block forward
	loops  []loop

	memories []memory
	privates []private
	calls    []call

	localSize [3]uint32 // invocations of a workgroup
	current   int32     // the block that is being built
	offset    uint32
	table     []value // of pure nodes by their content, open addressing
	filled    int
	copied    uint32 // versions of memory that copies of loops have
	zero      value  // the 32-bit constant 0
	budget    *budget.Budget
	space     *irSpace
	watch     *watcher // nil: nobody looks
}

// memoryKind says what a memory is.
type memoryKind uint8

const (
	memoryBuffer memoryKind = iota + 1 // behind a descriptor: a buffer or an inline uniform block
	memoryPush                         // push constants
	memoryShared
	memoryData // of the shader's constants
)

// memory is something that memory kernels access.
type memory struct {
	kind                  memoryKind
	set, binding, element uint32
	name                  string
	resource              bool // set and binding are an array of descriptors, the element is args[2]
	count                 uint32
	constant              bool // nothing writes to it while the program runs
	volatile              bool // each load is done
}

// resource is an array of descriptors (of one element where the shader has no array), of which the shader chooses an
// element while it runs, or that is no memory.
type resource struct {
	set, binding uint32
	count        uint32 // elements; 0: as many as the set has (a runtime array)
	name         string
}

// private is an array of registers.
type private struct {
	count int
	wide  bool
	read  bool // there are loads
}

// size is how many bytes a chunk of an element has.
func (p *private) size() uint32 {
	if p.wide {
		return 64
	}
	return 32
}

// irShader is an entry point as a graph, with what belongs to it.
type irShader struct {
	name         string
	localSize    [3]uint32 // invocations of a workgroup
	subgroupSize uint32
	graph        *graph
	resources    []resource // that calls name by index; those of memories may be missing
	shared       uint32     // bytes of workgroup memory
	zeroShared   bool       // it is zero when a workgroup starts
	data         []byte     // the memory of constants: arrays that are indexed
	physical     bool       // there are accesses by device address
	atomics      bool       // there are atomics on memory that workgroups share
}

// newGraph is a graph that has an empty first block, in memory that release gives back.
func newGraph(b *budget.Budget) *graph {
	w := takeIRSpace(b)
	g := &graph{nodes: append(w.nodes[:0], node{}), table: w.values.Take(256), blocks: w.blocks[:0], order: w.order[:0],
		loops: w.loops[:0], memories: w.memories[:0], privates: w.privates[:0], budget: b, space: w}
	g.current = g.newBlock()
	g.start(g.current)
	g.zero = g.constant(0, false)
	return g
}

func (g *graph) newBlock() int32 {
	g.budget.Spend(budget.Blocks, 1)
	g.blocks = append(g.blocks, block{succs: [2]int32{-1, -1}, idom: -1, loop: -1, at: -1})
	return int32(len(g.blocks) - 1)
}

// start makes b, whose predecessors so far are all of those before it, the current block.
func (g *graph) start(b int32) {
	blk := &g.blocks[b]
	blk.at = int32(len(g.order))
	g.order = append(g.order, b)
	g.current = b
	if len(blk.preds) == 0 {
		return
	}
	idom := blk.preds[0]
	for _, p := range blk.preds[1:] {
		idom = g.commonDominator(idom, p)
	}
	g.setDominator(b, idom)
}

func (g *graph) setDominator(b, idom int32) {
	blk, d := &g.blocks[b], &g.blocks[idom]
	blk.idom, blk.depth = idom, d.depth+1
	// Skips as in a skew-binary list: an ascent takes logarithmic time.
	s := &g.blocks[d.skip]
	if d.depth-s.depth == s.depth-g.blocks[s.skip].depth && d.depth > 0 {
		blk.skip = s.skip
	} else {
		blk.skip = idom
	}
}

func (g *graph) ancestor(b, depth int32) int32 {
	for g.blocks[b].depth > depth {
		if s := g.blocks[b].skip; g.blocks[s].depth >= depth {
			b = s
		} else {
			b = g.blocks[b].idom
		}
	}
	return b
}

func (g *graph) dominates(a, b int32) bool {
	return a == b || g.blocks[b].depth > g.blocks[a].depth && g.ancestor(b, g.blocks[a].depth) == a
}

func (g *graph) commonDominator(a, b int32) int32 {
	d := min(g.blocks[a].depth, g.blocks[b].depth)
	a, b = g.ancestor(a, d), g.ancestor(b, d)
	for a != b {
		if sa, sb := g.blocks[a].skip, g.blocks[b].skip; sa != sb {
			a, b = sa, sb
		} else {
			a, b = g.blocks[a].idom, g.blocks[b].idom
		}
	}
	return a
}

// branch ends the current block.
func (g *graph) branch(to int32) {
	b := &g.blocks[g.current]
	b.succs[0] = to
	g.addPred(to, g.current)
}

// branchIf ends the current block with a choice.
func (g *graph) branchIf(cond value, yes, no int32) {
	if yes == no {
		g.branch(yes)
		return
	}
	if c := &g.nodes[cond]; c.op == ops.Const {
		if c.imm != 0 {
			g.branch(yes)
		} else {
			g.branch(no)
		}
		return
	}
	g.blocks[g.current].cond = cond
	g.branch(yes)
	g.blocks[g.current].succs[1] = no
	g.addPred(no, g.current)
}

func (g *graph) addPred(b, pred int32) {
	g.blocks[b].preds = g.space.ints.Push(g.blocks[b].preds, pred)
}

func (g *graph) hash(n *node) uint32 {
	h := uint64(n.op)<<1 ^ n.imm*0x9e3779b97f4a7c15
	if n.wide {
		h ^= 1
	}
	h = (h ^ h>>29 ^ uint64(n.args[0])<<32 ^ uint64(n.args[1])) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>32 ^ uint64(n.args[2])<<32 ^ uint64(n.args[3])) * 0x94d049bb133111eb
	h ^= h>>31 ^ uint64(n.version)<<32 ^ uint64(n.extra) ^ uint64(n.base)<<16
	h *= 0xbf58476d1ce4e5b9
	return uint32(h >> 32)
}

// lookup finds a node with the content of n that is known wherever b is reached; without one it returns 0, and enters v
// at the next insert.
func (g *graph) lookup(n *node, b int32) (found value, place uint32) {
	mask := uint32(len(g.table) - 1)
	i := g.hash(n) & mask
	for ; g.table[i] != 0; i = (i + 1) & mask {
		o := &g.nodes[g.table[i]]
		if o.op == n.op && o.imm == n.imm && o.args == n.args && o.wide == n.wide && o.extra == n.extra &&
			o.version == n.version && o.base == n.base {
			if n.op == ops.Const || n.op == ops.Builtin || g.dominates(o.block, b) {
				return g.table[i], i
			}
			break // what is not a dominator now will rarely be one later
		}
	}
	return 0, i
}

func (g *graph) insert(v value, place uint32) {
	if g.table[place] == 0 {
		g.filled++
	}
	g.table[place] = v
	if g.filled*2 < len(g.table) {
		return
	}
	old := g.table
	g.table = g.space.values.Take(4 * len(old))
	mask := uint32(len(g.table) - 1)
	for _, v := range old {
		if v != 0 {
			i := g.hash(&g.nodes[v]) & mask
			for g.table[i] != 0 {
				i = (i + 1) & mask
			}
			g.table[i] = v
		}
	}
}

// pure says whether the operation has neither effect nor memory that may change: it may move, and two become one.
func (g *graph) pure(n *node) bool {
	o := ops.Of(n.op)
	if o.Class == ops.ClassLoad && o.Space == ops.SpaceSlot {
		return g.memories[n.extra].constant && n.version == 0
	}
	return o.Pure
}

// newNode appends a node, which is in no block's lists yet.
func (g *graph) newNode(n node) value {
	g.budget.Spend(budget.Nodes, 1)
	g.nodes = append(g.nodes, n)
	return value(len(g.nodes) - 1)
}

// add appends a node to the current block, or finds its like.
func (g *graph) add(n node) value {
	floating := n.op == ops.Const || n.op == ops.Builtin
	share := g.pure(&n) || n.version != 0
	var place uint32
	if share {
		var v value
		if v, place = g.lookup(&n, g.current); v != 0 {
			return v
		}
	}
	n.block = g.current
	if floating {
		n.block = 0
	}
	n.offset = g.offset
	v := g.newNode(n)
	if share {
		g.insert(v, place)
	}
	if !floating {
		b := &g.blocks[g.current]
		b.insts = g.space.values.Push(b.insts, v)
	}
	return v
}

func (g *graph) constant(bits uint64, wide bool) value {
	if !wide {
		bits = uint64(uint32(bits))
	}
	return g.add(node{op: ops.Const, imm: bits, wide: wide})
}

func (g *graph) c32(bits uint32) value { return g.constant(uint64(bits), false) }

// known gives the bits of a constant.
func (g *graph) known(v value) (uint64, bool) {
	n := &g.nodes[v]
	return n.imm, n.op == ops.Const
}

// phi makes a phi in block b.
func (g *graph) phi(b int32, wide bool, list []value) value {
	v := g.newNode(node{op: ops.Phi, wide: wide, block: b, list: list, offset: g.offset})
	g.blocks[b].phis = g.space.values.Push(g.blocks[b].phis, v)
	return v
}

// op1, op2, op3 and opImm add a kernel without memory.
func (g *graph) op1(op kernel.Op, a value) value       { return g.kernel(op, a, 0, 0, 0) }
func (g *graph) op2(op kernel.Op, a, b value) value    { return g.kernel(op, a, b, 0, 0) }
func (g *graph) op3(op kernel.Op, a, b, c value) value { return g.kernel(op, a, b, c, 0) }

// mulAdd is a*k + b, saturated.
func (g *graph) mulAdd(a value, k uint32, b value) value {
	if b == 0 {
		b = g.zero
	}
	return g.kernel(kernel.MulAddSat, a, b, 0, uint64(k))
}

func (g *graph) kernel(op kernel.Op, a, b, c value, imm uint64) value {
	n := node{op: op, wide: ops.WideResult(op), args: [4]value{a, b, c}, imm: imm}
	if v := g.fold(&n); v != 0 {
		return v
	}
	return g.add(n)
}

// choose is cond ? a : b.
func (g *graph) choose(cond, a, b value) value {
	if g.nodes[a].wide {
		return g.op3(kernel.Select64, a, b, cond)
	}
	return g.op3(kernel.Select32, a, b, cond)
}

// values takes room for a list of n values.
func (g *graph) values(n int) []value { return g.space.values.Take(n) }

// Budget is what the compilation of the graph spends.
func (g *graph) Budget() *budget.Budget { return g.budget }

// bits is how many bits a node has.
func (n *node) bits() int {
	if n.wide {
		return 64
	}
	return 32
}
