package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/vk"
	"farside/rdmasim"
)

const rdmaSize = 256 << 10

func rdmaFeature(a *vulkan.Arena) unsafe.Pointer {
	f := vulkan.New[vk.PhysicalDeviceExternalMemoryRDMAFeaturesNV](a)
	f.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV
	f.ExternalMemoryRDMA = 1
	return unsafe.Pointer(f)
}

// remote is memory with a remote address.
func (c *Case) remote() (vk.DeviceMemory, uintptr) {
	t, ok := c.memoryType(deviceLocal|rdmaCapable, 0)
	if !ok {
		c.Fatalf("no RDMA_CAPABLE memory type")
	}
	m := c.allocate(rdmaSize, t, vulkan.ExportInfo(&c.a, rdmaAddress, nil))
	a, r := c.dev.RemoteAddress(m, rdmaAddress)
	c.must("vkGetMemoryRemoteAddressNV", r)
	return m, a
}

// playRDMAPeer obeys: write ADDRESS SEED LENGTH, check ADDRESS SEED LENGTH, add ADDRESS N, swap ADDRESS OLD
// NEW, info ADDRESS 0 0. It answers with the old value or ok, what the region is, or the name of the error.
func playRDMAPeer(c *Case) {
	p, err := rdmasim.Open(context.Background(), "")
	c.system("rdmasim.Open", err)
	defer p.Close()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var verb string
		var addr, x, y uint64
		if n, err := fmt.Sscan(in.Text(), &verb, &addr, &x, &y); n < 3 {
			c.Fatalf("order %q: %v", in.Text(), err)
		}
		var old uint64
		var info rdmasim.RegionInfo
		var err error
		switch verb {
		case "write":
			b := make([]byte, y)
			fill(b, int(x))
			err = p.Write(addr, b)
		case "check":
			b, want := make([]byte, y), make([]byte, y)
			fill(want, int(x))
			if err = p.Read(addr, b); err == nil && !bytes.Equal(b, want) {
				err = errors.New("other bytes")
			}
		case "info":
			var r *rdmasim.RemoteRegion
			if r, err = p.Resolve(context.Background(), addr); err == nil {
				info = r.Info()
			}
		case "add":
			old, err = p.FetchAdd64(addr, x)
		case "swap":
			old, err = p.CompareSwap64(addr, x, y)
		}
		switch {
		case err == nil && info.Length > 0:
			say("%d bytes at %d of process %d, rights %v, named %q, key and device %v", info.Length, info.Address, info.PID,
				info.Access,
				info.Name, info.Key != 0 && info.DeviceUUID != [16]byte{})
		case err == nil:
			say("ok %d", old)
		case errors.Is(err, rdmasim.ErrFreed):
			say("freed")
		case errors.Is(err, rdmasim.ErrOwnerDied):
			say("owner died")
		case errors.Is(err, rdmasim.ErrUnknownAddress):
			say("unknown address")
		case errors.Is(err, rdmasim.ErrOutOfRange):
			say("out of range")
		case errors.Is(err, rdmasim.ErrAccess):
			say("missing right")
		default:
			say("%v", err)
		}
	}
}

// playRDMAOwner says a remote address and then waits to be told to end, or to be killed.
func playRDMAOwner(c *Case) {
	_, a := c.remote()
	say("%d", a)
	bufio.NewScanner(os.Stdin).Scan()
}

// ask gives the peer an order and compares its answer.
func (p *peer) ask(want, format string, args ...any) {
	p.tell(format, args...)
	if got := p.hear(); got != want {
		p.c.Errorf("%s: %s, want %s", fmt.Sprintf(format, args...), got, want)
	}
}

// zero has the peer write 0 to a word, of which fresh memory may have any value, by atomics alone.
func (p *peer) zero(a uintptr) {
	p.tell("add %d 0 0", a)
	old := p.hear()
	p.ask(old, "swap %d %s 0", a, strings.TrimPrefix(old, "ok "))
}

func rdmaCases() []definition {
	row := func(name string, valid bool, run func(c *Case)) definition {
		return definition{name: "nv.external_memory_rdma." + name, valid: valid, run: run,
			extensions: []string{rdmaExtension, fdExtension}, features: rdmaFeature}
	}
	return []definition{
		row("feature", true, func(c *Case) {
			f := vulkan.New[vk.PhysicalDeviceExternalMemoryRDMAFeaturesNV](&c.a)
			f.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_RDMA_FEATURES_NV
			c.inst.Features2(c.pd, unsafe.Pointer(f))
			if f.ExternalMemoryRDMA != 1 {
				c.Errorf("externalMemoryRDMA is %d", f.ExternalMemoryRDMA)
			}
		}),
		row("memory_type", true, func(c *Case) {
			t, ok := c.memoryType(rdmaCapable, 0)
			if !ok {
				c.Fatalf("no RDMA_CAPABLE memory type")
			}
			for i := range c.mem.MemoryTypeCount {
				f := c.mem.MemoryTypes[i].PropertyFlags
				if f&rdmaCapable != 0 && f != deviceLocal|rdmaCapable {
					c.Errorf("type %d is %v; the only combination with RDMA_CAPABLE is with DEVICE_LOCAL", i, f)
				}
				if f == deviceLocal && i > t {
					c.Errorf("plain DEVICE_LOCAL is type %d, after the RDMA_CAPABLE type %d", i, t)
				}
			}
		}),
		row("capabilities", true, func(c *Case) {
			e := c.inst.ExternalBuffer(c.pd, vk.BUFFER_USAGE_TRANSFER_DST_BIT, rdmaAddress)
			if e.ExternalMemoryFeatures != vk.ExternalMemoryFeatureFlags(vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) {
				c.Errorf("remote addresses have features %v, want exportable only", e.ExternalMemoryFeatures)
			}
			if e.CompatibleHandleTypes&rdmaAddress == 0 {
				c.Errorf("compatible types %v lack the type itself", e.CompatibleHandleTypes)
			}
		}),
		row("same_address_each_call", true, func(c *Case) {
			m, a := c.remote()
			for range 5 {
				if b, r := c.dev.RemoteAddress(m, rdmaAddress); r != vk.SUCCESS || b != a {
					c.Errorf("%v %#x, want %#x", r, b, a)
				}
			}
			n, b := c.remote()
			if a == b || a < b && a+rdmaSize > b || b < a && b+rdmaSize > a {
				c.Errorf("two allocations share addresses: %#x and %#x", a, b)
			}
			c.dev.Free(m)
			c.dev.Free(n)
		}),
		row("not_a_cpu_address", true, func(c *Case) {
			m, a := c.remote()
			maps, err := os.ReadFile("/proc/self/maps")
			c.system("maps", err)
			for line := range strings.Lines(string(maps)) {
				var lo, hi uint64
				if _, err := fmt.Sscanf(line, "%x-%x", &lo, &hi); err == nil && uint64(a) >= lo && uint64(a) < hi {
					c.Errorf("address %#x is mapped: %s", a, line)
				}
			}
			c.dev.Free(m)
		}),
		row("04966_type_not_exported", false, func(c *Case) {
			t, _ := c.memoryType(rdmaCapable, 0)
			m := c.allocate(rdmaSize, t, nil)
			_, r := c.dev.RemoteAddress(m, rdmaAddress)
			c.want("memory without export info", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
			c.dev.Free(m)
			m = c.allocate(rdmaSize, t, vulkan.ExportInfo(&c.a, opaqueFd, nil))
			_, r = c.dev.RemoteAddress(m, rdmaAddress)
			c.want("memory exported as descriptor only", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
			c.dev.Free(m)
			m, _ = c.remote()
			_, r = c.dev.RemoteAddress(m, opaqueFd)
			c.want("a handle type that is no remote address", r, vk.ERROR_INVALID_EXTERNAL_HANDLE)
			c.dev.Free(m)
		}),
		{name: "nv.external_memory_rdma.feature_gate", farsideOnly: true, extensions: []string{rdmaExtension},
			run: func(c *Case) {
				t, _ := c.memoryType(rdmaCapable, 0)
				m, r := c.dev.Allocate(rdmaSize, t, vulkan.ExportInfo(&c.a, rdmaAddress, nil))
				if r == vk.SUCCESS {
					_, r = c.dev.RemoteAddress(m, rdmaAddress)
					c.dev.Free(m)
				}
				c.wantErr("a remote address without externalMemoryRDMA enabled", r)
			}},
		row("peer_process", true, func(c *Case) {
			m, a := c.remote()
			p := c.start("rdma_peer")
			q := c.start("rdma_peer")
			p.ask("ok 0", "write %d 5 %d", a, rdmaSize)
			q.ask("ok 0", "check %d 5 %d", a, rdmaSize)
			q.ask("ok 0", "write %d 6 100", a+1001)
			p.ask("ok 0", "check %d 6 100", a+1001)
			p.ask("out of range", "write %d 6 100", a+rdmaSize-50)
			p.ask("out of range", "check %d 6 %d", a, rdmaSize+1)
			p.end()
			q.end()
			c.dev.Free(m)
		}),
		row("peer_atomics", true, func(c *Case) {
			m, a := c.remote()
			p := c.start("rdma_peer")
			p.zero(a + 64)
			p.ask("ok 0", "add %d 40 0", a+64)
			p.ask("ok 40", "add %d 2 0", a+64)
			p.ask("ok 42", "swap %d 41 7", a+64)
			p.ask("ok 42", "swap %d 42 7", a+64)
			p.ask("ok 7", "add %d 0 0", a+64)
			p.end()
			c.dev.Free(m)
		}),
		row("descriptor_sees_peer", true, func(c *Case) {
			// The same payload as a descriptor and as a remote address.
			t, _ := c.memoryType(rdmaCapable, 0)
			m := c.allocate(rdmaSize, t, vulkan.ExportInfo(&c.a, rdmaAddress|opaqueFd, nil))
			a, r := c.dev.RemoteAddress(m, rdmaAddress)
			c.must("vkGetMemoryRemoteAddressNV", r)
			i, r := c.dev.Allocate(rdmaSize, t, vulkan.ExportInfo(&c.a, rdmaAddress,
				vulkan.ImportFdInfo(&c.a, opaqueFd, c.getFd(m), nil)))
			if r != vk.SUCCESS {
				// exportFromImportedHandleTypes says whether that is allowed.
				c.dev.Free(m)
				return
			}
			b, r := c.dev.RemoteAddress(i, rdmaAddress)
			c.must("vkGetMemoryRemoteAddressNV of an import", r)
			p := c.start("rdma_peer")
			p.ask("ok 0", "write %d 8 5000", a)
			p.ask("ok 0", "check %d 8 5000", b)
			p.end()
			c.dev.Free(i)
			c.dev.Free(m)
		}),
		row("freed", true, func(c *Case) {
			m, a := c.remote()
			p := c.start("rdma_peer")
			p.ask("ok 0", "write %d 5 64", a)
			c.dev.Free(m)
			p.ask("freed", "write %d 5 64", a)
			p.ask("freed", "check %d 5 64", a)
			p.end()
		}),
		{name: "nv.external_memory_rdma.access_by_environment", farsideOnly: true, extensions: []string{rdmaExtension},
			features: rdmaFeature,
			env:      []string{rdmasim.AccessVariable + "=read,atomic"}, run: func(c *Case) {
				m, a := c.remote()
				p := c.start("rdma_peer")
				p.ask("missing right", "write %d 5 64", a)
				p.zero(a)
				p.ask("ok 0", "add %d 1 0", a)
				p.ask("ok 1", "add %d 0 0", a)
				p.end()
				c.dev.Free(m)
			}},
		{name: "nv.external_memory_rdma.access_by_name", farsideOnly: true, extensions: []string{rdmaExtension},
			features:           rdmaFeature,
			instanceExtensions: []string{"VK_EXT_debug_utils"}, run: func(c *Case) {
				t, _ := c.memoryType(deviceLocal|rdmaCapable, 0)
				m := c.allocate(rdmaSize, t, vulkan.ExportInfo(&c.a, rdmaAddress, nil))
				name := vulkan.Struct[vk.DebugUtilsObjectNameInfoEXT](&c.a)
				name.ObjectType, name.ObjectHandle, name.PObjectName = vk.OBJECT_TYPE_DEVICE_MEMORY, uint64(m),
					c.a.String("weights [ro]")
				c.must("vkSetDebugUtilsObjectNameEXT",
					vk.Result(c.dev.Call("vkSetDebugUtilsObjectNameEXT", uintptr(unsafe.Pointer(name)))))
				a, r := c.dev.RemoteAddress(m, rdmaAddress)
				c.must("vkGetMemoryRemoteAddressNV", r)
				p := c.start("rdma_peer")
				p.ask("missing right", "write %d 5 64", a)
				p.ask("missing right", "add %d 1 0", a)
				p.ask(fmt.Sprintf("%d bytes at %d of process %d, rights read, named %q, key and device true", rdmaSize, a,
					os.Getpid(), "weights [ro]"),
					"info %d 0 0", a+77)
				p.end()
				c.wantSealed()
				c.dev.Free(m)
			}},
		row("unknown_address", true, func(c *Case) {
			m, _ := c.remote()
			p := c.start("rdma_peer")
			p.ask("unknown address", "check %d 5 64", 4096)
			p.end()
			c.dev.Free(m)
		}),
		row("other_host", true, func(c *Case) {
			dir, err := os.MkdirTemp("", "farside")
			c.system("temporary directory", err)
			defer os.RemoveAll(dir)
			secret := filepath.Join(dir, "secret")
			c.system("secret", os.WriteFile(secret, bytes.Repeat([]byte("never in earnest"), 2), 0o600))
			l, err := net.Listen("tcp", "127.0.0.1:0")
			c.system("find a port", err)
			host := l.Addr().String()
			l.Close()
			// The owner is another process, since the driver has read this one's environment.
			os.Setenv("FARSIDE_FABRIC_SECRET_FILE", secret)
			os.Setenv("FARSIDE_FABRIC", "tls,bind="+host)
			o := c.start("rdma_owner")
			var a uint64
			_, err = fmt.Sscan(o.hear(), &a)
			c.system("address", err)
			p, err := rdmasim.Open(context.Background(), "tls://"+host+"/")
			c.system("rdmasim.Open", err)
			defer p.Close()
			b, got := make([]byte, rdmaSize), make([]byte, rdmaSize)
			fill(b, 9)
			c.system("write", p.Write(a, b))
			q := c.start("rdma_peer")
			q.ask("ok 0", "check %d 9 %d", a, rdmaSize)
			q.ask("ok 0", "write %d 10 %d", a, rdmaSize)
			q.end()
			fill(b, 10)
			c.system("read", p.Read(a, got))
			if !bytes.Equal(got, b) {
				c.Errorf("from another host, the memory has other bytes than on this host")
			}
			if err := p.Write(a+rdmaSize-1, b[:2]); !errors.Is(err, rdmasim.ErrOutOfRange) {
				c.Errorf("a byte too far: %v", err)
			}
			o.kill()
			if err := p.Read(a, got); !errors.Is(err, rdmasim.StatusRetryExcErr) {
				c.Errorf("after the owner was killed: %v", err)
			}
			o.end()
		}),
		row("owner_killed", true, func(c *Case) {
			o := c.start("rdma_owner")
			a := o.hear()
			p := c.start("rdma_peer")
			p.ask("ok 0", "write %s 5 64", a)
			o.kill()
			p.ask("owner died", "check %s 5 64", a)
			p.ask("owner died", "add %s 1 0", a)
			o.end()
			p.end()
		}),
	}
}

// wantSealed opens the files of this process' payloads again: no process with a descriptor of one can write.
func (c *Case) wantSealed() {
	found := false
	for name := range resources() {
		var fd int
		if n, _ := fmt.Sscanf(name, "descriptor %d of /memfd:farside (deleted)", &fd); n != 1 ||
			!strings.HasSuffix(name, ":farside (deleted)") {
			continue
		}
		found = true
		again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
		sysFd(c, "open again", again, err)
		if _, err := unix.Pwrite(again, []byte{1}, 0); err != unix.EPERM {
			c.Errorf("a write to read-only memory: %v", err)
		}
		unix.Close(again)
	}
	if !found {
		c.Errorf("the payload has no file")
	}
}
