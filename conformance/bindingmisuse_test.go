package conformance

import (
	"slices"
	"sync"
	"sync/atomic"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// descriptorMisuse is what applications do wrong with sets: a message says so, and nothing crashes.
func descriptorMisuse() (all []definition) {
	storage := &bindingKinds[1]
	row := func(name, rule string, want vk.Result, run func(c *Case, r *reader, t *things)) {
		all = append(all, definition{name: "farside.descriptor_errors." + name, compute: true, farsideOnly: true,
			instanceExtensions: []string{debugExtension}, run: func(c *Case) {
				seen := c.messages()
				defer seen.close()
				t := c.things(storage, 4, 1)
				r := c.reader(readerConfig{k: storage, count: 4})
				r.writeAll(t)
				pool, res := c.dev.CreateCommandPool(0)
				c.must("vkCreateCommandPool", res)
				cb, res := c.dev.AllocateCommandBuffer(pool)
				c.must("vkAllocateCommandBuffers", res)
				c.must("record", c.dev.Record(cb, 0, func(cb vk.CommandBuffer) {
					r.bind(cb, nil)
					r.dispatch(cb)
				}))
				run(c, r, t)
				c.want("submit", c.dev.SubmitBatches(c.dev.Queue(), 0, vulkan.Batch{Buffers: []vk.CommandBuffer{cb}}), vk.SUCCESS,
					want)
				c.want("vkQueueWaitIdle", c.dev.QueueWaitIdle(c.dev.Queue()), want)
				if !seen.has(rule) {
					c.Errorf("no message names %s: %v", rule, seen.text)
				}
				if want == vk.SUCCESS {
					r.result.download()
					wantSlice(c, "what was read", r.values, t.values)
				}
				c.dev.DestroyCommandPool(pool)
				r.free()
				t.free()
			}})
	}
	row("pool_reset", "VUID-vkCmdBindDescriptorSets-pDescriptorSets-parameter", vk.ERROR_DEVICE_LOST,
		func(c *Case, r *reader, _ *things) {
			c.must("vkResetDescriptorPool", c.dev.ResetDescriptorPool(r.pool))
		})
	row("buffer_destroyed", "VUID-VkDescriptorBufferInfo-buffer-parameter", vk.SUCCESS,
		func(c *Case, r *reader, t *things) {
			// Shaders read 0 of what does not live, and a write that names it is none.
			gone := c.things(storage, 2, 2)
			r.c.dev.UpdateSets([]vulkan.Write{r.write(gone, firstBinding, 2, 0, 2)})
			gone.free()
			r.c.dev.UpdateSets([]vulkan.Write{r.write(gone, firstBinding, 0, 0, 1)})
			t.values[2], t.values[3] = 0xdead, 0xdead // the buffer's length is 0, not 4
		})
	row("behind_the_end", "VUID-VkWriteDescriptorSet-dstArrayElement-00321", vk.SUCCESS,
		func(c *Case, r *reader, t *things) {
			r.c.dev.UpdateSets([]vulkan.Write{r.write(t, firstBinding, 2, 0, 4)})
		})
	row("another_type", "VUID-VkWriteDescriptorSet-descriptorType-00319", vk.SUCCESS, func(c *Case, r *reader, t *things) {
		w := r.write(t, firstBinding, 0, 1, 2)
		w.Type = vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER
		r.c.dev.UpdateSets([]vulkan.Write{w})
	})
	row("another_layout", "VUID-vkCmdDispatch-None-08600", vk.ERROR_DEVICE_LOST, func(c *Case, r *reader, _ *things) {
		other := c.reader(readerConfig{k: storage, count: 3})
		defer other.free()
		c.dev.UpdateSets(nil)
		// The pipeline of one with the sets of the other.
		c.want("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
			other.bind(cb, nil)
			c.dev.BindCompute(cb, r.pipeline)
			r.dispatch(cb)
		}), vk.ERROR_DEVICE_LOST)
	})
	// Other drivers let shaders choose among descriptors without the feature, and FFmpeg's overlay_vulkan relies on that.
	// (Those that choose among texel buffers declare the capability, and are refused.)
	for kind, rule := range map[int]string{0: "UniformBufferArrayDynamicIndexing-10127",
		1: "StorageBufferArrayDynamicIndexing-10129",
		5: "SampledImageArrayDynamicIndexing-10128", 7: "StorageImageArrayDynamicIndexing-10130"} {
		k := bindingKinds[slices.IndexFunc(bindingKinds, func(k bindingKind) bool { return k.kind == kind && !k.dynamic() })]
		all = append(all, definition{name: "farside.descriptor_errors.dynamic_index." + k.name, compute: true,
			farsideOnly: true,
			needs:       []string{"RuntimeDescriptorArray"}, instanceExtensions: []string{debugExtension}, run: func(c *Case) {
				seen := c.messagesOf(vk.DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT)
				defer seen.close()
				c.readChosen(&k)
				if !seen.has("VUID-StandaloneSpirv-" + rule) {
					c.Errorf("no warning names %s: %v", rule, seen.text)
				}
			}})
	}
	return all
}

// descriptorThreads are threads that use descriptors at once.
func descriptorThreads() []definition {
	const late = vk.DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT | vk.DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT |
		vk.DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT
	needs := []string{"RuntimeDescriptorArray", "ShaderStorageBufferArrayDynamicIndexing",
		"DescriptorBindingStorageBufferUpdateAfterBind",
		"DescriptorBindingUpdateUnusedWhilePending", "DescriptorBindingPartiallyBound"}
	return []definition{{name: "descriptor_indexing.update_unused_while_pending", compute: true, valid: true, needs: needs,
		run: func(c *Case) {
			// The queue reads elements 0 to 3 all the time, while two threads write elements of their own.
			k := &bindingKinds[1]
			t := c.things(k, 4, 1)
			defer t.free()
			index, want := t.chosen(64, 4)
			r := c.reader(readerConfig{k: k, count: 40, index: index,
				flags:   vk.DescriptorSetLayoutCreateFlags(vk.DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT),
				binding: vk.DescriptorBindingFlags(late)})
			defer r.free()
			r.writeAll(t)
			var stop atomic.Bool
			var threads sync.WaitGroup
			for n := range 2 {
				threads.Go(func() {
					for !stop.Load() {
						c.dev.UpdateSets([]vulkan.Write{r.write(t, firstBinding, 4+18*n, 0, 4), r.write(t, firstBinding, 14+18*n, 0, 4)})
					}
				})
			}
			for range 50 {
				r.read("while others are written", want, nil, nil)
			}
			stop.Store(true)
			threads.Wait()
		}}, {name: "binding_model.threads.pools", compute: true, valid: true, run: func(c *Case) {
		// Each thread has a pool and a set of its own of one layout, and updates it again and again.
		k := &bindingKinds[1]
		r := c.reader(readerConfig{k: k, count: 4})
		defer r.free()
		t := c.things(k, 4, 1)
		defer t.free()
		var threads sync.WaitGroup
		for range 4 {
			threads.Go(func() {
				pool, res := c.dev.CreateSizedPool(0, 4, 0, vk.DescriptorPoolSize{Type: k.t, DescriptorCount: 16})
				if res != vk.SUCCESS {
					c.Errorf("vkCreateDescriptorPool: %v", res)
					return
				}
				for range 100 {
					sets, res := c.dev.AllocateSets(pool, r.layouts[1], r.layouts[1], r.layouts[1], r.layouts[1])
					if res != vk.SUCCESS {
						c.Errorf("vkAllocateDescriptorSets: %v", res)
					}
					for i, s := range sets {
						w := r.write(t, firstBinding, 0, 0, 4)
						w.Set = s
						c.dev.UpdateSets([]vulkan.Write{w}, vk.CopyDescriptorSet{SrcSet: s, SrcBinding: firstBinding,
							DstSet: sets[(i+1)%4], DstBinding: firstBinding, DescriptorCount: 4})
					}
					c.dev.ResetDescriptorPool(pool)
				}
				c.dev.DestroyDescriptorPool(pool)
			})
		}
		threads.Wait()
	}}}
}
