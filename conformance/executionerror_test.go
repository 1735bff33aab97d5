package conformance

import (
	"strings"
	"sync"

	"github.com/ebitengine/purego"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// messages collects what a debug messenger is told, which may happen on any thread.
type messages struct {
	mu   sync.Mutex
	text []string
	c    *Case
	m    vk.DebugUtilsMessengerEXT
}

// messages are errors.
func (c *Case) messages() *messages {
	return c.messagesOf(vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT)
}

func (c *Case) messagesOf(severity vk.DebugUtilsMessageSeverityFlagBitsEXT) *messages {
	all := &messages{c: c}
	info := vulkan.Struct[vk.DebugUtilsMessengerCreateInfoEXT](&c.a)
	info.MessageSeverity = vk.DebugUtilsMessageSeverityFlagsEXT(severity)
	info.MessageType = vk.DebugUtilsMessageTypeFlagsEXT(vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
		vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT)
	info.PfnUserCallback = purego.NewCallback(
		func(severity, types uint32, d *vk.DebugUtilsMessengerCallbackDataEXT, _ uintptr) uintptr {
			all.mu.Lock()
			defer all.mu.Unlock()
			all.text = append(all.text, vulkan.GoString(d.PMessageIdName)+": "+vulkan.GoString(d.PMessage))
			return 0
		})
	out := vulkan.New[vk.DebugUtilsMessengerEXT](&c.a)
	c.must("vkCreateDebugUtilsMessengerEXT",
		vk.Result(c.inst.Call("vkCreateDebugUtilsMessengerEXT", uintptr(c.inst.Handle), ptr(info), 0, ptr(out))))
	all.m = *out
	return all
}

func (m *messages) close() {
	m.c.inst.Call("vkDestroyDebugUtilsMessengerEXT", uintptr(m.c.inst.Handle), uintptr(m.m), 0)
}

func (m *messages) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text = nil
}

func (m *messages) has(part string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.text {
		if strings.Contains(t, part) {
			return true
		}
	}
	return false
}

// executionErrorCases record what only its execution can find to be wrong: the device is lost with a message,
// the rule's name in it, and everything after that fails; nothing crashes, and nothing beyond the resource is
// written.
func executionErrorCases() []definition {
	var cases []definition
	row := func(name, rule string, record func(m *mirror)) {
		cases = append(cases, definition{name: "farside.execution_errors." + name, farsideOnly: true,
			instanceExtensions: []string{"VK_EXT_debug_utils"}, run: func(c *Case) {
				seen := c.messages()
				defer seen.close()
				m := c.mirror(1)
				record(m)
				c.must("vkEndCommandBuffer", vk.Result(c.dev.CallOn("vkEndCommandBuffer", uintptr(m.cb))))
				c.want("a submission that errs", m.trySubmit(m.cb), vk.ERROR_DEVICE_LOST)
				if !seen.has(rule) {
					c.Errorf("no message names %s: %v", rule, seen.text)
				}
				c.want("a submission to a lost device", c.dev.SubmitBatches(c.dev.Queue(), 0, vulkan.Batch{}), vk.ERROR_DEVICE_LOST)
				c.want("vkQueueWaitIdle of a lost device", c.dev.QueueWaitIdle(c.dev.Queue()), vk.ERROR_DEVICE_LOST, vk.SUCCESS)
				for _, b := range m.buffers {
					if b.want != nil {
						c.same("a buffer after the error", b.bytes, b.want)
					}
				}
				m.free()
			}})
	}
	cmd := (*mirror).cmd
	row("fill_behind_end", "VUID-vkCmdFillBuffer-size-00027", func(m *mirror) {
		cmd(m, "vkCmdFillBuffer", uintptr(m.buffer(256).handle), 128, 132, 1)
	})
	row("fill_offset_behind_end", "VUID-vkCmdFillBuffer-dstOffset-00024", func(m *mirror) {
		cmd(m, "vkCmdFillBuffer", uintptr(m.buffer(256).handle), 256, vk.WHOLE_SIZE, 1)
	})
	row("fill_offset_overflow", "VUID-vkCmdFillBuffer", func(m *mirror) {
		cmd(m, "vkCmdFillBuffer", uintptr(m.buffer(256).handle), ^uintptr(3), 256, 1)
	})
	row("update_behind_end", "VUID-vkCmdUpdateBuffer-dataSize-00033", func(m *mirror) {
		n, p := array(&m.a, make([]byte, 64))
		cmd(m, "vkCmdUpdateBuffer", uintptr(m.buffer(256).handle), 200, n, p)
	})
	copyBuffer := func(m *mirror, src, dst vk.Buffer, regions ...vk.BufferCopy) {
		n, p := array(&m.a, regions)
		cmd(m, "vkCmdCopyBuffer", uintptr(src), uintptr(dst), n, p)
	}
	row("copy_behind_source", "VUID-vkCmdCopyBuffer-size-00115", func(m *mirror) {
		copyBuffer(m, m.buffer(256).handle, m.buffer(1024).handle, vk.BufferCopy{Size: 16},
			vk.BufferCopy{SrcOffset: 250, DstOffset: 16, Size: 7})
	})
	row("copy_behind_target", "VUID-vkCmdCopyBuffer-dstOffset-00114", func(m *mirror) {
		copyBuffer(m, m.buffer(1024).handle, m.buffer(256).handle, vk.BufferCopy{DstOffset: ^vk.DeviceSize(0) - 3, Size: 16})
	})
	row("unbound_buffer", "VUID-vkCmdFillBuffer-dstBuffer", func(m *mirror) {
		b, r := m.c.dev.CreateBuffer(256, 0)
		m.c.must("vkCreateBuffer", r)
		m.buffers = append(m.buffers, &mirrorBuffer{handle: b})
		cmd(m, "vkCmdFillBuffer", uintptr(b), 0, 256, 1)
	})
	row("destroyed_buffer", "", func(m *mirror) {
		b := m.buffer(256)
		cmd(m, "vkCmdFillBuffer", uintptr(b.handle), 0, 256, 1)
		m.c.dev.DestroyBuffer(b.handle)
		b.handle, b.want = 0, nil
	})
	row("freed_memory", "", func(m *mirror) {
		b := m.buffer(256)
		cmd(m, "vkCmdFillBuffer", uintptr(b.handle), 0, 256, 1)
		m.c.dev.Free(b.memory)
		b.memory, b.want = 0, nil
	})
	row("garbage_handles", "", func(m *mirror) {
		copyBuffer(m, 0xdeadbeef, 1<<63, vk.BufferCopy{Size: 4})
	})
	rgba := plane(vk.FORMAT_R8G8B8A8_UNORM, 16, 16)
	one := vk.ImageSubresourceLayers{AspectMask: color, LayerCount: 1}
	toBuffer := func(m *mirror, b *mirrorBuffer, r vk.BufferImageCopy) {
		n, p := array(&m.a, []vk.BufferImageCopy{r})
		cmd(m, "vkCmdCopyImageToBuffer", uintptr(m.image(rgba).handle), general, uintptr(b.handle), n, p)
	}
	row("image_to_small_buffer", "VUID-vkCmdCopyImageToBuffer-pRegions-00183", func(m *mirror) {
		toBuffer(m, m.buffer(1000), vk.BufferImageCopy{ImageSubresource: one,
			ImageExtent: vk.Extent3D{Width: 16, Height: 16, Depth: 1}})
	})
	row("image_region_behind_edge", "VUID-vkCmdCopyImageToBuffer", func(m *mirror) {
		toBuffer(m, m.buffer(4096), vk.BufferImageCopy{ImageSubresource: one, ImageOffset: vk.Offset3D{X: 8},
			ImageExtent: vk.Extent3D{Width: 9, Height: 1, Depth: 1}})
	})
	row("image_negative_offset", "VUID-vkCmdCopyImageToBuffer", func(m *mirror) {
		toBuffer(m, m.buffer(4096), vk.BufferImageCopy{ImageSubresource: one, ImageOffset: vk.Offset3D{X: -1, Y: -1 << 31},
			ImageExtent: vk.Extent3D{Width: 4, Height: 1, Depth: 1}})
	})
	row("image_level_that_is_not_there", "VUID-vkCmdCopyImageToBuffer", func(m *mirror) {
		toBuffer(m, m.buffer(4096),
			vk.BufferImageCopy{ImageSubresource: vk.ImageSubresourceLayers{AspectMask: color, MipLevel: 1 << 31, LayerCount: 1},
				ImageExtent: vk.Extent3D{Width: 1, Height: 1, Depth: 1}})
	})
	row("image_layers_that_are_not_there", "VUID-vkCmdCopyImageToBuffer", func(m *mirror) {
		toBuffer(m, m.buffer(4096),
			vk.BufferImageCopy{ImageSubresource: vk.ImageSubresourceLayers{AspectMask: color, BaseArrayLayer: 1,
				LayerCount: ^uint32(0) - 1}, ImageExtent: vk.Extent3D{Width: 1, Height: 1, Depth: 1}})
	})
	row("image_aspect_that_is_not_there", "VUID-vkCmdCopyImageToBuffer", func(m *mirror) {
		toBuffer(m, m.buffer(4096),
			vk.BufferImageCopy{ImageSubresource: vk.ImageSubresourceLayers{AspectMask: depth, LayerCount: 1},
				ImageExtent: vk.Extent3D{Width: 1, Height: 1, Depth: 1}})
	})
	row("image_copy_behind_edge", "VUID-vkCmdCopyImage", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.ImageCopy{{SrcSubresource: one, DstSubresource: one, DstOffset: vk.Offset3D{Y: 15},
				Extent: vk.Extent3D{Width: 2, Height: 2, Depth: 1}}})
		cmd(m, "vkCmdCopyImage", uintptr(m.image(rgba).handle), general, uintptr(m.image(rgba).handle), general, n, p)
	})
	row("image_copy_sizes_differ", "VUID-vkCmdCopyImage-srcImage-01548", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.ImageCopy{{SrcSubresource: one, DstSubresource: one, Extent: vk.Extent3D{Width: 2, Height: 2, Depth: 1}}})
		cmd(m, "vkCmdCopyImage", uintptr(m.image(rgba).handle), general,
			uintptr(m.image(plane(vk.FORMAT_R8_UNORM, 16, 16)).handle), general, n, p)
	})
	row("image_copy_blocks_differ", "VUID-vkCmdCopyImage-srcImage-09247", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.ImageCopy{{SrcSubresource: one, DstSubresource: one, Extent: vk.Extent3D{Width: 4, Height: 4, Depth: 1}}})
		from, to := m.image(plane(vk.FORMAT_BC3_UNORM_BLOCK, 20, 20)), m.image(plane(vk.FORMAT_ASTC_5x4_UNORM_BLOCK, 20, 20))
		cmd(m, "vkCmdCopyImage", uintptr(from.handle), general, uintptr(to.handle), general, n, p)
	})
	row("blit_behind_edge", "VUID-vkCmdBlitImage", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.ImageBlit{{SrcSubresource: one, SrcOffsets: rect(0, 0, 16, 16).offsets(), DstSubresource: one,
				DstOffsets: rect(0, 0, 17, 16).offsets()}})
		cmd(m, "vkCmdBlitImage", uintptr(m.image(rgba).handle), general, uintptr(m.image(rgba).handle), general, n, p, 0)
	})
	row("clear_levels_that_are_not_there", "VUID-vkCmdClearColorImage", func(m *mirror) {
		n, p := array(&m.a, []vk.ImageSubresourceRange{{AspectMask: color, LevelCount: 2, LayerCount: 1}})
		cmd(m, "vkCmdClearColorImage", uintptr(m.image(rgba).handle), general, ptr(vulkan.New[vk.ClearColorValue](&m.a)), n,
			p)
	})
	row("clear_color_of_depth", "VUID-vkCmdClearColorImage", func(m *mirror) {
		n, p := array(&m.a, []vk.ImageSubresourceRange{{AspectMask: color, LevelCount: 1, LayerCount: 1}})
		cmd(m, "vkCmdClearColorImage", uintptr(m.image(plane(vk.FORMAT_D16_UNORM, 8, 8)).handle), general,
			ptr(vulkan.New[vk.ClearColorValue](&m.a)), n, p)
	})
	row("resolve", "VUID-vkCmdResolveImage-srcImage-00257", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.ImageResolve{{SrcSubresource: one, DstSubresource: one, Extent: vk.Extent3D{Width: 2, Height: 2, Depth: 1}}})
		cmd(m, "vkCmdResolveImage", uintptr(m.image(rgba).handle), general, uintptr(m.image(rgba).handle), general, n, p)
	})
	four := rgba
	four.samples = 4
	row("resolve_to_samples", "VUID-vkCmdResolveImage-dstImage-00259", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.ImageResolve{{SrcSubresource: one, DstSubresource: one, Extent: vk.Extent3D{Width: 2, Height: 2, Depth: 1}}})
		cmd(m, "vkCmdResolveImage", uintptr(m.image(four).handle), general, uintptr(m.image(four).handle), general, n, p)
	})
	row("resolve_behind_edge", "VUID-vkCmdResolveImage-srcOffset-00269", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.ImageResolve{{SrcSubresource: one, DstSubresource: one, SrcOffset: vk.Offset3D{X: 15},
				Extent: vk.Extent3D{Width: 2, Height: 2, Depth: 1}}})
		cmd(m, "vkCmdResolveImage", uintptr(m.image(four).handle), general, uintptr(m.image(rgba).handle), general, n, p)
	})
	row("resolve_to_other_format", "VUID-vkCmdResolveImage-srcImage-01386", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.ImageResolve{{SrcSubresource: one, DstSubresource: one, Extent: vk.Extent3D{Width: 2, Height: 2, Depth: 1}}})
		cmd(m, "vkCmdResolveImage", uintptr(m.image(four).handle), general,
			uintptr(m.image(plane(vk.FORMAT_R8G8B8A8_SRGB, 16, 16)).handle), general, n, p)
	})
	row("image_copy_samples_differ", "VUID-vkCmdCopyImage-srcImage-00136", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.ImageCopy{{SrcSubresource: one, DstSubresource: one, Extent: vk.Extent3D{Width: 2, Height: 2, Depth: 1}}})
		cmd(m, "vkCmdCopyImage", uintptr(m.image(four).handle), general, uintptr(m.image(rgba).handle), general, n, p)
	})
	row("buffer_to_samples", "VUID-vkCmdCopyBufferToImage-dstImage-07973", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.BufferImageCopy{{ImageSubresource: one, ImageExtent: vk.Extent3D{Width: 2, Height: 2, Depth: 1}}})
		cmd(m, "vkCmdCopyBufferToImage", uintptr(m.buffer(4096).handle), uintptr(m.image(four).handle), general, n, p)
	})
	row("samples_to_buffer", "VUID-vkCmdCopyImageToBuffer-srcImage-07973", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.BufferImageCopy{{ImageSubresource: one, ImageExtent: vk.Extent3D{Width: 2, Height: 2, Depth: 1}}})
		cmd(m, "vkCmdCopyImageToBuffer", uintptr(m.image(four).handle), general, uintptr(m.buffer(4096).handle), n, p)
	})
	row("blit_of_samples", "VUID-vkCmdBlitImage-srcImage-00233", func(m *mirror) {
		n, p := array(&m.a,
			[]vk.ImageBlit{{SrcSubresource: one, SrcOffsets: rect(0, 0, 4, 4).offsets(), DstSubresource: one,
				DstOffsets: rect(0, 0, 4, 4).offsets()}})
		cmd(m, "vkCmdBlitImage", uintptr(m.image(four).handle), general, uintptr(m.image(rgba).handle), general, n, p, 0)
	})
	row("query_that_is_not_there", "VUID-vkCmdWriteTimestamp", func(m *mirror) {
		m.queries = m.c.timestamps(4)
		cmd(m, "vkCmdWriteTimestamp", uintptr(bottom), uintptr(m.queries), 4)
	})
	return cases
}
