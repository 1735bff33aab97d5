package compute

import (
	"sync"

	"farside/compute/internal/budget"
)

// emitSpace is the memory of laying a graph out that nothing keeps: later graphs use it again.
type emitSpace struct {
	jumps     []jump
	moves     []move
	insts     []Inst
	constants []Constant
	builtins  []Builtin

	arenas    budget.Arenas
	values    budget.Arena[value]
	ints      budget.Arena[int32]
	registers budget.Arena[Register]
	taken     budget.Arena[taken]
	ends      budget.Arena[registerEnd]
	strides   budget.Arena[stride]
	stretches budget.Arena[stretch]
	lists     budget.Arena[[]stretch]
}

var emitSpaces = sync.Pool{New: func() any {
	w := new(emitSpace)
	w.values.Join(&w.arenas)
	w.ints.Join(&w.arenas)
	w.registers.Join(&w.arenas)
	w.taken.Join(&w.arenas)
	w.ends.Join(&w.arenas)
	w.strides.Join(&w.arenas)
	w.stretches.Join(&w.arenas)
	w.lists.Join(&w.arenas)
	return w
}}

func takeEmitSpace(b *budget.Budget) *emitSpace {
	w := emitSpaces.Get().(*emitSpace)
	w.arenas.Use(b)
	return w
}

// release gives the memory back. What has grown large, for a shader such as there are few, is left to the collector.
func (w *emitSpace) release() {
	const most = 1 << 15 // instructions
	if cap(w.insts) > most {
		return
	}
	w.arenas.Reset()
	emitSpaces.Put(w)
}
