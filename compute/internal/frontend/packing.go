package frontend

import (
	"math"

	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/spirv"
)

// lowerPacking lowers the Pack and Unpack instructions.
func (c *compiler) lowerPacking(i *spirv.Instruction, x spirv.GLSL, operands []uint32) bool {
	type packing struct {
		bits   int
		signed bool
	}
	var p packing
	pack := false
	switch x {
	case spirv.GLSLPackSnorm4x8, spirv.GLSLUnpackSnorm4x8:
		p = packing{8, true}
	case spirv.GLSLPackUnorm4x8, spirv.GLSLUnpackUnorm4x8:
		p = packing{8, false}
	case spirv.GLSLPackSnorm2x16, spirv.GLSLUnpackSnorm2x16:
		p = packing{16, true}
	case spirv.GLSLPackUnorm2x16, spirv.GLSLUnpackUnorm2x16:
		p = packing{16, false}
	case spirv.GLSLPackHalf2x16, spirv.GLSLUnpackHalf2x16, spirv.GLSLPackDouble2x32, spirv.GLSLUnpackDouble2x32:
	default:
		return false
	}
	switch x {
	case spirv.GLSLPackSnorm4x8, spirv.GLSLPackUnorm4x8, spirv.GLSLPackSnorm2x16, spirv.GLSLPackUnorm2x16:
		pack = true
	}
	s := c.scalars(operands[0])
	out := c.list(c.count(c.resultType(i)))
	float := func(v float32) ir.Value { return c.g.C32(math.Float32bits(v)) }
	switch {
	case x == spirv.GLSLPackDouble2x32:
		out[0] = c.g.Op2(kernel.Join64, s[0], s[1])
	case x == spirv.GLSLUnpackDouble2x32:
		out[0], out[1] = c.g.Op1(kernel.Low32, s[0]), c.g.Op1(kernel.High32, s[0])
	case x == spirv.GLSLPackHalf2x16:
		high := c.g.Op2(kernel.ShlI32, c.g.Op1(kernel.F32ToBits16, s[1]), c.g.C32(16))
		out[0] = c.g.Op2(kernel.OrI32, c.g.Op1(kernel.F32ToBits16, s[0]), high)
	case x == spirv.GLSLUnpackHalf2x16:
		out[0] = c.g.Op1(kernel.Bits16ToF32, c.g.Op1(kernel.Zext16, s[0]))
		out[1] = c.g.Op1(kernel.Bits16ToF32, c.g.Op2(kernel.ShrU32, s[0], c.g.C32(16)))
	case pack:
		scale, low := float(float32(uint32(1)<<p.bits-1)), float(0)
		if p.signed {
			scale, low = float(float32(uint32(1)<<(p.bits-1)-1)), float(-1)
		}
		var word ir.Value
		for k, v := range s {
			v = c.g.Op2(kernel.MinF32, c.g.Op2(kernel.MaxF32, v, low), float(1))
			v = c.g.Op1(kernel.F32ToS32, c.g.Op1(kernel.RoundEvenF32, c.g.Op2(kernel.MulF32, v, scale)))
			v = c.g.Op2(kernel.AndI32, v, c.g.C32(1<<p.bits-1))
			if k == 0 {
				word = v
			} else {
				word = c.g.Op2(kernel.OrI32, word, c.g.Op2(kernel.ShlI32, v, c.g.C32(uint32(k*p.bits))))
			}
		}
		out[0] = word
	default:
		for k := range out {
			v := c.g.Op2(kernel.ShrU32, s[0], c.g.C32(uint32(k*p.bits)))
			t := &spirv.Type{Kind: spirv.TypeInt, Width: uint32(p.bits)}
			if p.signed {
				v = c.g.Op1(kernel.S32ToF32, c.signExtend(v, t))
				v = c.g.Op2(kernel.DivF32, v, float(float32(uint32(1)<<(p.bits-1)-1)))
				out[k] = c.g.Op2(kernel.MaxF32, v, float(-1))
			} else {
				v = c.g.Op1(kernel.S32ToF32, c.zeroExtend(v, t))
				out[k] = c.g.Op2(kernel.DivF32, v, float(float32(uint32(1)<<p.bits-1)))
			}
		}
	}
	c.set(i, out)
	return true
}
