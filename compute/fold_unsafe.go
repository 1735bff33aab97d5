package compute

import (
	"unsafe"

	"farside/compute/internal/kernel"
)

// evaluate runs a kernel without memory on one value, so that what is folded has the bits that it would have had.
func evaluate(op kernel.Op, a, b, c, imm uint64) uint64 {
	var words [5 * 8]uint64 // four operands of 64 bytes, aligned to 32
	base := unsafe.Pointer((uintptr(unsafe.Pointer(&words)) + 63) &^ 63)
	at := func(i uintptr) kernel.Register { return kernel.Register{Base: unsafe.Add(base, 64*i)} }
	*(*uint64)(at(1).Base) = a
	*(*uint64)(at(2).Base) = b
	*(*uint64)(at(3).Base) = c
	args := kernel.Args{Dst: at(0), A: at(1), B: at(2), C: at(3), Immediate: imm}
	kernel.Go().Ops[op](&args, 0, 1)
	r := *(*uint64)(at(0).Base)
	if !wideResult(op) {
		r = uint64(uint32(r))
	}
	return r
}
