package conformance

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// transferMemoryCases transfer to and from memory of every origin.
func transferMemoryCases() []definition {
	const hostExtension, drmExtension = "VK_EXT_external_memory_host", "VK_EXT_image_drm_format_modifier"
	return []definition{
		{name: "api.copy_and_blit.memory.host_pointer", extensions: []string{hostExtension}, valid: true, run: func(c *Case) {
			m := c.mirror(1)
			pages := func(size int) *mirrorBuffer {
				b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
				c.system("mmap", err)
				fill(b, size)
				h := vulkan.Struct[vk.ImportMemoryHostPointerInfoEXT](&c.a)
				h.HandleType, h.PHostPointer = hostPointer, unsafe.Pointer(&b[0])
				memory := c.allocate(uint64(size), c.visible(), unsafe.Pointer(h))
				handle, r := c.dev.CreateBuffer(uint64(size), hostPointer)
				c.must("vkCreateBuffer", r)
				c.must("vkBindBufferMemory", c.dev.BindBuffer(handle, memory, 0))
				x := &mirrorBuffer{handle: handle, memory: memory, bytes: b, want: append([]byte(nil), b...)}
				m.buffers = append(m.buffers, x)
				return x
			}
			a, b := pages(64<<10), pages(128<<10)
			plain := m.buffer(50_000)
			m.copyBuffer(b, a, vk.BufferCopy{SrcOffset: 7, DstOffset: 100_001, Size: 20_000})
			m.copyBuffer(plain, b, vk.BufferCopy{SrcOffset: 99_000, Size: 30_000})
			m.fill(a, 4096, 8192, 0xa5a5a5a5)
			m.copyBuffer(a, plain, vk.BufferCopy{SrcOffset: 1, DstOffset: 65536 - 999, Size: 999})
			m.check()
			c.system("munmap", unix.Munmap(a.bytes))
			c.system("munmap", unix.Munmap(b.bytes))
		}},
		{name: "api.copy_and_blit.memory.not_mapped_meanwhile", valid: true, run: func(c *Case) {
			for t := range c.mem.MemoryTypeCount {
				if c.mem.MemoryTypes[t].PropertyFlags&hostVisible == 0 {
					continue
				}
				m := c.mirror(uint64(t))
				handle, r := c.dev.CreateBuffer(40_000, 0)
				c.must("vkCreateBuffer", r)
				memory := c.allocate(uint64(c.dev.BufferRequirements(handle).Size), t, nil)
				c.must("vkBindBufferMemory", c.dev.BindBuffer(handle, memory, 0))
				fill(c.bytes(memory, 40_000), 3)
				c.must("vkFlushMappedMemoryRanges", c.dev.Flush(memory, 0, vk.WHOLE_SIZE))
				c.dev.Unmap(memory)
				b := &mirrorBuffer{handle: handle, memory: memory, want: make([]byte, 40_000)}
				fill(b.want, 3)
				m.copyBuffer(m.buffer(40_000), b, vk.BufferCopy{Size: 40_000})
				m.fill(b, 100, 20_000, 0x12345678)
				m.check()
				got := c.bytes(memory, 40_000)
				c.must("vkInvalidateMappedMemoryRanges", c.dev.Invalidate(memory, 0, vk.WHOLE_SIZE))
				c.same(fmt.Sprintf("memory of type %d, mapped again", t), got, b.want)
				c.dev.DestroyBuffer(handle)
				c.dev.Free(memory)
			}
		}},
		{name: "api.copy_and_blit.memory.drm_modifier", extensions: []string{"VK_KHR_image_format_list", drmExtension},
			valid: true, run: func(c *Case) {
				for _, f := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R8_UNORM} {
					m := c.mirror(uint64(f))
					info, _ := vk.FormatInfo(f)
					explicit := vulkan.Struct[vk.ImageDrmFormatModifierExplicitCreateInfoEXT](&m.a)
					explicit.DrmFormatModifierPlaneCount = 1
					explicit.PPlaneLayouts = vulkan.Put(&m.a,
						vk.SubresourceLayout{Offset: 1024, RowPitch: vk.DeviceSize(40*info.BlockSize) + 64})
					list := vulkan.Struct[vk.ImageDrmFormatModifierListCreateInfoEXT](&m.a)
					list.DrmFormatModifierCount, list.PDrmFormatModifiers = 1, vulkan.New[uint64](&m.a) // DRM_FORMAT_MOD_LINEAR
					for _, next := range []unsafe.Pointer{unsafe.Pointer(explicit), unsafe.Pointer(list)} {
						s := plane(f, 37, 19)
						s.tiling, s.next = vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT, next
						a, b := m.image(s), m.image(plane(f, 64, 64))
						one := vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1}
						m.bufferToImage(a, m.buffer(4096), vk.BufferImageCopy{BufferRowLength: 20, ImageSubresource: one,
							ImageOffset: vk.Offset3D{X: 5, Y: 3},
							ImageExtent: vk.Extent3D{Width: 17, Height: 14, Depth: 1}})
						m.copyImage(b, a, vk.ImageCopy{SrcSubresource: one, DstSubresource: one, DstOffset: vk.Offset3D{X: 20, Y: 30},
							Extent: vk.Extent3D{Width: 37, Height: 19, Depth: 1}})
						m.copyImage(a, b, vk.ImageCopy{SrcSubresource: one, DstSubresource: one, DstOffset: vk.Offset3D{X: 30, Y: 10},
							Extent: vk.Extent3D{Width: 7, Height: 9, Depth: 1}})
					}
					m.check()
				}
			}},
	}
}

// gate records a wait for an event that the host sets.
func (m *mirror) gate() vk.Event {
	e, r := m.c.dev.CreateEvent()
	m.c.must("vkCreateEvent", r)
	n, p := array(&m.a, []vk.Event{e})
	m.c.dev.CallOn("vkCmdWaitEvents", uintptr(m.cb), n, p, uintptr(vk.PIPELINE_STAGE_HOST_BIT),
		uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT), 0, 0, 0, 0, 0, 0)
	return e
}

// pendingCases do, while commands are pending, what must not be done then: the application is told, and lives.
func pendingCases() []definition {
	row := func(name string, meanwhile func(c *Case, m *mirror, b *mirrorBuffer), want ...vk.Result) definition {
		return definition{name: "farside.command_buffers.pending." + name, farsideOnly: true, run: func(c *Case) {
			m := c.mirror(1)
			b := m.buffer(4096)
			e := m.gate()
			m.fill(b, 0, 4096, 0x01020304)
			m.end(m.cb)
			c.must("vkQueueSubmit", c.dev.SubmitBatches(m.queue, m.fence, vulkan.Batch{Buffers: []vk.CommandBuffer{m.cb}}))
			meanwhile(c, m, b)
			c.must("vkSetEvent", c.dev.SetEvent(e))
			c.want("vkWaitForFences", c.dev.WaitFences(true, patience, m.fence), want...)
			if want[0] == vk.SUCCESS && len(want) == 1 {
				c.same("the buffer", b.bytes, b.want)
			}
			c.dev.DestroyEvent(e)
			m.free()
		}}
	}
	const success, lost = vk.SUCCESS, vk.ERROR_DEVICE_LOST
	return []definition{
		row("reset", func(c *Case, m *mirror, _ *mirrorBuffer) {
			c.wantErr("vkResetCommandBuffer of a pending buffer",
				vk.Result(c.dev.CallOn("vkResetCommandBuffer", uintptr(m.cb), 0)))
		}, success),
		row("begin", func(c *Case, m *mirror, _ *mirrorBuffer) {
			info := vulkan.Struct[vk.CommandBufferBeginInfo](&m.a)
			c.wantErr("vkBeginCommandBuffer of a pending buffer",
				vk.Result(c.dev.CallOn("vkBeginCommandBuffer", uintptr(m.cb), ptr(info))))
		}, success),
		row("reset_pool", func(c *Case, m *mirror, _ *mirrorBuffer) {
			c.wantErr("vkResetCommandPool with a pending buffer",
				vk.Result(c.dev.Call("vkResetCommandPool", uintptr(m.pool), 0)))
		}, success),
		row("submit_again", func(c *Case, m *mirror, _ *mirrorBuffer) {
			c.wantErr("a pending buffer that isn't for simultaneous use",
				c.dev.SubmitBatches(m.queue, 0, vulkan.Batch{Buffers: []vk.CommandBuffer{m.cb}}))
		}, success),
		row("record", func(c *Case, m *mirror, b *mirrorBuffer) {
			c.dev.CallOn("vkCmdFillBuffer", uintptr(m.cb), uintptr(b.handle), 0, 4096, 7)
		}, success),
		row("free", func(c *Case, m *mirror, _ *mirrorBuffer) {
			n, p := array(&m.a, []vk.CommandBuffer{m.cb})
			c.dev.Call("vkFreeCommandBuffers", uintptr(m.pool), n, p)
		}, success, lost),
		row("destroy_pool", func(c *Case, m *mirror, _ *mirrorBuffer) { c.dev.DestroyCommandPool(m.pool) }, success, lost),
		row("trim_pool", func(c *Case, m *mirror, _ *mirrorBuffer) { c.dev.Call("vkTrimCommandPool", uintptr(m.pool), 0) },
			success),
		row("destroy_buffer", func(c *Case, m *mirror, b *mirrorBuffer) {
			c.dev.DestroyBuffer(b.handle)
			b.handle = 0
		}, success, lost),
		row("free_memory", func(c *Case, m *mirror, b *mirrorBuffer) {
			c.dev.Free(b.memory)
			b.memory = 0
		}, success, lost),
		row("unmap", func(c *Case, m *mirror, b *mirrorBuffer) {
			c.dev.Unmap(b.memory)
			b.bytes = nil
		}, success, success),
		{name: "query_pool.timestamp.wait_blocks", run: func(c *Case) { // until the queue has written the query
			q := c.queries(2)
			e, r := c.dev.CreateEvent()
			c.must("vkCreateEvent", r)
			n, p := array(&q.a, []vk.Event{e})
			q.begin(q.cb, 0)
			q.reset(0, 2)
			c.dev.CallOn("vkCmdWaitEvents", uintptr(q.cb), n, p, uintptr(vk.PIPELINE_STAGE_HOST_BIT), uintptr(bottom), 0, 0, 0,
				0, 0, 0)
			q.write(bottom, 0)
			q.write(bottom, 1)
			q.end(q.cb)
			c.must("vkQueueSubmit", c.dev.SubmitBatches(q.queue, q.fence, vulkan.Batch{Buffers: []vk.CommandBuffer{q.cb}}))
			got := make(chan []uint64)
			go func() { got <- q.values(0, 2) }()
			set := monotonic(c)
			c.must("vkSetEvent", c.dev.SetEvent(e))
			v := <-got
			if c.driver == "farside" && (v[0] < set || v[1] < v[0]) { // its clock is CLOCK_MONOTONIC
				c.Errorf("timestamps %v of commands behind an event that was set after %d", v, set)
			}
			c.must("vkWaitForFences", c.dev.WaitFences(true, patience, q.fence))
			c.dev.DestroyEvent(e)
			q.free()
		}},
	}
}
