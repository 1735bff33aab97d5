package native

import (
	"slices"

	"farside/compute/internal/kernel"
)

// logicOps are the operations that combine bits with those at the same place, of words and of 64 bits.
var logicOps = map[kernel.Op]func(a, b uint8) uint8{
	kernel.AndI32: bitsAnd, kernel.OrI32: bitsOr, kernel.XorI32: bitsXor, kernel.AndNotI32: bitsAndNot,
	kernel.NotI32: bitsNot,
	kernel.AndI64: bitsAnd, kernel.OrI64: bitsOr, kernel.XorI64: bitsXor, kernel.NotI64: bitsNot,
}

func bitsAnd(a, b uint8) uint8    { return a & b }
func bitsOr(a, b uint8) uint8     { return a | b }
func bitsXor(a, b uint8) uint8    { return a ^ b }
func bitsAndNot(a, b uint8) uint8 { return a &^ b }
func bitsNot(a, _ uint8) uint8    { return ^a }

// tables are what the operands of VPTERNLOG have in the table of an operation: it has a bit for each triple of bits.
var tables = [3]uint8{0xf0, 0xcc, 0xaa}

const (
	mostBack   = 24 // how many instructions before one those are looked for that it takes over
	mostLeaves = 4  // operands that an instruction may have until more is taken over
)

// leaf is an operand of what becomes one instruction: a register, and which instruction wrote it, or -1.
type leaf struct {
	register Register
	from     int
}

// logicJoiner finds instructions on bits that become one of AVX-512, of three operands.
type logicJoiner struct {
	insts  []Inst
	fixed  []Register
	truths []bool // by instruction, whether its result is true or false in each lane, and so in a mask register
	reads  []int  // by instruction, which one is the last that reads its result
	root   int
	first  int   // from which on instructions are looked at
	taken  []int // instructions whose results only the root and others of these read
}

// joinLogic gives the instructions with those on bits put together where three operands are enough. Those that others
// take over become nothing, so that each instruction stays at its index.
func joinLogic(insts []Inst, fixed []Register, pairs bool) []Inst {
	j := &logicJoiner{insts: insts, fixed: fixed}
	if !j.findReads() {
		return insts
	}
	if pairs {
		j.findTruths()
	}
	joined := false
	for i := range insts {
		if logicOps[j.insts[i].Op] == nil || pairs && j.truths[i] {
			continue
		}
		j.root, j.first, j.taken = i, max(0, i-mostBack), j.taken[:0]
		leaves := j.grow()
		if len(j.taken) == 0 {
			continue
		}
		if !joined {
			j.insts, joined = slices.Clone(insts), true
		}
		in := j.insts[i]
		operands := [3]Register{leaves[0].register, leaves[0].register, leaves[0].register}
		for k, l := range leaves {
			operands[k] = l.register
		}
		table := j.table(leaf{in.Dst, i}, leaves)
		for _, k := range j.taken {
			j.insts[k] = Inst{Op: nothing}
		}
		j.insts[i] = Inst{Op: ternary, A: operands[0], B: operands[1], C: operands[2], Immediate: uint64(table), Dst: in.Dst,
			Once: in.Once, Keep: in.Keep, part: in.part, upper: in.upper}
	}
	return j.insts
}

// findReads fills reads, and says whether there is more than one instruction on bits.
func (j *logicJoiner) findReads() bool {
	n := 0
	for i := range j.insts {
		if logicOps[j.insts[i].Op] != nil {
			n++
		}
	}
	if n < 2 {
		return false
	}
	j.reads = make([]int, len(j.insts))
	last := map[Register]int{}
	for i := range slices.Backward(j.insts) {
		in := &j.insts[i]
		j.reads[i] = last[in.Dst]
		delete(last, in.Dst)
		operands := []Register{in.A, in.B, in.C, in.Base, {}}
		if in.movesMasked() {
			operands[4] = in.Dst
		}
		for _, r := range operands {
			if _, ok := last[r]; r.Valid && !ok {
				last[r] = i
			}
		}
	}
	return true
}

// findTruths fills truths.
func (j *logicJoiner) findTruths() {
	j.truths = make([]bool, len(j.insts))
	is := map[Register]bool{}
	for i := range j.insts {
		in := &j.insts[i]
		f, simple := simple[in.Op]
		_, integers := comparisons[f.opcode]
		switch {
		case in.Op == kernel.NotI32:
			j.truths[i] = is[in.A]
		case logics[in.Op] != opcode{}:
			j.truths[i] = is[in.A] && is[in.B]
		default:
			j.truths[i] = simple && (integers || f.opcode == vcmpps) || pairTruths[in.Op] != nil || in.Op == Elect ||
				in.Op == Reduce
		}
		is[in.Dst] = j.truths[i]
	}
}

// writer is the instruction before another one that writes a register, or -1. It looks mostBack instructions back.
func (j *logicJoiner) writer(r Register, before int) int {
	for i := before - 1; i >= max(j.first, before-mostBack); i-- {
		if j.insts[i].Dst == r {
			return i
		}
	}
	return -1
}

// grow takes instructions over as long as three operands are enough, and gives these. On the way there may be more.
func (j *logicJoiner) grow() []leaf {
	leaves := j.operands(nil, j.root)
	best, taken := leaves, 0
	for {
		var next []leaf
		more := -1
		for k, l := range leaves {
			if !j.mayTake(l) {
				continue
			}
			list := j.operands(slices.Delete(slices.Clone(leaves), k, k+1), l.from)
			if len(list) <= mostLeaves && (more < 0 || len(list) < len(next)) {
				next, more = list, l.from
			}
		}
		if more < 0 {
			break
		}
		j.taken = append(j.taken, more)
		if leaves = next; len(leaves) <= len(tables) && j.last(leaves) {
			best, taken = leaves, len(j.taken)
		}
	}
	j.taken = j.taken[:taken]
	return best
}

// operands adds the operands of an instruction to a list.
func (j *logicJoiner) operands(list []leaf, i int) []leaf {
	in := &j.insts[i]
	for _, r := range []Register{in.A, in.B, in.C} {
		l := leaf{r, j.writer(r, i)}
		if r.Valid && !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return list
}

// mayTake says whether what wrote an operand can be taken over: it works on bits, and nothing else reads its result.
func (j *logicJoiner) mayTake(l leaf) bool {
	if l.from < 0 || j.reads[l.from] > j.root {
		return false
	}
	in := &j.insts[l.from]
	if logicOps[in.Op] == nil && in.Op != ternary || j.truths != nil && j.truths[l.from] || in.Keep ||
		in.Once != j.insts[j.root].Once || slices.Contains(j.fixed, in.Dst) {
		return false
	}
	for i := l.from + 1; i < j.root; i++ {
		if j.insts[i].takes(in.Dst) && !slices.Contains(j.taken, i) {
			return false
		}
		if j.insts[i].Dst == in.Dst {
			break
		}
	}
	return true
}

// last says whether all operands are still what they were where the root is, and none of them true or false alone.
func (j *logicJoiner) last(leaves []leaf) bool {
	for _, l := range leaves {
		if l.from >= 0 && j.truths != nil && j.truths[l.from] {
			return false
		}
		for i := max(l.from+1, j.first); i < j.root; i++ {
			if j.insts[i].Dst == l.register && !slices.Contains(j.taken, i) {
				return false
			}
		}
		if slices.ContainsFunc(leaves, func(o leaf) bool { return o.register == l.register && o.from != l.from }) {
			return false
		}
	}
	return true
}

// table is the table of a value, made of operands.
func (j *logicJoiner) table(l leaf, leaves []leaf) uint8 {
	if k := slices.Index(leaves, l); k >= 0 {
		return tables[k]
	}
	in := &j.insts[l.from]
	var of [3]uint8
	for k, r := range []Register{in.A, in.B, in.C} {
		if r.Valid {
			of[k] = j.table(leaf{r, j.writer(r, l.from)}, leaves)
		}
	}
	if in.Op != ternary {
		return logicOps[in.Op](of[0], of[1])
	}
	return combined(uint8(in.Immediate), of)
}

// combined is the table of an operation whose operands have tables.
func combined(table uint8, of [3]uint8) (result uint8) {
	for i := range 8 {
		at := of[0]>>i&1<<2 | of[1]>>i&1<<1 | of[2]>>i&1
		result |= table >> at & 1 << i
	}
	return result
}

// ternary is VPTERNLOG, whose first operand is where the result comes, and whose last one may be in memory.
func (c *compiler) ternary(in *Inst) {
	from := [3]operand{c.reads(0), c.reads(1), c.reads(2)}
	dst := c.resultIn(from[:]...)
	order := [3]int{0, 1, 2}
	put := func(place int, wanted func(o operand) bool) {
		if k := slices.IndexFunc(order[:], func(k int) bool { return wanted(from[k]) }); k >= 0 {
			order[place], order[k] = order[k], order[place]
		}
	}
	put(2, func(o operand) bool { return o.memory })
	put(0, func(o operand) bool { return o == reg(dst) })
	var of [3]uint8
	for place, k := range order {
		of[k] = tables[place]
	}
	first, second := from[order[0]], c.inVector(from[order[1]], spare[0])
	if first != reg(dst) {
		c.move(dst, first)
	}
	c.byte32(vpternlog, dst, second, from[order[2]], combined(uint8(in.Immediate), of))
}
