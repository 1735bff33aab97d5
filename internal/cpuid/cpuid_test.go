package cpuid

import (
	"testing"

	"golang.org/x/sys/cpu"
)

// TestFeatures compares with what x/sys/cpu finds.
func TestFeatures(t *testing.T) {
	want := Features{
		AVX: cpu.X86.HasAVX, AVX2: cpu.X86.HasAVX2, FMA: cpu.X86.HasFMA && cpu.X86.HasAVX,
		F16C: cpu.X86.HasF16C && cpu.X86.HasAVX, POPCNT: cpu.X86.HasPOPCNT,
		AVX512: cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL &&
			cpu.X86.HasBMI2,
	}
	want.AVX512Bits = want.AVX512 && cpu.X86.HasAVX512CD && cpu.X86.HasAVX512VPOPCNTDQ && cpu.X86.HasAVX512GFNI &&
		cpu.X86.HasAVX512VBMI
	if got := X86(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
