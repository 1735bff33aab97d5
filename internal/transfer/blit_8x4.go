package transfer

import "encoding/binary"

// The linear filter for texels of four normalized bytes, in integers of 16 bits: a texel's four channels lie in the
// lanes of one word. The kernels mixColumns8x4 and mixRows8x4 are written twice, for amd64 in assembly; the order
// of the lanes is theirs.

// pair names two neighbouring texels of a row and how they are weighed. In this form every column of a
// destination is made of two texels, also those that one would do for.
type pair struct {
	offset  uint32 // of the first one, in bytes
	weights uint32 // of the first in the low 16 bits, of the second in the high ones
}

// laneGroup is how many texels the kernels work on at once. Rows of lanes and pairs are multiples of it.
const laneGroup = 4

// setPairs8x4 fills in the pairs that say the same as the taps along x; weights add up to 1<<WeightBits. The source
// has two columns at least.
func (b *planeBlit) setPairs8x4(width int32) {
	for _, t := range b.x.taps {
		if t.a == width-1 { // with nothing to its right
			t.a, t.weight = t.a-1, 1<<WeightBits
		}
		b.pairs = append(b.pairs, pair{uint32(t.a) * 4, uint32(1<<WeightBits-t.weight) | uint32(t.weight)<<16})
	}
	b.padPairs()
}

func (b *planeBlit) padPairs() {
	for n := len(b.pairs); n > 0 && n%laneGroup != 0; n++ {
		b.pairs = append(b.pairs, b.pairs[n-1])
	}
}

// filterRows8x4 is filterRows for these formats, without a filter along z.
func (b *planeBlit) filterRows8x4(s *blitScratch, from, to int) {
	s.lanes.reset(len(b.pairs))
	sampled := func(p place) []uint64 {
		row, fresh := s.lanes.row(p)
		if fresh {
			mixColumns8x4(row, b.src.row(p), b.pairs)
		}
		return row
	}
	for r := from; r < to; r++ {
		dst, layer, z, y := b.target(r)
		u := sampled(place{layer, z.a, y.a})
		v := u
		if y.weight != 0 {
			v = sampled(place{layer, z.a, y.b})
		} else {
			y.weight = 1 << (WeightBits - 1) // any; 0 is not the kernels'
		}
		mixRows8x4(dst, u, v, uint32(y.weight))
		if b.like == swapped {
			swapBytes(dst)
		}
	}
}

// swapBytes exchanges the first and the third byte of each texel.
func swapBytes(row []byte) {
	for ; len(row) >= 8; row = row[8:] {
		t := binary.LittleEndian.Uint64(row)
		binary.LittleEndian.PutUint64(row, t&0xff00ff00ff00ff00|t>>16&0x000000ff000000ff|t&0x000000ff000000ff<<16)
	}
	if len(row) >= 4 {
		row[0], row[2] = row[2], row[0]
	}
}
