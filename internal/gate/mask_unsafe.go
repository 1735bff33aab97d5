package gate

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// theirs is the signal mask of the application's thread that called Prepare last, without the signals that Go needs.
var theirs atomic.Uint64

// ours is the signal mask of the runtime's threads, as the kernel tells it: no mask has SIGKILL and SIGSTOP.
var ours = func() uint64 {
	mask := bit(unix.SIGKILL) | bit(unix.SIGSTOP)
	for _, s := range unblocked {
		mask |= bit(s)
	}
	return ^mask
}()

func bit(s unix.Signal) uint64 { return 1 << (s - 1) }

// signalMask sets the calling thread's mask, nil for none, and returns the one before.
func signalMask(set *uint64) (old uint64) {
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	return old
}

// keepMask notes the mask of the calling thread, which is the application's.
func keepMask() {
	if mask := signalMask(nil); mask != ours {
		theirs.Store(mask & ours)
	}
}

// inGo is where the byte is, from the thread's pointer, that is 1 while a thread of the application is in Go; 0 where
// there is none, as in tests.
var inGo uintptr

// MarkAt says where threads have the byte that is 1 while they are in Go, from the thread's pointer. It is called once,
// before C may call anything.
func MarkAt(offset uintptr) { inGo = offset }

// swap sets that byte of the calling thread and returns what it was.
func swap(offset uintptr, to byte) byte

// Outside is called before the calling goroutine, locked to its thread, calls a function of the application, which may
// call the library again; what it returns, afterwards. Otherwise a call from a thread that is in Go comes from a signal
// handler, and is refused: entering Go a second time would write over what the first call has on its stack.
func Outside() func() {
	if inGo == 0 {
		return func() {}
	}
	was := swap(inGo, 0)
	return func() { swap(inGo, was) }
}

// Callback calls f, which calls a function of the application. In a thread of the runtime, the application's signal
// mask holds meanwhile, since a program that the function starts has the mask of the thread that starts it. A handler
// of the application may then run in that thread, and has as much stack as in its own.
func Callback(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer Outside()()
	if signalMask(nil) != ours {
		f()
		return
	}
	Run(func() {
		mask := theirs.Load()
		old := signalMask(&mask)
		defer signalMask(&old)
		f()
	})
}
