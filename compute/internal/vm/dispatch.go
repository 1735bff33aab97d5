package vm

import (
	"farside/compute/internal/kernel"
	"farside/internal/sampling"
)

// Bindings gives a program what its descriptors refer to. Its methods are called from several goroutines. What they
// return stays valid until the execution has ended. A binding that was not written, was freed, or an element beyond the
// end of the binding gives the zero value.
type Bindings interface {
	Memory(set, binding, element uint32) kernel.Memory
	Image(set, binding, element uint32) *sampling.View // also of texel buffers
	Sampler(set, binding, element uint32) *sampling.Sampler
	// Physical returns the mapped memory of the buffer or allocation that holds a device address, and the address at which
	// that begins; none: false.
	Physical(address uint64) (m kernel.Memory, start uint64, found bool)
}

// Environment is what a program finds when it is executed, whatever its stage.
type Environment struct {
	DeviceIndex   uint32 // what DeviceIndex is
	PushConstants []byte
	Bindings      Bindings
	Print         func(string)  // messages of debugPrintf; nil: dropped
	Clock         func() uint64 // the clock of the device, in its ticks: what OpReadClockKHR reads; nil: 0
	// Stop is asked now and then, with how many batches (workgroups of a dispatch) have ended so far, or a few less. The
	// answer true ends the execution with ErrStopped.
	Stop func(ended uint64) bool
}

// Dispatch is one dispatch of a compute shader.
type Dispatch struct {
	Environment
	Base, Groups [3]uint32 // the first workgroup and how many
}
