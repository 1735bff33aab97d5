// Package callsite says where in the application a command was called: it walks the C stack of a call, and names
// addresses of code by the symbols and the line tables of the application's files. The walk is short and allocates one
// slice; naming reads files, and is for reports.
//
// On amd64 the walk follows .eh_frame, as C++ exceptions do, and frame pointers where there is none. On arm64 it
// follows frame pointers, which compilers keep there. It ends where neither leads to code.
package callsite

import "unsafe"

// Depth is how many callers a walk finds at most.
const Depth = 16

// Registers are those of the caller at its call: what a walk begins with.
type Registers struct {
	PC uintptr // the return address
	SP uintptr // what the stack pointer is after the return
	BP uintptr // the frame pointer
	BX uintptr // rbx on amd64, which some functions keep their frame in
}

// farthest is how far apart two frames may be, bytes.
const farthest = 1 << 20

// Walk returns the addresses to which the callers return, innermost first. The first is r.PC, whatever it is. It reads
// the stack of the calling thread, and ends at memory that can't be read if the goroutine has SetPanicOnFault.
func Walk(r Registers) (pcs []uintptr) {
	pcs = append(make([]uintptr, 0, Depth), r.PC)
	defer func() { _ = recover() }() // a fault ends the walk, not the call
	for len(pcs) < Depth {
		next, ok := unwind(r)
		if !ok || next.SP <= r.SP || next.SP-r.SP > farthest || find(next.PC) == nil {
			return pcs
		}
		pcs = append(pcs, next.PC)
		r = next
	}
	return pcs
}

// unwind returns the registers of the caller's caller.
func unwind(r Registers) (Registers, bool) {
	if m := find(r.PC); m != nil {
		if next, ok := m.unwind(r); ok {
			return next, true
		}
	}
	if r.BP < r.SP || r.BP-r.SP > farthest || r.BP%8 != 0 {
		return r, false
	}
	return Registers{PC: word(r.BP + 8), SP: r.BP + 16, BP: word(r.BP)}, true
}

// word reads a word of the stack.
func word(at uintptr) uintptr { return **(**uintptr)(unsafe.Pointer(&at)) }
