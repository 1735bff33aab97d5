package conformance

import (
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// recordMisuse gives commands what no application may give them: pointers to nothing, sizes that are not
// allowed, handles of other kinds. Recording it, ending or submitting it errs, and nothing crashes.
func recordMisuse() []definition {
	const nowhere = 64 // an address that is never mapped
	row := func(name string, record func(c *Case, m *mirror, call func(name string, args ...uintptr))) definition {
		return definition{name: "farside.command_buffers.record." + name, farsideOnly: true, run: func(c *Case) {
			m := c.mirror(1)
			record(c, m, func(name string, args ...uintptr) { c.dev.CallOn(name, append([]uintptr{uintptr(m.cb)}, args...)...) })
			r := vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(m.cb)))
			if r == vk.SUCCESS {
				r = m.trySubmit(m.cb)
			}
			c.wantErr("to record, to end or to execute it", r)
			m.free()
		}}
	}
	type caller = func(name string, args ...uintptr)
	var cases []definition
	buffers := func(name string, record func(m *mirror, src, dst uintptr, call caller)) {
		cases = append(cases, row(name, func(_ *Case, m *mirror, call caller) {
			record(m, uintptr(m.buffer(4096).handle), uintptr(m.buffer(4096).handle), call)
		}))
	}
	images := func(name string, record func(m *mirror, image, buffer uintptr, call caller)) {
		cases = append(cases, row(name, func(_ *Case, m *mirror, call caller) {
			record(m, uintptr(m.image(plane(vk.FORMAT_R8G8B8A8_UNORM, 8, 8)).handle), uintptr(m.buffer(4096).handle), call)
		}))
	}
	for _, p := range []struct {
		name string
		at   uintptr
	}{{"null", 0}, {"unmapped", nowhere}} {
		buffers("copy_regions_"+p.name, func(_ *mirror, src, dst uintptr,
			call caller) {
			call("vkCmdCopyBuffer", src, dst, 1, p.at)
		})
		buffers("copy_many_regions_"+p.name, func(_ *mirror, src, dst uintptr,
			call caller) {
			call("vkCmdCopyBuffer", src, dst, 1<<20, p.at)
		})
		buffers("update_data_"+p.name, func(_ *mirror, _, dst uintptr,
			call caller) {
			call("vkCmdUpdateBuffer", dst, 0, 64, p.at)
		})
		buffers("execute_"+p.name, func(_ *mirror, _, _ uintptr, call caller) { call("vkCmdExecuteCommands", 3, p.at) })
		buffers("wait_events_"+p.name, func(_ *mirror, _, _ uintptr, call caller) {
			call("vkCmdWaitEvents", 2, p.at, uintptr(top), uintptr(bottom), 0, 0, 0, 0, 0, 0)
		})
		images("image_copy_regions_"+p.name, func(_ *mirror, image, _ uintptr, call caller) {
			call("vkCmdCopyImage", image, general, image, general, 2, p.at)
		})
		images("buffer_image_regions_"+p.name, func(_ *mirror, image, buffer uintptr, call caller) {
			call("vkCmdCopyBufferToImage", buffer, image, general, 1, p.at)
		})
		images("image_buffer_regions_"+p.name, func(_ *mirror, image, buffer uintptr, call caller) {
			call("vkCmdCopyImageToBuffer", image, general, buffer, 1, p.at)
		})
		images("blit_regions_"+p.name, func(_ *mirror, image, _ uintptr, call caller) {
			call("vkCmdBlitImage", image, general, image, general, 1, p.at, 0)
		})
		images("clear_value_"+p.name, func(m *mirror, image, _ uintptr, call caller) {
			n, ranges := array(&m.a, []vk.ImageSubresourceRange{{AspectMask: color, LevelCount: 1, LayerCount: 1}})
			call("vkCmdClearColorImage", image, general, p.at, n, ranges)
		})
		images("clear_ranges_"+p.name, func(m *mirror, image, _ uintptr, call caller) {
			call("vkCmdClearColorImage", image, general, ptr(vulkan.New[vk.ClearColorValue](&m.a)), 1, p.at)
		})
	}
	buffers("regions_without_end", func(m *mirror, src, dst uintptr, call caller) {
		_, first := array(&m.a, []vk.BufferCopy{{Size: 4}})
		call("vkCmdCopyBuffer", src, dst, 1<<32-1, first)
	})
	for name, size := range map[string]uintptr{"3": 3, "65540": 65540, "huge": 1 << 62} {
		buffers("update_size_"+name, func(m *mirror, _, dst uintptr, call caller) {
			call("vkCmdUpdateBuffer", dst, 0, size, ptr(vulkan.First(vulkan.Make[byte](&m.a, 1<<17))))
		})
	}
	buffers("fill_size_0", func(_ *mirror, _, dst uintptr, call caller) { call("vkCmdFillBuffer", dst, 0, 0, 1) })
	buffers("fill_size_6", func(_ *mirror, _, dst uintptr, call caller) { call("vkCmdFillBuffer", dst, 0, 6, 1) })
	buffers("fill_offset_2", func(_ *mirror, _, dst uintptr, call caller) { call("vkCmdFillBuffer", dst, 2, 4, 1) })
	buffers("execute_itself", func(m *mirror, _, _ uintptr, call caller) {
		n, p := array(&m.a, []vk.CommandBuffer{m.cb})
		call("vkCmdExecuteCommands", n, p)
	})
	images("image_for_buffer", func(_ *mirror, image, _ uintptr, call caller) { call("vkCmdFillBuffer", image, 0, 4, 1) })
	images("buffer_for_image", func(m *mirror, _, buffer uintptr, call caller) {
		n, p := array(&m.a, []vk.ImageSubresourceRange{{AspectMask: color, LevelCount: 1, LayerCount: 1}})
		call("vkCmdClearColorImage", buffer, general, ptr(vulkan.New[vk.ClearColorValue](&m.a)), n, p)
	})
	return cases
}
