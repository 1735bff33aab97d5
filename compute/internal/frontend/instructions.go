package frontend

import (
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/spirv"
)

// lower lowers one instruction that is no phi and no terminator.
func (c *compiler) lower(i *spirv.Instruction) {
	switch i.Op {
	case spirv.OpNop, spirv.OpAssumeTrueKHR, spirv.OpLine, spirv.OpNoLine, spirv.OpLabel:
	case spirv.OpUndef: // made by what uses it
	case spirv.OpVariable:
		c.values[i.Result] = operand{pointer: c.newVariable(i)}
	case spirv.OpLoad:
		c.lowerLoad(i)
	case spirv.OpStore:
		c.lowerStore(i)
	case spirv.OpCopyMemory:
		from := c.pointerOf(i, i.Operands[1])
		c.store(i, c.pointerOf(i, i.Operands[0]), c.load(i, from, false))
	case spirv.OpAccessChain, spirv.OpInBoundsAccessChain, spirv.OpPtrAccessChain, spirv.OpInBoundsPtrAccessChain:
		c.accessChain(i)
	case spirv.OpArrayLength:
		c.arrayLength(i)
	case spirv.OpCopyObject, spirv.OpCopyLogical, spirv.OpExpectKHR:
		c.values[i.Result] = c.get(i.Operands[0])
	case spirv.OpFunctionCall:
		c.lowerCall(i)
	case spirv.OpExtInst:
		c.lowerExtended(i)
	case spirv.OpControlBarrier:
		c.barrier(i.Operands[1], i.Operands[2])
	case spirv.OpMemoryBarrier:
		c.barrier(i.Operands[0], i.Operands[1])
	case spirv.OpCompositeConstruct, spirv.OpCompositeExtract, spirv.OpCompositeInsert, spirv.OpVectorShuffle,
		spirv.OpVectorExtractDynamic, spirv.OpVectorInsertDynamic, spirv.OpTranspose:
		c.lowerComposite(i)
	case spirv.OpSelect:
		c.lowerSelect(i)
	case spirv.OpBitcast, spirv.OpConvertPtrToU, spirv.OpConvertUToPtr:
		c.lowerBitcast(i)
	case spirv.OpPtrEqual, spirv.OpPtrNotEqual, spirv.OpPtrDiff:
		c.comparePointers(i)
	case spirv.OpIAddCarry, spirv.OpISubBorrow, spirv.OpUMulExtended, spirv.OpSMulExtended:
		c.lowerExtendedArithmetic(i)
	case spirv.OpAny, spirv.OpAll:
		s := c.scalars(i.Operands[0])
		op := kernel.OrI32
		if i.Op == spirv.OpAll {
			op = kernel.AndI32
		}
		c.set(i, c.one(c.reduce(op, s)).scalars)
	case spirv.OpDot, spirv.OpVectorTimesScalar, spirv.OpMatrixTimesScalar, spirv.OpVectorTimesMatrix,
		spirv.OpMatrixTimesVector, spirv.OpMatrixTimesMatrix, spirv.OpOuterProduct:
		c.lowerLinear(i)
	case spirv.OpSDot, spirv.OpUDot, spirv.OpSUDot, spirv.OpSDotAccSat, spirv.OpUDotAccSat, spirv.OpSUDotAccSat:
		c.lowerIntegerDot(i)
	case spirv.OpConvertFToU, spirv.OpConvertFToS, spirv.OpConvertSToF, spirv.OpConvertUToF, spirv.OpUConvert,
		spirv.OpSConvert, spirv.OpFConvert, spirv.OpQuantizeToF16, spirv.OpSatConvertSToU, spirv.OpSatConvertUToS:
		c.lowerConversion(i)
	case spirv.OpImageTexelPointer:
		c.texelPointer(i)
	case spirv.OpAtomicLoad, spirv.OpAtomicStore, spirv.OpAtomicFlagClear:
		c.lowerAtomic(i)
	default:
		switch {
		case isAtomic(i.Op):
			c.lowerAtomic(i)
		case c.lowerArithmetic(i), c.lowerImage(i), c.lowerFragment(i), c.lowerSubgroup(i):
		default:
			c.fail(i, "is not supported")
		}
	}
}

func (c *compiler) lowerCall(i *spirv.Instruction) {
	f := c.function(spirv.ID(i.Operands[0]))
	args := c.space.operands.Take(len(f.Parameters))
	for k := range args {
		args[k] = c.get(i.Operands[1+k])
	}
	c.values[i.Result] = c.inline(f, args)
}

// reduce joins scalars by an associative operation.
func (c *compiler) reduce(op kernel.Op, s []ir.Value) ir.Value {
	r := s[0]
	for _, v := range s[1:] {
		r = c.g.Op2(op, r, v)
	}
	return r
}

func (c *compiler) lowerComposite(i *spirv.Instruction) {
	t := c.resultType(i)
	switch i.Op {
	case spirv.OpCompositeConstruct:
		out := c.list(c.count(t))[:0]
		for _, id := range i.Operands {
			out = append(out, c.scalars(id)...)
		}
		c.set(i, out)
	case spirv.OpCompositeExtract:
		first, n := c.part(i, c.typeOf(spirv.ID(i.Operands[0])), i.Operands[1:])
		c.set(i, c.scalars(i.Operands[0])[first:first+n])
	case spirv.OpCompositeInsert:
		first, n := c.part(i, t, i.Operands[2:])
		out := c.list(c.count(t))
		copy(out, c.scalars(i.Operands[1]))
		copy(out[first:first+n], c.scalars(i.Operands[0]))
		c.set(i, out)
	case spirv.OpVectorShuffle:
		a, b := c.scalars(i.Operands[0]), c.scalars(i.Operands[1])
		out := c.list(len(i.Operands) - 2)
		for k, x := range i.Operands[2:] {
			switch {
			case int(x) < len(a):
				out[k] = a[x]
			case int(x) < len(a)+len(b):
				out[k] = b[int(x)-len(a)]
			default:
				out[k] = c.zeroOf(t.Elem)
			}
		}
		c.set(i, out)
	case spirv.OpVectorExtractDynamic:
		s := c.scalars(i.Operands[0])
		index := c.index32(i.Operands[1])
		v := s[0]
		for k, x := range s[1:] {
			v = c.g.Choose(c.g.Op2(kernel.EqI32, index, c.g.C32(uint32(k+1))), x, v)
		}
		c.set(i, c.one(v).scalars)
	case spirv.OpVectorInsertDynamic:
		s, x := c.scalars(i.Operands[0]), c.scalar(i.Operands[1])
		index := c.index32(i.Operands[2])
		out := c.list(len(s))
		for k := range s {
			out[k] = c.g.Choose(c.g.Op2(kernel.EqI32, index, c.g.C32(uint32(k))), x, s[k])
		}
		c.set(i, out)
	case spirv.OpTranspose:
		s := c.scalars(i.Operands[0])
		columns, rows := int(t.Count), int(t.Elem.Count)
		out := c.list(len(s))
		for col := range columns {
			for row := range rows {
				out[col*rows+row] = s[row*columns+col]
			}
		}
		c.set(i, out)
	}
}

// part finds the scalars that literal indices select.
func (c *compiler) part(i *spirv.Instruction, t *spirv.Type, indices []uint32) (first, n int) {
	for _, k := range indices {
		if t.Kind != spirv.TypeStruct && (t.Elem == nil || k >= t.Count) || t.Kind == spirv.TypeStruct &&
			int(k) >= len(t.Members) {
			c.fail(i, "index %d is out of range", k)
		}
		elem, at := c.member(t, k)
		first += at
		t = elem
	}
	return first, c.count(t)
}

func (c *compiler) lowerSelect(i *spirv.Instruction) {
	cond := c.scalars(i.Operands[0])
	a, b := c.scalars(i.Operands[1]), c.scalars(i.Operands[2])
	out := c.list(len(a))
	for k := range out {
		x := cond[0]
		if len(cond) > 1 {
			x = cond[k]
		}
		out[k] = c.g.Choose(x, a[k], b[k])
	}
	c.set(i, out)
}

// bitsOf turns a scalar into its bits in a register; fromBits is the opposite.
func (c *compiler) bitsOf(v ir.Value, t *spirv.Type) ir.Value {
	if isHalf(t) {
		return c.g.Op1(kernel.F32ToBits16, v)
	}
	return v
}

func (c *compiler) fromBits(v ir.Value, t *spirv.Type) ir.Value {
	if isHalf(t) {
		return c.g.Op1(kernel.Bits16ToF32, v)
	}
	return v
}

// shape gives the scalar type and the number of a scalar's or vector's components.
func shape(t *spirv.Type) (elem *spirv.Type, n int) {
	if t.Kind == spirv.TypeVector {
		return t.Elem, int(t.Count)
	}
	return t, 1
}

func bitWidth(t *spirv.Type) int {
	if t.Kind == spirv.TypePointer {
		return 64
	}
	return int(t.Width)
}

func (c *compiler) lowerBitcast(i *spirv.Instruction) {
	from, to := c.typeOf(spirv.ID(i.Operands[0])), c.resultType(i)
	s := c.scalars(i.Operands[0])
	if from.Kind == spirv.TypePointer && to.Kind == spirv.TypePointer {
		c.set(i, s)
		return
	}
	a, _ := shape(from)
	b, n := shape(to)
	wa, wb := bitWidth(a), bitWidth(b)
	if i.Op != spirv.OpBitcast {
		// The integer may have another width than the address.
		switch {
		case a.Kind == spirv.TypeInt && wa != 64:
			s = c.one(c.convertUnsigned(s[0], a, 64)).scalars
		case b.Kind == spirv.TypeInt && wb != 64:
			s = c.one(c.truncate(s[0], 64, b)).scalars
		}
		c.set(i, s)
		return
	}
	out := c.list(n)
	for k := range out {
		var v ir.Value
		switch {
		case wa == wb:
			v = c.bitsOf(s[k], a)
		case wa < wb: // several make one
			parts := wb / wa
			var words [2]ir.Value
			for p := range parts {
				x := c.bitsOf(s[k*parts+p], a)
				word, shift := p*wa/32, p*wa%32
				if shift > 0 {
					x = c.g.Op2(kernel.OrI32, words[word], c.g.Op2(kernel.ShlI32, x, c.g.C32(uint32(shift))))
				}
				words[word] = x
			}
			v = words[0]
			if wb == 64 {
				v = c.g.Op2(kernel.Join64, words[0], words[1])
			}
		default: // one makes several
			parts := wa / wb
			x := c.bitsOf(s[k/parts], a)
			at := k % parts * wb
			if wa == 64 {
				x = c.g.Op1([2]kernel.Op{kernel.Low32, kernel.High32}[at/32], x)
				at %= 32
			}
			if at > 0 {
				x = c.g.Op2(kernel.ShrU32, x, c.g.C32(uint32(at)))
			}
			switch wb {
			case 8:
				x = c.g.Op1(kernel.Zext8, x)
			case 16:
				x = c.g.Op1(kernel.Zext16, x)
			}
			v = x
		}
		out[k] = c.fromBits(v, b)
	}
	c.set(i, out)
}

func (c *compiler) comparePointers(i *spirv.Instruction) {
	a, b := c.scalars(i.Operands[0]), c.scalars(i.Operands[1])
	if i.Op == spirv.OpPtrDiff {
		p := c.pointerOf(i, i.Operands[0])
		stride := p.stride
		if !p.explicit || stride == 0 {
			stride = c.sizeOf(p.typ, p.explicit, p.matrix, p.rowMajor)
		}
		var d ir.Value
		if len(a) == 1 {
			d = c.g.Op2(kernel.DivS64, c.g.Op2(kernel.SubI64, a[0], b[0]), c.g.Constant(uint64(max(stride, 1)), true))
		} else {
			d = c.g.Op2(kernel.DivS32, c.g.Op2(kernel.SubI32, a[2], b[2]), c.g.C32(max(stride, 1)))
		}
		t := c.resultType(i)
		from := &spirv.Type{Kind: spirv.TypeInt, Width: uint32(32 * (1 + b2i(len(a) == 1))), Signed: true}
		if t.Width <= 32 && from.Width == 64 {
			d = c.truncate(d, 64, t)
		} else {
			d = c.convertInt(d, from, int(t.Width))
		}
		c.set(i, c.one(d).scalars)
		return
	}
	var same ir.Value
	if len(a) == 1 {
		same = c.g.Op2(kernel.EqI64, a[0], b[0])
	} else {
		same = c.g.Op2(kernel.EqI32, a[0], b[0])
		// Null pointers are equal wherever they point.
		rest := c.g.Op2(kernel.AndI32, c.g.Op2(kernel.EqI32, a[1], b[1]), c.g.Op2(kernel.EqI32, a[2], b[2]))
		rest = c.g.Op2(kernel.OrI32, rest, c.g.Op2(kernel.EqI32, a[0], c.g.C32(nullPointer)))
		same = c.g.Op2(kernel.AndI32, same, rest)
	}
	if i.Op == spirv.OpPtrNotEqual {
		same = c.g.Op1(kernel.NotI32, same)
	}
	c.set(i, c.one(same).scalars)
}

// lowerLinear lowers products of vectors and matrices.
func (c *compiler) lowerLinear(i *spirv.Instruction) {
	t := c.resultType(i)
	a, b := c.scalars(i.Operands[0]), c.scalars(i.Operands[1])
	f := t
	for f.Elem != nil {
		f = f.Elem
	}
	var out []ir.Value
	dot := func(n int, x, y func(k int) ir.Value) ir.Value {
		var r ir.Value
		for k := range n {
			p := c.float2(kernel.MulF32, f, x(k), y(k))
			if k == 0 {
				r = p
			} else {
				r = c.float2(kernel.AddF32, f, r, p)
			}
		}
		return r
	}
	switch i.Op {
	case spirv.OpDot:
		out = c.one(dot(len(a), func(k int) ir.Value { return a[k] }, func(k int) ir.Value { return b[k] })).scalars
	case spirv.OpVectorTimesScalar, spirv.OpMatrixTimesScalar:
		out = c.list(len(a))
		for k := range a {
			out[k] = c.float2(kernel.MulF32, f, a[k], b[0])
		}
	case spirv.OpOuterProduct:
		out = c.list(len(a) * len(b))
		for col := range b {
			for row := range a {
				out[col*len(a)+row] = c.float2(kernel.MulF32, f, a[row], b[col])
			}
		}
	case spirv.OpMatrixTimesVector:
		rows := int(t.Count)
		out = c.list(rows)
		for r := range out {
			out[r] = dot(len(b), func(k int) ir.Value { return a[k*rows+r] }, func(k int) ir.Value { return b[k] })
		}
	case spirv.OpVectorTimesMatrix:
		out = c.list(int(t.Count))
		for col := range out {
			out[col] = dot(len(a), func(k int) ir.Value { return a[k] }, func(k int) ir.Value { return b[col*len(a)+k] })
		}
	case spirv.OpMatrixTimesMatrix:
		rows, columns := int(t.Elem.Count), int(t.Count)
		inner := len(a) / rows
		out = c.list(rows * columns)
		for col := range columns {
			for r := range rows {
				out[col*rows+r] = dot(inner, func(k int) ir.Value { return a[k*rows+r] },
					func(k int) ir.Value { return b[col*inner+k] })
			}
		}
	}
	c.set(i, out)
}
