package exec

import (
	"unsafe"

	"farside/compute"
)

// memoryOf is b as the memory of a shader.
func memoryOf(b []byte) compute.Memory {
	return compute.Memory{Base: unsafe.Pointer(unsafe.SliceData(b)), Size: uint64(len(b))}
}
