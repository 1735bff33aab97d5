package ir

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
)

// Quotients of 64 bits by a constant are products with its inverse (Granlund and Montgomery, "Division by invariant
// integers using multiplication", figures 4.1 and 5.2): vectors have no division of integers. Those of 32 bits stay, as
// more is known of them than of products: package native writes these.

// foldQuotient gives the quotient or the remainder, as op says, of a by a constant that is not 0.
func (g *Graph) foldQuotient(op kernel.Op, a Value, divisor uint64) Value {
	power := bits.OnesCount64(divisor) == 1
	switch {
	case op == kernel.RemU64 && power, op == kernel.ModS64 && power && int64(divisor) > 0:
		return g.Op2(kernel.AndI64, a, g.c64(divisor-1))
	case op == kernel.DivU64:
		return g.unsignedQuotient(a, divisor)
	case op == kernel.DivS64:
		return g.signedQuotient(a, int64(divisor))
	case op == kernel.RemU64:
		return g.remainder(a, g.unsignedQuotient(a, divisor), divisor)
	}
	r := g.remainder(a, g.signedQuotient(a, int64(divisor)), divisor)
	if op == kernel.RemS64 {
		return r
	}
	// The divisor is added where the remainder has the other sign.
	other := r
	if int64(divisor) < 0 {
		other = g.Op1(kernel.NegI64, r)
	}
	return g.Op2(kernel.AddI64, r, g.Op2(kernel.AndI64, g.shift(kernel.ShrS64, other, 63), g.c64(divisor)))
}

// foldSignedQuotient folds quotients and remainders of 32 bits by a constant: by 1 and -1, and where a sign makes no
// difference.
func (g *Graph) foldSignedQuotient(n *Node, o *foldOperands) Value {
	d := int32(o.known[1])
	unsigned := kernel.RemU32
	switch {
	case !o.is[1] || d == 0:
		return 0
	case n.Op == kernel.DivS32 && d == 1:
		return o.a
	case n.Op == kernel.DivS32 && d == -1:
		return g.Op1(kernel.NegI32, o.a)
	case d == 1 || d == -1:
		return g.Zero
	case n.Op == kernel.ModS32 && d > 0 && d&(d-1) == 0:
		return g.Op2(kernel.AndI32, o.a, g.C32(uint32(d)-1))
	case n.Op == kernel.DivS32:
		unsigned = kernel.DivU32
	}
	if d > 0 && g.most(o.a, BoundDepth) <= math.MaxInt32 {
		return g.Op2(unsigned, o.a, o.b)
	}
	return 0
}

// remainder is a - quotient*divisor.
func (g *Graph) remainder(a, quotient Value, divisor uint64) Value {
	return g.Op2(kernel.SubI64, a, g.Op2(kernel.MulI64, quotient, g.c64(divisor)))
}

// unsignedQuotient is a / d, rounded down: (h + (a-h)/2) >> (n-1), where h is the high word of a product of a, and n
// the bits of d.
func (g *Graph) unsignedQuotient(a Value, d uint64) Value {
	n := bits.Len64(d)
	if bits.OnesCount64(d) == 1 {
		return g.shift(kernel.ShrU64, a, n-1)
	}
	inverse, _ := bits.Div64(1<<n-d, 0, d) // 1<<64 is 0
	h := g.Op2(kernel.MulHighU64, a, g.c64(inverse+1))
	half := g.shift(kernel.ShrU64, g.Op2(kernel.SubI64, a, h), 1)
	return g.shift(kernel.ShrU64, g.Op2(kernel.AddI64, half, h), n-1)
}

// signedQuotient is a / d, rounded towards 0: (a+h) >> (n-1), where h is the high word of a product of a, and the power
// of two n is the next to |d|, from 1; 1 more where a is negative; and the opposite of that if d is.
func (g *Graph) signedQuotient(a Value, d int64) Value {
	size := uint64(d)
	if d < 0 {
		size = -size
	}
	n := max(bits.Len64(size-1), 1)
	inverse, _ := bits.Div64(1<<(n-1)%size, 0, size) // less 1<<64, which the addition of a makes up for
	h := g.Op2(kernel.MulHighS64, a, g.c64(inverse+1))
	q := g.shift(kernel.ShrS64, g.Op2(kernel.AddI64, a, h), n-1)
	q = g.Op2(kernel.SubI64, q, g.shift(kernel.ShrS64, a, 63))
	if d < 0 {
		q = g.Op1(kernel.NegI64, q)
	}
	return q
}

// shift shifts by a constant.
func (g *Graph) shift(op kernel.Op, a Value, by int) Value { return g.Op2(op, a, g.c64(uint64(by))) }

func (g *Graph) c64(bits uint64) Value { return g.Constant(bits, true) }
