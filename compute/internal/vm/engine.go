// Package vm runs register programs. In come a program and an Environment: Bindings that say what its descriptors refer
// to, push constants, and who is told. What goes out lies in the memory of these.
//
// There are two parts. A worker runs batches of lanes, and knows no stage. The driver of a stage makes the batches.
// That of compute is Engine.Run with walker: a workgroup is a batch. A driver
//   - makes an execution of the Environment, begins each worker with it, and ends both;
//   - says which lanes of a batch run, and which of them have effects (setBatch);
//   - begins a batch (restart), and fills the registers that are the program's inputs;
//   - calls execute, and reads the registers that are its outputs;
//   - gives slots of its own their memory, as compute does with that of workgroups.
//
// What always holds:
//
//  1. An Engine belongs to one program. It translates the instructions to steps when they first run, and keeps workers
//     for later executions. Several may be under way at once.
//  2. A worker is one goroutine's at a time. It executes an instruction for all lanes of a batch before the next one.
//  3. Lanes without effects change no memory that others see, and print nothing. They load, move between blocks, and
//     are active in their subgroup, as all others are.
//  4. Only where Engine.Partial is set may lanes of a batch not run or have no effects. Other engines have no steps
//     that look for such lanes.
//  5. Machine code (native.go) and the kernels give the same bits.
//  6. Between executions no worker points to memory that is not Go's.
//  7. A fault of memory, or a panic, ends the dispatch with an error, and its worker is dropped: its masks may be in
//     any state.
package vm

import (
	"fmt"
	"slices"
	"sync"

	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/compute/internal/ops"
	"farside/compute/internal/program"
)

// Engine is what is kept of a program between executions: the instructions in the form in which they are executed,
// and workers whose instructions are bound to their register files.
type Engine struct {
	PlainGo  bool // kernels in plain Go
	NoNative bool // kernels alone, no machine code made for the program
	Narrow   bool // machine code takes one chunk at a time, with vectors of 256 bits
	Partial  bool // batches may have lanes that don't run, or have no effects

	once     sync.Once
	err      error
	kernels  *kernel.Set
	steps    []step             // of which each worker has a bound copy
	masks    []program.Register // in which control flow collects lanes
	privates []privateArray
	estimate uint64 // nanoseconds of a batch, roughly
	chunks   int
	delays   bool         // some additions are done later
	native   *native.Code // of runs of steps; nil if there is none
	regions  []region     // loops in native: the first of its runs
	physical []int32      // the steps that access memory by device address in native, by range
	area     int          // bytes that they need behind the registers
	rows     bool         // native is the whole program, for workgroups that follow each other along x
	effects  bool         // it matters which lanes have effects
	storing  []bool       // by run: it stores to slots; for partial batches
	together []bool       // by run: it is for whole subgroups
	grouped  bool         // runs with instructions on subgroups go through all of it subgroup by subgroup
	arrays   [][2]uint32  // the beginnings and ends of private arrays with dynamic indices, one after the other
	streamed []int32      // slots that runs store to and nothing loads from
	workers  sync.Pool
	runs     sync.Pool
	batches  sync.Pool
}

// action is what a step does: a Code with what can be known of it before it runs.
type action uint8

const (
	actKernel action = iota + 1 // a kernel on the active chunks
	actOnce                     // a kernel on one chunk
	actScale                    // MulAddSat on one chunk, which most often makes the base of an access
	actMasked                   // a kernel on the active chunks that looks at the mask
	actBased                    // as actMasked, with a base
	actBasedOnce
	actDelayed // an addition that is done later
	actFlushed // as access, after the additions that wait
	actDynamic
	actPhysical
	actJump
	actJumpIf
	actJumpUnless
	actSplit
	actNarrow      // a Split and the Enter behind it: see fuse
	actNarrowRound // a Split and the Again behind it
	actLeave
	actStay  // a Leave and the Enter behind it
	actRound // a Leave and the Again behind it
	actEnter
	actAgain
	actBack     // Again without a mask
	actBackJump // Again without a mask, and the Jump behind it
	actEnded    // Leave without a mask
	actBarrier
	actNothing
	actImage
	actSubgroup
	actPrint
	actLength
	actEnd
	actEffect // effect, in the lanes that may have effects
	actPrefix // a comparison of lane numbers and the narrow behind it: the lanes below base go on; else plain
	actNative // the run of steps from this one to before its target, if there is code; else plain
	actRegion // the same of a region
)

// step is an instruction of a worker. args points into the worker's register file.
type step struct {
	run     kernel.Func
	args    kernel.Args
	act     action
	plain   action                // of actNative, actRegion and actPrefix, what else the step does
	effect  action                // of actEffect
	once    bool                  // of a dynamic or physical access: it is for one chunk
	base    *[kernel.Width]uint32 // what an access adds to its immediate; of actPrefix what lanes are held against
	first   *[kernel.Width]uint32 // of actPrefix: the first lanes, each one more than the one before
	target  int32                 // of a jump, or behind a run
	index   int32                 // of the instruction
	to      int32                 // the mask of Dst, an index of worker.pending; of actNative and actRegion its run
	other   int32                 // of Split: the mask of B
	invert  bool                  // of actNarrow: it goes on where the condition is not true; to is that mask then, too
	near    kernel.Func           // of a physical access the kernel for 32-bit offsets
	width   uint64                // the bytes that it accesses
	rangeOf int                   // the range in which it was the last time
	inst    *program.Inst
}

// privateArray is private memory: count registers from the register base on.
type privateArray struct {
	base  program.Register
	count uint64
}

// Prepare translates the instructions once.
func (e *Engine) Prepare(p *program.Program) error {
	e.once.Do(func() { e.err = e.translate(p) })
	return e.err
}

// translate makes the program's steps, and then those that do the work of several at once.
func (e *Engine) translate(p *program.Program) error {
	e.kernels = kernel.Best()
	if e.PlainGo {
		e.kernels = kernel.Go()
	}
	e.chunks = (p.Lanes + kernel.Width - 1) / kernel.Width
	e.steps = make([]step, len(p.Insts))
	t := translation{e, map[program.Register]int32{}}
	loops := false
	for i := range p.Insts {
		in, s := &p.Insts[i], &e.steps[i]
		*s = step{index: in.Index, target: in.Target, inst: in, to: -1, other: -1}
		var err error
		switch in.Code {
		case program.Kernel, program.Assign, program.Access, program.AccessPhysical, program.AccessPrivate:
			err = t.kernel(p, s)
		default:
			err = t.control(s)
		}
		if e.Partial && hasEffects(p, in) {
			s.effect, s.act = s.act, actEffect
		}
		e.effects = e.effects || looksAtEffects(p, in)
		if err != nil {
			return fmt.Errorf("instruction %d: %w", i, err)
		}
		loops = loops || in.Code == program.Again
	}
	for i := range e.steps {
		for _, m := range []*int32{&e.steps[i].to, &e.steps[i].other} {
			if *m < 0 {
				*m = int32(len(e.masks))
			}
		}
	}
	for i := range e.steps[:max(len(e.steps)-1, 0)] {
		e.fuse(i)
	}
	e.findPrefixes(p)
	e.makeNative(p)
	// About four nanoseconds to begin a kernel, and two for each chunk; loops go round ten times.
	e.estimate = 200 + uint64(len(p.Insts))*uint64(4+2*e.chunks)
	if loops {
		e.estimate *= 10
	}
	return nil
}

// translation is the first pass of translate: it makes a step of each instruction by itself.
type translation struct {
	*Engine
	numbers map[program.Register]int32 // of the masks, indices of engine.masks
}

// mask is the number of a mask, -1 where there is none.
func (t translation) mask(r program.Register) int32 {
	if r.Size == 0 {
		return -1
	}
	i, ok := t.numbers[r]
	if !ok {
		i = int32(len(t.masks))
		t.numbers[r] = i
		t.masks = append(t.masks, r)
	}
	return i
}

// kernel chooses the kernel that a step runs, and over which lanes.
func (t translation) kernel(p *program.Program, s *step) error {
	in := s.inst
	op := in.Op
	switch in.Code {
	case program.Kernel:
		s.act = actKernel
		if in.Dst.Uniform() {
			s.act = actOnce
			if op == kernel.MulAddSat {
				s.act = actScale
			}
		}
	case program.Assign:
		op = kernel.MoveMasked32
		if in.Dst.Size == 64 {
			op = kernel.MoveMasked64
		}
		s.act = actMasked
		if in.Dst.Uniform() {
			s.act = actOnce
		}
	default:
		t.access(s)
	}
	if s.run = t.kernels.Ops[op]; s.run == nil {
		return fmt.Errorf("there is no kernel %v", op)
	}
	if in.Code == program.Access && !in.Dynamic && ops.Updates(op) {
		t.chooseAtomic(p, s)
	}
	return nil
}

// access chooses how a step reaches memory. Where nothing of the access differs between lanes, one chunk does it for
// all; atomics are for each lane.
func (t translation) access(s *step) {
	in := s.inst
	op := in.Op
	s.once = in.A.Uniform() && (ops.Loads(op) && in.Dst.Uniform() || ops.Stores(op) && in.B.Uniform())
	switch {
	case in.Code == program.AccessPhysical:
		s.act = actPhysical
		o := ops.Of(op)
		s.near, s.width = t.kernels.Ops[op], uint64(o.Bytes)
		if o.Slot != 0 {
			s.near = t.kernels.Ops[o.Slot]
		}
	case in.Dynamic:
		s.act = actDynamic
	case s.once:
		s.act = actOnce
		if in.Base.Size > 0 {
			s.act = actBasedOnce
		}
	default:
		s.act = actMasked
		if in.Base.Size > 0 {
			s.act = actBased
		}
	}
	if in.Code == program.AccessPrivate {
		s.index = int32(len(t.privates))
		t.privates = append(t.privates, privateArray{in.C, in.Immediate})
		if !in.C.Uniform() {
			s.act = actMasked
		}
	}
}

// control translates what runs no kernel: jumps, branches of lanes, and calls.
func (t translation) control(s *step) error {
	in := s.inst
	switch in.Code {
	case program.Jump:
		s.act = actJump
	case program.JumpIf:
		s.act = actJumpIf
	case program.JumpUnless:
		s.act = actJumpUnless
	case program.Split:
		s.act, s.to, s.other = actSplit, t.mask(in.Dst), t.mask(in.B)
	case program.Leave:
		s.act, s.to = actLeave, t.mask(in.Dst)
		if s.to < 0 {
			s.act = actEnded
		}
	case program.Enter:
		s.act, s.to = actEnter, t.mask(in.Dst)
	case program.Again:
		s.act, s.to = actAgain, t.mask(in.Dst)
		if s.to < 0 {
			s.act = actBack
		}
	case program.Barrier:
		s.act = actBarrier
		if in.Immediate == 1 {
			s.act = actNothing // the invocations of a workgroup see each other's accesses in order anyway
		}
	case program.ArrayLength:
		s.act = actLength
	case program.CallImage:
		s.act = actImage
	case program.CallSubgroup:
		s.act = actSubgroup
	case program.CallPrint:
		s.act = actPrint
	case program.End:
		s.act = actEnd
	default:
		return fmt.Errorf("there is no code %d", in.Code)
	}
	return nil
}

// fuse lets step i do the work of step i+1 too, where i moves lanes to mask m and i+1 takes them from there at once.
// The lanes then needn't be written to m. Step i+1 stays where it is, for jumps to it and for the case that fusing
// fails.
//
//	step i      step i+1                         step i becomes
//	Leave m     Enter m                          actStay
//	Leave m     Again m, which goes to Enter m   actRound
//	Split m, n  Enter m                          actNarrow
//	Split m, n  Again m, which goes to Enter m   actNarrowRound
//	Again, no m Jump                             actBackJump
//
// With Enter or Again of n, Split's masks change places and invert is set. At run time:
//
//	step            the fast way is open if                  then                       where it goes on
//	actStay         all lanes are active or wait in m        they are all active        behind i+1
//	actRound        the same                                 the same                   behind the Enter
//	actNarrow       no lanes wait in m                       those of m are active      behind i+1, or Enter's target
//	actNarrowRound  no lanes wait in m                       the same                   behind the Enter, or behind i+1
//
// The second place of the last two rows is for when no lane goes to m. If the fast way isn't open, the step does a
// plain Leave or Split, and step i+1 runs.
func (e *Engine) fuse(i int) {
	s, next := &e.steps[i], &e.steps[i+1]
	if s.act == actBack && next.act == actJump {
		s.act, s.target = actBackJump, next.target
		return
	}
	round := next.act == actAgain && e.steps[next.target].act == actEnter && e.steps[next.target].to == next.to
	if next.act != actEnter && !round {
		return
	}
	switch {
	case s.act == actLeave && s.to == next.to:
		s.act = actStay
		if round {
			s.act = actRound
		}
	case s.act == actSplit && s.to != s.other && (s.to == next.to || s.other == next.to):
		s.act = actNarrow
		if round {
			s.act = actNarrowRound
		}
		if s.other == next.to {
			s.to, s.other, s.invert = s.other, s.to, true
		}
	}
}

// findPrefixes finds branches that only the first n lanes of a batch take. Reductions and scans have them, and
// shaders that compare the invocation's number with a size. Which lanes go on is known without a look at each.
func (e *Engine) findPrefixes(p *program.Program) {
	if p.Lanes%kernel.Width != 0 {
		return
	}
	var zeros []program.Register
	for _, c := range p.Constants {
		if c.Bits == 0 {
			zeros = append(zeros, c.Register)
		}
	}
	for i := range e.steps[:max(len(e.steps)-2, 0)] {
		s, next := &e.steps[i], &e.steps[i+1]
		in := s.inst
		if in.Code != program.Kernel || !in.Counts || int(in.Until) != i+1 || next.act != actNarrow || next.inst.A != in.Dst {
			continue
		}
		fits := false
		switch in.Op {
		case kernel.LtU32, kernel.LtS32:
			fits = !next.invert && in.B.Uniform()
		case kernel.LeU32, kernel.LeS32:
			fits = next.invert && in.A.Uniform()
		case kernel.EqI32:
			fits = !next.invert && slices.Contains(zeros, in.B)
		}
		if fits {
			s.plain, s.act = s.act, actPrefix
		}
	}
}

// chooseAtomic replaces an atomic by something faster that does the same. Shared memory belongs to one worker, so it
// needs no atomics. An addition whose result nobody reads can wait; beginAdds says until when, and why.
func (e *Engine) chooseAtomic(p *program.Program, s *step) {
	switch {
	case p.Slots[s.index].Kind == program.SlotShared:
		s.run = kernel.Unshared(s.inst.Op)
	case s.inst.Op == kernel.AtomicAddI32 && s.inst.Dst.Size == 0:
		s.act = actDelayed
		e.delays = true
	}
}

// run is a run that is not in use.
func (e *Engine) run() *run {
	if r, ok := e.runs.Get().(*run); ok {
		return r
	}
	r := &run{}
	r.part = func(int) { r.work() }
	return r
}

// walker is a walker that is not in use.
func (e *Engine) walker(p *program.Program) *walker {
	if w, ok := e.workers.Get().(*walker); ok {
		return w
	}
	return newWalker(e, p)
}
