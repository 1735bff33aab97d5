package vm

import (
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/compute/internal/ops"
	"farside/compute/internal/program"
)

// begin prepares the worker for an execution.
func (w *worker) begin(x *execution) {
	w.run = x
	w.ticks, w.ended = ticks, 0
	copy(w.slots, x.slots)
	clear(w.images)
	w.native = w.engine.native
	for _, m := range x.slots {
		if m.Size >= native.Limit {
			w.native = nil
		}
	}
	if w.adds != nil {
		w.beginAdds()
	}
}

// beginAdds finds the accesses that must do the delayed additions (actDelayed) first. Why others needn't:
//
//  1. A delayed addition is an atomic of a shader without ordering of its own, and nobody reads its result.
//  2. In the Vulkan memory model (appendix "Memory Model", "Location-Ordered" and "Happens-Before") such an atomic is
//     ordered only against accesses of the same location. Accesses of different locations are ordered by barriers and
//     by atomics with acquire or release, which are barriers here.
//  3. Barriers, image operations, and accesses whose memory is known only at run time flush (execute). So does every
//     other atomic, and every access to memory that overlaps that of a delayed addition (actFlushed, found here).
//  4. What is left are loads and stores of other memory with no barrier between. By 2 they have no order with the
//     addition, so nobody can conclude from them that it has been done.
//  5. A shader may wait in a loop for an addition of another invocation. tick flushes, so it comes at last.
//  6. Flush adds with sync/atomic. By the Go memory model these operations behave as if in one sequential order, so
//     workers that add to the same word lose nothing.
func (w *worker) beginAdds() {
	var delayed []kernel.Memory
	for i := range w.steps {
		if *w.steps[i].does() == actDelayed {
			delayed = append(delayed, w.slots[w.steps[i].index])
		}
	}
	for i := range w.steps {
		s := &w.steps[i]
		act := s.does()
		*act = *w.engine.steps[i].does()
		if s.inst.Code != program.Access || s.inst.Dynamic || *act == actDelayed ||
			w.program.Slots[s.index].Kind != program.SlotBuffer {
			continue
		}
		if ops.Updates(s.inst.Op) || slices.ContainsFunc(delayed, w.slots[s.index].Overlaps) {
			*act = actFlushed
		}
	}
}

// flush does the delayed additions.
func (w *worker) flush() {
	if w.adds != nil {
		w.adds.Flush()
	}
}

// end forgets the execution: memory that is not Go's may be given back now.
func (w *worker) end() {
	w.flush()
	if w.run.stream {
		w.engine.native.Fence()
	}
	w.run = nil
	clear(w.slots)
	clear(w.images)
	w.dynamic.forget()
}

// tick says whether the execution has been stopped; now and then it asks Stop. The loop is the one that goes round, or
// -1 behind n batches.
func (w *worker) tick(n int, loop int32) bool {
	w.ticks -= n
	if w.ticks <= 0 {
		w.ticks = ticks
		w.flush() // somebody may wait for them in a loop
		ended := w.run.ended.Add(w.ended)
		w.ended = 0
		if stop := w.run.Stop; stop != nil && stop(ended) {
			w.run.stop(loop)
			return true
		}
	}
	if w.run.stopped.Load() {
		w.run.stopAlso(loop)
		return true
	}
	return false
}

// activate makes the lanes of a span of a mask the active ones.
func (w *worker) activate(s span, mask kernel.Register) {
	w.active, w.mask, w.source = s, mask, mask
	if s.full() {
		w.mask, w.source = kernel.Register{}, w.ones
	}
}

// enter makes a pending mask the execution mask. It says whether there are lanes in it.
func (w *worker) enter(mask int32) bool {
	m := &w.pending[mask]
	switch {
	case m.empty():
		return false
	case m.full():
		w.activate(m.span, w.ones)
		m.clear()
		return true
	}
	from := m.first
	first, end, lanes := w.kernels.Take(w.lanes.Skip(from), m.register.Skip(from), m.end-from)
	m.span = span{}
	w.activate(span{from + first, from + end, lanes}, w.lanes)
	return lanes > 0
}

// reunite adds the lanes of a pending mask to the execution mask, if all lanes are in it then. It says whether they
// are.
func (w *worker) reunite(mask int32) bool {
	m := &w.pending[mask]
	if !m.empty() {
		all := m.with(w.active)
		if !all.full() && all != w.start {
			return false
		}
		m.clear()
		w.activate(all, w.initial)
	}
	return true
}

// split adds the active lanes where condition is true to one mask, and the others to another.
func (w *worker) split(yes, no *pending, condition kernel.Register) {
	yes.write()
	no.write()
	w.kernels.Split(yes.register, no.register, w.source, condition, w.active.first, w.active.end-w.active.first)
	w.active.lanes = unknown
	yes.span = yes.with(w.active)
	no.span = no.with(w.active)
	w.active = span{}
}

// The outcomes of narrow and prefix.
const (
	notNarrowed = iota // narrow has done what split does; prefix has done nothing
	noneLeft           // no lane is active
	someLeft           // the lanes of one mask are active
)

// narrow splits the active lanes and goes on with those of one mask, if no others wait there.
func (w *worker) narrow(s *step) int {
	to, rest := &w.pending[s.to], &w.pending[s.other]
	if !to.empty() {
		if s.invert {
			w.split(rest, to, s.args.A)
		} else {
			w.split(to, rest, s.args.A)
		}
		return notNarrowed
	}
	rest.write()
	from, n := w.active.first, w.active.end-w.active.first
	first, end, lanes, others := w.kernels.Narrow(w.lanes.Skip(from), w.source.Skip(from), rest.register.Skip(from),
		s.args.A.Skip(from), s.invert, n)
	if !others {
		return someLeft
	}
	rest.span = rest.with(span{from, w.active.end, w.active.lanes - lanes})
	w.activate(span{from + first, from + end, lanes}, w.lanes)
	if lanes == 0 {
		return noneLeft
	}
	return someLeft
}

// prefix does what narrow would for the first lanes of a batch. If lanes are inactive or wait it does nothing and
// returns notNarrowed: narrow runs next.
func (w *worker) prefix(s, narrow *step) int {
	to, rest := &w.pending[narrow.to], &w.pending[narrow.other]
	ends := int(narrow.other) == len(w.pending)-1 // nobody asks for the others
	lanes := w.program.Lanes
	if w.active.lanes != lanes || !to.empty() || !ends && !rest.empty() {
		return notNarrowed
	}
	first, bound := int64(s.first[0]), int64(s.base[0])
	if first+int64(lanes) > 1<<31 {
		return notNarrowed // some are less than others before them, or negative
	}
	if s.inst.Op == kernel.LtS32 || s.inst.Op == kernel.LeS32 {
		bound = int64(int32(bound))
	}
	n := int(min(max(bound-first, 0), int64(lanes)))
	if n == lanes {
		return someLeft
	}
	whole := n / kernel.Width
	if !ends {
		rest.fill(span{whole, w.engine.chunks, lanes - n})
		if n%kernel.Width != 0 {
			rest.write()
			w.clearLanes(rest.register, whole, 0, n%kernel.Width)
		}
	}
	if n%kernel.Width == 0 {
		w.activate(span{0, whole, n}, w.ones)
	} else {
		w.fillMask(w.lanes, 0, whole+1)
		w.clearLanes(w.lanes, whole, n%kernel.Width, kernel.Width)
		w.activate(span{0, whole + 1, n}, w.lanes)
	}
	if n == 0 {
		return noneLeft
	}
	return someLeft
}

// leave adds the active lanes to a mask.
func (w *worker) leave(to *pending) {
	if to.empty() && w.active.full() {
		to.fill(w.active)
		w.active = span{}
		return
	}
	to.write()
	w.kernels.OrInto(to.register, w.source, w.active.first, w.active.end-w.active.first)
	to.span = to.with(w.active)
	w.active = span{}
}

// waiting says whether there are lanes in a mask.
func (w *worker) waiting(m *pending) bool {
	if m.empty() || m.lanes > 0 {
		return !m.empty()
	}
	_, _, lanes := w.kernels.Active(m.register.Skip(m.first), m.end-m.first)
	return lanes > 0
}

// execute executes the instructions for the lanes that are active. It says whether it came to the end.
func (w *worker) execute() bool {
	steps := w.steps
	next := 0
	for {
		s := &steps[next]
		next++
		act := s.act
		if act == actNative {
			if w.native != nil {
				if w.engine.together[s.to] {
					w.runTogether(int(s.to))
				} else {
					w.runNative(int(s.to))
				}
				next = int(s.target)
				continue
			}
			act = s.plain
		} else if act == actRegion {
			if w.native != nil {
				if !w.runRegion(s) {
					return false
				}
				next = int(s.target)
				continue
			}
			act = s.plain
		} else if act == actPrefix {
			switch w.prefix(s, &steps[next]) {
			case someLeft:
				next += 2
				continue
			case noneLeft:
				next = int(steps[next+1].target)
				continue
			}
			act = s.plain
		}
		switch act {
		case actKernel:
			s.run(&s.args, w.active.first, w.active.end-w.active.first)
		case actOnce:
			s.run(&s.args, 0, 1)
		case actScale:
			s.scale()
		case actMasked:
			s.args.Mask = w.mask
			s.run(&s.args, w.active.first, w.active.end-w.active.first)
		case actBased:
			s.args.Immediate = s.immediate()
			s.args.Mask = w.mask
			s.run(&s.args, w.active.first, w.active.end-w.active.first)
		case actBasedOnce:
			s.args.Immediate = s.immediate()
			s.run(&s.args, 0, 1)
		case actJump:
			next = int(s.target)
		case actJumpIf:
			if w.condition(s.inst.A) {
				next = int(s.target)
			}
		case actJumpUnless:
			if !w.condition(s.inst.A) {
				next = int(s.target)
			}
		case actSplit:
			w.split(&w.pending[s.to], &w.pending[s.other], s.args.A)
		case actNarrow, actNarrowRound, actStay, actRound, actAgain:
			if next = w.pass(s, act, next); next < 0 {
				return false
			}
		case actLeave:
			w.leave(&w.pending[s.to])
		case actEnter:
			if !w.enter(s.to) {
				next = int(s.target)
			}
		case actBack:
			if w.tick(1, s.index) {
				return false
			}
		case actBackJump:
			if w.tick(1, s.index) {
				return false
			}
			next = int(s.target)
		case actEnded:
			w.active = span{}
		case actEnd:
			return true
		default:
			w.other(s, act)
		}
	}
}

// pass executes what moves lanes between masks in one pass (see engine.fuse), and what goes round for lanes that wait.
// Next is the number of the step behind s. The result is the number of the step to go on with, or -1 if it is
// to stop.
func (w *worker) pass(s *step, act action, next int) int {
	switch act {
	case actNarrow:
		switch w.narrow(s) {
		case someLeft:
			next++
		case noneLeft:
			next = int(w.steps[next].target)
		}
	case actNarrowRound:
		switch w.narrow(s) {
		case someLeft:
			return w.round(&w.steps[next])
		case noneLeft:
			next++
		}
	case actStay:
		if w.reunite(s.to) {
			next++
		} else {
			w.leave(&w.pending[s.to])
		}
	case actRound:
		if w.reunite(s.to) {
			return w.round(&w.steps[next])
		}
		w.leave(&w.pending[s.to])
	case actAgain:
		if w.waiting(&w.pending[s.to]) {
			if w.tick(1, s.index) {
				return -1
			}
			next = int(s.target)
		}
	}
	return next
}

// round goes round a loop by its Again, to behind the Enter there: those that it would let in are active already.
func (w *worker) round(again *step) int {
	if w.tick(1, again.index) {
		return -1
	}
	return int(again.target) + 1
}

// other executes the steps that are worth more than a call: accesses that are not simply a kernel, and what calls
// other parts of the package.
func (w *worker) other(s *step, act action) {
	switch act {
	case actDelayed:
		s.args.Mask = w.mask
		s.args.Immediate = s.immediate()
		w.adds.Add(&s.args, w.active.first, w.active.end-w.active.first)
	case actFlushed:
		w.adds.Flush()
		s.args.Immediate = s.immediate()
		w.access(s)
	case actDynamic:
		w.flush()
		w.accessDynamic(s)
	case actPhysical:
		w.flush()
		w.accessPhysical(s)
	case actBarrier:
		w.flush()
		w.fence.Add(1)
	case actImage:
		w.flush()
		w.image(s.index)
	case actSubgroup:
		w.subgroup(&w.program.Subgroups[s.index])
	case actPrint:
		w.print(&w.program.Prints[s.index])
	case actLength:
		w.arrayLength(s)
	case actEffect:
		w.effect(s)
	case actNothing:
	}
}

// condition is the value of a uniform mask.
func (w *worker) condition(r program.Register) bool { return w.chunk32(r, 0)[0] != 0 }

// arrayLength writes how many elements of a size fit into a memory behind what comes before them.
func (w *worker) arrayLength(s *step) {
	in := s.inst
	length := func(m kernel.Memory) uint32 {
		if m.Size < in.Immediate {
			return 0
		}
		return uint32((m.Size - in.Immediate) / uint64(max(in.Stride, 1)))
	}
	if !in.Dynamic || in.C.Uniform() {
		var m kernel.Memory
		if in.Dynamic {
			m = w.element(in.Index, w.chunk32(in.C, 0)[0])
		} else {
			m = w.slots[in.Index]
		}
		n := length(m)
		first, end := 0, 1
		if !in.Dst.Uniform() {
			first, end = w.active.first, w.active.end
		}
		for chunk := first; chunk < end; chunk++ {
			*w.chunk32(in.Dst, chunk) = [kernel.Width]uint32{n, n, n, n, n, n, n, n}
		}
		return
	}
	for chunk := w.active.first; chunk < w.active.end; chunk++ {
		active, elements, lengths := w.activeMask(chunk), w.chunk32(in.C, chunk), w.chunk32(in.Dst, chunk)
		for lane := range active {
			if active[lane] != 0 {
				lengths[lane] = length(w.element(in.Index, elements[lane]))
			}
		}
	}
}
