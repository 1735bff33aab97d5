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

// SRGBBuckets divides 0..1 so finely that no bucket holds two of the places where the 8-bit number changes: its
// slope is nowhere more than 255*12.92.
const SRGBBuckets = 4096

// srgbRounding rounds without computing a power: firsts has the 8-bit number at each bucket's beginning, steps
// the linear number from which on the next 8-bit number is the nearest.
type srgbRounding struct {
	firsts [SRGBBuckets + 1]uint8
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
		for float64(i)/SRGBBuckets >= e.steps[number] {
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
	number := e.firsts[int(v*SRGBBuckets)]
	if v >= e.steps[number] {
		number++
	}
	return number
}

// SRGB8 is the sRGB numbers of 8 bits for vectors of 32-bit floats. The number nearest to a linear one, v, is
// Firsts[int(v*SRGBBuckets)], or the next one where v is at least that number's step.
type SRGB8 struct {
	Firsts [SRGBBuckets + 1]uint32
	Steps  [256]float32
	Linear [256]float32 // by number
}

// SRGBVectors gives the tables, which are made once.
var SRGBVectors = sync.OnceValue(func() *SRGB8 {
	t, from := new(SRGB8), srgb()
	for i, first := range from.firsts {
		t.Firsts[i] = uint32(first)
	}
	for i, step := range from.steps {
		t.Steps[i] = float32(step)
		if float64(t.Steps[i]) < step {
			t.Steps[i] = math.Nextafter32(t.Steps[i], 2)
		}
		t.Linear[i] = float32(srgbEOTF(float64(i) / 255))
	}
	return t
})
