package series

// The functions on 32-bit floats, for any machine. Errors are given in units in the last place, the worst of all floats
// (TestPrecision of package kernel).

// Coefficients, the constant term first. They are floats: each was rounded before those behind it were fitted.
var (
	// power is (2**x - 1) / x between -1/2 and 1/2.
	power = []float32{0x1.62e430p-1, 0x1.ebfbd6p-3, 0x1.c6af76p-5, 0x1.3b3208p-7, 0x1.5f0b86p-10, 0x1.3eb4ccp-13}
	// exponential is (e**x - 1 - x) / x**2, where |x| is at most 0.35.
	exponential = []float32{0x1p-1, 0x1.5554a8p-3, 0x1.5554dcp-5, 0x1.122decp-7, 0x1.6d5c0cp-10}
	// binary is (log2(1+x) - Log2E*x) / x**2, natural (log(1+x) - x) / x**2, between -1/4 and 1/2.
	binary = []float32{-0x1.715476p-1, 0x1.ec7110p-2, -0x1.715558p-2, 0x1.2754c2p-2, -0x1.ebbceap-3, 0x1.ab770ep-3,
		-0x1.85ccccp-3, 0x1.38fcb8p-3, -0x1.11189ap-4}
	natural = []float32{-0x1p-1, 0x1.5555a6p-2, -0x1.00007ap-2, 0x1.9969a4p-3, -0x1.54de5cp-3, 0x1.285f56p-3,
		-0x1.0e15c0p-3, 0x1.b0b45ep-4, -0x1.786a9ep-5}
	// ratio is log2((1+x)/(1-x))/x - 2*Log2E over x**2, of x**2, where (1+x)/(1-x) is between 3/4 and 3/2.
	ratio = []float32{0x1.ec709cp-1, 0x1.27786cp-1, 0x1.a521e2p-2, 0x1.6423e8p-2}
	// sine is (sin(x)/x - 1) / x**2, of x**2, cosine (cos(x) - 1) / x**2, up to an eighth of the circle and a bit more.
	sine   = []float32{-0x1.555544p-3, 0x1.1106d8p-7, -0x1.992518p-13}
	cosine = []float32{-0x1p-1, 0x1.55554ap-5, -0x1.6c0c22p-10, 0x1.99e4d6p-16}
	// hyperbolic is (sinh(x)/x - 1) / x**2, of x**2, up to 1.
	hyperbolic = []float32{0x1.555556p-3, 0x1.1110ecp-7, 0x1.a01ad0p-13, 0x1.76ac86p-19}
	// arc is (atan(x)/x - 1) / x**2, of x**2, up to 1.
	arc = []float32{-0x1.555540p-2, 0x1.99926ap-3, -0x1.24267ap-3, 0x1.c0cd8ap-4, -0x1.58ce58p-4, 0x1.dcdfcap-5,
		-0x1.0181c0p-5, 0x1.6a2f4ap-7, -0x1.de55aep-10}
	// arcSine is (asin(x)/x - 1) / x**2, of x**2, up to 1/2.
	arcSine = []float32{0x1.5555cap-3, 0x1.33016cp-4, 0x1.7489e4p-5, 0x1.8bb868p-6, 0x1.59c9acp-5}
)

// Constants in parts, each the float next to what those before it lack.
const (
	ln2, ln2Low                     = 0x1.62e430p-1, -0x1.05c610p-29
	log2E, log2ELow                 = 0x1.715476p+0, 0x1.4ae0c0p-26
	halfPi, halfPiLow, halfPiLowest = 0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50
	twoPi                           = 0x1.45f306p-1 // 2/pi
)

// Turns is the largest angle that is reduced in 32 bits.
const Turns = 0x1p15

// Exp2 is 2**x.
func Exp2[V any, M Machine[V]](m M, x V) V {
	x = m.Max(m.Min(x, number[V](m, 129)), number[V](m, -151))
	n := m.Round(x)
	x = m.Sub(x, n)
	return m.Scale(m.Fma(horner(m, x, power), x, number[V](m, 1)), n)
}

// reduced is x less a multiple of the logarithm of 2, and which.
func reduced[V any, M Machine[V]](m M, x V) (rest, n V) {
	n = m.Round(m.Mul(x, number[V](m, log2E)))
	return m.Fnma(n, number[V](m, ln2Low), m.Fnma(n, number[V](m, ln2), x)), n
}

// Exp is e**x.
func Exp[V any, M Machine[V]](m M, x V) V {
	one := number[V](m, 1)
	x, n := reduced(m, m.Max(m.Min(x, number[V](m, 89)), number[V](m, -104)))
	return m.Scale(m.Fma(m.Fma(horner(m, x, exponential), x, one), x, one), n)
}

// Log2 is the logarithm of base 2.
func Log2[V any, M Machine[V]](m M, x V) V {
	mantissa, exponent := m.Split(x)
	f := m.Sub(mantissa, number[V](m, 1))
	rest := m.Mul(m.Mul(f, f), horner(m, f, binary))
	return m.Add(m.Fma(f, number[V](m, log2E), rest), exponent)
}

// Log is the natural logarithm.
func Log[V any, M Machine[V]](m M, x V) V {
	mantissa, exponent := m.Split(x)
	f := m.Sub(mantissa, number[V](m, 1))
	return m.Fma(exponent, number[V](m, ln2), m.Fma(m.Mul(f, f), horner(m, f, natural), f))
}

// Pow is 2**(y * log2(x)), and 1 if y is 0. Of a negative base it is a NaN. The logarithm has twice the precision.
func Pow[V any, M Machine[V]](m M, x, y V) V {
	zero, one, two := m.Word(0), number[V](m, 1), number[V](m, 2)
	mantissa, exponent := m.Split(x)
	f := m.Sub(mantissa, one)
	sum := m.Add(f, two)
	inverse := m.Div(one, sum)
	s := m.Mul(f, inverse) // about f / (2 + f)
	rest := m.Fnma(s, m.Sub(f, m.Sub(sum, two)), m.Fnma(s, sum, f))
	t := m.Mul(s, s)
	rest = m.Mul(rest, inverse) // what s lacks
	rest = m.Fma(rest, t, rest) // and what its cube lacks with it
	factor := number[V](m, 2*log2E)
	product := m.Mul(s, factor)
	sum = m.Add(exponent, product)
	lost := m.Sub(m.Add(m.Sub(exponent, sum), product), m.Fnma(s, factor, product))
	lost = m.Fma(s, number[V](m, 2*log2ELow), m.Fma(rest, factor, lost))
	low := m.Fma(m.Mul(s, t), horner(m, t, ratio), lost)
	low = m.If(Less, low, one, low, zero) // not of infinities
	log := m.Add(sum, low)
	excess := m.Sub(m.Sub(log, sum), low) // what is to be subtracted from it

	product = m.Mul(y, log)
	excess = m.Fma(y, excess, m.Fnma(y, log, product))
	excess = m.If(Less, m.And(excess, m.Word(magnitudes)), one, excess, zero)
	product = m.Max(m.Min(product, number[V](m, 200)), number[V](m, -200))
	n := m.Round(product)
	rest = m.Sub(m.Sub(product, n), excess)
	r := m.Scale(m.Fma(horner(m, rest, power), rest, one), n)
	return m.If(Equal, y, zero, one, r)
}

// angle returns the magnitude of an angle less a multiple of pi/2, and that multiple as a word.
func angle[V any, M Machine[V]](m M, x V) (rest, quadrants V) {
	x = m.And(x, m.Word(magnitudes))
	n := m.Round(m.Mul(x, number[V](m, twoPi)))
	rest = m.Fnma(n, number[V](m, halfPi), x)
	rest = m.Fnma(n, number[V](m, halfPiLow), rest)
	rest = m.Fnma(n, number[V](m, halfPiLowest), rest)
	rest, n = m.Far(x, rest, n)
	return rest, m.ToWord(n)
}

// sinCos returns sine and cosine of what angle leaves.
func sinCos[V any, M Machine[V]](m M, x V) (sin, cos V) {
	square := m.Mul(x, x)
	sin = m.Fma(m.Mul(x, square), horner(m, square, sine), x)
	return sin, m.Fma(horner(m, square, cosine), square, number[V](m, 1))
}

// withSign gives a float that is not negative the sign of another.
func withSign[V any, M Machine[V]](m M, a, sign V) V { return m.Or(a, m.And(sign, m.Word(signs))) }

// turned is the sine of an angle with a sign, whose rest has this sine and cosine.
func turned[V any, M Machine[V]](m M, sin, cos, quadrants, sign V) V {
	r := m.IfSign(m.Left(quadrants, 31), cos, sin)
	return m.Xor(r, m.And(m.Xor(m.Left(quadrants, 30), sign), m.Word(signs)))
}

// SinCos is the sine and the cosine.
func SinCos[V any, M Machine[V]](m M, x V) (sin, cos V) {
	rest, quadrants := angle(m, x)
	s, c := sinCos(m, rest)
	return turned(m, s, c, quadrants, x), turned(m, s, c, m.AddWords(quadrants, m.Word(1)), m.Word(0))
}

// Sin is the sine.
func Sin[V any, M Machine[V]](m M, x V) V {
	rest, quadrants := angle(m, x)
	sin, cos := sinCos(m, rest)
	return turned(m, sin, cos, quadrants, x)
}

// Cos is the cosine.
func Cos[V any, M Machine[V]](m M, x V) V {
	rest, quadrants := angle(m, x)
	sin, cos := sinCos(m, rest)
	return turned(m, sin, cos, m.AddWords(quadrants, m.Word(1)), m.Word(0))
}

// Tan is the tangent.
func Tan[V any, M Machine[V]](m M, x V) V {
	rest, quadrants := angle(m, x)
	sin, cos := sinCos(m, rest)
	odd := m.Left(quadrants, 31)
	r := m.Div(m.IfSign(odd, cos, sin), m.IfSign(odd, sin, cos))
	return m.Xor(r, m.And(m.Xor(odd, x), m.Word(signs)))
}

// Sinh is the hyperbolic sine. It is infinite where e**|x| is, since it is defined by it.
func Sinh[V any, M Machine[V]](m M, x V) V {
	one := number[V](m, 1)
	a := m.And(x, m.Word(magnitudes))
	e := Exp(m, a)
	large := m.Mul(m.Sub(e, m.Div(one, e)), number[V](m, 0.5))
	square := m.Mul(a, a)
	small := m.Fma(m.Mul(a, square), horner(m, square, hyperbolic), a)
	return withSign(m, m.If(Less, a, one, small, large), x)
}

// Cosh is the hyperbolic cosine. It is infinite where e**|x| is, since it is defined by it.
func Cosh[V any, M Machine[V]](m M, x V) V {
	e := Exp(m, m.And(x, m.Word(magnitudes)))
	return m.Mul(m.Add(e, m.Div(number[V](m, 1), e)), number[V](m, 0.5))
}

// Tanh is the hyperbolic tangent: of e**2|x| - 1, that by itself plus 2.
func Tanh[V any, M Machine[V]](m M, x V) V {
	a := m.Min(m.And(x, m.Word(magnitudes)), number[V](m, 10))
	rest, n := reduced(m, m.Add(a, a))
	p := m.Fma(m.Mul(rest, rest), horner(m, rest, exponential), rest)
	scale := m.Left(m.AddWords(m.ToWord(n), m.Word(127)), 23)
	e := m.Fma(scale, p, m.Sub(scale, number[V](m, 1)))
	return withSign(m, m.Div(e, m.Add(e, number[V](m, 2))), x)
}

// less subtracts x from a constant that is given in parts.
func less[V any, M Machine[V]](m M, high, low float32, x V) V {
	return m.Add(m.Sub(number[V](m, high), x), number[V](m, low))
}

// Atan2 is the angle of a vector.
func Atan2[V any, M Machine[V]](m M, y, x V) V {
	a, b := m.And(y, m.Word(magnitudes)), m.And(x, m.Word(magnitudes))
	least, most := m.Min(a, b), m.Max(a, b)
	q := m.Div(least, m.Max(most, m.Word(1))) // 0 of two zeros
	q = m.If(Equal, least, m.Word(infinity), number[V](m, 1), q)
	square := m.Mul(q, q)
	r := m.Fma(m.Mul(q, square), horner(m, square, arc), q)
	r = m.If(Less, b, a, less(m, halfPi, halfPiLow, r), r)
	r = m.IfSign(x, less(m, 2*halfPi, 2*halfPiLow, r), r)
	return m.If(Unordered, y, x, m.Word(nan), withSign(m, r, y))
}

// Atan is the angle whose tangent is x.
func Atan[V any, M Machine[V]](m M, x V) V {
	one := number[V](m, 1)
	a := m.And(x, m.Word(magnitudes))
	q := m.If(Less, one, a, m.Div(one, a), a)
	square := m.Mul(q, q)
	r := m.Fma(m.Mul(q, square), horner(m, square, arc), q)
	return withSign(m, m.If(Less, one, a, less(m, halfPi, halfPiLow, r), r), x)
}

// arcOf returns the arc whose sine is the magnitude of x or, where that is more than 1/2, half of the arc whose cosine
// it is. The result compares the magnitude with 1/2.
func arcOf[V any, M Machine[V]](m M, x V) (arc V, choose func(yes, no V) V) {
	half := number[V](m, 0.5)
	a := m.And(x, m.Word(magnitudes))
	choose = func(yes, no V) V { return m.If(Less, half, a, yes, no) }
	square := choose(m.Fnma(half, a, half), m.Mul(a, a))
	s := choose(m.Sqrt(square), a)
	return m.Fma(m.Mul(s, square), horner(m, square, arcSine), s), choose
}

// Asin is the arc whose sine is x.
func Asin[V any, M Machine[V]](m M, x V) V {
	r, choose := arcOf(m, x)
	return withSign(m, choose(less(m, halfPi, halfPiLow, m.Add(r, r)), r), x)
}

// Acos is the arc whose cosine is x.
func Acos[V any, M Machine[V]](m M, x V) V {
	r, choose := arcOf(m, x)
	twice := m.Add(r, r)
	r = m.Xor(r, m.And(x, m.Word(signs)))
	return choose(m.IfSign(x, less(m, 2*halfPi, 2*halfPiLow, twice), twice),
		less(m, halfPi, halfPiLow, r))
}

// log1p is log(1 + x), of what is not negative. lacking is what 1 + x has lost.
func log1p[V any, M Machine[V]](m M, x V) V {
	one := number[V](m, 1)
	sum := m.Add(x, one)
	lacking := m.Div(m.Sub(x, m.Sub(sum, one)), sum)
	lacking = m.If(Less, sum, m.Word(infinity), lacking, m.Word(0))
	return m.Add(Log(m, sum), lacking)
}

// doubled is the logarithm of 1 + x or, where large is less than a, of 2*a. There the square of a might be infinite.
func doubled[V any, M Machine[V]](m M, a, x V) V {
	large := number[V](m, 0x1p30)
	more := m.If(Less, large, a, number[V](m, ln2), m.Word(0))
	return m.Add(log1p(m, m.If(Less, large, a, a, x)), more)
}

// Asinh is the inverse of the hyperbolic sine.
func Asinh[V any, M Machine[V]](m M, x V) V {
	one := number[V](m, 1)
	a := m.And(x, m.Word(magnitudes))
	root := m.Sqrt(m.Fma(a, a, one))
	return withSign(m, doubled(m, a, m.Add(m.Div(m.Mul(a, a), m.Add(root, one)), a)), x)
}

// Acosh is the inverse of the hyperbolic cosine.
func Acosh[V any, M Machine[V]](m M, x V) V {
	one := number[V](m, 1)
	a := m.Sub(x, one)
	root := m.Sqrt(m.Fma(a, a, m.Add(a, a)))
	return m.If(AtLeast, x, one, doubled(m, x, m.Add(a, root)), m.Word(nan))
}

// Atanh is the inverse of the hyperbolic tangent.
func Atanh[V any, M Machine[V]](m M, x V) V {
	a := m.And(x, m.Word(magnitudes))
	r := log1p(m, m.Div(m.Add(a, a), m.Sub(number[V](m, 1), a)))
	return withSign(m, m.Mul(r, number[V](m, 0.5)), x)
}
