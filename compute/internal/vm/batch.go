package vm

import (
	"bytes"

	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/compute/internal/program"
	"farside/internal/sampling"
	"farside/spirv"
)

// effects is which lanes of a batch may do what others see: store, do atomics, write images, print. The others of the
// execution mask run beside them, such as the helper lanes of fragment shaders. They load, and give their values to
// other lanes of their subgroup. What an atomic gives them is undefined.
type effects struct {
	some   bool            // but not all lanes that run may have effects
	lost   bool            // some that had effects have none any more
	given  []uint8         // these lanes, a bit for each
	mask   kernel.Register // likewise; meaningless without some
	acting kernel.Register // those of them that are active, see findActing
	and    kernel.Args     // the step to that
}

func (f *effects) init(chunks int) {
	f.mask, _ = newRegister(make([]uint32, chunks*kernel.Width))
	f.acting, _ = newRegister(make([]uint32, chunks*kernel.Width))
	f.and = kernel.Args{Dst: f.acting, B: f.mask}
}

// setBatch says which lanes of the batches to come run, and which of them have effects: a bit for each lane of a chunk.
// Both are all of the program's lanes where Engine.Partial is false.
func (w *worker) setBatch(lanes, effects []uint8) {
	if !bytes.Equal(w.lanesSet, lanes) { // the masks of most batches are those of the one before
		w.lanesSet = append(w.lanesSet[:0], lanes...)
		setLanes(w.initial, lanes)
		w.start.first, w.start.end, w.start.lanes = w.kernels.Active(w.initial, len(lanes))
	}
	w.effects.some, w.effects.lost, w.effects.given = false, false, effects
	if !w.engine.effects || bytes.Equal(lanes, effects) {
		return
	}
	for i, set := range lanes {
		if set&^effects[i] != 0 {
			w.effects.some = true
		}
	}
	if w.effects.some {
		setLanes(w.effects.mask, effects)
	}
}

// restart begins a batch.
func (w *worker) restart() { w.activate(w.start, w.initial) }

// findActing leaves in acting which of the active lanes may have effects. It returns their span.
func (w *worker) findActing() span {
	f := &w.effects
	from, n := w.active.first, w.active.end-w.active.first
	f.and.A = w.source
	w.kernels.Ops[kernel.AndI32](&f.and, from, n)
	first, end, lanes := w.kernels.Active(f.acting.Skip(from), n)
	return span{from + first, from + end, lanes}
}

// effect executes a step that has effects, in the active lanes that may have some.
func (w *worker) effect(s *step) {
	active, mask, source := w.active, w.mask, w.source
	if w.effects.some {
		acting := w.findActing()
		if acting.lanes == 0 {
			return
		}
		w.activate(acting, w.effects.acting)
	}
	switch s.effect {
	case actOnce, actBasedOnce, actMasked, actBased:
		s.args.Immediate = s.immediate()
		w.access(s)
	default:
		w.other(s, s.effect)
	}
	w.active, w.mask, w.source = active, mask, source
}

// hasEffects says whether others see what an instruction does.
func hasEffects(p *program.Program, in *program.Inst) bool {
	switch in.Code {
	case program.Access, program.AccessPhysical:
		if in.Code == program.Access && !in.Dynamic && p.Slots[in.Index].Kind == program.SlotOutputs {
			return false // whatever is there of lanes without effects
		}
		return ops.Stores(in.Op) || ops.Updates(in.Op)
	case program.CallImage:
		op := p.Images[in.Index].Op
		atomic, ok := imageAtomics[op]
		return op == spirv.OpImageWrite || ok && atomic.op != sampling.AtomicLoad
	case program.CallPrint:
		return true
	}
	return false
}

// looksAtEffects says whether it matters to an instruction which lanes have effects.
func looksAtEffects(p *program.Program, in *program.Inst) bool {
	if in.Code == program.CallSubgroup {
		op := p.Subgroups[in.Index].Op
		return op == spirv.OpDemoteToHelperInvocation || op == spirv.OpIsHelperInvocationEXT
	}
	return hasEffects(p, in)
}

// does is the action of a step, whichever lanes it is for.
func (s *step) does() *action {
	if s.act == actEffect {
		return &s.effect
	}
	return &s.act
}
