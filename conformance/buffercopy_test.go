package conformance

import "farside/internal/vk"

// bufferCases are what transferCases leaves out: many regions, the same buffer twice, sizes that are no
// multiple of four, memory that the host can't see.
func bufferCases() []definition {
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "api." + name, valid: true, run: run}
	}
	return []definition{
		row("copy_and_blit.core.buffer_to_buffer.regions", func(c *Case) { manyRegions(c, false) }),
		row("copy_and_blit.core.buffer_to_buffer.same_buffer", func(c *Case) {
			m := c.mirror(2)
			b := m.buffer(10_000)
			m.copyBuffer(b, b, vk.BufferCopy{SrcOffset: 0, DstOffset: 5000, Size: 5000})
			m.copyBuffer(b, b, vk.BufferCopy{SrcOffset: 5001, DstOffset: 1, Size: 4999},
				vk.BufferCopy{SrcOffset: 5000, DstOffset: 0, Size: 1})
			m.check()
		}),
		row("copy_and_blit.core.buffer_to_buffer.alignments", func(c *Case) {
			m := c.mirror(3)
			a, b := m.buffer(1<<14), m.buffer(1<<14)
			for i := range vk.DeviceSize(9) {
				for size := range vk.DeviceSize(70) {
					m.copyBuffer(b, a, vk.BufferCopy{SrcOffset: i, DstOffset: (9*i + size) * 20, Size: size + 1})
				}
			}
			m.check()
		}),
		row("fill_and_update_buffer.fill_whole_size", func(c *Case) { // rounded down to a multiple of four
			m := c.mirror(4)
			for size := range 9 {
				b := m.buffer(100 + size)
				m.fill(b, uint64(size)&^3, vk.WHOLE_SIZE, 0x11223344)
			}
			m.check()
		}),
		row("fill_and_update_buffer.table", func(c *Case) {
			m := c.mirror(5)
			b := m.buffer(1 << 17)
			for size := uint64(4); size <= 1<<16; size += size/4&^3 + 4 {
				m.fill(b, uint64(m.rng.IntN(1<<16))&^3, size, m.rng.Uint32())
				data := make([]byte, size)
				for i := range data {
					data[i] = byte(m.rng.Uint32())
				}
				m.update(b, uint64(m.rng.IntN(1<<16))&^3, data)
			}
			m.check()
		}),
		// there and back through every type, most of which the host may not see
		row("buffer.all_memory_types", func(c *Case) {
			m := c.mirror(6)
			for t := range c.mem.MemoryTypeCount {
				inner, e := c.dev.CreateBuffer(50_000, 0)
				c.must("vkCreateBuffer", e)
				req := c.dev.BufferRequirements(inner)
				if req.MemoryTypeBits>>t&1 == 0 || c.mem.MemoryTypes[t].PropertyFlags&vk.MEMORY_PROPERTY_PROTECTED_BIT != 0 {
					c.dev.DestroyBuffer(inner)
					continue
				}
				memory := c.allocate(req.Size, t, nil)
				c.must("vkBindBufferMemory", c.dev.BindBuffer(inner, memory, 0))
				far := &mirrorBuffer{handle: inner, memory: memory, want: make([]byte, 50_000)}
				near, back := m.buffer(50_000), m.buffer(50_000)
				m.fill(far, 0, 50_000, 0x01020304*t)
				m.copyBuffer(far, near, randomRegions(m, 20, 50_000)...)
				m.copyBuffer(back, far, vk.BufferCopy{Size: 50_000})
				far.want = nil // can't be compared otherwise
				m.buffers = append(m.buffers, far)
			}
			m.check()
		}),
		{name: "nv.external_memory_rdma.filled_by_the_device", extensions: []string{rdmaExtension}, features: rdmaFeature,
			valid: true, run: func(c *Case) {
				memory, address := c.remote()
				handle, e := c.dev.CreateBuffer(rdmaSize, rdmaAddress)
				c.must("vkCreateBuffer", e)
				c.must("vkBindBufferMemory", c.dev.BindBuffer(handle, memory, 0))
				m := c.mirror(7)
				in, out := m.buffer(rdmaSize), m.buffer(rdmaSize)
				fill(in.bytes, 9)
				fill(in.want, 9)
				far := &mirrorBuffer{handle: handle, memory: memory, want: make([]byte, rdmaSize)}
				m.copyBuffer(far, in, vk.BufferCopy{Size: rdmaSize})
				m.flush()
				p := c.start("rdma_peer")
				p.ask("ok 0", "check %d 9 %d", address, rdmaSize)
				p.ask("ok 0", "write %d 4 1000", address+5000)
				fill(far.want[5000:6000], 4)
				m.copyBuffer(out, far, vk.BufferCopy{Size: rdmaSize})
				m.fill(far, 0, rdmaSize, 0)
				m.check()
				p.end()
				c.dev.DestroyBuffer(handle)
				c.dev.Free(memory)
			}},
	}
}

// randomRegions are regions whose targets don't overlap.
func randomRegions(m *mirror, n, size int) []vk.BufferCopy {
	var all []vk.BufferCopy
	for at := 0; len(all) < n && at < size; {
		r := vk.BufferCopy{DstOffset: vk.DeviceSize(at), Size: vk.DeviceSize(1 + m.rng.IntN(2*size/n))}
		r.Size = min(r.Size, vk.DeviceSize(size-at))
		r.SrcOffset = vk.DeviceSize(m.rng.IntN(size - int(r.Size) + 1))
		at += int(r.Size) + m.rng.IntN(3)
		all = append(all, r)
	}
	return all
}

func manyRegions(c *Case, copy2 bool) {
	m := c.mirror(1)
	m.copy2 = copy2
	a, b := m.buffer(100_000), m.buffer(100_000)
	m.copyBuffer(b, a, randomRegions(m, 1000, 100_000)...)
	m.copyBuffer(a, b, randomRegions(m, 3, 100_000)...)
	m.check()
}
