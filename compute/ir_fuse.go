package compute

import "farside/compute/internal/kernel"

// fuse makes one operation of a product and the sum or difference that it is a term of, if nothing else needs it. Both
// are rounded as before, so that nobody can tell: it saves a call, and a way of the product to memory and back.
func (g *graph) fuse() {
	uses := g.space.bytes.Take(len(g.nodes)) // 0, 1, or more
	use := func(v value) { uses[v] = min(uses[v]+1, 2) }
	for _, b := range g.order {
		blk := &g.blocks[b]
		use(blk.cond)
		for _, list := range [][]value{blk.phis, blk.insts} {
			for _, v := range list {
				n := &g.nodes[v]
				for _, a := range n.args {
					use(a)
				}
				use(n.base)
				for _, a := range n.list {
					use(a)
				}
			}
		}
	}
	fused := false
	for _, b := range g.order {
		for _, v := range g.blocks[b].insts {
			n := &g.nodes[v]
			mul := productOf(n.op)
			if mul == 0 {
				continue
			}
			for i, a := range n.args[:2] {
				if m := &g.nodes[a]; m.op == mul && uses[a] == 1 && m.block == b && m.varying == n.varying {
					n.op = sums[n.op][i]
					n.args = [4]value{m.args[0], m.args[1], n.args[1-i]}
					fused = true
					break
				}
			}
		}
	}
	if fused {
		g.dropDead()
	}
}

// productOf is the product that an operation may be one with; 0 is none.
func productOf(op kernel.Op) kernel.Op {
	switch op {
	case kernel.AddF32, kernel.SubF32:
		return kernel.MulF32
	case kernel.AddF64, kernel.SubF64:
		return kernel.MulF64
	}
	return 0
}

// sums are the operations that have the product as their first or their second term.
var sums = map[kernel.Op][2]kernel.Op{
	kernel.AddF32: {kernel.MulAddF32, kernel.MulAddF32}, kernel.SubF32: {kernel.MulSubF32, kernel.SubMulF32},
	kernel.AddF64: {kernel.MulAddF64, kernel.MulAddF64}, kernel.SubF64: {kernel.MulSubF64, kernel.SubMulF64},
}
