package compute

import (
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
}

var workspaces = sync.Pool{New: func() any {
	return &workspace{earlier: map[uint64]value{}, byVariable: map[memoryKey]int32{}}
}}

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
	w.values.reset()
	w.ints.reset()
	w.bytes.reset()
	w.flags.reset()
	w.words.reset()
	w.registers.reset()
	w.taken.reset()
	w.ends.reset()
	w.strides.reset()
	w.stretches.reset()
	w.spots.reset()
	w.parties.reset()
	w.lists.reset()
	w.operands.reset()
	w.pointers.reset()
	w.variables.reset()
	w.bindings.reset()
	w.leaves.reset()
	w.ids.reset()
	w.idLists.reset()
	w.calls.reset()
	w.tables.reset()
	w.functions.reset()
	w.reached.reset()
	clear(w.earlier)
	clear(w.byVariable)
	workspaces.Put(w)
}

// arena gives out zeroed parts of one allocation, or of larger ones when that is used up. They are taken back together.
type arena[T any] struct{ chunk, free []T }

// take gives n elements.
func (a *arena[T]) take(n int) []T {
	if n > len(a.free) {
		a.chunk = make([]T, max(n, 2*len(a.chunk), 64))
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
		longer := a.take(max(4, 2*len(list)))[:len(list)]
		copy(longer, list)
		list = longer
	}
	return append(list, v)
}

func (a *arena[T]) reset() {
	clear(a.chunk[:len(a.chunk)-len(a.free)])
	a.free = a.chunk
}
