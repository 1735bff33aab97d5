package spirv

import (
	"fmt"
	"slices"
	"strings"

	"farside/internal/vk"
)

// Environment is what a device, with the features that are enabled on it, lets a module use.
type Environment struct {
	Version      uint32 // the largest version, as in a module's header
	Capabilities map[Capability]bool
	Extensions   map[string]bool

	// Layouts of blocks beyond those of Vulkan 1.1 (Vulkan, "Offset and Stride Assignment").
	UniformBufferStandardLayout bool
	ScalarBlockLayout           bool
	WorkgroupScalarLayout       bool // scalar layout in blocks of storage class Workgroup

	// Features that no capability stands for.
	SubgroupClock, DeviceClock bool // scopes of OpReadClockKHR
	SubgroupUniformControlFlow bool // the execution mode
	MaximalReconvergence       bool // the execution mode

	// Limits that CheckEntryPoint holds an entry point to.
	MaxWorkgroupSize        [3]uint32
	MaxWorkgroupInvocations uint32
	MaxWorkgroupMemory      uint32 // bytes of storage class Workgroup

	// Locations of a stage.
	MaxVertexInputs, MaxVertexOutputs, MaxFragmentInputs, MaxFragmentOutputs uint32
}

// Check says whether a module is valid in Vulkan's environment for SPIR-V (Vulkan, appendix "Vulkan Environment for
// SPIR-V") and uses only what the device has. A function that no entry point of a stage reaches may have what that
// stage has not. Vertex, fragment and compute shaders are checked whole, other stages little. The error is an *Error.
func (m *Module) Check(env *Environment) error {
	c, err := m.Constants(nil)
	if err != nil {
		return err
	}
	return m.check(env, c)
}

// check is Check under a specialization.
func (m *Module) check(env *Environment, c *Constants) error {
	k := &checker{
		m: m, env: env, c: c, version: uint8(m.Version>>12&0xf0 | m.Version>>8&0xf),
		declared: map[Capability]bool{}, extensions: map[string]bool{},
		types: c.Types, places: make([]place, len(m.Definitions)),
	}
	for _, step := range []func() error{
		k.module, k.typeRules, k.names, k.annotations, k.variables, k.entryPoints, k.functions,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type checker struct {
	m          *Module
	env        *Environment
	c          *Constants
	version    uint8 // 0x16 for 1.6
	declared   map[Capability]bool
	extensions map[string]bool
	types      []*Type // by id, of types
	places     []place // by id, of what is defined in functions
	layouts    map[layoutKey]layoutResult
	counts     map[*Type]uint64 // the scalars of structs
	matches    map[[2]*Type]bool
	roots      map[uint32]bool // by pointer: whether its variable is a Block
	limits     [][]*stageError // for each function, which stages it is for
	buf        [16]*Type
	parts      []part // likewise, of the last instruction

	// What structs hold: pointers, numbers of 8 and 16 bits.
	pointers, small8, small16 map[*Type]bool
	widths                    [3]map[*Type]bool // scalars of 64, 32 and 16 bits
}

func (k *checker) name(id ID) string { return k.m.Name(id) }

func (k *checker) has(c Capability) bool { return k.declared[c] }

// typeOf is the type of an object; nil where the id is none.
func (k *checker) typeOf(id ID) *Type {
	def := k.m.Definitions[id]
	if def == nil || def.Type == 0 || def.Op == OpFunction {
		return nil
	}
	if t := k.types[def.Type]; t != nil && t.Kind != TypeVoid {
		return t
	}
	return nil
}

// values are the types of some operands, which must be objects. The slice is good until the next call.
func (k *checker) values(i *Instruction, from, to int) ([]*Type, error) {
	list := k.buf[:0]
	for _, id := range i.Operands[from:to] {
		t := k.typeOf(ID(id))
		if t == nil {
			return nil, errorAt(i, "its operand %s is no object", k.name(ID(id)))
		}
		list = append(list, t)
	}
	return list, nil
}

// module checks what stands in front of the types.
func (k *checker) module() error {
	m := k.m
	if m.Version > k.env.Version {
		return &Error{Offset: 1, Message: fmt.Sprintf("the version %d.%d is newer than %d.%d", m.Version>>16,
			m.Version>>8&0xff, k.env.Version>>16, k.env.Version>>8&0xff)}
	}
	for _, i := range m.preamble {
		switch i.Op {
		case OpExtension:
			e := literalString(i.Operands)
			if !k.env.Extensions[e] {
				return ruleAt(i, vk.VUID_VkShaderModuleCreateInfo_pCode_08742, "the extension %s is not supported", e)
			}
			k.extensions[e] = true
		case OpCapability:
			c := Capability(i.Operands[0])
			if !k.env.Capabilities[c] {
				return ruleAt(i, vk.VUID_VkShaderModuleCreateInfo_pCode_08740,
					"the capability %v is not supported or its feature is not enabled", c)
			}
			k.declare(c)
		}
	}
	if !k.has(CapabilityShader) {
		return errorAt(m.memoryModel, "the capability Shader is not declared")
	}
	for _, i := range m.preamble {
		switch i.Op {
		case OpCapability:
			r := kindCapability.enumerant(i.Operands[0]).requirement
			r.capabilities = span{} // those that it implies
			if err := k.available(i, Capability(i.Operands[0]).String(), r); err != nil {
				return err
			}
		case OpExtInstImport:
			set := m.Imports[i.Result]
			if set != glslSet && !nonSemanticSet(set) {
				return errorAt(i, "the instruction set %s is not supported", set)
			}
			if strings.HasPrefix(set, "NonSemantic.") && m.Version < 0x10600 && !k.extensions["SPV_KHR_non_semantic_info"] {
				return errorAt(i, "the instruction set %s needs SPIR-V 1.6 or SPV_KHR_non_semantic_info", set)
			}
		}
	}
	if err := k.requirements(m.memoryModel); err != nil {
		return err
	}
	switch {
	case m.Addressing != AddressingModelLogical && m.Addressing != AddressingModelPhysicalStorageBuffer64:
		return ruleAt(m.memoryModel, vk.VUID_StandaloneSpirv_None_04635,
			"the addressing model %v is neither Logical nor PhysicalStorageBuffer64", m.Addressing)
	case m.Memory != MemoryModelSimple && m.Memory != MemoryModelGLSL450 && m.Memory != MemoryModelVulkan:
		return errorAt(m.memoryModel, "the memory model %v is for kernels", m.Memory)
	case k.has(CapabilityVulkanMemoryModel) != (m.Memory == MemoryModelVulkan):
		return errorAt(m.memoryModel,
			"the memory model is Vulkan if and only if the capability VulkanMemoryModel is declared")
	}
	return nil
}

// maxImplied is how many capabilities imply one another in a row, in SPIR-V's grammar.
const maxImplied = 6

// declare notes a capability and those that it implies, which is as deep as the grammar is (maxImplied).
func (k *checker) declare(c Capability) {
	if k.declared[c] {
		return
	}
	k.declared[c] = true
	s := kindCapability.enumerant(uint32(c)).capabilities
	for _, implied := range capabilityTable[s.at:][:s.n] {
		k.declare(Capability(implied))
	}
}

// available says whether the module declares what brings an instruction or an enumerant.
func (k *checker) available(i *Instruction, what string, r requirement) error {
	if r.last != 0 && k.version > r.last {
		return errorAt(i, "%s is there up to SPIR-V %d.%d", what, r.last>>4, r.last&15)
	}
	caps := capabilityTable[r.capabilities.at:][:r.capabilities.n]
	if len(caps) > 0 && !slices.ContainsFunc(caps, func(c uint16) bool { return k.declared[Capability(c)] }) {
		var list []string
		for _, c := range caps {
			list = append(list, Capability(c).String())
		}
		return errorAt(i, "%s needs the capability %s", what, strings.Join(list, " or "))
	}
	// Where nothing but a capability brings it, the capability's own entry says from where on.
	exts := extensionTable[r.extensions.at:][:r.extensions.n]
	if r.version != 0 && k.version >= r.version || len(exts) == 0 && (r.version == 0 || len(caps) > 0) {
		return nil
	}
	var list []string
	for _, e := range exts {
		if k.extensions[e.String()] {
			return nil
		}
		list = append(list, e.String())
	}
	if r.version != 0 {
		list = append(list, fmt.Sprintf("SPIR-V %d.%d", r.version>>4, r.version&15))
	}
	return errorAt(i, "%s needs %s", what, strings.Join(list, " or "))
}

// requirements checks that an instruction and its enumerants are available.
func (k *checker) requirements(i *Instruction) error {
	if !i.demands {
		return nil
	}
	info := i.Op.info()
	if info.requirement != basic {
		if err := k.available(i, "the instruction", info.requirement); err != nil {
			return err
		}
	}
	if !info.enumerants() {
		return nil
	}
	k.parts = k.m.parts(i, k.parts[:0])
	for _, p := range k.parts {
		if kindTable[p.kind].n == 0 || p.kind == kindCapability {
			continue
		}
		if !kindTable[p.kind].mask {
			if err := k.enumerant(i, p.kind, p.word); err != nil {
				return err
			}
			continue
		}
		for rest := p.word; rest != 0; rest &= rest - 1 {
			if err := k.enumerant(i, p.kind, rest&-rest); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *checker) enumerant(i *Instruction, kind operandKind, value uint32) error {
	if b := BuiltIn(value); kind == kindBuiltIn &&
		(b == BuiltInPointSize || b == BuiltInClipDistance || b == BuiltInCullDistance) {
		return nil // their capabilities are for what uses them, not for blocks of outputs that have them as members
	}
	if e := kind.enumerant(value); e.requirement != basic {
		return k.available(i, e.name.String(), e.requirement)
	}
	return nil
}

// enumerants says whether an operand can be an enumeration.
func (info *opInfo) enumerants() bool {
	for _, o := range info.operands.operands() {
		if k := o.kind(); kindTable[k].n != 0 || k == kindLiteralSpecConstantOpInteger {
			return true
		}
	}
	return false
}
