package ir

import "farside/compute/internal/kernel"

// fuse makes one operation of a product and the sum or difference that it is a term of, if nothing else needs it. Both
// are rounded as before, so that nobody can tell: it saves a call, and a way of the product to memory and back.
func (g *Graph) fuse() {
	uses := g.space.bytes.Take(len(g.Nodes)) // 0, 1, or more
	use := func(v Value) { uses[v] = min(uses[v]+1, 2) }
	for _, b := range g.Order {
		blk := &g.Blocks[b]
		use(blk.Cond)
		for _, list := range [][]Value{blk.Phis, blk.Insts} {
			for _, v := range list {
				n := &g.Nodes[v]
				for _, a := range n.Args {
					use(a)
				}
				use(n.Base)
				for _, a := range n.List {
					use(a)
				}
			}
		}
	}
	fused := false
	for _, b := range g.Order {
		for _, v := range g.Blocks[b].Insts {
			n := &g.Nodes[v]
			mul := productOf(n.Op)
			if mul == 0 {
				continue
			}
			for i, a := range n.Args[:2] {
				if m := &g.Nodes[a]; m.Op == mul && uses[a] == 1 && m.Block == b && m.Varying == n.Varying {
					n.Op = sums[n.Op][i]
					n.Args = [4]Value{m.Args[0], m.Args[1], n.Args[1-i]}
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
