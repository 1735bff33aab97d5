package conformance

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// syncMisuse does what Vulkan leaves undefined. Farside answers: the process lives, commands that can fail do, and
// what is blocked comes back.
func syncMisuse() []definition {
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "farside.sync." + name, farsideOnly: true, extensions: sync2Extensions,
			features: sync2Features,
			queues:   true, run: run}
	}
	wait := func(c *Case, f vk.Fence) vk.Result { return c.dev.WaitFences(true, patience, f) }
	return []definition{
		row("destroyed_fence", func(c *Case) {
			f := c.fence(0)
			c.dev.DestroyFence(f)
			c.wantErr("vkWaitForFences", wait(c, f))
			c.wantErr("vkGetFenceStatus", c.dev.FenceStatus(f))
			c.wantErr("vkResetFences", c.dev.ResetFences(f))
			c.wantErr("vkQueueSubmit", c.dev.SubmitBatches(c.dev.Queue(), f))
			c.wantErr("vkWaitForFences of VK_NULL_HANDLE", wait(c, 0))
			c.dev.DestroyFence(f)
		}),
		row("destroyed_semaphore", func(c *Case) {
			s := c.timeline(0)
			c.dev.DestroySemaphore(s)
			c.wantErr("vkWaitSemaphores", c.dev.WaitSemaphores(0, patience, at(s, 0)...))
			c.wantErr("vkSignalSemaphore", c.dev.SignalSemaphore(s, 1))
			_, r := c.dev.CounterValue(s)
			c.wantErr("vkGetSemaphoreCounterValue", r)
			for _, submit := range []func(vk.Queue, vk.Fence, ...vulkan.Batch) vk.Result{c.dev.SubmitBatches,
				c.dev.SubmitBatches2} {
				c.wantErr("a submit that waits for it", submit(c.dev.Queue(), 0, vulkan.Batch{Wait: at(s, 1)}))
				c.wantErr("a submit that signals it", submit(c.dev.Queue(), 0, vulkan.Batch{Signal: at(s, 1)}))
			}
			c.dev.DestroySemaphore(s)
		}),
		row("destroyed_event", func(c *Case) {
			e := c.event()
			c.dev.DestroyEvent(e)
			c.wantErr("vkGetEventStatus", c.dev.EventStatus(e))
			c.wantErr("vkSetEvent", c.dev.SetEvent(e))
			c.wantErr("vkResetEvent", c.dev.ResetEvent(e))
			c.dev.DestroyEvent(e)
		}),
		row("other_kind_of_handle", func(c *Case) {
			f, s := c.fence(0), c.timeline(1)
			c.wantErr("vkWaitForFences of a semaphore", wait(c, vk.Fence(s)))
			c.wantErr("vkSignalSemaphore of a fence", c.dev.SignalSemaphore(vk.Semaphore(f), 2))
			c.wantErr("a submit that waits for a fence",
				c.dev.SubmitBatches(c.dev.Queue(), 0, vulkan.Batch{Wait: at(vk.Semaphore(f), 1)}))
			c.wantErr("a submit with a semaphore as its fence", c.dev.SubmitBatches(c.dev.Queue(), vk.Fence(s)))
			c.dev.DestroyFence(f)
			c.dev.DestroySemaphore(s)
		}),
		row("binary_as_timeline", func(c *Case) {
			b := c.binary()
			c.wantErr("vkSignalSemaphore", c.dev.SignalSemaphore(b, 1))
			c.wantErr("vkWaitSemaphores", c.dev.WaitSemaphores(0, patience, at(b, 1)...))
			_, r := c.dev.CounterValue(b)
			c.wantErr("vkGetSemaphoreCounterValue", r)
			c.dev.DestroySemaphore(b)
		}),
		row("counter_backwards", func(c *Case) {
			s := c.timeline(5)
			c.wantErr("a signal of what is reached", c.dev.SignalSemaphore(s, 5)) // VUID-VkSemaphoreSignalInfo-value-03258
			c.wantErr("a signal of what is past", c.dev.SignalSemaphore(s, 4))
			c.wantValue(s, 5)
			c.dev.DestroySemaphore(s)
		}),
		row("counter_backwards_on_a_queue", func(c *Case) {
			s, f := c.timeline(5), c.fence(0)
			// VUID-VkSubmitInfo-pSignalSemaphores-03242
			r := c.dev.SubmitBatches(c.dev.Queue(), f, vulkan.Batch{Signal: at(s, 4)})
			if r == vk.SUCCESS {
				r = wait(c, f)
			}
			c.wantErr("a signal of what is past", r)
			c.dev.DestroyFence(f)
			c.dev.DestroySemaphore(s)
		}),
		row("null_pointers", func(c *Case) {
			// An array that is missing may count as empty.
			c.dev.CallOn("vkQueueSubmit", uintptr(c.dev.Queue()), 1, 0, 0)
			c.dev.CallOn("vkQueueSubmit2KHR", uintptr(c.dev.Queue()), 1, 0, 0)
			c.dev.Call("vkWaitForFences", 1, 0, 1, 0)
			c.dev.Call("vkResetFences", 1, 0)
			info := vulkan.Struct[vk.SubmitInfo](&c.a)
			info.WaitSemaphoreCount = 3
			c.dev.CallOn("vkQueueSubmit", uintptr(c.dev.Queue()), 1, ptr(info), 0)
			c.wantErr("vkWaitSemaphores", vk.Result(c.dev.Call("vkWaitSemaphoresKHR", 0, 0)))
			c.wantErr("vkSignalSemaphore", vk.Result(c.dev.Call("vkSignalSemaphoreKHR", 0)))
		}),
		row("too_few_values", func(c *Case) {
			// VUID-VkSubmitInfo-pNext-03241
			s := c.timeline(0)
			values := vulkan.Struct[vk.TimelineSemaphoreSubmitInfo](&c.a)
			info := vulkan.Struct[vk.SubmitInfo](&c.a)
			info.PNext = vulkan.Ptr(values)
			info.SignalSemaphoreCount, info.PSignalSemaphores = 1, vulkan.Put(&c.a, s)
			c.wantErr("a timeline semaphore without a value",
				vk.Result(c.dev.CallOn("vkQueueSubmit", uintptr(c.dev.Queue()), 1, ptr(info), 0)))
			c.dev.DestroySemaphore(s)
		}),
		row("device_destroyed_while_blocked", func(c *Case) {
			// Each queue waits for what nobody will signal.
			s := c.stage()
			c.ok(s, "timeline x 0 -")
			for i := range s.queues {
				c.ok(s, "submit %d wait=x:1", i)
			}
			s.abandon()
		}),
		row("semaphore_destroyed_while_blocked", func(c *Case) {
			s, f := c.stage(), "fence f -"
			c.ok(s, "timeline x 0 -")
			c.ok(s, "%s", f)
			c.ok(s, "submit 0 wait=x:1 fence=f")
			c.ok(s, "destroy x")
			c.ask(s, "VK_TIMEOUT", "wait f 0 50")
			s.abandon()
		}),
		row("fence_destroyed_while_waited_for", func(c *Case) {
			f := c.fence(0)
			done := later(func() { c.dev.DestroyFence(f) })
			c.dev.WaitFences(true, 100*millisecond, f)
			done()
		}),
		row("queue_from_many_threads", func(c *Case) {
			// A queue is externally synchronized; these threads don't.
			q, s := c.dev.Queue(), c.timeline(0)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for range 50 {
						c.dev.SubmitBatches(q, 0, vulkan.Batch{Wait: at(s, 1)})
					}
				})
			}
			c.want("vkSignalSemaphore", c.dev.SignalSemaphore(s, 1), vk.SUCCESS)
			wg.Wait()
			c.want("vkQueueWaitIdle", c.dev.QueueWaitIdle(q), vk.SUCCESS)
			c.dev.DestroySemaphore(s)
		}),
	}
}

// sleepCases: who waits, sleeps.
func sleepCases() []definition {
	return []definition{{name: "farside.sync.waits_sleep", farsideOnly: true, extensions: externalExtensions,
		features: syncFeatures,
		queues:   true, run: func(c *Case) {
			const length = time.Second
			s := c.stage()
			c.ok(s, "timeline own 0 -")
			c.ok(s, "timeline shared 0 opaque")
			for i := range s.queues {
				c.ok(s, "submit %d wait=%s:1", i, []string{"own", "shared"}[i%2])
			}
			points := append(at(s.objects["own"].semaphore, 1), at(s.objects["shared"].semaphore, 1)...)
			var wg sync.WaitGroup
			before := processorTime(c)
			for i := range 8 {
				wg.Go(func() {
					r := s.dev.WaitSemaphores(vk.SemaphoreWaitFlags(i%2), uint64(length), points...)
					c.want("vkWaitSemaphores", r, vk.TIMEOUT)
				})
			}
			wg.Wait()
			if took := processorTime(c) - before; took > length/4 {
				c.Errorf("%v of waiting took %v of the processors' time", length, took)
			}
			for _, name := range []string{"own", "shared"} {
				c.ok(s, "signal %s 1", name)
			}
			s.close()
		}}}
}

// processorTime is what the process has used.
func processorTime(c *Case) time.Duration {
	var u unix.Rusage
	c.system("getrusage", unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
