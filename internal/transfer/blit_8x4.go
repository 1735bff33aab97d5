package transfer

import "encoding/binary"

// The linear filter for texels of four normalized bytes, in integers: a texel's channels lie in the 16-bit lanes
// of one word, so that one multiplication weighs all four. It is exact up to the last rounding.

// filterRows8x4 is filterRows for these formats, without a filter along z.
func (b *planeBlit) filterRows8x4(s *blitScratch, from, to int) {
	s.lanes.reset(len(b.x.taps))
	sampled := func(p place) []uint64 {
		row, fresh := s.lanes.row(p)
		if fresh {
			mixColumns8x4(row, b.src.row(p), b.x.taps)
		}
		return row
	}
	for r := from; r < to; r++ {
		dst, layer, z, y := b.target(r)
		u := sampled(place{layer, z.a, y.a})
		v := u
		if y.weight != 0 {
			v = sampled(place{layer, z.a, y.b})
		}
		mixRows8x4(dst, u, v, uint64(y.weight))
		if b.like == swapped {
			swapBytes(dst)
		}
	}
}

// mixColumns8x4 filters a row along x. Each lane of the result is a number of 0..255*256.
func mixColumns8x4(dst []uint64, src []byte, taps []tap) {
	dst = dst[:len(taps)]
	for i := range taps {
		t := &taps[i]
		u := spread(binary.LittleEndian.Uint32(src[t.a*4:]))
		v := spread(binary.LittleEndian.Uint32(src[t.b*4:]))
		dst[i] = u<<WeightBits + (v-u)*uint64(t.weight)
	}
}

// spread puts the bytes 0, 2, 1, 3 of a texel into the lanes of a word.
func spread(t uint32) uint64 { return uint64(t&0x00ff00ff) | uint64(t&0xff00ff00)<<24 }

// mixRows8x4 filters between two rows of lanes and writes texels.
func mixRows8x4(dst []byte, u, v []uint64, weight uint64) {
	const (
		even  = 0x0000ffff0000ffff
		round = 0x0000800000008000
		bytes = 0x000000ff000000ff
	)
	v = v[:len(u)]
	dst = dst[:len(u)*4]
	for i := range u {
		u0, v0 := u[i]&even, v[i]&even
		u1, v1 := u[i]>>16&even, v[i]>>16&even
		m0 := (u0<<WeightBits + (v0-u0)*weight + round) >> 16 & bytes
		m1 := (u1<<WeightBits + (v1-u1)*weight + round) >> 16 & bytes
		binary.LittleEndian.PutUint32(dst[i*4:], uint32(m0|m0>>24)|uint32(m1|m1>>24)<<16)
	}
}

// swapBytes exchanges the first and the third byte of each texel.
func swapBytes(row []byte) {
	for ; len(row) >= 4; row = row[4:] {
		row[0], row[2] = row[2], row[0]
	}
}
