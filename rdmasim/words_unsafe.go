package rdmasim

import "unsafe"

// holds says whether an address lies in b.
func holds(b []byte, address uintptr) bool {
	return address-uintptr(unsafe.Pointer(unsafe.SliceData(b))) < uintptr(len(b))
}
