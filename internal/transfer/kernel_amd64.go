package transfer

import "golang.org/x/sys/cpu"

// fillWords writes word over n bytes, a multiple of 4, at least 16.
//
//go:noescape
func fillWords(dst *byte, n uintptr, word uint32)

// stream copies n bytes, a multiple of 128, past the caches, to dst, a multiple of 64. It needs AVX.
//
//go:noescape
func stream(dst, src *byte, n uintptr)

var streams = cpu.X86.HasAVX

func fill(dst []byte, word uint32) {
	n := len(dst) &^ 3
	if n < 16 {
		fillBytes(dst, word)
		return
	}
	fillWords(&dst[0], uintptr(n), word)
}

// copyPast copies past the caches, where the processor can. The slices have one length and do not overlap.
func copyPast(dst, src []byte) {
	head := int(-address(dst) & 63) // whole lines
	if !streams || len(dst) < head+128 {
		copy(dst, src)
		return
	}
	n := (len(dst) - head) &^ 127
	copy(dst[:head], src[:head])
	stream(&dst[head], &src[head], uintptr(n))
	copy(dst[head+n:], src[head+n:])
}
