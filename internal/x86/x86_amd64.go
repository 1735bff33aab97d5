// Package x86 says which instructions the processor has. It asks when somebody wants to know: CPUID leaves a virtual
// machine, at ten microseconds a time, which a process that runs no shader and copies little need not wait for when it
// loads the driver.
package x86

import "sync"

// Bits of CPUID's results and of XCR0 (Intel 64 and IA-32 Architectures Software Developer's Manual, CPUID and XGETBV).
const (
	leafFeatures = 1 // ECX
	fma          = 1 << 12
	popcnt       = 1 << 23
	osxsave      = 1 << 27
	avx          = 1 << 28
	f16c         = 1 << 29

	leafExtended = 7 // EBX
	avx2         = 1 << 5

	stateXMM = 1 << 1
	stateYMM = 1 << 2
)

// AVX says whether processor and system have the 256-bit registers.
var AVX = sync.OnceValue(func() bool {
	_, _, c, _ := cpuid(leafFeatures, 0)
	return c&(osxsave|avx) == osxsave|avx && xgetbv()&(stateXMM|stateYMM) == stateXMM|stateYMM
})

// AVX2 says whether there are AVX2, FMA, F16C and POPCNT.
var AVX2 = sync.OnceValue(func() bool {
	if last, _, _, _ := cpuid(0, 0); last < leafExtended || !AVX() {
		return false
	}
	_, _, c, _ := cpuid(leafFeatures, 0)
	_, b, _, _ := cpuid(leafExtended, 0)
	return c&(fma|f16c|popcnt) == fma|f16c|popcnt && b&avx2 != 0
})

// cpuid is the instruction, with what it takes in EAX and ECX.
func cpuid(leaf, subleaf uint32) (a, b, c, d uint32)

// xgetbv returns the lower half of XCR0. It needs OSXSAVE.
func xgetbv() uint32
