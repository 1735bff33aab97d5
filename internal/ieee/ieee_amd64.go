package ieee

// control is MXCSR as it is when a process starts: rounding to nearest even, no exceptions, denormals as they are.
const control = 0x1f80

// swap sets the thread's MXCSR.
func swap(next uint32) (last uint32)
