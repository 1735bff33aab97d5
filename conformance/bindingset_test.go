package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// indexing are the features by which shaders choose among the descriptors of an array, and by which these change late.
var indexing = map[int]struct{ dynamic, nonuniform, late string }{
	0: {"ShaderUniformBufferArrayDynamicIndexing", "ShaderUniformBufferArrayNonUniformIndexing",
		"DescriptorBindingUniformBufferUpdateAfterBind"},
	1: {"ShaderStorageBufferArrayDynamicIndexing", "ShaderStorageBufferArrayNonUniformIndexing",
		"DescriptorBindingStorageBufferUpdateAfterBind"},
	2: {"ShaderUniformTexelBufferArrayDynamicIndexing", "ShaderUniformTexelBufferArrayNonUniformIndexing",
		"DescriptorBindingUniformTexelBufferUpdateAfterBind"},
	3: {"ShaderStorageTexelBufferArrayDynamicIndexing", "ShaderStorageTexelBufferArrayNonUniformIndexing",
		"DescriptorBindingStorageTexelBufferUpdateAfterBind"},
	5: {"ShaderSampledImageArrayDynamicIndexing", "ShaderSampledImageArrayNonUniformIndexing",
		"DescriptorBindingSampledImageUpdateAfterBind"},
	6: {"ShaderSampledImageArrayDynamicIndexing", "ShaderSampledImageArrayNonUniformIndexing",
		"DescriptorBindingSampledImageUpdateAfterBind"},
	7: {"ShaderStorageImageArrayDynamicIndexing", "ShaderStorageImageArrayNonUniformIndexing",
		"DescriptorBindingStorageImageUpdateAfterBind"},
}

// chosen are n random indices below count, and the values there.
func (t *things) chosen(n, count int) (index, want []uint32) {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	for range n {
		i := rng.IntN(count)
		index, want = append(index, uint32(i)), append(want, t.values[i])
	}
	return index, want
}

// writeAll writes all things from element 0 on.
func (r *reader) writeAll(t *things) {
	r.c.dev.UpdateSets([]vulkan.Write{r.write(t, firstBinding, 0, 0, len(t.infos))})
}

// readChosen reads descriptors of an array without a size, one chosen after the other.
func (c *Case) readChosen(k *bindingKind) {
	t := c.things(k, 21, 1)
	defer t.free()
	index, want := t.chosen(100, 21)
	r := c.reader(readerConfig{k: k, count: 21, index: index})
	defer r.free()
	r.writeAll(t)
	r.read("chosen one after the other", want, nil, nil)
}

// indexingCases mirror descriptor_indexing.
func indexingCases() (all []definition) {
	const afterBind = vk.DescriptorSetLayoutCreateFlags(vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT)
	const late, partly = vk.DescriptorBindingFlags(vk.DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT),
		vk.DescriptorBindingFlags(vk.DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT)
	const variable = vk.DescriptorBindingFlags(vk.DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT)
	for _, k := range bindingKinds {
		f, ok := indexing[k.kind]
		if !ok || k.dynamic() {
			continue
		}
		add := func(name string, run func(c *Case), needs ...string) {
			all = append(all, definition{name: "descriptor_indexing." + name + "." + k.name, compute: true, valid: true,
				run:   run,
				needs: append([]string{"RuntimeDescriptorArray", f.dynamic}, needs...)})
		}
		add("runtime_array", func(c *Case) { c.readChosen(&k) })
		add("nonuniform", func(c *Case) {
			t := c.things(&k, 21, 2)
			defer t.free()
			index, want := t.chosen(100, 21)
			for i := range 32 { // whole chunks of lanes with the same one
				index[16+i], want[16+i] = index[i/16], want[i/16]
			}
			r := c.reader(readerConfig{k: &k, count: 21, index: index, nonuniform: true})
			defer r.free()
			r.writeAll(t)
			r.read("chosen by each invocation", want, nil, nil)
		}, f.nonuniform)
		add("variable_count", func(c *Case) {
			t := c.things(&k, 9, 3)
			defer t.free()
			index, want := t.chosen(100, 9)
			r := c.reader(readerConfig{k: &k, count: 50, index: index, binding: variable, variable: 9})
			defer r.free()
			r.writeAll(t)
			r.read("of 9 descriptors", want, nil, nil)
		}, "DescriptorBindingVariableDescriptorCount")
		add("partially_bound", func(c *Case) {
			t := c.things(&k, 8, 4)
			defer t.free()
			index, want := t.chosen(50, 4)
			r := c.reader(readerConfig{k: &k, count: 20, index: index, binding: partly})
			defer r.free()
			// Elements 0 to 3 are read. What 10 to 13 name goes before the shader runs; the others were never written.
			gone := c.things(&k, 4, 5)
			r.c.dev.UpdateSets([]vulkan.Write{r.write(t, firstBinding, 0, 0, 4), r.write(gone, firstBinding, 10, 0, 4)})
			gone.free()
			r.read("of 4 descriptors of 20", want, nil, nil)
		}, "DescriptorBindingPartiallyBound")
		add("update_after_bind", func(c *Case) {
			before, after := c.things(&k, 4, 6), c.things(&k, 4, 7)
			defer before.free()
			defer after.free()
			index, want := after.chosen(50, 4)
			r := c.reader(readerConfig{k: &k, count: 4, index: index, flags: afterBind, binding: late})
			defer r.free()
			r.writeAll(before)
			pool, res := c.dev.CreateCommandPool(0)
			c.must("vkCreateCommandPool", res)
			defer c.dev.DestroyCommandPool(pool)
			cb, res := c.dev.AllocateCommandBuffer(pool)
			c.must("vkAllocateCommandBuffers", res)
			c.must("record", c.dev.Record(cb, 0, func(cb vk.CommandBuffer) {
				r.bind(cb, nil)
				r.dispatch(cb)
			}))
			r.writeAll(after) // the command buffer stays as it is
			submit := func(what string, want []uint32) {
				c.must("submit", c.dev.SubmitBatches(c.dev.Queue(), 0, vulkan.Batch{Buffers: []vk.CommandBuffer{cb}}))
				c.must("vkQueueWaitIdle", c.dev.QueueWaitIdle(c.dev.Queue()))
				r.result.download()
				wantSlice(c, what, r.values, want)
			}
			submit("written after the recording", want)
			want = want[:0]
			for _, i := range index {
				want = append(want, before.values[i])
			}
			r.writeAll(before)
			submit("written once more", want)
		}, f.late)
	}
	return all
}

// dynamicOffsetCases mirror binding_model.dynamic_offset.
func dynamicOffsetCases() []definition {
	return []definition{{name: "binding_model.dynamic_offset.order", compute: true, valid: true, run: func(c *Case) {
		// Offsets go by set, then binding number, then element, whatever the order of the layout's bindings.
		const uniform, storage = vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
		memory := make([]uint32, 64*pitch/4)
		for i := range 64 {
			memory[i*pitch/4] = uint32(1000 + i)
		}
		b := c.shaderBuffer(memory, vk.BUFFER_USAGE_UNIFORM_BUFFER_BIT|vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
		defer b.free()
		values := make([]uint32, 7)
		result := c.shaderBuffer(values, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
		defer result.free()
		lists := [][]vulkan.Binding{
			{{Binding: 5, Type: uniform, Count: 1}, {Binding: 1, Type: storage, Count: 2},
				{Binding: 3, Type: vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER, Count: 1}, {Binding: 2, Type: uniform, Count: 1}},
			{{Binding: 4, Type: storage, Count: 1}, {Binding: 0, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1},
				{Binding: 2, Type: uniform, Count: 1}},
		}
		var layouts []vk.DescriptorSetLayout
		for _, list := range lists {
			l, r := c.dev.CreateSetLayout(0, list...)
			c.must("vkCreateDescriptorSetLayout", r)
			defer c.dev.DestroySetLayout(l)
			layouts = append(layouts, l)
		}
		layout, r := c.dev.CreatePipelineLayout(0, layouts...)
		c.must("vkCreatePipelineLayout", r)
		defer c.dev.DestroyPipelineLayout(layout)
		module, r := c.dev.CreateShaderModule(c.compile(glsl("binding/offsets.comp")))
		c.must("vkCreateShaderModule", r)
		defer c.dev.DestroyShaderModule(module)
		pipeline, r := c.dev.CreateComputePipeline(vulkan.PipelineConfig{Module: module, Layout: layout})
		c.must("vkCreateComputePipelines", r)
		defer c.dev.DestroyPipeline(pipeline)
		pool, r := c.dev.CreateDescriptorPool(0, 2, slices.Concat(lists...)...)
		c.must("vkCreateDescriptorPool", r)
		defer c.dev.DestroyDescriptorPool(pool)
		sets, r := c.dev.AllocateSets(pool, layouts...)
		c.must("vkAllocateDescriptorSets", r)
		// Each descriptor has an offset of its own, of 8 ranges, to which the dynamic one is added.
		var writes []vulkan.Write
		for s, list := range lists {
			for _, x := range list {
				for e := range x.Count {
					info := words(uint64(b.buffer), 8*pitch, 16)
					if x.Type == vk.DESCRIPTOR_TYPE_STORAGE_BUFFER {
						info = words(uint64(result.buffer), 0, uint64(vk.WHOLE_SIZE))
					}
					writes = append(writes, vulkan.Write{Set: sets[s], Binding: x.Binding, Element: e, Count: 1, Type: x.Type,
						Data: info})
				}
			}
		}
		c.dev.UpdateSets(writes)
		for _, offsets := range [][]uint32{{0, 0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6}, {30, 11, 29, 7, 55, 0}} {
			bytes, want := []uint32{}, []uint32{}
			for _, o := range offsets {
				bytes, want = append(bytes, o*pitch), append(want, 1008+o)
			}
			c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
				c.dev.BindCompute(cb, pipeline)
				c.dev.BindSets(cb, layout, 0, sets, bytes...)
				c.dev.Dispatch(cb, 1, 1, 1)
				c.dev.Barrier(cb)
			}))
			result.download()
			wantSlice(c, fmt.Sprint("offsets ", offsets), values, append(want, 1008))
		}
	}}}
}

// poolCases mirror api.descriptor_pool and api.descriptor_set.
func poolCases() []definition {
	const storage, uniform = vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "api.descriptor_pool." + name, compute: true, valid: true, run: run}
	}
	layoutOf := func(c *Case, bindings ...vulkan.Binding) vk.DescriptorSetLayout {
		l, r := c.dev.CreateSetLayout(0, bindings...)
		c.must("vkCreateDescriptorSetLayout", r)
		return l
	}
	return []definition{
		row("out_of_pool_memory", func(c *Case) {
			l := layoutOf(c, vulkan.Binding{Binding: 0, Type: storage, Count: 3},
				vulkan.Binding{Binding: 7, Type: uniform, Count: 1})
			defer c.dev.DestroySetLayout(l)
			pool, r := c.dev.CreateSizedPool(vk.DescriptorPoolCreateFlags(vk.DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT), 10,
				0,
				vk.DescriptorPoolSize{Type: storage, DescriptorCount: 4}, vk.DescriptorPoolSize{Type: uniform, DescriptorCount: 10},
				vk.DescriptorPoolSize{Type: storage, DescriptorCount: 2})
			c.must("vkCreateDescriptorPool", r)
			defer c.dev.DestroyDescriptorPool(pool)
			for range 3 {
				sets, r := c.dev.AllocateSets(pool, l, l)
				c.must("two sets", r)
				if more, r := c.dev.AllocateSets(pool, l); r == vk.SUCCESS {
					sets = append(sets, more...) // a driver may have more than it was asked for
				} else {
					c.want("a third set", r, vk.ERROR_OUT_OF_POOL_MEMORY)
					wantSlice(c, "what did not come to be", more, []vk.DescriptorSet{0})
				}
				c.must("vkFreeDescriptorSets", c.dev.FreeSets(pool, append(sets, 0)...))
			}
		}),
		row("repeated_reset", func(c *Case) {
			l := layoutOf(c, vulkan.Binding{Binding: 0, Type: storage, Count: 1})
			defer c.dev.DestroySetLayout(l)
			pool, r := c.dev.CreateSizedPool(0, 64, 0, vk.DescriptorPoolSize{Type: storage, DescriptorCount: 64})
			c.must("vkCreateDescriptorPool", r)
			defer c.dev.DestroyDescriptorPool(pool)
			for range 100 {
				_, r := c.dev.AllocateSets(pool, slices.Repeat([]vk.DescriptorSetLayout{l}, 64)...)
				c.must("64 sets", r)
				c.must("vkResetDescriptorPool", c.dev.ResetDescriptorPool(pool))
			}
		}),
		row("layout_destroyed", func(c *Case) {
			// What is made of a layout needs it no more.
			k := &bindingKinds[1]
			t := c.things(k, 3, 1)
			defer t.free()
			r := c.reader(readerConfig{k: k, count: 3})
			defer r.free()
			r.writeAll(t)
			c.dev.DestroySetLayout(r.layouts[0])
			c.dev.DestroySetLayout(r.layouts[1])
			c.dev.DestroyPipelineLayout(r.layout)
			r.layouts = [2]vk.DescriptorSetLayout{}
			var res vk.Result
			// The layout that the sets are bound with is one that is identically defined.
			other := c.reader(readerConfig{k: k, count: 3})
			defer other.free()
			r.layout, res = c.dev.CreatePipelineLayout(0, other.layouts[:]...)
			c.must("vkCreatePipelineLayout", res)
			r.read("of sets whose layouts are gone", t.values, nil, nil)
		}),
		{name: "api.maintenance3.layout_support", compute: true, valid: true, run: func(c *Case) {
			limit := c.inst.Properties2(c.pd, nil).Properties.Limits.MaxPerStageDescriptorStorageBuffers
			if ok, _ := c.dev.SetLayoutSupport(vulkan.Binding{Type: storage, Count: min(limit, 1024)}); !ok {
				c.Errorf("%d storage buffers are not supported", min(limit, 1024))
			}
			if ok, _ := c.dev.SetLayoutSupport(vulkan.Binding{Type: storage, Count: 0}); !ok {
				c.Errorf("an empty binding is not supported")
			}
		}},
	}
}

// nullCases are descriptors that name nothing.
func nullCases() (all []definition) {
	for _, k := range bindingKinds {
		if k.unit > 1 || k.kind == 2 || k.kind == 3 || k.kind == 1 {
			continue // has no null, or the shader asks for its size, which is 0
		}
		all = append(all, definition{name: "robustness.robustness2.null_descriptor." + k.name, compute: true, valid: true,
			needs: []string{"RobustBufferAccess", "NullDescriptor"}, run: func(c *Case) {
				t := c.things(&k, 3, 1)
				defer t.free()
				r := c.reader(readerConfig{k: &k, count: 3})
				defer r.free()
				switch k.kind {
				case 0:
					t.infos[1] = words(0, 0, uint64(vk.WHOLE_SIZE))
					if k.dynamic() {
						t.offsets[1] = 0
					}
				case 5, 6, 7:
					copy(t.infos[1][8:], words(0))
				}
				t.values[1] = 0
				r.writeAll(t)
				r.read("with nothing in between", t.values, t.offsets, nil)
			}})
	}
	return all
}

// maintenance6Cases mirror binding_model.*_maintenance6: the commands that take structures.
func maintenance6Cases() []definition {
	row := func(name string, run func(c *Case), extensions ...string) definition {
		return definition{name: "binding_model.maintenance6." + name, compute: true, needs: []string{"Maintenance6"},
			extensions: extensions, run: run}
	}
	return []definition{
		row("bind_sets", func(c *Case) {
			k := &bindingKinds[3] // with dynamic offsets
			t := c.things(k, 4, 1)
			defer t.free()
			r := c.reader(readerConfig{k: k, count: 4})
			defer r.free()
			r.writeAll(t)
			r.second = true
			r.read("bound by a structure", t.values, t.offsets, nil)
		}),
		row("push_descriptors", func(c *Case) {
			k := &bindingKinds[1]
			t := c.things(k, 4, 1)
			defer t.free()
			r := c.reader(readerConfig{k: k, count: 4,
				flags: vk.DescriptorSetLayoutCreateFlags(vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT)})
			defer r.free()
			r.read("pushed by a structure", t.values, nil, func(cb vk.CommandBuffer) {
				c.dev.PushSet2(cb, r.layout, 1, r.write(t, firstBinding, 0, 0, 4))
			})
			template, res := c.dev.CreatePushTemplate(r.layout, 1, r.entry(t, firstBinding, 0, 0, 4, 0, len(t.infos[0])))
			c.must("vkCreateDescriptorUpdateTemplate", res)
			defer c.dev.DestroyTemplate(template)
			r.read("pushed by a structure with a template", t.values, nil, func(cb vk.CommandBuffer) {
				c.dev.PushWithTemplate2(cb, template, r.layout, 1, t.data(0, 4))
			})
		}, vk.KHR_PUSH_DESCRIPTOR_EXTENSION_NAME),
		row("push_constants", func(c *Case) {
			d := dispatch{shader: glsl("basic/count.comp"), buffers: []any{make([]uint32, 33)}, push: []uint32{1}}
			p := c.program(&d)
			defer p.free()
			a := p.arguments(d.buffers...)
			defer a.free()
			c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
				a.bind(cb)
				c.dev.Push2(cb, p.layout, 0, bytesOf([]uint32{7}))
				c.dev.Dispatch(cb, 1, 1, 1)
				c.dev.Barrier(cb)
			}))
			a.download()
			want := slices.Repeat([]uint32{7}, 33)
			want[0] = 32 * 7
			wantSlice(c, "counts", d.buffers[0].([]uint32), want)
		}),
	}
}

// immutableCases are samplers that are part of a layout, whatever updates say about samplers.
func immutableCases() (all []definition) {
	for _, way := range []string{"write", "copy", "push", "alike"} {
		// By the letter of the specification, samplers that are alike don't make layouts so. The CTS wants it.
		d := definition{name: "binding_model.immutable_samplers." + way, compute: true, valid: way != "alike",
			run: func(c *Case) { immutableSamplers(c, way) }}
		if way == "push" {
			d.extensions = []string{vk.KHR_PUSH_DESCRIPTOR_EXTENSION_NAME}
		}
		all = append(all, d)
	}
	return all
}

func immutableSamplers(c *Case, way string) {
	samplers := c.edgeSamplers()
	combined := bindingKinds[8]
	t := c.things(&combined, 2, 1) // with a sampler of their own, which counts for nothing
	defer t.free()
	flags := vk.DescriptorSetLayoutCreateFlags(0)
	if way == "push" {
		flags = vk.DescriptorSetLayoutCreateFlags(vk.DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT)
	}
	values := make([]uint32, 4)
	result := c.shaderBuffer(values, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT)
	defer result.free()
	own := vulkan.Binding{Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1}
	first, r := c.dev.CreateSetLayout(0, own)
	c.must("vkCreateDescriptorSetLayout", r)
	second, layout := c.immutableLayout(first, flags, samplers)
	module, r := c.dev.CreateShaderModule(c.compile(glsl("binding/immutable.comp")))
	c.must("vkCreateShaderModule", r)
	pipeline, r := c.dev.CreateComputePipeline(vulkan.PipelineConfig{Module: module, Layout: layout})
	c.must("vkCreateComputePipelines", r)
	if way == "alike" { // the sets are those of a layout with other samplers, and the pipeline's is gone
		c.dev.DestroyPipelineLayout(layout)
		c.dev.DestroySetLayout(second)
		c.destroySamplers(samplers)
		samplers = c.edgeSamplers()
		second, layout = c.immutableLayout(first, flags, samplers)
	}
	pool, r := c.dev.CreateSizedPool(0, 3, 0, vk.DescriptorPoolSize{Type: own.Type, DescriptorCount: 1},
		vk.DescriptorPoolSize{Type: combined.t, DescriptorCount: 4},
		vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_SAMPLER, DescriptorCount: 4},
		vk.DescriptorPoolSize{Type: vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE, DescriptorCount: 2})
	c.must("vkCreateDescriptorPool", r)
	sets, r := c.dev.AllocateSets(pool, first)
	c.must("vkAllocateDescriptorSets", r)
	c.dev.WriteSet(sets[0], vulkan.Descriptor{Type: own.Type, Buffer: vk.DescriptorBufferInfo{Buffer: result.buffer}})
	writes := []vulkan.Write{
		{Binding: 0, Count: 2, Type: combined.t, Data: t.data(0, 2)},
		{Binding: 2, Count: 1, Type: vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE, Data: t.data(0, 1)},
	}
	if way != "push" {
		more, r := c.dev.AllocateSets(pool, second, second)
		c.must("vkAllocateDescriptorSets", r)
		sets = append(sets, more[0])
		for i := range writes {
			writes[i].Set = more[0]
			if way == "copy" {
				writes[i].Set = more[1]
			}
		}
		c.dev.UpdateSets(writes)
		if way == "copy" {
			c.dev.UpdateSets(nil, vk.CopyDescriptorSet{SrcSet: more[1], DstSet: more[0], DescriptorCount: 2},
				vk.CopyDescriptorSet{SrcSet: more[1], SrcBinding: 2, DstSet: more[0], DstBinding: 2, DescriptorCount: 1})
		}
	}
	c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
		c.dev.BindCompute(cb, pipeline)
		c.dev.BindSets(cb, layout, 0, sets)
		if way == "push" {
			// The samplers of the layout are pushed; what describes them is ignored.
			c.dev.PushSet(cb, layout, 1, append(writes,
				vulkan.Write{Binding: 1, Count: 2, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Data: t.data(0, 2)})...)
		}
		c.dev.Dispatch(cb, 1, 1, 1)
		c.dev.Barrier(cb)
	}))
	result.download()
	wantSlice(c, "beyond the edge", values, []uint32{t.values[0], 1, t.values[0], 1})
	c.dev.DestroyDescriptorPool(pool)
	c.dev.DestroyPipeline(pipeline)
	c.dev.DestroyShaderModule(module)
	c.dev.DestroyPipelineLayout(layout)
	c.dev.DestroySetLayout(second)
	c.dev.DestroySetLayout(first)
	c.destroySamplers(samplers)
}

// edgeSamplers makes a sampler that clamps to the edge and one that clamps to a border.
func (c *Case) edgeSamplers() (all []vk.Sampler) {
	for _, mode := range []vk.SamplerAddressMode{vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
		vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER} {
		info := vulkan.Struct[vk.SamplerCreateInfo](&c.a)
		info.AddressModeU, info.AddressModeV, info.AddressModeW, info.BorderColor = mode, mode, mode,
			vk.BORDER_COLOR_INT_OPAQUE_WHITE
		out := vulkan.New[vk.Sampler](&c.a)
		c.must("vkCreateSampler", vk.Result(c.dev.Call("vkCreateSampler", ptr(info), 0, ptr(out))))
		all = append(all, *out)
	}
	return all
}

// immutableLayout makes the layout of the set with these samplers, and that of the pipeline.
func (c *Case) immutableLayout(first vk.DescriptorSetLayout, flags vk.DescriptorSetLayoutCreateFlags,
	samplers []vk.Sampler,
) (vk.DescriptorSetLayout, vk.PipelineLayout) {
	second, r := c.dev.CreateSetLayout(flags,
		vulkan.Binding{Binding: 0, Type: vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, Count: 2, Samplers: samplers},
		vulkan.Binding{Binding: 1, Type: vk.DESCRIPTOR_TYPE_SAMPLER, Count: 2, Samplers: samplers},
		vulkan.Binding{Binding: 2, Type: vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE, Count: 1})
	c.must("vkCreateDescriptorSetLayout", r)
	layout, r := c.dev.CreatePipelineLayout(0, first, second)
	c.must("vkCreatePipelineLayout", r)
	return second, layout
}

func (c *Case) destroySamplers(list []vk.Sampler) {
	for _, s := range list {
		c.dev.Call("vkDestroySampler", uintptr(s), 0)
	}
}

func bindingSetCases() []definition {
	return slices.Concat(maintenance6Cases(), immutableCases(), randomSetCases(), indexingCases(), dynamicOffsetCases(),
		poolCases(), nullCases(), descriptorMisuse(), descriptorThreads())
}
