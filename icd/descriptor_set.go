package icd

import (
	"fmt"

	"farside/internal/descriptor"
	"farside/internal/vk"
)

// updateDescriptorSets makes all writes, then all copies. One that breaks a rule is reported and changes nothing, the
// others are made.
func updateDescriptorSets(
	_ *device, writeCount uint32, writes *vk.WriteDescriptorSet, copyCount uint32, copies *vk.CopyDescriptorSet,
) {
	for i := range vk.Slice(writes, writeCount) {
		info := &vk.Slice(writes, writeCount)[i]
		s := live(descriptorSets, info.DstSet)
		w, err := writeOf(info)
		if err == nil {
			err = s.write(&w)
		}
		if err != nil {
			s.fail("vkUpdateDescriptorSets", err)
		}
	}
	for i := range vk.Slice(copies, copyCount) {
		info := &vk.Slice(copies, copyCount)[i]
		src, dst := live(descriptorSets, info.SrcSet), live(descriptorSets, info.DstSet)
		if err := dst.set.Copy(src.set, &descriptor.Copy{
			SrcBinding: info.SrcBinding, SrcElement: info.SrcArrayElement,
			DstBinding: info.DstBinding, DstElement: info.DstArrayElement, Count: info.DescriptorCount,
		}); err != nil {
			dst.fail("vkUpdateDescriptorSets", err)
		}
	}
}

// fail reports err as the outcome of command on this set.
func (s *descriptorSet) fail(command string, err error) {
	s.pool.device.failOn(command, err, vk.OBJECT_TYPE_DESCRIPTOR_SET, uint64(s.handle))
}

// write makes one write if what it names exists.
func (s *descriptorSet) write(w *descriptor.Write) error {
	if err := s.pool.device.checkWrite(s.set.Layout(), w); err != nil {
		return err
	}
	return s.set.Write(w)
}

// checkWrite looks at the objects that a write names. Execution looks at them once more, since they may go before.
func (d *device) checkWrite(l *descriptor.Layout, w *descriptor.Write) error {
	size := descriptor.InfoSize(w.Type)
	b, ok := l.Binding(w.Binding)
	if !ok || size <= 1 || !w.Complete() {
		return nil // has no objects, or is going to fail
	}
	sampler := len(b.Immutable) == 0 && (w.Type == vk.DESCRIPTOR_TYPE_SAMPLER ||
		w.Type == vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER)
	for i := range w.Count {
		info := w.Info(i)
		if sampler {
			switch s := samplers.Get(uint64(info.Sampler)); {
			case s == nil:
				return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_00325,
					"%#x is no live sampler", uint64(info.Sampler))
			case s.device != d:
				return foreign(vk.VUID_VkDescriptorImageInfo_commonparent, "sampler", uint64(info.Sampler))
			}
		}
		if err := d.checkInfo(w.Type, info); err != nil {
			return err
		}
		if err := checkConverted(l, w, i, info); err != nil {
			return err
		}
	}
	return nil
}

// foreign says that an object belongs to another device.
func foreign(rule vk.VUID, what string, h uint64) error {
	return vk.Errorf(vk.ERROR_UNKNOWN, rule, "%s %#x belongs to another device", what, h)
}

// checkInfo looks at one descriptor of a write, which may name nothing with the nullDescriptor feature.
func (d *device) checkInfo(t vk.DescriptorType, info descriptor.Descriptor) error {
	null := d.features["nullDescriptor"]
	switch t {
	case vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
		return d.checkBufferInfo(&info, null, &uniformBufferRules, d.physical.limits.MinUniformBufferOffsetAlignment,
			d.physical.limits.MaxUniformBufferRange)
	case vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
		return d.checkBufferInfo(&info, null, &storageBufferRules, d.physical.limits.MinStorageBufferOffsetAlignment,
			d.physical.limits.MaxStorageBufferRange)
	case vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
		switch v := bufferViews.Get(uint64(info.BufferView)); {
		case info.BufferView == 0 && null:
		case info.BufferView == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_02995,
				"a buffer view is VK_NULL_HANDLE, without the nullDescriptor feature")
		case v == nil:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_02994,
				"%#x is no live buffer view", uint64(info.BufferView))
		case v.device != d:
			return foreign(vk.VUID_VkWriteDescriptorSet_commonparent, "buffer view", uint64(info.BufferView))
		}
	case vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE, vk.DESCRIPTOR_TYPE_STORAGE_IMAGE,
		vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
		switch v := imageViews.Get(uint64(info.ImageView)); {
		case info.ImageView == 0 && t == vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_07683,
				"the image view of an input attachment is VK_NULL_HANDLE")
		case info.ImageView == 0 && null:
		case info.ImageView == 0:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_02997,
				"an image view is VK_NULL_HANDLE, without the nullDescriptor feature")
		case v == nil:
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkWriteDescriptorSet_descriptorType_02996,
				"%#x is no live image view", uint64(info.ImageView))
		case v.device != d:
			return foreign(vk.VUID_VkDescriptorImageInfo_commonparent, "image view", uint64(info.ImageView))
		}
	}
	return nil
}

// bufferInfoRules are what a kind of buffer descriptors needs, and the VUIDs that demand it.
type bufferInfoRules struct {
	wants                    vk.BufferUsageFlags
	usage, alignment, ranged vk.VUID
}

var (
	uniformBufferRules = bufferInfoRules{vk.BUFFER_USAGE_UNIFORM_BUFFER_BIT,
		vk.VUID_VkWriteDescriptorSet_descriptorType_00330, vk.VUID_VkWriteDescriptorSet_descriptorType_00327,
		vk.VUID_VkWriteDescriptorSet_descriptorType_00332}
	storageBufferRules = bufferInfoRules{vk.BUFFER_USAGE_STORAGE_BUFFER_BIT,
		vk.VUID_VkWriteDescriptorSet_descriptorType_00331, vk.VUID_VkWriteDescriptorSet_descriptorType_00328,
		vk.VUID_VkWriteDescriptorSet_descriptorType_00333}
)

// checkBufferInfo looks at a VkDescriptorBufferInfo, of which the offset is a multiple of alignment and the range at
// most longest bytes.
func (d *device) checkBufferInfo(
	info *descriptor.Descriptor, null bool, rules *bufferInfoRules, alignment uint64, longest uint32,
) error {
	if info.Buffer == 0 {
		if !null {
			return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorBufferInfo_buffer_02998,
				"the buffer is VK_NULL_HANDLE, without the nullDescriptor feature")
		}
		return nil
	}
	b := buffers.Get(uint64(info.Buffer))
	switch {
	case b == nil:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorBufferInfo_buffer_parameter, "%#x is no live buffer",
			uint64(info.Buffer))
	case b.device != d:
		return foreign(vk.VUID_VkDescriptorBufferInfo_buffer_parameter, "buffer", uint64(info.Buffer))
	}
	if b.usage&rules.wants == 0 && b.excess.Or(uint32(rules.wants))&uint32(rules.wants) == 0 {
		d.warn(rules.usage, fmt.Sprintf("works, but buffer %#x was created without %v", uint64(info.Buffer), rules.wants))
	}
	switch {
	case info.Offset >= b.size:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorBufferInfo_offset_00340,
			"offset %d is not within the buffer of %d bytes", info.Offset, b.size)
	case info.Offset%alignment != 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.alignment, "offset %d is no multiple of %d", info.Offset, alignment)
	case min(info.Range, b.size-info.Offset) > uint64(longest):
		return vk.Errorf(vk.ERROR_UNKNOWN, rules.ranged, "a range of %d bytes is longer than %d",
			min(info.Range, b.size-info.Offset), longest)
	case info.Range == vk.WHOLE_SIZE:
		return nil
	case info.Range == 0:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorBufferInfo_range_00341, "the range is 0")
	case info.Range > b.size-info.Offset:
		return vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorBufferInfo_range_00342,
			"%d bytes from offset %d reach beyond the buffer of %d bytes", info.Range, info.Offset, b.size)
	}
	return nil
}
