package conformance

import (
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// bufferBindCases mirror api.buffer and api.buffer_memory_requirements: buffers of all usages and sizes, many
// in one allocation, and two that share their memory.
func bufferBindCases() []definition {
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "api.buffer." + name, valid: true, run: run}
	}
	create := func(c *Case, size uint64, usage vk.BufferUsageFlags) vk.Buffer {
		info := vulkan.Struct[vk.BufferCreateInfo](&c.a)
		info.Size, info.Usage = size, usage
		out := vulkan.New[vk.Buffer](&c.a)
		c.must("vkCreateBuffer", vk.Result(c.dev.Call("vkCreateBuffer", ptr(info), 0, ptr(out))))
		return *out
	}
	const transfers = vk.BUFFER_USAGE_TRANSFER_SRC_BIT | vk.BUFFER_USAGE_TRANSFER_DST_BIT
	return []definition{
		row("usages_and_sizes", func(c *Case) {
			for usage := range vk.BufferUsageFlags(512) { // every combination of Vulkan 1.0's
				if usage == 0 {
					continue
				}
				size := 1 + uint64(usage)*37
				b := create(c, size, usage)
				req := c.dev.BufferRequirements(b)
				if req.Size < vk.DeviceSize(size) || req.MemoryTypeBits == 0 || req.Alignment&(req.Alignment-1) != 0 {
					c.Errorf("usage %v, %d bytes: %+v", usage, size, req)
				}
				if more := create(c, size, usage|1<<(usage%9)); c.dev.BufferRequirements(more).MemoryTypeBits == 0 {
					c.Errorf("usage %v: no memory types", usage)
				} else {
					c.dev.DestroyBuffer(more)
				}
				c.dev.DestroyBuffer(b)
			}
		}),
		row("size_of_requirements_grows", func(c *Case) {
			last := uint64(0)
			for size := uint64(1); size < 1<<32; size = size*3/2 + 1 {
				b := create(c, size, transfers)
				if req := uint64(c.dev.BufferRequirements(b).Size); req < last || req < size {
					c.Errorf("%d bytes require %d, fewer %d", size, req, last)
				} else {
					last = req
				}
				c.dev.DestroyBuffer(b)
			}
		}),
		row("many_in_one_allocation", func(c *Case) {
			const n, size = 40, 1000
			m := c.mirror(1)
			first := create(c, size, transfers)
			req := c.dev.BufferRequirements(first)
			c.dev.DestroyBuffer(first)
			stride := (req.Size + req.Alignment - 1) &^ (req.Alignment - 1)
			memory := c.allocate(uint64(stride)*n, c.visible(), nil)
			all := c.bytes(memory, uint64(stride)*n)
			whole := &mirrorBuffer{memory: memory, bytes: all, want: make([]byte, len(all))}
			copy(whole.want, all)
			infos := vulkan.Make[vk.BindBufferMemoryInfo](&c.a, n)
			for i := range infos {
				b := &mirrorBuffer{handle: create(c, size, transfers)}
				infos[i].SType = vk.STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO
				infos[i].Buffer, infos[i].Memory, infos[i].MemoryOffset = b.handle, memory, stride*vk.DeviceSize(n-1-i)
				m.buffers = append(m.buffers, b)
			}
			c.must("vkBindBufferMemory2", vk.Result(c.dev.Call("vkBindBufferMemory2", n, ptr(&infos[0]))))
			for i := range infos {
				part := &mirrorBuffer{handle: infos[i].Buffer, want: whole.want[infos[i].MemoryOffset:][:size]}
				m.fill(part, uint64(4*i), vk.WHOLE_SIZE, uint32(i)*0x01010101)
				m.update(part, uint64(4*i), []byte{1, 2, 3, byte(i)})
			}
			m.buffers = append(m.buffers, whole)
			m.check()
		}),
		row("aliases", func(c *Case) { // two buffers over the same bytes, one of them a part of the other
			m := c.mirror(2)
			large, small := create(c, 8192, transfers), create(c, 1024, transfers)
			req := c.dev.BufferRequirements(large)
			offset := (4096 + req.Alignment - 1) &^ (req.Alignment - 1)
			memory := c.allocate(uint64(req.Size), c.visible(), nil)
			c.must("vkBindBufferMemory", c.dev.BindBuffer(large, memory, 0))
			c.must("vkBindBufferMemory of the second", c.dev.BindBuffer(small, memory, uint64(offset)))
			whole := &mirrorBuffer{handle: large, memory: memory, bytes: c.bytes(memory, 8192), want: make([]byte, 8192)}
			part := &mirrorBuffer{handle: small, want: whole.want[offset:][:1024]}
			m.buffers = append(m.buffers, whole, &mirrorBuffer{handle: small})
			m.fill(whole, 0, 8192, 0x01020304)
			m.fill(part, 8, 512, 0x05060708)
			m.copyBuffer(whole, part, vk.BufferCopy{SrcOffset: 4, DstOffset: 0, Size: 777})
			m.check()
		}),
	}
}
