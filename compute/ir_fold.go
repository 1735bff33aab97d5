package compute

import (
	"math/bits"

	"farside/compute/internal/kernel"
)

// commutes says whether A and B may change places without changing the bits of the result. (Of floats they may not:
// with two NaNs the first one's payload counts.)
func commutes(op kernel.Op) bool {
	switch op {
	case kernel.AddI32, kernel.MulI32, kernel.AndI32, kernel.OrI32, kernel.XorI32, kernel.MinU32, kernel.MinS32,
		kernel.MaxU32, kernel.MaxS32, kernel.EqI32, kernel.NeI32, kernel.AddI64, kernel.MulI64, kernel.AndI64,
		kernel.OrI64, kernel.XorI64, kernel.EqI64, kernel.NeI64, kernel.MulHighU32, kernel.MulHighS32:
		return true
	}
	return false
}

// fold gives a value that n, a kernel without memory, has anyway, or 0. It may rewrite n to something simpler.
func (g *graph) fold(n *node) value {
	a, b := n.args[0], n.args[1]
	var known [3]uint64
	var is [3]bool
	all := true
	for i := range 3 {
		if v := n.args[i]; v != 0 {
			known[i], is[i] = g.known(v)
			all = all && is[i]
		}
	}
	if all {
		return g.constant(evaluate(n.op, known[0], known[1], known[2], n.imm), wideResult(n.op))
	}
	if is[0] && !is[1] && b != 0 && commutes(n.op) {
		n.args[0], n.args[1] = b, a
		a, b = b, a
		known[0], known[1] = known[1], known[0]
		is[0], is[1] = is[1], is[0]
	}
	const all32, all64 = 0xffffffff, ^uint64(0)
	same := a == b && a != 0
	switch n.op {
	case kernel.AddI32, kernel.AddI64, kernel.OrI32, kernel.OrI64, kernel.XorI32, kernel.XorI64:
		if is[1] && known[1] == 0 {
			return a
		}
		switch n.op {
		case kernel.OrI32, kernel.OrI64:
			if same {
				return a
			}
			if is[1] && (known[1] == all32 && n.op == kernel.OrI32 || known[1] == all64) {
				return b
			}
		case kernel.XorI32, kernel.XorI64:
			if same {
				return g.constant(0, n.wide)
			}
		case kernel.AddI32:
			if is[1] { // (x + k) + l
				if x := &g.nodes[a]; x.op == kernel.AddI32 {
					if k, ok := g.known(x.args[1]); ok {
						return g.op2(kernel.AddI32, x.args[0], g.c32(uint32(k+known[1])))
					}
				}
			}
		}
	case kernel.SubI32, kernel.SubI64:
		if is[1] && known[1] == 0 {
			return a
		}
		if same {
			return g.constant(0, n.wide)
		}
		if is[1] && n.op == kernel.SubI32 {
			return g.op2(kernel.AddI32, a, g.c32(-uint32(known[1])))
		}
	case kernel.ShlI32, kernel.ShrU32, kernel.ShrS32:
		if is[1] && known[1]&31 == 0 {
			return a
		}
	case kernel.ShlI64, kernel.ShrU64, kernel.ShrS64:
		if is[1] && known[1]&63 == 0 {
			return a
		}
	case kernel.MulI32, kernel.MulI64:
		if is[1] {
			switch k := known[1]; {
			case k == 0:
				return b
			case k == 1:
				return a
			case n.op == kernel.MulI32 && bits.OnesCount32(uint32(k)) == 1:
				return g.op2(kernel.ShlI32, a, g.c32(uint32(bits.TrailingZeros32(uint32(k)))))
			}
		}
	case kernel.DivU32, kernel.RemU32:
		if is[1] && bits.OnesCount32(uint32(known[1])) == 1 {
			if n.op == kernel.DivU32 {
				return g.op2(kernel.ShrU32, a, g.c32(uint32(bits.TrailingZeros32(uint32(known[1])))))
			}
			return g.op2(kernel.AndI32, a, g.c32(uint32(known[1])-1))
		}
	case kernel.AndI32, kernel.AndI64:
		if same {
			return a
		}
		if is[1] {
			switch {
			case known[1] == 0:
				return b
			case known[1] == all32 && n.op == kernel.AndI32 || known[1] == all64:
				return a
			}
		}
	case kernel.NotI32:
		if x := &g.nodes[a]; x.op == kernel.NotI32 {
			return x.args[0]
		} else if inverse, swap := opposite(x.op); inverse != 0 {
			if swap {
				return g.op2(inverse, x.args[1], x.args[0])
			}
			return g.op2(inverse, x.args[0], x.args[1])
		}
	case kernel.EqI32, kernel.LeU32, kernel.LeS32, kernel.EqI64, kernel.LeU64, kernel.LeS64:
		if same {
			return g.c32(all32)
		}
	case kernel.NeI32, kernel.LtU32, kernel.LtS32, kernel.NeI64, kernel.LtU64, kernel.LtS64:
		if same {
			return g.zero
		}
	case kernel.Select32, kernel.Select64:
		if same {
			return a
		}
		if is[2] {
			if known[2] != 0 {
				return a
			}
			return b
		}
		if n.op == kernel.Select32 {
			switch cond := n.args[2]; {
			case b == cond || is[1] && known[1] == 0: // cond ? a : 0
				return g.op2(kernel.AndI32, cond, a)
			case a == cond || is[0] && known[0] == all32:
				return g.op2(kernel.OrI32, cond, b)
			}
		}
	case kernel.MulAddSat:
		if n.imm == 1 && is[1] && known[1] == 0 {
			return a
		}
		if n.imm == 0 {
			return b
		}
	case kernel.Move32, kernel.Move64:
		return a
	case kernel.I32ToMask:
		if x := &g.nodes[a]; x.op == kernel.MaskToI32 {
			return x.args[0]
		}
	case kernel.F32ToBits16:
		// A 16-bit float that is only moved keeps its bits, those of a signalling NaN, too.
		if x := &g.nodes[a]; x.op == kernel.Bits16ToF32 {
			return x.args[0]
		}
	case kernel.MaskToI32, kernel.Zext8, kernel.Zext16, kernel.Sext8, kernel.Sext16:
		if x := &g.nodes[a]; n.op == x.op && n.op != kernel.MaskToI32 {
			return a
		} else if n.op == kernel.Zext8 && x.op == kernel.LoadU8 || n.op == kernel.Zext16 && x.op == kernel.LoadU16 {
			return a
		}
	case kernel.Low32, kernel.High32:
		if x := &g.nodes[a]; x.op == kernel.Join64 {
			if n.op == kernel.Low32 {
				return x.args[0]
			}
			return x.args[1]
		}
	case kernel.Join64:
		x, y := &g.nodes[a], &g.nodes[b]
		if x.op == kernel.Low32 && y.op == kernel.High32 && x.args[0] == y.args[0] {
			return x.args[0]
		}
	case kernel.TruncI64I32:
		if x := &g.nodes[a]; x.op == kernel.SextI32I64 || x.op == kernel.ZextI32I64 {
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
