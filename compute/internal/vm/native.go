package vm

import (
	"cmp"
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/compute/internal/ops"
	"farside/compute/internal/program"
	"farside/spirv"
)

// usesNative says whether straight runs of instructions become machine code.
func (e *Engine) usesNative() bool { return e.kernels.Name == "avx2" && !e.NoNative }

// maxNames is how many uniform values of a run, one of 64 bits as two, may get a place of their own instead of their
// register in the program.
// They need one because a run does its uniform instructions first: an earlier instruction of the run, which is for each
// lane, may still have to read the old value of that register.
const maxNames = 16

// worthStreaming is the size in bytes from which on stores to a slot go past the caches. The caches are smaller, so who
// reads the slot later wouldn't find it there.
const worthStreaming = 32 << 20

// streams says whether a dispatch writes so much that it should go past the caches, to memory that it doesn't read.
func (r *run) streams() bool {
	e := r.engine
	if len(e.streamed) == 0 || r.total*uint64(r.program.Lanes) < worthStreaming/4 {
		return false
	}
	for _, slot := range e.streamed {
		m := r.slots[slot]
		if m.Size < worthStreaming {
			return false
		}
		for i := range r.slots {
			if i != int(slot) && !slices.Contains(e.streamed, int32(i)) && m.Overlaps(r.slots[i]) {
				return false
			}
		}
	}
	return true
}

// makeNative makes machine code of runs of instructions. An instruction of a run is for each active lane, or it is
// uniform: done once for all lanes. The first step of each run executes the code.
func (e *Engine) makeNative(p *program.Program) {
	if !e.usesNative() {
		return
	}
	targets := make([]bool, len(p.Insts)+1)
	for i := range p.Insts {
		if p.Insts[i].Jumps() {
			targets[p.Insts[i].Target] = true
		}
	}
	e.arrays = findArrays(p, e.chunks)
	e.grouped = native.Groups(p.SubgroupSize) && !e.Narrow && !e.Partial && p.Lanes%int(p.SubgroupSize) == 0
	var runs [][]native.Inst
	var starts []int
	ends := e.makeRegions(p, &runs, &starts)
	loaded := make([]bool, len(p.Slots))
	for i := range p.Insts {
		if in := &p.Insts[i]; in.Code == program.Access && !in.Dynamic && !ops.Stores(in.Op) {
			loaded[in.Index] = true
		}
	}
	for from := 0; from < len(p.Insts); {
		if end := ends[from]; end > 0 {
			from = end
			continue
		}
		r := e.nativeRun(p, from, targets)
		for i := range r {
			in := &r[i]
			in.Stream = in.Op == kernel.Store32 && p.Slots[in.Slot].Kind == program.SlotBuffer && !loaded[in.Slot]
			if in.Stream && !slices.Contains(e.streamed, in.Slot) {
				e.streamed = append(e.streamed, in.Slot)
			}
		}
		if len(r) > 1 || len(r) > 0 && r[0].Shuffles() {
			runs = append(runs, r)
			starts = append(starts, from)
			e.storing = append(e.storing, slices.ContainsFunc(r, func(in native.Inst) bool { return storesToSlot(p, &in) }))
			e.together = append(e.together, slices.ContainsFunc(r, func(in native.Inst) bool {
				return in.All() || e.grouped && in.Shuffles()
			}))
		}
		from += max(len(r), 1)
	}
	if len(runs) == 0 {
		return
	}
	masked := e.Partial || len(e.masks) > 0 || p.Lanes%kernel.Width != 0
	var group native.Register
	if !masked && !p.ZeroShared && len(e.regions) == 0 && len(runs[0]) == len(p.Insts)-1 {
		group = groupRegister(p)
	}
	code, err := native.Compile(runs,
		native.Options{Scratch: p.FileSize, Masked: masked, Narrow: e.Narrow, Groups: e.grouped, Skip: !e.Partial,
			Group: group})
	if err != nil {
		e.streamed, e.regions, e.area = nil, nil, 0
		return // the kernels do it
	}
	e.native, e.rows = code, group.Valid
	for i, start := range starts {
		s := &e.steps[start]
		end := int32(start + len(runs[i]))
		act := actNative
		if i < len(e.regions) {
			act = actRegion
			if e.regions[i].behind {
				s = &e.steps[start+1] // behind its Enter
			}
		}
		if s.act != actPrefix {
			s.plain = s.act
		}
		s.act, s.to, s.target = act, int32(i), end
	}
}

// makeRegions makes regions of loops, the first of the runs. By where one begins it says where that ends.
func (e *Engine) makeRegions(p *program.Program, runs *[][]native.Inst, starts *[]int) map[int]int {
	ends := map[int]int{}
	last := 0
	f := newLoopFinder(p)
	for _, l := range f.loops() {
		if l.first < last {
			continue // part of another one
		}
		run, r := e.nativeRegion(f, l)
		if r == nil {
			continue
		}
		e.regions = append(e.regions, *r)
		*runs = append(*runs, run)
		*starts = append(*starts, l.first)
		e.storing, e.together = append(e.storing, false), append(e.together, false)
		ends[l.first], last = l.end, l.end
	}
	return ends
}

// groupRegister is the only register with the number of the workgroup along x.
func groupRegister(p *program.Program) (r native.Register) {
	for _, b := range p.Builtins {
		if b.Kind == spirv.BuiltInWorkgroupId && b.Component == 0 {
			r = native.Register{Offset: b.Register.Offset, Valid: !r.Valid}
		}
	}
	return r
}

// nativeRun is the run that begins at an instruction. It ends before an instruction
//   - that has no machine code,
//   - that is the target of a jump,
//   - that is uniform and can't be moved to the front of the run,
//   - that writes a value of which an instruction of the run reads other chunks, or does that with one written before,
//     where the run isn't executed subgroup by subgroup,
//   - that stores to a slot behind a masked move, or moves behind a store, where batches may be partial (maskUses).
func (e *Engine) nativeRun(p *program.Program, from int, targets []bool) []native.Inst {
	var run []native.Inst
	touched := map[native.Register]bool{} // by instructions for each lane
	renamed := map[native.Register]native.Register{}
	names := uint32(0)
	stored := false
	var grouped groupUses
	whole := wholeReads{map[native.Register]bool{}, map[native.Register]bool{}, map[native.Register]bool{}}
	end := from + 1
	for end < min(len(p.Insts), from+mostRegion) && !targets[end] && !p.Insts[end].Jumps() {
		end++
	}
	arrays := e.newArrayUses(p.Insts[from:end])
	uses := maskUses{program: p, partial: e.Partial}
	at := from
	for ; at < len(p.Insts) && (at == from || !targets[at]); at++ {
		in, ok := e.nativeInst(p, at)
		if !ok || e.steps[at].act == actPrefix || !arrays.allow(&in) || !uses.allow(&in) ||
			!e.grouped && !whole.allow(&in) {
			break
		}
		if grouped.add(&in); e.grouped && grouped.shuffles && grouped.others {
			break
		}
		for _, r := range []*native.Register{&in.A, &in.B, &in.C, &in.Base} {
			if name, ok := renamed[*r]; ok {
				*r = name
			}
		}
		delete(renamed, in.Dst)
		if in.Once {
			if stored && ops.Loads(in.Op) {
				break
			}
			if touched[in.Dst] {
				size := uint32(1)
				if in.Dst.Wide {
					size = 2
				}
				if names+size > maxNames || p.Insts[at].Until == 0 {
					break
				}
				name := native.Register{Offset: p.FileSize + native.Scratch + 32*names, Valid: true, Wide: in.Dst.Wide}
				renamed[in.Dst] = name
				in.Dst = name
				names += size
			}
		} else {
			for _, r := range []native.Register{in.A, in.B, in.C, in.Base} {
				touched[r] = true
			}
			stored = stored || in.Stores()
		}
		run = append(run, in)
	}
	for i := 0; i < len(run); i++ {
		until := int(p.Insts[from+i].Until)
		run[i].Keep = until == 0 || !e.grouped && run[i].Shuffles() || until >= from+len(run)
		if run[i].Keep && run[i].Dst.Offset >= p.FileSize {
			run, i = run[:i], -1 // what is read after the run must lie where it is looked for
		}
	}
	return run
}

// nativeInst is an instruction as package native has it, if that can be.
func (e *Engine) nativeInst(p *program.Program, i int) (native.Inst, bool) {
	in := &p.Insts[i]
	n := native.Inst{Op: in.Op, Immediate: in.Immediate, Pattern: in.Pattern, Words: in.Words, Slot: in.Index,
		Most: in.Most, Quiet: in.Quiet}
	for _, r := range []struct {
		to   *native.Register
		from program.Register
	}{{&n.Dst, in.Dst}, {&n.A, in.A}, {&n.B, in.B}, {&n.C, in.C}, {&n.Base, in.Base}} {
		if r.from.Offset > 1<<30 {
			return n, false
		}
		*r.to = native.Register{Offset: r.from.Offset, Step: r.from.Step, Valid: r.from.Size > 0, Wide: r.from.Size == 64}
	}
	switch in.Code {
	case program.Kernel:
		n.Once = in.Dst.Uniform()
		n.Count = e.countOf(p, in)
		if d, ok := constantOf(p, in.B); ok && native.DividesBy(n.Op, uint32(d)) {
			n.Immediate, n.B = d, native.Register{}
		}
		if n.Op == kernel.MulAddSat {
			if b, ok := constantOf(p, in.B); ok && b == 0 {
				n.B = native.Register{}
			}
		}
	case program.Assign:
		n.Op, n.Once = kernel.MoveMasked32, in.Dst.Uniform()
		if n.Dst.Wide {
			n.Op = kernel.MoveMasked64
		}
	case program.Access:
		if in.Dynamic || in.A.Size == 0 && !ops.Updates(in.Op) || e.delays && p.Slots[in.Index].Kind == program.SlotBuffer {
			return n, false
		}
		n.Once = e.steps[i].once
		n.C = native.Register{}
		if ops.Updates(in.Op) {
			n.C = native.Register{Offset: in.D.Offset, Step: in.D.Step, Valid: in.D.Size > 0, Wide: in.D.Size == 64}
			n.Unshared = p.Slots[in.Index].Kind == program.SlotShared
		}
		if in.A.Uniform() {
			n.Pattern = native.Same
		}
	case program.AccessPhysical:
		if e.delays || in.Base.Size > 0 || ops.Updates(in.Op) {
			return n, false
		}
		n.Slot, n.Once, n.C = e.rangeSlot(p, i), e.steps[i].once, native.Register{}
	case program.AccessPrivate:
		n.Apart, n.Pattern = uint32(n.C.Step)*uint32(e.chunks), native.Any
	case program.CallSubgroup:
		if !e.nativeSubgroup(p, &p.Subgroups[in.Index], &n) {
			return n, false
		}
	default:
		return n, false
	}
	return n, native.Supports(&n)
}

// rangeSlot is the first of the two slots for the range of an access by device address, behind those of the program.
func (e *Engine) rangeSlot(p *program.Program, i int) int32 {
	n := slices.Index(e.physical, int32(i))
	if n < 0 {
		n = len(e.physical)
		e.physical = append(e.physical, int32(i))
	}
	return int32(len(p.Slots) + 2*n)
}

// countOf is the count of a shift whose count is a constant, plus one; 0 of others.
func (e *Engine) countOf(p *program.Program, in *program.Inst) uint8 {
	bits := uint64(31)
	switch in.Op {
	case kernel.ShlI64, kernel.ShrU64, kernel.ShrS64:
		bits = 63
		fallthrough
	case kernel.ShlI32, kernel.ShrU32, kernel.ShrS32:
		if n, ok := constantOf(p, in.B); ok {
			return uint8(n&bits) + 1
		}
	}
	return 0
}

// constantOf is the value of a register, if that is a constant's. Their registers come first, one after the other.
func constantOf(p *program.Program, r program.Register) (uint64, bool) {
	i, found := slices.BinarySearchFunc(p.Constants, r.Offset, func(c program.Constant, at uint32) int {
		return cmp.Compare(c.Register.Offset, at)
	})
	if found && p.Constants[i].Register == r {
		return p.Constants[i].Bits, true
	}
	return 0, false
}

// wholeReads is what a run reads in other chunks than the one under way. A run doesn't write it: its code is done with
// a chunk before it begins the next.
type wholeReads struct{ written, read, used map[native.Register]bool }

// allow says whether a run may go on with an instruction, and notes it. One that writes all chunks of its result at
// once has a result that nothing before it looks at, chunk by chunk.
func (w *wholeReads) allow(in *native.Inst) bool {
	if w.read[in.Dst] || in.Shuffles() && w.written[in.C] || in.Combines() && (w.written[in.Dst] || w.used[in.Dst]) {
		return false
	}
	for _, r := range []native.Register{in.A, in.B, in.C, in.Base} {
		w.used[r] = true
	}
	if in.Dst.Valid {
		w.written[in.Dst] = true
	}
	if in.Shuffles() {
		w.read[in.C] = true
	}
	return true
}

// groupUses is what a run or region has that is executed subgroup by subgroup, and what can't be.
type groupUses struct{ shuffles, others bool }

func (g *groupUses) add(in *native.Inst) {
	g.shuffles, g.others = g.shuffles || in.Shuffles(), g.others || !in.Grouped()
}

// maskUses is what the mask of a run is for: lanes that store to slots, or lanes that write registers. A run has one
// mask, and where batches may be partial these lanes differ.
type maskUses struct {
	program                 *program.Program
	partial, stores, writes bool
}

// allow says whether a run may go on with an instruction, and notes it.
func (u *maskUses) allow(in *native.Inst) bool {
	stores := storesToSlot(u.program, in)
	// A load by device address looks for the lanes that need its memory, and what subgroups do for those that take part.
	writes := in.Op == kernel.MoveMasked32 || !stores && (in.Stores() || in.Physical()) || in.All()
	if u.partial && (stores && u.writes || writes && u.stores) {
		return false
	}
	u.stores, u.writes = u.stores || stores, u.writes || writes
	return true
}

// storesToSlot says whether an instruction stores to memory that others may see. Outputs aren't: whatever is there of
// lanes without effects, nobody looks at it.
func storesToSlot(p *program.Program, in *native.Inst) bool {
	return in.Stores() && !in.Private() && (in.Physical() || p.Slots[in.Slot].Kind != program.SlotOutputs)
}
