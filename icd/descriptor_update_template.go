package icd

import (
	"farside/internal/descriptor"
	"farside/internal/handle"
	"farside/internal/vk"
)

var descriptorUpdateTemplates = handle.NewTable[descriptorUpdateTemplate](66, "VkDescriptorUpdateTemplate")

// descriptorUpdateTemplate is a VkDescriptorUpdateTemplate.
type descriptorUpdateTemplate struct {
	device   *device
	template *descriptor.Template
	pushed   bool // for push descriptors, not for sets
	point    vk.PipelineBindPoint
	set      uint32
}

func createDescriptorUpdateTemplate(h vk.Device, info *vk.DescriptorUpdateTemplateCreateInfo, _ *vk.AllocationCallbacks, out *vk.DescriptorUpdateTemplate) vk.Result {
	*out = 0
	d := devices.Get(uintptr(h))
	if d == nil {
		return staleHandle("vkCreateDescriptorUpdateTemplate", vk.OBJECT_TYPE_DEVICE, uint64(h))
	}
	t, err := d.newTemplate(info)
	if err != nil {
		return d.fail("vkCreateDescriptorUpdateTemplate", err)
	}
	*out = vk.DescriptorUpdateTemplate(descriptorUpdateTemplates.Insert(t))
	d.created(vk.OBJECT_TYPE_DESCRIPTOR_UPDATE_TEMPLATE, uint64(*out))
	return vk.SUCCESS
}

func (d *device) newTemplate(info *vk.DescriptorUpdateTemplateCreateInfo) (*descriptorUpdateTemplate, error) {
	t := &descriptorUpdateTemplate{device: d}
	switch info.TemplateType {
	case vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET:
		if descriptorSetLayouts.Get(uint64(info.DescriptorSetLayout)) == nil {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkDescriptorUpdateTemplateCreateInfo-templateType-00350",
				"%#x is no live descriptor set layout", uint64(info.DescriptorSetLayout))
		}
	case vk.DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS:
		l := pipelineLayouts.Get(uint64(info.PipelineLayout))
		if l == nil || l.device != d {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkDescriptorUpdateTemplateCreateInfo-templateType-00352",
				"%#x is no pipeline layout of the device", uint64(info.PipelineLayout))
		}
		if _, err := l.pushSet(info.Set, "VkDescriptorUpdateTemplateCreateInfo-templateType-00353", "VkDescriptorUpdateTemplateCreateInfo-templateType-00353"); err != nil {
			return nil, err
		}
		t.pushed, t.point, t.set = true, info.PipelineBindPoint, info.Set
	default:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-VkDescriptorUpdateTemplateCreateInfo-templateType-parameter", "%v is no type of a template", info.TemplateType)
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
func (t *descriptorUpdateTemplate) update(h vk.DescriptorSet, s *descriptorSet, data []byte) {
	for i := range t.template.Len() {
		w := t.template.Write(i, data)
		if err := s.write(&w); err != nil {
			s.fail("vkUpdateDescriptorSetWithTemplate", h, err)
		}
	}
}

func destroyDescriptorUpdateTemplate(h vk.Device, handle vk.DescriptorUpdateTemplate, _ *vk.AllocationCallbacks) {
	if handle == 0 {
		return
	}
	t := descriptorUpdateTemplates.Remove(uint64(handle))
	if t == nil {
		staleHandle("vkDestroyDescriptorUpdateTemplate", vk.OBJECT_TYPE_DESCRIPTOR_UPDATE_TEMPLATE, uint64(handle))
		return
	}
	t.device.destroyed(vk.OBJECT_TYPE_DESCRIPTOR_UPDATE_TEMPLATE, uint64(handle))
}
