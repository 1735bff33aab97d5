package ieee

import (
	"math"
	"runtime"
	"testing"
)

var half, denormal float32 = 0.5, 1e-40

// product is not inlined, so that it is computed where it is called. It gives bits: the mode counts for comparisons
// too.
//
//go:noinline
func product() uint32 { return math.Float32bits(denormal * half) }

// TestEnter: a thread that flushes denormals to zero does not between Enter and Leave.
func TestEnter(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const flush = 1<<15 | 1<<6 // FZ and DAZ
	want := product()
	last := swap(control | flush)
	defer swap(last)
	if got := product(); got != 0 {
		t.Fatalf("the processor does not flush: %#x", got)
	}
	before := Enter()
	got := product()
	Leave(before)
	if got != want || want == 0 {
		t.Errorf("%#x, want %#x", got, want)
	}
	if got := product(); got != 0 {
		t.Errorf("after Leave: %#x", got)
	}
}
