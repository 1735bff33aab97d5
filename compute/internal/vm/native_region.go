package vm

import (
	"cmp"
	"slices"

	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/compute/internal/ops"
	"farside/compute/internal/program"
)

// A loop all of whose instructions have machine code becomes a region: its code takes a chunk through the whole loop
// before the next one. Lanes of different chunks see each other's stores in another order then. They may, as there is
// no barrier in it. Outer loops come first; the inner ones are part of them.

const (
	// regionRounds is how often loops of a region go round before Stop is asked: some hundred microseconds.
	regionRounds = 1 << 13
	// mostRegion is the instructions of the largest region.
	mostRegion = 4096
)

// region is a loop that has become machine code.
type region struct {
	run    int                // of native
	masks  []int32            // of worker.pending, to which its lanes may come
	behind bool               // it begins behind its first instruction, which is an Enter
	leaves bool               // no lane is active behind it: all have come to masks, or ended
	turns  bool               // its chunks take turns
	groups bool               // it goes through whole subgroups
	shared []program.Register // of turns: what it writes that all lanes share
}

// loopSpan is the instructions of a loop, from the first to before the end.
type loopSpan struct{ first, end int }

// loopFinder finds what loops can be regions.
type loopFinder struct {
	program *program.Program
	masks   map[program.Register][]int // the instructions that move lanes to or from a mask
	sources []loopSpan                 // by instruction, the first jump to it and the last one; none if the end is 0
	skips   map[int][]int              // by instruction, the Enters that go to it
}

func newLoopFinder(p *program.Program) *loopFinder {
	f := &loopFinder{program: p, masks: map[program.Register][]int{}, sources: make([]loopSpan, len(p.Insts)+1),
		skips: map[int][]int{}}
	for i := range p.Insts {
		in := &p.Insts[i]
		for _, r := range masksOf(in) {
			f.masks[r] = append(f.masks[r], i)
		}
		switch {
		case in.Code == program.Enter:
			f.skips[int(in.Target)] = append(f.skips[int(in.Target)], i)
		case in.Jumps():
			f.sources[in.Target] = f.sources[in.Target].with(i)
		}
	}
	return f
}

// with is the span with instruction i, behind all of it.
func (l loopSpan) with(i int) loopSpan {
	if l.end == 0 {
		l.first = i
	}
	return loopSpan{l.first, i + 1}
}

// loops are the loops of the program, outer ones first.
func (f *loopFinder) loops() []loopSpan {
	var loops []loopSpan
	insts := f.program.Insts
	for i := range insts {
		switch in := &insts[i]; {
		case in.Code != program.Again:
		case in.Dst.Size > 0:
			loops = append(loops, loopSpan{int(in.Target), i + 1})
		case i+1 < len(insts) && insts[i+1].Jumps() && int(insts[i+1].Target) <= i:
			loops = append(loops, loopSpan{int(insts[i+1].Target), i + 2})
		}
	}
	slices.SortFunc(loops, func(a, b loopSpan) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.end, a.end))
	})
	return loops
}

// regionMasks are the masks of a loop.
type regionMasks struct {
	own    map[program.Register]uint32 // that nothing else uses, with their numbers
	others []program.Register
	ended  bool // lanes end in it
}

// masksOf are the masks that an instruction moves lanes to or from; a jump's may be none.
func masksOf(in *program.Inst) []program.Register {
	switch in.Code {
	case program.Split:
		return []program.Register{in.Dst, in.B}
	case program.Leave, program.Enter, program.Again:
		return []program.Register{in.Dst}
	}
	return nil
}

// masksIn finds the masks of a loop.
func (f *loopFinder) masksIn(l loopSpan) regionMasks {
	m := regionMasks{own: map[program.Register]uint32{}}
	header := &f.program.Insts[l.first]
	for i := l.first; i < l.end; i++ {
		in := &f.program.Insts[i]
		for _, r := range masksOf(in) {
			_, own := m.own[r]
			switch {
			case r.Size == 0:
				m.ended = m.ended || in.Code != program.Again
			case own || slices.Contains(m.others, r):
			case f.emptyAround(r, l),
				// The lanes that wait for the loop have been let in.
				header.Code == program.Enter && r == header.Dst:
				m.own[r] = uint32(len(m.own))
			default:
				m.others = append(m.others, r)
			}
		}
	}
	return m
}

// emptyAround says whether no lane is in a mask when a loop begins and when it ends: what uses the mask last before the
// loop, and last within it, takes all lanes from there, and what uses it next moves some there again.
func (f *loopFinder) emptyAround(mask program.Register, l loopSpan) bool {
	uses := f.masks[mask]
	takes := func(i int) bool {
		return f.program.Insts[i].Code == program.Enter || f.program.Insts[i].Code == program.Again
	}
	first, _ := slices.BinarySearch(uses, l.first)
	end, _ := slices.BinarySearch(uses, l.end)
	if first == 0 && end == len(uses) {
		return true // nothing else uses it
	}
	return (first == 0 || takes(uses[first-1])) && takes(uses[end-1]) && (end == len(uses) || !takes(uses[end]))
}

// closed says whether a loop is entered only at its beginning, and left only at its end, with all lanes active or with
// none: leaves. Those of which none is active have come to masks.
func (f *loopFinder) closed(l loopSpan, m *regionMasks) (ok, leaves bool) {
	insts := f.program.Insts
	active, none := false, false // how the end is reached
	for i := l.first; i < l.end; i++ {
		if s := f.sources[i]; i > l.first && s.end > 0 && (s.first < l.first || s.end > l.end) {
			return false, false
		}
		in := &insts[i]
		to := int(in.Target)
		switch {
		case !in.Jumps():
		case to < l.first:
			return false, false
		case to < l.end:
		case in.Code == program.Enter:
			// Where the end is reached with all lanes active, and none leave the loop otherwise, the mask has some.
		case to > l.end:
			return false, false
		case f.behindLeave(i):
			none = true
		default:
			active = true
		}
	}
	switch insts[l.end-1].Code {
	case program.Jump:
	case program.Again:
		none = true
	default:
		active = true
	}
	if active {
		return !none && !m.ended && len(m.others) == 0, false
	}
	// What comes next finds out that no lane is active.
	return l.end < len(insts) && insts[l.end].Code == program.Enter, true
}

// behindLeave says whether no lane is active at an instruction, as all have come to a mask with the one before.
func (f *loopFinder) behindLeave(i int) bool {
	return i > 0 && f.sources[i].end == 0 && len(f.skips[i]) == 0 && f.program.Insts[i].Code == program.Jump &&
		f.program.Insts[i-1].Code == program.Leave
}

// entered are the Enters before a loop, or behind it, that go into its middle, and where they may go instead. They do
// that with no lane active, and find none in any mask of the loop. Behind one that leaves, an Enter comes.
func (f *loopFinder) entered(l loopSpan, leaves bool) (targets map[int]int, ok bool) {
	targets = map[int]int{}
	for i := l.first + 1; i < l.end; i++ {
		for _, from := range f.skips[i] {
			if from >= l.first && from < l.end {
				continue
			}
			to := i
			if leaves {
				to = l.end
			}
			for to < l.end {
				in := &f.program.Insts[to]
				if in.Code != program.Enter || int(in.Target) <= to {
					return nil, false
				}
				to = int(in.Target)
			}
			targets[from] = to
		}
	}
	return targets, true
}

// nativeRegion makes a region of a loop, if that can be.
func (e *Engine) nativeRegion(f *loopFinder, l loopSpan) ([]native.Inst, *region) {
	p := f.program
	if l.end-l.first > mostRegion || l.first > 0 && e.steps[l.first-1].act == actPrefix {
		return nil, nil
	}
	m := f.masksIn(l)
	closed, leaves := f.closed(l, &m)
	entered, ok := f.entered(l, leaves)
	if !closed || !ok {
		return nil, nil
	}
	arrays := e.newArrayUses(p.Insts[l.first:l.end])
	run := make([]native.Inst, 0, l.end-l.first)
	uniform, varying := 0, 0
	var grouped groupUses
	for i := l.first; i < l.end; i++ {
		in, ok := regionControl(p, i, l)
		if !ok {
			if in, ok = e.nativeInst(p, i); !ok || !arrays.allow(&in) ||
				e.Partial && storesToSlot(p, &in) {
				return nil, nil
			}
			grouped.add(&in)
			in.Keep = p.Insts[i].Until == 0
			if in.Once {
				uniform++
			} else {
				varying++
			}
		}
		run = append(run, in)
	}
	if uniform > 2*varying {
		return nil, nil // done once for all lanes it is less work
	}
	if grouped.shuffles && (!e.grouped || grouped.others) {
		return nil, nil
	}
	e.placeMasks(p, l, run, &m)
	for i, to := range entered {
		e.steps[i].target = int32(to)
	}
	r := &region{run: len(e.regions), behind: p.Insts[l.first].Code == program.Enter,
		leaves: leaves, turns: mayWait(run), groups: grouped.shuffles}
	if r.turns {
		r.shared = sharedIn(p, l)
	}
	for _, o := range m.others {
		r.masks = append(r.masks, int32(slices.Index(e.masks, o)))
	}
	return run, r
}

// mayWait says whether lanes of a loop may wait for what lanes of other chunks do in it: it has an atomic, and looks at
// what that changes.
func mayWait(run []native.Inst) bool {
	for i := range run {
		in := &run[i]
		if in.Atomic() && (in.Dst.Valid || slices.ContainsFunc(run, func(o native.Inst) bool {
			loads := o.Op < kernel.NumOps && ops.Loads(o.Op) && !o.Private()
			return loads && (o.Slot == in.Slot || o.Physical())
		})) {
			return true
		}
	}
	return false
}

// regionControl is control flow as package native has it, with the masks still to come.
func regionControl(p *program.Program, i int, l loopSpan) (native.Inst, bool) {
	in := &p.Insts[i]
	op, ok := regionControls[in.Code]
	n := native.Inst{Op: op, Slot: in.Index, Target: int32(min(int(in.Target), l.end) - l.first)}
	switch in.Code {
	case program.JumpIf, program.JumpUnless, program.Split:
		n.A = native.Register{Offset: in.A.Offset, Step: in.A.Step, Valid: true}
	}
	return n, ok
}

var regionControls = map[program.Code]kernel.Op{
	program.Jump: native.Jump, program.JumpIf: native.JumpIf, program.JumpUnless: native.JumpUnless,
	program.Split: native.Split, program.Leave: native.Leave, program.Enter: native.Enter, program.Again: native.Again,
}

// placeMasks gives each mask a place: its own if other code uses it, or one behind what the region needs besides.
func (e *Engine) placeMasks(p *program.Program, l loopSpan, run []native.Inst, m *regionMasks) {
	first := p.FileSize + native.Scratch + 32*uint32(native.Copies(run))
	place := func(r program.Register) native.Register {
		if at, ok := m.own[r]; ok {
			return native.Register{Offset: first + 32*at, Valid: true}
		}
		return native.Register{Offset: r.Offset, Step: r.Step, Valid: r.Size > 0}
	}
	for i := range run {
		in := &p.Insts[l.first+i]
		for k, r := range masksOf(in) {
			if k == 0 {
				run[i].Dst = place(r)
			} else {
				run[i].B = place(r)
			}
		}
	}
	e.area = max(e.area, int(first-p.FileSize)+32*len(m.own))
}

// runThrough executes a region, a chunk or a subgroup after the other. It says whether that came to its end.
func (w *worker) runThrough(r *region) bool {
	mode, mask, first, n := w.mode(), w.mask, w.active.first, w.active.end-w.active.first
	if r.groups && !w.allLanes() {
		mode, mask = native.Masked, w.group.mask
		first, n = w.wholeGroups()
	}
	var at native.Region
	for {
		var loop int32
		at, loop = w.runPart(r, mode, mask, first, n, regionRounds, at)
		switch {
		case at.Ended():
			return true
		case loop < 0:
			w.missed()
		case w.tick(ticks, loop):
			return false
		}
	}
}

// runRegion executes a region. It says whether that came to its end.
func (w *worker) runRegion(s *step) bool {
	r := &w.engine.regions[s.to]
	for _, m := range r.masks {
		w.pending[m].write()
	}
	if r.turns && !w.runTurns(r) || !r.turns && !w.runThrough(r) {
		return false
	}
	if r.leaves {
		w.active.lanes = unknown
		for _, m := range r.masks {
			w.pending[m].span = w.pending[m].with(w.active)
		}
		w.active = span{}
	}
	return true
}
