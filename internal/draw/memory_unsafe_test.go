package draw

import (
	"unsafe"

	"farside/compute"
)

// memoryOf is a slice as shaders access it.
func memoryOf(b []byte) compute.Memory {
	return compute.Memory{Base: unsafe.Pointer(unsafe.SliceData(b)), Size: uint64(len(b))}
}
