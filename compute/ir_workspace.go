package compute

import (
	"sync"

	"farside/compute/internal/budget"
)

// irSpace is the memory of a graph that nothing keeps: later graphs use it again.
type irSpace struct {
	nodes    []node
	blocks   []block
	order    []int32
	loops    []loop
	memories []memory
	privates []private
	terms    [2][]term

	arenas  budget.Arenas
	values  budget.Arena[value]
	ints    budget.Arena[int32]
	bytes   budget.Arena[uint8]
	flags   budget.Arena[bool]
	spots   budget.Arena[spot]
	parties budget.Arena[party]
}

var irSpaces = sync.Pool{New: func() any {
	w := new(irSpace)
	w.values.Join(&w.arenas)
	w.ints.Join(&w.arenas)
	w.bytes.Join(&w.arenas)
	w.flags.Join(&w.arenas)
	w.spots.Join(&w.arenas)
	w.parties.Join(&w.arenas)
	return w
}}

func takeIRSpace(b *budget.Budget) *irSpace {
	w := irSpaces.Get().(*irSpace)
	w.arenas.Use(b)
	return w
}

// release gives the memory of a graph back, which can't be used any more. What has grown large, for a shader such as
// there are few, is left to the collector.
func (g *graph) release() {
	const most = 1 << 15 // nodes
	w := g.space
	w.nodes, w.blocks, w.order, w.loops, w.memories, w.privates = g.nodes, g.blocks, g.order, g.loops, g.memories,
		g.privates
	g.space = nil
	if cap(w.nodes) > most {
		return
	}
	// What may hold a module's memory is cleared: a pool keeps none alive. Nodes and blocks hold arenas' alone.
	clear(w.loops)
	clear(w.memories)
	w.arenas.Reset()
	irSpaces.Put(w)
}

// steps counts steps.
func (g *graph) steps(n int) { g.budget.Spend(budget.Steps, n) }
