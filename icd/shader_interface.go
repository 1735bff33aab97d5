package icd

import (
	"fmt"
	"slices"

	"farside/compute"
	"farside/internal/vk"
	"farside/spirv"
)

// shaderResource is a binding that a shader uses. Several variables may share it.
type shaderResource struct {
	set, binding uint32
	count        uint32 // elements; 0: as many as the set has
	array        bool   // a variable is an array of descriptors
	types        []vk.DescriptorType
	name         string
}

// String is how messages call it.
func (r *shaderResource) String() string {
	if r.name != "" {
		return fmt.Sprintf("binding %d of set %d (%s)", r.binding, r.set, r.name)
	}
	return fmt.Sprintf("binding %d of set %d", r.binding, r.set)
}

// use notes what the program needs of a pipeline layout. What the compiler has left out needs nothing.
func (s *shader) use(m *spirv.Module) {
	add := func(set, binding, count uint32, name string) {
		i := slices.IndexFunc(s.resources, func(r shaderResource) bool { return r.set == set && r.binding == binding })
		if i < 0 {
			i = len(s.resources)
			s.resources = append(s.resources, shaderResource{set: set, binding: binding, name: name})
		}
		s.resources[i].count = max(s.resources[i].count, count)
		if !slices.Contains(s.sets, set) {
			s.sets = append(s.sets, set)
		}
	}
	push := false
	for _, slot := range s.program.Slots {
		switch slot.Kind {
		case compute.SlotBuffer:
			add(slot.Set, slot.Binding, slot.Element+1, slot.Name)
		case compute.SlotPush:
			push = true
		}
	}
	for _, r := range s.program.Resources {
		add(r.Set, r.Binding, r.Count, r.Name)
	}
	for _, v := range m.Variables {
		class := spirv.StorageClass(v.Operands[0])
		if class == spirv.StorageClassPushConstant && push {
			s.push = append(s.push, blockRange(m, v))
			continue
		}
		set, bound := decoration(m, v.Result, spirv.DecorationDescriptorSet)
		binding, _ := decoration(m, v.Result, spirv.DecorationBinding)
		if !bound {
			continue
		}
		for i := range s.resources {
			if r := &s.resources[i]; r.set == set && r.binding == binding {
				types, array := descriptorTypes(m, v, class)
				r.types, r.array = append(r.types, types...), r.array || array
			}
		}
	}
}

// decoration returns the first operand of a decoration.
func decoration(m *spirv.Module, id spirv.ID, kind spirv.DecorationKind) (uint32, bool) {
	return operandOf(m.Decorations[id], kind)
}

func operandOf(list []spirv.Decoration, kind spirv.DecorationKind) (uint32, bool) {
	for _, d := range list {
		if d.Kind == kind && len(d.Operands) > 0 {
			return d.Operands[0], true
		}
	}
	return 0, false
}

// pointee is the instruction that defines what a variable's type points to.
func pointee(m *spirv.Module, variable *spirv.Instruction) *spirv.Instruction {
	return m.Definitions[m.Definitions[variable.Type].Operands[1]]
}

// descriptorTypes are the descriptor types that a variable can stand for, by the table "Shader Resource and Descriptor
// Type Correspondence" (chapter "Shader Interfaces"), and whether it is an array of descriptors.
func descriptorTypes(m *spirv.Module, variable *spirv.Instruction, class spirv.StorageClass) (_ []vk.DescriptorType,
	array bool) {
	t := pointee(m, variable)
	for t.Op == spirv.OpTypeArray || t.Op == spirv.OpTypeRuntimeArray {
		t, array = m.Definitions[t.Operands[0]], true
	}
	switch t.Op {
	case spirv.OpTypeSampler:
		return []vk.DescriptorType{vk.DESCRIPTOR_TYPE_SAMPLER, vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER}, array
	case spirv.OpTypeSampledImage:
		if image := m.Definitions[t.Operands[0]]; spirv.Dim(image.Operands[1]) == spirv.DimBuffer {
			return []vk.DescriptorType{vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER}, array
		}
		return []vk.DescriptorType{vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER}, array
	case spirv.OpTypeImage:
		// Operands: sampled type, dim, depth, arrayed, multisampled, sampled, format.
		dim, sampled := spirv.Dim(t.Operands[1]), t.Operands[5] == 1
		switch {
		case dim == spirv.DimSubpassData:
			return []vk.DescriptorType{vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT}, array
		case dim == spirv.DimBuffer && sampled:
			return []vk.DescriptorType{vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER}, array
		case dim == spirv.DimBuffer:
			return []vk.DescriptorType{vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER}, array
		case sampled:
			return []vk.DescriptorType{vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE, vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER}, array
		}
		return []vk.DescriptorType{vk.DESCRIPTOR_TYPE_STORAGE_IMAGE}, array
	}
	storage := class == spirv.StorageClassStorageBuffer ||
		slices.ContainsFunc(m.Decorations[t.Result],
			func(d spirv.Decoration) bool { return d.Kind == spirv.DecorationBufferBlock })
	if storage {
		return []vk.DescriptorType{vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC}, array
	}
	return []vk.DescriptorType{vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
		vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK}, array
}

// blockRange is where the members of a variable that is a block lie: to the begin of the last one at least.
func blockRange(m *spirv.Module, variable *spirv.Instruction) pushRange {
	t := pointee(m, variable)
	r := pushRange{begin: maxPushConstantsSize}
	for i := range t.Operands {
		offset, _ := operandOf(m.MemberDecorations[t.Result][uint32(i)], spirv.DecorationOffset)
		r.begin, r.end = min(r.begin, offset), max(r.end, offset+minimumSize(m, m.Definitions[t.Operands[i]]))
	}
	return r
}

// minimumSize is the size in bytes of a scalar or a vector; of other types that of their smallest part, the first.
func minimumSize(m *spirv.Module, t *spirv.Instruction) uint32 {
	components := uint32(1)
	for {
		switch t.Op {
		case spirv.OpTypeInt, spirv.OpTypeFloat:
			return components * t.Operands[0] / 8
		case spirv.OpTypePointer:
			return 8
		case spirv.OpTypeVector:
			components = t.Operands[1]
		case spirv.OpTypeMatrix, spirv.OpTypeArray, spirv.OpTypeRuntimeArray:
		default:
			return 0
		}
		t = m.Definitions[t.Operands[0]]
	}
}

// fitRules are the rules for what a shader needs of a pipeline layout.
type fitRules struct{ noPush, push, set, kind, inline, count vk.VUID }

var (
	computeFits = fitRules{
		noPush: vk.VUID_VkComputePipelineCreateInfo_layout_07987, push: vk.VUID_VkComputePipelineCreateInfo_layout_10069,
		set: vk.VUID_VkComputePipelineCreateInfo_layout_07988, kind: vk.VUID_VkComputePipelineCreateInfo_layout_07990,
		inline: vk.VUID_VkComputePipelineCreateInfo_None_10391, count: vk.VUID_VkComputePipelineCreateInfo_layout_07991,
	}
	graphicsFits = fitRules{
		noPush: vk.VUID_VkGraphicsPipelineCreateInfo_layout_07987, push: vk.VUID_VkGraphicsPipelineCreateInfo_layout_10069,
		set: vk.VUID_VkGraphicsPipelineCreateInfo_layout_07988, kind: vk.VUID_VkGraphicsPipelineCreateInfo_layout_07990,
		inline: vk.VUID_VkGraphicsPipelineCreateInfo_None_10391, count: vk.VUID_VkGraphicsPipelineCreateInfo_layout_07991,
	}
)

// fits says whether a pipeline layout has what the shader uses.
func (s *shader) fits(l *pipelineLayout, rules *fitRules) error {
	bit, push := stageBits[s.stage], l.push[s.stage]
	for _, r := range s.push {
		switch {
		case push.end == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, rules.noPush,
				"the shader uses push constants, and the layout has no range of them for %v", bit)
		case r.begin < push.begin || r.end > push.end:
			return vk.Errorf(vk.ERROR_UNKNOWN, rules.push,
				"the shader's push constants are the bytes %d to %d, the layout's range is %d to %d",
				r.begin, r.end, push.begin, push.end)
		}
	}
	for i := range s.resources {
		r := &s.resources[i]
		if int(r.set) >= len(l.sets) || l.sets[r.set] == nil {
			return vk.Errorf(vk.ERROR_UNKNOWN, rules.set, "the shader uses %s, and the layout has %d sets", r, len(l.sets))
		}
		b, ok := l.sets[r.set].Binding(r.binding)
		switch {
		case !ok || b.Count == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, rules.set, "the shader uses %s, and the set's layout has no such binding", r)
		case b.Stages&bit == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, rules.set, "the shader uses %s, and the set's layout has it for %v", r,
				b.Stages)
		case len(r.types) > 0 && !slices.Contains(r.types, b.Type):
			return vk.Errorf(vk.ERROR_UNKNOWN, rules.kind, "%s is %v in the layout, and one of %v in the shader", r, b.Type,
				r.types)
		case b.Type == vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK && r.array:
			return vk.Errorf(vk.ERROR_UNKNOWN, rules.inline, "%s is an array, and an inline uniform block in the layout", r)
		case b.Type != vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK && r.count > b.Count:
			return vk.Errorf(vk.ERROR_UNKNOWN, rules.count, "%s has %d elements in the layout, and %d in the shader", r,
				b.Count, r.count)
		}
	}
	return nil
}
