//go:build !amd64

package cpuid

func detect() Features { return Features{} }
