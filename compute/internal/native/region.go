package native

import (
	"cmp"
	"slices"
)

// A region is a run with control flow: a loop with all that is in it. Its code goes through the whole loop with one
// chunk before it begins with the next, so that what the loop computes stays in vectors and in the nearest cache.
//
// Masks are registers. Those that only the region uses are one chunk, zero before and after. Lanes that leave the
// region come to masks that have a chunk for each of the workgroup's.

// controls says whether it is control flow.
func (in *Inst) controls() bool {
	switch in.Op {
	case Jump, JumpIf, JumpUnless, Split, Leave, Enter, Again:
		return true
	}
	return false
}

// moves says whether it moves lanes between masks.
func (in *Inst) moves() bool {
	switch in.Op {
	case Split, Leave, Enter:
		return true
	case Again:
		return in.Dst.Valid
	}
	return false
}

// jumps says whether its Target counts.
func (in *Inst) jumps() bool {
	switch in.Op {
	case Jump, JumpIf, JumpUnless, Enter:
		return true
	case Again:
		return in.Dst.Valid
	}
	return false
}

// isRegion says whether a run is a region: its first instruction is an Enter, behind which it begins, or it has a Jump.
func isRegion(run []Inst) bool {
	return slices.ContainsFunc(run, func(in Inst) bool { return in.controls() })
}

// Where a region keeps what it needs, in the register file behind the scratch of other runs.
const (
	placeOfMask    = 96 + 32*iota // the active lanes of the chunk
	placeOfMasks                  // the address of the chunks of the mask that it began with, and of the chunk under way
	placeOfOffsets = 192          // two chunks, at a multiple of 64 bytes
	placesEnd      = farEnd       // where the copies of uniform registers begin
	placeOfRounds  = placeOfMasks + 16
	placeOfLoop    = placeOfMasks + 20
	deeper         = 8 // how much more an instruction in a loop counts than one around it
)

// What a region has besides: the vector of the chunk's active lanes, with AVX-512 their signs as well, and the register
// that counts rounds.
const (
	activeVector = vector(11)
	counter      = r12
)

// region is what is known of a region while its code is written.
type region struct {
	insts     []Inst
	divergent bool
	labels    []label // of instructions that begin a block, and of the end; -1 for others
	pins      []Register
	written   []Register        // uniform registers that are written
	based     map[Register]bool // uniform registers that are read from the register file
	copies    int32             // where those of written are, in the register file
	stores    bool              // something looks for single lanes of the mask in the register file
	targets   []bool            // by instruction, whether something jumps to it
	adders    map[Register]int  // by mask, how many instructions add lanes to it
	carried   int               // how many registers that differ between lanes blocks leave to others
}

// Copies is how many chunks of the register file a region needs behind Scratch, for uniform registers.
func Copies(run []Inst) int {
	n := 0
	for _, r := range uniformResults(run) {
		n++
		if r.Wide {
			n++ // the upper half
		}
	}
	return n
}

// uniformResults are the uniform registers that a region writes and that are read in other blocks, or behind it.
func uniformResults(run []Inst) []Register {
	var list []Register
	seen := map[Register]bool{}
	for i := range run {
		in := &run[i]
		if !in.controls() && in.Keep && in.Dst.Valid && in.Dst.Step == 0 && !seen[in.Dst] {
			seen[in.Dst] = true
			list = append(list, in.Dst)
		}
	}
	return list
}

// newRegion looks at the instructions of a region.
func (c *compiler) newRegion(run []Inst) *region {
	r := &region{insts: slices.Clone(run), labels: make([]label, len(run)+1), copies: c.scratch + placesEnd,
		written: uniformResults(run), based: map[Register]bool{},
		divergent: slices.ContainsFunc(run, func(in Inst) bool { return in.moves() })}
	r.targets, r.adders = make([]bool, len(run)+1), map[Register]int{}
	for i := range r.labels {
		r.labels[i] = -1
	}
	begin := func(i int) {
		if r.labels[i] < 0 {
			r.labels[i] = c.label()
		}
	}
	begin(0)
	begin(len(run))
	for i := range r.insts {
		in := &r.insts[i]
		if in.controls() {
			begin(i + 1)
			if in.jumps() {
				begin(int(in.Target))
				r.targets[in.Target] = true
			}
			switch in.Op {
			case Split:
				r.adders[in.B]++
				fallthrough
			case Leave:
				r.adders[in.Dst]++
			}
			continue
		}
		r.stores = r.stores || in.Stores()
		if in.movesMasked() && in.Dst.Step > 0 && (r.divergent || c.mode == Masked) {
			in.C = in.Dst // for the lanes that don't take part
		}
		for _, o := range []Register{in.Base, in.A} {
			if o.Valid && o.Step == 0 && (o == in.Base || in.Private()) {
				r.based[o] = true
			}
		}
	}
	r.choosePins(len(c.places)/2, c.twice)
	for i := range r.insts {
		if in := &r.insts[i]; slices.Contains(r.pins, in.Dst) || r.based[in.Dst] {
			in.Keep = r.based[in.Dst]
		}
	}
	return r
}

// choosePins chooses the registers that vectors hold all the time: those which blocks leave to others, and of them
// those that inner loops use most, up to a number.
func (r *region) choosePins(most int, twice bool) {
	weights := make([]int, len(r.insts))
	for i := range weights {
		weights[i] = 1
	}
	for i := range r.insts {
		if in := &r.insts[i]; in.jumps() && int(in.Target) <= i {
			for k := int(in.Target); k <= i; k++ {
				weights[k] = min(weights[k]*deeper, 1<<20)
			}
		}
	}
	uses := map[Register]int{}
	shared := map[Register]bool{} // between blocks
	local := map[Register]bool{}  // written in this block
	for i := range r.insts {
		in := &r.insts[i]
		if r.labels[i] >= 0 {
			clear(local)
		}
		list := []Register{in.A, in.B, in.C}
		if in.controls() {
			list = list[:1]
		} else if in.Private() {
			list = list[:2]
		}
		for _, o := range list {
			if o.Valid {
				uses[o] += weights[i]
				shared[o] = shared[o] || !local[o]
			}
		}
		if !in.controls() && in.Dst.Valid {
			uses[in.Dst] += weights[i]
			shared[in.Dst] = shared[in.Dst] || in.Keep
			local[in.Dst] = true
		}
	}
	for o := range shared {
		if shared[o] {
			r.pins = append(r.pins, o)
		}
	}
	slices.SortFunc(r.pins, func(a, b Register) int {
		return cmp.Or(cmp.Compare(uses[b], uses[a]), cmp.Compare(a.Offset, b.Offset), compareUpper(a, b))
	})
	for _, p := range r.pins {
		if p.Step > 0 && r.writes(p) {
			r.carried++
		}
	}
	if twice {
		r.pinsOfTwo(most)
		return
	}
	r.pins = r.pins[:min(len(r.pins), most)]
}

// region writes the code of a region. It leaves 0 in rax behind the last chunk, and before that, when the rounds are
// used up, the address where to go on.
func (c *compiler) region(run []Inst) {
	c.inRegion = true
	if ofSubgroups(run) {
		c.twice = true
		c.regionOfPairs(run)
		c.twice, c.inRegion = false, false
		c.zero(rax)
		c.leave()
		return
	}
	if c.pairs(run) {
		c.twice = true
		c.regionOfPairs(run)
		c.twice = false
		c.regionOfPairs(run)
	}
	c.regionOfChunks(run)
	c.inRegion = false
}

// regionOfChunks writes what goes through a region chunk by chunk.
func (c *compiler) regionOfChunks(run []Inst) {
	r := c.newRegion(run)
	given := c.mode
	c.fixed, c.places = r.pins, placesOf(len(c.places), len(r.pins))
	next, chunk := c.label(), c.label()
	if r.divergent {
		c.mode, c.divergent, c.most = Masked, true, len(c.places)-1
		if given == Masked {
			c.store64(at(file, c.scratch+placeOfMasks), mask)
		}
	}
	c.load32(counter, at(file, c.scratch+placeOfRounds))
	c.clearMasks(r)
	c.saveUniforms(r)
	c.place(chunk)
	if r.divergent {
		c.beginMask(given, next)
	}
	c.blocks(r)
	c.place(next)
	c.arithmetic(adds, offset, 32)
	c.cmp(offset, end)
	c.jumpIf(below, chunk)
	c.zero(rax)
	c.leave()
	c.writeLater()
	c.fixed, c.places = nil, placesOf(len(c.places), 0)
	c.mode, c.divergent, c.most = given, false, len(c.places)
}

// blocks writes the instructions of a region, and what stores its results.
func (c *compiler) blocks(r *region) {
	c.restoreUniforms(r)
	c.loadPins()
	if r.insts[0].Op == Enter {
		c.jump(r.labels[1])
	}
	c.looping = true
	for from := 0; from < len(r.insts); {
		to := from + 1
		for r.labels[to] < 0 {
			to++
		}
		c.place(r.labels[from])
		from = c.block(r, from, to)
	}
	c.looping = false
	c.place(r.labels[len(r.insts)])
	c.storePins(r)
}

// saveUniforms copies the uniform registers that the region writes: each chunk begins with what they are now.
func (c *compiler) saveUniforms(r *region) {
	for i, u := range r.written {
		c.one(vmovups, spare[0], memory(c.home(u)))
		c.store(at(file, r.copies+32*int32(i)), spare[0])
	}
}

func (c *compiler) restoreUniforms(r *region) {
	w := c.width()
	defer c.setWidth(w)
	c.setWidth(width{})
	for i, u := range r.written {
		c.one(vmovups, spare[0], memory(at(file, r.copies+32*int32(i))))
		c.store(c.home(u), spare[0])
	}
}

// clearMasks clears the masks that only the region uses.
func (c *compiler) clearMasks(r *region) {
	c.two(vpxor, spare[0], spare[0], reg(spare[0]))
	done := map[Register]bool{}
	for i := range r.insts {
		in := &r.insts[i]
		for _, m := range []Register{in.Dst, in.B} {
			if in.moves() && m.Valid && m.Step == 0 && !done[m] {
				done[m] = true
				c.store(c.home(m), spare[0])
			}
		}
	}
}

// beginMask makes the chunk's lanes of the mask that the region began with the active ones, or goes to none.
func (c *compiler) beginMask(given Mode, none label) {
	if given == Masked {
		c.load64(rcx, at(file, c.scratch+placeOfMasks))
		c.one(vmovups, activeVector, memory(address{base: rcx, index: offset}))
		c.signs(rcx, activeVector)
		c.test(rcx)
		c.jumpIf(equal, none)
	} else {
		c.two(vpcmpeqd, activeVector, activeVector, reg(activeVector))
	}
	c.store(c.activeLanes(), activeVector)
	c.pointToMask()
	c.activeSigns()
}

// activeSigns makes activeBits.
func (c *compiler) activeSigns() {
	if avx512() {
		c.signsTo(c.activeBits(), activeVector)
	}
}

// activate stores the active lanes if anything looks there, and goes to none if there are none.
func (c *compiler) activate(r *region, none label) {
	if c.paired {
		c.testActive()
		c.jumpIf(equal, none)
		return
	}
	if r.stores {
		c.store(c.activeLanes(), activeVector)
	}
	c.activeSigns()
	c.signs(rcx, activeVector)
	c.test(rcx)
	c.jumpIf(equal, none)
}

// activeLanes is where the active lanes of the chunk lie.
func (c *compiler) activeLanes() address { return at(file, c.scratch+placeOfMask) }

// pointToMask lets maskOf be activeLanes.
func (c *compiler) pointToMask() {
	c.lea(mask, c.activeLanes())
	c.sub(mask, offset)
}

func (c *compiler) loadPins() {
	for i, p := range c.fixed {
		c.fetch(c.places[i], p)
	}
}

// storePins writes the pinned registers that the region writes to the register file.
func (c *compiler) storePins(r *region) {
	for i, p := range r.pins {
		if r.writes(p) || c.twice && i > 0 && r.pins[i-1].inSecond() == p && r.writes(r.pins[i-1]) {
			c.storeHome(p, c.places[i])
		}
	}
}

// block writes the instructions from one index to another, of which only the last may be control flow. It gives the
// index of what comes next.
func (c *compiler) block(r *region, from, to int) int {
	insts := r.insts[from:to]
	if c.twice {
		insts = inTwo(insts)
	}
	c.begin(insts)
	defer func() { c.second = false }()
	for i := range c.insts {
		c.at = i
		in := &c.insts[i]
		c.second = in.part == secondPart
		switch {
		case !in.controls():
			c.inst(in)
		case r.hands(to - 1):
			c.handOn(r, in, &r.insts[to])
			if in.part == firstPart {
				continue
			}
			if !r.targets[to] {
				return to + 1
			}
			c.jump(r.labels[to+1])
		default:
			c.control(r, in)
		}
	}
	return to
}

// hands says whether instruction i moves lanes to a mask, to which nothing else does, and the next one takes them from
// there.
func (r *region) hands(i int) bool {
	if i+1 >= len(r.insts) {
		return false
	}
	in, next := &r.insts[i], &r.insts[i+1]
	m := next.Dst
	if !m.Valid || m.Step != 0 || r.adders[m] != 1 || in.Op != Leave && in.Op != Split || m != in.Dst && m != in.B ||
		in.Dst == in.B {
		return false
	}
	return next.Op == Enter || next.Op == Again && r.insts[next.Target].Op == Enter && r.insts[next.Target].Dst == m
}

// handOn writes an instruction that moves lanes to a mask and the next one, which takes them from there, without the
// mask.
func (c *compiler) handOn(r *region, in, next *Inst) {
	if in.Op == Split && c.paired {
		c.splitOn(in, next)
	} else if in.Op == Split {
		others, condition := spare[1], c.vector(0, spare[2])
		yes, no := activeVector, others
		if next.Dst == in.B {
			yes, no = others, activeVector
		}
		c.one(vmovups, spare[0], reg(activeVector))
		c.two(vpand, yes, spare[0], reg(condition))
		c.two(vpandn, no, condition, reg(spare[0]))
		to := in.B
		if next.Dst == in.B {
			to = in.Dst
		}
		if to.Valid {
			c.addLanes(to, others)
		}
	}
	if in.part == firstPart {
		return
	}
	if in.Op == Split {
		none := r.labels[next.Target]
		if next.Op == Again {
			none = c.label()
			defer func() { c.place(none) }()
		}
		c.activate(r, none)
	}
	if next.Op == Again {
		c.round(r, next.Slot, r.labels[next.Target+1])
		c.jump(r.labels[next.Target+1])
	}
}

// control writes control flow.
func (c *compiler) control(r *region, in *Inst) {
	if c.paired && c.controlPair(r, in) {
		return
	}
	switch in.Op {
	case Jump:
		c.jump(r.labels[in.Target])
	case JumpIf, JumpUnless:
		if h := c.find(in.A); h != nil {
			c.low(rcx, c.number(h))
		} else {
			c.load32(rcx, c.home(in.A))
		}
		c.test(rcx)
		when := notEqual
		if in.Op == JumpUnless {
			when = equal
		}
		c.jumpIf(when, r.labels[in.Target])
	case Split:
		c.split(in)
	case Leave:
		if in.Dst.Valid {
			c.one(vmovups, spare[0], reg(activeVector))
			c.addLanes(in.Dst, spare[0])
		}
	case Enter:
		c.one(vmovups, activeVector, memory(c.home(in.Dst)))
		c.two(vpxor, spare[1], spare[1], reg(spare[1]))
		c.store(c.home(in.Dst), spare[1])
		c.activate(r, r.labels[in.Target])
	case Again:
		next := c.label()
		if in.Dst.Valid {
			c.one(vmovups, spare[0], memory(c.home(in.Dst)))
			c.signs(rcx, spare[0])
			c.test(rcx)
			c.jumpIf(equal, next)
			c.round(r, in.Slot, r.labels[in.Target])
			c.jump(r.labels[in.Target])
		} else {
			c.round(r, in.Slot, next)
		}
		c.place(next)
	}
}

// split writes a Split.
func (c *compiler) split(in *Inst) {
	lanes, condition := spare[1], c.vector(0, spare[2])
	if in.Dst.Valid {
		c.two(vpand, lanes, activeVector, reg(condition))
		c.addLanes(in.Dst, lanes)
	}
	if in.B.Valid {
		c.two(vpandn, lanes, condition, reg(activeVector))
		c.addLanes(in.B, lanes)
	}
}

// addLanes adds the chunk's lanes to a mask.
func (c *compiler) addLanes(to Register, lanes vector) {
	c.two(vpor, lanes, lanes, memory(c.home(to)))
	c.store(c.home(to), lanes)
}

// round writes what counts a round of a loop. When the rounds are used up it returns, and goes on at the place given.
func (c *compiler) round(r *region, loop int32, to label) {
	pause := c.label()
	c.integer(false, 0x83, subtracts, reg(vector(counter)), 1)
	c.bytes(1)
	c.jumpIf(below, pause)
	c.behind(pause, to, func() { c.pause(r, loop) })
}

// pause returns to Go, and writes where to go on.
func (c *compiler) pause(r *region, loop int32) {
	on := c.label()
	for i, p := range r.pins {
		c.storeHome(p, c.places[i])
	}
	if c.paired {
		c.eachPair(func() { c.storeBits(c.maskBits(c.activeLanes()), c.activeBits()) })
	} else if r.divergent {
		c.store(c.activeLanes(), activeVector)
	}
	c.store64(at(file, c.scratch+placeOfMasks+8), offset)
	c.zero(rcx)
	c.lea(rcx, at(rcx, loop))
	c.store32(at(file, c.scratch+placeOfLoop), rcx)
	c.leaLabel(rax, on)
	c.leave()
	c.place(on)
	c.load64(offset, at(file, c.scratch+placeOfMasks+8))
	c.load32(counter, at(file, c.scratch+placeOfRounds))
	if c.paired {
		c.eachPair(func() { c.loadBits(c.activeBits(), c.maskBits(c.activeLanes())) })
	} else if r.divergent {
		c.pointToMask()
		c.one(vmovups, activeVector, memory(c.activeLanes()))
		c.activeSigns()
	}
	c.loadPins()
}
