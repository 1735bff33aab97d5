//go:build !amd64

package ieee

const control = 0

// swap does nothing: floats are exact.
func swap(uint32) (last uint32) { return 0 }
