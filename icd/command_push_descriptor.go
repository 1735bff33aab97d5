package icd

import (
	"farside/internal/descriptor"
	"farside/internal/vk"
)

// Push descriptors are written down as the writes that they make: templates and layouts may be gone when they are
// executed.

func cmdPushDescriptorSet(
	b *commandBuffer, point vk.PipelineBindPoint, layout vk.PipelineLayout, set, count uint32,
	writes *vk.WriteDescriptorSet,
) {
	b.record("vkCmdPushDescriptorSet", func() error {
		return b.pushDescriptors(&pushRules, point, layout, set, count, writes)
	})
}

// cmdPushDescriptorSet2 is VK_KHR_maintenance6's.
func cmdPushDescriptorSet2(b *commandBuffer, info *vk.PushDescriptorSetInfo) {
	b.record("vkCmdPushDescriptorSet2", func() error {
		return b.eachPoint(info.StageFlags, func(point vk.PipelineBindPoint) error {
			return b.pushDescriptors(&pushRules2, point, info.Layout, info.Set, info.DescriptorWriteCount,
				info.PDescriptorWrites)
		})
	})
}

// descriptorRules are the rules for the arguments of a command that pushes descriptors.
type descriptorRules struct {
	layout, bound, pushed vk.VUID // a layout, which has the set, which is for push descriptors

	empty, writes             vk.VUID // without a template
	template, kind, set, data vk.VUID // with one
}

var (
	pushRules = descriptorRules{
		layout: vk.VUID_vkCmdPushDescriptorSet_layout_parameter,
		bound:  vk.VUID_vkCmdPushDescriptorSet_set_00364,
		pushed: vk.VUID_vkCmdPushDescriptorSet_set_00365,
		empty:  vk.VUID_vkCmdPushDescriptorSet_descriptorWriteCount_arraylength,
		writes: vk.VUID_vkCmdPushDescriptorSet_pDescriptorWrites_parameter,
	}
	pushRules2 = descriptorRules{
		layout: vk.VUID_VkPushDescriptorSetInfo_layout_parameter,
		bound:  vk.VUID_VkPushDescriptorSetInfo_set_00364,
		pushed: vk.VUID_VkPushDescriptorSetInfo_set_00365,
		empty:  vk.VUID_VkPushDescriptorSetInfo_descriptorWriteCount_arraylength,
		writes: vk.VUID_VkPushDescriptorSetInfo_pDescriptorWrites_parameter,
	}
	templateRules = descriptorRules{
		layout:   vk.VUID_vkCmdPushDescriptorSetWithTemplate_layout_parameter,
		bound:    vk.VUID_vkCmdPushDescriptorSetWithTemplate_set_07304,
		pushed:   vk.VUID_vkCmdPushDescriptorSetWithTemplate_set_07305,
		template: vk.VUID_vkCmdPushDescriptorSetWithTemplate_descriptorUpdateTemplate_parameter,
		kind:     vk.VUID_vkCmdPushDescriptorSetWithTemplate_descriptorUpdateTemplate_07994,
		set:      vk.VUID_vkCmdPushDescriptorSetWithTemplate_set_07995,
		data:     vk.VUID_vkCmdPushDescriptorSetWithTemplate_pData_01686,
	}
	templateRules2 = descriptorRules{
		layout:   vk.VUID_VkPushDescriptorSetWithTemplateInfo_layout_parameter,
		bound:    vk.VUID_VkPushDescriptorSetWithTemplateInfo_set_07304,
		pushed:   vk.VUID_VkPushDescriptorSetWithTemplateInfo_set_07305,
		template: vk.VUID_VkPushDescriptorSetWithTemplateInfo_descriptorUpdateTemplate_parameter,
		kind:     vk.VUID_VkPushDescriptorSetWithTemplateInfo_descriptorUpdateTemplate_07994,
		set:      vk.VUID_VkPushDescriptorSetWithTemplateInfo_set_07995,
		data:     vk.VUID_VkPushDescriptorSetWithTemplateInfo_pData_01686,
	}
)

// pushSet returns the layout of the set that push descriptors make. bound and pushed are the VUIDs for a number that
// the layout has not, and for a set that is bound in the usual way.
func (l *pipelineLayout) pushSet(set uint32, bound, pushed vk.VUID) (*descriptor.Layout, error) {
	switch {
	case set >= uint32(len(l.sets)):
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, bound, "the pipeline layout has %d sets, there is no number %d", len(l.sets),
			set)
	case l.sets[set] == nil || l.sets[set].Flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT == 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, pushed, "the layout of set %d is not for push descriptors", set)
	}
	return l.sets[set], nil
}

// pushLayout finds the layout of the set that is pushed to.
func (b *commandBuffer) pushLayout(rules *descriptorRules, layout vk.PipelineLayout, set uint32) (*descriptor.Layout,
	error) {
	l := pipelineLayouts.Get(uint64(layout))
	if l == nil || l.device != b.pool.device {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, rules.layout, "%#x is no pipeline layout of the device", uint64(layout))
	}
	return l.pushSet(set, rules.bound, rules.pushed)
}

// pushDescriptors records vkCmdPushDescriptorSet.
func (b *commandBuffer) pushDescriptors(
	rules *descriptorRules, point vk.PipelineBindPoint, layout vk.PipelineLayout, set, count uint32,
	writes *vk.WriteDescriptorSet,
) error {
	infos, err := elements(writes, count, rules.empty, rules.writes)
	if err != nil {
		return err
	}
	l, err := b.pushLayout(rules, layout, set)
	if err != nil {
		return err
	}
	var room [8]descriptor.Write
	list := room[:0]
	for i := range infos {
		// A write to immutable samplers is ignored, even without an array of samplers: the layout has them.
		if at, ok := l.Binding(infos[i].DstBinding); ok && at.Type == vk.DESCRIPTOR_TYPE_SAMPLER && len(at.Immutable) > 0 {
			continue
		}
		w, err := writeOf(&infos[i])
		if err != nil {
			return err
		}
		if err := b.checkPush(l, &w); err != nil {
			return err
		}
		list = append(list, w)
	}
	return b.stream.PushDescriptorSet(point, l, set, list)
}

// checkPush looks at a write that is pushed to a set of layout l.
func (b *commandBuffer) checkPush(l *descriptor.Layout, w *descriptor.Write) error {
	if err := b.pool.device.checkWrite(l, w); err != nil {
		return err
	}
	return l.Check(w)
}

// pushTemplate records what a template pushes, with data of the template's size.
func (b *commandBuffer) pushTemplate(
	rules *descriptorRules, t *descriptorUpdateTemplate, layout vk.PipelineLayout, set uint32, data []byte,
) error {
	switch {
	case !t.pushed:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.kind, "the template is for descriptor sets")
	case t.set != set:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.set, "set %d, the template is for set %d", set, t.set)
	case data == nil && t.template.Size() > 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.data, "pData is NULL")
	}
	l, err := b.pushLayout(rules, layout, set)
	if err != nil {
		return err
	}
	var room [8]descriptor.Write
	list := room[:0]
	for i := range t.template.Len() {
		w := t.template.Write(i, data)
		if err := b.checkPush(l, &w); err != nil {
			return err
		}
		list = append(list, w)
	}
	return b.stream.PushDescriptorSet(t.point, l, set, list)
}
