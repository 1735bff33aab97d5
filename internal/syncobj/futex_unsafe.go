package syncobj

import (
	"math"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From linux/futex.h.
const (
	futexWake       = 1
	futexWaitBitset = 9
	futexPrivate    = 128
	futexSize32     = 2
	futexMatchAny   = math.MaxUint32
	maxFutexes      = 128 // FUTEX_WAITV_MAX
)

// futexWaitv is struct futex_waitv. The address is of a payload's state, which does not move: it lies in the
// Go heap, whose collector does not move objects, or in a mapping.
type futexWaitv struct {
	value   uint64
	address uint64
	flags   uint32
	_       uint32
}

// sleeper is what one blocking call is woken by.
type sleeper struct {
	n       int
	futexes [maxFutexes]futexWaitv
}

func (s *sleeper) push(p *Payload, seq uint32) {
	s.futexes[s.n] = futexWaitv{
		value:   uint64(seq),
		address: uint64(uintptr(unsafe.Pointer(&p.state.seq))),
		flags:   futexSize32 | uint32(p.wakeOp&futexPrivate),
	}
	s.n++
}

// withoutWaitv is set on a kernel before Linux 5.16, which can't wait for several futexes at once: there a
// waiter sleeps on the first one and looks at the others every halfMillisecond.
var withoutWaitv atomic.Bool

const halfMillisecond = 500_000

// sleep blocks while no futex of s has changed, at most until deadline. Whatever the reason for which it
// returns, the caller looks again.
func (s *sleeper) sleep(deadline int64) unix.Errno {
	one := s.n == 1
	if !one && withoutWaitv.Load() {
		one = true
		deadline = min(deadline, monotonic()+halfMillisecond)
	}
	var until *unix.Timespec
	if deadline != forever {
		until = &unix.Timespec{Sec: deadline / 1e9, Nsec: deadline % 1e9}
	}
	var errno unix.Errno
	if one {
		f := &s.futexes[0]
		_, _, errno = unix.Syscall6(unix.SYS_FUTEX, uintptr(f.address), futexWaitBitset|uintptr(f.flags&futexPrivate),
			uintptr(f.value), uintptr(unsafe.Pointer(until)), 0, futexMatchAny)
	} else {
		_, _, errno = unix.Syscall6(unix.SYS_FUTEX_WAITV, uintptr(unsafe.Pointer(&s.futexes)), uintptr(s.n),
			0, uintptr(unsafe.Pointer(until)), unix.CLOCK_MONOTONIC, 0)
		if errno == unix.ENOSYS {
			withoutWaitv.Store(true)
			errno = unix.EAGAIN
		}
	}
	runtime.KeepAlive(until)
	return errno
}

// wake wakes every sleeper on p. The call doesn't block, so that the scheduler need not hear of it.
func (p *Payload) wake() {
	unix.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&p.state.seq)), p.wakeOp, math.MaxInt32)
}

// stateAt types the beginning of a mapping as a state block.
func stateAt(mapping []byte) *state { return (*state)(unsafe.Pointer(&mapping[0])) }

// address tells a payload from all others of the process.
func (p *Payload) address() uint64 { return uint64(uintptr(unsafe.Pointer(p))) }
