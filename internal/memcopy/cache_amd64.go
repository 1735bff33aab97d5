package memcopy

// cpuid is the instruction CPUID.
//
//go:noescape
func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// The leaves that describe the caches, one by one and in the same format: "Deterministic Cache Parameters" in the
// Intel SDM, volume 2A, CPUID; "Cache Properties" in the AMD64 APM, volume 3, appendix E.4.15.
const (
	intelCaches = 0x4
	amdCaches   = 0x8000001d
)

// lastCache is the size in bytes of the last cache, 0 if the processor doesn't tell.
func lastCache() int {
	for _, leaf := range []uint32{intelCaches, amdCaches} {
		// The highest leaf of its kind is what leaf 0, or 0x80000000, answers.
		if highest, _, _, _ := cpuid(leaf&(1<<31), 0); highest < leaf {
			continue
		}
		if size := largest(leaf); size > 0 {
			return size
		}
	}
	return 0
}

// largest is the size of the largest cache that a leaf describes.
func largest(leaf uint32) (size int) {
	for i := range uint32(16) {
		eax, ebx, ecx, _ := cpuid(leaf, i)
		switch kind := eax & 31; kind {
		case 0: // no more
			return size
		case 1, 3: // data, unified
			ways, partitions, line, sets := ebx>>22+1, ebx>>12&1023+1, ebx&4095+1, ecx+1
			size = max(size, int(ways)*int(partitions)*int(line)*int(sets))
		}
	}
	return size
}
