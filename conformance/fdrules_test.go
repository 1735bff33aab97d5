package conformance

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const ruleSize = 64 << 10

// exported is exportable host-visible memory.
func (c *Case) exported() (vk.DeviceMemory, uint32) {
	t := c.visible()
	return c.allocate(ruleSize, t, vulkan.ExportInfo(&c.a, opaqueFd, nil)), t
}

func isOpen(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

// wantRefused tries an import that must fail with VK_ERROR_INVALID_EXTERNAL_HANDLE and must leave the
// application its descriptor. It closes fd.
func (c *Case) wantRefused(what string, size uint64, t uint32, fd int) {
	m, r := c.importFd(size, t, fd)
	if c.want(what, r, vk.ERROR_INVALID_EXTERNAL_HANDLE); r == vk.SUCCESS {
		c.dev.Free(m)
		return
	}
	if fd >= 0 && !isOpen(fd) {
		c.Errorf("%s: the refused descriptor was closed", what)
		return
	}
	unix.Close(fd)
}

func memfd(c *Case, size int64) int {
	fd, err := unix.MemfdCreate("conformance", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	sysFd(c, "memfd_create", fd, err)
	sysFd(c, "ftruncate", fd, unix.Ftruncate(fd, size))
	return fd
}

// copyOf is an unsealed memfd with the same bytes as fd, changed by edit.
func copyOf(c *Case, fd int, edit func(b []byte) []byte) int {
	var st unix.Stat_t
	sysFd(c, "fstat", fd, unix.Fstat(fd, &st))
	b := make([]byte, st.Size)
	_, err := unix.Pread(fd, b, 0)
	sysFd(c, "pread", fd, err)
	b = edit(b)
	n := memfd(c, int64(len(b)))
	_, err = unix.Pwrite(n, b, 0)
	sysFd(c, "pwrite", n, err)
	return n
}

func seal(c *Case, fd int) int {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	return sysFd(c, "F_ADD_SEALS", fd, err)
}

func fdRuleCases() []definition {
	const group = "api.external.memory.opaque_fd.rules."
	fd := func(name string, valid bool, run func(c *Case)) definition {
		return definition{name: group + name, extensions: []string{fdExtension}, valid: valid, run: run}
	}
	forged := func(name string, edit func(b []byte) []byte, sealed bool) definition {
		d := fd(name, false, func(c *Case) {
			m, t := c.exported()
			real := c.getFd(m)
			f := copyOf(c, real, edit)
			unix.Close(real)
			if sealed {
				seal(c, f)
			}
			c.wantRefused("import", ruleSize, t, f)
			c.dev.Free(m)
		})
		return d
	}
	return []definition{
		fd("close_on_exec", true, func(c *Case) {
			m, _ := c.exported()
			f := c.getFd(m)
			flags, err := unix.FcntlInt(uintptr(f), unix.F_GETFD, 0)
			if err != nil || flags&unix.FD_CLOEXEC == 0 {
				c.Errorf("descriptor flags %#x (%v), want FD_CLOEXEC", flags, err)
			}
			unix.Close(f)
			c.dev.Free(m)
		}),
		fd("import_takes_descriptor", true, func(c *Case) {
			m, t := c.exported()
			f := c.getFd(m)
			i, r := c.importFd(ruleSize, t, f)
			c.must("import", r)
			c.dev.Free(i)
			if isOpen(f) {
				c.Errorf("descriptor %d is still open after its import was freed", f)
			}
			c.dev.Free(m)
		}),
		fd("fresh_memory_has_nothing_old", true, func(c *Case) {
			for range 4 {
				m, _ := c.exported()
				b := c.bytes(m, ruleSize)
				for i := range b {
					if b[i] != 0 && b[i] != poison { // either is allowed: docs/strict.md
						c.Fatalf("byte %d of fresh exportable memory is %#x", i, b[i])
					}
				}
				fill(b, 9)
				c.dev.Unmap(m)
				c.dev.Free(m)
			}
		}),
		fd("00671_not_exportable", false, func(c *Case) {
			m := c.allocate(ruleSize, c.visible(), nil)
			f, r := c.dev.GetFd(m, opaqueFd)
			c.wantErr("vkGetMemoryFdKHR of memory without export info", r)
			if f != -1 && isOpen(f) {
				unix.Close(f)
			}
			c.dev.Free(m)
		}),
		fd("00671_reexport_of_import", false, func(c *Case) {
			m, t := c.exported()
			i, r := c.importFd(ruleSize, t, c.getFd(m))
			c.must("import", r)
			_, r = c.dev.GetFd(i, opaqueFd)
			c.wantErr("vkGetMemoryFdKHR of an import without export info", r)
			c.dev.Free(i)
			c.dev.Free(m)
		}),
		fd("reexport_with_export_info", true, func(c *Case) {
			m, t := c.exported()
			next := vulkan.ExportInfo(&c.a, opaqueFd, vulkan.ImportFdInfo(&c.a, opaqueFd, c.getFd(m), nil))
			i := c.allocate(ruleSize, t, next)
			k, r := c.importFd(ruleSize, t, c.getFd(i))
			c.must("import of a re-export", r)
			fill(c.bytes(m, ruleSize), 11)
			c.dev.Free(i)
			c.check("import of a re-export", c.bytes(k, ruleSize), 11)
			c.dev.Free(k)
			c.dev.Free(m)
		}),
		fd("00672_not_a_descriptor_type", false, func(c *Case) {
			m, _ := c.exported()
			_, r := c.dev.GetFd(m, vk.ExternalMemoryHandleTypeFlags(vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT))
			c.wantErr("vkGetMemoryFdKHR as OPAQUE_WIN32", r)
			c.dev.Free(m)
		}),
		fd("00674_fd_properties_of_opaque", false, func(c *Case) {
			m, _ := c.exported()
			f := c.getFd(m)
			_, r := c.dev.FdProperties(opaqueFd, f)
			c.want("vkGetMemoryFdPropertiesKHR as OPAQUE_FD", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
			if !isOpen(f) {
				c.Errorf("vkGetMemoryFdPropertiesKHR closed the descriptor")
			}
			unix.Close(f)
			c.dev.Free(m)
		}),
		fd("00673_fd_properties_of_closed", false, func(c *Case) {
			_, r := c.dev.FdProperties(dmaBuf, 9999)
			c.want("vkGetMemoryFdPropertiesKHR of a closed descriptor", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
		}),
		fd("00670_closed_descriptor", false, func(c *Case) {
			_, r := c.importFd(ruleSize, c.visible(), 9999)
			c.want("import of descriptor 9999", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
			_, r = c.importFd(ruleSize, c.visible(), -1)
			c.want("import of descriptor -1", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
		}),
		fd("00670_dev_null", false, func(c *Case) {
			f, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
			c.wantRefused("import of /dev/null", ruleSize, c.visible(), sysFd(c, "open", f, err))
		}),
		fd("00670_raw_memfd", false, func(c *Case) {
			c.wantRefused("import of a plain memfd", ruleSize, c.visible(), memfd(c, ruleSize+4096))
			c.wantRefused("import of a sealed plain memfd", ruleSize, c.visible(), seal(c, memfd(c, ruleSize+4096)))
		}),
		fd("00670_regular_file", false, func(c *Case) {
			f, err := unix.Open(os.TempDir(), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
			if err != nil {
				c.Fatalf("temporary file: %v", err)
			}
			if err := unix.Ftruncate(f, ruleSize+4096); err != nil {
				c.Fatalf("ftruncate: %v", err)
			}
			c.wantRefused("import of a regular file", ruleSize, c.visible(), f)
		}),
		fd("00670_pipe", false, func(c *Case) {
			p := make([]int, 2)
			if err := unix.Pipe2(p, unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
				c.Fatalf("pipe: %v", err)
			}
			c.wantRefused("import of a pipe", ruleSize, c.visible(), p[0])
			unix.Close(p[1])
		}),
		forged("00670_unsealed_copy", func(b []byte) []byte { return b }, false),
		forged("00670_truncated", func(b []byte) []byte { return b[:len(b)/2] }, true),
		forged("00670_oversized", func(b []byte) []byte { return append(b, make([]byte, 8192)...) }, true),
		forged("00670_metadata_overwritten", func(b []byte) []byte {
			for i := ruleSize; i < len(b); i++ {
				b[i] = 0xa5
			}
			return b
		}, true),
		forged("00670_header_overwritten", func(b []byte) []byte {
			for i := range b {
				b[i] = 0x5a
			}
			return b
		}, true),
		forged("00670_empty", func(b []byte) []byte { return nil }, true),
		fd("00669_unsupported_handle_type", false, func(c *Case) {
			m, t := c.exported()
			f := c.getFd(m)
			i, r := c.dev.Allocate(ruleSize, t, vulkan.ImportFdInfo(&c.a,
				vk.ExternalMemoryHandleTypeFlags(vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT), f, nil))
			c.wantErr("import as OPAQUE_WIN32", r)
			if r == vk.SUCCESS {
				c.dev.Free(i)
			} else if !isOpen(f) {
				c.Errorf("the refused descriptor was closed")
			} else {
				unix.Close(f)
			}
			c.dev.Free(m)
		}),
		fd("handle_type_0_is_ignored", true, func(c *Case) {
			m, r := c.dev.Allocate(ruleSize, c.visible(), vulkan.ImportFdInfo(&c.a, 0, -1, nil))
			c.must("vkAllocateMemory with an import of handle type 0", r)
			fill(c.bytes(m, ruleSize), 1)
			c.dev.Free(m)
		}),
		fd("01742_larger_size", false, func(c *Case) {
			m, t := c.exported()
			c.wantRefused("import of twice the size", 2*ruleSize, t, c.getFd(m))
			c.dev.Free(m)
		}),
		fd("01742_smaller_size", false, func(c *Case) {
			m, t := c.exported()
			c.wantRefused("import of half the size", ruleSize/2, t, c.getFd(m))
			c.dev.Free(m)
		}),
		fd("01742_other_type", false, func(c *Case) {
			m, t := c.exported()
			if c.mem.MemoryTypeCount < 2 {
				c.dev.Free(m)
				c.Unsupported("a second memory type")
			}
			for o := range c.mem.MemoryTypeCount {
				if o != t {
					c.wantRefused("import as another memory type", ruleSize, o, c.getFd(m))
				}
			}
			c.dev.Free(m)
		}),
		fd("01879_plain_as_dedicated", false, func(c *Case) {
			o := opaque{visible: true}
			p := o.export(c)
			f := c.getFd(p.mem)
			m, r := c.dev.Allocate(p.size, p.typ, vulkan.ImportFdInfo(&c.a, opaqueFd, f,
				vulkan.DedicatedInfo(&c.a, 0, p.buf, nil)))
			if c.want("dedicated import of an export that isn't", r, vk.ERROR_INVALID_EXTERNAL_HANDLE); r == vk.SUCCESS {
				c.dev.Free(m)
			} else if !isOpen(f) {
				c.Errorf("the refused descriptor was closed")
			} else {
				unix.Close(f)
			}
			p.free(c)
		}),
		{name: group + "06657_two_imports", extensions: []string{fdExtension, "VK_EXT_external_memory_host"},
			run: func(c *Case) {
				b, err := unix.Mmap(-1, 0, ruleSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
				c.system("mmap", err)
				m, t := c.exported()
				f := c.getFd(m)
				h := vulkan.New[vk.ImportMemoryHostPointerInfoEXT](&c.a)
				h.SType = vk.STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT
				h.HandleType, h.PHostPointer = hostPointer, unsafe.Pointer(&b[0])
				i, r := c.dev.Allocate(ruleSize, t, vulkan.ImportFdInfo(&c.a, opaqueFd, f, unsafe.Pointer(h)))
				if c.wantErr("a descriptor and a host pointer in one allocation", r); r == vk.SUCCESS {
					c.dev.Free(i)
				} else if !isOpen(f) {
					c.Errorf("the refused descriptor was closed")
				} else {
					unix.Close(f)
				}
				c.dev.Free(m)
				c.system("munmap", unix.Munmap(b))
			}},
		fd("too_many_objects", true, func(c *Case) {
			m, _ := c.exported()
			var old unix.Rlimit
			c.system("getrlimit", unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
			low := old
			low.Cur = 64
			c.system("setrlimit", unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
			var fds []int
			var last vk.Result
			for len(fds) < 100 && last == vk.SUCCESS {
				var f int
				if f, last = c.dev.GetFd(m, opaqueFd); last == vk.SUCCESS {
					fds = append(fds, f)
				}
			}
			c.want("vkGetMemoryFdKHR without free descriptors", last, vk.ERROR_TOO_MANY_OBJECTS)
			for _, f := range fds {
				unix.Close(f)
			}
			c.system("setrlimit", unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
			c.dev.Free(m)
		}),
	}
}

// system ends the case on an error of the operating system.
func (c *Case) system(what string, err error) {
	if err != nil {
		c.Fatalf("%s: %v", what, err)
	}
}
