// Package series holds the coefficients of the functions of package kernel, which its Go and its assembly share. They
// are those of Chebyshev interpolations, the constant term first.
package series

// Polynomials, each with what its largest error is.
var (
	// Exp2 is 2**x between -1/2 and 1/2, to 2**-34.
	Exp2 = []float64{0x1.ffffffffa7135p-1, 0x1.62e42fef9cc69p-1, 0x1.ebfbe0aa03df0p-3, 0x1.c6b08da70cce3p-5,
		0x1.3b29d8bb0b97ep-7, 0x1.5d877598350dep-10, 0x1.446c79efd4834p-13, 0x1.00c0e4e15189cp-16}
	// Log2 is log2((1+x)/(1-x)) / x, of x**2, where (1+x)/(1-x) is between the roots of 1/2 and of 2, to 2**-45.
	Log2 = []float64{0x1.71547652b8252p+1, 0x1.ec709dc53a1cap-1, 0x1.2776c295ae0c7p-1, 0x1.a61a2cf9f9e38p-2,
		0x1.47959c992a71fp-2, 0x1.21ad2d776d25ap-2}
	// Sin is (sin(x)/x - 1) / x**2, of x**2, up to an eighth of the circle, to 2**-41.
	Sin = []float64{-0x1.5555555554ee8p-3, 0x1.1111110f39642p-7, -0x1.a019fc36f561ep-13, 0x1.71d8aa0f87bdcp-19,
		-0x1.a9b7b613db6b3p-26}
	// Cos is (cos(x) - 1) / x**2, of x**2, up to an eighth of the circle, to 2**-39.
	Cos = []float64{-0x1.fffffffffd648p-2, 0x1.5555554f5a48fp-5, -0x1.6c16b8a3e6232p-10, 0x1.a010f9a7da92dp-16,
		-0x1.241982b295aafp-22}
	// Atan is atan(x)/x, of x**2, up to 1, to 2**-39.
	Atan = []float64{0x1.fffffffffc08dp-1, -0x1.5555554929285p-2, 0x1.9999935891892p-3, -0x1.2491a58afe8ffp-3,
		0x1.c70accb05424ep-4, -0x1.73c9227469d04p-4, 0x1.37e1333e1ff1dp-4, -0x1.04c150b92d46cp-4, 0x1.9d5503ec54b44p-5,
		-0x1.20e9c577a2d32p-5, 0x1.46a7b23ca54f7p-6, -0x1.0e1211403527dp-7, 0x1.1b7b569f4cdd0p-9, -0x1.178d6baea92b4p-12}
	// Sinh is (sinh(x)/x - 1) / x**2, of x**2, up to 1, to 2**-38.
	Sinh = []float64{0x1.5555555558201p-3, 0x1.1111110857b52p-7, 0x1.a01a131097a98p-13, 0x1.71d208a299728p-19,
		0x1.b557c78eb1ae2p-26}
	// Asinh is (asinh(x)/x - 1) / x**2, of x**2, up to 1/64: Taylor's.
	Asinh = []float64{-1. / 6, 3. / 40, -15. / 336}
)

const (
	Magic     = 0x1.8p52 // added to a number, it leaves the nearest integer in the lowest bits
	Log2E     = 0x1.71547652b82fep+0
	Ln2       = 0x1.62e42fefa39efp-1
	TwoPi     = 0x1.45f306dc9c883p-1 // 2/pi
	HalfPi    = 0x1.921fb54442d18p+0
	HalfPiLow = 0x1.1a62633145c07p-54 // what HalfPi lacks
	Pi        = 0x1.921fb54442d18p+1
	// Steep is what exponents are held to: 2**Steep is beyond the 32-bit floats.
	Steep = 200
	// RootHalf is the bits of the root of 1/2.
	RootHalf = 0x3fe6a09e00000000
	// Far is where angles are too large for the reduction by multiplication. Their sines are those of 0, as on some GPUs.
	Far = 0x1p48
	// Whole is the largest quotient of a remainder that isn't 0 for certain.
	Whole = 0x1p52
	// Small is up to where Asinh holds, Ratio that of Log2.
	Small = 0x1p-6
	Ratio = 0x1.5p-3
)
