package native

import (
	"math/bits"
	"slices"

	"farside/internal/cpuid"
)

// way is where linear accesses go that have the same offsets: 32 bytes further in each chunk, 2, 4 or 8 times as much
// where lanes are so many words apart. Its address, less so many times the offset of the chunk, is in one of pointers
// while the loop runs.
type way struct {
	from    int // the instruction that writes a, or -1
	a, base Register
	slot    int32
	shift   uint8  // the words from a lane to the next, as a power of two
	end     uint64 // how far behind a the accesses reach
	streams []uint64
}

// plan is a loop whose linear accesses are known to be within the memory before it begins.
type plan struct {
	ways  []way
	ahead []Inst // for the first chunk: finds the ways, and changes nothing in the register file
	body  []Inst // what is left for each chunk
}

// planner makes a plan of what is executed for each chunk.
type planner struct {
	insts []Inst
	most  int      // ways
	from  [][3]int // by instruction, which ones write A, B and C; -1 for none
	ahead []bool   // by instruction: offsets depend on it
}

func newPlan(insts []Inst, most int) *plan {
	n := &planner{insts: insts, most: most, from: make([][3]int, len(insts)), ahead: make([]bool, len(insts))}
	last := map[Register]int{}
	for i, in := range insts {
		for k, r := range []Register{in.A, in.B, in.C} {
			n.from[i][k] = -1
			if at, ok := last[r]; ok && r.Valid {
				n.from[i][k] = at
			}
		}
		last[in.Dst] = i
	}
	p := &plan{body: slices.Clone(insts)}
	for i := range p.body {
		if in := &p.body[i]; in.Pattern == Linear && in.unit() == 4 {
			if in.way = p.way(n, i) + 1; in.way > 0 {
				in.A, in.Base = Register{}, Register{}
			}
		}
	}
	p.findWays(n)
	p.body = needed(p.body)
	return p
}

// way returns the number of an access's way, -1 if it has none.
func (p *plan) way(n *planner, i int) int {
	in, from := &n.insts[i], n.from[i][0]
	shift := bits.TrailingZeros8(uint8(in.words()))
	if in.words() != 1<<shift || shift > 3 {
		return -1
	}
	w := slices.IndexFunc(p.ways, func(w way) bool {
		return w.from == from && w.a == in.A && w.base == in.Base && w.slot == in.Slot && int(w.shift) == shift
	})
	if w < 0 {
		if len(p.ways) == n.most || !n.early(from) {
			return -1
		}
		w = len(p.ways)
		p.ways = append(p.ways, way{from: from, a: in.A, base: in.Base, slot: in.Slot, shift: uint8(shift)})
	}
	p.ways[w].end = max(p.ways[w].end, in.Immediate+in.size())
	if in.Stream && in.words() == 1 {
		p.ways[w].streams = append(p.ways[w].streams, in.Immediate)
	}
	return w
}

// early says whether an instruction can be executed before the loop, and marks it and those it depends on. None of them
// accesses memory, and together they fit into vectors: nothing is written to the register file, where the loop
// reads.
func (n *planner) early(i int) bool {
	marks := slices.Clone(n.ahead)
	registers := map[Register]bool{}
	for pending := []int{i}; len(pending) > 0; { // chains may be as long as the program
		i := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if i < 0 || marks[i] {
			continue
		}
		if n.insts[i].accesses() || n.insts[i].Combines() {
			return false
		}
		marks[i] = true
		pending = append(pending, n.from[i][:]...)
	}
	for i, marked := range marks {
		if marked {
			for _, r := range []Register{n.insts[i].Dst, n.insts[i].A, n.insts[i].B, n.insts[i].C} {
				registers[r] = true
			}
		}
	}
	if len(registers) > mostAhead {
		return false
	}
	n.ahead = marks
	return true
}

// findWays writes what comes before the loop: the instructions that compute offsets, and after each the ways that begin
// with it.
func (p *plan) findWays(n *planner) {
	for i := -1; i < len(n.insts); i++ {
		if i >= 0 && n.ahead[i] {
			in := n.insts[i]
			in.Keep = false
			p.ahead = append(p.ahead, in)
		}
		for k, w := range p.ways {
			if w.from == i {
				p.ahead = append(p.ahead, Inst{Op: findWay, A: w.a, Base: w.base, Slot: w.slot, way: k + 1})
			}
		}
	}
}

// needed leaves out instructions without an effect.
func needed(insts []Inst) []Inst {
	read := map[Register]bool{}
	var list []Inst
	for _, in := range slices.Backward(insts) {
		if !in.Stores() && !in.Keep && !read[in.Dst] {
			continue
		}
		delete(read, in.Dst)
		for _, r := range []Register{in.A, in.B, in.C} {
			read[r] = true
		}
		list = append(list, in)
	}
	slices.Reverse(list)
	return list
}

// avx512 says whether the processor has vectors of 512 bits.
var avx512 = func() bool { return cpuid.X86().AVX512 }

// findWay writes what finds a way, or goes to the other loop: if an access of any chunk would not be within the memory,
// or what should be streamed is not aligned.
func (c *compiler) findWay(in *Inst) {
	w, g := &c.ways[in.way-1], pointers[in.way-1]
	base, size := slot(in.Slot)
	c.firstOffset(in, c.reads(0))
	c.lea(rcx, at(end, 0))
	c.sub(rcx, offset)
	c.double(rcx, w.shift)
	c.add(rcx, rax)
	c.lea(rcx, at(rcx, int32(w.end)-32<<w.shift))
	c.cmpFrom(rcx, size)
	c.jumpIf(above, c.otherwise)
	c.addFrom(rax, base)
	if c.mode == Streaming {
		for _, displacement := range w.streams {
			c.lea(rcx, at(rax, int32(displacement)))
			c.testLow(c.aligned)
			c.jumpIf(notEqual, c.otherwise)
		}
	}
	c.lea(rcx, at(offset, 0))
	c.double(rcx, w.shift)
	c.sub(rax, rcx)
	c.lea(g, at(rax, 0))
}

// double adds a register to itself, n times.
func (c *compiler) double(r general, n uint8) {
	for range n {
		c.add(r, r)
	}
}

// onWay is the address of an access that is on a way.
func (c *compiler) onWay(in *Inst) address {
	a := at(pointers[in.way-1], int32(in.Immediate))
	a.index, a.shift = offset, c.ways[in.way-1].shift
	return a
}
