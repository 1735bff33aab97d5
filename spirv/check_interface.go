package spirv

import "farside/internal/vk"

// interfacePlaces is what the interface of an entry point has so far.
type interfacePlaces struct {
	builtIns [2]map[BuiltIn]bool     // inputs, outputs
	taken    [2]map[location]takenBy // likewise
}

type location struct{ location, component, index uint32 }

type takenBy struct {
	id    ID
	kind  TypeKind
	width uint32
}

// interfaceVariable checks an input or output of an entry point.
func (k *checker) interfaceVariable(e *EntryPoint, def *Instruction, class StorageClass, seen *interfacePlaces) error {
	if !checked(e.Model) {
		return nil
	}
	if e.Model == ExecutionModelGLCompute && class == StorageClassOutput {
		return ruleAt(e.Instruction, vk.VUID_StandaloneSpirv_None_04644,
			"%s is an output, which compute shaders have none of", k.name(def.Result))
	}
	way := 0
	if class == StorageClassOutput {
		way = 1
	}
	builtIn := func(b BuiltIn, t *Type) error {
		if seen.builtIns[way][b] {
			rule := vk.VUID_StandaloneSpirv_OpEntryPoint_09658
			if way == 1 {
				rule = vk.VUID_StandaloneSpirv_OpEntryPoint_09659
			}
			return ruleAt(e.Instruction, rule, "the built-in %v is there twice", b)
		}
		put(&seen.builtIns[way], b, true)
		return k.builtIn(e, def, b, class, t)
	}
	t := k.types[def.Type].Elem
	if d := k.m.decoration(def.Result, DecorationBuiltIn); d != nil {
		return builtIn(BuiltIn(d.Operands[0]), t)
	}
	if e.Model == ExecutionModelGLCompute {
		return errorAt(e.Instruction, "the input %s is not built in", k.name(def.Result))
	}
	if t.Kind == TypeStruct {
		found := 0
		for n, member := range t.Members {
			for _, d := range k.m.MemberDecorations[t.ID][uint32(n)] {
				if d.Kind != DecorationBuiltIn {
					continue
				}
				found++
				if err := builtIn(BuiltIn(d.Operands[0]), member); err != nil {
					return err
				}
			}
		}
		if found > 0 {
			if found < len(t.Members) {
				return ruleAt(def, vk.VUID_StandaloneSpirv_BuiltIn_04668,
					"some members of its type %s are built in, some are not", k.name(t.ID))
			}
			return nil
		}
	}
	return k.userVariable(e, def, t, way, seen)
}

// userVariable checks an input or output that is not built in.
func (k *checker) userVariable(e *EntryPoint, def *Instruction, t *Type, way int, seen *interfacePlaces) error {
	if k.scalars(t) > maxValue {
		return errorAt(def, "it has more than %d scalars", maxValue)
	}
	if err := k.located(def, t); err != nil {
		return err
	}
	for p := range k.m.Places(def, k.c) {
		if err := k.place(e, def, p, way); err != nil {
			return err
		}
		size := uint32(1)
		if p.Type.Width == 64 {
			size = 2
		}
		for n := range size {
			at := location{p.Location, p.Component + n, p.Index}
			if by, ok := seen.taken[way][at]; ok && (by.id != def.Result || t.Kind == TypeStruct) {
				rule := vk.VUID_StandaloneSpirv_OpEntryPoint_08721
				if way == 1 {
					rule = vk.VUID_StandaloneSpirv_OpEntryPoint_08722
				}
				return ruleAt(e.Instruction, rule, "%s and %s have both the component %d of location %d", k.name(by.id),
					k.name(def.Result), at.component, at.location)
			}
			put(&seen.taken[way], at, takenBy{def.Result, p.Type.Kind, p.Type.Width})
		}
	}
	return nil
}

// located checks that a variable, or all members of its block, have locations, and where components begin.
func (k *checker) located(def *Instruction, t *Type) error {
	whole := k.m.decoration(def.Result, DecorationLocation)
	component := k.m.decoration(def.Result, DecorationComponent)
	if t.Kind == TypeStruct {
		members := 0
		for n, member := range t.Members {
			var at, within *Decoration
			list := k.m.MemberDecorations[t.ID][uint32(n)]
			for m := range list {
				switch d := &list[m]; d.Kind {
				case DecorationLocation:
					at = d
				case DecorationComponent:
					within = d
				}
			}
			if at != nil {
				members++
			}
			if err := k.located1(def, member, at, within); err != nil {
				return err
			}
		}
		switch {
		case component != nil:
			return ruleAt(def, vk.VUID_StandaloneSpirv_Component_10583, "its type is a struct, whose members have components")
		case whole == nil && members < len(t.Members):
			return ruleAt(def, vk.VUID_StandaloneSpirv_Location_04918,
				"it has no Location, and not all members of its type %s have one", k.name(t.ID))
		}
	} else if whole == nil {
		return ruleAt(def, vk.VUID_StandaloneSpirv_Location_04916, "it is neither built in nor has it a Location")
	}
	return k.located1(def, t, whole, component)
}

func (k *checker) located1(def *Instruction, t *Type, at, component *Decoration) error {
	if at != nil && at.Operands[0] >= maxLocation {
		return ruleAt(def, vk.VUID_RuntimeSpirv_Location_06272, "there is no location %d", at.Operands[0])
	}
	if component == nil {
		return nil
	}
	for t.Kind == TypeArray {
		t = t.Elem
	}
	c := component.Operands[0]
	switch {
	case t.Kind != TypeVector && t.Kind != TypeInt && t.Kind != TypeFloat:
		return ruleAt(def, vk.VUID_StandaloneSpirv_Component_10583, "a Component is for scalars and vectors")
	case c > 3:
		return ruleAt(def, vk.VUID_StandaloneSpirv_Component_04920, "there is no component %d", c)
	case t.component().Width == 64 && (c == 1 || c == 3):
		return ruleAt(def, vk.VUID_StandaloneSpirv_Component_04923, "64-bit numbers begin at component 0 or 2")
	case t.component().Width == 64 && c+2*t.components() > 4:
		return ruleAt(def, vk.VUID_StandaloneSpirv_Component_04922, "its components are more than the location has")
	case t.component().Width != 64 && c+t.components() > 4:
		return ruleAt(def, vk.VUID_StandaloneSpirv_Component_04921, "its components are more than the location has")
	}
	return nil
}

// place checks a scalar of an input or output.
func (k *checker) place(e *EntryPoint, def *Instruction, p Place, way int) error {
	t := p.Type
	interpolated := p.Flat || p.NoPerspective || p.Centroid || p.Sample
	input, output := way == 0, way == 1
	fragment := e.Model == ExecutionModelFragment
	switch {
	case t.Kind == TypeBool:
		return ruleAt(def, vk.VUID_StandaloneSpirv_Input_07290, "it has a bool")
	case t.Kind != TypeInt && t.Kind != TypeFloat:
		return errorAt(def, "it holds what is no number")
	case input && !fragment && interpolated:
		return ruleAt(def, vk.VUID_StandaloneSpirv_Flat_06202, "an input of a vertex shader is not interpolated")
	case output && fragment && interpolated:
		return ruleAt(def, vk.VUID_StandaloneSpirv_Flat_06201, "an output of a fragment shader is not interpolated")
	case input && fragment && !p.Flat && (t.Kind == TypeInt || t.Width == 64):
		return ruleAt(def, vk.VUID_StandaloneSpirv_Flat_04744, "an integer or a double is an input that is not Flat")
	case p.Index > 1 || p.Index != 0 && !(output && fragment):
		return errorAt(def, "an Index is 0 or 1 at an output of a fragment shader")
	}
	return nil
}

// checkLocations checks the locations of a graphics stage against the device's limits.
func (m *Module) checkLocations(e *EntryPoint, c *Constants, env *Environment) error {
	var limits [2]uint32
	switch e.Model {
	case ExecutionModelVertex:
		limits = [2]uint32{env.MaxVertexInputs, env.MaxVertexOutputs}
	case ExecutionModelFragment:
		limits = [2]uint32{env.MaxFragmentInputs, env.MaxFragmentOutputs}
	default:
		return nil
	}
	for _, id := range e.Interface {
		def := m.Definitions[id]
		class := StorageClass(def.Operands[0])
		if class != StorageClassInput && class != StorageClassOutput {
			continue
		}
		limit, what := limits[0], "inputs"
		if class == StorageClassOutput {
			limit, what = limits[1], "outputs"
		}
		for p := range m.Places(def, c) {
			if !p.IsBuiltIn && p.Location >= limit {
				return ruleAt(def, vk.VUID_RuntimeSpirv_Location_06272, "its location %d is not one of the %d of %s", p.Location,
					limit, what)
			}
		}
	}
	return nil
}
