package conformance

import "farside/internal/vk"

// execute records vkCmdExecuteCommands.
func (m *mirror) execute(cbs ...vk.CommandBuffer) {
	n, p := array(&m.a, cbs)
	m.cmd("vkCmdExecuteCommands", n, p)
}

func secondaryCases() []definition {
	var cases []definition
	row := func(name string, run func(c *Case)) {
		cases = append(cases, definition{name: "api.command_buffers." + name, valid: true, run: run})
	}
	secondary := func(m *mirror, n int) []vk.CommandBuffer {
		return m.c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_SECONDARY, n)
	}
	row("execute_secondary", func(c *Case) {
		m := c.mirror(1)
		b := m.buffer(4096)
		cbs := secondary(m, 3)
		m.fill(b, 0, 4096, 1)
		m.into(cbs[0], 0, func() { m.fill(b, 0, 1024, 2); m.update(b, 100, []byte("abcdefgh")) })
		m.into(cbs[1], 0, func() { m.fill(b, 512, 2048, 3) })
		m.into(cbs[2], oneTime, func() { m.copyBuffer(b, b, vk.BufferCopy{SrcOffset: 500, DstOffset: 3000, Size: 700}) })
		m.execute(cbs...)
		m.fill(b, 2000, 8, 4)
		m.check()
	})
	row("execute_secondary_many", func(c *Case) {
		m := c.mirror(2)
		r := m.rotation()
		cbs := secondary(m, 100)
		for _, cb := range cbs {
			m.into(cb, 0, r.record)
		}
		m.execute(cbs...)
		m.check()
	})
	row("execute_secondary_twice", func(c *Case) {
		m := c.mirror(3)
		r := m.rotation()
		cb := secondary(m, 1)[0]
		m.into(cb, simultaneous, r.record)
		m.execute(cb)
		m.execute(cb, cb)
		r.again(2)
		m.check()
	})
	row("execute_secondary_images", func(c *Case) {
		m := c.mirror(4)
		i := m.image(plane(vk.FORMAT_R8G8B8A8_UNORM, 16, 16))
		b := m.buffer(1024)
		cb := secondary(m, 1)[0]
		m.into(cb, 0, func() {
			m.bufferToImage(i, b,
				vk.BufferImageCopy{ImageSubresource: vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1},
					ImageExtent: vk.Extent3D{Width: 16, Height: 16, Depth: 1}})
		})
		m.execute(cb)
		m.check()
	})
	return append(cases, definition{name: "farside.command_buffers.secondary_freed", farsideOnly: true,
		run: func(c *Case) {
			m := c.mirror(5)
			b := m.buffer(64)
			cb := secondary(m, 1)
			m.into(cb[0], 0, func() { c.dev.CallOn("vkCmdFillBuffer", uintptr(cb[0]), uintptr(b.handle), 0, 64, 1) })
			m.execute(cb...)
			m.end(m.cb)
			n, p := array(&m.a, cb)
			c.dev.Call("vkFreeCommandBuffers", uintptr(m.pool), n, p)
			c.wantErr("a primary buffer whose secondary one is gone", m.trySubmit(m.cb))
			m.free()
		}})
}
