package vulkan

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"farside/internal/vk"
)

// LibraryName is the loader that Open loads.
const LibraryName = "libvulkan.so.1"

// A Loader is the system's Vulkan loader.
type Loader struct {
	gipa  uintptr
	procs procs
}

// procs caches resolved commands by name.
type procs struct {
	resolve func(name string) uintptr
	found   sync.Map // string to uintptr
}

func (p *procs) get(name string) uintptr {
	if v, ok := p.found.Load(name); ok {
		return v.(uintptr)
	}
	f := p.resolve(name)
	p.found.Store(name, f)
	return f
}

func (p *procs) call(name string, args ...uintptr) uintptr {
	f := p.get(name)
	if f == 0 {
		panic(fmt.Sprintf("vulkan: %s can't be resolved", name))
	}
	r, _, _ := purego.SyscallN(f, args...)
	return r
}

// resolveBy asks one of the two GetProcAddr functions.
func resolveBy(gpa, object uintptr, name string) uintptr {
	b := append([]byte(name), 0)
	r, _, _ := purego.SyscallN(gpa, object, uintptr(unsafe.Pointer(&b[0])))
	return r
}

var open = sync.OnceValues(func() (*Loader, error) {
	lib, err := purego.Dlopen(LibraryName, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("the Vulkan loader (Debian package libvulkan1): %w", err)
	}
	gipa, err := purego.Dlsym(lib, "vkGetInstanceProcAddr")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", LibraryName, err)
	}
	l := &Loader{gipa: gipa}
	l.procs.resolve = func(name string) uintptr { return resolveBy(gipa, 0, name) }
	return l, nil
})

// Open loads the loader, once a process.
func Open() (*Loader, error) { return open() }

// Keep loads a library for as long as the process lives. The Vulkan loader loads drivers and layers for an instance and
// unloads them with the last one, and each time the dynamic linker applies all relocations: a quarter of the time that
// cases on lavapipe, with its LLVM, take.
func Keep(library string) error {
	_, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	return err
}

// Call calls a global command. It panics if the loader doesn't know it.
func (l *Loader) Call(name string, args ...uintptr) uintptr { return l.procs.call(name, args...) }

// Enumerate runs a two-call enumeration: f is called with a count, then with space for it, again while it
// answers VK_INCOMPLETE.
func Enumerate[T any](a *Arena, f func(n *uint32, p *T) vk.Result) ([]T, vk.Result) {
	for {
		n := New[uint32](a)
		if r := f(n, nil); r != vk.SUCCESS || *n == 0 {
			return nil, r
		}
		s := Make[T](a, int(*n))
		r := f(n, First(s))
		if r != vk.INCOMPLETE {
			return s[:min(int(*n), len(s))], r
		}
	}
}

// InstanceVersion is what vkEnumerateInstanceVersion answers.
func (l *Loader) InstanceVersion() uint32 {
	var a Arena
	defer a.Close()
	v := New[uint32](&a)
	l.Call("vkEnumerateInstanceVersion", addr(v))
	return *v
}

// Extensions are the names of the instance extensions that the loader and its drivers offer.
func (l *Loader) Extensions() ([]string, vk.Result) {
	var a Arena
	defer a.Close()
	p, r := Enumerate(&a, func(n *uint32, p *vk.ExtensionProperties) vk.Result {
		return vk.Result(l.Call("vkEnumerateInstanceExtensionProperties", 0, addr(n), addr(p)))
	})
	return extensionNames(p), r
}

func extensionNames(p []vk.ExtensionProperties) []string {
	names := make([]string, len(p))
	for i := range p {
		names[i] = GoString(&p[i].ExtensionName[0])
	}
	return names
}

// InstanceConfig says how an instance is to be made.
type InstanceConfig struct {
	APIVersion uint32 // of VkApplicationInfo; 0 leaves pApplicationInfo NULL
	Extensions []string
	Layers     []string
	Next       unsafe.Pointer // chained behind VkInstanceCreateInfo
}

// An Instance is a VkInstance and its commands.
type Instance struct {
	Handle vk.Instance
	Loader *Loader
	Arena  *Arena // lives as long as the instance
	procs  procs
	gdpa   uintptr
}

// CreateInstance is vkCreateInstance.
func (l *Loader) CreateInstance(c InstanceConfig) (*Instance, vk.Result) {
	a := new(Arena)
	info := New[vk.InstanceCreateInfo](a)
	info.SType = vk.STRUCTURE_TYPE_INSTANCE_CREATE_INFO
	info.PNext = c.Next
	if c.APIVersion != 0 {
		app := New[vk.ApplicationInfo](a)
		app.SType = vk.STRUCTURE_TYPE_APPLICATION_INFO
		app.PApplicationName = a.String("farside-conformance")
		app.ApiVersion = c.APIVersion
		info.PApplicationInfo = app
	}
	info.EnabledExtensionCount = uint32(len(c.Extensions))
	info.PpEnabledExtensionNames = a.Strings(c.Extensions)
	info.EnabledLayerCount = uint32(len(c.Layers))
	info.PpEnabledLayerNames = a.Strings(c.Layers)
	out := New[vk.Instance](a)
	r := vk.Result(l.Call("vkCreateInstance", addr(info), 0, addr(out)))
	if r != vk.SUCCESS {
		a.Close()
		return nil, r
	}
	i := &Instance{Handle: *out, Loader: l, Arena: a}
	i.procs.resolve = func(name string) uintptr { return resolveBy(l.gipa, uintptr(i.Handle), name) }
	i.gdpa = i.Proc("vkGetDeviceProcAddr")
	return i, r
}

// Proc is vkGetInstanceProcAddr: the command's address, 0 if there is none.
func (i *Instance) Proc(name string) uintptr { return i.procs.get(name) }

// Call calls an instance or physical-device command. It panics if the loader doesn't know it.
func (i *Instance) Call(name string, args ...uintptr) uintptr { return i.procs.call(name, args...) }

// Destroy is vkDestroyInstance.
func (i *Instance) Destroy() {
	i.Call("vkDestroyInstance", uintptr(i.Handle), 0)
	i.Arena.Close()
}

// PhysicalDevices lists the instance's physical devices.
func (i *Instance) PhysicalDevices() ([]vk.PhysicalDevice, vk.Result) {
	return Enumerate(i.Arena, func(n *uint32, p *vk.PhysicalDevice) vk.Result {
		return vk.Result(i.Call("vkEnumeratePhysicalDevices", uintptr(i.Handle), addr(n), addr(p)))
	})
}

// DeviceExtensions are the names of a physical device's extensions.
func (i *Instance) DeviceExtensions(pd vk.PhysicalDevice) ([]string, vk.Result) {
	var a Arena
	defer a.Close()
	p, r := Enumerate(&a, func(n *uint32, p *vk.ExtensionProperties) vk.Result {
		return vk.Result(i.Call("vkEnumerateDeviceExtensionProperties", uintptr(pd), 0, addr(n), addr(p)))
	})
	return extensionNames(p), r
}

// Properties2 calls vkGetPhysicalDeviceProperties2 with next chained behind its structure.
func (i *Instance) Properties2(pd vk.PhysicalDevice, next unsafe.Pointer) *vk.PhysicalDeviceProperties2 {
	p := New[vk.PhysicalDeviceProperties2](i.Arena)
	p.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2
	p.PNext = next
	i.Call("vkGetPhysicalDeviceProperties2", uintptr(pd), addr(p))
	return p
}

// Features2 calls vkGetPhysicalDeviceFeatures2 with next chained behind its structure.
func (i *Instance) Features2(pd vk.PhysicalDevice, next unsafe.Pointer) *vk.PhysicalDeviceFeatures2 {
	p := New[vk.PhysicalDeviceFeatures2](i.Arena)
	p.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2
	p.PNext = next
	i.Call("vkGetPhysicalDeviceFeatures2", uintptr(pd), addr(p))
	return p
}

// MemoryProperties calls vkGetPhysicalDeviceMemoryProperties2 with next chained behind its structure.
func (i *Instance) MemoryProperties(pd vk.PhysicalDevice, next unsafe.Pointer) *vk.PhysicalDeviceMemoryProperties {
	p := New[vk.PhysicalDeviceMemoryProperties2](i.Arena)
	p.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2
	p.PNext = next
	i.Call("vkGetPhysicalDeviceMemoryProperties2", uintptr(pd), addr(p))
	return &p.MemoryProperties
}

// DriverName is VkPhysicalDeviceDriverProperties::driverName.
func (i *Instance) DriverName(pd vk.PhysicalDevice) string {
	d := New[vk.PhysicalDeviceDriverProperties](i.Arena)
	d.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES
	i.Properties2(pd, unsafe.Pointer(d))
	return GoString(&d.DriverName[0])
}

// ExternalBuffer calls vkGetPhysicalDeviceExternalBufferProperties for one handle type.
func (i *Instance) ExternalBuffer(pd vk.PhysicalDevice, usage vk.BufferUsageFlags,
	ht vk.ExternalMemoryHandleTypeFlags) vk.ExternalMemoryProperties {
	in := New[vk.PhysicalDeviceExternalBufferInfo](i.Arena)
	in.SType = vk.STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO
	in.Usage, in.HandleType = usage, ht
	out := New[vk.ExternalBufferProperties](i.Arena)
	out.SType = vk.STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES
	i.Call("vkGetPhysicalDeviceExternalBufferProperties", uintptr(pd), addr(in), addr(out))
	return out.ExternalMemoryProperties
}
