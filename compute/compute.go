// Package compute runs compute shaders: it turns a SPIR-V module into a register program and runs that over the
// workgroups of a dispatch, all invocations of a workgroup in lockstep.
//
// Compile lowers: it takes a checked module, inlines its functions, and brings it into static single assignment over
// scalars. Program.LayOut finds out what is uniform, and allocates registers. Program.Run executes.
package compute

import (
	"farside/compute/internal/kernel"
	"farside/internal/sampling"
	"farside/spirv"
)

// Memory is a range of bytes that a shader may access.
type Memory = kernel.Memory

// Options are what a pipeline says about its shader.
type Options struct {
	Specialization map[uint32][]byte // by SpecId, little endian
	Constants      *spirv.Constants  // the module's under Specialization, where the caller has them; nil: not
	SubgroupSize   uint32            // a power of two between 4 and 128
	ZeroShared     bool              // workgroup memory is zeroed although the shader does not ask
	PlainGo        bool              // run on kernels in plain Go
	NoNative       bool              // run on kernels alone, without machine code made for the program

	// Dump takes the graph as text after each pass of the compiler, and at last the program. Stages are numbered names. It
	// may be called again when the program first runs, by another goroutine. The graph is validated after each pass, too.
	// nil: nobody looks.
	Dump func(stage, text string)

	// Capabilities are those of the device, for what only the compiler sees: which indices of descriptors are no constants
	// (VUID-StandaloneSpirv-UniformBufferArrayDynamicIndexing-10127 to 10133). Where they lack one there is a warning.
	// nil: all.
	Capabilities map[spirv.Capability]bool
}

// Bindings gives a dispatch what its descriptors refer to. Its methods are called from several goroutines. What
// they return stays valid until the dispatch has ended. A binding that was not written, was freed, or an element beyond
// the end of the binding gives the zero value.
type Bindings interface {
	Memory(set, binding, element uint32) Memory
	Image(set, binding, element uint32) *sampling.View // also of texel buffers
	Sampler(set, binding, element uint32) *sampling.Sampler
	Count(set, binding uint32) uint32 // elements of the binding
	// Physical returns the mapped memory behind a device address, up to the end of the buffer or allocation that holds it;
	// none: false.
	Physical(address uint64) (Memory, bool)
}

// Dispatch is one dispatch of a program.
type Dispatch struct {
	Base, Groups  [3]uint32 // the first workgroup and how many
	DeviceIndex   uint32    // what DeviceIndex is
	PushConstants []byte
	Bindings      Bindings
	Print         func(string)  // messages of debugPrintf; nil: dropped
	Clock         func() uint64 // the clock of the device, in its ticks: what OpReadClockKHR reads; nil: 0
	Stop          func() bool   // asked now and then; true ends the dispatch with ErrStopped
}
