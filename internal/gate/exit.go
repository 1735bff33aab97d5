package gate

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"farside/internal/stderr"
)

var atExit struct {
	mu    sync.Mutex
	calls []func()
}

// AtExit has f called when the process ends by exit(3) or by a return from main, after the application's own atexit(3)
// handlers; the last that was given is the first that is called. Nothing is called after _exit(2) or a signal, in a
// forked process, by exit(3) in a signal handler that has interrupted its thread in Go, or where the driver is not
// loaded as a library.
func AtExit(f func()) {
	atExit.mu.Lock()
	defer atExit.mu.Unlock()
	atExit.calls = append(atExit.calls, f)
	atomic.StoreUint64(&Guard[2], 1)
}

// ExitWith makes the exit status of the process that is ending, from 1 on. It is for functions that AtExit was given.
// Destructors of other libraries still run after them, then standard streams are flushed and _exit(2) ends the process.
func ExitWith(status uint8) { atomic.StoreUint64(&Guard[3], uint64(status)) }

// Exit calls what AtExit was given. The library's destructor calls it if there is something.
func Exit() {
	for {
		atExit.mu.Lock()
		n := len(atExit.calls)
		if n == 0 {
			atExit.mu.Unlock()
			return
		}
		f := atExit.calls[n-1]
		atExit.calls = atExit.calls[:n-1]
		atExit.mu.Unlock()
		protect(f)
	}
}

// protect calls f, whose panic does not end the process otherwise than it wanted to end.
func protect(f func()) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(stderr.Writer, "farside: at the process' exit: %v\n%s", v, debug.Stack())
		}
	}()
	f()
}
