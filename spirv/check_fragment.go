package spirv

import "farside/internal/vk"

// implicitLod says whether an instruction samples at a level that derivatives say.
func (op Op) implicitLod() bool {
	switch op {
	case OpImageSampleImplicitLod, OpImageSampleDrefImplicitLod, OpImageSampleProjImplicitLod,
		OpImageSampleProjDrefImplicitLod:
		return true
	}
	return false
}

// fragment checks instructions of fragment shaders, and says that they are for no other stage.
func (s functionScope) fragment(i *Instruction) error {
	r := s.types[i.Type]
	ok := true
	switch i.Op {
	case OpKill, OpTerminateInvocation, OpDemoteToHelperInvocation:
	case OpIsHelperInvocationEXT:
		ok = r.Kind == TypeBool
	case OpImageQueryLod:
		if err := s.queryLod(i, r); err != nil {
			return err
		}
	case OpImageSampleImplicitLod, OpImageSampleDrefImplicitLod, OpImageSampleProjImplicitLod,
		OpImageSampleProjDrefImplicitLod:
		if err := s.sample(i, r); err != nil {
			return err
		}
	default: // derivatives
		ok = r.numeric(TypeFloat) && r.component().Width == 32 && s.typeOf(ID(i.Operands[0])) == r
	}
	if !ok {
		return s.mismatch(i)
	}
	return onlyIn(i, inFragment, vk.NoVUID, "it is for fragment shaders")
}

func (s functionScope) queryLod(i *Instruction, r *Type) error {
	t := s.typeOf(ID(i.Operands[0]))
	if t == nil || t.Kind != TypeSampledImage {
		return errorAt(i, "its operand %s is not a sampled image", s.name(ID(i.Operands[0])))
	}
	switch image := t.Elem; {
	case image.Multisampled || image.Dim == DimBuffer || image.Dim == DimSubpassData:
		return errorAt(i, "the image has no levels")
	case r.Kind != TypeVector || r.Count != 2 || r.Elem.Kind != TypeFloat || r.Elem.Width != 32:
		return s.mismatch(i)
	default:
		return s.coordinates(i, ID(i.Operands[1]), TypeFloat, planeCoordinates(image))
	}
}

// interpolate checks the functions of GLSL.std.450 that interpolate an input elsewhere.
func (s functionScope) interpolate(i *Instruction, op GLSL) error {
	if !s.has(CapabilityInterpolationFunction) {
		return errorAt(i, "%v needs the capability InterpolationFunction", op)
	}
	v, err := s.values(i, 2, len(i.Operands))
	if err != nil {
		return err
	}
	r := s.types[i.Type]
	p := v[0]
	ok := p.Kind == TypePointer && p.Class == StorageClassInput && p.Elem == r && r.numeric(TypeFloat) &&
		r.component().Width == 32
	switch op {
	case GLSLInterpolateAtSample:
		ok = ok && v[1].Kind == TypeInt && v[1].Width == 32
	case GLSLInterpolateAtOffset:
		ok = ok && v[1].Kind == TypeVector && v[1].Count == 2 && v[1].Elem.Kind == TypeFloat && v[1].Elem.Width == 32
	}
	if !ok {
		return s.mismatch(i)
	}
	// The interpolant is an input, or a part of one.
	for id := ID(i.Operands[2]); ; {
		switch def := s.m.Definitions[id]; {
		case def.Op == OpVariable:
			return onlyIn(i, inFragment, vk.NoVUID, "it is for fragment shaders")
		case (def.Op == OpAccessChain || def.Op == OpInBoundsAccessChain || def.Op == OpCopyObject) &&
			s.m.Definitions[def.Operands[0]].Offset < def.Offset:
			id = ID(def.Operands[0])
		default:
			return errorAt(i, "the interpolant %s is not a part of an input", s.name(ID(i.Operands[2])))
		}
	}
}

// fragmentModes checks the modes of fragment shaders.
func (k *checker) fragmentModes(e *EntryPoint) error {
	origin := false
	depth := 0
	for _, i := range e.Modes {
		mode := ExecutionMode(i.Operands[1])
		switch mode {
		case ExecutionModeOriginLowerLeft:
			return ruleAt(i, vk.VUID_StandaloneSpirv_OriginLowerLeft_04653, "the origin is not the upper left")
		case ExecutionModePixelCenterInteger:
			return ruleAt(i, vk.VUID_StandaloneSpirv_PixelCenterInteger_04654, "the centers of pixels are no integers")
		case ExecutionModeOriginUpperLeft:
			origin = true
		case ExecutionModeDepthGreater, ExecutionModeDepthLess, ExecutionModeDepthUnchanged:
			depth++
		case ExecutionModeEarlyFragmentTests, ExecutionModeDepthReplacing, ExecutionModePostDepthCoverage,
			ExecutionModeStencilRefReplacingEXT:
		default:
			continue
		}
		if e.Model != ExecutionModelFragment {
			return errorAt(i, "%v is a mode of fragment shaders", mode)
		}
	}
	switch {
	case e.Model != ExecutionModelFragment:
		return nil
	case !origin:
		return errorAt(e.Instruction, "the fragment shader has no mode OriginUpperLeft")
	case depth > 1:
		return errorAt(e.Instruction, "it has several of the modes DepthGreater, DepthLess and DepthUnchanged")
	}
	return nil
}

// hasMode says whether an entry point has an execution mode.
func (e *EntryPoint) hasMode(mode ExecutionMode) bool {
	for _, i := range e.Modes {
		if ExecutionMode(i.Operands[1]) == mode {
			return true
		}
	}
	return false
}
