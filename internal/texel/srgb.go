package texel

import (
	"math"
	"sync"
)

// srgbEOTF turns a nonlinear sRGB number into a linear one (Khronos Data Format Specification, "sRGB transfer
// functions").
func srgbEOTF(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

// srgbBuckets divides 0..1 so finely that no bucket holds two of the places where the 8-bit number changes: its
// slope is nowhere more than 255*12.92.
const srgbBuckets = 4096

// srgbRounding rounds without computing a power: firsts has the 8-bit number at each bucket's beginning, steps
// the linear number from which on the next 8-bit number is the nearest.
type srgbRounding struct {
	firsts [srgbBuckets + 1]uint8
	steps  [256]float64
}

var srgb = sync.OnceValue(func() *srgbRounding {
	e := new(srgbRounding)
	for i := range 255 {
		e.steps[i] = srgbEOTF((float64(i) + 0.5) / 255)
	}
	e.steps[255] = math.Inf(1)
	number := 0
	for i := range e.firsts {
		for float64(i)/srgbBuckets >= e.steps[number] {
			number++
		}
		e.firsts[i] = uint8(number)
	}
	return e
})

// fromLinear returns the 8-bit sRGB number nearest to a linear one; 0 for NaN.
func (e *srgbRounding) fromLinear(v float64) uint8 {
	switch {
	case v >= 1:
		return 255
	case !(v > 0):
		return 0
	}
	number := e.firsts[int(v*srgbBuckets)]
	if v >= e.steps[number] {
		number++
	}
	return number
}
