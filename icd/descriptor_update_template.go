package icd

import (
	"farside/internal/descriptor"
	"farside/internal/handle"
	"farside/internal/vk"
)

var descriptorUpdateTemplates = handle.NewTable[descriptorUpdateTemplate](66, "VkDescriptorUpdateTemplate")

// descriptorUpdateTemplate is a VkDescriptorUpdateTemplate.
type descriptorUpdateTemplate struct {
	child
	template *descriptor.Template
	pushed   bool // for push descriptors, not for sets
	point    vk.PipelineBindPoint
	set      uint32
}

func createDescriptorUpdateTemplate(
	d *device, info *vk.DescriptorUpdateTemplateCreateInfo, _ *vk.AllocationCallbacks,
	out *vk.DescriptorUpdateTemplate,
) vk.Result {
	t, err := d.newTemplate(info)
	if err != nil {
		return d.fail("vkCreateDescriptorUpdateTemplate", err)
	}
	*out = vk.DescriptorUpdateTemplate(d.add(t))
	return vk.SUCCESS
}

func (d *device) newTemplate(info *vk.DescriptorUpdateTemplateCreateInfo) (*descriptorUpdateTemplate, error) {
	t := &descriptorUpdateTemplate{child: child{device: d}}
	switch info.TemplateType {
	case vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET:
		if descriptorSetLayouts.Get(uint64(info.DescriptorSetLayout)) == nil {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorUpdateTemplateCreateInfo_templateType_00350,
				"%#x is no live descriptor set layout", uint64(info.DescriptorSetLayout))
		}
	case vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS:
		l := pipelineLayouts.Get(uint64(info.PipelineLayout))
		if l == nil || l.device != d {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorUpdateTemplateCreateInfo_templateType_00352,
				"%#x is no pipeline layout of the device", uint64(info.PipelineLayout))
		}
		if _, err := l.pushSet(info.Set,
			vk.VUID_VkDescriptorUpdateTemplateCreateInfo_templateType_00353,
			vk.VUID_VkDescriptorUpdateTemplateCreateInfo_templateType_00353); err != nil {
			return nil, err
		}
		t.pushed, t.point, t.set = true, info.PipelineBindPoint, info.Set
	default:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorUpdateTemplateCreateInfo_templateType_parameter,
			"%v is no type of a template", info.TemplateType)
	}
	list := vk.Slice(info.PDescriptorUpdateEntries, info.DescriptorUpdateEntryCount)
	entries := make([]descriptor.Entry, len(list))
	for i := range list {
		e := &list[i]
		entries[i] = descriptor.Entry{
			Binding: e.DstBinding, Element: e.DstArrayElement, Count: e.DescriptorCount, Type: e.DescriptorType,
			Offset: uint64(e.Offset), Stride: uint64(e.Stride),
		}
	}
	var err error
	t.template, err = descriptor.NewTemplate(entries)
	return t, err
}

// update makes the writes of the template with the application's data.
func (t *descriptorUpdateTemplate) update(s *descriptorSet, data []byte) {
	for i := range t.template.Len() {
		w := t.template.Write(i, data)
		if err := s.write(&w); err != nil {
			s.fail("vkUpdateDescriptorSetWithTemplate", err)
		}
	}
}
