package frontend

import (
	"encoding/binary"

	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/spirv"
)

// scalarSize is the bytes of a scalar in memory. A bool, which only memory of our own layout has, is its mask.
func scalarSize(t *spirv.Type) uint32 {
	switch t.Kind {
	case spirv.TypeBool:
		return 4
	case spirv.TypePointer:
		if wide(t) {
			return 8
		}
		return 12
	}
	return t.Width / 8
}

// ownLayout is how a type lies in memory that has no layout of the module's: scalars behind each other, aligned to
// their size.
type ownLayout struct {
	size    uint32   // up to the end of the last scalar, for structs rounded up to align
	align   uint32   // that of the largest scalar
	offsets []uint32 // of a struct's members
}

// own lays a type out, once: types that others consist of are asked for by each of them. The recursion is as deep as
// the type (spirv.MaxTypeDepth).
func (c *compiler) own(t *spirv.Type) ownLayout {
	if l, ok := c.layouts[t]; ok {
		return l
	}
	c.steps(instructionSteps)
	l := ownLayout{align: 1}
	switch t.Kind {
	case spirv.TypeVector, spirv.TypeMatrix, spirv.TypeArray:
		elem := c.own(t.Elem)
		l.size, l.align = c.checked(uint64(elem.size)*uint64(t.Count)), elem.align
	case spirv.TypeRuntimeArray:
		l.align = c.own(t.Elem).align
	case spirv.TypeStruct:
		l.offsets = make([]uint32, len(t.Members))
		for k, m := range t.Members {
			x := c.own(m)
			l.offsets[k] = roundUp(l.size, x.align)
			l.size = c.checked(uint64(l.offsets[k]) + uint64(x.size))
			l.align = max(l.align, x.align)
		}
		l.size = roundUp(l.size, l.align)
	default:
		l.size = scalarSize(t)
		l.align = l.size
		if t.Kind == spirv.TypePointer && !wide(t) {
			l.align = 4
		}
	}
	put(&c.layouts, t, l)
	return l
}

// sizeOf is the bytes of an object up to the end of its last scalar. The recursion is as deep as the type
// (spirv.MaxTypeDepth).
func (c *compiler) sizeOf(t *spirv.Type, explicit bool, matrix uint32, rowMajor bool) uint32 {
	if !explicit {
		return c.own(t).size
	}
	c.steps(1)
	switch t.Kind {
	case spirv.TypeVector:
		return scalarSize(t.Elem) * t.Count
	case spirv.TypeMatrix:
		if rowMajor {
			return matrix*(t.Elem.Count-1) + scalarSize(t.Elem.Elem)*t.Count
		}
		return c.columnStride(t, true, matrix)*(t.Count-1) + scalarSize(t.Elem.Elem)*t.Elem.Count
	case spirv.TypeArray:
		if t.Count == 0 {
			return 0
		}
		elem := c.sizeOf(t.Elem, true, matrix, rowMajor)
		stride := t.Stride
		if stride == 0 {
			stride = elem
		}
		return c.checked(uint64(stride)*uint64(t.Count-1) + uint64(elem))
	case spirv.TypeRuntimeArray:
		return 0
	case spirv.TypeStruct:
		end := uint32(0)
		for k, m := range t.Members {
			l := t.Layouts[k]
			end = max(end, c.checked(uint64(l.Offset)+uint64(c.sizeOf(m, true, l.MatrixStride, l.RowMajor))))
		}
		return end
	}
	return scalarSize(t)
}

func (c *compiler) checked(size uint64) uint32 {
	if size > 1<<31 {
		c.fail(nil, "an object of %d bytes", size)
	}
	return uint32(size)
}

func roundUp(n, to uint32) uint32 { return (n + to - 1) / to * to }

// strideOf is the distance of an array's elements.
func (c *compiler) strideOf(t *spirv.Type, explicit bool) uint32 {
	if explicit && t.Stride != 0 {
		return t.Stride
	}
	return c.sizeOf(t.Elem, explicit, 0, false)
}

// columnStride is the distance of the columns of a column-major matrix.
func (c *compiler) columnStride(t *spirv.Type, explicit bool, matrix uint32) uint32 {
	if explicit && matrix != 0 {
		return matrix
	}
	return scalarSize(t.Elem.Elem) * t.Elem.Count
}

// leaf is a scalar of an object in memory.
type leaf struct {
	typ *spirv.Type
	at  uint64 // bytes behind the object's start
}

// leavesOf are the scalars of what a pointer points to.
func (c *compiler) leavesOf(p *pointer) []leaf {
	return c.leaves(c.space.leaves.Take(c.count(p.typ))[:0], p.typ, 0, p)
}

// leaves appends the scalars of an object of type t. The recursion is as deep as the type (spirv.MaxTypeDepth).
func (c *compiler) leaves(list []leaf, t *spirv.Type, at uint64, p *pointer) []leaf {
	switch t.Kind {
	case spirv.TypeVector:
		step := uint64(max(p.component, scalarSize(t.Elem)))
		for k := range uint64(t.Count) {
			list = append(list, leaf{t.Elem, at + k*step})
		}
	case spirv.TypeMatrix:
		across, along := uint64(c.columnStride(t, p.explicit, p.matrix)), uint64(scalarSize(t.Elem.Elem))
		if p.explicit && p.rowMajor {
			across, along = along, uint64(p.matrix)
		}
		for k := range uint64(t.Count) {
			for r := range uint64(t.Elem.Count) {
				list = append(list, leaf{t.Elem.Elem, at + k*across + r*along})
			}
		}
	case spirv.TypeArray:
		stride := uint64(c.strideOf(t, p.explicit))
		for k := range uint64(t.Count) {
			list = c.leaves(list, t.Elem, at+k*stride, p)
		}
	case spirv.TypeStruct:
		for k, m := range t.Members {
			q := *p
			offset := uint64(0)
			if p.explicit {
				l := t.Layouts[k]
				q.matrix, q.rowMajor, q.component = l.MatrixStride, l.RowMajor, 0
				offset = uint64(l.Offset)
			} else {
				offset = uint64(c.own(t).offsets[k])
			}
			list = c.leaves(list, m, at+offset, &q)
		}
	default:
		list = append(list, leaf{t, at})
	}
	return list
}

// workgroupLayout says where the variables of workgroup memory are.
type workgroupLayout struct {
	offsets  map[spirv.ID]uint32
	size     uint32
	explicit bool
}

// explicitShared says whether workgroup variables are blocks, which all begin at 0.
func (c *compiler) explicitShared() bool {
	c.layShared()
	return c.workgroup.explicit
}

func (c *compiler) shared(i *spirv.Instruction) (offset uint64, explicit bool) {
	c.layShared()
	return uint64(c.workgroup.offsets[i.Result]), c.workgroup.explicit
}

func (c *compiler) layShared() {
	w := &c.workgroup
	if w.offsets != nil {
		return
	}
	w.offsets = map[spirv.ID]uint32{}
	var used []bool
	for _, i := range c.module.Variables {
		if spirv.StorageClass(i.Operands[0]) != spirv.StorageClassWorkgroup {
			continue
		}
		if used == nil {
			used = c.reached()
		}
		if !used[i.Result] {
			continue
		}
		t := c.resultType(i).Elem
		for _, d := range c.module.Decorations[t.ID] {
			w.explicit = w.explicit || d.Kind == spirv.DecorationBlock
		}
		if w.explicit {
			w.size = max(w.size, c.sizeOf(t, true, 0, false))
			continue
		}
		w.size = roundUp(w.size, 32)
		w.offsets[i.Result] = w.size
		w.size = c.checked(uint64(w.size) + uint64(c.sizeOf(t, false, 0, false)))
	}
}

// reached are the variables, by id, that the entry point's functions name.
func (c *compiler) reached() []bool {
	used := c.space.flags.Take(len(c.module.Definitions))
	for _, f := range c.functions {
		if f == nil {
			continue
		}
		for _, b := range f.cfg.Order {
			for _, i := range f.Blocks[b].Instructions {
				for _, o := range i.Operands {
					if int(o) < len(c.module.Definitions) {
						if d := c.module.Definitions[o]; d != nil && d.Op == spirv.OpVariable {
							used[d.Result] = true
						}
					}
				}
			}
		}
	}
	return used
}

// tableMemory is the memory of the program's data.
func (c *compiler) tableMemory() int32 {
	return c.memoryFor(memoryKey{kind: ir.MemoryData}, "constants", true)
}

// tableOffset puts a constant into the program's data, once, and says where it is.
func (c *compiler) tableOffset(k *spirv.Constant) uint64 {
	if at, ok := c.tables[k]; ok {
		return at
	}
	at := uint64(roundUp(uint32(len(c.data)), 32))
	put(&c.tables, k, at)
	c.count(k.Type) // not too many
	size := c.sizeOf(k.Type, false, 0, false)
	c.budget.Spend(budget.Bytes, 2*int(size))
	c.data = append(c.data, make([]byte, int(at)+int(size)-len(c.data))...)
	c.writeConstant(c.data[at:], k)
	return at
}

// writeConstant writes a constant as it lies in memory. The recursion is as deep as the type (spirv.MaxTypeDepth).
func (c *compiler) writeConstant(into []byte, k *spirv.Constant) {
	t := k.Type
	switch t.Kind {
	case spirv.TypeVector, spirv.TypeMatrix, spirv.TypeArray, spirv.TypeStruct:
		for n, e := range k.Elements {
			at := uint32(0)
			if t.Kind == spirv.TypeStruct {
				at = c.own(t).offsets[n]
			} else {
				at = uint32(n) * c.sizeOf(t.Elem, false, 0, false)
			}
			c.writeConstant(into[at:], e)
		}
		return
	}
	bits := k.Bits
	if t.Kind == spirv.TypeBool {
		bits = registerBits(t, bits)
	}
	switch scalarSize(t) {
	case 1:
		into[0] = byte(bits)
	case 2:
		binary.LittleEndian.PutUint16(into, uint16(bits))
	case 4:
		binary.LittleEndian.PutUint32(into, uint32(bits))
	case 8:
		binary.LittleEndian.PutUint64(into, bits)
	}
}
