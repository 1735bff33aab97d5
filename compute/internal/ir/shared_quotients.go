package ir

import (
	"slices"

	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
)

// A program that takes a number apart needs its quotient and its remainder by a constant. Each is a product with the
// inverse of that: with the quotient, the remainder is one product and one difference.

// quotientOf gives the operation whose quotient a remainder can be taken from; 0 is none.
func quotientOf(op kernel.Op) kernel.Op {
	switch op {
	case kernel.RemU32:
		return kernel.DivU32
	case kernel.RemS32:
		return kernel.DivS32
	}
	return 0
}

// division is what a quotient and the remainder that can be taken from it have in common.
type division struct {
	quotient kernel.Op
	args     [4]Value
}

// divisionBytes is about what a division takes in a map.
const divisionBytes = 64

// shareQuotients makes differences of remainders by constants in blocks that have the quotient, too.
func (g *Graph) shareQuotients() {
	for _, b := range g.Order {
		if !slices.ContainsFunc(g.Blocks[b].Insts, g.dividesAlike) {
			continue
		}
		quotients := map[division]Value{}
		for _, v := range g.Blocks[b].Insts {
			if n := &g.Nodes[v]; n.Op == kernel.DivU32 || n.Op == kernel.DivS32 {
				g.Budget.Spend(budget.Bytes, divisionBytes)
				quotients[division{n.Op, n.Args}] = v
			}
		}
		if len(quotients) > 0 {
			g.shareInBlock(b, quotients)
		}
	}
}

// dividesAlike says whether a value is a remainder that can be taken from a quotient. Those that lanes may have one
// after the other, as divisors are multiples of a chunk's number of lanes, stay.
func (g *Graph) dividesAlike(v Value) bool {
	n := &g.Nodes[v]
	if quotientOf(n.Op) == 0 || !n.Varying {
		return false
	}
	d, known := g.Known(n.Args[1])
	return known && d%kernel.Width != 0
}

// shareInBlock takes the remainders of a block from its quotients, which it moves in front of them.
func (g *Graph) shareInBlock(b int32, quotients map[division]Value) {
	old := g.Blocks[b].Insts
	list := make([]Value, 0, len(old)+len(quotients))
	there := map[Value]bool{} // of quotients
	for _, v := range old {
		n := g.Nodes[v]
		if q := quotients[division{quotientOf(n.Op), n.Args}]; q != 0 && g.dividesAlike(v) {
			if !there[q] {
				there[q] = true
				list = append(list, q)
			}
			product := g.newNode(Node{Op: kernel.MulI32, Args: [4]Value{q, n.Args[1]}, Block: b, Varying: true, Used: true,
				Offset: n.Offset})
			g.Nodes[v].Op, g.Nodes[v].Args[1] = kernel.SubI32, product
			list = append(list, product)
		}
		if quotients[division{n.Op, n.Args}] == v {
			if there[v] {
				continue
			}
			there[v] = true
		}
		list = append(list, v)
	}
	g.Blocks[b].Insts = list
}

// remainderBound gives an upper bound of a difference that is a remainder by a constant, which shareQuotients made.
func (g *Graph) remainderBound(n *Node) (uint64, bool) {
	product := &g.Nodes[n.Args[1]]
	if product.Op != kernel.MulI32 || g.Nodes[product.Args[1]].Op != ops.Const {
		return 0, false
	}
	q := &g.Nodes[product.Args[0]]
	d, _ := g.Known(product.Args[1])
	return d - 1, q.Op == kernel.DivU32 && q.Args[0] == n.Args[0] && q.Args[1] == product.Args[1] && d > 0
}
