package conformance

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// orderCases ask about several primitives and queues at once.
func orderCases() []definition {
	row := func(name string, valid bool, run func(c *Case)) definition {
		return definition{name: "synchronization." + name, extensions: syncExtensions, features: syncFeatures, queues: true,
			valid: valid, run: run}
	}
	external := func(name string, valid bool, run func(c *Case)) definition {
		return definition{name: "synchronization." + name, extensions: externalExtensions, features: syncFeatures, queues: true,
			valid: valid, run: run}
	}
	const anyOf = vk.SemaphoreWaitFlags(vk.SEMAPHORE_WAIT_ANY_BIT)
	return []definition{
		row("signal_order.timeline", true, func(c *Case) {
			// Signals of one queue happen in the order of their submission, across batches and submits.
			q, a, b := c.dev.Queue(), c.timeline(0), c.timeline(0)
			for v := uint64(1); v <= 200; v++ {
				submit1(c, q, 0, vulkan.Batch{Signal: at(a, v)}, vulkan.Batch{Signal: at(b, v)})
			}
			for v := uint64(0); v < 200; {
				later, r := c.dev.CounterValue(b)
				c.must("vkGetSemaphoreCounterValue", r)
				earlier, r := c.dev.CounterValue(a)
				c.must("vkGetSemaphoreCounterValue", r)
				if earlier < later {
					c.Fatalf("signal %d of the later batch came before that of the earlier, which stands at %d", later, earlier)
				}
				v = later
				c.want("vkWaitSemaphores", c.dev.WaitSemaphores(0, forever, at(b, min(v+1, 200))...), vk.SUCCESS)
			}
			c.want("vkQueueWaitIdle", c.dev.QueueWaitIdle(q), vk.SUCCESS)
			c.dev.DestroySemaphore(a)
			c.dev.DestroySemaphore(b)
		}),
		row("basic.fence.any_of_300", true, func(c *Case) {
			fences := make([]vk.Fence, 300)
			for i := range fences {
				fences[i] = c.fence(0)
			}
			c.wantTimeout("waiting for any of 300", 20*millisecond, func(t uint64) vk.Result { return c.dev.WaitFences(false, t, fences...) })
			for _, i := range []int{299, 150, 0} {
				c.must("vkQueueSubmit", c.dev.SubmitBatches(c.dev.Queue(), fences[i]))
				c.want("waiting for any of 300", c.dev.WaitFences(false, forever, fences...), vk.SUCCESS)
				c.want("status of the one", c.dev.FenceStatus(fences[i]), vk.SUCCESS)
				c.must("vkResetFences", c.dev.ResetFences(fences[i]))
			}
			for _, f := range fences {
				c.dev.DestroyFence(f)
			}
		}),
		row("timeline_semaphore.host.any_and_all_of_300", false, func(c *Case) {
			points := make([]vulkan.Point, 300)
			for i := range points {
				points[i] = vulkan.Point{Semaphore: c.timeline(0), Value: 1}
			}
			for _, i := range []int{299, 140} {
				done := later(func() { c.dev.SignalSemaphore(points[i].Semaphore, 1) })
				c.want("waiting for any of 300", c.dev.WaitSemaphores(anyOf, forever, points...), vk.SUCCESS)
				done()
				points[i].Value = 2
			}
			done := later(func() {
				for _, p := range points {
					c.dev.SignalSemaphore(p.Semaphore, p.Value)
				}
			})
			c.want("waiting for all of 300", c.dev.WaitSemaphores(0, forever, points...), vk.SUCCESS)
			done()
			for _, p := range points {
				c.dev.DestroySemaphore(p.Semaphore)
			}
		}),
		row("op.hammer", true, hammerQueues),
		external("timeline_semaphore.cross_process.timeouts", true, func(c *Case) {
			near, far := c.stage(), c.farStage()
			defer near.close()
			defer far.end()
			c.ok(near, "timeline x 0 opaque")
			c.ok(far, "timeline x 0 -")
			c.pass(near, far, "x", "opaque", "permanent")
			imported := near.objects["x"].semaphore
			for _, t := range timeouts {
				c.wantTimeout("waiting for a shared payload", t, func(t uint64) vk.Result { return near.dev.WaitSemaphores(0, t, at(imported, 1)...) })
			}
		}),
		external("timeline_semaphore.cross_process.any_of_shared_and_own", false, func(c *Case) {
			near, far := c.stage(), c.farStage()
			defer near.close()
			defer far.end()
			for _, name := range []string{"x", "y"} {
				c.ok(near, "timeline %s 0 opaque", name)
				c.ok(far, "timeline %s 0 -", name)
				c.pass(near, far, name, "opaque", "permanent")
			}
			c.ok(near, "timeline own 0 -")
			points := func(v uint64) []vulkan.Point {
				var p []vulkan.Point
				for _, name := range []string{"own", "x", "y"} {
					p = append(p, vulkan.Point{Semaphore: near.objects[name].semaphore, Value: v})
				}
				return p
			}
			done := later(func() { c.ok(far, "submit 0 signal=y:1") })
			c.want("waiting for any", near.dev.WaitSemaphores(anyOf, forever, points(1)...), vk.SUCCESS)
			done()
			done = later(func() {
				c.ok(far, "submit 0 signal=x:1")
				c.ok(near, "signal own 1")
			})
			c.want("waiting for all", near.dev.WaitSemaphores(0, forever, points(1)...), vk.SUCCESS)
			done()
		}),
		external("timeline_semaphore.cross_process.waiters_of_every_value", false, func(c *Case) {
			near, far := c.stage(), c.farStage()
			defer near.close()
			defer far.end()
			c.ok(near, "timeline x 0 opaque")
			c.ok(far, "timeline x 0 -")
			c.pass(near, far, "x", "opaque", "permanent")
			var wg sync.WaitGroup
			results := make([]vk.Result, 24)
			for i := range results {
				wg.Go(func() {
					results[i] = near.dev.WaitSemaphores(0, forever, at(near.objects["x"].semaphore, uint64(i+1))...)
				})
			}
			for i := range results {
				c.ok(far, "submit 0 signal=x:%d", i+1)
			}
			wg.Wait()
			for _, r := range results {
				c.want("vkWaitSemaphores", r, vk.SUCCESS)
			}
		}),
		external("timeline_semaphore.cross_process.ping_pong", true, func(c *Case) {
			// far's queue has all its waits from the beginning; a lost wake-up hangs the case.
			near, far := c.stage(), c.farStage()
			defer near.close()
			defer far.end()
			const turns = 300
			c.ok(near, "timeline x 0 opaque")
			c.ok(far, "timeline x 0 -")
			c.pass(near, far, "x", "opaque", "permanent")
			for v := range turns {
				c.ok(far, "submit 0 wait=x:%d signal=x:%d", 2*v+1, 2*v+2)
			}
			for v := range turns {
				c.ok(near, "signal x %d", 2*v+1)
				c.ok(near, "wait x %d 20000", 2*v+2)
			}
			c.ok(far, "idle")
		}),
		external("op.cross_process.ownership", true, passOwnership),
		{name: "nv.external_memory_rdma.device_and_peer", extensions: []string{rdmaExtension, fdExtension}, features: rdmaFeature,
			valid: true, run: devicePeer},
	}
}

// hammerQueues lets threads submit to all queues at once. Batch n of a queue waits for batch n-1 of any
// queue, which often is yet to be submitted, and writes n.
func hammerQueues(c *Case) {
	const batches = 120
	s := c.stage()
	defer s.close()
	for i := range s.queues {
		c.ok(s, "timeline s%d 0 -", i)
		c.ok(s, "memory m%d mapped", i)
		c.ok(s, "memory d%d device", i)
	}
	var wg sync.WaitGroup
	for i := range s.queues {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 4))
			for n := 1; n <= batches; n++ {
				other := rng.IntN(len(s.queues))
				if got := s.do(fmt.Sprintf("submit %d wait=s%d:%d fill=d%d:%d copy=m%d:d%d signal=s%d:%d",
					i, other, n-1, i, n%256, i, i, i, n)); got != "VK_SUCCESS" {
					c.Errorf("vkQueueSubmit: %s", got)
				}
			}
		})
	}
	wg.Wait()
	for i := range s.queues {
		c.ok(s, "wait s%d %d 60000", i, batches)
		c.ok(s, "check m%d %d", i, batches%256)
	}
}

// passOwnership passes a buffer that belongs to one queue family to another process and back, by barriers
// that release and acquire it.
func passOwnership(c *Case) {
	near, far := c.stage(), c.farStage()
	defer near.close()
	defer far.end()
	for _, a := range []actor{near, far} {
		c.ok(a, "binary there opaque")
		c.ok(a, "binary back opaque")
		c.ok(a, "fence done -")
		c.ok(a, "memory out mapped")
	}
	c.ok(near, "memory m exclusive")
	c.share(near, far, "m", "exclusive")
	c.pass(near, far, "there", "opaque", "permanent")
	c.pass(far, near, "back", "opaque", "permanent")
	for n := 1; n <= 3; n++ {
		c.ok(near, "submit 0 fill=m:%d release=m signal=there", n)
		c.ok(far, "submit 0 wait=there acquire=m copy=out:m fill=m:%d release=m signal=back fence=done", 100+n)
		c.ok(far, "wait done 0 20000")
		c.ok(far, "reset done")
		c.ok(far, "check out %d", n)
		c.ok(near, "submit 0 wait=back acquire=m copy=out:m fence=done")
		c.ok(near, "wait done 0 20000")
		c.ok(near, "reset done")
		c.ok(near, "check out %d", 100+n)
	}
}

// devicePeer: what the device writes to RDMA memory is what a peer reads by its remote address after the
// fence, and the other way round.
func devicePeer(c *Case) {
	m, address := c.remote()
	remote, r := c.dev.CreateBuffer(rdmaSize, rdmaAddress)
	c.must("vkCreateBuffer", r)
	c.must("vkBindBufferMemory", c.dev.BindBuffer(remote, m, 0))
	b := c.transferBuffers(rdmaSize)
	p := c.start("rdma_peer")
	for seed := 1; seed <= 5; seed++ {
		fill(b.bytes[0], seed)
		c.must("copy to RDMA memory", c.dev.CopyBuffer(remote, b.src, rdmaSize))
		p.ask("ok 0", "check %d %d %d", address, seed, rdmaSize)
		p.ask("ok 0", "write %d %d %d", address, 100+seed, rdmaSize)
		c.must("copy from RDMA memory", c.dev.CopyBuffer(b.dst, remote, rdmaSize))
		c.check("what the peer wrote", b.bytes[1], 100+seed)
	}
	p.end()
	b.free(c)
	c.dev.DestroyBuffer(remote)
	c.dev.Free(m)
}
