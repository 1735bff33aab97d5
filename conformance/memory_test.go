package conformance

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

func memoryCases() []definition {
	row := func(name string, valid bool, run func(c *Case)) definition {
		return definition{name: "memory." + name, valid: valid, run: run}
	}
	budget := func(c *Case) *vk.PhysicalDeviceMemoryBudgetPropertiesEXT {
		b := vulkan.New[vk.PhysicalDeviceMemoryBudgetPropertiesEXT](&c.a)
		b.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT
		c.inst.MemoryProperties(c.pd, vulkan.Ptr(b))
		return b
	}
	cases := []definition{
		row("allocation.basic", true, func(c *Case) {
			for t := range c.mem.MemoryTypeCount {
				for _, size := range []uint64{1, 64, 4095, 4096, 4097, 1 << 20} {
					c.dev.Free(c.allocate(size, t, nil))
				}
			}
		}),
		row("allocation.random", true, func(c *Case) {
			rng := rand.New(rand.NewPCG(1, 2))
			var live []vk.DeviceMemory
			for range 2000 {
				if len(live) > 0 && rng.IntN(2) == 0 {
					i := rng.IntN(len(live))
					c.dev.Free(live[i])
					live[i] = live[len(live)-1]
					live = live[:len(live)-1]
					continue
				}
				live = append(live, c.allocate(1+rng.Uint64N(256<<10), rng.Uint32N(c.mem.MemoryTypeCount), nil))
			}
			for _, m := range live {
				c.dev.Free(m)
			}
		}),
		row("allocation.free_null", true, func(c *Case) { c.dev.Free(0) }),
		row("allocation.unknown_type", false, func(c *Case) {
			m, r := c.dev.Allocate(4096, c.mem.MemoryTypeCount, nil)
			c.wantErr("vkAllocateMemory of a memory type that doesn't exist", r)
			if r == vk.SUCCESS {
				c.dev.Free(m)
			}
		}),
		row("allocation.unknown_pnext_skipped", false, func(c *Case) {
			u := vulkan.New[vk.BaseInStructure](&c.a)
			u.SType = 0x7ffffff0
			c.dev.Free(c.allocate(4096, 0, vulkan.Ptr(u)))
		}),
		row("allocation.larger_than_heap", false, func(c *Case) {
			h := c.mem.MemoryHeaps[c.mem.MemoryTypes[0].HeapIndex]
			m, r := c.dev.Allocate(h.Size+(1<<20), 0, nil)
			c.want("vkAllocateMemory of more than the heap", r, vk.ERROR_OUT_OF_DEVICE_MEMORY)
			if r == vk.SUCCESS {
				c.dev.Free(m)
			}
		}),
		{name: "memory.allocation.heap_full", farsideOnly: true, valid: true, env: []string{"FARSIDE_HEAP_DEVICE=64MiB"},
			run: func(c *Case) {
				t, _ := c.memoryType(deviceLocal, 0)
				if s := c.mem.MemoryHeaps[c.mem.MemoryTypes[t].HeapIndex].Size; s != 64<<20 {
					c.Fatalf("the heap has %d bytes, want 64 MiB", s)
				}
				var live []vk.DeviceMemory
				for {
					m, r := c.dev.Allocate(8<<20, t, nil)
					if r != vk.SUCCESS {
						c.want("vkAllocateMemory from a full heap", r, vk.ERROR_OUT_OF_DEVICE_MEMORY)
						break
					}
					if live = append(live, m); len(live) > 8 {
						c.Fatalf("a heap of 64 MiB gave %d times 8 MiB", len(live))
					}
				}
				if len(live) != 8 {
					c.Errorf("a heap of 64 MiB gave %d times 8 MiB, want 8", len(live))
				}
				for _, m := range live {
					c.dev.Free(m)
				}
				c.dev.Free(c.allocate(64<<20, t, nil))
			}},
		row("mapping.full", true, func(c *Case) {
			for t := range c.mem.MemoryTypeCount {
				if c.mem.MemoryTypes[t].PropertyFlags&hostVisible == 0 {
					continue
				}
				m := c.allocate(ruleSize, t, nil)
				b := c.bytes(m, ruleSize)
				fill(b, 1)
				c.want("flush", c.dev.Flush(m, 0, vk.WHOLE_SIZE), vk.SUCCESS)
				c.dev.Unmap(m)
				b = c.bytes(m, ruleSize)
				c.want("invalidate", c.dev.Invalidate(m, 0, vk.WHOLE_SIZE), vk.SUCCESS)
				c.check(fmt.Sprintf("type %d after mapping anew", t), b, 1)
				c.dev.Unmap(m)
				c.dev.Free(m)
			}
		}),
		row("mapping.sub", true, func(c *Case) {
			m := c.allocate(ruleSize, c.visible(), nil)
			fill(c.bytes(m, ruleSize), 2)
			c.dev.Unmap(m)
			for _, at := range []uint64{0, 1, 63, 4096, ruleSize - 1} {
				p, r := c.dev.Map(m, at, vk.WHOLE_SIZE)
				c.must("vkMapMemory", r)
				got, want := vulkan.Bytes(p, 1)[0], byte(int(at)*31+int(at)>>8+2)
				if got != want {
					c.Errorf("offset %d: %#x, want %#x", at, got, want)
				}
				c.dev.Unmap(m)
			}
			c.dev.Free(m)
		}),
		row("mapping.alignment", true, func(c *Case) {
			p2 := c.inst.Properties2(c.pd, nil)
			align := p2.Properties.Limits.MinMemoryMapAlignment
			if align < 64 || align&(align-1) != 0 {
				c.Errorf("minMemoryMapAlignment %d, want a power of two from 64 on", align)
			}
			for _, size := range []uint64{1, 100, 5000} {
				m := c.allocate(size, c.visible(), nil)
				p, r := c.dev.Map(m, 0, vk.WHOLE_SIZE)
				c.must("vkMapMemory", r)
				if uintptr(p)%align != 0 {
					c.Errorf("mapped at %p, want a multiple of %d", p, align)
				}
				c.dev.Unmap(m)
				c.dev.Free(m)
			}
		}),
		row("mapping.not_host_visible", false, func(c *Case) {
			t, ok := c.memoryType(0, hostVisible)
			if !ok {
				c.Unsupported("memory that the host can't see")
			}
			m := c.allocate(4096, t, nil)
			_, r := c.dev.Map(m, 0, vk.WHOLE_SIZE)
			c.want("vkMapMemory of memory that isn't host-visible", r, vk.ERROR_MEMORY_MAP_FAILED)
			c.dev.Free(m)
		}),
		row("mapping.freed_while_mapped", true, func(c *Case) {
			m := c.allocate(ruleSize, c.visible(), nil)
			fill(c.bytes(m, ruleSize), 3)
			c.dev.Free(m)
		}),
		{name: "memory.mapping.map_memory2", extensions: []string{"VK_KHR_map_memory2"}, run: func(c *Case) {
			m := c.allocate(ruleSize, c.visible(), nil)
			info := vulkan.New[vk.MemoryMapInfo](&c.a)
			info.SType = vk.STRUCTURE_TYPE_MEMORY_MAP_INFO
			info.Memory, info.Size = m, vk.WHOLE_SIZE
			out := vulkan.New[unsafe.Pointer](&c.a)
			c.must("vkMapMemory2KHR", vk.Result(c.dev.Call("vkMapMemory2KHR", ptr(info), ptr(out))))
			fill(vulkan.Bytes(*out, ruleSize), 4)
			un := vulkan.New[vk.MemoryUnmapInfo](&c.a)
			un.SType = vk.STRUCTURE_TYPE_MEMORY_UNMAP_INFO
			un.Memory = m
			c.must("vkUnmapMemory2KHR", vk.Result(c.dev.Call("vkUnmapMemory2KHR", ptr(un))))
			c.check("mapped anew", c.bytes(m, ruleSize), 4)
			c.dev.Free(m)
		}},
		{name: "memory.budget", extensions: []string{"VK_EXT_memory_budget"}, valid: true, run: func(c *Case) {
			t := c.visible()
			heap := c.mem.MemoryTypes[t].HeapIndex
			before := budget(c)
			for h := range c.mem.MemoryHeapCount {
				if b := before.HeapBudget[h]; b == 0 || b > c.mem.MemoryHeaps[h].Size {
					c.Errorf("heap %d of %d bytes has budget %d", h, c.mem.MemoryHeaps[h].Size, b)
				}
			}
			m := c.allocate(1<<20, t, nil)
			if got := budget(c).HeapUsage[heap] - before.HeapUsage[heap]; got != 1<<20 {
				c.Errorf("1 MiB more raises the usage by %d", got)
			}
			c.dev.Free(m)
			if got := budget(c).HeapUsage[heap]; got != before.HeapUsage[heap] {
				c.Errorf("usage is %d after freeing, was %d", got, before.HeapUsage[heap])
			}
		}},
		{name: "memory.budget.imports_count", extensions: []string{"VK_EXT_memory_budget", fdExtension}, valid: true,
			run: func(c *Case) {
				m, t := c.exported()
				heap := c.mem.MemoryTypes[t].HeapIndex
				before := budget(c).HeapUsage[heap]
				i, r := c.importFd(ruleSize, t, c.getFd(m))
				c.must("import", r)
				if got := budget(c).HeapUsage[heap] - before; got != ruleSize {
					c.Errorf("an import of %d bytes raises the usage by %d", ruleSize, got)
				}
				c.dev.Free(i)
				c.dev.Free(m)
			}},
	}
	return cases
}

// ptr is a pointer into an arena as an argument.
func ptr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func requirementCases() []definition {
	row := func(name string, valid bool, run func(c *Case)) definition {
		return definition{name: "memory.requirements." + name, valid: valid, run: run}
	}
	sane := func(c *Case, what string, size uint64, r vk.MemoryRequirements) {
		if r.Size < size {
			c.Errorf("%s of %d bytes requires %d", what, size, r.Size)
		}
		if r.Alignment == 0 || r.Alignment&(r.Alignment-1) != 0 {
			c.Errorf("%s: alignment %d is no power of two", what, r.Alignment)
		}
		if r.MemoryTypeBits == 0 || r.MemoryTypeBits>>c.mem.MemoryTypeCount != 0 {
			c.Errorf("%s: memory type bits %#b with %d types", what, r.MemoryTypeBits, c.mem.MemoryTypeCount)
		}
	}
	return []definition{
		row("buffer", true, func(c *Case) {
			for _, size := range []uint64{1, 1000, 4096, 100001, 16 << 20} {
				b, r := c.dev.CreateBuffer(size, 0)
				c.must("vkCreateBuffer", r)
				req := c.dev.BufferRequirements(b)
				sane(c, "buffer", size, req)
				if t := c.visible(); req.MemoryTypeBits&(1<<t) == 0 {
					c.Errorf("a buffer can't be bound to host-visible coherent memory")
				}
				c.dev.DestroyBuffer(b)
			}
		}),
		row("buffer_same_for_same", true, func(c *Case) {
			b, _ := c.dev.CreateBuffer(12345, 0)
			d, _ := c.dev.CreateBuffer(12345, 0)
			if x, y := c.dev.BufferRequirements(b), c.dev.BufferRequirements(d); x != y {
				c.Errorf("equal buffers have requirements %+v and %+v", x, y)
			}
			c.dev.DestroyBuffer(b)
			c.dev.DestroyBuffer(d)
		}),
		row("image", true, func(c *Case) {
			for _, tiling := range []vk.ImageTiling{vk.IMAGE_TILING_OPTIMAL, vk.IMAGE_TILING_LINEAR} {
				for _, w := range []uint32{1, 17, 256} {
					i, r := c.dev.CreateImage(w, w, tiling, 0)
					c.must("vkCreateImage", r)
					req := c.dev.ImageRequirements(i)
					sane(c, "image", uint64(w)*uint64(w)*4, req)
					t := uint32(0)
					for req.MemoryTypeBits&(1<<t) == 0 {
						t++
					}
					m := c.allocate(req.Size, t, nil)
					c.must("vkBindImageMemory", c.dev.BindImage(i, m, 0))
					c.dev.DestroyImage(i)
					c.dev.Free(m)
				}
			}
		}),
		row("requirements2_dedicated", true, func(c *Case) {
			b, r := c.dev.CreateBuffer(100001, 0)
			c.must("vkCreateBuffer", r)
			d := vulkan.New[vk.MemoryDedicatedRequirements](&c.a)
			d.SType = vk.STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS
			d.PrefersDedicatedAllocation, d.RequiresDedicatedAllocation = 7, 7
			out := vulkan.New[vk.MemoryRequirements2](&c.a)
			out.SType = vk.STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2
			out.PNext = vulkan.Ptr(d)
			in := vulkan.New[vk.BufferMemoryRequirementsInfo2](&c.a)
			in.SType = vk.STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2
			in.Buffer = b
			c.dev.Call("vkGetBufferMemoryRequirements2", ptr(in), ptr(out))
			if out.MemoryRequirements != c.dev.BufferRequirements(b) {
				c.Errorf("requirements differ between the two commands")
			}
			if d.PrefersDedicatedAllocation > 1 || d.RequiresDedicatedAllocation > 1 {
				c.Errorf("dedicated requirements were not written: %d, %d", d.PrefersDedicatedAllocation,
					d.RequiresDedicatedAllocation)
			}
			c.dev.DestroyBuffer(b)
		}),
		// A dedicated allocation has at least the resource's size (VUID-VkMemoryDedicatedAllocateInfo-image-02964 and
		// -buffer-02965; older specifications, and layers, ask for exactly that).
		row("dedicated_larger", false, func(c *Case) {
			b, r := c.dev.CreateBuffer(5000, 0)
			c.must("vkCreateBuffer", r)
			m := c.allocate(2*c.dev.BufferRequirements(b).Size, c.visible(), vulkan.DedicatedInfo(&c.a, 0, b, nil))
			c.must("vkBindBufferMemory", c.dev.BindBuffer(b, m, 0))
			i, r := c.dev.CreateImage(33, 17, vk.IMAGE_TILING_OPTIMAL, 0)
			c.must("vkCreateImage", r)
			req := c.dev.ImageRequirements(i)
			n := c.allocate(2*req.Size, uint32(bits.TrailingZeros32(req.MemoryTypeBits)), vulkan.DedicatedInfo(&c.a, i, 0, nil))
			c.must("vkBindImageMemory", c.dev.BindImage(i, n, 0))
			c.dev.DestroyImage(i)
			c.dev.Free(n)
			c.dev.DestroyBuffer(b)
			c.dev.Free(m)
		}),
		row("dedicated_smaller", false, func(c *Case) {
			b, r := c.dev.CreateBuffer(5000, 0)
			c.must("vkCreateBuffer", r)
			m, r := c.dev.Allocate(c.dev.BufferRequirements(b).Size-1, c.visible(), vulkan.DedicatedInfo(&c.a, 0, b, nil))
			if c.wantErr("a dedicated allocation that is too small", r); r == vk.SUCCESS {
				c.dev.Free(m)
			}
			c.dev.DestroyBuffer(b)
		}),
		row("bind_sub_allocations", true, func(c *Case) {
			b, _ := c.dev.CreateBuffer(5000, 0)
			d, _ := c.dev.CreateBuffer(5000, 0)
			req := c.dev.BufferRequirements(b)
			off := (req.Size + req.Alignment - 1) &^ (req.Alignment - 1)
			m := c.allocate(off+req.Size, c.visible(), nil)
			c.must("first bind", c.dev.BindBuffer(b, m, 0))
			c.must("second bind", c.dev.BindBuffer(d, m, off))
			c.dev.DestroyBuffer(b)
			c.dev.DestroyBuffer(d)
			c.dev.Free(m)
		}),
	}
}
