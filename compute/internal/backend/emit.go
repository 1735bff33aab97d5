package backend

import (
	"cmp"
	"errors"
	"slices"

	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/compute/internal/program"
	"farside/spirv"
)

// emitter lays a graph out as a Program.
type emitter struct {
	live      *liveness
	g         *ir.Graph
	space     *workspace
	p         *program.Program
	places    []int32  // of memories, in Program.Slots or Resources
	arrays    []uint32 // where the graph's privates lie in the register file
	chunks    uint32
	registers []program.Register // by value
	masks     []program.Register // by block: of the lanes that wait there
	labels    []int32            // by block: the instruction at which it begins, behind its Enter
	enters    []int32            // by block: its Enter
	jumps     []jump
	final     int32                                 // the last block
	next      []int32                               // by place, see waiting
	scratch   map[program.Register]program.Register // of circles of moves, by Step and Size
	moves     []move
	reads     []int32  // by value: the last instruction that reads it, or forever
	made      []int32  // by value: the instruction behind that which makes it; 0 if none does
	strides   []stride // by value
	pending   int      // values whose strides are being found, each for the next
}

// jump is an instruction whose target is filled in at the end: the beginning of a block, or its Enter.
type jump struct {
	inst, block int32
	enter       bool
}

type move struct{ dst, src program.Register }

// emit allocates registers and writes the instructions.
func emit(g *ir.Graph, p *program.Program, places []int32, space *workspace) {
	p.Insts, p.Constants, p.Builtins, p.FileSize = space.insts[:0], space.constants[:0], space.builtins[:0], 0
	p.Images, p.Subgroups, p.Prints = nil, nil, nil
	e := &emitter{p: p, chunks: uint32((p.Lanes + kernel.Width - 1) / kernel.Width), g: g, space: space,
		live: live(g, space), places: places,
		jumps: space.jumps[:0], moves: space.moves[:0]}
	e.registers = space.registers.Take(len(g.Nodes))
	e.masks = space.registers.Take(len(g.Blocks))
	e.labels = space.ints.Take(len(g.Blocks))
	e.enters = space.ints.Take(len(g.Blocks))
	e.reads, e.made = space.ints.Take(len(g.Nodes)), space.ints.Take(len(g.Nodes))
	e.strides = space.strides.Take(len(g.Nodes))
	e.final = e.g.Order[len(e.g.Order)-1]
	e.fixed()
	e.allocate()
	for i := range e.g.Order {
		e.block(i)
	}
	for _, j := range e.jumps {
		at := e.labels[j.block]
		if j.enter {
			at = e.enters[j.block]
		}
		p.Insts[j.inst].Target = at
	}
	for v, last := range e.reads {
		if made := e.made[v]; made > 0 && last < forever {
			p.Insts[made-1].Until = last
		}
	}
	p.FileSize = aligned64(p.FileSize)
	// The program has as much memory as it needs.
	space.insts, space.constants, space.builtins, space.jumps, space.moves = p.Insts, p.Constants, p.Builtins, e.jumps,
		e.moves
	p.Insts, p.Constants, p.Builtins = append([]program.Inst(nil), p.Insts...),
		append([]program.Constant(nil), p.Constants...),
		append([]program.Builtin(nil), p.Builtins...)
}

// tooLarge ends the compilation.
func tooLarge(what string) {
	budget.Fail(errors.New(what + " take more than 1 GiB for a workgroup"))
}

// aligned64 rounds a size up, so that what follows begins at a line of the cache.
func aligned64(n uint32) uint32 { return (n + 63) &^ 63 }

// steps counts steps.
func (e *emitter) steps(n int) { e.g.Budget.Spend(budget.Steps, n) }

// Registers whose sizes are multiples of apart are a line of the cache further from each other. Machine code takes a
// chunk through a loop, and the same chunks of all registers would share a few sets of the cache.
const (
	apart = 128
	line  = 64
)

// take reserves a register.
func (e *emitter) take(varying, wide bool) program.Register {
	r := program.Register{Offset: e.p.FileSize, Size: 32}
	if wide {
		r.Size = 64
	}
	size := uint64(r.Size)
	if varying {
		r.Step = r.Size
		size *= uint64(e.chunks)
		if size%apart == 0 {
			size += line
		}
	}
	if uint64(e.p.FileSize)+size > maxFile {
		tooLarge("registers")
	}
	e.p.FileSize += uint32(size)
	return r
}

// fixed places constants, built-ins, masks and arrays.
func (e *emitter) fixed() {
	for v := range e.g.Nodes {
		n := &e.g.Nodes[v]
		if !n.Used || v == 0 {
			continue
		}
		switch n.Op {
		case ops.Const:
			e.registers[v] = e.take(false, n.Wide)
			e.p.Constants = append(e.p.Constants, program.Constant{Register: e.registers[v], Bits: n.Imm})
		case ops.Builtin:
			e.registers[v] = e.take(n.Varying, false)
			e.p.Builtins = append(e.p.Builtins, program.Builtin{Kind: spirv.BuiltIn(uint32(n.Imm)), Component: int(n.Imm >> 32),
				Register: e.registers[v]})
		}
	}
	e.p.FileSize = aligned64(e.p.FileSize)
	e.p.Mask = e.take(true, false)
	// Masks of blocks that never have lanes at the same time share a register, as values do.
	var list []taken
	for _, b := range e.g.Order {
		blk := &e.g.Blocks[b]
		if !blk.Pend || b == e.final {
			continue
		}
		s := stretch{e.live.start[blk.At], e.live.start[blk.At] + 1}
		for _, p := range blk.Preds {
			if e.g.Blocks[p].At < blk.At {
				s.from = min(s.from, e.live.reach(p, b).from)
			}
		}
		list = e.space.taken.Push(list, taken{s, ir.Value(b)})
	}
	e.place(list, e.masks, true, false)
	e.arrays = make([]uint32, len(e.g.Privates))
	for i := range e.g.Privates {
		n := &e.g.Privates[i]
		if !n.Read {
			continue
		}
		e.arrays[i] = e.p.FileSize
		size := uint64(n.Size()) * uint64(e.chunks) * uint64(n.Count)
		if uint64(e.p.FileSize)+size > maxFile {
			tooLarge("arrays in Function or Private memory")
		}
		e.p.FileSize += uint32(size)
	}
}

// taken is a stretch for which a register is needed.
type taken struct {
	stretch
	v ir.Value
}

// registerEnd is when a register is free again.
type registerEnd struct {
	to int32
	r  program.Register
}

// place gives each of the list a register of one kind: one that is free by then, or a new one.
func (e *emitter) place(list []taken, registers []program.Register, varying, wide bool) {
	slices.SortFunc(list, func(a, b taken) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.v, b.v)) })
	ends := e.space.ends.Take(len(list))
	order := e.space.ints.Take(len(list)) // by end
	for i := range order {
		order[i] = int32(i)
		ends[i].to = list[i].to
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(ends[a].to, ends[b].to) })
	free := e.space.registers.Take(len(list))[:0]
	next := 0
	for i, t := range list {
		for next < len(order) && ends[order[next]].to <= t.from {
			free = append(free, ends[order[next]].r)
			next++
		}
		if n := len(free); n > 0 {
			ends[i].r = free[n-1]
			free = free[:n-1]
		} else {
			ends[i].r = e.take(varying, wide)
		}
		registers[t.v] = ends[i].r
	}
}

// allocate gives registers to values: one to all of a group, free again where its last stretch ends.
func (e *emitter) allocate() {
	e.live.coalesce()
	var lists [4][]taken
	add := func(v ir.Value) {
		n := &e.g.Nodes[v]
		if !n.Used || e.live.group[v] != 0 || !hasResult(n) {
			return
		}
		s := stretch{e.live.def[v], max(e.live.last[v], e.live.def[v]+1)}
		if n.Op == ops.Phi || e.live.outer[v] > 0 || e.live.stretches[v] != nil {
			list := e.live.stretchesOf(v)
			s = stretch{list[0].from, list[len(list)-1].to}
		}
		k := 0
		if n.Varying {
			k = 2
		}
		if n.Wide {
			k++
		}
		lists[k] = e.space.taken.Push(lists[k], taken{s, v})
	}
	for _, b := range e.g.Order {
		for _, v := range e.g.Blocks[b].Phis {
			add(v)
		}
		for _, v := range e.g.Blocks[b].Insts {
			add(v)
		}
	}
	for k, list := range lists {
		e.p.FileSize = aligned64(e.p.FileSize)
		e.place(list, e.registers, k>>1 != 0, k&1 != 0)
	}
	for v := range e.live.group {
		if e.live.group[v] != 0 {
			e.registers[v] = e.registers[e.live.groupOf(ir.Value(v))]
		}
	}
}

// hasResult says whether a node needs a register.
func hasResult(n *ir.Node) bool { return ops.Of(n.Op).Result != ops.None }

func (e *emitter) inst(i program.Inst) int32 {
	e.p.Insts = append(e.p.Insts, i)
	return int32(len(e.p.Insts) - 1)
}

func (e *emitter) register(v ir.Value) program.Register {
	if v == 0 {
		return program.Register{}
	}
	return e.registers[v]
}

func (e *emitter) block(at int) {
	b := e.g.Order[at]
	blk := &e.g.Blocks[b]
	if blk.Pend && b != e.final {
		e.enters[b] = e.inst(program.Inst{Code: program.Enter, Dst: e.masks[b]})
		e.chain(e.enters[b], at)
	} else {
		e.enters[b] = int32(len(e.p.Insts))
	}
	e.labels[b] = int32(len(e.p.Insts))
	for _, v := range blk.Insts {
		e.node(v)
	}
	if b == e.final {
		e.inst(program.Inst{Code: program.End})
		return
	}
	e.assignPhis(b)
	if e.g.Nodes[blk.Cond].Block == b && e.reads[blk.Cond] < forever {
		e.reads[blk.Cond] = int32(len(e.p.Insts))
	} else {
		e.reads[blk.Cond] = forever
	}
	e.branch(at)
}

// waiting gives the next block behind a place at which lanes can wait: where to go when none is active.
func (e *emitter) waiting(at int) int32 {
	if e.next == nil {
		e.next = e.space.ints.Take(len(e.g.Order))
		next := e.final
		for i, b := range slices.Backward(e.g.Order) {
			e.next[i] = next
			if e.g.Blocks[b].Pend {
				next = b
			}
		}
	}
	return e.next[at]
}

// chain sets the target of an instruction to the next block at which lanes can wait.
func (e *emitter) chain(inst int32, at int) {
	e.jumps = append(e.jumps, jump{inst, e.waiting(at), true})
}

// idle goes on, with no lane active, where lanes can wait.
func (e *emitter) idle(at int) {
	if next := e.waiting(at); e.g.Order[at+1] != next {
		e.jumps = append(e.jumps, jump{e.inst(program.Inst{Code: program.Jump}), next, true})
	}
}

func (e *emitter) goTo(code program.Code, cond ir.Value, b int32) {
	e.jumps = append(e.jumps, jump{e.inst(program.Inst{Code: code, A: e.register(cond)}), b, false})
}

// leave lets the active lanes wait at block b. Its Enter, or another one, is what runs next.
func (e *emitter) leave(at int, b int32) {
	e.inst(program.Inst{Code: program.Leave, Dst: e.masks[b]})
	e.idle(at)
}

func (e *emitter) branch(at int) {
	blk := &e.g.Blocks[e.g.Order[at]]
	next := e.g.Order[at+1]
	yes, no := blk.Succs[0], blk.Succs[1]
	pend := func(b int32) bool { return e.g.Blocks[b].Pend && e.g.Blocks[b].At > int32(at) }
	switch {
	case yes < 0:
		e.inst(program.Inst{Code: program.Leave})
		e.idle(at)
	case blk.Cond == 0 && e.g.Blocks[yes].At <= int32(at):
		e.inst(program.Inst{Code: program.Again, Index: e.g.Blocks[yes].Loop})
		e.goTo(program.Jump, 0, yes)
	case blk.Cond == 0 && pend(yes):
		e.leave(at, yes)
	case blk.Cond == 0:
		if yes != next {
			e.goTo(program.Jump, 0, yes)
		}
	case e.g.Nodes[blk.Cond].Varying:
		e.inst(program.Inst{Code: program.Split, A: e.register(blk.Cond), Dst: e.masks[yes], B: e.masks[no]})
		e.idle(at)
	case pend(yes) && pend(no):
		over := e.inst(program.Inst{Code: program.JumpUnless, A: e.register(blk.Cond)})
		e.inst(program.Inst{Code: program.Leave, Dst: e.masks[yes]})
		e.jumps = append(e.jumps, jump{e.inst(program.Inst{Code: program.Jump}), e.waiting(at), true})
		e.p.Insts[over].Target = int32(len(e.p.Insts))
		e.leave(at, no)
	case pend(no):
		e.goTo(program.JumpIf, blk.Cond, yes)
		e.leave(at, no)
	case pend(yes):
		e.goTo(program.JumpUnless, blk.Cond, no)
		e.leave(at, yes)
	case yes == next:
		e.goTo(program.JumpUnless, blk.Cond, no)
	default:
		e.goTo(program.JumpIf, blk.Cond, yes)
		if no != next {
			e.goTo(program.Jump, 0, no)
		}
	}
}

// assignPhis gives the phis of a block's successors their values.
func (e *emitter) assignPhis(b int32) {
	e.moves = e.moves[:0]
	for _, t := range e.g.Blocks[b].Succs {
		if t < 0 || len(e.g.Blocks[t].Phis) == 0 {
			continue
		}
		e.steps(len(e.g.Blocks[t].Preds))
		k := slices.Index(e.g.Blocks[t].Preds, b)
		for _, v := range e.g.Blocks[t].Phis {
			e.reads[e.g.Nodes[v].List[k]] = forever
			if m := (move{e.registers[v], e.register(e.g.Nodes[v].List[k])}); m.dst != m.src {
				e.moves = append(e.moves, m)
			}
		}
	}
	e.parallel()
}

// parallel does the moves as if all at once.
func (e *emitter) parallel() {
	if !e.depend() {
		for _, m := range slices.Backward(e.moves) {
			e.inst(program.Inst{Code: program.Assign, Dst: m.dst, A: m.src})
		}
		return
	}
	reads := map[program.Register]int{}
	for _, m := range e.moves {
		reads[m.src]++
	}
	ready := make([]int, 0, len(e.moves))
	byDst, bySrc := make(map[program.Register]int, len(e.moves)), make(map[program.Register][]int, len(e.moves))
	for i, m := range e.moves {
		byDst[m.dst] = i
		bySrc[m.src] = append(bySrc[m.src], i)
		if reads[m.dst] == 0 {
			ready = append(ready, i)
		}
	}
	done := make([]bool, len(e.moves))
	do := func() {
		for len(ready) > 0 {
			i := ready[len(ready)-1]
			ready = ready[:len(ready)-1]
			m := e.moves[i]
			done[i] = true
			e.inst(program.Inst{Code: program.Assign, Dst: m.dst, A: m.src})
			if reads[m.src]--; reads[m.src] == 0 {
				if j, ok := byDst[m.src]; ok && !done[j] {
					ready = append(ready, j)
				}
			}
		}
	}
	do()
	for i, m := range e.moves {
		if done[i] {
			continue
		}
		// The rest are circles. What this one overwrites is kept aside for who reads it.
		kind := program.Register{Step: m.dst.Step, Size: m.dst.Size}
		aside, ok := e.scratch[kind]
		if !ok {
			aside = e.take(kind.Step != 0, kind.Size == 64)
			if e.scratch == nil {
				e.scratch = map[program.Register]program.Register{}
			}
			e.scratch[kind] = aside
		}
		e.inst(program.Inst{Code: program.Assign, Dst: aside, A: m.dst})
		for _, j := range bySrc[m.dst] {
			if !done[j] {
				e.moves[j].src = aside
				reads[m.dst]--
				reads[aside]++
			}
		}
		ready = append(ready, i)
		do()
	}
}

// depend says whether a move overwrites what another one reads, which among many is not looked at.
func (e *emitter) depend() bool {
	if len(e.moves) > 16 {
		return true
	}
	for _, m := range e.moves {
		for _, o := range e.moves {
			if m.dst == o.src {
				return true
			}
		}
	}
	return false
}
