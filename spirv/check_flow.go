package spirv

// maxNesting is SPIR-V's universal limit on how deep control flow is nested.
const maxNesting = 1023

// flow checks that a function's control flow is structured (SPIR-V 2.11). Blocks that not even structural edges reach
// are left out.
type flow struct {
	k *checker
	f *Function
	g *CFG
}

func (c flow) label(b int) string { return c.k.name(c.f.Blocks[b].Label.Result) }

func (c flow) dominates(a, b int) bool { return c.g.structural.dominates(a, b) }

// inside says whether a block is part of a construct.
func (c flow) inside(s *Construct, b int) bool {
	return c.dominates(s.Header, b) && !c.dominates(s.Merge, b)
}

func (c flow) check() error {
	back := map[int]int{} // by loop header: the block of its back edge
	for _, b := range c.g.all {
		block := c.f.Blocks[b]
		if err := c.header(block); err != nil {
			return err
		}
		if d := c.g.IDom[b]; d > b {
			return errorAt(block.Label, "it stands in front of %s, which dominates it", c.label(d))
		}
		for _, t := range c.g.Successors[b] {
			if c.g.place[t] > c.g.place[b] {
				continue
			}
			header := c.f.Blocks[t]
			if header.Merge == nil || header.Merge.Op != OpLoopMerge || !c.dominates(t, b) {
				return errorAt(block.Terminator, "it goes back to %s, which is not the header of a loop around it", c.label(t))
			}
			if other, ok := back[t]; ok {
				return errorAt(block.Terminator, "the loop %s has another back edge, from %s", c.label(t), c.label(other))
			}
			back[t] = b
		}
	}
	for _, b := range c.g.all {
		if m := c.f.Blocks[b].Merge; m != nil && m.Op == OpLoopMerge {
			from, ok := back[b]
			if !ok {
				return errorAt(m, "the loop has no back edge")
			}
			if target := c.g.Block(ID(m.Operands[1])); !c.dominates(target, from) {
				return errorAt(m, "its continue target %s does not dominate the block %s that goes back", c.label(target),
					c.label(from))
			} else if target == b && from != b {
				return errorAt(m, "its continue target is its header, but the block that goes back is %s", c.label(from))
			}
		}
	}
	if err := c.contiguous(); err != nil {
		return err
	}
	for _, b := range c.g.all {
		if err := c.leaves(b, back); err != nil {
			return err
		}
	}
	return c.cases()
}

// contiguous checks that the order has found the constructs: what stands between a header and its merge block is what
// the header dominates and the merge block does not.
func (c flow) contiguous() error {
	size := func(b int) int { return c.g.structural.last[b] - c.g.structural.first[b] + 1 }
	for _, b := range c.g.all {
		m := c.f.Blocks[b].Merge
		if m == nil {
			continue
		}
		if merge := c.g.Block(ID(m.Operands[0])); c.g.place[merge]-c.g.place[b] != size(b)-size(merge) {
			return errorAt(m, "there are branches into its construct from elsewhere, or out of it")
		}
	}
	for _, b := range c.g.all {
		for s := c.g.Innermost[b]; s != nil; s = s.Parent {
			if !c.inside(s, b) {
				return errorAt(c.f.Blocks[b].Label, "it is reached from inside of the construct of %s and from elsewhere",
					c.label(s.Header))
			}
		}
	}
	return nil
}

// header checks a block's merge instruction.
func (c flow) header(b *Block) error {
	m := b.Merge
	if m == nil {
		if b.Terminator.Op == OpSwitch {
			return errorAt(b.Terminator, "there is no OpSelectionMerge in front of it")
		}
		return nil
	}
	switch t := b.Terminator.Op; {
	case m.Op == OpLoopMerge && t != OpBranch && t != OpBranchConditional:
		return errorAt(m, "it does not stand in front of OpBranch or OpBranchConditional")
	case m.Op == OpSelectionMerge && t != OpSwitch && t != OpBranchConditional:
		return errorAt(m, "it does not stand in front of OpBranchConditional or OpSwitch")
	}
	for n, id := range mergeTargets(m) {
		t := c.g.Block(ID(id))
		// This excludes too that two headers have the same one: each could be reached without the other.
		if !c.dominates(b.Index, t) || t == b.Index && n == 0 {
			return errorAt(m, "%s does not dominate %s", c.label(b.Index), c.label(t))
		}
		if n == 1 && id == mergeTargets(m)[0] {
			return errorAt(m, "the merge block is the continue target too")
		}
	}
	depth := 0
	for s := c.g.Innermost[b.Index]; s != nil; s = s.Parent {
		if depth++; depth > maxNesting {
			return errorAt(m, "constructs are nested more than %d deep", maxNesting)
		}
	}
	return nil
}

// leaves checks the branches of a block that leave constructs.
func (c flow) leaves(b int, back map[int]int) error {
	block := c.f.Blocks[b]
	innermost := c.g.Innermost[b]
	loop := c.g.Loop[b]
	inContinue := loop != nil && loop.Continue != loop.Header && c.dominates(loop.Continue, b)
	if t := block.Terminator.Op; t != OpBranch && t != OpBranchConditional && t != OpSwitch {
		for s := loop; s != nil; s = s.Parent {
			if s.IsLoop() && c.dominates(s.Continue, b) {
				return errorAt(block.Terminator, "it stands inside of the continue construct of %s", c.label(s.Header))
			}
		}
	}
	inner := 0 // targets that leave no construct
	for _, t := range c.g.Successors[b] {
		if loop != nil && t == loop.Header {
			if b != back[loop.Header] {
				return errorAt(block.Terminator, "it goes back to %s", c.label(t))
			}
			continue
		}
		if inContinue && b != back[loop.Header] && (!c.dominates(loop.Continue, t) || !c.inside(loop, t)) {
			return errorAt(block.Terminator, "%s leaves the continue construct of %s, but is not its last block", c.label(b),
				c.label(loop.Header))
		}
		if loop != nil && (t == loop.Continue || t == loop.Merge) {
			continue
		}
		leaves, err := c.exit(block, innermost, t)
		if err != nil {
			return err
		}
		if !leaves {
			inner++
		}
	}
	if inner > 1 && block.Merge == nil {
		return errorAt(block.Terminator,
			"it has no merge instruction, though no more than one of its targets may stay in the construct of %s", c.label(b))
	}
	return nil
}

// exit checks a branch that is no break or continue of the innermost loop, and says whether it leaves a construct.
func (c flow) exit(block *Block, innermost *Construct, t int) (bool, error) {
	passed := false     // a loop or a switch was left
	selections := false // another selection was left
	for s := innermost; s != nil; s = s.Parent {
		if t == s.Merge {
			isSwitch := c.f.Blocks[s.Header].Terminator.Op == OpSwitch
			if passed || selections && !isSwitch {
				break
			}
			return true, nil
		}
		if c.inside(s, t) {
			if passed || selections {
				break
			}
			return false, nil
		}
		if s.IsLoop() || c.f.Blocks[s.Header].Terminator.Op == OpSwitch {
			passed = true
		} else {
			selections = true
		}
		if s.Parent == nil {
			break
		}
	}
	if innermost == nil {
		return false, nil
	}
	return false,
		errorAt(block.Terminator,
			"the branch from %s to %s leaves the construct of %s, but is neither to its merge block nor a break or continue",
			c.label(block.Index), c.label(t), c.label(innermost.Header))
}

// cases checks the cases of switches: a case is left to the merge block, to a loop's, or to the next case.
func (c flow) cases() error {
	for _, b := range c.g.all {
		block := c.f.Blocks[b]
		if block.Terminator.Op != OpSwitch {
			continue
		}
		s := c.g.Innermost[b]
		order := map[int]int{} // by case target: its place among the operands, from 1
		for id := range c.k.m.targets(block.Terminator) {
			if t := c.g.Block(id); c.inside(s, t) && t != b {
				if n := len(order) + 1; order[t] == 0 {
					order[t] = n
				}
			}
		}
		of := map[int]int{}     // by block: the case that it is in
		fall := map[int]int{}   // by case: the one that it falls through to
		fallen := map[int]int{} // and back
		for at := c.g.place[b] + 1; at < len(c.g.all) && c.g.all[at] != s.Merge; at++ {
			in := c.g.all[at]
			if order[in] != 0 {
				of[in] = in
			} else if d := c.g.structural.idom[in]; d != b && d >= 0 {
				of[in] = of[d]
			}
			for _, t := range c.g.Successors[in] {
				if order[t] == 0 || of[in] == 0 || of[in] == t || c.dominates(t, in) {
					continue
				}
				if other, ok := fall[of[in]]; ok && other != t {
					return errorAt(c.f.Blocks[in].Terminator, "the case %s falls through to %s and to %s", c.label(of[in]),
						c.label(other), c.label(t))
				}
				if other, ok := fallen[t]; ok && other != of[in] {
					return errorAt(c.f.Blocks[in].Terminator, "the cases %s and %s fall through to %s", c.label(other),
						c.label(of[in]), c.label(t))
				}
				fall[of[in]], fallen[t] = t, of[in]
			}
		}
		for at := c.g.place[b] + 1; at < len(c.g.all) && c.g.all[at] != s.Merge; at++ {
			in := c.g.all[at]
			if of[in] != 0 {
				for _, t := range c.g.Successors[in] {
					if c.inside(s, t) && order[t] == 0 && of[t] != of[in] {
						return errorAt(c.f.Blocks[in].Terminator, "the branch from %s to %s leaves the case %s", c.label(in), c.label(t),
							c.label(of[in]))
					}
				}
			}
		}
	}
	return nil
}
