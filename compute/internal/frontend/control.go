package frontend

import (
	"slices"
	"strconv"

	"farside/compute/internal/budget"
	"farside/compute/internal/ir"
	"farside/spirv"
)

// function is a function with its structure.
type function struct {
	*spirv.Function
	cfg     *spirv.CFG
	last    []int32      // by block: of a loop's header the block that branches back, plus 1
	listed  bool         // among those that are reachable
	stores  [][]spirv.ID // per block, the variables and parameters that it stores to
	calls   [][]*spirv.Instruction
	returns int // instructions that return
	globals map[spirv.ID]bool
}

// frame is a function that is being inlined.
type frame struct {
	*function
	blocks   []int32 // of the graph, by block; -1: not yet reached
	returnTo int32
	result   int // first slot of the result
	straight bool
	phis     map[int32][]*spirv.Instruction // of loop headers that are open
}

// incomplete is a phi of a slot in a block whose predecessors are not all known.
type incomplete struct {
	slot int
	phi  ir.Value
}

// function finds the structure of a function.
func (c *compiler) function(id spirv.ID) *function {
	x := c.module.Function(id)
	if x == nil || len(x.Blocks) == 0 {
		c.fail(nil, "function %s has no body", c.module.Name(id))
	}
	if f := c.functions[x.Index]; f != nil {
		return f
	}
	f := c.space.functions.One()
	f.Function, f.last = x, c.space.ints.Take(len(x.Blocks))
	c.functions[x.Index] = f
	var err error
	if f.cfg, err = c.module.CFG(f.Function); err != nil {
		budget.Fail(err)
	}
	for _, b := range f.cfg.Order {
		for _, h := range f.cfg.Successors[b] {
			if f.cfg.Position[h] <= f.cfg.Position[b] {
				f.last[h] = int32(b + 1)
			}
		}
		if t := f.Blocks[b].Terminator; t.Op == spirv.OpReturn || t.Op == spirv.OpReturnValue {
			f.returns++
		}
	}
	return f
}

func (c *compiler) lowerEntry() {
	f := c.function(c.entry.Function)
	c.g.Offset = f.Offset
	c.initializeGlobals()
	c.inline(f, nil)
	// The last block is the end of the program: what does not return ends in it, too.
	end := c.g.NewBlock()
	if c.g.Current >= 0 {
		if c.graphics() {
			c.storeOutputs()
		}
		c.g.Branch(end)
	}
	c.begin(end)
}

// begin starts a block of the graph within the open loops.
func (c *compiler) begin(b int32) {
	c.g.Start(b)
	blk := &c.g.Blocks[b]
	if n := len(c.nest); n > 0 {
		blk.Loop = c.nest[n-1]
	}
	if len(blk.Preds) != 1 {
		c.counter++
		c.floor = c.counter
	}
}

// inline lowers a call of f. Afterwards the current block is where its lanes go on, or -1 if none comes back. The calls
// in f are inlined in turn, maxFrames within each other at most.
func (c *compiler) inline(f *function, args []operand) operand {
	if len(c.frames) > maxFrames {
		c.fail(f.Instruction, "calls are nested too deeply")
	}
	c.budget.Spend(budget.Calls, 1)
	fr := &frame{function: f, blocks: c.space.ints.Take(len(f.Blocks))}
	for i := range fr.blocks {
		fr.blocks[i] = -1
	}
	for i, p := range f.Parameters {
		c.values[p.Result] = args[i]
	}
	result := c.constants.Types[f.Type]
	if result.Kind != spirv.TypeVoid {
		fr.result = c.newSlots(result)
	}
	last := f.Blocks[f.cfg.Order[len(f.cfg.Order)-1]].Terminator
	fr.straight = f.returns == 1 && (last.Op == spirv.OpReturn || last.Op == spirv.OpReturnValue)
	fr.returnTo = -1
	fr.blocks[0] = c.g.Current
	c.frames = append(c.frames, fr)
	nest := len(c.nest)
	for at, b := range f.cfg.Order {
		if at > 0 && !c.open1(fr, b) {
			c.g.Current = -1
		} else {
			c.lowerBlock(fr, b)
		}
		c.closeLoops(fr, b, nest)
	}
	c.frames = c.frames[:len(c.frames)-1]
	if !fr.straight {
		c.g.Current = -1
		if fr.returnTo >= 0 {
			c.begin(fr.returnTo)
		}
	}
	if result.Kind == spirv.TypeVoid || c.g.Current < 0 {
		return operand{}
	}
	l := c.list(c.count(result))
	for i := range l {
		l[i] = c.readSlot(fr.result+i, c.g.Current)
	}
	if result.Kind == spirv.TypePointer {
		return operand{pointer: c.pointerFrom(result, l)}
	}
	return operand{scalars: l}
}

// open1 starts a block of a function; false if nothing branches to it.
func (c *compiler) open1(fr *frame, b int) bool {
	g := fr.blocks[b]
	if g < 0 {
		return false
	}
	header := fr.last[b] > 0
	if header {
		c.openLoop(fr, b, g)
	}
	c.begin(g)
	c.originOf(g).unsealed = header
	return true
}

func (c *compiler) openLoop(fr *frame, b int, g int32) {
	l := ir.Loop{Header: g, Last: -1, Parent: -1}
	changed := c.space.words.Take((c.variables + 63) / 64)
	last := int(fr.last[b]) - 1
	if n := len(c.nest); n > 0 {
		l.Parent = c.nest[n-1]
	}
	if m := fr.Blocks[b].Merge; m != nil {
		l.Offset = m.Offset
		l.Control = spirv.LoopControl(m.Operands[2])
	}
	l.Name = c.loopName(fr.function, b)
	for _, x := range fr.cfg.Order[fr.cfg.Position[b] : fr.cfg.Position[last]+1] {
		c.steps(1 + len(fr.stores[x]))
		for _, root := range fr.stores[x] {
			c.markStored(changed, root)
		}
		for _, call := range fr.calls[x] {
			callee := c.function(spirv.ID(call.Operands[0]))
			stores := c.globalStores(callee, maxFrames)
			c.steps(len(stores) + len(callee.Parameters))
			for id := range stores {
				c.markStored(changed, id)
			}
			for i, p := range callee.Parameters {
				if c.usage.flags[p.Result]&stored != 0 {
					c.markStored(changed, c.root(call.Operands[1+i]))
				}
			}
		}
	}
	c.nest = append(c.nest, int32(len(c.g.Loops)))
	c.nestEnds = append(c.nestEnds, last)
	c.g.Loops = append(c.g.Loops, l)
	c.loopStores = append(c.loopStores, changed)
}

func (c *compiler) markStored(set []uint64, root spirv.ID) {
	p := c.values[root].pointer
	if p == nil || p.variable == nil {
		p = c.privateGlobals[root]
	}
	if p != nil && p.variable != nil {
		set[p.variable.index/64] |= 1 << (p.variable.index % 64)
	}
}

// loopName tells where a loop is: the line of its header, or the number of that.
func (c *compiler) loopName(f *function, b int) string {
	blk := f.Blocks[b]
	for _, l := range slices.Backward(blk.Lines) {
		if l.File != 0 {
			return c.module.Strings[l.File] + ":" + strconv.FormatUint(uint64(l.Line), 10)
		}
	}
	number := c.module.Name(blk.Label.Result)
	if name := c.module.DebugName(f.Result); name != "" {
		return number + " in " + name
	}
	return number
}

// closeLoops ends the loops of which b is the last block.
func (c *compiler) closeLoops(fr *frame, b, nest int) {
	for n := len(c.nest); n > nest; n = len(c.nest) {
		if c.nestEnds[n-1] != b {
			return
		}
		l := &c.g.Loops[c.nest[n-1]]
		c.nest, c.nestEnds = c.nest[:n-1], c.nestEnds[:n-1]
		blk := &c.g.Blocks[l.Header]
		if back := blk.Preds[len(blk.Preds)-1]; c.g.Blocks[back].At >= blk.At {
			l.Last = back
		}
		c.seal(fr, l.Header)
	}
}

// seal completes the phis of a loop's header.
func (c *compiler) seal(fr *frame, h int32) {
	c.originOf(h).unsealed = false
	at := 0
	for _, i := range fr.phis[h] {
		n := c.count(c.resultType(i))
		phis := c.g.Blocks[h].Phis[at : at+n]
		at += n
		operands := c.phiOperands(h, i)
		for k, v := range phis {
			c.g.Nodes[v].List = c.phiList(operands, k)
		}
	}
	for _, o := range c.open[h] {
		c.completeSlot(o.slot, h, o.phi)
	}
	delete(c.open, h)
}

// phiOperands gives the scalars of an OpPhi's operands in the order of the block's predecessors.
func (c *compiler) phiOperands(b int32, i *spirv.Instruction) [][]ir.Value {
	preds := c.g.Blocks[b].Preds
	c.steps(len(preds) * len(i.Operands))
	operands := make([][]ir.Value, len(preds))
	for j, p := range preds {
		label := c.originOf(p).label
		for o := 0; o+1 < len(i.Operands); o += 2 {
			if i.Operands[o+1] != label {
				continue
			}
			s := c.phiPointers[phiPointer{i.Operands[o], label}]
			if s == nil {
				s = c.scalars(i.Operands[o])
			}
			operands[j] = s
		}
		if operands[j] == nil {
			c.fail(i, "no operand for the predecessor %s", c.module.Name(spirv.ID(label)))
		}
	}
	return operands
}

// phiList gives scalar k of each operand.
func (c *compiler) phiList(operands [][]ir.Value, k int) []ir.Value {
	l := c.list(len(operands))
	for j := range l {
		l[j] = operands[j][k]
	}
	return l
}

// phiPointer is a pointer as the operand of a phi for a predecessor, by their IDs.
type phiPointer struct{ pointer, label uint32 }

// pointersOfPhis computes the scalars of pointers that phis of the block's successors take from it, while they belong
// to the block: where the phi is they would be computed behind it.
func (c *compiler) pointersOfPhis(fr *frame, blk *spirv.Block) {
	at := fr.cfg.Block(blk.Label.Result)
	for _, next := range fr.cfg.Successors[at] {
		for _, i := range fr.Blocks[next].Instructions {
			if i.Op != spirv.OpPhi {
				break
			}
			if c.resultType(i).Kind != spirv.TypePointer {
				continue
			}
			for o := 0; o+1 < len(i.Operands); o += 2 {
				if i.Operands[o+1] == uint32(blk.Label.Result) {
					put(&c.phiPointers, phiPointer{i.Operands[o], i.Operands[o+1]}, c.scalars(i.Operands[o]))
				}
			}
		}
	}
}

func (c *compiler) lowerPhi(fr *frame, i *spirv.Instruction) {
	b := c.g.Current
	t := c.resultType(i)
	n := c.count(t)
	out := c.list(n)
	kinds := c.scalarsOf(t)
	if len(kinds) != n {
		c.fail(i, "a phi of this type")
	}
	if c.originOf(b).unsealed {
		for k, s := range kinds {
			out[k] = c.g.Phi(b, s != nil && wide(s), nil)
		}
		put(&fr.phis, b, append(fr.phis[b], i))
		c.set(i, out)
		return
	}
	operands := c.phiOperands(b, i)
	c.steps(n * len(operands))
	for k := range out {
		out[k] = operands[0][k]
		for _, s := range operands[1:] {
			if s[k] != out[k] {
				out[k] = c.g.Phi(b, c.g.Nodes[out[k]].Wide, c.phiList(operands, k))
				break
			}
		}
	}
	c.set(i, out)
}

// instructionSteps is about what an instruction takes, whether it makes operations or none.
const instructionSteps = 32

func (c *compiler) lowerBlock(fr *frame, b int) {
	blk := fr.Blocks[b]
	for _, i := range blk.Instructions {
		c.steps(instructionSteps)
		c.g.Offset = i.Offset
		if i.Op == spirv.OpPhi {
			c.lowerPhi(fr, i)
			continue
		}
		c.lower(i)
		if c.g.Current < 0 {
			return // a call that never returns
		}
	}
	c.g.Offset = blk.Terminator.Offset
	c.pointersOfPhis(fr, blk)
	c.terminate(fr, blk)
}

// target gives the block of the graph for a label.
func (c *compiler) target(fr *frame, label uint32) int32 {
	i := fr.cfg.Block(spirv.ID(label))
	if fr.blocks[i] < 0 {
		fr.blocks[i] = c.g.NewBlock()
	}
	return fr.blocks[i]
}

func (c *compiler) terminate(fr *frame, blk *spirv.Block) {
	t := blk.Terminator
	c.originOf(c.g.Current).label = uint32(blk.Label.Result)
	switch t.Op {
	case spirv.OpBranch:
		c.g.Branch(c.target(fr, t.Operands[0]))
	case spirv.OpBranchConditional:
		cond := c.scalar(t.Operands[0])
		if k, ok := c.g.Known(cond); ok { // a target that is never taken is not made
			c.g.Branch(c.target(fr, t.Operands[1+b2i(k == 0)]))
			break
		}
		c.g.BranchIf(cond, c.target(fr, t.Operands[1]), c.target(fr, t.Operands[2]))
	case spirv.OpSwitch:
		c.lowerSwitch(fr, t, uint32(blk.Label.Result))
	case spirv.OpReturn, spirv.OpReturnValue:
		if t.Op == spirv.OpReturnValue {
			for k, v := range c.scalars(t.Operands[0]) {
				c.writeSlot(fr.result+k, v)
			}
		}
		if fr.straight {
			return // the caller goes on in this block
		}
		if fr.returnTo < 0 {
			fr.returnTo = c.g.NewBlock()
		}
		c.g.Branch(fr.returnTo)
	case spirv.OpUnreachable, spirv.OpKill, spirv.OpTerminateInvocation:
		if t.Op != spirv.OpUnreachable && c.graphics() {
			c.demote()
		}
		if fr.straight {
			c.g.Current = -1
		}
	default:
		c.fail(t, "is not supported in compute shaders")
	}
}

// originOf is what is known of a block.
func (c *compiler) originOf(b int32) *origin {
	for len(c.origins) <= int(b) {
		c.origins = append(c.origins, origin{})
	}
	return &c.origins[b]
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lowerSwitch makes a chain of branches, one for each different target but the default.
func (c *compiler) lowerSwitch(fr *frame, t *spirv.Instruction, label uint32) {
	selector := c.scalar(t.Operands[0])
	kind := c.typeOf(spirv.ID(t.Operands[0]))
	eq := kernelEq(kind)
	otherwise := t.Operands[1]
	constant, isConstant := c.g.Known(selector)
	type choice struct {
		target uint32
		cond   ir.Value
	}
	var choices []choice
	for x := range c.module.Cases(t) {
		literal, target := registerBits(kind, x.Value), uint32(x.Target)
		if isConstant {
			if literal == constant {
				c.g.Branch(c.target(fr, target))
				return
			}
			continue
		}
		if target == otherwise {
			continue
		}
		cond := c.g.Op2(eq, selector, c.g.Constant(literal, kind.Width == 64))
		c.steps(len(choices))
		if k := slices.IndexFunc(choices, func(x choice) bool { return x.target == target }); k >= 0 {
			choices[k].cond = c.g.Op2(kernelOr, choices[k].cond, cond)
		} else {
			choices = append(choices, choice{target, cond})
		}
	}
	for k, x := range choices {
		yes, next := c.target(fr, x.target), int32(-1)
		if k == len(choices)-1 {
			next = c.target(fr, otherwise)
		} else {
			next = c.g.NewBlock()
		}
		c.g.BranchIf(x.cond, yes, next)
		if k < len(choices)-1 {
			c.originOf(c.g.Current).label = label
			c.begin(next)
			c.originOf(next).label = label
		}
	}
	if len(choices) == 0 {
		c.g.Branch(c.target(fr, otherwise))
	}
}
