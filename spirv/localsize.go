package spirv

import "farside/internal/vk"

// LocalSize is the size of an entry point's workgroups. A constant that is decorated with the built-in WorkgroupSize
// comes before LocalSizeId, and that before LocalSize. The error is an *Error, where there is none of them or where it
// names no 32-bit integers.
func (m *Module) LocalSize(e *EntryPoint, c *Constants) (size [3]uint32, err error) {
	if i := m.workgroupSize; i != nil {
		v := c.Values[i.Result]
		if v == nil || v.Type.Kind != TypeVector || v.Type.Count != 3 || v.Type.Elem.Kind != TypeInt ||
			v.Type.Elem.Width != 32 {
			return size, ruleAt(i, vk.VUID_WorkgroupSize_WorkgroupSize_04427,
				"the built-in WorkgroupSize is not a constant vector of 3 32-bit integers")
		}
		for n, s := range v.Elements {
			size[n] = uint32(s.Bits)
		}
		return size, nil
	}
	var found *Instruction
	for _, i := range e.Modes {
		switch mode := ExecutionMode(i.Operands[1]); {
		case mode == ExecutionModeLocalSizeId:
			found = i
		case mode == ExecutionModeLocalSize && found == nil:
			found = i
		}
	}
	if found == nil {
		return size, ruleAt(e.Instruction, vk.VUID_StandaloneSpirv_None_10685,
			"it has neither LocalSize, nor LocalSizeId, nor the built-in WorkgroupSize")
	}
	for n, w := range found.Operands[2:] {
		if ExecutionMode(found.Operands[1]) == ExecutionModeLocalSize {
			size[n] = w
			continue
		}
		v := c.Values[ID(w)]
		if v == nil || v.Type.Kind != TypeInt || v.Type.Width != 32 {
			return size, errorAt(found, "%s is not a 32-bit integer constant", m.Name(ID(w)))
		}
		size[n] = uint32(v.Bits)
	}
	return size, nil
}
