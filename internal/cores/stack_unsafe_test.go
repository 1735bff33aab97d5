package cores

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"farside/internal/gate"
)

// TestBadPointers has pointers that are none on the stacks of parts that need much of it, as a copy has whose host
// pointer the application got wrong.
func TestBadPointers(t *testing.T) {
	var bad uintptr = 0x40
	var sum atomic.Int64
	const parts = 64
	body := func(int) {
		slice := unsafe.Slice(*(**byte)(unsafe.Pointer(&bad)), 10)
		sum.Add(int64(deep(200)))
		sum.Add(int64(len(slice)))
		if uintptr(unsafe.Pointer(unsafe.SliceData(slice))) != bad {
			t.Error("the pointer is another one")
		}
	}
	gate.Run(func() { Do(parts, body) }) // as an application's thread does
	if want := int64(parts * (10 + 201)); sum.Load() != want {
		t.Errorf("the parts add up to %d, want %d", sum.Load(), want)
	}
}

// deep takes some 200 bytes of stack for each n, and returns n+1.
//
//go:noinline
func deep(n int) int {
	var b [128]byte
	if n == 0 {
		return 1 + int(b[n])
	}
	return 1 + deep(n-1) + int(b[n%len(b)])
}
