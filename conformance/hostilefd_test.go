package conformance

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A target is an object into which a descriptor is imported.
type target struct {
	name        string
	make        string // the order that makes an x
	group       string
	handle      string
	permanences []string
}

var targets = []target{
	{"binary", "binary x -", "api.external.semaphore.", "opaque", []string{"permanent", "temporary"}},
	{"timeline", "timeline x 0 -", "api.external.semaphore.", "opaque", []string{"permanent"}},
	{"fence", "fence x -", "api.external.fence.", "opaque", []string{"permanent", "temporary"}},
	{"binary_sync", "binary x -", "api.external.semaphore.", "sync", []string{"temporary"}},
	{"fence_sync", "fence x -", "api.external.fence.", "sync", []string{"temporary"}},
}

// hostile descriptors, by what they are; near makes what it takes. A target named in except takes it rightly.
var hostile = []struct {
	name   string
	except string
	open   func(c *Case, near *stage) int
}{
	{"closed", "", func(c *Case, _ *stage) int { return 9999 }},
	{"dev_null", "", func(c *Case, _ *stage) int {
		fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		return sysFd(c, "open", fd, err)
	}},
	{"regular_file", "", func(c *Case, _ *stage) int {
		fd, err := unix.Open("/tmp", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		sysFd(c, "open", fd, err)
		return sysFd(c, "ftruncate", fd, unix.Ftruncate(fd, 8192))
	}},
	{"empty_memfd", "", func(c *Case, _ *stage) int { return memfd(c, 0) }},
	{"zeroed_memfd", "", func(c *Case, _ *stage) int { return memfd(c, 4096) }},
	{"sealed_memfd", "", func(c *Case, _ *stage) int {
		fd := memfd(c, 4096)
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
		return sysFd(c, "seal", fd, err)
	}},
	{"unsealed_copy", "", func(c *Case, near *stage) int {
		return rewritten(c, near, func(b []byte) []byte { return b })
	}},
	{"truncated_copy", "", func(c *Case, near *stage) int {
		return rewritten(c, near, func(b []byte) []byte { return b[:min(64, len(b))] })
	}},
	{"pipe", "", func(c *Case, _ *stage) int {
		var p [2]int
		err := unix.Pipe2(p[:], unix.O_CLOEXEC)
		unix.Close(p[0])
		return sysFd(c, "pipe", p[1], err)
	}},
	{"memory", "", func(c *Case, near *stage) int {
		c.ok(near, "memory m mapped")
		c.ok(near, "export m opaque")
		return near.given()
	}},
	{"binary", "binary", exported("binary y opaque")},
	{"timeline", "timeline", exported("timeline y 0 opaque")},
	{"fence", "fence", exported("fence y opaque")},
}

func exported(order string) func(c *Case, near *stage) int {
	return func(c *Case, near *stage) int {
		c.ok(near, "%s", order)
		c.ok(near, "export y opaque")
		return near.given()
	}
}

// rewritten is an unsealed copy of an exported timeline semaphore's file.
func rewritten(c *Case, near *stage, edit func([]byte) []byte) int {
	fd := exported("timeline y 0 opaque")(c, near)
	defer unix.Close(fd)
	return copyOf(c, fd, edit)
}

// wantRefusal wants an import into x to fail with VK_ERROR_INVALID_EXTERNAL_HANDLE and to leave the caller
// its descriptor, which it closes, and x what it was.
func (c *Case) wantRefusal(s *stage, what, handle, permanence string, fd int) {
	open := isOpen(fd)
	s.hand(fd)
	c.ask(s, "VK_ERROR_INVALID_EXTERNAL_HANDLE", "import x %s %s", handle, permanence)
	if open && !isOpen(fd) {
		c.Errorf("%s: the refused descriptor was closed", what)
		return
	}
	if open {
		unix.Close(fd)
	}
}

func hostileCases() []definition {
	var all []definition
	row := func(name string, run func(c *Case, s *stage)) {
		all = append(all, definition{name: name, extensions: externalExtensions, features: syncFeatures, queues: true,
			run: func(c *Case) {
				s := c.stage()
				defer s.close()
				run(c, s)
			}})
	}
	for _, t := range targets {
		for _, permanence := range t.permanences {
			for _, h := range hostile {
				if t.name == h.except {
					continue
				}
				row(fmt.Sprintf("%s%s_fd.hostile.%s_%s_%s", t.group, t.handle, t.name, permanence, h.name),
					func(c *Case, s *stage) {
						c.ok(s, "%s", t.make)
						fd := h.open(c, s)
						c.wantRefusal(s, h.name, t.handle, permanence, fd)
						c.ok(s, "fence done -")
						switch t.name { // x still works
						case "binary", "binary_sync":
							c.ok(s, "submit 0 signal=x")
							c.ok(s, "submit 0 wait=x fence=done")
						case "timeline":
							c.ok(s, "submit 0 signal=x:1 fence=done")
						default:
							c.ok(s, "submit 0 fence=x")
							c.ok(s, "wait x 0 20000")
							c.ok(s, "submit 0 fence=done")
						}
						c.ok(s, "wait done 0 20000")
					})
			}
		}
	}
	for _, t := range targets {
		refused := func(name, handle, permanence, source string) {
			row(fmt.Sprintf("%s%s_fd.hostile.%s_%s", t.group, handle, t.name, name), func(c *Case, s *stage) {
				c.ok(s, "%s", t.make)
				fd := -1
				if source != "" {
					c.ok(s, "%s", source)
					c.ok(s, "timeline gate 0 -")
					c.ok(s, "submit 0 wait=gate:1 %s", map[bool]string{true: "fence=y", false: "signal=y"}[t.name == "fence_sync"])
					defer c.ok(s, "signal gate 1")
					c.ok(s, "export y sync")
					fd = s.given()
				}
				c.wantRefusal(s, name, handle, permanence, fd)
			})
		}
		switch t.name {
		case "binary_sync":
			refused("permanent", "sync", "permanent", "binary y sync") // VUID-VkImportSemaphoreFdInfoKHR-handleType-07307
			refused("as_opaque", "opaque", "temporary", "binary y sync")
		case "fence_sync":
			refused("permanent", "sync", "permanent", "fence y sync") // VUID-VkImportFenceFdInfoKHR-handleType-07306
			refused("as_opaque", "opaque", "temporary", "fence y sync")
		case "timeline":
			refused("as_sync", "sync", "temporary", "binary y sync") // a timeline semaphore has no SYNC_FD
			refused("minus_one", "opaque", "permanent", "")
		default:
			refused("minus_one", "opaque", "temporary", "")
		}
	}
	all = append(all, definition{name: "api.external.semaphore.opaque_fd.hostile.as_memory",
		extensions: externalExtensions,
		features:   syncFeatures, queues: true, run: func(c *Case) {
			for _, order := range []string{"binary y opaque", "timeline y 0 opaque", "fence y opaque"} {
				s := c.stage()
				c.wantRefused(order+" as memory", ruleSize, c.visible(), exported(order)(c, s))
				s.close()
			}
		}})
	row("api.external.semaphore.opaque_fd.hostile.not_exportable", func(c *Case, s *stage) {
		c.ok(s, "binary b -")
		c.ok(s, "timeline t 0 -")
		c.ok(s, "fence f -")
		for _, name := range []string{"b", "t", "f"} {
			for _, handle := range []string{"opaque", "sync"} {
				if got := s.do("export " + name + " " + handle); got == "VK_SUCCESS" {
					c.Errorf("%s was exported as %s, which it wasn't created for", name, handle)
				}
			}
		}
	})
	for _, k := range []handleKind{timelineOpaque, fenceOpaque} { // the host can't wait for binary semaphores
		row(k.group+"hostile.scribbled_state", func(c *Case, s *stage) {
			// Another holder overwrites all of the shared state: no wait takes longer than its timeout.
			for i, scribble := range []byte{0xff, 0x00, 0x80, 0x01} {
				x := fmt.Sprint("x", i)
				c.ok(s, "%s", fillIn(k.make, x, 1))
				c.ok(s, "export %s opaque", x)
				fd := s.given()
				var st unix.Stat_t
				c.system("fstat", unix.Fstat(fd, &st))
				b, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
				c.system("mmap", err)
				for j := range b {
					b[j] = scribble
				}
				start := time.Now()
				if k == fenceOpaque {
					s.do("wait " + x + " 0 50")
					s.do("status " + x)
					s.do("reset " + x)
				} else {
					s.do("value " + x)
					s.do("wait " + x + " 5000 50")
					s.do("signal " + x + " 6000")
				}
				if took := time.Since(start); took > time.Duration(patience) {
					c.Errorf("it took %v", took)
				}
				var stop atomic.Bool
				done := make(chan bool)
				go func() {
					rng := rand.New(rand.NewPCG(uint64(i), 3))
					for !stop.Load() {
						binary.NativeEndian.PutUint64(b[8*rng.IntN(len(b)/8):], rng.Uint64()>>rng.IntN(64))
					}
					close(done)
				}()
				for range 10 {
					start := time.Now()
					s.do("wait " + x + " 9000000000000000000 5")
					if took := time.Since(start); took > time.Duration(patience) {
						c.Errorf("it took %v", took)
					}
				}
				stop.Store(true)
				<-done
				c.ok(s, "destroy %s", x)
				c.system("munmap", unix.Munmap(b))
				unix.Close(fd)
			}
		})
	}
	for _, k := range []handleKind{binaryOpaque, timelineOpaque, fenceOpaque, binarySync, fenceSync} {
		row(k.group+"hostile.no_descriptors_left", func(c *Case, s *stage) {
			c.ok(s, "%s", fillIn(k.make, "x", 1))
			c.ok(s, "%s", fillIn(k.make, "y", 1))
			c.ok(s, "fence done -")
			k.signals(c, s, "y", 1)
			c.ok(s, "export y %s", k.handle)
			fd := s.given()
			k.signals(c, s, "x", 1)
			var old unix.Rlimit
			c.system("getrlimit", unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
			none := old
			none.Cur = 0
			c.system("setrlimit", unix.Setrlimit(unix.RLIMIT_NOFILE, &none))
			exported := s.do("export x " + k.handle)
			s.hand(fd)
			imported := s.do("import y " + k.handle + " " +
				map[bool]string{true: "temporary", false: "permanent"}[k.handle == "sync"])
			created := s.do(fillIn(k.make, "z", 1))
			c.system("setrlimit", unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
			if exported != "VK_ERROR_TOO_MANY_OBJECTS" && k.handle == "opaque" {
				c.Errorf("an export without free descriptors: %s", exported)
			}
			if imported != "VK_SUCCESS" {
				if !isOpen(fd) {
					c.Errorf("an import failed (%s), but took the descriptor", imported)
				}
				unix.Close(fd)
			}
			if created != "VK_SUCCESS" {
				s.do("destroy z")
			}
			if exported != "VK_SUCCESS" { // x is as it was
				k.waits(c, s, "x", 1)
			} else if fd := s.given(); fd >= 0 {
				unix.Close(fd)
			}
		})
	}
	row("api.external.semaphore.opaque_fd.hostile.bad_create", func(c *Case, s *stage) {
		win := vk.EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT
		o, r := s.dev.CreateSemaphore(vulkan.ExportSemaphoreInfo(&c.a, win, nil))
		if c.wantErr("a semaphore for a handle type that doesn't exist here", r); r == vk.SUCCESS {
			s.dev.DestroySemaphore(o)
		}
		o, r = s.dev.CreateSemaphore(vulkan.ExportSemaphoreInfo(&c.a, syncSemaphore, vulkan.SemaphoreTypeInfo(&c.a, 0, nil)))
		if c.wantErr("a timeline semaphore for SYNC_FD", r); r == vk.SUCCESS {
			s.dev.DestroySemaphore(o)
		}
	})
	return all
}
