package shm

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// word returns the 64-bit word at an offset of a mapping, for atomic access. The offset is a multiple of eight.
func word(b []byte, offset uint64) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&b[offset : offset+8][0]))
}

// mapTwice maps a file of head and body such that its body follows itself: what goes over the end of the body goes on
// at its start. Both are whole pages. The caller ends the mapping with unmapTwice.
func mapTwice(raw, head, body, prot int) ([]byte, error) {
	size := head + 2*body
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("mmap of %d bytes: %w", size, err)
	}
	mapping := unsafe.Slice((*byte)(base), size)
	_, err = unix.MmapPtr(raw, 0, base, uintptr(head+body), prot, unix.MAP_SHARED|unix.MAP_FIXED)
	if err == nil {
		_, err = unix.MmapPtr(raw, int64(head), unsafe.Add(base, head+body), uintptr(body), prot,
			unix.MAP_SHARED|unix.MAP_FIXED)
	}
	if err != nil {
		unmapTwice(mapping)
		return nil, fmt.Errorf("mmap of a ring: %w", err)
	}
	return mapping, nil
}

func unmapTwice(mapping []byte) {
	_ = unix.MunmapPtr(unsafe.Pointer(&mapping[0]), uintptr(len(mapping)))
}
