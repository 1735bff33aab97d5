// Package guard surrounds mappings with pages without access, keeps the addresses of those that have ended without
// access for a while, and learns of the application's accesses to either before the process dies of them.
//
// [Watch] installs a handler of SIGSEGV in front of the one that is there. The handler is assembly: it looks whether
// the address can be in an [Area] and the fault not in Go, hands it to a goroutine by a futex, waits for the answer for
// at most three seconds, and goes on to the handler before it, or to the default action. So nothing in it needs a lock,
// a stack of Go or the C library, and the program ends as it would have. A goroutine that is told of a fault may take
// locks, as the thread that waits holds none of Go's.
package guard

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/callsite"
)

// What is kept without access of mappings that have ended: bytes of address space, and mappings.
const (
	mostBytes = 4 << 30
	mostAreas = 4096
)

// Area is the addresses of a mapping and a page without access on either side.
type Area struct {
	Begin, End uintptr // of the mapping, which begins with a page and ends with one
	About      any     // the caller's

	ended bool // under mu
}

var (
	page = uintptr(unix.Getpagesize())

	mu      sync.Mutex
	areas   = map[*Area]bool{}
	resting []*Area // those that have ended, oldest first
	bytes   uintptr // of resting
)

// Reserve returns an area for size bytes, all of it without access as yet. Errors: mmap(2).
func Reserve(size uint64, about any) (*Area, error) {
	length := (uintptr(size) + page - 1) &^ (page - 1)
	base, err := inaccessible(0, length+2*page)
	if err != nil {
		return nil, err
	}
	a := &Area{Begin: base + page, End: base + page + length, About: about}
	mu.Lock()
	defer mu.Unlock()
	areas[a] = true
	if low := desk.low.Load(); low == 0 || low > uint64(base) {
		desk.low.Store(uint64(base))
	}
	if end := uint64(a.End + page); desk.high.Load() < end {
		desk.high.Store(end)
	}
	return a, nil
}

// Retire ends the mapping: its addresses have no access from now on, until others have come to rest in its place. The
// mapping is still there if it fails. Errors: mmap(2).
func (a *Area) Retire() error {
	if _, err := inaccessible(a.Begin, a.End-a.Begin); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	a.ended = true
	resting = append(resting, a)
	for bytes += a.End - a.Begin; bytes > mostBytes || len(resting) > mostAreas; resting = resting[1:] {
		old := resting[0]
		bytes -= old.End - old.Begin
		delete(areas, old)
		_ = munmap(old.Begin-page, old.End-old.Begin+2*page)
	}
	return nil
}

// Leave gives the mapping's addresses to the application, without access, as vkUnmapMemory2 does on demand. Errors: as
// for Retire.
func (a *Area) Leave() error {
	if _, err := inaccessible(a.Begin, a.End-a.Begin); err != nil {
		return err
	}
	a.Drop(false)
	return nil
}

// Drop forgets the area, and unmaps its pages without access, or all of it.
func (a *Area) Drop(all bool) {
	mu.Lock()
	delete(areas, a)
	mu.Unlock()
	if all {
		_ = munmap(a.Begin-page, a.End-a.Begin+2*page)
		return
	}
	_ = munmap(a.Begin-page, page)
	_ = munmap(a.End, page)
}

// At returns the area that an address is in, and whether its mapping has ended; nil if there is none.
func At(address uintptr) (a *Area, ended bool) {
	mu.Lock()
	defer mu.Unlock()
	for a := range areas {
		if address >= a.Begin-page && address < a.End+page && (a.ended || address < a.Begin || address >= a.End) {
			return a, a.ended
		}
	}
	return nil, false
}

// Fault is an access by the application to an address of an area.
type Fault struct {
	Address uintptr
	Write   bool
	At      callsite.Registers
}

// table is what the handler and the goroutine share, outside of Go's heap. The handler knows the offsets.
type table struct {
	low, high atomic.Uint64 // 0, 8: where areas are
	text, end uint64        // 16, 24: the library's code, whose faults Go recovers
	previous  uint64        // 32: the handler before this one
	state     atomic.Uint32 // 40: idle, taken by a thread, or asked
	answered  atomic.Uint32 // 44: 1 when the thread may go on
	address   uint64        // 48
	context   uint64        // 56: ucontext_t of the fault
	patience  unix.Timespec // 64: how long a thread waits
	standard  action        // 80: the default action
}

const (
	idle  = 0
	asked = 2
)

// action is struct sigaction of the kernel.
type action struct {
	handler, flags, restorer, mask uint64
}

const (
	saSigInfo  = 4
	saOnStack  = 0x08000000
	saRestorer = 0x04000000
)

// desk is the one table.
//
//lint:ignore U1000 handler_*.s reads it
var desk = func() *table {
	p, err := inaccessible(0, page)
	if err == nil {
		_, _, e := unix.Syscall(unix.SYS_MPROTECT, p, page, unix.PROT_READ|unix.PROT_WRITE)
		if e != 0 {
			err = e
		}
	}
	if err != nil {
		panic(fmt.Sprintf("farside: no memory for one page: %v", err))
	}
	return (*table)(pointer(p))
}()

var watch sync.Mutex

// Watch has tell called for each access of the application to an area, in a goroutine, while the thread waits. Only the
// first call does something, and one after another handler has taken the signal. Errors: sigaction(2).
func Watch(tell func(Fault)) error {
	watch.Lock()
	defer watch.Unlock()
	var now action
	if err := sigaction(nil, &now); err != nil {
		return err
	}
	own := handlerAddress()
	if now.handler == uint64(own) {
		return nil
	}
	if desk.previous == 0 {
		desk.patience = unix.Timespec{Sec: 3}
		if begin, end, ok := callsite.Module(own); ok {
			desk.text, desk.end = uint64(begin), uint64(end)
		}
		go answer(tell)
	} else if now.handler > 1 {
		return nil // a handler that came later goes on to this one, or does not want it
	}
	desk.previous = now.handler
	next := action{handler: uint64(own), flags: now.flags | saSigInfo | saOnStack, restorer: now.restorer, mask: now.mask}
	if runtime.GOARCH == "amd64" && next.flags&saRestorer == 0 {
		next.flags |= saRestorer
		next.restorer = uint64(restorerAddress())
	}
	desk.standard = action{flags: next.flags &^ (saSigInfo | saOnStack), restorer: next.restorer}
	return sigaction(&next, nil)
}

// answer tells of what threads ask.
func answer(tell func(Fault)) {
	runtime.LockOSThread()
	for {
		if s := desk.state.Load(); s != asked {
			futex(&desk.state, 0, s) // FUTEX_WAIT
			continue
		}
		f := fault(uintptr(desk.address), pointer(uintptr(desk.context)))
		done := make(chan struct{})
		go func() {
			defer close(done)
			debug.SetPanicOnFault(true)
			defer func() { _ = recover() }()
			tell(f)
		}()
		<-done
		desk.answered.Store(1)
		futex(&desk.answered, 1, 1<<30) // FUTEX_WAKE
		desk.state.Store(idle)
	}
}

// fault reads ucontext_t (asm/sigcontext.h).
func fault(address uintptr, context unsafe.Pointer) Fault {
	at := func(offset uintptr) uintptr { return *(*uintptr)(unsafe.Add(context, offset)) }
	if runtime.GOARCH == "arm64" {
		return Fault{Address: address, At: callsite.Registers{PC: at(440) + 1, SP: at(432), BP: at(184 + 29*8)}}
	}
	const gregs = 40
	return Fault{Address: address, Write: at(gregs+19*8)&2 != 0, At: callsite.Registers{
		PC: at(gregs+16*8) + 1, SP: at(gregs + 15*8), BP: at(gregs + 10*8), BX: at(gregs + 11*8)}}
}

// handler is the handler of SIGSEGV.
//
//lint:ignore U1000 its address counts
func handler()

// restorer ends a handler (amd64).
//
//lint:ignore U1000 its address counts
func restorer()

func handlerAddress() uintptr

func restorerAddress() uintptr

func sigaction(next, old *action) error {
	_, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGSEGV), uintptr(unsafe.Pointer(next)),
		uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// futex is futex(2) of this process alone, without a time limit.
func futex(word *atomic.Uint32, op, value uint32) {
	const private = 128
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), uintptr(op|private), uintptr(value), 0, 0, 0)
}

// pointer types an address outside of Go's heap.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// inaccessible maps pages without access, at an address over whatever is there, or anywhere if it is 0.
func inaccessible(at, length uintptr) (uintptr, error) {
	flags := uintptr(unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE)
	if at != 0 {
		flags |= unix.MAP_FIXED
	}
	p, _, e := unix.Syscall6(unix.SYS_MMAP, at, length, unix.PROT_NONE, flags, ^uintptr(0), 0)
	if e != 0 {
		return 0, e
	}
	return p, nil
}

func munmap(at, length uintptr) error {
	if _, _, e := unix.Syscall(unix.SYS_MUNMAP, at, length, 0); e != 0 {
		return e
	}
	return nil
}
