package conformance

import (
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// extensionCases ask the smaller extensions for what they promise.
func extensionCases() []definition {
	const addressExtension, priorityExtension = "VK_KHR_buffer_device_address", "VK_EXT_memory_priority"
	return []definition{
		{name: "khr.buffer_device_address.bound", extensions: []string{addressExtension},
			features: func(a *vulkan.Arena) unsafe.Pointer {
				f := vulkan.New[vk.PhysicalDeviceBufferDeviceAddressFeatures](a)
				f.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES
				f.BufferDeviceAddress = 1
				return unsafe.Pointer(f)
			}, run: func(c *Case) {
				const size, offset = 4096, 1024
				info := vulkan.New[vk.BufferCreateInfo](&c.a)
				info.SType = vk.STRUCTURE_TYPE_BUFFER_CREATE_INFO
				info.Size, info.Usage = size, vk.BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
				buffer := vulkan.New[vk.Buffer](&c.a)
				c.must("vkCreateBuffer", vk.Result(c.dev.Call("vkCreateBuffer", ptr(info), 0, ptr(buffer))))
				if c.driver == "farside" { // how the driver answers misuse, and where it puts addresses, is its own
					plain := c.allocate(size+offset, c.visible(), nil)
					c.wantErr("bind to memory without VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT", c.dev.BindBuffer(*buffer, plain, offset))
					c.dev.Free(plain)
				}
				flags := vulkan.New[vk.MemoryAllocateFlagsInfo](&c.a)
				flags.SType, flags.Flags = vk.STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, vk.MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
				m := c.allocate(size+offset, c.visible(), unsafe.Pointer(flags))
				ask := vulkan.New[vk.BufferDeviceAddressInfo](&c.a)
				ask.SType, ask.Buffer = vk.STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, *buffer
				c.must("vkBindBufferMemory", c.dev.BindBuffer(*buffer, m, offset))
				b := c.bytes(m, size+offset)
				first, again := c.dev.Call("vkGetBufferDeviceAddressKHR", ptr(ask)),
					c.dev.Call("vkGetBufferDeviceAddressKHR", ptr(ask))
				if first == 0 || first != again {
					c.Errorf("the addresses of two calls are %#x and %#x", first, again)
				}
				// Mappings have addresses of their own with strictness (guard).
				here := c.driver == "farside" && os.Getenv("FARSIDE_STRICT") == ""
				if want := uintptr(unsafe.Pointer(&b[offset])); here && first != want {
					c.Errorf("the address is %#x, the buffer's bytes are mapped at %#x", first, want)
				}
				c.dev.DestroyBuffer(*buffer)
				c.dev.Free(m)
			}},
		{name: "ext.memory_priority.range", extensions: []string{priorityExtension}, farsideOnly: true, run: func(c *Case) {
			for _, t := range []struct {
				priority float32
				legal    bool
			}{{0, true}, {0.5, true}, {1, true}, {-0.1, false}, {1.5, false}, {float32(math.NaN()), false}} {
				p := vulkan.New[vk.MemoryPriorityAllocateInfoEXT](&c.a)
				p.SType, p.Priority = vk.STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT, t.priority
				m, r := c.dev.Allocate(4096, 0, unsafe.Pointer(p))
				if (r == vk.SUCCESS) != t.legal {
					c.Errorf("an allocation of priority %v: %v", t.priority, r)
				}
				c.dev.Free(m)
			}
		}},
		{name: "ext.image_drm_format_modifier.linear", extensions: []string{"VK_EXT_image_drm_format_modifier"},
			farsideOnly: true, run: func(c *Case) {
				list := vulkan.New[vk.ImageDrmFormatModifierListCreateInfoEXT](&c.a)
				list.SType = vk.STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT
				list.DrmFormatModifierCount, list.PDrmFormatModifiers = 1, vulkan.Put(&c.a, uint64(0))
				info := vulkan.New[vk.ImageCreateInfo](&c.a)
				info.SType, info.PNext = vk.STRUCTURE_TYPE_IMAGE_CREATE_INFO, unsafe.Pointer(list)
				info.ImageType, info.Format = vk.IMAGE_TYPE_2D, vk.FORMAT_R8G8B8A8_UNORM
				info.Extent = vk.Extent3D{Width: 33, Height: 7, Depth: 1}
				info.MipLevels, info.ArrayLayers, info.Samples = 1, 1, vk.SAMPLE_COUNT_1_BIT
				info.Tiling = vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT
				info.Usage = vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT
				image := vulkan.New[vk.Image](&c.a)
				c.must("vkCreateImage", vk.Result(c.dev.Call("vkCreateImage", ptr(info), 0, ptr(image))))
				out := vulkan.New[vk.ImageDrmFormatModifierPropertiesEXT](&c.a)
				out.SType, out.DrmFormatModifier = vk.STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_PROPERTIES_EXT, 77
				c.must("vkGetImageDrmFormatModifierPropertiesEXT",
					vk.Result(c.dev.Call("vkGetImageDrmFormatModifierPropertiesEXT", uintptr(*image), ptr(out))))
				if out.DrmFormatModifier != 0 {
					c.Errorf("the modifier is %#x, want DRM_FORMAT_MOD_LINEAR, 0", out.DrmFormatModifier)
				}
				ask := vulkan.New[vk.ImageSubresource](&c.a)
				ask.AspectMask = vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT
				layout := vulkan.New[vk.SubresourceLayout](&c.a)
				c.dev.Call("vkGetImageSubresourceLayout", uintptr(*image), ptr(ask), ptr(layout))
				if layout.RowPitch < 33*4 || layout.Size < layout.RowPitch*6+33*4 {
					c.Errorf("an image of 33 by 7 texels has row pitch %d and size %d", layout.RowPitch, layout.Size)
				}
				c.dev.DestroyImage(*image)
				*list.PDrmFormatModifiers = 0x0100000000000001 // a tiling of another vendor's
				r := vk.Result(c.dev.Call("vkCreateImage", ptr(info), 0, ptr(image)))
				c.wantErr("vkCreateImage with a modifier that is not supported", r)
			}},
		{name: "memory.allocation.import_into_full_heap", extensions: []string{fdExtension}, farsideOnly: true,
			env: []string{"FARSIDE_HEAP_DEVICE=64MiB", "FARSIDE_HEAP_HOST=64MiB"}, run: func(c *Case) {
				const half = 40 << 20
				t := c.visible()
				m := c.allocate(half, t, vulkan.ExportInfo(&c.a, opaqueFd, nil))
				fd := c.getFd(m)
				_, r := c.importFd(half, t, fd)
				c.want("an import that counts for more than the heap has left", r, vk.ERROR_OUT_OF_DEVICE_MEMORY)
				if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
					c.Errorf("the refused descriptor is not the application's any more: %v", err)
				}
				c.dev.Free(m)
				again, r := c.importFd(half, t, fd)
				c.must("the same import when the heap has room", r)
				c.dev.Free(again)
			}},
		{name: "memory.allocation.count_limit", farsideOnly: true, run: func(c *Case) {
			limit := c.inst.Properties2(c.pd, nil).Properties.Limits.MaxMemoryAllocationCount
			live := make([]vk.DeviceMemory, 0, limit)
			for range limit {
				live = append(live, c.allocate(1, 0, nil))
			}
			_, r := c.dev.Allocate(1, 0, nil)
			c.want("one allocation more than maxMemoryAllocationCount", r, vk.ERROR_TOO_MANY_OBJECTS)
			for _, m := range live {
				c.dev.Free(m)
			}
			c.dev.Free(c.allocate(1, 0, nil))
		}},
	}
}
