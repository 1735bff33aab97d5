package transfer

import "encoding/binary"

// Fill writes word to all of dst, in little-endian order, whose length is a multiple of 4; otherwise the last
// bytes stay as they are. Large ones are filled on all cores.
func Fill(dst []byte, word uint32) {
	if len(dst) < parallelBytes {
		fill(dst, word)
		return
	}
	split(len(dst)/4, partBytes/4, func(from, to int) { fill(dst[4*from:4*to], word) })
}

// fillBytes is fill without assembly.
func fillBytes(dst []byte, word uint32) {
	for len(dst) >= 4 {
		binary.LittleEndian.PutUint32(dst, word)
		dst = dst[4:]
	}
}
