package vm

import (
	"errors"
	"runtime/debug"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/internal/ieee"
	"farside/spirv"
)

// Batch is the driver of graphics stages: whoever has it fills the inputs, says which lanes run, and reads the outputs.
// It is one goroutine's at a time.
type Batch struct {
	worker
	execution execution
	inputs    [][]uint32 // by number; nil of those that nobody reads
	outputs   []uint32   // all, one after the other
	unread    uint64     // those that the program leaves out, a bit each
	out       []int32    // slots that are these
	err       error      // why it can't run at all
	running   bool
}

// errBroken is what a batch ends with whose masks may be in any state.
var errBroken = errors.New("the batch has failed before")

// NewBatch makes a batch of a program with so many inputs and outputs, of which it leaves those of unread out. What is
// wrong with the program says Begin.
func (e *Engine) NewBatch(p *program.Program, inputs, outputs int, unread uint64) *Batch {
	b := &Batch{inputs: make([][]uint32, inputs), unread: unread}
	if b.err = e.Prepare(p); b.err != nil {
		return b
	}
	b.init(e, p)
	b.outputs = words(outputs * e.chunks * kernel.Width)
	for i := range p.Slots {
		if p.Slots[i].Kind == program.SlotOutputs {
			b.out = append(b.out, int32(i))
		}
	}
	for i := range p.Builtins {
		switch in := &p.Builtins[i]; {
		case in.Kind >= program.InputKind:
			b.inputs[in.Kind-program.InputKind] = b.lanesOf(in.Register)
		case in.Kind == spirv.BuiltInLocalInvocationIndex:
			b.fillIndex(in.Register, func(index uint32) uint32 { return index })
		default:
			b.fillSubgroup(in)
		}
	}
	return b
}

// Batch gives a batch that was released, or a new one.
func (e *Engine) Batch(p *program.Program, inputs, outputs int, unread uint64) *Batch {
	if b, ok := e.batches.Get().(*Batch); ok {
		return b
	}
	return e.NewBatch(p, inputs, outputs, unread)
}

// Release gives up a batch that has ended. One that is broken is nobody's any more.
func (b *Batch) Release() {
	if b.err == nil && !b.running && b.engine != nil {
		b.engine.batches.Put(b)
	}
}

// FailedBatch is a batch of a program that can't run.
func FailedBatch(err error) *Batch { return &Batch{err: err} }

// Lanes is how many lanes a batch has.
func (b *Batch) Lanes() int {
	if b.engine == nil {
		return 0
	}
	return b.engine.chunks * kernel.Width
}

// Input is where an input's values go, a word for each lane; nil if nobody reads it.
func (b *Batch) Input(i int) []uint32 {
	if i < len(b.inputs) {
		return b.inputs[i]
	}
	return nil
}

// Output is where the values of an output are behind Run; nil if it is left out.
func (b *Batch) Output(i int) []uint32 {
	if n := b.Lanes(); (i+1)*n <= len(b.outputs) && b.unread>>i&1 == 0 {
		return b.outputs[i*n:][:n:n]
	}
	return nil
}

// Begin begins an execution. If it gives no error, End must be called.
func (b *Batch) Begin(v *Environment) error {
	if b.err != nil {
		return b.err
	}
	b.execution.begin(b.engine, b.program, v)
	b.worker.begin(&b.execution)
	for _, i := range b.out {
		b.slots[i] = wordsMemory(b.outputs)
	}
	for _, in := range b.program.Builtins {
		if in.Kind == spirv.BuiltInDeviceIndex {
			b.setUniform(in.Register, uint64(v.DeviceIndex))
		}
	}
	b.running = true
	return nil
}

// Run runs lanes, a bit for each of a chunk, of which effects have effects. It takes those that are discarded out of
// both. It answers false where the execution has come to an end before.
func (b *Batch) Run(lanes, effects []uint8) (ok bool) {
	if !b.running || b.execution.stopped.Load() {
		return false
	}
	n := b.engine.chunks
	if len(lanes) != n || len(effects) != n {
		b.execution.fail(errors.New("the masks of a batch are of another length"), false, false)
		return false
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer ieee.Leave(ieee.Enter())
	defer func() {
		if reason := recover(); reason != nil {
			b.err, ok = errBroken, false
			b.execution.fail(faulted(b.program, reason), false, false)
		}
	}()
	b.setBatch(lanes, effects)
	b.restart()
	if !b.execute() {
		b.err = errBroken
		return false
	}
	if b.effects.lost {
		b.keepEffects(lanes, effects)
	}
	b.effects.given = nil
	b.ended++
	return !b.tick(1, -1)
}

// keepEffects takes lanes that have lost their effects out of both masks.
func (b *Batch) keepEffects(lanes, effects []uint8) {
	for i := range lanes {
		var kept uint8
		for pair, set := range pairs(b.effectMask(i)) {
			kept |= uint8(set&1|set>>32&1<<1) << (2 * pair)
		}
		lanes[i] &^= effects[i] &^ kept
		effects[i] &= kept
	}
}

// End ends an execution, and says what has gone wrong in it.
func (b *Batch) End() error {
	if !b.running {
		return b.err
	}
	b.running = false
	b.worker.end()
	return b.execution.end()
}

// demote takes the effects of the active lanes away.
func (w *worker) demote() {
	if !w.effects.some {
		setLanes(w.effects.mask, w.effects.given)
	}
	for chunk := w.active.first; chunk < w.active.end; chunk++ {
		acting := pairs(w.effectMask(chunk))
		for pair, set := range pairs(w.activeMask(chunk)) {
			acting[pair] &^= set
		}
	}
	w.effects.some, w.effects.lost = true, true
}

// helpers writes which of the active lanes have no effects.
func (w *worker) helpers(to program.Register) {
	if to.Size == 0 {
		return
	}
	for chunk := w.active.first; chunk < w.active.end; chunk++ {
		active, dst := w.activeMask(chunk), w.chunk32(to, chunk)
		for lane := range dst {
			if active[lane] == 0 {
				continue
			}
			dst[lane] = 0
			if w.effects.some {
				dst[lane] = ^w.effectMask(chunk)[lane]
			}
		}
	}
}
