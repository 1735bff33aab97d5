package backend

import (
	"math"

	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/compute/internal/program"
)

// node writes the instruction of a node.
func (e *emitter) node(v ir.Value) {
	n := &e.g.Nodes[v]
	i := program.Inst{Code: program.Kernel, Op: n.Op, Dst: e.registers[v], Immediate: n.Imm, Offset: n.Offset,
		A: e.register(n.Args[0]), B: e.register(n.Args[1]), C: e.register(n.Args[2]), D: e.register(n.Args[3])}
	if ops.Updates(n.Op) && e.live.last[v] == 0 && e.live.outside[v] == 0 {
		i.Dst = program.Register{} // nobody asks what was there before
	}
	switch {
	case n.Op == ops.Result: // the call has written it
		return
	case n.Op == ops.Copy:
		i.Code, i.Op = program.Assign, 0
	case n.Op == ops.Barrier:
		i.Code, i.Op, i.Dst = program.Barrier, 0, program.Register{}
	case n.Op == ops.ArrayLength:
		i.Code, i.Op = program.ArrayLength, 0
		i.Immediate, i.Stride = n.Imm&math.MaxUint32, uint32(n.Imm>>32)
		e.memory(&i, n.Extra)
	case n.Op == ops.Image, n.Op == ops.Subgroup, n.Op == ops.Print:
		e.call(&i, v)
	case ops.IsPhysical(n.Op), e.g.MemoryOfAddress(n):
		i.Code = program.AccessPhysical
	case ops.IsPrivate(n.Op):
		e.private(&i, n)
	case n.Op == kernel.MinF32, n.Op == kernel.MaxF32:
		i.Quiet = e.g.Quiet(n.Args[0]) && e.g.Quiet(n.Args[1])
	case n.Op == kernel.MulAddSat:
		i.Most = e.g.MostOffset(v, 0)
	case n.Op == kernel.LtU32, n.Op == kernel.LtS32, n.Op == kernel.EqI32:
		i.Counts = e.counts(n.Args[0], n.Block)
	case n.Op == kernel.LeU32, n.Op == kernel.LeS32:
		i.Counts = e.counts(n.Args[1], n.Block)
	case ops.IsMemory(n.Op):
		i.Code = program.Access
		i.Base = e.register(n.Base)
		i.Pattern, i.Words = e.pattern(n)
		i.Most = e.g.MostOffset(n.Args[0], n.Base)
		e.memory(&i, n.Extra)
	}
	at := e.inst(i)
	e.made[v] = at + 1
	for _, a := range n.Args {
		e.read(a, n, at)
	}
	e.read(n.Base, n, at)
	for _, a := range n.List {
		e.read(a, n, at)
	}
}

// forever is behind all instructions.
const forever = math.MaxInt32

// read notes that the instruction of n reads v.
func (e *emitter) read(v ir.Value, n *ir.Node, inst int32) {
	if e.g.Nodes[v].Block != n.Block {
		e.reads[v] = forever
	} else if e.reads[v] < forever {
		e.reads[v] = inst
	}
}

// memory names a memory in an instruction.
func (e *emitter) memory(i *program.Inst, m int32) {
	i.Dynamic = e.g.Memories[m].Resource
	i.Index = e.places[m]
	if !i.Dynamic {
		i.C = program.Register{}
	}
}

// private turns a load or store with a constant index into a move.
func (e *emitter) private(i *program.Inst, n *ir.Node) {
	x := &e.g.Privates[n.Extra]
	size := x.Size()
	r := program.Register{Offset: e.arrays[n.Extra] + uint32(n.Imm)*size*e.chunks, Step: size, Size: size}
	load := ops.Loads(n.Op)
	i.Immediate = uint64(x.Count) - n.Imm
	switch {
	case n.Args[0] != 0:
		i.Code = program.AccessPrivate
		i.C = r
	case load:
		i.Op, i.Immediate = kernel.Move32, 0
		if x.Wide {
			i.Op = kernel.Move64
		}
		i.A = r
	default:
		*i = program.Inst{Code: program.Assign, Dst: r, A: i.B, Offset: i.Offset}
	}
}
