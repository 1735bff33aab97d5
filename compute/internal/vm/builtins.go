package vm

import (
	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/spirv"
)

// builtins is what a walker has to write to registers at dispatches and workgroups.
type builtins struct {
	perDispatch []program.Builtin // what is the same in all of a dispatch
	workgroupID []groupID
	known       bool // workgroupID holds what this dispatch has written
}

// groupID is a component of WorkgroupId.
type groupID struct {
	component int
	register  program.Register
	value     uint32
}

// bindBuiltins writes what is the same in all workgroups.
func (w *walker) bindBuiltins() {
	p := w.program
	subgroups := (uint32(p.Lanes) + p.SubgroupSize - 1) / max(p.SubgroupSize, 1)
	for _, b := range p.Builtins {
		component := b.Component
		switch b.Kind {
		case spirv.BuiltInNumWorkgroups, spirv.BuiltInDeviceIndex:
			w.builtins.perDispatch = append(w.builtins.perDispatch, b)
		case spirv.BuiltInWorkgroupId:
			w.builtins.workgroupID = append(w.builtins.workgroupID, groupID{component: component, register: b.Register})
		case spirv.BuiltInLocalInvocationId:
			w.fill(b.Register, w.localIDs(component))
		case spirv.BuiltInLocalInvocationIndex:
			w.fillIndex(b.Register, func(index uint32) uint32 { return index })
		case spirv.BuiltInSubgroupId:
			w.fillIndex(b.Register, func(index uint32) uint32 { return index / p.SubgroupSize })
		case spirv.BuiltInNumSubgroups:
			w.fillIndex(b.Register, func(uint32) uint32 { return subgroups })
		default:
			w.fillSubgroup(&b)
		}
	}
}

// fillSubgroup writes what lanes know of their subgroup.
func (w *worker) fillSubgroup(b *program.Builtin) {
	p := w.program
	switch b.Kind {
	case spirv.BuiltInSubgroupLocalInvocationId:
		w.fillIndex(b.Register, func(index uint32) uint32 { return index % p.SubgroupSize })
	case spirv.BuiltInSubgroupSize:
		w.fillIndex(b.Register, func(uint32) uint32 { return p.SubgroupSize })
	case spirv.BuiltInSubgroupEqMask, spirv.BuiltInSubgroupGeMask, spirv.BuiltInSubgroupGtMask,
		spirv.BuiltInSubgroupLeMask, spirv.BuiltInSubgroupLtMask:
		w.fillIndex(b.Register, func(index uint32) uint32 {
			return subgroupMask(b.Kind, index%p.SubgroupSize, p.SubgroupSize, uint32(b.Component))
		})
	}
}

// localIDs is a component of LocalInvocationId in each lane.
func (w *walker) localIDs(component int) []uint32 {
	size := w.program.LocalSize
	ids := make([]uint32, w.engine.chunks*kernel.Width)
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
func (w *worker) fill(r program.Register, values []uint32) {
	if r.Uniform() {
		w.setUniform(r, uint64(values[0]))
		return
	}
	for chunk := range len(values) / kernel.Width {
		copy(w.chunk32(r, chunk)[:], values[chunk*kernel.Width:])
	}
}

// fillIndex writes a function of LocalInvocationIndex.
func (w *worker) fillIndex(r program.Register, value func(index uint32) uint32) {
	values := make([]uint32, w.engine.chunks*kernel.Width)
	for i := range values {
		values[i] = value(uint32(i))
	}
	w.fill(r, values)
}

// beginBuiltins writes what is the same in all workgroups of a dispatch.
func (w *walker) beginBuiltins() {
	for _, b := range w.builtins.perDispatch {
		value := w.dispatch.DeviceIndex
		if b.Kind == spirv.BuiltInNumWorkgroups {
			value = w.dispatch.Groups[b.Component]
		}
		w.setUniform(b.Register, uint64(value))
	}
	w.builtins.known = false
}

// beginGroupBuiltins writes what a workgroup has of its own.
func (w *walker) beginGroupBuiltins(id *[3]uint32) {
	b := &w.builtins
	for i := range b.workgroupID {
		g := &b.workgroupID[i]
		if value := id[g.component] + w.dispatch.Base[g.component]; !b.known || g.value != value {
			g.value = value
			w.setUniform(g.register, uint64(value))
		}
	}
	b.known = true
}

// skipGroups says that the numbers of workgroups along x have grown.
func (b *builtins) skipGroups(n uint32) {
	for i := range b.workgroupID {
		if g := &b.workgroupID[i]; g.component == 0 {
			g.value += n
		}
	}
}
