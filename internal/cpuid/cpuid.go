// Package cpuid says what the processor can do. It asks when it is asked for the first time: in a virtual machine each
// CPUID is an exit of many microseconds, and a process that computes nothing does not need any.
package cpuid

import "sync"

// Features are parts of amd64's instruction set that code of this module uses, where the processor has them and the
// kernel keeps their registers. Elsewhere all are false.
type Features struct {
	AVX, AVX2, FMA, F16C, POPCNT bool
	AVX512                       bool // F, BW, DQ and VL, beside BMI2
	AVX512Bits                   bool // VPOPCNTDQ, CD, GFNI and VBMI, beside AVX512
}

// X86 are those of this machine.
var X86 = sync.OnceValue(detect)
