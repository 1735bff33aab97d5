package frontend

import (
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// stageLanes is how many lanes a batch of a graphics stage has, at least.
const stageLanes = 256

// stage is a graphics stage while it is lowered.
type stage struct {
	*ir.Stage
	numbers map[ir.Variable]int // of inputs
	outputs []output
	others  map[ofOther]ir.Value
}

// output is a variable of storage class Output.
type output struct {
	instruction *spirv.Instruction
	pointer     *pointer
	written     []bool // by scalar
}

// graphics says whether a graphics stage is lowered, a fragment shader says whether one is.
func (c *compiler) graphics() bool       { return c.entry.Model != spirv.ExecutionModelGLCompute }
func (c *compiler) fragmentShader() bool { return c.entry.Model == spirv.ExecutionModelFragment }

// beginStage takes what the entry point says of its stage. A batch has as many lanes as a subgroup, at least.
func (c *compiler) beginStage() {
	c.stage = &stage{Stage: &ir.Stage{}, numbers: map[ir.Variable]int{}}
	c.localSize = [3]uint32{max(stageLanes, c.options.SubgroupSize), 1, 1}
	m := &c.stage.Modes
	m.Model = c.entry.Model
	for _, i := range c.entry.Modes {
		switch spirv.ExecutionMode(i.Operands[1]) {
		case spirv.ExecutionModeEarlyFragmentTests:
			m.EarlyTests = true
		case spirv.ExecutionModeRequireFullQuadsKHR:
			m.Derivatives = true
		case spirv.ExecutionModeDepthReplacing:
			m.DepthReplacing = true
		case spirv.ExecutionModeDepthGreater:
			m.DepthGreater = true
		case spirv.ExecutionModeDepthLess:
			m.DepthLess = true
		case spirv.ExecutionModeDepthUnchanged:
			m.DepthUnchanged = true
		case spirv.ExecutionModeStencilRefReplacingEXT:
			m.StencilReplacing = true
		case spirv.ExecutionModePostDepthCoverage:
			m.PostDepth = true
		}
	}
}

// numericOf is what the words of a scalar mean.
func numericOf(t *spirv.Type) ir.Numeric {
	switch {
	case t.Kind == spirv.TypeFloat:
		return ir.Float
	case t.Kind == spirv.TypeInt && t.Signed:
		return ir.Sint
	}
	return ir.Uint
}

// variableAt is a scalar of an interface.
func (c *compiler) variableAt(p *spirv.Place) ir.Variable {
	v := ir.Variable{IsBuiltIn: p.IsBuiltIn, Location: p.Location, Component: p.Component, Index: p.Index,
		Numeric: numericOf(p.Type), Width: uint8(max(p.Type.Width, 8))}
	if p.Type.Kind == spirv.TypeBool {
		v.Width = 32
	}
	if p.IsBuiltIn {
		v.BuiltIn, v.Location = p.BuiltIn, 0
		return v
	}
	switch {
	case p.Flat:
		v.Interpolation = ir.Flat
	case p.NoPerspective:
		v.Interpolation = ir.Linear
	}
	switch {
	case p.Sample:
		v.Place = ir.AtSample
	case p.Centroid:
		v.Place = ir.AtCentroid
	}
	return v
}

// word is an input of the stage.
func (c *compiler) word(v ir.Variable) ir.Value {
	n, ok := c.stage.numbers[v]
	if !ok {
		n = len(c.stage.Inputs)
		c.stage.numbers[v] = n
		c.stage.Inputs = append(c.stage.Inputs, v)
	}
	if v.Place == ir.AtSample || v.IsBuiltIn && (v.BuiltIn == spirv.BuiltInSampleId ||
		v.BuiltIn == spirv.BuiltInSamplePosition) {
		c.stage.Modes.PerSample = true
	}
	return c.g.Add(ir.Node{Op: ops.Builtin, Imm: uint64(ir.InputKind + n)})
}

// builtInWord is a component of a built-in input, whether or not the shader has a variable for it.
func (c *compiler) builtInWord(b spirv.BuiltIn, component uint32, numeric ir.Numeric) ir.Value {
	return c.word(ir.Variable{IsBuiltIn: true, BuiltIn: b, Component: component, Numeric: numeric, Width: 32})
}

// stageInput gives the scalars of an input of a graphics stage.
func (c *compiler) stageInput(i *spirv.Instruction) []ir.Value {
	l := c.list(c.count(c.resultType(i).Elem))[:0]
	for p := range c.module.Places(i, c.constants) {
		c.steps(1)
		l = append(l, c.inputAt(&p))
	}
	return l
}

func (c *compiler) inputAt(p *spirv.Place) ir.Value {
	if p.IsBuiltIn {
		direct := ir.Node{Op: ops.Builtin, Imm: uint64(p.Component)<<32 | uint64(p.BuiltIn)}
		switch p.BuiltIn {
		case spirv.BuiltInViewIndex:
			if c.options.ViewOfDevice {
				return c.g.Add(ir.Node{Op: ops.Builtin, Imm: uint64(spirv.BuiltInDeviceIndex)})
			}
		case spirv.BuiltInDeviceIndex, spirv.BuiltInSubgroupLocalInvocationId, spirv.BuiltInSubgroupEqMask,
			spirv.BuiltInSubgroupGeMask, spirv.BuiltInSubgroupGtMask, spirv.BuiltInSubgroupLeMask,
			spirv.BuiltInSubgroupLtMask:
			return c.g.Add(direct)
		case spirv.BuiltInSubgroupSize:
			return c.g.C32(c.options.SubgroupSize)
		case spirv.BuiltInHelperInvocation:
			return c.g.Zero // each load asks: see lowerLoad
		}
	}
	v := c.variableAt(p)
	t := p.Type
	x := c.word(v)
	switch {
	case t.Kind == spirv.TypeBool:
		return c.g.Op1(kernel.I32ToMask, x)
	case t.Width == 64:
		v.Half = 1
		return c.g.Op2(kernel.Join64, x, c.word(v))
	case isHalf(t):
		return c.g.Op1(kernel.RoundF16, x)
	case t.Width == 16:
		return c.g.Op1(kernel.Zext16, x)
	case t.Width == 8:
		return c.g.Op1(kernel.Zext8, x)
	}
	return x
}

// initializeStage makes the variables of a graphics stage's interface that other blocks need to find.
func (c *compiler) initializeStage() {
	seen := map[spirv.ID]bool{}
	for _, id := range c.entry.Interface {
		i := c.module.Definitions[id]
		if seen[id] {
			continue
		}
		seen[id] = true
		switch spirv.StorageClass(i.Operands[0]) {
		case spirv.StorageClassInput:
			c.get(uint32(id)) // an array that is indexed is filled here
		case spirv.StorageClassOutput:
			n := c.count(c.resultType(i).Elem)
			written := make([]bool, n)
			p := c.newVariable(i)
			p.variable.written = written
			for k := range written {
				written[k] = len(i.Operands) > 1
			}
			p.to = n
			put(&c.privateGlobals, id, p)
			c.stage.outputs = append(c.stage.outputs, output{i, p, written})
		}
	}
}

// storeOutputs is the end of a shader: what has been written goes to where the driver finds it.
func (c *compiler) storeOutputs() {
	lane := c.g.Add(ir.Node{Op: ops.Builtin, Imm: uint64(spirv.BuiltInLocalInvocationIndex)})
	at := c.g.MulAdd(lane, 4, 0)
	memory := int32(0)
	store := func(v ir.Variable, x ir.Value) {
		if memory == 0 {
			memory = c.memoryFor(memoryKey{kind: ir.MemoryOutputs}, "outputs", false)
		}
		offset := uint64(len(c.stage.Outputs)) * uint64(c.lanes()) * 4
		c.g.Add(ir.Node{Op: kernel.Store32, Extra: memory, Imm: offset, Args: [4]ir.Value{at, x}})
		c.stage.Outputs = append(c.stage.Outputs, v)
	}
	for _, o := range c.stage.outputs {
		whole := c.loadVariable(o.pointer, len(o.written))
		k := -1
		for p := range c.module.Places(o.instruction, c.constants) {
			k++
			if !o.written[k] {
				continue
			}
			v, x := c.variableAt(&p), whole[k]
			switch t := p.Type; {
			case t.Width == 64:
				store(v, c.g.Op1(kernel.Low32, x))
				v.Half = 1
				x = c.g.Op1(kernel.High32, x)
			case t.Kind == spirv.TypeInt && t.Width < 32 && t.Signed:
				x = c.signExtend(x, t)
			}
			store(v, x)
		}
	}
}

// lane0 and so on are the lanes of a quad.
const (
	quadRight = 1
	quadBelow = 2
)

// ofOther is a value of another lane of the quad, in a block.
type ofOther struct {
	block int32
	op    spirv.Op
	value ir.Value
	arg   uint32
}

// quad gives a value of another lane of the quad. A block has each of them once, since the same lanes are active in all
// of it.
func (c *compiler) quad(op spirv.Op, v ir.Value, arg uint32) ir.Value {
	key := ofOther{c.g.Current, op, v, arg}
	other, ok := c.stage.others[key]
	if !ok {
		x := ir.SubgroupCall{Typ: &spirv.Type{Kind: spirv.TypeFloat, Width: 32}}
		other = c.subgroup(op, x, c.one(v).scalars, c.g.C32(arg), []bool{false})[0]
		put(&c.stage.others, key, other)
	}
	return other
}

// derivative is that of a 32-bit float in a direction, quadRight or quadBelow. A coarse one is the same in a whole
// quad.
func (c *compiler) derivative(v ir.Value, direction uint32, coarse bool) ir.Value {
	c.stage.Modes.Derivatives = true
	if coarse {
		first := c.quad(spirv.OpGroupNonUniformQuadBroadcast, v, 0)
		return c.g.Op2(kernel.SubF32, c.quad(spirv.OpGroupNonUniformQuadBroadcast, v, direction), first)
	}
	other := c.quad(spirv.OpGroupNonUniformQuadSwap, v, direction-1)
	lane := c.subgroupLane()
	second := c.g.Op1(kernel.I32ToMask, c.g.Op2(kernel.AndI32, lane, c.g.C32(direction)))
	return c.g.Choose(second, c.g.Op2(kernel.SubF32, v, other), c.g.Op2(kernel.SubF32, other, v))
}

// lowerFragment lowers instructions of fragment shaders.
func (c *compiler) lowerFragment(i *spirv.Instruction) bool {
	if !c.graphics() {
		return false
	}
	switch i.Op {
	case spirv.OpDemoteToHelperInvocation:
		c.demote()
	case spirv.OpIsHelperInvocationEXT:
		c.set(i, c.one(c.isHelper()).scalars)
	case spirv.OpDPdx, spirv.OpDPdxFine, spirv.OpDPdxCoarse, spirv.OpDPdy, spirv.OpDPdyFine, spirv.OpDPdyCoarse,
		spirv.OpFwidth, spirv.OpFwidthFine, spirv.OpFwidthCoarse:
		c.lowerDerivative(i)
	default:
		return false
	}
	return true
}

func (c *compiler) lowerDerivative(i *spirv.Instruction) {
	coarse := i.Op == spirv.OpDPdxCoarse || i.Op == spirv.OpDPdyCoarse || i.Op == spirv.OpFwidthCoarse
	s := c.scalars(i.Operands[0])
	out := c.list(len(s))
	for k, v := range s {
		switch i.Op {
		case spirv.OpDPdx, spirv.OpDPdxFine, spirv.OpDPdxCoarse:
			out[k] = c.derivative(v, quadRight, coarse)
		case spirv.OpDPdy, spirv.OpDPdyFine, spirv.OpDPdyCoarse:
			out[k] = c.derivative(v, quadBelow, coarse)
		default:
			dx := c.g.Op1(kernel.AbsF32, c.derivative(v, quadRight, coarse))
			out[k] = c.g.Op2(kernel.AddF32, dx, c.g.Op1(kernel.AbsF32, c.derivative(v, quadBelow, coarse)))
		}
	}
	c.set(i, out)
}

// demote takes the effects of the active lanes away.
func (c *compiler) demote() {
	c.stage.Modes.Discards = true
	var o ir.CallOperands
	c.g.Call(ops.Subgroup, ir.Call{Op: spirv.OpDemoteToHelperInvocation, Subgroup: &ir.SubgroupCall{}}, &o, nil)
}

// isHelper says which lanes have no effects.
func (c *compiler) isHelper() ir.Value {
	var o ir.CallOperands
	return c.g.Call(ops.Subgroup, ir.Call{Op: spirv.OpIsHelperInvocationEXT, Subgroup: &ir.SubgroupCall{}}, &o,
		[]bool{false})[0]
}

// implicitLevel gives a lookup by implicit derivatives those that its coordinates have in the quad.
func (c *compiler) implicitLevel(b *imageBuilder, t *spirv.Type) {
	if b.Projective {
		at := b.CallOperands[ir.PartCoordinate]
		by := at[len(at)-1]
		at = append([]ir.Value(nil), at[:len(at)-1]...)
		for k, v := range at {
			at[k] = c.g.Op2(kernel.DivF32, v, by)
		}
		b.CallOperands[ir.PartCoordinate] = at
		if d := b.CallOperands[ir.PartDref]; len(d) > 0 {
			b.CallOperands[ir.PartDref] = []ir.Value{c.g.Op2(kernel.DivF32, d[0], by)}
		}
		b.Projective = false
	}
	axes := 2
	switch t.Dim {
	case spirv.Dim1D:
		axes = 1
	case spirv.Dim3D, spirv.DimCube:
		axes = 3
	}
	for _, v := range b.CallOperands[ir.PartCoordinate][:axes] {
		v = c.withoutShift(v)
		b.Put(ir.PartGradX, c.derivative(v, quadRight, true))
		b.Put(ir.PartGradY, c.derivative(v, quadBelow, true))
	}
}

// withoutShift is a coordinate without what is added to it in all lanes alike, which has no derivative: lookups around
// a place have the derivatives of that.
func (c *compiler) withoutShift(v ir.Value) ir.Value {
	for {
		c.steps(1)
		n := &c.g.Nodes[v]
		switch {
		case n.Op == kernel.AddF32 && c.g.Alike(n.Args[1]), n.Op == kernel.SubF32 && c.g.Alike(n.Args[1]):
			v = n.Args[0]
		case n.Op == kernel.AddF32 && c.g.Alike(n.Args[0]):
			v = n.Args[1]
		default:
			return v
		}
	}
}

// subpassTexel turns the coordinates of a read from an input attachment into those of the fragment's texel in the view:
// of the pixel, the layer and the view.
func (c *compiler) subpassTexel(b *imageBuilder) {
	c.stage.Modes.ReadsInputs = true
	at := b.CallOperands[ir.PartCoordinate]
	out := c.list(3)
	for axis := range 2 {
		pixel := c.g.Op1(kernel.F32ToS32, c.builtInWord(spirv.BuiltInFragCoord, uint32(axis), ir.Float))
		out[axis] = c.g.Op2(kernel.AddI32, pixel, at[axis])
	}
	out[2] = c.g.Op2(kernel.AddI32, c.builtInWord(spirv.BuiltInLayer, 0, ir.Sint),
		c.builtInWord(spirv.BuiltInViewIndex, 0, ir.Sint))
	b.CallOperands[ir.PartCoordinate] = out
}
