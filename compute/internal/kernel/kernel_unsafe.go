// Package kernel holds the vector kernels of the compute engine: each does one operation to the lanes of a batch.
//
// In come a range of chunks and Args: where operands and the result lie, a mask, a memory. Out goes the result, in all
// lanes of these chunks, or in those of the mask where the Op says so. A kernel has no state. Its result may lie where
// an operand does. No access leaves its memory, whatever the offset is.
//
// A lane is one invocation. Lanes are taken in chunks of eight. A register is a value for each lane: 32 bytes a chunk
// for values of up to 32 bits, 64 bytes a chunk for 64-bit ones, chunk after chunk. A value that is the same for all
// lanes is one chunk, eight copies, that is read again for each chunk: its step is 0. So a kernel does not tell the two
// apart, and an operation on uniform values is the same kernel on one chunk.
//
// How values lie in lanes:
//   - bool: 0 or all ones, 32 bits; masks are the same
//   - 8- and 16-bit integers: zero-extended to 32 bits; before an operation that looks at the sign, Sext8 or Sext16,
//     and Zext8 or Zext16 after one that can carry beyond the width
//   - 16-bit floats: as the 32-bit float of the same value; RoundF16 after an operation
//   - 32- and 64-bit integers and floats: their bits
//
// Every kernel exists in plain Go. On amd64 with AVX2, and on arm64, most have a second version in assembly, which
// gives the same bits.
package kernel

import "unsafe"

// Width is the lanes of a chunk.
const Width = 8

// Register is where the lanes of an operand lie.
type Register struct {
	Base unsafe.Pointer // of the first chunk, aligned to 32 bytes
	Step uintptr        // bytes from chunk to chunk: 0, 32 or 64
}

// Skip is the register without its first chunks.
func (r Register) Skip(chunks int) Register {
	return Register{unsafe.Add(r.Base, uintptr(chunks)*r.Step), r.Step}
}

// Memory is a range of bytes that kernels access with a check of each lane: buffers, shared memory, push constants.
type Memory struct {
	Base unsafe.Pointer
	Size uint64 // bytes; what lies beyond reads as 0 and is not written
}

// Args are the operands of a kernel. Which are used, and for what, stands at the Op. The assembly knows the layout.
type Args struct {
	Dst, A, B, C Register
	Mask         Register // all ones in the lanes that take part; a nil Base: all do. Only kernels that say so look at it
	Memory       *Memory  // of memory kernels
	Immediate    uint64
}

// Func runs a kernel on n chunks, beginning with chunk first.
type Func func(a *Args, first, n int)
