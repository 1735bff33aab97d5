package compute

import (
	"reflect"
	"sync"

	"farside/spirv"
)

// workspace is the memory of a compilation of which no Program has a part: later compilations use it again.
type workspace struct {
	nodes     []node
	blocks    []block
	order     []int32
	loops     []loop
	memories  []memory
	privates  []private
	slots     []slot
	kinds     []*spirv.Type
	jumps     []jump
	moves     []move
	insts     []Inst
	constants []Constant
	builtins  []Builtin
	terms     [2][]term

	values    arena[value]
	ints      arena[int32]
	bytes     arena[uint8]
	flags     arena[bool]
	words     arena[uint64]
	registers arena[Register]
	taken     arena[taken]
	ends      arena[registerEnd]
	strides   arena[stride]
	stretches arena[stretch]
	spots     arena[spot]
	parties   arena[party]
	lists     arena[[]stretch]
	operands  arena[operand]
	pointers  arena[pointer]
	variables arena[variable]
	bindings  arena[binding]
	leaves    arena[leaf]
	ids       arena[spirv.ID]
	idLists   arena[[]spirv.ID]
	calls     arena[[]*spirv.Instruction]
	tables    arena[*spirv.Constant]
	functions arena[function]
	reached   arena[*function]

	earlier    map[uint64]value
	byVariable map[memoryKey]int32

	budget budget
	arenas []interface{ reset() }
}

var workspaces = sync.Pool{New: func() any {
	w := &workspace{earlier: map[uint64]value{}, byVariable: map[memoryKey]int32{}}
	addArena(w, &w.values)
	addArena(w, &w.ints)
	addArena(w, &w.bytes)
	addArena(w, &w.flags)
	addArena(w, &w.words)
	addArena(w, &w.registers)
	addArena(w, &w.taken)
	addArena(w, &w.ends)
	addArena(w, &w.strides)
	addArena(w, &w.stretches)
	addArena(w, &w.spots)
	addArena(w, &w.parties)
	addArena(w, &w.lists)
	addArena(w, &w.operands)
	addArena(w, &w.pointers)
	addArena(w, &w.variables)
	addArena(w, &w.bindings)
	addArena(w, &w.leaves)
	addArena(w, &w.ids)
	addArena(w, &w.idLists)
	addArena(w, &w.calls)
	addArena(w, &w.tables)
	addArena(w, &w.functions)
	addArena(w, &w.reached)
	return w
}}

func addArena[T any](w *workspace, a *arena[T]) {
	a.budget = &w.budget
	w.arenas = append(w.arenas, a)
}

// takeWorkspace takes a workspace with the whole budget.
func takeWorkspace() *workspace {
	w := workspaces.Get().(*workspace)
	w.budget = budget{}
	return w
}

// release gives the memory back. What has grown large, for a shader such as there are few, is left to the collector.
func (w *workspace) release() {
	const most = 1 << 15 // nodes, or ids of a module
	if cap(w.nodes) > most || cap(w.operands.chunk) > most {
		return
	}
	// What may hold a module's memory is cleared: a workspace keeps none alive. Nodes and blocks hold arenas' alone.
	clear(w.loops)
	clear(w.memories)
	clear(w.slots)
	clear(w.kinds[:cap(w.kinds)])
	for _, a := range w.arenas {
		a.reset()
	}
	clear(w.earlier)
	clear(w.byVariable)
	workspaces.Put(w)
}

// arena gives out zeroed parts of one allocation, or of larger ones when that is used up. They are taken back together.
type arena[T any] struct {
	chunk, free []T
	budget      *budget
}

// maxChunk is how many elements an arena allocates before it is asked for them.
const maxChunk = 1 << 16

// take gives n elements.
func (a *arena[T]) take(n int) []T {
	if n > len(a.free) {
		n := max(n, min(2*len(a.chunk), maxChunk), 64)
		a.budget.spend(allocatedBytes, n*int(reflect.TypeFor[T]().Size()))
		a.chunk = make([]T, n)
		a.free = a.chunk
	}
	part := a.free[:n:n]
	a.free = a.free[n:]
	return part
}

// one gives an element.
func (a *arena[T]) one() *T { return &a.take(1)[0] }

// push appends to a list.
func (a *arena[T]) push(list []T, v T) []T {
	if len(list) == cap(list) {
		list = a.longer(list, 1)
	}
	return append(list, v)
}

// extend appends a list to another one.
func (a *arena[T]) extend(list, more []T) []T {
	if len(list)+len(more) > cap(list) {
		list = a.longer(list, len(more))
	}
	return append(list, more...)
}

// longer is a list with room for n more, and for as many as it has.
func (a *arena[T]) longer(list []T, n int) []T {
	longer := a.take(max(4, 2*len(list), len(list)+n))[:len(list)]
	copy(longer, list)
	return longer
}

func (a *arena[T]) reset() {
	clear(a.chunk[:len(a.chunk)-len(a.free)])
	a.free = a.chunk
}
