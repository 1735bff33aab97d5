//go:build !amd64

package kernel

// Exact makes the thread's floats those of IEEE 754, which they are.
func Exact() (last uint32) { return 0 }

// Restore undoes Exact.
func Restore(uint32) {}
