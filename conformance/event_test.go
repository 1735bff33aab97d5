package conformance

import (
	"sync"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

func (c *Case) event() vk.Event {
	e, r := c.dev.CreateEvent()
	c.must("vkCreateEvent", r)
	return e
}

// eventForm is the commands on events, of the core or of synchronization2.
type eventForm struct {
	prefix     string
	extensions []string
	features   func(*vulkan.Arena) unsafe.Pointer
	submit     submitter
	set        func(c *Case, cb vk.CommandBuffer, e vk.Event)
	reset      func(c *Case, cb vk.CommandBuffer, e vk.Event)
	wait       func(c *Case, cb vk.CommandBuffer, byHost bool, events ...vk.Event)
}

var eventForms = []eventForm{{
	prefix:     "synchronization.basic.event.",
	extensions: syncExtensions,
	features:   syncFeatures,
	submit:     submit1,
	set: func(c *Case, cb vk.CommandBuffer, e vk.Event) {
		c.dev.CallOn("vkCmdSetEvent", uintptr(cb), uintptr(e), uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT))
	},
	reset: func(c *Case, cb vk.CommandBuffer, e vk.Event) {
		c.dev.CallOn("vkCmdResetEvent", uintptr(cb), uintptr(e), uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT))
	},
	wait: func(c *Case, cb vk.CommandBuffer, byHost bool, events ...vk.Event) {
		src := uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT)
		if byHost {
			src = uintptr(vk.PIPELINE_STAGE_HOST_BIT)
		}
		list := vulkan.Make[vk.Event](&c.a, len(events))
		copy(list, events)
		c.dev.CallOn("vkCmdWaitEvents", uintptr(cb), uintptr(len(list)), ptr(vulkan.First(list)), src,
			uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT), 0, 0, 0, 0, 0, 0)
	},
}, {
	prefix:     "synchronization2.basic.event.",
	extensions: sync2Extensions,
	features:   sync2Features,
	submit:     submit2,
	set: func(c *Case, cb vk.CommandBuffer, e vk.Event) {
		c.dev.CallOn("vkCmdSetEvent2KHR", uintptr(cb), uintptr(e), ptr(dependency(c, false, 1)))
	},
	reset: func(c *Case, cb vk.CommandBuffer, e vk.Event) {
		c.dev.CallOn("vkCmdResetEvent2KHR", uintptr(cb), uintptr(e), uintptr(vk.PIPELINE_STAGE_2_ALL_TRANSFER_BIT))
	},
	wait: func(c *Case, cb vk.CommandBuffer, byHost bool, events ...vk.Event) {
		list := vulkan.Make[vk.Event](&c.a, len(events))
		copy(list, events)
		c.dev.CallOn("vkCmdWaitEvents2KHR", uintptr(cb), uintptr(len(list)), ptr(vulkan.First(list)),
			ptr(dependency(c, byHost, len(events))))
	},
}}

// dependency is n times a VkDependencyInfo with one memory barrier, as set and wait must agree on it.
func dependency(c *Case, byHost bool, n int) *vk.DependencyInfo {
	list := vulkan.Make[vk.DependencyInfo](&c.a, n)
	for i := range list {
		b := vulkan.Struct[vk.MemoryBarrier2](&c.a)
		b.SrcStageMask = vk.PipelineStageFlags2(vk.PIPELINE_STAGE_2_ALL_TRANSFER_BIT)
		b.SrcAccessMask = vk.AccessFlags2(vk.ACCESS_2_TRANSFER_WRITE_BIT)
		if byHost {
			b.SrcStageMask, b.SrcAccessMask = vk.PipelineStageFlags2(vk.PIPELINE_STAGE_2_HOST_BIT),
				vk.AccessFlags2(vk.ACCESS_2_HOST_WRITE_BIT)
		}
		b.DstStageMask = vk.PipelineStageFlags2(vk.PIPELINE_STAGE_2_ALL_TRANSFER_BIT)
		b.DstAccessMask = vk.AccessFlags2(vk.ACCESS_2_TRANSFER_READ_BIT | vk.ACCESS_2_TRANSFER_WRITE_BIT)
		list[i].SType = vk.STRUCTURE_TYPE_DEPENDENCY_INFO
		list[i].MemoryBarrierCount, list[i].PMemoryBarriers = 1, b
	}
	return vulkan.First(list)
}

// record records another command buffer of the recorder's pool.
func (r *recorder) record(commands func(cb vk.CommandBuffer)) []vk.CommandBuffer {
	cb, result := r.c.dev.AllocateCommandBuffer(r.pool)
	r.c.must("vkAllocateCommandBuffers", result)
	r.c.must("recording", r.c.dev.Record(cb, 0, commands))
	return []vk.CommandBuffer{cb}
}

func eventCases() []definition {
	rows := []struct {
		name string
		run  func(c *Case, f eventForm)
	}{
		{"host_set_reset", func(c *Case, _ eventForm) {
			e := c.event()
			for range 3 {
				c.want("status", c.dev.EventStatus(e), vk.EVENT_RESET)
				c.want("vkSetEvent", c.dev.SetEvent(e), vk.SUCCESS)
				c.want("vkSetEvent again", c.dev.SetEvent(e), vk.SUCCESS)
				c.want("status", c.dev.EventStatus(e), vk.EVENT_SET)
				c.want("vkResetEvent", c.dev.ResetEvent(e), vk.SUCCESS)
				c.want("vkResetEvent again", c.dev.ResetEvent(e), vk.SUCCESS)
			}
			c.dev.DestroyEvent(e)
		}},
		{"device_set_reset", func(c *Case, f eventForm) {
			e, rec := c.event(), c.recorder()
			set := rec.record(func(cb vk.CommandBuffer) { f.set(c, cb, e) })
			reset := rec.record(func(cb vk.CommandBuffer) { f.reset(c, cb, e) })
			for range 3 {
				c.fenced(f.submit, c.dev.Queue(), vulkan.Batch{Buffers: set})
				c.want("status", c.dev.EventStatus(e), vk.EVENT_SET)
				c.fenced(f.submit, c.dev.Queue(), vulkan.Batch{Buffers: reset})
				c.want("status", c.dev.EventStatus(e), vk.EVENT_RESET)
			}
			rec.free()
			c.dev.DestroyEvent(e)
		}},
		{"device_waits_for_device", func(c *Case, f eventForm) {
			a, b, rec := c.event(), c.event(), c.recorder()
			set := rec.record(func(cb vk.CommandBuffer) {
				f.set(c, cb, a)
				f.set(c, cb, b)
			})
			wait := rec.record(func(cb vk.CommandBuffer) { f.wait(c, cb, false, a, b) })
			c.fenced(f.submit, c.dev.Queue(), vulkan.Batch{Buffers: set}, vulkan.Batch{Buffers: wait})
			c.fenced(f.submit, c.dev.Queue(), vulkan.Batch{Buffers: append(set, wait...)})
			rec.free()
			c.dev.DestroyEvent(a)
			c.dev.DestroyEvent(b)
		}},
		{"wait_blocks_until_host_sets", func(c *Case, f eventForm) {
			a, b, rec, fence := c.event(), c.event(), c.recorder(), c.fence(0)
			wait := rec.record(func(cb vk.CommandBuffer) { f.wait(c, cb, true, a, b) })
			f.submit(c, c.dev.Queue(), fence, vulkan.Batch{Buffers: wait})
			blocked := func() {
				c.wantTimeout("waiting for a queue that waits for events", 20*millisecond,
					func(t uint64) vk.Result { return c.dev.WaitFences(true, t, fence) })
			}
			blocked()
			c.want("vkSetEvent", c.dev.SetEvent(a), vk.SUCCESS)
			blocked()
			c.want("vkSetEvent", c.dev.SetEvent(b), vk.SUCCESS)
			c.want("vkWaitForFences", c.dev.WaitFences(true, forever, fence), vk.SUCCESS)
			c.dev.DestroyFence(fence)
			rec.free()
			c.dev.DestroyEvent(a)
			c.dev.DestroyEvent(b)
		}},
		{"other_queue_runs_meanwhile", func(c *Case, f eventForm) {
			queues := c.queues(c.dev)
			if len(queues) == 1 {
				c.Unsupported("a second queue")
			}
			e, rec, fence := c.event(), c.recorder(), c.fence(0)
			f.submit(c, queues[0].Queue, fence,
				vulkan.Batch{Buffers: rec.record(func(cb vk.CommandBuffer) { f.wait(c, cb, true, e) })})
			for _, q := range queues[1:] {
				c.fenced(f.submit, q.Queue, vulkan.Batch{})
			}
			c.want("status of the blocked queue's fence", c.dev.FenceStatus(fence), vk.NOT_READY)
			c.want("vkSetEvent", c.dev.SetEvent(e), vk.SUCCESS)
			c.want("vkWaitForFences", c.dev.WaitFences(true, forever, fence), vk.SUCCESS)
			c.dev.DestroyFence(fence)
			rec.free()
			c.dev.DestroyEvent(e)
		}},
		{"host_follows_device", func(c *Case, f eventForm) {
			// The device tells the host by one event, waits for the host by another.
			ready, proceed, rec, fence := c.event(), c.event(), c.recorder(), c.fence(0)
			turn := rec.record(func(cb vk.CommandBuffer) {
				f.set(c, cb, ready)
				f.wait(c, cb, true, proceed)
				const all = uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
				c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), all, all, 0, 0, 0, 0, 0, 0, 0)
				f.reset(c, cb, proceed)
			})
			for range 20 {
				f.submit(c, c.dev.Queue(), fence, vulkan.Batch{Buffers: turn})
				for c.dev.EventStatus(ready) != vk.EVENT_SET {
					c.want("status of the fence", c.dev.WaitFences(true, millisecond, fence), vk.TIMEOUT)
				}
				c.want("vkResetEvent", c.dev.ResetEvent(ready), vk.SUCCESS)
				c.want("vkSetEvent", c.dev.SetEvent(proceed), vk.SUCCESS)
				c.want("vkWaitForFences", c.dev.WaitFences(true, forever, fence), vk.SUCCESS)
				c.want("status", c.dev.EventStatus(proceed), vk.EVENT_RESET)
				c.want("vkResetFences", c.dev.ResetFences(fence), vk.SUCCESS)
			}
			c.dev.DestroyFence(fence)
			rec.free()
			c.dev.DestroyEvent(ready)
			c.dev.DestroyEvent(proceed)
		}},
	}
	var all []definition
	for _, f := range eventForms {
		for _, r := range rows {
			all = append(all, definition{name: f.prefix + r.name, extensions: f.extensions, features: f.features, queues: true,
				valid: true, run: func(c *Case) { r.run(c, f) }})
		}
	}
	return all
}

// objectCases mirror api.object_management for the objects of synchronisation, and query pools.
func objectCases() []definition {
	kinds := []struct {
		name   string
		create func(c *Case) uint64
		free   string
	}{
		{"fence", func(c *Case) uint64 { return uint64(c.fence(0)) }, "vkDestroyFence"},
		{"fence_signaled", func(c *Case) uint64 { return uint64(c.fence(vk.FENCE_CREATE_SIGNALED_BIT)) }, "vkDestroyFence"},
		{"semaphore", func(c *Case) uint64 { return uint64(c.binary()) }, "vkDestroySemaphore"},
		{"timeline_semaphore", func(c *Case) uint64 { return uint64(c.timeline(1)) }, "vkDestroySemaphore"},
		{"event", func(c *Case) uint64 { return uint64(c.event()) }, "vkDestroyEvent"},
		{"query_pool", func(c *Case) uint64 {
			var a vulkan.Arena
			defer a.Close()
			info := vulkan.Struct[vk.QueryPoolCreateInfo](&a)
			info.QueryType, info.QueryCount = vk.QUERY_TYPE_TIMESTAMP, 8
			out := vulkan.New[vk.QueryPool](&a)
			c.must("vkCreateQueryPool", vk.Result(c.dev.Call("vkCreateQueryPool", ptr(info), 0, ptr(out))))
			return uint64(*out)
		}, "vkDestroyQueryPool"},
	}
	const objects = 2000
	var all []definition
	for _, k := range kinds {
		row := func(name string, run func(c *Case)) {
			all = append(all, definition{name: "api.object_management." + name + "." + k.name, extensions: syncExtensions,
				features: syncFeatures, valid: true, run: run})
		}
		row("multiple_unique_resources", func(c *Case) {
			seen := map[uint64]bool{}
			for range objects {
				seen[k.create(c)] = true
			}
			if len(seen) != objects || seen[0] {
				c.Errorf("%d distinct handles of %d objects", len(seen), objects)
			}
			for h := range seen {
				c.dev.Call(k.free, uintptr(h), 0)
			}
		})
		row("multithreaded_shared_resources", func(c *Case) {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range objects / 8 {
						c.dev.Call(k.free, uintptr(k.create(c)), 0)
					}
				})
			}
			wg.Wait()
		})
		row("destroy_null", func(c *Case) { c.dev.Call(k.free, 0, 0) })
	}
	return all
}
