package transfer

import "farside/internal/cpuid"

// fillWords writes word over n bytes, a multiple of 4, at least 16.
//
//go:noescape
func fillWords(dst *byte, n uintptr, word uint32)

// stream copies n bytes, a multiple of 128, past the caches, to dst, a multiple of 64. It needs AVX.
//
//go:noescape
func stream(dst, src *byte, n uintptr)

// streamWords writes word over n bytes, a multiple of 128 and not 0, past the caches, from dst on, a multiple of 64. It
// needs AVX.
//
//go:noescape
func streamWords(dst *byte, n uintptr, word uint32)

func fill(dst []byte, word uint32) {
	n := len(dst) &^ 3
	if n < 16 {
		fillBytes(dst, word)
		return
	}
	fillWords(&dst[0], uintptr(n), word)
}

// fillPast fills past the caches, where the processor can.
func fillPast(dst []byte, word uint32) {
	head := int(-address(dst) & 63) // whole lines
	if !cpuid.X86().AVX || head&3 != 0 || len(dst) < head+128 {
		fill(dst, word)
		return
	}
	n := (len(dst) - head) &^ 127
	fillBytes(dst[:head], word)
	streamWords(&dst[head], uintptr(n), word)
	fillBytes(dst[head+n:], word)
}

// copyPast copies past the caches, where the processor can. The slices have one length and do not overlap.
func copyPast(dst, src []byte) {
	head := int(-address(dst) & 63) // whole lines
	if !cpuid.X86().AVX || len(dst) < head+128 {
		copy(dst, src)
		return
	}
	n := (len(dst) - head) &^ 127
	copy(dst[:head], src[:head])
	stream(&dst[head], &src[head], uintptr(n))
	copy(dst[head+n:], src[head+n:])
}
