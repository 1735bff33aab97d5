package conformance

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const payloadSize = 70 << 10 // not a multiple of the page size times anything

// opaque is one of the four settings in which the CTS asks the same questions.
type opaque struct {
	dedicated bool
	visible   bool
}

func (o opaque) name() string {
	n := "api.external.memory.opaque_fd."
	if o.dedicated {
		n += "dedicated."
	} else {
		n += "suballocated."
	}
	if o.visible {
		return n + "host_visible."
	}
	return n + "device_only."
}

// payload is exportable memory, or an import of it, with a buffer that may be bound to it.
type payload struct {
	o    opaque
	size uint64
	typ  uint32
	mem  vk.DeviceMemory
	buf  vk.Buffer
}

// prepare makes the buffer and picks the memory type that the setting asks for.
func (o opaque) prepare(c *Case) payload {
	buf, r := c.dev.CreateBuffer(payloadSize, opaqueFd)
	c.must("vkCreateBuffer", r)
	req := c.dev.BufferRequirements(buf)
	for pass := range 2 {
		for i := range c.mem.MemoryTypeCount {
			f := c.mem.MemoryTypes[i].PropertyFlags
			if req.MemoryTypeBits&(1<<i) == 0 || o.visible && f&(hostVisible|hostCoherent) != hostVisible|hostCoherent {
				continue
			}
			// A driver whose only type is host-visible takes that for device_only, as the CTS does.
			if !o.visible && pass == 0 && (f&deviceLocal == 0 || f&hostVisible != 0) {
				continue
			}
			return payload{o: o, size: req.Size, typ: i, buf: buf}
		}
	}
	c.Fatalf("no memory type of %#b suits", req.MemoryTypeBits)
	return payload{}
}

func (p payload) dedicated(c *Case) unsafe.Pointer {
	if !p.o.dedicated {
		return nil
	}
	return vulkan.DedicatedInfo(&c.a, 0, p.buf, nil)
}

func (o opaque) export(c *Case) payload {
	p := o.prepare(c)
	p.mem = c.allocate(p.size, p.typ, vulkan.ExportInfo(&c.a, opaqueFd, p.dedicated(c)))
	return p
}

// importFd imports fd, which the driver then owns, as an import of p with a buffer of its own.
func (p payload) importFd(c *Case, fd int) payload {
	q := p.o.prepare(c)
	if q.size != p.size || q.typ != p.typ {
		c.Fatalf("an equal buffer has other requirements: %d bytes of type %d, not %d of %d", q.size, q.typ, p.size, p.typ)
	}
	m, r := c.dev.Allocate(p.size, p.typ, vulkan.ImportFdInfo(&c.a, opaqueFd, fd, q.dedicated(c)))
	c.must("import", r)
	q.mem = m
	return q
}

func (p payload) bind(c *Case) { c.must("vkBindBufferMemory", c.dev.BindBuffer(p.buf, p.mem, 0)) }

func (p payload) free(c *Case) {
	c.dev.DestroyBuffer(p.buf)
	c.dev.Free(p.mem)
}

// write and check touch the payload where the host can see it.
func (p payload) write(c *Case, seed int) {
	if p.o.visible {
		fill(c.bytes(p.mem, p.size), seed)
		c.dev.Unmap(p.mem)
	}
}

func (p payload) check(c *Case, what string, seed int) {
	if p.o.visible {
		c.check(what, c.bytes(p.mem, p.size), seed)
		c.dev.Unmap(p.mem)
	}
}

// importThrough exports, turns the descriptor into another of the same file, and imports that.
func importThrough(turn func(c *Case, fd int) int) func(o opaque, c *Case) {
	return func(o opaque, c *Case) {
		p := o.export(c)
		p.write(c, 1)
		fd := c.getFd(p.mem)
		other := turn(c, fd)
		if other != fd {
			unix.Close(fd)
		}
		q := p.importFd(c, other)
		q.bind(c)
		q.check(c, "imported", 1)
		q.write(c, 2)
		p.check(c, "exported", 2)
		q.free(c)
		p.free(c)
	}
}

func sysFd(c *Case, what string, fd int, err error) int {
	if err != nil {
		c.Fatalf("%s: %v", what, err)
	}
	return fd
}

func opaqueFdCases() []definition {
	type row struct {
		name string
		run  func(o opaque, c *Case)
	}
	rows := []row{
		{"import_twice", func(o opaque, c *Case) {
			p := o.export(c)
			fd := c.getFd(p.mem)
			dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			sysFd(c, "dup", dup, err)
			q, s := p.importFd(c, fd), p.importFd(c, dup)
			p.write(c, 7)
			q.check(c, "first import", 7)
			s.check(c, "second import", 7)
			s.write(c, 8)
			q.check(c, "first import after a write through the second", 8)
			q.free(c)
			s.check(c, "second import after the first was freed", 8)
			s.free(c)
			p.free(c)
		}},
		{"import_multiple_times", func(o opaque, c *Case) {
			p := o.export(c)
			var all []payload
			for range 32 {
				all = append(all, p.importFd(c, c.getFd(p.mem)))
			}
			for i, q := range all {
				q.bind(c)
				q.write(c, i)
				all[(i+5)%len(all)].check(c, fmt.Sprintf("import %d", (i+5)%len(all)), i)
			}
			for _, q := range all {
				q.free(c)
			}
			p.free(c)
		}},
		{"dup", importThrough(func(c *Case, fd int) int {
			n, err := unix.Dup(fd)
			return sysFd(c, "dup", n, err)
		})},
		{"dup2", importThrough(func(c *Case, fd int) int {
			n, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
			sysFd(c, "open", n, err)
			return sysFd(c, "dup2", n, unix.Dup3(fd, n, 0))
		})},
		{"dup3", importThrough(func(c *Case, fd int) int {
			n, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
			sysFd(c, "open", n, err)
			return sysFd(c, "dup3", n, unix.Dup3(fd, n, unix.O_CLOEXEC))
		})},
		{"send_over_socket", importThrough(func(c *Case, fd int) int {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			sysFd(c, "socketpair", 0, err)
			defer unix.Close(pair[0])
			defer unix.Close(pair[1])
			sysFd(c, "send", 0, sendFd(pair[0], fd))
			n, err := receiveFd(pair[1])
			return sysFd(c, "receive", n, err)
		})},
		{"export_multiple_times", func(o opaque, c *Case) {
			p := o.export(c)
			seen := map[int]bool{}
			for range 64 {
				fd := c.getFd(p.mem)
				if seen[fd] {
					c.Fatalf("descriptor %d was given out twice", fd)
				}
				seen[fd] = true
			}
			for fd := range seen {
				if err := unix.Close(fd); err != nil {
					c.Errorf("closing descriptor %d: %v", fd, err)
				}
			}
			p.free(c)
		}},
		{"fd_properties", func(o opaque, c *Case) {
			p := o.export(c)
			e := c.inst.ExternalBuffer(c.pd, vk.BufferUsageFlags(vk.BUFFER_USAGE_TRANSFER_DST_BIT), opaqueFd)
			both := vk.ExternalMemoryFeatureFlags(vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT |
				vk.EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT)
			if e.ExternalMemoryFeatures&both != both {
				c.Errorf("opaque descriptors have features %v, want exportable and importable", e.ExternalMemoryFeatures)
			}
			if e.CompatibleHandleTypes&opaqueFd == 0 {
				c.Errorf("compatible handle types %v lack the type itself", e.CompatibleHandleTypes)
			}
			p.free(c)
		}},
		{"export_bind_import_bind", func(o opaque, c *Case) {
			p := o.export(c)
			fd := c.getFd(p.mem)
			p.bind(c)
			q := p.importFd(c, fd)
			q.bind(c)
			p.write(c, 3)
			q.check(c, "import", 3)
			q.free(c)
			p.free(c)
		}},
		{"bind_export_import_bind", func(o opaque, c *Case) {
			p := o.export(c)
			p.bind(c)
			q := p.importFd(c, c.getFd(p.mem))
			q.bind(c)
			q.write(c, 4)
			p.check(c, "export", 4)
			q.free(c)
			p.free(c)
		}},
		{"export_import_bind_bind", func(o opaque, c *Case) {
			p := o.export(c)
			q := p.importFd(c, c.getFd(p.mem))
			q.bind(c)
			p.bind(c)
			p.write(c, 5)
			q.check(c, "import", 5)
			p.free(c)
			q.free(c)
		}},
		{"transference", func(o opaque, c *Case) {
			// Permanent transference: the exporter is gone before the importer looks.
			p := o.export(c)
			p.write(c, 6)
			fd := c.getFd(p.mem)
			p.free(c)
			q := p.importFd(c, fd)
			q.bind(c)
			q.check(c, "import of a freed export", 6)
			q.free(c)
		}},
	}
	var all []definition
	for _, o := range []opaque{{false, false}, {false, true}, {true, false}, {true, true}} {
		for _, r := range rows {
			all = append(all, definition{name: o.name() + r.name, extensions: []string{fdExtension}, valid: true,
				run: func(c *Case) { r.run(o, c) }})
		}
	}
	return all
}

// sendFd and receiveFd pass a descriptor over a unix socket.
func sendFd(socket, fd int) error {
	return unix.Sendmsg(socket, []byte{0}, unix.UnixRights(fd), nil, 0)
}

func receiveFd(socket int) (int, error) {
	one, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, one, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(msgs) != 1 {
		return -1, fmt.Errorf("%d control messages: %v", len(msgs), err)
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("%d descriptors: %v", len(fds), err)
	}
	return fds[0], nil
}
