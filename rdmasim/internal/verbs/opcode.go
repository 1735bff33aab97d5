package verbs

import "fmt"

// Opcode is what an operation does. The bitwise operations have no IBV_WR_ opcode; the others are those of
// IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD and IBV_WR_ATOMIC_CMP_AND_SWP.
type Opcode uint8

// The operations.
const (
	OpRead Opcode = iota + 1
	OpWrite
	OpFetchAdd
	OpSwap
	OpCompareSwap
	OpFetchAnd
	OpFetchOr
	OpFetchXor
)

var opcodeNames = [...]string{
	OpRead: "read", OpWrite: "write", OpFetchAdd: "fetch-add", OpSwap: "swap", OpCompareSwap: "compare-swap",
	OpFetchAnd: "fetch-and", OpFetchOr: "fetch-or", OpFetchXor: "fetch-xor",
}

// String returns the operation's name in messages.
func (o Opcode) String() string {
	if int(o) < len(opcodeNames) && o != 0 {
		return opcodeNames[o]
	}
	return fmt.Sprintf("opcode %d", uint8(o))
}

// Need is the right that the operation takes.
func (o Opcode) Need() Access {
	switch o {
	case OpRead:
		return AccessRead
	case OpWrite:
		return AccessWrite
	}
	return AccessAtomic
}
