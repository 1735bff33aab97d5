package local

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// robustList is struct robust_list_head of <linux/futex.h> with its one element.
type robustList struct {
	next    unsafe.Pointer // &element
	offset  uintptr        // from an element to its futex, bytes
	pending unsafe.Pointer
	element unsafe.Pointer // &next, which ends the list
}

// keeper is a thread whose end the kernel writes into a word.
//
// The word is a robust futex (get_robust_list(2)) that the thread holds for ever.
//
//  1. The thread ends, however the process dies. The kernel replaces its id in the word by FUTEX_OWNER_DIED.
//  2. The kernel closes the process' descriptors. Connections end.
//  3. The parent can learn of the death by wait(2).
//
// The steps have this order in do_exit of Linux (exit_mm, exit_files, exit_notify). A child that was forked has neither
// the thread nor the list, and so can't keep the word alive.
type keeper struct{ stop, stopped chan struct{} }

// tidMask is FUTEX_TID_MASK: the part of a futex that is a thread's id.
const tidMask = 1<<30 - 1

// keep lets a new thread hold the futex in the lower half of w, which it sets, the upper half being state.
// Without robust futexes the word just doesn't change by itself.
func keep(w *atomic.Uint64, state uint64) *keeper {
	k := &keeper{stop: make(chan struct{}), stopped: make(chan struct{})}
	ready := make(chan struct{})
	go func() {
		defer close(k.stopped)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		list := &robustList{}
		list.next, list.element = unsafe.Pointer(&list.element), unsafe.Pointer(&list.next)
		list.offset = uintptr(unsafe.Pointer(w)) - uintptr(unsafe.Pointer(&list.element))
		// A thread of the C library has a list already; nothing on this thread takes its mutexes.
		var old, size uintptr
		_, _, failed := unix.RawSyscall(unix.SYS_GET_ROBUST_LIST, 0, uintptr(unsafe.Pointer(&old)),
			uintptr(unsafe.Pointer(&size)))
		if failed == 0 {
			_, _, failed = unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, uintptr(unsafe.Pointer(list)), 3*unsafe.Sizeof(old), 0)
		}
		if failed == 0 {
			state |= uint64(unix.Gettid())
		}
		w.Store(state)
		close(ready)
		<-k.stop
		if failed == 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, old, size, 0)
		}
		runtime.KeepAlive(list)
	}()
	<-ready
	return k
}

// end gives the thread back; the word stays as it is.
func (k *keeper) end() {
	close(k.stop)
	<-k.stopped
}
