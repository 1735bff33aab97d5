package ir

import (
	"farside/compute/internal/budget"
	"farside/compute/internal/ops"
)

// promote turns arrays of registers of which all indices have become constants into values. It says whether there was
// one.
func (g *Graph) promote() bool {
	if len(g.Privates) == 0 {
		return false
	}
	p := &promoter{g: g, fixed: make([]bool, len(g.Privates)), ends: map[cell]Value{}, starts: map[cell]Value{}}
	found := false
	for i := range p.fixed {
		p.fixed[i] = g.Privates[i].Count > 0
	}
	for _, b := range g.Order {
		for _, v := range g.Blocks[b].Insts {
			if n := &g.Nodes[v]; ops.IsPrivate(n.Op) {
				if n.Args[0] != 0 {
					p.fixed[n.Extra] = false
				} else {
					found = true
				}
			}
		}
	}
	if !found {
		return false
	}
	found = false
	for i, fixed := range p.fixed {
		if fixed {
			found = true
			g.Privates[i].Count = 0 // it needs no place
		}
	}
	if !found {
		return false
	}
	p.replaced = make(replacements, len(g.Nodes))
	for _, b := range g.Order {
		p.block(b)
	}
	for len(p.open) > 0 {
		c := p.open[len(p.open)-1]
		p.open = p.open[:len(p.open)-1]
		list := make([]Value, len(g.Blocks[c.block].Preds))
		for i, from := range g.Blocks[c.block].Preds {
			list[i] = p.end(cell{c.private, c.index, from})
		}
		g.Nodes[p.starts[c]].List = list
	}
	for len(p.replaced) < len(g.Nodes) {
		p.replaced = append(p.replaced, 0)
	}
	p.replaced.apply(g)
	return true
}

// cell is a register of an array, at the start or at the end of a block.
type cell struct {
	private int32
	index   uint64
	block   int32
}

type promoter struct {
	g            *Graph
	fixed        []bool // arrays that become values
	ends, starts map[cell]Value
	open         []cell // phis without operands
	way          []cell // those that are asked for, with the same value
	replaced     replacements
}

// block replaces the loads of a block and removes its stores.
func (p *promoter) block(b int32) {
	blk := &p.g.Blocks[b]
	insts := blk.Insts
	blk.Insts = make([]Value, 0, len(insts))
	for _, v := range insts {
		n := &p.g.Nodes[v]
		if !ops.IsPrivate(n.Op) || !p.fixed[n.Extra] {
			p.g.Blocks[b].Insts = append(p.g.Blocks[b].Insts, v)
			continue
		}
		c := cell{n.Extra, n.Imm, b}
		if ops.Stores(n.Op) {
			p.ends[c] = n.Args[1]
		} else {
			p.replaced[v] = p.end(c)
		}
	}
}

// end gives the value of a cell at the end of its block, as far as that has been gone through.
func (p *promoter) end(c cell) Value {
	var v Value
	first := len(p.way)
	for v == 0 {
		if v = p.ends[c]; v != 0 {
			break
		}
		if v = p.starts[c]; v != 0 {
			break
		}
		p.g.Budget.Spend(budget.Bytes, cellBytes)
		blk := &p.g.Blocks[c.block]
		wide := p.g.Privates[c.private].Wide
		p.way = append(p.way, c)
		switch {
		case len(blk.Preds) == 0:
			v = p.g.Constant(0, wide)
		case len(blk.Preds) == 1:
			c.block = blk.Preds[0]
		default:
			v = p.g.Phi(c.block, wide, nil)
			p.open = append(p.open, c)
		}
	}
	for _, c := range p.way[first:] {
		p.starts[c] = v
	}
	p.way = p.way[:first]
	return v
}

// cellBytes is about what a cell takes in the promoter's maps.
const cellBytes = 96
