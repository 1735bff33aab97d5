package conformance

import (
	"encoding/binary"
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
		return definition{name: "synchronization." + name, extensions: externalExtensions, features: syncFeatures,
			queues: true,
			valid:  valid, run: run}
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
			c.wantTimeout("waiting for any of 300", 20*millisecond,
				func(t uint64) vk.Result { return c.dev.WaitFences(false, t, fences...) })
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
				c.wantTimeout("waiting for a shared payload", t,
					func(t uint64) vk.Result { return near.dev.WaitSemaphores(0, t, at(imported, 1)...) })
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
		external("op.cross_process.hammer", true, hammerProcesses),
		external("op.cross_process.ownership", true, passOwnership),
		{name: "nv.external_memory_rdma.device_and_peer", extensions: []string{rdmaExtension, fdExtension},
			features: rdmaFeature,
			valid:    true, run: devicePeer},
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

// hammerProcesses lets all queues of two devices and of another process work on one payload: each task writes its
// number, and takes down what the tasks wrote that it waits for, on queues that may be anywhere.
func hammerProcesses(c *Case) {
	const tasks, most = 400, 3
	near, other, far := c.stage(), c.stage(), c.farStage()
	defer near.close()
	defer other.close()
	defer far.end()
	actors := []actor{near, other, far}
	queues := len(near.queues)
	c.ok(near, "memory m mapped")
	for i, a := range actors {
		if i > 0 {
			c.share(near, a, "m", "mapped")
		}
	}
	// Each queue has a timeline, which all actors share.
	for q := range len(actors) * queues {
		name := fmt.Sprint("s", q)
		for i, a := range actors {
			c.ok(a, "timeline %s 0 opaque", name)
			if i > 0 {
				c.pass(near, a, name, "opaque", "permanent")
			}
		}
	}
	// The tasks wait for earlier ones, and each actor submits its own in order, so that they all come to an end.
	type task struct{ queue, seq int }
	rng := rand.New(rand.NewPCG(7, 11))
	var all [tasks]task
	var notes [tasks][]int
	orders := make([][]string, len(actors))
	counts := make([]int, len(actors)*queues)
	cell := func(t, i int) int { return 4 * (t*(most+1) + i) } // the task's word, and then its notes
	for t := range tasks {
		q := rng.IntN(len(counts))
		counts[q]++
		all[t] = task{q, counts[q]}
		order := fmt.Sprintf("submit %d word=m:%d:%d", q%queues, cell(t, 0), t+1)
		for i := range min(t, most) {
			d := max(0, t-1-rng.IntN(40))
			notes[t] = append(notes[t], d)
			order += fmt.Sprintf(" wait=s%d:%d move=m:%d:%d", all[d].queue, all[d].seq, cell(t, i+1), cell(d, 0))
		}
		order += fmt.Sprintf(" signal=s%d:%d", q, counts[q])
		orders[q/queues] = append(orders[q/queues], order)
	}
	var wg sync.WaitGroup
	for i, a := range actors {
		wg.Go(func() {
			for _, order := range orders[i] {
				if got := a.do(order); got != "VK_SUCCESS" {
					c.Errorf("%s: %s", order, got)
				}
			}
		})
	}
	wg.Wait()
	for q, n := range counts {
		c.ok(near, "wait s%d %d 60000", q, n)
	}
	b := near.objects["m"].bytes
	for t := range tasks {
		if got := binary.NativeEndian.Uint32(b[cell(t, 0):]); got != uint32(t+1) {
			c.Errorf("task %d wrote %d", t+1, got)
		}
		for i, d := range notes[t] {
			if got := binary.NativeEndian.Uint32(b[cell(t, i+1):]); got != uint32(d+1) {
				c.Errorf("task %d on queue %d read %d from task %d on queue %d", t+1, all[t].queue, got, d+1, all[d].queue)
			}
		}
	}
	for _, a := range actors {
		c.ok(a, "idle")
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
