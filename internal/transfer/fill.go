package transfer

import "encoding/binary"

// Fill writes word to all of dst, in little-endian order, whose length is a multiple of 4; otherwise the last
// bytes stay as they are. Large ones are filled on all cores.
func Fill(dst []byte, word uint32) {
	if len(dst) < parallelBytes {
		fill(dst, word)
		return
	}
	split(len(dst), copyGrain, func(from, to int) { fill(dst[from:to], word) })
}

func fill(dst []byte, word uint32) {
	for len(dst) >= 4 {
		binary.LittleEndian.PutUint32(dst, word)
		dst = dst[4:]
	}
}
