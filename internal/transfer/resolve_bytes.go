package transfer

import (
	"encoding/binary"
	"math/bits"
)

// meanBytes makes texels of four UNORM bytes of the means of their samples, of which there are a power of two. What
// lies in the middle of two bytes becomes the greater one, as texel.Codec rounds.
func meanBytes(dst, src []byte, samples int) {
	if n := min(len(dst)/4, len(src)/(4*samples)); samples >= 4 && n > 0 && meanVectors() {
		meanBytesAVX2(&dst[0], &src[0], n, samples)
		return
	}
	meanBytesGo(dst, src, samples)
}

// meanBytesGo is meanBytes without vectors.
func meanBytesGo(dst, src []byte, samples int) {
	const low = 0x00ff00ff00ff00ff // every second byte, with room for the sums of 256
	shift := bits.TrailingZeros(uint(samples))
	half := uint32(samples) / 2 * 0x00010001
	for size := 4 * samples; len(dst) >= 4; dst = dst[4:] {
		texel := src[:size]
		src = src[size:]
		var even, odd uint64
		for ; len(texel) >= 8; texel = texel[8:] {
			two := binary.LittleEndian.Uint64(texel)
			even += two & low
			odd += two >> 8 & low
		}
		first := (uint32(even) + uint32(even>>32) + half) >> shift & uint32(low&0xffffffff)
		second := (uint32(odd) + uint32(odd>>32) + half) >> shift & uint32(low&0xffffffff)
		binary.LittleEndian.PutUint32(dst, first|second<<8)
	}
}
