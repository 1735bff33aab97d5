// Package descriptor holds descriptor set layouts, sets and what is written to them. Descriptors name resources by
// their handles; who executes looks these up.
//
// A set is an array of descriptors and one of bytes, made once with the set: a descriptor is a fixed slot, which
// nothing moves and no lock guards. So threads may update different descriptors of a set while queues read others, as
// update-after-bind and update-unused-while-pending allow (chapter "Resource Descriptors").
package descriptor

import (
	"encoding/binary"

	"farside/internal/vk"
)

// Descriptor is one element of a binding of a set; the zero value was not written. Which members count depends on the
// binding's type.
type Descriptor struct {
	Buffer        vk.Buffer
	Offset, Range uint64 // Range may be VK_WHOLE_SIZE
	BufferView    vk.BufferView
	ImageView     vk.ImageView
	Sampler       vk.Sampler // the immutable one where the layout has it
	ImageLayout   vk.ImageLayout
}

// The sizes, in bytes, of what the application describes a descriptor with.
const (
	imageInfoSize  = 24 // VkDescriptorImageInfo: sampler, imageView, imageLayout
	bufferInfoSize = 24 // VkDescriptorBufferInfo: buffer, offset, range
	bufferViewSize = 8  // VkBufferView
)

// InfoSize is the number of bytes that describe one descriptor of type t to a write or a template: those of a
// VkDescriptorImageInfo, a VkDescriptorBufferInfo or a VkBufferView, 1 for inline uniform blocks, whose elements
// are bytes, and 0 for types that no binding can have here.
func InfoSize(t vk.DescriptorType) int {
	switch t {
	case vk.DESCRIPTOR_TYPE_SAMPLER, vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE,
		vk.DESCRIPTOR_TYPE_STORAGE_IMAGE, vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
		return imageInfoSize
	case vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
		vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
		return bufferInfoSize
	case vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
		return bufferViewSize
	case vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK:
		return 1
	}
	return 0
}

// Dynamic says whether descriptors of type t take an offset when they are bound.
func Dynamic(t vk.DescriptorType) bool {
	return t == vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC || t == vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
}

func sampled(t vk.DescriptorType) bool {
	return t == vk.DESCRIPTOR_TYPE_SAMPLER || t == vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
}

// decode reads what describes a descriptor of type t: only the members that the type has, since others may be garbage
// (VkWriteDescriptorSet). info has InfoSize(t) bytes.
func decode(t vk.DescriptorType, info []byte) (d Descriptor) {
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(info[8*i:]) }
	switch t {
	case vk.DESCRIPTOR_TYPE_SAMPLER:
		d.Sampler = vk.Sampler(word(0))
	case vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
		d.Sampler = vk.Sampler(word(0))
		fallthrough
	case vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE, vk.DESCRIPTOR_TYPE_STORAGE_IMAGE, vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
		d.ImageView = vk.ImageView(word(1))
		d.ImageLayout = vk.ImageLayout(binary.NativeEndian.Uint32(info[16:]))
	case vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
		vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
		d.Buffer, d.Offset, d.Range = vk.Buffer(word(0)), word(1), word(2)
	case vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
		d.BufferView = vk.BufferView(word(0))
	}
	return d
}
