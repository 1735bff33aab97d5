package conformance

import (
	"fmt"
	"sync"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// threadCases record on many threads at once, each into its own pool, and use every queue of the device.
func threadCases() []definition {
	return []definition{
		{name: "api.command_buffers.record_on_many_threads", valid: true, run: func(c *Case) {
			const threads, n = 8, 2000
			m := c.mirror(1)
			var group sync.WaitGroup
			var recorders [threads]*recorder
			var buffers [threads]*mirrorBuffer
			for t := range threads {
				recorders[t], buffers[t] = c.recorder(), m.buffer(4*n)
				for i := range n {
					copy(buffers[t].want[4*i:], []byte{byte(i), byte(i >> 8), byte(t), 9})
				}
			}
			for t := range threads {
				group.Go(func() {
					r := recorders[t]
					r.begin(r.cb, 0)
					for i := range uintptr(n) {
						c.dev.CallOn("vkCmdFillBuffer", uintptr(r.cb), uintptr(buffers[t].handle), 4*i, 4, i|uintptr(t)<<16|9<<24)
					}
					r.end(r.cb)
				})
			}
			group.Wait()
			for _, r := range recorders {
				r.submit(r.cb)
			}
			m.check()
			for _, r := range recorders {
				r.free()
			}
		}},
		{name: "api.command_buffers.every_queue", queues: true, valid: true, run: func(c *Case) {
			for family, p := range c.inst.QueueFamilies(c.pd) {
				var group sync.WaitGroup
				for index := range p.QueueCount {
					r := c.recorderOf(uint32(family))
					src, srcMemory, in := c.mappedBuffer(100_000)
					dst, dstMemory, out := c.mappedBuffer(100_000)
					fill(in, int(index))
					region := vulkan.Put(&r.a, vk.BufferCopy{Size: 100_000})
					r.begin(r.cb, 0)
					r.cmd("vkCmdCopyBuffer", uintptr(src), uintptr(dst), 1, ptr(region))
					r.end(r.cb)
					r.queue = c.dev.QueueOf(uint32(family), index)
					group.Go(func() {
						for range 20 {
							clear(out)
							r.submit(r.cb)
							c.check(fmt.Sprintf("queue %d of family %d", index, family), out, int(index))
						}
						r.free()
						c.dev.DestroyBuffer(src)
						c.dev.DestroyBuffer(dst)
						c.dev.Free(srcMemory)
						c.dev.Free(dstMemory)
					})
				}
				group.Wait()
			}
		}},
	}
}
