package icd

import (
	"unsafe"

	"farside/internal/descriptor"
	"farside/internal/vk"
)

// writeOf reads a VkWriteDescriptorSet, which stays the application's memory.
func writeOf(info *vk.WriteDescriptorSet) (descriptor.Write, error) {
	w := descriptor.Write{Binding: info.DstBinding, Element: info.DstArrayElement, Count: info.DescriptorCount, Type: info.DescriptorType}
	size := descriptor.InfoSize(w.Type)
	if size == 0 {
		return w, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkWriteDescriptorSet-descriptorType-parameter", "the device has no descriptors of type %v", w.Type)
	}
	w.Stride = uint64(size)
	var p unsafe.Pointer
	vuid := ""
	switch w.Type {
	case vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
		b := vk.Find[vk.WriteDescriptorSetInlineUniformBlock](info.PNext)
		if b == nil || b.DataSize != w.Count {
			return w, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkWriteDescriptorSet-descriptorType-02221",
				"no VkWriteDescriptorSetInlineUniformBlock has the %d bytes", w.Count)
		}
		p, vuid = b.PData, "VUID-VkWriteDescriptorSetInlineUniformBlock-pData-parameter"
	case vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
		p, vuid = unsafe.Pointer(info.PTexelBufferView), "VUID-VkWriteDescriptorSet-descriptorType-02994"
	case vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
		vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
		p, vuid = unsafe.Pointer(info.PBufferInfo), "VUID-VkWriteDescriptorSet-descriptorType-00324"
	default:
		p, vuid = unsafe.Pointer(info.PImageInfo), "VUID-VkWriteDescriptorSet-descriptorType-02996"
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

func updateDescriptorSetWithTemplate(h vk.Device, set vk.DescriptorSet, template vk.DescriptorUpdateTemplate, data unsafe.Pointer) {
	s := descriptorSets.Get(uint64(set))
	if s == nil {
		staleHandle("vkUpdateDescriptorSetWithTemplate", vk.OBJECT_TYPE_DESCRIPTOR_SET, uint64(set))
		return
	}
	t := descriptorUpdateTemplates.Get(uint64(template))
	if t == nil {
		staleHandle("vkUpdateDescriptorSetWithTemplate", vk.OBJECT_TYPE_DESCRIPTOR_UPDATE_TEMPLATE, uint64(template))
		return
	}
	if t.pushed {
		s.fail("vkUpdateDescriptorSetWithTemplate", set, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-vkUpdateDescriptorSetWithTemplate-descriptorUpdateTemplate-parameter",
			"template %#x is for push descriptors", uint64(template)))
		return
	}
	t.update(set, s, templateData(t.template, data))
}

func cmdPushDescriptorSetWithTemplate(h vk.CommandBuffer, template vk.DescriptorUpdateTemplate, layout vk.PipelineLayout, set uint32, data unsafe.Pointer) {
	record("vkCmdPushDescriptorSetWithTemplate", h, func(b *commandBuffer) error {
		return b.pushWith("vkCmdPushDescriptorSetWithTemplate", template, layout, set, data)
	})
}

// cmdPushDescriptorSetWithTemplate2 is VK_KHR_maintenance6's.
func cmdPushDescriptorSetWithTemplate2(h vk.CommandBuffer, info *vk.PushDescriptorSetWithTemplateInfo) {
	record("vkCmdPushDescriptorSetWithTemplate2", h, func(b *commandBuffer) error {
		return b.pushWith("VkPushDescriptorSetWithTemplateInfo", info.DescriptorUpdateTemplate, info.Layout, info.Set, info.PData)
	})
}

func (b *commandBuffer) pushWith(owner string, template vk.DescriptorUpdateTemplate, layout vk.PipelineLayout, set uint32, data unsafe.Pointer) error {
	t := descriptorUpdateTemplates.Get(uint64(template))
	if t == nil {
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-descriptorUpdateTemplate-parameter", "%#x is no live template", uint64(template))
	}
	return b.pushTemplate(owner, t, layout, set, templateData(t.template, data))
}
