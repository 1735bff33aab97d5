package main

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"farside/internal/vk"
)

const loaderName = "libvulkan.so.1"

// probeDriver asks the first device of the driver to which the environment points the loader. Nothing is
// destroyed: the process ends.
func probeDriver() (d shown, err error) {
	library, err := purego.Dlopen(loaderName, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return d, err
	}
	resolve, err := purego.Dlsym(library, "vkGetInstanceProcAddr")
	if err != nil {
		return d, err
	}
	var instance vk.Instance
	call := func(name string, args ...uintptr) vk.Result {
		cname := append([]byte(name), 0)
		f, _, _ := purego.SyscallN(resolve, uintptr(instance), uintptr(unsafe.Pointer(&cname[0])))
		if f == 0 {
			return vk.ERROR_INCOMPATIBLE_DRIVER
		}
		r, _, _ := purego.SyscallN(f, args...)
		return vk.Result(r)
	}
	out := &struct {
		info       vk.InstanceCreateInfo
		instance   vk.Instance
		count      uint32
		device     vk.PhysicalDevice
		properties vk.PhysicalDeviceProperties
		memory     vk.PhysicalDeviceMemoryProperties
	}{info: vk.InstanceCreateInfo{SType: vk.STRUCTURE_TYPE_INSTANCE_CREATE_INFO}, count: 1}
	// The calls take addresses as numbers, so that nothing else keeps this where it is.
	var pin runtime.Pinner
	pin.Pin(out)
	defer pin.Unpin()
	address := func(p unsafe.Pointer) uintptr { return uintptr(p) }
	r := call("vkCreateInstance", address(unsafe.Pointer(&out.info)), 0, address(unsafe.Pointer(&out.instance)))
	if r != vk.SUCCESS {
		return d, fmt.Errorf("vkCreateInstance: %v", r)
	}
	instance = out.instance
	r = call("vkEnumeratePhysicalDevices", uintptr(instance), address(unsafe.Pointer(&out.count)),
		address(unsafe.Pointer(&out.device)))
	if r < 0 || out.count == 0 {
		return d, fmt.Errorf("vkEnumeratePhysicalDevices: %v, %d devices", r, out.count)
	}
	call("vkGetPhysicalDeviceProperties", uintptr(out.device), address(unsafe.Pointer(&out.properties)))
	call("vkGetPhysicalDeviceMemoryProperties", uintptr(out.device), address(unsafe.Pointer(&out.memory)))
	d.Device = unix.ByteSliceToString(out.properties.DeviceName[:])
	for _, h := range out.memory.MemoryHeaps[:out.memory.MemoryHeapCount] {
		d.Heaps = append(d.Heaps, h.Size)
	}
	return d, nil
}
