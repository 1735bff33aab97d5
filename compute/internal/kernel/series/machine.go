package series

import "math"

// Machine writes or executes operations on 32-bit floats and on words: in Go on a number, in assembly on the lanes of a
// vector. A function of this package is written once, for any machine. So it gives the same bits on all of them: each
// operation rounds to nearest, and denormals are numbers as any other.
type Machine[V any] interface {
	Word(w uint32) V // a constant: the bits of a word or float

	Add(a, b V) V
	Sub(a, b V) V
	Mul(a, b V) V
	Div(a, b V) V
	Sqrt(a V) V
	Fma(a, b, c V) V  // a*b + c, rounded once
	Fnma(a, b, c V) V // c - a*b, rounded once
	Round(a V) V      // to the nearest integer, to an even one of two
	Min(a, b V) V     // a if it is a NaN; of two zeros any one
	Max(a, b V) V     // likewise

	And(a, b V) V
	Or(a, b V) V
	Xor(a, b V) V
	AddWords(a, b V) V
	SubWords(a, b V) V
	Left(a V, n uint8) V   // shifted
	Right(a V, n uint8) V  // shifted, with its sign
	ToWord(a V) V          // of an integer that fits
	ToFloat(a V) V         // of a signed word
	IfSign(a, yes, no V) V // yes where the highest bit of a is set
	If(c Compare, a, b, yes, no V) V

	Split(a V) (mantissa, exponent V) // what SplitWords does
	Scale(a, n V) V                   // what ScaleWords does
	// Far leaves the angles up to Turns. It does angles that are larger once more, in 64 bits: an angle, the rest and the
	// number of quadrants, as far as its lowest two bits count.
	Far(angle, rest, quadrants V) (V, V)
}

// Compare is how two floats are compared. All but Unordered are false where one is a NaN.
type Compare uint8

// Comparisons.
const (
	Less Compare = iota
	AtLeast
	Equal
	Unordered
)

// number is a constant.
func number[V any, M Machine[V]](m M, f float32) V { return m.Word(math.Float32bits(f)) }

// horner is a polynomial of x.
func horner[V any, M Machine[V]](m M, x V, coefficients []float32) V {
	i := len(coefficients) - 1
	sum := number[V](m, coefficients[i])
	for i--; i >= 0; i-- {
		sum = m.Fma(sum, x, number[V](m, coefficients[i]))
	}
	return sum
}

const (
	signs      = 1 << 31
	magnitudes = 1<<31 - 1
	infinity   = 0xff << 23
	nan        = 0x7fc00000
	// leastMantissa is the bits of 3/4: mantissas are from there to below 3/2.
	leastMantissa = 0x3f400000
)

// SplitWords is Machine.Split of machines that have no instruction for it: the mantissa, from 3/4 to below 3/2, and the
// exponent as a float. Of zeros, infinity and of what has no logarithm the exponent is the logarithm.
func SplitWords[V any, M Machine[V]](m M, a V) (mantissa, exponent V) {
	normal, zero := number[V](m, 0x1p-126), m.Word(0)
	raised := m.If(Less, a, normal, m.Mul(a, number[V](m, 0x1p24)), a)
	less := m.If(Less, a, normal, number[V](m, 24), zero)
	raw := m.SubWords(raised, m.Word(leastMantissa))
	mantissa = m.SubWords(raised, m.And(raw, m.Word(0xff800000)))
	exponent = m.Sub(m.ToFloat(m.Right(raw, 23)), less)
	exponent = m.If(Equal, a, zero, m.Word(signs|infinity), exponent)
	exponent = m.If(Equal, a, m.Word(infinity), m.Word(infinity), exponent)
	// Instructions would give a NaN as it is, and this one of what is negative.
	return mantissa, m.If(AtLeast, a, zero, exponent, m.Add(a, m.Word(signs|nan)))
}

// ScaleWords is Machine.Scale of machines that have no instruction for it: a * 2**n, rounded once, where a is about 1
// and the whole number n from -200 to 200. The first product is exact.
func ScaleWords[V any, M Machine[V]](m M, a, n V) V {
	whole := m.ToWord(n)
	half := m.Right(whole, 1)
	power := func(n V) V { return m.Left(m.AddWords(n, m.Word(127)), 23) }
	return m.Mul(m.Mul(a, power(half)), power(m.SubWords(whole, half)))
}
