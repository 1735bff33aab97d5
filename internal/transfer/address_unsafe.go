package transfer

import "unsafe"

// address is where a slice begins. Only comparisons use it: the memory of this package's slices is not Go's and
// does not move.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// overlap says whether two slices share bytes.
func overlap(a, b []byte) bool {
	return address(a) < address(b)+uintptr(len(b)) && address(b) < address(a)+uintptr(len(a))
}
