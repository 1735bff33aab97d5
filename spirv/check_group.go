package spirv

import (
	"math/bits"

	"farside/internal/vk"
)

// scope is the value of a scope's operand.
func (s functionScope) scope(i *Instruction, n int) (Scope, error) {
	w, err := s.constant32(i, ID(i.Operands[n]), "scope")
	return Scope(w), err
}

// group checks barriers and the instructions of subgroups.
func (s functionScope) group(i *Instruction) (bool, error) {
	switch i.Op {
	case OpControlBarrier:
		scope, err := s.scope(i, 0)
		if err != nil {
			return true, err
		}
		if scope != ScopeWorkgroup && scope != ScopeSubgroup {
			return true, ruleAt(i, vk.VUID_StandaloneSpirv_None_04636, "the scope for execution is %v", scope)
		}
		err = s.barrier(i, 1)
		if err == nil && scope == ScopeWorkgroup {
			err = onlyIn(i, ^(inVertex | inFragment), vk.VUID_StandaloneSpirv_None_04637, "its scope is Workgroup")
		}
		return true, err
	case OpMemoryBarrier:
		return true, s.barrier(i, 0)
	case OpReadClockKHR:
		scope, err := s.scope(i, 0)
		if err != nil {
			return true, err
		}
		r := s.types[i.Type]
		if r.Kind == TypeVector && r.Count == 2 {
			r = r.Elem
		} else if r.Width != 64 {
			r = s.types[0]
		}
		if r == nil || r.Kind != TypeInt || r.Signed || r.Width != 32 && r.Width != 64 || scope != ScopeSubgroup &&
			scope != ScopeDevice {
			return true, s.mismatch(i)
		}
		switch {
		case scope == ScopeSubgroup && !s.env.SubgroupClock:
			return true, ruleAt(i, vk.VUID_RuntimeSpirv_shaderSubgroupClock_06267,
				"the scope Subgroup needs the feature shaderSubgroupClock")
		case scope == ScopeDevice && !s.env.DeviceClock:
			return true, ruleAt(i, vk.VUID_RuntimeSpirv_shaderDeviceClock_06268,
				"the scope Device needs the feature shaderDeviceClock")
		}
		return true, nil
	case OpSubgroupBallotKHR, OpSubgroupFirstInvocationKHR, OpSubgroupReadInvocationKHR, OpSubgroupAllKHR,
		OpSubgroupAnyKHR, OpSubgroupAllEqualKHR:
		return true, s.oldGroup(i)
	}
	if !i.Op.Scoped() && i.Op != OpGroupNonUniformQuadAllKHR && i.Op != OpGroupNonUniformQuadAnyKHR {
		return false, nil
	}
	return true, s.nonUniform(i)
}

// barrier checks the memory scope and semantics, from operand n on.
func (s functionScope) barrier(i *Instruction, n int) error {
	if err := s.memoryScope(i, ID(i.Operands[n])); err != nil {
		return err
	}
	m, err := s.semantics(i, ID(i.Operands[n+1]))
	switch {
	case err != nil:
		return err
	case i.Op == OpMemoryBarrier && m&ordering == 0:
		return ruleAt(i, vk.VUID_StandaloneSpirv_MemorySemantics_10869, "its memory semantics have no order")
	case m&ordering != 0 && m&storageSemantic == 0:
		return ruleAt(i, vk.VUID_StandaloneSpirv_MemorySemantics_10870, "its memory semantics have no storage class")
	case m&MemorySemanticsVolatile != 0:
		return ruleAt(i, vk.VUID_StandaloneSpirv_MemorySemantics_13551, "its memory semantics are Volatile")
	}
	return nil
}

// groupValue says whether subgroup instructions move values of a type.
func groupValue(t *Type) bool {
	return t.numeric(TypeBool) || t.numeric(TypeInt) || t.numeric(TypeFloat)
}

func isBallot(t *Type) bool {
	return t.Kind == TypeVector && t.Count == 4 && t.Elem.Kind == TypeInt && t.Elem.Width == 32 && !t.Elem.Signed
}

func isUnsigned(t *Type) bool { return t.Kind == TypeInt && !t.Signed }

// oldGroup checks SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote.
func (s functionScope) oldGroup(i *Instruction) error {
	r := s.types[i.Type]
	v, err := s.values(i, 0, len(i.Operands))
	if err != nil {
		return err
	}
	ok := false
	switch i.Op {
	case OpSubgroupBallotKHR:
		ok = isBallot(r) && v[0].Kind == TypeBool
	case OpSubgroupFirstInvocationKHR:
		ok = groupValue(r) && v[0] == r
	case OpSubgroupReadInvocationKHR:
		ok = groupValue(r) && v[0] == r && v[1].Kind == TypeInt && v[1].Width == 32
	default:
		ok = r.Kind == TypeBool && v[0] == r
	}
	if !ok {
		return s.mismatch(i)
	}
	return nil
}

func (s functionScope) nonUniform(i *Instruction) error {
	r := s.types[i.Type]
	if i.Op.Scoped() {
		scope, err := s.scope(i, 0)
		if err != nil {
			return err
		}
		if scope != ScopeSubgroup {
			return ruleAt(i, vk.VUID_StandaloneSpirv_None_04642, "the scope of its group is %v", scope)
		}
	}
	ok := false
	switch i.Op {
	case OpGroupNonUniformElect:
		ok = r.Kind == TypeBool
	case OpGroupNonUniformAll, OpGroupNonUniformAny:
		ok = r.Kind == TypeBool && s.typeOf(ID(i.Operands[1])) == r
	case OpGroupNonUniformQuadAllKHR, OpGroupNonUniformQuadAnyKHR:
		ok = r.Kind == TypeBool && s.typeOf(ID(i.Operands[0])) == r
	case OpGroupNonUniformAllEqual:
		v := s.typeOf(ID(i.Operands[1]))
		ok = r.Kind == TypeBool && v != nil && groupValue(v)
	case OpGroupNonUniformBallot:
		v := s.typeOf(ID(i.Operands[1]))
		ok = isBallot(r) && v != nil && v.Kind == TypeBool
	case OpGroupNonUniformInverseBallot:
		v := s.typeOf(ID(i.Operands[1]))
		ok = r.Kind == TypeBool && v != nil && isBallot(v)
	case OpGroupNonUniformBallotFindLSB, OpGroupNonUniformBallotFindMSB:
		v := s.typeOf(ID(i.Operands[1]))
		ok = isUnsigned(r) && v != nil && isBallot(v)
	case OpGroupNonUniformBallotBitExtract:
		v, err := s.values(i, 1, 3)
		if err != nil {
			return err
		}
		ok = r.Kind == TypeBool && isBallot(v[0]) && isUnsigned(v[1])
	case OpGroupNonUniformBallotBitCount:
		v := s.typeOf(ID(i.Operands[2]))
		if g := GroupOperation(i.Operands[1]); g > GroupOperationExclusiveScan {
			return ruleAt(i, vk.VUID_StandaloneSpirv_OpGroupNonUniformBallotBitCount_04685, "the group operation is %v", g)
		}
		ok = isUnsigned(r) && v != nil && isBallot(v)
	case OpGroupNonUniformBroadcastFirst:
		ok = groupValue(r) && s.typeOf(ID(i.Operands[1])) == r
	case OpGroupNonUniformBroadcast, OpGroupNonUniformQuadBroadcast, OpGroupNonUniformQuadSwap,
		OpGroupNonUniformShuffle, OpGroupNonUniformShuffleXor, OpGroupNonUniformShuffleUp, OpGroupNonUniformShuffleDown:
		v, err := s.values(i, 1, 3)
		if err != nil {
			return err
		}
		ok = groupValue(r) && v[0] == r && isUnsigned(v[1])
		constant := s.c.Values[ID(i.Operands[2])] != nil
		switch {
		case i.Op == OpGroupNonUniformQuadSwap && !constant, s.version < 0x15 && !constant &&
			(i.Op == OpGroupNonUniformBroadcast || i.Op == OpGroupNonUniformQuadBroadcast):
			return errorAt(i, "its operand %s is not a constant", s.name(ID(i.Operands[2])))
		case i.Op == OpGroupNonUniformQuadSwap && s.c.Values[ID(i.Operands[2])].Bits > 2 &&
			s.m.Definitions[i.Operands[2]].Op == OpConstant:
			return errorAt(i, "the direction is not 0, 1 or 2")
		}
	case OpGroupNonUniformRotateKHR:
		v, err := s.values(i, 1, 3)
		if err != nil {
			return err
		}
		ok = groupValue(r) && v[0] == r && isUnsigned(v[1])
		if ok && len(i.Operands) > 3 {
			return s.cluster(i, ID(i.Operands[3]))
		}
	default:
		return s.groupArithmetic(i, r)
	}
	if !ok {
		return s.mismatch(i)
	}
	return nil
}

func (s functionScope) groupArithmetic(i *Instruction, r *Type) error {
	kind := TypeInt
	switch i.Op {
	case OpGroupNonUniformFAdd, OpGroupNonUniformFMul, OpGroupNonUniformFMin, OpGroupNonUniformFMax:
		kind = TypeFloat
	case OpGroupNonUniformLogicalAnd, OpGroupNonUniformLogicalOr, OpGroupNonUniformLogicalXor:
		kind = TypeBool
	}
	if !r.numeric(kind) || s.typeOf(ID(i.Operands[2])) != r {
		return s.mismatch(i)
	}
	switch g := GroupOperation(i.Operands[1]); {
	case g == GroupOperationClusteredReduce && len(i.Operands) < 4:
		return errorAt(i, "a clustered reduction has no size of clusters")
	case g == GroupOperationClusteredReduce:
		return s.cluster(i, ID(i.Operands[3]))
	case g > GroupOperationClusteredReduce:
		return errorAt(i, "the group operation %v is not supported", g)
	case len(i.Operands) > 3:
		return errorAt(i, "the group operation %v has no size of clusters", g)
	}
	return nil
}

// cluster checks a size of clusters; a specialization may change it to what is none.
func (s functionScope) cluster(i *Instruction, id ID) error {
	v := s.c.Values[id]
	if v == nil || !isUnsigned(v.Type) {
		return errorAt(i, "the size of clusters %s is not an unsigned constant", s.name(id))
	}
	if s.m.Definitions[id].Op == OpConstant && bits.OnesCount64(v.Bits) != 1 {
		return errorAt(i, "the size of clusters, %d, is not a power of two", v.Bits)
	}
	return nil
}
