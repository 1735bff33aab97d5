package native

import "unsafe"

// call runs code. What that leaves in rax is where a region goes on.
//
//go:noescape
func call(code, file, slots, mask unsafe.Pointer, first, end uintptr) (rest uintptr)
