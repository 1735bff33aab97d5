package texel

import (
	"encoding/binary"
	"math"
)

// ETC2 and EAC, after the Khronos Data Format Specification, chapters "ETC2 Compressed Texture Image Formats". A block
// is a big-endian word of 64 bits; texels are counted down the columns.

// etcModifiers are the two distances of each table; the second bit of an index is the sign.
var etcModifiers = [8][2]int{{2, 8}, {5, 17}, {9, 29}, {13, 42}, {18, 60}, {24, 80}, {33, 106}, {47, 183}}

// etcDistances are those of the T and H modes.
var etcDistances = [8]int{3, 6, 11, 16, 23, 32, 41, 64}

// etcWord is a block.
type etcWord uint64

// bits are n bits from bit low on.
func (w etcWord) bits(low, n uint) int { return int(w >> low & (1<<n - 1)) }

// index is the number of two bits that a texel chooses a colour by.
func (w etcWord) index(x, y int) int {
	at := uint(x*4 + y)
	return w.bits(at+16, 1)<<1 | w.bits(at, 1)
}

type rgb [3]int

// extended makes eight bits of four or five or more: the highest come again below.
func extended(v int, bits uint) int { return v<<(8-bits) | v>>(2*bits-8) }

func (c rgb) extended(bits uint) rgb {
	return rgb{extended(c[0], bits), extended(c[1], bits), extended(c[2], bits)}
}

func (c rgb) plus(d int) rgb { return rgb{c[0] + d, c[1] + d, c[2] + d} }

// put writes a texel, clamped.
func (c rgb) put(dst []byte, x, y int, alpha byte) {
	t := dst[(y*4+x)*4:][:4]
	for i, v := range c {
		t[i] = byte(min(max(v, 0), 255))
	}
	t[3] = alpha
}

func decodeETC2(_ *Blocks, dst, block []byte) {
	decodeColors(dst, etcWord(binary.BigEndian.Uint64(block)), false)
}

func decodeETC2A1(_ *Blocks, dst, block []byte) {
	decodeColors(dst, etcWord(binary.BigEndian.Uint64(block)), true)
}

func decodeETC2A8(b *Blocks, dst, block []byte) {
	decodeETC2(b, dst, block[8:])
	e := newEAC(block)
	for i := range 16 {
		dst[i*4+3] = byte(min(max(e.base+e.modifier(i%4, i/4)*e.multiplier, 0), 255))
	}
}

// decodeColors decodes colours. With punch the bit that says that colours are differential says instead that the block
// is opaque, and they always are differential.
func decodeColors(dst []byte, w etcWord, punch bool) {
	flag := w.bits(33, 1) != 0
	opaque := !punch || flag
	if !punch && !flag {
		w.subblocks(dst, rgb{w.bits(60, 4), w.bits(52, 4), w.bits(44, 4)}.extended(4),
			rgb{w.bits(56, 4), w.bits(48, 4), w.bits(40, 4)}.extended(4), true)
		return
	}
	base := rgb{w.bits(59, 5), w.bits(51, 5), w.bits(43, 5)}
	other := base
	for i, low := range [3]uint{56, 48, 40} {
		other[i] += w.bits(low, 3) ^ 4 - 4 // of three bits with a sign
	}
	outside := func(v int) bool { return v < 0 || v > 31 }
	// A sum that overflows stands for another mode.
	switch {
	case outside(other[0]):
		w.paint(dst, w.colorsT(), opaque)
	case outside(other[1]):
		w.paint(dst, w.colorsH(), opaque)
	case outside(other[2]):
		w.planar(dst)
	default:
		w.subblocks(dst, base.extended(5), other.extended(5), opaque)
	}
}

// subblocks decodes two halves with a colour and a table of distances each.
func (w etcWord) subblocks(dst []byte, first, second rgb, opaque bool) {
	flip := w.bits(32, 1) != 0
	tables := [2]*[2]int{&etcModifiers[w.bits(37, 3)], &etcModifiers[w.bits(34, 3)]}
	for i := range 16 {
		x, y := i%4, i/4
		half := x / 2
		if flip {
			half = y / 2
		}
		color := first
		if half == 1 {
			color = second
		}
		index := w.index(x, y)
		distance := tables[half][index&1]
		if !opaque {
			switch index {
			case 0:
				distance = 0
			case 2:
				rgb{}.put(dst, x, y, 0)
				continue
			}
		}
		if index&2 != 0 {
			distance = -distance
		}
		color.plus(distance).put(dst, x, y, 255)
	}
}

// colorsT are the four colours of the T mode.
func (w etcWord) colorsT() [4]rgb {
	one := rgb{w.bits(59, 2)<<2 | w.bits(56, 2), w.bits(52, 4), w.bits(48, 4)}.extended(4)
	two := rgb{w.bits(44, 4), w.bits(40, 4), w.bits(36, 4)}.extended(4)
	d := etcDistances[w.bits(34, 2)<<1|w.bits(32, 1)]
	return [4]rgb{one, two.plus(d), two, two.plus(-d)}
}

// colorsH are those of the H mode, in which the order of the two colours is the last bit of the distance.
func (w etcWord) colorsH() [4]rgb {
	one := rgb{w.bits(59, 4), w.bits(56, 3)<<1 | w.bits(52, 1), w.bits(51, 1)<<3 | w.bits(47, 3)}
	two := rgb{w.bits(43, 4), w.bits(39, 4), w.bits(35, 4)}
	index := w.bits(34, 1)<<2 | w.bits(32, 1)<<1
	if one[0]<<8|one[1]<<4|one[2] >= two[0]<<8|two[1]<<4|two[2] {
		index |= 1
	}
	d := etcDistances[index]
	one, two = one.extended(4), two.extended(4)
	return [4]rgb{one.plus(d), one.plus(-d), two.plus(d), two.plus(-d)}
}

func (w etcWord) paint(dst []byte, colors [4]rgb, opaque bool) {
	for i := range 16 {
		x, y := i%4, i/4
		index := w.index(x, y)
		if !opaque && index == 2 {
			rgb{}.put(dst, x, y, 0)
			continue
		}
		colors[index].put(dst, x, y, 255)
	}
}

// planar decodes a block whose colour changes evenly from its origin along x and y.
func (w etcWord) planar(dst []byte) {
	color := func(r, g, b int) rgb { return rgb{extended(r, 6), extended(g, 7), extended(b, 6)} }
	origin := color(w.bits(57, 6), w.bits(56, 1)<<6|w.bits(49, 6), w.bits(48, 1)<<5|w.bits(43, 2)<<3|w.bits(39, 3))
	right := color(w.bits(34, 5)<<1|w.bits(32, 1), w.bits(25, 7), w.bits(19, 6))
	down := color(w.bits(13, 6), w.bits(6, 7), w.bits(0, 6))
	for i := range 16 {
		x, y := i%4, i/4
		var c rgb
		for n := range c {
			c[n] = (x*(right[n]-origin[n]) + y*(down[n]-origin[n]) + 4*origin[n] + 2) >> 2
		}
		c.put(dst, x, y, 255)
	}
}

// eacModifiers are the tables of EAC.
var eacModifiers = [16][8]int{
	{-3, -6, -9, -15, 2, 5, 8, 14}, {-3, -7, -10, -13, 2, 6, 9, 12}, {-2, -5, -8, -13, 1, 4, 7, 12},
	{-2, -4, -6, -13, 1, 3, 5, 12},
	{-3, -6, -8, -12, 2, 5, 7, 11}, {-3, -7, -9, -11, 2, 6, 8, 10}, {-4, -7, -8, -11, 3, 6, 7, 10},
	{-3, -5, -8, -11, 2, 4, 7, 10},
	{-2, -6, -8, -10, 1, 5, 7, 9}, {-2, -5, -8, -10, 1, 4, 7, 9}, {-2, -4, -8, -10, 1, 3, 7, 9},
	{-2, -5, -7, -10, 1, 4, 6, 9},
	{-3, -4, -7, -10, 2, 3, 6, 9}, {-1, -2, -3, -10, 0, 1, 2, 9}, {-4, -6, -8, -9, 3, 5, 7, 8},
	{-3, -5, -7, -9, 2, 4, 6, 8},
}

// eac is a block of one channel.
type eac struct {
	word             etcWord
	base, multiplier int
	table            *[8]int
}

func newEAC(block []byte) eac {
	w := etcWord(binary.BigEndian.Uint64(block))
	return eac{w, w.bits(56, 8), w.bits(52, 4), &eacModifiers[w.bits(48, 4)]}
}

func (e *eac) modifier(x, y int) int { return e.table[e.word.bits(uint(45-3*(x*4+y)), 3)] }

// decodeEAC11 decodes a channel of 11 bits to 32-bit floats, which lie step bytes apart.
func decodeEAC11(dst, block []byte, step int, signed bool) {
	e := newEAC(block)
	low, high := 0, 2047
	base := e.base*8 + 4
	if signed {
		low, high = -1023, 1023
		base = max(int(int8(e.base)), -127) * 8
	}
	multiplier := e.multiplier * 8
	if multiplier == 0 {
		multiplier = 1
	}
	for i := range 16 {
		v := min(max(base+e.modifier(i%4, i/4)*multiplier, low), high)
		binary.LittleEndian.PutUint32(dst[i*step:], math.Float32bits(float32(float64(v)/float64(high))))
	}
}

func decodeEAC(_ *Blocks, dst, block []byte)       { decodeEAC11(dst, block, 4, false) }
func decodeEACSigned(_ *Blocks, dst, block []byte) { decodeEAC11(dst, block, 4, true) }

func decodeEAC2(_ *Blocks, dst, block []byte) {
	decodeEAC11(dst, block, 8, false)
	decodeEAC11(dst[4:], block[8:], 8, false)
}

func decodeEAC2Signed(_ *Blocks, dst, block []byte) {
	decodeEAC11(dst, block, 8, true)
	decodeEAC11(dst[4:], block[8:], 8, true)
}
