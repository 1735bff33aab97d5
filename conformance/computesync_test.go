package conformance

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A pattern is shaders/memory/pattern.comp over a buffer of another's making: it writes what fill writes, or counts
// what is different.
type pattern struct {
	p   *program
	a   *arguments
	bad []uint32
	buf vk.Buffer
}

func (c *Case) pattern(buffer vk.Buffer) *pattern {
	x := &pattern{bad: make([]uint32, 1), buf: buffer}
	d := &dispatch{shader: glsl("memory/pattern.comp"), buffers: []any{unbound{}, x.bad}, push: []uint32{0, 0}}
	x.p = c.program(d)
	x.a = x.p.arguments(d.buffers...)
	c.dev.WriteSet(x.a.set, vulkan.Descriptor{Binding: 0, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
		Buffer: vk.DescriptorBufferInfo{Buffer: buffer}})
	return x
}

func (x *pattern) free() {
	x.a.free()
	x.p.free()
}

// record writes the pattern, or checks it.
func (x *pattern) record(cb vk.CommandBuffer, size, seed int, check bool) {
	dev := x.p.c.dev
	dev.BindCompute(cb, x.p.pipeline)
	dev.BindSets(cb, x.p.layout, 0, []vk.DescriptorSet{x.a.set})
	dev.Push(cb, x.p.layout, 0, bytesOf([]uint32{uint32(seed), truth[uint32](check)}))
	dev.Dispatch(cb, uint32(size/4+63)/64, 1, 1)
	dev.Barrier(cb)
}

func (x *pattern) run(size, seed int, check bool) {
	c := x.p.c
	c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
		c.dev.Barrier(cb)
		x.record(cb, size, seed, check)
	}))
	if x.a.download(); x.bad[0] != 0 {
		c.Errorf("the shader found %d words that differ", x.bad[0])
	}
}

// storage is a buffer of an external handle type for shaders.
func (c *Case) storage(size uint64, types vk.ExternalMemoryHandleTypeFlags) vk.Buffer {
	info := vulkan.Struct[vk.ExternalMemoryBufferCreateInfo](&c.a)
	info.HandleTypes = types
	b, r := c.dev.CreateUsageBuffer(size, vk.BUFFER_USAGE_STORAGE_BUFFER_BIT|vulkan.Transfers, unsafe.Pointer(info))
	c.must("vkCreateBuffer", r)
	return b
}

func init() {
	// compute_importer receives memory, has a shader check what is in it and another pattern written, and says so.
	roles["compute_importer"] = definition{compute: true, extensions: []string{fdExtension}, run: func(c *Case) {
		fd, err := receiveFd(3)
		c.system("receive", err)
		m, r := c.importFd(ruleSize, c.visible(), fd)
		c.must("import", r)
		b := c.storage(ruleSize, opaqueFd)
		c.must("vkBindBufferMemory", c.dev.BindBuffer(b, m, 0))
		x := c.pattern(b)
		x.run(ruleSize, 31, true)
		x.run(ruleSize, 32, false)
		if c.failed {
			say("bad")
		} else {
			say("good")
		}
	}}
}

// computeSyncCases mirror synchronization.op with compute shaders, and let shaders meet what this driver is about:
// memory of other processes.
func computeSyncCases() []definition {
	row := func(name string, needs []string, run func(c *Case)) definition {
		return definition{name: name, compute: true, valid: true, needs: needs, queues: true, run: run}
	}
	external := func(name, role string, seed int, after func(c *Case, x *pattern, b []byte)) definition {
		return definition{name: name, compute: true, valid: true, extensions: []string{fdExtension}, run: func(c *Case) {
			m, _ := c.exported()
			buffer := c.storage(ruleSize, opaqueFd)
			c.must("vkBindBufferMemory", c.dev.BindBuffer(buffer, m, 0))
			x := c.pattern(buffer)
			x.run(ruleSize, seed, false)
			b := c.bytes(m, ruleSize)
			c.check("what the shader wrote", b, seed)
			p := c.start(role)
			fd := c.getFd(m)
			c.system("send", sendFd(p.socket, fd))
			unix.Close(fd)
			if s := p.hear(); s != "good" {
				c.Errorf("the importer says %s", s)
			}
			p.end()
			after(c, x, b)
			x.free()
			c.dev.DestroyBuffer(buffer)
			c.dev.Free(m)
		}}
	}
	return []definition{
		row("synchronization.op.single_queue.barrier.compute_transfer", nil, func(c *Case) {
			const size = 4096
			b := c.shaderBuffer(make([]byte, size), vk.BufferUsageFlags(vk.BUFFER_USAGE_STORAGE_BUFFER_BIT))
			to := c.shaderBuffer(make([]byte, size), 0)
			x := c.pattern(b.buffer)
			c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
				for seed := range 50 {
					c.dev.CallOn("vkCmdFillBuffer", uintptr(cb), uintptr(b.buffer), 0, size, uintptr(seed))
					c.dev.Barrier(cb)
					x.record(cb, size, seed, false)
					c.dev.CopyCommand(cb, to.buffer, b.buffer, size)
					c.dev.Barrier(cb)
					c.dev.CopyCommand(cb, b.buffer, to.buffer, size)
					c.dev.Barrier(cb)
					x.record(cb, size, seed, true)
				}
			}))
			to.download()
			c.check("copied", to.host, 49)
			if x.a.download(); x.bad[0] != 0 {
				c.Errorf("%d words differed on the way", x.bad[0])
			}
			x.free()
			b.free()
			to.free()
		}),
		row("synchronization.op.single_queue.event.compute_transfer", nil, func(c *Case) {
			const size = 4096
			b := c.shaderBuffer(make([]byte, size), vk.BufferUsageFlags(vk.BUFFER_USAGE_STORAGE_BUFFER_BIT))
			to := c.shaderBuffer(make([]byte, size), 0)
			x, e := c.pattern(b.buffer), c.event()
			barrier := vulkan.Struct[vk.MemoryBarrier](&c.a)
			barrier.SrcAccessMask, barrier.DstAccessMask = vk.ACCESS_SHADER_WRITE_BIT, vk.ACCESS_TRANSFER_READ_BIT
			list := vulkan.Put(&c.a, e)
			c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
				x.record(cb, size, 9, false)
				c.dev.CallOn("vkCmdSetEvent", uintptr(cb), uintptr(e), uintptr(vk.PIPELINE_STAGE_COMPUTE_SHADER_BIT))
				c.dev.CallOn("vkCmdWaitEvents", uintptr(cb), 1, ptr(list), uintptr(vk.PIPELINE_STAGE_COMPUTE_SHADER_BIT),
					uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT), 1, ptr(barrier), 0, 0, 0, 0)
				c.dev.CopyCommand(cb, to.buffer, b.buffer, size)
				c.dev.Barrier(cb)
			}))
			to.download()
			c.check("copied", to.host, 9)
			c.dev.DestroyEvent(e)
			x.free()
			b.free()
			to.free()
		}),
		row("synchronization.op.multi_queue.timeline_semaphore.compute_compute", []string{"TimelineSemaphore"},
			func(c *Case) {
				// Queues in turn, each of which checks what the one before has written and writes the next pattern.
				const size, turns = 16384, 60
				var queues []queue
				for _, q := range c.queues(c.dev) {
					if c.inst.QueueFamilies(c.pd)[q.family].QueueFlags&vk.QueueFlags(vk.QUEUE_COMPUTE_BIT) != 0 && q.family == 0 {
						queues = append(queues, q)
					}
				}
				b := c.shaderBuffer(make([]byte, size), vk.BufferUsageFlags(vk.BUFFER_USAGE_STORAGE_BUFFER_BIT))
				fill(b.mapped[:size], 0)
				x, s, rec := c.pattern(b.buffer), c.timeline(0), c.recorder()
				for turn := range turns {
					q := queues[turn%len(queues)]
					cb := rec.record(func(cb vk.CommandBuffer) {
						c.dev.Barrier(cb)
						x.record(cb, size, turn, true)
						x.record(cb, size, turn+1, false)
					})
					c.must("vkQueueSubmit", c.dev.SubmitBatches(q.Queue, 0,
						vulkan.Batch{Wait: []vulkan.Point{{Semaphore: s, Value: uint64(turn)}}, Buffers: cb,
							Signal: []vulkan.Point{{Semaphore: s, Value: uint64(turn + 1)}}}))
				}
				c.want("vkWaitSemaphores", c.dev.WaitSemaphores(0, patience, vulkan.Point{Semaphore: s, Value: turns}), vk.SUCCESS)
				c.must("vkDeviceWaitIdle", c.dev.WaitIdle())
				b.download()
				c.check("after all turns", b.host, turns)
				if x.a.download(); x.bad[0] != 0 {
					c.Errorf("%d words differed on the way", x.bad[0])
				}
				rec.free()
				c.dev.DestroySemaphore(s)
				x.free()
				b.free()
			}),
		row("synchronization.op.single_queue.fence.compute_host", nil, func(c *Case) {
			const size = 1 << 20
			b := c.shaderBuffer(make([]byte, size), vk.BufferUsageFlags(vk.BUFFER_USAGE_STORAGE_BUFFER_BIT))
			x := c.pattern(b.buffer)
			for seed := range 5 {
				x.run(size, seed, false)
				c.check("what the host sees", b.mapped[:size], seed)
				fill(b.mapped[:size], seed+100)
				x.run(size, seed+100, true)
			}
			x.free()
			b.free()
		}),
		row("query_pool.timestamp.around_dispatch", nil, func(c *Case) {
			b := c.shaderBuffer(make([]byte, 1<<20), vk.BufferUsageFlags(vk.BUFFER_USAGE_STORAGE_BUFFER_BIT))
			x, q := c.pattern(b.buffer), c.queries(3)
			q.do(func() {
				q.reset(0, 3)
				q.write(top, 0)
				x.record(q.cb, 1<<20, 1, false)
				q.write(vk.PipelineStageFlags(vk.PIPELINE_STAGE_COMPUTE_SHADER_BIT), 1)
				q.write(bottom, 2)
			})
			v := q.values(0, 3)
			if !slices.IsSorted(v) || v[2] == v[0] {
				c.Errorf("timestamps before and after a dispatch are %d", v)
			}
			q.free()
			x.free()
			b.free()
		}),
		external("api.external.memory.opaque_fd.compute.host_of_importer", "importer", 22,
			func(c *Case, x *pattern, b []byte) {
				c.check("answer of the importer", b, 23)
				x.run(ruleSize, 23, true)
			}),
		external("api.external.memory.opaque_fd.compute.shader_of_importer", "compute_importer", 31,
			func(c *Case, x *pattern, b []byte) {
				c.check("answer of the importer", b, 32)
				x.run(ruleSize, 32, true)
			}),
		{name: "nv.external_memory_rdma.compute", compute: true, valid: true,
			extensions: []string{rdmaExtension, fdExtension}, features: rdmaFeature,
			run: func(c *Case) {
				m, address := c.remote()
				buffer := c.storage(rdmaSize, rdmaAddress)
				c.must("vkBindBufferMemory", c.dev.BindBuffer(buffer, m, 0))
				x := c.pattern(buffer)
				p := c.start("rdma_peer")
				for seed := 1; seed < 10; seed += 2 {
					x.run(rdmaSize, seed, false)
					p.ask("ok 0", "check %d %d %d", address, seed, rdmaSize)
					p.ask("ok 0", "write %d %d %d", address, seed+1, rdmaSize)
					x.run(rdmaSize, seed+1, true)
				}
				p.end()
				x.free()
				c.dev.DestroyBuffer(buffer)
				c.dev.Free(m)
			}},
		{name: "compute.indirect_dispatch.from_transfer", compute: true, valid: true, run: func(c *Case) {
			d := dispatch{shader: glsl("basic/count.comp"), buffers: []any{make([]uint32, 33)}, push: []uint32{1}}
			p := c.program(&d)
			a := p.arguments(d.buffers...)
			groups := c.shaderBuffer(make([]uint32, 3), vk.BufferUsageFlags(vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT))
			words := vulkan.Make[byte](&c.a, 12)
			for i := range 3 {
				binary.LittleEndian.PutUint32(words[4*i:], 1)
			}
			c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
				c.dev.CallOn("vkCmdUpdateBuffer", uintptr(cb), uintptr(groups.buffer), 0, 12, ptr(&words[0]))
				c.dev.Barrier(cb)
				a.bind(cb)
				c.dev.CallOn("vkCmdDispatchIndirect", uintptr(cb), uintptr(groups.buffer), 0)
				c.dev.Barrier(cb)
			}))
			if a.download(); d.buffers[0].([]uint32)[0] != 32 {
				c.Errorf("%d invocations, want 32", d.buffers[0].([]uint32)[0])
			}
			groups.free()
			a.free()
			p.free()
		}},
	}
}
