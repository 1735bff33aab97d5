package ir

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// Programs with integers of many words have products of words in 64 bits, and take results apart again. One
// instruction multiplies words, and words of a value need not leave their place.

// mostWide gives an upper bound of a 64-bit value as an unsigned integer. depth bounds the recursion: it begins at
// BoundDepth.
func (g *Graph) mostWide(v Value, depth int) uint64 {
	n := &g.Nodes[v]
	if depth == 0 {
		return all64
	}
	depth--
	of := func(i int) uint64 { return g.mostWide(n.Args[i], depth) }
	switch n.Op {
	case ops.Const:
		return n.Imm
	case kernel.ZextI32I64:
		return g.most(n.Args[0], depth)
	case kernel.AndI64, kernel.MinU64:
		return min(of(0), of(1))
	case kernel.MaxU64, kernel.Select64:
		return max(of(0), of(1))
	case kernel.OrI64, kernel.XorI64:
		return all64 >> bits.LeadingZeros64(of(0)|of(1))
	case kernel.ShrU64:
		if k, ok := g.Known(n.Args[1]); ok {
			return of(0) >> (k & 63)
		}
	case kernel.AddI64:
		if sum, carry := bits.Add64(of(0), of(1), 0); carry == 0 {
			return sum
		}
	}
	return all64
}

// isWord says whether a 64-bit value has no bits in its upper word.
func (g *Graph) isWord(v Value) bool { return g.mostWide(v, BoundDepth) <= math.MaxUint32 }

// foldWords folds what takes words, or products of words, of 64-bit values.
func (g *Graph) foldWords(n *Node, o *foldOperands) Value {
	x := &g.Nodes[o.a]
	switch n.Op {
	case kernel.AndI64:
		if k := o.known[1]; o.is[1] && k&(k+1) == 0 && g.mostWide(o.a, BoundDepth) <= k {
			return o.a
		}
	case kernel.MulI64:
		if g.isWord(o.a) && g.isWord(o.b) {
			return g.Op2(kernel.MulWordsU64, o.a, o.b)
		}
	case kernel.MulWordsU64:
		if a, b := g.lowWord(o.a), g.lowWord(o.b); a != o.a || b != o.b {
			return g.Op2(kernel.MulWordsU64, a, b)
		}
	case kernel.TruncI64I32:
		k, known := g.Known(x.Args[1])
		switch {
		case x.Op == kernel.SextI32I64 || x.Op == kernel.ZextI32I64:
			return x.Args[0]
		case x.Op == kernel.ShrU64 && known && k&63 == 32:
			return g.Op1(kernel.High32, x.Args[0])
		}
		if low := g.lowWord(o.a); low != o.a {
			return g.Op1(kernel.TruncI64I32, low)
		}
	case kernel.ZextI32I64:
		switch x.Op {
		case kernel.TruncI64I32, kernel.Low32:
			return g.Op2(kernel.AndI64, x.Args[0], g.c64(all32))
		case kernel.High32:
			return g.shift(kernel.ShrU64, x.Args[0], 32)
		}
	}
	return 0
}

// lowWord gives a value with the same low word, without what only clears the upper one.
func (g *Graph) lowWord(v Value) Value {
	if n := &g.Nodes[v]; n.Op == kernel.AndI64 {
		if k, ok := g.Known(n.Args[1]); ok && uint32(k) == all32 {
			return n.Args[0]
		}
	}
	return v
}

// foldEqual folds a comparison of a difference or of a remainder with 0, or of a value with what a quotient of it
// times the divisor is: op, EqI32 or EqI64, or the opposite of that.
func (g *Graph) foldEqual(op kernel.Op, o *foldOperands) Value {
	x := &g.Nodes[o.a]
	if o.is[1] && o.known[1] == 0 {
		d, known := g.Known(x.Args[1])
		switch x.Op {
		case kernel.SubI32, kernel.SubI64:
			return g.Op2(op, x.Args[0], x.Args[1])
		case kernel.RemU32:
			if known && d > 1 {
				return g.isMultiple(op, x.Args[0], d, false)
			}
		case kernel.RemS32, kernel.ModS32:
			if known && int32(d) != 0 && int32(d) != math.MinInt32 {
				return g.isMultiple(op, x.Args[0], uint64(max(int32(d), -int32(d))), true)
			}
		}
		return 0
	}
	for _, p := range [2][2]Value{{o.a, o.b}, {o.b, o.a}} {
		product := &g.Nodes[p[1]]
		if product.Op != kernel.MulI64 {
			continue
		}
		d, ok := g.Known(product.Args[1])
		switch quotient := product.Args[0]; {
		case !ok || int64(d) <= 1:
		case g.Nodes[quotient].Op == kernel.ShrU64:
			if quotient == g.unsignedQuotient(p[0], d) {
				return g.isMultiple(op, p[0], d, false)
			}
		case g.Nodes[quotient].Op == kernel.SubI64:
			if quotient == g.signedQuotient(p[0], int64(d)) {
				return g.isMultiple(op, p[0], d, true)
			}
		}
	}
	return 0
}

// isMultiple says whether a is a multiple of d, or, if op is NeI32 or NeI64, whether it isn't. d is positive, also if
// a has a sign. 0 stands for no answer. The products of all numbers with the inverse of an odd d are all numbers, and
// those of the multiples are the least of these: the quotients. Where d is even, the product with the inverse of its
// odd part has to have as many zeros at its end as d. (Warren, "Hacker's Delight", 10-17.)
func (g *Graph) isMultiple(op kernel.Op, a Value, d uint64, signed bool) Value {
	wide := op == kernel.EqI64 || op == kernel.NeI64
	width, add, multiply, atMost := 32, kernel.AddI32, kernel.MulI32, kernel.LeU32
	right, left, and, or := kernel.ShrU32, kernel.ShlI32, kernel.AndI32, kernel.OrI32
	if wide {
		width, add, multiply, atMost = 64, kernel.AddI64, kernel.MulI64, kernel.LeU64
		right, left, and, or = kernel.ShrU64, kernel.ShlI64, kernel.AndI64, kernel.OrI64
	}
	of := func(n uint64) Value {
		if !wide {
			n &= all32
		}
		return g.Constant(n, wide)
	}
	twos, most := bits.TrailingZeros64(d), uint64(all64)>>(64-width)
	odd := d >> twos
	if odd == 1 {
		return g.Op2(op, g.Op2(and, a, of(d-1)), of(0))
	}
	inverse := odd // of three bits; each step has twice as many
	for range 5 {
		inverse *= 2 - odd*inverse
	}
	product, limit := g.Op2(multiply, a, of(inverse)), most/d
	switch {
	case signed && twos > 0:
		return 0
	case signed: // quotients from -limit to limit
		limit = most / 2 / d
		product, limit = g.Op2(add, product, of(limit)), 2*limit
	case twos > 0:
		product = g.Op2(or, g.Op2(right, product, of(uint64(twos))), g.Op2(left, product, of(uint64(width-twos))))
	}
	is := g.Op2(atMost, product, of(limit))
	if op == kernel.NeI32 || op == kernel.NeI64 {
		return g.Op1(kernel.NotI32, is)
	}
	return is
}
