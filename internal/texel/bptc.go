package texel

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"sync"
)

// BC7 and BC6H, after the Khronos Data Format Specification, chapter "BPTC Compressed Texture Image Formats".

// bptcWeights are the weights of the second end, in 64ths, by the bits of an index less 2.
var bptcWeights = [3][16]uint8{
	{0, 21, 43, 64},
	{0, 9, 18, 27, 37, 46, 55, 64},
	{0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64},
}

// bptcSubset is the subset of a texel in a pattern.
func bptcSubset(subsets, pattern, texel int) int {
	switch subsets {
	case 2:
		return int(bptcSubsets2[pattern] >> texel & 1)
	case 3:
		return int(bptcSubsets3[pattern] >> (2 * texel) & 3)
	}
	return 0
}

// bptcIndices reads the index of each texel, of n bits, from bit at on, and returns the bit behind them. Anchors have
// one bit less.
func (w word128) bptcIndices(to *[16]uint8, at, n uint, subsets, pattern int) uint {
	anchors := uint32(1)
	switch subsets {
	case 2:
		anchors |= 1 << bptcAnchors2[pattern]
	case 3:
		anchors |= 1<<(bptcAnchors3[pattern]&15) | 1<<(bptcAnchors3[pattern]>>4)
	}
	for i := range to {
		width := n - uint(anchors>>i&1)
		to[i] = uint8(w.bits(at, width))
		at += width
	}
	return at
}

// bptcMix interpolates between two ends.
func bptcMix(a, b int, weight uint8) int { return ((64-int(weight))*a + int(weight)*b + 32) >> 6 }

// bc7Mode is a row of the specification's table "Mode-dependent BPTC parameters".
type bc7Mode struct {
	subsets, pattern, rotation, selection, color, alpha uint8 // all but the first in bits
	ownP, sharedP                                       bool
	index, second                                       uint8
}

var bc7Modes = [8]bc7Mode{
	{3, 4, 0, 0, 4, 0, true, false, 3, 0},
	{2, 6, 0, 0, 6, 0, false, true, 3, 0},
	{3, 6, 0, 0, 5, 0, false, false, 2, 0},
	{2, 6, 0, 0, 7, 0, true, false, 2, 0},
	{1, 0, 2, 1, 5, 6, false, false, 2, 3},
	{1, 0, 2, 0, 7, 8, false, false, 2, 2},
	{1, 0, 0, 0, 7, 7, true, false, 4, 0},
	{2, 6, 0, 0, 5, 5, true, false, 2, 0},
}

// bc7Ends reads the two ends of each subset from bit at on, and returns the bit behind them.
func (w word128) bc7Ends(ends *[6][4]int, m *bc7Mode, at uint) uint {
	n := int(m.subsets) * 2
	for channel := range 4 {
		width := uint(m.color)
		if channel == 3 {
			width = uint(m.alpha)
		}
		for i := range n {
			ends[i][channel] = w.bits(at, width)
			at += width
		}
	}
	below := m.ownP || m.sharedP
	var p [6]int
	switch {
	case m.ownP:
		for i := range n {
			p[i] = w.bits(at, 1)
			at++
		}
	case m.sharedP:
		for i := range n {
			p[i] = w.bits(at+uint(i/2), 1)
		}
		at += uint(n / 2)
	}
	for i := range n {
		for channel := range 4 {
			width := uint(m.color)
			if channel == 3 {
				width = uint(m.alpha)
			}
			if width == 0 {
				ends[i][channel] = 255
				continue
			}
			v := ends[i][channel]
			if below {
				v, width = v<<1|p[i], width+1
			}
			ends[i][channel] = extended(v, width)
		}
	}
	return at
}

// decodeBC7 decodes to four bytes. A block of no mode is all 0.
func decodeBC7(_ *Blocks, dst, block []byte) {
	w := newWord128(block)
	mode := uint(bits.TrailingZeros8(block[0]))
	if mode == 8 {
		clear(dst)
		return
	}
	m := &bc7Modes[mode]
	at := mode + 1
	field := func(n uint8) int {
		v := w.bits(at, uint(n))
		at += uint(n)
		return v
	}
	pattern := field(m.pattern)
	rotation := field(m.rotation)
	selection := field(m.selection)
	var ends [6][4]int
	at = w.bc7Ends(&ends, m, at)
	subsets := int(m.subsets)
	var first, second [16]uint8
	at = w.bptcIndices(&first, at, uint(m.index), subsets, pattern)
	colors, alphas := &first, &first
	colorBits, alphaBits := m.index, m.index
	if m.second != 0 {
		w.bptcIndices(&second, at, uint(m.second), subsets, pattern)
		alphas, alphaBits = &second, m.second
		if selection != 0 {
			colors, colorBits, alphas, alphaBits = alphas, alphaBits, colors, colorBits
		}
	}
	colorWeights, alphaWeights := &bptcWeights[colorBits-2], &bptcWeights[alphaBits-2]
	for i := range 16 {
		subset := bptcSubset(subsets, pattern, i)
		a, b := &ends[subset*2], &ends[subset*2+1]
		color, alpha := colorWeights[colors[i]], alphaWeights[alphas[i]]
		t := dst[i*4:][:4]
		t[0] = byte(bptcMix(a[0], b[0], color))
		t[1] = byte(bptcMix(a[1], b[1], color))
		t[2] = byte(bptcMix(a[2], b[2], color))
		t[3] = byte(bptcMix(a[3], b[3], alpha))
		if rotation != 0 {
			t[3], t[rotation-1] = t[rotation-1], t[3]
		}
	}
}

// bc6Mode is a row of the specification's tables "Endpoint and partition parameters for BPTC block modes" and "Block
// descriptions for BC6H block modes".
type bc6Mode struct {
	number      uint8
	transformed bool
	bits        uint8    // of an end
	delta       [3]uint8 // bits of the others, where they are transformed
	// fields are the parts of ends behind the mode, from the lowest bit of the block on: a channel, the number of the
	// end, and its bits. The higher number first, the lowest bit comes first; otherwise the highest does.
	fields string
}

var bc6Modes = [...]bc6Mode{
	{0, true, 10, [3]uint8{5, 5, 5}, "g2.4 b2.4 b3.4 r0.9-0 g0.9-0 b0.9-0 r1.4-0 g3.4 g2.3-0 g1.4-0 b3.0 g3.3-0 b1.4-0 " +
		"b3.1 b2.3-0 r2.4-0 b3.2 r3.4-0 b3.3"},
	{1, true, 7, [3]uint8{6, 6, 6}, "g2.5 g3.4 g3.5 r0.6-0 b3.0 b3.1 b2.4 g0.6-0 b2.5 b3.2 g2.4 b0.6-0 b3.3 b3.5 b3.4 " +
		"r1.5-0 g2.3-0 g1.5-0 g3.3-0 b1.5-0 b2.3-0 r2.5-0 r3.5-0"},
	{2, true, 11, [3]uint8{5, 4, 4}, "r0.9-0 g0.9-0 b0.9-0 r1.4-0 r0.10 g2.3-0 g1.3-0 g0.10 b3.0 g3.3-0 b1.3-0 b0.10 " +
		"b3.1 b2.3-0 r2.4-0 b3.2 r3.4-0 b3.3"},
	{6, true, 11, [3]uint8{4, 5, 4}, "r0.9-0 g0.9-0 b0.9-0 r1.3-0 r0.10 g3.4 g2.3-0 g1.4-0 g0.10 g3.3-0 b1.3-0 b0.10 " +
		"b3.1 b2.3-0 r2.3-0 b3.0 b3.2 r3.3-0 g2.4 b3.3"},
	{10, true, 11, [3]uint8{4, 4, 5}, "r0.9-0 g0.9-0 b0.9-0 r1.3-0 r0.10 b2.4 g2.3-0 g1.3-0 g0.10 b3.0 g3.3-0 b1.4-0 " +
		"b0.10 b2.3-0 r2.3-0 b3.1 b3.2 r3.3-0 b3.4 b3.3"},
	{14, true, 9, [3]uint8{5, 5, 5}, "r0.8-0 b2.4 g0.8-0 g2.4 b0.8-0 b3.4 r1.4-0 g3.4 g2.3-0 g1.4-0 b3.0 g3.3-0 b1.4-0 " +
		"b3.1 b2.3-0 r2.4-0 b3.2 r3.4-0 b3.3"},
	{18, true, 8, [3]uint8{6, 5, 5}, "r0.7-0 g3.4 b2.4 g0.7-0 b3.2 g2.4 b0.7-0 b3.3 b3.4 r1.5-0 g2.3-0 g1.4-0 b3.0 " +
		"g3.3-0 b1.4-0 b3.1 b2.3-0 r2.5-0 r3.5-0"},
	{22, true, 8, [3]uint8{5, 6, 5}, "r0.7-0 b3.0 b2.4 g0.7-0 g2.5 g2.4 b0.7-0 g3.5 b3.4 r1.4-0 g3.4 g2.3-0 g1.5-0 " +
		"g3.3-0 b1.4-0 b3.1 b2.3-0 r2.4-0 b3.2 r3.4-0 b3.3"},
	{26, true, 8, [3]uint8{5, 5, 6}, "r0.7-0 b3.1 b2.4 g0.7-0 b2.5 g2.4 b0.7-0 b3.5 b3.4 r1.4-0 g3.4 g2.3-0 g1.4-0 " +
		"b3.0 g3.3-0 b1.5-0 b2.3-0 r2.4-0 b3.2 r3.4-0 b3.3"},
	{30, false, 6, [3]uint8{}, "r0.5-0 g3.4 b3.0 b3.1 b2.4 g0.5-0 g2.5 b2.5 b3.2 g2.4 b0.5-0 g3.5 b3.3 b3.5 b3.4 " +
		"r1.5-0 g2.3-0 g1.5-0 g3.3-0 b1.5-0 b2.3-0 r2.5-0 r3.5-0"},
	{3, false, 10, [3]uint8{}, "r0.9-0 g0.9-0 b0.9-0 r1.9-0 g1.9-0 b1.9-0"},
	{7, true, 11, [3]uint8{9, 9, 9}, "r0.9-0 g0.9-0 b0.9-0 r1.8-0 r0.10 g1.8-0 g0.10 b1.8-0 b0.10"},
	{11, true, 12, [3]uint8{8, 8, 8}, "r0.9-0 g0.9-0 b0.9-0 r1.7-0 r0.10-11 g1.7-0 g0.10-11 b1.7-0 b0.10-11"},
	{15, true, 16, [3]uint8{4, 4, 4}, "r0.9-0 g0.9-0 b0.9-0 r1.3-0 r0.10-15 g1.3-0 g0.10-15 b1.3-0 b0.10-15"},
}

// bc6Layout is a mode as the decoder wants it.
type bc6Layout struct {
	*bc6Mode
	subsets int
	parts   []bc6Part
}

// bc6Part is where some bits of an end come from.
type bc6Part struct {
	end, channel, low, at, width uint8
	reversed                     bool
}

// bc6Layouts has the modes by their numbers, nil where there is none.
var bc6Layouts = sync.OnceValue(func() (all [32]*bc6Layout) {
	for i := range bc6Modes {
		m := &bc6Modes[i]
		l := &bc6Layout{bc6Mode: m, subsets: 1}
		at := uint8(5)
		if m.number < 2 {
			at = 2
		}
		for field := range strings.FieldsSeq(m.fields) {
			p := bc6Part{channel: uint8(strings.IndexByte("rgb", field[0])), end: field[1] - '0', at: at}
			first, last, ranged := strings.Cut(field[3:], "-")
			a, b := bc6Number(first), bc6Number(last)
			if !ranged {
				b = a
			}
			p.low, p.width, p.reversed = min(a, b), max(a, b)-min(a, b)+1, b > a
			at += p.width
			if p.end >= 2 {
				l.subsets = 2
			}
			l.parts = append(l.parts, p)
		}
		all[m.number] = l
	}
	return all
})

func bc6Number(digits string) (n uint8) {
	for _, d := range []byte(digits) {
		n = n*10 + d - '0'
	}
	return n
}

// ends reads the ends of both subsets and makes them absolute.
func (l *bc6Layout) ends(w word128, signed bool) (ends [4][3]int) {
	for i := range l.parts {
		p := &l.parts[i]
		v := w.bits(uint(p.at), uint(p.width))
		if p.reversed {
			v = int(bits.Reverse32(uint32(v)) >> (32 - p.width))
		}
		ends[p.end][p.channel] |= v << p.low
	}
	width := uint(l.bits)
	for i := range l.subsets * 2 {
		for channel := range ends[i] {
			v := &ends[i][channel]
			if i > 0 && l.transformed {
				*v = (ends[0][channel] + signExtended(*v, uint(l.delta[channel]))) & (1<<width - 1)
			}
		}
	}
	for i := range l.subsets * 2 {
		for channel := range ends[i] {
			v := &ends[i][channel]
			if signed {
				*v = bc6Signed(signExtended(*v, width), width)
			} else {
				*v = bc6Unsigned(*v, width)
			}
		}
	}
	return ends
}

// signExtended is a number of so many bits with a sign.
func signExtended(v int, width uint) int { return v << (64 - width) >> (64 - width) }

// bc6Unsigned stretches a number of so many bits to 16.
func bc6Unsigned(v int, width uint) int {
	switch {
	case width >= 15 || v == 0:
		return v
	case v == 1<<width-1:
		return 0xffff
	}
	return (v<<15 + 0x4000) >> (width - 1)
}

func bc6Signed(v int, width uint) int {
	switch {
	case width >= 16 || v == 0:
		return v
	case v < 0:
		return -bc6Signed(-v, width)
	case v >= 1<<(width-1)-1:
		return 0x7fff
	}
	return (v<<15 + 0x4000) >> (width - 1)
}

// bc6Half makes the bits of a 16-bit float of an interpolated number.
func bc6Half(v int, signed bool) uint16 {
	switch {
	case !signed:
		return uint16(v * 31 >> 6)
	case v < 0:
		return uint16(-v*31>>5) | 0x8000
	}
	return uint16(v * 31 >> 5)
}

func decodeBC6H(_ *Blocks, dst, block []byte)       { decodeBC6(dst, block, false) }
func decodeBC6HSigned(_ *Blocks, dst, block []byte) { decodeBC6(dst, block, true) }

// decodeBC6 decodes to four 16-bit floats. A block of no mode is black.
func decodeBC6(dst, block []byte, signed bool) {
	const one = 0x3c00
	w := newWord128(block)
	mode := w.bits(0, 2)
	if mode >= 2 {
		mode = w.bits(0, 5)
	}
	l := bc6Layouts()[mode]
	if l == nil {
		for i := range 16 {
			binary.LittleEndian.PutUint64(dst[i*8:], one<<48)
		}
		return
	}
	ends := l.ends(w, signed)
	var indices [16]uint8
	pattern, weights := 0, &bptcWeights[2]
	if l.subsets == 2 {
		pattern, weights = w.bits(77, 5), &bptcWeights[1]
		w.bptcIndices(&indices, 82, 3, 2, pattern)
	} else {
		w.bptcIndices(&indices, 65, 4, 1, 0)
	}
	for i := range 16 {
		subset := bptcSubset(l.subsets, pattern, i)
		a, b, weight := &ends[subset*2], &ends[subset*2+1], weights[indices[i]]
		t := uint64(one) << 48
		for channel := range 3 {
			t |= uint64(bc6Half(bptcMix(a[channel], b[channel], weight), signed)) << (16 * channel)
		}
		binary.LittleEndian.PutUint64(dst[i*8:], t)
	}
}
