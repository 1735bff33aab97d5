package local

import (
	"sync/atomic"
	"unsafe"
)

// word returns the 64-bit word at b[offset:] for atomic access. b is a mapping, which the garbage collector
// doesn't manage; offset is a multiple of eight from an address that is one, too.
func word(b []byte, offset uint64) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&b[offset : offset+8][0]))
}

// half is word for 32 bits, at multiples of four.
func half(b []byte, offset uint64) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&b[offset : offset+4][0]))
}
