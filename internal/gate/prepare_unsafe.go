package gate

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/stderr"
)

// Prepare makes the process ready for a library's work: descriptor 2 of this moment gets the diagnostics, the handlers
// of signals that can't be blocked get SA_ONSTACK, callbacks get the calling thread's signal mask, what the Go runtime
// opens by itself is open, and stops of the world end. It is called when an instance, a peer or a device of verbs is
// made. It fails if the process has no descriptors left; the runtime would abort.
func Prepare() error {
	stderr.Adopt()
	onStack()
	keepMask()
	if err := openPoller(); err != nil {
		return err
	}
	beat()
	return nil
}

// unblocked are the signals that Go's threads don't block: those that stand for an error of the thread itself, Go's
// own for preemption (SIGURG), and those that C libraries send to all threads (32 to 34). Descriptors of gate.S name
// the same.
var unblocked = []unix.Signal{unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT,
	unix.SIGURG, 32, 33, 34}

// The C library has installed its handlers by now, since the runtime has threads.
func init() { onStack() }

// action is struct sigaction of the kernel.
type action struct {
	handler  uintptr // SIG_DFL is 0, SIG_IGN is 1
	flags    uint64
	restorer uintptr
	mask     uint64
}

const saOnStack = 0x08000000

// onStack adds SA_ONSTACK to the handlers of the signals in unblocked.
func onStack() {
	for _, s := range unblocked {
		var a action
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), 0, uintptr(unsafe.Pointer(&a)), 8, 0, 0)
		if errno != 0 || a.handler <= 1 || a.flags&saOnStack != 0 {
			continue
		}
		a.flags |= saOnStack
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&a)), 0, 8, 0, 0)
	}
}

var (
	pollerLock sync.Mutex
	pollerOpen bool
)

// openPoller has the Go runtime open its epoll instance and its eventfd, which it does once, at a time of its own, and
// with an abort when it can't. Both become descriptors above 2.
func openPoller() (err error) {
	pollerLock.Lock()
	defer pollerLock.Unlock()
	if pollerOpen {
		return nil
	}
	var standard, spare []int
	for len(spare) < 2 && err == nil {
		var e int
		if e, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			err = fmt.Errorf("no descriptors left for Go's runtime: %w", err)
		} else if e <= 2 {
			standard = append(standard, e)
		} else {
			spare = append(spare, e)
		}
	}
	for _, e := range spare {
		_ = unix.Close(e)
	}
	if err == nil {
		// The first timer opens the poller.
		time.AfterFunc(time.Hour, func() {}).Stop()
		pollerOpen = true
	}
	for _, e := range standard {
		_ = unix.Close(e)
	}
	return err
}
