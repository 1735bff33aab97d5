//go:build !amd64

package native

import "unsafe"

func call(code, file, slots, mask unsafe.Pointer, first, end uintptr) (rest uintptr) {
	panic("no code for this machine")
}
