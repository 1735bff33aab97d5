package conformance

import (
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

func neighbourCases() []definition {
	const hostExt, reportExt, placedExt = "VK_EXT_external_memory_host", "VK_EXT_device_memory_report",
		"VK_EXT_map_memory_placed"
	pages := func(c *Case, n int) []byte {
		b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		c.system("mmap", err)
		return b
	}
	importHost := func(c *Case, p unsafe.Pointer, size uint64) (vk.DeviceMemory, vk.Result) {
		h := vulkan.New[vk.ImportMemoryHostPointerInfoEXT](&c.a)
		h.SType = vk.STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT
		h.HandleType, h.PHostPointer = hostPointer, p
		return c.dev.Allocate(size, c.visible(), unsafe.Pointer(h))
	}
	placedFeatures := func(a *vulkan.Arena) unsafe.Pointer {
		f := vulkan.New[vk.PhysicalDeviceMapMemoryPlacedFeaturesEXT](a)
		f.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_MAP_MEMORY_PLACED_FEATURES_EXT
		f.MemoryMapPlaced = 1
		f.MemoryUnmapReserve = 1
		return unsafe.Pointer(f)
	}
	unmapReserving := func(c *Case, m vk.DeviceMemory) vk.Result {
		un := vulkan.New[vk.MemoryUnmapInfo](&c.a)
		un.SType = vk.STRUCTURE_TYPE_MEMORY_UNMAP_INFO
		un.Flags = vk.MemoryUnmapFlags(vk.MEMORY_UNMAP_RESERVE_BIT_EXT)
		un.Memory = m
		return vk.Result(c.dev.Call("vkUnmapMemory2KHR", ptr(un)))
	}
	return []definition{
		{name: "ext.external_memory_host.import", extensions: []string{hostExt}, valid: true, run: func(c *Case) {
			b := pages(c, ruleSize)
			m, r := importHost(c, unsafe.Pointer(&b[0]), ruleSize)
			c.must("import of a host pointer", r)
			fill(b, 1)
			c.check("mapped", c.bytes(m, ruleSize), 1)
			c.dev.Unmap(m)
			c.dev.Free(m)
			c.check("after vkFreeMemory", b, 1)
			c.system("munmap", unix.Munmap(b))
		}},
		{name: "ext.external_memory_host.01749_01745_alignment", extensions: []string{hostExt}, run: func(c *Case) {
			b := pages(c, ruleSize)
			m, r := importHost(c, unsafe.Pointer(&b[16]), ruleSize/2)
			if c.wantErr("import of a misaligned pointer", r); r == vk.SUCCESS {
				c.dev.Free(m)
			}
			m, r = importHost(c, unsafe.Pointer(&b[0]), 1000)
			if c.wantErr("import of a misaligned size", r); r == vk.SUCCESS {
				c.dev.Free(m)
			}
			c.system("munmap", unix.Munmap(b))
		}},
		{name: "ext.map_memory_placed.basic", extensions: []string{"VK_KHR_map_memory2", placedExt},
			features: placedFeatures, run: func(c *Case) {
				place := pages(c, ruleSize)
				m := c.allocate(ruleSize, c.visible(), nil)
				at := vulkan.New[vk.MemoryMapPlacedInfoEXT](&c.a)
				at.SType = vk.STRUCTURE_TYPE_MEMORY_MAP_PLACED_INFO_EXT
				at.PPlacedAddress = unsafe.Pointer(&place[0])
				info := vulkan.New[vk.MemoryMapInfo](&c.a)
				info.SType = vk.STRUCTURE_TYPE_MEMORY_MAP_INFO
				info.PNext = unsafe.Pointer(at)
				info.Flags = vk.MemoryMapFlags(vk.MEMORY_MAP_PLACED_BIT_EXT)
				info.Memory, info.Size = m, vk.WHOLE_SIZE
				out := vulkan.New[unsafe.Pointer](&c.a)
				c.must("vkMapMemory2KHR, placed", vk.Result(c.dev.Call("vkMapMemory2KHR", ptr(info), ptr(out))))
				if *out != unsafe.Pointer(&place[0]) {
					c.Errorf("mapped at %p, want %p", *out, &place[0])
				}
				fill(place, 3)
				c.must("vkUnmapMemory2KHR, reserving", unmapReserving(c, m))
				c.check("mapped anew", c.bytes(m, ruleSize), 3)
				c.dev.Free(m)
				c.system("munmap", unix.Munmap(place))
			}},
		{name: "ext.map_memory_placed.reserve_unplaced", extensions: []string{"VK_KHR_map_memory2", placedExt},
			features: placedFeatures, run: func(c *Case) {
				// The addresses are the application's after that, which gives them back; the memory isn't touched by it.
				b, r := c.dev.CreateBuffer(ruleSize, 0)
				c.must("vkCreateBuffer", r)
				m := c.allocate(ruleSize, c.visible(), nil)
				c.must("vkBindBufferMemory", c.dev.BindBuffer(b, m, 0))
				at := c.bytes(m, ruleSize)
				fill(at, 5)
				c.must("vkUnmapMemory2KHR, reserving", unmapReserving(c, m))
				var pages [ruleSize / 4096]byte
				if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&at[0])), ruleSize,
					uintptr(unsafe.Pointer(&pages[0]))); e != 0 {
					c.Errorf("mincore of the reserved range: %v", e)
				}
				again, r := c.dev.Map(m, 0, vk.WHOLE_SIZE)
				if c.must("vkMapMemory", r); again == unsafe.Pointer(&at[0]) {
					c.Errorf("mapped again within the reserved range")
				}
				_, _, e := unix.Syscall(unix.SYS_MUNMAP, uintptr(unsafe.Pointer(&at[0])), ruleSize, 0)
				if e != 0 {
					c.Errorf("munmap of the reserved range: %v", e)
				}
				d, dm, copied := c.mappedBuffer(ruleSize)
				c.must("copy", c.dev.CopyBuffer(d, b, ruleSize))
				c.check("copied by the device", copied, 5)
				for _, h := range []vk.Buffer{b, d} {
					c.dev.DestroyBuffer(h)
				}
				for _, h := range []vk.DeviceMemory{m, dm} {
					c.dev.Free(h)
				}
			}},
		{name: "ext.device_memory_report.events", bare: true, valid: true, run: func(c *Case) {
			var count [5]atomic.Int32
			var ids [5]atomic.Uint64
			callback := purego.NewCallback(func(d *vk.DeviceMemoryReportCallbackDataEXT, user uintptr) uintptr {
				if int(d.Type) < len(count) && user == 77 {
					count[d.Type].Add(1)
					ids[d.Type].Store(d.MemoryObjectId)
				}
				return 0
			})
			c.def.extensions = []string{reportExt, fdExtension}
			c.def.features = func(a *vulkan.Arena) unsafe.Pointer {
				r := vulkan.New[vk.DeviceDeviceMemoryReportCreateInfoEXT](a)
				r.SType = vk.STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT
				r.PfnUserCallback = callback
				*(*uintptr)(unsafe.Pointer(&r.PUserData)) = 77
				f := vulkan.New[vk.PhysicalDeviceDeviceMemoryReportFeaturesEXT](a)
				f.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_MEMORY_REPORT_FEATURES_EXT
				f.DeviceMemoryReport = 1
				f.PNext = unsafe.Pointer(r)
				return unsafe.Pointer(f)
			}
			c.open(true)
			m, t := c.exported()
			i, r := c.importFd(ruleSize, t, c.getFd(m))
			c.must("import", r)
			c.dev.Free(i)
			c.dev.Free(m)
			for e, want := range []int32{1, 1, 1, 1, 0} {
				if got := count[e].Load(); got != want {
					c.Errorf("%d events of type %v, want %d", got, vk.DeviceMemoryReportEventTypeEXT(e), want)
				}
			}
			if a, b := ids[0].Load(), ids[2].Load(); a == 0 || a != b {
				c.Errorf("memoryObjectId of an import is %d, of its payload's allocation %d", b, a)
			}
			c.close()
		}},
		{name: "ext.external_memory_dma_buf.round_trip", extensions: []string{dmaBufExtension, fdExtension}, valid: true,
			run: func(c *Case) {
				t := c.visible()
				m := c.allocate(ruleSize, t, vulkan.ExportInfo(&c.a, dmaBuf, nil))
				fd, r := c.dev.GetFd(m, dmaBuf)
				c.must("vkGetMemoryFdKHR", r)
				bits, r := c.dev.FdProperties(dmaBuf, fd)
				c.must("vkGetMemoryFdPropertiesKHR", r)
				if bits&(1<<t) == 0 {
					c.Errorf("memory type bits %#b lack type %d", bits, t)
				}
				i, r := c.dev.Allocate(ruleSize, t, vulkan.ImportFdInfo(&c.a, dmaBuf, fd, nil))
				c.must("import", r)
				fill(c.bytes(m, ruleSize), 5)
				c.check("import", c.bytes(i, ruleSize), 5)
				c.dev.Free(i)
				c.dev.Free(m)
			}},
	}
}

func debugCases() []definition {
	const ext = "VK_EXT_debug_utils"
	return []definition{{name: "ext.debug_utils.message_has_vuid", farsideOnly: true, instanceExtensions: []string{ext},
		extensions: []string{fdExtension}, run: func(c *Case) {
			seen := map[string]string{}
			info := vulkan.New[vk.DebugUtilsMessengerCreateInfoEXT](&c.a)
			info.SType = vk.STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT
			info.MessageSeverity = vk.DebugUtilsMessageSeverityFlagsEXT(vk.DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT)
			info.MessageType = vk.DebugUtilsMessageTypeFlagsEXT(vk.DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
				vk.DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT)
			info.PfnUserCallback = purego.NewCallback(
				func(severity, types uint32, d *vk.DebugUtilsMessengerCallbackDataEXT, _ uintptr) uintptr {
					seen[vulkan.GoString(d.PMessageIdName)] = vulkan.GoString(d.PMessage)
					return 0
				})
			out := vulkan.New[vk.DebugUtilsMessengerEXT](&c.a)
			c.must("vkCreateDebugUtilsMessengerEXT", vk.Result(c.inst.Call("vkCreateDebugUtilsMessengerEXT",
				uintptr(c.inst.Handle), ptr(info), 0, ptr(out))))
			_, r := c.importFd(ruleSize, c.visible(), 9999)
			c.want("import of a closed descriptor", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
			if len(seen) == 0 {
				c.Errorf("no message")
			}
			found := false
			for id, text := range seen {
				found = found || len(id) > 5 && id[:5] == "VUID-" && text != ""
			}
			if !found {
				c.Errorf("no message names a rule: %v", seen)
			}
			c.inst.Call("vkDestroyDebugUtilsMessengerEXT", uintptr(c.inst.Handle), uintptr(*out), 0)
			clear(seen)
			_, _ = c.importFd(ruleSize, c.visible(), 9999)
			if len(seen) != 0 {
				c.Errorf("a destroyed messenger was called: %v", seen)
			}
		}}}
}

func nvCases() []definition {
	const capExt = "VK_NV_external_memory_capabilities"
	win32 := vk.ExternalMemoryHandleTypeFlagsNV(vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT_NV)
	query := func(c *Case, ht vk.ExternalMemoryHandleTypeFlagsNV) (*vk.ExternalImageFormatPropertiesNV, vk.Result) {
		p := vulkan.New[vk.ExternalImageFormatPropertiesNV](&c.a)
		r := vk.Result(c.inst.Call("vkGetPhysicalDeviceExternalImageFormatPropertiesNV", uintptr(c.pd),
			uintptr(vk.FORMAT_R8G8B8A8_UNORM), uintptr(vk.IMAGE_TYPE_2D), uintptr(vk.IMAGE_TILING_OPTIMAL),
			uintptr(vk.IMAGE_USAGE_TRANSFER_DST_BIT), 0, uintptr(ht), ptr(p)))
		return p, r
	}
	return []definition{
		{name: "nv.external_memory_capabilities.none_is_plain_query", instanceExtensions: []string{capExt}, valid: true,
			run: func(c *Case) {
				p, r := query(c, 0)
				c.must("query with type 0", r)
				plain := vulkan.New[vk.ImageFormatProperties](&c.a)
				r = vk.Result(c.inst.Call("vkGetPhysicalDeviceImageFormatProperties", uintptr(c.pd),
					uintptr(vk.FORMAT_R8G8B8A8_UNORM), uintptr(vk.IMAGE_TYPE_2D), uintptr(vk.IMAGE_TILING_OPTIMAL),
					uintptr(vk.IMAGE_USAGE_TRANSFER_DST_BIT), 0, ptr(plain)))
				c.must("plain query", r)
				if p.ImageFormatProperties != *plain {
					c.Errorf("%+v, want %+v", p.ImageFormatProperties, *plain)
				}
				if p.ExternalMemoryFeatures != 0 || p.ExportFromImportedHandleTypes != 0 || p.CompatibleHandleTypes != 0 {
					c.Errorf("the rest isn't 0: %+v", *p)
				}
			}},
		{name: "nv.external_memory_capabilities.kinds", instanceExtensions: []string{capExt}, valid: true,
			run: func(c *Case) {
				p, r := query(c, win32)
				c.must("OPAQUE_WIN32", r)
				if p.ExternalMemoryFeatures&vk.ExternalMemoryFeatureFlagsNV(vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT_NV) == 0 {
					c.Errorf("OPAQUE_WIN32 isn't exportable: %+v", *p)
				}
				for _, ht := range []vk.ExternalMemoryHandleTypeFlagBitsNV{vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT_NV,
					vk.EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_IMAGE_BIT_NV, vk.EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_IMAGE_KMT_BIT_NV} {
					_, r := query(c, ht)
					c.want(ht.String(), r, vk.ERROR_FORMAT_NOT_SUPPORTED)
				}
			}},
		{name: "nv.external_memory.export", extensions: []string{"VK_NV_external_memory", fdExtension}, run: func(c *Case) {
			x := vulkan.New[vk.ExportMemoryAllocateInfoNV](&c.a)
			x.SType = vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO_NV
			x.HandleTypes = win32
			t := c.visible()
			m := c.allocate(ruleSize, t, vulkan.Ptr(x))
			i, r := c.importFd(ruleSize, t, c.getFd(m))
			c.must("import", r)
			fill(c.bytes(m, ruleSize), 6)
			c.check("import", c.bytes(i, ruleSize), 6)
			c.dev.Free(i)
			c.dev.Free(m)
		}},
		{name: "nv.external_memory.00640_no_mixing", extensions: []string{"VK_NV_external_memory", fdExtension},
			run: func(c *Case) {
				x := vulkan.New[vk.ExportMemoryAllocateInfoNV](&c.a)
				x.SType = vk.STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO_NV
				x.HandleTypes = win32
				x.PNext = vulkan.ExportInfo(&c.a, opaqueFd, nil)
				m, r := c.dev.Allocate(ruleSize, c.visible(), vulkan.Ptr(x))
				if c.wantErr("KHR and NV export structures together", r); r == vk.SUCCESS {
					c.dev.Free(m)
				}
			}},
	}
}
