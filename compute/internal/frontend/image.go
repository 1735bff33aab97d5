package frontend

import (
	"farside/compute/internal/ir"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// imageOperand is an image, a sampler, or both.
type imageOperand struct {
	typ                        *spirv.Type // of the image; nil of a sampler
	image, sampler             ir.Element
	imageHandle, samplerHandle ir.Value // indices that are known only at run time
}

// texelOperand is what an OpImageTexelPointer points to.
type texelOperand struct {
	image      *imageOperand
	coordinate []ir.Value
	sample     ir.Value
}

// imageOf gives what a load through a pointer to descriptors gives.
func (c *compiler) imageOf(p *pointer) *imageOperand {
	o := &imageOperand{image: ir.Element{Resource: -1}, sampler: ir.Element{Resource: -1}}
	switch p.typ.Kind {
	case spirv.TypeSampler:
		o.sampler, o.samplerHandle = p.element, p.handle
	case spirv.TypeSampledImage:
		o.typ = p.typ.Elem
		o.image, o.imageHandle = p.element, p.handle
		o.sampler, o.samplerHandle = p.element, p.handle
	default:
		o.typ = p.typ
		o.image, o.imageHandle = p.element, p.handle
	}
	return o
}

func (c *compiler) imageOperand(i *spirv.Instruction, id uint32) *imageOperand {
	o := c.get(id).image
	if o == nil {
		c.fail(i, "%s is no image", c.module.Name(spirv.ID(id)))
	}
	return o
}

// imageBuilder collects what an instruction on an image has.
type imageBuilder struct {
	ir.ImageCall
	ir.CallOperands
	float bool // the coordinates are floats
}

// widths says which scalars of a type have 64 bits.
func (c *compiler) widths(t *spirv.Type) []bool {
	var l []bool
	for _, s := range c.scalarsOf(t) {
		l = append(l, s != nil && wide(s))
	}
	return l
}

// sparse are the instructions with residency, as those without. All texels are resident.
var sparse = map[spirv.Op]spirv.Op{
	spirv.OpImageSparseSampleImplicitLod:     spirv.OpImageSampleImplicitLod,
	spirv.OpImageSparseSampleExplicitLod:     spirv.OpImageSampleExplicitLod,
	spirv.OpImageSparseSampleDrefImplicitLod: spirv.OpImageSampleDrefImplicitLod,
	spirv.OpImageSparseSampleDrefExplicitLod: spirv.OpImageSampleDrefExplicitLod,
	spirv.OpImageSparseFetch:                 spirv.OpImageFetch,
	spirv.OpImageSparseGather:                spirv.OpImageGather,
	spirv.OpImageSparseDrefGather:            spirv.OpImageDrefGather,
	spirv.OpImageSparseRead:                  spirv.OpImageRead,
}

// lowerImage lowers instructions on images.
func (c *compiler) lowerImage(i *spirv.Instruction) bool {
	op := i.Op
	result := (*spirv.Type)(nil)
	if i.Type != 0 {
		result = c.resultType(i)
	}
	x, sparseOp := sparse[op]
	if sparseOp {
		op, result = x, result.Members[1]
	}
	switch op {
	case spirv.OpSampledImage:
		o, s := *c.imageOperand(i, i.Operands[0]), c.imageOperand(i, i.Operands[1])
		o.sampler, o.samplerHandle = s.sampler, s.samplerHandle
		c.values[i.Result] = operand{image: &o}
		return true
	case spirv.OpImage:
		o := *c.imageOperand(i, i.Operands[0])
		o.sampler, o.samplerHandle = ir.Element{Resource: -1}, 0
		c.values[i.Result] = operand{image: &o}
		return true
	case spirv.OpImageSparseTexelsResident:
		c.set(i, c.one(c.g.C32(^uint32(0))).scalars)
		return true
	case spirv.OpImageSampleImplicitLod, spirv.OpImageSampleExplicitLod, spirv.OpImageSampleDrefImplicitLod,
		spirv.OpImageSampleDrefExplicitLod, spirv.OpImageSampleProjImplicitLod, spirv.OpImageSampleProjExplicitLod,
		spirv.OpImageSampleProjDrefImplicitLod, spirv.OpImageSampleProjDrefExplicitLod, spirv.OpImageFetch,
		spirv.OpImageGather, spirv.OpImageDrefGather, spirv.OpImageRead, spirv.OpImageWrite, spirv.OpImageQuerySize,
		spirv.OpImageQuerySizeLod, spirv.OpImageQueryLevels, spirv.OpImageQuerySamples, spirv.OpImageQueryLod:
	default:
		return false
	}
	o := c.imageOperand(i, i.Operands[0])
	if o.typ == nil {
		c.fail(i, "%s is no image", c.module.Name(spirv.ID(i.Operands[0])))
	}
	b := newImageBuilder(o)
	if rest := c.imageArguments(op, b, o.typ, i.Operands[1:]); len(rest) > 0 {
		c.imageOperands(i, b, rest)
	}
	if c.fragmentShader() {
		switch {
		case implicit(op):
			c.implicitLevel(b, o.typ)
		case op == spirv.OpImageRead && o.typ.Dim == spirv.DimSubpassData:
			c.subpassTexel(b)
			op = spirv.OpImageFetch
		}
	}
	if op == spirv.OpImageWrite {
		c.g.Call(ops.Image, ir.Call{Op: op, Image: &b.ImageCall}, &b.CallOperands, nil)
		c.imagesChanged()
		return true
	}
	out := c.g.Call(ops.Image, ir.Call{Op: op, Pure: true, Image: &b.ImageCall}, &b.CallOperands, c.widths(result))
	if sparseOp { // the residency code comes first
		out = append([]ir.Value{c.g.Zero}, out...)
	}
	c.set(i, out)
	return true
}

// implicit says whether an instruction looks up by implicit derivatives.
func implicit(op spirv.Op) bool {
	switch op {
	case spirv.OpImageSampleImplicitLod, spirv.OpImageSampleDrefImplicitLod, spirv.OpImageSampleProjImplicitLod,
		spirv.OpImageSampleProjDrefImplicitLod, spirv.OpImageQueryLod:
		return true
	}
	return false
}

// imageArguments adds what an instruction has behind its image: coordinates, a reference, a component or a texel. It
// returns what is left, the image operands.
func (c *compiler) imageArguments(op spirv.Op, b *imageBuilder, t *spirv.Type, rest []uint32) []uint32 {
	take := func() (id uint32) {
		id, rest = rest[0], rest[1:]
		return id
	}
	switch op {
	case spirv.OpImageQuerySize, spirv.OpImageQueryLevels, spirv.OpImageQuerySamples:
		return rest
	case spirv.OpImageQuerySizeLod:
		b.Put(ir.PartLod, c.int32Of(take()))
		return rest
	case spirv.OpImageSampleProjImplicitLod, spirv.OpImageSampleProjExplicitLod,
		spirv.OpImageSampleProjDrefImplicitLod, spirv.OpImageSampleProjDrefExplicitLod:
		b.Projective = true
	}
	c.coordinates(b, take(), t)
	switch op {
	case spirv.OpImageSampleDrefImplicitLod, spirv.OpImageSampleDrefExplicitLod, spirv.OpImageDrefGather,
		spirv.OpImageSampleProjDrefImplicitLod, spirv.OpImageSampleProjDrefExplicitLod:
		b.Put(ir.PartDref, c.scalar(take()))
	case spirv.OpImageGather:
		b.Put(ir.PartComponent, c.int32Of(take()))
	case spirv.OpImageWrite:
		b.Put(ir.PartTexel, c.scalars(take())...)
	}
	return rest
}

// imagesChanged says that texels have changed: a texel buffer may be some memory, too.
func (c *compiler) imagesChanged() {
	c.counter++
	c.floor = c.counter
}

func newImageBuilder(o *imageOperand) *imageBuilder {
	b := &imageBuilder{ImageCall: ir.ImageCall{Image: o.image, Sampler: o.sampler}}
	b.Put(ir.PartImage, o.imageHandle)
	b.Put(ir.PartSampler, o.samplerHandle)
	return b
}

// int32Of gives an integer operand with 32 bits.
func (c *compiler) int32Of(id uint32) ir.Value {
	t, _ := shape(c.typeOf(spirv.ID(id)))
	return c.convertInt(c.scalar(id), t, 32)
}

func (c *compiler) ints32(id uint32) []ir.Value {
	t, n := shape(c.typeOf(spirv.ID(id)))
	s := c.scalars(id)
	out := c.list(n)
	for k := range out {
		out[k] = c.convertInt(s[k], t, 32)
	}
	return out
}

// coordinates adds those that the image has.
func (c *compiler) coordinates(b *imageBuilder, id uint32, t *spirv.Type) {
	elem, n := shape(c.typeOf(spirv.ID(id)))
	b.float = elem.Kind == spirv.TypeFloat
	s := c.scalars(id)
	if !b.float {
		s = c.ints32(id)
	}
	want := 2
	switch t.Dim {
	case spirv.Dim1D, spirv.DimBuffer:
		want = 1
	case spirv.Dim3D, spirv.DimCube:
		want = 3
	}
	cubeTexel := t.Dim == spirv.DimCube && !b.float // x, y, and face and layer in one
	want += b2i(t.Arrayed && !cubeTexel) + b2i(b.Projective)
	b.Put(ir.PartCoordinate, s[:min(n, want)]...)
}

// imageOperands adds the optional operands: a mask, then what its bits ask for, from the lowest bit on.
func (c *compiler) imageOperands(i *spirv.Instruction, b *imageBuilder, rest []uint32) {
	mask := spirv.ImageOperands(rest[0])
	rest = rest[1:]
	for bit := spirv.ImageOperands(1); bit != 0 && bit <= mask; bit <<= 1 {
		if mask&bit == 0 {
			continue
		}
		switch bit {
		case spirv.ImageOperandsNonPrivateTexel, spirv.ImageOperandsVolatileTexel, spirv.ImageOperandsNontemporal,
			spirv.ImageOperandsSignExtend, spirv.ImageOperandsZeroExtend:
			continue
		}
		if len(rest) == 0 {
			c.fail(i, "an image operand is missing")
		}
		id := rest[0]
		rest = rest[1:]
		switch bit {
		case spirv.ImageOperandsBias:
			b.Put(ir.PartBias, c.scalar(id))
		case spirv.ImageOperandsLod:
			if t := c.typeOf(spirv.ID(id)); t.Kind == spirv.TypeInt {
				b.Put(ir.PartLod, c.int32Of(id))
			} else {
				b.Put(ir.PartLod, c.scalar(id))
			}
		case spirv.ImageOperandsGrad:
			b.Put(ir.PartGradX, c.scalars(id)...)
			b.Put(ir.PartGradY, c.scalars(rest[0])...)
			rest = rest[1:]
		case spirv.ImageOperandsConstOffset, spirv.ImageOperandsOffset:
			b.Put(ir.PartOffset, c.ints32(id)...)
		case spirv.ImageOperandsConstOffsets, spirv.ImageOperandsOffsets:
			b.HasOffsets = true
			for k, v := range c.scalars(id)[:8] {
				bits, _ := c.g.Known(v)
				b.Offsets[k/2][k%2] = int32(bits)
			}
		case spirv.ImageOperandsSample:
			b.Put(ir.PartSample, c.int32Of(id))
		case spirv.ImageOperandsMinLod:
			b.Put(ir.PartMinLod, c.scalar(id))
		case spirv.ImageOperandsMakeTexelAvailable, spirv.ImageOperandsMakeTexelVisible: // a scope
		default:
			c.fail(i, "image operand %v is not supported", bit)
		}
	}
}

func (c *compiler) texelPointer(i *spirv.Instruction) {
	p := c.pointerOf(i, i.Operands[0])
	o := c.imageOf(p)
	if o.typ == nil {
		c.fail(i, "%s is no image", c.module.Name(spirv.ID(i.Operands[0])))
	}
	t := c.resultType(i)
	c.values[i.Result] = operand{pointer: &pointer{typ: t.Elem, class: t.Class, texel: &texelOperand{
		image: o, coordinate: c.ints32(i.Operands[1]), sample: c.int32Of(i.Operands[2]),
	}}}
}

// imageAtomic lowers an atomic on a texel.
func (c *compiler) imageAtomic(i *spirv.Instruction, p *pointer) {
	b := newImageBuilder(p.texel.image)
	b.Put(ir.PartCoordinate, p.texel.coordinate...)
	b.Put(ir.PartSample, p.texel.sample)
	c.releases(i)
	switch i.Op {
	case spirv.OpAtomicLoad, spirv.OpAtomicIIncrement, spirv.OpAtomicIDecrement:
	case spirv.OpAtomicCompareExchange, spirv.OpAtomicCompareExchangeWeak:
		b.Put(ir.PartTexel, []ir.Value{c.scalar(i.Operands[4]), c.scalar(i.Operands[5])}...)
	default:
		b.Put(ir.PartTexel, c.scalars(i.Operands[3])...)
	}
	var widths []bool
	if i.Type != 0 {
		widths = c.widths(p.typ)
	}
	out := c.g.Call(ops.Image, ir.Call{Op: i.Op, Image: &b.ImageCall}, &b.CallOperands, widths)
	c.imagesChanged()
	c.acquires(i)
	if i.Type != 0 {
		c.set(i, out)
	}
}

// lowerPrint lowers DebugPrintf.
func (c *compiler) lowerPrint(i *spirv.Instruction) {
	x := &ir.PrintCall{Format: c.module.Strings[spirv.ID(i.Operands[2])]}
	var o ir.CallOperands
	for _, id := range i.Operands[3:] {
		x.Types = append(x.Types, c.typeOf(spirv.ID(id)))
		o.Put(ir.PartValue, c.scalars(id)...)
	}
	c.g.Call(ops.Print, ir.Call{Op: i.Op, Print: x}, &o, nil)
	c.values[i.Result] = operand{scalars: []ir.Value{}}
}
