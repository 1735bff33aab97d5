// Package ops is what the compiler of shaders knows of its operations: a table with a row for each (ops.txt, of which
// opgen makes Go). Operations that a kernel carries out have the kernel's number, the others those of this package.
//
// In comes the number of an operation, out goes its row. Nothing else may depend on the order of the numbers: a test
// looks for comparisons of them.
package ops

import (
	"strconv"

	"farside/compute/internal/kernel"
)

// Class says what an operation is.
type Class uint8

// Classes. Kernels carry out moves, arithmetic, comparisons, conversions and accesses to memory.
const (
	ClassNone    Class = iota // no operation
	ClassMove                 // moves and selections
	ClassMasked               // moves that leave the lanes outside of a mask; no node is one
	ClassInteger              // integers, bits and masks
	ClassFloat
	ClassCompare // gives a mask
	ClassConvert // gives another type than it takes
	ClassLoad    // reads memory or an array of registers
	ClassStore   // writes it
	ClassAtomic  // does both
	ClassValue   // is there from the start: needs no place in a block
	ClassPhi
	ClassResult  // one of the results of a call
	ClassCall    // an instruction on images or subgroups, or a message; what it does stands elsewhere
	ClassLength  // asks for the size of a memory
	ClassBarrier // orders the accesses to memory
	ClassCopy    // a register of its own for a value
)

// Type is what an operand or a result may be.
type Type uint8

// Types. Values of less than 32 bits are kept as 32.
const (
	None Type = iota
	I32       // an integer of either sign
	I64
	F32
	F64
	Mask // 32 bits that are all ones or all zeros
	W32  // anything of 32 bits
	W64
	W    // anything; operands and results of this type have the same width
	At   // an I32 offset in a memory, or the I64 address of physical memory
	Call // an operation of ClassCall
)

// Width is how many bits a type has, 0 if that depends on the node.
func (t Type) Width() int {
	switch t {
	case I32, F32, Mask, W32:
		return 32
	case I64, F64, W64:
		return 64
	}
	return 0
}

// Operand is what a node's operand may be.
type Operand struct {
	Type     Type
	Optional bool // it may be missing
}

// Space is what an operation accesses.
type Space uint8

// Spaces. Atomics of SpaceSlot access physical memory where the node has no memory.
const (
	SpaceNone     Space = iota
	SpaceSlot           // a memory: of a descriptor, shared, push constants, constant data
	SpacePhysical       // memory by device address
	SpacePrivate        // an array of registers
)

// Info is the row of an operation.
type Info struct {
	Name     string
	Class    Class
	Result   Type // None if it has none
	Args     [4]Operand
	Space    Space
	Bytes    uint8     // that it accesses in each lane
	Cost     uint8     // on all lanes, where an addition is 1; 0: it must not be done where the shader doesn't ask for it
	Commutes bool      // A and B may change places without changing the result
	List     bool      // it has any number of operands besides Args
	Computes bool      // a kernel computes it from operands and immediate alone
	Pure     bool      // it has no effect and sees none, so that it may move, and two become one
	Wide     kernel.Op // the same for 64 bits, or 0
	Physical kernel.Op // the same on physical memory, or 0
	Slot     kernel.Op // of one on physical memory, the same on slots; or 0
}

// Of is the row of an operation.
func Of(op kernel.Op) *Info { return &table[op] }

// WideResult says whether an operation has a 64-bit result, whatever its operands are.
func WideResult(op kernel.Op) bool { return table[op].Result.Width() == 64 }

// Name is the name of an operation in dumps.
func Name(op kernel.Op) string {
	if op > 0 && op < NumOps {
		return table[op].Name
	}
	return "Op(" + strconv.Itoa(int(op)) + ")"
}

// IsMemory says whether an operation has a 32-bit offset into a memory. (That of an atomic may be an address: then it
// names no memory.)
func IsMemory(op kernel.Op) bool { return table[op].Space == SpaceSlot }

// IsPhysical says whether an operation is a load or store of physical memory.
func IsPhysical(op kernel.Op) bool { return table[op].Space == SpacePhysical }

// IsPrivate says whether an operation accesses an array of registers.
func IsPrivate(op kernel.Op) bool { return table[op].Space == SpacePrivate }

// Loads, Stores and Updates say what an operation does with memory or an array of registers.
func Loads(op kernel.Op) bool   { return table[op].Class == ClassLoad }
func Stores(op kernel.Op) bool  { return table[op].Class == ClassStore }
func Updates(op kernel.Op) bool { return table[op].Class == ClassAtomic }
