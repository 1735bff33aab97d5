package kernel

import "sync"

// Table holds a kernel for each Op.
type Table [NumOps]Func

// Set is the kernels for one kind of machine. An executor uses those of one set.
//
// Dst may be the register of an operand if both have the same step; otherwise it must not overlap any. Kernels do not
// keep their Args.
type Set struct {
	Name string // "go", "avx2" or "neon"
	Ops  Table

	// Split adds the lanes of exec to whenTrue where condition is set, and to whenFalse where it is not.
	Split func(whenTrue, whenFalse, exec, condition Register, first, n int)
	// OrInto adds the lanes of src to dst.
	OrInto func(dst, src Register, first, n int)
	// Take moves n chunks of src to dst and clears src. It returns what Active says of them.
	Take func(dst, src Register, n int) (first, last, set int)
	// Active returns the range of chunks, among n, outside of which no lane is set: from first to before last, both 0 if
	// there is none. set is how many lanes are.
	Active func(mask Register, n int) (first, last, set int)
	// Narrow writes to n chunks of dst the lanes of src where condition is set, or where it is not if invert, and adds the
	// others to rest. It returns what Active says of dst then. Dst may be src. If there are no others, it only says that:
	// nothing is written, and the other results are 0.
	Narrow func(dst, src, rest, condition Register, invert bool, n int) (first, last, set int, others bool)
}

// Go returns the kernels in plain Go, which run everywhere: the oracle of the others.
var Go = sync.OnceValue(plain)

// Best returns the fastest kernels for this machine.
var Best = sync.OnceValue(best)

func plain() *Set {
	s := &Set{Name: "go", Split: split, OrInto: orInto, Take: take, Active: active, Narrow: narrow}
	fillI32(&s.Ops)
	fillI64(&s.Ops)
	fillF32(&s.Ops)
	fillF64(&s.Ops)
	fillFunctions(&s.Ops)
	fillConversions(&s.Ops)
	fillMemory(&s.Ops)
	fillAtomics(&s.Ops)
	return s
}
