package memcopy

import "farside/internal/cpuid"

// The leaves that describe the caches, one by one and in the same format: "Deterministic Cache Parameters" in the
// Intel SDM, volume 2A, CPUID; "Cache Properties" in the AMD64 APM, volume 3, appendix E.4.15.
const (
	intelCaches = 0x4
	amdCaches   = 0x8000001d
)

// caches is the size in bytes of the first cache of data and that of the last cache, 0 if the processor doesn't tell.
func caches() (first, last int) {
	for _, leaf := range []uint32{intelCaches, amdCaches} {
		if !hasLeaf(leaf) {
			continue
		}
		if first, last = described(leaf); last > 0 {
			break
		}
	}
	return first, last
}

// hasLeaf says whether the processor has a leaf. The highest one of its kind is what leaf 0, or 0x80000000, answers.
func hasLeaf(leaf uint32) bool {
	highest, _, _, _ := cpuid.Leaf(leaf&(1<<31), 0)
	return highest >= leaf
}

// described is the size of the first and of the largest cache that a leaf describes.
func described(leaf uint32) (first, largest int) {
	for i := range uint32(16) {
		eax, ebx, ecx, _ := cpuid.Leaf(leaf, i)
		switch kind := eax & 31; kind {
		case 0: // no more
			return first, largest
		case 1, 3: // data, unified
			ways, partitions, line, sets := ebx>>22+1, ebx>>12&1023+1, ebx&4095+1, ecx+1
			size := int(ways) * int(partitions) * int(line) * int(sets)
			if eax>>5&7 == 1 {
				first = size
			}
			largest = max(largest, size)
		}
	}
	return first, largest
}

// zen5 is the first family of AMD's whose REP MOVSB is as fast as vectors at any distance between source and
// destination. On Zen 3 and Zen 4 it is many times slower at some
// (https://sourceware.org/bugzilla/show_bug.cgi?id=30994).
const zen5 = 0x1a

// repMoves says from how many bytes on REP MOVSB is faster than Go's copy, and up to how many, on a processor with such
// caches. Both are 0 if it never is.
func repMoves(first, last int) (from, until int) {
	const fastShortRep = 1 << 4 // leaf 7, EDX
	if !hasLeaf(7) {
		return 0, 0
	}
	if _, _, _, d := cpuid.Leaf(7, 0); d&fastShortRep == 0 {
		return 0, 0
	}
	switch _, b, c, d := cpuid.Leaf(0, 0); {
	case b == 0x756e6547 && d == 0x49656e69 && c == 0x6c65746e: // "GenuineIntel": Go's copy has it for a piece
		return pieceBytes, last / 4
	case b == 0x68747541 && d == 0x69746e65 && c == 0x444d4163 && family() >= zen5: // "AuthenticAMD"
		return first / 2, last / 2
	}
	return 0, 0
}

// family is the processor's, as CPUID's leaf 1 has it: AMD64 APM, volume 3, appendix E.3.2.
func family() uint32 {
	version, _, _, _ := cpuid.Leaf(1, 0)
	if base := version >> 8 & 15; base != 15 {
		return base
	}
	return 15 + version>>20&255
}
