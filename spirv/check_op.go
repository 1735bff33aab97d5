package spirv

import "farside/internal/vk"

// operation checks the types of an instruction's operands and result, and what else its description in SPIR-V 3.52
// says. Control flow, calls, phis and variables are elsewhere.
func (s functionScope) operation(i *Instruction) error {
	switch i.Op {
	case OpSelectionMerge, OpLoopMerge, OpBranch, OpUnreachable:
		return nil
	case OpUndef:
		if t := s.types[i.Type]; t.Kind == TypeVoid || t.Kind == TypeFunction {
			return errorAt(i, "there is no undefined object of type %s", s.name(t.ID))
		}
		return nil
	case OpExtInst:
		return s.extended(i)
	case OpKill, OpTerminateInvocation, OpDemoteToHelperInvocation, OpIsHelperInvocationEXT,
		OpDPdx, OpDPdy, OpFwidth, OpDPdxFine, OpDPdyFine, OpFwidthFine, OpDPdxCoarse, OpDPdyCoarse, OpFwidthCoarse,
		OpImageSampleImplicitLod, OpImageSampleDrefImplicitLod, OpImageSampleProjImplicitLod,
		OpImageSampleProjDrefImplicitLod,
		OpImageQueryLod:
		return s.fragment(i)
	case OpEmitVertex, OpEndPrimitive, OpEmitStreamVertex, OpEndStreamPrimitive,
		OpBeginInvocationInterlockEXT, OpEndInvocationInterlockEXT:
		return onlyIn(i, others, vk.NoVUID, "it is for other stages")
	}
	for _, check := range [...]func(functionScope, *Instruction) (bool, error){
		functionScope.arithmetic, functionScope.comparison, functionScope.conversion, functionScope.composite,
		functionScope.memory, functionScope.atomic, functionScope.image, functionScope.group,
	} {
		if known, err := check(s, i); known {
			return err
		}
	}
	return errorAt(i, "the instruction is not supported")
}

// mismatch is the error of operands whose types do not fit.
func (s functionScope) mismatch(i *Instruction) error {
	return errorAt(i, "the types of its operands and of its result do not go together: %s", s.m.Text(i))
}

// sameShape says whether two types are scalars, or vectors of equally many components.
func sameShape(a, b *Type) bool {
	if a.Kind == TypeVector || b.Kind == TypeVector {
		return a.Kind == b.Kind && a.Count == b.Count
	}
	return true
}

// numeric says whether a type is a scalar or vector of a kind.
func (t *Type) numeric(kind TypeKind) bool { return t.component().Kind == kind }

func all(list []*Type, accept func(*Type) bool) bool {
	for _, t := range list {
		if !accept(t) {
			return false
		}
	}
	return true
}

// arithmetic checks arithmetic and bit instructions.
func (s functionScope) arithmetic(i *Instruction) (bool, error) {
	r := s.types[i.Type]
	ok := false
	switch i.Op {
	case OpIAdd, OpISub, OpIMul, OpSDiv, OpSRem, OpSMod, OpSNegate, OpNot, OpBitwiseAnd, OpBitwiseOr, OpBitwiseXor:
		v, err := s.values(i, 0, len(i.Operands))
		if err != nil {
			return true, err
		}
		ok = r.numeric(TypeInt) && all(v, func(t *Type) bool {
			return t.numeric(TypeInt) && sameShape(t, r) && t.component().Width == r.component().Width
		})
	case OpUDiv, OpUMod:
		v, err := s.values(i, 0, 2)
		if err != nil {
			return true, err
		}
		ok = r.numeric(TypeInt) && !r.component().Signed && v[0] == r && v[1] == r
	case OpShiftLeftLogical, OpShiftRightLogical, OpShiftRightArithmetic:
		v, err := s.values(i, 0, 2)
		if err != nil {
			return true, err
		}
		ok = r.numeric(TypeInt) && v[0].numeric(TypeInt) && v[1].numeric(TypeInt) && sameShape(v[0], r) &&
			sameShape(v[1], r) &&
			v[0].component().Width == r.component().Width
	case OpFAdd, OpFSub, OpFMul, OpFDiv, OpFRem, OpFMod, OpFNegate:
		v, err := s.values(i, 0, len(i.Operands))
		if err != nil {
			return true, err
		}
		ok = r.numeric(TypeFloat) && all(v, func(t *Type) bool { return t == r })
	case OpDot, OpVectorTimesScalar, OpMatrixTimesScalar, OpVectorTimesMatrix, OpMatrixTimesVector, OpMatrixTimesMatrix,
		OpOuterProduct:
		v, err := s.values(i, 0, 2)
		if err != nil {
			return true, err
		}
		ok = product(i.Op, r, v[0], v[1])
	case OpIAddCarry, OpISubBorrow, OpUMulExtended, OpSMulExtended:
		v, err := s.values(i, 0, 2)
		if err != nil {
			return true, err
		}
		if r.Kind == TypeStruct && len(r.Members) == 2 && r.Members[0] == r.Members[1] && v[0] == v[1] {
			m := r.Members[0]
			ok = m.numeric(TypeInt) && v[0] == m && (i.Op == OpSMulExtended || !m.component().Signed)
		}
	case OpBitFieldInsert, OpBitFieldSExtract, OpBitFieldUExtract:
		v, err := s.values(i, 0, len(i.Operands))
		if err != nil {
			return true, err
		}
		n := len(v)
		offset, count := v[n-2], v[n-1]
		ok = r.numeric(TypeInt) && all(v[:n-2], func(t *Type) bool { return t == r }) && offset.Kind == TypeInt &&
			count.Kind == TypeInt
		if ok && r.component().Width != 32 {
			return true, ruleAt(i, vk.VUID_RuntimeSpirv_None_10824, "its base is not of 32 bits")
		}
	case OpBitReverse, OpBitCount:
		v, err := s.values(i, 0, 1)
		if err != nil {
			return true, err
		}
		ok = r.numeric(TypeInt) && v[0].numeric(TypeInt) && sameShape(v[0], r) && (i.Op == OpBitCount || v[0] == r)
		if ok && v[0].component().Width != 32 {
			return true, ruleAt(i, vk.VUID_RuntimeSpirv_None_10824, "its base is not of 32 bits")
		}
	case OpSDot, OpUDot, OpSUDot, OpSDotAccSat, OpUDotAccSat, OpSUDotAccSat:
		return true, s.integerDot(i, r)
	default:
		return false, nil
	}
	if !ok {
		return true, s.mismatch(i)
	}
	return true, nil
}

func product(op Op, r, a, b *Type) bool {
	vector := func(t *Type) bool { return t.Kind == TypeVector && t.Elem.Kind == TypeFloat }
	switch op {
	case OpDot:
		return vector(a) && a == b && a.Elem == r
	case OpVectorTimesScalar:
		return vector(a) && a == r && b == r.Elem
	case OpMatrixTimesScalar:
		return a.Kind == TypeMatrix && a == r && b == r.Elem.Elem
	case OpVectorTimesMatrix:
		return vector(a) && vector(r) && b.Kind == TypeMatrix && b.Elem == a && r.Count == b.Count && r.Elem == a.Elem
	case OpMatrixTimesVector:
		return a.Kind == TypeMatrix && vector(b) && r == a.Elem && b.Count == a.Count && b.Elem == r.Elem
	case OpMatrixTimesMatrix:
		return a.Kind == TypeMatrix && b.Kind == TypeMatrix && r.Kind == TypeMatrix &&
			r.Elem == a.Elem && r.Count == b.Count && b.Elem.Count == a.Count && b.Elem.Elem == a.Elem.Elem
	}
	// OpOuterProduct
	return r.Kind == TypeMatrix && r.Elem == a && vector(b) && r.Count == b.Count && b.Elem == a.Elem
}

// integerDot checks SPV_KHR_integer_dot_product.
func (s functionScope) integerDot(i *Instruction, r *Type) error {
	accumulates := i.Op == OpSDotAccSat || i.Op == OpUDotAccSat || i.Op == OpSUDotAccSat
	n := 2
	if accumulates {
		n = 3
	}
	v, err := s.values(i, 0, n)
	if err != nil {
		return err
	}
	a, b := v[0], v[1]
	if r.Kind != TypeInt || accumulates && v[2] != r || (i.Op == OpUDot || i.Op == OpUDotAccSat) && r.Signed {
		return s.mismatch(i)
	}
	var width uint32
	switch {
	case a.Kind == TypeVector && b.Kind == TypeVector:
		width = a.Elem.Width
		if a.Elem.Kind != TypeInt || b.Elem.Kind != TypeInt || a.Count != b.Count || b.Elem.Width != width {
			return s.mismatch(i)
		}
		if !s.has(CapabilityDotProductInputAll) && (width != 8 || a.Count != 4) {
			return errorAt(i, "vectors other than of four 8-bit integers need the capability DotProductInputAll")
		}
		if width == 8 && a.Count == 4 && !s.has(CapabilityDotProductInputAll) && !s.has(CapabilityDotProductInput4x8Bit) {
			return errorAt(i, "vectors of four 8-bit integers need the capability DotProductInput4x8Bit")
		}
		if len(i.Operands) != n {
			return errorAt(i, "vectors have no packed format")
		}
		unsigned := i.Op == OpUDot || i.Op == OpUDotAccSat
		if unsigned && (a.Elem.Signed || b.Elem.Signed) || (i.Op == OpSUDot || i.Op == OpSUDotAccSat) && b.Elem.Signed {
			return s.mismatch(i)
		}
	case a.Kind == TypeInt && b.Kind == TypeInt && a.Width == 32 && b.Width == 32:
		width = 8
		if !s.has(CapabilityDotProductInput4x8BitPacked) {
			return errorAt(i, "packed vectors need the capability DotProductInput4x8BitPacked")
		}
		if len(i.Operands) != n+1 {
			return errorAt(i, "it has no packed format")
		}
	default:
		return s.mismatch(i)
	}
	if r.Width < width {
		return s.mismatch(i)
	}
	return nil
}

// comparison checks logical and relational instructions.
func (s functionScope) comparison(i *Instruction) (bool, error) {
	r := s.types[i.Type]
	ok := false
	switch i.Op {
	case OpAny, OpAll:
		v, err := s.values(i, 0, 1)
		if err != nil {
			return true, err
		}
		ok = r.Kind == TypeBool && v[0].Kind == TypeVector && v[0].Elem == r
	case OpIsNan, OpIsInf:
		v, err := s.values(i, 0, 1)
		if err != nil {
			return true, err
		}
		ok = r.numeric(TypeBool) && v[0].numeric(TypeFloat) && sameShape(v[0], r)
	case OpFOrdEqual, OpFUnordEqual, OpFOrdNotEqual, OpFUnordNotEqual, OpFOrdLessThan, OpFUnordLessThan, OpFOrdGreaterThan,
		OpFUnordGreaterThan, OpFOrdLessThanEqual, OpFUnordLessThanEqual, OpFOrdGreaterThanEqual, OpFUnordGreaterThanEqual:
		v, err := s.values(i, 0, 2)
		if err != nil {
			return true, err
		}
		ok = r.numeric(TypeBool) && v[0].numeric(TypeFloat) && sameShape(v[0], r) && v[1] == v[0]
	case OpIEqual, OpINotEqual, OpULessThan, OpSLessThan, OpUGreaterThan, OpSGreaterThan,
		OpULessThanEqual, OpSLessThanEqual, OpUGreaterThanEqual, OpSGreaterThanEqual:
		v, err := s.values(i, 0, 2)
		if err != nil {
			return true, err
		}
		ok = r.numeric(TypeBool) && all(v, func(t *Type) bool {
			return t.numeric(TypeInt) && sameShape(t, r) && t.component().Width == v[0].component().Width
		})
	case OpLogicalEqual, OpLogicalNotEqual, OpLogicalOr, OpLogicalAnd, OpLogicalNot:
		v, err := s.values(i, 0, len(i.Operands))
		if err != nil {
			return true, err
		}
		ok = r.numeric(TypeBool) && all(v, func(t *Type) bool { return t == r })
	case OpSelect:
		return true, s.selection(i, r)
	case OpPtrEqual, OpPtrNotEqual, OpPtrDiff:
		return true, s.pointerComparison(i, r)
	default:
		return false, nil
	}
	if !ok {
		return true, s.mismatch(i)
	}
	return true, nil
}

func (s functionScope) selection(i *Instruction, r *Type) error {
	v, err := s.values(i, 0, 3)
	if err != nil {
		return err
	}
	c := v[0]
	if v[1] != r || v[2] != r || !c.numeric(TypeBool) || c.Kind == TypeVector &&
		(r.Kind != TypeVector || r.Count != c.Count) {
		return s.mismatch(i)
	}
	switch r.Kind {
	case TypeBool, TypeInt, TypeFloat:
	case TypeVector:
		if c.Kind != TypeVector && s.version < 0x14 {
			return errorAt(i, "a scalar condition for vectors needs SPIR-V 1.4")
		}
	case TypePointer:
		return s.variablePointer(i, r)
	case TypeMatrix, TypeArray, TypeStruct:
		if s.version < 0x14 {
			return errorAt(i, "composites need SPIR-V 1.4")
		}
	default:
		return s.mismatch(i)
	}
	return nil
}

func (s functionScope) pointerComparison(i *Instruction, r *Type) error {
	v, err := s.values(i, 0, 2)
	if err != nil {
		return err
	}
	p := v[0]
	if p.Kind != TypePointer || v[1] != p || i.Op == OpPtrDiff && r.Kind != TypeInt || i.Op != OpPtrDiff &&
		r.Kind != TypeBool {
		return s.mismatch(i)
	}
	if p.Class == StorageClassPhysicalStorageBuffer {
		return errorAt(i, "it takes no pointers to PhysicalStorageBuffer")
	}
	return s.variablePointer(i, p)
}

// conversion checks conversion instructions.
func (s functionScope) conversion(i *Instruction) (bool, error) {
	r := s.types[i.Type]
	from, to := TypeInt, TypeInt
	differs := false
	switch i.Op {
	case OpConvertFToU, OpConvertFToS:
		from = TypeFloat
	case OpConvertSToF, OpConvertUToF:
		to = TypeFloat
	case OpUConvert, OpSConvert:
		differs = true
	case OpFConvert:
		// The component width "cannot equal" the other one, but real compilers write such copies: compute warns of them.
		from, to = TypeFloat, TypeFloat
	case OpQuantizeToF16:
		v, err := s.values(i, 0, 1)
		if err == nil && (v[0] != r || !r.numeric(TypeFloat) || r.component().Width != 32) {
			err = s.mismatch(i)
		}
		return true, err
	case OpConvertPtrToU, OpConvertUToPtr:
		v, err := s.values(i, 0, 1)
		if err != nil {
			return true, err
		}
		p, u := v[0], r
		if i.Op == OpConvertUToPtr {
			p, u = r, v[0]
		}
		if p.Kind != TypePointer || p.Class != StorageClassPhysicalStorageBuffer || u.Kind != TypeInt || u.Width != 64 ||
			i.Op == OpConvertPtrToU && u.Signed {
			return true, ruleAt(i, vk.VUID_StandaloneSpirv_PhysicalStorageBuffer64_04710,
				"it is not between a pointer to PhysicalStorageBuffer and a 64-bit integer")
		}
		return true, nil
	case OpBitcast:
		v, err := s.values(i, 0, 1)
		if err == nil && !bitcast(r, v[0]) {
			err = s.mismatch(i)
		}
		return true, err
	default:
		return false, nil
	}
	v, err := s.values(i, 0, 1)
	if err != nil {
		return true, err
	}
	if !r.numeric(to) || !v[0].numeric(from) || !sameShape(v[0], r) || differs &&
		v[0].component().Width == r.component().Width ||
		(i.Op == OpConvertFToU || i.Op == OpUConvert) && r.component().Signed {
		return true, s.mismatch(i)
	}
	return true, nil
}

func bitcast(r, v *Type) bool {
	bits := func(t *Type) uint64 {
		switch {
		case t.Kind == TypePointer && t.Class == StorageClassPhysicalStorageBuffer:
			return 64
		case t.numeric(TypeInt) || t.numeric(TypeFloat):
			if t.Kind == TypeVector {
				return uint64(t.Count) * uint64(t.Elem.Width)
			}
			return uint64(t.Width)
		}
		return 0
	}
	if r.Kind == TypePointer && v.Kind == TypeVector && v.Elem.Kind == TypeFloat || v.Kind == TypePointer &&
		r.Kind == TypeVector && r.Elem.Kind == TypeFloat {
		return false
	}
	return bits(r) != 0 && bits(r) == bits(v)
}

// composite checks instructions on composites.
func (s functionScope) composite(i *Instruction) (bool, error) {
	r := s.types[i.Type]
	switch i.Op {
	case OpVectorExtractDynamic, OpVectorInsertDynamic:
		v, err := s.values(i, 0, len(i.Operands))
		if err != nil {
			return true, err
		}
		index := v[len(v)-1]
		ok := v[0].Kind == TypeVector && index.Kind == TypeInt
		if ok && i.Op == OpVectorInsertDynamic {
			ok = v[0] == r && v[1] == r.Elem
		} else if ok {
			ok = v[0].Elem == r
		}
		if !ok {
			return true, s.mismatch(i)
		}
		return true, nil
	case OpVectorShuffle:
		v, err := s.values(i, 0, 2)
		if err != nil {
			return true, err
		}
		a, b := v[0], v[1]
		if r.Kind != TypeVector || a.Kind != TypeVector || b.Kind != TypeVector || a.Elem != r.Elem || b.Elem != r.Elem ||
			len(i.Operands)-2 != int(r.Count) {
			return true, s.mismatch(i)
		}
		for _, c := range i.Operands[2:] {
			if c != ^uint32(0) && uint64(c) >= uint64(a.Count)+uint64(b.Count) {
				return true, errorAt(i, "the component %d is out of range", c)
			}
		}
		return true, nil
	case OpCompositeConstruct, OpCompositeConstructReplicateEXT:
		return true, s.construct(i, r)
	case OpCompositeExtract, OpCompositeInsert:
		return true, s.extract(i, r)
	case OpCopyObject:
		v, err := s.values(i, 0, 1)
		if err == nil && v[0] != r {
			err = s.mismatch(i)
		}
		return true, err
	case OpCopyLogical:
		v, err := s.values(i, 0, 1)
		if err == nil && (v[0] == r || !s.logicallyMatch(r, v[0])) {
			err = s.mismatch(i)
		}
		return true, err
	case OpTranspose:
		v, err := s.values(i, 0, 1)
		if err == nil && (r.Kind != TypeMatrix || v[0].Kind != TypeMatrix || r.Count != v[0].Elem.Count ||
			v[0].Count != r.Elem.Count || r.Elem.Elem != v[0].Elem.Elem) {
			err = s.mismatch(i)
		}
		return true, err
	case OpExpectKHR:
		v, err := s.values(i, 0, 2)
		if err == nil && (v[0] != r || v[1] != r || !r.numeric(TypeInt) && !r.numeric(TypeBool)) {
			err = s.mismatch(i)
		}
		return true, err
	case OpAssumeTrueKHR:
		v, err := s.values(i, 0, 1)
		if err == nil && v[0].Kind != TypeBool {
			err = s.mismatch(i)
		}
		return true, err
	}
	return false, nil
}

// logicallyMatch says whether two types differ in nothing but their layout (SPIR-V, OpCopyLogical). Answers about
// structs are kept. The recursion is as deep as the types (MaxTypeDepth).
func (k *checker) logicallyMatch(a, b *Type) bool {
	switch {
	case a == b:
		return true
	case a.Kind == TypeArray && b.Kind == TypeArray:
		return a.Count == b.Count && k.logicallyMatch(a.Elem, b.Elem)
	case a.Kind == TypeStruct && b.Kind == TypeStruct && len(a.Members) == len(b.Members):
		if known, ok := k.matches[[2]*Type{a, b}]; ok {
			return known
		}
		match := true
		for n, m := range a.Members {
			match = match && k.logicallyMatch(m, b.Members[n])
		}
		put(&k.matches, [2]*Type{a, b}, match)
		return match
	}
	return false
}

func (s functionScope) construct(i *Instruction, r *Type) error {
	n := r.elementCount()
	if r.Kind != TypeStruct && n == 0 {
		return s.mismatch(i)
	}
	if i.Op == OpCompositeConstructReplicateEXT {
		v := s.typeOf(ID(i.Operands[0]))
		for k := range n {
			if v == nil || r.elementType(k) != v {
				return s.mismatch(i)
			}
			if r.Kind != TypeStruct {
				break
			}
		}
		return nil
	}
	if r.Kind == TypeVector {
		// Vectors are made of scalars and vectors, at least two.
		count := uint32(0)
		for _, id := range i.Operands {
			v := s.typeOf(ID(id))
			switch {
			case v == nil || v.component() != r.Elem:
				return s.mismatch(i)
			case v.Kind == TypeVector:
				count += v.Count
			default:
				count++
			}
		}
		if count != r.Count || len(i.Operands) < 2 {
			return s.mismatch(i)
		}
		return nil
	}
	if n != len(i.Operands) {
		return errorAt(i, "it has %d constituents, its type %s has %d", len(i.Operands), s.name(r.ID), n)
	}
	for k, id := range i.Operands {
		if v := s.typeOf(ID(id)); v == nil || v != r.elementType(k) {
			return s.mismatch(i)
		}
	}
	return nil
}

func (s functionScope) extract(i *Instruction, r *Type) error {
	from, indices := 0, i.Operands[1:]
	if i.Op == OpCompositeInsert {
		from, indices = 1, i.Operands[2:]
	}
	t := s.typeOf(ID(i.Operands[from]))
	if t == nil || len(indices) == 0 {
		return errorAt(i, "it has no composite or no index")
	}
	if from == 1 && t != r {
		return s.mismatch(i)
	}
	for _, n := range indices {
		switch c := t.elementCount(); {
		case c == 0:
			return errorAt(i, "%s has no elements", s.name(t.ID))
		case uint64(n) >= uint64(c):
			return errorAt(i, "the index %d is out of range", n)
		}
		t = t.elementType(int(n))
	}
	part := r
	if from == 1 {
		if part = s.typeOf(ID(i.Operands[0])); part == nil {
			return errorAt(i, "its operand %s is no object", s.name(ID(i.Operands[0])))
		}
	}
	if t != part {
		return s.mismatch(i)
	}
	return nil
}
