package conformance

import (
	"slices"
	"sync"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// timeline and binary make a semaphore of the case's device.
func (c *Case) timeline(initial uint64) vk.Semaphore {
	s, r := c.dev.CreateSemaphore(vulkan.SemaphoreTypeInfo(&c.a, initial, nil))
	c.must("vkCreateSemaphore", r)
	return s
}

func (c *Case) binary() vk.Semaphore {
	s, r := c.dev.CreateSemaphore(nil)
	c.must("vkCreateSemaphore", r)
	return s
}

// at is a list of one point.
func at(s vk.Semaphore, value uint64) []vulkan.Point {
	return []vulkan.Point{{Semaphore: s, Value: value}}
}

// wantValue compares a timeline semaphore's counter.
func (c *Case) wantValue(s vk.Semaphore, want uint64) {
	if v, r := c.dev.CounterValue(s); r != vk.SUCCESS || v != want {
		c.Errorf("counter value %d (%v), want %d", v, r, want)
	}
}

// A submitter is vkQueueSubmit or vkQueueSubmit2.
type submitter func(c *Case, q vk.Queue, fence vk.Fence, batches ...vulkan.Batch)

func submit1(c *Case, q vk.Queue, fence vk.Fence, batches ...vulkan.Batch) {
	c.must("vkQueueSubmit", c.dev.SubmitBatches(q, fence, batches...))
}

func submit2(c *Case, q vk.Queue, fence vk.Fence, batches ...vulkan.Batch) {
	c.must("vkQueueSubmit2", c.dev.SubmitBatches2(q, fence, batches...))
}

// forms makes each row twice: with vkQueueSubmit and with vkQueueSubmit2.
func forms(group string, rows []struct {
	name string
	run  func(c *Case, submit submitter)
}) []definition {
	var all []definition
	for _, form := range []struct {
		prefix     string
		submit     submitter
		extensions []string
		features   func(*vulkan.Arena) unsafe.Pointer
	}{{"synchronization.", submit1, syncExtensions, syncFeatures},
		{"synchronization2.", submit2, sync2Extensions, sync2Features}} {
		for _, r := range rows {
			all = append(all, definition{name: form.prefix + group + r.name, extensions: form.extensions,
				features: form.features,
				queues:   true, valid: !slices.Contains(layerLoses, r.name), run: func(c *Case) { r.run(c, form.submit) }})
		}
	}
	return all
}

// fenced submits and waits for it.
func (c *Case) fenced(submit submitter, q vk.Queue, batches ...vulkan.Batch) {
	f := c.fence(0)
	submit(c, q, f, batches...)
	c.want("vkWaitForFences", c.dev.WaitFences(true, forever, f), vk.SUCCESS)
	c.dev.DestroyFence(f)
}

func binaryCases() []definition {
	return forms("basic.binary_semaphore.", []struct {
		name string
		run  func(c *Case, submit submitter)
	}{
		{"one_queue", func(c *Case, submit submitter) {
			s, q := c.binary(), c.dev.Queue()
			for range 20 {
				submit(c, q, 0, vulkan.Batch{Signal: at(s, 0)})
				c.fenced(submit, q, vulkan.Batch{Wait: at(s, 0)})
			}
			c.dev.DestroySemaphore(s)
		}},
		{"one_submit", func(c *Case, submit submitter) {
			s := c.binary()
			c.fenced(submit, c.dev.Queue(), vulkan.Batch{Signal: at(s, 0)}, vulkan.Batch{Wait: at(s, 0), Signal: at(s, 0)},
				vulkan.Batch{Wait: at(s, 0)})
			c.dev.DestroySemaphore(s)
		}},
		{"chain", func(c *Case, submit submitter) {
			chain := make([]vk.Semaphore, 500)
			batches := make([]vulkan.Batch, len(chain)+1)
			for i := range chain {
				chain[i] = c.binary()
				batches[i].Signal = at(chain[i], 0)
				batches[i+1].Wait = at(chain[i], 0)
			}
			c.fenced(submit, c.dev.Queue(), batches...)
			for _, s := range chain {
				c.dev.DestroySemaphore(s)
			}
		}},
		{"wait_for_many", func(c *Case, submit submitter) {
			var points []vulkan.Point
			for range 32 {
				points = append(points, vulkan.Point{Semaphore: c.binary()})
			}
			for range 3 {
				submit(c, c.dev.Queue(), 0, vulkan.Batch{Signal: points})
				c.fenced(submit, c.dev.Queue(), vulkan.Batch{Wait: points})
			}
			for _, p := range points {
				c.dev.DestroySemaphore(p.Semaphore)
			}
		}},
		{"multi_queue", func(c *Case, submit submitter) {
			// A ring through all queues, begun and ended by the first.
			queues := c.queues(c.dev)
			ring := make([]vk.Semaphore, len(queues))
			for i := range ring {
				ring[i] = c.binary()
			}
			for range 10 {
				submit(c, queues[0].Queue, 0, vulkan.Batch{Signal: at(ring[0], 0)})
				for i := 1; i < len(queues); i++ {
					submit(c, queues[i].Queue, 0, vulkan.Batch{Wait: at(ring[i-1], 0), Signal: at(ring[i], 0)})
				}
				c.fenced(submit, queues[0].Queue, vulkan.Batch{Wait: at(ring[len(ring)-1], 0)})
			}
			c.want("vkDeviceWaitIdle", c.dev.WaitIdle(), vk.SUCCESS)
			for _, s := range ring {
				c.dev.DestroySemaphore(s)
			}
		}},
		{"mixed_with_timeline", func(c *Case, submit submitter) {
			// The value that goes with a binary semaphore is ignored.
			b, t := c.binary(), c.timeline(5)
			both := []vulkan.Point{{Semaphore: b, Value: 77}, {Semaphore: t, Value: 9}}
			submit(c, c.dev.Queue(), 0, vulkan.Batch{Signal: both})
			c.fenced(submit, c.dev.Queue(), vulkan.Batch{Wait: both, Signal: at(t, 10)})
			c.wantValue(t, 10)
			c.dev.DestroySemaphore(b)
			c.dev.DestroySemaphore(t)
		}},
	})
}

func timelineCases() []definition {
	return slices.Concat(forms("timeline_semaphore.", []struct {
		name string
		run  func(c *Case, submit submitter)
	}{
		{"one_queue", func(c *Case, submit submitter) {
			s, q := c.timeline(0), c.dev.Queue()
			for v := range uint64(20) {
				submit(c, q, 0, vulkan.Batch{Signal: at(s, 2*v+1)})
				c.fenced(submit, q, vulkan.Batch{Wait: at(s, 2*v+1), Signal: at(s, 2*v+2)})
				c.wantValue(s, 2*v+2)
			}
			c.dev.DestroySemaphore(s)
		}},
		{"wait_before_signal_by_host", func(c *Case, submit submitter) {
			s, q, f := c.timeline(3), c.dev.Queue(), c.fence(0)
			submit(c, q, f, vulkan.Batch{Wait: at(s, 4), Signal: at(s, 5)}, vulkan.Batch{Wait: at(s, 5), Signal: at(s, 100)})
			c.wantTimeout("waiting for a blocked submit", 30*millisecond,
				func(t uint64) vk.Result { return c.dev.WaitFences(true, t, f) })
			c.wantValue(s, 3)
			c.must("vkSignalSemaphore", c.dev.SignalSemaphore(s, 4))
			c.want("vkWaitForFences", c.dev.WaitFences(true, forever, f), vk.SUCCESS)
			c.wantValue(s, 100)
			c.dev.DestroyFence(f)
			c.dev.DestroySemaphore(s)
		}},
		{"wait_before_signal_across_queues", func(c *Case, submit submitter) {
			// Every queue waits for the next one's signal, and the last for the host's.
			queues := c.queues(c.dev)
			s := c.timeline(0)
			n := uint64(len(queues))
			for round := range uint64(10) {
				base := round * (n + 1)
				for i, q := range queues {
					submit(c, q.Queue, 0, vulkan.Batch{Wait: at(s, base+n-uint64(i)), Signal: at(s, base+n-uint64(i)+1)})
					if n == 1 {
						break
					}
				}
				c.wantTimeout("waiting for the ring", 2*millisecond,
					func(t uint64) vk.Result { return c.dev.WaitSemaphores(0, t, at(s, base+n+1)...) })
				c.must("vkSignalSemaphore", c.dev.SignalSemaphore(s, base+1))
				c.want("vkWaitSemaphores", c.dev.WaitSemaphores(0, forever, at(s, base+n+1)...), vk.SUCCESS)
			}
			c.want("vkDeviceWaitIdle", c.dev.WaitIdle(), vk.SUCCESS)
			c.dev.DestroySemaphore(s)
		}},
		{"host_and_device_in_turns", func(c *Case, submit submitter) {
			s, q := c.timeline(0), c.dev.Queue()
			for v := range uint64(100) {
				submit(c, q, 0, vulkan.Batch{Wait: at(s, 2*v+1), Signal: at(s, 2*v+2)})
			}
			for v := range uint64(100) {
				c.must("vkSignalSemaphore", c.dev.SignalSemaphore(s, 2*v+1))
				c.want("vkWaitSemaphores", c.dev.WaitSemaphores(0, forever, at(s, 2*v+2)...), vk.SUCCESS)
				c.wantValue(s, 2*v+2)
			}
			c.want("vkQueueWaitIdle", c.dev.QueueWaitIdle(q), vk.SUCCESS)
			c.dev.DestroySemaphore(s)
		}},
		{"one_to_many", func(c *Case, submit submitter) {
			// Each queue has many waits on the same semaphore; one signal releases them all.
			gate, done := c.timeline(0), []vk.Semaphore{}
			const each = 20
			for _, q := range c.queues(c.dev) {
				s := c.timeline(0)
				done = append(done, s)
				for v := range uint64(each) {
					submit(c, q.Queue, 0, vulkan.Batch{Wait: at(gate, v+1), Signal: at(s, v+1)})
				}
			}
			for _, s := range done {
				c.wantValue(s, 0)
			}
			later(func() { c.must("vkSignalSemaphore", c.dev.SignalSemaphore(gate, each)) })()
			for _, s := range done {
				c.want("vkWaitSemaphores", c.dev.WaitSemaphores(0, forever, at(s, each)...), vk.SUCCESS)
			}
			c.want("vkDeviceWaitIdle", c.dev.WaitIdle(), vk.SUCCESS)
			for _, s := range append(done, gate) {
				c.dev.DestroySemaphore(s)
			}
		}},
		{"wait_idle_waits", func(c *Case, submit submitter) {
			s := c.timeline(0)
			submit(c, c.dev.Queue(), 0, vulkan.Batch{Wait: at(s, 1), Signal: at(s, 2)})
			done := later(func() { c.must("vkSignalSemaphore", c.dev.SignalSemaphore(s, 1)) })
			c.want("vkQueueWaitIdle", c.dev.QueueWaitIdle(c.dev.Queue()), vk.SUCCESS)
			c.wantValue(s, 2)
			done()
			submit(c, c.dev.Queue(), 0, vulkan.Batch{Wait: at(s, 3), Signal: at(s, 4)})
			done = later(func() { c.must("vkSignalSemaphore", c.dev.SignalSemaphore(s, 3)) })
			c.want("vkDeviceWaitIdle", c.dev.WaitIdle(), vk.SUCCESS)
			c.wantValue(s, 4)
			done()
			c.dev.DestroySemaphore(s)
		}},
	}), timelineHostCases())
}

// timelineHostCases ask what the host does with timeline semaphores, without a queue.
func timelineHostCases() []definition {
	const anyOf = vk.SemaphoreWaitFlags(vk.SEMAPHORE_WAIT_ANY_BIT)
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "synchronization.timeline_semaphore.host." + name, extensions: syncExtensions,
			features: syncFeatures, valid: !slices.Contains(layerLoses, name), run: run}
	}
	return []definition{
		row("initial_value", func(c *Case) {
			for _, v := range []uint64{0, 1, 1 << 31, 1 << 32, 1<<63 - 1, 1 << 63, ^uint64(0) - 1} {
				s := c.timeline(v)
				c.wantValue(s, v)
				c.want("waiting for what is reached", c.dev.WaitSemaphores(0, 0, at(s, v)...), vk.SUCCESS)
				c.want("waiting for what isn't", c.dev.WaitSemaphores(0, 0, at(s, v+1)...), vk.TIMEOUT)
				c.must("vkSignalSemaphore", c.dev.SignalSemaphore(s, v+1))
				c.wantValue(s, v+1)
				c.want("waiting for what is reached now", c.dev.WaitSemaphores(0, 0, at(s, v+1)...), vk.SUCCESS)
				c.dev.DestroySemaphore(s)
			}
		}),
		row("timeouts", func(c *Case) {
			a, b := c.timeline(0), c.timeline(0)
			both := append(at(a, 1), at(b, 1)...)
			for _, t := range timeouts {
				c.wantTimeout("waiting for one", t, func(t uint64) vk.Result { return c.dev.WaitSemaphores(0, t, at(a, 1)...) })
				c.wantTimeout("waiting for all", t, func(t uint64) vk.Result { return c.dev.WaitSemaphores(0, t, both...) })
				c.wantTimeout("waiting for any", t, func(t uint64) vk.Result { return c.dev.WaitSemaphores(anyOf, t, both...) })
			}
			c.dev.DestroySemaphore(a)
			c.dev.DestroySemaphore(b)
		}),
		row("wait_all_and_any", func(c *Case) {
			a, b := c.timeline(0), c.timeline(0)
			both := append(at(a, 1), at(b, 2)...)
			c.must("vkSignalSemaphore", c.dev.SignalSemaphore(b, 2))
			c.want("waiting for any", c.dev.WaitSemaphores(anyOf, forever, both...), vk.SUCCESS)
			c.wantTimeout("waiting for all", millisecond,
				func(t uint64) vk.Result { return c.dev.WaitSemaphores(0, t, both...) })
			done := later(func() { c.must("vkSignalSemaphore", c.dev.SignalSemaphore(a, 7)) })
			c.want("waiting for all", c.dev.WaitSemaphores(0, forever, both...), vk.SUCCESS)
			done()
			done = later(func() { c.must("vkSignalSemaphore", c.dev.SignalSemaphore(b, 3)) })
			c.want("waiting for any", c.dev.WaitSemaphores(anyOf, forever, append(at(a, 8), at(b, 3)...)...), vk.SUCCESS)
			done()
			c.dev.DestroySemaphore(a)
			c.dev.DestroySemaphore(b)
		}),
		row("one_semaphore_twice", func(c *Case) {
			s := c.timeline(1)
			c.want("waiting for any of two values", c.dev.WaitSemaphores(anyOf, forever, append(at(s, 9), at(s, 1)...)...),
				vk.SUCCESS)
			c.wantTimeout("waiting for all of two values", millisecond, func(t uint64) vk.Result {
				return c.dev.WaitSemaphores(0, t, append(at(s, 9), at(s, 1)...)...)
			})
			c.dev.DestroySemaphore(s)
		}),
		row("waiters_of_every_value", func(c *Case) {
			s := c.timeline(0)
			results := make([]vk.Result, 64)
			var wg sync.WaitGroup
			for i := range results {
				wg.Go(func() { results[i] = c.dev.WaitSemaphores(0, forever, at(s, uint64(i+1))...) })
			}
			later(func() {
				for i := range results {
					c.must("vkSignalSemaphore", c.dev.SignalSemaphore(s, uint64(i+1)))
				}
			})()
			wg.Wait()
			for _, r := range results {
				c.want("vkWaitSemaphores", r, vk.SUCCESS)
			}
			c.dev.DestroySemaphore(s)
		}),
		row("ping_pong", func(c *Case) {
			// Two threads take turns; a lost wake-up hangs the case.
			s := c.timeline(0)
			const turns = 2000
			var wg sync.WaitGroup
			for side := range uint64(2) {
				wg.Go(func() {
					for v := side; v < turns; v += 2 {
						if r := c.dev.WaitSemaphores(0, forever, at(s, v)...); r != vk.SUCCESS {
							c.Errorf("waiting for %d: %v", v, r)
						}
						if r := c.dev.SignalSemaphore(s, v+1); r != vk.SUCCESS {
							c.Errorf("signalling %d: %v", v+1, r)
						}
					}
				})
			}
			wg.Wait()
			c.wantValue(s, turns)
			c.dev.DestroySemaphore(s)
		}),
		row("counter_never_falls", func(c *Case) {
			s, q := c.timeline(0), c.dev.Queue()
			const last = 500
			result := vk.SUCCESS
			var wg sync.WaitGroup
			wg.Go(func() {
				for v := uint64(1); v <= last && result == vk.SUCCESS; v++ {
					result = c.dev.SubmitBatches(q, 0, vulkan.Batch{Signal: at(s, v)})
				}
				if result != vk.SUCCESS {
					c.dev.SignalSemaphore(s, last)
				}
			})
			for before := uint64(0); before < last; {
				v, r := c.dev.CounterValue(s)
				if r != vk.SUCCESS || v < before {
					c.Fatalf("the counter went from %d to %d: %v", before, v, r)
				}
				before = v
				c.dev.WaitSemaphores(0, millisecond, at(s, min(v+50, last))...)
			}
			wg.Wait()
			c.want("vkQueueSubmit", result, vk.SUCCESS)
			c.want("vkQueueWaitIdle", c.dev.QueueWaitIdle(q), vk.SUCCESS)
			c.dev.DestroySemaphore(s)
		}),
		row("properties", func(c *Case) {
			p := vulkan.Struct[vk.PhysicalDeviceTimelineSemaphoreProperties](&c.a)
			c.inst.Properties2(c.pd, unsafe.Pointer(p))
			if p.MaxTimelineSemaphoreValueDifference < 1<<31-1 {
				c.Errorf("maxTimelineSemaphoreValueDifference is %d", p.MaxTimelineSemaphoreValueDifference)
			}
		}),
	}
}
