package icd

import (
	"unsafe"

	"farside/internal/descriptor"
	"farside/internal/vk"
)

// writeOf reads a VkWriteDescriptorSet, which stays the application's memory.
func writeOf(info *vk.WriteDescriptorSet) (descriptor.Write, error) {
	w := descriptor.Write{Binding: info.DstBinding, Element: info.DstArrayElement, Count: info.DescriptorCount,
		Type: info.DescriptorType}
	size := descriptor.InfoSize(w.Type)
	if size == 0 {
		return w, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_parameter,
			"the device has no descriptors of type %v", w.Type)
	}
	w.Stride = uint64(size)
	var p unsafe.Pointer
	var vuid vk.VUID
	switch w.Type {
	case vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
		b := vk.Find[vk.WriteDescriptorSetInlineUniformBlock](info.PNext)
		if b == nil || b.DataSize != w.Count {
			return w, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_02221,
				"no VkWriteDescriptorSetInlineUniformBlock has the %d bytes", w.Count)
		}
		p, vuid = b.PData, vk.VUID_VkWriteDescriptorSetInlineUniformBlock_pData_parameter
	case vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
		p, vuid = unsafe.Pointer(info.PTexelBufferView), vk.VUID_VkWriteDescriptorSet_descriptorType_02994
	case vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
		vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
		p, vuid = unsafe.Pointer(info.PBufferInfo), vk.VUID_VkWriteDescriptorSet_descriptorType_00324
	default:
		p, vuid = unsafe.Pointer(info.PImageInfo), vk.VUID_VkWriteDescriptorSet_descriptorType_02996
	}
	if p == nil && w.Count > 0 {
		return w, vk.Errorf(vk.ERROR_UNKNOWN, vuid, "nothing describes the %d of %v: the pointer is NULL", w.Count, w.Type)
	}
	w.Data = vk.Slice((*byte)(p), uint64(w.Count)*uint64(size))
	return w, nil
}

// templateData is what an update with a template looks at.
func templateData(t *descriptor.Template, data unsafe.Pointer) []byte {
	return vk.Slice((*byte)(data), uint64(t.Size()))
}

func updateDescriptorSetWithTemplate(
	_ *device, s *descriptorSet, t *descriptorUpdateTemplate, data unsafe.Pointer,
) {
	if t.pushed {
		s.fail("vkUpdateDescriptorSetWithTemplate",
			vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_vkUpdateDescriptorSetWithTemplate_descriptorUpdateTemplate_parameter,
				"template %#x is for push descriptors", t.handle))
		return
	}
	t.update(s, templateData(t.template, data))
}

func cmdPushDescriptorSetWithTemplate(
	b *commandBuffer, template vk.DescriptorUpdateTemplate, layout vk.PipelineLayout, set uint32,
	data unsafe.Pointer,
) {
	b.record("vkCmdPushDescriptorSetWithTemplate", func() error {
		return b.pushWith(&templateRules, template, layout, set, data)
	})
}

// cmdPushDescriptorSetWithTemplate2 is VK_KHR_maintenance6's.
func cmdPushDescriptorSetWithTemplate2(b *commandBuffer, info *vk.PushDescriptorSetWithTemplateInfo) {
	b.record("vkCmdPushDescriptorSetWithTemplate2", func() error {
		return b.pushWith(&templateRules2, info.DescriptorUpdateTemplate, info.Layout, info.Set, info.PData)
	})
}

func (b *commandBuffer) pushWith(
	rules *descriptorRules, template vk.DescriptorUpdateTemplate, layout vk.PipelineLayout, set uint32,
	data unsafe.Pointer,
) error {
	t := descriptorUpdateTemplates.Get(uint64(template))
	if t == nil || t.device != b.owner() {
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.template, "%#x is no template of the device", uint64(template))
	}
	return b.pushTemplate(rules, t, layout, set, templateData(t.template, data))
}
