package ir

import (
	"math"
	"math/bits"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// Words and pairs of words that are all ones: true, of masks.
const (
	all32 = math.MaxUint32
	all64 = math.MaxUint64
)

// foldOperands is what fold knows of a node's operands.
type foldOperands struct {
	a, b  Value
	known [3]uint64 // the values of those that are constants
	is    [3]bool   // which are constants
	same  bool      // a and b are one value
}

// fold gives a value that n, a kernel without memory, has anyway, or 0. It may rewrite n to something simpler. A
// simpler kernel that takes n's place is folded in turn, which is never more than four deep: a remainder becomes a
// subtraction of a product, and a product may become a shift.
func (g *Graph) fold(n *Node) Value {
	o := foldOperands{a: n.Args[0], b: n.Args[1]}
	all := true
	for i := range 3 {
		if v := n.Args[i]; v != 0 {
			o.known[i], o.is[i] = g.Known(v)
			all = all && o.is[i]
		}
	}
	if all {
		return g.Constant(Evaluate(n.Op, o.known[0], o.known[1], o.known[2], n.Imm), ops.WideResult(n.Op))
	}
	if o.is[0] && !o.is[1] && o.b != 0 && ops.Of(n.Op).Commutes {
		n.Args[0], n.Args[1] = o.b, o.a
		o.a, o.b = o.b, o.a
		o.known[0], o.known[1] = o.known[1], o.known[0]
		o.is[0], o.is[1] = o.is[1], o.is[0]
	}
	o.same = o.a == o.b && o.a != 0
	switch n.Op {
	case kernel.AddI32, kernel.AddI64, kernel.SubI32, kernel.SubI64:
		return g.foldSum(n, &o)
	case kernel.AndI32, kernel.AndI64, kernel.OrI32, kernel.OrI64, kernel.XorI32, kernel.XorI64, kernel.NotI32:
		return g.foldBits(n, &o)
	case kernel.MulI32, kernel.MulI64, kernel.DivU32, kernel.RemU32, kernel.MulAddSat:
		return g.foldProduct(n, &o)
	case kernel.DivU64, kernel.RemU64, kernel.DivS64, kernel.RemS64, kernel.ModS64:
		if o.is[1] && o.known[1] != 0 {
			return g.foldQuotient(n.Op, o.a, o.known[1])
		}
	case kernel.DivS32, kernel.RemS32, kernel.ModS32:
		return g.foldSignedQuotient(n, &o)
	case kernel.ShlI32, kernel.ShrU32, kernel.ShrS32:
		if o.is[1] && o.known[1]&31 == 0 {
			return o.a
		}
	case kernel.MulF32, kernel.MulF64:
		switch {
		case !g.Finite:
		case o.is[0]:
			return foldFinite(n, o.known[0], o.a, o.b)
		case o.is[1]:
			return foldFinite(n, o.known[1], o.b, o.a)
		}
	case kernel.DivF32:
		if k, ok := reciprocal(uint32(o.known[1])); ok && o.is[1] {
			return g.Op2(kernel.MulF32, o.a, g.C32(k))
		}
	case kernel.ShlI64, kernel.ShrU64, kernel.ShrS64:
		if o.is[1] && o.known[1]&63 == 0 {
			return o.a
		}
	case kernel.EqI32, kernel.LeU32, kernel.LeS32, kernel.EqI64, kernel.LeU64, kernel.LeS64,
		kernel.NeI32, kernel.LtU32, kernel.LtS32, kernel.NeI64, kernel.LtU64, kernel.LtS64:
		return g.foldComparison(n, &o)
	case kernel.MulWordsU64, kernel.TruncI64I32, kernel.ZextI32I64:
		return g.foldWords(n, &o)
	case kernel.Select32, kernel.Select64:
		return g.foldSelect(n, &o)
	default:
		return g.foldConversion(n, &o)
	}
	return 0
}

// foldComparison folds comparisons of integers.
func (g *Graph) foldComparison(n *Node, o *foldOperands) Value {
	switch n.Op {
	case kernel.EqI32, kernel.EqI64, kernel.NeI32, kernel.NeI64:
		if !o.same {
			return g.foldEqual(n.Op, o)
		}
	}
	switch n.Op {
	case kernel.EqI32, kernel.LeU32, kernel.LeS32, kernel.EqI64, kernel.LeU64, kernel.LeS64:
		if o.same {
			return g.C32(all32)
		}
	default:
		if o.same {
			return g.Zero
		}
	}
	return 0
}

// foldSum folds additions and subtractions. Those of constants become one addition.
func (g *Graph) foldSum(n *Node, o *foldOperands) Value {
	if o.is[1] && o.known[1] == 0 {
		return o.a
	}
	switch n.Op {
	case kernel.AddI32:
		if !o.is[1] {
			break
		}
		at, sum := o.a, uint32(o.known[1])
		for x := &g.Nodes[at]; x.Op == kernel.AddI32; x = &g.Nodes[at] { // (x + k) + sum
			k, ok := g.Known(x.Args[1])
			if !ok {
				break
			}
			at, sum = x.Args[0], sum+uint32(k)
		}
		if at != o.a {
			return g.Op2(kernel.AddI32, at, g.C32(sum))
		}
	case kernel.SubI32, kernel.SubI64:
		if o.same {
			return g.Constant(0, n.Wide)
		}
		if o.is[1] && n.Op == kernel.SubI32 {
			return g.Op2(kernel.AddI32, o.a, g.C32(-uint32(o.known[1])))
		}
	}
	return 0
}

// foldBits folds And, Or, Xor and Not.
func (g *Graph) foldBits(n *Node, o *foldOperands) Value {
	none := o.is[1] && o.known[1] == 0
	ones := o.is[1] && (o.known[1] == all64 || o.known[1] == all32 && !n.Wide)
	switch n.Op {
	case kernel.AndI32, kernel.AndI64:
		switch {
		case o.same, ones:
			return o.a
		case none:
			return o.b
		case n.Wide:
			return g.foldWords(n, o)
		}
	case kernel.OrI32, kernel.OrI64:
		switch {
		case o.same, none:
			return o.a
		case ones:
			return o.b
		}
	case kernel.XorI32, kernel.XorI64:
		switch {
		case none:
			return o.a
		case o.same:
			return g.Constant(0, n.Wide)
		}
	case kernel.NotI32:
		x := &g.Nodes[o.a]
		if x.Op == kernel.NotI32 {
			return x.Args[0]
		}
		if inverse, swap := opposite(x.Op); inverse != 0 {
			if swap {
				return g.Op2(inverse, x.Args[1], x.Args[0])
			}
			return g.Op2(inverse, x.Args[0], x.Args[1])
		}
	}
	return 0
}

// foldProduct folds multiplications, and unsigned divisions of 32 bits: by a power of two they become shifts and masks.
func (g *Graph) foldProduct(n *Node, o *foldOperands) Value {
	k := o.known[1]
	power := o.is[1] && bits.OnesCount32(uint32(k)) == 1
	shift := func() Value { return g.C32(uint32(bits.TrailingZeros32(uint32(k)))) }
	wide := func() Value { return g.Constant(uint64(bits.TrailingZeros64(k)), true) }
	switch n.Op {
	case kernel.MulI32, kernel.MulI64:
		switch {
		case !o.is[1]:
		case k == 0:
			return o.b
		case k == 1:
			return o.a
		case n.Op == kernel.MulI32 && power:
			return g.Op2(kernel.ShlI32, o.a, shift())
		case n.Op == kernel.MulI64 && bits.OnesCount64(k) == 1:
			return g.Op2(kernel.ShlI64, o.a, wide())
		}
		if n.Op == kernel.MulI64 {
			return g.foldWords(n, o)
		}
	case kernel.DivU32:
		if power {
			return g.Op2(kernel.ShrU32, o.a, shift())
		}
	case kernel.RemU32:
		if power {
			return g.Op2(kernel.AndI32, o.a, g.C32(uint32(k)-1))
		}
	case kernel.MulAddSat:
		switch {
		case n.Imm == 1 && o.is[1] && k == 0:
			return o.a
		case n.Imm == 0:
			return o.b
		}
	}
	return 0
}

// reciprocal gives the reciprocal of a 32-bit float, if both are powers of two that are not denormal: products with it
// have the bits of quotients.
func reciprocal(float uint32) (uint32, bool) {
	exponent := float >> 23 & 0xff
	if float<<9 != 0 || exponent == 0 || exponent > 253 {
		return 0, false
	}
	return float&(1<<31) | (254-exponent)<<23, true
}

// foldFinite folds products with 0 and 1, of which no operand is infinite or no number: one operand is known, and x is
// the other one.
func foldFinite(n *Node, known uint64, constant, x Value) Value {
	zero, one := known&^(1<<63) == 0, known == math.Float64bits(1)
	if !n.Wide {
		zero, one = uint32(known)&^(1<<31) == 0, uint32(known) == math.Float32bits(1)
	}
	switch {
	case zero:
		return constant
	case one:
		return x
	}
	return 0
}

// foldSelect folds selections. A selection between a value and what its condition is anyway becomes And or Or.
func (g *Graph) foldSelect(n *Node, o *foldOperands) Value {
	switch {
	case o.same:
		return o.a
	case o.is[2] && o.known[2] != 0:
		return o.a
	case o.is[2]:
		return o.b
	case n.Op == kernel.Select64:
		return 0
	}
	switch cond := n.Args[2]; {
	case o.b == cond || o.is[1] && o.known[1] == 0: // cond ? a : 0
		return g.Op2(kernel.AndI32, cond, o.a)
	case o.a == cond || o.is[0] && o.known[0] == all32:
		return g.Op2(kernel.OrI32, cond, o.b)
	}
	return 0
}

// foldConversion folds conversions of what was converted from the same type before, and moves.
func (g *Graph) foldConversion(n *Node, o *foldOperands) Value {
	x := &g.Nodes[o.a]
	switch n.Op {
	case kernel.Move32, kernel.Move64:
		return o.a
	case kernel.U32ToF32:
		if g.most(o.a, BoundDepth) <= math.MaxInt32 {
			return g.Op1(kernel.S32ToF32, o.a)
		}
	case kernel.I32ToMask:
		if x.Op == kernel.MaskToI32 {
			return x.Args[0]
		}
	case kernel.F32ToBits16:
		// A 16-bit float that is only moved keeps its bits, those of a signalling NaN, too.
		if x.Op == kernel.Bits16ToF32 {
			return x.Args[0]
		}
	case kernel.Zext8, kernel.Zext16, kernel.Sext8, kernel.Sext16:
		return g.foldExtension(n.Op, o.a)
	case kernel.Low32:
		if x.Op == kernel.Join64 {
			return x.Args[0]
		}
	case kernel.High32:
		if x.Op == kernel.Join64 {
			return x.Args[1]
		}
	case kernel.Join64:
		if y := &g.Nodes[o.b]; x.Op == kernel.Low32 && y.Op == kernel.High32 && x.Args[0] == y.Args[0] {
			return x.Args[0]
		}
	}
	return 0
}

// opposite gives the comparison that is the Not of an integer's one, and whether its operands change places.
func opposite(op kernel.Op) (inverse kernel.Op, swap bool) {
	switch op {
	case kernel.EqI32:
		return kernel.NeI32, false
	case kernel.NeI32:
		return kernel.EqI32, false
	case kernel.LtU32:
		return kernel.LeU32, true
	case kernel.LeU32:
		return kernel.LtU32, true
	case kernel.LtS32:
		return kernel.LeS32, true
	case kernel.LeS32:
		return kernel.LtS32, true
	case kernel.EqI64:
		return kernel.NeI64, false
	case kernel.NeI64:
		return kernel.EqI64, false
	case kernel.LtU64:
		return kernel.LeU64, true
	case kernel.LeU64:
		return kernel.LtU64, true
	case kernel.LtS64:
		return kernel.LeS64, true
	case kernel.LeS64:
		return kernel.LtS64, true
	}
	return 0, false
}
