// Package series holds the functions of package kernel on 32-bit floats: written once, for any Machine. The kernels in
// Go, in AVX2 and in NEON, and machine code, are made from them.
package series

// The reduction of large angles in 64 bits, and what remainders need.
const (
	Magic     = 0x1.8p52             // added to a number, it leaves the nearest integer in the lowest bits
	TwoPi     = 0x1.45f306dc9c883p-1 // 2/pi
	HalfPi    = 0x1.921fb54442d18p+0
	HalfPiLow = 0x1.1a62633145c07p-54 // what HalfPi lacks
	// Far is where angles are too large for the reduction by multiplication. Their sines are those of 0, as on some GPUs.
	Far = 0x1p48
	// Whole is the largest quotient of a remainder that isn't 0 for certain.
	Whole = 0x1p52
)
