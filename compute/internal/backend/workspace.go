package backend

import (
	"sync"

	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/compute/internal/program"
)

// workspace is the memory of laying a graph out that nothing keeps: later graphs use it again.
type workspace struct {
	jumps     []jump
	moves     []move
	insts     []program.Inst
	constants []program.Constant
	builtins  []program.Builtin

	arenas    budget.Arenas
	values    budget.Arena[ir.Value]
	ints      budget.Arena[int32]
	registers budget.Arena[program.Register]
	taken     budget.Arena[taken]
	ends      budget.Arena[registerEnd]
	strides   budget.Arena[stride]
	stretches budget.Arena[stretch]
	lists     budget.Arena[[]stretch]
}

var workspaces = sync.Pool{New: func() any {
	w := new(workspace)
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

func takeWorkspace(b *budget.Budget) *workspace {
	w := workspaces.Get().(*workspace)
	w.arenas.Use(b)
	return w
}

// release gives the memory back. What has grown large, for a shader such as there are few, is left to the collector.
func (w *workspace) release() {
	const most = 1 << 15 // instructions
	if cap(w.insts) > most {
		return
	}
	w.arenas.Reset()
	workspaces.Put(w)
}
