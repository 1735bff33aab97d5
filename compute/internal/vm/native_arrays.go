package vm

import (
	"cmp"
	"slices"

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
// machine code has registers in vectors.
type arrayUses struct {
	arrays  [][2]uint32
	dynamic map[int]bool // by array that the run accesses
}

// allow says whether a run may go on with an instruction, and notes what that accesses.
func (u *arrayUses) allow(in *native.Inst) bool {
	if len(u.arrays) == 0 {
		return true
	}
	registers := []native.Register{in.Dst, in.A, in.B, in.Base, in.C}
	for i, r := range registers {
		if !r.Valid {
			continue
		}
		n, found := slices.BinarySearchFunc(u.arrays, r.Offset, func(a [2]uint32, at uint32) int {
			switch {
			case a[1] <= at:
				return -1
			case a[0] > at:
				return 1
			}
			return 0
		})
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
