package gate

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Guard points to a word that is 1 in the process that loaded the library and 0 in its forked children, where no
// thread of the Go runtime exists and a call into Go could hang for ever: assembly looks before it calls. The word
// behind it is 1 once the child has said so, the third is 1 if Exit has something to call, and the fourth is an exit
// status for the process, 0 for its own. They lie outside of Go's heap and stay for ever.
var Guard = func() *[4]uint64 {
	p, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(fmt.Sprintf("farside: no memory for one page: %v", err))
	}
	// A kernel before 4.14 refuses; a forked child is then not recognised and nothing else is lost.
	_ = unix.Madvise(p, unix.MADV_WIPEONFORK)
	guard := (*[4]uint64)(unsafe.Pointer(unsafe.SliceData(p)))
	guard[0] = 1
	return guard
}()

// Forked reports whether this process was forked from the one that loaded the library.
func Forked() bool { return atomic.LoadUint64(&Guard[0]) == 0 }
