package transfer

import "encoding/binary"

// fillPastBytes is the size from which on a fill goes past the caches: who reads it would find little of it there.
const fillPastBytes = 32 << 20

// Fill writes word to all of dst, in little-endian order, whose length is a multiple of 4; otherwise the last
// bytes stay as they are. Large ones are filled on all cores.
func Fill(dst []byte, word uint32) {
	if len(dst) < parallelBytes {
		fill(dst, word)
		return
	}
	kernel := fill
	if len(dst) >= fillPastBytes {
		kernel = fillPast
	}
	split(len(dst)/4, partBytes/4, func(from, to int) { kernel(dst[4*from:4*to], word) })
}

// fillBytes is fill without assembly.
func fillBytes(dst []byte, word uint32) {
	for len(dst) >= 4 {
		binary.LittleEndian.PutUint32(dst, word)
		dst = dst[4:]
	}
}
