package compute

import (
	"runtime"
	"testing"

	"farside/compute/internal/vmtest"
	"farside/internal/ieee"
)

// flushDenormals makes the test's thread one of an application that is built with -ffast-math.
func flushDenormals(t *testing.T) {
	runtime.LockOSThread()
	last := ieee.Enter()
	ieee.Leave(last | 1<<15 | 1<<6) // FZ and DAZ
	t.Cleanup(func() {
		runtime.LockOSThread()
		ieee.Leave(last)
		runtime.UnlockOSThread()
	})
}

// TestFoldingIsExact: what the compiler folds, on a thread that flushes denormals, is what the shader would compute.
func TestFoldingIsExact(t *testing.T) {
	words := glslWords(t, shader(8, "", "r = floatBitsToUint(uintBitsToFloat(0x00400000u + (i & 0u)) * 0.5);"))
	flushDenormals(t)
	p := compileWords(t, words, Options{})
	out := make([]uint32, 8)
	mustRun(t, p, dispatch([3]uint32{1, 1, 1}, vmtest.Buffers{Words: [][]uint32{out, {0}, {0}}}))
	if out[3] != 0x00200000 {
		t.Errorf("half of a denormal is %#x, want 0x200000", out[3])
	}
}
