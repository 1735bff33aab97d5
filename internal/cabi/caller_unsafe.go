package cabi

import (
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/callsite"
)

// calls are the calls that are under way, by the thread that makes them. A call stays on its thread.
var calls sync.Map // int to *Frame

// Track has Caller know of calls, from the next one on. Calls take longer then, and it can't be undone.
func Track() {
	f := dispatchTracked
	dispatchPC = **(**uintptr)(unsafe.Pointer(&f))
}

// dispatchTracked is dispatch while calls are known.
func dispatchTracked(f *Frame) {
	thread := unix.Gettid()
	before, nested := calls.Swap(thread, f)
	dispatch(f)
	if nested { // a callback of the application made the call
		calls.Store(thread, before)
	} else {
		calls.Delete(thread)
	}
}

// Caller returns where the application's call that the calling goroutine serves comes from; false on goroutines that
// serve none, and without Track.
func Caller() (callsite.Registers, bool) {
	v, ok := calls.Load(unix.Gettid())
	if !ok {
		return callsite.Registers{}, false
	}
	f := v.(*Frame)
	r := callsite.Registers{SP: uintptr(f.stack), BP: f.kept[0], BX: f.kept[1]}
	if runtime.GOARCH == "arm64" {
		r.PC, r.BX = f.kept[1], 0
	} else {
		r.PC = *(*uintptr)(unsafe.Add(f.stack, -8))
	}
	return r, true
}
