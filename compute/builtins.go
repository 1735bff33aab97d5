package compute

import (
	"farside/compute/internal/kernel"
	"farside/spirv"
)

// builtins is what a worker has to write to registers besides instructions' results.
type builtins struct {
	numWorkgroups []Builtin // at each dispatch
	workgroupID   []Builtin // at each workgroup
	globalID      []globalID
	at            [3]uint32 // the workgroup for which they hold
	known         bool
}

// globalID is a component of GlobalInvocationId: the first one of the workgroup, a uniform register, plus the local one.
type globalID struct {
	component int
	size      uint32
	base      *[kernel.Width]uint32
	args      kernel.Args
}

// bindBuiltins writes what is the same in all workgroups.
func (w *worker) bindBuiltins() {
	p := w.program
	subgroups := (uint32(p.Lanes) + p.SubgroupSize - 1) / max(p.SubgroupSize, 1)
	for _, b := range p.Builtins {
		component := b.Component
		switch b.Kind {
		case spirv.BuiltInNumWorkgroups:
			w.builtins.numWorkgroups = append(w.builtins.numWorkgroups, b)
		case spirv.BuiltInWorkgroupId:
			w.builtins.workgroupID = append(w.builtins.workgroupID, b)
		case spirv.BuiltInGlobalInvocationId:
			g := globalID{component: component, size: p.LocalSize[component]}
			g.args.Dst = w.bind(b.Register)
			g.args.A, _ = newRegister(w.localIDs(component))
			g.args.B, g.base = newRegister(make([]uint32, kernel.Width))
			g.args.B.Step = 0
			w.builtins.globalID = append(w.builtins.globalID, g)
		case spirv.BuiltInLocalInvocationId:
			w.fill(b.Register, w.localIDs(component))
		case spirv.BuiltInLocalInvocationIndex:
			w.fillIndex(b.Register, func(index uint32) uint32 { return index })
		case spirv.BuiltInSubgroupId:
			w.fillIndex(b.Register, func(index uint32) uint32 { return index / p.SubgroupSize })
		case spirv.BuiltInSubgroupLocalInvocationId:
			w.fillIndex(b.Register, func(index uint32) uint32 { return index % p.SubgroupSize })
		case spirv.BuiltInNumSubgroups:
			w.fillIndex(b.Register, func(uint32) uint32 { return subgroups })
		case spirv.BuiltInSubgroupSize:
			w.fillIndex(b.Register, func(uint32) uint32 { return p.SubgroupSize })
		case spirv.BuiltInSubgroupEqMask, spirv.BuiltInSubgroupGeMask, spirv.BuiltInSubgroupGtMask,
			spirv.BuiltInSubgroupLeMask, spirv.BuiltInSubgroupLtMask:
			w.fillIndex(b.Register, func(index uint32) uint32 {
				return subgroupMask(b.Kind, index%p.SubgroupSize, p.SubgroupSize, uint32(component))
			})
		}
	}
}

// localIDs is a component of LocalInvocationId in each lane.
func (w *worker) localIDs(component int) []uint32 {
	size := w.program.LocalSize
	ids := make([]uint32, w.start.end*kernel.Width)
	for i := range uint32(w.program.Lanes) {
		ids[i] = [3]uint32{i % size[0], i / size[0] % size[1], i / size[0] / size[1]}[component]
	}
	return ids
}

// subgroupMask is a word of a mask of the lanes of a subgroup that are equal to, greater than or less than lane.
func subgroupMask(kind spirv.BuiltIn, lane, size, word uint32) uint32 {
	var mask uint32
	for bit := range uint32(32) {
		other := word*32 + bit
		var in bool
		switch kind {
		case spirv.BuiltInSubgroupEqMask:
			in = other == lane
		case spirv.BuiltInSubgroupGeMask:
			in = other >= lane
		case spirv.BuiltInSubgroupGtMask:
			in = other > lane
		case spirv.BuiltInSubgroupLeMask:
			in = other <= lane
		case spirv.BuiltInSubgroupLtMask:
			in = other < lane
		}
		if in && other < size {
			mask |= 1 << bit
		}
	}
	return mask
}

// fill writes a value for each lane; a uniform register gets the first.
func (w *worker) fill(r Register, values []uint32) {
	if r.Uniform() {
		w.setUniform(r, uint64(values[0]))
		return
	}
	for chunk := range len(values) / kernel.Width {
		copy(w.chunk32(r, chunk)[:], values[chunk*kernel.Width:])
	}
}

// fillIndex writes a function of LocalInvocationIndex.
func (w *worker) fillIndex(r Register, value func(index uint32) uint32) {
	values := make([]uint32, w.start.end*kernel.Width)
	for i := range values {
		values[i] = value(uint32(i))
	}
	w.fill(r, values)
}

// beginBuiltins writes what is the same in all workgroups of a dispatch.
func (w *worker) beginBuiltins() {
	for _, b := range w.builtins.numWorkgroups {
		w.setUniform(b.Register, uint64(w.run.Groups[b.Component]))
	}
	w.builtins.known = false
}

// beginGroupBuiltins writes what a workgroup has of its own.
func (w *worker) beginGroupBuiltins(id [3]uint32) {
	for i := range id {
		id[i] += w.run.Base[i]
	}
	b := &w.builtins
	for _, r := range b.workgroupID {
		if !b.known || b.at[r.Component] != id[r.Component] {
			w.setUniform(r.Register, uint64(id[r.Component]))
		}
	}
	for i := range b.globalID {
		g := &b.globalID[i]
		if !b.known || b.at[g.component] != id[g.component] {
			first := id[g.component] * g.size
			*g.base = [kernel.Width]uint32{first, first, first, first, first, first, first, first}
			n := w.start.end
			if g.args.Dst.Step == 0 {
				n = 1
			}
			w.kernels.Ops[kernel.AddI32](&g.args, 0, n)
		}
	}
	b.at, b.known = id, true
}
