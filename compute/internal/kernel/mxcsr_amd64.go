package kernel

// ieee is MXCSR as it is when a process starts: rounding to nearest even, no exceptions, denormals as they are.
const ieee = 0x1f80

func swapMXCSR(next uint32) (last uint32)

// Exact makes the thread's floats those of IEEE 754, and returns what Restore makes them again. An application that is
// built with -ffast-math has denormals flushed to zero, in its threads and in all that are started from them. The caller
// stays on its thread in between.
func Exact() (last uint32) { return swapMXCSR(ieee) }

// Restore undoes Exact.
func Restore(last uint32) { swapMXCSR(last) }
