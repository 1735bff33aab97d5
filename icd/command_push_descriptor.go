package icd

import (
	"farside/internal/descriptor"
	"farside/internal/vk"
)

// Push descriptors are written down as the writes that they make: templates and layouts may be gone when they are
// executed.

func cmdPushDescriptorSet(h vk.CommandBuffer, point vk.PipelineBindPoint, layout vk.PipelineLayout, set, count uint32, writes *vk.WriteDescriptorSet) {
	record("vkCmdPushDescriptorSet", h, func(b *commandBuffer) error {
		return b.pushDescriptors("vkCmdPushDescriptorSet", point, layout, set, count, writes)
	})
}

// cmdPushDescriptorSet2 is VK_KHR_maintenance6's. Stages other than compute have no shaders that could use the descriptors.
func cmdPushDescriptorSet2(h vk.CommandBuffer, info *vk.PushDescriptorSetInfo) {
	record("vkCmdPushDescriptorSet2", h, func(b *commandBuffer) error {
		if info.StageFlags&vk.SHADER_STAGE_COMPUTE_BIT == 0 {
			return nil
		}
		return b.pushDescriptors("VkPushDescriptorSetInfo", vk.PIPELINE_BIND_POINT_COMPUTE, info.Layout, info.Set, info.DescriptorWriteCount, info.PDescriptorWrites)
	})
}

// pushSet returns the layout of the set that push descriptors make. bound and pushed are the VUIDs for a number that the
// layout has not, and for a set that is bound in the usual way.
func (l *pipelineLayout) pushSet(set uint32, bound, pushed string) (*descriptor.Layout, error) {
	switch {
	case set >= uint32(len(l.sets)):
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+bound, "the pipeline layout has %d sets, there is no number %d", len(l.sets), set)
	case l.sets[set] == nil || l.sets[set].Flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT == 0:
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+pushed, "the layout of set %d is not for push descriptors", set)
	}
	return l.sets[set], nil
}

// pushLayout finds the layout of the set that is pushed to; owner is the command or structure that its arguments belong to.
func (b *commandBuffer) pushLayout(owner string, layout vk.PipelineLayout, set uint32, bound, pushed string) (*descriptor.Layout, error) {
	l := pipelineLayouts.Get(uint64(layout))
	if l == nil || l.device != b.pool.device {
		return nil, vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-layout-parameter", "%#x is no pipeline layout of the device", uint64(layout))
	}
	return l.pushSet(set, owner+"-"+bound, owner+"-"+pushed)
}

// pushDescriptors records vkCmdPushDescriptorSet.
func (b *commandBuffer) pushDescriptors(owner string, point vk.PipelineBindPoint, layout vk.PipelineLayout, set, count uint32, writes *vk.WriteDescriptorSet) error {
	infos, err := elements(owner, "descriptorWrite", writes, count)
	if err != nil {
		return err
	}
	l, err := b.pushLayout(owner, layout, set, "set-00364", "set-00365")
	if err != nil {
		return err
	}
	var room [8]descriptor.Write
	list := room[:0]
	for i := range infos {
		// What is said about immutable samplers is ignored, even if it is nothing: they are those of the layout.
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
func (b *commandBuffer) pushTemplate(owner string, t *descriptorUpdateTemplate, layout vk.PipelineLayout, set uint32, data []byte) error {
	switch {
	case !t.pushed:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-descriptorUpdateTemplate-07994", "the template is for descriptor sets")
	case t.set != set:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-set-07995", "set %d, the template is for set %d", set, t.set)
	case data == nil && t.template.Size() > 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, "VUID-"+owner+"-pData-01686", "pData is NULL")
	}
	l, err := b.pushLayout(owner, layout, set, "set-07304", "set-07305")
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
