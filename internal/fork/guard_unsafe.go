// Package fork tells a process that was forked without exec from the one that loaded the library. In the
// child no thread of the Go runtime exists, and a call into Go could hang for ever: assembly looks before it
// calls.
package fork

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// madvWipeOnFork is MADV_WIPEONFORK of linux/mman.h (Linux 4.14): a forked child sees zeros.
const madvWipeOnFork = 18

// NewGuard returns a word that is 1 in this process and 0 in its forked children, and behind it one that is
// 0, for the child to mark that it has told. Both lie outside of Go's heap and stay for ever.
func NewGuard() *[2]uint64 {
	p, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		panic(fmt.Sprintf("farside: no memory for one page: %v", err))
	}
	// An older kernel refuses; a forked child is then not recognised and nothing else is lost.
	_ = syscall.Madvise(p, madvWipeOnFork)
	guard := (*[2]uint64)(unsafe.Pointer(unsafe.SliceData(p)))
	guard[0] = 1
	return guard
}
