package conformance

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// hugeDMABuf is more than /dev/udmabuf makes a dma-buf of (its parameter size_limit_mb, 64 by default).
const hugeDMABuf = 256 << 20

// dmaBufHostileCases are about descriptors that are not what they seem, and processes that end.
func dmaBufHostileCases() []definition {
	refused := func(name string, devices []string, open func(c *Case) int) definition {
		run := func(c *Case) {
			fd := open(c)
			wasOpen := isOpen(fd)
			if wasOpen {
				defer unix.Close(fd)
			}
			_, r := c.dev.FdProperties(dmaBuf, fd)
			c.want("vkGetMemoryFdPropertiesKHR", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
			_, r = c.dev.Allocate(stageBytes, c.visible(), vulkan.ImportFdInfo(&c.a, dmaBuf, fd, nil))
			c.want("import", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
			if isOpen(fd) != wasOpen {
				c.Errorf("the refused descriptor was closed")
			}
		}
		return definition{name: dmaBufGroup + "hostile." + name, extensions: dmaBufExtensions, devices: devices, run: run}
	}
	all := []definition{
		refused("closed", nil, func(c *Case) int { return 9999 }),
		refused("negative", nil, func(c *Case) int { return -1 }),
		refused("dev_null", nil, func(c *Case) int { return c.openDevice("/dev/null") }),
		refused("memfd", nil, func(c *Case) int { return memfd(c, stageBytes) }),
		refused("opaque_fd", nil, func(c *Case) int {
			m := c.allocate(stageBytes, c.visible(), vulkan.ExportInfo(&c.a, opaqueFd, nil))
			defer c.dev.Free(m)
			return c.getFd(m)
		}),
		refused("udmabuf_device", []string{udmabufDevice}, func(c *Case) int { return c.openDevice(udmabufDevice) }),
		refused("drm_device", []string{vgemDevice}, func(c *Case) int { return c.openDevice(vgemDevice) }),
		refused("sync_file", []string{udmabufDevice}, func(c *Case) int {
			fd := udmabuf(c, stageBytes)
			defer unix.Close(fd)
			return c.syncFile(fd)
		}),
		refused("read_only", []string{vgemDevice}, func(c *Case) int {
			v := c.vgem()
			defer v.close()
			handle := v.dumb(stageBytes)
			defer v.free(handle)
			return v.export(handle, unix.O_RDONLY)
		}),
		refused("path_only", []string{udmabufDevice}, func(c *Case) int {
			whole := udmabuf(c, stageBytes)
			defer unix.Close(whole)
			fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", whole), unix.O_PATH|unix.O_CLOEXEC, 0)
			return sysFd(c, "open", fd, err)
		}),
	}
	for _, s := range sources() {
		all = append(all, definition{name: dmaBufGroup + "hostile.size." + s.name, extensions: dmaBufExtensions,
			devices: []string{s.device}, run: func(c *Case) { c.wrongSizes(s) }})
	}
	return append(all,
		definition{name: dmaBufGroup + "hostile.memory_type", extensions: dmaBufExtensions, run: func(c *Case) {
			// VUID-VkMemoryAllocateInfo-memoryTypeIndex-00648
			fd := udmabuf(c, stageBytes)
			defer unix.Close(fd)
			bits, r := c.dev.FdProperties(dmaBuf, fd)
			c.must("vkGetMemoryFdPropertiesKHR", r)
			for t := range c.mem.MemoryTypeCount {
				if bits>>t&1 != 0 {
					continue
				}
				_, r := c.dev.Allocate(stageBytes, t, vulkan.ImportFdInfo(&c.a, dmaBuf, fd, nil))
				c.want(fmt.Sprintf("import as memory type %d", t), r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
			}
		}},
		definition{name: dmaBufGroup + "huge.export", extensions: dmaBufExtensions, run: func(c *Case) {
			// What can't leave as a dma-buf is refused when it is allocated, not when it is exported.
			_, r := c.dev.Allocate(hugeDMABuf, c.visible(), vulkan.ExportInfo(&c.a, dmaBuf, nil))
			c.want("export of more than udmabuf allows", r, vk.ERROR_OUT_OF_DEVICE_MEMORY)
		}},
		definition{name: dmaBufGroup + "huge.import", extensions: dmaBufExtensions, devices: []string{heapDevice},
			run: func(c *Case) {
				// As a dma-buf it also leaves again, however large it is.
				again := vulkan.ExportInfo(&c.a, dmaBuf, nil)
				m, r := c.dev.Allocate(hugeDMABuf, c.visible(), vulkan.ImportFdInfo(&c.a, dmaBuf, heap(c, hugeDMABuf), again))
				c.must("import", r)
				b := c.bytes(m, hugeDMABuf)
				b[0], b[hugeDMABuf-1] = 1, 2
				fd, r := c.dev.GetFd(m, dmaBuf)
				c.must("vkGetMemoryFdKHR", r)
				unix.Close(fd)
				c.dev.Free(m)
			}},
		dmaRow("survival.exporter_killed", nil, func(c *Case, near *stage, far *farStage) {
			c.ok(far, "memory x dma")
			c.ok(far, "write x 17")
			c.ok(far, "export x dma")
			near.hand(far.given())
			far.kill()
			c.ok(near, "adopt x dma")
			c.ok(near, "memory y mapped")
			c.settled(near, "copy=y:x")
			c.ok(near, "check y 17")
			c.settled(near, "fill=x:18")
			c.ok(near, "check x 18")
		}),
		dmaRow("survival.importers_killed", []string{heapDevice}, func(c *Case, near *stage, far *farStage) {
			// Many import at once and are killed in the middle of what they do, one after the other.
			fd := heap(c, stageBytes)
			defer unix.Close(fd)
			near.hand(c.duplicateOf(fd))
			c.ok(near, "adopt x dma")
			importers := []*farStage{far, c.farStage(), c.farStage(), c.farStage()}
			for _, f := range importers[1:] {
				defer f.end()
				c.ok(f, "fence done -")
			}
			for _, f := range importers {
				f.hand(c.duplicateOf(fd))
				c.ok(f, "adopt x dma")
				c.ok(f, "memory y mapped")
			}
			for i, f := range importers {
				for _, living := range importers[i:] {
					for range 20 {
						living.tell("submit 0 copy=y:x copy=x:y")
					}
				}
				time.Sleep(10 * time.Millisecond)
				f.kill()
				c.settled(near, fmt.Sprintf("fill=x:%d", 30+i))
				for _, living := range importers[i+1:] {
					for range 20 {
						if got := living.hear(); got != "VK_SUCCESS" {
							c.Errorf("a submission after the death of another process: %s", got)
						}
					}
					c.ok(living, "idle")
				}
			}
			c.settled(near, "fill=x:40")
			c.wantBytes("after all others died", fd, 40)
		}),
	)
}

// wrongSizes imports a dma-buf with sizes other than its own.
func (c *Case) wrongSizes(s dmaSource) {
	fd := s.make(c, stageBytes)
	defer unix.Close(fd)
	end, err := unix.Seek(fd, 0, unix.SEEK_END)
	c.system("lseek", err)
	page := int64(os.Getpagesize())
	for _, size := range []int64{1, page - 1, page, end - 1, end} {
		m, r := c.dev.Allocate(uint64(size), c.visible(), vulkan.ImportFdInfo(&c.a, dmaBuf, c.duplicateOf(fd), nil))
		c.must(fmt.Sprintf("import of %d of %d bytes", size, end), r)
		b := c.bytes(m, uint64(size))
		b[0], b[size-1] = 1, 2
		c.dev.Free(m)
	}
	for _, size := range []int64{end + 1, end + page, 2 * end, 1 << 40} {
		_, r := c.dev.Allocate(uint64(size), c.visible(), vulkan.ImportFdInfo(&c.a, dmaBuf, fd, nil))
		if c.wantErr(fmt.Sprintf("import of %d of %d bytes", size, end), r); !isOpen(fd) {
			c.Fatalf("the refused descriptor was closed")
		}
	}
}
