// Package lanes decodes and encodes the texels of eight lanes at a time, for every format that shaders access, and has
// the steps of sampling that are the same for all instructions: where the texels of an axis lie, and what filters make
// of them. It knows neither views nor samplers.
//
// In: the bytes of an image; offsets of texels, or coordinates; a Format, an Axis, a Level, which do not change once
// they are made. Out: a component after the other, as registers of the compute engine have them.
//
// Each step exists in Go, which is the reference, and on processors with AVX2, FMA and F16C in assembly, for the
// formats that have a way there (asm/). Both give the same bits, but for which NaN a sum of two is. A Format and an
// Axis are told when they are made which of both is taken. The assembly checks nothing: offsets must lie in the image,
// or be negative.
//
// Planes are sampled in AVX-512 for up to 256 lanes at once, with the same bits (plane.go). These steps exist in
// assembly only: who has no AVX-512, or asks for what they don't do, takes the others.
//
// What is chosen is a number, and a call a jump through a table. Function values would do as well, but all arguments
// would escape to the heap.
package lanes

import (
	"math"

	"farside/internal/cpuid"
)

// Width is the lanes of a chunk.
const Width = 8

// Lanes is one component for each lane: the bits of a 32-bit float or integer.
type Lanes [Width]uint32

// Texels is a texel for each lane: red, green, blue, alpha.
type Texels [4]Lanes

// Places are coordinates, or what they are multiplied with.
type Places [Width]float64

// Mask has a bit for each lane.
type Mask uint8

// All is the mask of all lanes.
const All Mask = 1<<Width - 1

// Has says whether a lane is in the mask.
func (m Mask) Has(lane int) bool { return m>>(lane&(Width-1))&1 != 0 }

// Offsets is where the texels of the lanes begin, in bytes; negative for lanes that are not active or outside.
type Offsets [Width]int

// Outside is the offset of what is not there. Sums of a few of them and of offsets stay negative.
const Outside = math.MinInt / 8

// Float and Bits turn what a lane holds into a float and back.
func Float(bits uint32) float32 { return math.Float32frombits(bits) }

// Bits is the inverse of Float.
func Bits(v float32) uint32 { return math.Float32bits(v) }

// Vectors says whether this processor runs the assembly.
func Vectors() bool {
	f := cpuid.X86()
	return f.AVX2 && f.FMA && f.F16C
}

// Set gives one lane a texel.
func (dst *Texels) Set(lane int, t *[4]uint32) {
	lane &= Width - 1
	dst[0][lane], dst[1][lane], dst[2][lane], dst[3][lane] = t[0], t[1], t[2], t[3]
}

// Fill gives all lanes a texel.
func (dst *Texels) Fill(t *[4]uint32) {
	for lane := range Width {
		dst.Set(lane, t)
	}
}
