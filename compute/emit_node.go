package compute

import (
	"math"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// node writes the instruction of a node.
func (e *emitter) node(v value) {
	n := &e.nodes[v]
	i := Inst{Code: Kernel, Op: n.op, Dst: e.registers[v], Immediate: n.imm, Offset: n.offset,
		A: e.register(n.args[0]), B: e.register(n.args[1]), C: e.register(n.args[2]), D: e.register(n.args[3])}
	if ops.Updates(n.op) && e.last[v] == 0 && e.outside[v] == 0 {
		i.Dst = Register{} // nobody asks what was there before
	}
	switch {
	case n.op == ops.Result: // the call has written it
		return
	case n.op == ops.Copy:
		i.Code, i.Op = Assign, 0
	case n.op == ops.Barrier:
		i.Code, i.Op, i.Dst = Barrier, 0, Register{}
	case n.op == ops.ArrayLength:
		i.Code, i.Op = ArrayLength, 0
		i.Immediate, i.Stride = n.imm&math.MaxUint32, uint32(n.imm>>32)
		e.memory(&i, n.extra)
	case n.op == ops.Image, n.op == ops.Subgroup, n.op == ops.Print:
		e.call(&i, v)
	case ops.IsPhysical(n.op), e.memoryOfAddress(n):
		i.Code = AccessPhysical
	case ops.IsPrivate(n.op):
		e.private(&i, n)
	case n.op == kernel.LtU32, n.op == kernel.LtS32, n.op == kernel.EqI32:
		i.Counts = e.counts(n.args[0], n.block)
	case n.op == kernel.LeU32, n.op == kernel.LeS32:
		i.Counts = e.counts(n.args[1], n.block)
	case ops.IsMemory(n.op):
		i.Code = Access
		i.Base = e.register(n.base)
		i.Pattern, i.Words = e.pattern(n)
		e.memory(&i, n.extra)
	}
	at := e.inst(i)
	e.made[v] = at + 1
	for _, a := range n.args {
		e.read(a, n, at)
	}
	e.read(n.base, n, at)
	for _, a := range n.list {
		e.read(a, n, at)
	}
}

// forever is behind all instructions.
const forever = math.MaxInt32

// read notes that the instruction of n reads v.
func (e *emitter) read(v value, n *node, inst int32) {
	if e.nodes[v].block != n.block {
		e.reads[v] = forever
	} else if e.reads[v] < forever {
		e.reads[v] = inst
	}
}

// memory names a memory in an instruction.
func (e *emitter) memory(i *Inst, m int32) {
	i.Dynamic = e.memories[m].resource
	i.Index = e.places[m]
	if !i.Dynamic {
		i.C = Register{}
	}
}

// private turns a load or store with a constant index into a move.
func (e *emitter) private(i *Inst, n *node) {
	x := &e.privates[n.extra]
	size := x.size()
	r := Register{Offset: e.arrays[n.extra] + uint32(n.imm)*size*e.chunks, Step: size, Size: size}
	load := ops.Loads(n.op)
	i.Immediate = uint64(x.count) - n.imm
	switch {
	case n.args[0] != 0:
		i.Code = AccessPrivate
		i.C = r
	case load:
		i.Op, i.Immediate = kernel.Move32, 0
		if x.wide {
			i.Op = kernel.Move64
		}
		i.A = r
	default:
		*i = Inst{Code: Assign, Dst: r, A: i.B, Offset: i.Offset}
	}
}
