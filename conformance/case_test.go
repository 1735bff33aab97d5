package conformance

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	exitUnsupported = 77
	caseEnds        = "the case ends\n" // after each case of several in one process
)

const (
	opaqueFd    = vk.ExternalMemoryHandleTypeFlags(vk.EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT)
	rdmaAddress = vk.ExternalMemoryHandleTypeFlags(vk.EXTERNAL_MEMORY_HANDLE_TYPE_RDMA_ADDRESS_BIT_NV)
	dmaBuf      = vk.ExternalMemoryHandleTypeFlags(vk.EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT)
	hostPointer = vk.ExternalMemoryHandleTypeFlags(vk.EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT)

	deviceLocal  = vk.MemoryPropertyFlags(vk.MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
	hostVisible  = vk.MemoryPropertyFlags(vk.MEMORY_PROPERTY_HOST_VISIBLE_BIT)
	hostCoherent = vk.MemoryPropertyFlags(vk.MEMORY_PROPERTY_HOST_COHERENT_BIT)
	rdmaCapable  = vk.MemoryPropertyFlags(vk.MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV)

	fdExtension   = "VK_KHR_external_memory_fd"
	rdmaExtension = "VK_NV_external_memory_rdma"
)

var (
	version11 = uint32(vk.API_VERSION_1_1)
	version13 = uint32(vk.API_VERSION_1_3)
)

// A definition is one row of the table.
type definition struct {
	name               string
	run                func(c *Case)
	extensions         []string // device extensions, enabled
	instanceExtensions []string
	features           func(a *vulkan.Arena) unsafe.Pointer // chained behind VkDeviceCreateInfo
	queues             bool                                 // devices have all queues of all families, not one
	bare               bool                                 // run makes its own instance
	farsideOnly        bool                                 // asks about something that is Farside's own
	// breaks no valid-usage rule, and the oldest supported validation layer (1.3.239) knows its extensions
	valid    bool
	env      []string
	physical int      // how many physical devices there are; 0 for one
	compute  bool     // runs shaders: needs a queue for compute, and has an instance of version 1.3
	devices  []string // of this machine, that the case opens
	needs    []string // features, by their members in VkPhysicalDevice…Features, enabled
	graphics bool     // a compute case that draws: needs a queue for graphics, and has dynamic rendering
	drawless bool     // a graphics case that has no draw
}

// A Case is a definition that runs: an instance, a device and a place to report to.
type Case struct {
	def    *definition
	driver string
	loader *vulkan.Loader
	inst   *vulkan.Instance
	pd     vk.PhysicalDevice
	dev    *vulkan.Device
	mem    *vk.PhysicalDeviceMemoryProperties
	a      vulkan.Arena
	failed bool
	target uint32 // of compute cases: shaders are compiled for Vulkan 1.target
}

type stop struct{ unsupported string }

func (c *Case) Errorf(format string, args ...any) {
	c.failed = true
	fmt.Printf("error: "+format+"\n", args...)
}

func (c *Case) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	panic(stop{})
}

// Unsupported ends the case: the driver lacks what it needs.
func (c *Case) Unsupported(what string) { panic(stop{unsupported: what}) }

// want reports a result other than the wanted ones.
func (c *Case) want(what string, got vk.Result, want ...vk.Result) bool {
	if slices.Contains(want, got) {
		return true
	}
	c.Errorf("%s: %v, want %v", what, got, want)
	return false
}

// must ends the case unless the result is VK_SUCCESS.
func (c *Case) must(what string, got vk.Result) {
	if got != vk.SUCCESS {
		c.Fatalf("%s: %v", what, got)
	}
}

func (c *Case) wantErr(what string, got vk.Result) {
	if got >= 0 {
		c.Errorf("%s: %v, want an error", what, got)
	}
}

func find(name string) *definition {
	for _, d := range table() {
		if d.name == name {
			return &d
		}
	}
	return nil
}

// runCase is the life of a case's process.
func runCase(name string) int {
	d := find(name)
	if d == nil {
		fmt.Printf("no case is named %q\n", name)
		return 2
	}
	l, err := vulkan.Open()
	if err != nil {
		fmt.Println(err)
		return 2
	}
	c := &Case{def: d, driver: os.Getenv("FARSIDE_CASE_DRIVER"), loader: l}
	if s := c.guard(c.warmUp); s != nil {
		fmt.Println("unsupported:", s.unsupported)
		return exitUnsupported
	}
	before := resources()
	s := c.guard(func() {
		if !d.bare {
			c.open(true)
			defer c.close()
		}
		d.run(c)
	})
	if s != nil && s.unsupported != "" {
		fmt.Println("unsupported:", s.unsupported)
		return exitUnsupported
	}
	// An owner of remote memory closes its end of a connection when it sees the peer's closed, a moment later.
	leaks := leaked(before, resources())
	for deadline := time.Now().Add(time.Duration(patience)); len(leaks) > 0 &&
		time.Now().Before(deadline); leaks = leaked(before, resources()) {
		time.Sleep(10 * time.Millisecond)
	}
	for _, leak := range leaks {
		c.Errorf("leaked %s", leak)
	}
	if c.failed {
		return 1
	}
	fmt.Println("verdict: pass")
	return 0
}

// guard runs f and turns panics into failures; it returns non-nil only for an unsupported case.
func (c *Case) guard(f func()) (unsupported *stop) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stop:
			if p.unsupported != "" {
				unsupported = &p
			}
		default:
			c.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	f()
	return nil
}

func (c *Case) instance(config vulkan.InstanceConfig) *vulkan.Instance {
	inst, r := c.loader.CreateInstance(config)
	c.must("vkCreateInstance", r)
	return inst
}

// open makes the instance and the device; extended enables what the case needs.
func (c *Case) open(extended bool) {
	config := vulkan.InstanceConfig{APIVersion: version11}
	if c.def.compute {
		config.APIVersion = version13
	}
	if extended {
		have, r := c.loader.Extensions()
		c.must("vkEnumerateInstanceExtensionProperties", r)
		for _, e := range c.def.instanceExtensions {
			if !slices.Contains(have, e) {
				c.Unsupported("instance extension " + e)
			}
		}
		config.Extensions = c.def.instanceExtensions
	}
	c.inst = c.instance(config)
	pds, r := c.inst.PhysicalDevices()
	c.must("vkEnumeratePhysicalDevices", r)
	if len(pds) != max(c.def.physical, 1) {
		c.Fatalf("%d physical devices, want %d", len(pds), max(c.def.physical, 1))
	}
	c.pd = pds[0]
	c.mem = c.inst.MemoryProperties(c.pd, nil)
	if extended && c.def.compute {
		c.dev = c.computeDevice()
	} else if extended {
		c.dev = c.device(c.def.extensions, c.def.features)
	} else {
		c.dev = c.device(nil, nil)
	}
}

// device makes a device with these extensions; the case is unsupported if the driver has not all of them.
func (c *Case) device(extensions []string, features func(*vulkan.Arena) unsafe.Pointer) *vulkan.Device {
	have, r := c.inst.DeviceExtensions(c.pd)
	c.must("vkEnumerateDeviceExtensionProperties", r)
	for _, e := range extensions {
		if !slices.Contains(have, e) {
			if c.dev == nil {
				c.inst.Destroy()
			}
			c.Unsupported("device extension " + e)
		}
	}
	config := vulkan.DeviceConfig{Extensions: extensions}
	if c.def.queues {
		for _, p := range c.inst.QueueFamilies(c.pd) {
			config.Queues = append(config.Queues, p.QueueCount)
		}
	}
	if features != nil {
		config.Next = features(c.inst.Arena)
	}
	dev, r := c.inst.CreateDevice(c.pd, config)
	c.must("vkCreateDevice", r)
	return dev
}

func (c *Case) close() {
	if c.dev != nil {
		c.dev.Destroy()
	}
	if c.inst != nil {
		c.inst.Destroy()
	}
	c.dev, c.inst = nil, nil
}

// memoryType is the first type with all of has and none of hasNot.
func (c *Case) memoryType(has, hasNot vk.MemoryPropertyFlags) (uint32, bool) {
	for i := range c.mem.MemoryTypeCount {
		f := c.mem.MemoryTypes[i].PropertyFlags
		if f&has == has && f&hasNot == 0 {
			return i, true
		}
	}
	return 0, false
}

// visible is a host-visible, coherent memory type, which every driver must have.
func (c *Case) visible() uint32 {
	t, ok := c.memoryType(hostVisible|hostCoherent, 0)
	if !ok {
		c.Fatalf("no host-visible coherent memory type")
	}
	return t
}

// visibleOf is such a type among those that an image allows.
func (c *Case) visibleOf(bits uint32) uint32 {
	for t := range c.mem.MemoryTypeCount {
		if bits>>t&1 != 0 && c.mem.MemoryTypes[t].PropertyFlags&(hostVisible|hostCoherent) == hostVisible|hostCoherent {
			return t
		}
	}
	c.Unsupported("an image in host-visible coherent memory")
	return 0
}

func (c *Case) allocate(size uint64, t uint32, next unsafe.Pointer) vk.DeviceMemory {
	m, r := c.dev.Allocate(size, t, next)
	c.must(fmt.Sprintf("vkAllocateMemory of %d bytes of type %d", size, t), r)
	return m
}

// warmUp makes what stays for the life of the process, so that it is no leak: the library and its threads, which come
// with the first instance, and the process' place on the fabric, which comes with the first remote address.
func (c *Case) warmUp() {
	c.open(false)
	c.close()
	if slices.Contains(c.def.extensions, rdmaExtension) && c.def.features != nil {
		c.open(true)
		m, _ := c.remote()
		c.dev.Free(m)
		c.close()
	}
}

func (c *Case) getFd(m vk.DeviceMemory) int {
	fd, r := c.dev.GetFd(m, opaqueFd)
	c.must("vkGetMemoryFdKHR", r)
	if fd < 0 {
		c.Fatalf("vkGetMemoryFdKHR gave descriptor %d", fd)
	}
	return fd
}

// importFd imports an opaque descriptor.
func (c *Case) importFd(size uint64, t uint32, fd int) (vk.DeviceMemory, vk.Result) {
	return c.dev.Allocate(size, t, vulkan.ImportFdInfo(&c.a, opaqueFd, fd, nil))
}

// bytes maps all of m.
func (c *Case) bytes(m vk.DeviceMemory, size uint64) []byte {
	p, r := c.dev.Map(m, 0, vk.WHOLE_SIZE)
	c.must("vkMapMemory", r)
	return vulkan.Bytes(p, int(size))
}

func fill(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*31 + i>>8 + seed)
	}
}

// check compares with what fill wrote.
func (c *Case) check(what string, b []byte, seed int) {
	for i := range b {
		if want := byte(i*31 + i>>8 + seed); b[i] != want {
			c.Errorf("%s: byte %d is %#x, want %#x", what, i, b[i], want)
			return
		}
	}
}

// resources lists open descriptors and mapped shared files.
func resources() map[string]bool {
	all := map[string]bool{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		link, err := os.Readlink("/proc/self/fd/" + e.Name())
		// Go's poller is opened once a process, when it is first needed.
		if err != nil || strings.Contains(link, "eventpoll") || strings.Contains(link, "eventfd") {
			continue
		}
		if n, err := strconv.Atoi(e.Name()); err == nil && shaders.Owns(n) {
			continue
		}
		all["descriptor "+e.Name()+" of "+link] = true
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return all
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.Contains(s.Text(), "/memfd:") || isDMABuf(s.Text()) {
			all["mapping "+s.Text()] = true
		}
	}
	return all
}

func leaked(before, after map[string]bool) []string {
	var l []string
	for r := range after {
		if !before[r] {
			l = append(l, r)
		}
	}
	slices.Sort(l)
	return l
}
