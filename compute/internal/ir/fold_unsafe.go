package ir

import (
	"sync"
	"unsafe"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// operands are those of one kernel: four chunks of 64 bytes, aligned.
type operands struct {
	words [5 * 8]uint64
	args  kernel.Args
}

var operandsPool = sync.Pool{New: func() any { return new(operands) }}

// Evaluate runs a kernel without memory on one value, so that what is folded has the bits that it would have had.
func Evaluate(op kernel.Op, a, b, c, imm uint64) uint64 {
	o := operandsPool.Get().(*operands)
	base := unsafe.Pointer((uintptr(unsafe.Pointer(&o.words)) + 63) &^ 63)
	at := func(i uintptr) kernel.Register { return kernel.Register{Base: unsafe.Add(base, 64*i)} }
	*(*uint64)(at(1).Base) = a
	*(*uint64)(at(2).Base) = b
	*(*uint64)(at(3).Base) = c
	o.args = kernel.Args{Dst: at(0), A: at(1), B: at(2), C: at(3), Immediate: imm}
	kernel.Go().Ops[op](&o.args, 0, 1)
	r := *(*uint64)(at(0).Base)
	operandsPool.Put(o)
	if !ops.WideResult(op) {
		r = uint64(uint32(r))
	}
	return r
}
