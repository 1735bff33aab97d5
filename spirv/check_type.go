package spirv

import "farside/internal/vk"

// typeRules checks the types and constants, each of which Constants has seen to be well-formed.
func (k *checker) typeRules() error {
	seen := map[typeKey]ID{}
	for _, i := range k.m.Globals {
		if err := k.requirements(i); err != nil {
			return err
		}
		if err := k.typeRule(i); err != nil {
			return err
		}
		switch i.Op {
		case OpTypeVoid, OpTypeBool, OpTypeInt, OpTypeFloat, OpTypeVector, OpTypeMatrix, OpTypeImage, OpTypeSampler,
			OpTypeSampledImage, OpTypeFunction:
			// Types that aren't aggregates nor pointers may not be declared twice (SPIR-V 2.8).
			key := keyOf(i)
			if other, ok := seen[key]; ok {
				return errorAt(i, "it is the same type as %s", k.name(other))
			}
			seen[key] = i.Result
		}
	}
	return nil
}

// typeKey is what makes a type: its instruction and operands.
type typeKey struct {
	op    Op
	words [4]uint32
	more  string // all operands if they are more than words has, else their number
}

func keyOf(i *Instruction) typeKey {
	key := typeKey{op: i.Op}
	if len(i.Operands) > len(key.words) {
		key.more = string(appendWords(nil, i.Operands))
		return key
	}
	copy(key.words[:], i.Operands)
	key.more = string(rune(len(i.Operands)))
	return key
}

// typeRule checks one type.
func (k *checker) typeRule(i *Instruction) error {
	switch i.Op {
	case OpTypeInt:
		switch i.Operands[0] {
		case 8:
			return k.width(i, CapabilityInt8, CapabilityStorageBuffer8BitAccess, CapabilityUniformAndStorageBuffer8BitAccess,
				CapabilityStoragePushConstant8, CapabilityWorkgroupMemoryExplicitLayout8BitAccessKHR)
		case 16:
			return k.width(i, CapabilityInt16, CapabilityStorageBuffer16BitAccess,
				CapabilityUniformAndStorageBuffer16BitAccess, CapabilityStoragePushConstant16,
				CapabilityStorageInputOutput16, CapabilityWorkgroupMemoryExplicitLayout16BitAccessKHR)
		case 64:
			return k.width(i, CapabilityInt64)
		}
	case OpTypeFloat:
		switch i.Operands[0] {
		case 16:
			return k.width(i, CapabilityFloat16, CapabilityStorageBuffer16BitAccess,
				CapabilityUniformAndStorageBuffer16BitAccess, CapabilityStoragePushConstant16,
				CapabilityStorageInputOutput16, CapabilityWorkgroupMemoryExplicitLayout16BitAccessKHR)
		case 64:
			return k.width(i, CapabilityFloat64)
		}
	case OpTypeImage:
		return k.imageType(i)
	case OpTypeSampledImage:
		t := k.types[i.Result].Elem
		if t.Sampled == 2 || t.Dim == DimSubpassData || t.Dim == DimBuffer && k.version >= 0x16 {
			return ruleAt(i, vk.VUID_StandaloneSpirv_OpTypeSampledImage_06671,
				"its image is a storage image, a texel buffer or a subpass")
		}
	case OpTypeForwardPointer:
		if t := k.types[ID(i.Operands[0])]; t == nil || t.Kind != TypePointer {
			return errorAt(i, "%s is not an OpTypePointer", k.name(ID(i.Operands[0])))
		}
		if StorageClass(i.Operands[1]) != StorageClassPhysicalStorageBuffer {
			return ruleAt(i, vk.VUID_StandaloneSpirv_OpTypeForwardPointer_04711,
				"its storage class is not PhysicalStorageBuffer")
		}
	case OpTypePointer:
		return k.pointerType(i)
	case OpTypeStruct:
		for _, member := range k.types[i.Result].Members {
			if opaque(member) {
				return ruleAt(i, vk.VUID_StandaloneSpirv_None_04667, "its member %s is opaque", k.name(member.ID))
			}
		}
	}
	return nil
}

func appendWords(buf []byte, words []uint32) []byte {
	for _, w := range words {
		buf = append(buf, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	return buf
}

// width checks that one of some capabilities brings numbers of a width.
func (k *checker) width(i *Instruction, any ...Capability) error {
	for _, c := range any {
		if k.has(c) {
			return nil
		}
	}
	return errorAt(i, "%d bits need the capability %v", i.Operands[0], any[0])
}

// opaque says whether a type is, or is an array of, images or samplers.
func opaque(t *Type) bool {
	for t.Kind == TypeArray || t.Kind == TypeRuntimeArray {
		t = t.Elem
	}
	return t.Kind == TypeImage || t.Kind == TypeSampler || t.Kind == TypeSampledImage
}

func (k *checker) imageType(i *Instruction) error {
	t := k.types[i.Result]
	s := t.Elem
	switch {
	case s.Kind != TypeFloat && s.Kind != TypeInt || s.Width != 32 && (s.Width != 64 || s.Kind != TypeInt):
		return ruleAt(i, vk.VUID_StandaloneSpirv_OpTypeImage_04656,
			"its sampled type is not a 32-bit float, 32-bit integer or 64-bit integer")
	case s.Width == 64 && !k.has(CapabilityInt64ImageEXT):
		return errorAt(i, "a sampled type of 64 bits needs the capability Int64ImageEXT")
	case t.Sampled != 1 && t.Sampled != 2:
		return ruleAt(i, vk.VUID_StandaloneSpirv_OpTypeImage_04657, "its operand Sampled is neither 1 nor 2")
	case len(i.Operands) > 7:
		return errorAt(i, "it has an access qualifier, which is for kernels")
	case t.Dim != Dim1D && t.Dim != Dim2D && t.Dim != Dim3D && t.Dim != DimCube && t.Dim != DimBuffer &&
		t.Dim != DimSubpassData:
		return ruleAt(i, vk.VUID_StandaloneSpirv_OpTypeImage_09638, "the dimensionality %v is not supported", t.Dim)
	case t.Dim == DimSubpassData && (t.Arrayed || t.Sampled != 2 || t.Format != ImageFormatUnknown):
		return ruleAt(i, vk.VUID_StandaloneSpirv_OpTypeImage_06214, "a subpass is not arrayed, has Sampled 2 and no format")
	case t.Multisampled && t.Dim != Dim2D && t.Dim != DimSubpassData:
		return errorAt(i, "only 2D images have samples")
	case t.Arrayed && (t.Dim == Dim3D || t.Dim == DimBuffer):
		return errorAt(i, "%v images are not arrayed", t.Dim)
	case t.Multisampled && t.Sampled == 2 && t.Dim == Dim2D && !k.has(CapabilityStorageImageMultisample):
		return errorAt(i, "a storage image with samples needs the capability StorageImageMultisample")
	case t.Multisampled && t.Arrayed && t.Sampled == 2 && !k.has(CapabilityImageMSArray):
		return errorAt(i, "an array of storage images with samples needs the capability ImageMSArray")
	case t.Dim == Dim1D && t.Sampled == 2 && !k.has(CapabilityImage1D):
		return errorAt(i, "a 1D storage image needs the capability Image1D")
	case t.Dim == DimBuffer && t.Sampled == 2 && !k.has(CapabilityImageBuffer):
		return errorAt(i, "a storage texel buffer needs the capability ImageBuffer")
	case t.Dim == DimCube && t.Arrayed && t.Sampled == 2 && !k.has(CapabilityImageCubeArray):
		return errorAt(i, "an array of storage cubes needs the capability ImageCubeArray")
	case t.Dim == DimCube && t.Arrayed && t.Sampled == 1 && !k.has(CapabilitySampledCubeArray):
		return errorAt(i, "an array of cubes needs the capability SampledCubeArray")
	}
	if kind, width := formatType(t.Format); t.Format != ImageFormatUnknown && (kind != s.Kind || width != s.Width) {
		return ruleAt(i, vk.VUID_StandaloneSpirv_Image_04965, "the format %v does not go with its sampled type", t.Format)
	}
	return nil
}

// formatType is the kind and width of the numbers that texels of a format are read as.
func formatType(f ImageFormat) (TypeKind, uint32) {
	switch f {
	case ImageFormatR64i, ImageFormatR64ui:
		return TypeInt, 64
	case ImageFormatRgba32i, ImageFormatRgba16i, ImageFormatRgba8i, ImageFormatR32i, ImageFormatRg32i, ImageFormatRg16i,
		ImageFormatRg8i, ImageFormatR16i, ImageFormatR8i, ImageFormatRgba32ui, ImageFormatRgba16ui, ImageFormatRgba8ui,
		ImageFormatR32ui, ImageFormatRgb10a2ui, ImageFormatRg32ui, ImageFormatRg16ui, ImageFormatRg8ui, ImageFormatR16ui,
		ImageFormatR8ui:
		return TypeInt, 32
	}
	return TypeFloat, 32
}

func (k *checker) pointerType(i *Instruction) error {
	t := k.types[i.Result]
	switch t.Class {
	case StorageClassUniformConstant, StorageClassInput, StorageClassUniform, StorageClassOutput, StorageClassWorkgroup,
		StorageClassPrivate,
		StorageClassFunction, StorageClassPushConstant, StorageClassImage, StorageClassStorageBuffer,
		StorageClassPhysicalStorageBuffer:
	default:
		return ruleAt(i, vk.VUID_StandaloneSpirv_None_04643, "the storage class %v is not supported", t.Class)
	}
	switch t.Elem.Kind {
	case TypeVoid, TypeFunction:
		return errorAt(i, "it points to %s, which is no object", k.name(t.Elem.ID))
	}
	if t.Class == StorageClassUniformConstant && !opaque(t.Elem) {
		return ruleAt(i, vk.VUID_StandaloneSpirv_UniformConstant_04655,
			"in UniformConstant there are only images and samplers")
	}
	if t.Class != StorageClassUniformConstant && t.Class != StorageClassImage && t.Class != StorageClassFunction &&
		t.Class != StorageClassPrivate && opaque(t.Elem) {
		return errorAt(i, "images and samplers are only in UniformConstant")
	}
	return nil
}
