package kernel

import (
	"math"
	"runtime"
	"testing"
	"unsafe"
)

// TestExact: a thread that flushes denormals to zero does not between Exact and Restore.
func TestExact(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	half := func() float32 {
		a := [Width]uint32{1 << 22}
		b := [Width]uint32{math.Float32bits(0.5)}
		var dst [Width]uint32
		reg := func(p *[Width]uint32) Register { return Register{Base: unsafe.Pointer(p), Step: 32} }
		Best().Ops[MulF32](&Args{Dst: reg(&dst), A: reg(&a), B: reg(&b)}, 0, 1)
		return math.Float32frombits(dst[0])
	}
	want := math.Float32frombits(1 << 21)
	const flush = 1<<15 | 1<<6 // FZ and DAZ
	last := swapMXCSR(ieee | flush)
	defer swapMXCSR(last)
	if got := half(); got != 0 {
		t.Fatalf("the processor does not flush: %g", got)
	}
	before := Exact()
	if got := half(); got != want {
		t.Errorf("%g, want %g", got, want)
	}
	Restore(before)
	if got := half(); got != 0 {
		t.Errorf("after Restore: %g", got)
	}
}
