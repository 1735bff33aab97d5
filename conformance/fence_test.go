package conformance

import (
	"slices"
	"sync"
	"time"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// fence makes a fence of the case's device.
func (c *Case) fence(flags vk.FenceCreateFlags) vk.Fence {
	f, r := c.dev.CreateFence(flags, nil)
	c.must("vkCreateFence", r)
	return f
}

// wantTimeout wants wait to return VK_TIMEOUT after the timeout, in nanoseconds, and not before. It may be
// late by patience, on a loaded machine.
func (c *Case) wantTimeout(what string, timeout uint64, wait func(timeout uint64) vk.Result) {
	start := time.Now()
	c.want(what, wait(timeout), vk.TIMEOUT)
	took := time.Since(start)
	if took < time.Duration(timeout) || took > time.Duration(timeout+patience) {
		c.Errorf("%s for %v took %v", what, time.Duration(timeout), took)
	}
}

// timeouts are those that wantTimeout is asked for.
var timeouts = []uint64{0, 1, millisecond, 10*millisecond + 1, 50 * millisecond, 200 * millisecond}

// layerLoses are cases in which one thread signals while another waits: layer 1.3.239 then loses track of the
// object, and says itself that this is most likely a validation bug.
var layerLoses = []string{"many_waiters", "wait_any_wakes", "wait_idle_waits", "one_to_many", "wait_all_and_any",
	"waiters_of_every_value", "ping_pong", "counter_never_falls", "import_before_signal_temporary",
	"pollable_without_vulkan_temporary"}

// later calls f after a while, and wait waits for it. It gives a blocked call the time to block.
func later(f func()) (wait func()) {
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(30 * time.Millisecond)
		f()
	})
	return wg.Wait
}

func fenceCases() []definition {
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "synchronization.basic.fence." + name, extensions: syncExtensions, features: syncFeatures,
			queues: true, valid: !slices.Contains(layerLoses, name), run: run}
	}
	const signalled = vk.FenceCreateFlags(vk.FENCE_CREATE_SIGNALED_BIT)
	return []definition{
		row("one", func(c *Case) {
			f := c.fence(0)
			for range 10 {
				c.want("status of an unsignalled fence", c.dev.FenceStatus(f), vk.NOT_READY)
				c.must("vkQueueSubmit", c.dev.SubmitBatches(c.dev.Queue(), f))
				c.want("vkWaitForFences", c.dev.WaitFences(true, forever, f), vk.SUCCESS)
				c.want("status of a signalled fence", c.dev.FenceStatus(f), vk.SUCCESS)
				c.want("vkWaitForFences again", c.dev.WaitFences(false, 0, f), vk.SUCCESS)
				c.want("vkResetFences", c.dev.ResetFences(f), vk.SUCCESS)
			}
			c.dev.DestroyFence(f)
		}),
		row("empty_batches", func(c *Case) {
			f := c.fence(0)
			c.must("vkQueueSubmit of three empty batches",
				c.dev.SubmitBatches(c.dev.Queue(), f, vulkan.Batch{}, vulkan.Batch{}, vulkan.Batch{}))
			c.want("vkWaitForFences", c.dev.WaitFences(true, forever, f), vk.SUCCESS)
			c.must("vkQueueSubmit of nothing", c.dev.SubmitBatches(c.dev.Queue(), 0))
			c.must("vkQueueSubmit of an empty batch", c.dev.SubmitBatches(c.dev.Queue(), 0, vulkan.Batch{}))
			c.want("vkQueueWaitIdle", c.dev.QueueWaitIdle(c.dev.Queue()), vk.SUCCESS)
			c.dev.DestroyFence(f)
		}),
		row("multi", func(c *Case) {
			a, b := c.fence(0), c.fence(signalled)
			c.wantTimeout("waiting for all of one signalled, one not", millisecond,
				func(t uint64) vk.Result { return c.dev.WaitFences(true, t, a, b) })
			c.want("waiting for any", c.dev.WaitFences(false, forever, a, b), vk.SUCCESS)
			c.must("vkQueueSubmit", c.dev.SubmitBatches(c.dev.Queue(), a))
			c.want("waiting for all", c.dev.WaitFences(true, forever, a, b), vk.SUCCESS)
			c.want("resetting both", c.dev.ResetFences(a, b), vk.SUCCESS)
			for _, f := range []vk.Fence{a, b} {
				c.want("status", c.dev.FenceStatus(f), vk.NOT_READY)
				c.dev.DestroyFence(f)
			}
		}),
		row("device_group_info", func(c *Case) {
			s, rec := c.binary(), c.recorder()
			cb := rec.record(func(vk.CommandBuffer) {})
			info := vulkan.Struct[vk.DeviceGroupSubmitInfo](&c.a)
			info.WaitSemaphoreCount, info.PWaitSemaphoreDeviceIndices = 1, vulkan.Put(&c.a, uint32(0))
			info.CommandBufferCount, info.PCommandBufferDeviceMasks = 1, vulkan.Put(&c.a, uint32(1))
			info.SignalSemaphoreCount, info.PSignalSemaphoreDeviceIndices = 1, vulkan.Put(&c.a, uint32(0))
			submit1(c, c.dev.Queue(), 0, vulkan.Batch{Signal: at(s, 0)})
			c.fenced(submit1, c.dev.Queue(), vulkan.Batch{Wait: at(s, 0), Buffers: cb, Signal: at(s, 0), Next: vulkan.Ptr(info)},
				vulkan.Batch{Wait: at(s, 0)})
			rec.free()
			c.dev.DestroySemaphore(s)
		}),
		row("duplicates", func(c *Case) {
			f := c.fence(0)
			c.must("vkQueueSubmit", c.dev.SubmitBatches(c.dev.Queue(), f))
			c.want("waiting for one fence thrice", c.dev.WaitFences(true, forever, f, f, f), vk.SUCCESS)
			c.dev.DestroyFence(f)
		}),
		row("timeouts", func(c *Case) {
			a, b := c.fence(0), c.fence(0)
			for _, t := range timeouts {
				c.wantTimeout("waiting for one", t, func(t uint64) vk.Result { return c.dev.WaitFences(true, t, a) })
				c.wantTimeout("waiting for any", t, func(t uint64) vk.Result { return c.dev.WaitFences(false, t, a, b) })
				c.wantTimeout("waiting for all", t, func(t uint64) vk.Result { return c.dev.WaitFences(true, t, a, b) })
			}
			c.dev.DestroyFence(a)
			c.dev.DestroyFence(b)
		}),
		row("ten_thousand_submits", func(c *Case) {
			f, q := c.fence(0), c.dev.Queue()
			for i := range 10_000 {
				if r := c.dev.SubmitBatches(q, f); r != vk.SUCCESS {
					c.Fatalf("submit %d: %v", i, r)
				}
				if r := c.dev.WaitFences(true, forever, f); r != vk.SUCCESS {
					c.Fatalf("wait %d: %v", i, r)
				}
				if r := c.dev.ResetFences(f); r != vk.SUCCESS {
					c.Fatalf("reset %d: %v", i, r)
				}
			}
			c.dev.DestroyFence(f)
		}),
		row("many", func(c *Case) {
			fences := make([]vk.Fence, 200)
			for i := range fences {
				fences[i] = c.fence(0)
			}
			for i, f := range fences {
				c.must("vkQueueSubmit", c.dev.SubmitBatches(c.queues(c.dev)[0].Queue, f))
				if i%50 == 0 {
					c.want("waiting for the last", c.dev.WaitFences(true, forever, f), vk.SUCCESS)
				}
			}
			c.want("waiting for all", c.dev.WaitFences(true, forever, fences...), vk.SUCCESS)
			c.want("resetting all", c.dev.ResetFences(fences...), vk.SUCCESS)
			for _, f := range fences {
				c.want("status", c.dev.FenceStatus(f), vk.NOT_READY)
				c.dev.DestroyFence(f)
			}
		}),
		row("many_waiters", func(c *Case) {
			f, gate := c.fence(0), c.timeline(0)
			q := c.dev.Queue()
			c.must("vkQueueSubmit", c.dev.SubmitBatches(q, f, vulkan.Batch{Wait: []vulkan.Point{{Semaphore: gate, Value: 1}}}))
			results := make([]vk.Result, 32)
			var wg sync.WaitGroup
			for i := range results {
				wg.Go(func() { results[i] = c.dev.WaitFences(i%2 == 0, forever, f) })
			}
			later(func() { c.must("vkSignalSemaphore", c.dev.SignalSemaphore(gate, 1)) })()
			wg.Wait()
			for _, r := range results {
				c.want("vkWaitForFences", r, vk.SUCCESS)
			}
			c.dev.DestroyFence(f)
			c.dev.DestroySemaphore(gate)
		}),
		// A fence is signalled when everything that was submitted before it has ended.
		row("follows_earlier_submits", func(c *Case) {
			gate := c.timeline(0)
			q := c.dev.Queue()
			early, late := c.fence(0), c.fence(0)
			c.must("vkQueueSubmit", c.dev.SubmitBatches(q, early,
				vulkan.Batch{Wait: []vulkan.Point{{Semaphore: gate, Value: 1}}}))
			c.must("vkQueueSubmit of nothing", c.dev.SubmitBatches(q, late))
			c.wantTimeout("waiting behind a blocked submit", 20*millisecond,
				func(t uint64) vk.Result { return c.dev.WaitFences(false, t, early, late) })
			c.must("vkSignalSemaphore", c.dev.SignalSemaphore(gate, 1))
			c.want("waiting for both", c.dev.WaitFences(true, forever, early, late), vk.SUCCESS)
			c.dev.DestroyFence(early)
			c.dev.DestroyFence(late)
			c.dev.DestroySemaphore(gate)
		}),
		row("every_queue", func(c *Case) {
			var fences []vk.Fence
			for _, q := range c.queues(c.dev) {
				fences = append(fences, c.fence(0))
				c.must("vkQueueSubmit", c.dev.SubmitBatches(q.Queue, fences[len(fences)-1], vulkan.Batch{}))
			}
			c.want("waiting for a fence of each queue", c.dev.WaitFences(true, forever, fences...), vk.SUCCESS)
			c.want("vkDeviceWaitIdle", c.dev.WaitIdle(), vk.SUCCESS)
			for _, f := range fences {
				c.dev.DestroyFence(f)
			}
		}),
		row("wait_any_wakes", func(c *Case) {
			gate := c.timeline(0)
			a, b := c.fence(0), c.fence(0)
			c.must("vkQueueSubmit", c.dev.SubmitBatches(c.dev.Queue(), b,
				vulkan.Batch{Wait: []vulkan.Point{{Semaphore: gate, Value: 1}}}))
			done := later(func() { c.must("vkSignalSemaphore", c.dev.SignalSemaphore(gate, 1)) })
			c.want("waiting for any", c.dev.WaitFences(false, forever, a, b), vk.SUCCESS)
			done()
			c.want("the fence that wasn't submitted", c.dev.FenceStatus(a), vk.NOT_READY)
			c.want("the one that was", c.dev.FenceStatus(b), vk.SUCCESS)
			c.dev.DestroyFence(a)
			c.dev.DestroyFence(b)
			c.dev.DestroySemaphore(gate)
		}),
	}
}
