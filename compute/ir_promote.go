package compute

import (
	"farside/compute/internal/budget"
	"farside/compute/internal/ops"
)

// promote turns arrays of registers of which all indices have become constants into values. It says whether there was
// one.
func (g *graph) promote() bool {
	if len(g.privates) == 0 {
		return false
	}
	p := &promoter{graph: g, fixed: make([]bool, len(g.privates)), ends: map[cell]value{}, starts: map[cell]value{}}
	found := false
	for i := range p.fixed {
		p.fixed[i] = g.privates[i].count > 0
	}
	for _, b := range g.order {
		for _, v := range g.blocks[b].insts {
			if n := &g.nodes[v]; ops.IsPrivate(n.op) {
				if n.args[0] != 0 {
					p.fixed[n.extra] = false
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
			g.privates[i].count = 0 // it needs no place
		}
	}
	if !found {
		return false
	}
	p.replaced = make(replacements, len(g.nodes))
	for _, b := range g.order {
		p.block(b)
	}
	for len(p.open) > 0 {
		c := p.open[len(p.open)-1]
		p.open = p.open[:len(p.open)-1]
		list := make([]value, len(g.blocks[c.block].preds))
		for i, from := range g.blocks[c.block].preds {
			list[i] = p.end(cell{c.private, c.index, from})
		}
		g.nodes[p.starts[c]].list = list
	}
	for len(p.replaced) < len(g.nodes) {
		p.replaced = append(p.replaced, 0)
	}
	for _, b := range g.order {
		blk := &g.blocks[b]
		for _, list := range [][]value{blk.phis, blk.insts} {
			for _, v := range list {
				n := &g.nodes[v]
				for i, a := range n.args {
					n.args[i] = p.replaced.find(a)
				}
				n.base = p.replaced.find(n.base)
				for i, a := range n.list {
					n.list[i] = p.replaced.find(a)
				}
			}
		}
		blk.cond = p.replaced.find(blk.cond)
	}
	return true
}

// cell is a register of an array, at the start or at the end of a block.
type cell struct {
	private int32
	index   uint64
	block   int32
}

type promoter struct {
	*graph
	fixed        []bool // arrays that become values
	ends, starts map[cell]value
	open         []cell // phis without operands
	way          []cell // those that are asked for, with the same value
	replaced     replacements
}

// block replaces the loads of a block and removes its stores.
func (p *promoter) block(b int32) {
	blk := &p.blocks[b]
	insts := blk.insts
	blk.insts = make([]value, 0, len(insts))
	for _, v := range insts {
		n := &p.nodes[v]
		if !ops.IsPrivate(n.op) || !p.fixed[n.extra] {
			p.blocks[b].insts = append(p.blocks[b].insts, v)
			continue
		}
		c := cell{n.extra, n.imm, b}
		if ops.Stores(n.op) {
			p.ends[c] = n.args[1]
		} else {
			p.replaced[v] = p.end(c)
		}
	}
}

// end gives the value of a cell at the end of its block, as far as that has been gone through.
func (p *promoter) end(c cell) value {
	var v value
	first := len(p.way)
	for v == 0 {
		if v = p.ends[c]; v != 0 {
			break
		}
		if v = p.starts[c]; v != 0 {
			break
		}
		p.budget.Spend(budget.Bytes, cellBytes)
		blk := &p.blocks[c.block]
		wide := p.privates[c.private].wide
		p.way = append(p.way, c)
		switch {
		case len(blk.preds) == 0:
			v = p.constant(0, wide)
		case len(blk.preds) == 1:
			c.block = blk.preds[0]
		default:
			v = p.phi(c.block, wide, nil)
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
