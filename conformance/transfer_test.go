package conformance

import (
	"bytes"
	"encoding/binary"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// transferCases mirror api.fill_and_update_buffer and the buffer part of api.copy_and_blit: every byte of the
// target is compared with what plain Go makes of the same commands.
func transferCases() []definition {
	return []definition{
		{name: "api.fill_and_update_buffer.fill", valid: true, run: func(c *Case) {
			for _, t := range []struct{ offset, size uint64 }{
				{0, 4}, {4, 8}, {12, 4084}, {0, 4096}, {4092, 4}, {8, vk.WHOLE_SIZE}, {0, vk.WHOLE_SIZE},
			} {
				c.transfer(4096, func(cb vk.CommandBuffer, b *transferBuffers) {
					c.dev.CallOn("vkCmdFillBuffer", uintptr(cb), uintptr(b.dst), uintptr(t.offset), uintptr(t.size), 0xa1b2c3d4)
				}, func(_, dst []byte) {
					end := t.offset + t.size
					if t.size == vk.WHOLE_SIZE {
						end = 4096
					}
					for i := t.offset; i < end; i += 4 {
						binary.LittleEndian.PutUint32(dst[i:], 0xa1b2c3d4)
					}
				})
			}
		}},
		{name: "api.fill_and_update_buffer.update", valid: true, run: func(c *Case) {
			for _, t := range []struct{ offset, size uint64 }{{0, 4}, {16, 1024}, {0, 65536}, {65532, 4}} {
				data := vulkan.Make[byte](&c.a, int(t.size))
				for i := range data {
					data[i] = byte(i*13 + 5)
				}
				want := bytes.Clone(data)
				c.transfer(65536, func(cb vk.CommandBuffer, b *transferBuffers) {
					c.dev.CallOn("vkCmdUpdateBuffer", uintptr(cb), uintptr(b.dst), uintptr(t.offset), uintptr(t.size),
						ptr(vulkan.First(data)))
					clear(data) // what was recorded is a copy
				}, func(_, dst []byte) { copy(dst[t.offset:], want) })
			}
		}},
		{name: "api.copy_and_blit.core.buffer_to_buffer", valid: true, run: func(c *Case) {
			regions := vulkan.Make[vk.BufferCopy](&c.a, 4)
			copy(regions, []vk.BufferCopy{
				{SrcOffset: 0, DstOffset: 100, Size: 1}, {SrcOffset: 4095, DstOffset: 0, Size: 1},
				{SrcOffset: 17, DstOffset: 2049, Size: 333}, {SrcOffset: 1000, DstOffset: 3000, Size: 1096},
			})
			c.transfer(4096, func(cb vk.CommandBuffer, b *transferBuffers) {
				c.dev.CallOn("vkCmdCopyBuffer", uintptr(cb), uintptr(b.src), uintptr(b.dst), uintptr(len(regions)),
					ptr(vulkan.First(regions)))
			}, func(src, dst []byte) {
				for _, r := range regions {
					copy(dst[r.DstOffset:r.DstOffset+r.Size], src[r.SrcOffset:r.SrcOffset+r.Size])
				}
			})
		}},
		{name: "api.copy_and_blit.core.out_of_bounds", farsideOnly: true, run: func(c *Case) {
			region := vulkan.Put(&c.a, vk.BufferCopy{SrcOffset: 4000, DstOffset: 0, Size: 97})
			b := c.transferBuffers(4096)
			defer b.free(c)
			c.wantErr("a copy beyond the source's end", c.dev.Submit(func(cb vk.CommandBuffer) {
				c.dev.CallOn("vkCmdCopyBuffer", uintptr(cb), uintptr(b.src), uintptr(b.dst), 1, ptr(region))
			}))
		}},
		{name: "api.copy_and_blit.core.freed_memory", farsideOnly: true, run: func(c *Case) {
			b := c.transferBuffers(4096)
			c.dev.Free(b.memory[0])
			c.wantErr("a copy from freed memory", c.dev.Submit(func(cb vk.CommandBuffer) {
				region := vulkan.Put(&c.a, vk.BufferCopy{Size: 4})
				c.dev.CallOn("vkCmdCopyBuffer", uintptr(cb), uintptr(b.src), uintptr(b.dst), 1, ptr(region))
			}))
			b.memory[0] = 0
			b.free(c)
		}},
		{name: "api.command_buffers.not_recording", farsideOnly: true, run: func(c *Case) {
			b := c.transferBuffers(64)
			defer b.free(c)
			c.wantErr("a second vkEndCommandBuffer", c.dev.Submit(func(cb vk.CommandBuffer) {
				c.want("vkEndCommandBuffer", vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(cb))), vk.SUCCESS)
				c.dev.CallOn("vkCmdFillBuffer", uintptr(cb), uintptr(b.dst), 0, 64, 1) // ignored, and reported
			}))
		}},
		{name: "api.null_handle.core_commands_not_implemented", farsideOnly: true, run: func(c *Case) {
			// The loader jumps to a core command without asking for it: it must answer, not crash.
			out := vulkan.New[uint64](&c.a)
			info := vulkan.Struct[vk.DescriptorPoolCreateInfo](&c.a)
			c.wantErr("vkCreateDescriptorPool", vk.Result(c.dev.Call("vkCreateDescriptorPool", ptr(info), 0, ptr(out))))
		}},
	}
}

// transferBuffers are a source and a target, both in mapped memory.
type transferBuffers struct {
	src, dst vk.Buffer
	memory   [2]vk.DeviceMemory
	bytes    [2][]byte
}

func (c *Case) transferBuffers(size uint64) *transferBuffers {
	b := &transferBuffers{}
	t := c.visible()
	for i, buffer := range []*vk.Buffer{&b.src, &b.dst} {
		var r vk.Result
		*buffer, r = c.dev.CreateBuffer(size, 0)
		c.must("vkCreateBuffer", r)
		b.memory[i], r = c.dev.Allocate(c.dev.BufferRequirements(*buffer).Size, t, nil)
		c.must("vkAllocateMemory", r)
		c.must("vkBindBufferMemory", c.dev.BindBuffer(*buffer, b.memory[i], 0))
		p, r := c.dev.Map(b.memory[i], 0, vk.WHOLE_SIZE)
		c.must("vkMapMemory", r)
		b.bytes[i] = vulkan.Bytes(p, int(size))
		for n := range b.bytes[i] {
			b.bytes[i][n] = byte(n*31 + n>>8 + i*101)
		}
	}
	return b
}

func (b *transferBuffers) free(c *Case) {
	c.dev.DestroyBuffer(b.src)
	c.dev.DestroyBuffer(b.dst)
	for _, m := range b.memory {
		c.dev.Free(m)
	}
}

// transfer submits what record records and compares the target with what reference makes of copies of both
// buffers' bytes.
func (c *Case) transfer(size uint64, record func(vk.CommandBuffer, *transferBuffers), reference func(src, dst []byte)) {
	b := c.transferBuffers(size)
	defer b.free(c)
	src, want := bytes.Clone(b.bytes[0]), bytes.Clone(b.bytes[1])
	c.must("submit", c.dev.Submit(func(cb vk.CommandBuffer) { record(cb, b) }))
	reference(src, want)
	for i := range want {
		if b.bytes[1][i] != want[i] {
			c.Errorf("byte %d is %#x, want %#x", i, b.bytes[1][i], want[i])
			return
		}
	}
	if !bytes.Equal(b.bytes[0], src) {
		c.Errorf("the source changed")
	}
}
