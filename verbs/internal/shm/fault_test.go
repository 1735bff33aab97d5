package shm

import "runtime/debug"

// setPanicOnFault makes faults of this goroutine panics until the function that it returns is called.
func setPanicOnFault() func() {
	old := debug.SetPanicOnFault(true)
	return func() { debug.SetPanicOnFault(old) }
}
