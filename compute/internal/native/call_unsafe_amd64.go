package native

import "unsafe"

// call runs code.
//
//go:noescape
func call(code, file, slots, mask unsafe.Pointer, first, end uintptr)
