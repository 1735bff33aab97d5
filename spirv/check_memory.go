package spirv

import (
	"math/bits"

	"farside/internal/vk"
)

// pointer is the type of an operand that must be a pointer to memory, not to a texel.
func (s functionScope) pointer(i *Instruction, n int) (*Type, error) {
	p := s.typeOf(ID(i.Operands[n]))
	if p == nil || p.Kind != TypePointer || p.Class == StorageClassImage {
		return nil, errorAt(i, "its operand %s is not a pointer to memory", s.name(ID(i.Operands[n])))
	}
	return p, nil
}

// memory checks loads, stores, copies and access chains.
func (s functionScope) memory(i *Instruction) (bool, error) {
	switch i.Op {
	case OpLoad:
		p, err := s.pointer(i, 0)
		if err != nil {
			return true, err
		}
		return true, s.load(i, p)
	case OpStore:
		p, err := s.pointer(i, 0)
		if err != nil {
			return true, err
		}
		v := s.typeOf(ID(i.Operands[1]))
		if v == nil || v != p.Elem {
			return true, errorAt(i, "the object %s is not of the type that the pointer points to", s.name(ID(i.Operands[1])))
		}
		if err := s.stored(i, p, i.Operands[0]); err != nil {
			return true, err
		}
		return true, s.memoryOperands(i, i.Operands[2:], p, storeAccess)
	case OpCopyMemory:
		target, err := s.pointer(i, 0)
		if err != nil {
			return true, err
		}
		source, err := s.pointer(i, 1)
		if err != nil {
			return true, err
		}
		if target.Elem != source.Elem || opaque(source.Elem) || endsInRuntimeArray(source.Elem) {
			return true, s.mismatch(i)
		}
		if err := s.stored(i, target, i.Operands[0]); err != nil {
			return true, err
		}
		return true, s.copyOperands(i, target, source)
	case OpAccessChain, OpInBoundsAccessChain, OpPtrAccessChain, OpInBoundsPtrAccessChain:
		return true, s.accessChain(i)
	case OpArrayLength:
		p, err := s.pointer(i, 0)
		if err != nil {
			return true, err
		}
		r := s.types[i.Type]
		t := p.Elem
		if r.Kind != TypeInt || r.Width != 32 || r.Signed || t.Kind != TypeStruct || len(t.Members) == 0 ||
			int64(i.Operands[1]) != int64(len(t.Members)-1) || t.Members[i.Operands[1]].Kind != TypeRuntimeArray {
			return true, errorAt(i, "it is not a 32-bit unsigned integer from the last member of a struct, a runtime array")
		}
		if p.Class == StorageClassPhysicalStorageBuffer {
			return true, errorAt(i, "what a pointer to PhysicalStorageBuffer points to has no known length")
		}
		return true, nil
	case OpCopyMemorySized:
		return true, errorAt(i, "it is for kernels")
	}
	return false, nil
}

func (s functionScope) load(i *Instruction, p *Type) error {
	r := s.types[i.Type]
	switch {
	case r != p.Elem:
		return errorAt(i, "its type is not what the pointer points to")
	case endsInRuntimeArray(r) || r.Kind == TypeRuntimeArray:
		return errorAt(i, "its type %s has no size", s.name(r.ID))
	case opaque(r) && r.Kind == TypeArray:
		return errorAt(i, "its type %s is an array of images or samplers", s.name(r.ID))
	}
	if r.Kind == TypePointer {
		if err := s.variablePointer(i, r); err != nil {
			return err
		}
	}
	return s.memoryOperands(i, i.Operands[1:], p, loadAccess)
}

// stored checks that what a pointer points to may be written to.
func (s functionScope) stored(i *Instruction, p *Type, pointer uint32) error {
	switch p.Class {
	case StorageClassUniformConstant, StorageClassInput, StorageClassPushConstant:
		return errorAt(i, "what is in storage class %v can't be written to", p.Class)
	case StorageClassUniform:
		if s.rootIsBlock(pointer) {
			return ruleAt(i, vk.VUID_StandaloneSpirv_Uniform_06925, "what is in a uniform block can't be written to")
		}
	}
	if p.Elem.Kind == TypePointer {
		if err := s.variablePointer(i, p.Elem); err != nil {
			return err
		}
		if p.Elem.Class != StorageClassPhysicalStorageBuffer && p.Class != StorageClassFunction &&
			p.Class != StorageClassPrivate {
			return errorAt(i, "a pointer that is not to PhysicalStorageBuffer can't be stored in %v", p.Class)
		}
	}
	return nil
}

// rootIsBlock follows access chains to a variable, and says whether that is a Block. The answers are kept.
func (s functionScope) rootIsBlock(id uint32) bool {
	var way []uint32
	answer := false
	for {
		known, ok := s.roots[id]
		if ok {
			answer = known
			break
		}
		way = append(way, id)
		def := s.m.Definitions[id]
		if def.Op == OpAccessChain || def.Op == OpInBoundsAccessChain || def.Op == OpCopyObject {
			// The base is defined in front of it, other than in blocks that can't be reached.
			if base := s.m.Definitions[def.Operands[0]]; base.Offset < def.Offset {
				id = def.Operands[0]
				continue
			}
		} else if def.Op == OpVariable {
			t := s.types[def.Type].Elem
			for t.Kind == TypeArray || t.Kind == TypeRuntimeArray {
				t = t.Elem
			}
			answer = s.m.decoration(t.ID, DecorationBlock) != nil
		}
		break
	}
	for _, id := range way {
		put(&s.roots, id, answer)
	}
	return answer
}

type accessUse uint8

const (
	loadAccess accessUse = iota
	storeAccess
	copyAccess // one set for both
)

// memoryOperands checks one set of memory operands for an access through a pointer.
func (s functionScope) memoryOperands(i *Instruction, words []uint32, p *Type, use accessUse) error {
	var mask MemoryAccess
	if len(words) > 0 {
		mask = MemoryAccess(words[0])
		words = words[1:]
	}
	if mask&MemoryAccessAligned != 0 {
		align := words[0]
		words = words[1:]
		if bits.OnesCount32(align) != 1 {
			return errorAt(i, "the alignment %d is not a power of two", align)
		}
		if p.Class == StorageClassPhysicalStorageBuffer && uint64(align) < s.largestScalar(p.Elem) {
			return ruleAt(i, vk.VUID_StandaloneSpirv_PhysicalStorageBuffer64_06314,
				"the alignment %d is less than the largest scalar's", align)
		}
	} else if p.Class == StorageClassPhysicalStorageBuffer {
		return ruleAt(i, vk.VUID_StandaloneSpirv_PhysicalStorageBuffer64_04708,
			"an access to PhysicalStorageBuffer is without Aligned")
	}
	if mask&MemoryAccessMakePointerAvailable != 0 {
		if use == loadAccess || mask&MemoryAccessNonPrivatePointer == 0 {
			return errorAt(i, "MakePointerAvailable is for stores, with NonPrivatePointer")
		}
		if err := s.memoryScope(i, ID(words[0])); err != nil {
			return err
		}
		words = words[1:]
	}
	if mask&MemoryAccessMakePointerVisible != 0 {
		if use == storeAccess || mask&MemoryAccessNonPrivatePointer == 0 {
			return errorAt(i, "MakePointerVisible is for loads, with NonPrivatePointer")
		}
		if err := s.memoryScope(i, ID(words[0])); err != nil {
			return err
		}
	}
	if mask&MemoryAccessNonPrivatePointer != 0 {
		switch p.Class {
		case StorageClassUniform, StorageClassWorkgroup, StorageClassStorageBuffer, StorageClassPhysicalStorageBuffer:
		default:
			return errorAt(i, "NonPrivatePointer does not go with storage class %v", p.Class)
		}
	}
	return nil
}

// copyOperands checks the one or two sets of OpCopyMemory, the target's first.
func (s functionScope) copyOperands(i *Instruction, target, source *Type) error {
	first, second := i.Operands[2:], []uint32(nil)
	if len(first) > 0 {
		n := 1
		for mask := MemoryAccess(first[0]) & (MemoryAccessAligned | MemoryAccessMakePointerAvailable |
			MemoryAccessMakePointerVisible); mask != 0; mask &= mask - 1 {
			n++
		}
		first, second = first[:n], first[n:]
	}
	if len(second) == 0 {
		if err := s.memoryOperands(i, first, target, copyAccess); err != nil {
			return err
		}
		return s.memoryOperands(i, first, source, copyAccess)
	}
	if s.version < 0x14 {
		return errorAt(i, "two sets of memory operands need SPIR-V 1.4")
	}
	if err := s.memoryOperands(i, first, target, storeAccess); err != nil {
		return err
	}
	return s.memoryOperands(i, second, source, loadAccess)
}

// largestScalar is the size of the largest scalar in a type.
func (k *checker) largestScalar(t *Type) uint64 {
	for _, width := range [...]uint32{64, 32, 16} {
		n := 0
		if width == 16 {
			n = 2
		} else if width == 32 {
			n = 1
		}
		if k.holds(t, &k.widths[n], func(t *Type) bool {
			return (t.Kind == TypeInt || t.Kind == TypeFloat) && t.Width == width || width == 64 && t.Kind == TypePointer
		}) {
			return uint64(width / 8)
		}
	}
	return 1
}

func (s functionScope) accessChain(i *Instruction) error {
	r := s.types[i.Type]
	p, err := s.pointer(i, 0)
	if err != nil {
		return err
	}
	indices := i.Operands[1:]
	t := p.Elem
	if i.Op == OpPtrAccessChain || i.Op == OpInBoundsPtrAccessChain {
		switch p.Class {
		case StorageClassPhysicalStorageBuffer:
		case StorageClassWorkgroup, StorageClassStorageBuffer:
			if err := s.variablePointer(i, p); err != nil {
				return err
			}
		default:
			return ruleAt(i, vk.VUID_StandaloneSpirv_Base_07650, "its base is a pointer to %v", p.Class)
		}
		if p.Class != StorageClassWorkgroup && p.Stride == 0 {
			return errorAt(i, "the type of its base has no ArrayStride")
		}
		if e := s.typeOf(ID(indices[0])); e == nil || e.Kind != TypeInt {
			return errorAt(i, "its element %s is not an integer", s.name(ID(indices[0])))
		}
		indices = indices[1:]
	}
	if len(indices) > 255 {
		return errorAt(i, "it has more than 255 indices")
	}
	if len(indices) > 0 {
		if err := s.descriptorIndex(i, p, ID(indices[0])); err != nil {
			return err
		}
	}
	for _, id := range indices {
		x := s.typeOf(ID(id))
		if x == nil || x.Kind != TypeInt {
			return errorAt(i, "the index %s is not an integer", s.name(ID(id)))
		}
		switch t.Kind {
		case TypeStruct:
			v := s.c.Values[ID(id)]
			if v == nil || s.m.Definitions[id].Op != OpConstant {
				return errorAt(i, "the index %s into a struct is not an OpConstant", s.name(ID(id)))
			}
			if v.Bits >= uint64(len(t.Members)) {
				return errorAt(i, "%s has no member %d", s.name(t.ID), v.Bits)
			}
			t = t.Members[v.Bits]
		case TypeVector, TypeMatrix, TypeArray, TypeRuntimeArray:
			t = t.Elem
		default:
			return errorAt(i, "the index %s leads into %s, which is no composite", s.name(ID(id)), s.name(t.ID))
		}
	}
	if r.Kind != TypePointer || r.Elem != t || r.Class != p.Class {
		return errorAt(i, "its type %s is not a pointer to %s in storage class %v", s.name(r.ID), s.name(t.ID), p.Class)
	}
	return nil
}

// constant32 is the value of an OpConstant of 32 bits.
func (s functionScope) constant32(i *Instruction, id ID, what string) (uint32, error) {
	v := s.c.Values[id]
	if v == nil || s.m.Definitions[id].Op != OpConstant && s.m.Definitions[id].Op != OpConstantNull ||
		v.Type.Kind != TypeInt || v.Type.Width != 32 {
		return 0, errorAt(i, "its %s %s is not a 32-bit OpConstant", what, s.name(id))
	}
	return uint32(v.Bits), nil
}

// memoryScope checks a scope for memory.
func (s functionScope) memoryScope(i *Instruction, id ID) error {
	w, err := s.constant32(i, id, "scope")
	if err != nil {
		return err
	}
	vulkan := s.has(CapabilityVulkanMemoryModel)
	switch scope := Scope(w); {
	case scope == ScopeDevice && vulkan && !s.has(CapabilityVulkanMemoryModelDeviceScope):
		return errorAt(i, "the scope Device needs the capability VulkanMemoryModelDeviceScope")
	case scope == ScopeQueueFamily && !vulkan:
		return errorAt(i, "the scope QueueFamily needs the capability VulkanMemoryModel")
	case scope == ScopeDevice || scope == ScopeQueueFamily || scope == ScopeWorkgroup || scope == ScopeSubgroup ||
		scope == ScopeInvocation:
		return nil
	default:
		return ruleAt(i, vk.VUID_StandaloneSpirv_None_04638, "the scope for memory is %v", scope)
	}
}

const (
	ordering = MemorySemanticsAcquire | MemorySemanticsRelease | MemorySemanticsAcquireRelease |
		MemorySemanticsSequentiallyConsistent
	storageSemantic = MemorySemanticsUniformMemory | MemorySemanticsWorkgroupMemory | MemorySemanticsImageMemory |
		MemorySemanticsOutputMemory
)

// semantics checks memory semantics, and gives them.
func (s functionScope) semantics(i *Instruction, id ID) (MemorySemantics, error) {
	w, err := s.constant32(i, id, "memory semantics")
	if err != nil {
		return 0, err
	}
	m := MemorySemantics(w)
	const available, visible, volatile = MemorySemanticsMakeAvailable, MemorySemanticsMakeVisible, MemorySemanticsVolatile
	const known = ordering | storageSemantic | available | visible | volatile |
		MemorySemanticsSubgroupMemory | MemorySemanticsCrossWorkgroupMemory | MemorySemanticsAtomicCounterMemory
	vulkan := s.has(CapabilityVulkanMemoryModel)
	switch {
	case m&^known != 0:
		return 0, errorAt(i, "the memory semantics %v are not known", m)
	case bits.OnesCount32(uint32(m&ordering)) > 1:
		return 0, ruleAt(i, vk.VUID_StandaloneSpirv_MemorySemantics_10865, "the memory semantics %v have several orders", m)
	case m&MemorySemanticsSequentiallyConsistent != 0 && vulkan:
		return 0, ruleAt(i, vk.VUID_StandaloneSpirv_MemorySemantics_10866,
			"the memory model Vulkan has no SequentiallyConsistent")
	case m&(available|visible|volatile|MemorySemanticsOutputMemory) != 0 && !vulkan:
		return 0, errorAt(i, "the memory semantics %v need the capability VulkanMemoryModel", m)
	case m&available != 0 && m&(MemorySemanticsRelease|MemorySemanticsAcquireRelease) == 0:
		return 0, ruleAt(i, vk.VUID_StandaloneSpirv_MemorySemantics_10872, "MakeAvailable is without Release")
	case m&visible != 0 && m&(MemorySemanticsAcquire|MemorySemanticsAcquireRelease) == 0:
		return 0, ruleAt(i, vk.VUID_StandaloneSpirv_MemorySemantics_10873, "MakeVisible is without Acquire")
	case m&(available|visible) != 0 && m&storageSemantic == 0:
		return 0, errorAt(i, "MakeAvailable or MakeVisible is without a storage class")
	}
	return m, nil
}

// atomic checks atomic instructions.
func (s functionScope) atomic(i *Instruction) (bool, error) {
	var value int // the operand with the value, or 0
	float := false
	switch i.Op {
	case OpAtomicLoad:
		float = true
	case OpAtomicStore, OpAtomicExchange:
		value, float = 3, true
	case OpAtomicFAddEXT, OpAtomicFMinEXT, OpAtomicFMaxEXT:
		value, float = 3, true
	case OpAtomicIIncrement, OpAtomicIDecrement:
	case OpAtomicIAdd, OpAtomicISub, OpAtomicSMin, OpAtomicUMin, OpAtomicSMax, OpAtomicUMax, OpAtomicAnd, OpAtomicOr,
		OpAtomicXor:
		value = 3
	case OpAtomicCompareExchange:
		value = 4
	default:
		return false, nil
	}
	p := s.typeOf(ID(i.Operands[0]))
	if p == nil || p.Kind != TypePointer {
		return true, errorAt(i, "its operand %s is not a pointer", s.name(ID(i.Operands[0])))
	}
	switch p.Class {
	case StorageClassUniform, StorageClassWorkgroup, StorageClassImage, StorageClassStorageBuffer,
		StorageClassPhysicalStorageBuffer:
	default:
		return true, ruleAt(i, vk.VUID_StandaloneSpirv_None_04686, "its pointer is to %v", p.Class)
	}
	t := p.Elem
	if i.Op != OpAtomicLoad {
		if err := s.stored(i, p, i.Operands[0]); err != nil {
			return true, err
		}
	}
	if i.Op != OpAtomicStore && s.types[i.Type] != t {
		return true, errorAt(i, "its type is not what the pointer points to")
	}
	if value != 0 && s.typeOf(ID(i.Operands[value])) != t || i.Op == OpAtomicCompareExchange &&
		s.typeOf(ID(i.Operands[5])) != t {
		return true, errorAt(i, "its value is not of the type that the pointer points to")
	}
	if err := s.atomicType(i, t, p.Class, float); err != nil {
		return true, err
	}
	if err := s.memoryScope(i, ID(i.Operands[1])); err != nil {
		return true, err
	}
	m, err := s.semantics(i, ID(i.Operands[2]))
	if err != nil {
		return true, err
	}
	switch {
	case i.Op == OpAtomicLoad && m&(MemorySemanticsRelease|MemorySemanticsAcquireRelease) != 0:
		err = ruleAt(i, vk.VUID_StandaloneSpirv_MemorySemantics_10868, "a load does not release")
	case i.Op == OpAtomicStore && m&(MemorySemanticsAcquire|MemorySemanticsAcquireRelease) != 0:
		err = ruleAt(i, vk.VUID_StandaloneSpirv_MemorySemantics_10867, "a store does not acquire")
	case i.Op == OpAtomicCompareExchange:
		var unequal MemorySemantics
		if unequal, err = s.semantics(i, ID(i.Operands[3])); err == nil &&
			unequal&(MemorySemanticsRelease|MemorySemanticsAcquireRelease) != 0 {
			err = ruleAt(i, vk.VUID_StandaloneSpirv_UnequalMemorySemantics_10875, "what does not compare equal does not release")
		}
		if err == nil && (unequal^m)&MemorySemanticsVolatile != 0 {
			err = ruleAt(i, vk.VUID_StandaloneSpirv_UnequalMemorySemantics_10879, "only one of its semantics is Volatile")
		}
	}
	return true, err
}

func (s functionScope) atomicType(i *Instruction, t *Type, class StorageClass, float bool) error {
	need := func(c Capability) error {
		if !s.has(c) {
			return errorAt(i, "on this type it needs the capability %v", c)
		}
		return nil
	}
	arithmetic := i.Op == OpAtomicFAddEXT || i.Op == OpAtomicFMinEXT || i.Op == OpAtomicFMaxEXT
	switch {
	case t.Kind == TypeInt && !arithmetic && t.Width == 32:
		return nil
	case t.Kind == TypeInt && !arithmetic && t.Width == 64:
		if class == StorageClassImage {
			if err := need(CapabilityInt64ImageEXT); err != nil {
				return err
			}
		}
		return need(CapabilityInt64Atomics)
	case t.Kind == TypeFloat && float:
		var add, minMax Capability
		switch t.Width {
		case 16:
			add, minMax = CapabilityAtomicFloat16AddEXT, CapabilityAtomicFloat16MinMaxEXT
		case 32:
			add, minMax = CapabilityAtomicFloat32AddEXT, CapabilityAtomicFloat32MinMaxEXT
		default:
			add, minMax = CapabilityAtomicFloat64AddEXT, CapabilityAtomicFloat64MinMaxEXT
		}
		switch {
		case i.Op == OpAtomicFAddEXT:
			return need(add)
		case arithmetic:
			return need(minMax)
		}
		return nil
	}
	return errorAt(i, "there are no such atomics on %s", s.name(t.ID))
}
