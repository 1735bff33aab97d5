package rdmasim

import "unsafe"

// holds says whether an address lies in b.
func holds(b []byte, address uintptr) bool {
	return address-uintptr(unsafe.Pointer(unsafe.SliceData(b))) < uintptr(len(b))
}

// overlap says whether two pieces of memory have a byte in common.
func overlap(a, b []byte) bool {
	return len(a) > 0 && len(b) > 0 && (holds(a, uintptr(unsafe.Pointer(unsafe.SliceData(b)))) ||
		holds(b, uintptr(unsafe.Pointer(unsafe.SliceData(a)))))
}
