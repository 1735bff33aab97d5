package ofi

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// address returns where a mapping lies.
func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// abandon puts pages of nobody in the place of a mapping. If the kernel has none the mapping stays.
func abandon(b []byte) {
	_, _ = unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED|unix.MAP_NORESERVE)
}
