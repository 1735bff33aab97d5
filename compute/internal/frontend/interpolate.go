package frontend

import (
	"farside/compute/internal/ir"
	"farside/compute/internal/kernel"
	"farside/spirv"
)

// The functions of GLSL.std.450 that evaluate an input elsewhere. A centroid is an input of its own. Anywhere else, the
// shader does what the driver does for its inputs, in the same order with floats of 64 bits: so that the same place
// gives the same bits.

// evaluation gives the value of an input where a function wants it.
type evaluation func(ir.Variable) ir.Value

// interpolations are these functions: what each makes of the operand behind the interpolant.
var interpolations = map[spirv.GLSL]func(c *compiler, operands []uint32) evaluation{
	spirv.GLSLInterpolateAtCentroid: (*compiler).atCentroid,
	spirv.GLSLInterpolateAtSample:   (*compiler).atSample,
	spirv.GLSLInterpolateAtOffset:   (*compiler).atOffset,
}

func (c *compiler) lowerInterpolation(i *spirv.Instruction, x spirv.GLSL, operands []uint32) bool {
	function := interpolations[x]
	if function == nil {
		return false
	}
	p := c.pointerOf(i, operands[0])
	evaluate := function(c, operands[1:])
	variable := c.module.Definitions[c.root(operands[0])]
	n := c.count(p.typ)
	out := c.list(n)
	k := -1
	for place := range c.module.Places(variable, c.constants) {
		c.steps(1)
		k++
		for component := range out {
			chosen, may := c.scalarIs(p, k, component)
			if !may {
				continue
			}
			v := c.interpolated(&place, evaluate)
			if chosen != 0 && out[component] != 0 {
				v = c.g.Choose(chosen, v, out[component])
			}
			out[component] = v
		}
	}
	for component, v := range out {
		if v == 0 { // an index beyond all that there is
			out[component] = c.g.Zero
		}
	}
	c.set(i, out)
	return true
}

// scalarIs says whether component of what a pointer points to may be scalar k of its variable: always, or where the
// value is true.
func (c *compiler) scalarIs(p *pointer, k, component int) (chosen ir.Value, may bool) {
	v := p.variable
	switch {
	case v.private >= 0 && p.offset != 0:
		at := uint64(component) + p.immediate
		return c.g.Op2(kernel.EqI32, p.offset, c.g.C32(uint32(uint64(k)-at))), uint64(k) >= at
	case v.private >= 0:
		return 0, uint64(k) == p.immediate+uint64(component)
	case p.chosen == 0:
		return 0, k == p.slot-v.first+component
	}
	at := k - (p.slot - v.first + component)
	if at < 0 || at%p.step != 0 || at/p.step >= p.parts {
		return 0, false
	}
	return c.g.Op2(kernel.EqI32, p.chosen, c.g.C32(uint32(at/p.step))), true
}

// interpolated evaluates an input. One that isn't interpolated has its value everywhere.
func (c *compiler) interpolated(p *spirv.Place, evaluate evaluation) ir.Value {
	v := c.variableAt(p)
	distance := v.BuiltIn == spirv.BuiltInClipDistance || v.BuiltIn == spirv.BuiltInCullDistance
	if v.IsBuiltIn && !distance || v.Interpolation == ir.Flat || v.Numeric != ir.Float || v.Width != 32 {
		return c.inputAt(p)
	}
	v.Place = ir.AtCenter
	return evaluate(v)
}

func (c *compiler) atCentroid([]uint32) evaluation {
	return func(v ir.Variable) ir.Value {
		v.Place = ir.AtCentroid
		return c.word(v)
	}
}

// atSample is for a sample that may be any number: what no sample has is the center.
func (c *compiler) atSample(operands []uint32) evaluation {
	g, sample := c.g, c.scalar(operands[0])
	four := g.Op2(kernel.AndI32, g.Op2(kernel.ShrU32, sample, g.C32(2)), g.C32(3))
	word := c.setupWord(ir.SetupSamples)
	for k := range uint32(3) {
		is := g.Op2(kernel.EqI32, four, g.C32(k+1))
		word = g.Choose(is, c.setupWord(ir.SetupSamples+1+k), word)
	}
	shift := g.Op2(kernel.ShlI32, g.Op2(kernel.AndI32, sample, g.C32(3)), g.C32(3))
	word = g.Op2(kernel.ShrU32, word, shift)
	at := func(axis uint32) ir.Value {
		sixteenths := g.Op2(kernel.AndI32, g.Op2(kernel.ShrU32, word, g.C32(4*axis)), g.C32(15))
		within := g.Op2(kernel.MulF64, g.Op1(kernel.U32ToF64, sixteenths), c.double(1.0/16))
		return g.Op2(kernel.AddF64, g.Op1(kernel.U32ToF64, c.setupWord(ir.SetupPixel+axis)), within)
	}
	return c.evaluateAt(at)
}

// atOffset is for any offset from the center, NaN too.
func (c *compiler) atOffset(operands []uint32) evaluation {
	offset := c.scalars(operands[0])
	g := c.g
	return c.evaluateAt(func(axis uint32) ir.Value {
		pixel := g.Op1(kernel.U32ToF64, c.setupWord(ir.SetupPixel+axis))
		center := g.Op2(kernel.AddF64, pixel, c.double(0.5))
		return g.Op2(kernel.AddF64, center, g.Op1(kernel.F32ToF64, offset[axis]))
	})
}

// evaluateAt evaluates inputs at a place in the framebuffer.
func (c *compiler) evaluateAt(at func(axis uint32) ir.Value) evaluation {
	g := c.g
	var d [2]ir.Value
	for axis := range d {
		d[axis] = g.Op2(kernel.SubF64, at(uint32(axis)), c.setup(ir.SetupOrigin+uint32(axis)))
	}
	plane := func(first uint32) ir.Value {
		line := g.Op3(kernel.FmaF64, c.setup(first+1), d[1], c.setup(first+2))
		return g.Op3(kernel.FmaF64, c.setup(first), d[0], line)
	}
	return func(v ir.Variable) ir.Value {
		var weights [2]ir.Value
		for k := range weights {
			if v.Interpolation == ir.Linear {
				weights[k] = plane(ir.SetupLinear + 3*uint32(k))
				continue
			}
			w := g.Op2(kernel.DivF64, c.double(1), plane(ir.SetupReciprocal))
			weights[k] = g.Op2(kernel.MulF64, plane(ir.SetupPerspective+3*uint32(k)), w)
		}
		term := func(t ir.Term) ir.Value {
			w := v
			w.Term = t
			return c.wideWord(w)
		}
		second, third := term(ir.TermSecond), term(ir.TermThird)
		v.Term = ir.TermFirst
		first := g.Op1(kernel.F32ToF64, c.word(v))
		made := g.Op3(kernel.FmaF64, weights[0], second, g.Op3(kernel.FmaF64, weights[1], third, first))
		return g.Op1(kernel.F64ToF32, made)
	}
}

// setupWord is a component of the set-up of 32 bits, setup one of 64.
func (c *compiler) setupWord(component uint32) ir.Value {
	return c.builtInWord(ir.BuiltInSetup, component, ir.Uint)
}

func (c *compiler) setup(component uint32) ir.Value {
	return c.wideWord(ir.Variable{IsBuiltIn: true, BuiltIn: ir.BuiltInSetup, Component: component, Numeric: ir.Float,
		Width: 64})
}

// wideWord is a 64-bit input.
func (c *compiler) wideWord(v ir.Variable) ir.Value {
	low := c.word(v)
	v.Half = 1
	return c.g.Op2(kernel.Join64, low, c.word(v))
}

// double is a constant.
func (c *compiler) double(x float64) ir.Value {
	return c.floatConstant(&spirv.Type{Kind: spirv.TypeFloat, Width: 64}, x)
}
