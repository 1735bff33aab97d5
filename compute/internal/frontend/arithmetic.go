package frontend

import (
	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// signExtend makes an 8- or 16-bit integer a signed 32-bit one, zeroExtend cuts what lies beyond its width.
func (c *compiler) signExtend(v ir.Value, t *spirv.Type) ir.Value {
	switch t.Width {
	case 8:
		return c.g.Op1(kernel.Sext8, v)
	case 16:
		return c.g.Op1(kernel.Sext16, v)
	}
	return v
}

func (c *compiler) zeroExtend(v ir.Value, t *spirv.Type) ir.Value {
	switch t.Width {
	case 8:
		return c.g.Op1(kernel.Zext8, v)
	case 16:
		return c.g.Op1(kernel.Zext16, v)
	}
	return v
}

// to64 gives the 64-bit kernel of a 32-bit one.
func to64(op kernel.Op) kernel.Op {
	wide := ops.Of(op).Wide
	if wide == 0 {
		budget.Fail(errNoKernel)
	}
	return wide
}

// float1, float2 and float3 add a kernel for 32-bit floats in the version for a type.
func (c *compiler) float1(op kernel.Op, t *spirv.Type, a ir.Value) ir.Value {
	return c.float3(op, t, a, 0, 0)
}
func (c *compiler) float2(op kernel.Op, t *spirv.Type, a, b ir.Value) ir.Value {
	return c.float3(op, t, a, b, 0)
}
func (c *compiler) float3(op kernel.Op, t *spirv.Type, a, b, x ir.Value) ir.Value {
	switch t.Width {
	case 64:
		return c.g.Op3(to64(op), a, b, x)
	case 16:
		v := c.g.Op3(op, a, b, x)
		switch op {
		case kernel.EqF32, kernel.LtF32, kernel.LeF32, kernel.NeOrdF32, kernel.IsNaNF32, kernel.IsInfF32, kernel.NegF32,
			kernel.AbsF32, kernel.MinF32, kernel.MaxF32, kernel.FloorF32, kernel.CeilF32, kernel.TruncF32,
			kernel.RoundEvenF32, kernel.SignF32, kernel.FrexpF32, kernel.FrexpExpF32:
			return v
		}
		return c.g.Op1(kernel.RoundF16, v)
	}
	return c.g.Op3(op, a, b, x)
}

// componentwise is how a componentwise instruction is lowered.
type componentwise struct {
	op       kernel.Op
	signed   bool // narrow operands are sign-extended
	narrow   bool // the result can have bits beyond a narrow type
	float    bool
	not      bool // of the result
	swap     bool
	shift    bool // the second operand is a count of any width
	boolean  bool // the operands are masks
	bitCount bool // the result has 32 bits, whatever the operand
}

// arithmetics is by opcode; others have no kernel.
var arithmetics = [...]componentwise{
	spirv.OpIAdd:      {op: kernel.AddI32, narrow: true},
	spirv.OpISub:      {op: kernel.SubI32, narrow: true},
	spirv.OpIMul:      {op: kernel.MulI32, narrow: true},
	spirv.OpSNegate:   {op: kernel.NegI32, narrow: true},
	spirv.OpNot:       {op: kernel.NotI32, narrow: true},
	spirv.OpUDiv:      {op: kernel.DivU32, narrow: true},
	spirv.OpSDiv:      {op: kernel.DivS32, signed: true, narrow: true},
	spirv.OpUMod:      {op: kernel.RemU32, narrow: true},
	spirv.OpSRem:      {op: kernel.RemS32, signed: true, narrow: true},
	spirv.OpSMod:      {op: kernel.ModS32, signed: true, narrow: true},
	spirv.OpBitwiseOr: {op: kernel.OrI32}, spirv.OpBitwiseAnd: {op: kernel.AndI32},
	spirv.OpBitwiseXor: {op: kernel.XorI32},

	spirv.OpShiftLeftLogical:     {op: kernel.ShlI32, narrow: true, shift: true},
	spirv.OpShiftRightLogical:    {op: kernel.ShrU32, shift: true},
	spirv.OpShiftRightArithmetic: {op: kernel.ShrS32, signed: true, narrow: true, shift: true},

	spirv.OpFAdd: {op: kernel.AddF32, float: true}, spirv.OpFSub: {op: kernel.SubF32, float: true},
	spirv.OpFMul: {op: kernel.MulF32, float: true}, spirv.OpFDiv: {op: kernel.DivF32, float: true},
	spirv.OpFRem: {op: kernel.RemF32, float: true}, spirv.OpFMod: {op: kernel.ModF32, float: true},
	spirv.OpFNegate: {op: kernel.NegF32, float: true},
	spirv.OpIsNan:   {op: kernel.IsNaNF32, float: true}, spirv.OpIsInf: {op: kernel.IsInfF32, float: true},

	spirv.OpIEqual: {op: kernel.EqI32}, spirv.OpINotEqual: {op: kernel.NeI32},
	spirv.OpULessThan: {op: kernel.LtU32}, spirv.OpULessThanEqual: {op: kernel.LeU32},
	spirv.OpUGreaterThan: {op: kernel.LtU32, swap: true}, spirv.OpUGreaterThanEqual: {op: kernel.LeU32, swap: true},
	spirv.OpSLessThan: {op: kernel.LtS32, signed: true}, spirv.OpSLessThanEqual: {op: kernel.LeS32, signed: true},
	spirv.OpSGreaterThan:      {op: kernel.LtS32, signed: true, swap: true},
	spirv.OpSGreaterThanEqual: {op: kernel.LeS32, signed: true, swap: true},

	spirv.OpFOrdEqual: {op: kernel.EqF32, float: true}, spirv.OpFUnordNotEqual: {op: kernel.EqF32, float: true, not: true},
	spirv.OpFOrdNotEqual:           {op: kernel.NeOrdF32, float: true},
	spirv.OpFUnordEqual:            {op: kernel.NeOrdF32, float: true, not: true},
	spirv.OpFOrdLessThan:           {op: kernel.LtF32, float: true},
	spirv.OpFUnordGreaterThanEqual: {op: kernel.LtF32, float: true, not: true},
	spirv.OpFOrdLessThanEqual:      {op: kernel.LeF32, float: true},
	spirv.OpFUnordGreaterThan:      {op: kernel.LeF32, float: true, not: true},
	spirv.OpFOrdGreaterThan:        {op: kernel.LtF32, float: true, swap: true},
	spirv.OpFUnordLessThanEqual:    {op: kernel.LtF32, float: true, swap: true, not: true},
	spirv.OpFOrdGreaterThanEqual:   {op: kernel.LeF32, float: true, swap: true},
	spirv.OpFUnordLessThan:         {op: kernel.LeF32, float: true, swap: true, not: true},

	spirv.OpLogicalAnd: {op: kernel.AndI32, boolean: true}, spirv.OpLogicalOr: {op: kernel.OrI32, boolean: true},
	spirv.OpLogicalNot: {op: kernel.NotI32, boolean: true}, spirv.OpLogicalNotEqual: {op: kernel.XorI32, boolean: true},
	spirv.OpLogicalEqual: {op: kernel.XorI32, boolean: true, not: true},

	spirv.OpBitCount: {op: kernel.PopCount32, bitCount: true},
}

// lowerArithmetic lowers what is done to each component by itself.
func (c *compiler) lowerArithmetic(i *spirv.Instruction) bool {
	if int(i.Op) >= len(arithmetics) || arithmetics[i.Op].op == 0 {
		return c.lowerBits(i)
	}
	x := &arithmetics[i.Op]
	a := c.scalars(i.Operands[0])
	var b []ir.Value
	if len(i.Operands) > 1 {
		b = c.scalars(i.Operands[1])
	}
	t, _ := shape(c.typeOf(spirv.ID(i.Operands[0])))
	result, _ := shape(c.resultType(i))
	out := c.list(len(a))
	for k := range out {
		u, v := a[k], ir.Value(0)
		if b != nil {
			v = b[k]
		}
		if x.shift {
			s, _ := shape(c.typeOf(spirv.ID(i.Operands[1])))
			if t.Width == 64 {
				v = c.convertUnsigned(v, s, 64)
			} else if s.Width == 64 {
				v = c.g.Op1(kernel.TruncI64I32, v)
			}
		}
		if x.swap {
			u, v = v, u
		}
		switch {
		case x.boolean || x.float:
		case x.signed && t.Width < 32:
			u = c.signExtend(u, t)
			if !x.shift {
				v = c.signExtend(v, t)
			}
		}
		var r ir.Value
		switch {
		case x.float:
			r = c.float2(x.op, t, u, v)
		case !x.boolean && t.Width == 64:
			r = c.g.Op2(to64(x.op), u, v)
		default:
			r = c.g.Op2(x.op, u, v)
			if x.narrow && t.Width < 32 {
				r = c.zeroExtend(r, t)
			}
		}
		if x.not {
			r = c.g.Op1(kernel.NotI32, r)
		}
		if x.bitCount {
			r = c.fitInt(r, result)
		}
		out[k] = r
	}
	c.set(i, out)
	return true
}

// fitInt makes an unsigned 32-bit integer one of type t.
func (c *compiler) fitInt(v ir.Value, t *spirv.Type) ir.Value {
	if t.Width == 64 {
		return c.g.Op1(kernel.ZextI32I64, v)
	}
	return c.zeroExtend(v, t)
}

// lowerBits lowers the bit-field instructions.
func (c *compiler) lowerBits(i *spirv.Instruction) bool {
	switch i.Op {
	case spirv.OpBitReverse, spirv.OpBitFieldInsert, spirv.OpBitFieldSExtract, spirv.OpBitFieldUExtract,
		spirv.OpLessOrGreater, spirv.OpOrdered, spirv.OpUnordered, spirv.OpSignBitSet, spirv.OpIsFinite:
	default:
		return false
	}
	t, _ := shape(c.typeOf(spirv.ID(i.Operands[0])))
	a := c.scalars(i.Operands[0])
	out := c.list(len(a))
	for k, v := range a {
		switch i.Op {
		case spirv.OpBitReverse:
			out[k] = c.reverse(v, t)
		case spirv.OpBitFieldInsert:
			offset, count := c.count64(i.Operands[2], t), c.count64(i.Operands[3], t)
			out[k] = c.insertBits(t, v, c.scalars(i.Operands[1])[k], offset, count)
		case spirv.OpBitFieldUExtract, spirv.OpBitFieldSExtract:
			offset, count := c.count64(i.Operands[1], t), c.count64(i.Operands[2], t)
			out[k] = c.extractBits(t, v, offset, count, i.Op == spirv.OpBitFieldSExtract)
		case spirv.OpLessOrGreater:
			out[k] = c.float2(kernel.NeOrdF32, t, v, c.scalars(i.Operands[1])[k])
		case spirv.OpOrdered, spirv.OpUnordered:
			w := c.scalars(i.Operands[1])[k]
			out[k] = c.g.Op2(kernel.OrI32, c.float1(kernel.IsNaNF32, t, v), c.float1(kernel.IsNaNF32, t, w))
			if i.Op == spirv.OpOrdered {
				out[k] = c.g.Op1(kernel.NotI32, out[k])
			}
		default:
			c.fail(i, "is not supported in compute shaders")
		}
	}
	c.set(i, out)
	return true
}

// int2 adds an integer kernel in the version for a type; narrow results are not cut.
func (c *compiler) int2(op kernel.Op, t *spirv.Type, a, b ir.Value) ir.Value {
	if t.Width == 64 {
		op = to64(op)
	}
	return c.g.Op2(op, a, b)
}

// count64 gives a count or offset of bits with the width that shifts of type t ask for.
func (c *compiler) count64(id uint32, t *spirv.Type) ir.Value {
	s, _ := shape(c.typeOf(spirv.ID(id)))
	if t.Width == 64 {
		return c.convertUnsigned(c.scalar(id), s, 64)
	}
	if s.Width == 64 {
		return c.g.Op1(kernel.TruncI64I32, c.scalar(id))
	}
	return c.scalar(id)
}

func (c *compiler) reverse(v ir.Value, t *spirv.Type) ir.Value {
	if t.Width == 64 {
		return c.g.Op2(kernel.Join64, c.g.Op1(kernel.Reverse32, c.g.Op1(kernel.High32, v)),
			c.g.Op1(kernel.Reverse32, c.g.Op1(kernel.Low32, v)))
	}
	v = c.g.Op1(kernel.Reverse32, v)
	if t.Width < 32 {
		v = c.g.Op2(kernel.ShrU32, v, c.g.C32(32-t.Width))
	}
	return v
}

// lowMask has the lowest count bits set; count may be the whole width.
func (c *compiler) lowMask(t *spirv.Type, count ir.Value) ir.Value {
	wide := t.Width == 64
	width := uint64(32)
	if wide {
		width = 64
	}
	one := c.g.Constant(1, wide)
	m := c.int2(kernel.SubI32, t, c.int2(kernel.ShlI32, t, one, count), one)
	full := c.int2(kernel.LeU32, t, c.g.Constant(width, wide), count)
	return c.g.Choose(full, c.g.Constant(^uint64(0), wide), m)
}

func (c *compiler) insertBits(t *spirv.Type, base, insert, offset, count ir.Value) ir.Value {
	m := c.int2(kernel.ShlI32, t, c.lowMask(t, count), offset)
	x := c.int2(kernel.AndI32, t, c.int2(kernel.ShlI32, t, insert, offset), m)
	not := kernel.NotI32
	if t.Width == 64 {
		not = kernel.NotI64
	}
	r := c.int2(kernel.OrI32, t, c.int2(kernel.AndI32, t, base, c.g.Op1(not, m)), x)
	// An empty field at the end of the word has an offset that no shift can make.
	wide := t.Width == 64
	r = c.g.Choose(c.int2(kernel.EqI32, t, count, c.g.Constant(0, wide)), base, r)
	return c.zeroExtend(r, t)
}

func (c *compiler) extractBits(t *spirv.Type, v, offset, count ir.Value, signed bool) ir.Value {
	wide := t.Width == 64
	width := uint64(32)
	if wide {
		width = 64
	}
	if !signed {
		return c.int2(kernel.AndI32, t, c.int2(kernel.ShrU32, t, v, offset), c.lowMask(t, count))
	}
	// Left so that the field ends at the top, and back with copies of its sign.
	back := c.int2(kernel.SubI32, t, c.g.Constant(width, wide), count)
	left := c.int2(kernel.SubI32, t, back, offset)
	r := c.int2(kernel.ShrS32, t, c.int2(kernel.ShlI32, t, v, left), back)
	r = c.g.Choose(c.int2(kernel.EqI32, t, count, c.g.Constant(0, wide)), c.g.Constant(0, wide), r)
	return c.zeroExtend(r, t)
}

// lowerExtendedArithmetic lowers what gives a struct of two results.
func (c *compiler) lowerExtendedArithmetic(i *spirv.Instruction) {
	t, n := shape(c.typeOf(spirv.ID(i.Operands[0])))
	a, b := c.scalars(i.Operands[0]), c.scalars(i.Operands[1])
	out := c.list(2 * n)
	for k := range n {
		out[k], out[n+k] = c.extended(i.Op, t, a[k], b[k])
	}
	c.set(i, out)
}

func (c *compiler) extended(op spirv.Op, t *spirv.Type, a, b ir.Value) (low, high ir.Value) {
	carry := func(mask ir.Value) ir.Value {
		v := c.g.Op1(kernel.MaskToI32, mask)
		if t.Width == 64 {
			v = c.g.Op1(kernel.ZextI32I64, v)
		}
		return v
	}
	switch op {
	case spirv.OpIAddCarry:
		low = c.zeroExtend(c.int2(kernel.AddI32, t, a, b), t)
		return low, carry(c.int2(kernel.LtU32, t, low, a))
	case spirv.OpISubBorrow:
		low = c.zeroExtend(c.int2(kernel.SubI32, t, a, b), t)
		return low, carry(c.int2(kernel.LtU32, t, a, b))
	}
	signed := op == spirv.OpSMulExtended
	if t.Width < 32 {
		if signed {
			a, b = c.signExtend(a, t), c.signExtend(b, t)
		}
		p := c.g.Op2(kernel.MulI32, a, b)
		return c.zeroExtend(p, t), c.zeroExtend(c.g.Op2(kernel.ShrU32, p, c.g.C32(t.Width)), t)
	}
	h := kernel.MulHighU32
	if signed {
		h = kernel.MulHighS32
	}
	return c.int2(kernel.MulI32, t, a, b), c.int2(h, t, a, b)
}

// finite says whether no float of the shader counts as infinite or as no number: that holds where nothing in the module
// asks for more (chapter "Precision and Operation of SPIR-V Instructions", and SPV_KHR_float_controls). A shader that
// looks for such numbers gets them, too, though it can't rely on that.
func (c *compiler) finite() bool {
	if c.usage.specials {
		return false
	}
	for _, i := range c.entry.Modes {
		switch spirv.ExecutionMode(i.Operands[1]) {
		case spirv.ExecutionModeSignedZeroInfNanPreserve, spirv.ExecutionModeFPFastMathDefault:
			return false
		}
	}
	for _, list := range c.module.Decorations {
		for _, d := range list {
			if d.Kind == spirv.DecorationNoContraction || d.Kind == spirv.DecorationFPFastMathMode {
				return false
			}
		}
	}
	return true
}
