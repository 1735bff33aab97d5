package ofi

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// address returns where memory lies.
func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// remap maps the pages around b, a part of a shared mapping, once more, and returns the place of b in them.
func remap(b []byte) (mapping []byte, in int, err error) {
	first := unsafe.Pointer(unsafe.SliceData(b))
	in = int(uintptr(first) % uintptr(unix.Getpagesize()))
	size := uintptr(in + len(b))
	// With an old size of 0, mremap(2) copies a shared mapping instead of moving it.
	at, err := unix.MremapPtr(unsafe.Add(first, -in), 0, nil, size, unix.MREMAP_MAYMOVE)
	if err != nil {
		return nil, 0, fmt.Errorf("ofi: map %d bytes once more: %w", size, err)
	}
	return unsafe.Slice((*byte)(at), size), in, nil
}

func unmap(b []byte) { _ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b))) }

// abandon puts pages of nobody in the place of a mapping. If the kernel has none the mapping stays.
func abandon(b []byte) {
	_, _ = unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED|unix.MAP_NORESERVE)
}
