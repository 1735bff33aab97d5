// Package stderr writes diagnostics to descriptor 2 of a process that belongs to somebody else.
//
// A library must not harm its application for the sake of a message. So a message is dropped
//   - if descriptor 2 is not the file that it was when the library was loaded, or when [Adopt] was called last: the
//     application has closed it, and the number may now stand for its data;
//   - if descriptor 2 cannot be written, is a pipe or a socket that nobody reads, or has no space;
//   - if nobody has emptied a full pipe for [patience]. Later messages do not wait until one has gone through.
//
// No message raises a signal: SIGPIPE (no reader), SIGXFSZ (RLIMIT_FSIZE) and SIGTTOU (a terminal's background) are
// blocked in the writing thread, and those that the write has raised are taken back.
package stderr

import (
	"io"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// patience is how long a message waits for space. A test harness that reads its pipe is never that slow.
const patience = 100 * time.Millisecond

// pipeBuf is PIPE_BUF: a pipe that poll(2) calls writable takes so many bytes without blocking.
const pipeBuf = 4096

// Writer writes each message with write(2), or drops it. Write always succeeds.
var Writer io.Writer = writer{}

type writer struct{}

// file tells a file from all others.
type file struct{ dev, ino uint64 }

var (
	adopted atomic.Pointer[file] // nil: there is no descriptor 2 to write to
	stuck   atomic.Bool          // the last message found no space for as long as patience
)

func init() { adopted.Store(current()) }

// Adopt follows a redirection of descriptor 2 to a terminal, or to a file that is open for appending. It is called when
// an instance or a peer is made. Other files that have become descriptor 2 may be data.
func Adopt() {
	var st unix.Stat_t
	flags, err := unix.FcntlInt(2, unix.F_GETFL, 0)
	if err != nil || unix.Fstat(2, &st) != nil {
		return
	}
	if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFCHR || kind == unix.S_IFREG && flags&unix.O_APPEND != 0 {
		adopted.Store(current())
	}
}

// current is descriptor 2's file, or nil if no message may be written there.
func current() *file {
	var st unix.Stat_t
	if unix.Fstat(2, &st) != nil {
		return nil
	}
	// A file of a fixed size is no log. It is shared memory, perhaps that of a device.
	if seals, err := unix.FcntlInt(2, unix.F_GET_SEALS, 0); err == nil && seals&unix.F_SEAL_GROW != 0 {
		return nil
	}
	return &file{uint64(st.Dev), st.Ino}
}

func (writer) Write(p []byte) (int, error) {
	want := adopted.Load()
	if now := current(); want == nil || now == nil || *now != *want {
		return len(p), nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, pending unix.Sigset_t
	if unix.PthreadSigmask(unix.SIG_BLOCK, &raised, &before) != nil || sigpending(&pending) != nil {
		return len(p), nil
	}
	if err := deliver(p); err == unix.EPIPE || err == unix.EFBIG {
		takeBack(&pending)
	}
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	return len(p), nil
}

// deliver writes p, and gives up when there is no space.
func deliver(p []byte) error {
	for len(p) > 0 {
		n, err := attempt(p)
		switch {
		case err == nil:
			stuck.Store(false)
			p = p[n:]
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			if stuck.Load() || !writable(patience) {
				stuck.Store(true)
				return err
			}
		default:
			return err
		}
	}
	return nil
}

// attempt writes some of p, or fails with EAGAIN if it would have to wait for space.
func attempt(p []byte) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(2, &st); err != nil {
		return 0, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		return unix.Write(2, p)
	}
	n, err := unix.Pwritev2(2, [][]byte{p}, -1, unix.RWF_NOWAIT)
	switch err {
	case unix.EOPNOTSUPP, unix.EINVAL, unix.ENOSYS, unix.EPERM:
		// A terminal, an older kernel or a seccomp filter: nobody but us would have to fill the space in between.
		if !writable(0) {
			return 0, unix.EAGAIN
		}
		return unix.Write(2, p[:min(len(p), pipeBuf)])
	}
	return n, err
}

// writable says whether descriptor 2 has space, or fails, within a time.
func writable(within time.Duration) bool {
	end := time.Now().Add(within)
	for {
		fds := []unix.PollFd{{Fd: 2, Events: unix.POLLOUT}}
		n, err := unix.Poll(fds, int(max(time.Until(end), 0).Milliseconds()))
		if err != unix.EINTR || time.Now().After(end) {
			return err == nil && n > 0
		}
	}
}

// raised are the signals that a write can raise.
var raised = func() (set unix.Sigset_t) {
	for _, s := range []unix.Signal{unix.SIGPIPE, unix.SIGXFSZ, unix.SIGTTOU} {
		set.Val[0] |= 1 << (s - 1)
	}
	return set
}()

// sigsetSize is the size of the kernel's sigset_t.
const sigsetSize = 8

func sigpending(set *unix.Sigset_t) error {
	_, _, errno := unix.RawSyscall(unix.SYS_RT_SIGPENDING, uintptr(unsafe.Pointer(set)), sigsetSize, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// takeBack removes from the thread's pending signals those of raised that were not pending before.
func takeBack(before *unix.Sigset_t) {
	ours := raised
	ours.Val[0] &^= before.Val[0]
	var now unix.Timespec
	for ours.Val[0] != 0 {
		s, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&ours)), 0,
			uintptr(unsafe.Pointer(&now)), sigsetSize, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return
		}
		ours.Val[0] &^= 1 << (s - 1)
	}
}
