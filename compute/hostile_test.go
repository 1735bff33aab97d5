package compute

import (
	"fmt"
	"math"

	"farside/compute/internal/kernel"
	"farside/spirv"
)

// hostile writes modules of which a small part makes a compiler do much. Each method that is named by hostileFamilies
// adds one such part to the entry point, of a size that the module's length is about proportional to.
type hostile struct {
	ids         uint32
	entries     []uint32 // OpEntryPoint behind the first one
	modes       []uint32
	names       []uint32
	annotations []uint32
	globals     []uint32
	functions   []uint32
	variables   []uint32 // of the function that is being written
	body        []uint32
	label       uint32 // of the block that is being written
	known       map[string]uint32
	constants   map[uint32]uint32
	bindings    uint32

	void, boolean, u32, f32, vec4, nothing uint32 // types; nothing is void()
	buffer, lane, main                     uint32
	bound                                  uint32 // if it is not that of the ids
}

func newHostile() *hostile {
	h := &hostile{known: map[string]uint32{}, constants: map[uint32]uint32{}}
	h.main = h.id()
	h.void = h.typ(spirv.OpTypeVoid)
	h.boolean = h.typ(spirv.OpTypeBool)
	h.u32 = h.typ(spirv.OpTypeInt, 32, 0)
	h.f32 = h.typ(spirv.OpTypeFloat, 32)
	h.vec4 = h.typ(spirv.OpTypeVector, h.u32, 4)
	h.nothing = h.typ(spirv.OpTypeFunction, h.void)
	h.buffer = h.storage()
	input := h.pointer(spirv.StorageClassInput, h.u32)
	h.lane = h.global(spirv.OpVariable, input, uint32(spirv.StorageClassInput))
	h.annotate(spirv.OpDecorate, h.lane, uint32(spirv.DecorationBuiltIn), uint32(spirv.BuiltInLocalInvocationIndex))
	h.begin(h.id())
	return h
}

// words ends the entry point and gives the module.
func (h *hostile) words() []uint32 {
	h.emit(spirv.OpReturn)
	h.functions = append(h.functions, instruction(spirv.OpFunction, h.void, h.main, 0, h.nothing)...)
	h.endFunction()
	bound := max(h.ids+1, h.bound)
	list := []uint32{0x07230203, 0x10600, 0, bound, 0}
	for _, c := range []spirv.Capability{
		spirv.CapabilityShader, spirv.CapabilityVariablePointers, spirv.CapabilityGroupNonUniform,
		spirv.CapabilityGroupNonUniformArithmetic, spirv.CapabilityImageQuery, spirv.CapabilityReplicatedCompositesEXT,
	} {
		list = append(list, instruction(spirv.OpCapability, uint32(c))...)
	}
	list = append(list, instruction(spirv.OpExtension, text("SPV_KHR_non_semantic_info")...)...)
	list = append(list, instruction(spirv.OpExtension, text("SPV_EXT_replicated_composites")...)...)
	printf := h.ids + 1
	if h.known["printf"] != 0 {
		printf = h.known["printf"]
	} else {
		list[3] = max(bound, h.ids+2)
	}
	set := append([]uint32{printf}, text("NonSemantic.DebugPrintf")...)
	list = append(list, instruction(spirv.OpExtInstImport, set...)...)
	models := []uint32{uint32(spirv.AddressingModelLogical), uint32(spirv.MemoryModelGLSL450)}
	list = append(list, instruction(spirv.OpMemoryModel, models...)...)
	interfaces := []uint32{uint32(spirv.ExecutionModelGLCompute), h.main}
	interfaces = append(append(interfaces, text("main")...), h.interfaces()...)
	list = append(list, instruction(spirv.OpEntryPoint, interfaces...)...)
	list = append(list, h.entries...)
	list = append(list, instruction(spirv.OpExecutionMode, h.main, uint32(spirv.ExecutionModeLocalSize), 64, 1, 1)...)
	for _, part := range [][]uint32{h.modes, h.names, h.annotations, h.globals, h.functions} {
		list = append(list, part...)
	}
	return list
}

// interfaces are the variables outside of functions.
func (h *hostile) interfaces() []uint32 {
	var list []uint32
	for at := 0; at < len(h.globals); at += int(h.globals[at] >> 16) {
		if spirv.Op(h.globals[at]) == spirv.OpVariable {
			list = append(list, h.globals[at+2])
		}
	}
	return list
}

func instruction(op spirv.Op, operands ...uint32) []uint32 {
	if len(operands) >= math.MaxUint16 {
		operands = operands[:math.MaxUint16-1]
	}
	return append([]uint32{uint32(len(operands)+1)<<16 | uint32(op)}, operands...)
}

// text is a literal string.
func text(s string) []uint32 {
	list := make([]uint32, len(s)/4+1)
	for i := range len(s) {
		list[i/4] |= uint32(s[i]) << (i % 4 * 8)
	}
	return list
}

func (h *hostile) id() uint32 {
	h.ids++
	return h.ids
}

func (h *hostile) annotate(op spirv.Op, operands ...uint32) {
	h.annotations = append(h.annotations, instruction(op, operands...)...)
}

// typ is a type, one of each.
func (h *hostile) typ(op spirv.Op, operands ...uint32) uint32 {
	key := string(op.String())
	for _, w := range operands {
		key += "," + string(rune(w))
	}
	if h.known[key] == 0 {
		h.known[key] = h.newType(op, operands...)
	}
	return h.known[key]
}

func (h *hostile) newType(op spirv.Op, operands ...uint32) uint32 {
	id := h.id()
	h.globals = append(h.globals, instruction(op, append([]uint32{id}, operands...)...)...)
	return id
}

func (h *hostile) pointer(class spirv.StorageClass, t uint32) uint32 {
	return h.typ(spirv.OpTypePointer, uint32(class), t)
}

// global adds what has a type.
func (h *hostile) global(op spirv.Op, t uint32, operands ...uint32) uint32 {
	id := h.id()
	h.globals = append(h.globals, instruction(op, append([]uint32{t, id}, operands...)...)...)
	return id
}

func (h *hostile) constant(k uint32) uint32 {
	if h.constants[k] == 0 {
		h.constants[k] = h.global(spirv.OpConstant, h.u32, k)
	}
	return h.constants[k]
}

func (h *hostile) array(t uint32, n uint32) uint32 { return h.typ(spirv.OpTypeArray, t, h.constant(n)) }

// storage is a storage buffer of numbers.
func (h *hostile) storage() uint32 {
	if h.known["block"] == 0 {
		list := h.newType(spirv.OpTypeRuntimeArray, h.u32)
		h.annotate(spirv.OpDecorate, list, uint32(spirv.DecorationArrayStride), 4)
		h.known["block"] = h.block(list)
	}
	return h.binding(h.known["block"], spirv.StorageClassStorageBuffer)
}

// block is a struct of one member that is a buffer.
func (h *hostile) block(member uint32) uint32 {
	b := h.newType(spirv.OpTypeStruct, member)
	h.annotate(spirv.OpDecorate, b, uint32(spirv.DecorationBlock))
	h.annotate(spirv.OpMemberDecorate, b, 0, uint32(spirv.DecorationOffset), 0)
	return b
}

func (h *hostile) binding(t uint32, class spirv.StorageClass) uint32 {
	v := h.global(spirv.OpVariable, h.pointer(class, t), uint32(class))
	h.annotate(spirv.OpDecorate, v, uint32(spirv.DecorationDescriptorSet), 0)
	h.annotate(spirv.OpDecorate, v, uint32(spirv.DecorationBinding), h.bindings)
	h.bindings++
	return v
}

func (h *hostile) emit(op spirv.Op, operands ...uint32) {
	h.body = append(h.body, instruction(op, operands...)...)
}

func (h *hostile) value(op spirv.Op, t uint32, operands ...uint32) uint32 {
	id := h.id()
	h.emit(op, append([]uint32{t, id}, operands...)...)
	return id
}

func (h *hostile) variable(t uint32) uint32 {
	id := h.id()
	class := uint32(spirv.StorageClassFunction)
	kind := h.pointer(spirv.StorageClassFunction, t)
	h.variables = append(h.variables, instruction(spirv.OpVariable, kind, id, class)...)
	return id
}

func (h *hostile) begin(label uint32) {
	if h.body != nil {
		h.emit(spirv.OpLabel, label)
	} else {
		h.body = []uint32{} // the first label stands in front of the variables
		h.known["first"] = label
	}
	h.label = label
}

func (h *hostile) branch(label uint32) { h.emit(spirv.OpBranch, label) }

// endFunction writes the blocks of a function behind its head.
func (h *hostile) endFunction() {
	h.functions = append(h.functions, instruction(spirv.OpLabel, h.known["first"])...)
	h.functions = append(append(h.functions, h.variables...), h.body...)
	h.functions = append(h.functions, instruction(spirv.OpFunctionEnd)...)
}

// function writes a function that gives a result, of a type, of its parameters.
func (h *hostile) function(result uint32, parameters []uint32, body func(parameters []uint32) uint32) uint32 {
	variables, outer, label, first := h.variables, h.body, h.label, h.known["first"]
	id, kind := h.id(), h.typ(spirv.OpTypeFunction, append([]uint32{result}, parameters...)...)
	head := instruction(spirv.OpFunction, result, id, 0, kind)
	arguments := make([]uint32, len(parameters))
	for i, t := range parameters {
		arguments[i] = h.id()
		head = append(head, instruction(spirv.OpFunctionParameter, t, arguments[i])...)
	}
	h.variables, h.body = nil, nil
	h.begin(h.id())
	if r := body(arguments); result == h.void {
		h.emit(spirv.OpReturn)
	} else {
		h.emit(spirv.OpReturnValue, r)
	}
	h.functions = append(h.functions, head...)
	h.endFunction()
	h.variables, h.body, h.label, h.known["first"] = variables, outer, label, first
	return id
}

func (h *hostile) call(result, function uint32, arguments ...uint32) uint32 {
	return h.value(spirv.OpFunctionCall, result, append([]uint32{function}, arguments...)...)
}

// at is a pointer to a number in the buffer.
func (h *hostile) at(index uint32) uint32 {
	return h.value(spirv.OpAccessChain, h.pointer(spirv.StorageClassStorageBuffer, h.u32), h.buffer, h.constant(0), index)
}

// load and store access the number of a place in the buffer.
func (h *hostile) load(k uint32) uint32 { return h.value(spirv.OpLoad, h.u32, h.at(h.constant(k))) }

func (h *hostile) store(k, v uint32) { h.emit(spirv.OpStore, h.at(h.constant(k)), v) }

func (h *hostile) add(a, b uint32) uint32 { return h.value(spirv.OpIAdd, h.u32, a, b) }

func (h *hostile) less(a, b uint32) uint32 { return h.value(spirv.OpULessThan, h.boolean, a, b) }

// number is the lane's.
func (h *hostile) number() uint32 { return h.value(spirv.OpLoad, h.u32, h.lane) }

// choice is a selection.
func (h *hostile) choice(cond uint32, yes func()) {
	side, merge := h.id(), h.id()
	h.emit(spirv.OpSelectionMerge, merge, 0)
	h.emit(spirv.OpBranchConditional, cond, side, merge)
	h.begin(side)
	yes()
	h.branch(merge)
	h.begin(merge)
}

// loop goes round as long as a counter is below a limit. In its header it has a phi for each of some initial values, of
// one type; the body gives what they become.
func (h *hostile) loop(
	limit, control, t uint32, first []uint32, body func(counter uint32, phis []uint32) []uint32,
) []uint32 {
	before, header, test, inside, next, merge := h.label, h.id(), h.id(), h.id(), h.id(), h.id()
	counter, step := h.id(), h.id()
	h.branch(header)
	h.begin(header)
	outer := h.body
	h.body = []uint32{}
	phis, after := make([]uint32, len(first)), make([]uint32, 0, len(first))
	for i := range phis {
		phis[i] = h.id()
	}
	h.emit(spirv.OpLoopMerge, merge, next, control)
	h.branch(test)
	h.begin(test)
	cond := h.less(counter, limit)
	h.emit(spirv.OpBranchConditional, cond, inside, merge)
	h.begin(inside)
	after = append(after, body(counter, phis)...)
	h.branch(next)
	h.begin(next)
	h.emit(spirv.OpIAdd, h.u32, step, counter, h.constant(1))
	h.branch(header)
	h.begin(merge)
	rest := h.body
	h.body = outer
	h.emit(spirv.OpPhi, h.u32, counter, h.constant(0), before, step, next)
	for i, p := range phis {
		h.emit(spirv.OpPhi, t, p, first[i], before, after[i], next)
	}
	h.body = append(h.body, rest...)
	return phis
}

// hostileEnvironment has what the modules use.
func hostileEnvironment() *spirv.Environment {
	env := &spirv.Environment{
		Version: 0x10600, Capabilities: map[spirv.Capability]bool{}, Extensions: map[string]bool{},
		UniformBufferStandardLayout: true, ScalarBlockLayout: true, WorkgroupScalarLayout: true,
		MaxWorkgroupSize: [3]uint32{1024, 1024, 64}, MaxWorkgroupInvocations: 1024, MaxWorkgroupMemory: 1 << 16,
	}
	for _, c := range []spirv.Capability{
		spirv.CapabilityShader, spirv.CapabilityVariablePointers, spirv.CapabilityVariablePointersStorageBuffer,
		spirv.CapabilityGroupNonUniform, spirv.CapabilityGroupNonUniformArithmetic, spirv.CapabilityImageQuery,
		spirv.CapabilityReplicatedCompositesEXT,
	} {
		env.Capabilities[c] = true
	}
	env.Extensions["SPV_KHR_non_semantic_info"] = true
	env.Extensions["SPV_EXT_replicated_composites"] = true
	return env
}

// compileHostile does with a module what creating a pipeline and a first dispatch do.
func compileHostile(words []uint32) error {
	m, err := spirv.Decode(words)
	if err != nil {
		return err
	}
	env := hostileEnvironment()
	if err := m.Check(env); err != nil {
		return err
	}
	c, err := m.Constants(nil)
	if err != nil {
		return err
	}
	if err := m.CheckEntryPoint(m.EntryPoints[0], c, env); err != nil {
		return err
	}
	p, err := Compile(m, "main", Options{SubgroupSize: kernel.Width, Constants: c})
	if err != nil {
		return err
	}
	if err := p.LayOut(); err != nil {
		return fmt.Errorf("compiling: what became a program has no instructions: %w", err)
	}
	if err := p.engine.Prepare(&p.Program); err != nil {
		return fmt.Errorf("compiling: what became a program has no instructions: %w", err)
	}
	return nil
}
