package spirv

import "farside/internal/vk"

// variables checks the variables of the module's scope, and what is else between types and functions.
func (k *checker) variables() error {
	for _, i := range k.m.Globals {
		switch i.Op {
		case OpVariable:
			if err := k.variable(i, false); err != nil {
				return err
			}
		case OpUndef:
			if t := k.types[i.Type]; opaque(t) {
				return ruleAt(i, vk.VUID_StandaloneSpirv_OpUndef_12464, "its type %s is opaque", k.name(t.ID))
			}
		}
	}
	// Blocks that only pointers reach.
	for _, i := range k.m.Globals {
		t := k.types[i.Result]
		if i.Op != OpTypePointer || t.Class != StorageClassPhysicalStorageBuffer {
			continue
		}
		if err := k.pointee(i, t.Elem); err != nil {
			return err
		}
	}
	return nil
}

// pointee checks the layout of what a pointer of storage class PhysicalStorageBuffer points to.
func (k *checker) pointee(i *Instruction, t *Type) error {
	for t.Kind == TypeArray || t.Kind == TypeRuntimeArray {
		if t.Stride == 0 {
			return ruleAt(i, vk.VUID_StandaloneSpirv_None_10684, "the array %s has no ArrayStride", k.name(t.ID))
		}
		t = t.Elem
	}
	switch {
	case t.Kind == TypeStruct:
		return k.checkLayout(t, k.rulesOf(StorageClassPhysicalStorageBuffer, t))
	case t.Kind == TypeBool || t.Kind == TypeVector && t.Elem.Kind == TypeBool || t.Kind == TypePointer &&
		t.Class != StorageClassPhysicalStorageBuffer:
		return errorAt(i, "%s can't be in memory", k.name(t.ID))
	}
	return nil
}

func (k *checker) rulesOf(class StorageClass, t *Type) layoutRules {
	switch {
	case class == StorageClassWorkgroup && k.env.WorkgroupScalarLayout,
		class != StorageClassWorkgroup && k.env.ScalarBlockLayout:
		return layoutScalar
	case class == StorageClassUniform && !k.env.UniformBufferStandardLayout &&
		k.m.decoration(t.ID, DecorationBlock) != nil:
		return layoutExtended
	}
	return layoutBase
}

// variable checks an OpVariable in or outside of a function.
func (k *checker) variable(i *Instruction, inFunction bool) error {
	p := k.types[i.Type]
	if p == nil || p.Kind != TypePointer {
		return errorAt(i, "its type %s is not a pointer", k.name(i.Type))
	}
	class := StorageClass(i.Operands[0])
	switch {
	case p.Class != class:
		return errorAt(i, "its storage class is not that of its type, %v", p.Class)
	case inFunction != (class == StorageClassFunction):
		return errorAt(i, "variables of storage class Function, and only they, are in functions")
	case class == StorageClassPhysicalStorageBuffer || class == StorageClassImage:
		return errorAt(i, "there are no variables of storage class %v", class)
	}
	if len(i.Operands) > 1 {
		if err := k.initializer(i, p.Elem, class); err != nil {
			return err
		}
	}
	v := variableType{Type: p.Elem, inner: p.Elem}
	for v.inner.Kind == TypeArray || v.inner.Kind == TypeRuntimeArray {
		if v.inner.Kind == TypeRuntimeArray && v.arrays > 0 {
			return errorAt(i, "a runtime array is not the outermost one")
		}
		v.inner = v.inner.Elem
		v.arrays++
	}
	if v.inner.Kind == TypePointer && v.inner.Class == StorageClassPhysicalStorageBuffer &&
		(k.m.decoration(i.Result, DecorationAliasedPointer) != nil) ==
			(k.m.decoration(i.Result, DecorationRestrictPointer) != nil) {
		return errorAt(i, "it holds pointers to PhysicalStorageBuffer, but has not one of AliasedPointer and RestrictPointer")
	}
	if err := k.variableOf(i, &v, class); err != nil {
		return err
	}
	if err := k.variableArrays(i, &v, class); err != nil {
		return err
	}
	return k.explicitNumbers(i, v.Type, class)
}

// variableType is the type of what a variable holds.
type variableType struct {
	*Type
	inner  *Type // without the arrays around it
	arrays int   // so many
}

// variableOf checks what a variable of a storage class holds.
func (k *checker) variableOf(i *Instruction, v *variableType, class StorageClass) error {
	switch class {
	case StorageClassUniformConstant:
		if !opaque(v.Type) {
			return ruleAt(i, vk.VUID_StandaloneSpirv_UniformConstant_04655,
				"it is neither an image nor a sampler, nor an array of them")
		}
	case StorageClassUniform, StorageClassStorageBuffer, StorageClassPushConstant:
		return k.interfaceBlock(i, v, class)
	case StorageClassWorkgroup:
		return k.workgroupVariable(i, v)
	case StorageClassInput, StorageClassOutput, StorageClassPrivate, StorageClassFunction:
		switch {
		case opaque(v.Type):
			return errorAt(i, "it holds images or samplers")
		case k.hasPointer(v.Type) && class != StorageClassPrivate && class != StorageClassFunction:
			return errorAt(i, "it holds pointers")
		}
	}
	return nil
}

// interfaceBlock checks a variable whose memory comes from the application: it is a Block, or an array of Blocks where
// there are descriptors.
func (k *checker) interfaceBlock(i *Instruction, v *variableType, class StorageClass) error {
	notStruct, notBlock := vk.VUID_StandaloneSpirv_Uniform_06807, vk.VUID_StandaloneSpirv_Uniform_06676
	if class == StorageClassPushConstant {
		notStruct, notBlock = vk.VUID_StandaloneSpirv_PushConstant_06808, vk.VUID_StandaloneSpirv_PushConstant_06675
	}
	if v.inner.Kind != TypeStruct || class == StorageClassPushConstant && v.arrays > 0 {
		return ruleAt(i, notStruct, "it is not a struct, or an array of structs where there are descriptors")
	}
	block := k.m.decoration(v.inner.ID, DecorationBlock) != nil
	bufferBlock := k.m.decoration(v.inner.ID, DecorationBufferBlock) != nil
	if block == bufferBlock || bufferBlock && class != StorageClassUniform {
		return ruleAt(i, notBlock, "its type %s is not a Block", k.name(v.inner.ID))
	}
	return k.block(i, v.inner, class, bufferBlock)
}

// workgroupVariable checks a variable in shared memory, with an explicit layout or without.
func (k *checker) workgroupVariable(i *Instruction, v *variableType) error {
	if v.Kind == TypeRuntimeArray {
		return nil // variableArrays refuses it
	}
	if v.inner.Kind == TypeStruct && k.m.decoration(v.inner.ID, DecorationBlock) != nil {
		switch {
		case !k.has(CapabilityWorkgroupMemoryExplicitLayoutKHR):
			return errorAt(i, "a Block in Workgroup needs the capability WorkgroupMemoryExplicitLayoutKHR")
		case v.arrays > 0:
			return errorAt(i, "a Block in Workgroup is not an array")
		}
		return k.block(i, v.inner, StorageClassWorkgroup, false)
	}
	if k.hasPointer(v.Type) && !k.has(CapabilityVariablePointers) {
		return errorAt(i, "it holds pointers")
	}
	return nil
}

// variableArrays checks where a variable's arrays may be: around descriptors, and a runtime array at the end of a
// buffer.
func (k *checker) variableArrays(i *Instruction, v *variableType, class StorageClass) error {
	runtime := v.Kind == TypeRuntimeArray
	switch class {
	case StorageClassUniformConstant, StorageClassUniform, StorageClassStorageBuffer:
		switch {
		case k.m.decoration(i.Result, DecorationBinding) == nil || k.m.decoration(i.Result, DecorationDescriptorSet) == nil:
			return ruleAt(i, vk.VUID_StandaloneSpirv_UniformConstant_06677, "it has no DescriptorSet or no Binding")
		case runtime && !k.has(CapabilityRuntimeDescriptorArray):
			return errorAt(i, "a runtime array of descriptors needs the capability RuntimeDescriptorArray")
		case v.arrays > 1:
			return errorAt(i, "an array of arrays has no descriptors")
		}
	default:
		if runtime || class != StorageClassPushConstant && endsInRuntimeArray(v.inner) {
			return ruleAt(i, vk.VUID_StandaloneSpirv_OpTypeRuntimeArray_04680, "it is, or ends in, a runtime array")
		}
	}
	if class == StorageClassPushConstant && endsInRuntimeArray(v.inner) {
		return ruleAt(i, vk.VUID_StandaloneSpirv_OpTypeRuntimeArray_04680, "it ends in a runtime array")
	}
	return nil
}

// block checks the layout of a block, and that a runtime array is at its very end.
func (k *checker) block(i *Instruction, t *Type, class StorageClass, bufferBlock bool) error {
	if err := k.checkLayout(t, k.rulesOf(class, t)); err != nil {
		return err
	}
	for _, member := range t.Members {
		for member.Kind == TypeArray || member.Kind == TypeRuntimeArray {
			member = member.Elem
		}
		if endsInRuntimeArray(member) {
			return ruleAt(i, vk.VUID_StandaloneSpirv_OpTypeRuntimeArray_04680,
				"a struct inside of its block ends in a runtime array")
		}
	}
	if endsInRuntimeArray(t) && class != StorageClassStorageBuffer && !bufferBlock {
		return ruleAt(i, vk.VUID_StandaloneSpirv_OpTypeRuntimeArray_04680, "its block ends in a runtime array")
	}
	return nil
}

// endsInRuntimeArray looks into structs too.
func endsInRuntimeArray(t *Type) bool {
	for t.Kind == TypeStruct && len(t.Members) > 0 {
		t = t.Members[len(t.Members)-1]
	}
	return t.Kind == TypeRuntimeArray
}

// hasPointer says whether a type holds pointers that are not to PhysicalStorageBuffer.
func (k *checker) hasPointer(t *Type) bool {
	return k.holds(t, &k.pointers, func(t *Type) bool {
		return t.Kind == TypePointer && t.Class != StorageClassPhysicalStorageBuffer
	})
}

// holds says whether a type is or holds one that a function accepts, without looking through pointers. What it found
// out about structs is kept in memo. The recursion is as deep as the type (MaxTypeDepth).
func (k *checker) holds(t *Type, memo *map[*Type]bool, accept func(*Type) bool) bool {
	if accept(t) {
		return true
	}
	switch t.Kind {
	case TypeVector, TypeMatrix, TypeArray, TypeRuntimeArray:
		return k.holds(t.Elem, memo, accept)
	case TypeStruct:
		if known, ok := (*memo)[t]; ok {
			return known
		}
		found := false
		for _, member := range t.Members {
			found = found || k.holds(member, memo, accept)
		}
		put(memo, t, found)
		return found
	}
	return false
}

func (k *checker) initializer(i *Instruction, t *Type, class StorageClass) error {
	id := ID(i.Operands[1])
	def := k.m.Definitions[id]
	switch class {
	case StorageClassOutput, StorageClassPrivate, StorageClassFunction, StorageClassWorkgroup:
	default:
		return ruleAt(i, vk.VUID_StandaloneSpirv_OpVariable_04651, "a variable of storage class %v has no initializer", class)
	}
	if class == StorageClassWorkgroup && def.Op != OpConstantNull {
		return ruleAt(i, vk.VUID_StandaloneSpirv_OpVariable_04734, "its initializer is not OpConstantNull")
	}
	global := def.Op == OpVariable && StorageClass(def.Operands[0]) != StorageClassFunction
	if k.c.Values[id] == nil && !global {
		return errorAt(i, "its initializer %s is neither a constant nor a variable outside of functions", k.name(id))
	}
	if def.Offset > i.Offset {
		return errorAt(i, "its initializer %s stands behind it", k.name(id))
	}
	if k.types[def.Type] != t {
		return errorAt(i, "its initializer %s has another type", k.name(id))
	}
	return nil
}

// explicitNumbers checks that numbers of 8 and 16 bits are only where their capabilities allow them.
func (k *checker) explicitNumbers(i *Instruction, t *Type, class StorageClass) error {
	// With Int8, Int16 or Float16, which bring arithmetic too, numbers may be anywhere.
	small := func(width uint32) bool {
		memo := &k.small8
		if width == 16 {
			memo = &k.small16
		}
		return k.holds(t, memo, func(t *Type) bool {
			switch {
			case t.Width != width:
				return false
			case t.Kind == TypeInt && width == 8:
				return !k.has(CapabilityInt8)
			case t.Kind == TypeInt:
				return !k.has(CapabilityInt16)
			}
			return t.Kind == TypeFloat && !k.has(CapabilityFloat16)
		})
	}
	allowed := func(any ...Capability) bool {
		for _, c := range any {
			if k.has(c) {
				return true
			}
		}
		return false
	}
	for _, width := range [...]uint32{8, 16} {
		if !small(width) {
			continue
		}
		ok := false
		switch wide := width == 16; class {
		case StorageClassStorageBuffer:
			ok = wide && allowed(CapabilityStorageBuffer16BitAccess, CapabilityUniformAndStorageBuffer16BitAccess) ||
				!wide && allowed(CapabilityStorageBuffer8BitAccess, CapabilityUniformAndStorageBuffer8BitAccess)
		case StorageClassUniform:
			inner := t
			for inner.Kind == TypeArray || inner.Kind == TypeRuntimeArray {
				inner = inner.Elem
			}
			buffer := k.m.decoration(inner.ID, DecorationBufferBlock) != nil
			ok = wide && (allowed(CapabilityUniformAndStorageBuffer16BitAccess) || buffer &&
				allowed(CapabilityStorageBuffer16BitAccess)) ||
				!wide && (allowed(CapabilityUniformAndStorageBuffer8BitAccess) || buffer &&
					allowed(CapabilityStorageBuffer8BitAccess))
		case StorageClassPushConstant:
			ok = wide && allowed(CapabilityStoragePushConstant16) || !wide && allowed(CapabilityStoragePushConstant8)
		case StorageClassInput, StorageClassOutput:
			ok = wide && allowed(CapabilityStorageInputOutput16)
		case StorageClassWorkgroup:
			ok = wide && allowed(CapabilityWorkgroupMemoryExplicitLayout16BitAccessKHR) ||
				!wide && allowed(CapabilityWorkgroupMemoryExplicitLayout8BitAccessKHR)
		}
		if !ok {
			return errorAt(i, "numbers of %d bits in storage class %v need a capability that is not declared", width, class)
		}
	}
	return nil
}
