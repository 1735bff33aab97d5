// Package ir has the graph of a shader: static single assignment over scalars, all functions inlined. A builder makes
// it (New, Add and what stands on it), Tidy and Optimize bring it into the shape that can be laid out, a validator
// looks for faults, and String writes it down.
//
// In come operations, block by block, each block behind those that branch to it; out goes a graph on which Optimize
// has run. What holds at all times stands at validator. Besides:
//
//  1. A graph points to nothing of who builds it or lays it out. Values, blocks, loops, memories, arrays and calls are
//     indices in its lists.
//  2. Each construct is contiguous in Order, and only the last block of a loop branches back.
//  3. Add gives an equal node instead of a second one where it can. Nobody may change a node that others may have got.
//  4. A graph lies in memory that Release gives back. Keep copies it to memory of its own, Resume back.
//  5. A pass tells Watch when it is done (did), so that its outcome is dumped, and validated.
package ir

import (
	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// Value is a scalar in static single assignment: an index in graph.nodes. 0 is none.
type Value int32

// Node is an operation: a kernel, or one of those that package ops adds.
type Node struct {
	Op      kernel.Op
	Wide    bool // 64 bits
	Varying bool // differs between lanes
	Used    bool // by something with an effect
	Block   int32
	Extra   int32    // memories[extra] of a memory kernel, privates[extra] of a private one, or as the operation says
	Args    [4]Value // A, B, C, D of the instruction
	Base    Value    // a uniform offset, as Inst.Base
	Imm     uint64
	List    []Value
	Offset  uint32 // of the SPIR-V instruction, in words
	Version uint32 // of the memory that a load sees; loads of the same version give the same
}

// Block is a basic block. Its successors come from its branch: none at the end of a lane, one, or two if there is a
// cond.
type Block struct {
	Insts []Value
	Phis  []Value
	Preds []int32
	Succs [2]int32 // none is -1; with cond the first is taken where it is true
	Cond  Value
	idom  int32
	depth int32 // in the tree of dominators
	skip  int32 // an ancestor in that tree, for quick ascents
	Loop  int32 // the innermost loop, or -1
	At    int32 // position in graph.order, or -1
	Pend  bool  // lanes wait for their turn here
	join  bool  // lanes come here from several blocks at once
}

// Loop is a natural loop: in graph.order the blocks from header to last.
type Loop struct {
	Header, Last int32 // blocks; last branches back
	Parent       int32 // or -1
	Depth        int32
	divergent    bool // some lanes leave it before others
	Offset       uint32
	Control      spirv.LoopControl
	Name         string
}

// Graph is a program in static single assignment, all functions inlined.
type Graph struct {
	Nodes  []Node
	Blocks []Block
	Order  []int32 // the blocks, each construct contiguous, every branch but that of a loop's last block forward
	Loops  []Loop

	Memories []Memory
	Privates []Private
	calls    []Call

	LocalSize [3]uint32 // invocations of a workgroup
	Current   int32     // the block that is being built
	Offset    uint32
	table     []Value // of pure nodes by their content, open addressing
	filled    int
	copied    uint32 // versions of memory that copies of loops have
	Zero      Value  // the 32-bit constant 0
	Finite    bool   // no float counts as infinite or as no number, and the sign of a 0 doesn't count
	Budget    *budget.Budget
	space     *workspace
	Watch     *Watcher // nil: nobody looks
}

// MemoryKind says what a memory is.
type MemoryKind uint8

const (
	MemoryBuffer MemoryKind = iota + 1 // behind a descriptor: a buffer or an inline uniform block
	MemoryPush                         // push constants
	MemoryShared
	MemoryData    // of the shader's constants
	MemoryOutputs // of a graphics stage: for each output a word for each lane
)

// Memory is something that memory kernels access.
type Memory struct {
	Kind                  MemoryKind
	Set, Binding, Element uint32
	Name                  string
	Resource              bool // set and binding are an array of descriptors, the element is args[2]
	Count                 uint32
	Constant              bool   // nothing writes to it while the program runs
	Volatile              bool   // each load is done
	Data                  []byte // of MemoryData: what is in it
}

// Resource is an array of descriptors (of one element where the shader has no array), of which the shader chooses an
// element while it runs, or that is no memory.
type Resource struct {
	Set, Binding uint32
	Count        uint32 // elements; 0: as many as the set has (a runtime array)
	Name         string
	Input        uint32 // InputAttachmentIndex and one; 0: there is none
}

// Private is an array of registers.
type Private struct {
	Count int
	Wide  bool
	Read  bool // there are loads
}

// Size is how many bytes a chunk of an element has.
func (p *Private) Size() uint32 {
	if p.Wide {
		return 64
	}
	return 32
}

// Shader is an entry point as a graph, with what belongs to it.
type Shader struct {
	Name         string
	LocalSize    [3]uint32 // invocations of a workgroup
	SubgroupSize uint32
	Graph        *Graph
	Resources    []Resource // that calls name by index; those of memories may be missing
	Shared       uint32     // bytes of workgroup memory
	ZeroShared   bool       // it is zero when a workgroup starts
	Data         []byte     // the memory of constants: arrays that are indexed
	Physical     bool       // there are accesses by device address
	Atomics      bool       // there are atomics on memory that workgroups share
	Stage        *Stage     // of a graphics stage, whose batches are as workgroups are; nil of compute
}

// New is a graph that has an empty first block, in memory that release gives back.
func New(b *budget.Budget) *Graph {
	w := takeWorkspace(b)
	g := &Graph{Nodes: append(w.nodes[:0], Node{}), table: w.values.Take(256), Blocks: w.blocks[:0], Order: w.order[:0],
		Loops: w.loops[:0], Memories: w.memories[:0], Privates: w.privates[:0], Budget: b, space: w}
	g.Current = g.NewBlock()
	g.Start(g.Current)
	g.Zero = g.Constant(0, false)
	return g
}

func (g *Graph) NewBlock() int32 {
	g.Budget.Spend(budget.Blocks, 1)
	g.Blocks = append(g.Blocks, Block{Succs: [2]int32{-1, -1}, idom: -1, Loop: -1, At: -1})
	return int32(len(g.Blocks) - 1)
}

// Start makes b, whose predecessors so far are all of those before it, the current block.
func (g *Graph) Start(b int32) {
	blk := &g.Blocks[b]
	blk.At = int32(len(g.Order))
	g.Order = append(g.Order, b)
	g.Current = b
	if len(blk.Preds) == 0 {
		return
	}
	idom := blk.Preds[0]
	for _, p := range blk.Preds[1:] {
		idom = g.commonDominator(idom, p)
	}
	g.setDominator(b, idom)
}

func (g *Graph) setDominator(b, idom int32) {
	blk, d := &g.Blocks[b], &g.Blocks[idom]
	blk.idom, blk.depth = idom, d.depth+1
	// Skips as in a skew-binary list: an ascent takes logarithmic time.
	s := &g.Blocks[d.skip]
	if d.depth-s.depth == s.depth-g.Blocks[s.skip].depth && d.depth > 0 {
		blk.skip = s.skip
	} else {
		blk.skip = idom
	}
}

func (g *Graph) ancestor(b, depth int32) int32 {
	for g.Blocks[b].depth > depth {
		if s := g.Blocks[b].skip; g.Blocks[s].depth >= depth {
			b = s
		} else {
			b = g.Blocks[b].idom
		}
	}
	return b
}

func (g *Graph) dominates(a, b int32) bool {
	return a == b || g.Blocks[b].depth > g.Blocks[a].depth && g.ancestor(b, g.Blocks[a].depth) == a
}

func (g *Graph) commonDominator(a, b int32) int32 {
	d := min(g.Blocks[a].depth, g.Blocks[b].depth)
	a, b = g.ancestor(a, d), g.ancestor(b, d)
	for a != b {
		if sa, sb := g.Blocks[a].skip, g.Blocks[b].skip; sa != sb {
			a, b = sa, sb
		} else {
			a, b = g.Blocks[a].idom, g.Blocks[b].idom
		}
	}
	return a
}

// Branch ends the current block.
func (g *Graph) Branch(to int32) {
	b := &g.Blocks[g.Current]
	b.Succs[0] = to
	g.addPred(to, g.Current)
}

// BranchIf ends the current block with a choice.
func (g *Graph) BranchIf(cond Value, yes, no int32) {
	if yes == no {
		g.Branch(yes)
		return
	}
	if c := &g.Nodes[cond]; c.Op == ops.Const {
		if c.Imm != 0 {
			g.Branch(yes)
		} else {
			g.Branch(no)
		}
		return
	}
	g.Blocks[g.Current].Cond = cond
	g.Branch(yes)
	g.Blocks[g.Current].Succs[1] = no
	g.addPred(no, g.Current)
}

func (g *Graph) addPred(b, pred int32) {
	g.Blocks[b].Preds = g.space.ints.Push(g.Blocks[b].Preds, pred)
}

func (g *Graph) hash(n *Node) uint32 {
	h := uint64(n.Op)<<1 ^ n.Imm*0x9e3779b97f4a7c15
	if n.Wide {
		h ^= 1
	}
	h = (h ^ h>>29 ^ uint64(n.Args[0])<<32 ^ uint64(n.Args[1])) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>32 ^ uint64(n.Args[2])<<32 ^ uint64(n.Args[3])) * 0x94d049bb133111eb
	h ^= h>>31 ^ uint64(n.Version)<<32 ^ uint64(n.Extra) ^ uint64(n.Base)<<16
	h *= 0xbf58476d1ce4e5b9
	return uint32(h >> 32)
}

// lookup finds a node with the content of n that is known wherever b is reached; without one it returns 0, and enters v
// at the next insert.
func (g *Graph) lookup(n *Node, b int32) (found Value, place uint32) {
	mask := uint32(len(g.table) - 1)
	i := g.hash(n) & mask
	for ; g.table[i] != 0; i = (i + 1) & mask {
		o := &g.Nodes[g.table[i]]
		if o.Op == n.Op && o.Imm == n.Imm && o.Args == n.Args && o.Wide == n.Wide && o.Extra == n.Extra &&
			o.Version == n.Version && o.Base == n.Base {
			if n.Op == ops.Const || n.Op == ops.Builtin || g.dominates(o.Block, b) {
				return g.table[i], i
			}
			break // what is not a dominator now will rarely be one later
		}
	}
	return 0, i
}

func (g *Graph) insert(v Value, place uint32) {
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
			i := g.hash(&g.Nodes[v]) & mask
			for g.table[i] != 0 {
				i = (i + 1) & mask
			}
			g.table[i] = v
		}
	}
}

// pure says whether the operation has neither effect nor memory that may change: it may move, and two become one.
func (g *Graph) pure(n *Node) bool {
	o := ops.Of(n.Op)
	if o.Class == ops.ClassLoad && o.Space == ops.SpaceSlot {
		return g.Memories[n.Extra].Constant && n.Version == 0
	}
	return o.Pure
}

// newNode appends a node, which is in no block's lists yet.
func (g *Graph) newNode(n Node) Value {
	g.Budget.Spend(budget.Nodes, 1)
	g.Nodes = append(g.Nodes, n)
	return Value(len(g.Nodes) - 1)
}

// Add appends a node to the current block, or finds its like.
func (g *Graph) Add(n Node) Value {
	floating := n.Op == ops.Const || n.Op == ops.Builtin
	share := g.pure(&n) || n.Version != 0
	var place uint32
	if share {
		var v Value
		if v, place = g.lookup(&n, g.Current); v != 0 {
			return v
		}
	}
	n.Block = g.Current
	if floating {
		n.Block = 0
	}
	n.Offset = g.Offset
	v := g.newNode(n)
	if share {
		g.insert(v, place)
	}
	if !floating {
		b := &g.Blocks[g.Current]
		b.Insts = g.space.values.Push(b.Insts, v)
	}
	return v
}

func (g *Graph) Constant(bits uint64, wide bool) Value {
	if !wide {
		bits = uint64(uint32(bits))
	}
	return g.Add(Node{Op: ops.Const, Imm: bits, Wide: wide})
}

func (g *Graph) C32(bits uint32) Value { return g.Constant(uint64(bits), false) }

// Known gives the bits of a constant.
func (g *Graph) Known(v Value) (uint64, bool) {
	n := &g.Nodes[v]
	return n.Imm, n.Op == ops.Const
}

// Phi makes a phi in block b.
func (g *Graph) Phi(b int32, wide bool, list []Value) Value {
	v := g.newNode(Node{Op: ops.Phi, Wide: wide, Block: b, List: list, Offset: g.Offset})
	g.Blocks[b].Phis = g.space.values.Push(g.Blocks[b].Phis, v)
	return v
}

// Op1, op2, op3 and opImm add a kernel without memory.
func (g *Graph) Op1(op kernel.Op, a Value) Value       { return g.kernel(op, a, 0, 0, 0) }
func (g *Graph) Op2(op kernel.Op, a, b Value) Value    { return g.kernel(op, a, b, 0, 0) }
func (g *Graph) Op3(op kernel.Op, a, b, c Value) Value { return g.kernel(op, a, b, c, 0) }

// MulAdd is a*k + b, saturated.
func (g *Graph) MulAdd(a Value, k uint32, b Value) Value {
	if b == 0 {
		b = g.Zero
	}
	return g.kernel(kernel.MulAddSat, a, b, 0, uint64(k))
}

func (g *Graph) kernel(op kernel.Op, a, b, c Value, imm uint64) Value {
	n := Node{Op: op, Wide: ops.WideResult(op), Args: [4]Value{a, b, c}, Imm: imm}
	if v := g.fold(&n); v != 0 {
		return v
	}
	return g.Add(n)
}

// Choose is cond ? a : b.
func (g *Graph) Choose(cond, a, b Value) Value {
	if g.Nodes[a].Wide {
		return g.Op3(kernel.Select64, a, b, cond)
	}
	return g.Op3(kernel.Select32, a, b, cond)
}

// Values takes room for a list of n values.
func (g *Graph) Values(n int) []Value { return g.space.values.Take(n) }

// bits is how many bits a node has.
func (n *Node) bits() int {
	if n.Wide {
		return 64
	}
	return 32
}
