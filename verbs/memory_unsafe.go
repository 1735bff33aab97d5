package verbs

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

var (
	userSpace = uintptr(engine.UserSpace)

	// nowhere faults. It stands in for memory that can't exist.
	nowhere = func() uintptr {
		p, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			panic(fmt.Sprintf("farside: no address space for one page: %v", err))
		}
		return uintptr(unsafe.Pointer(unsafe.SliceData(p)))
	}()
)

// Offsets in structures of C.
const (
	contextOffset = unsafe.Offsetof(ibv.VerbsContext{}.Context)
	nameOffset    = unsafe.Offsetof(ibv.Device{}.Name)

	// Where the structures ended before they grew.
	portAttrThen = unsafe.Offsetof(ibv.PortAttr{}.PortCapFlags2)
	qpAttrThen   = unsafe.Offsetof(ibv.QPAttr{}.RateLimit)
)

// sizeOf is the bytes of a structure.
func sizeOf[T any]() uintptr {
	var t T
	return unsafe.Sizeof(t)
}

// pointer makes an address of C a pointer. One that can't be an address becomes one that faults: Go's runtime ends the
// process when it finds a pointer below 4096 on a stack that it moves.
func pointer(at, size uintptr) unsafe.Pointer {
	if at < 4096 || at > userSpace || size > userSpace-at {
		at = nowhere
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&at))
}

// at is the structure of C at an address, which faults where there is none.
func at[T any](address uintptr) *T {
	var t T
	return (*T)(pointer(address, unsafe.Sizeof(t)))
}

// array is n structures of C at an address; n is that of a caller that has checked it against a limit. Without any, the
// address is not looked at.
func array[T any](address uintptr, n int) []T {
	if n <= 0 {
		return nil
	}
	var t T
	size := uintptr(n) * unsafe.Sizeof(t)
	p := pointer(address, size)
	if uintptr(p) == nowhere {
		n = min(n, max(1, int(uintptr(os.Getpagesize())/unsafe.Sizeof(t))))
	}
	return unsafe.Slice((*T)(p), n)
}

// bytesAt is n bytes of C's memory.
func bytesAt(address, n uintptr) []byte {
	if n == 0 {
		return nil
	}
	p := pointer(address, n)
	if uintptr(p) == nowhere {
		n = min(n, uintptr(os.Getpagesize()))
	}
	return unsafe.Slice((*byte)(p), n)
}

// address is where a structure outside of Go's heap lies.
func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// text is a string that C gave, at most limit bytes of it.
func text(address uintptr, limit int) string {
	var b []byte
	for len(b) < limit {
		c := *at[byte](address + uintptr(len(b)))
		if c == 0 {
			break
		}
		b = append(b, c)
	}
	return string(b)
}

// constants are strings for C, which stay.
type constants struct{ at []uintptr }

// newConstants puts strings outside of Go's heap.
func newConstants(texts ...string) *constants {
	n := 0
	for _, s := range texts {
		n += len(s) + 1
	}
	p, err := unix.Mmap(-1, 0, max(n, 1), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(fmt.Sprintf("farside: no memory for %d bytes: %v", n, err))
	}
	c := &constants{}
	for _, s := range texts {
		c.at = append(c.at, uintptr(unsafe.Pointer(unsafe.SliceData(p))))
		copy(p, s)
		p = p[len(s)+1:]
	}
	return c
}

// get returns the address of string i, and that of the last one for every other number.
func (c *constants) get(i int) uintptr {
	if i < 0 || i >= len(c.at)-1 {
		i = len(c.at) - 1
	}
	return c.at[i]
}

// copyOut writes a structure to C, as much of it as the caller's has room for, and zeros behind it.
func copyOut[T any](to, size uintptr, v *T) {
	from := unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v))
	given := bytesAt(to, min(size, 1<<16))
	clear(given[copy(given, from):])
}
