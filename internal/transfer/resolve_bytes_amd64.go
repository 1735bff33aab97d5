package transfer

import "farside/internal/cpuid"

// meanVectors says that meanBytesAVX2 is there.
func meanVectors() bool { return cpuid.X86().AVX2 }

// meanBytesAVX2 is meanBytes for n texels, of which each has a power of two of samples, at least four.
//
//go:noescape
func meanBytesAVX2(dst, src *byte, n, samples int)
