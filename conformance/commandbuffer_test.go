package conformance

import (
	"encoding/binary"
	"math/rand/v2"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	oneTime      = vk.CommandBufferUsageFlags(vk.COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
	simultaneous = vk.CommandBufferUsageFlags(vk.COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT)
	releaseAll   = uintptr(vk.COMMAND_BUFFER_RESET_RELEASE_RESOURCES_BIT)
)

// into records what f records into another command buffer.
func (m *mirror) into(cb vk.CommandBuffer, flags vk.CommandBufferUsageFlags, f func()) {
	primary := m.cb
	m.cb = cb
	m.begin(cb, flags)
	f()
	m.end(cb)
	m.cb = primary
}

// rotation is a buffer that each execution of some commands moves on by a word, so that its contents tell how
// often they were executed.
type rotation struct {
	m             *mirror
	words, spare  *mirrorBuffer
	forth, around []vk.BufferCopy
}

const rotationSize = 256

func (m *mirror) rotation() *rotation {
	return &rotation{m: m, words: m.buffer(rotationSize), spare: m.buffer(rotationSize),
		forth: []vk.BufferCopy{{Size: rotationSize}},
		around: []vk.BufferCopy{{SrcOffset: 0, DstOffset: 4, Size: rotationSize - 4},
			{SrcOffset: rotationSize - 4, DstOffset: 0, Size: 4}}}
}

// record records the turn by one word; the reference turns too.
func (r *rotation) record() {
	r.m.copyBuffer(r.spare, r.words, r.forth...)
	r.m.copyBuffer(r.words, r.spare, r.around...)
}

// again is what n more executions do.
func (r *rotation) again(n int) {
	for range n {
		copy(r.spare.want, r.words.want)
		copy(r.words.want, r.spare.want[rotationSize-4:])
		copy(r.words.want[4:], r.spare.want)
	}
}

func commandBufferCases() []definition {
	var cases []definition
	row := func(name string, run func(c *Case)) {
		cases = append(cases, definition{name: "api.command_buffers." + name, valid: true, run: run})
	}
	row("record_many", func(c *Case) { // the stream grows by many pieces
		const n = 100_000
		m := c.mirror(5)
		b := m.buffer(4 * n)
		name, cb, buffer := "vkCmdFillBuffer", uintptr(m.cb), uintptr(b.handle)
		for i := range uintptr(n) {
			c.dev.CallOn(name, cb, buffer, 4*i, 4, i*2654435761&0xffffffff)
			binary.LittleEndian.PutUint32(b.want[4*i:], uint32(i*2654435761))
		}
		m.check()
	})
	row("record_many_mixed", func(c *Case) {
		m := c.mirror(6)
		b, d := m.buffer(1<<20), m.buffer(1<<20)
		data := make([]byte, 65536)
		for i := range 2000 { // updates of 64 KiB are larger than any piece of a stream is likely to be
			switch at := uint64(m.rng.IntN(1<<20-65536) &^ 3); i % 4 {
			case 0:
				m.fill(b, at, uint64(4+m.rng.IntN(4000)&^3), m.rng.Uint32())
			case 1:
				n := 4 + m.rng.IntN(65536-4)&^3
				if i%100 != 1 {
					n = min(n, 256)
				}
				data[m.rng.IntN(n)]++
				m.update(d, at, data[:n])
			default:
				m.copyBuffer(d, b, vk.BufferCopy{SrcOffset: at, DstOffset: uint64(m.rng.IntN(1 << 19)),
					Size: uint64(1 + m.rng.IntN(5000))})
			}
		}
		m.check()
	})
	row("submit_many", func(c *Case) { // one buffer many times, in one batch, in many batches, in many submissions
		m := c.mirror(7)
		r := m.rotation()
		cb := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 1)[0]
		m.into(cb, simultaneous, r.record)
		q := c.dev.Queue()
		var cbs []vk.CommandBuffer
		for range 50 {
			cbs = append(cbs, cb)
		}
		c.must("a batch of the same buffer", c.dev.SubmitBatches(q, 0, vulkan.Batch{Buffers: cbs}))
		c.must("batches of the same buffer", c.dev.SubmitBatches(q, 0, vulkan.Batch{Buffers: cbs[:7]}, vulkan.Batch{},
			vulkan.Batch{Buffers: cbs[:3]}))
		for range 300 {
			c.must("a submission", c.dev.SubmitBatches(q, 0, vulkan.Batch{Buffers: cbs[:1]}))
		}
		r.again(50 + 10 + 300 - 1)
		m.check()
	})
	row("submit_again", func(c *Case) { // not simultaneous: wait, then submit again
		m := c.mirror(8)
		r := m.rotation()
		cb := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 1)[0]
		m.into(cb, 0, r.record)
		for range 20 {
			m.submit(cb)
		}
		r.again(19)
		m.check()
	})
	row("record_one_time_submit", func(c *Case) {
		m := c.mirror(9)
		r := m.rotation()
		cb := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 1)[0]
		for range 20 { // vkBeginCommandBuffer resets it
			m.into(cb, oneTime, r.record)
			m.submit(cb)
		}
		m.check()
	})
	row("reset", func(c *Case) {
		m := c.mirror(10)
		b := m.buffer(64 << 10)
		cb := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 1)[0]
		for i := range uint32(30) {
			m.begin(cb, 0) // never submitted
			c.dev.CallOn("vkCmdFillBuffer", uintptr(cb), uintptr(b.handle), 0, vk.WHOLE_SIZE, 0xdead)
			m.end(cb)
			flags := uintptr(0)
			if i%2 == 0 {
				flags = releaseAll
			}
			c.must("vkResetCommandBuffer", vk.Result(c.dev.CallOn("vkResetCommandBuffer", uintptr(cb), flags)))
			m.into(cb, 0, func() {
				for n := range uint64(i) {
					m.fill(b, 128*n, 64, i)
				}
			})
			m.submit(cb)
		}
		m.check()
	})
	row("reset_while_recording", func(c *Case) {
		m := c.mirror(11)
		b := m.buffer(256)
		cb := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 1)[0]
		m.begin(cb, 0)
		c.dev.CallOn("vkCmdFillBuffer", uintptr(cb), uintptr(b.handle), 0, 256, 1)
		c.must("vkResetCommandBuffer", vk.Result(c.dev.CallOn("vkResetCommandBuffer", uintptr(cb), 0)))
		m.into(cb, 0, func() { m.fill(b, 0, 16, 2) })
		m.submit(cb)
		m.check()
	})
	for _, flags := range []uintptr{0, uintptr(vk.COMMAND_POOL_RESET_RELEASE_RESOURCES_BIT)} {
		row(map[bool]string{true: "pool_reset", false: "pool_reset_release_resources"}[flags == 0], func(c *Case) {
			m := c.mirror(12)
			r := m.rotation()
			pool, e := c.dev.CreateCommandPool(0)
			c.must("vkCreateCommandPool", e)
			cbs := c.commandBuffers(pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 10)
			for range 5 {
				for _, cb := range cbs {
					m.into(cb, 0, r.record)
				}
				m.submit(cbs...)
				c.must("vkResetCommandPool", vk.Result(c.dev.Call("vkResetCommandPool", uintptr(pool), flags)))
			}
			c.dev.DestroyCommandPool(pool)
			m.check()
		})
	}
	row("pool_trim", func(c *Case) {
		m := c.mirror(13)
		b := m.buffer(4096)
		cbs := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 2)
		large := func() {
			for i := range 5000 {
				m.fill(b, uint64(i%1000*4), 4, uint32(i))
			}
		}
		for range 3 {
			m.into(cbs[0], 0, large)
			m.into(cbs[1], 0, func() { m.fill(b, 4000, 96, 7) })
			c.must("vkResetCommandBuffer", vk.Result(c.dev.CallOn("vkResetCommandBuffer", uintptr(cbs[0]), releaseAll)))
			c.dev.Call("vkTrimCommandPool", uintptr(m.pool), 0)
			m.into(cbs[0], 0, large)
			m.submit(cbs[1], cbs[0])
		}
		m.check()
	})
	row("allocate_many", func(c *Case) {
		m := c.mirror(14)
		b := m.buffer(4000)
		cbs := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 1000)
		for i, cb := range cbs {
			m.into(cb, 0, func() { m.fill(b, uint64(4*i), 4, uint32(i)) })
		}
		m.submit(cbs...)
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(cbs), func(i, j int) { cbs[i], cbs[j] = cbs[j], cbs[i] })
		for len(cbs) > 100 { // the rest goes with the pool
			n, p := array(&m.a, append([]vk.CommandBuffer{0}, cbs[:50]...)) // null ones are ignored
			c.dev.Call("vkFreeCommandBuffers", uintptr(m.pool), n, p)
			cbs = cbs[50:]
		}
		m.check()
	})
	row("destroy_pool_with_recorded", func(c *Case) {
		m := c.mirror(15)
		b := m.buffer(4096)
		for range 20 {
			pool, e := c.dev.CreateCommandPool(0)
			c.must("vkCreateCommandPool", e)
			cbs := c.commandBuffers(pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 4)
			m.into(cbs[0], 0, func() { m.fill(b, 0, 64, 5) })
			m.begin(cbs[1], 0) // left in the recording state
			c.dev.CallOn("vkCmdFillBuffer", uintptr(cbs[1]), uintptr(b.handle), 0, 256, 1)
			m.submit(cbs[0])
			c.dev.DestroyCommandPool(pool)
		}
		m.check()
	})
	row("order", func(c *Case) { // later commands, buffers, batches and submissions overwrite earlier ones
		m := c.mirror(16)
		b := m.buffer(4096)
		cbs := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_PRIMARY, 60)
		for i, cb := range cbs {
			m.into(cb, 0, func() {
				for n := range 20 {
					at := uint64(m.rng.IntN(900) * 4)
					m.fill(b, at, uint64(4+m.rng.IntN(100)*4), uint32(i*100+n))
				}
				m.copyBuffer(b, b, vk.BufferCopy{SrcOffset: uint64(m.rng.IntN(1000)), DstOffset: 2048 + uint64(m.rng.IntN(1000)),
					Size: 1000})
			})
		}
		q := c.dev.Queue()
		c.must("submission", c.dev.SubmitBatches(q, 0, vulkan.Batch{Buffers: cbs[:10]}, vulkan.Batch{Buffers: cbs[10:30]}))
		for i := 30; i < 60; i += 2 {
			c.must("submission", c.dev.SubmitBatches(q, 0, vulkan.Batch{Buffers: cbs[i : i+1]},
				vulkan.Batch{Buffers: cbs[i+1 : i+2]}))
		}
		m.check()
	})
	row("large_copies", func(c *Case) { // those that a driver may share out between cores
		m := c.mirror(17)
		const size = 16 << 20
		a, b := m.buffer(size), m.buffer(size)
		m.copyBuffer(b, a, vk.BufferCopy{SrcOffset: 1, DstOffset: 3, Size: size - 7})
		m.fill(a, 4096, size-8192, 0x01020304)
		m.copyBuffer(a, b, vk.BufferCopy{SrcOffset: 5<<20 + 1, DstOffset: 2 << 20, Size: 8 << 20})
		m.fill(b, 0, 8<<20, 0xfefefefe)
		m.check()
	})
	cases = append(cases, definition{name: "api.command_buffers.debug_labels",
		instanceExtensions: []string{"VK_EXT_debug_utils"}, valid: true, run: func(c *Case) {
			m := c.mirror(18)
			b := m.buffer(64)
			label := vulkan.Struct[vk.DebugUtilsLabelEXT](&m.a)
			label.PLabelName = m.a.String("a label")
			label.Color = [4]float32{1, 0.5, 0.25, 1}
			m.cmd("vkCmdBeginDebugUtilsLabelEXT", ptr(label))
			m.fill(b, 0, 32, 1)
			m.cmd("vkCmdInsertDebugUtilsLabelEXT", ptr(label))
			m.fill(b, 16, 32, 2)
			m.cmd("vkCmdEndDebugUtilsLabelEXT")
			q := uintptr(c.dev.Queue())
			c.dev.CallOn("vkQueueBeginDebugUtilsLabelEXT", q, ptr(label))
			m.check()
			c.dev.CallOn("vkQueueEndDebugUtilsLabelEXT", q)
		}})
	return cases
}
