package frontend

import (
	"errors"
	"math"

	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/internal/vk"
	"farside/spirv"
)

var errNoKernel = errors.New("an operation has no 64-bit version")

// convertInt extends an integer of type t to 32 or 64 bits as its signedness says, or cuts it.
func (c *compiler) convertInt(v ir.Value, t *spirv.Type, width int) ir.Value {
	if !t.Signed {
		return c.convertUnsigned(v, t, width)
	}
	if t.Width < 32 {
		v = c.signExtend(v, t)
	}
	switch {
	case width == 64 && t.Width < 64:
		return c.g.Op1(kernel.SextI32I64, v)
	case width < 64 && t.Width == 64:
		return c.g.Op1(kernel.TruncI64I32, v)
	}
	return v
}

func (c *compiler) convertUnsigned(v ir.Value, t *spirv.Type, width int) ir.Value {
	switch {
	case width == 64 && t.Width < 64:
		return c.g.Op1(kernel.ZextI32I64, v)
	case width < 64 && t.Width == 64:
		return c.g.Op1(kernel.TruncI64I32, v)
	}
	return v
}

// truncate cuts an integer of so many bits to type t.
func (c *compiler) truncate(v ir.Value, width int, t *spirv.Type) ir.Value {
	if width == 64 && t.Width < 64 {
		v = c.g.Op1(kernel.TruncI64I32, v)
	}
	return c.zeroExtend(v, t)
}

// rounding gives an instruction's FPRoundingMode.
func (c *compiler) rounding(i *spirv.Instruction) spirv.FPRoundingMode {
	for _, d := range c.module.Decorations[i.Result] {
		if d.Kind == spirv.DecorationFPRoundingMode {
			return spirv.FPRoundingMode(d.Operands[0])
		}
	}
	return spirv.FPRoundingModeRTE
}

func (c *compiler) lowerConversion(i *spirv.Instruction) {
	from, _ := shape(c.typeOf(spirv.ID(i.Operands[0])))
	to, n := shape(c.resultType(i))
	a := c.scalars(i.Operands[0])
	if i.Op == spirv.OpFConvert && from.Width == to.Width {
		c.warn(i, vk.NoVUID, "both components have %d bits, which SPIR-V does not allow for this instruction; it copies",
			to.Width)
	}
	out := c.list(n)
	for k := range out {
		out[k] = c.convert(i, a[k], from, to)
	}
	c.set(i, out)
}

func (c *compiler) convert(i *spirv.Instruction, v ir.Value, from, to *spirv.Type) ir.Value {
	double := from.Width == 64
	pick := func(a, b kernel.Op) kernel.Op { // by the operand's width
		if double {
			return b
		}
		return a
	}
	switch i.Op {
	case spirv.OpUConvert:
		if to.Width == 64 {
			return c.convertUnsigned(v, from, 64)
		}
		return c.truncate(v, int(from.Width), to)
	case spirv.OpSConvert:
		signed := *from
		signed.Signed = true
		if to.Width == 64 {
			return c.convertInt(v, &signed, 64)
		}
		return c.zeroExtend(c.convertInt(v, &signed, 32), to)
	case spirv.OpConvertFToU:
		if to.Width == 64 {
			return c.g.Op1(pick(kernel.F32ToU64, kernel.F64ToU64), v)
		}
		return c.zeroExtend(c.g.Op1(pick(kernel.F32ToU32, kernel.F64ToU32), v), to)
	case spirv.OpConvertFToS:
		if to.Width == 64 {
			return c.g.Op1(pick(kernel.F32ToS64, kernel.F64ToS64), v)
		}
		return c.zeroExtend(c.g.Op1(pick(kernel.F32ToS32, kernel.F64ToS32), v), to)
	case spirv.OpConvertSToF, spirv.OpConvertUToF:
		signed := i.Op == spirv.OpConvertSToF
		if signed {
			v = c.signExtend(v, from)
		}
		if to.Width == 64 {
			if signed {
				return c.g.Op1(pick(kernel.S32ToF64, kernel.S64ToF64), v)
			}
			return c.g.Op1(pick(kernel.U32ToF64, kernel.U64ToF64), v)
		}
		if signed {
			v = c.g.Op1(pick(kernel.S32ToF32, kernel.S64ToF32), v)
		} else {
			v = c.g.Op1(pick(kernel.U32ToF32, kernel.U64ToF32), v)
		}
		if to.Width == 16 {
			v = c.toHalf(v, c.rounding(i))
		}
		return v
	case spirv.OpFConvert:
		return c.convertFloat(v, from, to, c.rounding(i))
	case spirv.OpQuantizeToF16:
		// What is no normal 16-bit float becomes zero.
		small := c.g.Op2(kernel.LtF32, c.g.Op1(kernel.AbsF32, v), c.g.C32(math.Float32bits(1.0/(1<<14))))
		return c.g.Choose(small, c.g.Op2(kernel.AndI32, v, c.g.C32(1<<31)), c.g.Op1(kernel.RoundF16, v))
	}
	c.fail(i, "is not supported in compute shaders")
	return 0
}

func (c *compiler) toHalf(v ir.Value, mode spirv.FPRoundingMode) ir.Value {
	if mode == spirv.FPRoundingModeRTZ {
		return c.g.Op1(kernel.RoundF16Zero, v)
	}
	return c.g.Op1(kernel.RoundF16, v)
}

func (c *compiler) convertFloat(v ir.Value, from, to *spirv.Type, mode spirv.FPRoundingMode) ir.Value {
	switch {
	case from.Width == to.Width:
		return v
	case to.Width == 64:
		return c.g.Op1(kernel.F32ToF64, v)
	case from.Width == 64 && to.Width == 32:
		if mode == spirv.FPRoundingModeRTZ {
			return c.g.Op1(kernel.F64ToF32Zero, v)
		}
		return c.g.Op1(kernel.F64ToF32, v)
	case from.Width == 64:
		// First to an odd 32-bit float where bits are lost, so that the second rounding sees on which side it was.
		zero := c.g.Op1(kernel.F64ToF32Zero, v)
		exact := c.g.Op2(kernel.EqF64, c.g.Op1(kernel.F32ToF64, zero), v)
		odd := c.g.Op2(kernel.OrI32, zero, c.g.Op1(kernel.MaskToI32, c.g.Op1(kernel.NotI32, exact)))
		return c.toHalf(odd, mode)
	case to.Width == 16:
		return c.toHalf(v, mode)
	}
	return v
}

// lowerIntegerDot lowers the integer dot products.
func (c *compiler) lowerIntegerDot(i *spirv.Instruction) {
	result := c.resultType(i)
	ta, n := shape(c.typeOf(spirv.ID(i.Operands[0])))
	tb, _ := shape(c.typeOf(spirv.ID(i.Operands[1])))
	a, b := c.scalars(i.Operands[0]), c.scalars(i.Operands[1])
	if n == 1 { // four 8-bit integers in a word
		unpack := func(v ir.Value) []ir.Value {
			l := c.list(4)
			for k := range l {
				l[k] = c.g.Op1(kernel.Zext8, c.g.Op2(kernel.ShrU32, v, c.g.C32(uint32(8*k))))
			}
			return l
		}
		a, b, n = unpack(a[0]), unpack(b[0]), 4
		ta = &spirv.Type{Kind: spirv.TypeInt, Width: 8}
		tb = ta
	}
	sa, sb := *ta, *tb
	saturate := false
	unsigned := false
	switch i.Op {
	case spirv.OpSDot, spirv.OpSDotAccSat:
		sa.Signed, sb.Signed = true, true
	case spirv.OpUDot, spirv.OpUDotAccSat:
		sa.Signed, sb.Signed = false, false
		unsigned = true
	default:
		sa.Signed, sb.Signed = true, false
	}
	switch i.Op {
	case spirv.OpSDotAccSat, spirv.OpUDotAccSat, spirv.OpSUDotAccSat:
		saturate = true
	}
	width := 32
	if result.Width == 64 {
		width = 64
	}
	var sum ir.Value
	for k := range n {
		p := c.int2(kernel.MulI32, result, c.convertInt(a[k], &sa, width), c.convertInt(b[k], &sb, width))
		if k == 0 {
			sum = p
		} else {
			sum = c.int2(kernel.AddI32, result, sum, p)
		}
	}
	if saturate {
		sum = c.addSaturated(result, sum, c.scalar(i.Operands[2]), unsigned)
	}
	c.set(i, c.one(c.zeroExtend(sum, result)).scalars)
}

func (c *compiler) addSaturated(t *spirv.Type, a, b ir.Value, unsigned bool) ir.Value {
	wide := t.Width == 64
	if t.Width < 32 {
		if unsigned {
			s := c.g.Op2(kernel.AddI32, c.zeroExtend(a, t), b)
			return c.g.Op2(kernel.MinU32, s, c.g.C32(1<<t.Width-1))
		}
		s := c.g.Op2(kernel.AddI32, c.signExtend(a, t), c.signExtend(b, t))
		s = c.g.Op2(kernel.MinS32, s, c.g.C32(1<<(t.Width-1)-1))
		return c.g.Op2(kernel.MaxS32, s, c.g.C32(math.MaxUint32<<(t.Width-1)&math.MaxUint32))
	}
	s := c.int2(kernel.AddI32, t, a, b)
	if unsigned {
		return c.g.Choose(c.int2(kernel.LtU32, t, s, a), c.g.Constant(^uint64(0), wide), s)
	}
	least := uint64(1) << (t.Width - 1)
	zero := c.g.Constant(0, wide)
	over := c.int2(kernel.AndI32, t, c.int2(kernel.XorI32, t, a, s), c.int2(kernel.XorI32, t, b, s))
	limit := c.g.Choose(c.int2(kernel.LtS32, t, a, zero), c.g.Constant(least, wide), c.g.Constant(least-1, wide))
	return c.g.Choose(c.int2(kernel.LtS32, t, over, zero), limit, s)
}
