package cpuid

// Leaf is the instruction CPUID.
//
//go:noescape
func Leaf(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// enabled is XCR0: which registers the kernel keeps. The processor must have OSXSAVE.
func enabled() uint32

// detect reads leaves 1 and 7: Intel SDM, volume 2A, CPUID, and volume 1, chapters 14.3 and 15.2.
func detect() (f Features) {
	const (
		xmm, ymm      = 1 << 1, 1 << 2
		opmask, zmm   = 1 << 5, 1<<6 | 1<<7
		fma, popcnt   = 1 << 12, 1 << 23 // leaf 1, ECX
		osxsave       = 1 << 27
		avx, f16c     = 1 << 28, 1 << 29
		avx2          = 1 << 5 // leaf 7, EBX
		bmi2          = 1 << 8
		avx512f       = 1 << 16
		avx512dq      = 1 << 17
		avx512cd      = 1 << 28
		avx512bw      = 1 << 30
		avx512vl      = 1 << 31
		vbmi          = 1 << 1 // leaf 7, ECX
		gfni          = 1 << 8
		vpopcntdq     = 1 << 14
		bits          = vbmi | gfni | vpopcntdq
		avx512        = bmi2 | avx512f | avx512dq | avx512bw | avx512vl
		vectors, wide = xmm | ymm, xmm | ymm | opmask | zmm
	)
	highest, _, _, _ := Leaf(0, 0)
	_, _, c, _ := Leaf(1, 0)
	f.POPCNT = c&popcnt != 0
	if c&osxsave == 0 {
		return f
	}
	kept := enabled()
	if kept&vectors != vectors || c&avx == 0 {
		return f
	}
	f.AVX, f.FMA, f.F16C = true, c&fma != 0, c&f16c != 0
	if highest < 7 {
		return f
	}
	_, b, c, _ := Leaf(7, 0)
	f.AVX2 = b&avx2 != 0
	f.AVX512 = kept&wide == wide && b&avx512 == avx512
	f.AVX512Bits = f.AVX512 && b&avx512cd != 0 && c&bits == bits
	return f
}
