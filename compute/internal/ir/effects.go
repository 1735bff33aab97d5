package ir

import (
	"farside/compute/internal/ops"
	"farside/spirv"
)

// Effects says whether the graph writes memory that others than the invocation and its driver see.
func (g *Graph) Effects() bool {
	for _, b := range g.Order {
		for _, v := range g.Blocks[b].Insts {
			switch n := &g.Nodes[v]; {
			case n.Op == ops.Print:
				return true
			case n.Op == ops.Image && !g.CallOf(n).Pure && g.CallOf(n).Op != spirv.OpAtomicLoad:
				return true
			case !ops.Stores(n.Op) && !ops.Updates(n.Op):
			case ops.IsPhysical(n.Op), ops.IsMemory(n.Op) && (n.Extra == 0 || g.Memories[n.Extra].Kind == MemoryBuffer):
				return true
			}
		}
	}
	return false
}
