package native

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/compute/internal/kernel"
)

// Code is the machine code of a program's runs.
type Code struct {
	memory  []byte
	scratch uint32
	left    uint32   // where in the register file it is said how many workgroups are to come
	entries [3][]int // of the runs, by Mode
	pairs   []bool   // by run, whether it goes through pairs of chunks
	fence   int
}

// Mode is how a run is executed.
type Mode int

const (
	// Plain: all lanes take part.
	Plain Mode = iota
	// Streaming: all lanes take part, and the stores that may go past the caches do; Fence has to come before anybody else
	// is told of them.
	Streaming
	// Masked: some lanes take part. The others store nothing and keep what a MoveMasked32 writes. All else is done for
	// them as for those that take part.
	Masked
)

// Options are what Compile is told besides runs.
type Options struct {
	Scratch uint32 // where Scratch bytes of the register file are that the code uses, a multiple of 64
	Masked  bool   // there is code with masks, too
	Narrow  bool   // vectors have 256 bits at most
	Groups  bool   // workgroups are of whole subgroups, and so is what runs and regions are executed for (Grouped)
	Skip    bool   // nobody looks at what a load at any places gives lanes that don't take part
	// Group, if valid, is the uniform register with the number of the workgroup along x: the only run is the whole
	// program, and RunGroups executes it.
	Group Register
}

// Compile makes the code of runs. It fails where the system does not allow it, and where the code would be too long.
func Compile(runs [][]Inst, o Options) (*Code, error) {
	c := &compiler{assembler: &assembler{}, scratch: int32(o.Scratch), group: o.Group, most: few, single: o.Narrow,
		groups: o.Groups, skipping: o.Skip}
	if avx512() {
		c.most = many
	}
	c.places, c.vectors = placesOf(c.most, 0), make([]held, c.most)
	pairs := make([]bool, len(runs))
	for i, run := range runs {
		pairs[i] = c.pairs(c.expand(run))
	}
	code := &Code{scratch: o.Scratch, left: o.Scratch + 64, pairs: pairs}
	for mode := range code.entries {
		c.mode = Mode(mode)
		if c.mode == Masked && !o.Masked {
			break
		}
		for i, run := range runs {
			c.align(16)
			entry := len(c.code)
			if c.mode == Streaming && !slices.ContainsFunc(run, func(in Inst) bool { return in.Stream }) {
				entry = code.entries[Plain][i]
			} else {
				c.write(run)
			}
			if len(c.code) > mostCode {
				return nil, fmt.Errorf("code of more than %d bytes", mostCode)
			}
			code.entries[mode] = append(code.entries[mode], entry)
		}
	}
	c.writeSaving()
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

// Run executes a run: its instructions for one chunk, then the others for n chunks from the first on. The slots of the
// program are at slots, and none of those that the run accesses is as large as Limit. mask is the chunks of a mask,
// which only Masked reads.
func (c *Code) Run(run int, mode Mode, file unsafe.Pointer, slots *kernel.Memory, mask unsafe.Pointer, first, n int) (
	rest Region) {
	rest.at = call(unsafe.Pointer(&c.memory[c.entries[mode][run]]), file, unsafe.Pointer(slots), mask, uintptr(32*first),
		uintptr(32*(first+n)))
	runtime.KeepAlive(c)
	return rest
}

// Resume goes on where a run or a region has stopped.
func (c *Code) Resume(from Region, file unsafe.Pointer, slots *kernel.Memory, first, n int) (rest Region) {
	code := unsafe.Pointer(&c.memory[from.at-uintptr(unsafe.Pointer(&c.memory[0]))])
	rest.at = call(code, file, unsafe.Pointer(slots), nil, uintptr(32*first), uintptr(32*(first+n)))
	runtime.KeepAlive(c)
	return rest
}

// Miss is what a run or region that stopped at an access by device address wants done. Of loads, Values are to be the
// results, of 32 or 64 bits each.
type Miss struct {
	Addresses [8]uint64 // distances from the start of the range; all that count
	Values    [8]uint64
	Active    [8]uint32 // the lanes that take part
	Slot      int32     // of the access
	Part      int32     // 0: it is for all lanes; 1: for the lower four; 2: for the upper four
}

// Miss is that where the code has stopped.
func (c *Code) Miss(file []byte) *Miss {
	return (*Miss)(unsafe.Pointer(&file[c.scratch+placeOfMiss]))
}

// Range gives accesses by device address the memory that begins at start: each is of so many bytes, in two slots.
// Without memory that is large enough it gives none.
func Range(slots *[2]kernel.Memory, start uint64, m kernel.Memory, bytes uint64) {
	*slots = [2]kernel.Memory{}
	if size := min(m.Size, math.MaxInt64); size >= bytes {
		*slots = [2]kernel.Memory{{Base: m.Base, Size: start}, {Size: size - bytes + 1}}
	}
}

// Region is where a region goes on; the zero Region is its beginning, and its end.
type Region struct{ at uintptr }

// Ended says whether the region came to its end.
func (r Region) Ended() bool { return r.at == 0 }

// RunRegion executes a region for n chunks from the first on, as Run does, from where it paused the last time. It
// pauses when loops have gone round so many times; loop is the one that did.
func (c *Code) RunRegion(run int, mode Mode, file []byte, slots *kernel.Memory, mask unsafe.Pointer, first, n int,
	rounds uint32, from Region) (rest Region, loop int32) {
	code := unsafe.Pointer(&c.memory[c.entries[mode][run]])
	if from.at != 0 {
		code = unsafe.Pointer(&c.memory[from.at-uintptr(unsafe.Pointer(&c.memory[0]))])
	}
	binary.NativeEndian.PutUint32(file[c.scratch+placeOfRounds:], rounds)
	rest.at = call(code, unsafe.Pointer(unsafe.SliceData(file)), unsafe.Pointer(slots), mask, uintptr(32*first),
		uintptr(32*(first+n)))
	loop = int32(binary.NativeEndian.Uint32(file[c.scratch+placeOfLoop:]))
	runtime.KeepAlive(c)
	return rest, loop
}

// Pairs says whether a region goes through pairs of chunks, as long as two are left.
func (c *Code) Pairs(run int) bool { return c.pairs[run] }

// Paused is the first chunk that a region was under way with when it paused.
func (c *Code) Paused(file []byte) int {
	return int(binary.NativeEndian.Uint64(file[c.scratch+placeOfMasks+8:]) / 32)
}

// RunGroups executes the program for as many workgroups as groups says, all lanes of n chunks of each. The register
// with the workgroup's number is one more behind each.
func (c *Code) RunGroups(mode Mode, groups uint32, file []byte, slots *kernel.Memory, n int) Region {
	binary.NativeEndian.PutUint32(file[c.left:], groups)
	return c.Run(0, mode, unsafe.Pointer(unsafe.SliceData(file)), slots, nil, 0, n)
}

// Fence orders streamed stores before what follows.
func (c *Code) Fence() {
	call(unsafe.Pointer(&c.memory[c.fence]), nil, nil, nil, 0, 0)
	runtime.KeepAlive(c)
}
