package spirv

import (
	"math/bits"

	"farside/internal/vk"
)

// planeCoordinates is how many coordinates a texel of one layer has.
func planeCoordinates(t *Type) uint32 {
	switch t.Dim {
	case Dim1D, DimBuffer:
		return 1
	case Dim3D, DimCube:
		return 3
	}
	return 2
}

func (t *Type) components() uint32 {
	if t.Kind == TypeVector {
		return t.Count
	}
	return 1
}

// coordinates checks a coordinate: numbers of a kind, at least so many.
func (s functionScope) coordinates(i *Instruction, id ID, kind TypeKind, count uint32) error {
	t := s.typeOf(id)
	if t == nil || !t.numeric(kind) || t.component().Width != 32 || t.components() < count {
		return errorAt(i, "the coordinate %s is not of %d 32-bit numbers of its kind", s.name(id), count)
	}
	return nil
}

func layerCount(t *Type) uint32 {
	if t.Arrayed {
		return 1
	}
	return 0
}

// image checks image instructions.
func (s functionScope) image(i *Instruction) (bool, error) {
	r := s.types[i.Type]
	switch i.Op {
	case OpSampledImage:
		v, err := s.values(i, 0, 2)
		if err == nil && (r.Kind != TypeSampledImage || v[0].Kind != TypeImage || !sameButDepth(v[0], r.Elem) ||
			v[1].Kind != TypeSampler) {
			err = s.mismatch(i)
		}
		return true, err
	case OpImage:
		v, err := s.values(i, 0, 1)
		if err == nil && (v[0].Kind != TypeSampledImage || v[0].Elem != r) {
			err = s.mismatch(i)
		}
		return true, err
	case OpImageSampleExplicitLod, OpImageSampleProjExplicitLod, OpImageSampleDrefExplicitLod,
		OpImageSampleProjDrefExplicitLod,
		OpImageGather, OpImageDrefGather:
		return true, s.sample(i, r)
	case OpImageFetch:
		return true, s.fetch(i, r)
	case OpImageRead:
		return true, s.readImage(i, r)
	case OpImageWrite:
		return true, s.writeImage(i)
	case OpImageTexelPointer:
		return true, s.texelPointer(i, r)
	case OpImageQuerySizeLod, OpImageQuerySize, OpImageQueryLevels, OpImageQuerySamples:
		return true, s.query(i, r)
	}
	return false, nil
}

// sameButDepth compares images. Compilers make images for comparison of others where a shader uses one in both ways.
func sameButDepth(a, b *Type) bool {
	return a.Elem == b.Elem && a.Dim == b.Dim && a.Arrayed == b.Arrayed && a.Multisampled == b.Multisampled &&
		a.Sampled == b.Sampled && a.Format == b.Format
}

// imageOperand is the type of an operand that must be an image.
func (s functionScope) imageOperand(i *Instruction) (*Type, error) {
	t := s.typeOf(ID(i.Operands[0]))
	if t == nil || t.Kind != TypeImage {
		return nil, errorAt(i, "its operand %s is not an image", s.name(ID(i.Operands[0])))
	}
	return t, nil
}

// texel checks a result of four numbers of an image's sampled type.
func (s functionScope) texel(i *Instruction, r, image *Type) error {
	if r.Kind != TypeVector || r.Count != 4 || r.Elem != image.Elem {
		return ruleAt(i, vk.VUID_StandaloneSpirv_Result_04780, "its type is not a vector of four of the image's sampled type")
	}
	return nil
}

func (s functionScope) sample(i *Instruction, r *Type) error {
	t := s.typeOf(ID(i.Operands[0]))
	if t == nil || t.Kind != TypeSampledImage {
		return errorAt(i, "its operand %s is not a sampled image", s.name(ID(i.Operands[0])))
	}
	image := t.Elem
	dref, gather, projected := false, false, false
	switch i.Op {
	case OpImageSampleDrefImplicitLod, OpImageSampleDrefExplicitLod:
		dref = true
	case OpImageSampleProjDrefImplicitLod, OpImageSampleProjDrefExplicitLod:
		dref, projected = true, true
	case OpImageSampleProjImplicitLod, OpImageSampleProjExplicitLod:
		projected = true
	case OpImageGather:
		gather = true
	case OpImageDrefGather:
		dref, gather = true, true
	}
	count := planeCoordinates(image) + layerCount(image)
	if projected {
		count++
		if image.Dim == DimCube || image.Arrayed {
			return errorAt(i, "cubes and arrays are not projected")
		}
	}
	switch {
	case image.Multisampled:
		return errorAt(i, "an image with samples is not sampled")
	case image.Dim == DimBuffer || image.Dim == DimSubpassData:
		return errorAt(i, "a texel buffer or a subpass is not sampled")
	case dref && image.Dim == Dim3D:
		return ruleAt(i, vk.VUID_StandaloneSpirv_OpImage_04777, "a 3D image is not compared")
	case gather && image.Dim != Dim2D && image.Dim != DimCube:
		return errorAt(i, "only 2D images and cubes are gathered from")
	}
	if err := s.coordinates(i, ID(i.Operands[1]), TypeFloat, count); err != nil {
		return err
	}
	rest := i.Operands[2:]
	if dref {
		d := s.typeOf(ID(rest[0]))
		if d == nil || d.Kind != TypeFloat || d.Width != 32 {
			return errorAt(i, "the reference %s is not a 32-bit float", s.name(ID(rest[0])))
		}
		rest = rest[1:]
	} else if gather {
		c := s.c.Values[ID(rest[0])]
		if c == nil || c.Type.Kind != TypeInt || c.Type.Width != 32 {
			return ruleAt(i, vk.VUID_StandaloneSpirv_OpImageGather_04664, "the component %s is not a 32-bit constant",
				s.name(ID(rest[0])))
		}
		if c.Bits > 3 && s.m.Definitions[rest[0]].Op == OpConstant {
			return errorAt(i, "the component is not 0, 1, 2 or 3")
		}
		rest = rest[1:]
	}
	if dref && !gather {
		if r != image.Elem {
			return errorAt(i, "its type is not the image's sampled type")
		}
	} else if err := s.texel(i, r, image); err != nil {
		return err
	}
	mask, err := s.imageOperands(i, rest, image)
	if err != nil {
		return err
	}
	none := gather || i.Op.implicitLod()
	if lod, grad := mask&ImageOperandsLod != 0,
		mask&ImageOperandsGrad != 0; !none && lod == grad || none && (lod || grad) {
		return errorAt(i, "an explicit level takes one of Lod and Grad, an implicit one and a gather none")
	}
	return nil
}

func (s functionScope) fetch(i *Instruction, r *Type) error {
	image, err := s.imageOperand(i)
	if err != nil {
		return err
	}
	if image.Sampled != 1 || image.Dim == DimCube {
		return errorAt(i, "the image is a cube or a storage image")
	}
	if err := s.texel(i, r, image); err != nil {
		return err
	}
	if err := s.coordinates(i, ID(i.Operands[1]), TypeInt, planeCoordinates(image)+layerCount(image)); err != nil {
		return err
	}
	mask, err := s.imageOperands(i, i.Operands[2:], image)
	if err == nil && image.Multisampled != (mask&ImageOperandsSample != 0) {
		err = errorAt(i, "images with samples, and only they, take Sample")
	}
	return err
}

// storageImage checks an image that is read or written, and its coordinate.
func (s functionScope) storageImage(i *Instruction, image *Type) error {
	if image.Sampled != 2 {
		return errorAt(i, "the image is not a storage image")
	}
	count := planeCoordinates(image) + layerCount(image)
	if image.Dim == DimCube {
		count = 3
	}
	if err := s.coordinates(i, ID(i.Operands[1]), TypeInt, count); err != nil {
		return err
	}
	return nil
}

func (s functionScope) readImage(i *Instruction, r *Type) error {
	image, err := s.imageOperand(i)
	if err != nil {
		return err
	}
	if err := s.storageImage(i, image); err != nil {
		return err
	}
	subpass := image.Dim == DimSubpassData
	if image.Format == ImageFormatUnknown && !subpass && !s.has(CapabilityStorageImageReadWithoutFormat) {
		return errorAt(i, "an image without format needs the capability StorageImageReadWithoutFormat")
	}
	if err := s.texel(i, r, image); err != nil {
		return err
	}
	mask, err := s.imageOperands(i, i.Operands[2:], image)
	if err == nil && image.Multisampled != (mask&ImageOperandsSample != 0) {
		err = errorAt(i, "images with samples, and only they, take Sample")
	}
	if err == nil && subpass {
		return onlyIn(i, inFragment, vk.NoVUID, "it reads a subpass")
	}
	return err
}

func (s functionScope) writeImage(i *Instruction) error {
	image, err := s.imageOperand(i)
	if err != nil {
		return err
	}
	if image.Dim == DimSubpassData {
		return errorAt(i, "a subpass is not written to")
	}
	if err := s.storageImage(i, image); err != nil {
		return err
	}
	if image.Format == ImageFormatUnknown && !s.has(CapabilityStorageImageWriteWithoutFormat) {
		return errorAt(i, "an image without format needs the capability StorageImageWriteWithoutFormat")
	}
	t := s.typeOf(ID(i.Operands[2]))
	if t == nil || t.component() != image.Elem {
		return errorAt(i, "the texel %s is not of the image's sampled type", s.name(ID(i.Operands[2])))
	}
	if n := formatComponents(image.Format); t.components() < n {
		return ruleAt(i, vk.VUID_RuntimeSpirv_OpImageWrite_07112, "the texel %s has fewer numbers than the format %v",
			s.name(t.ID), image.Format)
	}
	mask, err := s.imageOperands(i, i.Operands[3:], image)
	if err == nil && image.Multisampled != (mask&ImageOperandsSample != 0) {
		err = errorAt(i, "images with samples, and only they, take Sample")
	}
	return err
}

// formatComponents is how many numbers a texel of a format has; 1 for an unknown one.
func formatComponents(f ImageFormat) uint32 {
	switch f {
	case ImageFormatRgba32f, ImageFormatRgba16f, ImageFormatRgba8, ImageFormatRgba8Snorm, ImageFormatRgba16,
		ImageFormatRgb10A2,
		ImageFormatRgba16Snorm, ImageFormatRgba32i, ImageFormatRgba16i, ImageFormatRgba8i, ImageFormatRgba32ui,
		ImageFormatRgba16ui,
		ImageFormatRgba8ui, ImageFormatRgb10a2ui:
		return 4
	case ImageFormatR11fG11fB10f:
		return 3
	case ImageFormatRg32f, ImageFormatRg16f, ImageFormatRg16, ImageFormatRg8, ImageFormatRg16Snorm, ImageFormatRg8Snorm,
		ImageFormatRg32i, ImageFormatRg16i, ImageFormatRg8i, ImageFormatRg32ui, ImageFormatRg16ui, ImageFormatRg8ui:
		return 2
	}
	return 1
}

func (s functionScope) texelPointer(i *Instruction, r *Type) error {
	p := s.typeOf(ID(i.Operands[0]))
	if p == nil || p.Kind != TypePointer || p.Elem.Kind != TypeImage {
		return errorAt(i, "its operand %s is not a pointer to an image", s.name(ID(i.Operands[0])))
	}
	image := p.Elem
	if image.Sampled != 2 || image.Dim == DimSubpassData {
		return errorAt(i, "the image is not a storage image")
	}
	if r.Kind != TypePointer || r.Class != StorageClassImage || r.Elem != image.Elem {
		return errorAt(i, "its type is not a pointer to the image's sampled type in storage class Image")
	}
	switch image.Format {
	case ImageFormatR64i, ImageFormatR64ui, ImageFormatR32f, ImageFormatR32i, ImageFormatR32ui:
	default:
		return ruleAt(i, vk.VUID_StandaloneSpirv_OpImageTexelPointer_04658, "the format %v has no atomics", image.Format)
	}
	count := planeCoordinates(image) + layerCount(image)
	if image.Dim == DimCube {
		count = 3
	}
	if t := s.typeOf(ID(i.Operands[1])); t == nil || !t.numeric(TypeInt) || t.component().Width != 32 ||
		t.components() != count {
		return errorAt(i, "the coordinate %s is not of %d 32-bit integers", s.name(ID(i.Operands[1])), count)
	}
	t := s.typeOf(ID(i.Operands[2]))
	if t == nil || t.Kind != TypeInt || t.Width != 32 {
		return errorAt(i, "the sample %s is not a 32-bit integer", s.name(ID(i.Operands[2])))
	}
	if v := s.c.Values[ID(i.Operands[2])]; !image.Multisampled && (v == nil || v.Bits != 0) {
		return errorAt(i, "the sample %s is not the constant 0", s.name(ID(i.Operands[2])))
	}
	return nil
}

func (s functionScope) query(i *Instruction, r *Type) error {
	image, err := s.imageOperand(i)
	if err != nil {
		return err
	}
	if !r.numeric(TypeInt) || r.component().Width != 32 {
		return errorAt(i, "its type is not of 32-bit integers")
	}
	count := planeCoordinates(image)
	if image.Dim == DimCube {
		count = 2
	}
	count += layerCount(image)
	levels := image.Sampled == 1 && image.Dim != DimBuffer && image.Dim != DimSubpassData // with samples it is one level
	switch i.Op {
	case OpImageQuerySizeLod:
		if t := s.typeOf(ID(i.Operands[1])); t == nil || t.Kind != TypeInt || t.Width != 32 {
			return errorAt(i, "the level %s is not a 32-bit integer", s.name(ID(i.Operands[1])))
		}
		if !levels || image.Multisampled {
			return ruleAt(i, vk.VUID_StandaloneSpirv_OpImageQuerySizeLod_04659, "the image has no levels")
		}
	case OpImageQuerySize:
		if levels && !image.Multisampled || image.Dim == DimSubpassData {
			return errorAt(i, "the image has levels, of which it names none")
		}
	case OpImageQueryLevels:
		count = 1
		if !levels {
			return ruleAt(i, vk.VUID_StandaloneSpirv_OpImageQuerySizeLod_04659, "the image has no levels")
		}
	case OpImageQuerySamples:
		count = 1
		if !image.Multisampled || image.Dim != Dim2D {
			return errorAt(i, "the image has no samples")
		}
	}
	if r.components() != count {
		return errorAt(i, "its type does not have %d components", count)
	}
	return nil
}

// imageOperands checks the mask of image operands and what belongs to its bits.
func (s functionScope) imageOperands(i *Instruction, words []uint32, image *Type) (ImageOperands, error) {
	if len(words) == 0 {
		return 0, nil
	}
	mask := ImageOperands(words[0])
	words = words[1:]
	if bits.OnesCount32(
		uint32(mask&(ImageOperandsOffset|ImageOperandsConstOffset|ImageOperandsConstOffsets|ImageOperandsOffsets))) > 1 {
		return 0, errorAt(i, "it has several of Offset, ConstOffset and ConstOffsets")
	}
	sampling := i.Op != OpImageFetch && i.Op != OpImageRead && i.Op != OpImageWrite
	gather := i.Op == OpImageGather || i.Op == OpImageDrefGather
	implicit := i.Op.implicitLod()
	plane := planeCoordinates(image)
	for rest := mask; rest != 0; rest &= rest - 1 {
		bit := rest & -rest
		var t *Type
		if len(words) > 0 &&
			bit&(ImageOperandsNonPrivateTexel|ImageOperandsVolatileTexel|ImageOperandsSignExtend|
				ImageOperandsZeroExtend|ImageOperandsNontemporal) == 0 {
			if t = s.typeOf(ID(words[0])); t == nil {
				return 0, errorAt(i, "its operand %s is no object", s.name(ID(words[0])))
			}
		}
		ok := true
		take := 1
		switch bit {
		case ImageOperandsLod:
			kind := TypeInt
			if sampling {
				kind = TypeFloat
			}
			ok = t.Kind == kind && t.Width == 32 && i.Op != OpImageRead && i.Op != OpImageWrite && !image.Multisampled &&
				image.Dim != DimBuffer
		case ImageOperandsGrad:
			dy := s.typeOf(ID(words[1]))
			ok = sampling && !gather && t.numeric(TypeFloat) && t.component().Width == 32 && t.components() == plane && dy == t
			take = 2
		case ImageOperandsConstOffset, ImageOperandsOffset:
			ok = t.numeric(TypeInt) && t.component().Width == 32 && t.components() == plane && image.Dim != DimCube &&
				image.Dim != DimBuffer && image.Sampled == 1
			if bit == ImageOperandsConstOffset {
				ok = ok && s.c.Values[ID(words[0])] != nil
			} else {
				ok = ok && gather // in Vulkan's features, shaderImageGatherExtended
			}
		case ImageOperandsConstOffsets:
			ok = gather && t.Kind == TypeArray && t.Count == 4 && t.Elem.Kind == TypeVector && t.Elem.Count == 2 &&
				t.Elem.Elem.Kind == TypeInt &&
				t.Elem.Elem.Width == 32 && image.Dim != DimCube && s.c.Values[ID(words[0])] != nil
		case ImageOperandsSample:
			ok = !sampling && t.Kind == TypeInt && t.Width == 32 && image.Multisampled
		case ImageOperandsBias:
			ok = implicit && t.Kind == TypeFloat && t.Width == 32
		case ImageOperandsMinLod:
			ok = (implicit || sampling && !gather && mask&ImageOperandsGrad != 0) && t.Kind == TypeFloat && t.Width == 32
		case ImageOperandsMakeTexelAvailable, ImageOperandsMakeTexelVisible:
			ok = mask&ImageOperandsNonPrivateTexel != 0 && (i.Op == OpImageWrite) == (bit == ImageOperandsMakeTexelAvailable) &&
				!sampling && i.Op != OpImageFetch
			if err := s.memoryScope(i, ID(words[0])); err != nil {
				return 0, err
			}
		case ImageOperandsNonPrivateTexel, ImageOperandsVolatileTexel, ImageOperandsNontemporal:
			take = 0
		case ImageOperandsSignExtend, ImageOperandsZeroExtend:
			take = 0
			ok = image.Elem.Kind == TypeInt
		default:
			ok = false
		}
		if !ok {
			return 0, errorAt(i, "the image operand %v does not go with the instruction or the image, or has the wrong type",
				bit)
		}
		words = words[take:]
	}
	return mask, nil
}
