package frontend

import (
	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// variable is a variable in Function or Private memory, or an input: scalars in slots, or an array of registers if it
// is indexed at run time.
type variable struct {
	typ     *spirv.Type
	first   int    // slot
	private int32  // in graph.privates, or -1
	index   int    // among all variables
	written []bool // of an output, which scalars stores are to; nil of others
}

// slot is a scalar of a variable while the graph is built. Its value at the end of a block is looked up there, or made
// of that of the predecessors, as Braun and others do it (Simple and Efficient Construction of SSA Form, 2013).
type slot struct {
	variable *variable
	wide     bool
	block    int32 // the block in which it was written or read last
	value    ir.Value
}

// newSlots takes slots for an object of a type.
func (c *compiler) newSlots(t *spirv.Type) int {
	return c.slotsOf(c.variableOf(t))
}

func (c *compiler) variableOf(t *spirv.Type) *variable {
	v := c.space.variables.One()
	*v = variable{typ: t, private: -1, index: c.variables}
	c.variables++
	return v
}

func (c *compiler) slotsOf(v *variable) int {
	v.first = len(c.slots)
	kinds := c.scalarsOf(v.typ)
	c.budget.Spend(budget.Bytes, slotBytes*len(kinds))
	for _, s := range kinds {
		c.slots = append(c.slots, slot{variable: v, wide: s != nil && wide(s), block: -1})
	}
	return v.first
}

func slotKey(s int, b int32) uint64 { return uint64(b)<<32 | uint64(s) }

// writeSlot sets a slot in the current block.
func (c *compiler) writeSlot(s int, v ir.Value) { c.setSlot(s, c.g.Current, v) }

func (c *compiler) setSlot(s int, b int32, v ir.Value) {
	x := &c.slots[s]
	if x.block != b {
		if b != c.g.Current {
			c.keepSlot(s, b, v)
			return
		}
		if x.block >= 0 {
			c.keepSlot(s, x.block, x.value)
		}
		x.block = b
	}
	x.value = v
}

// slotBytes is about what a value takes in compiler.earlier.
const slotBytes = 128

// keepSlot notes the value of a slot at the end of a block that is not the last to have had it.
func (c *compiler) keepSlot(s int, b int32, v ir.Value) {
	c.budget.Spend(budget.Bytes, slotBytes)
	c.earlier[slotKey(s, b)] = v
}

// knownSlot gives the value of a slot at the end of block b, or 0 if it has not been asked for.
func (c *compiler) knownSlot(s int, b int32) ir.Value {
	if x := &c.slots[s]; x.block == b {
		return x.value
	}
	return c.earlier[slotKey(s, b)]
}

// reading is a block in which a slot is read whose value comes from other blocks.
type reading struct {
	block int32
	needs []int32  // predecessors of which the value must be known
	phi   ir.Value // that the block has already, as it may depend on itself
}

// readSlot gives the value of a slot at the end, as far as it is known, of block b. Blocks whose predecessors come
// first wait on a stack: the way to where a slot was written may be as long as the program.
func (c *compiler) readSlot(s int, b int32) ir.Value {
	if v := c.knownSlot(s, b); v != 0 {
		return v
	}
	first := len(c.readings)
	c.readings = append(c.readings, c.beginReading(s, b))
	for len(c.readings) > first {
		top := &c.readings[len(c.readings)-1]
		for len(top.needs) > 0 && c.knownSlot(s, top.needs[0]) != 0 {
			c.steps(1)
			top.needs = top.needs[1:]
		}
		if len(top.needs) > 0 {
			c.readings = append(c.readings, c.beginReading(s, top.needs[0]))
			continue
		}
		c.endReading(s, top.block, top.phi)
		c.readings = c.readings[:len(c.readings)-1]
	}
	return c.knownSlot(s, b)
}

// beginReading finds what the value of a slot in block b depends on.
func (c *compiler) beginReading(s int, b int32) reading {
	c.steps(1)
	blk := &c.g.Blocks[b]
	changes := len(blk.Preds) > 0 && (c.originOf(b).unsealed || len(blk.Preds) > 1 && c.isHeader(b)) &&
		c.changes(c.slots[s].variable, b)
	switch {
	case changes && c.originOf(b).unsealed:
		return reading{block: b}
	case changes:
		phi := c.g.Phi(b, c.slots[s].wide, nil)
		c.setSlot(s, b, phi)
		return reading{b, blk.Preds, phi}
	case len(blk.Preds) > 1 && c.isHeader(b):
		return reading{block: b, needs: blk.Preds[:len(blk.Preds)-1]}
	}
	return reading{block: b, needs: blk.Preds}
}

// endReading makes the value of a slot in block b of those in its predecessors. These are known, or b isn't sealed: so
// completeSlot, if it is called, comes to no other reading.
func (c *compiler) endReading(s int, b int32, phi ir.Value) {
	blk := &c.g.Blocks[b]
	var v ir.Value
	switch {
	case phi != 0:
		c.completeSlot(s, b, phi)
		return
	case len(blk.Preds) == 0:
		v = c.g.Constant(0, c.slots[s].wide) // it was not initialized
	case c.originOf(b).unsealed && c.changes(c.slots[s].variable, b):
		v = c.g.Phi(b, c.slots[s].wide, nil)
		put(&c.open, b, append(c.open[b], incomplete{s, v}))
	default:
		v = c.joinSlot(s, b, c.knownSlot(s, blk.Preds[0]))
	}
	c.setSlot(s, b, v)
}

// isHeader says whether b has a branch back from a block behind it.
func (c *compiler) isHeader(b int32) bool {
	preds := c.g.Blocks[b].Preds
	return c.g.Blocks[preds[len(preds)-1]].At >= c.g.Blocks[b].At
}

// changes says whether a variable is written in the loop of header b.
func (c *compiler) changes(v *variable, b int32) bool {
	l := c.g.Blocks[b].Loop
	if c.g.Loops[l].Header != b || v == nil {
		return true
	}
	set := c.loopStores[l] // without variables that are made in it
	return v.index/64 < len(set) && set[v.index/64]>>(v.index%64)&1 != 0
}

// joinSlot merges what comes from all predecessors but a branch back; first comes from the first one.
func (c *compiler) joinSlot(s int, b int32, first ir.Value) ir.Value {
	preds := c.g.Blocks[b].Preds
	if len(preds) == 1 {
		return first
	}
	l := c.list(len(preds))
	l[0] = first
	differ := false
	for i, p := range preds {
		if i == 0 {
			continue
		}
		if c.g.Blocks[p].At >= c.g.Blocks[b].At {
			l[i] = 0
			continue
		}
		l[i] = c.knownSlot(s, p)
		differ = differ || l[i] != first
	}
	if !differ {
		return first
	}
	v := c.g.Phi(b, c.slots[s].wide, l)
	for i := range l {
		if l[i] == 0 {
			l[i] = v // the variable does not change in the loop
		}
	}
	if c.originOf(b).unsealed { // the branch back is still to come
		put(&c.open, b, append(c.open[b], incomplete{s, v}))
	}
	return v
}

// completeSlot gives a phi its operands when all predecessors are known.
func (c *compiler) completeSlot(s int, b int32, phi ir.Value) {
	preds := c.g.Blocks[b].Preds
	l := c.list(len(preds))
	keep := c.g.Nodes[phi].List
	for i, p := range preds {
		if i < len(keep) {
			l[i] = keep[i]
		} else if len(keep) > 0 {
			l[i] = phi
		} else {
			l[i] = c.readSlot(s, p)
		}
	}
	c.g.Nodes[phi].List = l
}

// newVariable makes a variable in Function or Private memory.
func (c *compiler) newVariable(i *spirv.Instruction) *pointer {
	t := c.resultType(i)
	p := c.space.pointers.One()
	p.typ, p.class = t.Elem, t.Class
	flags := c.usage.flags[i.Result]
	if flags&indexed != 0 {
		if k := c.usage.tables[i.Result]; k != nil && t.Class != spirv.StorageClassOutput {
			p.memory, p.immediate = c.tableMemory(), c.tableOffset(k)
			return p
		}
	}
	v := c.variableOf(t.Elem)
	p.variable = v
	if flags&indexed != 0 {
		n := ir.Private{Count: c.count(t.Elem)}
		for _, s := range c.scalarsOf(t.Elem) {
			n.Wide = n.Wide || s != nil && wide(s)
		}
		v.private = int32(len(c.g.Privates))
		c.g.Privates = append(c.g.Privates, n)
	} else {
		c.slotsOf(v)
	}
	p.slot = v.first
	if len(i.Operands) > 1 {
		c.store(i, p, c.scalars(i.Operands[1]))
	}
	return p
}

// initializeGlobals gives Private variables their initial values and finds what workgroup memory must be zero.
func (c *compiler) initializeGlobals() {
	if c.graphics() {
		c.initializeStage()
	}
	for _, i := range c.module.Variables {
		switch spirv.StorageClass(i.Operands[0]) {
		case spirv.StorageClassPrivate:
			if c.usage.flags[i.Result] != 0 || len(i.Operands) > 1 {
				c.get(uint32(i.Result))
			}
		case spirv.StorageClassWorkgroup:
			c.zeroShared = c.zeroShared || len(i.Operands) > 1
		case spirv.StorageClassInput:
			if kind, _ := c.builtInOf(i); !c.graphics() && kind == spirv.BuiltInGlobalInvocationId {
				c.get(uint32(i.Result)) // it is computed here, whoever needs it first
			}
		}
	}
}

// builtInOf gives the decoration BuiltIn of a variable.
func (c *compiler) builtInOf(i *spirv.Instruction) (kind spirv.BuiltIn, found bool) {
	for _, d := range c.module.Decorations[i.Result] {
		if d.Kind == spirv.DecorationBuiltIn {
			kind, found = spirv.BuiltIn(d.Operands[0]), true
		}
	}
	return kind, found
}

// globalVariable makes a pointer to a variable outside of functions.
func (c *compiler) globalVariable(i *spirv.Instruction) *pointer {
	t := c.resultType(i)
	p := c.space.pointers.One()
	p.typ, p.class, p.explicit, p.stride = t.Elem, t.Class, true, t.Stride
	switch t.Class {
	case spirv.StorageClassPrivate:
		if q := c.privateGlobals[i.Result]; q != nil {
			return q
		}
		p = c.newVariable(i)
		put(&c.privateGlobals, i.Result, p)
	case spirv.StorageClassOutput:
		if q := c.privateGlobals[i.Result]; q != nil {
			return q
		}
		c.fail(i, "an output that is not in the interface")
	case spirv.StorageClassInput:
		if c.graphics() {
			return c.inputVariable(i)
		}
		v := c.variableOf(t.Elem)
		c.slotsOf(v)
		p.variable, p.slot = v, v.first
		for k := range c.count(t.Elem) {
			c.setSlot(v.first+k, 0, c.builtin(i, k))
		}
	case spirv.StorageClassWorkgroup:
		p.memory = c.memoryFor(memoryKey{kind: ir.MemoryShared}, "shared", false)
		p.immediate, p.explicit = c.shared(i)
	case spirv.StorageClassPushConstant:
		if c.graphics() {
			c.stage.Modes.Constants = true
		}
		p.memory = c.memoryFor(memoryKey{kind: ir.MemoryPush}, c.module.DebugName(i.Result), true)
	case spirv.StorageClassUniform, spirv.StorageClassStorageBuffer:
		b := c.bindingOf(i)
		c.usesSet(b)
		if t.Elem.Kind == spirv.TypeArray || t.Elem.Kind == spirv.TypeRuntimeArray {
			p.binding = b
		} else {
			p.memory = c.buffer(b, 0)
		}
	case spirv.StorageClassUniformConstant:
		p.binding = c.bindingOf(i)
		c.usesSet(p.binding)
		if t.Elem.Kind != spirv.TypeArray && t.Elem.Kind != spirv.TypeRuntimeArray {
			p.element = ir.Element{Resource: c.resource(p.binding)}
		}
	default:
		c.fail(i, "storage class %v is not supported in compute shaders", t.Class)
	}
	return p
}

// usesSet notes that a graphics stage uses a descriptor set.
func (c *compiler) usesSet(b *binding) {
	if c.graphics() {
		c.stage.Modes.Sets |= 1 << b.set
	}
}

// inputVariable makes a variable of an input of a graphics stage.
func (c *compiler) inputVariable(i *spirv.Instruction) *pointer {
	s := c.stageInput(i)
	p := c.newVariable(i)
	if p.variable.private >= 0 {
		c.storeVariable(p, s)
		return p
	}
	for k, v := range s {
		c.setSlot(p.slot+k, 0, v)
	}
	return p
}

// builtin gives component k of an input variable.
func (c *compiler) builtin(i *spirv.Instruction, k int) ir.Value {
	kind, found := c.builtInOf(i)
	if !found {
		c.fail(i, "an input without BuiltIn")
	}
	subgroups := (uint32(c.lanes()) + c.options.SubgroupSize - 1) / c.options.SubgroupSize
	direct := func(kind spirv.BuiltIn, k int) ir.Value {
		return c.g.Add(ir.Node{Op: ops.Builtin, Imm: uint64(k)<<32 | uint64(kind)})
	}
	switch kind {
	case spirv.BuiltInNumWorkgroups, spirv.BuiltInWorkgroupId, spirv.BuiltInDeviceIndex:
		return direct(kind, k)
	case spirv.BuiltInLocalInvocationId:
		if c.localSize[k] == 1 {
			return c.g.Zero
		}
		return direct(kind, k)
	case spirv.BuiltInGlobalInvocationId:
		group := direct(spirv.BuiltInWorkgroupId, k)
		if c.localSize[k] == 1 {
			return group
		}
		first := c.g.Op2(kernel.MulI32, group, c.g.C32(c.localSize[k]))
		return c.g.Op2(kernel.AddI32, first, direct(spirv.BuiltInLocalInvocationId, k))
	case spirv.BuiltInLocalInvocationIndex:
		if c.lanes() == 1 {
			return c.g.Zero
		}
		return direct(kind, 0)
	case spirv.BuiltInSubgroupId:
		if subgroups == 1 {
			return c.g.Zero
		}
		return direct(kind, 0)
	case spirv.BuiltInNumSubgroups:
		return c.g.C32(subgroups)
	case spirv.BuiltInSubgroupSize:
		return c.g.C32(c.options.SubgroupSize)
	case spirv.BuiltInSubgroupLocalInvocationId:
		return direct(kind, 0)
	case spirv.BuiltInWorkgroupSize:
		return c.g.C32(c.localSize[k])
	case spirv.BuiltInViewIndex:
		return c.g.Zero
	case spirv.BuiltInSubgroupEqMask, spirv.BuiltInSubgroupGeMask, spirv.BuiltInSubgroupGtMask,
		spirv.BuiltInSubgroupLeMask, spirv.BuiltInSubgroupLtMask:
		return direct(kind, k)
	}
	c.fail(i, "built-in %v is not supported in compute shaders", kind)
	return 0
}
