package vulkan

import (
	"unsafe"

	"farside/internal/vk"
)

// A Write is a VkWriteDescriptorSet. Data is what describes the descriptors, as C lays it out: structures of image
// infos or buffer infos, buffer views, or the bytes of an inline uniform block.
type Write struct {
	Set              vk.DescriptorSet
	Binding, Element uint32
	Count            uint32
	Type             vk.DescriptorType
	Data             []byte
}

func writesIn(a *Arena, list []Write) *vk.WriteDescriptorSet {
	writes := Make[vk.WriteDescriptorSet](a, len(list))
	for i, x := range list {
		w := &writes[i]
		w.SType = vk.STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET
		w.DstSet, w.DstBinding, w.DstArrayElement, w.DescriptorCount, w.DescriptorType = x.Set, x.Binding, x.Element, x.Count,
			x.Type
		p := unsafe.Pointer(First(copied(a, x.Data)))
		switch x.Type {
		case vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
			b := Struct[vk.WriteDescriptorSetInlineUniformBlock](a)
			b.DataSize, b.PData = uint32(len(x.Data)), p
			w.PNext = unsafe.Pointer(b)
		case vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
			w.PTexelBufferView = (*vk.BufferView)(p)
		case vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
			vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
			w.PBufferInfo = (*vk.DescriptorBufferInfo)(p)
		default:
			w.PImageInfo = (*vk.DescriptorImageInfo)(p)
		}
	}
	return First(writes)
}

// UpdateSets is vkUpdateDescriptorSets.
func (d *Device) UpdateSets(writes []Write, copies ...vk.CopyDescriptorSet) {
	var a Arena
	defer a.Close()
	list := copied(&a, copies)
	for i := range list {
		list[i].SType = vk.STRUCTURE_TYPE_COPY_DESCRIPTOR_SET
	}
	d.Call("vkUpdateDescriptorSets", uintptr(len(writes)), addr(writesIn(&a, writes)), uintptr(len(list)),
		addr(First(list)))
}

// PushSet records vkCmdPushDescriptorSetKHR.
func (d *Device) PushSet(cb vk.CommandBuffer, l vk.PipelineLayout, set uint32, writes ...Write) {
	var a Arena
	defer a.Close()
	d.CallOn("vkCmdPushDescriptorSetKHR", uintptr(cb), uintptr(vk.PIPELINE_BIND_POINT_COMPUTE), uintptr(l), uintptr(set),
		uintptr(len(writes)), addr(writesIn(&a, writes)))
}

// CreateTemplate is vkCreateDescriptorUpdateTemplate for sets of a layout.
func (d *Device) CreateTemplate(l vk.DescriptorSetLayout,
	entries ...vk.DescriptorUpdateTemplateEntry) (vk.DescriptorUpdateTemplate, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.DescriptorUpdateTemplateCreateInfo](&a)
	info.TemplateType, info.DescriptorSetLayout = vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET, l
	return d.createTemplate(&a, info, entries)
}

// CreatePushTemplate is vkCreateDescriptorUpdateTemplate for push descriptors.
func (d *Device) CreatePushTemplate(l vk.PipelineLayout, set uint32,
	entries ...vk.DescriptorUpdateTemplateEntry) (vk.DescriptorUpdateTemplate, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.DescriptorUpdateTemplateCreateInfo](&a)
	info.TemplateType, info.PipelineLayout, info.Set = vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS, l, set
	info.PipelineBindPoint = vk.PIPELINE_BIND_POINT_COMPUTE
	return d.createTemplate(&a, info, entries)
}

func (d *Device) createTemplate(a *Arena, info *vk.DescriptorUpdateTemplateCreateInfo,
	entries []vk.DescriptorUpdateTemplateEntry) (vk.DescriptorUpdateTemplate, vk.Result) {
	info.DescriptorUpdateEntryCount, info.PDescriptorUpdateEntries = uint32(len(entries)), First(copied(a, entries))
	out := New[vk.DescriptorUpdateTemplate](a)
	r := vk.Result(d.Call("vkCreateDescriptorUpdateTemplate", addr(info), 0, addr(out)))
	return *out, r
}

// DestroyTemplate is vkDestroyDescriptorUpdateTemplate.
func (d *Device) DestroyTemplate(t vk.DescriptorUpdateTemplate) {
	d.Call("vkDestroyDescriptorUpdateTemplate", uintptr(t), 0)
}

// UpdateWithTemplate is vkUpdateDescriptorSetWithTemplate.
func (d *Device) UpdateWithTemplate(set vk.DescriptorSet, t vk.DescriptorUpdateTemplate, data []byte) {
	var a Arena
	defer a.Close()
	d.Call("vkUpdateDescriptorSetWithTemplate", uintptr(set), uintptr(t), addr(First(copied(&a, data))))
}

// PushWithTemplate records vkCmdPushDescriptorSetWithTemplateKHR.
func (d *Device) PushWithTemplate(cb vk.CommandBuffer, t vk.DescriptorUpdateTemplate, l vk.PipelineLayout, set uint32,
	data []byte) {
	var a Arena
	defer a.Close()
	d.CallOn("vkCmdPushDescriptorSetWithTemplateKHR", uintptr(cb), uintptr(t), uintptr(l), uintptr(set),
		addr(First(copied(&a, data))))
}

// CreateSizedPool is vkCreateDescriptorPool with room for so many inline uniform blocks beside the sizes, which have
// their bytes.
func (d *Device) CreateSizedPool(flags vk.DescriptorPoolCreateFlags, sets, blocks uint32,
	sizes ...vk.DescriptorPoolSize) (vk.DescriptorPool, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.DescriptorPoolCreateInfo](&a)
	if blocks > 0 {
		b := Struct[vk.DescriptorPoolInlineUniformBlockCreateInfo](&a)
		b.MaxInlineUniformBlockBindings = blocks
		info.PNext = unsafe.Pointer(b)
	}
	info.Flags, info.MaxSets, info.PoolSizeCount, info.PPoolSizes = flags, sets, uint32(len(sizes)),
		First(copied(&a, sizes))
	out := New[vk.DescriptorPool](&a)
	r := vk.Result(d.Call("vkCreateDescriptorPool", addr(info), 0, addr(out)))
	return *out, r
}

// ResetDescriptorPool is vkResetDescriptorPool.
func (d *Device) ResetDescriptorPool(p vk.DescriptorPool) vk.Result {
	return vk.Result(d.Call("vkResetDescriptorPool", uintptr(p), 0))
}

// FreeSets is vkFreeDescriptorSets.
func (d *Device) FreeSets(p vk.DescriptorPool, sets ...vk.DescriptorSet) vk.Result {
	var a Arena
	defer a.Close()
	return vk.Result(d.Call("vkFreeDescriptorSets", uintptr(p), uintptr(len(sets)), addr(First(copied(&a, sets)))))
}

// AllocateVariableSets is vkAllocateDescriptorSets with a variable count for each set.
func (d *Device) AllocateVariableSets(p vk.DescriptorPool, counts []uint32,
	layouts ...vk.DescriptorSetLayout) ([]vk.DescriptorSet, vk.Result) {
	var a Arena
	defer a.Close()
	v := Struct[vk.DescriptorSetVariableDescriptorCountAllocateInfo](&a)
	v.DescriptorSetCount, v.PDescriptorCounts = uint32(len(counts)), First(copied(&a, counts))
	info := Struct[vk.DescriptorSetAllocateInfo](&a)
	info.PNext = unsafe.Pointer(v)
	info.DescriptorPool, info.DescriptorSetCount, info.PSetLayouts = p, uint32(len(layouts)), First(copied(&a, layouts))
	out := Make[vk.DescriptorSet](&a, len(layouts))
	r := vk.Result(d.Call("vkAllocateDescriptorSets", addr(info), addr(First(out))))
	return append([]vk.DescriptorSet(nil), out...), r
}

// SetLayoutSupport is vkGetDescriptorSetLayoutSupport for a layout of one binding; the second value is the most that a
// variable count may be.
func (d *Device) SetLayoutSupport(b Binding) (bool, uint32) {
	var a Arena
	defer a.Close()
	info := Struct[vk.DescriptorSetLayoutCreateInfo](&a)
	list := Make[vk.DescriptorSetLayoutBinding](&a, 1)
	list[0].Binding, list[0].DescriptorType, list[0].DescriptorCount = b.Binding, b.Type, b.Count
	list[0].StageFlags = vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT)
	info.BindingCount, info.PBindings = 1, First(list)
	if b.Flags != 0 {
		x := Struct[vk.DescriptorSetLayoutBindingFlagsCreateInfo](&a)
		x.BindingCount, x.PBindingFlags = 1, Put(&a, b.Flags)
		info.PNext = unsafe.Pointer(x)
	}
	variable := Struct[vk.DescriptorSetVariableDescriptorCountLayoutSupport](&a)
	out := Struct[vk.DescriptorSetLayoutSupport](&a)
	if b.Flags&vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT != 0 {
		out.PNext = unsafe.Pointer(variable)
	}
	d.Call("vkGetDescriptorSetLayoutSupport", addr(info), addr(out))
	return out.Supported == vk.TRUE, variable.MaxVariableDescriptorCount
}

// CreateBufferView is vkCreateBufferView.
func (d *Device) CreateBufferView(b vk.Buffer, f vk.Format, offset, size uint64) (vk.BufferView, vk.Result) {
	var a Arena
	defer a.Close()
	info := Struct[vk.BufferViewCreateInfo](&a)
	info.Buffer, info.Format, info.Offset, info.Range = b, f, offset, size
	out := New[vk.BufferView](&a)
	r := vk.Result(d.Call("vkCreateBufferView", addr(info), 0, addr(out)))
	return *out, r
}

// DestroyBufferView is vkDestroyBufferView.
func (d *Device) DestroyBufferView(v vk.BufferView) { d.Call("vkDestroyBufferView", uintptr(v), 0) }

const allStages = vk.ShaderStageFlags(vk.SHADER_STAGE_ALL)

// BindSets2 records vkCmdBindDescriptorSets2KHR for all stages.
func (d *Device) BindSets2(cb vk.CommandBuffer, l vk.PipelineLayout, first uint32, sets []vk.DescriptorSet,
	offsets ...uint32) {
	var a Arena
	defer a.Close()
	info := Struct[vk.BindDescriptorSetsInfo](&a)
	info.StageFlags, info.Layout, info.FirstSet = allStages, l, first
	info.DescriptorSetCount, info.PDescriptorSets = uint32(len(sets)), First(copied(&a, sets))
	info.DynamicOffsetCount, info.PDynamicOffsets = uint32(len(offsets)), First(copied(&a, offsets))
	d.CallOn("vkCmdBindDescriptorSets2KHR", uintptr(cb), addr(info))
}

// Push2 records vkCmdPushConstants2KHR for shaders of compute.
func (d *Device) Push2(cb vk.CommandBuffer, l vk.PipelineLayout, offset uint32, data []byte) {
	var a Arena
	defer a.Close()
	info := Struct[vk.PushConstantsInfo](&a)
	info.Layout, info.StageFlags = l, vk.ShaderStageFlags(vk.SHADER_STAGE_COMPUTE_BIT)
	info.Offset, info.Size, info.PValues = offset, uint32(len(data)), unsafe.Pointer(First(copied(&a, data)))
	d.CallOn("vkCmdPushConstants2KHR", uintptr(cb), addr(info))
}

// PushSet2 records vkCmdPushDescriptorSet2KHR for all stages.
func (d *Device) PushSet2(cb vk.CommandBuffer, l vk.PipelineLayout, set uint32, writes ...Write) {
	var a Arena
	defer a.Close()
	info := Struct[vk.PushDescriptorSetInfo](&a)
	info.StageFlags, info.Layout, info.Set = allStages, l, set
	info.DescriptorWriteCount, info.PDescriptorWrites = uint32(len(writes)), writesIn(&a, writes)
	d.CallOn("vkCmdPushDescriptorSet2KHR", uintptr(cb), addr(info))
}

// PushWithTemplate2 records vkCmdPushDescriptorSetWithTemplate2KHR.
func (d *Device) PushWithTemplate2(cb vk.CommandBuffer, t vk.DescriptorUpdateTemplate, l vk.PipelineLayout, set uint32,
	data []byte) {
	var a Arena
	defer a.Close()
	info := Struct[vk.PushDescriptorSetWithTemplateInfo](&a)
	info.DescriptorUpdateTemplate, info.Layout, info.Set = t, l, set
	info.PData = unsafe.Pointer(First(copied(&a, data)))
	d.CallOn("vkCmdPushDescriptorSetWithTemplate2KHR", uintptr(cb), addr(info))
}
