package native

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/compute/internal/kernel"
)

// Code is the machine code of a program's runs.
type Code struct {
	memory  []byte
	entries [2][]int // of the runs, with caches and without
	fence   int
}

// Compile makes the code of runs. It uses Scratch bytes of the register file at scratch, a multiple of 32. It fails where the
// system does not allow it.
func Compile(runs [][]Inst, scratch uint32) (*Code, error) {
	c := &compiler{assembler: &assembler{}, scratch: int32(scratch)}
	code := &Code{}
	for streams := range code.entries {
		c.streams = streams == 1
		for i, run := range runs {
			c.align(16)
			entry := len(c.code)
			if c.streams && !slices.ContainsFunc(run, func(in Inst) bool { return in.Stream }) {
				entry = code.entries[0][i]
			} else {
				c.write(run)
			}
			code.entries[streams] = append(code.entries[streams], entry)
		}
	}
	c.align(16)
	code.fence = len(c.code)
	c.assembler.fence()
	c.leave()
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
// The slots of the program are at slots, and none of those that the run accesses is as large as Limit. With stream
// the stores that may go past the caches do, and Fence has to come before anybody else is told of them.
func (c *Code) Run(run int, stream bool, file unsafe.Pointer, slots *kernel.Memory, first, n int) {
	entries := c.entries[0]
	if stream {
		entries = c.entries[1]
	}
	call(unsafe.Pointer(&c.memory[entries[run]]), file, unsafe.Pointer(slots), uintptr(32*first), uintptr(32*(first+n)))
	runtime.KeepAlive(c)
}

// Fence orders streamed stores before what follows.
func (c *Code) Fence() {
	call(unsafe.Pointer(&c.memory[c.fence]), nil, nil, 0, 0)
	runtime.KeepAlive(c)
}
