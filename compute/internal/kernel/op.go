package kernel

import "strconv"

// Op is what a kernel does to each lane. The constants are made from the table of operations, ops.txt in package ops.
// Suffixes are the type of the operands: I32 and I64 integers (of either sign, or as U and S say), F32 and F64 floats,
// B masks. Dst, A, B and C are of that type unless a comment says otherwise.
type Op uint16

// String returns the name of the constant.
func (op Op) String() string {
	if op > 0 && op < NumOps {
		return opNames[op]
	}
	return "Op(" + strconv.Itoa(int(op)) + ")"
}
