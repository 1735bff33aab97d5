package native

import (
	"slices"

	"farside/compute/internal/kernel"
)

// joinRotations gives the instructions with two shifts by constants, and what puts their results together, as a
// rotation, which AVX-512 has. The shifts become nothing, so that each instruction stays at its index. They lie
// right before: nothing takes the word's place in the register file until the rotation reads it.
func joinRotations(insts []Inst, fixed []Register) []Inst {
	joined := false
	for i := 2; i < len(insts); i++ {
		in, l, r := &insts[i], &insts[i-2], &insts[i-1]
		toLeft, toRight, bits := kernel.ShlI32, kernel.ShrU32, uint8(32)
		switch in.Op {
		case kernel.OrI32, kernel.XorI32, kernel.AddI32:
		case kernel.OrI64, kernel.XorI64, kernel.AddI64:
			toLeft, toRight, bits = kernel.ShlI64, kernel.ShrU64, 64
		default:
			continue
		}
		gone := l.Op != nothing && !l.Keep && !r.Keep && l.Dst != r.Dst && l.Dst != l.A && in.takes(l.Dst) && in.takes(r.Dst)
		if !gone || l.A != r.A || l.Once != in.Once || r.Once != in.Once || slices.Contains(fixed, l.Dst) ||
			slices.Contains(fixed, r.Dst) || readsAgain(insts[i:], l.Dst) || readsAgain(insts[i:], r.Dst) {
			continue
		}
		if l.Op == toRight {
			l, r = r, l
		}
		if l.Op != toLeft || r.Op != toRight || l.Count < 2 || l.Count+r.Count != bits+2 {
			continue
		}
		rotation := Inst{Op: rotate, A: l.A, Dst: in.Dst, Count: l.Count, Once: in.Once, Keep: in.Keep, part: in.part}
		if !joined {
			insts, joined = slices.Clone(insts), true
		}
		insts[i-2], insts[i-1], insts[i] = Inst{Op: nothing}, Inst{Op: nothing}, rotation
	}
	return insts
}

// readsAgain says whether an instruction behind the first one reads a register before another one writes it, or the
// first one writes it.
func readsAgain(insts []Inst, r Register) bool {
	for i := range insts {
		if i > 0 && insts[i].takes(r) {
			return true
		}
		if insts[i].Dst == r {
			return false
		}
	}
	return false
}

// rotate is VPROLD, or VPROLQ.
func (c *compiler) rotate(in *Inst) {
	w := uint8(0)
	if in.Dst.Wide {
		w = quad
	}
	a := c.vector(0, spare[0])
	c.evex(shift32, w, rotates, uint8(c.result()), reg(a), 1)
	c.bytes(in.Count - 1)
}
