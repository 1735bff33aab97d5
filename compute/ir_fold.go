package compute

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
	a, b  value
	known [3]uint64 // the values of those that are constants
	is    [3]bool   // which are constants
	same  bool      // a and b are one value
}

// fold gives a value that n, a kernel without memory, has anyway, or 0. It may rewrite n to something simpler. A
// simpler kernel that takes n's place is folded in turn, which is never more than three deep: a subtraction becomes an
// addition, and that one whose operand is no addition of a constant.
func (g *graph) fold(n *node) value {
	o := foldOperands{a: n.args[0], b: n.args[1]}
	all := true
	for i := range 3 {
		if v := n.args[i]; v != 0 {
			o.known[i], o.is[i] = g.known(v)
			all = all && o.is[i]
		}
	}
	if all {
		return g.constant(evaluate(n.op, o.known[0], o.known[1], o.known[2], n.imm), ops.WideResult(n.op))
	}
	if o.is[0] && !o.is[1] && o.b != 0 && ops.Of(n.op).Commutes {
		n.args[0], n.args[1] = o.b, o.a
		o.a, o.b = o.b, o.a
		o.known[0], o.known[1] = o.known[1], o.known[0]
		o.is[0], o.is[1] = o.is[1], o.is[0]
	}
	o.same = o.a == o.b && o.a != 0
	switch n.op {
	case kernel.AddI32, kernel.AddI64, kernel.SubI32, kernel.SubI64:
		return g.foldSum(n, &o)
	case kernel.AndI32, kernel.AndI64, kernel.OrI32, kernel.OrI64, kernel.XorI32, kernel.XorI64, kernel.NotI32:
		return g.foldBits(n, &o)
	case kernel.MulI32, kernel.MulI64, kernel.DivU32, kernel.RemU32, kernel.MulAddSat:
		return g.foldProduct(n, &o)
	case kernel.ShlI32, kernel.ShrU32, kernel.ShrS32:
		if o.is[1] && o.known[1]&31 == 0 {
			return o.a
		}
	case kernel.ShlI64, kernel.ShrU64, kernel.ShrS64:
		if o.is[1] && o.known[1]&63 == 0 {
			return o.a
		}
	case kernel.EqI32, kernel.LeU32, kernel.LeS32, kernel.EqI64, kernel.LeU64, kernel.LeS64:
		if o.same {
			return g.c32(all32)
		}
	case kernel.NeI32, kernel.LtU32, kernel.LtS32, kernel.NeI64, kernel.LtU64, kernel.LtS64:
		if o.same {
			return g.zero
		}
	case kernel.Select32, kernel.Select64:
		return g.foldSelect(n, &o)
	default:
		return g.foldConversion(n, &o)
	}
	return 0
}

// foldSum folds additions and subtractions. Those of constants become one addition.
func (g *graph) foldSum(n *node, o *foldOperands) value {
	if o.is[1] && o.known[1] == 0 {
		return o.a
	}
	switch n.op {
	case kernel.AddI32:
		if !o.is[1] {
			break
		}
		at, sum := o.a, uint32(o.known[1])
		for x := &g.nodes[at]; x.op == kernel.AddI32; x = &g.nodes[at] { // (x + k) + sum
			k, ok := g.known(x.args[1])
			if !ok {
				break
			}
			at, sum = x.args[0], sum+uint32(k)
		}
		if at != o.a {
			return g.op2(kernel.AddI32, at, g.c32(sum))
		}
	case kernel.SubI32, kernel.SubI64:
		if o.same {
			return g.constant(0, n.wide)
		}
		if o.is[1] && n.op == kernel.SubI32 {
			return g.op2(kernel.AddI32, o.a, g.c32(-uint32(o.known[1])))
		}
	}
	return 0
}

// foldBits folds And, Or, Xor and Not.
func (g *graph) foldBits(n *node, o *foldOperands) value {
	none := o.is[1] && o.known[1] == 0
	ones := o.is[1] && (o.known[1] == all64 || o.known[1] == all32 && !n.wide)
	switch n.op {
	case kernel.AndI32, kernel.AndI64:
		switch {
		case o.same, ones:
			return o.a
		case none:
			return o.b
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
			return g.constant(0, n.wide)
		}
	case kernel.NotI32:
		x := &g.nodes[o.a]
		if x.op == kernel.NotI32 {
			return x.args[0]
		}
		if inverse, swap := opposite(x.op); inverse != 0 {
			if swap {
				return g.op2(inverse, x.args[1], x.args[0])
			}
			return g.op2(inverse, x.args[0], x.args[1])
		}
	}
	return 0
}

// foldProduct folds multiplications and unsigned divisions. Those by a power of two become shifts and masks.
func (g *graph) foldProduct(n *node, o *foldOperands) value {
	k := o.known[1]
	power := o.is[1] && bits.OnesCount32(uint32(k)) == 1
	shift := func() value { return g.c32(uint32(bits.TrailingZeros32(uint32(k)))) }
	switch n.op {
	case kernel.MulI32, kernel.MulI64:
		switch {
		case !o.is[1]:
		case k == 0:
			return o.b
		case k == 1:
			return o.a
		case n.op == kernel.MulI32 && power:
			return g.op2(kernel.ShlI32, o.a, shift())
		}
	case kernel.DivU32:
		if power {
			return g.op2(kernel.ShrU32, o.a, shift())
		}
	case kernel.RemU32:
		if power {
			return g.op2(kernel.AndI32, o.a, g.c32(uint32(k)-1))
		}
	case kernel.MulAddSat:
		switch {
		case n.imm == 1 && o.is[1] && k == 0:
			return o.a
		case n.imm == 0:
			return o.b
		}
	}
	return 0
}

// foldSelect folds selections. A selection between a value and what its condition is anyway becomes And or Or.
func (g *graph) foldSelect(n *node, o *foldOperands) value {
	switch {
	case o.same:
		return o.a
	case o.is[2] && o.known[2] != 0:
		return o.a
	case o.is[2]:
		return o.b
	case n.op == kernel.Select64:
		return 0
	}
	switch cond := n.args[2]; {
	case o.b == cond || o.is[1] && o.known[1] == 0: // cond ? a : 0
		return g.op2(kernel.AndI32, cond, o.a)
	case o.a == cond || o.is[0] && o.known[0] == all32:
		return g.op2(kernel.OrI32, cond, o.b)
	}
	return 0
}

// foldConversion folds conversions of what was converted from the same type before, and moves.
func (g *graph) foldConversion(n *node, o *foldOperands) value {
	x := &g.nodes[o.a]
	switch n.op {
	case kernel.Move32, kernel.Move64:
		return o.a
	case kernel.I32ToMask:
		if x.op == kernel.MaskToI32 {
			return x.args[0]
		}
	case kernel.F32ToBits16:
		// A 16-bit float that is only moved keeps its bits, those of a signalling NaN, too.
		if x.op == kernel.Bits16ToF32 {
			return x.args[0]
		}
	case kernel.Zext8, kernel.Zext16, kernel.Sext8, kernel.Sext16:
		if x.op == n.op || n.op == kernel.Zext8 && x.op == kernel.LoadU8 ||
			n.op == kernel.Zext16 && x.op == kernel.LoadU16 {
			return o.a
		}
	case kernel.Low32:
		if x.op == kernel.Join64 {
			return x.args[0]
		}
	case kernel.High32:
		if x.op == kernel.Join64 {
			return x.args[1]
		}
	case kernel.Join64:
		if y := &g.nodes[o.b]; x.op == kernel.Low32 && y.op == kernel.High32 && x.args[0] == y.args[0] {
			return x.args[0]
		}
	case kernel.TruncI64I32:
		if x.op == kernel.SextI32I64 || x.op == kernel.ZextI32I64 {
			return x.args[0]
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
