package spirv

// extended checks the instructions of GLSL.std.450 and NonSemantic.DebugPrintf.
func (s functionScope) extended(i *Instruction) error {
	set := s.m.Imports[ID(i.Operands[0])]
	if set != glslSet {
		return s.printf(i, set)
	}
	op := GLSL(i.Operands[1])
	switch op {
	case GLSLInterpolateAtCentroid, GLSLInterpolateAtSample, GLSLInterpolateAtOffset:
		return s.interpolate(i, op)
	case GLSLIMix:
		return errorAt(i, "%v is no longer an instruction", op)
	}
	v, err := s.values(i, 2, len(i.Operands))
	if err != nil {
		return err
	}
	if !s.glsl(op, s.types[i.Type], v) {
		return s.mismatch(i)
	}
	if op == GLSLModf || op == GLSLFrexp {
		return s.stored(i, v[1], i.Operands[3])
	}
	return nil
}

// printf checks that arguments are objects that can be printed. Instructions of other sets are not in blocks.
func (s functionScope) printf(i *Instruction, set string) error {
	if t := s.types[i.Type]; t.Kind != TypeVoid {
		return errorAt(i, "its type is not void")
	}
	if i.Operands[1] != 1 || len(i.Operands) < 3 || s.m.Definitions[i.Operands[2]].Op != OpString {
		return errorAt(i, "it is not the instruction 1 of %s with a format", set)
	}
	for _, id := range i.Operands[3:] {
		t := s.typeOf(ID(id))
		if t == nil || !t.numeric(TypeInt) && !t.numeric(TypeFloat) && !t.numeric(TypeBool) &&
			(t.Kind != TypePointer || t.Class != StorageClassPhysicalStorageBuffer) {
			return errorAt(i, "%s can't be printed", s.name(ID(id)))
		}
	}
	return nil
}

func (s functionScope) glsl(op GLSL, r *Type, v []*Type) bool {
	same := all(v, func(t *Type) bool { return t == r })
	width := r.component().Width
	vector := func(t *Type, kind TypeKind, width, count uint32) bool {
		return t.Kind == TypeVector && t.Elem.Kind == kind && t.Elem.Width == width && t.Count == count
	}
	word := func(t *Type) bool { return t.Kind == TypeInt && t.Width == 32 }
	ints := func() bool {
		return r.numeric(TypeInt) && all(v, func(t *Type) bool {
			return t.numeric(TypeInt) && sameShape(t, r) && t.component().Width == width
		})
	}
	square := func(t *Type) bool { return t.Kind == TypeMatrix && t.Count == t.Elem.Count }
	switch op {
	case GLSLRound, GLSLRoundEven, GLSLTrunc, GLSLFAbs, GLSLFSign, GLSLFloor, GLSLCeil, GLSLFract, GLSLSqrt,
		GLSLInverseSqrt,
		GLSLFMin, GLSLFMax, GLSLFClamp, GLSLFMix, GLSLStep, GLSLSmoothStep, GLSLFma, GLSLNormalize, GLSLFaceForward,
		GLSLReflect,
		GLSLNMin, GLSLNMax, GLSLNClamp:
		return r.numeric(TypeFloat) && same
	case GLSLRadians, GLSLDegrees, GLSLSin, GLSLCos, GLSLTan, GLSLAsin, GLSLAcos, GLSLAtan, GLSLSinh, GLSLCosh, GLSLTanh,
		GLSLAsinh, GLSLAcosh, GLSLAtanh, GLSLAtan2, GLSLPow, GLSLExp, GLSLLog, GLSLExp2, GLSLLog2:
		return r.numeric(TypeFloat) && width <= 32 && same
	case GLSLSAbs, GLSLSSign, GLSLUMin, GLSLSMin, GLSLUMax, GLSLSMax, GLSLUClamp, GLSLSClamp:
		return ints()
	case GLSLFindILsb, GLSLFindSMsb, GLSLFindUMsb:
		return ints() && width == 32
	case GLSLDeterminant:
		return r.Kind == TypeFloat && square(v[0]) && v[0].Elem.Elem == r
	case GLSLMatrixInverse:
		return square(r) && same
	case GLSLModf, GLSLFrexp:
		p := v[1]
		if !r.numeric(TypeFloat) || v[0] != r || p.Kind != TypePointer || p.Class == StorageClassImage ||
			p.Class == StorageClassPhysicalStorageBuffer {
			return false
		}
		if op == GLSLModf {
			return p.Elem == r
		}
		return p.Elem.numeric(TypeInt) && p.Elem.component().Width == 32 && sameShape(p.Elem, r)
	case GLSLModfStruct, GLSLFrexpStruct:
		if r.Kind != TypeStruct || len(r.Members) != 2 || r.Members[0] != v[0] || !v[0].numeric(TypeFloat) {
			return false
		}
		second := r.Members[1]
		if op == GLSLModfStruct {
			return second == v[0]
		}
		return second.numeric(TypeInt) && second.component().Width == 32 && sameShape(second, v[0])
	case GLSLLdexp:
		return r.numeric(TypeFloat) && v[0] == r && v[1].numeric(TypeInt) && sameShape(v[1], r)
	case GLSLPackSnorm4x8, GLSLPackUnorm4x8:
		return word(r) && vector(v[0], TypeFloat, 32, 4)
	case GLSLPackSnorm2x16, GLSLPackUnorm2x16, GLSLPackHalf2x16:
		return word(r) && vector(v[0], TypeFloat, 32, 2)
	case GLSLUnpackSnorm4x8, GLSLUnpackUnorm4x8:
		return vector(r, TypeFloat, 32, 4) && word(v[0])
	case GLSLUnpackSnorm2x16, GLSLUnpackUnorm2x16, GLSLUnpackHalf2x16:
		return vector(r, TypeFloat, 32, 2) && word(v[0])
	case GLSLPackDouble2x32:
		return r.Kind == TypeFloat && r.Width == 64 && vector(v[0], TypeInt, 32, 2)
	case GLSLUnpackDouble2x32:
		return vector(r, TypeInt, 32, 2) && v[0].Kind == TypeFloat && v[0].Width == 64
	case GLSLLength:
		return r.Kind == TypeFloat && v[0].component() == r
	case GLSLDistance:
		return r.Kind == TypeFloat && v[0].component() == r && v[1] == v[0]
	case GLSLCross:
		return r.Kind == TypeVector && r.Count == 3 && r.Elem.Kind == TypeFloat && same
	case GLSLRefract:
		return r.numeric(TypeFloat) && v[0] == r && v[1] == r && v[2].Kind == TypeFloat
	}
	return false
}
