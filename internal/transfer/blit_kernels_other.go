//go:build !amd64

package transfer

import "encoding/binary"

// mixColumns8x4 filters a row along x. Each lane of the result is a number of 0..255*256.
func mixColumns8x4(dst []uint64, src []byte, pairs []pair) {
	dst = dst[:len(pairs)]
	for i := range pairs {
		texels := binary.LittleEndian.Uint64(src[pairs[i].offset:])
		u, v := spread(uint32(texels)), spread(uint32(texels>>32))
		dst[i] = u<<WeightBits + (v-u)*uint64(pairs[i].weights>>16)
	}
}

// spread puts the bytes 0, 2, 1, 3 of a texel into the lanes of a word.
func spread(t uint32) uint64 { return uint64(t&0x00ff00ff) | uint64(t&0xff00ff00)<<24 }

// mixRows8x4 filters between two rows of lanes and writes texels. The weight of the second row is more than 0.
func mixRows8x4(dst []byte, u, v []uint64, weight uint32) {
	const (
		even  = 0x0000ffff0000ffff
		round = 0x0000800000008000
		bytes = 0x000000ff000000ff
	)
	w := uint64(weight)
	for i := range len(dst) / 4 {
		u0, v0 := u[i]&even, v[i]&even
		u1, v1 := u[i]>>16&even, v[i]>>16&even
		m0 := (u0<<WeightBits + (v0-u0)*w + round) >> 16 & bytes
		m1 := (u1<<WeightBits + (v1-u1)*w + round) >> 16 & bytes
		binary.LittleEndian.PutUint32(dst[i*4:], uint32(m0|m0>>24)|uint32(m1|m1>>24)<<16)
	}
}

// mixColumnsLanes filters a row of lanes along x.
func mixColumnsLanes(dst, src []uint64, pairs []pair) {
	dst = dst[:len(pairs)]
	for i, p := range pairs {
		at := p.offset / 8
		dst[i] = mixLanes(src[at], src[at+1], p.weights&0xffff, p.weights>>16)
	}
}

// mixRowsLanes filters between two rows of lanes, which are at least as long as dst. The weights are parts of 1<<16.
func mixRowsLanes(dst, u, v []uint64, weightU, weightV uint32) {
	for i := range dst {
		dst[i] = mixLanes(u[i], v[i], weightU, weightV)
	}
}

// mixLanes multiplies two lanes at a time, which needs 32 bits for each.
func mixLanes(u, v uint64, weightU, weightV uint32) uint64 {
	const even = 0x0000ffff0000ffff
	a, b := uint64(weightU), uint64(weightV)
	low := (u&even*a>>16&even + v&even*b>>16&even)
	high := (u>>16&even*a>>16&even + v>>16&even*b>>16&even)
	return low | high<<16
}
