package engine

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// UserSpace is where the addresses end that the kernel gives to a process which doesn't ask for higher ones. Beyond,
// the processor's faults don't say where they were.
var UserSpace = uint64(1) << map[string]int{"amd64": 47, "arm64": 48}[runtime.GOARCH]

// bytesAt is ordinary memory of the application. It isn't Go's, and may go away: copies are guarded. It is nil for a
// range that can't be memory.
func bytesAt(address, length uint64) []byte {
	if length == 0 || address < 4096 || address > UserSpace || length > UserSpace-address {
		return nil
	}
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))), length)
}

// word is the 64-bit word at the start of b, or nil if it isn't aligned.
func word(b []byte) *atomic.Uint64 {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b) < 8 || uintptr(p)&7 != 0 {
		return nil
	}
	return (*atomic.Uint64)(p)
}

// half is the 32-bit word at the start of b, or nil if it isn't aligned.
func half(b []byte) *atomic.Uint32 {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if len(b) < 4 || uintptr(p)&3 != 0 {
		return nil
	}
	return (*atomic.Uint32)(p)
}

// addressOf is where b lies.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// mapped says whether memory is mapped and may be read, and written if write is set. Error: EFAULT. It asks the kernel
// for its list and touches nothing, so that pages which nobody has used yet stay so.
func mapped(address, length uint64, write bool) error {
	list, err := fd.ReadFile("/proc/self/maps")
	if err != nil {
		return present(address, length)
	}
	at, end := address, address+length
	for len(list) > 0 && at < end {
		var line []byte
		line, list, _ = bytes.Cut(list, []byte{'\n'})
		from, rest := hexNumber(line)
		to, rest := hexNumber(rest[min(1, len(rest)):])
		switch {
		case to <= at || len(rest) < 3:
			continue
		case from > at, rest[1] != 'r', write && rest[2] != 'w':
			return unix.EFAULT
		}
		at = to
	}
	if at < end {
		return unix.EFAULT
	}
	return nil
}

// present says whether memory is mapped, where the kernel's list can't be had: without a descriptor that is free, or
// without /proc. What may be done with it shows when it is used. Error: EFAULT.
func present(address, length uint64) error {
	const step = 4096 // pages at a time
	page := uint64(unix.Getpagesize())
	var each [step]byte
	for at, end := address&^(page-1), address+length; at < end; at += step * page {
		_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(at), uintptr(min(end-at, step*page)),
			uintptr(unsafe.Pointer(&each)))
		if errno != 0 {
			return unix.EFAULT
		}
	}
	return nil
}

// hexNumber reads a number from the start of b.
func hexNumber(b []byte) (v uint64, rest []byte) {
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			return v, b[i:]
		}
	}
	return v, nil
}
