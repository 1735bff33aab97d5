//go:build !amd64 && !arm64

package kernel

func best() *Set { return Go() }
