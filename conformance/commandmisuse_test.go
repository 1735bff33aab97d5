package conformance

import (
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// commandBufferMisuse is what an application must not do with command buffers: it is told, and lives.
func commandBufferMisuse() []definition {
	row := func(name string, run func(c *Case, m *mirror)) definition {
		return definition{name: "farside.command_buffers." + name, farsideOnly: true, run: func(c *Case) {
			m := c.mirror(1)
			run(c, m)
			m.free()
		}}
	}
	fill := func(m *mirror, cb vk.CommandBuffer) {
		b := m.buffer(64)
		m.c.dev.CallOn("vkCmdFillBuffer", uintptr(cb), uintptr(b.handle), 0, 64, 1)
	}
	submit := func(c *Case, what string, cbs ...vk.CommandBuffer) {
		c.wantErr(what, c.dev.SubmitBatches(c.dev.Queue(), 0, vulkan.Batch{Buffers: cbs}))
	}
	primaries := func(m *mirror, n int) []vk.CommandBuffer {
		return m.c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, n)
	}
	return []definition{
		row("submit_initial", func(c *Case, m *mirror) { submit(c, "a buffer that was never begun", primaries(m, 1)...) }),
		row("submit_recording", func(c *Case, m *mirror) {
			fill(m, m.cb)
			submit(c, "a buffer that was not ended", m.cb)
		}),
		row("submit_reset", func(c *Case, m *mirror) {
			m.end(m.cb)
			c.must("vkResetCommandBuffer", vk.Result(c.dev.CallOn("vkResetCommandBuffer", uintptr(m.cb), 0)))
			submit(c, "a buffer that was reset", m.cb)
		}),
		row("submit_garbage", func(c *Case, m *mirror) {
			word := vulkan.Make[uint64](&m.a, 64) // the loader looks at the first word of a handle
			*(*uintptr)(unsafe.Pointer(&word[0])) = *(*uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&m.cb)))
			submit(c, "a handle that is none", vk.CommandBuffer(ptr(&word[0])))
		}),
		row("submit_one_time_twice", func(c *Case, m *mirror) {
			cb := primaries(m, 1)[0]
			m.into(cb, oneTime, func() { fill(m, cb) })
			m.submit(cb)
			submit(c, "a one-time buffer again", cb)
		}),
		row("submit_secondary", func(c *Case, m *mirror) {
			cb := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_SECONDARY, 1)[0]
			m.into(cb, 0, func() { fill(m, cb) })
			submit(c, "a secondary buffer", cb)
		}),
		row("begin_twice", func(c *Case, m *mirror) {
			info := vulkan.Struct[vk.CommandBufferBeginInfo](&m.a)
			c.wantErr("vkBeginCommandBuffer of a buffer in the recording state",
				vk.Result(c.dev.CallOn("vkBeginCommandBuffer", uintptr(m.cb), ptr(info))))
		}),
		row("end_of_initial", func(c *Case, m *mirror) {
			c.wantErr("vkEndCommandBuffer of a buffer that was never begun",
				vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(primaries(m, 1)[0]))))
		}),
		row("freed", func(c *Case, m *mirror) {
			cbs := primaries(m, 3)
			m.into(cbs[0], 0, func() { fill(m, cbs[0]) })
			m.begin(cbs[1], 0)
			n, p := array(&m.a, cbs)
			c.dev.Call("vkFreeCommandBuffers", uintptr(m.pool), n, p)
			for _, cb := range cbs {
				fill(m, cb)
				c.wantErr("vkEndCommandBuffer of a freed buffer", vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(cb))))
			}
			submit(c, "a freed buffer", cbs[0])
			c.dev.Call("vkFreeCommandBuffers", uintptr(m.pool), n, p)
		}),
	}
}
