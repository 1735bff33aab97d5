package compute

import (
	"farside/compute/internal/kernel"
	"farside/compute/internal/ops"
	"farside/spirv"
)

// imageOperand is an image, a sampler, or both.
type imageOperand struct {
	typ                        *spirv.Type // of the image; nil of a sampler
	image, sampler             Element
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
	o := &imageOperand{image: Element{Resource: -1}, sampler: Element{Resource: -1}}
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

// builder collects the operands of a call.
type builder struct {
	call
	list []value
}

func (b *builder) add(r *Register, v value) {
	if v != 0 {
		b.operands = append(b.operands, r)
		b.list = append(b.list, v)
	}
}

func (b *builder) all(into *[]Register, s []value) {
	*into = make([]Register, len(s))
	for k, v := range s {
		b.add(&(*into)[k], v)
	}
}

// finish adds the call and gives its results.
func (c *compiler) call(op kernel.Op, b *builder, results []bool) []value {
	n := node{op: op, extra: int32(len(c.calls)), list: b.list}
	c.calls = append(c.calls, b.call)
	v := c.add(n)
	out := c.list(len(results))
	for k, wide := range results {
		out[k] = c.add(node{op: ops.Result, wide: wide, args: [4]value{v}, imm: uint64(k)})
	}
	return out
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
		o.sampler, o.samplerHandle = Element{Resource: -1}, 0
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
	b, x := c.imageCall(op, o)
	if rest := c.imageArguments(op, b, x, o.typ, i.Operands[1:]); len(rest) > 0 {
		c.imageOperands(i, b, x, rest)
	}
	if op == spirv.OpImageWrite {
		c.call(ops.Image, b, nil)
		c.imagesChanged()
		return true
	}
	b.pure = true
	scalar, _ := shape(result)
	x.Result = scalar
	widths := c.widths(result)
	x.Dst = make([]Register, len(widths))
	out := c.call(ops.Image, b, widths)
	if op != i.Op { // the residency code comes first
		out = append([]value{c.zero}, out...)
	}
	c.set(i, out)
	return true
}

// imageArguments adds what an instruction has behind its image: coordinates, a reference, a component or a texel. It
// returns what is left, the image operands.
func (c *compiler) imageArguments(op spirv.Op, b *builder, x *ImageOp, t *spirv.Type, rest []uint32) []uint32 {
	take := func() (id uint32) {
		id, rest = rest[0], rest[1:]
		return id
	}
	switch op {
	case spirv.OpImageQuerySize, spirv.OpImageQueryLevels, spirv.OpImageQuerySamples:
		return rest
	case spirv.OpImageQuerySizeLod:
		b.add(&x.Lod, c.int32Of(take()))
		return rest
	case spirv.OpImageSampleProjImplicitLod, spirv.OpImageSampleProjExplicitLod,
		spirv.OpImageSampleProjDrefImplicitLod, spirv.OpImageSampleProjDrefExplicitLod:
		x.Projective = true
	}
	c.coordinates(b, x, take(), t)
	switch op {
	case spirv.OpImageSampleDrefImplicitLod, spirv.OpImageSampleDrefExplicitLod, spirv.OpImageDrefGather,
		spirv.OpImageSampleProjDrefImplicitLod, spirv.OpImageSampleProjDrefExplicitLod:
		b.add(&x.Dref, c.scalar(take()))
	case spirv.OpImageGather:
		b.add(&x.Component, c.int32Of(take()))
	case spirv.OpImageWrite:
		b.all(&x.Texel, c.scalars(take()))
	}
	return rest
}

// imagesChanged says that texels have changed: a texel buffer may be some memory, too.
func (c *compiler) imagesChanged() {
	c.counter++
	c.floor = c.counter
}

func (c *compiler) imageCall(op spirv.Op, o *imageOperand) (*builder, *ImageOp) {
	x := &ImageOp{Op: op, Image: o.image, Sampler: o.sampler, Type: o.typ}
	b := &builder{call: call{image: x}}
	b.add(&x.Image.Register, o.imageHandle)
	b.add(&x.Sampler.Register, o.samplerHandle)
	return b, x
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
func (c *compiler) coordinates(b *builder, x *ImageOp, id uint32, t *spirv.Type) {
	elem, n := shape(c.typeOf(spirv.ID(id)))
	x.Float = elem.Kind == spirv.TypeFloat
	s := c.scalars(id)
	if !x.Float {
		s = c.ints32(id)
	}
	want := 2
	switch t.Dim {
	case spirv.Dim1D, spirv.DimBuffer:
		want = 1
	case spirv.Dim3D, spirv.DimCube:
		want = 3
	}
	cubeTexel := t.Dim == spirv.DimCube && !x.Float // x, y, and face and layer in one
	want += b2i(t.Arrayed && !cubeTexel) + b2i(x.Projective)
	b.all(&x.Coordinate, s[:min(n, want)])
}

// imageOperands adds the optional operands: a mask, then what its bits ask for, from the lowest bit on.
func (c *compiler) imageOperands(i *spirv.Instruction, b *builder, x *ImageOp, rest []uint32) {
	mask := spirv.ImageOperands(rest[0])
	rest = rest[1:]
	for bit := spirv.ImageOperands(1); bit != 0 && bit <= mask; bit <<= 1 {
		if mask&bit == 0 {
			continue
		}
		switch bit {
		case spirv.ImageOperandsNonPrivateTexel, spirv.ImageOperandsVolatileTexel, spirv.ImageOperandsNontemporal:
			continue
		case spirv.ImageOperandsSignExtend:
			x.SignExtend = true
			continue
		case spirv.ImageOperandsZeroExtend:
			x.ZeroExtend = true
			continue
		}
		if len(rest) == 0 {
			c.fail(i, "an image operand is missing")
		}
		id := rest[0]
		rest = rest[1:]
		switch bit {
		case spirv.ImageOperandsBias:
			b.add(&x.Bias, c.scalar(id))
		case spirv.ImageOperandsLod:
			if t := c.typeOf(spirv.ID(id)); t.Kind == spirv.TypeInt {
				b.add(&x.Lod, c.int32Of(id))
			} else {
				b.add(&x.Lod, c.scalar(id))
			}
		case spirv.ImageOperandsGrad:
			b.all(&x.GradX, c.scalars(id))
			b.all(&x.GradY, c.scalars(rest[0]))
			rest = rest[1:]
		case spirv.ImageOperandsConstOffset, spirv.ImageOperandsOffset:
			b.all(&x.Offset, c.ints32(id))
		case spirv.ImageOperandsConstOffsets, spirv.ImageOperandsOffsets:
			x.HasOffsets = true
			for k, v := range c.scalars(id)[:8] {
				bits, _ := c.known(v)
				x.Offsets[k/2][k%2] = int32(bits)
			}
		case spirv.ImageOperandsSample:
			b.add(&x.Sample, c.int32Of(id))
		case spirv.ImageOperandsMinLod:
			b.add(&x.MinLod, c.scalar(id))
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
	b, x := c.imageCall(i.Op, p.texel.image)
	b.all(&x.Coordinate, p.texel.coordinate)
	b.add(&x.Sample, p.texel.sample)
	c.releases(i)
	switch i.Op {
	case spirv.OpAtomicLoad, spirv.OpAtomicIIncrement, spirv.OpAtomicIDecrement:
	case spirv.OpAtomicCompareExchange, spirv.OpAtomicCompareExchangeWeak:
		b.all(&x.Texel, []value{c.scalar(i.Operands[4]), c.scalar(i.Operands[5])})
	default:
		b.all(&x.Texel, c.scalars(i.Operands[3]))
	}
	x.Result = p.typ
	var widths []bool
	if i.Type != 0 {
		widths = c.widths(p.typ)
		x.Dst = make([]Register, len(widths))
	}
	out := c.call(ops.Image, b, widths)
	c.imagesChanged()
	c.acquires(i)
	if i.Type != 0 {
		c.set(i, out)
	}
}

// lowerPrint lowers DebugPrintf.
func (c *compiler) lowerPrint(i *spirv.Instruction) {
	x := &Print{Format: c.module.Strings[spirv.ID(i.Operands[2])]}
	b := &builder{call: call{print: x}}
	var args []value
	for _, id := range i.Operands[3:] {
		x.Types = append(x.Types, c.typeOf(spirv.ID(id)))
		args = append(args, c.scalars(id)...)
	}
	b.all(&x.Args, args)
	c.call(ops.Print, b, nil)
	c.values[i.Result] = operand{scalars: []value{}}
}
