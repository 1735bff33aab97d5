// Package ieee makes the floats of a thread those of IEEE 754. An application that is built with -ffast-math flushes
// denormals to zero, in its threads and in all that are started from them, those of Go's runtime included.
//
// Code that computes floats for the application, or that folds what shaders compute, runs between Enter and Leave: what
// a queue executes, a core's part of it, the evaluation of constants, and the compilation of shaders.
package ieee

import "runtime"

// Enter keeps the goroutine on its thread, and makes the thread's floats exact. It returns what Leave takes.
func Enter() (last uint32) {
	runtime.LockOSThread()
	return swap(control)
}

// Leave makes the thread's floats what they were, and lets go of the thread.
func Leave(last uint32) {
	swap(last)
	runtime.UnlockOSThread()
}
