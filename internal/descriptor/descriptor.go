// Package descriptor holds descriptor set layouts, sets and what is written to them. Descriptors name resources by
// their handles; who executes looks these up.
package descriptor

import "farside/internal/vk"

// Binding is a binding of a layout.
type Binding struct {
	Number    uint32
	Type      vk.DescriptorType
	Count     uint32 // elements; of an inline uniform block its bytes
	Flags     vk.DescriptorBindingFlags
	Immutable []vk.Sampler
}

// Layout is a VkDescriptorSetLayout: its bindings by ascending number.
type Layout struct {
	Flags    vk.DescriptorSetLayoutCreateFlags
	Bindings []Binding
}

// Descriptor is one element of a binding of a set; the zero value was not written. Which members count depends on the
// binding's type.
type Descriptor struct {
	Buffer        vk.Buffer
	Offset, Range uint64 // Range may be VK_WHOLE_SIZE
	BufferView    vk.BufferView
	ImageView     vk.ImageView
	ImageLayout   vk.ImageLayout
	Sampler       vk.Sampler // the immutable one where the layout has it
	Inline        []byte     // all of an inline uniform block, at element 0
}
