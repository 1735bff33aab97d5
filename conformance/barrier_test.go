package conformance

import (
	"unsafe"

	"farside/conformance/reference"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// barrierCases are barriers of all kinds, also those that give memory away, and the commands on buffers that
// extensions add.
func barrierCases() []definition {
	row := func(name string, run func(c *Case)) definition {
		return definition{name: "api.buffer." + name, valid: true, run: run}
	}
	return []definition{
		row("barriers", func(c *Case) { // of all kinds, which change no contents
			m := c.mirror(3)
			b := m.buffer(4096)
			i := m.image(plane(vk.FORMAT_R8G8B8A8_UNORM, 32, 32))
			const stage = uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT)
			const access = vk.AccessFlags(vk.ACCESS_TRANSFER_READ_BIT | vk.ACCESS_TRANSFER_WRITE_BIT)
			layouts := []vk.ImageLayout{vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
				vk.IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, vk.IMAGE_LAYOUT_GENERAL}
			for n := range uint64(3) {
				m.fill(b, 64*n, 32, uint32(n))
				memory := vulkan.Struct[vk.MemoryBarrier](&m.a)
				memory.SrcAccessMask, memory.DstAccessMask = access, access
				buffers := vulkan.Make[vk.BufferMemoryBarrier](&m.a, 2)
				for k := range buffers {
					buffers[k].SType = vk.STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER
					buffers[k].SrcAccessMask, buffers[k].DstAccessMask = access, access
					buffers[k].SrcQueueFamilyIndex, buffers[k].DstQueueFamilyIndex = vk.QUEUE_FAMILY_IGNORED, vk.QUEUE_FAMILY_IGNORED
					buffers[k].Buffer, buffers[k].Offset, buffers[k].Size = b.handle, vk.DeviceSize(2048*k), 2048
				}
				image := vulkan.Struct[vk.ImageMemoryBarrier](&m.a)
				image.SrcAccessMask, image.DstAccessMask = access, access
				image.SrcQueueFamilyIndex, image.DstQueueFamilyIndex = vk.QUEUE_FAMILY_IGNORED, vk.QUEUE_FAMILY_IGNORED
				image.Image, image.OldLayout, image.NewLayout = i.handle, layouts[n], layouts[n+1]
				image.SubresourceRange = vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}
				c.dev.CallOn("vkCmdPipelineBarrier", uintptr(m.cb), stage, stage, 0, 0, 0, 0, 0, 0, 0)
				c.dev.CallOn("vkCmdPipelineBarrier", uintptr(m.cb), stage|uintptr(top), stage|uintptr(bottom),
					uintptr(vk.DEPENDENCY_BY_REGION_BIT),
					1, ptr(memory), 2, ptr(&buffers[0]), 1, ptr(image))
			}
			m.check()
		}),
		{name: "api.buffer.barriers2", extensions: []string{"VK_KHR_synchronization2"}, features: sync2Feature, valid: true,
			run: func(c *Case) {
				m := c.mirror(4)
				b := m.buffer(4096)
				i := m.image(plane(vk.FORMAT_R8G8B8A8_UNORM, 32, 32))
				m.fill(b, 0, 32, 1)
				memory := vulkan.Struct[vk.MemoryBarrier2](&m.a)
				memory.SrcStageMask, memory.SrcAccessMask = vk.PIPELINE_STAGE_2_ALL_COMMANDS_BIT, vk.ACCESS_2_MEMORY_WRITE_BIT
				memory.DstStageMask, memory.DstAccessMask = vk.PIPELINE_STAGE_2_COPY_BIT|vk.PIPELINE_STAGE_2_CLEAR_BIT,
					vk.ACCESS_2_TRANSFER_WRITE_BIT
				image := vulkan.Struct[vk.ImageMemoryBarrier2](&m.a)
				image.SrcStageMask, image.DstStageMask = vk.PIPELINE_STAGE_2_ALL_COMMANDS_BIT, vk.PIPELINE_STAGE_2_ALL_COMMANDS_BIT
				image.SrcAccessMask, image.DstAccessMask = vk.ACCESS_2_MEMORY_WRITE_BIT,
					vk.ACCESS_2_MEMORY_READ_BIT|vk.ACCESS_2_MEMORY_WRITE_BIT
				image.SrcQueueFamilyIndex, image.DstQueueFamilyIndex = vk.QUEUE_FAMILY_IGNORED, vk.QUEUE_FAMILY_IGNORED
				image.Image, image.OldLayout, image.NewLayout = i.handle, vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL
				image.SubresourceRange = vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}
				info := vulkan.Struct[vk.DependencyInfo](&m.a)
				info.MemoryBarrierCount, info.PMemoryBarriers = 1, memory
				info.ImageMemoryBarrierCount, info.PImageMemoryBarriers = 1, image
				c.dev.CallOn("vkCmdPipelineBarrier2KHR", uintptr(m.cb), ptr(info))
				m.fill(b, 16, 32, 2)
				m.check()
			}},
		{name: "api.copy_and_blit.copy_commands2.buffer_to_buffer", extensions: copy2, valid: true,
			run: func(c *Case) { manyRegions(c, true) }},
		{name: "ext.buffer_marker", extensions: []string{"VK_AMD_buffer_marker"}, run: func(c *Case) { marker(c, false) }},
		{name: "ext.buffer_marker.synchronization2", extensions: []string{"VK_AMD_buffer_marker", "VK_KHR_synchronization2"},
			features: sync2Feature,
			run:      func(c *Case) { marker(c, true) }},
		ownership("external", fdExtension, vk.QUEUE_FAMILY_EXTERNAL, false),
		ownership("external_barrier2", fdExtension, vk.QUEUE_FAMILY_EXTERNAL, true),
		{name: "api.external.memory.ownership.image", extensions: []string{fdExtension}, valid: true, run: ownershipOfImage},
		ownership("foreign", "VK_EXT_queue_family_foreign", vk.QUEUE_FAMILY_FOREIGN_EXT, false),
	}
}

func marker(c *Case, sync2 bool) {
	m := c.mirror(8)
	b := m.buffer(1024)
	for i := range uint64(50) {
		at, value, stage := i*20&^3, uint32(i*0x1234567),
			[]uintptr{uintptr(top), uintptr(bottom), uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT)}[i%3]
		name := "vkCmdWriteBufferMarkerAMD"
		if sync2 {
			name = "vkCmdWriteBufferMarker2AMD"
		}
		m.cmd(name, stage, uintptr(b.handle), uintptr(at), uintptr(value))
		for n := range 4 {
			b.want[at+uint64(n)] = byte(value >> (8 * n))
		}
	}
	m.check()
}

// ownership gives exported memory away to another queue family and takes its import from there.
func ownership(name, extension string, family uint32, sync2 bool) definition {
	d := definition{name: "api.external.memory.ownership." + name, extensions: []string{fdExtension}, valid: true}
	if extension != fdExtension {
		d.extensions = append(d.extensions, extension)
	}
	if sync2 {
		d.extensions = append(d.extensions, "VK_KHR_synchronization2")
		d.features = sync2Feature
	}
	d.run = func(c *Case) {
		const size = 64 << 10
		m := c.mirror(9)
		transfer := func(b vk.Buffer, from, to uint32) {
			if sync2 {
				x := vulkan.Struct[vk.BufferMemoryBarrier2](&m.a)
				x.SrcStageMask, x.SrcAccessMask = vk.PIPELINE_STAGE_2_ALL_TRANSFER_BIT, vk.ACCESS_2_TRANSFER_WRITE_BIT
				x.DstStageMask, x.DstAccessMask = vk.PIPELINE_STAGE_2_ALL_TRANSFER_BIT, vk.ACCESS_2_TRANSFER_READ_BIT
				x.SrcQueueFamilyIndex, x.DstQueueFamilyIndex, x.Buffer, x.Size = from, to, b, vk.WHOLE_SIZE
				info := vulkan.Struct[vk.DependencyInfo](&m.a)
				info.BufferMemoryBarrierCount, info.PBufferMemoryBarriers = 1, x
				c.dev.CallOn("vkCmdPipelineBarrier2KHR", uintptr(m.cb), ptr(info))
				return
			}
			x := vulkan.Struct[vk.BufferMemoryBarrier](&m.a)
			x.SrcAccessMask, x.DstAccessMask = vk.ACCESS_TRANSFER_WRITE_BIT, vk.ACCESS_TRANSFER_READ_BIT
			x.SrcQueueFamilyIndex, x.DstQueueFamilyIndex, x.Buffer, x.Size = from, to, b, vk.WHOLE_SIZE
			c.dev.CallOn("vkCmdPipelineBarrier", uintptr(m.cb), uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT),
				uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT),
				0, 0, 0, 1, ptr(x), 0, 0)
		}
		t, _ := c.memoryType(deviceLocal, 0)
		shared := func(next unsafe.Pointer) *mirrorBuffer {
			b, r := c.dev.CreateBuffer(size, opaqueFd)
			c.must("vkCreateBuffer", r)
			memory := c.allocate(size, t, next)
			c.must("vkBindBufferMemory", c.dev.BindBuffer(b, memory, 0))
			m.buffers = append(m.buffers, &mirrorBuffer{handle: b, memory: memory})
			return &mirrorBuffer{handle: b, memory: memory, want: make([]byte, size)}
		}
		out := shared(vulkan.ExportInfo(&c.a, opaqueFd, nil))
		m.copyBuffer(out, m.buffer(size), vk.BufferCopy{Size: size})
		m.fill(out, 1000, 2000, 0xabcdef01)
		transfer(out.handle, 0, family)
		m.flush()
		in := shared(vulkan.ImportFdInfo(&c.a, opaqueFd, c.getFd(out.memory), nil))
		in.want = out.want
		transfer(in.handle, family, 0)
		m.copyBuffer(m.buffer(size), in, vk.BufferCopy{Size: size})
		m.check()
	}
	return d
}

// ownershipOfImage gives an exported image away and takes its import, with the contents that it was given.
func ownershipOfImage(c *Case) {
	m := c.mirror(10)
	s := plane(vk.FORMAT_R8G8B8A8_UNORM, 64, 48)
	t, _ := c.memoryType(deviceLocal, 0)
	shared := func(next func(dedicated unsafe.Pointer) unsafe.Pointer) *mirrorImage {
		handle, r := c.dev.CreateImage(64, 48, vk.IMAGE_TILING_OPTIMAL, opaqueFd)
		c.must("vkCreateImage", r)
		memory := c.allocate(uint64(c.dev.ImageRequirements(handle).Size), t,
			next(vulkan.DedicatedInfo(&c.a, handle, 0, nil)))
		c.must("vkBindImageMemory", c.dev.BindImage(handle, memory, 0))
		return &mirrorImage{shape: s, handle: handle, texels: handle, memory: memory,
			want: reference.NewImage(s.dimensions, s.format, s.extent, 1, 1)}
	}
	transfer := func(i *mirrorImage, from, to uint32) {
		x := vulkan.Struct[vk.ImageMemoryBarrier](&m.a)
		x.SrcAccessMask, x.DstAccessMask = vk.ACCESS_TRANSFER_WRITE_BIT, vk.ACCESS_TRANSFER_READ_BIT
		x.OldLayout, x.NewLayout = vk.IMAGE_LAYOUT_GENERAL, vk.IMAGE_LAYOUT_GENERAL
		x.SrcQueueFamilyIndex, x.DstQueueFamilyIndex, x.Image = from, to, i.handle
		x.SubresourceRange = vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}
		c.dev.CallOn("vkCmdPipelineBarrier", uintptr(m.cb), uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT),
			uintptr(vk.PIPELINE_STAGE_TRANSFER_BIT),
			0, 0, 0, 0, 0, 1, ptr(x))
	}
	out := shared(func(dedicated unsafe.Pointer) unsafe.Pointer { return vulkan.ExportInfo(&c.a, opaqueFd, dedicated) })
	m.transition(out.handle, color)
	m.bufferToImage(out, m.buffer(64*48*4),
		vk.BufferImageCopy{ImageSubresource: vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1},
			ImageExtent: vk.Extent3D{Width: 64, Height: 48, Depth: 1}})
	transfer(out, 0, vk.QUEUE_FAMILY_EXTERNAL)
	m.flush()
	fd := c.getFd(out.memory)
	in := shared(func(dedicated unsafe.Pointer) unsafe.Pointer {
		return vulkan.ImportFdInfo(&c.a, opaqueFd, fd, dedicated)
	})
	in.want = out.want
	transfer(in, vk.QUEUE_FAMILY_EXTERNAL, 0)
	m.images = append(m.images, in)
	m.check()
	c.dev.DestroyImage(out.handle)
	c.dev.Free(out.memory)
}
