// Package transfer does what the transfer commands ask for, on memory that is mapped: fills, copies, blits and
// clears. It knows no handles and no queues.
//
// Regions come from an untrusted stream. Each function checks all its regions against the slices and the image
// layouts before it writes the first byte, and no region can make it touch a byte outside of them. What it
// refuses is an error with the VUID that the region breaks.
package transfer

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"farside/internal/texel"
	"farside/internal/vk"
)

// Image is an image and the memory that it is bound to.
type Image struct {
	Bytes  []byte // begin where the image begins; may be longer than it
	Layout *texel.Layout
	Format vk.Format
	Type   vk.ImageType
}

// parallelBytes is the size from which on an operation is worth the microseconds that other cores need to
// take their part of it.
const parallelBytes = 1 << 20

// split runs body on parts of [0, n) on all cores and returns when they are done. All parts but the last begin
// and end at multiples of grain. A fault in one of them is raised here, as if body had run on this goroutine.
func split(n, grain int, body func(from, to int)) {
	workers := runtime.GOMAXPROCS(0)
	part := (n/workers/grain + 1) * grain
	var group sync.WaitGroup
	var fault atomic.Pointer[any]
	for from := part; from < n; from += part {
		group.Go(func() {
			debug.SetPanicOnFault(true) // bytes that the application unmapped end the command, not the process
			defer func() {
				if reason := recover(); reason != nil {
					fault.Store(&reason)
				}
			}()
			body(from, min(from+part, n))
		})
	}
	func() {
		defer group.Wait()
		body(0, min(part, n))
	}()
	if reason := fault.Load(); reason != nil {
		panic(*reason)
	}
}
