package ir

import (
	"math"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// Integers of 8 and 16 bits are words that are extended behind each operation. Many of these extensions change nothing,
// or what nobody sees.

// extension gives the bits that an operation extends, and whether it does so with their sign; 0 bits of others.
func extension(op kernel.Op) (bits int, signed bool) {
	switch op {
	case kernel.Zext8:
		return 8, false
	case kernel.Zext16:
		return 16, false
	case kernel.Sext8:
		return 8, true
	case kernel.Sext16:
		return 16, true
	}
	return 0, false
}

// foldExtension folds the extension of a value: of one that has these bits alone, of one that has been extended, and of
// a result whose lowest bits depend on those of its operands alone.
func (g *Graph) foldExtension(op kernel.Op, v Value) Value {
	bits, signed := extension(op)
	if signed && g.fits(v, bits, BoundDepth) || !signed && g.most(v, BoundDepth) < 1<<bits {
		return v
	}
	x := g.Nodes[v]
	if low := g.lowBits(v, bits); low != v {
		return g.Op1(op, low)
	}
	switch x.Op {
	case kernel.AddI32, kernel.SubI32, kernel.MulI32, kernel.AndI32, kernel.OrI32, kernel.XorI32:
		if a, b := g.lowBits(x.Args[0], bits), g.lowBits(x.Args[1], bits); a != x.Args[0] || b != x.Args[1] {
			return g.Op1(op, g.Op2(x.Op, a, b))
		}
	case kernel.ShlI32:
		if a := g.lowBits(x.Args[0], bits); a != x.Args[0] {
			return g.Op1(op, g.Op2(x.Op, a, x.Args[1]))
		}
	}
	return 0
}

// lowBits gives a value with the same lowest bits, without an extension of these and maybe of others.
func (g *Graph) lowBits(v Value, bits int) Value {
	n := &g.Nodes[v]
	if of, _ := extension(n.Op); of >= bits {
		return n.Args[0]
	}
	return v
}

// fits says whether a 32-bit value is one of so many bits, the last of which is its sign. depth bounds the recursion.
func (g *Graph) fits(v Value, bits, depth int) bool {
	n := &g.Nodes[v]
	if n.Wide || depth == 0 {
		return false
	}
	depth--
	of := func(i int) bool { return g.fits(n.Args[i], bits, depth) }
	switch n.Op {
	case ops.Const:
		return int64(int32(n.Imm))>>(bits-1) == int64(int32(n.Imm))>>31
	case kernel.Sext8, kernel.Sext16:
		of, _ := extension(n.Op)
		return of <= bits
	case kernel.ShrS32:
		return of(0)
	case kernel.MinS32, kernel.MaxS32, kernel.Select32, kernel.AndI32, kernel.OrI32, kernel.XorI32:
		return of(0) && of(1)
	case kernel.DivS32, kernel.RemS32:
		d, ok := g.Known(n.Args[1])
		return ok && int32(d) > 0 && of(0)
	}
	return g.most(v, depth) <= math.MaxInt32>>(32-bits)
}
