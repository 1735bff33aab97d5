// Package backend lays a graph out as a register program. In comes a shader whose graph is tidy. Out goes at once a
// program without instructions, whose slots and resources are known (NewDraft), and later, on demand, the rest
// (Draft.LayOut).
//
//  1. A Draft keeps a copy of the graph. LayOut optimizes and reads another copy: it may begin again, without copies
//     of loops, if these were too much.
//  2. A program is laid out in the order of the graph's blocks. Lanes that wait keep their registers while others run,
//     which liveness sees to: it follows that order, not the ways of a lane.
//  3. The registers of a program come to maxFile at most.
package backend

import (
	"errors"

	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/compute/internal/program"
	"farside/internal/ieee"
)

// Draft is a shader until its instructions are made: its graph, with what it needs and no more.
type Draft struct {
	shader *ir.Shader
	places []int32 // of the graph's memories, in Program.Slots or Resources; -1 is none
	watch  *ir.Watcher
}

// NewDraft makes a program without instructions of a shader, whose graph must be tidy, and what is kept to make these.
func NewDraft(s *ir.Shader, watch *ir.Watcher) (*program.Program, *Draft) {
	g := s.Graph
	lanes := int(uint64(s.LocalSize[0]) * uint64(s.LocalSize[1]) * uint64(s.LocalSize[2]))
	p := &program.Program{
		Name: s.Name, LocalSize: s.LocalSize, Lanes: lanes, SubgroupSize: s.SubgroupSize,
		Slots: make([]program.Slot, 0, len(g.Memories)-1), Loops: make([]program.Loop, 0, len(g.Loops)), Shared: s.Shared,
		ZeroShared: s.ZeroShared, Data: s.Data, Physical: s.Physical, Atomics: s.Atomics,
	}
	for _, r := range s.Resources {
		p.Resources = append(p.Resources, program.Resource{Set: r.Set, Binding: r.Binding, Count: r.Count, Name: r.Name,
			Input: r.Input})
	}
	d := &Draft{shader: s, places: make([]int32, len(g.Memories)), watch: watch}
	for m := range d.places {
		d.places[m] = -1
	}
	for _, b := range g.Order {
		for _, v := range g.Blocks[b].Insts {
			n := &g.Nodes[v]
			if n.Extra > 0 && (ops.IsMemory(n.Op) || n.Op == ops.ArrayLength) && d.places[n.Extra] < 0 {
				d.places[n.Extra] = placeMemory(p, &g.Memories[n.Extra])
			}
		}
	}
	for i := range g.Loops {
		p.Loops = append(p.Loops, program.Loop{Offset: g.Loops[i].Offset, Name: g.Loops[i].Name})
	}
	kept := *s
	kept.Graph = g.Keep()
	d.shader = &kept
	return p, d
}

// slotKinds are the kinds of slots by those of memories.
var slotKinds = [...]program.SlotKind{
	ir.MemoryBuffer: program.SlotBuffer, ir.MemoryPush: program.SlotPush, ir.MemoryShared: program.SlotShared,
	ir.MemoryData: program.SlotData, ir.MemoryOutputs: program.SlotOutputs,
}

// placeMemory gives a memory its place among the slots or resources.
func placeMemory(p *program.Program, m *ir.Memory) int32 {
	if !m.Resource {
		p.Slots = append(p.Slots, program.Slot{Kind: slotKinds[m.Kind], Set: m.Set, Binding: m.Binding, Element: m.Element,
			Name: m.Name})
		return int32(len(p.Slots) - 1)
	}
	for i, r := range p.Resources {
		if r.Set == m.Set && r.Binding == m.Binding {
			return int32(i)
		}
	}
	p.Resources = append(p.Resources, program.Resource{Set: m.Set, Binding: m.Binding, Count: m.Count, Name: m.Name})
	return int32(len(p.Resources) - 1)
}

// LayOut makes the instructions of the program, and the members that belong to them: Insts, FileSize, Mask, Constants,
// Builtins, Images, Subgroups and Prints. used notes what that takes. unread has a bit for each output of a stage that
// is not to be computed.
func (d *Draft) LayOut(p *program.Program, used *budget.Budget, unread uint64) error {
	err := d.emit(p, used, unread, true)
	if errors.As(err, new(budget.Exhausted)) {
		err = d.emit(p, used, unread, false)
	}
	return err
}

// emit is layOut, with or without copies of loops: these may be what is too much.
func (d *Draft) emit(p *program.Program, used *budget.Budget, unread uint64, unroll bool) (err error) {
	defer budget.Recover(p.Name, &err)
	defer ieee.Leave(ieee.Enter())
	var b budget.Budget
	g := d.shader.Graph.Resume(&b)
	g.Watch = d.watch
	if unread != 0 {
		g.DropOutputs(unread)
	}
	g.Optimize(unroll)
	w := takeWorkspace(&b)
	emit(g, p, d.places, w)
	d.watch.Renumbered()
	d.watch.Write("program", p.String)
	used.NoteMost(&b)
	g.Release()
	w.release()
	return nil
}

// MayFail says whether layOut may end with an error of the shader, so that whoever compiles it should know at once.
func (d *Draft) MayFail() bool {
	return mayExhaust(d.shader.Graph) || d.FileBound() > maxFile
}

// mayExhaust says whether what layOut still does may take more than a budget. Of less operations and blocks not even
// each pair, with those that every branch meets, is as many steps as there are.
func mayExhaust(g *ir.Graph) bool { return len(g.Nodes)+len(g.Blocks) > 1<<13 }

// maxFile is how many bytes of registers a workgroup may have.
const maxFile = 1 << 30

// FileBound is what the registers come to at most, in bytes, generously: each pass that is still to
// come counts with all that it can add.
func (d *Draft) FileBound() uint64 {
	g := d.shader.Graph
	const wide = 64
	values, rounds := uint64(len(g.Nodes)), uint64(1)
	products := 0 // of a round; copies of an inner loop may be many
	for v := range g.Nodes {
		if g.AddsProduct(ir.Value(v)) {
			products = ir.ManyProducts + 1
		}
	}
	for i := range g.Loops {
		budget := uint64(ir.UnrollBudget(g.Loops[i].Control, products, true))
		values += 2 * budget
		rounds = max(rounds, budget)
	}
	each := uint64(1<<ir.BoundDepth + 2) // terms of an address; a copy behind a loop
	arrays := uint64(0)
	for i := range g.Privates {
		arrays += min(uint64(g.Privates[i].Count), maxFile)
		each = max(each, uint64(len(g.Blocks))) // phis of the elements
	}
	chunks := (uint64(g.LocalSize[0])*uint64(g.LocalSize[1])*uint64(g.LocalSize[2]) + kernel.Width - 1) / kernel.Width
	masks := uint64(len(g.Blocks)) * rounds
	return (values*each + masks + arrays) * (wide*chunks + line)
}
