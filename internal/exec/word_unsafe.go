package exec

import "unsafe"

// word types the first four bytes of b, which is 4-byte aligned, for atomic access.
func word(b []byte) *uint32 { return (*uint32)(unsafe.Pointer(unsafe.SliceData(b))) }
