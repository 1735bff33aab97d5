package gate

import (
	"bytes"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// free is how many bytes lie below the caller's frame on its goroutine's stack, whose low end is a goroutine's first
// word.
//
//go:noinline
func free() uintptr {
	var here byte
	g := goroutine()
	return uintptr(unsafe.Pointer(&here)) - *(*uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&g)))
}

// TestRoom asks for room in new goroutines, again and again, and after collections, which make stacks smaller.
func TestRoom(t *testing.T) {
	least := make(chan uintptr)
	for range 20 {
		go func() {
			n := ^uintptr(0)
			for range 3 {
				Run(func() {
					n = min(n, free())
					for range 6 {
						runtime.GC()
						n = min(n, free())
					}
					Run(func() { n = min(n, free()) })
				})
				runtime.GC()
			}
			least <- n
		}()
		// What the frames of call and of the closure take.
		if n := <-least; n < Room-1024 {
			t.Fatalf("%d bytes of stack are free, want %d", n, Room)
		}
	}
}

// TestRunPanics has a panic go through Run.
func TestRunPanics(t *testing.T) {
	defer func() {
		if v := recover(); v != "out" {
			t.Errorf("the panic is %v", v)
		}
	}()
	Run(func() { panic("out") })
}

// TestPoller has Prepare fail without descriptors, and not end the process.
func TestPoller(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}()
	pollerOpen = false
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(); err == nil {
		t.Error("there are descriptors where none can be")
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := Prepare(); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Millisecond)
}

// TestOnStack has Prepare add SA_ONSTACK to a handler of a signal that Go's threads don't block, and to no other's.
func TestOnStack(t *testing.T) {
	get := func(s unix.Signal) (a action) {
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), 0, uintptr(unsafe.Pointer(&a)), 8, 0,
			0); errno != 0 {
			t.Fatal(errno)
		}
		return a
	}
	set := func(s unix.Signal, a action) {
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&a)), 0, 8, 0,
			0); errno != 0 {
			t.Fatal(errno)
		}
	}
	for _, s := range []unix.Signal{unix.SIGTRAP, unix.SIGUSR1} {
		old := get(s)
		defer set(s, old)
		plain := old
		plain.flags &^= saOnStack
		if set(s, plain); get(s).flags&saOnStack != 0 {
			t.Fatalf("%v keeps SA_ONSTACK", s)
		}
	}
	if err := Prepare(); err != nil {
		t.Fatal(err)
	}
	if get(unix.SIGTRAP).flags&saOnStack == 0 || get(unix.SIGUSR1).flags&saOnStack != 0 {
		t.Error("SA_ONSTACK is missing, or too much")
	}
}

// TestBeat looks for the one goroutine that keeps a timer due, however often the process was made ready.
func TestBeat(t *testing.T) {
	for range 2 {
		if err := Prepare(); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		n := bytes.Count(stacks, []byte("gate.beats()"))
		if n == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines beat, want 1\n%s", n, stacks)
		}
	}
}
