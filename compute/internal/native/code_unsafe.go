package native

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/compute/internal/kernel"
)

// Code is the machine code of a program's runs.
type Code struct {
	memory  []byte
	entries []int
}

// Compile makes the code of runs. It uses Scratch bytes of the register file at scratch, a multiple of 32. It fails where the
// system does not allow it.
func Compile(runs [][]Inst, scratch uint32) (*Code, error) {
	c := &compiler{assembler: &assembler{}, scratch: int32(scratch)}
	code := &Code{entries: make([]int, len(runs))}
	for i, run := range runs {
		c.align(16)
		code.entries[i] = len(c.code)
		c.write(run)
	}
	text, err := c.finish()
	if err != nil {
		return nil, err
	}
	code.memory, err = unix.Mmap(-1, 0, len(text), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes for code: %w", len(text), err)
	}
	copy(code.memory, text)
	if err := unix.Mprotect(code.memory, unix.PROT_READ|unix.PROT_EXEC); err != nil {
		unix.Munmap(code.memory)
		return nil, fmt.Errorf("mprotect of code: %w", err)
	}
	runtime.AddCleanup(code, func(m []byte) { unix.Munmap(m) }, code.memory)
	return code, nil
}

// Run executes a run: its instructions for one chunk, then the others for n chunks from the first on, all of whose lanes take part.
// The slots of the program are at slots, and none of those that the run accesses is as large as Limit.
func (c *Code) Run(run int, file unsafe.Pointer, slots *kernel.Memory, first, n int) {
	call(unsafe.Pointer(&c.memory[c.entries[run]]), file, unsafe.Pointer(slots), uintptr(32*first), uintptr(32*(first+n)))
	runtime.KeepAlive(c)
}

// Text is the code, for tests and tools.
func (c *Code) Text() []byte { return c.memory }
