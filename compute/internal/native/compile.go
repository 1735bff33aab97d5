package native

import (
	"math"
	"slices"

	"farside/compute/internal/kernel"
)

// Where things are while the code runs. The memory slots are pairs of an address and a size.
const (
	file   = rdi // the register file
	slots  = r8
	offset = rsi // of the chunk: 32 bytes each
	end    = r15 // of the chunks
	mask   = r13 // the chunks of the mask, if there is one
)

// spare are vectors that hold nothing between instructions.
var spare = [4]vector{12, 13, 14, 15}

// few is how many vectors hold registers without AVX-512, many how many do with it.
const (
	few  = 12
	many = 26
)

// placesOf gives the vectors that hold registers, in the order in which they are taken. The first fixed ones hold what
// they hold wherever the code is. The last is activeVector. Instructions that need a low vector get a copy of a high
// one. So what is fixed is in low ones only if others are left.
func placesOf(count, fixed int) []vector {
	const most = 6
	var lows, highs []vector
	for v := range vector(count - 1) {
		switch {
		case count == few:
			lows = append(lows, v)
		case v < lower[0]:
			lows = append(lows, v)
		default:
			highs = append(highs, v-lower[0]+high)
		}
	}
	if fixed <= most {
		return append(append(lows, highs...), activeVector)
	}
	return slices.Concat(highs[:fixed], lows, highs[fixed:], []vector{activeVector})
}

// mostAhead is how many registers the instructions before a loop may have.
const mostAhead = 12

// pointers are what hold addresses in memory, without mask; rax, rcx, rdx and r10 hold nothing between instructions.
var pointers = [...]general{rbx, r9, r11, r12, mask}

// held is a register of the program that a vector holds.
type held struct {
	register Register
	valid    bool
	stored   bool // the register file has it, too
	pinned   int  // the instruction that needs it now
	next     int  // the instruction that reads it next
}

// pointer is the address of accesses whose offsets have been checked for all that come: nil if they are not all within.
type pointer struct {
	number  int // in pointers
	valid   bool
	any     bool // it is for gathers
	a, base Register
	slot    int32
	used    int // by which instruction it was last
}

// later is code that rarely runs, behind the rest.
type later struct {
	from, back label
	width      width
	write      func()
}

// width is how many chunks code is for at a time.
type width struct {
	paired bool // two: neighbours
	halved bool // one of a pair
	second bool // that of two pairs
	wide   bool // vectors have 512 bits
	twice  bool // it is for two pairs, one after the other
}

// compiler writes the code of one run.
type compiler struct {
	*assembler
	scratch   int32 // two chunks in the register file, and how many workgroups are left
	group     Register
	mode      Mode
	insts     []Inst
	looping   bool     // they are executed for more than one chunk
	single    bool     // code is for one chunk at a time
	groups    bool     // runs with instructions on subgroups are for two pairs: whole subgroups
	skipping  bool     // what gathers give lanes that don't take part doesn't matter
	paired    bool     // it is for two
	halved    bool     // it is for one of two
	twice     bool     // it is for two pairs, one after the other
	second    bool     // it is for the second pair
	at        int      // the instruction under way
	written   int      // instructions below this one have been written
	uses      [][4]int // by instruction, when A, B, C and Dst are read again; never is never
	places    []vector
	vectors   []held // what each of places holds
	truths    [lastBits - firstBits + 1]heldBits
	pointers  [len(pointers)]pointer
	fixed     []Register        // in the first of places, wherever the code is
	passing   map[Register]bool // registers of which the run needs no more than the chunks under way
	most      int               // of places, that hold registers where the code is
	inRegion  bool
	divergent bool  // the mask is in activeVector
	ways      []way // of the loop, in the first of pointers
	otherwise label // the loop that does without ways
	aligned   uint8 // what has to be zero of where a loop streams to
	later     []later
	saves     bool  // code may stop at an access
	saving    label // where it does
}

const never = math.MaxInt

// mostCode is how many bytes of code one program may have, about. What would have more is left to the kernels: while it
// is written, memory for more than twice as much is in use. Tests change it.
var mostCode = 16 << 20

// write writes a run.
func (c *compiler) write(run []Inst) {
	run = c.expand(run)
	if isRegion(run) {
		c.region(run)
		return
	}
	var once, each []Inst
	top := c.label()
	c.place(top)
	for _, in := range run {
		if in.Once {
			in.Keep = true
			once = append(once, in)
		} else {
			if c.mode == Masked && in.movesMasked() {
				in.C, in.Keep = in.Dst, true // for the lanes that don't take part
			}
			each = append(each, in)
		}
	}
	c.part(once)
	c.passing = passing(each)
	if len(each) > 0 {
		c.throughChunks(each)
	}
	if c.group.Valid {
		c.nextGroup(top)
	}
	c.zero(rax)
	c.leave()
	c.writeLater()
	c.passing = nil
}

// throughChunks writes instructions for all chunks, of which there may be none.
func (c *compiler) throughChunks(insts []Inst) {
	begin, done := c.label(), c.label()
	c.cmp(offset, end)
	c.jumpIf(below, begin)
	c.jump(done)
	all := func(in Inst) bool { return in.All() }
	switch {
	case c.groups && ofSubgroups(insts):
		c.loopOfSubgroups(begin, insts)
		c.place(done)
		return
	// The first chunk of a subgroup may have no active lane, and then nobody has written its offsets.
	case c.mode != Masked || !slices.ContainsFunc(insts, all):
		if p := newPlan(insts, c.free()-1); len(p.ways) > 0 {
			c.place(begin)
			c.planned(p, c.mode != Masked && c.pairs(insts), done)
			begin = c.otherwise
		}
	}
	c.chunks(begin, insts)
	c.place(done)
}

// passing are the registers that instructions write before they read them, and that nothing reads behind the run. All
// chunks can have them in one place, which stays in the nearest cache: nobody needs what they had before, not even
// lanes that don't take part.
func passing(insts []Inst) map[Register]bool {
	if slices.ContainsFunc(insts, func(in Inst) bool { return in.All() || in.Shuffles() }) {
		return nil // they access other chunks
	}
	list := map[Register]bool{}
	for _, in := range insts {
		for _, r := range []Register{in.A, in.B, in.C, in.Base} {
			if _, seen := list[r]; !seen {
				list[r] = false
			}
		}
		if _, seen := list[in.Dst]; !seen || in.Keep {
			list[in.Dst] = !in.Keep && in.Dst.Step > 0
		}
	}
	return list
}

// planned writes a loop for all chunks, or for all pairs of them, and goes on where that is done. Where it doesn't do
// or where a chunk is left, the code goes to otherwise.
func (c *compiler) planned(p *plan, pair bool, done label) {
	c.ways, c.otherwise = p.ways, c.label()
	if pair {
		c.comparePair()
		c.jumpIf(above, c.otherwise)
	}
	c.aligned = 31
	if pair {
		c.aligned = 63
	}
	c.part(p.ahead)
	begin := c.label()
	c.jump(begin)
	if pair {
		c.loopOfPairs(begin, p.body)
		c.cmp(offset, end)
		c.jumpIf(below, c.otherwise)
	} else {
		c.loop(begin, p.body)
	}
	c.jump(done)
	c.ways = nil
}

// chunks writes instructions for all chunks that are left, at least one.
func (c *compiler) chunks(top label, insts []Inst) {
	if !c.pairs(insts) {
		c.loop(top, insts)
		return
	}
	begin, last, done := c.label(), c.label(), c.label()
	c.place(top)
	c.comparePair()
	c.jumpIf(above, last)
	c.jump(begin)
	c.loopOfPairs(begin, insts)
	c.cmp(end, offset)
	c.jumpIf(atMost, done)
	c.jump(last)
	c.loop(last, insts)
	c.place(done)
}

// behind writes code later, behind the rest: from is where it begins, back where it goes on.
func (c *compiler) behind(from, back label, write func()) {
	c.later = append(c.later, later{from, back, c.width(), write})
}

func (c *compiler) width() width { return width{c.paired, c.halved, c.second, c.wide, c.twice} }

func (c *compiler) setWidth(w width) {
	c.paired, c.halved, c.second, c.wide, c.twice = w.paired, w.halved, w.second, w.wide, w.twice
}

// writeLater writes the code that rarely runs.
func (c *compiler) writeLater() {
	now := c.width()
	for len(c.later) > 0 {
		list := c.later
		c.later = nil
		for _, l := range list {
			c.setWidth(l.width)
			c.place(l.from)
			l.write()
			c.jump(l.back)
		}
	}
	c.setWidth(now)
}

// nextGroup goes back to the top for the next workgroup, if there is one.
func (c *compiler) nextGroup(top label) {
	number, left := c.home(c.group), at(file, c.scratch+64)
	c.one(vbroadcastss, spare[0], memory(number))
	c.two(vpsubd, spare[0], spare[0], c.words(math.MaxUint32))
	c.store(number, spare[0])
	c.zero(offset)
	c.load32(rcx, left)
	c.arithmetic(subtracts, rcx, 1)
	c.store32(left, rcx)
	c.jumpIf(notEqual, top)
}

// loop writes instructions for all chunks that are left, at least one.
func (c *compiler) loop(top label, insts []Inst) {
	c.align(16)
	c.place(top)
	c.looping = true
	c.part(insts)
	c.looping = false
	c.arithmetic(adds, offset, 32)
	c.cmp(offset, end)
	c.jumpIf(below, top)
}

// part writes instructions for one chunk.
func (c *compiler) part(insts []Inst) {
	c.begin(insts)
	for i := range c.insts {
		c.at = i
		c.inst(&c.insts[i])
	}
}

// begin prepares for instructions: nothing is in vectors but what is fixed.
func (c *compiler) begin(insts []Inst) {
	insts = joinAngles(joinNeighbours(insts))
	if avx512() {
		insts = joinLogic(joinRotations(insts, c.fixed), c.fixed, c.paired)
	}
	c.insts, c.written = insts, 0
	c.uses = make([][4]int, len(insts))
	next := map[Register]int{}
	when := func(r Register) int {
		if n, ok := next[r]; ok {
			return n
		}
		return never
	}
	for i, in := range slices.Backward(insts) {
		c.uses[i] = [4]int{when(in.A), when(in.B), when(in.C), when(in.Dst)}
		delete(next, in.Dst)
		for _, r := range []Register{in.A, in.B, in.C} {
			if r.Valid {
				next[r] = i
			}
		}
	}
	clear(c.vectors)
	c.truths = [len(c.truths)]heldBits{}
	for i, p := range c.fixed {
		c.vectors[i] = held{register: p, valid: true}
	}
	for i := range c.pointers {
		c.pointers[i] = pointer{number: i}
	}
}

// home is where a register lies in the file.
func (c *compiler) home(r Register) address {
	a := at(file, int32(r.Offset))
	if r.upper {
		a.displacement += c.halfBytes(r)
	}
	if r.Step != 0 && !r.aside && !c.passing[r] {
		a.index, a.shift = offset, uint8(r.Step/64)
	}
	return a
}

func (c *compiler) find(r Register) *held {
	for i := range c.vectors {
		if v := &c.vectors[i]; v.valid && v.register == r {
			return v
		}
	}
	return nil
}

func (c *compiler) number(h *held) vector {
	for i := range c.vectors {
		if &c.vectors[i] == h {
			return c.places[i]
		}
	}
	panic("not a vector")
}

// take gives a vector for a register: a free one, or that which is read again last.
func (c *compiler) take(r Register, next int) *held {
	var best *held
	for i := range c.vectors[len(c.fixed):c.most] {
		v := &c.vectors[len(c.fixed)+i]
		if !v.valid {
			best = v
			break
		}
		if v.pinned != c.at+1 && (best == nil || v.next > best.next) {
			best = v
		}
	}
	if best.valid && !best.stored {
		c.storeHome(best.register, c.number(best))
	}
	*best = held{register: r, valid: true, pinned: c.at + 1, next: next}
	return best
}

// reads gives operand k, A, B or C, wherever it is. If it is read again, a vector holds it from now on.
func (c *compiler) reads(k int) operand {
	in := &c.insts[c.at]
	r, next := [...]Register{in.A, in.B, in.C}[k], c.uses[c.at][k]
	h := c.find(r)
	if b := c.findBits(r); h == nil && b != nil {
		h = c.take(r, next)
		h.stored = b.stored
		c.spread(c.number(h), c.maskRegister(b), 0)
	}
	if h == nil {
		shared := c.wide && r.Wide && r.Step == 0 // there is no broadcast of 64 bits for each instruction
		if next == never && (c.looping || r.Step > 0) && !shared {
			return operand{memory: true, broadcast: c.wide && r.Step == 0, address: c.home(r)}
		}
		h = c.take(r, next)
		h.stored = true
		c.fetch(c.number(h), r)
	}
	h.pinned, h.next = c.at+1, next
	return reg(c.number(h))
}

// fetch loads a register. Of one that all lanes share only the first is read where it matters: a processor waits where
// it reads as one what was written in parts.
func (c *compiler) fetch(v vector, r Register) {
	if r.Step == 0 && r.Wide {
		c.one(vbroadcastsd, v, memory(c.home(r)))
	} else if r.Step == 0 && (c.wide || !c.looping) {
		c.one(vbroadcastss, v, memory(c.home(r)))
	} else {
		c.one(vmovups, v, memory(c.home(r)))
	}
}

// vector gives operand k in a vector, that given if none holds it.
func (c *compiler) vector(k int, otherwise vector) vector {
	return c.inVector(c.reads(k), otherwise)
}

func (c *compiler) inVector(o operand, otherwise vector) vector {
	if o.memory {
		c.move(otherwise, o)
		return otherwise
	}
	return o.vector
}

// result gives the vector for Dst. What it had is lost, and so are operands that are not read again: it is for the last
// instruction of a sequence.
func (c *compiler) result() vector {
	var dst [1]vector
	c.results(c.insts[c.at:c.at+1], dst[:])
	c.forgetPointers(c.insts[c.at].Dst)
	return dst[0]
}

// resultIn is result, in the vector of one of the operands if nothing reads that again.
func (c *compiler) resultIn(operands ...operand) vector {
	in := &c.insts[c.at]
	c.forget(c.insts[c.at : c.at+1])
	for i := range c.vectors[len(c.fixed):c.most] {
		i += len(c.fixed)
		if slices.Contains(operands, reg(c.places[i])) && !c.vectors[i].valid && !slices.Contains(c.fixed, in.Dst) {
			c.forgetPointers(in.Dst)
			c.vectors[i] = held{register: in.Dst, valid: true, pinned: c.at + 1, next: c.uses[c.at][3]}
			return c.places[i]
		}
	}
	return c.result()
}

// results gives the vectors for the Dst of the instruction under way and of some that follow it.
func (c *compiler) results(list []Inst, dst []vector) {
	c.forget(list)
	for i := range list {
		if k := slices.Index(c.fixed, list[i].Dst); k >= 0 {
			dst[i] = c.places[k]
		} else {
			dst[i] = c.number(c.take(list[i].Dst, c.uses[c.at+i][3]))
		}
	}
}

// forget forgets what is not read again, but for what is fixed, and what the results of instructions replace.
func (c *compiler) forget(list []Inst) {
	gone := func(r Register, next int) bool {
		r.apart = 0
		return next == never || slices.ContainsFunc(list, func(in Inst) bool { return in.Dst == r })
	}
	for i := range c.vectors[len(c.fixed):c.most] {
		// What is not read again by the run but after it has been stored when it was made.
		if v := &c.vectors[len(c.fixed)+i]; v.valid && gone(v.register, v.next) {
			v.valid = false
		}
	}
	for i := range c.truths {
		if b := &c.truths[i]; b.valid && gone(b.register, b.next) {
			b.valid = false
		}
	}
}

// forgetPointers forgets those of offsets that change.
func (c *compiler) forgetPointers(r Register) {
	for i := range c.pointers {
		if p := &c.pointers[i]; p.a == r || p.base == r {
			p.valid = false
		}
	}
}

// inst writes an instruction. Beyond mostCode it writes nothing.
func (c *compiler) inst(in *Inst) {
	if c.at < c.written || len(c.code) > mostCode {
		return
	}
	c.forget(nil)
	if c.wide && c.pairForm(in) {
		return
	}
	if in.Atomic() {
		c.atomic(in)
		return
	}
	switch in.Op {
	case nothing:
		return
	case putAside:
		c.store(at(file, c.scratch+int32(in.Immediate)), c.vector(0, spare[0]))
		return
	case takeBack:
		c.move(c.result(), memory(at(file, c.scratch+int32(in.Immediate))))
	case rotate:
		c.rotate(in)
	case ternary:
		c.ternary(in)
	case kernel.SinF32, kernel.CosF32:
		if c.sineAndCosine() {
			return
		}
		sequences[in.Op](c)
	case kernel.Load32, kernel.LoadU8, kernel.LoadU16:
		c.load(in)
	case Shuffle, ShuffleXor, ShuffleUp, ShuffleDown, QuadBroadcast, QuadSwap:
		c.shuffle(in)
	case Reduce, ScanInclusive, ScanExclusive, Ballot:
		c.together(in)
		return
	case First, Elect:
		c.together(in)
	case kernel.LoadPrivate32, kernel.LoadPrivate64:
		c.loadPrivate(in)
	case kernel.StorePrivate32, kernel.StorePrivate64:
		c.storePrivate(in)
		return
	case kernel.Store32, kernel.Store16, kernel.Store8:
		c.stores(in)
		return
	case kernel.LoadPhysicalU8, kernel.LoadPhysicalU16, kernel.LoadPhysical32, kernel.LoadPhysical64:
		c.loadPhysical(in)
	case kernel.StorePhysical8, kernel.StorePhysical16, kernel.StorePhysical32, kernel.StorePhysical64:
		c.storePhysical(in)
		return
	case findWay:
		c.findWay(in)
		return
	case kernel.MulAddSat:
		c.mulAddSat(in)
	default:
		if s, ok := simple[in.Op]; ok {
			c.simple(s)
		} else if !c.writeWide(in) {
			sequences[in.Op](c)
		}
	}
	c.keep(in)
}

// keep stores the result of an instruction, if it is read after the run, and forgets it if it isn't read by it.
func (c *compiler) keep(in *Inst) {
	h := c.find(in.Dst)
	if in.Keep {
		c.storeHome(in.Dst, c.number(h))
		h.stored = true
	}
	if h.next == never && !slices.Contains(c.fixed, in.Dst) {
		h.valid = false
	}
}

// form is an instruction that does what a kernel does.
type form struct {
	opcode  opcode
	unary   bool
	swapped bool // dst = b op a
	not     bool // the opposite of the result
	byte    int  // an immediate, or -1
}

var simple = map[kernel.Op]form{
	kernel.AddI32: {opcode: vpaddd, byte: -1}, kernel.SubI32: {opcode: vpsubd, byte: -1},
	kernel.MulI32: {opcode: vpmulld, byte: -1}, kernel.AndI32: {opcode: vpand, byte: -1},
	kernel.OrI32: {opcode: vpor, byte: -1}, kernel.XorI32: {opcode: vpxor, byte: -1},
	kernel.AndNotI32: {opcode: vpandn, swapped: true, byte: -1},
	kernel.MinU32:    {opcode: vpminud, byte: -1}, kernel.MinS32: {opcode: vpminsd, byte: -1},
	kernel.MaxU32: {opcode: vpmaxud, byte: -1}, kernel.MaxS32: {opcode: vpmaxsd, byte: -1},
	kernel.AbsI32: {opcode: vpabsd, unary: true, byte: -1},
	kernel.EqI32:  {opcode: vpcmpeqd, byte: -1}, kernel.NeI32: {opcode: vpcmpeqd, not: true, byte: -1},
	kernel.LtS32: {opcode: vpcmpgtd, swapped: true, byte: -1}, kernel.LeS32: {opcode: vpcmpgtd, not: true, byte: -1},
	kernel.AddF32: {opcode: vaddps, byte: -1}, kernel.SubF32: {opcode: vsubps, byte: -1},
	kernel.MulF32: {opcode: vmulps, byte: -1}, kernel.DivF32: {opcode: vdivps, byte: -1},
	kernel.SqrtF32: {opcode: vsqrtps, unary: true, byte: -1},
	kernel.EqF32:   {opcode: vcmpps, byte: 0x00}, kernel.LtF32: {opcode: vcmpps, byte: 0x11},
	kernel.LeF32: {opcode: vcmpps, byte: 0x12}, kernel.NeOrdF32: {opcode: vcmpps, byte: 0x0c},
	kernel.FloorF32: {opcode: vroundps, unary: true, byte: 9}, kernel.CeilF32: {opcode: vroundps, unary: true, byte: 10},
	kernel.TruncF32:     {opcode: vroundps, unary: true, byte: 11},
	kernel.RoundEvenF32: {opcode: vroundps, unary: true, byte: 8},
	kernel.S32ToF32:     {opcode: vcvtdq2ps, unary: true, byte: -1},
}

func (c *compiler) simple(f form) {
	var a vector
	var b operand
	switch {
	case f.unary:
		b = c.reads(0)
	case f.swapped:
		a = c.vector(1, spare[0])
		b = c.reads(0)
	default:
		a = c.vector(0, spare[0])
		b = c.reads(1)
	}
	dst := c.result()
	if f.byte >= 0 {
		c.immediate(f.opcode, dst, a, b, uint8(f.byte))
	} else {
		c.two(f.opcode, dst, a, b)
	}
	if f.not {
		c.not(dst, dst)
	}
}

func (c *compiler) not(dst, a vector) { c.two(vpxor, dst, a, c.words(math.MaxUint32)) }
