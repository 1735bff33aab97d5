package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A randomBinding is a binding of a random set, and what is in it.
type randomBinding struct {
	vulkan.Binding
	k *bindingKind
	n int // descriptors
	t *things
}

// A randomLayout is sets of random bindings; behind them is one with the result at binding 0 and a sampler at binding
// 1.
type randomLayout struct {
	sets   [][]*randomBinding
	pushed int // the number of the set that is pushed, or -1
}

// randomSets makes up sets within what every device has.
func randomSets(rng *rand.Rand, push bool, flags vk.DescriptorBindingFlags) *randomLayout {
	l := &randomLayout{pushed: -1}
	// How many descriptors of each kind all sets together may have: lavapipe's limits are low, and it counts inline
	// uniform blocks as uniform buffers.
	left := map[vk.DescriptorType]int{
		vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER: 4, vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC: 4,
		vk.DESCRIPTOR_TYPE_STORAGE_BUFFER:         6,
		vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC: 4, vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER: 4,
		vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER: 4,
		vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE:        4, vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER: 4,
		vk.DESCRIPTOR_TYPE_STORAGE_IMAGE:        4,
		vk.DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK: 2,
	}
	count := 1 + rng.IntN(6)
	if push {
		l.pushed = rng.IntN(count)
	}
	for s := range count {
		var set []*randomBinding
		number := uint32(rng.IntN(3))
		for range rng.IntN(6) {
			k := &bindingKinds[rng.IntN(len(bindingKinds))]
			number += 1 + uint32(rng.IntN(4))/3*uint32(rng.IntN(20))
			n := 1 + rng.IntN(3)
			take := n
			if k.unit > 1 {
				take = 1
			}
			if left[k.t] < take || (s == l.pushed || flags != 0) && k.dynamic() || s == l.pushed && k.unit > 1 {
				continue
			}
			left[k.t] -= take
			set = append(set,
				&randomBinding{Binding: vulkan.Binding{Binding: number, Type: k.t, Count: uint32(n * k.unit), Flags: flags}, k: k,
					n: n})
		}
		l.sets = append(l.sets, set)
	}
	return l
}

// shader reads every descriptor and writes the values one behind the other.
func (l *randomLayout) shader() string {
	var declare, read strings.Builder
	last := len(l.sets)
	fmt.Fprintf(&declare,
		"#version 450\n#extension GL_EXT_samplerless_texture_functions : require\nlayout(local_size_x = 1) in;\n")
	fmt.Fprintf(&declare,
		"layout(std430, set = %d, binding = 0) buffer Out { uint result[]; };\nlayout(set = %d, binding = 1) uniform "+
			"sampler how;\n", last, last)
	at := 0
	for s, set := range l.sets {
		for _, b := range set {
			name := fmt.Sprintf("d_%d_%d", s, b.Binding.Binding)
			where := fmt.Sprintf("set = %d, binding = %d", s, b.Binding.Binding)
			dim := fmt.Sprintf("[%d]", b.n)
			format := ""
			switch b.k.kind {
			case 0:
				fmt.Fprintf(&declare, "layout(std140, %s) uniform U%s { uvec4 v; } %s%s;\n", where, name, name, dim)
				format = name + "[%d].v.x"
			case 1:
				fmt.Fprintf(&declare, "layout(std430, %s) readonly buffer U%s { uint v[]; } %s%s;\n", where, name, name, dim)
				format = name + "[%d].v[0]"
			case 2:
				fmt.Fprintf(&declare, "layout(%s) uniform utextureBuffer %s%s;\n", where, name, dim)
				format = "texelFetch(" + name + "[%d], 0).x"
			case 3:
				fmt.Fprintf(&declare, "layout(%s, r32ui) uniform readonly uimageBuffer %s%s;\n", where, name, dim)
				format = "imageLoad(" + name + "[%d], 0).x"
			case 4:
				fmt.Fprintf(&declare, "layout(std140, %s) uniform U%s { uvec4 v%s; } %s;\n", where, name, dim, name)
				format = name + ".v[%d].x"
			case 5:
				fmt.Fprintf(&declare, "layout(%s) uniform utexture2D %s%s;\n", where, name, dim)
				format = "texelFetch(usampler2D(" + name + "[%d], how), ivec2(1), 0).x"
			case 6:
				fmt.Fprintf(&declare, "layout(%s) uniform usampler2D %s%s;\n", where, name, dim)
				format = "textureLod(" + name + "[%d], vec2(0.3), 0.0).x"
			case 7:
				fmt.Fprintf(&declare, "layout(%s, r32ui) uniform readonly uimage2D %s%s;\n", where, name, dim)
				format = "imageLoad(" + name + "[%d], ivec2(2)).x"
			}
			for e := range b.n {
				fmt.Fprintf(&read, "\tresult[%d] = "+format+";\n", at, e)
				at++
			}
		}
	}
	return declare.String() + "void main() {\n" + read.String() + "}\n"
}

// run makes everything, dispatches once, and compares. late updates the sets after they were bound.
func (l *randomLayout) run(c *Case, rng *rand.Rand, seed uint64, late bool) {
	var frees []func()
	defer func() {
		for _, free := range slices.Backward(frees) {
			free()
		}
	}()
	var want []uint32
	var offsets []uint32
	sizes := []vk.DescriptorPoolSize{{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, DescriptorCount: 1},
		{Type: vk.DESCRIPTOR_TYPE_SAMPLER, DescriptorCount: 1}}
	blocks := uint32(0)
	var layouts []vk.DescriptorSetLayout
	layoutFlags, poolFlags := vk.DescriptorSetLayoutCreateFlags(0), vk.DescriptorPoolCreateFlags(0)
	if late {
		layoutFlags = vk.DescriptorSetLayoutCreateFlags(vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT)
		poolFlags = vk.DescriptorPoolCreateFlags(vk.DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT)
	}
	for s, set := range l.sets {
		var bindings []vulkan.Binding
		for _, b := range set {
			b.t = c.things(b.k, b.n, seed*1000+uint64(s)*100+uint64(b.Binding.Binding))
			frees = append(frees, b.t.free)
			want = append(want, b.t.values...)
			offsets = append(offsets, b.t.offsets...)
			bindings = append(bindings, b.Binding)
			if s != l.pushed {
				sizes = append(sizes, vk.DescriptorPoolSize{Type: b.Type, DescriptorCount: b.Count})
			}
			if b.k.unit > 1 {
				blocks++
			}
		}
		rng.Shuffle(len(bindings), func(i, j int) { bindings[i], bindings[j] = bindings[j], bindings[i] })
		flags := layoutFlags
		if s == l.pushed {
			flags = vk.DescriptorSetLayoutCreateFlags(vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT)
		}
		h, r := c.dev.CreateSetLayout(flags, bindings...)
		c.must("vkCreateDescriptorSetLayout", r)
		layouts = append(layouts, h)
	}
	last, r := c.dev.CreateSetLayout(0, vulkan.Binding{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1},
		vulkan.Binding{Binding: 1, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Count: 1})
	c.must("vkCreateDescriptorSetLayout", r)
	layouts = append(layouts, last)
	for _, h := range layouts {
		frees = append(frees, func() { c.dev.DestroySetLayout(h) })
	}
	layout, r := c.dev.CreatePipelineLayout(0, layouts...)
	c.must("vkCreatePipelineLayout", r)
	frees = append(frees, func() { c.dev.DestroyPipelineLayout(layout) })
	module,
		r := c.dev.CreateShaderModule(c.compile(shaders.Source{Name: fmt.Sprintf("sets%d.comp", seed), Text: l.shader()}))
	c.must("vkCreateShaderModule", r)
	frees = append(frees, func() { c.dev.DestroyShaderModule(module) })
	pipeline, r := c.dev.CreateComputePipeline(vulkan.PipelineConfig{Module: module, Layout: layout})
	c.must("vkCreateComputePipelines", r)
	frees = append(frees, func() { c.dev.DestroyPipeline(pipeline) })
	pool, r := c.dev.CreateSizedPool(poolFlags, uint32(len(layouts)), blocks, sizes...)
	c.must("vkCreateDescriptorPool", r)
	frees = append(frees, func() { c.dev.DestroyDescriptorPool(pool) })

	sets := make([]vk.DescriptorSet, len(layouts))
	writes := make([][]vulkan.Write, len(layouts))
	for s, h := range layouts {
		if s != l.pushed {
			one, r := c.dev.AllocateSets(pool, h)
			c.must("vkAllocateDescriptorSets", r)
			sets[s] = one[0]
		}
		if s == len(l.sets) {
			break
		}
		for _, b := range l.sets[s] {
			writes[s] = append(writes[s], vulkan.Write{Set: sets[s], Binding: b.Binding.Binding, Count: b.Count, Type: b.Type,
				Data: b.t.data(0, b.n)})
		}
	}
	values := make([]uint32, len(want)+1)
	result := c.shaderBuffer(values, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
	frees = append(frees, result.free)
	sampler := c.nearest()
	frees = append(frees, func() { c.dev.Call("vkDestroySampler", uintptr(sampler), 0) })
	c.dev.WriteSet(sets[len(l.sets)], vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
		Buffer: vk.DescriptorBufferInfo{Buffer: result.buffer}},
		vulkan.Descriptor{Binding: 1, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Image: vk.DescriptorImageInfo{Sampler: sampler}})
	update := func() {
		for s := range l.sets {
			if s != l.pushed && len(writes[s]) > 0 {
				c.dev.UpdateSets(writes[s])
			}
		}
	}
	if !late {
		update()
	}
	c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
		c.dev.BindCompute(cb, pipeline)
		first := 0
		if l.pushed >= 0 {
			l.bind(c, cb, layout, 0, sets[:l.pushed])
			first = l.pushed + 1
			if len(writes[l.pushed]) > 0 {
				c.dev.PushSet(cb, layout, uint32(l.pushed), writes[l.pushed]...)
			}
			l.bind(c, cb, layout, first, sets[first:])
		} else {
			c.dev.BindSets(cb, layout, 0, sets, offsets...)
		}
		if late {
			update()
		}
		c.dev.Dispatch(cb, 1, 1, 1)
		c.dev.Barrier(cb)
	}))
	result.download()
	wantSlice(c, fmt.Sprintf("sets %d", seed), values, append(want, 0))
}

// bind binds sets from a number on, with the offsets of their own.
func (l *randomLayout) bind(c *Case, cb vk.CommandBuffer, layout vk.PipelineLayout, first int,
	sets []vk.DescriptorSet) {
	if len(sets) == 0 {
		return
	}
	var offsets []uint32
	for i := range sets {
		if first+i < len(l.sets) {
			for _, b := range l.sets[first+i] {
				offsets = append(offsets, b.t.offsets...)
			}
		}
	}
	c.dev.BindSets(cb, layout, uint32(first), sets, offsets...)
}

// randomSetCases mirror binding_model.descriptorset_random.
func randomSetCases() []definition {
	const rounds = 12
	run := func(seed uint64, push, late bool, flags vk.DescriptorBindingFlags) func(c *Case) {
		return func(c *Case) {
			for i := range uint64(rounds) {
				rng := rand.New(rand.NewPCG(seed, i))
				randomSets(rng, push, flags).run(c, rng, seed*rounds+i, late)
			}
		}
	}
	late := []string{"InlineUniformBlock", "DescriptorBindingInlineUniformBlockUpdateAfterBind",
		"DescriptorBindingUniformBufferUpdateAfterBind",
		"DescriptorBindingSampledImageUpdateAfterBind", "DescriptorBindingStorageImageUpdateAfterBind",
		"DescriptorBindingStorageBufferUpdateAfterBind",
		"DescriptorBindingUniformTexelBufferUpdateAfterBind", "DescriptorBindingStorageTexelBufferUpdateAfterBind"}
	return []definition{
		{name: "binding_model.descriptorset_random.sets", compute: true, valid: true, needs: []string{"InlineUniformBlock"},
			run: run(1, false, false, 0)},
		{name: "binding_model.descriptorset_random.with_push", compute: true, valid: true,
			needs:      []string{"InlineUniformBlock"},
			extensions: []string{vk.KHR_PUSH_DESCRIPTOR_EXTENSION_NAME}, run: run(2, true, false, 0)},
		{name: "binding_model.descriptorset_random.after_bind", compute: true, valid: true, needs: late,
			run: run(3, false, true, vk.DescriptorBindingFlags(vk.DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT))},
	}
}
