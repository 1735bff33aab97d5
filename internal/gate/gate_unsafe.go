// Package gate is how threads of an application come into the Go code of a library, whatever the signal handlers and
// the descriptors of the application are.
//
// A handler without SA_ONSTACK runs on the stack that the thread is using, and in Go that is the stack of a goroutine,
// which may have less than a kilobyte left. What keeps handlers from writing over other memory:
//
//  1. The Go runtime's own threads have all signals blocked, but those that the runtime needs. The libraries' gate.S
//     sees to that before the runtime starts.
//  2. A thread of the application runs Go code inside of [Run], whose goroutine has [Room] bytes of stack to spare at
//     the deepest. Gate.S calls [Enter], with signals blocked, when a thread comes for the first time.
//  3. Handlers with SA_ONSTACK run on the thread's alternate stack. Enter gives a large one to threads without one,
//     before Go gives them a small one.
//  4. A call by a handler that has interrupted its thread in Go is refused: the runtime would take the thread's
//     goroutine for one that waits for C, and write over its stack. So is a call of another library than the one that
//     the thread is in, which has a runtime of its own: while both stop the world, each would wait for the thread. Each
//     thread has one byte for all libraries that is 1 while it is in Go, farside_in_go of gate.S. The assembly that
//     enters Go sets it, and [Outside] clears it around callbacks.
//  5. [Prepare] gives SA_ONSTACK to the handlers of signals that the runtime's threads can't block.
//
// An application may take the alternate stack from a thread that has been in Go: Rust does before the destructors of a
// thread's variables run. Go's handler of SIGURG, which interrupts goroutines, would then end the process; gate.S keeps
// the signal from it.
package gate

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// Room is how many bytes of stack are free when Run calls its function: several handlers of 16 KiB that interrupt
	// each other, each with a frame of up to 11 KB that the kernel writes, and what the function itself needs.
	Room = 128 << 10

	// alternateSize is the size of a thread's alternate stack.
	alternateSize = 256 << 10
)

// Run calls f on a stack with Room to spare. Its own frame takes 64 KiB: Go halves a stack of which less than a quarter
// is used, and that is a quarter of the smallest one that has Room.
//
//go:noescape
func Run(f func())

// call is the end of Run that is in Go.
//
//lint:ignore U1000 Run calls it
func call(f func()) { f() }

// room makes the stack grow until Room bytes are free.
//
//lint:ignore U1000 Run calls it
func room()

// grow makes the stack grow at once to what Run needs. Run alone would do it in two steps, of which the second copies
// the 64 KiB that Run has taken: 17 pages of the old stack and 17 of the new one, each of them touched for the first
// time.
func grow()

// goroutine returns an address that stands for the calling goroutine.
func goroutine() uintptr

// Enter makes a thread of the application ready for calls into Go: its goroutine's stack grows, and it gets an
// alternate stack if it has none of its own. The thread's signals must be blocked. Gate.S calls it.
func Enter(bare bool) {
	grow()
	Run(func() {
		if bare {
			alternate()
		}
	})
}

// stackT is stack_t of sigaltstack(2).
type stackT struct {
	sp    uintptr
	flags int32
	_     int32
	size  uintptr
}

var (
	// alternates are the alternate stacks, by the goroutine that Go keeps for a thread of the application. When the
	// thread ends, Go takes the alternate stack from it and gives the goroutine to another one.
	alternates     = map[uintptr]stackT{}
	alternatesLock sync.Mutex
)

// alternate gives the calling thread a large alternate stack in place of the one that Go has given it. Go's handlers
// ask for each signal which one they are on. A thread for which there is no memory keeps Go's.
func alternate() {
	alternatesLock.Lock()
	defer alternatesLock.Unlock()
	st, ok := alternates[goroutine()]
	if !ok {
		guard := unix.Getpagesize()
		p, err := unix.Mmap(-1, 0, guard+alternateSize, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_STACK)
		if err != nil {
			return
		}
		if unix.Mprotect(p[:guard], unix.PROT_NONE) != nil {
			_ = unix.Munmap(p)
			return
		}
		st = stackT{sp: uintptr(unsafe.Pointer(&p[guard])), size: alternateSize}
		alternates[goroutine()] = st
	}
	_, _, _ = unix.RawSyscall(unix.SYS_SIGALTSTACK, uintptr(unsafe.Pointer(&st)), 0, 0)
}
