package compute

import (
	"errors"

	"farside/compute/internal/budget"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/internal/ieee"
)

// draft is a shader until its instructions are made: its graph, with what it needs and no more.
type draft struct {
	shader *irShader
	places []int32 // of the graph's memories, in Program.Slots or Resources; -1 is none
	watch  *watcher
}

// newDraft makes a program without instructions of a shader, whose graph must be tidy, and what is kept to make these.
func newDraft(s *irShader, watch *watcher) (*Program, *draft) {
	g := s.graph
	lanes := int(uint64(s.localSize[0]) * uint64(s.localSize[1]) * uint64(s.localSize[2]))
	p := &Program{
		Name: s.name, LocalSize: s.localSize, Lanes: lanes, SubgroupSize: s.subgroupSize,
		Slots: make([]Slot, 0, len(g.memories)-1), Loops: make([]Loop, 0, len(g.loops)), Shared: s.shared,
		ZeroShared: s.zeroShared, Data: s.data, Physical: s.physical, Atomics: s.atomics,
	}
	for _, r := range s.resources {
		p.Resources = append(p.Resources, Resource{Set: r.set, Binding: r.binding, Count: r.count, Name: r.name})
	}
	d := &draft{shader: s, places: make([]int32, len(g.memories)), watch: watch}
	for m := range d.places {
		d.places[m] = -1
	}
	for _, b := range g.order {
		for _, v := range g.blocks[b].insts {
			n := &g.nodes[v]
			if n.extra > 0 && (ops.IsMemory(n.op) || n.op == ops.ArrayLength) && d.places[n.extra] < 0 {
				d.places[n.extra] = placeMemory(p, &g.memories[n.extra])
			}
		}
	}
	for i := range g.loops {
		p.Loops = append(p.Loops, Loop{Offset: g.loops[i].offset, Name: g.loops[i].name})
	}
	kept := *s
	kept.graph = g.keep()
	d.shader = &kept
	return p, d
}

// slotKinds are the kinds of slots by those of memories.
var slotKinds = [...]SlotKind{memoryBuffer: SlotBuffer, memoryPush: SlotPush, memoryShared: SlotShared, memoryData: SlotData}

// placeMemory gives a memory its place among the slots or resources.
func placeMemory(p *Program, m *memory) int32 {
	if !m.resource {
		p.Slots = append(p.Slots, Slot{Kind: slotKinds[m.kind], Set: m.set, Binding: m.binding, Element: m.element,
			Name: m.name})
		return int32(len(p.Slots) - 1)
	}
	for i, r := range p.Resources {
		if r.Set == m.set && r.Binding == m.binding {
			return int32(i)
		}
	}
	p.Resources = append(p.Resources, Resource{Set: m.set, Binding: m.binding, Count: m.count, Name: m.name})
	return int32(len(p.Resources) - 1)
}

// layOut makes the instructions of the program, and the members that belong to them: Insts, FileSize, Mask, Constants,
// Builtins, Images, Subgroups and Prints. used notes what that takes.
func (d *draft) layOut(p *Program, used *budget.Budget) error {
	err := d.emit(p, used, true)
	if errors.As(err, new(budget.Exhausted)) {
		err = d.emit(p, used, false)
	}
	return err
}

// emit is layOut, with or without copies of loops: these may be what is too much.
func (d *draft) emit(p *Program, used *budget.Budget, unroll bool) (err error) {
	defer budget.Recover(p.Name, &err)
	defer ieee.Leave(ieee.Enter())
	var b budget.Budget
	g := d.shader.graph.resume(&b)
	g.watch = d.watch
	g.optimize(unroll)
	w := takeEmitSpace(&b)
	emit(g, p, d.places, w)
	d.watch.renumbered()
	d.watch.write("program", p.String)
	used.NoteMost(&b)
	g.release()
	w.release()
	return nil
}

// mayFail says whether layOut may end with an error of the shader, so that whoever compiles it should know at once.
func (d *draft) mayFail() bool {
	return mayExhaust(d.shader.graph) || d.fileBound() > maxFile
}

// mayExhaust says whether what layOut still does may take more than a budget. Of less operations and blocks not even
// each pair, with those that every branch meets, is as many steps as there are.
func mayExhaust(g *graph) bool { return len(g.nodes)+len(g.blocks) > 1<<13 }

// maxFile is how many bytes of registers a workgroup may have.
const maxFile = 1 << 30

// fileBound is what the registers come to at most, in bytes, generously: each pass that is still to
// come counts with all that it can add.
func (d *draft) fileBound() uint64 {
	g := d.shader.graph
	const wide = 64
	values, rounds := uint64(len(g.nodes)), uint64(1)
	for i := range g.loops {
		budget := uint64(unrollBudget(g.loops[i].control))
		values += 2 * budget
		rounds = max(rounds, budget)
	}
	each := uint64(1<<boundDepth + 2) // terms of an address; a copy behind a loop
	arrays := uint64(0)
	for i := range g.privates {
		arrays += min(uint64(g.privates[i].count), maxFile)
		each = max(each, uint64(len(g.blocks))) // phis of the elements
	}
	chunks := (uint64(g.localSize[0])*uint64(g.localSize[1])*uint64(g.localSize[2]) + kernel.Width - 1) / kernel.Width
	masks := uint64(len(g.blocks)) * rounds
	return (values*each + masks + arrays) * wide * chunks
}
