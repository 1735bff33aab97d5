// Package cabi is how C calls Go. Each Vulkan command that the driver implements or refuses has a stub of a few
// bytes at a fixed address; the stub loads the command's index and jumps to one assembly body, which
// spills the argument registers into a Frame and enters Go through crosscall2. A generated function then
// reads the frame and calls the field of Commands that icd installed. Most commands of command buffers have a
// stub that does not get that far: see RecordInto. The last step of vkGetMemoryFdKHR is the body's: see LendMemoryFD.
//
// Nothing that happens behind an entry point ends the application's process: a panic, also one from a
// wild pointer that the application passed, is reported through OnPanic and answered with
// VK_ERROR_UNKNOWN where the command returns a VkResult. In a process that was forked without exec
// after the driver was loaded the Go runtime has no threads; there the assembly body answers the same
// without entering Go. Package gate keeps signal handlers of the application from Go's small stacks.
package cabi

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"unsafe"

	"farside/internal/gate"
	"farside/internal/handle"
	"farside/internal/stderr"
	"farside/internal/vk"
)

// What a command returns, for the answer when it cannot run.
const (
	kindVoid   = 0
	kindResult = 1 // VkResult
	kindWord   = 2 // an address, a size or a boolean

	errorUnknown = -13 // VK_ERROR_UNKNOWN
)

// stubSize is the distance of two stubs in bytes; stub 0 is never handed out.
const stubSize = 16

// OnPanic is called with the command's name, the panic's value and the stack when an entry point
// panicked. Set it before the first call; the default writes to standard error.
var OnPanic = func(command string, value any, stack []byte) {
	fmt.Fprintf(stderr.Writer, "farside: %s panicked: %v\n%s", command, value, stack)
}

// failed is what a command returns when it could not run.
func failed(index uintptr) uintptr {
	if resultKinds[index] != kindResult {
		return 0
	}
	unknown := int32(errorUnknown)
	return uintptr(uint32(unknown))
}

var (
	// dispatchPC is the code address of dispatch, which crosscall2 calls.
	//lint:ignore U1000 entry_*.s reads it
	dispatchPC = func() uintptr {
		f := dispatch
		return **(**uintptr)(unsafe.Pointer(&f))
	}()

	// wild is an address that faults.
	wild = func() unsafe.Pointer {
		p, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			panic(fmt.Sprintf("farside: no address space for one page: %v", err))
		}
		return unsafe.Pointer(unsafe.SliceData(p))
	}()

	// guard points to the word that is 0 in a forked process.
	//lint:ignore U1000 entry_*.s reads it
	guard = gate.Guard

	//lint:ignore U1000 entry_*.s reads it
	passed Gate
)

// Gate is what the stubs need of the library's gate, which symbols of the library pass by themselves. Without it, in
// tests, threads come in as they are and forked processes are told nothing.
type Gate struct {
	Offset uintptr // from the thread's pointer: a byte that is 1 once the thread is enrolled
	Mark   uintptr // from there, too: a byte that is 1 while the thread is in Go of any library; 0 without a gate
	Enrol  uintptr // void (*)(void): enrols the calling thread
	Tell   uintptr // void (*)(void): writes a forked process' message
	Errno  uintptr // int *(*)(void): where the calling thread's errno is
}

// PassBy has the stubs use a library's gate. Call it once, before C may call any command.
func PassBy(g Gate) {
	passed = g
	gate.MarkAt(g.Mark)
}

// Protect runs the Go side of a symbol that the library exports, which no stub protects: f's panic is reported as
// that of a command.
func Protect(symbol string, f func()) {
	gate.Run(func() {
		before := debug.SetPanicOnFault(true)
		defer func() {
			if v := recover(); v != nil {
				report(symbol, v)
			}
			debug.SetPanicOnFault(before)
		}()
		f()
	})
}

// stubsAddress returns the address of the stub table.
func stubsAddress() uintptr

// Entry returns the C-callable address of a command by its name in the registry, with its vk prefix;
// aliases share the address of the command that they stand for. It is 0 for commands that the driver
// neither implements nor refuses.
func Entry(name string) uintptr {
	if i, ok := vk.CommandIndex(name); ok {
		return EntryAt(i)
	}
	return 0
}

// EntryAt is Entry of a command by its place in vk.Commands.
func EntryAt(i int) uintptr {
	if indices[i] == 0 {
		return 0
	}
	return stubsAddress() + uintptr(indices[i])*stubSize
}

// slab is a table's slab, as go_asm.h shows it to the stubs.
type slab handle.Slab

// commandBuffers is where command buffers have their slots; nothing lies in it before RecordInto.
//
//lint:ignore U1000 the recording stubs read it
var commandBuffers = new(slab)

// RecordInto says where the slots of command buffers are. The second word of a slot is the address to which the
// next record of the command buffer goes, the third the end of the room for records; both are 0 while the
// command buffer is not being recorded. Call it once, before C may call any command.
//
// The stubs of most recorded commands append to that room and do not enter Go. They leave to Go, where the
// command is called as any other, whatever is not plain: a handle that is no slot, a command buffer that is not
// being recorded or has no room left, an array that is empty or long, and an address that cannot be one.
func RecordInto(s *handle.Slab) { commandBuffers = (*slab)(s) }

// installed is what the generated readers call.
var installed *Commands

// Install sets the Go functions behind the entry points. Call it once, before C may call any of them. c is best a
// variable that the linker lays out: copying a Commands would keep the type of each structure of Vulkan in the library.
func Install(c *Commands) { installed = c }

// dispatch is what crosscall2 calls. It runs on the calling thread.
func dispatch(f *Frame) { gate.Run(func() { answer(f) }) }

func answer(f *Frame) {
	// A fault at an address that is not nil is fatal in Go by default.
	before := debug.SetPanicOnFault(true)
	defer leave(f, before)
	dispatchers[f.index](f)
}

func leave(f *Frame, panicOnFault bool) {
	if v := recover(); v != nil {
		f.result = failed(f.index)
		report(names[f.index], v)
	}
	debug.SetPanicOnFault(panicOnFault)
}

// report calls OnPanic, whose own panic must not reach C either.
func report(command string, value any) {
	defer func() { _ = recover() }()
	OnPanic(command, value, debug.Stack())
}
