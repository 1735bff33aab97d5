package kernel

import (
	"os"

	"golang.org/x/sys/cpu"
)

// best is the plain kernels with those in assembly in their places.
func best() *Set {
	if os.Getenv("FARSIDE_KERNELS") == "go" || !cpu.X86.HasAVX2 || !cpu.X86.HasFMA ||
		!cpu.X86.HasF16C || !cpu.X86.HasPOPCNT {
		return goSet
	}
	s := *goSet
	s.Name = "avx2"
	s.useAVX2()
	return &s
}
