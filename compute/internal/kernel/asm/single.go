package main

import (
	"math"

	"farside/compute/internal/kernel/series"

	"github.com/mmcloughlin/avo/operand"
)

// machine writes the functions of package series, on eight numbers at a time. A constant is an operand in memory.
type machine struct{ *chunk }

var _ series.Machine[operand.Op] = machine{}

// singles writes the kernels of the functions of package series.
func (g *generator) singles() {
	unary := func(op string, f func(m machine, x operand.Op) operand.Op) {
		g.kernel(op, shape{32, one, 1}, func(k *chunk) { k.store(f(machine{k}, k.load(0, 0)).(vector), 0) })
	}
	binary := func(op string, f func(m machine, a, b operand.Op) operand.Op) {
		g.kernel(op, shape{32, two, 1}, func(k *chunk) { k.store(f(machine{k}, k.load(0, 0), k.load(1, 0)).(vector), 0) })
	}
	unary("ExpF32", series.Exp)
	unary("Exp2F32", series.Exp2)
	unary("LogF32", series.Log)
	unary("Log2F32", series.Log2)
	unary("SinF32", series.Sin)
	unary("CosF32", series.Cos)
	unary("TanF32", series.Tan)
	unary("AsinF32", series.Asin)
	unary("AcosF32", series.Acos)
	unary("AtanF32", series.Atan)
	unary("SinhF32", series.Sinh)
	unary("CoshF32", series.Cosh)
	unary("TanhF32", series.Tanh)
	unary("AsinhF32", series.Asinh)
	unary("AcoshF32", series.Acosh)
	unary("AtanhF32", series.Atanh)
	binary("PowF32", series.Pow)
	binary("Atan2F32", series.Atan2)
}

// register returns an operand in a register.
func (m machine) register(o operand.Op) vector {
	if v, ok := o.(vector); ok {
		return v
	}
	return m.y(m.VMOVDQU, o)
}

// two writes an instruction of two operands, in the order of Intel's manuals.
func (m machine) two(i instruction, a, b operand.Op) operand.Op { return m.y(i, b, m.register(a)) }

func (m machine) Word(w uint32) operand.Op            { return m.words(w) }
func (m machine) Add(a, b operand.Op) operand.Op      { return m.two(m.VADDPS, a, b) }
func (m machine) Sub(a, b operand.Op) operand.Op      { return m.two(m.VSUBPS, a, b) }
func (m machine) Mul(a, b operand.Op) operand.Op      { return m.two(m.VMULPS, a, b) }
func (m machine) Div(a, b operand.Op) operand.Op      { return m.two(m.VDIVPS, a, b) }
func (m machine) Sqrt(a operand.Op) operand.Op        { return m.y(m.VSQRTPS, a) }
func (m machine) Min(a, b operand.Op) operand.Op      { return m.two(m.VMINPS, b, a) } // of a NaN the second
func (m machine) Max(a, b operand.Op) operand.Op      { return m.two(m.VMAXPS, b, a) }
func (m machine) And(a, b operand.Op) operand.Op      { return m.two(m.VANDPS, a, b) }
func (m machine) Or(a, b operand.Op) operand.Op       { return m.two(m.VORPS, a, b) }
func (m machine) Xor(a, b operand.Op) operand.Op      { return m.two(m.VXORPS, a, b) }
func (m machine) AddWords(a, b operand.Op) operand.Op { return m.two(m.VPADDD, a, b) }
func (m machine) SubWords(a, b operand.Op) operand.Op { return m.two(m.VPSUBD, a, b) }
func (m machine) Round(a operand.Op) operand.Op       { return m.y(m.VROUNDPS, nearest, a) }
func (m machine) ToWord(a operand.Op) operand.Op      { return m.y(m.VCVTPS2DQ, a) }
func (m machine) ToFloat(a operand.Op) operand.Op     { return m.y(m.VCVTDQ2PS, a) }

func (m machine) Left(a operand.Op, n uint8) operand.Op  { return m.y(m.VPSLLD, operand.U8(n), a) }
func (m machine) Right(a operand.Op, n uint8) operand.Op { return m.y(m.VPSRAD, operand.U8(n), a) }

func (m machine) Fma(a, b, c operand.Op) operand.Op {
	if _, ok := c.(vector); ok {
		sum := m.y(m.VMOVAPS, c)
		m.VFMADD231PS(b, m.register(a), sum)
		return sum
	}
	product := m.y(m.VMOVAPS, a)
	m.VFMADD213PS(c, m.register(b), product)
	return product
}

func (m machine) Fnma(a, b, c operand.Op) operand.Op {
	sum := m.y(m.VMOVAPS, c)
	m.VFNMADD231PS(b, m.register(a), sum)
	return sum
}

func (m machine) IfSign(a, yes, no operand.Op) operand.Op {
	return m.blend(m.register(a), yes, m.register(no))
}

func (m machine) If(c series.Compare, a, b, yes, no operand.Op) operand.Op {
	return m.IfSign(m.y(m.VCMPPS, predicates[c], b, m.register(a)), yes, no)
}

var predicates = map[series.Compare]operand.U8{
	series.Less: less, series.AtLeast: atLeast, series.Equal: equal, series.Unordered: unordered,
}

func (m machine) Split(a operand.Op) (mantissa, exponent operand.Op) { return series.SplitWords(m, a) }
func (m machine) Scale(a, n operand.Op) operand.Op                   { return series.ScaleWords(m, a, n) }

func (m machine) Far(angle, rest, quadrants operand.Op) (operand.Op, operand.Op) {
	far := m.y(m.VCMPPS, greater, m.words(math.Float32bits(series.Turns)), m.register(angle))
	r, n := m.y(m.VMOVAPS, rest), m.y(m.VMOVAPS, quadrants)
	near := m.label("near")
	m.VPTEST(far, far)
	m.JZ(operand.LabelRef(near))
	var rests, counts [2]vector
	for half := range 2 {
		x := angle.(vector).AsX()
		if half == 1 {
			x = m.x(m.VEXTRACTI128, operand.U8(1), angle)
		}
		rests[half], counts[half] = m.quadrant(m.y(m.VCVTPS2PD, x))
	}
	m.VBLENDVPS(far, m.join(rests[0], rests[1]), r, r)
	m.VBLENDVPS(far, m.join(counts[0], counts[1]), n, n)
	m.Label(near)
	return r, n
}

// quadrant returns an angle of 64 bits less a multiple of pi/2, and the lowest bits of that multiple, as floats. Of
// one that is too large they are 0.
func (m machine) quadrant(x vector) (rest, quadrants vector) {
	x = m.sub(x, m.y(m.VANDPD, x, m.compare(greater, x, m.number(series.Far))))
	n := m.fma(m.numbers(series.TwoPi), x, m.number(series.Magic))
	n = m.sub(n, m.number(series.Magic))
	m.VFNMADD231PD(m.number(series.HalfPi), n, x)
	m.VFNMADD231PD(m.number(series.HalfPiLow), n, x)
	fours := m.y(m.VROUNDPD, nearest, m.mul(n, m.number(0.25)))
	m.VFNMADD231PD(m.number(4), fours, n)
	return m.x(m.VCVTPD2PSY, x), m.x(m.VCVTPD2PSY, n)
}
