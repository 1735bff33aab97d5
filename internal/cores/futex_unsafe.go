package cores

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	futexWaitPrivate = 0x80 // FUTEX_WAIT | FUTEX_PRIVATE_FLAG: futex(2)
	futexWakePrivate = 0x81
)

// sleep waits until the word is not value any more; it may return earlier.
func sleep(word *atomic.Uint32, value uint32) {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWaitPrivate, uintptr(value), 0, 0, 0)
}

// wake ends the sleep of at most n workers.
func wake(word *atomic.Uint32, n int) {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWakePrivate, uintptr(n), 0, 0, 0)
}
