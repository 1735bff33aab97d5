package main

import (
	"math"

	"farside/compute/internal/kernel/series"
)

// machine writes the functions of package series, on four numbers at a time.
type machine struct{ *chunk }

var _ series.Machine[vector] = machine{}

// singles writes the kernels of the functions of package series.
func (g *generator) singles() {
	unary := func(op string, f func(m machine, x vector) vector) {
		g.each(op, 32, one, func(k *chunk, a vector, _ int) vector { return f(machine{k}, a) })
	}
	binary := func(op string, f func(m machine, a, b vector) vector) {
		g.each(op, 32, two, func(k *chunk, a vector, part int) vector { return f(machine{k}, a, k.load(1, part)) })
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

// Word loads a constant where it is used: functions have more than there are registers.
func (m machine) Word(w uint32) vector {
	m.useTable()
	return m.inline(uint64(w)<<32 | uint64(w))
}

func (m machine) Add(a, b vector) vector      { return m.v("fadd.4s", a, b) }
func (m machine) Sub(a, b vector) vector      { return m.v("fsub.4s", a, b) }
func (m machine) Mul(a, b vector) vector      { return m.v("fmul.4s", a, b) }
func (m machine) Div(a, b vector) vector      { return m.v("fdiv.4s", a, b) }
func (m machine) Sqrt(a vector) vector        { return m.v("fsqrt.4s", a) }
func (m machine) Fma(a, b, c vector) vector   { return m.v("fmla.4s", c, a, b) }
func (m machine) Fnma(a, b, c vector) vector  { return m.v("fmls.4s", c, a, b) }
func (m machine) Round(a vector) vector       { return m.v("frintn.4s", a) }
func (m machine) Min(a, b vector) vector      { return m.v("fmin.4s", a, b) }
func (m machine) Max(a, b vector) vector      { return m.v("fmax.4s", a, b) }
func (m machine) And(a, b vector) vector      { return m.and(a, b) }
func (m machine) Or(a, b vector) vector       { return m.or(a, b) }
func (m machine) Xor(a, b vector) vector      { return m.v("eor.16b", a, b) }
func (m machine) AddWords(a, b vector) vector { return m.v("add.4s", a, b) }
func (m machine) SubWords(a, b vector) vector { return m.v("sub.4s", a, b) }
func (m machine) ToWord(a vector) vector      { return m.v("fcvtzs.4s", a) }
func (m machine) ToFloat(a vector) vector     { return m.v("scvtf.4s", a) }

func (m machine) Left(a vector, n uint8) vector  { return m.shifted("shl", 32, int(n), a) }
func (m machine) Right(a vector, n uint8) vector { return m.shifted("sshr", 32, int(n), a) }

func (m machine) IfSign(a, yes, no vector) vector { return m.choose(m.v("cmlt0.4s", a), yes, no) }

func (m machine) If(c series.Compare, a, b, yes, no vector) vector {
	switch c {
	case series.Less:
		return m.choose(m.v("fcmgt.4s", b, a), yes, no)
	case series.AtLeast:
		return m.choose(m.v("fcmge.4s", a, b), yes, no)
	case series.Equal:
		return m.choose(m.v("fcmeq.4s", a, b), yes, no)
	}
	return m.choose(m.and(m.v("fcmeq.4s", a, a), m.v("fcmeq.4s", b, b)), no, yes)
}

func (m machine) Split(a vector) (mantissa, exponent vector) { return series.SplitWords(m, a) }
func (m machine) Scale(a, n vector) vector                   { return series.ScaleWords(m, a, n) }

func (m machine) Far(angle, rest, quadrants vector) (vector, vector) {
	far := m.v("fcmgt.4s", angle, m.Word(math.Float32bits(series.Turns)))
	var places [2]vector
	for i, v := range []vector{rest, quadrants} {
		places[i] = m.pin(m.vector())
		m.into(places[i], operations["orr.16b"], v, v)
	}
	near := m.named("near")
	m.emit(lane32, x(regScratch), m.v("umaxv.4s", far))
	m.text("CBZ R%d, %s", regScratch, near)
	var rests, counts [2]vector
	for half := range 2 {
		rests[half], counts[half] = m.quadrant(m.widened(angle, half))
	}
	for i, halves := range [][2]vector{rests, counts} {
		v := m.choose(far, m.narrowed(func(half int) vector { return halves[half] }), places[i])
		m.into(places[i], operations["orr.16b"], v, v)
	}
	m.label(near)
	return places[0], places[1]
}

// quadrant returns an angle of 64 bits less a multiple of pi/2, and the lowest bits of that multiple, as a float. Of
// one that is too large they are 0.
func (m machine) quadrant(x vector) (rest, quadrants vector) {
	number := func(f float64) vector { return m.inline(math.Float64bits(f)) }
	x = m.v("fsub.2d", x, m.and(x, m.v("fcmgt.2d", x, number(series.Far))))
	n := m.v("fmla.2d", number(series.Magic), x, number(series.TwoPi))
	n = m.v("fsub.2d", n, number(series.Magic))
	x = m.v("fmls.2d", x, n, number(series.HalfPi))
	x = m.v("fmls.2d", x, n, number(series.HalfPiLow))
	fours := m.v("frintn.2d", m.v("fmul.2d", n, number(0.25)))
	return x, m.v("fmls.2d", n, fours, number(4))
}

// inline loads a constant of 64 bits where it is used.
func (g *generator) inline(value uint64) vector {
	return g.do(access(false, "q", g.index([2]uint64{value, value})), x(regTable))
}
