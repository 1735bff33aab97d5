package frontend

import (
	"slices"

	"farside/compute/internal/kernel"
	"farside/spirv"
)

const (
	kernelOr = kernel.OrI32
)

func kernelEq(t *spirv.Type) kernel.Op {
	if t.Width == 64 {
		return kernel.EqI64
	}
	return kernel.EqI32
}

// What is done to a variable or parameter.
const (
	stored  uint8 = 1 << iota
	indexed       // with an index that is known only at run time, in a large array
	chosen        // likewise, anywhere
)

// usage is what the functions of a module do to variables.
type usage struct {
	flags  []uint8           // by ID
	tables []*spirv.Constant // by ID: what a function variable holds, if it is only one constant
	// Stores that nobody can tell apart: through pointers that are themselves variable, or addresses.
	anywhere []spirv.StorageClass
	specials bool // something asks for infinite floats, or for what is no number
}

// A choice among this many scalars at most is made with selects instead of memory.
const maxChoice = 8

// root follows a pointer to the variable or parameter that it points into; 0 if only run time knows.
func (c *compiler) root(id uint32) spirv.ID {
	for {
		c.steps(1)
		d := c.module.Definitions[id]
		if d == nil {
			return 0
		}
		switch d.Op {
		case spirv.OpVariable, spirv.OpFunctionParameter:
			return d.Result
		case spirv.OpAccessChain, spirv.OpInBoundsAccessChain, spirv.OpPtrAccessChain, spirv.OpInBoundsPtrAccessChain,
			spirv.OpCopyObject, spirv.OpImageTexelPointer, spirv.OpCopyLogical, spirv.OpBitcast:
			id = d.Operands[0]
		default:
			return 0
		}
	}
}

// source is the variable from which a value has just been loaded, or the value.
func (c *compiler) source(id uint32) uint32 {
	if d := c.module.Definitions[id]; d != nil && d.Op == spirv.OpLoad {
		return d.Operands[0]
	}
	return id
}

func (c *compiler) analyse() *usage {
	bound := len(c.module.Definitions)
	u := &usage{flags: c.space.bytes.Take(bound), tables: c.space.tables.Take(bound)}
	type pass struct{ argument, parameter spirv.ID }
	var passes []pass
	stores := c.space.ints.Take(bound)
	for _, f := range c.reachable() {
		f.stores = c.space.idLists.Take(len(f.Blocks))
		f.calls = c.space.calls.Take(len(f.Blocks))
		for _, b := range f.cfg.Order {
			for _, i := range f.Blocks[b].Instructions {
				switch i.Op {
				case spirv.OpIsNan, spirv.OpIsInf:
					u.specials = true
				case spirv.OpFOrdEqual, spirv.OpFUnordEqual, spirv.OpFOrdNotEqual, spirv.OpFUnordNotEqual:
					u.specials = u.specials || c.source(i.Operands[0]) == c.source(i.Operands[1])
				case spirv.OpAccessChain, spirv.OpInBoundsAccessChain, spirv.OpPtrAccessChain, spirv.OpInBoundsPtrAccessChain:
					flags := c.chainFlags(i)
					u.flags[c.root(i.Operands[0])] |= flags
					u.flags[i.Result] |= flags | u.flags[spirv.ID(i.Operands[0])]&(indexed|chosen)
				case spirv.OpFunctionCall:
					f.calls[b] = append(f.calls[b], i)
					callee := c.function(spirv.ID(i.Operands[0]))
					for k, p := range callee.Parameters {
						if c.constants.Types[p.Type].Kind != spirv.TypePointer {
							continue
						}
						arg := i.Operands[1+k]
						root := c.root(arg)
						passes = append(passes, pass{root, p.Result})
						if u.flags[spirv.ID(arg)]&chosen != 0 && c.module.Definitions[arg].Op != spirv.OpVariable {
							u.flags[root] |= indexed
						}
						stores[root] += 2 // perhaps
					}
				}
				target := c.storesTo(i)
				if target == 0 {
					continue
				}
				root := c.root(target)
				f.stores[b] = c.space.ids.Push(f.stores[b], root)
				u.flags[root] |= stored
				if root == 0 || c.module.Definitions[root].Op == spirv.OpFunctionParameter {
					if class := c.typeOf(spirv.ID(target)).Class; !slices.Contains(u.anywhere, class) {
						u.anywhere = append(u.anywhere, class)
					}
				}
				stores[root]++
				if i.Op == spirv.OpStore && root == spirv.ID(target) && c.constants.Values[i.Operands[1]] != nil {
					u.tables[root] = c.constants.Values[i.Operands[1]]
				} else {
					stores[root]++
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		c.steps(len(passes))
		for _, p := range passes {
			if f := u.flags[p.argument] | u.flags[p.parameter]; f != u.flags[p.argument] {
				u.flags[p.argument] = f
				changed = true
			}
		}
	}
	for id := range u.tables {
		d := c.module.Definitions[id]
		initialized := d != nil && d.Op == spirv.OpVariable && len(d.Operands) > 1
		switch {
		case initialized && stores[id] == 0:
			u.tables[id] = c.constants.Values[d.Operands[1]]
		case initialized || stores[id] != 1 || d == nil || d.Op != spirv.OpVariable:
			u.tables[id] = nil
		}
	}
	return u
}

// reachable are the functions that the entry point calls, itself the first.
func (c *compiler) reachable() []*function {
	list := []*function{c.function(c.entry.Function)}
	list[0].listed = true
	for k := 0; k < len(list); k++ {
		for _, b := range list[k].cfg.Order {
			for _, i := range list[k].Blocks[b].Instructions {
				if i.Op != spirv.OpFunctionCall {
					continue
				}
				if f := c.function(spirv.ID(i.Operands[0])); !f.listed {
					f.listed = true
					list = append(list, f)
				}
			}
		}
	}
	return list
}

// storesTo gives the pointer through which an instruction writes, or 0.
func (c *compiler) storesTo(i *spirv.Instruction) uint32 {
	switch {
	case i.Op == spirv.OpStore, i.Op == spirv.OpCopyMemory, i.Op == spirv.OpAtomicStore, i.Op == spirv.OpAtomicFlagClear:
		return i.Operands[0]
	case i.Op == spirv.OpAtomicLoad:
		return 0
	case i.Op == spirv.OpExtInst:
		if x := spirv.GLSL(i.Operands[1]); (x == spirv.GLSLModf || x == spirv.GLSLFrexp) && c.isGLSL(i) {
			return i.Operands[3]
		}
		return 0
	case isAtomic(i.Op):
		return i.Operands[0]
	}
	return 0
}

func isAtomic(op spirv.Op) bool {
	switch op {
	case spirv.OpAtomicExchange, spirv.OpAtomicCompareExchange, spirv.OpAtomicCompareExchangeWeak,
		spirv.OpAtomicIIncrement, spirv.OpAtomicIDecrement, spirv.OpAtomicIAdd, spirv.OpAtomicISub,
		spirv.OpAtomicSMin, spirv.OpAtomicUMin, spirv.OpAtomicSMax, spirv.OpAtomicUMax, spirv.OpAtomicAnd,
		spirv.OpAtomicOr, spirv.OpAtomicXor, spirv.OpAtomicFlagTestAndSet, spirv.OpAtomicFMinEXT,
		spirv.OpAtomicFMaxEXT, spirv.OpAtomicFAddEXT:
		return true
	}
	return false
}

// chainFlags says whether an access chain has indices that are known only at run time.
func (c *compiler) chainFlags(i *spirv.Instruction) uint8 {
	base := c.typeOf(spirv.ID(i.Operands[0]))
	t := base.Elem
	indices := i.Operands[1:]
	if i.Op == spirv.OpPtrAccessChain || i.Op == spirv.OpInBoundsPtrAccessChain {
		indices = indices[1:]
	}
	switch base.Class {
	case spirv.StorageClassFunction, spirv.StorageClassPrivate:
	case spirv.StorageClassInput, spirv.StorageClassOutput:
		if !c.graphics() {
			return 0
		}
	default:
		return 0
	}
	flags := uint8(0)
	if c.usageChosen(i.Operands[0]) {
		flags = chosen
	}
	for _, id := range indices {
		if t.Kind == spirv.TypeStruct {
			k := c.constants.Values[spirv.ID(id)]
			if k == nil || int(k.Bits) >= len(t.Members) {
				c.fail(i, "a member's index is no constant")
			}
			t = t.Members[k.Bits]
			continue
		}
		if t.Elem == nil {
			c.fail(i, "an index into a scalar")
		}
		if c.constants.Values[spirv.ID(id)] == nil {
			if flags != 0 || int(t.Count) > maxChoice {
				flags |= indexed
			}
			flags |= chosen
		}
		t = t.Elem
	}
	return flags
}

// usageChosen says whether a pointer comes from a chain with an index that is known only at run time.
func (c *compiler) usageChosen(id uint32) bool {
	for {
		c.steps(1)
		d := c.module.Definitions[id]
		switch d.Op {
		case spirv.OpAccessChain, spirv.OpInBoundsAccessChain:
			for _, x := range d.Operands[1:] {
				if c.constants.Values[spirv.ID(x)] == nil {
					return true
				}
			}
		case spirv.OpCopyObject:
		default:
			return false
		}
		id = d.Operands[0]
	}
}

// globalStores gives the Private variables that a function and those that it calls store to. depth is how many calls
// may be within each other: it begins at maxFrames, which bounds the recursion.
func (c *compiler) globalStores(f *function, depth int) map[spirv.ID]bool {
	if f.globals != nil {
		return f.globals
	}
	if depth == 0 {
		c.fail(f.Instruction, "calls are nested too deeply")
	}
	f.globals = map[spirv.ID]bool{}
	for b := range f.stores {
		for _, id := range f.stores[b] {
			if d := c.module.Definitions[id]; d != nil && d.Op == spirv.OpVariable &&
				(spirv.StorageClass(d.Operands[0]) == spirv.StorageClassPrivate ||
					spirv.StorageClass(d.Operands[0]) == spirv.StorageClassOutput) {
				f.globals[id] = true
			}
		}
		for _, call := range f.calls[b] {
			callee := c.function(spirv.ID(call.Operands[0]))
			for id := range c.globalStores(callee, depth-1) {
				f.globals[id] = true
			}
			for i, p := range callee.Parameters {
				if c.usage.flags[p.Result]&stored != 0 {
					if d := c.module.Definitions[c.root(call.Operands[1+i])]; d != nil && d.Op == spirv.OpVariable {
						f.globals[d.Result] = true
					}
				}
			}
		}
	}
	return f.globals
}
