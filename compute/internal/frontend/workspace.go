package frontend

import (
	"sync"

	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/spirv"
)

// workspace is the memory of a lowering that nothing keeps: later ones use it again.
type workspace struct {
	slots      []slot
	kinds      []*spirv.Type
	loopStores [][]uint64
	origins    []origin
	contents   []content

	arenas    budget.Arenas
	ints      budget.Arena[int32]
	bytes     budget.Arena[uint8]
	flags     budget.Arena[bool]
	words     budget.Arena[uint64]
	operands  budget.Arena[operand]
	pointers  budget.Arena[pointer]
	variables budget.Arena[variable]
	bindings  budget.Arena[binding]
	leaves    budget.Arena[leaf]
	ids       budget.Arena[spirv.ID]
	idLists   budget.Arena[[]spirv.ID]
	calls     budget.Arena[[]*spirv.Instruction]
	tables    budget.Arena[*spirv.Constant]
	functions budget.Arena[function]
	reached   budget.Arena[*function]

	earlier    map[uint64]ir.Value
	byVariable map[memoryKey]int32
}

var workspaces = sync.Pool{New: func() any {
	w := &workspace{earlier: map[uint64]ir.Value{}, byVariable: map[memoryKey]int32{}}
	w.ints.Join(&w.arenas)
	w.bytes.Join(&w.arenas)
	w.flags.Join(&w.arenas)
	w.words.Join(&w.arenas)
	w.operands.Join(&w.arenas)
	w.pointers.Join(&w.arenas)
	w.variables.Join(&w.arenas)
	w.bindings.Join(&w.arenas)
	w.leaves.Join(&w.arenas)
	w.ids.Join(&w.arenas)
	w.idLists.Join(&w.arenas)
	w.calls.Join(&w.arenas)
	w.tables.Join(&w.arenas)
	w.functions.Join(&w.arenas)
	w.reached.Join(&w.arenas)
	return w
}}

func takeWorkspace(b *budget.Budget) *workspace {
	w := workspaces.Get().(*workspace)
	w.arenas.Use(b)
	return w
}

// release gives the memory back. What has grown large, for a module such as there are few, is left to the collector.
func (w *workspace) release() {
	const most = 1 << 15 // ids of a module
	if w.operands.Largest() > most {
		return
	}
	// What may hold a module's memory is cleared: a pool keeps none alive.
	clear(w.slots)
	clear(w.loopStores)
	clear(w.kinds[:cap(w.kinds)])
	w.arenas.Reset()
	clear(w.earlier)
	clear(w.byVariable)
	workspaces.Put(w)
}
