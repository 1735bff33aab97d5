package cabi

import (
	"math"
	"unsafe"
)

// Frame holds the arguments of one call from C. It lies on the C caller's stack and is valid until the
// call returns; farside_entry fills it and takes the result out of it.
type Frame struct {
	ints   [intRegisters]uintptr
	floats [8]uint64
	stack  unsafe.Pointer // arguments that found no register, 8 bytes each
	result uintptr
	index  uintptr
	lent   int64      // a descriptor that the stub duplicates, 0 for none, unlendable after it could not
	into   *int32     // where it writes the duplicate
	kept   [2]uintptr // the caller's RBP and RBX, or R29 and R30: where a walk of its stack begins
}

// word reads integer argument i, counted from 0 over integers and pointers only. Bits above the
// argument's own size are undefined, as in C.
func (f *Frame) word(i int) uintptr {
	if i < intRegisters {
		return f.ints[i]
	}
	return *(*uintptr)(unsafe.Add(f.stack, (i-intRegisters)*8))
}

// pointer reads integer argument i as an address. Go's runtime ends the process when it finds a pointer
// below 4096 on a stack that it moves, so such a wild address is replaced by one that faults on use.
func (f *Frame) pointer(i int) unsafe.Pointer {
	var p unsafe.Pointer
	if i < intRegisters {
		p = *(*unsafe.Pointer)(unsafe.Pointer(&f.ints[i]))
	} else {
		p = *(*unsafe.Pointer)(unsafe.Add(f.stack, (i-intRegisters)*8))
	}
	if uintptr(p)-1 < 4095 {
		return wild
	}
	return p
}

// float reads floating-point argument i, counted from 0 over those alone. No command has more than the
// eight that fit in registers.
func (f *Frame) float(i int) float32 { return math.Float32frombits(uint32(f.floats[i])) }
