package vm

import (
	"cmp"
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/compute/internal/program"
)

// findArrays finds where in the register file the private arrays lie whose elements a program chooses while it runs.
func findArrays(p *program.Program, chunks int) [][2]uint32 {
	var all, arrays [][2]uint32
	for i := range p.Insts {
		if in := &p.Insts[i]; in.Code == program.AccessPrivate {
			all = append(all, [2]uint32{in.C.Offset, in.C.Offset + uint32(in.Immediate)*in.C.Size*uint32(chunks)})
		}
	}
	slices.SortFunc(all, func(a, b [2]uint32) int { return cmp.Compare(a[0], b[0]) })
	for _, a := range all {
		if last := len(arrays) - 1; last >= 0 && a[0] < arrays[last][1] {
			arrays[last][1] = max(arrays[last][1], a[1])
		} else {
			arrays = append(arrays, a)
		}
	}
	return arrays
}

// arrayUses is how a run accesses private arrays: by index, or their elements as registers. It can't do both, since
// machine code has registers in vectors. So copies from and to elements of arrays that it accesses by index are
// accesses, too.
type arrayUses struct {
	arrays  [][2]uint32
	dynamic map[int]bool // by array that the run accesses
}

// newArrayUses begins with what instructions access by index.
func (e *Engine) newArrayUses(insts []program.Inst) *arrayUses {
	u := &arrayUses{arrays: e.arrays, dynamic: map[int]bool{}}
	for i := range insts {
		if in := &insts[i]; in.Code == program.AccessPrivate {
			if n, found := u.find(in.C.Offset); found {
				u.dynamic[n] = true
			}
		}
	}
	return u
}

// find gives the array that a place in the register file belongs to.
func (u *arrayUses) find(at uint32) (int, bool) {
	return slices.BinarySearchFunc(u.arrays, at, func(a [2]uint32, at uint32) int {
		switch {
		case a[1] <= at:
			return -1
		case a[0] > at:
			return 1
		}
		return 0
	})
}

// byIndex says whether a register is of an array that the run accesses by index.
func (u *arrayUses) byIndex(r native.Register) bool {
	n, found := u.find(r.Offset)
	return r.Valid && found && u.dynamic[n]
}

// access makes an access of a copy from or to an element, if the run accesses that array by index.
func (u *arrayUses) access(in *native.Inst) {
	a := native.Inst{Op: kernel.LoadPrivate32, Immediate: 1, Pattern: native.Any}
	switch in.Op {
	case kernel.Move32, kernel.Move64:
		if !u.byIndex(in.A) {
			return
		}
		a.Dst, a.C = in.Dst, in.A
		if in.Dst.Wide {
			a.Op = kernel.LoadPrivate64
		}
	case kernel.MoveMasked32, kernel.MoveMasked64:
		if !u.byIndex(in.Dst) {
			return
		}
		a.Op, a.B, a.C = kernel.StorePrivate32, in.A, in.Dst
		if in.Dst.Wide {
			a.Op = kernel.StorePrivate64
		}
	default:
		return
	}
	if native.Supports(&a) {
		*in = a
	}
}

// allow says whether a run may go on with an instruction, and notes what that accesses.
func (u *arrayUses) allow(in *native.Inst) bool {
	if len(u.arrays) == 0 {
		return true
	}
	u.access(in)
	registers := []native.Register{in.Dst, in.A, in.B, in.Base, in.C}
	for i, r := range registers {
		if !r.Valid {
			continue
		}
		n, found := u.find(r.Offset)
		if !found {
			continue
		}
		dynamic := in.Private() && i == len(registers)-1
		if before, ok := u.dynamic[n]; ok && before != dynamic {
			return false
		}
		u.dynamic[n] = dynamic
	}
	return true
}
