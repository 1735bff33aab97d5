package spirv

import "farside/internal/vk"

// entryPoints checks entry points, their execution modes and interfaces. What is reached from them is checked with the
// functions.
func (k *checker) entryPoints() error {
	type key struct {
		model ExecutionModel
		name  string
	}
	seen := map[key]bool{}
	for _, e := range k.m.EntryPoints {
		if err := k.requirements(e.Instruction); err != nil {
			return err
		}
		if n := (key{e.Model, e.Name}); seen[n] {
			return errorAt(e.Instruction, "there are two entry points %q of model %v", e.Name, e.Model)
		} else {
			seen[n] = true
		}
		f := k.types[k.m.Definitions[e.Function].Operands[1]]
		if f == nil || f.Kind != TypeFunction || f.Elem.Kind != TypeVoid || len(f.Members) > 0 {
			return ruleAt(e.Instruction, vk.VUID_StandaloneSpirv_None_04633, "the function has parameters or a result")
		}
		if err := k.modes(e); err != nil {
			return err
		}
		if err := k.interfaceVariables(e); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) modes(e *EntryPoint) error {
	var seen [2]bool // LocalSize, LocalSizeId
	for _, i := range e.Modes {
		if err := k.requirements(i); err != nil {
			return err
		}
		mode := ExecutionMode(i.Operands[1])
		withIDs := mode == ExecutionModeLocalSizeId || mode == ExecutionModeSubgroupsPerWorkgroupId ||
			mode == ExecutionModeLocalSizeHintId || mode == ExecutionModeFPFastMathDefault
		if withIDs != (i.Op == OpExecutionModeId) {
			return errorAt(i, "%v goes with the other one of OpExecutionMode and OpExecutionModeId", mode)
		}
		switch mode {
		case ExecutionModeLocalSize, ExecutionModeLocalSizeId:
			n := 0
			if mode == ExecutionModeLocalSizeId {
				n = 1
			}
			if seen[n] {
				return errorAt(i, "%v is there twice", mode)
			}
			seen[n] = true
			for _, w := range i.Operands[2:] {
				if n == 1 {
					v := k.c.Values[ID(w)]
					if v == nil || v.Type.Kind != TypeInt || v.Type.Width != 32 {
						return errorAt(i, "%s is not a 32-bit integer constant", k.name(ID(w)))
					}
				} else if w == 0 {
					return errorAt(i, "the local size is 0")
				}
			}
		case ExecutionModeDenormPreserve, ExecutionModeDenormFlushToZero, ExecutionModeSignedZeroInfNanPreserve,
			ExecutionModeRoundingModeRTE, ExecutionModeRoundingModeRTZ:
			if w := i.Operands[2]; w != 16 && w != 32 && w != 64 {
				return errorAt(i, "there are no floats of %d bits", w)
			}
		case ExecutionModeFPFastMathDefault:
			if t := k.types[i.Operands[2]]; t == nil || t.Kind != TypeFloat {
				return errorAt(i, "%s is not a type of floats", k.name(ID(i.Operands[2])))
			}
			if v := k.c.Values[ID(i.Operands[3])]; v == nil || v.Type.Kind != TypeInt {
				return errorAt(i, "%s is not a constant mask", k.name(ID(i.Operands[3])))
			}
		case ExecutionModeSubgroupUniformControlFlowKHR:
			if !k.env.SubgroupUniformControlFlow {
				return ruleAt(i, vk.VUID_RuntimeSpirv_SubgroupUniformControlFlowKHR_06379,
					"it needs the feature shaderSubgroupUniformControlFlow")
			}
		case ExecutionModeMaximallyReconvergesKHR:
			if !k.env.MaximalReconvergence {
				return errorAt(i, "%v needs the feature shaderMaximalReconvergence", mode)
			}
		}
	}
	if e.Model == ExecutionModelGLCompute {
		if _, err := k.m.LocalSize(e, k.c); err != nil {
			return err
		}
	}
	return k.fragmentModes(e)
}

func (k *checker) interfaceVariables(e *EntryPoint) error {
	listed := map[ID]bool{}
	places := &interfacePlaces{}
	push := false
	for _, id := range e.Interface {
		def := k.m.Definitions[id]
		if def.Op != OpVariable || StorageClass(def.Operands[0]) == StorageClassFunction {
			return errorAt(e.Instruction, "%s is not a variable outside of functions", k.name(id))
		}
		if listed[id] && k.version >= 0x14 {
			return errorAt(e.Instruction, "%s is in the interface twice", k.name(id))
		}
		class := StorageClass(def.Operands[0])
		if k.version < 0x14 && class != StorageClassInput && class != StorageClassOutput {
			return errorAt(e.Instruction,
				"%s is neither an input nor an output, which before SPIR-V 1.4 the interface is made of", k.name(id))
		}
		if listed[id] {
			continue
		}
		listed[id] = true
		if class == StorageClassPushConstant {
			if push {
				return ruleAt(e.Instruction, vk.VUID_StandaloneSpirv_OpVariable_06673,
					"there are two variables of storage class PushConstant")
			}
			push = true
		}
		if class == StorageClassInput || class == StorageClassOutput {
			if err := k.interfaceVariable(e, def, class, places); err != nil {
				return err
			}
		}
	}
	return nil
}

// workgroupSizes are the rules for the three numbers of a workgroup's size.
var workgroupSizes = [3]vk.VUID{
	vk.VUID_RuntimeSpirv_x_06429, vk.VUID_RuntimeSpirv_y_06430, vk.VUID_RuntimeSpirv_z_06431,
}

// CheckEntryPoint checks what a specialization can change in a module that has passed Check: the size of the workgroups
// and their memory, against the device's limits, and all that depends on the lengths of arrays.
func (m *Module) CheckEntryPoint(e *EntryPoint, c *Constants, env *Environment) error {
	if m.sized {
		if err := m.check(env, c); err != nil {
			return err
		}
	}
	if e.Model != ExecutionModelGLCompute {
		return m.checkLocations(e, c, env)
	}
	size, err := m.LocalSize(e, c)
	if err != nil {
		return err
	}
	total := uint64(1)
	for n, s := range size {
		if s == 0 || s > env.MaxWorkgroupSize[n] {
			return ruleAt(e.Instruction, workgroupSizes[n], "the workgroup's size %v is not in 1 to %v", size,
				env.MaxWorkgroupSize)
		}
		total *= uint64(s)
	}
	if total > uint64(env.MaxWorkgroupInvocations) {
		return ruleAt(e.Instruction, vk.VUID_RuntimeSpirv_x_06432, "the workgroup's size %v is more than %d invocations",
			size, env.MaxWorkgroupInvocations)
	}
	// What the entry point does not use doesn't count, and seldom matters.
	memory := m.workgroupMemory(c, nil)
	if memory > uint64(env.MaxWorkgroupMemory) {
		memory = m.workgroupMemory(c, m.usage().used(e.Function))
	}
	if memory > uint64(env.MaxWorkgroupMemory) {
		return ruleAt(e.Instruction, vk.VUID_RuntimeSpirv_Workgroup_06530,
			"the variables of storage class Workgroup have %d bytes, more than %d", memory, env.MaxWorkgroupMemory)
	}
	return nil
}

// workgroupMemory is what variables of storage class Workgroup take, in bytes; nil: all are used.
func (m *Module) workgroupMemory(c *Constants, used map[ID]bool) uint64 {
	var memory, block uint64
	var sizes map[*Type]uint64
	for _, i := range m.Variables {
		if StorageClass(i.Operands[0]) != StorageClassWorkgroup || used != nil && !used[i.Result] {
			continue
		}
		if sizes == nil {
			sizes = map[*Type]uint64{}
		}
		t := c.Types[i.Type].Elem
		if m.decoration(t.ID, DecorationBlock) != nil {
			block = max(block, tightSize(t, sizes)) // blocks share their memory
		} else {
			memory = min(memory+tightSize(t, sizes), 1<<40)
		}
	}
	return memory + block
}

// tightSize is a type's size without a layout of its own, as VUID-RuntimeSpirv-Workgroup-06530 counts it; it ends at
// 1<<40. The sizes of structs are kept. The recursion is as deep as the type (MaxTypeDepth).
func tightSize(t *Type, sizes map[*Type]uint64) uint64 {
	const most = 1 << 40
	switch t.Kind {
	case TypeBool:
		return 4
	case TypeInt, TypeFloat:
		return uint64(t.Width / 8)
	case TypePointer:
		return 8
	case TypeVector, TypeMatrix, TypeArray:
		n := tightSize(t.Elem, sizes)
		if n > most/uint64(t.Count) {
			return most
		}
		return n * uint64(t.Count)
	case TypeStruct:
		size, ok := sizes[t]
		if ok {
			return size
		}
		for n, member := range t.Members {
			if t.Layouts != nil {
				size = max(size, uint64(t.Layouts[n].Offset))
			}
			size = min(size+tightSize(member, sizes), most)
		}
		sizes[t] = size
		return size
	}
	return 0
}

// usage is what each function calls, and which variables of the module it names.
type usage map[ID]*functionUsage

type functionUsage struct{ calls, variables []ID }

func (m *Module) usage() usage {
	m.uses.once.Do(func() { m.uses.usage = m.findUsage() })
	return m.uses.usage
}

func (m *Module) findUsage() usage {
	u := make(usage, len(m.Functions))
	var parts []part
	for _, f := range m.Functions {
		fu := &functionUsage{}
		u[f.Result] = fu
		seen := map[ID]bool{}
		for _, b := range f.Blocks {
			for _, i := range b.Instructions {
				parts = m.parts(i, parts[:0])
				for _, p := range parts {
					id := ID(p.word)
					if p.kind != kindIdRef || seen[id] {
						continue
					}
					switch def := m.Definitions[id]; {
					case def.Op == OpFunction:
						fu.calls = append(fu.calls, id)
					case def.Op == OpVariable && StorageClass(def.Operands[0]) != StorageClassFunction:
						fu.variables = append(fu.variables, id)
					default:
						continue
					}
					seen[id] = true
				}
			}
		}
	}
	return u
}

// reached are the functions that a function calls, with itself.
func (u usage) reached(function ID) map[ID]bool {
	seen := map[ID]bool{function: true}
	work := []ID{function}
	for len(work) > 0 {
		f := u[work[len(work)-1]]
		work = work[:len(work)-1]
		for _, id := range f.calls {
			if !seen[id] {
				seen[id] = true
				work = append(work, id)
			}
		}
	}
	return seen
}

// used are the variables of the module that a function names, and those that it calls.
func (u usage) used(function ID) map[ID]bool {
	used := map[ID]bool{}
	for f := range u.reached(function) {
		for _, id := range u[f].variables {
			used[id] = true
		}
	}
	return used
}

// recursion finds a cycle of calls.
func (k *checker) recursion(calls map[ID][]*Instruction) error {
	const (
		open = iota + 1
		done
	)
	state := map[ID]int{}
	type frame struct {
		function ID
		next     int
	}
	for _, f := range k.m.Functions {
		if state[f.Result] == done {
			continue
		}
		state[f.Result] = open
		stack := []frame{{function: f.Result}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			list := calls[top.function]
			if top.next == len(list) {
				state[top.function] = done
				stack = stack[:len(stack)-1]
				continue
			}
			call := list[top.next]
			top.next++
			switch callee := ID(call.Operands[0]); state[callee] {
			case open:
				return ruleAt(call, vk.VUID_StandaloneSpirv_None_04634, "%s calls itself", k.name(callee))
			case 0:
				state[callee] = open
				stack = append(stack, frame{function: callee})
			}
		}
	}
	return nil
}

// reaches checks what depends on which functions an entry point reaches.
func (k *checker) reaches(e *EntryPoint, u usage) error {
	listed := map[ID]bool{}
	for _, id := range e.Interface {
		listed[id] = true
	}
	reached := u.reached(e.Function)
	used := map[ID]bool{}
	push := ID(0)
	for n, f := range k.m.Functions {
		if !reached[f.Result] {
			continue
		}
		for _, limit := range k.limits[n] {
			if !limit.models.has(e.Model) {
				return limit.of(e.Model)
			}
		}
		for _, id := range u[f.Result].variables {
			if used[id] {
				continue
			}
			used[id] = true
			class := StorageClass(k.m.Definitions[id].Operands[0])
			if !listed[id] && (k.version >= 0x14 || class == StorageClassInput || class == StorageClassOutput) {
				return errorAt(e.Instruction, "the interface lacks %s, which is used", k.name(id))
			}
			if class == StorageClassPushConstant {
				if push != 0 {
					return ruleAt(e.Instruction, vk.VUID_StandaloneSpirv_OpEntryPoint_06674,
						"it uses two variables of storage class PushConstant")
				}
				push = id
			}
			if class == StorageClassWorkgroup && e.Model != ExecutionModelGLCompute {
				return ruleAt(e.Instruction, vk.VUID_StandaloneSpirv_None_04645, "it uses %s of storage class Workgroup",
					k.name(id))
			}
		}
	}
	return nil
}
