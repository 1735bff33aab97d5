package texel

import (
	"encoding/binary"
	"math"
	"sync"
)

// BC1 to BC5, after the Khronos Data Format Specification, chapters "S3TC Compressed Texture Image Formats" and "RGTC
// Compressed Texture Image Formats". Both define texels as real numbers. They are decoded to the nearest 32-bit floats.

// bcColors has the numbers that a channel can have between two ends of 5 or 6 bits, in sixths of a step: what two
// ends weigh is a number of sixths.
type bcColors struct {
	five [31*6 + 1]uint32
	six  [63*6 + 1]uint32
}

func newBCColors(number func(float64) float64) *bcColors {
	c := new(bcColors)
	for i := range c.five {
		c.five[i] = math.Float32bits(float32(number(float64(i) / (31 * 6))))
	}
	for i := range c.six {
		c.six[i] = math.Float32bits(float32(number(float64(i) / (63 * 6))))
	}
	return c
}

var (
	bcLinear = sync.OnceValue(func() *bcColors { return newBCColors(func(v float64) float64 { return v }) })
	bcSRGB   = sync.OnceValue(func() *bcColors { return newBCColors(srgbEOTF) })
)

var oneBits = math.Float32bits(1)

func decodeBC1(_ *Blocks, dst, block []byte)      { decodeBCColors(dst, block, bcLinear(), true, oneBits) }
func decodeBC1SRGB(_ *Blocks, dst, block []byte)  { decodeBCColors(dst, block, bcSRGB(), true, oneBits) }
func decodeBC1A(_ *Blocks, dst, block []byte)     { decodeBCColors(dst, block, bcLinear(), true, 0) }
func decodeBC1ASRGB(_ *Blocks, dst, block []byte) { decodeBCColors(dst, block, bcSRGB(), true, 0) }
func decodeBC2(_ *Blocks, dst, block []byte)      { decodeBC2Colors(dst, block, bcLinear()) }
func decodeBC2SRGB(_ *Blocks, dst, block []byte)  { decodeBC2Colors(dst, block, bcSRGB()) }
func decodeBC3(_ *Blocks, dst, block []byte)      { decodeBC3Colors(dst, block, bcLinear()) }
func decodeBC3SRGB(_ *Blocks, dst, block []byte)  { decodeBC3Colors(dst, block, bcSRGB()) }

// decodeBCColors decodes colours to four 32-bit floats. Where the first end isn't the larger number, with three set,
// there are three colours and black, whose alpha is that of black.
func decodeBCColors(dst, block []byte, numbers *bcColors, three bool, black uint32) {
	first, second := binary.LittleEndian.Uint16(block), binary.LittleEndian.Uint16(block[2:])
	weights := [4]int{6, 0, 4, 2} // of the first end, in sixths
	three = three && first <= second
	if three {
		weights[2] = 3
	}
	var colors [4][4]uint32
	for i, w := range weights {
		between := func(shift, mask uint16) int {
			return w*int(first>>shift&mask) + (6-w)*int(second>>shift&mask)
		}
		red, green, blue := between(11, 31), between(5, 63), between(0, 31)
		colors[i] = [4]uint32{numbers.five[red], numbers.six[green], numbers.five[blue], oneBits}
	}
	if three {
		colors[3] = [4]uint32{3: black}
	}
	codes := binary.LittleEndian.Uint32(block[4:])
	for i := range 16 {
		c, t := &colors[codes>>(2*i)&3], dst[i*16:][:16]
		binary.LittleEndian.PutUint32(t, c[0])
		binary.LittleEndian.PutUint32(t[4:], c[1])
		binary.LittleEndian.PutUint32(t[8:], c[2])
		binary.LittleEndian.PutUint32(t[12:], c[3])
	}
}

func decodeBC2Colors(dst, block []byte, numbers *bcColors) {
	decodeBCColors(dst, block[8:], numbers, false, 0)
	alphas := binary.LittleEndian.Uint64(block)
	for i := range 16 {
		alpha := float64(alphas>>(4*i)&15) / 15
		binary.LittleEndian.PutUint32(dst[i*16+12:], math.Float32bits(float32(alpha)))
	}
}

func decodeBC3Colors(dst, block []byte, numbers *bcColors) {
	decodeBCColors(dst, block[8:], numbers, false, 0)
	decodeBCChannel(dst[12:], block, 16, false)
}

func decodeBC4(_ *Blocks, dst, block []byte)       { decodeBCChannel(dst, block, 4, false) }
func decodeBC4Signed(_ *Blocks, dst, block []byte) { decodeBCChannel(dst, block, 4, true) }

func decodeBC5(_ *Blocks, dst, block []byte) {
	decodeBCChannel(dst, block, 8, false)
	decodeBCChannel(dst[4:], block[8:], 8, false)
}

func decodeBC5Signed(_ *Blocks, dst, block []byte) {
	decodeBCChannel(dst, block, 8, true)
	decodeBCChannel(dst[4:], block[8:], 8, true)
}

// decodeBCChannel decodes a channel to 32-bit floats, which lie step bytes apart. Ends are compared as they are stored,
// so that -127 is more than -128, although both mean -1.
func decodeBCChannel(dst, block []byte, step int, signed bool) {
	first, second, most, low := int(block[0]), int(block[1]), 255, float32(0)
	more := first > second
	if signed {
		first, second, most, low = int(int8(block[0])), int(int8(block[1])), 127, -1
		more = first > second
		first, second = max(first, -most), max(second, -most)
	}
	parts := 5
	if more {
		parts = 7
	}
	var numbers [8]uint32
	for i := range numbers {
		weight := parts // of the first end
		switch {
		case i == 1:
			weight = 0
		case i > 1:
			weight = parts + 1 - i
		}
		numbers[i] = math.Float32bits(float32(float64(weight*first+(parts-weight)*second) / float64(parts*most)))
	}
	if !more {
		numbers[6], numbers[7] = math.Float32bits(low), oneBits
	}
	codes := binary.LittleEndian.Uint64(block) >> 16
	for i := range 16 {
		binary.LittleEndian.PutUint32(dst[i*step:], numbers[codes>>(3*i)&7])
	}
}
