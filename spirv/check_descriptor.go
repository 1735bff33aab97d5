package spirv

import "farside/internal/vk"

// Indexing is what arrays of a kind of descriptor need to be indexed by values that are no constants: the first where
// these are the same in all invocations of a subgroup, the second where they may differ; and the rules that say so.
type Indexing struct {
	Dynamic, NonUniform         Capability
	DynamicVUID, NonUniformVUID vk.VUID
}

var (
	uniformBuffers = Indexing{
		CapabilityUniformBufferArrayDynamicIndexing, CapabilityUniformBufferArrayNonUniformIndexing,
		vk.VUID_StandaloneSpirv_UniformBufferArrayDynamicIndexing_10127,
		vk.VUID_RuntimeSpirv_UniformBufferArrayNonUniformIndexing_10134,
	}
	sampledImages = Indexing{
		CapabilitySampledImageArrayDynamicIndexing, CapabilitySampledImageArrayNonUniformIndexing,
		vk.VUID_StandaloneSpirv_SampledImageArrayDynamicIndexing_10128,
		vk.VUID_RuntimeSpirv_SampledImageArrayNonUniformIndexing_10135,
	}
	storageBuffers = Indexing{
		CapabilityStorageBufferArrayDynamicIndexing, CapabilityStorageBufferArrayNonUniformIndexing,
		vk.VUID_StandaloneSpirv_StorageBufferArrayDynamicIndexing_10129,
		vk.VUID_RuntimeSpirv_StorageBufferArrayNonUniformIndexing_10136,
	}
	storageImages = Indexing{
		CapabilityStorageImageArrayDynamicIndexing, CapabilityStorageImageArrayNonUniformIndexing,
		vk.VUID_StandaloneSpirv_StorageImageArrayDynamicIndexing_10130,
		vk.VUID_RuntimeSpirv_StorageImageArrayNonUniformIndexing_10137,
	}
	uniformTexelBuffers = Indexing{
		CapabilityUniformTexelBufferArrayDynamicIndexing, CapabilityUniformTexelBufferArrayNonUniformIndexing,
		vk.VUID_StandaloneSpirv_UniformTexelBufferArrayDynamicIndexing_10132,
		vk.VUID_RuntimeSpirv_UniformTexelBufferArrayNonUniformIndexing_10139,
	}
	storageTexelBuffers = Indexing{
		CapabilityStorageTexelBufferArrayDynamicIndexing, CapabilityStorageTexelBufferArrayNonUniformIndexing,
		vk.VUID_StandaloneSpirv_StorageTexelBufferArrayDynamicIndexing_10133,
		vk.VUID_RuntimeSpirv_StorageTexelBufferArrayNonUniformIndexing_10140,
	}
)

// Indexing is what indices into t need, if it is an array of descriptors in a storage class; nil if it is none, or of
// the input attachments of fragment shaders.
func (m *Module) Indexing(t *Type, class StorageClass) *Indexing {
	if t.Kind != TypeArray && t.Kind != TypeRuntimeArray {
		return nil
	}
	t = t.Elem
	switch class {
	case StorageClassStorageBuffer:
		if m.decoration(t.ID, DecorationBlock) != nil {
			return &storageBuffers
		}
	case StorageClassUniform:
		if m.decoration(t.ID, DecorationBufferBlock) != nil {
			return &storageBuffers
		}
		if m.decoration(t.ID, DecorationBlock) != nil {
			return &uniformBuffers
		}
	case StorageClassUniformConstant:
		buffer, storage := t.Dim == DimBuffer, t.Sampled == 2
		switch {
		case t.Kind == TypeSampler || t.Kind == TypeSampledImage || t.Kind == TypeImage && !buffer && !storage:
			return &sampledImages
		case t.Kind != TypeImage || t.Dim == DimSubpassData:
		case buffer && storage:
			return &storageTexelBuffers
		case buffer:
			return &uniformTexelBuffers
		default:
			return &storageImages
		}
	}
	return nil
}

// descriptorIndex checks the first index of an access chain, if it is decorated NonUniform. That the device's features
// have the capability is enough: glslang and others declare only part of those that the index wants
// (KhronosGroup/glslang issues 981 and 2056). Whether an index that is not decorated is a constant is known to the
// compiler only, when functions are inlined.
func (s functionScope) descriptorIndex(i *Instruction, p *Type, index ID) error {
	if s.c.Values[index] != nil || s.m.decoration(index, DecorationNonUniform) == nil {
		return nil
	}
	if d := s.m.Indexing(p.Elem, p.Class); d != nil && !s.env.Capabilities[d.NonUniform] {
		return errorAt(i,
			"the index %s into descriptors is NonUniform, but the feature of the capability %v is not enabled (%s)",
			s.name(index), d.NonUniform, d.NonUniformVUID)
	}
	return nil
}

// sampledImageUse checks what is done with the result of an OpSampledImage: lookups, in the block where it is made
// (SPIR-V, OpSampledImage).
func (s functionScope) sampledImageUse(b *Block, i *Instruction, id ID) error {
	switch i.Op {
	case OpImageSampleImplicitLod, OpImageSampleExplicitLod, OpImageSampleDrefImplicitLod, OpImageSampleDrefExplicitLod,
		OpImageSampleProjImplicitLod, OpImageSampleProjExplicitLod, OpImageSampleProjDrefImplicitLod,
		OpImageSampleProjDrefExplicitLod,
		OpImageSparseSampleImplicitLod, OpImageSparseSampleExplicitLod, OpImageSparseSampleDrefImplicitLod,
		OpImageSparseSampleDrefExplicitLod, OpImageSparseGather, OpImageSparseDrefGather,
		OpImageGather, OpImageDrefGather, OpImage, OpImageQueryLod, OpCopyObject:
	default:
		return errorAt(i, "%s, of OpSampledImage, is for image lookups only", s.name(id))
	}
	if int(s.places[id].block) != b.Index+1 {
		return errorAt(i, "%s, of OpSampledImage, is of another block", s.name(id))
	}
	return nil
}
