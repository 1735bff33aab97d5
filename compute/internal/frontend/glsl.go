package frontend

import (
	"math"
	"slices"

	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// isGLSL says whether an OpExtInst is of GLSL.std.450.
func (c *compiler) isGLSL(i *spirv.Instruction) bool {
	return c.module.Imports[spirv.ID(i.Operands[0])] == "GLSL.std.450"
}

// lowerExtended lowers OpExtInst.
func (c *compiler) lowerExtended(i *spirv.Instruction) {
	switch set := c.module.Imports[spirv.ID(i.Operands[0])]; set {
	case "GLSL.std.450":
		c.lowerGLSL(i, spirv.GLSL(i.Operands[1]), i.Operands[2:])
	case "NonSemantic.DebugPrintf":
		c.lowerPrint(i)
	default:
		if len(set) < 12 || set[:12] != "NonSemantic." {
			c.fail(i, "instruction set %q is not supported", set)
		}
	}
}

// glslKernels are the instructions that are one kernel for each component.
var glslKernels = map[spirv.GLSL]kernel.Op{
	spirv.GLSLRound: kernel.RoundEvenF32, spirv.GLSLRoundEven: kernel.RoundEvenF32, spirv.GLSLTrunc: kernel.TruncF32,
	spirv.GLSLFAbs: kernel.AbsF32, spirv.GLSLFSign: kernel.SignF32, spirv.GLSLFloor: kernel.FloorF32,
	spirv.GLSLCeil: kernel.CeilF32, spirv.GLSLSin: kernel.SinF32, spirv.GLSLCos: kernel.CosF32,
	spirv.GLSLTan: kernel.TanF32, spirv.GLSLAsin: kernel.AsinF32, spirv.GLSLAcos: kernel.AcosF32,
	spirv.GLSLAtan: kernel.AtanF32, spirv.GLSLSinh: kernel.SinhF32, spirv.GLSLCosh: kernel.CoshF32,
	spirv.GLSLTanh: kernel.TanhF32, spirv.GLSLAsinh: kernel.AsinhF32, spirv.GLSLAcosh: kernel.AcoshF32,
	spirv.GLSLAtanh: kernel.AtanhF32, spirv.GLSLAtan2: kernel.Atan2F32, spirv.GLSLPow: kernel.PowF32,
	spirv.GLSLExp: kernel.ExpF32, spirv.GLSLLog: kernel.LogF32, spirv.GLSLExp2: kernel.Exp2F32,
	spirv.GLSLLog2: kernel.Log2F32, spirv.GLSLSqrt: kernel.SqrtF32, spirv.GLSLInverseSqrt: kernel.InverseSqrtF32,
	spirv.GLSLFMin: kernel.MinF32, spirv.GLSLFMax: kernel.MaxF32, spirv.GLSLNMin: kernel.MinF32,
	spirv.GLSLNMax: kernel.MaxF32, spirv.GLSLFma: kernel.FmaF32,
}

var glslIntegers = map[spirv.GLSL]kernel.Op{
	spirv.GLSLUMin: kernel.MinU32, spirv.GLSLUMax: kernel.MaxU32, spirv.GLSLSMin: kernel.MinS32,
	spirv.GLSLSMax: kernel.MaxS32, spirv.GLSLSAbs: kernel.AbsI32, spirv.GLSLUClamp: kernel.MaxU32,
	spirv.GLSLSClamp: kernel.MaxS32, spirv.GLSLSSign: kernel.MaxS32, spirv.GLSLFindILsb: kernel.FindLSB32,
	spirv.GLSLFindSMsb: kernel.FindMSBS32, spirv.GLSLFindUMsb: kernel.FindMSBU32,
}

// floatConstant is a constant of a float type; 16-bit floats lie in registers as 32-bit ones.
func (c *compiler) floatConstant(t *spirv.Type, x float64) ir.Value {
	switch t.Width {
	case 64:
		return c.g.Constant(math.Float64bits(x), true)
	case 16:
		return c.g.Op1(kernel.RoundF16, c.g.C32(math.Float32bits(float32(x))))
	}
	return c.g.C32(math.Float32bits(float32(x)))
}

func (c *compiler) lowerGLSL(i *spirv.Instruction, x spirv.GLSL, operands []uint32) {
	t := c.resultType(i)
	if c.lowerGeometric(i, x, operands) || c.lowerPacking(i, x, operands) || c.lowerInterpolation(i, x, operands) {
		return
	}
	elem, n := shape(c.typeOf(spirv.ID(operands[0])))
	var args [3][]ir.Value
	for k, id := range operands {
		if k < len(args) && !(k == 1 && (x == spirv.GLSLModf || x == spirv.GLSLFrexp)) {
			args[k] = c.scalars(id)
		}
	}
	at := func(k, component int) ir.Value {
		if args[k] == nil {
			return 0
		}
		return args[k][component]
	}
	out := c.list(c.count(t))
	for k := range n {
		a, b, d := at(0, k), at(1, k), at(2, k)
		switch op, ok := glslKernels[x]; {
		case ok && elem.Width == 64 && ops.Of(op).Wide == 0:
			c.fail(i, "is not defined for 64-bit floats")
		case ok:
			out[k] = c.float3(op, elem, a, b, d)
		default:
			c.glslComponent(i, x, elem, t, out, k, n, a, b, d)
		}
	}
	switch x {
	case spirv.GLSLModf:
		c.store(i, c.pointerOf(i, operands[1]), c.wholePart(elem, args[0]))
	case spirv.GLSLFrexp:
		p := c.pointerOf(i, operands[1])
		target, _ := shape(p.typ)
		c.store(i, p, c.exponents(elem, target, args[0]))
	}
	c.set(i, out)
}

func (c *compiler) wholePart(t *spirv.Type, s []ir.Value) []ir.Value {
	out := c.list(len(s))
	for k, v := range s {
		out[k] = c.float1(kernel.TruncF32, t, v)
	}
	return out
}

func (c *compiler) exponents(t, target *spirv.Type, s []ir.Value) []ir.Value {
	out := c.list(len(s))
	for k, v := range s {
		out[k] = c.fitSigned(c.float1(kernel.FrexpExpF32, t, v), target)
	}
	return out
}

// fitSigned makes a signed 32-bit integer one of type t.
func (c *compiler) fitSigned(v ir.Value, t *spirv.Type) ir.Value {
	if t.Width == 64 {
		return c.g.Op1(kernel.SextI32I64, v)
	}
	return c.zeroExtend(v, t)
}

// glslComponent lowers component k of n of what takes more than a kernel.
func (c *compiler) glslComponent(
	i *spirv.Instruction, x spirv.GLSL, elem, t *spirv.Type, out []ir.Value, k, n int, a, b, d ir.Value,
) {
	mul := func(x, y ir.Value) ir.Value { return c.float2(kernel.MulF32, elem, x, y) }
	add := func(x, y ir.Value) ir.Value { return c.float2(kernel.AddF32, elem, x, y) }
	sub := func(x, y ir.Value) ir.Value { return c.float2(kernel.SubF32, elem, x, y) }
	constant := func(x float64) ir.Value { return c.floatConstant(elem, x) }
	clamp := func(v, low, high ir.Value) ir.Value {
		return c.float2(kernel.MinF32, elem, c.float2(kernel.MaxF32, elem, v, low), high)
	}
	if op, ok := glslIntegers[x]; ok {
		out[k] = c.glslInteger(x, op, elem, t, a, b, d)
		return
	}
	switch x {
	case spirv.GLSLFract:
		// Never 1, where the difference rounds up.
		r := sub(a, c.float1(kernel.FloorF32, elem, a))
		below := map[uint32]float64{16: 1 - 1.0/(1<<11), 32: float64(math.Nextafter32(1, 0)),
			64: math.Nextafter(1, 0)}[elem.Width]
		out[k] = c.g.Choose(c.float2(kernel.LtF32, elem, r, constant(1)), r,
			c.g.Choose(c.float2(kernel.LeF32, elem, constant(1), r), constant(below), r))
	case spirv.GLSLRadians:
		out[k] = mul(a, constant(math.Pi/180))
	case spirv.GLSLDegrees:
		out[k] = mul(a, constant(180/math.Pi))
	case spirv.GLSLFClamp, spirv.GLSLNClamp:
		out[k] = clamp(a, b, d)
	case spirv.GLSLFMix:
		out[k] = add(mul(a, sub(constant(1), d)), mul(b, d))
	case spirv.GLSLStep: // of edge a and b
		out[k] = c.g.Choose(c.float2(kernel.LtF32, elem, b, a), constant(0), constant(1))
	case spirv.GLSLSmoothStep:
		s := clamp(c.float2(kernel.DivF32, elem, sub(d, a), sub(b, a)), constant(0), constant(1))
		out[k] = mul(mul(s, s), sub(constant(3), mul(constant(2), s)))
	case spirv.GLSLLdexp:
		e, _ := shape(c.typeOf(spirv.ID(i.Operands[3])))
		signed := *e
		signed.Signed = true
		if e.Width == 64 {
			b = c.g.Op2(kernel.MinS64, c.g.Op2(kernel.MaxS64, b, c.g.Constant(uint64(math.MaxUint64-1<<30+1), true)),
				c.g.Constant(1<<30, true))
		}
		out[k] = c.float2(kernel.LdexpF32, elem, a, c.convertInt(b, &signed, 32))
	case spirv.GLSLModf, spirv.GLSLModfStruct:
		whole := c.float1(kernel.TruncF32, elem, a)
		// The fraction has the sign of a; that of an infinity is 0.
		rest := c.g.Choose(c.float1(kernel.IsInfF32, elem, a), constant(0), sub(a, whole))
		out[k] = c.copySign(elem, rest, a)
		if x == spirv.GLSLModfStruct {
			out[n+k] = whole
		}
	case spirv.GLSLFrexp, spirv.GLSLFrexpStruct:
		out[k] = c.float1(kernel.FrexpF32, elem, a)
		if x == spirv.GLSLFrexpStruct {
			target, _ := shape(t.Members[1])
			out[n+k] = c.fitSigned(c.float1(kernel.FrexpExpF32, elem, a), target)
		}
	default:
		c.fail(i, "%v is not supported in compute shaders", x)
	}
}

// copySign gives v the sign of s.
func (c *compiler) copySign(t *spirv.Type, v, s ir.Value) ir.Value {
	if t.Width == 64 {
		sign := c.g.Constant(1<<63, true)
		return c.g.Op2(kernel.OrI64, c.g.Op2(kernel.AndI64, v, c.g.Constant(1<<63-1, true)), c.g.Op2(kernel.AndI64, s, sign))
	}
	return c.g.Op2(kernel.OrI32, c.g.Op2(kernel.AndI32, v, c.g.C32(1<<31-1)), c.g.Op2(kernel.AndI32, s, c.g.C32(1<<31)))
}

func (c *compiler) glslInteger(x spirv.GLSL, op kernel.Op, elem, t *spirv.Type, a, b, d ir.Value) ir.Value {
	if t, _ = shape(t); t.Kind != spirv.TypeInt {
		t = elem
	}
	unsigned := x == spirv.GLSLUMin || x == spirv.GLSLUMax || x == spirv.GLSLUClamp || x == spirv.GLSLFindUMsb ||
		x == spirv.GLSLFindILsb
	if elem.Width < 32 && !unsigned {
		a = c.signExtend(a, elem)
		if b != 0 {
			b = c.signExtend(b, elem)
		}
		if d != 0 {
			d = c.signExtend(d, elem)
		}
	}
	wide := elem.Width == 64
	switch x {
	case spirv.GLSLFindILsb, spirv.GLSLFindSMsb, spirv.GLSLFindUMsb:
		if wide {
			op = to64(op)
		}
		return c.fitSigned(c.g.Op1(op, a), t)
	case spirv.GLSLSSign:
		a = c.int2(kernel.MinS32, elem, c.int2(kernel.MaxS32, elem, a, c.g.Constant(^uint64(0), wide)), c.g.Constant(1, wide))
	case spirv.GLSLSAbs:
		a = c.int2(op, elem, a, 0)
	default:
		a = c.int2(op, elem, a, b)
	}
	switch x {
	case spirv.GLSLUClamp:
		a = c.int2(kernel.MinU32, elem, a, d)
	case spirv.GLSLSClamp:
		a = c.int2(kernel.MinS32, elem, a, d)
	}
	return c.zeroExtend(a, elem)
}

// lowerGeometric lowers what works on whole vectors and matrices.
func (c *compiler) lowerGeometric(i *spirv.Instruction, x spirv.GLSL, operands []uint32) bool {
	switch x {
	case spirv.GLSLLength, spirv.GLSLDistance, spirv.GLSLCross, spirv.GLSLNormalize, spirv.GLSLFaceForward,
		spirv.GLSLReflect, spirv.GLSLRefract, spirv.GLSLDeterminant, spirv.GLSLMatrixInverse:
	default:
		return false
	}
	type_ := c.typeOf(spirv.ID(operands[0]))
	t := type_
	for t.Elem != nil {
		t = t.Elem
	}
	v := vectors{c, t}
	a := c.scalars(operands[0])
	var b []ir.Value
	if len(operands) > 1 {
		b = c.scalars(operands[1])
	}
	var out []ir.Value
	switch x {
	case spirv.GLSLLength:
		out = c.one(v.length(a)).scalars
	case spirv.GLSLDistance:
		out = c.one(v.length(v.zip(kernel.SubF32, a, b))).scalars
	case spirv.GLSLCross:
		out = c.list(3)
		for k := range out {
			p, q := (k+1)%3, (k+2)%3
			out[k] = v.sub(v.mul(a[p], b[q]), v.mul(b[p], a[q]))
		}
	case spirv.GLSLNormalize:
		out = c.list(len(a))
		l := v.length(a)
		for k := range out {
			out[k] = c.float2(kernel.DivF32, t, a[k], l)
		}
	case spirv.GLSLFaceForward:
		d := v.dot(c.scalars(operands[2]), b)
		front := c.float2(kernel.LtF32, t, d, c.floatConstant(t, 0))
		out = c.list(len(a))
		for k := range out {
			out[k] = c.g.Choose(front, a[k], c.float1(kernel.NegF32, t, a[k]))
		}
	case spirv.GLSLReflect:
		d := v.mul(c.floatConstant(t, 2), v.dot(b, a))
		out = c.list(len(a))
		for k := range out {
			out[k] = v.sub(a[k], v.mul(d, b[k]))
		}
	case spirv.GLSLRefract:
		eta := c.scalar(operands[2])
		d := v.dot(b, a)
		one := c.floatConstant(t, 1)
		eta = c.fromEta(operands[2], eta, t)
		k := v.sub(one, v.mul(v.mul(eta, eta), v.sub(one, v.mul(d, d))))
		total := c.float2(kernel.LtF32, t, k, c.floatConstant(t, 0))
		f := v.add(v.mul(eta, d), c.float1(kernel.SqrtF32, t, k))
		out = c.list(len(a))
		for j := range out {
			out[j] = c.g.Choose(total, c.floatConstant(t, 0), v.sub(v.mul(eta, a[j]), v.mul(f, b[j])))
		}
	case spirv.GLSLDeterminant:
		n := int(type_.Count)
		out = c.one(v.determinant(a, n, allOf(n), allOf(n))).scalars
	case spirv.GLSLMatrixInverse:
		out = v.inverse(a, int(type_.Count))
	}
	c.set(i, out)
	return true
}

// fromEta gives the index of refraction, which may have another width, that of the vectors.
func (c *compiler) fromEta(id uint32, v ir.Value, t *spirv.Type) ir.Value {
	return c.convertFloat(v, c.typeOf(spirv.ID(id)), t, spirv.FPRoundingModeRTE)
}

// vectors computes with lists of floats of one type.
type vectors struct {
	*compiler
	t *spirv.Type
}

func (v vectors) mul(a, b ir.Value) ir.Value { return v.float2(kernel.MulF32, v.t, a, b) }
func (v vectors) add(a, b ir.Value) ir.Value { return v.float2(kernel.AddF32, v.t, a, b) }
func (v vectors) sub(a, b ir.Value) ir.Value { return v.float2(kernel.SubF32, v.t, a, b) }

func (v vectors) zip(op kernel.Op, a, b []ir.Value) []ir.Value {
	out := v.list(len(a))
	for k := range a {
		out[k] = v.float2(op, v.t, a[k], b[k])
	}
	return out
}

func (v vectors) dot(a, b []ir.Value) ir.Value {
	r := v.mul(a[0], b[0])
	for k := 1; k < len(a); k++ {
		r = v.add(r, v.mul(a[k], b[k]))
	}
	return r
}

func (v vectors) length(a []ir.Value) ir.Value {
	if len(a) == 1 {
		return v.float1(kernel.AbsF32, v.t, a[0])
	}
	return v.float1(kernel.SqrtF32, v.t, v.dot(a, a))
}

func allOf(n int) []int {
	l := make([]int, n)
	for k := range l {
		l[k] = k
	}
	return l
}

// determinant is that of the matrix's columns and rows that are named, by its first column. The recursion is as deep as
// there are columns: spirv.Constants refuses matrices of more than four.
func (v vectors) determinant(m []ir.Value, n int, columns, rows []int) ir.Value {
	if len(columns) == 1 {
		return m[columns[0]*n+rows[0]]
	}
	var sum ir.Value
	for k, r := range rows {
		others := append(slices.Clone(rows[:k]), rows[k+1:]...)
		p := v.mul(m[columns[0]*n+r], v.determinant(m, n, columns[1:], others))
		switch {
		case k == 0:
			sum = p
		case k%2 == 1:
			sum = v.sub(sum, p)
		default:
			sum = v.add(sum, p)
		}
	}
	return sum
}

// inverse is the matrix of the cofactors, over the determinant.
func (v vectors) inverse(m []ir.Value, n int) []ir.Value {
	d := v.determinant(m, n, allOf(n), allOf(n))
	out := v.list(n * n)
	for col := range n {
		for row := range n {
			columns, rows := slices.Delete(allOf(n), row, row+1), slices.Delete(allOf(n), col, col+1)
			x := v.determinant(m, n, columns, rows)
			if (col+row)%2 == 1 {
				x = v.float1(kernel.NegF32, v.t, x)
			}
			out[col*n+row] = v.float2(kernel.DivF32, v.t, x, d)
		}
	}
	return out
}
