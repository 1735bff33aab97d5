package frontend

import (
	"math"
	"slices"

	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/spirv"
)

// nullPointer is the number of no memory.
const nullPointer = math.MaxUint32

// pointer is a pointer while it is lowered. What it points into is one of
//   - a variable: its scalars from slot on, of which chosen may pick a part
//   - an array of registers: variable.private, the scalar at offset + immediate
//   - memory: the byte at offset + immediate of a memory, or of the one that number says at run time
//   - an address
//   - an array of descriptors, binding, as long as no element has been chosen
//   - an image or sampler, element
//   - a texel
type pointer struct {
	typ    *spirv.Type // of the object
	class  spirv.StorageClass
	stride uint32 // ArrayStride of the pointer

	variable *variable
	slot     int
	from, to int      // of an output, the scalars of the variable that it is among
	chosen   ir.Value // index of a part: chosen*step slots behind slot
	step     int
	parts    int

	memory    int32 // in graph.memories; 0: number says, or the address
	number    ir.Value
	index     ir.Value // of the descriptor in an array
	offset    ir.Value // 32 bits; 0 is none
	immediate uint64
	address   ir.Value

	explicit  bool // layouts are those of the decorations
	matrix    uint32
	rowMajor  bool
	component uint32 // distance of a vector's components, in a row-major matrix

	binding *binding
	element ir.Element
	handle  ir.Value // a run-time index of element
	texel   *texelOperand
}

// binding is a variable with descriptors.
type binding struct {
	set, binding, count uint32
	input               uint32 // InputAttachmentIndex and one; 0: there is none
	name                string
	constant, aliased   bool
	volatile            bool
	id                  spirv.ID
}

type memoryKey struct {
	kind                  ir.MemoryKind
	set, binding, element uint32
	resource              bool
}

func (c *compiler) memoryFor(k memoryKey, name string, constant bool) int32 {
	if m, ok := c.byVariable[k]; ok {
		// Two variables may have one binding.
		c.g.Memories[m].Constant = c.g.Memories[m].Constant && constant
		return m
	}
	m := int32(len(c.g.Memories))
	c.g.Memories = append(c.g.Memories, ir.Memory{
		Kind: k.kind, Set: k.set, Binding: k.binding, Element: k.element, Name: name, Resource: k.resource,
		Constant: constant,
	})
	c.contents = append(c.contents, content{})
	c.byVariable[k] = m
	return m
}

func (c *compiler) bindingOf(i *spirv.Instruction) *binding {
	b := c.space.bindings.One()
	b.name, b.count, b.id = c.module.DebugName(i.Result), 1, i.Result
	coherent := false
	for _, d := range c.module.Decorations[i.Result] {
		switch d.Kind {
		case spirv.DecorationDescriptorSet:
			b.set = d.Operands[0]
		case spirv.DecorationBinding:
			b.binding = d.Operands[0]
		case spirv.DecorationInputAttachmentIndex:
			b.input = d.Operands[0] + 1
		case spirv.DecorationAliased:
			b.aliased = true
		case spirv.DecorationVolatile:
			b.volatile = true
		case spirv.DecorationCoherent:
			coherent = true
		}
	}
	t := c.resultType(i).Elem
	switch t.Kind {
	case spirv.TypeArray:
		b.count = t.Count
		t = t.Elem
	case spirv.TypeRuntimeArray:
		b.count = 0
		t = t.Elem
	}
	if b.name == "" && t.ID != 0 {
		b.name = c.module.DebugName(t.ID)
	}
	for _, list := range c.module.MemberDecorations[t.ID] {
		for _, d := range list {
			b.volatile = b.volatile || d.Kind == spirv.DecorationVolatile
			coherent = coherent || d.Kind == spirv.DecorationCoherent
		}
	}
	class := c.resultType(i).Class
	isBlock := false
	for _, d := range c.module.Decorations[t.ID] {
		isBlock = isBlock || d.Kind == spirv.DecorationBlock
	}
	// Without Aliased, no other variable writes to this one's memory (SPIR-V 2.18.2).
	b.constant = class == spirv.StorageClassUniform && isBlock ||
		!b.volatile && !coherent && !b.aliased && c.usage.flags[i.Result]&stored == 0 &&
			!slices.Contains(c.usage.anywhere, class) &&
			!slices.Contains(c.usage.anywhere, spirv.StorageClassPhysicalStorageBuffer)
	return b
}

// buffer gives the memory of a descriptor with a constant index.
func (c *compiler) buffer(b *binding, element uint32) int32 {
	return c.memoryOf(b, memoryKey{kind: ir.MemoryBuffer, set: b.set, binding: b.binding, element: element})
}

func (c *compiler) memoryOf(b *binding, k memoryKey) int32 {
	m := c.memoryFor(k, b.name, b.constant)
	c.g.Memories[m].Count = b.count
	c.g.Memories[m].Volatile = c.g.Memories[m].Volatile || b.volatile
	return m
}

// resource gives the place of a binding in the shader's resources.
func (c *compiler) resource(b *binding) int {
	for i, r := range c.resources {
		if r.Set == b.set && r.Binding == b.binding {
			return i
		}
	}
	c.resources = append(c.resources, ir.Resource{Set: b.set, Binding: b.binding, Count: b.count, Name: b.name,
		Input: b.input})
	return len(c.resources) - 1
}

// index32 gives an index as an unsigned 32-bit one; what doesn't fit becomes the largest.
func (c *compiler) index32(id uint32) ir.Value {
	v := c.scalar(id)
	t := c.typeOf(spirv.ID(id))
	switch {
	case t.Width == 64:
		return c.g.Op1(kernel.TruncI64I32, c.g.Op2(kernel.MinU64, v, c.g.Constant(math.MaxUint32, true)))
	case t.Width < 32 && t.Signed:
		return c.signExtend(v, t)
	}
	return v
}

// accessChain lowers the OpAccessChain family.
func (c *compiler) accessChain(i *spirv.Instruction) {
	base := c.get(i.Operands[0]).pointer
	if base == nil {
		c.fail(i, "the base is no pointer")
	}
	p := c.space.pointers.One()
	*p = *base
	indices := i.Operands[1:]
	if i.Op == spirv.OpPtrAccessChain || i.Op == spirv.OpInBoundsPtrAccessChain {
		c.moveBy(i, p, indices[0])
		indices = indices[1:]
	}
	for _, id := range indices {
		c.step(i, p, id)
	}
	if t := c.resultType(i); t.Stride != 0 {
		p.stride = t.Stride
	}
	c.values[i.Result] = operand{pointer: p}
}

// moveBy moves a pointer by elements of an array that it points into. They may be negative: here offsets wrap.
func (c *compiler) moveBy(i *spirv.Instruction, p *pointer, id uint32) {
	if p.binding != nil || p.variable != nil {
		if k, ok := c.g.Known(c.scalar(id)); !ok || k != 0 {
			c.fail(i, "an element of a pointer into this storage class")
		}
		return
	}
	stride := uint64(p.stride)
	if !p.explicit || stride == 0 {
		stride = uint64(c.sizeOf(p.typ, p.explicit, p.matrix, p.rowMajor))
	}
	v := c.scalar(id)
	t := c.typeOf(spirv.ID(id))
	if k, ok := c.g.Known(v); ok {
		p.immediate += signed(k, t) * stride
		if int64(p.immediate) >= 0 || p.address != 0 {
			return
		}
		p.offset = c.g.Op2(kernel.AddI32, c.offsetOf(p), c.g.C32(uint32(p.immediate)))
		p.immediate = 0
		return
	}
	if p.address != 0 {
		v = c.g.Op2(kernel.MulI64, c.convertInt(v, t, 64), c.g.Constant(stride, true))
		p.address = c.g.Op2(kernel.AddI64, p.address, v)
		return
	}
	v = c.g.Op2(kernel.MulI32, c.convertInt(v, t, 32), c.g.C32(uint32(stride)))
	v = c.g.Op2(kernel.AddI32, v, c.g.C32(uint32(p.immediate)))
	p.offset, p.immediate = c.g.Op2(kernel.AddI32, c.offsetOf(p), v), 0
}

func signed(bits uint64, t *spirv.Type) uint64 {
	if t.Width < 64 {
		return uint64(int64(bits<<(64-t.Width)) >> (64 - t.Width))
	}
	return bits
}

func (c *compiler) offsetOf(p *pointer) ir.Value {
	if p.offset == 0 {
		return c.g.Zero
	}
	return p.offset
}

// step goes to an element or a member of what a pointer points to.
func (c *compiler) step(i *spirv.Instruction, p *pointer, id uint32) {
	t := p.typ
	k, isConstant := c.g.Known(c.scalar(id))
	if t.Kind == spirv.TypeStruct && (!isConstant || k >= uint64(len(t.Members))) {
		c.fail(i, "a member's index is no constant")
	}
	if p.binding != nil {
		c.stepBinding(i, p, id, k, isConstant)
		return
	}
	if p.variable != nil {
		c.stepVariable(i, p, id, k, isConstant)
		return
	}
	var distance uint64
	switch t.Kind {
	case spirv.TypeStruct:
		elem := t.Members[k]
		if p.explicit {
			l := t.Layouts[k]
			p.immediate += uint64(l.Offset)
			if inner := withoutArrays(elem); inner.Kind == spirv.TypeMatrix {
				p.matrix, p.rowMajor = l.MatrixStride, l.RowMajor
			}
		} else {
			p.immediate += uint64(c.own(t).offsets[k])
		}
		p.typ = elem
		return
	case spirv.TypeArray, spirv.TypeRuntimeArray:
		distance = uint64(c.strideOf(t, p.explicit))
	case spirv.TypeMatrix:
		if p.rowMajor && p.explicit {
			distance = uint64(scalarSize(t.Elem.Elem))
			p.component = p.matrix
		} else {
			distance = uint64(c.columnStride(t, p.explicit, p.matrix))
		}
	case spirv.TypeVector:
		distance = uint64(max(p.component, scalarSize(t.Elem)))
		p.component = 0
	default:
		c.fail(i, "an index into a scalar")
	}
	p.typ = t.Elem
	if p.address != 0 {
		if isConstant {
			p.immediate += signed(k, c.typeOf(spirv.ID(id))) * distance
		} else {
			v := c.convertInt(c.scalar(id), c.typeOf(spirv.ID(id)), 64)
			p.address = c.g.Op2(kernel.AddI64, p.address, c.g.Op2(kernel.MulI64, v, c.g.Constant(distance, true)))
		}
		return
	}
	if isConstant {
		if w := c.typeOf(spirv.ID(id)); w.Width < 64 {
			k = uint64(uint32(signed(k, w)))
		}
		p.immediate += min(k, math.MaxUint32) * distance
		return
	}
	p.offset = c.g.MulAdd(c.index32(id), uint32(distance), p.offset)
}

func withoutArrays(t *spirv.Type) *spirv.Type {
	for t.Kind == spirv.TypeArray || t.Kind == spirv.TypeRuntimeArray {
		t = t.Elem
	}
	return t
}

// stepBinding chooses a descriptor. An index that is a parameter of a function, and a constant where it is called, is a
// constant here.
func (c *compiler) stepBinding(i *spirv.Instruction, p *pointer, id uint32, k uint64, isConstant bool) {
	if has := c.options.Capabilities; !isConstant && has != nil {
		if d := c.module.Indexing(p.typ, p.class); d != nil && !has[d.Dynamic] && !has[d.NonUniform] {
			c.warn(i, d.DynamicVUID,
				"the index %s into descriptors is not a constant, but the feature of the capability %v is not enabled",
				c.module.Name(spirv.ID(id)), d.Dynamic)
		}
	}
	b := p.binding
	p.binding = nil
	p.typ = p.typ.Elem
	if p.class == spirv.StorageClassUniformConstant {
		p.element = ir.Element{Resource: c.resource(b)}
		if isConstant {
			p.element.Constant = uint32(min(k, math.MaxUint32))
		} else {
			p.handle = c.index32(id)
		}
		return
	}
	p.memory = c.descriptors(b)
	if isConstant {
		p.memory = c.descriptor(p.memory, uint32(min(k, math.MaxUint32)))
		return
	}
	p.index = c.index32(id)
}

// descriptors gives the memory of an array of descriptors, which operations index.
func (c *compiler) descriptors(b *binding) int32 {
	return c.memoryOf(b, memoryKey{kind: ir.MemoryBuffer, set: b.set, binding: b.binding, resource: true})
}

// descriptor gives the memory of one descriptor of an array.
func (c *compiler) descriptor(whole int32, element uint32) int32 {
	w := c.g.Memories[whole]
	m := c.memoryFor(memoryKey{kind: ir.MemoryBuffer, set: w.Set, binding: w.Binding, element: element}, w.Name,
		w.Constant)
	x := &c.g.Memories[m]
	x.Count, x.Volatile = w.Count, x.Volatile || w.Volatile
	c.contents[m].whole = whole
	return m
}

// stepVariable goes to a part of a variable in registers.
func (c *compiler) stepVariable(i *spirv.Instruction, p *pointer, id uint32, k uint64, isConstant bool) {
	t := p.typ
	if t.Kind != spirv.TypeStruct && t.Elem == nil {
		c.fail(i, "an index into a scalar")
	}
	private := p.variable.private >= 0
	if isConstant {
		n := uint64(t.Count)
		if t.Kind == spirv.TypeStruct {
			n = uint64(len(t.Members))
		}
		if k >= n { // undefined: it becomes the last one
			k = n - 1
		}
		elem, first := c.member(t, uint32(k))
		p.typ = elem
		p.slot += first
		p.immediate += uint64(first)
		if p.chosen == 0 && p.offset == 0 {
			p.from += first
			p.to = p.from + c.count(elem)
		}
		return
	}
	p.typ = t.Elem
	n := c.count(t.Elem)
	if private {
		p.offset = c.g.MulAdd(c.index32(id), uint32(n), p.offset)
		return
	}
	if p.chosen != 0 {
		c.fail(i, "two indices known only at run time into %s", c.module.Name(spirv.ID(i.Operands[0])))
	}
	p.chosen, p.step, p.parts = c.index32(id), n, int(t.Count)
}

// pointerFrom makes a pointer of the scalars that a variable, a phi or memory holds.
func (c *compiler) pointerFrom(t *spirv.Type, s []ir.Value) *pointer {
	p := c.space.pointers.One()
	p.typ, p.class, p.stride, p.explicit = t.Elem, t.Class, t.Stride, true
	if wide(t) {
		p.address = s[0]
		c.physical = true
		return p
	}
	if t.Class == spirv.StorageClassWorkgroup {
		p.explicit = c.explicitShared()
	}
	p.number, p.index, p.offset = s[0], s[1], s[2]
	if k, ok := c.g.Known(p.number); ok && k != nullPointer {
		p.memory, p.number = int32(k), 0
		if element, ok := c.g.Known(p.index); ok && c.g.Memories[k].Resource {
			p.memory = c.descriptor(int32(k), uint32(element))
		}
	} else if list := c.candidates(p); len(list) == 1 && !c.mayBeNull(t) {
		p.memory, p.number = list[0], 0
	}
	if p.memory != 0 && !c.g.Memories[p.memory].Resource {
		p.index = 0
	}
	return p
}

// mayBeNull says whether the module has a null pointer of the type.
func (c *compiler) mayBeNull(t *spirv.Type) bool {
	if c.nulls == nil {
		c.nulls = map[*spirv.Type]bool{}
		for _, i := range c.module.Globals {
			if k := c.constants.Values[i.Result]; i.Result != 0 && k != nil && k.Type.Kind == spirv.TypePointer {
				c.nulls[k.Type] = true
			}
		}
	}
	return c.nulls[t]
}

// pointerScalars is the opposite of pointerFrom. A pointer into a descriptor of an array is always one into the array
// with an index: which descriptors an array's pointers point into isn't known before all of the program is.
func (c *compiler) pointerScalars(p *pointer) []ir.Value {
	if p.address != 0 {
		v := p.address
		if p.immediate != 0 {
			v = c.g.Op2(kernel.AddI64, v, c.g.Constant(p.immediate, true))
		}
		return c.one(v).scalars
	}
	if p.variable != nil || p.binding != nil {
		c.fail(nil, "a variable pointer into storage class %v", p.class)
	}
	l := c.list(3)
	l[0], l[1] = p.number, p.index
	if whole := c.contents[p.memory].whole; whole != 0 {
		l[0], l[1] = c.g.C32(uint32(whole)), c.g.C32(c.g.Memories[p.memory].Element)
	} else if l[0] == 0 {
		l[0] = c.g.C32(uint32(p.memory))
	}
	if l[1] == 0 {
		l[1] = c.g.Zero
	}
	l[2] = c.offsetOf(p)
	if p.immediate != 0 {
		l[2] = c.g.Op2(kernel.AddI32, l[2], c.g.C32(uint32(min(p.immediate, math.MaxUint32))))
	}
	return l
}

// candidates are the memories that a pointer may point to which only run time knows: those of all variables of its
// storage class. Pointers into registers are no values, but the null pointer is.
func (c *compiler) candidates(p *pointer) []int32 {
	switch p.class {
	case spirv.StorageClassWorkgroup:
		return []int32{c.memoryFor(memoryKey{kind: ir.MemoryShared}, "shared", false)}
	case spirv.StorageClassPrivate, spirv.StorageClassFunction, spirv.StorageClassInput, spirv.StorageClassOutput:
		return nil
	}
	if list, ok := c.targets[p.class]; ok {
		return list
	}
	list := []int32{}
	found := map[int32]bool{} // two variables may have one binding
	for _, i := range c.module.Variables {
		if spirv.StorageClass(i.Operands[0]) != p.class {
			continue
		}
		q := c.get(uint32(i.Result)).pointer
		m := q.memory
		if q.binding != nil {
			m = c.descriptors(q.binding)
		}
		if m != 0 && !found[m] {
			found[m] = true
			list = append(list, m)
		}
	}
	put(&c.targets, p.class, list)
	return list
}
