package icd

import (
	"slices"

	"farside/internal/descriptor"
	"farside/internal/handle"
	"farside/internal/sampling"
	"farside/internal/vk"
)

var descriptorSetLayouts = handle.NewTable[descriptorSetLayout](uint8(vk.OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT),
	"VkDescriptorSetLayout")

// descriptorSetLayout is a VkDescriptorSetLayout. Sets, pipeline layouts and recorded commands keep the layout itself.
type descriptorSetLayout struct {
	child
	layout *descriptor.Layout
}

func createDescriptorSetLayout(
	d *device, info *vk.DescriptorSetLayoutCreateInfo, _ *vk.AllocationCallbacks, out *vk.DescriptorSetLayout,
) vk.Result {
	l, err := d.newLayout(info)
	if err != nil {
		return d.fail("vkCreateDescriptorSetLayout", err)
	}
	*out = vk.DescriptorSetLayout(d.add(&descriptorSetLayout{child: child{device: d}, layout: l}))
	return vk.SUCCESS
}

func (d *device) newLayout(info *vk.DescriptorSetLayoutCreateInfo) (*descriptor.Layout, error) {
	var flags []vk.DescriptorBindingFlags
	if f := vk.Find[vk.DescriptorSetLayoutBindingFlagsCreateInfo](info.PNext); f != nil && f.BindingCount > 0 {
		if f.BindingCount != info.BindingCount {
			return nil, vk.Errorf(vk.ERROR_UNKNOWN, vk.VUID_VkDescriptorSetLayoutBindingFlagsCreateInfo_bindingCount_03002,
				"flags for %d bindings, there are %d", f.BindingCount, info.BindingCount)
		}
		flags = vk.Slice(f.PBindingFlags, f.BindingCount)
	}
	list := vk.Slice(info.PBindings, info.BindingCount)
	bindings := make([]descriptor.Binding, len(list))
	for i := range list {
		from, b := &list[i], &bindings[i]
		*b = descriptor.Binding{Number: from.Binding, Type: from.DescriptorType, Count: from.DescriptorCount,
			Stages: from.StageFlags}
		if i < len(flags) {
			b.Flags = flags[i]
		}
		if b.Type == vk.DESCRIPTOR_TYPE_SAMPLER || b.Type == vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER {
			b.Immutable = slices.Clone(vk.Slice(from.PImmutableSamplers, b.Count)) // ignored for all other types
			b.Defined = definitions(b.Immutable)
		}
	}
	l, err := descriptor.NewLayout(info.Flags, bindings)
	if err == nil && !l.Within(d.physical.limits.descriptors()) {
		return nil, vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID,
			"a layout with more descriptors than the device's limits allow")
	}
	return l, err
}

// definitions returns what samplers are. One that was destroyed in another thread is none.
func definitions(handles []vk.Sampler) []sampling.Definition {
	list := make([]sampling.Definition, len(handles))
	for i, h := range handles {
		if s := samplers.Get(uint64(h)); s != nil {
			list[i] = s.definition()
		}
	}
	return list
}

// getDescriptorSetLayoutSupport makes the layout and drops it.
func getDescriptorSetLayoutSupport(
	d *device, info *vk.DescriptorSetLayoutCreateInfo, out *vk.DescriptorSetLayoutSupport,
) {
	out.Supported = vk.FALSE
	variable := vk.Find[vk.DescriptorSetVariableDescriptorCountLayoutSupport](out.PNext)
	if variable != nil {
		variable.MaxVariableDescriptorCount = 0
	}
	l, err := d.newLayout(info)
	if err != nil {
		if vk.VUIDOf(err) != vk.NoVUID {
			d.fail("vkGetDescriptorSetLayoutSupport", err)
		}
		return
	}
	out.Supported = vk.TRUE
	if variable != nil && d.features["descriptorBindingVariableDescriptorCount"] {
		variable.MaxVariableDescriptorCount = l.MaxVariable(d.physical.limits.descriptors())
	}
}
