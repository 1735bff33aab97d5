package descriptor

import (
	"cmp"
	"slices"

	"farside/internal/sampling"
	"farside/internal/vk"
)

// Limits of the device that a layout is held to; icd reports them as properties.
const (
	// MaxDescriptors is how many descriptors a set may have, of one type or of all together: 56 MiB of them.
	MaxDescriptors = 1 << 20
	// MaxPushDescriptors is for sets that are pushed, which are recorded with each command.
	MaxPushDescriptors = 256
	// MaxInlineBytes is the size of an inline uniform block, which is memory of the set.
	MaxInlineBytes = 64 << 10
	// MaxInlineBlocks is how many of them a set may have.
	MaxInlineBlocks = 256
)

// Limits are what a device promises of a set's layout.
type Limits struct {
	Descriptors  uint32 // of all types together
	Pushed       uint32 // of a set that is pushed
	InlineBytes  uint32 // of an inline uniform block
	InlineBlocks uint32
}

// Most are the limits of the driver.
var Most = Limits{MaxDescriptors, MaxPushDescriptors, MaxInlineBytes, MaxInlineBlocks}

// Binding is a binding of a layout.
type Binding struct {
	Number    uint32
	Type      vk.DescriptorType
	Count     uint32 // elements; of an inline uniform block its bytes
	Stages    vk.ShaderStageFlags
	Flags     vk.DescriptorBindingFlags
	Immutable []vk.Sampler // one for each element, or none
	// Defined has what each of Immutable is: a pipeline's layout may outlive them.
	Defined []sampling.Definition

	first   uint32 // its first descriptor among those of a set, or its first byte among those of inline uniform blocks
	dynamic uint32 // the index of its first dynamic offset
}

// Variable says whether sets decide how many elements the binding has, Count being the most.
func (b *Binding) Variable() bool {
	return b.Flags&vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT != 0
}

func (b *Binding) inline() bool { return b.Type == vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK }

// Layout is a VkDescriptorSetLayout: its bindings by ascending number. It does not change.
type Layout struct {
	Flags    vk.DescriptorSetLayoutCreateFlags
	Bindings []Binding

	dynamic uint32
}

// NewLayout makes a layout of bindings in any order, which it takes over. It fails, with the VUID, where they break a
// rule of VkDescriptorSetLayoutCreateInfo, and with VK_ERROR_OUT_OF_HOST_MEMORY beyond Most.
func NewLayout(flags vk.DescriptorSetLayoutCreateFlags, bindings []Binding) (*Layout, error) {
	slices.SortFunc(bindings, func(a, b Binding) int { return cmp.Compare(a.Number, b.Number) })
	l := &Layout{Flags: flags, Bindings: bindings}
	for i := range bindings {
		if i > 0 && bindings[i-1].Number == bindings[i].Number {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorSetLayoutCreateInfo_binding_00279,
				"binding %d stands twice", bindings[i].Number)
		}
		if err := l.checkBinding(&bindings[i], i == len(bindings)-1); err != nil {
			return nil, err
		}
	}
	if !l.Within(Most) {
		return nil, vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID,
			"a layout with more descriptors than vkGetDescriptorSetLayoutSupport allows")
	}
	var descriptors, bytes uint32
	for i := range bindings {
		b := &bindings[i]
		b.dynamic = l.dynamic
		if b.inline() {
			b.first = bytes
			bytes += b.Count
			continue
		}
		b.first = descriptors
		descriptors += b.Count
		if Dynamic(b.Type) {
			l.dynamic += b.Count
		}
	}
	return l, nil
}

// checkBinding looks at the rules for one binding; last is the one with the highest number.
func (l *Layout) checkBinding(b *Binding, last bool) error {
	const late = vk.DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT
	pushed := l.Flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT != 0
	invalid := func(vuid vk.VUID, format string, args ...any) error {
		return vk.Errorf(vk.ERROR_UNKNOWN, vuid, "binding %d: "+format, append([]any{b.Number}, args...)...)
	}
	switch {
	case InfoSize(b.Type) == 0 && b.Count > 0:
		return invalid(vk.VUID_VkDescriptorSetLayoutBinding_descriptorType_parameter,
			"the device has no descriptors of type %v", b.Type)
	case pushed && Dynamic(b.Type):
		return invalid(vk.VUID_VkDescriptorSetLayoutCreateInfo_flags_00280, "%v cannot be pushed", b.Type)
	case pushed && b.inline():
		return invalid(vk.VUID_VkDescriptorSetLayoutCreateInfo_flags_02208, "%v cannot be pushed", b.Type)
	case pushed &&
		b.Flags&(late|vk.DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT|
			vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT) != 0:
		return invalid(vk.VUID_VkDescriptorSetLayoutBindingFlagsCreateInfo_flags_03003, "%v of a set that is pushed", b.Flags)
	case b.inline() && b.Count%4 != 0:
		return invalid(vk.VUID_VkDescriptorSetLayoutBinding_descriptorType_02209,
			"an inline uniform block of %d bytes, which is no multiple of 4", b.Count)
	case b.Variable() && !last:
		return invalid(vk.VUID_VkDescriptorSetLayoutBindingFlagsCreateInfo_pBindingFlags_03004,
			"a variable count, and it is not the last binding")
	case b.Variable() && Dynamic(b.Type):
		return invalid(vk.VUID_VkDescriptorSetLayoutBindingFlagsCreateInfo_pBindingFlags_03015, "a variable count of %v",
			b.Type)
	case b.Flags&late != 0 && l.Flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT == 0:
		return invalid(vk.VUID_VkDescriptorSetLayoutCreateInfo_flags_03000,
			"update after bind in a layout without VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT")
	case b.Flags&late != 0 && (Dynamic(b.Type) || b.Type == vk.DESCRIPTOR_TYPE_INPUT_ATTACHMENT):
		return invalid(vk.VUID_VkDescriptorSetLayoutBindingFlagsCreateInfo_None_03011, "update after bind of %v", b.Type)
	case len(b.Immutable) != 0 && (!sampled(b.Type) || uint32(len(b.Immutable)) != b.Count):
		return invalid(vk.VUID_VkDescriptorSetLayoutBinding_descriptorType_00282,
			"%d immutable samplers for %d elements of %v", len(b.Immutable), b.Count, b.Type)
	}
	return nil
}

// Within says whether the bindings stay within what a device promises (VkDescriptorSetLayoutSupport).
func (l *Layout) Within(limits Limits) bool {
	var descriptors, blocks uint64
	for i := range l.Bindings {
		switch b := &l.Bindings[i]; {
		case !b.inline():
			descriptors += uint64(b.Count)
		case b.Count > limits.InlineBytes:
			return false
		case b.Count > 0:
			blocks++
		}
	}
	if l.Flags&vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT != 0 && descriptors > uint64(limits.Pushed) {
		return false
	}
	return descriptors <= uint64(limits.Descriptors) && blocks <= uint64(limits.InlineBlocks)
}

// Binding returns the binding with a number.
func (l *Layout) Binding(number uint32) (*Binding, bool) {
	i, ok := l.find(number)
	if !ok {
		return nil, false
	}
	return &l.Bindings[i], true
}

// find returns where the binding with a number is, or where it would be. Most applications leave no gaps.
func (l *Layout) find(number uint32) (int, bool) {
	if n := int(number); n < len(l.Bindings) && l.Bindings[n].Number == number {
		return n, true
	}
	return slices.BinarySearchFunc(l.Bindings, number, func(b Binding, n uint32) int { return cmp.Compare(b.Number, n) })
}

// Immutable returns the immutable sampler of an element of a binding, or of one of the bindings behind it that an
// update goes on in; false where there is none.
func (l *Layout) Immutable(binding, element uint32) (vk.Sampler, bool) {
	i, ok := l.find(binding)
	if !ok {
		return 0, false
	}
	for ; i < len(l.Bindings); i++ {
		b := &l.Bindings[i]
		if element < b.Count {
			return b.immutable(element)
		}
		element -= b.Count
	}
	return 0, false
}

func (b *Binding) immutable(element uint32) (vk.Sampler, bool) {
	if uint64(element) >= uint64(len(b.Immutable)) {
		return 0, false
	}
	return b.Immutable[element], true
}

// DynamicCount is how many dynamic offsets vkCmdBindDescriptorSets gives for a set of this layout.
func (l *Layout) DynamicCount() uint32 { return l.dynamic }

// DynamicIndex says which of the dynamic offsets of a set is for an element: they are ordered by binding number, then
// by element.
func (l *Layout) DynamicIndex(binding, element uint32) (uint32, bool) {
	b, ok := l.Binding(binding)
	if !ok || !Dynamic(b.Type) || element >= b.Count {
		return 0, false
	}
	return b.dynamic + element, true
}

// Identical says whether two layouts are identically defined, by which pipeline layouts become compatible (chapter
// "Pipeline Layout Compatibility"). The specification wants the same immutable samplers in both; those that are
// identically defined themselves do as well, as the CTS has it.
func (l *Layout) Identical(other *Layout) bool {
	if l == other {
		return true
	}
	return l != nil && other != nil && l.Flags == other.Flags &&
		slices.EqualFunc(l.Bindings, other.Bindings, func(a, b Binding) bool {
			return a.Number == b.Number && a.Type == b.Type && a.Count == b.Count && a.Stages == b.Stages &&
				a.Flags == b.Flags && len(a.Immutable) == len(b.Immutable) && slices.Equal(a.Defined, b.Defined)
		})
}

// MaxVariable is how many elements the binding with a variable count could have at most, beside the others
// (VkDescriptorSetVariableDescriptorCountLayoutSupport); 0 where no binding has one.
func (l *Layout) MaxVariable(limits Limits) uint32 {
	n := len(l.Bindings)
	if n == 0 || !l.Bindings[n-1].Variable() {
		return 0
	}
	last := &l.Bindings[n-1]
	if last.inline() {
		return limits.InlineBytes
	}
	descriptors, _ := l.sizes(0)
	return limits.Descriptors - min(descriptors, limits.Descriptors)
}
