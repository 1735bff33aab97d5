package compute

import (
	"farside/compute/internal/ops"
	"farside/spirv"
)

// imageOperand is an image, a sampler, or both.
type imageOperand struct {
	typ                        *spirv.Type // of the image; nil of a sampler
	image, sampler             irElement
	imageHandle, samplerHandle value // indices that are known only at run time
}

// texelOperand is what an OpImageTexelPointer points to.
type texelOperand struct {
	image      *imageOperand
	coordinate []value
	sample     value
}

// imageOf gives what a load through a pointer to descriptors gives.
func (c *compiler) imageOf(p *pointer) *imageOperand {
	o := &imageOperand{image: irElement{resource: -1}, sampler: irElement{resource: -1}}
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
	imageCall
	callOperands
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
	if x, ok := sparse[op]; ok {
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
		o.sampler, o.samplerHandle = irElement{resource: -1}, 0
		c.values[i.Result] = operand{image: &o}
		return true
	case spirv.OpImageSparseTexelsResident:
		c.set(i, c.one(c.c32(^uint32(0))).scalars)
		return true
	case spirv.OpImageSampleImplicitLod, spirv.OpImageSampleExplicitLod, spirv.OpImageSampleDrefImplicitLod,
		spirv.OpImageSampleDrefExplicitLod, spirv.OpImageSampleProjImplicitLod, spirv.OpImageSampleProjExplicitLod,
		spirv.OpImageSampleProjDrefImplicitLod, spirv.OpImageSampleProjDrefExplicitLod, spirv.OpImageFetch,
		spirv.OpImageGather, spirv.OpImageDrefGather, spirv.OpImageRead, spirv.OpImageWrite, spirv.OpImageQuerySize,
		spirv.OpImageQuerySizeLod, spirv.OpImageQueryLevels, spirv.OpImageQuerySamples:
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
	if op == spirv.OpImageWrite {
		c.call(ops.Image, call{op: op, image: &b.imageCall}, &b.callOperands, nil)
		c.imagesChanged()
		return true
	}
	out := c.call(ops.Image, call{op: op, pure: true, image: &b.imageCall}, &b.callOperands, c.widths(result))
	if op != i.Op { // the residency code comes first
		out = append([]value{c.zero}, out...)
	}
	c.set(i, out)
	return true
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
		b.put(partLod, c.int32Of(take()))
		return rest
	case spirv.OpImageSampleProjImplicitLod, spirv.OpImageSampleProjExplicitLod,
		spirv.OpImageSampleProjDrefImplicitLod, spirv.OpImageSampleProjDrefExplicitLod:
		b.projective = true
	}
	c.coordinates(b, take(), t)
	switch op {
	case spirv.OpImageSampleDrefImplicitLod, spirv.OpImageSampleDrefExplicitLod, spirv.OpImageDrefGather,
		spirv.OpImageSampleProjDrefImplicitLod, spirv.OpImageSampleProjDrefExplicitLod:
		b.put(partDref, c.scalar(take()))
	case spirv.OpImageGather:
		b.put(partComponent, c.int32Of(take()))
	case spirv.OpImageWrite:
		b.put(partTexel, c.scalars(take())...)
	}
	return rest
}

// imagesChanged says that texels have changed: a texel buffer may be some memory, too.
func (c *compiler) imagesChanged() {
	c.counter++
	c.floor = c.counter
}

func newImageBuilder(o *imageOperand) *imageBuilder {
	b := &imageBuilder{imageCall: imageCall{image: o.image, sampler: o.sampler}}
	b.put(partImage, o.imageHandle)
	b.put(partSampler, o.samplerHandle)
	return b
}

// int32Of gives an integer operand with 32 bits.
func (c *compiler) int32Of(id uint32) value {
	t, _ := shape(c.typeOf(spirv.ID(id)))
	return c.convertInt(c.scalar(id), t, 32)
}

func (c *compiler) ints32(id uint32) []value {
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
	want += b2i(t.Arrayed && !cubeTexel) + b2i(b.projective)
	b.put(partCoordinate, s[:min(n, want)]...)
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
			b.put(partBias, c.scalar(id))
		case spirv.ImageOperandsLod:
			if t := c.typeOf(spirv.ID(id)); t.Kind == spirv.TypeInt {
				b.put(partLod, c.int32Of(id))
			} else {
				b.put(partLod, c.scalar(id))
			}
		case spirv.ImageOperandsGrad:
			b.put(partGradX, c.scalars(id)...)
			b.put(partGradY, c.scalars(rest[0])...)
			rest = rest[1:]
		case spirv.ImageOperandsConstOffset, spirv.ImageOperandsOffset:
			b.put(partOffset, c.ints32(id)...)
		case spirv.ImageOperandsConstOffsets, spirv.ImageOperandsOffsets:
			b.hasOffsets = true
			for k, v := range c.scalars(id)[:8] {
				bits, _ := c.known(v)
				b.offsets[k/2][k%2] = int32(bits)
			}
		case spirv.ImageOperandsSample:
			b.put(partSample, c.int32Of(id))
		case spirv.ImageOperandsMinLod:
			b.put(partMinLod, c.scalar(id))
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
	b.put(partCoordinate, p.texel.coordinate...)
	b.put(partSample, p.texel.sample)
	c.releases(i)
	switch i.Op {
	case spirv.OpAtomicLoad, spirv.OpAtomicIIncrement, spirv.OpAtomicIDecrement:
	case spirv.OpAtomicCompareExchange, spirv.OpAtomicCompareExchangeWeak:
		b.put(partTexel, []value{c.scalar(i.Operands[4]), c.scalar(i.Operands[5])}...)
	default:
		b.put(partTexel, c.scalars(i.Operands[3])...)
	}
	var widths []bool
	if i.Type != 0 {
		widths = c.widths(p.typ)
	}
	out := c.call(ops.Image, call{op: i.Op, image: &b.imageCall}, &b.callOperands, widths)
	c.imagesChanged()
	c.acquires(i)
	if i.Type != 0 {
		c.set(i, out)
	}
}

// lowerPrint lowers DebugPrintf.
func (c *compiler) lowerPrint(i *spirv.Instruction) {
	x := &printCall{format: c.module.Strings[spirv.ID(i.Operands[2])]}
	var o callOperands
	for _, id := range i.Operands[3:] {
		x.types = append(x.types, c.typeOf(spirv.ID(id)))
		o.put(partValue, c.scalars(id)...)
	}
	c.call(ops.Print, call{op: i.Op, print: x}, &o, nil)
	c.values[i.Result] = operand{scalars: []value{}}
}
