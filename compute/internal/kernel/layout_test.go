package kernel

import (
	"testing"
	"unsafe"
)

// The assembly knows where the members of Args lie: asm/kernels.go, asmarm/kernels.go.
func TestLayout(t *testing.T) {
	var a Args
	for _, member := range []struct {
		name      string
		got, want uintptr
	}{
		{"Dst", unsafe.Offsetof(a.Dst), 0}, {"A", unsafe.Offsetof(a.A), 16}, {"B", unsafe.Offsetof(a.B), 32},
		{"C", unsafe.Offsetof(a.C), 48}, {"Mask", unsafe.Offsetof(a.Mask), 64}, {"Memory", unsafe.Offsetof(a.Memory), 80},
		{"Immediate", unsafe.Offsetof(a.Immediate), 88}, {"Step", unsafe.Offsetof(a.A.Step), 8},
		{"Size", unsafe.Offsetof(Memory{}.Size), 8},
	} {
		if member.got != member.want {
			t.Errorf("%s is at %d, the assembly takes it from %d", member.name, member.got, member.want)
		}
	}
}
