package vm

import (
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"farside/compute/internal/kernel"
	"farside/compute/internal/native"
	"farside/compute/internal/program"
	"farside/internal/sampling"
)

// align is what register files and shared memory begin at a multiple of: a line of the cache.
const align = 64

// worker executes batches of lanes of a program, one after the other. The driver of a stage embeds it. It says which
// lanes the batches have (setBatch), begins one (restart), fills the registers of what goes in, lets it execute, and
// reads the registers of what comes out (setUniform, chunk32, chunk64).
type worker struct {
	engine   *Engine
	program  *program.Program
	kernels  *kernel.Set
	run      *execution
	file     []byte // the registers
	steps    []step
	slots    []kernel.Memory
	privates []kernel.Memory
	images   []imageBinding
	lookup   sampling.Lookup // what an instruction that samples asks for, until it is done
	span     *sampling.Span  // likewise, of many lanes; nil until one samples so
	pending  []pending       // of each mask register that control flow uses; the last one takes the lanes that end

	// Which lanes take part. Where those of the chunks of active are all, nobody needs a register that says so.
	active   span
	mask     kernel.Register // the execution mask in the chunks of active, or none where it is full
	source   kernel.Register // the same, or ones
	lanes    kernel.Register // for the execution mask of a part of the lanes
	start    span            // of the execution mask at the start of a batch
	initial  kernel.Register // that mask
	lanesSet []uint8         // likewise, a bit for each lane
	ones     kernel.Register
	ticks    int    // until Stop is asked
	ended    uint64 // batches that it has brought to their end since it was asked
	fence    atomic.Uint32

	effects effects
	dynamic dynamic
	group   group
	turns   turns
	native  *native.Code // nil if the program has none, or not for the memory of this execution
	adds    *kernel.Adds // nil if the program has none that wait
}

// pending is a mask register that collects lanes for an Enter or Again.
type pending struct {
	register kernel.Register
	span          // in which it may have lanes
	whole    bool // it has all lanes of the span, though the register says none
}

// span is the chunks from first to before end, and how many lanes of them are meant; fewer than none is unknown.
type span struct {
	first, end int
	lanes      int
}

// unknown is a number of lanes that is not known, whatever is added to it.
const unknown = math.MinInt32

func (s *span) empty() bool { return s.first == s.end }

// full says whether all lanes of the chunks are meant.
func (s *span) full() bool { return s.lanes == (s.end-s.first)*kernel.Width }

// with is the span of the lanes of both. They have no lane in common.
func (s span) with(o span) span {
	switch {
	case s.empty():
		return o
	case o.empty():
		return s
	}
	return span{min(s.first, o.first), max(s.end, o.end), s.lanes + o.lanes}
}

// aligned returns n bytes, zeroed, at a multiple of align.
func aligned(n int) []byte {
	b := make([]byte, n+align)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (align - 1)
	return b[skip : int(skip)+n : int(skip)+n]
}

// init makes all that a worker has. Its batches have all lanes of the program.
func (w *worker) init(e *Engine, p *program.Program) {
	w.engine, w.program, w.kernels = e, p, e.kernels
	w.file = aligned(int(p.FileSize) + max(native.Scratch+32*maxNames, e.area))
	w.steps = append([]step(nil), e.steps...)
	w.slots = make([]kernel.Memory, len(p.Slots)+2*len(e.physical))
	w.privates = make([]kernel.Memory, len(e.privates))
	w.images = make([]imageBinding, len(p.Images))
	w.pending = make([]pending, len(e.masks)+1)
	w.dynamic.init()
	for i, private := range e.privates {
		size := uint64(private.base.Size)
		if !private.base.Uniform() {
			size = uint64(private.base.Step) * uint64(e.chunks)
		}
		w.privates[i] = kernel.Memory{Base: w.bind(private.base).Base, Size: size * private.count}
	}
	for i, r := range e.masks {
		w.pending[i].register = w.bind(r)
	}
	w.pending[len(e.masks)].register, _ = newRegister(make([]uint32, e.chunks*kernel.Width))
	w.lanes = w.bind(p.Mask)
	for i := range w.steps {
		w.bindStep(&w.steps[i])
	}
	for _, c := range p.Constants {
		w.setUniform(c.Register, c.Bits)
	}
	w.ones, _ = newRegister(allLanes[:])
	w.ones.Step = 0
	if slices.ContainsFunc(p.Insts, func(in program.Inst) bool { return in.Code == program.AccessPhysical }) {
		w.dynamic.near = newNear(e.chunks)
	}
	if e.delays {
		w.adds = new(kernel.Adds)
	}
	w.initial, _ = newRegister(make([]uint32, e.chunks*kernel.Width))
	if len(p.Subgroups) > 0 {
		w.group.mask, _ = newRegister(make([]uint32, e.chunks*kernel.Width))
	}
	if e.Partial {
		w.effects.init(e.chunks)
	}
	all := make([]uint8, e.chunks)
	for lane := range p.Lanes {
		all[lane/kernel.Width] |= 1 << (lane % kernel.Width)
	}
	w.setBatch(all, all)
}

// bind says where a register lies in the worker's file.
func (w *worker) bind(r program.Register) kernel.Register {
	if r.Size == 0 {
		return kernel.Register{}
	}
	return kernel.Register{Base: unsafe.Pointer(&w.file[r.Offset]), Step: uintptr(r.Step)}
}

func (w *worker) bindStep(s *step) {
	in := s.inst
	s.args = kernel.Args{Dst: w.bind(in.Dst), A: w.bind(in.A), B: w.bind(in.B), C: w.bind(in.C), Immediate: in.Immediate}
	switch in.Code {
	case program.Access, program.AccessPhysical, program.AccessPrivate:
		if in.A.Size == 0 {
			s.args.A = w.dynamic.zero
		}
		if in.Base.Size > 0 {
			s.base = w.chunk32(in.Base, 0)
		}
	}
	if s.act == actPrefix {
		switch in.Op {
		case kernel.EqI32:
			s.first, s.base = w.chunk32(in.A, 0), &justOne
		case kernel.LeU32, kernel.LeS32:
			s.first, s.base = w.chunk32(in.B, 0), w.chunk32(in.A, 0)
		default:
			s.first, s.base = w.chunk32(in.A, 0), w.chunk32(in.B, 0)
		}
	}
	switch in.Code {
	case program.Access:
		s.args.C = w.bind(in.D)
		if !in.Dynamic {
			s.args.Memory = &w.slots[in.Index]
		}
	case program.AccessPhysical:
		s.args.C = w.bind(in.D)
	case program.AccessPrivate:
		s.args.C = kernel.Register{}
		s.args.Memory = &w.privates[s.index]
	}
}

// runRow executes the program for n batches, each of whose input in Engine.rows is one more than in the one before.
func (w *worker) runRow(n uint32) {
	at := w.native.RunGroups(w.mode(), n, w.file, unsafe.SliceData(w.slots), w.start.end)
	w.resume(at, 0, w.start.end)
}

// mode is how the active lanes execute machine code.
func (w *worker) mode() native.Mode {
	switch {
	case w.mask.Base != nil:
		return native.Masked
	case w.run.stream:
		return native.Streaming
	}
	return native.Plain
}

// runNative executes a run of steps. What looks at a mask in it are either stores or moves where batches are partial
// (maskUses).
func (w *worker) runNative(run int) {
	mode, mask := w.mode(), w.mask
	if w.effects.some && w.engine.storing[run] {
		w.findActing()
		mode, mask = native.Masked, w.effects.acting
	}
	w.runMasked(run, mode, mask, w.active.first, w.active.end-w.active.first)
}

// runMasked executes a run for some chunks.
func (w *worker) runMasked(run int, mode native.Mode, mask kernel.Register, first, n int) {
	at := w.native.Run(run, mode, unsafe.Pointer(unsafe.SliceData(w.file)), unsafe.SliceData(w.slots), mask.Base, first, n)
	w.resume(at, first, n)
}

// resume has machine code go on, as often as it stops at an access by device address.
func (w *worker) resume(at native.Region, first, n int) {
	for !at.Ended() {
		w.missed()
		at = w.native.Resume(at, unsafe.Pointer(unsafe.SliceData(w.file)), unsafe.SliceData(w.slots), first, n)
	}
}

// setLanes lets chunks of a mask have the lanes whose bits are set.
func setLanes(r kernel.Register, lanes []uint8) {
	chunks := unsafe.Slice((*[kernel.Width]uint32)(r.Base), len(lanes))
	for i, set := range lanes {
		chunks[i] = chunkMasks[set]
	}
}

// chunkMasks are the masks of a chunk whose lanes are the bits of a number.
var chunkMasks = func() (all [1 << kernel.Width][kernel.Width]uint32) {
	for set := range all {
		for lane := range all[set] {
			all[set][lane] = -uint32(set >> lane & 1)
		}
	}
	return all
}()

// runPart executes a region for some chunks until it pauses.
func (w *worker) runPart(r *region, mode native.Mode, mask kernel.Register, first, n int, rounds uint32,
	from native.Region) (rest native.Region, loop int32) {
	return w.native.RunRegion(r.run, mode, w.file, unsafe.SliceData(w.slots), mask.Base, first, n, rounds, from)
}

// fillMask sets all lanes of chunks of a mask.
func (w *worker) fillMask(r kernel.Register, from, to int) {
	chunks := unsafe.Slice((*[kernel.Width]uint32)(r.Skip(from).Base), to-from)
	for i := range chunks {
		chunks[i] = allLanes
	}
}

// clearLanes takes lanes of a chunk out of a mask.
func (w *worker) clearLanes(r kernel.Register, chunk, from, to int) {
	clear((*[kernel.Width]uint32)(r.Skip(chunk).Base)[from:to])
}

// setUniform writes the copies of a uniform register.
func (w *worker) setUniform(r program.Register, bits uint64) {
	if r.Size == 64 {
		lanes := w.chunk64(r, 0)
		for i := range lanes {
			lanes[i] = bits
		}
		return
	}
	lanes := w.chunk32(r, 0)
	for i := range lanes {
		lanes[i] = uint32(bits)
	}
}

// chunk32 is a chunk of a register of 32-bit values; of a uniform register there is one.
func (w *worker) chunk32(r program.Register, chunk int) *[kernel.Width]uint32 {
	at := int(r.Offset) + chunk*int(r.Step)
	return (*[kernel.Width]uint32)(unsafe.Pointer(unsafe.SliceData(w.file[at : at+32])))
}

// words is chunks of a register of 32-bit values that is not uniform.
func (w *worker) words(r program.Register, first, chunks int) []uint32 {
	at := int(r.Offset) + first*int(r.Step)
	words := w.file[at : at+chunks*4*kernel.Width]
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(words))), chunks*kernel.Width)
}

// chunk64 is a chunk of a register of 64-bit values; of a uniform register there is one.
func (w *worker) chunk64(r program.Register, chunk int) *[kernel.Width]uint64 {
	at := int(r.Offset) + chunk*int(r.Step)
	return (*[kernel.Width]uint64)(unsafe.Pointer(unsafe.SliceData(w.file[at : at+64])))
}

// chunkRegister is a chunk, of which values of 32 bits are the first half.
func chunkRegister(chunk *[kernel.Width]uint64) kernel.Register {
	return kernel.Register{Base: unsafe.Pointer(chunk)}
}

func wordOf(chunk *[kernel.Width]uint64, lane int) *uint32 {
	return &(*[2 * kernel.Width]uint32)(unsafe.Pointer(chunk))[lane]
}

func getLane(chunk *[kernel.Width]uint64, lane int, wide bool) uint64 {
	if wide {
		return chunk[lane]
	}
	return uint64(*wordOf(chunk, lane))
}

func setLane(chunk *[kernel.Width]uint64, lane int, wide bool, v uint64) {
	if wide {
		chunk[lane] = v
	} else {
		*wordOf(chunk, lane) = uint32(v)
	}
}

// activeMask is the lanes of a chunk that are active, all ones for each; the chunk must be one of the active ones:
//
//	for chunk := w.active.first; chunk < w.active.end; chunk++ {
func (w *worker) activeMask(chunk int) *[kernel.Width]uint32 {
	return w.chunkOf(w.source, chunk)
}

// chunkOf is a chunk of a register of 32-bit values.
func (w *worker) chunkOf(r kernel.Register, chunk int) *[kernel.Width]uint32 {
	return (*[kernel.Width]uint32)(r.Skip(chunk).Base)
}

// effectMask is the lanes of a chunk that have effects, all ones for each, where some lanes have not.
func (w *worker) effectMask(chunk int) *[kernel.Width]uint32 {
	return (*[kernel.Width]uint32)(w.effects.mask.Skip(chunk).Base)
}

// pairs is a chunk of a mask, two lanes to a word, the first one in its low half.
func pairs(chunk *[kernel.Width]uint32) *[kernel.Width / 2]uint64 {
	return (*[kernel.Width / 2]uint64)(unsafe.Pointer(chunk))
}

// lanesOf is a register of 32-bit values that has one for each lane.
func (w *worker) lanesOf(r program.Register) []uint32 {
	return unsafe.Slice((*uint32)(w.bind(r).Base), w.engine.chunks*kernel.Width)
}

// words is memory of n words.
func words(n int) []uint32 {
	b := aligned(4 * n)
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// wordsMemory is memory over words of Go's.
func wordsMemory(w []uint32) kernel.Memory {
	if len(w) == 0 {
		return kernel.Memory{}
	}
	return kernel.Memory{Base: unsafe.Pointer(unsafe.SliceData(w)), Size: 4 * uint64(len(w))}
}

// chunks is the register of a mask in its span.
func (m *pending) chunks() [][kernel.Width]uint32 {
	return unsafe.Slice((*[kernel.Width]uint32)(m.register.Skip(m.first).Base), m.end-m.first)
}

// fill lets a mask that has no lanes have all of a span.
func (m *pending) fill(s span) { m.span, m.whole = s, true }

// write lets the register say what the mask has.
func (m *pending) write() {
	if m.whole {
		chunks := m.chunks()
		for i := range chunks {
			chunks[i] = allLanes
		}
		m.whole = false
	}
}

// clear takes all lanes out of a mask.
func (m *pending) clear() {
	if !m.whole {
		clear(m.chunks())
	}
	m.span, m.whole = span{}, false
}

// justOne is the bound that a comparison with 0 for equality is.
var justOne = [kernel.Width]uint32{1}

var allLanes = [kernel.Width]uint32{^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0), ^uint32(0),
	^uint32(0)}

// slice is memory over bytes of Go's or the application's.
func slice(b []byte) kernel.Memory {
	if len(b) == 0 {
		return kernel.Memory{}
	}
	return kernel.Memory{Base: unsafe.Pointer(unsafe.SliceData(b)), Size: uint64(len(b))}
}

// newRegister is a register outside of the file, with a copy of the values, a multiple of eight. It also returns its
// first chunk.
func newRegister(values []uint32) (kernel.Register, *[kernel.Width]uint32) {
	b := aligned(4 * len(values))
	base := unsafe.Pointer(unsafe.SliceData(b))
	copy(unsafe.Slice((*uint32)(base), len(values)), values)
	return kernel.Register{Base: base, Step: 4 * kernel.Width}, (*[kernel.Width]uint32)(base)
}
