package cabi

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"unsafe"

	"farside/internal/callsite"
	"farside/internal/gate"
	"farside/internal/ibv"

	"golang.org/x/sys/unix"
)

// Call holds the arguments of one call from C to a function of verbs. It lies on the C caller's stack and is valid
// until the call returns. No function of verbs has more arguments than registers, or floats.
type Call struct {
	Args   [intRegisters]uintptr // bits above an argument's own size are undefined, as in C
	Result uintptr
	Errno  int64 // what C's errno becomes, 0 leaves it as it was
	index  uintptr
	kept   [2]uintptr // as Frame's
}

// Caller returns where the call comes from.
func (c *Call) Caller() callsite.Registers {
	r := callsite.Registers{SP: uintptr(unsafe.Pointer(c)) + unsafe.Sizeof(*c) + 8, BP: c.kept[0], BX: c.kept[1]}
	if runtime.GOARCH == "arm64" {
		r.PC, r.BX = c.kept[1], 0
	} else {
		r.PC = *(*uintptr)(unsafe.Add(unsafe.Pointer(c), unsafe.Sizeof(*c)))
	}
	return r
}

// Int reads argument i as a C int.
func (c *Call) Int(i int) int32 { return int32(c.Args[i]) }

// Fail makes the call fail as its function does.
func (c *Call) Fail(err unix.Errno) {
	result, left := verbs[c.index].Answer.Result(int(err))
	c.Result, c.Errno = result, int64(left)
}

// Name is the function's.
func (c *Call) Name() string { return verbs[c.index].Name }

// Verb is a function of verbs that C calls.
type Verb struct {
	Name   string
	Answer ibv.Answer // what it returns when it fails
	Run    func(*Call)
}

var (
	verbs []Verb

	// verbsForked are the results and errors in a forked process, two words each.
	//lint:ignore U1000 verbs_*.s reads it
	verbsForked [verbsSlots][2]uintptr

	//lint:ignore U1000 verbs_*.s reads it
	verbsPC = func() uintptr {
		f := dispatchVerb
		return **(**uintptr)(unsafe.Pointer(&f))
	}()
)

// verbsStubsAddress returns the address of the stub table.
func verbsStubsAddress() uintptr

// InstallVerbs sets the functions behind the entries of verbs; VerbEntry counts them in their order. Call it once.
func InstallVerbs(list []Verb) {
	if len(list) > verbsSlots {
		panic(fmt.Sprintf("cabi: %d verbs, and stubs for %d", len(list), verbsSlots))
	}
	verbs = list
	for i, v := range list {
		result, errno := v.Answer.Result(int(unix.ENODEV))
		verbsForked[i] = [2]uintptr{result, uintptr(errno)}
	}
}

// VerbEntry is the address at which C calls verb i.
func VerbEntry(i int) uintptr { return verbsStubsAddress() + uintptr(i)*stubSize }

// dispatchVerb is what crosscall2 calls. It runs on the calling thread.
func dispatchVerb(c *Call) { gate.Run(func() { answerVerb(c) }) }

func answerVerb(c *Call) {
	before := debug.SetPanicOnFault(true)
	defer leaveVerb(c, before)
	verbs[c.index].Run(c)
}

// leaveVerb answers EFAULT for memory of C that can't be accessed, and EIO for an error of ours.
func leaveVerb(c *Call, panicOnFault bool) {
	if v := recover(); v != nil {
		var fault interface{ Addr() uintptr }
		if err, ok := v.(error); ok && errors.As(err, &fault) {
			c.Fail(unix.EFAULT)
			OnFault(c.Name(), fault.Addr())
		} else {
			c.Fail(unix.EIO)
			report(c.Name(), v)
		}
	}
	debug.SetPanicOnFault(panicOnFault)
}

// OnFault is called when memory that a caller of a verb handed over can't be accessed. Set it before the first call.
var OnFault = func(string, uintptr) {}
