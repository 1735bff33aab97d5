package ir

import (
	"sync"

	"farside/compute/internal/budget"
)

// workspace is the memory of a graph that nothing keeps: later graphs use it again.
type workspace struct {
	nodes    []Node
	blocks   []Block
	order    []int32
	loops    []Loop
	memories []Memory
	privates []Private
	terms    [2][]term

	arenas  budget.Arenas
	values  budget.Arena[Value]
	ints    budget.Arena[int32]
	bytes   budget.Arena[uint8]
	flags   budget.Arena[bool]
	spots   budget.Arena[spot]
	parties budget.Arena[party]
}

var workspaces = sync.Pool{New: func() any {
	w := new(workspace)
	w.values.Join(&w.arenas)
	w.ints.Join(&w.arenas)
	w.bytes.Join(&w.arenas)
	w.flags.Join(&w.arenas)
	w.spots.Join(&w.arenas)
	w.parties.Join(&w.arenas)
	return w
}}

func takeWorkspace(b *budget.Budget) *workspace {
	w := workspaces.Get().(*workspace)
	w.arenas.Use(b)
	return w
}

// Release gives the memory of a graph back, which can't be used any more. What has grown large, for a shader such as
// there are few, is left to the collector.
func (g *Graph) Release() {
	const most = 1 << 15 // nodes
	w := g.space
	w.nodes, w.blocks, w.order, w.loops, w.memories, w.privates = g.Nodes, g.Blocks, g.Order, g.Loops, g.Memories,
		g.Privates
	g.space = nil
	if cap(w.nodes) > most {
		return
	}
	// What may hold a module's memory is cleared: a pool keeps none alive. Nodes and blocks hold arenas' alone.
	clear(w.loops)
	clear(w.memories)
	w.arenas.Reset()
	workspaces.Put(w)
}

// steps counts steps.
func (g *Graph) steps(n int) { g.Budget.Spend(budget.Steps, n) }
