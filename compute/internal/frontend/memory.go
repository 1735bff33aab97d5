package frontend

import (
	"math"

	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// load gives the scalars of what p points to.
func (c *compiler) load(i *spirv.Instruction, p *pointer, volatile bool) []ir.Value {
	n := c.count(p.typ)
	if p.variable != nil {
		return c.loadVariable(p, n)
	}
	out := c.list(n)[:0]
	for _, l := range c.leavesOf(p) {
		if l.typ.Kind == spirv.TypePointer && !wide(l.typ) {
			for k := range uint64(3) {
				out = append(out, c.loadScalar(i, p, &spirv.Type{Kind: spirv.TypeInt, Width: 32}, l.at+4*k, volatile))
			}
			continue
		}
		out = append(out, c.loadScalar(i, p, l.typ, l.at, volatile))
	}
	return out
}

func (c *compiler) loadVariable(p *pointer, n int) []ir.Value {
	out := c.list(n)
	if v := p.variable; v.private >= 0 {
		for k, s := range c.scalarsOf(p.typ) {
			out[k] = c.privateScalar(kernel.LoadPrivate32, p, uint64(k), 0)
			if c.g.Privates[v.private].Wide && (s == nil || !wide(s)) {
				out[k] = c.g.Op1(kernel.TruncI64I32, out[k])
			}
		}
		return out
	}
	for k := range out {
		if p.chosen == 0 {
			out[k] = c.readSlot(p.slot+k, c.g.Current)
			continue
		}
		for part := range p.parts {
			v := c.readSlot(p.slot+part*p.step+k, c.g.Current)
			if part == 0 {
				out[k] = v
			} else {
				out[k] = c.g.Choose(c.g.Op2(kernel.EqI32, p.chosen, c.g.C32(uint32(part))), v, out[k])
			}
		}
	}
	return out
}

// privateScalar loads or stores a scalar of an array of registers.
func (c *compiler) privateScalar(op kernel.Op, p *pointer, k uint64, v ir.Value) ir.Value {
	n := ir.Node{Op: op, Extra: p.variable.private, Imm: p.immediate + k, Args: [4]ir.Value{p.offset, v}}
	if c.g.Privates[n.Extra].Wide {
		n.Op = to64(op)
		n.Wide = op == kernel.LoadPrivate32
	}
	return c.g.Add(n)
}

// loadOp is the kernel that loads a scalar.
func loadOp(t *spirv.Type) kernel.Op {
	switch scalarSize(t) {
	case 1:
		return kernel.LoadU8
	case 2:
		return kernel.LoadU16
	case 8:
		return kernel.Load64
	}
	return kernel.Load32
}

// storeOp is the kernel that stores one.
func storeOp(t *spirv.Type) kernel.Op {
	switch scalarSize(t) {
	case 1:
		return kernel.Store8
	case 2:
		return kernel.Store16
	case 8:
		return kernel.Store64
	}
	return kernel.Store32
}

// isHalf says whether a scalar is a 16-bit float, which lies in registers as a 32-bit one.
func isHalf(t *spirv.Type) bool { return t.Kind == spirv.TypeFloat && t.Width == 16 }

// version gives the version of a memory's content.
func (c *compiler) version(m int32) uint32 {
	if m > 0 && c.g.Memories[m].Constant {
		return 0
	}
	return max(c.contents[m].version, c.floor, 1)
}

// changed says that a memory, or with it all that may be the same, has other content now.
func (c *compiler) changed(m int32) {
	c.counter++
	if m <= 0 || c.g.Memories[m].Kind == ir.MemoryBuffer {
		c.floor = c.counter // buffers may overlap
		return
	}
	c.contents[m].version = c.counter
}

func (c *compiler) loadScalar(i *spirv.Instruction, p *pointer, t *spirv.Type, at uint64, volatile bool) ir.Value {
	n := ir.Node{Op: loadOp(t), Wide: scalarSize(t) == 8, Imm: p.immediate + at}
	var v ir.Value
	switch {
	case p.address != 0:
		n.Op = ops.Of(n.Op).Physical
		n.Args[0] = p.address
		n.Version = c.version(0)
		if volatile {
			n.Version = 0
		}
		v = c.g.Add(n)
	case p.memory != 0:
		v = c.loadFrom(n, p.memory, c.offsetOf(p), p.index, volatile)
	case p.number != 0:
		v = c.g.Constant(0, n.Wide)
		for _, m := range c.candidates(p) {
			is := c.g.Op2(kernel.EqI32, p.number, c.g.C32(uint32(m)))
			x := c.loadFrom(n, m, c.g.Choose(is, c.offsetOf(p), c.g.C32(math.MaxUint32)), c.indexFor(p, m), volatile)
			v = c.g.Choose(is, x, v)
		}
	default:
		c.fail(i, "a load through such a pointer")
	}
	if isHalf(t) {
		v = c.g.Op1(kernel.Bits16ToF32, v)
	}
	return v
}

// indexFor is the descriptor's index, if the memory is an array of them.
func (c *compiler) indexFor(p *pointer, m int32) ir.Value {
	if c.g.Memories[m].Resource {
		return p.index
	}
	return 0
}

func (c *compiler) loadFrom(n ir.Node, m int32, offset, index ir.Value, volatile bool) ir.Value {
	n.Extra = m
	n.Args = [4]ir.Value{offset, 0, index}
	if n.Version = c.version(m); volatile || c.g.Memories[m].Volatile {
		n.Version = 0
	}
	return c.g.Add(n)
}

// store writes scalars to what p points to.
func (c *compiler) store(i *spirv.Instruction, p *pointer, s []ir.Value) {
	if p.variable != nil {
		c.storeVariable(p, s)
		return
	}
	at := 0
	for _, l := range c.leavesOf(p) {
		if l.typ.Kind == spirv.TypePointer && !wide(l.typ) {
			for k := range uint64(3) {
				c.storeScalar(i, p, &spirv.Type{Kind: spirv.TypeInt, Width: 32}, l.at+4*k, s[at])
				at++
			}
			continue
		}
		c.storeScalar(i, p, l.typ, l.at, s[at])
		at++
	}
}

func (c *compiler) storeVariable(p *pointer, s []ir.Value) {
	if w := p.variable.written; w != nil {
		for k := p.from; k < p.to; k++ {
			w[k] = true
		}
	}
	if v := p.variable; v.private >= 0 {
		kinds := c.scalarsOf(p.typ)
		for k := range s {
			x := s[k]
			if c.g.Privates[v.private].Wide && (kinds[k] == nil || !wide(kinds[k])) {
				x = c.g.Op1(kernel.ZextI32I64, x)
			}
			c.privateScalar(kernel.StorePrivate32, p, uint64(k), x)
		}
		return
	}
	for k := range s {
		if p.chosen == 0 {
			c.writeSlot(p.slot+k, s[k])
			continue
		}
		for part := range p.parts {
			at := p.slot + part*p.step + k
			is := c.g.Op2(kernel.EqI32, p.chosen, c.g.C32(uint32(part)))
			c.writeSlot(at, c.g.Choose(is, s[k], c.readSlot(at, c.g.Current)))
		}
	}
}

func (c *compiler) storeScalar(i *spirv.Instruction, p *pointer, t *spirv.Type, at uint64, v ir.Value) {
	if isHalf(t) {
		v = c.g.Op1(kernel.F32ToBits16, v)
	}
	n := ir.Node{Op: storeOp(t), Imm: p.immediate + at}
	c.eachMemory(i, p, n, v, 0)
}

// eachMemory adds a store or an atomic for each memory that p may point into, and gives what it was in the one.
func (c *compiler) eachMemory(i *spirv.Instruction, p *pointer, n ir.Node, v, comparator ir.Value) ir.Value {
	switch {
	case p.address != 0:
		if ops.Stores(n.Op) {
			n.Op = ops.Of(n.Op).Physical
		}
		n.Args = [4]ir.Value{p.address, v, 0, comparator}
		r := c.g.Add(n)
		c.changed(0)
		return r
	case p.memory != 0:
		n.Extra = p.memory
		n.Args = [4]ir.Value{c.offsetOf(p), v, p.index, comparator}
		r := c.g.Add(n)
		c.changed(p.memory)
		return r
	case p.number != 0:
		r := c.g.Constant(0, n.Wide)
		for _, m := range c.candidates(p) {
			is := c.g.Op2(kernel.EqI32, p.number, c.g.C32(uint32(m)))
			n.Extra = m
			n.Args = [4]ir.Value{c.g.Choose(is, c.offsetOf(p), c.g.C32(math.MaxUint32)), v, c.indexFor(p, m), comparator}
			x := c.g.Add(n)
			if ops.Updates(n.Op) {
				r = c.g.Choose(is, x, r)
			}
			c.changed(m)
		}
		return r
	}
	c.fail(i, "a store through such a pointer")
	return 0
}

func (c *compiler) pointerOf(i *spirv.Instruction, id uint32) *pointer {
	p := c.get(id).pointer
	if p == nil {
		c.fail(i, "%s is no pointer", c.module.Name(spirv.ID(id)))
	}
	return p
}

func (c *compiler) lowerLoad(i *spirv.Instruction) {
	p := c.pointerOf(i, i.Operands[0])
	switch p.typ.Kind {
	case spirv.TypeImage, spirv.TypeSampler, spirv.TypeSampledImage:
		c.values[i.Result] = operand{image: c.imageOf(p)}
		return
	}
	if d := c.module.Definitions[i.Operands[0]]; c.graphics() && d.Op == spirv.OpVariable {
		if b, _ := c.builtInOf(d); b == spirv.BuiltInHelperInvocation {
			c.set(i, c.one(c.isHelper()).scalars)
			return
		}
	}
	volatile := len(i.Operands) > 1 && spirv.MemoryAccess(i.Operands[1])&spirv.MemoryAccessVolatile != 0
	c.set(i, c.load(i, p, volatile))
}

func (c *compiler) lowerStore(i *spirv.Instruction) {
	p := c.pointerOf(i, i.Operands[0])
	if p.memory != 0 && c.g.Memories[p.memory].Kind == ir.MemoryData {
		return // the constant is there already
	}
	c.store(i, p, c.scalars(i.Operands[1]))
}

// arrayLength lowers OpArrayLength.
func (c *compiler) arrayLength(i *spirv.Instruction) {
	p := c.pointerOf(i, i.Operands[0])
	k := i.Operands[1]
	offset := uint64(p.typ.Layouts[k].Offset) + p.immediate
	n := ir.Node{Op: ops.ArrayLength, Imm: offset | uint64(c.strideOf(p.typ.Members[k], true))<<32}
	if p.memory != 0 {
		n.Extra = p.memory
		n.Args[2] = p.index
		c.set(i, c.one(c.g.Add(n)).scalars)
		return
	}
	v := c.g.Zero
	for _, m := range c.candidates(p) {
		n.Extra = m
		n.Args[2] = c.indexFor(p, m)
		v = c.g.Choose(c.g.Op2(kernel.EqI32, p.number, c.g.C32(uint32(m))), c.g.Add(n), v)
	}
	c.set(i, c.one(v).scalars)
}

// atomicOps are the kernels of the atomics that are one.
var atomicOps = map[spirv.Op]kernel.Op{
	spirv.OpAtomicExchange:            kernel.AtomicExchange32,
	spirv.OpAtomicCompareExchange:     kernel.AtomicCompareExchange32,
	spirv.OpAtomicCompareExchangeWeak: kernel.AtomicCompareExchange32,
	spirv.OpAtomicIIncrement:          kernel.AtomicAddI32,
	spirv.OpAtomicIDecrement:          kernel.AtomicAddI32,
	spirv.OpAtomicIAdd:                kernel.AtomicAddI32,
	spirv.OpAtomicISub:                kernel.AtomicAddI32,
	spirv.OpAtomicSMin:                kernel.AtomicMinS32,
	spirv.OpAtomicUMin:                kernel.AtomicMinU32,
	spirv.OpAtomicSMax:                kernel.AtomicMaxS32,
	spirv.OpAtomicUMax:                kernel.AtomicMaxU32,
	spirv.OpAtomicAnd:                 kernel.AtomicAnd32,
	spirv.OpAtomicOr:                  kernel.AtomicOr32,
	spirv.OpAtomicXor:                 kernel.AtomicXor32,
	spirv.OpAtomicFAddEXT:             kernel.AtomicAddF32,
	spirv.OpAtomicFMinEXT:             kernel.AtomicMinF32,
	spirv.OpAtomicFMaxEXT:             kernel.AtomicMaxF32,
	spirv.OpAtomicFlagTestAndSet:      kernel.AtomicExchange32,
}

// lowerAtomic lowers atomics on memory, and on texels.
func (c *compiler) lowerAtomic(i *spirv.Instruction) {
	p := c.pointerOf(i, i.Operands[0])
	t := p.typ
	c.atomics = c.atomics || p.class != spirv.StorageClassWorkgroup
	if p.texel != nil {
		c.imageAtomic(i, p)
		return
	}
	if p.variable != nil {
		c.variableAtomic(i, p)
		return
	}
	switch i.Op {
	case spirv.OpAtomicLoad:
		c.set(i, c.load(i, p, true))
		c.acquires(i)
		return
	case spirv.OpAtomicStore:
		c.releases(i)
		c.store(i, p, c.scalars(i.Operands[3]))
		return
	case spirv.OpAtomicFlagClear:
		c.releases(i)
		c.store(i, p, c.one(c.g.Zero).scalars)
		return
	}
	op, ok := atomicOps[i.Op]
	if !ok || scalarSize(t) < 4 {
		c.fail(i, "is not supported on a %d-bit type", t.Width)
	}
	v, comparator := c.atomicOperands(i, t)
	n := ir.Node{Op: op, Imm: p.immediate}
	if scalarSize(t) == 8 {
		n.Op = to64(op)
		n.Wide = true
	}
	c.releases(i)
	r := c.eachMemory(i, p, n, v, comparator)
	c.acquires(i)
	if i.Op == spirv.OpAtomicFlagTestAndSet {
		r = c.g.Op1(kernel.I32ToMask, r)
	}
	c.set(i, c.one(r).scalars)
}

// barrier orders what comes before and behind an instruction with memory semantics.
func (c *compiler) barrier(scope, semantics uint32) {
	s, _ := c.g.Known(c.scalar(scope))
	m, _ := c.g.Known(c.scalar(semantics))
	near := uint64(0)
	switch spirv.Scope(s) {
	case spirv.ScopeWorkgroup, spirv.ScopeSubgroup, spirv.ScopeInvocation:
		near = 1
	}
	const far = spirv.MemorySemanticsUniformMemory | spirv.MemorySemanticsImageMemory |
		spirv.MemorySemanticsCrossWorkgroupMemory |
		spirv.MemorySemanticsOutputMemory
	if spirv.MemorySemantics(m)&far == 0 {
		near = 1
	}
	c.g.Add(ir.Node{Op: ops.Barrier, Imm: near})
	c.counter++
	c.floor = c.counter
}

// releases and acquires put barriers around an atomic as its semantics ask.
func (c *compiler) releases(i *spirv.Instruction) {
	const releasing = spirv.MemorySemanticsRelease | spirv.MemorySemanticsAcquireRelease |
		spirv.MemorySemanticsSequentiallyConsistent
	c.semantics(i, releasing)
}

func (c *compiler) acquires(i *spirv.Instruction) {
	const acquiring = spirv.MemorySemanticsAcquire | spirv.MemorySemanticsAcquireRelease |
		spirv.MemorySemanticsSequentiallyConsistent
	c.semantics(i, acquiring)
}

func (c *compiler) semantics(i *spirv.Instruction, which spirv.MemorySemantics) {
	at := i.Operands[1:]
	if m, _ := c.g.Known(c.scalar(at[1])); spirv.MemorySemantics(m)&which != 0 {
		c.barrier(at[0], at[1])
	}
}

// atomicOperands gives the value and the comparator of an atomic.
func (c *compiler) atomicOperands(i *spirv.Instruction, t *spirv.Type) (v, comparator ir.Value) {
	switch i.Op {
	case spirv.OpAtomicIIncrement, spirv.OpAtomicFlagTestAndSet:
		return c.g.Constant(1, wide(t)), 0
	case spirv.OpAtomicIDecrement:
		return c.g.Constant(math.MaxUint64, wide(t)), 0
	case spirv.OpAtomicCompareExchange, spirv.OpAtomicCompareExchangeWeak:
		return c.scalar(i.Operands[4]), c.scalar(i.Operands[5])
	case spirv.OpAtomicISub:
		if wide(t) {
			return c.g.Op1(kernel.NegI64, c.scalar(i.Operands[3])), 0
		}
		return c.g.Op1(kernel.NegI32, c.scalar(i.Operands[3])), 0
	}
	return c.scalar(i.Operands[3]), 0
}

// variableAtomic lowers an atomic on memory that only its own lane sees.
func (c *compiler) variableAtomic(i *spirv.Instruction, p *pointer) {
	c.fail(i, "on storage class %v", p.class)
}
