package descriptor

import (
	"testing"

	"farside/internal/sampling"
	"farside/internal/vk"
)

func TestRulesOfLayouts(t *testing.T) {
	const push, late = vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT,
		vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT
	const after, variable = vk.DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT,
		vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT
	const buffer, dynamic, inline = vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
		vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK
	for vuid, c := range map[string]struct {
		flags    vk.DescriptorSetLayoutCreateFlags
		bindings []Binding
	}{
		"VUID-VkDescriptorSetLayoutCreateInfo-binding-00279": {0,
			[]Binding{{Number: 4, Type: buffer, Count: 1}, {Number: 4, Type: buffer, Count: 1}}},
		"VUID-VkDescriptorSetLayoutCreateInfo-flags-00280": {push, []Binding{{Type: dynamic, Count: 1}}},
		"VUID-VkDescriptorSetLayoutCreateInfo-flags-02208": {push, []Binding{{Type: inline, Count: 4}}},
		"VUID-VkDescriptorSetLayoutBindingFlagsCreateInfo-flags-03003": {push | late,
			[]Binding{{Type: buffer, Count: 1, Flags: after}}},
		"VUID-VkDescriptorSetLayoutBinding-descriptorType-02209": {0, []Binding{{Type: inline, Count: 6}}},
		"VUID-VkDescriptorSetLayoutBindingFlagsCreateInfo-pBindingFlags-03004": {0,
			[]Binding{{Number: 0, Type: buffer, Count: 1, Flags: variable}, {Number: 1, Type: buffer, Count: 1}}},
		"VUID-VkDescriptorSetLayoutBindingFlagsCreateInfo-pBindingFlags-03015": {0,
			[]Binding{{Type: dynamic, Count: 1, Flags: variable}}},
		"VUID-VkDescriptorSetLayoutCreateInfo-flags-03000": {0,
			[]Binding{{Type: buffer, Count: 1, Flags: after}}},
		"VUID-VkDescriptorSetLayoutBindingFlagsCreateInfo-None-03011": {late,
			[]Binding{{Type: dynamic, Count: 1, Flags: after}}},
		"VUID-VkDescriptorSetLayoutBinding-descriptorType-00282": {0,
			[]Binding{{Type: vk.DESCRIPTOR_TYPE_SAMPLER, Count: 2, Immutable: make([]vk.Sampler, 1)}}},
		"VUID-VkDescriptorSetLayoutBinding-descriptorType-parameter": {0,
			[]Binding{{Type: vk.DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, Count: 1}}},
		"": {0, []Binding{{Type: buffer, Count: MaxDescriptors}, {Number: 1, Type: buffer, Count: 1}}},
	} {
		_, err := NewLayout(c.flags, c.bindings)
		mustFail(t, err, vuid)
	}
}

func TestWhatIsSupported(t *testing.T) {
	const buffer, inline = vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK
	const push = vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT
	for _, c := range []struct {
		layout Layout
		want   bool
	}{
		{Layout{}, true},
		{Layout{Bindings: []Binding{{Type: buffer, Count: MaxDescriptors}}}, true},
		{Layout{Bindings: []Binding{{Type: buffer, Count: MaxDescriptors + 1}}}, false},
		{Layout{Bindings: []Binding{{Type: buffer, Count: 1<<32 - 1}, {Number: 1, Type: buffer, Count: 1<<32 - 1}}}, false},
		{Layout{Flags: push, Bindings: []Binding{{Type: buffer, Count: MaxPushDescriptors}}}, true},
		{Layout{Flags: push, Bindings: []Binding{{Type: buffer, Count: MaxPushDescriptors + 1}}}, false},
		{Layout{Bindings: []Binding{{Type: inline, Count: MaxInlineBytes}}}, true},
		{Layout{Bindings: []Binding{{Type: inline, Count: MaxInlineBytes + 4}}}, false},
	} {
		if got := c.layout.Within(Most); got != c.want {
			t.Errorf("%+v: %v, want %v", c.layout, got, c.want)
		}
	}
}

func TestIdenticalLayouts(t *testing.T) {
	defined := func(filter vk.Filter, conversion *sampling.ConversionInfo) []sampling.Definition {
		s := sampling.NewSampler(&sampling.SamplerInfo{MagFilter: filter})
		return []sampling.Definition{s.Definition(conversion)}
	}
	make := func(change func(*Layout)) *Layout {
		l := &Layout{Bindings: []Binding{
			{Number: 1, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Count: 1, Immutable: []vk.Sampler{5},
				Defined: defined(vk.FILTER_LINEAR, nil)},
			{Number: 0, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 3, Stages: vk.SHADER_STAGE_COMPUTE_BIT},
		}}
		change(l)
		return layoutOf(t, l.Flags, l.Bindings...)
	}
	base := make(func(*Layout) {})
	same := make(func(l *Layout) { l.Bindings[0], l.Bindings[1] = l.Bindings[1], l.Bindings[0] })
	if !base.Identical(same) || !same.Identical(base) {
		t.Error("the same bindings in another order are another layout")
	}
	alike := make(func(l *Layout) { l.Bindings[0].Immutable = []vk.Sampler{6} })
	if !base.Identical(alike) || !alike.Identical(base) {
		t.Error("another sampler that is defined in the same way makes another layout")
	}
	for name, change := range map[string]func(*Layout){
		"count":    func(l *Layout) { l.Bindings[1].Count = 4 },
		"type":     func(l *Layout) { l.Bindings[1].Type = vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER },
		"number":   func(l *Layout) { l.Bindings[1].Number = 2 },
		"stages":   func(l *Layout) { l.Bindings[1].Stages = vk.SHADER_STAGE_ALL },
		"flags":    func(l *Layout) { l.Bindings[1].Flags = vk.DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT },
		"push":     func(l *Layout) { l.Flags = vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT },
		"samplers": func(l *Layout) { l.Bindings[0].Defined = defined(vk.FILTER_NEAREST, nil) },
		"conversion": func(l *Layout) {
			l.Bindings[0].Defined = defined(vk.FILTER_LINEAR, &sampling.ConversionInfo{})
		},
		"mutable": func(l *Layout) { l.Bindings[0].Immutable, l.Bindings[0].Defined = nil, nil },
		"shorter": func(l *Layout) { l.Bindings = l.Bindings[:1] },
	} {
		if other := make(change); base.Identical(other) || other.Identical(base) {
			t.Errorf("%s does not make another layout", name)
		}
	}
	if base.Identical(nil) || !(*Layout)(nil).Identical(nil) {
		t.Error("no layout is identical with no layout only")
	}
}
